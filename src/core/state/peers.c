/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What this server knows of another one, when that one starts anew.
 */
#include "core/state/state_int.h"

void state_peer_forget(struct nfs4r_core *c, nfs4r_server_id s)
{
	struct peer *p = &c->peers[s];

	p->told = false;
	p->told_ns = p->learner_ns = p->less_ms = 0;
	memset(p->received, 0, sizeof(p->received));
	memset(p->applied, 0, sizeof(p->applied));
	memset(p->stable, 0, sizeof(p->stable));
	memset(p->first_told, 0, sizeof(p->first_told));
	memset(p->base, 0, sizeof(p->base));
	p->slow_ms = 0;
	p->memory = 0;
	p->start = (struct start){ 0 };
}
