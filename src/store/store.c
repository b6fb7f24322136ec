/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Opening and closing, and the calls that are too small for a file of their own.
 *
 * Open: lock the directory, bring back what is there (recover.c), begin a new incarnation with a journal
 * record that is synced before anything is answered. An error leaves what was found as it was.
 *
 * Close: a CLOSE record, synced. It tells the next open that no record can be missing even if the machine
 * was restarted in between. A tail that is lost stays so: OPEN says it, until RECOVERED.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/bytes.h"
#include "store/internal.h"
#include "xdr_map.h"

#ifdef NFS4R_FAULTS
uint32_t nfs4r_store_fault;
#endif

/* Beside the own log's: from where on in the journal, and the last entry of each log that counts. */
static void write_cut(const struct nfs4r_store *s, struct nfs4r_wbuf *w)
{
	store_rec_u64(w, s->meta.pos);
	for (int i = 1; i < NLOGS; i++)
		store_rec_u64(w, s->logs[i].applied);
}

/* ---- open ------------------------------------------------------------------ */

/* Why it failed: who waits for a sync hears IO, whatever it was. A start that finds no room waits for it (log 4.15). */
static enum nfs4r_status reason(const struct nfs4r_store *s, enum nfs4r_status st)
{
	enum nfs4r_status broken = nfs4r_store_broken(s);

	return broken != NFS4R_OK ? broken : st;
}

static enum nfs4r_status begin_run(struct nfs4r_store *s, const char *boot_id,
				   struct nfs4r_store_info *info, char *why)
{
	uint64_t counter = s->meta.inc.counter + 1, random;
	struct nfs4r_inc *incs = realloc(s->incs, (s->nincs + 1) * sizeof(*incs));
	nfs4r_journal_pos pos;
	struct nfs4r_wbuf *w;
	enum nfs4r_status st;

	if (!incs)
		return nfs4r_refuse(why, NFS4R_NOMEM, "out of memory");
	s->incs = incs;
	st = store_ident_random(&random);
	if (st != NFS4R_OK)
		return nfs4r_refuse(why, st, "the kernel returned no random numbers");
	/* after a crash of the process the last records may not be on the disk; OPEN says that all before it is (recover.c) */
	st = store_jnl_sync(&s->jnl, atomic_load(&s->jnl.tail));
	if (st != NFS4R_OK) {
		st = reason(s, st);
		return nfs4r_refuse(why, st, "cannot sync the journal in %s: %s", s->dir, nfs4r_status_str(st));
	}
	s->synced_noted = atomic_load(&s->jnl.synced);
	w = store_change_begin(s);
	store_rec_begin(w, REC_OPEN);
	store_rec_u64(w, counter);
	store_rec_u64(w, random);
	store_rec_bytes(w, boot_id, BOOT_ID_LEN);
	store_rec_u64(w, s->meta.tail_lost && !FAULT(F_STORE_TAIL_WHOLE) ? s->logs[s->meta.self].applied + 1 : 0);
	write_cut(s, w);
	store_rec_end(w);
	st = store_jnl_append(&s->jnl, w, &pos);
	if (st == NFS4R_OK)
		st = store_jnl_sync(&s->jnl, atomic_load(&s->jnl.tail));
	if (st != NFS4R_OK) {
		st = reason(s, st);
		return nfs4r_refuse(why, st, "cannot write to the journal in %s: %s", s->dir,
				    nfs4r_status_str(st));
	}
	store_jnl_good(&s->jnl);
	s->meta.inc = s->incs[s->nincs++] = (struct nfs4r_inc){ counter, random };
	memcpy(s->meta.boot_id, boot_id, BOOT_ID_LEN);
	info->inc = counter;
	info->inc_random = random;
	return NFS4R_OK;
}

static enum nfs4r_status open_dir(struct nfs4r_store *s, bool *made, char *why)
{
	*made = !mkdir(s->dir, 0700);
	if (!*made && errno != EEXIST)
		return nfs4r_refuse(why, nfs4r_status_from_errno(errno), "cannot make %s: %s", s->dir,
				    strerror(errno));
	s->dirfd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dirfd < 0)
		return nfs4r_refuse(why, nfs4r_status_from_errno(errno),
				    "cannot read %s: %s; it must be a directory that belongs to the server's user",
				    s->dir, strerror(errno));
	s->jnl.dirfd = s->dirfd;
	return NFS4R_OK;
}

