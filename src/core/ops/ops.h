/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* ops/: the life of an operation, and where a read is answered. What it offers to the rooms above it. */
#ifndef NFS4R_CORE_OPS_OPS_H
#define NFS4R_CORE_OPS_OPS_H

#include "core/core_state.h"

/* admission.c: life of an operation up to EXECUTE */
struct opx *op_begin(struct nfs4r_core *c, struct nfs4r_op *op, bool remote, nfs4r_server_id from);
void op_decide(struct nfs4r_core *c, struct opx *o);
void op_finish(struct nfs4r_core *c, struct opx *o, enum nfs4r_status st);
void ops_claim_gone(struct nfs4r_core *c, struct claim *cl);
void ops_run(struct nfs4r_core *c, bool all);
void ops_timers(struct nfs4r_core *c);
void ops_refuse_waiting(struct nfs4r_core *c);

/* entry_build.c */
void entry_void(struct nfs4r_entry *e);

/* execute.c: EXECUTE to answer */
void exec_locked(struct nfs4r_core *c, struct opx *o, enum nfs4r_status may);
void exec_executed(struct nfs4r_core *c, struct opx *o, const struct nfs4r_event *ev);
void exec_committed(struct nfs4r_core *c, struct opx *o);
void exec_answers(struct nfs4r_core *c);
void exec_undone(struct nfs4r_core *c);
void exec_open_files(struct nfs4r_core *c);

/* footprint.c */
void needs_of(struct nfs4r_core *c, struct nfs4r_op *op, struct needs *nd);

/* forward.c */
void forward_on_request(struct nfs4r_core *c, nfs4r_server_id from, struct nfs4r_msg *m);
void forward_on_answer(struct nfs4r_core *c, nfs4r_server_id from, struct nfs4r_msg *m);
void forward_peer_up(struct nfs4r_core *c, nfs4r_server_id s, bool fresh);
void forward_unknown(struct nfs4r_core *c, nfs4r_servers ended);
void forward_sealed(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn seal);
uint64_t answered_below(const struct nfs4r_core *c);

/* monotonic_reads.c */
void told_note(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_server_id by, nfs4r_version version);
void told_moved(struct nfs4r_core *c, const struct nfs4r_oid *oid);
void told_rebuilt(struct nfs4r_core *c);
void told_sealed(struct nfs4r_core *c, nfs4r_server_id by);
bool told_restored(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_server_id by, nfs4r_version version); /* false: there is one */
void told_started(struct nfs4r_core *c);

/* reply_cache.c */
void reply_of_entry(struct nfs4r_core *c, const struct nfs4r_entry *e);
void refusals_free(struct nfs4r_core *c);
void replies_undone(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn seal);
void reply_add(struct nfs4r_core *c, const struct reply *r);

/* space.c: room, and limits of file systems (log 4.12) */
void space_measured(struct nfs4r_core *c, const struct nfs4r_event *ev);
void space_on_msg(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m);
void space_peer_up(struct nfs4r_core *c, nfs4r_server_id s);
void space_restore(struct nfs4r_core *c, nfs4r_lsn lsn, uint64_t payload_bytes);
void space_fini(struct nfs4r_core *c);

#endif
