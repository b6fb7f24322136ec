/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Who asks for which view (log 6.4, 6.8), and which logs it ends (log 7.1, 9.2).
 *
 * Happy path: a member that misses another, or sees one outside that has caught up, sends PREPARE; with promises of a majority it makes the view
 * from the highest one that any of them accepted, and sends ACCEPT. With durability `commit` and `majority` the logs of all who are left
 * outside end with that view; with `local` only those that were given up. A log ends at the longest copy among the promises, so a
 * proposer that ends one waits a little longer for the rest of them.
 *
 * Failure modes: refused, or not enough in time: again a little later, rivals at different times. A member of the view to be does not
 * promise one that seals: it is removed, too. Nobody who promised has a copy that may stand for the log: the log says so, and the same view is made
 * once more. It ends the promises, so that members close the gaps of their copies before a log is to end again.
 *
 * Invariants: a number is on stable storage as used before PREPARE leaves. Who is to be removed, or whose log is to end, has no vote. Every
 * member of a view that seals has promised it, so none has more of the log than the seal, and one of them has a complete copy.
 */
#include <stdio.h>

#include "core/membership/membership_int.h"

#define UNREADY_SILENCES 5 /* a member that is not ready for so many silences is removed like a silent one */

void view_propose_later(struct nfs4r_core *c)
{
	c->view.proposal.num = 0;
	c->view.retry_ms = c->now + state_lease_ms(c) / 4 + state_lease_ms(c) * c->self / 16; /* rivals come back at different times */
	out_timer_at(c, c->view.retry_ms);
}

/* ---- the view that comes of it (log 6.4) -------------------------------------------------------- */

static void end_logs(struct nfs4r_core *c, const struct proposal *p, struct nfs4r_view *v)
{
	nfs4r_servers logs = p->seal & p->base.open & ~v->members;

	EACH_LOG(c, s) {
		nfs4r_lsn begin = state_seal_begin(&p->base, s);

		if ((logs & NFS4R_BIT(s)) && !view_seal_add(v, s, p->top[s] > begin ? p->top[s] : begin))
			logs &= ~NFS4R_BIT(s);
	}
	v->epoch += logs != 0;
	v->open = (v->open & ~logs) | v->members;
}

/* Log 6.4, if a log is to end: false: not with these promises. */
static bool may_seal(struct nfs4r_core *c, const struct proposal *p, const struct nfs4r_view *v)
{
	nfs4r_servers missing = v->members & ~p->promises;

	if (missing && !FAULT(F_SEAL_UNPROMISED)) {
		c->view.missing = missing;
		return false;
	}
	if (!(p->complete & p->promises & v->members) && !FAULT(F_SEAL_INCOMPLETE)) {
		out_stuck(c, "no reachable server has a complete copy: objects that an absent server controls stay blocked until one is reachable (log 9)");
		c->view.plain = !FAULT(F_INCOMPLETE_AGAIN);
		return false;
	}
	return true;
}

/* It is made: who accepts it? */
void view_propose_view(struct nfs4r_core *c)
{
	struct proposal *p = &c->view.proposal;

	p->accepting = true;
	EACH_PEER(c, s) {
		struct nfs4r_msg *a = out_msg(c, NFS4R_MSG_ACCEPT);

		a->view = p->view;
		out_send(c, s, a, true);
	}
	view_on_accept(c, c->self, &p->view);
}

static void decide(struct nfs4r_core *c)
{
	struct proposal *p = &c->view.proposal;
	struct nfs4r_view *v = &p->view;

	if (p->base.num != p->on)
		p->add = 0; /* they know another view than the one it was made on */
	if (p->base.num != p->on) {
		p->in = p->out = p->rekey = 0;
		p->settings.protocol = 0;
	}
	*v = p->base;
	view_secret_into(c, v);
	v->num = p->num;
	v->base = p->base.num;
	v->members = (p->base.members & ~p->remove) | p->add;
	view_member_view_of(c, p, v);
	view_settings_into(c, p, v);
	if (p->base.num != p->on && (p->seal || !quorum_is(v->members, v->voters))) {
		v->members = p->base.members; /* nobody may know yet that it was adopted, and what is wanted is of another one: that first */
		p->seal = 0;
	}
	if (!quorum_is(v->members, v->voters)) {
		view_propose_later(c);
		return;
	}
	if ((p->seal & p->base.open & ~v->members) && !may_seal(c, p, v)) {
		view_propose_later(c);
		return;
	}
	end_logs(c, p, v);
	view_propose_view(c);
}

