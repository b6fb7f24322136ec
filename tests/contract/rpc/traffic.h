/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Numbered messages between two servers of a world, on the lanes REQUEST and BULK: whether they come in order and once, the world counts. */
#ifndef NFS4R_TEST_RPC_TRAFFIC_H
#define NFS4R_TEST_RPC_TRAFFIC_H

#include "contract/rpc/world.h"

struct traffic {
	struct world *w;
	uint32_t from, to; /* indexes */
	uint64_t questions, entries, bytes; /* sent so far */
};

void traffic_question(struct traffic *t);
void traffic_entry(struct traffic *t, uint32_t payload);
/* @n of each, with payloads from none to 200,000 bytes; waits where a queue is full. */
void traffic_some(struct traffic *t, uint32_t n);
/* Waits until all have come. */
void traffic_arrived(struct traffic *t);

#endif
