/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Ends of logs, and a copy that is made equal to another server's (log 7, 8.3, 8.5).
 *
 * Happy path: SEAL ends a generation of a log; what lies beyond it is forgotten. INSTALL gives an object the row, and a directory
 * the names, that another server has; the journal holds what differs only. FORGET removes an object. POSITIONS gives this
 * store the positions of the copy that all its objects were made equal to.
 *
 * Failure modes: out of memory or a journal that cannot be written: nothing was changed. A crash between two records of a
 * directory with very many names leaves the old version and some of the new names; who repairs begins again.
 *
 * Invariants: as in apply.c (nentries is the number of names, no handle leads to an object without a row). Versions may go
 * down here and nowhere else.
 */
#include <stdlib.h>

#include "base/room.h"
#include "store/bytes.h"
#include "store/internal.h"

#define RECORD_BYTES (REC_MAX - (1u << 20)) /* names of one INSTALL */
#define LISTED 256 /* names looked at in one go */

/* ---- a changed directory ----------------------------------------------------- */

struct diff_name {
	struct nfs4r_dirent d; /* oid zero: the name goes */
	bool had;
	uint64_t old_cookie;
};

struct diff { /* how the names of an object change */
	struct diff_name *n;
	uint32_t count, cap;
};

static struct diff_name *diff_add(struct diff *d)
{
	if (!NFS4R_ROOM(d->n, d->count, d->cap))
		return NULL;
	d->n[d->count] = (struct diff_name){ .had = false };
	return &d->n[d->count++];
}

static int cmp_names(const void *a, const void *b)
{
	const struct nfs4r_dirent *x = *(const struct nfs4r_dirent *const *)a, *y = *(const struct nfs4r_dirent *const *)b;
	uint16_t n = x->name.len < y->name.len ? x->name.len : y->name.len;
	int d = memcmp(x->name.s, y->name.s, n);

	return d ? d : (x->name.len > y->name.len) - (x->name.len < y->name.len);
}

static bool is_wanted(const struct nfs4r_dirent **sorted, uint32_t n, const struct nfs4r_dirent *d)
{
	return n && bsearch(&d, sorted, n, sizeof(*sorted), cmp_names);
}

/* Names that are here and not among @sorted. */
static enum nfs4r_status diff_gone(struct nfs4r_store *s, const struct nfs4r_oid *dir, const struct nfs4r_dirent **sorted,
				   uint32_t nsorted, struct diff *out)
{
	struct nfs4r_dirent *list = calloc(LISTED, sizeof(*list));
	enum nfs4r_status st = list ? NFS4R_OK : NFS4R_NOMEM;
	uint64_t after = 0;
	uint32_t n = LISTED;

	while (st == NFS4R_OK && n == LISTED) {
		n = nfs4r_store_readdir(s, dir, after, list, LISTED);
		for (uint32_t i = 0; i < n && st == NFS4R_OK; i++) {
			struct diff_name *d;

			after = list[i].cookie;
			if (is_wanted(sorted, nsorted, &list[i]))
				continue;
			d = diff_add(out);
			if (!d) {
				st = NFS4R_NOMEM;
				break;
			}
			d->d = list[i];
			memset(&d->d.oid, 0, sizeof(d->d.oid));
		}
	}
	free(list);
	return st;
}

/* Names that are not here, or lead elsewhere. */
static enum nfs4r_status diff_new(struct nfs4r_store *s, const struct nfs4r_oid *dir, const struct nfs4r_dirent *names, uint32_t n,
				  struct diff *out)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct nfs4r_dirent *want = &names[i];
		struct diff_name *d;
		struct nfs4r_oid oid;
		uint64_t cookie;
		uint32_t type;

		if (store_name_find(s, dir, want->name.s, want->name.len, &oid, &type, &cookie) && cookie == want->cookie &&
		    type == want->type && nfs4r_oid_eq(&oid, &want->oid))
			continue;
		d = diff_add(out);
		if (!d)
			return NFS4R_NOMEM;
		d->d = *want;
	}
	return NFS4R_OK;
}

static enum nfs4r_status diff_names(struct nfs4r_store *s, const struct nfs4r_oid *dir, const struct nfs4r_dirent *names, uint32_t n,
				    struct diff *out)
{
	const struct nfs4r_dirent **sorted = n ? malloc(n * sizeof(*sorted)) : NULL;
	enum nfs4r_status st;

