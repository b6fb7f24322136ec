/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Private to src/store. Rooms, from the top; none calls one above it (`layers_store`). Who writes what:
 *
 *   store.c      open, close, the rest
 *   open/        ident.c         lock, identity, refusals
 *                recover.c       walks the journal at open, finds its end
 *                bootstrap.c     LMDB at open, and the first one
 *   checkpoint/  checkpoint.c    overlay -> LMDB
 *                snapshot.c      what is noted for it
 *                partial.c       without what lies behind a hole
 *                fs_sync.c       whether the exported files are synced
 *   change/      apply.c         from an entry to changed rows and names
 *                intents.c       intents, marks, what is in flight; mark_prefetch.c: marks of what is to come
 *                inline_data.c   bytes of files in the journal
 *                repair.c        ends of logs, objects and positions as another server has them
 *                replay.c        one record at open
 *   index/       overlay.c       changes since the checkpoint
 *                rows.c names.c handles.c lock_lists.c   reads, and the codec of their LMDB records
 *                log_index.c     where each log entry lies; positions, MINT
 *                db.c            LMDB: environment, readers
 *   journal/     journal.c       appending, syncing
 *                segment.c       its files
 *                record.c        bytes of records; crc32c.c: their sums
 *                preallocate.c   zeros behind its end
 *                retention.c     what is kept for servers that are away
 *                spare.c         room that is set aside for removals
 *
 * Locks, in the order in which they are taken:
 *   ckpt_lock  only around the decision who runs the checkpoint
 *   change     held by every changing call from reading the old state to the new one in memory; the
 *              checkpoint takes it to freeze, so a freeze never falls between a record and its effect
 *   view       rwlock over active, frozen, positions, log index. Writers hold it for memory only
 *   db.map     rwlock: readers of LMDB; written only to grow the map
 *   jnl.lay    mutex: who writes to the last journal file, records at its end or zeros behind it; never held while the disk syncs
 *   jnl.segs   rwlock over the list of segments;  jnl.sync  mutex of the group sync
 */
#ifndef NFS4R_STORE_INTERNAL_H
#define NFS4R_STORE_INTERNAL_H

#include <lmdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "store/bytes.h"
#include "store/fault.h"
#include "store/store.h"

#define WHY_LEN NFS4R_WHY
#define BOOT_ID_LEN 40
#define NLOGS (NFS4R_SERVERS_MAX + 1)
#define OID_GEN_SHIFT 32 /* in the incarnation of an OID: above, the generation of its creator's log; below, the counter of runs */

/* ---- objects --------------------------------------------------------- */

struct nfs4r_parent {
	struct nfs4r_oid oid;
	uint32_t count; /* names of the object in it */
};

struct nfs4r_object { /* all that is stored about one oid */
	struct nfs4r_row row; /* version 0: no row yet, only a handle */
	uint32_t parent_count; /* names in row.parent */
	nfs4r_journal_pos bytes_from; /* not in LMDB. All that changed its bytes from here on is kept in the journal; 0: nothing is (inline_data.c) */
	struct nfs4r_parent *more; /* the row.nparents - 1 other parents */
	uint8_t handle_len;
	uint8_t handle[NFS4R_LOCAL_HANDLE_MAX];
};

/* ---- overlay --------------------------------------------------------- */

struct ov_node {
	struct ov_node *next;
	uint64_t hash;
};

struct ov_table {
	struct ov_node **buckets;
	uint64_t nbuckets; /* power of two */
	uint64_t count;
};

struct ov_name {
	struct ov_node n;
	struct nfs4r_oid dir, oid;
	uint64_t cookie;
	bool gone;
	uint8_t type;
	uint16_t len;
	char s[];
};

/* Slot of a directory's cookie order. In use when ->name is not gone and still has this cookie. */
struct ov_cookie {
	struct ov_cookie *child[2];
	uint64_t cookie;
	uint64_t prio;
	struct ov_name *name;
};

struct ov_row {
	struct ov_node n;
	struct nfs4r_object o;
	bool gone;
	bool fresh; /* created since the overlay began: needs no mark */
	struct ov_cookie *cookies; /* treap, of a directory */
};

struct ov_handle {
	struct ov_node n;
	struct nfs4r_oid oid;
	bool gone;
	uint8_t len;
	uint8_t bytes[];
};

struct ov_core {
	struct ov_node n;
	bool gone;
	uint16_t key_len, val_len, cap;
	nfs4r_journal_pos pos; /* of the record that wrote it last */
	uint8_t key[32];
	uint8_t *val;
};

struct ov_mark {
	struct ov_node n;
	struct nfs4r_oid oid;
	nfs4r_version version;
	nfs4r_journal_pos pos; /* sync to here before the bytes change */
	bool ahead; /* nobody has changed the object yet (mark_prefetch.c) */
};

struct ov_locks { /* the locks of a file, as its newest LOCKS entry has them */
	struct ov_node node;
	struct nfs4r_oid oid;
	uint32_t n, cap; /* n 0: none */
	uint8_t *bytes; /* LOCK_BYTES each */
};

struct ov_chunk {
	struct ov_chunk *next;
	size_t size, used;
	uint8_t data[];
};

struct nfs4r_overlay {
	struct ov_table rows, names, handles, core, marks, locks;
	struct ov_chunk *chunks;
	uint64_t bytes;
	struct nfs4r_overlay *below; /* the next older one; NULL: LMDB */
};

struct ov_need { /* what a change will add at most */
	size_t bytes;
	uint32_t rows, names, handles, core, marks, locks;
};

