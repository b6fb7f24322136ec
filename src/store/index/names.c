/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Names of directories: look-up by name, listing in cookie order, cookies for new names.
 *
 * Happy path: look-up as in rows.c. A listing merges ordered sources (the overlays from the active one down,
 * and LMDB); for equal cookies the newer source decides, and a tombstone there hides the name.
 * It goes in pieces so that the view is never held for long; between pieces the directory may change, as
 * between two READDIRs of a client, and nothing that stays is listed twice or left out because cookies of
 * names never change.
 *
 * Failure modes: an LMDB error marks the store as failed, as in rows.c. A name is then not found and a listing ends early; who makes an answer of that asks
 * nfs4r_store_failed() afterwards.
 */
#include <assert.h>
#include <errno.h>

#include "store/bytes.h"
#include "store/internal.h"

#define PIECE 64 /* names listed while the view is held */
#define LAYERS_MAX 4 /* more overlays than there can be (checkpoint.c) */
#define COOKIE_FIRST 3
#define COOKIE_LAST INT64_MAX

size_t store_name_key(uint8_t out[NAME_KEY_MAX], const struct nfs4r_oid *dir, const char *s,
		      uint16_t len)
{
	memcpy(out, dir->b, 16);
	memcpy(out + 16, s, len);
	return 16 + len;
}

static bool find_in_db(struct nfs4r_store *s, struct nfs4r_reader *r, const struct nfs4r_oid *dir,
		       const char *name, uint16_t len, struct nfs4r_oid *oid, uint32_t *type,
		       uint64_t *cookie)
{
	uint8_t buf[NAME_KEY_MAX];
	MDB_val key = { store_name_key(buf, dir, name, len), buf }, val;
	const uint8_t *p;
	int rc = r ? mdb_get(r->txn, s->db.names, &key, &val) : ENOMEM;

	if (!rc && val.mv_size != NAME_VAL)
		rc = MDB_CORRUPTED;
	if (rc) {
		if (rc != MDB_NOTFOUND)
			atomic_store(&s->jnl.failed, true);
		return false;
	}
	p = val.mv_data;
	memcpy(oid->b, p, 16);
	*type = p[16];
	*cookie = get_be64(p + 17);
	return true;
}

bool store_name_find(struct nfs4r_store *s, const struct nfs4r_oid *dir, const char *name, uint16_t len,
		     struct nfs4r_oid *oid, uint32_t *type, uint64_t *cookie)
{
	struct nfs4r_reader *r;
	struct ov_name *e = NULL;
	bool found;

	if (!len || len > NFS4R_NAME_MAX)
		return false;
	pthread_rwlock_rdlock(&s->view);
	for (const struct nfs4r_overlay *ov = s->active; ov && !e; ov = ov->below)
		e = store_ov_name(ov, dir, name, len);
	if (e) {
		found = !e->gone;
		*oid = e->oid;
		*type = e->type;
		*cookie = e->cookie;
		pthread_rwlock_unlock(&s->view);
		return found;
	}
	r = store_db_begin(&s->db);
	pthread_rwlock_unlock(&s->view);
	found = find_in_db(s, r, dir, name, len, oid, type, cookie);
	store_db_end(&s->db, r);
	return found;
}

bool nfs4r_store_lookup(struct nfs4r_store *s, const struct nfs4r_oid *dir, const struct nfs4r_name *name,
			struct nfs4r_dirent *out)
{
	if (!store_name_find(s, dir, name->s, name->len, &out->oid, &out->type, &out->cookie))
		return false;
	if (&out->name != name)
		out->name = *name;
	return true;
}

/* ---- listing ----------------------------------------------------------- */

struct merge {
	struct nfs4r_store *s;
	const struct nfs4r_oid *dir;
	const struct ov_row *layers[LAYERS_MAX]; /* the newest first */
	uint32_t nlayers;
	struct nfs4r_reader *r;
	MDB_val key, val;
	bool db; /* key, val: LMDB's next name of the directory */
};

static bool db_is_ours(const struct merge *m, int rc)
{
	if (rc && rc != MDB_NOTFOUND)
		atomic_store(&m->s->jnl.failed, true);
	return !rc && m->key.mv_size == 24 && !memcmp(m->key.mv_data, m->dir->b, 16);
}

static void db_seek(struct merge *m, uint64_t cookie)
{
	uint8_t key[24];
	int rc;

	m->db = false;
	if (!m->r)
		return;
	rc = m->r->cookies ? mdb_cursor_renew(m->r->txn, m->r->cookies) :
			     mdb_cursor_open(m->r->txn, m->s->db.cookies, &m->r->cookies);
	memcpy(key, m->dir->b, 16);
	put_be64(key + 16, cookie);
	m->key = (MDB_val){ sizeof(key), key };
	if (!rc)
		rc = mdb_cursor_get(m->r->cookies, &m->key, &m->val, MDB_SET_RANGE);
	m->db = db_is_ours(m, rc);
}

static void db_next(struct merge *m)
{
	m->db = db_is_ours(m, mdb_cursor_get(m->r->cookies, &m->key, &m->val, MDB_NEXT));
}

static void fill_from_overlay(const struct ov_name *n, struct nfs4r_dirent *out)
{
	out->name.len = n->len;
	memcpy(out->name.s, n->s, n->len);
	out->name.s[n->len] = 0;
	out->oid = n->oid;
	out->type = n->type;
	out->cookie = n->cookie;
}

