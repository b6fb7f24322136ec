/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Ends and starts of a server with a real store. The store is opened as soon as the server is down, so that what was lost is known at once: the
 * list of records is cut to what the journal still has, which has to be all of it after a crash of the process or an orderly end, and all that was synced
 * after a loss of power. At the start the core gets back what the store has, as the engine does it (src/engine/start/recover.c).
 */
#include "storage.h"

#define ULL(x) ((unsigned long long)(x))

static void cut_to_journal(struct server *v, uint32_t floor)
{
	struct journal *j = &v->journal;
	uint32_t n = 0;

	while (n < j->n && j->recs[n].end <= v->storage->end)
		n++;
	if (n < floor)
		sim_fail(v->sim, "S%u: its journal ends at %llx with %u records, and %u were there for good, to %llx", v->id, ULL(v->storage->end), n, floor,
			 ULL(j->recs[floor - 1].end));
	v->sim->totals.store_torn += n < j->n;
	journal_cut(j, n);
	j->synced = n;
}

static void take_tail(struct server *v)
{
	struct storage *g = v->storage;
	bool was_lost = v->tail_lost;
	nfs4r_lsn own;

	v->tail_lost = !g->info.tail_intact;
	if (was_lost && !v->tail_lost) /* it noted that its tail is back, and died before it said so */
		check_recovered(v, g->info.logs[v->id].applied);
	g->recovering = false;
	if (!v->tail_lost) {
		journal_drop_holes(&v->journal, v->id, g->store->meta.pos);
		return;
	}
	own = journal_drop_undecided(&v->journal, v->id, g->store->meta.pos);
	if (own != g->info.logs[v->id].applied)
		sim_fail(v->sim, "S%u: its store has its own log to %s, its records say %s", v->id, lsn_str(g->info.logs[v->id].applied), lsn_str(own));
	check_crashed(v, own);
}

void store_note_amid(struct server *v)
{
	struct storage *g = v->storage;

	free(g->amid);
	g->namid = v->sim->nobjs;
	g->amid = calloc(g->namid, sizeof(*g->amid));
	for (const struct applying *a = v->applying; a; a = a->next)
		for (uint32_t i = 0; a->begun && a->mask && i < a->e->nparts; i++)
			g->amid[obj_of(v->sim, &a->e->parts[i].oid)] = true;
}

void store_crash(struct server *v, bool machine)
{
	struct storage *g = v->storage;
	struct sim *s = v->sim;
	uint32_t boots = g->boots;
	uint64_t died = s->totals.store_open_dies;
	bool ordered = !machine && !g->halted && rng_chance(&s->rng, s->plan.closes), was_lost = v->tail_lost, off;
	bool noted = g->store && store_jnl_is_noted(&g->store->jnl); /* a sync failed: in the same life of the machine, too, nobody can tell what is on the disk */

	memcpy(g->told, v->stable, sizeof(v->stable));
	store_close(v, ordered, machine);
	if (machine || (ordered && rng_chance(&s->rng, 500))) {
		platter_lose_power(g->platter);
		g->boots++;
	}
	store_open(v, true);
	off = g->boots != boots;
	TRACE(s, v, "%s, lmdb to %llx, journal ends at %llx, tail %s", ordered ? "ended in order" : "crashed", ULL(g->store->meta.pos), ULL(g->end),
	      g->info.tail_intact ? "whole" : "lost");
	cut_to_journal(v, off ? v->journal.synced : v->journal.n);
	if (g->info.tail_intact && ((was_lost && !g->recovering) || (off && !ordered) || (noted && !off)))
		sim_fail(s, "S%u takes its tail for whole", v->id);
	if (!g->info.tail_intact && !was_lost && !noted && (!off || (ordered && died == s->totals.store_open_dies)))
		sim_fail(s, "S%u takes its tail for lost", v->id);
	take_tail(v);
}

static void forget_told(struct server *v)
{
	memset(v->storage->told, 0, sizeof(v->storage->told));
	memset(v->storage->saved, 0, sizeof(v->storage->saved));
	v->storage->ntouched = v->storage->namid = 0;
}

void store_lost(struct server *v)
{
	store_close(v, false, true);
	platter_clear(v->storage->platter);
	store_open(v, false);
	if (!v->storage->info.created)
		sim_fail(v->sim, "S%u: its empty disk is no new store", v->id);
	forget_told(v);
}

void store_image(struct server *v)
{
	image_free(v->storage->image);
	v->storage->image = platter_image(v->storage->platter);
}

void store_put_back(struct server *v)
{
	struct storage *g = v->storage;

	store_close(v, false, true);
	platter_put_back(g->platter, g->image);
	g->boots++;
	store_open(v, true);
	cut_to_journal(v, v->image.records);
	if (g->info.tail_intact)
		sim_fail(v->sim, "S%u takes the tail of an old image for whole", v->id);
	take_tail(v);
	forget_told(v);
}

/* ---- start ---- */

