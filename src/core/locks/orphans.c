/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Locks that nobody gives back (locks 7, 12, 13): of clients that are gone, of servers that are outside, and of earlier lives of clients.
 *
 * Happy path: a server is outside, and its log has ended. lock_grace_ms later the member with the lowest number writes into its own log that the clients of that server are gone, with all
 * locks of the generations that have ended. When a majority holds an entry of this kind, or one of a server about its own clients, each authority takes away what it names. Rows are older: whoever makes
 * a table of one leaves out what is gone. The member with the lowest number asks for a table of each file whose row has such locks, so that these are written anew.
 *
 * Failure modes: that member fails before its entry is held: another one has the lowest number, and writes it again. The server is back before: its clients are its own.
 *
 * Invariants: a lock goes only by an entry that a majority holds. Numbers of a server that is back are higher than those that were ended.
 */
#include "core/locks/locks_int.h"

#define SWEEP_MS 1000 /* rows are looked at again after so long, while some have locks that are gone */
#define SWEEP_MOST_MS 64000 /* ... that may be gone: twice as long each time, at most so long */

bool locks_is_lost(const struct nfs4r_core *c, nfs4r_server_id holder, const struct nfs4r_lock *lock)
{
	return log_client_lost(c, holder, lock->owner.client, lock->life);
}

static bool is_lowest(const struct nfs4r_core *c)
{
	return state_is_member(c, c->self) && !(c->view.adopted.members & (NFS4R_BIT(c->self) - 1));
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void drop_lost(struct nfs4r_core *c, struct lock_file *f)
{
	struct nfs4r_file_lock *v = out_xcalloc(NFS4R_LOCKS_LIST_MAX, sizeof(*v));
	uint32_t n = locks_file_list(c, f, v);
	struct lock_wait *w, *tmp;

	for (uint32_t i = 0; i < n; i++)
		if (locks_is_lost(c, v[i].holder, &v[i].lock))
			locks_clear(c, f, &v[i].lock);
	free(v);
	DL_FOREACH_SAFE(f->waits, w, tmp)
		if (locks_is_lost(c, w->holder, &w->lock) && !FAULT(F_LOCK_LOST_WAITS))
			locks_requeue(c, f, w); /* perhaps its client waits in a later life */
}

/* Entries are held by now that were not. */
void locks_lost(struct nfs4r_core *c)
{
	struct lock_file *f, *tmp;

	HASH_ITER(hh, c->locks.files, f, tmp)
		if (!f->leaves)
			drop_lost(c, f);
	locks_serve(c);
	locks_sweep_soon(c);
}

/* ---- servers that are outside --------------------------------------------------------------------- */

static uint64_t counter(uint64_t inc)
{
	return inc & (((uint64_t)1 << NFS4R_GEN_SHIFT) - 1);
}

/* All its numbers of generations that have ended are lower, all of later ones are not. */
static uint64_t number_after(const struct nfs4r_core *c, nfs4r_server_id s)
{
	uint64_t generation = NFS4R_GEN(c->log.logs[s].applied), start = counter(c->peers[s].knows.inc > c->peers[s].start.inc ? c->peers[s].knows.inc : c->peers[s].start.inc);

	return generation ? locks_number_base(generation - 1, start + 1) : 0;
}

static void end_of(struct nfs4r_core *c, nfs4r_server_id s)
{
	uint64_t n = number_after(c, s);

	if (n > log_clients_ended(c, s) && is_lowest(c))
		log_clients_end(c, s, n, NFS4R_GEN(c->log.logs[s].applied) << NFS4R_GEN_SHIFT);
}

static void outside(struct nfs4r_core *c)
{
	uint64_t grace = FAULT(F_LOCK_ORPHANS_AT_ONCE) ? 0 : c->cfg.lock_grace_ms;

	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++) {
		uint64_t *since = &c->locks.outside_ms[s];

		if (s == c->self || state_is_member(c, s) || !c->log.logs[s].applied) {
			*since = 0;
			continue;
		}
		if (!*since)
			*since = c->now ? c->now : 1;
		if (number_after(c, s) <= log_clients_ended(c, s))
			continue;
		if (c->now < *since + grace)
			out_timer_at(c, *since + grace);
		else if (log_clients_may_say(c))
			end_of(c, s);
		else
			out_timer_at(c, c->now + state_repeat_ms(c));
	}
}

/* ---- rows ------------------------------------------------------------------------------------------ */

static bool row_has_lost(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	uint32_t n = c->tree.locks(c->tree.ctx, oid, NULL, 0);
	struct nfs4r_file_lock *v = n ? out_xcalloc(n, sizeof(*v)) : NULL;
	bool any = false;

	if (n)
		n = c->tree.locks(c->tree.ctx, oid, v, n);
	for (uint32_t i = 0; i < n; i++)
		any |= locks_is_lost(c, v[i].holder, &v[i].lock);
	free(v);
	return any;
}

/* Its row lists locks, and who controlled it is gone: what it granted and took back since is in no row (locks 11). */
static bool is_in_noted_gap(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	return locks_gap_noted(c, oid) && !control_own_acting_cover(c, oid) && !FAULT(F_LOCK_GAP_ROWS);
}

/* Rarely, where that makes no end of it: what was noted of a directory, deep, stays. */
static uint64_t again_ms(struct nfs4r_core *c, bool lost)
{
	c->locks.sweep_every_ms = lost || !c->locks.sweep_every_ms ? SWEEP_MS : c->locks.sweep_every_ms * 2;
	if (c->locks.sweep_every_ms > SWEEP_MOST_MS)
		c->locks.sweep_every_ms = SWEEP_MOST_MS;
	return c->now + c->locks.sweep_every_ms;
}

void locks_sweep_soon(struct nfs4r_core *c)
{
	c->locks.sweep_every_ms = 0;
	if (!c->locks.sweep_ms)
		c->locks.sweep_ms = c->now + SWEEP_MS;
	out_timer_at(c, c->locks.sweep_ms);
}

/* Up to @max files whose rows have locks that are gone, or may be. */
uint32_t locks_sweep(struct nfs4r_core *c, struct nfs4r_oid *out, uint32_t max)
{
	struct nfs4r_oid oid = { { 0 } };
	bool lost = false;
	uint32_t n = 0;

	if (!c->locks.sweep_ms || !c->tree.next_locked || FAULT(F_LOCK_ORPHANS_IN_ROWS))
		return 0;
	if (c->now < c->locks.sweep_ms) {
		out_timer_at(c, c->locks.sweep_ms);
		return 0;
	}
	c->locks.sweep_ms = 0;
	if (!is_lowest(c))
		return 0;
	while (n < max && c->tree.next_locked(c->tree.ctx, &oid, &oid)) {
		bool gone = !locks_file_find(c, &oid) && row_has_lost(c, &oid); /* what is in a table here is written when control ends */

		if (gone || is_in_noted_gap(c, &oid))
			out[n++] = oid;
		lost |= gone;
	}
	if (n) {
		c->locks.sweep_ms = again_ms(c, lost);
		out_timer_at(c, c->locks.sweep_ms);
	}
	return n;
}

void locks_orphans_timers(struct nfs4r_core *c)
{
	outside(c);
}

/* Another one may have the lowest number now; a server may be outside, or back. */
void locks_orphans_new_view(struct nfs4r_core *c)
{
	outside(c);
	locks_sweep_soon(c);
}
