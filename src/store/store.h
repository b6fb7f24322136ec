/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Stable storage of one volume at one server: a journal in front of LMDB
 * (log 4.1 to 4.16, docs/disk-format.md).
 *
 * append() and commit() survive a crash of the process when they return (page cache); sync() survives loss
 * of power. LMDB is a function of the journal and is written in batches by checkpoint(). Reads see
 * everything committed: changes since the checkpoint lie in memory in front of LMDB.
 *
 * Threads: changing calls (put, commit, intent, void, mark, truncate, mint) are serialised by the caller;
 * reads, sync() and checkpoint() may run in any thread at the same time.
 */
#ifndef NFS4R_STORE_STORE_H
#define NFS4R_STORE_STORE_H

#include "base/entry.h"
#include "base/status.h"
#include "base/limits.h"
#include "base/msg.h"
#include "base/tree.h"

struct nfs4r_store;
typedef uint64_t nfs4r_journal_pos; /* bytes ever appended; rising */

struct nfs4r_store_config {
	const char *dir; /* made when missing (its parent must exist) */
	uint8_t volume[16];
	nfs4r_server_id self;
	uint64_t map_bytes; /* LMDB map size, grown by itself when needed; default 1 GiB */
	uint64_t segment_bytes; /* a journal segment is closed at about this size; default 64 MiB */
	uint64_t segment_age_s; /* or when it is so old; 0 = at any age */
	uint64_t ahead_bytes; /* so many zeros are laid out behind the journal's end, by a thread of the store; 0 = none, and no thread */
	const char *boot_id; /* NULL: read from the kernel. Tests give their own to play a machine crash */
	struct nfs4r_versions formats; /* disk formats that are read; a new store gets the lowest. 0: those of this release */
	uint64_t fail_after_bytes; /* tests: appends beyond answer NOSPC; 0 = never */
};

struct nfs4r_row {
	struct nfs4r_oid oid;
	uint32_t type;
	bool multi;
	nfs4r_version version;
	int64_t ctime, mtime; /* ns; what clients see */
	uint32_t nlink;
	uint64_t nentries; /* directory */
	uint32_t nparents;
	struct nfs4r_oid parent; /* the first one */
	nfs4r_server_id last_log; /* entry that made this version */
	nfs4r_lsn last_lsn;
};

/* A time of 0 is 1970, but for the root: nothing has set it yet, and the local file system's counts. */
static inline bool nfs4r_row_has_mtime(const struct nfs4r_row *row)
{
	return row->mtime || row->nparents;
}

struct nfs4r_store_info {
	uint64_t inc; /* this start's incarnation counter, synced before open() returned */
	uint64_t inc_random;
	bool created; /* the store did not exist before */
	bool tail_intact; /* same kernel boot as the last run, or a clean close: no appended record is missing (nor, of the files, what was written).
				 * Once false it stays false, over any stop or crash, until recovered() */
	bool files_failed; /* the files could not be synced, and there was no checkpoint since: tail_intact is false whatever the boot, and what memory has of the files in doubt may be on no
				 * disk, so it is to be written again before the first checkpoint */
	struct {
		nfs4r_lsn base; /* first LSN still readable; applied + 1: none; 0: nothing was ever there */
		nfs4r_lsn applied, stable;
	} logs[NFS4R_SERVERS_MAX + 1]; /* own log: applied = last DONE or VOID, contiguous */
	uint32_t nintents; /* own entries begun and not decided: see nfs4r_store_intent_at() */
	nfs4r_journal_pos end; /* of the journal as it was found, or as the first of those opens found it that nothing was written after */
};

/*
 * Open or make. Takes a lock on the directory for the life of the process.
 * LOCKED (another process has it), MISMATCH (other volume, server id or disk format), CORRUPT, NOSPC, IO, ...;
 * @why (NFS4R_WHY bytes) then says what was found and what to do. Nothing is changed on error.
 */
enum nfs4r_status nfs4r_store_open(const struct nfs4r_store_config *cfg, struct nfs4r_store **out, struct nfs4r_store_info *info, char *why);
/*
 * Clean: final checkpoint is the caller's business before; marks the journal as complete. A crash of the machine after that counts as none: so the files must be synced before, with a checkpoint or
 * without one.
 */
