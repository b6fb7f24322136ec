/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The part of struct nfs4r_engine that belongs to admin/. */
#ifndef NFS4R_ENGINE_ADMIN_STATE_H
#define NFS4R_ENGINE_ADMIN_STATE_H

#include <stdbool.h>

#include "base/limits.h"
#include "base/oid.h"

struct ctl;
struct pool;
struct verify_serve;

struct admin_state { /* eng->admin */
	struct ctl *ctl; /* the control socket; NULL: there is none. Written by the door at the start and the stop */
	struct pool *verifiers; /* sums for other servers; set before threads run */
	struct admin_sums { /* that a server has asked for; under eng->runtime.asked[server].lock */
		struct verify_serve *first, **tail; /* those that wait; the one that runs is none of them */
		bool running;
	} sums[NFS4R_SERVERS_MAX + 1]; /* by server */
};

#endif
