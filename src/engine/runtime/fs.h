/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Room and limits of a file system, by a descriptor of a directory in it. Any thread; all may block on the disk. */
#ifndef NFS4R_ENGINE_FS_H
#define NFS4R_ENGINE_FS_H

#include <sys/types.h>

#include "base/space.h"
#include "base/status.h"

struct fs_room {
	dev_t dev;
	struct nfs4r_room bytes, inodes; /* `reserve` is 0 */
};

/* False: it cannot be told. */
bool engine_fs_room(int fd, struct fs_room *out);
/* False: no file could be made to try with, since the file system is full, or has no files without a name: only the length of names and the number of links are known. */
bool engine_fs_limits(int dirfd, struct nfs4r_limits *l);

struct fs_names {
	uint64_t text_max; /* bytes of the text of a symbolic link; 0: not known, since none could be made */
	bool folds; /* different names are one there: case, or ways to write a letter, make no difference */
};

/*
 * What only names show. They are made and removed again in directory @scratch of @dirfd, which is this server's own and stays if it was there; the times of @dirfd do, too.
 * A crash may leave an empty directory, or `nfs4r.probe` in it, for the next call.
 */
void engine_fs_try_names(int dirfd, const char *scratch, struct fs_names *out);
/* Do programs and device nodes in it mean something on this machine (no nosuid, no nodev)? False: neither, or it cannot be told. */
bool engine_fs_is_live(int fd, bool *suid, bool *dev);
/* A megabyte could be written and synced just now. False also if the file system has no files without a name and is full. */
bool engine_fs_takes(int dirfd);

/*
 * Whether @path, a directory of the configuration's @key that is there already, belongs to this process's user, can be written by nobody else, and is
 * itself no symbolic link. NFS4R_OK, also when it is not there; NFS4R_BADCONFIG: @why (@len bytes) says what is wrong and what to do. Any thread.
 */
enum nfs4r_status engine_fs_private(const char *key, const char *path, char *why, size_t len);

#endif
