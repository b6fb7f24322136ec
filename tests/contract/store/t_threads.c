/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Readers, syncs and checkpoints beside changes. Runs under ThreadSanitizer too. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fixture.h"

#define CHANGES 6000
#define FEWEST 500 /* on a machine that is so busy that all would take longer than */
#define SECONDS 40
#define NDIRS 8

static struct fx f;
static struct nfs4r_oid dirs[NDIRS];
static _Atomic bool over;
static _Atomic uint64_t reads, bad;

static int setup(void **state)
{
	fx_init(&f);
	f.cfg.segment_bytes = 1 << 16;
	f.cfg.ahead_bytes = 1 << 16;
	fx_open_ok(&f);
	for (int i = 0; i < NDIRS; i++) {
		mk(&f, &f.root, (char[]){ 'd', '0' + i, 0 }, NFS4R_TYPE_DIR);
	}
	for (int i = 0; i < NDIRS; i++) {
		struct nfs4r_dirent d;
		struct nfs4r_name n;

		nfs4r_name_set(&n, (char[]){ 'd', '0' + i, 0 }, 2);
		assert_true(nfs4r_store_lookup(f.s, &f.root, &n, &d));
		dirs[i] = d.oid;
		mk(&f, &dirs[i], "stays", NFS4R_TYPE_FILE);
	}
	over = false;
	reads = bad = 0;
	return 0;
}

static int teardown(void **state)
{
	fx_fini(&f);
	return 0;
}

static void complain(const char *what)
{
	if (!atomic_fetch_add(&bad, 1))
		fprintf(stderr, "reader: %s\n", what);
}

/* Whatever moves, "stays" is found, exactly once in a listing, and its row fits its name. */
static void read_once(uint64_t *rng)
{
	struct nfs4r_oid dir = dirs[rnd(rng) % NDIRS], oid, parent;
	struct nfs4r_dirent d[20], e;
	uint8_t h[NFS4R_LOCAL_HANDLE_MAX];
	uint64_t after = 0;
	uint32_t n, len, seen = 0;
	struct nfs4r_name name;
	struct nfs4r_row row;

	nfs4r_name_set(&name, "stays", 5);
	if (!nfs4r_store_lookup(f.s, &dir, &name, &e))
		complain("a name is not found");
	else if (nfs4r_store_row(f.s, &e.oid, &row) != NFS4R_KNOWN || row.nparents != 1 ||
		 !nfs4r_oid_eq(&row.parent, &dir))
		complain("a row is wrong");
	else if (nfs4r_store_parents(f.s, &e.oid, &parent, 1) != 1 || !nfs4r_oid_eq(&parent, &dir))
		complain("a parent is wrong");
	len = nfs4r_store_handle(f.s, &e.oid, h);
	if (len != 12 || !nfs4r_store_by_handle(f.s, h, len, &oid) || !nfs4r_oid_eq(&oid, &e.oid))
		complain("a handle is wrong");
	while ((n = nfs4r_store_readdir(f.s, &dir, after, d, 20))) {
		for (uint32_t i = 0; i < n; i++) {
			if (d[i].cookie <= after)
				complain("cookies out of order");
			after = d[i].cookie;
			seen += !strcmp(d[i].name.s, "stays");
		}
	}
	if (seen != 1)
		complain("a listing is wrong");
	atomic_fetch_add(&reads, 1);
}

static void *reader(void *arg)
{
	uint64_t rng = (uintptr_t)arg;

	while (!over) {
		nfs4r_lsn first, last;
		struct nfs4r_entry *e;

		read_once(&rng);
		nfs4r_store_log_range(f.s, 1, &first, &last);
		e = nfs4r_store_log_read(f.s, 1, last);
		/* it may be truncated in between, but not be another */
		if (e && e->lsn != last)
			complain("another log entry");
		nfs4r_entry_put(e);
	}
	return NULL;
}

static void *checkpointer(void *arg)
{
	nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1], before = 0;

	while (!over) {
		if (nfs4r_store_checkpoint(f.s, NULL, NULL, stable) != NFS4R_OK)
			complain("a checkpoint failed");
		if (stable[1] < before)
			complain("stable went back");
		before = stable[1];
	}
	return NULL;
}

static void *syncer(void *arg)
{
	struct nfs4r_store_stats st;

	while (!over) {
		if (nfs4r_store_sync(f.s, nfs4r_store_position(f.s)) != NFS4R_OK)
			complain("a sync failed");
		nfs4r_store_get_stats(f.s, &st);
	}
	return NULL;
}

