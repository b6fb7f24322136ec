/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ngb-node: everything of a run that happens at a site. One process is one task, or the report.
 *
 * Exit status: 0 done; 1 failed; 2 usage; 3 an input or a task did not come in time; 4 something is not what it must be.
 */
#include "ngb/task.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char usage_text[] =
	"ngb-node tasks  --graph ED|HC|VP|MB --class S|W|A               the tasks of a graph and what they read\n"
	"ngb-node make   --graph .. --class .. --dir DIR                 makes DIR and a directory for each task\n"
	"ngb-node task N --graph .. --class .. --dir DIR [--poll MS] [--wait SEC] [--look dir|name] [--threads N]\n"
	"ngb-node report --graph .. --class .. --dir DIR [--poll MS] [--wait SEC] [--look dir|name]\n"
	"ngb-node kernel BT|SP|LU|MG|FT --class .. [--threads N]         against the published values\n"
	"--threads N: 1 (default) to 64, which give the same results\n";

struct arguments {
	const char *verb, *what, *graph, *threads;
	enum ngb_class class;
	struct ngb_options o;
};

static int usage(void)
{
	fputs(usage_text, stderr);
	return 2;
}

static int status(int rc)
{
	return rc == 0 ? 0 : rc == -ETIMEDOUT ? 3 :
		rc == -EBADMSG		      ? 4 :
						1;
}

static int show_tasks(const struct ngb_graph *g)
{
	for (int i = 0; i < g->ntasks; i++) {
		const struct ngb_task *t = &g->task[i];

		printf("%d %s %s %d", i, t->name, t->kernel->name, t->iterations);
		for (int q = 0; q < t->ninputs; q++) {
			const struct ngb_task *p = &g->task[t->input[q]];
			enum ngb_kind kind = ngb_arc_kind(p, t);
			struct ngb_field f;

			ngb_kind_mesh(g, p, kind, &f);
			printf(" %s/%s:%llu", p->name, ngb_kind_name(kind), (unsigned long long)ngb_text_bytes(&f));
		}
		printf("\n");
	}
	return 0;
}

static int make_directory(const char *path)
{
	if (mkdir(path, 0755) == 0 || errno == EEXIST)
		return 0;
	fprintf(stderr, "ngb-node: %s: %s\n", path, strerror(errno));
	return 1;
}

static int make_directories(const struct ngb_graph *g, const char *dir)
{
	char path[NGB_PATH_MAX];

	if (make_directory(dir))
		return 1;
	for (int i = 0; i < g->ntasks; i++)
		if (ngb_path(path, dir, &g->task[i], NULL) || make_directory(path))
			return 1;
	return 0;
}

static int kernel(const char *name, enum ngb_class c)
{
	static const struct ngb_kernel *const all[] = { &ngb_bt, &ngb_sp, &ngb_lu, &ngb_mg, &ngb_ft };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct ngb_field solution;
		struct ngb_result result;
		double worst;
		bool ok;

		if (strcmp(name, all[i]->name))
			continue;
		if (all[i]->run(c, all[i]->iterations(c), NULL, &solution, &result))
			return status(-ENOMEM);
		free(solution.v);
		ok = all[i]->verify(c, &result, &worst);
		printf("%s %c: %s, largest relative error %.2g, %.2f s\n", name, ngb_class_letter(c), ok ? "verified" : "WRONG", worst,
		       result.seconds);
		return ok ? 0 : 4;
	}
	return usage();
}

/* The number of a task; -1: none. */
static int number(const struct ngb_graph *g, const char *text)
{
	char *end;
	long n = text ? strtol(text, &end, 10) : -1;

	return n >= 0 && n < g->ntasks && end != text && !*end ? (int)n : -1;
}

static int with_graph(const struct arguments *a)
{
	struct ngb_graph g;

	if (!a->graph || ngb_graph_make(&g, a->graph, a->class))
		return usage();
	if (!strcmp(a->verb, "tasks"))
		return show_tasks(&g);
	if (!a->o.dir)
		return usage();
	if (!strcmp(a->verb, "make"))
		return make_directories(&g, a->o.dir);
	if (!strcmp(a->verb, "report"))
		return status(ngb_report(&g, &a->o, stdout));
	if (!strcmp(a->verb, "task") && number(&g, a->what) >= 0)
		return status(ngb_task_run(&g, number(&g, a->what), &a->o));
	return usage();
}

/* False: no such number of threads, or not with this program; says why. */
static bool set_threads(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);
	int rc = end == text || *end || n < 1 || n > NGB_THREADS_MAX ? -EINVAL : ngb_threads_set((int)n);

	if (rc == -EINVAL)
		fprintf(stderr, "ngb-node: --threads is a number from 1 to %d, not '%s'\n", NGB_THREADS_MAX, text);
	else if (rc)
		fprintf(stderr, "ngb-node: --threads %ld: built without OpenMP, so with 1 thread only; build it with a compiler that has OpenMP, "
				"and with NGB_OPENMP=ON\n",
			n);
	return rc == 0;
}

static bool parse(int argc, char **argv, struct arguments *a)
{
	static const struct option options[] = { { "graph", 1, NULL, 'g' }, { "class", 1, NULL, 'c' }, { "dir", 1, NULL, 'd' }, { "poll", 1, NULL, 'p' }, { "wait", 1, NULL, 'w' }, { "look", 1, NULL, 'l' }, { "threads", 1, NULL, 't' }, { NULL, 0, NULL, 0 } };
	int c;

	*a = (struct arguments){ .o = { .poll_ms = 50, .wait_s = 3600 } };
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 'g':
			a->graph = optarg;
			break;
		case 'c':
			a->class = ngb_class_of(optarg);
			break;
		case 'd':
			a->o.dir = optarg;
			break;
		case 'p':
			a->o.poll_ms = atoi(optarg);
			break;
		case 'w':
			a->o.wait_s = atof(optarg);
			break;
		case 'l':
			a->o.by_name = !strcmp(optarg, "name");
			if (!a->o.by_name && strcmp(optarg, "dir"))
				return false;
			break;
		case 't':
			a->threads = optarg;
			break;
		default:
			return false;
		}
	a->verb = optind < argc ? argv[optind++] : NULL;
	a->what = optind < argc ? argv[optind++] : NULL;
	return a->verb && a->class && a->o.poll_ms > 0 && a->o.wait_s >= 0 && optind == argc;
}

/*
 * Threads that wait for one another sleep: the other tasks of the host, and a thread that has lost its processor, need the processors more than a loop that looks
 * for the end of the wait. OpenMP's library reads this when the program starts; it is linked statically, so a constructor with a priority runs before it does.
 */
static void __attribute__((constructor(101))) sleep_while_waiting(void)
{
	setenv("OMP_WAIT_POLICY", "passive", 0);
}

int main(int argc, char **argv)
{
	struct arguments a;

	if (!parse(argc, argv, &a))
		return usage();
	if (a.threads && !set_threads(a.threads))
		return 2;
	if (!strcmp(a.verb, "kernel"))
		return a.what ? kernel(a.what, a.class) : usage();
	return with_graph(&a);
}
