/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The life of an operation up to EXECUTE: who is asked, who is waited for (control 4.1, 5.5, 6.6, 6.7).
 *
 * Happy path: everything it needs is covered by acting claims: EXECUTE in the same step. Else,
 * when another server covers all argument objects: FORWARD (forward.c), unless it is to be executed here or not at all. When nobody else covers
 * anything needed: propose what is missing and wait for the win. When others are in the way:
 * REVOKE to each, hold nothing, try again.
 *
 * ops_decide() looks at everything afresh each time; nothing of an earlier decision is trusted but
 * the claims that the operation holds (so that a revoke cannot take a claim between its win and
 * the first use, control 5.5). Whatever fails counts an attempt, which raises the priority of the next
 * proposal, and waits a little; after op_wait_ms the client hears DELAY.
 *
 * Invariants: an operation is in exactly one of the lists waiting, busy, answering, by its state;
 * a blocked operation holds no claim.
 */
#include <stdio.h>

#include "core/ops/ops_int.h"

static struct opx **list_of(struct nfs4r_core *c, enum op_state st)
{
	switch (st) {
	case OP_WAIT:
	case OP_FORWARDED:
	case OP_CATCHUP:
		return &c->ops.waiting;
	case OP_REPLY:
		return &c->ops.answering;
	default:
		return &c->ops.busy;
	}
}

void ops_list(struct nfs4r_core *c, struct opx *o, enum op_state st)
{
	struct opx **from = list_of(c, o->state), **to = list_of(c, st);

	if (from != to) {
		DL_DELETE(*from, o);
		DL_APPEND(*to, o);
	}
	o->state = st;
}

struct opx *ops_begin(struct nfs4r_core *c, struct nfs4r_op *op, bool remote, nfs4r_server_id from)
{
	struct opx *o = out_xcalloc(1, sizeof(*o));

	o->op = op;
	o->remote = remote;
	o->from = from;
	o->state = OP_WAIT;
	o->since = c->now;
	o->epoch = c->view.adopted.epoch;
	o->who = LOCKS_CLIENT;
	o->deadline = c->now + c->cfg.op_wait_ms;
	out_timer_at(c, o->deadline);
	op->core = o;
	op->status = NFS4R_OK;
	op->lsn = 0;
	op->primary = 0;
	DL_APPEND(c->ops.waiting, o);
	c->ops.nops++;
	return o;
}

/* ---- holds (control 5.5) and pins (control 5.1) --------------------------------------------- */

void ops_unhold(struct nfs4r_core *c, struct opx *o)
{
	uint32_t n = o->nholds;

	o->nholds = 0;
	for (uint32_t i = 0; i < n; i++)
		control_claim_unhold(c, o->relies_on[i]->own);
}

void ops_unpin(struct nfs4r_core *c, struct opx *o)
{
	for (uint32_t i = 0; i < o->npins; i++) {
		struct own *ow = o->pins[i]->own;

		if (!own_is_deep(ow) && !o->remote)
			control_claim_used(c, ow);
		control_claim_unpin(c, ow);
	}
	o->npins = 0;
}

static void keep(struct claim **v, uint32_t *n, struct claim *cl)
{
	for (uint32_t i = 0; i < *n; i++)
		if (v[i] == cl)
			return;
	if (*n < CLAIMS_RELIED_ON_MAX)
		v[(*n)++] = cl;
}

/* Hold @v instead of what was held: new ones first, so that no count touches zero between. */
static void rely_anew(struct nfs4r_core *c, struct opx *o, struct claim **v, uint32_t n)
{
	struct claim *old[CLAIMS_RELIED_ON_MAX];
	uint32_t nold = o->nholds;

	memcpy(old, o->relies_on, sizeof(old));
	for (uint32_t i = 0; i < n; i++)
		control_claim_use(v[i]->own);
	memcpy(o->relies_on, v, n * sizeof(*v));
	o->nholds = n;
	for (uint32_t i = 0; i < nold; i++)
		control_claim_unhold(c, old[i]->own);
}

