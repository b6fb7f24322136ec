/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A server's start, and the tree port that its core sees. A start replays the journal from the
 * first tree on: rows of the core in the order in which they were put, entries in the order of
 * their commits; then gives all of it back to a new core, decides intents that a process crash
 * left behind (by the dice, as the local file system might show either), and connects.
 */
#include "sim.h"

/* ---- tree port ------------------------------------------------------------------- */

/* What entries name that begin or end a client: nfs4r_client_list_oid() of some server, and no object. */
static bool is_client_list(const struct sim *s, const struct nfs4r_oid *oid)
{
	return s->plan.lockers && nfs4r_oid_inc(oid) == 0 && nfs4r_oid_seq(oid) == 0 && nfs4r_oid_creator(oid) != 0;
}

static void port_facts(void *ctx, const struct nfs4r_oid *oid, struct nfs4r_facts *out)
{
	struct server *v = ctx;
	uint32_t obj = obj_of(v->sim, oid);
	const struct row *r = tree_get(&v->tree, obj);

	if (v->storage) {
		store_facts(v, oid, out);
		return;
	}
	memset(out, 0, sizeof(*out));
	if (is_client_list(v->sim, oid)) {
		out->known = NFS4R_DEAD;
		return;
	}
	out->known = r->state == ROW_KNOWN ? NFS4R_KNOWN : r->state == ROW_DEAD ? NFS4R_DEAD :
										  NFS4R_NOT_YET;
	if (r->state == ROW_NONE && v->sim->objs[obj].lost)
		out->known = NFS4R_DEAD;
	out->version = r->version;
	if (r->state != ROW_KNOWN)
		return;
	out->type = r->type;
	out->multi = r->multi;
	out->nlink = r->nlink;
	out->nentries = r->nnames;
	out->nparents = r->nparents;
	if (r->nparents == 1)
		out->parent = v->sim->objs[r->parents[0]].oid;
}

static bool port_lookup(void *ctx, const struct nfs4r_oid *dir, const struct nfs4r_name *name, struct nfs4r_oid *child)
{
	struct server *v = ctx;
	int obj = tree_lookup(&v->tree, obj_of(v->sim, dir), name_of(v->sim, name));

	if (v->storage)
		return store_lookup(v, dir, name, child);
	if (obj < 0)
		return false;
	*child = v->sim->objs[obj].oid;
	return true;
}

static uint32_t port_parents(void *ctx, const struct nfs4r_oid *oid, struct nfs4r_oid *out, uint32_t max)
{
	struct server *v = ctx;
	const struct row *r = tree_get(&v->tree, obj_of(v->sim, oid));

	if (v->storage)
		return store_parents(v, oid, out, max);
	for (uint32_t i = 0; i < r->nparents && i < max; i++)
		out[i] = v->sim->objs[r->parents[i]].oid;
	return r->nparents;
}

static void port_commit(void *ctx, struct nfs4r_entry *e, bool own, const struct nfs4r_put *puts, uint32_t nputs)
{
	server_commit(ctx, e, own, puts, nputs);
}

static void port_mint(void *ctx, struct nfs4r_oid *out)
{
	struct server *v = ctx;

	if (v->storage) {
		store_mint(v, out);
		return;
	}
	/* as the store does: a counter may come again, but not in the same generation of the log */
	nfs4r_oid_make(out, v->id, NFS4R_GEN(v->applied[v->id]) << 32 | v->inc, ++v->oid_seq);
}

static uint32_t port_locks(void *ctx, const struct nfs4r_oid *oid, struct nfs4r_file_lock *out, uint32_t max)
{
	struct server *v = ctx;
	const struct row *r = tree_get(&v->tree, obj_of(v->sim, oid));

	if (r->nlocks && max)
		memcpy(out, r->locks, (r->nlocks < max ? r->nlocks : max) * sizeof(*out));
	return r->nlocks;
}

static bool port_next_locked(void *ctx, const struct nfs4r_oid *after, struct nfs4r_oid *out)
{
	struct server *v = ctx;
	const struct nfs4r_oid from = *after;
	bool any = false;

	for (uint32_t f = 0; f < v->sim->nlock_files; f++) {
		const struct nfs4r_oid *oid = &v->sim->objs[v->sim->lock_files[f]].oid;

		if (!tree_get(&v->tree, v->sim->lock_files[f])->nlocks || memcmp(oid, &from, sizeof(from)) <= 0 || (any && memcmp(oid, out, sizeof(*out)) > 0))
			continue;
		*out = *oid;
		any = true;
	}
	return any;
}

static uint64_t port_synced(void *ctx)
{
	struct server *v = ctx;

	return v->storage ? store_synced(v) : v->journal.synced;
}

