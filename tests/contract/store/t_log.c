/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Logs and positions, MINT, intents, marks, truncation, sync. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fixture.h"

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

static void assert_log(nfs4r_server_id log, nfs4r_lsn lsn)
{
	struct nfs4r_entry *e = nfs4r_store_log_read(f.s, log, lsn);

	assert_non_null(e);
	assert_int_equal(e->log, log);
	assert_int_equal(e->lsn, lsn);
	nfs4r_entry_put(e);
}

static void test_log_read_gives_the_entry_back(void **state)
{
	struct nfs4r_oid oid;
	struct nfs4r_entry *e = e_create(&f, 1, &f.root, "name", NFS4R_TYPE_SYMLINK, &oid), *back;
	struct nfs4r_put put = put_row("k", "v");
	nfs4r_lsn first, last;

	nfs4r_store_log_range(f.s, 1, &first, &last);
	assert_int_equal(first, 0);
	assert_int_equal(last, 0);
	assert_int_equal(nfs4r_store_commit(f.s, e, true, &put, 1), NFS4R_OK);
	for (int i = 0; i < 3; i++) {
		back = nfs4r_store_log_read(f.s, 1, 1);
		assert_non_null(back);
		assert_int_equal(back->nparts, 2);
		assert_true(nfs4r_oid_eq(&back->result, &oid));
		assert_string_equal(back->parts[0].linktext, "target");
		assert_string_equal(back->parts[1].names[0].name.s, "name");
		assert_int_equal(back->handle_len, 12);
		assert_memory_equal(back->handle, e->handle, 12);
		nfs4r_entry_put(back);
		if (i == 0)
			fx_checkpoint(&f);
		fx_close(&f);
		fx_open_ok(&f);
	}
	nfs4r_entry_put(e);
	assert_null(nfs4r_store_log_read(f.s, 1, 2));
	assert_null(nfs4r_store_log_read(f.s, 2, 1));
	assert_null(nfs4r_store_log_read(f.s, 0, 1));
	assert_null(nfs4r_store_log_read(f.s, 99, 1));
}

/* Entries of server 2: creates of objects with rising sequence. */
static struct nfs4r_entry *creates[5];
static struct nfs4r_oid made[5], dirs[5];

static void make_creates(void)
{
	char name[8] = "d0";

	for (int i = 0; i < 5; i++) {
		name[1] = '0' + i;
		dirs[i] = mk(&f, &f.root, name, NFS4R_TYPE_DIR); /* no object in common */
	}
	for (int i = 0; i < 5; i++)
		creates[i] = e_create(&f, 2, &dirs[i], "x", NFS4R_TYPE_FILE, &made[i]);
}

static void test_out_of_order_commits(void **state)
{
	nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1], owners[NFS4R_SERVERS_MAX + 1] = { 0, 0, 3 };

	make_creates();
	nfs4r_store_owners_have(f.s, owners);
	commit(&f, creates[2]);
	commit(&f, creates[1]);
	assert_int_equal(nfs4r_store_row(f.s, &made[1], NULL), NFS4R_KNOWN);
	assert_int_equal(nfs4r_store_row(f.s, &made[0], NULL), NFS4R_NOT_YET);
	assert_int_equal(nfs4r_store_row(f.s, &made[4], NULL), NFS4R_NOT_YET);
	assert_int_equal(nfs4r_store_checkpoint(f.s, NULL, NULL, stable), NFS4R_OK);
	assert_int_equal(stable[2], 0);
	assert_int_equal(stable[1], 5);
	fx_crash(&f);
	fx_open_ok(&f);
	assert_int_equal(f.info.logs[2].applied, 0);
	assert_int_equal(f.info.logs[1].applied, 5);
	assert_int_equal(f.info.logs[1].stable, 5);
	assert_log(2, 3);
	assert_null(nfs4r_store_log_read(f.s, 2, 1));
	assert_int_equal(nfs4r_store_row(f.s, &made[0], NULL), NFS4R_NOT_YET);
	commit(&f, creates[0]);
	commit(&f, nfs4r_entry_get(creates[4]));
	fx_crash(&f);
	fx_open_ok(&f);
	assert_int_equal(f.info.logs[2].applied, 3);
	assert_int_equal(nfs4r_store_row(f.s, &made[3], NULL), NFS4R_NOT_YET);
	assert_int_equal(nfs4r_store_row(f.s, &made[4], NULL), NFS4R_NOT_YET); /* it was behind a hole */
	commit(&f, creates[4]);
	commit(&f, creates[3]);
	assert_int_equal(nfs4r_store_checkpoint(f.s, NULL, NULL, stable), NFS4R_OK);
	assert_int_equal(stable[2], 5);
}

