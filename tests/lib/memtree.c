/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See memtree.h. Nothing here is fast; iteration is in the order of insertion. */
#include "lib/memtree.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <uthash.h>

#define PARENTS_MAX 32

struct mname {
	char name[NFS4R_NAME_MAX + 1];
	struct nfs4r_oid oid;
	UT_hash_handle hh;
};

struct mobj {
	struct nfs4r_oid oid;
	bool known, dead, multi;
	uint32_t type, nlink, nparents;
	nfs4r_version version;
	struct nfs4r_oid parents[PARENTS_MAX];
	struct mname *names;
	uint64_t content;
	uint32_t nlocks;
	struct nfs4r_file_lock *locks;
	UT_hash_handle hh;
};

struct mrow {
	struct nfs4r_put put;
	UT_hash_handle hh;
};

#define GENS 8

struct mlog {
	struct {
		struct nfs4r_entry **v; /* index: number of the LSN */
		nfs4r_lsn cap;
	} gen[GENS];
	nfs4r_lsn applied, stable, base;
};

struct memtree {
	nfs4r_server_id self;
	uint64_t inc, seq;
	uint64_t written; /* rows and entries */
	struct nfs4r_oid root;
	struct mobj *objs;
	struct mrow *rows;
	struct mlog logs[NFS4R_SERVERS_MAX + 1];
};

#define NUMBER(lsn) ((lsn) & (((nfs4r_lsn)1 << NFS4R_GEN_SHIFT) - 1))

/* Place of an entry; NULL: there is none. */
static struct nfs4r_entry **slot(struct mlog *l, nfs4r_lsn lsn, bool make)
{
	nfs4r_lsn g = NFS4R_GEN(lsn), i = NUMBER(lsn), n;

	assert(g < GENS);
	if (i >= l->gen[g].cap && !make)
		return NULL;
	if (i >= l->gen[g].cap) {
		n = l->gen[g].cap ? l->gen[g].cap * 2 : 64;
		while (n <= i)
			n *= 2;
		l->gen[g].v = realloc(l->gen[g].v, n * sizeof(*l->gen[g].v));
		memset(l->gen[g].v + l->gen[g].cap, 0, (n - l->gen[g].cap) * sizeof(*l->gen[g].v));
		l->gen[g].cap = n;
	}
	return &l->gen[g].v[i];
}

/* Entries of one generation from number @from on. */
static void forget_entries(struct mlog *l, uint32_t g, nfs4r_lsn from)
{
	for (nfs4r_lsn i = from; i < l->gen[g].cap; i++) {
		nfs4r_entry_put(l->gen[g].v[i]);
		l->gen[g].v[i] = NULL;
	}
}

static struct mobj *get(struct memtree *t, const struct nfs4r_oid *oid, bool make)
{
	struct mobj *o;

	HASH_FIND(hh, t->objs, oid, sizeof(*oid), o);
	if (!o && make) {
		o = calloc(1, sizeof(*o));
		o->oid = *oid;
		HASH_ADD(hh, t->objs, oid, sizeof(o->oid), o);
	}
	return o;
}

struct memtree *memtree_new(nfs4r_server_id self, const struct nfs4r_oid *root)
{
	struct memtree *t = calloc(1, sizeof(*t));
	struct mobj *o;

	t->self = self;
	t->inc = 1;
	t->root = *root;
	o = get(t, root, true);
	o->known = true;
	o->type = NFS4R_TYPE_DIR;
	o->version = 1;
	o->nlink = 2;
	for (int s = 0; s <= NFS4R_SERVERS_MAX; s++)
		t->logs[s].base = 1;
	return t;
}

