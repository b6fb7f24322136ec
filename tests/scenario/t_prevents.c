/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One scenario for each "Prevents" of the rules control 3 to 8, and of
 * log 3.4, 3.8, 3.10, 5.6: it returns true when what the rule protects is kept. Each runs twice, with
 * the rule (must be kept) and without it (must be broken: the scenario can see it).
 *
 * P = server 1, Q = server 2, S = server 3, as in the rules.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fault.h"
#include "scenario/prevents.h"
#include "scenario/trees.h"

#include "lib/unit.h"

static void claim(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *o, uint32_t depth)
{
	assert_int_equal(finish(n, op_claim(n, s, o, depth)), NFS4R_OK);
}

static void claim_all(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *o, uint32_t depth)
{
	claim(n, s, o, depth);
	net_run(n, 3 * n->delay);
}

/* ---- section 0 and 3 ------------------------------------------------------------------ */

static bool multi_file_has_one_primary(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), e = mkdir_in(n, &n->root, "e"), f = file_in(n, &d, "f");
	struct client *a;

	finish(n, op_link(n, P, &f, &e, "f"));
	net_quiet(n);
	finish(n, op_write(n, Q, &f, "q", true)); /* explicit; no control below d, for f has no ancestors */
	claim_all(n, P, &d, NFS4R_DEEP);
	a = op_write(n, P, &f, "p", true);
	return !(a->executed && acting(n, Q, &f));
}

static bool child_is_controlled(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), y = file_in(n, &d, "y");
	struct client *c;

	claim_all(n, P, &d, NFS4R_SHALLOW);
	finish(n, op_write(n, Q, &y, "q", true));
	c = op_name(n, P, NFS4R_OP_REMOVE, &d, "y");
	while (!c->executed && n->now < c->started + 3000) {
		net_run(n, 1);
		if (c->executed)
			break;
	}
	return !(c->executed && acting(n, Q, &y) && c->executed_at <= n->now);
}

static bool moved_directory_has_nobody_below(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), e = mkdir_in(n, &n->root, "e"), x = mkdir_in(n, &d, "x");
	struct nfs4r_oid y = file_in(n, &x, "y");
	struct client *c;

	finish(n, op_write(n, Q, &y, "q", true));
	net_run(n, 30);
	c = op_rename(n, P, &d, "x", &e, "x");
	for (int i = 0; i < 3000 && !c->executed; i++)
		net_run(n, 1);
	return !(c->executed && acting(n, Q, &y));
}

static bool moved_object_is_answered_for(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), e = mkdir_in(n, &n->root, "e"), x = mkdir_in(n, &d, "x");

	claim_all(n, P, &d, NFS4R_DEEP);
	claim_all(n, P, &e, NFS4R_SHALLOW);
	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	finish(n, op_name(n, P, NFS4R_OP_CREATE, &x, "n"));
	finish(n, op_rename(n, P, &d, "x", &e, "x"));
	assert_int_equal(route(n, S, &x, true), P);
	return nfs4r_core_may_serve(n->s[P].core, &x) == NFS4R_OK;
}

static bool names_are_resolved_again(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), f1 = file_in(n, &d, "n"), f2 = file_in(n, &d, "m"), found;
	struct nfs4r_facts f;
	struct client *r, *u;

	(void)f1;
	claim_all(n, P, &d, NFS4R_DEEP);
	n->s[P].hold_exec = true;
	r = op_rename(n, P, &d, "m", &d, "n");
	u = op_name(n, P, NFS4R_OP_REMOVE, &d, "n"); /* resolved to f1, waits for the lock of d */
	net_let_execute(n, P);
	finish(n, r);
	finish(n, u);
	return memtree_lookup(n->s[P].tree, &d, "n", &found) || !memtree_facts(n->s[P].tree, &f2, &f);
}

static bool create_brings_its_control(struct net *n)
{
	struct client *c = op_name(n, P, NFS4R_OP_CREATE, &n->root, "f");

	finish(n, c);
	return controls(n, P, P, &c->op.result);
}

/* ---- section 4 -------------------------------------------------------------------------- */

static bool granters_block(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), y = file_in(n, &d, "y");
	struct client *c;

	net_hold(n, Q, P, NFS4R_MSG_PROPOSE); /* P does not hear of Q's claim; S does */
	finish(n, op_write(n, Q, &y, "q", true));
	c = op_claim(n, P, &d, NFS4R_DEEP);
	net_run_until(n, &c->done, 100);
	return !(acting(n, P, &d) && acting(n, Q, &y));
}

