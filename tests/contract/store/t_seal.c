/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Ends of logs, and copies that are made equal to another one (log 7, 8.3, 8.5): what is readable, what is dead, what the next open
 * finds after a kill, a checkpoint, a loss of power at any byte.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/stat.h>
#include <fcntl.h>

#include "fixture.h"

#define GEN1 ((nfs4r_lsn)1 << NFS4R_GEN_SHIFT)

static struct fx f;

static int setup(void **state)
{
	fx_begin(&f, 4096);
	return 0;
}

static int teardown(void **state)
{
	fx_fini(&f);
	return 0;
}

static bool readable(nfs4r_server_id log, nfs4r_lsn lsn)
{
	struct nfs4r_entry *e = nfs4r_store_log_read(f.s, log, lsn);
	bool is = e != NULL;

	if (e)
		assert_true(e->log == log && e->lsn == lsn);
	nfs4r_entry_put(e);
	return is;
}

static void assert_readable(nfs4r_server_id log, nfs4r_lsn from, nfs4r_lsn until)
{
	assert_false(readable(log, from - 1));
	for (nfs4r_lsn n = from; n <= until; n++)
		assert_true(readable(log, n));
	assert_false(readable(log, until + 1));
}

/* Look, then again after a kill, a checkpoint with a kill, an orderly stop. */
static void always(void (*look)(void))
{
	look();
	fx_crash(&f);
	fx_open_ok(&f);
	look();
	fx_checkpoint(&f);
	look();
	fx_crash(&f);
	fx_open_ok(&f);
	look();
	fx_close(&f);
	fx_open_ok(&f);
	look();
}

static struct nfs4r_oid made[8];

/* @n creates of server @log, each in a directory of its own, so that any of them may be missing. */
static void creates(nfs4r_server_id log, int n)
{
	char name[16];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "d%u.%lx", log, (unsigned long)f.next[log]);
		struct nfs4r_oid dir = mk(&f, &f.root, name, NFS4R_TYPE_DIR);

		commit(&f, e_create(&f, log, &dir, "x", NFS4R_TYPE_FILE, &made[i]));
	}
}

static void seal(nfs4r_server_id log, nfs4r_lsn lsn)
{
	assert_int_equal(nfs4r_store_seal(f.s, log, lsn), NFS4R_OK);
	f.next[log] = NFS4R_AFTER_SEAL(lsn) + 1;
}

/* ---- SEAL ------------------------------------------------------------------------ */

static void look_sealed(void)
{
	nfs4r_lsn first, last;

	assert_readable(2, 1, 4);
	nfs4r_store_log_range(f.s, 2, &first, &last);
	assert_int_equal(first, 1);
	assert_int_equal(last, 4);
	assert_int_equal(nfs4r_store_log_next(f.s, 2, 0), 1);
	assert_int_equal(nfs4r_store_log_next(f.s, 2, 4), 0);
}

static void look_next_generation(void)
{
	nfs4r_lsn first, last;

	assert_readable(2, 1, 4);
	assert_readable(2, GEN1 + 1, GEN1 + 3);
	nfs4r_store_log_range(f.s, 2, &first, &last);
	assert_int_equal(first, 1);
	assert_int_equal(last, GEN1 + 3);
	assert_int_equal(nfs4r_store_log_next(f.s, 2, 4), GEN1 + 1);
	assert_int_equal(nfs4r_store_log_next(f.s, 2, GEN1 + 3), 0);
}

static void look_truncated(void)
{
	assert_readable(2, 3, 4);
	assert_readable(2, GEN1 + 1, GEN1 + 3);
}

static void look_only_new(void)
{
	for (nfs4r_lsn n = 0; n < 8; n++)
		assert_false(readable(2, n));
	assert_readable(2, GEN1 + 2, GEN1 + 3);
	assert_int_equal(nfs4r_store_log_next(f.s, 2, 0), GEN1 + 2);
}

