/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Lists of byte-range locks beside the rows of files (disk format 2). The store says what the newest LOCKS entry of a file said, after a kill, a checkpoint, a stop, and a loss of power
 * at any byte. A copy that is made equal to another one has its lists. Files without locks have nothing. t_crash.c has lists among random changes.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "store/internal.h"

static const struct nfs4r_versions before_locks = { NFS4R_DISK_FORMAT_LOWEST, NFS4R_DISK_FORMAT_LOWEST }, with_locks = { NFS4R_DISK_FORMAT_LOWEST, NFS4R_DISK_FORMAT_LOCKS };
static struct fx f;
static struct nfs4r_oid file, other;

static int setup(void **state)
{
	fx_init(&f);
	f.cfg.segment_bytes = 4096;
	f.cfg.formats = with_locks;
	fx_open_ok(&f);
	file = mk(&f, &f.root, "file", NFS4R_TYPE_FILE);
	other = mk(&f, &f.root, "other", NFS4R_TYPE_FILE);
	return 0;
}

static int teardown(void **state)
{
	fx_fini(&f);
	return 0;
}

/* A list of @n, told apart from others by @first. */
static void set(const struct nfs4r_oid *oid, nfs4r_server_id log, uint32_t n, uint64_t first)
{
	commit(&f, e_locks(&f, log, oid, n, first));
}

static void expect(struct nfs4r_store *s, const struct nfs4r_oid *oid, uint32_t n, uint64_t first)
{
	static struct nfs4r_file_lock l[NFS4R_LOCKS_LIST_MAX];

	assert_int_equal(nfs4r_store_locks(s, oid, l, NFS4R_LOCKS_LIST_MAX), n);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(l[i].lock.owner.client[0], first + i);
		assert_int_equal(l[i].lock.owner.owner[1], first);
		assert_int_equal(l[i].lock.start, 10 * i);
		assert_int_equal(l[i].inc, 1000 + first);
	}
}

/* Look, then again after a kill, a checkpoint with a kill, an orderly stop, a loss of power. */
static void always(void (*look)(void))
{
	look();
	fx_reopen_after_crash(&f, "boot-1");
	look();
	fx_checkpoint(&f);
	look();
	fx_reopen_after_crash(&f, "boot-1");
	look();
	fx_close(&f);
	fx_open_ok(&f);
	look();
	assert_int_equal(nfs4r_store_sync(f.s, nfs4r_store_position(f.s)), NFS4R_OK);
	fx_reopen_after_crash(&f, "boot-2");
	assert_int_equal(nfs4r_store_recovered(f.s), NFS4R_OK);
	f.cfg.boot_id = "boot-1";
	look();
}

/* ---- the newest list --------------------------------------------------------------- */

static void look_first(void)
{
	expect(f.s, &file, 3, 7);
	expect(f.s, &other, 0, 0);
}

static void look_second(void)
{
	expect(f.s, &file, 5, 20);
	expect(f.s, &other, 1, 30);
}

static void look_none(void)
{
	expect(f.s, &file, 0, 0);
	expect(f.s, &other, 1, 30);
}

static void test_the_newest_list(void **state)
{
	struct nfs4r_file_lock one;

	set(&file, 1, 3, 7);
	assert_int_equal(nfs4r_store_locks(f.s, &file, &one, 1), 3); /* as many as there is room for */
	assert_int_equal(one.lock.owner.client[0], 7);
	always(look_first);
	set(&file, 2, 5, 20);
	set(&other, 1, 1, 30);
	always(look_second);
	set(&file, 1, 0, 0);
	always(look_none);
}

/* Files with locks, in the order of their OIDs. */
static void expect_locked(bool first, bool second)
{
	static const struct nfs4r_oid none;
	bool ascend = nfs4r_oid_cmp(&file, &other) < 0;
	const struct nfs4r_oid *all[] = { ascend ? &file : &other, ascend ? &other : &file };
	bool has[] = { ascend ? first : second, ascend ? second : first };
	struct nfs4r_oid at = none;

	for (int i = 0; i < 2; i++) {
		if (!has[i])
			continue;
		assert_true(nfs4r_store_next_locked(f.s, &at, &at));
		assert_true(nfs4r_oid_eq(&at, all[i]));
	}
	assert_false(nfs4r_store_next_locked(f.s, &at, &at));
}

