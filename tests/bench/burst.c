/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * nfs4r-bench-burst: a burst of new files under one deep control, at one server's core.
 *
 *	nfs4r-bench-burst [--check] [--files N]
 *
 * Every file comes with a claim (`created`), which is idle for a while, closes, waits until everybody has the entry stably, is
 * released and confirmed. The times are such that a given number of these claims are alive, a third in each of these stages,
 * while one file a step comes and one claim a step goes. `maker` is the core that creates, `other` one that applies its entries and
 * hears its releases. A value is the time in all the steps of one file. Nothing of the tree is kept for a file, so what the heap
 * grows by is the core's.
 *
 * --files N: memory instead of time, reported every tenth, 1000 claims alive.
 * --check asserts that a file costs the same with a hundred times the live claims, and that the second half of 60,000 files leaves
 * no more behind than the first.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/solo.h"

#define MAKER 2 /* whose entries `other` applies */

/* ---- a tree without memory: file n of a server is there once its entry is committed ---- */

struct flat {
	struct nfs4r_oid root, dir;
	uint64_t minted, made[NFS4R_SERVERS_MAX + 1];
	nfs4r_version dir_version;
};

static void facts(void *ctx, const struct nfs4r_oid *oid, struct nfs4r_facts *out)
{
	struct flat *t = ctx;
	nfs4r_server_id by = nfs4r_oid_creator(oid);
	bool root = nfs4r_oid_eq(oid, &t->root), dir = nfs4r_oid_eq(oid, &t->dir);

	memset(out, 0, sizeof(*out));
	out->known = NFS4R_NOT_YET;
	if (!root && !dir && (by > NFS4R_SERVERS_MAX || nfs4r_oid_seq(oid) > t->made[by]))
		return;
	out->known = NFS4R_KNOWN;
	out->type = root || dir ? NFS4R_TYPE_DIR : NFS4R_TYPE_FILE;
	out->version = dir ? t->dir_version : 1;
	out->nlink = 1;
	out->nparents = !root;
	out->parent = dir ? t->root : t->dir;
}

static bool lookup(void *ctx, const struct nfs4r_oid *dir, const struct nfs4r_name *name, struct nfs4r_oid *child)
{
	return false; /* every name is a new one */
}

static uint32_t parents(void *ctx, const struct nfs4r_oid *oid, struct nfs4r_oid *out, uint32_t max)
{
	return 0; /* no file has two names */
}

static void commit(void *ctx, struct nfs4r_entry *e, bool own, const struct nfs4r_put *puts, uint32_t nputs)
{
	struct flat *t = ctx;

	MUST(e->nparts == 2 && e->parts[0].effect == NFS4R_EFF_CREATE);
	t->made[e->log] = nfs4r_oid_seq(&e->parts[0].oid);
	t->dir_version = e->parts[1].after;
}

static void mint(void *ctx, struct nfs4r_oid *out)
{
	struct flat *t = ctx;

	nfs4r_oid_make(out, SOLO_SELF, 1, ++t->minted);
}

static void flat_init(struct flat *t, struct nfs4r_tree *port)
{
	memset(t, 0, sizeof(*t));
	memset(&t->root, 0x11, sizeof(t->root));
	memset(&t->dir, 0x22, sizeof(t->dir));
	t->dir_version = 1;
	*port = (struct nfs4r_tree){ .ctx = t, .facts = facts, .lookup = lookup, .parents = parents, .commit = commit, .oid_watermark = mint };
}

/* ---- the one that creates ------------------------------------------------------------- */

struct burst {
	struct solo s;
	struct flat tree;
	uint32_t third; /* of the live claims */
	uint64_t n; /* files so far */
	/* maker: released and not confirmed, in order */
	uint64_t *ring, head, tail;
	/* other */
	struct nfs4r_entry *apply;
};

static void maker_new(struct burst *b, uint32_t live)
{
	struct nfs4r_core_config cfg;
	struct nfs4r_tree port;

	memset(b, 0, sizeof(*b));
	b->third = live / 3;
	b->ring = calloc(b->third + 2 * NFS4R_BATCH_MAX, sizeof(*b->ring));
	flat_init(&b->tree, &port);
	solo_config(&cfg, &b->tree.root);
	cfg.idle_ms = b->third;
	cfg.repeat_ms = 1u << 28;
	solo_start(&b->s, &cfg, &port);
	struct nfs4r_op op = { .type = NFS4R_OP_CLAIM, .obj = b->tree.dir, .depth = NFS4R_DEEP };
	solo_op(&b->s, &op);
	solo_ack(&b->s, 2, b->s.proposed);
	solo_ack(&b->s, 3, b->s.proposed);
}

