/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * When an executed update may be answered (control 5.2, 5.3).
 *
 * Either everybody has applied the entry, or everybody who might still serve the old state will
 * ask this server instead: for a directory, every object of its path on which this server owns a
 * control that was not announced as closing has one that is acked by all; for a file, an explicit control everybody acked, or a deep+ above it
 * (control 5.3b). The tests are made on this server's tree at the moment of the question and made again
 * whenever acks, positions or claims move.
 */
#include "core/ops/ops_int.h"

/*
 * Control 4.5: a restart aborts what had not been won by the journal's word, and then others read their copies. (It does not matter while it is only
 * asked whether an answer could come: then some servers are @assumed to have done their part.)
 */
static bool is_saved(struct nfs4r_core *c, const struct own *ow, nfs4r_servers assumed)
{
	if (ow->won_step <= c->durable_step || assumed || FAULT(F_COMPLETES_UNSAVED))
		return true;
	if (ow->won_step > c->sync_wanted)
		c->sync_wanted = ow->won_step;
	return false;
}

static bool acked_everywhere(const struct nfs4r_core *c, const struct claim *cl, nfs4r_servers assumed)
{
	return cl->kind == NFS4R_PROPOSED && quorum_is_all(c, cl->own->acks | assumed);
}

static bool applied_everywhere(const struct nfs4r_core *c, nfs4r_lsn lsn, nfs4r_servers assumed)
{
	return quorum_applied_by_all_but(c, c->self, assumed) >= lsn;
}

/* "acked by all" of control 5.2. */
static bool acked_by_all(struct nfs4r_core *c, const struct claim *cl, nfs4r_servers assumed)
{
	switch (cl->kind) {
	case NFS4R_PROPOSED:
		return own_is_acting(cl->own) && acked_everywhere(c, cl, assumed) && is_saved(c, cl->own, assumed); /* else it may still be aborted (control 4.10) */
	case NFS4R_CREATED:
		return true; /* who does not have it does not know the object */
	default:
		return FAULT(F_MOVED_COUNTS) || cl->own->born_acked_by_all || applied_everywhere(c, cl->lsn, assumed);
	}
}

/* Nothing was ever done under it, and nothing will be before all have acked it. */
static bool only_asked(const struct nfs4r_core *c, const struct own *ow)
{
	return own_is_side(ow) && own_is_candidate(ow) && !FAULT(F_SIDE_COUNTS);
}

/*
 * Control 5.2 for directory @d and the entry @lsn: one control acked by all on each object of the path that has any. One that was announced up to before
 * @lsn is not there for those who have its log so far, and is for those who have not: these must have it, and it is not enough.
 */
static bool path_acked_by_all(struct nfs4r_core *c, const struct nfs4r_oid *d, nfs4r_lsn lsn, nfs4r_servers assumed)
{
	bool found = false;
	struct walk w;
	struct ctl *k;

	control_walk_begin(&w, d);
	do {
		bool any = false, one = false;

		for (k = control_of(c, &w.oid); k; k = k->next) {
			if (!k->claim->own || (w.level && k->depth < NFS4R_DEEP) || only_asked(c, k->claim->own))
				continue;
			if (k->claim->announced && lsn > k->claim->own->said && !FAULT(F_ANNOUNCED_COUNTS)) { /* control 7.10 */
				if (!acked_by_all(c, k->claim, assumed) && !FAULT(F_ANNOUNCED_BARE))
					return false;
				continue;
			}
			any = true;
			one |= acked_by_all(c, k->claim, assumed);
		}
		if (one && FAULT(F_REPLY_OWN_CONTROL))
			return true;
		if (any && !one && !FAULT(F_REPLY_OWN_CONTROL))
			return false;
		found |= any;
	} while (control_walk_up(c, &w));
	return found && !FAULT(F_REPLY_OWN_CONTROL); /* none left: released, so it was applied by all; the caller has looked at that */
}

static bool parents_acked_by_all(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_lsn lsn, nfs4r_servers assumed)
{
	struct nfs4r_oid parents[NFS4R_PARENTS_MAX];
	struct nfs4r_facts f;
	uint32_t n;

	if (!control_is_known(c, oid, &f))
		return false;
	if (!control_is_multi(&f))
		return f.nparents == 1 && path_acked_by_all(c, &f.parent, lsn, assumed);
	n = c->tree.parents(c->tree.ctx, oid, parents, NFS4R_PARENTS_MAX);
	if (n > NFS4R_PARENTS_MAX)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!path_acked_by_all(c, &parents[i], lsn, assumed))
			return false;
	return n > 0;
}

/* Control 5.3a. */
static bool explicit_completes(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_servers assumed)
{
	struct ctl *k;

	for (k = control_of(c, oid); k; k = k->next) {
		const struct claim *cl = k->claim;

		if (!cl->own || !own_is_acting(cl->own) || (cl->announced && !FAULT(F_ANNOUNCED_COMPLETES)))
			continue;
		if ((acked_everywhere(c, cl, assumed) && is_saved(c, cl->own, assumed)) ||
		    (cl->kind == NFS4R_CREATED && (applied_everywhere(c, cl->lsn, assumed) || parents_acked_by_all(c, oid, cl->lsn, assumed))) ||
		    (cl->kind == NFS4R_MOVED && (FAULT(F_MOVED_COUNTS) || applied_everywhere(c, cl->lsn, assumed))))
			return true;
	}
	return false;
}

