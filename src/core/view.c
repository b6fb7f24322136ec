/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The active view and leases (log 6): who "all" are, and who may answer.
 *
 * Happy path: every server sends HEARTBEAT four times in a lease; GRANTs of a majority, itself included, let it answer for
 * lease_ms from the time in the heartbeat. A member that nobody hears is removed: PREPARE, promises of a majority, each given
 * only when no lease of the removed one can stand on it any more, ACCEPT, ACCEPTED of a majority, VIEW. One that is outside
 * catches up with the logs, says so, and is added in the same way; join.c gives it the controls.
 *
 * Failure modes: the proposer is gone: what was promised keeps its number, somebody proposes the view again unchanged, so that
 * grants go on. Two propose at once: the higher number wins, the other tries again later. A majority is gone: no lease, no new
 * view; everything waits for it.
 *
 * Invariants: a row 'V' with what is promised, accepted and adopted is on stable storage before anybody hears of it. The base of
 * a view is the highest one accepted by a majority that promised, so that every adopted view descends from the one before. A
 * server that is not a member, or has not all rows, answers nothing (c->view.ready). Nothing is sealed: what a removed server
 * controls stays its own until it returns.
 */
#include <stdio.h>

#include "core/core_int.h"

#define UNREADY_SILENCES 5 /* a member that is not ready for so many silences is removed like a silent one */

bool views_on(const struct nfs4r_core *c)
{
	return c->cfg.lease_ms && c->nservers > 1;
}

bool is_member(const struct nfs4r_core *c, nfs4r_server_id s)
{
	return c->view.adopted.members & NFS4R_BIT(s);
}

static bool enough(const struct nfs4r_core *c, nfs4r_servers set)
{
	return (uint32_t)__builtin_popcountll(set & c->cfg.servers) >= c->nservers / 2 + 1;
}

static uint64_t grant_ms(const struct nfs4r_core *c) /* T_G of 6.7 */
{
	uint64_t r = c->cfg.drift_permille;

	return ((uint64_t)c->cfg.lease_ms * (1000 + r) + 999 - r) / (1000 - r) + 1;
}

static void save(struct nfs4r_core *c)
{
	struct nfs4r_put p;

	row_view(&c->view, &p);
	if (!FAULT(F_VIEW_UNSAVED))
		act_put(c, &p);
}

static void set_ready(struct nfs4r_core *c)
{
	c->view.ready = !views_on(c) || (is_member(c, c->self) && c->view.complete);
}

void view_init(struct nfs4r_core *c)
{
	c->view.adopted.members = c->view.accepted.members = c->cfg.servers;
	c->view.adopted.open = c->view.accepted.open = c->cfg.servers;
	c->view.complete = true;
	set_ready(c);
}

/* ---- the lease (6.7) --------------------------------------------------------------- */

/* This server itself grants at any time; of its peers, the majority less one with the newest times count. */
static uint64_t lease_end(const struct nfs4r_core *c)
{
	uint32_t need = c->nservers / 2; /* peers */
	uint64_t best[NFS4R_SERVERS_MAX + 1], t;
	uint32_t n = 0, i;

	EACH_PEER(c, s) {
		t = c->peers[s].granted_t;
		for (i = n++; i > 0 && best[i - 1] < t; i--)
			best[i] = best[i - 1];
		best[i] = t;
	}
	t = best[need - 1];
	return t ? t + c->cfg.lease_ms : 0;
}

bool lease_valid(const struct nfs4r_core *c)
{
	return !views_on(c) || FAULT(F_LEASE_IGNORED) || (c->view.ready && c->now < c->view.lease_until);
}

uint64_t nfs4r_core_lease_until(const struct nfs4r_core *c)
{
	if (!views_on(c) || FAULT(F_LEASE_IGNORED))
		return UINT64_MAX;
	return c->view.ready ? c->view.lease_until : 0;
}

static void on_grant(struct nfs4r_core *c, nfs4r_server_id from, uint64_t t)
{
	bool was = lease_valid(c);

	if (t > c->now || t <= c->peers[from].granted_t)
		return;
	c->peers[from].granted_t = t;
	c->view.lease_until = lease_end(c);
	if (!was && lease_valid(c))
		c->dirty |= DIRTY_OPS | DIRTY_REPLY;
}

/*
 * Not to a member that goes by a view older than the base of the one that counts here: it may have been outside meanwhile and not
 * know it any more, since what it said of views (and was added for) goes out before it is on its disk.
 */