/*
 * A learner's vote counts if the voters are even in number: two majorities meet then in somebody else, too, and it may still lose its disk without anybody
 * seeing that it voted. With an odd number nobody needs it: it makes no majority harder.
 */
static bool is_vote_quorum(const struct nfs4r_core *c, nfs4r_servers set, nfs4r_servers voters)
{
	nfs4r_servers learners = c->view.adopted.servers & ~c->view.adopted.voters;

	return quorum_is(__builtin_popcountll(voters) % 2 ? set & ~learners : set, voters);
}

static bool is_vote(const struct nfs4r_core *c, nfs4r_server_id from)
{
	return from == c->self || state_memory_counts(c, from) || (state_memory_known(c) && state_is_learner(c, from)) || FAULT(F_FORGOT_VOTES);
}

/*
 * Log 9.1: a view that was adopted on the one that is known here was accepted by a majority of the latter's voters; one that was adopted on the base by
 * a majority of the base's. Who promised would know of either.
 */
static bool enough_promised(const struct nfs4r_core *c, const struct proposal *p, nfs4r_servers set)
{
	return is_vote_quorum(c, set, p->voters) && is_vote_quorum(c, set, p->base.voters);
}

/* By how much later than another a voter may say that T_G is over, since its clock is the slowest. Nobody is left out for that. */
static uint64_t clocks_apart_ms(const struct nfs4r_core *c)
{
	return view_grant_ms(c) * 2 * state_drift_permille(c) / 1000;
}

/* It has promised late, and accepts nothing that it has not promised (log 6.14). */
static void ask_again(struct nfs4r_core *c, nfs4r_server_id from, bool refused)
{
	struct proposal *p = &c->view.proposal;
	struct nfs4r_msg *a;

	if (refused || (p->accepted & NFS4R_BIT(from)))
		return;
	if (from == c->self) {
		view_on_accept(c, from, &p->view);
		return;
	}
	a = out_msg(c, NFS4R_MSG_ACCEPT);
	a->view = p->view;
	out_send(c, from, a, true);
}

void view_propose_on_promise(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct proposal *p = &c->view.proposal;
	nfs4r_servers voters = ~(p->remove | p->seal);

	if (!is_vote(c, from))
		return;
	view_believe_saw(c, from, m->promise.promised);
	if (!p->num || p->num != m->promise.num)
		return;
	if (p->accepting) {
		ask_again(c, from, m->promise.refused);
		return;
	}
	if (m->promise.refused) {
		view_propose_later(c);
		return;
	}
	if (m->promise.accepted.num >= p->num && !FAULT(F_NUMBERS_LEAP)) {
		out_complain(c, from, "says that it accepted a view with a higher number than the one that it promises: its promise does not count (log 6.15)");
		return;
	}
	if (m->promise.accepted.num > p->base.num && view_secret_is_another(c, &m->promise.accepted)) {
		out_complain(c, from, "reports an accepted view with another secret than the volume's: its promise does not count (log 6.13)");
		return;
	}
	if (m->promise.accepted.num > p->base.num && view_settings_refuse(c, from, &m->promise.accepted)) {
		view_propose_later(c); /* whoever knows it goes on from there */
		return;
	}
	p->promises |= NFS4R_BIT(from);
	if (m->promise.complete)
		p->complete |= NFS4R_BIT(from);
	if (m->promise.accepted.num > p->base.num && !FAULT(F_OWN_BASE))
		p->base = m->promise.accepted;
	view_secret_of_promise(&p->base, &m->promise.accepted);
	if (p->reconf) {
		memcpy(p->has[from], m->promise.applied, sizeof(p->has[from]));
		view_reconf_decide(c);
		return;
	}
	if (p->base.voters != p->voters && (p->remove | p->seal)) {
		c->view.plain = true;
		view_propose_later(c);
		return;
	}
	EACH_LOG(c, s)
		if ((voters & NFS4R_BIT(from)) && m->promise.applied[s] > p->top[s])
			p->top[s] = m->promise.applied[s];
	if (!enough_promised(c, p, p->promises & (FAULT(F_REMOVED_VOTES) ? ~(nfs4r_servers)0 : voters)))
		return;
	if (p->seal && (p->base.voters & voters & ~p->promises) && (!p->decide_ms || c->now < p->decide_ms)) { /* one of the rest may have more */
		if (!p->decide_ms)
			p->decide_ms = c->now + state_lease_ms(c) / 8 + 1 + clocks_apart_ms(c);
		out_timer_at(c, p->decide_ms);
		return;
	}
	decide(c);
}

