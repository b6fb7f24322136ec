/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Amnesia (log 8.6): a server with an empty disk counts for nothing until the others took it back; when that needs nobody, when it needs
 * an administrator, and when it has to wait.
 */
#include <stdio.h>
#include <string.h>

#include "scenario/ends.h"

#include "lib/unit.h"

#define TREE "d/ d/f d/g e/ e/f"

static struct net *net_memory(enum nfs4r_durability durability)
{
	struct net *n = ends_net(3, TREE, durability);

	return n;
}

static bool all_remember(struct net *n)
{
	for (nfs4r_server_id s = 1; s <= n->n; s++)
		if (!n->s[s].up || view_of(n, s).adopted.members != n->cfg.servers || view_of(n, s).memory != NFS4R_MEMORY_KNOWN || !serves(n, s))
			return false;
	return true;
}

static bool until_all_remember(struct net *n, uint64_t ms)
{
	uint64_t until = n->now + ms;

	while (!all_remember(n) && n->now < until)
		net_run(n, 10);
	return all_remember(n);
}

/* It is a whole server again: what was there is there, what it makes has names and numbers that nobody had before. */
static void works(struct net *n, nfs4r_server_id s)
{
	assert_int_equal(finish(n, chmod_(n, s, "d/g")), NFS4R_OK);
	assert_int_equal(finish(n, create(n, s, "e", "after")), NFS4R_OK);
	net_quiet(n);
}

static void comes_back_under_commit(void **state)
{
	struct net *n = net_memory(NFS4R_DURABILITY_COMMIT);

	do_chmod(n, S, "d/f");
	assert_int_equal(finish(n, create(n, S, "e", "before")), NFS4R_OK);
	empty_disk(n, S);
	net_run(n, LEASE / 2);
	assert_int_equal(view_of(n, S).memory, NFS4R_MEMORY_FORGOT);
	assert_int_equal(view_of(n, P).peer[S].memory, NFS4R_MEMORY_FORGOT);
	assert_false(serves(n, S));
	assert_true(until_all_remember(n, 10 * LEASE));
	assert_int_equal(n->s[S].repairs, 1);
	works(n, S);
	net_free(n);
}

/* With `local` nobody knows of any control of it, so nothing can be lost. */
static void comes_back_under_local_without_claims(void **state)
{
	struct net *n = net_memory(NFS4R_DURABILITY_LOCAL);

	do_chmod(n, S, "d/f");
	net_quiet(n);
	empty_disk(n, S);
	assert_true(until_all_remember(n, 10 * LEASE));
	works(n, S);
	net_free(n);
}

/* What it controlled it may have updated: an administrator has to say that this is lost. */
static void waits_under_local_with_claims(void **state)
{
	struct net *n = net_memory(NFS4R_DURABILITY_LOCAL);
	uint64_t lost;
	char why[100];

	n->s[P].no_checkpoint = true;
	do_chmod(n, S, "d/f");
	empty_disk(n, S);
	assert_false(until_all_remember(n, 20 * LEASE));
	assert_int_equal(view_of(n, P).adopted.members, NFS4R_BIT(P) | NFS4R_BIT(Q));
	assert_true(view_of(n, P).adopted.open & NFS4R_BIT(S));
	assert_int_equal(n->s[S].repairs, 0);
	assert_int_equal(finish(n, chmod_(n, P, "d/f")), NFS4R_DELAY);
	assert_int_equal(nfs4r_core_may_abandon(n->s[P].core, S, &lost, why, sizeof(why)), NFS4R_OK);
	net_give_up(n, P, S);
	n->s[P].no_checkpoint = false;
	assert_true(until_all_remember(n, 10 * LEASE));
	works(n, S);
	net_free(n);
}

/* The time after which a server that is outside is given up goes on, though this one can be heard. */
static void given_up_by_itself_after_a_time(void **state)
{
	struct net *n = net_memory(NFS4R_DURABILITY_LOCAL);

	n->cfg.abandon_ms = 5 * LEASE;
	net_retune(n);
	net_run(n, 2 * LEASE);
	n->s[P].no_checkpoint = true;
	do_chmod(n, S, "d/f");
	empty_disk(n, S);
	assert_false(until_all_remember(n, 4 * LEASE));
	n->s[P].no_checkpoint = false;
	assert_true(until_all_remember(n, 10 * LEASE));
	net_quiet(n);
	net_free(n);
}

