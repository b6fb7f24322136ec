/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Going on with the survivors when a majority of the voters is lost for good (log 9.3).
 *
 * Happy path: an administrator says at each survivor who they all are, and vouches by that for the others being off for ever. Each keeps the word
 * (its epoch is one above that of any view it accepted), serves nothing from then on, grants leases only to those in the set, and promises and accepts
 * nothing of a lower epoch. When all of them say the same, and no lease of the others can stand any more, the lowest id asks all of them for
 * promises, and makes the first view of the epoch: they are servers and voters, all logs end at the longest copy among them, and one whose copy is
 * complete is the only member. The rest come back to that one like anybody outside (log 8).
 *
 * Failure modes: they were told different sets, one of them is not heard, or one that is said to be off is: nothing happens, the log and `status`
 * say why. A survivor dies on the way: the word is said again without it, and counts instead. Nobody's copy is complete: the one with the most
 * of the longest copies goes on with what it has (state_transfer.c: take_as_it_is()), and the others make theirs anew from it; the log says that something may be lost.
 * Others come back later: they hear of a view with a higher number, in which they are no servers.
 *
 * Invariants: the word is on stable storage before it is said. A view of an epoch is adopted only after all in its set have accepted it, and who has accepted
 * one gives its next word a higher epoch: so there are no two sets in one epoch, and what one of them may have adopted is the base of the next.
 */
#include <stdio.h>

#include "core/membership/membership_int.h"

static nfs4r_servers order_set(const struct nfs4r_core *c)
{
	return c->view.reconf_set;
}

/* ---- what the word forbids ------------------------------------------------------------------- */

/* A view with that number, of @set if it is the first of its epoch, is promised and accepted by nobody who goes by another word. */
bool view_reconf_refuses(const struct nfs4r_core *c, uint64_t num, nfs4r_servers set)
{
	uint64_t epoch = NFS4R_RECONF(num), mine = NFS4R_RECONF(c->view.accepted.num), said = c->view.reconf_epoch;

	if (said > mine && !(FAULT(F_RECONF_OLD_VOTES) && epoch < said))
		return epoch != said || (set != order_set(c) && !FAULT(F_RECONF_ANY_SET));
	return epoch > mine;
}

/* It is about the set of the word: all of it votes, whoever's log ends. */
bool view_reconf_asks(const struct nfs4r_core *c, const struct vote *v)
{
	return state_reconf_reported(c) && NFS4R_RECONF(v->num) == c->view.reconf_epoch && (v->add == order_set(c) || FAULT(F_RECONF_ANY_SET));
}

bool view_reconf_may_grant(const struct nfs4r_core *c, nfs4r_server_id s)
{
	return !state_reconf_reported(c) || (order_set(c) & NFS4R_BIT(s)) || FAULT(F_RECONF_OLD_GRANTS);
}

/* ---- the word ---------------------------------------------------------------------------------- */

static uint64_t next_epoch(const struct nfs4r_core *c)
{
	uint64_t epoch = NFS4R_RECONF(c->view.accepted.num) + 1;

	return epoch > NFS4R_RECONF(view_highest(c)) ? epoch : NFS4R_RECONF(view_highest(c));
}

/* These are the servers of a volume that was reconfigured, and nothing was promised since: it was said once more, or something else in between. */
static bool is_done(const struct nfs4r_core *c, nfs4r_servers set)
{
	const struct nfs4r_view *v = &c->view.adopted;

	return NFS4R_RECONF(v->num) && set == v->voters && NFS4R_RECONF(view_highest(c)) <= NFS4R_RECONF(v->num);
}

static void keep(struct nfs4r_core *c, uint64_t epoch, nfs4r_servers set)
{
	struct view *w = &c->view;

	w->reconf_epoch = epoch;
	w->reconf_set = set;
	w->reconf_ms = c->now;
	w->proposal.num = 0;
	w->vote.from = w->accepting.from = 0;
	w->abandoned = 0;
	c->change = (struct change){ 0 };
	out_stuck_again(c); /* what it waits for is said at once */
	if (!FAULT(F_RECONF_UNSAVED))
		view_save(c);
	state_view_check_ready(c);
	if (set)
		ops_refuse_waiting(c);
	view_beat(c);
}

void view_reconf_order(struct nfs4r_core *c, const struct nfs4r_event *ev)
{
	char why[NFS4R_CORE_TEXT];

	if (nfs4r_core_may_reconfigure(c, ev->set, why, sizeof(why)) != NFS4R_OK)
		return;
	if (!ev->set || is_done(c, ev->set))
		keep(c, 0, 0);
	else if (!state_reconf_reported(c) || ev->set != order_set(c))
		keep(c, next_epoch(c), ev->set);
	view_propose_consider(c);
}

