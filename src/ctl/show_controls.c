/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Controls and waiting operations for people. Deep controls come first, because one of them decides for everything below a
 * directory; then by path. Whoever reads this usually asks "why is that slow": so a control says who has not acked it,
 * when it ends and who wants it, and an operation says on which servers it waits and for how long.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl.h"

/* Up to 15 servers: "server 2" or "servers 2, 3". */
static const char *servers_text(char *buf, size_t len, const json_t *list)
{
	int n = snprintf(buf, len, "server%s", json_array_size(list) == 1 ? "" : "s");

	for (size_t i = 0; i < json_array_size(list) && n < (int)len; i++)
		n += snprintf(buf + n, len - (size_t)n, "%s %lld", i ? "," : "",
			      (long long)json_integer_value(json_array_get(list, i)));
	return buf;
}

/* ---- controls ---- */

static int rank_of(const json_t *c)
{
	const char *depth = get_text(c, "depth");

	return strcmp(depth, "deep+") == 0 ? 0 : strcmp(depth, "deep") == 0 ? 1 :
									      2;
}

static int by_depth_and_path(const void *a, const void *b)
{
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
	char bx[100], by[100];
	int d = rank_of(x) - rank_of(y);

	if (!d)
		d = strcmp(show_path_or_oid(x, bx), show_path_or_oid(y, by));
	if (!d)
		d = (int)get_num(x, "owner") - (int)get_num(y, "owner");
	return d ? d : strcmp(get_text(x, "pid"), get_text(y, "pid"));
}

static bool wanted(const json_t *c, const struct show_filter *f, uint64_t self)
{
	return (!f->deep || rank_of(c) < 2) && (!f->own || get_num(c, "owner") == self) && (!f->owner || get_num(c, "owner") == f->owner);
}

/* Rows that pass the filter, sorted; heap, *n of them. */
static const json_t **pick(const json_t *a, const struct show_filter *f, size_t *n)
{
	const json_t *list = json_object_get(a, "controls");
	const json_t **rows = malloc((json_array_size(list) + 1) * sizeof(rows[0]));
	size_t i;
	json_t *c;

	*n = 0;
	if (!rows)
		return NULL;
	json_array_foreach(list, i, c) if (wanted(c, f, get_num(a, "server")))
		rows[(*n)++] = c;
	qsort(rows, *n, sizeof(rows[0]), by_depth_and_path);
	return rows;
}

static bool in_list(const json_t *list, uint64_t id)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if ((uint64_t)json_integer_value(json_array_get(list, i)) == id)
			return true;
	return false;
}

/* "won", or with what is missing: "won, no ack of 3". Only elections collect acks. */
static void state_cell(struct table *t, const json_t *c, const json_t *servers)
{
	const json_t *acks = json_object_get(c, "acks");
	bool elected = strcmp(get_text(c, "kind"), "proposed") == 0, closing = json_is_integer(json_object_get(c, "closes_at"));
	char text[200];
	int n = snprintf(text, sizeof(text), "%.20s", get_text(c, "state")), missing = 0;

	for (size_t i = 0; json_is_array(acks) && elected && !closing && i < json_array_size(servers); i++) {
		long long id = (long long)json_integer_value(json_array_get(servers, i));

		if (!in_list(acks, (uint64_t)id) && n < (int)sizeof(text))
			n += snprintf(text + n, sizeof(text) - (size_t)n, "%s %lld", missing++ ? "" : ", no ack of", id);
	}
	if (closing)
		snprintf(text + n, sizeof(text) - (size_t)n, ", until all hold entry %" PRIu64, get_num(c, "closes_at"));
	table_cell(t, text);
}

static void below_cell(struct table *t, const json_t *c)
{
	const char *server;
	char text[400] = "-";
	int n = 0;
	json_t *v;

	json_object_foreach(json_object_get(c, "below"), server, v) if (n < (int)sizeof(text))
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%.3s:%lld", n ? " " : "", server,
			      (long long)json_integer_value(v));
	table_cell(t, text);
}

static void timer_cell(struct table *t, const json_t *c)
{
	const json_t *ms = json_object_get(c, "ends_in_ms");
	char text[FORMAT_LEN];

	table_cell(t, json_is_integer(ms) ? format_seconds(text, (double)json_integer_value(ms) / 1000) : "-");
}

static void use_cell(struct table *t, const json_t *c)
{
	uint64_t waiting = get_num(c, "ops_waiting"), executing = get_num(c, "ops_executing");
	char text[100] = "-";

	if (waiting && executing)
		snprintf(text, sizeof(text), "%" PRIu64 " waiting, %" PRIu64 " executing", waiting, executing);
	else if (waiting || executing)
		snprintf(text, sizeof(text), "%" PRIu64 " %s", waiting ? waiting : executing, waiting ? "waiting" : "executing");
	table_cell(t, text);
}