/* An image of an earlier start: the others have heard of a later one. */
static void an_older_image_is_no_memory(void **state)
{
	struct net *n = net_memory(NFS4R_DURABILITY_COMMIT);
	struct memtree *image = memtree_clone(n->s[S].tree);
	uint64_t inc = n->s[S].inc;

	net_crash(n, S);
	net_restart(n, S, true);
	net_run(n, LEASE);
	do_chmod(n, S, "d/f");
	net_crash(n, S);
	net_lose_disk(n, S, image, inc);
	net_restart(n, S, true);
	net_run(n, LEASE / 2);
	assert_int_equal(view_of(n, S).memory, NFS4R_MEMORY_FORGOT);
	assert_true(until_all_remember(n, 10 * LEASE));
	works(n, S);
	net_free(n);
}

/* S goes on in its newest start, the others hear of it, and its disk is put back to what it was before that. */
static void put_back(struct net *n, nfs4r_server_id s)
{
	struct memtree *image = memtree_clone(n->s[s].tree);
	uint64_t inc = n->s[s].inc;

	do_chmod(n, s, "d/f");
	net_run(n, 2 * LEASE);
	net_crash(n, s);
	net_lose_disk(n, s, image, inc);
}

/* An image of the newest start: nobody heard of a later one, but all of more of its journal. */
static void an_image_of_the_same_start_is_no_memory(void **state)
{
	struct net *n = net_memory(NFS4R_DURABILITY_COMMIT);

	put_back(n, S);
	net_restart(n, S, true);
	net_run(n, LEASE / 2);
	assert_int_equal(view_of(n, S).memory, NFS4R_MEMORY_FORGOT);
	assert_false(serves(n, S));
	assert_true(until_all_remember(n, 10 * LEASE));
	assert_int_equal(n->s[S].repairs, 1);
	works(n, S);
	net_free(n);
}

/* It is on the others' disks, too, and still so when S has begun several times, and written more than it lost, before it hears anybody. */
static void an_image_of_the_same_start_is_told_late(void **state)
{
	struct net *n = net_memory(NFS4R_DURABILITY_COMMIT);
	uint64_t had = memtree_written(n->s[S].tree) + 100;

	put_back(n, S);
	net_drop(n, 0, S, 0);
	for (nfs4r_server_id s = P; s <= Q; s++) {
		net_crash(n, s);
		net_restart(n, s, true);
	}
	while (memtree_written(n->s[S].tree) < had) {
		struct nfs4r_put row = { .key_len = 3, .key = { 'F', 0, P }, .val_len = 8 };

		net_restart(n, S, true);
		for (int i = 0; i < 40; i++)
			memtree_put(n->s[S].tree, &row);
		net_crash(n, S);
	}
	net_restart(n, S, true);
	net_run(n, LEASE / 2);
	assert_int_not_equal(view_of(n, S).memory, NFS4R_MEMORY_FORGOT);
	assert_false(serves(n, S));
	net_pass(n);
	net_run(n, LEASE / 2);
	assert_int_equal(view_of(n, S).memory, NFS4R_MEMORY_FORGOT);
	assert_true(until_all_remember(n, 10 * LEASE));
	works(n, S);
	net_free(n);
}

/* What a loss of power takes was not on the disk, and nobody was told of it. */
static void what_nobody_heard_of_is_not_forgotten(void **state)
{
	struct net *n = net_memory(NFS4R_DURABILITY_COMMIT);
	struct memtree *rest;
	uint64_t inc = n->s[S].inc;

	do_chmod(n, S, "d/g");
	net_run(n, LEASE);
	net_drop(n, S, 0, NFS4R_MSG_HEARTBEAT);
	rest = memtree_clone(n->s[S].tree);
	do_chmod(n, P, "d/f");
	assert_true(memtree_written(n->s[S].tree) > memtree_written(rest));
	net_crash(n, S);
	net_lose_disk(n, S, rest, inc);
	net_pass(n);
	net_restart(n, S, false);
	net_run(n, LEASE / 2);
	assert_int_equal(view_of(n, S).memory, NFS4R_MEMORY_KNOWN);
	assert_true(until_all_remember(n, 4 * LEASE));
	assert_int_equal(n->s[S].repairs, 0);
	works(n, S);
	net_free(n);
}

