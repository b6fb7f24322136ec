/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A task's record: the semaphore that its consumers wait for, and what the report is made of. A small text file that appears, whole,
 * under its final name when everything that the task wrote is on the server's disk.
 *
 * DIR/NAME/u, DIR/NAME/c: what the task wrote (exchange.h); DIR/NAME/done: the record. NAME is the task's; DIR/NAME exists before
 * the task starts.
 */
#ifndef NGB_RECORD_H
#define NGB_RECORD_H

#include "ngb/exchange.h"
#include "ngb/graph.h"

#define NGB_PATH_MAX 4096
#define NGB_HOST_MAX 64

struct ngb_record {
	char host[NGB_HOST_MAX + 1];
	int iterations;
	struct ngb_sum in[NGB_INPUTS_MAX]; /* as read, in the order of the task's inputs */
	struct ngb_sum out[NGB_KINDS_END]; /* by kind, as written; bytes 0: not written */
	struct ngb_sum solution; /* of the text of the whole solution, written or not */
	double wait_s, read_s, run_s, write_s;
	struct ngb_result result;
};

/* DIR/NAME or DIR/NAME/FILE (file may be NULL). -ENAMETOOLONG. */
int ngb_path(char *path, const char *dir, const struct ngb_task *t, const char *file);

/* A new file under a temporary name in the task's directory; descriptor, or -errno. */
int ngb_create(const char *dir, const struct ngb_task *t, const char *file);
/* Syncs, closes (always) and gives it its final name. 0, -errno. */
int ngb_publish(int fd, const char *dir, const struct ngb_task *t, const char *file);

int ngb_record_write(const char *dir, const struct ngb_task *t, const struct ngb_record *r);
/* 0; -ENOENT: the task is not done; -EBADMSG: not a record; -errno. */
int ngb_record_read(const char *dir, const struct ngb_task *t, struct ngb_record *r);

/*
 * Waits until the task has a record, looking as `look` says. 0; -ETIMEDOUT; as ngb_record_read().
 * Opening the directory first makes an NFS client ask its server for the directory's version, so that it believes no old "no such file". Where the file
 * system remembers no missing names (NFS mounted with lookupcache=pos or none), by_name spares that.
 */
struct ngb_look {
	int poll_ms;
	bool by_name;
	double deadline; /* of ngb_seconds() */
};
int ngb_record_wait(const char *dir, const struct ngb_task *t, struct ngb_record *r, const struct ngb_look *look);

/*
 * The same for several tasks, all looked for at the same time: a look that takes a round trip holds up no other. 0, or what the first of them
 * that went wrong ended with, *wrong being its index; the others are waited for no longer.
 */
int ngb_records_wait(const char *dir, const struct ngb_task *const *t, int n, struct ngb_record *r, const struct ngb_look *look, int *wrong);

#endif
