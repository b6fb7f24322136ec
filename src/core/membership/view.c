/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The active view and leases (log 6): who "all" are, and who may answer.
 *
 * Happy path: every server sends HEARTBEAT four times in a lease; GRANTs of a majority, itself included, let it answer for
 * lease_ms from the time in the heartbeat. A member that nobody hears is removed: PREPARE, promises of a majority, each given
 * only when no lease of the removed one can stand on it any more, ACCEPT, ACCEPTED of a majority, VIEW. One that is outside
 * catches up with the logs, says so, and is added in the same way; control_transfer.c gives it the controls.
 *
 * Failure modes: the proposer is gone: what was promised keeps its number, somebody proposes the view again unchanged, so that
 * grants go on. Two propose at once: the higher number wins, the other tries again later. A majority is gone: no lease, no new
 * view; everything waits for it.
 *
 * Invariants: a row 'V' with what is promised, accepted and adopted is on stable storage before anybody hears of it. The base of
 * a view is the highest one accepted by a majority that promised, so that every adopted view descends from the one before. A
 * server that is not a member, or has not all rows, or has not crossed all seals, answers nothing (c->view.ready). What a removed server
 * controls stays its own until it returns, unless its log is sealed (log_seal.c).
 *
 * Who proposes what is in view_change.c.
 */
#include "core/membership/membership_int.h"

uint64_t view_wait_ms(const struct nfs4r_core *c, uint64_t lease_ms) /* T_G of log 6.7 */
{
	uint64_t r = state_drift_permille(c);

	return (lease_ms * (1000 + r) + 999 - r) / (1000 - r) + 1;
}

uint64_t view_grant_ms(const struct nfs4r_core *c)
{
	uint32_t now = state_lease_ms(c);

	return view_wait_ms(c, c->view.longest_ms > now && !FAULT(F_START_SHORT) ? c->view.longest_ms : now);
}

void view_save(struct nfs4r_core *c)
{
	struct nfs4r_put p;

	row_view(&c->view, &p);
	if (FAULT(F_VIEW_UNSAVED))
		return;
	view_books_save(c); /* before the row that needs them */
	view_settings_save(c);
	out_put(c, &p);
	view_books_clean(c);
	view_settings_clean(c);
}

/* This copy may be ahead of its positions, or has lost what it knew: it has to join anew (recovery_join_again()). */
void view_incomplete(struct nfs4r_core *c)
{
	c->view.complete = false;
	view_save(c);
	state_view_set_ready(c);
}

/* What it says from now on counts for nobody (log 8.6). */
void view_stop(struct nfs4r_core *c)
{
	struct view *w = &c->view;

	w->proposal.num = 0;
	w->vote.from = w->accepting.from = 0;
	w->abandoned = 0;
	view_incomplete(c);
}

void view_init(struct nfs4r_core *c)
{
	c->view.adopted.members = c->view.accepted.members = c->cfg.servers;
	c->view.adopted.open = c->view.accepted.open = c->cfg.servers;
	c->view.adopted.servers = c->view.accepted.servers = c->cfg.servers;
	c->view.adopted.voters = c->view.accepted.voters = c->cfg.servers;
	c->view.complete = true;
	state_view_set_ready(c);
}

/* ---- the lease (log 6.7) --------------------------------------------------------------- */

/* This server itself grants at any time; of its peers, the majority less one with the newest times count. */
static uint64_t lease_end(const struct nfs4r_core *c)
{
	nfs4r_servers voters = c->view.adopted.voters;
	uint32_t need = (uint32_t)__builtin_popcountll(voters) / 2; /* peers */
	uint64_t best[NFS4R_SERVERS_MAX + 1], t;
	uint32_t n = 0, i;

	if ((c->view.left && !FAULT(F_LEFT_KEEPS_LEASE)) || !state_secret_agreed(c))
		return 0;
	if (!need)
		return UINT64_MAX; /* it is the only one */
	EACH_OF(voters & ~NFS4R_BIT(c->self), s) {
		t = c->peers[s].granted_until;
		for (i = n++; i > 0 && best[i - 1] < t; i--)
			best[i] = best[i - 1];
		best[i] = t;
	}
	return n >= need ? best[need - 1] : 0;
}

