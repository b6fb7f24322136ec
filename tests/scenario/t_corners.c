/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Corners of the rules where several of them meet: entries that are applied out of order, restarts
 * of more than one server, servers that are away. Each returns true when what was promised is kept.
 *
 * P = server 1, Q = server 2, S = server 3, as in the rules.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/trees.h"

#include "lib/unit.h"

/* Won, and everybody who hears of it has acked. */
static void claim(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *o, uint32_t depth)
{
	assert_int_equal(finish(n, op_claim(n, s, o, depth)), NFS4R_OK);
	net_run(n, 3 * n->delay);
}

/* ---- control 4.5, log 3.8: what a granter shows, the winner has to have, too --------------------- */

/* S has applied P's unlink of x and not the entry before it; Q must not become primary of x. */
static bool deletion_before_older_entries(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), x = file_in(n, &d, "x"), g = file_in(n, &n->root, "g");
	nfs4r_lsn end = nfs4r_core_own_end(n->s[P].core);
	struct nfs4r_facts f;
	struct client *q;

	net_hold(n, P, Q, NFS4R_MSG_ENTRIES);
	net_hold(n, P, Q, NFS4R_MSG_PROPOSE);
	net_hold(n, P, Q, NFS4R_MSG_ACK);
	n->s[S].hold_apply = true;
	op_write(n, P, &g, "g", true);
	net_run(n, 60);
	op_name(n, P, NFS4R_OP_REMOVE, &d, "x");
	net_run(n, 60);
	net_finish_apply(n, S, end + 2);
	net_run(n, 10);
	assert_false(memtree_facts(n->s[S].tree, &x, &f));
	q = op_write(n, Q, &x, "q", true);
	net_run(n, 100);
	if (q->executed)
		return false;
	net_pass(n);
	net_let_apply(n, S);
	finish(n, q);
	net_quiet(n);
	return true;
}

/* P itself shows f with a second name, and an older entry of its log is still being executed: Q must not cover f by a
 * deep control above its first name. */
static bool link_before_older_entries(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), e = mkdir_in(n, &n->root, "e"), f = file_in(n, &e, "f");
	struct nfs4r_oid g = file_in(n, &n->root, "g");
	struct client *l, *q;

	net_hold(n, P, Q, NFS4R_MSG_ENTRIES);
	net_hold(n, P, Q, NFS4R_MSG_PROPOSE);
	net_hold(n, S, Q, NFS4R_MSG_NACK);
	n->s[P].hold_exec = true;
	op_write(n, P, &g, "g", true);
	net_run(n, 60);
	l = op_link(n, P, &f, &d, "f");
	net_run(n, 60);
	net_finish_exec(n, l);
	op_claim(n, Q, &e, NFS4R_DEEP);
	net_run(n, 60);
	q = op_write(n, Q, &f, "q", true);
	net_run(n, 60);
	if (q->executed && acting(n, P, &f))
		return false;
	net_pass(n);
	net_let_execute(n, P);
	finish(n, q);
	net_quiet(n);
	return true;
}

/* ---- control 5.2, 5.3 ------------------------------------------------------------------------------ */

/* Everybody acked a claim that has not won: it may still be given up, and gives nothing to an answer. */
static bool proposed_claim_completes_nothing(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), y = file_in(n, &d, "y"), z = mkdir_in(n, &n->root, "z");
	struct client *r, *c;

	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	claim(n, Q, &z, NFS4R_SHALLOW);
	finish(n, op_write(n, Q, &y, "q", true));
	net_run(n, 30);
	net_hold(n, Q, P, NFS4R_MSG_RELEASE);
	r = op_name(n, P, NFS4R_OP_REMOVE, &d, "y"); /* asks for d alone, Q lets go of y */
	net_drop(n, P, S, NFS4R_MSG_PROPOSE);
	claim(n, P, &d, NFS4R_SHALLOW); /* a majority, not S */
	net_run(n, 60);
	net_hold(n, Q, P, NFS4R_MSG_ENTRIES);
	finish(n, op_name(n, Q, NFS4R_OP_CREATE, &z, "k"));
	net_run(n, 60);
	net_pass_from(n, P, S, NFS4R_MSG_PROPOSE);
	net_pass_from(n, Q, P, NFS4R_MSG_RELEASE);
	net_run(n, 12); /* P proposes d and y in one claim; it lacks Q's last entry */
	net_drop(n, P, S, NFS4R_MSG_PROPOSE);
	net_run(n, 30);
	assert_true(controls(n, S, P, &d));
	assert_false(r->executed);
	c = op_name(n, P, NFS4R_OP_CREATE, &d, "n");
	if (soon(n, c))
		return false;
	assert_true(c->executed);
	net_pass(n);
	finish(n, c);
	finish(n, r);
	net_quiet(n);
	return true;
}

