/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * See store.h: each change goes to the shipped store, too, and notes where in its journal it ended. Syncs are tasks (task.c), and so are checkpoints (store_checkpoint.c).
 *
 * A server whose store cannot be written halts, as the engine does (log 4.8): nothing of what it was about to say is said, and
 * it starts again later. It may do so only if its disk failed, was full, or died.
 */
#include "storage.h"

static struct sim *the_sim;

/* ---- halting ---- */

void store_halt(struct server *v, enum nfs4r_status st)
{
	struct storage *g = v->storage;

	if (platter_was_full(g->platter))
		g->excused = true;
	if (!g->halted && !g->excused && !platter_is_dead(g->platter))
		sim_fail(v->sim, "S%u: its store says %s, and nothing is wrong with its disk", v->id, nfs4r_status_str(st));
	TRACE(v->sim, v, "halts: %s", nfs4r_status_str(st));
	v->sim->totals.store_halts += !g->halted;
	g->halted = true;
}

void store_died(struct server *v)
{
	v->storage->halted = true;
}

bool store_halted(const struct server *v, bool *machine)
{
	*machine = v->storage && v->storage->halted && v->storage->machine;
	return v->storage && v->storage->halted;
}

void stores_settle(struct sim *s)
{
	bool machine;

	for (uint32_t i = 1; i <= s->plan.servers; i++)
		if (s->servers[i].up && store_halted(&s->servers[i], &machine))
			server_stop(&s->servers[i], machine);
}

struct server *store_of(const void *inside)
{
	for (uint32_t i = 1; i <= SERVERS_MAX; i++) {
		struct storage *g = the_sim->servers[i].storage;

		if (g && g->store && (const char *)inside >= (const char *)g->store && (const char *)inside < (const char *)(g->store + 1))
			return &the_sim->servers[i];
	}
	return NULL;
}

/* ---- changes ---- */

static bool went(struct server *v, enum nfs4r_status st)
{
	if (st != NFS4R_OK)
		store_halt(v, st);
	return st == NFS4R_OK;
}

/* What a thread of the shipped store does by itself. */
static int run_lay_out(struct server *v, void *arg)
{
	store_jnl_lay_out(&v->storage->store->jnl, v->sim->plan.ahead_bytes);
	v->storage->laying = false;
	return 0;
}

static void laid_out(struct server *v, void *arg, int result)
{
}

static void lay_out(struct server *v)
{
	struct storage *g = v->storage;

	if (!v->sim->plan.ahead_bytes || g->laying || task_running() || !store_jnl_wants_room(&g->store->jnl, v->sim->plan.ahead_bytes))
		return;
	g->laying = true;
	task_start(v, run_lay_out, laid_out, NULL);
}

/* The last record of the list ends here. */
static void note_end(struct server *v)
{
	if (!v->storage)
		return;
	v->journal.recs[v->journal.n - 1].end = nfs4r_store_position(v->storage->store);
	lay_out(v);
}

bool disk_put(struct server *v, const struct nfs4r_put *p)
{
	if (v->storage && (v->storage->halted || !went(v, nfs4r_store_put(v->storage->store, p, 1))))
		return false;
	journal_put(&v->journal, p);
	note_end(v);
	return true;
}

bool disk_intent(struct server *v, struct nfs4r_entry *e, uint64_t *sync_first)
{
	*sync_first = 0;
	if (v->storage && (v->storage->halted || !went(v, nfs4r_store_intent(v->storage->store, e, sync_first))))
		return false;
	journal_intent(&v->journal, e);
	note_end(v);
	return true;
}

bool disk_commit(struct server *v, struct nfs4r_entry *e, bool own, const struct nfs4r_put *puts, uint32_t n)
{
	if (v->storage && (v->storage->halted || !went(v, nfs4r_store_commit(v->storage->store, e, own, puts, n))))
		return false;
	if (v->storage)
		store_touched(v, e);
	journal_commit(&v->journal, e, own, puts, n);
	note_end(v);
	return true;
}

bool disk_sealed(struct server *v, nfs4r_server_id log, nfs4r_lsn seal)
{
	if (v->storage && (v->storage->halted || !went(v, nfs4r_store_seal(v->storage->store, log, seal))))
		return false;
	journal_sealed(&v->journal, log, seal);
	note_end(v);
	return true;
}

/* Of the list of parents, in which one is as often as it has names, each once. */
static void set_parents(struct sim *s, const struct row *row, struct nfs4r_copy_row *out)
{
	for (uint32_t i = 0; i < row->nparents; i++) {
		const struct nfs4r_oid *oid = &s->objs[row->parents[i]].oid;
		uint32_t k = 0;

		while (k < out->nparents && !nfs4r_oid_eq(&out->parents[k], oid))
			k++;
		if (k == out->nparents)
			out->parents[out->nparents++] = *oid;
		out->parent_names[k]++;
	}
}

