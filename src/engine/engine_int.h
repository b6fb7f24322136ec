/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Inside of the engine. Each room is a folder, and calls only rooms below it. One file owns each part of the state:
 *
 *  the door          engine.c      life of the engine, the core's tree port, the transport's events, the timer
 *                    actions.c     which room carries out which action of the core
 *                    config.c      is the configuration one that can work?
 *                    shutdown.c    before a stop: letting go of control and of the lease
 *  admin/            ctl*.c        the control socket for nfs4rctl
 *                    verify*.c     comparing copies, and mending what differs
 *  start/            places.c      where the directories of a server lie
 *                    recover.c     undecided entries after a crash
 *                    online.c      when a server begins to take part
 *                    import.c      taking an existing tree in; import_notes.c: what of it was not taken, or not as it was
 *                    start_wait.c  why a daemon waits before it starts
 *  membership/       server_list.c who the servers of the volume are
 *                    view_report.c what is said about the active view
 *                    retention.c   what is kept for servers that are away
 *                    space.c       the room of this server, which the others are told of
 *  resync/           transfer.c    making this copy equal to another server's: conflicts.c, adopt_tree.c, fetch.c, names.c are its steps
 *                    crash_*.c     what a crash of the machine put in doubt
 *                    self_heal.c   objects that are gone behind NFS come back from another server
 *  read/             router.c      where reads go, asking peers
 *                    not_modified.c bytes that an owner need not send
 *                    server.c      what peers ask of this server; serve_copy.c: this copy as it is, for a server that repairs its own
 *  update/           ops.c         operations: waiting, locking, executing
 *                    parked.c      those that were begun and whose client has been told to ask again
 *                    permission.c  may the caller do that
 *                    execute.c     local execution of an operation, filling in its log entry; attribute_room.c: does it fit elsewhere
 *                    commit_wait.c waiting until a majority holds an update
 *  replicate/        sender.c      entries to peers, payload memory, reading bytes back
 *                    applier.c     local execution of peers' entries
 *                    staging_dir.c objects without a place in the tree, and entries of which not all parts apply
 *                    foreign_names.c names that somebody changed behind NFS, where an update wants to be
 *  runtime/          core_driver.c the core and its lock; carries out updates
 *                    objects.c     questions about objects; servers.c: about the servers of the volume
 *                    group_commit.c actions that wait for the journal
 *                    checkpoint.c  checkpoints
 *                    halt.c        a server that cannot go on as it is, and what ends that
 *                    lease.c       may this server answer from its own copy; read_route.c: at which server a read is answered
 *                    control_filter.c lock-free filter in front of the control table
 *                    update_locks.c update locks (log 3.3)
 *                    byte_versions.c which update touched which part of a file last
 *                    suid.c        set-id bits of files that others than root write
 *                    in_doubt.c    what a crash put in doubt; missing.c: what is gone behind NFS
 *                    import_open.c what an import has begun with and not ended
 *                    peer_requests.c what other servers ask for, counted; wait_limit.c: threads that wait for other servers
 *                    handle_key.c  the check in clients' handles
 *                    volume_room.c what all servers have room for; fs.c, quota.c: room and limits of a file system
 *                    pool.c        threads that work off a queue
 *                    path.c, remedy.c  words for people
 *                    disk_names.c, xattrs.c, clock.c
 *
 * This header is for the door, and for tests: it has all rooms. A room includes its own, and those below it that it needs.
 */
#ifndef NFS4R_ENGINE_INT_H
#define NFS4R_ENGINE_INT_H

#include "engine/admin/admin.h"
#include "engine/start/start.h"
#include "engine/membership/membership.h"
#include "engine/resync/resync.h"
#include "engine/read/read.h"
#include "engine/update/update.h"
#include "engine/replicate/replicate.h"
#include "engine/runtime/runtime.h"

/* ---- actions.c ---- */
extern const struct engine_actions engine_actions;

<<<<<<< ours
/* ---- shutdown.c ---- */
||||||| base
/* Causes of lines that another server can bring about as often as it likes: engine_log_often() */
enum saying { SAYING_UP, SAYING_DOWN, SAYING_MEMBER, SAYING_MEMORY, SAYING_UNENDED, SAYING_TROUBLE, SAYING_CLOCK, SAYING_ROOM, SAYINGS };
#define OFTEN_MAX 6

struct pool;
struct locks;
struct fastpath;
struct durable;
struct distributor;
struct touched;
struct set_ids;
struct promises;
struct behind;
struct reads;
struct ctl;
struct parked;
struct held_wait;

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
void engine_pool_stop(struct pool *p);			      /* runs what is queued, if it has begun, and joins; later tasks are kept and never run */
void engine_pool_destroy(struct pool *p);
size_t engine_pool_queued(struct pool *p);

/* ---- path.c ---- */
/* "/a/b" by the store's names, or "(1.2.3)" when it has no path that fits into @len bytes. Any thread; looks at all names of the directories on the way. */
void engine_path_of(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, char *out, size_t len);

/* ---- locks.c ---- */
struct lock_want {
	struct nfs4r_oid oid;
	bool whole;
	uint64_t off, len;
};
struct held_locks {
	struct held_locks *next;
	uint32_t n;
	struct lock_want want[NFS4R_PARTS_MAX];
};
struct locks *engine_locks_create(void);
void engine_locks_destroy(struct locks *l);
/* All or nothing, so no order is needed against deadlock; waits only for local executions. */
void engine_locks_take(struct locks *l, struct held_locks *h);
void engine_locks_drop(struct locks *l, struct held_locks *h);

/* ---- ops.c ---- */
enum op_state { OP_WAIT = 1, OP_EXECUTE, OP_DONE };

struct opctx { /* one operation in the engine; op->engine points here */
	struct nfs4r_op *op;	 /* &own, or a forwarded one that the core owns */
	struct nfs4r_op own;
	struct opctx *next;	 /* list of parked operations */
	struct opctx *active_next, **active_prev; /* list of all operations of local clients, or of the forwarded ones that are ours */
	nfs4r_exec_fn exec;
	nfs4r_sync_fn sync_bytes;
	nfs4r_done_fn done;	 /* asynchronous or parked */
	void *arg;
	struct nfs4r_op *caller; /* where an asynchronous result goes */
	uint64_t verifier;	 /* when it began (log 5.3) */
	bool remote;
	bool driving;		 /* a thread is in drive() and will see a change of state */
	bool sync;		 /* that thread sleeps on cond until the end */
	bool waits;		 /* and is counted among those that wait (waiting.c) */
	bool parked;
	bool queued;		 /* drive_task() has it, or is about to */
	bool irrevocable;	 /* from here on DELAY would be a lie */
	enum op_state state;
	pthread_cond_t cond;
	struct held_locks wanted; /* of the next execution: the core may name them while those of this one are still held */
	struct held_locks locks;
	struct nfs4r_entry *entry;
	uint64_t parked_at_ms;
	bool given_back;	 /* remote: it is the core's again */
	bool kept;		 /* a stable WRITE: the journal has its bytes (log 4.10) */
	bool changed;		 /* the execution failed after bytes had been written */
	bool set_ids;		 /* it was not executed because of set-id bits; this mode is the file's without them */
	uint32_t mode_left;
	bool unasked;		 /* whether its caller may do that could not be told before INTENT: permission.c */
};
/* Deliveries from the core, eng->lock held. */
void op_deliver_execute(struct nfs4r_engine *eng, const struct nfs4r_action *a);
void update_op_deliver_started(struct nfs4r_engine *eng, const struct nfs4r_action *a);
void update_op_deliver_retry(struct nfs4r_engine *eng, const struct nfs4r_action *a);
void op_deliver_done(struct nfs4r_engine *eng, struct nfs4r_op *op);
struct opctx *update_op_take_remote(struct nfs4r_engine *eng, struct nfs4r_op *op); /* EXECUTE of a forwarded one: it is ours until EXECUTED or RETRY */
void op_ready(struct nfs4r_engine *eng, struct opctx *o); /* state became EXECUTE: wake or queue */
void update_op_run_remote(struct nfs4r_engine *eng, void *arg);
/* A stable WRITE that @to forwarded: true = answered when the journal is on the disk (log 5.4), and what @op owned is gone. eng->lock held */
bool update_op_answer_when_durable(struct nfs4r_engine *eng, nfs4r_server_id to, struct nfs4r_op *op);
void update_op_free(struct opctx *o);
void update_op_deactivate(struct nfs4r_engine *eng, struct opctx *o); /* out of eng->active, if it is there. eng->lock held */
bool update_ops_over(const struct nfs4r_engine *eng); /* nobody says any more what operations wait for */
void update_ops_wake(struct nfs4r_engine *eng); /* halted, or about to stop: threads that wait for an operation leave it, as DELAY. eng->lock held */
void update_ops_end_all(struct nfs4r_engine *eng); /* stop: every client's operation ends as DELAY. No lock held; the core is frozen */
void update_ops_fini(struct nfs4r_engine *eng); /* before the core is destroyed; nobody executes any more */

/* ---- parked.c; eng->lock held ---- */
/* False: it cannot be, and waits on. True: it is no longer the caller's, whose client hears DELAY. */
bool update_op_park(struct nfs4r_engine *eng, struct opctx *o);
/* The parked one of which @op is the retry; NULL: none. @busy: there is one, but an executor has it; the client has to ask once more, for to begin another would execute it twice. */
struct opctx *update_op_adopt_parked(struct nfs4r_engine *eng, const struct nfs4r_op *op, bool *busy);
void update_ops_expire_parked(struct nfs4r_engine *eng, uint64_t engine_now_ms);
void update_ops_park_halted(struct nfs4r_engine *eng); /* halted: update_ops_wake(), and what waits without a thread is answered DELAY */
void update_ops_drop_parked(struct nfs4r_engine *eng); /* the end */