static bool may_grant(const struct nfs4r_core *c, nfs4r_server_id s)
{
	return (c->view.accepted.members & NFS4R_BIT(s)) && (!(c->view.frozen & NFS4R_BIT(s)) || FAULT(F_GRANT_REMOVED)) &&
	       c->peers[s].view >= c->view.accepted.base;
}

/* ---- heartbeats ---------------------------------------------------------------------- */

static bool hears(const struct nfs4r_core *c, nfs4r_server_id s)
{
	return s == c->self || (c->peers[s].beats && c->now < c->peers[s].heard_ms + c->cfg.silence_ms);
}

/* Near enough to the end of every log to become a member without making the others wait (8.2). */
static bool caught_up(const struct nfs4r_core *c)
{
	if (c->recovering || c->undecided || c->halted)
		return false;
	EACH_PEER(c, s)
		if (c->logs[s].applied + CAUGHT_UP_ENTRIES < c->logs[s].end || (is_member(c, s) && !c->peers[s].told))
			return false;
	return true;
}

static uint64_t highest_promise(const struct nfs4r_core *c)
{
	return c->view.promised > c->view.frozen_num ? c->view.promised : c->view.frozen_num;
}

/* @durable: a view was adopted in this step, and is on disk before anybody hears of it. Else a slow disk delays no lease. */
static void beat(struct nfs4r_core *c, bool durable)
{
	EACH_PEER(c, s) {
		struct nfs4r_msg *m = msg_new(c, NFS4R_MSG_HEARTBEAT);

		m->heartbeat.clock_ms = c->now;
		m->heartbeat.view = c->view.adopted.num;
		m->heartbeat.promised = highest_promise(c);
		EACH_SERVER(c, t)
			if (hears(c, t))
				m->heartbeat.hears |= NFS4R_BIT(t);
		m->heartbeat.caught_up = !is_member(c, c->self) && caught_up(c);
		m->heartbeat.joining = is_member(c, c->self) && not_ready(c);
		send_to(c, s, m, durable);
	}
}

static void send_view(struct nfs4r_core *c, nfs4r_server_id to)
{
	struct nfs4r_msg *m = msg_new(c, NFS4R_MSG_VIEW);

	m->view = c->view.adopted;
	send_to(c, to, m, true);
}

static void on_heartbeat(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct peer *p = &c->peers[from];
	struct nfs4r_msg *a;

	p->beats = true;
	p->heard_ms = c->now;
	p->view = m->heartbeat.view;
	p->promised = m->heartbeat.promised;
	p->hears = m->heartbeat.hears;
	p->caught_up = m->heartbeat.caught_up;
	if (!m->heartbeat.joining || !p->joining)
		p->unready_ms = c->now;
	if (p->view == c->view.adopted.num) { /* of another view it says nothing about this one */
		if (p->joining && !m->heartbeat.joining)
			join_heard(c, from);
		p->joining = m->heartbeat.joining;
	}
	if (p->view < c->view.adopted.num)
		send_view(c, from);
	if (!may_grant(c, from))
		return;
	a = msg_new(c, NFS4R_MSG_GRANT);
	a->grant.clock_ms = m->heartbeat.clock_ms;
	p->lease_until = c->now + grant_ms(c);
	send_to(c, from, a, false);
}

/* ---- adopting (6.6) --------------------------------------------------------------------- */

/* What has not begun cannot be done here any more. */
static void refuse_waiting(struct nfs4r_core *c)
{
	struct opx *o, *tmp;

	DL_FOREACH_SAFE(c->waiting, o, tmp)
		if (o->state == OP_WAIT)
			op_finish(c, o, NFS4R_DELAY);
}

/*
 * Members of @v that were not in all views since the one adopted here; with views between that this server does not know, all
 * of its members. That goes for this server, too: what it had on disk when it lost power may be older than what others heard from it.
 */
static nfs4r_servers new_members(const struct view *w, const struct nfs4r_view *v)
{
	nfs4r_servers always = 0;

	if (v->base == w->adopted.num)
		always = w->adopted.members;
	else if (v->base == w->accepted.num && w->accepted.base == w->adopted.num)
		always = w->adopted.members & w->accepted.members;
	return v->members & ~always;
}

