/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The rules of views that need an order of events which chance seldom makes, each with and without (see prevents.h): votes,
 * the wait of a voter that started anew, proposals over a change of the view, a restart while joining.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/prevents.h"
#include "scenario/trees.h"

#include "lib/unit.h"

#define LEASE 1000
#define SILENCE 1000

static void views(struct net *n)
{
	tree(n, "d/ d/f d/g");
	n->cfg.lease_ms = LEASE;
	n->cfg.silence_ms = SILENCE;
	n->cfg.idle_ms = 200;
	net_retune(n);
	net_run(n, 2 * LEASE);
}

static nfs4r_servers members(struct net *n, nfs4r_server_id s)
{
	struct nfs4r_core_view v;

	nfs4r_core_get_view(n->s[s].core, &v);
	return v.adopted.members;
}

static bool serves(struct net *n, nfs4r_server_id s)
{
	return nfs4r_core_lease_until(n->s[s].core) > n->now;
}

/* Until @s knows a view without @gone; false: it does not come. */
static bool until_removed(struct net *n, nfs4r_server_id s, nfs4r_server_id gone, uint64_t ms)
{
	uint64_t until = n->now + ms;

	while ((members(n, s) & NFS4R_BIT(gone)) && n->now < until)
		net_run(n, 1);
	return !(members(n, s) & NFS4R_BIT(gone));
}

/* P and Q are cut from each other. S, which granted P, starts anew and helps Q to remove P: P has no lease then. */
static bool a_voter_that_started_waits(struct net *n)
{
	views(n);
	net_drop(n, P, Q, 0);
	net_drop(n, Q, P, 0);
	net_drop(n, P, S, NFS4R_MSG_PREPARE);
	net_run(n, SILENCE - 100);
	net_drop(n, P, S, NFS4R_MSG_HEARTBEAT); /* what S grants from here on it would remember */
	net_crash(n, S);
	net_restart(n, S, true);
	return until_removed(n, Q, P, 10 * LEASE) && !serves(n, P);
}

/* Q hears P no more and asks everybody to remove it; P itself hears that, S, which grants P, does not. */
static bool the_removed_one_has_no_vote(struct net *n)
{
	views(n);
	net_drop(n, P, Q, NFS4R_MSG_HEARTBEAT);
	net_drop(n, Q, S, NFS4R_MSG_PREPARE);
	return !(until_removed(n, Q, P, 2 * SILENCE) && serves(n, P));
}

/* Q dies, and the disks of the others are slow: whoever proposes the view without Q may not have accepted it after a loss of power. */
static bool the_own_vote_is_on_disk(struct net *n)
{
	bool early;

	views(n);
	n->s[P].slow_disk = n->s[S].slow_disk = true;
	net_crash(n, Q);
	early = until_removed(n, P, Q, 10 * LEASE);
	n->s[P].slow_disk = n->s[S].slow_disk = false;
	return !early && until_removed(n, P, Q, 10 * LEASE);
}

/* Q acked P's proposal with an entry of its own that nobody else has, and dies: P must get what it wants in the view without Q. */
static bool a_proposal_begins_anew_in_a_new_view(struct net *n)
{
	struct nfs4r_oid f;
	bool done;

	views(n);
	f = at(n, "d/f");
	net_hold(n, Q, 0, NFS4R_MSG_ENTRIES);
	net_hold(n, Q, 0, NFS4R_MSG_POSITIONS);
	chmod_(n, Q, "d/g");
	net_run(n, 4 * RTT(n));
	chmod_(n, P, "d/f");
	net_run(n, 4 * RTT(n));
	done = acting(n, P, &f); /* no: it waits for Q's entry (control 4.5) */
	net_crash(n, Q);
	if (done || !until_removed(n, P, Q, 10 * LEASE))
		return false;
	return finish(n, chmod_(n, P, "d/f")) == NFS4R_OK;
}