void memtree_free(struct memtree *t)
{
	struct mobj *o, *o2;
	struct mname *n, *n2;
	struct mrow *r, *r2;

	HASH_ITER(hh, t->objs, o, o2) {
		HASH_ITER(hh, o->names, n, n2) {
			HASH_DEL(o->names, n);
			free(n);
		}
		HASH_DEL(t->objs, o);
		free(o->locks);
		free(o);
	}
	HASH_ITER(hh, t->rows, r, r2) {
		HASH_DEL(t->rows, r);
		free(r);
	}
	for (int s = 0; s <= NFS4R_SERVERS_MAX; s++)
		for (uint32_t g = 0; g < GENS; g++) {
			forget_entries(&t->logs[s], g, 0);
			free(t->logs[s].gen[g].v);
		}
	free(t);
}

static void drop_names(struct mobj *o)
{
	struct mname *n, *n2;

	HASH_ITER(hh, o->names, n, n2) {
		HASH_DEL(o->names, n);
		free(n);
	}
}

static void set_locks(struct mobj *o, const struct nfs4r_file_lock *v, uint32_t n)
{
	struct nfs4r_file_lock *copy = n ? calloc(n, sizeof(*copy)) : NULL;

	if (n)
		memcpy(copy, v, n * sizeof(*v));
	free(o->locks);
	o->locks = copy;
	o->nlocks = n;
}

/* @to becomes what @from is. */
static void copy_obj(struct mobj *to, const struct mobj *from)
{
	UT_hash_handle hh = to->hh;
	struct mname *n, *n2, *m;

	drop_names(to);
	free(to->locks);
	*to = *from;
	to->hh = hh;
	to->locks = NULL;
	set_locks(to, from->locks, from->nlocks);
	to->names = NULL;
	HASH_ITER(hh, from->names, n, n2) {
		m = calloc(1, sizeof(*m));
		memcpy(m->name, n->name, sizeof(m->name));
		m->oid = n->oid;
		HASH_ADD_STR(to->names, name, m);
	}
}

struct memtree *memtree_clone(struct memtree *t)
{
	struct memtree *c = calloc(1, sizeof(*c));
	struct mobj *o, *o2;
	struct mrow *r, *r2;

	*c = *t;
	c->objs = NULL;
	c->rows = NULL;
	HASH_ITER(hh, t->objs, o, o2)
		copy_obj(get(c, &o->oid, true), o);
	HASH_ITER(hh, t->rows, r, r2)
		memtree_put(c, &r->put);
	for (int s = 0; s <= NFS4R_SERVERS_MAX; s++)
		for (uint32_t g = 0; g < GENS; g++) {
			c->logs[s].gen[g].v = NULL;
			c->logs[s].gen[g].cap = 0;
			for (nfs4r_lsn i = 0; i < t->logs[s].gen[g].cap; i++)
				if (t->logs[s].gen[g].v[i])
					*slot(&c->logs[s], (nfs4r_lsn)g << NFS4R_GEN_SHIFT | i, true) = nfs4r_entry_get(t->logs[s].gen[g].v[i]);
		}
	c->written = t->written;
	return c;
}

void memtree_set_inc(struct memtree *t, uint64_t inc)
{
	t->inc = inc;
	t->seq = 0;
}

/* ---- port ------------------------------------------------------------------------ */

static void p_facts(void *ctx, const struct nfs4r_oid *oid, struct nfs4r_facts *out)
{
	struct mobj *o = get(ctx, oid, false);

	memset(out, 0, sizeof(*out));
	if (!o || (!o->known && !o->dead)) {
		out->known = NFS4R_NOT_YET;
		return;
	}
	out->known = o->dead ? NFS4R_DEAD : NFS4R_KNOWN;
	out->type = o->type;
	out->multi = o->multi;
	out->version = o->version;
	out->nlink = o->nlink;
	out->nentries = HASH_COUNT(o->names);
	out->nparents = o->nparents;
	if (o->nparents)
		out->parent = o->parents[0];
}

bool memtree_facts(struct memtree *t, const struct nfs4r_oid *oid, struct nfs4r_facts *f)
{
	p_facts(t, oid, f);
	return f->known == NFS4R_KNOWN;
}