	if (n && !sorted)
		return NFS4R_NOMEM;
	for (uint32_t i = 0; i < n; i++)
		sorted[i] = &names[i];
	if (n)
		qsort(sorted, n, sizeof(*sorted), cmp_names);
	st = diff_gone(s, dir, sorted, n, out);
	if (st == NFS4R_OK)
		st = diff_new(s, dir, names, n, out);
	free(sorted);
	return st;
}

/* ---- one change, from a record or about to become one --------------------------- */

struct change {
	struct nfs4r_oid oid;
	bool gone;
	struct nfs4r_copy_row row; /* version 0: names only, the row stays but for its count of them */
	uint8_t handle_len;
	const uint8_t *handle;
	struct diff_name *names;
	uint32_t nnames;
	const struct nfs4r_file_lock *locks; /* with a row: all of them */
	struct nfs4r_file_lock *room; /* where those of a record are; the reader's to free */
	uint32_t nlocks;
	bool sets_locks; /* there are some, or were */
};

static void row_from_copy(struct nfs4r_object *o, const struct nfs4r_copy_row *c)
{
	struct nfs4r_row *r = &o->row;

	r->version = c->version;
	r->type = c->type;
	r->multi = c->multi;
	r->nlink = c->nlink;
	r->ctime = c->ctime;
	r->mtime = c->mtime;
	r->last_log = c->last_log;
	r->last_lsn = c->last_lsn;
	r->nparents = c->nparents;
	memset(&r->parent, 0, sizeof(r->parent));
	for (uint32_t i = 0; i < c->nparents; i++) {
		if (!i) {
			r->parent = c->parents[0];
			o->parent_count = c->parent_names[0];
		} else {
			o->more[i - 1] = (struct nfs4r_parent){ .oid = c->parents[i], .count = c->parent_names[i] };
		}
	}
}

static enum nfs4r_status change_load(struct nfs4r_store *s, struct change *c, struct nfs4r_object *o, struct ov_need *need, bool *mine)
{
	enum nfs4r_status st = store_object_load(s, &c->oid, o);

	if (st != NFS4R_OK && st != NFS4R_NOENT)
		return st;
	*mine = o->handle_len && store_handle_is_mine(s, o);
	for (uint32_t i = 0; i < c->nnames; i++) {
		struct diff_name *n = &c->names[i];
		struct nfs4r_oid oid;
		uint32_t type;

		n->had = store_name_find(s, &c->oid, n->d.name.s, n->d.name.len, &oid, &type, &n->old_cookie);
		if (nfs4r_oid_is_zero(&n->d.oid))
			o->row.nentries -= n->had;
		else
			o->row.nentries += !n->had;
		store_ov_need_name(need, n->d.name.len);
	}
	if (c->row.version) {
		free(o->more);
		o->more = calloc(NFS4R_PARENTS_MAX, sizeof(*o->more));
		if (!o->more)
			return NFS4R_NOMEM;
		row_from_copy(o, &c->row);
		o->bytes_from = 0; /* the whole of it comes from elsewhere */
	}
	c->sets_locks = (c->row.version || c->gone) && (c->nlocks || nfs4r_store_locks(s, &c->oid, NULL, 0));
	if (c->sets_locks)
		store_ov_need_locks(need, c->nlocks);
	store_ov_need_row(need, o->row.nparents);
	store_ov_need_handle(need, o->handle_len);
	store_ov_need_handle(need, c->handle_len);
	return NFS4R_OK;
}

static void change_name(struct nfs4r_store *s, struct ov_row *dir, const struct diff_name *c)
{
	struct ov_name *n = store_ov_make_name(s->active, &dir->o.row.oid, c->d.name.s, c->d.name.len);
	struct ov_cookie *slot;

	n->gone = nfs4r_oid_is_zero(&c->d.oid);
	n->oid = c->d.oid;
	n->type = (uint8_t)c->d.type;
	n->cookie = n->gone ? c->old_cookie : c->d.cookie;
	if (c->had) { /* unless another name has taken the cookie, this hides LMDB's */
		slot = store_ov_make_cookie(s->active, dir, c->old_cookie);
		if (!ov_cookie_used(slot))
			slot->name = n;
	}
	if (!n->gone)
		store_ov_make_cookie(s->active, dir, c->d.cookie)->name = n;
}

