/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Room that is set aside for the last updates: those that free some (log 4.12).
 *
 * A file `spare` beside the journal holds allocated space and no data. When an append finds no room, the file is emptied and the
 * append tried once more. So a disk that somebody else has filled still takes the records of removals, of a stop in
 * order, and of a start. The engine has the file made anew when there is room again.
 *
 * Failure modes: the file system cannot allocate without writing, or has too little: there is none, and an append that finds no room
 * fails as it would without this. Who fills the disk takes what was given, too: the same.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/internal.h"

#define SPARE_NAME "spare"

void store_spare_open(struct nfs4r_journal *j)
{
	struct stat st;

	j->spare_fd = openat(j->dirfd, SPARE_NAME, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (j->spare_fd >= 0 && fstat(j->spare_fd, &st) == 0)
		atomic_store(&j->spare, (uint64_t)st.st_blocks * 512);
}

bool store_spare_give(struct nfs4r_journal *j)
{
	bool given = false;

	pthread_mutex_lock(&j->spare_lock);
	if (atomic_load(&j->spare)) {
		given = ftruncate(j->spare_fd, 0) == 0;
		atomic_store(&j->spare, 0);
	}
	pthread_mutex_unlock(&j->spare_lock);
	return given;
}

static bool allocate(struct nfs4r_journal *j, uint64_t bytes)
{
	struct stat st;

	if (j->spare_fd < 0)
		j->spare_fd = openat(j->dirfd, SPARE_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (j->spare_fd < 0)
		return false;
	if (fallocate(j->spare_fd, 0, 0, (off_t)bytes) != 0 || fstat(j->spare_fd, &st) != 0) {
		(void)!ftruncate(j->spare_fd, 0);
		return false;
	}
	atomic_store(&j->spare, (uint64_t)st.st_blocks * 512);
	return true;
}

bool nfs4r_store_keep_spare(struct nfs4r_store *s, uint64_t bytes)
{
	struct nfs4r_journal *j = &s->jnl;
	bool kept;

	pthread_mutex_lock(&j->spare_lock);
	kept = atomic_load(&j->spare) || allocate(j, bytes);
	pthread_mutex_unlock(&j->spare_lock);
	return kept;
}

uint64_t nfs4r_store_spare(const struct nfs4r_store *s)
{
	return atomic_load(&s->jnl.spare);
}

bool nfs4r_store_give_spare(struct nfs4r_store *s)
{
	return store_spare_give(&s->jnl);
}
