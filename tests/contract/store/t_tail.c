/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The tail of the own log that a crash of the machine took: it stays lost until the store is told that it is
 * back, whatever happens in between; and entries behind a hole in it, or in another server's log, count as never
 * written, at the open that finds the hole and at every later one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "store/internal.h"

static struct fx f;
static struct nfs4r_oid dirs[4], made[4];
static struct nfs4r_entry *held[4];
static char *before; /* all that there was before the entries that are held */

static int setup(void **state)
{
	fx_begin(&f, 4096);
	return 0;
}

static int teardown(void **state)
{
	for (int i = 0; i < 4; i++) {
		nfs4r_entry_put(held[i]);
		held[i] = NULL;
	}
	free(before);
	before = NULL;
	fx_fini(&f);
	return 0;
}

/* So much that the segments before a checkpoint go. */
static void fill(void)
{
	for (int i = 0; i < 200; i++) {
		struct nfs4r_put put = put_row("filler", "fills segments");

		assert_int_equal(nfs4r_store_put(f.s, &put, 1), NFS4R_OK);
	}
}

static void put_commit(struct nfs4r_entry *e, const char *key)
{
	struct nfs4r_put put = put_row(key, "value");

	assert_int_equal(nfs4r_store_commit(f.s, e, true, &put, 1), NFS4R_OK);
}

static void assert_dump(const char *should)
{
	char *is = dump_store(&f);

	assert_string_equal(is, should);
	free(is);
}

/* LSNs 5 to 8 begun, 6 and 8 decided. */
static void make_holes(void)
{
	nfs4r_journal_pos sync_first;

	for (int i = 0; i < 4; i++)
		dirs[i] = mk(&f, &f.root, (char[]){ 'd', '0' + i, 0 }, NFS4R_TYPE_DIR);
	before = dump_store(&f);
	for (int i = 0; i < 4; i++) {
		held[i] = e_create(&f, 1, &dirs[i], "x", NFS4R_TYPE_FILE, &made[i]);
		assert_int_equal(held[i]->lsn, 5 + i);
		assert_int_equal(nfs4r_store_intent(f.s, held[i], &sync_first), NFS4R_OK);
	}
	put_commit(held[3], "of 8");
	put_commit(held[1], "of 6");
}

/* ---- lost until it is back --------------------------------------------------------- */

static void test_lost_until_recovered(void **state)
{
	mk(&f, &f.root, "a", NFS4R_TYPE_FILE);
	fx_reopen_after_crash(&f, "boot-2");
	assert_false(f.info.tail_intact);
	fx_reopen_after_crash(&f, "boot-2"); /* only the process */
	assert_false(f.info.tail_intact);
	fx_close(&f); /* in order */
	fx_open_ok(&f);
	assert_false(f.info.tail_intact);
	fx_reopen_after_crash(&f, "boot-3");
	assert_false(f.info.tail_intact);
	fx_close(&f);
	f.cfg.boot_id = "boot-4";
	fx_open_ok(&f);
	assert_false(f.info.tail_intact);
	assert_int_equal(nfs4r_store_recovered(f.s), NFS4R_OK);
	fx_reopen_after_crash(&f, "boot-4");
	assert_true(f.info.tail_intact);
	fx_close(&f);
	f.cfg.boot_id = "boot-5";
	fx_open_ok(&f);
	assert_true(f.info.tail_intact);
	fx_reopen_after_crash(&f, "boot-6");
	assert_false(f.info.tail_intact);
}

/* The records that say so go with their segments: LMDB knows. */
static void test_lost_over_checkpoints(void **state)
{
	mk(&f, &f.root, "a", NFS4R_TYPE_FILE);
	fx_reopen_after_crash(&f, "boot-2");
	nfs4r_store_truncate(f.s, 1, 1);
	for (int i = 0; i < 2; i++) {
		fill();
		fx_checkpoint(&f);
		fx_reopen_after_crash(&f, "boot-2");
		assert_false(f.info.tail_intact);
	}
	assert_int_equal(nfs4r_store_recovered(f.s), NFS4R_OK);
	for (int i = 0; i < 2; i++) {
		fill();
		fx_checkpoint(&f);
		fx_reopen_after_crash(&f, "boot-2");
		assert_true(f.info.tail_intact);
	}
}

