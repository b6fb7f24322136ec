/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Byte-range locks at three sites (docs/protocol/locks.md): what they do when nothing fails, and over the end of control. */
#include "scenario/ends.h"
#include "scenario/locks_on.h"

#include "lib/unit.h"

static const struct nfs4r_versions with_locks = { NFS4R_PROTOCOL_LOCKS, NFS4R_PROTOCOL_LOCKS };

static struct net *begin(const char *paths)
{
	struct net *n = net_new(3);

	tree(n, paths);
	for (nfs4r_server_id s = P; s <= S; s++)
		n->s[s].protocol = with_locks;
	net_retune(n);
	return n;
}

/* Bytes @start to @last of owner @who. */
static struct nfs4r_lock of(uint64_t who, enum nfs4r_lock_type type, uint64_t start, uint64_t last)
{
	return (struct nfs4r_lock){ .owner = { .client = { who, 1 }, .owner = { 2, who } }, .type = type, .start = start, .last = last };
}

static struct nfs4r_lock all_of(uint64_t who)
{
	return of(who, NFS4R_LOCK_WRITE, 0, UINT64_MAX);
}

static enum nfs4r_status try_lock(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, struct nfs4r_lock lock)
{
	return finish(n, op_lock(n, s, f, &lock, NFS4R_LOCK_TRY));
}

static struct client *wait_lock(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, struct nfs4r_lock lock)
{
	return op_lock(n, s, f, &lock, NFS4R_LOCK_QUEUE);
}

static void unlock(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, struct nfs4r_lock lock)
{
	struct client *c = op_unlock(n, s, f, &lock);

	assert_true(c->done); /* at once, whatever has to follow */
	assert_int_equal(c->op.status, NFS4R_OK);
}

static uint32_t notes(const struct net *n, nfs4r_server_id s, bool ready)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n->s[s].nnotes; i++)
		count += n->s[s].notes[i].ready == ready;
	return count;
}

static struct nfs4r_lock_counts counts(const struct net *n, nfs4r_server_id s)
{
	struct nfs4r_lock_counts out;

	nfs4r_core_count_locks(n->s[s].core, &out);
	return out;
}

/* The client of owner @who is in the list of @s (locks 7). */
static void list(struct net *n, nfs4r_server_id s, uint64_t who, bool begins)
{
	struct nfs4r_client k;

	memset(&k, 0, sizeof(k));
	k.id[0] = who;
	k.id[1] = 1;
	net_client(n, s, who, &k, begins);
	net_run(n, 10 * RTT(n));
	assert_true(n->s[s].client_said == who && n->s[s].client_status == NFS4R_OK);
}

static void has_reclaimed(struct net *n, nfs4r_server_id s, uint64_t who)
{
	net_client_reclaimed(n, s, &(struct nfs4r_client){ .id = { who, 1 } });
}

/* What was given back is, at its authority. */
static void all_is_heard(struct net *n)
{
	for (uint32_t i = 0; i < 100 && counts(n, P).returning + counts(n, Q).returning + counts(n, S).returning; i++)
		net_run(n, 20);
	assert_int_equal(counts(n, P).returning + counts(n, Q).returning + counts(n, S).returning, 0);
}

static void nothing_is_left(struct net *n)
{
	for (nfs4r_server_id s = P; s <= S; s++) {
		struct nfs4r_lock_counts k = counts(n, s);

		assert_int_equal(k.ranges + k.waiting + k.own_ranges + k.own_waiting + k.own_ready + k.returning, 0);
	}
}

static void locks_exclude_each_other_at_all_servers(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");

	assert_int_equal(try_lock(n, P, &f, all_of(1)), NFS4R_OK);
	assert_int_equal(try_lock(n, Q, &f, all_of(2)), NFS4R_DENIED);
	assert_int_equal(try_lock(n, S, &f, of(3, NFS4R_LOCK_READ, 5, 5)), NFS4R_DENIED);
	assert_int_equal(finish(n, op_lock_test(n, S, &f, &(struct nfs4r_lock){ .owner = { { 3, 1 }, { 2, 3 } }, .type = NFS4R_LOCK_READ, .start = 0, .last = 9 })), NFS4R_DENIED);
	unlock(n, P, &f, all_of(1));
	all_is_heard(n);
	assert_int_equal(try_lock(n, Q, &f, all_of(2)), NFS4R_OK);
	assert_int_equal(try_lock(n, P, &f, all_of(1)), NFS4R_DENIED);
	unlock(n, Q, &f, all_of(2));
	all_is_heard(n);
	assert_int_equal(try_lock(n, P, &f, all_of(1)), NFS4R_OK);
	unlock(n, P, &f, all_of(1));
	net_quiet(n);
	nothing_is_left(n);
	net_free(n);
}

static void the_one_who_controls_locks_without_a_message(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");
	uint64_t before;

	assert_int_equal(try_lock(n, P, &f, all_of(1)), NFS4R_OK);
	unlock(n, P, &f, all_of(1));
	net_run(n, 3 * RTT(n));
	before = n->now;
	for (uint32_t i = 0; i < 100; i++) {
		assert_int_equal(try_lock(n, P, &f, all_of(1)), NFS4R_OK);
		unlock(n, P, &f, all_of(1));
	}
	assert_int_equal(n->now, before);
	net_quiet(n);
	nothing_is_left(n);
	net_free(n);
}

static void a_lock_of_another_servers_file_takes_one_round_trip(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");
	struct client *c;

	n->cfg.revoke_ms = 5000;
	net_retune(n);
	assert_int_equal(try_lock(n, P, &f, of(1, NFS4R_LOCK_WRITE, 0, 9)), NFS4R_OK);
	net_run(n, 3 * RTT(n));
	c = wait_lock(n, Q, &f, of(2, NFS4R_LOCK_WRITE, 10, 19));
	assert_int_equal(finish(n, c), NFS4R_OK);
	assert_true(c->done_at - c->started <= RTT(n));
	unlock(n, Q, &f, of(2, NFS4R_LOCK_WRITE, 10, 19));
	net_run(n, RTT(n));
	assert_int_equal(counts(n, Q).returning, 0);
	assert_int_equal(counts(n, P).ranges, 1);
	net_free(n);
}

