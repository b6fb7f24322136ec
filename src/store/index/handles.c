/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Sub-FSAL handles: object -> handle lies in the object's row, handle -> object in a table of its own.
 *
 * A handle belongs to one object. When a file system gives a dead object's handle to a new one, the later
 * assignment wins, and the death of an object takes back only a handle that is still its own.
 *
 * A handle may come before the row (an empty object made for a name whose create has not arrived); it is
 * kept in a row with version 0, which every other read takes for no row.
 */
#include "store/bytes.h"
#include "store/internal.h"

uint32_t nfs4r_store_handle(struct nfs4r_store *s, const struct nfs4r_oid *oid,
			    uint8_t out[NFS4R_LOCAL_HANDLE_MAX])
{
	struct nfs4r_ref ref;
	uint32_t len = 0;

	store_ref_open(s, oid, &ref);
	if (ref.status == NFS4R_OK) {
		len = ref.obj->handle_len;
		memcpy(out, ref.obj->handle, len);
	}
	store_ref_close(s, &ref);
	return len;
}

bool nfs4r_store_by_handle(struct nfs4r_store *s, const void *handle, uint32_t len, struct nfs4r_oid *out)
{
	MDB_val key = { len, (void *)(uintptr_t)handle }, val;
	struct nfs4r_reader *r;
	struct ov_handle *h = NULL;
	bool found;
	int rc;

	if (!len || len > NFS4R_LOCAL_HANDLE_MAX)
		return false;
	pthread_rwlock_rdlock(&s->view);
	for (const struct nfs4r_overlay *ov = s->active; ov && !h; ov = ov->below)
		h = store_ov_handle(ov, handle, len);
	if (h) {
		found = !h->gone;
		*out = h->oid;
		pthread_rwlock_unlock(&s->view);
		return found;
	}
	r = store_db_begin(&s->db);
	pthread_rwlock_unlock(&s->view);
	rc = r ? mdb_get(r->txn, s->db.handles, &key, &val) : MDB_PANIC;
	found = !rc && val.mv_size == 16;
	if (found)
		memcpy(out->b, val.mv_data, 16);
	else if (rc != MDB_NOTFOUND)
		atomic_store(&s->jnl.failed, true);
	store_db_end(&s->db, r);
	return found;
}

void store_handle_need(struct ov_need *need, const struct nfs4r_object *o, uint8_t len)
{
	store_ov_need_row(need, o->row.nparents);
	store_ov_need_handle(need, o->handle_len);
	store_ov_need_handle(need, len);
}

/* The row's part of it is left to the caller: @o is changed, not stored. */
void store_handle_assign(struct nfs4r_store *s, const struct nfs4r_oid *oid, struct nfs4r_object *o,
			 bool mine, const void *handle, uint8_t len)
{
	struct ov_handle *h;

	if (mine && (o->handle_len != len || memcmp(o->handle, handle, len) != 0)) {
		h = store_ov_make_handle(s->active, o->handle, o->handle_len);
		h->gone = true;
	}
	if (len) {
		h = store_ov_make_handle(s->active, handle, len);
		h->gone = false;
		h->oid = *oid;
		memcpy(o->handle, handle, len);
	}
	o->handle_len = len;
}

bool store_handle_is_mine(struct nfs4r_store *s, const struct nfs4r_object *o)
{
	struct nfs4r_oid owner;

	return nfs4r_store_by_handle(s, o->handle, o->handle_len, &owner) &&
		nfs4r_oid_eq(&owner, &o->row.oid);
}

void store_handle_apply(struct nfs4r_store *s, const struct nfs4r_oid *oid, struct nfs4r_object *o,
			bool mine, const void *handle, uint8_t len)
{
	store_handle_assign(s, oid, o, mine, handle, len);
	store_object_store(s, oid, o, false);
}

static enum nfs4r_status set_handle(struct nfs4r_store *s, const struct nfs4r_oid *oid,
				    struct nfs4r_object *o, const void *handle, uint32_t len)
{
	struct nfs4r_wbuf *w = store_change_begin(s);
	bool mine = store_handle_is_mine(s, o);
	struct ov_need need = { 0 };
	nfs4r_journal_pos pos;
	enum nfs4r_status st;

	store_handle_need(&need, o, len);
	store_rec_begin(w, REC_HANDLE);
	store_rec_bytes(w, oid->b, 16);
	store_rec_u8(w, len);
	store_rec_bytes(w, handle, len);
	store_rec_end(w);
	pthread_rwlock_wrlock(&s->view);
	st = store_ov_reserve(s->active, &need) ? NFS4R_OK : NFS4R_NOMEM;
	pthread_rwlock_unlock(&s->view);
	if (st == NFS4R_OK)
		st = store_jnl_append(&s->jnl, w, &pos);
	if (st == NFS4R_OK) {
		pthread_rwlock_wrlock(&s->view);
		store_handle_apply(s, oid, o, mine, handle, len);
		pthread_rwlock_unlock(&s->view);
	}
	return st;
}

enum nfs4r_status nfs4r_store_set_handle(struct nfs4r_store *s, const struct nfs4r_oid *oid,
					 const void *handle, uint32_t len)
{
	struct nfs4r_object o;
	enum nfs4r_status st;

	if (!len || len > NFS4R_LOCAL_HANDLE_MAX)
		return NFS4R_INVAL;
	pthread_mutex_lock(&s->change);
	st = store_object_load(s, oid, &o);
	if (st == NFS4R_OK || (st == NFS4R_NOENT && store_known_absent(s, oid) == NFS4R_NOT_YET))
		st = set_handle(s, oid, &o, handle, len);
	else if (st == NFS4R_NOENT)
		st = NFS4R_STALE;
	store_object_fini(&o);
	pthread_mutex_unlock(&s->change);
	return st;
}
