/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Byte-range locks that hold at all servers, with real engines, stores and connections. What FSAL_REPL and a client do is short: ask; if the request waits, ask again when the lock is ready.
 */
#include "lib/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/engine_int.h"
#include "steps.h"

#define LEASE_MS 600
#define TRIES 500 /* of 20 ms */
#define WAIT_MS 20000

/* ---- clients ---- */

struct waiting {
	struct waiting *next;
	const struct site *site;
	struct nfs4r_oid oid;
	struct nfs4r_lock lock;
	bool ready, again;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct waiting *first;
	uint32_t ready_for_nobody;
} waiters = { .lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER };

static struct nfs4r_op op_of(uint32_t type, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_wait wait)
{
	return (struct nfs4r_op){ .type = type, .obj = *oid, .lock = { .lock = *lock, .wait = wait } };
}

static bool same(const struct nfs4r_lock *a, const struct nfs4r_lock *b)
{
	return memcmp(&a->owner, &b->owner, sizeof(a->owner)) == 0 && a->type == b->type && a->start == b->start && a->last == b->last;
}

static void lock_news(struct site *s, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, bool ready)
{
	struct nfs4r_op op = op_of(NFS4R_OP_UNWAIT, oid, lock, 0);
	struct waiting *w;

	pthread_mutex_lock(&waiters.lock);
	w = waiters.first;
	while (w && !(w->site == s && nfs4r_oid_eq(&w->oid, oid) && same(&w->lock, lock)))
		w = w->next;
	if (w) {
		w->ready = ready;
		w->again |= !ready;
	} else if (ready) {
		waiters.ready_for_nobody++;
		(void)nfs4r_lock(s->eng, &op);
	}
	pthread_cond_broadcast(&waiters.cond);
	pthread_mutex_unlock(&waiters.lock);
}

/* Owner @who of a client of that site. Two of them are different owners at any two sites, too. */
static struct nfs4r_lock lock_of(const struct site *s, char who, char type, uint64_t start, uint64_t last)
{
	return (struct nfs4r_lock){
		.owner = { .client = { 100 + (uint64_t)s->id }, .owner = { (uint64_t)who } },
		.type = type == 'r' ? NFS4R_LOCK_READ : NFS4R_LOCK_WRITE,
		.start = start,
		.last = last,
	};
}

/* DELAY is asked again, as clients do. */
static enum nfs4r_status request(struct site *s, uint32_t type, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_wait wait, struct nfs4r_file_lock *conflict)
{
	for (int i = 0; i < TRIES; i++) {
		struct nfs4r_op op = op_of(type, oid, lock, wait);
		enum nfs4r_status st = nfs4r_lock(s->eng, &op);

		if (conflict)
			*conflict = op.lock.conflict;
		if (st != NFS4R_DELAY)
			return st;
		pause_ms(20);
	}
	return NFS4R_DELAY;
}

static enum nfs4r_status lock_try(struct site *s, const struct nfs4r_oid *oid, char who, char type, uint64_t start, uint64_t last)
{
	struct nfs4r_lock lock = lock_of(s, who, type, start, last);

	return request(s, NFS4R_OP_LOCK, oid, &lock, NFS4R_LOCK_TRY, NULL);
}

static enum nfs4r_status lock_test(struct site *s, const struct nfs4r_oid *oid, char who, char type, uint64_t start, uint64_t last)
{
	struct nfs4r_lock lock = lock_of(s, who, type, start, last);

	return request(s, NFS4R_OP_LOCK_TEST, oid, &lock, 0, NULL);
}

static void unlock(struct site *s, const struct nfs4r_oid *oid, char who, uint64_t start, uint64_t last)
{
	struct nfs4r_lock lock = lock_of(s, who, 'w', start, last);
	struct nfs4r_op op = op_of(NFS4R_OP_UNLOCK, oid, &lock, 0);

	assert_int_equal(nfs4r_lock(s->eng, &op), NFS4R_OK);
}

/* A request that waits. The lock is not granted to it yet. */
static void queue(struct site *s, const struct nfs4r_oid *oid, struct waiting *w, char who, char type, uint64_t start, uint64_t last)
{
	*w = (struct waiting){ .site = s, .oid = *oid, .lock = lock_of(s, who, type, start, last) };
	pthread_mutex_lock(&waiters.lock);
	w->next = waiters.first;
	waiters.first = w;
	pthread_mutex_unlock(&waiters.lock);
}

static void leave_queue(struct waiting *w)
{
	pthread_mutex_lock(&waiters.lock);
	for (struct waiting **p = &waiters.first; *p; p = &(*p)->next)
		if (*p == w) {
			*p = w->next;
			break;
		}
	pthread_mutex_unlock(&waiters.lock);
}

static enum nfs4r_status ask(struct waiting *w)
{
	struct site *s = (struct site *)w->site;

	return request(s, NFS4R_OP_LOCK, &w->oid, &w->lock, NFS4R_LOCK_QUEUE, NULL);
}

static bool is_ready(struct waiting *w, long ms)
{
	struct timespec until;
	bool ready;
	int rc = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&waiters.lock);
	while (!w->ready && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&waiters.cond, &waiters.lock, &until);
	ready = w->ready;
	w->ready = false;
	pthread_mutex_unlock(&waiters.lock);
	return ready;
}

static bool show(void *arg, const struct nfs4r_core_lock *l)
{
	const struct site *s = arg;

	print_message("site %d: %s %s%s of %c at %u, %llu to %llu\n", s->id, l->place == NFS4R_LOCK_AS_AUTHORITY ? "decides:" : l->place == NFS4R_LOCK_AS_HOLDER ? "its client:" :
																				   "gives back:",
		      l->state == NFS4R_LOCK_SET ? "" : l->state == NFS4R_LOCK_WAITING ? "waits for " :
											 "reserved ",
		      l->lock.lock.type == NFS4R_LOCK_READ ? "read" : "write", (char)l->lock.lock.owner.owner[0],
		      l->lock.holder, (unsigned long long)l->lock.lock.start, (unsigned long long)l->lock.lock.last);
	return true;
}

