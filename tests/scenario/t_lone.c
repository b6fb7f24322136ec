/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A volume that begins with one server and grows (log 9.1): the second and the third are added while the first works, also when somebody dies or
 * starts anew in the middle; what is refused; and back to fewer.
 */
#include <stdio.h>
#include <string.h>

#include "scenario/ends.h"

#include "lib/unit.h"

#define TREE "d/ d/f d/g e/ e/f"
#define ONE NFS4R_BIT(P)
#define BOTH (NFS4R_BIT(P) | NFS4R_BIT(Q))
#define ALL (BOTH | NFS4R_BIT(S))

static const enum nfs4r_durability durabilities[] = { NFS4R_DURABILITY_LOCAL, NFS4R_DURABILITY_COMMIT, NFS4R_DURABILITY_MAJORITY };

static struct net *net_lone(enum nfs4r_durability durability)
{
	struct net *n = ends_net(1, TREE, durability);

	return n;
}

/* Its entries are on the disk and nobody needs them: who comes later has to copy. */
static void works(struct net *n)
{
	do_chmod(n, P, "d/f");
	do_create(n, P, "d", "early");
	net_run(n, 4 * LEASE);
}

/* Runs until @s has begun to copy, and does not. */
static void until_it_copies(struct net *n, nfs4r_server_id s)
{
	n->s[s].hold_repair = true;
	for (int i = 0; i < 1000 && !n->s[s].repair; i++)
		net_run(n, 10);
	assert_non_null(n->s[s].repair);
}

static void copies(struct net *n, nfs4r_server_id s)
{
	net_let_repair(n, s, true);
	net_run(n, LEASE);
	net_stable(n, P); /* as every server does now and then: a copy has what may not be on the source's disk yet */
}

static uint32_t sent(const struct net *n)
{
	uint32_t all = 0;

	for (uint32_t t = 0; t < sizeof(n->sent) / sizeof(n->sent[0]); t++)
		all += n->sent[t];
	return all;
}

/* Its lease is its own majority: it serves from its first step on, after any restart, and says nothing to anybody. */
static void one_alone_serves_at_once(void **state)
{
	struct net *n = net_lone(NFS4R_DURABILITY_COMMIT);
	struct nfs4r_core_view v = view_of(n, P);

	assert_false(v.fixed || v.joining || v.learner);
	assert_int_equal(v.memory, NFS4R_MEMORY_KNOWN);
	assert_int_equal(v.adopted.num, 0);
	works(n);
	for (int intact = 0; intact < 2; intact++) {
		net_crash(n, P);
		net_restart(n, P, intact);
		assert_true(serves(n, P));
		assert_int_equal(nfs4r_core_lease_until(n->s[P].core), UINT64_MAX);
		assert_int_equal(finish(n, chmod_(n, P, "d/g")), NFS4R_OK);
	}
	assert_int_equal(sent(n), 0);
	net_free(n);
}

/* A file is open for writing all the time, and its writer does not wait. */
static void a_second_is_added(void **state)
{
	for (uint32_t i = 0; i < sizeof(durabilities) / sizeof(durabilities[0]); i++) {
		struct net *n = net_lone(durabilities[i]);
		struct nfs4r_oid f = at(n, "d/f"), x;
		nfs4r_server_id e;
		uint64_t before;

		works(n);
		n->cfg.idle_ms = 20 * LEASE; /* it keeps what it has won */
		net_retune(n);
		net_writers(n, P, &f, true);
		assert_int_equal(finish(n, op_write(n, P, &f, "first", true)), NFS4R_OK);
		assert_true(acting(n, P, &f));
		e = net_new_server(n);
		assert_false(serves(n, e));
		assert_true(net_add(n, P, e));
		until_it_copies(n, e);
		assert_true(view_of(n, e).learner && !serves(n, e));
		assert_int_equal(view_of(n, P).adopted.voters, ONE);
		before = n->now;
		assert_int_equal(finish(n, op_write(n, P, &f, "second", true)), NFS4R_OK);
		assert_int_equal(finish(n, create(n, P, "e", "meanwhile")), NFS4R_OK);
		assert_int_equal(n->now, before); /* nobody counts on the new one, and nobody waits for it */
		copies(n, e);
		assert_true(until_all_are(n, BOTH));
		assert_int_equal(view_of(n, e).adopted.nbook, 2);
		assert_true(controls(n, e, P, &f));
		assert_int_equal(finish(n, op_write(n, P, &f, "third", true)), NFS4R_OK);
		net_writers(n, P, &f, false);
		assert_int_equal(finish(n, op_close(n, P, &f)), NFS4R_OK);
		assert_int_equal(finish(n, create(n, e, "e", "of_the_new_one")), NFS4R_OK);
		assert_int_equal(finish(n, chmod_(n, e, "d/f")), NFS4R_OK);
		net_quiet(n);
		x = at(n, "e");
		assert_true(memtree_lookup(n->s[e].tree, &x, "meanwhile", &x));
		net_free(n);
	}
}

