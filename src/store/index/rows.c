/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Rows: what is stored about one object, and where a read finds it.
 *
 * Happy path: the active overlay, else those below it (checkpoint.c), else LMDB. The read
 * transaction is opened while the view is held, so that a checkpoint that ends in between cannot hide the
 * object, but LMDB's pages are touched after the view was given back: a slow disk holds up nobody.
 *
 * Failure modes: an LMDB error in a read marks the store as failed (every later change answers IO and the
 * server stops) and the read says "not yet here", which clients see as DELAY, never "dead".
 *
 * Invariant: a row with version 0 is no row; it only carries a handle.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/bytes.h"
#include "store/internal.h"

/* ---- LMDB record ------------------------------------------------------- */

size_t store_row_size(const struct nfs4r_object *o)
{
	return ROW_FIXED + o->handle_len + 20 * (size_t)o->row.nparents;
}

void store_row_encode(const struct nfs4r_object *o, uint8_t *p)
{
	const struct nfs4r_row *r = &o->row;

	memset(p, 0, ROW_FIXED);
	put_be64(p, r->version);
	put_be64(p + 8, r->ctime);
	put_be64(p + 16, r->mtime);
	put_be64(p + 24, r->nentries);
	put_be64(p + 32, r->last_lsn);
	put_be32(p + 40, r->nlink);
	put_be32(p + 44, r->nparents);
	put_be16(p + 48, r->last_log);
	p[50] = r->type;
	p[51] = r->multi;
	p[52] = o->handle_len;
	p += ROW_FIXED;
	memcpy(p, o->handle, o->handle_len);
	p += o->handle_len;
	for (uint32_t i = 0; i < r->nparents; i++, p += 20) {
		memcpy(p, i ? o->more[i - 1].oid.b : r->parent.b, 16);
		put_be32(p + 16, i ? o->more[i - 1].count : o->parent_count);
	}
}

bool store_row_decode(const struct nfs4r_oid *oid, const uint8_t *p, size_t len,
		      struct nfs4r_object *o, const uint8_t **more)
{
	struct nfs4r_row *r = &o->row;

	if (len < ROW_FIXED || p[52] > NFS4R_LOCAL_HANDLE_MAX ||
	    len != ROW_FIXED + p[52] + 20 * (size_t)get_be32(p + 44))
		return false;
	memset(o, 0, sizeof(*o));
	r->oid = *oid;
	r->version = get_be64(p);
	r->ctime = get_be64(p + 8);
	r->mtime = get_be64(p + 16);
	r->nentries = get_be64(p + 24);
	r->last_lsn = get_be64(p + 32);
	r->nlink = get_be32(p + 40);
	r->nparents = get_be32(p + 44);
	r->last_log = get_be16(p + 48);
	r->type = p[50];
	r->multi = p[51];
	o->handle_len = p[52];
	p += ROW_FIXED;
	memcpy(o->handle, p, o->handle_len);
	p += o->handle_len;
	if (r->nparents) {
		memcpy(r->parent.b, p, 16);
		o->parent_count = get_be32(p + 16);
		p += 20;
	}
	*more = p;
	return true;
}

/* ---- finding ----------------------------------------------------------- */

static const struct ov_row *overlay_row(struct nfs4r_store *s, const struct nfs4r_oid *oid)
{
	const struct ov_row *r = NULL;

	for (const struct nfs4r_overlay *ov = s->active; ov && !r; ov = ov->below)
		r = store_ov_row(ov, oid);
	return r;
}

/* There is no row of @oid: not yet, or no more? The view is held. */
static enum nfs4r_known absent(const struct nfs4r_store *s, const struct nfs4r_oid *oid)
{
	nfs4r_server_id creator = nfs4r_oid_creator(oid);
	uint64_t inc = nfs4r_oid_inc(oid), seq = nfs4r_oid_seq(oid);
	const struct nfs4r_inc *m;

	if (creator < 1 || creator > NFS4R_SERVERS_MAX)
		return NFS4R_DEAD; /* no server can have made it */
	m = &s->oid_watermark[creator];
	if (inc < m->counter || (inc == m->counter && seq <= m->random))
		return NFS4R_DEAD;
	return store_log_made(&s->logs[creator], oid) ? NFS4R_DEAD : NFS4R_NOT_YET;
}

