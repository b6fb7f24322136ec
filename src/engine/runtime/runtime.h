/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The ground of the engine: what all rooms stand on. It calls none of them. What it has to tell them goes through two tables that the door fills in: actions of
 * the core, and notices.
 *
 * Lock order: update locks > eng->lock (the core) > locks inside store, rpc, pools, tables. Nothing calls
 * lops, sync() or a caller's callback while it holds eng->lock.
 */
#ifndef NFS4R_ENGINE_RUNTIME_H
#define NFS4R_ENGINE_RUNTIME_H

#include "core/core.h"
#include "engine/engine_state.h"

#define OFTEN_MAX 6 /* lines of one cause and server a minute */

/* ---- pool.c ---- */
typedef void (*task_fn)(struct nfs4r_engine *eng, void *arg);
/* Its threads do nothing before engine_pool_begin(). @drop, or NULL: frees the argument of a task that never runs. */
struct pool *engine_pool_create(struct nfs4r_engine *eng, const char *name, unsigned threads, task_fn drop);
void engine_pool_begin(struct pool *p);
void engine_pool_run(struct pool *p, task_fn fn, void *arg); /* any thread; FIFO; never blocks */
/* The same for server @of. When that one is gone before it has begun, or the pool ends, @drop (not NULL) is called in its place. */
void engine_pool_run_for(struct pool *p, nfs4r_server_id of, task_fn fn, task_fn drop, void *arg);
void engine_pool_forget(struct pool *p, nfs4r_server_id of); /* drops what waits for it, on this thread */
/* The caller is a thread of @p at the end of its task: the next task that it queues there is one that it will take itself. */
void engine_pool_returns(struct pool *p);
void engine_pool_stop(struct pool *p); /* runs what is queued, if it has begun, and joins; later tasks are kept and never run */
void engine_pool_destroy(struct pool *p);
size_t engine_pool_queued(struct pool *p);

/* ---- clock.c ---- */
int64_t engine_now_real_ns(void); /* since 1970, of the clock of the day */
uint64_t engine_now_ms(void); /* since the machine's start, also while it slept */
struct timespec engine_after_us(uint64_t us); /* from now on, of CLOCK_MONOTONIC: until when to wait */

/* ---- path.c ---- */
/* "/a/b" by the store's names, or "(1.2.3)" when it has no path that fits into @len bytes. Any thread; looks at all names of the directories on the way. */
void engine_path_of(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, char *out, size_t len);

/* ---- remedy.c ---- */
/* What an administrator can do about an update that fails with @st here */
const char *engine_remedy(enum nfs4r_status st);
/* What is said of another server that has halted, with what is to be done there. Returns @buf. */
const char *engine_halt_of_peer(enum nfs4r_status st, bool files, char *buf, size_t len);
/* What it is that cannot be applied: v->trouble is set. Returns @buf. */
const char *engine_stuck_on(const struct nfs4r_core_view *v, nfs4r_server_id self, char *buf, size_t len);

/* ---- update_locks.c ---- */
struct lock_want {
	struct nfs4r_oid oid;
	bool whole;
	uint64_t off, len;
};
struct op_locks {
	struct op_locks *next;
	uint32_t n;
	struct lock_want want[NFS4R_PARTS_MAX];
};
struct locks *engine_locks_create(void);
void engine_locks_destroy(struct locks *l);
/* All or nothing, so no order is needed against deadlock; waits only for local executions. */
void engine_locks_take(struct locks *l, struct op_locks *h);
void engine_locks_drop(struct locks *l, struct op_locks *h);

