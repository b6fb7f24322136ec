/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Logs that end (log 7, 8.3, 9.2) and answers that a majority holds (log 5.1): what a server that is gone controlled goes to others, and
 * what it alone had is undone when it returns.
 */
#include <stdio.h>
#include <string.h>

#include "scenario/ends.h"

#include "lib/unit.h"

#define TREE "d/ d/f d/g e/ e/f"

static struct net *net_ends(enum nfs4r_durability durability)
{
	struct net *n = ends_net(3, TREE, durability);

	return n;
}

/* S controls d/f and dies: P has control after the silence and the lease, and everything that was answered. */
static void a_dead_primary_is_replaced(void **state)
{
	struct net *n = net_ends(NFS4R_DURABILITY_COMMIT);
	struct nfs4r_oid f = at(n, "d/f"), d = at(n, "d"), e = at(n, "e");
	uint64_t died;

	n->s[P].no_checkpoint = true;
	do_chmod(n, S, "d/f");
	n->s[P].no_checkpoint = false;
	assert_int_equal(finish(n, op_rename(n, S, &d, "g", &e, "g")), NFS4R_OK);
	n->s[P].no_checkpoint = true;
	do_chmod(n, S, "d/f");
	assert_true(controls(n, P, S, &f));
	net_crash(n, S);
	died = n->now;
	assert_int_equal(keep_trying_chmod(n, P, "d/f", 10 * LEASE), NFS4R_OK);
	assert_true(n->now <= died + SILENCE + LEASE);
	assert_false(controls(n, Q, S, &f));
	assert_true(memtree_lookup(n->s[P].tree, &e, "g", &d));
	assert_int_equal(view_of(n, P).adopted.epoch, 1);
	n->s[P].no_checkpoint = false;
	net_stable(n, P);
	net_restart(n, S, true);
	ends_well(n);
}

/* Rivals that add the same server make the same view twice. Nothing follows of the second one: S is removed as soon as ever (log 6.4). */
static void the_same_view_delays_no_removal(void **state)
{
	struct net *n = net_ends(NFS4R_DURABILITY_COMMIT);
	const struct nfs4r_view before = view_of(n, P).adopted;
	struct nfs4r_msg prepare = { .type = NFS4R_MSG_PREPARE, .prepare.num = (before.num / NFS4R_VIEW_STEP + 1) * NFS4R_VIEW_STEP + Q };
	uint64_t died;

	net_msg(n, Q, P, &prepare); /* and no view comes of it, but the one that P asks for when it has waited (log 6.6) */
	for (int i = 0; i < 1000 && view_of(n, P).adopted.num == before.num; i++)
		net_run(n, 10);
	assert_true(view_of(n, P).adopted.num > before.num);
	assert_int_equal(view_of(n, P).adopted.members, before.members);
	net_crash(n, S);
	died = n->now;
	while (view_of(n, P).adopted.members & NFS4R_BIT(S)) {
		net_run(n, 10);
		assert_true(n->now <= died + SILENCE + LEASE);
	}
	net_restart(n, S, true);
	ends_well(n);
}

/* What S alone has is undone at its return; meanwhile others have updated the same file. */
static void what_one_alone_had_is_undone(void **state)
{
	struct net *n = net_ends(NFS4R_DURABILITY_COMMIT);
	struct nfs4r_oid d = at(n, "d"), x;

	do_chmod(n, S, "d/f");
	net_drop(n, S, 0, NFS4R_MSG_ENTRIES);
	chmod_(n, S, "d/f");
	create(n, S, "d", "lost");
	net_run(n, 5 * RTT(n));
	assert_true(memtree_lookup(n->s[S].tree, &d, "lost", &x));
	net_crash(n, S);
	net_pass(n);
	assert_int_equal(keep_trying_chmod(n, Q, "d/f", 10 * LEASE), NFS4R_OK);
	assert_int_equal(finish(n, create(n, P, "d", "kept")), NFS4R_OK);
	net_restart(n, S, true);
	assert_true(until_back(n));
	assert_true(all_equal(n));
	assert_false(memtree_lookup(n->s[S].tree, &d, "lost", &x));
	assert_true(memtree_lookup(n->s[S].tree, &d, "kept", &x));
	net_free(n);
}