void store_ref_open(struct nfs4r_store *s, const struct nfs4r_oid *oid, struct nfs4r_ref *ref)
{
	const struct ov_row *r;
	MDB_val key = { 16, (void *)(uintptr_t)oid->b }, val;
	int rc;

	ref->reader = NULL;
	ref->obj = NULL;
	pthread_rwlock_rdlock(&s->view);
	r = overlay_row(s, oid);
	ref->absent = r && !r->gone && r->o.row.version ? NFS4R_KNOWN : absent(s, oid);
	if (r) {
		ref->locked = true;
		ref->obj = &r->o;
		ref->status = r->gone ? NFS4R_NOENT : NFS4R_OK;
		return;
	}
	ref->locked = false;
	ref->reader = store_db_begin(&s->db);
	pthread_rwlock_unlock(&s->view);
	rc = ref->reader ? mdb_get(ref->reader->txn, s->db.rows, &key, &val) : ENOMEM;
	ref->status = store_db_status(rc);
	if (!rc) {
		ref->obj = &ref->decoded;
		if (!store_row_decode(oid, val.mv_data, val.mv_size, &ref->decoded, &ref->more))
			ref->status = NFS4R_CORRUPT;
	}
	if (ref->status != NFS4R_OK && ref->status != NFS4R_NOENT)
		atomic_store(&s->jnl.failed, true);
}

void store_ref_close(struct nfs4r_store *s, struct nfs4r_ref *ref)
{
	if (ref->locked)
		pthread_rwlock_unlock(&s->view);
	store_db_end(&s->db, ref->reader);
}

static void ref_parent(const struct nfs4r_ref *ref, uint32_t i, struct nfs4r_parent *out)
{
	if (!i) {
		out->oid = ref->obj->row.parent;
		out->count = ref->obj->parent_count;
	} else if (ref->locked) {
		*out = ref->obj->more[i - 1];
	} else {
		memcpy(out->oid.b, ref->more + 20 * (size_t)(i - 1), 16);
		out->count = get_be32(ref->more + 20 * (size_t)(i - 1) + 16);
	}
}

enum nfs4r_status store_object_load(struct nfs4r_store *s, const struct nfs4r_oid *oid,
				    struct nfs4r_object *out)
{
	enum nfs4r_status st;
	struct nfs4r_ref ref;

	store_ref_open(s, oid, &ref);
	st = ref.status;
	if (st == NFS4R_OK) {
		*out = *ref.obj;
		out->more = NULL;
		if (out->row.nparents) {
			/* room for one that is gained; the first of `more` is parent 1 */
			out->more = calloc(out->row.nparents, sizeof(*out->more));
			st = out->more ? NFS4R_OK : NFS4R_NOMEM;
		}
		for (uint32_t i = 1; st == NFS4R_OK && i < out->row.nparents; i++)
			ref_parent(&ref, i, &out->more[i - 1]);
	} else {
		memset(out, 0, sizeof(*out));
		out->row.oid = *oid;
	}
	store_ref_close(s, &ref);
	return st;
}

void store_object_fini(struct nfs4r_object *o)
{
	free(o->more);
	o->more = NULL;
}

struct ov_row *store_object_store(struct nfs4r_store *s, const struct nfs4r_oid *oid,
				  const struct nfs4r_object *o, bool gone)
{
	struct ov_row *r = store_ov_make_row(s->active, oid);
	uint32_t nmore = o->row.nparents > 1 ? o->row.nparents - 1 : 0;

	r->o = *o;
	r->o.row.oid = *oid;
	r->o.more = NULL;
	r->gone = gone;
	if (nmore && !gone) {
		r->o.more = store_ov_alloc(s->active, nmore * sizeof(*o->more));
		memcpy(r->o.more, o->more, nmore * sizeof(*o->more));
	}
	return r;
}

/* ---- questions --------------------------------------------------------- */

enum nfs4r_known store_known_absent(struct nfs4r_store *s, const struct nfs4r_oid *oid)
{
	pthread_rwlock_rdlock(&s->view);
	enum nfs4r_known known = absent(s, oid);
	pthread_rwlock_unlock(&s->view);
	return known;
}

enum nfs4r_known nfs4r_store_row(struct nfs4r_store *s, const struct nfs4r_oid *oid,
				 struct nfs4r_row *row)
{
	struct nfs4r_ref ref;
	enum nfs4r_known known = NFS4R_NOT_YET; /* also what cannot be read */

	store_ref_open(s, oid, &ref);
	if (ref.status == NFS4R_NOENT || (ref.status == NFS4R_OK && !ref.obj->row.version)) {
		known = ref.absent;
	} else if (ref.status == NFS4R_OK) {
		known = NFS4R_KNOWN;
		if (row)
			*row = ref.obj->row;
	}
	store_ref_close(s, &ref);
	return known;
}