/* ---- entries that are here ----------------------------------------------------------- */

static void keep_entry(struct server *v, struct nfs4r_entry *e)
{
	struct kept *k = &v->kept[e->log];

	if (e->lsn <= v->truncated[e->log])
		return;
	kept_add(k, e);
	while (kept_find(k, v->applied[e->log] + 1))
		v->applied[e->log]++;
}

static void forget_entries(struct server *v)
{
	for (uint32_t log = 1; log <= SERVERS_MAX; log++) {
		kept_fini(&v->kept[log]);
		v->applied[log] = v->truncated[log];
	}
}

void server_commit(struct server *v, struct nfs4r_entry *e, bool own, const struct nfs4r_put *puts, uint32_t n)
{
	struct sim *s = v->sim;
	const char *why;
	char text[400];

	if (s->trace) {
		entry_print(s, e, text, sizeof(text));
		sim_trace(s, v, "commits %s%s", text, e->nparts ? "" : " (void)");
	}
	sim_note(s, 8, v->id, e->lsn << 8 | e->log);
	if (v->repair.on)
		sim_fail(s, "S%u commits %u:%llu while its copy is repaired", v->id, e->log, (unsigned long long)e->lsn);
	if (own != (e->log == v->id) && !v->tail_lost)
		sim_fail(s, "S%u commits an entry of log %u as %s", v->id, e->log, own ? "own" : "another's");
	if (!disk_commit(v, e, own, puts, n))
		return;
	if (!own && e->lsn > v->applied[e->log] + 1)
		trouble_hole(v);
	why = tree_apply(s, &v->tree, e, own);
	if (why) {
		entry_print(s, e, text, sizeof(text));
		sim_fail(s, "S%u commits %s: %s", v->id, text, why);
	}
	keep_entry(v, e);
	check_commit(v, e, own);
}

/* ---- replay -------------------------------------------------------------------------- */

const struct nfs4r_put **rows_of(const struct journal *j, uint32_t *count)
{
	uint32_t n = 0, cap = 0;
	const struct nfs4r_put **rows = NULL;

	for (uint32_t i = 0; i < j->n; i++)
		for (uint32_t k = 0; k < j->recs[i].nputs; k++) {
			const struct nfs4r_put *p = &j->recs[i].puts[k];
			uint32_t at = 0;

			while (at < n && (rows[at]->key_len != p->key_len || memcmp(rows[at]->key, p->key, p->key_len)))
				at++;
			if (at == cap) {
				cap = cap ? cap * 2 : 64;
				rows = realloc(rows, cap * sizeof(*rows));
			}
			if (p->del && at < n)
				rows[at] = rows[--n];
			else if (!p->del)
				rows[at] = p, n += at == n;
		}
	*count = n;
	return rows;
}

static bool is_decided(const struct journal *j, uint32_t from, const struct nfs4r_entry *e)
{
	for (uint32_t i = from; i < j->n; i++) {
		const struct rec *r = &j->recs[i];

		if (r->type == DID_COMMIT && r->e->log == e->log && r->e->lsn == e->lsn)
			return true;
	}
	return false;
}

uint32_t open_intents(const struct server *v, struct nfs4r_entry **out, uint32_t max)
{
	const struct journal *j = &v->journal;
	uint32_t n = 0;

	for (uint32_t i = 0; i < j->n; i++) {
		struct nfs4r_entry *e = j->recs[i].e;
		bool again = false;

		if (j->recs[i].type != DID_INTENT || is_decided(j, i, e))
			continue;
		for (uint32_t k = 0; k < n; k++) /* its LSN was given out again later */
			again |= out[k]->lsn >= e->lsn;
		if (!again && n < max && !v->tail_lost && e->lsn > v->applied[v->id])
			out[n++] = nfs4r_entry_get(e);
	}
	return n;
}

static void replay(struct server *v)
{
	const struct journal *j = &v->journal;
	struct sim *s = v->sim;
	const char *why;

	tree_copy(&v->tree, &s->base);
	if (v->storage)
		store_begin(v);
	forget_entries(v);
	memset(v->stable, 0, sizeof(v->stable));
	for (uint32_t i = 0; i < j->n; i++) {
		const struct rec *r = &j->recs[i];

		if (r->type == DID_CHECKPOINT)
			memcpy(v->stable, r->stable, sizeof(v->stable));
		if (r->type == DID_SEALED)
			seal_cut(v, r->seal.log, r->seal.lsn);
		if (r->type == DID_INSTALL)
			tree_install(&v->tree, r->obj, r->row);
		if (r->type == DID_POSITIONS)
			set_positions(v, r->stable);
		if (r->type != DID_COMMIT)
			continue;
		why = tree_apply(s, &v->tree, r->e, false);
		if (why)
			sim_fail(s, "S%u: its journal cannot be replayed, at %u:%s: %s", v->id, r->e->log, lsn_str(r->e->lsn), why);
		keep_entry(v, r->e);
	}
	if (v->storage)
		store_began(v);
	for (uint32_t log = 1; log <= s->plan.servers; log++)
		if (v->stable[log] > v->applied[log])
			sim_fail(s, "S%u has log %u to %llu, but had it stable to %llu", v->id, log,
				 (unsigned long long)v->applied[log], (unsigned long long)v->stable[log]);
}

