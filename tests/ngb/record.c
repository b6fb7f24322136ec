/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * See record.h. A record has one item a line, in a fixed order, and ends with "end"; anything else is not a record, so neither half of one nor
 * a file of something else is ever taken for a task that is done.
 *
 * Failure modes: the file system's. Invariant: a name that consumers look for is only ever given by rename(), after fsync() and close().
 */
#include "ngb/record.h"
#include "ngb/kernels/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RECORD_MAX 8192

int ngb_path(char *path, const char *dir, const struct ngb_task *t, const char *file)
{
	int n = snprintf(path, NGB_PATH_MAX, "%s/%s%s%s", dir, t->name, file ? "/" : "", file ? file : "");

	return n > 0 && n < NGB_PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int temporary(char *path, const char *dir, const struct ngb_task *t, const char *file)
{
	char name[32];

	snprintf(name, sizeof(name), ".%s.part", file);
	return ngb_path(path, dir, t, name);
}

int ngb_create(const char *dir, const struct ngb_task *t, const char *file)
{
	char path[NGB_PATH_MAX];
	int rc = temporary(path, dir, t, file), fd;

	if (rc)
		return rc;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	return fd < 0 ? -errno : fd;
}

int ngb_publish(int fd, const char *dir, const struct ngb_task *t, const char *file)
{
	char from[NGB_PATH_MAX], to[NGB_PATH_MAX];
	int rc = temporary(from, dir, t, file);

	if (rc == 0)
		rc = ngb_path(to, dir, t, file);
	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc == 0 && rename(from, to) < 0)
		rc = -errno;
	return rc;
}

static void put_sum(FILE *f, const char *what, const char *name, const struct ngb_sum *s)
{
	fprintf(f, "%s %s %" PRIu64 " %016" PRIx64 "\n", what, name, s->bytes, s->hash);
}

static void put(FILE *f, const struct ngb_task *t, const struct ngb_record *r)
{
	fprintf(f, "task %s\nhost %s\niterations %d\n", t->name, r->host, r->iterations);
	for (int i = 0; i < t->ninputs; i++)
		put_sum(f, "in", "-", &r->in[i]);
	for (int k = 1; k < NGB_KINDS_END; k++)
		put_sum(f, "out", ngb_kind_name(k), &r->out[k]);
	put_sum(f, "solution", "-", &r->solution);
	fprintf(f, "seconds %.6f %.6f %.6f %.6f %.6f\n", r->wait_s, r->read_s, r->run_s, r->write_s, r->result.seconds);
	fprintf(f, "result %d", r->result.n);
	for (int i = 0; i < r->result.n; i++)
		fprintf(f, " %.17g", r->result.value[i]);
	fprintf(f, "\nend\n");
}

int ngb_record_write(const char *dir, const struct ngb_task *t, const struct ngb_record *r)
{
	int fd = ngb_create(dir, t, "done"), rc = 0;
	char text[RECORD_MAX];
	FILE *f;
	long n;

	if (fd < 0)
		return fd;
	f = fmemopen(text, sizeof(text), "w");
	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	put(f, t, r);
	n = fflush(f) || ferror(f) ? -1 : ftell(f);
	fclose(f);
	if (n <= 0 || write(fd, text, (size_t)n) != n)
		rc = n <= 0 || errno == 0 ? -EIO : -errno;
	if (rc) {
		close(fd);
		return rc;
	}
	return ngb_publish(fd, dir, t, "done");
}

static bool get_sum(FILE *f, const char *what, const char *name, struct ngb_sum *s)
{
	char w[16], n[16];

	return fscanf(f, "%15s %15s %" SCNu64 " %" SCNx64 "\n", w, n, &s->bytes, &s->hash) == 4 && !strcmp(w, what) && !strcmp(n, name);
}

static bool get_result(FILE *f, struct ngb_result *r)
{
	if (fscanf(f, "result %d", &r->n) != 1 || r->n < 0 || r->n > (int)(sizeof(r->value) / sizeof(r->value[0])))
		return false;
	for (int i = 0; i < r->n; i++)
		if (fscanf(f, " %lf", &r->value[i]) != 1)
			return false;
	return true;
}