static void look_sealed_again(void)
{
	assert_false(readable(2, 4));
	assert_false(readable(2, GEN1 + 3));
	assert_readable(2, GEN1 + 2, GEN1 + 2);
}

static void test_a_seal_ends_a_generation(void **state)
{
	nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1];

	creates(2, 6);
	seal(2, 4);
	always(look_sealed);
	assert_int_equal(f.info.logs[2].applied, GEN1);
	assert_int_equal(f.info.logs[2].base, 1);
	creates(2, 3);
	always(look_next_generation);
	assert_int_equal(f.info.logs[2].applied, GEN1 + 3);
	nfs4r_store_truncate(f.s, 2, 2);
	look_truncated();
	fx_checkpoint(&f); /* before it the store may forget that something is gone, not after */
	always(look_truncated);
	nfs4r_store_truncate(f.s, 2, GEN1 + 1);
	look_only_new();
	fx_checkpoint(&f);
	always(look_only_new);
	assert_int_equal(f.info.logs[2].base, GEN1 + 2);
	seal(2, GEN1 + 2);
	always(look_sealed_again);
	assert_int_equal(f.info.logs[2].applied, 2 * GEN1);
	assert_int_equal(nfs4r_store_checkpoint(f.s, NULL, NULL, stable), NFS4R_OK);
	assert_int_equal(stable[2], 2 * GEN1);
}

/* "Stable" is what a checkpoint covers, sealed or not. */
static void test_a_seal_is_not_stable_by_itself(void **state)
{
	nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1];

	creates(2, 3);
	seal(2, 3);
	fx_crash(&f);
	fx_open_ok(&f);
	assert_int_equal(f.info.logs[2].applied, GEN1);
	assert_int_equal(f.info.logs[2].stable, 0);
	assert_int_equal(nfs4r_store_checkpoint(f.s, NULL, NULL, stable), NFS4R_OK);
	assert_int_equal(stable[2], GEN1);
}

static void test_what_seals_are_refused(void **state)
{
	creates(2, 3);
	assert_int_equal(nfs4r_store_seal(f.s, 0, 1), NFS4R_INVAL);
	assert_int_equal(nfs4r_store_seal(f.s, 2, 4), NFS4R_INVAL); /* not here yet */
	assert_int_equal(nfs4r_store_seal(f.s, 2, GEN1), NFS4R_INVAL);
	assert_readable(2, 1, 3);
	seal(2, 3);
	assert_int_equal(nfs4r_store_seal(f.s, 2, 3), NFS4R_OK); /* again, as after a crash */
	assert_readable(2, 1, 3);
	fx_crash(&f);
	fx_open_ok(&f);
	assert_int_equal(f.info.logs[2].applied, GEN1);
}

static void look_empty(void)
{
	for (nfs4r_lsn n = 0; n < 5; n++)
		assert_false(readable(2, n));
	assert_int_equal(nfs4r_store_log_next(f.s, 2, 0), 0);
}

static void test_a_log_can_end_before_it_began(void **state)
{
	creates(2, 2);
	seal(2, 0);
	always(look_empty);
	assert_int_equal(f.info.logs[2].applied, GEN1);
	assert_int_equal(f.info.logs[2].base, GEN1 + 1); /* not 1: nobody may ask for what is gone */
}

/* The oldest segments go although the seal lies behind what is kept. */
static void test_sealed_entries_leave_the_disk(void **state)
{
	struct nfs4r_store_stats before, after;

	for (int i = 0; i < 30; i++)
		creates(2, 4);
	seal(2, 120);
	nfs4r_store_get_stats(f.s, &before);
	nfs4r_store_truncate(f.s, 1, 120);
	nfs4r_store_truncate(f.s, 2, GEN1);
	fx_checkpoint(&f);
	nfs4r_store_get_stats(f.s, &after);
	assert_true(before.segments > 8);
	assert_true(after.segments < 4);
}

/* ---- what was created --------------------------------------------------------------- */

static struct nfs4r_oid never, later;