struct nfs4r_overlay *store_ov_new(void);
/* And all below it. */
void store_ov_free(struct nfs4r_overlay *ov);
/* After true, insertions within @need cannot fail. */
bool store_ov_reserve(struct nfs4r_overlay *ov, const struct ov_need *need);
void store_ov_need_row(struct ov_need *need, uint32_t nparents);
void store_ov_need_name(struct ov_need *need, uint16_t len);
void store_ov_need_handle(struct ov_need *need, uint8_t len);
void store_ov_need_core(struct ov_need *need, uint16_t val_len);
void store_ov_need_mark(struct ov_need *need);
void store_ov_need_locks(struct ov_need *need, uint32_t n);
void *store_ov_alloc(struct nfs4r_overlay *ov, size_t n);

/* find: NULL when not in the overlay. make: found or inserted (zeroed but for its key). */
struct ov_row *store_ov_row(const struct nfs4r_overlay *ov, const struct nfs4r_oid *oid);
struct ov_row *store_ov_make_row(struct nfs4r_overlay *ov, const struct nfs4r_oid *oid);
struct ov_name *store_ov_name(const struct nfs4r_overlay *ov, const struct nfs4r_oid *dir,
			      const char *s, uint16_t len);
struct ov_name *store_ov_make_name(struct nfs4r_overlay *ov, const struct nfs4r_oid *dir,
				   const char *s, uint16_t len);
struct ov_handle *store_ov_handle(const struct nfs4r_overlay *ov, const void *h, uint8_t len);
struct ov_handle *store_ov_make_handle(struct nfs4r_overlay *ov, const void *h, uint8_t len);
struct ov_core *store_ov_core(const struct nfs4r_overlay *ov, const uint8_t *key, uint16_t len);
struct ov_core *store_ov_make_core(struct nfs4r_overlay *ov, const uint8_t *key, uint16_t len);
struct ov_mark *store_ov_mark(const struct nfs4r_overlay *ov, const struct nfs4r_oid *oid);
struct ov_mark *store_ov_make_mark(struct nfs4r_overlay *ov, const struct nfs4r_oid *oid);
struct ov_locks *store_ov_locks(const struct nfs4r_overlay *ov, const struct nfs4r_oid *oid);
struct ov_locks *store_ov_make_locks(struct nfs4r_overlay *ov, const struct nfs4r_oid *oid);
/* First slot of @dir with a cookie >= @cookie, in use or not. */
struct ov_cookie *store_ov_cookie(const struct ov_row *dir, uint64_t cookie);
struct ov_cookie *store_ov_make_cookie(struct nfs4r_overlay *ov, struct ov_row *dir,
				       uint64_t cookie);
static inline bool ov_cookie_used(const struct ov_cookie *c)
{
	return c->name && !c->name->gone && c->name->cookie == c->cookie;
}
/* All nodes of a table sorted by @cmp into a new array (free() it); NULL when out of memory or empty. */
struct ov_node **store_ov_sorted(const struct ov_table *t,
				 int (*cmp)(const void *a, const void *b));
uint64_t store_hash(const void *p, size_t len, uint64_t seed);

/* ---- LMDB ------------------------------------------------------------ */

struct nfs4r_reader {
	struct nfs4r_reader *next;
	MDB_txn *txn;
	MDB_cursor *cookies;
};

struct nfs4r_db {
	MDB_env *env;
	MDB_dbi meta, rows, names, cookies, handles, core, marks, locks;
	_Atomic bool has_locks; /* there is that database: it is made with the first list (disk format 2) */
	pthread_rwlock_t map;
	pthread_mutex_t pool_lock;
	struct nfs4r_reader *idle;
	uint64_t map_bytes;
	uint64_t bytes; /* of the file when it was opened; 0: it was not */
};

struct nfs4r_inc {
	uint64_t counter, random;
};

struct nfs4r_meta { /* what LMDB says about itself, in one record */
	uint32_t format;
	uint8_t volume[16];
	nfs4r_server_id self;
	nfs4r_journal_pos pos; /* everything before it is in LMDB */
	nfs4r_lsn applied[NLOGS], truncated[NLOGS];
	struct nfs4r_inc oid_watermark[NLOGS]; /* .random = sequence */
	struct nfs4r_inc inc; /* latest incarnation begun before pos; counter 0 = none */
	char boot_id[BOOT_ID_LEN];
	bool tail_lost;
};

enum nfs4r_status store_db_open(struct nfs4r_db *db, const char *dir, uint64_t map_bytes, char *why);
void store_db_close(struct nfs4r_db *db);
/* NFS4R_NOENT: an empty environment. */
enum nfs4r_status store_db_read_meta(struct nfs4r_db *db, struct nfs4r_versions formats, struct nfs4r_meta *m, char *why);
/* The database of lists, made within @txn. When that is committed the caller sets has_locks. */
int store_db_make_locks(struct nfs4r_db *db, MDB_txn *txn);
int store_db_put_meta(struct nfs4r_db *db, MDB_txn *txn, const struct nfs4r_meta *m);
struct nfs4r_reader *store_db_begin(struct nfs4r_db *db);
void store_db_end(struct nfs4r_db *db, struct nfs4r_reader *r);
/* @db reads what @of does, while that is open and does not grow; for one thread. */
void store_db_share(struct nfs4r_db *db, const struct nfs4r_db *of);
void store_db_unshare(struct nfs4r_db *db);
/* Room for more; no reader of this process is inside while it happens. */
int store_db_grow(struct nfs4r_db *db);
enum nfs4r_status store_db_status(int rc);