/* Under view, after a reserve. */
static void change_apply(struct nfs4r_store *s, const struct change *c, struct nfs4r_object *o, bool mine)
{
	struct ov_row *row;

	if (c->gone)
		store_handle_assign(s, &c->oid, o, mine, NULL, 0);
	else if (c->handle_len)
		store_handle_assign(s, &c->oid, o, mine, c->handle, c->handle_len);
	row = store_object_store(s, &c->oid, o, c->gone);
	if (c->sets_locks)
		store_locks_set(s, &c->oid, c->locks, c->nlocks);
	for (uint32_t i = 0; i < c->nnames; i++)
		change_name(s, row, &c->names[i]);
}

/* Into memory; @w: into the journal before. Under change. */
static enum nfs4r_status change_make(struct nfs4r_store *s, struct change *c, struct nfs4r_wbuf *w)
{
	struct ov_need need = { 0 };
	struct nfs4r_object o;
	nfs4r_journal_pos pos;
	bool mine = false;
	enum nfs4r_status st = change_load(s, c, &o, &need, &mine);

	if (st == NFS4R_OK) {
		pthread_rwlock_wrlock(&s->view);
		st = store_ov_reserve(s->active, &need) ? NFS4R_OK : NFS4R_NOMEM;
		pthread_rwlock_unlock(&s->view);
	}
	if (st == NFS4R_OK && w)
		st = store_jnl_append(&s->jnl, w, &pos);
	if (st == NFS4R_OK) {
		pthread_rwlock_wrlock(&s->view);
		change_apply(s, c, &o, mine);
		pthread_rwlock_unlock(&s->view);
	}
	store_object_fini(&o);
	return st;
}

/* ---- records ------------------------------------------------------------------ */

/* Not there: none. So what has no locks is as in disk format 1. */
static void write_locks(struct nfs4r_wbuf *w, const struct change *c)
{
	store_rec_u32(w, c->nlocks);
	for (uint32_t i = 0; i < c->nlocks; i++) {
		uint8_t bytes[LOCK_BYTES];

		store_lock_encode(&c->locks[i], bytes);
		store_rec_bytes(w, bytes, sizeof(bytes));
	}
}

static void write_install(struct nfs4r_wbuf *w, const struct change *c)
{
	const struct nfs4r_copy_row *r = &c->row;

	store_rec_begin(w, REC_INSTALL);
	store_rec_bytes(w, c->oid.b, 16);
	store_rec_u64(w, r->version);
	store_rec_u64(w, (uint64_t)r->ctime);
	store_rec_u64(w, (uint64_t)r->mtime);
	store_rec_u64(w, r->last_lsn);
	store_rec_u32(w, r->nlink);
	store_rec_u16(w, r->last_log);
	store_rec_u8(w, (uint8_t)r->type);
	store_rec_u8(w, r->multi);
	store_rec_u32(w, r->nparents);
	for (uint32_t i = 0; i < r->nparents; i++) {
		store_rec_bytes(w, r->parents[i].b, 16);
		store_rec_u32(w, r->parent_names[i]);
	}
	store_rec_u8(w, c->handle_len);
	store_rec_bytes(w, c->handle, c->handle_len);
	store_rec_u32(w, c->nnames);
	for (uint32_t i = 0; i < c->nnames; i++) {
		const struct nfs4r_dirent *d = &c->names[i].d;

		store_rec_bytes(w, d->oid.b, 16);
		store_rec_u8(w, (uint8_t)d->type);
		store_rec_u64(w, d->cookie);
		store_rec_u16(w, d->name.len);
		store_rec_bytes(w, d->name.s, d->name.len);
	}
	if (c->nlocks)
		write_locks(w, c);
	store_rec_end(w);
}