static void a_waiter_hears_of_its_lock_after_half_a_round_trip(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");
	struct client *c;
	uint64_t freed;

	n->cfg.revoke_ms = 5000;
	net_retune(n);
	assert_int_equal(try_lock(n, P, &f, all_of(1)), NFS4R_OK);
	net_run(n, 3 * RTT(n));
	assert_int_equal(finish(n, wait_lock(n, Q, &f, all_of(2))), NFS4R_BLOCKED);
	assert_int_equal(finish(n, wait_lock(n, Q, &f, all_of(2))), NFS4R_BLOCKED); /* the client asks again now and then */
	assert_int_equal(finish(n, wait_lock(n, S, &f, all_of(3))), NFS4R_BLOCKED);
	freed = n->now;
	unlock(n, P, &f, all_of(1));
	net_run(n, n->delay);
	assert_int_equal(n->now, freed + n->delay);
	assert_int_equal(notes(n, Q, true), 1);
	assert_int_equal(try_lock(n, P, &f, all_of(1)), NFS4R_DENIED); /* it is reserved */
	c = wait_lock(n, Q, &f, all_of(2));
	assert_true(c->done && c->op.status == NFS4R_OK);
	assert_int_equal(notes(n, S, true), 0);
	unlock(n, Q, &f, all_of(2));
	net_run(n, 2 * RTT(n));
	assert_int_equal(notes(n, S, true), 1); /* first come, first served */
	c = wait_lock(n, S, &f, all_of(3));
	assert_true(c->done && c->op.status == NFS4R_OK);
	unlock(n, S, &f, all_of(3));
	net_quiet(n);
	nothing_is_left(n);
	net_free(n);
}

static void locks_outlive_control(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");

	assert_int_equal(try_lock(n, P, &f, of(1, NFS4R_LOCK_WRITE, 0, 9)), NFS4R_OK);
	assert_int_equal(try_lock(n, P, &f, of(4, NFS4R_LOCK_READ, 20, 29)), NFS4R_OK);
	net_quiet(n); /* nobody controls anything */
	assert_int_equal(counts(n, P).ranges, 0);
	assert_int_equal(counts(n, P).own_ranges, 2);
	assert_int_equal(try_lock(n, Q, &f, of(2, NFS4R_LOCK_WRITE, 5, 5)), NFS4R_DENIED);
	assert_int_equal(try_lock(n, Q, &f, of(2, NFS4R_LOCK_READ, 25, 40)), NFS4R_OK);
	net_quiet(n);
	unlock(n, P, &f, of(1, NFS4R_LOCK_WRITE, 0, 9));
	all_is_heard(n);
	assert_int_equal(try_lock(n, S, &f, of(3, NFS4R_LOCK_WRITE, 0, 15)), NFS4R_OK);
	assert_int_equal(try_lock(n, S, &f, of(3, NFS4R_LOCK_WRITE, 22, 22)), NFS4R_DENIED);
	unlock(n, P, &f, of(4, NFS4R_LOCK_READ, 0, UINT64_MAX));
	unlock(n, Q, &f, of(2, NFS4R_LOCK_READ, 0, UINT64_MAX));
	unlock(n, S, &f, of(3, NFS4R_LOCK_READ, 0, UINT64_MAX));
	all_is_heard(n);
	net_quiet(n);
	nothing_is_left(n);
	assert_int_equal(try_lock(n, S, &f, all_of(9)), NFS4R_OK);
	net_free(n);
}

static void ranges_are_split_raised_lowered_and_filled_from_anywhere(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");

	n->cfg.revoke_ms = 5000;
	net_retune(n);
	assert_int_equal(try_lock(n, P, &f, of(1, NFS4R_LOCK_READ, 100, 109)), NFS4R_OK); /* P is the authority */
	assert_int_equal(try_lock(n, Q, &f, of(2, NFS4R_LOCK_READ, 0, 99)), NFS4R_OK);
	assert_int_equal(try_lock(n, Q, &f, of(2, NFS4R_LOCK_WRITE, 40, 59)), NFS4R_OK); /* raised in the middle */
	assert_int_equal(try_lock(n, S, &f, of(3, NFS4R_LOCK_READ, 50, 50)), NFS4R_DENIED);
	assert_int_equal(try_lock(n, S, &f, of(3, NFS4R_LOCK_READ, 0, 39)), NFS4R_OK);
	assert_int_equal(try_lock(n, Q, &f, of(2, NFS4R_LOCK_WRITE, 30, 59)), NFS4R_DENIED); /* S reads there */
	unlock(n, Q, &f, of(2, NFS4R_LOCK_READ, 45, 49));
	net_run(n, RTT(n));
	assert_int_equal(try_lock(n, S, &f, of(3, NFS4R_LOCK_WRITE, 45, 49)), NFS4R_OK);
	unlock(n, S, &f, of(3, NFS4R_LOCK_WRITE, 45, 49));
	assert_int_equal(try_lock(n, Q, &f, of(2, NFS4R_LOCK_READ, 40, 59)), NFS4R_OK); /* lowered, and the hole filled */
	assert_int_equal(try_lock(n, S, &f, of(3, NFS4R_LOCK_READ, 50, 50)), NFS4R_OK);
	assert_int_equal(try_lock(n, S, &f, of(3, NFS4R_LOCK_WRITE, 47, 47)), NFS4R_DENIED);
	unlock(n, Q, &f, all_of(2));
	unlock(n, S, &f, all_of(3));
	unlock(n, P, &f, all_of(1));
	net_run(n, 200);
	assert_int_equal(try_lock(n, S, &f, all_of(4)), NFS4R_OK);
	net_free(n);
}