/* What was written before a restart is waited for at CLOSE after it. */
static bool close_waits_after_a_restart(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f");
	struct client *c;

	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	net_hold(n, P, S, NFS4R_MSG_PROPOSE);
	finish(n, op_write(n, P, &f, "p", true));
	net_crash(n, P);
	net_restart(n, P, true);
	net_run(n, 5);
	c = op_close(n, P, &f);
	if (soon(n, c))
		return false;
	net_pass(n);
	return finish(n, c) == NFS4R_OK;
}

/* ... and nothing is waited for once all have applied the log up to the restart. */
static bool close_waits_only_for_the_old_log(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f");

	finish(n, op_write(n, P, &f, "p", true));
	net_run(n, 30);
	net_crash(n, P);
	net_restart(n, P, true);
	net_run(n, 30);
	net_hold(n, P, S, 0);
	return op_close(n, P, &f)->done;
}

/* ---- control 3.8, 7.6 -------------------------------------------------------------------------------- */

/* A deep+ that was asked for is given up: the files below that are being written need controls of their own. */
static bool files_ask_when_a_deep_plus_is_gone(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), f = file_in(n, &d, "f");
	struct client *c;

	claim(n, P, &d, NFS4R_DEEP);
	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	net_drop(n, P, 0, NFS4R_MSG_PROPOSE);
	c = op_claim(n, P, &d, NFS4R_DEEP_PLUS);
	net_run(n, 500);
	net_writers(n, P, &f, true);
	finish(n, op_write(n, P, &f, "p", true));
	assert_false(controls(n, P, P, &f));
	net_run_until(n, &c->done, 2000);
	if (!controls(n, P, P, &f))
		return false;
	net_pass_from(n, P, 0, NFS4R_MSG_PROPOSE);
	net_run(n, 500);
	return soon(n, op_close(n, P, &f));
}

/* An explicit control that was just given up for another is not asked for again at once. */
static bool explicit_control_is_held_off(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), f = file_in(n, &d, "f");
	struct nfs4r_msg m = { .type = NFS4R_MSG_REVOKE };
	uint32_t asked;

	n->cfg.revoke_ms = 500; /* the deep one stays; what is asked for a second time does not */
	net_retune(n);
	claim(n, P, &d, NFS4R_DEEP);
	finish(n, op_write(n, P, &f, "one", true));
	net_run(n, 50);
	assert_true(controls(n, P, P, &f));
	m.revoke.oid = f;
	m.revoke.prio.attempts = 1;
	m.revoke.prio.server = Q;
	net_msg(n, Q, P, &m);
	for (int i = 0; i < 80 && controls(n, P, P, &f); i++)
		net_run(n, 1);
	assert_false(controls(n, P, P, &f));
	asked = n->sent[NFS4R_MSG_PROPOSE];
	finish(n, op_write(n, P, &f, "two", true));
	net_run(n, 20);
	return n->sent[NFS4R_MSG_PROPOSE] == asked;
}

/* P has deep control of d. Nothing is released while S's disk is slow, but announced. */
static struct nfs4r_oid announcing(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d");

	n->cfg.announce_ms = 20;
	net_retune(n);
	n->s[S].no_checkpoint = true;
	claim(n, P, &d, NFS4R_DEEP);
	net_run(n, 3 * n->delay);
	return d;
}