static void number_cell(struct table *t, const json_t *c, const char *key)
{
	char n[FORMAT_LEN];

	table_cell(t, get_num(c, key) ? format_count(n, get_num(c, key)) : "-");
}

static void control_row(struct table *t, const json_t *c, const json_t *servers)
{
	char buf[100];

	table_cell(t, get_text(c, "depth"));
	snprintf(buf, sizeof(buf), "%.20s%s", get_text(c, "kind"), json_is_true(json_object_get(c, "policy")) ? ", policy" : "");
	table_cell(t, buf);
	number_cell(t, c, "owner");
	state_cell(t, c, servers);
	timer_cell(t, c);
	below_cell(t, c);
	use_cell(t, c);
	number_cell(t, c, "reads_served");
	number_cell(t, c, "wanted_by");
	table_cell(t, show_path_or_oid(c, buf));
}

static void print_table(const json_t *a, const json_t **rows, size_t n, FILE *out)
{
	static const char *const head[] = { "DEPTH", "KIND", "OWNER", "STATE", "ENDS IN",
					    "BELOW", "OPERATIONS", "READS", "WANTED BY", "PATH" };
	struct table *t = table_with_head(10, head);

	for (size_t i = 0; i < n; i++)
		control_row(t, rows[i], json_object_get(a, "servers"));
	table_print(t, out);
}

static void controls_part(const json_t *a, const struct show_filter *f, FILE *out)
{
	size_t n, have = json_array_size(json_object_get(a, "controls"));
	const json_t **rows = pick(a, f, &n);
	char n1[FORMAT_LEN], n2[FORMAT_LEN];

	if (!rows)
		fprintf(out, "out of memory\n");
	else if (!have)
		fprintf(out, "no controls: no object is being changed\n");
	else if (!n)
		fprintf(out, "none of the %s controls matches\n", format_count(n1, have));
	else
		print_table(a, rows, n, out);
	if (json_is_true(json_object_get(a, "truncated")))
		fprintf(out, "showing %s of %s controls\n", format_count(n1, have),
			format_count(n2, get_num(a, "total")));
	free(rows);
}

/* ---- operations ---- */

static void waiting_row(struct table *t, const json_t *w)
{
	const json_t *on = json_object_get(w, "on"), *name = json_object_get(w, "name");
	char text[600], s[FORMAT_LEN], buf[100];
	const char *dir = show_path_or_oid(w, buf);
	char *where = NULL;
	size_t len;
	FILE *f;

	table_cell(t, get_text(w, "op"));
	snprintf(text, sizeof(text), "server %" PRIu64, get_num(w, "from"));
	table_cell(t, json_is_true(json_object_get(w, "remote")) ? text : "client");
	table_cell(t, format_seconds(s, (double)get_num(w, "waited_ms") / 1000));
	number_cell(t, w, "attempts");
	snprintf(text, sizeof(text), "%.200s%s", get_text(w, "state"), json_array_size(on) ? ": " : "");
	if (json_array_size(on))
		servers_text(text + strlen(text), sizeof(text) - strlen(text), on);
	table_cell(t, text);
	f = open_memstream(&where, &len);
	if (f && json_is_string(name))
		fprintf(f, "%s/%s", strcmp(dir, "/") ? dir : "", json_string_value(name));
	else if (f)
		fputs(dir, f);
	if (f)
		fclose(f);
	table_cell(t, where ? where : "");
	free(where);
}

static void waiting_part(const json_t *a, FILE *out)
{
	static const char *const head[] = { "OPERATION", "FROM", "SINCE", "ATTEMPTS", "STATE", "OBJECT" };
	const json_t *list = json_object_get(a, "waiting");
	char n1[FORMAT_LEN], n2[FORMAT_LEN];
	struct table *t;
	size_t i;
	json_t *w;

	if (!json_array_size(list)) {
		fprintf(out, "no operation is waiting or executing\n");
		return;
	}
	t = table_with_head(6, head);
	json_array_foreach(list, i, w)
		waiting_row(t, w);
	table_print(t, out);
	if (json_is_true(json_object_get(a, "waiting_truncated")))
		fprintf(out, "showing %s of %s operations\n", format_count(n1, json_array_size(list)),
			format_count(n2, get_num(a, "waiting_total")));
}

bool controls_know(const json_t *a, unsigned server)
{
	const json_t *servers = json_object_get(a, "servers");

	return !json_is_array(servers) || in_list(servers, server); /* an older server does not say */
}

bool show_controls(const json_t *a, const struct show_filter *f, FILE *out)
{
	bool all = !f->deep && !f->own && !f->owner && !f->waiting;

	if (!json_is_array(json_object_get(a, f->waiting ? "waiting" : "controls")))
		return false;
	if (!f->waiting)
		controls_part(a, f, out);
	if (all && json_is_array(json_object_get(a, "waiting")))
		fprintf(out, "\n");
	if (f->waiting || (all && json_is_array(json_object_get(a, "waiting"))))
		waiting_part(a, out);
	return true;
}
