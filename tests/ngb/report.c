/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The report on a run (task.h). Its lines: "sum TASK WHAT BYTES HASH", which are the same in every run of a graph and class, and
 * "time TASK HOST WAIT READ RUN WRITE", which are not; then "consistent" or what is wrong. Whoever has the sums of a run in one local directory
 * compares (the runner).
 *
 * Failure modes: a task that does not end (-ETIMEDOUT); an input that was read otherwise than it was written.
 */
#include "ngb/kernels/clock.h"
#include "ngb/task.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct report {
	FILE *out;
	int wrong;
};

static void sum(struct report *r, const struct ngb_task *t, const char *what, const struct ngb_sum *s)
{
	fprintf(r->out, "sum %s %s %" PRIu64 " %016" PRIx64 "\n", t->name, what, s->bytes, s->hash);
}

static void inputs(struct report *r, const struct ngb_graph *g, const struct ngb_task *t, const struct ngb_record *records)
{
	for (int i = 0; i < t->ninputs; i++) {
		const struct ngb_task *p = &g->task[t->input[i]];
		enum ngb_kind kind = ngb_arc_kind(p, t);

		if (ngb_sum_equal(&records[t->number].in[i], &records[p->number].out[kind]))
			continue;
		fprintf(r->out, "wrong: %s read %s/%s otherwise than it was written\n", t->name, p->name, ngb_kind_name(kind));
		r->wrong++;
	}
}

static void one(struct report *r, const struct ngb_graph *g, const struct ngb_task *t, const struct ngb_record *records)
{
	const struct ngb_record *mine = &records[t->number];

	for (int k = 1; k < NGB_KINDS_END; k++)
		if (mine->out[k].bytes)
			sum(r, t, ngb_kind_name(k), &mine->out[k]);
	sum(r, t, "solution", &mine->solution);
	inputs(r, g, t, records);
	if (mine->iterations != t->iterations) {
		fprintf(r->out, "wrong: %s did %d iterations, not %d\n", t->name, mine->iterations, t->iterations);
		r->wrong++;
	}
	fprintf(r->out, "time %s %s %.3f %.3f %.3f %.3f\n", t->name, mine->host, mine->wait_s, mine->read_s, mine->run_s, mine->write_s);
}

/* Does a task of the graph what the benchmark publishes values for? */
static void published(struct report *r, const struct ngb_graph *g, const struct ngb_task *t, const struct ngb_record *mine)
{
	double worst;

	if (t->first != NGB_FIRST_OWN || t->disturbed != 0 || t->iterations != t->kernel->iterations(g->class))
		return;
	if (t->kernel->verify(g->class, &mine->result, &worst))
		return;
	fprintf(r->out, "wrong: %s is off the published values by %.3g\n", t->name, worst);
	r->wrong++;
}

int ngb_report(const struct ngb_graph *g, const struct ngb_options *o, FILE *out)
{
	struct report r = { .out = out };
	struct ngb_record records[NGB_TASKS_MAX];
	struct ngb_look look = { o->poll_ms, o->by_name, ngb_seconds() + o->wait_s };
	const struct ngb_task *tasks[NGB_TASKS_MAX];
	int rc, wrong;

	for (int i = 0; i < g->ntasks; i++)
		tasks[i] = &g->task[i];
	rc = ngb_records_wait(o->dir, tasks, g->ntasks, records, &look, &wrong);
	if (rc) {
		fprintf(out, "wrong: no record of %s: %s\n", tasks[wrong]->name, strerror(-rc));
		return rc;
	}
	for (int i = 0; i < g->ntasks; i++) {
		one(&r, g, &g->task[i], records);
		published(&r, g, &g->task[i], &records[i]);
	}
	if (r.wrong == 0)
		fprintf(out, "consistent\n");
	return r.wrong ? -EBADMSG : 0;
}
