/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What this server knows of another one as a member: what it says of its store, and when that one starts anew. The rest of its HEARTBEATs is view.c's.
 */
#include "core/membership/membership_int.h"

void view_peer_forget(struct nfs4r_core *c, nfs4r_server_id s)
{
	struct peer *p = &c->peers[s];

	log_peer_forget(c, s);
	p->learner_ns = 0;
	p->memory = 0;
	p->start = (struct start){ 0 };
}

void view_peer_up(struct nfs4r_core *c, nfs4r_server_id s)
{
	c->peers[s].met = false;
}

void view_peer_remembers(struct nfs4r_core *c, nfs4r_server_id s, const struct nfs4r_msg *m)
{
	struct start theirs = { m->heartbeat.inc, m->heartbeat.inc_random, m->heartbeat.position };
	struct peer *p = &c->peers[s];

	if (p->start.inc && p->start.random != theirs.random)
		view_peer_forget(c, s); /* its counter came to the same number again */
	p->start = theirs;
	if (p->memory != m->heartbeat.memory && !FAULT(F_KNOWN_UNNOTICED))
		c->dirty |= DIRTY_REPLY; /* what it has on its disk counts from now on (log 5.1) */
	p->memory = m->heartbeat.memory;
	if (!p->learner_ns && state_is_learner(c, s) && p->memory == NFS4R_MEMORY_FORGOT && m->heartbeat.view >= c->view.adopted.num)
		p->learner_ns = m->heartbeat.clock_ms * 1000000;
	p->claims = m->heartbeat.claims;
	p->judged = true;
}

void view_peer_counts(struct nfs4r_core *c, nfs4r_server_id s)
{
	c->peers[s].counted_ms = c->now;
}

void view_peers_count_from_now(struct nfs4r_core *c)
{
	EACH_PEER(c, s)
		c->peers[s].counted_ms = c->peers[s].unready_ms = c->now;
}

void view_peer_joined(struct nfs4r_core *c, nfs4r_server_id s)
{
	c->peers[s].joining = false;
}

void view_peer_incomplete(struct nfs4r_core *c, nfs4r_server_id s)
{
	c->peers[s].complete = false;
}
