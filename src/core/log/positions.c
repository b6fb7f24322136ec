/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Positions that do not come from entries: the rows at a start, a seal that is crossed (log 6.6), a copy that was taken from another server (log 8.3).
 *
 * Invariants: received >= applied >= stable, and highest >= applied (core_assert_invariants()).
 */
#include "core/log/log_int.h"

/* ---- the start --------------------------------------------------------------------------- */

void log_restored(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn base, nfs4r_lsn applied, nfs4r_lsn stable)
{
	struct logst *l = &c->log.logs[log];

	l->base = base;
	l->received = l->applied = l->highest = applied;
	state_log_ends(c, log, applied);
	l->stable = stable;
	l->truncated = l->base - 1;
}

void log_restored_beyond(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn highest)
{
	c->log.logs[log].highest = highest;
}

void log_restored_own(struct nfs4r_core *c, nfs4r_lsn lsn, uint64_t bytes)
{
	if (lsn <= c->log.logs[c->self].received)
		return;
	c->log.logs[c->self].received = lsn;
	state_log_ends(c, c->self, lsn);
	log_bytes(c, lsn, bytes);
}

void log_written_before(struct nfs4r_core *c, nfs4r_lsn end)
{
	c->log.written_before = end;
}

/* ---- seals and copies -------------------------------------------------------------------- */

void log_cross(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn seal)
{
	struct logst *l = &c->log.logs[log];

	if (l->base < (NFS4R_GEN(seal) << NFS4R_GEN_SHIFT) + 1)
		l->base = (NFS4R_GEN(seal) << NFS4R_GEN_SHIFT) + 1; /* one older generation is kept */
	l->received = l->applied = l->highest = NFS4R_AFTER_SEAL(seal);
	if (l->stable > seal) /* else it is what it was: entries up to the seal may be lost with the machine until a checkpoint says more */
		l->stable = seal;
	state_log_want(c, log, l->applied);
	if (state_durability(c) != NFS4R_DURABILITY_LOCAL && l->hurry < l->applied)
		l->hurry = l->applied; /* an answer here or at another member may wait for what the log has (log 5.6) */
	state_log_heard(c, log, l->applied);
	l->waits = l->pull_from = 0;
	l->moved = true;
}

void log_back_to(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn seal)
{
	struct logst *l = &c->log.logs[log];

	if (l->applied > seal)
		l->applied = seal;
	if (l->stable > l->applied) /* it may be a while before the log crosses: own claims are still in use */
		l->stable = l->applied;
	l->received = l->highest = l->applied;
}

void log_copied(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn lsn)
{
	struct logst *l = &c->log.logs[log];

	l->received = l->applied = l->highest = lsn;
	l->stable = state_fuzzy_limit(c, log, lsn);
	l->base = lsn + 1;
	l->truncated = lsn;
	l->pull_from = 0;
	l->moved = true;
	state_log_heard(c, log, lsn);
}

void log_says(struct nfs4r_core *c, nfs4r_server_id log)
{
	c->log.logs[log].moved = true;
}

void log_goes_on(struct nfs4r_core *c)
{
	c->log_moved = true;
}
