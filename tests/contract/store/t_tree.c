/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Rows, names, handles, parents, versions: before, during and after a checkpoint and a restart. */
#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"

static struct fx f;

static int setup(void **state)
{
	fx_init(&f);
	fx_open_ok(&f);
	return 0;
}

static int teardown(void **state)
{
	fx_fini(&f);
	return 0;
}

static void reopen(void)
{
	fx_close(&f);
	fx_open_ok(&f);
}

/* Runs @check as it is, after a checkpoint, and after restarts with and without one. */
static void everywhere(void (*check)(void))
{
	check();
	reopen();
	check();
	fx_checkpoint(&f);
	check();
	reopen();
	check();
}

static struct nfs4r_oid a, b, c;

static void check_root(void)
{
	struct nfs4r_row row;
	struct nfs4r_dirent d;

	assert_int_equal(nfs4r_store_row(f.s, &f.root, &row), NFS4R_KNOWN);
	assert_int_equal(row.version, 1);
	assert_int_equal(row.type, NFS4R_TYPE_DIR);
	assert_int_equal(row.nentries, 0);
	assert_int_equal(row.nparents, 0);
	assert_int_equal(nfs4r_store_readdir(f.s, &f.root, 0, &d, 1), 0);
	assert_int_equal(nfs4r_store_row(f.s, &f.root, NULL), NFS4R_KNOWN);
}

static void test_root_is_known_from_the_first_open(void **state)
{
	assert_true(f.info.created);
	assert_int_equal(f.info.inc, 1);
	everywhere(check_root);
	assert_false(f.info.created);
	assert_int_equal(f.info.inc, 3);
}

static void check_created(void)
{
	uint8_t h[NFS4R_LOCAL_HANDLE_MAX];
	struct nfs4r_oid back;
	struct nfs4r_dirent d;
	struct nfs4r_name n;
	struct nfs4r_row row;

	assert_int_equal(nfs4r_store_row(f.s, &a, &row), NFS4R_KNOWN);
	assert_int_equal(row.type, NFS4R_TYPE_FILE);
	assert_int_equal(row.version, 1);
	assert_int_equal(row.nlink, 1);
	assert_int_equal(row.nparents, 1);
	assert_true(nfs4r_oid_eq(&row.parent, &f.root));
	assert_true(nfs4r_oid_eq(&row.oid, &a));
	assert_int_equal(row.last_log, 1);
	assert_int_equal(row.last_lsn, 1);
	assert_int_equal(row.mtime, row.ctime);
	assert_int_equal(nfs4r_store_row(f.s, &f.root, &row), NFS4R_KNOWN);
	assert_int_equal(row.nentries, 1);
	assert_int_equal(row.version, 2);
	nfs4r_name_set(&n, "file", 4);
	assert_true(nfs4r_store_lookup(f.s, &f.root, &n, &d));
	assert_true(nfs4r_oid_eq(&d.oid, &a));
	assert_int_equal(d.type, NFS4R_TYPE_FILE);
	assert_int_equal(nfs4r_store_handle(f.s, &a, h), 12);
	assert_true(nfs4r_store_by_handle(f.s, h, 12, &back));
	assert_true(nfs4r_oid_eq(&back, &a));
	nfs4r_name_set(&n, "fil", 3);
	assert_false(nfs4r_store_lookup(f.s, &f.root, &n, &d));
}

static void test_create(void **state)
{
	a = mk(&f, &f.root, "file", NFS4R_TYPE_FILE);
	assert_int_equal(nfs4r_oid_creator(&a), 1);
	assert_int_equal(nfs4r_oid_inc(&a), f.info.inc);
	assert_int_equal(nfs4r_oid_seq(&a), 1);
	everywhere(check_created);
}