/* All lose power after a seal: it is remembered, and so is the epoch; who was sealed is repaired, the others just go on. */
static void seals_survive_restarts(void **state)
{
	struct net *n = net_ends(NFS4R_DURABILITY_COMMIT);
	nfs4r_lsn before, after;

	lonely_update(n, 200);
	net_crash(n, S);
	net_pass(n);
	assert_true(until_sealed(n, P, S, 8 * LEASE));
	assert_true(sealed_at(n, P, S, &before));
	net_run(n, 100);
	net_crash(n, P);
	net_crash(n, Q);
	for (nfs4r_server_id s = P; s <= S; s++)
		net_restart(n, s, true);
	assert_true(sealed_at(n, Q, S, &after));
	assert_int_equal(after, before);
	assert_int_equal(view_of(n, Q).adopted.epoch, 1);
	assert_true(until_back(n));
	assert_int_equal(n->s[S].repairs, 1);
	assert_true(all_equal(n));
	net_free(n);
}

/* Local: nobody is replaced before an administrator gives the dead one up. */
static void given_up_by_an_administrator(void **state)
{
	struct net *n = net_ends(NFS4R_DURABILITY_LOCAL);
	uint64_t lost;
	char why[160];

	assert_int_equal(nfs4r_core_may_abandon(n->s[P].core, S, &lost, why, sizeof(why)), NFS4R_INVAL); /* a member */
	n->s[P].no_checkpoint = true;
	lonely_update(n, 500);
	net_crash(n, S);
	net_pass(n);
	assert_true(until_removed(n, P, S, 4 * LEASE));
	assert_int_equal(finish(n, chmod_(n, P, "d/f")), NFS4R_DELAY);
	assert_int_equal(view_of(n, P).adopted.epoch, 0);
	assert_int_equal(nfs4r_core_may_abandon(n->s[P].core, S, &lost, why, sizeof(why)), NFS4R_OK);
	assert_int_equal(lost, 1);
	net_give_up(n, P, S);
	assert_true(until_sealed(n, P, S, 2 * LEASE));
	assert_int_equal(keep_trying_chmod(n, P, "d/f", LEASE), NFS4R_OK);
	assert_int_equal(nfs4r_core_may_abandon(n->s[P].core, S, &lost, why, sizeof(why)), NFS4R_INVAL); /* sealed */
	n->s[P].no_checkpoint = false;
	net_stable(n, P);
	net_restart(n, S, true);
	assert_true(until_back(n));
	assert_int_equal(n->s[S].repairs, 1);
	assert_true(all_equal(n));
	assert_int_equal(finish(n, chmod_(n, S, "d/f")), NFS4R_OK); /* its log goes on in the next generation */
	assert_int_equal(NFS4R_GEN(nfs4r_core_own_end(n->s[S].core)), 1);
	assert_true(all_equal(n));
	net_free(n);
}

/* Nothing ends while somebody is only outside, and all goes on as before when it returns. */
static void local_seals_nothing(void **state)
{
	struct net *n = net_ends(NFS4R_DURABILITY_LOCAL);

	net_crash(n, S);
	net_run(n, 10 * LEASE);
	assert_int_equal(view_of(n, P).adopted.nseals, 0);
	assert_int_equal(view_of(n, P).adopted.open, n->cfg.servers);
	net_restart(n, S, true);
	assert_true(until_back(n));
	assert_int_equal(view_of(n, P).adopted.epoch, 0);
	assert_true(all_equal(n));
	net_free(n);
}

/* Local: who is outside for so long is given up without being asked. */
static void given_up_after_a_time(void **state)
{
	struct net *n = net_new(3);

	n->cfg.abandon_ms = 5 * LEASE;
	ends_begin(n, TREE, NFS4R_DURABILITY_LOCAL);
	n->s[P].no_checkpoint = true;
	do_chmod(n, S, "d/f");
	net_crash(n, S);
	net_run(n, 6 * LEASE);
	assert_int_equal(view_of(n, P).adopted.epoch, 0);
	net_run(n, 3 * LEASE);
	assert_int_equal(view_of(n, P).adopted.epoch, 1);
	assert_int_equal(keep_trying_chmod(n, P, "d/f", LEASE), NFS4R_OK);
	n->s[P].no_checkpoint = false;
	net_stable(n, P);
	net_restart(n, S, true);
	ends_well(n);
}