static void give_back(struct server *v, struct nfs4r_entry **intents, uint32_t nintents)
{
	struct sim *s = v->sim;
	const struct kept *k = &v->kept[v->id];
	uint32_t n;
	const struct nfs4r_put **rows = rows_of(&v->journal, &n);
	bool bad = false;

	for (uint32_t i = 0; i < n; i++)
		bad |= nfs4r_core_restore_row(v->core, rows[i]->key, rows[i]->key_len, rows[i]->val,
					      rows[i]->val_len) != NFS4R_OK;
	free(rows);
	for (uint32_t log = 1; log <= s->plan.servers; log++) {
		nfs4r_lsn last = v->applied[log];

		/* Own: the last one decided; holes before it come as intents, or with the tail when that is lost. */
		if (log == v->id && kept_last(k) > last && !v->tail_lost)
			last = kept_last(k);
		bad |= nfs4r_core_restore_log(v->core, (nfs4r_server_id)log, v->truncated[log] + 1, last,
					      v->stable[log]) != NFS4R_OK;
	}
	for (uint32_t log = 1; log <= s->plan.servers; log++)
		if (log != v->id && kept_last(&v->kept[log]) > v->applied[log])
			bad |= nfs4r_core_restore_beyond(v->core, (nfs4r_server_id)log, kept_last(&v->kept[log])) != NFS4R_OK;
	for (uint32_t i = 0; i < v->journal.nback; i++)
		if (v->journal.back[i].log != v->id)
			nfs4r_core_restore_given_back(v->core, v->journal.back[i].log, v->journal.back[i].lsn, &v->journal.back[i].oid, v->journal.back[i].version);
	for (uint32_t i = 0; i < k->n; i++)
		bad |= nfs4r_core_restore_entry(v->core, k->e[i]->lsn, nfs4r_entry_bytes(k->e[i])) != NFS4R_OK;
	for (uint32_t i = 0; i < nintents; i++)
		bad |= nfs4r_core_restore_intent(v->core, intents[i]) != NFS4R_OK;
	if (bad)
		sim_fail(s, "S%u: the core cannot take back what it wrote", v->id);
}

static void make_core(struct server *v)
{
	struct sim *s = v->sim;
	struct nfs4r_core_config cfg;
	const struct nfs4r_tree port = { v, port_facts, port_lookup, port_parents, port_commit, port_mint, port_synced, port_locks, port_next_locked };

	memset(&cfg, 0, sizeof(cfg));
	nfs4r_core_config_init(&cfg);
	cfg.self = v->id;
	cfg.root = s->objs[0].oid;
	cfg.inc = v->inc;
	cfg.inc_random = v->inc_random;
	if (s->plan.secret)
		memcpy(cfg.secret, (uint64_t[]){ v->inc_random, hash_mix(v->inc_random, v->id) }, sizeof(cfg.secret));
	cfg.journal_end = v->storage ? store_found(v) : v->journal.n;
	cfg.tail_intact = !v->tail_lost;
	cfg.fault = s->plan.fault;
	cfg.window_entries = s->plan.window;
	cfg.idle_ms = s->plan.idle_ms;
	cfg.deep = s->plan.deep;
	cfg.deep_ms = s->plan.deep_ms;
	cfg.revoke_ms = s->plan.revoke_ms;
	cfg.turn_ms = s->plan.turn_ms;
	cfg.announce_ms = s->plan.announce_ms;
	cfg.holdoff_ms = s->plan.holdoff_ms;
	cfg.escalate_count = s->plan.escalate_count;
	cfg.deep_plus_count = s->plan.deep_plus_count;
	cfg.contested_ms = s->plan.contested_ms;
	cfg.read_ms = s->plan.read_ms;
	cfg.share_reads = s->plan.share_reads;
	cfg.lease_ms = s->plan.lease_ms;
	cfg.silence_ms = s->plan.silence_ms;
	cfg.drift_permille = s->plan.drift_permille;
	cfg.durability = (enum nfs4r_durability)s->plan.durability;
	cfg.abandon_ms = s->plan.abandon_ms;
	cfg.peer_inc = server_start_name(v);
	/* Without clients that lock a volume is as one of release 0.2: what a seed of a kind of run does must not depend on what later releases know. */
	cfg.protocol = (struct nfs4r_versions){ NFS4R_PROTOCOL_LOCKS - 1, NFS4R_PROTOCOL_LOCKS - 1 };
	cfg.disk_format = (struct nfs4r_versions){ NFS4R_DISK_FORMAT_LOCKS - 1, NFS4R_DISK_FORMAT_LOCKS - 1 };
	if (s->plan.lockers) {
		cfg.protocol = (struct nfs4r_versions){ NFS4R_PROTOCOL_LOCKS, NFS4R_PROTOCOL_LOCKS };
		cfg.disk_format = (struct nfs4r_versions){ NFS4R_DISK_FORMAT_LOCKS, NFS4R_DISK_FORMAT_LOCKS };
		cfg.lock_reserve_ms = s->plan.lock_reserve_ms;
		cfg.lock_grace_ms = s->plan.lock_grace_ms;
	}
	release_configure(v, &cfg);
	cfg.servers = NFS4R_BIT(v->id);
	for (uint32_t i = 1; i <= (v->told_of_all ? s->plan.servers : s->plan.base); i++)
		cfg.servers |= NFS4R_BIT(i);
	v->core = nfs4r_core_create(&cfg, &port);
	if (!v->core)
		sim_fail(s, "S%u: no core", v->id);
}

