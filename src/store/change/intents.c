/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * INTENT and MARK (log 4.2, 4.4): what is written down before something happens to local files.
 *
 * Happy path: an object with existing bytes or names gets one MARK per checkpoint interval; the first
 * change of it waits for the sync of that mark, later ones find it. Objects made in this interval need
 * none. An entry is "in flight" from here until its commit; a checkpoint carries the marks of objects in
 * flight over, because their bytes may change after the files were synced.
 *
 * What comes from elsewhere is besides *begun* from the moment on when files change (log 4.5). The commit ends that; what never comes to it, since the process dies, is known
 * to the next open with its objects. That is in the journal and in no table, so each checkpoint says it once more behind what LMDB holds then. A crash of the machine has the marks.
 *
 * Failure: nothing was appended or everything; memory is taken before.
 *
 * Which effects mark: those that change bytes, names, extended attributes, modes, owners or ACLs in place (WRITE,
 * ALLOC, NAMES, INSTALL, XATTR, ATTRS but for times): the disk may keep the change and the journal lose the entry,
 * and no row says what was there before. Times and link counts are in the rows.
 */
#include <stdlib.h>

#include "base/room.h"
#include "store/bytes.h"
#include "store/internal.h"
#include "xdr_map.h"

/* ---- in flight --------------------------------------------------------- */

static struct nfs4r_flight **bucket(struct nfs4r_store *s, nfs4r_server_id log, nfs4r_lsn lsn)
{
	return &s->flights[(lsn * 16 + log) % FLIGHT_BUCKETS];
}

struct nfs4r_flight *store_flight_new(nfs4r_server_id log, nfs4r_lsn lsn)
{
	struct nfs4r_flight *f = calloc(1, sizeof(*f));

	if (f) {
		f->log = log;
		f->lsn = lsn;
	}
	return f;
}

void store_flight_add(struct nfs4r_store *s, struct nfs4r_flight *f)
{
	struct nfs4r_flight **head = bucket(s, f->log, f->lsn);

	f->next = *head;
	*head = f;
	s->nflights++;
}

void store_flight_end(struct nfs4r_store *s, nfs4r_server_id log, nfs4r_lsn lsn)
{
	struct nfs4r_flight **at = bucket(s, log, lsn);

	while (*at) {
		struct nfs4r_flight *f = *at;

		if (f->log != log || f->lsn != lsn) {
			at = &f->next;
			continue;
		}
		*at = f->next;
		free(f);
		s->nflights--;
	}
}

void store_flights_drop(struct nfs4r_store *s, nfs4r_server_id log, nfs4r_lsn until)
{
	for (int b = 0; b < FLIGHT_BUCKETS; b++) {
		struct nfs4r_flight **at = &s->flights[b];

		while (*at) {
			struct nfs4r_flight *f = *at;

			if (f->log != log || f->lsn > until) {
				at = &f->next;
				continue;
			}
			*at = f->next;
			free(f);
			s->nflights--;
		}
	}
}

static bool changes_in_place(const struct nfs4r_part *p)
{
	switch (p->effect) {
	case NFS4R_EFF_WRITE:
	case NFS4R_EFF_ALLOC:
	case NFS4R_EFF_NAMES:
	case NFS4R_EFF_INSTALL:
	case NFS4R_EFF_XATTR:
		return true;
	case NFS4R_EFF_ATTRS:
		return p->attrs.mask & (NFS4R_ATTR_SIZE | NFS4R_ATTR_MODE | NFS4R_ATTR_UID | NFS4R_ATTR_GID | NFS4R_ATTR_ACL);
	default:
		return false;
	}
}

void store_flight_fill(struct nfs4r_flight *f, const struct nfs4r_entry *e)
{
	f->ntouched = 0;
	for (uint32_t i = 0; i < e->nparts && i < NFS4R_PARTS_MAX; i++) {
		if (changes_in_place(&e->parts[i]))
			f->touched[f->ntouched++] = (struct nfs4r_touched){
				.oid = e->parts[i].oid, .before = e->parts[i].before
			};
	}
}

void store_flights_free(struct nfs4r_store *s)
{
	for (int b = 0; b < FLIGHT_BUCKETS; b++) {
		while (s->flights[b]) {
			struct nfs4r_flight *f = s->flights[b];

			s->flights[b] = f->next;
			free(f);
		}
	}
	s->nflights = 0;
}