/* P proposes, has the promises, and is gone: Q ends the log in a view of its own. */
static void the_proposer_dies_after_the_promises(void **state)
{
	struct net *n = ends_net(5, TREE, NFS4R_DURABILITY_COMMIT);

	do_chmod(n, 5, "d/f");
	net_drop(n, 5, 0, NFS4R_MSG_ENTRIES);
	chmod_(n, 5, "d/f");
	net_run(n, 200);
	net_drop(n, P, 0, NFS4R_MSG_ACCEPT);
	net_crash(n, 5);
	while (!n->sent[NFS4R_MSG_ACCEPT] && n->now < 100000)
		net_run(n, 1);
	net_crash(n, P);
	net_pass(n);
	assert_true(until_sealed(n, Q, 5, 20 * LEASE));
	assert_int_equal(keep_trying_chmod(n, Q, "d/f", 10 * LEASE), NFS4R_OK);
	net_restart(n, P, true);
	net_restart(n, 5, true);
	ends_well(n);
}

/* 4 has more of the log of 5 than those who promise, is cut off, and returns: it undoes entries of another's log. */
static void another_server_is_ahead(void **state)
{
	struct net *n = net_new(5);
	struct nfs4r_oid d, x;
	nfs4r_lsn lsn;

	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	d = at(n, "d");
	do_chmod(n, 5, "d/f");
	for (nfs4r_server_id s = P; s <= S; s++)
		net_drop(n, 5, s, NFS4R_MSG_ENTRIES);
	for (nfs4r_server_id s = P; s <= S; s++)
		net_drop(n, 4, s, NFS4R_MSG_ENTRIES);
	chmod_(n, 5, "d/f");
	create(n, 5, "d", "lost");
	net_run(n, 200);
	assert_true(memtree_lookup(n->s[4].tree, &d, "lost", &x));
	net_crash(n, 5);
	net_crash(n, 4);
	net_pass(n);
	assert_int_equal(keep_trying_chmod(n, Q, "d/f", 10 * LEASE), NFS4R_OK);
	assert_true(sealed_at(n, Q, 5, &lsn));
	assert_true(lsn < memtree_applied(n->s[4].tree, 5));
	net_restart(n, 4, true);
	net_run(n, 4 * LEASE);
	assert_int_equal(n->s[4].repairs, 1);
	assert_false(memtree_lookup(n->s[4].tree, &d, "lost", &x));
	net_restart(n, 5, true);
	ends_well(n);
}

/* The returning server dies in the middle of the repair, and once more when the source failed. */
static void a_restart_in_the_middle_of_a_repair(void **state)
{
	struct net *n = net_ends(NFS4R_DURABILITY_COMMIT);

	assert_true(lonely_update_is_lost(n));
	n->s[S].hold_repair = true;
	net_restart(n, S, true);
	net_run(n, 2 * LEASE);
	assert_non_null(n->s[S].repair);
	assert_true(view_of(n, S).repairing);
	assert_int_equal(route(n, S, &n->root, true), 0);
	net_crash(n, S);
	net_restart(n, S, true);
	net_run(n, 2 * LEASE);
	net_let_repair(n, S, false);
	assert_null(n->s[S].repair);
	net_run(n, LEASE);
	net_let_repair(n, S, true);
	ends_well(n);
}

/* S is not back yet when P is gone for good: Q and S go on together. */
static void one_goes_while_another_comes_back(void **state)
{
	struct net *n = net_ends(NFS4R_DURABILITY_COMMIT);

	assert_true(lonely_update_is_lost(n));
	n->s[S].hold_repair = true;
	net_restart(n, S, true);
	net_crash(n, P);
	net_run(n, 2 * LEASE);
	net_let_repair(n, S, true);
	assert_int_equal(keep_trying_chmod(n, Q, "d/f", 10 * LEASE), NFS4R_OK); /* under control that it has kept (log 7.1): no view is needed for that */
	net_run(n, 4 * LEASE);
	assert_int_equal(view_of(n, Q).adopted.members, NFS4R_BIT(Q) | NFS4R_BIT(S));
	assert_int_equal(keep_trying_chmod(n, S, "d/g", 10 * LEASE), NFS4R_OK);
	net_restart(n, P, true);
	ends_well(n);
}

