/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * nfs4r-bench-grant: what control costs one server's core, by the number of controlled objects and by depth.
 *
 *	nfs4r-bench-grant [--csv FILE] [--check]
 *
 * Half of the N controls are this server's, half are server 2's, each on a file of its own, spread over ten directories at the
 * end of ten chains of directories. Every question is asked about objects at the full depth. A value is the time inside
 * nfs4r_core_step() (route_read: inside the question), the median of 2000 rounds; the tree is tests/lib/memtree, so a step up the
 * tree costs one look-up in a hash table. Lines of FILE: WHAT_depthD,N,MICROSECONDS.
 *
 * --check asserts the shape on the fastest rounds (one in twenty is faster), which others on the machine cannot spoil: with N
 * growing ten thousandfold the time stays (three times, for caches that are colder), with ten times the depth it grows tenfold
 * (fifteen times) at most.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/solo.h"
#include "lib/memtree.h"

#define CHAINS 10
#define SPARE 64 /* objects nobody controls */
#define DEPTH_MAX 50

enum what {
	GRANT_SHALLOW,
	GRANT_DEEP,
	REFUSE_DEEP,
	REFUSE_DEEP_OWN,
	RELEASE_IN,
	ELECT,
	REVOKE_BELOW,
	RELEASE_OUT,
	UPDATE,
	UPDATE_DEEP,
	ROUTE_FILE,
	ROUTE_DIR,
	WHATS
};
static const char *const names[WHATS] = { "grant_shallow", "grant_deep", "refuse_deep", "refuse_deep_own", "release_granted",
					  "elect", "revoke_below", "release_own", "update_covered", "create_below_deep",
					  "route_read_file", "route_read_dir" };

struct world {
	struct solo s;
	struct memtree *tree;
	struct nfs4r_tree port;
	struct nfs4r_oid root, own, foreign, free, held; /* directories of the root */
	struct nfs4r_oid own_leaf[CHAINS], foreign_leaf[CHAINS], free_leaf, held_leaf;
	struct nfs4r_oid own_file, spare_file[SPARE], spare_dir[SPARE], held_file;
	uint64_t minted, seq2, seq3;
	nfs4r_lsn built;
};

struct result {
	double median, best; /* us; of the rounds, 1 in 2 and 1 in 20 is faster */
};

/* ---- the tree -------------------------------------------------------------- */

static struct nfs4r_oid mk(struct world *w, const struct nfs4r_oid *dir, const char *name, uint32_t type)
{
	struct nfs4r_entry *e = nfs4r_entry_new();
	struct nfs4r_facts f;

	MUST(memtree_facts(w->tree, dir, &f));
	e->log = 5; /* none of the three */
	e->lsn = ++w->built;
	e->op = type == NFS4R_TYPE_DIR ? NFS4R_OP_MKDIR : NFS4R_OP_CREATE;
	e->nparts = 2;
	nfs4r_oid_make(&e->result, 5, 1, ++w->minted);
	e->parts[0] = (struct nfs4r_part){ .oid = e->result, .after = 1, .effect = NFS4R_EFF_CREATE, .parent = *dir };
	e->parts[0].attrs.type = type;
	e->parts[1] = (struct nfs4r_part){ .oid = *dir, .before = f.version, .after = f.version + 1, .effect = NFS4R_EFF_NAMES };
	MUST(nfs4r_part_names(&e->parts[1], 1));
	nfs4r_name_set(&e->parts[1].names[0].name, name, strlen(name));
	e->parts[1].names[0].oid = e->result;
	e->parts[1].names[0].type = type;
	w->port.commit(w->port.ctx, e, false, NULL, 0);
	struct nfs4r_oid oid = e->result;
	nfs4r_entry_put(e);
	return oid;
}

/* A directory such that what is in it has @depth directories above it, @top and the root included. */
static struct nfs4r_oid chain(struct world *w, const struct nfs4r_oid *top, int i, uint32_t depth)
{
	struct nfs4r_oid d = *top;
	char name[24];

	for (uint32_t level = 2; level < depth; level++) {
		snprintf(name, sizeof(name), level == 2 ? "c%d" : "d", i);
		d = mk(w, &d, name, NFS4R_TYPE_DIR);
	}
	return d;
}

