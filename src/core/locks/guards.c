/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Guards (locks 19): the authority of a file knows all opens of it while somebody denies others something.
 *
 * Happy path: the first request for a file under a claim makes a guard. Every member hears GUARD, marks the file in the same step, and answers with the opens of its clients. When all have, requests are
 * decided: by what all others have open. A conflict is answered with SHARE_DENIED. When nobody denies anything any more, the guard ends, and all hear UNGUARD until they answer.
 *
 * Failure modes: control ends: the guard is forgotten here, and the marks stay. Every open of the file asks the next authority, which asks all members again. So nothing of it has to outlive control, or
 * this process. A member is silent: it is asked again, and requests wait until it answers or is removed. A member starts anew: it is asked again, and what its clients denied counts for lock_grace_ms.
 *
 * Invariants: nothing is granted before every member of the view has answered this guard in its present start. What is known of a member is never less than what it has open.
 */
#include "core/locks/shares_int.h"

void locks_shares_send(struct nfs4r_core *c, nfs4r_server_id to, struct nfs4r_msg *m, const struct nfs4r_oid *oid, uint64_t id, bool heard)
{
	m->guard.oid = *oid;
	m->guard.id = id;
	m->guard.view = c->view.adopted.num;
	m->guard.inc = c->cfg.peer_inc;
	m->guard.to_inc = c->peers[to].inc;
	m->guard.heard = heard;
	out_send(c, to, m, false);
}

bool locks_shares_is_due(struct nfs4r_core *c, uint64_t *sent_ms)
{
	if (*sent_ms && c->now < *sent_ms + state_repeat_ms(c)) {
		out_timer_at(c, *sent_ms + state_repeat_ms(c));
		return false;
	}
	*sent_ms = c->now ? c->now : 1;
	out_timer_at(c, c->now + state_repeat_ms(c));
	return true;
}

static uint64_t idle_ms(const struct nfs4r_core *c)
{
	return 2 * (uint64_t)c->cfg.op_wait_ms;
}

/* ---- members ---- */

static bool has_answered(const struct nfs4r_core *c, const struct share_guard *g, nfs4r_server_id s)
{
	return g->of[s].answered && g->of[s].inc == c->peers[s].inc;
}

static nfs4r_servers missing(const struct nfs4r_core *c, const struct share_guard *g)
{
	nfs4r_servers out = 0;

	EACH_OF(c->view.adopted.members & ~NFS4R_BIT(c->self), s)
		if (!has_answered(c, g, s))
			out |= NFS4R_BIT(s);
	return out;
}

static void ask(struct nfs4r_core *c, struct share_guard *g)
{
	EACH_OF(missing(c, g), s) {
		g->of[s].asked = true;
		if (locks_shares_is_due(c, &g->of[s].sent_ms))
			locks_shares_send(c, s, out_msg(c, NFS4R_MSG_GUARD), &g->oid, g->id, false);
	}
}

/* ---- guards ---- */

static struct share_guard *guard_find(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct share_guard *g;

	HASH_FIND(hh, c->locks.shares.guards, oid, sizeof(*oid), g);
	return g;
}

static struct share_guard *guard_get(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct share_guard *g = guard_find(c, oid);

	if (g)
		return g;
	g = out_xcalloc(1, sizeof(*g));
	g->oid = *oid;
	g->id = locks_shares_number(c);
	HASH_ADD(hh, c->locks.shares.guards, oid, sizeof(g->oid), g);
	locks_shares_own_guard(c, oid, g->id);
	return g;
}

static void guard_drop(struct nfs4r_core *c, struct share_guard *g)
{
	HASH_DEL(c->locks.shares.guards, g);
	free(g);
}

static void tell_end(struct nfs4r_core *c, struct share_ending *e)
{
	struct nfs4r_msg *m;

	if (!locks_shares_is_due(c, &e->sent_ms))
		return;
	m = out_msg(c, NFS4R_MSG_UNGUARD);
	m->guard.nmarks = e->nmarks;
	memcpy(m->guard.marks, e->marks, sizeof(e->marks));
	locks_shares_send(c, e->to, m, &e->oid, e->id, false);
}

