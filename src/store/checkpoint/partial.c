/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A checkpoint while a hole in a log lasts (log 4.3): what lies behind holes is set aside, and LMDB gets all the rest.
 *
 * What rows were before an entry touched them is nowhere in memory. So the records since LMDB's position are replayed once more, over LMDB, into an
 * overlay of their own, as a start would do that gives up what lies behind holes (log 4.7): an entry that comes before one that is missing is put off until that one
 * comes. What is still put off at the end of the journal is set aside: an ASIDE record says that these COMMITs count for nothing where they lie, and copies of them
 * follow it. The overlay without them is what is frozen, up to that record; one with only what they did lies above it; and the active one, empty, above that.
 *
 * So neither memory nor the journal grows with what others do, however long the hole lasts: the copies go on from file to file, the files before them may go.
 *
 * No entry of another log stands on what is set aside (log 3.4), so their order among each other does not matter, but for rows of the core: a copy leaves out
 * those that a later record wrote.
 *
 * Failure modes: nothing is changed before the records are appended, and nothing can fail after. What is no entry and has no versions (INSTALL, FORGET, HANDLE,
 * positions) may have been made on top of what is put off: then it is not possible, and the checkpoint waits for the hole as before.
 *
 * Changes go on while most of the journal is replayed; only for the end of it they wait.
 */
#include <stdlib.h>

#include "store/bytes.h"
#include "store/internal.h"

#define END_BYTES (64u << 10) /* so much of the journal may be replayed while changes wait */
#define ROUNDS_MAX 8

struct put_off { /* an entry, and its record */
	struct put_off *next;
	struct nfs4r_commit_head h;
	struct nfs4r_rec_view rec;
	uint8_t *buf;
	size_t at; /* of the copy, in what is appended */
};

struct aside {
	struct nfs4r_store *s, *w; /* w: a store of which there are only rows and logs, as they were at @at */
	nfs4r_journal_pos at;
	struct put_off *first, **end; /* as they lie in the journal */
	bool other_past; /* positions of elsewhere were taken */
	struct nfs4r_overlay *base; /* all but what is put off */
	struct nfs4r_fresh fresh;
};

/* ---- a second state -------------------------------------------------------------- */

static void shadow_free(struct nfs4r_store *w)
{
	if (!w)
		return;
	for (int i = 0; i < NLOGS; i++)
		store_log_clear(&w->logs[i]);
	store_db_unshare(&w->db);
	pthread_rwlock_destroy(&w->view);
	store_ov_free(w->active);
	free(w->inline_data);
	free(w);
}

/* LMDB as it is, and the logs as they were then. */
static struct nfs4r_store *shadow_new(const struct nfs4r_store *s)
{
	struct nfs4r_store *w = calloc(1, sizeof(*w));
	bool ok;

	if (!w)
		return NULL;
	w->active = store_ov_new();
	w->meta = s->lmdb;
	w->root = s->root;
	store_rwlock_init(&w->view);
	store_db_share(&w->db, &s->db);
	for (int i = 0; i < NLOGS; i++) {
		store_log_found(&w->logs[i], s->lmdb.applied[i], s->lmdb.truncated[i]);
		w->oid_watermark[i] = s->lmdb.oid_watermark[i];
	}
	ok = w->active != NULL;
	for (uint32_t i = 0; i < s->nbeyond && ok; i++) {
		const struct nfs4r_beyond *b = &s->beyond[i];

		ok = store_log_reserve(&w->logs[b->log], b->lsn);
		if (ok)
			store_log_add(&w->logs[b->log], b->lsn, SEG_HEADER, &b->created);
	}
	if (ok)
		return w;
	shadow_free(w);
	return NULL;
}

/* ---- what is put off ------------------------------------------------------------- */

static void put_off_free(struct put_off *p)
{
	free(p->buf);
	free(p);
}

static void unlink_put_off(struct aside *a, struct put_off **at)
{
	struct put_off *p = *at;

	*at = p->next;
	if (a->end == &p->next)
		a->end = at;
	put_off_free(p);
}

/* The record's bytes are its own from now on. */
static enum nfs4r_status put_off(struct aside *a, uint8_t **buf, const struct nfs4r_rec_view *rec, const struct nfs4r_commit_head *h)
{
	struct put_off *p = calloc(1, sizeof(*p));

