/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Lock operations on their way (locks 1, 5, 15, 16): like a WRITE they need shallow control of their file, and go to whoever has it. Unlike a WRITE they are decided within
 * the step in which that is so: no EXECUTE, no entry.
 *
 * Happy path: a LOCK of a client becomes the one request of its owner at that file, and ends with what the authority says. UNLOCK and UNWAIT of a client end at once; what
 * follows from them, and from a lock that was fetched, this server asks for itself: operations that no caller knows of (`who`).
 *
 * Failure modes: the caller cancels a LOCK that was forwarded: it goes on as this server's own, and what comes of it waits for the client's next one. The view changes, or the
 * other server starts anew: the answer to what was asked before counts no more, and it is asked again.
 *
 * Invariants: before the authority hears that a lock is given back, or lowered, what this server's clients wrote to the file is complete. A lock is granted only when the claim that covers the file was won on disk.
 */
#include "core/ops/ops_int.h"

#define SWEEP_MAX 64 /* files at once */

bool nfs4r_core_locks_shared(const struct nfs4r_core *c)
{
	return state_locks_shared(c);
}

void ops_at_once(struct nfs4r_core *c, struct nfs4r_op *op, enum nfs4r_status st)
{
	op->status = st;
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_DONE, .done = { .op = op } });
}

/* Log 6.7: else what is ready may be somebody else's by now. */
bool ops_may_answer(const struct nfs4r_core *c)
{
	return !c->halted && !not_ready(c) && state_is_member(c, c->self) && state_lease_valid(c);
}

/* True: a client's operation has ended. */
bool ops_lock_at_once(struct nfs4r_core *c, struct nfs4r_op *op)
{
	enum nfs4r_status st = NFS4R_OK;

	if (!nfs4r_op_is_lock(op->type))
		return false;
	op->lock.n = op->lock.since_ms = op->lock.waited_ms = op->lock.view = op->lock.inc = 0;
	op->lock.confirms = false;
	op->lock.conflict = (struct nfs4r_file_lock){ .holder = 0 };
	if (op->lock.reclaim)
		log_client_is_back(c, op->lock.lock.owner.client);
	if (!nfs4r_core_locks_shared(c))
		st = NFS4R_NOTSUPP;
	else if (op->lock.lock.start > op->lock.lock.last || (op->type == NFS4R_OP_LOCK && !op->lock.wait))
		st = NFS4R_INVAL;
	else if (op->type == NFS4R_OP_UNLOCK)
		locks_unlock(c, op);
	else if (op->type == NFS4R_OP_UNWAIT)
		locks_unwait(c, op);
	else if (op->type == NFS4R_OP_LOCK && ops_may_answer(c) && locks_fetch(c, op, &st))
		;
	else if (op->type == NFS4R_OP_LOCK && locks_is_full(c))
		st = NFS4R_NOLCK;
	else
		return false;
	ops_at_once(c, op, st);
	return true;
}

/* Locks 15. */
static bool is_complete(struct nfs4r_core *c, const struct nfs4r_op *op)
{
	nfs4r_lsn lsn = log_written_lsn(c, &op->obj);

	return !lsn || !locks_gives_back(op) || ops_file_complete(c, &op->obj, lsn) || FAULT(F_UNLOCK_INCOMPLETE);
}

/* Locks 12: it says that it had this lock before this server started, or was outside. This server knows best who was its client. */
static bool is_unknown(const struct nfs4r_core *c, const struct nfs4r_op *op)
{
	return op->type == NFS4R_OP_LOCK && op->lock.reclaim && !log_client_is_listed(c, c->self, op->lock.lock.owner.client) && !FAULT(F_LOCK_RECLAIM_NEW);
}

/* True: @o, a lock operation of a client here, cannot begin yet, or has ended. */
bool ops_lock_waits(struct nfs4r_core *c, struct opx *o)
{
	if (!nfs4r_op_is_lock(o->op->type) || o->remote || o->who != LOCKS_CLIENT)
		return false;
	if (is_unknown(c, o->op)) {
		ops_finish(c, o, NFS4R_DENIED);
		return true;
	}
	o->op->lock.since_ms = o->since;
	return !locks_begin(c, o, o->op);
}

static void of_remote(struct nfs4r_core *c, const struct opx *o, nfs4r_server_id *holder, uint64_t *inc)
{
	*holder = o->remote ? o->from : c->self;
	*inc = o->remote ? c->peers[o->from].inc : c->cfg.peer_inc;
}

/* Control 4.5: a restart aborts what had not been won by the journal's word. */
static bool is_won_on_disk(struct nfs4r_core *c, const struct own *ow)
{
	if (ow->won_step <= c->durable_step)
		return true;
	if (ow->won_step > c->sync_wanted)
		c->sync_wanted = ow->won_step;
	locks_await_disk(c, true);
	return false;
}

/* Of no owner, so that it keeps no control: the row is written when that ends. */
static bool is_sweep(const struct nfs4r_op *op)
{
	static const struct nfs4r_lock_owner nobody;

	return op->type == NFS4R_OP_UNWAIT && memcmp(&op->lock.lock.owner, &nobody, sizeof(nobody)) == 0;
}

void ops_lock_waited(const struct nfs4r_core *c, struct nfs4r_op *op)
{
	op->lock.waited_ms = op->lock.since_ms ? c->now - op->lock.since_ms : 0;
}

