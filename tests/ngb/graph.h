/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The data flow graphs of the NAS Grid Benchmarks: which task runs which kernel for how long, and on whose solutions.
 * Tasks are numbered so that each comes after those it reads from.
 */
#ifndef NGB_GRAPH_H
#define NGB_GRAPH_H

#include "ngb/ngb.h"

#define NGB_TASKS_MAX 9
#define NGB_INPUTS_MAX 3
#define NGB_NAME_MAX 16

/* What of a producer's solution a consumer reads; names of files. */
enum ngb_kind {
	NGB_KIND_SOLUTION = 1, /* "u" */
	NGB_KIND_SOUND, /* "c": the speed of sound, one value a point, from a flow solver to MG */
	NGB_KINDS_END
};

/* What a task without inputs begins with. */
enum ngb_first {
	NGB_FIRST_INPUT = 1, /* it has inputs */
	NGB_FIRST_OWN, /* the benchmark's own field, times 1 + `disturbed` */
	NGB_FIRST_SURFACE, /* the same on the cube's surface, interpolated between its faces inside */
};

struct ngb_task {
	const struct ngb_kernel *kernel;
	char name[NGB_NAME_MAX]; /* "04-SP" */
	int number;
	int iterations;
	enum ngb_first first;
	double disturbed; /* 0: not at all */
	int ninputs;
	int input[NGB_INPUTS_MAX]; /* numbers of tasks */
};

struct ngb_graph {
	char name[3]; /* "HC" */
	enum ngb_class class;
	int ntasks;
	struct ngb_task task[NGB_TASKS_MAX];
};

/* name: ED, HC, VP or MB. -EINVAL: another one. */
int ngb_graph_make(struct ngb_graph *g, const char *name, enum ngb_class c);
/* S, W, A; 0: none of these. */
enum ngb_class ngb_class_of(const char *text);
char ngb_class_letter(enum ngb_class c);

/* What `consumer` reads of `producer`, whose solutions both kernels define. */
enum ngb_kind ngb_arc_kind(const struct ngb_task *producer, const struct ngb_task *consumer);
const char *ngb_kind_name(enum ngb_kind k);
/* The mesh of what a producer writes of this kind; v = NULL. */
void ngb_kind_mesh(const struct ngb_graph *g, const struct ngb_task *producer, enum ngb_kind k, struct ngb_field *f);
/* Whether any task of the graph reads this from `producer`. */
bool ngb_is_read(const struct ngb_graph *g, const struct ngb_task *producer, enum ngb_kind k);

#endif