static void look_dead(void)
{
	assert_int_equal(nfs4r_store_row(f.s, &never, NULL), NFS4R_DEAD);
	assert_int_equal(nfs4r_store_row(f.s, &later, NULL), NFS4R_NOT_YET);
	assert_int_equal(nfs4r_store_row(f.s, &made[0], NULL), NFS4R_KNOWN);
}

/* Created by entries beyond the seal, in a run of which this server may have heard nothing. */
static void test_what_was_created_beyond_a_seal_is_dead(void **state)
{
	creates(2, 2);
	nfs4r_oid_make(&never, 2, 7, 99);
	nfs4r_oid_make(&later, 2, (uint64_t)1 << 32 | 7, 1);
	assert_int_equal(nfs4r_store_row(f.s, &never, NULL), NFS4R_NOT_YET);
	seal(2, 2);
	always(look_dead);
}

static void test_own_objects_of_a_new_generation(void **state)
{
	struct nfs4r_oid before, after;

	mk(&f, &f.root, "a", NFS4R_TYPE_FILE);
	nfs4r_store_oid_watermark(f.s, &before);
	seal(1, 1);
	assert_int_equal(nfs4r_store_row(f.s, &before, NULL), NFS4R_DEAD);
	nfs4r_store_oid_watermark(f.s, &after);
	assert_int_equal(nfs4r_store_row(f.s, &after, NULL), NFS4R_NOT_YET);
	mk(&f, &f.root, "b", NFS4R_TYPE_FILE);
	fx_crash(&f);
	fx_open_ok(&f);
	nfs4r_store_oid_watermark(f.s, &after);
	assert_int_equal(nfs4r_store_row(f.s, &after, NULL), NFS4R_NOT_YET);
}

static void test_intents_of_an_ended_generation_are_forgotten(void **state)
{
	struct nfs4r_entry *e;
	nfs4r_journal_pos sync_first;
	struct nfs4r_oid oid;

	mk(&f, &f.root, "a", NFS4R_TYPE_FILE);
	e = e_create(&f, 1, &f.root, "b", NFS4R_TYPE_FILE, &oid);
	assert_int_equal(nfs4r_store_intent(f.s, e, &sync_first), NFS4R_OK);
	nfs4r_entry_put(e);
	seal(1, 1);
	fx_crash(&f);
	fx_open_ok(&f);
	assert_int_equal(f.info.nintents, 0);
	fx_checkpoint(&f);
	fx_crash(&f);
	fx_open_ok(&f);
	assert_int_equal(f.info.nintents, 0);
	assert_int_equal(f.info.logs[1].applied, GEN1);
}

/* ---- a copy of another copy ---------------------------------------------------------- */

#define OIDS_MAX 512

static uint32_t all_oids(struct fx *g, struct nfs4r_oid out[OIDS_MAX])
{
	struct nfs4r_oid after = { { 0 } };
	uint32_t n = 0, got;

	while ((got = nfs4r_store_each_oid(g->s, &after, out + n, 7))) {
		for (uint32_t i = n; i < n + got; i++) {
			assert_true(nfs4r_oid_cmp(&after, &out[i]) < 0);
			after = out[i];
		}
		n += got;
		assert_true(n + 7 < OIDS_MAX);
	}
	return n;
}

static uint64_t mix(uint64_t h, const void *p, size_t n)
{
	const uint8_t *b = p;

	while (n--)
		h = (h ^ *b++) * 0x100000001b3;
	return h;
}

