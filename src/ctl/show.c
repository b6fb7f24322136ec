/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Answer of status for people. What --json prints is the answer itself. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "ctl/ctl.h"

uint64_t get_num(const json_t *o, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(o, key));
}

double get_real(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : -1;
}

const char *get_text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

#define REFUSED "refused: " /* state of a peer begins so */

void show_line(FILE *out, const char *label, const char *text)
{
	char *safe = nfs4r_text_line_new(text);

	fprintf(out, "%-11s %s\n", label, safe ? safe : "");
	free(safe);
}

/* ---- status ---- */

/* @seconds < 0: not known. */
static const char *behind(char *buf, size_t len, uint64_t entries, uint64_t bytes, double seconds)
{
	char n[FORMAT_LEN], b[FORMAT_LEN] = "", s[FORMAT_LEN] = "";

	if (!entries && !bytes) {
		snprintf(buf, len, "none");
		return buf;
	}
	if (bytes)
		format_bytes(b, (double)bytes);
	if (seconds >= 0)
		format_seconds(s, seconds);
	snprintf(buf, len, "%s entr%s%s%s%s%s", format_count(n, entries), entries == 1 ? "y" : "ies", *b ? ", " : "", b, *s ? ", " : "", s);
	return buf;
}

static void show_lease(const json_t *view, char *text, size_t len)
{
	double left = get_real(view, "lease_remaining_ms");
	char s[FORMAT_LEN];

	if (!json_object_get(view, "lease_ms"))
		text[0] = '\0'; /* fixed, or an older server */
	else if (left < 0)
		snprintf(text, len, "; no lease");
	else
		snprintf(text, len, "; lease for %s", format_seconds(s, left / 1000));
	if (json_is_true(json_object_get(view, "stale_reads")))
		strncat(text, "; Stale_Reads", len - strlen(text) - 1);
}

/* One line for each server that is not simply a member. */
static void show_others(const json_t *servers, uint64_t self, FILE *out)
{
	json_t *s;
	size_t i;

	json_array_foreach((json_t *)servers, i, s)
	{
		const char *state = get_text(s, "state");
		char text[CTL_WHY], silent[FORMAT_LEN] = "", lag[100];
		double ms = get_real(s, "silent_ms");
		int n;

		if (strcmp(state, "member") == 0 || get_num(s, "server") == self)
			continue;
		n = snprintf(text, sizeof(text), "server %" PRIu64 ": %.40s", get_num(s, "server"), state);
		if (*get_text(s, "cannot_apply"))
			n += snprintf(text + n, sizeof(text) - (size_t)n, " (it cannot apply an update: %.1000s)", get_text(s, "cannot_apply"));
		if (*get_text(s, "halted"))
			n += snprintf(text + n, sizeof(text) - (size_t)n, " (%.1000s)", get_text(s, "halted"));
		if (ms < 0)
			n += snprintf(text + n, sizeof(text) - (size_t)n, ", not heard since this server's start");
		else
			n += snprintf(text + n, sizeof(text) - (size_t)n, ", last heard %s ago", format_seconds(silent, ms / 1000));
		snprintf(text + n, sizeof(text) - (size_t)n, "; lag behind this server's log: %s",
			 behind(lag, sizeof(lag), get_num(s, "lag_entries"), get_num(s, "lag_bytes"), -1));
		show_line(out, "", text);
	}
}

static void show_view(const json_t *a, FILE *out)
{
	const json_t *view = json_object_get(a, "view"), *members = json_object_get(view, "members");
	char text[300];
	int n = snprintf(text, sizeof(text), "%" PRIu64 ", %.40s: servers", get_num(view, "number"), get_text(view, "kind"));

	for (size_t i = 0; i < json_array_size(members) && n < 200; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, " %lld", (long long)json_integer_value(json_array_get(members, i)));
	show_lease(view, text + n, sizeof(text) - (size_t)n);
	show_line(out, "view", text);
	show_others(json_object_get(view, "servers"), get_num(a, "server"), out);
}

