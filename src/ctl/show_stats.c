/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Counters and latencies for people: the counters in groups, each latency as one line of numbers and the buckets that have
 * anything in them. What a newer server counts and this tool does not know comes at the end of the core's counters.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "ctl/ctl.h"

#define BAR 40

static const struct group {
	const char *title;
	const char *keys[12];
} groups[] = {
	{ "elections", { "elections", "elections_waited", "proposals_deferred", "elections_preempted", "aborts" } },
	{ "deep control",
	  { "deep_asked", "deep_refused", "escalations", "escalations_lost", "raises", "raises_lost", "drops", "deescalations", "reads_served" } },
	{ "control released", { "revokes_sent", "revokes_received", "releases", "reopened", "yielded", "yield_regrets", "time_slices" } },
	{ "forwarding", { "forwards_sent", "forwards_served", "not_primary" } },
	{ "updates", { "entries_executed", "entries_applied", "entries_void", "delays" } },
	{ "now", { "controls_own", "controls_foreign", "claims", "ops_waiting", "ops_executing", "pending_entries", "replies_cached" } },
};

#define NGROUPS (sizeof(groups) / sizeof(groups[0]))

static bool in_a_group(const char *key)
{
	for (size_t g = 0; g < NGROUPS; g++)
		for (size_t i = 0; groups[g].keys[i]; i++)
			if (strcmp(groups[g].keys[i], key) == 0)
				return true;
	return false;
}

static void counter(FILE *out, const char *key, const json_t *v)
{
	char *label = nfs4r_text_line_new(key), n[FORMAT_LEN];

	for (char *p = label; p && *p; p++)
		if (*p == '_')
			*p = ' ';
	fprintf(out, "  %-19s  %s\n", label ? label : "", format_count(n, (uint64_t)json_integer_value(v)));
	free(label);
}

static void show_core(const json_t *core, FILE *out)
{
	bool others = false;
	const char *key;
	json_t *v;

	for (size_t g = 0; g < NGROUPS; g++) {
		fprintf(out, "%s\n", groups[g].title);
		for (size_t i = 0; groups[g].keys[i]; i++)
			if ((v = json_object_get(core, groups[g].keys[i])))
				counter(out, groups[g].keys[i], v);
	}
	json_object_foreach((json_t *)core, key, v)
	{
		if (in_a_group(key))
			continue;
		if (!others)
			fprintf(out, "other\n");
		others = true;
		counter(out, key, v);
	}
}

static void show_plain(const char *name, const json_t *o, FILE *out)
{
	const char *key;
	json_t *v;

	fprintf(out, "%s\n", name);
	json_object_foreach((json_t *)o, key, v)
		counter(out, key, v);
}

/* ---- latencies ---- */

static const char *ms_text(char buf[FORMAT_LEN], const json_t *v)
{
	double ms = json_is_number(v) ? json_number_value(v) : 0;

	if (ms > 0 && ms < 10 && ms != (double)(int)ms)
		snprintf(buf, FORMAT_LEN, "%.1f ms", ms);
	else
		format_seconds(buf, ms / 1000);
	return buf;
}

static void summary(const char *what, const json_t *l, FILE *out)
{
	char n[FORMAT_LEN], mean[FORMAT_LEN], p50[FORMAT_LEN], p90[FORMAT_LEN], p99[FORMAT_LEN], max[FORMAT_LEN];

	if (!get_num(l, "n")) {
		fprintf(out, "  %s: none\n", what);
		return;
	}
	fprintf(out, "  %s: %s, mean %s, p50 %s, p90 %s, p99 %s, longest %s\n", what, format_count(n, get_num(l, "n")),
		ms_text(mean, json_object_get(l, "mean_ms")), ms_text(p50, json_object_get(l, "p50_ms")),
		ms_text(p90, json_object_get(l, "p90_ms")), ms_text(p99, json_object_get(l, "p99_ms")),
		ms_text(max, json_object_get(l, "max_ms")));
}

/* From the first bucket that has something to the last. */
static void draw(const json_t *buckets, FILE *out)
{
	size_t first = SIZE_MAX, last = 0, i;
	uint64_t most = 0;
	const char *sign = "<";
	json_t *b;

	json_array_foreach(buckets, i, b)
	{
		uint64_t n = get_num(b, "n");

		if (n && first == SIZE_MAX)
			first = i;
		if (n)
			last = i;
		if (n > most)
			most = n;
	}
	for (i = first; most && i <= last; i++) {
		const json_t *bound = json_object_get(json_array_get(buckets, i), "below_ms");
		uint64_t n = get_num(json_array_get(buckets, i), "n");
		char count[FORMAT_LEN];
		int bar = (int)(BAR * (double)n / (double)most);

		if (!json_is_integer(bound) && i) { /* all others */
			sign = ">=";
			bound = json_object_get(json_array_get(buckets, i - 1), "below_ms");
		}
		fprintf(out, "    %2s %8lld ms  %12s%s%.*s\n", sign, (long long)json_integer_value(bound), format_count(count, n),
			n ? "  " : "", n && bar < 1 ? 1 : bar, "########################################");
	}
}

static void show_latencies(const json_t *all, FILE *out)
{
	static const struct {
		const char *key, *text;
	} kinds[] = {
		{ "won", "election, asked to won" },
		{ "acked_by_all", "election, asked to acked by all" },
		{ "forward", "forward, sent to answered" },
		{ "reply", "reply, executed to answered" },
		{ "release", "release, closing to released" },
	};

	fprintf(out, "latencies\n");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const json_t *l = json_object_get(all, kinds[i].key);

		if (!l)
			continue;
		summary(kinds[i].text, l, out);
		draw(json_object_get(l, "buckets"), out);
	}
}

bool show_stats(const json_t *a, FILE *out)
{
	const json_t *core = json_object_get(a, "core");

	if (!json_is_object(core))
		return false;
	show_core(core, out);
	if (json_is_object(json_object_get(a, "latencies")))
		show_latencies(json_object_get(a, "latencies"), out);
	show_plain("engine", json_object_get(a, "engine"), out);
	show_plain("store", json_object_get(a, "store"), out);
	return true;
}
