/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * LMDB: the environment in `lmdb/`, its databases, read transactions, growth, and the one meta record.
 *
 * Happy path: only a checkpoint writes, in one transaction that is fully synced, so the environment always
 * is the journal up to meta.pos. Readers take an idle read transaction from a pool (renewing one costs no
 * system call) and give it back.
 *
 * Failure modes: a full map is grown while no reader of this process is inside. Damage shows as LMDB's own
 * error codes; they become CORRUPT or IO, with the code's text.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/bytes.h"
#include "store/internal.h"

#define READERS_MAX 1000
#define PAD (256 * 1024) /* of holes behind the last page: an offset and two lengths of 16 bits */

enum nfs4r_status store_db_status(int rc)
{
	switch (rc) {
	case 0:
		return NFS4R_OK;
	case MDB_NOTFOUND:
		return NFS4R_NOENT;
	case MDB_MAP_FULL:
		return NFS4R_NOSPC;
	case MDB_CORRUPTED:
	case MDB_PAGE_NOTFOUND:
	case MDB_INVALID:
	case MDB_VERSION_MISMATCH:
	case MDB_PANIC:
	case MDB_BAD_TXN:
		return NFS4R_CORRUPT;
	default:
		return rc > 0 ? nfs4r_status_from_errno(rc) : NFS4R_IO;
	}
}