/* S was away when P won; it restarts before it has the list of P's controls. */
static bool who_restarts_while_joining_says_nothing(struct net *n)
{
	struct nfs4r_oid f;

	views(n);
	f = at(n, "d/f");
	net_drop(n, S, 0, 0);
	net_drop(n, 0, S, 0);
	net_run(n, 4 * LEASE);
	n->s[Q].no_checkpoint = true;
	if (finish(n, chmod_(n, P, "d/f")) != NFS4R_OK)
		return false;
	net_pass(n);
	net_hold(n, P, S, NFS4R_MSG_JOINROWS);
	net_hold(n, P, S, NFS4R_MSG_PROPOSE); /* that would tell it, too */
	net_run(n, 2 * LEASE);
	net_crash(n, S);
	net_restart(n, S, true);
	net_run(n, LEASE / 2);
	return route(n, S, &f, false) != S;
}

/*
 * While S is away P moves x below c and back, then Q moves c below x. The two logs have no object in common; S gets Q's first. Moved
 * now, c and x would hang below each other when P's first entry comes.
 */
static bool moves_come_after_what_they_were_made_on(struct net *n)
{
	struct nfs4r_oid t, k, v;

	tree(n, "t/ t/x/ t/x/v/ c/ c/k/");
	t = at(n, "t");
	k = at(n, "c/k");
	v = at(n, "t/x/v");
	n->cfg.lease_ms = LEASE;
	n->cfg.silence_ms = SILENCE;
	n->cfg.idle_ms = 200;
	net_retune(n);
	net_run(n, 2 * LEASE);
	net_drop(n, S, 0, 0);
	net_drop(n, 0, S, 0);
	net_run(n, 4 * LEASE);
	if (finish(n, op_rename(n, P, &t, "x", &k, "x")) != NFS4R_OK || finish(n, op_rename(n, P, &k, "x", &t, "x")) != NFS4R_OK)
		return false;
	net_run(n, 2 * LEASE); /* released */
	if (finish(n, op_rename(n, Q, &n->root, "c", &v, "c")) != NFS4R_OK)
		return false;
	net_pass(n);
	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	net_run(n, 3 * LEASE);
	return memtree_applied(n->s[S].tree, Q) < memtree_applied(n->s[Q].tree, Q);
}

/*
 * P does not know that Q and S made a view without it, which S joined before Q had P's last entry. When Q has it on disk all of P's
 * view have; P, which starts anew before Q confirms, would then tell S, too, that it let go of what S does not have.
 */
static bool who_was_removed_releases_nothing(struct net *n)
{
	static const uint32_t news[] = { NFS4R_MSG_VIEW, NFS4R_MSG_PREPARE, NFS4R_MSG_ACCEPT, NFS4R_MSG_RELEASED };
	struct nfs4r_oid f;

	views(n);
	f = at(n, "d/f");
	net_drop(n, S, 0, 0);
	net_drop(n, 0, S, 0);
	net_run(n, 4 * LEASE);
	net_hold(n, P, Q, NFS4R_MSG_ENTRIES);
	if (finish(n, chmod_(n, P, "d/f")) != NFS4R_OK)
		return false;
	net_drop(n, P, S, 0);
	net_drop(n, P, Q, NFS4R_MSG_HEARTBEAT);
	for (uint32_t i = 0; i < sizeof(news) / sizeof(news[0]); i++)
		net_drop(n, Q, P, news[i]);
	net_pass_from(n, S, 0, 0);
	net_pass_from(n, 0, S, 0);
	if (!until_removed(n, S, P, 10 * LEASE))
		return false;
	net_run(n, LEASE);
	net_drop(n, Q, S, NFS4R_MSG_ENTRIES);
	net_pass_from(n, P, Q, NFS4R_MSG_ENTRIES);
	net_run(n, LEASE);
	net_pass_from(n, Q, P, NFS4R_MSG_VIEW);
	net_pass_from(n, P, Q, NFS4R_MSG_HEARTBEAT);
	if (!until_removed(n, P, P, LEASE))
		return false;
	net_drop(n, P, S, NFS4R_MSG_ENTRIES);
	net_drop(n, S, 0, NFS4R_MSG_PREPARE); /* P does not become a member again */
	net_drop(n, Q, 0, NFS4R_MSG_PREPARE);
	net_pass_from(n, P, S, 0);
	net_crash(n, P);
	net_restart(n, P, true);
	net_run(n, LEASE);
	return serves(n, S) && !(route(n, S, &f, false) == S && memtree_applied(n->s[S].tree, P) < memtree_applied(n->s[P].tree, P));
}