static void test_recovered_is_on_the_disk(void **state)
{
	struct nfs4r_store_stats was, is;

	mk(&f, &f.root, "a", NFS4R_TYPE_FILE);
	fx_reopen_after_crash(&f, "boot-2");
	assert_int_equal(nfs4r_store_recovered(f.s), NFS4R_OK);
	nfs4r_store_get_stats(f.s, &was);
	assert_int_equal(nfs4r_store_sync(f.s, nfs4r_store_position(f.s)), NFS4R_OK);
	nfs4r_store_get_stats(f.s, &is);
	assert_int_equal(is.syncs, was.syncs); /* nothing was left to sync */
	assert_int_equal(nfs4r_store_recovered(f.s), NFS4R_OK); /* nothing to say */
	nfs4r_store_get_stats(f.s, &is);
	assert_int_equal(is.appends, was.appends);
}

/* ---- behind a hole ------------------------------------------------------------------ */

static void assert_nothing_of_the_four(void)
{
	nfs4r_lsn first, last;

	assert_int_equal(f.info.logs[1].applied, 4);
	nfs4r_store_log_range(f.s, 1, &first, &last);
	assert_int_equal(last, 4);
	for (int i = 0; i < 4; i++) {
		assert_true(nfs4r_store_row(f.s, &made[i], NULL) != NFS4R_KNOWN);
		assert_null(nfs4r_store_log_read(f.s, 1, 5 + i));
	}
	assert_dump(before);
}

static void test_process_crash_keeps_all(void **state)
{
	make_holes();
	fx_reopen_after_crash(&f, "boot-1");
	assert_int_equal(f.info.nintents, 2);
	assert_int_equal(nfs4r_store_row(f.s, &made[1], NULL), NFS4R_KNOWN);
	assert_int_equal(nfs4r_store_row(f.s, &made[3], NULL), NFS4R_KNOWN);
	put_commit(held[0], "of 5");
	put_commit(held[2], "of 7");
	fx_reopen_after_crash(&f, "boot-2");
	assert_int_equal(f.info.logs[1].applied, 8);
	assert_int_equal(nfs4r_store_row(f.s, &made[3], NULL), NFS4R_KNOWN);
}

static void test_behind_a_hole_is_nothing(void **state)
{
	make_holes();
	fx_reopen_after_crash(&f, "boot-2");
	assert_false(f.info.tail_intact);
	assert_nothing_of_the_four();
	assert_int_equal(f.info.nintents, 4); /* for who has no peers to ask */
	fx_reopen_after_crash(&f, "boot-2");
	assert_nothing_of_the_four();
	fx_checkpoint(&f);
	fx_reopen_after_crash(&f, "boot-3");
	assert_nothing_of_the_four();
}

/* The last one at a log's end counts, and so does what was there before the hole. */
static void test_up_to_the_hole_counts(void **state)
{
	make_holes();
	put_commit(held[0], "of 5");
	fx_reopen_after_crash(&f, "boot-2");
	assert_int_equal(f.info.logs[1].applied, 6);
	assert_int_equal(nfs4r_store_row(f.s, &made[1], NULL), NFS4R_KNOWN);
	assert_true(nfs4r_store_row(f.s, &made[3], NULL) != NFS4R_KNOWN);
}