static bool read_names(struct nfs4r_rd *r, struct change *c)
{
	c->nnames = rd_u32(r);
	if (r->bad || c->nnames > r->left / 28) /* bytes of the shortest */
		return false;
	c->names = calloc(c->nnames + 1, sizeof(*c->names));
	for (uint32_t i = 0; c->names && i < c->nnames; i++) {
		struct nfs4r_dirent *d = &c->names[i].d;
		const uint8_t *oid = rd_bytes(r, 16), *name;

		d->type = rd_u8(r);
		d->cookie = rd_u64(r);
		d->name.len = rd_u16(r);
		name = rd_bytes(r, d->name.len);
		if (r->bad || !d->name.len || d->name.len > NFS4R_NAME_MAX)
			return false;
		memcpy(d->oid.b, oid, 16);
		memcpy(d->name.s, name, d->name.len);
	}
	return c->names != NULL;
}

static bool read_locks(struct nfs4r_rd *r, struct change *c)
{
	const uint8_t *bytes;

	if (!r->left)
		return true;
	c->nlocks = rd_u32(r);
	if (r->bad || c->nlocks > NFS4R_LOCKS_LIST_MAX)
		return false;
	bytes = rd_bytes(r, (size_t)c->nlocks * LOCK_BYTES);
	c->locks = c->room = bytes ? calloc(c->nlocks + 1, sizeof(*c->room)) : NULL;
	return c->room && store_locks_decode(bytes, (size_t)c->nlocks * LOCK_BYTES, c->room, c->nlocks);
}

/* The names and the locks of @c are for the caller to free in any case. */
static bool read_install(const struct nfs4r_rec_view *rec, struct change *c)
{
	struct nfs4r_rd r = { rec->body, rec->len, false };
	struct nfs4r_copy_row *row = &c->row;
	const uint8_t *oid = rd_bytes(&r, 16);

	row->version = rd_u64(&r);
	row->ctime = (int64_t)rd_u64(&r);
	row->mtime = (int64_t)rd_u64(&r);
	row->last_lsn = rd_u64(&r);
	row->nlink = rd_u32(&r);
	row->last_log = rd_u16(&r);
	row->type = rd_u8(&r);
	row->multi = rd_u8(&r);
	row->nparents = rd_u32(&r);
	if (r.bad || row->nparents > NFS4R_PARENTS_MAX)
		return false;
	memcpy(c->oid.b, oid, 16);
	for (uint32_t i = 0; i < row->nparents; i++) {
		const uint8_t *p = rd_bytes(&r, 16);

		row->parent_names[i] = rd_u32(&r);
		if (r.bad)
			return false;
		memcpy(row->parents[i].b, p, 16);
	}
	c->handle_len = rd_u8(&r);
	c->handle = rd_bytes(&r, c->handle_len);
	return !r.bad && c->handle_len <= NFS4R_LOCAL_HANDLE_MAX && read_names(&r, c) && !r.bad && read_locks(&r, c);
}

static enum nfs4r_status replay_install(struct nfs4r_store *s, const struct nfs4r_rec_view *rec)
{
	struct change c = { .gone = false };
	enum nfs4r_status st = read_install(rec, &c) ? change_make(s, &c, NULL) : NFS4R_MALFORMED;

	free(c.names);
	free(c.room);
	return st;
}

/* ---- INSTALL and FORGET --------------------------------------------------------- */

static uint32_t names_of_record(const struct diff *d, uint32_t from)
{
	size_t bytes = 0;
	uint32_t n = 0;

	while (from + n < d->count && bytes < RECORD_BYTES)
		bytes += 27u + d->n[from + n++].d.name.len;
	return n;
}

/* In pieces that a record can hold; the row goes with the last. */
static enum nfs4r_status install_diff(struct nfs4r_store *s, const struct nfs4r_install *in, const struct diff *d)
{
	enum nfs4r_status st = NFS4R_OK;
	uint32_t at = 0;
	bool last = false;

	while (st == NFS4R_OK && !last) {
		struct change c = { .oid = in->oid, .names = d->n ? d->n + at : NULL, .nnames = names_of_record(d, at) };
		struct nfs4r_wbuf *w = store_change_begin(s);

		at += c.nnames;
		last = at == d->count;
		if (last) {
			c.row = in->row;
			c.handle_len = in->handle_len;
			c.handle = in->handle;
			c.locks = in->locks;
			c.nlocks = in->nlocks;
		}
		write_install(w, &c);
		st = change_make(s, &c, w);
	}
	return st;
}