static void destroy(struct nfs4r_store *s)
{
	store_db_close(&s->db);
	store_jnl_fini(&s->jnl);
	store_flights_free(s);
	store_ov_free(s->active);
	free(s->frozen.carry);
	free(s->frozen.beyond);
	free(s->beyond);
	for (int i = 0; i < NLOGS; i++)
		store_log_clear(&s->logs[i]);
	for (uint32_t i = 0; i < s->nintents; i++)
		nfs4r_entry_put(s->intents[i]);
	free(s->intents);
	free(s->incs);
	free(s->dropped);
	free(s->given_back);
	free(s->inline_data);
	free(s->begun);
	free(s->wbuf.p);
	if (s->lockfd >= 0)
		close(s->lockfd);
	if (s->dirfd >= 0)
		close(s->dirfd);
	pthread_mutex_destroy(&s->change);
	pthread_rwlock_destroy(&s->view);
	pthread_mutex_destroy(&s->ckpt_lock);
	pthread_cond_destroy(&s->ckpt_cond);
	pthread_cond_destroy(&s->whole);
	free(s->dir);
	free(s);
}

static struct nfs4r_store *create(const struct nfs4r_store_config *cfg)
{
	struct nfs4r_store *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->dirfd = s->lockfd = -1;
	store_jnl_init(&s->jnl);
	pthread_mutex_init(&s->change, NULL);
	pthread_mutex_init(&s->ckpt_lock, NULL);
	pthread_cond_init(&s->ckpt_cond, NULL);
	pthread_cond_init(&s->whole, NULL);
	store_rwlock_init(&s->view);
	s->dir = strdup(cfg->dir);
	s->active = store_ov_new();
	memcpy(s->jnl.volume, cfg->volume, 16);
	s->jnl.self = cfg->self;
	s->jnl.segment_bytes = cfg->segment_bytes ? cfg->segment_bytes : 64u << 20;
	s->jnl.segment_age_s = cfg->segment_age_s;
	s->jnl.formats = cfg->formats;
	s->jnl.format = s->meta.format = cfg->formats.lowest;
	memcpy(s->meta.volume, cfg->volume, 16);
	s->meta.self = cfg->self;
	nfs4r_oid_root(&s->root, cfg->volume);
	if (s->dir && s->active)
		return s;
	destroy(s);
	return NULL;
}

static enum nfs4r_status open_store(const struct nfs4r_store_config *cfg, struct nfs4r_store **out,
				    struct nfs4r_store_info *info, char *why)
{
	char boot_id[BOOT_ID_LEN];
	struct nfs4r_store *s;
	enum nfs4r_status st;
	bool made = false;

	*out = NULL;
	why[0] = 0;
	memset(info, 0, sizeof(*info));
	if (!cfg->dir || cfg->self < 1 || cfg->self > NFS4R_SERVERS_MAX)
		return nfs4r_refuse(why, NFS4R_BADCONFIG, "server id %u: must be 1 to %u", cfg->self,
				    NFS4R_SERVERS_MAX);
	s = create(cfg);
	if (!s)
		return nfs4r_refuse(why, NFS4R_NOMEM, "out of memory");
	st = open_dir(s, &made, why);
	if (st == NFS4R_OK)
		st = store_ident_lock(s, cfg->dir, why);
	if (st == NFS4R_OK) {
		store_spare_open(&s->jnl);
		st = store_ident_boot_id(cfg->boot_id, boot_id, why);
	}
	if (st == NFS4R_OK)
		st = store_recover(s, cfg, boot_id, info, why);
	if (st == NFS4R_OK)
		st = begin_run(s, boot_id, info, why);
	if (st != NFS4R_OK) {
		if (made && !unlinkat(s->dirfd, "lock", 0))
			rmdir(s->dir); /* stays when more had been written: the next open goes on */
		destroy(s);
		return st;
	}
	s->jnl.appended = 0;
	s->jnl.fail_after = cfg->fail_after_bytes;
	store_jnl_ahead_start(&s->jnl, cfg->ahead_bytes);
	*out = s;
	return NFS4R_OK;
}