/* ---- journal --------------------------------------------------------- */

#define SEG_HEADER 64
#define REC_HEADER 24
#define REC_MAX (16u << 20) /* bytes of one record's body */

enum nfs4r_rec { /* disk values */
	REC_OPEN = 1, /* a run begins */
	REC_PUTS = 2, /* rows of the core */
	REC_MARKS = 3, /* objects whose bytes or names are about to change */
	REC_INTENT = 4, /* own entry about to be executed */
	REC_COMMIT = 5, /* entry, executed or applied, with rows of the core */
	REC_HANDLE = 6,
	REC_SYNCED = 7, /* everything before a position is on stable storage */
	REC_CLOSE = 8, /* the run ended in order */
	REC_RECOVERED = 9, /* the tail that was lost is back */
	REC_SEAL = 10, /* a generation of a log ends */
	REC_INSTALL = 11, /* an object as another server has it */
	REC_FORGET = 12, /* an object that is nowhere */
	REC_POSITIONS = 13, /* positions and MINTs as another server has them */
	REC_ASIDE = 14, /* what lay behind holes before it counts for nothing; copies of it follow */
	REC_BYTES = 15, /* what the COMMIT that follows wrote into a file */
};

struct nfs4r_segment {
	nfs4r_journal_pos start;
	uint64_t size; /* bytes in use, header included */
	int fd;
	nfs4r_lsn max[NLOGS]; /* last entry of each log in it */
	uint64_t born; /* when the file was made, s of the wall clock */
};

struct nfs4r_journal {
	int dirfd;
	uint8_t volume[16];
	nfs4r_server_id self;
	uint64_t segment_bytes, segment_age_s, fail_after, appended;
	struct nfs4r_versions formats; /* that are read */
	uint32_t format; /* that is written: the highest that was found, until it is raised */
	bool roll; /* it was raised: the next record begins a segment. Under lay_lock */
	pthread_rwlock_t segs_lock;
	struct nfs4r_segment *segs; /* ascending; the last one is being written */
	uint32_t nsegs, cap;
	_Atomic nfs4r_journal_pos tail;
	_Atomic nfs4r_journal_pos synced;
	_Atomic bool failed; /* final: what is on disk can no longer be told */
	_Atomic int failed_st; /* enum nfs4r_status: of the sync because of which; 0: no sync failed */
	bool noted; /* a sync failed in a run before, and this is the first since that reads the journal */
	pthread_mutex_t sync_lock;
	pthread_cond_t sync_done;
	bool syncing;
	nfs4r_journal_pos unnamed; /* segments from here on: the name may not be on disk. Of who syncs */
	_Atomic uint64_t appends, syncs;
	pthread_mutex_t lay_lock;
	uint64_t laid; /* length of the last file; zeros from its size to here */
	nfs4r_journal_pos lay_again; /* it did not work: not before the tail is here */
	uint64_t ahead_bytes; /* so many zeros; 0: nobody lays out by itself */
	pthread_cond_t lay_cond;
	pthread_t lay_thread;
	bool laying, lay_stop; /* the thread is there; it is to end */
	pthread_mutex_t spare_lock;
	int spare_fd; /* -1: there is none */
	_Atomic uint64_t spare; /* bytes */
};

struct nfs4r_wbuf { /* records being built, and reused */
	uint8_t *p;
	size_t len, cap;
	size_t rec; /* start of the record being built */
	bool bad; /* out of memory */
};

void store_rec_begin(struct nfs4r_wbuf *w, enum nfs4r_rec type);
void store_rec_end(struct nfs4r_wbuf *w);
void store_rec_bytes(struct nfs4r_wbuf *w, const void *p, size_t n);
void store_rec_u8(struct nfs4r_wbuf *w, uint8_t v);
void store_rec_u16(struct nfs4r_wbuf *w, uint16_t v);
void store_rec_u32(struct nfs4r_wbuf *w, uint32_t v);
void store_rec_u64(struct nfs4r_wbuf *w, uint64_t v);
void store_rec_puts(struct nfs4r_wbuf *w, const struct nfs4r_put *puts, uint32_t n);
/* Give every record in @w its position (the first lies at @pos) and checksum. */
void store_rec_seal(struct nfs4r_wbuf *w, nfs4r_journal_pos pos);

struct nfs4r_rec_view {
	nfs4r_journal_pos pos;
	uint32_t type, len; /* of the body */
	const uint8_t *body;
};

/* Where the next record begins. */
static inline nfs4r_journal_pos rec_after(const struct nfs4r_rec_view *r)
{
	return r->pos + REC_HEADER + (((nfs4r_journal_pos)r->len + 7) & ~(nfs4r_journal_pos)7);
}

struct nfs4r_commit_head { /* beginning of a COMMIT's or an INTENT's body, before the encoded entry */
	nfs4r_server_id log;
	nfs4r_lsn lsn;
	struct nfs4r_oid created; /* zero: the entry creates nothing */
	bool own;
};
#define COMMIT_HEAD 28
void store_rec_commit_head(struct nfs4r_wbuf *w, const struct nfs4r_entry *e, bool own);
bool store_rd_commit_head(const struct nfs4r_rec_view *r, struct nfs4r_commit_head *h);

/* false: no whole record with a right checksum at @p. @total: header, body and padding. */
bool store_rec_parse(const uint8_t *p, size_t left, nfs4r_journal_pos pos,
		     struct nfs4r_rec_view *out, size_t *total);