static void check_told(struct server *v, uint32_t log)
{
	const struct storage *g = v->storage;
	nfs4r_lsn has = g->info.logs[log].applied, lmdb = g->info.logs[log].stable;

	if (has < g->told[log])
		sim_fail(v->sim, "S%u had log %u stable to %s, and has it to %s", v->id, log, lsn_str(g->told[log]), lsn_str(has));
	if (lmdb < g->saved[log])
		sim_fail(v->sim, "S%u had log %u in LMDB to %s, and has it there to %s", v->id, log, lsn_str(g->saved[log]), lsn_str(lmdb));
}

/* LMDB may be behind what was told (log 4.3), if the checkpoint was not over; the journal may not. */
void store_begin(struct server *v)
{
	struct storage *g = v->storage;
	bool behind = false;

	for (uint32_t log = 1; log <= v->sim->plan.servers; log++) {
		nfs4r_lsn base = g->info.logs[log].base;

		v->truncated[log] = base ? base - 1 : 0;
		check_told(v, log);
		behind |= g->info.logs[log].stable < g->told[log];
	}
	v->sim->totals.store_behind += behind;
}

void store_began(struct server *v)
{
	const struct nfs4r_store_info *info = &v->storage->info;

	for (uint32_t log = 1; log <= v->sim->plan.servers; log++) {
		v->stable[log] = info->logs[log].stable > v->storage->told[log] ? info->logs[log].stable : v->storage->told[log];
		if (info->logs[log].applied != v->applied[log])
			sim_fail(v->sim, "S%u: its store has log %u to %s, its records say %s", v->id, log, lsn_str(info->logs[log].applied),
				 lsn_str(v->applied[log]));
	}
	v->inc = info->inc;
	v->inc_random = info->inc_random;
}

uint32_t store_intents(struct server *v, struct nfs4r_entry **out, uint32_t max)
{
	uint32_t n = v->storage->info.nintents;

	for (uint32_t i = 0; i < n && i < max; i++)
		out[i] = nfs4r_store_intent_at(v->storage->store, i);
	return n < max ? n : max;
}

bool store_has_intent(struct server *v, nfs4r_lsn lsn)
{
	bool has = false;

	for (uint32_t i = 0; v->storage && i < v->storage->info.nintents; i++) {
		struct nfs4r_entry *e = nfs4r_store_intent_at(v->storage->store, i);

		has |= e->lsn == lsn;
		nfs4r_entry_put(e);
	}
	return has;
}

struct restore {
	struct server *v;
	bool bad;
};

static void restore_row(void *arg, const uint8_t *key, uint16_t key_len, const uint8_t *val, uint16_t val_len)
{
	struct restore *r = arg;

	r->bad |= nfs4r_core_restore_row(r->v->core, key, key_len, val, val_len) != NFS4R_OK;
}

static bool restore_own(struct server *v, nfs4r_lsn last)
{
	nfs4r_lsn lsn = 0;

	while ((lsn = nfs4r_store_log_next(v->storage->store, v->id, lsn)) && lsn <= last) {
		struct nfs4r_entry *e = nfs4r_store_log_read(v->storage->store, v->id, lsn);
		bool bad = !e || nfs4r_core_restore_entry(v->core, lsn, nfs4r_entry_bytes(e)) != NFS4R_OK;

		if (e)
			nfs4r_entry_put(e);
		if (bad)
			return false;
	}
	return true;
}

bool store_give_back(struct server *v)
{
	const struct nfs4r_store_info *info = &v->storage->info;
	struct restore r = { v, false };
	const struct nfs4r_given_back *back;
	nfs4r_lsn first, last, own;
	uint32_t nback;

	nfs4r_store_each_core_row(v->storage->store, restore_row, &r);
	nfs4r_store_log_range(v->storage->store, v->id, &first, &own);
	if (v->tail_lost || own < info->logs[v->id].applied)
		own = info->logs[v->id].applied;
	for (uint32_t log = 1; log <= v->sim->plan.servers; log++)
		r.bad |= nfs4r_core_restore_log(v->core, (nfs4r_server_id)log, info->logs[log].base, log == v->id ? own : info->logs[log].applied,
						info->logs[log].stable) != NFS4R_OK;
	for (uint32_t log = 1; log <= v->sim->plan.servers; log++) {
		nfs4r_store_log_range(v->storage->store, (nfs4r_server_id)log, &first, &last);
		if (log != v->id && last > info->logs[log].applied)
			r.bad |= nfs4r_core_restore_beyond(v->core, (nfs4r_server_id)log, last) != NFS4R_OK;
	}
	nback = nfs4r_store_given_back(v->storage->store, &back);
	for (uint32_t i = 0; i < nback; i++)
		nfs4r_core_restore_given_back(v->core, back[i].log, back[i].lsn, &back[i].oid, back[i].version);
	r.bad |= !restore_own(v, own);
	for (uint32_t i = 0; i < info->nintents; i++) {
		struct nfs4r_entry *e = nfs4r_store_intent_at(v->storage->store, i);

		r.bad |= nfs4r_core_restore_intent(v->core, e) != NFS4R_OK;
		nfs4r_entry_put(e);
	}
	return !r.bad;
}