enum nfs4r_status nfs4r_store_open(const struct nfs4r_store_config *cfg, struct nfs4r_store **out,
				   struct nfs4r_store_info *info, char *why)
{
	struct nfs4r_store_config c = *cfg;

	if (c.formats.highest == 0)
		c.formats = (struct nfs4r_versions){ NFS4R_DISK_FORMAT_LOWEST, NFS4R_DISK_FORMAT_HIGHEST };
	return open_store(&c, out, info, why);
}

enum nfs4r_status nfs4r_store_raise_format(struct nfs4r_store *s, uint32_t format)
{
	enum nfs4r_status st;

	pthread_mutex_lock(&s->change);
	st = store_format_at_least(s, format);
	pthread_mutex_unlock(&s->change);
	return st;
}

uint32_t nfs4r_store_format(struct nfs4r_store *s)
{
	uint32_t format;

	pthread_mutex_lock(&s->jnl.lay_lock);
	format = s->jnl.format;
	pthread_mutex_unlock(&s->jnl.lay_lock);
	return format;
}

void nfs4r_store_leave(struct nfs4r_store *s)
{
	if (!s)
		return;
	store_jnl_ahead_stop(&s->jnl);
	store_jnl_sync(&s->jnl, atomic_load(&s->jnl.tail));
	store_files_note_again(s);
	store_jnl_note_again(&s->jnl);
	destroy(s);
}

void nfs4r_store_close(struct nfs4r_store *s)
{
	nfs4r_journal_pos pos;
	struct nfs4r_wbuf *w;

	if (!s)
		return;
	store_jnl_ahead_stop(&s->jnl);
	pthread_mutex_lock(&s->change);
	w = store_change_begin(s);
	store_rec_begin(w, REC_CLOSE);
	store_rec_end(w);
	if (store_jnl_append(&s->jnl, w, &pos) == NFS4R_OK)
		store_jnl_sync(&s->jnl, atomic_load(&s->jnl.tail));
	pthread_mutex_unlock(&s->change);
	store_jnl_note_again(&s->jnl);
	destroy(s);
}

enum nfs4r_status nfs4r_store_recovered(struct nfs4r_store *s)
{
	enum nfs4r_status st = NFS4R_OK;
	nfs4r_journal_pos pos;
	struct nfs4r_wbuf *w;

	pthread_mutex_lock(&s->change);
	if (s->meta.tail_lost) {
		w = store_change_begin(s);
		store_rec_begin(w, REC_RECOVERED);
		store_rec_end(w);
		st = store_jnl_append(&s->jnl, w, &pos);
	}
	if (st == NFS4R_OK && s->meta.tail_lost) {
		for (uint32_t i = 0; i < s->nintents; i++)
			store_flight_end(s, s->intents[i]->log, s->intents[i]->lsn);
		s->meta.tail_lost = false;
	}
	pthread_mutex_unlock(&s->change);
	return st == NFS4R_OK ? store_jnl_sync(&s->jnl, atomic_load(&s->jnl.tail)) : st;
}

/* ---- small calls ------------------------------------------------------------- */

void nfs4r_store_oid_watermark(struct nfs4r_store *s, struct nfs4r_oid *out)
{
	pthread_mutex_lock(&s->change);
	nfs4r_oid_make(out, s->meta.self, NFS4R_GEN(s->logs[s->meta.self].applied) << OID_GEN_SHIFT | s->meta.inc.counter, ++s->oid_seq);
	pthread_mutex_unlock(&s->change);
}

nfs4r_journal_pos nfs4r_store_position(struct nfs4r_store *s)
{
	return atomic_load(&s->jnl.tail);
}

nfs4r_journal_pos nfs4r_store_synced(const struct nfs4r_store *s)
{
	return atomic_load(&s->jnl.synced);
}

enum nfs4r_status nfs4r_store_sync(struct nfs4r_store *s, nfs4r_journal_pos pos)
{
	return store_jnl_sync(&s->jnl, pos);
}

struct nfs4r_entry *nfs4r_store_intent_at(struct nfs4r_store *s, uint32_t i)
{
	return i < s->nintents ? nfs4r_entry_get(s->intents[i]) : NULL;
}

