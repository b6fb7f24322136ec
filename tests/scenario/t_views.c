/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The active view and leases (log 6, 8.4; control 11): who goes on when a server is gone, what the one that is gone may say, and
 * how it comes back.
 */
#include <stdio.h>
#include <string.h>

#include "scenario/ends.h"

#include "lib/unit.h"

#define TREE "d/ d/f d/g e/ e/f"

static struct net *net_views(const char *paths)
{
	return ends_net(3, paths, NFS4R_DURABILITY_LOCAL);
}

static void must_come_back(struct net *n)
{
	for (int i = 0; i < 1000 && !all_back(n); i++)
		net_run(n, 10);
	assert_true(all_back(n));
}

/* An update that everybody has to hear of waits for a dead server only until it is removed. */
static void others_go_on_without_a_dead_server(void **state)
{
	struct net *n = net_views(TREE);
	uint64_t died = n->now;
	struct client *c;

	net_crash(n, S);
	net_run(n, 50);
	for (c = NULL; !c || c->op.status == NFS4R_DELAY;) { /* as a client does */
		c = chmod_(n, P, "d/f");
		finish(n, c);
		assert_true(n->now < died + 3 * LEASE);
	}
	assert_int_equal(c->op.status, NFS4R_OK);
	assert_int_equal(view_of(n, P).adopted.members, NFS4R_BIT(P) | NFS4R_BIT(Q));
	net_run(n, 100);
	assert_int_equal(view_of(n, Q).adopted.num, view_of(n, P).adopted.num);
	assert_int_equal(finish(n, create(n, Q, "d", "new")), NFS4R_OK);
	net_restart(n, S, true);
	must_come_back(n);
	net_quiet(n);
	net_free(n);
}

/* Who is cut off answers nothing once the others may have gone on, and the new state when it is back. */
static void who_is_cut_off_says_nothing_old(void **state)
{
	struct net *n = net_views(TREE);
	struct nfs4r_oid f = at(n, "d/f");
	struct client *c;

	cut_off(n, S);
	while (view_of(n, P).adopted.members & NFS4R_BIT(S)) {
		assert_true(n->now < 100000);
		net_run(n, 1);
	}
	assert_false(serves(n, S));
	assert_int_equal(route(n, S, &f, false), 0);
	assert_int_equal(nfs4r_core_may_serve(n->s[S].core, &f), NFS4R_DELAY);
	assert_int_equal(finish(n, write_(n, P, "d/f")), NFS4R_OK);
	assert_int_equal(finish(n, op_close(n, P, &f)), NFS4R_OK);
	c = create(n, S, "e", "x");
	assert_int_equal(finish(n, c), NFS4R_DELAY);
	net_pass(n);
	must_come_back(n);
	net_quiet(n);
	assert_int_equal(route(n, S, &f, false), S);
	net_free(n);
}

/* Nobody is removed while fewer than a majority can be heard, and nobody serves. */
static void without_a_majority_all_is_quiet(void **state)
{
	struct net *n = net_views(TREE);
	struct nfs4r_oid f = at(n, "d/f");

	net_drop(n, 0, 0, 0);
	net_run(n, 3 * LEASE);
	for (nfs4r_server_id s = P; s <= S; s++) {
		assert_false(serves(n, s));
		assert_int_equal(route(n, s, &f, false), 0);
		assert_int_equal(view_of(n, s).adopted.num, 0);
	}
	net_pass(n);
	must_come_back(n);
	assert_int_equal(finish(n, chmod_(n, Q, "d/f")), NFS4R_OK);
	net_quiet(n);
	net_free(n);
}

/* What a removed server controls is not given to anybody; it can go on with it when it is back. */
static void what_the_dead_one_controls_waits(void **state)
{
	struct net *n = net_views(TREE);
	struct nfs4r_oid f = at(n, "d/f");

	n->s[P].no_checkpoint = true; /* so that S cannot release it */
	do_chmod(n, S, "d/f");
	net_crash(n, S);
	net_run(n, 4 * LEASE);
	assert_int_equal(view_of(n, P).adopted.members, NFS4R_BIT(P) | NFS4R_BIT(Q));
	assert_int_equal(finish(n, chmod_(n, P, "d/f")), NFS4R_DELAY);
	assert_int_equal(route(n, Q, &f, false), 0);
	assert_int_equal(finish(n, chmod_(n, P, "d/g")), NFS4R_OK);
	net_restart(n, S, true);
	must_come_back(n);
	n->s[P].no_checkpoint = false;
	net_stable(n, P);
	net_run(n, 1000);
	assert_int_equal(finish(n, chmod_(n, P, "d/f")), NFS4R_OK);
	net_quiet(n);
	net_free(n);
}