/* Control of the file is here. */
void ops_lock_covered(struct nfs4r_core *c, struct opx *o, struct claim *cl)
{
	nfs4r_server_id holder;
	uint64_t inc;

	if (cl && !is_won_on_disk(c, cl->own)) /* NULL: F_LOCK_WHILE_CLOSING */
		return;
	of_remote(c, o, &holder, &inc);
	if (!o->remote)
		ops_lock_waited(c, o->op);
	switch (o->op->type == NFS4R_OP_SHARE ? locks_shares_request(c, o->op, holder, inc) : locks_request(c, o->op, holder, inc)) {
	case LOCKS_LATER:
		return;
	case LOCKS_OLD:
		o->unanswered = true;
		break;
	case LOCKS_DONE:
		break;
	}
	if (cl && own_may_close(cl->own) && o->op->type != NFS4R_OP_LOCK_TEST && !is_sweep(o->op)) { /* a request is use of the claim, a lock is not */
		ops_pin(c, o, cl);
		ops_unpin(c, o);
	}
	ops_finish(c, o, o->op->status);
}

/* The same in nobody's hands: it needs none. */
void ops_lock_test_row(struct nfs4r_core *c, struct opx *o)
{
	locks_test_row(c, o->op);
	ops_finish(c, o, o->op->status);
}

/* ---- what this server asks for itself ---- */

static void begin_own(struct nfs4r_core *c, struct lock_rec *r, const struct nfs4r_op *from, enum locks_asker who)
{
	struct nfs4r_op *op = out_xcalloc(1, sizeof(*op));
	struct opx *o;

	*op = *from;
	o = ops_begin(c, op, false, 0);
	o->who = who;
	locks_begin_own(c, r, o, op);
	ops_decide(c, o);
}

/* Their authorities look at their rows, and leave out what is gone (locks 13): an UNWAIT of nothing. */
static void sweep(struct nfs4r_core *c)
{
	struct nfs4r_oid files[SWEEP_MAX];
	uint32_t n = c->ops.nops < LOCK_OPS_MAX ? locks_sweep(c, files, SWEEP_MAX) : 0;

	for (uint32_t i = 0; i < n; i++) {
		struct nfs4r_op *op = out_xcalloc(1, sizeof(*op));
		struct opx *o;

		op->type = NFS4R_OP_UNWAIT;
		op->obj = files[i];
		op->lock.lock = (struct nfs4r_lock){ .type = NFS4R_LOCK_READ };
		op->lock.n = locks_number_next(c);
		o = ops_begin(c, op, false, 0);
		o->who = LOCKS_SWEEP;
		ops_decide(c, o);
	}
}

void ops_locks_timers(struct nfs4r_core *c)
{
	if (ops_may_answer(c) && nfs4r_core_locks_shared(c))
		sweep(c);
}

/* All of this server's clients are fenced (locks 14): what they asked for before, and did not hear of, ends here. */
void ops_locks_fenced(struct nfs4r_core *c)
{
	struct opx *o, *tmp;

	DL_FOREACH_SAFE(c->ops.waiting, o, tmp) {
		if (!o->remote && (o->state == OP_WAIT || (o->state == OP_FORWARDED && (ops_writes(o->op) || nfs4r_op_is_lock(o->op->type)))))
			ops_finish(c, o, NFS4R_DELAY);
	}
}

/* This server said what its clients have (locks 5, 8): no answer counts that was asked for before. */
static void ask_anew(struct nfs4r_core *c)
{
	struct opx *o, *tmp;

	if (!locks_are_asked_anew(c))
		return;
	DL_FOREACH_SAFE(c->ops.waiting, o, tmp)
		if (o->state == OP_FORWARDED && o->op->type == NFS4R_OP_LOCK)
			ops_forward_anew(c, o);
}

void ops_locks_run(struct nfs4r_core *c)
{
	enum locks_asker who;
	struct lock_rec *r = NULL;
	struct nfs4r_op op;
	bool more = false;

	ask_anew(c);
	if (!c->locks.work || c->halted)
		return;
	locks_run_begin(c);
	while ((r = locks_run_next(c, r, &op, &who))) {
		if (c->ops.nops >= LOCK_OPS_MAX || !is_complete(c, &op))
			more = true;
		else
			begin_own(c, r, &op, who);
	}
	locks_run_end(c, more);
	if (more)
		out_timer_at(c, c->now + state_repeat_ms(c));
}

/* @o is about to end. True: nobody outside waits for it. */
bool ops_lock_ends(struct nfs4r_core *c, struct opx *o, enum nfs4r_status st)
{
	if (!nfs4r_op_at_authority(o->op->type) || o->remote)
		return false;
	if (o->op->type == NFS4R_OP_SHARE)
		locks_shares_end(c, o, o->op, st, o->who);
	else
		locks_end(c, o, o->op, st, o->who);
	if (o->who == LOCKS_CLIENT)
		return false;
	out_give(c, o->op);
	return true;
}

/* Its caller no longer waits. */
void ops_lock_cancel(struct nfs4r_core *c, struct opx *o)
{
	struct nfs4r_op *op = out_xcalloc(1, sizeof(*op)), *old = o->op;

	op->type = old->type;
	op->obj = old->obj;
	op->lock = old->lock;
	op->share = old->share;
	op->id = old->id;
	op->core = o;
	o->op = op;
	o->who = LOCKS_ABANDONED;
	old->core = NULL;
	ops_at_once(c, old, NFS4R_DELAY);
}

/* Another view, or a new start of @to (0: of nobody): what was asked before is asked again (locks 5, 20). */
void ops_locks_again(struct nfs4r_core *c, nfs4r_server_id to)
{
	struct opx *o;

	DL_FOREACH(c->ops.waiting, o)
		if (o->state == OP_FORWARDED && (nfs4r_op_at_authority(o->op->type) || (!to && ops_writes(o->op) && state_locks_shared(c))) && (!to || o->to == to))
			ops_forward_again(c, o);
	locks_ask_again(c);
}