static void build_tree(struct world *w, uint32_t depth)
{
	char name[24];

	memset(&w->root, 0x11, sizeof(w->root));
	w->tree = memtree_new(SOLO_SELF, &w->root);
	memtree_port(w->tree, &w->port);
	w->own = mk(w, &w->root, "own", NFS4R_TYPE_DIR);
	w->foreign = mk(w, &w->root, "foreign", NFS4R_TYPE_DIR);
	w->free = mk(w, &w->root, "free", NFS4R_TYPE_DIR);
	w->held = mk(w, &w->root, "held", NFS4R_TYPE_DIR);
	for (int i = 0; i < CHAINS; i++) {
		w->own_leaf[i] = chain(w, &w->own, i, depth);
		w->foreign_leaf[i] = chain(w, &w->foreign, i, depth);
	}
	w->free_leaf = chain(w, &w->free, 0, depth);
	w->held_leaf = chain(w, &w->held, 0, depth);
	w->held_file = mk(w, &w->held_leaf, "f", NFS4R_TYPE_FILE);
	for (int i = 0; i < SPARE; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		w->spare_file[i] = mk(w, &w->free_leaf, name, NFS4R_TYPE_FILE);
		snprintf(name, sizeof(name), "x%d", i);
		w->spare_dir[i] = mk(w, &w->free_leaf, name, NFS4R_TYPE_DIR);
	}
}

/* ---- N controls ------------------------------------------------------------- */

static void claim(struct world *w, const struct nfs4r_oid *oid, uint32_t depth)
{
	struct nfs4r_op op = { .type = NFS4R_OP_CLAIM, .obj = *oid, .depth = depth };

	solo_op(&w->s, &op);
	MUST(w->s.sent[NFS4R_MSG_PROPOSE] == 2);
	solo_ack(&w->s, 2, w->s.proposed);
	MUST(w->s.ndone == 1 && w->s.status == NFS4R_OK);
	solo_ack(&w->s, 3, w->s.proposed);
}

static void granted(struct world *w, const struct nfs4r_control *v, uint32_t n)
{
	solo_propose(&w->s, 2, ++w->seq2, v, n);
	MUST(w->s.sent[NFS4R_MSG_ACK] == 1);
}

static void build_controls(struct world *w, uint32_t n)
{
	struct nfs4r_control v[NFS4R_CLAIM_CONTROLS_MAX], plus;
	uint32_t k = 0;
	char name[24];

	for (uint32_t i = 0; i < n / 2; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		w->own_file = mk(w, &w->own_leaf[i % CHAINS], name, NFS4R_TYPE_FILE);
		claim(w, &w->own_file, NFS4R_SHALLOW);
		v[k++] = (struct nfs4r_control){ mk(w, &w->foreign_leaf[i % CHAINS], name, NFS4R_TYPE_FILE), NFS4R_SHALLOW };
		if (k == NFS4R_CLAIM_CONTROLS_MAX || i + 1 == n / 2) {
			granted(w, v, k);
			k = 0;
		}
	}
	claim(w, &w->held, NFS4R_DEEP);
	plus.oid = mk(w, &w->root, "plus", NFS4R_TYPE_DIR); /* with a deep+ of others around no walk is saved */
	plus.depth = NFS4R_DEEP_PLUS;
	granted(w, &plus, 1);
	solo_tick(&w->s, 1000);
}

static void world_new(struct world *w, uint32_t n, uint32_t depth)
{
	struct nfs4r_core_config cfg;

	memset(w, 0, sizeof(*w));
	build_tree(w, depth);
	solo_config(&cfg, &w->root);
	solo_start(&w->s, &cfg, &w->port);
	build_controls(w, n);
}

static void world_free(struct world *w)
{
	solo_stop(&w->s);
	memtree_free(w->tree);
}

/* ---- what is measured; @i: which of the spare objects ---------------------------- */

static void start(struct world *w)
{
	w->s.timing = true;
}

static void stop(struct world *w)
{
	w->s.timing = false;
}

