/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Servers that are added and taken out while clients work (log 9.1), also when somebody dies or starts anew in the middle; and what is refused.
 */
#include <stdio.h>
#include <string.h>

#include "scenario/ends.h"

#include "lib/unit.h"

#define TREE "d/ d/f d/g e/ e/f"
#define SET3 (NFS4R_BIT(1) | NFS4R_BIT(2) | NFS4R_BIT(3))

static void add_a_server(enum nfs4r_durability durability)
{
	struct net *n = ends_net(3, TREE, durability);
	nfs4r_server_id e = net_new_server(n);
	struct nfs4r_core_view v;

	do_chmod(n, P, "d/f");
	net_run(n, 2 * LEASE);
	assert_false(serves(n, e));
	assert_true(net_add(n, Q, e));
	assert_true(until_all_are(n, SET3 | NFS4R_BIT(e)));
	v = view_of(n, e);
	assert_int_equal(v.memory, NFS4R_MEMORY_KNOWN);
	assert_false(v.learner || v.taken_out);
	assert_int_equal(v.adopted.nbook, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(v.adopted.addresses[i].id, i + 1);
		assert_int_equal(v.adopted.addresses[i].port, 1001 + i);
	}
	assert_string_equal(v.adopted.addresses[3].address, "host4");
	assert_true(n->s[e].servers_said && n->s[P].servers_said);
	assert_int_equal(finish(n, chmod_(n, e, "d/g")), NFS4R_OK);
	assert_int_equal(finish(n, create(n, e, "e", "new")), NFS4R_OK);
	net_quiet(n);
	net_free(n);
}

static void a_server_is_added(void **state)
{
	add_a_server(NFS4R_DURABILITY_LOCAL);
	add_a_server(NFS4R_DURABILITY_COMMIT);
}

/* 5 has a new disk and has copied everything, and each member wants to take somebody out: by a view that ends a log nobody comes back who forgot. */
static void who_forgot_comes_back_after_who_goes(void **state)
{
	struct net *n = ends_net(5, TREE, NFS4R_DURABILITY_COMMIT);

	empty_disk(n, 5);
	assert_true(until_removed(n, P, 5, 10 * LEASE));
	net_drop(n, 0, 0, NFS4R_MSG_PREPARE);
	net_run(n, 4 * LEASE);
	assert_int_equal(n->s[5].repairs, 1);
	for (nfs4r_server_id s = P; s <= S; s++)
		assert_true(net_take_out(n, s, 4, false));
	assert_true(net_take_out(n, 4, S, false));
	net_pass(n);
	assert_true(until_all_are(n, SET3 | NFS4R_BIT(5)));
	assert_int_equal(view_of(n, 5).memory, NFS4R_MEMORY_KNOWN);
	expect_equal(n, P, 5);
	net_free(n);
}

/* Its silence holds up nobody. It dies before it has copied anything, and comes back. */
static void a_learner_that_is_down_holds_up_nobody(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_COMMIT);
	nfs4r_server_id e = net_new_server(n);

	n->s[e].hold_repair = true;
	assert_true(net_add(n, P, e));
	for (int i = 0; i < 1000 && !n->s[e].repair; i++)
		net_run(n, 10);
	assert_true(view_of(n, e).learner);
	net_crash(n, e);
	net_run(n, 4 * LEASE);
	assert_int_equal(view_of(n, P).adopted.members, SET3);
	assert_int_equal(view_of(n, P).adopted.voters, SET3);
	assert_int_equal(finish(n, chmod_(n, S, "d/f")), NFS4R_OK);
	n->s[e].hold_repair = false;
	net_restart(n, e, true);
	assert_true(until_all_are(n, SET3 | NFS4R_BIT(e)));
	net_quiet(n);
	net_free(n);
}

/* All machines stop as soon as one goes by the view that makes it a voter. */
static void all_stop_when_it_becomes_a_voter(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_COMMIT);
	nfs4r_server_id e = net_new_server(n);

	assert_true(net_add(n, P, e));
	for (int i = 0; i < 20000 && !(view_of(n, P).adopted.voters & NFS4R_BIT(e)); i++)
		net_run(n, 1);
	for (nfs4r_server_id s = 1; s <= 4; s++)
		net_crash(n, s);
	net_run(n, LEASE);
	for (nfs4r_server_id s = 1; s <= 4; s++)
		net_restart(n, s, true);
	assert_true(until_all_are(n, SET3 | NFS4R_BIT(e)));
	assert_int_equal(view_of(n, S).adopted.nbook, 4);
	assert_int_equal(view_of(n, e).adopted.nbook, 4);
	net_quiet(n);
	net_free(n);
}

