/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The engine: threads, time, files and sockets around the core of one volume.
 * This is the only header FSAL_REPL needs (with lops.h and the vocabulary of src/base).
 *
 * Which thread does what: docs/decisions/0004-threads.md. Everything below may be called from any
 * thread that belongs to the caller unless it says otherwise; nothing here knows Ganesha.
 */
#ifndef NFS4R_ENGINE_ENGINE_H
#define NFS4R_ENGINE_ENGINE_H

#include "base/msg.h"
#include "core/core.h" /* durability, import and other choices */
#include "engine/lops.h"
#include "rpc/rpc.h"
#include "store/store.h"

/* Keys, ranges and defaults: base/config.def. */
struct nfs4r_config {
	char volume_name[64];
	char store_dir[1024];
	char export_dir[1024]; /* path of the exported directory, for what is done with it by name (start/places.c); empty: nothing */
	char recovery_dir[1024]; /* where Ganesha keeps its clients' names; empty: somewhere else. Compared with the others only */
	char control_socket[108]; /* Unix socket for nfs4rctl; empty = none */
	struct nfs4r_rpc_config rpc; /* self, volume UUID, export id, fsid, servers, security */
	enum nfs4r_directory_reads directory_reads;
	bool import; /* take what is in the exported directory into the volume at the first start */
	uint32_t op_wait_ms; /* longest wait of an operation before NFS4ERR_DELAY */
	uint32_t lock_max; /* byte-range locks of this server's clients, with those that wait; the caller's to keep */
	uint32_t waiting_max; /* so many threads of the caller may wait for other servers at a time, the rest hears DELAY at once (wait_limit.c); 0 = any number */
	uint32_t close_wait_ms; /* longest wait of a CLOSE for the others' acks */
	uint32_t stop_wait_ms; /* longest wait of a stop until everybody knows that this server controls nothing any more (control 7.12); 0 = none */
	uint32_t idle_ms; /* unused control ends */
	/* Policy of hierarchical control (core.h says exactly what each does); whether a server uses it matters to itself only. */
	bool deep_control; /* ask for deep control of directories */
	uint32_t deep_idle_ms; /* deep control ends so long after the last directory update below it */
	uint32_t read_idle_ms; /* control of a directory by which others read ends so long after its last use, or a sixth of the longest round trip if that is more (control 7.11); 0 = never */
	uint32_t revoke_ms; /* how long control stays after another server asked for it */
	uint32_t turn_ms; /* how long use keeps control that other servers ask for all the time (control 7.5); 0 = for ever */
	uint32_t announce_ms; /* how long after its last close other servers may read their copies of a file (control 7.10) */
	uint32_t lock_grace_ms; /* after a start or a fence, so long its clients may ask for their locks again (locks 8); more than their lease */
	uint32_t escalate_after; /* elections below a directory until all of it is asked for; 0 = never */
	uint32_t deep_plus_after; /* updates of different old files below a directory until deep+ is asked for; 0 = never */
	uint32_t contested_ms; /* no deep control of a directory for so long after others wanted something in it */
	uint32_t share_reads; /* READs served because of deep control until it is narrowed; 0 = never */
	uint32_t repeat_ms; /* unanswered control messages */
	uint32_t max_round_trip_ms; /* the longest normal round trip between two servers; lease_ms, silence_ms and repeat_ms follow from it where they are not written */
	/* The active view (core.h). The three times have to be equal on all servers. */
	uint32_t lease_ms; /* how long this server may answer after a majority granted it; 0 = the view is fixed */
	uint32_t silence_ms; /* a member that is not heard for so long is removed */
	uint32_t drift_permille; /* bound on how much faster or slower a server's clock runs than another's */
	uint32_t durability; /* enum nfs4r_durability: what an answer promises (core.h); equal on all servers */
	uint64_t abandon_ms; /* local: a server that is outside for so long is given up; 0 = only when an administrator says so */
	char conflicts_dir[1024]; /* where undone updates are saved; empty: "conflicts" in store_dir */
	bool stale_reads; /* without a lease, reads are answered from this server's copy all the same */
	uint32_t checkpoint_ms; /* default 5000 */
	uint32_t executors; /* threads that serve peers' forwarded operations and reads */
	uint32_t appliers; /* threads that apply peers' updates */
	uint64_t payload_bytes_max; /* memory for bytes queued for peers; beyond, they are read back from the files */
	uint64_t window_bytes; /* per peer, sent and not yet received */
	uint64_t retention_bytes; /* of the journal, kept for servers that are away; 0 = a tenth of the store's file system */
	uint64_t retention_s; /* and for so long; 0 = any time */
	uint64_t free_min; /* bytes of each of its file systems that a server keeps back (log 4.12); 0 = 2 %, at least 1 GiB, at most a twentieth */
	bool quotas_ignored; /* quotas of the exported file system are no reason not to start (log 4.16) */
	uint64_t segment_bytes; /* of the journal's files; 0 = 64 MiB, less in tests */
	uint32_t restart_pause_ms; /* longest wait, before it joins, of a server that ended soon after its last starts; 0 = none */
	const char *boot_id; /* as in struct nfs4r_store_config; NULL, but for tests */
};

