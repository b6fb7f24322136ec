/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Bytes of stable WRITEs that the journal keeps (log 4.10): which of them a start gives back, to be written into the files once more. In the faulty build the tests show besides
 * what each fault would give back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "store/fault.h"

static struct fx f;
static struct nfs4r_oid file;

static int setup(void **state)
{
	fx_begin(&f, 4096);
	file = mk(&f, &f.root, "file", NFS4R_TYPE_FILE);
	return 0;
}

static int teardown(void **state)
{
	fx_fini(&f);
	return 0;
}

static struct nfs4r_entry *e_bytes(const struct nfs4r_oid *oid, uint64_t off, const char *text)
{
	struct nfs4r_entry *e = e_write(&f, 1, oid);

	e->parts[0].off = off;
	e->parts[0].len = strlen(text);
	nfs4r_buf_put(e->payload);
	e->payload = nfs4r_buf_copy(text, strlen(text));
	e->has_payload = true;
	return e;
}

static struct nfs4r_entry *e_kept(const struct nfs4r_oid *oid, uint64_t off, const char *text)
{
	struct nfs4r_entry *e = e_bytes(oid, off, text);

	e->bytes_at = 1;
	return e;
}

/* "offset:text " for each. */
static enum nfs4r_status print(void *arg, const struct nfs4r_oid *oid, uint64_t off, const uint8_t *data, uint32_t len)
{
	char *out = arg;

	sprintf(out + strlen(out), "%s%u:%.*s ", nfs4r_oid_eq(oid, &file) ? "" : "other ", (unsigned)off, (int)len, (const char *)data);
	return NFS4R_OK;
}

static void expect_kept(const char *want)
{
	char got[400] = "";

	assert_int_equal(nfs4r_store_each_inline(f.s, print, got), NFS4R_OK);
	assert_string_equal(got, want);
}

/* With a fault of the store on; in the shipped one there is none. */
static void expect_kept_with(uint32_t fault, const char *want)
{
#ifdef NFS4R_FAULTS
	nfs4r_store_fault = fault;
	fx_crash(&f);
	fx_open_ok(&f);
	expect_kept(want);
	nfs4r_store_fault = 0;
#else
	(void)fault;
	(void)want;
#endif
}

static void test_in_order_until_a_checkpoint(void **state)
{
	struct nfs4r_oid other = mk(&f, &f.root, "other", NFS4R_TYPE_FILE);

	assert_false(nfs4r_store_keeps_bytes(f.s, &file));
	commit(&f, e_kept(&file, 0, "one"));
	commit(&f, e_kept(&other, 7, "two"));
	commit(&f, e_kept(&file, 1, "three"));
	assert_true(nfs4r_store_keeps_bytes(f.s, &file));
	for (int i = 0; i < 2; i++) { /* a crash of the process, and one of the machine after it */
		fx_reopen_after_crash(&f, i ? "boot-2" : "boot-1");
		assert_true(nfs4r_store_keeps_bytes(f.s, &file));
		expect_kept("0:one other 7:two 1:three ");
	}
	assert_int_equal(nfs4r_store_recovered(f.s), NFS4R_OK);
	fx_checkpoint(&f);
	fx_reopen_after_crash(&f, "boot-3");
	expect_kept("");
	assert_false(nfs4r_store_keeps_bytes(f.s, &file));
}

/* The files were synced before LMDB's position moved; until then what a checkpoint writes is still in the journal only. */
static int sync_fails(void *arg)
{
	assert_true(nfs4r_store_keeps_bytes(f.s, &file));
	return 5;
}

static void test_a_checkpoint_that_fails_changes_nothing(void **state)
{
	commit(&f, e_kept(&file, 0, "one"));
	assert_int_not_equal(nfs4r_store_checkpoint(f.s, sync_fails, NULL, NULL), NFS4R_OK);
	assert_true(nfs4r_store_keeps_bytes(f.s, &file));
	commit(&f, e_kept(&file, 3, "two"));
	fx_reopen_after_crash(&f, "boot-2");
	expect_kept("0:one 3:two ");
}

/* Who changed the file otherwise has synced it before, and what is kept from before would undo the change. */
static void test_a_change_that_is_not_kept_ends_it(void **state)
{
	struct nfs4r_entry *e;

	commit(&f, e_kept(&file, 0, "one"));
	commit(&f, e_bytes(&file, 0, "not kept"));
	assert_false(nfs4r_store_keeps_bytes(f.s, &file));
	fx_reopen_after_crash(&f, "boot-2");
	expect_kept("");
	expect_kept_with(F_STORE_BYTES_OLD, "0:one ");
	commit(&f, e_kept(&file, 2, "two"));
	fx_reopen_after_crash(&f, "boot-3");
	expect_kept("2:two ");
	expect_kept_with(F_STORE_BYTES_OLD, "0:one 2:two ");
	e = e_new(&f, 1); /* shorter */
	e_part(&f, e, &file, NFS4R_EFF_ATTRS)->attrs = (struct nfs4r_attrs){ .mask = NFS4R_ATTR_SIZE };
	commit(&f, e);
	fx_reopen_after_crash(&f, "boot-4");
	expect_kept("");
}

/* What is not about bytes ends nothing; of what is gone nothing is given back. */
static void test_other_changes(void **state)
{
	struct nfs4r_entry *e = e_new(&f, 1);

	commit(&f, e_kept(&file, 0, "one"));
	e_part(&f, e, &file, NFS4R_EFF_ATTRS)->attrs = (struct nfs4r_attrs){ .mask = NFS4R_ATTR_MODE, .mode = 0600 };
	commit(&f, e);
	commit(&f, e_rename(&f, 1, &f.root, "file", &f.root, "moved"));
	fx_reopen_after_crash(&f, "boot-2");
	expect_kept("0:one ");
	commit(&f, e_remove(&f, 1, &f.root, "moved"));
	fx_reopen_after_crash(&f, "boot-3");
	expect_kept("");
}