static void must_be_ready(struct cluster *c, struct waiting *w)
{
	if (is_ready(w, WAIT_MS))
		return;
	for (int i = 1; i <= SITES; i++) {
		if (!c->site[i].eng)
			continue;
		pthread_mutex_lock(&c->site[i].eng->lock);
		nfs4r_core_each_lock(c->site[i].eng->core, &w->oid, show, &c->site[i]);
		pthread_mutex_unlock(&c->site[i].eng->lock);
	}
	fail_msg("owner %c of site %d waits in vain", (char)w->lock.owner.owner[0], w->site->id);
}

static void lock_wait(struct site *s, const struct nfs4r_oid *oid, char who, char type, uint64_t start, uint64_t last)
{
	struct waiting w;
	enum nfs4r_status st;

	queue(s, oid, &w, who, type, start, last);
	while ((st = ask(&w)) == NFS4R_BLOCKED)
		must_be_ready(s->cluster, &w);
	leave_queue(&w);
	assert_int_equal(st, NFS4R_OK);
}

/* A lock that another one gives back is free soon after that. */
static void lock_soon(struct site *s, const struct nfs4r_oid *oid, char who, char type, uint64_t start, uint64_t last)
{
	enum nfs4r_status st = NFS4R_DENIED;

	for (int i = 0; i < TRIES && st == NFS4R_DENIED; i++) {
		st = lock_try(s, oid, who, type, start, last);
		if (st == NFS4R_DENIED)
			pause_ms(20);
	}
	assert_int_equal(st, NFS4R_OK);
}

/* ---- the volume ---- */

#define LONG_IDLE_MS 60000 /* control stays where it was taken, however slow the machine is */

static int setup_of(void **state, uint32_t idle_ms, uint32_t lock_grace_ms, void (*fence)(struct site *s, uint32_t number, uint32_t nlost))
{
	struct cluster *c = cluster_new();

	if (idle_ms)
		c->idle_ms = idle_ms;
	c->lock_grace_ms = lock_grace_ms;
	c->lease_ms = c->silence_ms = LEASE_MS;
	c->durability = NFS4R_DURABILITY_COMMIT;
	for (int i = 1; i <= SITES_MAX; i++)
		c->site[i].lock_news = lock_news;
	c->site[3].fence = fence;
	waiters.first = NULL;
	waiters.ready_for_nobody = 0;
	cluster_begin(c, state);
	wait_all_serve(c);
	for (int i = 1; i <= SITES; i++)
		assert_true(nfs4r_locks_are_shared(c->site[i].eng));
	return 0;
}

static int setup(void **state)
{
	return setup_of(state, 0, 0, NULL);
}

static int setup_that_stays(void **state)
{
	return setup_of(state, LONG_IDLE_MS, 0, NULL);
}

static nfs4r_server_id controlled_at(struct site *s, const struct nfs4r_oid *oid)
{
	return nfs4r_read_server(s->eng, oid);
}

/* Nobody controls it any more. */
static void wait_uncontrolled(struct cluster *c, const struct nfs4r_oid *f)
{
	bool free = false;

	for (int i = 0; i < TRIES && !free; i++) {
		free = true;
		for (int id = 1; id <= SITES; id++)
			free &= controlled_at(&c->site[id], f) == id;
		pause_ms(20);
	}
	assert_true(free);
}

static void take_control(struct site *s, const struct nfs4r_oid *f)
{
	write_text(s, f, "1");
}

/* ---- tests ---- */

static void begin_client(struct site *s)
{
	struct nfs4r_lock any = lock_of(s, 'x', 'w', 0, 0);
	enum nfs4r_status st = NFS4R_DELAY;

	for (int i = 0; i < TRIES && st == NFS4R_DELAY; i++)
		st = nfs4r_client_begins(s->eng, any.owner.client, "a client", "192.0.2.1", 2);
	assert_int_equal(st, NFS4R_OK);
}

/* Its servers have been replaced one after the other; nobody has finished the upgrade. */
static struct cluster *begin_older(void **state)
{
	struct cluster *c = cluster_new();

	c->no_locks = c->locks_before = true;
	cluster_begin(c, state);
	wait_all_serve(c);
	c->no_locks = false;
	for (int i = 1; i <= SITES; i++) {
		cluster_stop(c, i);
		cluster_start(c, i);
		wait_all_serve(c);
	}
	return c;
}

static void before_the_upgrade_is_finished_there_are_none(void **state)
{
	struct cluster *c = begin_older(state);
	struct nfs4r_lock lock;
	struct nfs4r_oid f;

	f = file_at(c, 1, "f");
	lock = lock_of(&c->site[1], 'x', 'w', 0, 9);
	for (uint32_t type = NFS4R_OP_LOCK; type <= NFS4R_OP_UNWAIT; type++) {
		struct nfs4r_op op = op_of(type, &f, &lock, type == NFS4R_OP_LOCK ? NFS4R_LOCK_TRY : 0);

		assert_int_equal(nfs4r_lock(c->site[1].eng, &op), NFS4R_NOTSUPP);
	}
}

/* Whoever asks the engine for locks hears when others begin to count on that. */
static void each_server_hears_once_that_locks_hold_everywhere(void **state)
{
	struct cluster *c = begin_older(state);

	for (int i = 1; i <= SITES; i++) {
		assert_false(nfs4r_locks_are_shared(c->site[i].eng));
		assert_int_equal(c->site[i].locks_shared, 0);
	}
	finish_upgrade(c);
	wait_all_serve(c);
	for (int i = 1; i <= SITES; i++)
		for (int n = 0; n < TRIES && c->site[i].locks_shared == 0; n++)
			pause_ms(20);
	cluster_stop(c, 1);
	cluster_start(c, 1);
	wait_all_serve(c);
	for (int n = 0; n < TRIES && c->site[1].locks_shared < 2; n++)
		pause_ms(20);
	for (int i = 1; i <= SITES; i++)
		assert_int_equal(c->site[i].locks_shared, i == 1 ? 2 : 1);
}

static void is_not_granted_yet(struct site *s, const struct nfs4r_oid *f, uint64_t at)
{
	struct nfs4r_lock lock = lock_of(s, 'y', 'w', at, at);
	struct nfs4r_op op = op_of(NFS4R_OP_LOCK, f, &lock, NFS4R_LOCK_TRY);

	assert_int_equal(nfs4r_lock(s->eng, &op), NFS4R_DELAY);
}

