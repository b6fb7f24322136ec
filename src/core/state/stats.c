/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How long things took, for introspect.c. Every room may note it.
 */
#include "core/state/state_int.h"

void state_hist_add(struct nfs4r_core_hist *h, uint64_t ms)
{
	uint32_t i = ms ? 64 - (uint32_t)__builtin_clzll(ms) : 0;

	h->n++;
	h->sum_ms += ms;
	if (ms > h->max_ms)
		h->max_ms = ms;
	h->bucket[i < NFS4R_CORE_BUCKETS ? i : NFS4R_CORE_BUCKETS - 1]++;
}