static const struct ov_core *overlay_core(struct nfs4r_store *s, const uint8_t *key, uint16_t len)
{
	const struct ov_core *c = NULL;

	for (const struct nfs4r_overlay *ov = s->active; ov && !c; ov = ov->below)
		c = store_ov_core(ov, key, len);
	return c;
}

static void each_overlay_core(struct nfs4r_store *s, const struct nfs4r_overlay *ov,
			      void (*fn)(void *arg, const uint8_t *key, uint16_t key_len,
					 const uint8_t *val, uint16_t val_len),
			      void *arg)
{
	for (uint64_t b = 0; b < ov->core.nbuckets; b++) {
		for (struct ov_node *n = ov->core.buckets[b]; n; n = n->next) {
			const struct ov_core *c = (const struct ov_core *)n;

			/* Older layers give way to newer ones. */
			if (!c->gone && overlay_core(s, c->key, c->key_len) == c)
				fn(arg, c->key, c->key_len, c->val, c->val_len);
		}
	}
}

void nfs4r_store_each_core_row(struct nfs4r_store *s,
			       void (*fn)(void *arg, const uint8_t *key, uint16_t key_len,
					  const uint8_t *val, uint16_t val_len),
			       void *arg)
{
	struct nfs4r_reader *r;
	MDB_cursor *cur;
	MDB_val key, val;
	int rc;

	pthread_rwlock_rdlock(&s->view);
	for (const struct nfs4r_overlay *ov = s->active; ov; ov = ov->below)
		each_overlay_core(s, ov, fn, arg);
	r = store_db_begin(&s->db);
	rc = r ? mdb_cursor_open(r->txn, s->db.core, &cur) : ENOMEM;
	if (!rc) {
		while (!(rc = mdb_cursor_get(cur, &key, &val, MDB_NEXT))) {
			if (!overlay_core(s, key.mv_data, key.mv_size))
				fn(arg, key.mv_data, key.mv_size, val.mv_data, val.mv_size);
		}
		mdb_cursor_close(cur);
	}
	if (rc != MDB_NOTFOUND)
		atomic_store(&s->jnl.failed, true);
	store_db_end(&s->db, r);
	pthread_rwlock_unlock(&s->view);
}

struct nfs4r_entry *nfs4r_store_log_read(struct nfs4r_store *s, nfs4r_server_id log, nfs4r_lsn lsn)
{
	const struct nfs4r_logent *e;
	nfs4r_journal_pos pos = 0;

	if (log < 1 || log > NFS4R_SERVERS_MAX)
		return NULL;
	pthread_rwlock_rdlock(&s->view);
	e = store_log_at(&s->logs[log], lsn);
	if (e)
		pos = e->pos;
	pthread_rwlock_unlock(&s->view);
	return pos ? store_entry_at(s, pos) : NULL;
}

void nfs4r_store_get_stats(struct nfs4r_store *s, struct nfs4r_store_stats *out)
{
	MDB_envinfo info;
	MDB_stat st;

	memset(out, 0, sizeof(*out));
	pthread_rwlock_rdlock(&s->jnl.segs_lock);
	out->segments = s->jnl.nsegs;
	for (uint32_t i = 0; i < s->jnl.nsegs; i++)
		out->journal_bytes += s->jnl.segs[i].size;
	pthread_rwlock_unlock(&s->jnl.segs_lock);
	out->appends = atomic_load(&s->jnl.appends);
	out->syncs = atomic_load(&s->jnl.syncs);
	out->checkpoints = atomic_load(&s->checkpoints);
	out->last_checkpoint_ms = atomic_load(&s->last_checkpoint_ms);
	pthread_rwlock_rdlock(&s->view);
	out->rows_dirty = s->active->rows.count + s->active->names.count;
	for (const struct nfs4r_overlay *ov = s->active->below; ov; ov = ov->below)
		out->rows_left += ov->rows.count + ov->names.count;
	pthread_rwlock_unlock(&s->view);
	pthread_rwlock_rdlock(&s->db.map);
	if (!mdb_env_info(s->db.env, &info) && !mdb_env_stat(s->db.env, &st))
		out->lmdb_bytes = (info.me_last_pgno + 1) * (uint64_t)st.ms_psize;
	pthread_rwlock_unlock(&s->db.map);
}
