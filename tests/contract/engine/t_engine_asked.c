/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A server that asks without end takes neither the memory nor the time of those that it asks (control 6.11), and nothing is left of its questions when it is gone.
 */
#include "lib/unit.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "engine/engine_int.h"
#include "runaway.h"
#include "steps.h"

#define MIB (1u << 20)
#define FILE_MIB 64
#define QUESTIONS 40000
#define MEMORY_MAX (20ull * 1000 * 1000)
#define CORE_MS_MAX 1000
#define ANSWER_MS_MAX 1000 /* for what others ask meanwhile; it takes 1 to 40 */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEASURED 0 /* the tool's own memory and time are much more */
#else
#define MEASURED 1
#endif

static struct runaway *runaway;
static struct nfs4r_oid file;
static char block[MIB];

/* Anonymous memory of this process, bytes. */
static uint64_t memory(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long kib = 0;
	char line[200];

	assert_non_null(f);
	while (!kib && fgets(line, sizeof(line), f))
		sscanf(line, "RssAnon: %lu", &kib);
	fclose(f);
	assert_int_not_equal(kib, 0);
	return (uint64_t)kib << 10;
}

static uint64_t core_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 + (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
}

/* Servers 1 and 2 serve without server 3, and server 1 controls a file of 64 MiB. */
static int begin(void **state)
{
	struct cluster *c = cluster_new();
	struct nfs4r_oid root;

	c->idle_ms = 600000; /* the writer keeps control */
	cluster_begin(c, state);
	root = site_root(&c->site[1]);
	file = make(&c->site[1], NFS4R_OP_CREATE, &root, "big");
	nfs4r_opened(c->site[1].eng, &file);
	for (unsigned i = 0; i < FILE_MIB; i++) {
		memset(block, (int)('a' + i % 20), MIB);
		assert_int_equal(site_write(&c->site[1], &file, (uint64_t)i * MIB, block, MIB), NFS4R_OK);
	}
	cluster_settle(c);
	cluster_stop(c, 3);
	make(&c->site[1], NFS4R_OP_CREATE, &root, "without 3");
	make(&c->site[2], NFS4R_OP_CREATE, &root, "nor here");
	return 0;
}

struct measured {
	uint64_t memory; /* at most */
	uint64_t slowest_ms, n; /* of what server 2 asked server 1 for, and changed */
};

/* Server 2 goes on for so long: attributes of the file that server 1 controls, its bytes, and a write that is forwarded. */
static void go_on(struct cluster *c, uint64_t ms, struct measured *m)
{
	uint64_t end = engine_now_ms() + ms;

	while (engine_now_ms() < end) {
		uint64_t begun = engine_now_ms(), took, mem;
		struct nfs4r_attrs a;
		uint32_t len = 100;

		assert_int_equal(site_getattr(&c->site[2], &file, &a), NFS4R_OK);
		assert_int_equal(site_read(&c->site[2], &file, 5 * MIB, block, &len), NFS4R_OK);
		assert_int_equal(site_write(&c->site[2], &file, 0, "x", 1), NFS4R_OK);
		took = engine_now_ms() - begun;
		mem = memory();
		m->n++;
		m->slowest_ms = took > m->slowest_ms ? took : m->slowest_ms;
		m->memory = mem > m->memory ? mem : m->memory;
		pause_ms(5); /* what each write leaves in memory for a while is not what is measured */
	}
}

/* What is left when the connection is lost. */
static void leave(struct cluster *c)
{
	runaway_leave(runaway, c);
	pause_ms(100); /* what was under way */

	uint64_t before = core_ms();

	pause_ms(4000);
	uint64_t took = core_ms() - before;

	print_message("%lu ms of core time in the 4 s after it was gone\n", took);
	if (MEASURED)
		assert_in_range(took, 0, CORE_MS_MAX);
}

