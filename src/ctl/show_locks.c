/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Byte-range locks for people: file by file, what is held before those who wait, in the order in which they have their turn. Whoever reads this asks "who has it": so the client comes with its name and address.
 * Where locks hold at all servers, it comes with its server. Opens that deny others something follow, and what is in grace, with whom it waits for.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl.h"

static void range_cell(struct table *t, const json_t *l)
{
	const json_t *length = json_object_get(l, "length");
	uint64_t start = get_num(l, "start");
	char text[80];

	if (json_is_integer(length))
		snprintf(text, sizeof(text), "%" PRIu64 " to %" PRIu64, start, start + (uint64_t)json_integer_value(length) - 1);
	else if (start != 0)
		snprintf(text, sizeof(text), "%" PRIu64 " to the end", start);
	else
		snprintf(text, sizeof(text), "all");
	table_cell(t, text);
}

static void text_cell(struct table *t, const json_t *l, const char *key)
{
	table_cell(t, json_is_string(json_object_get(l, key)) ? get_text(l, key) : "-");
}

static void lock_row(struct table *t, const json_t *l, bool with_server)
{
	char text[FORMAT_LEN], oid[SHOW_OID];

	text_cell(t, l, "state");
	text_cell(t, l, "type");
	range_cell(t, l);
	table_cell(t, json_is_integer(json_object_get(l, "age_ms")) ? format_seconds(text, (double)get_num(l, "age_ms") / 1000) : "-");
	if (with_server)
		table_cell(t, format_count(text, get_num(l, "server")));
	text_cell(t, l, "address");
	text_cell(t, l, "client");
	table_cell(t, show_path_or_oid(l, oid));
}

static void show_ranges(const json_t *list, FILE *out)
{
	static const char *const head[] = { "STATE", "TYPE", "BYTES", "SINCE", "ADDRESS", "CLIENT", "PATH" };
	static const char *const head_of_all[] = { "STATE", "TYPE", "BYTES", "SINCE", "SERVER", "ADDRESS", "CLIENT", "PATH" };
	bool with_server = json_is_integer(json_object_get(json_array_get(list, 0), "server"));
	struct table *t = with_server ? table_with_head(8, head_of_all) : table_with_head(7, head);
	json_t *l;
	size_t i;

	json_array_foreach((json_t *)list, i, l)
		lock_row(t, l, with_server);
	table_print(t, out);
}

/* ---- opens that deny others something ---- */

static const char *who_cell(char *buf, size_t len, uint64_t readers, uint64_t writers)
{
	if (!readers && !writers)
		snprintf(buf, len, "-");
	else
		snprintf(buf, len, "%" PRIu64 " read, %" PRIu64 " write", readers, writers);
	return buf;
}

static void show_shares(const json_t *list, FILE *out)
{
	static const char *const head[] = { "SERVER", "OPENS", "DENIED BY", "UNTIL", "PATH" };
	char text[FORMAT_LEN], oid[SHOW_OID], who[80];
	struct table *t;
	json_t *l;
	size_t i;

	if (json_array_size(list) == 0)
		return;
	fprintf(out, "\nopens of files of which one denies others something:\n");
	t = table_with_head(5, head);
	json_array_foreach((json_t *)list, i, l)
	{
		table_cell(t, format_count(text, get_num(l, "server")));
		table_cell(t, who_cell(who, sizeof(who), get_num(l, "readers"), get_num(l, "writers")));
		table_cell(t, who_cell(who, sizeof(who), get_num(l, "deny_read"), get_num(l, "deny_write")));
		table_cell(t, json_is_integer(json_object_get(l, "reclaim_ms")) ? format_seconds(text, (double)get_num(l, "reclaim_ms") / 1000) : "-");
		table_cell(t, show_path_or_oid(l, oid));
	}
	table_print(t, out);
}

/* ---- graces ---- */

static bool show_grace_waits(FILE *out, const json_t *servers, const json_t *clients)
{
	char text[FORMAT_LEN];
	bool any = false;
	json_t *v;
	size_t i;

	json_array_foreach((json_t *)servers, i, v)
	{
		fprintf(out, "%sserver %" JSON_INTEGER_FORMAT, any ? ", " : "", json_integer_value(v));
		any = true;
	}
	json_array_foreach((json_t *)clients, i, v)
	{
		fprintf(out, "%sclients of server %" PRIu64, any ? ", " : "", get_num(v, "server"));
		if (json_is_integer(json_object_get(v, "left_ms")))
			fprintf(out, " (%s more at most)", format_seconds(text, (double)get_num(v, "left_ms") / 1000));
		any = true;
	}
	return any;
}

static void show_graces(const json_t *list, FILE *out)
{
	char oid[SHOW_OID], since[FORMAT_LEN], *waits = NULL;
	static const char *const head[] = { "SINCE", "WAITS FOR", "PATH" };
	struct table *t;
	size_t len, i;
	FILE *f;
	json_t *l;

	if (json_array_size(list) == 0)
		return;
	fprintf(out, "\ngrace: no new lock is granted until the locks of before are known again:\n");
	t = table_with_head(3, head);
	json_array_foreach((json_t *)list, i, l)
	{
		f = open_memstream(&waits, &len);
		if (f && !show_grace_waits(f, json_object_get(l, "servers"), json_object_get(l, "clients_of")))
			fputs("-", f);
		if (f)
			fclose(f);
		table_cell(t, format_seconds(since, (double)get_num(l, "age_ms") / 1000));
		table_cell(t, waits ? waits : "-");
		free(waits);
		waits = NULL;
		if (json_is_true(json_object_get(l, "below"))) {
			char path[4200];

			snprintf(path, sizeof(path), "%.4000s and all below", show_path_or_oid(l, oid));
			table_cell(t, path);
		} else {
			table_cell(t, show_path_or_oid(l, oid));
		}
	}
	table_print(t, out);
}

