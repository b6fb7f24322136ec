/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The store against the records: what it answers at any time, and all of it after each start. The tree made from the list of
 * records is what LMDB and the replay have to be.
 */
#include "storage.h"

#define ULL(x) ((unsigned long long)(x))

/* ---- the core's questions ---- */

static bool is_parent(const struct row *r, uint32_t obj)
{
	for (uint32_t i = 0; i < r->nparents; i++)
		if (r->parents[i] == obj)
			return true;
	return false;
}

static uint32_t count_parents(const struct row *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->nparents; i++) {
		uint32_t k = 0;

		while (r->parents[k] != r->parents[i])
			k++;
		n += k == i;
	}
	return n;
}

/* What of @obj is not as the records say; NULL: nothing. */
static const char *differs(struct server *v, uint32_t obj, enum nfs4r_known known, const struct nfs4r_row *is)
{
	const struct row *r = tree_get(&v->tree, obj);

	if ((known == NFS4R_KNOWN) != (r->state == ROW_KNOWN))
		return "whether it is there";
	if (known != NFS4R_KNOWN) /* dead or not yet: what the store can tell by MINT, and the checkers of the core see what comes of it */
		return NULL;
	if (is->version != r->version)
		return "its version";
	if (is->type != r->type || is->multi != r->multi)
		return "its type";
	if (is->nlink != r->nlink && r->type != NFS4R_TYPE_DIR)
		return "its links";
	if (is->nentries != r->nnames)
		return "how many names it has";
	if (is->nparents != count_parents(r))
		return "how many parents it has";
	if (is->nparents && !is_parent(r, obj_of(v->sim, &is->parent)))
		return "its parent";
	if (is->last_log != r->last_log || is->last_lsn != r->last_lsn)
		return "its last entry";
	return NULL;
}

static enum nfs4r_known look(struct server *v, const struct nfs4r_oid *oid, struct nfs4r_row *row)
{
	enum nfs4r_known known;
	uint32_t obj = obj_of(v->sim, oid);
	const char *what;

	memset(row, 0, sizeof(*row));
	known = nfs4r_store_row(v->storage->store, oid, row);
	what = differs(v, obj, known, row);
	if (what)
		sim_fail(v->sim, "S%u: its store has %s v%llu otherwise (%u) than its records, v%llu: %s", v->id, obj_str(v->sim, obj), ULL(row->version), known,
			 ULL(tree_get(&v->tree, obj)->version), what);
	return known;
}

void store_facts(struct server *v, const struct nfs4r_oid *oid, struct nfs4r_facts *out)
{
	struct nfs4r_row row;

	memset(out, 0, sizeof(*out));
	out->known = look(v, oid, &row);
	if (out->known != NFS4R_KNOWN)
		return;
	out->type = row.type;
	out->multi = row.multi;
	out->version = row.version;
	out->nlink = row.nlink;
	out->nentries = row.nentries;
	out->nparents = row.nparents;
	out->parent = row.parent;
}

bool store_lookup(struct server *v, const struct nfs4r_oid *dir, const struct nfs4r_name *name, struct nfs4r_oid *child)
{
	int obj = tree_lookup(&v->tree, obj_of(v->sim, dir), name_of(v->sim, name));
	struct nfs4r_dirent ent;
	bool there = nfs4r_store_lookup(v->storage->store, dir, name, &ent);

	if (there != (obj >= 0) || (there && (int)obj_of(v->sim, &ent.oid) != obj))
		sim_fail(v->sim, "S%u: its store has %s in %s otherwise than its records", v->id, name->s, oid_name(v->sim, dir));
	if (there)
		*child = ent.oid;
	return there;
}

uint32_t store_parents(struct server *v, const struct nfs4r_oid *oid, struct nfs4r_oid *out, uint32_t max)
{
	const struct row *r = tree_get(&v->tree, obj_of(v->sim, oid));
	uint32_t n = nfs4r_store_parents(v->storage->store, oid, out, max);

	for (uint32_t i = 0; i < n && i < max; i++)
		if (!is_parent(r, obj_of(v->sim, &out[i])))
			sim_fail(v->sim, "S%u: its store has another parent of %s than its records", v->id, oid_name(v->sim, oid));
	return n;
}

