/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Byte-range locks for people: file by file, what is held before those who wait, in the order in which they have their turn. Whoever reads this asks "who has it": so the client comes with its name and address.
 * Where locks hold at all servers, it comes with its server, which alone knows the rest.
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
	table_cell(t, format_seconds(text, (double)get_num(l, "age_ms") / 1000));
	if (with_server)
		table_cell(t, format_count(text, get_num(l, "server")));
	text_cell(t, l, "address");
	text_cell(t, l, "client");
	table_cell(t, show_path_or_oid(l, oid));
}

bool show_locks(const json_t *a, FILE *out)
{
	static const char *const head[] = { "STATE", "TYPE", "BYTES", "SINCE", "ADDRESS", "CLIENT", "PATH" };
	static const char *const head_of_all[] = { "STATE", "TYPE", "BYTES", "SINCE", "SERVER", "ADDRESS", "CLIENT", "PATH" };
	const json_t *list = json_object_get(a, "locks");
	char n1[FORMAT_LEN], n2[FORMAT_LEN];
	struct table *t;
	bool with_server;
	size_t i;
	json_t *l;

	if (!json_is_array(list))
		return false;
	if (json_array_size(list) == 0) {
		fprintf(out, "no locks of this server's clients\n");
		return true;
	}
	with_server = json_is_integer(json_object_get(json_array_get(list, 0), "server"));
	t = with_server ? table_with_head(8, head_of_all) : table_with_head(7, head);
	json_array_foreach(list, i, l)
		lock_row(t, l, with_server);
	table_print(t, out);
	if (json_is_true(json_object_get(a, "truncated")))
		fprintf(out, "showing %s of %s locks\n", format_count(n1, json_array_size(list)), format_count(n2, get_num(a, "total")));
	return true;
}
