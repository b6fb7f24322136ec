/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A store whose files are not what this server wrote: it is opened, read, given a checkpoint and opened again. Each of that ends in an error or in a store that keeps
 * its promises; what could be opened once can be opened again with the same positions.
 *
 * Input: a byte of flags (BOOT: the machine was started anew; FAILED: the files could not be synced), then items: a byte (enum item), two of length, the bytes. Records get
 * the frame and the checksum that belong to them: damage that a checksum finds is what ITEM_RAW is for.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "store/bytes.h"
#include "store/internal.h"

enum {
	BOOT = 1,
	FAILED = 2
};
/*
 * RECORD: two bytes of type, the body. PUT: a byte of database, one of the key's length, key, value. ZEROS: two bytes, how many. ROW: OID and row, which gets the number of
 * parents that goes with its length.
 */
enum item {
	ITEM_RECORD,
	ITEM_RAW,
	ITEM_SEGMENT,
	ITEM_ZEROS,
	ITEM_PUT,
	ITEM_ROW,
	ITEMS
};

/* Nobody closes a hole while a checkpoint waits for it. */
int __wrap_pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *lock, clockid_t clock, const struct timespec *until);
int __wrap_pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *lock, clockid_t clock, const struct timespec *until)
{
	return ETIMEDOUT;
}

static char dir[128], lmdb_dir[160], fresh[192];
static struct nfs4r_store_config cfg;

static void remove_all(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char file[512];

		snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
		if (e->d_name[0] != '.' && unlink(file) != 0)
			remove_all(file);
	}
	if (d)
		closedir(d);
	rmdir(path);
}

static void clean_up(void)
{
	remove_all(dir);
	unlink(fresh);
}

static void copy(const char *from, const char *to)
{
	char buf[65536];
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ssize_t n;

	FUZZ_CHECK(in >= 0 && out >= 0);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		FUZZ_CHECK(write(out, buf, (size_t)n) == n);
	close(in);
	close(out);
}

/* A new store's LMDB is made once. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct nfs4r_store_info info;
	struct nfs4r_store *s;
	char why[NFS4R_WHY], data[256];
	const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

	snprintf(dir, sizeof(dir), "%s/nfs4r-fuzz-store-%d", base, getpid());
	snprintf(lmdb_dir, sizeof(lmdb_dir), "%s/lmdb", dir);
	snprintf(fresh, sizeof(fresh), "%s.mdb", dir);
	cfg.dir = dir;
	memcpy(cfg.volume, "volume-for-tests", 16);
	cfg.self = 1;
	cfg.map_bytes = 1 << 20;
	cfg.segment_bytes = 1 << 16;
	cfg.boot_id = "boot-1";
	cfg.formats = (struct nfs4r_versions){ NFS4R_DISK_FORMAT_LOWEST, NFS4R_DISK_FORMAT_LOCKS };
	FUZZ_CHECK(nfs4r_store_open(&cfg, &s, &info, why) == NFS4R_OK);
	nfs4r_store_close(s);
	snprintf(data, sizeof(data), "%s/data.mdb", lmdb_dir);
	copy(data, fresh);
	remove_all(dir);
	atexit(clean_up);
	return 0;
}

/* ---- files from the input ---- */

struct files {
	struct nfs4r_journal jnl; /* for the headers */
	int fd; /* of the newest segment; -1: none yet */
	uint64_t pos;
	MDB_env *env;
	MDB_txn *txn;
};

static void add_bytes(struct files *f, const void *bytes, size_t len)
{
	FUZZ_CHECK(write(f->fd, bytes, len) == (ssize_t)len);
	f->pos += len;
}

static void add_segment(struct files *f)
{
	uint8_t header[SEG_HEADER];
	char name[32], path[192];

	if (f->fd >= 0)
		close(f->fd);
	store_seg_name(f->pos, name);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	FUZZ_CHECK(f->fd >= 0);
	store_seg_header(header, &f->jnl, f->pos);
	add_bytes(f, header, sizeof(header));
}

static void add_record(struct files *f, const uint8_t *bytes, size_t len)
{
	struct nfs4r_wbuf w = { 0 };

	if (len < 2)
		return;
	store_rec_begin(&w, (enum nfs4r_rec)(bytes[0] << 8 | bytes[1]));
	store_rec_bytes(&w, bytes + 2, len - 2);
	store_rec_end(&w);
	store_rec_seal(&w, f->pos);
	add_bytes(f, w.p, w.len);
	free(w.p);
}

static void put_value(struct files *f, const char *name, MDB_val key, MDB_val val)
{
	MDB_dbi dbi;

	if (mdb_dbi_open(f->txn, name, MDB_CREATE, &dbi) != 0) /* that of locks is not there yet */
		return;
	if (val.mv_size)
		(void)mdb_put(f->txn, dbi, &key, &val, 0);
	else
		(void)mdb_del(f->txn, dbi, &key, NULL);
}

