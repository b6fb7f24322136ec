/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What is kept for servers that are away, until when, and how they come back that need what is gone (log 3.11, 3.12, 8.5).
 */
#include <stdio.h>
#include <string.h>

#include "scenario/ends.h"

#include "lib/unit.h"

#define TREE "d/ d/f d/g e/ e/f"

/* @times updates at @s, all stable at everybody who is there. */
static void updates(struct net *n, nfs4r_server_id s, int times)
{
	for (int i = 0; i < times; i++) {
		assert_int_equal(keep_trying_chmod(n, s, "d/f", 4 * LEASE), NFS4R_OK);
		net_run(n, LEASE);
	}
	for (nfs4r_server_id q = P; q <= n->n; q++)
		if (n->s[q].up)
			net_stable(n, q);
	net_run(n, LEASE);
}

static void pass_the_bound(struct net *n, nfs4r_servers at)
{
	for (nfs4r_server_id s = P; s <= n->n; s++)
		if (at & NFS4R_BIT(s))
			net_beyond(n, s, 0);
	net_run(n, 2 * LEASE);
}

static bool is_pinned(struct net *n, nfs4r_server_id at, nfs4r_server_id log)
{
	return memtree_entry(n->s[at].tree, log, memtree_applied(n->s[at].tree, log)) != NULL;
}

/* Everything is kept for S while it is away, and it goes on from there. */
static void within_the_bound_nothing_is_copied(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_COMMIT);

	cut_off(n, S);
	updates(n, P, 3);
	assert_true(is_pinned(n, P, P));
	assert_true(is_pinned(n, Q, P));
	net_pass(n);
	assert_true(until_back(n));
	assert_int_equal(n->s[S].repairs, 0);
	assert_true(all_equal(n));
	updates(n, P, 0);
	assert_false(is_pinned(n, P, P)); /* nobody needs it any more */
	net_free(n);
}

/* The bound is passed: the entries go at both, the owner's too, and S copies everything. */
static void after_the_bound_everything_is_copied(void **state)
{
	for (enum nfs4r_durability k = NFS4R_DURABILITY_LOCAL; k <= NFS4R_DURABILITY_MAJORITY; k++) {
		struct net *n = ends_net(3, TREE, k);

		cut_off(n, S);
		updates(n, P, 3);
		updates(n, Q, 2);
		pass_the_bound(n, NFS4R_BIT(P) | NFS4R_BIT(Q));
		for (nfs4r_server_id s = P; s <= Q; s++) {
			assert_false(is_pinned(n, s, P));
			assert_false(is_pinned(n, s, Q));
		}
		updates(n, P, 1); /* they go on */
		net_pass(n);
		assert_true(until_back(n));
		assert_true(n->s[S].repairs >= 1); /* again, if the view changes meanwhile */
		assert_true(all_equal(n));
		updates(n, S, 2);
		net_free(n);
	}
}

/* Only P had to drop them: S asks Q instead, and copies nothing. */
static void who_has_them_is_asked(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_COMMIT);

	cut_off(n, S);
	updates(n, P, 3);
	pass_the_bound(n, NFS4R_BIT(P));
	assert_false(is_pinned(n, P, P));
	assert_true(is_pinned(n, Q, P));
	net_pass(n);
	assert_true(until_back(n));
	assert_int_equal(n->s[S].repairs, 0);
	assert_true(all_equal(n));
	net_free(n);
}

/* Nothing is dropped on the word of a member that is not heard: it may be back with another disk. */
static void a_member_that_is_silent_keeps_everything(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_COMMIT);

	cut_off(n, S);
	updates(n, P, 2);
	net_drop(n, Q, P, 0);
	net_drop(n, P, Q, 0);
	net_run(n, 2 * SILENCE);
	pass_the_bound(n, NFS4R_BIT(P) | NFS4R_BIT(Q));
	assert_true(is_pinned(n, P, P));
	assert_true(is_pinned(n, Q, P));
	net_pass(n);
	ends_well(n);
}

