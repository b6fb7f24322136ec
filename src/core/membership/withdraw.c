/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * An entry of another server that this one cannot apply (log 4.11), and how it withdraws from the view because of it (log 6.12).
 *
 * Happy path: there is none. Local execution fails for whatever reason: the disk is full or broken, the file is too large for this file system,
 * the directory is immutable, a stranger's file has the name. The entry stays in its place and is tried again every second; entries of other objects
 * go on meanwhile. After half a lease this server is in *trouble*. Everybody waits for it ("applied by all"), so it asks to be removed: its HEARTBEATs
 * name the cause. The others grant it nothing any more and make a view without it, by the rules for a member that is silent. Until then it lets
 * go of what it controls, as before a stop (control 7.12), so that nobody has to wait for its claims either. Outside it goes on receiving, applying and trying
 * again, and does not call itself caught up. When the entry is applied, or has become moot, it returns like any other server (log 8).
 *
 * Failure modes: no view can do without it: it stays a member, keeps its lease, and the others wait, as with a fixed view. A restart: the trouble is in a row,
 * so that this server is not added, removed and added again before it comes to the entry. The entry is lost with its owner's machine: the trouble ends when that
 * server says that its log is shorter.
 *
 * Invariants: no rule of views is weakened. A promise to remove waits for the end of the lease, whatever a HEARTBEAT says about trouble. An entry that failed may have
 * been executed in part; if it is given back its objects count as inexact (log 7.5).
 */
#include "core/membership/membership_int.h"

static void say(struct nfs4r_core *c)
{
	c->dirty |= DIRTY_OPS | DIRTY_RELEASE;
	EACH_PEER(c, s)
		view_beat_to(c, s);
}

static void save(struct nfs4r_core *c)
{
	struct nfs4r_put p;

	row_trouble(&c->trouble, &p);
	out_put(c, &p);
}

static void begin(struct nfs4r_core *c, uint32_t cause, nfs4r_server_id log, nfs4r_lsn lsn)
{
	if (state_trouble_is(c) || !state_views_on(c))
		return;
	c->trouble.cause = cause;
	c->trouble.log = log;
	c->trouble.lsn = lsn;
	save(c);
	say(c);
}

/* Nothing is applied before that is settled, and all may wait for it: at once. */
void view_trouble_reported(struct nfs4r_core *c, enum nfs4r_status st)
{
	c->trouble.reported = true;
	begin(c, st ? st : NFS4R_IO, c->self, c->log.logs[c->self].applied);
}

/* ---- the entry --------------------------------------------------------------------------- */

static void look_at(struct nfs4r_core *c, struct pend *p)
{
	uint64_t late = p->failed_ms + state_lease_ms(c) / 2;

	if (p->state == PEND_QUEUED && c->now >= p->again_ms)
		log_pend_wake(c, p);
	else if (p->state == PEND_QUEUED)
		out_timer_at(c, p->again_ms);
	if (c->now >= late)
		begin(c, p->cause, p->entry->log, p->entry->lsn);
	else if (!state_trouble_is(c))
		out_timer_at(c, late);
}

void view_trouble_timers(struct nfs4r_core *c)
{
	struct pend *p;

	if (!c->log.nfailed)
		return;
	EACH_LOG(c, s)
		DL_FOREACH(c->log.logs[s].pend, p)
			if (p->failed_ms)
				look_at(c, p);
}

/* ---- its end ------------------------------------------------------------------------------- */

/* Its owner says that there is no such entry: it was lost with that one's machine before anybody had it. */
static bool never_was(const struct nfs4r_core *c)
{
	nfs4r_server_id log = c->trouble.log;

	return log == c->self ? !c->recovering : c->peers[log].reported && state_view_hears(c, log) && c->log.logs[log].end < c->trouble.lsn;
}

static bool is_over(const struct nfs4r_core *c)
{
	const struct logst *l = &c->log.logs[c->trouble.log];

	if (c->log.nfailed || c->log.npassed || c->trouble.reported)
		return false;
	return l->applied >= c->trouble.lsn || NFS4R_GEN(l->applied) != NFS4R_GEN(c->trouble.lsn) || never_was(c);
}

/* At the end of a step. */
void view_trouble_advance(struct nfs4r_core *c)
{
	if (!state_trouble_is(c) || c->repair.state || !is_over(c))
		return;
	c->trouble.cause = 0;
	save(c);
	say(c);
	out_timer_at(c, c->now); /* what waited for it is looked at in the next step */
}

/* ---- servers that have halted (log 4.15) ------------------------------------------------------ */

/* What it said before stands, its lease included; it will say nothing more, so it is not waited for until it counts as silent. */
void view_trouble_on_halted(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct peer *p = &c->peers[from];

	if (FAULT(F_HALTED_UNHEARD))
		return;
	p->trouble = m->halted.status ? m->halted.status : NFS4R_IO;
	p->halted = true;
	p->halted_files = m->halted.files;
}

void view_trouble_unheard(struct peer *p)
{
	if (p->halted)
		p->trouble = 0;
	p->halted = false;
}

/* ---- other servers that are in trouble -------------------------------------------------------- */

/* Members in trouble that a view can do without, as many as there may be beside @gone; those with the lowest ids first, so that all who propose agree. */
nfs4r_servers view_trouble_members(const struct nfs4r_core *c, nfs4r_servers gone)
{
	nfs4r_servers set = 0;

	EACH_PEER(c, s)
		if (state_is_member(c, s) && c->peers[s].trouble && state_views_enough(c, c->view.adopted.members & ~(gone | set | NFS4R_BIT(s))) && !FAULT(F_STUCK_STAYS))
			set |= NFS4R_BIT(s);
	return set & ~gone;
}

/* It is granted nothing, unless there is no view without it. */
bool view_trouble_may_grant(const struct nfs4r_core *c, nfs4r_server_id s)
{
	return !c->peers[s].trouble || !state_views_enough(c, c->view.accepted.members & ~NFS4R_BIT(s));
}

void view_trouble_cleared(struct nfs4r_core *c)
{
	c->trouble.reported = false;
}

void view_trouble_restored(struct nfs4r_core *c, uint32_t cause, nfs4r_server_id log, nfs4r_lsn lsn)
{
	c->trouble.cause = cause;
	c->trouble.log = log;
	c->trouble.lsn = lsn;
}
