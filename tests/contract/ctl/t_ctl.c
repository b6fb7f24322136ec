/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The control socket of real engines: status and lag, controls, and a comparison that finds what is wrong and nothing else. */
#include "lib/unit.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ask.h"

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

static json_t *ask(int id, const char *cmd)
{
	char why[CTL_WHY] = "";
	struct ctl_conn *k = cluster_ctl(&c, id);
	json_t *a = ctl_ask(k, cmd, NULL, 10, why) ? ctl_next(k, why) : NULL;

	if (!a)
		fail_msg("%s", why);
	ctl_close(k);
	return a;
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
	json_array_foreach(peers, i, p)
	{
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
	json_array_foreach(json_object_get(a, "controls"), i, row) if (strcmp(get_text(row, "path"), "/open") == 0 && get_num(row, "owner") == 2)
		found = true;
	nfs4r_closed(s->eng, &o);
	assert_true(found);
	json_decref(a);
}

/* The row of @path by @owner; NULL if there is none. Borrowed from @a. */
static const json_t *control_of(const json_t *a, const char *path, uint64_t owner)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(a, "controls"), i, row) if (strcmp(get_text(row, "path"), path) == 0 && get_num(row, "owner") == owner) return row;
	return NULL;
}

static uint64_t core_stat(int id, const char *key)
{
	json_t *a = ask(id, "stats");
	uint64_t v = get_num(json_object_get(a, "core"), key);

	json_decref(a);
	return v;
}

static void wait_for_no_controls(void)
{
	uint64_t n = 1;

	for (int i = 0; i < 1000 && n; i++) {
		n = 0;
		for (int id = 1; id <= SITES; id++)
			n += core_stat(id, "controls_own");
		if (n)
			nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	}
	assert_int_equal(n, 0);
}

/* Works in /dir of site 2, which site 1 made, until @seen at server @at. Deep control ends a second after the last update. */
static void work_until(int at, bool (*seen)(const json_t *a))
{
	struct site *s = &c.site[2];
	struct nfs4r_oid root = site_root(s), dir, o;

	assert_int_equal(site_lookup(s, &root, "dir", &dir), NFS4R_OK);
	for (int i = 0; i < 200; i++) {
		char name[24];
		json_t *a;
		bool found;

		snprintf(name, sizeof(name), "at%d-%d", at, i);
		assert_int_equal(site_make(s, NFS4R_TYPE_FILE, &dir, name, &o), NFS4R_OK);
		a = ask(at, "controls");
		found = seen(a);
		json_decref(a);
		if (found)
			return;
	}
	fail_msg("server %d never showed it", at);
}

static bool owner_shows_it(const json_t *a)
{
	const json_t *row = control_of(a, "/dir", 2);

	/* Settled, with what was created below it, and with a timer. */
	return row && strcmp(get_text(row, "depth"), "deep") == 0 && json_is_true(json_object_get(row, "acked_by_all")) &&
		json_array_size(json_object_get(row, "acks")) == SITES && get_num(json_object_get(row, "below"), "2") > 0 &&
		json_is_integer(json_object_get(row, "ends_in_ms")) && json_is_integer(json_object_get(row, "ops_executing"));
}

static bool others_show_it(const json_t *a)
{
	const json_t *row = control_of(a, "/dir", 2);

	return row && strcmp(get_text(row, "depth"), "deep") == 0 && json_is_null(json_object_get(row, "acks")) &&
		json_is_null(json_object_get(row, "ends_in_ms"));
}

