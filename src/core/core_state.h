/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The state of the core: one struct for each room, or for one file of it, and what the door keeps.
 *
 * A step runs in this order (core.c): the event's handler; then apply_to_fixpoint(), which repeats
 * "commit entries, try waiting operations, try answers, try releases" until nothing moves;
 * then positions and entries that have to go out. Handlers therefore only note what changed
 * (c->dirty). A room calls only those below it: door, recovery, membership, ops, log, policy, control, state. What it has to tell those above
 * goes through a port that the door fills in.
 */
#ifndef NFS4R_CORE_CORE_STATE_H
#define NFS4R_CORE_CORE_STATE_H

#include "core/state/state_state.h"
#include "core/control/control_state.h"
#include "core/policy/policy_state.h"
#include "core/log/log_state.h"
#include "core/locks/locks_state.h"
#include "core/ops/ops_state.h"
#include "core/membership/membership_state.h"
#include "core/recovery/recovery_state.h"

struct nfs4r_core { /* the lines "of ROOM/" say which room writes what follows them; tests/unit/layers/writes.py reads them */
	/* of door/ */
	const struct policy_ops *policy_ops;
	struct control_port control_port;
	struct membership_port membership_port;
	struct nfs4r_core_config cfg;
	struct nfs4r_tree tree;
	nfs4r_server_id self;
	uint64_t now, step;
	uint64_t sync_asked; /* the step in which SYNC was given */
	bool started, leaving;
	/* of any room: the bits by which one tells those above it that something has to be looked at again, and counters that nothing depends on */
	uint32_t dirty;
	struct nfs4r_core_stats st;
	/* of state/ */
	uint64_t durable_step;
	nfs4r_servers known; /* whose logs there are: of the servers there were, as far as they left anything */
	uint64_t wrote_ms; /* when anything but a position of a peer's journal was put or committed last */
	bool halted;
	struct outbox out;
	/* of control/ */
	struct control_state control;
	/* of policy/ */
	struct policy_state policy;
	/* of log/ */
	struct log_state log;
	bool log_moved; /* own entries were committed: send */
	bool recovering;
	uint64_t recovered_step; /* when the tail of the own log was here (log 4.7); 0: it was never away */
	uint32_t undecided; /* intents; nothing is executed or served under own control while there are any */
	/* of locks/ */
	struct locks_state locks;
	/* of ops/ */
	struct ops_state ops;
	uint64_t sync_wanted; /* an answer waits until this step is on disk */
	/* of membership/ */
	struct view view;
	struct believe believe;
	struct change change;
	struct trouble trouble;
	/* of recovery/ */
	struct memory memory;
	struct join join;
	struct repair repair;
	struct reach reach;
	struct mend mend;
	/* of those that struct peer names */
	struct peer peers[NFS4R_SERVERS_MAX + 1];
};

#endif