/* The authority keeps both until the client has heard that, and control may end before. */
static void a_read_lock_beside_many_write_locks_has_to_fit_into_a_list(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");

	n->cfg.lock_max = 2 * NFS4R_LOCKS_LIST_MAX;
	n->cfg.revoke_ms = 5000;
	net_retune(n);
	for (uint64_t i = 0; i < NFS4R_LOCKS_LIST_MAX / 2; i++)
		assert_int_equal(try_lock(n, P, &f, of(1, NFS4R_LOCK_WRITE, 2 * i, 2 * i)), NFS4R_OK);
	assert_int_equal(try_lock(n, P, &f, of(1, NFS4R_LOCK_READ, 0, UINT64_MAX)), NFS4R_NOLCK);
	assert_int_equal(counts(n, P).ranges, NFS4R_LOCKS_LIST_MAX / 2);
	unlock(n, P, &f, of(1, NFS4R_LOCK_READ, 0, 9));
	assert_int_equal(try_lock(n, P, &f, of(1, NFS4R_LOCK_READ, 0, UINT64_MAX)), NFS4R_OK);
	net_run(n, RTT(n));
	assert_int_equal(counts(n, P).ranges, 1);
	net_free(n);
}

static void a_raise_that_waits_leaves_the_read_lock(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");
	struct nfs4r_lock raise = of(2, NFS4R_LOCK_WRITE, 0, 9);

	n->cfg.revoke_ms = 5000;
	net_retune(n);
	assert_int_equal(try_lock(n, P, &f, of(1, NFS4R_LOCK_READ, 0, 9)), NFS4R_OK);
	assert_int_equal(try_lock(n, Q, &f, of(2, NFS4R_LOCK_READ, 0, 99)), NFS4R_OK);
	assert_int_equal(finish(n, wait_lock(n, Q, &f, raise)), NFS4R_BLOCKED);
	unlock(n, P, &f, of(1, NFS4R_LOCK_READ, 0, 9));
	net_run(n, RTT(n));
	assert_int_equal(notes(n, Q, true), 1);
	assert_true(op_unwait(n, Q, &f, &raise)->done); /* the client was killed */
	net_run(n, 2 * RTT(n));
	assert_int_equal(try_lock(n, S, &f, of(3, NFS4R_LOCK_READ, 0, 9)), NFS4R_OK);
	assert_int_equal(try_lock(n, S, &f, of(3, NFS4R_LOCK_WRITE, 5, 5)), NFS4R_DENIED);
	assert_int_equal(counts(n, Q).own_ranges, 1);
	net_free(n);
}

static void what_is_given_back_after_control_ended_leaves_the_read_lock(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");
	struct nfs4r_lock raise = of(2, NFS4R_LOCK_WRITE, 0, 9);

	n->cfg.lock_reserve_ms = 0;
	net_retune(n);
	assert_int_equal(try_lock(n, P, &f, of(1, NFS4R_LOCK_READ, 0, 9)), NFS4R_OK);
	assert_int_equal(try_lock(n, Q, &f, of(2, NFS4R_LOCK_READ, 0, 99)), NFS4R_OK);
	assert_int_equal(finish(n, wait_lock(n, Q, &f, raise)), NFS4R_BLOCKED);
	unlock(n, P, &f, of(1, NFS4R_LOCK_READ, 0, 9));
	net_run(n, 2 * RTT(n));
	assert_int_equal(notes(n, Q, true), 1);
	net_quiet(n); /* now it is among the ranges of the row */
	assert_int_equal(try_lock(n, S, &f, of(3, NFS4R_LOCK_READ, 0, 0)), NFS4R_DENIED);
	assert_true(op_unwait(n, Q, &f, &raise)->done);
	net_run(n, 500);
	assert_int_equal(try_lock(n, S, &f, of(3, NFS4R_LOCK_READ, 0, 0)), NFS4R_OK);
	assert_int_equal(try_lock(n, S, &f, of(3, NFS4R_LOCK_WRITE, 5, 5)), NFS4R_DENIED);
	net_free(n);
}

static void who_does_not_fetch_its_lock_lets_others_go_first(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");
	struct client *c;

	n->cfg.revoke_ms = 60000;
	n->cfg.lock_reserve_ms = 1000;
	net_retune(n);
	assert_int_equal(try_lock(n, P, &f, all_of(1)), NFS4R_OK);
	assert_int_equal(finish(n, wait_lock(n, Q, &f, all_of(2))), NFS4R_BLOCKED);
	assert_int_equal(finish(n, wait_lock(n, S, &f, all_of(3))), NFS4R_BLOCKED);
	unlock(n, P, &f, all_of(1));
	net_run(n, 1000 + 3 * RTT(n));
	assert_int_equal(notes(n, Q, true), 1);
	assert_int_equal(notes(n, Q, false), 1); /* over */
	assert_int_equal(notes(n, S, true), 1);
	c = wait_lock(n, S, &f, all_of(3));
	assert_true(c->done && c->op.status == NFS4R_OK);
	net_run(n, 3 * RTT(n));
	unlock(n, S, &f, all_of(3));
	net_run(n, 3 * RTT(n));
	assert_int_equal(notes(n, Q, true), 2); /* it still waited */
	net_free(n);
}