static bool proposer_remembers(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f");

	net_hold(n, 0, P, NFS4R_MSG_ACK);
	op_write(n, P, &f, "p", true);
	net_run(n, 15);
	net_crash(n, P);
	net_pass(n);
	net_restart(n, P, true);
	net_run(n, 500);
	return rows(n, S) == 0;
}

static bool granter_remembers(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f");

	net_hold(n, P, 0, NFS4R_MSG_PROPOSE); /* only one is let through */
	op_write(n, P, &f, "p", true);
	net_pass(n);
	net_run(n, 15);
	net_crash(n, S);
	net_hold(n, P, S, NFS4R_MSG_PROPOSE);
	net_restart(n, S, true);
	return controls(n, S, P, &f);
}

static bool winner_remembers(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f");

	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	finish(n, op_write(n, P, &f, "p", true));
	net_run(n, 30);
	finish(n, op_close(n, P, &f));
	net_crash(n, P);
	net_restart(n, P, true);
	net_run(n, 100);
	return route(n, S, &f, false) == P;
}

/* The write is under the deep control; what CLOSE waits for is asked for beside it, and no update waits for that. */
static bool what_completes_is_on_disk(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), y = file_in(n, &d, "y");
	struct client *c;
	bool early;

	claim_all(n, P, &d, NFS4R_DEEP);
	n->s[S].hold_apply = n->s[P].slow_disk = true;
	finish(n, op_write(n, P, &y, "p", true));
	c = op_close(n, P, &y);
	early = soon(n, c);
	n->s[P].slow_disk = false;
	return !early && soon(n, c);
}

static bool restart_asks_again(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f");
	struct client *c;

	deaf(n);
	finish(n, op_write(n, P, &f, "p", true));
	net_crash(n, P);
	net_restart(n, P, true);
	net_run(n, 30);
	finish(n, op_write(n, P, &f, "again", true));
	c = op_close(n, P, &f);
	return !soon(n, c);
}

static bool late_proposal_leaves_no_ghost(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f");
	struct nfs4r_msg m = { .type = NFS4R_MSG_RELEASE };

	m.release.floor = 1;
	m.release.nseqs = 1;
	m.release.seqs[0] = 1000000;
	net_msg(n, P, S, &m);
	memset(&m, 0, sizeof(m));
	m.type = NFS4R_MSG_PROPOSE;
	m.propose.pid = (struct nfs4r_pid){ P, 1000000 };
	m.propose.prio.server = P;
	m.propose.floor = 1;
	m.propose.ncontrols = 1;
	m.propose.controls[0] = (struct nfs4r_control){ f, NFS4R_SHALLOW };
	net_msg(n, P, S, &m);
	net_run(n, 30);
	return rows(n, S) == 0;
}

static bool unknown_objects_are_not_granted(struct net *n)
{
	struct nfs4r_msg m = { .type = NFS4R_MSG_PROPOSE };
	struct nfs4r_oid f;

	nfs4r_oid_make(&f, Q, 77, 77);
	m.propose.pid = (struct nfs4r_pid){ Q, 1000000 };
	m.propose.prio.server = Q;
	m.propose.ncontrols = 1;
	m.propose.controls[0] = (struct nfs4r_control){ f, NFS4R_SHALLOW };
	net_msg(n, Q, S, &m);
	net_run(n, 30);
	return rows(n, S) == 0;
}

static bool winner_catches_up(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f");
	struct client *c;

	net_hold(n, S, P, NFS4R_MSG_ENTRIES);
	net_hold(n, Q, P, NFS4R_MSG_ENTRIES);
	finish(n, op_name(n, S, NFS4R_OP_CREATE, &n->root, "g"));
	net_run(n, 30);
	c = op_write(n, P, &f, "p", true);
	net_run(n, 100);
	return !c->executed;
}

static bool minority_does_not_win(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f");
	struct client *c;

	net_drop(n, P, 0, 0);
	c = op_write(n, P, &f, "p", true);
	net_run(n, 500);
	return !c->executed;
}

static bool abort_reaches_late_granters(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f");

	net_drop(n, P, Q, NFS4R_MSG_PROPOSE);
	net_hold(n, S, P, NFS4R_MSG_ACK);
	op_write(n, P, &f, "p", true);
	net_run(n, 1500); /* no majority in time: aborted */
	net_pass(n);
	net_run(n, 1500);
	return rows(n, S) == 0;
}