/* One more, and then the first one may be lost. */
static void a_third_is_added(void **state)
{
	struct net *n = net_lone(NFS4R_DURABILITY_COMMIT);

	works(n);
	assert_true(net_add(n, P, net_new_server(n)));
	assert_true(until_all_are(n, BOTH));
	assert_true(net_add(n, Q, net_new_server(n)));
	assert_true(until_all_are(n, ALL));
	do_chmod(n, P, "d/f");
	net_crash(n, P);
	assert_true(until_removed(n, Q, P, 10 * LEASE));
	assert_int_equal(keep_trying_chmod(n, S, "d/f", 10 * LEASE), NFS4R_OK);
	assert_int_equal(keep_trying_chmod(n, Q, "d/f", 10 * LEASE), NFS4R_OK);
	net_restart(n, P, true);
	assert_true(until_all_are(n, ALL));
	net_quiet(n);
	net_free(n);
}

/* The first one starts anew at each moment of the way, and its machine crashes there. */
static void restart_on_the_way(uint64_t ms, bool intact)
{
	struct net *n = net_lone(NFS4R_DURABILITY_COMMIT);
	nfs4r_server_id e;

	works(n);
	e = net_new_server(n);
	assert_true(net_add(n, P, e));
	net_run(n, ms);
	net_crash(n, P);
	net_run(n, LEASE / 2);
	net_restart(n, P, intact);
	net_run(n, 4 * LEASE);
	if (!(view_of(n, P).adopted.servers & NFS4R_BIT(e)))
		assert_true(net_add(n, P, e)); /* it was stopped before that was on its disk, and is alone */
	if (!until_all_are(n, BOTH))
		fail_msg("restarted after %u ms", (unsigned)ms);
	assert_int_equal(keep_trying_chmod(n, e, "d/f", 5 * LEASE), NFS4R_OK);
	assert_int_equal(keep_trying_chmod(n, P, "d/f", 5 * LEASE), NFS4R_OK);
	net_quiet(n);
	net_free(n);
}

static void it_starts_anew_on_the_way(void **state)
{
	for (uint64_t ms = 0; ms < 1500; ms += 30) {
		restart_on_the_way(ms, true);
		restart_on_the_way(ms, false);
	}
}

/* The new one never comes: the first one goes on, also over a restart, and takes it out again. */
static void a_new_one_that_never_comes(void **state)
{
	struct net *n = net_lone(NFS4R_DURABILITY_LOCAL);
	nfs4r_server_id e = net_new_server(n);

	net_crash(n, e);
	works(n);
	assert_true(net_add(n, P, e));
	net_run(n, 4 * LEASE);
	assert_true(view_of(n, P).adopted.servers & NFS4R_BIT(e));
	assert_int_equal(finish(n, chmod_(n, P, "d/f")), NFS4R_OK);
	net_crash(n, P);
	net_restart(n, P, true);
	assert_true(serves(n, P));
	assert_int_equal(finish(n, chmod_(n, P, "d/g")), NFS4R_OK);
	net_crash(n, P);
	net_restart(n, P, false); /* the new one may have got what this one lost (log 4.7) */
	net_run(n, 4 * LEASE);
	assert_int_equal(n->s[P].recovered, 0);
	assert_true(net_take_out(n, P, e, false));
	assert_true(until_all_are(n, ONE));
	net_run(n, LEASE);
	assert_int_equal(n->s[P].recovered, 1);
	assert_int_equal(keep_trying_chmod(n, P, "d/g", 5 * LEASE), NFS4R_OK);
	net_restart(n, e, true);
	assert_true(net_add(n, P, e));
	assert_true(until_all_are(n, BOTH));
	net_quiet(n);
	net_free(n);
}

static void refused(struct net *n, nfs4r_server_id s, nfs4r_server_id id, const char *text)
{
	char why[200];

	assert_int_equal(nfs4r_core_may_add(n->s[s].core, id, why, sizeof(why)), NFS4R_INVAL);
	if (!strstr(why, text))
		fail_msg("\"%s\" does not say \"%s\"", why, text);
}

