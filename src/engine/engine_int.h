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

#include "base/said.h"
/* ---- actions.c ---- */
extern const struct engine_actions engine_actions;

/* Causes of lines that another server can bring about as often as it likes: engine_log_often() */
enum saying { SAYING_UP, SAYING_DOWN, SAYING_MEMBER, SAYING_MEMORY, SAYING_UNENDED, SAYING_TROUBLE, SAYING_CLOCK, SAYING_ROOM, SAYINGS };
#define OFTEN_MAX 6

/* ---- shutdown.c ---- */
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
