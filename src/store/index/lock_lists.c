/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Lists of byte-range locks, beside the rows of their files (docs/protocol/locks.md; disk format 2): what the newest LOCKS entry of a file says.
 *
 * Happy path: a list is written when the entry is committed, goes to LMDB with the next checkpoint, and ends with its object. It is found as a row is: in an overlay, else in
 * LMDB. A file that never had locks has nothing anywhere, and a store that never had a list has no database for them.
 *
 * Failure modes: as of rows. Whoever asks for a list that cannot be read gets none, and the store has failed.
 *
 * Invariant: a list is of its row's object, and of that version or of one before it that no LOCKS entry lies between.
 */
#include <errno.h>

#include "store/bytes.h"
#include "store/internal.h"

/* ---- bytes --------------------------------------------------------------- */

void store_lock_encode(const struct nfs4r_file_lock *l, uint8_t out[LOCK_BYTES])
{
	memset(out, 0, LOCK_BYTES);
	put_be64(out, l->lock.owner.client[0]);
	put_be64(out + 8, l->lock.owner.client[1]);
	put_be64(out + 16, l->lock.owner.owner[0]);
	put_be64(out + 24, l->lock.owner.owner[1]);
	put_be64(out + 32, l->lock.start);
	put_be64(out + 40, l->lock.last);
	put_be64(out + 48, l->inc);
	put_be64(out + 56, l->n);
	put_be64(out + 64, l->lock.life);
	put_be16(out + 72, l->holder);
	out[74] = (uint8_t)l->lock.type;
}

static void decode(const uint8_t *p, struct nfs4r_file_lock *l)
{
	memset(l, 0, sizeof(*l));
	l->lock.owner.client[0] = get_be64(p);
	l->lock.owner.client[1] = get_be64(p + 8);
	l->lock.owner.owner[0] = get_be64(p + 16);
	l->lock.owner.owner[1] = get_be64(p + 24);
	l->lock.start = get_be64(p + 32);
	l->lock.last = get_be64(p + 40);
	l->inc = get_be64(p + 48);
	l->n = get_be64(p + 56);
	l->lock.life = get_be64(p + 64);
	l->holder = get_be16(p + 72);
	l->lock.type = (enum nfs4r_lock_type)p[74];
}

bool store_locks_decode(const uint8_t *bytes, size_t len, struct nfs4r_file_lock *out, uint32_t max)
{
	size_t n = len / LOCK_BYTES;

	if (len % LOCK_BYTES || n > NFS4R_LOCKS_LIST_MAX)
		return false;
	for (size_t i = 0; i < n; i++) {
		const uint8_t *p = bytes + i * LOCK_BYTES;

		if (p[74] < NFS4R_LOCK_READ || p[74] > NFS4R_LOCK_WRITE || !get_be16(p + 72) || get_be16(p + 72) > NFS4R_SERVERS_MAX || get_be64(p + 32) > get_be64(p + 40))
			return false;
		if (i < max)
			decode(p, &out[i]);
	}
	return true;
}

/* ---- changes: under change, after a reserve ---------------------------------- */

void store_locks_set(struct nfs4r_store *s, const struct nfs4r_oid *oid, const struct nfs4r_file_lock *locks, uint32_t n)
{
	struct ov_locks *l = store_ov_make_locks(s->active, oid);

	l->n = n;
	if (n > l->cap) {
		l->cap = n;
		l->bytes = store_ov_alloc(s->active, (size_t)n * LOCK_BYTES);
	}
	for (uint32_t i = 0; i < n; i++)
		store_lock_encode(&locks[i], l->bytes + (size_t)i * LOCK_BYTES);
}

/* ---- questions ---------------------------------------------------------------- */

/* The view is held. NULL: no overlay says anything. */
static const struct ov_locks *overlay_locks(const struct nfs4r_store *s, const struct nfs4r_oid *oid)
{
	const struct ov_locks *l = NULL;

	for (const struct nfs4r_overlay *ov = s->active; ov && !l; ov = ov->below)
		l = store_ov_locks(ov, oid);
	return l;
}

