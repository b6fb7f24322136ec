/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Settings of the volume (log 6.17), with real engines, stores and connections: each is changed at one server while clients work at all, counts over restarts whatever the
 * file says, and what a file has otherwise is said.
 */
#include "lib/unit.h"
#include <stdio.h>
#include <string.h>

#include "engine/admin/admin_int.h"
#include "steps.h"

#define LEASE_MS 600

static int setup(void **state)
{
	struct cluster *c = cluster_new();

	c->lease_ms = c->silence_ms = LEASE_MS;
	cluster_begin(c, state);
	wait_all_serve(c);
	return 0;
}

static struct nfs4r_volume_keys keys(struct cluster *c, int id)
{
	struct nfs4r_core_view v;

	get_view(&c->site[id], &v);
	return v.adopted.settings.keys;
}

/* The refusal, or NULL. */
static const char *set(struct cluster *c, int at, const char *key, const char *value)
{
	static char error[400];
	json_t *req = json_pack("{s:s, s:s}", "key", key, "value", value), *a = admin_set(c->site[at].eng, req);
	const char *text = json_string_value(json_object_get(a, "error"));

	snprintf(error, sizeof(error), "%s", text ? text : "");
	json_decref(req);
	json_decref(a);
	return *error ? error : NULL;
}

static void must_set(struct cluster *c, int at, const char *key, const char *value)
{
	const char *error = set(c, at, key, value);

	if (error)
		fail_msg("set %s %s: %s", key, value, error);
}

static bool value_is(struct cluster *c, int id, const char *key, const char *value, bool differs)
{
	json_t *a = admin_settings(c->site[id].eng), *row;
	bool is = false;
	size_t i;

	json_array_foreach(json_object_get(a, "settings"), i, row)
	{
		if (strcmp(json_string_value(json_object_get(row, "key")), key) == 0)
			is = strcmp(json_string_value(json_object_get(row, "value")), value) == 0 && json_is_true(json_object_get(row, "differs")) == differs;
	}
	json_decref(a);
	return is;
}

static void until_all_have(struct cluster *c, const char *key, const char *value, bool differs)
{
	int id = 1;

	for (int i = 0; i < 1000 && id <= SITES; i++) {
		if (value_is(c, id, key, value, differs))
			id++;
		else
			pause_ms(10);
	}
	if (id <= SITES)
		fail_msg("server %d has another %s than %s", id, key, value);
}

struct client {
	struct cluster *c;
	_Atomic bool stop;
	uint32_t done;
	int id;
};

static void *work(void *arg)
{
	struct client *w = arg;
	struct nfs4r_oid root = site_root(&w->c->site[w->id]), f;
	char name[40];

	while (!w->stop) {
		snprintf(name, sizeof(name), "w%d-%u", w->id, w->done);
		if (site_make(&w->c->site[w->id], NFS4R_OP_CREATE, &root, name, &f) != NFS4R_OK || site_write_stable(&w->c->site[w->id], &f, 0, name, (uint32_t)strlen(name)) != NFS4R_OK ||
		    site_commit(&w->c->site[w->id], &f) != NFS4R_OK || site_close(&w->c->site[w->id], &f) != NFS4R_OK)
			return NULL;
		w->done++;
	}
	return w;
}

static void each_is_changed_under_load(void **state)
{
	static const char *const changes[][2] = { { "Durability", "commit" }, { "Max_Round_Trip", "100" }, { "Failure_Timeout", "900" }, { "Lease", "1500" }, { "Durability", "majority" }, { "Directory_Reads", "local" }, { "Clock_Drift", "20" }, { "Lease", "600" }, { "Durability", "local" }, { "Durability", "commit" } };
	struct cluster *c = *state;
	struct client w[SITES + 1] = { { .c = NULL } };
	pthread_t t[SITES + 1];

	for (int id = 1; id <= SITES; id++) {
		w[id].c = c;
		w[id].id = id;
		assert_int_equal(pthread_create(&t[id], NULL, work, &w[id]), 0);
	}
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		must_set(c, (int)i % SITES + 1, changes[i][0], changes[i][1]);
		for (int id = 1; id <= SITES; id++) {
			for (int n = 0; n < 1000 && !value_is(c, id, changes[i][0], changes[i][1], true) && !value_is(c, id, changes[i][0], changes[i][1], false); n++)
				pause_ms(10);
		}
		pause_ms(200);
	}
	for (int id = 1; id <= SITES; id++) {
		void *ok;

		w[id].stop = true;
		pthread_join(t[id], &ok);
		assert_non_null(ok);
		assert_true(w[id].done > 0);
	}
	until_all_have(c, "Durability", "commit", true);
	until_all_have(c, "Directory_Reads", "local", true);
	until_all_have(c, "Lease", "600", false);
	for (int id = 1; id <= SITES; id++)
		assert_int_equal(engine_durability(c->site[id].eng), NFS4R_DURABILITY_COMMIT);
	for (int i = 0; i < 1000 && !keys(c, 1).ends; i++)
		pause_ms(10);
	assert_true(keys(c, 1).ends);
	each_makes_a_file(c, "a");
	cluster_settle(c);
}

