/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Who counts. "Majority" is of the voters of the active view, of which only members give acks; "all" is of its members (view.c).
 */
#include "core/state/state_int.h"

static uint32_t count(nfs4r_servers s)
{
	return (uint32_t)__builtin_popcountll(s);
}

bool quorum_is(nfs4r_servers set, nfs4r_servers voters)
{
	return count(set & voters) >= count(voters) / 2 + 1;
}

bool quorum_is_majority(const struct nfs4r_core *c, nfs4r_servers set)
{
	nfs4r_servers voters = c->view.adopted.voters;
	uint32_t need = count(voters) / 2 + 1;

	if (FAULT(F_WIN_WITHOUT_MAJORITY))
		need--;
	return count(set & voters) >= need;
}

bool quorum_is_all(const struct nfs4r_core *c, nfs4r_servers set)
{
	return (c->view.adopted.members & ~set) == 0;
}

static bool is_away(const struct nfs4r_core *c, nfs4r_server_id s)
{
	return c->peers[s].down && c->now >= c->peers[s].down_at + c->cfg.op_wait_ms;
}

/*
 * A server of the view that is known to be down for longer than an operation waits, or 0. A claim won now could not be
 * answered for before it returns, so none is begun (decision 0005): DELAY while nothing happened is honest. The same goes
 * for this server when its log has ended: it lets everything go until it is back (log 8.3); and when it leaves (control 7.12) or withdraws (log 6.12).
 */
nfs4r_server_id quorum_away(const struct nfs4r_core *c)
{
	if (state_is_ended(c, c->self) || state_lets_go(c))
		return c->self;
	EACH_MEMBER(c, s)
		if (is_away(c, s))
			return s;
	return 0;
}

nfs4r_servers quorum_here(const struct nfs4r_core *c)
{
	nfs4r_servers set = NFS4R_BIT(c->self);

	EACH_MEMBER(c, s)
		if (!is_away(c, s))
			set |= NFS4R_BIT(s);
	return set;
}

/* How far every member, and this server, has applied @log, as far as this server heard; @assumed are taken to have applied all of it. */
nfs4r_lsn quorum_applied_by_all_but(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_servers assumed)
{
	nfs4r_lsn min = assumed & NFS4R_BIT(c->self) ? UINT64_MAX : c->log.logs[log].applied;

	EACH_MEMBER(c, s)
		if (s != log && !(assumed & NFS4R_BIT(s)) && c->peers[s].applied[log] < min)
			min = c->peers[s].applied[log];
	return min;
}

nfs4r_lsn quorum_applied_by_all(const struct nfs4r_core *c, nfs4r_server_id log)
{
	return quorum_applied_by_all_but(c, log, 0);
}

nfs4r_lsn quorum_stable_by_all(const struct nfs4r_core *c, nfs4r_server_id log)
{
	nfs4r_lsn min = c->log.logs[log].stable;

	EACH_MEMBER(c, s)
		if (c->peers[s].stable[log] < min)
			min = c->peers[s].stable[log];
	return min;
}

/*
 * Log 3.11: who is outside catches up from the logs. What a copy has beyond a seal it needs until it is repaired. What somebody said who is
 * not heard any more does not count: it may be back with another disk, and have its copy from one that has less (log 8.6).
 */
nfs4r_lsn quorum_stable_everywhere(const struct nfs4r_core *c, nfs4r_server_id log)
{
	nfs4r_lsn min = c->log.logs[log].stable;

	EACH_PEER(c, s)
		if (state_views_on(c) && !(state_view_hears(c, s) && state_memory_counts(c, s)))
			return 0;
	EACH_PEER(c, s)
		if (c->peers[s].stable[log] < min)
			min = c->peers[s].stable[log];
	return state_is_sealed_away(c, log, min) ? state_seal_at(&c->view.adopted, log, min)->lsn : min;
}
