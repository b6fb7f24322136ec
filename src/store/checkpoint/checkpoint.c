/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Checkpoint: the overlay goes to LMDB (log 4.3).
 *
 * Happy path: freeze (note the journal's end and the positions, put an empty overlay in front), sync the
 * exported files, sync the journal (from here on the positions are stable, and who waits for them is told), write everything frozen and the noted positions in one LMDB
 * transaction, forget the frozen overlay, remove segments that nobody needs. Changes go on meanwhile.
 *
 * Failure modes: whatever fails, the frozen overlay stays in front of LMDB and reads do not notice; the
 * next checkpoint writes it first, unless the files could not be synced: then there is none (fs_sync.c). A crash before LMDB's commit leaves the old position, after it the new
 * one; in both cases the journal from there on is complete. Removing segments comes last and may be
 * interrupted anywhere, because they go oldest first.
 *
 * Invariants: LMDB = the records before meta.pos, no more and no less. No own entry is in LMDB before the COMMITs of all
 * own entries before it are on stable storage, if only behind meta.pos: what lies behind a hole after a crash of the
 * machine counts for nothing (recover.c), and LMDB cannot take it back. Of other logs, and of own entries that come back from others, nothing is there behind
 * a hole unless the log's owner cannot lose it. When such a hole lasts, everything but LMDB is done, and the frozen overlay stays as after a failure; but what that holds back is bounded: partial.c
 * freezes it anew without what lies behind holes.
 *
 * Overlays, from above: the active one, where changes go; what was set aside, if anything; what is frozen. A freeze of everything takes what was set aside with it, as the lower one of two.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <time.h>

#include "store/bytes.h"
#include "store/internal.h"

#define NO_ROOM_BYTES (1u << 20) /* LMDB writes up to 256 KiB at once */

/* ---- freeze -------------------------------------------------------------- */

/* What was set aside earlier lies below the active one, and goes with it. */
static enum nfs4r_status freeze(struct nfs4r_store *s)
{
	struct nfs4r_fresh fresh;
	nfs4r_journal_pos pos;
	enum nfs4r_status st;

	pthread_mutex_lock(&s->change);
	pos = atomic_load(&s->jnl.tail);
	st = store_foreign_intent_again(s);
	if (st == NFS4R_OK)
		st = store_fresh_make(s, s->logs, true, &fresh);
	if (st == NFS4R_OK) {
		pthread_rwlock_wrlock(&s->view);
		store_freeze_note(s, &fresh, pos);
		fresh.ov->below = s->frozen.ov = s->active;
		s->active = fresh.ov;
		pthread_rwlock_unlock(&s->view);
	}
	pthread_mutex_unlock(&s->change);
	return st;
}

/* ---- writing ------------------------------------------------------------- */

static int put_or_del(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *val)
{
	int rc = val ? mdb_put(txn, dbi, key, val, 0) : mdb_del(txn, dbi, key, NULL);

	return rc == MDB_NOTFOUND && !val ? 0 : rc;
}

static int write_cookies(struct nfs4r_db *db, MDB_txn *txn, const struct nfs4r_oid *dir,
			 const struct ov_cookie *c)
{
	uint8_t k[24], v[17 + NFS4R_NAME_MAX];
	MDB_val key = { sizeof(k), k }, val = { 0, v };
	int rc;

	for (; c; c = c->child[1]) {
		rc = write_cookies(db, txn, dir, c->child[0]);
		if (rc)
			return rc;
		memcpy(k, dir->b, 16);
		put_be64(k + 16, c->cookie);
		if (ov_cookie_used(c)) {
			memcpy(v, c->name->oid.b, 16);
			v[16] = c->name->type;
			memcpy(v + 17, c->name->s, c->name->len);
			val.mv_size = 17 + c->name->len;
		}
		rc = put_or_del(txn, db->cookies, &key, ov_cookie_used(c) ? &val : NULL);
		if (rc)
			return rc;
	}
	return 0;
}

static int write_row(struct nfs4r_db *db, MDB_txn *txn, const struct ov_node *node)
{
	const struct ov_row *r = (const struct ov_row *)node;
	MDB_val key = { 16, (void *)(uintptr_t)r->o.row.oid.b }, val;
	int rc;

	if (r->gone) {
		rc = put_or_del(txn, db->rows, &key, NULL);
	} else {
		val.mv_size = store_row_size(&r->o);
		rc = mdb_put(txn, db->rows, &key, &val, MDB_RESERVE);
		if (!rc)
			store_row_encode(&r->o, val.mv_data);
	}
	return rc ? rc : write_cookies(db, txn, &r->o.row.oid, r->cookies);
}

static int write_name(struct nfs4r_db *db, MDB_txn *txn, const struct ov_node *node)
{
	const struct ov_name *n = (const struct ov_name *)node;
	uint8_t k[NAME_KEY_MAX], v[NAME_VAL];
	MDB_val key = { store_name_key(k, &n->dir, n->s, n->len), k }, val = { sizeof(v), v };

	memcpy(v, n->oid.b, 16);
	v[16] = n->type;
	put_be64(v + 17, n->cookie);
	return put_or_del(txn, db->names, &key, n->gone ? NULL : &val);
}

static int write_handle(struct nfs4r_db *db, MDB_txn *txn, const struct ov_node *node)
{
	const struct ov_handle *h = (const struct ov_handle *)node;
	MDB_val key = { h->len, (void *)(uintptr_t)h->bytes };
	MDB_val val = { 16, (void *)(uintptr_t)h->oid.b };

	return put_or_del(txn, db->handles, &key, h->gone ? NULL : &val);
}

static int write_core(struct nfs4r_db *db, MDB_txn *txn, const struct ov_node *node)
{
	const struct ov_core *c = (const struct ov_core *)node;
	MDB_val key = { c->key_len, (void *)(uintptr_t)c->key }, val = { c->val_len, c->val };

	return put_or_del(txn, db->core, &key, c->gone ? NULL : &val);
}

static int write_locks(struct nfs4r_db *db, MDB_txn *txn, const struct ov_node *node)
{
	const struct ov_locks *l = (const struct ov_locks *)node;
	MDB_val key = { 16, (void *)(uintptr_t)l->oid.b }, val = { (size_t)l->n * LOCK_BYTES, l->bytes };

	return put_or_del(txn, db->locks, &key, l->n ? &val : NULL);
}

static int cmp_row(const void *a, const void *b)
{
	return nfs4r_oid_cmp(&(*(struct ov_row *const *)a)->o.row.oid,
			     &(*(struct ov_row *const *)b)->o.row.oid);
}

static int cmp_bytes(const void *a, size_t na, const void *b, size_t nb)
{
	int d = memcmp(a, b, na < nb ? na : nb);

	return d ? d : (na > nb) - (na < nb);
}

static int cmp_name(const void *a, const void *b)
{
	const struct ov_name *x = *(struct ov_name *const *)a, *y = *(struct ov_name *const *)b;
	int d = nfs4r_oid_cmp(&x->dir, &y->dir);

	return d ? d : cmp_bytes(x->s, x->len, y->s, y->len);
}

static int cmp_handle(const void *a, const void *b)
{
	const struct ov_handle *x = *(struct ov_handle *const *)a, *y = *(struct ov_handle *const *)b;

	return cmp_bytes(x->bytes, x->len, y->bytes, y->len);
}

static int cmp_core(const void *a, const void *b)
{
	const struct ov_core *x = *(struct ov_core *const *)a, *y = *(struct ov_core *const *)b;

	return cmp_bytes(x->key, x->key_len, y->key, y->key_len);
}

static int cmp_locks(const void *a, const void *b)
{
	return nfs4r_oid_cmp(&(*(struct ov_locks *const *)a)->oid, &(*(struct ov_locks *const *)b)->oid);
}

/* In key order, because neighbours share LMDB's pages. */
static int write_table(struct nfs4r_db *db, MDB_txn *txn, const struct ov_table *t,
		       int (*cmp)(const void *a, const void *b),
		       int (*write)(struct nfs4r_db *db, MDB_txn *txn, const struct ov_node *n))
{
	struct ov_node **list;
	int rc = 0;

	if (!t->count)
		return 0;
	list = store_ov_sorted(t, cmp);
	if (!list)
		return ENOMEM;
	for (uint64_t i = 0; i < t->count && !rc; i++)
		rc = write(db, txn, list[i]);
	free(list);
	return rc;
}

static int write_carry(struct nfs4r_store *s, MDB_txn *txn)
{
	int rc = mdb_drop(txn, s->db.marks, 0);

	for (uint32_t i = 0; i < s->frozen.ncarry - (FAULT(F_STORE_HOT_UNSAVED) ? s->frozen.nhot : 0) && !rc; i++) {
		struct nfs4r_touched *t = &s->frozen.carry[i];
		uint8_t v[8];
		MDB_val key = { 16, t->oid.b }, val = { 8, v };

		put_be64(v, t->before);
		rc = mdb_put(txn, s->db.marks, &key, &val, 0);
	}
	return rc;
}

static int write_incs(struct nfs4r_store *s, MDB_txn *txn)
{
	int rc = 0;

	for (uint32_t i = 0; i < s->nincs && !rc; i++) {
		uint8_t k[11] = "inc", v[8];
		MDB_val key = { sizeof(k), k }, val = { sizeof(v), v };

		put_be64(k + 3, s->incs[i].counter);
		put_be64(v, s->incs[i].random);
		rc = mdb_put(txn, s->db.meta, &key, &val, 0);
	}
	return rc;
}

/* The older ones first. */
static int write_overlays(struct nfs4r_db *db, MDB_txn *txn, const struct nfs4r_overlay *ov)
{
	int rc = ov->below ? write_overlays(db, txn, ov->below) : 0;

	if (!rc)
		rc = write_table(db, txn, &ov->rows, cmp_row, write_row);
	if (!rc)
		rc = write_table(db, txn, &ov->names, cmp_name, write_name);
	if (!rc)
		rc = write_table(db, txn, &ov->handles, cmp_handle, write_handle);
	if (!rc)
		rc = write_table(db, txn, &ov->core, cmp_core, write_core);
	if (!rc)
		rc = write_table(db, txn, &ov->locks, cmp_locks, write_locks);
	return rc;
}

static bool has_lists(const struct nfs4r_overlay *ov)
{
	for (; ov; ov = ov->below)
		if (ov->locks.count)
			return true;
	return false;
}

static int write_all(struct nfs4r_store *s)
{
	bool first_list = !atomic_load(&s->db.has_locks) && has_lists(s->frozen.ov);
	MDB_txn *txn;
	int rc = mdb_txn_begin(s->db.env, NULL, 0, &txn);

	if (rc)
		return rc;
	if (first_list)
		rc = store_db_make_locks(&s->db, txn);
	if (!rc)
		rc = write_overlays(&s->db, txn, s->frozen.ov);
	if (!rc)
		rc = write_carry(s, txn);
	if (!rc)
		rc = write_incs(s, txn);
	if (!rc)
		rc = store_db_put_meta(&s->db, txn, &s->frozen.meta);
	if (rc) {
		mdb_txn_abort(txn);
		return rc;
	}
	rc = mdb_txn_commit(txn);
	if (!rc && first_list)
		atomic_store(&s->db.has_locks, true);
	return rc;
}

/* ---- after ---------------------------------------------------------------- */

static void forget_frozen(struct nfs4r_store *s)
{
	struct nfs4r_overlay *ov = s->frozen.ov, *above = s->active;

	while (above->below != ov)
		above = above->below;
	pthread_rwlock_wrlock(&s->view);
	above->below = s->frozen.ov = NULL;
	pthread_rwlock_unlock(&s->view);
	store_ov_free(ov);
	free(s->frozen.carry);
	s->frozen.carry = NULL;
	s->lmdb = s->frozen.meta;
	free(s->beyond);
	s->beyond = s->frozen.beyond;
	s->nbeyond = s->beyond_cap = s->frozen.nbeyond;
	s->frozen.beyond = NULL;
}

static bool needed(const struct nfs4r_store *s, const struct nfs4r_segment *seg,
		   nfs4r_journal_pos first_intent)
{
	nfs4r_journal_pos end = seg->start + seg->size;

	if (end > s->frozen.meta.pos || end > first_intent)
		return true;
	for (int i = 1; i < NLOGS; i++) {
		if (seg->max[i] > s->frozen.meta.truncated[i])
			return true;
	}
	return false;
}

static void drop_segments(struct nfs4r_store *s)
{
	nfs4r_journal_pos first_intent = UINT64_MAX;
	uint32_t n = 0;

	pthread_mutex_lock(&s->change);
	for (int b = 0; b < FLIGHT_BUCKETS; b++) {
		for (struct nfs4r_flight *f = s->flights[b]; f; f = f->next) {
			if (f->intent && f->intent < first_intent)
				first_intent = f->intent;
		}
	}
	while (n + 1 < s->jnl.nsegs && !needed(s, &s->jnl.segs[n], first_intent))
		n++;
	pthread_mutex_unlock(&s->change);
	store_seg_drop(&s->jnl, n);
}

/* Wait, at most a second, until no entry of the log up to @lsn is missing. s->change held. */
static bool wait_whole(struct nfs4r_store *s, int log, nfs4r_lsn lsn)
{
	const struct nfs4r_log *l = &s->logs[log];
	struct timespec until;
	int rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec++;
	s->waiters++;
	while (l->applied < lsn && !rc)
		rc = pthread_cond_clockwait(&s->whole, &s->change, CLOCK_MONOTONIC, &until);
	s->waiters--;
	return l->applied >= lsn;
}

enum nfs4r_status nfs4r_store_whole(struct nfs4r_store *s, nfs4r_journal_pos *pos)
{
	bool whole;

	pthread_mutex_lock(&s->change);
	whole = wait_whole(s, s->meta.self, s->last[s->meta.self]);
	*pos = atomic_load(&s->jnl.tail);
	pthread_mutex_unlock(&s->change);
	return whole ? NFS4R_OK : NFS4R_DELAY;
}

enum nfs4r_status nfs4r_store_sync_whole(struct nfs4r_store *s)
{
	nfs4r_journal_pos pos;
	enum nfs4r_status st = nfs4r_store_whole(s, &pos);

	return st == NFS4R_OK ? store_jnl_sync(&s->jnl, pos) : st;
}

/* No entry is missing before @last, of those that were frozen. s->change held. */
static bool is_whole(const struct nfs4r_store *s, int log, nfs4r_lsn last)
{
	return last <= s->frozen.meta.applied[log] || s->logs[log].applied >= last;
}

/* What is missing of entries that come from others may wait for something from elsewhere: that is waited for once. False: what lies behind it may be lost, and its number given out again. s->change held. */
static bool wait_for_others(struct nfs4r_store *s, int log, nfs4r_lsn last)
{
	if (is_whole(s, log, last) || (last != s->gave_up[log] && wait_whole(s, log, last)))
		return true;
	s->gave_up[log] = last;
	return last <= s->owners_have[log] || FAULT(F_STORE_HOLE_STAYS);
}

/*
 * Wait until no entry is missing before those that were frozen; nearly always they have ended while the files were
 * synced. DELAY: one that is executed here is missing. *@whole: none is. *@pos: sync to here.
 */
static enum nfs4r_status close_holes(struct nfs4r_store *s, nfs4r_journal_pos *pos, bool *whole)
{
	nfs4r_server_id self = s->meta.self;
	bool own;

	*whole = true;
	pthread_mutex_lock(&s->change);
	own = is_whole(s, self, s->frozen.last[self]) || FAULT(F_STORE_HOLE) || wait_whole(s, self, s->frozen.last[self]);
	for (int i = 1; i < NLOGS && own; i++)
		*whole &= wait_for_others(s, i, i == self ? s->frozen.back : s->frozen.last[i]);
	*pos = atomic_load(&s->jnl.tail); /* what has ended meanwhile is as needed as what was frozen */
	pthread_mutex_unlock(&s->change);
	return own ? NFS4R_OK : NFS4R_DELAY;
}

/* LMDB says EIO when the last room took a part of what it wrote. */
static enum nfs4r_status db_failed(const struct nfs4r_store *s, int rc)
{
	struct statvfs v;

	if (rc == EIO && fstatvfs(s->dirfd, &v) == 0 && v.f_bavail < NO_ROOM_BYTES / v.f_frsize)
		return NFS4R_NOSPC;
	return store_db_status(rc);
}

/* What one caller wants. */
struct wish {
	int (*sync_files)(void *arg);
	void (*safe)(void *arg, const nfs4r_lsn *stable);
	void *arg;
};

/* What is told when files and journal are synced: where the logs were when it was frozen; or are now, if that was for an earlier checkpoint. */
static void note_applied(struct nfs4r_store *s, bool left_over, nfs4r_lsn *out)
{
	pthread_mutex_lock(&s->change);
	for (int i = 0; i < NLOGS; i++)
		out[i] = left_over ? s->logs[i].applied : s->frozen.meta.applied[i];
	pthread_mutex_unlock(&s->change);
}

/* Meanwhile a log may have ended, or the positions may be another copy's. */
static void note_stable(struct nfs4r_store *s, const nfs4r_lsn *stable)
{
	pthread_rwlock_wrlock(&s->view);
	for (int i = 0; i < NLOGS; i++)
		if (stable[i] > s->logs[i].stable && stable[i] <= s->logs[i].applied)
			s->logs[i].stable = stable[i];
	pthread_rwlock_unlock(&s->view);
}

static void tell(const nfs4r_lsn *stable, const struct wish *w)
{
	if (w->safe)
		w->safe(w->arg, stable);
}

/* Files and journal. *@whole: LMDB may be written. */
static enum nfs4r_status sync_frozen(struct nfs4r_store *s, const nfs4r_lsn *stable, const struct wish *w, bool *whole)
{
	nfs4r_journal_pos pos;
	enum nfs4r_status st;

	if (FAULT(F_STORE_TELL_FILES))
		tell(stable, w);
	st = nfs4r_store_sync_files(s, w->sync_files, w->arg);
	if (st != NFS4R_OK)
		return st;
	if (FAULT(F_STORE_TELL_JOURNAL))
		tell(stable, w);
	st = close_holes(s, &pos, whole);
	if (st == NFS4R_OK && !FAULT(F_STORE_LMDB_AHEAD))
		st = store_jnl_sync(&s->jnl, pos);
	if (st != NFS4R_OK)
		return st;
	note_stable(s, stable);
	tell(stable, w);
	return NFS4R_OK;
}

static enum nfs4r_status write_lmdb(struct nfs4r_store *s)
{
	int rc;

	if (FAULT(F_STORE_POS_AHEAD))
		s->frozen.meta.pos = atomic_load(&s->jnl.tail);
	while ((rc = write_all(s)) == MDB_MAP_FULL) {
		rc = store_db_grow(&s->db);
		if (rc)
			break;
	}
	if (rc)
		return db_failed(s, rc);
	forget_frozen(s);
	store_files_good(s);
	if (!s->active->below)
		s->aside_bytes = 0; /* there is no hole any more: the next one has its own measure */
	drop_segments(s);
	return NFS4R_OK;
}

/* Behind a hole in another log it stays frozen: what was noted is stable when files and journal are synced, and LMDB could not take the rest back. */
static enum nfs4r_status write_frozen(struct nfs4r_store *s, bool left_over, const struct wish *w)
{
	nfs4r_lsn stable[NLOGS];
	enum nfs4r_status st;
	bool whole = false;

	note_applied(s, left_over, stable);
	st = sync_frozen(s, stable, w, &whole);
	return st == NFS4R_OK && whole ? write_lmdb(s) : st;
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ull + ts.tv_nsec / 1000000;
}

/* Is what LMDB has not much more than what is set aside for it? */
static bool pays(const struct nfs4r_store *s)
{
	return atomic_load(&s->jnl.tail) - s->lmdb.pos > s->jnl.segment_bytes / 4 + 4 * s->aside_bytes;
}

static enum nfs4r_status run(struct nfs4r_store *s, const struct wish *w)
{
	uint64_t start = now_ms();
	enum nfs4r_status st = NFS4R_OK;

	if (atomic_load(&s->jnl.failed) || nfs4r_store_files_failed(s))
		return NFS4R_IO;
	if (s->frozen.ov) /* left by one that failed, or that had to leave it */
		st = write_frozen(s, true, w);
	if (st != NFS4R_OK || (s->frozen.ov && !pays(s)))
		return st;
	st = s->frozen.ov ? store_set_aside(s) : freeze(s);
	if (st == NFS4R_DELAY) { /* nor now: the next time when there is much more */
		s->aside_bytes = atomic_load(&s->jnl.tail) - s->lmdb.pos;
		return NFS4R_OK;
	}
	if (st == NFS4R_OK)
		st = write_frozen(s, false, w);
	if (st == NFS4R_OK && !s->frozen.ov) {
		atomic_fetch_add(&s->checkpoints, 1);
		atomic_store(&s->last_checkpoint_ms, now_ms() - start);
	}
	return st;
}

void nfs4r_store_owners_have(struct nfs4r_store *s, const nfs4r_lsn lsn[NFS4R_SERVERS_MAX + 1])
{
	pthread_mutex_lock(&s->change);
	memcpy(s->owners_have, lsn, sizeof(s->owners_have));
	s->owners_have[s->meta.self] = 0;
	pthread_mutex_unlock(&s->change);
}

enum nfs4r_status nfs4r_store_checkpoint(struct nfs4r_store *s, int (*sync_files)(void *arg), void *arg,
					 nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1])
{
	return nfs4r_store_checkpoint_telling(s, sync_files, NULL, arg, stable);
}