static void take_out_a_server(enum nfs4r_durability durability)
{
	struct net *n = ends_net(3, TREE, durability);

	do_chmod(n, S, "d/f");
	net_run(n, 4 * LEASE);
	assert_true(net_take_out(n, P, S, false));
	assert_true(until_all_are(n, NFS4R_BIT(P) | NFS4R_BIT(Q)));
	net_run(n, LEASE);
	assert_true(view_of(n, S).taken_out);
	assert_false(serves(n, S));
	assert_int_equal(finish(n, chmod_(n, S, "d/g")), NFS4R_DELAY);
	assert_int_equal(finish(n, chmod_(n, Q, "d/g")), NFS4R_OK);
	expect_equal(n, P, Q);
	net_free(n);
}

static void a_server_is_taken_out(void **state)
{
	take_out_a_server(NFS4R_DURABILITY_LOCAL);
	take_out_a_server(NFS4R_DURABILITY_COMMIT);
}

/* The member that comes last in the order of those that propose (log 6.8) is asked: what it does about it is done before who goes is added again. */
static void the_last_one_is_asked(void **state)
{
	struct net *n = ends_net(5, TREE, NFS4R_DURABILITY_LOCAL);

	do_chmod(n, 5, "d/f");
	net_run(n, 4 * LEASE);
	assert_true(net_take_out(n, 4, 5, false));
	assert_true(until_all_are(n, SET3 | NFS4R_BIT(4)));
	net_run(n, LEASE);
	assert_true(view_of(n, 5).taken_out);
	expect_equal(n, P, 4);
	net_free(n);
}

/* Dead for good: it is removed by itself, taken out, and another takes its place. */
static void a_dead_server_is_replaced(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_COMMIT);
	nfs4r_server_id e = net_new_server(n);

	net_crash(n, S);
	assert_true(until_removed(n, P, S, 10 * LEASE));
	assert_true(net_take_out(n, P, S, false));
	assert_true(until_all_are(n, NFS4R_BIT(P) | NFS4R_BIT(Q)));
	assert_true(net_add(n, Q, e));
	assert_true(until_all_are(n, NFS4R_BIT(P) | NFS4R_BIT(Q) | NFS4R_BIT(e)));
	assert_int_equal(finish(n, chmod_(n, e, "d/g")), NFS4R_OK);
	expect_equal(n, P, e);
	net_restart(n, S, true);
	net_run(n, 4 * LEASE);
	assert_true(view_of(n, S).taken_out);
	assert_int_equal(view_of(n, S).memory, NFS4R_MEMORY_FORGOT);
	assert_true(are_all(n, NFS4R_BIT(P) | NFS4R_BIT(Q) | NFS4R_BIT(e)));
	net_free(n);
}

/* With its old store, and with an empty one. */
static void one_that_was_taken_out_comes_back(void **state)
{
	for (int empty = 0; empty < 2; empty++) {
		struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_COMMIT);
		struct client *c;

		do_chmod(n, S, "d/f");
		net_run(n, 4 * LEASE);
		assert_true(net_take_out(n, P, S, false));
		assert_true(until_all_are(n, NFS4R_BIT(P) | NFS4R_BIT(Q)));
		do_chmod(n, P, "d/f");
		do_chmod(n, Q, "d/f");
		net_run(n, 4 * LEASE); /* nobody keeps these for it */
		if (empty)
			empty_disk(n, S);
		net_run(n, LEASE);
		assert_true(net_add(n, Q, S));
		assert_true(until_all_are(n, SET3));
		c = create(n, S, "e", "again");
		assert_int_equal(finish(n, c), NFS4R_OK);
		assert_true(NFS4R_GEN(nfs4r_core_own_end(n->s[S].core)) > 0);
		net_quiet(n);
		net_free(n);
	}
}

