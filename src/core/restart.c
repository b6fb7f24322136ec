/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Start with what the journal held (control 4.9, section 8).
 *
 * Own claims: proposing ones are aborted even if they had a majority, since operations and acks
 * are forgotten; won ones stay acting, count only this server's ack and are proposed again to fill
 * the rest; released ones are released again. last_move and every `in` are the end of the own log,
 * so that nothing moved before counts as known to others. Controls of others need nothing: an ack
 * is never withdrawn. The ancestry table is counted from the table and the tree.
 */
#include "core/core_int.h"

static int by_seq(struct claim *a, struct claim *b)
{
	if (a->key.server != b->key.server)
		return a->key.server < b->key.server ? -1 : 1;
	return a->key.seq < b->key.seq ? -1 : a->key.seq > b->key.seq;
}

static void restart_won(struct nfs4r_core *c, struct own *ow)
{
	struct claim *cl = ow->claim;

	ow->majority = true;
	ow->in = FAULT(F_RESTART_IN_ZERO) ? 0 : c->last_move;
	if (FAULT(F_RESTART_KEEPS_ACKS))
		ow->acks = c->cfg.servers;
	cl->won = true;
	DL_APPEND(c->idle, ow);
	claim_used(c, ow);
	if (cl->kind == NFS4R_PROPOSED && !is_all(c, ow->acks)) {
		DL_APPEND2(c->asking, ow, ask_prev, ask_next_own);
		ow->asked_ms = c->now;
		ow->ask_next = c->now + c->cfg.repeat_ms;
		timer_at(c, ow->ask_next);
	}
}

void restart_claims(struct nfs4r_core *c)
{
	struct claim *cl, *tmp;
	struct own *ow, *next;

	HASH_SORT(c->claims, by_seq); /* whatever order the rows came in */
	c->last_move = c->logs[c->self].received;
	HASH_ITER(hh, c->claims, cl, tmp) {
		if (!cl->own)
			continue;
		if (cl->own->state == OWN_RELEASED) {
			claim_out_of_table(c, cl);
			DL_APPEND(c->released, cl->own);
		} else if (cl->own->state == OWN_WON) {
			restart_won(c, cl->own);
		}
	}
	HASH_ITER(hh, c->claims, cl, tmp) {
		bool keep = cl->own && cl->own->state == OWN_WON && !FAULT(F_RESTART_FORGETS_WON);

		if (!cl->own || cl->own->state == OWN_RELEASED || keep)
			continue;
		if (cl->own->state == OWN_PROPOSING)
			c->st.aborts++;
		claim_release(c, cl->own);
	}
	DL_FOREACH_SAFE2(c->asking, ow, next, ask_next_own)
		EACH_PEER(c, s)
			election_send(c, ow, s);
}
