/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Zeros behind the journal's end (src/store/journal/preallocate.c): that appends find them, what a start makes of them and of what lies behind
 * them, and disks on which they cannot be laid out.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fixture.h"
#include "store/internal.h"

#define AHEAD (64u << 10)

static struct fx f;

#define TOLD 4711 /* where a file is that was told; what is duplicated is at the same place */

static struct {
	bool full, broken; /* no space is found; syncs fail */
	bool lost; /* pages: each open file is told once, whoever asks */
	bool heard; /* the first one was told */
	uint32_t asked; /* for space */
	enum nfs4r_status meanwhile; /* what a sync of all records answers while the first one that is told hears of it */
} disk;

/* In place of the C library's. */
int fallocate(int fd, int mode, off_t from, off_t len)
{
	disk.asked++;
	if (!disk.full)
		return (int)syscall(SYS_fallocate, fd, mode, from, len);
	errno = ENOSPC;
	return -1;
}

static void sync_meanwhile(void)
{
	if (disk.heard)
		return;
	disk.heard = true;
	disk.meanwhile = nfs4r_store_sync(f.s, nfs4r_store_position(f.s));
}

int fdatasync(int fd)
{
	if (disk.lost && lseek(fd, 0, SEEK_CUR) != TOLD) {
		lseek(fd, TOLD, SEEK_SET);
		sync_meanwhile();
		errno = EIO;
		return -1;
	}
	if (!disk.broken)
		return (int)syscall(SYS_fdatasync, fd);
	errno = EIO;
	return -1;
}

static int setup(void **state)
{
	memset(&disk, 0, sizeof(disk));
	fx_init(&f);
	fx_open_ok(&f);
	return 0;
}

static int teardown(void **state)
{
	disk.broken = disk.lost = false;
	fx_fini(&f);
	return 0;
}

static void lay_out(void)
{
	store_jnl_lay_out(&f.s->jnl, AHEAD);
}

/* The file that begins at @start. */
static int open_journal(nfs4r_journal_pos start)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/journal-%016llx", f.dir, (unsigned long long)start);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	return fd;
}

static uint64_t length(nfs4r_journal_pos start)
{
	int fd = open_journal(start);
	struct stat sb;

	assert_int_equal(fstat(fd, &sb), 0);
	close(fd);
	return (uint64_t)sb.st_size;
}

static void overwrite(nfs4r_journal_pos at, int byte, size_t len)
{
	uint8_t b[4096];
	int fd = open_journal(0);

	memset(b, byte, sizeof(b));
	assert_int_equal(pwrite(fd, b, len, (off_t)at), len);
	close(fd);
}

static void fill(nfs4r_journal_pos bytes)
{
	nfs4r_journal_pos end = nfs4r_store_position(f.s) + bytes;

	while (nfs4r_store_position(f.s) < end)
		assert_int_equal(nfs4r_store_put(f.s, &(struct nfs4r_put){ .key_len = 1, .val_len = 200 }, 1), NFS4R_OK);
}

static void crash(const char *boot)
{
	fx_crash(&f);
	f.cfg.boot_id = boot;
	fx_open_ok(&f);
}

static struct nfs4r_dirent found;

static bool has(const char *name)
{
	struct nfs4r_name n;

	assert_true(nfs4r_name_set(&n, name, strlen(name)));
	return nfs4r_store_lookup(f.s, &f.root, &n, &found);
}

/* ---- laid out ---- */

static void test_appends_find_room(void **state)
{
	nfs4r_journal_pos at = nfs4r_store_position(f.s);
	uint64_t size;

	assert_int_equal(length(0), at);
	lay_out();
	size = length(0);
	assert_int_equal(size, at + AHEAD);
	fill(AHEAD / 4);
	assert_int_equal(length(0), size);
	lay_out(); /* enough is left */
	assert_int_equal(length(0), size);
	fill(AHEAD / 2);
	assert_int_equal(length(0), size);
	lay_out();
	assert_int_equal(length(0), nfs4r_store_position(f.s) + AHEAD);
	crash("boot-1");
	assert_true(f.info.tail_intact);
}

/* Who is faster than what is laid out makes the file longer, and a record may begin in zeros and end behind them. */
static void test_beyond_what_is_laid_out(void **state)
{
	lay_out();
	fill(2 * AHEAD);
	assert_int_equal(length(0), nfs4r_store_position(f.s));
	mk(&f, &f.root, "last", NFS4R_TYPE_FILE);
	crash("boot-1");
	assert_true(f.info.tail_intact);
	assert_true(has("last"));
}

