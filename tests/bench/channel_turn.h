/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One turn of nfs4r-bench-channel: three servers, each in a process of its own, the first of which sends on lane BULK to both others. */
#ifndef NFS4R_BENCH_CHANNEL_TURN_H
#define NFS4R_BENCH_CHANNEL_TURN_H

#include "contract/rpc/world.h"

#define CHANNEL_PEERS 2

struct channel_usage { /* of one server */
	uint64_t bytes; /* that the sender has sent, or of entries that another one has received */
	uint64_t loop_ns, work_ns; /* processor time of the transport's thread, and of its workers */
};

struct channel_turn {
	uint64_t took_ns;
	struct channel_usage of[1 + CHANNEL_PEERS]; /* the sender first */
};

/*
 * The servers of @w, which are configured and not started, come up with flavour @security; the first sends @mbit to each of the others for @ms, 0: as fast as it goes. What is
 * counted begins a moment after the first byte. Ends the program with a line of reason if a server fails.
 */
struct channel_turn channel_turn(struct world *w, enum nfs4r_security security, double mbit, uint64_t ms);

/* Bytes that arrived at both, or processor time (ns) of the transport at the receivers. */
uint64_t channel_bytes(const struct channel_turn *t);
struct channel_usage channel_receivers(const struct channel_turn *t);

#endif
