/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Checkpoints of a real store (log 4.3), as the engine makes them: a task (task.c), in which files and journal are synced, then it is told what is
 * stable by that, then LMDB is written, and each of the three takes its time. Crashes come in between; what was told has to be there all the same.
 *
 * Files are not modelled, but when they are synced is: nothing may be told to be stable that was applied after the newest sync of them began.
 */
#include "storage.h"

/* Bytes or names, in place. */
static bool changes(const struct nfs4r_part *p)
{
	return p && (p->effect == NFS4R_EFF_WRITE || p->effect == NFS4R_EFF_NAMES);
}

static bool is_in_flight(const struct server *v, uint32_t obj)
{
	const struct nfs4r_oid *oid = &v->sim->objs[obj].oid;

	for (struct applying *a = v->applying; a; a = a->next)
		if (a->begun && changes(nfs4r_entry_part(a->e, oid)))
			return true;
	for (struct simop *so = v->ops; so; so = so->next)
		if (so->begun && so->intent && changes(nfs4r_entry_part(so->intent, oid)))
			return true;
	return false;
}

/* LMDB says what the files have, but for what was being changed. */
void store_touches_saved(struct server *v)
{
	struct storage *g = v->storage;

	for (uint32_t i = 0; i < g->ntouched; i++)
		if (g->touched[i] <= g->saving.touches && !is_in_flight(v, i))
			g->touched[i] = 0;
	g->saving.touches = 0;
}

static void get_applied(const struct server *v, nfs4r_lsn *out)
{
	for (uint32_t log = 1; log <= SERVERS_MAX; log++)
		out[log] = v->storage->store->logs[log].applied;
}

static int sync_files(void *arg)
{
	struct server *v = arg;
	struct storage *g = v->storage;
	struct sim *s = v->sim;
	nfs4r_lsn begun[SERVERS_MAX + 1] = { 0 };

	get_applied(v, begun);
	if (g->saving.pos != g->store->frozen.meta.pos) { /* else it is left over, and LMDB still to be written */
		if (g->store->lmdb.pos >= g->saving.pos) /* else what it held is frozen anew, and some of it set aside */
			store_touches_saved(v);
		g->saving = (struct saving_files){ g->store->frozen.meta.pos, g->touches };
	}
	if (task_running())
		task_sleep(rng_time(&s->rng, s->plan.sync_us));
	if (platter_is_dead(g->platter))
		return NFS4R_IO;
	memcpy(g->files, begun, sizeof(begun));
	return 0;
}

/* Before the records say that @e is done. What is here already is not changed again: an entry beyond the contiguous ones is committed once more after a restart. */
void store_touched(struct server *v, const struct nfs4r_entry *e)
{
	struct storage *g = v->storage;

	for (uint32_t i = 0; i < e->nparts; i++) {
		uint32_t obj = obj_of(v->sim, &e->parts[i].oid), n = v->sim->nobjs;

		if (n > g->ntouched) {
			g->touched = realloc(g->touched, n * sizeof(*g->touched));
			memset(g->touched + g->ntouched, 0, (n - g->ntouched) * sizeof(*g->touched));
			g->ntouched = n;
		}
		if (changes(&e->parts[i]) && tree_get(&v->tree, obj)->version < e->parts[i].after)
			g->touched[obj] = ++g->touches;
	}
}

/* What a checkpoint said while it went on. */
struct deferred_proposal {
	struct server *v;
	nfs4r_lsn stable[SERVERS_MAX + 1], files[SERVERS_MAX + 1];
};

static void tell_core(struct sim *s, void *arg, uint64_t generation, uint64_t unused)
{
	struct deferred_proposal *t = arg;
	struct server *v = t->v;

	if (v->up && v->generation == generation) {
		for (uint32_t log = 1; log <= s->plan.servers; log++)
			if (t->stable[log] > t->files[log])
				sim_fail(s, "S%u says that it has log %u stable to %s, and synced its files when that was at %s", v->id, log,
					 lsn_str(t->stable[log]), lsn_str(t->files[log]));
		TRACE(s, v, "files and journal are synced");
		store_note_synced(v);
		s->totals.store_tells++;
		server_safe(v, t->stable);
	}
	free(t);
}

