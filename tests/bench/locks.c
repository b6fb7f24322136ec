/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * nfs4r-bench-locks: what byte-range locks cost. Three engines in one process, over loopback, with real journals; server 1 controls all files, and its clients lock them. Below is a file system that keeps nothing.
 *
 *	nfs4r-bench-locks [--check] [LOCKS]
 *
 * For LOCKS locks in all, of few clients, in files with few locks and in files that are full (4,000 ranges of one file and of several): bytes in use for each lock, with the table of FSAL_REPL; the time
 * that a LOCK takes, in the first tenth and in the last one; from when control ends until the lists are in the stores of all servers; the longest wait of a LOCK of another file meanwhile; bytes that are left then.
 * --check asserts that a LOCK of a full file takes less than ten times what one of an empty file takes, and that no lock takes more than 2 KiB.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/locks.h"
#include "bench/counted.h"
#include "bench/nothing.h"
#include "bench/solo.h" /* MUST, mono_ns */
#include "engine/engine_int.h"
#include "lib/ports.h"

#define SITES 3
#define CLIENTS 8
#define FULL 4000 /* ranges of a full file; at most NFS4R_LOCKS_LIST_MAX */
#define IDLE_MS 3000
#define LEASE_MS 20000 /* a server that is outside the view for a moment has its clients reclaim, and here are none that do */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LOCKS 20000
#else
#define LOCKS 100000
#endif
#define BYTES_MAX 2048 /* of a lock: its range, in three tables, and its owner at its file */

static struct site {
	int id;
	struct bench_nothing fs;
	struct nfs4r_engine *eng;
} sites[SITES + 1];
static char dir[64];
static struct nfs4r_locks *follows; /* as FSAL_REPL has one */

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
	nfs4r_config_init(&cfg);
	snprintf(cfg.volume_name, sizeof(cfg.volume_name), "data");
	snprintf(cfg.store_dir, sizeof(cfg.store_dir), "%s/store%d", dir, id);
	cfg.checkpoint_ms = 500;
	cfg.lease_ms = cfg.silence_ms = LEASE_MS;
	cfg.idle_ms = cfg.deep_idle_ms = IDLE_MS;
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

/* ---- locks --------------------------------------------------------------------------------- */

/* Ranges of two bytes with a gap behind each: nothing is joined. */
static struct nfs4r_lock range(uint32_t i, uint32_t n)
{
	return (struct nfs4r_lock){ .owner = { .client = { 1 + i % CLIENTS }, .owner = { 7 } }, .type = NFS4R_LOCK_WRITE, .start = 10 * (uint64_t)n, .last = 10 * (uint64_t)n + 1 };
}

static void request(uint32_t type, const struct nfs4r_oid *f, const struct nfs4r_lock *lock)
{
	struct nfs4r_op op;
	enum nfs4r_status st;

	do {
		op = (struct nfs4r_op){ .type = type, .obj = *f, .lock = { .lock = *lock, .wait = type == NFS4R_OP_LOCK ? NFS4R_LOCK_TRY : 0 } };
		st = nfs4r_lock(sites[1].eng, &op);
	} while (st == NFS4R_DELAY);
	MUST(st == NFS4R_OK);
}

static struct nfs4r_lock_counts counts(int id)
{
	struct nfs4r_lock_counts n;

	pthread_mutex_lock(&sites[id].eng->lock);
	nfs4r_core_count_locks(sites[id].eng->core, &n);
	pthread_mutex_unlock(&sites[id].eng->lock);
	return n;
}

/* Locks of another file, while lists are written. */
struct pinger {
	pthread_t thread;
	struct nfs4r_oid f;
	_Atomic bool ends;
	uint64_t longest_ns, n;
};

static void *ping(void *arg)
{
	struct pinger *p = arg;

	while (!p->ends) {
		struct nfs4r_lock lock = range(0, 0);
		uint64_t t = mono_ns();

		request(NFS4R_OP_LOCK, &p->f, &lock);
		t = mono_ns() - t;
		p->longest_ns = t > p->longest_ns ? t : p->longest_ns;
		p->n++;
		request(NFS4R_OP_UNLOCK, &p->f, &lock);
		pause_ms(1);
	}
	return NULL;
}

static uint32_t listed(int id, const struct nfs4r_oid *f, uint32_t files)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < files; i++)
		n += nfs4r_store_locks(sites[id].eng->store, &f[i], NULL, 0);
	return n;
}

/* Until no server has a table, and the lists of all have @want locks. */
static void until_listed(const struct nfs4r_oid *f, uint32_t files, uint32_t want)
{
	int id = 1;

	for (int i = 0; i < 6000 && id <= SITES; i++) {
		if (listed(id, f, files) == want)
			id++;
		else
			pause_ms(10);
	}
	if (id <= SITES)
		fprintf(stderr, "server %d lists %u locks, and not %u; server 1 decides about %u files, and gives %u locks back\n", id, listed(id, f, files), want, counts(1).files, counts(1).returning);
	MUST(id > SITES);
}

struct result {
	double first_us, last_us; /* a LOCK, in the first tenth of the ranges of a file, and the last */
	long used, left; /* bytes for each lock: under control, and when that has ended */
	double lists_s, longest_ms;
};

static int64_t settled(void)
{
	int64_t least = bench_in_use();

	for (int i = 0; i < 50; i++) {
		pause_ms(20);
		if (bench_in_use() < least)
			least = bench_in_use();
	}
	return least;
}

