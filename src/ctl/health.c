/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * `nfs4rctl health`: does the server serve, and is anything wrong with it? One line and an exit status for a monitoring system
 * (Nagios convention: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN), from the answer to `status`.
 *
 * What counts as wrong is a table: a rule names a member of the answer, how it is looked at, and what is said of it. A member that
 * the answer does not have is not wrong, so an older server is judged by what it tells.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "ctl/ctl.h"

enum test {
	NONZERO = 1, /* a number that is not 0, or true */
	TEXT, /* a text that is not empty */
	ITEMS, /* a list that is not empty */
	AWAY, /* state of a voter that does not work with the others */
	DOWN, /* `up` of a peer that no rule before has named */
	LATE_S, /* seconds, above --max-lag */
	LATE_MS, /* milliseconds, above --max-lag */
	LOW, /* `free` of `total`, below a tenth */
	SLOW, /* round trip in milliseconds; a lease must last for ten of them */
	SOON, /* days that are left, fewer than 30 */
	CLOCK, /* milliseconds that a clock is ahead, or behind if negative; NTP leaves less than a second */
};

static const struct rule {
	const char *name; /* `cause` of --json: never changes */
	const char *each; /* a list: each of its elements is looked at; NULL: the answer itself */
	const char *value; /* what is looked at; dots go into objects */
	enum test test;
	const char *text; /* %n: `server` of the element; %v: the value; %d: the value, in days */
} rules[] = {
	{ "voter_away", "view.servers", "state", AWAY, "server %n is away (%v)" },
	{ "halted", "view.servers", "halted", TEXT, "server %n: %v" },
	{ "cannot_apply", "view.servers", "cannot_apply", TEXT, "server %n cannot apply an update: %v" },
	{ "no_connection", "peers", "up", DOWN, "no connection with server %n (%s)" },
	{ "lag", "peers", "has_of_our_log.lag_seconds", LATE_S, "server %n has lacked updates of this server for %v" },
	{ "loss_window", NULL, "durability.loss_window.age_ms", LATE_MS, "no majority has the last updates of this server, for %v" },
	{ "policy_differs", "peers", "differs", TEXT, "%v" },
	{ "names_differ", "peers", "names_differ", TEXT, "a name maps differently: %v" },
	{ "slow_link", "peers", "rtt_ms", SLOW, "the round trip to server %n takes %v: set Max_Round_Trip above that on every server" },
	{ "clock", "peers", "clock_ahead_ms", CLOCK, "the clock of server %n and this server's differ by %v" },
	{ "certificate", NULL, "certificate_days", SOON, "the certificate of this server %d: put a new one into Peer_Certificate" },
	{ "certificate", "peers", "certificate_days", SOON, "the certificate of server %n %d: put a new one into its Peer_Certificate" },
	{ "full", NULL, "space.refused", TEXT, "updates that need space are refused: %v" },
	{ "low_space", "space.servers", "tree", LOW, "server %n has %v of the file system of the exported directory free" },
	{ "low_inodes", "space.servers", "inodes", LOW, "server %n has %v of the inodes of the exported directory free" },
	{ "low_store", "space.servers", "store", LOW, "server %n has %v of the file system of Store free" },
	{ "retention", NULL, "retention.warning", TEXT, "%v" },
	{ "lock_room", NULL, "locks.room", LOW, "%v of Lock_Max is left for locks of this server's clients: `nfs4rctl locks` lists them" },
	{ "lock_grace", NULL, "locks.graces.age_ms", LATE_MS, "no new locks are granted under what this server controls, for %v: `nfs4rctl locks` lists the files, and the servers it waits for" },
	{ "out_of_band", NULL, "out_of_band.pending", NONZERO, "%v objects were changed in the exported directory itself and are not restored yet" },
	{ "strays", NULL, "out_of_band.strays", NONZERO, "%v foreign files or directories lie in .nfs4r-hold of the exported directory: inspect them, then remove them" },
	{ "conflicts", NULL, "conflicts.saved", NONZERO, "%v sets of undone updates are saved under Conflicts: inspect them, then remove them" },
	{ "import", NULL, "import.warning", TEXT, "%v" },
	{ "strays", "peers", "strays", NONZERO, "%v foreign files or directories lie in .nfs4r-hold of the exported directory of server %n: inspect them there, then remove them" },
	{ "conflicts", "peers", "conflicts", NONZERO, "%v sets of undone updates are saved under Conflicts of server %n: inspect them there, then remove them" },
	{ "import", "peers", "import.phase", TEXT, "the import of an existing tree at server %n is %v: the volume has only a part of the tree" },
};