/* For as long as the voter says, since it waits for that (log 6.17). */
static void on_grant(struct nfs4r_core *c, nfs4r_server_id from, uint64_t t, uint32_t lease_ms)
{
	uint64_t until = t + (FAULT(F_LEASE_BY_VIEW) ? state_lease_ms(c) : lease_ms);
	bool was = state_lease_valid(c);

	if ((!state_memory_counts(c, from) && !FAULT(F_FORGOT_GRANTS)) || t > c->now || t <= c->peers[from].granted_t)
		return;
	if (t < c->view.started_ms && !FAULT(F_GRANT_OF_OLD_START)) /* to a start that may have given its lease back (log 6.11) */
		return;
	c->peers[from].granted_t = t;
	if (until > c->peers[from].granted_until)
		c->peers[from].granted_until = until;
	c->view.lease_until = lease_end(c);
	if (!was && state_lease_valid(c))
		c->dirty |= DIRTY_OPS | DIRTY_REPLY | DIRTY_RELEASE;
}

/*
 * Not to a member that goes by a view older than the base of the one that counts here: it may have been outside meanwhile and not
 * know it any more, since what it said of views (and was added for) goes out before it is on its disk.
 */
static bool may_grant(const struct nfs4r_core *c, nfs4r_server_id s)
{
	if (c->peers[s].memory != NFS4R_MEMORY_KNOWN || !(state_memory_known(c) || FAULT(F_FORGOT_GRANTS)) || !view_reconf_may_grant(c, s))
		return false;
	if (c->peers[s].left || !view_trouble_may_grant(c, s))
		return false;
	return (c->view.accepted.members & NFS4R_BIT(s)) && (!(c->view.frozen & NFS4R_BIT(s)) || FAULT(F_GRANT_REMOVED)) &&
		c->peers[s].view >= c->view.accepted.base;
}

/* ---- heartbeats ---------------------------------------------------------------------- */

/* Near enough to the end of every log to become a member without making the others wait (log 8.4). Inexact objects do not matter: it may be the one that
 * the members need for them (log 7.5). */
static bool caught_up(const struct nfs4r_core *c)
{
	if (c->recovering || c->undecided || c->halted || c->repair.state || state_seals_open(c) || !state_memory_whole(c))
		return false;
	if ((state_trouble_is(c) || c->log.nfailed) && !FAULT(F_STUCK_RETURNS)) /* it would be removed again (log 6.12) */
		return false;
	EACH_PEER(c, s)
		if (c->log.logs[s].applied + CAUGHT_UP_ENTRIES < log_retention_end(c, s) || (state_is_member(c, s) && !c->peers[s].reported))
			return false;
	return true;
}

uint64_t view_highest(const struct nfs4r_core *c)
{
	return c->view.promised > c->view.frozen_num ? c->view.promised : c->view.frozen_num;
}