/* ---- the answer ---- */

static bool is_first_of(const json_t *list, size_t i, json_int_t server)
{
	for (size_t k = 0; k < i; k++)
		if (json_integer_value(json_object_get(json_array_get(list, k), "decided_by")) == server)
			return false;
	return true;
}

/* Servers to be asked, since this one knows of its own clients only. */
static void show_others(const json_t *a, const json_t *list, FILE *out)
{
	const json_t *of_path = json_object_get(a, "decided_by");
	json_int_t self = (json_int_t)get_num(a, "server");
	json_t *l;
	size_t i;

	if (json_is_integer(of_path)) {
		if (json_integer_value(of_path) != self)
			fprintf(out, "server %" JSON_INTEGER_FORMAT " decides about this file, and knows the locks of other servers' clients: ask there\n", json_integer_value(of_path));
		return;
	}
	json_array_foreach((json_t *)list, i, l)
	{
		json_int_t by = json_integer_value(json_object_get(l, "decided_by"));

		if (by && by != self && is_first_of(list, i, by))
			fprintf(out, "server %" JSON_INTEGER_FORMAT " decides about some of these files, and knows the locks of other servers' clients: ask there\n", by);
	}
}

static void show_left_out(const json_t *shown, uint64_t total, const char *what, FILE *out)
{
	char n1[FORMAT_LEN], n2[FORMAT_LEN];

	if (total > json_array_size(shown))
		fprintf(out, "showing %s of %s %s\n", format_count(n1, json_array_size(shown)), format_count(n2, total), what);
}

bool show_locks(const json_t *a, FILE *out)
{
	const json_t *list = json_object_get(a, "locks"), *shares = json_object_get(a, "shares"), *graces = json_object_get(a, "graces");

	if (!json_is_array(list))
		return false;
	if (json_array_size(list) == 0)
		fprintf(out, shares ? "no locks that this server knows of\n" : "no locks of this server's clients\n");
	else
		show_ranges(list, out);
	show_left_out(list, get_num(a, "total"), "locks", out);
	show_others(a, list, out);
	show_shares(shares, out);
	show_left_out(shares, get_num(a, "total_shares"), "opens", out);
	show_graces(graces, out);
	show_left_out(graces, get_num(a, "total_graces"), "objects", out);
	return true;
}

/* ---- in `status` ---- */

static const char *files_of(uint64_t n)
{
	return n == 1 ? "file" : "files";
}

/* Where locks hold at all servers. */
static void show_lock_space(const json_t *l, FILE *out)
{
	const json_t *here = json_object_get(l, "decided_here"), *shares = json_object_get(l, "shares"), *graces = json_object_get(l, "graces"), *reclaiming = json_object_get(l, "reclaiming");
	uint64_t files = get_num(here, "files"), denying = get_num(shares, "denying"), guarded = get_num(shares, "files_decided_here"), objects = get_num(graces, "objects");
	char b1[FORMAT_LEN], b2[FORMAT_LEN], b3[FORMAT_LEN], text[500], *waits = NULL;
	size_t len;
	FILE *f;

	if (get_num(here, "held") || get_num(here, "waiting")) {
		snprintf(text, sizeof(text), "%s of all servers' clients in %s %s that this server controls, and %s that wait", format_count(b1, get_num(here, "held")), format_count(b2, files), files_of(files),
			 format_count(b3, get_num(here, "waiting")));
		show_line(out, "decided", text);
	}
	if (denying || guarded) {
		snprintf(text, sizeof(text), "%s open%s of this server's clients that den%s others something; this server controls %s %s with such opens", format_count(b1, denying), denying == 1 ? "" : "s",
			 denying == 1 ? "ies" : "y", format_count(b2, guarded), files_of(guarded));
		show_line(out, "denied", text);
	}
	if (objects) {
		f = open_memstream(&waits, &len);
		if (f) {
			(void)show_grace_waits(f, json_object_get(graces, "servers"), json_object_get(graces, "clients_of"));
			fclose(f);
		}
		snprintf(text, sizeof(text), "no new locks under %s object%s that this server controls, for %s; waits for %.300s", format_count(b1, objects), objects == 1 ? "" : "s",
			 format_seconds(b2, (double)get_num(graces, "age_ms") / 1000), waits && *waits ? waits : "no server");
		show_line(out, "grace", text);
		free(waits);
	}
	if (get_num(reclaiming, "clients")) {
		bool known = json_is_integer(json_object_get(reclaiming, "left_ms"));

		snprintf(text, sizeof(text), "%s of this server's clients may ask for the locks that they had before%s%s", format_count(b1, get_num(reclaiming, "clients")), known ? ", for at most " : "",
			 known ? format_seconds(b2, (double)get_num(reclaiming, "left_ms") / 1000) : "");
		show_line(out, "reclaims", text);
	}
}

void show_lock_counts(const json_t *l, FILE *out)
{
	char b1[FORMAT_LEN], b2[FORMAT_LEN], b3[FORMAT_LEN], text[250];

	if (!json_is_object(l))
		return;
	if (get_num(l, "held") || get_num(l, "waiting")) {
		snprintf(text, sizeof(text), "%s of this server's clients in %s %s, and %s that wait (at most %" PRIu64 ")", format_count(b1, get_num(l, "held")), format_count(b2, get_num(l, "files")),
			 files_of(get_num(l, "files")), format_count(b3, get_num(l, "waiting")), get_num(l, "max"));
		show_line(out, "locks", text);
	}
	show_lock_space(l, out);
}
