/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What this server's store remembers, and which servers' words count because of what theirs remember (log 8.6). recovery/amnesia.c
 * decides it. Nothing in here changes the core.
 */
#include "core/state/state_int.h"

bool state_memory_known(const struct nfs4r_core *c)
{
	return !state_views_on(c) || c->memory.state == MEMORY_KNOWN;
}

/* What @s says as one that remembers counts here. */
bool state_memory_counts(const struct nfs4r_core *c, nfs4r_server_id s)
{
	return !state_views_on(c) || (state_memory_known(c) && c->peers[s].memory == NFS4R_MEMORY_KNOWN);
}

/*
 * Log 9.1: a learner may be needed for the view that makes it a voter, or for one that comes after it. What it promised in an older life is from before it
 * was taken out, and it goes by a later view now.
 */
bool state_memory_votes(const struct nfs4r_core *c)
{
	return state_memory_known(c) || (state_is_learner(c, c->self) && c->memory.state == MEMORY_REPAIRED);
}

/* Entries of this copy's own log may go to @s: it is known that it is the log that @s knows. */
bool state_memory_may_send(const struct nfs4r_core *c, nfs4r_server_id s)
{
	return !state_views_on(c) || (state_memory_known(c) && c->peers[s].judged);
}

/* Somebody said since the start that this store is the one it knows; or that it knows none. */
bool state_memory_judged(const struct nfs4r_core *c)
{
	bool alone = true;

	EACH_PEER(c, s) {
		if (c->peers[s].judged)
			return true;
		alone = false;
	}
	return alone;
}

/* The copy is one: new entries may come on top of it. */
bool state_memory_whole(const struct nfs4r_core *c)
{
	return state_memory_known(c) || c->memory.state == MEMORY_REPAIRED;
}

/* Log 9.1: a learner says 0 of what its store has from an older life, or from nobody, until its copy is made anew. */
bool state_memory_tells_nothing(const struct nfs4r_core *c)
{
	return state_is_learner(c, c->self) && !state_memory_whole(c);
}

/* Log 8.6: the copy is made anew, but not before the own log has ended: else somebody may go on with it. */
bool state_memory_wants_all(const struct nfs4r_core *c)
{
	if (state_is_learner(c, c->self))
		EACH_MEMBER(c, s)
			if (c->peers[s].view < c->view.adopted.num)
				return false; /* it may truncate its log still as if this server were none (log 9.1) */
	return c->memory.state == MEMORY_OUTSIDE && (!(c->view.adopted.open & NFS4R_BIT(c->self)) || FAULT(F_REPAIR_UNSEALED));
}

enum nfs4r_memory state_memory_said(const struct nfs4r_core *c)
{
	return c->memory.state == MEMORY_KNOWN ? NFS4R_MEMORY_KNOWN : c->memory.state == MEMORY_NEW ? NFS4R_MEMORY_NEW :
												      NFS4R_MEMORY_FORGOT;
}

nfs4r_servers state_memory_unheard(const struct nfs4r_core *c)
{
	nfs4r_servers set = 0;

	if (!state_views_on(c) || c->memory.state != MEMORY_NEW)
		return 0;
	EACH_PEER(c, s)
		if (!c->peers[s].judged)
			set |= NFS4R_BIT(s);
	return set;
}

/* With `local`: who has forgotten, and whose claims no member knows: nothing of its log is missing anywhere (control 7.2). */
nfs4r_servers state_memory_unclaimed(const struct nfs4r_core *c)
{
	nfs4r_servers set = c->view.adopted.open & ~c->view.adopted.members;

	if (!c->view.ready)
		return 0;
	EACH_PEER(c, s)
		if (c->peers[s].memory != NFS4R_MEMORY_FORGOT || !state_view_hears(c, s) || (c->control.nclaims_of[s] && !FAULT(F_SEAL_CLAIMED)))
			set &= ~NFS4R_BIT(s);
	EACH_MEMBER(c, s) {
		const struct peer *p = &c->peers[s];

		if (!state_memory_counts(c, s) || !state_view_hears(c, s) || p->view != c->view.adopted.num || !p->complete)
			return 0;
		if (!FAULT(F_SEAL_CLAIMED))
			set &= ~p->claims;
	}
	return set;
}

/* Does any member know a claim of @s? @sure: all have been asked. */
bool state_memory_claimed(const struct nfs4r_core *c, nfs4r_server_id s, bool *sure)
{
	bool any = c->control.nclaims_of[s];

	*sure = c->view.ready;
	EACH_MEMBER(c, t) {
		const struct peer *p = &c->peers[t];

		*sure &= state_memory_counts(c, t) && state_view_hears(c, t) && p->view == c->view.adopted.num && p->complete;
		any |= !!(p->claims & NFS4R_BIT(s));
	}
	return any;
}

/* KNOWN only to those whose word about this server was heard since the start. */
void state_memory_say(const struct nfs4r_core *c, nfs4r_server_id to, struct nfs4r_msg *m)
{
	const struct peer *p = &c->peers[to];

	m->heartbeat.memory = state_memory_said(c);
	if (m->heartbeat.memory == NFS4R_MEMORY_KNOWN && !p->judged && !FAULT(F_KNOWN_AT_ONCE))
		m->heartbeat.memory = NFS4R_MEMORY_NEW;
	m->heartbeat.inc = c->memory.now.inc;
	m->heartbeat.inc_random = c->memory.now.random;
	m->heartbeat.position = c->tree.synced(c->tree.ctx);
	m->heartbeat.your_inc = p->knows.inc;
	m->heartbeat.your_random = p->knows.random;
	m->heartbeat.your_position = p->knows.pos;
	EACH_PEER(c, s)
		if (!state_is_member(c, s) && c->control.nclaims_of[s])
			m->heartbeat.claims |= NFS4R_BIT(s);
}
