/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The rules of seals (log 2.3, 3.4, 5.2, 5.3, 5.6, 6.3 to 6.6, 7.5, 8.3), each with and without (see prevents.h). S is the server that
 * goes; with five servers it is number 5.
 */
#include <stdio.h>
#include <string.h>

#include "scenario/ends.h"
#include "scenario/prevents.h"

#include "lib/unit.h"

#define TREE "d/ d/f d/g"

static nfs4r_version version(struct net *n, nfs4r_server_id s, const char *path)
{
	struct nfs4r_oid o = at(n, path);
	struct nfs4r_facts f;

	memtree_facts(n->s[s].tree, &o, &f);
	return f.version;
}

/* The version that S gave its clients and lost is given to nothing else. */
static bool lost_versions_are_not_given_again(struct net *n)
{
	nfs4r_version lost;

	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	lonely_update(n, 100);
	lost = version(n, S, "d/f");
	net_crash(n, S);
	net_pass(n);
	return keep_trying_chmod(n, Q, "d/f", 10 * LEASE) == NFS4R_OK && version(n, Q, "d/f") != lost;
}

/* S, back, gets Q's new entry on top of a version that never was, before it hears of the view. */
static bool entries_wait_for_the_view(struct net *n)
{
	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	if (!lonely_update_is_lost(n))
		return false;
	net_drop(n, 0, S, NFS4R_MSG_VIEW);
	net_restart(n, S, true);
	net_run(n, LEASE);
	net_pass(n);
	return !n->s[S].halted && until_back(n);
}

/* S, which controls d (in *@d), is renaming something there, and nobody gets the entry; NULL: it does not come so far. */
static struct client *lonely_rename(struct net *n, struct nfs4r_oid *d)
{
	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	*d = at(n, "d");
	if (finish(n, op_rename(n, S, d, "g", d, "h")) != NFS4R_OK)
		return NULL;
	net_drop(n, S, 0, NFS4R_MSG_ENTRIES);
	return op_rename(n, S, d, "h", d, "i");
}

/* A rename that S answered is there after S is gone. */
static bool a_rename_is_quorum_durable_when_answered(struct net *n)
{
	struct nfs4r_oid d, x;
	struct client *c = lonely_rename(n, &d);

	if (!c)
		return false;
	net_run(n, 200);
	net_crash(n, S);
	net_pass(n);
	if (!until_sealed(n, P, S, 8 * LEASE))
		return false;
	net_run(n, LEASE);
	return !c->done || c->op.status != NFS4R_OK || memtree_lookup(n->s[P].tree, &d, "i", &x);
}

/* S has executed a rename that is not held, is cut off, and comes back when its log has ended: its client is told to try again. */
static bool what_is_undone_is_not_answered(struct net *n)
{
	struct nfs4r_oid d, x;
	struct client *c = lonely_rename(n, &d);

	if (!c)
		return false;
	net_run(n, 100);
	cut_off(n, S);
	if (!until_sealed(n, P, S, 8 * LEASE))
		return false;
	net_pass(n);
	if (!until_back(n))
		return false;
	net_run(n, 2 * LEASE);
	return c->done && (c->op.status != NFS4R_OK || memtree_lookup(n->s[P].tree, &d, "i", &x));
}

/* A write that began before a seal does not end as if nothing had happened: its client keeps the data. */
static bool a_write_does_not_end_after_a_seal(struct net *n)
{
	struct client *c;

	ends_begin(n, TREE, NFS4R_DURABILITY_MAJORITY);
	n->s[P].no_checkpoint = true;
	c = write_(n, P, "d/f");
	net_run(n, 200);
	net_crash(n, S);
	if (c->done || !until_sealed(n, P, S, 8 * LEASE))
		return false;
	n->s[P].no_checkpoint = false;
	net_stable(n, P);
	net_run(n, 2 * LEASE);
	return c->done && c->op.status == NFS4R_DELAY;
}

