/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * See graph.h. README.md, "What was decided", says where the definitions leave a choice.
 *
 * ED: nine SP, no arcs.  HC: BT, SP, LU three times, each reads the one before.  VP: three steps of BT, MG, FT; BT and FT also read the
 * same kernel's of the step before.  MB: three layers of three, LU, MG, FT; a task reads from the column left of it, its own, and the one right
 * of it; the further right, the fewer iterations.
 */
#include "ngb/graph.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WIDTH 3
#define STEPS 3
#define ED_TASKS 9
#define HC_TASKS 9

static struct ngb_task *add(struct ngb_graph *g, const struct ngb_kernel *kernel, int depth)
{
	struct ngb_task *t = &g->task[g->ntasks];

	*t = (struct ngb_task){ .kernel = kernel, .number = g->ntasks, .iterations = kernel->iterations(g->class) / depth, .first = NGB_FIRST_SURFACE };
	if (t->iterations < 1)
		t->iterations = 1;
	snprintf(t->name, sizeof(t->name), "%02d-%s", t->number, kernel->name);
	g->ntasks++;
	return t;
}

static void reads(struct ngb_task *t, int producer)
{
	t->first = NGB_FIRST_INPUT;
	t->input[t->ninputs++] = producer;
}

static void make_ed(struct ngb_graph *g)
{
	for (int i = 0; i < ED_TASKS; i++) {
		struct ngb_task *t = add(g, &ngb_sp, 1);

		t->first = NGB_FIRST_OWN;
		t->disturbed = 0.001 * i;
	}
}

static void make_hc(struct ngb_graph *g)
{
	static const struct ngb_kernel *const turn[] = { &ngb_bt, &ngb_sp, &ngb_lu };

	for (int i = 0; i < HC_TASKS; i++) {
		struct ngb_task *t = add(g, turn[i % 3], HC_TASKS);

		if (i > 0)
			reads(t, i - 1);
	}
}

static void make_vp(struct ngb_graph *g)
{
	for (int step = 0; step < STEPS; step++) {
		struct ngb_task *bt = add(g, &ngb_bt, STEPS), *mg = add(g, &ngb_mg, STEPS), *ft = add(g, &ngb_ft, STEPS);

		if (step > 0)
			reads(bt, bt->number - WIDTH);
		reads(mg, bt->number);
		reads(ft, mg->number);
		if (step > 0)
			reads(ft, ft->number - WIDTH);
	}
}

static void make_mb(struct ngb_graph *g)
{
	static const struct ngb_kernel *const layer[] = { &ngb_lu, &ngb_mg, &ngb_ft };

	for (int step = 0; step < STEPS; step++)
		for (int column = 0; column < WIDTH; column++) {
			struct ngb_task *t = add(g, layer[step], STEPS);

			t->iterations = (int)(t->iterations * (1 - 0.5 * column / (column + 1)));
			if (t->iterations < 1)
				t->iterations = 1;
			for (int from = column - 1; step > 0 && from <= column + 1; from++)
				if (from >= 0 && from < WIDTH)
					reads(t, (step - 1) * WIDTH + from);
		}
}

int ngb_graph_make(struct ngb_graph *g, const char *name, enum ngb_class c)
{
	static const struct {
		const char *name;
		void (*make)(struct ngb_graph *g);
	} graphs[] = { { "ED", make_ed }, { "HC", make_hc }, { "VP", make_vp }, { "MB", make_mb } };

	memset(g, 0, sizeof(*g));
	g->class = c;
	for (size_t i = 0; i < sizeof(graphs) / sizeof(graphs[0]); i++)
		if (!strcmp(name, graphs[i].name)) {
			memcpy(g->name, name, 3);
			graphs[i].make(g);
			return 0;
		}
	return -EINVAL;
}

enum ngb_class ngb_class_of(const char *text)
{
	if (strlen(text) != 1)
		return 0;
	return *text == 'S' ? NGB_CLASS_S : *text == 'W' ? NGB_CLASS_W :
		*text == 'A'				 ? NGB_CLASS_A :
							   0;
}

char ngb_class_letter(enum ngb_class c)
{
	return " SWA"[c];
}

enum ngb_kind ngb_arc_kind(const struct ngb_task *producer, const struct ngb_task *consumer)
{
	struct ngb_field from, to;

	producer->kernel->mesh(NGB_CLASS_S, &from);
	consumer->kernel->mesh(NGB_CLASS_S, &to);
	return from.nvar == to.nvar ? NGB_KIND_SOLUTION : NGB_KIND_SOUND;
}

const char *ngb_kind_name(enum ngb_kind k)
{
	return k == NGB_KIND_SOLUTION ? "u" : "c";
}

void ngb_kind_mesh(const struct ngb_graph *g, const struct ngb_task *producer, enum ngb_kind k, struct ngb_field *f)
{
	producer->kernel->mesh(g->class, f);
	if (k == NGB_KIND_SOUND)
		f->nvar = 1;
}

bool ngb_is_read(const struct ngb_graph *g, const struct ngb_task *producer, enum ngb_kind k)
{
	for (const struct ngb_task *t = g->task; t < g->task + g->ntasks; t++)
		for (int i = 0; i < t->ninputs; i++)
			if (t->input[i] == producer->number && ngb_arc_kind(producer, t) == k)
				return true;
	return false;
}
