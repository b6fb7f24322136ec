/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* ops/: the life of an operation, and where a read is answered. What it offers to the rooms above it. */
#ifndef NFS4R_CORE_OPS_OPS_H
#define NFS4R_CORE_OPS_OPS_H

#include "core/core_state.h"

/* admission.c: life of an operation up to EXECUTE */
struct opx *ops_begin(struct nfs4r_core *c, struct nfs4r_op *op, bool remote, nfs4r_server_id from);
void ops_decide(struct nfs4r_core *c, struct opx *o);
void ops_finish(struct nfs4r_core *c, struct opx *o, enum nfs4r_status st);
void ops_claim_gone(struct nfs4r_core *c, struct claim *cl);
void ops_run(struct nfs4r_core *c, bool all);
void ops_timers(struct nfs4r_core *c);
void ops_refuse_waiting(struct nfs4r_core *c);

/* entry_build.c */
void ops_entry_void(struct nfs4r_entry *e);

/* execute.c: EXECUTE to answer */
void ops_exec_locked(struct nfs4r_core *c, struct opx *o, enum nfs4r_status may);
void ops_exec_executed(struct nfs4r_core *c, struct opx *o, const struct nfs4r_event *ev);
void ops_exec_committed(struct nfs4r_core *c, struct opx *o);
void ops_exec_answers(struct nfs4r_core *c);
void ops_exec_durability(struct nfs4r_core *c);
void ops_exec_undone(struct nfs4r_core *c);
void ops_exec_open_files(struct nfs4r_core *c);

/* footprint.c */
void ops_needs_of(struct nfs4r_core *c, struct nfs4r_op *op, struct needs *nd);

/* forward.c */
void ops_forward_on_request(struct nfs4r_core *c, nfs4r_server_id from, struct nfs4r_msg *m);
void ops_forward_on_answer(struct nfs4r_core *c, nfs4r_server_id from, struct nfs4r_msg *m);
void ops_forward_peer_up(struct nfs4r_core *c, nfs4r_server_id s, bool fresh);
void ops_forward_unknown(struct nfs4r_core *c, nfs4r_servers ended);
void ops_forward_sealed(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn seal);
uint64_t ops_answered_below(const struct nfs4r_core *c);

/* lock_ops.c: lock operations (locks 1, 5, 15, 16) */
bool ops_lock_at_once(struct nfs4r_core *c, struct nfs4r_op *op);
void ops_locks_run(struct nfs4r_core *c);
void ops_locks_timers(struct nfs4r_core *c);
void ops_locks_fenced(struct nfs4r_core *c);
void ops_lock_cancel(struct nfs4r_core *c, struct opx *o);
void ops_locks_again(struct nfs4r_core *c, nfs4r_server_id to);

/* share_ops.c: share reservations (locks 19) */
bool ops_share_at_once(struct nfs4r_core *c, struct nfs4r_op *op);
void ops_shares_run(struct nfs4r_core *c);

/* monotonic_reads.c */
void ops_monotonic_note(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_server_id by, nfs4r_version version);
void ops_monotonic_moved(struct nfs4r_core *c, const struct nfs4r_oid *oid);
void ops_monotonic_rebuilt(struct nfs4r_core *c);
void ops_monotonic_sealed(struct nfs4r_core *c, nfs4r_server_id by);
bool ops_monotonic_restored(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_server_id by, nfs4r_version version); /* false: there is one */
void ops_monotonic_started(struct nfs4r_core *c);

/* reply_cache.c */
void ops_reply_of_entry(struct nfs4r_core *c, const struct nfs4r_entry *e);
void ops_refusals_free(struct nfs4r_core *c);
void ops_replies_undone(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn seal);
void ops_origin_restored(struct nfs4r_core *c, nfs4r_server_id s, uint64_t inc, uint64_t answered_below);
void ops_reply_add(struct nfs4r_core *c, const struct reply *r);

/* space.c: room, and limits of file systems (log 4.12) */
void ops_space_measured(struct nfs4r_core *c, const struct nfs4r_event *ev);
void ops_space_on_msg(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void ops_space_peer_up(struct nfs4r_core *c, nfs4r_server_id s);
void ops_space_restore(struct nfs4r_core *c, nfs4r_lsn lsn, uint64_t payload_bytes);
void ops_space_limits_restored(struct nfs4r_core *c, nfs4r_server_id s, const struct nfs4r_limits *limits);
void ops_space_fini(struct nfs4r_core *c);

#endif