/* The numbers are given out again; the old records must not come back, with or without checkpoints. */
static void numbers_again(bool first, bool second)
{
	struct nfs4r_entry *e;
	struct nfs4r_oid oid;

	make_holes();
	fx_reopen_after_crash(&f, "boot-2");
	assert_int_equal(nfs4r_store_recovered(f.s), NFS4R_OK);
	if (first)
		fx_checkpoint(&f);
	fx_reopen_after_crash(&f, "boot-2");
	assert_true(f.info.tail_intact);
	assert_int_equal(f.info.nintents, 0);
	assert_nothing_of_the_four();
	commit(&f, e_create(&f, 1, &dirs[1], "new 5", NFS4R_TYPE_FILE, &oid));
	if (second)
		fx_checkpoint(&f);
	free(before);
	before = dump_store(&f);
	for (int i = 0; i < 3; i++) { /* also after one more crash of the machine */
		fx_reopen_after_crash(&f, i < 2 ? "boot-2" : "boot-3");
		assert_int_equal(f.info.logs[1].applied, 5);
		assert_null(nfs4r_store_log_read(f.s, 1, 6));
		assert_dump(before);
	}
	commit(&f, e_create(&f, 1, &dirs[1], "new 6", NFS4R_TYPE_FILE, &oid));
	fx_reopen_after_crash(&f, "boot-3");
	assert_int_equal(f.info.logs[1].applied, 6);
	e = nfs4r_store_log_read(f.s, 1, 6);
	assert_non_null(e);
	assert_string_equal(e->parts[1].names[0].name.s, "new 6");
	nfs4r_entry_put(e);
}

static void test_numbers_again(void **state)
{
	numbers_again(false, false);
}

static void test_numbers_again_checkpoint_before(void **state)
{
	numbers_again(true, false);
}

static void test_numbers_again_checkpoint_after(void **state)
{
	numbers_again(false, true);
}

/* ---- holes and checkpoints ------------------------------------------------------------- */

static void test_no_checkpoint_behind_a_hole(void **state)
{
	make_holes();
	assert_int_equal(nfs4r_store_checkpoint(f.s, NULL, NULL, NULL), NFS4R_DELAY);
	assert_int_equal(nfs4r_store_row(f.s, &made[3], NULL), NFS4R_KNOWN);
	fx_reopen_after_crash(&f, "boot-2");
	assert_nothing_of_the_four();
}

static int end_both(void *arg)
{
	assert_int_equal(nfs4r_store_sync(f.s, nfs4r_store_position(f.s)), NFS4R_OK);
	put_commit(held[2], "of 7");
	put_commit(held[0], "of 5");
	return 0;
}

/* They end while the files are synced: then their records are on the disk before LMDB is written. */
static void test_checkpoint_takes_the_hole_along(void **state)
{
	struct nfs4r_store_stats was, is;
	nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1];

	make_holes();
	assert_int_equal(nfs4r_store_checkpoint(f.s, end_both, NULL, stable), NFS4R_OK);
	assert_int_equal(stable[1], 4);
	nfs4r_store_get_stats(f.s, &was);
	assert_int_equal(nfs4r_store_sync(f.s, nfs4r_store_position(f.s)), NFS4R_OK);
	nfs4r_store_get_stats(f.s, &is);
	assert_int_equal(is.syncs, was.syncs);
	fx_reopen_after_crash(&f, "boot-2");
	assert_int_equal(f.info.logs[1].applied, 8);
}

/* ---- holes in the log of another server ----------------------------------------------- */

/* Entries 1 to 3 of server 2, of which 2 is still being applied. */
static void make_foreign_hole(void)
{
	for (int i = 0; i < 3; i++)
		dirs[i] = mk(&f, &f.root, (char[]){ 'd', '0' + i, 0 }, NFS4R_TYPE_DIR);
	for (int i = 0; i < 3; i++) {
		held[i] = e_create(&f, 2, &dirs[i], "x", NFS4R_TYPE_FILE, &made[i]);
		assert_int_equal(held[i]->lsn, 1 + i);
	}
	assert_int_equal(nfs4r_store_commit(f.s, held[0], false, NULL, 0), NFS4R_OK);
	before = dump_store(&f);
	assert_int_equal(nfs4r_store_commit(f.s, held[2], false, NULL, 0), NFS4R_OK);
}

