/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A volume's tree, logs and core rows in memory: the tree port of core.h for tests.
 *
 * Content of a file is one number: a hash chain over the updates in the order they were applied,
 * so that two trees are equal exactly if they applied the same updates in the same order.
 * A multi-link file's parents are a multiset: a name gained adds one, a name lost takes one away.
 */
#ifndef NFS4R_TESTS_MEMTREE_H
#define NFS4R_TESTS_MEMTREE_H

#include "core/core.h"

struct memtree;

struct memtree *memtree_new(nfs4r_server_id self, const struct nfs4r_oid *root);
void memtree_free(struct memtree *t);
struct memtree *memtree_clone(struct memtree *t); /* the disk as it is now, to go back to after a machine crash */
void memtree_port(struct memtree *t, struct nfs4r_tree *out);
uint64_t memtree_written(const struct memtree *t); /* rows and entries, ever: the position in its journal */
/* Incarnation used by mint from now on. */
void memtree_set_inc(struct memtree *t, uint64_t inc);

/* The store's part: rows of PUT actions, entries, restore into a fresh core (all but started()). */
void memtree_put(struct memtree *t, const struct nfs4r_put *p);
struct nfs4r_entry *memtree_entry(struct memtree *t, nfs4r_server_id log, nfs4r_lsn lsn); /* borrowed; NULL: not here */
nfs4r_lsn memtree_applied(struct memtree *t, nfs4r_server_id log); /* contiguous */
void memtree_set_stable(struct memtree *t, nfs4r_server_id log, nfs4r_lsn stable);
void memtree_truncate(struct memtree *t, nfs4r_server_id log, nfs4r_lsn until);
bool memtree_restore(struct memtree *t, struct nfs4r_core *c);
/* The log ends with @seal; entries beyond it are forgotten, one older generation is kept. */
void memtree_seal(struct memtree *t, nfs4r_server_id log, nfs4r_lsn seal);
/* Objects that entries beyond the seals touched become what they are in @from. */
void memtree_undo(struct memtree *t, struct memtree *from, const struct nfs4r_seal *seals, uint32_t nseals);
uint32_t memtree_beyond(struct memtree *t, const struct nfs4r_seal *seals, uint32_t nseals, struct nfs4r_oid *out, uint32_t max); /* objects of entries there */
void memtree_take(struct memtree *t, struct memtree *from, const struct nfs4r_oid *oid); /* one object */
void memtree_take_content(struct memtree *t, struct memtree *from, const struct nfs4r_oid *oid); /* and not its version */
void memtree_take_all(struct memtree *t, struct memtree *from); /* objects and positions; logs are empty then */
uint32_t memtree_rows(struct memtree *t, char kind); /* rows whose key starts with @kind */

/* Questions of tests. */
bool memtree_facts(struct memtree *t, const struct nfs4r_oid *oid, struct nfs4r_facts *f); /* true: known */
bool memtree_lookup(struct memtree *t, const struct nfs4r_oid *dir, const char *name, struct nfs4r_oid *child);
uint64_t memtree_content(struct memtree *t, const struct nfs4r_oid *oid);
/* Same objects, names, versions, contents; else false and a text. */
bool memtree_equal(struct memtree *a, struct memtree *b, char *why, size_t why_len);
/* Every object that is alive hangs below the root. */
bool memtree_no_cycle(struct memtree *t);

#endif
