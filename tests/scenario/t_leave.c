/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A stop in order (control 7.12): nobody has to wait for the return of who has left.
 */
#include <stdio.h>
#include <string.h>

#include "scenario/ends.h"

#include "lib/unit.h"

static struct net *net_leave_of(const char *paths)
{
	struct net *n = net_policy(paths);

	n->cfg.idle_ms = n->cfg.deep_ms = 600000; /* nothing ends by itself */
	net_retune(n);
	return n;
}

static enum nfs4r_leave state_of(struct net *n, nfs4r_server_id s)
{
	return nfs4r_core_leave(n->s[s].core);
}

static void expect_left(struct net *n, uint64_t ms)
{
	net_run(n, ms);
	assert_int_equal(state_of(n, P), NFS4R_LEAVE_DONE);
	assert_int_equal(rows(n, P), 0);
	assert_int_equal(rows(n, Q), 0);
	assert_int_equal(rows(n, S), 0);
}

/* Deep control, a file that a client there writes, and one that it has just made: gone after what a release takes. */
static void who_leaves_lets_go_of_all(void **state)
{
	struct net *n = net_leave_of("d/ d/x/ d/x/f e/ e/g");
	struct nfs4r_oid g = at(n, "e/g");

	do_create(n, P, "d/x", "a");
	net_writers(n, P, &g, true);
	do_chmod(n, P, "e/g");
	assert_true(rows(n, S) > 1);
	assert_int_equal(state_of(n, P), NFS4R_LEAVE_WAIT);
	net_leave(n, P);
	assert_int_equal(state_of(n, P), NFS4R_LEAVE_WAIT);
	expect_left(n, 3 * RTT(n));
	do_chmod(n, S, "e/g");
	net_free(n);
}

static void nothing_begins_any_more(void **state)
{
	struct net *n = net_leave_of("d/ d/f");
	uint64_t elections;
	struct client *c;

	do_chmod(n, P, "d/f");
	elections = stats(n, P).elections;
	n->s[S].no_checkpoint = true; /* it cannot let go of d/f yet */
	net_leave(n, P);
	c = create(n, P, "d", "new");
	assert_true(c->done);
	assert_int_equal(c->op.status, NFS4R_DELAY);
	net_run(n, 2000);
	assert_int_equal(state_of(n, P), NFS4R_LEAVE_WAIT);
	assert_int_equal(stats(n, P).elections, elections);
	n->s[S].no_checkpoint = false;
	net_stable(n, S);
	expect_left(n, 3 * RTT(n));
	net_free(n);
}

/* It had begun, and is answered before its server stops; what it made is everybody's. */
static void what_is_executed_is_done(void **state)
{
	struct net *n = net_leave_of("d/ d/f");
	struct client *c;

	do_chmod(n, P, "d/f");
	n->s[P].hold_exec = true;
	c = create(n, P, "d", "a");
	net_run(n, 3 * RTT(n));
	net_leave(n, P);
	net_run(n, 1000);
	assert_int_equal(state_of(n, P), NFS4R_LEAVE_WAIT);
	net_let_execute(n, P);
	assert_int_equal(finish(n, c), NFS4R_OK);
	expect_left(n, 4 * RTT(n));
	do_chmod(n, S, "d/a");
	net_free(n);
}

/* Sent to who leaves, and refused there: done where it came from, as soon as P has let go. */
static void others_do_it_themselves(void **state)
{
	struct net *n = net_leave_of("d/ d/f");
	struct client *c;

	do_create(n, P, "d", "a");
	net_leave(n, P);
	c = create(n, Q, "d", "b");
	assert_int_equal(finish(n, c), NFS4R_OK);
	assert_int_equal(c->op.primary, Q);
	assert_int_equal(state_of(n, P), NFS4R_LEAVE_DONE);
	net_free(n);
}

/* An election that is under way is taken back, or won and let go of. */
static void what_is_asked_for_is_let_go_of(void **state)
{
	for (uint64_t ms = 0; ms < 60; ms++) {
		struct net *n = net_leave_of("d/ d/f");
		struct client *c = create(n, P, "d", "a");

		net_run(n, ms);
		net_leave(n, P);
		finish(n, c);
		expect_left(n, 5 * RTT(n));
		net_free(n);
	}
}

/* The same with views on, and P controls d/f. */
static struct net *net_leave_in_view(void)
{
	struct net *n = net_new(3);

	ends_begin(n, "d/ d/f", NFS4R_DURABILITY_LOCAL);
	n->cfg.idle_ms = 600000;
	net_retune(n);
	net_run(n, 4 * LEASE);
	do_chmod(n, P, "d/f");
	return n;
}

/* It is waited for until it is removed. */
static void a_member_that_is_gone(void **state)
{
	struct net *n = net_leave_in_view();

	net_crash(n, S);
	net_leave(n, P);
	net_run(n, SILENCE / 2);
	assert_int_equal(state_of(n, P), NFS4R_LEAVE_WAIT);
	assert_true(until_removed(n, P, S, 10 * LEASE));
	net_run(n, LEASE);
	assert_int_equal(state_of(n, P), NFS4R_LEAVE_DONE);
	assert_int_equal(rows(n, Q), 0);
	net_free(n);
}