/* Q finds the result of what it had asked S for, while P does not know yet that S is gone. */
static bool a_result_waits_for_all_members(struct net *n)
{
	struct client *c;

	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	n->s[P].no_checkpoint = true;
	do_create(n, S, "d", "a");
	net_drop(n, S, Q, NFS4R_MSG_FORWARD_ANSWER);
	c = create(n, Q, "d", "b");
	net_run(n, 4 * RTT(n));
	net_drop(n, P, 0, NFS4R_MSG_PREPARE); /* so that Q makes the view */
	net_drop(n, Q, P, NFS4R_MSG_VIEW);
	net_crash(n, S);
	if (!until_sealed(n, Q, S, 10 * LEASE))
		return false;
	net_run(n, 100);
	if (c->done && view_of(n, P).adopted.num < view_of(n, Q).adopted.num)
		return false;
	net_pass(n);
	return finish(n, c) == NFS4R_OK;
}

/* Q has promised to end the log of S while S still has P's grant. What S answers then must not stand on what Q took afterwards. */
static bool a_promise_freezes_the_log(struct net *n)
{
	struct nfs4r_oid d, x;
	struct client *c;

	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	d = at(n, "d");
	if (finish(n, op_rename(n, S, &d, "g", &d, "h")) != NFS4R_OK)
		return false;
	net_drop(n, S, Q, NFS4R_MSG_HEARTBEAT);
	while (view_of(n, Q).promised == 0 && n->now < 100000)
		net_run(n, 1);
	net_drop(n, S, P, NFS4R_MSG_ENTRIES);
	c = op_rename(n, S, &d, "h", &d, "i");
	net_run(n, 10 * RTT(n));
	if (!until_sealed(n, P, S, 8 * LEASE))
		return false;
	net_run(n, LEASE);
	return !c->done || c->op.status != NFS4R_OK || memtree_lookup(n->s[P].tree, &d, "i", &x);
}

static void ask_to_seal(struct net *n, uint64_t num)
{
	struct nfs4r_msg m = { .type = NFS4R_MSG_PREPARE };

	m.prepare.num = num;
	m.prepare.remove = m.prepare.seal = NFS4R_BIT(S);
	net_msg(n, P, Q, &m);
}

/* Q is accepting P's view, whose seal it has not reached, when it promises a higher one: from then on its copy stays as promised. */
static bool an_old_acceptance_lifts_no_limit(struct net *n)
{
	struct nfs4r_msg m = { .type = NFS4R_MSG_ACCEPT };
	nfs4r_lsn before;

	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	do_chmod(n, S, "d/f");
	net_drop(n, 0, Q, NFS4R_MSG_ENTRIES);
	chmod_(n, S, "d/f");
	net_run(n, 10 * RTT(n));
	before = memtree_applied(n->s[Q].tree, S);
	ask_to_seal(n, 10 * NFS4R_VIEW_STEP + P);
	net_run(n, LEASE + 50); /* until the lease that Q granted is over */
	m.view = view_of(n, Q).accepted;
	m.view.base = m.view.num;
	m.view.num = 10 * NFS4R_VIEW_STEP + P;
	m.view.members = NFS4R_BIT(P) | NFS4R_BIT(Q);
	m.view.open = m.view.members;
	m.view.epoch++;
	m.view.seals[m.view.nseals++] = (struct nfs4r_seal){ S, before + 1 };
	net_msg(n, P, Q, &m);
	net_run(n, 2 * n->delay);
	if (view_of(n, Q).promised != m.view.num)
		return false;
	ask_to_seal(n, 11 * NFS4R_VIEW_STEP + P);
	net_run(n, 2 * n->delay);
	if (view_of(n, Q).promised != 11 * NFS4R_VIEW_STEP + P)
		return false;
	net_pass(n);
	net_run(n, LEASE / 4);
	return memtree_applied(n->s[Q].tree, S) == before;
}

