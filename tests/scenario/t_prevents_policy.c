/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The rules that hierarchical control leans on, each with and without (see prevents.h): grants
 * over and under deep control, claims of the policy, files with two names, moves out of deep+,
 * narrowing and dropping back, counts.
 */
#include <stdio.h>
#include <string.h>

#include "scenario/prevents.h"
#include "scenario/trees.h"

#include "lib/unit.h"

/* The tree is old, the policy on, and the rule on or off as the run wants it. */
static void old(struct net *n, const char *paths)
{
	tree(n, paths);
	n->cfg.deep = true;
	n->cfg.revoke_ms = 100;
	net_retune(n);
}

/* ---- needs ------------------------------------------------------------------------------ */

static bool link_has_explicit_control(struct net *n)
{
	struct nfs4r_oid d, f;

	old(n, "d/ d/f");
	d = at(n, "d");
	f = at(n, "d/f");
	do_claim(n, P, "d", NFS4R_DEEP);
	finish(n, op_link(n, P, &f, &d, "g"));
	return acting(n, P, &f); /* it is below nothing now */
}

static bool moved_out_of_deep_plus_is_answered_for(struct net *n)
{
	struct nfs4r_oid d, e, x;

	old(n, "d/ d/x/ e/");
	d = at(n, "d");
	e = at(n, "e");
	x = at(n, "d/x");
	do_claim(n, P, "d", NFS4R_DEEP_PLUS);
	do_claim(n, P, "e", NFS4R_SHALLOW);
	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	finish(n, op_rename(n, P, &d, "x", &e, "x"));
	return route(n, S, &x, true) == P && nfs4r_core_may_serve(n->s[P].core, &x) == NFS4R_OK;
}

static bool multi_child_is_asked_for_with_it(struct net *n)
{
	old(n, "d/ d/h e/ e/h=d/h");
	finish(n, unlink_(n, P, "d", "h"));
	return stats(n, P).elections == 1; /* both in one claim */
}

/* ---- grants ------------------------------------------------------------------------------- */

static bool deep_above_blocks(struct net *n)
{
	struct nfs4r_oid d;
	struct client *c;
	bool both = false;

	old(n, "d/ d/f");
	d = at(n, "d");
	net_hold(n, P, Q, NFS4R_MSG_PROPOSE);
	do_claim(n, P, "d", NFS4R_DEEP); /* S acked, Q has not heard of it */
	c = chmod_(n, Q, "d/f");
	for (int i = 0; i < 300 && !both; i++) {
		net_run(n, 1);
		both = c->executed && acting(n, P, &d);
	}
	return !both;
}

/* Q controls d/x/f by S's ack; P has not heard of it and asks for d. */
static bool nobody_acts_over(struct net *n, uint32_t depth)
{
	struct nfs4r_oid d, f;
	struct client *c;

	old(n, "d/ d/x/ d/x/f");
	d = at(n, "d");
	f = at(n, "d/x/f");
	net_hold(n, Q, P, NFS4R_MSG_PROPOSE);
	do_chmod(n, Q, "d/x/f");
	c = op_claim(n, P, &d, depth);
	net_run_until(n, &c->done, 100);
	return !(acting(n, P, &d) && acting(n, Q, &f));
}

static bool own_controls_below_block(struct net *n)
{
	return nobody_acts_over(n, NFS4R_DEEP);
}

static bool controls_below_block_deep_plus(struct net *n)
{
	return nobody_acts_over(n, NFS4R_DEEP_PLUS);
}

/* ---- claims of the policy -------------------------------------------------------------------- */

#define THREE "d/ d/x/ d/y/ d/z/ d/u/ d/u/f"

static void third_election(struct net *n)
{
	do_create(n, P, "d/x", "a");
	do_create(n, P, "d/y", "a");
	net_hold(n, P, S, NFS4R_MSG_PROPOSE);
	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	create(n, P, "d/z", "a");
	net_run(n, RTT(n));
}

static bool promotion_is_given_up(struct net *n)
{
	old(n, THREE);
	third_election(n);
	net_run(n, n->cfg.op_wait_ms);
	return !asking(n, P, "d");
}

static bool promotion_wants_all(struct net *n)
{
	old(n, THREE);
	third_election(n);
	return depth_of(n, P, "d") == 0;
}

static bool promotion_delays_no_answer(struct net *n)
{
	old(n, THREE);
	third_election(n);
	return create(n, P, "d/x", "b")->done;
}