void view_reconf_on_heartbeat(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct peer *p = &c->peers[from];

	if (p->reconf_epoch != m->heartbeat.reconf_epoch || p->reconf_set != m->heartbeat.reconf_set)
		p->reconf_ms = c->now;
	p->reconf_epoch = m->heartbeat.reconf_epoch;
	p->reconf_set = m->heartbeat.reconf_set;
	if (state_reconf_reported(c) && p->reconf_set == order_set(c) && p->reconf_epoch > c->view.reconf_epoch)
		keep(c, p->reconf_epoch, order_set(c)); /* it knows of a view that is not known here */
}

/* A view came of it, or of a later one. */
void view_reconf_adopted(struct nfs4r_core *c)
{
	struct view *w = &c->view;

	if (NFS4R_RECONF(w->adopted.num) < w->reconf_epoch && !is_done(c, order_set(c)))
		return;
	w->reconf_epoch = 0;
	w->reconf_set = 0;
}

/* ---- do all say the same? -------------------------------------------------------------------------- */

static bool wait_for(struct nfs4r_core *c, const char *text)
{
	snprintf(c->change.waits, sizeof(c->change.waits), "%s", text);
	return false;
}

static bool wait_for_one(struct nfs4r_core *c, nfs4r_server_id s, const char *text)
{
	char buf[NFS4R_CORE_TEXT];

	snprintf(buf, sizeof(buf), "forced reconfiguration: server %u %s", s, text);
	out_stuck(c, buf);
	return wait_for(c, buf);
}

static bool conflict(struct nfs4r_core *c, nfs4r_server_id s)
{
	char buf[NFS4R_CORE_TEXT], mine[NFS4R_LIST_TEXT], theirs[NFS4R_LIST_TEXT];

	out_servers_text(order_set(c), mine, sizeof(mine));
	out_servers_text(c->peers[s].reconf_set, theirs, sizeof(theirs));
	snprintf(buf, sizeof(buf), "forced reconfiguration: this server has the order \"%s\", server %u has \"%s\": give both the same order", mine, s, theirs);
	out_stuck(c, buf);
	return wait_for(c, buf);
}

static bool is_alive(const struct nfs4r_core *c, nfs4r_server_id s)
{
	return state_view_hears(c, s) && c->peers[s].memory != NFS4R_MEMORY_FORGOT;
}

/* @s is one of those who go on. */
static bool agrees(struct nfs4r_core *c, nfs4r_server_id s)
{
	const struct peer *p = &c->peers[s];

	if (!state_view_hears(c, s))
		return wait_for_one(c, s, "cannot be heard");
	if (p->memory == NFS4R_MEMORY_FORGOT)
		return wait_for_one(c, s, "lost the contents of its store: name only the others, and add it again afterwards");
	if (!p->reconf_epoch)
		return wait_for_one(c, s, "needs the same order");
	if (p->reconf_set != order_set(c))
		return conflict(c, s);
	if (p->reconf_epoch != c->view.reconf_epoch || !state_memory_counts(c, s))
		return wait_for(c, "forced reconfiguration: the other servers must answer");
	return true;
}

/* And nobody else is there. */
static bool all_agree(struct nfs4r_core *c)
{
	EACH_PEER(c, s) {
		if (order_set(c) & NFS4R_BIT(s)) {
			if (!agrees(c, s) && !FAULT(F_RECONF_SOME))
				return false;
		} else if (is_alive(c, s) && !FAULT(F_RECONF_HEARD)) {
			return c->peers[s].reconf_epoch ? conflict(c, s) : wait_for_one(c, s, "is declared off for good but is still heard: stop it, or name it, too");
		}
	}
	return true;
}

/* They promise when nobody who is left out can have a lease by them any more (log 6.3). This is longer: those who are not off after all are heard. */
static uint64_t quiet_until(const struct nfs4r_core *c)
{
	uint64_t t = c->view.reconf_ms;

	EACH_OF(order_set(c) & ~NFS4R_BIT(c->self), s)
		if (c->peers[s].reconf_ms > t)
			t = c->peers[s].reconf_ms;
	return t + 2 * view_grant_ms(c);
}

/* ---- the first view of the epoch ----------------------------------------------------------------------- */