static void adopt(struct nfs4r_core *c, const struct nfs4r_view *v)
{
	struct view *w = &c->view;
	nfs4r_servers removed = w->adopted.members & ~v->members;
	nfs4r_servers anew = new_members(w, v);

	if (v->num <= w->adopted.num)
		return;
	w->adopted = *v;
	if (w->accepted.num < v->num)
		w->accepted = *v;
	if (w->promised < v->num)
		w->promised = v->num;
	if (w->frozen_num <= v->num)
		w->frozen = 0;
	if (w->vote.from && w->vote.num <= v->num)
		w->vote.from = 0;
	if (w->proposal.num && w->proposal.num <= v->num)
		w->proposal.num = 0;
	w->wanted_ms = w->stuck_ms = 0;
	if (!is_member(c, c->self) || (anew & NFS4R_BIT(c->self)))
		w->complete = false;
	save(c);
	set_ready(c);
	EACH_PEER(c, s) {
		c->peers[s].unready_ms = c->now;
		if (anew & NFS4R_BIT(s))
			c->peers[s].joining = true;
	}
	if (removed | anew)
		elections_new_view(c, removed, anew);
	releases_new_view(c);
	if (!is_member(c, c->self))
		refuse_waiting(c);
	join_new_view(c);
	c->dirty |= DIRTY_OPS | DIRTY_REPLY | DIRTY_RELEASE | DIRTY_OBJECTS | DIRTY_OPENS;
	beat(c, true);
}

/* ---- voting (6.3, 6.5) ------------------------------------------------------------------- */

