/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The policy of hierarchical control, when it is content with less (control 7.1, 7.4, 7.5, 7.6,
 * control 7.9): narrowing, READ pressure, dropping back, revokes, hold-off.
 */
#include <stdio.h>
#include <string.h>

#include "scenario/trees.h"

#include "lib/unit.h"

/* ---- control 7.4: narrowing ------------------------------------------------------------ */

#define SIBLINGS "d/ d/f d/x/ d/x/f d/x/w/ d/y/ d/y/f d/y/v/"

/* P deep on d and busy in @dir; another site wants d/y. */
static struct net *busy_in(const char *dir)
{
	struct net *n = net_policy(SIBLINGS);

	do_claim(n, P, "d", NFS4R_DEEP);
	do_create(n, P, dir, "first");
	assert_int_equal(stats(n, P).elections, 1);
	return n;
}

/* What is used is asked for before the deep claim closes: Q gets its sibling, P keeps its own and waits for nothing. */
static void siblings_each_keep_their_own(void **state)
{
	struct net *n = busy_in("d/x");
	struct client *c = create(n, Q, "d/y", "q");
	char name[8];

	for (int i = 0; i < 60; i++) { /* P's burst goes on, and puts off nothing */
		snprintf(name, sizeof(name), "p%d", i);
		assert_true(create(n, P, "d/x", name)->done);
		net_run(n, 7);
	}
	assert_int_equal(finish(n, c), NFS4R_OK);
	assert_int_equal(c->op.primary, P); /* the first of a site is forwarded, with a revoke */
	assert_int_equal(depth_of(n, P, "d"), 0);
	assert_int_equal(depth_of(n, P, "d/x"), NFS4R_DEEP);
	assert_int_equal(stats(n, P).deescalations, 1);
	c = create(n, Q, "d/y", "q2");
	assert_int_equal(finish(n, c), NFS4R_OK);
	assert_int_equal(c->op.primary, Q);
	assert_true(create(n, Q, "d/y", "q3")->done);
	assert_true(create(n, P, "d/x", "after")->done);
	assert_int_equal(stats(n, P).elections, 2);
	assert_int_equal(n->sent[NFS4R_MSG_FORWARD], 1);
	net_quiet(n);
	net_free(n);
}

/*
 * The same, and P makes, closes and removes files in d itself all the time, for no further election. That puts nothing off for Q: who has not got what
 * was made after `last` does not know it (control 5.1 b).
 */
static void new_files_put_nothing_off(void **state)
{
	struct net *n = busy_in("d");
	struct client *q = create(n, Q, "d/y", "q"), *c;
	int i;

	for (i = 0; i < 200; i++) {
		c = create(n, P, "d", "k");
		assert_true(c->done);
		net_writers(n, P, &c->op.result, true);
		net_writers(n, P, &c->op.result, false);
		assert_true(unlink_(n, P, "d", "k")->done);
		net_run(n, 2);
		if (depth_of(n, Q, "d/y"))
			break;
		if (q->done)
			q = create(n, Q, "d/y", i % 2 ? "q1" : "q2");
	}
	assert_true(i < 200);
	assert_int_equal(depth_of(n, P, "d"), NFS4R_SHALLOW);
	assert_int_equal(stats(n, P).elections, 2);
	net_quiet(n);
	net_free(n);
}

/* The highest directory that does not contain what is wanted is kept, not each one used. */
static void narrowing_keeps_whole_branches(void **state)
{
	struct net *n = busy_in("d/x/w");

	finish(n, create(n, Q, "d/y", "q"));
	net_run(n, n->cfg.revoke_ms + 60);
	assert_int_equal(depth_of(n, P, "d"), 0);
	assert_int_equal(depth_of(n, P, "d/x"), NFS4R_DEEP);
	assert_int_equal(depth_of(n, P, "d/x/w"), 0);
	assert_true(create(n, P, "d/x", "b")->done);
	net_quiet(n);
	net_free(n);
}

