/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The list of servers for people. What --json prints is the answer itself. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "ctl/ctl.h"

static const char *address(const json_t *row, char *buf, size_t len)
{
	const char *host = get_text(row, "host");

	snprintf(buf, len, strchr(host, ':') ? "[%s]:%" PRIu64 : "%s:%" PRIu64, host, get_num(row, "port"));
	return buf;
}

static void show_orders(const json_t *a, FILE *out)
{
	const json_t *orders = json_object_get(a, "forced_reconfiguration");
	char *safe = nfs4r_text_line_new(get_text(a, "waiting_for"));
	json_t *order, *s;
	size_t i, k;

	json_array_foreach((json_t *)orders, i, order)
	{
		fprintf(out, "server %" PRIu64 " has an order to continue with only", get_num(order, "server"));
		json_array_foreach(json_object_get(order, "servers"), k, s)
			fprintf(out, "%s %lld", k ? "," : "", (long long)json_integer_value(s));
		fputs("\n", out);
	}
	if (json_array_size(orders) && safe && *safe)
		fprintf(out, "waiting: %s\n", safe);
	free(safe);
}

static void show_asked(const json_t *a, const char *key, const char *text, FILE *out)
{
	const char *waits = *get_text(a, "waiting_for") ? get_text(a, "waiting_for") : "in progress";
	char *safe;

	if (!get_num(a, key))
		return;
	safe = nfs4r_text_line_new(waits);
	fprintf(out, "server %" PRIu64 " %s: %s\n", get_num(a, key), text, safe ? safe : waits);
	free(safe);
}

/* The beginning of each of its keys, enough to tell them apart; `nfs4rctl key show` prints them whole. */
static const char *keys(const json_t *row, char *buf, size_t len)
{
	json_t *key;
	size_t i;
	int n = 0;

	snprintf(buf, len, "-");
	json_array_foreach(json_object_get(row, "keys"), i, key)
		n += snprintf(buf + n, len - (size_t)n, "%s%.15s", i ? " " : "", json_string_value(key));
	return buf;
}

void show_servers(const json_t *a, FILE *out)
{
	struct table *t = table_new(9);
	json_t *row;
	size_t i;

	table_cell(t, "SERVER");
	table_cell(t, "ADDRESS");
	table_cell(t, "VOTES");
	table_cell(t, "LAG");
	table_cell(t, "VERSION");
	table_cell(t, "PROTOCOLS");
	table_cell(t, "DISK");
	table_cell(t, "KEY");
	table_cell(t, "STATE");
	json_array_foreach(json_object_get(a, "servers"), i, row)
	{
		char number[FORMAT_LEN], where[300], behind[FORMAT_LEN], protocols[FORMAT_LEN], disk[FORMAT_LEN], known[48];

		snprintf(number, sizeof(number), "%" PRIu64 "%s", get_num(row, "server"), json_is_true(json_object_get(row, "self")) ? "*" : "");
		table_cell(t, number);
		table_cell(t, address(row, where, sizeof(where)));
		table_cell(t, json_is_true(json_object_get(row, "voter")) ? "yes" : "not yet");
		table_cell(t, format_count(behind, get_num(row, "lag_entries")));
		table_cell(t, *get_text(row, "version") ? get_text(row, "version") : "-");
		table_cell(t, format_versions(protocols, json_object_get(row, "protocols")));
		table_cell(t, format_versions(disk, json_object_get(row, "disk_formats")));
		table_cell(t, keys(row, known, sizeof(known)));
		table_cell(t, get_text(row, "state"));
	}
	table_print(t, out);
	if (json_is_true(json_object_get(a, "removed")))
		fputs("This server was removed from the volume; the table is the last that it knew.\n", out);
	show_asked(a, "adding", "is being added", out);
	show_asked(a, "removing", "is being removed", out);
	show_asked(a, "changing_keys", "gets other keys", out);
	show_orders(a, out);
}
