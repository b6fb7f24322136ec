/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where the generations of the logs end (log 7): questions about the seals of a view. membership/log_seal.c makes seals and crosses them.
 *
 * Nothing in here changes the core.
 */
#include "core/state/state_int.h"

const struct nfs4r_seal *state_seal_at(const struct nfs4r_view *v, nfs4r_server_id log, nfs4r_lsn pos)
{
	for (uint32_t i = 0; i < v->nseals; i++)
		if (v->seals[i].log == log && NFS4R_GEN(v->seals[i].lsn) == NFS4R_GEN(pos))
			return &v->seals[i];
	return NULL;
}

/* Whose logs @v speaks of. */
nfs4r_servers state_seal_logs(const struct nfs4r_view *v)
{
	nfs4r_servers set = v->servers;

	for (uint32_t i = 0; i < v->nseals; i++)
		set |= NFS4R_BIT(v->seals[i].log);
	return set;
}

nfs4r_lsn state_seal_begin(const struct nfs4r_view *v, nfs4r_server_id log)
{
	nfs4r_lsn begin = 0;

	for (uint32_t i = 0; i < v->nseals; i++)
		if (v->seals[i].log == log && NFS4R_AFTER_SEAL(v->seals[i].lsn) > begin)
			begin = NFS4R_AFTER_SEAL(v->seals[i].lsn);
	return begin;
}

bool state_is_sealed_away(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn lsn)
{
	const struct nfs4r_seal *s = state_seal_at(&c->view.adopted, log, lsn);

	return s && lsn > s->lsn;
}

bool state_is_ended(const struct nfs4r_core *c, nfs4r_server_id log)
{
	return state_views_on(c) && NFS4R_GEN(c->log.logs[log].applied) < NFS4R_GEN(state_seal_begin(&c->view.adopted, log));
}

bool state_seals_open(const struct nfs4r_core *c)
{
	if (!state_views_on(c) || !c->view.adopted.nseals)
		return false;
	EACH_LOG(c, s)
		if (state_is_ended(c, s))
			return true;
	return false;
}

/* The last entry of @pos' generation that this server can give to others. */
nfs4r_lsn state_gen_end(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn pos)
{
	const struct nfs4r_seal *s = state_views_on(c) ? state_seal_at(&c->view.adopted, log, pos) : NULL;
	nfs4r_lsn applied = c->log.logs[log].applied;

	if (NFS4R_GEN(pos) > NFS4R_GEN(applied))
		return 0;
	if (NFS4R_GEN(pos) < NFS4R_GEN(applied))
		return s ? s->lsn : 0;
	return s && s->lsn < applied ? s->lsn : applied;
}

/* No entry of @log beyond this is taken: an adopted seal, that of a view which is being accepted, or a promise. */
nfs4r_lsn state_seal_limit(const struct nfs4r_core *c, nfs4r_server_id log)
{
	const struct logst *l = &c->log.logs[log];
	const struct nfs4r_seal *s;

	if (!state_views_on(c))
		return UINT64_MAX;
	if (c->repair.state)
		return l->received;
	s = state_seal_at(&c->view.adopted, log, l->applied);
	if (!s && c->view.accepting.from)
		s = state_seal_at(&c->view.accepting.view, log, l->applied);
	if (s)
		return s->lsn;
	if ((c->view.sealing & NFS4R_BIT(log)) && !FAULT(F_NO_FREEZE))
		return l->received;
	return UINT64_MAX;
}

/* Log 3.4: what was executed in a view after a seal stands on what that seal left. The version says it (log 2.3). */
static bool too_new(const struct nfs4r_core *c, const struct nfs4r_entry *e)
{
	for (uint32_t i = 0; i < e->nparts; i++)
		if (NFS4R_GEN(e->parts[i].after) > c->view.adopted.epoch)
			return true;
	return false;
}

bool state_seal_may_begin(const struct nfs4r_core *c, const struct nfs4r_entry *e)
{
	const struct nfs4r_seal *s;

	if (!state_views_on(c))
		return true;
	if (c->repair.state || (!state_memory_whole(c) && !FAULT(F_FORGOT_APPLIES)))
		return false; /* what was taken before the copy was found to be none: it is made anew, and that drops it */
	if (too_new(c, e) && !FAULT(F_VIEW_NOT_AWAITED))
		return false;
	s = state_seal_at(&c->view.adopted, e->log, e->lsn);
	if (!s && c->view.accepting.from)
		s = state_seal_at(&c->view.accepting.view, e->log, e->lsn);
	if (s)
		return e->lsn <= s->lsn;
	return !(c->view.exact & NFS4R_BIT(e->log)) || FAULT(F_NO_FREEZE);
}

nfs4r_version state_next_version(const struct nfs4r_core *c, nfs4r_version before)
{
	nfs4r_version first = (nfs4r_version)c->view.adopted.epoch << NFS4R_GEN_SHIFT | 1;

	return before + 1 > first || !c->view.adopted.epoch || FAULT(F_NO_EPOCH) ? before + 1 : first;
}

void state_log_heard(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn lsn)
{
	if (lsn > c->log.logs[log].end)
		c->log.logs[log].end = lsn;
}

void state_log_ends(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn lsn)
{
	c->log.logs[log].end = lsn;
}

void state_log_want(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn lsn)
{
	if (lsn > c->log.logs[log].want)
		c->log.logs[log].want = lsn;
}

void state_logs_known(struct nfs4r_core *c, nfs4r_servers logs)
{
	c->known |= logs;
}