/* Before the control is released, half a round trip after the close; also when CLOSING overtakes the entry that brings the control. */
static bool closed_file_is_read_from_copies(struct net *n, bool overtaken)
{
	struct nfs4r_oid d = announcing(n), f;
	struct client *c;

	if (overtaken)
		net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	c = op_name(n, P, NFS4R_OP_CREATE, &d, "f");
	finish(n, c);
	f = c->op.result;
	net_writers(n, P, &f, true);
	finish(n, op_write(n, P, &f, "p", true));
	finish(n, op_close(n, P, &f));
	net_writers(n, P, &f, false);
	net_run(n, 20 + 2 * n->delay);
	if (overtaken) {
		assert_false(controls(n, S, P, &f));
		net_pass(n);
		net_run(n, 2 * n->delay);
	}
	return controls(n, S, P, &f) && route(n, S, &f, false) == S && route(n, S, &d, true) == P;
}

static bool copies_of_closed_files(struct net *n)
{
	return closed_file_is_read_from_copies(n, false);
}

static bool closing_overtakes_the_entry(struct net *n)
{
	return closed_file_is_read_from_copies(n, true);
}

/* Files that are closed one soon after another: the first one is announced as if it were alone, the rest together. */
static bool closings_share_a_message(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), f[6];
	uint64_t begun, before;

	n->cfg.announce_ms = 100;
	net_retune(n);
	n->s[S].no_checkpoint = true;
	claim(n, P, &d, NFS4R_DEEP);
	net_run(n, 3 * n->delay);
	begun = n->now;
	before = n->sent[NFS4R_MSG_CLOSING];
	for (int i = 0; i < 6; i++) {
		char name[] = { 'f', (char)('0' + i), 0 };
		struct client *c = op_name(n, P, NFS4R_OP_CREATE, &d, name);

		finish(n, c);
		f[i] = c->op.result;
		net_writers(n, P, &f[i], true);
		finish(n, op_close(n, P, &f[i]));
		net_writers(n, P, &f[i], false);
		net_run(n, 5);
	}
	assert_true(n->now < begun + 100);
	net_run(n, begun + 105 - n->now);
	assert_int_equal(n->sent[NFS4R_MSG_CLOSING] - before, 2); /* one each to R and S */
	net_run(n, 100 + 2 * n->delay);
	for (int i = 0; i < 6; i++)
		if (route(n, S, &f[i], false) != S)
			return false;
	return n->sent[NFS4R_MSG_CLOSING] - before == 4;
}

/* ---- a server is away (docs/decisions/0005-fixed-view.md) ---------------------------------------------- */

/* S goes down, and is known to be down; P uses @d all the time. */
static void away(struct net *n, const struct nfs4r_oid *d, uint32_t depth)
{
	net_crash(n, S);
	for (int i = 0; i < 5; i++) {
		net_run(n, 300);
		finish(n, op_claim(n, P, d, depth));
	}
}

/* True: nothing happened, and the client was told to try again. */
static bool put_off(struct net *n, struct client *c)
{
	net_run(n, 2500);
	return !c->executed && c->done && c->op.status == NFS4R_DELAY;
}

static bool old_file_waits_for_who_is_away(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), f = file_in(n, &d, "f");
	struct client *c;

	claim(n, P, &d, NFS4R_DEEP);
	away(n, &d, NFS4R_DEEP);
	if (!put_off(n, op_setattr(n, P, &f, 0600)))
		return false;
	net_restart(n, S, true);
	c = op_setattr(n, P, &f, 0600);
	return finish(n, c) == NFS4R_OK;
}

static bool claim_not_acked_waits_for_who_is_away(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), f = file_in(n, &d, "f");

	net_hold(n, P, S, NFS4R_MSG_PROPOSE);
	claim(n, P, &d, NFS4R_DEEP);
	net_hold(n, P, Q, NFS4R_MSG_RELEASE);
	away(n, &d, NFS4R_DEEP);
	return put_off(n, op_name(n, P, NFS4R_OP_CREATE, &d, "n")) && put_off(n, op_link(n, P, &f, &d, "m")) &&
		put_off(n, op_rename(n, P, &d, "f", &d, "g")) && put_off(n, op_name(n, P, NFS4R_OP_REMOVE, &d, "f"));
}