/* P leaves, and the others make a view without it, of which it does not hear. */
static bool left_and_removed(struct net *n)
{
	net_drop(n, 0, P, NFS4R_MSG_VIEW);
	net_drop(n, 0, P, NFS4R_MSG_PREPARE);
	net_drop(n, 0, P, NFS4R_MSG_ACCEPT);
	net_leave(n, P);
	return until_removed(n, Q, P, SILENCE / 2);
}

/* What Q and S granted it before has not run out. */
static bool who_gave_its_lease_back_has_none(struct net *n)
{
	views(n);
	return left_and_removed(n) && !serves(n, P);
}

/* P has started anew, and has a new lease, when a HEARTBEAT comes by which its last start gave the old one back. No other comes after that. */
static bool a_new_start_has_a_new_lease(struct net *n)
{
	struct nfs4r_msg late = { .type = NFS4R_MSG_HEARTBEAT };

	views(n);
	late.heartbeat.left = true;
	late.heartbeat.clock_ms = n->now;
	late.heartbeat.hears = NFS4R_BIT(P) | NFS4R_BIT(Q) | NFS4R_BIT(S);
	late.heartbeat.memory = NFS4R_MEMORY_KNOWN;
	late.heartbeat.inc = n->s[P].inc;
	late.heartbeat.inc_random = n->starts - 2; /* Q and S started after it */
	net_crash(n, P);
	net_restart(n, P, true);
	net_run(n, 2 * LEASE);
	if (!serves(n, P))
		return false;
	net_msg(n, P, Q, &late);
	net_msg(n, P, S, &late);
	net_drop(n, P, 0, NFS4R_MSG_HEARTBEAT);
	net_drop(n, 0, P, NFS4R_MSG_VIEW);
	return until_removed(n, Q, P, 10 * LEASE) && !serves(n, P);
}

/* S had granted P, whose start that was has given its lease back since: S did not wait. P starts anew, and the GRANT comes late. */
static bool an_old_grant_is_no_lease(struct net *n)
{
	struct nfs4r_msg late = { .type = NFS4R_MSG_GRANT };

	views(n);
	late.grant.clock_ms = n->now;
	late.grant.lease_ms = LEASE;
	if (!left_and_removed(n))
		return false;
	net_crash(n, P);
	net_restart(n, P, true);
	net_run(n, 2 * RTT(n));
	net_msg(n, S, P, &late);
	net_run(n, RTT(n));
	return n->now < late.grant.clock_ms + LEASE && !serves(n, P);
}

/* What Q says, and nobody else: a view without S, with a number in Q's name that is @rounds above the one that all go by. */
static struct nfs4r_msg without_s(struct net *n, uint32_t type, uint64_t rounds)
{
	struct nfs4r_msg m = { .type = type };
	struct nfs4r_core_view v;

	nfs4r_core_get_view(n->s[Q].core, &v);
	m.view = v.adopted;
	m.view.base = v.adopted.num;
	m.view.num = (v.adopted.num / NFS4R_VIEW_STEP + rounds) * NFS4R_VIEW_STEP + Q;
	m.view.members = m.view.open = m.view.servers = m.view.voters = NFS4R_BIT(P) | NFS4R_BIT(Q);
	return m;
}