static void run(struct cluster *c, bool reads)
{
	struct measured m = { 0 };
	uint64_t before;

	go_on(c, 1000, &m);
	before = memory();
	m = (struct measured){ .memory = before };
	runaway_connect(runaway, c);
	runaway_ask(runaway, &file, QUESTIONS / (1 + reads), true, reads);
	go_on(c, 3000, &m);
	print_message("%lu KiB more memory; server 2 came %lu times, and waited %lu ms at most\n", (m.memory - before) >> 10, m.n, m.slowest_ms);
	leave(c);
	if (MEASURED) {
		assert_in_range(m.memory - before, 0, MEMORY_MAX);
		assert_in_range(m.slowest_ms, 0, ANSWER_MS_MAX);
	}
	assert_in_range(m.n, 3, UINT64_MAX);
}

static void sums_without_end(void **state)
{
	run(*state, false);
}

static void sums_and_reads_without_end(void **state)
{
	run(*state, true);
}

static bool has_said(struct site *s, const char *text)
{
	pthread_mutex_lock(&s->lock);
	bool said = strstr(s->logged, text);
	pthread_mutex_unlock(&s->lock);
	return said;
}

/* It asks for the text of a link again and again, and does not read the answers: it is disconnected before they take much memory, and server 2 goes on. */
static void answers_that_nobody_reads(void **state)
{
	static const char why[] = "is down: keeps sending requests but does not read the answers";
	const uint64_t most = 8 * MIB + 8 * (4 * MIB) + 16 * MIB + 24 * MIB; /* control 6.11, with 8 executors; and what allocation adds */
	struct measured m = { 0 };
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), link;
	char text[4001];
	uint64_t before;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(site_symlink(&c->site[1], &root, "link", text, &link), NFS4R_OK);
	go_on(c, 500, &m);
	before = memory();
	m = (struct measured){ .memory = before };
	runaway_connect(runaway, c);
	runaway_read_nothing(runaway, true);
	runaway_ask_texts(runaway, &link, 200000);
	for (int i = 0; i < 300 && !has_said(&c->site[1], why); i++)
		go_on(c, 100, &m);
	print_message("%lu KiB more memory; server 2 came %lu times, and waited %lu ms at most\n", (m.memory - before) >> 10, m.n, m.slowest_ms);
	site_says(&c->site[1], why, 1);
	if (MEASURED) {
		assert_in_range(m.memory - before, 0, most);
		assert_in_range(m.slowest_ms, 0, ANSWER_MS_MAX);
	}
	runaway_leave(runaway, c);
}

/* ---- forwarded operations ---- */

static void asked(struct site *s, nfs4r_server_id of, uint32_t *n, uint64_t *bytes)
{
	struct asked *a = &s->eng->runtime.asked[of];

	pthread_mutex_lock(&a->lock);
	*n = a->n;
	*bytes = a->bytes;
	pthread_mutex_unlock(&a->lock);
}

static void wait_asked(struct site *s, nfs4r_server_id of, uint32_t want, uint64_t *bytes)
{
	uint32_t n = want + 1;

	for (int i = 0; i < 500 && n != want; i++) {
		asked(s, of, &n, bytes);
		pause_ms(10);
	}
	assert_int_equal(n, want);
}

static void *write_there(void *arg)
{
	struct cluster *c = arg;

	return (void *)(intptr_t)site_write(&c->site[2], &file, 0, block, MIB);
}

static void wait_for_lock(struct nfs4r_engine *eng, void *lock)
{
	pthread_mutex_lock(lock);
	pthread_mutex_unlock(lock);
}

