/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Answers as people see them: show/NAME.json through the shipped code against show/NAME.txt, letter by letter.
 * The folder is argv[1].
 */
#include "lib/unit.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl/ctl.h"

static const char *folder;

static json_t *answer(const char *name)
{
	char path[500];
	json_error_t err;
	json_t *a;

	snprintf(path, sizeof(path), "%s/%s.json", folder, name);
	a = json_load_file(path, 0, &err);
	if (!a)
		fail_msg("%s: %s", path, err.text);
	return a;
}

static char *expected(const char *name)
{
	char path[500], *text = calloc(1, 65536);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.txt", folder, name);
	f = fopen(path, "r");
	if (!f || !fread(text, 1, 65535, f))
		fail_msg("%s cannot be read", path);
	fclose(f);
	return text;
}

static void same(char *got, const char *name)
{
	char *want = expected(name);

	if (strcmp(got, want))
		fail_msg("not what %s.txt says:\n%s", name, got);
	free(want);
	free(got);
}

static char *controls(const json_t *a, struct show_filter f)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	bool ok = show_controls(a, &f, out);

	fclose(out);
	assert_true(ok || !len);
	if (ok)
		return text;
	free(text);
	return NULL;
}

static void controls_deep_ones_first_then_who_waits(void **state)
{
	json_t *a = answer("controls");

	same(controls(a, (struct show_filter){ 0 }), "controls");
	json_decref(a);
}

static void filters_choose(void **state)
{
	json_t *a = answer("controls");
	char *text;

	same(controls(a, (struct show_filter){ .deep = true, .own = true }), "controls-deep-own");
	same(controls(a, (struct show_filter){ .waiting = true }), "controls-waiting");
	text = controls(a, (struct show_filter){ .owner = 3 });
	assert_non_null(strstr(text, "/a\n"));
	assert_null(strstr(text, "/src"));
	assert_null(strstr(text, "OPERATION  "));
	free(text);
	text = controls(a, (struct show_filter){ .owner = 15 });
	assert_string_equal(text, "none of the 6 controls matches\n");
	free(text);
	json_decref(a);
}

static void nothing_is_said_in_words(void **state)
{
	json_t *a = json_loads("{\"server\":1,\"controls\":[],\"waiting\":[],\"truncated\":false}", 0, NULL);
	char *text = controls(a, (struct show_filter){ 0 });

	assert_string_equal(text, "no controls: no object is being changed\n\nno operation is waiting or executing\n");
	free(text);
	json_decref(a);
}

static void what_is_left_out_is_said(void **state)
{
	json_t *a = json_loads("{\"server\":1,\"controls\":[{\"depth\":\"deep\",\"path\":\"/\"}],\"truncated\":true,\"total\":12000}", 0, NULL);
	char *text = controls(a, (struct show_filter){ .deep = true });

	assert_non_null(strstr(text, "showing 1 of 12,000 controls\n"));
	free(text);
	json_decref(a);
}

/* A server that does not tell of operations: the table alone, and no claim that nothing waits. */
static void answers_of_an_older_server(void **state)
{
	json_t *a = json_loads("{\"server\":1,\"controls\":[{\"owner\":1,\"depth\":\"deep\",\"kind\":\"proposed\",\"state\":\"won\","
			       "\"path\":\"/x\",\"acked_by_all\":true}]}",
			       0, NULL),
	       *none = json_object();
	char *text = controls(a, (struct show_filter){ 0 });

	assert_string_equal(text, "DEPTH  KIND      OWNER  STATE  ENDS IN  BELOW  OPERATIONS  READS  WANTED BY  PATH\n"
				  "deep   proposed  1      won    -        -      -           -      -          /x\n");
	free(text);
	assert_null(controls(a, (struct show_filter){ .waiting = true }));
	assert_null(controls(none, (struct show_filter){ 0 }));
	assert_false(show_stats(none, stdout));
	json_decref(a);
	json_decref(none);
}

static void status_with_servers_outside_the_view(void **state)
{
	json_t *a = answer("status");
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	show_status(a, out);
	fclose(out);
	same(text, "status");
	json_decref(a);
}

static char *locks(const char *json)
{
	json_t *a = json_loads(json, 0, NULL);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_true(show_locks(a, out));
	fclose(out);
	json_decref(a);
	return text;
}