static void beat_to(struct nfs4r_core *c, nfs4r_server_id s, bool durable)
{
	struct nfs4r_msg *m = out_msg(c, NFS4R_MSG_HEARTBEAT);

	m->heartbeat.clock_ms = c->now;
	m->heartbeat.view = c->view.adopted.num;
	m->heartbeat.promised = view_highest(c);
	EACH_SERVER(c, t)
		if (state_view_hears(c, t))
			m->heartbeat.hears |= NFS4R_BIT(t);
	m->heartbeat.caught_up = !state_is_member(c, c->self) && caught_up(c);
	m->heartbeat.joining = state_is_member(c, c->self) && not_ready(c);
	m->heartbeat.repairing = state_is_repairing(c);
	m->heartbeat.confirmed = durable && c->view.confirmed_sent;
	m->heartbeat.reconf_epoch = c->view.reconf_epoch;
	m->heartbeat.reconf_set = c->view.reconf_set;
	m->heartbeat.left = c->view.left;
	m->heartbeat.trouble = c->trouble.cause;
	m->heartbeat.protocol = c->cfg.protocol;
	m->heartbeat.disk_format = c->cfg.disk_format;
	m->heartbeat.locks_known = !c->locks.untold;
	m->heartbeat.rehearsal = state_volume_speaks(c, NFS4R_PROTOCOL_REHEARSED);
	m->heartbeat.view_digest = nfs4r_view_digest(&c->view.adopted);
	m->heartbeat.accepted = c->view.accepted.num;
	m->heartbeat.accepted_digest = nfs4r_view_digest(&c->view.accepted);
	state_memory_say(c, s, m);
	out_send(c, s, m, durable || !c->memory.saved || state_reconf_reported(c)); /* it has no lease then that waits for a disk */
}

/* @durable: a view was adopted in this step, and is on disk before anybody hears of it. Else a slow disk delays no lease. */
static void beat(struct nfs4r_core *c, bool durable)
{
	EACH_PEER(c, s)
		beat_to(c, s, durable);
}

/* Something about this server's memory is new. */
void view_beat(struct nfs4r_core *c)
{
	beat(c, true);
}

void view_beat_to(struct nfs4r_core *c, nfs4r_server_id to)
{
	if (state_views_on(c) && !c->halted)
		beat_to(c, to, false);
}

/* Log 6.11: nothing stands on it any more. Once it is said, nobody waits for its end. */
void view_give_back(struct nfs4r_core *c)
{
	c->view.left = true;
	c->view.remaining_ms = c->now;
	c->view.lease_until = lease_end(c);
	beat(c, false);
}

void view_send(struct nfs4r_core *c, nfs4r_server_id to)
{
	struct nfs4r_msg *m = out_msg(c, NFS4R_MSG_VIEW);

	m->view = c->view.adopted;
	out_send(c, to, m, true);
}

/* It speaks of all grants to this start and to older ones. Those to a newer one stand. */
static bool has_shut_down(const struct nfs4r_core *c, const struct peer *p, const struct nfs4r_msg *m)
{
	if (!m->heartbeat.left)
		return false;
	return m->heartbeat.inc > p->granted.inc || (m->heartbeat.inc == p->granted.inc && m->heartbeat.inc_random == p->granted.random) || FAULT(F_LEFT_OF_OLD_START);
}

/* What it says of itself and of views. True: it has joined, as it says for the first time. */
bool view_heard(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct peer *p = &c->peers[from];
	bool joined = false;

	p->beats = p->met = true;
	p->heard_ms = c->now;
	p->view = m->heartbeat.view;
	p->promised = view_believe_saw(c, from, m->heartbeat.promised) ? m->heartbeat.promised : 0;
	p->view_digest = m->heartbeat.view_digest;
	p->accepted = m->heartbeat.accepted;
	p->accepted_digest = m->heartbeat.accepted_digest;
	p->hears = m->heartbeat.hears;
	p->caught_up = m->heartbeat.caught_up;
	p->repairing = m->heartbeat.repairing;
	p->trouble = m->heartbeat.trouble;
	if (c->locks.awaits_known)
		c->dirty |= DIRTY_OPS; /* locks 21: it may be the last one */
	p->locks_known = m->heartbeat.locks_known;
	p->protocol = m->heartbeat.protocol;
	p->disk_format = m->heartbeat.disk_format;
	p->halted = false;
	if (m->heartbeat.confirmed && p->confirmed < p->view)
		p->confirmed = p->view;
	if (!m->heartbeat.joining || !p->joining)
		p->unready_ms = c->now;
	if (p->view == c->view.adopted.num) { /* of another view it says nothing about this one */
		joined = p->joining && !m->heartbeat.joining;
		p->joining = m->heartbeat.joining;
		p->complete = state_is_member(c, from) && !m->heartbeat.joining;
	}
	return joined;
}