static void check_removed(void)
{
	uint8_t h[NFS4R_LOCAL_HANDLE_MAX];
	struct nfs4r_dirent d;
	struct nfs4r_row row;

	assert_int_equal(nfs4r_store_row(f.s, &a, NULL), NFS4R_DEAD);
	assert_int_equal(nfs4r_store_handle(f.s, &a, h), 0);
	assert_false(nfs4r_store_by_handle(f.s, "hndl\1\0\0\0\0\0\0\0", 12, &b));
	assert_int_equal(nfs4r_store_parents(f.s, &a, &b, 1), 0);
	assert_int_equal(nfs4r_store_row(f.s, &f.root, &row), NFS4R_KNOWN);
	assert_int_equal(row.nentries, 0);
	assert_int_equal(nfs4r_store_readdir(f.s, &f.root, 0, &d, 1), 0);
}

static void test_last_name_gone_is_dead(void **state)
{
	a = mk(&f, &f.root, "file", NFS4R_TYPE_FILE);
	commit(&f, e_remove(&f, 1, &f.root, "file"));
	everywhere(check_removed);
}

static void test_death_hides_what_lmdb_holds(void **state)
{
	a = mk(&f, &f.root, "file", NFS4R_TYPE_FILE);
	fx_checkpoint(&f);
	commit(&f, e_remove(&f, 1, &f.root, "file"));
	everywhere(check_removed);
}

static void check_links(void)
{
	struct nfs4r_oid p[4];
	struct nfs4r_row row;

	assert_int_equal(nfs4r_store_row(f.s, &a, &row), NFS4R_KNOWN);
	assert_int_equal(row.nlink, 4);
	assert_true(row.multi);
	assert_int_equal(row.nparents, 3);
	assert_int_equal(nfs4r_store_parents(f.s, &a, p, 4), 3);
	assert_true(nfs4r_oid_eq(&p[0], &f.root));
	assert_true(nfs4r_oid_eq(&p[1], &b));
	assert_true(nfs4r_oid_eq(&p[2], &c));
	assert_int_equal(nfs4r_store_parents(f.s, &a, p, 1), 3);
}

static void check_links_after(void)
{
	struct nfs4r_oid p[4];
	struct nfs4r_row row;

	assert_int_equal(nfs4r_store_row(f.s, &a, &row), NFS4R_KNOWN);
	assert_int_equal(row.nlink, 2);
	assert_true(row.multi); /* sticky */
	assert_int_equal(nfs4r_store_parents(f.s, &a, p, 4), 1);
	assert_true(nfs4r_oid_eq(&p[0], &b));
	assert_true(nfs4r_oid_eq(&row.parent, &b));
}

static void test_parents_count_names(void **state)
{
	b = mk(&f, &f.root, "b", NFS4R_TYPE_DIR);
	c = mk(&f, &f.root, "c", NFS4R_TYPE_DIR);
	a = mk(&f, &f.root, "file", NFS4R_TYPE_FILE);
	commit(&f, e_link(&f, 1, &a, &b, "one"));
	commit(&f, e_link(&f, 1, &a, &b, "two"));
	commit(&f, e_link(&f, 1, &a, &c, "three"));
	everywhere(check_links);
	commit(&f, e_remove(&f, 1, &f.root, "file")); /* the first parent goes */
	commit(&f, e_remove(&f, 1, &c, "three"));
	everywhere(check_links_after);
	commit(&f, e_remove(&f, 1, &b, "one"));
	assert_int_equal(nfs4r_store_parents(f.s, &a, NULL, 0), 1);
	commit(&f, e_remove(&f, 1, &b, "two"));
	assert_int_equal(nfs4r_store_row(f.s, &a, NULL), NFS4R_DEAD);
}

static void check_renamed(void)
{
	struct nfs4r_dirent d;
	struct nfs4r_name n;
	struct nfs4r_row row;

	assert_int_equal(nfs4r_store_row(f.s, &b, NULL), NFS4R_DEAD);
	assert_int_equal(nfs4r_store_row(f.s, &a, &row), NFS4R_KNOWN);
	assert_int_equal(row.nparents, 1);
	assert_true(nfs4r_oid_eq(&row.parent, &c));
	nfs4r_name_set(&n, "new", 3);
	assert_true(nfs4r_store_lookup(f.s, &c, &n, &d));
	assert_true(nfs4r_oid_eq(&d.oid, &a));
	assert_int_equal(nfs4r_store_readdir(f.s, &c, 0, &d, 1), 1);
	assert_true(nfs4r_oid_eq(&d.oid, &a));
	assert_int_equal(nfs4r_store_row(f.s, &f.root, &row), NFS4R_KNOWN);
	assert_int_equal(row.nentries, 1);
}