static bool floor_leaves_room_for_repeats(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f"), g = file_in(n, &n->root, "g");
	struct client *c;

	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	net_drop(n, P, S, NFS4R_MSG_PROPOSE);
	finish(n, op_write(n, P, &f, "p", true));
	net_pass_from(n, P, S, NFS4R_MSG_PROPOSE);
	finish(n, op_write(n, P, &g, "p", true)); /* a later claim reaches S first */
	c = op_close(n, P, &f);
	net_run_until(n, &c->done, 800);
	return c->done;
}

static bool won_claims_survive(struct net *n)
{
	return winner_remembers(n);
}

/* ---- section 5 ---------------------------------------------------------------------------- */

static bool closing_claim_covers_later_entries(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), y = file_in(n, &d, "y");

	n->s[S].no_checkpoint = true;
	claim_all(n, P, &d, NFS4R_DEEP);
	net_writers(n, P, &y, true);
	finish(n, op_write(n, P, &y, "one", true));
	net_run(n, 50); /* explicit control of y acked by all, entry applied */
	net_writers(n, P, &y, false); /* closes, waits for S to hold it */
	deaf(n);
	finish(n, op_write(n, P, &y, "two", true)); /* under deep d */
	if (!soon(n, op_close(n, P, &y)))
		return true;
	net_stable(n, S);
	net_run(n, 100);
	return route(n, S, &y, false) == P;
}

/*
 * P moves a directory out of one that it has deep control of, which is closing, under shallow control of all three. S and Q do not get that: in their trees nothing
 * but the deep control covers the file in it.
 */
static bool closing_deep_claim_waits_for_a_move(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), e = mkdir_in(n, &n->root, "e"), x = mkdir_in(n, &d, "x"), y = file_in(n, &x, "y");
	struct nfs4r_oid z = file_in(n, &d, "z");
	struct nfs4r_msg m = { .type = NFS4R_MSG_REVOKE, .revoke = { .oid = z, .prio = { .server = Q } } };
	struct client *first, *move, *c;

	claim_all(n, P, &x, NFS4R_SHALLOW);
	claim_all(n, P, &e, NFS4R_SHALLOW);
	claim_all(n, P, &d, NFS4R_SHALLOW);
	claim_all(n, P, &d, NFS4R_DEEP);
	n->s[P].hold_exec = true;
	first = op_name(n, P, NFS4R_OP_CREATE, &d, "first");
	move = op_rename(n, P, &d, "x", &e, "x"); /* under the deep control; waits for the lock of d */
	net_msg(n, Q, P, &m);
	net_run(n, n->delay);
	net_finish_exec(n, first);
	net_run(n, 50);
	net_hold(n, P, 0, NFS4R_MSG_ENTRIES);
	net_let_execute(n, P);
	assert_true(move->executed);
	net_run(n, 100);
	net_hold(n, P, S, NFS4R_MSG_NACK); /* it only spares S a try */
	c = op_write(n, S, &y, "s", true);
	soon(n, c);
	if (acting(n, P, &x) && acting(n, S, &y))
		return false;
	net_pass(n);
	finish(n, c);
	net_quiet(n);
	return c->op.status == NFS4R_OK;
}

/* Of a local caller and of a forwarded one. */
static bool what_is_refused_is_not_executed(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), f = file_in(n, &d, "f");
	bool kept = true;

	claim_all(n, P, &f, NFS4R_SHALLOW);
	n->refuse = true;
	for (nfs4r_server_id s = P; s <= Q; s++) {
		struct client *c = op_setattr(n, s, &f, 04755);

		kept &= finish(n, c) == NFS4R_PERM && !c->executed && c->op.lsn == 0;
	}
	n->refuse = false;
	kept &= finish(n, op_setattr(n, Q, &f, 0600)) == NFS4R_OK; /* nothing is left of it */
	net_quiet(n);
	return kept;
}

static bool directory_operation_waits(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d");

	deaf(n);
	return !soon(n, op_name(n, P, NFS4R_OP_CREATE, &d, "f"));
}

static bool whole_path_is_acked_by_all(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), e = mkdir_in(n, &n->root, "e"), x = mkdir_in(n, &d, "x");

	claim_all(n, P, &d, NFS4R_SHALLOW);
	claim_all(n, P, &e, NFS4R_DEEP);
	deaf(n);
	claim(n, P, &x, NFS4R_DEEP); /* a majority, not S */
	finish(n, op_rename(n, P, &d, "x", &e, "x"));
	return !soon(n, op_name(n, P, NFS4R_OP_CREATE, &x, "n"));
}