static void on_promise(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
static void on_accepted(struct nfs4r_core *c, nfs4r_server_id from, uint64_t num);

static void answer_prepare(struct nfs4r_core *c, nfs4r_server_id to, uint64_t num, bool refused)
{
	struct nfs4r_msg *m = msg_new(c, NFS4R_MSG_PROMISE);

	m->promise.num = num;
	m->promise.refused = refused;
	m->promise.promised = highest_promise(c);
	m->promise.accepted = c->view.accepted;
	if (to == c->self)
		on_promise(c, to, m);
	else
		send_to(c, to, m, true);
}

/* When no lease of the removed can stand on a grant of this server any more, whatever it granted before a restart. */
static uint64_t leases_end(const struct nfs4r_core *c, nfs4r_servers remove)
{
	uint64_t t = 0;

	if (!remove || FAULT(F_PROMISE_AT_ONCE))
		return 0;
	if (!FAULT(F_NO_START_WAIT))
		t = c->view.started_ms + grant_ms(c);
	EACH_PEER(c, s)
		if ((remove & NFS4R_BIT(s)) && c->peers[s].lease_until > t)
			t = c->peers[s].lease_until;
	return t;
}

static void try_vote(struct nfs4r_core *c)
{
	struct view *w = &c->view;
	nfs4r_server_id to = w->vote.from;
	uint64_t t;

	if (!to)
		return;
	t = leases_end(c, w->vote.remove);
	if (c->now < t) {
		timer_at(c, t);
		return;
	}
	w->vote.from = 0;
	w->promised = w->vote.num;
	save(c);
	answer_prepare(c, to, w->promised, false);
}

static void on_prepare(struct nfs4r_core *c, nfs4r_server_id from, uint64_t num, nfs4r_servers remove)
{
	struct view *w = &c->view;

	if ((remove & NFS4R_BIT(c->self)) && !FAULT(F_REMOVED_VOTES))
		return; /* it would not count */
	if (num < w->promised || (w->vote.from && num < w->vote.num)) {
		answer_prepare(c, from, num, true);
		return;
	}
	if (num == w->promised) {
		answer_prepare(c, from, num, false);
		return;
	}
	w->vote = (struct vote){ from, num, remove };
	if (remove) { /* stop granting at once */
		w->frozen |= remove;
		if (w->frozen_num < num)
			w->frozen_num = num;
	}
	try_vote(c);
}

static void on_accept(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_view *v)
{
	struct view *w = &c->view;
	struct nfs4r_msg *m;

	if (v->num < w->promised || v->num <= w->adopted.num)
		return;
	if (w->vote.from && w->vote.num <= v->num)
		w->vote.from = 0;
	w->promised = v->num;
	w->accepted = *v;
	save(c);
	if (from == c->self) {
		on_accepted(c, from, v->num);
		return;
	}
	m = msg_new(c, NFS4R_MSG_ACCEPTED);
	m->accepted.num = v->num;
	send_to(c, from, m, true);
}

/* ---- proposing (6.4, 6.8) ------------------------------------------------------------------ */

static void give_up(struct nfs4r_core *c)
{
	c->view.proposal.num = 0;
	c->view.retry_ms = c->now + c->cfg.lease_ms / 4 + c->cfg.lease_ms * c->self / 16; /* rivals come back at different times */
	timer_at(c, c->view.retry_ms);
}

static void on_promise(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct proposal *p = &c->view.proposal;
	struct nfs4r_view *v = &p->view;

	if (m->promise.promised > c->view.seen)
		c->view.seen = m->promise.promised;
	if (!p->num || p->num != m->promise.num || p->accepting)
		return;
	if (m->promise.refused) {
		give_up(c);
		return;
	}
	p->promises |= NFS4R_BIT(from);
	if (m->promise.accepted.num > p->base.num && !FAULT(F_OWN_BASE))
		p->base = m->promise.accepted;
	if (!enough(c, p->promises & (FAULT(F_REMOVED_VOTES) ? ~(nfs4r_servers)0 : ~p->remove)))
		return;
	if (p->base.num != p->on)
		p->add = 0; /* they know another view than the one it was made on */
	*v = p->base;
	v->num = p->num;
	v->base = p->base.num;
	v->members = (p->base.members & ~p->remove) | p->add;
	if (!enough(c, v->members)) {
		give_up(c);
		return;
	}
	p->accepting = true;
	EACH_PEER(c, s) {
		struct nfs4r_msg *a = msg_new(c, NFS4R_MSG_ACCEPT);

		a->view = *v;
		send_to(c, s, a, true);
	}
	on_accept(c, c->self, v);
}

static void on_accepted(struct nfs4r_core *c, nfs4r_server_id from, uint64_t num)
{
	struct proposal *p = &c->view.proposal;
	struct nfs4r_view v = p->view;

	if (!p->num || p->num != num || !p->accepting)
		return;
	p->accepted |= NFS4R_BIT(from);
	if (!enough(c, p->accepted))
		return;
	adopt(c, &v);
	EACH_PEER(c, s)
		send_view(c, s);
}

static void propose(struct nfs4r_core *c, nfs4r_servers remove, nfs4r_servers add)
{
	struct view *w = &c->view;
	uint64_t top = w->seen > highest_promise(c) ? w->seen : highest_promise(c);

	if (w->adopted.num > top)
		top = w->adopted.num;
	w->proposal = (struct proposal){ .num = (top / NFS4R_VIEW_STEP + 1) * NFS4R_VIEW_STEP + c->self, .on = w->adopted.num, .remove = remove, .add = add };
	w->proposal.base = FAULT(F_OWN_BASE) ? w->adopted : w->accepted;
	w->proposal.until_ms = c->now + 2 * grant_ms(c) + c->cfg.silence_ms;
	timer_at(c, w->proposal.until_ms);
	if (w->frozen_num < w->proposal.num)
		w->frozen_num = w->proposal.num; /* used: not again for another change, also after a restart */
	save(c);
	EACH_PEER(c, s) {
		struct nfs4r_msg *m = msg_new(c, NFS4R_MSG_PREPARE);

		m->prepare.num = w->proposal.num;
		m->prepare.remove = remove;
		m->prepare.add = add;
		send_to(c, s, m, true);
	}
	on_prepare(c, c->self, w->proposal.num, remove);
}

static nfs4r_servers silent(struct nfs4r_core *c)
{
	nfs4r_servers set = 0;

	EACH_PEER(c, s) {
		const struct peer *p = &c->peers[s];
		uint64_t t = p->heard_ms + c->cfg.silence_ms;

		if (!is_member(c, s))
			continue;
		if (p->joining && p->unready_ms + UNREADY_SILENCES * c->cfg.silence_ms < t)
			t = p->unready_ms + UNREADY_SILENCES * c->cfg.silence_ms;
		if (c->now >= t)
			set |= NFS4R_BIT(s);
		else
			timer_at(c, t);
	}
	return set;
}

/* Those outside that are near enough and that everybody hears; else they would be removed again at once (6.8). */
static nfs4r_servers returning(const struct nfs4r_core *c, nfs4r_servers live)
{
	nfs4r_servers set = 0;

	EACH_PEER(c, s) {
		const struct peer *p = &c->peers[s];
		bool ok = !is_member(c, s) && hears(c, s) && p->caught_up && p->view == c->view.adopted.num && !(live & ~p->hears);

		EACH_PEER(c, t)
			if ((live & NFS4R_BIT(t)) && !(c->peers[t].hears & NFS4R_BIT(s)))
				ok = false;
		if (ok)
			set |= NFS4R_BIT(s);
	}
	return set;
}

/* A number was promised and no view came of it: somebody has to make one, or grants and promises wait for ever (6.6). */
static bool stuck_promise(struct nfs4r_core *c)
{
	uint64_t top = highest_promise(c);

	EACH_PEER(c, s)
		if (hears(c, s) && c->peers[s].promised > top)
			top = c->peers[s].promised;
	if (top > c->view.seen)
		c->view.seen = top;
	if (top <= c->view.adopted.num) {
		c->view.stuck_ms = 0;
		return false;
	}
	if (!c->view.stuck_ms)
		c->view.stuck_ms = c->now + grant_ms(c) + c->cfg.silence_ms / 2;
	if (c->now < c->view.stuck_ms)
		timer_at(c, c->view.stuck_ms);
	return c->now >= c->view.stuck_ms;
}

static void consider(struct nfs4r_core *c)
{
	struct view *w = &c->view;
	nfs4r_servers gone, live, add;
	uint32_t rank = 0;
	bool stuck_vote;

	if (!is_member(c, c->self) || c->halted || w->proposal.num || c->now < w->retry_ms)
		return;
	gone = silent(c);
	live = w->adopted.members & ~gone;
	add = returning(c, live);
	stuck_vote = stuck_promise(c);
	if (!gone && !add && !stuck_vote) {
		w->wanted_ms = 0;
		return;
	}
	if (!enough(c, live | add)) {
		stuck(c, "fewer than a majority of the configured servers can be heard: updates and reads wait for them");
		return;
	}
	EACH_SERVER(c, s)
		rank += s < c->self && (live & NFS4R_BIT(s));
	if (!w->wanted_ms)
		w->wanted_ms = c->now + (uint64_t)rank * c->cfg.silence_ms / 2;
	if (c->now >= w->wanted_ms)
		propose(c, gone, add);
	else
		timer_at(c, w->wanted_ms);
}

/* ---- the door ------------------------------------------------------------------------------- */

void view_timers(struct nfs4r_core *c)
{
	struct view *w = &c->view;

	if (!views_on(c))
		return;
	if (c->now >= w->beat_at && !c->halted) { /* one that halted goes silent, and is removed */
		w->beat_at = c->now + (c->cfg.lease_ms + 3) / 4;
		beat(c, false);
	}
	timer_at(c, w->beat_at > c->now ? w->beat_at : c->now + c->cfg.lease_ms);
	try_vote(c);
	if (w->proposal.num && c->now >= w->proposal.until_ms)
		give_up(c);
	else if (w->proposal.num)
		timer_at(c, w->proposal.until_ms);
	consider(c);
	if (w->retry_ms > c->now)
		timer_at(c, w->retry_ms);
}

void view_started(struct nfs4r_core *c)
{
	set_ready(c);
	c->view.started_ms = c->now;
	EACH_PEER(c, s)
		c->peers[s].heard_ms = c->peers[s].unready_ms = c->now;
	c->view.beat_at = c->now;
	if (FAULT(F_JOIN_FORGOTTEN)) {
		c->view.complete = true;
		set_ready(c);
	}
	join_started(c);
	view_timers(c);
}

/* The rows of the others are here. */
void view_complete(struct nfs4r_core *c)
{
	c->view.complete = true;
	save(c);
	set_ready(c);
	elections_again(c);
	c->dirty |= DIRTY_OPS | DIRTY_REPLY | DIRTY_RELEASE;
	beat(c, true);
}

void view_on_msg(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	if (!views_on(c))
		return;
	switch (m->type) {
	case NFS4R_MSG_HEARTBEAT:
		on_heartbeat(c, from, m);
		break;
	case NFS4R_MSG_GRANT:
		on_grant(c, from, m->grant.clock_ms);
		break;
	case NFS4R_MSG_PREPARE:
		on_prepare(c, from, m->prepare.num, m->prepare.remove & c->cfg.servers);
		break;
	case NFS4R_MSG_PROMISE:
		on_promise(c, from, m);
		break;
	case NFS4R_MSG_ACCEPT:
		on_accept(c, from, &m->view);
		break;
	case NFS4R_MSG_ACCEPTED:
		on_accepted(c, from, m->accepted.num);
		break;
	case NFS4R_MSG_VIEW:
		adopt(c, &m->view);
		break;
	}
	consider(c);
}

void nfs4r_core_get_view(const struct nfs4r_core *c, struct nfs4r_core_view *out)
{
	*out = (struct nfs4r_core_view){ .adopted = c->view.adopted, .accepted = c->view.accepted, .promised = c->view.promised };
	out->fixed = !views_on(c);
	out->member = is_member(c, c->self);
	out->joining = out->member && !c->view.complete;
	if (nfs4r_core_lease_until(c) > c->now && !out->fixed)
		out->lease_left_ms = c->view.lease_until - c->now;
	EACH_PEER(c, s) {
		out->peer[s].known = c->peers[s].beats;
		out->peer[s].silent_ms = c->now - c->peers[s].heard_ms;
		out->peer[s].view = c->peers[s].view;
		out->peer[s].caught_up = c->peers[s].caught_up;
		out->peer[s].joining = c->peers[s].joining;
	}
}