static void who_gave_up_keeps_nobody_out(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");
	struct client *c;

	n->cfg.revoke_ms = 60000;
	n->cfg.lock_reserve_ms = 1000;
	net_retune(n);
	assert_int_equal(try_lock(n, P, &f, of(1, NFS4R_LOCK_WRITE, 50, 50)), NFS4R_OK);
	c = wait_lock(n, Q, &f, of(2, NFS4R_LOCK_WRITE, 0, 9));
	assert_false(c->done);
	net_cancel(n, c);
	assert_true(c->done && c->op.status == NFS4R_DELAY);
	net_run(n, RTT(n));
	assert_int_equal(try_lock(n, S, &f, of(3, NFS4R_LOCK_WRITE, 0, 9)), NFS4R_DENIED);
	c = wait_lock(n, Q, &f, of(2, NFS4R_LOCK_WRITE, 0, 9)); /* it comes back */
	assert_true(c->done && c->op.status == NFS4R_OK);
	unlock(n, Q, &f, of(2, NFS4R_LOCK_WRITE, 0, 9));
	net_run(n, RTT(n));
	c = wait_lock(n, Q, &f, of(2, NFS4R_LOCK_WRITE, 0, 9));
	net_cancel(n, c); /* and does not */
	net_run(n, 1000 + 3 * RTT(n));
	assert_int_equal(try_lock(n, S, &f, of(3, NFS4R_LOCK_WRITE, 0, 9)), NFS4R_OK);
	net_free(n);
}

static void waiters_move_with_control(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");

	assert_int_equal(try_lock(n, P, &f, all_of(1)), NFS4R_OK);
	assert_int_equal(finish(n, wait_lock(n, Q, &f, all_of(2))), NFS4R_BLOCKED);
	net_run(n, 3000); /* P lets go, and Q asks anew wherever that is decided then */
	assert_int_equal(notes(n, Q, true), 0);
	unlock(n, P, &f, all_of(1));
	net_run(n, 500);
	assert_int_equal(notes(n, Q, true), 1);
	assert_int_equal(finish(n, wait_lock(n, Q, &f, all_of(2))), NFS4R_OK);
	unlock(n, Q, &f, all_of(2));
	net_run(n, 500);
	net_quiet(n);
	nothing_is_left(n);
	net_free(n);
}

/* Control was kept for those who wait. When nobody waits any more it ends as if it had never been so: not while it is used. */
static void what_was_kept_for_waiters_stays_while_it_is_used(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");
	uint64_t idle = n->cfg.idle_ms, were;

	assert_int_equal(try_lock(n, P, &f, of(1, NFS4R_LOCK_WRITE, 0, 0)), NFS4R_OK);
	assert_int_equal(finish(n, wait_lock(n, P, &f, of(2, NFS4R_LOCK_WRITE, 0, 0))), NFS4R_BLOCKED);
	net_run(n, idle / 2);
	net_writers(n, P, &f, true);
	net_writers(n, P, &f, false);
	net_run(n, 5 * idle);
	assert_true(acting(n, P, &f));
	unlock(n, P, &f, of(1, NFS4R_LOCK_WRITE, 0, 0));
	assert_int_equal(finish(n, wait_lock(n, P, &f, of(2, NFS4R_LOCK_WRITE, 0, 0))), NFS4R_OK);
	were = stats(n, P).elections;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(try_lock(n, P, &f, of(3, NFS4R_LOCK_WRITE, 1, 1)), NFS4R_OK);
		unlock(n, P, &f, of(3, NFS4R_LOCK_WRITE, 1, 1));
		net_run(n, idle / 4);
	}
	assert_int_equal(stats(n, P).elections, were);
	assert_int_equal(stats(n, P).reopened, 0);
	unlock(n, P, &f, of(2, NFS4R_LOCK_WRITE, 0, 0));
	net_run(n, 5 * idle);
	assert_false(acting(n, P, &f));
	net_quiet(n);
	nothing_is_left(n);
	net_free(n);
}

static void who_polls_hears_that_it_may_ask(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");
	struct nfs4r_lock lock = all_of(2);

	n->cfg.revoke_ms = 60000;
	net_retune(n);
	assert_int_equal(try_lock(n, P, &f, all_of(1)), NFS4R_OK);
	assert_int_equal(finish(n, op_lock(n, Q, &f, &lock, NFS4R_LOCK_POLL)), NFS4R_BLOCKED);
	unlock(n, P, &f, all_of(1));
	net_run(n, RTT(n));
	assert_int_equal(notes(n, Q, false), 1);
	assert_int_equal(notes(n, Q, true), 0);
	assert_int_equal(try_lock(n, S, &f, all_of(3)), NFS4R_OK); /* nothing was reserved */
	assert_int_equal(finish(n, op_lock(n, Q, &f, &lock, NFS4R_LOCK_POLL)), NFS4R_BLOCKED);
	unlock(n, S, &f, all_of(3));
	net_run(n, 2 * RTT(n));
	assert_int_equal(finish(n, op_lock(n, Q, &f, &lock, NFS4R_LOCK_POLL)), NFS4R_OK);
	net_free(n);
}

static void locks_survive_the_start_of_their_authority(void **state)
{
	struct net *n = begin("f g");
	struct nfs4r_oid f = at(n, "f"), g = at(n, "g");

	n->cfg.revoke_ms = 60000;
	net_retune(n);
	list(n, P, 1, true);
	assert_int_equal(try_lock(n, P, &f, of(1, NFS4R_LOCK_WRITE, 50, 59)), NFS4R_OK);
	assert_int_equal(try_lock(n, Q, &f, of(2, NFS4R_LOCK_WRITE, 0, 9)), NFS4R_OK);
	assert_int_equal(finish(n, wait_lock(n, S, &f, of(3, NFS4R_LOCK_WRITE, 5, 5))), NFS4R_BLOCKED);
	net_crash(n, P);
	net_restart(n, P, true);
	assert_int_equal(counts(n, P).gaps, 1);
	assert_int_equal(finish(n, op_reclaim(n, P, &f, &(struct nfs4r_lock){ .owner = { { 1, 1 }, { 2, 1 } }, .type = NFS4R_LOCK_WRITE, .start = 50, .last = 59 })), NFS4R_OK);
	net_run(n, 3 * RTT(n));
	assert_int_equal(counts(n, P).gaps, 1); /* its client may have more to reclaim */
	has_reclaimed(n, P, 1);
	net_run(n, RTT(n));
	assert_int_equal(counts(n, P).gaps, 0);
	assert_int_equal(counts(n, P).ranges, 2);
	assert_int_equal(try_lock(n, S, &f, of(4, NFS4R_LOCK_WRITE, 9, 50)), NFS4R_DENIED);
	unlock(n, Q, &f, of(2, NFS4R_LOCK_WRITE, 0, 9));
	net_run(n, 3 * RTT(n));
	assert_int_equal(notes(n, S, true), 1); /* the waiter asked anew */
	assert_int_equal(finish(n, wait_lock(n, S, &f, of(3, NFS4R_LOCK_WRITE, 5, 5))), NFS4R_OK);
	assert_int_equal(try_lock(n, P, &g, of(1, NFS4R_LOCK_WRITE, 0, 9)), NFS4R_OK);
	unlock(n, S, &f, all_of(3));
	unlock(n, P, &f, all_of(1));
	unlock(n, P, &g, all_of(1));
	all_is_heard(n);
	net_quiet(n);
	nothing_is_left(n);
	net_free(n);
}