/* A view that seals while an entry of the log is being applied: the promise waits for that, and the entry is kept. */
static void a_promise_waits_for_what_is_applied(void **state)
{
	struct net *n = net_ends(NFS4R_DURABILITY_COMMIT);
	nfs4r_lsn lsn;

	do_chmod(n, S, "d/f");
	n->s[P].hold_apply = n->s[Q].hold_apply = true;
	chmod_(n, S, "d/f");
	net_run(n, 100);
	net_crash(n, S);
	net_run(n, 4 * LEASE);
	assert_false(sealed_at(n, P, S, &lsn));
	net_let_apply(n, P);
	net_let_apply(n, Q);
	assert_true(until_sealed(n, P, S, 8 * LEASE));
	assert_true(sealed_at(n, P, S, &lsn));
	assert_int_equal(lsn, memtree_applied(n->s[S].tree, S));
	net_restart(n, S, true);
	assert_true(until_back(n));
	assert_int_equal(n->s[S].repairs, 0); /* nothing was lost */
	assert_true(all_equal(n));
	net_free(n);
}

/* Q asked S, which executed and told P, and died: the result is found. */
static void a_forwarded_request_was_executed(void **state)
{
	struct net *n = net_ends(NFS4R_DURABILITY_COMMIT);
	struct nfs4r_oid d = at(n, "d"), x;
	struct client *c;

	n->s[P].no_checkpoint = true;
	do_create(n, S, "d", "a"); /* S controls d */
	net_drop(n, S, Q, NFS4R_MSG_FORWARD_ANSWER);
	net_drop(n, S, Q, NFS4R_MSG_ENTRIES);
	c = create(n, Q, "d", "b");
	net_run(n, 4 * RTT(n));
	assert_true(memtree_lookup(n->s[P].tree, &d, "b", &x));
	assert_false(c->done);
	net_crash(n, S);
	net_pass(n);
	assert_int_equal(finish(n, c), NFS4R_OK);
	assert_true(nfs4r_oid_eq(&c->op.result, &x));
	n->s[P].no_checkpoint = false;
	net_stable(n, P);
	net_restart(n, S, true);
	ends_well(n);
}

/* The same, but nobody has the entry: Q decides anew, and the file is made once. */
static void a_forwarded_request_was_lost(void **state)
{
	struct net *n = net_ends(NFS4R_DURABILITY_COMMIT);
	struct client *c;

	n->s[P].no_checkpoint = true;
	do_create(n, S, "d", "a");
	net_drop(n, S, Q, NFS4R_MSG_FORWARD_ANSWER);
	net_drop(n, S, 0, NFS4R_MSG_ENTRIES);
	c = create(n, Q, "d", "b");
	net_run(n, 4 * RTT(n));
	assert_false(c->done);
	net_crash(n, S);
	net_pass(n);
	n->s[P].no_checkpoint = false;
	net_stable(n, P);
	assert_int_equal(finish(n, c), NFS4R_OK);
	net_restart(n, S, true);
	ends_well(n);
}

/* S answered and died, and what it answered is in nobody's copy. Q hears of the view, but has not yet what S's log had before: the result of what
   never happened is not given to the client, however long that lasts. */
static void what_never_happened_is_not_answered(void **state)
{
	struct net *n = net_new(5);
	struct nfs4r_oid d, x;
	struct client *c;
	uint64_t answered;

	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	n->cfg.op_wait_ms = 4 * LEASE;
	net_retune(n);
	net_run(n, 2 * LEASE);
	d = at(n, "d");
	do_create(n, S, "d", "a");
	for (nfs4r_server_id s = 1; s <= 5; s++)
		net_drop(n, s, Q, NFS4R_MSG_ENTRIES);
	do_create(n, S, "d", "before");
	net_drop(n, S, 0, NFS4R_MSG_ENTRIES);
	c = create(n, Q, "d", "b");
	net_run(n, 4 * RTT(n));
	assert_true(memtree_lookup(n->s[S].tree, &d, "b", &x));
	answered = n->now;
	net_crash(n, S);
	assert_true(until_sealed(n, Q, S, 4 * LEASE));
	net_run(n, answered + 4 * LEASE + 2 * RTT(n) - n->now);
	assert_false(c->done);
	net_pass(n);
	assert_int_equal(finish(n, c), NFS4R_OK);
	assert_true(memtree_lookup(n->s[Q].tree, &d, "b", &x));
	assert_true(nfs4r_oid_eq(&c->op.result, &x));
	net_restart(n, S, true);
	ends_well(n);
}