/* Q says so in one message to each; with @starts S has just started, and is in no view's lease yet. */
static bool all_stay(struct net *n, uint32_t type, uint64_t rounds, bool starts)
{
	struct nfs4r_msg lie;

	views(n);
	lie = without_s(n, type, rounds);
	if (starts) {
		net_crash(n, S);
		net_restart(n, S, true);
	}
	net_msg(n, Q, S, &lie);
	net_msg(n, Q, P, &lie);
	net_run(n, 8 * LEASE);
	return (members(n, P) & members(n, Q) & members(n, S) & NFS4R_BIT(S)) && serves(n, P) && serves(n, Q) && serves(n, S);
}

static bool one_server_adopts_for_nobody(struct net *n)
{
	return all_stay(n, NFS4R_MSG_VIEW, 1u << 30, false);
}

static bool nor_for_one_that_starts(struct net *n)
{
	return all_stay(n, NFS4R_MSG_VIEW, 1, true);
}

static bool nothing_is_accepted_unpromised(struct net *n)
{
	return all_stay(n, NFS4R_MSG_ACCEPT, 1, false);
}

static uint64_t promised(struct net *n, nfs4r_server_id s)
{
	struct nfs4r_core_view v;

	nfs4r_core_get_view(n->s[s].core, &v);
	return v.promised;
}

#define LAST_NUMBER ((1ull << NFS4R_RECONF_SHIFT) - NFS4R_VIEW_STEP)

/* Q proposes under its own numbers, each @rounds above the one before, to @to alone or to all (0); so often. */
static void push(struct net *n, nfs4r_server_id to, uint64_t rounds, uint32_t times)
{
	struct nfs4r_msg m = { .type = NFS4R_MSG_PREPARE };

	m.prepare.num = (promised(n, P) / NFS4R_VIEW_STEP) * NFS4R_VIEW_STEP + Q;
	for (uint32_t i = 0; i < times; i++) {
		m.prepare.num += rounds * NFS4R_VIEW_STEP;
		if (m.prepare.num > LAST_NUMBER + Q)
			m.prepare.num = LAST_NUMBER + Q;
		for (nfs4r_server_id s = 1; s <= n->n; s++)
			if (s != Q && (!to || s == to))
				net_msg(n, Q, s, &m);
		net_run(n, RTT(n));
	}
}

/* Then Q dies, and the others have to make a view without it. */
static bool q_is_removed(struct net *n)
{
	net_crash(n, Q);
	return until_removed(n, P, Q, 20 * LEASE) && until_removed(n, S, Q, LEASE) && serves(n, P) && serves(n, S);
}

/* A number has 34 bits for its round. */
static bool numbers_are_not_used_up(struct net *n)
{
	views(n);
	push(n, 0, (1u << 24) - 1, 1025);
	return q_is_removed(n);
}

/* Under what P has promised S would promise nothing, and under what S takes, P would not. */
static bool one_server_is_not_pushed_away(struct net *n)
{
	views(n);
	push(n, P, (1u << 24) - 1, 3);
	return q_is_removed(n);
}

/* An answer to P's PREPARE with an accepted view that never was: it would be the base, and no HEARTBEAT would speak of a view as new as that. */
static bool no_base_is_above_its_view(struct net *n)
{
	struct nfs4r_core_view v;
	struct nfs4r_msg m = { .type = NFS4R_MSG_PROMISE };
	uint64_t was, until;

	views(n);
	nfs4r_core_get_view(n->s[P].core, &v);
	m.promise.accepted = v.accepted;
	m.promise.accepted.num = LAST_NUMBER + Q;
	m.promise.complete = true;
	was = v.promised;
	net_crash(n, S);
	net_drop(n, Q, P, NFS4R_MSG_PROMISE);
	for (until = n->now + 4 * LEASE; promised(n, P) == was && n->now < until;)
		net_run(n, 1);
	net_run(n, 2 * RTT(n));
	net_pass_from(n, Q, P, NFS4R_MSG_PROMISE);
	m.promise.num = m.promise.promised = promised(n, P);
	net_msg(n, Q, P, &m);
	net_run(n, 12 * LEASE);
	return !(members(n, P) & NFS4R_BIT(S)) && serves(n, P) && serves(n, Q);
}