/* The first one asks for what its client had before; what others want waits until all have said that they have done that. */
static void what_was_granted_before_holds_everywhere(void **state)
{
	struct cluster *c = begin_older(state);
	struct nfs4r_oid f = file_at(c, 1, "f");
	struct nfs4r_lock had = lock_of(&c->site[1], 'x', 'w', 0, 9);
	struct nfs4r_op op = op_of(NFS4R_OP_LOCK, &f, &had, NFS4R_LOCK_TRY);
	enum nfs4r_status st = NFS4R_DELAY;

	finish_upgrade(c);
	wait_all_serve(c);
	nfs4r_locks_known(c->site[2].eng);
	nfs4r_locks_known(c->site[3].eng);
	is_not_granted_yet(&c->site[2], &f, 5);
	begin_client(&c->site[1]);
	op.lock.reclaim = true;
	for (int i = 0; i < TRIES && st == NFS4R_DELAY; i++)
		st = nfs4r_lock(c->site[1].eng, &op);
	assert_int_equal(st, NFS4R_OK);
	is_not_granted_yet(&c->site[2], &f, 5);
	nfs4r_locks_known(c->site[1].eng);
	assert_int_equal(lock_try(&c->site[2], &f, 'y', 'w', 5, 5), NFS4R_DENIED);
	assert_int_equal(lock_try(&c->site[3], &f, 'y', 'w', 10, 15), NFS4R_OK);
	unlock(&c->site[1], &f, 'x', 0, 9);
	lock_soon(&c->site[2], &f, 'y', 'w', 5, 5);
}

static void a_lock_excludes_all_sites(void **state)
{
	struct cluster *c = *state;

	for (int at = 1; at <= SITES; at++) {
		struct nfs4r_oid f;
		char name[8];

		snprintf(name, sizeof(name), "f%d", at);
		f = file_at(c, at, name);
		for (int id = 1; id <= SITES; id++) {
			struct nfs4r_lock want = lock_of(&c->site[id], 'y', 'r', 9, 9);
			struct nfs4r_file_lock conflict;

			lock_soon(&c->site[id], &f, 'x', 'w', 0, 9);
			for (int other = 1; other <= SITES; other++) {
				assert_int_equal(lock_try(&c->site[other], &f, 'y', 'r', 9, 20), NFS4R_DENIED);
				assert_int_equal(lock_test(&c->site[other], &f, 'y', 'w', 0, UINT64_MAX), NFS4R_DENIED);
				assert_int_equal(lock_test(&c->site[other], &f, 'y', 'w', 10, UINT64_MAX), NFS4R_OK);
			}
			assert_int_equal(request(&c->site[id % SITES + 1], NFS4R_OP_LOCK_TEST, &f, &want, 0, &conflict), NFS4R_DENIED);
			assert_int_equal(conflict.holder, id);
			assert_int_equal(conflict.lock.type, NFS4R_LOCK_WRITE);
			assert_int_equal(conflict.lock.last, 9);
			unlock(&c->site[id], &f, 'x', 0, 9);
			lock_soon(&c->site[id % SITES + 1], &f, 'z', 'w', 0, 9);
			unlock(&c->site[id % SITES + 1], &f, 'z', 0, 9);
		}
	}
}

static void readers_share_at_all_sites(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = file_at(c, 2, "f");

	for (int id = 1; id <= SITES; id++)
		assert_int_equal(lock_try(&c->site[id], &f, 'x', 'r', 0, 99), NFS4R_OK);
	assert_int_equal(lock_try(&c->site[3], &f, 'x', 'w', 0, 99), NFS4R_DENIED); /* the others read */
	unlock(&c->site[1], &f, 'x', 0, 99);
	unlock(&c->site[2], &f, 'x', 0, 99);
	lock_soon(&c->site[3], &f, 'x', 'w', 0, 99);
	assert_int_equal(lock_try(&c->site[1], &f, 'x', 'r', 50, 50), NFS4R_DENIED);
}

static void waiters_have_their_turn_in_order_over_sites(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = file_at(c, 1, "f");
	struct waiting w[6];

	assert_int_equal(lock_try(&c->site[1], &f, 'x', 'w', 0, 9), NFS4R_OK);
	for (int i = 0; i < 6; i++) {
		queue(&c->site[1 + (i + 1) % 3], &f, &w[i], (char)('a' + i), 'w', 0, 9);
		assert_int_equal(ask(&w[i]), NFS4R_BLOCKED);
	}
	unlock(&c->site[1], &f, 'x', 0, 9);
	for (int i = 0; i < 6; i++) {
		struct site *s = &c->site[1 + (i + 1) % 3];

		must_be_ready(c, &w[i]);
		for (int j = i + 1; j < 6; j++)
			assert_false(is_ready(&w[j], 0));
		assert_int_equal(lock_try(&c->site[1], &f, 'x', 'r', 5, 5), NFS4R_DENIED); /* it is that waiter's already */
		assert_int_equal(ask(&w[i]), NFS4R_OK);
		leave_queue(&w[i]);
		unlock(s, &f, (char)('a' + i), 0, 9);
	}
	lock_soon(&c->site[1], &f, 'x', 'w', 0, 9);
	assert_int_equal(waiters.ready_for_nobody, 0);
}

static void a_lock_outlives_control(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = file_at(c, 1, "f");

	assert_int_equal(lock_try(&c->site[1], &f, 'x', 'w', 0, 9), NFS4R_OK);
	assert_int_equal(lock_try(&c->site[3], &f, 'x', 'r', 20, 29), NFS4R_OK);
	wait_uncontrolled(c, &f);
	for (int id = 1; id <= SITES; id++) {
		take_control(&c->site[id], &f);
		for (int at = 1; at <= SITES; at++) {
			assert_int_equal(lock_try(&c->site[at], &f, 'y', 'r', 9, 9), NFS4R_DENIED);
			assert_int_equal(lock_try(&c->site[at], &f, 'y', 'w', 20, 20), NFS4R_DENIED);
		}
	}
	unlock(&c->site[1], &f, 'x', 0, 9);
	lock_soon(&c->site[2], &f, 'y', 'w', 0, 9);
	unlock(&c->site[3], &f, 'x', 0, UINT64_MAX);
	wait_uncontrolled(c, &f);
	lock_soon(&c->site[1], &f, 'x', 'w', 10, UINT64_MAX);
}