/* ... also when another server's client asks for it. */
static bool forwarded_waits_for_who_is_away(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), f = file_in(n, &d, "f");
	struct client *c;

	claim(n, P, &d, NFS4R_DEEP);
	net_hold(n, Q, P, NFS4R_MSG_REVOKE);
	away(n, &d, NFS4R_DEEP);
	c = op_write(n, Q, &f, "q", true);
	net_run(n, 2500);
	return c->done && c->op.status == NFS4R_DELAY && nfs4r_core_own_end(n->s[P].core) == 2;
}

/* Log 5.6: P's answer does not come for long. Q's client hears nothing, and then what became of its request, which was executed once. */
static bool forwarded_waits_for_its_answer(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d");
	struct client *c;
	nfs4r_lsn end;

	claim(n, P, &d, NFS4R_DEEP);
	net_drop(n, P, Q, NFS4R_MSG_FORWARD_ANSWER);
	c = op_name(n, Q, NFS4R_OP_MKDIR, &d, "e");
	net_run(n, 1000);
	end = nfs4r_core_own_end(n->s[P].core);
	net_run(n, 60000);
	if (c->done)
		return false;
	net_pass(n);
	return finish(n, c) == NFS4R_OK && c->op.primary == P && nfs4r_core_own_end(n->s[P].core) == end;
}

/* What is acked by all goes on, and so do writes under an open, which only their CLOSE has to wait for. */
static bool acked_by_all_goes_on_while_one_is_away(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), f = file_in(n, &d, "f");
	struct client *c, *w;
	uint32_t asked;

	claim(n, P, &d, NFS4R_DEEP);
	away(n, &d, NFS4R_DEEP);
	asked = n->sent[NFS4R_MSG_PROPOSE];
	c = op_name(n, P, NFS4R_OP_CREATE, &d, "n");
	if (finish(n, c) != NFS4R_OK || c->done_at > c->started + 100)
		return false;
	c = op_setattr(n, P, &c->op.result, 0600);
	w = op_write(n, P, &f, "p", true);
	return soon(n, c) && c->op.status == NFS4R_OK && soon(n, w) && w->executed && !soon(n, op_close(n, P, &f)) &&
		n->sent[NFS4R_MSG_PROPOSE] == asked;
}

/* The control of a closed file is not announced then, so that the file can be changed. */
static bool closed_file_is_changed_while_one_is_away(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d");
	struct client *c;

	n->cfg.announce_ms = 20;
	net_retune(n);
	claim(n, P, &d, NFS4R_DEEP);
	away(n, &d, NFS4R_DEEP);
	c = op_name(n, P, NFS4R_OP_CREATE, &d, "n");
	finish(n, c);
	net_writers(n, P, &c->op.result, true);
	net_writers(n, P, &c->op.result, false);
	net_run(n, 100);
	c = op_setattr(n, P, &c->op.result, 0600);
	return soon(n, c) && c->op.status == NFS4R_OK;
}

/* ---- log 4.7 ----------------------------------------------------------------------------------------- */

/* P made f in d, closed it, and said so: S reads its copy. @before: P's disk as it was without f; NULL: not wanted. */
static struct nfs4r_oid closed_and_said(struct net *n, struct memtree **before)
{
	struct nfs4r_oid d = announcing(n), f;
	struct client *c;

	if (before)
		*before = memtree_clone(n->s[P].tree);
	c = op_name(n, P, NFS4R_OP_CREATE, &d, "f");
	finish(n, c);
	f = c->op.result;
	net_writers(n, P, &f, true);
	finish(n, op_close(n, P, &f));
	net_writers(n, P, &f, false);
	net_run(n, 100);
	assert_true(controls(n, S, P, &f) && route(n, S, &f, false) == S);
	return f;
}

/* S has not got the bytes. */
static bool second_close(struct net *n, const struct nfs4r_oid *f)
{
	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	net_writers(n, P, f, true);
	finish(n, op_write(n, P, f, "again", true));
	return soon(n, op_close(n, P, f));
}

static void lose_end(struct net *n, struct memtree *disk)
{
	net_crash(n, P);
	memtree_free(n->s[P].tree);
	n->s[P].tree = disk;
	net_restart(n, P, false);
}

