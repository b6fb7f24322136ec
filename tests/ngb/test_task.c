/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Tasks and their records: nothing is read before its record is whole; what is not what its record says is refused, by the consumer and
 * by the report. MB of class S in one directory, task after task.
 */
#include "ngb/task.h"
#include "ngb/kernels/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define LU 0 /* the first producer of MB, and its first consumer */
#define MG 3

struct world {
	char dir[64];
	struct ngb_graph g;
	struct ngb_options o;
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	char path[NGB_PATH_MAX];

	if (!w)
		return -1;
	strcpy(w->dir, "/tmp/ngb-task-XXXXXX");
	if (!mkdtemp(w->dir) || ngb_graph_make(&w->g, "MB", NGB_CLASS_S))
		return -1;
	for (int i = 0; i < w->g.ntasks; i++)
		if (ngb_path(path, w->dir, &w->g.task[i], NULL) || mkdir(path, 0755))
			return -1;
	w->o = (struct ngb_options){ .dir = w->dir, .poll_ms = 1, .wait_s = 0 };
	*state = w;
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;

	nftw(w->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(w);
	return 0;
}

static const char *in(struct world *w, int task, const char *file)
{
	static char path[NGB_PATH_MAX];

	assert_int_equal(ngb_path(path, w->dir, &w->g.task[task], file), 0);
	return path;
}

static int run(struct world *w, int task)
{
	return ngb_task_run(&w->g, task, &w->o);
}

/* The file's byte there becomes another digit. */
static void damage(struct world *w, int task, const char *file, off_t at)
{
	int fd = open(in(w, task, file), O_RDWR);
	char c;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &c, 1, at), 1);
	c = c == '7' ? '8' : '7';
	assert_int_equal(pwrite(fd, &c, 1, at), 1);
	close(fd);
}

static char *report(struct world *w, int *rc)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	*rc = ngb_report(&w->g, &w->o, f);
	fclose(f);
	return text;
}

static void run_all(struct world *w)
{
	for (int i = 0; i < w->g.ntasks; i++)
		assert_int_equal(run(w, i), 0);
}

static void a_graph(void **state)
{
	struct world *w = *state;
	char *text;
	int rc;

	run_all(w);
	text = report(w, &rc);
	assert_int_equal(rc, 0);
	assert_non_null(strstr(text, "sum 00-LU c 34564 "));
	assert_non_null(strstr(text, "\nconsistent\n"));
	free(text);
	assert_int_equal(run(w, LU), -EEXIST); /* not twice */
}

static void nothing_before_its_record(void **state)
{
	struct world *w = *state;
	struct ngb_record r;
	char *text;
	int rc;

	assert_int_equal(run(w, MG), -ETIMEDOUT);
	assert_int_equal(run(w, LU), 0);
	assert_int_equal(run(w, LU + 1), 0);
	assert_int_equal(unlink(in(w, LU, "done")), 0); /* as if it were still writing: its file is there, the record is not */
	assert_int_equal(access(in(w, LU, "c"), F_OK), 0);
	assert_int_equal(run(w, MG), -ETIMEDOUT);
	assert_int_equal(ngb_record_read(w->dir, &w->g.task[MG], &r), -ENOENT);
	text = report(w, &rc);
	assert_int_equal(rc, -ETIMEDOUT);
	free(text);
}