static void assert_first_only(void)
{
	nfs4r_lsn first, last;

	assert_int_equal(f.info.logs[2].applied, 1);
	nfs4r_store_log_range(f.s, 2, &first, &last);
	assert_int_equal(last, 1);
	assert_true(nfs4r_store_row(f.s, &made[2], NULL) != NFS4R_KNOWN);
	assert_dump(before);
}

static void assert_dropped(uint32_t n)
{
	const struct nfs4r_extent *list;
	const struct nfs4r_given_back *back;
	uint32_t nback = nfs4r_store_given_back(f.s, &back);

	assert_int_equal(nfs4r_store_dropped(f.s, &list), n);
	assert_int_equal(nback, n);
	if (!n)
		return;
	assert_true(nfs4r_oid_eq(&list[0].oid, &made[2]) || nfs4r_oid_eq(&list[1].oid, &made[2]));
	while (nback && !nfs4r_oid_eq(&back[nback - 1].oid, &made[2]))
		nback--;
	assert_true(nback && back[nback - 1].log == 2 && back[nback - 1].lsn == 3 && back[nback - 1].version == 1);
}

/* The files have what it did, and the store says which they are, until a checkpoint. */
static void test_behind_a_foreign_hole_after_a_process_crash(void **state)
{
	make_foreign_hole();
	assert_dropped(0);
	for (int i = 0; i < 2; i++) {
		fx_reopen_after_crash(&f, "boot-1");
		assert_true(f.info.tail_intact);
		assert_first_only();
		assert_dropped(2);
	}
	fx_checkpoint(&f);
	fx_reopen_after_crash(&f, "boot-1");
	assert_first_only();
	assert_dropped(0);
	for (int i = 1; i < 3; i++)
		assert_int_equal(nfs4r_store_commit(f.s, held[i], false, NULL, 0), NFS4R_OK);
	for (int i = 0; i < 3; i++) {
		fx_reopen_after_crash(&f, i < 2 ? "boot-1" : "boot-2");
		assert_int_equal(f.info.logs[2].applied, 3);
		assert_int_equal(nfs4r_store_row(f.s, &made[2], NULL), NFS4R_KNOWN);
		assert_dropped(0);
	}
}

/* Its owner may not have them either, and then gives the numbers out again: log 4.7. */
static void test_behind_a_foreign_hole_is_nothing(void **state)
{
	struct nfs4r_oid oid[2];
	struct nfs4r_entry *e;

	make_foreign_hole();
	fx_reopen_after_crash(&f, "boot-2");
	assert_first_only();
	fx_reopen_after_crash(&f, "boot-2");
	assert_first_only();
	fx_checkpoint(&f);
	fx_reopen_after_crash(&f, "boot-2");
	assert_first_only();
	assert_int_equal(nfs4r_store_recovered(f.s), NFS4R_OK);
	for (int i = 0; i < 2; i++) {
		e = e_create(&f, 2, &dirs[0], i ? "new 3" : "new 2", NFS4R_TYPE_FILE, &oid[i]);
		e->lsn = 2 + i;
		commit(&f, e);
	}
	free(before);
	before = dump_store(&f);
	for (int i = 0; i < 3; i++) {
		fx_reopen_after_crash(&f, i < 2 ? "boot-2" : "boot-3");
		assert_int_equal(f.info.logs[2].applied, 3);
		assert_true(nfs4r_store_row(f.s, &made[2], NULL) != NFS4R_KNOWN);
		assert_dump(before);
		fx_checkpoint(&f);
	}
}

static int end_foreign(void *arg)
{
	assert_int_equal(nfs4r_store_sync(f.s, nfs4r_store_position(f.s)), NFS4R_OK);
	assert_int_equal(nfs4r_store_commit(f.s, held[1], false, NULL, 0), NFS4R_OK);
	return 0;
}

