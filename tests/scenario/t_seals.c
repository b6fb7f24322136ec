/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Logs that end (log 7, 8.3, 9.2) and answers that a majority holds (log 5.1): what a server that is gone controlled goes to others, and
 * what it alone had is undone when it returns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "scenario/ends.h"

#include <cmocka.h>

#define TREE "d/ d/f d/g e/ e/f"

static struct net *net_ends(enum nfs4r_durability durability)
{
	struct net *n = net_new(3);

	ends_begin(n, TREE, durability);
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
	assert_true(n->now < died + SILENCE + 3 * LEASE);
	assert_false(controls(n, Q, S, &f));
	assert_true(memtree_lookup(n->s[P].tree, &e, "g", &d));
	assert_int_equal(view_of(n, P).adopted.epoch, 1);
	n->s[P].no_checkpoint = false;
	net_stable(n, P);
	net_restart(n, S, true);
	assert_true(until_back(n));
	assert_true(all_equal(n));
	net_free(n);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dead_primary_is_replaced),
		cmocka_unit_test(what_one_alone_had_is_undone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