#define GENERATION_SHIFT 40 /* of an entry's number */

/* "1,234"; after the log has ended once "1,234 (2nd log)" and so on. */
static void format_lsn(char buf[FORMAT_LEN], uint64_t lsn)
{
	uint64_t gen = lsn >> GENERATION_SHIFT;

	format_count(buf, lsn & ((UINT64_C(1) << GENERATION_SHIFT) - 1));
	if (gen)
		snprintf(buf + strlen(buf), FORMAT_LEN - strlen(buf), " (log %" PRIu64 ")", gen + 1);
}

static void show_resync(const json_t *r, FILE *out)
{
	char text[300], per_s[30] = "", done[FORMAT_LEN], all[FORMAT_LEN], bytes[FORMAT_LEN], rate[FORMAT_LEN], left[FORMAT_LEN];

	if (!json_is_object(r))
		return;
	if (strcmp(get_text(r, "phase"), "waiting") == 0) {
		show_line(out, "resync", "waiting for a server to copy from");
		return;
	}
	if (get_real(r, "objects_per_second") >= 0) /* an older server does not say */
		snprintf(per_s, sizeof(per_s), " (%.0f/s)", get_real(r, "objects_per_second"));
	snprintf(text, sizeof(text), "from server %" PRIu64 ": %s of %s objects%s, %s, %s/s%s%s", get_num(r, "from"), format_count(done, get_num(r, "objects")),
		 format_count(all, get_num(r, "objects_all")), per_s,
		 format_bytes(bytes, (double)get_num(r, "bytes")),
		 format_bytes(rate, get_real(r, "bytes_per_second")), get_real(r, "eta_seconds") >= 0 ? ", about " : "",
		 get_real(r, "eta_seconds") >= 0 ? format_seconds(left, get_real(r, "eta_seconds")) : "");
	strncat(text, get_real(r, "eta_seconds") >= 0 ? " remaining" : "", sizeof(text) - strlen(text) - 1);
	show_line(out, "resync", text);
}

static void append_ids(char *text, size_t len, const char *what, const json_t *ids)
{
	json_t *id;
	size_t i;

	json_array_foreach((json_t *)ids, i, id)
	{
		size_t n = strlen(text);

		snprintf(text + n, len - n, "%s%lld", i ? ", " : what, (long long)json_integer_value(id));
	}
}

/* The updates that would be lost with this server; abandoned servers. */
static void show_durability(const json_t *d, FILE *out)
{
	const json_t *loss = json_object_get(d, "loss_window");
	char text[400], n[FORMAT_LEN], b[FORMAT_LEN], s[FORMAT_LEN];

	if (!json_is_object(d))
		return; /* an older server */
	if (get_num(loss, "entries"))
		snprintf(text, sizeof(text), "%.20s; no majority has the last %s updates of this server (%s, for %s)", get_text(d, "durability"),
			 format_count(n, get_num(loss, "entries")), format_bytes(b, (double)get_num(loss, "bytes")),
			 format_seconds(s, (double)get_num(loss, "age_ms") / 1000));
	else
		snprintf(text, sizeof(text), "%.20s; a majority has all updates of this server", get_text(d, "durability"));
	append_ids(text, sizeof(text), "; being abandoned: ", json_object_get(d, "abandoned"));
	append_ids(text, sizeof(text), "; log ended: ", json_object_get(d, "sealed"));
	show_line(out, "durability", text);
	show_resync(json_object_get(d, "resync"), out);
}

