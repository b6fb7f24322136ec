/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The control socket of real engines: status and lag, controls, and a comparison that finds what is wrong and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cluster.h"
#include "ctl/ctl.h"

static struct cluster c;

static int setup(void **state)
{
	cluster_init(&c);
	for (int i = 1; i <= SITES; i++)
		cluster_start(&c, i);
	return 0;
}

static int teardown(void **state)
{
	cluster_fini(&c);
	return 0;
}

static struct ctl_conn *conn(int id)
{
	char path[108], why[512] = "";

	snprintf(path, sizeof(path), "%s/ctl%d", c.dir, id);
	struct ctl_conn *k = ctl_connect(path, why);
	if (!k)
		fail_msg("%s", why);
	return k;
}

static json_t *ask(int id, const char *cmd)
{
	char why[512] = "";
	struct ctl_conn *k = conn(id);
	json_t *a = ctl_ask(k, cmd, NULL, 10, why) ? ctl_next(k, why) : NULL;

	if (!a)
		fail_msg("%s", why);
	ctl_close(k);
	return a;
}

/* Result of a whole verify; what differs, in one text. */
static uint64_t verify(int id, char text[4096])
{
	char why[512] = "";
	struct ctl_conn *k = conn(id);
	uint64_t status = 99;
	json_t *a;

	text[0] = '\0';
	assert_true(ctl_ask(k, "verify", "/", 60, why));
	while (status == 99 && (a = ctl_next(k, why))) {
		json_t *d = json_object_get(a, "difference");
		size_t at = strlen(text);

		if (d)
			snprintf(text + at, 4096 - at, "%s %d %s;", get_text(d, "path"), (int)get_num(d, "server"), get_text(d, "what"));
		if (json_object_get(a, "error"))
			fail_msg("%s", get_text(a, "error"));
		if (json_object_get(a, "result"))
			status = get_num(json_object_get(a, "result"), "status");
		json_decref(a);
	}
	ctl_close(k);
	return status;
}

static void expect(int id, uint64_t want)
{
	char text[4096];
	uint64_t got = verify(id, text);

	if (got != want)
		fail_msg("verify at %d: status %d, not %d: %s", id, (int)got, (int)want, text);
}

static void make_tree(struct site *s, const char *name)
{
	struct nfs4r_oid root = site_root(s), dir, o;
	char buf[5000];

	memset(buf, 'x', sizeof(buf));
	assert_int_equal(site_make(s, NFS4R_TYPE_DIR, &root, name, &dir), NFS4R_OK);
	for (int i = 0; i < 20; i++) {
		char n[20];

		snprintf(n, sizeof(n), "f%d", i);
		assert_int_equal(site_make(s, NFS4R_TYPE_FILE, &dir, n, &o), NFS4R_OK);
		assert_int_equal(site_write(s, &o, (uint64_t)i * 100, buf, sizeof(buf)), NFS4R_OK);
		assert_int_equal(site_close(s, &o), NFS4R_OK);
	}
	assert_int_equal(site_link(s, &o, &dir, "second name"), NFS4R_OK);
}

static void status_of_a_healthy_volume(void **state)
{
	json_t *a, *peers, *p;
	size_t i;

	make_tree(&c.site[1], "one");
	cluster_settle(&c);
	a = ask(1, "status");
	peers = json_object_get(a, "peers");
	assert_string_equal(get_text(a, "state"), "serving");
	assert_int_equal(json_array_size(peers), 2);
	assert_true(get_num(json_object_get(a, "log"), "last") >= 40);
	json_array_foreach(peers, i, p) {
		assert_string_equal(get_text(p, "state"), "up");
		assert_int_equal(get_num(json_object_get(p, "has_of_our_log"), "lag_entries"), 0);
	}
	json_decref(a);
	a = ask(1, "stats");
	assert_true(get_num(json_object_get(a, "core"), "entries_executed") >= 40);
	json_decref(a);
}

static void a_control_is_shown_by_its_path(void **state)
{
	struct site *s = &c.site[2];
	struct nfs4r_oid root = site_root(s), o;
	bool found = false;
	json_t *a, *row;
	size_t i;

	assert_int_equal(site_make(s, NFS4R_TYPE_FILE, &root, "open", &o), NFS4R_OK);
	nfs4r_opened(s->eng, &o);
	assert_int_equal(site_write(s, &o, 0, "x", 1), NFS4R_OK);
	a = ask(2, "controls");
	json_array_foreach(json_object_get(a, "controls"), i, row)
		if (strcmp(get_text(row, "path"), "/open") == 0 && get_num(row, "owner") == 2)
			found = true;
	nfs4r_closed(s->eng, &o);
	assert_true(found);
	json_decref(a);
}

static void copies_are_equal_as_seen_from_every_server(void **state)
{
	make_tree(&c.site[1], "one");
	make_tree(&c.site[3], "three");
	for (int i = 1; i <= SITES; i++)
		expect(i, 0);
}

static atomic_bool made;

static void *maker(void *arg)
{
	make_tree(&c.site[2], "busy");
	make_tree(&c.site[3], "busy too");
	made = true;
	return NULL;
}

static void updates_under_way_are_no_differences(void **state)
{
	pthread_t t;

	make_tree(&c.site[1], "one");
	made = false;
	pthread_create(&t, NULL, maker, NULL);
	while (!made)
		expect(1, 0);
	pthread_join(t, NULL);
	expect(1, 0);
}

static void damage_behind_the_servers_back_is_found(void **state)
{
	char path[300], text[4096];
	int fd;

	make_tree(&c.site[1], "one");
	cluster_settle(&c);
	snprintf(path, sizeof(path), "%s/one/f7", c.site[3].data);
	fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "!", 1, 1000), 1); /* one byte, same size */
	close(fd);
	snprintf(path, sizeof(path), "%s/one/f8", c.site[2].data);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(verify(1, text), 1);
	assert_non_null(strstr(text, "/one/f7 3 content;"));
	if (!strstr(text, "/one/f8 2 missing there;"))
		fail_msg("%s", text);
	assert_int_equal(verify(3, text), 1); /* the damaged one sees that it differs from both */
	assert_non_null(strstr(text, "/one/f7 1 content;"));
	assert_non_null(strstr(text, "/one/f7 2 content;"));
}

static void a_server_that_is_away_is_named(void **state)
{
	char text[4096];
	json_t *a;

	make_tree(&c.site[1], "one");
	cluster_settle(&c);
	cluster_stop(&c, 3);
	for (int i = 0; i < 100; i++) { /* until server 1 noticed */
		a = ask(1, "status");
		bool up = json_is_true(json_object_get(json_array_get(json_object_get(a, "peers"), 1), "up"));

		json_decref(a);
		if (!up)
			break;
		nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	}
	assert_int_equal(verify(1, text), 2);
	cluster_start(&c, 3);
	cluster_settle(&c);
	expect(3, 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(status_of_a_healthy_volume),
		T(a_control_is_shown_by_its_path),
		T(copies_are_equal_as_seen_from_every_server),
		T(updates_under_way_are_no_differences),
		T(damage_behind_the_servers_back_is_found),
		T(a_server_that_is_away_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