void store_seg_name(nfs4r_journal_pos start, char out[32]);
void store_seg_header(uint8_t out[SEG_HEADER], const struct nfs4r_journal *j, nfs4r_journal_pos start);
/* NFS4R_OK, MALFORMED (not a header), MISMATCH (other format, volume, server). @why gets a text. */
enum nfs4r_status store_seg_check_header(struct nfs4r_journal *j, const uint8_t *p, size_t len,
					 nfs4r_journal_pos start, char *why);
/* New last segment; on stable storage with the next sync. */
enum nfs4r_status store_seg_create(struct nfs4r_journal *j, nfs4r_journal_pos start);
/*
 * Another description of the last file, which begins at @start; -1: none. The kernel tells each description of an error once, so who syncs beside store_jnl_sync() must not do
 * that through the journal's own. lay_lock held.
 */
int store_seg_open_again(const struct nfs4r_journal *j, nfs4r_journal_pos start);
enum nfs4r_status store_seg_add(struct nfs4r_journal *j, nfs4r_journal_pos start, int fd, uint64_t size);
/* Starts of the segment files in the directory, ascending; free() the array. */
enum nfs4r_status store_seg_list(int dirfd, nfs4r_journal_pos **starts, uint32_t *n);
/* Segment that holds @pos; NULL if none. Under segs_lock. */
struct nfs4r_segment *store_seg_at(struct nfs4r_journal *j, nfs4r_journal_pos pos);
/* The record at @pos is entry @lsn of @log. */
void store_seg_note(struct nfs4r_journal *j, nfs4r_journal_pos pos, nfs4r_server_id log,
		    nfs4r_lsn lsn);
/* Close all files; the list is empty then. */
void store_seg_close(struct nfs4r_journal *j);
/* Remove the @n oldest. */
void store_seg_drop(struct nfs4r_journal *j, uint32_t n);

enum nfs4r_status store_jnl_init(struct nfs4r_journal *j);
void store_jnl_fini(struct nfs4r_journal *j);
/* All records of @w, or none. *@pos: where the first one lies. */
enum nfs4r_status store_jnl_append(struct nfs4r_journal *j, struct nfs4r_wbuf *w,
				   nfs4r_journal_pos *pos);
/* A sync failed with @st: nothing of this run can be told any more, and the next start hears of it. */
void store_jnl_fail(struct nfs4r_journal *j, enum nfs4r_status st);
void store_jnl_note_again(const struct nfs4r_journal *j); /* that it hears of it, if there was no room for that then */
bool store_jnl_is_noted(const struct nfs4r_journal *j);
void store_jnl_good(struct nfs4r_journal *j); /* what was read of it is on the disk now */
/* Zeros behind the last file's end, synced, if less than half of @ahead are left. Any thread; blocks on the disk. */
void store_jnl_lay_out(struct nfs4r_journal *j, uint64_t ahead);
bool store_jnl_wants_room(struct nfs4r_journal *j, uint64_t ahead); /* lay_lock held */
/* The thread that does it. 0: none. */
void store_jnl_ahead_start(struct nfs4r_journal *j, uint64_t ahead);
void store_jnl_ahead_stop(struct nfs4r_journal *j);
/* spare.c */
void store_spare_open(struct nfs4r_journal *j);
bool store_spare_give(struct nfs4r_journal *j); /* true: there was some, and it is free now */
enum nfs4r_status store_jnl_sync(struct nfs4r_journal *j, nfs4r_journal_pos pos);
/* The record at @pos in a new buffer (free() it), for readers in any thread; NULL when it is not there. */
uint8_t *store_jnl_read(struct nfs4r_journal *j, nfs4r_journal_pos pos, struct nfs4r_rec_view *out);
/* Where the record is that begins at @at or, if a file begins there, behind its header. */
nfs4r_journal_pos store_jnl_record_at(struct nfs4r_journal *j, nfs4r_journal_pos at);

/* ---- log index ------------------------------------------------------- */

struct nfs4r_logent {
	nfs4r_journal_pos pos; /* 0: not here */
	uint64_t inc, seq; /* oid created by it: incarnation << 16 or creator; seq 0 = none */
};

struct nfs4r_logrun { /* of one generation: entries truncated + 1 .. truncated + n, some may be missing beyond applied */
	nfs4r_lsn truncated;
	struct nfs4r_logent *ents; /* ents[0] is truncated + 1 */
	uint32_t n, cap, skip; /* skip: dead ones in front of ents[0] in the allocation */
};

struct nfs4r_log {
	nfs4r_lsn applied, stable;
	struct nfs4r_logrun now; /* the generation of applied */
	struct nfs4r_logrun old; /* the one before, up to its seal, until it is truncated */
	nfs4r_lsn seal; /* where `old` ends; 0: there is no `old` */
};

struct nfs4r_beyond { /* an entry beyond the contiguous ones that is in LMDB */
	nfs4r_server_id log;
	nfs4r_lsn lsn;
	struct nfs4r_oid created; /* zero: nothing */
};

#define LOG_GAP_MAX (1u << 20) /* an entry so far beyond the last one is a mistake */
#define SEAL_UNSEEN(lsn) (NFS4R_AFTER_SEAL(lsn) - 1) /* while the journal is walked: LMDB knows that there is an older generation, and not its seal */
/* Room for @lsn, so that _add() cannot fail. */
bool store_log_reserve(struct nfs4r_log *l, nfs4r_lsn lsn);
void store_log_add(struct nfs4r_log *l, nfs4r_lsn lsn, nfs4r_journal_pos pos,
		   const struct nfs4r_oid *created);
