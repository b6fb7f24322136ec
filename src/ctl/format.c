/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Numbers, text and tables for people. Pure but for table_print(). */
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "base/text.h"
#include "ctl/ctl.h"

const char *format_versions(char buf[FORMAT_LEN], const json_t *range)
{
	uint64_t lowest = get_num(range, "lowest"), highest = get_num(range, "highest");

	if (!highest)
		snprintf(buf, FORMAT_LEN, "-");
	else if (lowest == highest)
		snprintf(buf, FORMAT_LEN, "%llu", (unsigned long long)highest);
	else
		snprintf(buf, FORMAT_LEN, "%llu to %llu", (unsigned long long)lowest, (unsigned long long)highest);
	return buf;
}

const char *format_count(char buf[FORMAT_LEN], uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n), to = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf[to++] = ',';
		buf[to++] = digits[i];
	}
	buf[to] = '\0';
	return buf;
}

const char *format_bytes(char buf[FORMAT_LEN], double bytes)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB" };
	size_t u = 0;

	for (; bytes >= 1024 && u + 1 < sizeof(units) / sizeof(units[0]); u++)
		bytes /= 1024;
	if (u == 0)
		snprintf(buf, FORMAT_LEN, "%.0f %s", bytes, bytes >= 1 && bytes < 2 ? "byte" : "bytes");
	else
		snprintf(buf, FORMAT_LEN, "%.1f %s", bytes, units[u]);
	return buf;
}

const char *format_seconds(char buf[FORMAT_LEN], double seconds)
{
	unsigned long long s;

	if (seconds < 0)
		seconds = 0;
	s = seconds < 1e15 ? (unsigned long long)(seconds + 0.5) : 1000000000000000ULL;
	if (seconds < 0.9995)
		snprintf(buf, FORMAT_LEN, "%.0f ms", seconds * 1000);
	else if (s < 60)
		snprintf(buf, FORMAT_LEN, "%llu s", s);
	else if (s < 3600)
		snprintf(buf, FORMAT_LEN, "%llu min %llu s", s / 60, s % 60);
	else if (s < 86400)
		snprintf(buf, FORMAT_LEN, "%llu h %llu min", s / 3600, s % 3600 / 60);
	else
		snprintf(buf, FORMAT_LEN, "%llu d %llu h", s / 86400, s % 86400 / 3600);
	return buf;
}

/* ---- tables ---- */

struct table {
	unsigned columns;
	size_t n, cap;
	char **cells;
};

struct table *table_new(unsigned columns)
{
	struct table *t = calloc(1, sizeof(*t));

	if (t)
		t->columns = columns;
	return t;
}

struct table *table_with_head(unsigned columns, const char *const head[])
{
	struct table *t = table_new(columns);

	for (unsigned i = 0; i < columns; i++)
		table_cell(t, head[i]);
	return t;
}

void table_cell(struct table *t, const char *text)
{
	if (!t)
		return;
	if (!NFS4R_ROOM(t->cells, t->n, t->cap))
		return;
	t->cells[t->n++] = nfs4r_text_line_new(text);
}

static size_t width(const char *s)
{
	size_t n = 0;

	for (; s && *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

void table_print(struct table *t, FILE *out)
{
	size_t *w;

	if (!t)
		return;
	w = calloc(t->columns, sizeof(*w));
	for (size_t i = 0; w && i < t->n; i++)
		if (width(t->cells[i]) > w[i % t->columns])
			w[i % t->columns] = width(t->cells[i]);
	for (size_t i = 0; w && i < t->n; i++) {
		bool last = i % t->columns == t->columns - 1;
		size_t pad = last ? 0 : w[i % t->columns] - width(t->cells[i]) + 2;

		fprintf(out, "%s%*s%s", t->cells[i] ? t->cells[i] : "", (int)pad, "", last ? "\n" : "");
	}
	for (size_t i = 0; i < t->n; i++)
		free(t->cells[i]);
	free(t->cells);
	free(w);
	free(t);
}

int ctl_print_json(const json_t *a)
{
	json_dumpf(a, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	return CTL_OK;
}
