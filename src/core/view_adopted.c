/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A view is adopted: the membership room has changed what is its own, and here all rooms hear of it, in this order (log 6.6).
 *
 * First what this server is by the view: does its store count, which entries are cut off, does its copy have to be repaired, is it ready. Then what others are:
 * who joins, whose claims are over, which elections begin anew. Then everybody is told.
 *
 * Invariant: the row of the view is put before anything else is, so it is on disk with all that follows from it.
 */
#include "core/door_int.h"

void core_view_adopted(struct nfs4r_core *c, const struct nfs4r_view *old, nfs4r_servers removed, nfs4r_servers anew)
{
	recovery_memory_adopted(c);
	locks_gaps_older(c, anew);
	view_seal_adopted(c);
	recovery_repair_check(c);
	view_seal_go_on(c);
	state_view_set_ready(c);
	if (c->view.adopted.epoch != old->epoch)
		log_quorum_has_all(c);
	view_peers_adopted(c, removed, anew);
	recovery_join_witnesses(c, removed, anew);
	if (removed | anew)
		control_elections_new_view(c, removed, anew);
	control_releases_new_view(c);
	if (!state_is_member(c, c->self))
		ops_refuse_waiting(c);
	recovery_join_new_view(c);
	locks_authority_forget(c, removed);
	locks_view_adopted(c, anew);
	locks_become_shared(c, old);
	if (nfs4r_core_locks_shared(c))
		locks_orphans_new_view(c);
	locks_gap_new_view(c, anew);
	locks_guards_forget(c, removed);
	locks_shares_say_denies(c);
	ops_locks_again(c, 0);
	c->dirty |= DIRTY_OPS | DIRTY_REPLY | DIRTY_RELEASE | DIRTY_OBJECTS | DIRTY_OPENS;
	view_beat(c);
	view_tell_servers(c, old);
}
