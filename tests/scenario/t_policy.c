/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The policy of hierarchical control, when it asks for more (control 4.1, 3.8, 7.4, 7.8): optional
 * deep, promotion, deep+. When it is content with less is in t_narrow.c.
 */
#include <stdio.h>
#include <string.h>

#include "scenario/trees.h"

#include "lib/unit.h"

/* ---- control 4.1: optional deep --------------------------------------------------------- */

/* A burst in an old directory costs one election; what follows the first operation is answered at once. */
static void one_election_for_a_burst(void **state)
{
	struct net *n = net_policy("d/ d/f d/x/ d/x/y/");
	struct client *c = create(n, P, "d", "a");

	assert_int_equal(finish(n, c), NFS4R_OK);
	assert_int_equal(c->done_at - c->started, RTT(n));
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP);
	c = unlink_(n, P, "d", "f");
	assert_true(c->done);
	c = create(n, P, "d/x/y", "b");
	assert_true(c->done);
	c = op_name(n, P, NFS4R_OP_MKDIR, &c->op.dir, "m");
	assert_true(c->done);
	c = create(n, P, "d/x/y/m", "c");
	assert_true(c->done);
	c = unlink_(n, P, "d/x/y", "b");
	assert_true(c->done);
	assert_int_equal(stats(n, P).elections, 1);
	assert_int_equal(stats(n, P).deep_asked, 1);
	assert_int_equal(stats(n, P).deep_refused, 0);
	net_quiet(n);
	net_free(n);
}

/* Somebody is known to be below: nothing but shallow is asked for, and nothing is lost by it. */
static void shallow_where_others_are_known_below(void **state)
{
	struct net *n = net_policy("d/ d/x/ d/x/f");

	do_chmod(n, Q, "d/x/f");
	do_create(n, P, "d", "a");
	assert_int_equal(depth_of(n, P, "d"), NFS4R_SHALLOW);
	assert_int_equal(depth_of(n, Q, "d/x/f"), NFS4R_SHALLOW);
	assert_int_equal(stats(n, P).deep_asked, 0);
	assert_int_equal(stats(n, P).elections, 1);
	net_quiet(n);
	net_free(n);
}

/* P has not heard of Q below: refused, downgraded to shallow, the operation ends well; then contested for a while. */
static void refused_deep_falls_to_shallow(void **state)
{
	struct net *n = net_policy("d/ d/x/ d/x/f");
	struct client *c;

	n->cfg.escalate_count = 0;
	net_retune(n);
	net_hold(n, Q, P, NFS4R_MSG_PROPOSE);
	do_chmod(n, Q, "d/x/f");
	c = create(n, P, "d", "a");
	assert_true(asking(n, P, "d"));
	assert_int_equal(finish(n, c), NFS4R_OK);
	assert_true(c->done_at - c->started <= 3 * RTT(n)); /* the refusal, a short wait, the second election */
	assert_int_equal(stats(n, P).deep_asked, 1);
	assert_int_equal(stats(n, P).deep_refused, 1);
	assert_int_equal(depth_of(n, P, "d"), NFS4R_SHALLOW);
	net_pass(n);
	net_run(n, 3000); /* nobody controls anything any more */
	do_create(n, P, "d", "b");
	assert_int_equal(depth_of(n, P, "d"), NFS4R_SHALLOW);
	net_run(n, n->cfg.contested_ms);
	do_create(n, P, "d", "c");
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP);
	assert_int_equal(stats(n, P).deep_refused, 1);
	net_quiet(n);
	net_free(n);
}

/* Control 3.1, 0: the child is covered by the deep control asked for with it; one with two names never is. */
static void only_multi_children_need_their_own(void **state)
{
	struct net *n = net_policy("d/ d/f d/h e/ e/h=d/h");
	struct nfs4r_oid f = at(n, "d/f"), h = at(n, "d/h");

	assert_int_equal(finish(n, unlink_(n, P, "d", "f")), NFS4R_OK);
	assert_false(controls(n, P, P, &f));
	net_quiet(n);
	assert_int_equal(finish(n, unlink_(n, P, "d", "h")), NFS4R_OK);
	assert_true(acting(n, P, &h));
	assert_int_equal(stats(n, P).elections, 2); /* d and h in one claim */
	net_quiet(n);
	net_free(n);
}

/* Control 3: LINK needs explicit control of the file, whatever deep control is asked for besides. */
static void link_asks_for_the_file_too(void **state)
{
	struct net *n = net_policy("d/ d/f");
	struct nfs4r_oid f = at(n, "d/f"), d = at(n, "d");

	assert_int_equal(finish(n, op_link(n, P, &f, &d, "g")), NFS4R_OK);
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP);
	assert_int_equal(depth_of(n, P, "d/f"), NFS4R_SHALLOW);
	assert_int_equal(stats(n, P).elections, 1);
	net_quiet(n);
	net_free(n);
}