/* The claim comes back with P's own log, from the others, who know that it was announced. */
static bool what_comes_back_completes_nothing(struct net *n)
{
	struct memtree *disk;
	struct nfs4r_oid f = closed_and_said(n, &disk);

	lose_end(n, disk);
	for (int i = 0; i < 500 && !n->s[P].recovered; i++)
		net_run(n, 1);
	assert_true(n->s[P].recovered && acting(n, P, &f));
	return !second_close(n, &f) || route(n, S, &f, false) == P;
}

/* It completes nothing, so an update asks for a control that does (control 3.8). */
static bool what_was_announced_is_written_after_a_restart(struct net *n)
{
	struct nfs4r_oid f = closed_and_said(n, NULL);

	net_crash(n, P);
	net_restart(n, P, true);
	net_run(n, 50);
	assert_true(acting(n, P, &f) && route(n, S, &f, false) == S);
	return second_close(n, &f) && route(n, S, &f, false) == P;
}

/* Control 6.3: up to where a file was closed is a number of a log whose end may be another one after a start. */
static bool older_closes_are_not_known(struct net *n)
{
	struct nfs4r_oid f = closed_and_said(n, NULL);

	net_writers(n, P, &f, true);
	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	finish(n, op_write(n, P, &f, "again", true));
	finish(n, op_close(n, P, &f));
	net_writers(n, P, &f, false);
	net_run(n, 2000);
	assert_true(route(n, S, &f, false) == P && nfs4r_core_closed_at(n->s[S].core, &f, P).lsn);
	net_crash(n, P);
	net_restart(n, P, true);
	net_run(n, 2 * n->delay);
	return route(n, S, &f, false) == P && !nfs4r_core_closed_at(n->s[S].core, &f, P).lsn;
}

/* S is told of an entry of P, and P loses it before anybody has it. S must not wait for it. */
static bool lost_entries_are_not_waited_for(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f");
	struct memtree *disk;

	claim(n, P, &f, NFS4R_SHALLOW);
	disk = memtree_clone(n->s[P].tree);
	net_drop(n, P, 0, NFS4R_MSG_ENTRIES);
	net_hold(n, Q, S, NFS4R_MSG_POSITIONS);
	finish(n, op_write(n, P, &f, "p", true));
	net_crash(n, S);
	net_restart(n, S, false);
	net_run(n, 1000);
	assert_int_equal(n->s[S].recovered, 0);
	lose_end(n, disk);
	net_pass(n);
	net_run(n, 3000);
	return n->s[S].recovered == 1 && n->s[P].recovered == 1;
}

/* ---- control 6.9: what a restart may not make older ---------------------------------------------------- */

static nfs4r_version version_at(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *oid)
{
	struct nfs4r_facts f;

	memtree_facts(n->s[s].tree, oid, &f);
	return f.version;
}

/* S read g's update from its copy, and gives it back at its start, since the one before it in P's log is not here. @lsn: which one that was. */
static bool given_back_is_read_at(struct net *n, nfs4r_lsn past_end, nfs4r_server_id where)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f"), g = file_in(n, &n->root, "g");
	bool there;

	net_quiet(n);
	net_hold(n, P, S, 0);
	op_write(n, P, &f, "new", true);
	op_write(n, P, &g, "new", true);
	net_run(n, 50);
	if (version_at(n, P, &g) != version_at(n, S, &g) + 1 || nfs4r_core_route_read(n->s[S].core, &g, false, 0) != S)
		return false;
	n->s[S].back.log = P;
	n->s[S].back.lsn = nfs4r_core_own_end(n->s[P].core) + past_end;
	n->s[S].back.oid = g;
	n->s[S].back.version = version_at(n, P, &g);
	for (int i = 0; i < 2; i++) { /* the second start has it from the first one's row */
		net_crash(n, S);
		net_restart(n, S, true);
		there = nfs4r_core_route_read(n->s[S].core, &g, false, 0) == where && nfs4r_core_route_read(n->s[S].core, &f, false, 0) == S;
		if (!there)
			return false;
	}
	net_pass(n);
	net_quiet(n);
	return nfs4r_core_route_read(n->s[S].core, &g, false, 0) == S && !memtree_rows(n->s[S].tree, 'N');
}

static bool what_a_start_gives_back_is_read_where_it_is(struct net *n)
{
	return given_back_is_read_at(n, 0, P);
}

