/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where logs end (log 7): freezing, seals, crossing.
 *
 * Happy path: a view ends the log of a server that is gone at the longest copy among the promises. Who promised had stopped taking its
 * entries before, who accepts fetches what is missing up to the seal. On adopting the view every server that has applied the log up to the
 * seal, and nothing beyond, crosses: its position becomes number 0 of the next generation, and what the server controlled is free.
 *
 * Failure modes: this copy lacks entries before the seal: they are pulled, nothing is served until then. It has entries beyond: state_transfer.c. The
 * seal is forgotten, or two generations ago, or nobody has the entries any more (retention.c): the copy is made anew (state_transfer.c).
 *
 * Invariants: a log is crossed after the row of the view, and once. Between a promise and the view that follows it nothing of a frozen log
 * is applied but up to the seal of a view that is being accepted. Claims of a sealed server leave this server's table when it crosses,
 * not before: until then an entry under them may be missing here.
 */
#include "core/membership/membership_int.h"

/* At the limit the oldest goes that is not the newest of its log: there are fewer logs than places. */
bool view_seal_add(struct nfs4r_view *v, nfs4r_server_id log, nfs4r_lsn lsn)
{
	uint32_t i = 0;

	if (v->nseals == NFS4R_SEALS_MAX) {
		while (i < v->nseals && v->seals[i].log != log && NFS4R_AFTER_SEAL(v->seals[i].lsn) == state_seal_begin(v, v->seals[i].log))
			i++;
		if (i == v->nseals)
			return false;
		memmove(&v->seals[i], &v->seals[i + 1], (v->nseals - i - 1) * sizeof(v->seals[0]));
		v->nseals--;
	}
	v->seals[v->nseals++] = (struct nfs4r_seal){ log, lsn };
	return true;
}

/* ---- voting (log 6.3, 6.5) -------------------------------------------------------------- */

/* Nothing more of these is taken, and what stands at the end and has not begun is not taken either. */
void view_seal_freeze(struct nfs4r_core *c, nfs4r_servers logs)
{
	c->view.sealing |= logs;
	EACH_OTHER_LOG(c, s)
		if ((logs & NFS4R_BIT(s)) && !FAULT(F_NO_FREEZE))
			log_apply_cut(c, s, 0);
}

bool view_seal_quiet(const struct nfs4r_core *c, nfs4r_servers logs)
{
	if (logs && c->repair.state == REPAIR_RUNS && c->repair.all)
		return false;
	EACH_OTHER_LOG(c, s)
		if ((logs & NFS4R_BIT(s)) && !log_apply_is_idle(c, s))
			return false;
	return true;
}

/* A generation that ends where it begins needs nothing (log 9.1, 9.3), though it is not entered before the view is adopted. */
static bool has_all_of(const struct nfs4r_core *c, const struct nfs4r_view *v, nfs4r_server_id log)
{
	nfs4r_lsn pos = c->log.logs[log].applied;
	const struct nfs4r_seal *e;

	while ((e = state_seal_at(v, log, pos))) {
		if (pos < e->lsn)
			return false;
		pos = NFS4R_AFTER_SEAL(e->lsn);
	}
	return NFS4R_GEN(pos) >= NFS4R_GEN(state_seal_begin(v, log));
}

/* Is everything up to the seals of @v here? Asks for what is not. */
bool view_seal_reached(struct nfs4r_core *c, const struct nfs4r_view *v)
{
	bool all = true;

	EACH_LOG(c, s) {
		nfs4r_lsn begin = state_seal_begin(v, s);
		const struct nfs4r_seal *last = begin ? state_seal_at(v, s, begin - 1) : NULL;

		if (!last || has_all_of(c, v, s) || FAULT(F_ACCEPT_WITHOUT_LOG))
			continue;
		all = false;
		if ((s != c->self || c->recovering) && c->log.logs[s].received < last->lsn)
			log_pull(c, s);
		out_timer_at(c, c->now + state_repeat_ms(c) / 4 + 1);
	}
	return all;
}

/* ---- claims of a sealed server -------------------------------------------------------- */

static void claim_gone(struct nfs4r_core *c, struct claim *cl)
{
	struct nfs4r_put p;

	control_claim_out_of_table(c, cl);
	row_claim(cl, &p, true);
	out_put(c, &p);
	control_claim_free(c, cl);
}

