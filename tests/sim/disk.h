/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a server's disk holds, journal.c and kept.c; a part of sim.h. */
#ifndef NFS4R_TESTS_SIM_DISK_H
#define NFS4R_TESTS_SIM_DISK_H

/* ---- journal.c: what a server's disk holds ------------------------------------------- */

enum rec_type {
	DID_NOTHING = 0,
	DID_PUT,
	DID_INTENT,
	DID_COMMIT,
	DID_CHECKPOINT,
	DID_SEALED,
	DID_INSTALL,
	DID_POSITIONS
};

struct rec {
	uint32_t type;
	bool own;
	struct nfs4r_entry *e; /* INTENT, COMMIT */
	uint32_t nputs;
	struct nfs4r_put *puts;
	nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1]; /* CHECKPOINT, POSITIONS */
	struct nfs4r_seal seal; /* SEALED */
	uint32_t obj; /* INSTALL: what it is now */
	struct row *row;
	uint64_t end; /* position in the journal of a real store */
	uint64_t copied; /* the same, of a copy of it that a checkpoint made; 0: none */
};

/* kept.c */
struct kept { /* entries of one log that can still be sent */
	uint32_t n, cap;
	struct nfs4r_entry **e; /* ascending */
};

struct nfs4r_entry *kept_find(const struct kept *k, nfs4r_lsn lsn); /* NULL when it is not there */
nfs4r_lsn kept_last(const struct kept *k); /* 0 when nothing is */
void kept_add(struct kept *k, struct nfs4r_entry *e);
void kept_drop(struct kept *k, nfs4r_lsn from, nfs4r_lsn until); /* both included */
void kept_fini(struct kept *k);

struct journal {
	uint32_t n, cap;
	struct rec *recs;
	uint32_t synced; /* so many survive a machine crash */
	uint32_t nback, back_cap;
	struct back { /* committed behind a hole, and taken back since the last start */
		struct nfs4r_oid oid;
		nfs4r_version version;
		nfs4r_server_id log;
		nfs4r_lsn lsn;
	} * back;
};

void journal_fini(struct journal *j);
void journal_put(struct journal *j, const struct nfs4r_put *p);
void journal_intent(struct journal *j, struct nfs4r_entry *e);
void journal_commit(struct journal *j, struct nfs4r_entry *e, bool own, const struct nfs4r_put *puts, uint32_t n);
void journal_checkpoint(struct journal *j, const nfs4r_lsn *stable);
void journal_sealed(struct journal *j, nfs4r_server_id log, nfs4r_lsn seal);
void journal_install(struct journal *j, uint32_t obj, const struct row *row);
void journal_positions(struct journal *j, const nfs4r_lsn *applied);
void journal_cut(struct journal *j, uint32_t n);
const struct nfs4r_put **rows_of(const struct journal *j, uint32_t *count); /* of the core; free() the array */
/*
 * After a machine crash: what was begun is taken back, and so is every entry after a hole in
 * its log: an own one was never sent, another comes again. With a real store, what LMDB holds of other logs (to @kept in
 * its journal; 0: no LMDB) stays. Returns the end of the own log.
 */
void journal_drop_holes(struct journal *j, nfs4r_server_id self, uint64_t kept); /* the same of others' logs alone */
nfs4r_lsn journal_drop_undecided(struct journal *j, nfs4r_server_id self, uint64_t kept);

#endif