static void a_file_that_differs_is_said_and_does_not_count(void **state)
{
	struct cluster *c = *state;

	must_set(c, 2, "Durability", "majority");
	until_all_have(c, "Durability", "majority", true);
	for (int id = 1; id <= SITES; id++) {
		cluster_stop(c, id);
		c->durability = id == 1 ? NFS4R_DURABILITY_MAJORITY : NFS4R_DURABILITY_COMMIT;
		cluster_start(c, id);
		if (id > 1)
			site_says(&c->site[id], "the volume has Durability = majority (here commit), and that counts", 20);
		wait_all_serve(c);
		assert_true(value_is(c, id, "Durability", "majority", id > 1));
		assert_int_equal(engine_durability(c->site[id].eng), NFS4R_DURABILITY_MAJORITY);
		each_makes_a_file(c, id == 1 ? "a" : id == 2 ? "b" :
							       "c");
	}
	cluster_settle(c);
}

static void what_makes_no_sense_is_refused(void **state)
{
	static const char *const bad[][3] = { { "Durability", "mostly", "give local, commit, majority" }, { "Lease", "10", "give 200 to 60000 milliseconds" }, { "Lease", "0", "give 200 to 60000" }, { "Lease", "-1", "give 200 to" }, { "Window", "1048576", "the volume has no such setting" }, { "Failure_Timeout", "200", "at least half of Lease" } };
	struct cluster *c = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *error = set(c, 1, bad[i][0], bad[i][1]);

		if (!error || !strstr(error, bad[i][2]))
			fail_msg("set %s %s: %s", bad[i][0], bad[i][1], error ? error : "not refused");
	}
	cluster_stop(c, 2);
	cluster_stop(c, 3);
	assert_null(set(c, 1, "Lease", "700")); /* it waits for a majority */
	pause_ms(3 * LEASE_MS);
	assert_true(value_is(c, 1, "Lease", "600", false));
	cluster_start(c, 2);
	cluster_start(c, 3);
	wait_all_serve(c);
	until_all_have(c, "Lease", "700", true);
}

/* ---- during a COMMIT ---- */

static struct cluster *raised; /* at the next sync of the whole journal by this thread; NULL: never */
static pthread_t syncer;

enum nfs4r_status __real_nfs4r_store_sync_whole(struct nfs4r_store *s);
enum nfs4r_status __wrap_nfs4r_store_sync_whole(struct nfs4r_store *s);

enum nfs4r_status __wrap_nfs4r_store_sync_whole(struct nfs4r_store *s)
{
	struct cluster *c = raised;

	if (c && pthread_equal(pthread_self(), syncer)) {
		raised = NULL;
		must_set(c, 2, "Durability", "commit");
		until_all_have(c, "Durability", "commit", true);
	}
	return __real_nfs4r_store_sync_whole(s);
}

static uint64_t commits_asked(struct nfs4r_engine *eng)
{
	uint64_t n;

	pthread_mutex_lock(&eng->lock);
	n = eng->update.next_commit_wait;
	pthread_mutex_unlock(&eng->lock);
	return n;
}

/* It began with `local`, which asks nobody, and ends with `commit`. */
static void a_commit_is_answered_by_the_view_of_then(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_engine *eng = c->site[1].eng;
	struct nfs4r_oid root = site_root(&c->site[1]), f = make_file(&c->site[1], &root, "f", "x");
	uint64_t before;

	assert_int_equal(nfs4r_commit(eng, &f, 0), NFS4R_OK);
	before = commits_asked(eng);
	syncer = pthread_self();
	raised = c;
	assert_int_equal(nfs4r_commit(eng, &f, 0), NFS4R_OK);
	assert_null(raised);
	assert_int_equal(commits_asked(eng), before + 1);
}

/* ---- a round trip that is too long ---- */

static _Atomic bool far_away; /* server 2 */

bool __real_nfs4r_rpc_get_stats(struct nfs4r_rpc *rpc, nfs4r_server_id peer, struct nfs4r_rpc_peer_stats *out);
bool __wrap_nfs4r_rpc_get_stats(struct nfs4r_rpc *rpc, nfs4r_server_id peer, struct nfs4r_rpc_peer_stats *out);

bool __wrap_nfs4r_rpc_get_stats(struct nfs4r_rpc *rpc, nfs4r_server_id peer, struct nfs4r_rpc_peer_stats *out)
{
	bool known = __real_nfs4r_rpc_get_stats(rpc, peer, out);

	if (far_away && peer == 2)
		out->rtt_ms = LEASE_MS / 10 + 10;
	return known;
}

/* It was said, and is said again when the volume has other times. */
static void a_round_trip_is_held_against_new_times(void **state)
{
	struct cluster *c = *state;

	far_away = true;
	site_says(&c->site[1], "the round trip to server 2 takes 70 ms: Lease = 600 and Failure_Timeout = 600 are too short", 20);
	must_set(c, 1, "Lease", "601"); /* the shorter one is the same: nothing new */
	until_all_have(c, "Lease", "601", true);
	must_set(c, 1, "Failure_Timeout", "601");
	site_says(&c->site[1], "Lease = 601 and Failure_Timeout = 601 are too short", 20);
	far_away = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_is_changed_under_load, setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_file_that_differs_is_said_and_does_not_count, setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(what_makes_no_sense_is_refused, setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_commit_is_answered_by_the_view_of_then, setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_round_trip_is_held_against_new_times, setup, cluster_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