/* ---- failure -------------------------------------------------------------------- */

/* A short wait that differs between servers, so that rivals do not meet again at once. */
void ops_failed_attempt(struct nfs4r_core *c, struct opx *o)
{
	uint32_t n = o->attempts < 8 ? o->attempts : 8;

	if (o->attempts < UINT32_MAX)
		o->attempts++;
	o->not_before = c->now + 10 + 10 * n + 3 * c->self;
	out_timer_at(c, o->not_before);
	ops_unhold(c, o);
}

/* An own claim is about to be aborted: whoever waited for it has failed. */
void ops_claim_gone(struct nfs4r_core *c, struct claim *cl)
{
	struct opx *o;

	if (!cl->own->users)
		return;
	DL_FOREACH(c->ops.waiting, o)
		for (uint32_t i = 0; i < o->nholds; i++)
			if (o->relies_on[i] == cl) {
				ops_failed_attempt(c, o);
				break;
			}
}

void ops_finish(struct nfs4r_core *c, struct opx *o, enum nfs4r_status st)
{
	if (st == NFS4R_OK && o->op->type == NFS4R_OP_WRITE && !o->remote && o->epoch != c->view.adopted.epoch && !FAULT(F_WRITE_OVER_SEAL))
		st = NFS4R_DELAY; /* log 5.3: the verifier is another one, and the client would not know from when on */
	ops_unhold(c, o);
	ops_unpin(c, o);
	if (c->ops.mover == o) {
		c->ops.mover = NULL;
		c->dirty |= DIRTY_OPS;
	}
	o->op->status = st;
	o->op->core = NULL;
	if (st == NFS4R_DELAY)
		c->st.delays++;
	if (o->unanswered)
		ops_forward_drop(c, o);
	else if (o->remote)
		ops_forward_answer(c, o);
	else if (!ops_lock_ends(c, o, st))
		out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_DONE, .done = { .op = o->op } });
	if (o->hashed)
		HASH_DEL(c->ops.by_id, o);
	if (o->out_prev)
		DL_DELETE2(c->ops.outstanding, o, out_prev, out_next);
	DL_DELETE(*list_of(c, o->state), o);
	c->ops.nops--;
	free(o);
}

/* ---- the decision ------------------------------------------------------------------ */

/* Blocked by others (control 5.5): holds nothing, asks them to let go, tries again. */
static void blocked(struct nfs4r_core *c, struct opx *o, const struct needs *nd, nfs4r_servers owners,
		    const struct nfs4r_oid *oid, bool below, bool fresh)
{
	if (!fresh)
		return;
	EACH_PEER(c, s)
		if (owners & NFS4R_BIT(s))
			control_send_revoke(c, s, oid, below, o->attempts);
}

static bool begin_blocked(struct nfs4r_core *c, struct opx *o)
{
	bool fresh = !o->blocked_at || c->now >= o->blocked_at + state_repeat_ms(c);

	ops_unhold(c, o);
	if (fresh) {
		o->blocked_at = c->now ? c->now : 1;
		if (o->attempts < UINT32_MAX)
			o->attempts++;
	}
	out_timer_at(c, o->blocked_at + state_repeat_ms(c));
	return fresh;
}

/* Control 6.6: one other server covers all arguments, or several are in the way. What can be done here only is not sent: others_in_the_way(). */
static bool route_away(struct nfs4r_core *c, struct opx *o, const struct needs *nd)
{
	nfs4r_servers all = ~(nfs4r_servers)0, any = 0, all_won = ~(nfs4r_servers)0, own[2], won, pick;
	bool fresh;

	if (!nd->nargs || o->op->here_only)
		return false;
	for (uint32_t i = 0; i < nd->nargs; i++) {
		own[i] = control_foreign_cover(c, &nd->args[i], &won);
		any |= own[i];
		all &= own[i];
		all_won &= won;
	}
	if (!any)
		return false;
	pick = all & ~o->excluded & c->view.adopted.members; /* what a removed server controls waits for it */
	if (pick && c->now < o->not_before) {
		out_timer_at(c, o->not_before);
		return true;
	}
	if (pick) {
		if (pick & all_won)
			pick &= all_won;
		ops_unhold(c, o);
		ops_forward_send(c, o, (nfs4r_server_id)__builtin_ctzll(pick));
		return true;
	}
	fresh = begin_blocked(c, o);
	for (uint32_t i = 0; i < nd->nargs; i++)
		blocked(c, o, nd, own[i], &nd->args[i], false, fresh);
	if (o->excluded) { /* all who might have been primary said no: ask again after a while */
		ops_failed_attempt(c, o);
		o->excluded = 0;
	}
	return true;
}

