/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A stop in order lets go of everything before the process ends, and of the lease (control 7.12, log 6.11): with `Durability = local`, where what a dead server controlled waits for its return.
 */
#include "lib/unit.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "cluster.h"
#include "engine/engine_int.h"
#include "steps.h"

#define STOP_WAIT_MS 20000
#define FILES 200

static int begin(void **state, uint32_t stop_wait_ms)
{
	struct cluster *c = cluster_new();

	c->stop_wait_ms = stop_wait_ms;
	c->idle_ms = 600000; /* no control ends by itself */
	c->lease_ms = c->silence_ms = 1000;
	return cluster_begin(c, state);
}

static int setup(void **state)
{
	return begin(state, STOP_WAIT_MS);
}

static int setup_at_once(void **state)
{
	return begin(state, 0);
}

static bool has_said(struct site *s, const char *text)
{
	pthread_mutex_lock(&s->lock);
	bool has = strstr(s->logged, text) != NULL;
	pthread_mutex_unlock(&s->lock);
	return has;
}

/* Does a server that serves know a control of @oid that is not its own? */
static bool is_controlled_elsewhere(struct site *s, const struct nfs4r_oid *oid)
{
	return nfs4r_read_server(s->eng, oid) != s->id;
}

/* Within a while: it may not serve for a moment, or hear of the view last. A control that was left stays until its owner returns. */
static void expect_free(struct site *s, const struct nfs4r_oid *oid)
{
	for (int i = 0; i < 1000 && is_controlled_elsewhere(s, oid); i++)
		pause_ms(10);
	assert_false(is_controlled_elsewhere(s, oid));
}

/* Directories and files that clients of site 1 have open for writing, and a stream of them that its peers do not have yet. */
static void who_stops_leaves_nothing_behind(void **state)
{
	struct cluster *c = *state;
	struct site *a = &c->site[1];
	struct nfs4r_oid root = site_root(a), dir = make(a, NFS4R_OP_MKDIR, &root, "dir"), f = make_file(a, &dir, "f", "old");
	char name[16];

	nfs4r_opened(a->eng, &f);
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		make_file(a, &dir, name, "bytes");
	}
	cluster_stop(c, 1);
	site_says(a, "all controls were released before shutdown", 1);
	site_says(&c->site[2], "server 1 was removed from the active view: it is shutting down", 20);
	for (int i = 2; i <= 3; i++) {
		expect_free(&c->site[i], &dir);
		expect_free(&c->site[i], &f);
		expect_content(&c->site[i], &f, "old");
	}
	write_text(&c->site[2], &f, "new");
	make_file(&c->site[3], &dir, "mine", "text");
	cluster_start(c, 1);
	wait_all_serve(c);
	cluster_settle(c);
	expect_content(a, &f, "new");
}

/* Which the test above relies on. */
static void who_stops_at_once_is_waited_for(void **state)
{
	struct cluster *c = *state;
	struct site *a = &c->site[1], *b = &c->site[2];
	struct nfs4r_oid root = site_root(a), f = make_file(a, &root, "f", "old");

	cluster_settle(c);
	cluster_stop(c, 1);
	assert_false(has_said(a, "let go of"));
	site_says(b, "was removed from the active view", 20);
	assert_true(is_controlled_elsewhere(b, &f));
	cluster_start(c, 1);
	wait_all_serve(c);
	write_text(b, &f, "new");
}

/* Its own updates go on to be made at others, which have begun before it stops; none of them is made twice or half. */
static void others_go_on_meanwhile(void **state)
{
	struct cluster *c = *state;
	struct site *a = &c->site[1], *b = &c->site[2];
	struct nfs4r_oid root = site_root(a), dir = make(a, NFS4R_OP_MKDIR, &root, "dir"), one;
	char name[16];

	make_file(a, &dir, "f", "text"); /* site 1 has control: site 2's are made there at first */
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "b%d", i);
		if (i == 10)
			cluster_stop(c, 1);
		assert_int_equal(site_make(b, NFS4R_OP_CREATE, &dir, name, &one), NFS4R_OK);
	}
	site_says(a, "all controls were released before shutdown", 1);
	cluster_start(c, 1);
	wait_all_serve(c);
	cluster_settle(c);
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "b%d", i);
		assert_int_equal(site_lookup(a, &dir, name, &one), NFS4R_OK);
	}
}

/* The last one has no lease soon, and says what it could not do. It does not wait for Stop_Wait. */
static void the_last_one_stops_all_the_same(void **state)
{
	struct cluster *c = *state;
	struct site *a = &c->site[1];
	struct nfs4r_oid root = site_root(a), f = make_file(a, &root, "f", "text");
	uint64_t begun;

	cluster_settle(c);
	cluster_stop(c, 2);
	cluster_stop(c, 3);
	begun = engine_now_ms();
	cluster_stop(c, 1);
	assert_true(engine_now_ms() - begun < STOP_WAIT_MS / 2);
	site_says(a, "controls not released, or releases not confirmed", 1);
	for (int i = 1; i <= 3; i++)
		cluster_start(c, i);
	wait_all_serve(c);
	write_text(&c->site[2], &f, "goes on");
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, cluster_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(who_stops_leaves_nothing_behind),
		cmocka_unit_test_setup_teardown(who_stops_at_once_is_waited_for, setup_at_once, cluster_teardown),
		T(others_go_on_meanwhile),
		T(the_last_one_stops_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
