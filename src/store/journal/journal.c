/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Appending to the journal and syncing it (log 4.1).
 *
 * Happy path: append() gives the records of one change their positions and writes them with one pwrite()
 * at the tail; they survive a crash of the process from then on. sync() makes everything before a position
 * survive loss of power; callers that come while an fdatasync runs wait for it and share the next one.
 *
 * Failure modes: a write that fails or is short is cut off again, on the disk too, so nothing of the change remains and the
 * next append goes to the same place, or to a new file that begins there. If even that fails, or an fdatasync fails (the kernel may have
 * dropped the pages), what is on disk can no longer be told: `failed` is set for good and every later
 * change and sync answers IO.
 *
 * After a failed sync the page cache lies: pages that are on no disk count as clean. A start in the same life of the machine would read them, and its own sync would bring
 * none of them. A note in the store's directory says so. With it a start takes the tail for lost, as after a crash of the machine, and writes again what it reads (recover.c).
 * If the note finds no room it is tried again when the store is left; until then only the machine's next life is safe.
 *
 * Behind the tail there may be zeros (preallocate.c), so that an append changes neither the size nor the extents of the file, and its sync
 * nothing but its bytes.
 *
 * Invariants: tail = end of the last whole record; behind it nothing but zeros; synced <= tail; a segment that is left is synced by the
 * next sync(), whoever asks.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "store/bytes.h"
#include "store/internal.h"

enum nfs4r_status store_jnl_init(struct nfs4r_journal *j)
{
	store_rwlock_init(&j->segs_lock);
	pthread_mutex_init(&j->sync_lock, NULL);
	pthread_cond_init(&j->sync_done, NULL);
	pthread_mutex_init(&j->lay_lock, NULL);
	pthread_cond_init(&j->lay_cond, NULL);
	pthread_mutex_init(&j->spare_lock, NULL);
	j->spare_fd = -1;
	return NFS4R_OK;
}

void store_jnl_fini(struct nfs4r_journal *j)
{
	store_seg_close(j);
	free(j->segs);
	pthread_rwlock_destroy(&j->segs_lock);
	pthread_mutex_destroy(&j->sync_lock);
	pthread_cond_destroy(&j->sync_done);
	pthread_mutex_destroy(&j->lay_lock);
	pthread_cond_destroy(&j->lay_cond);
	pthread_mutex_destroy(&j->spare_lock);
	if (j->spare_fd >= 0)
		close(j->spare_fd);
}

static enum nfs4r_status write_all(int fd, const uint8_t *p, size_t len, off_t at)
{
	while (len) {
		ssize_t n = pwrite(fd, p, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? nfs4r_status_from_errno(errno) : NFS4R_NOSPC;
		p += n;
		len -= n;
		at += n;
	}
	return NFS4R_OK;
}

/* What lies in one segment is as old as its last entry (retention.c). */
static bool is_old(const struct nfs4r_journal *j, const struct nfs4r_segment *seg)
{
	return j->segment_age_s && seg->born + j->segment_age_s <= (uint64_t)time(NULL);
}

/* A copy of the last segment, after making a new one when @len more bytes would be too many, or it is old, or of an older format. */
static enum nfs4r_status writable(struct nfs4r_journal *j, size_t len, struct nfs4r_segment *last)
{
	uint64_t laid = j->laid;
	enum nfs4r_status st;