static void test_mint_tells_dead_from_not_yet(void **state)
{
	struct nfs4r_oid oid;

	make_creates();
	commit(&f, creates[1]);
	commit(&f, e_remove(&f, 2, &dirs[1], "x")); /* LSN 6 */
	/* Made and removed, though 1 has not come; that one may come. */
	assert_int_equal(nfs4r_store_row(f.s, &made[1], NULL), NFS4R_DEAD);
	assert_int_equal(nfs4r_store_row(f.s, &made[0], NULL), NFS4R_NOT_YET);
	assert_int_equal(nfs4r_store_row(f.s, &made[2], NULL), NFS4R_NOT_YET);
	commit(&f, creates[0]);
	assert_int_equal(nfs4r_store_row(f.s, &made[1], NULL), NFS4R_DEAD);
	for (int i = 2; i < 5; i++)
		commit(&f, creates[i]);
	commit(&f, e_remove(&f, 2, &dirs[2], "x"));
	for (int round = 0; round < 3; round++) { /* a restart knows it, too, from the journal or behind a checkpoint */
		assert_int_equal(nfs4r_store_row(f.s, &made[1], NULL), NFS4R_DEAD);
		assert_int_equal(nfs4r_store_row(f.s, &made[2], NULL), NFS4R_DEAD);
		assert_int_equal(nfs4r_store_row(f.s, &made[3], NULL), NFS4R_KNOWN);
		if (round == 1)
			fx_checkpoint(&f);
		fx_crash(&f);
		fx_open_ok(&f);
	}
	nfs4r_oid_make(&oid, 2, 1, 6);
	assert_int_equal(nfs4r_store_row(f.s, &oid, NULL), NFS4R_NOT_YET);
	nfs4r_oid_make(&oid, 2, 2, 1);
	assert_int_equal(nfs4r_store_row(f.s, &oid, NULL), NFS4R_NOT_YET);
	nfs4r_oid_make(&oid, 2, 0, 99);
	assert_int_equal(nfs4r_store_row(f.s, &oid, NULL), NFS4R_DEAD);
	nfs4r_oid_make(&oid, 0, 0, 99);
	assert_int_equal(nfs4r_store_row(f.s, &oid, NULL), NFS4R_DEAD);
	nfs4r_store_oid_watermark(f.s, &oid);
	assert_int_equal(nfs4r_store_row(f.s, &oid, NULL), NFS4R_NOT_YET);
	fx_checkpoint(&f);
	fx_close(&f);
	fx_open_ok(&f);
	assert_int_equal(nfs4r_store_row(f.s, &made[2], NULL), NFS4R_DEAD);
}

/* Decided as void: the object never was, and its directory has a new version. */
static void commit_void(struct nfs4r_entry *e)
{
	struct nfs4r_part dir = { .oid = e->parts[1].oid, .before = e->parts[1].before, .after = e->parts[1].after, .effect = NFS4R_EFF_NONE };

	free(e->parts[1].names);
	memset(&e->parts[1], 0, sizeof(e->parts[1]));
	e->parts[0] = dir;
	e->nparts = 1;
	e->handle_len = 0;
	memset(&e->result, 0, sizeof(e->result));
	commit(&f, e);
}