/* All that is stored about all objects but their handles, names in any state included. */
static uint64_t print_of(struct fx *g)
{
	static struct nfs4r_oid oids[OIDS_MAX];
	uint32_t n = all_oids(g, oids);
	uint64_t h = 1;

	for (uint32_t i = 0; i < n; i++) {
		struct nfs4r_copy_row row;
		struct nfs4r_row r;
		struct nfs4r_dirent d[5];
		uint64_t after = 0;

		assert_int_equal(nfs4r_store_copy_row(g->s, &oids[i], &row), NFS4R_KNOWN);
		assert_int_equal(nfs4r_store_row(g->s, &oids[i], &r), NFS4R_KNOWN);
		h = mix(h, oids[i].b, 16);
		h = mix(h, &row.version, sizeof(row.version));
		h = mix(h, &row.nlink, sizeof(row.nlink));
		h = mix(h, &row.ctime, sizeof(row.ctime));
		h = mix(h, &row.last_lsn, sizeof(row.last_lsn));
		h = mix(h, &r.nentries, sizeof(r.nentries));
		for (uint32_t k = 0; k < row.nparents; k++) {
			h += mix(row.parent_names[k], row.parents[k].b, 16); /* in any order */
			assert_true(row.parent_names[k] > 0);
		}
		for (uint32_t got; (got = nfs4r_store_readdir(g->s, &oids[i], after, d, 5)); after = d[got - 1].cookie) {
			for (uint32_t k = 0; k < got; k++) {
				h = mix(h, d[k].name.s, d[k].name.len);
				h = mix(h, d[k].oid.b, 16);
				h = mix(h, &d[k].cookie, 8);
			}
		}
	}
	return h;
}

static void install(struct fx *from, struct fx *to, const struct nfs4r_oid *oid)
{
	static struct nfs4r_dirent names[OIDS_MAX];
	struct nfs4r_install in = { .oid = *oid };

	assert_int_equal(nfs4r_store_copy_row(from->s, oid, &in.row), NFS4R_KNOWN);
	in.handle_len = (uint8_t)nfs4r_store_handle(from->s, oid, in.handle);
	in.names = names;
	in.nnames = nfs4r_store_readdir(from->s, oid, 0, names, OIDS_MAX);
	assert_int_equal(nfs4r_store_install(to->s, &in), NFS4R_OK);
}

static void random_changes(struct fx *g, uint64_t *rng, int n)
{
	while (n > 0) {
		struct nfs4r_entry *e = random_entry(g, rng);

		if (!e)
			continue;
		commit(g, e);
		n--;
	}
}

struct step {
	nfs4r_journal_pos pos;
	uint64_t print;
};

static struct step steps[2 * OIDS_MAX];
static uint32_t nsteps;

static void note(void)
{
	assert_true(nsteps < 2 * OIDS_MAX);
	steps[nsteps].pos = nfs4r_store_position(f.s);
	steps[nsteps++].print = print_of(&f);
}

/* f becomes what @g is; what f was at each step is noted. */
static void become(struct fx *g, int checkpoint_at)
{
	static struct nfs4r_oid there[OIDS_MAX], here[OIDS_MAX];
	struct nfs4r_store_positions p;
	uint32_t n = all_oids(g, there), m = all_oids(&f, here);

	note();
	for (uint32_t i = 0; i < n; i++) {
		install(g, &f, &there[i]);
		note();
		if ((int)i == checkpoint_at)
			fx_checkpoint(&f);
	}
	for (uint32_t i = 0; i < m; i++) {
		if (nfs4r_store_row(g->s, &here[i], NULL) == NFS4R_KNOWN)
			continue;
		assert_int_equal(nfs4r_store_forget(f.s, &here[i]), NFS4R_OK);
		assert_int_equal(nfs4r_store_row(f.s, &here[i], NULL), NFS4R_DEAD);
		note();
	}
	nfs4r_store_get_positions(g->s, &p);
	assert_int_equal(nfs4r_store_set_positions(f.s, &p), NFS4R_OK);
	note();
}

/* @g: a copy of f that went another way; both went on. */
static void part_ways(struct fx *g, uint64_t seed)
{
	uint64_t rng = seed * 2654435761u + 1;

	random_changes(&f, &rng, 80);
	*g = f;
	temp_dir(g->dir);
	copy_dir(f.dir, g->dir);
	g->s = NULL;
	fx_open_ok(g);
	random_changes(&f, &rng, 60);
	random_changes(g, &rng, 60);
}

