/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What servers controlled when their logs ended (locks 11): whoever wins control of it has no table of its locks.
 *
 * Happy path: when this server crosses the end of a log, each claim of that server becomes rows 'G', one for each object, in place of the row of the claim. An ACK says whether something of what is asked for, or
 * below it, has such a row. The winner ends the gap (gap.c) and tells all members, which drop the rows that its claim covers. A deep row above what was won stays: whoever wins something else there is
 * in a gap, too.
 *
 * Failure modes: a server was outside: when it joins it drops the rows that it had before, if a majority of the voters was in the view all the time, and takes over those of all members. What it notes as it crosses the ends of logs in that view stays: perhaps nobody else had the claim. A row that is there for nothing costs the next winner a question to all members, and no lock.
 *
 * Invariants: a majority has the row of each object that a server with an ended log may have granted locks of, until somebody has ended that gap.
 */
#include "core/locks/locks_int.h"

static struct gap_row *find(const struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct gap_row *r;

	HASH_FIND(hh, c->locks.gap_rows, oid, sizeof(*oid), r);
	return r;
}

static struct gap_row *add(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct gap_row *r = out_xcalloc(1, sizeof(*r));

	r->oid = *oid;
	HASH_ADD(hh, c->locks.gap_rows, oid, sizeof(r->oid), r);
	return r;
}

static void drop(struct nfs4r_core *c, struct gap_row *r)
{
	struct nfs4r_put p;

	row_gap(r, &p, true);
	out_put(c, &p);
	HASH_DEL(c->locks.gap_rows, r);
	free(r);
}

bool locks_gap_restored(struct nfs4r_core *c, const struct gap_row *row)
{
	struct gap_row *r;

	if (row->depth < NFS4R_SHALLOW || row->depth > NFS4R_DEEP_PLUS || !row->server || row->server > NFS4R_SERVERS_MAX || !row->end || find(c, &row->oid))
		return false;
	r = add(c, &row->oid);
	r->depth = row->depth;
	r->server = row->server;
	r->end = row->end;
	return true;
}

void locks_gap_note(struct nfs4r_core *c, const struct nfs4r_control *k, nfs4r_server_id server, nfs4r_lsn end)
{
	struct gap_row *r = find(c, &k->oid);
	struct nfs4r_facts f;
	struct nfs4r_put p;

	control_is_known(c, &k->oid, &f);
	if (f.known == NFS4R_DEAD || (r && r->depth >= k->depth)) {
		if (r)
			r->old = false;
		return;
	}
	if (!r)
		r = add(c, &k->oid);
	r->old = false;
	r->depth = k->depth;
	r->server = server;
	r->end = end;
	row_gap(r, &p, false);
	out_put(c, &p);
	locks_sweep_soon(c);
}

/* Before its row goes. */
void locks_gap_of_ended(struct nfs4r_core *c, const struct claim *cl)
{
	nfs4r_server_id s = (nfs4r_server_id)cl->key.server;
	const struct nfs4r_seal *seal = state_seal_at(&c->view.adopted, s, c->log.logs[s].applied);
	nfs4r_lsn end = seal ? NFS4R_AFTER_SEAL(seal->lsn) : state_seal_begin(&c->view.adopted, s);

	if (!state_locks_shared(c) || FAULT(F_LOCK_GAP_UNNOTED))
		return;
	for (uint32_t i = 0; i < cl->n; i++)
		locks_gap_note(c, &(struct nfs4r_control){ cl->ctl[i].oid, cl->ctl[i].depth }, s, end ? end : 1);
}

static bool covers(struct nfs4r_core *c, const struct nfs4r_control *k, const struct gap_row *r)
{
	if (nfs4r_oid_eq(&k->oid, &r->oid))
		return k->depth >= r->depth;
	return k->depth >= NFS4R_DEEP && control_is_under(c, &r->oid, &k->oid);
}

bool locks_gap_noted(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct gap_row *r;
	struct walk w;

	if (!c->locks.gap_rows)
		return false;
	control_walk_begin(&w, oid);
	do {
		r = find(c, &w.oid);
		if (r && (!w.level || r->depth >= NFS4R_DEEP))
			return true;
	} while (control_walk_up(c, &w));
	return false;
}

/* In, or below, what @k controls, or above it. */
static bool touches(struct nfs4r_core *c, const struct ctl *k)
{
	struct gap_row *r;

	if (locks_gap_noted(c, &k->oid))
		return true;
	for (r = k->depth >= NFS4R_DEEP ? c->locks.gap_rows : NULL; r; r = r->hh.next)
		if (control_is_under(c, &r->oid, &k->oid))
			return true;
	return false;
}

bool locks_gap_touches(struct nfs4r_core *c, const struct claim *cl)
{
	for (uint32_t i = 0; i < cl->n && c->locks.gap_rows; i++)
		if (touches(c, &cl->ctl[i]))
			return true;
	return false;
}

void locks_gap_drop(struct nfs4r_core *c, const struct nfs4r_control *v, uint32_t n)
{
	struct gap_row *r, *tmp;

	for (uint32_t i = 0; i < n; i++) {
		const struct nfs4r_control *k = &v[i];

		r = find(c, &k->oid);
		if (r && covers(c, k, r))
			drop(c, r);
		if (k->depth < NFS4R_DEEP)
			continue;
		HASH_ITER(hh, c->locks.gap_rows, r, tmp)
			if (covers(c, k, r))
				drop(c, r);
	}
}

void locks_gap_dead(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct gap_row *r = find(c, oid);

	if (r)
		drop(c, r);
}

/* A view was adopted, whose logs end next. What was noted before may be over if this server was outside. */
void locks_gaps_older(struct nfs4r_core *c, nfs4r_servers anew)
{
	nfs4r_servers stayed = c->view.adopted.members & ~anew;
	struct gap_row *r, *tmp;

	if (state_is_member(c, c->self) && !(anew & NFS4R_BIT(c->self))) {
		c->locks.gap_stayed &= stayed;
		return;
	}
	c->locks.gap_stayed = stayed;
	HASH_ITER(hh, c->locks.gap_rows, r, tmp)
		r->old = true;
}

void locks_gaps_forget(struct nfs4r_core *c)
{
	struct gap_row *r, *tmp;

	if (!quorum_is_majority(c, c->locks.gap_stayed) && !FAULT(F_LOCK_JOIN_OF_FEW) && !FAULT(F_LOCK_JOIN_DROPS_GAPS)) /* perhaps this server alone is left of those that noted it */
		return;
	HASH_ITER(hh, c->locks.gap_rows, r, tmp)
		if ((r->old || FAULT(F_LOCK_JOIN_DROPS_GAPS)) && !FAULT(F_LOCK_JOIN_KEEPS_GAPS))
			drop(c, r);
}

void locks_gap_taken_over(struct nfs4r_core *c, const struct nfs4r_control *k, nfs4r_server_id server, nfs4r_lsn end)
{
	locks_gap_note(c, k, server, end);
}