static void test_intent_undecided_comes_back(void **state)
{
	static const int lsns[] = { 6, 7, 8 };
	struct nfs4r_entry *e[4], *back;
	nfs4r_journal_pos sync_first;
	struct nfs4r_oid oid[4];

	for (int i = 0; i < 4; i++) {
		struct nfs4r_oid dir = mk(&f, &f.root, (char[]){ 'd', '0' + i, 0 }, NFS4R_TYPE_DIR);

		e[i] = e_create(&f, 1, &dir, "x", NFS4R_TYPE_FILE, &oid[i]);
		e[i]->lsn = 5 + i;
		f.next[1] = 2 + i;
	}
	for (int i = 3; i >= 0; i--)
		assert_int_equal(nfs4r_store_intent(f.s, e[i], &sync_first), NFS4R_OK);
	commit(&f, e[0]);
	for (int round = 0; round < 3; round++) {
		fx_crash(&f);
		fx_open_ok(&f);
		assert_int_equal(f.info.logs[1].applied, 5);
		assert_int_equal(f.info.nintents, 3);
		for (int i = 0; i < 3; i++) {
			back = nfs4r_store_intent_at(f.s, i);
			assert_int_equal(back->lsn, lsns[i]);
			assert_string_equal(back->parts[1].names[0].name.s, "x");
			nfs4r_entry_put(back);
		}
		assert_null(nfs4r_store_intent_at(f.s, 3));
		fx_checkpoint(&f); /* an undecided intent outlives checkpoints, and truncation */
		nfs4r_store_truncate(f.s, 1, 8);
		for (int i = 0; i < 100; i++) {
			struct nfs4r_put put = put_row("filler", "fills segments");

			assert_int_equal(nfs4r_store_put(f.s, &put, 1), NFS4R_OK);
		}
		fx_checkpoint(&f);
	}
	commit(&f, e[1]);
	commit_void(e[2]);
	commit_void(e[3]);
	assert_int_equal(nfs4r_store_row(f.s, &oid[0], NULL), NFS4R_KNOWN);
	assert_true(nfs4r_store_row(f.s, &oid[2], NULL) != NFS4R_KNOWN);
	fx_crash(&f);
	fx_open_ok(&f);
	assert_int_equal(f.info.nintents, 0);
	assert_int_equal(f.info.logs[1].applied, 8);
	assert_log(1, 8);
}

static void crash(void)
{
	fx_crash(&f);
	fx_open_ok(&f);
	assert_true(f.info.tail_intact);
}

/* An interval without changes: no mark is left. */
static void rest(void)
{
	fx_checkpoint(&f);
	fx_checkpoint(&f);
}

static bool is_marked(const struct nfs4r_oid *oid)
{
	struct nfs4r_oid *list;
	bool found = false;

	for (uint32_t n = nfs4r_store_marked(f.s, &list); n; n--)
		found |= nfs4r_oid_eq(&list[n - 1], oid);
	free(list);
	return found;
}

#define OLD 200

/* Old files of a directory, in the order in which clients list them. */
static void old_files(const char *in, struct nfs4r_oid file[OLD])
{
	struct nfs4r_oid dir = mk(&f, &f.root, in, NFS4R_TYPE_DIR);
	struct nfs4r_dirent ent;
	uint64_t after = 0;
	char name[8];

	for (int i = 0; i < OLD; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		mk(&f, &dir, name, NFS4R_TYPE_FILE);
	}
	for (int i = 0; i < OLD; i++) {
		assert_int_equal(nfs4r_store_readdir(f.s, &dir, after, &ent, 1), 1);
		after = ent.cookie;
		file[i] = ent.oid;
	}
	rest();
}

/* A change in place; true: it had to wait for the disk. */
static bool change_waits(const struct nfs4r_oid *file)
{
	struct nfs4r_entry *e = e_write(&f, 1, file);
	nfs4r_journal_pos pos;

	assert_int_equal(nfs4r_store_intent(f.s, e, &pos), NFS4R_OK);
	if (pos)
		assert_int_equal(nfs4r_store_sync(f.s, pos), NFS4R_OK);
	commit(&f, e);
	return pos > 0;
}

static uint32_t marked(void)
{
	struct nfs4r_oid *list;
	uint32_t n = nfs4r_store_marked(f.s, &list);

	free(list);
	return n;
}

/* The first, the second with 4 more, then 8, 16, 32, and 64 each time; all of them lose nothing in a crash. */
static void test_marks_are_made_ahead(void **state)
{
	struct nfs4r_oid file[OLD];
	uint32_t waits = 0;

	old_files("d", file);
	for (int i = 0; i < OLD / 2; i++)
		waits += change_waits(&file[i]);
	assert_true(waits >= 2 && waits <= 7);
	assert_true(marked() > OLD / 2 && marked() <= OLD / 2 + 64);
	fx_crash(&f);
	fx_open_ok(&f);
	assert_true(marked() > OLD / 2 && marked() <= OLD / 2 + 64);
	/* A checkpoint drops those of no use, and the others when they have rested. */
	rest();
	assert_int_equal(marked(), 0);
}