void nfs4r_store_close(struct nfs4r_store *s);
/* The same without that mark, when the files could not be synced: a later crash of the machine concerns this run, too. */
void nfs4r_store_leave(struct nfs4r_store *s);

/*
 * Log 6.16: the volume has that disk format: what is written from now on may be of it, and says so. Nothing happens if the store has it, or a higher one.
 * NFS4R_OK; NFS4R_INVAL: this program does not know it. Serialised like changes.
 */
enum nfs4r_status nfs4r_store_raise_format(struct nfs4r_store *s, uint32_t format);
uint32_t nfs4r_store_format(struct nfs4r_store *s); /* that it has */

/* ---- recovery, between open() and the first change ---- */
/* The i-th undecided own entry, ascending LSN; reference for the caller. Decide with commit() or void(). */
struct nfs4r_entry *nfs4r_store_intent_at(struct nfs4r_store *s, uint32_t i);
/* Rows of the core. */
void nfs4r_store_each_core_row(struct nfs4r_store *s, void (*fn)(void *arg, const uint8_t *key, uint16_t key_len, const uint8_t *val, uint16_t val_len), void *arg);
/*
 * The lost tail (tail_intact false) is back, by what the peers had of it. Durable on return; intents from before that are still
 * undecided are forgotten. Nothing happens when no tail is lost. Serialised like changes.
 *
 * While it is lost, own entries behind a hole count as never written: nobody can have got them without the hole's. Their
 * numbers are given out again.
 */
enum nfs4r_status nfs4r_store_recovered(struct nfs4r_store *s);

/* ---- changes (serialised by the caller) ---- */
enum nfs4r_status nfs4r_store_put(struct nfs4r_store *s, const struct nfs4r_put *puts, uint32_t n);
/*
 * Before local execution of an own entry (log 4.2). Appends MARKs for objects with existing bytes or names
 * that have none since the last checkpoint; then *sync_first is the position to sync() before executing (0 = none).
 */
enum nfs4r_status nfs4r_store_intent(struct nfs4r_store *s, const struct nfs4r_entry *e, nfs4r_journal_pos *sync_first);
/* The same for a replica about to apply (log 4.4): marks only. */
enum nfs4r_status nfs4r_store_mark(struct nfs4r_store *s, const struct nfs4r_entry *e, nfs4r_journal_pos *sync_first);
/*
 * From now on the local files may have a part of what @e does. In the journal on return, so that a crash of the process does not take it away: unless the entry is committed, the next open
 * says that its objects are in doubt (nfs4r_store_dropped). After mark(), and what that wants synced. Any thread.
 */
enum nfs4r_status nfs4r_store_begin(struct nfs4r_store *s, const struct nfs4r_entry *e);
/* Entries and installs with locks or clients raise the disk format to 2, if it is 1: the volume has it, or nobody would have made them. */
/* DONE of an own entry, or an applied one; rows, names, handles, parents, versions change with it. Parts that are not newer are skipped. */
enum nfs4r_status nfs4r_store_commit(struct nfs4r_store *s, const struct nfs4r_entry *e, bool own, const struct nfs4r_put *puts, uint32_t nputs);
/*
 * The log ends with @seal (its generation; base/msg.h): entries of that generation beyond it are forgotten, applied becomes
 * NFS4R_AFTER_SEAL(seal); stable follows with the next checkpoint. Entries up to the seal stay readable until they are truncated. Journalled; idempotent.
 */
enum nfs4r_status nfs4r_store_seal(struct nfs4r_store *s, nfs4r_server_id log, nfs4r_lsn seal);
/*
 * Install the state of one object as another server has it (log 8.3): its row, whatever version it had here; for a directory all its names,
 * which replace those that are here. @handle: its local handle (len 0: unchanged). Journalled, replayed whole or not at all; of more
 * names than one record can hold perhaps only some are replayed, and the old version.
 */
