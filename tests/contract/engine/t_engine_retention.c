/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A server that is away for long, with real journals in small files (log 3.11, 3.12, 8.5): what is kept for it stays within the bound, and it comes
 * back complete, by itself.
 */
#include "lib/unit.h"
#include <stdio.h>
#include <stdlib.h>

#include "engine/engine_int.h"
#include "steps.h"

#define LEASE_MS 1000
#define BOUND (128u << 10)
#define SEGMENT (16u << 10)
#define BATCH 40

static int setup(void **state)
{
	struct cluster *c = cluster_new();

	c->lease_ms = c->silence_ms = LEASE_MS;
	c->durability = NFS4R_DURABILITY_COMMIT;
	c->checkpoint_ms = 200;
	c->retention_bytes = BOUND;
	c->segment_bytes = SEGMENT;
	return cluster_begin(c, state);
}

static uint64_t journal_bytes(struct site *s)
{
	struct nfs4r_store_stats st;

	nfs4r_store_get_stats(s->eng->store, &st);
	return st.journal_bytes;
}

static void within_the_bound(struct site *s)
{
	for (int i = 0; i < 3000 && journal_bytes(s) > BOUND; i++)
		pause_ms(10);
	assert_true(journal_bytes(s) <= BOUND);
}

static void make_batch(struct site *s, const struct nfs4r_oid *dir, int batch)
{
	char name[32];

	for (int i = 0; i < BATCH; i++) {
		snprintf(name, sizeof(name), "f-%d-%d", batch, i);
		struct nfs4r_oid f = make_file(s, dir, name, "kept for nobody");

		assert_int_equal(site_close(s, &f), NFS4R_OK);
	}
}

static void what_is_kept_stays_within_the_bound(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), dir = make(&c->site[1], NFS4R_OP_MKDIR, &root, "d"), old = make_file(&c->site[1], &dir, "old", "before");
	nfs4r_journal_pos began;

	assert_int_equal(site_close(&c->site[1], &old), NFS4R_OK);
	cluster_settle(c);
	cluster_stop(c, 3);
	site_says(&c->site[1], "server 3 was removed from the active view", 20);
	began = nfs4r_store_position(c->site[1].eng->store);
	for (int batch = 0; batch < 30 || nfs4r_store_position(c->site[1].eng->store) < began + 4 * BOUND; batch++) {
		make_batch(&c->site[1 + batch % 2], &dir, batch);
		within_the_bound(&c->site[1]);
		within_the_bound(&c->site[2]);
	}
	cluster_start(c, 3);
	site_says(&c->site[3], "this copy cannot be brought up to date from the logs", 30);
	wait_all_serve(c);
	cluster_settle(c);
	expect_content(&c->site[3], &old, "before");
	make_batch(&c->site[3], &dir, 1000);
	cluster_settle(c);
}

/* The bound is not passed: it goes on from the logs. */
static void within_the_bound_nothing_is_copied(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), dir = make(&c->site[1], NFS4R_OP_MKDIR, &root, "d");

	cluster_settle(c);
	cluster_stop(c, 3);
	site_says(&c->site[1], "server 3 was removed from the active view", 20);
	for (int i = 0; i < 10; i++) {
		char name[16];

		snprintf(name, sizeof(name), "g%d", i);
		make(&c->site[1], NFS4R_OP_MKDIR, &dir, name);
	}
	cluster_start(c, 3);
	wait_all_serve(c);
	cluster_settle(c);
	pthread_mutex_lock(&c->site[3].lock);
	assert_null(strstr(c->site[3].logged, "cannot be brought up to date"));
	pthread_mutex_unlock(&c->site[3].lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_kept_stays_within_the_bound, setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(within_the_bound_nothing_is_copied, setup, cluster_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