static struct result measure(const struct nfs4r_oid *root, uint32_t files, uint32_t each)
{
	struct nfs4r_oid *f = calloc(files, sizeof(f[0])), pinged, d;
	struct pinger p = { .ends = false };
	uint64_t first = 0, last = 0, nfirst = 0, nlast = 0, all = (uint64_t)files * each, t;
	struct result r = { 0 };
	int64_t before;
	char name[40];

	snprintf(name, sizeof(name), "d%u-%u", files, each);
	d = create(NFS4R_OP_MKDIR, root, name);
	for (uint32_t i = 0; i < files; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		f[i] = create(NFS4R_OP_CREATE, &d, name);
	}
	snprintf(name, sizeof(name), "other%u-%u", files, each);
	d = create(NFS4R_OP_MKDIR, root, name); /* control of it is another claim */
	pinged = create(NFS4R_OP_CREATE, &d, "pinged");
	before = settled();
	for (uint32_t n = 0; n < each; n++) {
		for (uint32_t i = 0; i < files; i++) {
			struct nfs4r_lock lock = range(n, n);

			t = mono_ns();
			request(NFS4R_OP_LOCK, &f[i], &lock);
			t = mono_ns() - t;
			MUST(nfs4r_locks_follow_granted(follows, &f[i], &lock, 0));
			if (n * 10 < each) {
				first += t;
				nfirst++;
			} else if (n * 10 >= 9 * each) {
				last += t;
				nlast++;
			}
		}
	}
	MUST(counts(1).own_ranges == all);
	r.used = (long)((bench_in_use() - before) / (int64_t)all);
	r.first_us = nfirst ? (double)first / (double)nfirst / 1000 : 0;
	r.last_us = nlast ? (double)last / (double)nlast / 1000 : 0;
	p.f = pinged;
	MUST(pthread_create(&p.thread, NULL, ping, &p) == 0);
	while (counts(1).ranges > 1) /* the pinger may have one */
		pause_ms(1);
	t = mono_ns();
	until_listed(f, files, (uint32_t)all);
	r.lists_s = (double)(mono_ns() - t) / 1e9;
	p.ends = true;
	pthread_join(p.thread, NULL);
	r.longest_ms = (double)p.longest_ns / 1e6;
	r.left = (long)((settled() - before) / (int64_t)all);
	for (uint32_t i = 0; i < files; i++) {
		for (uint32_t c = 0; c < CLIENTS; c++) {
			struct nfs4r_lock what = range(c, 0);

			what.last = UINT64_MAX;
			request(NFS4R_OP_UNLOCK, &f[i], &what);
			nfs4r_locks_release(follows, &f[i], &what.owner, 0, UINT64_MAX, 0);
		}
	}
	until_listed(f, files, 0);
	free(f);
	return r;
}

/* ---- the report ------------------------------------------------------------------------------ */

static bool report(const char *what, uint32_t files, uint32_t each, const struct nfs4r_oid *root, bool check)
{
	struct result r = measure(root, files, each);
	bool ok = r.used <= BYTES_MAX && r.last_us < 10 * r.first_us + 20;

	printf("%s: %u locks in %u files: %ld bytes each, %ld when control has ended; a LOCK takes %.1f us in the first tenth, %.1f us in the last; lists at all servers after %.2f s; longest LOCK of another file meanwhile %.1f ms%s\n",
	       what, files * each, files, r.used, r.left, r.first_us, r.last_us, r.lists_s, r.longest_ms, ok || !check ? "" : "  FAILED");
	fflush(stdout);
	return ok || !check;
}

int main(int argc, char **argv)
{
	bool check = argc > 1 && !strcmp(argv[1], "--check"), ok;
	uint32_t locks = argc > 1 + check ? (uint32_t)strtoul(argv[1 + check], NULL, 10) : LOCKS;
	uint16_t port = ports_free(PORTS_ENGINE, 1, SITES);
	struct nfs4r_oid root;
	char cmd[128], name[40];

	if (locks < FULL) {
		fprintf(stderr, "usage: nfs4r-bench-locks [--check] [LOCKS]   (%d at least)\n", FULL);
		return 2;
	}
	snprintf(dir, sizeof(dir), "%s/nfs4r-locks-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	MUST(mkdtemp(dir));
	MUST(port);
	for (int i = 1; i <= SITES; i++)
		start(&sites[i], i, port);
	for (int i = 1; i <= SITES; i++)
		while (!nfs4r_locks_are_shared(sites[i].eng))
			pause_ms(20);
	follows = nfs4r_locks_create(&(struct nfs4r_locks_config){ .max = 2 * locks });
	MUST(follows);
	nfs4r_locks_follow(follows);
	nfs4r_root(sites[1].eng, &root);
	for (uint64_t c = 0; c < CLIENTS; c++) {
		snprintf(name, sizeof(name), "client %u", (unsigned)c);
		while (nfs4r_client_begins(sites[1].eng, (uint64_t[]){ 1 + c, 0 }, name, "192.0.2.1", 2) != NFS4R_OK)
			pause_ms(20);
	}
	ok = report("one file", 1, FULL, &root, check);
	ok &= report("full files", locks / FULL, FULL, &root, check);
	ok &= report("many files", locks / 10, 10, &root, check);
	for (int i = 1; i <= SITES; i++)
		nfs4r_engine_stop(sites[i].eng);
	nfs4r_locks_destroy(follows);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	MUST(system(cmd) == 0);
	return !ok;
}