/* That generation of the log has ended, and is here to its end: what was behind a hole of it never happened. */
static bool what_was_sealed_away_is_not_missed(struct net *n)
{
	return given_back_is_read_at(n, (nfs4r_lsn)1 << NFS4R_GEN_SHIFT, S);
}

/* The owner has lost what it told before, or has given the object up: said after this server's start that ends the note. What it says to older questions does not. */
static bool what_was_told_and_lost_is_not_asked_for_for_ever(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f");

	net_quiet(n);
	net_told(n, S, P, &f, version_at(n, S, &f) + 1);
	net_told(n, S, P, &f, 0);
	if (nfs4r_core_route_read(n->s[S].core, &f, false, 0) != P)
		return false;
	net_crash(n, S);
	net_restart(n, S, true);
	if (nfs4r_core_route_read(n->s[S].core, &f, false, 0) != P)
		return false;
	net_told(n, S, P, &f, 0);
	return nfs4r_core_route_read(n->s[S].core, &f, false, 0) == S && !memtree_rows(n->s[S].tree, 'N');
}

/* ---- control 4.3d: proposals that come before the entry that makes their object ---------------------- */

/* P has made f, of which the others have not heard, and whoever wrote it has closed it. Somebody wanted it: that is not taken back (control 7.1). */
static struct nfs4r_oid fresh_file(struct net *n)
{
	struct nfs4r_msg m = { .type = NFS4R_MSG_REVOKE };
	struct client *c;

	claim(n, P, &n->root, NFS4R_SHALLOW);
	net_hold(n, P, 0, NFS4R_MSG_ENTRIES);
	c = op_name(n, P, NFS4R_OP_CREATE, &n->root, "f");
	assert_int_equal(finish(n, c), NFS4R_OK);
	net_writers(n, P, &c->op.result, true);
	net_writers(n, P, &c->op.result, false);
	m.revoke.oid = c->op.result;
	m.revoke.prio.server = Q;
	net_msg(n, Q, P, &m);
	net_run(n, n->delay + 2);
	return c->op.result;
}

static void propose_to(struct net *n, nfs4r_server_id to, uint64_t seq, const struct nfs4r_oid *oid)
{
	struct nfs4r_msg m = { .type = NFS4R_MSG_PROPOSE };

	m.propose.pid = (struct nfs4r_pid){ P, seq };
	m.propose.prio.server = P;
	m.propose.floor = 1;
	m.propose.ncontrols = 1;
	m.propose.controls[0] = (struct nfs4r_control){ *oid, NFS4R_SHALLOW };
	net_msg(n, P, to, &m);
}

/* What is removed as soon as it is made costs one round trip, not two. */
static bool early_proposal_is_kept(struct net *n)
{
	uint32_t proposed, refused;
	struct client *r;
	uint64_t passed;

	fresh_file(n);
	proposed = n->sent[NFS4R_MSG_PROPOSE], refused = n->sent[NFS4R_MSG_NACK];
	r = op_name(n, P, NFS4R_OP_REMOVE, &n->root, "f");
	net_run(n, n->delay + 2);
	assert_false(r->executed);
	assert_int_equal(n->sent[NFS4R_MSG_PROPOSE] - proposed, 2);
	passed = n->now;
	net_pass(n);
	net_run_until(n, &r->executed, 200);
	if (!r->executed || n->now - passed > 2 * n->delay || n->sent[NFS4R_MSG_NACK] != refused ||
	    n->sent[NFS4R_MSG_PROPOSE] - proposed != 2)
		return false;
	finish(n, r);
	net_quiet(n);
	return true;
}

/* The entry does not come: its sender hears so, and asks again. */
static bool early_proposal_is_refused_in_the_end(struct net *n)
{
	uint32_t refused;
	struct client *r;

	fresh_file(n);
	refused = n->sent[NFS4R_MSG_NACK];
	r = op_name(n, P, NFS4R_OP_REMOVE, &n->root, "f");
	net_run(n, 2 * n->delay + n->cfg.repeat_ms / 8 + 2);
	if (r->executed || n->sent[NFS4R_MSG_NACK] - refused != 2)
		return false;
	net_pass(n);
	if (!soon(n, r))
		return false;
	net_quiet(n);
	return true;
}