static void test_marks_ahead_go_on_in_the_next_directory(void **state)
{
	struct nfs4r_oid file[OLD], other[OLD], third[OLD];
	uint32_t waits = 0;

	old_files("d", file);
	old_files("e", other);
	old_files("g", third);
	for (int i = 0; i < OLD; i++)
		(void)change_waits(&file[i]);
	for (int i = 0; i < OLD; i++)
		waits += change_waits(&other[i]);
	assert_int_equal(waits, (OLD + 63) / 65); /* one, and 64 with it */
	/* The last of the second one were of use, but those of the third are not: there it ends. */
	assert_true(change_waits(&third[OLD - 1]));
	assert_true(change_waits(&third[OLD - 2]));
	assert_int_equal(marked(), 2 * OLD + 2 + 64);
}

/* A checkpoint drops what was made ahead and not used yet. */
static void test_marks_ahead_go_on_after_a_checkpoint(void **state)
{
	struct nfs4r_oid file[OLD];
	uint32_t waits = 0, checkpoints = 0;

	old_files("d", file);
	for (int i = 0; i < OLD; i++) {
		if (i % 40 == 30) {
			fx_checkpoint(&f);
			checkpoints++;
		}
		waits += change_waits(&file[i]);
	}
	assert_true(waits <= 7 + 2 * checkpoints); /* 54 when the marks after it are made where the last ones ended */
}

/* Nobody goes on in that order: few marks are made for nothing. */
static void test_marks_of_no_use_stay_few(void **state)
{
	struct nfs4r_oid file[OLD], other[OLD];

	old_files("d", file);
	for (int i = OLD - 1; i >= OLD - 40; i--)
		assert_true(change_waits(&file[i]));
	assert_true(marked() <= 40 + 40 / 2 * 4);
	old_files("e", other);
	for (int i = 0; i < 20; i++) {
		assert_true(change_waits(&other[i]));
		assert_true(change_waits(&file[i]));
	}
	assert_int_equal(marked(), 40);
}

static void test_marks_once_per_interval(void **state)
{
	nfs4r_journal_pos pos, again;
	struct nfs4r_oid oid = mk(&f, &f.root, "a", NFS4R_TYPE_FILE);
	struct nfs4r_entry *e = e_write(&f, 1, &oid);

	assert_int_equal(nfs4r_store_intent(f.s, e, &pos), NFS4R_OK);
	assert_int_equal(pos, 0); /* created in this interval */
	commit(&f, e);
	fx_checkpoint(&f);
	e = e_write(&f, 1, &oid);
	assert_int_equal(nfs4r_store_intent(f.s, e, &pos), NFS4R_OK);
	assert_true(pos > 0 && pos <= nfs4r_store_position(f.s));
	commit(&f, e);
	/* Somebody else's mark counts once it is synced, not before. */
	e = e_write(&f, 2, &oid);
	assert_int_equal(nfs4r_store_mark(f.s, e, &again), NFS4R_OK);
	assert_int_equal(again, pos);
	assert_int_equal(nfs4r_store_sync(f.s, pos), NFS4R_OK);
	commit(&f, e);
	e = e_write(&f, 1, &oid);
	assert_int_equal(nfs4r_store_intent(f.s, e, &again), NFS4R_OK);
	assert_int_equal(again, 0);
	/* In flight: the mark is carried over the checkpoint. */
	fx_checkpoint(&f);
	commit(&f, e);
	e = e_write(&f, 1, &oid);
	assert_int_equal(nfs4r_store_intent(f.s, e, &again), NFS4R_OK);
	assert_int_equal(again, 0);
	commit(&f, e);
	/* It was changed in this interval: it is marked for the next one, too, and not for the one after that. */
	fx_checkpoint(&f);
	e = e_write(&f, 2, &oid);
	assert_int_equal(nfs4r_store_mark(f.s, e, &again), NFS4R_OK);
	assert_int_equal(again, 0);
	commit(&f, e);
	rest();
	e = e_write(&f, 2, &oid);
	assert_int_equal(nfs4r_store_mark(f.s, e, &again), NFS4R_OK);
	assert_true(again > 0);
	commit(&f, e);
	/* Times are in the row, so they need none. */
	fx_checkpoint(&f);
	e = e_write(&f, 1, &oid);
	e->parts[0].effect = NFS4R_EFF_ATTRS;
	e->parts[0].attrs.mask = NFS4R_ATTR_MTIME | NFS4R_ATTR_ATIME;
	e->has_payload = false;
	assert_int_equal(nfs4r_store_intent(f.s, e, &again), NFS4R_OK);
	assert_int_equal(again, 0);
	commit(&f, e);
	/* Nobody could tell which mode, owner or ACL was there before. */
	for (int i = 0; i < 4; i++) {
		static const uint32_t mask[] = { NFS4R_ATTR_MODE, NFS4R_ATTR_UID, NFS4R_ATTR_GID, NFS4R_ATTR_ACL };

		rest();
		e = e_write(&f, 1, &oid);
		e->parts[0].effect = NFS4R_EFF_ATTRS;
		e->parts[0].attrs.mask = mask[i];
		e->has_payload = false;
		assert_int_equal(nfs4r_store_intent(f.s, e, &again), NFS4R_OK);
		assert_true(again > 0);
		commit(&f, e);
	}
	e = e_create(&f, 1, &f.root, "b", NFS4R_TYPE_FILE, &oid);
	assert_int_equal(nfs4r_store_intent(f.s, e, &again), NFS4R_OK);
	assert_true(again > 0); /* the directory */
	commit(&f, e);
}