static void guard_end(struct nfs4r_core *c, struct share_guard *g)
{
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++) {
		const struct share_party *p = &g->of[s];
		struct share_ending *e;

		if (!p->asked || !state_is_member(c, s))
			continue;
		e = out_xcalloc(1, sizeof(*e));
		*e = (struct share_ending){ .oid = g->oid, .id = g->id, .to = s, .nmarks = p->nmarks };
		memcpy(e->marks, p->marks, sizeof(e->marks));
		DL_APPEND(c->locks.shares.endings, e);
		tell_end(c, e);
	}
	locks_shares_own_unguard(c, &g->oid, g->id);
	guard_drop(c, g);
}

void locks_shares_unguard_removed(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct share_guard *g = guard_find(c, oid);

	if (g)
		guard_drop(c, g);
}

void locks_guards_sweep(struct nfs4r_core *c)
{
	struct share_guard *g, *tmp;

	HASH_ITER(hh, c->locks.shares.guards, g, tmp) {
		struct need n = { g->oid, NFS4R_SHALLOW, false };

		if (!control_own_cover(c, &n, NULL, false))
			guard_drop(c, g);
	}
}

void locks_guards_forget(struct nfs4r_core *c, nfs4r_servers removed)
{
	struct share_ending *e, *etmp;
	struct share_guard *g;

	DL_FOREACH_SAFE(c->locks.shares.endings, e, etmp)
		if (removed & NFS4R_BIT(e->to)) {
			DL_DELETE(c->locks.shares.endings, e);
			free(e);
		}
	for (g = c->locks.shares.guards; g; g = g->hh.next)
		for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
			if (removed & NFS4R_BIT(s))
				memset(&g->of[s], 0, sizeof(g->of[s]));
}

void locks_guards_started(struct nfs4r_core *c, nfs4r_server_id s)
{
	struct share_guard *g;

	locks_guards_forget(c, 0);
	for (g = c->locks.shares.guards; g; g = g->hh.next) {
		struct share_party *p = &g->of[s], was = *p;

		memset(p, 0, sizeof(*p));
		p->before = was.opens;
		p->before_until_ms = c->now + c->cfg.lock_grace_ms;
		if (was.before_until_ms > c->now && !was.opens.readers && !was.opens.writers) { /* twice */
			p->before = was.before;
			p->before_until_ms = was.before_until_ms;
		}
		out_timer_at(c, p->before_until_ms);
		ask(c, g);
	}
}

/* ---- decisions ---- */

static void sum_add(struct nfs4r_opens *sum, const struct nfs4r_opens *o)
{
	sum->readers += o->readers;
	sum->writers += o->writers;
	sum->deny_readers += o->deny_readers;
	sum->deny_writers += o->deny_writers;
}

/* All opens but those of clients of @but, as far as they are known. */
static void sum_others(struct nfs4r_core *c, const struct share_guard *g, nfs4r_server_id but, struct nfs4r_opens *sum)
{
	const struct share_file *own = locks_shares_file_find(c, &g->oid);

	memset(sum, 0, sizeof(*sum));
	if (own && but != c->self)
		sum_add(sum, &own->opens);
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		if (s != but)
			sum_add(sum, &g->of[s].opens);
}

static void sum_before(const struct nfs4r_core *c, const struct share_guard *g, nfs4r_server_id but, struct nfs4r_opens *sum)
{
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		if (s != but && c->now < g->of[s].before_until_ms)
			sum_add(sum, &g->of[s].before);
}

static bool is_in_the_way(const struct nfs4r_opens *others, uint32_t access, uint32_t deny)
{
	return ((access & NFS4R_SHARE_READ) && others->deny_readers) || ((access & NFS4R_SHARE_WRITE) && others->deny_writers) || ((deny & NFS4R_SHARE_READ) && others->readers) ||
		((deny & NFS4R_SHARE_WRITE) && others->writers);
}