static void add_put(struct files *f, const uint8_t *bytes, size_t len)
{
	static const char *const names[] = { "meta", "rows", "names", "cookies", "handles", "core", "marks", "locks" };

	if (len >= 2 && bytes[1] <= len - 2)
		put_value(f, names[bytes[0] % 8], (MDB_val){ bytes[1], (void *)(uintptr_t)(bytes + 2) },
			  (MDB_val){ len - 2 - bytes[1], (void *)(uintptr_t)(bytes + 2 + bytes[1]) });
}

static void add_row(struct files *f, uint8_t *bytes, size_t len)
{
	uint8_t *row = bytes + 16;
	size_t variable;

	if (len < 16 + ROW_FIXED)
		return;
	variable = len - 16 - ROW_FIXED;
	if (row[52] > variable)
		row[52] = (uint8_t)variable;
	put_be32(row + 44, (uint32_t)(variable - row[52]) / 20);
	put_value(f, "rows", (MDB_val){ 16, bytes }, (MDB_val){ ROW_FIXED + row[52] + (variable - row[52]) / 20 * 20, row });
}

static void add_item(struct files *f, struct fuzz_in *in)
{
	static const uint8_t zeros[65536];
	enum item item = fuzz_u8(in) % ITEMS;
	size_t len;
	uint8_t *bytes = fuzz_bytes(in, fuzz_u16(in), &len);

	if (item == ITEM_SEGMENT)
		add_segment(f);
	else if (item == ITEM_RAW)
		add_bytes(f, bytes, len);
	else if (item == ITEM_ZEROS && len >= 2)
		add_bytes(f, zeros, (size_t)(bytes[0] << 8 | bytes[1]));
	else if (item == ITEM_RECORD)
		add_record(f, bytes, len);
	else if (item == ITEM_PUT)
		add_put(f, bytes, len);
	else if (item == ITEM_ROW)
		add_row(f, bytes, len);
	free(bytes);
}

static void make_files(struct fuzz_in *in, uint8_t flags)
{
	struct files f = { .fd = -1 };
	char path[256];

	memcpy(f.jnl.volume, cfg.volume, 16);
	f.jnl.self = cfg.self;
	FUZZ_CHECK(mkdir(dir, 0700) == 0 && mkdir(lmdb_dir, 0700) == 0);
	snprintf(path, sizeof(path), "%s/data.mdb", lmdb_dir);
	copy(fresh, path);
	FUZZ_CHECK(mdb_env_create(&f.env) == 0 && mdb_env_set_maxdbs(f.env, 8) == 0 && mdb_env_set_mapsize(f.env, 1 << 20) == 0);
	FUZZ_CHECK(mdb_env_open(f.env, lmdb_dir, MDB_NOSYNC | MDB_NOLOCK, 0600) == 0 && mdb_txn_begin(f.env, NULL, 0, &f.txn) == 0);
	add_segment(&f);
	for (int i = 0; in->left > 0 && i < 100; i++)
		add_item(&f, in);
	close(f.fd);
	(void)mdb_txn_commit(f.txn); /* a full map: the items before are not there either */
	mdb_env_close(f.env);
	snprintf(path, sizeof(path), "%s/files-failed", dir);
	if (flags & FAILED)
		close(open(path, O_WRONLY | O_CREAT, 0600));
}

/* ---- what a server does with a store ---- */

static void core_row(void *arg, const uint8_t *key, uint16_t key_len, const uint8_t *val, uint16_t val_len)
{
	*(unsigned *)arg += key_len + (val_len ? val[val_len - 1] : 0u);
}

static enum nfs4r_status kept(void *arg, const struct nfs4r_oid *oid, uint64_t off, const uint8_t *data, uint32_t len)
{
	*(unsigned *)arg += len ? data[len - 1] : 0u;
	return NFS4R_OK;
}

static int files_synced(void *arg)
{
	return 0;
}