/* Only when updates are retained for a server. */
static void show_retention(const json_t *r, FILE *out)
{
	char text[300], kept[FORMAT_LEN], max[FORMAT_LEN], since[FORMAT_LEN];

	if (json_array_size(json_object_get(r, "retained_for")) || json_array_size(json_object_get(r, "needs_full_copy"))) {
		snprintf(text, sizeof(text), "%s of updates (at most %s), the oldest from %s ago", format_bytes(kept, (double)get_num(r, "bytes")),
			 format_bytes(max, (double)get_num(r, "bytes_max")), format_seconds(since, (double)get_num(r, "age_seconds")));
		append_ids(text, sizeof(text), "; for server ", json_object_get(r, "retained_for"));
		append_ids(text, sizeof(text), "; full copy needed by server ", json_object_get(r, "needs_full_copy"));
		show_line(out, "retention", text);
	}
	if (json_is_string(json_object_get(r, "warning")))
		show_line(out, "WARNING", get_text(r, "warning"));
}

/* "12.0 GiB free of 40.0 GiB" */
static int append_room(char *text, size_t len, const json_t *room, const char *what)
{
	char left[FORMAT_LEN], all[FORMAT_LEN];

	if (!get_num(room, "total"))
		return 0;
	return snprintf(text, len, "%s%s free of %s", what, format_bytes(left, (double)get_num(room, "free")), format_bytes(all, (double)get_num(room, "total")));
}

static void show_server_room(const json_t *s, bool first, FILE *out)
{
	const json_t *inodes = json_object_get(s, "inodes");
	char text[300], left[FORMAT_LEN], all[FORMAT_LEN];
	size_t len = sizeof(text);
	int n = snprintf(text, len, "server %" PRIu64 ": ", get_num(s, "server"));

	n += append_room(text + n, len - (size_t)n, json_object_get(s, "tree"), "");
	if (get_num(inodes, "total"))
		n += snprintf(text + n, len - (size_t)n, ", %s of %s inodes", format_count(left, get_num(inodes, "free")), format_count(all, get_num(inodes, "total")));
	if (json_is_true(json_object_get(s, "shared")))
		n += snprintf(text + n, len - (size_t)n, "; Store on the same file system");
	else
		n += append_room(text + n, len - (size_t)n, json_object_get(s, "store"), "; Store: ");
	if (!json_is_true(json_object_get(s, "member")))
		snprintf(text + n, len - (size_t)n, " (not a member: sets no limit)");
	show_line(out, first ? "space" : "", text);
}

/* "4.0 TiB in a file (server 2)" */
static int append_limit(char *text, size_t len, const json_t *limit, const char *what, bool bytes, bool first)
{
	char n[FORMAT_LEN];

	if (!json_is_object(limit))
		return 0;
	if (bytes)
		format_bytes(n, (double)get_num(limit, "max"));
	else
		format_count(n, get_num(limit, "max"));
	return snprintf(text, len, "%s%s %s (server %" PRIu64 ")", first ? "at most " : ", ", n, what, get_num(limit, "server"));
}

static int year_of(const json_t *when)
{
	time_t t = (time_t)json_integer_value(when);
	struct tm tm;

	return gmtime_r(&t, &tm) ? tm.tm_year + 1900 : 0;
}

/* Those of every file system end some day: only an end that files may come to see is worth a word. */
static int append_times(char *text, size_t len, const json_t *times, bool first)
{
	int last = year_of(json_object_get(times, "last"));

	if (!json_is_object(times) || !last || last > 2200)
		return 0;
	return snprintf(text, len, "%stimes from %d to %d (server %" PRIu64 ")", first ? "" : ", ", year_of(json_object_get(times, "first")), last, get_num(times, "server"));
}