/* With `local` S keeps what it controls. It lost the end of its own log with its machine, and nobody has those entries any more. */
static void the_tail_of_the_own_log_is_gone(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_LOCAL);
	struct memtree *disk;
	struct nfs4r_oid f = at(n, "d/f");

	n->s[Q].no_checkpoint = true;
	do_chmod(n, S, "d/f");
	n->s[Q].no_checkpoint = false;
	net_stable(n, Q);
	net_run(n, 50);
	disk = memtree_clone(n->s[S].tree);
	net_drop(n, S, 0, NFS4R_MSG_HEARTBEAT); /* what follows does not get to its disk, so none says that it is there (log 8.6) */
	for (int i = 0; i < 3; i++)
		do_chmod(n, S, "d/f");
	net_stable(n, P);
	net_stable(n, Q);
	net_run(n, 20);
	net_crash(n, S);
	net_pass(n);
	memtree_free(n->s[S].tree);
	n->s[S].tree = disk;
	assert_true(until_removed(n, P, S, 4 * LEASE));
	assert_true(view_of(n, P).adopted.open & NFS4R_BIT(S));
	updates(n, P, 0);
	pass_the_bound(n, NFS4R_BIT(P) | NFS4R_BIT(Q));
	assert_false(is_pinned(n, P, S));
	net_restart(n, S, false);
	assert_true(until_back(n));
	assert_int_equal(n->s[S].repairs, 1);
	assert_int_equal(memtree_content(n->s[S].tree, &f), memtree_content(n->s[P].tree, &f));
	updates(n, S, 2);
	assert_true(all_equal(n));
	net_free(n);
}

/* Entries reach S, a member, much too slowly: it is removed, the others' logs become short, and it comes back when it is near. */
static void a_member_that_is_slow_is_removed(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_COMMIT);

	net_drop(n, 0, S, NFS4R_MSG_ENTRIES);
	for (int i = 0; i < 3; i++) {
		chmod_(n, P, "d/f");
		net_run(n, LEASE);
	}
	net_stable(n, P);
	net_stable(n, Q);
	pass_the_bound(n, NFS4R_BIT(P) | NFS4R_BIT(Q));
	assert_true(is_pinned(n, P, P));
	assert_true(until_removed(n, P, S, 4 * LEASE));
	net_run(n, LEASE);
	assert_false(is_pinned(n, P, P));
	net_pass(n);
	ends_well(n);
}

/* Q is needed for a majority: it stays, however slow it is. */
static void who_is_needed_is_not_removed(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_COMMIT);

	net_crash(n, S);
	assert_true(until_removed(n, P, S, 4 * LEASE));
	net_drop(n, 0, Q, NFS4R_MSG_ENTRIES);
	chmod_(n, P, "d/f");
	net_run(n, LEASE);
	net_stable(n, P);
	pass_the_bound(n, NFS4R_BIT(P));
	net_run(n, 4 * LEASE);
	assert_true(view_of(n, P).adopted.members & NFS4R_BIT(Q));
	assert_true(is_pinned(n, P, P));
	net_pass(n);
	net_restart(n, S, true);
	ends_well(n);
}

/* S has not heard of three updates of P. Q had, and was made anew after that: it does not have their entries. */
static void only_q_has_heard(struct net *n)
{
	net_drop(n, 0, S, NFS4R_MSG_ENTRIES);
	for (int i = 0; i < 3; i++)
		chmod_(n, P, "d/f");
	net_run(n, LEASE);
	empty_disk(n, Q);
	for (int i = 0; i < 2000 && !serves(n, Q); i++)
		net_run(n, 10);
	assert_true(serves(n, Q));
	assert_false(is_pinned(n, Q, P));
	net_run(n, LEASE);
}

/* S cannot go on from P's log, and takes a copy; then both work. */
static void s_is_made_anew(struct net *n)
{
	nfs4r_lsn seal;

	assert_true(until_back(n));
	assert_true(sealed_at(n, S, P, &seal));
	assert_true(n->s[S].repairs >= 1);
	assert_true(all_equal(n));
	updates(n, S, 1);
	updates(n, P, 1);
	net_free(n);
}

/*
 * Log 8.5: Q was made anew from P and has no entries; then P loses its disk, too. S, which has not got them yet, can neither catch up nor accept
 * the seal of P's log: it is made anew while it accepts.
 */
static void who_had_the_entries_loses_its_disk(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_COMMIT);

	only_q_has_heard(n);
	assert_true(memtree_applied(n->s[S].tree, P) < memtree_applied(n->s[Q].tree, P));
	empty_disk(n, P);
	net_pass(n);
	s_is_made_anew(n);
}