/* Its tail is lost, nobody has more of its log, and all say so before they can say that its store is not the one they know. */
static void an_image_is_not_recovered_before_it_is_judged(void **state)
{
	struct net *n = net_memory(NFS4R_DURABILITY_LOCAL);
	uint32_t before;

	net_drop(n, S, 0, NFS4R_MSG_ENTRIES);
	put_back(n, S);
	net_pass(n);
	before = n->s[S].recovered;
	net_hold(n, 0, S, NFS4R_MSG_HEARTBEAT);
	net_restart(n, S, false);
	net_run(n, SILENCE / 2);
	assert_int_equal(n->s[S].recovered, before);
	net_pass(n);
	net_run(n, LEASE / 2);
	assert_int_equal(view_of(n, S).memory, NFS4R_MEMORY_FORGOT);
	assert_int_equal(n->s[S].recovered, before);
	net_free(n);
}

/* Positions are told and kept. That moves them, and nobody writes for that alone. */
static void nobody_writes_for_ever(void **state)
{
	struct net *n = net_memory(NFS4R_DURABILITY_COMMIT);
	uint64_t written[NET_MAX + 1];

	do_chmod(n, S, "d/f");
	net_quiet(n);
	net_run(n, 15000);
	for (nfs4r_server_id s = P; s <= S; s++)
		written[s] = memtree_written(n->s[s].tree);
	net_run(n, 60000);
	for (nfs4r_server_id s = P; s <= S; s++)
		assert_int_equal(memtree_written(n->s[s].tree), written[s]);
	net_free(n);
}

/* N = 3, one without its memory and one down: nobody may go on. It is said, and ends when that one is back. */
static void one_forgot_and_one_is_down(void **state)
{
	struct net *n = net_memory(NFS4R_DURABILITY_COMMIT);
	uint32_t said;

	do_chmod(n, S, "d/f");
	said = n->s[P].stuck;
	net_crash(n, Q);
	empty_disk(n, S);
	net_run(n, 10 * LEASE);
	assert_false(serves(n, P));
	assert_false(serves(n, S));
	assert_int_equal(view_of(n, P).adopted.num, 0);
	assert_true(n->s[P].stuck > said);
	assert_int_equal(finish(n, chmod_(n, P, "d/f")), NFS4R_DELAY);
	net_restart(n, Q, true);
	assert_true(until_all_remember(n, 20 * LEASE));
	works(n, S);
	net_free(n);
}

/* A first start: all empty. It waits for the last one, says so, and goes on at once when that comes. */
static void a_first_start_waits_for_all(void **state)
{
	struct net *n = net_new(3);

	n->cfg.lease_ms = LEASE;
	n->cfg.silence_ms = SILENCE;
	for (nfs4r_server_id s = P; s <= S; s++)
		net_crash(n, s);
	net_lose_disk(n, P, NULL, 0);
	net_lose_disk(n, Q, NULL, 0);
	net_lose_disk(n, S, NULL, 0);
	net_restart(n, P, true);
	net_restart(n, S, true);
	net_run(n, 5 * SILENCE);
	assert_int_equal(view_of(n, P).memory, NFS4R_MEMORY_NEW);
	assert_int_equal(view_of(n, P).unheard, NFS4R_BIT(Q));
	assert_int_equal(n->s[P].stuck, 1);
	assert_false(serves(n, P));
	net_restart(n, Q, true);
	assert_true(until_all_remember(n, LEASE));
	assert_int_equal(finish(n, create(n, S, "", "x")), NFS4R_OK);
	net_quiet(n);
	net_free(n);
}

/* The other two may go down and come back meanwhile: it starts again where it was. */
static void restarts_on_the_way_back(void **state)
{
	struct net *n = net_memory(NFS4R_DURABILITY_COMMIT);

	do_chmod(n, S, "d/f");
	n->s[S].hold_repair = true;
	empty_disk(n, S);
	net_run(n, 4 * LEASE);
	assert_non_null(n->s[S].repair);
	net_crash(n, S);
	net_restart(n, S, true);
	net_run(n, LEASE);
	assert_int_equal(view_of(n, S).memory, NFS4R_MEMORY_FORGOT);
	assert_non_null(n->s[S].repair);
	net_let_repair(n, S, true);
	net_crash(n, S);
	net_restart(n, S, true);
	assert_true(until_all_remember(n, 10 * LEASE));
	works(n, S);
	net_free(n);
}