static bool enough_accepted(const struct nfs4r_core *c, const struct proposal *p)
{
	if (p->reconf)
		return !(p->voters & ~p->accepted) || (FAULT(F_RECONF_SOME) && quorum_is(p->accepted, p->voters));
	return is_vote_quorum(c, p->accepted, p->base.voters) && (is_vote_quorum(c, p->accepted, p->view.voters) || FAULT(F_VOTERS_UNASKED));
}

void view_propose_accepted_here(struct nfs4r_core *c, uint64_t num)
{
	view_propose_on_accepted(c, c->self, num, nfs4r_view_digest(&c->view.proposal.view));
}

void view_propose_on_accepted(struct nfs4r_core *c, nfs4r_server_id from, uint64_t num, uint64_t digest)
{
	struct proposal *p = &c->view.proposal;
	struct nfs4r_view v = p->view;

	if (!p->num || p->num != num || !p->accepting || digest != nfs4r_view_digest(&v) || !is_vote(c, from))
		return;
	p->accepted |= NFS4R_BIT(from);
	if (!enough_accepted(c, p))
		return;
	view_adopt(c, &v);
	EACH_PEER(c, s)
		view_send(c, s);
}

/* Asks for promises. */
void view_propose_begin(struct nfs4r_core *c, const struct proposal *p)
{
	struct view *w = &c->view;

	w->missing = 0;
	w->plain = false;
	w->proposal = *p;
	w->proposal.base = FAULT(F_OWN_BASE) ? w->adopted : w->accepted;
	w->proposal.until_ms = c->now + 2 * view_grant_ms(c) + state_silence_ms(c);
	out_timer_at(c, w->proposal.until_ms);
	if (w->frozen_num < p->num)
		w->frozen_num = p->num; /* used: not again for another change, also after a restart */
	view_save(c);
	EACH_PEER(c, s) {
		struct nfs4r_msg *m = out_msg(c, NFS4R_MSG_PREPARE);

		m->prepare.num = p->num;
		m->prepare.remove = p->remove;
		m->prepare.add = p->add;
		m->prepare.seal = p->seal;
		out_send(c, s, m, true);
	}
	view_on_prepare(c, c->self, &(struct vote){ c->self, p->num, p->remove, p->add, p->seal });
}

static void propose(struct nfs4r_core *c, nfs4r_servers remove, nfs4r_servers add, nfs4r_servers seal, nfs4r_server_id in, nfs4r_server_id out, const struct nfs4r_volume_settings *settings)
{
	struct view *w = &c->view;
	uint64_t top = w->seen > view_highest(c) ? w->seen : view_highest(c);
	struct proposal p = { .on = w->adopted.num, .voters = w->adopted.voters, .settings = *settings, .in = in, .out = out, .remove = remove, .add = add, .seal = seal };

	if (w->adopted.num > top)
		top = w->adopted.num;
	p.num = (top / NFS4R_VIEW_STEP + 1) * NFS4R_VIEW_STEP + c->self;
	if (out)
		p.remove |= NFS4R_BIT(out); /* it has no vote */
	if (!w->plain)
		p.rekey = view_server_keys_wanted(c);
	view_propose_begin(c, &p);
}

/* ---- what to ask for (log 6.8) -------------------------------------------------------------------- */

/* Members that have left, or are not heard as servers that remember; @unready: and those that are, but do not get ready. */
static nfs4r_servers silent(struct nfs4r_core *c, bool unready)
{
	nfs4r_servers set = 0;

	EACH_PEER(c, s) {
		const struct peer *p = &c->peers[s];
		uint64_t t = (FAULT(F_FORGOT_STAYS) ? p->heard_ms : p->counted_ms) + state_silence_ms(c);

		if (!state_is_member(c, s))
			continue;
		if (unready && p->joining && p->unready_ms + UNREADY_SILENCES * state_silence_ms(c) < t)
			t = p->unready_ms + UNREADY_SILENCES * state_silence_ms(c);
		if (p->left || c->now >= t)
			set |= NFS4R_BIT(s);
		else
			out_timer_at(c, t);
	}
	return set;
}

/* Those outside that are near enough and that everybody hears; else they would be removed again at once (log 6.8). */
static nfs4r_servers returning(const struct nfs4r_core *c, nfs4r_servers live)
{
	nfs4r_servers set = 0;

	EACH_PEER(c, s) {
		const struct peer *p = &c->peers[s];
		bool ok = !state_is_member(c, s) && state_view_hears(c, s) && p->caught_up && p->view == c->view.adopted.num && !(live & ~p->hears) && c->now >= p->back_ms;

		if (log_retention_is_slow(c, s) && state_views_enough(c, live)) /* it would be removed again (log 3.12) */
			ok = false;

		EACH_PEER(c, t)
			if ((live & NFS4R_BIT(t)) && !(c->peers[t].hears & NFS4R_BIT(s)))
				ok = false;
		if (ok)
			set |= NFS4R_BIT(s);
	}
	return set;
}