static void test_checkpoint_takes_the_foreign_hole_along(void **state)
{
	struct nfs4r_store_stats was, is;

	make_foreign_hole();
	assert_int_equal(nfs4r_store_checkpoint(f.s, end_foreign, NULL, NULL), NFS4R_OK);
	nfs4r_store_get_stats(f.s, &was);
	assert_int_equal(nfs4r_store_sync(f.s, nfs4r_store_position(f.s)), NFS4R_OK);
	nfs4r_store_get_stats(f.s, &is);
	assert_int_equal(is.syncs, was.syncs);
	fx_reopen_after_crash(&f, "boot-2");
	assert_int_equal(f.info.logs[2].applied, 3);
}

static nfs4r_lsn told[NFS4R_SERVERS_MAX + 1];

static void tell(void *arg, const nfs4r_lsn *stable)
{
	memcpy(told, stable, sizeof(told));
}

/* What is told is on the disk. */
static void checkpoint_tells(nfs4r_lsn own, nfs4r_lsn other)
{
	struct nfs4r_store_stats was, is;

	assert_int_equal(nfs4r_store_checkpoint_telling(f.s, NULL, tell, NULL, NULL), NFS4R_OK);
	assert_int_equal(told[1], own);
	assert_int_equal(told[2], other);
	nfs4r_store_get_stats(f.s, &was);
	assert_int_equal(nfs4r_store_sync(f.s, nfs4r_store_position(f.s)), NFS4R_OK);
	nfs4r_store_get_stats(f.s, &is);
	assert_int_equal(is.syncs, was.syncs);
}

/* What is waited for may take long: it comes from elsewhere. Checkpoints go on and tell what is stable; LMDB has nothing that is behind the hole. */
static void foreign_hole_lasts(bool machine)
{
	make_foreign_hole();
	for (int i = 0; i < 3; i++) {
		free(before);
		before = NULL;
		mk(&f, &f.root, (char[]){ 'n', '0' + i, 0 }, NFS4R_TYPE_FILE);
		checkpoint_tells(4 + i, 1);
		assert_int_equal(nfs4r_store_row(f.s, &made[2], NULL), NFS4R_KNOWN);
	}
	fx_reopen_after_crash(&f, machine ? "boot-2" : "boot-1");
	assert_int_equal(f.info.logs[1].applied, 6);
	assert_int_equal(f.info.logs[2].applied, 1);
	assert_true(nfs4r_store_row(f.s, &made[2], NULL) != NFS4R_KNOWN);
	assert_dropped(2);
	fx_checkpoint(&f);
	fx_reopen_after_crash(&f, machine ? "boot-2" : "boot-1");
	assert_int_equal(f.info.logs[2].applied, 1);
	assert_dropped(0);
}

static void test_foreign_hole_lasts_and_the_process_ends(void **state)
{
	foreign_hole_lasts(false);
}

static void test_foreign_hole_lasts_and_the_machine_crashes(void **state)
{
	foreign_hole_lasts(true);
}

/* ---- and others go on -------------------------------------------------------------------- */

#define CHECKPOINTS 60

/* What others do is in LMDB, and the journal lets it go; two in three of them write what the last one wrote. */
static void others_go_on(void)
{
	for (int i = 0; i < CHECKPOINTS; i++) {
		struct nfs4r_store_stats stats;
		nfs4r_lsn first, last;

		for (int k = 0; k < 10; k++) {
			struct nfs4r_put put = put_row("same", (char[]){ 'a' + i % 26, 'a' + k, 0 });
			char name[32];

			snprintf(name, sizeof(name), "n%d.%d", i, k);
			mk(&f, &f.root, name, NFS4R_TYPE_FILE);
			assert_int_equal(nfs4r_store_put(f.s, &put, 1), NFS4R_OK);
		}
		nfs4r_store_log_range(f.s, 1, &first, &last);
		nfs4r_store_truncate(f.s, 1, last);
		nfs4r_store_truncate(f.s, 2, 1);
		checkpoint_tells(last, 1);
		assert_int_equal(nfs4r_store_row(f.s, &made[2], NULL), NFS4R_KNOWN);
		nfs4r_store_get_stats(f.s, &stats);
		assert_true(stats.journal_bytes < 6 * f.cfg.segment_bytes);
		assert_true(stats.rows_dirty + stats.rows_left < 60);
	}
}

