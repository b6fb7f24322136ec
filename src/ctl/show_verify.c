/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Lines of a verify for people: differences to the output, a progress bar beside it, a sentence at the end. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "ctl/ctl.h"

#define BAR 20
#define PRINTED_MAX 1000 /* lines of what a repair did */

static void wipe(struct show_verify *v)
{
	if (v->bar && v->bar_drawn)
		fprintf(v->bar, "\r\033[K");
	v->bar_drawn = false;
}

static void draw(struct show_verify *v, const json_t *p)
{
	uint64_t n = get_num(p, "objects"), total = get_num(p, "total");
	bool counting = strcmp(get_text(p, "phase"), "count") == 0;
	char a[FORMAT_LEN], b[FORMAT_LEN], c[FORMAT_LEN], d[FORMAT_LEN], e[FORMAT_LEN];
	int full = total ? (int)(BAR * (double)(n < total ? n : total) / (double)total) : 0;

	if (!v->bar)
		return;
	wipe(v);
	if (counting) {
		fprintf(v->bar, "counting: %s objects", format_count(a, total));
	} else {
		fprintf(v->bar, "[%.*s%*s] %s of %s objects, %s/s, %s/s", full, "####################", BAR - full, "", format_count(a, n),
			format_count(b, total), format_count(c, get_real(p, "objects_per_second") > 0 ? (uint64_t)get_real(p, "objects_per_second") : 0),
			format_bytes(d, get_real(p, "bytes_per_second") > 0 ? get_real(p, "bytes_per_second") : 0));
		if (get_real(p, "eta_seconds") >= 0)
			fprintf(v->bar, ", %s remaining", format_seconds(e, get_real(p, "eta_seconds")));
		if (get_num(p, "differences"))
			fprintf(v->bar, ", %s differ", format_count(e, get_num(p, "differences")));
		if (get_num(p, "retrying"))
			fprintf(v->bar, ", %s again", format_count(e, get_num(p, "retrying")));
	}
	fflush(v->bar);
	v->bar_drawn = true;
}

static void print_side(FILE *out, const char *where, const json_t *side)
{
	char n[FORMAT_LEN];

	if (*get_text(side, "problem"))
		fprintf(out, "%s: %s", where, get_text(side, "problem"));
	else
		fprintf(out, "%s: version %" PRIu64 ", size %s", where, get_num(side, "version"), format_count(n, get_num(side, "bytes")));
}

static void print_difference(struct show_verify *v, const json_t *d)
{
	char *path = nfs4r_text_line_new(get_text(d, "path"));

	fprintf(v->out, "%s  [%s]  server %" PRIu64 ": %s (", path ? path : "", get_text(d, "oid"), get_num(d, "server"), get_text(d, "what"));
	print_side(v->out, "here", json_object_get(d, "here"));
	fprintf(v->out, "; ");
	print_side(v->out, "there", json_object_get(d, "there"));
	fprintf(v->out, ")\n");
	free(path);
}

/* A name that leads elsewhere on the disk of a server. */
static void print_name(struct show_verify *v, const json_t *n)
{
	const char *dir = get_text(n, "directory");
	char *safe_dir = nfs4r_text_line_new(strcmp(dir, "/") ? dir : ""), *name = nfs4r_text_line_new(get_text(n, "name"));

	fprintf(v->out, "%s/%s  server %" PRIu64 ": %s\n", safe_dir ? safe_dir : "", name ? name : "", get_num(n, "server"), get_text(n, "what"));
	free(safe_dir);
	free(name);
}

static void print_mend(struct show_verify *v, const json_t *m, const char *done)
{
	char *path = nfs4r_text_line_new(get_text(m, "path")), *why = nfs4r_text_line_new(get_text(m, "why"));

	if (v->printed++ == PRINTED_MAX)
		fprintf(v->out, "(more than %d; the file named below has the whole list)\n", PRINTED_MAX);
	if (v->printed <= PRINTED_MAX)
		fprintf(v->out, "%s  %s: %s%s", path ? path : "", done, get_text(m, "what"), why ? why : "");
	if (v->printed <= PRINTED_MAX && get_num(m, "from"))
		fprintf(v->out, ", taken from server %" PRIu64, get_num(m, "from"));
	if (v->printed <= PRINTED_MAX)
		fprintf(v->out, "\n");
	free(path);
	free(why);
}

