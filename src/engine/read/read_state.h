/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The part of struct nfs4r_engine that belongs to read/. */
#ifndef NFS4R_ENGINE_READ_STATE_H
#define NFS4R_ENGINE_READ_STATE_H

#include <stdint.h>

#include "base/oid.h"

struct promises;
struct reads;

struct read_state { /* eng->read */
	struct reads *reads; /* router.c; has its own lock; set before threads run */
	struct promises *promises; /* not_modified.c; the same */
	nfs4r_servers here; /* under lock: what is asked of these may be read here by now; a task of the executors looks */

	/* Counters since the start, with atomic calls */
	uint64_t local, remote;
	uint64_t promised; /* of the remote: whose bytes were here */
};

#endif
