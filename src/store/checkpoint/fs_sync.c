/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Whether the exported files are on their disk (log 4.3, 4.8). It is the first step of a checkpoint, and the last of a stop without one.
 *
 * Failure modes: the sync fails. The kernel takes the pages that it could not write for clean and tells that once, so the next sync would answer for bytes that are on no
 * disk. That goes for ENOSPC, too: a write into a full file system fails, so what a sync finds no room for are pages that were accepted (a thin pool, a quota that is not
 * the file system's own). So from then on nothing of this run counts as stable, LMDB's position stays, and with it all that says what is in doubt.
 *
 * In the same life of the machine a start would read what was lost from memory and find it right. A note in the store's directory says so until LMDB's position has moved: what
 * lies behind that is in doubt as after a crash of the machine, and whoever opens the store writes the files again that it concerns. Where the note cannot be written only the
 * machine's next life is safe; it is tried again when the store is left.
 */
#include <fcntl.h>
#include <unistd.h>

#include "store/internal.h"

static const char note[] = "files-failed";

/* It need not be synced: in the machine's next life all that is in doubt without it. */
static void write_note(const struct nfs4r_store *s)
{
	int fd = openat(s->dirfd, note, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
}

bool store_files_noted(const struct nfs4r_store *s)
{
	int fd = openat(s->dirfd, note, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

void store_files_good(struct nfs4r_store *s)
{
	if (s->files_noted && !unlinkat(s->dirfd, note, 0))
		s->files_noted = false;
}

enum nfs4r_status nfs4r_store_sync_files(struct nfs4r_store *s, int (*sync_files)(void *arg), void *arg)
{
	if (atomic_load(&s->files_failed))
		return NFS4R_IO;
	int err = sync_files ? sync_files(arg) : 0;

	if (!err)
		return NFS4R_OK;
	atomic_store(&s->files_st, (int)nfs4r_status_from_errno(err));
	atomic_store(&s->files_failed, true);
	write_note(s);
	return NFS4R_IO;
}

bool nfs4r_store_files_failed(const struct nfs4r_store *s)
{
	return atomic_load(&s->files_failed);
}

void store_files_note_again(const struct nfs4r_store *s)
{
	if (atomic_load(&s->files_failed))
		write_note(s);
}

enum nfs4r_status nfs4r_store_broken(const struct nfs4r_store *s)
{
	if (atomic_load(&s->files_failed))
		return (enum nfs4r_status)atomic_load(&s->files_st);
	if (!atomic_load(&s->jnl.failed))
		return NFS4R_OK;
	return atomic_load(&s->jnl.failed_st) ? (enum nfs4r_status)atomic_load(&s->jnl.failed_st) : NFS4R_IO;
}