/*
 * Control 6.5: the file of a lock or a share has not come yet. Whoever controlled its directory when it was made cannot release that before its entry is here (control 5.1): that
 * server is asked, as for a read. When it may not decide, it says so, and is asked again after a while.
 */
static bool route_to_creator(struct nfs4r_core *c, struct opx *o, const struct needs *nd)
{
	nfs4r_server_id creator = nfs4r_oid_creator(&o->op->obj);

	if (!ops_is_ahead_of_file(o->op, nd) || creator == c->self || !state_is_member(c, creator))
		return false;
	if (c->now < o->not_before) {
		out_timer_at(c, o->not_before);
	} else if (o->excluded & NFS4R_BIT(creator)) {
		ops_failed_attempt(c, o);
		o->excluded = 0;
	} else {
		ops_forward_send(c, o, creator);
	}
	return true;
}

/* Others hold something needed that is not an argument: child, target, what is below (control 4.1, 7.5); or anything that what can be done here only needs. */
static bool others_in_the_way(struct nfs4r_core *c, struct opx *o, const struct needs *nd)
{
	nfs4r_servers above[4], below[4], any = 0, won;
	bool fresh;

	for (uint32_t i = 0; i < nd->n; i++) {
		above[i] = control_foreign_cover(c, &nd->v[i].oid, &won);
		below[i] = 0;
		if (nd->v[i].depth >= NFS4R_DEEP && !control_own_cover(c, &nd->v[i], o, false))
			below[i] = control_anc_below(c, &nd->v[i].oid) & ~NFS4R_BIT(c->self);
		any |= above[i] | below[i];
	}
	if (!any)
		return false;
	fresh = begin_blocked(c, o);
	for (uint32_t i = 0; i < nd->n; i++) {
		blocked(c, o, nd, above[i] & ~below[i], &nd->v[i].oid, false, fresh);
		blocked(c, o, nd, below[i], &nd->v[i].oid, true, fresh);
	}
	return true;
}

static bool is_backed_off(struct nfs4r_core *c, const struct needs *nd)
{
	for (uint32_t i = 0; i < nd->n; i++) {
		if (policy_giving(c, &nd->v[i].oid))
			return true;
		uint64_t t = control_holdoff_until(c, &nd->v[i].oid);

		if (t > c->now) {
			out_timer_at(c, t);
			return true;
		}
	}
	return false;
}

static bool somebody_away(struct nfs4r_core *c)
{
	nfs4r_server_id s = quorum_away(c);
	char text[NFS4R_CORE_TEXT];

	if (!s)
		return false;
	snprintf(text, sizeof(text), "server %u is down: updates that need its acknowledgement wait for it, and clients retry", s);
	out_stuck(c, text);
	return true;
}

/* Is @n covered by one of the first @nv controls that are about to be asked for, another than its own? */
static bool asked_above(struct nfs4r_core *c, const struct need *n, const struct nfs4r_control *v, uint32_t nv)
{
	for (uint32_t i = 0; i < nv && !n->explicit_only; i++)
		if (v[i].depth >= NFS4R_DEEP && !nfs4r_oid_eq(&v[i].oid, &n->oid) &&
		    (control_is_under(c, &n->oid, &v[i].oid) ||
		     (FAULT(F_ASK_DROPS_MULTI) && c->tree.parents(c->tree.ctx, &n->oid, NULL, 0) > 1)))
			return true;
	return false;
}