static enum nfs4r_status install(struct server *v, uint32_t obj, const struct row *row)
{
	struct sim *s = v->sim;
	struct nfs4r_install in = { .oid = s->objs[obj].oid };
	enum nfs4r_status st;

	if (row->state != ROW_KNOWN)
		return obj && nfs4r_store_row(v->storage->store, &in.oid, NULL) == NFS4R_KNOWN ? nfs4r_store_forget(v->storage->store, &in.oid) : NFS4R_OK;
	in.row = (struct nfs4r_copy_row){ .version = row->version, .type = row->type, .multi = row->multi, .nlink = row->nlink, .last_log = row->last_log, .last_lsn = row->last_lsn };
	set_parents(s, row, &in.row);
	struct nfs4r_dirent *names = calloc(row->nnames + 1u, sizeof(*names));

	for (uint32_t i = 0; i < row->nnames; i++) {
		name_set(s, &names[i].name, row->names[i].name);
		names[i].oid = s->objs[row->names[i].obj].oid;
		names[i].type = row->names[i].type;
		names[i].cookie = row->names[i].cookie;
	}
	in.nnames = row->nnames;
	in.names = names;
	st = nfs4r_store_install(v->storage->store, &in);
	free(names);
	return st;
}

bool disk_install(struct server *v, uint32_t obj, const struct row *row)
{
	if (v->storage && (v->storage->halted || !went(v, install(v, obj, row))))
		return false;
	journal_install(&v->journal, obj, row);
	note_end(v);
	return true;
}

void store_note_source(struct server *v, const struct server *from)
{
	if (v->storage)
		nfs4r_store_get_positions(from->storage->store, &v->storage->source);
}

static enum nfs4r_status take_positions(struct server *v, const nfs4r_lsn *applied)
{
	struct nfs4r_store_positions p = v->storage->source;

	for (uint32_t log = 1; log <= SERVERS_MAX; log++)
		p.applied[log] = applied[log];
	return nfs4r_store_set_positions(v->storage->store, &p);
}

bool disk_positions(struct server *v, const nfs4r_lsn *applied)
{
	if (v->storage && (v->storage->halted || !went(v, take_positions(v, applied))))
		return false;
	journal_positions(&v->journal, applied);
	note_end(v);
	return true;
}

bool disk_recovered(struct server *v)
{
	if (!v->storage)
		return true;
	v->storage->recovering = true;
	return went(v, nfs4r_store_recovered(v->storage->store));
}

void disk_truncate(struct server *v, nfs4r_server_id log, nfs4r_lsn until)
{
	if (v->storage)
		nfs4r_store_truncate(v->storage->store, log, until);
}

uint64_t store_cookie(struct server *v, const struct nfs4r_oid *dir, const struct nfs4r_name *name)
{
	return nfs4r_store_new_cookie(v->storage->store, dir, name);
}

void store_mint(struct server *v, struct nfs4r_oid *out)
{
	nfs4r_store_oid_watermark(v->storage->store, out);
}

void store_mark(struct server *v, struct nfs4r_entry *e, uint64_t *sync_first)
{
	*sync_first = 0;
	if (!v->storage->halted)
		went(v, nfs4r_store_mark(v->storage->store, e, sync_first));
}

bool store_is_changing(struct server *v)
{
	if (pthread_mutex_trylock(&v->storage->store->change))
		return true;
	pthread_mutex_unlock(&v->storage->store->change);
	return false;
}

/* ---- syncs ---- */

void store_note_synced(struct server *v)
{
	nfs4r_journal_pos synced = atomic_load(&v->storage->store->jnl.synced);

	while (v->journal.synced < v->journal.n && v->journal.recs[v->journal.synced].end <= synced)
		v->journal.synced++;
}

uint64_t store_synced(struct server *v)
{
	return nfs4r_store_synced(v->storage->store);
}

uint64_t store_end(struct server *v)
{
	return nfs4r_store_position(v->storage->store);
}

uint64_t store_found(struct server *v)
{
	return v->storage->info.end;
}

struct syncing {
	nfs4r_journal_pos pos;
	uint64_t us;
	event_fn then; /* NULL: run what waits for the journal */
	void *arg;
	const struct nfs4r_entry *e;
};

static int run_sync(struct server *v, void *arg)
{
	return (int)nfs4r_store_sync(v->storage->store, ((struct syncing *)arg)->pos);
}