uint32_t nfs4r_store_parents(struct nfs4r_store *s, const struct nfs4r_oid *oid, struct nfs4r_oid *out,
			     uint32_t max)
{
	struct nfs4r_ref ref;
	uint32_t n = 0;

	store_ref_open(s, oid, &ref);
	if (ref.status == NFS4R_OK && ref.obj->row.version)
		n = ref.obj->row.nparents;
	for (uint32_t i = 0; i < n && i < max; i++) {
		struct nfs4r_parent p;

		ref_parent(&ref, i, &p);
		out[i] = p.oid;
	}
	store_ref_close(s, &ref);
	return n;
}

enum nfs4r_known nfs4r_store_copy_row(struct nfs4r_store *s, const struct nfs4r_oid *oid, struct nfs4r_copy_row *out)
{
	struct nfs4r_ref ref;
	enum nfs4r_known known = NFS4R_NOT_YET;

	memset(out, 0, sizeof(*out));
	store_ref_open(s, oid, &ref);
	if (ref.status == NFS4R_NOENT || (ref.status == NFS4R_OK && !ref.obj->row.version)) {
		known = ref.absent;
	} else if (ref.status == NFS4R_OK) {
		const struct nfs4r_row *r = &ref.obj->row;

		known = NFS4R_KNOWN;
		*out = (struct nfs4r_copy_row){ .version = r->version, .type = r->type, .multi = r->multi, .nlink = r->nlink, .ctime = r->ctime, .mtime = r->mtime, .last_log = r->last_log, .last_lsn = r->last_lsn };
		out->nparents = r->nparents < NFS4R_PARENTS_MAX ? r->nparents : NFS4R_PARENTS_MAX;
		for (uint32_t i = 0; i < out->nparents; i++) {
			struct nfs4r_parent p;

			ref_parent(&ref, i, &p);
			out->parents[i] = p.oid;
			out->parent_names[i] = p.count;
		}
	}
	store_ref_close(s, &ref);
	return known;
}

/* ---- all of them --------------------------------------------------------- */

struct oids { /* the least that were seen, ascending */
	const struct nfs4r_oid *after;
	struct nfs4r_oid *out;
	uint32_t n, max;
};

static void oids_add(struct oids *l, const struct nfs4r_oid *oid)
{
	uint32_t lo = 0, hi = l->n;

	if (nfs4r_oid_cmp(oid, l->after) <= 0)
		return;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		int d = nfs4r_oid_cmp(&l->out[mid], oid);

		if (!d)
			return;
		if (d < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == l->max)
		return;
	if (l->n == l->max)
		l->n--;
	memmove(&l->out[lo + 1], &l->out[lo], (l->n - lo) * sizeof(*l->out));
	l->out[lo] = *oid;
	l->n++;
}

static void oids_of_overlay(struct nfs4r_store *s, const struct nfs4r_overlay *ov, struct oids *l)
{
	for (uint64_t b = 0; b < ov->rows.nbuckets; b++) {
		for (struct ov_node *n = ov->rows.buckets[b]; n; n = n->next) {
			const struct ov_row *r = (const struct ov_row *)n;

			if (!r->gone && r->o.row.version && overlay_row(s, &r->o.row.oid) == r)
				oids_add(l, &r->o.row.oid);
		}
	}
}

static int oids_of_db(struct nfs4r_store *s, struct nfs4r_reader *r, struct oids *l)
{
	MDB_val key = { 16, (void *)(uintptr_t)l->after->b }, val;
	struct nfs4r_oid oid;
	MDB_cursor *cur;
	uint32_t n = 0;
	int rc = mdb_cursor_open(r->txn, s->db.rows, &cur);

	if (rc)
		return rc;
	for (rc = mdb_cursor_get(cur, &key, &val, MDB_SET_RANGE); !rc && n <= l->max; rc = mdb_cursor_get(cur, &key, &val, MDB_NEXT)) {
		if (key.mv_size != 16 || val.mv_size < ROW_FIXED) {
			rc = MDB_CORRUPTED;
			break;
		}
		memcpy(oid.b, key.mv_data, 16);
		if (overlay_row(s, &oid) || !get_be64(val.mv_data))
			continue;
		oids_add(l, &oid);
		n++;
	}
	mdb_cursor_close(cur);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

uint32_t nfs4r_store_each_oid(struct nfs4r_store *s, const struct nfs4r_oid *after, struct nfs4r_oid *out, uint32_t max)
{
	struct oids l = { .after = after, .out = out, .max = max };
	struct nfs4r_reader *r;

	if (!max)
		return 0;
	pthread_rwlock_rdlock(&s->view);
	for (const struct nfs4r_overlay *ov = s->active; ov; ov = ov->below)
		oids_of_overlay(s, ov, &l);
	r = store_db_begin(&s->db);
	if (!r || oids_of_db(s, r, &l))
		atomic_store(&s->jnl.failed, true);
	store_db_end(&s->db, r);
	pthread_rwlock_unlock(&s->view);
	return l.n;
}
