/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Share reservations on their way (locks 19): a SHARE that concerns others goes to the authority of its file, as a LOCK does (lock_ops.c).
 *
 * Happy path: a close, and an open of a file that nobody guards, end in the step in which they come. Any other open waits for its turn at this file, is decided by the authority, and counts when
 * its answer is here. What was given back is said by an operation of this server itself.
 *
 * Failure modes: the answer is of an authority before the present one: the open is asked anew. The caller cancels: the authority hears then that the open is not there.
 *
 * Invariants: one request of this server for a file is under way at a time.
 */
#include "core/ops/ops_int.h"

static bool is_well_formed(const struct nfs4r_share_request *s)
{
	return s->access <= NFS4R_SHARE_BOTH && s->deny <= NFS4R_SHARE_BOTH && s->had_access <= NFS4R_SHARE_BOTH && s->had_deny <= NFS4R_SHARE_BOTH && (s->access || !s->deny) &&
		(s->had_access || !s->had_deny);
}

/* True: a client's operation has ended. */
bool ops_share_at_once(struct nfs4r_core *c, struct nfs4r_op *op)
{
	enum nfs4r_status st = NFS4R_OK;

	if (op->type != NFS4R_OP_SHARE)
		return false;
	op->lock.n = op->lock.view = op->lock.inc = op->share.guard = 0;
	if (!nfs4r_core_locks_shared(c))
		st = NFS4R_NOTSUPP;
	else if (!is_well_formed(&op->share))
		st = NFS4R_INVAL;
	else if (!locks_shares_lower(c, op) && !(ops_may_answer(c) && locks_shares_free(c, NULL, op)))
		return false;
	ops_at_once(c, op, st);
	return true;
}

bool ops_share_waits(struct nfs4r_core *c, struct opx *o)
{
	if (o->op->type != NFS4R_OP_SHARE || o->remote || o->who != LOCKS_CLIENT)
		return false;
	if (locks_shares_free(c, o, o->op)) {
		ops_finish(c, o, NFS4R_OK);
		return true;
	}
	return !locks_shares_begin(c, o, o->op);
}

void ops_share_anew(struct nfs4r_core *c, struct opx *o)
{
	if (o->who != LOCKS_CLIENT) {
		ops_finish(c, o, NFS4R_DELAY);
		return;
	}
	o->op->lock.n = 0;
	o->deadline = c->now + c->cfg.op_wait_ms;
	out_timer_at(c, o->deadline);
	ops_list(c, o, OP_WAIT);
	ops_decide(c, o);
}

void ops_shares_run(struct nfs4r_core *c)
{
	struct share_file *f = NULL;
	struct nfs4r_op op;

	if (!c->locks.shares.nsay || c->halted)
		return;
	locks_shares_run_begin(c);
	while ((f = locks_shares_run_next(c, f, &op)) && c->ops.nops < LOCK_OPS_MAX) {
		struct nfs4r_op *own = out_xcalloc(1, sizeof(*own));
		struct opx *o;

		*own = op;
		o = ops_begin(c, own, false, 0);
		o->who = LOCKS_ITEM;
		locks_shares_begin_own(c, f, o, own);
		ops_decide(c, o);
	}
	if (f)
		out_timer_at(c, c->now + state_repeat_ms(c));
	locks_shares_run_end(c);
}
