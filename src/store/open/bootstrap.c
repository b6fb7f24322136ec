/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * LMDB's part of an open: make it on the first one, check whose it is, take positions and marks from it.
 *
 * Order of creation: LMDB with identity and root, then the first journal file, then the record of the first
 * run. So a journal without LMDB is damage, LMDB without a journal is damage once a run was recorded, and
 * an interrupted creation is taken up where it stopped.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/bytes.h"
#include "store/internal.h"

static enum nfs4r_status load_marks(struct nfs4r_store *s)
{
	struct nfs4r_reader *r = store_db_begin(&s->db);
	enum nfs4r_status st = NFS4R_OK;
	MDB_cursor *cur;
	MDB_val key, val;
	int rc = r ? mdb_cursor_open(r->txn, s->db.marks, &cur) : ENOMEM;

	if (!rc) {
		while (st == NFS4R_OK && !(rc = mdb_cursor_get(cur, &key, &val, MDB_NEXT)))
			st = key.mv_size == 16 && val.mv_size == 8 ?
				store_replay_mark(s, key.mv_data, get_be64(val.mv_data)) :
				NFS4R_CORRUPT;
		mdb_cursor_close(cur);
	}
	store_db_end(&s->db, r);
	return st != NFS4R_OK || rc == MDB_NOTFOUND ? st : store_db_status(rc);
}

static int sync_name(int dirfd, const char *dir)
{
	int fd = openat(dirfd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 || fsync(fd) ? errno : 0;

	if (fd >= 0)
		close(fd);
	return rc;
}

/* First open: identity and the root. */
static enum nfs4r_status found(struct nfs4r_store *s, char *why)
{
	struct nfs4r_object root = { .row = { .oid = s->root, .type = NFS4R_TYPE_DIR, .version = 1, .nlink = 2 } };
	uint8_t buf[ROW_FIXED];
	MDB_val key = { 16, s->root.b }, val = { sizeof(buf), buf };
	MDB_txn *txn;
	int rc = mdb_txn_begin(s->db.env, NULL, 0, &txn);

	if (!rc) {
		store_row_encode(&root, buf);
		rc = mdb_put(txn, s->db.rows, &key, &val, 0);
		if (!rc)
			rc = store_db_put_meta(&s->db, txn, &s->meta);
		if (!rc)
			rc = mdb_txn_commit(txn);
		else
			mdb_txn_abort(txn);
	}
	if (!rc)
		rc = sync_name(s->dirfd, "lmdb"); /* LMDB leaves its file's name to the kernel */
	if (rc)
		return nfs4r_refuse(why, store_db_status(rc), "cannot write %s/lmdb: %s", s->dir,
				    mdb_strerror(rc));
	return NFS4R_OK;
}

static bool db_exists(const struct nfs4r_store *s)
{
	struct stat sb;

	return !fstatat(s->dirfd, "lmdb/data.mdb", &sb, 0) && sb.st_size > 0;
}

enum nfs4r_status store_found_state(struct nfs4r_store *s)
{
	for (int i = 0; i < NLOGS; i++) {
		store_log_found(&s->logs[i], s->meta.applied[i], s->meta.truncated[i]);
		s->logs[i].stable = s->meta.applied[i];
		s->oid_watermark[i] = s->meta.oid_watermark[i];
	}
	return load_marks(s);
}

enum nfs4r_status store_found_db(struct nfs4r_store *s, const struct nfs4r_store_config *cfg,
				 bool have_journal, char *why)
{
	struct nfs4r_meta meta;
	enum nfs4r_status st;

	if (have_journal && !db_exists(s))
		return nfs4r_refuse(why, NFS4R_CORRUPT,
				    "%s has a journal but lmdb/data.mdb is missing or empty: restore it, or move the directory away and let this server resync from the others",
				    s->dir);
	sync_name(s->dirfd, ".."); /* the store's own name; no harm if it is not ours to sync */
	if (mkdirat(s->dirfd, "lmdb", 0700) && errno != EEXIST)
		return nfs4r_refuse(why, nfs4r_status_from_errno(errno), "cannot make %s/lmdb: %s", s->dir,
				    strerror(errno));
	st = store_db_open(&s->db, s->dir, cfg->map_bytes ? cfg->map_bytes : 1ull << 30, why);
	if (st != NFS4R_OK)
		return st;
	st = store_db_read_meta(&s->db, cfg->formats, &meta, why);
	if (st == NFS4R_NOENT && have_journal)
		return nfs4r_refuse(why, NFS4R_CORRUPT,
				    "%s has a journal but lmdb is empty: restore lmdb/data.mdb, or move the directory away and let this server resync from the others",
				    s->dir);
	if (st == NFS4R_NOENT)
		return found(s, why);
	if (st == NFS4R_OK)
		st = store_ident_check(cfg, s->dir, meta.format, meta.volume, meta.self, why);
	if (st != NFS4R_OK)
		return st;
	s->meta = meta;
	if (meta.format > s->jnl.format)
		s->jnl.format = meta.format;
	st = store_found_state(s);
	if (st != NFS4R_OK)
		nfs4r_refuse(why, st, "%s/lmdb is damaged: let this server resync from the others", s->dir);
	return st;
}