static void show_limits(const json_t *l, FILE *out)
{
	char text[500] = "";
	size_t len = sizeof(text);
	int n = 0;

	n += append_limit(text + n, len - (size_t)n, json_object_get(l, "file_bytes"), "in a file", true, n == 0);
	n += append_limit(text + n, len - (size_t)n, json_object_get(l, "attribute_bytes"), json_is_true(json_object_get(l, "attributes_share")) ? "in all attributes of an object" : "in an attribute", true, n == 0);
	n += append_limit(text + n, len - (size_t)n, json_object_get(l, "name_bytes"), "bytes in a name", false, n == 0);
	n += append_limit(text + n, len - (size_t)n, json_object_get(l, "links"), "links", false, n == 0);
	n += append_limit(text + n, len - (size_t)n, json_object_get(l, "link_text_bytes"), "bytes in a symbolic link", false, n == 0);
	n += append_times(text + n, len - (size_t)n, json_object_get(l, "times"), n == 0);
	if (json_is_false(json_object_get(l, "attributes")))
		n += snprintf(text + n, len - (size_t)n, "; no extended attributes");
	if (json_is_false(json_object_get(l, "acls")))
		n += snprintf(text + n, len - (size_t)n, "; no ACLs");
	if (json_is_false(json_object_get(l, "any_names")))
		n += snprintf(text + n, len - (size_t)n, "; names in UTF-8 only");
	if (n)
		show_line(out, "limits", text);
}

static void show_space(const json_t *sp, FILE *out)
{
	char text[400];
	json_t *s;
	size_t i;

	json_array_foreach(json_object_get(sp, "servers"), i, s)
		show_server_room(s, i == 0, out);
	if (json_is_object(json_object_get(sp, "limits")))
		show_limits(json_object_get(sp, "limits"), out);
	if (json_is_string(json_object_get(sp, "refused"))) {
		snprintf(text, sizeof(text), "updates that need space are refused: %.300s", get_text(sp, "refused"));
		show_line(out, "WARNING", text);
	}
}

/* Only when something was changed behind NFS. */
static void show_out_of_band(const json_t *b, FILE *out)
{
	char text[400], taken[FORMAT_LEN], failed[FORMAT_LEN], aside[FORMAT_LEN], strays[FORMAT_LEN];

	if (get_num(b, "restored") || get_num(b, "failed") || get_num(b, "moved_aside") || get_num(b, "pending")) {
		snprintf(text, sizeof(text), "changes in the exported directory itself: %s objects restored from other servers, %s pending; %s foreign names moved aside (see the log; nfs4rctl repair)",
			 format_count(taken, get_num(b, "restored")), format_count(failed, get_num(b, "pending")), format_count(aside, get_num(b, "moved_aside")));
		show_line(out, "out-of-band", text);
	}
	if (get_num(b, "strays")) {
		snprintf(text, sizeof(text), "%s foreign files in .nfs4r-hold of the exported directory: inspect them, then remove them", format_count(strays, get_num(b, "strays")));
		show_line(out, "strays", text);
	}
}

/* Only when there were too many. */
static void show_waiting(const json_t *w, FILE *out)
{
	char text[300], refused[FORMAT_LEN], now[FORMAT_LEN], max[FORMAT_LEN];

	if (!get_num(w, "refused"))
		return;
	snprintf(text, sizeof(text), "%s threads of at most %s (Waiting_Max) wait for other servers; %s operations were answered NFS4ERR_DELAY because too many waited",
		 format_count(now, get_num(w, "threads")), format_count(max, get_num(w, "max")), format_count(refused, get_num(w, "refused")));
	show_line(out, "waiting", text);
}

static void show_conflicts(const json_t *c, FILE *out)
{
	char text[1200], n[FORMAT_LEN];

	if (!get_num(c, "saved"))
		return;
	snprintf(text, sizeof(text), "%s sets of undone updates are saved in %.1000s: inspect them, then remove them", format_count(n, get_num(c, "saved")), get_text(c, "directory"));
	show_line(out, "conflicts", text);
}

static void show_log(const json_t *a, FILE *out)
{
	const json_t *log = json_object_get(a, "log");
	uint64_t last = get_num(log, "last"), stable = get_num(log, "stable_at_all_peers");
	char first_s[FORMAT_LEN], last_s[FORMAT_LEN], stable_s[FORMAT_LEN], text[250];

	format_lsn(first_s, get_num(log, "first"));
	format_lsn(last_s, last);
	format_lsn(stable_s, stable);
	if (last == 0)
		snprintf(text, sizeof(text), "empty");
	else if (get_num(log, "first") == 0)
		snprintf(text, sizeof(text), "up to %s; no server needs an entry of it", last_s);
	else
		snprintf(text, sizeof(text), "entries %s to %s; on stable storage of every server up to %s", first_s, last_s, stable_s);
	show_line(out, "own log", text);
}