static bool promotion_wants_acks(struct net *n)
{
	struct nfs4r_oid d, f;

	old(n, THREE);
	d = at(n, "d");
	f = at(n, "d/u/f");
	net_hold(n, Q, P, NFS4R_MSG_PROPOSE);
	do_chmod(n, Q, "d/u/f");
	do_create(n, P, "d/x", "a");
	do_create(n, P, "d/y", "a");
	do_create(n, P, "d/z", "a");
	return !(acting(n, P, &d) && acting(n, Q, &f));
}

/* ---- control 5.1, 5.3, 6.3 ------------------------------------------------------------------------------ */

/* A deep+ closes, the plain deep control of the same directory is not acked by S: what is done now is still the deep+'s. */
static bool last_waits_for_one_acked_by_all(struct net *n)
{
	struct nfs4r_oid d;
	struct client *c;

	old(n, "d/ d/f");
	d = at(n, "d");
	n->s[S].no_checkpoint = true;
	net_drop(n, P, S, NFS4R_MSG_PROPOSE);
	do_claim(n, P, "d", NFS4R_DEEP); /* a majority, not S */
	net_pass_from(n, P, S, NFS4R_MSG_PROPOSE);
	do_claim(n, P, "d", NFS4R_DEEP_PLUS);
	net_hold(n, P, S, NFS4R_MSG_PROPOSE);
	finish(n, chmod_(n, P, "d/f")); /* something for `last` to wait for */
	net_run(n, 700);
	do_claim(n, P, "d", NFS4R_DEEP); /* stays in use */
	net_run(n, 450); /* the deep+ is idle: closing */
	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	c = create(n, P, "d", "n");
	if (!soon(n, c))
		return true;
	net_stable(n, S);
	net_run(n, 100);
	return route(n, S, &d, true) == P;
}

static bool names_of_multi_files_wait(struct net *n)
{
	old(n, "d/ d/h e/ e/h=d/h");
	do_claim(n, P, "d", NFS4R_SHALLOW);
	deaf(n);
	return !soon(n, unlink_(n, P, "d", "h")); /* S knows nothing of control of h, and reads its old link count */
}

static bool only_winners_answer(struct net *n)
{
	struct nfs4r_oid f;

	old(n, "f");
	f = at(n, "f");
	net_hold(n, 0, P, NFS4R_MSG_ACK);
	chmod_(n, P, "f");
	net_run(n, 50);
	return asking(n, P, "f") && nfs4r_core_may_serve(n->s[P].core, &f) == NFS4R_NOT_PRIMARY;
}

/* ---- control 7.4, 7.9 --------------------------------------------------------------------------------------- */

#define SIBLINGS "d/ d/x/ d/y/"

static bool narrowing_costs_the_holder_nothing(struct net *n)
{
	bool waited = false;
	char name[8];

	old(n, SIBLINGS);
	n->cfg.revoke_ms = 10; /* less than the election of what replaces it */
	net_retune(n);
	do_claim(n, P, "d", NFS4R_DEEP);
	do_create(n, P, "d/x", "a");
	revoke(n, Q, P, "d/y", 1);
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		waited |= !create(n, P, "d/x", name)->done;
		net_run(n, 7);
	}
	return !waited;
}

static bool lost_replacement_is_not_waited_for(struct net *n)
{
	old(n, SIBLINGS);
	do_claim(n, P, "d", NFS4R_DEEP);
	do_create(n, P, "d/x", "a");
	net_hold(n, P, S, NFS4R_MSG_PROPOSE);
	revoke(n, Q, P, "d/y", 1);
	net_run(n, 2 * n->cfg.op_wait_ms);
	return depth_of(n, P, "d") == 0;
}

static bool directories_do_not_keep_deep_plus(struct net *n)
{
	char name[8];

	old(n, "d/ d/x/");
	do_claim(n, P, "d", NFS4R_DEEP_PLUS);
	for (int i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "k%d", i);
		create(n, P, "d/x", name);
		net_run(n, 47);
	}
	return depth_of(n, P, "d") == NFS4R_DEEP;
}

static bool dropped_deep_plus_waits(struct net *n)
{
	struct nfs4r_oid f;

	old(n, "d/ d/f");
	f = at(n, "d/f");
	do_claim(n, P, "d", NFS4R_DEEP_PLUS);
	deaf(n);
	finish(n, chmod_(n, P, "d/f")); /* completed by the deep+ alone */
	net_run(n, n->cfg.deep_ms + 200);
	return route(n, S, &f, false) == P;
}