/* ---- marks -------------------------------------------------------------- */

struct todo {
	struct nfs4r_touched marks[NFS4R_PARTS_MAX + NFS4R_MARKS_AHEAD_MAX];
	uint32_t n, needed; /* the others are for later */
};

nfs4r_version store_unmarked(struct nfs4r_store *s, const struct nfs4r_oid *oid)
{
	const struct ov_row *r = store_ov_row(s->active, oid);
	struct nfs4r_row row;

	if (r && r->fresh)
		return 0;
	return nfs4r_store_row(s, oid, &row) == NFS4R_KNOWN ? row.version : 0;
}

static void find_todo(struct nfs4r_store *s, const struct nfs4r_flight *f, struct todo *todo,
		      nfs4r_journal_pos *sync_first)
{
	for (uint32_t i = 0; i < f->ntouched; i++) {
		const struct nfs4r_oid *oid = &f->touched[i].oid;
		struct ov_mark *m = store_ov_mark(s->active, oid);
		nfs4r_version v;

		if (m) {
			store_marks_ahead_used(&s->marks_ahead, m);
			m->ahead = false;
			/* Made by another change that may still be waiting for its sync. */
			if (m->pos > atomic_load(&s->jnl.synced) && m->pos > *sync_first)
				*sync_first = m->pos;
			continue;
		}
		v = store_unmarked(s, oid);
		if (v)
			todo->marks[todo->n++] = (struct nfs4r_touched){ .oid = *oid, .before = v };
	}
	todo->needed = todo->n;
	if (todo->n == 1 && f->ntouched == 1)
		todo->n = store_marks_ahead_take(s, &todo->marks[0].oid, todo->marks, todo->n);
}

static enum nfs4r_status build(struct nfs4r_wbuf *w, const struct todo *todo, const struct nfs4r_entry *e,
			       bool intent, size_t *marks_end, size_t *intent_at)
{
	struct nfs4r_buf *bytes;

	if (todo->n) {
		store_rec_begin(w, REC_MARKS);
		store_rec_u32(w, todo->n);
		for (uint32_t i = 0; i < todo->n; i++) {
			store_rec_bytes(w, todo->marks[i].oid.b, 16);
			store_rec_u64(w, todo->marks[i].before);
		}
		store_rec_end(w);
	}
	*marks_end = *intent_at = w->len;
	if (!intent)
		return NFS4R_OK;
	bytes = nfs4r_entry_encode(e, false);
	if (!bytes)
		return NFS4R_NOMEM;
	store_rec_begin(w, REC_INTENT);
	store_rec_commit_head(w, e, true);
	store_rec_u32(w, bytes->len);
	store_rec_bytes(w, bytes->data, bytes->len);
	store_rec_end(w);
	nfs4r_buf_put(bytes);
	return NFS4R_OK;
}

static void keep_marks(struct nfs4r_store *s, const struct todo *todo, nfs4r_journal_pos pos)
{
	pthread_rwlock_wrlock(&s->view);
	for (uint32_t i = 0; i < todo->n; i++) {
		struct ov_mark *m = store_ov_make_mark(s->active, &todo->marks[i].oid);

		m->version = todo->marks[i].before;
		m->pos = pos;
		m->ahead = i >= todo->needed;
	}
	pthread_rwlock_unlock(&s->view);
}

static enum nfs4r_status reserve_marks(struct nfs4r_store *s, uint32_t n)
{
	struct ov_need need = { 0 };
	bool ok;

	if (!n)
		return NFS4R_OK;
	while (n--)
		store_ov_need_mark(&need);
	pthread_rwlock_wrlock(&s->view);
	ok = store_ov_reserve(s->active, &need);
	pthread_rwlock_unlock(&s->view);
	return ok ? NFS4R_OK : NFS4R_NOMEM;
}

