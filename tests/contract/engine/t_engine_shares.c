/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Opens that exclude each other at all servers (Locks 19), with real engines, stores and connections. */
#include "lib/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "engine/engine_int.h"
#include "steps.h"

#define LEASE_MS 600
#define TRIES 500 /* of 20 ms */
#define R NFS4R_SHARE_READ
#define W NFS4R_SHARE_WRITE
#define RW NFS4R_SHARE_BOTH

/* ---- clients ---- */

/* DELAY is asked again, as clients do. */
static enum nfs4r_status change(struct site *s, const struct nfs4r_oid *f, uint32_t had_access, uint32_t had_deny, uint32_t access, uint32_t deny)
{
	for (int i = 0; i < TRIES; i++) {
		struct nfs4r_op op = { .type = NFS4R_OP_SHARE, .obj = *f, .share = { .access = access, .deny = deny, .had_access = had_access, .had_deny = had_deny } };
		enum nfs4r_status st = nfs4r_share(s->eng, &op);

		if (st != NFS4R_DELAY)
			return st;
		pause_ms(20);
	}
	return NFS4R_DELAY;
}

static enum nfs4r_status opens(struct site *s, const struct nfs4r_oid *f, uint32_t access, uint32_t deny)
{
	return change(s, f, 0, 0, access, deny);
}

static void closes(struct site *s, const struct nfs4r_oid *f, uint32_t access, uint32_t deny)
{
	struct nfs4r_op op = { .type = NFS4R_OP_SHARE, .obj = *f, .share = { .had_access = access, .had_deny = deny } };

	assert_int_equal(nfs4r_share(s->eng, &op), NFS4R_OK);
}

/* What another one has given back is free soon after that. */
static void opens_soon(struct site *s, const struct nfs4r_oid *f, uint32_t access, uint32_t deny)
{
	enum nfs4r_status st = NFS4R_SHARE_DENIED;

	for (int i = 0; i < TRIES && st == NFS4R_SHARE_DENIED; i++) {
		st = opens(s, f, access, deny);
		if (st == NFS4R_SHARE_DENIED)
			pause_ms(20);
	}
	assert_int_equal(st, NFS4R_OK);
}

static void wait_nothing_is_left(struct cluster *c)
{
	uint32_t files = 1, guards = 1;

	for (int i = 0; i < TRIES && files + guards; i++) {
		files = guards = 0;
		for (int id = 1; id <= SITES; id++) {
			uint32_t n;

			pthread_mutex_lock(&c->site[id].eng->lock);
			files += nfs4r_core_count_shares(c->site[id].eng->core, &n);
			pthread_mutex_unlock(&c->site[id].eng->lock);
			guards += n;
		}
		pause_ms(20);
	}
	assert_int_equal(files + guards, 0);
}

/* ---- the volume ---- */

static int setup(void **state)
{
	struct cluster *c = cluster_new();

	c->lease_ms = c->silence_ms = LEASE_MS;
	c->durability = NFS4R_DURABILITY_COMMIT;
	cluster_begin(c, state);
	wait_all_serve(c);
	return 0;
}

/* ---- tests ---- */

static void before_the_upgrade_is_finished_there_are_none(void **state)
{
	struct cluster *c = cluster_new();
	struct nfs4r_oid f;

	c->no_locks = true;
	cluster_begin(c, state);
	wait_all_serve(c);
	f = file_at(c, 1, "f");
	assert_int_equal(opens(&c->site[1], &f, RW, W), NFS4R_NOTSUPP);
}

static void who_denies_is_alone_at_all_sites(void **state)
{
	struct cluster *c = *state;

	for (int id = 1; id <= SITES; id++) {
		struct site *s = &c->site[id], *next = &c->site[id % SITES + 1], *third = &c->site[(id + 1) % SITES + 1];
		struct nfs4r_oid f;
		char name[8];

		snprintf(name, sizeof(name), "f%d", id);
		f = file_at(c, 1, name);
		assert_int_equal(opens(s, &f, RW, W), NFS4R_OK);
		assert_int_equal(opens(next, &f, RW, 0), NFS4R_SHARE_DENIED);
		assert_int_equal(opens(next, &f, R, R), NFS4R_SHARE_DENIED);
		assert_int_equal(opens(third, &f, R, 0), NFS4R_OK);
		assert_int_equal(change(third, &f, R, 0, RW, 0), NFS4R_SHARE_DENIED);
		assert_int_equal(change(s, &f, RW, W, R, 0), NFS4R_OK);
		for (int i = 0; i < TRIES && change(third, &f, R, 0, RW, 0) != NFS4R_OK; i++)
			pause_ms(20);
		assert_int_equal(opens(next, &f, R, W), NFS4R_SHARE_DENIED);
		closes(third, &f, RW, 0);
		opens_soon(next, &f, R, W);
		closes(next, &f, R, W);
		closes(s, &f, R, 0);
	}
	wait_nothing_is_left(c);
}

/* By three threads at three sites: never two at once. */
struct rival {
	struct site *s;
	struct nfs4r_oid f;
	uint32_t *inside, *most, got, denied;
};

static void *compete(void *arg)
{
	struct rival *r = arg;

	for (int i = 0; i < 60; i++) {
		enum nfs4r_status st = opens(r->s, &r->f, RW, W);
		uint32_t now;

		if (st == NFS4R_SHARE_DENIED) {
			r->denied++;
			pause_ms(3);
			continue;
		}
		if (st != NFS4R_OK)
			break;
		now = __atomic_add_fetch(r->inside, 1, __ATOMIC_SEQ_CST);
		if (now > __atomic_load_n(r->most, __ATOMIC_SEQ_CST))
			__atomic_store_n(r->most, now, __ATOMIC_SEQ_CST);
		pause_ms(2);
		__atomic_sub_fetch(r->inside, 1, __ATOMIC_SEQ_CST);
		closes(r->s, &r->f, RW, W);
		r->got++;
	}
	return NULL;
}

static void one_of_all_who_compete_has_it(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = file_at(c, 2, "f");
	struct rival r[SITES];
	pthread_t t[SITES];
	uint32_t inside = 0, most = 0, got = 0;

	for (int i = 0; i < SITES; i++) {
		r[i] = (struct rival){ .s = &c->site[i + 1], .f = f, .inside = &inside, .most = &most };
		assert_int_equal(pthread_create(&t[i], NULL, compete, &r[i]), 0);
	}
	for (int i = 0; i < SITES; i++) {
		assert_int_equal(pthread_join(t[i], NULL), 0);
		assert_int_equal(r[i].got + r[i].denied, 60);
		got += r[i].got;
	}
	assert_int_equal(most, 1);
	assert_true(got >= 10);
	wait_nothing_is_left(c);
}

static void an_authority_that_starts_anew_asks_all(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = file_at(c, 1, "f");

	write_text(&c->site[1], &f, "1"); /* it controls it */
	assert_int_equal(opens(&c->site[3], &f, R, W), NFS4R_OK);
	cluster_stop(c, 1);
	cluster_start(c, 1);
	wait_all_serve(c);
	assert_int_equal(opens(&c->site[2], &f, W, 0), NFS4R_SHARE_DENIED);
	closes(&c->site[3], &f, R, W);
	opens_soon(&c->site[2], &f, W, 0);
	closes(&c->site[2], &f, W, 0);
	wait_nothing_is_left(c);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, cluster_teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(before_the_upgrade_is_finished_there_are_none, cluster_teardown),
		T(who_denies_is_alone_at_all_sites),
		T(one_of_all_who_compete_has_it),
		T(an_authority_that_starts_anew_asks_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