/* Control 4.1: shallow control of a directory may be asked deeply; what lies below it then needs no control of its own. */
static uint32_t ask_deeper(struct nfs4r_core *c, const struct opx *o, const struct needs *nd, struct nfs4r_control *v, uint32_t n,
			   bool *optional)
{
	struct need left[4];
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		bool dir_arg = false;

		for (uint32_t j = 0; j < nd->nargs; j++)
			dir_arg |= nfs4r_oid_eq(&nd->args[j], &v[i].oid);
		if (v[i].depth == NFS4R_SHALLOW && dir_arg && policy_may_deep(c, &v[i].oid)) {
			v[i].depth = NFS4R_DEEP;
			*optional = true;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < nd->n; j++)
			if (nfs4r_oid_eq(&nd->v[j].oid, &v[i].oid))
				left[i] = nd->v[j];
	for (uint32_t i = 0; i < n; i++)
		if (!asked_above(c, &left[i], v, n))
			v[kept++] = v[i];
	return kept;
}

static void elect(struct nfs4r_core *c, struct opx *o, const struct nfs4r_control *v, uint32_t n, bool optional)
{
	struct own *ow = control_election_propose(c, v, n, o->attempts, optional ? OWN_FOR_OPERATION_DEEP : OWN_FOR_OPERATION);

	c->st.elections_waited++;
	c->st.deep_asked += optional;
	if (o->nholds < CLAIMS_RELIED_ON_MAX) {
		control_claim_use(ow);
		o->relies_on[o->nholds++] = ow->claim;
	}
	if (!o->attempts)
		for (uint32_t i = 0; i < n; i++)
			policy_paid(c, &v[i].oid);
}

/* Control 4.1: the first attempt asks for what is missing, later ones for everything in one claim. */
static void propose_missing(struct nfs4r_core *c, struct opx *o, const struct needs *nd)
{
	struct nfs4r_control v[4];
	struct claim *relied[CLAIMS_RELIED_ON_MAX], *cl;
	uint32_t nrelied = 0, n = 0;
	bool optional = false;
	bool reclaims = nfs4r_op_is_lock(o->op->type) && o->op->lock.reclaim; /* locks 8: whoever wants this to be clear may wait for a gap, and that waits for the reclaim */

	for (uint32_t i = 0; i < nd->n; i++) {
		cl = control_own_cover(c, &nd->v[i], o, false);
		if (!cl && !o->remote)
			cl = control_claim_reopen(c, &nd->v[i]);
		if (!cl)
			cl = control_own_cover(c, &nd->v[i], o, true);
		if (cl)
			keep(relied, &nrelied, cl);
		else
			v[n++] = (struct nfs4r_control){ nd->v[i].oid, nd->v[i].depth };
	}
	if (n && c->now < o->not_before) {
		out_timer_at(c, o->not_before);
		ops_unhold(c, o);
		return;
	}
	if (n && ((!reclaims && is_backed_off(c, nd)) || somebody_away(c))) {
		ops_unhold(c, o);
		return;
	}
	if (n && o->attempts) {
		nrelied = 0;
		for (n = 0; n < nd->n; n++)
			v[n] = (struct nfs4r_control){ nd->v[n].oid, nd->v[n].depth };
	} else if (n && o->op->type != NFS4R_OP_CLAIM) {
		n = ask_deeper(c, o, nd, v, n, &optional);
	}
	rely_anew(c, o, relied, nrelied);
	if (n)
		elect(c, o, v, n, optional);
}

/* Locks 8: in a gap lock operations are decided under a closing claim, too, since its lists are written when the gap is over. */
static bool is_in_gap(struct nfs4r_core *c, const struct opx *o, const struct nfs4r_oid *oid)
{
	return nfs4r_op_is_lock(o->op->type) && locks_in_gap(c, oid);
}

