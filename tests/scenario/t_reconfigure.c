/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A majority is lost for good, and an administrator says who goes on (log 9.3): one survivor, two of five, two of three; what was said at one of them before,
 * who dies on the way, who comes back later.
 */
#include <stdio.h>
#include <string.h>

#include "scenario/ends.h"

#include "lib/unit.h"

#define TREE "d/ d/f d/g e/ e/f"
#define T 4
#define U 5
#define SET(a, b) (NFS4R_BIT(a) | NFS4R_BIT(b))

static void say(struct net *n, nfs4r_server_id s, nfs4r_servers set)
{
	assert_true(net_reconfigure(n, s, set));
	assert_int_equal(view_of(n, s).reconf_set, set);
	assert_false(serves(n, s));
}

static void die(struct net *n, nfs4r_servers set)
{
	for (nfs4r_server_id s = 1; s <= n->n; s++)
		if (set & NFS4R_BIT(s))
			net_crash(n, s);
	net_run(n, 2 * LEASE);
}

/* Two of three are lost; the third goes on, another one is added, and an old one comes back with its store. */
static void one_goes_on_alone(enum nfs4r_durability durability)
{
	struct net *n = ends_net(3, TREE, durability);
	struct nfs4r_oid d = at(n, "d"), x;
	nfs4r_server_id e;

	do_chmod(n, P, "d/f");
	do_create(n, Q, "d", "last");
	die(n, SET(P, Q));
	assert_int_equal(finish(n, chmod_(n, S, "d/g")), NFS4R_DELAY);
	assert_false(net_reconfigure(n, S, SET(P, Q)));
	say(n, S, NFS4R_BIT(S));
	assert_true(until_all_are(n, NFS4R_BIT(S)));
	assert_int_equal(NFS4R_RECONF(view_of(n, S).adopted.num), 1);
	assert_true(memtree_lookup(n->s[S].tree, &d, "last", &x));
	assert_int_equal(finish(n, chmod_(n, S, "d/f")), NFS4R_OK);
	for (int intact = 0; intact < 2; intact++) {
		net_crash(n, S);
		net_restart(n, S, intact);
		net_run(n, 2 * LEASE);
		assert_true(are_all(n, NFS4R_BIT(S)));
		assert_int_equal(finish(n, chmod_(n, S, "d/f")), NFS4R_OK);
	}
	e = net_new_server(n);
	assert_true(net_add(n, S, e));
	assert_true(until_all_are(n, SET(S, e)));
	assert_int_equal(finish(n, create(n, e, "e", "new")), NFS4R_OK);
	expect_equal(n, S, e);
	net_restart(n, P, true);
	net_run(n, 3 * LEASE);
	assert_true(view_of(n, P).taken_out);
	assert_false(serves(n, P));
	assert_int_equal(finish(n, chmod_(n, P, "d/g")), NFS4R_DELAY);
	assert_true(are_all(n, SET(S, e)));
	assert_true(net_add(n, S, P)); /* its old store does not count */
	assert_true(until_all_are(n, SET(S, e) | NFS4R_BIT(P)));
	expect_equal(n, S, P);
	net_free(n);
}

static void one_of_three_goes_on(void **state)
{
	one_goes_on_alone(NFS4R_DURABILITY_LOCAL);
	one_goes_on_alone(NFS4R_DURABILITY_COMMIT);
	one_goes_on_alone(NFS4R_DURABILITY_MAJORITY);
}

/* What only one of the two survivors has of a lost server's log is there afterwards, and so is what they did themselves. */
static void two_of_five_go_on(void **state)
{
	struct net *n = ends_net(5, TREE, NFS4R_DURABILITY_LOCAL);
	struct nfs4r_oid d = at(n, "d"), x;

	do_create(n, T, "e", "of_t");
	do_chmod(n, P, "d"); /* P has control of d */
	net_drop(n, P, Q, NFS4R_MSG_ENTRIES);
	net_drop(n, P, T, NFS4R_MSG_ENTRIES);
	net_drop(n, P, S, NFS4R_MSG_ENTRIES);
	create(n, P, "d", "late");
	net_run(n, 300);
	assert_true(memtree_lookup(n->s[U].tree, &d, "late", &x) && !memtree_lookup(n->s[T].tree, &d, "late", &x));
	die(n, NFS4R_BIT(P) | SET(Q, S));
	net_pass(n);
	say(n, U, SET(T, U));
	net_run(n, 4 * LEASE);
	assert_int_equal(NFS4R_RECONF(view_of(n, U).adopted.num), 0); /* T was not told */
	assert_true(view_of(n, U).waits[0]);
	say(n, T, SET(T, U));
	assert_true(until_all_are(n, SET(T, U)));
	expect_equal(n, T, U);
	assert_true(memtree_lookup(n->s[T].tree, &d, "late", &x));
	assert_int_equal(keep_trying_chmod(n, T, "d/f", 5 * LEASE), NFS4R_OK);
	assert_int_equal(keep_trying_chmod(n, U, "d/f", 5 * LEASE), NFS4R_OK);
	expect_equal(n, T, U);
	net_free(n);
}

/* Two administrators: nothing happens before they agree. Said again it counts. */
static void different_sets_do_nothing(void **state)
{
	struct net *n = ends_net(5, TREE, NFS4R_DURABILITY_COMMIT);

	die(n, NFS4R_BIT(P) | SET(Q, S));
	cut_off(n, U);
	net_run(n, 2 * LEASE);
	say(n, T, NFS4R_BIT(T));
	say(n, U, SET(T, U));
	net_pass(n);
	net_run(n, 10 * LEASE);
	for (nfs4r_server_id s = T; s <= U; s++) {
		assert_int_equal(NFS4R_RECONF(view_of(n, s).adopted.num), 0);
		assert_int_equal(view_of(n, s).peer[T + U - s].reconf_set, s == T ? SET(T, U) : NFS4R_BIT(T));
		assert_non_null(strstr(view_of(n, s).waits, "the same order"));
		assert_true(n->s[s].stuck > 0);
	}
	say(n, T, SET(T, U));
	assert_true(until_all_are(n, SET(T, U)));
	net_free(n);
}

