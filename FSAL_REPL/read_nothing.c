/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A READ of 0 bytes at the end of a file, or behind it, says eof (RFC 7530, 16.23; RFC 8881, 18.22). Ganesha 6.5 answers every READ of 0 bytes itself, with
 * "not the end" and without a call to the FSAL (nfs4_op_read.c), so that a client which looks for the end in this way never finds it.
 *
 * Happy path: the operation that makes the file the current one (PUTFH, LOOKUP, OPEN) passes FSAL_REPL, which looks for such READs among the operations that
 * follow and lets them ask for one byte. What was changed is noted in op_ctx, which belongs to the request and goes with it from thread to thread. When
 * the READ arrives (io.c) one byte is read, at this server or the file's owner, and tells where the end is; the client gets none.
 *
 * A file that is put aside (SAVEFH) and becomes the current one again (RESTOREFH) is followed. Whatever else makes a file the current one passes FSAL_REPL itself, or is
 * another module's, which would give the byte to the client; so it is left alone here.
 *
 * Failure modes: the READ is beyond the 64th operation: Ganesha answers as ever.
 */
#include "repl.h"

static bool changes_current(nfs_opnum4 op)
{
	switch (op) {
	case NFS4_OP_PUTFH:
	case NFS4_OP_PUTROOTFH:
	case NFS4_OP_PUTPUBFH:
	case NFS4_OP_LOOKUP:
	case NFS4_OP_LOOKUPP:
	case NFS4_OP_OPEN:
	case NFS4_OP_CREATE:
	case NFS4_OP_OPENATTR:
	case NFS4_OP_SECINFO:
	case NFS4_OP_SECINFO_NO_NAME:
		return true;
	default:
		return false;
	}
}

#define NOTED_MAX (8 * sizeof(op_ctx->fsal_private))

static uintptr_t bit(uint32_t op)
{
	return op < NOTED_MAX ? (uintptr_t)1 << op : 0;
}

static void ask_for_one(nfs_argop4 *read, uint32_t op)
{
	read->nfs_argop4_u.opread.count = 1;
	op_ctx->fsal_private = (void *)((uintptr_t)op_ctx->fsal_private | bit(op));
}

void repl_read_nothing_ahead(void)
{
	const COMPOUND4args *c = repl_compound_args();
	uint32_t n = c != NULL ? c->argarray.argarray_len : 0, i;
	bool current = true, saved = false; /* is that our object? */

	for (i = repl_compound_done() + 1; i < n && i < NOTED_MAX; i++) {
		nfs_argop4 *op = &c->argarray.argarray_val[i];

		if (op->argop == NFS4_OP_SAVEFH)
			saved = current;
		else if (op->argop == NFS4_OP_RESTOREFH)
			current = saved;
		else if (changes_current(op->argop))
			current = false;
		else if (current && op->argop == NFS4_OP_READ && op->nfs_argop4_u.opread.count == 0)
			ask_for_one(op, i);
	}
}

bool repl_read_nothing(void)
{
	return repl_compound_args() != NULL && ((uintptr_t)op_ctx->fsal_private & bit(repl_compound_done())) != 0;
}