/* P controls d/f, and cannot release it; S does not know. */
static void won_while_s_is_away(struct net *n)
{
	cut_off(n, S);
	net_run(n, 4 * LEASE);
	n->s[Q].no_checkpoint = true;
	assert_int_equal(finish(n, chmod_(n, P, "d/f")), NFS4R_OK);
}

/* P's control was won while S was away: S asks P before it serves the file again. */
static void a_new_member_knows_all_controls(void **state)
{
	struct net *n = net_views(TREE);
	struct nfs4r_oid f = at(n, "d/f");

	won_while_s_is_away(n);
	assert_false(controls(n, S, P, &f));
	net_pass(n);
	must_come_back(n);
	assert_true(acting(n, P, &f));
	assert_true(controls(n, S, P, &f));
	assert_int_equal(route(n, S, &f, false), P);
	n->s[Q].no_checkpoint = false;
	net_stable(n, Q);
	net_quiet(n);
	net_free(n);
}

/* S was away when P released: the row that S kept is gone with the list. */
static void a_new_member_forgets_what_was_released(void **state)
{
	struct net *n = net_views(TREE);
	struct nfs4r_oid f = at(n, "d/f");

	do_chmod(n, P, "d/f");
	assert_true(controls(n, S, P, &f));
	cut_off(n, S);
	net_run(n, 6 * LEASE);
	assert_false(acting(n, P, &f));
	assert_true(controls(n, S, P, &f));
	net_pass(n);
	must_come_back(n);
	assert_false(controls(n, S, P, &f));
	net_quiet(n);
	net_free(n);
}

/* A member that has not all rows yet says nothing, also after a restart in the middle. */
static void a_restart_while_joining_joins_again(void **state)
{
	struct net *n = net_views(TREE);
	struct nfs4r_oid f = at(n, "d/f");

	won_while_s_is_away(n);
	net_pass(n);
	net_hold(n, P, S, NFS4R_MSG_JOINROWS);
	net_run(n, 2 * LEASE);
	assert_true(view_of(n, S).joining);
	assert_int_equal(route(n, S, &f, false), 0);
	net_crash(n, S);
	net_restart(n, S, true);
	net_run(n, LEASE / 2);
	assert_true(view_of(n, S).joining);
	assert_int_equal(route(n, S, &f, false), 0);
	net_pass(n);
	must_come_back(n);
	assert_int_equal(route(n, S, &f, false), P);
	n->s[Q].no_checkpoint = false;
	net_stable(n, Q);
	net_quiet(n);
	net_free(n);
}

/* A member that joins makes others wait for one round trip, not for its whole way back. */
static void a_return_stops_nobody(void **state)
{
	struct net *n = net_views(TREE);
	uint64_t longest = 0;

	cut_off(n, S);
	net_run(n, 4 * LEASE);
	net_pass(n);
	for (int i = 0; !all_back(n); i++) {
		struct client *c;
		char name[16];

		assert_true(i < 1000);
		snprintf(name, sizeof(name), "n%d", i);
		c = create(n, P, "d", name);
		assert_int_equal(finish(n, c), NFS4R_OK);
		if (c->done_at - c->started > longest)
			longest = c->done_at - c->started;
		net_run(n, 5);
	}
	assert_true(longest <= 8 * RTT(n));
	net_quiet(n);
	net_free(n);
}

/* All start anew at once: the view stands, everybody serves as soon as grants have come. */
static void all_restarted_at_once(void **state)
{
	struct net *n = net_views(TREE);

	for (nfs4r_server_id s = P; s <= S; s++)
		net_crash(n, s);
	net_run(n, 5 * LEASE);
	for (nfs4r_server_id s = P; s <= S; s++)
		net_restart(n, s, true);
	net_run(n, LEASE / 2);
	assert_true(all_back(n));
	assert_int_equal(finish(n, chmod_(n, Q, "d/f")), NFS4R_OK);
	net_quiet(n);
	net_free(n);
}

