/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Many objects: time and memory stay in bounds while a second thread writes checkpoints whenever enough
 * has gathered. 300,000 creates, fewer under the sanitizers, NFS4R_BULK=n for more.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNT 60000
#define DIRTY 4000
#else
#define COUNT 300000
#define DIRTY 100000
#endif
#define PER_DIR 1000

static struct fx f;
static _Atomic bool over;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void *checkpointer(void *arg)
{
	while (!over) {
		struct nfs4r_store_stats st;

		nfs4r_store_get_stats(f.s, &st);
		if (st.rows_dirty < DIRTY)
			usleep(1000);
		else if (nfs4r_store_checkpoint(f.s, NULL, NULL, NULL) != NFS4R_OK)
			abort();
	}
	return NULL;
}

/* Memory of our own (LMDB's map is the page cache's). */
static double heap_mib(void)
{
	struct mallinfo2 m = mallinfo2();

	return (m.uordblks + m.hblkhd) / 1048576.0;
}

static void create_many(uint32_t count, double *worst_mib, double *worst_ms)
{
	struct nfs4r_oid dir = f.root, oid;
	nfs4r_journal_pos sync_first;
	char name[24];

	for (uint32_t i = 0; i < count; i++) {
		struct nfs4r_entry *e;
		struct nfs4r_store_stats st;
		double t = now();

		if (i % PER_DIR == 0) {
			snprintf(name, sizeof(name), "dir%06u", i / PER_DIR);
			dir = mk(&f, &f.root, name, NFS4R_TYPE_DIR);
		}
		snprintf(name, sizeof(name), "file%08u", i);
		e = e_create(&f, 1, &dir, name, NFS4R_TYPE_FILE, &oid);
		assert_int_equal(nfs4r_store_intent(f.s, e, &sync_first), NFS4R_OK);
		commit(&f, e);
		if (now() - t > *worst_ms / 1e3)
			*worst_ms = (now() - t) * 1e3;
		if (i % 1000 == 0) {
			nfs4r_store_truncate(f.s, 1, f.next[1] > 1000 ? f.next[1] - 1000 : 0);
			if (heap_mib() > *worst_mib)
				*worst_mib = heap_mib();
		}
		/* The engine checkpoints early; here changes wait when the disk does not keep up. */
		nfs4r_store_get_stats(f.s, &st);
		while (st.rows_dirty > 2 * DIRTY) {
			usleep(500);
			nfs4r_store_get_stats(f.s, &st);
		}
	}
}

static double time_reads(const char *what, uint32_t count)
{
	uint32_t n = 200000 < count ? 200000 : count;
	struct nfs4r_oid oid, last;
	struct nfs4r_row row;
	struct nfs4r_dirent d;
	struct nfs4r_name name;
	uint64_t rng = 3;
	double t, facts, look;

	assert_int_equal(nfs4r_store_readdir(f.s, &f.root, 0, &d, 1), 1);
	last = d.oid;
	t = now();
	for (uint32_t i = 0; i < n; i++) {
		nfs4r_oid_make(&oid, 1, f.info.inc, 1 + rnd(&rng) % count);
		assert_int_equal(nfs4r_store_row(f.s, &oid, &row), NFS4R_KNOWN);
	}
	facts = (now() - t) / n * 1e6;
	t = now();
	for (uint32_t i = 0; i < n; i++) {
		nfs4r_name_set(&name, "file00000001", 12);
		nfs4r_store_lookup(f.s, &last, &name, &d);
	}
	look = (now() - t) / n * 1e6;
	print_message("%s: row %.2f us, lookup %.2f us\n", what, facts, look);
	return facts;
}

static void test_many_creates(void **state)
{
	const char *env = getenv("NFS4R_BULK");
	uint32_t count = env ? atoi(env) : COUNT;
	double mib = 0, ms = 0, t, before;
	struct nfs4r_store_stats st;
	pthread_t thread;

	fx_init(&f);
	f.cfg.map_bytes = 0;
	f.cfg.segment_bytes = 8 << 20;
	fx_open_ok(&f);
	before = heap_mib();
	assert_int_equal(pthread_create(&thread, NULL, checkpointer, NULL), 0);
	t = now();
	create_many(count, &mib, &ms);
	t = now() - t;
	over = true;
	pthread_join(thread, NULL);
	nfs4r_store_get_stats(f.s, &st);
	print_message("%u creates: %.1f s (%.1f us each, worst %.0f ms), heap at most %.0f MiB, journal %lu MiB in %lu segments, LMDB %lu MiB, %lu checkpoints (last %lu ms), %lu syncs\n",
		      count, t, t / count * 1e6, ms, mib - before, (unsigned long)(st.journal_bytes >> 20),
		      (unsigned long)st.segments, (unsigned long)(st.lmdb_bytes >> 20),
		      (unsigned long)st.checkpoints, (unsigned long)st.last_checkpoint_ms,
		      (unsigned long)st.syncs);
	/* two overlays of 3 * DIRTY at most, about 600 bytes a row or name, and the log index */
	assert_true(mib - before < 3.0 * DIRTY * 1200 / 1048576 + 40);
	t = now();
	assert_int_equal(nfs4r_store_checkpoint(f.s, NULL, NULL, NULL), NFS4R_OK);
	print_message("last checkpoint %.2f s\n", now() - t);
	time_reads("from LMDB", count);
	fx_close(&f);
	t = now();
	fx_open_ok(&f);
	print_message("open %.2f s\n", now() - t);
	fx_fini(&f);
}

static void test_reads_from_the_overlay(void **state)
{
	double mib = 0, ms = 0;

	fx_init(&f);
	fx_open_ok(&f);
	create_many(DIRTY / 2, &mib, &ms);
	time_reads("from the overlay", DIRTY / 2);
	fx_close(&f);
	{
		double t = now();

		fx_open_ok(&f);
		print_message("open with %d entries to replay: %.2f s\n", DIRTY / 2, now() - t);
	}
	fx_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_creates),
		cmocka_unit_test(test_reads_from_the_overlay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