static void locks_say_who_has_them(void **state)
{
	char *text = locks("{\"server\":1,\"total\":3,\"truncated\":true,\"locks\":["
			   "{\"oid\":\"1.1.5\",\"path\":\"/db\",\"state\":\"held\",\"type\":\"write\",\"start\":10,\"length\":10,\"age_ms\":1500,\"client\":\"Linux NFSv4.2 paris\",\"address\":\"10.0.1.2\"},"
			   "{\"oid\":\"1.1.6\",\"path\":null,\"state\":\"waiting\",\"type\":\"read\",\"start\":0,\"length\":null,\"age_ms\":60000,\"client\":null,\"address\":null}]}");

	assert_string_equal(text, "STATE    TYPE   BYTES     SINCE      ADDRESS   CLIENT               PATH\n"
				  "held     write  10 to 19  2 s        10.0.1.2  Linux NFSv4.2 paris  /db\n"
				  "waiting  read   all       1 min 0 s  -         -                    [1.1.6]\n"
				  "showing 2 of 3 locks\n");
	free(text);
	text = locks("{\"server\":1,\"total\":2,\"truncated\":false,\"locks\":["
		     "{\"oid\":\"1.1.5\",\"path\":\"/db\",\"state\":\"held\",\"type\":\"write\",\"start\":10,\"length\":10,\"age_ms\":1500,\"client\":\"Linux NFSv4.2 paris\",\"address\":\"10.0.1.2\",\"server\":1},"
		     "{\"oid\":\"1.1.5\",\"path\":\"/db\",\"state\":\"waiting\",\"type\":\"read\",\"start\":0,\"length\":null,\"age_ms\":60000,\"client\":null,\"address\":null,\"server\":3}]}");
	assert_string_equal(text, "STATE    TYPE   BYTES     SINCE      SERVER  ADDRESS   CLIENT               PATH\n"
				  "held     write  10 to 19  2 s        1       10.0.1.2  Linux NFSv4.2 paris  /db\n"
				  "waiting  read   all       1 min 0 s  3       -         -                    /db\n");
	free(text);
	text = locks("{\"locks\":[]}");
	assert_string_equal(text, "no locks of this server's clients\n");
	free(text);
	text = locks("{\"server\":1,\"locks\":[],\"shares\":[],\"graces\":[],\"decided_by\":3}");
	assert_string_equal(text, "no locks that this server knows of\nserver 3 decides about this file, and knows the locks of other servers' clients: ask there\n");
	free(text);
}

static void locks_of_all_servers_with_opens_that_deny_and_graces(void **state)
{
	char *text = locks("{\"server\":1,\"total\":2,\"locks\":["
			   "{\"oid\":\"1.1.5\",\"path\":\"/db\",\"state\":\"held\",\"type\":\"write\",\"start\":0,\"length\":null,\"age_ms\":null,\"client\":\"rome\",\"address\":\"10.0.2.2\",\"server\":2,\"decided_by\":null},"
			   "{\"oid\":\"1.1.6\",\"path\":\"/mail\",\"state\":\"held\",\"type\":\"read\",\"start\":0,\"length\":1,\"age_ms\":1000,\"client\":\"paris\",\"address\":\"10.0.1.2\",\"server\":1,\"decided_by\":3}],"
			   "\"shares\":[{\"path\":\"/doc\",\"server\":1,\"readers\":1,\"writers\":1,\"deny_read\":0,\"deny_write\":1,\"reclaim_ms\":null},"
			   "{\"path\":\"/doc\",\"server\":2,\"readers\":1,\"writers\":0,\"deny_read\":0,\"deny_write\":0,\"reclaim_ms\":4000}],\"total_shares\":2,"
			   "\"graces\":[{\"path\":\"/home\",\"below\":true,\"age_ms\":12000,\"servers\":[2],\"clients_of\":[{\"server\":1,\"left_ms\":null},{\"server\":3,\"left_ms\":40000}]},"
			   "{\"path\":\"/f\",\"below\":false,\"age_ms\":1000,\"servers\":[],\"clients_of\":[]}],\"total_graces\":3}");

	assert_string_equal(text, "STATE  TYPE   BYTES   SINCE  SERVER  ADDRESS   CLIENT  PATH\n"
				  "held   write  all     -      2       10.0.2.2  rome    /db\n"
				  "held   read   0 to 0  1 s    1       10.0.1.2  paris   /mail\n"
				  "server 3 decides about some of these files, and knows the locks of other servers' clients: ask there\n"
				  "\nopens of files of which one denies others something:\n"
				  "SERVER  OPENS            DENIED BY        UNTIL  PATH\n"
				  "1       1 read, 1 write  0 read, 1 write  -      /doc\n"
				  "2       1 read, 0 write  -                4 s    /doc\n"
				  "\ngrace: no new lock is granted until the locks of before are known again:\n"
				  "SINCE  WAITS FOR                                                               PATH\n"
				  "12 s   server 2, clients of server 1, clients of server 3 (40 s more at most)  /home and all below\n"
				  "1 s    -                                                                       /f\n"
				  "showing 2 of 3 objects\n");
	free(text);
}