/* What the row of a file says is older than what was lost. */
static void a_start_forgets_the_row_of_what_it_controls(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");

	n->cfg.revoke_ms = 60000;
	net_retune(n);
	assert_int_equal(try_lock(n, P, &f, all_of(1)), NFS4R_OK);
	net_quiet(n); /* the row has it */
	unlock(n, P, &f, all_of(1));
	net_run(n, 3 * RTT(n));
	assert_int_equal(try_lock(n, Q, &f, of(2, NFS4R_LOCK_WRITE, 0, 9)), NFS4R_OK); /* in the table only */
	net_crash(n, P);
	net_restart(n, P, true);
	net_run(n, 5 * RTT(n));
	assert_int_equal(try_lock(n, S, &f, of(3, NFS4R_LOCK_WRITE, 5, 5)), NFS4R_DENIED);
	assert_int_equal(try_lock(n, S, &f, of(3, NFS4R_LOCK_WRITE, 15, 15)), NFS4R_OK);
	unlock(n, Q, &f, all_of(2));
	unlock(n, S, &f, all_of(3));
	all_is_heard(n);
	net_quiet(n);
	assert_int_equal(try_lock(n, S, &f, all_of(3)), NFS4R_OK);
	net_free(n);
}

static void what_is_ready_before_the_answer_counts(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");
	struct client *c;

	n->cfg.revoke_ms = 60000;
	net_retune(n);
	assert_int_equal(try_lock(n, P, &f, all_of(1)), NFS4R_OK);
	net_run(n, 3 * RTT(n));
	net_hold(n, P, Q, NFS4R_MSG_FORWARD_ANSWER);
	c = wait_lock(n, Q, &f, all_of(2));
	net_run(n, RTT(n));
	unlock(n, P, &f, all_of(1));
	net_run(n, RTT(n));
	assert_int_equal(notes(n, Q, true), 0);
	net_pass(n);
	assert_int_equal(finish(n, c), NFS4R_BLOCKED);
	assert_int_equal(notes(n, Q, true), 1);
	c = wait_lock(n, Q, &f, all_of(2));
	assert_true(c->done && c->op.status == NFS4R_OK);
	net_free(n);
}

static void what_was_ready_and_not_heard_is_asked_for_anew(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");

	n->cfg.lock_reserve_ms = 60000;
	net_retune(n);
	assert_int_equal(try_lock(n, P, &f, all_of(1)), NFS4R_OK);
	assert_int_equal(finish(n, wait_lock(n, Q, &f, all_of(2))), NFS4R_BLOCKED);
	net_drop(n, P, Q, NFS4R_MSG_LOCK_READY);
	unlock(n, P, &f, all_of(1));
	net_run(n, 3000); /* control ends, the list has the lock */
	net_pass(n);
	net_run(n, 3000);
	assert_int_equal(notes(n, Q, true), 1);
	assert_int_equal(finish(n, wait_lock(n, Q, &f, all_of(2))), NFS4R_OK);
	net_free(n);
}

/* A client of Q lowers its lock, and another one of Q waits for that. */
static void nobody_is_served_before_another_one_hears_that_it_is_lowered(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");
	struct client *c, *d;

	n->cfg.revoke_ms = 60000;
	net_retune(n);
	assert_int_equal(try_lock(n, P, &f, of(1, NFS4R_LOCK_WRITE, 100, 100)), NFS4R_OK);
	assert_int_equal(try_lock(n, Q, &f, of(2, NFS4R_LOCK_WRITE, 1, 61)), NFS4R_OK);
	assert_int_equal(finish(n, wait_lock(n, Q, &f, of(3, NFS4R_LOCK_READ, 25, 55))), NFS4R_BLOCKED);
	net_hold(n, P, Q, NFS4R_MSG_FORWARD_ANSWER);
	c = op_lock(n, Q, &f, &(struct nfs4r_lock){ .owner = { { 2, 1 }, { 2, 2 } }, .type = NFS4R_LOCK_READ, .start = 1, .last = 55 }, NFS4R_LOCK_TRY);
	net_run(n, 2 * RTT(n));
	assert_int_equal(notes(n, Q, true), 0);
	assert_int_equal(counts(n, P).ranges, 2);
	net_pass(n);
	assert_int_equal(finish(n, c), NFS4R_OK);
	net_run(n, 2 * RTT(n));
	assert_int_equal(notes(n, Q, true), 1);
	d = wait_lock(n, Q, &f, of(3, NFS4R_LOCK_READ, 25, 55));
	assert_true(d->done && d->op.status == NFS4R_OK);
	assert_int_equal(counts(n, Q).own_ranges, 3); /* R 1..55 and W 56..61; R 25..55 */
	unlock(n, Q, &f, all_of(3));
	unlock(n, Q, &f, all_of(2));
	all_is_heard(n);
	assert_int_equal(try_lock(n, S, &f, of(4, NFS4R_LOCK_WRITE, 1, 61)), NFS4R_OK);
	net_free(n);
}

