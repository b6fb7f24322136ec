/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What becomes of locks that nobody gives back, and of the clients of a server that returns (locks 4, 7, 12, 13, 14), with and without each rule (see prevents.h). */
#include <string.h>

#include "scenario/byte_locks.h"
#include "scenario/ends.h"
#include "scenario/locks_on.h"
#include "scenario/prevents.h"

#include "lib/unit.h"

#define GRACE 3000

static struct nfs4r_oid begin(struct net *n)
{
	locks_on(n);
	n->cfg.lock_grace_ms = GRACE;
	ends_begin(n, "d/ d/f d/g", NFS4R_DURABILITY_COMMIT);
	n->cfg.revoke_ms = 60000;
	net_retune(n);
	net_run(n, 2 * LEASE + GRACE); /* what starts had to say of earlier ones is said */
	return at(n, "d/f");
}

/* Until it is not DELAY, for so long. */
static enum nfs4r_status try_byte(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint64_t who, uint64_t at)
{
	uint64_t until = n->now + 5 * LEASE;
	enum nfs4r_status st;

	do
		st = finish(n, lock_byte(n, s, f, who, at));
	while (st == NFS4R_DELAY && n->now < until);
	return st;
}

static struct client *reclaim(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint64_t who, uint64_t at)
{
	struct nfs4r_lock lock = byte(who, at);

	return op_reclaim(n, s, f, &lock);
}

static enum nfs4r_status reclaim_byte(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint64_t who, uint64_t at)
{
	uint64_t until = n->now + 5 * LEASE;
	enum nfs4r_status st;

	do
		st = finish(n, reclaim(n, s, f, who, at));
	while (st == NFS4R_DELAY && n->now < until);
	return st;
}

static void list_client(struct net *n, nfs4r_server_id s, uint64_t who, bool begins)
{
	struct nfs4r_client k;

	memset(&k, 0, sizeof(k));
	k.id[0] = who;
	k.id[1] = 1;
	n->s[s].client_said = 0;
	net_client(n, s, who, &k, begins);
	for (int i = 0; i < 3000 && !n->s[s].client_said; i++)
		net_run(n, 1);
	assert_true(n->s[s].client_said == who && n->s[s].client_status == NFS4R_OK);
}

static void has_reclaimed(struct net *n, nfs4r_server_id s, uint64_t who)
{
	net_client_reclaimed(n, s, &(struct nfs4r_client){ .id = { who, 1 } });
}

static void restart(struct net *n, nfs4r_server_id s)
{
	net_crash(n, s);
	net_restart(n, s, true);
	assert_true(until_back(n));
}

/* P has control of the file, and a client of Q a lock. */
static struct nfs4r_oid with_lock_of_q(struct net *n)
{
	struct nfs4r_oid f = begin(n);

	list_client(n, P, 1, true);
	list_client(n, Q, 2, true);
	assert_int_equal(try_byte(n, P, &f, 1, 50), NFS4R_OK);
	assert_int_equal(try_byte(n, Q, &f, 2, 0), NFS4R_OK);
	return f;
}

/* Q starts anew, and its client has no use for its lock any more. */
static bool numbers_go_on_over_starts(struct net *n)
{
	struct nfs4r_oid f = with_lock_of_q(n);

	restart(n, Q);
	net_run(n, GRACE + 2 * LEASE);
	return try_byte(n, S, &f, 3, 0) == NFS4R_OK;
}

/* P hears late that Q's client was gone. The client is back by then. */
static bool what_a_client_got_since_it_was_gone_stays(struct net *n)
{
	struct nfs4r_oid f = with_lock_of_q(n);

	net_hold(n, Q, P, NFS4R_MSG_ENTRIES);
	net_hold(n, S, P, NFS4R_MSG_ENTRIES);
	list_client(n, Q, 2, false);
	unlock_byte(n, Q, &f, 2, 0);
	list_client(n, Q, 2, true);
	assert_int_equal(try_byte(n, Q, &f, 2, 0), NFS4R_OK);
	net_pass(n);
	net_run(n, 2 * LEASE);
	return try_byte(n, S, &f, 3, 0) == NFS4R_DENIED;
}

/* The lease of Q's client ended, and S's had the lock since. Then P forgets that, and the client says that it had the lock. */
static bool who_is_in_no_list_gets_nothing_back(struct net *n)
{
	struct nfs4r_oid f = with_lock_of_q(n);

	list_client(n, Q, 2, false);
	unlock_byte(n, Q, &f, 2, 0);
	net_run(n, 3 * RTT(n));
	assert_int_equal(try_byte(n, S, &f, 3, 0), NFS4R_OK);
	unlock_byte(n, S, &f, 3, 0);
	net_run(n, 3 * RTT(n));
	restart(n, P); /* its own client may still reclaim, so the file is in a gap */
	return reclaim_byte(n, Q, &f, 2, 0) == NFS4R_DENIED;
}