bool memtree_lookup(struct memtree *t, const struct nfs4r_oid *dir, const char *name, struct nfs4r_oid *child)
{
	struct mobj *o = get(t, dir, false);
	struct mname *n = NULL;

	if (o)
		HASH_FIND_STR(o->names, name, n);
	if (n)
		*child = n->oid;
	return n != NULL;
}

static bool p_lookup(void *ctx, const struct nfs4r_oid *dir, const struct nfs4r_name *name, struct nfs4r_oid *child)
{
	return memtree_lookup(ctx, dir, name->s, child);
}

static uint32_t p_parents(void *ctx, const struct nfs4r_oid *oid, struct nfs4r_oid *out, uint32_t max)
{
	struct mobj *o = get(ctx, oid, false);

	for (uint32_t i = 0; o && i < o->nparents && i < max; i++)
		out[i] = o->parents[i];
	return o ? o->nparents : 0;
}

static void p_mint(void *ctx, struct nfs4r_oid *out)
{
	struct memtree *t = ctx;

	/* as the store does: a counter may come again, but not in the same generation of the log */
	nfs4r_oid_make(out, t->self, NFS4R_GEN(t->logs[t->self].applied) << 32 | t->inc, ++t->seq);
}

static void lose_parent(struct mobj *o, const struct nfs4r_oid *p)
{
	for (uint32_t i = 0; i < o->nparents; i++)
		if (nfs4r_oid_eq(&o->parents[i], p)) {
			o->parents[i] = o->parents[--o->nparents];
			return;
		}
}

static void gain_parent(struct mobj *o, const struct nfs4r_oid *p)
{
	assert(o->nparents < PARENTS_MAX);
	o->parents[o->nparents++] = *p;
}

static void set_name(struct mobj *d, const struct nfs4r_name_change *c)
{
	struct mname *n;

	HASH_FIND_STR(d->names, c->name.s, n);
	if (nfs4r_oid_is_zero(&c->oid)) {
		if (n) {
			HASH_DEL(d->names, n);
			free(n);
		}
		return;
	}
	if (!n) {
		n = calloc(1, sizeof(*n));
		memcpy(n->name, c->name.s, sizeof(n->name));
		HASH_ADD_STR(d->names, name, n);
	}
	n->oid = c->oid;
}

static void mix(uint64_t *h, uint64_t v)
{
	*h = (*h ^ v) * 0x100000001b3ull + 0x9e3779b97f4a7c15ull;
}

static void update(struct mobj *o, const struct nfs4r_entry *e, const struct nfs4r_part *p)
{
	mix(&o->content, p->effect);
	mix(&o->content, p->after);
	mix(&o->content, p->off);
	mix(&o->content, p->len);
	mix(&o->content, p->attrs.mode);
	for (uint32_t i = 0; e->payload && i < e->payload->len; i++)
		mix(&o->content, e->payload->data[i]);
}

static void apply_part(struct memtree *t, const struct nfs4r_entry *e, const struct nfs4r_part *p)
{
	struct mobj *o;

	if (p->effect == NFS4R_EFF_CLIENT) /* of no object */
		return;
	o = get(t, &p->oid, true);
	if (o->dead || o->version >= p->after)
		return;
	o->version = p->after;
	switch (p->effect) {
	case NFS4R_EFF_NONE:
		break;
	case NFS4R_EFF_LOCKS:
		set_locks(o, p->locks, p->nlocks);
		break;
	case NFS4R_EFF_CREATE:
		o->known = true;
		o->type = p->attrs.type;
		o->nlink = o->type == NFS4R_TYPE_DIR ? 2 : 1;
		o->nparents = 0;
		gain_parent(o, &p->parent);
		break;
	case NFS4R_EFF_NAMES:
		for (uint32_t i = 0; i < p->nnames; i++)
			set_name(o, &p->names[i]);
		break;
	case NFS4R_EFF_LINKS:
		o->nlink = p->nlink;
		o->multi = p->multi;
		o->dead = p->nlink == 0;
		if (p->parent_gained)
			gain_parent(o, &p->parent);
		else
			lose_parent(o, &p->parent);
		break;
	case NFS4R_EFF_PARENT:
		lose_parent(o, &p->parent_from);
		gain_parent(o, &p->parent);
		break;
	default:
		update(o, e, p);
	}
}