/* A store without lists has none, and a release that knows none asks for none. */
static int open_locks(struct nfs4r_db *db, MDB_txn *txn)
{
	int rc = mdb_dbi_open(txn, "locks", 0, &db->locks);

	atomic_store(&db->has_locks, !rc);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

int store_db_make_locks(struct nfs4r_db *db, MDB_txn *txn)
{
	return mdb_dbi_open(txn, "locks", MDB_CREATE, &db->locks);
}

static int open_dbis(struct nfs4r_db *db)
{
	static const char *const names[] = { "meta", "rows", "names", "cookies", "handles", "core", "marks" };
	MDB_dbi *const dbis[] = { &db->meta, &db->rows, &db->names, &db->cookies,
				  &db->handles, &db->core, &db->marks };
	MDB_txn *txn;
	MDB_stat main_db = { 0 };
	int rc = mdb_txn_begin(db->env, NULL, MDB_RDONLY, &txn);

	if (rc)
		return rc;
	for (int i = 0; i < 7 && !rc; i++)
		rc = mdb_dbi_open(txn, names[i], 0, dbis[i]);
	if (!rc)
		rc = open_locks(db, txn);
	if (!rc)
		return mdb_txn_commit(txn);
	if (rc == MDB_NOTFOUND && !mdb_dbi_open(txn, NULL, 0, &db->meta))
		mdb_stat(txn, db->meta, &main_db);
	mdb_txn_abort(txn);
	if (rc != MDB_NOTFOUND)
		return rc;
	if (main_db.ms_entries)
		return MDB_INVALID; /* something else lives in it */
	rc = mdb_txn_begin(db->env, NULL, 0, &txn);
	if (rc)
		return rc;
	for (int i = 0; i < 7 && !rc; i++)
		rc = mdb_dbi_open(txn, names[i], MDB_CREATE, dbis[i]);
	if (!rc)
		return mdb_txn_commit(txn);
	mdb_txn_abort(txn);
	return rc;
}

/* Of the file: what its pages take, and what it had when it was opened. */
static int sizes(struct nfs4r_db *db, int *fd, uint64_t *pages, uint64_t *file)
{
	MDB_envinfo info;
	MDB_stat st;
	struct stat sb;
	int rc = mdb_env_info(db->env, &info);

	if (!rc)
		rc = mdb_env_stat(db->env, &st);
	if (!rc)
		rc = mdb_env_get_fd(db->env, fd);
	if (rc)
		return rc;
	*pages = (info.me_last_pgno + 1) * (uint64_t)st.ms_psize;
	if (fstat(*fd, &sb) != 0)
		return errno;
	*file = (uint64_t)sb.st_size;
	return 0;
}

/*
 * LMDB believes the offsets in a page, which are 16 bits wide: in a damaged one near the end they lead behind the file's end, and to SIGBUS. A hole
 * there reads as zeros, and what is damaged is found to be. It goes at the end: a refused store is left as it was.
 */
static int pad(struct nfs4r_db *db)
{
	uint64_t pages;
	int fd, rc = sizes(db, &fd, &pages, &db->bytes);

	if (rc)
		return rc;
	return db->bytes >= pages + PAD || ftruncate(fd, (off_t)(pages + PAD)) == 0 ? 0 : errno;
}

static void unpad(struct nfs4r_db *db)
{
	uint64_t pages, file, size;
	int fd;

	if (!db->bytes || sizes(db, &fd, &pages, &file) != 0)
		return;
	size = db->bytes > pages ? db->bytes : pages;
	if (file > size && ftruncate(fd, (off_t)size) != 0)
		return; /* the hole stays, and does no harm */
}

enum nfs4r_status store_db_open(struct nfs4r_db *db, const char *dir, uint64_t map_bytes, char *why)
{
	enum nfs4r_status st;
	struct stat sb;
	char path[4096];
	int rc;

	snprintf(path, sizeof(path), "%s/lmdb/data.mdb", dir);
	db->map_bytes = map_bytes;
	db->bytes = 0;
	/* A map may have been grown in an earlier run. */
	if (!stat(path, &sb) && (uint64_t)sb.st_size > db->map_bytes)
		db->map_bytes = ((uint64_t)sb.st_size + (1 << 20)) & ~(uint64_t)0xfffff;
	snprintf(path, sizeof(path), "%s/lmdb", dir);
	store_rwlock_init(&db->map);
	pthread_mutex_init(&db->pool_lock, NULL);
	rc = mdb_env_create(&db->env);
	if (!rc)
		rc = mdb_env_set_maxdbs(db->env, 16);
	if (!rc)
		rc = mdb_env_set_maxreaders(db->env, READERS_MAX);
	if (!rc)
		rc = mdb_env_set_mapsize(db->env, db->map_bytes);
	if (!rc)
		rc = mdb_env_open(db->env, path, MDB_NOTLS | MDB_NORDAHEAD, 0600);
	if (!rc)
		rc = pad(db);
	if (!rc)
		rc = open_dbis(db);
	if (!rc)
		return NFS4R_OK;
	st = store_db_status(rc);
	nfs4r_refuse(why, st,
		     st == NFS4R_CORRUPT ?
			     "%s is damaged (%s): replace this server's store by a resync from the others, and keep the damaged one for analysis" :
			     "cannot open %s: %s",
		     path, mdb_strerror(rc));
	store_db_close(db);
	return st;
}

static void end_readers(struct nfs4r_db *db)
{
	while (db->idle) {
		struct nfs4r_reader *r = db->idle;

		db->idle = r->next;
		if (r->cookies)
			mdb_cursor_close(r->cookies);
		mdb_txn_abort(r->txn);
		free(r);
	}
}

void store_db_close(struct nfs4r_db *db)
{
	end_readers(db);
	if (!db->env)
		return;
	unpad(db);
	mdb_env_close(db->env);
	db->env = NULL;
	pthread_rwlock_destroy(&db->map);
	pthread_mutex_destroy(&db->pool_lock);
}

void store_db_share(struct nfs4r_db *db, const struct nfs4r_db *of)
{
	*db = (struct nfs4r_db){ .env = of->env, .meta = of->meta, .rows = of->rows, .names = of->names, .cookies = of->cookies, .handles = of->handles, .core = of->core, .marks = of->marks, .locks = of->locks };
	atomic_store(&db->has_locks, atomic_load(&of->has_locks));
	store_rwlock_init(&db->map);
	pthread_mutex_init(&db->pool_lock, NULL);
}

void store_db_unshare(struct nfs4r_db *db)
{
	end_readers(db);
	pthread_rwlock_destroy(&db->map);
	pthread_mutex_destroy(&db->pool_lock);
}

struct nfs4r_reader *store_db_begin(struct nfs4r_db *db)
{
	struct nfs4r_reader *r;
	int rc;

	pthread_rwlock_rdlock(&db->map);
	pthread_mutex_lock(&db->pool_lock);
	r = db->idle;
	if (r)
		db->idle = r->next;
	pthread_mutex_unlock(&db->pool_lock);
	if (r) {
		rc = mdb_txn_renew(r->txn);
	} else {
		r = calloc(1, sizeof(*r));
		rc = r ? mdb_txn_begin(db->env, NULL, MDB_RDONLY, &r->txn) : ENOMEM;
		if (rc)
			free(r);
	}
	if (!rc)
		return r;
	pthread_rwlock_unlock(&db->map);
	return NULL;
}

void store_db_end(struct nfs4r_db *db, struct nfs4r_reader *r)
{
	if (!r)
		return;
	mdb_txn_reset(r->txn);
	pthread_mutex_lock(&db->pool_lock);
	r->next = db->idle;
	db->idle = r;
	pthread_mutex_unlock(&db->pool_lock);
	pthread_rwlock_unlock(&db->map);
}

int store_db_grow(struct nfs4r_db *db)
{
	uint64_t bytes = db->map_bytes + (db->map_bytes < (8ull << 30) ? db->map_bytes : 8ull << 30);
	int rc;

	pthread_rwlock_wrlock(&db->map);
	rc = mdb_env_set_mapsize(db->env, bytes);
	if (!rc)
		db->map_bytes = bytes;
	pthread_rwlock_unlock(&db->map);
	return rc;
}

/* ---- the meta record --------------------------------------------------- */

#define META_LEN (4 + 16 + 2 + 8 + NLOGS * 32 + 16 + BOOT_ID_LEN)

int store_db_put_meta(struct nfs4r_db *db, MDB_txn *txn, const struct nfs4r_meta *m)
{
	uint8_t buf[META_LEN], *p = buf;
	MDB_val key = { 5, (void *)(uintptr_t) "store" }, val = { sizeof(buf), buf };
	MDB_val tail = { 9, (void *)(uintptr_t) "tail-lost" }, yes = { 1, (void *)(uintptr_t) "1" };
	int rc;

	put_be32(p, m->format);
	memcpy(p + 4, m->volume, 16);
	put_be16(p + 20, m->self);
	put_be64(p + 22, m->pos);
	p += 30;
	for (int i = 0; i < NLOGS; i++, p += 32) {
		put_be64(p, m->applied[i]);
		put_be64(p + 8, m->truncated[i]);
		put_be64(p + 16, m->oid_watermark[i].counter);
		put_be64(p + 24, m->oid_watermark[i].random);
	}
	put_be64(p, m->inc.counter);
	put_be64(p + 8, m->inc.random);
	memcpy(p + 16, m->boot_id, BOOT_ID_LEN);
	rc = mdb_put(txn, db->meta, &key, &val, 0);
	if (rc)
		return rc;
	rc = m->tail_lost ? mdb_put(txn, db->meta, &tail, &yes, 0) : mdb_del(txn, db->meta, &tail, NULL);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

static void decode_meta(const uint8_t *bytes, struct nfs4r_meta *m)
{
	struct nfs4r_rd r = { bytes, META_LEN, false };

	m->format = rd_u32(&r);
	memcpy(m->volume, rd_bytes(&r, 16), 16);
	m->self = rd_u16(&r);
	m->pos = rd_u64(&r);
	for (int i = 0; i < NLOGS; i++) {
		m->applied[i] = rd_u64(&r);
		m->truncated[i] = rd_u64(&r);
		m->oid_watermark[i].counter = rd_u64(&r);
		m->oid_watermark[i].random = rd_u64(&r);
	}
	m->inc.counter = rd_u64(&r);
	m->inc.random = rd_u64(&r);
	memcpy(m->boot_id, rd_bytes(&r, BOOT_ID_LEN), BOOT_ID_LEN);
	m->boot_id[BOOT_ID_LEN - 1] = 0;
}

enum nfs4r_status store_db_read_meta(struct nfs4r_db *db, struct nfs4r_versions formats, struct nfs4r_meta *m, char *why)
{
	MDB_val key = { 5, (void *)(uintptr_t) "store" }, tail = { 9, (void *)(uintptr_t) "tail-lost" }, val, none;
	MDB_txn *txn;
	int rc = mdb_txn_begin(db->env, NULL, MDB_RDONLY, &txn);

	memset(m, 0, sizeof(*m));
	if (rc)
		return nfs4r_refuse(why, store_db_status(rc), "cannot read lmdb: %s", mdb_strerror(rc));
	rc = mdb_get(txn, db->meta, &key, &val);
	if (!rc && val.mv_size >= 4) {
		m->format = get_be32(val.mv_data); /* of another format only this is understood */
		if (nfs4r_versions_have(formats, m->format) && val.mv_size != META_LEN)
			rc = MDB_CORRUPTED;
		else if (nfs4r_versions_have(formats, m->format))
			decode_meta(val.mv_data, m);
		if (m->inc.counter >> OID_GEN_SHIFT)
			rc = MDB_CORRUPTED;
	}
	if (!rc) {
		int lost = mdb_get(txn, db->meta, &tail, &none);

		m->tail_lost = !lost;
		rc = lost == MDB_NOTFOUND ? 0 : lost;
	}
	mdb_txn_abort(txn);
	if (rc && rc != MDB_NOTFOUND)
		nfs4r_refuse(why, store_db_status(rc), "lmdb/data.mdb is damaged (%s)", mdb_strerror(rc));
	return store_db_status(rc);
}