static bool all_covered(struct nfs4r_core *c, const struct opx *o, const struct needs *nd)
{
	for (uint32_t i = 0; i < nd->n; i++)
		if (!control_own_cover(c, &nd->v[i], o, false) && !is_in_gap(c, o, &nd->v[i].oid) && !(FAULT(F_LOCK_WHILE_CLOSING) && nfs4r_op_is_lock(o->op->type) && control_own_acting_cover(c, &nd->v[i].oid)))
			return false;
	return true;
}

/* Control 6.7: a forwarded operation is taken only under acting, not closing control of its arguments. */
static bool args_covered(struct nfs4r_core *c, const struct opx *o, const struct needs *nd)
{
	for (uint32_t i = 0; i < nd->nargs; i++) {
		struct need n = { nd->args[i], NFS4R_SHALLOW, false };

		if (!control_own_cover(c, &n, o, false) && !is_in_gap(c, o, &n.oid))
			return false;
	}
	return true;
}

/* control 3.5: an error read from a directory nobody else controls ends the operation here. */
static bool ends_early(struct nfs4r_core *c, struct opx *o, const struct needs *nd)
{
	nfs4r_servers won;

	if (nd->deferred == NFS4R_OK && !nd->nothing)
		return false;
	if (nd->deferred == NFS4R_DELAY) /* an object that has not come yet (control 6.5): wait for it */
		return true;
	if (nd->deferred != NFS4R_OK && control_foreign_cover(c, &nd->judged, &won))
		return others_in_the_way(c, o, nd);
	if (nd->deferred == NFS4R_EXIST && nd->has_obj) {
		o->op->result = nd->obj;
		o->op->result_type = nd->obj_type;
	}
	ops_finish(c, o, nd->deferred == NFS4R_STALE && o->remote ? NFS4R_ORPHAN : nd->deferred);
	return true;
}

static void decide_close(struct nfs4r_core *c, struct opx *o)
{
	nfs4r_lsn lsn = log_written_lsn(c, &o->op->obj);

	if (!lsn) {
		ops_finish(c, o, NFS4R_OK);
		return;
	}
	o->cond.log = c->self;
	o->cond.lsn = lsn;
	o->cond.nfiles = 1;
	o->cond.files[0] = o->op->obj;
	o->done_at = c->now;
	out_timer_at(c, c->now + c->cfg.reply_wait_ms);
	ops_list(c, o, OP_REPLY);
	c->dirty |= DIRTY_REPLY;
}

static void covered(struct nfs4r_core *c, struct opx *o, const struct needs *nd)
{
	enum nfs4r_status st;

	if (o->op->type == NFS4R_OP_CLAIM) {
		control_claim_used(c, control_own_cover(c, &nd->v[0], o, false)->own);
		ops_finish(c, o, NFS4R_OK);
		return;
	}
	if (nfs4r_op_at_authority(o->op->type)) {
		ops_lock_covered(c, o, control_own_cover(c, &nd->v[0], o, false));
		return;
	}
	if (!ops_may_be_answered(c, o, nd)) {
		ops_unhold(c, o);
		somebody_away(c);
		return;
	}
	st = ops_space_may(c, o->op);
	if (st == NFS4R_DELAY) {
		ops_unhold(c, o);
		return;
	}
	if (st != NFS4R_OK) {
		ops_finish(c, o, st);
		return;
	}
	if (nd->dirmove && c->ops.mover)
		return; /* control 3.6: two moves under way could each miss the cycle they make together */
	ops_exec_lock(c, o, nd);
}