static void decide(struct nfs4r_core *c, struct share_guard *g, struct share_party *p, struct nfs4r_op *op, nfs4r_server_id holder)
{
	struct nfs4r_share_request *s = &op->share;
	struct nfs4r_opens others;

	sum_others(c, g, holder, &others);
	sum_add(&others, &s->others);
	sum_before(c, g, s->reclaim ? holder : 0, &others);
	op->status = is_in_the_way(&others, s->access, s->deny) ? NFS4R_SHARE_DENIED : NFS4R_OK;
	if (op->status != NFS4R_OK || holder == c->self)
		return;
	p->opens = s->others;
	locks_shares_count(&p->opens, s->access, s->deny, true);
}

/* @op, which was granted: what this server's own client gets is not counted yet. */
static bool is_denied(struct nfs4r_core *c, const struct share_guard *g, const struct nfs4r_op *op)
{
	struct nfs4r_opens sum;

	sum_others(c, g, op ? c->self : 0, &sum);
	sum_before(c, g, 0, &sum);
	return sum.deny_readers || sum.deny_writers || (op && (op->share.deny || op->share.others.deny_readers || op->share.others.deny_writers));
}

enum locks_outcome locks_shares_request(struct nfs4r_core *c, struct nfs4r_op *op, nfs4r_server_id holder, uint64_t inc)
{
	struct share_guard *g = guard_get(c, &op->obj);
	struct share_party *p = &g->of[holder];

	g->used_ms = c->now;
	if (!op->share.reclaim && !locks_may_begin(c))
		return LOCKS_LATER;
	if (missing(c, g)) {
		ask(c, g);
		if (!FAULT(F_GUARD_SOME))
			return LOCKS_LATER;
	}
	if (p->n && p->inc == inc && op->lock.n <= p->n && holder != c->self && !FAULT(F_SHARE_UNNUMBERED)) {
		if (op->lock.n < p->n)
			return LOCKS_OLD;
		op->status = p->status;
	} else {
		decide(c, g, p, op, holder);
		p->n = op->lock.n;
		p->status = op->status;
	}
	op->share.guard = op->status == NFS4R_OK ? g->id : 0;
	if (!is_denied(c, g, holder == c->self && op->status == NFS4R_OK ? op : NULL))
		guard_end(c, g);
	return LOCKS_DONE;
}

/* ---- answers, and time ---- */

static void on_guard_answer(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct share_guard *g = guard_find(c, &m->guard.oid);
	struct share_party *p = g ? &g->of[from] : NULL;

	if (!g || g->id != m->guard.id || !p->asked || has_answered(c, g, from) || m->guard.view != c->view.adopted.num)
		return;
	p->answered = true;
	p->inc = m->guard.inc;
	p->n = 0;
	p->opens = m->guard.opens;
	p->nmarks = m->guard.nmarks;
	memcpy(p->marks, m->guard.marks, sizeof(p->marks));
	c->dirty |= DIRTY_OPS;
}

void locks_guards_on_answer(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct share_ending *e, *tmp;

	if (m->type == NFS4R_MSG_GUARD) {
		on_guard_answer(c, from, m);
		return;
	}
	DL_FOREACH_SAFE(c->locks.shares.endings, e, tmp)
		if (e->to == from && e->id == m->guard.id && nfs4r_oid_eq(&e->oid, &m->guard.oid)) {
			DL_DELETE(c->locks.shares.endings, e);
			free(e);
		}
}

static void before_timer(struct nfs4r_core *c, const struct share_guard *g)
{
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		if (g->of[s].before_until_ms > c->now)
			out_timer_at(c, g->of[s].before_until_ms);
}

void locks_guards_timers(struct nfs4r_core *c)
{
	struct share_guard *g, *tmp;
	struct share_ending *e;

	HASH_ITER(hh, c->locks.shares.guards, g, tmp) {
		if (!is_denied(c, g, NULL)) { /* whoever asked has given up */
			if (c->now >= g->used_ms + idle_ms(c)) {
				guard_end(c, g);
				continue;
			}
			out_timer_at(c, g->used_ms + idle_ms(c));
		}
		before_timer(c, g);
		ask(c, g);
	}
	DL_FOREACH(c->locks.shares.endings, e)
		tell_end(c, e);
}
