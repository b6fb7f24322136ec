/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Changes since the last checkpoint, in memory in front of LMDB: hash tables of rows, names, handles, the
 * core's rows and marks, and per directory a treap of its names in cookie order.
 *
 * Nothing is ever removed: what goes away stays as a tombstone that hides LMDB's record. So everything
 * lives in one arena and is freed at once when a checkpoint has written it.
 *
 * Failure: out of memory. reserve() takes memory and table space for a whole change before its journal
 * record is written; what inserts afterwards cannot fail. Locking is the caller's (view).
 */
#include <assert.h>
#include <stdlib.h>

#include "store/bytes.h"
#include "store/internal.h"

#define CHUNK (256u << 10)
#define ALIGNED(n) (((n) + 7) & ~(size_t)7)

uint64_t store_hash(const void *data, size_t len, uint64_t seed)
{
	const uint8_t *p = data;
	uint64_t h = seed ^ len * 0x9e3779b97f4a7c15u, v;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&v, p, 8);
		h = (h ^ v) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	if (len) {
		v = 0;
		memcpy(&v, p, len);
		h = (h ^ v) * 0xff51afd7ed558ccdu;
	}
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53u;
	return h ^ h >> 33;
}

/* ---- life and memory -------------------------------------------------- */

static bool table_init(struct ov_table *t, uint64_t nbuckets)
{
	t->nbuckets = nbuckets;
	t->buckets = calloc(nbuckets, sizeof(*t->buckets));
	return t->buckets != NULL;
}

struct nfs4r_overlay *store_ov_new(void)
{
	struct nfs4r_overlay *ov = calloc(1, sizeof(*ov));

	if (!ov)
		return NULL;
	if (table_init(&ov->rows, 1024) && table_init(&ov->names, 1024) &&
	    table_init(&ov->handles, 1024) && table_init(&ov->core, 64) &&
	    table_init(&ov->marks, 64) && table_init(&ov->locks, 16))
		return ov;
	store_ov_free(ov);
	return NULL;
}

void store_ov_free(struct nfs4r_overlay *ov)
{
	while (ov) {
		struct nfs4r_overlay *below = ov->below;

		while (ov->chunks) {
			struct ov_chunk *next = ov->chunks->next;

			free(ov->chunks);
			ov->chunks = next;
		}
		free(ov->rows.buckets);
		free(ov->names.buckets);
		free(ov->handles.buckets);
		free(ov->core.buckets);
		free(ov->marks.buckets);
		free(ov->locks.buckets);
		free(ov);
		ov = below;
	}
}

static bool table_reserve(struct ov_table *t, uint32_t more)
{
	uint64_t want = t->nbuckets;
	struct ov_table bigger;

	while (t->count + more > want)
		want *= 2;
	if (want == t->nbuckets)
		return true;
	if (!table_init(&bigger, want))
		return false;
	for (uint64_t b = 0; b < t->nbuckets; b++) {
		struct ov_node *n = t->buckets[b], *next;

		for (; n; n = next) {
			struct ov_node **head = &bigger.buckets[n->hash & (want - 1)];

			next = n->next;
			n->next = *head;
			*head = n;
		}
	}
	free(t->buckets);
	t->buckets = bigger.buckets;
	t->nbuckets = want;
	return true;
}

bool store_ov_reserve(struct nfs4r_overlay *ov, const struct ov_need *need)
{
	if (!table_reserve(&ov->rows, need->rows) || !table_reserve(&ov->names, need->names) ||
	    !table_reserve(&ov->handles, need->handles) || !table_reserve(&ov->core, need->core) ||
	    !table_reserve(&ov->marks, need->marks) || !table_reserve(&ov->locks, need->locks))
		return false;
	if (!ov->chunks || ov->chunks->size - ov->chunks->used < need->bytes) {
		size_t size = need->bytes > CHUNK ? need->bytes : CHUNK;
		struct ov_chunk *c = malloc(sizeof(*c) + size);

		if (!c)
			return false;
		c->next = ov->chunks;
		c->size = size;
		c->used = 0;
		ov->chunks = c;
		ov->bytes += size;
	}
	return true;
}

void *store_ov_alloc(struct nfs4r_overlay *ov, size_t n)
{
	struct ov_chunk *c = ov->chunks;
	void *p;

	n = ALIGNED(n);
	assert(c && c->size - c->used >= n); /* reserve() asked for less than is used now */
	p = c->data + c->used;
	c->used += n;
	return memset(p, 0, n);
}