/* It was granted, and its server does not hear that; control ends, and nobody wins it until the client gives up. */
static void what_was_granted_without_an_answer_is_given_back(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");
	struct client *c;

	n->cfg.revoke_ms = 300;
	n->cfg.lock_reserve_ms = 1000;
	net_retune(n);
	assert_int_equal(try_lock(n, P, &f, of(1, NFS4R_LOCK_WRITE, 100, 100)), NFS4R_OK);
	net_drop(n, P, Q, NFS4R_MSG_FORWARD_ANSWER);
	net_hold(n, 0, Q, NFS4R_MSG_ACK);
	c = wait_lock(n, Q, &f, of(2, NFS4R_LOCK_WRITE, 0, 9));
	net_run(n, RTT(n));
	assert_int_equal(counts(n, P).ranges, 2);
	for (uint32_t i = 0; i < 100 && acting(n, P, &f); i++)
		net_run(n, 20);
	assert_false(acting(n, P, &f));
	assert_false(c->done);
	net_pass_from(n, P, Q, NFS4R_MSG_FORWARD_ANSWER);
	assert_int_equal(finish(n, c), NFS4R_DELAY);
	net_pass(n);
	net_run(n, 3000); /* it does not ask again */
	assert_int_equal(try_lock(n, S, &f, of(3, NFS4R_LOCK_WRITE, 0, 9)), NFS4R_OK);
	net_free(n);
}

/* Q's client waits for f; it is ready, which Q does not hear, and control ends. Q asks anew, and nobody lets it win control. */
static struct nfs4r_oid about_to_ask_anew(struct net *n)
{
	struct nfs4r_oid f = at(n, "f");

	n->cfg.revoke_ms = 300;
	net_retune(n);
	assert_int_equal(try_lock(n, P, &f, all_of(1)), NFS4R_OK);
	assert_int_equal(finish(n, wait_lock(n, Q, &f, of(2, NFS4R_LOCK_WRITE, 0, 15))), NFS4R_BLOCKED);
	net_hold(n, P, Q, NFS4R_MSG_LOCK_READY);
	net_hold(n, 0, Q, NFS4R_MSG_ACK);
	unlock(n, P, &f, all_of(1));
	assert_non_null(n->held);
	net_run(n, 700);
	assert_false(acting(n, P, &f));
	assert_false(acting(n, Q, &f));
	assert_int_equal(notes(n, Q, true), 0);
	return f;
}

static void news_of_a_request_that_was_asked_anew_do_not_count(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = about_to_ask_anew(n);
	struct client *c;

	net_pass_from(n, P, Q, NFS4R_MSG_LOCK_READY);
	net_run(n, n->delay);
	assert_int_equal(notes(n, Q, true), 0);
	net_pass(n);
	net_run(n, 5 * RTT(n));
	assert_int_equal(notes(n, Q, true), 1);
	c = wait_lock(n, Q, &f, of(2, NFS4R_LOCK_WRITE, 0, 15));
	assert_true(c->done && c->op.status == NFS4R_OK);
	unlock(n, Q, &f, all_of(2));
	all_is_heard(n);
	assert_int_equal(try_lock(n, S, &f, of(3, NFS4R_LOCK_WRITE, 13, 20)), NFS4R_OK);
	assert_int_equal(try_lock(n, Q, &f, of(2, NFS4R_LOCK_WRITE, 0, 15)), NFS4R_DENIED);
	net_free(n);
}

static void who_gives_up_what_is_asked_anew_keeps_nobody_out(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = about_to_ask_anew(n);
	struct nfs4r_lock lock = of(2, NFS4R_LOCK_WRITE, 0, 15);

	assert_true(op_unwait(n, Q, &f, &lock)->done);
	net_pass(n);
	net_run(n, 3000);
	assert_int_equal(try_lock(n, S, &f, of(3, NFS4R_LOCK_WRITE, 0, 15)), NFS4R_OK);
	net_free(n);
}

/* Q's request is under way when P starts anew: it is in no list as carried out. */
static void a_list_does_not_count_for_what_is_under_way(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");
	struct client *c;

	n->cfg.revoke_ms = 0;
	net_retune(n);
	assert_int_equal(try_lock(n, P, &f, of(1, NFS4R_LOCK_WRITE, 100, 100)), NFS4R_OK);
	assert_int_equal(try_lock(n, Q, &f, of(2, NFS4R_LOCK_READ, 0, 15)), NFS4R_OK);
	net_hold(n, Q, P, NFS4R_MSG_FORWARD);
	c = op_lock(n, Q, &f, &(struct nfs4r_lock){ .owner = { { 2, 1 }, { 2, 2 } }, .type = NFS4R_LOCK_WRITE, .start = 6, .last = 10 }, NFS4R_LOCK_TRY);
	net_crash(n, P);
	net_restart(n, P, true);
	net_run(n, 10 * RTT(n));
	assert_int_equal(counts(n, P).gaps, 0);
	net_pass(n);
	assert_int_equal(finish(n, c), NFS4R_OK);
	assert_int_equal(try_lock(n, S, &f, of(3, NFS4R_LOCK_READ, 6, 6)), NFS4R_DENIED);
	assert_int_equal(try_lock(n, S, &f, of(3, NFS4R_LOCK_READ, 11, 15)), NFS4R_OK);
	net_free(n);
}

