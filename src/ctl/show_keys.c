/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The keys of the servers for people. What --json prints is the answer of the server, with `own`, what is in this server's files. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "ctl/ctl.h"

#define DAY_S 86400

static void line(FILE *out, const char *title, const char *text)
{
	char *safe = nfs4r_text_line_new(text);

	fprintf(out, "%-12s %s\n", title, safe ? safe : text);
	free(safe);
}

const char *show_key_end(char *buf, size_t len, int64_t ends_s, int64_t now_s)
{
	int64_t days = (ends_s - now_s) / DAY_S;
	char day[32] = "?";
	time_t t = (time_t)ends_s;
	struct tm tm;

	if (gmtime_r(&t, &tm))
		strftime(day, sizeof(day), "%Y-%m-%d", &tm);
	if (ends_s <= now_s)
		snprintf(buf, len, "ended on %s", day);
	else
		snprintf(buf, len, "ends on %s, in %" PRId64 " days", day, days);
	return buf;
}

const char *show_days_left(char *buf, size_t len, int64_t days)
{
	if (days < 0)
		snprintf(buf, len, "has ended");
	else
		snprintf(buf, len, "ends in %" PRId64 " days", days);
	return buf;
}

void show_certificate(const json_t *status, FILE *out)
{
	const json_t *ends = json_object_get(status, "certificate_ends");
	int64_t now = time(NULL), at = json_integer_value(ends);
	char text[CTL_WHY], end[80];

	if (!ends)
		return;
	snprintf(text, sizeof(text), "%.1000s %s%s", get_text(status, "certificate"), show_key_end(end, sizeof(end), at, now),
		 at - now < CERTIFICATE_SOON_DAYS * DAY_S ? ": put a new one in its place; new connections use it" : "");
	fprintf(out, "%-11s ", at - now < CERTIFICATE_SOON_DAYS * DAY_S ? "WARNING" : "certificate");
	fprintf(out, "%s\n", text);
}

static void show_own(const json_t *a, FILE *out)
{
	const json_t *own = json_object_get(a, "own"), *ends = json_object_get(own, "ends");
	char text[CTL_WHY], end[80] = "does not end";

	line(out, "key", get_text(a, "key"));
	if (json_is_integer(ends))
		show_key_end(end, sizeof(end), json_integer_value(ends), time(NULL));
	if (!own || !json_object_get(own, "fingerprint")) {
		line(out, "certificate", get_text(a, "certificate"));
	} else {
		snprintf(text, sizeof(text), "%.1000s, signed by %s; %s", get_text(a, "certificate"), json_is_true(json_object_get(own, "self_signed")) ? "itself" : "an authority", end);
		line(out, "certificate", text);
		line(out, "fingerprint", get_text(own, "fingerprint"));
	}
	if (*get_text(a, "ca"))
		line(out, "authority", get_text(a, "ca"));
	if (*get_text(a, "crl"))
		line(out, "revoked", get_text(a, "crl"));
	if (*get_text(own, "problem"))
		line(out, "WARNING", get_text(own, "problem"));
}

static void show_flavours(const json_t *a, FILE *out)
{
	char text[200];
	json_t *word;
	size_t i;
	int n;

	if (!json_object_get(a, "security"))
		return;
	n = snprintf(text, sizeof(text), "%.20s", get_text(a, "security"));
	json_array_foreach(json_object_get(a, "accepts"), i, word)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s %.20s", i ? "," : "; accepts from others also", json_string_value(word));
	line(out, "security", text);
}

static bool has(const json_t *list, const char *text)
{
	json_t *one;
	size_t i;

	json_array_foreach((json_t *)list, i, one) if (strcmp(json_string_value(one), text) == 0) return true;
	return false;
}

/* One line for each key; the server and where its keys are from are in the first. */
static void add_rows(struct table *t, const json_t *row)
{
	const json_t *keys = json_object_get(row, "keys");
	size_t n = json_array_size(keys);
	char number[FORMAT_LEN];

	for (size_t i = 0; i < (n ? n : 1); i++) {
		snprintf(number, sizeof(number), "%" PRIu64 "%s", get_num(row, "server"), json_is_true(json_object_get(row, "self")) ? "*" : "");
		table_cell(t, i ? "" : number);
		table_cell(t, i ? "" : get_text(row, "host"));
		table_cell(t, i ? "" : n ? get_text(row, "keys_from") :
					   "-");
		table_cell(t, n ? json_string_value(json_array_get(keys, i)) : "none: an authority has to vouch for it");
	}
}

/* What an administrator should put right. */
static void show_warnings(const json_t *a, FILE *out)
{
	const char *own = get_text(json_object_get(a, "own"), "fingerprint");
	bool self_signed = json_is_true(json_object_get(json_object_get(a, "own"), "self_signed"));
	json_t *row, *key;
	char text[300];
	size_t i, k;

	json_array_foreach(json_object_get(a, "servers"), i, row)
	{
		bool self = json_is_true(json_object_get(row, "self"));

		if (self && self_signed && *own && !has(json_object_get(row, "keys"), own)) {
			snprintf(text, sizeof(text), "the others do not know this server's key %.60s: write it into its Server block on every server, or run `nfs4rctl key trust %" PRIu64 " %.60s` at another one", own,
				 get_num(row, "server"), own);
			line(out, "WARNING", text);
		}
		json_array_foreach(json_object_get(row, "keys_in_file"), k, key)
		{
			if (has(json_object_get(row, "keys"), json_string_value(key)))
				continue;
			snprintf(text, sizeof(text), "the Server block of server %" PRIu64 " has an old key, which counts for nothing: %.60s", get_num(row, "server"), json_string_value(key));
			line(out, "note", text);
		}
	}
}

void show_keys(const json_t *a, FILE *out)
{
	const json_t *servers = json_object_get(a, "servers");
	struct table *t;
	json_t *row;
	size_t i;

	show_flavours(a, out);
	show_own(a, out);
	if (!servers)
		return;
	t = table_new(4);
	table_cell(t, "SERVER");
	table_cell(t, "ADDRESS");
	table_cell(t, "FROM");
	table_cell(t, "KEY");
	json_array_foreach((json_t *)servers, i, row)
		add_rows(t, row);
	table_print(t, out);
	show_warnings(a, out);
}