/*
 * The same, but an image of P's disk is put back that still has those entries. P has forgotten, and gives nothing of its own log before that has ended
 * (log 8.6), which it does not without S. So S does not wait for P, and is made anew.
 */
static void who_had_the_entries_is_put_back(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_COMMIT);
	struct memtree *image;
	uint64_t inc;

	only_q_has_heard(n);
	image = memtree_clone(n->s[P].tree);
	inc = n->s[P].inc;
	chmod_(n, P, "d/f");
	net_run(n, 2 * LEASE);
	assert_true(memtree_applied(image, P) > memtree_applied(n->s[S].tree, P));
	net_crash(n, P);
	net_lose_disk(n, P, image, inc);
	net_restart(n, P, true);
	net_pass(n);
	net_run(n, LEASE / 2);
	assert_int_equal(view_of(n, P).memory, NFS4R_MEMORY_FORGOT);
	s_is_made_anew(n);
}

/* What only that image has of P's log is given up: Q and S are not late because of it. Were they, neither would be a source for the other. */
static void an_image_has_what_nobody_else_has(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_COMMIT);
	struct memtree *image;
	uint64_t inc = n->s[P].inc;

	net_drop(n, P, 0, NFS4R_MSG_ENTRIES);
	chmod_(n, P, "d/f");
	net_run(n, LEASE);
	image = memtree_clone(n->s[P].tree);
	chmod_(n, P, "d/f");
	net_run(n, 2 * LEASE);
	assert_true(memtree_applied(image, P) > memtree_applied(n->s[Q].tree, P));
	net_crash(n, P);
	net_lose_disk(n, P, image, inc);
	net_restart(n, P, true);
	net_pass(n);
	net_run(n, LEASE / 2);
	assert_int_equal(view_of(n, P).memory, NFS4R_MEMORY_FORGOT);
	assert_true(until_back(n));
	assert_int_equal(n->s[Q].repairs + n->s[S].repairs, 0);
	assert_int_equal(n->s[P].repairs, 1);
	assert_true(all_equal(n));
	updates(n, P, 1);
	net_free(n);
}

/*
 * S has been away for too long. P, one of the two members, loses its disk: Q alone cannot remove it, S is needed for that and has to be made anew
 * first, and P waits for both (log 6.4).
 */
static void who_is_late_fills_up_the_view(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_COMMIT);

	cut_off(n, S);
	updates(n, Q, 3);
	pass_the_bound(n, NFS4R_BIT(P) | NFS4R_BIT(Q));
	assert_false(is_pinned(n, Q, Q));
	empty_disk(n, P);
	net_run(n, 4 * LEASE);
	net_pass(n);
	assert_true(until_back(n));
	assert_true(n->s[S].repairs >= 1);
	assert_true(n->s[P].repairs >= 1);
	assert_true(all_equal(n));
	updates(n, P, 1);
	net_free(n);
}

/*
 * The same with nothing to be copied, but to be undone (log 8.3): S was removed and has updates of its own, P loses its disk, Q starts anew. S waits for
 * a serving member, Q for a second one: Q gives its copy before it serves.
 */
static void who_has_to_undo_fills_up_the_view(void **state)
{
	for (int crash = 0; crash < 2; crash++) {
		struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_COMMIT);
		struct memtree *disk;

		lonely_update(n, 200);
		net_crash(n, S);
		net_pass(n);
		assert_true(until_sealed(n, P, S, 8 * LEASE));
		assert_int_equal(keep_trying_chmod(n, Q, "d/g", 4 * LEASE), NFS4R_OK);
		net_run(n, LEASE);
		disk = crash ? memtree_clone(n->s[Q].tree) : NULL;
		assert_int_equal(keep_trying_chmod(n, P, "d/f", 4 * LEASE), NFS4R_OK);
		net_crash(n, Q);
		if (crash) { /* its machine: it lost the end of P's log */
			memtree_free(n->s[Q].tree);
			n->s[Q].tree = disk;
		}
		net_run(n, 50);
		empty_disk(n, P);
		net_restart(n, S, true);
		net_restart(n, Q, !crash);
		assert_true(until_back(n));
		assert_true(n->s[S].repairs >= 1);
		assert_true(n->s[P].repairs >= 1);
		assert_true(all_equal(n));
		net_free(n);
	}
}