/* Without a lease it does not know who "all" are. */
static void who_is_alone_cannot(void **state)
{
	struct net *n = net_new(3);

	ends_begin(n, "d/ d/f", NFS4R_DURABILITY_LOCAL);
	do_chmod(n, P, "d/f");
	cut_off(n, P);
	net_leave(n, P);
	assert_int_equal(state_of(n, P), NFS4R_LEAVE_WAIT);
	net_run(n, 2 * LEASE);
	assert_int_equal(state_of(n, P), NFS4R_LEAVE_CANNOT);
	net_free(n);
}

/* The view is fixed, and one is down: nobody will ever be removed. */
static void in_a_fixed_view(void **state)
{
	struct net *n = net_leave_of("d/ d/f");

	do_chmod(n, P, "d/f");
	net_crash(n, S);
	net_leave(n, P);
	net_run(n, 2 * RTT(n));
	assert_int_equal(state_of(n, P), NFS4R_LEAVE_CANNOT);
	net_restart(n, S, true);
	expect_left(n, 2000);
	net_free(n);
}

static void leave_and_let_go(struct net *n)
{
	net_leave(n, P);
	while (state_of(n, P) == NFS4R_LEAVE_WAIT)
		net_run(n, 1);
}

/* It gives its lease back, so they wait for the end of none; and it hears that it may go. */
static void the_others_do_not_pause(void **state)
{
	struct net *n = net_leave_in_view();
	uint64_t begun = n->now;

	leave_and_let_go(n);
	assert_int_equal(state_of(n, P), NFS4R_LEAVE_LEASE_RETURNED);
	assert_false(serves(n, P));
	assert_true(until_removed(n, S, P, 4 * RTT(n)));
	net_run(n, RTT(n));
	assert_int_equal(state_of(n, P), NFS4R_LEAVE_DONE);
	do_create(n, S, "d", "a");
	do_chmod(n, Q, "d/f");
	assert_true(n->now < begun + SILENCE / 2);
	net_crash(n, P);
	net_run(n, 4 * LEASE);
	net_restart(n, P, true);
	assert_true(until_back(n));
	do_create(n, P, "d", "b");
	expect_equal(n, P, S);
	net_free(n);
}

/* It is back before they have removed it, and is a member like any other. */
static void who_is_back_at_once_serves(void **state)
{
	for (uint64_t ms = 0; ms < 120; ms += 3) {
		struct net *n = net_leave_in_view();

		leave_and_let_go(n);
		net_run(n, ms);
		net_crash(n, P);
		net_restart(n, P, true);
		assert_true(until_back(n));
		do_chmod(n, P, "d/f");
		net_free(n);
	}
}

/* No view without it: there would be too few. It keeps its lease, and has left all the same. */
static void who_cannot_be_spared(void **state)
{
	struct net *n = net_leave_in_view();

	net_crash(n, S);
	assert_true(until_removed(n, P, S, 10 * LEASE));
	net_run(n, LEASE);
	net_leave(n, P);
	net_run(n, 10 * RTT(n));
	assert_int_equal(state_of(n, P), NFS4R_LEAVE_DONE);
	assert_true(serves(n, P));
	net_run(n, 4 * LEASE);
	assert_true(view_of(n, Q).adopted.members & NFS4R_BIT(P));
	net_free(n);
}

/* Nobody hears that it gave its lease back. It waits for a silence; they remove it when that is over, as if it had died. */
static void who_is_not_heard_goes_all_the_same(void **state)
{
	struct net *n = net_leave_in_view();
	uint64_t begun;

	net_drop(n, P, 0, NFS4R_MSG_HEARTBEAT);
	begun = n->now;
	leave_and_let_go(n);
	assert_int_equal(state_of(n, P), NFS4R_LEAVE_LEASE_RETURNED);
	while (state_of(n, P) == NFS4R_LEAVE_LEASE_RETURNED && (view_of(n, P).adopted.members & NFS4R_BIT(P)))
		net_run(n, 1);
	assert_in_range(n->now, begun + SILENCE - LEASE / 4, begun + 2 * SILENCE);
	net_run(n, 1);
	assert_int_equal(state_of(n, P), NFS4R_LEAVE_DONE);
	net_crash(n, P);
	assert_true(until_removed(n, Q, P, 4 * LEASE));
	do_chmod(n, Q, "d/f");
	net_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_leaves_lets_go_of_all),
		cmocka_unit_test(nothing_begins_any_more),
		cmocka_unit_test(what_is_executed_is_done),
		cmocka_unit_test(others_do_it_themselves),
		cmocka_unit_test(what_is_asked_for_is_let_go_of),
		cmocka_unit_test(a_member_that_is_gone),
		cmocka_unit_test(who_is_alone_cannot),
		cmocka_unit_test(in_a_fixed_view),
		cmocka_unit_test(the_others_do_not_pause),
		cmocka_unit_test(who_is_back_at_once_serves),
		cmocka_unit_test(who_cannot_be_spared),
		cmocka_unit_test(who_is_not_heard_goes_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
