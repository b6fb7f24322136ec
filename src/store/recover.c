/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What is on disk -> memory, at open (log sheet 4.1, 4.5, 4.6 as far as they are the store's).
 *
 * Happy path: LMDB says up to which position it holds the journal. All segments that are kept are read:
 * records before that position only fill the log index (and show intents that were never decided), records
 * after it are replayed into the overlay on the same road as at run time.
 *
 * A record that does not parse ends the journal if nothing speaks against it: it lies beyond what LMDB
 * holds, and nothing after it shows that it had been synced (a SYNCED or OPEN record) or, in the same boot
 * of the kernel, that anything was ever written behind it. Then it is what a crash tore, and it is cut off.
 * Otherwise the journal is damaged: CORRUPT, with file and offset, and nothing is touched.
 *
 * Invariant: nothing on disk changes before everything was read and found in order.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/bytes.h"
#include "store/internal.h"
#include "xdr_map.h"

struct scan {
	struct nfs4r_store *s;
	const char *boot_id; /* of now */
	nfs4r_journal_pos *starts;
	uint32_t nstarts;
	char *why;
	struct nfs4r_inc inc; /* of the last run seen */
	char last_boot[BOOT_ID_LEN];
	bool closed; /* the last record is CLOSE */
	bool torn;
	nfs4r_journal_pos end; /* where the journal ends */
	uint32_t keep; /* segments that stay */
};

/* ---- replay ------------------------------------------------------------------ */

static enum nfs4r_status replay_puts(struct nfs4r_store *s, const struct nfs4r_rec_view *rec)
{
	struct nfs4r_rd r = { rec->body, rec->len, false };
	struct ov_need need = { 0 };
	struct nfs4r_put *puts;
	uint32_t n;
	enum nfs4r_status st = nfs4r_rd_puts(&r, &puts, &n);

	if (st != NFS4R_OK)
		return st;
	nfs4r_puts_need(&need, puts, n);
	if (nfs4r_ov_reserve(s->active, &need))
		nfs4r_puts_apply(s, puts, n);
	else
		st = NFS4R_NOMEM;
	free(puts);
	return st;
}

static enum nfs4r_status add_mark(struct nfs4r_store *s, const uint8_t oid[16], nfs4r_version version)
{
	struct ov_need need = { 0 };
	struct nfs4r_oid o;
	struct ov_mark *m;

	nfs4r_ov_need_mark(&need);
	if (!nfs4r_ov_reserve(s->active, &need))
		return NFS4R_NOMEM;
	memcpy(o.b, oid, 16);
	m = nfs4r_ov_make_mark(s->active, &o);
	if (!m->version || version < m->version)
		m->version = version;
	return NFS4R_OK;
}

static enum nfs4r_status replay_marks(struct nfs4r_store *s, const struct nfs4r_rec_view *rec)
{
	struct nfs4r_rd r = { rec->body, rec->len, false };
	enum nfs4r_status st = NFS4R_OK;

	for (uint32_t n = rd_u32(&r); n && st == NFS4R_OK; n--) {
		const uint8_t *oid = rd_bytes(&r, 16);
		nfs4r_version v = rd_u64(&r);

		st = r.bad ? NFS4R_MALFORMED : add_mark(s, oid, v);
	}
	return st;
}

static enum nfs4r_status replay_handle(struct nfs4r_store *s, const struct nfs4r_rec_view *rec)
{
	struct nfs4r_rd r = { rec->body, rec->len, false };
	const uint8_t *id = rd_bytes(&r, 16);
	uint8_t len = rd_u8(&r);
	const uint8_t *handle = rd_bytes(&r, len);
	struct ov_need need = { 0 };
	struct nfs4r_object o;
	struct nfs4r_oid oid;
	enum nfs4r_status st;

	if (r.bad || !len || len > NFS4R_LOCAL_HANDLE_MAX)
		return NFS4R_MALFORMED;
	memcpy(oid.b, id, 16);
	st = nfs4r_object_load(s, &oid, &o);
	if (st == NFS4R_OK || st == NFS4R_NOENT) {
		bool mine = nfs4r_handle_is_mine(s, &o);

		nfs4r_handle_need(&need, &o, len);
		st = nfs4r_ov_reserve(s->active, &need) ? NFS4R_OK : NFS4R_NOMEM;
		if (st == NFS4R_OK)
			nfs4r_handle_apply(s, &oid, &o, mine, handle, len);
	}
	nfs4r_object_fini(&o);
	return st;
}

static enum nfs4r_status replay_commit(struct nfs4r_store *s, const struct nfs4r_rec_view *rec)
{
	struct nfs4r_plan plan;
	struct nfs4r_entry *e;
	struct nfs4r_put *puts;
	uint32_t nputs;
	enum nfs4r_status st = nfs4r_rd_commit(rec, &puts, &nputs, &e);

	if (st != NFS4R_OK)
		return st;
	st = nfs4r_commit_reserve(s, e, puts, nputs, &plan);
	if (st == NFS4R_OK)
		nfs4r_commit_apply(s, e, puts, nputs, &plan, rec->pos);
	nfs4r_plan_fini(&plan);
	nfs4r_entry_put(e);
	free(puts);
	return st;
}

/* Before what LMDB holds up to: only where the entry lies. */
static enum nfs4r_status index_commit(struct nfs4r_store *s, const struct nfs4r_rec_view *rec,
				      const struct nfs4r_commit_head *h)
{
	struct nfs4r_log *l = &s->logs[h->log];

	if (!nfs4r_log_reserve(l, h->lsn))
		return NFS4R_NOMEM;
	nfs4r_log_add(l, h->lsn, rec->pos, &h->created);
	nfs4r_log_advance(l, h->log, &s->mint[h->log]);
	nfs4r_flight_end(s, h->log, h->lsn);
	return NFS4R_OK;
}

static enum nfs4r_status see_intent(struct nfs4r_store *s, const struct nfs4r_rec_view *rec,
				    const struct nfs4r_commit_head *h)
{
	struct nfs4r_flight *f;

	if (h->lsn <= s->logs[h->log].applied || nfs4r_log_at(&s->logs[h->log], h->lsn))
		return NFS4R_OK;
	/* A second one of the same number: the first was never decided and its run is over. */
	nfs4r_flight_end(s, h->log, h->lsn);
	f = nfs4r_flight_new(h->log, h->lsn);
	if (!f)
		return NFS4R_NOMEM;
	f->intent = rec->pos;
	nfs4r_flight_add(s, f);
	return NFS4R_OK;
}

static enum nfs4r_status see_open(struct scan *sc, const struct nfs4r_rec_view *rec)
{
	struct nfs4r_rd r = { rec->body, rec->len, false };
	struct nfs4r_store *s = sc->s;
	struct nfs4r_inc *incs;
	const uint8_t *boot;

	sc->inc.counter = rd_u64(&r);
	sc->inc.random = rd_u64(&r);
	boot = rd_bytes(&r, BOOT_ID_LEN);
	if (r.bad)
		return NFS4R_MALFORMED;
	memcpy(sc->last_boot, boot, BOOT_ID_LEN);
	sc->last_boot[BOOT_ID_LEN - 1] = 0;
	incs = realloc(s->incs, (s->nincs + 1) * sizeof(*incs));
	if (!incs)
		return NFS4R_NOMEM;
	s->incs = incs;
	s->incs[s->nincs++] = sc->inc;
	return NFS4R_OK;
}

static enum nfs4r_status see_record(struct scan *sc, const struct nfs4r_rec_view *rec)
{
	struct nfs4r_store *s = sc->s;
	bool replay = rec->pos >= s->meta.pos;
	struct nfs4r_commit_head h;

	sc->closed = rec->type == REC_CLOSE;
	if (rec->type == REC_COMMIT || rec->type == REC_INTENT) {
		if (!nfs4r_rd_commit_head(rec, &h))
			return NFS4R_MALFORMED;
		if (rec->type == REC_INTENT)
			return see_intent(s, rec, &h);
		nfs4r_seg_note(&s->jnl, rec->pos, h.log, h.lsn);
		return replay ? replay_commit(s, rec) : index_commit(s, rec, &h);
	}
	if (!replay)
		return NFS4R_OK;
	switch (rec->type) {
	case REC_OPEN:
		return see_open(sc, rec);
	case REC_PUTS:
		return replay_puts(s, rec);
	case REC_MARKS:
		return replay_marks(s, rec);
	case REC_HANDLE:
		return replay_handle(s, rec);
	case REC_SYNCED:
	case REC_CLOSE:
		return NFS4R_OK;
	default:
		return NFS4R_MALFORMED;
	}
}

/* ---- torn or damaged --------------------------------------------------------- */

/* Does a record in @p tell that the bytes at @bad must be on disk? */
static bool speaks_against(const uint8_t *p, size_t len, nfs4r_journal_pos start, size_t from,
			   nfs4r_journal_pos bad, bool same_boot)
{
	struct nfs4r_rec_view rec;
	size_t total;

	for (size_t at = (from + 7) & ~(size_t)7; at + REC_HEADER <= len; at += 8) {
		if (!nfs4r_rec_parse(p + at, len - at, start + at, &rec, &total))
			continue;
		if (same_boot || rec.type == REC_OPEN)
			return true;
		if (rec.type == REC_SYNCED && rec.len >= 8 && get_be64(rec.body) > bad)
			return true;
	}
	return false;
}

static uint8_t *read_file(int fd, size_t *len)
{
	struct stat sb;
	uint8_t *p;
	size_t have = 0;

	if (fstat(fd, &sb))
		return NULL;
	p = malloc(sb.st_size + 1);
	if (!p)
		return NULL;
	while (have < (size_t)sb.st_size) {
		ssize_t n = pread(fd, p + have, sb.st_size - have, have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		have += n;
	}
	if (have < (size_t)sb.st_size) {
		free(p);
		return NULL;
	}
	*len = have;
	return p;
}

static bool later_segments_speak_against(struct scan *sc, uint32_t i, nfs4r_journal_pos bad,
					 bool same_boot)
{
	bool yes = false;

	for (i++; i < sc->nstarts && !yes; i++) {
		char name[32];
		uint8_t *p;
		size_t len;
		int fd;

		nfs4r_seg_name(sc->starts[i], name);
		fd = openat(sc->s->dirfd, name, O_RDONLY | O_CLOEXEC);
		p = fd < 0 ? NULL : read_file(fd, &len);
		/* In one boot nothing gets lost, and a segment is only begun when the one before is whole. */
		yes = !p || same_boot || speaks_against(p, len, sc->starts[i], SEG_HEADER, bad, false);
		free(p);
		if (fd >= 0)
			close(fd);
	}
	return yes;
}

static enum nfs4r_status bad_record(struct scan *sc, uint32_t i, const uint8_t *p, size_t len, size_t at)
{
	nfs4r_journal_pos start = sc->starts[i], pos = start + at;
	bool same_boot = !strcmp(sc->last_boot, sc->boot_id);
	char name[32];

	if (pos >= sc->s->meta.pos && !speaks_against(p, len, start, at + 8, pos, same_boot) &&
	    !later_segments_speak_against(sc, i, pos, same_boot)) {
		sc->torn = true;
		sc->end = pos;
		sc->keep = i + 1;
		return NFS4R_OK;
	}
	nfs4r_seg_name(start, name);
	return nfs4r_refuse(sc->why, NFS4R_CORRUPT,
			    "%s/%s is damaged at offset %zu (%s): the disk or file system lost bytes that had been written; keep the directory for a look and let this server make its copy anew from the others",
			    sc->s->dir, name, at,
			    pos < sc->s->meta.pos ? "older than the last checkpoint" : "records follow it");
}

/* ---- segments ----------------------------------------------------------------- */

static enum nfs4r_status walk_segment(struct scan *sc, uint32_t i, const uint8_t *p, size_t len)
{
	struct nfs4r_rec_view rec;
	size_t at = SEG_HEADER, total;
	enum nfs4r_status st;
	char name[32];

	while (at < len) {
		if (!nfs4r_rec_parse(p + at, len - at, sc->starts[i] + at, &rec, &total))
			return bad_record(sc, i, p, len, at);
		st = see_record(sc, &rec);
		if (st != NFS4R_OK) {
			nfs4r_seg_name(sc->starts[i], name);
			return nfs4r_refuse(sc->why, st == NFS4R_NOMEM ? st : NFS4R_CORRUPT,
					    "%s/%s: the record at offset %zu (type %u) cannot be replayed: %s; let this server make its copy anew from the others",
					    sc->s->dir, name, at, rec.type, nfs4r_status_str(st));
		}
		at += total;
	}
	sc->end = sc->starts[i] + len;
	sc->keep = i + 1;
	return NFS4R_OK;
}

/* A last segment whose header never got whole: its creation was interrupted, nothing is in it. */
static bool unborn(const struct scan *sc, uint32_t i, const uint8_t *p, size_t len)
{
	if (i + 1 != sc->nstarts || len > SEG_HEADER)
		return false;
	for (size_t k = len < SEG_HEADER ? len : 0; k < len; k++) {
		if (p[k])
			return false;
	}
	return true;
}

static enum nfs4r_status scan_segment(struct scan *sc, uint32_t i)
{
	struct nfs4r_store *s = sc->s;
	enum nfs4r_status st;
	char name[32], text[WHY_LEN];
	uint8_t *p;
	size_t len;
	int fd;

	nfs4r_seg_name(sc->starts[i], name);
	fd = openat(s->dirfd, name, O_RDWR | O_CLOEXEC);
	p = fd < 0 ? NULL : read_file(fd, &len);
	if (!p) {
		st = nfs4r_refuse(sc->why, nfs4r_status_from_errno(errno), "cannot read %s/%s: %s", s->dir,
				  name, strerror(errno));
		if (fd >= 0)
			close(fd);
		return st;
	}
	st = nfs4r_seg_check_header(&s->jnl, p, len, sc->starts[i], text);
	if (st == NFS4R_MALFORMED && unborn(sc, i, p, len)) {
		free(p);
		close(fd);
		return NFS4R_OK;
	}
	if (st != NFS4R_OK)
		nfs4r_refuse(sc->why, st = st == NFS4R_MISMATCH ? st : NFS4R_CORRUPT, "%s: %s", s->dir, text);
	else
		st = nfs4r_seg_add(&s->jnl, sc->starts[i], fd, len);
	if (st != NFS4R_OK)
		close(fd);
	else
		st = walk_segment(sc, i, p, len);
	free(p);
	return st;
}

static enum nfs4r_status scan_all(struct scan *sc)
{
	struct nfs4r_store *s = sc->s;
	enum nfs4r_status st = NFS4R_OK;

	sc->end = sc->starts[0];
	if (sc->starts[0] > s->meta.pos)
		return nfs4r_refuse(sc->why, NFS4R_CORRUPT,
				    "%s: lmdb holds the journal up to %llx but the first journal file starts at %llx: journal files were removed; put them back or let this server make its copy anew",
				    s->dir, (unsigned long long)s->meta.pos,
				    (unsigned long long)sc->starts[0]);
	for (uint32_t i = 0; i < sc->nstarts && st == NFS4R_OK && !sc->torn; i++) {
		if (sc->starts[i] != sc->end)
			return nfs4r_refuse(sc->why, NFS4R_CORRUPT,
					    "%s: the journal ends at %llx and goes on at %llx: a journal file is missing or too short",
					    s->dir, (unsigned long long)sc->end,
					    (unsigned long long)sc->starts[i]);
		st = scan_segment(sc, i);
	}
	if (st == NFS4R_OK && sc->end < s->meta.pos)
		return nfs4r_refuse(sc->why, NFS4R_CORRUPT,
				    "%s: lmdb holds the journal up to %llx but it ends at %llx: journal and lmdb are not of one time; put back both from one copy",
				    s->dir, (unsigned long long)s->meta.pos, (unsigned long long)sc->end);
	return st;
}

static enum nfs4r_status check_logs(struct scan *sc)
{
	struct nfs4r_store *s = sc->s;

	for (int i = 1; i < NLOGS; i++) {
		for (nfs4r_lsn n = s->logs[i].truncated + 1; n <= s->logs[i].applied; n++) {
			if (!nfs4r_log_at(&s->logs[i], n))
				return nfs4r_refuse(sc->why, NFS4R_CORRUPT,
						    "%s: entry %llu of the log of server %d is missing: journal files were removed; put them back or let this server make its copy anew",
						    s->dir, (unsigned long long)n, i);
		}
	}
	return NFS4R_OK;
}

/* The first changes on disk. */
static enum nfs4r_status cut_tail(struct scan *sc)
{
	struct nfs4r_journal *j = &sc->s->jnl;
	char name[32];

	for (uint32_t i = sc->nstarts; i > sc->keep; i--) {
		nfs4r_seg_name(sc->starts[i - 1], name);
		if (unlinkat(j->dirfd, name, 0))
			goto fail;
	}
	if (sc->torn) {
		struct nfs4r_segment *last = &j->segs[j->nsegs - 1];

		last->size = sc->end - last->start;
		if (ftruncate(last->fd, last->size))
			goto fail;
	}
	if (sc->keep < sc->nstarts && fsync(j->dirfd))
		goto fail;
	return NFS4R_OK;
fail:
	return nfs4r_refuse(sc->why, nfs4r_status_from_errno(errno), "cannot cut the torn end of %s's journal: %s",
			    sc->s->dir, strerror(errno));
}

/* ---- LMDB's side ----------------------------------------------------------------- */

static enum nfs4r_status load_marks(struct nfs4r_store *s)
{
	struct nfs4r_reader *r = nfs4r_db_begin(&s->db);
	enum nfs4r_status st = NFS4R_OK;
	MDB_cursor *cur;
	MDB_val key, val;
	int rc = r ? mdb_cursor_open(r->txn, s->db.marks, &cur) : ENOMEM;

	if (!rc) {
		while (st == NFS4R_OK && !(rc = mdb_cursor_get(cur, &key, &val, MDB_NEXT)))
			st = key.mv_size == 16 && val.mv_size == 8 ?
				     add_mark(s, key.mv_data, get_be64(val.mv_data)) :
				     NFS4R_CORRUPT;
		mdb_cursor_close(cur);
	}
	nfs4r_db_end(&s->db, r);
	return st != NFS4R_OK || rc == MDB_NOTFOUND ? st : nfs4r_db_status(rc);
}

/* First open: identity and the root. */
static enum nfs4r_status found(struct nfs4r_store *s, char *why)
{
	struct nfs4r_object root = { .row = { .oid = s->root, .type = NFS4R_TYPE_DIR, .version = 1, .nlink = 2 } };
	uint8_t buf[ROW_FIXED];
	MDB_val key = { 16, s->root.b }, val = { sizeof(buf), buf };
	MDB_txn *txn;
	int rc = mdb_txn_begin(s->db.env, NULL, 0, &txn);

	if (!rc) {
		nfs4r_row_encode(&root, buf);
		rc = mdb_put(txn, s->db.rows, &key, &val, 0);
		if (!rc)
			rc = nfs4r_db_put_meta(&s->db, txn, &s->meta);
		if (!rc)
			rc = mdb_txn_commit(txn);
		else
			mdb_txn_abort(txn);
	}
	if (rc)
		return nfs4r_refuse(why, nfs4r_db_status(rc), "cannot write %s/lmdb: %s", s->dir,
				    mdb_strerror(rc));
	return NFS4R_OK;
}

static bool db_exists(const struct nfs4r_store *s)
{
	struct stat sb;

	return !fstatat(s->dirfd, "lmdb/data.mdb", &sb, 0) && sb.st_size > 0;
}

static enum nfs4r_status open_db(struct nfs4r_store *s, const struct nfs4r_store_config *cfg,
				 bool have_journal, char *why)
{
	struct nfs4r_meta meta;
	enum nfs4r_status st;

	if (have_journal && !db_exists(s))
		return nfs4r_refuse(why, NFS4R_CORRUPT,
				    "%s has a journal but lmdb/data.mdb is missing or empty: put it back, or move the directory away and let this server make its copy anew",
				    s->dir);
	if (mkdirat(s->dirfd, "lmdb", 0700) && errno != EEXIST)
		return nfs4r_refuse(why, nfs4r_status_from_errno(errno), "cannot make %s/lmdb: %s", s->dir,
				    strerror(errno));
	st = nfs4r_db_open(&s->db, s->dir, cfg->map_bytes ? cfg->map_bytes : 1ull << 30, why);
	if (st != NFS4R_OK)
		return st;
	st = nfs4r_db_read_meta(&s->db, &meta, why);
	if (st == NFS4R_NOENT && have_journal)
		return nfs4r_refuse(why, NFS4R_CORRUPT,
				    "%s has a journal but lmdb is empty: put lmdb/data.mdb back, or move the directory away and let this server make its copy anew",
				    s->dir);
	if (st == NFS4R_NOENT)
		return found(s, why);
	if (st == NFS4R_OK)
		st = nfs4r_ident_check(cfg, s->dir, meta.format, meta.volume, meta.self, why);
	if (st != NFS4R_OK)
		return st;
	s->meta = meta;
	for (int i = 0; i < NLOGS; i++) {
		s->logs[i].applied = s->logs[i].stable = meta.applied[i];
		s->logs[i].truncated = meta.truncated[i];
		s->mint[i] = meta.mint[i];
	}
	st = load_marks(s);
	if (st != NFS4R_OK)
		nfs4r_refuse(why, st, "%s/lmdb is damaged: let this server make its copy anew", s->dir);
	return st;
}

/* ---- intents ---------------------------------------------------------------------- */

static int cmp_lsn(const void *a, const void *b)
{
	const struct nfs4r_entry *x = *(struct nfs4r_entry *const *)a, *y = *(struct nfs4r_entry *const *)b;

	return (x->lsn > y->lsn) - (x->lsn < y->lsn);
}

static enum nfs4r_status load_intents(struct nfs4r_store *s)
{
	s->intents = calloc(s->nflights + 1, sizeof(*s->intents));
	if (!s->intents)
		return NFS4R_NOMEM;
	for (int b = 0; b < FLIGHT_BUCKETS; b++) {
		for (struct nfs4r_flight *f = s->flights[b]; f; f = f->next) {
			struct nfs4r_entry *e = nfs4r_entry_at(s, f->intent);

			if (!e)
				return NFS4R_CORRUPT;
			nfs4r_flight_fill(f, e);
			s->intents[s->nintents++] = e;
		}
	}
	if (s->nintents)
		qsort(s->intents, s->nintents, sizeof(*s->intents), cmp_lsn);
	return NFS4R_OK;
}

static void fill_info(const struct nfs4r_store *s, struct nfs4r_store_info *info)
{
	for (int i = 1; i < NLOGS; i++) {
		const struct nfs4r_log *l = &s->logs[i];

		info->logs[i].applied = l->applied;
		info->logs[i].stable = l->stable;
		if (nfs4r_log_last(l))
			info->logs[i].base = l->truncated + 1;
	}
	info->nintents = s->nintents;
}

static enum nfs4r_status recover_journal(struct scan *sc, struct nfs4r_store_info *info)
{
	struct nfs4r_store *s = sc->s;
	enum nfs4r_status st;

	sc->inc = s->meta.inc;
	memcpy(sc->last_boot, s->meta.boot_id, BOOT_ID_LEN);
	st = scan_all(sc);
	if (st == NFS4R_OK)
		st = check_logs(sc);
	if (st == NFS4R_OK)
		st = cut_tail(sc);
	if (st != NFS4R_OK)
		return st;
	if (!s->jnl.nsegs) { /* the very first segment was unborn */
		st = nfs4r_seg_create(&s->jnl, 0);
		if (st != NFS4R_OK)
			return nfs4r_refuse(sc->why, st, "cannot make a journal in %s", s->dir);
		sc->end = SEG_HEADER;
	}
	atomic_store(&s->jnl.tail, sc->end);
	atomic_store(&s->jnl.synced, s->meta.pos);
	s->synced_noted = s->meta.pos;
	info->tail_intact = sc->closed || !strcmp(sc->last_boot, sc->boot_id) || !sc->inc.counter;
	s->meta.inc = sc->inc;
	st = load_intents(s);
	if (st != NFS4R_OK)
		nfs4r_refuse(sc->why, st, "%s: an undecided entry in the journal cannot be read", s->dir);
	return st;
}

enum nfs4r_status nfs4r_recover(struct nfs4r_store *s, const struct nfs4r_store_config *cfg,
				const char *boot_id, struct nfs4r_store_info *info, char *why)
{
	struct scan sc = { .s = s, .boot_id = boot_id, .why = why };
	enum nfs4r_status st = nfs4r_seg_list(s->dirfd, &sc.starts, &sc.nstarts);

	if (st != NFS4R_OK)
		return nfs4r_refuse(why, st, "cannot read %s", s->dir);
	st = open_db(s, cfg, sc.nstarts > 0, why);
	if (st == NFS4R_OK && sc.nstarts) {
		st = recover_journal(&sc, info);
	} else if (st == NFS4R_OK && (s->meta.pos || s->meta.inc.counter)) {
		st = nfs4r_refuse(why, NFS4R_CORRUPT,
				  "%s has lmdb but no journal files: put them back, or move the directory away and let this server make its copy anew",
				  s->dir);
	} else if (st == NFS4R_OK) {
		info->created = info->tail_intact = true;
		st = nfs4r_seg_create(&s->jnl, 0);
		if (st != NFS4R_OK)
			nfs4r_refuse(why, st, "cannot make a journal in %s: %s", s->dir, nfs4r_status_str(st));
		atomic_store(&s->jnl.tail, SEG_HEADER);
		atomic_store(&s->jnl.synced, SEG_HEADER);
		s->synced_noted = SEG_HEADER;
	}
	free(sc.starts);
	if (st == NFS4R_OK)
		fill_info(s, info);
	return st;
}