/* Until @s is a member of a view of just @members and has all lists. */
static bool until_joined(struct net *n, nfs4r_server_id s, nfs4r_servers members)
{
	for (int i = 0; i < 2000 && (view_of(n, s).adopted.members != members || view_of(n, s).joining); i++)
		net_run(n, 10);
	return view_of(n, s).adopted.members == members && !view_of(n, s).joining;
}

/* P is away for too long, and is about to make its copy anew from S. Q has not got the last update of S when S has done it. */
static void copy_from_s(struct net *n)
{
	n->s[P].hold_repair = true;
	net_pass(n);
	net_drop(n, S, P, NFS4R_MSG_ENTRIES);
	net_drop(n, S, Q, NFS4R_MSG_ENTRIES);
	for (int i = 0; i < 2000 && !n->s[P].repair; i++)
		net_run(n, 10);
	while (n->s[P].repair && n->s[P].repair->from != S) {
		net_let_repair(n, P, false);
		for (int i = 0; i < 2000 && !n->s[P].repair; i++)
			net_run(n, 10);
	}
	assert_non_null(n->s[P].repair);
}

/*
 * Log 8.4: P waits for an entry of S that its copy may have, S is away, and P joins meanwhile. When S comes back P asks for its list although it is not
 * ready: S released d/f when P was outside, and no later RELEASE tells P so.
 */
static void a_member_that_is_not_ready_asks_who_is_back(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_LOCAL);
	struct nfs4r_oid f = at(n, "d/f");

	do_chmod(n, S, "d/f");
	cut_off(n, P);
	assert_true(until_removed(n, Q, P, 4 * LEASE));
	net_run(n, 2 * LEASE);
	assert_false(controls(n, Q, S, &f));
	assert_true(controls(n, P, S, &f));
	updates(n, Q, 3);
	pass_the_bound(n, NFS4R_BIT(Q) | NFS4R_BIT(S));
	copy_from_s(n);
	net_let_repair(n, P, true);
	chmod_(n, S, "d/g");
	net_run(n, LEASE / 4);
	net_stable(n, S);
	net_run(n, LEASE / 4);
	cut_off(n, S);
	assert_true(until_joined(n, P, NFS4R_BIT(P) | NFS4R_BIT(Q)));
	assert_false(serves(n, P));
	net_pass(n);
	net_drop(n, S, P, NFS4R_MSG_RELEASE);
	net_drop(n, S, P, NFS4R_MSG_ENTRIES);
	assert_true(until_joined(n, S, n->cfg.servers));
	net_run(n, LEASE);
	assert_false(serves(n, P));
	net_pass(n);
	net_drop(n, S, P, NFS4R_MSG_RELEASE);
	assert_true(until_back(n));
	net_run(n, LEASE);
	assert_false(controls(n, P, S, &f));
	net_pass(n);
	assert_true(all_equal(n));
	net_free(n);
}

/* Log 8.5: the same, and S loses its disk before it has said how far it was. What P has of S's log counts for nothing: it takes Q's copy. */
static void who_gives_a_copy_loses_its_disk(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_COMMIT);

	cut_off(n, P);
	updates(n, Q, 3);
	pass_the_bound(n, NFS4R_BIT(Q) | NFS4R_BIT(S));
	copy_from_s(n);
	chmod_(n, S, "d/g");
	net_run(n, 50);
	assert_true(memtree_applied(n->s[S].tree, S) > memtree_applied(n->s[Q].tree, S));
	net_let_repair(n, P, true);
	empty_disk(n, S);
	net_pass(n);
	assert_true(until_back(n));
	assert_true(all_equal(n));
	updates(n, P, 1);
	net_free(n);
}

/*
 * Log 6.5: P removes S, which has an update of its own, and needs Q for it, which has to make its copy anew first. P loses its disk before it has said
 * how far that copy goes. Q did not accept: S, which else would have to undo its update, has everything.
 */