static void grant(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct peer *p = &c->peers[from];
	uint64_t until = c->now + view_wait_ms(c, c->view.grants_ms);
	struct nfs4r_msg *a;

	view_reconf_on_heartbeat(c, from, m);
	p->left = has_shut_down(c, p, m);
	if (p->left)
		p->lease_until = 0;
	if (!may_grant(c, from))
		return;
	a = out_msg(c, NFS4R_MSG_GRANT);
	a->grant.clock_ms = m->heartbeat.clock_ms;
	a->grant.lease_ms = c->view.grants_ms;
	if (until > p->lease_until || FAULT(F_GRANT_SHORTENS)) /* a longer one of before may still run */
		p->lease_until = until;
	p->granted = (struct start){ m->heartbeat.inc, m->heartbeat.inc_random, 0 };
	out_send(c, from, a, false);
}

/* ---- adopting (log 6.6) --------------------------------------------------------------------- */

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

/* Others than before, or elsewhere. */
void view_tell_servers(struct nfs4r_core *c, const struct nfs4r_view *old)
{
	const struct nfs4r_view *v = &c->view.adopted;

	EACH_OF(old->servers & ~v->servers & ~NFS4R_BIT(c->self), s)
		view_send(c, s); /* it may not hear it from anybody else */
	if (!nfs4r_volume_settings_equal(&old->settings, &v->settings) || old->servers != v->servers || old->nbook != v->nbook || memcmp(old->addresses, v->addresses, v->nbook * sizeof(v->addresses[0])))
		out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_SERVERS });
}

/* What is noted of each server begins anew with the view. */
void view_peers_adopted(struct nfs4r_core *c, nfs4r_servers removed, nfs4r_servers anew)
{
	EACH_PEER(c, s) {
		c->peers[s].unready_ms = c->now;
		if (state_is_member(c, s))
			c->peers[s].outside_ms = 0;
		else if (!c->peers[s].outside_ms)
			c->peers[s].outside_ms = c->now ? c->now : 1;
		if (anew & NFS4R_BIT(s)) {
			c->peers[s].joining = true;
			if (!FAULT(F_COUNTED_BEFORE))
				c->peers[s].counted_ms = c->now; /* what it said outside, that it has forgotten, is over with this view (log 8.6) */
		}
		if ((anew | removed) & NFS4R_BIT(s))
			c->peers[s].complete = false;
		if ((removed & NFS4R_BIT(s)) && state_view_hears(c, s))
			c->peers[s].back_ms = c->now + state_silence_ms(c);
	}
}

/* A proposer that finds no complete copy among all members asks for the same view (log 6.4). Rivals that added the same server make one, too, of which nothing follows. */
static void calm_after_same(struct nfs4r_core *c, const struct nfs4r_view *old, const struct nfs4r_view *v)
{
	bool gaps = c->view.gaps;

	c->view.gaps = false;
	if (gaps && v->members == old->members && v->open == old->open && v->voters == old->voters && v->servers == old->servers && v->epoch == old->epoch)
		c->view.calm_ms = c->now + state_lease_ms(c) / 2 + 2 * APPLY_RETRY_MS; /* an update that could not be applied is tried every second */
}

