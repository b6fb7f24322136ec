/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * nfs4r-bench-memory: three engines in one process, over loopback, with real journals; one creates files, all apply them. The local
 * file system below is none: it hands out numbers as handles and keeps nothing, so what the process grows by is the engines'.
 *
 *	nfs4r-bench-memory [--check] [FILES]
 *
 * Reports every tenth: bytes in use that our own code asked malloc for (LMDB and libuv, which keep what their busiest moment needed, are not in it),
 * heap, and anonymous memory of the process, file pages (LMDB's map, which the kernel takes back when it likes),
 * claims, how far the peers are behind; the files come no faster than the peers follow, 2000 entries behind at most. Halfway and at the end it waits until all have everything, no control is held and checkpoints
 * are written. --check asserts that there is as much in use at the end as halfway, but for what a few hundred directories cost.
 */
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench/counted.h"
#include "bench/nothing.h"
#include "bench/solo.h" /* MUST, mono_ns */
#include "engine/engine_int.h"
#include "lib/ports.h"

#define SITES 3
#define THREADS 4
#define PER_DIR 2000
#define LAG_MAX 2000
#define CLAIMS_MAX 10000 /* held at all three, the same in both halves on a fast machine and a slow one */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FILES 16000 /* their heap is not counted; leaks and races are what they look for */
#else
#define FILES 120000
#endif
#define LEFT_KIB 4096 /* tables and arrays that a burst made large differ from rest to rest, by 2 MiB at most in what was seen; 56,000 files at 75 bytes would be more */

static struct site {
	int id;
	struct bench_nothing fs;
	struct nfs4r_engine *eng;
} sites[SITES + 1];
static char dir[64];
static _Atomic uint64_t made, behind, held;

/* ---- three servers ----------------------------------------------------------------------- */

static void log_line(void *ctx, enum nfs4r_log_level level, const char *text)
{
	if (level <= NFS4R_LOG_ERROR || getenv("NFS4R_TEST_LOG"))
		fprintf(stderr, "[%d] %s\n", ((struct site *)ctx)->id, text);
}

static void start(struct site *s, int id, uint16_t port)
{
	struct nfs4r_config cfg;
	char why[NFS4R_WHY] = "";

	s->id = id;
	s->fs.handles = 0;
	nfs4r_config_init(&cfg);
	snprintf(cfg.volume_name, sizeof(cfg.volume_name), "data");
	snprintf(cfg.store_dir, sizeof(cfg.store_dir), "%s/store%d", dir, id);
	cfg.checkpoint_ms = 500;
	cfg.idle_ms = cfg.deep_idle_ms = 200;
	cfg.rpc.self = (nfs4r_server_id)id;
	memset(cfg.rpc.volume, 0x5a, sizeof(cfg.rpc.volume));
	cfg.rpc.any_port = true;
	cfg.rpc.export_id = 77;
	cfg.rpc.security = NFS4R_SECURITY_NONE;
	for (int i = 1; i <= SITES; i++) {
		struct nfs4r_endpoint *e = &cfg.rpc.servers[cfg.rpc.nservers++];

		e->id = (nfs4r_server_id)i;
		snprintf(e->host, sizeof(e->host), "127.0.0.%d", i);
		e->port = port;
	}
	if (nfs4r_engine_start(&cfg, &bench_nothing, &s->fs, log_line, s, &s->eng, why) != NFS4R_OK) {
		fprintf(stderr, "server %d does not start: %s\n", id, why);
		exit(1);
	}
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/* ---- the work ------------------------------------------------------------------------------ */

static struct nfs4r_oid create(uint32_t type, const struct nfs4r_oid *in, const char *name)
{
	struct nfs4r_op op = { .type = type, .dir = *in };
	enum nfs4r_status st;

	nfs4r_name_set(&op.name, name, strlen(name));
	op.attrs.mask = NFS4R_ATTR_MODE;
	op.attrs.mode = type == NFS4R_OP_MKDIR ? 0755 : 0644;
	while ((st = nfs4r_update(sites[1].eng, &op, NULL, NULL)) == NFS4R_DELAY)
		pause_ms(20);
	MUST(st == NFS4R_OK);
	nfs4r_op_fini(&op);
	return op.result;
}

struct job {
	pthread_t thread;
	int id;
	uint64_t files;
};

static void *work(void *arg)
{
	struct job *j = arg;
	struct nfs4r_oid root, d;
	char name[40];

	nfs4r_root(sites[1].eng, &root);
	for (uint64_t i = 0; i < j->files; i++) {
		if (i % PER_DIR == 0) {
			snprintf(name, sizeof(name), "d%lu", (unsigned long)made + (uint64_t)j->id * 1000000000u);
			d = create(NFS4R_OP_MKDIR, &root, name);
		}
		snprintf(name, sizeof(name), "f%lu", (unsigned long)i);
		create(NFS4R_OP_CREATE, &d, name);
		made++;
		while (behind > LAG_MAX || held > CLAIMS_MAX)
			pause_ms(5);
	}
	return NULL;
}

/* ---- what is in memory ------------------------------------------------------------------------ */

struct usage {
	long used_kib, heap_kib, anon_kib, file_kib; /* heap: of all libraries */
	uint64_t claims, pending, rows, lag;
};

static long status_kib(const char *key)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[200];
	long kib = 0;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			kib = atol(line + strlen(key) + 1);
	if (f)
		fclose(f);
	return kib;
}

static void look(struct usage *u)
{
	struct mallinfo2 m = mallinfo2();

	memset(u, 0, sizeof(*u));
	u->used_kib = (long)(bench_in_use() / 1024);
	u->heap_kib = (long)((m.uordblks + m.hblkhd) / 1024);
	u->anon_kib = status_kib("RssAnon");
	u->file_kib = status_kib("RssFile");
	for (int i = 1; i <= SITES; i++) {
		struct nfs4r_engine *eng = sites[i].eng;
		struct nfs4r_core_stats st;
		struct nfs4r_store_stats ss;
		struct nfs4r_core_peer p;

		pthread_mutex_lock(&eng->lock);
		nfs4r_core_get_stats(eng->core, &st);
		for (nfs4r_server_id s = 1; i == 1 && s <= SITES; s++)
			if (nfs4r_core_get_peer(eng->core, s, &p) && nfs4r_core_own_end(eng->core) - p.applied > u->lag)
				u->lag = nfs4r_core_own_end(eng->core) - p.applied;
		pthread_mutex_unlock(&eng->lock);
		nfs4r_store_get_stats(eng->store, &ss);
		u->claims += st.claims;
		u->pending += st.pending_entries;
		u->rows += ss.rows_dirty;
	}
}

static void show(const char *what, const struct usage *u, double s)
{
	printf("%9lu files, %6.1f s, %s: in use %6ld KiB, heap %6ld KiB, anonymous %6ld KiB, file pages %6ld KiB, claims %6lu, peers behind %6lu, rows not checkpointed %6lu\n",
	       (unsigned long)made, s, what, u->used_kib, u->heap_kib, u->anon_kib, u->file_kib, (unsigned long)u->claims, (unsigned long)u->lag,
	       (unsigned long)u->rows);
	fflush(stdout);
}

/* @files more, when the peers can follow; most in use on the way in *peak. */
static void run(uint64_t files, uint64_t every, uint64_t t0, long *peak)
{
	uint64_t until = made + files, next = made + every;
	struct job j[THREADS];
	struct usage u;

	for (int i = 0; i < THREADS; i++) {
		j[i] = (struct job){ .id = i + 1, .files = files / THREADS };
		MUST(pthread_create(&j[i].thread, NULL, work, &j[i]) == 0);
	}
	while (made < until - until % THREADS) {
		pause_ms(5);
		look(&u);
		behind = u.lag;
		held = u.claims;
		if (u.used_kib > *peak)
			*peak = u.used_kib;
		if (made >= next) {
			show("creating", &u, (double)(mono_ns() - t0) / 1e9);
			next += every;
		}
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(j[i].thread, NULL);
}

/* Everybody has everything, nothing is controlled, checkpoints are written. */
/* Nothing is under way, and what was sent was let go: the transport hears of the last of it a while later. */
static struct usage rest(uint64_t t0)
{
	struct usage u;
	long least = LONG_MAX;

	for (int i = 0, still = 0; i < 3000 && still < 75; i++) {
		look(&u);
		still = u.claims || u.pending || u.lag || u.rows || u.used_kib < least ? 0 : still + 1;
		if (u.used_kib < least)
			least = u.used_kib;
		pause_ms(20);
	}
	show("at rest ", &u, (double)(mono_ns() - t0) / 1e9);
	MUST(!u.claims && !u.pending && !u.lag);
	return u;
}

int main(int argc, char **argv)
{
	bool check = argc > 1 && !strcmp(argv[1], "--check");
	uint64_t files = argc > 1 + check ? strtoull(argv[1 + check], NULL, 10) : FILES, t0 = mono_ns();
	uint16_t port = ports_free(PORTS_ENGINE, 1, SITES);
	long peak1 = 0, peak2 = 0;
	struct usage half, end;
	char cmd[128];
	bool ok;

	files -= files % (2 * THREADS * PER_DIR);
	if (!files) {
		fprintf(stderr, "usage: nfs4r-bench-memory [--check] [FILES]   (%d at least)\n", 2 * THREADS * PER_DIR);
		return 2;
	}
	snprintf(dir, sizeof(dir), "%s/nfs4r-memory-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	MUST(mkdtemp(dir));
	MUST(port);
	for (int i = 1; i <= SITES; i++)
		start(&sites[i], i, port);
	run(files / 2, files / 10, t0, &peak1);
	half = rest(t0);
	run(files / 2, files / 10, t0, &peak2);
	end = rest(t0);
	ok = end.used_kib <= half.used_kib + LEFT_KIB;
	printf("in use at rest: %ld KiB halfway, %ld KiB at the end, %ld bytes a file; highest %ld and %ld KiB%s\n", half.used_kib, end.used_kib,
	       (end.used_kib - half.used_kib) * 1024 / (long)(files / 2), peak1, peak2, ok || !check ? "" : "  FAILED");
	for (int i = 1; i <= SITES; i++)
		nfs4r_engine_stop(sites[i].eng);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	MUST(system(cmd) == 0);
	return check && !ok;
}
