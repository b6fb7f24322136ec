/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How good this server's copy of the volume is: ahead of a seal, made anew and not whole yet, or fuzzy (log 3.6, 8.3, 8.5).
 *
 * recovery/state_transfer.c and log/fuzzy.c change what these questions read. Nothing in here changes the core.
 */
#include "core/state/state_int.h"

bool state_is_ahead(const struct nfs4r_core *c, nfs4r_server_id log)
{
	const struct logst *l = &c->log.logs[log];
	const struct nfs4r_seal *s = state_seal_at(&c->view.adopted, log, l->applied);

	/* what has begun to be applied counts, too */
	return state_is_ended(c, log) && s && (l->highest > s->lsn || l->received > s->lsn) && !FAULT(F_CROSS_AHEAD);
}

/* The seal is forgotten, or the entries up to it are two generations old: nobody has them. */
static bool is_out_of_reach(const struct nfs4r_core *c, nfs4r_server_id log)
{
	nfs4r_lsn begin = state_seal_begin(&c->view.adopted, log), applied = c->log.logs[log].applied;
	const struct nfs4r_seal *s = state_seal_at(&c->view.adopted, log, applied);

	if (!state_is_ended(c, log))
		return false;
	return !s || (applied < s->lsn && NFS4R_GEN(applied) + 1 < NFS4R_GEN(begin));
}

/* What was copied holds entries of @log beyond its seal, be that one of a view that is being accepted. */
bool state_reach_lost(const struct nfs4r_core *c, nfs4r_server_id log)
{
	nfs4r_lsn reach = c->reach.lsn[log];
	const struct nfs4r_seal *s = state_seal_at(&c->view.adopted, log, c->log.logs[log].applied);

	if (!s && c->view.accepting.from)
		s = state_seal_at(&c->view.accepting.view, log, c->log.logs[log].applied);

	return c->reach.open && s && reach > s->lsn && NFS4R_GEN(reach) == NFS4R_GEN(s->lsn);
}

/* Nothing is in it that its positions do not say. */
bool state_repair_is_whole(const struct nfs4r_core *c)
{
	return !c->reach.open && !c->reach.all;
}

/*
 * What this server says that it has of @log, where it is at @pos: a copy that was made anew counts for nothing before it is whole. Else others
 * count on what only an unfinished copy has, and if its source is lost it can neither be finished nor given up.
 */
nfs4r_lsn state_repair_counts(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn pos)
{
	if (log == c->self)
		return pos;
	if (state_memory_tells_nothing(c) && !FAULT(F_OLD_COPY_COUNTS))
		return 0;
	return c->reach.anew && pos > c->reach.before[log] ? c->reach.before[log] : pos;
}

/* The same, of what is stable: not of a generation that is over in this copy, in which no object holds back what it is not exact by (log 3.9). */
nfs4r_lsn state_repair_counts_stable(const struct nfs4r_core *c, nfs4r_server_id log)
{
	nfs4r_lsn stable = c->log.logs[log].stable, said = state_repair_counts(c, log, stable);

	return NFS4R_GEN(said) < NFS4R_GEN(stable) ? NFS4R_GEN(said) << NFS4R_GEN_SHIFT : said;
}

/* This copy was made anew with entries beyond the seal, and does not have them: nobody here can say what they touched. */
static bool is_ahead_blindly(const struct nfs4r_core *c, nfs4r_server_id log)
{
	return state_is_ahead(c, log) && c->log.logs[log].truncated > state_seal_at(&c->view.adopted, log, c->log.logs[log].applied)->lsn;
}

bool state_needs_repair(const struct nfs4r_core *c, bool *all)
{
	bool any = false;

	*all = c->reach.all || state_memory_wants_all(c) || state_retention_is_late(c);
	EACH_LOG(c, s) {
		*all |= is_out_of_reach(c, s) || state_reach_lost(c, s) || is_ahead_blindly(c, s);
		any |= state_is_ahead(c, s);
	}
	return any || *all;
}

bool state_is_repairing(const struct nfs4r_core *c)
{
	bool all;

	return c->repair.state || !state_repair_is_whole(c) || !state_memory_whole(c) || ((state_seals_open(c) || c->log.late) && state_needs_repair(c, &all));
}

/* Nothing of the own log is under way any more. */
bool state_self_ended(const struct nfs4r_core *c)
{
	struct claim *cl, *tmp;

	if (!state_is_ended(c, c->self) || c->undecided || c->recovering || c->ops.busy)
		return false;
	HASH_ITER(hh, c->control.claims, cl, tmp)
		if (cl->own && cl->own->state != OWN_RELEASED)
			return false;
	return true;
}

struct fuzzy *state_fuzzy_find(const struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct fuzzy *t;

	HASH_FIND(hh, c->log.fuzzy, oid, sizeof(*oid), t);
	return t;
}

/* @open: by what is not exact; else also by what is, but not on the disk yet. */
static nfs4r_lsn limit(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn stable, bool open)
{
	const struct fuzzy *t, *tmp;

	if (FAULT(F_FUZZY_STABLE))
		return stable;
	HASH_ITER(hh, c->log.fuzzy, t, tmp)
		if (t->low[log] && t->low[log] <= stable && !(open && t->state == FUZZY_DONE))
			stable = t->low[log] - 1;
	return stable;
}

nfs4r_lsn state_fuzzy_limit(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn stable)
{
	return limit(c, log, stable, false);
}

/* Would a checkpoint make more of @log stable? */
bool state_fuzzy_allows_more(const struct nfs4r_core *c, nfs4r_server_id log)
{
	return limit(c, log, c->log.logs[log].applied, true) > c->log.logs[log].stable;
}