/* 4 has more of the log of 5 than the others and is asked nothing: it cannot be a member of the view that ends the log. */
static bool who_did_not_promise_is_no_member(struct net *n)
{
	nfs4r_lsn lsn;

	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	do_chmod(n, 5, "d/f");
	for (nfs4r_server_id s = P; s <= S; s++) {
		net_drop(n, 5, s, NFS4R_MSG_ENTRIES);
		net_drop(n, 4, s, NFS4R_MSG_ENTRIES);
		net_drop(n, s, 4, NFS4R_MSG_PREPARE);
	}
	chmod_(n, 5, "d/f");
	net_run(n, 100);
	net_crash(n, 5);
	if (!until_sealed(n, P, 5, 10 * LEASE) || !sealed_at(n, P, 5, &lsn))
		return false;
	return !(view_of(n, P).adopted.members & NFS4R_BIT(4)) || memtree_applied(n->s[4].tree, 5) <= lsn;
}

/* P and Q have the second of two entries of S, not the first, and start anew: neither copy may stand for the log. */
static bool somebody_must_be_complete(struct net *n)
{
	nfs4r_lsn end;

	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	do_chmod(n, S, "d/f");
	do_chmod(n, S, "d/g");
	end = memtree_applied(n->s[S].tree, S);
	n->s[P].hold_apply = n->s[Q].hold_apply = true;
	chmod_(n, S, "d/f");
	chmod_(n, S, "d/g");
	net_run(n, 5 * RTT(n));
	net_finish_apply(n, P, end + 2);
	net_finish_apply(n, Q, end + 2);
	net_crash(n, S);
	for (nfs4r_server_id s = P; s <= Q; s++) {
		net_crash(n, s);
		n->s[s].hold_apply = false;
		net_restart(n, s, true);
	}
	net_run(n, 8 * LEASE);
	net_restart(n, S, true);
	return until_back(n) && all_equal(n);
}

/* Q lacks an entry of S. When the view stands that ends the log behind that entry, Q has it. */
static bool who_accepts_has_the_log(struct net *n)
{
	nfs4r_lsn lsn;

	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	do_chmod(n, S, "d/f");
	net_drop(n, S, Q, NFS4R_MSG_ENTRIES);
	net_hold(n, P, Q, NFS4R_MSG_ENTRIES);
	chmod_(n, S, "d/f");
	net_run(n, 100);
	net_crash(n, S);
	net_run(n, 4 * LEASE);
	if (sealed_at(n, P, S, &lsn))
		return memtree_applied(n->s[Q].tree, S) >= lsn;
	net_pass(n);
	return until_sealed(n, P, S, 8 * LEASE);
}

/* 4 adopted the view that ends the log of 5 and does not have its last entry; everybody else has. */
static bool four_is_behind(struct net *n)
{
	do_chmod(n, 5, "d/f");
	net_drop(n, 0, 4, NFS4R_MSG_ENTRIES);
	net_drop(n, 0, 4, NFS4R_MSG_ACCEPT);
	chmod_(n, 5, "d/f");
	net_run(n, 100);
	net_crash(n, 5);
	if (!until_sealed(n, P, 5, 8 * LEASE))
		return false;
	net_run(n, 3 * n->delay);
	return view_of(n, 4).adopted.epoch > 0;
}

/* S was outside and joins meanwhile: it does not hear from 4 of a control that nobody will ever release. */
static bool lists_are_made_behind_the_seal(struct net *n)
{
	struct nfs4r_oid f;

	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	f = at(n, "d/f");
	cut_off(n, S);
	if (!until_removed(n, P, S, 8 * LEASE))
		return false;
	net_pass(n);
	net_drop(n, S, 4, NFS4R_MSG_HEARTBEAT);
	net_run(n, 2 * LEASE);
	if (!four_is_behind(n))
		return false;
	net_pass_from(n, S, 4, NFS4R_MSG_HEARTBEAT);
	net_run(n, 2 * LEASE);
	net_pass(n);
	net_run(n, 2 * LEASE);
	return !controls(n, S, 5, &f) && keep_trying_chmod(n, S, "d/f", 4 * LEASE) == NFS4R_OK;
}

/* 4 does not read its own copy of what 5 changed last. */
static bool a_member_serves_behind_the_seal(struct net *n)
{
	struct nfs4r_oid f;

	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	f = at(n, "d/f");
	return four_is_behind(n) && route(n, 4, &f, false) != 4;
}