static bool install_sane(const struct nfs4r_install *in)
{
	if (in->nlocks > NFS4R_LOCKS_LIST_MAX || (in->nlocks && in->row.type != NFS4R_TYPE_FILE))
		return false;
	if (!in->row.version || in->handle_len > NFS4R_LOCAL_HANDLE_MAX || in->row.nparents > NFS4R_PARENTS_MAX || nfs4r_oid_is_zero(&in->oid) ||
	    in->row.last_log > NFS4R_SERVERS_MAX || in->row.type > UINT8_MAX)
		return false;
	for (uint32_t i = 0; i < in->nnames; i++) {
		if (!in->names[i].name.len || in->names[i].name.len > NFS4R_NAME_MAX || nfs4r_oid_is_zero(&in->names[i].oid))
			return false;
	}
	return true;
}

enum nfs4r_status nfs4r_store_install(struct nfs4r_store *s, const struct nfs4r_install *in)
{
	struct diff d = { 0 };
	enum nfs4r_status st;

	if (!install_sane(in))
		return NFS4R_INVAL;
	pthread_mutex_lock(&s->change);
	st = diff_names(s, &in->oid, in->names, in->row.type == NFS4R_TYPE_DIR ? in->nnames : 0, &d);
	if (st == NFS4R_OK && in->nlocks)
		st = store_format_at_least(s, NFS4R_DISK_FORMAT_LOCKS);
	if (st == NFS4R_OK)
		st = install_diff(s, in, &d);
	pthread_mutex_unlock(&s->change);
	free(d.n);
	return st;
}

static enum nfs4r_status forget(struct nfs4r_store *s, const struct nfs4r_oid *oid, struct nfs4r_wbuf *w)
{
	struct diff d = { 0 };
	enum nfs4r_status st = diff_names(s, oid, NULL, 0, &d);

	if (st == NFS4R_OK) {
		struct change c = { .oid = *oid, .gone = true, .names = d.n, .nnames = d.count };

		st = change_make(s, &c, w);
	}
	free(d.n);
	return st;
}

enum nfs4r_status nfs4r_store_forget(struct nfs4r_store *s, const struct nfs4r_oid *oid)
{
	struct nfs4r_wbuf *w;
	enum nfs4r_status st;

	if (nfs4r_oid_eq(oid, &s->root))
		return NFS4R_INVAL;
	pthread_mutex_lock(&s->change);
	w = store_change_begin(s);
	store_rec_begin(w, REC_FORGET);
	store_rec_bytes(w, oid->b, 16);
	store_rec_end(w);
	st = forget(s, oid, w);
	pthread_mutex_unlock(&s->change);
	return st;
}

/* ---- SEAL ----------------------------------------------------------------------- */

static bool seal(struct nfs4r_store *s, nfs4r_server_id log, nfs4r_lsn lsn)
{
	bool ok;

	pthread_rwlock_wrlock(&s->view);
	ok = store_log_seal(&s->logs[log], lsn, &s->oid_watermark[log]);
	pthread_rwlock_unlock(&s->view);
	if (ok)
		store_flights_drop(s, log, NFS4R_AFTER_SEAL(lsn));
	return ok;
}

enum nfs4r_status nfs4r_store_seal(struct nfs4r_store *s, nfs4r_server_id log, nfs4r_lsn lsn)
{
	enum nfs4r_status st = NFS4R_OK;
	nfs4r_journal_pos pos;
	struct nfs4r_wbuf *w;

	if (log < 1 || log > NFS4R_SERVERS_MAX)
		return NFS4R_INVAL;
	pthread_mutex_lock(&s->change);
	if (NFS4R_GEN(lsn) == NFS4R_GEN(s->logs[log].applied)) {
		w = store_change_begin(s);
		store_rec_begin(w, REC_SEAL);
		store_rec_u16(w, log);
		store_rec_u64(w, lsn);
		store_rec_end(w);
		st = lsn > s->logs[log].applied ? NFS4R_INVAL : store_jnl_append(&s->jnl, w, &pos);
	}
	if (st == NFS4R_OK && !seal(s, log, lsn))
		st = NFS4R_INVAL;
	pthread_mutex_unlock(&s->change);
	return st;
}

/* ---- POSITIONS ------------------------------------------------------------------ */

