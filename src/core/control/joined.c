/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What an entry changes of control when it is committed: claims of new objects come with their entry, and a move between
 * directories counts for claims with deep+ (control 3.9).
 */
#include "core/control/control_int.h"

/* `in` and last_move (control 3.9). The end of the log stands for the entry: others may be under way. */
void control_joined_note_move(struct nfs4r_core *c, const struct nfs4r_entry *e)
{
	nfs4r_lsn end = c->log.logs[c->self].received;

	for (uint32_t i = 0; i < e->nparts; i++) {
		const struct nfs4r_part *p = &e->parts[i];
		struct walk w;
		struct ctl *k;

		if (p->effect != NFS4R_EFF_PARENT || nfs4r_oid_eq(&p->parent, &p->parent_from))
			continue;
		c->control.last_move = end;
		if (!c->control.own_deep_plus || FAULT(F_IN_NOT_RAISED))
			continue;
		control_walk_begin(&w, &p->parent);
		do {
			for (k = control_of(c, &w.oid); k; k = k->next)
				if (k->claim->own && k->depth == NFS4R_DEEP_PLUS && !control_is_under(c, &p->parent_from, &w.oid))
					k->claim->own->in = end;
		} while (control_walk_up(c, &w));
	}
}

void control_joined_moved_until(struct nfs4r_core *c, nfs4r_lsn end)
{
	c->control.last_move = end;
}

void control_joined_ancestors_until(struct nfs4r_core *c, nfs4r_lsn lsn)
{
	if (lsn > c->control.ancestors_changed)
		c->control.ancestors_changed = lsn;
}

void control_joined_rebuilt(struct nfs4r_core *c, nfs4r_lsn end)
{
	c->control.last_move = c->control.ancestors_changed = end;
}

void control_joined_row(struct nfs4r_core *c, const struct nfs4r_entry *e)
{
	struct claim *cl = out_xcalloc(1, sizeof(*cl) + sizeof(cl->ctl[0]));
	struct own own = { .state = OWN_WON };
	struct nfs4r_put p;

	cl->key = (struct pidkey){ e->joined.pid.server, e->joined.pid.seq };
	cl->kind = e->joined.kind;
	cl->won = true;
	cl->lsn = e->lsn;
	cl->n = 1;
	cl->ctl[0].oid = e->joined.control.oid;
	cl->ctl[0].depth = e->joined.control.depth;
	cl->own = e->joined.pid.server == c->self ? &own : NULL;
	row_claim(cl, &p, false);
	out_commit_put(c, &p);
	free(cl);
}

void control_joined_in(struct nfs4r_core *c, const struct nfs4r_entry *e, bool born_acked_by_all)
{
	struct claim *cl = control_claim_add(c, e->joined.pid, e->joined.kind, &e->joined.control, 1);

	cl->won = true;
	cl->lsn = e->lsn;
	cl->prio.server = e->joined.pid.server;
	if (e->joined.pid.server != c->self)
		return;
	control_own_new(c, cl, OWN_WON);
	cl->own->born_acked_by_all = born_acked_by_all;
	if (c->recovering) /* the end of the own log, pulled back */
		control_announce_again(c, cl);
	control_claim_idle(c, cl->own);
	if (control_holdoff_clearing(c, &e->joined.control.oid))
		control_release_at(c, cl->own, c->now);
	if (e->joined.pid.seq >= c->control.next_seq) /* the same */
		c->control.next_seq = e->joined.pid.seq + 1;
}