/* Q was elected below d not long ago, and let go. P has its third election below d: it must not take d from Q. */
static bool nothing_is_promoted_over_others(struct net *n)
{
	old(n, THREE);
	do_create(n, P, "d/x", "a");
	do_chmod(n, Q, "d/u/f");
	net_run(n, 2 * n->cfg.idle_ms);
	assert_true(depth_of(n, Q, "d/u/f") == 0);
	do_create(n, P, "d/y", "a");
	do_create(n, P, "d/z", "a");
	net_run(n, 2 * RTT(n));
	return depth_of(n, P, "d") == 0;
}

/* Others wanted something in t/d. Whoever pays for files there must not ask for t, which covers it, too. */
static bool nothing_above_contested_is_asked_for(struct net *n)
{
	old(n, "t/ t/d/ t/d/0 t/d/1 t/d/2 t/d/x/");
	do_claim(n, P, "t/d", NFS4R_DEEP);
	revoke(n, Q, P, "t/d/x", 1);
	net_run(n, 2 * n->cfg.deep_ms);
	assert_true(n->cfg.contested_ms > 3 * n->cfg.deep_ms && depth_of(n, P, "t/d") == 0);
	do_chmod(n, P, "t/d/0");
	do_chmod(n, P, "t/d/1");
	do_chmod(n, P, "t/d/2");
	net_run(n, RTT(n));
	return stats(n, P).raises == 0;
}

/* The same for a file that was the last one paid for in t/d before, too: t itself counts it. */
static bool nothing_above_is_asked_for_by_the_same_file(struct net *n)
{
	n->cfg.deep_plus_count = 3;
	old(n, "t/ t/d/ t/d/0 t/d/x/ t/e/ t/e/0");
	do_claim(n, P, "t/d", NFS4R_DEEP);
	revoke(n, Q, P, "t/d/x", 1);
	net_run(n, 2 * n->cfg.deep_ms);
	do_chmod(n, P, "t/d/0");
	do_chmod(n, P, "t/e/0");
	revoke(n, Q, P, "t/d/0", 1);
	while (depth_of(n, P, "t/d/0"))
		net_run(n, 1);
	do_chmod(n, P, "t/d/0");
	net_run(n, RTT(n));
	return stats(n, P).raises == 0;
}

/* P has two deep claims over what it uses and what is wanted. One claim keeps what it uses. */
static bool what_is_kept_is_asked_for_once(struct net *n)
{
	old(n, "t/ t/d/ t/d/x/ t/d/y/");
	do_claim(n, P, "t/d", NFS4R_DEEP);
	do_claim(n, P, "t", NFS4R_DEEP);
	assert_true(depth_of(n, P, "t/d") == NFS4R_DEEP && depth_of(n, P, "t") == NFS4R_DEEP);
	do_create(n, P, "t/d/x", "a");
	revoke(n, Q, P, "t/d/y", 1); /* t/d could have gone by itself, but t goes, too */
	revoke(n, Q, P, "t/d/y", 1);
	net_run(n, 2 * RTT(n) + n->cfg.revoke_ms);
	assert_true(depth_of(n, P, "t/d/x") == NFS4R_DEEP && depth_of(n, P, "t/d") == 0 && depth_of(n, P, "t") == 0);
	return stats(n, P).deescalations == 1;
}

/* ---- control 7.5 ---------------------------------------------------------------------------------------------- */

/* P makes files in d without a pause. Q does, too: one after the other, with so long between. How long until Q controls d, or 0. */
static uint64_t turn_comes(struct net *n, uint64_t between, uint64_t longest)
{
	struct client *p = NULL, *q = NULL;
	uint64_t begun, next = 0;
	char name[16];
	int i = 0;

	n->cfg.turn_ms = 500;
	n->cfg.holdoff_ms = 0; /* as measured */
	old(n, "d/");
	do_create(n, P, "d", "p");
	begun = n->now;
	while (n->now < begun + longest && depth_of(n, Q, "d") == 0) {
		snprintf(name, sizeof(name), "%d", i++);
		if (!p || p->done)
			p = create(n, P, "d", name);
		snprintf(name, sizeof(name), "q%d", i);
		if ((!q || q->done) && n->now >= next) {
			q = create(n, Q, "d", name);
			next = n->now + between;
		}
		net_run(n, 5);
	}
	return depth_of(n, Q, "d") ? n->now - begun : 0;
}

