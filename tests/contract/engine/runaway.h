/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A server that asks without end: a process of its own with the transport alone, in the place of server 3 of a cluster. What it takes of memory and time
 * is not that of the servers under test.
 */
#ifndef NFS4R_TESTS_RUNAWAY_H
#define NFS4R_TESTS_RUNAWAY_H

#include "cluster.h"

struct runaway;

/* Before any thread is made. */
struct runaway *runaway_begin(void);
void runaway_end(struct runaway *r);
/* Connects with server 1 of @c as server 3, which does not run. Returns when server 1 said so. */
void runaway_connect(struct runaway *r, struct cluster *c);
/* Asks for @n sums of @oid, and with @reads for @n pieces of 256 KiB of it, in turn. Returns when all are given to its transport. */
void runaway_ask(struct runaway *r, const struct nfs4r_oid *oid, uint32_t n, bool reads);
/* It is gone. Returns when server 1 said so. */
void runaway_leave(struct runaway *r, struct cluster *c);

#endif