void store_ov_need_row(struct ov_need *need, uint32_t nparents)
{
	need->rows++;
	need->bytes += ALIGNED(sizeof(struct ov_row)) +
		ALIGNED(nparents * sizeof(struct nfs4r_parent));
}

void store_ov_need_name(struct ov_need *need, uint16_t len)
{
	need->names++;
	/* two cookies: the one it had and the one it gets */
	need->bytes += ALIGNED(sizeof(struct ov_name) + len) + 2 * ALIGNED(sizeof(struct ov_cookie));
}

void store_ov_need_handle(struct ov_need *need, uint8_t len)
{
	need->handles++;
	need->bytes += ALIGNED(sizeof(struct ov_handle) + len);
}

void store_ov_need_core(struct ov_need *need, uint16_t val_len)
{
	need->core++;
	need->bytes += ALIGNED(sizeof(struct ov_core)) + ALIGNED(val_len + 64u);
}

void store_ov_need_mark(struct ov_need *need)
{
	need->marks++;
	need->bytes += ALIGNED(sizeof(struct ov_mark));
}

void store_ov_need_locks(struct ov_need *need, uint32_t n)
{
	need->locks++;
	need->bytes += ALIGNED(sizeof(struct ov_locks)) + ALIGNED((size_t)n * LOCK_BYTES);
}

/* ---- tables ----------------------------------------------------------- */

static struct ov_node *first(const struct ov_table *t, uint64_t hash)
{
	struct ov_node *n = t->buckets[hash & (t->nbuckets - 1)];

	while (n && n->hash != hash)
		n = n->next;
	return n;
}

static struct ov_node *following(const struct ov_node *n)
{
	uint64_t hash = n->hash;

	do
		n = n->next;
	while (n && n->hash != hash);
	return (struct ov_node *)n;
}

static void *insert(struct nfs4r_overlay *ov, struct ov_table *t, size_t size, uint64_t hash)
{
	struct ov_node *n = store_ov_alloc(ov, size);
	struct ov_node **head = &t->buckets[hash & (t->nbuckets - 1)];

	n->hash = hash;
	n->next = *head;
	*head = n;
	t->count++;
	return n;
}

struct ov_row *store_ov_row(const struct nfs4r_overlay *ov, const struct nfs4r_oid *oid)
{
	struct ov_node *n = first(&ov->rows, nfs4r_oid_hash(oid));

	while (n && !nfs4r_oid_eq(&((struct ov_row *)n)->o.row.oid, oid))
		n = following(n);
	return (struct ov_row *)n;
}

struct ov_row *store_ov_make_row(struct nfs4r_overlay *ov, const struct nfs4r_oid *oid)
{
	struct ov_row *r = store_ov_row(ov, oid);

	if (!r) {
		r = insert(ov, &ov->rows, sizeof(*r), nfs4r_oid_hash(oid));
		r->o.row.oid = *oid;
	}
	return r;
}

static uint64_t name_hash(const struct nfs4r_oid *dir, const char *s, uint16_t len)
{
	return store_hash(s, len, nfs4r_oid_hash(dir));
}

struct ov_name *store_ov_name(const struct nfs4r_overlay *ov, const struct nfs4r_oid *dir,
			      const char *s, uint16_t len)
{
	struct ov_node *n = first(&ov->names, name_hash(dir, s, len));

	for (; n; n = following(n)) {
		struct ov_name *e = (struct ov_name *)n;

		if (e->len == len && nfs4r_oid_eq(&e->dir, dir) && !memcmp(e->s, s, len))
			return e;
	}
	return NULL;
}

struct ov_name *store_ov_make_name(struct nfs4r_overlay *ov, const struct nfs4r_oid *dir,
				   const char *s, uint16_t len)
{
	struct ov_name *e = store_ov_name(ov, dir, s, len);

	if (!e) {
		e = insert(ov, &ov->names, sizeof(*e) + len, name_hash(dir, s, len));
		e->dir = *dir;
		e->gone = true;
		e->len = len;
		memcpy(e->s, s, len);
	}
	return e;
}

struct ov_handle *store_ov_handle(const struct nfs4r_overlay *ov, const void *h, uint8_t len)
{
	struct ov_node *n = first(&ov->handles, store_hash(h, len, 0));

	for (; n; n = following(n)) {
		struct ov_handle *e = (struct ov_handle *)n;

		if (e->len == len && !memcmp(e->bytes, h, len))
			return e;
	}
	return NULL;
}

struct ov_handle *store_ov_make_handle(struct nfs4r_overlay *ov, const void *h, uint8_t len)
{
	struct ov_handle *e = store_ov_handle(ov, h, len);

