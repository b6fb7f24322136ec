/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * An entry that one server cannot apply (log 4.11, 6.12): that server goes, the others do not wait for it, and it comes back by itself.
 */
#include <stdio.h>
#include <string.h>

#include "scenario/ends.h"

#include "lib/unit.h"

#define SOON (LEASE / 2 + 2 * LEASE) /* half a lease until it says so, the lease that it has, and some round trips */

static void cannot_apply(struct net *n, nfs4r_server_id s, const char *path)
{
	n->s[s].cannot = at(n, path);
}

static void can_apply_again(struct net *n, nfs4r_server_id s)
{
	n->s[s].cannot = (struct nfs4r_oid){ { 0 } };
}

static struct net *net_of_views(uint32_t servers)
{
	struct net *n = net_new(servers);

	ends_begin(n, "d/ d/f e/ e/g", NFS4R_DURABILITY_LOCAL);
	net_run(n, 4 * LEASE);
	return n;
}

/* Until S is removed because of d/f. */
static struct net *net_without_s(void)
{
	struct net *n = net_of_views(3);

	cannot_apply(n, S, "d/f");
	do_chmod(n, P, "d/f");
	assert_true(until_removed(n, P, S, SOON));
	return n;
}

static void the_others_go_on_soon(void **state)
{
	struct net *n = net_of_views(3);
	struct client *c;

	cannot_apply(n, S, "d");
	c = create(n, P, "d", "new");
	net_run(n, SOON);
	assert_true(c->done);
	assert_int_equal(c->op.status, NFS4R_OK);
	assert_int_equal(view_of(n, P).adopted.members, NFS4R_BIT(P) | NFS4R_BIT(Q));
	assert_int_equal(view_of(n, P).peer[S].trouble, NFS4R_PERM);
	assert_int_equal(view_of(n, S).trouble, NFS4R_PERM);
	assert_int_equal(view_of(n, S).trouble_log, P);
	assert_false(serves(n, S));
	assert_int_equal(n->s[S].halted, 0);
	net_free(n);
}

/* It is tried again all the time, and other objects are not waited for. */
static void it_catches_up_and_returns(void **state)
{
	struct net *n = net_without_s();
	struct nfs4r_oid g = at(n, "e/g"), f = at(n, "d/f");
	struct nfs4r_facts here, there;
	uint32_t failed = n->s[S].failed;

	do_chmod(n, Q, "e/g");
	do_create(n, P, "e", "new");
	net_run(n, 10 * LEASE);
	memtree_facts(n->s[S].tree, &g, &here);
	memtree_facts(n->s[Q].tree, &g, &there);
	assert_int_equal(here.version, there.version);
	memtree_facts(n->s[S].tree, &f, &here);
	memtree_facts(n->s[P].tree, &f, &there);
	assert_true(here.version < there.version);
	assert_in_range(n->s[S].failed - failed, 8, 12);
	assert_false(view_of(n, P).adopted.members & NFS4R_BIT(S));
	can_apply_again(n, S);
	assert_true(until_back(n));
	assert_int_equal(view_of(n, S).trouble, NFS4R_OK);
	do_chmod(n, S, "d/f");
	expect_equal(n, P, S);
	net_free(n);
}

/* Its disk stands still, and reports nothing: the same, when it has stood still for five silences. */
static void a_disk_that_stands_still(void **state)
{
	struct net *n = net_of_views(3);
	struct client *c;

	n->s[S].hold_apply = true;
	c = chmod_(n, P, "d/f");
	net_run(n, 4 * SILENCE);
	assert_true(view_of(n, P).adopted.members & NFS4R_BIT(S));
	assert_true(until_removed(n, P, S, SILENCE + SOON));
	net_run(n, 10 * RTT(n));
	assert_true(c->done);
	assert_int_equal(view_of(n, P).peer[S].trouble, NFS4R_HUNG);
	do_chmod(n, Q, "d/f");
	do_create(n, P, "d", "new");
	net_let_apply(n, S);
	n->s[S].hold_apply = false;
	assert_true(until_back(n));
	assert_int_equal(view_of(n, S).trouble, NFS4R_OK);
	do_chmod(n, S, "d/f");
	expect_equal(n, P, S);
	net_free(n);
}