static void assert_log_2(nfs4r_lsn lsn, const char *name)
{
	struct nfs4r_entry *e = nfs4r_store_log_read(f.s, 2, lsn);

	assert_non_null(e);
	assert_int_equal(e->lsn, lsn);
	assert_string_equal(e->parts[1].names[0].name.s, name);
	nfs4r_entry_put(e);
}

/* What was there meanwhile, but for what was behind the hole. */
static char *dump_without_third(void)
{
	char *is;

	fx_reopen_after_crash(&f, "boot-1");
	assert_int_equal(f.info.logs[2].applied, 1);
	assert_true(nfs4r_store_row(f.s, &made[2], NULL) != NFS4R_KNOWN);
	is = dump_store(&f);
	assert_non_null(strstr(is, "n59.9"));
	return is;
}

static void test_others_go_on_and_the_process_ends(void **state)
{
	make_foreign_hole();
	others_go_on();
	assert_log_2(3, "x");
	free(before);
	before = dump_without_third();
	assert_dropped(2);
	fx_reopen_after_crash(&f, "boot-1");
	assert_dump(before);
	fx_checkpoint(&f);
	for (int i = 0; i < 2; i++) {
		fx_reopen_after_crash(&f, i ? "boot-2" : "boot-1");
		assert_dump(before);
		assert_dropped(0);
	}
	for (int i = 1; i < 3; i++) /* and now they come again */
		assert_int_equal(nfs4r_store_commit(f.s, held[i], false, NULL, 0), NFS4R_OK);
	fx_reopen_after_crash(&f, "boot-2");
	assert_int_equal(f.info.logs[2].applied, 3);
	assert_log_2(3, "x");
}

/* Between the records that set them aside and the end of that checkpoint. */
static int no_files(void *arg)
{
	return EIO;
}

static void test_others_go_on_and_a_checkpoint_is_cut_short(void **state)
{
	make_foreign_hole();
	others_go_on();
	for (int k = 0; k < 100; k++)
		mk(&f, &f.root, (char[]){ 'z', (char)('0' + k / 10), (char)('0' + k % 10), 0 }, NFS4R_TYPE_FILE);
	checkpoint_tells(3 + 600 + 100, 1); /* finds that it lasts */
	assert_int_equal(nfs4r_store_checkpoint(f.s, no_files, NULL, NULL), NFS4R_IO);
	free(before);
	before = dump_without_third();
	assert_non_null(strstr(before, "z99"));
	assert_dropped(2);
}

static void test_others_go_on_and_the_hole_closes(void **state)
{
	make_foreign_hole();
	others_go_on();
	assert_int_equal(nfs4r_store_commit(f.s, held[1], false, NULL, 0), NFS4R_OK);
	free(before);
	before = dump_store(&f);
	for (int i = 0; i < 6; i++) {
		fx_reopen_after_crash(&f, i % 2 ? "boot-2" : "boot-1");
		assert_int_equal(f.info.logs[2].applied, 3);
		assert_int_equal(nfs4r_store_row(f.s, &made[2], NULL), NFS4R_KNOWN);
		assert_dump(before);
		assert_log_2(3, "x");
		assert_dropped(0);
		if (i > 1)
			fx_checkpoint(&f);
	}
}