/* S comes back with an update that was given up. */
static bool a_copy_that_is_ahead_is_repaired(struct net *n)
{
	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	lonely_update(n, 100);
	net_crash(n, S);
	net_pass(n);
	if (!until_sealed(n, P, S, 8 * LEASE))
		return false;
	net_restart(n, S, true);
	return until_back(n) && all_equal(n);
}

/* The source starts anew while S takes objects from it: all its answers are to be of one start. */
static bool who_starts_anew_is_asked_anew(struct net *n)
{
	nfs4r_server_id from;

	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	lonely_update(n, 100);
	net_crash(n, S);
	net_pass(n);
	assert_true(until_sealed(n, P, S, 8 * LEASE));
	n->s[S].hold_repair = true;
	net_restart(n, S, true);
	net_run(n, 2 * LEASE);
	assert_non_null(n->s[S].repair);
	from = n->s[S].repair->from;
	net_crash(n, from);
	net_restart(n, from, true);
	net_run(n, 2 * LEASE);
	net_let_repair(n, S, true);
	assert_true(until_back(n) && all_equal(n));
	return n->s[S].repairs == 2;
}

/* S executed what Q asked it for, and nobody got it. Back, S is asked once more, under the same identity. */
static bool results_that_were_undone_are_forgotten(struct net *n)
{
	struct nfs4r_oid d, x;
	struct client *c;

	n->cfg.op_wait_ms = 60000;
	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	d = at(n, "d");
	n->s[P].no_checkpoint = true;
	do_create(n, S, "d", "a");
	net_drop(n, S, Q, NFS4R_MSG_FORWARD_ANSWER);
	net_drop(n, S, 0, NFS4R_MSG_ENTRIES);
	c = create(n, Q, "d", "b");
	net_run(n, 4 * RTT(n));
	net_crash(n, S);
	net_pass(n);
	net_drop(n, Q, 0, NFS4R_MSG_PROPOSE); /* it would decide anew and do it itself */
	n->s[P].no_checkpoint = false;
	net_stable(n, P);
	if (!until_sealed(n, Q, S, 8 * LEASE))
		return false;
	net_restart(n, S, true);
	if (!until_back(n) || c->done || finish(n, create(n, S, "d", "c")) != NFS4R_OK)
		return false;
	net_run_until(n, &c->done, 8 * LEASE);
	return c->done && c->op.status == NFS4R_OK && memtree_lookup(n->s[S].tree, &d, "b", &x);
}

/*
 * S wrote f twice; P has the first, which a majority so has on its disks, and Q has it with the bytes of the second, which the end of the log gives up. S undoes
 * that one, and only Q is there to take f from. Then P is gone: the first is in the copy of S alone, whatever the second did to it.
 */
static bool bytes_of_the_undone_are_kept(struct net *n)
{
	struct nfs4r_oid f;
	nfs4r_lsn first, own;

	n->cfg.window_entries = 1;
	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	f = at(n, "d/f");
	do_chmod(n, S, "d/f");
	n->late = NFS4R_BIT(Q);
	net_hold(n, S, 0, NFS4R_MSG_ENTRIES);
	chmod_(n, S, "d/f"); /* fills the window */
	net_run(n, 20);
	first = nfs4r_core_own_end(n->s[S].core) + 1;
	if (finish(n, op_write(n, S, &f, "one", true)) != NFS4R_OK || finish(n, op_write(n, S, &f, "two", true)) != NFS4R_OK)
		return false;
	net_pass(n);
	for (int i = 0; i < 1000 && (memtree_applied(n->s[P].tree, S) < first || memtree_applied(n->s[Q].tree, S) < first); i++)
		net_run(n, 1);
	cut_off(n, S);
	n->s[Q].hold_repair = true;
	if (!until_sealed(n, Q, S, 8 * LEASE))
		return false;
	net_crash(n, P);
	own = nfs4r_core_own_end(n->s[Q].core);
	if (n->s[Q].repair)
		net_let_repair(n, Q, false); /* P is gone */
	n->s[Q].hold_repair = false;
	net_pass(n);
	for (int i = 0; i < 2000 && !(serves(n, S) && serves(n, Q)); i++)
		net_run(n, 10);
	if (!serves(n, Q) || nfs4r_core_own_end(n->s[Q].core) != own) /* S says what is right */
		return false;
	net_restart(n, P, true);
	return until_back(n);
}

