/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What is on disk -> memory, at open (log 4.1, 4.5, 4.6 as far as they are the store's).
 *
 * Happy path: LMDB says up to which position it holds the journal. All segments that are kept are read:
 * records before that position only fill the log index (and show intents that were never decided), records
 * after it are replayed into the overlay on the same road as at run time.
 *
 * A record that does not parse ends the journal if nothing speaks against it: it lies beyond what LMDB
 * holds, and nothing after it shows that it had been synced (a SYNCED or OPEN record) or, in the same boot
 * of the kernel, that anything was ever written behind it. Then it is what a crash tore, and it is cut off.
 * A segment without a whole header, or a gap between segments, is judged in the same way.
 * Nothing but zeros up to the end of a file is no record and no damage: the file was laid out further than it was written (preallocate.c).
 * The zeros of the last file stay. A file that is not the last may have kept some, which go; the next one must begin where they do.
 * Otherwise the journal is damaged: CORRUPT, with file and offset, and nothing is touched.
 *
 * Entries behind a hole in their log count for nothing: own ones only after a crash of the machine (the tail is lost), for they were never
 * sent, and their numbers are given out again; those of another server always, since they come again, or it has lost them, too, and gives their numbers out again
 * (log 4.7). The walk is then made once more without them. The record of this
 * run's beginning says where the cut is, for every later walk, and that the tail is lost, until RECOVERED says otherwise.
 * What LMDB holds of another log behind a hole stays: its owner cannot lose it (checkpoint.c).
 *
 * After a sync that failed (journal.c) memory may have what the disk lacks, and calls it clean. Such a start is judged as one after a crash of the machine. What it reads beyond LMDB's position it
 * writes once more, as it is, so that the sync of its own beginning brings it to the disk.
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

/* ---- torn or damaged --------------------------------------------------------- */

static bool same_boot(const struct nfs4r_scan *sc)
{
	return !strcmp(sc->last_boot, sc->boot_id) && !sc->s->jnl.noted;
}

/* Does a record in @p tell that the bytes at @bad must be on disk? @any: every record does. */
static bool speaks_against(const uint8_t *p, size_t len, nfs4r_journal_pos start, size_t from,
			   nfs4r_journal_pos bad, bool any)
{
	struct nfs4r_rec_view rec;
	size_t total;

	for (size_t at = (from + 7) & ~(size_t)7; at + REC_HEADER <= len; at += 8) {
		if (!store_rec_parse(p + at, len - at, start + at, &rec, &total))
			continue;
		if (any || rec.type == REC_OPEN)
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

static bool segment_speaks_against(struct nfs4r_scan *sc, uint32_t i, nfs4r_journal_pos end)
{
	bool yes = true;
	char name[32];
	uint8_t *p;
	size_t len;
	int fd;

	store_seg_name(sc->starts[i], name);
	fd = openat(sc->s->dirfd, name, O_RDONLY | O_CLOEXEC);
	p = fd < 0 ? NULL : read_file(fd, &len);
	if (p)
		yes = speaks_against(p, len, sc->starts[i], SEG_HEADER, end, false);
	free(p);
	if (fd >= 0)
		close(fd);
	return yes;
}

/* May the journal end at @end although there are segments from @i on? Then it does. */
static bool may_end(struct nfs4r_scan *sc, uint32_t i, nfs4r_journal_pos end)
{
	if (end < sc->s->meta.pos)
		return false;
	/* In one boot nothing gets lost, and a segment is only begun when the one before is whole. */
	if (i < sc->nstarts && same_boot(sc))
		return false;
	for (uint32_t k = i; k < sc->nstarts; k++) {
		if (segment_speaks_against(sc, k, end))
			return false;
	}
	sc->torn = true;
	sc->end = end;
	return true;
}

static enum nfs4r_status bad_record(struct nfs4r_scan *sc, uint32_t i, const uint8_t *p, size_t len, size_t at)
{
	nfs4r_journal_pos start = sc->starts[i], pos = start + at;
	char name[32];

	sc->keep = i + 1;
	if (!speaks_against(p, len, start, at + 8, pos, same_boot(sc)) && may_end(sc, i + 1, pos))
		return NFS4R_OK;
	store_seg_name(start, name);
	return nfs4r_refuse(sc->why, NFS4R_CORRUPT,
			    "%s/%s is damaged at offset %zu (%s): the disk or file system lost bytes that had been written; keep the directory for analysis, and let this server resync from the others",
			    sc->s->dir, name, at,
			    pos < sc->s->meta.pos ? "older than the last checkpoint" : "records follow it");
}

/* Laid out, and never written: nothing was torn here. Whatever lies behind zeros has to be looked at, and cut off if it may go. */
static bool only_zeros(const uint8_t *p, size_t len)
{
	static const uint8_t zeros[4096];

	if (FAULT(F_STORE_ZEROS_END))
		return len >= REC_HEADER && !memcmp(p, zeros, REC_HEADER);
	while (len > sizeof(zeros) && !memcmp(p, zeros, sizeof(zeros))) {
		p += sizeof(zeros);
		len -= sizeof(zeros);
	}
	return len <= sizeof(zeros) && !memcmp(p, zeros, len);
}

/* ---- segments ----------------------------------------------------------------- */

/* Runs that ended before anybody used the store tell nothing of how long it was when it was used last. */
static void note_idle(struct nfs4r_scan *sc, const struct nfs4r_rec_view *rec)
{
	if (rec->type != REC_OPEN && rec->type != REC_CLOSE && rec->type != REC_SYNCED)
		sc->idle = 0;
	else if (rec->type == REC_OPEN && !sc->idle)
		sc->idle = rec->pos;
}

/* The bytes that were read, not those that are read now: between the two memory may have given them up. */
static bool write_again(const struct nfs4r_scan *sc, uint32_t i, const uint8_t *p, size_t len)
{
	const struct nfs4r_journal *j = &sc->s->jnl;
	size_t at = sc->s->meta.pos > sc->starts[i] ? sc->s->meta.pos - sc->starts[i] : 0;

	while (j->noted && at < len) {
		ssize_t n = pwrite(j->segs[j->nsegs - 1].fd, p + at, len - at, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

static enum nfs4r_status cannot_write_again(const struct nfs4r_scan *sc)
{
	return nfs4r_refuse(sc->why, nfs4r_status_from_errno(errno), "the journal in %s cannot be written again after a sync that failed: %s", sc->s->dir, strerror(errno));
}

static enum nfs4r_status walk_segment(struct nfs4r_scan *sc, uint32_t i, const uint8_t *p, size_t len)
{
	struct nfs4r_rec_view rec;
	size_t at = SEG_HEADER, total;
	enum nfs4r_status st;
	char name[32];

	while (at < len && !sc->again) {
		if (!store_rec_parse(p + at, len - at, sc->starts[i] + at, &rec, &total)) {
			if (only_zeros(p + at, len - at))
				break;
			st = bad_record(sc, i, p, len, at);
			if (st == NFS4R_OK && !write_again(sc, i, p, at))
				st = cannot_write_again(sc);
			return st;
		}
		note_idle(sc, &rec);
		sc->s->unreadable = NULL;
		st = store_replay(sc, &rec);
		if (st != NFS4R_OK) {
			store_seg_name(sc->starts[i], name);
			return nfs4r_refuse(sc->why, st == NFS4R_NOMEM ? st : NFS4R_CORRUPT,
					    "%s/%s: the record at offset %zu (type %u) cannot be replayed: %s; let this server resync from the others",
					    sc->s->dir, name, at, rec.type, st == NFS4R_MALFORMED && sc->s->unreadable ? sc->s->unreadable : nfs4r_status_str(st));
		}
		at += total;
	}
	if (!write_again(sc, i, p, at))
		return cannot_write_again(sc);
	sc->s->jnl.segs[sc->s->jnl.nsegs - 1].size = at;
	sc->s->jnl.laid = len;
	sc->end = sc->starts[i] + at;
	sc->keep = i + 1;
	return NFS4R_OK;
}

/* A last segment whose header never got whole: its creation was interrupted, nothing is in it. */
static bool unborn(const struct nfs4r_scan *sc, uint32_t i, const uint8_t *p, size_t len)
{
	if (i + 1 != sc->nstarts || len > SEG_HEADER)
		return false;
	for (size_t k = len < SEG_HEADER ? len : 0; k < len; k++) {
		if (p[k])
			return false;
	}
	return true;
}

static enum nfs4r_status scan_segment(struct nfs4r_scan *sc, uint32_t i)
{
	struct nfs4r_store *s = sc->s;
	enum nfs4r_status st;
	char name[32], text[WHY_LEN];
	uint8_t *p;
	size_t len;
	int fd;

	store_seg_name(sc->starts[i], name);
	fd = openat(s->dirfd, name, O_RDWR | O_CLOEXEC);
	p = fd < 0 ? NULL : read_file(fd, &len);
	if (!p) {
		st = nfs4r_refuse(sc->why, nfs4r_status_from_errno(errno), "cannot read %s/%s: %s", s->dir,
				  name, strerror(errno));
		if (fd >= 0)
			close(fd);
		return st;
	}
	st = store_seg_check_header(&s->jnl, p, len, sc->starts[i], text);
	if (st == NFS4R_MALFORMED && (unborn(sc, i, p, len) || may_end(sc, i, sc->starts[i]))) {
		free(p);
		close(fd);
		return NFS4R_OK;
	}
	if (st != NFS4R_OK)
		nfs4r_refuse(sc->why, st = st == NFS4R_MISMATCH ? st : NFS4R_CORRUPT, "%s: %s", s->dir, text);
	else
		st = store_seg_add(&s->jnl, sc->starts[i], fd, len);
	if (st != NFS4R_OK)
		close(fd);
	else
		st = walk_segment(sc, i, p, len);
	free(p);
	return st;
}

static enum nfs4r_status scan_all(struct nfs4r_scan *sc)
{
	struct nfs4r_store *s = sc->s;
	enum nfs4r_status st = NFS4R_OK;

	sc->end = sc->starts[0];
	if (sc->starts[0] > s->meta.pos)
		return nfs4r_refuse(sc->why, NFS4R_CORRUPT,
				    "%s: lmdb holds the journal up to %llx but the first journal file starts at %llx: journal files were removed; restore them, or let this server resync from the others",
				    s->dir, (unsigned long long)s->meta.pos,
				    (unsigned long long)sc->starts[0]);
	for (uint32_t i = 0; i < sc->nstarts && st == NFS4R_OK && !sc->torn && !sc->again; i++) {
		if (sc->starts[i] != sc->end && may_end(sc, i, sc->end))
			break;
		if (sc->starts[i] != sc->end)
			return nfs4r_refuse(sc->why, NFS4R_CORRUPT,
					    "%s: the journal ends at %llx and goes on at %llx: a journal file is missing or too short",
					    s->dir, (unsigned long long)sc->end,
					    (unsigned long long)sc->starts[i]);
		st = scan_segment(sc, i);
	}
	if (st == NFS4R_OK && !sc->again && sc->end < s->meta.pos)
		return nfs4r_refuse(sc->why, NFS4R_CORRUPT,
				    "%s: lmdb holds the journal up to %llx but it ends at %llx: journal and lmdb are from different times; restore both from one backup",
				    s->dir, (unsigned long long)s->meta.pos, (unsigned long long)sc->end);
	return st;
}

/* Back to what LMDB says, for another pass. */
static enum nfs4r_status forget(struct nfs4r_scan *sc)
{
	struct nfs4r_store *s = sc->s;

	store_ov_free(s->active);
	s->active = store_ov_new();
	if (!s->active)
		return nfs4r_refuse(sc->why, NFS4R_NOMEM, "out of memory");
	for (int i = 0; i < NLOGS; i++) {
		store_log_clear(&s->logs[i]);
	}
	store_flights_free(s);
	store_seg_close(&s->jnl);
	s->nincs = s->ndropped = s->ngiven_back = s->nkept = s->nbegun = s->nbeyond = 0;
	memset(s->last, 0, sizeof(s->last));
	return store_found_state(s);
}

static enum nfs4r_status new_cut(struct nfs4r_scan *sc)
{
	struct nfs4r_cut cut = { .pos = CUT_NEW, .from = sc->s->meta.pos };

	for (int i = 1; i < NLOGS; i++)
		cut.last[i] = i == sc->s->meta.self && !sc->lost ? UINT64_MAX : sc->s->logs[i].applied;
	return store_cut_add(sc, &cut);
}

/*
 * Walk the journal, again when it says, or this walk finds, that entries already taken lie behind a hole that
 * a crash of the machine tore: what the entries in the hole did is not known, so they must have no effect.
 */
static enum nfs4r_status scan_until_decided(struct nfs4r_scan *sc)
{
	struct nfs4r_store *s = sc->s;
	enum nfs4r_status st;

	for (;;) {
		sc->inc = s->meta.inc;
		memcpy(sc->last_boot, s->meta.boot_id, BOOT_ID_LEN);
		sc->lost = s->meta.tail_lost;
		sc->closed = sc->torn = sc->again = false;
		sc->idle = 0;
		sc->keep = 0;
		st = scan_all(sc);
		if (st == NFS4R_OK && !sc->again) {
			if ((sc->s->files_noted || sc->s->jnl.noted || (!sc->closed && !same_boot(sc))) && sc->inc.counter)
				sc->lost = true;
			st = new_cut(sc);
		}
		if (st != NFS4R_OK || !sc->again)
			return st;
		st = forget(sc);
		if (st != NFS4R_OK)
			return st;
	}
}

static enum nfs4r_status check_entries(struct nfs4r_scan *sc, int log, nfs4r_lsn from, nfs4r_lsn until)
{
	for (nfs4r_lsn n = from; n <= until; n++) {
		if (!store_log_at(&sc->s->logs[log], n))
			return nfs4r_refuse(sc->why, NFS4R_CORRUPT,
					    "%s: entry %llu of the log of server %d is missing: journal files were removed; restore them, or let this server resync from the others",
					    sc->s->dir, (unsigned long long)n, log);
	}
	return NFS4R_OK;
}

static enum nfs4r_status check_logs(struct nfs4r_scan *sc)
{
	enum nfs4r_status st = NFS4R_OK;

	for (int i = 1; i < NLOGS && st == NFS4R_OK; i++) {
		const struct nfs4r_log *l = &sc->s->logs[i];

		if (l->seal)
			st = check_entries(sc, i, l->old.truncated + 1, l->seal);
		if (st == NFS4R_OK)
			st = check_entries(sc, i, l->now.truncated + 1, l->applied);
	}
	return st;
}

/* Of files that are not the last: power was lost as the next one was begun. */
static bool cut_zeros(const struct nfs4r_journal *j)
{
	struct stat sb;

	for (uint32_t i = 0; i + 1 < j->nsegs; i++)
		if (fstat(j->segs[i].fd, &sb) || ((uint64_t)sb.st_size > j->segs[i].size && ftruncate(j->segs[i].fd, j->segs[i].size)))
			return false;
	return true;
}

/* The first changes on disk. */
static enum nfs4r_status cut_tail(struct nfs4r_scan *sc)
{
	struct nfs4r_journal *j = &sc->s->jnl;
	char name[32];

	for (uint32_t i = sc->nstarts; i > sc->keep; i--) {
		store_seg_name(sc->starts[i - 1], name);
		if (unlinkat(j->dirfd, name, 0))
			goto fail;
	}
	if (sc->torn && j->nsegs) {
		struct nfs4r_segment *last = &j->segs[j->nsegs - 1];

		last->size = j->laid = sc->end - last->start;
		if (ftruncate(last->fd, last->size))
			goto fail;
	}
	if (!cut_zeros(j) || (sc->keep < sc->nstarts && fsync(j->dirfd)))
		goto fail;
	return NFS4R_OK;
fail:
	return nfs4r_refuse(sc->why, nfs4r_status_from_errno(errno), "cannot cut the torn end of %s's journal: %s",
			    sc->s->dir, strerror(errno));
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
			struct nfs4r_entry *e = store_entry_at(s, f->intent);

			if (!e)
				return NFS4R_CORRUPT;
			store_flight_fill(f, e);
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
		info->logs[i].base = store_log_first(l);
		if (!info->logs[i].base && l->applied)
			info->logs[i].base = l->applied + 1;
	}
	info->nintents = s->nintents;
}

/* Of the last file nothing: this open has perhaps cut it, or one that died, and its length must be on the disk before the journal goes on in another file. */
static nfs4r_journal_pos known_synced(const struct nfs4r_store *s)
{
	nfs4r_journal_pos last = s->jnl.segs[s->jnl.nsegs - 1].start;

	return s->meta.pos < last ? s->meta.pos : last;
}

static enum nfs4r_status recover_journal(struct nfs4r_scan *sc, struct nfs4r_store_info *info)
{
	struct nfs4r_store *s = sc->s;
	enum nfs4r_status st;

	info->files_failed = s->files_noted = store_files_noted(s);
	s->jnl.noted = store_jnl_is_noted(&s->jnl);
	st = scan_until_decided(sc);
	if (st == NFS4R_OK)
		st = check_logs(sc);
	if (st == NFS4R_OK)
		st = cut_tail(sc);
	if (st != NFS4R_OK)
		return st;
	if (!s->jnl.nsegs) { /* the very first segment was unborn */
		st = store_seg_create(&s->jnl, 0);
		if (st != NFS4R_OK)
			return nfs4r_refuse(sc->why, st, "cannot make a journal in %s", s->dir);
		sc->end = SEG_HEADER;
	}
	atomic_store(&s->jnl.tail, sc->end);
	atomic_store(&s->jnl.synced, known_synced(s));
	s->synced_noted = s->meta.pos;
	info->tail_intact = !sc->lost;
	info->end = sc->idle ? sc->idle : sc->end;
	s->meta.tail_lost = sc->lost;
	s->meta.inc = sc->inc;
	st = store_foreign_intent_drop(s);
	if (st != NFS4R_OK)
		return nfs4r_refuse(sc->why, st, "out of memory");
	st = load_intents(s);
	if (st != NFS4R_OK)
		nfs4r_refuse(sc->why, st, "%s: an undecided entry in the journal cannot be read", s->dir);
	return st;
}

enum nfs4r_status store_recover(struct nfs4r_store *s, const struct nfs4r_store_config *cfg,
				const char *boot_id, struct nfs4r_store_info *info, char *why)
{
	struct nfs4r_scan sc = { .s = s, .boot_id = boot_id, .why = why };
	enum nfs4r_status st = store_seg_list(s->dirfd, &sc.starts, &sc.nstarts);

	if (st != NFS4R_OK)
		return nfs4r_refuse(why, st, "cannot read %s", s->dir);
	st = store_found_db(s, cfg, sc.nstarts > 0, why);
	if (st == NFS4R_OK && sc.nstarts) {
		st = recover_journal(&sc, info);
	} else if (st == NFS4R_OK && (s->meta.pos || s->meta.inc.counter)) {
		st = nfs4r_refuse(why, NFS4R_CORRUPT,
				  "%s has lmdb but no journal files: restore them, or move the directory away and let this server resync from the others",
				  s->dir);
	} else if (st == NFS4R_OK) {
		info->created = info->tail_intact = true;
		st = store_seg_create(&s->jnl, 0);
		if (st != NFS4R_OK)
			nfs4r_refuse(why, st, "cannot make a journal in %s: %s", s->dir, nfs4r_status_str(st));
		atomic_store(&s->jnl.tail, SEG_HEADER);
		atomic_store(&s->jnl.synced, SEG_HEADER);
		s->synced_noted = info->end = SEG_HEADER;
	}
	free(sc.starts);
	free(sc.cuts);
	s->lmdb = s->meta;
	s->meta.format = s->jnl.format; /* a segment may be of a later one than LMDB is yet */
	if (st == NFS4R_OK)
		fill_info(s, info);
	return st;
}