/* Rows of the core that came with it: what was written after it stays, what was not is its own; and nothing of it is there when it is given up. */
static void others_write_its_rows(bool closes)
{
	struct nfs4r_put puts[2] = { put_row("same", "of 3"), put_row("mine", "of 3") };
	char *is;

	make_foreign_hole();
	nfs4r_entry_put(held[3]);
	held[3] = e_create(&f, 2, &dirs[2], "y", NFS4R_TYPE_FILE, &made[3]);
	assert_int_equal(held[3]->lsn, 4);
	assert_int_equal(nfs4r_store_commit(f.s, held[3], false, puts, 2), NFS4R_OK);
	others_go_on();
	if (closes)
		assert_int_equal(nfs4r_store_commit(f.s, held[1], false, NULL, 0), NFS4R_OK);
	fx_reopen_after_crash(&f, "boot-1");
	is = dump_store(&f);
	assert_null(strstr(is, "same = of 3"));
	assert_int_equal(!strstr(is, "mine = of 3"), !closes);
	free(is);
}

static void test_others_go_on_and_write_its_rows(void **state)
{
	others_write_its_rows(false);
}

static void test_others_go_on_and_write_its_rows_and_it_closes(void **state)
{
	others_write_its_rows(true);
}

/* Entries 4 and 5 of server 2 do not stand on any of the above. */
static void make_second_hole(void)
{
	nfs4r_entry_put(held[0]);
	nfs4r_entry_put(held[3]);
	held[0] = e_create(&f, 2, &dirs[0], "y", NFS4R_TYPE_FILE, &made[0]);
	held[3] = e_create(&f, 2, &dirs[1], "y", NFS4R_TYPE_FILE, &made[3]);
	assert_int_equal(held[3]->lsn, 5);
	assert_int_equal(nfs4r_store_commit(f.s, held[3], false, NULL, 0), NFS4R_OK);
}

/* What could not be set aside while one hole lasted has no part in what pays while the next one does. */
static void test_a_hole_that_closed_is_forgotten(void **state)
{
	nfs4r_journal_pos lmdb;

	make_foreign_hole();
	assert_int_equal(nfs4r_store_set_handle(f.s, &dirs[0], "elsewhere", 9), NFS4R_OK); /* has no version: nothing before it can be set aside */
	for (int i = 0; i < 10; i++) {
		fill();
		checkpoint_tells(3, 1);
	}
	assert_true(f.s->aside_bytes > 8 * f.cfg.segment_bytes);
	assert_int_equal(nfs4r_store_commit(f.s, held[1], false, NULL, 0), NFS4R_OK);
	for (int i = 0; i < 2; i++) /* the first may only write what was left */
		checkpoint_tells(3, 3);
	make_second_hole();
	checkpoint_tells(3, 3); /* finds that it lasts */
	lmdb = f.s->lmdb.pos;
	for (nfs4r_journal_pos end = nfs4r_store_position(f.s) + f.cfg.segment_bytes; nfs4r_store_position(f.s) < end;) {
		struct nfs4r_put put = put_row("filler", "fills segments");

		assert_int_equal(nfs4r_store_put(f.s, &put, 1), NFS4R_OK);
	}
	checkpoint_tells(3, 3);
	assert_true(f.s->lmdb.pos > lmdb);
}

/* Its owner cannot lose it, and does not give its number out again: LMDB has it, and it is there after any crash. */
static void test_foreign_hole_lasts_and_the_owner_has_it(void **state)
{
	nfs4r_lsn owners[NFS4R_SERVERS_MAX + 1] = { 0, 9, 2 };

	make_foreign_hole();
	nfs4r_store_owners_have(f.s, owners);
	checkpoint_tells(3, 1);
	fx_reopen_after_crash(&f, "boot-1");
	assert_dropped(2);
	assert_int_equal(nfs4r_store_commit(f.s, held[2], false, NULL, 0), NFS4R_OK);
	owners[2] = 3;
	nfs4r_store_owners_have(f.s, owners);
	checkpoint_tells(3, 1);
	for (int i = 0; i < 2; i++) {
		fx_reopen_after_crash(&f, i ? "boot-2" : "boot-1");
		assert_int_equal(f.info.logs[2].applied, 1);
		assert_int_equal(nfs4r_store_row(f.s, &made[2], NULL), NFS4R_KNOWN);
		assert_dropped(0);
	}
	assert_int_equal(nfs4r_store_commit(f.s, held[1], false, NULL, 0), NFS4R_OK);
	fx_reopen_after_crash(&f, "boot-3");
	assert_int_equal(f.info.logs[2].applied, 3);
}