/*
 * S has to undo its last update, and hears only P, which loses its disk and comes back within the silence time: under the number of its last start, so
 * nothing but its heartbeat tells S that it is not the P whose copy it wanted.
 */
static void who_comes_back_is_no_source_before_it_was_heard(void **state)
{
	struct net *n = net_new(3);
	uint64_t inc;

	ends_begin(n, "d/ d/f d/g", NFS4R_DURABILITY_COMMIT);
	inc = n->s[P].inc;
	lonely_update(n, 200);
	net_crash(n, S);
	net_pass(n);
	assert_true(until_sealed(n, P, S, 8 * LEASE));
	net_drop(n, Q, S, 0);
	net_drop(n, S, Q, 0);
	n->s[S].hold_repair = true;
	net_restart(n, S, true);
	for (int i = 0; i < 2000 && !n->s[S].repair; i++)
		net_run(n, 10);
	assert_int_equal(n->s[S].repair->from, P);
	net_crash(n, P);
	net_let_repair(n, S, false);
	net_lose_disk(n, P, NULL, 0);
	n->s[P].inc = inc - 1;
	net_hold(n, P, S, NFS4R_MSG_HEARTBEAT);
	net_restart(n, P, true);
	net_run(n, SILENCE - 100);
	assert_null(n->s[S].repair);
	net_pass(n);
	n->s[S].hold_repair = false;
	ends_well(n);
}

/*
 * S is outside, and far from the end of P's log, of which Q has no more than S. P is gone for good; or an image of its disk is put back, and P gives nothing of its own
 * log before that has ended. S has what can be had: it is added for P.
 */
static void what_only_its_owner_has_keeps_nobody_outside(void **state)
{
	for (int image = 0; image < 2; image++) {
		struct net *n = net_memory(NFS4R_DURABILITY_COMMIT);
		uint64_t inc = n->s[P].inc;
		struct memtree *disk;

		net_crash(n, S);
		assert_true(until_removed(n, P, S, 8 * LEASE));
		net_drop(n, P, 0, NFS4R_MSG_ENTRIES);
		for (int i = 0; i < 1100; i++) {
			chmod_(n, P, "d/f");
			net_run(n, 1);
		}
		net_restart(n, S, true);
		net_run(n, LEASE);
		disk = memtree_clone(n->s[P].tree);
		assert_true(memtree_applied(disk, P) > memtree_applied(n->s[Q].tree, P) + 1024);
		assert_int_equal(view_of(n, Q).adopted.members, NFS4R_BIT(P) | NFS4R_BIT(Q));
		chmod_(n, P, "d/f");
		net_run(n, LEASE);
		net_crash(n, P);
		net_lose_disk(n, P, disk, inc);
		if (image)
			net_restart(n, P, true);
		net_pass(n);
		assert_true(until_removed(n, Q, P, 20 * LEASE));
		assert_int_equal(keep_trying_chmod(n, S, "d/f", 4 * LEASE), NFS4R_OK);
		if (!image)
			net_restart(n, P, true);
		assert_true(until_back(n));
		assert_true(all_equal(n));
		net_free(n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back_under_commit),
		cmocka_unit_test(comes_back_under_local_without_claims),
		cmocka_unit_test(waits_under_local_with_claims),
		cmocka_unit_test(given_up_by_itself_after_a_time),
		cmocka_unit_test(an_older_image_is_no_memory),
		cmocka_unit_test(an_image_of_the_same_start_is_no_memory),
		cmocka_unit_test(an_image_of_the_same_start_is_told_late),
		cmocka_unit_test(what_nobody_heard_of_is_not_forgotten),
		cmocka_unit_test(an_image_is_not_recovered_before_it_is_judged),
		cmocka_unit_test(what_only_its_owner_has_keeps_nobody_outside),
		cmocka_unit_test(nobody_writes_for_ever),
		cmocka_unit_test(one_forgot_and_one_is_down),
		cmocka_unit_test(a_first_start_waits_for_all),
		cmocka_unit_test(restarts_on_the_way_back),
		cmocka_unit_test(who_comes_back_is_no_source_before_it_was_heard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
