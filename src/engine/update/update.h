/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Operations of clients, from the call to the answer; nfs4r_update() and its like are in engine.h. */
#ifndef NFS4R_ENGINE_UPDATE_H
#define NFS4R_ENGINE_UPDATE_H

#include "engine/runtime/runtime.h"

/* ---- ops.c ---- */
/* Deliveries from the core, eng->lock held. */
void update_op_deliver_execute(struct nfs4r_engine *eng, const struct nfs4r_action *a);
void update_op_deliver_started(struct nfs4r_engine *eng, const struct nfs4r_action *a);
void update_op_deliver_retry(struct nfs4r_engine *eng, const struct nfs4r_action *a);
void update_op_deliver_done(struct nfs4r_engine *eng, const struct nfs4r_action *a);
void update_op_sent(struct opctx *o); /* to another server, by FORWARD */
struct opctx *update_op_take_remote(struct nfs4r_engine *eng, struct nfs4r_op *op); /* EXECUTE of a forwarded one: it is ours until EXECUTED or RETRY */
/* A stable WRITE that @to forwarded: true = answered when the journal is on the disk (log 5.4), and what @op owned is gone. eng->lock held */
bool update_op_answer_when_durable(struct nfs4r_engine *eng, nfs4r_server_id to, struct nfs4r_op *op);
bool update_ops_over(const struct nfs4r_engine *eng); /* nobody says any more what operations wait for */
void update_ops_wake(struct nfs4r_engine *eng); /* halted, or about to stop: threads that wait for an operation leave it, as DELAY. eng->lock held */
void update_ops_end_all(struct nfs4r_engine *eng); /* stop: every client's operation ends as DELAY. No lock held; the core is frozen */
void update_ops_fini(struct nfs4r_engine *eng); /* before the core is destroyed; nobody executes any more */

/* ---- parked.c; eng->lock held ---- */
void update_ops_expire_parked(struct nfs4r_engine *eng, uint64_t engine_now_ms);
void update_ops_park_halted(struct nfs4r_engine *eng); /* halted: update_ops_wake(), and what waits without a thread is answered DELAY */

/* ---- lock_news.c; eng->lock held ---- */
void update_lock_ready(struct nfs4r_engine *eng, const struct nfs4r_action *a);
void update_lock_again(struct nfs4r_engine *eng, const struct nfs4r_action *a);

/* ---- commit_wait.c ---- */
bool update_commit_is_asked(const struct nfs4r_engine *eng); /* does a COMMIT wait for a majority? */
/* As nfs4r_commit(), but the thread goes; @done on an executor (or here on error), soon after op_wait_ms at the latest. */
typedef void (*commit_wait_fn)(struct nfs4r_engine *eng, void *arg, enum nfs4r_status st);
void update_commit_async(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, commit_wait_fn done, void *arg);
void update_commit_expire(struct nfs4r_engine *eng, uint64_t now);
void update_commit_quorum_durable(struct nfs4r_engine *eng, uint64_t id); /* eng->lock held */

/* ---- fence.c; eng->lock held ---- */
void update_fence(struct nfs4r_engine *eng, const struct nfs4r_action *a);

/* ---- clients.c ---- */
void update_client_said(struct nfs4r_engine *eng, uint64_t id, enum nfs4r_status st); /* the core answers; eng->lock held */
void update_clients_wake(struct nfs4r_engine *eng); /* stop, or halted: nobody waits any more; eng->lock held */

#endif