/* A waiter stays one when control moves while it waits. */
static void a_waiter_outlives_control(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = file_at(c, 1, "f");
	struct waiting w;

	assert_int_equal(lock_try(&c->site[1], &f, 'x', 'w', 0, 9), NFS4R_OK);
	queue(&c->site[2], &f, &w, 'y', 'w', 0, 9);
	assert_int_equal(ask(&w), NFS4R_BLOCKED);
	for (int i = 0; i < 6; i++) {
		pause_ms(2 * c->idle_ms); /* its server asks again for it, wherever control is */
		take_control(&c->site[3 - i % 3], &f);
		assert_int_equal(lock_try(&c->site[3], &f, 'z', 'r', 0, 0), NFS4R_DENIED);
	}
	unlock(&c->site[1], &f, 'x', 0, 9);
	must_be_ready(c, &w);
	assert_int_equal(ask(&w), NFS4R_OK);
	leave_queue(&w);
	assert_int_equal(lock_try(&c->site[3], &f, 'z', 'r', 0, 0), NFS4R_DENIED);
}

static void who_gives_up_waiting_does_not_get_it(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = file_at(c, 1, "f");
	struct nfs4r_op op;
	struct waiting w, next;

	assert_int_equal(lock_try(&c->site[1], &f, 'x', 'w', 0, 9), NFS4R_OK);
	queue(&c->site[2], &f, &w, 'y', 'w', 0, 9);
	queue(&c->site[3], &f, &next, 'z', 'w', 0, 9);
	assert_int_equal(ask(&w), NFS4R_BLOCKED);
	assert_int_equal(ask(&next), NFS4R_BLOCKED);
	op = op_of(NFS4R_OP_UNWAIT, &f, &w.lock, 0);
	assert_int_equal(nfs4r_lock(c->site[2].eng, &op), NFS4R_OK);
	unlock(&c->site[1], &f, 'x', 0, 9);
	must_be_ready(c, &next);
	assert_false(is_ready(&w, 0));
	/* The second does not fetch it, and gives up. */
	op = op_of(NFS4R_OP_UNWAIT, &f, &next.lock, 0);
	assert_int_equal(nfs4r_lock(c->site[3].eng, &op), NFS4R_OK);
	leave_queue(&w);
	leave_queue(&next);
	lock_soon(&c->site[1], &f, 'x', 'w', 0, 9);
	assert_int_equal(waiters.ready_for_nobody, 0);
}

static void who_does_not_come_for_its_lock_goes_behind_the_others(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = file_at(c, 1, "f");
	struct waiting slow, next;

	assert_int_equal(lock_try(&c->site[1], &f, 'x', 'w', 0, 9), NFS4R_OK);
	queue(&c->site[2], &f, &slow, 'y', 'w', 0, 9);
	queue(&c->site[3], &f, &next, 'z', 'w', 0, 9);
	assert_int_equal(ask(&slow), NFS4R_BLOCKED);
	assert_int_equal(ask(&next), NFS4R_BLOCKED);
	unlock(&c->site[1], &f, 'x', 0, 9);
	must_be_ready(c, &slow);
	must_be_ready(c, &next); /* after some seconds */
	assert_int_equal(ask(&slow), NFS4R_BLOCKED);
	assert_int_equal(ask(&next), NFS4R_OK);
	unlock(&c->site[3], &f, 'z', 0, 9);
	must_be_ready(c, &slow);
	assert_int_equal(ask(&slow), NFS4R_OK);
	leave_queue(&slow);
	leave_queue(&next);
}

/* As the server of a client with NFSv4.0 asks, which cannot be notified. */
static void nothing_is_reserved_for_who_polls(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = file_at(c, 1, "f");
	bool again = false;
	struct waiting w;

	assert_int_equal(lock_try(&c->site[1], &f, 'x', 'w', 0, 9), NFS4R_OK);
	queue(&c->site[2], &f, &w, 'y', 'w', 0, 9);
	assert_int_equal(request(&c->site[2], NFS4R_OP_LOCK, &f, &w.lock, NFS4R_LOCK_POLL, NULL), NFS4R_BLOCKED);
	unlock(&c->site[1], &f, 'x', 0, 9);
	for (int i = 0; i < TRIES && !again; i++) {
		pause_ms(20);
		pthread_mutex_lock(&waiters.lock);
		again = w.again;
		pthread_mutex_unlock(&waiters.lock);
	}
	assert_true(again);
	lock_soon(&c->site[3], &f, 'z', 'w', 0, 9);
	assert_int_equal(request(&c->site[2], NFS4R_OP_LOCK, &f, &w.lock, NFS4R_LOCK_POLL, NULL), NFS4R_BLOCKED);
	unlock(&c->site[3], &f, 'z', 0, 9);
	lock_soon(&c->site[2], &f, 'y', 'w', 0, 9);
	leave_queue(&w);
	assert_int_equal(waiters.ready_for_nobody, 0);
}

/* ---- many at a time ---- */

#define INCREMENTS 40

/* The first bytes, as the owner of a lock reads them. True: in the copy of that site. */
static bool read_locked(struct site *s, const struct nfs4r_oid *f, char who, char text[16])
{
	struct nfs4r_lock lock = lock_of(s, who, 'r', 0, 0);
	enum nfs4r_status st = NFS4R_DELAY;
	bool local = false;

	memset(text, 0, 16);
	for (int i = 0; i < TRIES && st == NFS4R_DELAY; i++) {
		struct nfs4r_read rd = { .type = NFS4R_RD_READ, .oid = *f, .length = 15, .locked = true, .owner = lock.owner };

		st = nfs4r_read(s->eng, &rd, &local);
		if (local)
			st = nfs4r_read_here(s->eng, &rd);
		if (st == NFS4R_OK)
			memcpy(text, rd.data->data, rd.data->len);
		nfs4r_read_fini(&rd);
		if (st == NFS4R_DELAY)
			pause_ms(20);
	}
	assert_int_equal(st, NFS4R_OK);
	return local;
}