static bool who_never_pauses_has_turns(struct net *n)
{
	uint64_t came = turn_comes(n, 0, 5000), least = 40 * RTT(n) > 500 ? 40 * RTT(n) : 500;

	assert_true(came == 0 || (came >= least && came <= least + 10 * RTT(n)));
	return came != 0;
}

/* For a question now and then nobody stops working. */
static bool now_and_then_is_no_turn(struct net *n)
{
	turn_comes(n, 20 * RTT(n), 300 * RTT(n));
	return stats(n, P).elections == 1;
}

/* ---- control 7.11 --------------------------------------------------------------------------------------------- */

/* P updates d again and again, with pauses, and somebody reads it. */
static uint32_t elections_with_pauses(struct net *n, int updates, uint32_t pause)
{
	char name[16];

	n->cfg.read_ms = 100;
	old(n, "d/ d/x/");
	for (int i = 0; i < updates; i++) {
		snprintf(name, sizeof(name), "k%d", i);
		assert_int_equal(finish(n, create(n, P, "d", name)), NFS4R_OK);
		for (uint32_t t = 0; t < pause; t += 25) {
			struct nfs4r_oid d = at(n, "d");

			if (nfs4r_core_may_serve(n->s[P].core, &d) == NFS4R_OK)
				reads(n, P, "d", 1);
			net_run(n, 25);
		}
	}
	return (uint32_t)stats(n, P).elections;
}

static bool who_pauses_pays_once(struct net *n)
{
	return elections_with_pauses(n, 10, 300) <= 2;
}

static bool what_is_used_does_not_yield(struct net *n)
{
	return elections_with_pauses(n, 20, 75) == 1;
}

/* Who writes a file for longer than that is going to rename it. */
static bool what_is_written_does_not_yield(struct net *n)
{
	struct nfs4r_oid f;

	n->cfg.read_ms = 100;
	old(n, "d/ d/x/");
	do_create(n, P, "d", "f");
	f = at(n, "d/f");
	net_writers(n, P, &f, true);
	for (int t = 0; t < 300; t += 25) {
		struct nfs4r_oid d = at(n, "d");

		if (nfs4r_core_may_serve(n->s[P].core, &d) == NFS4R_OK)
			reads(n, P, "d", 1);
		net_run(n, 25);
	}
	net_writers(n, P, &f, false);
	net_run(n, 50);
	return depth_of(n, P, "d") != 0;
}

/* ---- control 7.10 ------------------------------------------------------------------------------------- */

/* A new file of P in d, which P controls deeply. Nothing of it is released while S's disk is slow. */
static struct nfs4r_oid new_file(struct net *n)
{
	n->cfg.announce_ms = 20;
	old(n, "d/");
	n->s[S].no_checkpoint = true;
	do_claim(n, P, "d", NFS4R_DEEP);
	do_create(n, P, "d", "f");
	return at(n, "d/f");
}

static void write_and_close(struct net *n, const struct nfs4r_oid *f)
{
	net_writers(n, P, f, true);
	finish(n, op_write(n, P, f, "p", true));
	assert_int_equal(finish(n, op_close(n, P, f)), NFS4R_OK);
	net_writers(n, P, f, false);
}

/* S hears nothing of what P does from here on. Is it told to P's client as done? */
static bool second_write_is_done(struct net *n, const struct nfs4r_oid *f)
{
	deaf(n);
	net_writers(n, P, f, true);
	finish(n, op_write(n, P, f, "again", true));
	return soon(n, op_close(n, P, f));
}

static bool announced_completes_nothing(struct net *n)
{
	struct nfs4r_oid f = new_file(n);

	write_and_close(n, &f);
	net_run(n, 100);
	assert_true(controls(n, S, P, &f) && route(n, S, &f, false) == S);
	return !second_write_is_done(n, &f);
}

static bool copies_catch_up_first(struct net *n)
{
	struct nfs4r_oid f = new_file(n);

	net_run(n, 100);
	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	write_and_close(n, &f);
	net_run(n, 100);
	return route(n, S, &f, false) == P;
}

static bool announced_stays_so_at_a_restart(struct net *n)
{
	struct nfs4r_oid f = new_file(n);

	write_and_close(n, &f);
	net_run(n, 100);
	net_crash(n, P);
	net_restart(n, P, true);
	net_run(n, 100);
	assert_true(controls(n, S, P, &f) && route(n, S, &f, false) == S);
	return !second_write_is_done(n, &f);
}

/* P controls d, others read it, and it was announced: S reads its copy. Nothing is released while S's disk is slow. */
static struct nfs4r_oid announced_directory(struct net *n)
{
	struct nfs4r_oid d;