static bool moved_claim_is_not_acked_by_all(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), e = mkdir_in(n, &n->root, "e"), x = mkdir_in(n, &d, "x");
	struct client *r;

	claim_all(n, P, &e, NFS4R_DEEP);
	deaf(n);
	claim(n, P, &d, NFS4R_DEEP); /* a majority, not S */
	r = op_rename(n, P, &d, "x", &e, "x");
	assert_true(r->executed);
	return !soon(n, op_name(n, P, NFS4R_OP_CREATE, &x, "n"));
}

static bool close_waits(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f");

	deaf(n);
	finish(n, op_write(n, P, &f, "p", true));
	return !soon(n, op_close(n, P, &f));
}

static bool plain_deep_does_not_complete_files(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), y = file_in(n, &d, "y");

	claim_all(n, P, &d, NFS4R_DEEP);
	deaf(n);
	finish(n, op_write(n, P, &y, "p", true));
	return !soon(n, op_close(n, P, &y));
}

static bool deep_plus_completes_when_all_acked(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), y = file_in(n, &d, "y");

	deaf(n);
	claim(n, P, &d, NFS4R_DEEP_PLUS);
	finish(n, op_write(n, P, &y, "p", true));
	return !soon(n, op_close(n, P, &y));
}

static bool deep_plus_leaves_multi_files_out(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), e = mkdir_in(n, &n->root, "e"), h = file_in(n, &d, "h");

	finish(n, op_link(n, P, &h, &e, "h"));
	net_quiet(n);
	claim_all(n, P, &d, NFS4R_DEEP_PLUS);
	deaf(n);
	finish(n, op_write(n, P, &h, "p", true));
	return !soon(n, op_close(n, P, &h));
}

static bool in_waits_for_moves(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), e = mkdir_in(n, &n->root, "e"), x = mkdir_in(n, &e, "x");
	struct nfs4r_oid f = file_in(n, &x, "f");

	claim_all(n, P, &e, NFS4R_SHALLOW);
	claim_all(n, P, &x, NFS4R_DEEP);
	claim_all(n, P, &d, NFS4R_DEEP_PLUS);
	deaf(n);
	finish(n, op_rename(n, P, &e, "x", &d, "x"));
	finish(n, op_write(n, P, &f, "p", true));
	return !soon(n, op_close(n, P, &f));
}

static bool in_starts_at_last_move(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), e = mkdir_in(n, &n->root, "e"), x = mkdir_in(n, &e, "x");
	struct nfs4r_oid f = file_in(n, &x, "f");

	claim_all(n, P, &e, NFS4R_SHALLOW);
	claim_all(n, P, &x, NFS4R_DEEP);
	claim_all(n, P, &d, NFS4R_SHALLOW);
	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	finish(n, op_rename(n, P, &e, "x", &d, "x"));
	claim_all(n, P, &d, NFS4R_DEEP_PLUS);
	net_hold(n, P, S, NFS4R_MSG_PROPOSE);
	finish(n, op_write(n, P, &f, "p", true));
	return !soon(n, op_close(n, P, &f));
}

static bool in_is_the_end_after_restart(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), e = mkdir_in(n, &n->root, "e"), x = mkdir_in(n, &e, "x");
	struct nfs4r_oid f = file_in(n, &x, "f");

	claim_all(n, P, &e, NFS4R_SHALLOW);
	claim_all(n, P, &x, NFS4R_DEEP);
	claim_all(n, P, &d, NFS4R_DEEP_PLUS);
	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	finish(n, op_rename(n, P, &e, "x", &d, "x"));
	net_crash(n, P);
	net_restart(n, P, true);
	net_run(n, 100);
	net_hold(n, P, S, NFS4R_MSG_PROPOSE);
	finish(n, op_write(n, P, &f, "p", true));
	return !soon(n, op_close(n, P, &f));
}

static bool drop_back_ends_at_last(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), y = file_in(n, &d, "y");

	n->s[S].no_checkpoint = true;
	claim_all(n, P, &d, NFS4R_DEEP);
	claim_all(n, P, &d, NFS4R_DEEP_PLUS);
	finish(n, op_write(n, P, &y, "one", true)); /* something for `last` to wait for */
	net_run(n, 700);
	claim_all(n, P, &d, NFS4R_DEEP); /* the plain deep stays in use */
	net_run(n, 450); /* the deep+ is idle: closing */
	deaf(n);
	finish(n, op_write(n, P, &y, "two", true));
	return !soon(n, op_close(n, P, &y));
}

/* ---- section 6 -------------------------------------------------------------------------------- */

