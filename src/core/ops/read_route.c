/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Questions between steps: where a read goes, and may this server answer one (control 6). Nothing in here changes the core.
 */
#include "core/ops/ops_int.h"

struct route { /* best foreign owner seen so far: one that has won first, then the lowest id */
	nfs4r_server_id owner;
	bool won;
};

static void better(struct route *r, const struct claim *cl)
{
	nfs4r_server_id s = (nfs4r_server_id)cl->key.server;

	if (!r->owner || (cl->won && !r->won) || (cl->won == r->won && s < r->owner)) {
		r->owner = s;
		r->won = cl->won;
	}
}

/* control 6.1: any cover; control 6.2: an explicit control, or a deep+ on any ancestor. */
static bool redirects(const struct nfs4r_core *c, const struct ctl *k, uint32_t level, bool is_dir)
{
	if (level == 0)
		return true;
	if (is_dir)
		return k->depth >= NFS4R_DEEP;
	return k->depth == NFS4R_DEEP_PLUS && !FAULT(F_READ_NO_DEEP_PLUS);
}

nfs4r_server_id nfs4r_core_route_read(struct nfs4r_core *c, const struct nfs4r_oid *oid, bool is_dir,
				      nfs4r_servers excluded)
{
	struct route r = { 0, false };
	struct nfs4r_facts f;
	struct walk w;
	struct ctl *k;
	bool hidden = false;

	if (c->halted || !state_lease_valid(c))
		return 0;
	control_is_known(c, oid, &f);
	if (f.known == NFS4R_NOT_YET)
		return 0;
	if (f.known == NFS4R_DEAD)
		return c->self;
	if (c->recovering || (not_ready(c) && control_own_acting_cover(c, oid)))
		return 0;
	if (excluded & state_join_unsure(c))
		return 0;
	if (excluded && FAULT(F_NOT_PRIMARY_LOCAL))
		return c->self;
	if (f.type == NFS4R_TYPE_DIR && !is_dir) /* Directory_Reads = local */
		return c->self;
	control_walk_begin(&w, oid);
	do {
		bool deep = false;

		for (k = control_of(c, &w.oid); k; k = k->next) {
			deep |= w.level && k->depth >= NFS4R_DEEP;
			if (k->claim->key.server == c->self || (excluded & NFS4R_BIT(k->claim->key.server)))
				continue;
			if ((is_dir || !w.level) && control_is_good_copy(c, k->claim))
				continue;
			if (redirects(c, k, w.level, is_dir) && !hidden)
				better(&r, k->claim);
		}
		hidden |= deep && FAULT(F_READ_NEAREST_DEEP);
	} while ((is_dir ? c->control.foreign_deep : c->control.foreign_deep_plus) && control_walk_up(c, &w));
	if (!r.owner)
		r.owner = ops_monotonic_at(c, oid, excluded);
	if (r.owner && !state_is_member(c, r.owner))
		return 0; /* it waits for that server to return */
	return r.owner ? r.owner : c->self;
}

/* Nothing is wrong with the copy here but, perhaps, its version. */
static bool copy_is_sound(const struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct nfs4r_fuzzy_object left;

	return c->view.complete && !state_is_repairing(c) && nfs4r_core_exactness(c, oid, &left) == NFS4R_EXACT;
}

bool nfs4r_core_may_read_locked(struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_lock_owner *owner, uint64_t start, uint64_t last)
{
	struct nfs4r_facts f;

	if (!c->locks.copies || !ops_may_answer(c) || locks_is_outside(c) || !copy_is_sound(c, oid))
		return false;
	if (ops_monotonic_version(c, oid) && !FAULT(F_READ_LOCKED_TOLD))
		return false;
	control_is_known(c, oid, &f);
	return f.known == NFS4R_KNOWN && locks_copy_will_do(c, oid, f.version) && locks_own_has(c, oid, owner, start, last);
}

struct nfs4r_closed nfs4r_core_closed_at(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_server_id owner)
{
	struct nfs4r_closed at = { .inc = c->peers[owner].inc, .owner_version = ops_monotonic_version(c, oid) }, none = { .owner_version = at.owner_version };
	struct walk w;

	control_walk_begin(&w, oid);
	do {
		for (struct ctl *k = control_of(c, &w.oid); k; k = k->next) {
			if (k->claim->key.server == c->self || !redirects(c, k, w.level, false))
				continue;
			if (w.level || !k->claim->announced || k->claim->key.server != owner || k->claim->good_inc != at.inc)
				return none;
			at.lsn = k->claim->good_at > at.lsn ? k->claim->good_at : at.lsn;
		}
	} while (c->control.foreign_deep_plus && control_walk_up(c, &w));
	return at;
}

enum nfs4r_status nfs4r_core_may_serve(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct nfs4r_facts f;

	if (c->halted || !state_lease_valid(c))
		return NFS4R_DELAY;
	if (FAULT(F_SERVE_ALWAYS))
		return NFS4R_OK;
	if (c->recovering) /* what it controls may be in the tail that is missing */
		return NFS4R_DELAY;
	control_is_known(c, oid, &f);
	if (f.known == NFS4R_DEAD) /* STALE, which only this server may know yet: the asker's copy may be older than a closed write */
		return not_ready(c) ? NFS4R_DELAY : NFS4R_OK;
	if (f.known != NFS4R_KNOWN || !control_own_acting_cover(c, oid))
		return not_ready(c) && f.known == NFS4R_NOT_YET ? NFS4R_DELAY : NFS4R_NOT_PRIMARY;
	return not_ready(c) ? NFS4R_DELAY : NFS4R_OK;
}

nfs4r_lsn nfs4r_core_applied(const struct nfs4r_core *c, nfs4r_server_id log)
{
	return c->log.logs[log].applied;
}

const struct nfs4r_view *nfs4r_core_adopted(const struct nfs4r_core *c)
{
	return &c->view.adopted;
}

const struct nfs4r_view *nfs4r_core_accepted(const struct nfs4r_core *c)
{
	return &c->view.accepted;
}