struct nfs4r_install {
	struct nfs4r_oid oid;
	struct nfs4r_copy_row row;
	uint8_t handle_len;
	uint8_t handle[NFS4R_LOCAL_HANDLE_MAX];
	uint32_t nnames; /* directory: all its names, with its cookies */
	const struct nfs4r_dirent *names;
	uint32_t nlocks; /* file: all its locks, as its newest LOCKS entry has them; they replace those that are here */
	const struct nfs4r_file_lock *locks;
};
enum nfs4r_status nfs4r_store_install(struct nfs4r_store *s, const struct nfs4r_install *in);
/* The object is gone: its row, its handle, its names if it is a directory. */
enum nfs4r_status nfs4r_store_forget(struct nfs4r_store *s, const struct nfs4r_oid *oid);
/* Positions and MINTs as another server had them, after every object was made equal to its copy (log 8.5). Logs are empty afterwards. */
struct nfs4r_store_positions { /* index = server id */
	nfs4r_lsn applied[NFS4R_SERVERS_MAX + 1];
	uint64_t oid_inc[NFS4R_SERVERS_MAX + 1], oid_seq[NFS4R_SERVERS_MAX + 1]; /* everything up to here was created, so what is not there is dead */
};
enum nfs4r_status nfs4r_store_set_positions(struct nfs4r_store *s, const struct nfs4r_store_positions *p);
/* Of one moment. */
void nfs4r_store_get_positions(struct nfs4r_store *s, struct nfs4r_store_positions *out);
/* What this copy of an object is called in the volume, for another server's store_install(). As nfs4r_store_row(). */
enum nfs4r_known nfs4r_store_copy_row(struct nfs4r_store *s, const struct nfs4r_oid *oid, struct nfs4r_copy_row *out);
/* Objects that have a MARK (log 4.2): changed in place since the last checkpoint. *@list is the caller's to free; UINT32_MAX: no memory. */
uint32_t nfs4r_store_marked(struct nfs4r_store *s, struct nfs4r_oid **list);
/*
 * Objects that were touched by entries of others which this store had committed behind a hole, and which count for nothing since a start (log 4.7), as long as LMDB does not hold that; and by
 * entries that were begun, and not committed, when the last run ended (log 4.5). Ascending OID; some are there more than once. Valid until close().
 */
struct nfs4r_extent {
	struct nfs4r_oid oid;
	uint64_t off, len; /* bytes of its file that the entry changes; NFS4R_WHOLE: any of them, and more than bytes */
};
#define NFS4R_WHOLE UINT64_MAX
uint32_t nfs4r_store_dropped(const struct nfs4r_store *s, const struct nfs4r_extent **list);
/* What this copy had by such an entry of others, and has no more. As above, in no order. */
struct nfs4r_given_back {
	struct nfs4r_oid oid;
	nfs4r_version version;
	nfs4r_server_id log;
	nfs4r_lsn lsn;
};
uint32_t nfs4r_store_given_back(const struct nfs4r_store *s, const struct nfs4r_given_back **list);
/*
 * Log 4.10: bytes of stable WRITEs that are kept in the journal (nfs4r_entry.bytes_at), which the files may lack after a crash of the machine. Between open() and the first change; in the
 * order in which they were written. Ends with what @fn answers if that is not OK; IO, CORRUPT: the journal cannot be read.
 */
typedef enum nfs4r_status (*nfs4r_inline_fn)(void *arg, const struct nfs4r_oid *oid, uint64_t off, const uint8_t *data, uint32_t len);
enum nfs4r_status nfs4r_store_each_inline(struct nfs4r_store *s, nfs4r_inline_fn fn, void *arg);
/*
 * The journal may have bytes of @oid that its file on the disk lacks. Whoever changes the file's bytes and does not have them kept in the journal has to sync the file before. Stays so for a while
 * after a checkpoint. Any thread; certain only for who excludes stable WRITEs of it (update locks).
 */
bool nfs4r_store_keeps_bytes(struct nfs4r_store *s, const struct nfs4r_oid *oid);
/* Of an object that is there: its file has other bytes after it, or more or fewer. */
bool nfs4r_store_part_changes_bytes(const struct nfs4r_part *p);
/* At most @max objects with OID > @after, ascending, that have a row; returns how many. */
uint32_t nfs4r_store_each_oid(struct nfs4r_store *s, const struct nfs4r_oid *after, struct nfs4r_oid *out, uint32_t max);
/* Entries up to @until of @log are never needed again. Cheap; space is freed by checkpoints, by segment. */
void nfs4r_store_truncate(struct nfs4r_store *s, nfs4r_server_id log, nfs4r_lsn until);
/* New OID of this incarnation. */
void nfs4r_store_oid_watermark(struct nfs4r_store *s, struct nfs4r_oid *out);