static void assert_equal(struct fx *g)
{
	char *a = dump_store(g), *b = dump_store(&f);
	struct nfs4r_store_positions p, q;

	assert_string_equal(a, b);
	assert_int_equal(print_of(g), print_of(&f));
	nfs4r_store_get_positions(g->s, &p);
	nfs4r_store_get_positions(f.s, &q);
	assert_memory_equal(&p, &q, sizeof(p));
	free(a);
	free(b);
}

static void test_a_copy_becomes_another_one(void **state)
{
	for (int round = 0; round < 6; round++) {
		struct fx g;

		part_ways(&g, round + 5);
		nsteps = 0;
		become(&g, round % 3 ? 10 * round : -1);
		assert_equal(&g);
		fx_crash(&f);
		fx_open_ok(&f);
		assert_equal(&g);
		fx_checkpoint(&f);
		assert_equal(&g);
		fx_close(&f);
		fx_open_ok(&f);
		assert_equal(&g);
		/* Both can go on from there, and in the same way. */
		memcpy(f.next, g.next, sizeof(f.next));
		memcpy(f.seq, g.seq, sizeof(f.seq));
		for (int i = 1; i <= 2; i++)
			assert_int_equal(f.info.logs[i].applied + 1, f.next[i]);
		uint64_t rng = 77;
		random_changes(&f, &rng, 20);
		fx_crash(&f);
		fx_open_ok(&f);
		fx_fini(&g);
		fx_fini(&f);
		setup(NULL);
	}
}

static int become_meanwhile(void *arg)
{
	become(arg, -1);
	return 0;
}

static nfs4r_lsn told[NFS4R_SERVERS_MAX + 1];

static void tell(void *arg, const nfs4r_lsn *stable)
{
	memcpy(told, stable, sizeof(told));
}

/* Log 2 ends at 1 again, as if 2 and 3 had never been. */
static void look_gone_back(void)
{
	struct nfs4r_store_positions p;
	nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1], first, last;

	nfs4r_store_get_positions(f.s, &p);
	assert_int_equal(p.applied[2], 1);
	nfs4r_store_log_range(f.s, 2, &first, &last);
	assert_int_equal(last, 0);
	assert_false(readable(2, 2) || readable(2, 3));
	assert_int_equal(nfs4r_store_row(f.s, &made[0], NULL), NFS4R_KNOWN);
	assert_int_equal(nfs4r_store_row(f.s, &made[1], NULL), NFS4R_NOT_YET);
	assert_int_equal(nfs4r_store_row(f.s, &made[2], NULL), NFS4R_NOT_YET);
	assert_int_equal(nfs4r_store_checkpoint_telling(f.s, NULL, tell, NULL, stable), NFS4R_OK);
	assert_int_equal(told[2], 1);
	assert_int_equal(stable[2], 1);
}

static void look_where_it_begins(void)
{
	fx_open_ok(&f);
	assert_int_equal(f.info.logs[2].applied, 1);
	assert_true(f.info.logs[2].stable <= 1);
	look_gone_back();
}