/* ---- objects.c, beside what engine.h has of it ---- */
/* The file's bytes, to this disk. STALE: it is not here, or gone; the caller says what that means. */
enum nfs4r_status engine_sync_file(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
/* Before the bytes change of what the journal keeps bytes of, and the journal is not to keep what changes them (log 4.10). */
enum nfs4r_status engine_sync_inline(struct nfs4r_engine *eng, const struct nfs4r_entry *e);
bool engine_is_disk_error(enum nfs4r_status st); /* full or broken */

/* ---- servers.c ---- */
/* "1, 2, 3"; "none". Returns @buf. */
const char *engine_server_list(nfs4r_servers set, char *buf, size_t len);
nfs4r_servers engine_servers_surviving(struct nfs4r_engine *eng); /* that may still have something: after an administrator's word, said to all whom it names, only those (log 9.3). Takes eng->lock */
bool engine_is_alone(const struct nfs4r_engine *eng); /* the volume has this server only. Any thread */

/* ---- core_driver.c ---- */
/* One step; eng->lock held by the caller. */
void engine_step(struct nfs4r_engine *eng, struct nfs4r_event *ev);
void engine_perform(struct nfs4r_engine *eng, const struct nfs4r_update *u);
/* Waits for the next step, or for the end of the engine. ETIMEDOUT: until @until, a time of CLOCK_MONOTONIC, was none; NULL: for as long as it takes. eng->lock held */
int engine_step_await(struct nfs4r_engine *eng, const struct timespec *until);
void engine_send(struct nfs4r_engine *eng, nfs4r_server_id to, const struct nfs4r_msg *msg);
void engine_send_durable(struct nfs4r_engine *eng, nfs4r_server_id to, const struct nfs4r_msg *msg); /* when the journal is on the disk. eng->lock held */

/* ---- halt.c ---- */
void engine_halt(struct nfs4r_engine *eng, const char *why); /* for good. eng->lock held */
/* The store did not take what the core counts on: halts, and how depends on why. @what: "the journal cannot be written". eng->lock held */
void engine_store_failed(struct nfs4r_engine *eng, const char *what, enum nfs4r_status st);
void engine_journal_failed(struct nfs4r_engine *eng, enum nfs4r_status st); /* eng->lock held */
void engine_halt_say_again(struct nfs4r_engine *eng, uint64_t now); /* to the others, from time to time. eng->lock held */
void engine_recovered(struct nfs4r_engine *eng); /* it serves from now on, unless it has halted. eng->lock held */
void engine_fence_set(struct nfs4r_engine *eng, uint32_t number); /* no client is answered until it is 0. eng->lock held */
enum halt engine_halt_waits(struct nfs4r_engine *eng); /* it halted for what may come: 0, HALT_STORE or HALT_FILES. No lock held */
void engine_halt_ends(struct nfs4r_engine *eng); /* it has come. No lock held */

/* ---- group_commit.c ---- */
struct durable *engine_durable_create(struct nfs4r_engine *eng);
void engine_durable_stop(struct durable *d);
void engine_durable_destroy(struct durable *d);
void engine_durable_send(struct durable *d, nfs4r_server_id to, const struct nfs4r_msg *msg);
void engine_durable_call(struct durable *d, task_fn fn, void *arg); /* @fn under eng->lock, unless the server has halted by then */
void engine_durable_begin_sync(struct durable *d); /* whoever needs it still has to sync, or to wait for this one, by himself */
void engine_durable_event(struct durable *d, uint32_t event, uint64_t num); /* the core hears it */

/* ---- checkpoint.c ---- */
void *engine_checkpoint_thread(void *eng);
void engine_checkpoint_wake(struct nfs4r_engine *eng, bool hurry); /* hurry: without a pause after the one before */
/* Somebody wants control: what is closing should be released soon. Any thread. */
void engine_checkpoint_urge(struct nfs4r_engine *eng);
enum nfs4r_status engine_checkpoint_now(struct nfs4r_engine *eng);

/* ---- lease.c ---- */
/* Around the carrying out of an update: the lease falls before what depends on it changes, and rises after. eng->lock held. */
/* settings.c: the volume's keys as text. Pure */
#define ENGINE_SETTINGS 6
#define ENGINE_SETTING_TEXT 16
struct engine_setting {
	const char *name, *unit;
	enum nfs4r_volume_key key;
	bool differs; /* in the file of this server, which does not count any more */
	char value[ENGINE_SETTING_TEXT], file[ENGINE_SETTING_TEXT];
};
/* @has: durability 0: no view has said them yet, and the file counts. */
void engine_settings(const struct nfs4r_config *file, const struct nfs4r_volume_keys *has, struct engine_setting out[ENGINE_SETTINGS]);
/* NFS4R_OK; NFS4R_INVAL: @why is a sentence without the text that was given. */
enum nfs4r_status engine_setting_parse(const char *name, const char *text, enum nfs4r_volume_key *key, uint32_t *value, char *why, size_t why_len);

void engine_volume_begin(struct nfs4r_engine *eng); /* before the core: what the configuration says */
void engine_volume_follow(struct nfs4r_engine *eng); /* after a step, before its actions; eng->lock held */
uint32_t engine_durability(const struct nfs4r_engine *eng); /* enum nfs4r_durability. Any thread, as the following */
uint32_t engine_durability_changes(const struct nfs4r_engine *eng);
uint32_t engine_directory_reads(const struct nfs4r_engine *eng);
uint32_t engine_lease_ms(const struct nfs4r_engine *eng); /* 0: the view is fixed */
uint32_t engine_silence_ms(const struct nfs4r_engine *eng);

void engine_lease_lower(struct nfs4r_engine *eng);
void engine_lease_raise(struct nfs4r_engine *eng);
/* Does the lease hold now? Any thread. */
bool engine_has_lease(struct nfs4r_engine *eng);
/*
 * To answer from the own copy without the lock: note the era before looking at the control table; may_answer() afterwards says
 * whether the lease holds and the table was complete meanwhile. Any thread.
 */
uint32_t engine_lease_era(struct nfs4r_engine *eng);
bool engine_may_answer(struct nfs4r_engine *eng, uint32_t era);
/* The loss epoch of the adopted view goes into eng->runtime.epoch and the verifier. eng->lock held. */
void engine_epoch_follow(struct nfs4r_engine *eng);
/* What the own store is worth (log 8.6); KNOWN if nobody is asked. eng->lock held, or before threads run. */
enum nfs4r_memory engine_memory(struct nfs4r_engine *eng);

/* ---- read_route.c ---- */
/* This server, a peer, or 0: nobody can tell now. @excluded: said that they do not control it. Takes eng->lock */
nfs4r_server_id engine_route_read(struct nfs4r_engine *eng, const struct nfs4r_read *rd, nfs4r_servers excluded);

/* ---- control_filter.c ---- */
struct fastpath *engine_filter_create(nfs4r_server_id self);
void engine_filter_destroy(struct fastpath *f);
void engine_filter_change(struct fastpath *f, const struct nfs4r_oid *oid, nfs4r_server_id owner, uint32_t depth, bool added);
/*
 * Between hold (before the tree shows an object that comes with a claim) and settled (its control is in the table) nothing is
 * surely local. Else a reader could find the new object and miss its control. eng->lock held.
 */
void engine_filter_block(struct fastpath *f);
void engine_filter_unblock(struct fastpath *f);
/* true: surely no other server controls it, serve locally. false: ask the core. Lock-free. To be asked after the object's row was seen. */
bool engine_filter_local(struct fastpath *f, const struct nfs4r_oid *oid, bool is_dir);

/* ---- byte_versions.c; any thread ---- */
struct touched *engine_touched_create(void);
void engine_touched_destroy(struct touched *w);
void engine_touched_begin(struct touched *w, const struct nfs4r_entry *e); /* an own entry that has its versions, before there is a newer one; eng->lock held */
void engine_touched_note(struct touched *w, const struct nfs4r_entry *e); /* an own entry that was executed; before its answer */
void engine_touched_forget(struct touched *w, const struct nfs4r_entry *e); /* another server's that was applied */
void engine_touched_forget_all(struct touched *w); /* the copy is another one */
/* The newest update of those bytes of the file: its version, and an entry of the own log with which it has come. False: it is not known, and the file's row says enough. */
bool engine_touched_last(struct touched *w, const struct nfs4r_oid *oid, uint64_t off, uint64_t len, nfs4r_version *version, nfs4r_lsn *lsn);

/* The pieces of the file from the one that has byte @off on, for nfs4r.x's words after the first two: bytes of a piece, and their versions. Returns how many words, @most at most. */
uint32_t engine_touched_pieces(struct touched *w, const struct nfs4r_oid *oid, uint64_t off, uint64_t *words, uint32_t most);

/* ---- suid.c; any thread ---- */
struct set_ids *engine_suid_create(void);
void engine_suid_destroy(struct set_ids *s);
void engine_suid_forget(struct set_ids *s, const struct nfs4r_entry *e); /* executed under its locks, or another server's that was applied */
void engine_suid_forget_all(struct set_ids *s); /* the copy is another one */
/* Would the local file system take set-id bits away in @op? Then *left is the mode without them. Under the locks of @op; may block on the disk. */
bool engine_suid_go(struct nfs4r_engine *eng, const struct nfs4r_op *op, const struct nfs4r_lhandle *h, uint32_t *left);
/* MISMATCH: @op is such an update, and would do something else. Under its locks. */
enum nfs4r_status engine_suid_alone(struct nfs4r_engine *eng, const struct nfs4r_op *op, const struct nfs4r_lhandle *h);

/* The file has no set-id bits and belongs to this user, as far as is remembered. */
bool engine_suid_is_owner(struct set_ids *s, const struct nfs4r_oid *oid, uint32_t uid);

/* ---- in_doubt.c ---- */
struct in_doubt {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool open;
	bool unknown; /* which objects: all of them may be */
	struct nfs4r_oid *list; /* ascending */
	size_t n;
	bool *cleared; /* of each: no longer in doubt */
};
bool engine_doubt_begin(struct nfs4r_engine *eng); /* from now on all is in doubt. False: no memory */
bool engine_doubt_list(struct nfs4r_engine *eng, struct nfs4r_oid *list, size_t n); /* these only, as soon as that is known; @list, on the heap, is no longer the caller's. False: no memory */
void engine_doubt_known(struct nfs4r_engine *eng);
void engine_doubt_cleared(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
void engine_doubt_over(struct nfs4r_engine *eng);
void engine_doubt_free(struct nfs4r_engine *eng);
bool engine_doubt_is_open(struct nfs4r_engine *eng);
enum doubt_about {
	DOUBT_NONE,
	DOUBT_OPEN,
	DOUBT_UNKNOWN /* it is not known yet which objects are in doubt */
};
enum doubt_about engine_doubt_about(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
void engine_doubt_wait(struct nfs4r_engine *eng); /* until nothing is in doubt, or the engine stops */
void engine_doubt_wake(struct nfs4r_engine *eng);

/* ---- missing.c; any thread, no lock held ---- */
struct behind *engine_missing_create(task_fn mend); /* what mends an object: runs on the menders, and frees its argument, an OID */
void engine_missing_destroy(struct behind *b);
void engine_missing_wake(struct nfs4r_engine *eng); /* the engine stops */
void engine_missing_drop(struct nfs4r_engine *eng, void *arg); /* a task that never runs */
enum behind_about {
	BEHIND_NOT,
	BEHIND_OPEN /* it is being brought back: nothing may be executed, applied, read */,
	BEHIND_LATER /* its content is newer than its row: not to be read */
};
enum behind_about engine_missing_about(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
/* The local file system said that @oid, which the store knows, is not there. True: it comes back from another server; until then the answer is DELAY. May block on the local disk. */
bool engine_missing_notice(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
/* The same of all objects of an update that failed with @st, which ends as what is returned. @op NULL: of another server's update, which is tried again after DELAY. */
enum nfs4r_status engine_missing_failed(struct nfs4r_engine *eng, const struct nfs4r_entry *e, const struct nfs4r_op *op, enum nfs4r_status st);
bool engine_missing_blocks(struct nfs4r_engine *eng, const struct nfs4r_entry *e); /* is one of its objects BEHIND_OPEN? */
void engine_missing_wait(struct nfs4r_engine *eng, const struct nfs4r_entry *e); /* until that is over, a second at most */
void engine_missing_misplaced(struct nfs4r_engine *eng, const struct nfs4r_oid *oid); /* it waits in the hidden directory for its own name. Never blocks */
/* For who mends. */
bool engine_missing_is(struct nfs4r_engine *eng, const struct nfs4r_oid *oid); /* the local file system does not have it */
bool engine_missing_may_mend(struct nfs4r_engine *eng, const struct nfs4r_oid *oid); /* can it come from anywhere? */
bool engine_missing_claim_queued(struct nfs4r_engine *eng, const struct nfs4r_oid *oid); /* a task takes what was queued. False: another thread was quicker */
enum nfs4r_status engine_missing_claim(struct nfs4r_engine *eng, const struct nfs4r_oid *oid); /* the same at once, or after another thread: then it is looked at once more */
void engine_missing_end(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, enum nfs4r_status st, bool newer, nfs4r_server_id took); /* of what was claimed. @newer: its content, than its row */
void engine_missing_say(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, const char *text);
void engine_missing_count(struct nfs4r_engine *eng, uint64_t *taken, uint64_t *failed, uint64_t *waiting);

/* ---- import_open.c; eng->lock held, or before threads run, unless it says otherwise ---- */
struct import_times {
	int64_t mtime, atime; /* as the object came */
};
bool engine_import_is_row(const uint8_t *key, uint16_t key_len); /* one of these, and none of the core's */
enum nfs4r_status engine_import_restore(struct nfs4r_engine *eng, const uint8_t *key, uint16_t key_len, const uint8_t *val, uint16_t val_len);
enum nfs4r_status engine_import_begin(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, const struct import_times *t);
enum nfs4r_status engine_import_begin_by(struct nfs4r_engine *eng, const struct nfs4r_entry *e); /* with what it takes in, if it is an own ADOPT */
enum nfs4r_status engine_import_end(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
bool engine_import_any_open(const struct nfs4r_engine *eng);
bool engine_import_is_open(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct import_times *t); /* @t may be NULL. Takes the lock */
void engine_import_walked(struct nfs4r_engine *eng, const struct nfs4r_oid *oid); /* this start looks at all names of the directory. Takes the lock */
bool engine_import_is_walked(struct nfs4r_engine *eng, const struct nfs4r_oid *oid); /* it did, or the directory is not open. Takes the lock */
uint32_t engine_import_list_open(struct nfs4r_engine *eng, struct nfs4r_oid **list); /* the caller's to free; UINT32_MAX: no memory. Takes the lock */
void engine_import_free(struct nfs4r_engine *eng);

/* ---- peer_requests.c: what another server asks for, from its question to the answer ---- */
#define ASKED_MAX 1024u /* questions of one server: beyond, no more of its requests are read */
#define ASKED_BYTES_MAX (64u << 20) /* bytes of memory that they take, the same */
#define ASKED_WINDOW_MS 100 /* the same, when so many came in that time */
#define ANSWERS_SMALL_MAX (16u << 20) /* memory, beyond that and a large one of each executor: who asks on is disconnected */
#define ANSWERS_BYTES_MAX (8u << 20) /* memory of answers that wait for the transport: beyond, a READ hears DELAY */
void engine_asked_init(struct nfs4r_engine *eng);
void engine_asked_fini(struct nfs4r_engine *eng);
/* A question of @from that takes @bytes has come. On the transport's thread. */
void engine_asked_take(struct nfs4r_engine *eng, nfs4r_server_id from, uint64_t bytes);
/* It is answered, or nobody wants the answer. Once for each, with the same @bytes; any thread. */
void engine_asked_drop(struct nfs4r_engine *eng, nfs4r_server_id from, uint64_t bytes);
/* The same for a forwarded operation: before the core hears of it, and when it is dropped. @op may be NULL, or not counted. */
void engine_asked_forward(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_msg *m);
void engine_asked_forward_over(struct nfs4r_engine *eng, struct nfs4r_op *op);
/* So many bytes of answers wait that no large one may be made. Any thread. */
bool engine_asked_is_slow(struct nfs4r_engine *eng, nfs4r_server_id from);
/* From time to time; takes no lock of the engine. */
void engine_asked_expire(struct nfs4r_engine *eng);
/* It has sent a message of @type, and so many answers wait that it cannot be reading them: it is disconnected, and the message is nobody's. On the transport's thread. */
bool engine_asked_in_vain(struct nfs4r_engine *eng, nfs4r_server_id from, uint32_t type);
/* Reads that wait for it are dropped, and the sum under way ends soon; admin_verify_forget() drops the sums that wait. On the transport's thread. */
void engine_asked_peer_down(struct nfs4r_engine *eng, nfs4r_server_id peer);

/* ---- volume_room.c ---- */
void engine_get_room(struct nfs4r_engine *eng, struct nfs4r_core_room *out); /* takes eng->lock */
/* Is most that needs room refused now, and why: whose room, and how much. */
bool engine_room_refuses(const struct nfs4r_core_room *room, char *text, size_t len);

/* ---- disk_names.c ---- */
struct disk_names { /* one after the other, each NUL terminated */
	char *v;
	size_t len, cap;
	bool failed;
};
/* All names of the local directory, but "." and "..". Whatever is returned, engine_disk_names_free() is called. NOMEM, or what the local file system says */
enum nfs4r_status engine_disk_names_read(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, struct disk_names *l);
const char *engine_disk_names_next(const struct disk_names *l, const char *name); /* NULL: the first one; returns NULL after the last one */
void engine_disk_names_free(struct disk_names *l);

/* ---- xattrs.c; block on the local disk ---- */
enum nfs4r_status engine_xattr_take(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h, const char *name, const void *val, uint32_t len); /* of another copy */
enum nfs4r_status engine_xattr_drop(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h, const char *name); /* the other copy has none of this name */
enum nfs4r_status engine_xattr_drop_inherited(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h); /* from a default ACL */

/* ---- what the door hands to the ground ---- */
#define ENGINE_ACTIONS 28 /* above the last NFS4R_ACT_ */
typedef void (*action_fn)(struct nfs4r_engine *eng, const struct nfs4r_action *a); /* eng->lock held */
struct engine_actions { /* by NFS4R_ACT_ */
	action_fn on[ENGINE_ACTIONS]; /* none: the build is inconsistent, and the server halts */
	action_fn muted[ENGINE_ACTIONS]; /* of a server that has halted; none: it is left out */
};

struct engine_notices { /* what the ground tells the rooms above it; engine.c fills it in. All under eng->lock */
	void (*performed)(struct nfs4r_engine *eng); /* the actions of a step are carried out */
	void (*stepped)(struct nfs4r_engine *eng, uint32_t type, uint32_t msg_type); /* and all is said of it; @type of the event, and of its message */
	void (*checkpointed)(struct nfs4r_engine *eng);
};

/* ---- wait_limit.c: the caller's threads that wait for other servers. No lock needed ---- */
enum waiting_kind {
	WAITING_ANSWERED = 1, /* for who can be expected to answer */
	WAITING_UNANSWERED = 2
};
enum waiting_kind engine_waiting_kind(const struct nfs4r_engine *eng, nfs4r_server_id to); /* @to: as nfs4r_read_server() says */
bool engine_waiting_full(const struct nfs4r_engine *eng);
bool engine_waiting_begin(struct nfs4r_engine *eng, enum waiting_kind kind, const struct nfs4r_oid *oid); /* false: DELAY; else engine_waiting_end() follows */
void engine_waiting_must(struct nfs4r_engine *eng); /* one that cannot be refused any more; engine_waiting_end(WAITING_ANSWERED) follows */
void engine_waiting_end(struct nfs4r_engine *eng, enum waiting_kind kind);
void engine_waiting_vain(struct nfs4r_engine *eng, nfs4r_server_id asked, const struct nfs4r_oid *oid); /* the time of one that asked @asked, or nobody (0), is over */
void engine_waiting_heard(struct nfs4r_engine *eng, nfs4r_server_id from); /* an answer */
void engine_waiting_peer(struct nfs4r_engine *eng, nfs4r_server_id peer, bool up);

/* ---- handle_key.c ---- */
void engine_handle_key_follow(struct nfs4r_engine *eng); /* the core may go by another secret; lock held, or before threads run */

/* ---- core_driver.c ---- */
void engine_log(struct nfs4r_engine *eng, enum nfs4r_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* What server @s (0: any) can bring about as often as it likes: OFTEN_MAX lines a minute for a cause. Any thread. */
void engine_log_often(struct nfs4r_engine *eng, enum saying what, nfs4r_server_id s, enum nfs4r_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
void engine_look_soon(struct nfs4r_engine *eng); /* read_router_again(), soon; eng->lock held */
void engine_update_verifier(struct nfs4r_engine *eng); /* lock held */

#endif