/* The same at the server that executes: it has answered nobody, and nobody waits for it. */
static void a_primarys_disk_stands_still(void **state)
{
	struct net *n = net_of_views(3);

	n->s[S].hold_exec = true;
	chmod_(n, S, "d/f");
	net_run(n, 4 * SILENCE);
	assert_true(view_of(n, P).adopted.members & NFS4R_BIT(S));
	assert_true(until_removed(n, P, S, SILENCE + SOON));
	do_create(n, P, "e", "new");
	net_let_execute(n, S);
	n->s[S].hold_exec = false;
	assert_true(until_back(n));
	do_chmod(n, P, "d/f");
	expect_equal(n, P, S);
	net_free(n);
}

/* A second of trouble is none. */
static void what_passes_soon_removes_nobody(void **state)
{
	struct net *n = net_of_views(3);
	uint64_t num = view_of(n, P).adopted.num;

	n->cfg.lease_ms = n->cfg.silence_ms = 4 * LEASE;
	net_retune(n);
	net_run(n, 8 * LEASE);
	num = view_of(n, P).adopted.num;
	cannot_apply(n, S, "d/f");
	chmod_(n, P, "d/f");
	net_run(n, LEASE);
	can_apply_again(n, S);
	net_run(n, 8 * LEASE);
	assert_int_equal(view_of(n, P).adopted.num, num);
	do_chmod(n, S, "d/f");
	net_free(n);
}

/* While it still has a lease it lets go of what it controls: nobody waits for its return. */
static void it_lets_go_first(void **state)
{
	struct net *n = net_new(3);

	ends_begin(n, "d/ d/f e/ e/g", NFS4R_DURABILITY_LOCAL);
	n->cfg.idle_ms = n->cfg.deep_ms = 600000;
	net_retune(n);
	net_run(n, 4 * LEASE);
	do_chmod(n, S, "e/g");
	cannot_apply(n, S, "d/f");
	do_chmod(n, P, "d/f");
	assert_true(until_removed(n, Q, S, SOON));
	assert_int_equal(keep_trying_chmod(n, Q, "e/g", LEASE), NFS4R_OK);
	net_free(n);
}

/* It still has the entry before it. It is not added, removed, and added again. */
static void a_restart_changes_nothing(void **state)
{
	struct net *n = net_without_s();
	uint64_t num;

	net_run(n, LEASE);
	num = view_of(n, P).adopted.num;
	net_crash(n, S);
	net_run(n, 4 * LEASE);
	net_restart(n, S, true);
	net_run(n, 10 * LEASE);
	assert_int_equal(view_of(n, P).adopted.num, num);
	assert_int_equal(view_of(n, S).trouble, NFS4R_PERM);
	can_apply_again(n, S);
	assert_true(until_back(n));
	expect_equal(n, P, S);
	net_free(n);
}

/* P lost the entry with its machine, and nobody else had it: S is not in trouble for what never was. */
static void an_entry_that_is_lost(void **state)
{
	struct net *n = net_without_s();

	net_crash(n, S);
	net_run(n, 4 * LEASE);
	n->s[S].cannot = (struct nfs4r_oid){ { 0 } };
	net_restart(n, S, true);
	assert_true(until_back(n));
	assert_int_equal(view_of(n, S).trouble, NFS4R_OK);
	net_free(n);
}

/* One of two: without it there is no view, so it keeps its lease, and is waited for. */
static void who_cannot_be_spared_stays(void **state)
{
	struct net *n = net_of_views(2);
	struct client *c;

	cannot_apply(n, Q, "d/f");
	c = chmod_(n, P, "d/f");
	net_run(n, 20 * LEASE);
	assert_int_equal(view_of(n, P).adopted.members, NFS4R_BIT(P) | NFS4R_BIT(Q));
	assert_true(serves(n, P));
	assert_true(serves(n, Q));
	assert_int_equal(view_of(n, P).peer[Q].trouble, NFS4R_PERM);
	can_apply_again(n, Q);
	net_run(n, 2 * LEASE);
	assert_true(c->done);
	do_chmod(n, Q, "d/f");
	net_free(n);
}