static bool early_proposals_are_bounded(struct net *n)
{
	const uint32_t most = 64;
	uint32_t refused = n->sent[NFS4R_MSG_NACK];
	struct nfs4r_oid oid;

	for (uint32_t i = 0; i <= most; i++) {
		nfs4r_oid_make(&oid, P, 77, 77 + i);
		propose_to(n, S, 1000000 + i, &oid);
	}
	net_run(n, n->delay + 2);
	if (n->sent[NFS4R_MSG_NACK] - refused != 1)
		return false;
	net_run(n, n->cfg.repeat_ms / 8 + 2);
	return n->sent[NFS4R_MSG_NACK] - refused == most + 1 && rows(n, S) == 0;
}

/* RELEASE comes before the entry: what was kept leaves no control that nobody would release (control 4.3b). */
static bool early_proposal_that_is_aborted(struct net *n)
{
	struct nfs4r_msg m = { .type = NFS4R_MSG_RELEASE };
	struct nfs4r_oid f = fresh_file(n);

	propose_to(n, S, 1000000, &f);
	m.release.floor = 1;
	m.release.nseqs = 1;
	m.release.seqs[0] = 1000000;
	net_msg(n, P, S, &m);
	net_run(n, n->delay + 2);
	net_pass(n);
	net_quiet(n);
	return rows(n, S) == 0;
}

/* The connection it came by is gone. */
static bool early_proposal_of_who_died(struct net *n)
{
	struct nfs4r_oid f = fresh_file(n);
	uint32_t acks;

	propose_to(n, S, 1000000, &f);
	net_run(n, n->delay + 2);
	net_crash(n, P);
	acks = n->sent[NFS4R_MSG_ACK];
	net_pass(n);
	net_run(n, 2 * n->delay);
	if (n->sent[NFS4R_MSG_ACK] != acks)
		return false;
	net_restart(n, P, true);
	net_quiet(n);
	return rows(n, S) == 0;
}

/* ---- control 7.1: closing that nobody asked for is taken back ------------------------------------------ */

/* Written, closed, changed and removed, by one: no election for any of it, and the control goes in the end. */
static bool closing_is_taken_back(struct net *n)
{
	uint32_t proposed, i;
	struct client *c;

	claim(n, P, &n->root, NFS4R_SHALLOW);
	c = op_name(n, P, NFS4R_OP_CREATE, &n->root, "f");
	assert_int_equal(finish(n, c), NFS4R_OK);
	proposed = n->sent[NFS4R_MSG_PROPOSE];
	for (i = 0; i < 3; i++) {
		net_writers(n, P, &c->op.result, true);
		if (!op_write(n, P, &c->op.result, "again", true)->done)
			return false;
		net_writers(n, P, &c->op.result, false);
	}
	if (!op_name(n, P, NFS4R_OP_REMOVE, &n->root, "f")->done || n->sent[NFS4R_MSG_PROPOSE] != proposed)
		return false;
	net_quiet(n);
	return true;
}

/* A file that was closed, and is changed once more: its control goes after that as it would have gone before. */
static bool what_was_taken_back_closes_again(struct net *n)
{
	struct client *c;

	claim(n, P, &n->root, NFS4R_SHALLOW);
	c = op_name(n, P, NFS4R_OP_CREATE, &n->root, "f");
	assert_int_equal(finish(n, c), NFS4R_OK);
	net_writers(n, P, &c->op.result, true);
	net_writers(n, P, &c->op.result, false);
	assert_int_equal(finish(n, op_setattr(n, P, &c->op.result, 0600)), NFS4R_OK);
	net_run(n, 4 * n->delay + 20);
	return !controls(n, P, P, &c->op.result) && n->cfg.idle_ms > 4 * n->delay + 20;
}