static void a_deep_control_and_its_election(void **state)
{
	struct nfs4r_oid root = site_root(&c.site[1]), dir;
	const json_t *won;
	uint64_t buckets = 0, elections = core_stat(2, "elections");
	json_t *a, *b;
	size_t i;

	assert_int_equal(site_make(&c.site[1], NFS4R_OP_MKDIR, &root, "dir", &dir), NFS4R_OK);
	cluster_settle(&c);
	wait_for_no_controls(); /* else site 2 forwards */
	work_until(2, owner_shows_it);
	work_until(3, others_show_it);
	assert_true(core_stat(2, "elections") > elections);
	assert_true(core_stat(2, "elections_waited") > 0);
	assert_true(core_stat(2, "deep_asked") > 0);
	a = ask(2, "stats");
	won = json_object_get(json_object_get(a, "latencies"), "won");
	json_array_foreach(json_object_get(won, "buckets"), i, b)
		buckets += get_num(b, "n");
	assert_true(get_num(won, "n") > 0);
	assert_int_equal(buckets, get_num(won, "n"));
	assert_true(get_real(won, "p50_ms") <= get_real(won, "p99_ms"));
	assert_true(get_real(won, "p99_ms") <= get_real(won, "max_ms"));
	assert_true(get_num(json_object_get(json_object_get(a, "latencies"), "reply"), "n") > 0);
	json_decref(a);
}

static void *create_one(void *arg)
{
	struct nfs4r_oid root = site_root(&c.site[2]), o;

	*(enum nfs4r_status *)arg = site_make(&c.site[2], NFS4R_OP_MKDIR, &root, "waits", &o);
	return NULL;
}

static bool waits_for_server_3(const json_t *a)
{
	json_t *w;
	size_t i;

	json_array_foreach(json_object_get(a, "waiting"), i, w)
	{
		const json_t *on = json_object_get(w, "on");

		if (strcmp(get_text(w, "op"), "mkdir") == 0 && strcmp(get_text(w, "path"), "/") == 0 &&
		    strcmp(get_text(w, "name"), "waits") == 0 && json_array_size(on) == 1 &&
		    json_integer_value(json_array_get(on, 0)) == 3)
			return get_num(a, "waiting_total") >= 1 && !json_is_true(json_object_get(w, "remote"));
	}
	return false;
}