	if (!p)
		return NFS4R_NOMEM;
	p->h = *h;
	p->rec = *rec;
	p->buf = *buf;
	*buf = NULL;
	*a->end = p;
	a->end = &p->next;
	return NFS4R_OK;
}

/* Those of @log up to @lsn count. */
static enum nfs4r_status take(struct aside *a, nfs4r_server_id log, nfs4r_lsn lsn)
{
	struct put_off **at = &a->first;
	enum nfs4r_status st = NFS4R_OK;

	while (*at && st == NFS4R_OK) {
		if ((*at)->h.log != log || (*at)->h.lsn > lsn) {
			at = &(*at)->next;
			continue;
		}
		st = store_replay_commit(a->w, &(*at)->rec);
		unlink_put_off(a, at);
	}
	return st;
}

/* The log has moved: what waited for that. */
static enum nfs4r_status catch_up(struct aside *a, nfs4r_server_id log)
{
	nfs4r_lsn before;
	enum nfs4r_status st;

	do {
		before = a->w->logs[log].applied;
		st = take(a, log, before + 1);
	} while (st == NFS4R_OK && a->w->logs[log].applied != before);
	return st;
}

/* What lies beyond @last of its log counts for nothing. */
static void drop(struct aside *a, const nfs4r_lsn *last)
{
	struct put_off **at = &a->first;

	while (*at) {
		if ((*at)->h.lsn > last[(*at)->h.log])
			unlink_put_off(a, at);
		else
			at = &(*at)->next;
	}
}

/* ---- the walk -------------------------------------------------------------------- */

static enum nfs4r_status see_commit(struct aside *a, uint8_t **buf, const struct nfs4r_rec_view *rec)
{
	struct nfs4r_commit_head h;
	enum nfs4r_status st;

	if (!store_rd_commit_head(rec, &h))
		return NFS4R_MALFORMED;
	if (!h.own && h.lsn > a->w->logs[h.log].applied + 1 && !FAULT(F_STORE_NOT_ASIDE))
		return put_off(a, buf, rec, &h);
	st = store_replay_commit(a->w, rec);
	return st == NFS4R_OK ? catch_up(a, h.log) : st;
}

static enum nfs4r_status see_cut(struct aside *a, const struct nfs4r_rec_view *rec)
{
	nfs4r_server_id self = a->s->meta.self;
	struct nfs4r_cut cut;
	bool lost;
	enum nfs4r_status st = store_rd_cut(rec, self, &cut, &lost);

	if (st != NFS4R_OK)
		return st;
	drop(a, cut.last);
	return !cut.again && store_log_last(&a->w->logs[self]) > cut.last[self] ? NFS4R_DELAY : NFS4R_OK;
}

/* Rows keep what was committed beyond the end, and who repairs them goes by that (log 8.3). */
static enum nfs4r_status see_seal(struct aside *a, const struct nfs4r_rec_view *rec)
{
	struct nfs4r_rd r = { rec->body, rec->len, false };
	nfs4r_server_id log = rd_u16(&r);
	enum nfs4r_status st = take(a, log, NFS4R_AFTER_SEAL(rd_u64(&r)));

	return st == NFS4R_OK ? store_replay_repair(a->w, rec, false) : st;
}

static enum nfs4r_status see(struct aside *a, uint8_t **buf, const struct nfs4r_rec_view *rec)
{
	switch (rec->type) {
	case REC_COMMIT:
		return see_commit(a, buf, rec);
	case REC_OPEN:
	case REC_ASIDE:
		return see_cut(a, rec);
	case REC_PUTS:
		return store_replay_puts(a->w, rec);
	case REC_HANDLE:
		return a->first ? NFS4R_DELAY : store_replay_handle(a->w, rec);
	case REC_SEAL:
		return see_seal(a, rec);
	case REC_BYTES:
		return store_replay_bytes(a->w, rec);
	case REC_INSTALL:
	case REC_FORGET:
	case REC_POSITIONS:
		a->other_past |= rec->type == REC_POSITIONS;
		return a->first ? NFS4R_DELAY : store_replay_repair(a->w, rec, false);
	default:
		return NFS4R_OK;
	}
}