/* The member @path of @o: "a.b" is b of a. */
static const json_t *member(const json_t *o, const char *path)
{
	char name[64];
	const char *dot;

	for (; path; path = dot ? dot + 1 : NULL) {
		dot = strchr(path, '.');
		snprintf(name, sizeof(name), "%.*s", dot ? (int)(dot - path) : (int)strlen(path), path);
		o = json_object_get(o, name);
	}
	return o;
}

static bool in_list(const json_t *list, const json_t *id)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_equal(json_array_get(list, i), id))
			return true;
	return false;
}

static bool is_named(const json_t *causes, uint64_t server)
{
	json_t *c;
	size_t i;

	json_array_foreach((json_t *)causes, i, c) if (get_num(c, "server") == server) return true;
	return false;
}

static bool is_away(const json_t *status, const json_t *row, const char *state)
{
	const json_t *voters = member(status, "view.voters");

	if (voters && !in_list(voters, json_object_get(row, "server")))
		return false;
	return get_num(row, "server") != get_num(status, "server") && strcmp(state, "member") && strcmp(state, "joining");
}

bool is_clock_off(double ahead_ms)
{
	return fabs(ahead_ms) >= 1000;
}

static bool is_wrong(const struct rule *r, const json_t *status, const json_t *row, const json_t *v, double max_lag_s, const json_t *causes)
{
	double n = json_is_number(v) ? json_number_value(v) : 0;

	switch (r->test) {
	case NONZERO:
		return json_is_true(v) || n != 0;
	case TEXT:
		return json_string_length(v) > 0;
	case ITEMS:
		return json_array_size(v) > 0;
	case AWAY:
		return json_is_string(v) && is_away(status, row, json_string_value(v));
	case DOWN:
		return json_is_false(v) && !is_named(causes, get_num(row, "server"));
	case LATE_S:
		return n > max_lag_s;
	case LATE_MS:
		return n / 1000 > max_lag_s;
	case LOW:
		return get_num(v, "free") < get_num(v, "total") / 10;
	case SLOW:
		return n * 10 > (double)get_num(member(status, "view"), "lease_ms") && json_is_integer(member(status, "view.lease_ms"));
	case SOON:
		return json_is_integer(v) && n < CERTIFICATE_SOON_DAYS;
	case CLOCK:
		return is_clock_off(n);
	}
	return false;
}

static void print_value(FILE *out, const struct rule *r, const json_t *v)
{
	char s[FORMAT_LEN];
	json_t *item;
	size_t i;

	if (r->test == LATE_S || r->test == LATE_MS || r->test == SLOW || r->test == CLOCK)
		fputs(format_seconds(s, fabs(json_number_value(v)) / (r->test == LATE_S ? 1 : 1000)), out);
	else if (r->test == LOW)
		fprintf(out, "%.1f %%", (double)get_num(v, "free") * 100 / (double)get_num(v, "total"));
	else if (json_is_string(v))
		fputs(json_string_value(v), out);
	else if (json_is_number(v))
		fputs(format_count(s, (uint64_t)json_number_value(v)), out);
	json_array_foreach((json_t *)v, i, item)
		fprintf(out, "%s%" JSON_INTEGER_FORMAT, i ? ", " : "", json_integer_value(item));
}