static bool learns(struct net *n, nfs4r_server_id at, nfs4r_server_id s)
{
	const struct nfs4r_view v = view_of(n, at).adopted;

	return v.servers & ~v.voters & NFS4R_BIT(s);
}

/* Neither P nor S hears of a view any more, and P not how far S is. */
static void taken_out_and_added_behind_their_backs(struct net *n)
{
	for (nfs4r_server_id s = P; s <= S; s += S - P) {
		net_drop(n, 0, s, NFS4R_MSG_VIEW);
		net_drop(n, 0, s, NFS4R_MSG_ACCEPT);
	}
	net_hold(n, S, P, NFS4R_MSG_POSITIONS);
	assert_true(net_take_out(n, Q, S, false));
	for (int i = 0; i < 10000 && (view_of(n, Q).adopted.servers & NFS4R_BIT(S)); i++)
		net_run(n, 1);
	assert_true(net_add(n, Q, S));
	for (int i = 0; i < 10000 && !learns(n, Q, S); i++)
		net_run(n, 1);
	assert_true(learns(n, Q, S) && (view_of(n, P).adopted.voters & NFS4R_BIT(S)) && !view_of(n, S).learner);
	for (nfs4r_server_id s = P; s <= S; s += S - P) {
		net_pass_from(n, 0, s, NFS4R_MSG_VIEW);
		net_pass_from(n, 0, s, NFS4R_MSG_ACCEPT);
	}
}

/*
 * P hears of no view until S was taken out and added again, nor does S. What S told P before it knew that, and what of that comes later, was of a copy that goes: P must
 * not count on it.
 */
static void what_a_learner_told_before_counts_no_more(void **state)
{
	struct net *n = ends_net(5, TREE, NFS4R_DURABILITY_COMMIT);
	struct nfs4r_core_peer p;

	do_chmod(n, P, "d/f");
	net_run(n, LEASE);
	assert_true(nfs4r_core_get_peer(n->s[P].core, S, &p) && p.applied);
	taken_out_and_added_behind_their_backs(n);
	n->s[S].hold_repair = true;
	for (int i = 0; i < 10000 && !(learns(n, P, S) && view_of(n, S).learner); i++)
		net_run(n, 1);
	net_run(n, LEASE / 2);
	net_pass(n); /* what it told before, and since */
	for (int i = 0; i < 10 * LEASE && learns(n, P, S); i++) {
		assert_true(nfs4r_core_get_peer(n->s[P].core, S, &p));
		assert_true(!p.applied && !p.stable);
		net_run(n, 1);
	}
	n->s[S].hold_repair = false;
	if (n->s[S].repair)
		net_let_repair(n, S, true);
	assert_true(until_all_are(n, n->cfg.servers));
	net_quiet(n);
	net_free(n);
}

static void what_is_refused(void **state)
{
	struct net *n = ends_net(2, TREE, NFS4R_DURABILITY_LOCAL), *m;

	assert_false(net_take_out(n, P, Q, true)); /* one is no majority of two */
	assert_false(net_take_out(n, P, P, true));
	assert_false(net_take_out(n, P, 7, true));
	assert_false(net_add(n, P, Q));
	net_free(n);
	m = ends_net(3, TREE, NFS4R_DURABILITY_LOCAL);
	do_chmod(m, S, "d/f");
	assert_int_equal(finish(m, chmod_(m, S, "d/f")), NFS4R_OK);
	assert_false(net_take_out(m, P, S, false)); /* it controls something */
	net_run(m, 6 * LEASE);
	assert_true(net_take_out(m, P, S, false));
	assert_false(net_add(m, P, 4)); /* one at a time */
	net_free(m);
}

/* With `local`, it is down and has what nobody else has: only with that word. */
static void what_only_it_has_is_given_up(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_LOCAL);

	lonely_update(n, 200);
	net_crash(n, S);
	net_pass(n);
	assert_true(until_removed(n, P, S, 10 * LEASE));
	assert_false(net_take_out(n, P, S, false));
	assert_true(net_take_out(n, P, S, true));
	assert_true(until_all_are(n, NFS4R_BIT(P) | NFS4R_BIT(Q)));
	assert_int_equal(keep_trying_chmod(n, Q, "d/f", 10 * LEASE), NFS4R_OK);
	expect_equal(n, P, Q);
	net_free(n);
}