	n->cfg.announce_ms = 20;
	n->cfg.read_ms = 100;
	old(n, "d/ d/x/ e/");
	n->s[S].no_checkpoint = true;
	d = at(n, "d");
	do_create(n, P, "d", "a");
	net_run(n, n->cfg.read_ms);
	reads(n, P, "d", 1);
	net_run(n, n->delay + 5);
	assert_true(controls(n, S, P, &d) && route(n, S, &d, true) == S);
	return d;
}

/* What P does there after that needs control of its own. */
static bool announced_directory_completes_nothing(struct net *n)
{
	announced_directory(n);
	deaf(n);
	return !soon(n, create(n, P, "d", "b"));
}

/* Also after a restart, when S has said again that it knows the old one. */
static bool announced_is_saved(struct net *n)
{
	struct nfs4r_oid d = announced_directory(n);
	struct client *b;

	net_crash(n, P);
	net_restart(n, P, true);
	net_run(n, 100);
	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	b = create(n, P, "d", "b");
	return !soon(n, b) || route(n, S, &d, true) == P;
}

/* The other half. d/x comes to e with control that only the entry brings, and S has not got that; all others read their copies. */
static bool announced_is_asked_by_others(struct net *n)
{
	struct nfs4r_oid d, e, x;
	struct client *made;

	n->cfg.announce_ms = 20;
	n->cfg.read_ms = 100;
	old(n, "d/ d/x/ e/");
	d = at(n, "d");
	e = at(n, "e");
	x = at(n, "d/x");
	do_claim(n, P, "e", NFS4R_DEEP);
	net_hold(n, P, S, NFS4R_MSG_PROPOSE);
	do_claim(n, P, "d", NFS4R_DEEP);
	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	op_rename(n, P, &d, "x", &e, "x");
	net_run(n, n->cfg.read_ms + 20);
	assert_true(create(n, P, "e", "j")->done); /* the control of e is in use */
	reads(n, P, "e/x", 1);
	net_run(n, n->delay + 5);
	assert_true(controls(n, Q, P, &x) && !controls(n, S, P, &x) && route(n, S, &x, true) == S);
	made = create(n, P, "e/x", "k");
	return !soon(n, made);
}

/* Control 5.1 (b). Two claims of f, one of which was announced before a restart; the other one, with d, is what all ask P for. */
static bool what_was_announced_keeps_no_last(struct net *n)
{
	struct nfs4r_oid d, f;

	n->cfg.announce_ms = 20;
	n->cfg.deep_ms = n->cfg.idle_ms / 2;
	old(n, "d/ d/f e/");
	d = at(n, "e");
	f = at(n, "d/f");
	n->s[S].no_checkpoint = true;
	assert_int_equal(finish(n, op_link(n, P, &f, &d, "g")), NFS4R_OK);
	net_run(n, n->cfg.idle_ms + 200); /* it closes, and waits for S's disk: f needs a claim of its own */
	write_and_close(n, &f);
	net_run(n, 100);
	net_crash(n, P);
	net_restart(n, P, true);
	net_run(n, n->cfg.deep_ms + 200); /* the one with d closes again; S's disk is still slow */
	deaf(n); /* nor does it hear of the one that is asked for because of the write (control 3.8) */
	write_and_close(n, &f);
	n->s[S].no_checkpoint = false;
	net_stable(n, S);
	net_run(n, 600);
	return route(n, S, &f, false) == P;
}

/* ---- section 8 ---------------------------------------------------------------------------------------- */

static bool counts_have_what_comes_with_entries(struct net *n)
{
	old(n, "d/ d/x/");
	do_create(n, P, "d/x", "a");
	return counts_right(n);
}

static bool counts_lose_what_is_released(struct net *n)
{
	struct nfs4r_oid d;

	old(n, "d/ d/f");
	d = at(n, "d");
	do_chmod(n, P, "d/f");
	net_run(n, 3000);
	return counts_right(n) && nfs4r_core_count_below(n->s[S].core, &d, P) == 0;
}

static bool counts_come_back_at_a_restart(struct net *n)
{
	struct nfs4r_oid d;

	old(n, "d/ d/f");
	d = at(n, "d");
	do_chmod(n, P, "d/f");
	net_crash(n, S);
	net_restart(n, S, true);
	return nfs4r_core_count_below(n->s[S].core, &d, P) == 1;
}