void view_adopt(struct nfs4r_core *c, const struct nfs4r_view *v)
{
	struct view *w = &c->view;
	nfs4r_servers removed = w->adopted.members & ~v->members;
	nfs4r_servers anew = new_members(w, v);
	const struct nfs4r_view old = w->adopted;

	if (v->num <= w->adopted.num)
		return;
	w->adopted = *v;
	if (w->accepted.num <= v->num)
		w->accepted = *v; /* also if its proposer has told this server something else under that number */
	if (w->promised < v->num)
		w->promised = v->num;
	if (w->frozen_num <= v->num)
		w->frozen = w->sealing = w->exact = 0;
	if (w->vote.from && w->vote.num <= v->num)
		w->vote.from = 0;
	if (w->accepting.from && w->accepting.view.num <= v->num)
		w->accepting.from = 0;
	w->abandoned &= v->open & ~v->members;
	w->missing = 0;
	calm_after_same(c, &old, v);
	if (w->proposal.num && w->proposal.num <= v->num)
		w->proposal.num = 0;
	w->wanted_ms = w->stuck_ms = 0;
	w->confirmed_sent = false;
	w->confirm_at = 0;
	view_member_adopted(c, &old);
	view_settings_adopted(c, &old);
	if ((old.voters != v->voters && !FAULT(F_LEASE_OLD_VOTERS)) || (state_secret_is(v) && !state_secret_is(&old)))
		w->lease_until = lease_end(c); /* a majority of these; or there is a secret now */
	if (!state_is_member(c, c->self) || (anew & NFS4R_BIT(c->self)))
		w->complete = false;
	view_reconf_adopted(c);
	view_save(c);
	view_keys_saved(c);
	c->membership_port.view_adopted(c, &old, removed, anew);
}

/* ---- voting (log 6.3, 6.5) ------------------------------------------------------------------- */

static void answer_prepare(struct nfs4r_core *c, nfs4r_server_id to, uint64_t num, bool refused)
{
	struct nfs4r_msg *m = out_msg(c, NFS4R_MSG_PROMISE);

	m->promise.num = num;
	m->promise.refused = refused;
	m->promise.promised = view_highest(c);
	m->promise.accepted = c->view.accepted;
	m->promise.complete = !state_is_repairing(c);
	EACH_LOG(c, s) {
		m->promise.applied[s] = state_repair_counts(c, s, c->log.logs[s].applied);
		if ((c->view.sealing & NFS4R_BIT(s)) && c->log.logs[s].highest > c->log.logs[s].applied)
			m->promise.complete = false; /* it would be ahead of the seal */
	}
	if (c->view.sealing)
		c->view.gaps = !m->promise.complete;
	if (to == c->self)
		view_propose_on_promise(c, to, m);
	else
		out_send(c, to, m, true);
}

/* When no lease of the removed can stand on a grant of this server any more, whatever it granted before a restart. */
static uint64_t leases_end(const struct nfs4r_core *c, nfs4r_servers remove)
{
	uint64_t t = 0;

	if (!remove || FAULT(F_PROMISE_AT_ONCE))
		return 0;
	if (!FAULT(F_NO_START_WAIT))
		t = c->view.started_ms + view_grant_ms(c);
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
		out_timer_at(c, t);
		return;
	}
	if (!view_seal_quiet(c, w->vote.seal) && !FAULT(F_NO_FREEZE))
		return; /* view_run() tries again */
	if (view_reconf_asks(c, &w->vote) && (c->ops.busy || c->undecided))
		return; /* what the own log has is promised, too (log 9.3) */
	w->vote.from = 0;
	w->promised = w->vote.num;
	w->pledge = w->vote;
	w->exact |= w->vote.seal;
	view_save(c);
	answer_prepare(c, to, w->promised, false);
}

static nfs4r_servers voters_of(const struct nfs4r_core *c)
{
	return c->view.adopted.voters | c->view.accepted.voters;
}