static void look_at(struct nfs4r_store *s, const struct nfs4r_oid *oid)
{
	static struct nfs4r_dirent names[16];
	struct nfs4r_oid parents[NFS4R_PARENTS_MAX], found;
	struct nfs4r_copy_row copied;
	struct nfs4r_file_lock locks[4];
	uint8_t handle[NFS4R_LOCAL_HANDLE_MAX];
	struct nfs4r_row row;
	uint32_t n;

	nfs4r_store_row(s, oid, &row);
	nfs4r_store_copy_row(s, oid, &copied);
	nfs4r_store_parents(s, oid, parents, NFS4R_PARENTS_MAX);
	n = nfs4r_store_locks(s, oid, locks, 4);
	FUZZ_CHECK(n <= NFS4R_LOCKS_LIST_MAX);
	for (uint32_t i = 0; i < n && i < 4; i++)
		FUZZ_CHECK(locks[i].lock.start <= locks[i].lock.last && locks[i].holder && locks[i].holder <= NFS4R_SERVERS_MAX);
	n = nfs4r_store_handle(s, oid, handle);
	FUZZ_CHECK(n <= NFS4R_LOCAL_HANDLE_MAX);
	if (n)
		nfs4r_store_by_handle(s, handle, n, &found);
	n = nfs4r_store_readdir(s, oid, 0, names, 16);
	for (uint32_t i = 0; i < n; i++) {
		struct nfs4r_dirent d;

		FUZZ_CHECK(names[i].name.len <= NFS4R_NAME_MAX && names[i].name.s[names[i].name.len] == '\0');
		FUZZ_CHECK(i == 0 || names[i].cookie > names[i - 1].cookie);
		nfs4r_store_lookup(s, oid, &names[i].name, &d);
	}
}

static void look_at_all(struct nfs4r_store *s, const struct nfs4r_store_info *info)
{
	struct nfs4r_oid oids[16], after = { { 0 } }, *marked;
	const struct nfs4r_extent *dropped;
	const struct nfs4r_given_back *back;
	unsigned sum = 0;
	uint32_t n;

	for (uint32_t i = 0; i < info->nintents; i++)
		nfs4r_entry_put(nfs4r_store_intent_at(s, i));
	nfs4r_store_each_core_row(s, core_row, &sum);
	(void)nfs4r_store_each_inline(s, kept, &sum);
	n = nfs4r_store_marked(s, &marked);
	if (n != UINT32_MAX)
		free(marked);
	nfs4r_store_dropped(s, &dropped);
	nfs4r_store_given_back(s, &back);
	for (int k = 0; k < 4 && (n = nfs4r_store_each_oid(s, &after, oids, 16)) > 0; k++) {
		for (uint32_t i = 0; i < n; i++) {
			FUZZ_CHECK(memcmp(oids[i].b, after.b, 16) > 0);
			after = oids[i];
			look_at(s, &after);
		}
	}
	for (nfs4r_server_id log = 1; log <= NFS4R_SERVERS_MAX; log++) {
		nfs4r_lsn lsn, last;

		nfs4r_store_log_range(s, log, &lsn, &last);
		for (int k = 0; lsn && k < 16; k++, lsn = nfs4r_store_log_next(s, log, lsn))
			nfs4r_entry_put(nfs4r_store_log_read(s, log, lsn));
	}
	*(volatile unsigned *)&sum = sum;
}

static enum nfs4r_status open_store(struct nfs4r_store **s, struct nfs4r_store_info *info)
{
	char why[NFS4R_WHY] = "";
	enum nfs4r_status st = nfs4r_store_open(&cfg, s, info, why);

	if (st != NFS4R_OK)
		FUZZ_CHECK(!*s && why[0] && strlen(why) < NFS4R_WHY);
	if (st != NFS4R_OK && getenv("FUZZ_TELL"))
		fprintf(stderr, "%s: %s\n", nfs4r_status_str(st), why);
	return st;
}

static void use_store(void)
{
	struct nfs4r_store_info first, again;
	nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1];
	enum nfs4r_status st;
	struct nfs4r_store *s;

	if (open_store(&s, &first) != NFS4R_OK)
		return;
	look_at_all(s, &first);
	nfs4r_store_leave(s);
	FUZZ_CHECK(open_store(&s, &again) == NFS4R_OK);
	FUZZ_CHECK(again.nintents == first.nintents);
	FUZZ_CHECK(again.tail_intact == first.tail_intact || first.inc == 1); /* no run, no tail */
	FUZZ_CHECK(again.inc > first.inc);
	for (int log = 1; log <= NFS4R_SERVERS_MAX; log++)
		FUZZ_CHECK(again.logs[log].applied == first.logs[log].applied && again.logs[log].base == first.logs[log].base);
	st = nfs4r_store_checkpoint(s, files_synced, NULL, stable);
	look_at_all(s, &again);
	nfs4r_store_close(s);
	if (st != NFS4R_OK)
		return;
	FUZZ_CHECK(open_store(&s, &again) == NFS4R_OK);
	look_at_all(s, &again);
	nfs4r_store_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_in in = { data, len };
	uint8_t flags = fuzz_u8(&in);

	make_files(&in, flags);
	cfg.boot_id = flags & BOOT ? "boot-2" : "boot-1";
	use_store();
	remove_all(dir);
	return 0;
}
