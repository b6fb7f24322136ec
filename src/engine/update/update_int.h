/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Inside of update/: an operation on its way. */
#ifndef NFS4R_ENGINE_UPDATE_INT_H
#define NFS4R_ENGINE_UPDATE_INT_H

#include "engine/update/update.h"

/*
 * Who has an operation. update_op_move() is the only way from one state to another, and knows which there are:
 *
 *        nfs4r_update()                                nfs4r_update_async()              FORWARD: EXECUTE
 *              |                                               |                                |
 *              v                                               v                                v
 *    +---> DRIVEN --- has to wait ---> COUNTED              PASSING <------- QUEUED           REMOTE
 *    |      |   |                      |    |               |     |            ^                |
 *    |      |   +---------- DONE ------|----+---> OVER <----+     | has to     | EXECUTE,       | EXECUTED,
 *    |      |                          |           ^  ^    DONE   | wait       | DONE           | RETRY
 *    |      +-- gives up, or halted ---+           |  |           v            |                v
 *    |                  |                          |  +--stop--- LEFT ---------+            RETURNED
 *    | the retry        v         expires, or stop |              |
 *    +--------------- PARKED ----------------------+              |
 *                      |  ^ ^------------- halted ----------------+
 *              EXECUTE |  | as far as it goes
 *                      v  |
 *        PARKED_QUEUED -> PARKED_PASSING
 */
enum op_state {
	OP_DRIVEN = 1, /* by its client's thread, until the end */
	OP_COUNTED, /* the same; it has slept, and is counted among those that wait (wait_limit.c) */
	OP_PASSING, /* asynchronous: by a thread that takes it as far as it goes without waiting */
	OP_ABANDONED, /* asynchronous: it waits for the core, and no thread has it */
	OP_QUEUED, /* asynchronous: an executor is about to drive it */
	OP_PARKED, /* its client has been told to ask again; no thread has it */
	OP_PARKED_QUEUED, /* the same; an executor is about to drive it, */
	OP_PARKED_PASSING, /* or does */
	OP_OVER, /* whoever has it frees it */
	OP_REMOTE, /* a forwarded one, ours from EXECUTE on */
	OP_RETURNED, /* it is the core's again */
};
enum op_due {
	OP_WAIT = 1,
	OP_EXECUTE,
	OP_DONE
}; /* what the core says is to be done about it */

struct opctx { /* one operation in the engine; op->engine points here */
	struct nfs4r_op *op; /* &own, or a forwarded one that the core owns */
	struct nfs4r_op own;
	struct opctx *next; /* list of parked operations */
	struct opctx *active_next, **active_prev; /* list of all operations of local clients, or of the forwarded ones that are ours */
	nfs4r_exec_fn exec;
	nfs4r_sync_fn sync_bytes;
	nfs4r_done_fn done; /* asynchronous or parked */
	void *arg;
	struct nfs4r_op *caller; /* where an asynchronous result goes */
	uint64_t verifier; /* when it began (log 5.3) */
	enum op_state state;
	enum op_due due;
	bool irrevocable; /* sent or executed: from here on DELAY would be a lie */
	pthread_cond_t cond;
	struct op_locks wanted; /* of the next execution: the core may name them while those of this one are still held */
	struct op_locks locks;
	struct nfs4r_entry *entry;
	uint64_t parked_at_ms;
	struct { /* of the execution under way */
		uint32_t durabilities; /* engine_durability_changes() before it was executed */
		bool kept; /* a stable WRITE: the journal has its bytes (log 4.10) */
		bool changed; /* it failed after bytes had been written */
		bool set_ids; /* it was not done because of set-id bits; this mode is the file's without them */
		uint32_t mode_remaining;
		bool unasked; /* whether its caller may do that could not be told before INTENT: permission.c */
	} run;
};
void update_op_move(struct nfs4r_engine *eng, struct opctx *o, enum op_state to); /* eng->lock held */
void update_op_free(struct opctx *o);
void update_op_deactivate(struct nfs4r_engine *eng, struct opctx *o); /* out of eng->update.active, if it is there. eng->lock held */

/* ---- parked.c; eng->lock held ---- */
/* False: it cannot be, and waits on. True: it is no longer the caller's, whose client hears DELAY. */
bool update_op_park(struct nfs4r_engine *eng, struct opctx *o);
/* The parked one of which @op is the retry; NULL: none. @busy: there is one, but an executor has it; the client has to ask once more, for to begin another would execute it twice. */
struct opctx *update_op_adopt_parked(struct nfs4r_engine *eng, const struct nfs4r_op *op, bool *busy);
void update_ops_drop_parked(struct nfs4r_engine *eng); /* the end */

/* ---- lock_news.c ---- */
void update_lock_news_fini(struct nfs4r_engine *eng); /* the end: nobody is told any more */

/* ---- execute.c ---- */
/* Times, cookies: what must be known before the INTENT. eng->lock held. */
void update_entry_prepare(struct nfs4r_engine *eng, struct nfs4r_entry *e);
/* Run it: by the caller's function or by lops. Fills the entry's values after. No lock but the update locks. */
enum nfs4r_status update_entry_execute(struct nfs4r_engine *eng, struct opctx *o);

/* ---- permission.c; under the locks of the operation, no other; may block on the disk ---- */
/* ACCES or PERM: its caller may not do that. Set-id bits that he may not set are taken out of what he asks for. Before OP_LOCKED. */
enum nfs4r_status update_permission_first(struct nfs4r_engine *eng, struct opctx *o);
/* When it is executed: OK unless it could not be told before. */
enum nfs4r_status update_permission_now(struct nfs4r_engine *eng, const struct opctx *o);

/* ---- attribute_room.c ---- */
/* Have all attributes of @obj room at every server when @op is executed, if it sets one, or an ACL? @obj is empty when @op makes it. NOSPC: no. Any other error is the local file system's. No lock held. */
enum nfs4r_status update_room_for_attributes(struct nfs4r_engine *eng, const struct nfs4r_op *op, const struct nfs4r_lhandle *obj);

#endif