static void show_stores(const json_t *a, FILE *out)
{
	const json_t *j = json_object_get(a, "journal"), *c = json_object_get(a, "controls");
	char b1[FORMAT_LEN], b2[FORMAT_LEN], text[250];

	snprintf(text, sizeof(text), "%s own, %s of other servers", format_count(b1, get_num(c, "own")), format_count(b2, get_num(c, "foreign")));
	show_line(out, "controls", text);
	show_lock_counts(json_object_get(a, "locks"), out);
	snprintf(text, sizeof(text), "%s in %" PRIu64 " segment%s, %s rows since the last checkpoint (%" PRIu64 " ms)",
		 format_bytes(b1, (double)get_num(j, "bytes")), get_num(j, "segments"), get_num(j, "segments") == 1 ? "" : "s",
		 format_count(b2, get_num(j, "rows_dirty")), get_num(j, "last_checkpoint_ms"));
	show_line(out, "journal", text);
	snprintf(text, sizeof(text), "%s of %s used for updates on their way to peers", format_bytes(b1, (double)get_num(a, "payload_bytes")),
		 format_bytes(b2, (double)get_num(a, "payload_bytes_max")));
	show_line(out, "memory", text);
}

/* Only what is wrong. */
/* What an administrator put there for a change from `none`, and may have forgotten. */
static void show_security(const json_t *a, FILE *out)
{
	json_t *word;
	size_t i;

	json_array_foreach(json_object_get(a, "accepts"), i, word) if (strcmp(json_string_value(word), "none") == 0)
		show_line(out, "WARNING", "this server accepts connections that prove and protect nothing: remove none from Peer_Security_Accept when all servers use another flavour");
	show_certificate(a, out);
}

static void show_clocks(const json_t *peers, FILE *out)
{
	size_t i;
	json_t *p;

	json_array_foreach(peers, i, p)
	{
		double ahead_ms = get_real(p, "clock_ahead_ms");
		char text[200], off[FORMAT_LEN];

		if (!is_clock_off(ahead_ms))
			continue;
		snprintf(text, sizeof(text), "the clock of server %" PRIu64 " is %s %s this server's: files get wrong times; correct the wrong clock and run NTP",
			 get_num(p, "server"), format_seconds(off, fabs(ahead_ms) / 1000), ahead_ms > 0 ? "ahead of" : "behind");
		show_line(out, "clock", text);
	}
}

/* Why a peer is not up is a sentence, which a table has no room for: "refused" there, and all of it below. */
static void show_refusals(const json_t *peers, FILE *out)
{
	json_t *p;
	size_t i;

	json_array_foreach((json_t *)peers, i, p)
	{
		char *safe = strncmp(get_text(p, "state"), REFUSED, strlen(REFUSED)) ? NULL : nfs4r_text_line_new(get_text(p, "state") + strlen(REFUSED));

		if (safe)
			fprintf(out, "server %" PRIu64 " refused: %s\n", get_num(p, "server"), safe);
		free(safe);
	}
}

/* What of its configuration may differ and should not. */
static void show_differences(const json_t *peers, FILE *out)
{
	json_t *p;
	size_t i;

	json_array_foreach((json_t *)peers, i, p)
	{
		char *safe = *get_text(p, "differs") ? nfs4r_text_line_new(get_text(p, "differs")) : NULL;
		const json_t *days = json_object_get(p, "certificate_days");
		char left[FORMAT_LEN];
		char *names = *get_text(p, "names_differ") ? nfs4r_text_line_new(get_text(p, "names_differ")) : NULL;

		if (safe)
			fprintf(out, "%s\n", safe);
		if (names)
			fprintf(out, "a name maps differently: %s\n", names);
		if (json_is_integer(days) && json_integer_value(days) < CERTIFICATE_SOON_DAYS)
			fprintf(out, "the certificate of server %" PRIu64 " %s\n", get_num(p, "server"), show_days_left(left, sizeof(left), json_integer_value(days)));
		free(safe);
		free(names);
	}
}