enum nfs4r_status nfs4r_store_checkpoint_telling(struct nfs4r_store *s, int (*sync_files)(void *arg),
						 void (*safe)(void *arg, const nfs4r_lsn *stable), void *arg,
						 nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1])
{
	const struct wish w = { sync_files, safe, arg };
	nfs4r_lsn shared[NFS4R_SERVERS_MAX + 1], now[NLOGS];
	enum nfs4r_status st;
	bool reported = false;
	uint64_t mine;

	pthread_mutex_lock(&s->ckpt_lock);
	mine = s->ckpt_begun + 1; /* one that begins after this call */
	while (s->ckpt_ended < mine && s->ckpt_running)
		pthread_cond_wait(&s->ckpt_cond, &s->ckpt_lock);
	if (s->ckpt_ended < mine) {
		s->ckpt_running = true;
		s->ckpt_begun++;
		pthread_mutex_unlock(&s->ckpt_lock);
		st = run(s, &w);
		reported = true;
		pthread_rwlock_rdlock(&s->view); /* the end of a log changes it, too */
		for (int i = 0; i < NLOGS; i++)
			now[i] = s->logs[i].stable;
		pthread_rwlock_unlock(&s->view);
		pthread_mutex_lock(&s->ckpt_lock);
		s->ckpt_running = false;
		s->ckpt_ended = s->ckpt_begun;
		s->ckpt_status = st;
		memcpy(s->ckpt_stable, now, sizeof(now));
		pthread_cond_broadcast(&s->ckpt_cond);
	}
	st = s->ckpt_status;
	memcpy(shared, s->ckpt_stable, sizeof(shared));
	pthread_mutex_unlock(&s->ckpt_lock);
	if (stable)
		memcpy(stable, shared, sizeof(shared));
	if (safe && !reported && st == NFS4R_OK) /* another one's, which told only who had asked for it */
		safe(arg, shared);
	return st;
}
