/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of ops/ share, and the rooms that it may call. */
#ifndef NFS4R_CORE_OPS_OPS_INT_H
#define NFS4R_CORE_OPS_OPS_INT_H

#include "core/state/state.h"
#include "core/control/control.h"
#include "core/policy/policy.h"
#include "core/log/log.h"
#include "core/ops/ops.h"

/* admission.c: life of an operation up to EXECUTE */
void op_list(struct nfs4r_core *c, struct opx *o, enum op_state st); /* move to @st and its list */
void op_unhold(struct nfs4r_core *c, struct opx *o);
void op_unpin(struct nfs4r_core *c, struct opx *o);
void op_failed_attempt(struct nfs4r_core *c, struct opx *o);

/* completion.c: 5.2, 5.3 */
void cond_of(struct nfs4r_core *c, const struct nfs4r_entry *e, struct cond *k);
bool cond_holds(struct nfs4r_core *c, const struct cond *k);
bool may_be_answered(struct nfs4r_core *c, const struct opx *o, const struct needs *nd);
bool file_complete(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_lsn lsn);

/* entry_build.c */
struct nfs4r_entry *entry_make(struct nfs4r_core *c, struct opx *o, const struct needs *nd);
void entry_unanswered(struct nfs4r_entry *e);

/* execute.c: EXECUTE to answer */
void exec_lock(struct nfs4r_core *c, struct opx *o, const struct needs *nd);

/* footprint.c */
bool needs_same(const struct needs *a, const struct needs *b);

/* forward.c */
void forward_send(struct nfs4r_core *c, struct opx *o, nfs4r_server_id to);
void forward_answer(struct nfs4r_core *c, struct opx *o);
void forward_repeat(struct nfs4r_core *c, struct opx *o);

/* monotonic_reads.c */
/* Who has it newer than the own copy; 0: nobody, as far as this server knows, but perhaps one of @excluded. */
nfs4r_server_id told_at(const struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_servers excluded);
nfs4r_version told_version(const struct nfs4r_core *c, const struct nfs4r_oid *oid); /* 0: nothing that is not here */

/* reply_cache.c */
struct reply *reply_find(struct nfs4r_core *c, const struct nfs4r_request_id *id);
bool reply_too_old(const struct nfs4r_core *c, const struct nfs4r_request_id *id);
void refusal_add(struct nfs4r_core *c, const struct nfs4r_op *op);
bool refusal_find(struct nfs4r_core *c, struct nfs4r_op *op);
void reply_key(const struct nfs4r_request_id *id, struct reqkey *k);
void reply_origin_moved(struct nfs4r_core *c, nfs4r_server_id s, uint64_t inc, uint64_t below, bool in_commit);

/* space.c: room, and limits of file systems (log 4.12) */
void space_fit_times(const struct nfs4r_core *c, struct nfs4r_op *op); /* as every server's file system can keep them */
enum nfs4r_status space_may(struct nfs4r_core *c, const struct nfs4r_op *op); /* OK, DELAY: not now, or what the client hears */
void space_spend(struct nfs4r_core *c, const struct nfs4r_op *op, nfs4r_lsn lsn); /* it is executed as this entry */

#endif
