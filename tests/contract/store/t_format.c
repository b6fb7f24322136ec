/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Disk formats (log 6.16): a store that a later release wrote is read by the one before until its format is raised, and refused from then on.
 * The later format is the one that is rehearsed (src/base/version.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract/store/fixture.h"

static const struct nfs4r_versions now = { NFS4R_DISK_FORMAT, NFS4R_DISK_FORMAT }, next = { NFS4R_DISK_FORMAT, NFS4R_DISK_FORMAT_REHEARSED };
static struct fx f;

static void open_as(struct nfs4r_versions release)
{
	f.cfg.formats = release;
	fx_open_ok(&f);
}

static void refused_as(struct nfs4r_versions release)
{
	char want[80];

	f.cfg.formats = release;
	snprintf(want, sizeof(want), "has disk format %u, but this release reads format %u: install", NFS4R_DISK_FORMAT_REHEARSED, NFS4R_DISK_FORMAT);
	assert_int_equal(fx_open(&f), NFS4R_MISMATCH);
	if (!strstr(f.why, want))
		fail_msg("not '%s' in: %s", want, f.why);
}

static void make(const char *name)
{
	mk(&f, &f.root, name, NFS4R_TYPE_FILE);
}

static int begin(void **state)
{
	fx_init(&f);
	f.cfg.segment_bytes = 1 << 20;
	return 0;
}

static int end(void **state)
{
	fx_fini(&f);
	return 0;
}

static void both_read_it_until_it_is_raised(void **state)
{
	char *before, *after;

	open_as(now);
	make("a");
	fx_checkpoint(&f);
	make("b");
	fx_close(&f);
	open_as(next);
	assert_int_equal(nfs4r_store_format(f.s), NFS4R_DISK_FORMAT);
	make("c");
	fx_checkpoint(&f);
	make("d");
	before = dump_store(&f);
	fx_close(&f);
	open_as(now);
	after = dump_store(&f);
	assert_string_equal(before, after);
	make("e");
	free(before);
	free(after);
	fx_close(&f);
}

static void a_new_store_has_the_lowest(void **state)
{
	open_as(next);
	make("a");
	fx_checkpoint(&f);
	assert_int_equal(nfs4r_store_format(f.s), NFS4R_DISK_FORMAT);
	fx_close(&f);
	open_as(now);
	assert_int_equal(nfs4r_store_raise_format(f.s, NFS4R_DISK_FORMAT_REHEARSED), NFS4R_INVAL);
	assert_int_equal(nfs4r_store_raise_format(f.s, NFS4R_DISK_FORMAT), NFS4R_OK);
	fx_close(&f);
}

/* By its journal, from the first record on. */
static void a_raised_journal_is_refused(void **state)
{
	char *before, *after;

	open_as(next);
	make("a");
	assert_int_equal(nfs4r_store_raise_format(f.s, NFS4R_DISK_FORMAT_REHEARSED), NFS4R_OK);
	assert_int_equal(nfs4r_store_raise_format(f.s, NFS4R_DISK_FORMAT), NFS4R_OK); /* it is not lowered */
	make("b");
	before = dump_store(&f);
	fx_crash(&f);
	refused_as(now);
	open_as(next);
	assert_int_equal(nfs4r_store_format(f.s), NFS4R_DISK_FORMAT_REHEARSED);
	after = dump_store(&f);
	assert_string_equal(before, after);
	fx_checkpoint(&f);
	make("c");
	fx_close(&f);
	refused_as(now);
	open_as(next);
	free(before);
	free(after);
	fx_close(&f);
}

/* By LMDB, too, when the journal's segments of before are all that is left. */
static void a_raised_lmdb_is_refused(void **state)
{
	open_as(next);
	make("a");
	assert_int_equal(nfs4r_store_raise_format(f.s, NFS4R_DISK_FORMAT_REHEARSED), NFS4R_OK);
	fx_checkpoint(&f);
	fx_crash(&f);
	refused_as(now);
	open_as(next);
	assert_int_equal(nfs4r_store_format(f.s), NFS4R_DISK_FORMAT_REHEARSED);
	fx_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(both_read_it_until_it_is_raised, begin, end),
		cmocka_unit_test_setup_teardown(a_new_store_has_the_lowest, begin, end),
		cmocka_unit_test_setup_teardown(a_raised_journal_is_refused, begin, end),
		cmocka_unit_test_setup_teardown(a_raised_lmdb_is_refused, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