/* Log 6.6: @s controls nothing any more; this server has its log to the end. */
void view_claims_sealed(struct nfs4r_core *c, nfs4r_server_id s)
{
	struct claim *cl, *tmp;

	HASH_ITER(hh, c->control.claims, cl, tmp) {
		if (cl->key.server != s || cl->own)
			continue;
		locks_gap_of_ended(c, cl);
		claim_gone(c, cl);
	}
}

/* Log 8.5: what came with entries of @s after @pos goes: this copy does not have them any more. */
void view_claims_undone(struct nfs4r_core *c, nfs4r_server_id s, nfs4r_lsn pos)
{
	struct claim *cl, *tmp;

	HASH_ITER(hh, c->control.claims, cl, tmp)
		if (cl->key.server == s && !cl->own && cl->kind != NFS4R_PROPOSED && cl->lsn > pos)
			claim_gone(c, cl);
}

/* The own log has ended: all own claims are released, without waiting; true: none is left that something executes under. */
bool view_claims_let_go(struct nfs4r_core *c)
{
	struct claim *cl, *tmp;
	bool all = true;

	HASH_ITER(hh, c->control.claims, cl, tmp) {
		if (!cl->own || cl->own->state == OWN_RELEASED)
			continue;
		if (cl->own->pins || (cl->own->users && own_is_acting(cl->own)))
			all = false;
		else if (own_is_candidate(cl->own))
			control_claim_abort(c, cl->own);
		else
			control_claim_release(c, cl->own);
	}
	return all;
}

/* ---- crossing (log 6.6) ------------------------------------------------------------------- */

void view_seal_cross(struct nfs4r_core *c, nfs4r_server_id log)
{
	const struct logst *l = &c->log.logs[log];
	const struct nfs4r_seal *s = state_seal_at(&c->view.adopted, log, l->applied);
	nfs4r_lsn seal;

	assert(s && !l->pend);
	seal = s->lsn;
	log_fuzzy_crossed(c, log, seal); /* before: it can be done again */
	ops_monotonic_sealed(c, log); /* before: a crash in between must not leave what nobody would take away any more */
	if (state_locks_shared(c))
		view_claims_sealed(c, log); /* the same: nor a claim of which no gap is noted (locks 11) */
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_SEALED, .sealed = { .log = log, .until = seal } });
	log_cross(c, log, seal);
	view_claims_sealed(c, log);
	ops_forward_sealed(c, log, seal);
	if (log == c->self)
		log_crossed(c);
	else if (l->end > l->received)
		log_pull(c, log);
	c->dirty |= DIRTY_OPS | DIRTY_OBJECTS | DIRTY_REPLY | DIRTY_RELEASE;
	control_election_barriers(c);
	EACH_OTHER_LOG(c, t) /* entries that wait for this log may go on */
		log_apply_wake(c, t);
}

static bool may_cross(const struct nfs4r_core *c, nfs4r_server_id log)
{
	const struct logst *l = &c->log.logs[log];
	const struct nfs4r_seal *s = state_seal_at(&c->view.adopted, log, l->applied);

	if (!s || l->pend || l->applied < s->lsn || c->repair.state || c->reach.all || state_reach_lost(c, log)) /* all: half of the copy may be from beyond it */
		return false;
	if (l->highest > s->lsn)
		return FAULT(F_CROSS_AHEAD);
	return log != c->self || state_self_ended(c);
}

void view_seal_cross_all(struct nfs4r_core *c)
{
	if (!state_seals_open(c))
		return;
	EACH_LOG(c, s)
		while (may_cross(c, s))
			view_seal_cross(c, s);
	state_view_check_ready(c);
}

/* A view was adopted: what lies beyond its seals and has not begun is not taken. */
void view_seal_adopted(struct nfs4r_core *c)
{
	EACH_LOG(c, s) {
		const struct nfs4r_seal *e = state_seal_at(&c->view.adopted, s, c->log.logs[s].applied);

		if (e)
			log_apply_cut(c, s, e->lsn + 1);
	}
}

/* What waited for the view, or for a promise, goes on. */
void view_seal_go_on(struct nfs4r_core *c)
{
	EACH_OTHER_LOG(c, s) {
		const struct nfs4r_seal *e = state_seal_at(&c->view.adopted, s, c->log.logs[s].applied);

		if (e && c->log.logs[s].received < e->lsn)
			log_pull(c, s);
		if (e && FAULT(F_SERVE_UNCROSSED))
			view_claims_sealed(c, s);
		log_apply_wake(c, s);
	}
	view_seal_cross_all(c);
}
