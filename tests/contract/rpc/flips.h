/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Somebody on the way changes one bit of a record, a thousand times. */
#ifndef NFS4R_TEST_RPC_FLIPS_H
#define NFS4R_TEST_RPC_FLIPS_H

#include "contract/rpc/proxy.h"
#include "contract/rpc/world.h"

/*
 * Servers 1 and 2 of @w are up through @p, with one connection of lane BULK and nothing else on it. Each round changes one bit of one record, in one direction and then in the other. The first
 * rounds take the first @head bits one after the other, the rest lie anywhere. Each time the connections must end, and nothing of the record may be delivered.
 */
void flips(struct world *w, struct proxy *p, uint32_t head);

#endif