/* ---- all of it ---- */

static void check_names(struct server *v, uint32_t obj)
{
	const struct row *r = tree_get(&v->tree, obj);
	const struct nfs4r_oid *dir = &v->sim->objs[obj].oid;
	struct nfs4r_dirent list[NAMES_MAX + 1];
	uint32_t n = nfs4r_store_readdir(v->storage->store, dir, 0, list, NAMES_MAX + 1);

	if (n != r->nnames)
		sim_fail(v->sim, "S%u: its store lists %u names of %s, there are %u", v->id, n, obj_str(v->sim, obj), r->nnames);
	for (uint32_t i = 0; i < r->nnames; i++) {
		struct nfs4r_name name;
		struct nfs4r_oid oid;
		uint32_t k = 0;

		name_set(v->sim, &name, r->names[i].name);
		while (k < n && (list[k].cookie != r->names[i].cookie || !nfs4r_oid_eq(&list[k].oid, &v->sim->objs[r->names[i].obj].oid)))
			k++;
		if (k == n || !store_lookup(v, dir, &name, &oid))
			sim_fail(v->sim, "S%u: its store does not list %s of %s", v->id, name.s, obj_str(v->sim, obj));
	}
}

static void check_rows(struct server *v)
{
	struct nfs4r_oid parents[NFS4R_PARENTS_MAX];
	struct nfs4r_row row;
	uint32_t n = v->sim->nobjs;

	for (uint32_t i = 0; i < n; i++) {
		if (look(v, &v->sim->objs[i].oid, &row) != NFS4R_KNOWN)
			continue;
		store_parents(v, &v->sim->objs[i].oid, parents, NFS4R_PARENTS_MAX);
		if (row.type == NFS4R_TYPE_DIR)
			check_names(v, i);
	}
}

static void check_log(struct server *v, nfs4r_server_id log)
{
	const struct kept *k = &v->kept[log];
	nfs4r_lsn lsn = 0;

	for (uint32_t i = 0; i < k->n; i++) {
		struct nfs4r_entry *e;

		lsn = nfs4r_store_log_next(v->storage->store, log, lsn);
		e = lsn ? nfs4r_store_log_read(v->storage->store, log, lsn) : NULL;
		if (lsn != k->e[i]->lsn || !e || e->lsn != lsn || e->log != log || e->nparts != k->e[i]->nparts ||
		    (e->nparts && (!nfs4r_oid_eq(&e->parts[0].oid, &k->e[i]->parts[0].oid) || e->parts[0].after != k->e[i]->parts[0].after)))
			sim_fail(v->sim, "S%u: its store has %u:%s where its records have %s", v->id, log, lsn_str(lsn), lsn_str(k->e[i]->lsn));
		nfs4r_entry_put(e);
	}
	lsn = nfs4r_store_log_next(v->storage->store, log, lsn);
	if (lsn)
		sim_fail(v->sim, "S%u: its store has %u:%s, its records have not", v->id, log, lsn_str(lsn));
}

struct rows_seen {
	struct server *v;
	const struct nfs4r_put **rows;
	uint32_t n;
	bool *has;
};

static void see_row(void *arg, const uint8_t *key, uint16_t key_len, const uint8_t *val, uint16_t val_len)
{
	struct rows_seen *c = arg;

	for (uint32_t i = 0; i < c->n; i++)
		if (c->rows[i]->key_len == key_len && !memcmp(c->rows[i]->key, key, key_len)) {
			if (c->rows[i]->val_len != val_len || memcmp(c->rows[i]->val, val, val_len))
				sim_fail(c->v->sim, "S%u: its store has an older row %c of the core", c->v->id, key[0]);
			c->has[i] = true;
			return;
		}
	sim_fail(c->v->sim, "S%u: its store has a row %c of the core that is gone", c->v->id, key[0]);
}

static void check_core_rows(struct server *v)
{
	struct rows_seen c = { .v = v };

	c.rows = rows_of(&v->journal, &c.n);
	c.has = calloc(c.n + 1, sizeof(*c.has));
	nfs4r_store_each_core_row(v->storage->store, see_row, &c);
	for (uint32_t i = 0; i < c.n; i++)
		if (!c.has[i])
			sim_fail(v->sim, "S%u: its store has not the row %c of the core, %u of %u", v->id, c.rows[i]->key[0], i, c.n);
	free(c.has);
	free(c.rows);
}

