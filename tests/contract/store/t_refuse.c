/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What open() refuses, in words, leaving everything as it was; and disks that are full. */
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <lmdb.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "store/internal.h"

static struct fx f;

static int setup(void **state)
{
	fx_begin(&f, 4096);
	for (int i = 0; i < 40; i++)
		mk(&f, &f.root, (char[]){ 'a', '0' + i, 0 }, NFS4R_TYPE_FILE);
	assert_int_equal(nfs4r_store_checkpoint(f.s, NULL, NULL, NULL), NFS4R_OK);
	mk(&f, &f.root, "later", NFS4R_TYPE_FILE);
	fx_close(&f);
	return 0;
}

static int teardown(void **state)
{
	fx_fini(&f);
	return 0;
}

/* Names, sizes and bytes, but for the lock files and LMDB's. */
static uint64_t fingerprint(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	uint64_t sum = 0;

	assert_non_null(d);
	while ((e = readdir(d))) {
		char path[600];
		uint64_t h = 14695981039346656037u;
		struct stat sb;
		FILE *file;
		int c;

		if (e->d_name[0] == '.' || !strncmp(e->d_name, "lock", 4))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		assert_int_equal(stat(path, &sb), 0);
		for (const char *p = e->d_name; *p; p++)
			h = (h ^ (uint8_t)*p) * 1099511628211u;
		if (S_ISDIR(sb.st_mode)) {
			sum += h ^ fingerprint(path);
			continue;
		}
		file = fopen(path, "r");
		while ((c = getc(file)) != EOF)
			h = (h ^ (uint8_t)c) * 1099511628211u;
		fclose(file);
		sum += h;
	}
	closedir(d);
	return sum;
}

static void assert_refused(enum nfs4r_status st, const char *word, const char *word2)
{
	uint64_t before = fingerprint(f.dir);

	assert_int_equal(fx_open(&f), st);
	if (!strstr(f.why, word) || !strstr(f.why, word2))
		fail_msg("wanted '%s' and '%s' in: %s", word, word2, f.why);
	assert_true(before == fingerprint(f.dir));
}

static void path_of(char out[512], const char *name)
{
	snprintf(out, 512, "%s/%s", f.dir, name);
}