/* Of three, two cannot: one goes, and the other two are as many as there have to be. */
static void two_of_three(void **state)
{
	struct net *n = net_of_views(3);

	cannot_apply(n, Q, "d/f");
	cannot_apply(n, S, "d/f");
	chmod_(n, P, "d/f");
	net_run(n, 20 * LEASE);
	assert_int_equal(__builtin_popcountll(view_of(n, P).adopted.members), 2);
	assert_true(serves(n, P));
	can_apply_again(n, Q);
	can_apply_again(n, S);
	assert_true(until_back(n));
	do_chmod(n, S, "d/f");
	expect_equal(n, P, Q);
	expect_equal(n, P, S);
	net_free(n);
}

/* All cannot apply something: the view keeps a majority, and goes on when they can. */
static void all_of_three(void **state)
{
	struct net *n = net_of_views(3);

	cannot_apply(n, P, "e/g");
	cannot_apply(n, Q, "d/f");
	cannot_apply(n, S, "d/f");
	chmod_(n, P, "d/f");
	chmod_(n, Q, "e/g");
	net_run(n, 20 * LEASE);
	for (nfs4r_server_id s = P; s <= S; s++) {
		assert_int_equal(n->s[s].halted, 0);
		can_apply_again(n, s);
	}
	assert_true(until_back(n));
	do_chmod(n, S, "d/f");
	do_chmod(n, S, "e/g");
	expect_equal(n, P, Q);
	expect_equal(n, P, S);
	net_free(n);
}

/* A fixed view: nobody is ever removed, and it goes on when the entry can be applied. */
static void with_a_fixed_view_all_wait(void **state)
{
	struct net *n = net_new(3);

	tree(n, "d/ d/f");
	cannot_apply(n, S, "d/f");
	chmod_(n, P, "d/f");
	net_run(n, 20 * LEASE);
	assert_true(n->s[S].failed > 10);
	assert_int_equal(n->s[S].halted, 0);
	can_apply_again(n, S);
	net_run(n, 2 * LEASE);
	do_chmod(n, Q, "d/f");
	net_free(n);
}

static void do_remove(struct net *n, nfs4r_server_id s, const char *dir, const char *name)
{
	struct nfs4r_oid d = at(n, dir);

	assert_int_equal(finish(n, op_name(n, s, NFS4R_OP_REMOVE, &d, name)), NFS4R_OK);
}

/* It cannot be applied there to this day, and need not be: the file is gone (log 4.13). */
static void what_is_removed_later_is_passed_over(void **state)
{
	struct net *n = net_without_s();

	do_remove(n, P, "d", "f");
	assert_true(until_back(n));
	assert_true(stats(n, S).entries_passed > 0);
	assert_int_equal(view_of(n, S).trouble, NFS4R_OK);
	do_create(n, S, "d", "f");
	expect_equal(n, P, S);
	net_free(n);
}

/* S was down when the file was removed, and comes to the entry first. */
static void after_a_restart_too(void **state)
{
	struct net *n = net_without_s();

	net_crash(n, S);
	do_remove(n, P, "d", "f");
	do_create(n, P, "d", "other");
	net_restart(n, S, true);
	assert_true(until_back(n));
	expect_equal(n, P, S);
	net_free(n);
}

/* A file that S cannot make, until it is removed: made aside, so that entries in between find it. */
static void what_cannot_be_made_is_put_aside(void **state)
{
	struct net *n = net_of_views(3);
	struct client *c;

	n->s[S].hold_apply = true;
	c = create(n, P, "d", "new");
	net_run(n, 5 * RTT(n));
	cannot_apply(n, S, "d/new");
	net_let_apply(n, S);
	assert_true(until_removed(n, P, S, SOON));
	assert_int_equal(finish(n, c), NFS4R_OK);
	n->s[S].cannot_make = true;
	do_chmod(n, P, "d/new");
	net_run(n, 4 * LEASE);
	assert_int_equal(n->s[S].asides, 0);
	do_remove(n, P, "d", "new");
	assert_true(until_back(n));
	assert_true(n->s[S].asides > 0);
	expect_equal(n, P, S);
	net_free(n);
}