/* Log 6.7: who has no lease does not know what waits, or is ready. */
static void without_a_lease_a_waiter_hears_nothing(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid f;
	struct client *c;

	locks_on(n);
	ends_begin(n, "d/ d/f", NFS4R_DURABILITY_MAJORITY);
	f = at(n, "d/f");
	n->cfg.revoke_ms = 60000;
	net_run(n, 2 * LEASE);
	assert_int_equal(try_lock(n, P, &f, of(1, NFS4R_LOCK_WRITE, 0, 9)), NFS4R_OK);
	assert_int_equal(try_lock(n, P, &f, of(4, NFS4R_LOCK_WRITE, 20, 29)), NFS4R_OK);
	assert_int_equal(finish(n, wait_lock(n, Q, &f, of(2, NFS4R_LOCK_WRITE, 0, 9))), NFS4R_BLOCKED);
	assert_int_equal(finish(n, wait_lock(n, Q, &f, of(3, NFS4R_LOCK_WRITE, 20, 29))), NFS4R_BLOCKED);
	unlock(n, P, &f, of(4, NFS4R_LOCK_WRITE, 20, 29));
	net_run(n, RTT(n));
	assert_int_equal(notes(n, Q, true), 1);
	cut_off(n, Q);
	net_run(n, LEASE + LEASE / 2);
	assert_false(serves(n, Q));
	c = wait_lock(n, Q, &f, of(2, NFS4R_LOCK_WRITE, 0, 9));
	assert_false(c->done);
	assert_int_equal(finish(n, c), NFS4R_DELAY);
	c = wait_lock(n, Q, &f, of(3, NFS4R_LOCK_WRITE, 20, 29)); /* that one is ready */
	assert_false(c->done);
	assert_int_equal(finish(n, c), NFS4R_DELAY);
	net_free(n);
}

static void who_waits_for_a_file_that_goes_hears_it(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");

	n->cfg.revoke_ms = 60000;
	net_retune(n);
	assert_int_equal(try_lock(n, P, &f, all_of(1)), NFS4R_OK);
	assert_int_equal(finish(n, wait_lock(n, Q, &f, all_of(2))), NFS4R_BLOCKED);
	assert_int_equal(finish(n, unlink_(n, P, "", "f")), NFS4R_OK);
	net_run(n, 1000);
	assert_int_equal(notes(n, Q, true), 1);
	assert_int_equal(finish(n, wait_lock(n, Q, &f, all_of(2))), NFS4R_STALE);
	unlock(n, P, &f, all_of(1));
	all_is_heard(n);
	net_free(n);
}

static void what_nobody_reclaims_is_given_up(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");

	n->cfg.revoke_ms = 60000;
	n->cfg.lock_grace_ms = 2000;
	net_retune(n);
	list(n, Q, 2, true);
	list(n, Q, 3, true);
	assert_int_equal(try_lock(n, P, &f, of(1, NFS4R_LOCK_WRITE, 50, 59)), NFS4R_OK);
	assert_int_equal(try_lock(n, Q, &f, of(2, NFS4R_LOCK_WRITE, 0, 9)), NFS4R_OK);
	assert_int_equal(try_lock(n, Q, &f, of(3, NFS4R_LOCK_WRITE, 10, 19)), NFS4R_OK);
	net_crash(n, Q);
	net_restart(n, Q, true);
	assert_int_equal(finish(n, op_reclaim(n, Q, &f, &(struct nfs4r_lock){ .owner = { { 3, 1 }, { 2, 3 } }, .type = NFS4R_LOCK_WRITE, .start = 10, .last = 19 })), NFS4R_OK);
	assert_int_equal(try_lock(n, S, &f, of(4, NFS4R_LOCK_WRITE, 0, 0)), NFS4R_DENIED);
	net_run(n, 2500);
	assert_int_equal(try_lock(n, S, &f, of(4, NFS4R_LOCK_WRITE, 0, 9)), NFS4R_OK);
	assert_int_equal(try_lock(n, S, &f, of(4, NFS4R_LOCK_WRITE, 10, 10)), NFS4R_DENIED);
	assert_int_equal(nfs4r_core_clients(n->s[S].core, Q), 1); /* the one that came back */
	net_free(n);
}

/* At once, when the last client has what it wants. */
static void what_is_not_reclaimed_is_unlocked(void **state)
{
	struct net *n = begin("f");
	struct nfs4r_oid f = at(n, "f");

	n->cfg.revoke_ms = 60000;
	net_retune(n);
	list(n, Q, 2, true);
	list(n, Q, 3, true);
	assert_int_equal(try_lock(n, P, &f, of(1, NFS4R_LOCK_WRITE, 50, 59)), NFS4R_OK);
	assert_int_equal(try_lock(n, Q, &f, of(2, NFS4R_LOCK_WRITE, 0, 9)), NFS4R_OK);
	assert_int_equal(try_lock(n, Q, &f, of(3, NFS4R_LOCK_WRITE, 10, 19)), NFS4R_OK);
	net_crash(n, Q);
	unlock(n, P, &f, all_of(1));
	net_restart(n, Q, true);
	assert_int_equal(finish(n, op_reclaim(n, Q, &f, &(struct nfs4r_lock){ .owner = { { 2, 1 }, { 2, 2 } }, .type = NFS4R_LOCK_WRITE, .start = 0, .last = 4 })), NFS4R_OK);
	has_reclaimed(n, Q, 2);
	net_run(n, 1500); /* until its authority has heard that a majority holds that */
	assert_int_equal(try_lock(n, S, &f, of(4, NFS4R_LOCK_WRITE, 5, 9)), NFS4R_OK);
	assert_int_equal(try_lock(n, S, &f, of(4, NFS4R_LOCK_WRITE, 4, 4)), NFS4R_DENIED);
	assert_int_equal(try_lock(n, S, &f, of(4, NFS4R_LOCK_WRITE, 10, 19)), NFS4R_DENIED); /* 3 may come */
	has_reclaimed(n, Q, 3);
	net_run(n, 1500);
	assert_int_equal(try_lock(n, S, &f, of(4, NFS4R_LOCK_WRITE, 10, 19)), NFS4R_OK);
	unlock(n, Q, &f, all_of(2));
	unlock(n, S, &f, all_of(4));
	all_is_heard(n);
	net_quiet(n);
	nothing_is_left(n);
	net_free(n);
}