/* Log 4.3: the mark that a checkpoint makes for the next interval is as good as one that is synced before the change. */
static void test_what_is_changed_again_and_again_stays_marked(void **state)
{
	struct nfs4r_oid oid = mk(&f, &f.root, "a", NFS4R_TYPE_FILE), once = mk(&f, &f.root, "b", NFS4R_TYPE_FILE);
	struct nfs4r_entry *e;
	nfs4r_journal_pos pos;

	fx_checkpoint(&f);
	e = e_write(&f, 1, &once);
	assert_int_equal(nfs4r_store_intent(f.s, e, &pos), NFS4R_OK);
	commit(&f, e);
	for (int i = 0; i < 5; i++) {
		e = e_write(&f, 1, &oid);
		assert_int_equal(nfs4r_store_intent(f.s, e, &pos), NFS4R_OK);
		assert_int_equal(pos > 0, i == 0);
		commit(&f, e);
		fx_checkpoint(&f);
	}
	e = e_write(&f, 1, &oid);
	assert_int_equal(nfs4r_store_intent(f.s, e, &pos), NFS4R_OK);
	assert_int_equal(pos, 0);
	commit(&f, e); /* the bytes may reach the disk before the power goes, this record does not */
	assert_int_equal(nfs4r_store_row(f.s, &oid, NULL), NFS4R_KNOWN);
	crash();
	assert_true(is_marked(&oid));
	assert_false(is_marked(&once));
	rest();
	crash();
	assert_false(is_marked(&oid));
}

static bool is_dropped(const struct nfs4r_oid *oid)
{
	const struct nfs4r_extent *list;

	for (uint32_t n = nfs4r_store_dropped(f.s, &list); n; n--)
		if (nfs4r_oid_eq(&list[n - 1].oid, oid))
			return true;
	return false;
}

/* An update of server 2 is begun; @saved: checkpoints until the process ends. The next open, and any other before a checkpoint, knows what it touched. */
static void begin_and_end(int saved, bool in_order, bool seal)
{
	struct nfs4r_oid dir = mk(&f, &f.root, "dir", NFS4R_TYPE_DIR), oid = mk(&f, &dir, "a", NFS4R_TYPE_FILE), other = mk(&f, &dir, "b", NFS4R_TYPE_FILE), born;
	struct nfs4r_entry *e = e_write(&f, 2, &oid), *late = e_create(&f, 2, &dir, "new", NFS4R_TYPE_FILE, &born);
	nfs4r_journal_pos pos;

	fx_checkpoint(&f);
	assert_int_equal(nfs4r_store_mark(f.s, late, &pos), NFS4R_OK); /* in the queue, and not begun */
	assert_int_equal(nfs4r_store_mark(f.s, e, &pos), NFS4R_OK);
	assert_int_equal(nfs4r_store_begin(f.s, e), NFS4R_OK);
	while (saved--)
		fx_checkpoint(&f);
	if (in_order) {
		fx_close(&f);
		fx_open_ok(&f);
	} else {
		crash();
	}
	assert_true(is_dropped(&oid));
	assert_false(is_dropped(&dir));
	if (seal) /* it never was: that does not take it out of the files */
		assert_int_equal(nfs4r_store_seal(f.s, 2, 0), NFS4R_OK);
	crash();
	assert_true(is_dropped(&oid));
	assert_false(is_dropped(&other));
	fx_checkpoint(&f);
	crash();
	assert_false(is_dropped(&oid));
	nfs4r_entry_put(e);
	nfs4r_entry_put(late);
}