static enum nfs4r_status announce(struct nfs4r_store *s, const struct nfs4r_entry *e, bool intent,
				  nfs4r_journal_pos *sync_first)
{
	struct nfs4r_flight *f = store_flight_new(e->log, e->lsn);
	struct todo todo = { .n = 0 };
	struct nfs4r_wbuf *w;
	nfs4r_journal_pos pos = 0;
	size_t marks_end, intent_at;
	enum nfs4r_status st;

	if (!f)
		return NFS4R_NOMEM;
	store_flight_fill(f, e);
	find_todo(s, f, &todo, sync_first);
	st = reserve_marks(s, todo.n);
	w = store_change_begin(s);
	if (st == NFS4R_OK)
		st = build(w, &todo, e, intent, &marks_end, &intent_at);
	if (st == NFS4R_OK && (intent || todo.n))
		st = store_jnl_append(&s->jnl, w, &pos);
	if (st != NFS4R_OK) {
		free(f);
		return st;
	}
	if (todo.n) {
		*sync_first = pos + marks_end;
		keep_marks(s, &todo, *sync_first);
	}
	if (FAULT(F_STORE_MARK_UNSYNCED))
		*sync_first = 0;
	if (intent)
		f->intent = pos + intent_at;
	store_flight_add(s, f);
	return NFS4R_OK;
}

static enum nfs4r_status announce_locked(struct nfs4r_store *s, const struct nfs4r_entry *e, bool intent,
					 nfs4r_journal_pos *sync_first)
{
	enum nfs4r_status st;

	*sync_first = 0;
	if (e->log < 1 || e->log > NFS4R_SERVERS_MAX || !e->lsn)
		return NFS4R_INVAL;
	pthread_mutex_lock(&s->change);
	st = atomic_load(&s->jnl.failed) ? NFS4R_IO : announce(s, e, intent, sync_first);
	pthread_mutex_unlock(&s->change);
	return st;
}

enum nfs4r_status nfs4r_store_intent(struct nfs4r_store *s, const struct nfs4r_entry *e,
				     nfs4r_journal_pos *sync_first)
{
	return announce_locked(s, e, true, sync_first);
}

enum nfs4r_status nfs4r_store_mark(struct nfs4r_store *s, const struct nfs4r_entry *e,
				   nfs4r_journal_pos *sync_first)
{
	return announce_locked(s, e, false, sync_first);
}

/* ---- begun ---------------------------------------------------------------- */

/* Behind no marks, where who does not know of it does not look. */
static void rec_intent(struct nfs4r_wbuf *w, const struct nfs4r_foreign_intent *b)
{
	store_rec_begin(w, REC_MARKS);
	store_rec_u32(w, 0);
	store_rec_u16(w, b->log);
	store_rec_u64(w, b->lsn);
	store_rec_u32(w, b->n);
	for (uint32_t i = 0; i < b->n; i++) {
		store_rec_bytes(w, b->of[i].oid.b, 16);
		store_rec_u64(w, b->of[i].off);
		store_rec_u64(w, b->of[i].len);
	}
	store_rec_end(w);
}

static bool has_intent(const struct nfs4r_store *s, const struct nfs4r_entry *e)
{
	for (uint32_t i = 0; i < s->nbegun; i++)
		if (s->begun[i].log == e->log && s->begun[i].lsn == e->lsn)
			return true;
	return false;
}

enum nfs4r_status nfs4r_store_begin(struct nfs4r_store *s, const struct nfs4r_entry *e)
{
	struct nfs4r_foreign_intent b = { .log = e->log, .lsn = e->lsn };
	enum nfs4r_status st = NFS4R_NOMEM;
	nfs4r_journal_pos pos;
	struct nfs4r_wbuf *w;

	for (; b.n < e->nparts && b.n < NFS4R_PARTS_MAX; b.n++)
		b.of[b.n] = store_extent_of(&e->parts[b.n]);
	if (FAULT(F_STORE_BEGUN))
		return NFS4R_OK;
	pthread_mutex_lock(&s->change);
	if (has_intent(s, e)) { /* it failed, and is tried again */
		pthread_mutex_unlock(&s->change);
		return NFS4R_OK;
	}
	if (NFS4R_ROOM(s->begun, s->nbegun, s->begun_cap)) {
		w = store_change_begin(s);
		rec_intent(w, &b);
		st = store_jnl_append(&s->jnl, w, &pos);
	}
	if (st == NFS4R_OK)
		s->begun[s->nbegun++] = b;
	pthread_mutex_unlock(&s->change);
	return st;
}

