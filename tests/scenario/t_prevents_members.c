/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The rules of servers that are added and taken out (log 9.1), each with and without (see prevents.h): what counts on a majority of older voters must not
 * be forgotten by a majority of newer ones, and what was taken out has forgotten (log 8.6).
 */
#include <stdio.h>
#include <string.h>

#include "scenario/ends.h"
#include "scenario/prevents.h"

#include "lib/unit.h"

#define TREE "d/ d/f d/g"
#define T 4
#define U 5

static void begin(struct net *n, enum nfs4r_durability durability)
{
	ends_begin(n, TREE, durability);
	n->cfg.idle_ms = 600000; /* what is controlled stays so */
	net_retune(n);
	net_run(n, 2 * LEASE);
}

/* Q and S are taken out, one after the other, as far as they may be. */
static void take_out_two(struct net *n, nfs4r_server_id by)
{
	net_take_out(n, by, Q, false);
	net_run(n, 15 * LEASE);
	net_take_out(n, by, S, false);
	net_run(n, 15 * LEASE);
}

/* P won d/f by the acks of Q and S. T and U know nothing of it, and T does not hear P. */
static bool claims_are_known_to_a_majority_first(struct net *n)
{
	struct nfs4r_oid f;
	bool other;

	begin(n, NFS4R_DURABILITY_LOCAL);
	f = at(n, "d/f");
	net_drop(n, P, T, NFS4R_MSG_PROPOSE);
	net_drop(n, P, U, NFS4R_MSG_PROPOSE);
	chmod_(n, P, "d/f");
	net_run(n, 200);
	take_out_two(n, P);
	net_drop(n, T, P, NFS4R_MSG_PROPOSE);
	chmod_(n, T, "d/f");
	net_run(n, LEASE);
	other = acting(n, T, &f);
	return acting(n, P, &f) && !other;
}

/* A rename that Q and S have on their disks, and T and U do not have at all. */
static bool updates_are_quorum_durable_first(struct net *n)
{
	struct nfs4r_oid d, x;

	begin(n, NFS4R_DURABILITY_COMMIT);
	d = at(n, "d");
	do_chmod(n, P, "d");
	net_run(n, LEASE);
	for (nfs4r_server_id s = 1; s <= U; s++) {
		net_drop(n, s, T, NFS4R_MSG_ENTRIES);
		net_drop(n, s, U, NFS4R_MSG_ENTRIES);
	}
	if (finish(n, op_rename(n, P, &d, "f", &d, "h")) != NFS4R_OK)
		return false;
	take_out_two(n, P);
	net_crash(n, P);
	net_pass(n);
	net_run(n, 20 * LEASE);
	return memtree_lookup(n->s[T].tree, &d, "h", &x) && memtree_lookup(n->s[U].tree, &d, "h", &x);
}

/* P hears one grant, and its own: enough of three, not of four. */
static bool a_lease_counts_on_the_new_voters(struct net *n)
{
	nfs4r_server_id e;

	begin(n, NFS4R_DURABILITY_LOCAL);
	e = net_new_server(n);
	net_drop(n, S, P, NFS4R_MSG_GRANT);
	net_drop(n, e, P, NFS4R_MSG_GRANT);
	net_run(n, 2 * LEASE);
	if (!serves(n, P) || !net_add(n, Q, e))
		return false;
	for (int i = 0; i < 30000 && !(view_of(n, P).adopted.voters & NFS4R_BIT(e)); i++)
		net_run(n, 1);
	return (view_of(n, P).adopted.voters & NFS4R_BIT(e)) && nfs4r_core_lease_until(n->s[P].core) <= n->now;
}

/*
 * S has an update that was given up, and Q's next one of the same file, which waits for the view that it was made in. The first that S hears of any view is that it
 * was taken out: its copy is none any more, and takes nothing.
 */