static void propose(struct world *w, const struct nfs4r_oid *oid, uint32_t depth, bool timed)
{
	struct nfs4r_control v = { *oid, depth };

	w->s.timing = timed;
	solo_propose(&w->s, 3, ++w->seq3, &v, 1);
	stop(w);
}

static void grant(struct world *w, const struct nfs4r_oid *oid, uint32_t depth, bool time_release)
{
	propose(w, oid, depth, !time_release);
	MUST(w->s.sent[NFS4R_MSG_ACK] == 1);
	w->s.timing = time_release;
	solo_release(&w->s, 3, w->seq3, w->seq3 + 1);
	stop(w);
	MUST(w->s.sent[NFS4R_MSG_RELEASED] == 1);
}

static void refuse(struct world *w, const struct nfs4r_oid *oid)
{
	propose(w, oid, NFS4R_DEEP, true);
	MUST(w->s.sent[NFS4R_MSG_NACK] == 1);
}

static void everybody_has(struct world *w, bool timed)
{
	nfs4r_lsn end = nfs4r_core_own_end(w->s.core);

	solo_stable(&w->s, end);
	solo_positions(&w->s, 2, end, end);
	w->s.timing = timed;
	solo_positions(&w->s, 3, end, end);
	stop(w);
}

/* A claim of its own from the operation to its end; which of three pieces is timed. */
static void own_claim(struct world *w, int i, enum what what)
{
	struct nfs4r_op op = { .type = NFS4R_OP_SETATTR, .obj = w->spare_file[i] };
	static struct nfs4r_msg m;
	struct nfs4r_pid pid;

	w->s.timing = what == ELECT;
	solo_op(&w->s, &op);
	pid = w->s.proposed;
	solo_ack(&w->s, 2, pid);
	stop(w);
	MUST(w->s.nexecute == 1);
	solo_ack(&w->s, 3, pid);
	solo_execute(&w->s, &op, true);
	MUST(w->s.ndone == 1 && w->s.status == NFS4R_OK);
	m.type = NFS4R_MSG_REVOKE;
	m.revoke.oid = w->free;
	m.revoke.below = true;
	m.revoke.prio = (struct nfs4r_prio){ 1, 2 };
	w->s.timing = what == REVOKE_BELOW;
	solo_msg(&w->s, 2, &m);
	stop(w);
	everybody_has(w, what == RELEASE_OUT);
	MUST(w->s.nreleased == 1);
	solo_released(&w->s, 2, &pid.seq, 1);
	solo_released(&w->s, 3, &pid.seq, 1);
	solo_tick(&w->s, 1000);
}

static void update(struct world *w, struct nfs4r_op *op, bool ok)
{
	start(w);
	solo_op(&w->s, op);
	MUST(w->s.nexecute == 1);
	solo_execute(&w->s, op, ok);
	stop(w);
	MUST(w->s.ndone == 1);
	everybody_has(w, false);
}

static void create_below_deep(struct world *w)
{
	struct nfs4r_op op = { .type = NFS4R_OP_CREATE, .dir = w->held_leaf };

	nfs4r_name_set(&op.name, "new", 3);
	update(w, &op, false); /* void, so that the tree stays the same */
}

static void route(struct world *w, const struct nfs4r_oid *oid, bool is_dir)
{
	uint64_t t = mono_ns();

	for (int k = 0; k < 16; k++)
		MUST(nfs4r_core_route_read(w->s.core, oid, is_dir, 0) == SOLO_SELF);
	w->s.ns += (mono_ns() - t) / 16;
}

static void one(struct world *w, enum what what, int i)
{
	struct nfs4r_op op = { .type = NFS4R_OP_SETATTR, .obj = w->own_file };

	switch (what) {
	case GRANT_SHALLOW:
	case RELEASE_IN:
		grant(w, &w->spare_file[i], NFS4R_SHALLOW, what == RELEASE_IN);
		break;
	case GRANT_DEEP:
		grant(w, &w->spare_dir[i], NFS4R_DEEP, false);
		break;
	case REFUSE_DEEP:
		refuse(w, &w->foreign);
		break;
	case REFUSE_DEEP_OWN:
		refuse(w, &w->own);
		break;
	case UPDATE:
		update(w, &op, true);
		break;
	case UPDATE_DEEP:
		create_below_deep(w);
		break;
	case ROUTE_FILE:
		route(w, &w->held_file, false);
		break;
	case ROUTE_DIR:
		route(w, &w->held_leaf, true);
		break;
	default:
		own_claim(w, i, what);
	}
}