#define NFS4R_FREE_MIN_LEAST (UINT64_C(1) << 20)
#define NFS4R_RETENTION_MIN (UINT64_C(256) << 20)

void nfs4r_config_init(struct nfs4r_config *cfg);
/* NFS4R_OK or BADCONFIG with a text that names the key, what is wrong and what to write. Pure. */
enum nfs4r_status nfs4r_config_check(const struct nfs4r_config *cfg, char *why, size_t why_len);
/*
 * Whether the directories of @cfg may lie where they do: not in one another, not in another volume's, the exported one on a file system that can carry a
 * copy. Changes nothing. NFS4R_OK; or NFS4R_BADCONFIG, NFS4R_NOMEM with a text that names the key and what to write. Blocks on the disk.
 */
enum nfs4r_status nfs4r_places_check(const struct nfs4r_config *cfg, char *why, size_t why_len);

/*
 * Whether the files are there by which @cfg lets this server prove who it is, and nobody else can read what is secret. NFS4R_OK; or NFS4R_BADCONFIG with a text that
 * names the key and what to do. What is in the files is the transport's business. Blocks on the disk.
 */
enum nfs4r_status nfs4r_key_files_check(const struct nfs4r_config *cfg, char *why, size_t why_len);

/*
 * The process waits before it starts an engine with @cfg (log 4.15): who asks at the control socket that is not there is told @why. *fd is -1 at first, and the caller's to
 * keep; goes_on() ends it. Any thread, one at a time; blocks on the disk. Nothing fails: without the file beside the socket the log alone has the reason.
 */
void nfs4r_start_waits(const struct nfs4r_config *cfg, int *fd, const char *why);
void nfs4r_start_goes_on(const struct nfs4r_config *cfg, int *fd);
#define NFS4R_WAITS ".waits" /* after the path of the socket: locked (flock) while somebody waits; text, one line */

struct nfs4r_engine;

/*
 * Opens the store, recovers, starts threads, listens. On error nothing is left running and @why (NFS4R_WHY bytes) says what to do.
 * @ops and @ctx must outlive the engine; @ops is not called before nfs4r_engine_start returned unless from this thread.
 */
enum nfs4r_status nfs4r_engine_start(const struct nfs4r_config *cfg, const struct nfs4r_lops *ops, void *ctx,
				     nfs4r_log_fn log, void *log_ctx, struct nfs4r_engine **out, char *why);
/*
 * Lets go of all control (at most Config.stop_wait_ms; the caller's clients have been turned away before), ends all operations (DELAY), takes a last checkpoint, joins
 * all threads.
 */
void nfs4r_engine_stop(struct nfs4r_engine *eng);

/* ---- updates ---------------------------------------------------------- */