static void status_counts_locks_of_all_servers(void **state)
{
	json_t *l = json_loads("{\"files\":1,\"held\":2,\"waiting\":0,\"max\":1000,\"decided_here\":{\"files\":2,\"held\":3,\"waiting\":1},\"shares\":{\"denying\":1,\"files_decided_here\":2},"
			       "\"graces\":{\"objects\":1,\"age_ms\":12000,\"servers\":[],\"clients_of\":[{\"server\":1,\"left_ms\":3000}]},\"reclaiming\":{\"clients\":4,\"left_ms\":3000}}",
			       0, NULL),
	       *none = json_loads("{\"files\":0,\"held\":0,\"waiting\":0,\"max\":1000,\"decided_here\":{\"files\":0,\"held\":0,\"waiting\":0},\"shares\":{\"denying\":0,\"files_decided_here\":0},"
				  "\"graces\":{\"objects\":0,\"age_ms\":0,\"servers\":[],\"clients_of\":[]},\"reclaiming\":{\"clients\":0,\"left_ms\":null}}",
				  0, NULL);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	show_lock_counts(none, out);
	fflush(out);
	assert_int_equal(len, 0);
	show_lock_counts(l, out);
	fclose(out);
	assert_string_equal(text, "locks       2 of this server's clients in 1 file, and 0 that wait (at most 1000)\n"
				  "decided     3 of all servers' clients in 2 files that this server controls, and 1 that wait\n"
				  "denied      1 open of this server's clients that denies others something; this server controls 2 files with such opens\n"
				  "grace       no new locks under 1 object that this server controls, for 12 s; waits for clients of server 1 (3 s more at most)\n"
				  "reclaims    4 of this server's clients may ask for the locks that they had before, for at most 3 s\n");
	free(text);
	json_decref(l);
	json_decref(none);
}

static void stats_in_groups_and_drawn(void **state)
{
	json_t *a = answer("stats");
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_true(show_stats(a, out));
	fclose(out);
	same(text, "stats");
	json_decref(a);
}

/* @path of @o becomes @value, given as JSON: "a.b", and "list.0.c" is c of the first element. */
static void put(json_t *o, const char *path, const char *value)
{
	const char *dot = strchr(path, '.');
	char name[64];

	snprintf(name, sizeof(name), "%.*s", dot ? (int)(dot - path) : (int)strlen(path), path);
	if (!dot)
		assert_int_equal(json_object_set_new(o, name, json_loads(value, JSON_DECODE_ANY, NULL)), 0);
	else if (json_is_array(o))
		put(json_array_get(o, strtoul(name, NULL, 10)), dot + 1, value);
	else {
		if (!json_object_get(o, name))
			json_object_set_new(o, name, json_object());
		put(json_object_get(o, name), dot + 1, value);
	}
}

static json_t *healthy(void)
{
	return json_loads("{\"volume\":\"home\",\"server\":1,\"state\":\"serving\",\"view\":{\"kind\":\"active\",\"lease_ms\":2000,\"voters\":[1,2],"
			  "\"servers\":[{\"server\":1,\"state\":\"member\"},{\"server\":2,\"state\":\"member\"},{\"server\":3,\"state\":\"learner\"}]},"
			  "\"peers\":[{\"server\":2,\"up\":true,\"state\":\"up\",\"rtt_ms\":40.0,\"has_of_our_log\":{\"lag_seconds\":0.5}}],"
			  "\"durability\":{\"loss_window\":{\"age_ms\":500}},\"retention\":{\"warning\":null},"
			  "\"space\":{\"refused\":null,\"servers\":[{\"server\":2,\"tree\":{\"free\":100,\"total\":1000},\"inodes\":{\"free\":0,\"total\":0},"
			  "\"store\":{\"free\":900,\"total\":1000}}]}}",
			  0, NULL);
}