static bool who_was_taken_out_applies_nothing(struct net *n)
{
	uint32_t before;

	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	lonely_update(n, 100);
	cut_off(n, S);
	if (!until_sealed(n, P, S, 8 * LEASE))
		return false;
	net_pass(n);
	net_drop(n, 0, S, NFS4R_MSG_VIEW);
	net_drop(n, 0, S, NFS4R_MSG_ACCEPT);
	before = n->s[S].applies;
	if (keep_trying_chmod(n, Q, "d/f", 10 * LEASE) != NFS4R_OK)
		return false;
	net_run(n, LEASE);
	assert_int_equal(n->s[S].applies, before);
	if (!net_take_out(n, P, S, false) || !until_all_are(n, NFS4R_BIT(P) | NFS4R_BIT(Q)))
		return false;
	assert_false(view_of(n, S).taken_out);
	net_pass(n);
	net_run(n, LEASE);
	if (!view_of(n, S).taken_out || n->s[S].halted || n->s[S].applies != before)
		return false;
	return net_add(n, P, S) && until_all_are(n, NFS4R_BIT(P) | NFS4R_BIT(Q) | NFS4R_BIT(S)) && all_equal(n);
}

/* P makes d/lost for Q, which S alone gets, has on its disk, and knows to be P's. S stops, P's machine loses it, and Q asks no more. False: it does not come so far. */
static bool loses_what_one_has(struct net *n, struct nfs4r_oid *lost)
{
	struct nfs4r_oid d = at(n, "d");
	struct memtree *disk;
	uint64_t inc = n->s[P].inc;
	bool there;

	if (finish(n, create(n, P, "d", "first")) != NFS4R_OK)
		return false;
	net_run(n, LEASE);
	disk = memtree_clone(n->s[P].tree);
	net_drop(n, P, Q, NFS4R_MSG_ENTRIES);
	net_drop(n, P, 0, NFS4R_MSG_HEARTBEAT); /* else they would know that its journal was longer */
	create(n, Q, "d", "lost");
	net_run(n, 5 * RTT(n));
	net_stable(n, S);
	there = !memtree_lookup(n->s[Q].tree, &d, "lost", lost) && memtree_lookup(n->s[S].tree, &d, "lost", lost) && controls(n, S, P, lost) && memtree_rows(n->s[S].tree, 'R');
	for (nfs4r_server_id s = P; s <= S; s++)
		net_crash(n, s);
	net_lose_disk(n, P, disk, inc);
	net_pass(n);
	net_restart(n, Q, true);
	net_restart(n, P, false);
	return there;
}

/*
 * S is taken out, so nobody waits for what it has, and P does nothing more. S is added with its old store. Its new copy has neither the update, nor its result, nor
 * what P controls by it, also after a restart, and takes the update that has the number next.
 */
static bool what_an_old_copy_has_is_lost(struct net *n)
{
	struct nfs4r_oid lost, next, d;
	nfs4r_lsn had;

	begin(n, NFS4R_DURABILITY_COMMIT);
	d = at(n, "d");
	assert_true(loses_what_one_has(n, &lost));
	had = memtree_applied(n->s[S].tree, P);
	assert_true(net_take_out(n, Q, S, false) && until_all_are(n, NFS4R_BIT(P) | NFS4R_BIT(Q)));
	assert_true(net_add(n, Q, S));
	net_restart(n, S, true);
	for (int i = 0; i < 20000 && !n->s[S].repairs; i++)
		net_run(n, 1);
	if (!n->s[S].repairs)
		return false;
	assert_true(memtree_applied(n->s[S].tree, P) < had);
	assert_false(controls(n, S, P, &lost) || memtree_rows(n->s[S].tree, 'R'));
	net_crash(n, S);
	net_restart(n, S, true);
	assert_true(until_all_are(n, NFS4R_BIT(P) | NFS4R_BIT(Q) | NFS4R_BIT(S)));
	assert_false(memtree_lookup(n->s[S].tree, &d, "lost", &next) || controls(n, S, P, &lost));
	assert_int_equal(finish(n, create(n, P, "d", "next")), NFS4R_OK);
	net_run(n, LEASE);
	assert_int_equal(memtree_applied(n->s[S].tree, P), had);
	assert_true(memtree_lookup(n->s[S].tree, &d, "next", &next));
	n->cfg.idle_ms = 100;
	net_retune(n);
	return until_back(n) && all_equal(n);
}

/* Q was told to take out P when there were three; now it would be one of two. That does not stand in the way of adding another one. */
static bool what_cannot_be_done_any_more_is_refused(struct net *n)
{
	begin(n, NFS4R_DURABILITY_COMMIT);
	net_drop(n, Q, 0, NFS4R_MSG_PREPARE);
	assert_true(net_take_out(n, P, S, false));
	assert_true(net_take_out(n, Q, P, false));
	assert_true(until_all_are(n, NFS4R_BIT(P) | NFS4R_BIT(Q)));
	net_pass(n);
	assert_int_equal(view_of(n, Q).adopted.voters, NFS4R_BIT(P) | NFS4R_BIT(Q));
	empty_disk(n, S);
	return net_add(n, Q, S) && until_back(n) && all_equal(n);
}