/* The copy is made equal to one that has less of a log (log 8.5), when entries 2 and 3 are on the disk, or are just coming to it. Other entries get their numbers. */
static void goes_back(bool stable, bool meanwhile, bool machine)
{
	struct fx g;

	creates(2, 1);
	g = f;
	temp_dir(g.dir);
	copy_dir(f.dir, g.dir);
	g.s = NULL;
	fx_open_ok(&g);
	for (int i = 1; i < 3; i++)
		commit(&f, e_create(&f, 2, &f.root, i == 1 ? "b" : "c", NFS4R_TYPE_FILE, &made[i]));
	nsteps = 0;
	if (stable)
		fx_checkpoint(&f);
	if (meanwhile)
		assert_int_equal(nfs4r_store_checkpoint_telling(f.s, become_meanwhile, tell, &g, NULL), NFS4R_OK);
	else
		become(&g, -1);
	assert_int_equal(nfs4r_store_sync(f.s, nfs4r_store_position(f.s)), NFS4R_OK);
	fx_crash(&f);
	f.cfg.boot_id = machine ? "boot-2" : f.cfg.boot_id;
	look_where_it_begins();
	assert_equal(&g);
	fx_close(&f);
	look_where_it_begins();
	memcpy(f.next, g.next, sizeof(f.next));
	f.seq[2] += 10; /* of a later start of server 2 */
	commit(&f, e_create(&f, 2, &f.root, "again", NFS4R_TYPE_FILE, &made[3]));
	fx_crash(&f);
	fx_open_ok(&f);
	assert_int_equal(f.info.logs[2].applied, 2);
	assert_int_equal(f.info.logs[2].stable, 1);
	assert_readable(2, 2, 2);
	assert_int_equal(nfs4r_store_row(f.s, &made[3], NULL), NFS4R_KNOWN);
	fx_fini(&g);
}

static void test_positions_go_back(void **state)
{
	for (int round = 0; round < 8; round++) {
		goes_back(round & 1, round & 2, round & 4);
		fx_fini(&f);
		setup(NULL);
	}
}

static uint64_t print_at(nfs4r_journal_pos pos)
{
	uint64_t print = steps[0].print;

	for (uint32_t i = 0; i < nsteps && steps[i].pos <= pos; i++)
		print = steps[i].print;
	return print;
}

/* The journal of the directory ends at @pos. */
static void cut_journal(const char *dir, nfs4r_journal_pos pos)
{
	char cmd[900];

	snprintf(cmd, sizeof(cmd),
		 "cd %s && for j in journal-*; do s=$((0x${j#journal-})); if [ $s -gt %lu ]; then rm $j; "
		 "elif [ $((s + $(stat -c %%s $j))) -gt %lu ]; then truncate -s $((%lu - s)) $j; fi; done",
		 dir, (unsigned long)pos, (unsigned long)pos, (unsigned long)pos);
	assert_int_equal(system(cmd), 0);
}

static void test_power_lost_anywhere_in_a_repair(void **state)
{
	struct fx g;
	nfs4r_journal_pos end;
	uint64_t rng = 4711;

	part_ways(&g, 3);
	assert_int_equal(nfs4r_store_sync(f.s, nfs4r_store_position(f.s)), NFS4R_OK);
	nsteps = 0;
	become(&g, -1);
	end = nfs4r_store_position(f.s);
	for (nfs4r_journal_pos pos = steps[0].pos; pos <= end; pos += 8 * (1 + rnd(&rng) % 40)) {
		struct fx h = f;

		temp_dir(h.dir);
		copy_dir(f.dir, h.dir);
		cut_journal(h.dir, pos);
		h.s = NULL;
		h.cfg.boot_id = "boot-2";
		fx_open_ok(&h);
		assert_true(print_of(&h) == print_at(pos));
		fx_fini(&h);
	}
	fx_fini(&g);
}

/* A name that the other copy has under another cookie, and one that takes the cookie that became free. */
static void test_names_change_places(void **state)
{
	struct nfs4r_oid dir = mk(&f, &f.root, "dir", NFS4R_TYPE_DIR), a = mk(&f, &dir, "a", NFS4R_TYPE_FILE), b = mk(&f, &dir, "b", NFS4R_TYPE_FILE);
	struct nfs4r_dirent d[3], now[3];
	struct nfs4r_install in = { .oid = dir, .nnames = 2, .names = d };

	fx_checkpoint(&f);
	assert_int_equal(nfs4r_store_readdir(f.s, &dir, 0, d, 3), 2);
	uint64_t cookie = d[0].cookie;
	d[0].cookie = d[1].cookie;
	d[1].cookie = cookie;
	assert_int_equal(nfs4r_store_copy_row(f.s, &dir, &in.row), NFS4R_KNOWN);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(nfs4r_store_install(f.s, &in), NFS4R_OK);
		assert_int_equal(nfs4r_store_readdir(f.s, &dir, 0, now, 3), 2);
		assert_memory_equal(now[0].name.s, d[1].name.s, 2);
		assert_memory_equal(now[1].name.s, d[0].name.s, 2);
		assert_true(nfs4r_oid_eq(&now[0].oid, &a) != nfs4r_oid_eq(&now[1].oid, &a));
		assert_true(nfs4r_oid_eq(&now[0].oid, &b) != nfs4r_oid_eq(&now[1].oid, &b));
		if (i == 1)
			fx_checkpoint(&f);
		fx_crash(&f);
		fx_open_ok(&f);
	}
	/* only one is left, at the place of the other */
	in.nnames = 1;
	assert_int_equal(nfs4r_store_install(f.s, &in), NFS4R_OK);
	assert_int_equal(nfs4r_store_readdir(f.s, &dir, 0, now, 3), 1);
	assert_int_equal(now[0].cookie, d[0].cookie);
}