/* The member that was asked dies after it removed the other one from the members: that one comes back. */
static void who_was_asked_dies(void **state)
{
	struct net *n = ends_net(5, TREE, NFS4R_DURABILITY_COMMIT);

	assert_true(net_take_out(n, P, S, false));
	assert_true(until_removed(n, P, S, 10 * LEASE));
	net_crash(n, P);
	net_restart(n, P, true);
	ends_well(n);
}

/* With `local`: 5, which is away, has won a claim that only S and 4 know. S is not taken out before 5 is back. */
static void nobody_goes_while_a_log_is_open(void **state)
{
	struct net *n = ends_net(5, TREE, NFS4R_DURABILITY_LOCAL);
	struct nfs4r_oid f = at(n, "d/f");
	struct nfs4r_core_view v;

	net_drop(n, 5, P, NFS4R_MSG_PROPOSE);
	net_drop(n, 5, Q, NFS4R_MSG_PROPOSE);
	chmod_(n, 5, "d/f");
	net_run(n, 5 * RTT(n));
	assert_true(acting(n, 5, &f));
	assert_true(controls(n, S, 5, &f) && controls(n, 4, 5, &f));
	assert_false(controls(n, P, 5, &f) || controls(n, Q, 5, &f));
	cut_off(n, 5);
	assert_true(until_removed(n, P, 5, 8 * LEASE));
	assert_true(net_take_out(n, P, S, false));
	net_run(n, 10 * LEASE);
	v = view_of(n, P);
	assert_true(v.adopted.voters & v.adopted.members & NFS4R_BIT(S));
	assert_non_null(strstr(v.waits, "another server is outside"));
	net_pass(n);
	assert_true(until_all_are(n, n->cfg.servers & ~NFS4R_BIT(S)));
	expect_equal(n, P, 5);
	net_free(n);
}

/*
 * P and S have accepted the view with e as a voter, and P and e are gone. It may have been adopted, by four voters, and so may be what comes after it: Q and S are a
 * majority of the voters that they go by, and of the four they are none. Nobody is asked to accept anything before e is back.
 */
static void voters_of_the_base_promise_too(void **state)
{
	struct net *n = ends_net(3, TREE, NFS4R_DURABILITY_COMMIT);
	nfs4r_server_id e = net_new_server(n);
	struct nfs4r_view base;
	uint64_t before;

	net_drop(n, 0, Q, NFS4R_MSG_ACCEPT);
	assert_true(net_add(n, P, e));
	for (int i = 0; i < 20000 && !(view_of(n, S).accepted.voters & NFS4R_BIT(e)); i++)
		net_run(n, 1);
	net_crash(n, P);
	net_crash(n, e);
	net_pass(n);
	base = view_of(n, S).accepted;
	before = view_of(n, Q).accepted.num;
	assert_int_equal(base.voters, SET3 | NFS4R_BIT(e));
	assert_true(before < base.num && view_of(n, S).adopted.voters == SET3);
	net_run(n, 10 * LEASE);
	assert_true(view_of(n, Q).promised > base.num); /* it was tried */
	assert_int_equal(view_of(n, S).accepted.num, base.num);
	assert_int_equal(view_of(n, Q).accepted.num, before);
	net_restart(n, e, true);
	assert_true(until_removed(n, S, P, 10 * LEASE));
	assert_int_equal(view_of(n, S).adopted.voters, base.voters);
	net_restart(n, P, true);
	assert_true(until_all_are(n, SET3 | NFS4R_BIT(e)));
	net_quiet(n);
	net_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_is_added),
		cmocka_unit_test(who_forgot_comes_back_after_who_goes),
		cmocka_unit_test(a_learner_that_is_down_holds_up_nobody),
		cmocka_unit_test(all_stop_when_it_becomes_a_voter),
		cmocka_unit_test(a_server_is_taken_out),
		cmocka_unit_test(the_last_one_is_asked),
		cmocka_unit_test(a_dead_server_is_replaced),
		cmocka_unit_test(one_that_was_taken_out_comes_back),
		cmocka_unit_test(what_a_learner_told_before_counts_no_more),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(what_only_it_has_is_given_up),
		cmocka_unit_test(who_was_asked_dies),
		cmocka_unit_test(nobody_goes_while_a_log_is_open),
		cmocka_unit_test(voters_of_the_base_promise_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