/* Q, whose process ended amid an update of f, takes the content of S, which has one more that nobody gets; then S is gone, and its log ends before that. */
static bool content_of_a_newer_copy_is_given_up(struct net *n)
{
	struct nfs4r_oid f;

	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	f = at(n, "d/f");
	if (finish(n, op_write(n, S, &f, "one", true)) != NFS4R_OK)
		return false;
	net_run(n, 100);
	net_drop(n, S, 0, NFS4R_MSG_ENTRIES);
	if (finish(n, op_write(n, S, &f, "two", true)) != NFS4R_OK || version(n, Q, "d/f") != version(n, P, "d/f") || version(n, Q, "d/f") == version(n, S, "d/f"))
		return false;
	net_newer(n, Q, S, &f);
	net_crash(n, Q);
	net_restart(n, Q, true); /* it is remembered */
	net_run(n, 100);
	cut_off(n, S);
	if (!until_sealed(n, Q, S, 8 * LEASE))
		return false;
	for (int i = 0; i < 1000 && !serves(n, Q); i++)
		net_run(n, 10);
	if (memtree_content(n->s[Q].tree, &f) != memtree_content(n->s[P].tree, &f))
		return false;
	net_pass(n);
	return until_back(n) && all_equal(n);
}

/*
 * S undoes what it alone had with P's copy of f. That has an update of P that nobody gets as an entry, and when P is gone its log ends before it: S has it,
 * although its positions do not say so.
 */
static bool what_came_with_a_copy_is_undone(struct net *n)
{
	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	if (!about_to_undo(n))
		return false;
	net_drop(n, P, 0, NFS4R_MSG_ENTRIES);
	chmod_(n, P, "d/f");
	net_run(n, 20);
	net_stable(n, P);
	net_let_repair(n, S, true);
	net_run(n, LEASE / 4); /* P has said how far it was */
	net_crash(n, P);
	net_pass(n);
	for (int i = 0; i < 2000 && !(serves(n, S) && serves(n, Q)); i++)
		net_run(n, 10);
	net_restart(n, P, true);
	return until_back(n) && all_equal(n);
}

/*
 * Nobody has d/f exact, and P, whose copy is to be taken for right, loses power before that. It knows by Q that it is the one, and waits for S to say how far the own
 * log went: what it makes then comes behind that, and is made when the caller has heard so, too.
 */
static bool nothing_is_made_before_recovered_is_heard(struct net *n)
{
	uint32_t before = n->s[P].recovered;
	nfs4r_lsn end;

	late_writes(n, TREE, NFS4R_BIT(P) | NFS4R_BIT(Q), 2);
	net_crash(n, S);
	n->s[P].hold_repair = true;
	for (int i = 0; i < 8000 && !n->s[P].repair; i++)
		net_run(n, 1);
	if (!n->s[P].repair || !n->s[P].repair->noids)
		return false;
	net_crash(n, P);
	n->s[P].hold_repair = false;
	end = memtree_applied(n->s[P].tree, P);
	net_restart(n, P, false);
	net_run(n, LEASE / 2);
	assert_int_equal(n->s[P].recovered, before);
	net_pass(n);
	net_restart(n, S, true);
	for (int i = 0; i < 1000 && n->s[P].recovered == before; i++)
		net_run(n, 1);
	if (n->s[P].recovered == before || n->s[P].recovered_end != end)
		return false;
	return until_back(n) && memtree_applied(n->s[P].tree, P) == end + 1 && all_equal(n);
}

static nfs4r_version file_version(struct net *n, nfs4r_server_id s)
{
	struct nfs4r_oid f = at(n, "d/f");
	struct nfs4r_facts facts;

	memtree_facts(n->s[s].tree, &f, &facts);
	return facts.version;
}