static void add_cause(const struct rule *r, const json_t *row, const json_t *v, json_t *causes)
{
	json_t *c = json_pack("{s:s}", "cause", r->name);
	char *text = NULL, days[FORMAT_LEN];
	size_t len;
	FILE *f = open_memstream(&text, &len);

	for (const char *p = r->text; f && *p; p++) {
		if (*p != '%')
			fputc(*p, f);
		else if (*++p == 'n')
			fprintf(f, "%" PRIu64, get_num(row, "server"));
		else if (*p == 's')
			fputs(get_text(row, "state"), f);
		else if (*p == 'd')
			fputs(show_days_left(days, sizeof(days), json_integer_value(v)), f);
		else
			print_value(f, r, v);
	}
	if (f)
		fclose(f);
	if (r->each)
		json_object_set_new(c, "server", json_integer((json_int_t)get_num(row, "server")));
	json_object_set_new(c, "text", json_string(text ? text : r->name));
	json_array_append_new(causes, c);
	free(text);
}

static void look(const struct rule *r, const json_t *status, const json_t *row, double max_lag_s, json_t *causes)
{
	const json_t *v = member(row, r->value);

	if (v && is_wrong(r, status, row, v, max_lag_s, causes))
		add_cause(r, row, v, causes);
}

static json_t *causes_of(const json_t *status, double max_lag_s)
{
	json_t *causes = json_array(), *row;
	size_t i;

	for (const struct rule *r = rules; r < rules + sizeof(rules) / sizeof(rules[0]); r++) {
		if (!r->each)
			look(r, status, status, max_lag_s, causes);
		else
			json_array_foreach((json_t *)member(status, r->each), i, row)
				look(r, status, row, max_lag_s, causes);
	}
	return causes;
}

static const char *const words[] = { "OK", "WARNING", "CRITICAL", "UNKNOWN" };

json_t *health_of(const json_t *status, double max_lag_s)
{
	const char *state = get_text(status, "state");
	bool imports = strcmp(state, "importing") == 0, serves = imports || strcmp(state, "serving") == 0;
	json_t *causes = causes_of(status, max_lag_s);
	int rc;

	if (imports && !is_named(causes, 0))
		json_array_append_new(causes, json_pack("{s:s, s:s}", "cause", "import", "text", "an existing tree is being imported"));
	rc = !serves ? HEALTH_DOWN : json_array_size(causes) ? HEALTH_WRONG :
							       HEALTH_OK;
	return json_pack("{s:i, s:s, s:b, s:O*, s:O*, s:O*, s:s, s:O*, s:o}", "status", rc, "health", words[rc], "serves", serves, "volume",
			 json_object_get(status, "volume"), "server", json_object_get(status, "server"), "version", json_object_get(status, "version"), "state", *state ? state : "unknown", "why",
			 json_object_get(status, "why"), "causes", causes);
}

json_t *health_unknown(int rc, const char *why)
{
	return json_pack("{s:i, s:s, s:b, s:s, s:[]}", "status", rc, "health", words[rc], "serves", 0, "why", why, "causes");
}

static void put_safe(FILE *out, const char *text)
{
	char *safe = nfs4r_text_line_new(text);

	fputs(safe ? safe : "", out);
	free(safe);
}

void show_health(const json_t *h, FILE *out)
{
	json_t *c;
	size_t i;

	fprintf(out, "%s: ", get_text(h, "health"));
	if (*get_text(h, "state")) {
		fputs("volume ", out);
		put_safe(out, get_text(h, "volume"));
		fprintf(out, ", server %" PRIu64 ": ", get_num(h, "server"));
	}
	if (json_is_true(json_object_get(h, "serves"))) {
		fputs("serves", out);
	} else {
		put_safe(out, get_text(h, "state"));
		fputs(*get_text(h, "state") && *get_text(h, "why") ? ": " : "", out);
		put_safe(out, get_text(h, "why"));
	}
	json_array_foreach(json_object_get(h, "causes"), i, c)
	{
		fputs("; ", out);
		put_safe(out, get_text(c, "text"));
	}
	fputc('\n', out);
}