static void look_at_none_locked(void)
{
	expect_locked(false, false);
}

static void look_at_both_locked(void)
{
	expect_locked(true, true);
}

static void look_at_one_locked(void)
{
	expect_locked(false, true);
}

static void test_which_files_have_locks(void **state)
{
	look_at_none_locked();
	set(&file, 1, 3, 7);
	set(&other, 1, 1, 30);
	always(look_at_both_locked);
	set(&file, 1, 0, 0);
	look_at_one_locked(); /* LMDB has the list of before */
	always(look_at_one_locked);
	set(&other, 2, 0, 0);
	always(look_at_none_locked);
}

static void look_longest(void)
{
	expect(f.s, &file, NFS4R_LOCKS_LIST_MAX, 1);
}

static void test_the_longest_list(void **state)
{
	set(&file, 1, NFS4R_LOCKS_LIST_MAX, 1);
	always(look_longest);
}

/* Locks are no change that clients see, but for the number of the version. */
static void test_times_stay(void **state)
{
	struct nfs4r_row was, is;

	assert_int_equal(nfs4r_store_row(f.s, &file, &was), NFS4R_KNOWN);
	set(&file, 1, 1, 1);
	assert_int_equal(nfs4r_store_row(f.s, &file, &is), NFS4R_KNOWN);
	assert_true(is.version > was.version && is.last_lsn > was.last_lsn);
	assert_int_equal(is.ctime, was.ctime);
	assert_int_equal(is.mtime, was.mtime);
}

/* An older list that comes late is passed over, as any older part. */
static void test_an_older_list_changes_nothing(void **state)
{
	struct nfs4r_entry *old = e_locks(&f, 2, &file, 2, 50);

	set(&file, 1, 3, 7);
	old->parts[0].after = old->parts[0].before + 1;
	assert_int_equal(nfs4r_store_commit(f.s, old, false, NULL, 0), NFS4R_OK);
	nfs4r_entry_put(old);
	always(look_first);
}

/* ---- what has none -------------------------------------------------------------------- */

static uint64_t lists_in_db(void)
{
	struct nfs4r_reader *r;
	MDB_stat st = { 0 };

	if (!f.s->db.has_locks)
		return 0;
	r = store_db_begin(&f.s->db);
	assert_int_equal(mdb_stat(r->txn, f.s->db.locks, &st), 0);
	store_db_end(&f.s->db, r);
	return st.ms_entries;
}

static void test_files_without_locks_have_nothing(void **state)
{
	fx_checkpoint(&f);
	assert_false(f.s->db.has_locks);
	set(&file, 1, 3, 7);
	assert_int_equal(f.s->active->locks.count, 1);
	fx_checkpoint(&f);
	assert_int_equal(f.s->active->locks.count, 0);
	assert_int_equal(lists_in_db(), 1);
	commit(&f, e_write(&f, 1, &file));
	commit(&f, e_remove(&f, 1, &f.root, "other"));
	assert_int_equal(f.s->active->locks.count, 0);
	set(&file, 1, 0, 0);
	fx_checkpoint(&f);
	assert_int_equal(lists_in_db(), 0);
}

static void look_removed(void)
{
	expect(f.s, &file, 0, 0);
}

static void test_a_list_ends_with_its_file(void **state)
{
	for (int saved = 0; saved < 2; saved++) {
		file = mk(&f, &f.root, "mortal", NFS4R_TYPE_FILE);
		set(&file, 1, 3, 7);
		if (saved)
			fx_checkpoint(&f);
		commit(&f, e_remove(&f, 1, &f.root, "mortal"));
		always(look_removed);
		assert_int_equal(lists_in_db(), 0);
	}
}

/* ---- disk formats ------------------------------------------------------------------------ */

static void refused_before_locks(void)
{
	f.cfg.formats = before_locks;
	assert_int_equal(fx_open(&f), NFS4R_MISMATCH);
	assert_non_null(strstr(f.why, "has disk format 2, but this release reads format 1: install"));
	f.cfg.formats = with_locks;
}