/* ---- durability (any thread, may block on the disk) ---- */
nfs4r_journal_pos nfs4r_store_position(struct nfs4r_store *s);
nfs4r_journal_pos nfs4r_store_synced(const struct nfs4r_store *s); /* everything before it is on stable storage */
/* Group sync: returns when everything appended before @pos is on stable storage. NFS4R_IO is final for this store. */
enum nfs4r_status nfs4r_store_sync(struct nfs4r_store *s, nfs4r_journal_pos pos);
/* All that was appended, with no hole in the own log before it: what lies behind one counts for nothing after a crash of the machine. Waits at
 * most a second for updates under way, then DELAY. */
enum nfs4r_status nfs4r_store_sync_whole(struct nfs4r_store *s);
/* The first half of that: what is to be synced. */
enum nfs4r_status nfs4r_store_whole(struct nfs4r_store *s, nfs4r_journal_pos *pos);
/*
 * The owner of each log has it up to there for good, as it says: it does not give these numbers out again, whatever crashes. LMDB may have such entries though one before them is
 * missing here. For the checkpoints from now on. Any thread.
 */
void nfs4r_store_owners_have(struct nfs4r_store *s, const nfs4r_lsn lsn[NFS4R_SERVERS_MAX + 1]);
/*
 * Note positions, call @sync_files (the exported file system: syncfs), sync the journal, write LMDB, forget marks, delete
 * journal segments that hold neither unwritten changes nor wanted log entries. stable[] = index by server id.
 * One at a time (a second caller waits and gets the next). On error nothing is lost and the old checkpoint stays; IO is final.
 * While an entry of another server is missing before one that was noted, and that one's owner may lose it, LMDB is not written, and all the rest is done: OK. When that lasts, LMDB gets all but what lies behind such holes.
 * DELAY: an own entry begun before one of those noted has not been committed within a second; LMDB gets none behind a hole.
 * @safe, if any, is called with stable[] on this thread, no lock held, as soon as files and journal are on stable storage: LMDB is a function of the journal, and who
 * waits for the positions need not wait for it. What it was told stays true when LMDB cannot be written then. A caller who got another one's checkpoint is told when that has ended.
 */
enum nfs4r_status nfs4r_store_checkpoint_telling(struct nfs4r_store *s, int (*sync_files)(void *arg), void (*safe)(void *arg, const nfs4r_lsn *stable),
						 void *arg, nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1]);
/* The same, with nobody who waits. */
enum nfs4r_status nfs4r_store_checkpoint(struct nfs4r_store *s, int (*sync_files)(void *arg), void *arg, nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1]);
/*
 * Only the first step of one. IO is final, here and from every later checkpoint: a sync that fails has lost pages, for want of room, too, and the kernel tells that once. The next open hears of it.
 */
enum nfs4r_status nfs4r_store_sync_files(struct nfs4r_store *s, int (*sync_files)(void *arg), void *arg);
bool nfs4r_store_files_failed(const struct nfs4r_store *s); /* that has happened. Any thread */
/*
 * Why nothing goes on before the store is opened anew. OK: it does. NOSPC, DQUOT: a sync found no room for what had been accepted (a thin pool, a quota, a file system that finds room late); when
 * there is some the next open is sound. IO, ...: the disk. Of the exported files if nfs4r_store_files_failed(). Any thread.
 */
enum nfs4r_status nfs4r_store_broken(const struct nfs4r_store *s);