static nfs4r_servers halted_at(struct net *n, nfs4r_server_id s)
{
	nfs4r_servers set = 0;

	for (nfs4r_server_id t = 1; t <= n->n; t++)
		set |= view_of(n, s).peer[t].halted ? NFS4R_BIT(t) : 0;
	return set;
}

/* HALTED names nobody: it goes for the server whose connection it comes on (log 4.15, 4.17). One that is none of the volume's is not heard. */
static void who_halts_is_who_says_so(void **state)
{
	struct net *n = net_of_views(3);
	struct nfs4r_msg m = { .type = NFS4R_MSG_HALTED, .halted = { NFS4R_NOSPC, false } };
	nfs4r_server_id e = net_new_server(n);

	net_msg(n, e, P, &m);
	net_run(n, n->delay);
	assert_int_equal(halted_at(n, P), 0);
	net_msg(n, Q, P, &m);
	net_msg(n, Q, S, &m);
	net_drop(n, Q, 0, 0);
	assert_true(until_removed(n, P, Q, SOON));
	assert_int_equal(halted_at(n, P), NFS4R_BIT(Q));
	assert_int_equal(halted_at(n, S), NFS4R_BIT(Q));
	assert_int_equal(view_of(n, S).adopted.members, NFS4R_BIT(P) | NFS4R_BIT(S));
	assert_true(serves(n, P) && serves(n, S));
	net_pass(n);
	assert_true(until_all_are(n, NFS4R_BIT(P) | NFS4R_BIT(Q) | NFS4R_BIT(S)));
	assert_int_equal(halted_at(n, P), 0);
	net_free(n);
}

/* The first member, which makes the volume's secret, cannot write at its first start: the others do without it, and so have one (log 6.13). */
static void who_makes_the_secret_halts(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_msg m = { .type = NFS4R_MSG_HALTED, .halted = { NFS4R_NOSPC, false } };

	n->secrets = true;
	net_drop(n, 0, 0, NFS4R_MSG_PREPARE);
	ends_begin(n, "d/ d/f e/ e/g", NFS4R_DURABILITY_LOCAL);
	net_pass(n);
	net_msg(n, P, Q, &m);
	net_msg(n, P, S, &m);
	net_drop(n, P, 0, 0);
	assert_true(until_removed(n, Q, P, SOON));
	net_run(n, LEASE);
	assert_true(serves(n, Q) && serves(n, S));
	assert_memory_equal(nfs4r_core_adopted(n->s[Q].core)->secret, nfs4r_core_adopted(n->s[S].core)->secret, NFS4R_SECRET);
	net_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_others_go_on_soon),
		cmocka_unit_test(it_catches_up_and_returns),
		cmocka_unit_test(a_disk_that_stands_still),
		cmocka_unit_test(a_primarys_disk_stands_still),
		cmocka_unit_test(what_passes_soon_removes_nobody),
		cmocka_unit_test(it_lets_go_first),
		cmocka_unit_test(a_restart_changes_nothing),
		cmocka_unit_test(an_entry_that_is_lost),
		cmocka_unit_test(who_cannot_be_spared_stays),
		cmocka_unit_test(two_of_three),
		cmocka_unit_test(all_of_three),
		cmocka_unit_test(with_a_fixed_view_all_wait),
		cmocka_unit_test(what_is_removed_later_is_passed_over),
		cmocka_unit_test(after_a_restart_too),
		cmocka_unit_test(what_cannot_be_made_is_put_aside),
		cmocka_unit_test(who_halts_is_who_says_so),
		cmocka_unit_test(who_makes_the_secret_halts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