/* Move applied over what is there; the mint of the log's owner goes with it. */
void store_log_advance(struct nfs4r_log *l, nfs4r_server_id owner, struct nfs4r_inc *watermark);
const struct nfs4r_logent *store_log_at(const struct nfs4r_log *l, nfs4r_lsn lsn);
/* An entry that is there, beyond applied, created @oid. */
bool store_log_made(const struct nfs4r_log *l, const struct nfs4r_oid *oid);
/* The last one that is there, and the first one that is kept; 0: none. */
nfs4r_lsn store_log_last(const struct nfs4r_log *l);
nfs4r_lsn store_log_first(const struct nfs4r_log *l);
/* The first one that is there after @lsn; 0: none. */
nfs4r_lsn store_log_next(const struct nfs4r_log *l, nfs4r_lsn lsn);
/* Up to where entries are gone. */
nfs4r_lsn store_log_truncated(const struct nfs4r_log *l);
void store_log_truncate(struct nfs4r_log *l, nfs4r_lsn until);
/* End the generation of @seal there. Nothing happens if it has ended. false: the log has not come so far. */
bool store_log_seal(struct nfs4r_log *l, nfs4r_lsn seal, struct nfs4r_inc *watermark);
/* Positions from elsewhere; no entry is left. */
void store_log_clear(struct nfs4r_log *l);
void store_log_found(struct nfs4r_log *l, nfs4r_lsn applied, nfs4r_lsn truncated);

/* ---- in flight ------------------------------------------------------- */

struct nfs4r_touched {
	struct nfs4r_oid oid;
	nfs4r_version before;
};

struct nfs4r_flight { /* an entry between intent() or mark() and commit() */
	struct nfs4r_flight *next;
	nfs4r_server_id log;
	nfs4r_lsn lsn;
	nfs4r_journal_pos intent; /* where its INTENT lies; 0 = a mark only */
	uint32_t ntouched;
	struct nfs4r_touched touched[NFS4R_PARTS_MAX];
};
#define FLIGHT_BUCKETS 1024

#define NFS4R_MARKS_AHEAD_MAX 64
struct nfs4r_marks_ahead { /* mark_prefetch.c; under change */
	struct nfs4r_oid dir; /* of the file that was marked last */
	uint64_t cookie, from; /* of its names: up to there marks were made ahead, and since where the last time */
	uint32_t size; /* how many the last time, if there were as many; 0: none */
	uint32_t made, used; /* then; of them since */
};
/* The mark of an object that is about to be changed was found. */
void store_marks_ahead_used(struct nfs4r_marks_ahead *a, const struct ov_mark *m);
void store_marks_ahead_gone(struct nfs4r_marks_ahead *a); /* a checkpoint drops marks of no use */
/* To the @n marks that an update of @oid needs, if that is a file: others of its directory, at most NFS4R_MARKS_AHEAD_MAX. Returns how many there are now. */
uint32_t store_marks_ahead_take(struct nfs4r_store *s, const struct nfs4r_oid *oid, struct nfs4r_touched *list, uint32_t n);
/* The version to mark @oid with; 0 = needs no mark. Under change: nobody else alters the overlay's tables. */
nfs4r_version store_unmarked(struct nfs4r_store *s, const struct nfs4r_oid *oid);

struct nfs4r_inline_bytes { /* a REC_BYTES */
	struct nfs4r_oid oid;
	nfs4r_journal_pos pos, end;
};

struct nfs4r_foreign_intent { /* an entry that comes from elsewhere, between begin() and commit(): its objects' files may have a part of it */
	nfs4r_server_id log;
	nfs4r_lsn lsn;
	uint32_t n;
	struct nfs4r_extent of[NFS4R_PARTS_MAX];
};

/* ---- the store ------------------------------------------------------- */

struct nfs4r_frozen { /* what a checkpoint is writing; stays after a failed one */
	struct nfs4r_overlay *ov; /* NULL: none */
	struct nfs4r_meta meta;
	nfs4r_lsn last[NLOGS], back; /* last entries that it holds; see below */
	struct nfs4r_touched *carry; /* marks of what was in flight, and of nhot, the last of them, that were changed lately */
	uint32_t ncarry, nhot;
	struct nfs4r_beyond *beyond;
	uint32_t nbeyond;
};

struct nfs4r_store {
	char *dir;
	int dirfd, lockfd;
	struct nfs4r_db db;
	struct nfs4r_journal jnl;

	pthread_mutex_t change;
	struct nfs4r_wbuf wbuf;
	nfs4r_journal_pos synced_noted; /* last SYNCED record */
	const char *unreadable; /* at open: what is wrong with the record that was read last; NULL: nothing, or the status says it */
	struct nfs4r_meta meta; /* now: identity, incarnation; positions are filled in at a freeze */
	nfs4r_lsn last[NLOGS]; /* last entry committed: of the own log what was executed here, of others what came in this run */
	nfs4r_lsn back; /* last entry committed of the own log that came back from others (log 4.7) */
	nfs4r_lsn gave_up[NLOGS]; /* up to there a checkpoint has waited for a hole to close, and it did not */
	nfs4r_lsn owners_have[NLOGS]; /* others' logs, for good */
	uint32_t waiters; /* who waits until entries are contiguous */
	pthread_cond_t whole; /* of change */
	uint64_t oid_seq;
	struct nfs4r_extent *dropped; /* at open: touched by others' entries that count for nothing since, and that LMDB did not hold, or that were begun and not committed */
	uint32_t ndropped, dropped_cap;
	struct nfs4r_given_back *given_back; /* at open: what those entries had made of the objects */
	uint32_t ngiven_back, given_back_cap;
	struct nfs4r_inline_bytes *inline_data; /* at open: of entries that count, as they lie in the journal */
	uint32_t nkept, inline_cap;
	struct nfs4r_inline_bytes inline_next; /* while the journal is walked: of the COMMIT that comes next */
	struct nfs4r_flight *flights[FLIGHT_BUCKETS];
	uint32_t nflights;
	struct nfs4r_foreign_intent *begun; /* few: no more than are applied at once */
	uint32_t nbegun, begun_cap;
	struct nfs4r_marks_ahead marks_ahead;