static void test_rename_replaces(void **state)
{
	a = mk(&f, &f.root, "old", NFS4R_TYPE_FILE);
	c = mk(&f, &f.root, "c", NFS4R_TYPE_DIR);
	b = mk(&f, &c, "new", NFS4R_TYPE_FILE);
	fx_checkpoint(&f);
	commit(&f, e_rename(&f, 1, &f.root, "old", &c, "new"));
	everywhere(check_renamed);
}

static void check_cookie_passed_on(void)
{
	struct nfs4r_dirent d[2];

	assert_int_equal(nfs4r_store_readdir(f.s, &f.root, 0, d, 2), 1);
	assert_string_equal(d[0].name.s, "y");
	assert_int_equal(d[0].cookie, 77);
}

static void test_a_cookie_passes_to_another_name(void **state)
{
	struct nfs4r_entry *e = e_create(&f, 1, &f.root, "x", NFS4R_TYPE_FILE, &a);

	e->parts[1].names[0].cookie = 77;
	commit(&f, e);
	fx_checkpoint(&f);
	e = e_rename(&f, 1, &f.root, "x", &f.root, "y");
	e->parts[0].names[1].cookie = 77;
	commit(&f, e);
	everywhere(check_cookie_passed_on);
}

static void check_epoch(void)
{
	struct nfs4r_row row;

	assert_int_equal(nfs4r_store_row(f.s, &a, &row), NFS4R_KNOWN);
	assert_int_equal(row.mtime, 0);
}

/* An entry says 0 when it leaves the time of an object alone, and when it sets it to 1970. */
static void test_the_epoch_is_a_time(void **state)
{
	struct nfs4r_entry *e;

	a = mk(&f, &f.root, "file", NFS4R_TYPE_FILE);
	e = e_new(&f, 1);
	e_part(&f, e, &a, NFS4R_EFF_ATTRS)->attrs.mask = NFS4R_ATTR_MTIME | NFS4R_ATTR_ATIME;
	commit(&f, e);
	everywhere(check_epoch);
	e = e_new(&f, 1);
	e_part(&f, e, &a, NFS4R_EFF_ATTRS)->attrs.mask = NFS4R_ATTR_MODE;
	commit(&f, e);
	everywhere(check_epoch);
}

static void test_new_cookies_differ(void **state)
{
	struct nfs4r_name n;
	struct nfs4r_entry *e;
	uint64_t cookie, second;

	nfs4r_name_set(&n, "name", 4);
	cookie = nfs4r_store_new_cookie(f.s, &f.root, &n);
	assert_true(cookie >= 3 && cookie <= INT64_MAX);
	e = e_create(&f, 1, &f.root, "other", NFS4R_TYPE_FILE, &a);
	e->parts[1].names[0].cookie = cookie;
	commit(&f, e);
	second = nfs4r_store_new_cookie(f.s, &f.root, &n);
	assert_int_equal(second, cookie + 1);
	fx_checkpoint(&f);
	assert_int_equal(nfs4r_store_new_cookie(f.s, &f.root, &n), second);
	commit(&f, e_remove(&f, 1, &f.root, "other"));
	assert_int_equal(nfs4r_store_new_cookie(f.s, &f.root, &n), cookie);
}

static void test_readdir_pages_through_all_layers(void **state)
{
	struct nfs4r_dirent d[50];
	uint64_t after = 0;
	uint32_t total = 0, n;
	char name[16];

	for (int i = 0; i < 900; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		mk(&f, &f.root, name, NFS4R_TYPE_FILE);
		if (i == 400)
			fx_checkpoint(&f);
		if (i % 3 == 2 && i > 300) {
			snprintf(name, sizeof(name), "f%d", i - 300);
			commit(&f, e_remove(&f, 1, &f.root, name));
		}
	}
	while ((n = nfs4r_store_readdir(f.s, &f.root, after, d, 50))) {
		for (uint32_t i = 0; i < n; i++) {
			int k = atoi(d[i].name.s + 1);

			assert_true(d[i].cookie > after);
			assert_false(k % 3 == 2 && k < 600 && k > 1);
			after = d[i].cookie;
		}
		total += n;
	}
	assert_int_equal(total, 700);
}