	pthread_rwlock_rdlock(&j->segs_lock);
	*last = j->segs[j->nsegs - 1];
	pthread_rwlock_unlock(&j->segs_lock);
	if ((last->size <= SEG_HEADER || (last->size + len <= j->segment_bytes && !is_old(j, last))) && !j->roll)
		return NFS4R_OK;
	st = store_seg_create(j, last->start + last->size);
	if (st != NFS4R_OK)
		return st;
	if (laid > last->size)
		(void)!ftruncate(last->fd, last->size); /* zeros that stay do no harm (recover.c) */
	pthread_rwlock_rdlock(&j->segs_lock);
	*last = j->segs[j->nsegs - 1];
	pthread_rwlock_unlock(&j->segs_lock);
	atomic_store(&j->tail, last->start + last->size);
	return NFS4R_OK;
}

/* ---- a sync that failed ---- */

static const char note[] = "sync-failed";

/* It need not be synced: in the machine's next life the tail is lost without it. */
static void write_note(const struct nfs4r_journal *j)
{
	int fd = openat(j->dirfd, note, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
}

void store_jnl_fail(struct nfs4r_journal *j, enum nfs4r_status st)
{
	int none = 0;

	atomic_compare_exchange_strong(&j->failed_st, &none, (int)st);
	write_note(j);
	atomic_store(&j->failed, true);
}

void store_jnl_note_again(const struct nfs4r_journal *j)
{
	if (atomic_load(&j->failed_st))
		write_note(j);
}

bool store_jnl_is_noted(const struct nfs4r_journal *j)
{
	int fd = openat(j->dirfd, note, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

void store_jnl_good(struct nfs4r_journal *j)
{
	if (j->noted && !unlinkat(j->dirfd, note, 0))
		j->noted = false;
}

/* ---- appending ---- */

/* Nothing of what failed remains, of the zeros behind it neither. A sync of records may run meanwhile, and has to hear by itself what the disk lost. */
static enum nfs4r_status cut_off(struct nfs4r_journal *j, const struct nfs4r_segment *last, enum nfs4r_status st)
{
	int fd = store_seg_open_again(j, last->start);
	bool cut = fd >= 0 && !ftruncate(fd, last->size) && !fdatasync(fd);
	enum nfs4r_status why = cut ? NFS4R_OK : nfs4r_status_from_errno(errno);

	if (fd >= 0)
		close(fd);
	j->laid = last->size;
	if (cut)
		return st;
	store_jnl_fail(j, why);
	return NFS4R_IO;
}

static enum nfs4r_status append(struct nfs4r_journal *j, struct nfs4r_wbuf *w, nfs4r_journal_pos *pos)
{
	struct nfs4r_segment last;
	enum nfs4r_status st = writable(j, w->len, &last);

	if (st != NFS4R_OK)
		return st;
	*pos = last.start + last.size;
	store_rec_seal(w, *pos);
	st = write_all(last.fd, w->p, w->len, last.size);
	if (st != NFS4R_OK)
		return cut_off(j, &last, st);
	if (last.size + w->len > j->laid)
		j->laid = last.size + w->len;
	j->appended += w->len;
	pthread_rwlock_wrlock(&j->segs_lock);
	j->segs[j->nsegs - 1].size += w->len;
	pthread_rwlock_unlock(&j->segs_lock);
	atomic_store(&j->tail, *pos + w->len);
	atomic_fetch_add(&j->appends, 1);
	return NFS4R_OK;
}

enum nfs4r_status store_jnl_append(struct nfs4r_journal *j, struct nfs4r_wbuf *w,
				   nfs4r_journal_pos *pos)
{
	enum nfs4r_status st;

	if (atomic_load(&j->failed))
		return NFS4R_IO;
	if (w->bad)
		return NFS4R_NOMEM;
	if (j->fail_after && j->appended + w->len > j->fail_after)
		return NFS4R_NOSPC;
	pthread_mutex_lock(&j->lay_lock);
	st = append(j, w, pos);
	if (nfs4r_status_is_full(st) && store_spare_give(j))
		st = append(j, w, pos);
	if (j->laying && store_jnl_wants_room(j, j->ahead_bytes))
		pthread_cond_signal(&j->lay_cond);
	pthread_mutex_unlock(&j->lay_lock);
	return st;
}

/* fdatasync of every segment with bytes in from..to. Duplicates of the descriptors outlive a drop. */
static int sync_range(struct nfs4r_journal *j, nfs4r_journal_pos from, nfs4r_journal_pos to)
{
	nfs4r_journal_pos newest = 0;
	int rc = 0;

	for (nfs4r_journal_pos at = from; at < to && !rc;) {
		struct nfs4r_segment *seg;
		int fd = -1;

		pthread_rwlock_rdlock(&j->segs_lock);
		seg = store_seg_at(j, at);
		if (seg) {
			fd = dup(seg->fd);
			newest = seg->start;
			at = seg->start + seg->size;
		} else {
			at = j->nsegs ? j->segs[0].start : to; /* dropped: it was in LMDB */
		}
		pthread_rwlock_unlock(&j->segs_lock);
		if (!seg)
			continue;
		rc = fd < 0 ? -1 : fdatasync(fd);
		int err = errno;

		if (fd >= 0)
			close(fd);
		errno = err;
	}
	if (!rc && newest >= j->unnamed && !FAULT(F_STORE_NO_NAMES)) {
		rc = fsync(j->dirfd);
		j->unnamed = newest + 1;
	}
	return rc;
}

enum nfs4r_status store_jnl_sync(struct nfs4r_journal *j, nfs4r_journal_pos pos)
{
	enum nfs4r_status st = NFS4R_OK;

	if (pos > atomic_load(&j->tail))
		pos = atomic_load(&j->tail);
	if (pos <= atomic_load(&j->synced))
		return NFS4R_OK;
	pthread_mutex_lock(&j->sync_lock);
	while (pos > atomic_load(&j->synced) && !atomic_load(&j->failed)) {
		nfs4r_journal_pos from = atomic_load(&j->synced), to = atomic_load(&j->tail);
		enum nfs4r_status why;

		if (j->syncing) {
			pthread_cond_wait(&j->sync_done, &j->sync_lock);
			continue;
		}
		j->syncing = true;
		pthread_mutex_unlock(&j->sync_lock);
		why = sync_range(j, from, to) ? nfs4r_status_from_errno(errno) : NFS4R_OK;
		pthread_mutex_lock(&j->sync_lock);
		j->syncing = false;
		atomic_fetch_add(&j->syncs, 1); /* first: who finds it synced, without the lock, finds it counted */
		if (why != NFS4R_OK)
			store_jnl_fail(j, why);
		else
			atomic_store(&j->synced, FAULT(F_STORE_SYNC_LATE) ? atomic_load(&j->tail) : to);
		pthread_cond_broadcast(&j->sync_done);
	}
	if (pos > atomic_load(&j->synced))
		st = NFS4R_IO;
	pthread_mutex_unlock(&j->sync_lock);
	return st;
}

/* The descriptor is a duplicate, so that a slow disk holds up no append and a dropped segment stays readable. */
static int place_of(struct nfs4r_journal *j, nfs4r_journal_pos pos, off_t *at, size_t *left)
{
	struct nfs4r_segment *seg;
	int fd = -1;

	pthread_rwlock_rdlock(&j->segs_lock);
	seg = store_seg_at(j, pos);
	if (seg && pos < seg->start + seg->size) {
		fd = dup(seg->fd);
		*at = pos - seg->start;
		*left = seg->size - *at;
	}
	pthread_rwlock_unlock(&j->segs_lock);
	return fd;
}

uint8_t *store_jnl_read(struct nfs4r_journal *j, nfs4r_journal_pos pos, struct nfs4r_rec_view *out)
{
	uint8_t guess[1024], *buf = NULL;
	size_t left = 0, total = 0, have = 0;
	off_t at = 0;
	int fd = place_of(j, pos, &at, &left);
	ssize_t n;

	if (fd < 0)
		return NULL;
	n = pread(fd, guess, left < sizeof(guess) ? left : sizeof(guess), at);
	if (n >= REC_HEADER) {
		total = REC_HEADER + (((size_t)get_be32(guess + 8) + 7) & ~(size_t)7);
		buf = total <= left ? malloc(total) : NULL;
	}
	if (buf) {
		have = (size_t)n < total ? (size_t)n : total;
		memcpy(buf, guess, have);
		if (have < total && pread(fd, buf + have, total - have, at + have) == (ssize_t)(total - have))
			have = total;
	}
	close(fd);
	if (buf && have == total && store_rec_parse(buf, total, pos, out, &total))
		return buf;
	free(buf);
	return NULL;
}

nfs4r_journal_pos store_jnl_record_at(struct nfs4r_journal *j, nfs4r_journal_pos at)
{
	const struct nfs4r_segment *seg;

	pthread_rwlock_rdlock(&j->segs_lock);
	seg = store_seg_at(j, at);
	if (seg && seg->start == at)
		at += SEG_HEADER;
	pthread_rwlock_unlock(&j->segs_lock);
	return at;
}

void store_rwlock_init(pthread_rwlock_t *l)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(l, &attr);
	pthread_rwlockattr_destroy(&attr);
}
