/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Look-ups of claims, for every room. control/ changes the tables that they read.
 */
#include "core/state/state_int.h"

struct claim *state_claim_find(const struct nfs4r_core *c, nfs4r_server_id s, uint64_t seq)
{
	struct pidkey k = { s, seq };
	struct claim *cl;

	HASH_FIND(hh, c->control.claims, &k, sizeof(k), cl);
	return cl;
}

bool state_is_dead_seq(const struct nfs4r_core *c, nfs4r_server_id s, uint64_t seq)
{
	struct pidkey k = { s, seq };
	struct dead *d;

	HASH_FIND(hh, c->control.dead, &k, sizeof(k), d);
	return d != NULL;
}

bool state_claim_acked_by_all(const struct nfs4r_core *c, const struct claim *cl)
{
	return cl->own && cl->kind == NFS4R_PROPOSED && quorum_is_all(c, cl->own->acks);
}