static uint32_t locks_in_db(struct nfs4r_store *s, struct nfs4r_reader *r, const struct nfs4r_oid *oid, struct nfs4r_file_lock *out, uint32_t max)
{
	MDB_val key = { 16, (void *)(uintptr_t)oid->b }, val;
	int rc = r ? mdb_get(r->txn, s->db.locks, &key, &val) : ENOMEM;
	bool ok = !rc && store_locks_decode(val.mv_data, val.mv_size, out, max);

	if (rc != MDB_NOTFOUND && !ok)
		atomic_store(&s->jnl.failed, true);
	return ok ? (uint32_t)(val.mv_size / LOCK_BYTES) : 0;
}

uint32_t nfs4r_store_locks(struct nfs4r_store *s, const struct nfs4r_oid *oid, struct nfs4r_file_lock *out, uint32_t max)
{
	struct nfs4r_reader *r = NULL;
	const struct ov_locks *l;
	bool in_db;
	uint32_t n = 0;

	pthread_rwlock_rdlock(&s->view);
	l = overlay_locks(s, oid);
	if (l) {
		n = l->n;
		store_locks_decode(l->bytes, (size_t)n * LOCK_BYTES, out, max);
	}
	in_db = !l && atomic_load(&s->db.has_locks); /* before the transaction begins: one of before has no such database */
	if (in_db)
		r = store_db_begin(&s->db);
	pthread_rwlock_unlock(&s->view);
	if (in_db)
		n = locks_in_db(s, r, oid, out, max);
	store_db_end(&s->db, r);
	return n;
}

/* The next one of LMDB, whatever overlays say of it. */
static bool next_in_db(struct nfs4r_store *s, struct nfs4r_reader *r, const struct nfs4r_oid *after, struct nfs4r_oid *out)
{
	MDB_val key = { 16, (void *)(uintptr_t)after->b }, val;
	MDB_cursor *cur;
	int rc = r ? mdb_cursor_open(r->txn, s->db.locks, &cur) : ENOMEM;

	if (!rc) {
		rc = mdb_cursor_get(cur, &key, &val, MDB_SET_RANGE);
		if (!rc && memcmp(key.mv_data, after->b, sizeof(after->b)) == 0)
			rc = mdb_cursor_get(cur, &key, &val, MDB_NEXT);
		if (!rc && key.mv_size == sizeof(out->b))
			memcpy(out->b, key.mv_data, sizeof(out->b));
		mdb_cursor_close(cur);
	}
	if (rc && rc != MDB_NOTFOUND)
		atomic_store(&s->jnl.failed, true);
	return !rc;
}

/* The next one that an overlay says something of, before *@out if @found. The view is held. */
static bool next_in_overlay(const struct nfs4r_overlay *ov, const struct nfs4r_oid *after, bool found, struct nfs4r_oid *out)
{
	for (uint64_t i = 0; ov->locks.count && i < ov->locks.nbuckets; i++)
		for (const struct ov_node *n = ov->locks.buckets[i]; n; n = n->next) {
			const struct nfs4r_oid *oid = &((const struct ov_locks *)n)->oid;

			if (nfs4r_oid_cmp(oid, after) <= 0 || (found && nfs4r_oid_cmp(oid, out) >= 0))
				continue;
			*out = *oid;
			found = true;
		}
	return found;
}

bool nfs4r_store_next_locked(struct nfs4r_store *s, const struct nfs4r_oid *after, struct nfs4r_oid *out)
{
	struct nfs4r_oid at = *after, next = { { 0 } };
	bool found;

	do {
		struct nfs4r_reader *r = NULL;

		pthread_rwlock_rdlock(&s->view);
		found = atomic_load(&s->db.has_locks); /* as for a list */
		if (found) {
			r = store_db_begin(&s->db);
			found = next_in_db(s, r, &at, &next);
		}
		for (const struct nfs4r_overlay *ov = s->active; ov; ov = ov->below)
			found = next_in_overlay(ov, &at, found, &next);
		pthread_rwlock_unlock(&s->view);
		store_db_end(&s->db, r);
		at = next;
	} while (found && !nfs4r_store_locks(s, &at, NULL, 0));
	if (found)
		*out = at;
	return found;
}
