/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Whether the exported files are on their disk (log sheet 4.3, 4.8). It is the first step of a checkpoint, and the last of a stop without one.
 *
 * Failure modes: the sync fails. The kernel takes the pages that it could not write for clean and tells that once, so the next sync would answer for bytes that are on no
 * disk. That goes for ENOSPC, too: a write into a full file system fails, so what a sync finds no room for are pages that were accepted (a thin pool, a quota that is not
 * the file system's own). So from then on nothing of this run counts as stable, LMDB's position stays, and with it all that says what is in doubt.
 */
#include "store/internal.h"

enum nfs4r_status nfs4r_store_sync_files(struct nfs4r_store *s, int (*sync_files)(void *arg), void *arg)
{
	if (atomic_load(&s->files_failed))
		return NFS4R_IO;
	if (!sync_files || !sync_files(arg))
		return NFS4R_OK;
	atomic_store(&s->files_failed, true);
	return NFS4R_IO;
}

bool nfs4r_store_files_failed(const struct nfs4r_store *s)
{
	return atomic_load(&s->files_failed);
}