	pthread_rwlock_t view;
	struct nfs4r_overlay *active; /* above all others */
	struct nfs4r_frozen frozen;
	struct nfs4r_meta lmdb; /* what LMDB has now: position and logs */
	struct nfs4r_beyond *beyond; /* what it has behind holes, as they were at that position */
	uint32_t nbeyond, beyond_cap;
	uint64_t aside_bytes; /* of the journal, when entries were set aside last */
	struct nfs4r_log logs[NLOGS];
	struct nfs4r_inc oid_watermark[NLOGS];

	pthread_mutex_t ckpt_lock;
	pthread_cond_t ckpt_cond;
	bool ckpt_running;
	uint64_t ckpt_begun, ckpt_ended;
	enum nfs4r_status ckpt_status;
	nfs4r_lsn ckpt_stable[NLOGS];
	_Atomic bool files_failed; /* final: what the exported files have on the disk can no longer be told */
	_Atomic int files_st; /* enum nfs4r_status: why not */
	bool files_noted; /* so it was in a run before, and LMDB's position has not moved since */
	_Atomic uint64_t checkpoints, last_checkpoint_ms;

	struct nfs4r_oid root;
	struct nfs4r_inc *incs; /* begun since the last checkpoint before open, this one included */
	uint32_t nincs;
	struct nfs4r_entry **intents; /* recovered, ascending */
	uint32_t nintents;
};

/* The object wherever it lies. status OK: look at node or obj; NOENT: nothing stored. Close in every case. */
struct nfs4r_ref {
	enum nfs4r_status status;
	bool locked; /* view is held: obj lies in an overlay */
	enum nfs4r_known absent; /* what it means if there is no row: of the same moment as the look for the row */
	struct nfs4r_reader *reader; /* obj was decoded from LMDB */
	const struct nfs4r_object *obj;
	struct nfs4r_object decoded;
	const uint8_t *more; /* further parents, still encoded */
};
void store_ref_open(struct nfs4r_store *s, const struct nfs4r_oid *oid, struct nfs4r_ref *ref);
void store_ref_close(struct nfs4r_store *s, struct nfs4r_ref *ref);
/* A copy for changing, with room for one more parent. NOENT: *out is empty but valid. fini in every case. */
enum nfs4r_status store_object_load(struct nfs4r_store *s, const struct nfs4r_oid *oid,
				    struct nfs4r_object *out);
void store_object_fini(struct nfs4r_object *o);
/* Only for who holds the change lock; a reader's answer is in its ref. */
enum nfs4r_known store_known_absent(struct nfs4r_store *s, const struct nfs4r_oid *oid);

#define ROW_FIXED 56
size_t store_row_size(const struct nfs4r_object *o);
void store_row_encode(const struct nfs4r_object *o, uint8_t *out);
/* false: not a row. out->more stays NULL, *more points into @p. */
bool store_row_decode(const struct nfs4r_oid *oid, const uint8_t *p, size_t len,
		      struct nfs4r_object *out, const uint8_t **more);

#define LOCK_BYTES 80 /* of one lock, on disk and in memory: owner 32, first and last byte, start and request of its server, life, 8 each, server 2, type 1, zero 5 */
void store_lock_encode(const struct nfs4r_file_lock *l, uint8_t out[LOCK_BYTES]);
/* false: not a list. Fills at most @max. */
bool store_locks_decode(const uint8_t *bytes, size_t len, struct nfs4r_file_lock *out, uint32_t max);
/* The list of @oid in the active overlay; 0: it has none. */
void store_locks_set(struct nfs4r_store *s, const struct nfs4r_oid *oid, const struct nfs4r_file_lock *locks, uint32_t n);

#define NAME_KEY_MAX (16 + NFS4R_NAME_MAX)
size_t store_name_key(uint8_t out[NAME_KEY_MAX], const struct nfs4r_oid *dir, const char *s,
		      uint16_t len);
#define NAME_VAL 25 /* oid, type, cookie */

/* Change plan of one entry: everything read and checked before, nothing can fail after. */
struct nfs4r_plan {
	struct nfs4r_object obj[NFS4R_PARTS_MAX];
	bool skip[NFS4R_PARTS_MAX];
	bool handle_mine[NFS4R_PARTS_MAX];
	bool locks_end[NFS4R_PARTS_MAX]; /* the object dies, and had some */
	struct {
		bool had;
		uint64_t cookie;
	} old[NFS4R_PARTS_MAX][NFS4R_NAME_CHANGES_MAX];
	struct ov_need need;
};
void store_plan_fini(struct nfs4r_plan *p);
void store_puts_need(struct ov_need *need, const struct nfs4r_put *puts, uint32_t n);
/* Of a record at @pos: what a later one wrote stays. */
void store_puts_apply(struct nfs4r_store *s, const struct nfs4r_put *puts, uint32_t n, nfs4r_journal_pos pos);
/* Does the way back from the handle of @o lead to it (and not to a newer object)? */
bool store_handle_is_mine(struct nfs4r_store *s, const struct nfs4r_object *o);
/* Both ways but for storing @o; len 0: the object loses its handle. @mine: as answered before. */
void store_handle_assign(struct nfs4r_store *s, const struct nfs4r_oid *oid, struct nfs4r_object *o,
			 bool mine, const void *handle, uint8_t len);
