/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A store in a directory of its own, entries for it, and a model that says what it should answer.
 *
 * The model is plain arrays and knows nothing of journals: every entry that is committed to the store is
 * applied to it too, and dumps of both must be the same text.
 */
#ifndef NFS4R_TESTS_STORE_FIXTURE_H
#define NFS4R_TESTS_STORE_FIXTURE_H

#include "lib/unit.h"

#include "store/store.h"

struct fx {
	char dir[256];
	struct nfs4r_store_config cfg;
	struct nfs4r_store *s;
	struct nfs4r_store_info info;
	char why[NFS4R_WHY];
	struct nfs4r_oid root;
	nfs4r_lsn next[NFS4R_SERVERS_MAX + 1];
	uint64_t seq[NFS4R_SERVERS_MAX + 1]; /* mint sequence of other servers */
	uint64_t clock, handles;
	bool locks; /* random changes have byte-range locks, too */
};

/* A new empty directory under $TMPDIR; not opened. */
void fx_init(struct fx *f);
enum nfs4r_status fx_open(struct fx *f);
void fx_open_ok(struct fx *f);
void fx_begin(struct fx *f, uint64_t segment_bytes); /* fx_init(), then open with segments of that size */
void fx_close(struct fx *f);
/* Leave as a killed process would: the copy is opened instead of the original from then on. */
void fx_crash(struct fx *f);
/* Close (if open) and remove the directory. */
void fx_fini(struct fx *f);
/* The process has crashed; with another boot id than before, the machine. */
void fx_reopen_after_crash(struct fx *f, const char *boot);
void fx_checkpoint(struct fx *f);
void copy_dir(const char *from, const char *to);
void remove_dir(const char *dir);
void temp_dir(char out[256]);

/* Entries. The log's next LSN, versions from the rows; not committed. */
struct nfs4r_entry *e_new(struct fx *f, nfs4r_server_id log);
struct nfs4r_part *e_part(struct fx *f, struct nfs4r_entry *e, const struct nfs4r_oid *oid, uint32_t effect);
void e_name(struct nfs4r_part *p, uint32_t i, const char *name, const struct nfs4r_oid *oid, uint32_t type,
	    uint64_t cookie);
struct nfs4r_entry *e_create(struct fx *f, nfs4r_server_id log, const struct nfs4r_oid *dir, const char *name,
			     uint32_t type, struct nfs4r_oid *made);
struct nfs4r_entry *e_link(struct fx *f, nfs4r_server_id log, const struct nfs4r_oid *obj,
			   const struct nfs4r_oid *dir, const char *name);
struct nfs4r_entry *e_remove(struct fx *f, nfs4r_server_id log, const struct nfs4r_oid *dir, const char *name);
struct nfs4r_entry *e_rename(struct fx *f, nfs4r_server_id log, const struct nfs4r_oid *dir, const char *name,
			     const struct nfs4r_oid *dir2, const char *name2);
struct nfs4r_entry *e_write(struct fx *f, nfs4r_server_id log, const struct nfs4r_oid *obj);
/* A list of @n locks, those of owners @first and on. */
struct nfs4r_entry *e_locks(struct fx *f, nfs4r_server_id log, const struct nfs4r_oid *obj, uint32_t n, uint64_t first);
/* Commit as own (log = self) or applied, drop the reference. */
void commit(struct fx *f, struct nfs4r_entry *e);
struct nfs4r_oid mk(struct fx *f, const struct nfs4r_oid *dir, const char *name, uint32_t type);
nfs4r_version version_of(struct fx *f, const struct nfs4r_oid *oid);
struct nfs4r_put put_row(const char *key, const char *val);

/* Everything reachable from the root, and the core's rows, as text; free() it. */
char *dump_store(struct fx *f);

struct model;
struct model *model_new(const struct nfs4r_oid *root);
void model_free(struct model *m);
void model_apply(struct model *m, const struct nfs4r_entry *e);
void model_put(struct model *m, const struct nfs4r_put *p);
char *model_dump(struct model *m);
/* Commits to both. */
void both(struct fx *f, struct model *m, struct nfs4r_entry *e);
/* The i-th random change of a run with this seed; NULL when the choice makes no sense. */
struct nfs4r_entry *random_entry(struct fx *f, uint64_t *rng);
uint64_t rnd(uint64_t *rng);

#endif