/* A restart does not make it forget; and before anything was promised the word can be taken back. */
static void the_word_is_kept_and_taken_back(void **state)
{
	struct net *n = ends_net(5, TREE, NFS4R_DURABILITY_COMMIT);

	die(n, NFS4R_BIT(P) | SET(Q, S));
	say(n, T, SET(T, U));
	net_crash(n, T);
	net_restart(n, T, true);
	assert_int_equal(view_of(n, T).reconf_set, SET(T, U));
	net_restart(n, P, true);
	net_run(n, 5 * LEASE);
	assert_false(serves(n, P) || serves(n, T)); /* P, T and U are three, but T grants P nothing */
	assert_true(net_reconfigure(n, T, 0));
	assert_false(net_reconfigure(n, T, 0));
	for (int i = 0; i < 1000 && !(serves(n, U) && serves(n, P)); i++)
		net_run(n, 10);
	assert_true(serves(n, P) && serves(n, T) && serves(n, U));
	net_free(n);
}

/* A survivor dies on the way: the other one is told to go on alone, after it has accepted a view of both, too. */
static void a_survivor_dies_on_the_way(void **state)
{
	for (int accepted = 0; accepted < 2; accepted++) {
		struct net *n = ends_net(5, TREE, NFS4R_DURABILITY_COMMIT);

		die(n, NFS4R_BIT(P) | SET(Q, S));
		net_drop(n, U, T, accepted ? NFS4R_MSG_ACCEPTED : NFS4R_MSG_PROMISE);
		say(n, T, SET(T, U));
		say(n, U, SET(T, U));
		net_run(n, 8 * LEASE);
		assert_int_equal(NFS4R_RECONF(view_of(n, U).accepted.num), accepted);
		die(n, NFS4R_BIT(T));
		net_pass(n);
		say(n, U, NFS4R_BIT(U));
		assert_true(until_all_are(n, NFS4R_BIT(U)));
		assert_int_equal(NFS4R_RECONF(view_of(n, U).adopted.num), 1 + accepted);
		assert_int_equal(finish(n, chmod_(n, U, "d/f")), NFS4R_OK);
		net_restart(n, T, true);
		net_run(n, 5 * LEASE);
		assert_true(view_of(n, T).taken_out);
		net_free(n);
	}
}

/* Its machine lost power, and it knows nobody who could have the tail of its log but those who are lost. */
static void after_a_crash_of_the_machine(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_COMMIT);

	do_chmod(n, S, "d/f");
	die(n, NFS4R_BIT(P) | SET(Q, S));
	net_restart(n, S, false);
	net_run(n, 4 * LEASE);
	say(n, S, NFS4R_BIT(S));
	assert_true(until_all_are(n, NFS4R_BIT(S)));
	assert_int_equal(finish(n, chmod_(n, S, "d/f")), NFS4R_OK);
	net_free(n);
}

/* S was outside, and never got all that it needs to undo what it alone had: it goes on with that. */
static void an_incomplete_copy_is_taken_as_it_is(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_COMMIT);
	uint64_t epoch;

	assert_true(lonely_update_is_lost(n));
	n->s[S].hold_repair = true;
	net_restart(n, S, true);
	for (int i = 0; i < 500 && !n->s[S].repair; i++)
		net_run(n, 10);
	assert_non_null(n->s[S].repair);
	epoch = view_of(n, S).adopted.epoch;
	die(n, SET(P, Q));
	say(n, S, NFS4R_BIT(S));
	net_run(n, 5 * LEASE);
	n->s[S].hold_repair = false;
	net_let_repair(n, S, false);
	assert_true(until_all_are(n, NFS4R_BIT(S)));
	assert_true(view_of(n, S).adopted.epoch > epoch);
	assert_int_equal(finish(n, chmod_(n, S, "d/f")), NFS4R_OK);
	assert_int_equal(finish(n, chmod_(n, S, "d/g")), NFS4R_OK);
	net_free(n);
}

static void what_is_refused(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_LOCAL);

	assert_false(net_reconfigure(n, P, NFS4R_BIT(P))); /* all is well */
	assert_false(net_reconfigure(n, P, 0));
	cut_off(n, S);
	net_run(n, 3 * LEASE);
	assert_false(net_reconfigure(n, S, NFS4R_BIT(S) | NFS4R_BIT(6)));
	net_pass(n);
	net_run(n, 200);
	die(n, NFS4R_BIT(P));
	n->cfg.silence_ms = 2 * SILENCE;
	net_crash(n, Q);
	net_run(n, 3 * LEASE);
	net_restart(n, Q, true);
	net_run(n, 50);
	assert_false(net_reconfigure(n, S, NFS4R_BIT(S))); /* Q can be heard */
	net_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_three_goes_on),
		cmocka_unit_test(two_of_five_go_on),
		cmocka_unit_test(different_sets_do_nothing),
		cmocka_unit_test(the_word_is_kept_and_taken_back),
		cmocka_unit_test(a_survivor_dies_on_the_way),
		cmocka_unit_test(after_a_crash_of_the_machine),
		cmocka_unit_test(an_incomplete_copy_is_taken_as_it_is),
		cmocka_unit_test(what_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