void view_on_prepare(struct nfs4r_core *c, nfs4r_server_id from, const struct vote *v)
{
	struct view *w = &c->view;

	if (((v->remove | v->seal) & NFS4R_BIT(c->self)) && !view_reconf_asks(c, v) && !FAULT(F_REMOVED_VOTES))
		return; /* it would not count */
	if (view_reconf_refuses(c, v->num, v->add))
		return;
	if (!((voters_of(c) & NFS4R_BIT(c->self)) || state_is_learner(c, c->self)) || !(voters_of(c) & NFS4R_BIT(from)))
		return; /* one that is no voter holds up no grants */
	if (!state_memory_votes(c) && !FAULT(F_FORGOT_VOTES))
		return;
	if (v->num < w->promised || (w->vote.from && v->num < w->vote.num)) {
		answer_prepare(c, from, v->num, true);
		return;
	}
	if (v->num == w->promised) {
		answer_prepare(c, from, v->num, false);
		return;
	}
	w->vote = *v;
	w->vote.from = from;
	if (!FAULT(F_OLD_ACCEPT_LIFTS))
		w->accepting.from = 0; /* its seals lift no limit any more, and it is accepted by nobody who promises more */
	if (v->remove) /* stop granting at once */
		w->frozen |= v->remove;
	if (v->seal)
		view_seal_freeze(c, v->seal);
	if ((v->remove | v->seal) && w->frozen_num < v->num)
		w->frozen_num = v->num;
	try_vote(c);
}

/* To all: they count for themselves (log 6.14). */
static void say_accepted(struct nfs4r_core *c, const struct nfs4r_view *v)
{
	uint64_t digest = nfs4r_view_digest(v);

	EACH_PEER(c, s) {
		struct nfs4r_msg *m = out_msg(c, NFS4R_MSG_ACCEPTED);

		m->accepted.num = v->num;
		m->accepted.digest = digest;
		out_send(c, s, m, true);
	}
}

/* Log 6.5: everything up to the seals is here. A proposer's own vote counts when it is on disk, like any other's. */
static void accept(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_view *v)
{
	if (view_reconf_anew(c, v))
		c->membership_port.copy_is_worthless(c);
	c->view.accepted = *v;
	state_logs_known(c, state_seal_logs(v));
	view_save(c);
	if (from == c->self)
		out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_ACCEPTED, .durable = !FAULT(F_OWN_VOTE_UNSAVED), .accepted = { .num = v->num } });
	say_accepted(c, v);
}

static void try_accept(struct nfs4r_core *c)
{
	struct accepting a;

	if (!c->view.accepting.from) /* nearly always, and this is part of each step */
		return;
	a = c->view.accepting;
	if (a.view.num < c->view.promised && !FAULT(F_OLD_ACCEPT_LIFTS)) { /* it came while a vote for a higher one waited */
		c->view.accepting.from = 0;
		return;
	}
	if (!(view_reconf_anew(c, &a.view) && state_is_repairing(c)) && !(view_seal_reached(c, &a.view) && state_repair_is_whole(c)))
		return;
	c->view.accepting.from = 0;
	accept(c, a.from, &a.view);
}

/* Nobody goes, and no log ends, that the promise was not asked for. What this server has promised before its start it does not know. */
static bool is_promised(const struct nfs4r_core *c, const struct nfs4r_view *v)
{
	const struct nfs4r_view *was = &c->view.accepted;
	const struct vote *p = &c->view.pledge;

	if (v->num == was->num)
		return nfs4r_view_digest(v) == nfs4r_view_digest(was);
	if (v->base == c->view.adopted.num)
		was = &c->view.adopted;
	if (p->num != v->num || v->base != was->num || NFS4R_RECONF(v->num) > NFS4R_RECONF(was->num))
		return true;
	return !((was->members & ~v->members) & ~p->remove) && !((was->voters & ~v->voters) & ~p->remove) && !((was->servers & ~v->servers) & ~p->remove) &&
		!((was->open & ~v->open) & ~p->seal);
}

