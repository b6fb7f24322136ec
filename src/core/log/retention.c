/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How long entries are kept for servers that are away, and what becomes of those that come too late (log 3.11, 3.12, 8.5).
 *
 * Happy path: nobody is away, and what is stable everywhere goes (replicate.c). While somebody is away everything is kept for it, until what is kept
 * passes the bound of bytes or age that the configuration sets. The store knows where that is and says so, log by log (RETENTION). What lies
 * beyond the bound then goes as soon as it is stable at all members. A server that comes back finds out that nobody has the entries after its
 * own any more, and makes its copy anew (state_transfer.c).
 *
 * Failure modes: a member that is slow keeps everybody's entries beyond the bound: it is removed from the view (view_change.c), and added again when it
 * is near. The entries are lost with the disk of the only server that had them: for whoever needs them that is the same as being late.
 *
 * Invariants: nothing is dropped that a member has not stable. Members are judged by what they say themselves in the view that this server is
 * in; one that is not heard, or forgot, says nothing. A view's seal is never below what all members of the view before it have, since
 * one of them promises it; so what is dropped lies below every seal that is still to come, and nobody can be asked to give it for an ACCEPT. A copy
 * is made anew only when every member was heard, and none of those that can be heard has the entries. A member that forgot has none, and cannot be
 * removed before this server is back, if it is needed for a majority.
 */
#include <stdio.h>

#include "core/log/log_int.h"

/* ---- dropping ------------------------------------------------------------------------- */

/* What each of @members says is of this view, and by one that remembers. @but_forgetful: or it says that it does not, and so has nothing to give. */
static bool all_heard(const struct nfs4r_core *c, nfs4r_servers members, bool but_forgetful)
{
	EACH_PEER(c, s) {
		const struct peer *p = &c->peers[s];

		if (!(members & NFS4R_BIT(s)) || (but_forgetful && state_view_hears(c, s) && p->memory == NFS4R_MEMORY_FORGOT))
			continue;
		if (!p->reported || !state_view_hears(c, s) || p->memory != NFS4R_MEMORY_KNOWN || p->view != c->view.adopted.num)
			return false;
	}
	return true;
}

/* What is kept of @log beyond the bound, and is needed by nobody but servers outside. */
static nfs4r_lsn may_go(const struct nfs4r_core *c, nfs4r_server_id log)
{
	nfs4r_lsn until = FAULT(F_DROP_UNSTABLE) ? c->log.logs[log].stable : quorum_stable_by_all(c, log);

	if (until > c->log.beyond[log])
		until = c->log.beyond[log];
	return state_is_sealed_away(c, log, until) ? state_seal_at(&c->view.adopted, log, until)->lsn : until;
}

void log_retention_drop(struct nfs4r_core *c)
{
	if (!state_views_on(c) || c->recovering || c->repair.state || !state_memory_known(c) || !all_heard(c, c->view.adopted.members, false))
		return;
	EACH_SERVER(c, s)
		log_drop(c, s, may_go(c, s));
}

void log_retention_beyond(struct nfs4r_core *c, const nfs4r_lsn *beyond)
{
	EACH_SERVER(c, s)
		c->log.beyond[s] = beyond[s];
	log_retention_drop(c);
}

/* ---- members that are slow ------------------------------------------------------------- */

bool log_retention_is_slow(const struct nfs4r_core *c, nfs4r_server_id s)
{
	EACH_LOG(c, log)
		if (c->peers[s].stable[log] < c->log.beyond[log] && c->log.beyond[log] <= c->log.logs[log].stable)
			return true;
	return false;
}

/* Members for which alone entries are kept beyond the bound; for a while, since they may have come this moment. */
nfs4r_servers log_retention_slow(struct nfs4r_core *c)
{
	nfs4r_servers set = 0;
	char text[NFS4R_CORE_TEXT], names[NFS4R_LIST_TEXT];

	if (FAULT(F_SLOW_STAYS))
		return 0;
	EACH_MEMBER(c, s) {
		struct peer *p = &c->peers[s];

		if (!p->reported || !log_retention_is_slow(c, s)) {
			p->slow_ms = 0;
			continue;
		}
		if (!p->slow_ms)
			p->slow_ms = c->now ? c->now : 1;
		if (c->now >= p->slow_ms + state_silence_ms(c))
			set |= NFS4R_BIT(s);
		else
			out_timer_at(c, p->slow_ms + state_silence_ms(c));
	}
	if (set) {
		out_servers_text(set, names, sizeof(names));
		snprintf(text, sizeof(text), "server %s is behind by more than Retention_Bytes or Retention_Time allow: it is removed from the view until it has caught up", names);
		out_stuck(c, text);
	}
	return set;
}