static enum nfs4r_status walk(struct aside *a, nfs4r_journal_pos to)
{
	struct nfs4r_journal *j = &a->s->jnl;
	enum nfs4r_status st = NFS4R_OK;

	while (st == NFS4R_OK && (a->at = store_jnl_record_at(j, a->at)) < to) {
		struct nfs4r_rec_view rec;
		uint8_t *buf = store_jnl_read(j, a->at, &rec);

		if (!buf)
			return NFS4R_IO;
		a->at = rec_after(&rec);
		st = see(a, &buf, &rec);
		free(buf);
	}
	return atomic_load(&a->w->jnl.failed) ? NFS4R_IO : st;
}

/* ---- the end of it, under change --------------------------------------------------- */

/* Is the second state where the first is, and may what is put off be set aside? */
static bool agrees(const struct aside *a)
{
	const struct nfs4r_store *s = a->s;

	for (int i = 1; i < NLOGS; i++)
		if (s->logs[i].applied != a->w->logs[i].applied)
			return false;
	if (a->first && a->other_past)
		return false;
	for (const struct put_off *p = a->first; p; p = p->next)
		if (p->h.log == s->meta.self && s->last[p->h.log] > s->logs[p->h.log].applied)
			return false;
	return true;
}

static void write_head(const struct aside *a, struct nfs4r_wbuf *w)
{
	nfs4r_lsn last[NLOGS];

	memset(last, 0xff, sizeof(last));
	for (const struct put_off *p = a->first; p; p = p->next)
		last[p->h.log] = a->s->logs[p->h.log].applied;
	store_rec_begin(w, REC_ASIDE);
	store_rec_u64(w, a->s->lmdb.pos);
	for (int i = 1; i < NLOGS; i++)
		store_rec_u64(w, last[i]);
	store_rec_end(w);
}

/* Rows of the core that nobody has written since. */
static uint32_t still_valid(const struct aside *a, struct nfs4r_put *puts, uint32_t n, nfs4r_journal_pos pos)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct ov_core *c = store_ov_core(a->base, puts[i].key, puts[i].key_len);

		if (!c || c->pos < pos)
			puts[kept++] = puts[i];
	}
	return kept;
}

static enum nfs4r_status write_copy(const struct aside *a, struct nfs4r_wbuf *w, struct put_off *p)
{
	struct nfs4r_rd r = { p->rec.body, p->rec.len, false };
	struct nfs4r_put *puts;
	uint32_t n;
	enum nfs4r_status st;

	rd_bytes(&r, COMMIT_HEAD);
	st = store_rd_puts(&r, &puts, &n);
	if (st != NFS4R_OK)
		return st;
	p->at = w->len;
	store_rec_begin(w, REC_COMMIT);
	store_rec_bytes(w, p->rec.body, COMMIT_HEAD);
	store_rec_puts(w, puts, still_valid(a, puts, n, p->rec.pos));
	store_rec_bytes(w, r.p, r.left);
	store_rec_end(w);
	free(puts);
	return w->bad ? NFS4R_NOMEM : NFS4R_OK;
}

/* What the copies do, above the rest. */
static enum nfs4r_status replay_copies(struct aside *a, const struct nfs4r_wbuf *w, nfs4r_journal_pos pos)
{
	struct nfs4r_overlay *above = store_ov_new();
	enum nfs4r_status st = above ? NFS4R_OK : NFS4R_NOMEM;

	if (!above)
		return st;
	above->below = a->base;
	a->w->active = above;
	for (struct put_off *p = a->first; p && st == NFS4R_OK; p = p->next) {
		struct nfs4r_rec_view rec;
		size_t total;

		st = store_rec_parse(w->p + p->at, w->len - p->at, pos + p->at, &rec, &total) ? store_replay_commit(a->w, &rec) : NFS4R_CORRUPT;
	}
	return st;
}

static enum nfs4r_status write_records(struct aside *a, nfs4r_journal_pos *pos)
{
	struct nfs4r_wbuf *w = store_change_begin(a->s);
	enum nfs4r_status st = NFS4R_OK;

	write_head(a, w);
	for (struct put_off *p = a->first; p && st == NFS4R_OK; p = p->next)
		st = write_copy(a, w, p);
	if (st != NFS4R_OK)
		return st;
	store_rec_seal(w, *pos); /* for who reads them now; the append does it again */
	st = replay_copies(a, w, *pos);
	return st == NFS4R_OK ? store_jnl_append(&a->s->jnl, w, pos) : st;
}

