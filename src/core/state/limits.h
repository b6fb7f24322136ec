/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What every file of the core includes first: named limits, and faults. */
#ifndef NFS4R_CORE_STATE_LIMITS_H
#define NFS4R_CORE_STATE_LIMITS_H

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#define uthash_fatal(msg) assert(!"out of memory")
#include <uthash.h>
#include <utlist.h>

#include "core/core.h"
#include "core/fault.h"

#ifdef NFS4R_FAULTS
#define FAULT(n) (c->cfg.fault == (n))
#else
#define FAULT(n) (0)
#endif

/* Named limits; what happens there is said in brackets. */
#define OPS_MAX 65536 /* operations in the core [DELAY, or dropped when forwarded: the origin repeats] */
#define LOCK_OPS_MAX 4096 /* operations in the core, beyond which it begins none of its own for locks [they begin later] */
#define CLAIMS_MAX (1u << 20) /* claims in the table [PROPOSE not acked] */
#define PENDING_MAX 8192 /* entries of one log received and not applied [dropped, pulled later] */
#define CLAIMS_RELIED_ON_MAX 8 /* claims one operation counts on [the rest is not held] */
#define USES 8 /* directories used below a deep claim that are remembered [the oldest goes] */
#define HOLDOFF_MAX 4096 /* objects under hold-off [no hold-off] */
#define WRITTEN_MAX (1u << 20) /* files with entries not applied by all [CLOSE waits for applied by all] */
#define REPLIES_MAX (1u << 20) /* results kept for repeated requests [oldest of the origin goes] */
#define REFUSALS_MAX (1u << 16) /* refused requests of one origin kept [oldest goes] */
#define DEADS_MAX (1u << 16) /* tombstones of one peer [RELEASE not confirmed] */
#define ATTEMPTS_CAP 16 /* control 4.2 */
#define ACTS_POOLED 1024 /* actions whose memory is kept for the next step */
#define SEQ_BLOCK 1024 /* seqs reserved at once */
#define PULL_ENTRIES 1024 /* entries sent for one PULL of a log that is not ours */
#define BLOCKERS_SEEN 8 /* controls of one owner below a directory looked at for a NACK [the others are not in its hint] */
#define NACK_REPEAT_DIV 8 /* a nacked PROPOSE is repeated after repeat_ms / this; one that came before its object is kept as long */
#define DEFERRED_MAX 64 /* proposals kept [others are refused and come again] */
#define CAUGHT_UP_ENTRIES 1024 /* a server outside the view that is no farther behind the end of any log may become a member */
#define APPLY_RETRY_MS 1000 /* an entry that could not be applied is tried again */
#define STUCK_EVERY_MS 60000
#define COMPLAINTS 8 /* about one server, of different texts, in that time */
#define SAID_MAX 4096 /* CLOSING of claims that are not here yet [the oldest goes: its reader asks] */
#define MONOTONIC_READS_MAX 65536 /* objects that owners told to be newer than the own copy [the oldest note goes: the copy is read] */
#define CLIENT_WAITS_MAX 16384 /* who waits for a majority to know a client, or that it is gone [DELAY] */
#define STARTS_REMEMBERED 16 /* of this server, in its memory [a peer's word about an older one is believed] */

#endif
