/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Start with what the journal held (control 4.9, section 8).
 *
 * Own claims: proposing ones are aborted even if they had a majority, since operations and acks
 * are forgotten; won ones stay acting, count only this server's ack and are proposed again to fill
 * the rest, and close again if they were announced as closing (control 7.10); released ones are released again. last_move and every `in` are the end of the own log,
 * so that nothing moved before counts as known to others. Controls of others need nothing: an ack
 * is never withdrawn. The ancestry table is counted from the table and the tree.
 */
#include "core/recovery/recovery_int.h"

void recovery_restart_claims(struct nfs4r_core *c)
{
	struct claim *cl, *tmp;
	struct own *ow, *next;

	control_claims_sort(c); /* whatever order the rows came in */
	log_written_before(c, c->log.logs[c->self].received);
	control_joined_moved_until(c, c->log.logs[c->self].received);
	HASH_ITER(hh, c->control.claims, cl, tmp) {
		if (!cl->own)
			continue;
		if (cl->own->state == OWN_RELEASED) {
			control_claim_out_of_table(c, cl);
			control_released_in(c, cl->own);
		} else if (cl->own->state == OWN_WON) {
			control_claim_restart(c, cl->own);
		}
	}
	HASH_ITER(hh, c->control.claims, cl, tmp) {
		bool keep = cl->own && own_is_acting(cl->own) && !FAULT(F_RESTART_FORGETS_WON);

		if (!cl->own || cl->own->state == OWN_RELEASED || keep)
			continue;
		if (cl->own->state == OWN_PROPOSING)
			c->st.aborts++;
		control_claim_release(c, cl->own);
	}
	DL_FOREACH_SAFE2(c->control.asking, ow, next, ask_next_own)
		EACH_PEER(c, s)
			control_election_send(c, ow, s);
}

/* ---- own entries that were begun and not decided (log 4.5) -------------------------------------- */

/*
 * Ignored when the journal itself lost its end: peers may have got the entry as done, so theirs is
 * pulled with the tail (log 4.7), and the caller makes the objects equal to their rows (log 4.6).
 */
enum nfs4r_status nfs4r_core_restore_intent(struct nfs4r_core *c, struct nfs4r_entry *e)
{
	const struct logst *l = &c->log.logs[c->self];

	assert(!c->started);
	if (!e || e->log != c->self || (l->pend && l->pend->prev->entry->lsn >= e->lsn))
		return NFS4R_CORRUPT;
	if (!c->cfg.tail_intact && has_peers(c))
		return NFS4R_OK;
	log_restored_own(c, e->lsn, nfs4r_entry_bytes(e));
	log_pend_undecided(c, log_pend_add(c, nfs4r_entry_get(e), NULL));
	return NFS4R_OK;
}

void recovery_restart_decided(struct nfs4r_core *c, struct nfs4r_entry *e, bool ok)
{
	struct pend *p;

	DL_FOREACH(c->log.logs[c->self].pend, p)
		if (p->intent && p->entry->lsn == e->lsn)
			break;
	if (!p)
		return;
	assert(p->state == PEND_BUSY);
	if (p->entry != e)
		log_pend_replace(p, e);
	if (!ok)
		ops_entry_void(p->entry);
	log_pend_executed(c, p, false);
}