void view_on_accept(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_view *v)
{
	struct view *w = &c->view;
	nfs4r_servers ends = w->adopted.open & ~v->open;

	if (v->num < w->promised || v->num <= w->adopted.num || (!state_memory_votes(c) && !FAULT(F_FORGOT_VOTES)) || view_reconf_refuses(c, v->num, v->servers))
		return;
	if (v->num > w->promised && !FAULT(F_ACCEPT_UNPROMISED))
		return; /* its proposer sends it again with the promise */
	if (view_secret_is_another(c, v)) {
		out_complain(c, from, "sent an ACCEPT for a view with another secret than the volume's: rejected (log 6.13)");
		return;
	}
	if (view_settings_refuse(c, from, v))
		return;
	if (!is_promised(c, v) && !FAULT(F_ACCEPT_UNPROMISED)) {
		out_complain(c, from, "sent an ACCEPT for a view that differs from its PREPARE or from its earlier ACCEPT: rejected (log 6.14)");
		return;
	}
	if (w->vote.from && w->vote.num <= v->num)
		w->vote.from = 0;
	w->promised = v->num;
	if (v->epoch == w->adopted.epoch) {
		w->accepting.from = 0;
		accept(c, from, v);
		return;
	}
	if (w->frozen_num <= v->num) { /* a majority promised it: what was promised before and is not in it will never be */
		w->sealing &= ends;
		w->exact &= ends;
	}
	view_seal_freeze(c, ends);
	if (w->frozen_num < v->num)
		w->frozen_num = v->num;
	w->accepting = (struct accepting){ from, *v };
	view_save(c);
	EACH_OTHER_LOG(c, s)
		log_apply_wake(c, s);
	try_accept(c);
}

/* What waits for entries to be applied. Part of each step, and there is nothing of it in a volume that never had a second server. */
bool view_run(struct nfs4r_core *c)
{
	if (!state_views_on(c) || (!has_peers(c) && !c->view.adopted.num))
		return false;
	if (c->view.vote.from && c->view.vote.seal)
		try_vote(c);
	try_accept(c);
	view_seal_cross_all(c);
	return true;
}

/*
 * Log 9.1: who changes the voters wants to hear that this is on disk. So now and then a HEARTBEAT waits for it, when there is something to
 * be said; the others do not, since no lease may hang on a slow disk.
 */
static bool send_confirmed(struct nfs4r_core *c)
{
	struct view *w = &c->view;

	if (!w->confirmed_sent && view_is_confirmed(c)) {
		w->confirmed_sent = true;
		w->confirm_at = c->now;
	}
	if (!w->confirmed_sent || c->now < w->confirm_at)
		return false;
	w->confirm_at = c->now + state_silence_ms(c);
	return true;
}

/* ---- the door ------------------------------------------------------------------------------- */

void view_timers(struct nfs4r_core *c)
{
	struct view *w = &c->view;

	if (!state_views_on(c))
		return;
	if (c->now >= w->beat_at && !c->halted) { /* one that halted goes silent, and is removed */
		w->beat_at = c->now + (state_lease_ms(c) + 3) / 4;
		beat(c, send_confirmed(c));
	}
	out_timer_at(c, w->beat_at > c->now ? w->beat_at : c->now + state_lease_ms(c));
	view_settings_timers(c);
	view_believe_run(c);
	try_vote(c);
	view_propose_timers(c);
}

void view_started(struct nfs4r_core *c)
{
	c->view.started_ms = c->now;
	view_books_started(c);
	view_settings_started(c);
	state_view_set_ready(c);
	log_quorum_started(c);
	log_clients_started(c);
	if (c->view.adopted.nbook || c->view.adopted.settings.keys.durability)
		out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_SERVERS });
	view_believe_started(c);
	EACH_PEER(c, s)
		c->peers[s].heard_ms = c->peers[s].unready_ms = c->now;
	EACH_PEER(c, s)
		c->peers[s].outside_ms = state_is_member(c, s) ? 0 : c->now ? c->now :
									      1;
	c->view.exact = c->view.sealing;
	c->view.reconf_ms = c->now;
	c->view.lease_until = lease_end(c); /* who is alone needs nobody's */
	c->view.beat_at = c->now;
	if (FAULT(F_JOIN_FORGOTTEN)) {
		c->view.complete = true;
		state_view_set_ready(c);
	}
}

/* The rows of the others are here. */
void view_complete(struct nfs4r_core *c)
{
	c->view.complete = true;
	view_save(c);
	state_view_set_ready(c);
	control_elections_again(c);
	c->dirty |= DIRTY_OPS | DIRTY_REPLY | DIRTY_RELEASE;
	beat(c, true);
}