/* As in the engine, LMDB is written after that. */
static void tell_safe(void *arg, const nfs4r_lsn *stable)
{
	struct server *v = arg;
	struct deferred_proposal *t = calloc(1, sizeof(*t));

	t->v = v;
	memcpy(t->stable, stable, sizeof(t->stable));
	memcpy(t->files, v->storage->files, sizeof(t->files));
	server_at_owned(v, v->sim->now, tell_core, t, free, v->generation, 0);
	task_sleep(rng_time(&v->sim->rng, v->sim->plan.sync_us));
}

/* A checkpoint leaves it while there is a hole in another log (log 4.3), though what was told is stable. */
static bool is_left_over(const struct server *v)
{
	return v->storage->store->frozen.ov;
}

static void lmdb_written(struct server *v)
{
	if (is_left_over(v))
		return;
	memcpy(v->storage->saved, v->storage->store->frozen.meta.applied, sizeof(v->storage->saved));
	store_touches_saved(v);
}

static void say_what_owners_have(struct server *v)
{
	nfs4r_lsn have[NFS4R_SERVERS_MAX + 1] = { 0 };
	struct nfs4r_core_peer p;

	for (nfs4r_server_id s = 1; s <= v->sim->plan.servers; s++)
		if (v->core && !v->sim->plan.owners_unheard && nfs4r_core_get_peer(v->core, s, &p))
			have[s] = p.peer_stable;
	nfs4r_store_owners_have(v->storage->store, have);
}

static int run_checkpoint(struct server *v, void *arg)
{
	say_what_owners_have(v);
	enum nfs4r_status st = nfs4r_store_checkpoint_telling(v->storage->store, sync_files, tell_safe, v, NULL);

	if (st == NFS4R_OK)
		lmdb_written(v);
	return (int)st;
}

/* What the checkers go by: what was told, or more after the end of a log or a repair. */
static void note_stable(struct server *v)
{
	for (nfs4r_server_id log = 1; log <= SERVERS_MAX && !is_left_over(v); log++)
		v->stable[log] = seal_within(v, log, v->storage->saved[log]);
}

static void checkpoint_over(struct server *v, void *arg, int result)
{
	if (result == NFS4R_OK) {
		TRACE(v->sim, v, "checkpoint to %llx", (unsigned long long)v->storage->store->frozen.meta.pos);
		v->sim->totals.store_checkpoints++;
		store_note_synced(v);
		note_stable(v);
		server_checkpointed(v);
	} else if (result == NFS4R_NOSPC || result == NFS4R_DELAY) {
		v->checkpointing = false; /* the next one tries again */
	} else if (result >= 0) {
		store_halt(v, (enum nfs4r_status)result);
	}
}

bool store_is_behind(const struct server *v)
{
	for (uint32_t log = 1; log <= v->sim->plan.servers; log++)
		if (v->storage->store->logs[log].stable != v->applied[log])
			return true;
	return false;
}

void store_checkpoint_begin(struct server *v)
{
	task_start(v, run_checkpoint, checkpoint_over, NULL);
}

bool disk_checkpoint_now(struct server *v)
{
	enum nfs4r_status st;

	if (!v->storage) {
		v->journal.synced = v->journal.n;
		return true;
	}
	if (v->storage->halted)
		return false;
	say_what_owners_have(v);
	st = nfs4r_store_checkpoint(v->storage->store, sync_files, v, NULL);
	if (st == NFS4R_OK) {
		lmdb_written(v);
		store_note_synced(v);
		note_stable(v);
	} else if (st != NFS4R_NOSPC && st != NFS4R_DELAY) {
		store_halt(v, st);
	}
	return st == NFS4R_OK;
}