/* Until it has its copy @s says that it has forgotten, for longer than any silence. The view that adds it ends that. */
static bool copies_for_long_and_stays(struct net *n, nfs4r_server_id s)
{
	uint64_t num;

	net_run(n, 10 * LEASE);
	n->s[s].hold_repair = false;
	for (int i = 0; i < 20000 && !(view_of(n, P).adopted.members & NFS4R_BIT(s)); i++)
		net_run(n, 1);
	num = view_of(n, P).adopted.num;
	net_run(n, 10 * LEASE);
	return until_all_are(n, NFS4R_BIT(P) | NFS4R_BIT(Q) | NFS4R_BIT(S) | NFS4R_BIT(s)) && view_of(n, P).adopted.num == num && all_equal(n);
}

static bool who_copied_for_long_stays(struct net *n)
{
	begin(n, NFS4R_DURABILITY_COMMIT);
	empty_disk(n, S);
	n->s[S].hold_repair = true;
	assert_true(until_removed(n, P, S, 10 * LEASE));
	return copies_for_long_and_stays(n, S);
}

static bool who_is_new_and_copied_for_long_stays(struct net *n)
{
	nfs4r_server_id e;

	begin(n, NFS4R_DURABILITY_COMMIT);
	e = net_new_server(n);
	n->s[e].hold_repair = true;
	assert_true(net_add(n, P, e));
	return copies_for_long_and_stays(n, e);
}

/*
 * P changes its key, 1 to 2, while S is away with a view that has 1 alone. With an older view S has to know P when it comes back: what the others call P's
 * only key is one that S has.
 */
static bool who_is_away_knows_the_key_that_stays(struct net *n)
{
	begin(n, NFS4R_DURABILITY_COMMIT);
	assert_int_equal(net_set_keys(n, P, P, 1, 0, false), NFS4R_OK);
	net_run(n, 4 * LEASE);
	assert_true(net_knows_key(n, S, P, 1));
	net_crash(n, S);
	assert_true(until_removed(n, P, S, 10 * LEASE));
	assert_int_equal(net_set_keys(n, P, P, 1, 2, false), NFS4R_OK);
	net_run(n, 4 * LEASE);
	assert_true(net_knows_key(n, Q, P, 2));
	net_set_keys(n, P, P, 2, 0, false);
	net_run(n, 4 * LEASE);
	return net_knows_key(n, P, P, 1); /* and so P is told to keep using it */
}

static const struct prevents of_three[] = {
	{ "log 8.6: who copied for long stays", F_COUNTED_BEFORE, who_copied_for_long_stays },
	{ "log 8.6: who is new and copied for long stays", F_COUNTED_BEFORE, who_is_new_and_copied_for_long_stays },
	{ "log 9.1: what cannot be done any more is refused", F_REMOVAL_STAYS, what_cannot_be_done_any_more_is_refused },
	{ "log 8.6: who was taken out applies nothing", F_FORGOT_APPLIES, who_was_taken_out_applies_nothing },
	{ "log 8.5: what an old copy has is lost", F_OLD_COPY_COUNTS, what_an_old_copy_has_is_lost },
	{ "log 6.18: who is away knows the key that stays", F_KEY_AT_ONCE, who_is_away_knows_the_key_that_stays },
	{ "log 9.1: a lease counts on the new voters", F_LEASE_OLD_VOTERS, a_lease_counts_on_the_new_voters },
};

static const struct prevents of_five[] = {
	{ "log 9.1: claims are known to a majority first", F_VOTERS_UNACKED, claims_are_known_to_a_majority_first },
	{ "log 9.1: updates are held by a majority first", F_VOTERS_NOT_DURABLE, updates_are_quorum_durable_first },
	{ "log 9.1: voters change when all have arrived in the view", F_VOTERS_AT_ONCE, claims_are_known_to_a_majority_first },
};

int main(void)
{
	return prevents_with(of_three, sizeof(of_three) / sizeof(of_three[0]), 3) + prevents_with(of_five, sizeof(of_five) / sizeof(of_five[0]), 5);
}