/* One way only: S hears everybody, nobody hears S. It is removed, keeps quiet, and is not taken back before it is heard. */
static void who_is_not_heard_is_removed(void **state)
{
	struct net *n = net_views(TREE);

	net_drop(n, S, 0, 0);
	net_run(n, 5 * LEASE);
	assert_int_equal(view_of(n, P).adopted.members, NFS4R_BIT(P) | NFS4R_BIT(Q));
	assert_false(serves(n, S));
	assert_int_equal(view_of(n, S).adopted.num, view_of(n, P).adopted.num);
	net_pass(n);
	must_come_back(n);
	net_quiet(n);
	net_free(n);
}

/* P and Q do not hear each other, both hear S: one of them leaves, and does not come back before they hear each other. */
static void two_that_do_not_hear_each_other(void **state)
{
	struct net *n = net_views(TREE);
	uint64_t num;

	net_drop(n, P, Q, 0);
	net_drop(n, Q, P, 0);
	net_run(n, 10 * LEASE);
	assert_int_equal(__builtin_popcountll(view_of(n, S).adopted.members), 2);
	assert_true(view_of(n, S).adopted.members & NFS4R_BIT(S));
	num = view_of(n, S).adopted.num;
	net_run(n, 10 * LEASE);
	assert_int_equal(view_of(n, S).adopted.num, num);
	net_pass(n);
	must_come_back(n);
	net_quiet(n);
	net_free(n);
}

/* Q dies with P's control half won by its ack; the claim begins anew in the new view. */
static void a_proposal_does_not_outlive_its_view(void **state)
{
	struct net *n = net_views(TREE);
	struct client *c;

	net_hold(n, P, S, NFS4R_MSG_PROPOSE);
	net_crash(n, Q);
	c = chmod_(n, P, "d/f");
	net_run(n, 4 * LEASE);
	net_pass(n);
	assert_true(c->done); /* DELAY: nothing had happened */
	assert_int_equal(finish(n, chmod_(n, P, "d/f")), NFS4R_OK);
	net_restart(n, Q, true);
	must_come_back(n);
	net_quiet(n);
	net_free(n);
}

/* P dies while it asks for all of d, as its policy would have it after three elections below; S acks that or does not. */
static struct net *dies_while_promoting(bool s_acks)
{
	struct net *n = net_views("d/ d/x/ d/y/ d/z/ d/f");

	n->cfg.deep = true;
	net_retune(n);
	net_run(n, 2 * LEASE);
	assert_int_equal(finish(n, create(n, P, "d/x", "a")), NFS4R_OK);
	assert_int_equal(finish(n, create(n, P, "d/y", "a")), NFS4R_OK);
	net_run(n, RTT(n));
	if (!s_acks)
		net_hold(n, P, S, NFS4R_MSG_PROPOSE);
	net_hold(n, S, P, NFS4R_MSG_ACK);
	create(n, P, "d/z", "a");
	net_run(n, 3 * RTT(n));
	assert_true(asking(n, P, "d"));
	net_crash(n, P);
	net_run(n, 5 * LEASE);
	assert_int_equal(view_of(n, S).adopted.members, NFS4R_BIT(Q) | NFS4R_BIT(S));
	return n;
}

/* S never acked it: it was not won, and blocks nobody. What P has won stays its own. */
static void what_the_dead_one_only_asked_for_is_lost(void **state)
{
	struct net *n = dies_while_promoting(false);
	struct nfs4r_oid d = at(n, "d"), z = at(n, "d/z");

	assert_false(controls(n, Q, P, &d));
	assert_true(controls(n, Q, P, &z));
	assert_int_equal(finish(n, chmod_(n, S, "d/f")), NFS4R_OK);
	assert_int_equal(finish(n, chmod_(n, Q, "d/z")), NFS4R_DELAY);
	net_pass(n);
	net_restart(n, P, true);
	must_come_back(n);
	assert_int_equal(finish(n, chmod_(n, P, "d/f")), NFS4R_OK);
	net_quiet(n);
	net_free(n);
}