static void who_has_half_a_copy_accepts_nothing(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_COMMIT);

	cut_off(n, Q);
	updates(n, P, 3);
	pass_the_bound(n, NFS4R_BIT(P) | NFS4R_BIT(S));
	n->s[Q].hold_repair = true;
	lonely_update(n, 50);
	net_pass(n);
	cut_off(n, S);
	for (int i = 0; i < 2000 && !n->s[Q].repair; i++)
		net_run(n, 10);
	assert_non_null(n->s[Q].repair);
	net_drop(n, P, Q, NFS4R_MSG_POSITIONS);
	net_let_repair(n, Q, true);
	net_run(n, LEASE / 4);
	assert_true(view_of(n, P).adopted.open & NFS4R_BIT(S));
	empty_disk(n, P);
	net_pass(n);
	ends_well(n);
}

/* It is behind the bound, and has caught up before it counts as slow: no view is made for it. */
static void who_is_behind_for_a_moment_stays(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_COMMIT);
	uint64_t view = view_of(n, P).adopted.num;

	net_drop(n, 0, S, NFS4R_MSG_ENTRIES);
	chmod_(n, P, "d/f");
	net_run(n, SILENCE / 2);
	net_stable(n, P);
	net_stable(n, Q);
	net_run(n, SILENCE / 2);
	net_beyond(n, P, 0);
	net_beyond(n, Q, 0);
	net_run(n, SILENCE / 4);
	net_pass(n);
	net_run(n, 2 * LEASE);
	assert_int_equal(view_of(n, P).adopted.num, view);
	assert_int_equal(memtree_applied(n->s[S].tree, P), memtree_applied(n->s[P].tree, P));
	net_free(n);
}

/*
 * S, back, has P's new entry before it hears of the view by which its own log has ended. P loses that entry with its machine. Then S hears of the view, undoes what
 * it alone had, and gives back what waits: nobody has it any more, and P does not wait for it.
 */
static void what_was_given_back_is_not_waited_for(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_COMMIT);
	struct nfs4r_core_peer p;
	struct memtree *disk;

	n->s[P].no_checkpoint = true; /* its control stays */
	do_chmod(n, P, "d/g");
	assert_true(lonely_update_is_lost(n));
	net_drop(n, 0, S, NFS4R_MSG_VIEW);
	net_restart(n, S, true);
	net_run(n, LEASE);
	net_drop(n, P, 0, NFS4R_MSG_HEARTBEAT); /* it says how far its journal is, and loses power before the next one */
	net_drop(n, P, Q, NFS4R_MSG_ENTRIES);
	disk = memtree_clone(n->s[P].tree);
	chmod_(n, P, "d/g");
	net_run(n, LEASE / 2);
	assert_true(nfs4r_core_get_peer(n->s[P].core, S, &p));
	assert_int_equal(p.received, nfs4r_core_own_end(n->s[P].core));
	assert_true(p.received > memtree_applied(disk, P) && p.applied < p.received);
	net_crash(n, P);
	memtree_free(n->s[P].tree);
	n->s[P].tree = disk;
	n->s[P].recovered = 0;
	n->s[P].no_checkpoint = false;
	net_restart(n, P, false);
	net_run(n, LEASE);
	net_pass(n);
	net_run(n, 4 * LEASE);
	assert_int_equal(n->s[P].recovered, 1);
	ends_well(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(within_the_bound_nothing_is_copied),
		cmocka_unit_test(after_the_bound_everything_is_copied),
		cmocka_unit_test(who_has_them_is_asked),
		cmocka_unit_test(a_member_that_is_silent_keeps_everything),
		cmocka_unit_test(the_tail_of_the_own_log_is_gone),
		cmocka_unit_test(what_was_given_back_is_not_waited_for),
		cmocka_unit_test(a_member_that_is_slow_is_removed),
		cmocka_unit_test(who_is_behind_for_a_moment_stays),
		cmocka_unit_test(who_is_needed_is_not_removed),
		cmocka_unit_test(who_had_the_entries_loses_its_disk),
		cmocka_unit_test(who_had_the_entries_is_put_back),
		cmocka_unit_test(an_image_has_what_nobody_else_has),
		cmocka_unit_test(who_is_late_fills_up_the_view),
		cmocka_unit_test(who_has_to_undo_fills_up_the_view),
		cmocka_unit_test(a_member_that_is_not_ready_asks_who_is_back),
		cmocka_unit_test(who_gives_a_copy_loses_its_disk),
		cmocka_unit_test(who_has_half_a_copy_accepts_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