/* Where the directory used contains what is wanted, shallow control of it is kept. */
static void narrowing_to_shallow(void **state)
{
	struct net *n = busy_in("d");

	finish(n, create(n, Q, "d/y", "q"));
	net_run(n, n->cfg.revoke_ms + 60);
	assert_int_equal(depth_of(n, P, "d"), NFS4R_SHALLOW);
	assert_true(create(n, P, "d", "b")->done);
	finish(n, create(n, Q, "d/y", "q2"));
	assert_true(create(n, Q, "d/y", "q3")->done);
	net_quiet(n);
	net_free(n);
}

/* What P itself uses is wanted: nothing to keep. */
static void what_is_wanted_is_not_kept(void **state)
{
	struct net *n = busy_in("d/y");

	finish(n, create(n, Q, "d/y", "q"));
	net_run(n, n->cfg.revoke_ms + 60);
	assert_int_equal(stats(n, P).deescalations, 0);
	assert_int_equal(depth_of(n, P, "d"), 0);
	assert_int_equal(depth_of(n, P, "d/y"), 0);
	net_quiet(n);
	net_free(n);
}

/* A directory whose deep control was revoked is asked for shallowly for a while. */
static void contested_is_asked_shallowly(void **state)
{
	struct net *n = net_policy(SIBLINGS);

	n->cfg.escalate_count = 0;
	net_retune(n);
	do_create(n, P, "d", "a");
	finish(n, create(n, Q, "d/y", "q"));
	net_run(n, 3000); /* all gone */
	assert_int_equal(rows(n, P), 0);
	do_create(n, P, "d", "b");
	assert_int_equal(depth_of(n, P, "d"), NFS4R_SHALLOW);
	net_run(n, n->cfg.contested_ms);
	do_create(n, P, "d", "c");
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP);
	net_quiet(n);
	net_free(n);
}

/* A replacement that cannot be won holds the deep claim up no longer than an election may take. */
static void narrowing_that_is_not_won_ends(void **state)
{
	struct net *n = busy_in("d/x");

	net_hold(n, P, S, NFS4R_MSG_PROPOSE);
	finish(n, create(n, Q, "d/y", "q"));
	for (int i = 0; i < 12; i++) {
		create(n, P, "d/x", (char[]){ 'k', (char)('a' + i), 0 });
		net_run(n, 100);
	}
	assert_int_equal(depth_of(n, P, "d"), 0);
	net_pass(n);
	net_quiet(n);
	net_free(n);
}

/* Control 7.4: many READs of others for what is not updated here narrow the deep control. */
static void foreign_reads_narrow(void **state)
{
	struct net *n = busy_in("d/x");

	reads(n, P, "d/x", 10 * n->cfg.share_reads); /* of what is updated here: rightly asked */
	net_run(n, 100);
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP);
	reads(n, P, "d/y", n->cfg.share_reads - 1);
	net_run(n, 100);
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP);
	reads(n, P, "d/y", 1);
	net_run(n, 100);
	assert_int_equal(depth_of(n, P, "d"), 0);
	assert_int_equal(depth_of(n, P, "d/x"), NFS4R_DEEP);
	assert_int_equal(stats(n, P).deescalations, 1);
	assert_true(create(n, P, "d/x", "more")->done);
	net_quiet(n);
	net_free(n);
}

/* ---- control 7.9: dropping back --------------------------------------------------------- */

/* P deep+ on d by four old files, and updating directories below all the time. */
static struct net *raised(void)
{
	struct net *n = net_policy("d/ d/0 d/1 d/2 d/3 d/4 d/x/ d/x/f");

	do_chmod(n, P, "d/0");
	do_chmod(n, P, "d/1");
	do_chmod(n, P, "d/2");
	do_chmod(n, P, "d/3");
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP_PLUS);
	assert_true(chmod_(n, P, "d/4")->done);
	return n;
}