/* ---- execute.c ---- */
/* Times, cookies: what must be known before the INTENT. eng->lock held. */
void update_entry_prepare(struct nfs4r_engine *eng, struct nfs4r_entry *e);
/* Run it: by the caller's function or by lops. Fills the entry's values after. No lock but the update locks. */
enum nfs4r_status update_entry_execute(struct nfs4r_engine *eng, struct opctx *o);
/* The file's bytes, to this disk. STALE: it is not here, or gone; the caller says what that means. */
enum nfs4r_status engine_sync_file(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
/* Before the bytes change of what the journal keeps bytes of, and the journal is not to keep what changes them (log 4.10). */
enum nfs4r_status engine_sync_kept(struct nfs4r_engine *eng, const struct nfs4r_entry *e);
bool engine_is_disk_error(enum nfs4r_status st); /* full or broken */

/* ---- clock.c ---- */
int64_t engine_now_real_ns(void); /* since 1970, of the clock of the day */
uint64_t engine_now_ms(void);     /* since the machine's start, also while it slept */
struct timespec engine_after_us(uint64_t us); /* from now on, of CLOCK_MONOTONIC: until when to wait */

/* ---- step.c ---- */
/* One step; eng->lock held by the caller. */
void engine_step(struct nfs4r_engine *eng, struct nfs4r_event *ev);
void engine_perform(struct nfs4r_engine *eng, const struct nfs4r_update *u);
void engine_send(struct nfs4r_engine *eng, nfs4r_server_id to, const struct nfs4r_msg *msg);

/* ---- halt.c ---- */
enum halt { /* what ends it */
	HALT_FOR_GOOD = 1, /* a person, and a restart */
	HALT_STORE,	   /* room under Store */
	HALT_FILES,	   /* room on the file system of the exported directory */
	HALT_MEMORY,	   /* nothing: it is tried again */
};
void engine_halt(struct nfs4r_engine *eng, const char *why); /* for good. eng->lock held */
/* The store did not take what the core counts on: halts, and how depends on why. @what: "the journal cannot be written". eng->lock held */
void engine_store_failed(struct nfs4r_engine *eng, const char *what, enum nfs4r_status st);
void engine_journal_failed(struct nfs4r_engine *eng, enum nfs4r_status st); /* eng->lock held */
void engine_halt_say_again(struct nfs4r_engine *eng, uint64_t now); /* to the others, from time to time. eng->lock held */
enum halt engine_halt_waits(struct nfs4r_engine *eng); /* it halted for what may come: 0, HALT_STORE or HALT_FILES. No lock held */
void engine_halt_ends(struct nfs4r_engine *eng);	/* it has come. No lock held */

/* ---- durable.c ---- */
struct durable *engine_durable_create(struct nfs4r_engine *eng);
void engine_durable_stop(struct durable *d);
void engine_durable_destroy(struct durable *d);
void engine_durable_send(struct durable *d, nfs4r_server_id to, const struct nfs4r_msg *msg);
void durable_execute(struct durable *d, struct opctx *o);
void engine_durable_begin_sync(struct durable *d); /* whoever needs it still has to sync, or to wait for this one, by himself */
void engine_durable_event(struct durable *d, uint32_t event, uint64_t num); /* the core hears it */

/* ---- distribute.c ---- */
struct distributor *replicate_sender_create(struct nfs4r_engine *eng);
void replicate_sender_serve(struct distributor *d, nfs4r_servers peers); /* to these, too, from now on. Any thread */
void replicate_sender_begin(struct distributor *d); /* nothing is sent before: it may have to be read from the local files */
void replicate_sender_stop(struct distributor *d);
void replicate_sender_destroy(struct distributor *d);
void replicate_sender_keep(struct distributor *d, struct nfs4r_entry *e); /* newest own entry, while it may be sent soon */
void replicate_sender_forget(struct distributor *d, nfs4r_lsn until);	     /* everybody has the own log up to here */
void replicate_sender_queue(struct distributor *d, nfs4r_server_id to, nfs4r_server_id log, nfs4r_lsn from, nfs4r_lsn until);
/* Entries for @to are queued here, or on the wire. Transport's thread only. */
bool replicate_sender_on_its_way(struct distributor *d, nfs4r_server_id to);
/* Is entry @lsn of the own log among those that were queued for @to over this connection? Any thread. */
bool replicate_sender_was_queued(struct distributor *d, nfs4r_server_id to, nfs4r_lsn lsn);
/* The newest positions for @to, with what goes there next. @msg is copied. */
void replicate_sender_positions(struct distributor *d, nfs4r_server_id to, const struct nfs4r_msg *msg);
void replicate_sender_reset(struct distributor *d, nfs4r_server_id peer); /* connection gone: forget what is queued */
uint64_t replicate_sender_payload_bytes(struct distributor *d);

/* ---- apply.c ---- */
void apply_task(struct nfs4r_engine *eng, void *arg);
void replicate_apply_drop(struct nfs4r_engine *eng, void *arg); /* a task that never runs */
/* remedy.c: what an administrator can do about an update that fails with @st here */
const char *engine_remedy(enum nfs4r_status st);
/* What is said of another server that has halted, with what is to be done there. Returns @buf. */
const char *engine_halt_of_peer(enum nfs4r_status st, bool files, char *buf, size_t len);
/* What it is that cannot be applied: v->trouble is set. Returns @buf. */
const char *engine_stuck_on(const struct nfs4r_core_view *v, nfs4r_server_id self, char *buf, size_t len);
struct apply_job {
	struct nfs4r_entry *entry;
	uint32_t mask;
	enum nfs4r_status marked; /* MARK of the entry (log 4.4), made when it was queued */
	nfs4r_journal_pos sync_first;
	uint32_t tries; /* that have failed already */
	bool aside; /* a new object, or one that is moved, goes to the hidden directory: a later entry removes it or moves it on */
};
enum nfs4r_status replicate_apply_entry(struct nfs4r_engine *eng, struct nfs4r_entry *e, uint32_t mask, bool aside);
/* What has the name is taken for what @p made before a crash: of its type, without bytes, and no other object. EXIST: it is something else. */
enum nfs4r_status replicate_made_before(struct nfs4r_engine *eng, const struct nfs4r_part *p, const struct nfs4r_lhandle *dirh, const char *name,
				    struct nfs4r_lhandle *made);

/* ---- repair.c ---- */
void resync_start(struct nfs4r_engine *eng, const struct nfs4r_action *a); /* takes the place of one that runs. eng->lock held */

/* ---- doubt.c: after a crash of the machine ---- */
enum nfs4r_status resync_crash_begin(struct nfs4r_engine *eng, const struct nfs4r_store_info *info); /* from now on all is in doubt */
void resync_crash_queue(struct nfs4r_engine *eng); /* settle it before anything is repaired */
bool engine_doubt_is_open(struct nfs4r_engine *eng);
enum doubt_about { DOUBT_NONE, DOUBT_OPEN, DOUBT_UNKNOWN /* it is not known yet which objects are in doubt */ };
enum doubt_about doubt_about(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
void engine_doubt_wait(struct nfs4r_engine *eng); /* until nothing is in doubt, or the engine stops */
void engine_doubt_wake(struct nfs4r_engine *eng);
void resync_crash_free(struct nfs4r_engine *eng);

/* ---- held.c ---- */
bool update_commit_is_asked(const struct nfs4r_engine *eng); /* does a COMMIT wait for a majority? */
/* As nfs4r_commit(), but the thread goes; @done on an executor (or here on error), soon after op_wait_ms at the latest. */
typedef void (*held_fn)(struct nfs4r_engine *eng, void *arg, enum nfs4r_status st);
void update_commit_async(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, held_fn done, void *arg);
void update_commit_expire(struct nfs4r_engine *eng, uint64_t now);
void update_commit_held(struct nfs4r_engine *eng, uint64_t id); /* eng->lock held */

/* ---- hold.c ---- */
#define HOLD_NAME ".nfs4r-hold"
#define HOLD_NAME_MAX 32
void replicate_staging_name(struct nfs4r_engine *eng, char out[HOLD_NAME_MAX]); /* one that the volume does not use itself */
bool replicate_staging_is_name(const char *name); /* of the hidden directory, in the exported one */
/* Where an object lies that waits in the hidden directory: @name there, and *dirh. False: it does not. */
bool replicate_staging_has(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, const struct nfs4r_lhandle *h, struct nfs4r_lhandle *dirh, char name[NFS4R_OID_STRLEN]);
/* Log 4.13: the entry is applied without its names. What it makes, or moves, waits in the hidden directory. */
enum nfs4r_status replicate_staging_aside(struct nfs4r_engine *eng, struct nfs4r_entry *e, uint32_t mask);
bool replicate_staging_is_partial(const struct nfs4r_entry *e, uint32_t mask); /* names, and not all parts apply: hold_apply() */
enum nfs4r_status hold_apply(struct nfs4r_engine *eng, struct nfs4r_entry *e, uint32_t mask);
/* Steps of a repair; all find their work done when they are made again. */
enum nfs4r_status replicate_staging_find(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct nfs4r_lhandle *out); /* @oid NULL: the directory itself */
enum nfs4r_status replicate_staging_make(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, const struct nfs4r_attrs *attrs, const char *linktext,
			    struct nfs4r_lhandle *out);
enum nfs4r_status replicate_staging_drop(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
enum nfs4r_status replicate_staging_park(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_lhandle *h,
			    const struct nfs4r_oid *oid);
/* Park what @name means, unless it is @want (may be NULL). What is not the volume's stays, unless @want needs the place: then it becomes a stray. */
enum nfs4r_status replicate_staging_clear(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_lhandle *want);
/* What has the name, and is no object of the volume, moves to the hidden directory, for people. */
enum nfs4r_status replicate_staging_stray(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name);
/* Give the object the name, which is free. A directory that is not in the hidden one stays where it is. */
enum nfs4r_status replicate_staging_place(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_oid *oid,
			     const struct nfs4r_lhandle *h);
bool replicate_staging_is_in(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, const struct nfs4r_oid *oid); /* has it a name in @dir? */
/* Is what has the name in the hidden directory, @dirh, what a repair that was broken off made for the object, and the store never heard of? */
bool replicate_staging_is_orphan(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, struct nfs4r_oid *oid);
void replicate_staging_tidy(struct nfs4r_engine *eng); /* away with it if it is empty */
void replicate_staging_look(struct nfs4r_engine *eng); /* at the start: is it there? */

/* ---- way.c; any thread that may block on the local disk, under the update locks of the directories ---- */
bool replicate_way_leads_to(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_lhandle *h);
/* What has the name on the disk moves aside, unless it is @may (NULL, or len 0: nothing may). OK: the name is free, or leads to @may. */
enum nfs4r_status replicate_way_clear(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_lhandle *may);
/* An own update is about to be executed. NOENT: a name that it takes away leads to something else on the disk, or to nothing. */
enum nfs4r_status replicate_way_before(struct nfs4r_engine *eng, const struct nfs4r_op *op, const struct nfs4r_exec *x);
/* The update of @e failed with @st, EXIST or NOTEMPTY. True: what was in its way has moved, try it again. */
bool replicate_way_make(struct nfs4r_engine *eng, const struct nfs4r_entry *e, enum nfs4r_status st);

/* ---- behind.c; any thread, no lock held ---- */
struct behind *behind_create(void);
void engine_missing_destroy(struct behind *b);
void engine_missing_wake(struct nfs4r_engine *eng); /* the engine stops */
void engine_missing_drop(struct nfs4r_engine *eng, void *arg); /* a task that never runs */
enum engine_missing_about { BEHIND_NOT, BEHIND_OPEN /* it is being brought back: nothing may be executed, applied, read */, BEHIND_LATER /* its content is newer than its row: not to be read */ };
enum engine_missing_about engine_missing_about(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
/* The local file system said that @oid, which the store knows, is not there. True: it comes back from another server; until then the answer is DELAY. May block on the local disk. */
bool engine_missing_notice(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
/* The same of all objects of an update that failed with @st, which ends as what is returned. @op NULL: of another server's update, which is tried again after DELAY. */
enum nfs4r_status engine_missing_failed(struct nfs4r_engine *eng, const struct nfs4r_entry *e, const struct nfs4r_op *op, enum nfs4r_status st);
bool engine_missing_blocks(struct nfs4r_engine *eng, const struct nfs4r_entry *e); /* is one of its objects BEHIND_OPEN? */
void engine_missing_wait(struct nfs4r_engine *eng, const struct nfs4r_entry *e); /* until that is over, a second at most */
void engine_missing_misplaced(struct nfs4r_engine *eng, const struct nfs4r_oid *oid); /* it waits in the hidden directory for its own name. Never blocks */
struct behind_want { /* of a mend that is asked for */
	nfs4r_servers from; /* take it from one of these; 0: from any that has it */
	bool content;	    /* it is there, and its content or attributes are wrong */
	nfs4r_server_id took; /* out: from whom */
	char why[300];	    /* out: what went wrong */
};
/* Make the object as the volume has it: there, with its content, attributes and names. Blocks on other servers: only for a thread of its own. */
enum nfs4r_status resync_heal(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct behind_want *w);
/* Names of a directory on the disk become those of the store; *missing: names whose object is not on the disk. Blocks on the local disk. */
enum nfs4r_status resync_heal_names(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, uint64_t *moved);
struct behind_counts {
	uint64_t taken, failed; /* objects, since the start */
	uint64_t aside;		/* foreign names that were moved to the hidden directory, since the start */
	uint64_t waiting;	/* objects now */
	uint64_t strays;	/* in the hidden directory now */
};
void resync_heal_count(struct nfs4r_engine *eng, struct behind_counts *out); /* blocks on the local disk */

/* ---- reads.c ---- */
struct reads *read_router_create(struct nfs4r_engine *eng);
void read_router_destroy(struct reads *r);
void read_router_answer(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_msg *m);
/* Of @from's own copy, whoever is primary. Blocks for some seconds at most; DELAY: no answer. Only for a thread of its own. */
enum nfs4r_status read_copy(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_read *rd);
void read_router_peer_down(struct nfs4r_engine *eng, nfs4r_server_id peer);
void read_router_expire(struct nfs4r_engine *eng, uint64_t now);
void read_router_again(struct nfs4r_engine *eng); /* what waits for somebody to ask is decided again */
void reads_here(struct nfs4r_engine *eng, nfs4r_server_id owner); /* eng->lock held: so is, soon, what @owner has been asked */
void read_router_forget_answer(struct nfs4r_read *rd); /* what it has of an earlier one */
nfs4r_version read_router_version_said(const struct nfs4r_read *asked, const struct nfs4r_read *answer); /* of the object asked for, of a peer; 0: none, or with the attributes */
enum nfs4r_status read_router_not_here(struct nfs4r_engine *eng, enum nfs4r_known known);

/* ---- reads_promised.c ---- */
struct read_promise { /* an owner's word on a READ: the bytes are those of the copy here, once that has @version */
	nfs4r_version version; /* 0: none */
	nfs4r_server_id by;
	uint64_t len;
	bool eof;
	struct nfs4r_closed closed; /* the question: how far the control was known to be closing */
	nfs4r_lsn applied; /* of its log, when that moved last */
	uint64_t moved_ms, until_ms;
};
#define PROMISE_WORDS 3 /* before the versions of the pieces */
struct promises *read_promises_create(void);
void read_promises_destroy(struct promises *p);
bool read_promise_known(struct nfs4r_engine *eng, const struct nfs4r_read *rd, nfs4r_server_id owner, struct read_promise *pr); /* without asking */
/* Before @owner is asked: the READ's cookie. @bytes: no promise this time. */
nfs4r_version read_promise_asked(struct nfs4r_engine *eng, const struct nfs4r_read *rd, nfs4r_server_id owner, struct read_promise *pr, bool bytes);
/* Is @answer one? */
bool read_promise_taken(struct nfs4r_engine *eng, nfs4r_server_id from, const struct nfs4r_read *asked, const struct nfs4r_read *answer, struct read_promise *pr);
bool read_promise_kept(struct nfs4r_engine *eng, struct nfs4r_read *rd, struct read_promise *pr); /* true: @rd has its answer. Reads the local file */
bool read_promise_may_be_kept(struct nfs4r_engine *eng, struct read_promise *pr);
void read_promise_broken(struct nfs4r_engine *eng, struct read_promise *pr);

/* ---- asked.c: what another server asks for, from its question to the answer ---- */
#define ASKED_MAX 1024u		    /* questions of one server: beyond, no more of its requests are read */
#define ASKED_BYTES_MAX (64u << 20) /* bytes of memory that they take, the same */
#define ANSWERS_BYTES_MAX (8u << 20) /* bytes of answers that wait for the transport: beyond, a READ hears DELAY */
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
/* Reads and sums that wait for it are dropped, and the sum under way ends soon. On the transport's thread. */
void engine_asked_peer_down(struct nfs4r_engine *eng, nfs4r_server_id peer);

/* ---- server.c ---- */
void server(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_msg *m);
bool reads_wait(const struct reads *r); /* is there any? Any thread */

/* ---- touched.c; any thread ---- */
struct touched *engine_touched_create(void);
void engine_touched_destroy(struct touched *w);
void engine_touched_begin(struct touched *w, const struct nfs4r_entry *e);  /* an own entry that has its versions, before there is a newer one; eng->lock held */
void engine_touched_note(struct touched *w, const struct nfs4r_entry *e);   /* an own entry that was executed; before its answer */
void engine_touched_forget(struct touched *w, const struct nfs4r_entry *e); /* another server's that was applied */
void engine_touched_forget_all(struct touched *w);			      /* the copy is another one */
/* The newest update of those bytes of the file: its version, and an entry of the own log with which it has come. False: it is not known, and the file's row says enough. */
bool engine_touched_last(struct touched *w, const struct nfs4r_oid *oid, uint64_t off, uint64_t len, nfs4r_version *version, nfs4r_lsn *lsn);

/* The pieces of the file from the one that has byte @off on, for nfs4r.x's words after the first two: bytes of a piece, and their versions. Returns how many words, @most at most. */
uint32_t engine_touched_pieces(struct touched *w, const struct nfs4r_oid *oid, uint64_t off, uint64_t *words, uint32_t most);

/* ---- set_ids.c; any thread ---- */
struct set_ids *engine_suid_create(void);
void engine_suid_destroy(struct set_ids *s);
void engine_suid_forget(struct set_ids *s, const struct nfs4r_entry *e); /* executed under its locks, or another server's that was applied */
void engine_suid_forget_all(struct set_ids *s);			      /* the copy is another one */
/* Would the local file system take set-id bits away in @op? Then *left is the mode without them. Under the locks of @op; may block on the disk. */
bool engine_suid_go(struct nfs4r_engine *eng, const struct nfs4r_op *op, const struct nfs4r_lhandle *h, uint32_t *left);
/* Begin the update that takes them away. Under no locks, but on any thread. */
void take_set_ids(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, uint32_t left);
/* MISMATCH: @op is such an update, and would do something else. Under its locks. */
enum nfs4r_status engine_suid_alone(struct nfs4r_engine *eng, const struct nfs4r_op *op, const struct nfs4r_lhandle *h);

/* The file has no set-id bits and belongs to this user, as far as is remembered. */
bool engine_suid_is_owner(struct set_ids *s, const struct nfs4r_oid *oid, uint32_t uid);

/* ---- permission.c; under the locks of the operation, no other; may block on the disk ---- */
/* ACCES or PERM: its caller may not do that. Set-id bits that he may not set are taken out of what he asks for. Before OP_LOCKED. */
enum nfs4r_status update_permission_first(struct nfs4r_engine *eng, struct opctx *o);
/* When it is executed: OK unless it could not be told before. */
enum nfs4r_status update_permission_now(struct nfs4r_engine *eng, const struct opctx *o);

/* ---- copy.c ---- */
/* Answer a READ with `copy`. STALE: dead; UNKNOWN: not here yet; DELAY: it changes just now. */
enum nfs4r_status read_copy_here(struct nfs4r_engine *eng, struct nfs4r_read *rd);
/* `data` of an answer to OIDS. */
void read_copy_positions_put(const struct nfs4r_store_positions *p, uint8_t *out);
bool read_copy_positions_get(struct nfs4r_store_positions *p, const struct nfs4r_buf *b);

/* ---- leave.c ---- */
=======
/* Causes of lines that another server can bring about as often as it likes: engine_log_often() */
enum saying { SAYING_UP, SAYING_DOWN, SAYING_MEMBER, SAYING_MEMORY, SAYING_UNENDED, SAYING_TROUBLE, SAYING_CLOCK, SAYING_ROOM, SAYINGS };
#define OFTEN_MAX 6

struct pool;
struct locks;
struct fastpath;
struct durable;
struct distributor;
struct touched;
struct set_ids;
struct promises;
struct behind;
struct reads;
struct ctl;
struct parked;
struct held_wait;

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
void engine_pool_stop(struct pool *p);			      /* runs what is queued, if it has begun, and joins; later tasks are kept and never run */
void engine_pool_destroy(struct pool *p);
size_t engine_pool_queued(struct pool *p);

/* ---- path.c ---- */
/* "/a/b" by the store's names, or "(1.2.3)" when it has no path that fits into @len bytes. Any thread; looks at all names of the directories on the way. */
void engine_path_of(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, char *out, size_t len);

/* ---- locks.c ---- */
struct lock_want {
	struct nfs4r_oid oid;
	bool whole;
	uint64_t off, len;
};
struct held_locks {
	struct held_locks *next;
	uint32_t n;
	struct lock_want want[NFS4R_PARTS_MAX];
};
struct locks *engine_locks_create(void);
void engine_locks_destroy(struct locks *l);
/* All or nothing, so no order is needed against deadlock; waits only for local executions. */
void engine_locks_take(struct locks *l, struct held_locks *h);
void engine_locks_drop(struct locks *l, struct held_locks *h);

/* ---- ops.c ---- */
enum op_state { OP_WAIT = 1, OP_EXECUTE, OP_DONE };

struct opctx { /* one operation in the engine; op->engine points here */
	struct nfs4r_op *op;	 /* &own, or a forwarded one that the core owns */
	struct nfs4r_op own;
	struct opctx *next;	 /* list of parked operations */
	struct opctx *active_next, **active_prev; /* list of all operations of local clients, or of the forwarded ones that are ours */
	nfs4r_exec_fn exec;
	nfs4r_sync_fn sync_bytes;
	nfs4r_done_fn done;	 /* asynchronous or parked */
	void *arg;
	struct nfs4r_op *caller; /* where an asynchronous result goes */
	uint64_t verifier;	 /* when it began (log 5.3) */
	bool remote;
	bool driving;		 /* a thread is in drive() and will see a change of state */
	bool sync;		 /* that thread sleeps on cond until the end */
	bool waits;		 /* and is counted among those that wait (waiting.c) */
	bool parked;
	bool queued;		 /* drive_task() has it, or is about to */
	bool irrevocable;	 /* from here on DELAY would be a lie */
	enum op_state state;
	pthread_cond_t cond;
	struct held_locks wanted; /* of the next execution: the core may name them while those of this one are still held */
	struct held_locks locks;
	struct nfs4r_entry *entry;
	uint64_t parked_at_ms;
	bool given_back;	 /* remote: it is the core's again */
	bool kept;		 /* a stable WRITE: the journal has its bytes (log 4.10) */
	bool changed;		 /* the execution failed after bytes had been written */
	bool set_ids;		 /* it was not executed because of set-id bits; this mode is the file's without them */
	uint32_t mode_left;
	bool unasked;		 /* whether its caller may do that could not be told before INTENT: permission.c */
};
/* Deliveries from the core, eng->lock held. */
void op_deliver_execute(struct nfs4r_engine *eng, const struct nfs4r_action *a);
void update_op_deliver_started(struct nfs4r_engine *eng, const struct nfs4r_action *a);
void update_op_deliver_retry(struct nfs4r_engine *eng, const struct nfs4r_action *a);
void op_deliver_done(struct nfs4r_engine *eng, struct nfs4r_op *op);
struct opctx *update_op_take_remote(struct nfs4r_engine *eng, struct nfs4r_op *op); /* EXECUTE of a forwarded one: it is ours until EXECUTED or RETRY */
void op_ready(struct nfs4r_engine *eng, struct opctx *o); /* state became EXECUTE: wake or queue */
void update_op_run_remote(struct nfs4r_engine *eng, void *arg);
/* A stable WRITE that @to forwarded: true = answered when the journal is on the disk (log 5.4), and what @op owned is gone. eng->lock held */
bool update_op_answer_when_durable(struct nfs4r_engine *eng, nfs4r_server_id to, struct nfs4r_op *op);
void update_op_free(struct opctx *o);
void update_op_deactivate(struct nfs4r_engine *eng, struct opctx *o); /* out of eng->active, if it is there. eng->lock held */
bool update_ops_over(const struct nfs4r_engine *eng); /* nobody says any more what operations wait for */
void update_ops_wake(struct nfs4r_engine *eng); /* halted, or about to stop: threads that wait for an operation leave it, as DELAY. eng->lock held */
void update_ops_end_all(struct nfs4r_engine *eng); /* stop: every client's operation ends as DELAY. No lock held; the core is frozen */
void update_ops_fini(struct nfs4r_engine *eng); /* before the core is destroyed; nobody executes any more */

/* ---- parked.c; eng->lock held ---- */
/* False: it cannot be, and waits on. True: it is no longer the caller's, whose client hears DELAY. */
bool update_op_park(struct nfs4r_engine *eng, struct opctx *o);
/* The parked one of which @op is the retry; NULL: none. @busy: there is one, but an executor has it; the client has to ask once more, for to begin another would execute it twice. */
struct opctx *update_op_adopt_parked(struct nfs4r_engine *eng, const struct nfs4r_op *op, bool *busy);
void update_ops_expire_parked(struct nfs4r_engine *eng, uint64_t engine_now_ms);
void update_ops_park_halted(struct nfs4r_engine *eng); /* halted: update_ops_wake(), and what waits without a thread is answered DELAY */
void update_ops_drop_parked(struct nfs4r_engine *eng); /* the end */

/* ---- execute.c ---- */
/* Times, cookies: what must be known before the INTENT. eng->lock held. */
void update_entry_prepare(struct nfs4r_engine *eng, struct nfs4r_entry *e);
/* Run it: by the caller's function or by lops. Fills the entry's values after. No lock but the update locks. */
enum nfs4r_status update_entry_execute(struct nfs4r_engine *eng, struct opctx *o);
/* The file's bytes, to this disk. STALE: it is not here, or gone; the caller says what that means. */
enum nfs4r_status engine_sync_file(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
/* Before the bytes change of what the journal keeps bytes of, and the journal is not to keep what changes them (log 4.10). */
enum nfs4r_status engine_sync_kept(struct nfs4r_engine *eng, const struct nfs4r_entry *e);
bool engine_is_disk_error(enum nfs4r_status st); /* full or broken */

/* ---- clock.c ---- */
int64_t engine_now_real_ns(void); /* since 1970, of the clock of the day */
uint64_t engine_now_ms(void);     /* since the machine's start, also while it slept */
struct timespec engine_after_us(uint64_t us); /* from now on, of CLOCK_MONOTONIC: until when to wait */

/* ---- step.c ---- */
/* One step; eng->lock held by the caller. */
void engine_step(struct nfs4r_engine *eng, struct nfs4r_event *ev);
void engine_perform(struct nfs4r_engine *eng, const struct nfs4r_update *u);
void engine_send(struct nfs4r_engine *eng, nfs4r_server_id to, const struct nfs4r_msg *msg);

/* ---- halt.c ---- */
enum halt { /* what ends it */
	HALT_FOR_GOOD = 1, /* a person, and a restart */
	HALT_STORE,	   /* room under Store */
	HALT_FILES,	   /* room on the file system of the exported directory */
	HALT_MEMORY,	   /* nothing: it is tried again */
};
void engine_halt(struct nfs4r_engine *eng, const char *why); /* for good. eng->lock held */
/* The store did not take what the core counts on: halts, and how depends on why. @what: "the journal cannot be written". eng->lock held */
void engine_store_failed(struct nfs4r_engine *eng, const char *what, enum nfs4r_status st);
void engine_journal_failed(struct nfs4r_engine *eng, enum nfs4r_status st); /* eng->lock held */
void engine_halt_say_again(struct nfs4r_engine *eng, uint64_t now); /* to the others, from time to time. eng->lock held */
enum halt engine_halt_waits(struct nfs4r_engine *eng); /* it halted for what may come: 0, HALT_STORE or HALT_FILES. No lock held */
void engine_halt_ends(struct nfs4r_engine *eng);	/* it has come. No lock held */

/* ---- durable.c ---- */
struct durable *engine_durable_create(struct nfs4r_engine *eng);
void engine_durable_stop(struct durable *d);
void engine_durable_destroy(struct durable *d);
void engine_durable_send(struct durable *d, nfs4r_server_id to, const struct nfs4r_msg *msg);
void durable_execute(struct durable *d, struct opctx *o);
void engine_durable_begin_sync(struct durable *d); /* whoever needs it still has to sync, or to wait for this one, by himself */
void engine_durable_event(struct durable *d, uint32_t event, uint64_t num); /* the core hears it */

/* ---- distribute.c ---- */
struct distributor *replicate_sender_create(struct nfs4r_engine *eng);
void replicate_sender_serve(struct distributor *d, nfs4r_servers peers); /* to these, too, from now on. Any thread */
void replicate_sender_begin(struct distributor *d); /* nothing is sent before: it may have to be read from the local files */
void replicate_sender_stop(struct distributor *d);
void replicate_sender_destroy(struct distributor *d);
void replicate_sender_keep(struct distributor *d, struct nfs4r_entry *e); /* newest own entry, while it may be sent soon */
void replicate_sender_forget(struct distributor *d, nfs4r_lsn until);	     /* everybody has the own log up to here */
void replicate_sender_queue(struct distributor *d, nfs4r_server_id to, nfs4r_server_id log, nfs4r_lsn from, nfs4r_lsn until);
/* Entries for @to are queued here, or on the wire. Transport's thread only. */
bool replicate_sender_on_its_way(struct distributor *d, nfs4r_server_id to);
/* Is entry @lsn of the own log among those that were queued for @to over this connection? Any thread. */
bool replicate_sender_was_queued(struct distributor *d, nfs4r_server_id to, nfs4r_lsn lsn);
/* The newest positions for @to, with what goes there next. @msg is copied. */
void replicate_sender_positions(struct distributor *d, nfs4r_server_id to, const struct nfs4r_msg *msg);
void replicate_sender_reset(struct distributor *d, nfs4r_server_id peer); /* connection gone: forget what is queued */
uint64_t replicate_sender_payload_bytes(struct distributor *d);

/* ---- apply.c ---- */
void apply_task(struct nfs4r_engine *eng, void *arg);
void replicate_apply_drop(struct nfs4r_engine *eng, void *arg); /* a task that never runs */
/* remedy.c: what an administrator can do about an update that fails with @st here */
const char *engine_remedy(enum nfs4r_status st);
/* What is said of another server that has halted, with what is to be done there. Returns @buf. */
const char *engine_halt_of_peer(enum nfs4r_status st, bool files, char *buf, size_t len);
/* What it is that cannot be applied: v->trouble is set. Returns @buf. */
const char *engine_stuck_on(const struct nfs4r_core_view *v, nfs4r_server_id self, char *buf, size_t len);
struct apply_job {
	struct nfs4r_entry *entry;
	uint32_t mask;
	enum nfs4r_status marked; /* MARK of the entry (log 4.4), made when it was queued */
	nfs4r_journal_pos sync_first;
	uint32_t tries; /* that have failed already */
	bool aside; /* a new object, or one that is moved, goes to the hidden directory: a later entry removes it or moves it on */
};
enum nfs4r_status replicate_apply_entry(struct nfs4r_engine *eng, struct nfs4r_entry *e, uint32_t mask, bool aside);
/* What has the name is taken for what @p made before a crash: of its type, without bytes, and no other object. EXIST: it is something else. */
enum nfs4r_status replicate_made_before(struct nfs4r_engine *eng, const struct nfs4r_part *p, const struct nfs4r_lhandle *dirh, const char *name,
				    struct nfs4r_lhandle *made);

/* ---- repair.c ---- */
void resync_start(struct nfs4r_engine *eng, const struct nfs4r_action *a); /* takes the place of one that runs. eng->lock held */

/* ---- doubt.c: after a crash of the machine ---- */
enum nfs4r_status resync_crash_begin(struct nfs4r_engine *eng, const struct nfs4r_store_info *info); /* from now on all is in doubt */
void resync_crash_queue(struct nfs4r_engine *eng); /* settle it before anything is repaired */
bool engine_doubt_is_open(struct nfs4r_engine *eng);
enum doubt_about { DOUBT_NONE, DOUBT_OPEN, DOUBT_UNKNOWN /* it is not known yet which objects are in doubt */ };
enum doubt_about doubt_about(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
void engine_doubt_wait(struct nfs4r_engine *eng); /* until nothing is in doubt, or the engine stops */
void engine_doubt_wake(struct nfs4r_engine *eng);
void resync_crash_free(struct nfs4r_engine *eng);

/* ---- held.c ---- */
bool update_commit_is_asked(const struct nfs4r_engine *eng); /* does a COMMIT wait for a majority? */
/* As nfs4r_commit(), but the thread goes; @done on an executor (or here on error), soon after op_wait_ms at the latest. */
typedef void (*held_fn)(struct nfs4r_engine *eng, void *arg, enum nfs4r_status st);
void update_commit_async(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, held_fn done, void *arg);
void update_commit_expire(struct nfs4r_engine *eng, uint64_t now);
void update_commit_held(struct nfs4r_engine *eng, uint64_t id); /* eng->lock held */

/* ---- hold.c ---- */
#define HOLD_NAME ".nfs4r-hold"
#define HOLD_NAME_MAX 32
void replicate_staging_name(struct nfs4r_engine *eng, char out[HOLD_NAME_MAX]); /* one that the volume does not use itself */
bool replicate_staging_is_name(const char *name); /* of the hidden directory, in the exported one */
/* Where an object lies that waits in the hidden directory: @name there, and *dirh. False: it does not. */
bool replicate_staging_has(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, const struct nfs4r_lhandle *h, struct nfs4r_lhandle *dirh, char name[NFS4R_OID_STRLEN]);
/* Log 4.13: the entry is applied without its names. What it makes, or moves, waits in the hidden directory. */
enum nfs4r_status replicate_staging_aside(struct nfs4r_engine *eng, struct nfs4r_entry *e, uint32_t mask);
bool replicate_staging_is_partial(const struct nfs4r_entry *e, uint32_t mask); /* names, and not all parts apply: hold_apply() */
enum nfs4r_status hold_apply(struct nfs4r_engine *eng, struct nfs4r_entry *e, uint32_t mask);
/* Steps of a repair; all find their work done when they are made again. */
enum nfs4r_status replicate_staging_find(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct nfs4r_lhandle *out); /* @oid NULL: the directory itself */
enum nfs4r_status replicate_staging_make(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, const struct nfs4r_attrs *attrs, const char *linktext,
			    struct nfs4r_lhandle *out);
enum nfs4r_status replicate_staging_drop(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
enum nfs4r_status replicate_staging_park(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_lhandle *h,
			    const struct nfs4r_oid *oid);
/* Park what @name means, unless it is @want (may be NULL). What is not the volume's stays, unless @want needs the place: then it becomes a stray. */
enum nfs4r_status replicate_staging_clear(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_lhandle *want);
/* What has the name, and is no object of the volume, moves to the hidden directory, for people. */
enum nfs4r_status replicate_staging_stray(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name);
/* Give the object the name, which is free. A directory that is not in the hidden one stays where it is. */
enum nfs4r_status replicate_staging_place(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_oid *oid,
			     const struct nfs4r_lhandle *h);
bool replicate_staging_is_in(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, const struct nfs4r_oid *oid); /* has it a name in @dir? */
/* Is what has the name in the hidden directory, @dirh, what a repair that was broken off made for the object, and the store never heard of? */
bool replicate_staging_is_orphan(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, struct nfs4r_oid *oid);
void replicate_staging_tidy(struct nfs4r_engine *eng); /* away with it if it is empty */
void replicate_staging_look(struct nfs4r_engine *eng); /* at the start: is it there? */

/* ---- way.c; any thread that may block on the local disk, under the update locks of the directories ---- */
bool replicate_way_leads_to(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_lhandle *h);
/* What has the name on the disk moves aside, unless it is @may (NULL, or len 0: nothing may). OK: the name is free, or leads to @may. */
enum nfs4r_status replicate_way_clear(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_lhandle *may);
/* An own update is about to be executed. NOENT: a name that it takes away leads to something else on the disk, or to nothing. */
enum nfs4r_status replicate_way_before(struct nfs4r_engine *eng, const struct nfs4r_op *op, const struct nfs4r_exec *x);
/* The update of @e failed with @st, EXIST or NOTEMPTY. True: what was in its way has moved, try it again. */
bool replicate_way_make(struct nfs4r_engine *eng, const struct nfs4r_entry *e, enum nfs4r_status st);

/* ---- behind.c; any thread, no lock held ---- */
struct behind *behind_create(void);
void engine_missing_destroy(struct behind *b);
void engine_missing_wake(struct nfs4r_engine *eng); /* the engine stops */
void engine_missing_drop(struct nfs4r_engine *eng, void *arg); /* a task that never runs */
enum engine_missing_about { BEHIND_NOT, BEHIND_OPEN /* it is being brought back: nothing may be executed, applied, read */, BEHIND_LATER /* its content is newer than its row: not to be read */ };
enum engine_missing_about engine_missing_about(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
/* The local file system said that @oid, which the store knows, is not there. True: it comes back from another server; until then the answer is DELAY. May block on the local disk. */
bool engine_missing_notice(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
/* The same of all objects of an update that failed with @st, which ends as what is returned. @op NULL: of another server's update, which is tried again after DELAY. */
enum nfs4r_status engine_missing_failed(struct nfs4r_engine *eng, const struct nfs4r_entry *e, const struct nfs4r_op *op, enum nfs4r_status st);
bool engine_missing_blocks(struct nfs4r_engine *eng, const struct nfs4r_entry *e); /* is one of its objects BEHIND_OPEN? */
void engine_missing_wait(struct nfs4r_engine *eng, const struct nfs4r_entry *e); /* until that is over, a second at most */
void engine_missing_misplaced(struct nfs4r_engine *eng, const struct nfs4r_oid *oid); /* it waits in the hidden directory for its own name. Never blocks */
struct behind_want { /* of a mend that is asked for */
	nfs4r_servers from; /* take it from one of these; 0: from any that has it */
	bool content;	    /* it is there, and its content or attributes are wrong */
	nfs4r_server_id took; /* out: from whom */
	char why[300];	    /* out: what went wrong */
};
/* Make the object as the volume has it: there, with its content, attributes and names. Blocks on other servers: only for a thread of its own. */
enum nfs4r_status resync_heal(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct behind_want *w);
/* Names of a directory on the disk become those of the store; *missing: names whose object is not on the disk. Blocks on the local disk. */
enum nfs4r_status resync_heal_names(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, uint64_t *moved);
struct behind_counts {
	uint64_t taken, failed; /* objects, since the start */
	uint64_t aside;		/* foreign names that were moved to the hidden directory, since the start */
	uint64_t waiting;	/* objects now */
	uint64_t strays;	/* in the hidden directory now */
};
void resync_heal_count(struct nfs4r_engine *eng, struct behind_counts *out); /* blocks on the local disk */

/* ---- reads.c ---- */
struct reads *read_router_create(struct nfs4r_engine *eng);
void read_router_destroy(struct reads *r);
void read_router_answer(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_msg *m);
/* Of @from's own copy, whoever is primary. Blocks for some seconds at most; DELAY: no answer. Only for a thread of its own. */
enum nfs4r_status read_copy(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_read *rd);
void read_router_peer_down(struct nfs4r_engine *eng, nfs4r_server_id peer);
void read_router_expire(struct nfs4r_engine *eng, uint64_t now);
void read_router_again(struct nfs4r_engine *eng); /* what waits for somebody to ask is decided again */
void reads_here(struct nfs4r_engine *eng, nfs4r_server_id owner); /* eng->lock held: so is, soon, what @owner has been asked */
void read_router_forget_answer(struct nfs4r_read *rd); /* what it has of an earlier one */
nfs4r_version read_router_version_said(const struct nfs4r_read *asked, const struct nfs4r_read *answer); /* of the object asked for, of a peer; 0: none, or with the attributes */
enum nfs4r_status read_router_not_here(struct nfs4r_engine *eng, enum nfs4r_known known);

/* ---- reads_promised.c ---- */
struct read_promise { /* an owner's word on a READ: the bytes are those of the copy here, once that has @version */
	nfs4r_version version; /* 0: none */
	nfs4r_server_id by;
	uint64_t len;
	bool eof;
	struct nfs4r_closed closed; /* the question: how far the control was known to be closing */
	nfs4r_lsn applied; /* of its log, when that moved last */
	uint64_t moved_ms, until_ms;
};
#define PROMISE_WORDS 3 /* before the versions of the pieces */
struct promises *read_promises_create(void);
void read_promises_destroy(struct promises *p);
bool read_promise_known(struct nfs4r_engine *eng, const struct nfs4r_read *rd, nfs4r_server_id owner, struct read_promise *pr); /* without asking */
/* Before @owner is asked: the READ's cookie. @bytes: no promise this time. */
nfs4r_version read_promise_asked(struct nfs4r_engine *eng, const struct nfs4r_read *rd, nfs4r_server_id owner, struct read_promise *pr, bool bytes);
/* Is @answer one? */
bool read_promise_taken(struct nfs4r_engine *eng, nfs4r_server_id from, const struct nfs4r_read *asked, const struct nfs4r_read *answer, struct read_promise *pr);
bool read_promise_kept(struct nfs4r_engine *eng, struct nfs4r_read *rd, struct read_promise *pr); /* true: @rd has its answer. Reads the local file */
bool read_promise_may_be_kept(struct nfs4r_engine *eng, struct read_promise *pr);
void read_promise_broken(struct nfs4r_engine *eng, struct read_promise *pr);

/* ---- asked.c: what another server asks for, from its question to the answer ---- */
#define ASKED_MAX 1024u		    /* questions of one server: beyond, no more of its requests are read */
#define ASKED_WINDOW_MS 100	    /* the same, when so many came in that time */
#define ASKED_BYTES_MAX (64u << 20) /* bytes of memory that they take, the same */
#define ANSWERS_BYTES_MAX (8u << 20) /* memory of answers that wait for the transport: beyond, a READ hears DELAY */
#define ANSWERS_SMALL_MAX (16u << 20) /* the same, beyond that and a large one of each executor: who asks on is disconnected */
void engine_asked_init(struct nfs4r_engine *eng);
void engine_asked_fini(struct nfs4r_engine *eng);
/* A question of @from that takes @bytes has come. On the transport's thread. */
void engine_asked_take(struct nfs4r_engine *eng, nfs4r_server_id from, uint64_t bytes);
/* It is answered, or nobody wants the answer. Once for each, with the same @bytes; any thread. */
void engine_asked_drop(struct nfs4r_engine *eng, nfs4r_server_id from, uint64_t bytes);
/* From time to time; takes no lock of the engine. */
void asked_expire(struct nfs4r_engine *eng);
/* The same for a forwarded operation: before the core hears of it, and when it is dropped. @op may be NULL, or not counted. */
void engine_asked_forward(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_msg *m);
void engine_asked_forward_over(struct nfs4r_engine *eng, struct nfs4r_op *op);
/* So many bytes of answers wait that no large one may be made. Any thread. */
bool engine_asked_is_slow(struct nfs4r_engine *eng, nfs4r_server_id from);
/* It has sent a message of @type, and so many answers wait that it cannot be reading them: it is disconnected, and the message is nobody's. On the transport's thread. */
bool asked_in_vain(struct nfs4r_engine *eng, nfs4r_server_id from, uint32_t type);
/* Reads and sums that wait for it are dropped, and the sum under way ends soon. On the transport's thread. */
void engine_asked_peer_down(struct nfs4r_engine *eng, nfs4r_server_id peer);

/* ---- server.c ---- */
void server(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_msg *m);
bool reads_wait(const struct reads *r); /* is there any? Any thread */

/* ---- touched.c; any thread ---- */
struct touched *engine_touched_create(void);
void engine_touched_destroy(struct touched *w);
void engine_touched_begin(struct touched *w, const struct nfs4r_entry *e);  /* an own entry that has its versions, before there is a newer one; eng->lock held */
void engine_touched_note(struct touched *w, const struct nfs4r_entry *e);   /* an own entry that was executed; before its answer */
void engine_touched_forget(struct touched *w, const struct nfs4r_entry *e); /* another server's that was applied */
void engine_touched_forget_all(struct touched *w);			      /* the copy is another one */
/* The newest update of those bytes of the file: its version, and an entry of the own log with which it has come. False: it is not known, and the file's row says enough. */
bool engine_touched_last(struct touched *w, const struct nfs4r_oid *oid, uint64_t off, uint64_t len, nfs4r_version *version, nfs4r_lsn *lsn);

/* The pieces of the file from the one that has byte @off on, for nfs4r.x's words after the first two: bytes of a piece, and their versions. Returns how many words, @most at most. */
uint32_t engine_touched_pieces(struct touched *w, const struct nfs4r_oid *oid, uint64_t off, uint64_t *words, uint32_t most);

/* ---- set_ids.c; any thread ---- */
struct set_ids *engine_suid_create(void);
void engine_suid_destroy(struct set_ids *s);
void engine_suid_forget(struct set_ids *s, const struct nfs4r_entry *e); /* executed under its locks, or another server's that was applied */
void engine_suid_forget_all(struct set_ids *s);			      /* the copy is another one */
/* Would the local file system take set-id bits away in @op? Then *left is the mode without them. Under the locks of @op; may block on the disk. */
bool engine_suid_go(struct nfs4r_engine *eng, const struct nfs4r_op *op, const struct nfs4r_lhandle *h, uint32_t *left);
/* Begin the update that takes them away. Under no locks, but on any thread. */
void take_set_ids(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, uint32_t left);
/* MISMATCH: @op is such an update, and would do something else. Under its locks. */
enum nfs4r_status engine_suid_alone(struct nfs4r_engine *eng, const struct nfs4r_op *op, const struct nfs4r_lhandle *h);

/* The file has no set-id bits and belongs to this user, as far as is remembered. */
bool engine_suid_is_owner(struct set_ids *s, const struct nfs4r_oid *oid, uint32_t uid);

/* ---- permission.c; under the locks of the operation, no other; may block on the disk ---- */
/* ACCES or PERM: its caller may not do that. Set-id bits that he may not set are taken out of what he asks for. Before OP_LOCKED. */
enum nfs4r_status update_permission_first(struct nfs4r_engine *eng, struct opctx *o);
/* When it is executed: OK unless it could not be told before. */
enum nfs4r_status update_permission_now(struct nfs4r_engine *eng, const struct opctx *o);

/* ---- copy.c ---- */
/* Answer a READ with `copy`. STALE: dead; UNKNOWN: not here yet; DELAY: it changes just now. */
enum nfs4r_status read_copy_here(struct nfs4r_engine *eng, struct nfs4r_read *rd);
/* `data` of an answer to OIDS. */
void read_copy_positions_put(const struct nfs4r_store_positions *p, uint8_t *out);
bool read_copy_positions_get(struct nfs4r_store_positions *p, const struct nfs4r_buf *b);

/* ---- leave.c ---- */
>>>>>>> theirs
void engine_leave(struct nfs4r_engine *eng); /* before a stop */

<<<<<<< ours
||||||| base
/* ---- view.c ---- */
/* Around the carrying out of an update: the lease falls before what depends on it changes, and rises after. eng->lock held. */
void engine_lease_lower(struct nfs4r_engine *eng);
void engine_lease_raise(struct nfs4r_engine *eng);
/* After a step: write a line if the view or the lease changed. @type of the event, and of its message. eng->lock held. */
void membership_view_watch(struct nfs4r_engine *eng, uint32_t type, uint32_t msg_type);
void membership_view_start(struct nfs4r_engine *eng); /* after started(); eng->lock held */
/* Does the lease hold now? Any thread. */
bool engine_has_lease(struct nfs4r_engine *eng);
/*
 * To answer from the own copy without the lock: note the era before looking at the control table; may_answer() afterwards says
 * whether the lease holds and the table was complete meanwhile. Any thread.
 */
uint32_t engine_lease_era(struct nfs4r_engine *eng);
bool engine_may_answer(struct nfs4r_engine *eng, uint32_t era);
/* The loss epoch of the adopted view goes into eng->epoch and the verifier. eng->lock held. */
void engine_epoch_follow(struct nfs4r_engine *eng);
/* Complain about round trips that the configured times do not fit, and about having stood still. Timer's thread, no lock held. */
void membership_view_check_rtt(struct nfs4r_engine *eng, uint64_t now);
void membership_view_check_late(struct nfs4r_engine *eng, uint64_t late_ms, uint64_t now);
/* Complain about clocks of the day that differ, and say when they do no more. Timer's thread, no lock held. */
void membership_view_check_clocks(struct nfs4r_engine *eng, uint64_t now);
/* What the own store is worth (log 8.6); KNOWN if nobody is asked. eng->lock held, or before threads run. */
enum nfs4r_memory engine_memory(struct nfs4r_engine *eng);
/* "1, 2, 3"; "none". Returns @buf. */
const char *engine_server_list(nfs4r_servers set, char *buf, size_t len);

/* ---- servers.c; eng->lock held, or before threads run ---- */
/* The core's rows are restored. Returns the servers of the view, or with @logs here, that no Server block has while those alone say who the servers are. */
nfs4r_servers membership_begin(struct nfs4r_engine *eng, nfs4r_servers logs);
void membership_start(struct nfs4r_engine *eng); /* say how they differ from the configuration */
void membership_go_online(struct nfs4r_engine *eng, struct nfs4r_rpc_config *cfg); /* fills in who the transport's peers are */
void membership_tell(struct nfs4r_engine *eng);	/* the transport, which runs */
void membership_adopted(struct nfs4r_engine *eng); /* ACT_SERVERS */
nfs4r_servers engine_servers_left(struct nfs4r_engine *eng); /* that may still have something: after an administrator's word, said to all whom it names, only those (log 9.3). Takes eng->lock */
bool engine_is_alone(const struct nfs4r_engine *eng); /* the volume has this server only. Any thread */
/* What a server that was taken out has to be told. Returns @buf. */
const char *membership_come_back(const struct nfs4r_engine *eng, char *buf, size_t len);

struct view_seen { /* what was said last; under eng->lock */
	enum nfs4r_status trouble[NFS4R_SERVERS_MAX + 1]; /* of each server, this one included: why it cannot apply an update */
	uint64_t num;
	nfs4r_servers members, voters;
	uint32_t era;
	bool joining, had_lease, lease_said;
	bool newcomer;			 /* this server was added since its start */
	uint64_t away_ms, lease_lost_ms; /* since when; 0 = not */
	enum nfs4r_memory memory;
	bool forgot;			 /* this server, at any time since its start */
	nfs4r_servers forgetful;	 /* others, by their own word */
	uint64_t unended_ms[NFS4R_SERVERS_MAX + 1]; /* a forgetful one waits for the end of its log; 0 = not, UINT64_MAX = said */
};

/* ---- fastpath.c ---- */
struct fastpath *engine_filter_create(nfs4r_server_id self);
void engine_filter_destroy(struct fastpath *f);
void engine_filter_change(struct fastpath *f, const struct nfs4r_oid *oid, nfs4r_server_id owner, uint32_t depth, bool added);
/*
 * Between hold (before the tree shows an object that comes with a claim) and settled (its control is in the table) nothing is
 * surely local. Else a reader could find the new object and miss its control. eng->lock held.
 */
void engine_filter_hold(struct fastpath *f);
void engine_filter_settled(struct fastpath *f);
/* true: surely no other server controls it, serve locally. false: ask the core. Lock-free. To be asked after the object's row was seen. */
bool engine_filter_local(struct fastpath *f, const struct nfs4r_oid *oid, bool is_dir);

/* ---- checkpoint.c ---- */
void *engine_checkpoint_thread(void *eng);
void engine_checkpoint_wake(struct nfs4r_engine *eng, bool hurry); /* hurry: without a pause after the one before */
/* Somebody wants control: what is closing should be released soon. Any thread. */
void engine_checkpoint_urge(struct nfs4r_engine *eng);
enum nfs4r_status engine_checkpoint_now(struct nfs4r_engine *eng);

/* ---- retention.c: what is kept for servers that are away ---- */
struct retention_facts {
	struct nfs4r_store_kept kept;
	nfs4r_servers kept_for, late; /* as nfs4r_core_kept_for() */
};
void membership_retention_init(struct nfs4r_engine *eng);
void membership_retention_look_at_bound(struct nfs4r_engine *eng);				/* eng->lock held */
void membership_retention_collect(struct nfs4r_engine *eng, struct retention_facts *f);	/* eng->lock held */
/* What an administrator should know before the bound is passed, and after. False: nothing. */
bool membership_retention_warning(const struct nfs4r_engine *eng, const struct retention_facts *f, char *text, size_t len);

/* ---- space.c: room and limits (log 4.12) ---- */
struct spacer;
struct spacer *membership_space_create(struct nfs4r_engine *eng);
/* The core has started, nobody hears this server yet; no lock held. BADCONFIG, with the reason: the file system of the exported directory takes different names for one. */
enum nfs4r_status membership_space_begin(struct spacer *s, char *why);
bool membership_space_run(struct spacer *s);
void membership_space_stop(struct spacer *s); /* it is NULL or was not run: nothing */
void membership_space_destroy(struct spacer *s);
uint64_t space_wanted(const struct spacer *s); /* bytes free under Store, before a server that halted because it was full comes back */
/* Have all attributes of @obj room at every server when @op is executed, if it sets one, or an ACL? @obj is empty when @op makes it. NOSPC: no. Any other error is the local file system's. No lock held. */
enum nfs4r_status update_room_for_attributes(struct nfs4r_engine *eng, const struct nfs4r_op *op, const struct nfs4r_lhandle *obj);
/* Is most that needs room refused now, and why: whose room, and how much. */
bool engine_room_refuses(const struct nfs4r_core_room *room, char *text, size_t len);

/* ---- recover.c ---- */
/* Before started(): hand rows, positions, entries to the core. */
enum nfs4r_status start_recover_restore(struct nfs4r_engine *eng, const struct nfs4r_store_info *info, char *why);
/* After started(): decide undecided entries by evidence (log sheet 4.5). */
void start_recover_intents(struct nfs4r_engine *eng, const struct nfs4r_store_info *info);
enum nfs4r_status start_recover_root(struct nfs4r_engine *eng, const struct nfs4r_store_info *info, char *why);
/* The store is new and the tree is not, and nobody said what is to be done with it: a line that does. */
bool membership_view_is_strange(const struct nfs4r_engine *eng, char *why, size_t len);

/* ---- xattrs.c; block on the local disk ---- */
enum nfs4r_status engine_xattr_take(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h, const char *name, const void *val, uint32_t len); /* of another copy */
enum nfs4r_status engine_xattr_drop(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h, const char *name); /* the other copy has none of this name */
enum nfs4r_status engine_xattr_drop_inherited(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h); /* from a default ACL */

/* ---- conflicts.c ---- */
uint64_t resync_saved(const struct nfs4r_engine *eng); /* folders of undone updates under Conflicts that nobody has taken away. Any thread; blocks on the disk */

/* ---- import.c ---- */
enum import_phase { IMPORT_NONE = 0, IMPORT_RUNNING, IMPORT_STOPPED, IMPORT_COMPLETE };
void *start_import_thread(void *eng);

/* ---- import_notes.c; any thread, without eng->lock. They block on the Store's disk ---- */
enum import_note { IMPORT_SKIPPED = 0, IMPORT_CHANGED, IMPORT_NOTES };
void start_import_notes_path(const struct nfs4r_engine *eng, enum import_note kind, char out[1100]);
void start_import_notes_load(struct nfs4r_engine *eng); /* before threads run: what earlier starts noted */
void start_import_notes_begin(struct nfs4r_engine *eng); /* this start meets again what was skipped */
void start_import_notes_add(struct nfs4r_engine *eng, enum import_note kind, const char *path, const char *why);

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

/* ---- ctl.c, verify.c ---- */
struct ctl *admin_ctl_create(struct nfs4r_engine *eng, char *why);
void admin_ctl_destroy(struct ctl *c);
void verify_serve(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_msg *m);
void admin_verify_forget(struct nfs4r_engine *eng, nfs4r_server_id peer); /* it is gone: what waits for it is not summed */
void admin_verify_answer(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_msg *m);

#define VAIN 256 /* objects that somebody waited for in vain, of the last second */

#define HANDLE_KEYS 4 /* secrets a server may have had since its start: the last is in use, and a worker may still look at the one before */

struct nfs4r_engine {
	struct nfs4r_config cfg;
	const struct nfs4r_lops *ops;
	void *ctx;
	nfs4r_log_fn log;
	void *log_ctx;

	pthread_mutex_t lock; /* the core and everything that it owns */
	pthread_cond_t timer_cond;
	pthread_cond_t step_cond; /* the core has made a step, or the engine is over, and somebody waits for what came of it: step_waiters */
	uint32_t step_waiters;
	_Atomic uint64_t steps;
	bool look_soon; /* timer: at the questions that wait */
	nfs4r_servers reads_here; /* what is asked of these may be read here by now; a task of the executors looks */
	uint64_t next_timer_ms;
	struct nfs4r_core *core;

	struct nfs4r_store *store;
	struct nfs4r_rpc *_Atomic rpc;
	struct pool *executors, *appliers, *repairs, *menders, *verifiers;
	struct locks *locks;
	struct fastpath *fastpath;
	struct durable *durable;
	struct distributor *distributor;
	struct reads *reads;
	struct touched *touched;
	struct set_ids *set_ids;
	struct promises *promises;
	struct spacer *spacer;
	struct behind *behind;
	struct ctl *ctl;
	struct opctx *parked, *active, *remotes; /* remotes: forwarded ones from EXECUTE to EXECUTED or RETRY */
	pthread_cond_t idle_cond; /* stop: somebody has left an operation */
	bool frozen;		  /* stop: the core makes no more steps */
	uint32_t nparked, nlonger; /* parked; workers that wait longer than usual (ops.c) */

	_Atomic nfs4r_servers servers; /* of the volume, this one included unless it was taken out: servers.c */
	struct nfs4r_rpc_servers list; /* the same with their addresses; under lock */
	struct nfs4r_oid root;
	/* online.c */
	pthread_t online_tid;
	pthread_cond_t online_cond;
	bool online_running;
	char starting[NFS4R_WHY];	  /* under lock: why it does not take part yet; empty = it does */
	int export_fd;		  /* on the exported directory by its path; -1 = its path is not known */
	struct nfs4r_lhandle root_handle;
	char found[NFS4R_NAME_MAX + 1]; /* in the exported directory before the store took it into use; empty: nothing, or long ago */
	uint64_t inc, inc_random;
	struct asked { /* asked.c */
		pthread_mutex_t lock;
		uint32_t n;
		uint64_t bytes;
		bool held;
		struct verify_serve *verifies, **verifies_tail; /* that wait; the one that runs is none of them */
		bool verifying;
	} asked[NFS4R_SERVERS_MAX + 1]; /* by server */
	_Atomic uint32_t asked_era[NFS4R_SERVERS_MAX + 1]; /* how often the connection with it was lost */
	uint64_t peer_inc[NFS4R_SERVERS_MAX + 1]; /* under lock; part of the verifier */
	_Atomic uint64_t verifier;
	_Atomic uint64_t lease_until_ms; /* of the core after its last step; view.c */
	_Atomic uint32_t lease_era;
	struct { /* waiting.c */
		_Atomic uint32_t all, unanswered; /* threads */
		_Atomic uint64_t refused; /* since the start */
		_Atomic nfs4r_servers up, mute; /* who is connected; who let a question run into its time, and answered none since */
		pthread_mutex_t lock;
		struct vain {
			struct nfs4r_oid oid;
			uint64_t until_ms;
		} vain[VAIN]; /* under lock */
	} waiting;
	struct { /* handle_key.c; written under lock */
		_Atomic uint32_t n; /* how many there were; the last is key[n % HANDLE_KEYS] */
		uint8_t key[HANDLE_KEYS][NFS4R_SECRET];
	} keys;
	struct view_seen seen;
	struct {
		pthread_mutex_t lock;
		struct nfs4r_said by[SAYINGS][NFS4R_SERVERS_MAX + 1]; /* under lock, by cause and server; 0: of no one server */
	} said; /* engine_log_often() */
	uint64_t rtt_due_ms, late_due_ms, clock_due_ms; /* timer's thread */
	double rtt_said_ms[NFS4R_SERVERS_MAX + 1];
	double clock_said_ms[NFS4R_SERVERS_MAX + 1]; /* how far another server's clock is off; 0: nothing was said */
	bool working;	       /* its start has succeeded */
	_Atomic bool ready;    /* recovered and not halted */
	_Atomic bool stopping;
	char halted[NFS4R_WHY];      /* under lock; why it does not serve */
	enum halt halt;		     /* the same; 0: it has not halted */
	enum nfs4r_status halt_st;   /* the same */
	uint64_t halt_said_ms;	     /* the same; to the others, last */
	bool again;		     /* the same; lops.again was called */
	_Atomic bool hold_there; /* the hidden directory may be there: hold.c */
	_Atomic bool mute;     /* halted: nothing may leave that depends on what could not be written */
	struct { /* of an import: import.c; under lock */
		enum import_phase phase;
		enum nfs4r_status st; /* why it stopped */
		uint64_t objects, bytes; /* of this start */
		uint64_t noted[IMPORT_NOTES], logged[IMPORT_NOTES]; /* by kind: import_notes.c */
	} import;
	_Atomic uint32_t labels_refused;
	struct {
		struct import_open *v;
		uint32_t n;
	} imports; /* under lock: import_open.c */
	_Atomic uint32_t epoch; /* loss epoch of the adopted view */
	struct held_wait *holds; /* under lock */
	uint64_t next_hold;
	struct { /* the repair under way; under lock, but for the generation */
		_Atomic uint64_t generation;
		bool running;
		nfs4r_server_id from;
		const char *phase;
		uint64_t done, all, bytes, since_ms;
		uint64_t fetch_ms; /* since when objects are fetched; 0 = not yet */
		uint64_t taken;	   /* counts the positions that were taken from others */
	} repair;
	_Atomic bool asides; /* some object was put aside since the start: a name may not be what the store says (log 4.13) */
	_Atomic uint64_t apply_said_ms; /* when the log last said that an update cannot be applied (apply.c) */
	_Atomic uint64_t strays_moved; /* since the start */
	_Atomic unsigned strays; /* names of strays that are taken, as far as is known (hold.c) */

	struct doubt *doubt; /* set before threads run; NULL: the last run ended without a crash of the machine */

	pthread_t timer_thread, checkpoint_tid, import_tid;
	bool timer_running, checkpoint_running, import_running;
	pthread_mutex_t checkpoint_lock;
	pthread_cond_t checkpoint_cond;
	bool checkpoint_wanted, checkpoint_hurried;
	_Atomic uint64_t urgent_until_ms;
	struct {
		uint64_t bytes_max; /* since the start */
		uint64_t warned_ms; /* under lock */
	} retention;
	uint64_t stat_reads_local, stat_reads_remote, stat_updates;
	uint64_t stat_reads_promised; /* of the remote: whose bytes were here */
	uint64_t started_at_ms;
};

/* waiting.c: the caller's threads that wait for other servers. No lock needed */
enum waiting_kind {
	WAITING_ANSWERED = 1, /* for who can be expected to answer */
	WAITING_UNANSWERED = 2
};
enum waiting_kind waiting_kind(const struct nfs4r_engine *eng, nfs4r_server_id to); /* @to: as nfs4r_read_server() says */
bool engine_waiting_full(const struct nfs4r_engine *eng);
bool engine_waiting_begin(struct nfs4r_engine *eng, enum waiting_kind kind, const struct nfs4r_oid *oid); /* false: DELAY; else engine_waiting_end() follows */
void engine_waiting_must(struct nfs4r_engine *eng); /* one that cannot be refused any more; engine_waiting_end(WAITING_ANSWERED) follows */
void engine_waiting_end(struct nfs4r_engine *eng, enum waiting_kind kind);
void engine_waiting_vain(struct nfs4r_engine *eng, nfs4r_server_id asked, const struct nfs4r_oid *oid); /* the time of one that asked @asked, or nobody (0), is over */
void engine_waiting_heard(struct nfs4r_engine *eng, nfs4r_server_id from); /* an answer */
void engine_waiting_peer(struct nfs4r_engine *eng, nfs4r_server_id peer, bool up);

void engine_handle_key_follow(struct nfs4r_engine *eng); /* the core may go by another secret; lock held, or before threads run */

void engine_log(struct nfs4r_engine *eng, enum nfs4r_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* What server @s (0: any) can bring about as often as it likes: OFTEN_MAX lines a minute for a cause. Any thread. */
void engine_log_often(struct nfs4r_engine *eng, enum saying what, nfs4r_server_id s, enum nfs4r_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
void engine_look_soon(struct nfs4r_engine *eng); /* read_router_again(), soon; eng->lock held */
void engine_update_verifier(struct nfs4r_engine *eng); /* lock held */

=======
/* ---- view.c ---- */
/* Around the carrying out of an update: the lease falls before what depends on it changes, and rises after. eng->lock held. */
void engine_lease_lower(struct nfs4r_engine *eng);
void engine_lease_raise(struct nfs4r_engine *eng);
/* After a step: write a line if the view or the lease changed. @type of the event, and of its message. eng->lock held. */
void membership_view_watch(struct nfs4r_engine *eng, uint32_t type, uint32_t msg_type);
void membership_view_start(struct nfs4r_engine *eng); /* after started(); eng->lock held */
/* Does the lease hold now? Any thread. */
bool engine_has_lease(struct nfs4r_engine *eng);
/*
 * To answer from the own copy without the lock: note the era before looking at the control table; may_answer() afterwards says
 * whether the lease holds and the table was complete meanwhile. Any thread.
 */
uint32_t engine_lease_era(struct nfs4r_engine *eng);
bool engine_may_answer(struct nfs4r_engine *eng, uint32_t era);
/* The loss epoch of the adopted view goes into eng->epoch and the verifier. eng->lock held. */
void engine_epoch_follow(struct nfs4r_engine *eng);
/* Complain about round trips that the configured times do not fit, and about having stood still. Timer's thread, no lock held. */
void membership_view_check_rtt(struct nfs4r_engine *eng, uint64_t now);
void membership_view_check_late(struct nfs4r_engine *eng, uint64_t late_ms, uint64_t now);
/* Complain about clocks of the day that differ, and say when they do no more. Timer's thread, no lock held. */
void membership_view_check_clocks(struct nfs4r_engine *eng, uint64_t now);
/* What the own store is worth (log 8.6); KNOWN if nobody is asked. eng->lock held, or before threads run. */
enum nfs4r_memory engine_memory(struct nfs4r_engine *eng);
/* "1, 2, 3"; "none". Returns @buf. */
const char *engine_server_list(nfs4r_servers set, char *buf, size_t len);

/* ---- servers.c; eng->lock held, or before threads run ---- */
/* The core's rows are restored. Returns the servers of the view, or with @logs here, that no Server block has while those alone say who the servers are. */
nfs4r_servers membership_begin(struct nfs4r_engine *eng, nfs4r_servers logs);
void membership_start(struct nfs4r_engine *eng); /* say how they differ from the configuration */
void membership_go_online(struct nfs4r_engine *eng, struct nfs4r_rpc_config *cfg); /* fills in who the transport's peers are */
void membership_tell(struct nfs4r_engine *eng);	/* the transport, which runs */
void membership_adopted(struct nfs4r_engine *eng); /* ACT_SERVERS */
nfs4r_servers engine_servers_left(struct nfs4r_engine *eng); /* that may still have something: after an administrator's word, said to all whom it names, only those (log 9.3). Takes eng->lock */
bool engine_is_alone(const struct nfs4r_engine *eng); /* the volume has this server only. Any thread */
/* What a server that was taken out has to be told. Returns @buf. */
const char *membership_come_back(const struct nfs4r_engine *eng, char *buf, size_t len);

struct view_seen { /* what was said last; under eng->lock */
	enum nfs4r_status trouble[NFS4R_SERVERS_MAX + 1]; /* of each server, this one included: why it cannot apply an update */
	uint64_t num;
	nfs4r_servers members, voters;
	uint32_t era;
	bool joining, had_lease, lease_said;
	bool newcomer;			 /* this server was added since its start */
	uint64_t away_ms, lease_lost_ms; /* since when; 0 = not */
	enum nfs4r_memory memory;
	bool forgot;			 /* this server, at any time since its start */
	nfs4r_servers forgetful;	 /* others, by their own word */
	uint64_t unended_ms[NFS4R_SERVERS_MAX + 1]; /* a forgetful one waits for the end of its log; 0 = not, UINT64_MAX = said */
};

/* ---- fastpath.c ---- */
struct fastpath *engine_filter_create(nfs4r_server_id self);
void engine_filter_destroy(struct fastpath *f);
void engine_filter_change(struct fastpath *f, const struct nfs4r_oid *oid, nfs4r_server_id owner, uint32_t depth, bool added);
/*
 * Between hold (before the tree shows an object that comes with a claim) and settled (its control is in the table) nothing is
 * surely local. Else a reader could find the new object and miss its control. eng->lock held.
 */
void engine_filter_hold(struct fastpath *f);
void engine_filter_settled(struct fastpath *f);
/* true: surely no other server controls it, serve locally. false: ask the core. Lock-free. To be asked after the object's row was seen. */
bool engine_filter_local(struct fastpath *f, const struct nfs4r_oid *oid, bool is_dir);

/* ---- checkpoint.c ---- */
void *engine_checkpoint_thread(void *eng);
void engine_checkpoint_wake(struct nfs4r_engine *eng, bool hurry); /* hurry: without a pause after the one before */
/* Somebody wants control: what is closing should be released soon. Any thread. */
void engine_checkpoint_urge(struct nfs4r_engine *eng);
enum nfs4r_status engine_checkpoint_now(struct nfs4r_engine *eng);

/* ---- retention.c: what is kept for servers that are away ---- */
struct retention_facts {
	struct nfs4r_store_kept kept;
	nfs4r_servers kept_for, late; /* as nfs4r_core_kept_for() */
};
void membership_retention_init(struct nfs4r_engine *eng);
void membership_retention_look_at_bound(struct nfs4r_engine *eng);				/* eng->lock held */
void membership_retention_collect(struct nfs4r_engine *eng, struct retention_facts *f);	/* eng->lock held */
/* What an administrator should know before the bound is passed, and after. False: nothing. */
bool membership_retention_warning(const struct nfs4r_engine *eng, const struct retention_facts *f, char *text, size_t len);

/* ---- space.c: room and limits (log 4.12) ---- */
struct spacer;
struct spacer *membership_space_create(struct nfs4r_engine *eng);
/* The core has started, nobody hears this server yet; no lock held. BADCONFIG, with the reason: the file system of the exported directory takes different names for one. */
enum nfs4r_status membership_space_begin(struct spacer *s, char *why);
bool membership_space_run(struct spacer *s);
void membership_space_stop(struct spacer *s); /* it is NULL or was not run: nothing */
void membership_space_destroy(struct spacer *s);
uint64_t space_wanted(const struct spacer *s); /* bytes free under Store, before a server that halted because it was full comes back */
/* Have all attributes of @obj room at every server when @op is executed, if it sets one, or an ACL? @obj is empty when @op makes it. NOSPC: no. Any other error is the local file system's. No lock held. */
enum nfs4r_status update_room_for_attributes(struct nfs4r_engine *eng, const struct nfs4r_op *op, const struct nfs4r_lhandle *obj);
/* Is most that needs room refused now, and why: whose room, and how much. */
bool engine_room_refuses(const struct nfs4r_core_room *room, char *text, size_t len);

/* ---- recover.c ---- */
/* Before started(): hand rows, positions, entries to the core. */
enum nfs4r_status start_recover_restore(struct nfs4r_engine *eng, const struct nfs4r_store_info *info, char *why);
/* After started(): decide undecided entries by evidence (log sheet 4.5). */
void start_recover_intents(struct nfs4r_engine *eng, const struct nfs4r_store_info *info);
enum nfs4r_status start_recover_root(struct nfs4r_engine *eng, const struct nfs4r_store_info *info, char *why);
/* The store is new and the tree is not, and nobody said what is to be done with it: a line that does. */
bool membership_view_is_strange(const struct nfs4r_engine *eng, char *why, size_t len);

/* ---- xattrs.c; block on the local disk ---- */
enum nfs4r_status engine_xattr_take(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h, const char *name, const void *val, uint32_t len); /* of another copy */
enum nfs4r_status engine_xattr_drop(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h, const char *name); /* the other copy has none of this name */
enum nfs4r_status engine_xattr_drop_inherited(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h); /* from a default ACL */

/* ---- conflicts.c ---- */
uint64_t resync_saved(const struct nfs4r_engine *eng); /* folders of undone updates under Conflicts that nobody has taken away. Any thread; blocks on the disk */

/* ---- import.c ---- */
enum import_phase { IMPORT_NONE = 0, IMPORT_RUNNING, IMPORT_STOPPED, IMPORT_COMPLETE };
void *start_import_thread(void *eng);

/* ---- import_notes.c; any thread, without eng->lock. They block on the Store's disk ---- */
enum import_note { IMPORT_SKIPPED = 0, IMPORT_CHANGED, IMPORT_NOTES };
void start_import_notes_path(const struct nfs4r_engine *eng, enum import_note kind, char out[1100]);
void start_import_notes_load(struct nfs4r_engine *eng); /* before threads run: what earlier starts noted */
void start_import_notes_begin(struct nfs4r_engine *eng); /* this start meets again what was skipped */
void start_import_notes_add(struct nfs4r_engine *eng, enum import_note kind, const char *path, const char *why);

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

/* ---- ctl.c, verify.c ---- */
struct ctl *admin_ctl_create(struct nfs4r_engine *eng, char *why);
void admin_ctl_destroy(struct ctl *c);
void verify_serve(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_msg *m);
void admin_verify_forget(struct nfs4r_engine *eng, nfs4r_server_id peer); /* it is gone: what waits for it is not summed */
void admin_verify_answer(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_msg *m);

#define VAIN 256 /* objects that somebody waited for in vain, of the last second */

#define HANDLE_KEYS 4 /* secrets a server may have had since its start: the last is in use, and a worker may still look at the one before */

struct nfs4r_engine {
	struct nfs4r_config cfg;
	const struct nfs4r_lops *ops;
	void *ctx;
	nfs4r_log_fn log;
	void *log_ctx;

	pthread_mutex_t lock; /* the core and everything that it owns */
	pthread_cond_t timer_cond;
	pthread_cond_t step_cond; /* the core has made a step, or the engine is over, and somebody waits for what came of it: step_waiters */
	uint32_t step_waiters;
	_Atomic uint64_t steps;
	bool look_soon; /* timer: at the questions that wait */
	nfs4r_servers reads_here; /* what is asked of these may be read here by now; a task of the executors looks */
	uint64_t next_timer_ms;
	struct nfs4r_core *core;

	struct nfs4r_store *store;
	struct nfs4r_rpc *_Atomic rpc;
	struct pool *executors, *appliers, *repairs, *menders, *verifiers;
	struct locks *locks;
	struct fastpath *fastpath;
	struct durable *durable;
	struct distributor *distributor;
	struct reads *reads;
	struct touched *touched;
	struct set_ids *set_ids;
	struct promises *promises;
	struct spacer *spacer;
	struct behind *behind;
	struct ctl *ctl;
	struct opctx *parked, *active, *remotes; /* remotes: forwarded ones from EXECUTE to EXECUTED or RETRY */
	pthread_cond_t idle_cond; /* stop: somebody has left an operation */
	bool frozen;		  /* stop: the core makes no more steps */
	uint32_t nparked, nlonger; /* parked; workers that wait longer than usual (ops.c) */

	_Atomic nfs4r_servers servers; /* of the volume, this one included unless it was taken out: servers.c */
	struct nfs4r_rpc_servers list; /* the same with their addresses; under lock */
	struct nfs4r_oid root;
	/* online.c */
	pthread_t online_tid;
	pthread_cond_t online_cond;
	bool online_running;
	char starting[NFS4R_WHY];	  /* under lock: why it does not take part yet; empty = it does */
	int export_fd;		  /* on the exported directory by its path; -1 = its path is not known */
	struct nfs4r_lhandle root_handle;
	char found[NFS4R_NAME_MAX + 1]; /* in the exported directory before the store took it into use; empty: nothing, or long ago */
	uint64_t inc, inc_random;
	struct asked { /* asked.c */
		pthread_mutex_t lock;
		uint32_t n;
		uint64_t bytes;
		bool held;
		uint64_t window_ms; /* when it began */
		uint32_t taken;	    /* since then */
		struct verify_serve *verifies, **verifies_tail; /* that wait; the one that runs is none of them */
		bool verifying;
	} asked[NFS4R_SERVERS_MAX + 1]; /* by server */
	_Atomic uint32_t asked_era[NFS4R_SERVERS_MAX + 1]; /* how often the connection with it was lost */
	uint64_t peer_inc[NFS4R_SERVERS_MAX + 1]; /* under lock; part of the verifier */
	_Atomic uint64_t verifier;
	_Atomic uint64_t lease_until_ms; /* of the core after its last step; view.c */
	_Atomic uint32_t lease_era;
	struct { /* waiting.c */
		_Atomic uint32_t all, unanswered; /* threads */
		_Atomic uint64_t refused; /* since the start */
		_Atomic nfs4r_servers up, mute; /* who is connected; who let a question run into its time, and answered none since */
		pthread_mutex_t lock;
		struct vain {
			struct nfs4r_oid oid;
			uint64_t until_ms;
		} vain[VAIN]; /* under lock */
	} waiting;
	struct { /* handle_key.c; written under lock */
		_Atomic uint32_t n; /* how many there were; the last is key[n % HANDLE_KEYS] */
		uint8_t key[HANDLE_KEYS][NFS4R_SECRET];
	} keys;
	struct view_seen seen;
	struct {
		pthread_mutex_t lock;
		struct nfs4r_said by[SAYINGS][NFS4R_SERVERS_MAX + 1]; /* under lock, by cause and server; 0: of no one server */
	} said; /* engine_log_often() */
	uint64_t rtt_due_ms, late_due_ms, clock_due_ms; /* timer's thread */
	double rtt_said_ms[NFS4R_SERVERS_MAX + 1];
	double clock_said_ms[NFS4R_SERVERS_MAX + 1]; /* how far another server's clock is off; 0: nothing was said */
	bool working;	       /* its start has succeeded */
	_Atomic bool ready;    /* recovered and not halted */
	_Atomic bool stopping;
	char halted[NFS4R_WHY];      /* under lock; why it does not serve */
	enum halt halt;		     /* the same; 0: it has not halted */
	enum nfs4r_status halt_st;   /* the same */
	uint64_t halt_said_ms;	     /* the same; to the others, last */
	bool again;		     /* the same; lops.again was called */
	_Atomic bool hold_there; /* the hidden directory may be there: hold.c */
	_Atomic bool mute;     /* halted: nothing may leave that depends on what could not be written */
	struct { /* of an import: import.c; under lock */
		enum import_phase phase;
		enum nfs4r_status st; /* why it stopped */
		uint64_t objects, bytes; /* of this start */
		uint64_t noted[IMPORT_NOTES], logged[IMPORT_NOTES]; /* by kind: import_notes.c */
	} import;
	_Atomic uint32_t labels_refused;
	struct {
		struct import_open *v;
		uint32_t n;
	} imports; /* under lock: import_open.c */
	_Atomic uint32_t epoch; /* loss epoch of the adopted view */
	struct held_wait *holds; /* under lock */
	uint64_t next_hold;
	struct { /* the repair under way; under lock, but for the generation */
		_Atomic uint64_t generation;
		bool running;
		nfs4r_server_id from;
		const char *phase;
		uint64_t done, all, bytes, since_ms;
		uint64_t fetch_ms; /* since when objects are fetched; 0 = not yet */
		uint64_t taken;	   /* counts the positions that were taken from others */
	} repair;
	_Atomic bool asides; /* some object was put aside since the start: a name may not be what the store says (log 4.13) */
	_Atomic uint64_t apply_said_ms; /* when the log last said that an update cannot be applied (apply.c) */
	_Atomic uint64_t strays_moved; /* since the start */
	_Atomic unsigned strays; /* names of strays that are taken, as far as is known (hold.c) */

	struct doubt *doubt; /* set before threads run; NULL: the last run ended without a crash of the machine */

	pthread_t timer_thread, checkpoint_tid, import_tid;
	bool timer_running, checkpoint_running, import_running;
	pthread_mutex_t checkpoint_lock;
	pthread_cond_t checkpoint_cond;
	bool checkpoint_wanted, checkpoint_hurried;
	_Atomic uint64_t urgent_until_ms;
	struct {
		uint64_t bytes_max; /* since the start */
		uint64_t warned_ms; /* under lock */
	} retention;
	uint64_t stat_reads_local, stat_reads_remote, stat_updates;
	uint64_t stat_reads_promised; /* of the remote: whose bytes were here */
	uint64_t started_at_ms;
};

/* waiting.c: the caller's threads that wait for other servers. No lock needed */
enum waiting_kind {
	WAITING_ANSWERED = 1, /* for who can be expected to answer */
	WAITING_UNANSWERED = 2
};
enum waiting_kind waiting_kind(const struct nfs4r_engine *eng, nfs4r_server_id to); /* @to: as nfs4r_read_server() says */
bool engine_waiting_full(const struct nfs4r_engine *eng);
bool engine_waiting_begin(struct nfs4r_engine *eng, enum waiting_kind kind, const struct nfs4r_oid *oid); /* false: DELAY; else engine_waiting_end() follows */
void engine_waiting_must(struct nfs4r_engine *eng); /* one that cannot be refused any more; engine_waiting_end(WAITING_ANSWERED) follows */
void engine_waiting_end(struct nfs4r_engine *eng, enum waiting_kind kind);
void engine_waiting_vain(struct nfs4r_engine *eng, nfs4r_server_id asked, const struct nfs4r_oid *oid); /* the time of one that asked @asked, or nobody (0), is over */
void engine_waiting_heard(struct nfs4r_engine *eng, nfs4r_server_id from); /* an answer */
void engine_waiting_peer(struct nfs4r_engine *eng, nfs4r_server_id peer, bool up);

void engine_handle_key_follow(struct nfs4r_engine *eng); /* the core may go by another secret; lock held, or before threads run */

void engine_log(struct nfs4r_engine *eng, enum nfs4r_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* What server @s (0: any) can bring about as often as it likes: OFTEN_MAX lines a minute for a cause. Any thread. */
void engine_log_often(struct nfs4r_engine *eng, enum saying what, nfs4r_server_id s, enum nfs4r_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
void engine_look_soon(struct nfs4r_engine *eng); /* read_router_again(), soon; eng->lock held */
void engine_update_verifier(struct nfs4r_engine *eng); /* lock held */

>>>>>>> theirs
#endif