static void test_what_was_begun_is_in_doubt(void **state)
{
	begin_and_end(0, false, false);
}

static void test_what_was_begun_is_in_doubt_after_a_stop(void **state)
{
	begin_and_end(1, true, false);
}

static void test_what_was_begun_is_in_doubt_after_checkpoints(void **state)
{
	begin_and_end(3, false, false);
}

static void test_what_was_begun_and_never_was_is_in_doubt(void **state)
{
	begin_and_end(0, false, true);
}

static void test_what_was_begun_and_ended_is_in_no_doubt(void **state)
{
	struct nfs4r_oid dir = mk(&f, &f.root, "dir", NFS4R_TYPE_DIR), born;
	struct nfs4r_entry *e = e_create(&f, 2, &dir, "a", NFS4R_TYPE_FILE, &born), *w;

	fx_checkpoint(&f);
	assert_int_equal(nfs4r_store_begin(f.s, e), NFS4R_OK);
	fx_checkpoint(&f);
	commit(&f, e);
	w = e_write(&f, 2, &born);
	assert_int_equal(nfs4r_store_begin(f.s, w), NFS4R_OK);
	crash();
	assert_true(is_dropped(&born));
	assert_false(is_dropped(&dir));
	assert_int_equal(nfs4r_store_begin(f.s, w), NFS4R_OK);
	commit(&f, w);
	for (int i = 0; i < 2; i++) {
		crash();
		assert_false(is_dropped(&born));
	}
}

static void test_truncation_frees_segments(void **state)
{
	struct nfs4r_store_stats before, after;
	nfs4r_lsn first, last;
	struct nfs4r_oid oid = mk(&f, &f.root, "a", NFS4R_TYPE_FILE);

	for (int i = 0; i < 200; i++)
		commit(&f, e_write(&f, 1 + i % 2, &oid));
	fx_checkpoint(&f);
	nfs4r_store_get_stats(f.s, &before);
	assert_true(before.segments > 5);
	nfs4r_store_truncate(f.s, 1, 1000); /* not beyond what is applied */
	fx_checkpoint(&f);
	nfs4r_store_log_range(f.s, 1, &first, &last);
	assert_int_equal(last, 0);
	nfs4r_store_log_range(f.s, 2, &first, &last);
	assert_int_equal(first, 1);
	assert_int_equal(last, 100);
	assert_null(nfs4r_store_log_read(f.s, 1, 50));
	assert_log(2, 1);
	nfs4r_store_truncate(f.s, 2, 60);
	fx_checkpoint(&f);
	nfs4r_store_get_stats(f.s, &after);
	assert_true(after.segments < before.segments);
	assert_null(nfs4r_store_log_read(f.s, 2, 60));
	assert_log(2, 61);
	fx_close(&f);
	fx_open_ok(&f);
	assert_int_equal(f.info.logs[1].applied, 101);
	assert_int_equal(f.info.logs[1].base, 102); /* nothing is left: who asks is told so */
	assert_int_equal(f.info.logs[2].base, 61);
	assert_log(2, 61);
	commit(&f, e_write(&f, 1, &oid));
	assert_log(1, 102);
	nfs4r_store_truncate(f.s, 2, 100);
	fx_checkpoint(&f);
	fx_checkpoint(&f);
	nfs4r_store_get_stats(f.s, &after);
	assert_int_equal(after.segments, 1);
	assert_int_equal(version_of(&f, &oid), 202);
}

