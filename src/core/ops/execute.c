/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * From EXECUTE to the answer (control 5).
 *
 * Happy path: EXECUTE with the locks, the claims are pinned; OP_LOCKED: the names are resolved
 * again, the entry gets its LSN and versions; the caller executes; OP_EXECUTED: the entry is
 * committed as soon as older entries of the same object are; the answer goes out when control 5.2 or 5.3
 * holds.
 *
 * Failure modes: under the locks the names mean other objects, or coverage is gone: RETRY and a
 * new decision (control 3.4). The execution fails: the entry is void, the error is the answer. A write that fails may have
 * changed bytes before: then its entry stays, for the others to have the same bytes, and the error is the answer.
 *
 * Invariant: a claim with pins is not released, so whatever was covered at EXECUTE and still is
 * covered by the pinned claims under the locks is this server's to change; `last` of a claim that
 * began to close meanwhile is raised to the entry (control 5.1).
 */
#include "core/ops/ops_int.h"

void ops_pin(struct nfs4r_core *c, struct opx *o, struct claim *cl)
{
	for (uint32_t i = 0; i < o->npins; i++)
		if (o->pins[i] == cl)
			return;
	assert(o->npins < CLAIMS_RELIED_ON_MAX);
	o->pins[o->npins++] = cl;
	control_claim_pin(cl->own);
	if (!own_is_deep(cl->own) && !o->remote) /* deep: policy_used(); what others forward does not keep it from them */
		control_claim_used(c, cl->own);
}

static void add_lock(struct nfs4r_act_execute *a, const struct nfs4r_oid *oid)
{
	uint32_t i;

	for (i = 0; i < a->nlocks; i++)
		if (nfs4r_oid_eq(&a->locks[i].oid, oid))
			return;
	assert(a->nlocks < NFS4R_PARTS_MAX);
	for (i = a->nlocks++; i > 0 && nfs4r_oid_cmp(&a->locks[i - 1].oid, oid) > 0; i--)
		a->locks[i] = a->locks[i - 1];
	a->locks[i].oid = *oid;
	a->locks[i].whole = true;
	a->locks[i].off = a->locks[i].len = 0;
}

static void name_locks(struct nfs4r_act_execute *a, const struct opx *o, const struct needs *nd)
{
	const struct nfs4r_op *op = o->op;

	for (uint32_t i = 0; i < nd->nargs; i++)
		add_lock(a, &nd->args[i]);
	if (nd->has_obj)
		add_lock(a, &nd->obj);
	if (nd->has_target)
		add_lock(a, &nd->target);
	if (op->type == NFS4R_OP_WRITE || op->type == NFS4R_OP_ALLOCATE || op->type == NFS4R_OP_DEALLOCATE) {
		a->locks[0].whole = op->type == NFS4R_OP_ALLOCATE; /* a failed one puts the size back */
		a->locks[0].off = op->offset;
		a->locks[0].len = op->data ? op->data->len : op->length;
	}
}

void ops_exec_lock(struct nfs4r_core *c, struct opx *o, const struct needs *nd)
{
	struct nfs4r_action a = { .type = NFS4R_ACT_EXECUTE, .execute = { .op = o->op, .remote = o->remote } };

	o->needs = *nd;
	for (uint32_t i = 0; i < nd->n; i++)
		ops_pin(c, o, control_own_cover(c, &nd->v[i], o, false));
	policy_used(c, o);
	ops_unhold(c, o);
	if (nd->dirmove) {
		o->mover = true;
		c->ops.mover = o;
	}
	ops_list(c, o, OP_LOCKING);
	for (uint32_t i = 0; i < o->npins; i++) /* control 4.5: the win is on disk before the first update under it */
		a.durable |= o->pins[i]->own->won_step > c->durable_step;
	o->exec_durable = a.durable;
	o->exec_step = c->step;
	name_locks(&a.execute, o, nd);
	out_act(c, &a);
	if (FAULT(F_PINS_IGNORED))
		ops_unpin(c, o);
}

static bool pins_cover(struct nfs4r_core *c, const struct opx *o, const struct needs *nd)
{
	for (uint32_t i = 0; i < nd->n && !FAULT(F_PINS_IGNORED); i++) {
		bool ok = false;

		for (uint32_t j = 0; j < o->npins && !ok; j++)
			ok = control_claim_covers(c, o->pins[j], &nd->v[i]);
		if (!ok)
			return false;
	}
	return true;
}