/* More names than one record of the journal can hold. */
static void test_a_very_large_directory(void **state)
{
	enum {
		MANY = 90000
	};
	struct nfs4r_dirent *d = calloc(MANY, sizeof(*d)), got[2];
	struct nfs4r_install in = { .oid = f.root, .nnames = MANY, .names = d };
	struct nfs4r_row row;

	for (uint32_t i = 0; i < MANY; i++) {
		d[i].name.len = (uint16_t)snprintf(d[i].name.s, sizeof(d[i].name.s), "%0200u", i);
		nfs4r_oid_make(&d[i].oid, 2, 1, i + 1);
		d[i].type = NFS4R_TYPE_FILE;
		d[i].cookie = 10 + i;
	}
	assert_int_equal(nfs4r_store_copy_row(f.s, &f.root, &in.row), NFS4R_KNOWN);
	in.row.version = 17;
	assert_int_equal(nfs4r_store_install(f.s, &in), NFS4R_OK);
	fx_crash(&f);
	fx_open_ok(&f);
	assert_int_equal(nfs4r_store_row(f.s, &f.root, &row), NFS4R_KNOWN);
	assert_int_equal(row.nentries, MANY);
	assert_int_equal(row.version, 17);
	assert_int_equal(nfs4r_store_readdir(f.s, &f.root, 9 + MANY - 1, got, 2), 1);
	in.nnames = 0;
	assert_int_equal(nfs4r_store_install(f.s, &in), NFS4R_OK);
	assert_int_equal(nfs4r_store_readdir(f.s, &f.root, 0, got, 2), 0);
	free(d);
}

static void test_what_installs_are_refused(void **state)
{
	struct nfs4r_install in = { .oid = f.root };

	assert_int_equal(nfs4r_store_install(f.s, &in), NFS4R_INVAL); /* no version */
	in.row.version = 3;
	in.row.nparents = NFS4R_PARENTS_MAX + 1;
	assert_int_equal(nfs4r_store_install(f.s, &in), NFS4R_INVAL);
	in.row.nparents = 0;
	in.handle_len = NFS4R_LOCAL_HANDLE_MAX + 1;
	assert_int_equal(nfs4r_store_install(f.s, &in), NFS4R_INVAL);
	assert_int_equal(nfs4r_store_forget(f.s, &f.root), NFS4R_INVAL);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_a_seal_ends_a_generation),
		T(test_a_seal_is_not_stable_by_itself),
		T(test_what_seals_are_refused),
		T(test_a_log_can_end_before_it_began),
		T(test_sealed_entries_leave_the_disk),
		T(test_what_was_created_beyond_a_seal_is_dead),
		T(test_own_objects_of_a_new_generation),
		T(test_intents_of_an_ended_generation_are_forgotten),
		T(test_a_copy_becomes_another_one),
		T(test_positions_go_back),
		T(test_power_lost_anywhere_in_a_repair),
		T(test_names_change_places),
		T(test_a_very_large_directory),
		T(test_what_installs_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