static bool readers_look_at_deep_plus(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), y = file_in(n, &d, "y");

	claim_all(n, P, &d, NFS4R_DEEP_PLUS);
	return route(n, S, &y, false) == P;
}

static bool nearest_deep_hides_nothing(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), x = mkdir_in(n, &d, "x"), y = file_in(n, &x, "y");

	claim_all(n, P, &x, NFS4R_DEEP);
	claim_all(n, P, &d, NFS4R_DEEP_PLUS);
	return route(n, S, &y, false) == P;
}

static bool not_primary_looks_for_others(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f");

	finish(n, op_write(n, P, &f, "p", true));
	net_run(n, 30);
	return nfs4r_core_route_read(n->s[S].core, &f, false, NFS4R_BIT(Q)) == P;
}

static bool only_owners_answer(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f");

	return nfs4r_core_may_serve(n->s[Q].core, &f) == NFS4R_NOT_PRIMARY;
}

/* ---- section 7, log 3.10 ------------------------------------------------------------------------- */

/* S wants f, which P has closed and its control is going: what P does next to f waits for S to have had it. */
static bool revoked_closing_is_not_taken_back(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f");
	struct client *s, *p;

	n->s[Q].no_checkpoint = true;
	claim_all(n, P, &f, NFS4R_SHALLOW);
	net_writers(n, P, &f, true);
	finish(n, op_write(n, P, &f, "p", true));
	net_writers(n, P, &f, false);
	s = op_claim(n, S, &f, NFS4R_SHALLOW);
	net_run(n, 3 * n->delay); /* REVOKE is there, RELEASE waits for Q's disk */
	assert_true(acting(n, P, &f) && !s->done);
	p = op_write(n, P, &f, "p again", true);
	net_run(n, 1);
	return !p->executed;
}

/*
 * S wants D/y, so P's deep control of D goes. P has written D/o before, and not everybody has acked its control of that: an update under it would raise
 * `last` of the one that goes, and so would the next, without end.
 */
static bool closing_below_what_is_waited_for_stays(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), y = file_in(n, &d, "y"), o = file_in(n, &d, "o");
	struct client *p;

	claim_all(n, P, &d, NFS4R_DEEP);
	n->s[Q].no_checkpoint = true;
	net_drop(n, P, Q, NFS4R_MSG_PROPOSE);
	net_writers(n, P, &o, true);
	finish(n, op_write(n, P, &o, "p", true));
	net_run(n, 50);
	net_writers(n, P, &o, false);
	op_setattr(n, S, &y, 0600);
	net_run(n, 600);
	assert_true(acting(n, P, &d) && acting(n, P, &o));
	p = op_setattr(n, P, &o, 0600);
	net_run(n, 1);
	return !p->executed;
}

static bool release_waits_for_all(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d");

	claim_all(n, P, &d, NFS4R_SHALLOW);
	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	finish(n, op_name(n, P, NFS4R_OP_CREATE, &d, "f"));
	net_run(n, 3000);
	return route(n, S, &d, true) == P;
}

static bool release_waits_for_stable(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d");

	n->s[S].no_checkpoint = true;
	finish(n, op_name(n, P, NFS4R_OP_CREATE, &d, "f"));
	net_run(n, 3000);
	return controls(n, S, P, &d);
}

/* ---- section 8 ------------------------------------------------------------------------------------- */

static bool counts_follow_a_move(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), e = mkdir_in(n, &n->root, "e"), x = mkdir_in(n, &d, "x");
	struct nfs4r_oid y = file_in(n, &x, "y");

	finish(n, op_write(n, P, &y, "p", true));
	finish(n, op_rename(n, P, &d, "x", &e, "x"));
	net_run(n, 50);
	return counts_right(n) && nfs4r_core_count_below(n->s[S].core, &e, P) > 0 &&
		nfs4r_core_count_below(n->s[S].core, &d, P) == 0;
}

static bool counts_lose_multi_files(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), y = file_in(n, &d, "y");

	finish(n, op_write(n, P, &y, "p", true));
	finish(n, op_link(n, P, &y, &n->root, "z"));
	net_run(n, 50);
	return counts_right(n);
}

static bool counts_lose_dead_objects(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), y = file_in(n, &d, "y");

	finish(n, op_write(n, P, &y, "p", true));
	finish(n, op_name(n, P, NFS4R_OP_REMOVE, &d, "y"));
	net_run(n, 50);
	return counts_right(n);
}

/* ---- log ---------------------------------------------------------------------------------------------- */