static void keep_released(struct burst *b)
{
	uint64_t cap = b->third + 2 * NFS4R_BATCH_MAX;

	for (uint32_t i = 0; i < b->s.nreleased; i++) {
		MUST(b->tail - b->head < cap);
		b->ring[b->tail++ % cap] = b->s.released[i];
	}
}

static void confirm(struct burst *b)
{
	uint64_t cap = b->third + 2 * NFS4R_BATCH_MAX;

	while (b->tail - b->head > b->third) {
		uint64_t seq = b->ring[b->head++ % cap];

		solo_released(&b->s, 2, &seq, 1);
		solo_released(&b->s, 3, &seq, 1);
	}
}

static void make_file(struct burst *b)
{
	struct nfs4r_op op = { .type = NFS4R_OP_CREATE, .dir = b->tree.dir };
	nfs4r_lsn end = ++b->n, stable = end > b->third ? end - b->third : 0;
	char name[24];

	snprintf(name, sizeof(name), "f%lu", (unsigned long)b->n);
	nfs4r_name_set(&op.name, name, strlen(name));
	b->s.now++;
	solo_op(&b->s, &op);
	keep_released(b);
	MUST(b->s.nexecute == 1);
	solo_execute(&b->s, &op, true);
	MUST(b->s.ndone == 1 && b->s.status == NFS4R_OK);
	solo_stable(&b->s, stable);
	solo_positions(&b->s, 2, end, stable);
	solo_positions(&b->s, 3, end, stable);
	keep_released(b);
	confirm(b);
}

/* ---- the one that applies --------------------------------------------------------------- */

static void keep_apply(void *arg, struct nfs4r_entry *e)
{
	struct burst *b = arg;

	MUST(!b->apply);
	b->apply = e;
}

static void other_new(struct burst *b, uint32_t live)
{
	struct nfs4r_core_config cfg;
	struct nfs4r_tree port;

	memset(b, 0, sizeof(*b));
	b->third = live / 3;
	flat_init(&b->tree, &port);
	solo_config(&cfg, &b->tree.root);
	cfg.repeat_ms = 1u << 28;
	solo_start(&b->s, &cfg, &port);
	b->s.keep_apply = keep_apply;
	b->s.arg = b;
}

static struct nfs4r_entry *entry_of(struct burst *b, uint64_t n)
{
	struct nfs4r_entry *e = nfs4r_entry_new();

	e->log = MAKER;
	e->lsn = n;
	e->op = NFS4R_OP_CREATE;
	e->nparts = 2;
	nfs4r_oid_make(&e->result, MAKER, 1, n);
	e->parts[0] = (struct nfs4r_part){ .oid = e->result, .after = 1, .effect = NFS4R_EFF_CREATE, .parent = b->tree.dir };
	e->parts[0].attrs.type = NFS4R_TYPE_FILE;
	e->parts[1] = (struct nfs4r_part){ .oid = b->tree.dir, .before = n, .after = n + 1, .effect = NFS4R_EFF_NAMES };
	MUST(nfs4r_part_names(&e->parts[1], 1));
	nfs4r_name_set(&e->parts[1].names[0].name, "f", 1);
	e->parts[1].names[0].oid = e->result;
	e->joined.pid = (struct nfs4r_pid){ MAKER, n };
	e->joined.control = (struct nfs4r_control){ e->result, NFS4R_SHALLOW };
	e->joined.kind = NFS4R_CREATED;
	return e;
}

static void other_file(struct burst *b)
{
	struct nfs4r_entry *e = entry_of(b, ++b->n);
	struct nfs4r_msg m = { .type = NFS4R_MSG_ENTRIES, .entries = { .log = MAKER, .end = b->n, .n = 1, .entries = &e } };
	struct nfs4r_event ev = { .type = NFS4R_EV_APPLIED, .ok = true }, stable = { .type = NFS4R_EV_STABLE };

	b->s.now++;
	solo_msg(&b->s, MAKER, &m);
	MUST(b->apply);
	ev.entry = e = b->apply;
	b->apply = NULL;
	solo_step(&b->s, &ev);
	nfs4r_entry_put(e);
	stable.stable[MAKER] = b->n;
	solo_step(&b->s, &stable);
	if (b->n > 3 * b->third) {
		solo_release(&b->s, MAKER, b->n - 3 * b->third, b->n + 1);
		MUST(b->s.sent[NFS4R_MSG_RELEASED] == 1);
	}
}

