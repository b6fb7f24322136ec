/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The state of an engine: what all rooms share, and a part for each room, which lies in that room's folder. A part is written by its own room, and at
 * the start and the stop by the door. Every room may read it. tests/unit/layers/rooms.py looks for assignments elsewhere.
 *
 * "Under lock" means under eng->lock. What is set before threads run is read without a lock.
 */
#ifndef NFS4R_ENGINE_STATE_H
#define NFS4R_ENGINE_STATE_H

#include "engine/admin/admin_state.h"
#include "engine/membership/membership_state.h"
#include "engine/read/read_state.h"
#include "engine/replicate/replicate_state.h"
#include "engine/resync/resync_state.h"
#include "engine/runtime/runtime_state.h"
#include "engine/start/start_state.h"
#include "engine/update/update_state.h"

struct engine_actions;
struct engine_notices;

struct door_state { /* eng->door */
	bool working; /* its start has succeeded */
	_Atomic bool stopping; /* written under lock */
	bool frozen; /* under lock. Stop: the core makes no more steps */

	/* Of the thread that starts and stops the engine */
	pthread_t timer_thread, checkpoint_thread;
	bool timer_running, checkpoint_running;
};

struct nfs4r_engine {
	/* Set before threads run */
	struct nfs4r_config cfg;
	const struct nfs4r_lops *ops; /* with ctx: the local file system */
	void *ctx;
	nfs4r_log_fn log;
	void *log_ctx;
	const struct engine_actions *actions;
	const struct engine_notices *notices;
	struct nfs4r_store *store; /* has its own lock */
	struct nfs4r_oid root;
	uint64_t inc, inc_random; /* of this start */
	uint64_t started_at_ms;

	pthread_mutex_t lock; /* the core and everything that it owns */
	struct nfs4r_core *core; /* under lock */
	struct nfs4r_rpc *_Atomic rpc; /* NULL until it runs */

	struct door_state door;
	struct admin_state admin;
	struct start_state start;
	struct membership_state membership;
	struct resync_state resync;
	struct read_state read;
	struct update_state update;
	struct replicate_state replicate;
	struct runtime_state runtime;
};

#endif
