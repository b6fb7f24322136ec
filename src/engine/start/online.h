/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* When a server begins to take part: online.c. */
#ifndef NFS4R_ENGINE_ONLINE_H
#define NFS4R_ENGINE_ONLINE_H

#include "engine/engine.h"

/*
 * The others are called, and let in, when the daemon as a whole has started, and after a pause if this server ended soon after its last starts. eng->rpc is there, and held. NFS4R_OK;
 * NFS4R_BADCONFIG or NFS4R_NOMEM with @why (512 bytes).
 */
enum nfs4r_status online_begin(struct nfs4r_engine *eng, char *why);
/* eng->stopping is set. Joins the thread; does nothing if there is none. */
void online_stop(struct nfs4r_engine *eng);

/* How long a server waits that ended soon after its last @starts, at most @most_ms. Pure. */
uint32_t online_pause_ms(uint32_t starts, uint32_t most_ms);
/* Starts in a row after which the server ended soon, and not in order. */
uint32_t online_starts(const struct nfs4r_engine *eng);

#endif