/* ---- rounds ------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static struct result measure(struct world *w, enum what what, uint32_t batches)
{
	uint32_t n = batches * SPARE;
	double *v = calloc(n, sizeof(*v));
	struct result r;

	for (uint32_t i = 0; i < n; i++) {
		w->s.ns = 0;
		one(w, what, (int)(i % SPARE));
		v[i] = (double)w->s.ns / 1000;
	}
	qsort(v, n, sizeof(*v), by_value);
	r = (struct result){ v[n / 2], v[n / 20] };
	free(v);
	return r;
}

static void measure_all(uint32_t n, uint32_t depth, uint32_t batches, struct result out[WHATS])
{
	struct world *w = calloc(1, sizeof(*w));

	world_new(w, n, depth);
	for (int i = 0; i < WHATS; i++)
		out[i] = measure(w, (enum what)i, batches);
	world_free(w);
	free(w);
}

/* ---- table, csv ----------------------------------------------------------------------- */

static int table(const char *csv)
{
	static const uint32_t counts[] = { 10, 1000, 10000, 100000 }, depths[] = { 5, 10, 20, DEPTH_MAX };
	struct result r[4][WHATS];
	FILE *f = csv ? fopen(csv, "w") : NULL;

	if (csv && !f) {
		perror(csv);
		return 1;
	}
	for (int d = 0; d < 4; d++) {
		printf("depth %u%-18s", depths[d], "; controls:");
		for (int n = 0; n < 4; n++) {
			measure_all(counts[n], depths[d], 31, r[n]);
			printf("%10u", counts[n]);
		}
		printf("   us, median\n");
		for (int i = 0; i < WHATS; i++) {
			printf("  %-24s", names[i]);
			for (int n = 0; n < 4; n++) {
				printf("%10.2f", r[n][i].median);
				if (f)
					fprintf(f, "%s_depth%u,%u,%.3f\n", names[i], depths[d], counts[n], r[n][i].median);
			}
			printf("\n");
		}
	}
	return f && fclose(f) ? 1 : 0;
}

/* ---- shape ------------------------------------------------------------------------------ */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MANY 20000
#define BATCHES 12
#else
#define MANY 100000
#define BATCHES 40
#endif
#define FLAT 3.0 /* MANY controls against 10 */
#define LINEAR 15.0 /* depth 50 against 5 */
#define NOISE 0.5 /* us: what a cold cache line or two cost is no growth */

static int compare(const char *what, const char *how, double big, double small, double limit)
{
	bool ok = big <= limit * (small + NOISE);

	printf("%-20s %-28s %8.2f us / %8.2f us = %5.2f, at most %.0f%s\n", what, how, big, small, big / small, limit, ok ? "" : "  FAILED");
	return !ok;
}

static int check(void)
{
	struct result few[WHATS], many[WHATS], deep[WHATS], many_deep[WHATS];
	int bad = 0;

	measure_all(10, 5, BATCHES, few);
	measure_all(MANY, 5, BATCHES, many);
	measure_all(10, DEPTH_MAX, BATCHES, deep);
	measure_all(MANY, DEPTH_MAX, BATCHES, many_deep);
	for (int i = 0; i < WHATS; i++) {
		bad += compare(names[i], "many controls, depth 5", many[i].best, few[i].best, FLAT);
		bad += compare(names[i], "many controls, depth 50", many_deep[i].best, deep[i].best, FLAT);
		bad += compare(names[i], "depth 50, 10 controls", deep[i].best, few[i].best, LINEAR);
	}
	return bad ? 1 : 0;
}

int main(int argc, char **argv)
{
	const char *csv = NULL;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--check"))
			return check();
		if (!strcmp(argv[i], "--csv") && i + 1 < argc) {
			csv = argv[++i];
			continue;
		}
		fprintf(stderr, "usage: nfs4r-bench-grant [--csv FILE] [--check]\n");
		return 2;
	}
	return table(csv);
}