static void periodic_checkpoint(struct sim *s, void *arg, uint64_t generation, uint64_t b)
{
	struct server *v = arg;

	if (!v->up || v->generation != generation)
		return;
	if (v->storage ? store_is_behind(v) : memcmp(v->stable, v->applied, sizeof(v->stable)) != 0)
		server_checkpoint(v);
	server_at(v, s->now + rng_time(&s->rng, s->plan.checkpoint_us), periodic_checkpoint, v, generation, 0);
}

void server_start(struct server *v)
{
	struct sim *s = v->sim;
	struct nfs4r_entry *intents[64];
	uint32_t n;
	bool alive;

	v->generation++;
	v->leaving = false;
	v->inc_random = hash_mix(hash_mix(s->plan.seed, v->id), v->generation); /* no draw: old seeds mean what they meant */
	v->oid_seq = v->request_seq = 0; /* and questions go on: a late answer to one of the former life is none to one of now */
	v->timer_at = NEVER;
	v->syncing = v->checkpointing = v->checkpoint_wanted = false;
	v->delayed_tail = &v->delayed;
	v->nwrote = v->nasked = 0;
	v->seen_adopted = v->seen_accepted = 0;
	memset(v->beyond, 0, sizeof(v->beyond));
	memset(v->failed, 0, sizeof(v->failed));
	v->view_known = v->seen_lease = v->seen_joining = v->adopts = v->repair.changed = false;
	replay(v);
	lose_image(v);
	if (v->storage) {
		store_check(v);
		n = store_intents(v, intents, 64);
	} else {
		v->inc++;
		n = open_intents(v, intents, 64);
	}
	make_core(v);
	if (!v->storage)
		give_back(v, intents, n);
	else if (!store_give_back(v))
		sim_fail(s, "S%u: the core cannot take back what its store has", v->id);
	release_started(v);
	TRACE(s, v, "start %llu, log to %llu, %u intents%s", (unsigned long long)v->inc,
	      (unsigned long long)v->applied[v->id], n, v->tail_lost ? ", tail lost" : "");
	v->up = true;
	v->ready = !v->tail_lost;
	v->durability_was = durability_of(v);
	alive = server_carry_out(v, nfs4r_core_started(v->core, clock_ms(v)));
	if (alive)
		v->journal.nback = 0; /* the core has noted it */
	for (uint32_t i = 0; i < n; i++) {
		struct nfs4r_event ev = { .type = NFS4R_EV_OP_EXECUTED, .entry = intents[i] };

		ev.ok = rng_chance(&s->rng, 600) && !room_lacks(v, intents[i], UINT32_MAX);
		if (alive && v->up && !v->tail_lost)
			server_step(v, &ev);
		nfs4r_entry_put(intents[i]);
	}
	if (v->up)
		room_start(v);
	if (!v->up)
		return;
	locking_server_up(v);
	server_at(v, s->now + rng_time(&s->rng, s->plan.checkpoint_us), periodic_checkpoint, v, v->generation, 0);
	for (nfs4r_server_id q = 1; q <= s->plan.servers; q++)
		if (q != v->id)
			net_try(s, v->id, q);
}
