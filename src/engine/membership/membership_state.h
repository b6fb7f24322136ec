/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The part of struct nfs4r_engine that belongs to membership/. */
#ifndef NFS4R_ENGINE_MEMBERSHIP_STATE_H
#define NFS4R_ENGINE_MEMBERSHIP_STATE_H

#include <stdatomic.h>
#include <stdint.h>

#include "rpc/rpc.h"

struct identities;
struct spacer;
struct view_seen;

struct membership_state { /* eng->membership */
	/* server_list.c: the servers of the volume */
	_Atomic nfs4r_servers servers; /* this one included unless it was taken out. Any thread reads it, under lock it is written */
	struct nfs4r_rpc_servers list; /* the same with their addresses; under lock */
	struct nfs4r_volume_keys keys; /* of the view that was followed last (log 6.17); under lock */

	/* view_report.c */
	struct view_seen *seen; /* under lock */
	/* The timer's thread only */
	uint64_t rtt_due_ms, late_due_ms, clock_due_ms;
	double rtt_said_ms[NFS4R_SERVERS_MAX + 1];
	uint32_t rtt_least_ms; /* the shorter one of the two times, when that was said */
	double clock_said_ms[NFS4R_SERVERS_MAX + 1]; /* how far another server's clock is off; 0: nothing was said */

	/* retention.c */
	struct {
		uint64_t bytes_max; /* since the start */
		uint64_t warned_ms; /* under lock */
	} retention;

	/* identities.c */
	struct identities *identities; /* has its own lock; set before threads run */

	/* space.c */
	struct spacer *spacer; /* has its own lock; set before threads run */
	uint64_t store_wanted; /* bytes free under Store, before a server that halted because it was full comes back; set before threads run */
};

#endif