/* Effect of a HANDLE record; @o as loaded. */
void store_handle_need(struct ov_need *need, const struct nfs4r_object *o, uint8_t len);
void store_handle_apply(struct nfs4r_store *s, const struct nfs4r_oid *oid, struct nfs4r_object *o,
			bool mine, const void *handle, uint8_t len);
/* Store @o as the state of @oid in the active overlay (more is copied). */
struct ov_row *store_object_store(struct nfs4r_store *s, const struct nfs4r_oid *oid,
				  const struct nfs4r_object *o, bool gone);
bool store_name_find(struct nfs4r_store *s, const struct nfs4r_oid *dir, const char *name,
		     uint16_t len, struct nfs4r_oid *oid, uint32_t *type, uint64_t *cookie);

/* A change must not wait for ever behind readers that come one after another. Readers must not nest. */
void store_rwlock_init(pthread_rwlock_t *l);
/* Begins the change's buffer, with a SYNCED record when there is news. Under change. */
struct nfs4r_wbuf *store_change_begin(struct nfs4r_store *s);
/* What is about to be written came with that disk format: so the volume has it, whatever the store was told. INVAL: this program does not know it. Under change. */
enum nfs4r_status store_format_at_least(struct nfs4r_store *s, uint32_t format);

/* NULL when out of memory. */
struct nfs4r_flight *store_flight_new(nfs4r_server_id log, nfs4r_lsn lsn);
void store_flight_add(struct nfs4r_store *s, struct nfs4r_flight *f);
void store_flight_end(struct nfs4r_store *s, nfs4r_server_id log, nfs4r_lsn lsn);
/* Objects of @e whose existing bytes or names will change. */
void store_flight_fill(struct nfs4r_flight *f, const struct nfs4r_entry *e);
void store_flights_free(struct nfs4r_store *s);
/* Those of @log up to @until will never be committed. */
void store_flights_drop(struct nfs4r_store *s, nfs4r_server_id log, nfs4r_lsn until);

/* fs_sync.c: that the files could not be synced is noted on the disk; LMDB is behind that now. */
bool store_files_noted(const struct nfs4r_store *s);
void store_files_note_again(const struct nfs4r_store *s); /* there may be room for it now */
void store_files_good(struct nfs4r_store *s);

/* What was begun is in the journal once more, behind what LMDB will hold. Under change. */
enum nfs4r_status store_foreign_intent_again(struct nfs4r_store *s);
enum nfs4r_status store_foreign_intent_replay(struct nfs4r_store *s, struct nfs4r_rd *r);
void store_foreign_intent_end(struct nfs4r_store *s, nfs4r_server_id log, nfs4r_lsn lsn);
/* At open: nothing of it goes on. */
enum nfs4r_status store_foreign_intent_drop(struct nfs4r_store *s);
/* Add to `dropped`. */
enum nfs4r_status store_drop_extent(struct nfs4r_store *s, const struct nfs4r_extent *x);
struct nfs4r_extent store_extent_of(const struct nfs4r_part *p);

/* The two halves of a commit's way into memory; used by commit() and by replay. */
enum nfs4r_status store_commit_reserve(struct nfs4r_store *s, const struct nfs4r_entry *e,
				       const struct nfs4r_put *puts, uint32_t nputs,
				       struct nfs4r_plan *plan);
void store_commit_apply(struct nfs4r_store *s, const struct nfs4r_entry *e,
			const struct nfs4r_put *puts, uint32_t nputs, struct nfs4r_plan *plan,
			nfs4r_journal_pos pos);

struct nfs4r_fresh { /* for a freeze: what can be had before */
	struct nfs4r_overlay *ov; /* the next active one */
	struct nfs4r_touched *carry;
	uint32_t ncarry, nhot;
	struct nfs4r_beyond *beyond;
	uint32_t nbeyond;
};
/* @logs: those of what will be frozen. @hot: objects that were changed lately stay marked. Under change; free it if nothing comes of it. */
enum nfs4r_status store_fresh_make(struct nfs4r_store *s, const struct nfs4r_log *logs, bool hot, struct nfs4r_fresh *f);
void store_fresh_free(struct nfs4r_fresh *f);
/* Freeze the positions of now, up to @pos of the journal; but for f->ov, @f is empty then. Under change and view. */
void store_freeze_note(struct nfs4r_store *s, struct nfs4r_fresh *f, nfs4r_journal_pos pos);
/*
 * Freeze without what lies behind holes of logs: it stays above what is frozen, and its records go to the end of the journal (log 4.3). OK; DELAY: that is not possible now.
 * Nothing has changed then, as after any other error.
 */
enum nfs4r_status store_set_aside(struct nfs4r_store *s);