static void retry(struct nfs4r_core *c, struct opx *o)
{
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_RETRY, .retry = { .op = o->op } });
	ops_unpin(c, o);
	if (c->ops.mover == o)
		c->ops.mover = NULL;
	o->mover = false;
	ops_list(c, o, OP_WAIT);
	out_timer_at(c, o->deadline);
	c->dirty |= DIRTY_OPS;
	ops_decide(c, o);
}

/* "or every claim that covered the object when it was moved was acked by all then" (control 5.2). */
static bool covering_all_acked(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct walk w;
	struct ctl *k;

	control_walk_begin(&w, oid);
	do {
		for (k = control_of(c, &w.oid); k; k = k->next)
			if (k->claim->own && (!w.level || k->depth >= NFS4R_DEEP) && !state_claim_acked_by_all(c, k->claim))
				return false;
	} while (control_walk_up(c, &w));
	return true;
}

/*
 * Control 3.8: an old file written under deep control, or under what was announced (control 7.10), gets an explicit one; nothing waits for it but CLOSE,
 * which "applied by all" ends just as well. So it is left out whenever control 4.1, 7.6 or a server that is away would make an operation wait.
 */
static void ask_explicit(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct nfs4r_control want = { *oid, NFS4R_SHALLOW };
	struct nfs4r_facts f;
	nfs4r_servers won;
	struct walk w;
	struct ctl *k;

	if (!control_is_known(c, oid, &f) || f.type == NFS4R_TYPE_DIR)
		return;
	control_walk_begin(&w, oid);
	do {
		for (k = control_of(c, &w.oid); k; k = k->next)
			if (k->claim->own && own_takes_operations(k->claim->own) &&
			    (w.level ? k->depth == NFS4R_DEEP_PLUS : !k->claim->announced))
				return;
	} while (control_walk_up(c, &w));
	if (!control_foreign_cover(c, oid, &won) && control_holdoff_until(c, oid) <= c->now && !quorum_away(c)) {
		control_election_propose(c, &want, 1, 0, OWN_FOR_OPERATION);
		policy_paid(c, oid);
	}
}

/* A deep+ is gone or going, or a hold-off is over: files that were written under it and are still open (control 3.8). */
void ops_exec_open_files(struct nfs4r_core *c)
{
	struct oidmark *o, *tmp;

	if (c->recovering) /* the tail of the own log may bring claims with numbers that are free here till then (log 4.7) */
		return;
	HASH_ITER(hh, c->control.opens, o, tmp) {
		nfs4r_lsn lsn = log_written_lsn(c, &o->oid);

		if (lsn && !ops_file_complete(c, &o->oid, lsn))
			ask_explicit(c, &o->oid);
	}
}

static void note_written(struct nfs4r_core *c, const struct nfs4r_entry *e)
{
	for (uint32_t i = 0; i < e->nparts; i++)
		switch (e->parts[i].effect) {
		case NFS4R_EFF_WRITE:
		case NFS4R_EFF_ATTRS:
		case NFS4R_EFF_XATTR:
		case NFS4R_EFF_ALLOC:
			log_written_note(c, &e->parts[i].oid, e->lsn);
		}
}

/* Control 6.10: nothing is in the log of it. */
static void refuse(struct nfs4r_core *c, struct opx *o, enum nfs4r_status st)
{
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_RETRY, .retry = { .op = o->op } });
	ops_finish(c, o, st);
}

void ops_exec_locked(struct nfs4r_core *c, struct opx *o, enum nfs4r_status may)
{
	struct nfs4r_entry *e;
	struct needs nd;

	assert(o->state == OP_LOCKING);
	if (o->exec_durable)
		out_durable(c, o->exec_step); /* the caller kept it back until everything before was on disk */
	ops_space_fit_times(c, o->op);
	ops_needs_of(c, o->op, &nd);
	if (FAULT(F_NO_RESOLVE_AGAIN))
		nd = o->needs;
	if (c->halted || state_is_ended(c, c->self) || c->repair.state || ((!ops_needs_same(&nd, &o->needs) || !pins_cover(c, o, &nd)) && !FAULT(F_NO_RESOLVE_AGAIN)) ||
	    ops_space_may(c, o->op) != NFS4R_OK) { /* log 4.12: others were faster */
		retry(c, o);
		return;
	}
	if (may != NFS4R_OK && !FAULT(F_REFUSED_EXECUTES)) {
		refuse(c, o, may);
		return;
	}
	e = ops_entry_make(c, o, &nd);
	ops_cond_of(c, e, &o->cond);
	o->cond.quorum = log_needs_quorum(c, o->op);
	control_raise_last(c, e);
	note_written(c, e);
	log_bytes(c, e->lsn, nfs4r_entry_bytes(e));
	ops_space_spend(c, o->op, e->lsn);
	o->pend = log_pend_add(c, e, o);
	if (e->joined.kind == NFS4R_MOVED)
		o->pend->born_acked_by_all = covering_all_acked(c, &e->joined.control.oid);
	ops_list(c, o, OP_STARTED);
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_STARTED, .started = { .op = o->op, .entry = nfs4r_entry_get(e) } });
	if (nfs4r_op_is_file_update(o->op->type))
		ask_explicit(c, &nd.obj);
}