static int fail_sync(void *arg)
{
	(*(int *)arg)++;
	return 5;
}

static void test_failed_checkpoint_loses_nothing(void **state)
{
	struct nfs4r_dirent d[4];
	int calls = 0;

	a = mk(&f, &f.root, "a", NFS4R_TYPE_FILE);
	assert_int_equal(nfs4r_store_checkpoint(f.s, fail_sync, &calls, NULL), NFS4R_IO);
	assert_int_equal(calls, 1);
	mk(&f, &f.root, "b", NFS4R_TYPE_FILE);
	assert_int_equal(nfs4r_store_readdir(f.s, &f.root, 0, d, 4), 2);
	assert_int_equal(nfs4r_store_checkpoint(f.s, fail_sync, &calls, NULL), NFS4R_IO);
	assert_int_equal(calls, 1);
	commit(&f, e_remove(&f, 1, &f.root, "a"));
	assert_int_equal(nfs4r_store_readdir(f.s, &f.root, 0, d, 4), 1);
	reopen();
	assert_int_equal(nfs4r_store_readdir(f.s, &f.root, 0, d, 4), 1);
	assert_string_equal(d[0].name.s, "b");
}

static void check_moved_handle(void)
{
	uint8_t h[NFS4R_LOCAL_HANDLE_MAX];
	struct nfs4r_oid back;

	assert_int_equal(nfs4r_store_handle(f.s, &f.root, h), 4);
	assert_memory_equal(h, "root", 4);
	assert_int_equal(nfs4r_store_handle(f.s, &a, h), 3);
	assert_memory_equal(h, "new", 3);
	assert_true(nfs4r_store_by_handle(f.s, "new", 3, &back));
	assert_true(nfs4r_oid_eq(&back, &a));
	assert_false(nfs4r_store_by_handle(f.s, "hndl\1\0\0\0\0\0\0\0", 12, &back));
	assert_int_equal(version_of(&f, &a), 1);
}

static void test_set_handle(void **state)
{
	struct nfs4r_oid none;

	assert_int_equal(nfs4r_store_set_handle(f.s, &f.root, "root", 4), NFS4R_OK);
	a = mk(&f, &f.root, "a", NFS4R_TYPE_FILE);
	assert_int_equal(nfs4r_store_set_handle(f.s, &a, "new", 3), NFS4R_OK);
	everywhere(check_moved_handle);
	assert_int_equal(nfs4r_store_set_handle(f.s, &a, "", 0), NFS4R_INVAL);
	commit(&f, e_remove(&f, 1, &f.root, "a"));
	assert_int_equal(nfs4r_store_set_handle(f.s, &a, "x", 1), NFS4R_STALE);
	/* An empty object for a name whose create has not come: a handle and no row. */
	nfs4r_oid_make(&none, 3, 1, 5);
	assert_int_equal(nfs4r_store_set_handle(f.s, &none, "early", 5), NFS4R_OK);
	assert_int_equal(nfs4r_store_row(f.s, &none, NULL), NFS4R_NOT_YET);
	assert_true(nfs4r_store_by_handle(f.s, "early", 5, &b));
	fx_checkpoint(&f);
	assert_int_equal(nfs4r_store_row(f.s, &none, NULL), NFS4R_NOT_YET);
}

static void test_a_reused_handle_stays_with_the_new_object(void **state)
{
	struct nfs4r_oid back;

	a = mk(&f, &f.root, "a", NFS4R_TYPE_FILE);
	b = mk(&f, &f.root, "b", NFS4R_TYPE_FILE);
	assert_int_equal(nfs4r_store_set_handle(f.s, &b, "hndl\1\0\0\0\0\0\0\0", 12), NFS4R_OK);
	commit(&f, e_remove(&f, 1, &f.root, "a"));
	assert_true(nfs4r_store_by_handle(f.s, "hndl\1\0\0\0\0\0\0\0", 12, &back));
	assert_true(nfs4r_oid_eq(&back, &b));
}

