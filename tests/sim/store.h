/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A simulated server's store; a part of sim.h. Each server has a list of records (journal.c), which is what the checkers know of its
 * disk. In a run with real stores the same calls go to src/store too, on a platter (platter.h), and the list is what that is held against:
 *
 *  shipped     journal, segments, checkpoints, LMDB, recovery, replay, cuts, seals, installs, positions, MINT, marks; the core asks this
 *              store for rows, names and parents, and gets its rows, logs and intents back from it
 *  modelled    the bytes of files; when the exported file system is synced (nothing of it is ever lost: a start finds the files as its
 *              journal says, or not yet, in objects that the store has marked or has entries for since the checkpoint; log 4.6; and
 *              before that nothing may be told to be stable; log 4.3);
 *              and how much is kept for those who are away (a number of entries, server.c; retention.c goes by bytes and age)
 *
 * After each start: the list, cut where the journal ended, contains everything that was synced, what was told to be stable is there, whether LMDB had it
 * or not, and rows, names, logs, intents and the core's rows are those of LMDB and the replay.
 */
#ifndef NFS4R_TESTS_SIM_STORE_H
#define NFS4R_TESTS_SIM_STORE_H

struct storage; /* NULL: the list is all there is */

/* store.c: to the list, and to the store if there is one. False: it cannot be written, and the server halts at the end of this event. */
bool disk_put(struct server *v, const struct nfs4r_put *p);
bool disk_intent(struct server *v, struct nfs4r_entry *e, uint64_t *sync_first);
bool disk_commit(struct server *v, struct nfs4r_entry *e, bool own, const struct nfs4r_put *puts, uint32_t n);
bool disk_sealed(struct server *v, nfs4r_server_id log, nfs4r_lsn seal);
bool disk_install(struct server *v, uint32_t obj, const struct row *row);
bool disk_positions(struct server *v, const nfs4r_lsn *applied);
void store_note_source(struct server *v, const struct server *from); /* a copy is made anew: its positions, and MINT */
bool disk_recovered(struct server *v);
void disk_truncate(struct server *v, nfs4r_server_id log, nfs4r_lsn until);
bool disk_sync_now(struct server *v); /* all of it, in no time */
bool disk_checkpoint_now(struct server *v);

void store_make(struct server *v); /* before its first start */
void store_free(struct server *v);
/* It halts at the end of this event: the store failed, or its disk did. */
bool store_halted(const struct server *v, bool *machine);
void stores_settle(struct sim *s); /* after each event */
/* A crash, or an orderly end. What is there afterwards is known at once, though the server starts later: the list is cut to it. */
void store_crash(struct server *v, bool machine);
void store_note_amid(struct server *v); /* before what it does is forgotten */
void store_lost(struct server *v);
void store_image(struct server *v);
void store_put_back(struct server *v);
void store_heal(struct server *v);
void store_troubles(struct sim *s);
/* When the journal is on the disk to @pos, the files that @e changes begin to; @us later the event. */
void store_sync_then(struct server *v, uint64_t pos, uint64_t us, event_fn fn, void *arg, const struct nfs4r_entry *e);
void store_mark(struct server *v, struct nfs4r_entry *e, uint64_t *sync_first);
void store_sync_begin(struct server *v);
void store_checkpoint_begin(struct server *v);
bool store_is_behind(const struct server *v); /* a checkpoint would bring LMDB further */
uint64_t store_cookie(struct server *v, const struct nfs4r_oid *dir, const struct nfs4r_name *name);
void store_mint(struct server *v, struct nfs4r_oid *out);
/* store_check.c: for the core, and held against the tree */
void store_facts(struct server *v, const struct nfs4r_oid *oid, struct nfs4r_facts *out);
bool store_lookup(struct server *v, const struct nfs4r_oid *dir, const struct nfs4r_name *name, struct nfs4r_oid *child);
uint32_t store_parents(struct server *v, const struct nfs4r_oid *oid, struct nfs4r_oid *out, uint32_t max);
void store_check(struct server *v);
uint64_t store_synced(struct server *v); /* positions in the journal */
uint64_t store_end(struct server *v);
uint64_t store_found(struct server *v); /* where that ended when it was opened */
/* store_start.c: at a start */
void store_begin(struct server *v); /* before the records are replayed: what is truncated */
void store_began(struct server *v); /* after: positions, incarnation */
uint32_t store_intents(struct server *v, struct nfs4r_entry **out, uint32_t max);
bool store_has_intent(struct server *v, nfs4r_lsn lsn); /* one that was not decided at the start */
bool store_give_back(struct server *v);
/* For platter.c and task.c. */
struct server *store_of(const void *inside);
void store_died(struct server *v);
bool store_is_changing(struct server *v); /* it is inside of a change, which a checkpoint may be, too */
long store_random(void *b, size_t n);
void stores_print(const struct totals *t);

#endif