/* Control 5.3b. */
static bool deep_plus_completes(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_lsn lsn, nfs4r_servers assumed)
{
	struct nfs4r_facts f;
	struct walk w;
	struct ctl *k;

	if (!c->control.own_deep_plus && !FAULT(F_PLAIN_DEEP_COUNTS))
		return false;
	if (!control_is_known(c, oid, &f))
		return false;
	control_walk_begin(&w, oid);
	if (control_is_multi(&f)) {
		if (!FAULT(F_5_3B_MULTI) || !c->tree.parents(c->tree.ctx, oid, &w.oid, 1))
			return false;
		w.level = 1;
	}
	do {
		for (k = w.level ? control_of(c, &w.oid) : NULL; k; k = k->next) {
			const struct own *ow = k->claim->own;

			if (k->depth < (FAULT(F_PLAIN_DEEP_COUNTS) ? NFS4R_DEEP : NFS4R_DEEP_PLUS))
				continue;
			if (!ow || !own_is_acting(ow))
				continue;
			if ((acked_everywhere(c, k->claim, assumed) || FAULT(F_5_3B_NOT_ACKED)) &&
			    (applied_everywhere(c, ow->in, assumed) || FAULT(F_5_3B_IN)) &&
			    (ow->state != OWN_CLOSING || lsn <= ow->last || FAULT(F_5_3B_LAST)) && is_saved(c, ow, assumed))
				return true;
		}
	} while (control_walk_up(c, &w));
	return false;
}

static bool file_completes(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_lsn lsn, nfs4r_servers assumed)
{
	return applied_everywhere(c, lsn, assumed) || explicit_completes(c, oid, assumed) || deep_plus_completes(c, oid, lsn, assumed);
}

bool ops_file_complete(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_lsn lsn)
{
	return file_completes(c, oid, lsn, 0);
}

/* What the answer to @e waits for; call before the commit makes the objects of @e dead. */
void ops_cond_of(struct nfs4r_core *c, const struct nfs4r_entry *e, struct cond *k)
{
	memset(k, 0, sizeof(*k));
	k->log = e->log;
	k->lsn = e->lsn;
	for (uint32_t i = 0; i < e->nparts; i++) {
		const struct nfs4r_part *p = &e->parts[i];
		struct nfs4r_facts f;
		bool dir, multi;

		control_is_known(c, &p->oid, &f);
		dir = f.type == NFS4R_TYPE_DIR;
		multi = control_is_multi(&f) || (p->effect == NFS4R_EFF_LINKS && p->multi && !dir);
		switch (p->effect) {
		case NFS4R_EFF_NAMES:
			k->dirs[k->ndirs++] = p->oid;
			break;
		case NFS4R_EFF_LINKS:
		case NFS4R_EFF_PARENT:
			if (multi && !FAULT(F_NAMES_OF_MULTI))
				k->files[k->nfiles++] = p->oid;
			break;
		case NFS4R_EFF_CREATE:
		case NFS4R_EFF_NONE:
			break;
		default:
			if (dir)
				k->dirs[k->ndirs++] = p->oid;
			else
				k->files[k->nfiles++] = p->oid;
		}
	}
}

static bool is_cond_met(struct nfs4r_core *c, const struct cond *k, nfs4r_servers assumed)
{
	EACH_MEMBER(c, s)
		if (c->peers[s].view < k->view && !FAULT(F_ANSWER_BEFORE_VIEW))
			return false;
	if (k->quorum && !log_is_quorum_durable_of(c, k->log, k->lsn))
		return false;
	if (quorum_applied_by_all_but(c, k->log, assumed) >= k->lsn)
		return true;
	if (k->log != c->self)
		return false;
	for (uint32_t i = 0; i < k->ndirs && !FAULT(F_REPLY_AT_ONCE); i++)
		if (!path_acked_by_all(c, &k->dirs[i], k->lsn, assumed))
			return false;
	for (uint32_t i = 0; i < k->nfiles && !FAULT(F_CLOSE_AT_ONCE); i++)
		if (!file_completes(c, &k->files[i], k->lsn, assumed))
			return false;
	return true;
}

bool ops_cond_met(struct nfs4r_core *c, const struct cond *k)
{
	return is_cond_met(c, k, 0);
}

/*
 * Could the answer to what @o is about to do come while somebody is away, if everybody who is here did his part? Else it is
 * not begun: the client can be told to try again only as long as nothing has happened (docs/decisions/0005-fixed-view.md).
 */
bool ops_may_be_answered(struct nfs4r_core *c, const struct opx *o, const struct needs *nd)
{
	struct cond k = { .log = c->self, .lsn = c->log.logs[c->self].received + 1 };
	const struct nfs4r_op *op = o->op;
	struct nfs4r_facts f;
	nfs4r_servers here;

	if (!quorum_away(c) || (op->type == NFS4R_OP_WRITE && op->under_open && !o->remote))
		return true; /* the latter only matters at CLOSE */
	for (uint32_t i = 0; i < nd->nargs; i++)
		if (control_is_known(c, &nd->args[i], &f) && f.type == NFS4R_TYPE_DIR)
			k.dirs[k.ndirs++] = nd->args[i];
		else if (op->type != NFS4R_OP_LINK)
			k.files[k.nfiles++] = nd->args[i];
	if ((op->type == NFS4R_OP_REMOVE || op->type == NFS4R_OP_RENAME) && control_is_known(c, &nd->obj, &f) && control_is_multi(&f))
		k.files[k.nfiles++] = nd->obj;
	if (nd->has_target && control_is_known(c, &nd->target, &f) && control_is_multi(&f))
		k.files[k.nfiles++] = nd->target;
	here = quorum_here(c);
	return is_cond_met(c, &k, here) && (op->type != NFS4R_OP_LINK || explicit_completes(c, &nd->obj, here)); /* it will be multi */
}