void memtree_put(struct memtree *t, const struct nfs4r_put *p)
{
	struct mrow *r;

	t->written++;
	HASH_FIND(hh, t->rows, p->key, p->key_len, r);
	if (r) {
		HASH_DEL(t->rows, r);
		free(r);
	}
	if (p->del)
		return;
	r = calloc(1, sizeof(*r));
	r->put = *p;
	HASH_ADD_KEYPTR(hh, t->rows, r->put.key, r->put.key_len, r);
}

static void p_commit(void *ctx, struct nfs4r_entry *e, bool own, const struct nfs4r_put *puts, uint32_t nputs)
{
	struct memtree *t = ctx;
	struct mlog *l = &t->logs[e->log];
	struct nfs4r_entry **at = slot(l, e->lsn, true);

	t->written++;
	for (uint32_t i = 0; i < e->nparts; i++)
		apply_part(t, e, &e->parts[i]);
	for (uint32_t i = 0; i < nputs; i++)
		memtree_put(t, &puts[i]);
	if (!*at)
		*at = nfs4r_entry_get(e);
	while ((at = slot(l, l->applied + 1, false)) && *at)
		l->applied++;
}

static uint64_t p_synced(void *ctx)
{
	return ((struct memtree *)ctx)->written; /* disks are at once */
}

static uint32_t p_locks(void *ctx, const struct nfs4r_oid *oid, struct nfs4r_file_lock *out, uint32_t max)
{
	struct mobj *o = get(ctx, oid, false);

	for (uint32_t i = 0; o && i < o->nlocks && i < max; i++)
		out[i] = o->locks[i];
	return o ? o->nlocks : 0;
}

static bool p_next_locked(void *ctx, const struct nfs4r_oid *after, struct nfs4r_oid *out)
{
	const struct memtree *t = ctx;
	const struct mobj *best = NULL;

	for (const struct mobj *o = t->objs; o; o = o->hh.next)
		if (o->nlocks && nfs4r_oid_cmp(&o->oid, after) > 0 && (!best || nfs4r_oid_cmp(&o->oid, &best->oid) < 0))
			best = o;
	if (best)
		*out = best->oid;
	return best != NULL;
}

void memtree_port(struct memtree *t, struct nfs4r_tree *out)
{
	*out = (struct nfs4r_tree){ .ctx = t, .facts = p_facts, .lookup = p_lookup, .parents = p_parents, .commit = p_commit, .oid_watermark = p_mint, .synced = p_synced, .locks = p_locks, .next_locked = p_next_locked };
}

uint64_t memtree_written(const struct memtree *t)
{
	return t->written;
}

/* ---- store ------------------------------------------------------------------------ */

struct nfs4r_entry *memtree_entry(struct memtree *t, nfs4r_server_id log, nfs4r_lsn lsn)
{
	struct nfs4r_entry **at = slot(&t->logs[log], lsn, false);

	return at && lsn >= t->logs[log].base ? *at : NULL;
}

nfs4r_lsn memtree_applied(struct memtree *t, nfs4r_server_id log)
{
	return t->logs[log].applied;
}

void memtree_set_stable(struct memtree *t, nfs4r_server_id log, nfs4r_lsn stable)
{
	t->logs[log].stable = stable;
}

void memtree_truncate(struct memtree *t, nfs4r_server_id log, nfs4r_lsn until)
{
	if (until + 1 > t->logs[log].base)
		t->logs[log].base = until + 1;
}