/* One counts, with its bytes, from when it comes until its answer has gone; and so do those that are refused or repeated. */
static void forwarded_operations_count_until_their_answers(void **state)
{
	static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	struct cluster *c = *state;
	pthread_t thread;
	uint64_t bytes;
	void *st;

	wait_asked(&c->site[1], 2, 0, &bytes);
	assert_int_equal(bytes, 0);
	pthread_mutex_lock(&gate);
	for (uint32_t i = 0; i < c->executors; i++)
		engine_pool_run(c->site[1].eng->runtime.executors, wait_for_lock, &gate);
	assert_int_equal(pthread_create(&thread, NULL, write_there, c), 0);
	wait_asked(&c->site[1], 2, 1, &bytes);
	pthread_mutex_unlock(&gate);
	assert_in_range(bytes, MIB, MIB + 10000);
	pthread_join(thread, &st);
	assert_int_equal((intptr_t)st, NFS4R_OK);
	for (int i = 0; i < 50; i++)
		assert_int_equal(site_write(&c->site[2], &file, 0, "x", 1), NFS4R_OK);
	for (nfs4r_server_id of = 1; of <= 3; of++)
		for (int at = 1; at <= 2; at++) {
			wait_asked(&c->site[at], of, 0, &bytes);
			assert_int_equal(bytes, 0);
		}
}

/* ---- answers that nobody reads ---- */

#define READS 400 /* 100 MiB at a time, until the kernels take no more */
#define READS_MAX (50 * READS)
#define EMPTY_MAX 1000 /* bytes of an answer without the file's, and what the others have beside them */

static uint64_t messages_of(struct nfs4r_engine *eng)
{
	struct nfs4r_rpc_peer_stats st;

	assert_true(nfs4r_rpc_get_stats(eng->rpc, 3, &st));
	return st.messages_received;
}

static void wait_answered(uint32_t want, uint32_t *bytes)
{
	uint32_t delay = 0;

	*bytes = 0;
	for (int i = 0; i < 1000 && *bytes + delay < want; i++) {
		pause_ms(10);
		runaway_answers(runaway, bytes, &delay);
	}
	assert_int_equal(*bytes + delay, want);
}

/*
 * Control 6.11: while 8 MiB of answers wait for a server that reads none, its questions with large answers hear DELAY at once. So all of them are answered, and none counts
 * any more, though nothing was read. What the executors were reading when the bound was reached comes on top. When the server reads, it is served again.
 */
static void answers_that_are_not_read_are_bounded(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_engine *eng = c->site[1].eng;
	uint64_t waiting, most, before, memory_of_questions;
	uint32_t reads = 0, bytes, more;

	runaway_connect(runaway, c);
	runaway_read_nothing(runaway, true);
	before = messages_of(eng);
	do {
		runaway_ask(runaway, &file, READS, false, true);
		reads += READS;
		for (int i = 0; i < 1000 && messages_of(eng) < before + reads; i++)
			pause_ms(10);
		wait_asked(&c->site[1], 3, 0, &memory_of_questions);
		waiting = nfs4r_rpc_answers(eng->rpc, 3); /* the kernels may take more of it a moment later */
	} while (waiting < ANSWERS_BYTES_MAX && reads < READS_MAX);
	most = ANSWERS_BYTES_MAX + (uint64_t)c->executors * RUNAWAY_PIECE + (uint64_t)reads * EMPTY_MAX;
	print_message("%lu KiB of answers wait\n", waiting >> 10);
	assert_in_range(waiting, ANSWERS_BYTES_MAX, most);
	runaway_read_nothing(runaway, false);
	wait_answered(reads, &bytes);
	print_message("%u of %u answers have bytes\n", bytes, reads);
	assert_in_range(bytes, ANSWERS_BYTES_MAX / RUNAWAY_PIECE, reads - 1);
	runaway_ask(runaway, &file, 1, false, true);
	wait_answered(reads + 1, &more);
	assert_int_equal(more, bytes + 1);
	runaway_leave(runaway, c);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, cluster_teardown)
	const struct CMUnitTest tests[] = {
		T(sums_without_end),
		T(sums_and_reads_without_end),
		T(answers_that_nobody_reads),
		T(forwarded_operations_count_until_their_answers),
		T(answers_that_are_not_read_are_bounded),
	};

	runaway = runaway_begin();
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	runaway_end(runaway);
	return failed;
}