/* Servers outside that were given up: by word, or because they have been outside for long (log 9.2). */
static nfs4r_servers abandoned(struct nfs4r_core *c)
{
	nfs4r_servers set = c->view.abandoned;

	EACH_PEER(c, s) {
		const struct peer *p = &c->peers[s];

		if (!c->cfg.abandon_ms || state_is_member(c, s) || !(c->view.adopted.open & NFS4R_BIT(s)) ||
		    (state_view_hears(c, s) && p->memory == NFS4R_MEMORY_KNOWN))
			continue;
		if (c->now >= p->outside_ms + c->cfg.abandon_ms)
			set |= NFS4R_BIT(s);
		else
			out_timer_at(c, p->outside_ms + c->cfg.abandon_ms);
	}
	return set;
}

/* Logs that end with the view without @gone. */
static nfs4r_servers to_seal(struct nfs4r_core *c, nfs4r_servers gone, nfs4r_servers add)
{
	nfs4r_servers outside = c->view.adopted.open & ~c->view.adopted.members;

	if (!state_ends_logs(c))
		return (abandoned(c) & outside) | state_memory_unclaimed(c);
	return gone | (outside & ~add);
}

/* A number was promised and no view came of it: somebody has to make one, or grants and promises wait for ever (log 6.6). */
static bool stuck_promise(struct nfs4r_core *c)
{
	uint64_t top = view_highest(c);

	EACH_PEER(c, s)
		if (state_view_hears(c, s) && c->peers[s].promised > top && NFS4R_RECONF(c->peers[s].promised) <= NFS4R_RECONF(c->view.accepted.num))
			top = c->peers[s].promised;
	if (top <= c->view.adopted.num) {
		c->view.stuck_ms = 0;
		return false;
	}
	if (!c->view.stuck_ms)
		c->view.stuck_ms = c->now + view_grant_ms(c) + state_silence_ms(c) / 2;
	if (c->now < c->view.stuck_ms)
		out_timer_at(c, c->view.stuck_ms);
	return c->now >= c->view.stuck_ms;
}

static nfs4r_servers forgetful(const struct nfs4r_core *c)
{
	nfs4r_servers set = 0;

	EACH_PEER(c, s)
		if (!state_memory_counts(c, s))
			set |= NFS4R_BIT(s);
	return set;
}

/* Log 9: said, never only waited for. */
static void too_few(struct nfs4r_core *c)
{
	nfs4r_servers gone = 0, lost = 0;
	char text[NFS4R_CORE_TEXT], a[NFS4R_LIST_TEXT], b[NFS4R_LIST_TEXT];

	EACH_PEER(c, s) {
		if (!state_view_hears(c, s))
			gone |= NFS4R_BIT(s);
		else if (c->peers[s].memory != NFS4R_MEMORY_KNOWN)
			lost |= NFS4R_BIT(s);
	}
	out_servers_text(gone, a, sizeof(a));
	out_servers_text(lost, b, sizeof(b));
	snprintf(text, sizeof(text), "no quorum: fewer than a majority of the servers are reachable with intact state; updates and reads are blocked%s%s%s%s", gone ? "; silent: " : "", a,
		 lost ? "; lost the contents of their stores: " : "", b);
	out_stuck(c, text);
}