/* Another site controls the file. What is locked is read here as soon as the copy has what was written under the lock before, and all else there. */
static void what_is_locked_is_read_here(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = file_at(c, 1, "f");
	char text[16], want[16];
	bool here;

	take_control(&c->site[1], &f);
	for (int i = 0; i < 20; i++) {
		snprintf(want, sizeof(want), "turn %d", i);
		lock_soon(&c->site[1], &f, 'x', 'w', 0, UINT64_MAX);
		assert_int_equal(site_write(&c->site[1], &f, 0, want, (uint32_t)strlen(want)), NFS4R_OK);
		unlock(&c->site[1], &f, 'x', 0, UINT64_MAX);
		lock_soon(&c->site[2], &f, 'y', 'w', 0, 99);
		here = read_locked(&c->site[2], &f, 'y', text);
		assert_string_equal(text, want);
		for (int k = 0; k < TRIES && !here; k++) {
			pause_ms(2);
			here = read_locked(&c->site[2], &f, 'y', text);
			assert_string_equal(text, want);
		}
		assert_true(here);
		assert_false(read_locked(&c->site[2], &f, 'z', text)); /* it has no lock */
		unlock(&c->site[2], &f, 'y', 10, 99);
		assert_false(read_locked(&c->site[2], &f, 'y', text)); /* not of all bytes */
		unlock(&c->site[2], &f, 'y', 0, 9);
	}
}

struct counting {
	struct site *site;
	struct nfs4r_oid oid;
	int at_most; /* of the others; atomic */
};

static int inside; /* so many threads believe that they have the lock; atomic */

static void *count(void *arg)
{
	struct counting *job = arg;

	for (int i = 0; i < INCREMENTS; i++) {
		char text[16];

		lock_wait(job->site, &job->oid, 'x', 'w', 0, UINT64_MAX);
		assert_int_equal(__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST), 1);
		read_locked(job->site, &job->oid, 'x', text);
		snprintf(text, sizeof(text), "%06d", atoi(text) + 1);
		assert_int_equal(site_write(job->site, &job->oid, 0, text, 6), NFS4R_OK);
		__atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
		unlock(job->site, &job->oid, 'x', 0, UINT64_MAX);
	}
	return NULL;
}