/* Control 3.8, 5.3: an old file below plain deep control is written at once; its own control is asked for beside it. */
static void file_below_plain_deep_gets_its_own(void **state)
{
	struct net *n = net_policy("d/ d/f");
	struct nfs4r_oid f = at(n, "d/f");
	struct client *c;

	do_claim(n, P, "d", NFS4R_DEEP);
	net_hold(n, P, Q, NFS4R_MSG_ENTRIES);
	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	c = write_(n, P, "d/f");
	assert_true(c->done);
	assert_true(asking(n, P, "d/f"));
	c = op_close(n, P, &f);
	assert_false(c->done);
	assert_int_equal(finish(n, c), NFS4R_OK);
	assert_int_equal(c->done_at - c->started, RTT(n)); /* nobody has the entry; all acked the control */
	assert_int_equal(route(n, Q, &f, false), P);
	net_pass(n);
	net_quiet(n);
	net_free(n);
}

/* Control 7.1: deep control lives as long as directories are updated anywhere below it; writing files does not count. */
static void deep_timer_counts_directory_updates(void **state)
{
	struct net *n = net_policy("d/ d/x/ d/x/y/ d/f");

	do_create(n, P, "d", "a");
	net_run(n, 600);
	do_create(n, P, "d/x/y", "b");
	net_run(n, 600);
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP); /* by b alone */
	do_chmod(n, P, "d/f");
	net_run(n, 500);
	assert_int_equal(depth_of(n, P, "d"), 0); /* d/f did not keep it */
	assert_int_equal(depth_of(n, P, "d/f"), NFS4R_SHALLOW);
	assert_int_equal(stats(n, P).elections, 2);
	net_quiet(n);
	net_free(n);
}

/* ---- control 7.4: promotion ----------------------------------------------------------------- */

#define THREE "d/ d/x/ d/y/ d/z/ d/u/ d/u/f"

/* Three elections in different places below d: d is asked for; once that is won, the ones below close. */
static void promotion_after_elections_below(void **state)
{
	struct net *n = net_policy(THREE);

	do_create(n, P, "d/x", "a");
	do_create(n, P, "d/y", "a");
	assert_int_equal(stats(n, P).escalations, 0);
	do_create(n, P, "d/z", "a");
	assert_int_equal(stats(n, P).escalations, 1);
	net_run(n, RTT(n));
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP);
	assert_int_equal(depth_of(n, P, "d/x"), 0);
	assert_int_equal(depth_of(n, P, "d/y"), 0);
	assert_int_equal(depth_of(n, P, "d/z"), 0);
	assert_true(create(n, P, "d/u", "a")->done);
	assert_int_equal(stats(n, P).elections, 4);
	assert_int_equal(stats(n, P).escalations_lost, 0);
	net_quiet(n);
	net_free(n);
}

static void no_promotion_over_others(void **state)
{
	struct net *n = net_policy(THREE);

	do_chmod(n, Q, "d/u/f");
	do_create(n, P, "d/x", "a");
	do_create(n, P, "d/y", "a");
	do_create(n, P, "d/z", "a");
	assert_int_equal(stats(n, P).escalations, 0);
	assert_int_equal(depth_of(n, P, "d/x"), NFS4R_DEEP);
	assert_int_equal(depth_of(n, P, "d/z"), NFS4R_DEEP);
	net_quiet(n);
	net_free(n);
}

/* P does not know that Q is below: the promotion is refused, given up, and costs nothing that P had. */
static void refused_promotion_is_given_up(void **state)
{
	struct net *n = net_policy(THREE);

	net_hold(n, Q, P, NFS4R_MSG_PROPOSE);
	do_chmod(n, Q, "d/u/f");
	do_create(n, P, "d/x", "a");
	do_create(n, P, "d/y", "a");
	do_create(n, P, "d/z", "a");
	net_run(n, RTT(n));
	assert_int_equal(stats(n, P).escalations, 1);
	assert_int_equal(stats(n, P).escalations_lost, 1);
	assert_int_equal(depth_of(n, P, "d"), 0);
	assert_false(asking(n, P, "d"));
	assert_int_equal(depth_of(n, P, "d/x"), NFS4R_DEEP);
	assert_true(create(n, P, "d/x", "b")->done);
	net_pass(n);
	net_quiet(n);
	net_free(n);
}