static void test_not_beyond_the_segment(void **state)
{
	fx_close(&f);
	f.cfg.segment_bytes = 8192;
	fx_open_ok(&f);
	lay_out();
	assert_int_equal(length(0), 8192);
	fill(8192 - nfs4r_store_position(f.s));
	assert_int_equal(f.s->jnl.nsegs, 2);
	assert_int_equal(length(0), f.s->jnl.segs[1].start); /* zeros go with the end of the file's time */
	lay_out();
	assert_int_equal(length(f.s->jnl.segs[1].start), 8192);
	crash("boot-2");
}

/* The thread does it, and a stop does not wait for anything. */
static void test_by_itself(void **state)
{
	fx_close(&f);
	f.cfg.ahead_bytes = AHEAD;
	fx_open_ok(&f);
	for (int i = 0; length(0) < nfs4r_store_position(f.s) + AHEAD / 2; i++) {
		assert_true(i < 10000);
		usleep(1000);
	}
	fill(20 * AHEAD);
	mk(&f, &f.root, "last", NFS4R_TYPE_FILE);
	crash("boot-1");
	assert_true(has("last"));
}

/* ---- a start ---- */

/* Zeros say nothing about whether anything is missing: that is the boot's business, or CLOSE's. */
static void test_end_is_where_zeros_begin(void **state)
{
	nfs4r_journal_pos end;
	uint64_t size;

	lay_out();
	mk(&f, &f.root, "a", NFS4R_TYPE_FILE);
	end = nfs4r_store_position(f.s);
	size = length(0);
	crash("boot-1");
	assert_true(f.info.tail_intact);
	assert_true(has("a"));
	assert_true(nfs4r_store_position(f.s) > end);
	assert_int_equal(length(0), size); /* they are of use to this run */
	assert_int_equal(f.s->jnl.laid, size);
	fx_close(&f);
	f.cfg.boot_id = "boot-2";
	fx_open_ok(&f);
	assert_true(f.info.tail_intact);
	crash("boot-3");
	assert_false(f.info.tail_intact);
	assert_true(has("a"));
	assert_int_equal(length(0), size);
}

/* The block of a record never came to the disk, that of the one behind it did: it goes, whatever is appended later. */
static void test_behind_zeros_is_cut_off(void **state)
{
	nfs4r_journal_pos end, after;

	lay_out();
	assert_int_equal(nfs4r_store_sync(f.s, nfs4r_store_position(f.s)), NFS4R_OK);
	end = nfs4r_store_position(f.s);
	fill(600);
	after = nfs4r_store_position(f.s);
	mk(&f, &f.root, "lost", NFS4R_TYPE_FILE);
	fx_crash(&f);
	overwrite(end, 0, after - end);
	f.cfg.boot_id = "boot-2";
	fx_open_ok(&f);
	assert_false(f.info.tail_intact);
	assert_false(has("lost"));
	assert_int_equal(length(0), nfs4r_store_position(f.s));
	lay_out();
	fill(10);
	crash("boot-2");
	assert_false(has("lost"));
}

static void test_behind_zeros_in_the_same_boot_is_damage(void **state)
{
	nfs4r_journal_pos end, after;

	lay_out();
	end = nfs4r_store_position(f.s);
	fill(600);
	after = nfs4r_store_position(f.s);
	mk(&f, &f.root, "lost", NFS4R_TYPE_FILE);
	fx_crash(&f);
	overwrite(end, 0, after - end);
	assert_int_equal(fx_open(&f), NFS4R_CORRUPT);
	assert_non_null(strstr(f.why, "records follow it"));
}

/* What a killed process wrote of its last record. */
static void test_torn_in_zeros(void **state)
{
	nfs4r_journal_pos end;

	lay_out();
	mk(&f, &f.root, "whole", NFS4R_TYPE_FILE);
	end = nfs4r_store_position(f.s);
	mk(&f, &f.root, "torn", NFS4R_TYPE_FILE);
	fx_crash(&f);
	overwrite(end + 40, 0, 2000);
	fx_open_ok(&f);
	assert_true(f.info.tail_intact);
	assert_true(has("whole"));
	assert_false(has("torn"));
	assert_int_equal(length(0), nfs4r_store_position(f.s));
}