/* Until the first list the release before reads the store; it is refused from the first on, by the journal and by LMDB. */
static void test_a_way_back_until_the_first_list(void **state)
{
	fx_checkpoint(&f);
	fx_close(&f);
	f.cfg.formats = before_locks;
	fx_open_ok(&f);
	commit(&f, e_write(&f, 1, &file));
	fx_close(&f);
	f.cfg.formats = with_locks;
	fx_open_ok(&f);
	assert_int_equal(nfs4r_store_format(f.s), NFS4R_DISK_FORMAT_LOWEST);
	set(&file, 1, 3, 7);
	assert_int_equal(nfs4r_store_format(f.s), NFS4R_DISK_FORMAT_LOCKS);
	fx_crash(&f);
	refused_before_locks();
	fx_open_ok(&f);
	look_first();
	fx_checkpoint(&f);
	fx_close(&f);
	refused_before_locks();
	fx_open_ok(&f);
	look_first();
}

static void test_a_release_that_knows_no_lists_takes_none(void **state)
{
	struct nfs4r_install in = { .oid = file, .nlocks = 1, .locks = &(struct nfs4r_file_lock){ .holder = 1 } };
	struct nfs4r_entry *e;
	char *was, *is;

	fx_close(&f);
	f.cfg.formats = before_locks;
	fx_open_ok(&f);
	was = dump_store(&f);
	e = e_locks(&f, 1, &file, 1, 1);
	assert_int_equal(nfs4r_store_commit(f.s, e, true, NULL, 0), NFS4R_INVAL);
	nfs4r_entry_put(e);
	assert_int_equal(nfs4r_store_copy_row(f.s, &file, &in.row), NFS4R_KNOWN);
	assert_int_equal(nfs4r_store_install(f.s, &in), NFS4R_INVAL);
	is = dump_store(&f);
	assert_string_equal(was, is);
	free(was);
	free(is);
}

/* ---- copies ---------------------------------------------------------------------------- */

static void install(uint32_t n, uint64_t first)
{
	struct nfs4r_entry *e = e_locks(&f, 1, &file, n, first);
	struct nfs4r_install in = { .oid = file, .nlocks = n, .locks = e->parts[0].locks };

	assert_int_equal(nfs4r_store_copy_row(f.s, &file, &in.row), NFS4R_KNOWN);
	in.row.version += 7;
	assert_int_equal(nfs4r_store_install(f.s, &in), NFS4R_OK);
	nfs4r_entry_put(e);
	f.next[1]--;
}

static void test_a_copy_has_the_lists_of_its_source(void **state)
{
	install(3, 7); /* there was none */
	always(look_first);
	install(4, 90);
	expect(f.s, &file, 4, 90);
	install(3, 7); /* another one */
	always(look_first);
	install(0, 0);
	always(look_removed);
	assert_int_equal(lists_in_db(), 0);
	install(3, 7);
	fx_checkpoint(&f);
	assert_int_equal(nfs4r_store_forget(f.s, &file), NFS4R_OK);
	always(look_removed);
	assert_int_equal(lists_in_db(), 0);
}

static void test_what_installs_of_locks_are_refused(void **state)
{
	struct nfs4r_install in = { .oid = file, .nlocks = NFS4R_LOCKS_LIST_MAX + 1 };

	assert_int_equal(nfs4r_store_copy_row(f.s, &file, &in.row), NFS4R_KNOWN);
	assert_int_equal(nfs4r_store_install(f.s, &in), NFS4R_INVAL);
	in.nlocks = 1;
	in.row.type = NFS4R_TYPE_FIFO;
	assert_int_equal(nfs4r_store_install(f.s, &in), NFS4R_INVAL);
}

/* ---- what is cut off ----------------------------------------------------------------------- */

/* The last file of the journal of @g ends at @pos. */
static void cut(struct fx *g, nfs4r_journal_pos pos)
{
	nfs4r_journal_pos *starts;
	char path[600], name[32];
	uint32_t n;
	int dirfd = open(g->dir, O_RDONLY | O_DIRECTORY);

	assert_int_equal(store_seg_list(dirfd, &starts, &n), NFS4R_OK);
	close(dirfd);
	for (uint32_t i = 0; i < n; i++) {
		store_seg_name(starts[i], name);
		snprintf(path, sizeof(path), "%s/%s", g->dir, name);
		if (starts[i] > pos)
			assert_int_equal(unlink(path), 0);
		else if (i + 1 == n || starts[i + 1] > pos)
			assert_int_equal(truncate(path, (off_t)(pos - starts[i])), 0);
	}
	free(starts);
}