/* A rival that asks for something below while the promotion is under way gets it: the promotion yields, whatever the ids. */
static void promotion_yields_to_a_rival(void **state)
{
	struct net *n = net_policy(THREE);
	struct client *q;

	do_create(n, S, "d/x", "a");
	do_create(n, S, "d/y", "a");
	net_hold(n, S, Q, NFS4R_MSG_PROPOSE);
	create(n, S, "d/z", "a"); /* Q has heard neither of this nor of the promotion */
	net_run(n, n->delay);
	q = chmod_(n, Q, "d/u/f");
	net_run(n, 3 * RTT(n));
	assert_int_equal(stats(n, S).escalations, 1);
	assert_int_equal(stats(n, S).escalations_lost, 1);
	assert_int_equal(finish(n, q), NFS4R_OK);
	assert_int_equal(q->op.primary, Q);
	net_pass(n);
	net_quiet(n);
	net_free(n);
}

/* Control 5.2: what is only asked for by the policy makes no answer wait. */
static void promotion_delays_no_answer(void **state)
{
	struct net *n = net_policy(THREE);

	do_create(n, P, "d/x", "a");
	do_create(n, P, "d/y", "a");
	net_hold(n, P, S, NFS4R_MSG_PROPOSE);
	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	create(n, P, "d/z", "a");
	net_run(n, RTT(n));
	assert_int_equal(stats(n, P).escalations, 1);
	assert_true(asking(n, P, "d"));
	assert_true(create(n, P, "d/x", "b")->done);
	net_pass(n);
	net_quiet(n);
	net_free(n);
}

/* One of all does not answer: the promotion is given up like an election without majority (control 4.6). */
static void promotion_without_all_ends(void **state)
{
	struct net *n = net_policy(THREE);

	do_create(n, P, "d/x", "a");
	do_create(n, P, "d/y", "a");
	net_hold(n, P, S, NFS4R_MSG_PROPOSE);
	create(n, P, "d/z", "a");
	net_run(n, n->cfg.op_wait_ms + 5);
	assert_int_equal(stats(n, P).escalations_lost, 1);
	assert_false(asking(n, P, "d"));
	net_pass(n);
	net_quiet(n);
	net_free(n);
}

/* ---- control 7.8: deep+ ------------------------------------------------------------------------ */

static const char many[] = "d/ d/0 d/1 d/2 d/3 d/4 d/5 d/6 d/7 d/8 d/9 d/x/ d/x/0 d/x/1 d/x/2 d/x/3 d/x/4 d/x/5 d/x/6 d/x/7 d/x/8 d/x/9";

static void chmod_all(struct net *n, const char *dir)
{
	char path[32];

	for (int i = 0; i < 10; i++) {
		snprintf(path, sizeof(path), "%s/%d", dir, i);
		assert_int_equal(finish(n, chmod_(n, P, path)), NFS4R_OK);
	}
}

/* chmod -R: a few files are paid for, then deep+ of the directory completes the rest without a message to wait for. */
static void storm_on_old_files_raises(void **state)
{
	struct net *n = net_policy(many);
	uint64_t start = n->now, paid;

	chmod_all(n, "d");
	assert_int_equal(stats(n, P).raises, 1);
	assert_int_equal(stats(n, P).raises_lost, 0);
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP_PLUS);
	paid = stats(n, P).elections;
	assert_true(paid <= n->cfg.deep_plus_count + 2); /* the files, one more while the deep+ is elected, and that */
	assert_true(n->now - start <= (n->cfg.deep_plus_count + 1) * RTT(n));
	start = n->now;
	chmod_all(n, "d/x");
	assert_int_equal(n->now, start); /* nothing was waited for */
	assert_int_equal(stats(n, P).elections, paid);
	net_quiet(n);
	net_free(n);
}

/* Under plain deep control the same: three explicit ones, then the deep+. */
static void storm_below_plain_deep_raises(void **state)
{
	struct net *n = net_policy(many);

	do_claim(n, P, "d", NFS4R_DEEP);
	chmod_all(n, "d/x");
	chmod_all(n, "d");
	assert_int_equal(stats(n, P).raises, 1 + (depth_of(n, P, "d") == NFS4R_DEEP_PLUS));
	assert_int_equal(depth_of(n, P, "d/x"), NFS4R_DEEP_PLUS);
	assert_true(stats(n, P).elections <= 1 + 2 * (n->cfg.deep_plus_count + 1));
	net_quiet(n);
	net_free(n);
}

/* The files of others are not drawn in: no deep+ over them, the storm goes on file by file. */
static void no_raise_over_others(void **state)
{
	struct net *n = net_policy(many);

	do_chmod(n, Q, "d/x/0");
	chmod_all(n, "d");
	assert_int_equal(stats(n, P).raises, 0);
	assert_int_equal(depth_of(n, P, "d"), 0);
	assert_int_equal(depth_of(n, P, "d/9"), NFS4R_SHALLOW);
	net_quiet(n);
	net_free(n);
}