/* Both have acked it: P may have won it and have done something. */
static void what_all_have_acked_may_be_won(void **state)
{
	struct net *n = dies_while_promoting(true);
	struct nfs4r_oid d = at(n, "d");

	assert_true(controls(n, Q, P, &d) && controls(n, S, P, &d));
	assert_int_equal(finish(n, chmod_(n, S, "d/f")), NFS4R_DELAY);
	net_pass(n);
	net_restart(n, P, true);
	must_come_back(n);
	net_run(n, LEASE);
	assert_int_equal(finish(n, chmod_(n, S, "d/f")), NFS4R_OK);
	net_quiet(n);
	net_free(n);
}

static void one_message(struct net *n, nfs4r_server_id from, struct nfs4r_msg *m)
{
	for (nfs4r_server_id s = 1; s <= n->n; s++)
		if (s != from)
			net_msg(n, from, s, m);
	net_run(n, 4 * LEASE);
}

/* A number is the proposer's own, and leaves others room above it: else nobody could ever propose again. Q sends one message of each kind that bears one. */
static void a_number_out_of_reach_is_refused(void **state)
{
	static const uint64_t nums[] = { (1ull << NFS4R_RECONF_SHIFT) - NFS4R_VIEW_STEP + Q, 50 * NFS4R_VIEW_STEP + P };
	struct net *n = net_views(TREE);

	for (uint32_t i = 0; i < 2; i++) {
		struct nfs4r_msg prepare = { .type = NFS4R_MSG_PREPARE, .prepare.num = nums[i], .prepare.remove = NFS4R_BIT(S) };
		struct nfs4r_msg promise = { .type = NFS4R_MSG_PROMISE, .promise.num = nums[i], .promise.promised = nums[0], .promise.refused = true };
		struct nfs4r_msg beat = { .type = NFS4R_MSG_HEARTBEAT, .heartbeat.promised = nums[0], .heartbeat.memory = NFS4R_MEMORY_KNOWN };

		promise.promise.accepted = view_of(n, Q).accepted;
		beat.heartbeat.inc = n->s[Q].inc;
		one_message(n, Q, &prepare);
		one_message(n, Q, &promise);
		one_message(n, Q, &beat);
	}
	for (nfs4r_server_id s = 1; s <= n->n; s++)
		assert_true(view_of(n, s).promised < (1u << 15) * NFS4R_VIEW_STEP); /* what HEARTBEAT and PROMISE said is followed a little (log 6.15) */
	net_crash(n, S);
	net_run(n, 4 * LEASE);
	assert_int_equal(view_of(n, P).adopted.members, NFS4R_BIT(P) | NFS4R_BIT(Q));
	net_restart(n, S, true);
	must_come_back(n);
	net_free(n);
}

/* S was away while the others made views, and hears from one of them alone: it believes that one when it has heard nobody else for a silence. */
static void who_hears_only_one_believes_it_later(void **state)
{
	struct net *n = net_views(TREE);

	net_crash(n, S);
	net_run(n, 4 * LEASE);
	net_drop(n, Q, S, 0);
	net_drop(n, S, Q, 0);
	net_restart(n, S, true);
	net_run(n, SILENCE / 2);
	assert_true(view_of(n, S).adopted.num < view_of(n, P).adopted.num);
	net_run(n, SILENCE);
	assert_true(view_of(n, S).adopted.num >= view_of(n, P).adopted.num);
	net_pass(n);
	must_come_back(n);
	net_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_go_on_without_a_dead_server),
		cmocka_unit_test(who_is_cut_off_says_nothing_old),
		cmocka_unit_test(without_a_majority_all_is_quiet),
		cmocka_unit_test(what_the_dead_one_controls_waits),
		cmocka_unit_test(a_new_member_knows_all_controls),
		cmocka_unit_test(a_new_member_forgets_what_was_released),
		cmocka_unit_test(a_restart_while_joining_joins_again),
		cmocka_unit_test(a_return_stops_nobody),
		cmocka_unit_test(all_restarted_at_once),
		cmocka_unit_test(who_is_not_heard_is_removed),
		cmocka_unit_test(two_that_do_not_hear_each_other),
		cmocka_unit_test(a_proposal_does_not_outlive_its_view),
		cmocka_unit_test(what_the_dead_one_only_asked_for_is_lost),
		cmocka_unit_test(what_all_have_acked_may_be_won),
		cmocka_unit_test(a_number_out_of_reach_is_refused),
		cmocka_unit_test(who_hears_only_one_believes_it_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
