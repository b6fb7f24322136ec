/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A plain directory (dirlops.h) on a machine that can lose power: it forgets what was not synced.
 *
 * As on a journalling file system, what happened to names and attributes comes back as a prefix of it, and a sync of one file takes along all of that.
 * What happened to the bytes of files that were not synced comes back wholly, in part or not at all, file by file. Handles stay good: objects that the
 * crash brings back are the same ones, and no inode is used twice.
 */
#ifndef NFS4R_TESTS_POWER_H
#define NFS4R_TESTS_POWER_H

#include "lib/dirlops.h"

struct power;

/* @grave: an empty directory on the same file system, where deleted objects wait. Everything that is there counts as synced. */
struct power *power_begin(const char *grave);
/* The plain directory of a process that begins. What another process did before, and did not sync, is not synced. */
void power_attach(struct power *p, struct dirlops *d);
/* Its ctx is the struct dirlops. */
const struct nfs4r_lops *power_table(void);
/* From now on nothing changes: whoever wants to waits for power_lose(). Syncs fail. */
void power_freeze(struct power *p);
/*
 * What was not synced is gone; whoever waits hears IO, and nothing changes any more. @seed 0: all of it, else as @seed says a part of it.
 */
void power_lose(struct power *p, unsigned seed);
/* Whoever waits for power_lose() hears IO. */
void power_release(struct power *p);
void power_end(struct power *p);

#endif