	if (!e) {
		e = insert(ov, &ov->handles, sizeof(*e) + len, store_hash(h, len, 0));
		e->len = len;
		memcpy(e->bytes, h, len);
	}
	return e;
}

struct ov_core *store_ov_core(const struct nfs4r_overlay *ov, const uint8_t *key, uint16_t len)
{
	struct ov_node *n = first(&ov->core, store_hash(key, len, 0));

	for (; n; n = following(n)) {
		struct ov_core *e = (struct ov_core *)n;

		if (e->key_len == len && !memcmp(e->key, key, len))
			return e;
	}
	return NULL;
}

struct ov_core *store_ov_make_core(struct nfs4r_overlay *ov, const uint8_t *key, uint16_t len)
{
	struct ov_core *e = store_ov_core(ov, key, len);

	if (!e) {
		e = insert(ov, &ov->core, sizeof(*e), store_hash(key, len, 0));
		e->key_len = len;
		memcpy(e->key, key, len);
	}
	return e;
}

struct ov_mark *store_ov_mark(const struct nfs4r_overlay *ov, const struct nfs4r_oid *oid)
{
	struct ov_node *n = first(&ov->marks, nfs4r_oid_hash(oid));

	while (n && !nfs4r_oid_eq(&((struct ov_mark *)n)->oid, oid))
		n = following(n);
	return (struct ov_mark *)n;
}

struct ov_mark *store_ov_make_mark(struct nfs4r_overlay *ov, const struct nfs4r_oid *oid)
{
	struct ov_mark *m = store_ov_mark(ov, oid);

	if (!m) {
		m = insert(ov, &ov->marks, sizeof(*m), nfs4r_oid_hash(oid));
		m->oid = *oid;
	}
	return m;
}

struct ov_locks *store_ov_locks(const struct nfs4r_overlay *ov, const struct nfs4r_oid *oid)
{
	struct ov_node *n = first(&ov->locks, nfs4r_oid_hash(oid));

	while (n && !nfs4r_oid_eq(&((struct ov_locks *)n)->oid, oid))
		n = following(n);
	return (struct ov_locks *)n;
}

struct ov_locks *store_ov_make_locks(struct nfs4r_overlay *ov, const struct nfs4r_oid *oid)
{
	struct ov_locks *l = store_ov_locks(ov, oid);

	if (!l) {
		l = insert(ov, &ov->locks, sizeof(*l), nfs4r_oid_hash(oid));
		l->oid = *oid;
	}
	return l;
}

struct ov_node **store_ov_sorted(const struct ov_table *t, int (*cmp)(const void *a, const void *b))
{
	struct ov_node **list = t->count ? malloc(t->count * sizeof(*list)) : NULL;
	uint64_t n = 0;

	if (!list)
		return NULL;
	for (uint64_t b = 0; b < t->nbuckets; b++) {
		for (struct ov_node *e = t->buckets[b]; e; e = e->next)
			list[n++] = e;
	}
	qsort(list, n, sizeof(*list), cmp);
	return list;
}

/* ---- cookie order ----------------------------------------------------- */

struct ov_cookie *store_ov_cookie(const struct ov_row *dir, uint64_t cookie)
{
	struct ov_cookie *at = dir->cookies, *best = NULL;

	while (at) {
		if (at->cookie == cookie)
			return at;
		if (at->cookie > cookie)
			best = at;
		at = at->child[at->cookie < cookie];
	}
	return best;
}

/* Cut @t into slots below and above @cookie, which it does not hold. */
static void split(struct ov_cookie *t, uint64_t cookie, struct ov_cookie **below,
		  struct ov_cookie **above)
{
	while (t) {
		if (t->cookie < cookie) {
			*below = t;
			below = &t->child[1];
			t = t->child[1];
		} else {
			*above = t;
			above = &t->child[0];
			t = t->child[0];
		}
	}
	*below = *above = NULL;
}

struct ov_cookie *store_ov_make_cookie(struct nfs4r_overlay *ov, struct ov_row *dir, uint64_t cookie)
{
	struct ov_cookie *c = store_ov_cookie(dir, cookie), **at = &dir->cookies;

	if (c && c->cookie == cookie)
		return c;
	c = store_ov_alloc(ov, sizeof(*c));
	c->cookie = cookie;
	/* The address is in it so that nobody can choose names that make the tree a list. */
	c->prio = store_hash(&c, sizeof(c), cookie);
	while (*at && (*at)->prio >= c->prio)
		at = &(*at)->child[(*at)->cookie < cookie];
	split(*at, cookie, &c->child[0], &c->child[1]);
	*at = c;
	return c;
}