static bool fill_from_db(const struct merge *m, uint64_t cookie, struct nfs4r_dirent *out)
{
	const uint8_t *p = m->val.mv_data;
	size_t len = m->val.mv_size;

	if (len < 18 || len > 17 + NFS4R_NAME_MAX) {
		atomic_store(&m->s->jnl.failed, true);
		return false;
	}
	memcpy(out->oid.b, p, 16);
	out->type = p[16];
	out->name.len = len - 17;
	memcpy(out->name.s, p + 17, len - 17);
	out->name.s[len - 17] = 0;
	out->cookie = cookie;
	return true;
}

static void add_layers(struct merge *m)
{
	for (const struct nfs4r_overlay *ov = m->s->active; ov; ov = ov->below) {
		const struct ov_row *dir = store_ov_row(ov, m->dir);

		assert(m->nlayers < LAYERS_MAX);
		if (dir)
			m->layers[m->nlayers++] = dir;
	}
}

/* The newest slot with the least cookie >= @from; NULL: the overlays have none. */
static const struct ov_cookie *least_of_layers(const struct merge *m, uint64_t from)
{
	const struct ov_cookie *least = NULL;

	for (uint32_t i = 0; i < m->nlayers; i++) {
		const struct ov_cookie *c = store_ov_cookie(m->layers[i], from);

		if (c && (!least || c->cookie < least->cookie))
			least = c;
	}
	return least;
}

/* Names with cookies from *@next on, at most @max. *@next = 0 at the end. */
static uint32_t piece(struct merge *m, uint64_t *next, struct nfs4r_dirent *out, uint32_t max)
{
	uint32_t n = 0;

	db_seek(m, *next);
	for (uint32_t steps = 0; n < max; steps++) {
		const struct ov_cookie *c = least_of_layers(m, *next);
		uint64_t db = m->db ? get_be64((uint8_t *)m->key.mv_data + 16) : UINT64_MAX;
		uint64_t least = c && c->cookie < db ? c->cookie : db;

		if (least == UINT64_MAX) {
			*next = 0;
			return n;
		}
		if (steps >= 4 * PIECE) /* many tombstones: give way to writers */
			return n;
		if (!c || c->cookie != least)
			n += fill_from_db(m, least, &out[n]);
		else if (ov_cookie_used(c))
			fill_from_overlay(c->name, &out[n++]);
		if (db == least)
			db_next(m);
		*next = least + 1;
	}
	return n;
}

uint32_t nfs4r_store_readdir(struct nfs4r_store *s, const struct nfs4r_oid *dir, uint64_t after,
			     struct nfs4r_dirent *out, uint32_t max)
{
	uint64_t next = after + 1;
	uint32_t n = 0;

	while (n < max && next) {
		struct merge m = { .s = s, .dir = dir };
		uint32_t want = max - n < PIECE ? max - n : PIECE;

		pthread_rwlock_rdlock(&s->view);
		add_layers(&m);
		m.r = store_db_begin(&s->db);
		if (!m.r)
			atomic_store(&s->jnl.failed, true);
		n += piece(&m, &next, out + n, want);
		store_db_end(&s->db, m.r);
		pthread_rwlock_unlock(&s->view);
	}
	return n;
}

bool nfs4r_store_failed(const struct nfs4r_store *s)
{
	return atomic_load(&s->jnl.failed);
}

/* ---- new cookies ------------------------------------------------------- */

static const struct ov_cookie *exact_slot(const struct nfs4r_overlay *ov, const struct nfs4r_oid *dir,
					  uint64_t cookie)
{
	const struct ov_row *row = store_ov_row(ov, dir);
	const struct ov_cookie *c = row ? store_ov_cookie(row, cookie) : NULL;

	return c && c->cookie == cookie ? c : NULL;
}

static bool cookie_taken(struct nfs4r_store *s, const struct nfs4r_oid *dir, uint64_t cookie)
{
	const struct ov_cookie *c = NULL;
	struct nfs4r_reader *r;
	uint8_t buf[24];
	MDB_val key = { sizeof(buf), buf }, val;
	bool taken;

	pthread_rwlock_rdlock(&s->view);
	for (const struct nfs4r_overlay *ov = s->active; ov && !c; ov = ov->below)
		c = exact_slot(ov, dir, cookie);
	if (c) {
		taken = ov_cookie_used(c);
		pthread_rwlock_unlock(&s->view);
		return taken;
	}
	r = store_db_begin(&s->db);
	pthread_rwlock_unlock(&s->view);
	memcpy(buf, dir->b, 16);
	put_be64(buf + 16, cookie);
	taken = r && !mdb_get(r->txn, s->db.cookies, &key, &val);
	store_db_end(&s->db, r);
	return taken;
}

uint64_t nfs4r_store_new_cookie(struct nfs4r_store *s, const struct nfs4r_oid *dir,
				const struct nfs4r_name *name)
{
	uint64_t cookie = store_hash(name->s, name->len, 0) & COOKIE_LAST;

	for (;; cookie++) {
		if (cookie < COOKIE_FIRST || cookie > COOKIE_LAST)
			cookie = COOKIE_FIRST;
		if (!cookie_taken(s, dir, cookie))
			return cookie;
	}
}