static void entry_to(struct net *n, nfs4r_server_id from, nfs4r_server_id to, nfs4r_lsn lsn, const struct nfs4r_oid *f,
		     nfs4r_version before)
{
	struct nfs4r_msg m = { .type = NFS4R_MSG_ENTRIES };
	struct nfs4r_entry *e = nfs4r_entry_new();

	e->log = from;
	e->lsn = lsn;
	e->view = 1;
	e->op = NFS4R_OP_SETATTR;
	e->nparts = 1;
	e->parts[0].oid = *f;
	e->parts[0].before = before;
	e->parts[0].after = before + 1;
	e->parts[0].effect = NFS4R_EFF_ATTRS;
	m.entries.log = from;
	m.entries.end = lsn;
	m.entries.n = 1;
	m.entries.entries = calloc(1, sizeof(e));
	m.entries.entries[0] = e;
	net_msg(n, from, to, &m);
	net_run(n, 20);
}

static nfs4r_version version_at(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f)
{
	struct nfs4r_facts facts;

	memtree_facts(n->s[s].tree, f, &facts);
	return facts.version;
}

static bool entries_wait_for_their_predecessor(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f");

	entry_to(n, Q, S, 1, &f, 2); /* builds on version 2, of a log that is late */
	if (version_at(n, S, &f) != 1)
		return false;
	entry_to(n, P, S, nfs4r_core_own_end(n->s[P].core) + 1, &f, 1);
	return version_at(n, S, &f) == 3;
}

/* S has P's write to g, and is not done with the one to f before it: a restart would give up what it has of g. */
static bool nothing_builds_on_a_hole(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f"), g = file_in(n, &n->root, "g");
	nfs4r_lsn end = nfs4r_core_own_end(n->s[P].core);
	bool waits;

	n->s[S].hold_apply = true;
	entry_to(n, P, S, end + 1, &f, 1);
	entry_to(n, P, S, end + 2, &g, 1);
	net_finish_apply(n, S, end + 2);
	entry_to(n, Q, S, 1, &g, 2);
	waits = version_at(n, S, &g) == 2 && net_jobs(n, S) == 1;
	net_let_apply(n, S);
	return waits && version_at(n, S, &f) == 2 && version_at(n, S, &g) == 3;
}

static bool old_parts_are_skipped(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f");
	uint32_t before = n->s[S].applies;

	entry_to(n, Q, S, 1, &f, 0);
	return n->s[S].applies == before && version_at(n, S, &f) == 1;
}

static bool moves_come_after_what_was_before(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d"), e = mkdir_in(n, &n->root, "e"), y = file_in(n, &d, "y");
	bool ok;

	mkdir_in(n, &e, "other");
	n->s[S].hold_apply = true;
	claim_all(n, P, &d, NFS4R_DEEP_PLUS);
	claim_all(n, P, &e, NFS4R_DEEP);
	finish(n, op_write(n, P, &y, "p", true));
	finish(n, op_rename(n, P, &e, "other", &d, "other"));
	net_run(n, 30);
	ok = net_jobs(n, S) == 1; /* the write, not the move */
	net_let_apply(n, S);
	return ok;
}

static bool applied_is_a_prefix(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f"), g = file_in(n, &n->root, "g");
	struct nfs4r_core_peer p;
	nfs4r_lsn end;

	finish(n, op_write(n, P, &f, "p", true));
	finish(n, op_write(n, P, &g, "p", true));
	net_run(n, 50);
	n->s[S].hold_apply = true;
	end = nfs4r_core_own_end(n->s[P].core);
	finish(n, op_write(n, P, &f, "pp", true));
	finish(n, op_write(n, P, &g, "pp", true));
	net_run(n, 30);
	net_finish_apply(n, S, end + 2); /* the later one first */
	net_run(n, 30);
	nfs4r_core_get_peer(n->s[P].core, S, &p);
	return p.applied == end;
}

static bool repeated_request_is_not_executed_again(struct net *n)
{
	struct nfs4r_oid d = mkdir_in(n, &n->root, "d");
	struct client *c;

	claim_all(n, P, &d, NFS4R_SHALLOW);
	net_hold(n, Q, P, NFS4R_MSG_REVOKE);
	net_drop(n, P, Q, NFS4R_MSG_FORWARD_ANSWER);
	c = op_name(n, Q, NFS4R_OP_CREATE, &d, "f");
	net_run(n, 200);
	net_pass_from(n, P, Q, NFS4R_MSG_FORWARD_ANSWER);
	finish(n, c);
	return c->op.status == NFS4R_OK && nfs4r_oid_creator(&c->op.result) == P;
}

