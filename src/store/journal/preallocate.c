/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Zeros behind the journal's end (log 4.1: what makes a sync cheap, not what makes it true).
 *
 * Happy path: when less than half of ahead_bytes is left behind the tail of the last file, a thread writes zeros there and syncs them.
 * From then on an append overwrites bytes that are on the disk already: its fdatasync brings the bytes and needs no commit of a new
 * size or of extents in the journal of the file system below. (Space that was only allocated would not do: extents that were never
 * written are converted in such a commit, too.)
 *
 * Appends do not wait for it: zeros are written in pieces, into the page cache, and lay_lock is held for one piece. Who comes to the
 * end of what is laid out makes the file longer, as if there were no such thread.
 *
 * Failure modes: no room (asked for before, so that a full disk is noticed here and not by a sync), or a write that fails: what was
 * written stays, and it is tried again after ahead_bytes more of journal. A sync that fails is as final as any other one of the
 * journal's: the kernel tells it only once, and records may be among the pages that it lost. Once for each time that the file was opened: so the thread has opened it for itself,
 * and a sync of records that runs meanwhile hears of it, too.
 *
 * A crash anywhere leaves zeros behind the end, on any part of what was laid out; recover.c takes zeros up to the end of a file for
 * nothing. Nothing in a segment but its end depends on the file's length.
 *
 * Invariant: zeros are only written from j->laid on, and j->laid is never before the end of the last record.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "store/internal.h"

#define PIECE (64u << 10)

/* How far the last file, of which @size bytes are in use, is to reach. */
static uint64_t until(const struct nfs4r_journal *j, uint64_t size, uint64_t ahead)
{
	return size + ahead < j->segment_bytes ? size + ahead : j->segment_bytes;
}

static struct nfs4r_segment last_of(struct nfs4r_journal *j)
{
	struct nfs4r_segment last;

	pthread_rwlock_rdlock(&j->segs_lock);
	last = j->segs[j->nsegs - 1];
	pthread_rwlock_unlock(&j->segs_lock);
	return last;
}

bool store_jnl_wants_room(struct nfs4r_journal *j, uint64_t ahead)
{
	struct nfs4r_segment last = last_of(j);

	return j->laid < until(j, last.size, ahead) && j->laid - last.size < ahead / 2 && atomic_load(&j->tail) >= j->lay_again &&
		!atomic_load(&j->failed);
}

/* A piece more behind the file that begins at @start; false: that was all. lay_lock held. */
static bool lay_piece(struct nfs4r_journal *j, nfs4r_journal_pos start, uint64_t ahead)
{
	static const uint8_t zeros[PIECE];
	struct nfs4r_segment last = last_of(j);
	uint64_t end = until(j, last.size, ahead);
	ssize_t n;

	if (last.start != start || j->laid >= end || j->lay_stop)
		return false;
	n = pwrite(last.fd, zeros, end - j->laid < PIECE ? end - j->laid : PIECE, (off_t)j->laid);
	if (n > 0)
		j->laid += (uint64_t)n;
	else
		j->lay_again = atomic_load(&j->tail) + ahead;
	return n > 0;
}

/* Space for what is to be laid out: else its sync might be the first to hear that there is none. */
static bool find_space(int fd, uint64_t from, uint64_t to)
{
	return !fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(to - from)) || errno == EOPNOTSUPP;
}

static void lay_pieces(struct nfs4r_journal *j, nfs4r_journal_pos start, uint64_t ahead)
{
	bool more;

	do {
		pthread_mutex_lock(&j->lay_lock);
		more = lay_piece(j, start, ahead);
		pthread_mutex_unlock(&j->lay_lock);
	} while (more);
}

void store_jnl_lay_out(struct nfs4r_journal *j, uint64_t ahead)
{
	struct nfs4r_segment last;
	uint64_t from;
	int fd = -1;

	pthread_mutex_lock(&j->lay_lock);
	last = last_of(j);
	from = j->laid;
	if (store_jnl_wants_room(j, ahead)) {
		fd = store_seg_open_again(j, last.start); /* outlives a drop */
		if (fd < 0)
			j->lay_again = atomic_load(&j->tail) + ahead;
	}
	pthread_mutex_unlock(&j->lay_lock);
	if (fd < 0)
		return;
	if (!find_space(fd, from, until(j, last.size, ahead))) {
		pthread_mutex_lock(&j->lay_lock);
		j->lay_again = atomic_load(&j->tail) + ahead;
		pthread_mutex_unlock(&j->lay_lock);
	} else {
		lay_pieces(j, last.start, ahead);
		if (fdatasync(fd))
			store_jnl_fail(j, nfs4r_status_from_errno(errno));
	}
	close(fd);
}

/* ---- the thread ---- */

static void *run(void *arg)
{
	struct nfs4r_journal *j = arg;

	pthread_mutex_lock(&j->lay_lock);
	while (!j->lay_stop) {
		if (!store_jnl_wants_room(j, j->ahead_bytes)) {
			pthread_cond_wait(&j->lay_cond, &j->lay_lock);
			continue;
		}
		pthread_mutex_unlock(&j->lay_lock);
		store_jnl_lay_out(j, j->ahead_bytes);
		pthread_mutex_lock(&j->lay_lock);
	}
	pthread_mutex_unlock(&j->lay_lock);
	return NULL;
}

void store_jnl_ahead_start(struct nfs4r_journal *j, uint64_t ahead)
{
	j->ahead_bytes = ahead;
	if (!ahead)
		return;
	j->laying = !pthread_create(&j->lay_thread, NULL, run, j); /* without it files just grow */
	if (j->laying)
		pthread_setname_np(j->lay_thread, "nfs4r-ahead");
}

void store_jnl_ahead_stop(struct nfs4r_journal *j)
{
	if (!j->laying)
		return;
	pthread_mutex_lock(&j->lay_lock);
	j->lay_stop = true;
	pthread_cond_signal(&j->lay_cond);
	pthread_mutex_unlock(&j->lay_lock);
	pthread_join(j->lay_thread, NULL);
	j->laying = false;
}