static void what_is_refused(void **state)
{
	struct net *n = net_lone(NFS4R_DURABILITY_LOCAL), *fixed = net_new(1);
	char why[200];
	uint64_t lost;

	refused(fixed, P, Q, "Lease = 0");
	net_free(fixed);
	refused(n, P, P, "already");
	refused(n, P, 0, "1 to 15");
	refused(n, P, 16, "1 to 15");
	assert_false(net_take_out(n, P, P, true));
	assert_false(net_take_out(n, P, Q, true));
	assert_false(net_reconfigure(n, P, ONE));
	net_new_server(n);
	net_new_server(n);
	n->s[P].slow_disk = n->s[P].waits = true; /* the view with the first one is not there yet */
	assert_true(net_add(n, P, Q));
	refused(n, P, S, "one at a time");
	n->s[P].slow_disk = n->s[P].waits = false;
	net_run(n, 20 * LEASE);
	assert_true(until_all_are(n, BOTH));
	refused(n, P, Q, "already");
	assert_int_equal(nfs4r_core_may_remove(n->s[P].core, Q, true, &lost, why, sizeof(why)), NFS4R_INVAL);
	assert_non_null(strstr(why, "no majority without it")); /* two do not become one */
	net_free(n);
}

/* Its configuration names the second one before that is added: it goes by its store, and does not wait for it. */
static void a_configuration_adds_nobody(void **state)
{
	struct net *n = net_lone(NFS4R_DURABILITY_COMMIT);
	nfs4r_server_id e;

	works(n);
	n->cfg.servers = BOTH;
	net_crash(n, P);
	net_restart(n, P, true);
	e = net_new_server(n);
	net_run(n, 4 * LEASE);
	assert_int_equal(view_of(n, P).adopted.servers, ONE);
	assert_true(serves(n, P));
	assert_false(serves(n, e)); /* its copy is empty */
	assert_int_equal(finish(n, chmod_(n, P, "d/f")), NFS4R_OK);
	assert_true(net_add(n, P, e));
	assert_true(until_all_are(n, BOTH));
	net_quiet(n);
	net_free(n);
}

/* Two learners at once; each becomes a voter by a view of its own. */
static void two_learners(void **state)
{
	struct net *n = net_lone(NFS4R_DURABILITY_COMMIT);

	works(n);
	net_new_server(n);
	net_new_server(n);
	assert_true(net_add(n, P, Q));
	until_it_copies(n, Q);
	assert_true(net_add(n, P, S));
	until_it_copies(n, S);
	copies(n, S);
	copies(n, Q);
	assert_true(until_all_are(n, ALL));
	net_quiet(n);
	net_free(n);
}

/* From three to two, and back. With two left the other one is off for good: only by word. */
static void fewer_again(void **state)
{
	struct net *n = net_lone(NFS4R_DURABILITY_COMMIT);

	works(n);
	assert_true(net_add(n, P, net_new_server(n)));
	assert_true(until_all_are(n, BOTH));
	assert_true(net_add(n, P, net_new_server(n)));
	assert_true(until_all_are(n, ALL));
	assert_true(net_take_out(n, Q, P, false)); /* the one with which it began */
	assert_true(until_all_are(n, NFS4R_BIT(Q) | NFS4R_BIT(S)));
	assert_int_equal(finish(n, chmod_(n, S, "d/f")), NFS4R_OK);
	expect_equal(n, Q, S);
	net_crash(n, P);
	net_restart(n, P, true); /* by its configuration it is alone; it goes by its store */
	net_run(n, 2 * LEASE);
	assert_true(view_of(n, P).taken_out && !serves(n, P));
	net_crash(n, S);
	net_run(n, 4 * LEASE);
	assert_false(serves(n, Q));
	assert_true(net_reconfigure(n, Q, NFS4R_BIT(Q)));
	assert_true(until_all_are(n, NFS4R_BIT(Q)));
	assert_true(net_add(n, Q, P));
	assert_true(until_all_are(n, BOTH));
	assert_int_equal(keep_trying_chmod(n, P, "d/f", 5 * LEASE), NFS4R_OK);
	expect_equal(n, P, Q);
	net_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_alone_serves_at_once),
		cmocka_unit_test(a_second_is_added),
		cmocka_unit_test(a_third_is_added),
		cmocka_unit_test(it_starts_anew_on_the_way),
		cmocka_unit_test(a_new_one_that_never_comes),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(a_configuration_adds_nobody),
		cmocka_unit_test(two_learners),
		cmocka_unit_test(fewer_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