static void take_positions(struct nfs4r_store *s, const struct nfs4r_store_positions *p)
{
	pthread_rwlock_wrlock(&s->view);
	for (int i = 1; i < NLOGS; i++) {
		s->logs[i].applied = p->applied[i];
		if (s->logs[i].stable > p->applied[i])
			s->logs[i].stable = p->applied[i];
		store_log_clear(&s->logs[i]);
		s->oid_watermark[i] = (struct nfs4r_inc){ p->oid_inc[i], p->oid_seq[i] };
	}
	pthread_rwlock_unlock(&s->view);
	store_flights_free(s);
	s->nbegun = 0; /* every object was made anew */
	memset(s->last, 0, sizeof(s->last));
	memset(s->frozen.last, 0, sizeof(s->frozen.last)); /* what is missing before these will not come */
	s->back = s->frozen.back = 0;
}

enum nfs4r_status nfs4r_store_set_positions(struct nfs4r_store *s, const struct nfs4r_store_positions *p)
{
	nfs4r_journal_pos pos;
	struct nfs4r_wbuf *w;
	enum nfs4r_status st;

	pthread_mutex_lock(&s->change);
	w = store_change_begin(s);
	store_rec_begin(w, REC_POSITIONS);
	for (int i = 1; i < NLOGS; i++) {
		store_rec_u64(w, p->applied[i]);
		store_rec_u64(w, p->oid_inc[i]);
		store_rec_u64(w, p->oid_seq[i]);
	}
	store_rec_end(w);
	st = store_jnl_append(&s->jnl, w, &pos);
	if (st == NFS4R_OK)
		take_positions(s, p);
	pthread_mutex_unlock(&s->change);
	return st;
}

void nfs4r_store_get_positions(struct nfs4r_store *s, struct nfs4r_store_positions *out)
{
	memset(out, 0, sizeof(*out));
	pthread_rwlock_rdlock(&s->view);
	for (int i = 1; i < NLOGS; i++) {
		out->applied[i] = s->logs[i].applied;
		out->oid_inc[i] = s->oid_watermark[i].counter;
		out->oid_seq[i] = s->oid_watermark[i].random;
	}
	pthread_rwlock_unlock(&s->view);
}

/* ---- at open -------------------------------------------------------------------- */

static enum nfs4r_status replay_positions(struct nfs4r_store *s, const struct nfs4r_rec_view *rec, bool index)
{
	struct nfs4r_rd r = { rec->body, rec->len, false };
	struct nfs4r_store_positions p = { 0 };

	for (int i = 1; i < NLOGS; i++) {
		p.applied[i] = rd_u64(&r);
		p.oid_inc[i] = rd_u64(&r);
		p.oid_seq[i] = rd_u64(&r);
	}
	if (r.bad)
		return NFS4R_MALFORMED;
	if (!index) {
		take_positions(s, &p);
		return NFS4R_OK;
	}
	/* LMDB has later positions; entries before this record are of another past. */
	s->nbeyond = 0;
	for (int i = 1; i < NLOGS; i++) {
		store_log_found(&s->logs[i], s->meta.applied[i], s->meta.truncated[i]);
		s->oid_watermark[i] = s->meta.oid_watermark[i];
	}
	store_flights_free(s);
	memset(s->last, 0, sizeof(s->last));
	return NFS4R_OK;
}

enum nfs4r_status store_replay_repair(struct nfs4r_store *s, const struct nfs4r_rec_view *rec, bool index)
{
	struct nfs4r_rd r = { rec->body, rec->len, false };
	nfs4r_server_id log;
	nfs4r_lsn lsn;
	struct nfs4r_oid oid;
	const uint8_t *p;

	switch (rec->type) {
	case REC_SEAL:
		log = rd_u16(&r);
		lsn = rd_u64(&r);
		if (r.bad || log < 1 || log > NFS4R_SERVERS_MAX)
			return NFS4R_MALFORMED;
		return seal(s, log, lsn) || index ? NFS4R_OK : NFS4R_MALFORMED;
	case REC_POSITIONS:
		return replay_positions(s, rec, index);
	case REC_INSTALL:
		return index ? NFS4R_OK : replay_install(s, rec);
	default:
		p = rd_bytes(&r, 16);
		if (r.bad)
			return NFS4R_MALFORMED;
		memcpy(oid.b, p, 16);
		return index ? NFS4R_OK : forget(s, &oid, NULL);
	}
}