/* Every prefix of a record, and one with something after it, is none; nor is another task's. */
static void half_a_record_is_none(void **state)
{
	struct world *w = *state;
	struct ngb_record r;
	struct stat st;
	char text[4096];
	int fd;

	assert_int_equal(run(w, LU), 0);
	assert_int_equal(run(w, LU + 1), 0);
	fd = open(in(w, LU, "done"), O_RDWR);
	assert_true(fd >= 0 && fstat(fd, &st) == 0 && st.st_size < (off_t)sizeof(text));
	assert_int_equal(pread(fd, text, st.st_size, 0), st.st_size);
	for (off_t n = 0; n < st.st_size; n++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, text, n, 0), n);
		assert_int_equal(ngb_record_read(w->dir, &w->g.task[LU], &r), -EBADMSG);
	}
	assert_int_equal(run(w, MG), -EBADMSG);
	assert_int_equal(pwrite(fd, text, st.st_size, 0), st.st_size);
	assert_int_equal(ngb_record_read(w->dir, &w->g.task[LU], &r), 0);
	assert_int_equal(pwrite(fd, "x", 1, st.st_size), 1);
	assert_int_equal(ngb_record_read(w->dir, &w->g.task[LU], &r), -EBADMSG);
	close(fd);
	snprintf(text, sizeof(text), "%s/%s/done", w->dir, w->g.task[LU + 1].name);
	assert_int_equal(rename(text, in(w, LU, "done")), 0);
	assert_int_equal(ngb_record_read(w->dir, &w->g.task[LU], &r), -EBADMSG);
}

static void a_wrong_value_is_refused(void **state)
{
	struct world *w = *state;
	struct ngb_record r;

	for (int i = 0; i < MG; i++)
		assert_int_equal(run(w, i), 0);
	damage(w, LU, "c", 20 * 123 + 15);
	assert_int_equal(run(w, MG), -EBADMSG);
	assert_int_equal(ngb_record_read(w->dir, &w->g.task[MG], &r), -ENOENT);
	damage(w, LU, "c", 20 * 123 + 15);
	assert_int_equal(truncate(in(w, LU, "c"), 34563), 0);
	assert_int_equal(run(w, MG), -EBADMSG);
	assert_int_equal(unlink(in(w, LU, "c")), 0);
	assert_int_equal(run(w, MG), -ENOENT);
}

/* A record in a pipe: whoever looks for it waits until it is written. */
static void pipe_instead(struct world *w, int task, char *text, size_t size)
{
	struct ngb_record r = { .host = "h", .iterations = task };
	FILE *f;

	assert_int_equal(ngb_record_write(w->dir, &w->g.task[task], &r), 0);
	f = fopen(in(w, task, "done"), "r");
	assert_non_null(f);
	text[fread(text, 1, size - 1, f)] = '\0';
	fclose(f);
	assert_int_equal(unlink(in(w, task, "done")), 0);
	assert_int_equal(mkfifo(in(w, task, "done"), 0644), 0);
}

struct pipes {
	char path[MG][NGB_PATH_MAX], text[MG][1024];
	bool in_time;
};

static bool fill(struct pipes *p, int i, double until)
{
	int fd;

	while ((fd = open(p->path[i], O_WRONLY | O_NONBLOCK)) < 0 && ngb_seconds() < until)
		usleep(1000);
	if (fd < 0)
		return false;
	(void)!write(fd, p->text[i], strlen(p->text[i]));
	close(fd);
	return true;
}

/* The last one first, each when somebody looks for it. If that does not happen: in the order of the tasks, so that the test ends. */
static void *fill_backwards(void *arg)
{
	struct pipes *p = arg;
	double until = ngb_seconds() + 10;

	p->in_time = true;
	for (int i = MG - 1; i >= 0; i--)
		p->in_time = p->in_time && fill(p, i, until);
	for (int i = 0; i < MG && !p->in_time; i++)
		fill(p, i, until + 10);
	return NULL;
}

/* A look that takes long, as at a far server, holds up no look for another record. */
static void records_are_looked_for_together(void **state)
{
	struct world *w = *state;
	struct ngb_look look = { .poll_ms = 1, .by_name = true, .deadline = ngb_seconds() + 60 };
	const struct ngb_task *t[MG];
	struct ngb_record r[MG];
	struct pipes p;
	pthread_t writer;
	int wrong;

	for (int i = 0; i < MG; i++) {
		t[i] = &w->g.task[i];
		pipe_instead(w, i, p.text[i], sizeof(p.text[i]));
		strcpy(p.path[i], in(w, i, "done"));
	}
	assert_int_equal(pthread_create(&writer, NULL, fill_backwards, &p), 0);
	assert_int_equal(ngb_records_wait(w->dir, t, MG, r, &look, &wrong), 0);
	pthread_join(writer, NULL);
	assert_true(p.in_time);
	for (int i = 0; i < MG; i++)
		assert_int_equal(r[i].iterations, i);
}