/* Local objects of an operation that is being executed here and now, under its update locks. */
struct nfs4r_exec {
	struct nfs4r_lhandle obj, dir, dir2;
	struct nfs4r_lhandle child; /* REMOVE, RENAME: the object the name means */
	struct nfs4r_lhandle target; /* RENAME: replaced object */
	uint32_t child_type;
	struct nfs4r_lhandle made; /* out: handle of the new object */
};

/*
 * Local execution by the caller instead of the engine's own (which calls lops with op->cred). Sets x->made for a new
 * object and op->post (MODE UID GID SIZE ATIME at least) as lops->create and lops->setattr do. May be called on an engine thread.
 * Of a stable WRITE it need not sync the bytes: that is done before it is answered, by nfs4r_sync_fn, or lops->commit if there is none.
 */
typedef enum nfs4r_status (*nfs4r_exec_fn)(void *arg, struct nfs4r_op *op, struct nfs4r_exec *x);
/* The bytes of the file that @op wrote go to the disk, by whoever has it open; after its execution, under no locks. May be called on an engine thread. */
typedef enum nfs4r_status (*nfs4r_sync_fn)(void *arg, struct nfs4r_op *op);
typedef void (*nfs4r_done_fn)(void *arg, struct nfs4r_op *op);

/*
 * Run an update: get or find control, execute here or at the primary, answer when the rules allow (control 4 to 6).
 * Blocks: about op_wait_ms for control, longer only once the update has been executed or sent. op->status is returned too.
 * The op (zeroed by the caller, then filled in) stays the caller's; identity is set here.
 */
enum nfs4r_status nfs4r_update(struct nfs4r_engine *eng, struct nfs4r_op *op, nfs4r_exec_fn exec, void *arg);
/*
 * The same without blocking for peers: @done is called exactly once, either before this returns (on this thread) or later on an
 * engine thread. @exec and @sync (may be NULL) likewise. op, data must live until @done.
 */
void nfs4r_update_async(struct nfs4r_engine *eng, struct nfs4r_op *op, nfs4r_exec_fn exec, nfs4r_sync_fn sync, nfs4r_done_fn done, void *arg);