static void test_locked_by_another_process(void **state)
{
	char pid[24];
	int ready[2], done[2];
	pid_t child;
	char c;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(done), 0);
	child = fork();
	if (!child) {
		close(done[1]);
		fx_open_ok(&f);
		if (write(ready[1], "x", 1) != 1 || read(done[0], &c, 1) != 0)
			_exit(1);
		_exit(0); /* killed, as far as the store can tell */
	}
	close(done[0]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	snprintf(pid, sizeof(pid), "process %d", (int)child);
	assert_refused(NFS4R_LOCKED, pid, f.dir);
	close(done[1]);
	waitpid(child, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	fx_open_ok(&f);
	assert_int_equal(f.info.logs[1].applied, 41);
}

static void test_locked_by_this_process(void **state)
{
	struct fx g = f;

	fx_open_ok(&f);
	assert_int_equal(fx_open(&g), NFS4R_LOCKED);
}

static void test_other_volume(void **state)
{
	memcpy(f.cfg.volume, "anotheronevolume", 16);
	assert_refused(NFS4R_MISMATCH, "belongs to volume 766f6c75-", "616e6f74-");
}

static void test_other_server(void **state)
{
	f.cfg.self = 2;
	assert_refused(NFS4R_MISMATCH, "belongs to server 1", "server 2");
	f.cfg.self = 1;
	fx_open_ok(&f);
}

static void test_bad_config(void **state)
{
	f.cfg.self = 0;
	assert_refused(NFS4R_BADCONFIG, "server id 0", "1 to 15");
	f.cfg.self = NFS4R_SERVERS_MAX + 1;
	assert_refused(NFS4R_BADCONFIG, "server id 16", "1 to 15");
}

static void set_lmdb_meta(size_t off, const void *bytes, size_t len)
{
	char name[] = "store";
	MDB_val key = { 5, name }, val;
	uint8_t copy[4096];
	char path[512];
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;

	path_of(path, "lmdb");
	assert_int_equal(mdb_env_create(&env), 0);
	assert_int_equal(mdb_env_set_maxdbs(env, 16), 0);
	assert_int_equal(mdb_env_open(env, path, 0, 0600), 0);
	assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
	assert_int_equal(mdb_dbi_open(txn, "meta", 0, &dbi), 0);
	assert_int_equal(mdb_get(txn, dbi, &key, &val), 0);
	memcpy(copy, val.mv_data, val.mv_size);
	assert_true(off + len <= val.mv_size);
	memcpy(copy + off, bytes, len);
	val.mv_data = copy;
	assert_int_equal(mdb_put(txn, dbi, &key, &val, 0), 0);
	assert_int_equal(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
}

/* ---- reading ---- */

/* Every slot for readers in the database's lock file, until the pipe is closed. */
static void take_readers(int told, int until)
{
	char path[512];
	MDB_env *env;
	MDB_txn *txn;

	path_of(path, "lmdb");
	if (mdb_env_create(&env) || mdb_env_open(env, path, MDB_NOTLS | MDB_RDONLY, 0600))
		_exit(1);
	for (int i = 0; i < 5000; i++)
		if (mdb_txn_begin(env, NULL, MDB_RDONLY, &txn)) {
			if (write(told, "x", 1) == 1)
				(void)!read(until, path, 1);
			_exit(0);
		}
	_exit(1);
}

static void test_the_database_cannot_be_read(void **state)
{
	struct nfs4r_dirent ent[64];
	int told[2], until[2];
	char byte;

	fx_open_ok(&f);
	assert_int_equal(nfs4r_store_readdir(f.s, &f.root, 0, ent, 64), 41);
	assert_false(nfs4r_store_failed(f.s));
	assert_int_equal(pipe(told) | pipe(until), 0);
	pid_t pid = fork();
	if (!pid) {
		close(until[1]);
		take_readers(told[1], until[0]);
	}
	close(told[1]);
	close(until[0]);
	assert_int_equal(read(told[0], &byte, 1), 1);
	struct nfs4r_reader *kept = store_db_begin(&f.s->db); /* that of the listing before */

	assert_int_equal(nfs4r_store_readdir(f.s, &f.root, 0, ent, 64), 1); /* what the overlay has */
	assert_true(nfs4r_store_failed(f.s));
	store_db_end(&f.s->db, kept);
	close(until[1]);
	close(told[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(nfs4r_store_failed(f.s));
	fx_close(&f);
}

static void test_other_format(void **state)
{
	set_lmdb_meta(0, "\0\0\0\7", 4);
	assert_refused(NFS4R_MISMATCH, "disk format 7", "format 1");
}

static void write_at(const char *name, off_t off, const char *bytes, size_t len)
{
	char path[512];
	int fd;

	path_of(path, name);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, len, off), len);
	close(fd);
}

/* The last segment's name. */
static void last_segment(char out[64])
{
	DIR *d = opendir(f.dir);
	struct dirent *e;

	out[0] = 0;
	while ((e = readdir(d))) {
		if (!strncmp(e->d_name, "journal-", 8) && strcmp(e->d_name, out) > 0)
			snprintf(out, 64, "%.24s", e->d_name);
	}
	closedir(d);
}

static void test_other_format_of_the_journal(void **state)
{
	char name[64];

	last_segment(name);
	write_at(name, 8, "\0\0\0\5", 4);
	assert_refused(NFS4R_MISMATCH, "disk format 5", name);
}

/* As whole as those before it. */
static void append_record(enum nfs4r_rec type, const uint8_t *body, size_t len)
{
	struct nfs4r_wbuf w = { 0 };
	char name[64], path[512];
	struct stat sb;

	last_segment(name);
	path_of(path, name);
	assert_int_equal(stat(path, &sb), 0);
	store_rec_begin(&w, type);
	store_rec_bytes(&w, body, len);
	store_rec_end(&w);
	store_rec_seal(&w, strtoull(name + 8, NULL, 16) + sb.st_size);
	write_at(name, sb.st_size, (const char *)w.p, w.len);
	free(w.p);
}

/* In OIDs the generation of the log stands above the counter of starts: one that does not fit would make OIDs of another generation. */
static void test_a_counter_of_starts_that_does_not_fit(void **state)
{
	uint8_t open[16 + BOOT_ID_LEN] = { 0, 0, 0, 1 };

	strcpy((char *)open + 16, "boot-1");
	append_record(REC_OPEN, open, sizeof(open));
	assert_refused(NFS4R_CORRUPT, "(type 1) cannot be replayed", "resync from the others");
}

static void test_a_counter_of_starts_in_lmdb_that_does_not_fit(void **state)
{
	set_lmdb_meta(30 + NLOGS * 32, "\0\0\0\1\0\0\0\0", 8);
	assert_refused(NFS4R_CORRUPT, "lmdb/data.mdb is damaged", "");
}

static void test_other_volume_in_the_journal(void **state)
{
	struct fx g;
	char from[600], to[600], name[64];

	fx_init(&g);
	memcpy(g.cfg.volume, "anotheronevolume", 16);
	fx_open_ok(&g);
	fx_close(&g);
	last_segment(name);
	path_of(to, name);
	snprintf(from, sizeof(from), "%s/journal-0000000000000000", g.dir);
	assert_int_equal(rename(from, to), 0);
	assert_refused(NFS4R_MISMATCH, "belongs to volume 616e6f74-", name);
	remove_dir(g.dir);
}

static void test_lmdb_missing(void **state)
{
	char path[512];

	path_of(path, "lmdb/data.mdb");
	assert_int_equal(unlink(path), 0);
	assert_refused(NFS4R_CORRUPT, "lmdb/data.mdb is missing", "resync");
	close(open(path, O_CREAT | O_WRONLY, 0600));
	assert_refused(NFS4R_CORRUPT, "missing or empty", "resync");
}

static void test_lmdb_of_nothing(void **state)
{
	char path[512];
	MDB_env *env;

	path_of(path, "lmdb/data.mdb");
	assert_int_equal(unlink(path), 0);
	path_of(path, "lmdb");
	assert_int_equal(mdb_env_create(&env), 0);
	assert_int_equal(mdb_env_open(env, path, 0, 0600), 0);
	mdb_env_close(env);
	assert_int_equal(fx_open(&f), NFS4R_CORRUPT);
	assert_non_null(strstr(f.why, "lmdb is empty"));
}

static void test_lmdb_damaged(void **state)
{
	char junk[8192];

	memset(junk, 'x', sizeof(junk));
	write_at("lmdb/data.mdb", 0, junk, sizeof(junk));
	assert_refused(NFS4R_CORRUPT, "is damaged", "resync");
}

/* Each page in turn holds nonsense. It may be one that is not read; a start that reads it refuses, and never dies of it. */
static void test_each_page_damaged(void **state)
{
	char path[512], junk[4096];
	struct stat sb;

	memset(junk, 0x5a, sizeof(junk));
	path_of(path, "lmdb/data.mdb");
	assert_int_equal(stat(path, &sb), 0);
	for (off_t at = 2 * (off_t)sizeof(junk); at < sb.st_size; at += (off_t)sizeof(junk)) {
		char good[sizeof(junk)];
		int fd = open(path, O_RDONLY), status;
		pid_t pid;

		assert_int_equal(pread(fd, good, sizeof(good), at), sizeof(good));
		close(fd);
		write_at("lmdb/data.mdb", at, junk, sizeof(junk));
		pid = fork();
		if (pid == 0)
			_exit(fx_open(&f) == NFS4R_OK ? 0 : 1);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		write_at("lmdb/data.mdb", at, good, sizeof(good));
	}
}

static void test_foreign_lmdb(void **state)
{
	char k[] = "k", v[] = "v";
	MDB_val key = { 1, k }, val = { 1, v };
	char path[512];
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;

	remove_dir(f.dir);
	assert_int_equal(mkdir(f.dir, 0700), 0);
	path_of(path, "lmdb");
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(mdb_env_create(&env), 0);
	assert_int_equal(mdb_env_open(env, path, 0, 0600), 0);
	assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
	assert_int_equal(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
	assert_int_equal(mdb_put(txn, dbi, &key, &val, 0), 0);
	assert_int_equal(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
	assert_refused(NFS4R_CORRUPT, "is damaged", "lmdb");
}

static void test_journal_missing(void **state)
{
	char name[64], path[512];

	last_segment(name);
	path_of(path, name);
	assert_int_equal(unlink(path), 0);
	assert_refused(NFS4R_CORRUPT, "journal", f.dir);
	for (last_segment(name); name[0]; last_segment(name)) {
		path_of(path, name);
		assert_int_equal(unlink(path), 0);
	}
	assert_refused(NFS4R_CORRUPT, "no journal files", "resync");
}

static void test_a_journal_file_missing_in_the_middle(void **state)
{
	char path[512];
	DIR *d = opendir(f.dir);
	struct dirent *e;
	char last[64];

	last_segment(last);
	while ((e = readdir(d))) {
		if (!strncmp(e->d_name, "journal-", 8) && strcmp(e->d_name, "journal-0000000000000000") &&
		    strcmp(e->d_name, last))
			break;
	}
	assert_non_null(e);
	path_of(path, e->d_name);
	closedir(d);
	assert_int_equal(unlink(path), 0);
	assert_refused(NFS4R_CORRUPT, "a journal file is missing", f.dir);
}

static void test_the_oldest_journal_file_missing(void **state)
{
	char path[512];

	path_of(path, "journal-0000000000000000");
	assert_int_equal(unlink(path), 0);
	assert_refused(NFS4R_CORRUPT, "entry 1 of the log of server 1 is missing", "restore them");
}

static void test_lmdb_newer_than_the_journal(void **state)
{
	struct fx old = f;

	temp_dir(old.dir);
	copy_dir(f.dir, old.dir);
	fx_open_ok(&f);
	for (int i = 0; i < 40; i++)
		mk(&f, &f.root, (char[]){ 'B', '0' + i, 0 }, NFS4R_TYPE_FILE);
	assert_int_equal(nfs4r_store_checkpoint(f.s, NULL, NULL, NULL), NFS4R_OK);
	fx_close(&f);
	{
		char from[600], to[600];

		path_of(from, "lmdb/data.mdb");
		snprintf(to, sizeof(to), "%s/lmdb/data.mdb", old.dir);
		assert_int_equal(rename(from, to), 0);
	}
	assert_int_equal(fx_open(&old), NFS4R_CORRUPT);
	assert_non_null(strstr(old.why, "from different times"));
	remove_dir(old.dir);
}

static void test_not_a_directory(void **state)
{
	char path[512];

	path_of(path, "lock");
	f.cfg.dir = path;
	assert_true(nfs4r_store_open(&f.cfg, &f.s, &f.info, f.why) != NFS4R_OK);
	assert_non_null(strstr(f.why, "must be a directory"));
	/* Made and then refused: gone again. */
	path_of(path, "new");
	f.cfg.dir = path;
	f.cfg.map_bytes = 1ull << 62;
	assert_true(nfs4r_store_open(&f.cfg, &f.s, &f.info, f.why) != NFS4R_OK);
	f.cfg.map_bytes = 0;
	f.cfg.dir = "/nonexistent-parent/store";
	assert_int_equal(nfs4r_store_open(&f.cfg, &f.s, &f.info, f.why), NFS4R_NOENT);
	assert_non_null(strstr(f.why, "/nonexistent-parent/store"));
}

static void test_interrupted_creation_is_taken_up(void **state)
{
	char name[64], path[512];

	/* A last segment whose header was not yet written, or only its length. */
	for (int len = 0; len <= 64; len += 32) {
		fx_open_ok(&f);
		snprintf(name, sizeof(name), "journal-%016lx", (unsigned long)nfs4r_store_position(f.s));
		fx_crash(&f);
		path_of(path, name);
		assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
		assert_int_equal(truncate(path, len), 0);
		fx_open_ok(&f);
		assert_true(f.info.tail_intact);
		assert_int_equal(f.info.logs[1].applied, 41);
		fx_close(&f);
	}
	/* Killed between LMDB and the journal of the very first open. */
	fx_open_ok(&f);
	fx_close(&f);
	remove_dir(f.dir);
	fx_open_ok(&f);
	fx_close(&f);
	path_of(path, "journal-0000000000000000");
	assert_int_equal(truncate(path, 0), 0);
	fx_open_ok(&f);
	assert_int_equal(f.info.inc, 1);
}

/* ---- full disks ----------------------------------------------------------------------- */

static off_t last_synced; /* length of the file that was synced last */
static int sync_fails; /* errno value; 0: it works */
static bool counts;
static off_t written; /* meanwhile */

/* In place of the C library's. */
int fdatasync(int fd)
{
	struct stat sb;

	if (sync_fails) {
		errno = sync_fails;
		return -1;
	}
	if (!fstat(fd, &sb))
		last_synced = sb.st_size;
	return (int)syscall(SYS_fdatasync, fd);
}

ssize_t pwrite(int fd, const void *b, size_t n, off_t at)
{
	if (counts)
		written += (off_t)n;
	return syscall(SYS_pwrite64, fd, b, n, at);
}

/* Log 4.8: memory has what the disk perhaps lacks, and calls it clean. So the next start, in the same life of the machine, takes the tail for lost and writes again what it reads. */
static void test_after_a_sync_that_failed_the_journal_is_written_again(void **state)
{
	struct nfs4r_oid oid;
	char path[512];
	char *was, *is;
	off_t usual, lies; /* in memory only, as far as anybody can tell */

	fx_open_ok(&f);
	commit(&f, e_create(&f, 1, &f.root, "x", NFS4R_TYPE_FILE, &oid));
	fx_crash(&f);
	written = 0;
	counts = true;
	fx_open_ok(&f);
	counts = false;
	usual = written;
	commit(&f, e_create(&f, 2, &f.root, "y", NFS4R_TYPE_FILE, &oid));
	sync_fails = ENOSPC;
	assert_int_equal(nfs4r_store_sync(f.s, nfs4r_store_position(f.s)), NFS4R_IO);
	sync_fails = 0;
	assert_int_equal(nfs4r_store_broken(f.s), NFS4R_NOSPC);
	assert_int_equal(nfs4r_store_sync(f.s, nfs4r_store_position(f.s)), NFS4R_IO);
	path_of(path, "sync-failed");
	assert_int_equal(access(path, F_OK), 0);
	was = dump_store(&f);
	lies = (off_t)(nfs4r_store_position(f.s) - f.s->lmdb.pos);
	fx_crash(&f);
	written = 0;
	counts = true;
	fx_open_ok(&f);
	counts = false;
	assert_true(lies > 500 && written >= usual + lies);
	assert_false(f.info.tail_intact);
	assert_int_not_equal(access(path, F_OK), 0);
	is = dump_store(&f);
	assert_string_equal(is, was);
	fx_crash(&f);
	fx_open_ok(&f);
	assert_false(f.info.tail_intact); /* until it is back */
	assert_int_equal(nfs4r_store_recovered(f.s), NFS4R_OK);
	fx_crash(&f);
	fx_open_ok(&f);
	assert_true(f.info.tail_intact);
	assert_int_equal(nfs4r_store_broken(f.s), NFS4R_OK);
	free(was);
	free(is);
}

/* A write that stops half way: what was written of it is taken back, and does not return with a loss of power, when another file may go on from here. */
static void test_short_write_is_cut_off(void **state)
{
	struct rlimit before, small;
	struct nfs4r_oid oid;
	struct nfs4r_entry *e;
	char name[64], path[512];
	struct stat sb;
	char *was, *is;

	fx_open_ok(&f);
	was = dump_store(&f);
	last_segment(name);
	path_of(path, name);
	assert_int_equal(stat(path, &sb), 0);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	small = before;
	small.rlim_cur = sb.st_size + 40;
	e = e_create(&f, 1, &f.root, "x", NFS4R_TYPE_FILE, &oid);
	last_synced = -1;
	setrlimit(RLIMIT_FSIZE, &small);
	assert_true(nfs4r_store_commit(f.s, e, true, NULL, 0) != NFS4R_OK);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(last_synced, sb.st_size);
	is = dump_store(&f);
	assert_string_equal(is, was);
	assert_int_equal(stat(path, &sb), 0);
	assert_int_equal(sb.st_size, small.rlim_cur - 40);
	commit(&f, e); /* there is space again */
	free(was);
	free(is);
	was = dump_store(&f);
	fx_close(&f);
	fx_open_ok(&f);
	is = dump_store(&f);
	assert_string_equal(is, was);
	free(was);
	free(is);
}

static void fill(const char *dir)
{
	char path[600], block[4096] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/filler", dir);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	while (write(fd, block, sizeof(block)) > 0)
		;
	close(fd);
}

/* A small file system of our own, gone with this process, and a store in it. False: not allowed. */
static bool on_small_file_system(struct fx *g, char *mnt, const char *size)
{
	int n;

	temp_dir(mnt);
	if ((unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS)) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", mnt, "tmpfs", 0, size)) {
		rmdir(mnt);
		print_message("not allowed to mount a tmpfs: skipped\n");
		return false;
	}
	fx_init(g);
	remove_dir(g->dir);
	n = snprintf(g->dir, sizeof(g->dir), "%s/s", mnt);
	assert_true(n < (int)sizeof(g->dir));
	fx_open_ok(g);
	return true;
}

/* What is set aside outlives a start, and is taken when the disk is full (log 4.12). */
static void test_what_is_set_aside_takes_the_last_records(void **state)
{
	struct nfs4r_entry *e;
	struct nfs4r_oid oid;
	char mnt[256];
	struct fx g;

	if (!on_small_file_system(&g, mnt, "size=4m"))
		skip();
	assert_int_equal(nfs4r_store_spare(g.s), 0);
	assert_true(nfs4r_store_keep_spare(g.s, 256 << 10));
	assert_in_range(nfs4r_store_spare(g.s), 256 << 10, 512 << 10);
	nfs4r_store_close(g.s);
	fx_open_ok(&g);
	assert_in_range(nfs4r_store_spare(g.s), 256 << 10, 512 << 10);
	fill(mnt);
	for (int i = 0; i < 100; i++) { /* more than fits into what is left of a page */
		e = e_create(&g, 1, &g.root, (char[]){ 'a' + i / 10, '0' + i % 10, 0 }, NFS4R_TYPE_FILE, &oid);
		assert_int_equal(nfs4r_store_commit(g.s, e, true, NULL, 0), NFS4R_OK);
		nfs4r_entry_put(e);
	}
	assert_int_equal(nfs4r_store_spare(g.s), 0);
	assert_false(nfs4r_store_give_spare(g.s));
	assert_false(nfs4r_store_keep_spare(g.s, 1 << 20));
	assert_int_equal(nfs4r_store_spare(g.s), 0);
	nfs4r_store_close(g.s);
	umount(mnt);
	rmdir(mnt);
}

static void test_full_file_system(void **state)
{
	struct nfs4r_entry *e = NULL;
	enum nfs4r_status st = NFS4R_OK;
	struct nfs4r_oid oid;
	char *was, *is, mnt[256], path[600];
	struct stat filler;
	struct fx g;

	if (!on_small_file_system(&g, mnt, "size=2m"))
		skip();
	fill(mnt);
	for (int i = 0; i < 100 && st == NFS4R_OK; i++) {
		if (e)
			nfs4r_entry_put(e);
		e = e_create(&g, 1, &g.root, (char[]){ 'a' + i / 10, '0' + i % 10, 0 }, NFS4R_TYPE_FILE, &oid);
		st = nfs4r_store_commit(g.s, e, true, NULL, 0);
	}
	assert_int_equal(st, NFS4R_NOSPC);
	was = dump_store(&g);
	assert_int_equal(nfs4r_store_checkpoint(g.s, NULL, NULL, NULL), NFS4R_NOSPC);
	is = dump_store(&g);
	assert_string_equal(was, is);
	free(is);
	snprintf(path, sizeof(path), "%s/filler", mnt);
	/* Room for a part of it: LMDB calls that an I/O error. */
	assert_int_equal(stat(path, &filler), 0);
	for (int pages = 1; pages < 64; pages++) {
		assert_int_equal(truncate(path, filler.st_size - 4096 * pages), 0);
		st = nfs4r_store_checkpoint(g.s, NULL, NULL, NULL);
		if (st == NFS4R_OK)
			break;
		assert_int_equal(st, NFS4R_NOSPC);
	}
	assert_int_equal(st, NFS4R_OK);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(nfs4r_store_checkpoint(g.s, NULL, NULL, NULL), NFS4R_OK);
	assert_int_equal(nfs4r_store_commit(g.s, e, true, NULL, 0), NFS4R_OK);
	nfs4r_entry_put(e);
	free(was);
	was = dump_store(&g);
	fx_close(&g);
	/* Opening needs space, and says so. */
	fill(mnt);
	if (fx_open(&g) == NFS4R_OK)
		fx_close(&g);
	else
		assert_non_null(strstr(g.why, mnt));
	assert_int_equal(unlink(path), 0);
	fx_open_ok(&g);
	is = dump_store(&g);
	assert_string_equal(was, is);
	free(was);
	free(is);
	fx_fini(&g);
	umount(mnt);
	rmdir(mnt);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_locked_by_another_process),
		T(test_locked_by_this_process),
		T(test_other_volume),
		T(test_other_server),
		T(test_bad_config),
		T(test_the_database_cannot_be_read),
		T(test_other_format),
		T(test_other_format_of_the_journal),
		T(test_a_counter_of_starts_that_does_not_fit),
		T(test_a_counter_of_starts_in_lmdb_that_does_not_fit),
		T(test_other_volume_in_the_journal),
		T(test_lmdb_missing),
		T(test_lmdb_of_nothing),
		T(test_lmdb_damaged),
		T(test_each_page_damaged),
		T(test_foreign_lmdb),
		T(test_journal_missing),
		T(test_a_journal_file_missing_in_the_middle),
		T(test_the_oldest_journal_file_missing),
		T(test_lmdb_newer_than_the_journal),
		T(test_not_a_directory),
		T(test_interrupted_creation_is_taken_up),
		T(test_after_a_sync_that_failed_the_journal_is_written_again),
		T(test_short_write_is_cut_off),
		T(test_what_is_set_aside_takes_the_last_records),
		T(test_full_file_system),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