static void burst_free(struct burst *b)
{
	solo_stop(&b->s);
	free(b->ring);
}

/* ---- time ------------------------------------------------------------------------------------ */

static const struct side {
	const char *name;
	void (*new)(struct burst *b, uint32_t live);
	void (*file)(struct burst *b);
} sides[] = { { "maker", maker_new, make_file }, { "other", other_new, other_file } };

#define BATCH 500

/* us a file, of the fastest batch; *live: claims in the table at the end */
static double cost(const struct side *sd, uint32_t live, uint64_t *claims)
{
	struct burst *b = calloc(1, sizeof(*b));
	struct nfs4r_core_stats st;
	double best = 0;

	sd->new (b, live);
	for (uint32_t i = 0; i < 2 * live; i++)
		sd->file(b);
	for (int batch = 0; batch < 20; batch++) {
		b->s.timing = true;
		b->s.ns = 0;
		for (int i = 0; i < BATCH; i++)
			sd->file(b);
		b->s.timing = false;
		if (!batch || (double)b->s.ns < best)
			best = (double)b->s.ns;
	}
	nfs4r_core_get_stats(b->s.core, &st);
	*claims = st.claims;
	burst_free(b);
	free(b);
	return best / BATCH / 1000;
}

/* ---- memory ------------------------------------------------------------------------------------- */

static long heap_kib(void)
{
	struct mallinfo2 m = mallinfo2();

	return (long)((m.uordblks + m.hblkhd) / 1024);
}

/* KiB by which the heap is larger after the second half than after the first. */
static long growth(const struct side *sd, uint32_t files, bool show)
{
	struct burst *b = calloc(1, sizeof(*b));
	struct nfs4r_core_stats st;
	long half = 0, end;

	sd->new (b, 1000);
	for (uint32_t i = 1; i <= files; i++) {
		sd->file(b);
		if (i == files / 2)
			half = heap_kib();
		if (show && i % (files / 10) == 0) {
			nfs4r_core_get_stats(b->s.core, &st);
			printf("%s %9u files: heap %6ld KiB, %lu claims, %lu entries pending\n", sd->name, i, heap_kib(),
			       (unsigned long)st.claims, (unsigned long)st.pending_entries);
		}
	}
	end = heap_kib();
	burst_free(b);
	free(b);
	return end - half;
}

/* ---- main ------------------------------------------------------------------------------------------ */

#define FLAT 3.0 /* 10,000 live claims against 100 */
#define NOISE 1.0 /* us: caches that are colder are no growth */
#define LEFT_KIB 64 /* 30,000 files that left something behind would leave a MiB at least */

static int check(void)
{
	uint64_t claims;
	int bad = 0;

	for (int i = 0; i < 2; i++) {
		double few = cost(&sides[i], 100, &claims), many = cost(&sides[i], 10000, &claims);
		long kib = growth(&sides[i], 60000, false);
		bool flat = many <= FLAT * (few + NOISE), bounded = kib <= LEFT_KIB;

		MUST(claims > 9000); /* else something else was measured */
		printf("%s: %.2f us a file with 100 live claims, %.2f with 10,000%s; 30,000 files more leave %ld KiB%s\n", sides[i].name,
		       few, many, flat ? "" : "  FAILED", kib, bounded ? "" : "  FAILED");
		bad += !flat + !bounded;
	}
	return bad ? 1 : 0;
}

int main(int argc, char **argv)
{
	static const uint32_t live[] = { 100, 1000, 10000, 100000 };
	uint64_t claims;

	if (argc == 2 && !strcmp(argv[1], "--check"))
		return check();
	if (argc == 3 && !strcmp(argv[1], "--files") && atoi(argv[2]) >= 10) {
		for (int i = 0; i < 2; i++)
			printf("%s: %ld KiB more after the second half\n", sides[i].name, growth(&sides[i], (uint32_t)atoi(argv[2]), true));
		return 0;
	}
	if (argc != 1) {
		fprintf(stderr, "usage: nfs4r-bench-burst [--check] [--files N]\n");
		return 2;
	}
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 4; k++) {
			double us = cost(&sides[i], live[k], &claims);

			printf("%s, %6lu live claims: %7.2f us a file\n", sides[i].name, (unsigned long)claims, us);
		}
	return 0;
}