static const struct prevents list[] = {
	{ "control 3: LINK has explicit control of the file", F_LINK_NOT_EXPLICIT, link_has_explicit_control },
	{ "control 3.3: moved out of deep+", F_MOVED_OUT_BARE, moved_out_of_deep_plus_is_answered_for },
	{ "control 4.1: a multi-link child is asked for with it", F_ASK_DROPS_MULTI, multi_child_is_asked_for_with_it },
	{ "control 4.3d: deep control above blocks", F_GRANT_BELOW_DEEP, deep_above_blocks },
	{ "control 4.3d: a granter's own controls below block", F_GRANT_OVER_OWN, own_controls_below_block },
	{ "control 4.3d: controls below block deep+", F_GRANT_PLUS, controls_below_block_deep_plus },
	{ "control 4.6: a promotion is given up", F_SIDE_NO_DEADLINE, promotion_is_given_up },
	{ "control 5.1: `last` waits for one acked by all", F_LAST_NOT_ACKED, last_waits_for_one_acked_by_all },
	{ "control 5.2: a promotion wants all", F_SIDE_MAJORITY, promotion_wants_all },
	{ "control 5.2: a promotion delays no answer", F_SIDE_COUNTS, promotion_delays_no_answer },
	{ "control 5.3: names of multi-link files wait", F_NAMES_OF_MULTI, names_of_multi_files_wait },
	{ "control 6.3: only winners answer", F_SERVE_PROPOSING, only_winners_answer },
	{ "control 7.4: a promotion wants acks", F_SIDE_WINS_ALONE, promotion_wants_acks },
	{ "control 7.4: narrowing costs the holder nothing", F_NARROW_AT_ONCE, narrowing_costs_the_holder_nothing },
	{ "control 7.4: a lost replacement is not waited for", F_WAIT_FOR_LOST, lost_replacement_is_not_waited_for },
	{ "control 7.4: nothing is promoted over others", F_PROMOTES_OVER_OTHERS, nothing_is_promoted_over_others },
	{ "control 7.4: nothing above a contested directory is asked for", F_CLIMBS_OVER_CONTESTED, nothing_above_contested_is_asked_for },
	{ "control 7.4: nothing above it by the same file again", F_CLIMBS_OVER_CONTESTED, nothing_above_is_asked_for_by_the_same_file },
	{ "control 7.4: what is kept is asked for once", F_NARROWS_TWICE, what_is_kept_is_asked_for_once },
	{ "control 7.5: who never pauses has turns", F_NO_TURNS, who_never_pauses_has_turns },
	{ "control 7.5: asking now and then is no turn", F_TURN_NOW_AND_THEN, now_and_then_is_no_turn },
	{ "control 7.11: who pauses pays once", F_YIELDS_AGAIN, who_pauses_pays_once },
	{ "control 7.11: what is used does not yield", F_YIELD_IN_USE, what_is_used_does_not_yield },
	{ "control 7.9: directories do not keep deep+", F_DIRS_KEEP_PLUS, directories_do_not_keep_deep_plus },
	{ "control 7.9: a dropped deep+ waits", F_DROP_AT_ONCE, dropped_deep_plus_waits },
	{ "control 7.11: what is written in does not yield", F_YIELD_WRITTEN, what_is_written_does_not_yield },
	{ "control 7.10: announced control completes nothing", F_ANNOUNCED_COMPLETES, announced_completes_nothing },
	{ "control 7.10: announced control of a directory settles nothing", F_ANNOUNCED_COUNTS, announced_directory_completes_nothing },
	{ "control 7.10: announced control of a directory is saved", F_ANNOUNCED_UNSAVED, announced_is_saved },
	{ "control 5.2: who has not the announced control", F_ANNOUNCED_BARE, announced_is_asked_by_others },
	{ "control 7.10: copies catch up first", F_ANNOUNCED_AT_ONCE, copies_catch_up_first },
	{ "control 7.10: announced stays so at a restart", F_ANNOUNCED_FORGOTTEN, announced_stays_so_at_a_restart },
	{ "control 5.1: what was announced keeps no `last`", F_LAST_ANNOUNCED, what_was_announced_keeps_no_last },
	{ "control 8.2: counts have what comes with entries", F_COUNT_JOINED, counts_have_what_comes_with_entries },
	{ "control 8.2: counts lose what is released", F_COUNT_RELEASED, counts_lose_what_is_released },
	{ "control 8: counts come back at a restart", F_COUNT_RESTART, counts_come_back_at_a_restart },
};

int main(void)
{
	return prevents_main(list, sizeof(list) / sizeof(list[0]));
}