static void check_intents(struct server *v, struct nfs4r_entry **is, uint32_t n)
{
	struct nfs4r_entry *want[64];
	uint32_t nwant = open_intents(v, want, 64);

	for (uint32_t i = 0; i < nwant; i++) {
		if (i >= n || is[i]->lsn != want[i]->lsn)
			sim_fail(v->sim, "S%u: its store has not the intent of %s", v->id, lsn_str(want[i]->lsn));
		nfs4r_entry_put(want[i]);
	}
	if (nwant < n && !v->tail_lost)
		sim_fail(v->sim, "S%u: its store has an intent of %s, which was decided", v->id, lsn_str(is[nwant]->lsn));
}

/* Of what was being applied when the process ended a part may be in the files, and it may never come again (log 4.5). A crash of the machine has the marks. */
static void check_amid(struct server *v)
{
	struct storage *g = v->storage;
	const struct nfs4r_extent *dropped;
	uint32_t n = nfs4r_store_dropped(g->store, &dropped);

	for (uint32_t obj = 0; g->info.tail_intact && obj < g->namid; obj++) {
		bool doubt = !g->amid[obj];

		for (uint32_t i = 0; i < n && !doubt; i++)
			doubt = nfs4r_oid_eq(&dropped[i].oid, &v->sim->objs[obj].oid);
		if (!doubt)
			sim_fail(v->sim, "S%u: an update of %s was being applied when its process ended, and nothing says so", v->id, obj_str(v->sim, obj));
	}
	g->namid = 0; /* it is settled before anything else is applied */
}

/* Objects whose files may be of another time than the journal are in doubt (log 4.6), as src/engine/resync/crash_check.c finds them. */
static void check_doubt(struct server *v)
{
	struct storage *g = v->storage;
	struct sim *s = v->sim;
	struct nfs4r_oid *list;
	const struct nfs4r_extent *dropped;
	uint32_t n = nfs4r_store_marked(g->store, &list), ndropped = nfs4r_store_dropped(g->store, &dropped);

	for (uint32_t obj = 0; obj < g->ntouched; obj++) {
		bool doubt = !g->touched[obj] || tree_get(&v->tree, obj)->state != ROW_KNOWN;

		for (uint32_t i = 0; !doubt && i < n; i++)
			doubt = nfs4r_oid_eq(&list[i], &s->objs[obj].oid);
		for (uint32_t i = 0; !doubt && i < ndropped; i++)
			doubt = nfs4r_oid_eq(&dropped[i].oid, &s->objs[obj].oid);
		for (uint32_t log = 1; log <= s->plan.servers; log++)
			for (uint32_t i = 0; !doubt && i < v->kept[log].n; i++)
				doubt = v->kept[log].e[i]->lsn > g->info.logs[log].stable && nfs4r_entry_part(v->kept[log].e[i], &s->objs[obj].oid);
		if (!doubt)
			sim_fail(s, "S%u: %s changed since the last checkpoint, and no mark or entry says so", v->id, obj_str(s, obj));
	}
	free(list);
}

void store_check(struct server *v)
{
	struct nfs4r_entry *intents[64];
	uint32_t n = store_intents(v, intents, 64);

	check_rows(v);
	for (uint32_t log = 1; log <= v->sim->plan.servers; log++)
		check_log(v, (nfs4r_server_id)log);
	check_core_rows(v);
	check_intents(v, intents, n);
	while (n)
		nfs4r_entry_put(intents[--n]);
	check_doubt(v);
	check_amid(v);
	v->sim->totals.store_starts++;
}

/* ---- what happened in many runs ---- */

void stores_print(const struct totals *t)
{
	printf("  stores: %llu starts compared, %llu checkpoints, %llu early words, %llu starts behind them, %llu journals cut, %llu ends in order, %llu deaths in the middle of an open, %llu halts\n",
	       ULL(t->store_starts), ULL(t->store_checkpoints), ULL(t->store_tells), ULL(t->store_behind), ULL(t->store_torn), ULL(t->store_closes), ULL(t->store_open_dies), ULL(t->store_halts));
}