/* Control 6.5: S takes what P makes, and cannot bring it to its disk. */
static void a_file_is_locked_before_it_arrives(void **state)
{
	struct net *n = begin("d/");
	struct nfs4r_oid d = at(n, "d"), f;
	struct nfs4r_facts facts;
	struct client *c;

	assert_int_equal(finish(n, op_claim(n, P, &d, NFS4R_DEEP)), NFS4R_OK);
	net_run(n, 3 * RTT(n));
	n->s[S].hold_apply = true;
	c = create(n, P, "d", "f");
	net_run(n, 3 * RTT(n));
	assert_true(c->executed);
	f = at(n, "d/f");
	assert_false(memtree_facts(n->s[S].tree, &f, &facts));
	c = op_lock(n, S, &f, &(struct nfs4r_lock){ .owner = { { 3, 1 }, { 2, 3 } }, .type = NFS4R_LOCK_WRITE, .start = 0, .last = UINT64_MAX }, NFS4R_LOCK_TRY);
	assert_int_equal(finish(n, c), NFS4R_OK);
	assert_true(c->done_at - c->started <= RTT(n));
	assert_int_equal(try_lock(n, P, &f, all_of(1)), NFS4R_DENIED);
	assert_int_equal(try_lock(n, S, &f, all_of(4)), NFS4R_DENIED);
	assert_int_equal(finish(n, op_lock_test(n, S, &f, &(struct nfs4r_lock){ .owner = { { 4, 1 }, { 2, 4 } }, .type = NFS4R_LOCK_READ, .start = 0, .last = 9 })), NFS4R_DENIED);
	unlock(n, S, &f, all_of(3));
	net_run(n, RTT(n));
	assert_int_equal(counts(n, S).returning, 0);
	assert_int_equal(try_lock(n, S, &f, all_of(4)), NFS4R_OK);
	unlock(n, S, &f, all_of(4));
	assert_false(memtree_facts(n->s[S].tree, &f, &facts));
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP); /* nobody asked for a control that S could not have */
	net_let_apply(n, S);
	net_quiet(n);
	nothing_is_left(n);
	net_free(n);
}

/* The same, when P was about to give its control back: it does not decide then, and S waits for the file. */
static void a_file_is_locked_when_it_arrives(void **state)
{
	struct net *n = begin("d/");
	struct nfs4r_oid d = at(n, "d"), f;
	struct client *c;

	assert_int_equal(finish(n, op_claim(n, P, &d, NFS4R_DEEP)), NFS4R_OK);
	net_run(n, 3 * RTT(n));
	n->s[S].hold_apply = true;
	c = create(n, P, "d", "f");
	net_run(n, 3 * RTT(n));
	assert_true(c->executed);
	f = at(n, "d/f");
	op_claim(n, Q, &d, NFS4R_DEEP);
	for (uint32_t i = 0; i < 100 && depth_of(n, P, "d"); i++)
		net_run(n, 20);
	assert_int_equal(depth_of(n, P, "d"), 0);
	c = op_lock(n, S, &f, &(struct nfs4r_lock){ .owner = { { 3, 1 }, { 2, 3 } }, .type = NFS4R_LOCK_WRITE, .start = 0, .last = UINT64_MAX }, NFS4R_LOCK_TRY);
	net_run(n, 5 * RTT(n));
	assert_false(c->done);
	net_let_apply(n, S);
	assert_int_equal(finish(n, c), NFS4R_OK);
	net_free(n);
}

static void a_volume_of_before_has_none(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid f = make(n, P, &n->root, "f", NFS4R_OP_CREATE);

	assert_false(nfs4r_core_locks_shared(n->s[P].core));
	assert_int_equal(try_lock(n, P, &f, all_of(1)), NFS4R_NOTSUPP);
	net_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(locks_exclude_each_other_at_all_servers),
		cmocka_unit_test(the_one_who_controls_locks_without_a_message),
		cmocka_unit_test(a_lock_of_another_servers_file_takes_one_round_trip),
		cmocka_unit_test(a_waiter_hears_of_its_lock_after_half_a_round_trip),
		cmocka_unit_test(locks_outlive_control),
		cmocka_unit_test(ranges_are_split_raised_lowered_and_filled_from_anywhere),
		cmocka_unit_test(a_read_lock_beside_many_write_locks_has_to_fit_into_a_list),
		cmocka_unit_test(a_raise_that_waits_leaves_the_read_lock),
		cmocka_unit_test(what_is_given_back_after_control_ended_leaves_the_read_lock),
		cmocka_unit_test(who_does_not_fetch_its_lock_lets_others_go_first),
		cmocka_unit_test(who_gave_up_keeps_nobody_out),
		cmocka_unit_test(waiters_move_with_control),
		cmocka_unit_test(what_was_kept_for_waiters_stays_while_it_is_used),
		cmocka_unit_test(who_polls_hears_that_it_may_ask),
		cmocka_unit_test(locks_survive_the_start_of_their_authority),
		cmocka_unit_test(a_start_forgets_the_row_of_what_it_controls),
		cmocka_unit_test(what_is_ready_before_the_answer_counts),
		cmocka_unit_test(what_was_ready_and_not_heard_is_asked_for_anew),
		cmocka_unit_test(nobody_is_served_before_another_one_hears_that_it_is_lowered),
		cmocka_unit_test(what_was_granted_without_an_answer_is_given_back),
		cmocka_unit_test(news_of_a_request_that_was_asked_anew_do_not_count),
		cmocka_unit_test(who_gives_up_what_is_asked_anew_keeps_nobody_out),
		cmocka_unit_test(a_list_does_not_count_for_what_is_under_way),
		cmocka_unit_test(without_a_lease_a_waiter_hears_nothing),
		cmocka_unit_test(who_waits_for_a_file_that_goes_hears_it),
		cmocka_unit_test(what_nobody_reclaims_is_given_up),
		cmocka_unit_test(what_is_not_reclaimed_is_unlocked),
		cmocka_unit_test(a_file_is_locked_before_it_arrives),
		cmocka_unit_test(a_file_is_locked_when_it_arrives),
		cmocka_unit_test(a_volume_of_before_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