void ops_exec_executed(struct nfs4r_core *c, struct opx *o, const struct nfs4r_event *ev)
{
	assert(o->state == OP_STARTED && o->pend && ev->entry == o->pend->entry);
	o->executed_ok = ev->ok;
	if (!ev->ok && ev->changed)
		ops_entry_unanswered(ev->entry);
	else if (!ev->ok)
		ops_entry_void(ev->entry);
	ops_list(c, o, OP_EXECUTED);
	log_pend_executed(c, o->pend, false);
}

/* Log 6.17: it is answered by the Durability that counts then, and not by that of its beginning. */
static void by_present_durability(struct nfs4r_core *c, struct opx *o)
{
	if (!FAULT(F_ANSWERS_BY_OLD))
		o->cond.quorum = log_needs_quorum(c, o->op);
	if (o->cond.quorum && o->cond.log == c->self)
		log_quorum_wait(c, o->cond.lsn);
}

/* The entry is in the tree and in the log. */
void ops_exec_committed(struct nfs4r_core *c, struct opx *o)
{
	o->pend = NULL;
	ops_unpin(c, o);
	if (c->ops.mover == o) {
		c->ops.mover = NULL;
		c->dirty |= DIRTY_OPS;
	}
	if (!o->executed_ok) {
		c->st.entries_void++;
		o->op->lsn = 0;
		ops_finish(c, o, o->op->status != NFS4R_OK ? o->op->status : NFS4R_IO);
		return;
	}
	c->st.entries_executed++;
	if (state_is_sealed_away(c, c->self, o->cond.lsn) && !FAULT(F_ANSWER_UNDONE)) { /* it will be undone */
		ops_finish(c, o, NFS4R_DELAY);
		return;
	}
	by_present_durability(c, o);
	if (state_lease_valid(c) && ((o->op->type == NFS4R_OP_WRITE && o->op->under_open && !o->remote && !o->cond.quorum) || ops_cond_met(c, &o->cond))) {
		state_hist_add(&c->st.reply, 0);
		ops_finish(c, o, NFS4R_OK);
		return;
	}
	o->done_at = c->now;
	out_timer_at(c, c->now + c->cfg.reply_wait_ms);
	ops_list(c, o, OP_REPLY);
}

/* Another Durability counts from now on. */
void ops_exec_durability(struct nfs4r_core *c)
{
	struct opx *o;

	DL_FOREACH(c->ops.answering, o)
		by_present_durability(c, o);
}

/* The own log has ended: what is executed beyond the seal never happened. */
void ops_exec_undone(struct nfs4r_core *c)
{
	struct opx *o, *tmp;

	DL_FOREACH_SAFE(c->ops.answering, o, tmp)
		if (o->cond.log == c->self && state_is_sealed_away(c, c->self, o->cond.lsn) && !FAULT(F_ANSWER_UNDONE))
			ops_finish(c, o, NFS4R_DELAY);
}

void ops_exec_answers(struct nfs4r_core *c)
{
	struct opx *o, *tmp;

	if (!state_lease_valid(c)) /* log 5.2 */
		return;
	DL_FOREACH_SAFE(c->ops.answering, o, tmp)
		if (ops_cond_met(c, &o->cond) || (o->op->type == NFS4R_OP_CLOSE && FAULT(F_CLOSE_AT_ONCE))) {
			state_hist_add(&c->st.reply, c->now - o->done_at);
			ops_finish(c, o, NFS4R_OK);
		}
}