static void each_cause_is_named_and_ends_with_one(void **state)
{
	static const struct {
		const char *path, *value, *cause, *said;
	} cases[] = {
		{ "view.servers.1.state", "\"silent\"", "voter_away", "server 2 is away (silent)" },
		{ "view.servers.1.state", "\"shut down\"", "voter_away", "server 2 is away (shut down)" },
		{ "view.servers.1.state", "\"member\"", NULL, NULL },
		{ "view.servers.2.state", "\"learner, silent\"", NULL, NULL }, /* nobody counts on it */
		{ "view.servers.2.cannot_apply", "\"no space\"", "cannot_apply", "server 3 cannot apply an update: no space" },
		{ "peers.0.up", "false", "no_connection", "no connection with server 2 (up)" },
		{ "peers.0.has_of_our_log.lag_seconds", "31", "lag", "server 2 has lacked updates of this server for 31 s" },
		{ "peers.0.has_of_our_log.lag_seconds", "29.9", NULL, NULL },
		{ "durability.loss_window.age_ms", "30001", "loss_window", "no majority has the last updates of this server, for 30 s" },
		{ "peers.0.differs", "\"Export policy differs: server 1 has a, server 2 has b\"", "policy_differs", "Export policy differs: server 1 has a, server 2 has b" },
		{ "peers.0.names_differ", "\"alice@A is uid 1 at server 1, and uid 2 at server 2\"", "names_differ", "a name maps differently: alice@A is uid 1 at server 1, and uid 2 at server 2" },
		{ "peers.0.names_differ", "\"\"", NULL, NULL },
		{ "peers.0.rtt_ms", "201", "slow_link", "the round trip to server 2 takes 201 ms: set Max_Round_Trip above that on every server" },
		{ "peers.0.rtt_ms", "199", NULL, NULL },
		{ "peers.0.clock_ahead_ms", "-3600000.5", "clock", "the clock of server 2 and this server's differ by 1 h 0 min" },
		{ "peers.0.clock_ahead_ms", "1000", "clock", "the clock of server 2 and this server's differ by 1 s" },
		{ "peers.0.clock_ahead_ms", "-999", NULL, NULL },
		{ "peers.0.clock_ahead_ms", "null", NULL, NULL },
		{ "certificate_days", "29", "certificate", "the certificate of this server ends in 29 days: put a new one into Peer_Certificate" },
		{ "certificate_days", "-1", "certificate", "the certificate of this server has ended: put a new one into Peer_Certificate" },
		{ "certificate_days", "30", NULL, NULL },
		{ "peers.0.certificate_days", "0", "certificate", "the certificate of server 2 ends in 0 days: put a new one into its Peer_Certificate" },
		{ "peers.0.certificate_days", "30", NULL, NULL },
		{ "space.refused", "\"server 2 has 1 GiB\"", "full", "updates that need space are refused: server 2 has 1 GiB" },
		{ "space.servers.0.tree.free", "99", "low_space", "server 2 has 9.9 % of the file system of the exported directory free" },
		{ "space.servers.0.inodes", "{\"free\":1,\"total\":1000}", "low_inodes", "server 2 has 0.1 % of the inodes of the exported directory free" },
		{ "space.servers.0.store.free", "0", "low_store", "server 2 has 0.0 % of the file system of Store free" },
		{ "retention.warning", "\"server 3 has been away\"", "retention", "server 3 has been away" },
		{ "import.warning", "\"the import skipped 12 objects\"", "import", "the import skipped 12 objects" },
		{ "locks.room", "{\"free\":99,\"total\":1000}", "lock_room", "9.9 % of Lock_Max is left for locks of this server's clients: `nfs4rctl locks` lists them" },
		{ "locks.room", "{\"free\":100,\"total\":1000}", NULL, NULL },
		{ "locks.graces.age_ms", "30001", "lock_grace", "no new locks are granted under what this server controls, for 30 s: `nfs4rctl locks` lists the files, and the servers it waits for" },
		{ "locks.graces.age_ms", "29999", NULL, NULL },
		{ "out_of_band.strays", "2", "strays", "2 foreign files or directories lie in .nfs4r-hold of the exported directory: inspect them, then remove them" },
		{ "conflicts.saved", "1", "conflicts", "1 sets of undone updates are saved under Conflicts: inspect them, then remove them" },
		{ "conflicts.saved", "0", NULL, NULL },
		{ "state", "\"importing\"", "import", "an existing tree is being imported" },
		{ "peers.0.import", "{\"phase\":\"running\",\"objects\":7}", "import", "the import of an existing tree at server 2 is running: the volume has only a part of the tree" },
		{ "peers.0.import", "null", NULL, NULL },
		{ "peers.0.strays", "3", "strays", "3 foreign files or directories lie in .nfs4r-hold of the exported directory of server 2: inspect them there, then remove them" },
		{ "peers.0.conflicts", "1", "conflicts", "1 sets of undone updates are saved under Conflicts of server 2: inspect them there, then remove them" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *a = healthy(), *h, *causes;

		put(a, cases[i].path, cases[i].value);
		h = health_of(a, 30);
		causes = json_object_get(h, "causes");
		assert_true(json_is_true(json_object_get(h, "serves")));
		assert_int_equal(get_num(h, "status"), cases[i].cause ? HEALTH_WRONG : HEALTH_OK);
		assert_int_equal(json_array_size(causes), cases[i].cause ? 1 : 0);
		if (cases[i].cause) {
			assert_string_equal(get_text(json_array_get(causes, 0), "cause"), cases[i].cause);
			assert_string_equal(get_text(json_array_get(causes, 0), "text"), cases[i].said);
		}
		json_decref(h);
		json_decref(a);
	}
}

/* Whatever is wrong besides: a server that does not serve is critical, and one whose answer does not say its state is, too. */
static void not_serving_is_critical(void **state)
{
	static const char *const states[] = { "\"new\"", "\"recovering\"", "\"no lease\"", "\"halted\"", "\"removed from the volume\"", "\"something newer\"", "null" };

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		json_t *a = healthy(), *h;

		put(a, "state", states[i]);
		h = health_of(a, 30);
		assert_int_equal(get_num(h, "status"), HEALTH_DOWN);
		assert_string_equal(get_text(h, "health"), "CRITICAL");
		json_decref(h);
		json_decref(a);
	}
}

