/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of ops/ share, and the rooms that it may call. */
#ifndef NFS4R_CORE_OPS_OPS_INT_H
#define NFS4R_CORE_OPS_OPS_INT_H

#include "core/state/state.h"
#include "core/control/control.h"
#include "core/policy/policy.h"
#include "core/log/log.h"
#include "core/locks/locks.h"
#include "core/locks/shares.h"
#include "core/ops/ops.h"

/* admission.c: life of an operation up to EXECUTE */
void ops_list(struct nfs4r_core *c, struct opx *o, enum op_state st); /* move to @st and its list */
void ops_unhold(struct nfs4r_core *c, struct opx *o);
void ops_unpin(struct nfs4r_core *c, struct opx *o);
void ops_failed_attempt(struct nfs4r_core *c, struct opx *o);

/* completion.c: 5.2, 5.3 */
void ops_cond_of(struct nfs4r_core *c, const struct nfs4r_entry *e, struct cond *k);
bool ops_cond_met(struct nfs4r_core *c, const struct cond *k);
bool ops_may_be_answered(struct nfs4r_core *c, const struct opx *o, const struct needs *nd);
bool ops_file_complete(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_lsn lsn);

/* entry_build.c */
struct nfs4r_entry *ops_entry_make(struct nfs4r_core *c, struct opx *o, const struct needs *nd);
void ops_entry_unanswered(struct nfs4r_entry *e);

/* execute.c: EXECUTE to answer */
void ops_pin(struct nfs4r_core *c, struct opx *o, struct claim *cl);
void ops_exec_lock(struct nfs4r_core *c, struct opx *o, const struct needs *nd);

/* footprint.c */
bool ops_needs_same(const struct needs *a, const struct needs *b);
bool ops_is_ahead_of_file(const struct nfs4r_op *op, const struct needs *nd);

/* forward.c */
void ops_forward_send(struct nfs4r_core *c, struct opx *o, nfs4r_server_id to);
void ops_forward_answer(struct nfs4r_core *c, struct opx *o);
void ops_forward_again(struct nfs4r_core *c, struct opx *o); /* at once */
void ops_forward_anew(struct nfs4r_core *c, struct opx *o);
void ops_forward_drop(struct nfs4r_core *c, struct opx *o); /* without an answer */
void ops_forward_repeat(struct nfs4r_core *c, struct opx *o);

/* lock_ops.c */
static inline bool ops_writes(const struct nfs4r_op *op) /* to the content of a file, perhaps under a lock */
{
	return op->type >= NFS4R_OP_SETATTR && op->type <= NFS4R_OP_DEALLOCATE;
}

bool ops_lock_waits(struct nfs4r_core *c, struct opx *o);
void ops_lock_covered(struct nfs4r_core *c, struct opx *o, struct claim *cl);
void ops_lock_test_row(struct nfs4r_core *c, struct opx *o);
bool ops_lock_ends(struct nfs4r_core *c, struct opx *o, enum nfs4r_status st);
void ops_lock_waited(const struct nfs4r_core *c, struct nfs4r_op *op); /* since its client asked: it is sent, or decided, now */
bool ops_may_answer(const struct nfs4r_core *c);
void ops_at_once(struct nfs4r_core *c, struct nfs4r_op *op, enum nfs4r_status st); /* it ends before it has begun */

/* share_ops.c */
bool ops_share_waits(struct nfs4r_core *c, struct opx *o); /* true: it cannot begin yet, or it has ended */
void ops_share_anew(struct nfs4r_core *c, struct opx *o); /* what it was answered does not count */

/* monotonic_reads.c */
/* Who has it newer than the own copy; 0: nobody, as far as this server knows, but perhaps one of @excluded. */
nfs4r_server_id ops_monotonic_at(const struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_servers excluded);
nfs4r_version ops_monotonic_version(const struct nfs4r_core *c, const struct nfs4r_oid *oid); /* 0: nothing that is not here */

/* reply_cache.c */
struct reply *ops_reply_find(struct nfs4r_core *c, const struct nfs4r_request_id *id);
bool ops_reply_too_old(const struct nfs4r_core *c, const struct nfs4r_request_id *id);
void ops_refusal_add(struct nfs4r_core *c, const struct nfs4r_op *op);
bool ops_refusal_find(struct nfs4r_core *c, struct nfs4r_op *op);
void ops_reply_key(const struct nfs4r_request_id *id, struct reqkey *k);
void ops_reply_origin_moved(struct nfs4r_core *c, nfs4r_server_id s, uint64_t inc, uint64_t below, bool in_commit);

/* space.c: room, and limits of file systems (log 4.12) */
void ops_space_fit_times(const struct nfs4r_core *c, struct nfs4r_op *op); /* as every server's file system can keep them */
enum nfs4r_status ops_space_may(struct nfs4r_core *c, const struct nfs4r_op *op); /* OK, DELAY: not now, or what the client hears */
void ops_space_spend(struct nfs4r_core *c, const struct nfs4r_op *op, nfs4r_lsn lsn); /* it is executed as this entry */

#endif