/* The newest entry that is here beyond the contiguous part; 0: none. */
static nfs4r_lsn beyond(const struct mlog *l)
{
	uint32_t g = (uint32_t)NFS4R_GEN(l->applied);

	for (nfs4r_lsn i = l->gen[g].cap; i-- > NUMBER(l->applied) + 1;)
		if (l->gen[g].v[i])
			return (nfs4r_lsn)g << NFS4R_GEN_SHIFT | i;
	return 0;
}

static void restore_entries(struct mlog *l, uint32_t g, struct nfs4r_core *c)
{
	for (nfs4r_lsn i = 1; i < l->gen[g].cap; i++) {
		nfs4r_lsn lsn = (nfs4r_lsn)g << NFS4R_GEN_SHIFT | i;

		if (l->gen[g].v[i] && lsn >= l->base && lsn <= l->applied)
			nfs4r_core_restore_entry(c, lsn, nfs4r_entry_bytes(l->gen[g].v[i]));
	}
}

bool memtree_restore(struct memtree *t, struct nfs4r_core *c)
{
	struct mrow *r, *tmp;
	bool ok = true;

	HASH_ITER(hh, t->rows, r, tmp) {
		ok &= nfs4r_core_restore_row(c, r->put.key, r->put.key_len, r->put.val, r->put.val_len) == NFS4R_OK;
	}
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++) {
		if (t->logs[s].applied)
			nfs4r_core_restore_log(c, s, t->logs[s].base, t->logs[s].applied, t->logs[s].stable);
		if (beyond(&t->logs[s]))
			nfs4r_core_restore_beyond(c, s, beyond(&t->logs[s]));
	}
	for (nfs4r_lsn g = 0; g <= NFS4R_GEN(t->logs[t->self].applied); g++)
		restore_entries(&t->logs[t->self], (uint32_t)g, c);
	return ok;
}

/* ---- ends of logs, repairs ---------------------------------------------------------- */

void memtree_seal(struct memtree *t, nfs4r_server_id log, nfs4r_lsn seal)
{
	struct mlog *l = &t->logs[log];
	uint32_t g = (uint32_t)NFS4R_GEN(seal);

	forget_entries(l, g, NUMBER(seal) + 1);
	while (g-- > 0) /* one older generation is kept */
		forget_entries(l, g, 0);
	if (l->base <= NFS4R_GEN(seal) << NFS4R_GEN_SHIFT)
		l->base = (NFS4R_GEN(seal) << NFS4R_GEN_SHIFT) + 1;
	l->applied = NFS4R_AFTER_SEAL(seal);
	if (l->stable > seal)
		l->stable = seal;
}

/* @oid becomes what it is in @from; so do objects that it names and that are not here. */
static void take(struct memtree *t, struct memtree *from, const struct nfs4r_oid *oid)
{
	struct mobj *f = get(from, oid, false), *o = get(t, oid, false), *child;
	struct mname *n, *tmp;

	if (!f || (!f->known && !f->dead)) {
		if (o) {
			drop_names(o);
			HASH_DEL(t->objs, o);
			free(o);
		}
		return;
	}
	copy_obj(get(t, oid, true), f);
	HASH_ITER(hh, f->names, n, tmp) {
		child = get(t, &n->oid, false);
		if (!child || !child->known)
			take(t, from, &n->oid);
	}
}

void memtree_undo(struct memtree *t, struct memtree *from, const struct nfs4r_seal *seals, uint32_t nseals)
{
	for (uint32_t k = 0; k < nseals; k++) {
		struct mlog *l = &t->logs[seals[k].log];
		uint32_t g = (uint32_t)NFS4R_GEN(seals[k].lsn);

		for (nfs4r_lsn i = NUMBER(seals[k].lsn) + 1; i < l->gen[g].cap; i++)
			for (uint32_t p = 0; l->gen[g].v[i] && p < l->gen[g].v[i]->nparts; p++)
				take(t, from, &l->gen[g].v[i]->parts[p].oid);
	}
}