/* ---- servers that come too late ---------------------------------------------------------- */

/* Who forgot gives nothing of its own log (log 8.6), though it says how far its store has it. */
bool log_retention_forgot_log(const struct nfs4r_core *c, nfs4r_server_id s, nfs4r_server_id log)
{
	return s == log && c->peers[s].memory == NFS4R_MEMORY_FORGOT;
}

/* @s can be asked for the entry @lsn of @log. */
bool log_retention_has(const struct nfs4r_core *c, nfs4r_server_id s, nfs4r_server_id log, nfs4r_lsn lsn)
{
	return !log_retention_forgot_log(c, s, log) && c->peers[s].base[log] <= lsn && c->peers[s].applied[log] >= lsn;
}

/* How far @log is known to go, or can be had: its owner is silent, perhaps for ever, or gives nothing of it. */
nfs4r_lsn log_retention_end(const struct nfs4r_core *c, nfs4r_server_id log)
{
	nfs4r_lsn end = c->log.logs[log].applied;

	if (state_view_hears(c, log) && !log_retention_forgot_log(c, log, log))
		return c->log.logs[log].end;
	EACH_PEER(c, s)
		if (state_view_hears(c, s) && !log_retention_forgot_log(c, s, log) && c->peers[s].applied[log] > end)
			end = c->peers[s].applied[log];
	return end;
}

/* Somebody has applied more of @log, and nobody that can be heard can give what comes next here. */
static bool nobody_has_next(const struct nfs4r_core *c, nfs4r_server_id log)
{
	const struct nfs4r_seal *seal = state_seal_at(&c->view.adopted, log, c->log.logs[log].applied);
	nfs4r_lsn next = c->log.logs[log].received + 1;
	bool more = false;

	if (seal && next > seal->lsn)
		return false;
	EACH_PEER(c, s) {
		if (!c->peers[s].reported || !state_view_hears(c, s) || log_retention_forgot_log(c, s, log)) /* what nobody else has is lost: its log ends before */
			continue;
		if (log_retention_has(c, s, log, next))
			return false;
		more |= c->peers[s].applied[log] >= next;
	}
	return more;
}

/*
 * Which logs have gone on without this copy. For a while entries may be on their way. Who accepts a view (log 6.5) asks its members: one that it
 * removes cannot be heard.
 */
void log_retention_look(struct nfs4r_core *c)
{
	nfs4r_servers members = c->view.accepting.from ? c->view.accepting.view.members : c->view.adopted.members, late = 0;
	bool begun = c->repair.state == REPAIR_RUNS || c->repair.state == REPAIR_ASKS;

	if (!state_views_on(c) || FAULT(F_LATE_WAITS))
		return;
	if (!begun && !c->halted && state_memory_whole(c) && all_heard(c, members, true))
		EACH_LOG(c, log)
			if (nobody_has_next(c, log))
				late |= NFS4R_BIT(log);
	if (!c->log.late)
		c->log.late_ms = c->now + state_repeat_ms(c);
	c->log.late = late;
	if (late)
		out_timer_at(c, c->log.late_ms > c->now ? c->log.late_ms : c->now + state_repeat_ms(c));
}

/* ---- for people ---------------------------------------------------------------------------- */

void nfs4r_core_retained_for(const struct nfs4r_core *c, nfs4r_servers *retained_for, nfs4r_servers *late)
{
	*retained_for = *late = 0;
	if (!state_views_on(c))
		return;
	EACH_PEER(c, s)
		EACH_LOG(c, log) {
			const struct logst *l = &c->log.logs[log];
			nfs4r_lsn has = c->peers[s].applied[log];

			if (state_is_member(c, s) || has >= l->applied)
				continue;
			if (has + 1 < l->base && c->peers[s].beats && c->peers[s].memory == NFS4R_MEMORY_KNOWN)
				*late |= NFS4R_BIT(s);
			else if (l->base <= l->applied)
				*retained_for |= NFS4R_BIT(s);
		}
	*retained_for &= ~*late;
}

void log_late_none(struct nfs4r_core *c)
{
	c->log.late = 0;
}