static bool get(FILE *f, const struct ngb_task *t, struct ngb_record *r)
{
	char name[NGB_NAME_MAX + 1], end[4], more;

	if (fscanf(f, "task %16s\nhost %64s\niterations %d\n", name, r->host, &r->iterations) != 3 || strcmp(name, t->name))
		return false;
	for (int i = 0; i < t->ninputs; i++)
		if (!get_sum(f, "in", "-", &r->in[i]))
			return false;
	for (int k = 1; k < NGB_KINDS_END; k++)
		if (!get_sum(f, "out", ngb_kind_name(k), &r->out[k]))
			return false;
	if (!get_sum(f, "solution", "-", &r->solution) ||
	    fscanf(f, "seconds %lf %lf %lf %lf %lf\n", &r->wait_s, &r->read_s, &r->run_s, &r->write_s, &r->result.seconds) != 5 ||
	    !get_result(f, &r->result))
		return false;
	return fscanf(f, " %3s%c", end, &more) == 2 && !strcmp(end, "end") && more == '\n' && fgetc(f) == EOF;
}

int ngb_record_read(const char *dir, const struct ngb_task *t, struct ngb_record *r)
{
	char path[NGB_PATH_MAX];
	int rc = ngb_path(path, dir, t, "done");
	FILE *f;

	if (rc)
		return rc;
	f = fopen(path, "re");
	if (!f)
		return -errno;
	memset(r, 0, sizeof(*r));
	if (!get(f, t, r))
		rc = -EBADMSG;
	fclose(f);
	return rc;
}

static int ask_directory(const char *dir, const struct ngb_task *t)
{
	char path[NGB_PATH_MAX];
	int rc = ngb_path(path, dir, t, NULL), fd;

	if (rc)
		return rc;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* *over becomes true: nobody waits any more. */
static int wait_for(const char *dir, const struct ngb_task *t, struct ngb_record *r, const struct ngb_look *look, const atomic_bool *over)
{
	struct timespec pause = { look->poll_ms / 1000, look->poll_ms % 1000 * 1000000L };

	for (;;) {
		int rc = look->by_name ? 0 : ask_directory(dir, t);

		if (rc)
			return rc;
		rc = ngb_record_read(dir, t, r);
		if (rc != -ENOENT)
			return rc;
		if (ngb_seconds() >= look->deadline)
			return -ETIMEDOUT;
		if (atomic_load(over))
			return -ECANCELED;
		nanosleep(&pause, NULL);
	}
}

int ngb_record_wait(const char *dir, const struct ngb_task *t, struct ngb_record *r, const struct ngb_look *look)
{
	atomic_bool over = false;

	return wait_for(dir, t, r, look, &over);
}

struct all {
	const char *dir;
	const struct ngb_look *look;
	pthread_mutex_t lock;
	atomic_bool over;
	int rc, wrong; /* of the first that went wrong */
};

struct awaited {
	struct all *all;
	const struct ngb_task *t;
	struct ngb_record *r;
	int index;
	pthread_t thread;
};

static void *await(void *arg)
{
	struct awaited *w = arg;
	struct all *a = w->all;
	int rc = wait_for(a->dir, w->t, w->r, a->look, &a->over);

	if (rc == 0)
		return NULL;
	pthread_mutex_lock(&a->lock);
	if (a->rc == 0) {
		a->rc = rc;
		a->wrong = w->index;
	}
	atomic_store(&a->over, true);
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

int ngb_records_wait(const char *dir, const struct ngb_task *const *t, int n, struct ngb_record *r, const struct ngb_look *look, int *wrong)
{
	struct all a = { .dir = dir, .look = look, .lock = PTHREAD_MUTEX_INITIALIZER };
	struct awaited w[NGB_TASKS_MAX];
	int started = 0;

	while (started < n) {
		w[started] = (struct awaited){ .all = &a, .t = t[started], .r = &r[started], .index = started };
		if (pthread_create(&w[started].thread, NULL, await, &w[started]))
			break;
		started++;
	}
	for (int i = started; i < n; i++) { /* no more threads: one after the other */
		w[i] = (struct awaited){ .all = &a, .t = t[i], .r = &r[i], .index = i };
		await(&w[i]);
	}
	for (int i = 0; i < started; i++)
		pthread_join(w[i].thread, NULL);
	*wrong = a.wrong;
	return a.rc;
}