/* Q sends P an entry of S's log that S never made. It may be applied, and so would be, in S's name. */
static bool nobody_speaks_for_another_log(struct net *n)
{
	struct nfs4r_msg m = { .type = NFS4R_MSG_ENTRIES };
	struct nfs4r_entry *e, *array[1];

	views(n);
	n->s[P].no_checkpoint = n->s[Q].no_checkpoint = n->s[S].no_checkpoint = true;
	if (finish(n, chmod_(n, S, "d/f")) != NFS4R_OK)
		return false;
	net_run(n, LEASE);
	m.entries.log = S;
	m.entries.end = memtree_applied(n->s[S].tree, S) + 1;
	m.entries.n = 1;
	array[0] = e = nfs4r_entry_new();
	*e = *memtree_entry(n->s[S].tree, S, m.entries.end - 1);
	e->refs = 1;
	if (e->payload)
		nfs4r_buf_get(e->payload);
	e->lsn = m.entries.end;
	e->joined.pid.server = 0;
	e->parts[0].before = e->parts[0].after;
	e->parts[0].after++;
	m.entries.entries = calloc(1, sizeof(*m.entries.entries));
	m.entries.entries[0] = array[0];
	net_msg(n, Q, P, &m);
	net_run(n, LEASE);
	return memtree_applied(n->s[P].tree, S) == memtree_applied(n->s[S].tree, S) && serves(n, S);
}

static const struct prevents list[] = {
	{ "log 4.17: nobody speaks for another server's log", F_ENTRIES_OF_ANYBODY, nobody_speaks_for_another_log },
	{ "log 6.14: nobody adopts on one server's word", F_VIEW_BELIEVED, one_server_adopts_for_nobody },
	{ "log 6.14: nor does one that just started", F_VIEW_BELIEVED, nor_for_one_that_starts },
	{ "log 6.15: one server does not use up the numbers", F_NUMBERS_LEAP, numbers_are_not_used_up },
	{ "log 6.15: one server is not pushed away from the others", F_NUMBERS_LEAP, one_server_is_not_pushed_away },
	{ "log 6.15: a promise is not of a view with a higher number", F_NUMBERS_LEAP, no_base_is_above_its_view },
	{ "log 6.14: what was not promised is not accepted", F_ACCEPT_UNPROMISED, nothing_is_accepted_unpromised },
	{ "log 6.11: a lease that is given back is over", F_LEFT_KEEPS_LEASE, who_gave_its_lease_back_has_none },
	{ "log 6.11: a new start has a new lease", F_LEFT_OF_OLD_START, a_new_start_has_a_new_lease },
	{ "log 6.11: what an old start was granted is no lease", F_GRANT_OF_OLD_START, an_old_grant_is_no_lease },
	{ "control 7.2: a release needs a lease", F_RELEASE_UNLEASED, who_was_removed_releases_nothing },
	{ "log 3.4: a move waits for what it was made on", F_MOVE_BEFORE_OTHERS, moves_come_after_what_they_were_made_on },
	{ "control 11: a proposal does not outlive its view", F_KEEPS_PROPOSALS, a_proposal_begins_anew_in_a_new_view },
	{ "log 6.3: a voter that started waits", F_NO_START_WAIT, a_voter_that_started_waits },
	{ "log 6.4: the removed one has no vote", F_REMOVED_VOTES, the_removed_one_has_no_vote },
	{ "log 6.5: the own vote is on disk", F_OWN_VOTE_UNSAVED, the_own_vote_is_on_disk },
	{ "log 8.4: a restart while joining joins again", F_JOIN_FORGOTTEN, who_restarts_while_joining_says_nothing },
};

int main(void)
{
	return prevents_main(list, sizeof(list) / sizeof(list[0]));
}