/* Of an entry and of an install: all of the list, or the one before. */
static void test_power_lost_amid_a_list(void **state)
{
	for (int installed = 0; installed < 2; installed++) {
		nfs4r_journal_pos from, to;

		set(&file, 1, 3, 7);
		assert_int_equal(nfs4r_store_sync(f.s, nfs4r_store_position(f.s)), NFS4R_OK);
		from = nfs4r_store_position(f.s);
		if (installed)
			install(5, 20);
		else
			set(&file, 1, 5, 20);
		to = nfs4r_store_position(f.s);
		for (nfs4r_journal_pos pos = from; pos <= to; pos += pos + 9 < to ? 9 : 1) {
			struct fx g = f;

			temp_dir(g.dir);
			copy_dir(f.dir, g.dir);
			g.s = NULL;
			g.cfg.boot_id = "boot-2";
			cut(&g, pos);
			fx_open_ok(&g);
			if (pos == to)
				expect(g.s, &file, 5, 20);
			else
				expect(g.s, &file, 3, 7);
			fx_fini(&g);
		}
	}
}

static void test_no_space_changes_nothing(void **state)
{
	struct nfs4r_entry *e;

	set(&file, 1, 3, 7);
	fx_close(&f);
	f.cfg.fail_after_bytes = 1;
	fx_open_ok(&f);
	e = e_locks(&f, 1, &file, 5, 20);
	assert_int_equal(nfs4r_store_commit(f.s, e, true, NULL, 0), NFS4R_NOSPC);
	nfs4r_entry_put(e);
	look_first();
	fx_close(&f);
	f.cfg.fail_after_bytes = 0;
	fx_open_ok(&f);
	look_first();
}

/* Behind a hole in another server's log a list counts for nothing after a crash, also when a checkpoint has set it aside. */
static void test_behind_a_hole(void **state)
{
	for (int aside = 0; aside < 2; aside++) {
		struct nfs4r_entry *missing, *e;

		set(&file, 1, 3, 7);
		fx_checkpoint(&f);
		missing = e_write(&f, 2, &other);
		e = e_locks(&f, 2, &file, 5, 20);
		assert_int_equal(nfs4r_store_commit(f.s, e, false, NULL, 0), NFS4R_OK);
		expect(f.s, &file, 5, 20);
		for (int i = 0; aside && i < 400; i++) {
			struct nfs4r_put put = put_row("filler", "fills segments, until what lies behind the hole is set aside");

			assert_int_equal(nfs4r_store_put(f.s, &put, 1), NFS4R_OK);
		}
		for (int i = 0; aside && i < 3; i++)
			fx_checkpoint(&f);
		expect(f.s, &file, 5, 20);
		assert_int_equal(aside != 0, f.s->aside_bytes != 0);
		fx_reopen_after_crash(&f, "boot-1");
		look_first();
		assert_int_equal(nfs4r_store_commit(f.s, missing, false, NULL, 0), NFS4R_OK);
		assert_int_equal(nfs4r_store_commit(f.s, e, false, NULL, 0), NFS4R_OK);
		f.next[2] = e->lsn + 1;
		expect(f.s, &file, 5, 20);
		nfs4r_entry_put(missing);
		nfs4r_entry_put(e);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_the_newest_list),
		T(test_which_files_have_locks),
		T(test_the_longest_list),
		T(test_times_stay),
		T(test_an_older_list_changes_nothing),
		T(test_files_without_locks_have_nothing),
		T(test_a_list_ends_with_its_file),
		T(test_a_way_back_until_the_first_list),
		T(test_a_release_that_knows_no_lists_takes_none),
		T(test_a_copy_has_the_lists_of_its_source),
		T(test_what_installs_of_locks_are_refused),
		T(test_power_lost_amid_a_list),
		T(test_no_space_changes_nothing),
		T(test_behind_a_hole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
