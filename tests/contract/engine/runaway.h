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
#define RUNAWAY_PIECE (256u << 10)

/* Asks for @n sums of @oid, for @n pieces of RUNAWAY_PIECE bytes of it, or for both in turn. Returns when all are given to its transport. */
void runaway_ask(struct runaway *r, const struct nfs4r_oid *oid, uint32_t n, bool sums, bool reads);
/* Asks for the text of @oid, a symbolic link, @n times, or until it is disconnected. */
void runaway_ask_texts(struct runaway *r, const struct nfs4r_oid *oid, uint32_t n);
/* From now on it reads no answers, or all that have waited. */
void runaway_read_nothing(struct runaway *r, bool nothing);
/* How many of its reads were answered with bytes, and how many with DELAY, since it connected. */
void runaway_answers(struct runaway *r, uint32_t *bytes, uint32_t *delay);
/* It is gone. Returns when server 1 said so. */
void runaway_leave(struct runaway *r, struct cluster *c);

#endif