static void a_counter_under_the_lock_is_exact(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = file_at(c, 1, "f");
	struct counting jobs[SITES];
	pthread_t threads[SITES];

	write_text(&c->site[1], &f, "000000");
	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	for (int i = 0; i < SITES; i++) {
		jobs[i] = (struct counting){ .site = &c->site[i + 1], .oid = f };
		assert_int_equal(pthread_create(&threads[i], NULL, count, &jobs[i]), 0);
	}
	for (int i = 0; i < SITES; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	expect_content(&c->site[1], &f, "000120");
}

/* ---- ranges of one owner, as POSIX has them, asked for at each site, decided at each site ---- */

#define BYTES 16

/*
 * Each step: who, what (r, w: lock; u: unlock), first and last byte, and - where it has to be refused. x and z are owners at the site that asks, y at the next one. After the steps: what each byte is
 * for an owner of the third site: '.', 'r' or 'w', of all three together.
 */
static const struct range_case {
	const char *steps, *bytes;
} range_cases[] = {
	{ "xw0-15", "wwwwwwwwwwwwwwww" },
	{ "xr4-7", "....rrrr........" },
	{ "xw0-15 xr4-7", "wwwwrrrrwwwwwwww" }, /* lowered in the middle */
	{ "xr0-15 xw4-7", "rrrrwwwwrrrrrrrr" }, /* raised in the middle */
	{ "xw0-15 xr4-7 xw4-7", "wwwwwwwwwwwwwwww" }, /* filled again */
	{ "xw0-15 xu4-7", "wwww....wwwwwwww" }, /* split */
	{ "xw0-15 xu4-7 xw4-7", "wwwwwwwwwwwwwwww" },
	{ "xw0-15 xu4-7 xr4-7", "wwwwrrrrwwwwwwww" },
	{ "xw0-15 xu0-7", "........wwwwwwww" },
	{ "xw0-15 xu8-15", "wwwwwwww........" },
	{ "xw0-15 xu0-15", "................" },
	{ "xw0-3 xw8-11 xw4-7", "wwwwwwwwwwww...." },
	{ "xw0-3 xw8-11 xr2-9", "wwrrrrrrrrww...." },
	{ "xw0-3 xr8-11 xu2-9", "ww........rr...." },
	{ "xr0-7 xr4-11", "rrrrrrrrrrrr...." },
	{ "xr0-7 xw4-11", "rrrrwwwwwwww...." },
	{ "xw0-7 xr4-11", "wwwwrrrrrrrr...." },
	{ "xr0-15 xw0-15", "wwwwwwwwwwwwwwww" },
	{ "xw0-15 xr0-15", "rrrrrrrrrrrrrrrr" },
	{ "xr0-15 yr4-7 xw0-15-", "rrrrrrrrrrrrrrrr" }, /* another site's reader */
	{ "xr0-15 yr4-7 xw0-3", "wwwwrrrrrrrrrrrr" },
	{ "xr0-15 yr4-7 xw7-7-", "rrrrrrrrrrrrrrrr" },
	{ "xr0-15 yr4-7 yu4-7 xw0-15", "wwwwwwwwwwwwwwww" },
	{ "xr0-15 zr4-7 xw0-15-", "rrrrrrrrrrrrrrrr" }, /* a reader of this site */
	{ "xr0-15 zr4-7 zu5-5 xw5-5", "rrrrrwrrrrrrrrrr" },
	{ "yw4-7 xr0-15-", "....wwww........" },
	{ "yw4-7 xr0-3 xr8-15", "rrrrwwwwrrrrrrrr" },
	{ "xw0-15 yr0-0-", "wwwwwwwwwwwwwwww" },
	{ "xw0-15 xr4-7 yr5-6", "wwwwrrrrwwwwwwww" },
	{ "xw0-15 xr4-7 yr5-6 xw4-7-", "wwwwrrrrwwwwwwww" },
	{ "xw0-15 xr4-7 yr5-6 xu0-15", ".....rr........." },
	{ "xw0-15 xu4-7 yw4-7", "wwwwwwwwwwwwwwww" },
	{ "xw0-15 xu4-7 yw4-7 xr0-15-", "wwwwwwwwwwwwwwww" },
	{ "xw0-0 xw2-2 xw4-4 xw6-6 xu1-5", "w.....w........." },
	{ "xr0-7 yr0-7 xu0-3 yw0-3", "wwwwrrrr........" },
	{ "yr0-15 xr0-15 yu0-15 xw8-8", "rrrrrrrrwrrrrrrr" },
};

/* What @who asks for is asked for until what was given back before has arrived. */
static void step(struct site *s, const struct nfs4r_oid *f, char who, char what, uint64_t start, uint64_t last, bool refused)
{
	if (what == 'u')
		unlock(s, f, who, start, last);
	else if (refused)
		assert_int_equal(lock_try(s, f, who, what, start, last), NFS4R_DENIED);
	else
		lock_soon(s, f, who, what, start, last);
}

static void expect_bytes(struct site *s, const struct nfs4r_oid *f, uint64_t base, const char *want)
{
	char got[BYTES + 1] = "";

	for (int tries = 0; tries < TRIES && strcmp(got, want) != 0; tries++) {
		if (tries > 0)
			pause_ms(10);
		for (uint64_t i = 0; i < BYTES; i++) {
			enum nfs4r_status r = lock_test(s, f, 'q', 'r', base + i, base + i), w = lock_test(s, f, 'q', 'w', base + i, base + i);

			got[i] = r == NFS4R_DENIED ? 'w' : w == NFS4R_DENIED ? 'r' :
									       '.';
		}
	}
	assert_string_equal(got, want);
}

static void ranges_of_an_owner_are_as_posix_has_them(void **state)
{
	struct cluster *c = *state;

	for (int authority = 1; authority <= SITES; authority++) {
		struct nfs4r_oid f;
		char name[8];

		snprintf(name, sizeof(name), "f%d", authority);
		f = file_at(c, authority, name);
		for (size_t i = 0; i < sizeof(range_cases) / sizeof(range_cases[0]); i++) {
			struct site *asks = &c->site[1], *next = &c->site[2], *third = &c->site[3];
			const char *at = range_cases[i].steps;
			uint64_t base = i * 2 * BYTES;
			unsigned start, last;
			char who, what, minus;
			int n, fields;

			take_control(&c->site[authority], &f);
			while ((fields = sscanf(at, " %c%c%u-%u%n%c", &who, &what, &start, &last, &n, &minus)) >= 4) {
				bool refused = fields == 5 && minus == '-';

				step(who == 'y' ? next : asks, &f, who, what, base + start, base + last, refused);
				at += n + refused;
			}
			if (*at != '\0')
				fail_msg("in \"%s\" something is left: \"%s\"", range_cases[i].steps, at);
			expect_bytes(third, &f, base, range_cases[i].bytes);
		}
	}
}

/* ---- servers that cannot answer ---- */

static void a_lock_is_not_waited_for_long_while_nobody_answers(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = file_at(c, 1, "f");
	struct nfs4r_lock lock = lock_of(&c->site[1], 'x', 'w', 0, 9);
	struct nfs4r_op op = op_of(NFS4R_OP_LOCK, &f, &lock, NFS4R_LOCK_QUEUE), give_up = op_of(NFS4R_OP_UNLOCK, &f, &lock, 0);
	uint64_t begun;

	wait_uncontrolled(c, &f);
	cluster_stop(c, 2);
	cluster_stop(c, 3);
	begun = engine_now_ms();
	assert_int_equal(nfs4r_lock(c->site[1].eng, &op), NFS4R_DELAY);
	assert_true(engine_now_ms() < begun + 5000);
	begun = engine_now_ms();
	assert_int_equal(nfs4r_lock(c->site[1].eng, &give_up), NFS4R_OK);
	assert_true(engine_now_ms() < begun + 200);
	cluster_start(c, 2);
	cluster_start(c, 3);
	wait_all_serve(c);
	lock_soon(&c->site[1], &f, 'x', 'w', 0, 9);
	lock_soon(&c->site[2], &f, 'x', 'w', 10, 19);
}

/* What comes of a request after its caller has left is no lock for good. */
static void an_answer_that_comes_too_late_leaves_no_lock(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = file_at(c, 1, "f");
	struct nfs4r_lock lock = lock_of(&c->site[2], 'x', 'w', 0, 9);
	struct nfs4r_op op = op_of(NFS4R_OP_LOCK, &f, &lock, NFS4R_LOCK_TRY);
	enum nfs4r_status st;

	take_control(&c->site[1], &f);
	cluster_stop(c, 1);
	st = nfs4r_lock(c->site[2].eng, &op);
	cluster_start(c, 1);
	wait_all_serve(c);
	if (st == NFS4R_OK) /* the others have gone on without the first one */
		unlock(&c->site[2], &f, 'x', 0, 9);
	else
		assert_int_equal(st, NFS4R_DELAY);
	lock_soon(&c->site[3], &f, 'z', 'w', 0, 9); /* if it was granted, that is ready for nobody, and given back */
}

/* All that it controlled is known to the others. */
static void locks_of_files_of_a_server_that_is_stopped_stay(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = file_at(c, 1, "f"), g = file_at(c, 2, "g");

	c->site[1].eng->cfg.stop_wait_ms = 10000;
	take_control(&c->site[1], &f);
	assert_int_equal(lock_try(&c->site[3], &f, 'x', 'w', 0, 9), NFS4R_OK);
	assert_int_equal(lock_try(&c->site[3], &g, 'x', 'w', 0, 9), NFS4R_OK);
	cluster_stop(c, 1);
	assert_int_equal(lock_try(&c->site[2], &f, 'y', 'r', 0, 0), NFS4R_DENIED);
	assert_int_equal(lock_try(&c->site[2], &g, 'y', 'r', 0, 0), NFS4R_DENIED);
	cluster_start(c, 1);
	wait_all_serve(c);
	for (int id = 1; id <= SITES; id++) {
		assert_int_equal(lock_try(&c->site[id], &f, 'y', 'r', 0, 0), NFS4R_DENIED);
		assert_int_equal(lock_try(&c->site[id], &g, 'y', 'r', 0, 0), NFS4R_DENIED);
	}
	unlock(&c->site[3], &f, 'x', 0, 9);
	unlock(&c->site[3], &g, 'x', 0, 9);
	lock_soon(&c->site[1], &f, 'y', 'w', 0, 9);
	lock_soon(&c->site[2], &g, 'y', 'w', 0, 9);
}

static void wait_removed(struct site *s, nfs4r_server_id who)
{
	struct nfs4r_core_view v;

	for (int i = 0; i < TRIES; i++) {
		get_view(s, &v);
		if (!(v.adopted.members & NFS4R_BIT(who)))
			return;
		pause_ms(20);
	}
	fail_msg("server %u stays in the view", who);
}

static void nobody_waits_for_a_waiter_whose_server_has_gone(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = file_at(c, 1, "f");
	struct waiting gone, next;

	take_control(&c->site[1], &f);
	assert_int_equal(lock_try(&c->site[1], &f, 'x', 'w', 0, 9), NFS4R_OK);
	queue(&c->site[3], &f, &gone, 'y', 'w', 0, 9);
	queue(&c->site[2], &f, &next, 'z', 'w', 0, 9);
	assert_int_equal(ask(&gone), NFS4R_BLOCKED);
	assert_int_equal(ask(&next), NFS4R_BLOCKED);
	cluster_stop(c, 3);
	wait_removed(&c->site[1], 3);
	wait_removed(&c->site[2], 3);
	unlock(&c->site[1], &f, 'x', 0, 9);
	must_be_ready(c, &next);
	assert_int_equal(ask(&next), NFS4R_OK);
	leave_queue(&gone);
	leave_queue(&next);
	cluster_start(c, 3);
	wait_all_serve(c);
	assert_int_equal(lock_try(&c->site[3], &f, 'y', 'r', 0, 0), NFS4R_DENIED);
}

/* Its memory is gone, and its control is not. */
static void a_server_that_starts_anew_learns_of_the_locks_of_its_files(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = file_at(c, 1, "f");

	take_control(&c->site[1], &f);
	assert_int_equal(lock_try(&c->site[3], &f, 'x', 'w', 0, 9), NFS4R_OK);
	cluster_stop(c, 1);
	cluster_start(c, 1);
	wait_all_serve(c);
	for (int id = 1; id <= SITES; id++)
		assert_int_equal(lock_try(&c->site[id], &f, 'y', 'r', 0, 0), NFS4R_DENIED);
	unlock(&c->site[3], &f, 'x', 0, 9);
	lock_soon(&c->site[1], &f, 'y', 'w', 0, 9);
}

/* ---- clients that reclaim ---- */

static enum nfs4r_status reclaim(struct site *s, const struct nfs4r_oid *f, uint64_t start, uint64_t last)
{
	enum nfs4r_status st = NFS4R_DELAY;

	for (int i = 0; i < TRIES && st == NFS4R_DELAY; i++) {
		struct nfs4r_lock lock = lock_of(s, 'x', 'w', start, last);
		struct nfs4r_op op = op_of(NFS4R_OP_LOCK, f, &lock, NFS4R_LOCK_TRY);

		op.lock.reclaim = true;
		st = nfs4r_lock(s->eng, &op);
		if (st == NFS4R_DELAY)
			pause_ms(20);
	}
	return st;
}

static void say_reclaimed(struct site *s)
{
	struct nfs4r_lock any = lock_of(s, 'x', 'w', 0, 0);

	nfs4r_client_reclaimed(s->eng, any.owner.client);
}

static enum nfs4r_status try_once(struct site *s, const struct nfs4r_oid *f, char who)
{
	struct nfs4r_lock lock = lock_of(s, who, 'r', 0, 0);
	struct nfs4r_op op = op_of(NFS4R_OP_LOCK, f, &lock, NFS4R_LOCK_TRY);

	return nfs4r_lock(s->eng, &op);
}

/* Server 1 controls @f and server 2 @g, neither of them their directory. */
static void take_one_each(struct cluster *c, const struct nfs4r_oid *f, const struct nfs4r_oid *g)
{
	bool apart = false;

	for (int i = 0; i < TRIES && !apart; i++) {
		take_control(&c->site[2], g);
		take_control(&c->site[1], f);
		apart = true;
		for (int id = 1; id <= SITES; id++)
			apart &= controlled_at(&c->site[id], f) == 1 && controlled_at(&c->site[id], g) == 2;
	}
	assert_true(apart);
}

/* What its server controlled waits for it, until it has done. Nothing else does, and nobody waits for the time in which it may come back, which is longer than this test. */
static void a_client_whose_server_starts_anew_reclaims(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = file_at(c, 1, "f"), g = file_at(c, 2, "g");

	begin_client(&c->site[1]);
	take_one_each(c, &f, &g);
	assert_int_equal(lock_try(&c->site[1], &f, 'x', 'w', 0, 9), NFS4R_OK);
	assert_int_equal(lock_try(&c->site[1], &f, 'x', 'w', 20, 29), NFS4R_OK);
	cluster_stop(c, 1);
	cluster_start(c, 1);
	wait_all_serve(c);
	assert_int_equal(lock_try(&c->site[3], &g, 'z', 'w', 0, 9), NFS4R_OK);
	assert_int_equal(try_once(&c->site[2], &f, 'y'), NFS4R_DELAY);
	assert_int_equal(reclaim(&c->site[1], &f, 0, 9), NFS4R_OK);
	assert_int_equal(try_once(&c->site[2], &f, 'y'), NFS4R_DELAY);
	say_reclaimed(&c->site[1]);
	assert_int_equal(lock_try(&c->site[2], &f, 'y', 'r', 0, 0), NFS4R_DENIED);
	lock_soon(&c->site[2], &f, 'y', 'w', 20, 29); /* it did not ask for that */
	unlock(&c->site[1], &f, 'x', 0, 9);
	lock_soon(&c->site[2], &f, 'y', 'w', 0, 9);
}

static struct {
	pthread_mutex_t lock;
	uint32_t number, nlost;
} fenced = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void note_fence(struct site *s, uint32_t number, uint32_t nlost)
{
	pthread_mutex_lock(&fenced.lock);
	fenced.number = number;
	fenced.nlost = nlost;
	pthread_mutex_unlock(&fenced.lock);
}

static uint32_t wait_fenced(uint32_t *nlost)
{
	uint32_t number = 0;

	for (int i = 0; i < TRIES && !number; i++) {
		pthread_mutex_lock(&fenced.lock);
		number = fenced.number;
		*nlost = fenced.nlost;
		pthread_mutex_unlock(&fenced.lock);
		if (!number)
			pause_ms(20);
	}
	assert_int_not_equal(number, 0);
	return number;
}

/* It keeps its memory, and hears and says nothing, until the others have gone on without it. */
static void stand_still(struct cluster *c, int id, void (*meanwhile)(struct cluster *c, const struct nfs4r_oid *f), const struct nfs4r_oid *f)
{
	pthread_mutex_lock(&c->site[id].eng->lock);
	wait_removed(&c->site[1], (nfs4r_server_id)id);
	wait_removed(&c->site[2], (nfs4r_server_id)id);
	if (meanwhile)
		meanwhile(c, f);
	pthread_mutex_unlock(&c->site[id].eng->lock);
}

static int setup_fence(void **state)
{
	fenced.number = 0;
	return setup_of(state, LONG_IDLE_MS, 0, note_fence);
}

static int setup_short_grace(void **state)
{
	fenced.number = 0;
	return setup_of(state, LONG_IDLE_MS, 1000, note_fence);
}

/* A server for whose clients somebody else has no use yet: they get all of their locks back. */
static void who_was_outside_fences_its_clients_and_they_reclaim(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = file_at(c, 1, "f");
	char text[8] = "";
	uint32_t number, nlost, len = sizeof(text);

	begin_client(&c->site[3]);
	take_control(&c->site[1], &f);
	assert_int_equal(lock_try(&c->site[3], &f, 'x', 'w', 0, 9), NFS4R_OK);
	assert_int_equal(lock_try(&c->site[3], &f, 'x', 'w', 20, 29), NFS4R_OK);
	stand_still(c, 3, NULL, NULL);
	number = wait_fenced(&nlost);
	wait_all_serve(c);
	/* No client is answered that has not heard of it; what others ask for is. */
	assert_int_equal(try_once(&c->site[3], &f, 'z'), NFS4R_DELAY);
	assert_int_equal(site_read(&c->site[3], &f, 0, text, &len), NFS4R_DELAY);
	assert_int_equal(site_write(&c->site[3], &f, 0, "1", 1), NFS4R_DELAY);
	nfs4r_fence_over(c->site[3].eng, number + 1); /* of another one */
	assert_int_equal(try_once(&c->site[3], &f, 'z'), NFS4R_DELAY);
	nfs4r_fence_over(c->site[3].eng, number);
	assert_int_equal(nlost, 0);
	assert_int_equal(reclaim(&c->site[3], &f, 0, 9), NFS4R_OK);
	say_reclaimed(&c->site[3]);
	assert_int_equal(lock_try(&c->site[2], &f, 'y', 'r', 0, 0), NFS4R_DENIED);
	lock_soon(&c->site[2], &f, 'y', 'w', 20, 29);
	write_text(&c->site[3], &f, "2");
	unlock(&c->site[3], &f, 'x', 0, 9);
	lock_soon(&c->site[2], &f, 'y', 'w', 0, 9);
}

static void lock_at_2(struct cluster *c, const struct nfs4r_oid *f)
{
	for (int i = 0; i < TRIES && lock_try(&c->site[2], f, 'y', 'w', 0, 9) != NFS4R_OK; i++)
		pause_ms(20);
	assert_int_equal(lock_try(&c->site[2], f, 'y', 'w', 0, 9), NFS4R_OK);
}

static void what_others_got_meanwhile_is_not_reclaimed(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f;
	uint32_t number, nlost;

	f = file_at(c, 1, "f");
	begin_client(&c->site[3]);
	take_control(&c->site[1], &f);
	assert_int_equal(lock_try(&c->site[3], &f, 'x', 'w', 0, 9), NFS4R_OK);
	stand_still(c, 3, lock_at_2, &f);
	number = wait_fenced(&nlost);
	wait_all_serve(c);
	nfs4r_fence_over(c->site[3].eng, number);
	assert_int_equal(nlost, 1);
	assert_int_equal(reclaim(&c->site[3], &f, 0, 9), NFS4R_DENIED);
	begin_client(&c->site[3]);
	say_reclaimed(&c->site[3]);
	assert_int_equal(lock_try(&c->site[3], &f, 'x', 'w', 0, 9), NFS4R_DENIED);
	unlock(&c->site[2], &f, 'y', 0, 9);
	lock_soon(&c->site[3], &f, 'x', 'w', 0, 9);
	unlock(&c->site[3], &f, 'x', 0, 9);
	lock_soon(&c->site[1], &f, 'y', 'w', 0, 9);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, cluster_teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(before_the_upgrade_is_finished_there_are_none, cluster_teardown),
		cmocka_unit_test_teardown(each_server_hears_once_that_locks_hold_everywhere, cluster_teardown),
		cmocka_unit_test_teardown(what_was_granted_before_holds_everywhere, cluster_teardown),
		T(a_lock_excludes_all_sites),
		T(readers_share_at_all_sites),
		T(waiters_have_their_turn_in_order_over_sites),
		T(a_lock_outlives_control),
		T(a_waiter_outlives_control),
		T(who_gives_up_waiting_does_not_get_it),
		T(who_does_not_come_for_its_lock_goes_behind_the_others),
		T(nothing_is_reserved_for_who_polls),
		T(what_is_locked_is_read_here),
		T(a_counter_under_the_lock_is_exact),
		T(ranges_of_an_owner_are_as_posix_has_them),
		T(a_lock_is_not_waited_for_long_while_nobody_answers),
		T(an_answer_that_comes_too_late_leaves_no_lock),
		T(locks_of_files_of_a_server_that_is_stopped_stay),
		T(nobody_waits_for_a_waiter_whose_server_has_gone),
		cmocka_unit_test_setup_teardown(a_server_that_starts_anew_learns_of_the_locks_of_its_files, setup_that_stays, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_client_whose_server_starts_anew_reclaims, setup_that_stays, cluster_teardown),
		cmocka_unit_test_setup_teardown(who_was_outside_fences_its_clients_and_they_reclaim, setup_fence, cluster_teardown),
		cmocka_unit_test_setup_teardown(what_others_got_meanwhile_is_not_reclaimed, setup_short_grace, cluster_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