static void print_repaired(struct show_verify *v, const json_t *r)
{
	char a[FORMAT_LEN], b[FORMAT_LEN];

	if (!json_object_get(r, "repaired"))
		return;
	fprintf(v->out, "%s: %s object%s", json_is_true(json_object_get(r, "dry_run")) ? "to be repaired here" : "repaired here", format_count(a, get_num(r, "repaired")),
		get_num(r, "repaired") == 1 ? "" : "s");
	if (get_num(r, "unrepaired"))
		fprintf(v->out, "; %s could not be repaired", format_count(b, get_num(r, "unrepaired")));
	if (*get_text(r, "list"))
		fprintf(v->out, "; the whole list is in %s", get_text(r, "list"));
	fprintf(v->out, "\n");
}

static void print_result(struct show_verify *v, const json_t *r)
{
	char a[FORMAT_LEN], b[FORMAT_LEN], c[FORMAT_LEN], d[FORMAT_LEN];
	uint64_t differences = get_num(r, "differences"), changing = get_num(r, "changing");
	bool partly = json_array_size(json_object_get(r, "unreachable"));
	json_t *id;
	size_t i;

	fprintf(v->out, "%s object%s, %s compared in %s: ", format_count(a, get_num(r, "objects")), get_num(r, "objects") == 1 ? "" : "s",
		format_bytes(b, (double)get_num(r, "bytes")), format_seconds(c, get_real(r, "seconds")));
	if (differences)
		fprintf(v->out, "%s difference%s", format_count(d, differences), differences == 1 ? "" : "s");
	else
		fprintf(v->out, "equal on %s", partly ? "all servers that answered" : "all servers");
	if (get_num(r, "names"))
		fprintf(v->out, ", %s name%s that are only on the disk or only in the volume", format_count(d, get_num(r, "names")), get_num(r, "names") == 1 ? "" : "s");
	if (changing)
		fprintf(v->out, ", %s of them because the object kept changing; try again later", format_count(d, changing));
	fprintf(v->out, "%s\n", json_is_true(json_object_get(r, "cut_short")) ? "; too many: the rest was not compared" : "");
	if (json_is_true(json_object_get(r, "importing")))
		fprintf(v->out, "an import is running at this server: only the part of the tree that is in the volume was compared\n");
	json_array_foreach(json_object_get(r, "importing_elsewhere"), i, id)
		fprintf(v->out, "an import is running at server %lld: only the part of the tree that is in the volume was compared\n", (long long)json_integer_value(id));
	print_repaired(v, r);
}

void show_verify_line(struct show_verify *v, const json_t *line)
{
	const json_t *p = json_object_get(line, "progress"), *d = json_object_get(line, "difference"), *u = json_object_get(line, "unreachable"),
		     *r = json_object_get(line, "result"), *n = json_object_get(line, "name"), *m = json_object_get(line, "repair"),
		     *l = json_object_get(line, "unrepaired");

	if (p) {
		draw(v, p);
		return;
	}
	wipe(v);
	if (d)
		print_difference(v, d);
	if (n)
		print_name(v, n);
	if (m)
		print_mend(v, m, "repaired");
	if (l)
		print_mend(v, l, "NOT repaired");
	if (u)
		fprintf(v->out, "server %" PRIu64 " does not answer: %s\n", get_num(u, "server"), get_text(u, "why"));
	if (r) {
		uint64_t status = get_num(r, "status");

		print_result(v, r);
		v->status = status <= CTL_FAILED ? (int)status : CTL_FAILED;
		v->over = true;
	}
	fflush(v->out);
}