static void change_begins(struct server *v, const struct syncing *y)
{
	for (struct applying *a = v->applying; a; a = a->next) {
		if (a->e != y->e || !a->mask)
			continue;
		if (!went(v, nfs4r_store_begin(v->storage->store, y->e)))
			return;
		a->begun = true;
	}
	for (struct simop *so = v->ops; so; so = so->next)
		so->begun |= so->intent == y->e;
	store_touched(v, y->e);
	server_at(v, v->sim->now + y->us, y->then, y->arg, v->generation, v->id);
}

static void sync_over(struct server *v, void *arg, int result)
{
	struct syncing *y = arg;

	if (result == NFS4R_OK) {
		store_note_synced(v);
		if (y->then)
			change_begins(v, y);
		else
			server_synced(v);
	} else if (result >= 0) {
		store_halt(v, (enum nfs4r_status)result);
	}
	free(y);
}

void store_sync_then(struct server *v, uint64_t pos, uint64_t us, event_fn fn, void *arg, const struct nfs4r_entry *e)
{
	struct syncing *y = calloc(1, sizeof(*y));

	*y = (struct syncing){ pos, us, fn, arg, e };
	if (v->storage->halted) {
		free(y);
		return;
	}
	if (!pos && fn) {
		change_begins(v, y);
		free(y);
		return;
	}
	task_start(v, run_sync, sync_over, y);
}

void store_sync_begin(struct server *v)
{
	store_sync_then(v, nfs4r_store_position(v->storage->store), 0, NULL, NULL, NULL);
}

bool disk_sync_now(struct server *v)
{
	if (!v->storage) {
		v->journal.synced = v->journal.n;
		return true;
	}
	if (v->storage->halted || !went(v, nfs4r_store_sync(v->storage->store, nfs4r_store_position(v->storage->store))))
		return false;
	store_note_synced(v);
	return true;
}

/* ---- opening ---- */

long store_random(void *b, size_t n)
{
	static uint64_t count;
	uint64_t x = hash_mix(hash_mix(the_sim->plan.seed, the_sim->now), ++count + the_sim->order);

	memcpy(b, &x, n < sizeof(x) ? n : sizeof(x));
	return (long)n;
}

/* The first tree, which is there before anything happens. */
static bool plant(struct server *v)
{
	struct sim *s = v->sim;
	const struct nfs4r_store_positions p = { .oid_seq = { [1] = s->first_objs } };

	for (uint32_t i = 0; i < s->first_objs; i++)
		if (install(v, i, tree_get(&s->base, i)) != NFS4R_OK)
			return false;
	return nfs4r_store_set_positions(v->storage->store, &p) == NFS4R_OK && disk_checkpoint_now(v);
}

static enum nfs4r_status try_open(struct server *v, char *why)
{
	struct storage *g = v->storage;
	char boot[32];
	struct nfs4r_store_config cfg = { .dir = platter_path(g->platter), .self = v->id, .map_bytes = 1u << 20, .segment_bytes = v->sim->plan.segment_bytes, .boot_id = boot };

	memcpy(cfg.volume, "simulated volume", 16);
	snprintf(boot, sizeof(boot), "boot %u", g->boots);
	platter_watch(g->platter);
	return nfs4r_store_open(&cfg, &g->store, &g->info, why);
}

static bool has_open(struct nfs4r_store *s, nfs4r_journal_pos pos)
{
	struct nfs4r_rec_view rec;
	uint8_t *p = store_jnl_read(&s->jnl, pos, &rec);
	bool is = p && rec.type == REC_OPEN;

	free(p);
	return is;
}

void store_open(struct server *v, bool may_die)
{
	struct storage *g = v->storage;
	char why[WHY_LEN];
	nfs4r_journal_pos tried = UINT64_MAX; /* where the journal ended in an open that died */
	enum nfs4r_status st;

	if (may_die && !v->sim->healed && v->sim->plan.open_dies && rng_chance(&v->sim->rng, v->sim->plan.open_dies)) {
		/* dies, or finds no room, while it opens */
		if (rng_chance(&v->sim->rng, 300))
			platter_set_full(g->platter, true);
		else
			platter_die_in(g->platter, 1 + (uint32_t)rng_below(&v->sim->rng, 12));
		st = try_open(v, why);
		tried = platter_first(g->platter);
		if (st == NFS4R_OK) {
			platter_die_in(g->platter, 1);
			nfs4r_store_close(g->store);
		}
		if (st == NFS4R_CORRUPT || st == NFS4R_MISMATCH || st == NFS4R_MALFORMED)
			sim_fail(v->sim, "S%u cannot start: %s", v->id, why);
		platter_revive(g->platter);
		v->sim->totals.store_open_dies++;
		if (rng_chance(&v->sim->rng, v->sim->plan.machine_crash)) {
			platter_lose_power(g->platter);
			g->boots++;
		}
	}
	st = try_open(v, why);
	if (st != NFS4R_OK)
		sim_fail(v->sim, "S%u cannot start: %s (%s)", v->id, why, nfs4r_status_str(st));
	g->halted = g->machine = g->excused = false;
	/* a segment may have been begun for it */
	g->end = has_open(g->store, tried) || has_open(g->store, tried + SEG_HEADER) ? tried : platter_first(g->platter);
	if (g->store->meta.pos >= g->saving.pos) /* the checkpoint was made, and nobody was there to hear of it */
		store_touches_saved(v);
	g->saving = (struct saving_files){ 0, 0 };
	if (g->info.created && !plant(v))
		sim_fail(v->sim, "S%u: the first tree cannot be written", v->id);
	g->ntouched = g->info.created ? 0 : g->ntouched;
}