/* "9", "9 of 9 to 10": what is spoken, and what it could speak. */
static const char *protocol(char buf[200], const json_t *row)
{
	char all[FORMAT_LEN], one[FORMAT_LEN];

	format_versions(all, json_object_get(row, "protocols"));
	snprintf(one, sizeof(one), "%" PRIu64, get_num(row, "protocol"));
	if (!get_num(row, "protocol") || strcmp(one, all) == 0)
		snprintf(buf, 200, "%s", all);
	else
		snprintf(buf, 200, "%s of %s", one, all);
	return buf;
}

const char *show_path_or_oid(const json_t *row, char buf[SHOW_OID])
{
	const json_t *path = json_object_get(row, "path");

	if (json_is_string(path))
		return json_string_value(path);
	snprintf(buf, SHOW_OID, "[%.90s]", get_text(row, "oid"));
	return buf;
}

static void show_peers(const json_t *peers, FILE *out)
{
	static const char *const head[] = { "PEER", "STATE", "RTT", "ITS LAG", "OUR LAG", "VERSION", "PROTOCOL", "DISK" };
	struct table *t = table_with_head(8, head);
	size_t i;
	json_t *p;

	json_array_foreach(peers, i, p)
	{
		const json_t *ours = json_object_get(p, "has_of_our_log"), *theirs = json_object_get(p, "we_have_of_its_log");
		char buf[200];

		snprintf(buf, sizeof(buf), "%" PRIu64, get_num(p, "server"));
		table_cell(t, buf);
		snprintf(buf, sizeof(buf), "%.150s%s%.20s", strncmp(get_text(p, "state"), REFUSED, strlen(REFUSED)) ? get_text(p, "state") : "refused", *get_text(p, "security") ? ", " : "",
			 get_text(p, "security"));
		table_cell(t, buf);
		if (get_real(p, "rtt_ms") >= 0)
			snprintf(buf, sizeof(buf), "%.1f ms", get_real(p, "rtt_ms"));
		else
			snprintf(buf, sizeof(buf), "-");
		table_cell(t, buf);
		table_cell(t, behind(buf, sizeof(buf), get_num(ours, "lag_entries"), get_num(ours, "lag_bytes"), get_real(ours, "lag_seconds")));
		table_cell(t, behind(buf, sizeof(buf), get_num(theirs, "lag_entries"), 0, -1));
		table_cell(t, *get_text(p, "version") ? get_text(p, "version") : "-");
		table_cell(t, protocol(buf, p));
		table_cell(t, format_versions(buf, json_object_get(p, "disk_formats")));
	}
	table_print(t, out);
	show_differences(peers, out);
	show_refusals(peers, out);
}

/* An import of which something is to be said: while it goes on, and when it left something out. */
static void show_import(const json_t *i, FILE *out)
{
	if (get_text(i, "warning")[0])
		show_line(out, "WARNING", get_text(i, "warning"));
}

/* What other servers say of themselves. */
static void show_remarks(const json_t *peers, FILE *out)
{
	char text[300], n[FORMAT_LEN];
	json_t *p;
	size_t i;

	json_array_foreach((json_t *)peers, i, p)
	{
		const json_t *import = json_object_get(p, "import");
		uint64_t s = get_num(p, "server");

		if (*get_text(import, "phase")) {
			snprintf(text, sizeof(text), "the import of an existing tree at server %" PRIu64 " is %.20s after %s objects: the volume has only a part of the tree", s,
				 get_text(import, "phase"), format_count(n, get_num(import, "objects")));
			show_line(out, "WARNING", text);
		}
		if (get_num(p, "strays")) {
			snprintf(text, sizeof(text), "%s foreign files in .nfs4r-hold of the exported directory of server %" PRIu64 ": inspect them there, then remove them", format_count(n, get_num(p, "strays")), s);
			show_line(out, "strays", text);
		}
		if (get_num(p, "conflicts")) {
			snprintf(text, sizeof(text), "%s sets of undone updates are saved under Conflicts of server %" PRIu64 ": inspect them there, then remove them",
				 format_count(n, get_num(p, "conflicts")), s);
			show_line(out, "conflicts", text);
		}
	}
}

