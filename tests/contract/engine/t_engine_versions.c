/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Two releases in one volume (log 6.16), with real engines, stores and connections: servers are replaced by the next release while others work, put back,
 * replaced again, and the upgrade is finished. The next release is the one that is rehearsed (src/base/version.h).
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
	c->durability = NFS4R_DURABILITY_COMMIT;
	cluster_begin(c, state);
	wait_all_serve(c);
	return 0;
}

static void replace(struct cluster *c, int id, bool next)
{
	cluster_stop(c, id);
	c->site[id].next_release = next;
	cluster_start(c, id);
	wait_all_serve(c);
}

static struct nfs4r_volume_settings settings(struct cluster *c, int id)
{
	struct nfs4r_core_view v;

	get_view(&c->site[id], &v);
	return v.adopted.settings;
}

static void expect(struct cluster *c, uint32_t protocol, uint32_t format)
{
	for (int id = 1; id <= SITES; id++) {
		assert_int_equal(settings(c, id).protocol, protocol);
		assert_int_equal(settings(c, id).disk_format, format);
		assert_int_equal(nfs4r_store_format(c->site[id].eng->store), format);
	}
}

/* What a pair of servers speaks, as the first says, when they are connected. */
static uint32_t spoken(struct cluster *c, int id, int peer)
{
	struct nfs4r_rpc_peer_stats st = { .speaks = 0 };

	for (int i = 0; i < 1000 && st.speaks == 0; i++) {
		assert_true(nfs4r_rpc_get_stats(c->site[id].eng->rpc, (nfs4r_server_id)peer, &st));
		if (st.speaks == 0)
			pause_ms(10);
	}
	return st.speaks;
}

static bool says(const json_t *a, const char *text)
{
	const char *error = json_string_value(json_object_get(a, "error"));

	return error && strstr(error, text);
}

/* When all who run are heard, unless @silent. */
static json_t *finish(struct cluster *c, int at, bool silent)
{
	json_t *req = json_pack("{s:b}", "yes", true), *a = admin_finish_upgrade(c->site[at].eng, req);

	for (int i = 0; i < 1000 && !silent && says(a, "is not heard"); i++) {
		json_decref(a);
		pause_ms(10);
		a = admin_finish_upgrade(c->site[at].eng, req);
	}
	json_decref(req);
	assert_non_null(a);
	return a;
}

static void finish_is_refused(struct cluster *c, int at, const char *text)
{
	json_t *a = finish(c, at, strstr(text, "is not heard"));

	if (!says(a, text))
		fail_msg("'%s' is not in the refusal, or it is not refused", text);
	json_decref(a);
}

static void finish_is_done(struct cluster *c, int at)
{
	json_t *a = finish(c, at, false);
	const char *error = json_string_value(json_object_get(a, "error"));
	int id = 1;

	if (error)
		fail_msg("%s", error);
	json_decref(a);
	for (int i = 0; i < 1000 && id <= SITES; i++) {
		if (settings(c, id).protocol == NFS4R_PROTOCOL_REHEARSED)
			id++;
		else
			pause_ms(10);
	}
	if (id <= SITES)
		fail_msg("server %d has protocol %u", id, settings(c, id).protocol);
}

static void replaced_put_back_and_finished(void **state)
{
	struct cluster *c = *state;
	char name[20];

	each_makes_a_file(c, "a");
	for (int id = 1; id <= SITES; id++) {
		replace(c, id, true);
		expect(c, NFS4R_PROTOCOL_VERSION, NFS4R_DISK_FORMAT);
		assert_int_equal(spoken(c, id, id % SITES + 1), id == SITES ? NFS4R_PROTOCOL_REHEARSED : NFS4R_PROTOCOL_VERSION);
		if (id < SITES)
			finish_is_refused(c, 1, "install the new release there first");
		snprintf(name, sizeof(name), "b%d-", id);
		each_makes_a_file(c, name);
	}
	replace(c, 2, false);
	expect(c, NFS4R_PROTOCOL_VERSION, NFS4R_DISK_FORMAT);
	assert_int_equal(spoken(c, 1, 2), NFS4R_PROTOCOL_VERSION);
	assert_int_equal(spoken(c, 1, 3), NFS4R_PROTOCOL_REHEARSED);
	each_makes_a_file(c, "c");
	replace(c, 2, true);
	finish_is_done(c, 3);
	expect(c, NFS4R_PROTOCOL_REHEARSED, NFS4R_DISK_FORMAT_REHEARSED);
	wait_all_serve(c);
	each_makes_a_file(c, "d");
	finish_is_refused(c, 2, "there is nothing to finish");
	for (int id = 1; id <= SITES; id++)
		replace(c, id, true);
	expect(c, NFS4R_PROTOCOL_REHEARSED, NFS4R_DISK_FORMAT_REHEARSED);
	cluster_settle(c);
}

/* Its own start refuses it, and it gets no connection. */
static void the_old_release_is_refused_when_it_is_finished(void **state)
{
	struct cluster *c = *state;
	char why[NFS4R_WHY] = "", want[120];

	for (int id = 1; id <= SITES; id++)
		replace(c, id, true);
	cluster_stop(c, 3);
	finish_is_refused(c, 1, "server 3 is not heard");
	cluster_start(c, 3);
	wait_all_serve(c);
	finish_is_done(c, 1);
	each_makes_a_file(c, "a");
	cluster_stop(c, 3);
	c->site[3].next_release = false;
	assert_int_equal(cluster_try_start(c, 3, why), NFS4R_MISMATCH);
	snprintf(want, sizeof(want), "has disk format %u, but this release reads format %u to %u: install a release with that format", NFS4R_DISK_FORMAT_REHEARSED, NFS4R_DISK_FORMAT_LOWEST, NFS4R_DISK_FORMAT);
	if (!strstr(why, want))
		fail_msg("%s", why);
	/* With another store it starts, and is told by the others what to install. */
	must_shell("mv %s %s.kept; mv %s %s.kept; mkdir %s", c->site[3].store, c->site[3].store, c->site[3].data, c->site[3].data, c->site[3].data);
	cluster_start(c, 3);
	site_says(&c->site[3], "no common protocol version", 20);
	cluster_stop(c, 3);
	must_shell("rm -rf %s %s; mv %s.kept %s; mv %s.kept %s", c->site[3].store, c->site[3].data, c->site[3].store, c->site[3].store, c->site[3].data, c->site[3].data);
	c->site[3].next_release = true;
	cluster_start(c, 3);
	wait_all_serve(c);
	each_makes_a_file(c, "b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(replaced_put_back_and_finished, setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(the_old_release_is_refused_when_it_is_finished, setup, cluster_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