static bool repeated_request_waits_like_the_first(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f");
	struct client *c;

	deaf(n);
	finish(n, op_write(n, P, &f, "p", true));
	net_run(n, 10);
	c = op_setattr(n, Q, &f, 0600);
	net_run(n, 50); /* executed at P; S has neither acked nor applied */
	if (c->done || c->op.id.seq == 0)
		return true;
	net_crash(n, P);
	net_restart(n, P, true);
	return !soon(n, c);
}

/* ---- frame -------------------------------------------------------------------------------------------------- */

/*
 * P has control of f by a claim that S has not heard of, and a version that S has not got. A client of S heard that version from P, to which S still sent it
 * for an older reason.
 */
static bool nothing_gets_older_at_a_server(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f");
	bool kept;

	net_hold(n, P, S, 0);
	op_write(n, P, &f, "new", true);
	net_run(n, 50);
	if (version_at(n, P, &f) != version_at(n, S, &f) + 1 || nfs4r_core_route_read(n->s[S].core, &f, false, 0) != S)
		return false;
	net_told(n, S, P, &f, version_at(n, P, &f));
	kept = nfs4r_core_route_read(n->s[S].core, &f, false, 0) == P;
	if (nfs4r_core_route_read(n->s[S].core, &f, false, NFS4R_BIT(P)) != S)
		return false; /* P says that it is no primary: everybody has it */
	net_pass(n);
	net_quiet(n);
	return kept && nfs4r_core_route_read(n->s[S].core, &f, false, 0) == S;
}

/* The same, and S starts anew in between: its clients have not forgotten. S lost nothing and waits for nobody else. */
static bool what_was_told_outlives_a_restart(struct net *n)
{
	struct nfs4r_oid f = file_in(n, &n->root, "f");
	bool kept;

	net_hold(n, P, S, 0);
	op_write(n, P, &f, "new", true);
	net_run(n, 50);
	net_told(n, S, P, &f, version_at(n, P, &f));
	if (memtree_rows(n->s[S].tree, 'N') != 1)
		return false;
	net_crash(n, S);
	net_restart(n, S, true);
	kept = nfs4r_core_route_read(n->s[S].core, &f, false, 0) == P && nfs4r_core_route_read(n->s[S].core, &n->root, true, 0) == S;
	net_pass(n);
	net_quiet(n);
	return kept && nfs4r_core_route_read(n->s[S].core, &f, false, 0) == S && memtree_rows(n->s[S].tree, 'N') == 0;
}