/* ---- reads (any thread) ---- */
/* NFS4R_KNOWN and *row, NFS4R_NOT_YET, or NFS4R_DEAD (log 2.2: MINT of the creator has passed it, by contiguous positions). row may be NULL. */
enum nfs4r_known nfs4r_store_row(struct nfs4r_store *s, const struct nfs4r_oid *oid, struct nfs4r_row *row);
/* How many parents; fills at most max. A parent appears once however many names it has there. */
uint32_t nfs4r_store_parents(struct nfs4r_store *s, const struct nfs4r_oid *oid, struct nfs4r_oid *out, uint32_t max);
bool nfs4r_store_lookup(struct nfs4r_store *s, const struct nfs4r_oid *dir, const struct nfs4r_name *name, struct nfs4r_dirent *out);
/* Names with cookie > @after in cookie order, at most @max, into @out; returns how many. Fewer than @max: there are no more, or the store has failed. */
uint32_t nfs4r_store_readdir(struct nfs4r_store *s, const struct nfs4r_oid *dir, uint64_t after, struct nfs4r_dirent *out, uint32_t max);
/* It could not be read, or not be written, once. For good: a name that was not found after that may be there. */
bool nfs4r_store_failed(const struct nfs4r_store *s);
/* Cookie for a new name: from a hash of the name, moved on while taken in @dir. Callers hold the directory's update lock. */
uint64_t nfs4r_store_new_cookie(struct nfs4r_store *s, const struct nfs4r_oid *dir, const struct nfs4r_name *name);
/*
 * What the newest LOCKS entry of the file says that is committed here (docs/protocol/locks.md): how many locks, at most NFS4R_LOCKS_LIST_MAX, in the order of the entry; fills at most @max. 0 also
 * when it cannot be read: nfs4r_store_failed().
 */
uint32_t nfs4r_store_locks(struct nfs4r_store *s, const struct nfs4r_oid *oid, struct nfs4r_file_lock *out, uint32_t max);
/* The next file after @after (all 0: the first), in the order of OIDs, that has a list which is not empty. False: there is none, or nfs4r_store_failed(). @after and @out may be the same. */
bool nfs4r_store_next_locked(struct nfs4r_store *s, const struct nfs4r_oid *after, struct nfs4r_oid *out);
/* Sub-FSAL handle of an object: length, or 0 when there is none. */
uint32_t nfs4r_store_handle(struct nfs4r_store *s, const struct nfs4r_oid *oid, uint8_t out[NFS4R_LOCAL_HANDLE_MAX]);
bool nfs4r_store_by_handle(struct nfs4r_store *s, const void *handle, uint32_t len, struct nfs4r_oid *out);
/* Replace (or first give: the root) the handle of an object; journalled. Serialised like changes. */
enum nfs4r_status nfs4r_store_set_handle(struct nfs4r_store *s, const struct nfs4r_oid *oid, const void *handle, uint32_t len);
/* Entry of a log, without payload; NULL if truncated or not there. Reference for the caller. */
struct nfs4r_entry *nfs4r_store_log_read(struct nfs4r_store *s, nfs4r_server_id log, nfs4r_lsn lsn);
/* First and last LSN kept; 0 when none. They may be of different generations. */
void nfs4r_store_log_range(struct nfs4r_store *s, nfs4r_server_id log, nfs4r_lsn *first, nfs4r_lsn *last);
/* The first LSN after @after that is kept; 0 when none. */
nfs4r_lsn nfs4r_store_log_next(struct nfs4r_store *s, nfs4r_server_id log, nfs4r_lsn after);

/* What is kept, and what of it lies beyond a bound (log 3.12): in segments that are too many, or older than @max_age_s (0 = of any age). */
struct nfs4r_store_retained {
	uint64_t bytes; /* of the journal */
	uint64_t age_s; /* of its oldest segment */
	nfs4r_lsn beyond[NFS4R_SERVERS_MAX + 1]; /* entries of each log up to here; 0 = none. Truncated ones may be among them */
};
void nfs4r_store_retained(struct nfs4r_store *s, uint64_t max_bytes, uint64_t max_age_s, uint64_t now_s, struct nfs4r_store_retained *out);

/*
 * Room beside the journal for the last updates (log 4.12): an append that finds none takes it. Any thread. keep: about so many bytes, unless there is some already;
 * false: there is none. give: it is free for others now; false: there was none.
 */
bool nfs4r_store_keep_spare(struct nfs4r_store *s, uint64_t bytes);
bool nfs4r_store_give_spare(struct nfs4r_store *s);
uint64_t nfs4r_store_spare(const struct nfs4r_store *s); /* bytes */

struct nfs4r_store_stats {
	uint64_t journal_bytes, segments, appends, syncs, checkpoints, rows_dirty, lmdb_bytes;
	uint64_t rows_left; /* in memory, too: what a checkpoint is writing, or could not write, or has set aside */
	uint64_t last_checkpoint_ms; /* how long it took */
};
void nfs4r_store_get_stats(struct nfs4r_store *s, struct nfs4r_store_stats *out);

/* The root's row: known with version 1 and no names from the first open on. Root's times are set by the first entry. */

#endif