/* One old file again and again is not a storm. */
static void one_file_raises_nothing(void **state)
{
	struct net *n = net_policy(many);

	for (int i = 0; i < 10; i++) {
		do_chmod(n, P, "d/0");
		net_run(n, 150);
	}
	assert_int_equal(stats(n, P).raises, 0);
	assert_int_equal(stats(n, P).elections, 1);
	net_quiet(n);
	net_free(n);
}

/* ---- what the policy asks for is in nobody's way ------------------------------------------- */

/* One directory that is elected now and then is one place, whatever is above it: core.h says "in different places". */
static void one_place_promotes_nothing(void **state)
{
	struct net *n = net_policy("d/ d/x/");

	for (int i = 0; i < 3; i++) {
		do_create(n, P, "d/x", (char[]){ (char)('a' + i), 0 });
		net_run(n, 2500);
	}
	assert_int_equal(stats(n, P).escalations, 0);
	net_quiet(n);
	net_free(n);
}

/* A side claim yields to everybody: no operation may lose an election to one, also at a granter that names its priority. */
static void a_promotion_defeats_nobody(void **state)
{
	struct net *n = net_policy(THREE);
	struct client *q;

	do_create(n, S, "d/x", "a");
	do_create(n, S, "d/y", "a");
	net_hold(n, S, Q, NFS4R_MSG_PROPOSE);
	create(n, S, "d/z", "a");
	net_run(n, n->delay);
	q = chmod_(n, Q, "d/u/f");
	assert_int_equal(finish(n, q), NFS4R_OK);
	assert_int_equal(stats(n, Q).aborts, 0);
	net_pass(n);
	net_quiet(n);
	net_free(n);
}

/* S is slow to ack a promotion that Q has acked: Q's own wish below must not wait for its end. */
static void a_pending_promotion_holds_nobody_up(void **state)
{
	struct net *n = net_policy(THREE);
	struct client *q;

	do_create(n, P, "d/x", "a");
	do_create(n, P, "d/y", "a");
	net_hold(n, P, S, NFS4R_MSG_PROPOSE);
	create(n, P, "d/z", "a");
	net_run(n, RTT(n));
	q = chmod_(n, Q, "d/u/f");
	assert_int_equal(finish(n, q), NFS4R_OK); /* DELAY after op_wait_ms */
	assert_true(q->done_at - q->started <= 5 * RTT(n));
	net_pass(n);
	net_quiet(n);
	net_free(n);
}

static bool told_that_it_is_wanted(const struct net *n, nfs4r_server_id to)
{
	const struct packet *p;

	for (p = n->held; p; p = p->next)
		if (p->to == to && p->msg->positions.want_stable && p->msg->positions.wanted)
			return true;
	return false;
}

/* Q wants what P is about to release; S, whom nobody asks for anything, must not take its time with the checkpoint. */
static void who_delays_a_wanted_release_hears_of_it(void **state)
{
	struct net *n = net_policy(THREE);
	struct client *q;

	n->s[S].no_checkpoint = true;
	net_hold(n, P, S, NFS4R_MSG_POSITIONS);
	chmod_(n, P, "d/u/f");
	net_run(n, n->cfg.idle_ms + 2 * RTT(n));
	assert_false(told_that_it_is_wanted(n, S)); /* it closes because it is idle */
	q = chmod_(n, Q, "d/u/f");
	net_run(n, 2 * RTT(n));
	assert_true(told_that_it_is_wanted(n, S));
	n->s[S].no_checkpoint = false;
	net_pass(n);
	assert_int_equal(finish(n, q), NFS4R_OK);
	net_quiet(n);
	net_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_place_promotes_nothing),
		cmocka_unit_test(a_promotion_defeats_nobody),
		cmocka_unit_test(a_pending_promotion_holds_nobody_up),
		cmocka_unit_test(one_election_for_a_burst),
		cmocka_unit_test(shallow_where_others_are_known_below),
		cmocka_unit_test(refused_deep_falls_to_shallow),
		cmocka_unit_test(only_multi_children_need_their_own),
		cmocka_unit_test(link_asks_for_the_file_too),
		cmocka_unit_test(file_below_plain_deep_gets_its_own),
		cmocka_unit_test(deep_timer_counts_directory_updates),
		cmocka_unit_test(promotion_after_elections_below),
		cmocka_unit_test(no_promotion_over_others),
		cmocka_unit_test(refused_promotion_is_given_up),
		cmocka_unit_test(promotion_yields_to_a_rival),
		cmocka_unit_test(promotion_delays_no_answer),
		cmocka_unit_test(promotion_without_all_ends),
		cmocka_unit_test(storm_on_old_files_raises),
		cmocka_unit_test(storm_below_plain_deep_raises),
		cmocka_unit_test(no_raise_over_others),
		cmocka_unit_test(one_file_raises_nothing),
		cmocka_unit_test(who_delays_a_wanted_release_hears_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