static void check_core_rows(void)
{
	char *text = dump_store(&f);

	assert_non_null(strstr(text, "two = second, longer than before\n"));
	assert_null(strstr(text, "one = "));
	assert_non_null(strstr(text, "three = 3\n"));
	free(text);
}

static void test_core_rows(void **state)
{
	struct nfs4r_put puts[3] = { put_row("one", "1"), put_row("two", "2"), put_row("three", "3") };
	struct nfs4r_entry *e = e_create(&f, 1, &f.root, "a", NFS4R_TYPE_FILE, &a);

	assert_int_equal(nfs4r_store_put(f.s, puts, 3), NFS4R_OK);
	fx_checkpoint(&f);
	puts[0] = put_row("one", NULL);
	puts[1] = put_row("two", "second, longer than before");
	assert_int_equal(nfs4r_store_commit(f.s, e, true, puts, 2), NFS4R_OK);
	nfs4r_entry_put(e);
	everywhere(check_core_rows);
	puts[0].key_len = 33;
	assert_int_equal(nfs4r_store_put(f.s, puts, 1), NFS4R_INVAL);
}

static void test_parts_not_newer_are_skipped(void **state)
{
	struct nfs4r_entry *old, *e;
	struct nfs4r_row row;

	a = mk(&f, &f.root, "a", NFS4R_TYPE_FILE);
	old = e_write(&f, 2, &a);
	commit(&f, e_write(&f, 1, &a));
	commit(&f, e_write(&f, 1, &a));
	commit(&f, old);
	nfs4r_store_row(f.s, &a, &row);
	assert_int_equal(row.version, 3);
	assert_int_equal(row.last_log, 1);
	/* A hole in the chain of versions is refused and changes nothing. */
	e = e_write(&f, 1, &a);
	e->parts[0].before++;
	e->parts[0].after++;
	assert_int_equal(nfs4r_store_commit(f.s, e, true, NULL, 0), NFS4R_CORRUPT);
	assert_int_equal(version_of(&f, &a), 3);
	assert_null(nfs4r_store_log_read(f.s, 1, e->lsn));
	nfs4r_entry_put(e);
	f.next[1]--;
	/* Dead: skipped, the entry still counts. */
	e = e_write(&f, 2, &a);
	commit(&f, e_remove(&f, 1, &f.root, "a"));
	commit(&f, e);
	assert_int_equal(nfs4r_store_row(f.s, &a, NULL), NFS4R_DEAD);
	reopen();
	assert_int_equal(f.info.logs[2].applied, 2);
}

static void test_random_changes_match_the_model(void **state)
{
	struct model *m = model_new(&f.root);
	uint64_t rng = 4711;

	for (int i = 0; i < 3000; i++) {
		struct nfs4r_entry *e = random_entry(&f, &rng);

		if (e)
			both(&f, m, e);
		if (rnd(&rng) % 100 == 0)
			fx_checkpoint(&f);
		if (rnd(&rng) % 100 == 0)
			reopen();
		if (i % 50 == 49) {
			char *is = dump_store(&f), *should = model_dump(m);

			assert_string_equal(is, should);
			free(is);
			free(should);
		}
	}
	model_free(m);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_root_is_known_from_the_first_open),
		T(test_create),
		T(test_last_name_gone_is_dead),
		T(test_death_hides_what_lmdb_holds),
		T(test_parents_count_names),
		T(test_rename_replaces),
		T(test_a_cookie_passes_to_another_name),
		T(test_the_epoch_is_a_time),
		T(test_new_cookies_differ),
		T(test_readdir_pages_through_all_layers),
		T(test_failed_checkpoint_loses_nothing),
		T(test_set_handle),
		T(test_a_reused_handle_stays_with_the_new_object),
		T(test_core_rows),
		T(test_parts_not_newer_are_skipped),
		T(test_random_changes_match_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