/* LMDB has more than the journal: zeros are no excuse. */
static void test_zeros_before_the_checkpoint_are_damage(void **state)
{
	nfs4r_journal_pos end = nfs4r_store_position(f.s);

	lay_out();
	mk(&f, &f.root, "a", NFS4R_TYPE_FILE);
	assert_int_equal(nfs4r_store_checkpoint(f.s, NULL, NULL, NULL), NFS4R_OK);
	fx_crash(&f);
	overwrite(end, 0, 4096);
	f.cfg.boot_id = "boot-2";
	assert_int_equal(fx_open(&f), NFS4R_CORRUPT);
	assert_non_null(strstr(f.why, "lmdb holds the journal up to"));
}

/* The file system may not have made it shorter before power was lost. */
static void test_zeros_of_a_file_that_is_not_the_last(void **state)
{
	uint64_t size;
	int fd;

	fx_close(&f);
	f.cfg.segment_bytes = 8192;
	fx_open_ok(&f);
	fill(8192);
	mk(&f, &f.root, "later", NFS4R_TYPE_FILE);
	fx_crash(&f);
	size = length(0);
	fd = open_journal(0);
	assert_int_equal(ftruncate(fd, (off_t)size + 4096), 0);
	close(fd);
	f.cfg.boot_id = "boot-2";
	fx_open_ok(&f);
	assert_true(has("later"));
	assert_int_equal(length(0), size);
	fx_crash(&f);
	fd = open_journal(0);
	assert_int_equal(ftruncate(fd, (off_t)size + 4096), 0);
	close(fd);
	overwrite(size + 2048, 1, 8);
	assert_int_equal(fx_open(&f), NFS4R_CORRUPT);
}

/* ---- disks ---- */

static void test_no_room(void **state)
{
	nfs4r_journal_pos at = nfs4r_store_position(f.s);

	disk.full = true;
	lay_out();
	lay_out();
	assert_int_equal(disk.asked, 1);
	assert_int_equal(length(0), at);
	mk(&f, &f.root, "a", NFS4R_TYPE_FILE); /* into what room there is */
	assert_int_equal(nfs4r_store_sync(f.s, nfs4r_store_position(f.s)), NFS4R_OK);
	disk.full = false;
	fill(AHEAD);
	lay_out();
	assert_int_equal(disk.asked, 2);
	assert_int_equal(length(0), nfs4r_store_position(f.s) + AHEAD);
}

/* The kernel tells it once, and records may be among what it lost. */
static void test_a_sync_that_fails_is_final(void **state)
{
	disk.broken = true;
	lay_out();
	disk.broken = false;
	assert_int_equal(nfs4r_store_put(f.s, &(struct nfs4r_put){ .key_len = 1, .val_len = 1 }, 1), NFS4R_IO);
	assert_int_equal(nfs4r_store_sync(f.s, nfs4r_store_position(f.s)), NFS4R_OK); /* of before */
}

/* Both syncs are inside the kernel at the same time, and it tells each open file once. */
static void test_a_sync_beside_it_hears_of_the_error_too(void **state)
{
	mk(&f, &f.root, "a", NFS4R_TYPE_FILE);
	disk.lost = true;
	lay_out();
	assert_int_equal(disk.meanwhile, NFS4R_IO);
}

static void test_a_sync_beside_a_cut_hears_of_the_error_too(void **state)
{
	struct rlimit before, small;

	mk(&f, &f.root, "a", NFS4R_TYPE_FILE);
	disk.lost = true;
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	small = before;
	small.rlim_cur = length(0) + 40;
	setrlimit(RLIMIT_FSIZE, &small);
	assert_int_equal(nfs4r_store_put(f.s, &(struct nfs4r_put){ .key_len = 1, .val_len = 200 }, 1), NFS4R_IO);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(disk.meanwhile, NFS4R_IO);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_appends_find_room),
		T(test_beyond_what_is_laid_out),
		T(test_not_beyond_the_segment),
		T(test_by_itself),
		T(test_end_is_where_zeros_begin),
		T(test_behind_zeros_is_cut_off),
		T(test_behind_zeros_in_the_same_boot_is_damage),
		T(test_torn_in_zeros),
		T(test_zeros_before_the_checkpoint_are_damage),
		T(test_zeros_of_a_file_that_is_not_the_last),
		T(test_no_room),
		T(test_a_sync_that_fails_is_final),
		T(test_a_sync_beside_it_hears_of_the_error_too),
		T(test_a_sync_beside_a_cut_hears_of_the_error_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