/* Opens for writing at this server: control of a file ends soon after the last close (control 7.1), or when it is idle. */
void nfs4r_opened(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
void nfs4r_closed(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);

/* Do byte-range locks hold at all servers (docs/protocol/locks.md)? Once they do, they always will. Any thread, takes no lock. */
bool nfs4r_locks_are_shared(const struct nfs4r_engine *eng);
/*
 * LOCK, LOCK_TEST, UNLOCK or UNWAIT of a client of this server (op.h), decided by the server that controls the file, wherever that is. The caller fills in type, obj, lock.lock, lock.wait and
 * lock.reclaim of a zeroed op, and asks one after another for one file.
 * UNLOCK and UNWAIT never wait for anybody: what they give back is gone for the caller, and the volume hears of it behind. The others wait for control or for an answer, not much longer than op_wait_ms. Then the
 * status is DELAY, nothing is held or waits, and the caller asks again.
 */
enum nfs4r_status nfs4r_lock(struct nfs4r_engine *eng, struct nfs4r_op *op);

/*
 * SHARE of a client of this server (op.h): an open begins, changes or ends, with what it denies others (docs/protocol/locks.md, Locks 19). Of every open of a file, also of one that denies nothing. The caller fills
 * in type, obj and share up to `reclaim` of a zeroed op; what an open has it names as it was granted last. Changes of one open come one after another, those of several at the same time. Any thread.
 * An open that denies nothing, of a file that nobody guards, takes the lock of the core, no more. A close, and what only gives something back, never waits and always ends with OK: what the volume has to
 * hear of it follows. The others wait for control or for an answer, not much longer than op_wait_ms.
 * OK. SHARE_DENIED: another open excludes it; the open has what it had. DELAY: the same, ask again. STALE: the file is gone. NOTSUPP: not in this volume (nfs4r_locks_are_shared()). INVAL: bits.
 * Opens are known as long as the engine lives.
 */
enum nfs4r_status nfs4r_share(struct nfs4r_engine *eng, struct nfs4r_op *op);

/* What clients may still use at every server, and what every server can hold (log 4.12), as far as this one was told. Takes the lock of the core. */
struct nfs4r_volume_room {
	bool bytes_known, inodes_known; /* false: it has no bound, or none was measured */
	uint64_t bytes, inodes;
	struct nfs4r_limits limits;
};
void nfs4r_volume_room(struct nfs4r_engine *eng, struct nfs4r_volume_room *out);

/* ---- reads ------------------------------------------------------------ */

/*
 * Decide where a read goes and, if that is another server, do it there.
 * Returns with *local = true: serve it from here (nothing was done; the check was made after this call began). Else rd holds the
 * primary's answer and its status is returned. Blocks at most about op_wait_ms, then NFS4R_DELAY.
 */
enum nfs4r_status nfs4r_read(struct nfs4r_engine *eng, struct nfs4r_read *rd, bool *local);
/* Which server a GETATTR of @oid would be asked at now: this one, a peer, or 0 = nobody can tell. Never blocks. */
nfs4r_server_id nfs4r_read_server(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
/*
 * May a thread of the caller wait for what it asks others about @oid? Not when too many wait (waiting_max), or when no answer is to be expected. One that waits for
 * what it asked by nfs4r_read_async() says so with the pair below; nfs4r_read() and nfs4r_update() do that themselves.
 */
bool nfs4r_may_wait(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
void nfs4r_wait_begin(struct nfs4r_engine *eng);
void nfs4r_wait_end(struct nfs4r_engine *eng);
/* Without blocking; @done exactly once, maybe before this returns. */
typedef void (*nfs4r_read_done_fn)(void *arg, struct nfs4r_read *rd, bool local);
void nfs4r_read_async(struct nfs4r_engine *eng, struct nfs4r_read *rd, nfs4r_read_done_fn done, void *arg);

/* Serve any read from this server's copy (what the owner does for others). Blocks on the local disk only. */
enum nfs4r_status nfs4r_read_here(struct nfs4r_engine *eng, struct nfs4r_read *rd);

/*
 * The object that @name means in this server's copy of @dir, and its type, without its attributes: what nfs4r_read_here() of a
 * LOOKUP finds. NOENT, NOTDIR, INVAL, STALE, UNKNOWN. Memory, or a page of LMDB.
 */
enum nfs4r_status nfs4r_lookup_here(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, const char *name, struct nfs4r_oid *oid,
				    uint32_t *type);

/* Row of an object: version (change), ctime, mtime, nlink, type, parent are the volume's, whatever the local file system says. */
enum nfs4r_known nfs4r_row(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct nfs4r_row *row);
/*
 * Put the volume's values (version, ctime, mtime, nlink) over local attributes. Pure. Take the row before the local file system
 * is asked: a version that is newer than what comes with it would make a client believe old attributes for good.
 */
void nfs4r_row_overlay(const struct nfs4r_row *row, struct nfs4r_attrs *attrs);
/*
 * Is it the exported directory while another one that clients do not see may lie in it (staging_dir.c)? Then nfs4r_links_seen() says what its link count is
 * without that one: @nlink, or one less; one of 2 or less counts no directories. Ask before and after the local file system is, and keep nothing of what it
 * said if it was so once. The latter asks the local file system.
 */
bool nfs4r_may_hide(const struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
uint32_t nfs4r_links_seen(struct nfs4r_engine *eng, uint32_t nlink);
/* Local handle of an object; len 0 if it has none here (not yet, or dead). */
void nfs4r_handle(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct nfs4r_lhandle *out);
bool nfs4r_by_handle(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h, struct nfs4r_oid *oid);

/*
 * The local file system says that the object, which is known here, is not there: somebody changed the exported directory itself. True: answer DELAY, it comes back from another server
 * (docs/decisions/0027-changes-behind-nfs.md). May block on the local disk. The second: is that under way?
 */
bool nfs4r_is_gone_here(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
bool nfs4r_comes_back(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);

/*
 * The last bytes of a client's handle: a keyed check of the OID, so that only who was given a handle can name the object (log 6.13). The root's is 0 at all
 * times. NFS4R_OK; NFS4R_DELAY: the volume has no secret yet; NFS4R_INVAL of the second: it is not the right one. Neither blocks.
 */
#define NFS4R_HANDLE_CHECK 8 /* bytes */
enum nfs4r_status nfs4r_handle_check(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, uint8_t check[NFS4R_HANDLE_CHECK]);
enum nfs4r_status nfs4r_handle_verify(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, const uint8_t check[NFS4R_HANDLE_CHECK]);

/*
 * COMMIT (log 5.4): begin, sync the file locally, then nfs4r_commit() with what begin said: the log is durable up to what was there when it began. Meanwhile a thread
 * of the engine syncs the journal, and the others, if they are waited for, what they have. With 0, also without a begin, all is done then.
 */
uint64_t nfs4r_commit_begin(struct nfs4r_engine *eng, const struct nfs4r_oid *oid);
enum nfs4r_status nfs4r_commit(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, uint64_t begun);
/* NFSv4 write verifier of this server (log 5.3): changes whenever unstable data may have died behind it. */
uint64_t nfs4r_verifier(struct nfs4r_engine *eng);
/* A client used that name, and here it is that user: compared with what the other servers say of it. Any thread; does not block. */
void nfs4r_identity_used(struct nfs4r_engine *eng, const struct nfs4r_identity *id);
/*
 * The list of this server's clients, which all servers have (docs/protocol/locks.md, rule 7): @id is the client's half of its lock owners, @name and @address are for people, @minor is its version
 * of NFSv4. begins: before the client gets its first lock. gone: before what it had is given up, since its lease has ended; also of those that a start finds and that did not come back.
 * Both may be said again at any time. They block until a majority of the servers has it on its disks, at most about op_wait_ms; any thread of the caller's clients.
 *
 * NFS4R_OK: it is held. NFS4R_DELAY: not now; ask again before going on. NFS4R_NOTSUPP: the volume has no locks that hold at all sites (yet). NFS4R_NAMETOOLONG: @name has more than
 * NFS4R_CLIENT_NAME_MAX bytes, or @address more than NFS4R_CLIENT_ADDRESS_MAX. NFS4R_INVAL: @id is zero. NFS4R_NOLCK: this server has NFS4R_CLIENTS_MAX clients already. NFS4R_NOMEM.
 */
enum nfs4r_status nfs4r_client_begins(struct nfs4r_engine *eng, const uint64_t id[2], const char *name, const char *address, uint32_t minor);
enum nfs4r_status nfs4r_client_gone(struct nfs4r_engine *eng, const uint64_t id[2]);
/*
 * A client has asked for all locks that it wants back, or has nothing to ask for. It was in the list when this server started, or at a fence (lops.h). What it had besides is given up everywhere. To be
 * said within lock_grace_ms of that, else the volume takes the client for gone. May be said again, and of any client; any thread, does not block.
 */
void nfs4r_client_reclaimed(struct nfs4r_engine *eng, const uint64_t id[2]);
/* All that clients of this server had before locks held at all servers has been asked for (lops.h, locks_shared). Any thread, does not block. */
void nfs4r_locks_known(struct nfs4r_engine *eng);
/* May this server answer its clients now: it has recovered, and has a lease? Any thread, takes no lock. */
bool nfs4r_serves(struct nfs4r_engine *eng);
void nfs4r_fence_over(struct nfs4r_engine *eng, uint32_t number); /* every client of before is cut off. Any thread, does not block */
/* The list of @server as this server has it, in no order, and how long it is. @fn is called under the lock of the core: it must not call the engine; returning false ends it. Does not wait for others. */
void nfs4r_clients(struct nfs4r_engine *eng, nfs4r_server_id server, bool (*fn)(void *arg, const struct nfs4r_client_entry *k), void *arg);
uint32_t nfs4r_clients_count(struct nfs4r_engine *eng, nfs4r_server_id server);
void nfs4r_root(struct nfs4r_engine *eng, struct nfs4r_oid *out);
nfs4r_server_id nfs4r_self(struct nfs4r_engine *eng);

#endif