static bool sane(struct nfs4r_core *c, const struct nfs4r_view *v)
{
	bool ok = v->nseals <= NFS4R_SEALS_MAX && v->nbook <= NFS4R_SERVERS_MAX && v->servers && !(v->members & ~v->voters) && !(v->voters & ~v->servers);

	for (uint32_t i = 0; ok && i < v->nseals; i++)
		ok = v->seals[i].log && v->seals[i].log <= NFS4R_SERVERS_MAX;
	c->st.bad_messages += !ok;
	return ok;
}

/* A number bears the id of its proposer (log 6.14), and is not so high that there would soon be none left (log 6.15). */
static bool is_number_of(struct nfs4r_core *c, nfs4r_server_id from, uint64_t num)
{
	if (num % NFS4R_VIEW_STEP == from && view_believe_may_rise(c, from, num))
		return true;
	out_complain(c, from, "proposed a view under a number that belongs to another server, or rises too fast: no promise is given (log 6.15)");
	return false;
}

/* It is granted a lease, if it may have one; what waited for its word goes on. */
void view_answer(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	grant(c, from, m);
	view_believe_run(c);
	try_vote(c); /* it may have waited for a lease that is given back */
	view_propose_consider(c);
}

void view_on_msg(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	if (!state_views_on(c)) {
		if (m->type == NFS4R_MSG_VIEW)
			view_secret_on_view(c, from, &m->view);
		return;
	}
	switch (m->type) {
	case NFS4R_MSG_HALTED:
		view_trouble_on_halted(c, from, m);
		break;
	case NFS4R_MSG_GRANT:
		on_grant(c, from, m->grant.clock_ms, m->grant.lease_ms);
		break;
	case NFS4R_MSG_PREPARE:
		if (is_number_of(c, from, m->prepare.num))
			view_on_prepare(c, from, &(struct vote){ from, m->prepare.num, m->prepare.remove, m->prepare.add, m->prepare.seal });
		break;
	case NFS4R_MSG_PROMISE:
		view_propose_on_promise(c, from, m);
		break;
	case NFS4R_MSG_ACCEPT:
		if (sane(c, &m->view) && is_number_of(c, from, m->view.num))
			view_on_accept(c, from, &m->view);
		break;
	case NFS4R_MSG_ACCEPTED:
		view_propose_on_accepted(c, from, m->accepted.num, m->accepted.digest);
		view_believe_on_accepted(c, from, m->accepted.num, m->accepted.digest);
		break;
	case NFS4R_MSG_VIEW:
		if (sane(c, &m->view))
			view_believe_on_view(c, from, &m->view);
		break;
	}
	view_propose_consider(c);
}

void view_restored(struct nfs4r_core *c, const struct view_row *r)
{
	struct view *w = &c->view;

	w->adopted = r->adopted;
	w->accepted = r->accepted;
	w->promised = r->promised;
	w->frozen_num = r->frozen_num;
	w->frozen = r->frozen;
	w->complete = r->complete;
	w->sealing = r->sealing;
	w->nadopted = r->nadopted;
	w->naccepted = r->naccepted;
	w->reconf_epoch = r->reconf_epoch;
	w->reconf_set = r->reconf_set;
	state_logs_known(c, state_seal_logs(&w->adopted) | state_seal_logs(&w->accepted));
}

bool view_address_restored(struct nfs4r_core *c, uint64_t view, const struct nfs4r_address *a)
{
	struct address_table_rows *b = NULL, *v = c->view.books;

	for (uint32_t i = 0; i < ADDRESS_TABLES_MAX && !(b && b->view == view); i++)
		if (v[i].view == view || (!b && !v[i].view))
			b = &v[i];
	if (!b || b->n == NFS4R_SERVERS_MAX)
		return false;
	b->view = view;
	b->v[b->n++] = *a;
	return true;
}