/* A daemon that is older than this program says one number. */
static const char *own_versions(char buf[FORMAT_LEN], const json_t *a, const char *all, const char *one)
{
	if (json_is_object(json_object_get(a, all)))
		return format_versions(buf, json_object_get(a, all));
	return format_count(buf, get_num(a, one));
}

/* While all servers know more than the volume has. */
static void show_upgrade(const json_t *s, FILE *out)
{
	const json_t *to = json_object_get(s, "may_finish");
	char text[300];

	if (!json_is_object(to))
		return;
	snprintf(text, sizeof(text), "the volume has protocol %" PRIu64 " and disk format %" PRIu64 ", and every server knows protocol %" PRIu64 " and disk format %" PRIu64 ": `nfs4rctl upgrade finish` lets it use them; there is no way back then",
		 get_num(s, "protocol"), get_num(s, "disk_format"), get_num(to, "protocol"), get_num(to, "disk_format"));
	show_line(out, "upgrade", text);
}

/* What the file of this server has otherwise, and does not count. */
static void show_settings(const json_t *s, FILE *out)
{
	char text[160];
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(s, "keys"), i, row)
	{
		if (!json_is_true(json_object_get(row, "differs")))
			continue;
		snprintf(text, sizeof(text), "%.31s = %.15s in the volume; the file of this server has %.15s, which does not count", get_text(row, "key"), get_text(row, "value"), get_text(row, "file"));
		show_line(out, "setting", text);
	}
}

void show_status(const json_t *a, FILE *out)
{
	const json_t *peers = json_object_get(a, "peers");
	char text[400], up[FORMAT_LEN], protocols[FORMAT_LEN], disk[FORMAT_LEN], *state = NULL;

	show_line(out, "volume", get_text(a, "volume"));
	snprintf(text, sizeof(text), "%" PRIu64 ", incarnation %" PRIu64 ", up for %s", get_num(a, "server"), get_num(a, "incarnation"),
		 format_seconds(up, (double)get_num(a, "uptime_seconds")));
	show_line(out, "server", text);
	if (*get_text(a, "version")) { /* an older server does not say */
		snprintf(text, sizeof(text), "%.100s, protocol %s, disk format %s", get_text(a, "version"), own_versions(protocols, a, "protocols", "protocol"),
			 own_versions(disk, a, "disk_formats", "disk_format"));
		show_line(out, "version", text);
	}
	show_upgrade(json_object_get(a, "volume_settings"), out);
	show_settings(json_object_get(a, "volume_settings"), out);
	if (asprintf(&state, "%s%s%s", get_text(a, "state"), get_text(a, "why")[0] ? ": " : "", get_text(a, "why")) < 0)
		state = NULL;
	show_line(out, "state", state ? state : get_text(a, "state"));
	free(state);
	show_import(json_object_get(a, "import"), out);
	show_view(a, out);
	show_log(a, out);
	show_durability(json_object_get(a, "durability"), out);
	show_retention(json_object_get(a, "retention"), out);
	show_out_of_band(json_object_get(a, "out_of_band"), out);
	show_conflicts(json_object_get(a, "conflicts"), out);
	show_waiting(json_object_get(a, "waiting"), out);
	show_stores(a, out);
	show_space(json_object_get(a, "space"), out);
	show_security(a, out);
	show_clocks(peers, out);
	show_remarks(peers, out);
	if (json_array_size(peers)) {
		fprintf(out, "\n");
		show_peers(peers, out);
	}
}