/* Directory updates do not keep deep+, they make plain deep control follow it, without a wait. */
static void drop_back_by_timer(void **state)
{
	struct net *n = raised();
	struct nfs4r_oid f = at(n, "d/x/f");
	char name[8];

	assert_int_equal(route(n, S, &f, false), P);
	for (int i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "k%d", i);
		assert_true(create(n, P, "d/x", name)->done);
		net_run(n, 47);
	}
	assert_int_equal(stats(n, P).drops, 1);
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP);
	assert_int_equal(route(n, S, &f, false), S); /* files are read locally again */
	net_quiet(n);
	net_free(n);
}

/* Without directory updates nothing follows. */
static void drop_of_an_idle_deep_plus(void **state)
{
	struct net *n = raised();
	uint64_t paid = stats(n, P).elections;

	net_run(n, n->cfg.deep_ms + 100);
	assert_int_equal(depth_of(n, P, "d"), 0);
	assert_int_equal(stats(n, P).drops, 1);
	assert_int_equal(stats(n, P).elections, paid);
	net_quiet(n);
	net_free(n);
}

/* READs of others that outweigh what the deep+ saves end it; plain deep control first, where directories are updated. */
static void drop_back_by_reads(void **state)
{
	struct net *n = raised();

	do_create(n, P, "d/x", "a");
	reads(n, P, "d/x/f", n->cfg.share_reads); /* some updates were saved, which counts against them */
	net_run(n, 100);
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP_PLUS);
	reads(n, P, "d/x/f", 4 * 5);
	assert_true(create(n, P, "d/x", "b")->done); /* the deep+ covers until the plain one is won */
	net_run(n, 100);
	assert_int_equal(stats(n, P).drops, 1);
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP);
	assert_true(create(n, P, "d/x", "c")->done);
	net_quiet(n);
	net_free(n);
}

/* ---- control 7.5: revokes ------------------------------------------------------------------ */

/* One object below is wanted: the deep claim stays for revoke_ms, used or not, and no longer. */
static void revoke_shortens_a_deep_timer(void **state)
{
	struct net *n = net_policy(SIBLINGS);

	n->cfg.revoke_ms = 300;
	net_retune(n);
	do_create(n, P, "d", "a");
	revoke(n, Q, P, "d/y/f", 1);
	net_run(n, 200);
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP);
	do_create(n, P, "d", "b");
	net_run(n, 80);
	assert_int_equal(depth_of(n, P, "d"), NFS4R_SHALLOW); /* narrowed to what was used */
	net_quiet(n);
	net_free(n);
}

static void second_revoke_of_higher_prio_ends_it(void **state)
{
	struct net *n = net_policy(SIBLINGS);

	n->cfg.revoke_ms = 300;
	net_retune(n);
	do_claim(n, P, "d", NFS4R_DEEP);
	revoke(n, Q, P, "d/y/f", 1);
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP);
	revoke(n, Q, P, "d/y/f", 1); /* the same again changes nothing */
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP);
	revoke(n, Q, P, "d/y/f", 2);
	assert_int_equal(depth_of(n, P, "d"), 0);
	net_quiet(n);
	net_free(n);
}

/*
 * P works on f, and Q and S do so beside it. What they forward is served, so nobody waits for f: that the second one's server number is the higher is
 * no reason to let go at once, after which the writes of all three would wait for a release and an election.
 */
static void two_who_forward_end_nothing(void **state)
{
	struct net *n = net_policy("f");
	struct client *c;

	n->cfg.revoke_ms = 300;
	net_retune(n);
	do_chmod(n, P, "f");
	c = chmod_(n, Q, "f");
	assert_int_equal(finish(n, c), NFS4R_OK);
	assert_int_equal(c->done_at - c->started, RTT(n));
	do_chmod(n, P, "f");
	c = chmod_(n, S, "f");
	assert_int_equal(finish(n, c), NFS4R_OK);
	assert_int_equal(c->done_at - c->started, RTT(n));
	assert_int_equal(depth_of(n, P, "f"), NFS4R_SHALLOW);
	c = chmod_(n, Q, "f");
	assert_int_equal(finish(n, c), NFS4R_OK);
	assert_int_equal(c->done_at - c->started, RTT(n));
	assert_int_equal(stats(n, P).elections, 1);
	assert_int_equal(stats(n, Q).elections + stats(n, S).elections, 0);
	net_run(n, n->cfg.revoke_ms + RTT(n));
	assert_int_equal(depth_of(n, P, "f"), 0);
	net_quiet(n);
	net_free(n);
}