static void propose(struct nfs4r_core *c)
{
	struct view *w = &c->view;
	uint64_t top = w->seen > view_highest(c) ? w->seen : view_highest(c);
	struct proposal p = { .on = w->adopted.num, .voters = order_set(c), .add = order_set(c), .reconf = true };

	if (NFS4R_RECONF(top) < w->reconf_epoch)
		top = w->reconf_epoch << NFS4R_RECONF_SHIFT;
	if (NFS4R_RECONF(top) > w->reconf_epoch) { /* one of them promised more, to another set */
		keep(c, NFS4R_RECONF(top), order_set(c));
		return;
	}
	p.num = (top / NFS4R_VIEW_STEP + 1) * NFS4R_VIEW_STEP + c->self;
	p.remove = servers_of(c) & ~order_set(c);
	p.seal = w->adopted.open | w->accepted.open;
	view_propose_begin(c, &p);
}

void view_reconf_consider(struct nfs4r_core *c)
{
	struct view *w = &c->view;
	nfs4r_servers below = NFS4R_BIT(c->self) - 1;
	bool agree = all_agree(c);

	if (c->halted || w->proposal.num || c->now < w->retry_ms || !agree)
		return;
	if (order_set(c) & below) {
		wait_for(c, "forced reconfiguration: the named server with the lowest number must propose the view");
		return;
	}
	if (c->now < quiet_until(c)) {
		wait_for(c, "forced reconfiguration: the other servers must have been silent for longer");
		out_timer_at(c, quiet_until(c));
		return;
	}
	wait_for(c, "forced reconfiguration: the other servers must answer");
	propose(c);
}

static uint32_t longest(const struct nfs4r_core *c, const struct proposal *p, nfs4r_server_id s)
{
	uint32_t n = 0;

	EACH_LOG(c, log)
		n += p->has[s][log] == p->top[log];
	return n;
}

/* It has more of some log than the base says there ever was. It may not know: perhaps nobody adopted that view. */
static bool is_beyond(const struct nfs4r_core *c, const struct proposal *p, nfs4r_server_id s)
{
	EACH_LOG(c, log) {
		const struct nfs4r_seal *e = state_seal_at(&p->base, log, p->has[s][log]);

		if (e && p->has[s][log] > e->lsn)
			return true;
	}
	return false;
}

/* Who goes on: one whose copy is complete, better one that was a member; else the one with the most of the longest copies. */
static nfs4r_server_id chosen(const struct nfs4r_core *c, struct proposal *p)
{
	uint32_t best = 0, how;
	nfs4r_server_id one = 0;

	EACH_OF(p->voters & p->promises, s) {
		bool complete;

		if (is_beyond(c, p, s))
			p->complete &= ~NFS4R_BIT(s);
		complete = p->complete & NFS4R_BIT(s);
		how = complete ? 1000 + !!(p->base.members & NFS4R_BIT(s)) : 1 + longest(c, p, s);
		if (how > best && !(one && FAULT(F_RECONF_INCOMPLETE))) {
			best = how;
			one = s;
		}
	}
	return one;
}

/* Seals of @log from the generation of @top on are of views that had more of it than anybody here. */
static void lower(struct nfs4r_view *v, nfs4r_server_id log, nfs4r_lsn top)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->nseals; i++)
		if (v->seals[i].log != log || NFS4R_GEN(v->seals[i].lsn) < NFS4R_GEN(top))
			v->seals[n++] = v->seals[i];
	v->nseals = n;
	view_seal_add(v, log, top);
}

static void end_log(struct nfs4r_view *v, const struct nfs4r_view *base, nfs4r_server_id log, nfs4r_lsn top)
{
	nfs4r_lsn begin = state_seal_begin(base, log);
	const struct nfs4r_seal *last = begin ? state_seal_at(base, log, begin - 1) : NULL;

	if (last && top < last->lsn)
		lower(v, log, top);
	else if (base->open & NFS4R_BIT(log)) /* what it has is here, to its longest copy */
		view_seal_add(v, log, top > begin ? top : begin);
	else if (base->servers & ~v->servers & NFS4R_BIT(log)) /* when it is added again it knows by this that it was taken out */
		view_seal_add(v, log, begin);
}

static void keep_address_table(struct nfs4r_view *v)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->nbook; i++)
		if (v->servers & NFS4R_BIT(v->addresses[i].id))
			v->addresses[n++] = v->addresses[i];
	v->nbook = n;
}

static void make_view(struct nfs4r_core *c, struct proposal *p, nfs4r_server_id one, bool as_it_is)
{
	struct nfs4r_view *v = &p->view;

	*v = p->base;
	view_secret_into(c, v);
	v->num = p->num;
	v->base = p->base.num;
	if (NFS4R_RECONF(p->base.num) == c->view.reconf_epoch)
		return; /* it is made, and perhaps adopted */
	v->members = NFS4R_BIT(one);
	v->servers = v->voters = p->voters;
	v->epoch++;
	keep_address_table(v);
	EACH_OF(state_seal_logs(&p->base), log) {
		if (!(FAULT(F_RECONF_LOGS_GO_ON) && (p->voters & NFS4R_BIT(log))))
			end_log(v, &p->base, log, as_it_is ? p->has[one][log] : p->top[log]);
	}
	for (int i = 0; as_it_is && i < 2; i++) /* view_reconf_anew() sees it by this */
		view_seal_add(v, one, state_seal_begin(v, one));
	v->open = FAULT(F_RECONF_LOGS_GO_ON) ? p->base.open & p->voters : v->members;
}