/* Then LMDB is written after all, with what was done meanwhile. */
static void test_foreign_hole_closes_later(void **state)
{
	make_foreign_hole();
	checkpoint_tells(3, 1);
	mk(&f, &f.root, "new", NFS4R_TYPE_FILE);
	assert_int_equal(nfs4r_store_commit(f.s, held[1], false, NULL, 0), NFS4R_OK);
	checkpoint_tells(4, 3);
	fx_reopen_after_crash(&f, "boot-2");
	assert_int_equal(f.info.logs[1].stable, 4);
	assert_int_equal(f.info.logs[2].stable, 3);
	assert_int_equal(nfs4r_store_row(f.s, &made[2], NULL), NFS4R_KNOWN);
	assert_dropped(0);
}

/* The copy is made equal to another one: what was missing does not come, and nothing waits for it. */
static void test_foreign_hole_ends_with_other_positions(void **state)
{
	struct nfs4r_store_positions p;

	make_foreign_hole();
	checkpoint_tells(3, 1);
	nfs4r_store_get_positions(f.s, &p);
	p.applied[2] = 2;
	assert_int_equal(nfs4r_store_set_positions(f.s, &p), NFS4R_OK);
	checkpoint_tells(3, 2);
	fx_reopen_after_crash(&f, "boot-2");
	assert_int_equal(f.info.logs[2].stable, 2);
	assert_dropped(0);
}

/* Own entries that come back from others (log 4.7) are not different. */
static void test_hole_in_the_own_log_that_comes_back(void **state)
{
	make_holes();
	fx_reopen_after_crash(&f, "boot-2");
	assert_int_equal(f.info.logs[1].applied, 4);
	assert_int_equal(nfs4r_store_commit(f.s, held[1], false, NULL, 0), NFS4R_OK);
	checkpoint_tells(4, 0);
	fx_reopen_after_crash(&f, "boot-2");
	assert_nothing_of_the_four();
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_lost_until_recovered),
		T(test_lost_over_checkpoints),
		T(test_recovered_is_on_the_disk),
		T(test_process_crash_keeps_all),
		T(test_behind_a_hole_is_nothing),
		T(test_up_to_the_hole_counts),
		T(test_numbers_again),
		T(test_numbers_again_checkpoint_before),
		T(test_numbers_again_checkpoint_after),
		T(test_no_checkpoint_behind_a_hole),
		T(test_checkpoint_takes_the_hole_along),
		T(test_behind_a_foreign_hole_after_a_process_crash),
		T(test_behind_a_foreign_hole_is_nothing),
		T(test_checkpoint_takes_the_foreign_hole_along),
		T(test_foreign_hole_lasts_and_the_process_ends),
		T(test_foreign_hole_lasts_and_the_machine_crashes),
		T(test_others_go_on_and_the_process_ends),
		T(test_others_go_on_and_a_checkpoint_is_cut_short),
		T(test_others_go_on_and_the_hole_closes),
		T(test_others_go_on_and_write_its_rows),
		T(test_others_go_on_and_write_its_rows_and_it_closes),
		T(test_a_hole_that_closed_is_forgotten),
		T(test_foreign_hole_lasts_and_the_owner_has_it),
		T(test_foreign_hole_closes_later),
		T(test_foreign_hole_ends_with_other_positions),
		T(test_hole_in_the_own_log_that_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