/* The content as another server has it. */
static void test_what_is_taken_from_elsewhere_ends_it(void **state)
{
	struct nfs4r_install in = { .oid = file };

	commit(&f, e_kept(&file, 0, "one"));
	assert_int_equal(nfs4r_store_copy_row(f.s, &file, &in.row), NFS4R_KNOWN);
	assert_int_equal(nfs4r_store_install(f.s, &in), NFS4R_OK);
	assert_false(nfs4r_store_keeps_bytes(f.s, &file));
	fx_reopen_after_crash(&f, "boot-2");
	expect_kept("");
}

/* Their entry counts for nothing after a crash of the machine (log 4.7), so they must not get into the file. */
static void test_behind_a_hole_is_nothing(void **state)
{
	struct nfs4r_oid other = mk(&f, &f.root, "other", NFS4R_TYPE_FILE);
	struct nfs4r_entry *first = e_write(&f, 1, &other), *second;
	nfs4r_journal_pos sync_first;

	assert_int_equal(nfs4r_store_intent(f.s, first, &sync_first), NFS4R_OK);
	second = e_kept(&file, 0, "behind");
	assert_true(second->lsn > first->lsn);
	commit(&f, second);
	nfs4r_entry_put(first);
	fx_reopen_after_crash(&f, "boot-1"); /* only the process: nothing is lost */
	expect_kept("0:behind ");
	fx_reopen_after_crash(&f, "boot-2");
	expect_kept("");
	expect_kept_with(F_STORE_BYTES_LOOSE, "0:behind ");
	assert_int_equal(nfs4r_store_recovered(f.s), NFS4R_OK); /* and the number is given out anew, to something that is not kept */
	f.next[1] = f.info.logs[1].applied + 1;
	commit(&f, e_bytes(&file, 0, "again"));
	fx_reopen_after_crash(&f, "boot-3");
	expect_kept("");
}

/* Bytes, and not the COMMIT behind them: torn off. */
static void test_without_their_commit_they_are_nothing(void **state)
{
	nfs4r_journal_pos at = nfs4r_store_position(f.s);
	char cmd[800];

	commit(&f, e_kept(&file, 0, "torn"));
	fx_crash(&f);
	/* header 24; OID, offset, length, 4 bytes: 32, a multiple of 8 */
	snprintf(cmd, sizeof(cmd), "cd %s && for j in journal-*; do start=$((0x${j#journal-})); [ $start -gt %llu ] || last=$j; done; "
				   "truncate -s $((%llu - 0x${last#journal-} + 56)) $last",
		 f.cfg.dir, (unsigned long long)at, (unsigned long long)at);
	assert_int_equal(system(cmd), 0);
	f.cfg.boot_id = "boot-2";
	fx_open_ok(&f);
	assert_int_equal(version_of(&f, &file), 1);
	expect_kept("");
	assert_int_equal(nfs4r_store_recovered(f.s), NFS4R_OK);
	f.next[1] = f.info.logs[1].applied + 1;
	commit(&f, e_bytes(&file, 0, "again"));
	fx_reopen_after_crash(&f, "boot-3");
	expect_kept("");
}

/* Bytes behind a hole in another server's log, and so much after them that what is behind the hole is worth setting aside. */
static void keep_amid_a_hole(void)
{
	struct nfs4r_oid made;
	struct nfs4r_entry *first = e_create(&f, 2, &f.root, "of another", NFS4R_TYPE_FILE, &made), *second = e_create(&f, 2, &f.root, "and another", NFS4R_TYPE_FILE, &made);

	nfs4r_entry_put(first); /* never comes */
	commit(&f, second);
	commit(&f, e_kept(&file, 0, "one"));
	for (int i = 0; i < 300; i++) {
		struct nfs4r_put put = put_row("filler", "fills segments");

		assert_int_equal(nfs4r_store_put(f.s, &put, 1), NFS4R_OK);
	}
}

/* A checkpoint amid a hole in another's log that lasts (log 4.3): LMDB's position moves, by a second replay, and what it does not have yet is known as before. */
static void test_over_what_is_set_aside(void **state)
{
	keep_amid_a_hole();
	for (int i = 0; i < 4; i++) /* waits for the hole, gives it up, sets aside what is behind it */
		fx_checkpoint(&f);
	commit(&f, e_kept(&file, 3, "two"));
	fx_reopen_after_crash(&f, "boot-2");
	expect_kept("3:two ");
}

/* While that second state is not in LMDB. */
static int look_amid(void *arg)
{
	*(int *)arg += nfs4r_store_keeps_bytes(f.s, &file);
	return 0;
}

static void test_while_it_is_set_aside(void **state)
{
	struct nfs4r_store_stats st;
	int seen = 0, n = 0;

	keep_amid_a_hole();
	do {
		assert_int_equal(nfs4r_store_checkpoint(f.s, look_amid, &seen, NULL), NFS4R_OK);
		nfs4r_store_get_stats(f.s, &st);
	} while (!st.checkpoints && ++n < 10);
	assert_true(st.checkpoints > 0);
	assert_int_equal(seen, n + 2); /* the last one looked twice: it tried the old state, and set aside */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_in_order_until_a_checkpoint, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_checkpoint_that_fails_changes_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_change_that_is_not_kept_ends_it, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_taken_from_elsewhere_ends_it, setup, teardown),
		cmocka_unit_test_setup_teardown(test_behind_a_hole_is_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_their_commit_they_are_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_over_what_is_set_aside, setup, teardown),
		cmocka_unit_test_setup_teardown(test_while_it_is_set_aside, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
