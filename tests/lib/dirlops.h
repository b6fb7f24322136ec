/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Local object operations over a plain directory, for tests of the engine without Ganesha.
 * A handle is an inode number; every object met is held by an O_PATH descriptor, so inode numbers are not reused.
 * Credentials are ignored. Faults: dirlops_fail_writes(), dirlops_fail_sync(), dirlops_fail_call().
 */
#ifndef NFS4R_TESTS_DIRLOPS_H
#define NFS4R_TESTS_DIRLOPS_H

#include "engine/lops.h"

struct dirlops;

struct dirlops *dirlops_open(const char *path);
void dirlops_close(struct dirlops *d);
const struct nfs4r_lops *dirlops_table(void);
/* Next @count writes write their first @part bytes and answer @st. */
void dirlops_fail_writes(struct dirlops *d, enum nfs4r_status st, uint32_t part, int count);
/*
 * From now on every @call (create, link, remove, rename, write, setattr, allocate, setxattr, removexattr) changes nothing and answers @st; of those with a name only what concerns @name, unless that
 * is NULL. NFS4R_OK: no more. Any thread.
 */
void dirlops_fail_call(struct dirlops *d, const char *call, const char *name, enum nfs4r_status st);
/* The next sync of all answers @err, and not again, like the kernel. Any thread. */
void dirlops_fail_sync(struct dirlops *d, int err);
/* Every write, of all directories, takes so long; 0 = as long as it takes. */
void dirlops_slow_writes(int ms);
/* Called after a directory, attributes or a symbolic link (@call: readdir, getattr, readlink) of @h was read for the engine, on its thread. */
typedef void (*dirlops_watch_fn)(void *arg, const char *call, const struct nfs4r_lhandle *h);
void dirlops_watch(struct dirlops *d, dirlops_watch_fn fn, void *arg);
/* One pointer for who puts operations of his own in the place of some of the table (lib/power.h). */
void dirlops_set_user(struct dirlops *d, void *user);
void *dirlops_user(const struct dirlops *d);
/* An open descriptor of an object for reading and writing; the caller closes it. -1 when unknown. */
int dirlops_fd(struct dirlops *d, const struct nfs4r_lhandle *h, int flags);

#endif