/* What lies in segments that are too many, or too old, is beyond the bound, log by log; the segment that is written never is. */
static void test_what_is_kept_beyond_a_bound(void **state)
{
	struct nfs4r_oid oid = mk(&f, &f.root, "a", NFS4R_TYPE_FILE);
	uint64_t now = (uint64_t)time(NULL), bound;
	struct nfs4r_store_retained k;

	for (int i = 0; i < 200; i++)
		commit(&f, e_write(&f, 1 + i % 2, &oid));
	fx_checkpoint(&f);
	nfs4r_store_retained(f.s, UINT64_MAX / 2, 0, now, &k);
	assert_int_equal(k.beyond[1], 0);
	assert_true(k.age_s <= 60);
	bound = k.bytes / 2;
	nfs4r_store_retained(f.s, bound, 0, now, &k);
	assert_in_range(k.beyond[1], 40, 95);
	assert_in_range(k.beyond[2], 40, 95);
	for (nfs4r_server_id log = 1; log <= 2; log++)
		nfs4r_store_truncate(f.s, log, k.beyond[log]);
	fx_checkpoint(&f);
	assert_log(2, k.beyond[2] + 1);
	nfs4r_store_retained(f.s, bound, 0, now, &k);
	assert_true(k.bytes <= bound);
	nfs4r_store_retained(f.s, UINT64_MAX / 2, 2000, now + 1000, &k);
	assert_in_range(k.age_s, 900, 1100);
	assert_int_equal(k.beyond[2], 0);
	nfs4r_store_retained(f.s, UINT64_MAX / 2, 500, now + 1000, &k);
	assert_in_range(k.beyond[2], 90, 100);
}

static void test_sync_and_positions(void **state)
{
	nfs4r_journal_pos before = nfs4r_store_position(f.s);
	struct nfs4r_store_stats st;

	mk(&f, &f.root, "a", NFS4R_TYPE_FILE);
	assert_true(nfs4r_store_position(f.s) > before);
	assert_int_equal(nfs4r_store_sync(f.s, nfs4r_store_position(f.s)), NFS4R_OK);
	nfs4r_store_get_stats(f.s, &st);
	assert_true(st.syncs >= 1);
	assert_int_equal(nfs4r_store_sync(f.s, before), NFS4R_OK);
	nfs4r_store_get_stats(f.s, &st);
	assert_int_equal(nfs4r_store_sync(f.s, UINT64_MAX), NFS4R_OK); /* as far as there is */
}

static void test_no_space_changes_nothing(void **state)
{
	struct nfs4r_oid oid = mk(&f, &f.root, "a", NFS4R_TYPE_FILE), made_oid;
	nfs4r_journal_pos pos, sync_first;
	struct nfs4r_entry *e;
	char *before, *after;

	fx_close(&f);
	f.cfg.fail_after_bytes = 1;
	fx_open_ok(&f);
	before = dump_store(&f);
	pos = nfs4r_store_position(f.s);
	e = e_create(&f, 1, &f.root, "b", NFS4R_TYPE_FILE, &made_oid);
	assert_int_equal(nfs4r_store_intent(f.s, e, &sync_first), NFS4R_NOSPC);
	assert_int_equal(nfs4r_store_commit(f.s, e, true, NULL, 0), NFS4R_NOSPC);
	assert_int_equal(nfs4r_store_set_handle(f.s, &oid, "h", 1), NFS4R_NOSPC);
	after = dump_store(&f);
	assert_string_equal(before, after);
	assert_int_equal(nfs4r_store_position(f.s), pos);
	assert_null(nfs4r_store_log_read(f.s, 1, e->lsn));
	nfs4r_entry_put(e);
	free(before);
	free(after);
	fx_close(&f);
	f.cfg.fail_after_bytes = 0;
	fx_open_ok(&f);
	assert_int_equal(f.info.nintents, 0);
	assert_int_equal(f.info.logs[1].applied, 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_log_read_gives_the_entry_back),
		T(test_out_of_order_commits),
		T(test_mint_tells_dead_from_not_yet),
		T(test_intent_undecided_comes_back),
		T(test_marks_once_per_interval),
		T(test_marks_are_made_ahead),
		T(test_marks_ahead_go_on_in_the_next_directory),
		T(test_marks_ahead_go_on_after_a_checkpoint),
		T(test_marks_of_no_use_stay_few),
		T(test_what_is_changed_again_and_again_stays_marked),
		T(test_what_was_begun_is_in_doubt),
		T(test_what_was_begun_is_in_doubt_after_a_stop),
		T(test_what_was_begun_is_in_doubt_after_checkpoints),
		T(test_what_was_begun_and_never_was_is_in_doubt),
		T(test_what_was_begun_and_ended_is_in_no_doubt),
		T(test_truncation_frees_segments),
		T(test_what_is_kept_beyond_a_bound),
		T(test_sync_and_positions),
		T(test_no_space_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
