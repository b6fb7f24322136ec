/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The part of struct nfs4r_engine that belongs to resync/. */
#ifndef NFS4R_ENGINE_RESYNC_STATE_H
#define NFS4R_ENGINE_RESYNC_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/oid.h"

struct doubt;
struct pool;

struct resync_state { /* eng->resync */
	struct pool *repairs; /* one thread; set before threads run */
	struct doubt *doubt; /* crash_check.c; set before threads run; NULL: the last run ended without a crash of the machine */

	/* transfer.c: the repair under way; under lock, but for the generation */
	struct {
		_Atomic uint64_t generation;
		bool running;
		nfs4r_server_id from;
		const char *phase;
		uint64_t done, all, bytes, since_ms;
		uint64_t fetch_ms; /* since when objects are fetched; 0 = not yet */
		uint64_t taken; /* counts the positions that were taken from others */
	} repair;
};

#endif
