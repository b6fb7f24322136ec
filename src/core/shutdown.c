/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A stop in order (control 7.12): before its process ends a server lets go of everything, so that nobody has to wait for its return.
 *
 * Happy path: LEAVE. From then on no operation begins here, none is taken from others, and nothing is asked for (quorum_away()); every
 * claim closes as soon as control 5.5 allows, and is released by the rules that there are (control 7.1, 7.2): when all members have everything stably that was done
 * under it. When all have confirmed, this server gives its lease back (log 6.11), the others make a view without it, and its owner stops it.
 *
 * Failure modes: without a lease nobody knows who "all" are, and a server that catches up, or whose log has ended, has nothing to give: it stays, and its
 * owner stops it all the same, as a crash would. A member that does not answer is removed after `Failure_Timeout`, and waited for until then.
 */
#include "core/door_int.h"

void core_leave_begin(struct nfs4r_core *c)
{
	c->leaving = true;
	c->dirty |= DIRTY_OPS;
}

/* What was created meanwhile, was won, or was counted on by an operation that has ended. */
void core_leave_run(struct nfs4r_core *c)
{
	struct own *ow, *tmp;

	if (!state_lets_go(c) || c->halted || not_ready(c))
		return;
	DL_FOREACH_SAFE2(c->control.asking, ow, tmp, ask_next_own) {
		if (ow->state == OWN_PROPOSING)
			control_claim_abort(c, ow);
		else if (own_is_candidate(ow))
			control_claim_close_when_won(ow);
	}
	control_release_all(c);
}

static bool is_anybody_down(const struct nfs4r_core *c)
{
	EACH_MEMBER(c, s)
		if (c->peers[s].down)
			return true;
	return false;
}

/* Or is something not known yet of what it let go of? */
static bool controls_anything(const struct nfs4r_core *c)
{
	return c->control.asking || c->control.idle || c->control.idle_deep || c->control.closing || ((c->control.released || c->join.owed) && !FAULT(F_LEFT_UNCONFIRMED));
}

void core_leave_advance(struct nfs4r_core *c)
{
	if (c->leaving && !c->view.left && nfs4r_core_leave(c) == NFS4R_LEAVE_DONE && state_can_be_spared(c))
		view_give_back(c);
}

/* Who has left is removed in a moment, or not before it is silent: what it has let go of it has let go of. */
static enum nfs4r_leave has_shut_down(const struct nfs4r_core *c)
{
	return state_is_member(c, c->self) && c->now < c->view.remaining_ms + state_silence_ms(c) ? NFS4R_LEAVE_LEASE_RETURNED : NFS4R_LEAVE_DONE;
}

enum nfs4r_leave nfs4r_core_leave(const struct nfs4r_core *c)
{
	if (c->view.left)
		return has_shut_down(c);
	if (c->halted || not_ready(c) || !state_is_member(c, c->self) || !state_lease_valid(c))
		return NFS4R_LEAVE_CANNOT;
	if (!controls_anything(c) && !c->ops.busy && !c->ops.answering)
		return NFS4R_LEAVE_DONE;
	return !state_views_on(c) && is_anybody_down(c) ? NFS4R_LEAVE_CANNOT : NFS4R_LEAVE_WAIT;
}