uint32_t memtree_beyond(struct memtree *t, const struct nfs4r_seal *seals, uint32_t nseals, struct nfs4r_oid *out, uint32_t max)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < nseals; k++) {
		struct mlog *l = &t->logs[seals[k].log];
		uint32_t g = (uint32_t)NFS4R_GEN(seals[k].lsn);

		for (nfs4r_lsn i = NUMBER(seals[k].lsn) + 1; i < l->gen[g].cap; i++)
			for (uint32_t p = 0; l->gen[g].v[i] && p < l->gen[g].v[i]->nparts && n < max; p++) {
				uint32_t at = 0;

				out[n] = l->gen[g].v[i]->parts[p].oid;
				while (!nfs4r_oid_eq(&out[at], &out[n]))
					at++;
				n += at == n;
			}
	}
	return n;
}

void memtree_take(struct memtree *t, struct memtree *from, const struct nfs4r_oid *oid)
{
	take(t, from, oid);
}

void memtree_take_content(struct memtree *t, struct memtree *from, const struct nfs4r_oid *oid)
{
	get(t, oid, false)->content = get(from, oid, false)->content;
}

void memtree_take_all(struct memtree *t, struct memtree *from)
{
	struct mobj *o, *tmp;

	HASH_ITER(hh, t->objs, o, tmp)
		take(t, from, &o->oid);
	HASH_ITER(hh, from->objs, o, tmp)
		take(t, from, &o->oid);
	for (int s = 1; s <= NFS4R_SERVERS_MAX; s++) {
		for (uint32_t g = 0; g < GENS; g++)
			forget_entries(&t->logs[s], g, 0);
		t->logs[s].applied = t->logs[s].stable = from->logs[s].applied;
		t->logs[s].base = t->logs[s].applied + 1;
	}
}

uint32_t memtree_rows(struct memtree *t, char kind)
{
	struct mrow *r, *tmp;
	uint32_t n = 0;

	HASH_ITER(hh, t->rows, r, tmp)
		n += r->put.key[0] == (uint8_t)kind;
	return n;
}

/* ---- questions ---------------------------------------------------------------------- */

uint64_t memtree_content(struct memtree *t, const struct nfs4r_oid *oid)
{
	struct mobj *o = get(t, oid, false);

	return o ? o->content : 0;
}

static bool obj_equal(const struct mobj *a, const struct mobj *b)
{
	struct mname *n, *m, *tmp;

	if (!b || a->dead != b->dead)
		return false;
	if (a->dead)
		return true;
	if (a->version != b->version || a->type != b->type || a->multi != b->multi || a->nlink != b->nlink ||
	    a->nparents != b->nparents || a->content != b->content || HASH_COUNT(a->names) != HASH_COUNT(b->names))
		return false;
	HASH_ITER(hh, a->names, n, tmp) {
		HASH_FIND_STR(b->names, n->name, m);
		if (!m || !nfs4r_oid_eq(&n->oid, &m->oid))
			return false;
	}
	return true;
}

bool memtree_equal(struct memtree *a, struct memtree *b, char *why, size_t why_len)
{
	char name[NFS4R_OID_STRLEN];
	struct mobj *o, *tmp;

	for (int i = 0; i < 2; i++) {
		HASH_ITER(hh, a->objs, o, tmp)
			if (o->known && !obj_equal(o, get(b, &o->oid, false))) {
				snprintf(why, why_len, "%s differs", nfs4r_oid_str(&o->oid, name));
				return false;
			}
		struct memtree *x = a;

		a = b;
		b = x;
	}
	return true;
}

bool memtree_no_cycle(struct memtree *t)
{
	struct mobj *o, *tmp, *p;

	HASH_ITER(hh, t->objs, o, tmp) {
		int depth = 0;

		for (p = o; p && p->known && !p->dead && p->nparents && depth < NFS4R_DEPTH_MAX; depth++)
			p = get(t, &p->parents[0], false);
		if (depth >= NFS4R_DEPTH_MAX)
			return false;
	}
	return true;
}