/* ... but not what was announced: it would complete nothing (control 7.10). */
static bool announced_closing_stays(struct net *n)
{
	uint32_t proposed;
	struct client *c;

	n->cfg.announce_ms = 20;
	net_retune(n);
	claim(n, P, &n->root, NFS4R_SHALLOW);
	c = op_name(n, P, NFS4R_OP_CREATE, &n->root, "f");
	assert_int_equal(finish(n, c), NFS4R_OK);
	n->s[S].no_checkpoint = true;
	net_writers(n, P, &c->op.result, true);
	net_writers(n, P, &c->op.result, false);
	net_run(n, n->cfg.announce_ms + n->delay + 2);
	assert_true(controls(n, P, P, &c->op.result));
	proposed = n->sent[NFS4R_MSG_PROPOSE];
	finish(n, op_setattr(n, P, &c->op.result, 0600));
	n->s[S].no_checkpoint = false;
	net_stable(n, S);
	net_quiet(n);
	return n->sent[NFS4R_MSG_PROPOSE] > proposed;
}

/* ---- frame ------------------------------------------------------------------------------------------- */

static const struct corner {
	const char *name;
	bool (*fn)(struct net *n);
} list[] = {
	{ "control 4.5: a deletion before older entries", deletion_before_older_entries },
	{ "control 4.5: a second name before older entries", link_before_older_entries },
	{ "control 4.3d: a proposal comes before its object", early_proposal_is_kept },
	{ "control 4.3d: ... which does not come", early_proposal_is_refused_in_the_end },
	{ "control 4.3d: ... and a RELEASE, too", early_proposal_that_is_aborted },
	{ "control 4.3d: ... and who sent it dies", early_proposal_of_who_died },
	{ "control 4.3d: early proposals are bounded", early_proposals_are_bounded },
	{ "control 7.1: closing is taken back", closing_is_taken_back },
	{ "control 7.1: ... for one operation", what_was_taken_back_closes_again },
	{ "control 7.1: ... but not when it was announced", announced_closing_stays },
	{ "control 5.2: a claim that has not won settles nothing", proposed_claim_completes_nothing },
	{ "control 5.3: CLOSE waits after a restart", close_waits_after_a_restart },
	{ "control 5.3: ... only for the log up to the restart", close_waits_only_for_the_old_log },
	{ "control 3.8: files ask when a deep+ is gone", files_ask_when_a_deep_plus_is_gone },
	{ "control 7.6: an explicit control is held off", explicit_control_is_held_off },
	{ "control 7.10: closed files are read from copies", copies_of_closed_files },
	{ "control 7.10: closings share a message", closings_share_a_message },
	{ "control 7.10: CLOSING overtakes the entry", closing_overtakes_the_entry },
	{ "control 7.10: what comes back completes nothing", what_comes_back_completes_nothing },
	{ "control 7.10: what was announced is written after a restart", what_was_announced_is_written_after_a_restart },
	{ "control 6.3: older closes are not known", older_closes_are_not_known },
	{ "one is away: an old file waits", old_file_waits_for_who_is_away },
	{ "one is away: a claim it never acked waits", claim_not_acked_waits_for_who_is_away },
	{ "one is away: a forwarded operation waits", forwarded_waits_for_who_is_away },
	{ "log 5.6: a forwarded operation waits for its answer", forwarded_waits_for_its_answer },
	{ "one is away: what is acked by all goes on", acked_by_all_goes_on_while_one_is_away },
	{ "one is away: a closed file is changed", closed_file_is_changed_while_one_is_away },
	{ "log 4.7: lost entries are not waited for", lost_entries_are_not_waited_for },
	{ "control 6.9: what a start gives back", what_a_start_gives_back_is_read_where_it_is },
	{ "control 6.9: ... and that was sealed away", what_was_sealed_away_is_not_missed },
	{ "control 6.9: what was told and lost", what_was_told_and_lost_is_not_asked_for_for_ever },
};

static void corner(void **state)
{
	const struct corner *c = *state;
	struct net *n = net_new(3);
	bool kept = c->fn(n);

	net_free(n);
	assert_true(kept);
}

int main(void)
{
	enum {
		N = sizeof(list) / sizeof(list[0])
	};
	static struct CMUnitTest tests[N];

	for (size_t i = 0; i < N; i++)
		tests[i] = (struct CMUnitTest){ list[i].name, corner, NULL, NULL, (void *)&list[i] };
	return _cmocka_run_group_tests("corners", tests, N, NULL, NULL);
}