/* With server 3 away, an update is answered only when that is back; meanwhile it is seen, with the server it waits for. */
static void an_operation_that_waits_is_shown(void **state)
{
	enum nfs4r_status st = NFS4R_OK;
	bool found = false;
	char *text = NULL;
	size_t len;
	pthread_t t;

	make_tree(&c.site[1], "one");
	cluster_settle(&c);
	wait_for_no_controls(); /* what all have acked goes on without server 3 */
	cluster_stop(&c, 3);
	pthread_create(&t, NULL, create_one, &st);
	for (int i = 0; i < 1000 && !found; i++) {
		json_t *a = ask(2, "controls");

		found = waits_for_server_3(a);
		if (found) {
			FILE *out = open_memstream(&text, &len);

			assert_true(show_controls(a, &(struct show_filter){ .waiting = true }, out));
			fclose(out);
		}
		json_decref(a);
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
	cluster_start(&c, 3);
	pthread_join(t, NULL);
	assert_int_equal(st, NFS4R_OK);
	assert_true(found);
	assert_non_null(strstr(text, "/waits\n"));
	assert_non_null(strstr(text, ": server 3 "));
	free(text);
	cluster_settle(&c);
}

static void copies_are_equal_as_seen_from_every_server(void **state)
{
	make_tree(&c.site[1], "one");
	make_tree(&c.site[3], "three");
	for (int i = 1; i <= SITES; i++)
		cluster_verify_equal(&c, i);
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
		cluster_verify_equal(&c, 1);
	pthread_join(t, NULL);
	cluster_verify_equal(&c, 1);
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
	assert_int_equal(cluster_verify(&c, 1, text), 1);
	assert_non_null(strstr(text, "/one/f7 3 content;"));
	if (!strstr(text, "/one/f8 2 missing there;"))
		fail_msg("%s", text);
	assert_int_equal(cluster_verify(&c, 3, text), 1); /* the damaged one sees that it differs from both */
	assert_non_null(strstr(text, "/one/f7 1 content;"));
	assert_non_null(strstr(text, "/one/f7 2 content;"));
}

#define TIB (1ull << 40)

static void damage(int id, const char *name, uint64_t off, int byte, uint32_t len)
{
	char path[300], bytes[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", c.site[id].data, name);
	f = fopen(path, "r+");
	assert_non_null(f);
	memset(bytes, byte, sizeof(bytes));
	assert_int_equal(fseeko(f, (off_t)off, SEEK_SET), 0);
	for (uint32_t done = 0; done < len; done += sizeof(bytes))
		assert_int_equal(fwrite(bytes, len - done < sizeof(bytes) ? len - done : sizeof(bytes), 1, f), 1);
	assert_int_equal(fclose(f), 0);
}

/* In five seconds, though nobody could read a tebibyte in that time. */
static uint64_t verify_soon(int id, char text[VERIFY_TEXT])
{
	struct timespec begun, ended;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	uint64_t status = cluster_verify(&c, id, text);
	clock_gettime(CLOCK_MONOTONIC, &ended);
	double took = (double)(ended.tv_sec - begun.tv_sec) + (double)(ended.tv_nsec - begun.tv_nsec) / 1e9;
	print_message("verify of 1 TiB at %d: %.3f s\n", id, took);
	assert_true(took < 5);
	return status;
}

/* Holes take no time, stored zeros in one copy are no difference, and a byte in a hole or in another place is one. */
static void a_sparse_file_takes_as_long_as_its_data(void **state)
{
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_SIZE, .size = TIB };
	struct site *s = &c.site[1];
	struct nfs4r_oid root = site_root(s), f;
	char text[VERIFY_TEXT];

	assert_int_equal(site_make(s, NFS4R_OP_CREATE, &root, "sparse", &f), NFS4R_OK);
	assert_int_equal(site_setattr(s, &f, &a), NFS4R_OK);
	assert_int_equal(site_write(s, &f, 0, "begins", 6), NFS4R_OK);
	assert_int_equal(site_write(s, &f, TIB / 2 - 3, "across", 6), NFS4R_OK);
	assert_int_equal(site_write(s, &f, TIB - 4, "ends", 4), NFS4R_OK);
	assert_int_equal(site_close(s, &f), NFS4R_OK);
	assert_int_equal(verify_soon(1, text), 0);

	damage(2, "sparse", TIB / 4, 0, 5 << 20);
	damage(2, "sparse", TIB / 2 + 4096, 0, 3 << 20);
	damage(3, "sparse", TIB - 2 * (1u << 20) - 1, 0, 1 << 20);
	assert_int_equal(verify_soon(1, text), 0);
	assert_int_equal(verify_soon(2, text), 0);

	damage(3, "sparse", 3 * (TIB / 4), 'x', 1);
	assert_int_equal(cluster_verify(&c, 1, text), 1);
	assert_string_equal(text, "/sparse 3 content;");
	damage(3, "sparse", 3 * (TIB / 4), 0, 1);
	assert_int_equal(verify_soon(1, text), 0);

	damage(3, "sparse", 0, 0, 6); /* the same bytes, a piece further on */
	damage(3, "sparse", 1u << 20, 'b', 1);
	damage(2, "sparse", 0, 0, 6);
	damage(2, "sparse", 2u << 20, 'b', 1);
	assert_int_equal(cluster_verify(&c, 3, text), 1);
	assert_non_null(strstr(text, "/sparse 2 content;"));
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
	assert_int_equal(cluster_verify(&c, 1, text), 2);
	cluster_start(&c, 3);
	cluster_settle(&c);
	cluster_verify_equal(&c, 3);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(status_of_a_healthy_volume),
		T(a_control_is_shown_by_its_path),
		T(a_deep_control_and_its_election),
		T(an_operation_that_waits_is_shown),
		T(copies_are_equal_as_seen_from_every_server),
		T(updates_under_way_are_no_differences),
		T(damage_behind_the_servers_back_is_found),
		T(a_sparse_file_takes_as_long_as_its_data),
		T(a_server_that_is_away_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