/* All of them promise, and none is left out: one more entry at another one might be what was answered. */
void view_reconf_decide(struct nfs4r_core *c)
{
	struct proposal *p = &c->view.proposal;
	nfs4r_server_id one;
	bool complete;

	EACH_OF(p->promises & p->voters, s)
		EACH_LOG(c, log)
			if (p->has[s][log] > p->top[log])
				p->top[log] = p->has[s][log];
	if ((p->voters & ~p->promises) && !(FAULT(F_RECONF_SOME) && quorum_is(p->promises, p->voters)))
		return;
	if (NFS4R_RECONF(p->base.num) > c->view.reconf_epoch || !all_agree(c)) {
		view_propose_later(c);
		return;
	}
	one = chosen(c, p);
	complete = (p->complete & NFS4R_BIT(one)) || FAULT(F_RECONF_INCOMPLETE);
	if (!complete) {
		char text[NFS4R_CORE_TEXT];

		snprintf(text, sizeof(text), "forced reconfiguration: no copy is complete; all servers continue with the copy of server %u; updates that only another server had may be lost", one);
		out_stuck(c, text);
	}
	make_view(c, p, one, !complete);
	view_propose_view(c);
}

/*
 * A server that accepts @v, the first of an epoch, takes all from its member: its own copy is not complete, or the member's is not, and so has what
 * no position says. The latter shows by the member's own log, which ends more than once.
 */
bool view_reconf_anew(const struct nfs4r_core *c, const struct nfs4r_view *v)
{
	if (NFS4R_RECONF(v->num) <= NFS4R_RECONF(c->view.adopted.num) || (v->members & NFS4R_BIT(c->self)) || __builtin_popcountll(v->members) != 1)
		return false;
	if (FAULT(F_RECONF_KEEPS_COPY))
		return false;
	EACH_OF(v->members, one)
		if (NFS4R_GEN(state_seal_begin(v, one)) > NFS4R_GEN(c->log.logs[one].applied) + 1)
			return true;
	return state_is_repairing(c);
}

/* ---- the door ------------------------------------------------------------------------------------------------ */

static const char *not_at_all(const struct nfs4r_core *c)
{
	if (!state_views_on(c))
		return "the view is fixed (Lease = 0): it cannot be reconfigured";
	if (state_is_taken_out(c))
		return "this server was removed from the volume: it can only be added anew";
	if (!state_memory_known(c) || state_is_learner(c, c->self))
		return "this server is new or lost the contents of its store: name only the others, and add it again afterwards";
	return NULL;
}

static const char *not_with(const struct nfs4r_core *c, nfs4r_servers set)
{
	if (!set)
		return !state_reconf_reported(c)			      ? "this server has no order to cancel" :
			NFS4R_RECONF(view_highest(c)) >= c->view.reconf_epoch ? "it is too late to cancel: other servers rely on the order; name the servers that continue" :
										NULL;
	if (!(set & NFS4R_BIT(c->self)))
		return "this server is not among the named servers: run the command at each named server, and stop the others";
	if (set & ~c->view.adopted.voters)
		return "one of the named servers is not a voter of this volume: name only voters, and add others afterwards";
	if (set == c->view.adopted.voters && NFS4R_RECONF(c->view.adopted.num) && !state_reconf_reported(c))
		return "the named servers are all servers of the volume: no reconfiguration is needed";
	if (state_lease_valid(c))
		return "the volume works: remove servers with `nfs4rctl server remove`";
	return NULL;
}

enum nfs4r_status nfs4r_core_may_reconfigure(const struct nfs4r_core *c, nfs4r_servers set, char *why, size_t why_len)
{
	const char *text = not_at_all(c);

	if (!text)
		text = not_with(c, set);
	snprintf(why, why_len, "%s", text ? text : "");
	for (nfs4r_server_id s = 1; !text && set && s <= NFS4R_SERVERS_MAX; s++) {
		if (s == c->self || !(servers_of(c) & ~set & NFS4R_BIT(s)) || !is_alive(c, s))
			continue;
		text = why;
		snprintf(why, why_len, "server %u is still heard but not among the named servers: stop it, or name it, too", s);
	}
	return text ? NFS4R_INVAL : NFS4R_OK;
}