/* P gives a file a new version, and Q, which can take only that of its own, repairs it for longer than P's entry is on its way. */
static bool between_repairs_entries_have_time_to_come(struct net *n)
{
	struct server *q = &n->s[Q];

	late_writes(n, TREE, NFS4R_BIT(P) | NFS4R_BIT(Q), 2);
	nfs4r_version was = file_version(n, P);
	net_crash(n, S);
	net_hold(n, P, Q, NFS4R_MSG_ENTRIES);
	assert_true(until_sealed(n, Q, S, 8 * LEASE));
	for (int i = 0; i < 1000 && file_version(n, P) == was; i++)
		net_run(n, 1);
	q->hold_repair = true;
	for (int i = 0; i < 1000 && !q->repair; i++)
		net_run(n, 1);
	net_pass(n);
	for (int i = 0; i < 1000 && !serves(n, Q); i++) {
		net_run(n, 1);
		if (!q->repair)
			continue;
		net_run(n, 2 * n->cfg.repeat_ms);
		net_one_repair(n, Q);
	}
	if (!serves(n, Q))
		return false;
	q->hold_repair = false;
	net_restart(n, S, true);
	return file_version(n, Q) == file_version(n, P) && until_back(n) && all_equal(n);
}

static const struct prevents list[] = {
	{ "log 2.3: lost versions are not given again", F_NO_EPOCH, lost_versions_are_not_given_again },
	{ "log 3.4: entries wait for the view", F_VIEW_NOT_AWAITED, entries_wait_for_the_view },
	{ "log 5.2: answers are held", F_NOT_QUORUM_DURABLE, a_rename_is_quorum_durable_when_answered },
	{ "log 5.2: what is undone is not answered", F_ANSWER_UNDONE, what_is_undone_is_not_answered },
	{ "log 5.3: a write does not end after a seal", F_WRITE_OVER_SEAL, a_write_does_not_end_after_a_seal },
	{ "log 5.6: a result waits for all members", F_ANSWER_BEFORE_VIEW, a_result_waits_for_all_members },
	{ "log 6.3: a promise freezes the log", F_NO_FREEZE, a_promise_freezes_the_log },
	{ "log 6.3: an old acceptance lifts no limit", F_OLD_ACCEPT_LIFTS, an_old_acceptance_lifts_no_limit },
	{ "log 6.4: somebody is complete", F_SEAL_INCOMPLETE, somebody_must_be_complete },
	{ "log 6.5: who accepts has the log", F_ACCEPT_WITHOUT_LOG, who_accepts_has_the_log },
	{ "log 4.6: content of a newer copy is given up", F_NEWER_FORGOTTEN, content_of_a_newer_copy_is_given_up },
	{ "log 7.5: nothing is made before RECOVERED is heard", F_TAKES_LOST_NUMBER, nothing_is_made_before_recovered_is_heard },
	{ "log 7.5: between repairs entries have time to come", F_LIST_AT_ONCE, between_repairs_entries_have_time_to_come },
	{ "log 8.3: undone results are forgotten", F_UNDONE_REPLIES, results_that_were_undone_are_forgotten },
	{ "log 8.3: a copy that is ahead is repaired", F_CROSS_AHEAD, a_copy_that_is_ahead_is_repaired },
	{ "log 8.3: a source that starts anew is asked anew", F_SOURCE_ANEW, who_starts_anew_is_asked_anew },
	{ "log 8.3: bytes of the undone are kept", F_UNDO_EMPTIES, bytes_of_the_undone_are_kept },
	{ "log 8.3: what came with a copy is undone", F_REACH_FORGOTTEN, what_came_with_a_copy_is_undone },
};

static const struct prevents with_five[] = {
	{ "log 6.4: members have promised", F_SEAL_UNPROMISED, who_did_not_promise_is_no_member },
	{ "log 6.6: lists are made behind the seal", F_LIST_UNCROSSED, lists_are_made_behind_the_seal },
	{ "log 6.6: a member serves behind the seal", F_SERVE_UNCROSSED, a_member_serves_behind_the_seal },
};

int main(void)
{
	return prevents_main(list, sizeof(list) / sizeof(list[0])) + prevents_with(with_five, sizeof(with_five) / sizeof(with_five[0]), 5);
}