/* With `majority` an answer waits for the disks of a majority, also when it is found in the log of one that died. */
static void a_result_of_a_sealed_log_is_held(void **state)
{
	struct net *n = net_ends(NFS4R_DURABILITY_MAJORITY);
	struct nfs4r_oid d = at(n, "d"), x;
	struct client *c;

	do_create(n, S, "d", "a"); /* S controls d */
	n->s[P].no_checkpoint = n->s[Q].no_checkpoint = true;
	net_drop(n, S, Q, NFS4R_MSG_FORWARD_ANSWER);
	c = create(n, Q, "d", "b");
	net_run(n, 4 * RTT(n));
	assert_true(memtree_lookup(n->s[P].tree, &d, "b", &x));
	assert_true(memtree_lookup(n->s[Q].tree, &d, "b", &x));
	net_crash(n, S);
	assert_true(until_sealed(n, Q, S, 8 * LEASE));
	net_run(n, 2 * LEASE);
	assert_false(c->done);
	n->s[P].no_checkpoint = n->s[Q].no_checkpoint = false;
	net_stable(n, P);
	net_run(n, 4 * RTT(n));
	assert_false(c->done);
	net_stable(n, Q);
	assert_int_equal(finish(n, c), NFS4R_OK);
	assert_true(nfs4r_oid_eq(&c->op.result, &x));
	net_restart(n, S, true);
	ends_well(n);
}

/* Q is away while S is sealed, returns, writes, and is sealed again: Q takes everything anew. */
static void two_seals_while_one_is_away(void **state)
{
	struct net *n = ends_net(5, TREE, NFS4R_DURABILITY_COMMIT);

	do_chmod(n, 5, "d/f");
	cut_off(n, 4);
	assert_true(until_removed(n, P, 4, 4 * LEASE));
	assert_int_equal(keep_trying_chmod(n, 5, "d/f", LEASE), NFS4R_OK);
	for (int i = 0; i < 2; i++) {
		net_run(n, 2 * LEASE);
		net_crash(n, 5);
		assert_true(until_removed(n, P, 5, 8 * LEASE));
		net_restart(n, 5, true);
		for (int k = 0; k < 1000 && !(view_of(n, P).adopted.members & NFS4R_BIT(5)); k++)
			net_run(n, 10);
		assert_int_equal(keep_trying_chmod(n, 5, "d/f", 4 * LEASE), NFS4R_OK);
	}
	net_pass(n);
	assert_true(until_back(n));
	assert_int_equal(n->s[4].repairs, 1);
	assert_true(all_equal(n));
	net_free(n);
}

/* S loses the end of its own log with its machine; the seal says where that is, though P is gone for good. */
static void a_machine_crash_of_the_sealed_server(void **state)
{
	struct net *n = net_new(5);
	struct memtree *disk;

	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	disk = memtree_clone(n->s[5].tree);
	do_chmod(n, 5, "d/f");
	do_create(n, 5, "d", "new");
	net_crash(n, 5);
	memtree_free(n->s[5].tree);
	n->s[5].tree = disk;
	assert_true(until_sealed(n, P, 5, 8 * LEASE));
	net_crash(n, P);
	assert_true(until_removed(n, Q, P, 8 * LEASE));
	net_restart(n, 5, false);
	for (int k = 0; k < 1000 && !(view_of(n, Q).adopted.members & NFS4R_BIT(5) && serves(n, 5)); k++)
		net_run(n, 10);
	assert_true(serves(n, 5));
	assert_int_equal(keep_trying_chmod(n, 5, "d/f", 4 * LEASE), NFS4R_OK);
	net_restart(n, P, true);
	ends_well(n);
}

/* commit: rename waits until one other has it on disk, chmod does not; majority: everything does. */
static void answers_wait_until_a_majority_holds_them(void **state)
{
	for (int majority = 0; majority < 2; majority++) {
		struct net *n = net_ends(majority ? NFS4R_DURABILITY_MAJORITY : NFS4R_DURABILITY_COMMIT);
		struct nfs4r_oid d = at(n, "d"), f = at(n, "d/f");
		struct client *c, *r;
		uint64_t entries, bytes, age;

		n->s[Q].no_checkpoint = n->s[S].no_checkpoint = true;
		c = chmod_(n, P, "d/f");
		r = op_rename(n, P, &d, "g", &d, "h");
		net_run(n, 500);
		net_hold_until_quorum_durable(n, P, 7, &f);
		assert_int_equal(c->done, !majority);
		assert_false(r->done);
		assert_int_equal(n->s[P].held, 0);
		nfs4r_core_loss_window(n->s[P].core, &entries, &bytes, &age);
		assert_int_equal(entries, 2);
		assert_in_range(age, 400, 600);
		assert_true(n->s[S].checkpoints); /* it was asked for */
		assert_true(n->s[S].hurried && n->s[P].hurried); /* without a pause: an answer waits */
		n->s[S].no_checkpoint = false;
		net_stable(n, S);
		net_run(n, 100);
		assert_true(c->done && r->done);
		assert_int_equal(r->op.status, NFS4R_OK);
		assert_int_equal(n->s[P].held, 7);
		nfs4r_core_loss_window(n->s[P].core, &entries, &bytes, &age);
		assert_int_equal(entries, 0);
		n->s[Q].no_checkpoint = false;
		net_stable(n, Q);
		assert_true(all_equal(n));
		net_free(n);
	}
}