void view_propose_consider(struct nfs4r_core *c)
{
	struct view *w = &c->view;
	nfs4r_servers gone, live, add, seal;
	struct nfs4r_volume_settings settings;
	nfs4r_server_id in, out, rekey;
	uint32_t rank = 0;
	bool stuck_vote, bare, finish, ends;

	if (state_reconf_reported(c)) { /* nothing else is proposed (log 9.3) */
		view_reconf_consider(c);
		return;
	}
	if (!state_is_member(c, c->self) || !state_memory_known(c) || c->halted || w->left || w->proposal.num || c->now < w->retry_ms)
		return;
	gone = silent(c, true) | log_retention_slow(c);
	if (!state_views_enough(c, w->adopted.members & ~gone))
		gone = silent(c, false); /* without those that do not get ready there is no view; perhaps a promise keeps them from it */
	gone |= view_trouble_members(c, gone);
	if (w->missing && state_views_enough(c, w->adopted.members & ~(gone | w->missing)))
		gone |= w->missing & w->adopted.members & ~NFS4R_BIT(c->self);
	live = w->adopted.members & ~gone;
	add = returning(c, live);
	seal = to_seal(c, gone, add);
	if (state_views_enough(c, live | (add & ~seal)))
		add &= ~seal;
	else
		seal &= ~add; /* given up, but it is back, and without it there is no majority */
	add &= ~NFS4R_BIT(c->change.remove);
	stuck_vote = stuck_promise(c);
	view_member_consider(c, &gone, &add, &seal, &in, &out);
	if (seal)
		add &= ~forgetful(c); /* all members of a view that seals promise it, be it for who is taken out */
	rekey = view_server_keys_wanted(c);
	finish = view_settings_wanted(c, &settings);
	ends = !finish && view_settings_ends_wanted(c, &settings);
	if (w->plain) {
		gone = add = seal = in = out = rekey = settings.protocol = 0;
		stuck_vote = true;
	}
	bare = view_secret_wanted(c) || view_settings_bare(c);
	live = w->adopted.members & ~gone;
	if (!gone && !add && !seal && !in && !out && !rekey && !stuck_vote && !bare && !finish && !ends) {
		w->wanted_ms = 0;
		return;
	}
	if (!state_views_enough(c, live | add)) {
		too_few(c);
		if (!stuck_vote)
			return;
		gone = add = seal = in = out = settings.protocol = 0; /* who promised waits for a view, perhaps it alone could come back: the same one again */
	}
	EACH_SERVER(c, s)
		rank += s < c->self && (live & NFS4R_BIT(s));
	if (in || out || rekey || finish || (!gone && (seal & NFS4R_BIT(c->change.remove)))) /* nobody else asks for it; and who goes is added again when a silence is over (log 9.1) */
		rank = 0;
	if (seal && c->now < w->calm_ms) {
		out_timer_at(c, w->calm_ms);
		return;
	}
	if (!w->wanted_ms)
		w->wanted_ms = c->now + (uint64_t)rank * state_silence_ms(c) / 2;
	if (c->now >= w->wanted_ms)
		propose(c, gone, add, seal, in, out, &settings);
	else
		out_timer_at(c, w->wanted_ms);
}

void view_propose_timers(struct nfs4r_core *c)
{
	struct view *w = &c->view;
	const struct proposal *p = &w->proposal;

	if (p->num && !p->accepting && p->decide_ms && c->now >= p->decide_ms)
		decide(c);
	else if (p->num && !p->accepting && p->decide_ms)
		out_timer_at(c, p->decide_ms);
	if (p->num && c->now >= p->until_ms)
		view_propose_later(c);
	else if (p->num)
		out_timer_at(c, p->until_ms);
	view_propose_consider(c);
	if (w->retry_ms > c->now)
		out_timer_at(c, w->retry_ms);
}

/* ---- giving up (log 9.2) ---------------------------------------------------------------------------- */

static bool known(const struct nfs4r_core *c, nfs4r_server_id s)
{
	return s && s <= NFS4R_SERVERS_MAX && s != c->self && (c->view.adopted.servers & NFS4R_BIT(s));
}

void view_propose_abandon(struct nfs4r_core *c, nfs4r_server_id s)
{
	if (!state_views_on(c) || !known(c, s) || state_is_member(c, s) || !(c->view.adopted.open & NFS4R_BIT(s)))
		return;
	c->view.abandoned |= NFS4R_BIT(s);
	view_propose_consider(c);
}

uint64_t view_propose_only_there(const struct nfs4r_core *c, nfs4r_server_id s)
{
	nfs4r_lsn top = c->log.logs[s].applied, end = c->log.logs[s].end;

	EACH_PEER(c, t)
		if (t != s && c->peers[t].applied[s] > top)
			top = c->peers[t].applied[s];
	return end > top && NFS4R_GEN(end) == NFS4R_GEN(top) ? end - top : 0;
}

enum nfs4r_status nfs4r_core_may_abandon(const struct nfs4r_core *c, nfs4r_server_id s, uint64_t *lost, char *why, size_t why_len)
{
	const char *text = NULL;

	*lost = 0;
	if (!state_views_on(c))
		text = "the view is fixed (Lease = 0): no server is ever removed from it";
	else if (!known(c, s))
		text = "no other server of this volume has that number";
	else if (!state_is_member(c, c->self))
		text = "this server is outside the view itself: ask a member";
	else if (state_is_member(c, s))
		text = "it is a member of the view: it cannot be abandoned";
	else if (!(c->view.adopted.open & NFS4R_BIT(s)))
		text = "it is already abandoned";
	snprintf(why, why_len, "%s", text ? text : "");
	if (text)
		return NFS4R_INVAL;
	*lost = view_propose_only_there(c, s);
	return NFS4R_OK;
}
