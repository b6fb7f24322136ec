/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Locks begin to hold at all servers while clients have some that each server granted by itself (locks 21): the upgrade of the volume has been finished.
 *
 * Happy path: a server that adopts the view that says so grants nothing anew. Its caller asks for all that its clients have, as reclaims, and says when that is done; the server's heartbeats pass it on. Once
 * all members have said it, in that view or a later one, locks are granted.
 *
 * Failure modes: a member is silent: it is removed, and its clients lose what they had, since it fences them when it is back. Two clients have what excludes each other: the second reclaim is denied, which their servers say in
 * the log.
 *
 * Invariants: who has started anew since then waits for nobody. In that start it did not see the volume of before, whose locks went with the one before it.
 */
#include "core/locks/locks_int.h"

void locks_become_shared(struct nfs4r_core *c, const struct nfs4r_view *old)
{
	nfs4r_servers self = NFS4R_BIT(c->self);

	if (!c->started || !state_locks_shared(c) || old->settings.protocol >= NFS4R_PROTOCOL_LOCKS)
		return;
	if (old->num && old->members & c->view.adopted.members & self && !FAULT(F_LOCK_FENCED_EARLY))
		c->locks.outside = false; /* what it was before nobody's locks depended on */
	if (!c->cfg.locks_before)
		return;
	c->locks.untold = true;
	c->locks.awaits_known = !FAULT(F_LOCK_BEFORE_ALL_KNOWN);
}

void locks_known(struct nfs4r_core *c)
{
	if (!c->locks.untold)
		return;
	c->locks.untold = false;
	c->dirty |= DIRTY_OPS;
}

bool locks_may_begin(struct nfs4r_core *c)
{
	if (!c->locks.awaits_known)
		return true;
	if (c->locks.untold)
		return false;
	EACH_OF(c->view.adopted.members & ~NFS4R_BIT(c->self), s)
		if (!c->peers[s].locks_known || c->peers[s].view != c->view.adopted.num)
			return false;
	c->locks.awaits_known = false;
	return true;
}