/* What `status` has of a certificate that ends in so many days; "" if it says nothing. */
static char *certificate(int days, bool ends)
{
	json_t *a = json_pack("{s:s}", "certificate", "/etc/nfs4r/peer.crt");
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (ends)
		json_object_set_new(a, "certificate_ends", json_integer((json_int_t)time(NULL) + (json_int_t)days * 86400 + 60));
	show_certificate(a, out);
	fclose(out);
	json_decref(a);
	return text;
}

static void a_certificate_that_ends_is_told_in_time(void **state)
{
	static const struct {
		int days;
		bool ends;
		const char *begin, *has;
	} cases[] = {
		{ 0, false, "", "" },
		{ 400, true, "certificate /etc/nfs4r/peer.crt ends on ", ", in 400 days\n" },
		{ 30, true, "certificate ", ", in 30 days\n" },
		{ 29, true, "WARNING     /etc/nfs4r/peer.crt ends on ", ", in 29 days: put a new one in its place; new connections use it\n" },
		{ -2, true, "WARNING     /etc/nfs4r/peer.crt ended on ", ": put a new one in its place" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = certificate(cases[i].days, cases[i].ends);

		if (strncmp(text, cases[i].begin, strlen(cases[i].begin)) != 0 || !strstr(text, cases[i].has) || (!cases[i].ends && *text))
			fail_msg("%d days: %s", cases[i].days, text);
		free(text);
	}
}

static void health_is_safe_for_a_terminal(void **state)
{
	json_t *h = health_unknown(HEALTH_DOWN, "nobody\nlistens");
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	show_health(h, out);
	fclose(out);
	assert_string_equal(text, "CRITICAL: nobody\\012listens\n");
	free(text);
	json_decref(h);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(controls_deep_ones_first_then_who_waits),
		cmocka_unit_test(filters_choose),
		cmocka_unit_test(nothing_is_said_in_words),
		cmocka_unit_test(what_is_left_out_is_said),
		cmocka_unit_test(answers_of_an_older_server),
		cmocka_unit_test(locks_say_who_has_them),
		cmocka_unit_test(locks_of_all_servers_with_opens_that_deny_and_graces),
		cmocka_unit_test(status_counts_locks_of_all_servers),
		cmocka_unit_test(stats_in_groups_and_drawn),
		cmocka_unit_test(status_with_servers_outside_the_view),
		cmocka_unit_test(each_cause_is_named_and_ends_with_one),
		cmocka_unit_test(not_serving_is_critical),
		cmocka_unit_test(a_certificate_that_ends_is_told_in_time),
		cmocka_unit_test(health_is_safe_for_a_terminal),
	};

	if (argc < 2) {
		fprintf(stderr, "usage: %s FOLDER-WITH-FIXTURES\n", argv[0]);
		return 2;
	}
	folder = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
