/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One task. Happy path: wait for the records of all inputs; read each input's file, compare it with the record, interpolate it to the own
 * mesh; divide by their number; run the kernel; write what others read, then the record.
 *
 * Failure modes: an input that does not come (-ETIMEDOUT), one that is not what its record says (-EBADMSG), memory, the file system.
 * A task that fails leaves no record, so its consumers do not start. Invariant: nothing is read before its record is there.
 */
#include "ngb/task.h"
#include "ngb/kernels/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failed(const struct ngb_task *t, int rc, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int failed(const struct ngb_task *t, int rc, const char *format, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", t->name);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fprintf(stderr, ": %s\n", rc == -EBADMSG ? "not what was written" : strerror(-rc));
	return rc;
}

/* The file of an arc, on its producer's mesh. */
static int read_arc(const struct ngb_graph *g, const struct ngb_task *t, const struct ngb_task *producer, const char *dir,
		    const struct ngb_record *producers, struct ngb_field *f, struct ngb_sum *sum)
{
	enum ngb_kind kind = ngb_arc_kind(producer, t);
	char path[NGB_PATH_MAX];
	int rc = ngb_path(path, dir, producer, ngb_kind_name(kind)), fd;

	if (rc)
		return failed(t, rc, "%s", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return failed(t, -errno, "%s", path);
	ngb_kind_mesh(g, producer, kind, f);
	rc = ngb_read_field(fd, f, sum);
	close(fd);
	if (rc == 0 && !ngb_sum_equal(sum, &producers->out[kind])) {
		free(f->v);
		f->v = NULL;
		rc = -EBADMSG;
	}
	return rc ? failed(t, rc, "%s", path) : 0;
}

/* The mean of all inputs, on the task's own mesh. initial->v = NULL: there are none. */
static int gather(const struct ngb_graph *g, const struct ngb_task *t, const struct ngb_options *o, struct ngb_record *r, struct ngb_field *initial)
{
	struct ngb_record producers[NGB_INPUTS_MAX];
	double start = ngb_seconds();
	struct ngb_look look = { o->poll_ms, o->by_name, start + o->wait_s };
	const struct ngb_task *inputs[NGB_INPUTS_MAX];
	int rc, wrong;

	t->kernel->mesh(g->class, initial);
	for (int i = 0; i < t->ninputs; i++)
		inputs[i] = &g->task[t->input[i]];
	rc = ngb_records_wait(o->dir, inputs, t->ninputs, producers, &look, &wrong);
	if (rc)
		return failed(t, rc, "waiting for %s", inputs[wrong]->name);
	r->wait_s = ngb_seconds() - start;
	if (t->ninputs > 0) {
		initial->v = calloc((size_t)initial->nx * initial->ny * initial->nz * initial->nvar, sizeof(double));
		if (!initial->v)
			return failed(t, -ENOMEM, "initial field");
	}
	start = ngb_seconds();
	for (int i = 0; i < t->ninputs; i++) {
		struct ngb_field f;

		rc = read_arc(g, t, &g->task[t->input[i]], o->dir, &producers[i], &f, &r->in[i]);

		if (rc)
			return rc;
		ngb_add_interpolated(&f, initial);
		free(f.v);
	}
	if (t->ninputs > 0)
		ngb_scale(initial, 1.0 / t->ninputs);
	r->read_s = ngb_seconds() - start;
	return 0;
}

/* Without inputs: from the benchmark's own field, which a run without iterations leaves. initial->v = NULL: exactly this one. */
static int begin(const struct ngb_graph *g, const struct ngb_task *t, struct ngb_field *initial)
{
	struct ngb_result unused;
	int rc;

	if (t->first == NGB_FIRST_INPUT || (t->first == NGB_FIRST_OWN && t->disturbed == 0))
		return 0;
	rc = t->kernel->run(g->class, 0, NULL, initial, &unused);
	if (rc == 0 && t->first == NGB_FIRST_SURFACE)
		ngb_fill_from_surface(initial);
	if (rc == 0)
		ngb_scale(initial, 1 + t->disturbed);
	return rc;
}

static int run(const struct ngb_graph *g, const struct ngb_task *t, struct ngb_field *initial, struct ngb_record *r, struct ngb_field *solution)
{
	double start = ngb_seconds();
	int rc = begin(g, t, initial);

	if (rc == 0)
		rc = t->kernel->run(g->class, t->iterations, initial->v ? initial : NULL, solution, &r->result);
	if (rc)
		return failed(t, rc, "%s", t->kernel->name);
	r->iterations = t->iterations;
	r->run_s = ngb_seconds() - start;
	return 0;
}

static int write_field(const struct ngb_task *t, const char *dir, enum ngb_kind k, const struct ngb_field *f, struct ngb_sum *sum)
{
	int fd = ngb_create(dir, t, ngb_kind_name(k)), rc;

	if (fd < 0)
		return fd;
	rc = ngb_write_field(fd, f, sum);
	if (rc) {
		close(fd);
		return rc;
	}
	return ngb_publish(fd, dir, t, ngb_kind_name(k));
}

static int write_sound(const struct ngb_task *t, const char *dir, const struct ngb_field *solution, struct ngb_sum *sum)
{
	struct ngb_field c;
	int rc = ngb_sound_speed(solution, &c);

	if (rc)
		return rc;
	rc = write_field(t, dir, NGB_KIND_SOUND, &c, sum);
	free(c.v);
	return rc;
}

static int put(const struct ngb_graph *g, const struct ngb_task *t, const char *dir, const struct ngb_field *solution, struct ngb_record *r)
{
	double start = ngb_seconds();
	int rc;

	if (ngb_is_read(g, t, NGB_KIND_SOLUTION)) {
		rc = write_field(t, dir, NGB_KIND_SOLUTION, solution, &r->out[NGB_KIND_SOLUTION]);
		r->solution = r->out[NGB_KIND_SOLUTION];
	} else {
		rc = ngb_write_field(-1, solution, &r->solution);
	}
	if (rc == 0 && ngb_is_read(g, t, NGB_KIND_SOUND))
		rc = write_sound(t, dir, solution, &r->out[NGB_KIND_SOUND]);
	r->write_s = ngb_seconds() - start;
	if (rc == 0)
		rc = ngb_record_write(dir, t, r);
	return rc ? failed(t, rc, "writing to %s", dir) : 0;
}

int ngb_task_run(const struct ngb_graph *g, int number, const struct ngb_options *o)
{
	const struct ngb_task *t = &g->task[number];
	struct ngb_field initial = { 0 }, solution = { 0 };
	struct ngb_record r;
	int rc = ngb_record_read(o->dir, t, &r);

	if (rc != -ENOENT)
		return failed(t, rc ? rc : -EEXIST, "%s", o->dir);
	memset(&r, 0, sizeof(r));
	if (gethostname(r.host, NGB_HOST_MAX) < 0 || !*r.host || strpbrk(r.host, " \t\n"))
		strcpy(r.host, "?");
	rc = gather(g, t, o, &r, &initial);
	if (rc == 0)
		rc = run(g, t, &initial, &r, &solution);
	free(initial.v);
	if (rc == 0)
		rc = put(g, t, o->dir, &solution, &r);
	free(solution.v);
	return rc;
}