/* One that is none: nobody waits for the others any more. */
static void a_bad_record_ends_the_wait(void **state)
{
	struct world *w = *state;
	struct ngb_look look = { .poll_ms = 1, .by_name = true, .deadline = ngb_seconds() + 60 };
	const struct ngb_task *t[MG];
	struct ngb_record r[MG];
	int fd = open(in(w, 1, "done"), O_WRONLY | O_CREAT, 0644), wrong;

	assert_true(fd >= 0);
	close(fd);
	for (int i = 0; i < MG; i++)
		t[i] = &w->g.task[i];
	assert_int_equal(ngb_records_wait(w->dir, t, MG, r, &look, &wrong), -EBADMSG);
	assert_int_equal(wrong, 1);
	assert_true(ngb_seconds() < look.deadline - 30);
}

/* A record that says other sums than its readers'. */
static void the_report_compares(void **state)
{
	struct world *w = *state;
	struct ngb_record r;
	char *text;
	int rc;

	run_all(w);
	assert_int_equal(ngb_record_read(w->dir, &w->g.task[LU], &r), 0);
	assert_int_equal(unlink(in(w, LU, "done")), 0);
	r.out[NGB_KIND_SOUND].hash ^= 1;
	assert_int_equal(ngb_record_write(w->dir, &w->g.task[LU], &r), 0);
	text = report(w, &rc);
	assert_int_equal(rc, -EBADMSG);
	assert_non_null(strstr(text, "wrong: 03-MG read 00-LU/c otherwise than it was written"));
	assert_non_null(strstr(text, "wrong: 04-MG read 00-LU/c otherwise than it was written"));
	assert_null(strstr(text, "consistent"));
	free(text);
	r.out[NGB_KIND_SOUND].hash ^= 1;
	r.iterations--;
	assert_int_equal(ngb_record_write(w->dir, &w->g.task[LU], &r), 0);
	text = report(w, &rc);
	assert_int_equal(rc, -EBADMSG);
	assert_non_null(strstr(text, "wrong: 00-LU did 15 iterations, not 16"));
	free(text);
}

/* ED's first task is the benchmark as published. */
static void the_report_knows_published_values(void **state)
{
	struct world *w = *state;
	struct ngb_record r;
	char *text;
	int rc;

	assert_int_equal(ngb_graph_make(&w->g, "ED", NGB_CLASS_S), 0);
	for (int i = 0; i < w->g.ntasks; i++)
		assert_int_equal(mkdir(in(w, i, NULL), 0755) == 0 || errno == EEXIST, 1);
	run_all(w);
	text = report(w, &rc);
	assert_int_equal(rc, 0);
	free(text);
	assert_int_equal(ngb_record_read(w->dir, &w->g.task[0], &r), 0);
	r.result.value[2] *= 1 + 1e-6;
	assert_int_equal(ngb_record_write(w->dir, &w->g.task[0], &r), 0);
	text = report(w, &rc);
	assert_int_equal(rc, -EBADMSG);
	assert_non_null(strstr(text, "wrong: 00-SP is off the published values"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_graph, begin, end),
		cmocka_unit_test_setup_teardown(nothing_before_its_record, begin, end),
		cmocka_unit_test_setup_teardown(half_a_record_is_none, begin, end),
		cmocka_unit_test_setup_teardown(a_wrong_value_is_refused, begin, end),
		cmocka_unit_test_setup_teardown(records_are_looked_for_together, begin, end),
		cmocka_unit_test_setup_teardown(a_bad_record_ends_the_wait, begin, end),
		cmocka_unit_test_setup_teardown(the_report_compares, begin, end),
		cmocka_unit_test_setup_teardown(the_report_knows_published_values, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