enum nfs4r_status store_ident_lock(struct nfs4r_store *s, const char *dir, char *why);
enum nfs4r_status store_ident_boot_id(const char *given, char out[BOOT_ID_LEN], char *why);
enum nfs4r_status store_ident_check(const struct nfs4r_store_config *cfg, const char *what, uint32_t format,
				    const uint8_t volume[16], nfs4r_server_id self, char *why);
enum nfs4r_status store_ident_random(uint64_t *out);

/* The entry of the COMMIT or INTENT record at @pos, or NULL; one reference. Any thread. */
struct nfs4r_entry *store_entry_at(struct nfs4r_store *s, nfs4r_journal_pos pos);
/* What a COMMIT or an INTENT says: the entry, and rows of the core. */
struct nfs4r_commit_body {
	struct nfs4r_entry *entry;
	struct nfs4r_put *puts;
	uint32_t nputs;
};
/* OK: free with store_commit_body_fini(). MALFORMED, NOMEM: *why, a static text, says what is wrong, and there is nothing to free. */
enum nfs4r_status store_rd_commit(const struct nfs4r_rec_view *r, struct nfs4r_commit_body *out, const char **why);
void store_commit_body_fini(struct nfs4r_commit_body *c);
enum nfs4r_status store_rd_puts(struct nfs4r_rd *r, struct nfs4r_put **puts, uint32_t *n);
/* COMMITs before @pos with an LSN beyond @last of their log count for nothing: they lay behind a hole, own ones in a tail that was lost. */
struct nfs4r_cut {
	nfs4r_journal_pos pos; /* of the OPEN that says so; CUT_NEW: this open finds it */
	nfs4r_journal_pos from; /* LMDB held the journal up to here then: of other logs nothing before that is concerned */
	nfs4r_lsn last[NLOGS];
	bool again; /* an ASIDE: they follow once more */
};
#define CUT_NEW UINT64_MAX
struct nfs4r_scan { /* the walk over the journal at open */
	struct nfs4r_store *s;
	const char *boot_id; /* of now */
	nfs4r_journal_pos *starts;
	uint32_t nstarts;
	char *why;
	struct nfs4r_inc inc; /* of the last run seen */
	char last_boot[BOOT_ID_LEN];
	bool closed; /* the last record is CLOSE */
	bool torn;
	nfs4r_journal_pos end; /* where the journal ends */
	nfs4r_journal_pos idle; /* the first OPEN that nothing came after but others, and CLOSE; 0: something did */
	uint32_t keep; /* segments that stay */
	bool lost; /* the tail, and not recovered yet */
	struct nfs4r_cut *cuts; /* outlive a pass */
	uint32_t ncuts;
	bool again; /* a cut was found that concerns what was already taken: walk once more */
};
/* Effects of SEAL, INSTALL, FORGET and POSITIONS at open; @index: LMDB holds them already. */
enum nfs4r_status store_replay_repair(struct nfs4r_store *s, const struct nfs4r_rec_view *rec, bool index);
/* Effect of one record. @sc: what it tells about runs. MALFORMED, CORRUPT, NOMEM. */
enum nfs4r_status store_replay(struct nfs4r_scan *sc, const struct nfs4r_rec_view *rec);
enum nfs4r_status store_cut_add(struct nfs4r_scan *sc, const struct nfs4r_cut *cut);
/* What an OPEN or an ASIDE of server @self says. *@lost: the tail of the own log. */
enum nfs4r_status store_rd_cut(const struct nfs4r_rec_view *rec, nfs4r_server_id self, struct nfs4r_cut *cut, bool *lost);
/* The effects of one record on rows and logs. */
enum nfs4r_status store_replay_puts(struct nfs4r_store *s, const struct nfs4r_rec_view *rec);
enum nfs4r_status store_replay_handle(struct nfs4r_store *s, const struct nfs4r_rec_view *rec);
enum nfs4r_status store_replay_commit(struct nfs4r_store *s, const struct nfs4r_rec_view *rec);
enum nfs4r_status store_replay_mark(struct nfs4r_store *s, const uint8_t oid[16], nfs4r_version version);
/* A BYTES record of the payload of @e, a WRITE; its COMMIT follows. */
void store_rec_inline(struct nfs4r_wbuf *w, const struct nfs4r_entry *e);
enum nfs4r_status store_replay_bytes(struct nfs4r_store *s, const struct nfs4r_rec_view *rec);
/* Where the bytes are of the COMMIT at @pos; 0: not in the journal. */
nfs4r_journal_pos store_inline_of(const struct nfs4r_store *s, nfs4r_journal_pos pos);
/* That COMMIT counts. */
enum nfs4r_status store_inline_note(struct nfs4r_store *s, const struct nfs4r_entry *e);
/* Open or make LMDB; positions, MINT and marks from it. */
enum nfs4r_status store_found_db(struct nfs4r_store *s, const struct nfs4r_store_config *cfg,
				 bool have_journal, char *why);
/* Positions, MINT and marks as LMDB has them. */
enum nfs4r_status store_found_state(struct nfs4r_store *s);
/* Journal and LMDB as found on disk -> memory. */
enum nfs4r_status store_recover(struct nfs4r_store *s, const struct nfs4r_store_config *cfg,
				const char *boot_id, struct nfs4r_store_info *info, char *why);

uint32_t store_crc32c(uint32_t crc, const void *data, size_t len);
uint32_t store_crc32c_tables(uint32_t crc, const void *data, size_t len);

__attribute__((format(printf, 3, 4))) static inline enum nfs4r_status
nfs4r_refuse(char *why, enum nfs4r_status st, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, WHY_LEN, fmt, ap);
	va_end(ap);
	return st;
}

#endif