static void change(uint64_t *rng, uint32_t i)
{
	struct nfs4r_oid dir = dirs[rnd(rng) % NDIRS], dir2 = dirs[rnd(rng) % NDIRS], oid;
	struct nfs4r_dirent d, old;
	nfs4r_journal_pos sync_first;
	struct nfs4r_entry *e;
	struct nfs4r_name n;
	char name[16];

	snprintf(name, sizeof(name), "n%lu", (unsigned long)(rnd(rng) % 100));
	nfs4r_name_set(&n, name, strlen(name));
	if (!nfs4r_store_lookup(f.s, &dir, &n, &d))
		e = e_create(&f, 1, &dir, name, NFS4R_TYPE_FILE, &oid);
	else if (rnd(rng) % 2 || nfs4r_store_lookup(f.s, &dir2, &n, &old))
		e = e_remove(&f, 1, &dir, name);
	else
		e = e_rename(&f, 1, &dir, name, &dir2, name);
	if (nfs4r_store_intent(f.s, e, &sync_first) != NFS4R_OK)
		complain("an intent failed");
	if (i % 64 == 0 && nfs4r_store_sync(f.s, sync_first) != NFS4R_OK)
		complain("a sync failed");
	commit(&f, e);
	if (i % 100 == 99)
		nfs4r_store_truncate(f.s, 1, f.next[1] - 50);
}

static time_t seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static bool go_on(uint32_t i, time_t start)
{
	return i < CHANGES && (i < FEWEST || seconds() - start < SECONDS);
}

static void test_everything_at_once(void **state)
{
	time_t start = seconds();
	void *(*const jobs[])(void *) = { reader, reader, reader, checkpointer, checkpointer, syncer };
	pthread_t t[6];
	uint64_t rng = 5;
	struct nfs4r_store_stats st;
	char *was, *is;

	for (int i = 0; i < 6; i++)
		assert_int_equal(pthread_create(&t[i], NULL, jobs[i], (void *)(uintptr_t)(i + 1)), 0);
	for (uint32_t i = 0; go_on(i, start); i++)
		change(&rng, i);
	over = true;
	for (int i = 0; i < 6; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(bad, 0);
	nfs4r_store_get_stats(f.s, &st);
	print_message("%lu reads, %lu checkpoints, %lu syncs, %lu segments left\n", (unsigned long)reads,
		      (unsigned long)st.checkpoints, (unsigned long)st.syncs, (unsigned long)st.segments);
	was = dump_store(&f);
	fx_crash(&f);
	fx_open_ok(&f);
	is = dump_store(&f);
	assert_string_equal(was, is);
	free(was);
	free(is);
}

static _Atomic int slow_calls;

static int slow_files(void *arg)
{
	slow_calls++;
	return 0;
}

static void *one_checkpoint(void *arg)
{
	nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1];

	if (nfs4r_store_checkpoint(f.s, slow_files, NULL, stable) != NFS4R_OK || stable[1] < 16)
		complain("a checkpoint that began after the call was not waited for");
	return NULL;
}

static void test_callers_share_the_next_checkpoint(void **state)
{
	pthread_t t[12];

	slow_calls = 0;
	for (int i = 0; i < 12; i++)
		assert_int_equal(pthread_create(&t[i], NULL, one_checkpoint, NULL), 0);
	for (int i = 0; i < 12; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(bad, 0);
	assert_true(slow_calls >= 1 && slow_calls <= 12);
}

static struct nfs4r_oid born[CHANGES];
static _Atomic uint32_t nborn;

/* The youngest object is not there yet, then it is there. In between it is never gone: who thinks so looks nowhere else for it. */
static void *birth_watcher(void *arg)
{
	while (!over) {
		uint32_t n = nborn;
		enum nfs4r_known known = n ? nfs4r_store_row(f.s, &born[n - 1], NULL) : NFS4R_NOT_YET;

		if (known == NFS4R_DEAD)
			complain("an object that is being born is dead");
		atomic_fetch_add(&reads, 1);
	}
	return NULL;
}

static void test_nothing_is_dead_before_it_is_born(void **state)
{
	time_t start = seconds();
	pthread_t t[2];

	nborn = 0;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i], NULL, birth_watcher, NULL), 0);
	for (uint32_t i = 0; go_on(i, start) && !bad; i++) {
		struct nfs4r_entry *e;
		char name[16];

		snprintf(name, sizeof(name), "b%u", i);
		e = e_create(&f, 1, &dirs[i % NDIRS], name, NFS4R_TYPE_FILE, &born[i]);
		nborn = i + 1;
		for (uint64_t seen = reads; reads < seen + 4;) /* they are about to ask */
			sched_yield();
		commit(&f, e);
	}
	over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(bad, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_everything_at_once),
		T(test_nothing_is_dead_before_it_is_born),
		T(test_callers_share_the_next_checkpoint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