/* The last one in LMDB of @log that is beyond the contiguous ones: its record is needed where it lies. */
static nfs4r_lsn last_kept(const struct aside *a, nfs4r_server_id log)
{
	nfs4r_lsn last = a->s->logs[log].applied;

	for (uint32_t i = 0; i < a->fresh.nbeyond; i++)
		if (a->fresh.beyond[i].log == log && a->fresh.beyond[i].lsn > last)
			last = a->fresh.beyond[i].lsn;
	return last;
}

static void move_records(struct aside *a, nfs4r_journal_pos pos)
{
	struct nfs4r_journal *j = &a->s->jnl;

	pthread_rwlock_wrlock(&j->segs_lock);
	for (const struct put_off *p = a->first; p; p = p->next) {
		nfs4r_lsn last = last_kept(a, p->h.log);

		for (uint32_t i = 0; i < j->nsegs; i++)
			if (j->segs[i].max[p->h.log] > last)
				j->segs[i].max[p->h.log] = last;
	}
	pthread_rwlock_unlock(&j->segs_lock);
	for (const struct put_off *p = a->first; p; p = p->next)
		store_seg_note(j, pos + p->at, p->h.log, p->h.lsn);
}

/* Nothing fails here. @from: where LMDB will be; @pos: of the copies. */
static void swap(struct aside *a, nfs4r_journal_pos from, nfs4r_journal_pos pos)
{
	struct nfs4r_store *s = a->s;
	struct nfs4r_overlay *old;

	pthread_rwlock_wrlock(&s->view);
	for (const struct put_off *p = a->first; p; p = p->next)
		store_log_add(&s->logs[p->h.log], p->h.lsn, pos + p->at, &p->h.created);
	store_freeze_note(s, &a->fresh, from);
	for (int i = 1; i < NLOGS; i++) /* nothing of these lies behind a hole */
		if (i != s->meta.self)
			s->frozen.last[i] = 0;
	s->frozen.back = 0;
	old = s->active;
	s->active = a->fresh.ov;
	s->active->below = a->w->active;
	s->frozen.ov = a->base;
	a->fresh.ov = a->w->active = NULL;
	pthread_rwlock_unlock(&s->view);
	store_ov_free(old);
}

static enum nfs4r_status finish(struct aside *a)
{
	struct nfs4r_store *s = a->s;
	nfs4r_journal_pos from = atomic_load(&s->jnl.tail), pos = from;
	enum nfs4r_status st = walk(a, from);

	if (st == NFS4R_OK && !agrees(a))
		st = NFS4R_DELAY;
	if (st == NFS4R_OK)
		st = store_fresh_make(s, a->w->logs, false, &a->fresh);
	a->base = a->w->active;
	if (st == NFS4R_OK)
		st = store_foreign_intent_again(s);
	if (st == NFS4R_OK && a->first) {
		pos = atomic_load(&s->jnl.tail);
		st = write_records(a, &pos);
	}
	if (st != NFS4R_OK)
		return st;
	s->aside_bytes = atomic_load(&s->jnl.tail) - from;
	move_records(a, pos);
	swap(a, from, pos);
	return NFS4R_OK;
}

enum nfs4r_status store_set_aside(struct nfs4r_store *s)
{
	struct aside a = { .s = s, .w = shadow_new(s), .at = s->lmdb.pos };
	enum nfs4r_status st = a.w ? NFS4R_OK : NFS4R_NOMEM;

	a.end = &a.first;
	for (int i = 0; st == NFS4R_OK && i < ROUNDS_MAX && atomic_load(&s->jnl.tail) > a.at + END_BYTES; i++)
		st = walk(&a, atomic_load(&s->jnl.tail));
	if (st == NFS4R_OK) {
		pthread_mutex_lock(&s->change);
		st = finish(&a);
		pthread_mutex_unlock(&s->change);
	}
	while (a.first)
		unlink_put_off(&a, &a.first);
	store_fresh_free(&a.fresh);
	shadow_free(a.w);
	/* Records that do not fit without what is put off: wait until that is there. */
	return st == NFS4R_CORRUPT || st == NFS4R_MALFORMED ? NFS4R_DELAY : st;
}