/* Both sites work in one directory all the time: neither has it for long, neither waits for long. */
static void two_who_never_pause_share(void **state)
{
	static const nfs4r_server_id sites[] = { P, Q };
	struct net *n = net_policy("d/");
	struct client *c[2] = { NULL };
	uint32_t done[2] = { 0 };
	uint64_t longest = 0, since[2], end;
	char name[16];

	n->cfg.turn_ms = 500;
	n->cfg.holdoff_ms = 0; /* as measured */
	net_retune(n);
	end = n->now + 20000;
	since[0] = since[1] = n->now;
	for (int k = 0; n->now < end; k++) {
		for (int i = 0; i < 2; i++) {
			if (c[i] && !c[i]->done)
				continue;
			if (n->now - since[i] > longest)
				longest = n->now - since[i];
			done[i] += c[i] != NULL;
			snprintf(name, sizeof(name), "%d.%d", i, k);
			c[i] = create(n, sites[i], "d", name);
			since[i] = n->now;
		}
		net_run(n, 5);
	}
	assert_true(stats(n, P).turns > 3 && stats(n, Q).turns > 3);
	assert_true(done[0] > 20000 / 5 / 3 && done[1] > 20000 / 5 / 3);
	assert_true(longest <= 10 * RTT(n));
	for (int i = 0; i < 2; i++)
		assert_int_equal(finish(n, c[i]), NFS4R_OK);
	net_quiet(n);
	net_free(n);
}

/* ---- control 7.6: hold-off ------------------------------------------------------------------- */

/* After a forced release this server asks again only two round trips later, as measured by its elections. */
static void hold_off_is_two_round_trips(void **state)
{
	struct net *n = net_policy("f g");
	struct client *c;
	uint64_t released;

	n->cfg.holdoff_ms = 0;
	n->cfg.revoke_ms = 0;
	n->delay = 40;
	net_retune(n);
	net_run(n, 200);
	do_chmod(n, P, "f");
	revoke(n, Q, P, "f", 1);
	while (depth_of(n, P, "f") || rows(n, P))
		net_run(n, 1);
	released = n->now;
	c = chmod_(n, P, "f");
	assert_int_equal(finish(n, c), NFS4R_OK);
	assert_true(c->executed_at >= released + 2 * RTT(n) + RTT(n) - 2);
	assert_true(c->executed_at <= released + 2 * RTT(n) + RTT(n) + 2);
	net_quiet(n);
	net_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(siblings_each_keep_their_own),
		cmocka_unit_test(new_files_put_nothing_off),
		cmocka_unit_test(narrowing_keeps_whole_branches),
		cmocka_unit_test(narrowing_to_shallow),
		cmocka_unit_test(what_is_wanted_is_not_kept),
		cmocka_unit_test(contested_is_asked_shallowly),
		cmocka_unit_test(narrowing_that_is_not_won_ends),
		cmocka_unit_test(foreign_reads_narrow),
		cmocka_unit_test(drop_back_by_timer),
		cmocka_unit_test(drop_of_an_idle_deep_plus),
		cmocka_unit_test(drop_back_by_reads),
		cmocka_unit_test(revoke_shortens_a_deep_timer),
		cmocka_unit_test(second_revoke_of_higher_prio_ends_it),
		cmocka_unit_test(two_who_forward_end_nothing),
		cmocka_unit_test(two_who_never_pause_share),
		cmocka_unit_test(hold_off_is_two_round_trips),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