enum nfs4r_status store_foreign_intent_again(struct nfs4r_store *s)
{
	struct nfs4r_wbuf *w;
	nfs4r_journal_pos pos;

	if (!s->nbegun)
		return NFS4R_OK;
	w = store_change_begin(s);
	for (uint32_t i = 0; i < s->nbegun; i++)
		rec_intent(w, &s->begun[i]);
	return store_jnl_append(&s->jnl, w, &pos);
}

void store_foreign_intent_end(struct nfs4r_store *s, nfs4r_server_id log, nfs4r_lsn lsn)
{
	for (uint32_t i = 0; i < s->nbegun;)
		if (s->begun[i].log == log && s->begun[i].lsn == lsn)
			s->begun[i] = s->begun[--s->nbegun];
		else
			i++;
}

enum nfs4r_status store_foreign_intent_replay(struct nfs4r_store *s, struct nfs4r_rd *r)
{
	struct nfs4r_foreign_intent b = { .log = rd_u16(r), .lsn = 0 };
	uint32_t n;

	b.lsn = rd_u64(r);
	n = rd_u32(r);
	if (r->bad || n > NFS4R_PARTS_MAX)
		return NFS4R_MALFORMED;
	for (; b.n < n; b.n++) {
		const uint8_t *oid = rd_bytes(r, 16);

		if (r->bad)
			return NFS4R_MALFORMED;
		memcpy(b.of[b.n].oid.b, oid, 16);
		b.of[b.n].off = rd_u64(r);
		b.of[b.n].len = rd_u64(r);
	}
	if (r->bad)
		return NFS4R_MALFORMED;
	if (!NFS4R_ROOM(s->begun, s->nbegun, s->begun_cap))
		return NFS4R_NOMEM;
	s->begun[s->nbegun++] = b;
	return NFS4R_OK;
}

struct nfs4r_extent store_extent_of(const struct nfs4r_part *p)
{
	bool bytes = p->effect == NFS4R_EFF_WRITE || p->effect == NFS4R_EFF_ALLOC;

	return (struct nfs4r_extent){ p->oid, bytes ? p->off : 0, bytes ? p->len : NFS4R_WHOLE };
}

enum nfs4r_status store_drop_extent(struct nfs4r_store *s, const struct nfs4r_extent *x)
{
	if (!NFS4R_ROOM(s->dropped, s->ndropped, s->dropped_cap))
		return NFS4R_NOMEM;
	s->dropped[s->ndropped++] = *x;
	return NFS4R_OK;
}

static int by_oid(const void *a, const void *b)
{
	return nfs4r_oid_cmp(&((const struct nfs4r_extent *)a)->oid, &((const struct nfs4r_extent *)b)->oid);
}

enum nfs4r_status store_foreign_intent_drop(struct nfs4r_store *s)
{
	enum nfs4r_status st = NFS4R_OK;

	for (; s->nbegun && st == NFS4R_OK; s->nbegun--)
		for (uint32_t i = 0; i < s->begun[s->nbegun - 1].n && st == NFS4R_OK; i++)
			st = store_drop_extent(s, &s->begun[s->nbegun - 1].of[i]);
	if (s->ndropped)
		qsort(s->dropped, s->ndropped, sizeof(*s->dropped), by_oid);
	return st;
}

/* ---- what a start may ask ---------------------------------------------------- */

uint32_t nfs4r_store_marked(struct nfs4r_store *s, struct nfs4r_oid **list)
{
	const struct ov_table *t;
	uint32_t n = 0;

	pthread_rwlock_rdlock(&s->view);
	t = &s->active->marks;
	*list = calloc(t->count + 1, sizeof(**list));
	for (uint64_t b = 0; *list && b < t->nbuckets; b++)
		for (const struct ov_node *m = t->buckets[b]; m; m = m->next)
			(*list)[n++] = ((const struct ov_mark *)m)->oid;
	pthread_rwlock_unlock(&s->view);
	return *list ? n : UINT32_MAX;
}

uint32_t nfs4r_store_dropped(const struct nfs4r_store *s, const struct nfs4r_extent **list)
{
	*list = s->dropped;
	return s->ndropped;
}

uint32_t nfs4r_store_given_back(const struct nfs4r_store *s, const struct nfs4r_given_back **list)
{
	*list = s->given_back;
	return s->ngiven_back;
}