void store_make(struct server *v)
{
	struct storage *g;

	the_sim = v->sim;
#ifdef NFS4R_FAULTS
	nfs4r_store_fault = v->sim->plan.fault;
#endif
	if (!v->sim->plan.segment_bytes)
		return;
	g = calloc(1, sizeof(*g));
	v->storage = g;
	g->platter = platter_new(v);
	store_open(v, false);
}

/* A checkpoint sets aside what lies behind a hole (log 4.3): the newest record of such an entry lies where its copy does. */
static void note_copies(struct server *v)
{
	const struct nfs4r_store *store = v->storage->store;

	for (uint32_t i = 0; store && i < v->journal.n; i++) {
		struct rec *r = &v->journal.recs[i];
		const struct nfs4r_logent *e = r->type == DID_COMMIT ? store_log_at(&store->logs[r->e->log], r->e->lsn) : NULL;
		bool newest = e && e->pos >= r->end;

		for (uint32_t k = i + 1; k < v->journal.n && newest; k++)
			newest = v->journal.recs[k].type != DID_COMMIT || v->journal.recs[k].e->log != r->e->log || v->journal.recs[k].e->lsn != r->e->lsn;
		if (newest)
			r->copied = e->pos + 1;
	}
}

/* All at once, with nothing more on the disk. */
static void close_dead(struct server *v, bool power)
{
	struct storage *g = v->storage;

	platter_die_in(g->platter, 0);
	platter_kill(g->platter, power);
	tasks_finish(v);
	note_copies(v);
	nfs4r_store_close(g->store);
	g->store = NULL;
	platter_revive(g->platter);
}

void store_free(struct server *v)
{
	struct storage *g = v->storage;

	if (!g)
		return;
	close_dead(v, true);
	platter_free(g->platter);
	image_free(g->image);
	free(g->touched);
	free(g->amid);
	free(g);
	v->storage = NULL;
}

void store_close(struct server *v, bool in_order, bool power)
{
	struct storage *g = v->storage;

	if (!in_order) {
		close_dead(v, power);
		return;
	}
	platter_revive(g->platter);
	tasks_finish(v);
	note_copies(v);
	nfs4r_store_close(g->store);
	g->store = NULL;
	v->journal.synced = v->journal.n;
	v->sim->totals.store_closes++;
}

/* ---- disks that fail ---- */

static void full_over(struct sim *s, void *arg, uint64_t a, uint64_t b)
{
	struct server *v = arg;

	platter_set_full(v->storage->platter, false);
}

static void trouble(struct sim *s, void *arg, uint64_t a, uint64_t b)
{
	struct server *v = &s->servers[rng_range(&s->rng, 1, s->plan.servers)];
	struct storage *g = v->storage;
	uint32_t x = (uint32_t)rng_below(&s->rng, s->plan.disk_dies + s->plan.disk_full + s->plan.disk_breaks);

	if (s->healed)
		return;
	if (v->up && x < s->plan.disk_dies) {
		g->machine = rng_chance(&s->rng, s->plan.machine_crash);
		platter_die_in(g->platter, 1 + (uint32_t)rng_below(&s->rng, 12));
	} else if (v->up && x < s->plan.disk_dies + s->plan.disk_full) {
		platter_set_full(g->platter, true);
		sim_at(s, s->now + rng_time(&s->rng, s->plan.disk_every_us / 4), full_over, v, 0, 0);
	} else if (v->up) {
		platter_break_sync(g->platter);
		g->excused = true;
	}
	sim_at(s, s->now + rng_time(&s->rng, s->plan.disk_every_us), trouble, NULL, 0, 0);
}

void store_troubles(struct sim *s)
{
	if (s->plan.disk_every_us)
		sim_at(s, s->now + rng_time(&s->rng, s->plan.disk_every_us), trouble, NULL, 0, 0);
}

void store_heal(struct server *v)
{
	if (v->storage && !v->storage->halted)
		platter_revive(v->storage->platter);
}
