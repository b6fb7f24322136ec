/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * An entry becomes part of the tree and of its log, and every room hears of it: in which order stands here, and only here.
 *
 * Happy path: the log says which entry is next (log_apply_next()). The rows that go with it are gathered (its claim, its reply, what it makes fuzzy), the tree port
 * takes all of it in one record, and control, operations and the log go on from there.
 *
 * Invariants: nothing is added to the record after tree.commit(); nothing hears of the entry before. The next entry is chosen when all have heard of this one,
 * since whether it can be applied depends on that.
 */
#include "core/door_int.h"

static void commit(struct nfs4r_core *c, struct pend *p)
{
	struct nfs4r_entry *e = p->entry;
	struct opx *o = p->opx;
	struct anc_change ch;
	bool joined = e->joined.pid.server && !state_claim_find(c, e->joined.pid.server, e->joined.pid.seq);

	out_commit_begin(c);
	control_anc_before_commit(c, e, &ch);
	if (e->log == c->self)
		control_joined_note_move(c, e);
	log_apply_before_commit(c, e);
	if (joined)
		control_joined_row(c, e);
	ops_reply_of_entry(c, e);
	log_fuzzy_commit(c, e, p->made);
	log_clients_commit(c, e);
	log_moot_commit(c, p);
	locks_before_commit(c, e);
	c->tree.commit(c->tree.ctx, e, o || p->intent || p->made, c->out.puts, c->out.nputs);
	out_wrote(c);
	control_anc_after_commit(c, &ch);
	for (uint32_t i = 0; i < e->nparts; i++)
		ops_monotonic_moved(c, &e->parts[i].oid);
	if (c->control.deferred)
		c->dirty |= DIRTY_OBJECTS;
	if (joined)
		control_joined_in(c, e, p->born_acked_by_all);
	for (uint32_t i = 0; i < e->nparts; i++)
		if (e->parts[i].effect == NFS4R_EFF_LINKS && e->parts[i].nlink == 0)
			control_abort_deleted(c, &e->parts[i].oid);
	log_apply_committed(c, p);
	locks_committed(c, e);
	locks_shares_committed(c, e);
	if (o)
		ops_exec_committed(c, o);
	log_apply_prefix(c, e->log);
}

void core_commit_run(struct nfs4r_core *c)
{
	struct pend *p;

	while ((p = log_apply_next(c)))
		commit(c, p);
}