static bool what_is_not_reclaimed_is_free(struct net *n)
{
	struct nfs4r_oid f = with_lock_of_q(n);

	assert_int_equal(try_byte(n, Q, &f, 2, 1), NFS4R_OK);
	restart(n, Q);
	assert_int_equal(reclaim_byte(n, Q, &f, 2, 0), NFS4R_OK);
	has_reclaimed(n, Q, 2);
	net_run(n, GRACE + 2 * LEASE);
	return try_byte(n, S, &f, 3, 1) == NFS4R_OK && try_byte(n, S, &f, 3, 0) == NFS4R_DENIED;
}

/* Its second lock cannot be asked for so long. */
static bool who_is_back_is_waited_for(struct net *n)
{
	struct nfs4r_oid f = with_lock_of_q(n), g = at(n, "d/g");

	assert_int_equal(try_byte(n, P, &g, 1, 50), NFS4R_OK);
	assert_int_equal(try_byte(n, Q, &g, 2, 0), NFS4R_OK);
	restart(n, Q);
	assert_int_equal(reclaim_byte(n, Q, &f, 2, 0), NFS4R_OK);
	net_drop(n, Q, P, NFS4R_MSG_FORWARD);
	net_run(n, GRACE + 2 * LEASE);
	net_pass(n);
	return reclaim_byte(n, Q, &g, 2, 0) == NFS4R_OK;
}

static bool locks_of_who_is_outside_stay_for_a_while(struct net *n)
{
	struct nfs4r_oid f = with_lock_of_q(n);

	cut_off(n, Q);
	assert_true(until_removed(n, P, Q, 10 * LEASE));
	net_run(n, LEASE);
	return try_byte(n, S, &f, 3, 0) == NFS4R_DENIED;
}

/* What P applied, and nobody has on a disk, may never have been. */
static bool a_lock_goes_when_a_majority_knows_it(struct net *n)
{
	struct nfs4r_oid f = with_lock_of_q(n);
	struct nfs4r_client k = { .id = { 2, 1 } };

	n->s[P].no_checkpoint = n->s[S].no_checkpoint = true;
	net_client(n, Q, 2, &k, false);
	net_run(n, LEASE / 2);
	assert_false(nfs4r_core_has_client(n->s[P].core, Q, k.id));
	return finish(n, lock_byte(n, P, &f, 3, 0)) == NFS4R_DENIED;
}

static bool rows_are_looked_at(struct net *n)
{
	struct nfs4r_oid f = with_lock_of_q(n);
	uint32_t left = 0;

	unlock_byte(n, P, &f, 1, 50);
	for (int i = 0; i < 60 && acting(n, P, &f); i++)
		net_run(n, LEASE);
	net_run(n, LEASE);
	net_crash(n, Q);
	net_run(n, GRACE + 10 * LEASE);
	for (nfs4r_server_id s = P; s <= S; s += 2) {
		struct nfs4r_tree t;

		memtree_port(n->s[s].tree, &t);
		left += t.locks(t.ctx, &f, NULL, 0);
	}
	return !left;
}

/* Q is cut off for longer than its clients may keep their locks. */
static bool who_was_outside_hears_of_the_loss(struct net *n)
{
	struct nfs4r_oid f = with_lock_of_q(n);
	struct nfs4r_lock_counts k;

	cut_off(n, Q);
	assert_true(until_removed(n, P, Q, 10 * LEASE));
	net_run(n, GRACE + 2 * LEASE);
	assert_int_equal(try_byte(n, S, &f, 3, 0), NFS4R_OK);
	net_pass(n);
	assert_true(until_back(n));
	nfs4r_core_count_locks(n->s[Q].core, &k);
	return !k.own_ranges;
}

static const struct prevents list[] = {
	{ "locks 4: numbers go on over starts", F_LOCK_NUMBERS_ANEW, numbers_go_on_over_starts },
	{ "locks 7: what a client got since it was gone stays", F_LOCK_GONE_ANY, what_a_client_got_since_it_was_gone_stays },
	{ "locks 12: who is in no list gets nothing back", F_LOCK_RECLAIM_NEW, who_is_in_no_list_gets_nothing_back },
	{ "locks 12: what is not reclaimed is free", F_LOCK_NOT_COMPLETED, what_is_not_reclaimed_is_free },
	{ "locks 12: who is back is waited for", F_LOCK_GONE_BACK, who_is_back_is_waited_for },
	{ "locks 13: locks of who is outside stay for a while", F_LOCK_ORPHANS_AT_ONCE, locks_of_who_is_outside_stay_for_a_while },
	{ "locks 13: a lock goes when a majority knows it", F_LOCK_LOST_UNHELD, a_lock_goes_when_a_majority_knows_it },
	{ "locks 13: rows are looked at", F_LOCK_ORPHANS_IN_ROWS, rows_are_looked_at },
	{ "locks 14: who was outside hears of the loss", F_LOCK_NO_FENCE, who_was_outside_hears_of_the_loss },
};

int main(void)
{
	return prevents_main(list, sizeof(list) / sizeof(list[0]));
}
