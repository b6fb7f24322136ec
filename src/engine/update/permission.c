/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * May the caller do that, here and now (control 6.10)? The server that a client is connected to asked before, of attributes that were a round trip old, or more. So the primary asks again
 * under the update locks, of its own copy, while it controls the object: between that and the execution no attribute changes.
 *
 * Happy path: a write of the file's owner, who was seen to be that (suid.c). Anybody else's costs a look at the attributes.
 *
 * An object that is gone behind NFS has no attributes to look at. The execution brings it back, and then the question is asked once more (update_permission_now()), after INTENT: the entry is void
 * if the answer is no.
 */
#include "engine/update/update_int.h"

static bool is_write(const struct nfs4r_op *op)
{
	return op->type == NFS4R_OP_WRITE || op->type == NFS4R_OP_ALLOCATE || op->type == NFS4R_OP_DEALLOCATE;
}

static bool is_asked(const struct nfs4r_op *op)
{
	return is_write(op) || op->type == NFS4R_OP_SETATTR || op->type == NFS4R_OP_SETXATTR || op->type == NFS4R_OP_REMOVEXATTR || op->type == NFS4R_OP_LINK;
}

static enum nfs4r_status ask(struct nfs4r_engine *eng, struct nfs4r_op *op)
{
	struct nfs4r_lhandle h;

	if (!eng->ops->may || !op->cred.uid || !is_asked(op) || (is_write(op) && engine_suid_is_owner(eng->runtime.set_ids, &op->obj, op->cred.uid)))
		return NFS4R_OK;
	nfs4r_handle(eng, op->type == NFS4R_OP_LINK ? &op->dir : &op->obj, &h);
	return h.len ? eng->ops->may(eng->ctx, &h, op) : NFS4R_STALE;
}

static bool is_no(enum nfs4r_status st)
{
	return st == NFS4R_ACCES || st == NFS4R_PERM;
}

enum nfs4r_status update_permission_first(struct nfs4r_engine *eng, struct opctx *o)
{
	enum nfs4r_status st = ask(eng, o->op);

	o->run.unasked = st != NFS4R_OK && !is_no(st);
	return is_no(st) ? st : NFS4R_OK;
}

enum nfs4r_status update_permission_now(struct nfs4r_engine *eng, const struct opctx *o)
{
	return o->run.unasked ? ask(eng, o->op) : NFS4R_OK;
}