/* Majority: what was answered is there after its primary is gone, whatever it was. */
static void majority_keeps_everything_answered(void **state)
{
	struct net *n = net_ends(NFS4R_DURABILITY_MAJORITY);
	struct nfs4r_oid d = at(n, "d"), x;

	for (int i = 0; i < 5; i++) {
		char name[8];

		snprintf(name, sizeof(name), "n%d", i);
		assert_int_equal(finish(n, create(n, S, "d", name)), NFS4R_OK);
	}
	net_crash(n, S);
	assert_true(until_sealed(n, P, S, 8 * LEASE));
	net_run(n, LEASE);
	assert_true(memtree_lookup(n->s[P].tree, &d, "n4", &x));
	assert_int_equal(keep_trying_chmod(n, P, "d/n4", 2 * LEASE), NFS4R_OK);
	net_restart(n, S, true);
	ends_well(n);
}

/* S renames, P has it on disk too: that is answered. P does not hear S and removes it; S accepts, and so the view is adopted by P and S before Q has
   heard of it. S lets go. Q, a member in the old view with a lease, may not read its own copy, which has not the rename. */
static void a_release_does_not_overtake_the_seal(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid d, x;
	bool stale = false;

	ends_begin(n, "d/ d/f d/g", NFS4R_DURABILITY_COMMIT);
	d = at(n, "d");
	do_create(n, S, "d", "first"); /* all have acked the control of d */
	net_drop(n, S, Q, NFS4R_MSG_ENTRIES);
	net_drop(n, P, Q, NFS4R_MSG_ENTRIES);
	assert_int_equal(finish(n, op_rename(n, S, &d, "g", &d, "h")), NFS4R_OK);
	assert_false(memtree_lookup(n->s[Q].tree, &d, "h", &x));
	net_drop(n, S, P, NFS4R_MSG_HEARTBEAT);
	net_drop(n, P, Q, NFS4R_MSG_ACCEPT);
	net_drop(n, P, Q, NFS4R_MSG_VIEW);
	for (int i = 0; i < 6 * LEASE; i++) {
		nfs4r_server_id to;

		net_run(n, 1);
		to = route(n, Q, &d, true);
		stale |= to == Q && serves(n, Q) && !memtree_lookup(n->s[Q].tree, &d, "h", &x);
	}
	assert_false(stale);
	net_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dead_primary_is_replaced),
		cmocka_unit_test(the_same_view_delays_no_removal),
		cmocka_unit_test(what_one_alone_had_is_undone),
		cmocka_unit_test(seals_survive_restarts),
		cmocka_unit_test(given_up_by_an_administrator),
		cmocka_unit_test(local_seals_nothing),
		cmocka_unit_test(given_up_after_a_time),
		cmocka_unit_test(the_proposer_dies_after_the_promises),
		cmocka_unit_test(another_server_is_ahead),
		cmocka_unit_test(a_restart_in_the_middle_of_a_repair),
		cmocka_unit_test(one_goes_while_another_comes_back),
		cmocka_unit_test(a_promise_waits_for_what_is_applied),
		cmocka_unit_test(a_forwarded_request_was_executed),
		cmocka_unit_test(a_forwarded_request_was_lost),
		cmocka_unit_test(what_never_happened_is_not_answered),
		cmocka_unit_test(a_result_of_a_sealed_log_is_held),
		cmocka_unit_test(two_seals_while_one_is_away),
		cmocka_unit_test(a_machine_crash_of_the_sealed_server),
		cmocka_unit_test(answers_wait_until_a_majority_holds_them),
		cmocka_unit_test(majority_keeps_everything_answered),
		cmocka_unit_test(a_release_does_not_overtake_the_seal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
