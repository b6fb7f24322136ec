/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The simulated disk of a server whose store is the shipped one, and the tasks in which its slow calls run. platter.c, task.c.
 *
 * All files of the store lie in a directory in memory (/dev/shm), where reads and LMDB's map find them. The calls that
 * change or sync them come here (the program's own pwrite(), fsync()... stand in front of libc's, for src/store and for LMDB):
 * beside each file lies what of it is on the platter, by sectors of 512 bytes, and beside each directory the names on it.
 */
#ifndef NFS4R_TESTS_SIM_PLATTER_H
#define NFS4R_TESTS_SIM_PLATTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct server;
struct platter;
struct image; /* what was on the platter at some moment */

/* Its path is what the store is opened with. Everything else of the directory counts as lost. */
struct platter *platter_new(struct server *v);
void platter_free(struct platter *p);
const char *platter_path(const struct platter *p);
/* Loss of power, with all files closed: of each file, sector by sector, what is on the platter or what was written since, and of each directory the first so many changes. */
void platter_lose_power(struct platter *p);
void platter_clear(struct platter *p);
struct image *platter_image(const struct platter *p);
void platter_put_back(struct platter *p, const struct image *m);
void image_free(struct image *m);

/* From the @calls-th call on nothing changes any more and all fail, as when the process or the machine had gone; 1 = the next. 0: never. */
void platter_die_in(struct platter *p, uint32_t calls);
void platter_kill(struct platter *p, bool power); /* the kernel ends syncs that are under way, unless it is the power */
bool platter_is_dead(const struct platter *p);
void platter_revive(struct platter *p);
/* No room: what would make a file longer is written in part or not at all. */
void platter_set_full(struct platter *p, bool full);
bool platter_was_full(struct platter *p); /* somebody heard of it since it was asked last */
/* The next sync fails. */
void platter_break_sync(struct platter *p);
/* Where the journal was written first since the watch began: there it ended. UINT64_MAX: nowhere. */
void platter_watch(struct platter *p);
uint64_t platter_first(const struct platter *p);
/* Removes what a process that died has left. */
void platters_of(int pid);

/* ---- task.c ---- */

/*
 * @run is called on a stack of its own; it stops in each sync for as long as the disk takes, and goes on in an event. @end is called in the world when it is over.
 * Calls of the store outside of any task do not wait: their syncs take no time.
 */
void task_start(struct server *v, int (*run)(struct server *v, void *arg), void (*end)(struct server *v, void *arg, int result), void *arg);
/* All tasks of @v to their ends, now. With a dead platter they fail. */
void tasks_finish(struct server *v);
bool task_running(void);
/* Only in a task: for @us, during which the world goes on. */
void task_sleep(uint64_t us);

#endif
