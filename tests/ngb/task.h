/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One task of a graph, and the report on all of them. */
#ifndef NGB_TASK_H
#define NGB_TASK_H

#include "ngb/graph.h"
#include "ngb/record.h"

#include <stdio.h>

struct ngb_options {
	const char *dir; /* of the run; shared by all tasks */
	int poll_ms;
	bool by_name; /* how to look for records: struct ngb_look */
	double wait_s; /* for all inputs together, or for all tasks (report) */
};

/* Waits for the inputs, reads them, runs, writes, and leaves the record. 0, or -errno with a line on stderr; -EEXIST: already done. */
int ngb_task_run(const struct ngb_graph *g, int number, const struct ngb_options *o);

/*
 * Waits for all tasks and prints what they left. Every consumer must have read what its producer wrote, and a task that does exactly what
 * its benchmark publishes values for must have these. 0; -EBADMSG: not so; -ETIMEDOUT; -errno.
 */
int ngb_report(const struct ngb_graph *g, const struct ngb_options *o, FILE *out);

#endif
