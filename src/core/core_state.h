/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The state of the core: one struct for each room, or for one file of it, and what the door keeps.
 *
 * A step runs in this order (core.c): the event's handler; then settle_down(), which repeats
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
#include "core/ops/ops_state.h"
#include "core/membership/membership_state.h"
#include "core/recovery/recovery_state.h"

struct nfs4r_core {
	const struct policy_ops *policy_ops;
	struct control_port control_port;
	struct membership_port membership_port;
	struct nfs4r_core_config cfg;
	struct nfs4r_tree tree;
	nfs4r_server_id self;
	nfs4r_servers known; /* whose logs there are: of the servers there were, as far as they left anything */
	uint64_t now, step, durable_step;
	uint64_t recovered_step; /* when the tail of the own log was here (log 4.7); 0: it was never away */
	uint64_t sync_wanted, sync_asked; /* steps: an answer waits until this one is on disk; SYNC was given in that one */
	uint64_t wrote_ms; /* when anything but a position of a peer's journal was put or committed last */
	bool started, halted, recovering, leaving;
	uint32_t undecided; /* intents; nothing is executed or served under own control while there are any */
	uint32_t dirty;
	bool log_moved; /* own entries were committed: send */
	struct nfs4r_core_stats st;
	struct view view;
	struct believe believe;
	struct change change;
	struct memory memory;
	struct join join;
	struct repair repair;
	struct reach reach;
	struct mend mend;
	struct trouble trouble;
	struct peer peers[NFS4R_SERVERS_MAX + 1];

	struct outbox out;
	struct control_state control;
	struct policy_state policy;
	struct log_state log;
	struct ops_state ops;
};

#endif