void ops_decide(struct nfs4r_core *c, struct opx *o)
{
	struct needs nd;

	assert(o->state == OP_WAIT);
	if (c->halted) {
		ops_finish(c, o, NFS4R_DELAY);
		return;
	}
	if (!state_is_member(c, c->self) || state_is_ended(c, c->self)) {
		ops_finish(c, o, NFS4R_DELAY);
		return;
	}
	if (not_ready(c) || !state_lease_valid(c))
		return;
	if (o->op->type == NFS4R_OP_CLOSE) {
		decide_close(c, o);
		return;
	}
	if (state_lets_go(c)) { /* control 7.12 */
		c->st.not_primary += o->remote;
		ops_finish(c, o, o->remote ? NFS4R_NOT_PRIMARY : NFS4R_DELAY);
		return;
	}
	if (ops_lock_waits(c, o) || ops_share_waits(c, o))
		return;
	ops_needs_of(c, o->op, &nd);
	if (o->remote && !args_covered(c, o, &nd) && nd.deferred != NFS4R_STALE) {
		c->st.not_primary++;
		ops_finish(c, o, NFS4R_NOT_PRIMARY);
		return;
	}
	if (nd.deferred == NFS4R_STALE) { /* only a known deletion (control 6.5) */
		ops_finish(c, o, o->remote ? NFS4R_ORPHAN : NFS4R_STALE);
		return;
	}
	if (all_covered(c, o, &nd)) {
		if (nd.deferred != NFS4R_OK || nd.nothing)
			ends_early(c, o, &nd);
		else
			covered(c, o, &nd);
		return;
	}
	if (!o->remote && (route_away(c, o, &nd) || route_to_creator(c, o, &nd)))
		return;
	if (!nd.after_cover && ends_early(c, o, &nd))
		return;
	if (o->op->type == NFS4R_OP_LOCK_TEST && !locks_gap_noted(c, &o->op->obj)) { /* else the row is older than a table that is lost (locks 8) */
		ops_lock_test_row(c, o);
		return;
	}
	if (!others_in_the_way(c, o, &nd))
		propose_missing(c, o, &nd);
}

/* ---- again, and too late ---------------------------------------------------------------- */

/* What has not begun cannot be done here any more. */
void ops_refuse_waiting(struct nfs4r_core *c)
{
	struct opx *o, *tmp;

	DL_FOREACH_SAFE(c->ops.waiting, o, tmp)
		if (o->state == OP_WAIT)
			ops_finish(c, o, NFS4R_DELAY);
}

/* Those in OP_CATCHUP: the own copy has the entry now, or not in time. What the view sealed away never happened: it waits to be decided anew
   (ops_forward_sealed()). */
static void caught_up(struct nfs4r_core *c, struct opx *o)
{
	if (state_is_sealed_away(c, o->op->primary, o->op->lsn))
		return;
	if (c->log.logs[o->op->primary].applied < o->op->lsn) {
		if (c->now < o->deadline)
			return;
		if (!FAULT(F_READ_LOCKED_LAGS))
			locks_copy_lags(c, &o->op->obj);
	}
	ops_finish(c, o, o->op->status);
}

void ops_run(struct nfs4r_core *c, bool all)
{
	struct opx *o, *tmp;

	DL_FOREACH_SAFE(c->ops.waiting, o, tmp) {
		if (o->state == OP_CATCHUP)
			caught_up(c, o);
		else if (o->state == OP_WAIT && all)
			ops_decide(c, o);
	}
}

void ops_timers(struct nfs4r_core *c)
{
	struct opx *o, *tmp;

	DL_FOREACH_SAFE(c->ops.waiting, o, tmp) {
		if (o->state == OP_FORWARDED) {
			ops_forward_repeat(c, o);
		} else if (c->now >= o->deadline && o->state == OP_CATCHUP) {
			caught_up(c, o);
		} else if (c->now >= o->deadline) {
			ops_finish(c, o, NFS4R_DELAY);
		} else {
			out_timer_at(c, o->deadline);
			if (o->state == OP_WAIT)
				ops_decide(c, o);
		}
	}
	DL_FOREACH(c->ops.answering, o) {
		if (c->now >= o->done_at + c->cfg.reply_wait_ms)
			out_stuck(c, "an executed operation waits for acks or positions of a peer (control 5.2, 5.3)");
		out_timer_at(c, c->now < o->done_at + c->cfg.reply_wait_ms ? o->done_at + c->cfg.reply_wait_ms : c->now + STUCK_EVERY_MS);
	}
}