static const struct prevents list[] = {
	{ "control 0: a multi-link file has one primary", F_MULTI_COVERED, multi_file_has_one_primary },
	{ "control 3: a create brings its control", F_NO_CREATED_CLAIM, create_brings_its_control },
	{ "control 3.1: the child is controlled too", F_CHILD_NOT_NEEDED, child_is_controlled },
	{ "control 3.2: nobody controls below a moved directory", F_MOVE_SHALLOW, moved_directory_has_nobody_below },
	{ "control 3.3: a moved object is still answered for", F_NO_MOVED_CLAIM, moved_object_is_answered_for },
	{ "control 3.4: names are resolved again", F_NO_RESOLVE_AGAIN, names_are_resolved_again },
	{ "control 3.9: in waits for moves", F_IN_NOT_RAISED, in_waits_for_moves },
	{ "control 3.9: in starts at last_move", F_IN_STARTS_AT_ZERO, in_starts_at_last_move },
	{ "control 4.1: the proposer remembers", F_PROPOSE_UNSAVED, proposer_remembers },
	{ "control 4.3b: a late proposal leaves no ghost", F_NO_TOMBSTONES, late_proposal_leaves_no_ghost },
	{ "control 4.3d: unknown objects are not granted", F_GRANT_UNKNOWN, unknown_objects_are_not_granted },
	{ "control 4.3d: granters block", F_NO_DEEP_BELOW, granters_block },
	{ "control 4.3e: the granter remembers", F_ACK_UNSAVED, granter_remembers },
	{ "control 4.5: the winner catches up", F_NO_BARRIER, winner_catches_up },
	{ "control 4.5: the winner remembers", F_WON_UNSAVED, winner_remembers },
	{ "control 4.5: a minority does not win", F_WIN_WITHOUT_MAJORITY, minority_does_not_win },
	{ "control 4.7: abort reaches late granters", F_ABORT_TO_ACKERS, abort_reaches_late_granters },
	{ "control 4.8: the floor leaves room for repeats", F_FLOOR_TOO_HIGH, floor_leaves_room_for_repeats },
	{ "control 4.9: won claims survive a restart", F_RESTART_FORGETS_WON, won_claims_survive },
	{ "control 4.9: a restart asks again", F_RESTART_KEEPS_ACKS, restart_asks_again },
	{ "control 4.9: in is the end of the log after a restart", F_RESTART_IN_ZERO, in_is_the_end_after_restart },
	{ "control 5.1: a closing claim covers later entries", F_LAST_NOT_RAISED, closing_claim_covers_later_entries },
	{ "control 5.1: a closing deep claim waits for a move", F_MOVE_HALF_COVERED, closing_deep_claim_waits_for_a_move },
	{ "control 5.2: a directory operation waits", F_REPLY_AT_ONCE, directory_operation_waits },
	{ "control 5.2: the whole path is acked by all", F_REPLY_OWN_CONTROL, whole_path_is_acked_by_all },
	{ "control 5.2: a moved claim is not acked by all by itself", F_MOVED_COUNTS, moved_claim_is_not_acked_by_all },
	{ "control 5.3: CLOSE waits", F_CLOSE_AT_ONCE, close_waits },
	{ "control 5.3: plain deep completes no file", F_PLAIN_DEEP_COUNTS, plain_deep_does_not_complete_files },
	{ "control 5.3b: acked by all", F_5_3B_NOT_ACKED, deep_plus_completes_when_all_acked },
	{ "control 5.3b: not multi", F_5_3B_MULTI, deep_plus_leaves_multi_files_out },
	{ "control 5.3b: in", F_5_3B_IN, in_waits_for_moves },
	{ "control 5.3b: last", F_5_3B_LAST, drop_back_ends_at_last },
	{ "control 6.2: readers look at deep+", F_READ_NO_DEEP_PLUS, readers_look_at_deep_plus },
	{ "control 6.2: the nearest deep hides nothing", F_READ_NEAREST_DEEP, nearest_deep_hides_nothing },
	{ "control 6.3: NOT_PRIMARY looks for other owners", F_NOT_PRIMARY_LOCAL, not_primary_looks_for_others },
	{ "control 6.3: only owners answer", F_SERVE_ALWAYS, only_owners_answer },
	{ "control 6.9: nothing gets older at a server", F_TOLD_FORGOTTEN, nothing_gets_older_at_a_server },
	{ "control 6.9: what was told outlives a restart", F_TOLD_RESTART, what_was_told_outlives_a_restart },
	{ "control 6.10: what is refused is not executed", F_REFUSED_EXECUTES, what_is_refused_is_not_executed },
	{ "control 7.1: closing that somebody waits for stays", F_REVOKE_CANCELLED, revoked_closing_is_not_taken_back },
	{ "control 7.1: ... and what is below it, too", F_REVOKE_CANCELLED, closing_below_what_is_waited_for_stays },
	{ "control 7.2: release waits for all", F_RELEASE_AT_ONCE, release_waits_for_all },
	{ "log 3.10: release waits for stable", F_RELEASE_APPLIED, release_waits_for_stable },
	{ "control 8.2: counts follow a move", F_COUNT_MOVE, counts_follow_a_move },
	{ "control 8.2: counts lose multi-link files", F_COUNT_FIRST_LINK, counts_lose_multi_files },
	{ "control 8.2: counts lose dead objects", F_COUNT_DEAD, counts_lose_dead_objects },
	{ "control 4.5: a claim that completes an update is on disk", F_COMPLETES_UNSAVED, what_completes_is_on_disk },
	{ "log 3.4: an entry waits for its predecessor", F_NO_VERSION_WAIT, entries_wait_for_their_predecessor },
	{ "log 3.4: nothing builds on what another log has behind a hole", F_BUILDS_ON_HOLE, nothing_builds_on_a_hole },
	{ "log 3.4: old parts are skipped", F_NO_SKIP, old_parts_are_skipped },
	{ "log 3.8: applied is a prefix", F_APPLIED_NOT_PREFIX, applied_is_a_prefix },
	{ "control 9: moves come after what was before", F_MOVE_OVERTAKES, moves_come_after_what_was_before },
	{ "log 5.6: a repeat is not executed again", F_NO_DEDUP, repeated_request_is_not_executed_again },
	{ "log 5.6: a repeat waits like the first", F_DUPLICATE_AT_ONCE, repeated_request_waits_like_the_first },
};

int main(void)
{
	return prevents_main(list, sizeof(list) / sizeof(list[0]));
}
