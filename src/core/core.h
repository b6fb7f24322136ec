/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The protocol state machine of one volume at one server: control, ancestry,
 * election, forwarding, log order, positions (rules: docs/protocol/; paper:
 * NFSv4.r sections 2.1 and 2.2).
 *
 * Contract with whoever drives it (the engine, a test, the simulator):
 *
 *  1. No I/O, no clock, no threads in here. The caller serialises all calls.
 *     The time is an input of every step and never runs backwards.
 *  2. nfs4r_core_step() takes one event and returns an update: a list of actions,
 *     to be carried out in that order. The update belongs to the core and is
 *     valid until the next call on this core; what its actions point to has the
 *     lifetimes that are written above enum nfs4r_action_type.
 *  3. PUT changes the core's stable key-value rows. The caller appends it
 *     to its journal at once. An action with `durable` set must not become
 *     visible to anybody before everything put, deleted or committed up to and
 *     including this update is on stable storage; the caller may go on with other
 *     steps meanwhile. Order among durable actions is kept.
 *  4. Facts about objects come from the tree port. The tree changes only inside
 *     tree->commit(), which the core calls from within step(): the change of the
 *     tree, the positions and the core's rows for one entry are one transaction.
 *  5. After a crash: create, restore() every row and entry that the journal holds, started().
 *
 * Bytes from peers never trip an assert: a message that makes no sense is counted
 * and dropped. Asserts guard the caller's and the core's own mistakes.
 */
#ifndef NFS4R_CORE_CORE_H
#define NFS4R_CORE_CORE_H

#include <assert.h>

#include "base/limits.h"
#include "base/msg.h"
#include "base/tree.h"

#define NFS4R_CORE_TEXT 400 /* bytes of a sentence for the log or for status; names, paths and addresses are not in it */

struct nfs4r_core;

/* ---- tree port ------------------------------------------------------- */

struct nfs4r_tree {
	void *ctx;
	void (*facts)(void *ctx, const struct nfs4r_oid *oid, struct nfs4r_facts *out);
	/* Child of a directory: true and *child, or false when there is no such name. */
	bool (*lookup)(void *ctx, const struct nfs4r_oid *dir, const struct nfs4r_name *name, struct nfs4r_oid *child);
	/* Parents of a multi-link file; returns how many there are, fills at most @max. */
	uint32_t (*parents)(void *ctx, const struct nfs4r_oid *oid, struct nfs4r_oid *out, uint32_t max);
	/*
	 * Make @entry part of the tree (rows, names, versions, parents) and of the log it
	 * belongs to, together with @puts, in one atomic record. Parts whose object already has version >= after
	 * (or is dead) are skipped by the tree. Cannot fail: what can fail (local execution) happened before.
	 * @own: executed here (else applied from a peer's log).
	 */
	void (*commit)(void *ctx, struct nfs4r_entry *entry, bool own, const struct nfs4r_put *puts, uint32_t nputs);
	/* New OID for an object created here. Never repeats, also over restarts. */
	void (*oid_watermark)(void *ctx, struct nfs4r_oid *out);
	/*
	 * How far the own journal is on stable storage, counted in all that was ever appended to it: no crash takes that away, and whatever waited for the
	 * disk lies before it (log 8.6).
	 */
	uint64_t (*synced)(void *ctx);
	/*
	 * The list of the newest LOCKS entry of @oid that is committed here (locks 6), in the order of the entry; returns how many there are, at most
	 * NFS4R_LOCKS_LIST_MAX, and fills at most @max. May be NULL in a volume of a protocol before NFS4R_PROTOCOL_LOCKS.
	 */
	uint32_t (*locks)(void *ctx, const struct nfs4r_oid *oid, struct nfs4r_file_lock *out, uint32_t max);
	/* The next file, in the order of OIDs, whose list is not empty; all 0: the first one. False: there is none. @after and @out may be the same. May be NULL as `locks` may. */
	bool (*next_locked)(void *ctx, const struct nfs4r_oid *after, struct nfs4r_oid *out);
};

/* ---- configuration --------------------------------------------------- */

enum nfs4r_directory_reads { /* configuration values; the core only carries the choice into the first view (log 6.17) */
	NFS4R_DIRECTORY_READS_STRICT = 1,
	NFS4R_DIRECTORY_READS_LOCAL = 2
};

enum nfs4r_durability { /* log 5.1; configuration values */
	NFS4R_DURABILITY_LOCAL = 1, /* reply after local execution; what a dead primary controls waits for it, or for give-up */
	NFS4R_DURABILITY_COMMIT = 2, /* COMMIT, stable WRITE, rename and link are held by a majority when they are answered */
	NFS4R_DURABILITY_MAJORITY = 3, /* every update is */
};

struct nfs4r_core_config { /* defaults of what has a key: base/config.def */
	nfs4r_server_id self;
	nfs4r_servers servers; /* all configured, self included; fixed view = all of them */
	struct nfs4r_oid root;
	uint64_t inc; /* this start's incarnation: counter, and a random number, since a store restored from a backup counts up again (log 2.1) */
	uint64_t inc_random;
	uint8_t secret[NFS4R_SECRET]; /* random: becomes the volume's if that has none yet and this server makes the view that gives it one (log 6.13);
				  * all 0: the volume needs none, and this server makes none */
	uint64_t journal_end; /* where the own journal ended when this start found it, or any before it since a core was started with it. Who was told
				  * that more is on stable storage heard that of a disk which is not this one any more (log 8.6) */
	bool tail_intact; /* every record this server ever appended is there (process crash or clean stop).
				  * false (machine crash): updates and reads of own controls wait until all peers
				  * told their position in our log and the tail is pulled (log 4.7) */
	bool doubts; /* only with tail_intact false: recovery does not end before EV_SETTLED (log 4.6) */
	/* times, all in ms of the `now_ms` given to step() */
	uint32_t repeat_ms; /* PROPOSE, RELEASE, FORWARD are sent again to whoever has not answered */
	uint32_t op_wait_ms; /* longest wait of an operation for control, then DELAY */
	uint32_t reply_wait_ms; /* executed, waiting for control 5.2/5.3: a log line (STUCK action) after this; the answer itself is held
				  * until the condition holds, since DELAY for an executed non-idempotent operation would be a lie; default 5000 */
	uint32_t idle_ms; /* an unused shallow claim starts closing (control 7.1) */
	uint32_t revoke_ms; /* a claim stays so long after a revoke that came with a forward, or while pending operations use it, and a
				  * deep one after one for a single object (control 7.5); 0 = at once */
	uint32_t turn_ms; /* so long, and for forty round trips at least, use keeps what others ask for all the time (control 7.5);
				  * 0 = for ever */
	uint32_t holdoff_ms; /* after a release that was forced (control 7.6); 0 = two round trips to the farthest server as measured by
				  * elections, 20 to 1000 ms; default 0 */
	uint32_t read_ms; /* control of a directory ends so long, or a sixth of a round trip, after its last use if another server reads by it (control 7.11); 0 = never */
	uint32_t announce_ms; /* so long after the control of a file began to close the others hear that copies may be read (control 7.10): an update
				  * that comes later has to wait; 0 = never, the same on all starts of a server */
	/* Policy of hierarchical control (control 4.1, 7.4, 7.8, 7.9; paper 2.2). When to ask for more or less: any moment is safe. */
	bool deep; /* ask for deep control where shallow would do. New directories come with deep control either way */
	uint32_t deep_ms; /* deep control ends so long after the last directory update below it, deep+ after the last update of an old file
				  * below it */
	uint32_t escalate_count; /* elections paid in different places below a directory within escalate_ms that make this server ask for
				  * deep control of it (control 7.4); 0 = never */
	uint32_t escalate_ms; /* default 10000 */
	uint32_t deep_plus_count; /* updates of different old files below a directory within a second that make this server ask for
				  * deep+ of it (control 7.8); 0 = never */
	uint32_t contested_ms; /* after a deep control was refused, or revoked for something below it, no deep control of that directory is
				  * asked for where shallow would do */
	uint32_t share_reads; /* READs served for others from deep control of what is not being updated here, until it is narrowed or
				  * dropped (control 7.4, 7.9); 0 = never */
	/* Views (log 6). These count until a view says what the volume has (log 6.17); `round_trip_ms` and `directory_reads` are only carried there. */
	uint32_t round_trip_ms; /* the longest normal round trip between two servers */
	enum nfs4r_directory_reads directory_reads;
	uint32_t lease_ms; /* how long a grant lets a server go on (T_S); 0 = the view is fixed, no leases */
	uint32_t silence_ms; /* a member that is not heard for so long is removed; at least half of lease_ms */
	enum nfs4r_durability durability; /* what an answer promises (log 5.1) */
	uint64_t abandon_ms; /* local: a server that is outside for so long is given up without being asked (log 9.2); 0 = never */
	uint32_t drift_permille; /* bound on how much faster or slower than real time a server's clock runs; at most 500 */
	/* windows for distribution, per peer */
	uint32_t window_entries; /* sent and not yet received; default 4096 */
	uint64_t window_bytes; /* payload bytes sent and not yet received */
	struct nfs4r_versions protocol, disk_format; /* that this program knows (log 6.16); 0: those of this release */
	/* Byte-range locks, of a volume with protocol NFS4R_PROTOCOL_LOCKS or later */
	uint32_t lock_max; /* ranges and waiters that this server knows as an authority, and as many that its clients have; default 1000000 */
	uint32_t lock_reserve_ms; /* a lock that its waiting client does not fetch for so long goes to the next one; default 5000; 0 = never */
	bool locks_apart; /* each server has the locks of its own clients, whatever the volume has: what is rehearsed is another thing (base/version.h) */
	bool locks_before; /* EV_LOCKS_KNOWN comes when the volume has got protocol NFS4R_PROTOCOL_LOCKS; false: clients of this server had nothing before (locks 21) */
	uint32_t lock_grace_ms; /* after a start, so long this server's clients may ask for their locks again (locks 8); default 70000, longer than the lease of an NFS client */
	uint64_t peer_inc; /* of this server: what others hear as `peer_inc` of their EV_PEER_UP from it (locks 5) */
	uint32_t fault; /* only in the faulty test build: number of the rule that is switched off, 0 = none */
};

/* Fill in the defaults for everything but self, servers, root, inc. */
void nfs4r_core_config_init(struct nfs4r_core_config *c);

/* ---- events ---------------------------------------------------------- */

enum nfs4r_event_type {
	NFS4R_EV_TICK = 1, /* nothing but time; due at or after next_timer */
	NFS4R_EV_MSG = 2, /* from, msg. The core takes over msg->op of FORWARD, and references of entries; the rest is the caller's.
				 * (It leaves msg->op NULL and entries.n 0, so nfs4r_msg_fini() frees just the rest.)
				 * READ, READ_ANSWER, VERIFY do not come here: see nfs4r_core_may_serve() */
	NFS4R_EV_PEER_UP = 3, /* peer, peer_inc: a new connection to the peer stands; unanswered messages are sent again,
				 * a new peer_inc forgets what the peer had reported */
	NFS4R_EV_PEER_DOWN = 4,
	NFS4R_EV_OP = 5, /* op: a new operation of a local client. The op stays the caller's, but must live until DONE */
	NFS4R_EV_OP_LOCKED = 6, /* op, status: the caller holds the update locks of the objects named by EXECUTE: resolve again, take versions.
				 * status not OK: the caller of the update may not do that (control 6.10); it ends with this status, unless coverage or names have moved */
	NFS4R_EV_OP_EXECUTED = 7, /* op, ok, entry: local execution is over, entry filled in (attrs, times, cookies, handle).
				 * ok = false: it failed with op->status, nothing changed (void).
				 * op = NULL: an entry given to restore_intent(), decided by evidence after a crash (log 4.5) */
	NFS4R_EV_OP_CANCEL = 8, /* op: the caller no longer waits; only before EXECUTE was given. DONE(DELAY) follows in this update,
				 * unless it was forwarded meanwhile: then nothing happens, since it may have been executed. A lock operation ends with DONE(DELAY) always: what
				 * comes of a LOCK that was forwarded is for the client's next one, or is given back after `lock_reserve_ms` */
	NFS4R_EV_APPLIED = 9, /* entry: local execution of APPLY is over; the core commits it now. ok = false: it failed with `status`, perhaps
				 * after a part of it was done. APPLY comes again in a second; after half a lease this server withdraws (log 6.12) */
	NFS4R_EV_STABLE = 10, /* stable[]: a checkpoint covers these positions (own log included), index = server id */
	NFS4R_EV_OPENED = 11, /* oid: one more open for writing here */
	NFS4R_EV_CLOSED = 12, /* oid: one fewer; the last close lets control of the file end (control 7.1) */
	NFS4R_EV_ABANDON = 13, /* peer: an administrator gives up what only this server, which is outside the view, has (log 9.2): its log is sealed
				 * at the longest copy. Nothing happens if it is a member or sealed already: ask nfs4r_core_may_abandon() first */
	NFS4R_EV_LEAVE = 26, /* this server is going to be stopped: from now on nothing begins here, and it lets go of what it controls (control 7.12).
				 * Ask nfs4r_core_leave() after each step. There is no way back */
	NFS4R_EV_AWAIT_QUORUM = 14, /* hold, oid: HELD follows when the newest own entry of oid is held (log 5.1), maybe in this update */
	NFS4R_EV_CLIENT = 34, /* wait_id, client, ok: a client of this server begins, before it gets its first lock (in this start, and since FENCE: it may have been given up meanwhile); not ok: it is gone, before its locks are given up (only `id` counts). CLIENT
			      * follows, maybe in this update */
	NFS4R_EV_OBJECTS_FUZZY = 20, /* left[], during a REPAIR without `oids`: before anything of these objects, which are inexact at the source, changes here */
	NFS4R_EV_COPY_NEWER = 24, /* left[], oid, log and lsn: before anything of these objects changes here, whose content is taken from a copy that is newer by this entry (log 4.6) */
	NFS4R_EV_DOUBT_CLEARED = 16, /* nothing of this copy is in doubt any more (config: doubts) */
	NFS4R_EV_TROUBLE = 30, /* status: what is in doubt cannot be written here for that reason, so no entry is applied: this server withdraws (log 6.12) until SETTLED */
	/* Servers (log 9.1, 9.3): kept in memory until done or refused. Ask nfs4r_core_may_...() first, in the same breath */
	NFS4R_EV_ADD_SERVER = 17, /* peer, nall, all: it becomes one of the volume. `all`: addresses of all servers, it included, ascending id;
				      * those of the others matter only if the view has none yet */
	NFS4R_EV_REMOVE_SERVER = 18, /* peer, abandon: it is taken out */
	NFS4R_EV_SERVER_KEYS = 31, /* peer, nall, all: `all` as for ADD_SERVER; the others know the server by the keys that it has there (log 6.18) */
	NFS4R_EV_RECONFIGURE = 19, /* set: a majority is lost for good; these are all, the others are off for ever. Said at each of them, and kept over a
				      * restart; said again with another set it counts instead. 0: it is taken back */
	NFS4R_EV_FINISH_UPGRADE = 32, /* the volume's protocol and disk format become the highest that all servers know (log 6.16). Ask nfs4r_core_may_finish_upgrade() first */
	NFS4R_EV_SET = 33, /* key, value: the volume gets it (log 6.17). Ask nfs4r_core_may_set() first */
	NFS4R_EV_REPAIRED = 15, /* ok: what REPAIR asked for is done and in the journal; false: it could not be, REPAIR comes again later, perhaps
				 * with another source. After a REPAIR with `all`: stable[] = the positions that every log has now */
	NFS4R_EV_ACCEPTED = 22, /* num: answer to the action ACCEPTED */
	NFS4R_EV_SYNCED = 23, /* num: answer to the action SYNC */
	NFS4R_EV_LOCKS_KNOWN = 36, /* all locks and opens that clients of this server had before they held at all servers have been asked for, as reclaims (locks 21) */
	NFS4R_EV_CLIENT_RECLAIMED = 35, /* client (only `id` counts): a client of this server has asked for all locks that it wants back, after a start or FENCE, or has nothing to ask for. What
					 * it had before and has not asked for is given up everywhere (locks 12). No answer. One that has asked for nothing again is gone `lock_grace_ms` after the
					 * start, or FENCE; one that has asked is waited for, until it says this or is gone (CLIENT) */
	NFS4R_EV_OWNER_VERSION = 25, /* peer, oid, version: an owner said in READ_ANSWER that it has the object in this version. Before a client gets that answer, and
				 * needed only when the own copy is older (control 6.9). version 0: it said NOT_PRIMARY */
	NFS4R_EV_SPACE = 27, /* space, limits, remarks, stable[]: the room that this server has (log 4.12), measured after it had applied every log up to stable[],
				 * the own one included; now and then, the first time soon after the start. Without it nothing is refused here */
	NFS4R_EV_BEYOND = 21, /* stable[]: entries up to here are kept beyond the bound (log 3.12). They go (TRUNCATE) when all members have them */
};

struct nfs4r_event {
	uint32_t type;
	uint64_t now_ms; /* monotonic */
	nfs4r_server_id peer; /* MSG, PEER_*, GIVE_UP, ADD_SERVER, REMOVE_SERVER */
	uint64_t peer_inc;
	struct nfs4r_msg *msg;
	struct nfs4r_op *op;
	struct nfs4r_entry *entry;
	enum nfs4r_volume_key key; /* SET */
	uint32_t value; /* SET */
	bool abandon; /* REMOVE_SERVER: what only it has may be lost */
	nfs4r_servers set; /* RECONFIGURE */
	uint32_t nall;
	const struct nfs4r_address *all; /* of ADD_SERVER, SERVER_KEYS: copied within the step */
	bool ok;
	enum nfs4r_status status; /* APPLIED, not ok; TROUBLE; OP_LOCKED */
	bool changed; /* OP_EXECUTED of a WRITE, not ok: bytes may have changed all the same. The entry stays and means what is there now */
	struct nfs4r_oid oid;
	uint64_t wait_id; /* HOLD, CLIENT: the caller's number */
	const struct nfs4r_client *client; /* CLIENT, CLIENT_RECLAIMED */
	uint64_t num; /* ACCEPTED, SYNCED: of the action */
	nfs4r_version version; /* TOLD */
	const struct nfs4r_space *space; /* SPACE */
	const struct nfs4r_limits *limits; /* SPACE */
	const struct nfs4r_remarks *remarks; /* SPACE; NULL: none */
	nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1]; /* STABLE; REPAIRED after `all`; BEYOND; SPACE */
	uint32_t nleft; /* REPAIRED: what the source has inexact, too (log 7.5). After a REPAIR with `oids` it was left as it is, as was what is */
	uint32_t nclients; /* REPAIRED, not of a list: the clients of all servers as the source has them */
	const struct nfs4r_client_entry *clients;
	const struct nfs4r_fuzzy_object *left; /* `later`, else taken all the same; LEFT, NEWER */
};

/*
 * Is a copy of an object what its version says (log 3.6, 7.5)? LATER: when an entry that is still to come has come. INEXACT: its bytes may be those of
 * an update that never was.
 */
enum nfs4r_exactness {
	NFS4R_EXACT = 1,
	NFS4R_EXACT_LATER = 2,
	NFS4R_INEXACT = 3
};

struct nfs4r_fuzzy_object { /* an object that is inexact */
	struct nfs4r_oid oid;
	bool later; /* it is exact at the source, in another version than here. Nothing else is said then */
	bool kept; /* the bytes here were exact for longer and stay, under the row of the source */
	nfs4r_version exact; /* it was, at this version */
	nfs4r_server_id log; /* that update */
	nfs4r_lsn lsn;
};

/* ---- actions --------------------------------------------------------- */

/*
 * An action is a tagged union: its type says which member of the union counts, and each member is described at its struct below. Read a member
 * by its accessor, nfs4r_act_send(a) for SEND: that asserts the type. Lifetimes:
 *
 *  - An action, and all that it points to, is the core's until the next call on the core, but for the following. A caller that carries a durable
 *    action out later copies it. Only SEND then needs more than the struct: a copy of the message.
 *  - An operation of a local client is the caller's at all times.
 *  - An operation of another server is the core's. EXECUTE lends it to the caller until OP_EXECUTED or RETRY, and DROP gives it away for good.
 *  - STARTED and APPLY give the caller one reference to their entry.
 *
 * LSNs are positions in a log. Servers are ids from 1 on.
 */
enum nfs4r_action_type {
	NFS4R_ACT_PUT = 1,
	NFS4R_ACT_SEND = 2,
	NFS4R_ACT_SEND_ENTRIES = 3,
	NFS4R_ACT_EXECUTE = 4,
	NFS4R_ACT_STARTED = 5,
	NFS4R_ACT_RETRY = 6,
	NFS4R_ACT_DONE = 7,
	NFS4R_ACT_APPLY = 8,
	NFS4R_ACT_CONTROL = 9,
	NFS4R_ACT_TRUNCATE = 10,
	NFS4R_ACT_CHECKPOINT = 11,
	NFS4R_ACT_STUCK = 12,
	NFS4R_ACT_HALT = 13,
	NFS4R_ACT_RECOVERED = 14, /* no member. The tail of the own log is here; serve */
	NFS4R_ACT_DROP = 15,
	NFS4R_ACT_SEALED = 16,
	NFS4R_ACT_REPAIR = 17,
	NFS4R_ACT_QUORUM_DURABLE = 18,
	NFS4R_ACT_SERVERS = 19, /* no member. The servers of the adopted view, or their addresses or keys, are others now (nfs4r_core_get_view()). Also in the update of
				 * started(), if that view has addresses. It comes behind the messages of the step that go to who was taken out */
	NFS4R_ACT_ACCEPTED = 20,
	NFS4R_ACT_SYNC = 21,
	NFS4R_ACT_MONOTONIC_READ = 22,
	NFS4R_ACT_RECHECK_READS = 23,
	NFS4R_ACT_LOCK_READY = 24,
	NFS4R_ACT_LOCK_AGAIN = 25,
	NFS4R_ACT_CLIENT = 26,
	NFS4R_ACT_FENCE = 27,
};

/* PUT: append the row, or its deletion, to the journal. Never durable itself. */
struct nfs4r_act_put {
	const struct nfs4r_put *put;
};

/*
 * SEND, may be durable: a small message for the control lane; copy or encode it before the next step. FORWARD and FORWARD_ANSWER carry payload and go
 * on the bulk lane. The operation in a FORWARD_ANSWER is there until its DROP.
 */
struct nfs4r_act_send {
	nfs4r_server_id to;
	const struct nfs4r_msg *msg;
};

/* SEND_ENTRIES: entries from..until, inclusive, of a log, to a server. Their bytes are in memory or are read back. Bulk lane. */
struct nfs4r_act_send_entries {
	nfs4r_server_id to, log;
	nfs4r_lsn from, until;
};

struct nfs4r_act_lock {
	struct nfs4r_oid oid;
	bool whole; /* false: only bytes off..off+len of a file, other ranges may go on */
	uint64_t off, len;
};

/*
 * EXECUTE, may be durable: lock these objects, which ascend by OID, then EV_OP_LOCKED. Pins the claims until EXECUTED or RETRY.
 * `remote`: the operation came by FORWARD, use an executor of the engine.
 */
struct nfs4r_act_execute {
	struct nfs4r_op *op;
	bool remote;
	uint32_t nlocks;
	struct nfs4r_act_lock locks[NFS4R_PARTS_MAX];
};

/*
 * STARTED: answer to OP_LOCKED: coverage and names hold. The entry has its LSN, versions, names, joined claim, and the OID of a new object, which is in
 * op->result, too. The caller gets one reference to the entry. Journal INTENT, execute, then EV_OP_EXECUTED.
 */
struct nfs4r_act_started {
	struct nfs4r_op *op;
	struct nfs4r_entry *entry;
};

/*
 * RETRY: answer to OP_LOCKED: something moved; drop the locks. Another EXECUTE or DONE follows, maybe in this update.
 * DONE: a local operation is finished, op->status and results are set. The core forgets it.
 * DROP: a remote operation is finished: the caller frees it (nfs4r_op_fini, free). Exactly one for each operation that came by FORWARD, after its
 * FORWARD_ANSWER if it has one: encode or copy that one before.
 */
struct nfs4r_act_op {
	struct nfs4r_op *op;
};

/* APPLY: execute the entry locally, then EV_APPLIED. The caller gets one reference. Entries without a common object may come in any number at once. */
struct nfs4r_act_apply {
	struct nfs4r_entry *entry;
	uint32_t mask; /* a bit for each part whose version matches: execute these */
	uint32_t tries; /* how often it has failed already */
	bool aside; /* make the new object, or put the one that is moved, in the hidden directory; a later entry removes it or moves it */
};

/* CONTROL: the control table changed; for fast-path indexes. */
struct nfs4r_act_control {
	struct nfs4r_oid oid;
	nfs4r_server_id owner;
	bool added; /* false: it is gone */
	uint32_t depth; /* enum nfs4r_depth */
};

/* TOLD: the object is read at `owner` (nfs4r_core_route_read()), or not any more; for fast-path indexes, like CONTROL. */
struct nfs4r_act_monotonic_read {
	struct nfs4r_oid oid;
	nfs4r_server_id owner;
	bool added;
};

/* READS_HERE: what is asked of this server may be read here by now (control 7.10): nfs4r_core_route_read() again. */
struct nfs4r_act_recheck_reads {
	nfs4r_server_id owner;
};

/*
 * Of a LOCK of a client of this server that was answered with BLOCKED; `lock` is as it was asked for, `n` is op->lock.n of it.
 * LOCK_READY: it is the client's now, and nobody else's: tell the client to ask again, until it does. The same LOCK is then answered with OK in the same step.
 * LOCK_AGAIN: with NFS4R_LOCK_QUEUE: after `lock_reserve_ms` without that the lock was given back. The request waits again, and the core does all for it; LOCK_READY follows.
 * With NFS4R_LOCK_POLL: the lock was free a moment ago, the client may ask again; the request is forgotten, and needs no UNWAIT.
 */
struct nfs4r_act_lock_note {
	struct nfs4r_oid oid;
	struct nfs4r_lock lock;
	uint64_t n;
};

/*
 * TRUNCATE: entries up to `until` will never be asked for again.
 * SEALED: this copy has the log up to its seal at `until`, and no further: journal it. Entries of that generation beyond it go; applied is
 * NFS4R_AFTER_SEAL(until), stable becomes that with the next checkpoint (STABLE).
 */
struct nfs4r_act_log {
	nfs4r_server_id log;
	nfs4r_lsn until;
};

/* CHECKPOINT: somebody waits for `stable` (a release): checkpoint soon, not necessarily at once. */
struct nfs4r_act_checkpoint {
	bool hurry; /* an answer waits, too */
};

/*
 * STUCK: something waits too long; for the log. At most one per cause and minute.
 * HALT: this server can no longer vouch for its copy; stop serving. The text says why.
 */
struct nfs4r_act_text {
	const char *text; /* less than NFS4R_CORE_TEXT bytes */
};

/*
 * REPAIR: this copy is ahead of these seals (or, with `all`, cannot be trusted at all). Nothing is being executed or applied. Save what will be undone
 * under the conflicts directory, make every object that an entry beyond a seal touched equal to the copy of server `from` (NFS4R_RD_* with `copy`),
 * then EV_REPAIRED. With `all`: every object, and the positions of the logs become those that `from` had when it began: say them in REPAIRED.
 */
struct nfs4r_act_repair {
	nfs4r_server_id from;
	bool all;
	uint32_t nseals, noids;
	const struct nfs4r_seal *seals;
	const struct nfs4r_oid *oids; /* not none: just these, nothing was undone. What the source says to be inexact there, too (nfs4r_core_exactness()),
				       * or has in another version than is here, stays as it is and is `left` in REPAIRED */
};

/* HELD: the caller's number in EV_HOLD. */
struct nfs4r_act_quorum_durable {
	uint64_t wait_id;
};

/*
 * CLIENT: the answer to EV_CLIENT. OK: a majority holds it. DELAY: it cannot be said now, or the log ended before a majority had it; ask again. NOTSUPP: the volume has no protocol or disk
 * format of locks. INVAL: no id, or a text that is too long. NOLCK: this server has NFS4R_CLIENTS_MAX already.
 */
struct nfs4r_act_client {
	uint64_t wait_id;
	enum nfs4r_status status;
};

/*
 * FENCE: this server was outside the view, and its clients may have lost locks meanwhile (locks 14). What they have, or wait for, is forgotten here, as after a start. Each of them has to hear
 * that before anything else is answered to it. It asks for its locks again (LOCK with `reclaim`), and EV_CLIENT_RECLAIMED follows when it has. FENCE comes in the step in which this server may serve
 * again, before the first answer. Operations that wait end as they would have, but LOCKs with DELAY, and so does what was forwarded that changes the content of a file. `lost`: clients that had locks,
 * and are in the list of this server no more. They have lost all, begin anew (EV_CLIENT), and cannot reclaim. The others are in the list (nfs4r_core_each_client()).
 */
struct nfs4r_act_fence {
	uint32_t nlost;
	const uint64_t (*lost)[2];
};

/*
 * ACCEPTED, durable: then EV_ACCEPTED with the number. What this server accepted counts for itself only when it is on disk, too.
 * SYNC, durable: then EV_SYNCED with the number. An answer waits until a claim that was won is on disk (control 4.5).
 */
struct nfs4r_act_num {
	uint64_t num;
};

/* Type, member and struct of all that have a member. */
#define NFS4R_ACTIONS_EACH(ACTION)                                       \
	ACTION(PUT, put, nfs4r_act_put)                                  \
	ACTION(SEND, send, nfs4r_act_send)                               \
	ACTION(SEND_ENTRIES, send_entries, nfs4r_act_send_entries)       \
	ACTION(EXECUTE, execute, nfs4r_act_execute)                      \
	ACTION(STARTED, started, nfs4r_act_started)                      \
	ACTION(RETRY, retry, nfs4r_act_op)                               \
	ACTION(DONE, done, nfs4r_act_op)                                 \
	ACTION(APPLY, apply, nfs4r_act_apply)                            \
	ACTION(CONTROL, control, nfs4r_act_control)                      \
	ACTION(TRUNCATE, truncate, nfs4r_act_log)                        \
	ACTION(CHECKPOINT, checkpoint, nfs4r_act_checkpoint)             \
	ACTION(STUCK, stuck, nfs4r_act_text)                             \
	ACTION(HALT, halt, nfs4r_act_text)                               \
	ACTION(DROP, drop, nfs4r_act_op)                                 \
	ACTION(SEALED, sealed, nfs4r_act_log)                            \
	ACTION(REPAIR, repair, nfs4r_act_repair)                         \
	ACTION(QUORUM_DURABLE, quorum_durable, nfs4r_act_quorum_durable) \
	ACTION(ACCEPTED, accepted, nfs4r_act_num)                        \
	ACTION(SYNC, sync, nfs4r_act_num)                                \
	ACTION(MONOTONIC_READ, monotonic_read, nfs4r_act_monotonic_read) \
	ACTION(RECHECK_READS, recheck_reads, nfs4r_act_recheck_reads)    \
	ACTION(LOCK_READY, lock_ready, nfs4r_act_lock_note)              \
	ACTION(LOCK_AGAIN, lock_again, nfs4r_act_lock_note)              \
	ACTION(CLIENT, client, nfs4r_act_client)                         \
	ACTION(FENCE, fence, nfs4r_act_fence)

struct nfs4r_action {
	enum nfs4r_action_type type;
	bool durable; /* see the contract above */
	union {
#define ACTION_MEMBER(TYPE, member, kind) struct kind member;
		NFS4R_ACTIONS_EACH(ACTION_MEMBER)
#undef ACTION_MEMBER
	};
};

/* The largest one is EXECUTE, whose locks are a part of it, so that a durable one can be copied as it is. Three cache lines hold any action. */
_Static_assert(sizeof(struct nfs4r_action) <= 192, "a large payload of an action is a pointer to memory of the core");

#define ACTION_ACCESSOR(TYPE, member, kind)                                               \
	static inline const struct kind *nfs4r_act_##member(const struct nfs4r_action *a) \
	{                                                                                 \
		assert(a->type == NFS4R_ACT_##TYPE);                                      \
		return &a->member;                                                        \
	}
NFS4R_ACTIONS_EACH(ACTION_ACCESSOR)
#undef ACTION_ACCESSOR

struct nfs4r_update {
	uint32_t n;
	const struct nfs4r_action *actions;
	uint64_t next_timer_ms; /* step(TICK) at the latest then; UINT64_MAX = no need */
};

/* ---- life ------------------------------------------------------------ */

/* NULL when out of memory or the configuration makes no sense. @tree is copied; its ctx must outlive the core. */
struct nfs4r_core *nfs4r_core_create(const struct nfs4r_core_config *cfg, const struct nfs4r_tree *tree);
/* Frees remote operations that wait in the core; those given out with EXECUTE and not yet EXECUTED are the caller's to free. */
void nfs4r_core_destroy(struct nfs4r_core *c);

/* Before started(): give back a row (as it was put). NFS4R_CORRUPT if it cannot be understood. */
enum nfs4r_status nfs4r_core_restore_row(struct nfs4r_core *c, const uint8_t *key, uint16_t key_len, const uint8_t *val, uint16_t val_len);
/* Before started(): positions of the logs; own log: applied = last LSN (DONE or VOID). base = first LSN still readable. */
enum nfs4r_status nfs4r_core_restore_log(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn base, nfs4r_lsn applied, nfs4r_lsn stable);
/* Before started(), after restore_log(): the newest entry of another server's log that is committed here though entries before it are not
 * (`applied` is the contiguous part). Not called: there is none. */
enum nfs4r_status nfs4r_core_restore_beyond(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn lsn);
/*
 * Before started(), after the rows and restore_log(): this copy had @oid in @version by entry @lsn of another server's log, and has it no more: that was committed behind a
 * hole (log 4.7). Clients may have read it (control 6.9).
 */
void nfs4r_core_restore_given_back(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn lsn, const struct nfs4r_oid *oid, nfs4r_version version);
/* Before started(): payload bytes of an own entry that is still kept, ascending LSN (for windows). */
enum nfs4r_status nfs4r_core_restore_entry(struct nfs4r_core *c, nfs4r_lsn lsn, uint64_t payload_bytes);
/* Before started(): an own entry that was begun (it has its LSN) and not decided, ascending LSN, following the last decided one.
 * After started() the caller decides each, in order, with EV_OP_EXECUTED (op = NULL). */
enum nfs4r_status nfs4r_core_restore_intent(struct nfs4r_core *c, struct nfs4r_entry *entry);
/* Recovery is complete: rebuild the ancestry table, apply control 4.9, say what has to be sent. */
const struct nfs4r_update *nfs4r_core_started(struct nfs4r_core *c, uint64_t now_ms);

const struct nfs4r_update *nfs4r_core_step(struct nfs4r_core *c, const struct nfs4r_event *ev);

/* ---- pure questions, valid between steps ------------------------------ */

/*
 * Until when (in ms of step()'s clock, exclusive) this server may answer from its own copy without another step: its lease
 * (log 6.7), 0 when it is outside the view or has not all rows yet, UINT64_MAX when there are no leases, or no other voter. Look at the clock at
 * the time of each answer's decision.
 */
uint64_t nfs4r_core_lease_until(const struct nfs4r_core *c);

/* The view that it goes by, and the newest one that it has accepted; until the next step. */
const struct nfs4r_view *nfs4r_core_adopted(const struct nfs4r_core *c);
const struct nfs4r_view *nfs4r_core_accepted(const struct nfs4r_core *c);

struct nfs4r_core_view { /* for people */
	struct nfs4r_view adopted, accepted;
	uint64_t promised;
	bool fixed; /* lease_ms = 0 */
	bool member, joining;
	bool repairing; /* REPAIR was given and is not done */
	bool gives; /* others may take its copy: that is whole, and it is a member, perhaps only of the view that it accepted last (log 6.5), and copies nothing itself */
	enum nfs4r_memory memory;
	nfs4r_servers unheard; /* memory NEW: who has to be heard first */
	nfs4r_servers abandoned; /* asked for by EV_GIVE_UP, not sealed yet */
	bool taken_out; /* this server is none of the adopted view's servers: it answers nothing, and never again as it is */
	bool has_address_table; /* `adopted` has addresses; before the start, too, when they are not in it yet */
	bool learner; /* it is one, and no voter yet */
	bool left; /* this server has given its lease back */
	enum nfs4r_status trouble; /* why it cannot apply an entry, for half a lease already (log 6.12); OK: it can */
	nfs4r_server_id trouble_log; /* that entry */
	nfs4r_lsn trouble_lsn;
	uint32_t failing; /* entries that failed when they were tried last */
	enum nfs4r_volume_key setting; /* asked for by EV_SET and not adopted yet; 0: none */
	bool finishing; /* asked for by EV_FINISH_UPGRADE and not adopted yet */
	nfs4r_server_id adding, removing; /* asked for by EV_ADD_SERVER, EV_REMOVE_SERVER and not adopted yet; 0: none */
	nfs4r_server_id rekeying; /* the same by EV_SERVER_KEYS */
	char waits[NFS4R_CORE_TEXT]; /* what that waits for; empty: nothing is asked for, or it is on its way */
	uint64_t reconf_epoch; /* EV_RECONFIGURE was said here, and no view came of it yet; 0: no */
	nfs4r_servers reconf_set;
	uint64_t lease_remaining_ms; /* 0: none */
	struct {
		bool known; /* a heartbeat came since start */
		uint64_t silent_ms; /* since the last one */
		uint64_t view; /* it adopted */
		bool caught_up, joining;
		bool left; /* it was stopped in order, or is about to end, and has given its lease back (log 6.11) */
		enum nfs4r_status trouble; /* as it said last: why it cannot apply an entry, or has halted; OK: neither */
		bool halted, halted_files; /* it has (log 4.15); because of the file system of its exported directory */
		bool unsure; /* it came back, and this server does not have its list yet: it may control less than is known here */
		enum nfs4r_memory memory; /* as it said last */
		uint64_t position; /* of its journal: the highest that is remembered of its newest start (log 8.6) */
		uint64_t reconf_epoch; /* as it said last */
		nfs4r_servers reconf_set;
	} peer[NFS4R_SERVERS_MAX + 1];
};
void nfs4r_core_get_view(const struct nfs4r_core *c, struct nfs4r_core_view *out);

/* May EV_GIVE_UP be asked of @s? NFS4R_OK, or INVAL + a text: it is a member, it is sealed already, this server is outside. @lost: entries that
 * @s had announced beyond what this server knows anybody else to have. */
enum nfs4r_status nfs4r_core_may_abandon(const struct nfs4r_core *c, nfs4r_server_id s, uint64_t *lost, char *why, size_t why_len);
/* Servers outside the view for which entries are kept here; and those that need what is gone already, as far as this server has heard of them since its start. */
void nfs4r_core_retained_for(const struct nfs4r_core *c, nfs4r_servers *retained_for, nfs4r_servers *late);
/*
 * May EV_ADD_SERVER, EV_REMOVE_SERVER, EV_RECONFIGURE be asked? NFS4R_OK, or INVAL + one sentence that says what to do instead.
 * may_remove(): @lost as for may_give_up(), 0 when nothing is lost.
 */
enum nfs4r_status nfs4r_core_may_add(const struct nfs4r_core *c, nfs4r_server_id s, char *why, size_t why_len);
enum nfs4r_status nfs4r_core_may_remove(const struct nfs4r_core *c, nfs4r_server_id s, bool abandon, uint64_t *lost, char *why, size_t why_len);
/*
 * May server @s be known by @keys, 1 or 2, and by no other from now on? Keys are added at any time. One goes only when all servers but @s know one that stays
 * (log 6.18); with @abandon the servers that are outside the view need not. DELAY: that is still to come, @why says who is missing.
 */
enum nfs4r_status nfs4r_core_may_set_keys(const struct nfs4r_core *c, nfs4r_server_id s, const struct nfs4r_key_fingerprint *keys, uint32_t n, bool abandon, char *why,
					  size_t why_len);
/* When all rows are restored: false: the volume has a protocol or disk format, @has, that this program does not know (log 6.16). It must not be started. */
bool nfs4r_core_knows_volume(const struct nfs4r_core *c, struct nfs4r_volume_settings *has);
/* As above, of EV_FINISH_UPGRADE. @to: what the volume will have. */
enum nfs4r_status nfs4r_core_may_finish_upgrade(const struct nfs4r_core *c, struct nfs4r_volume_settings *to, char *why, size_t why_len);
/* The same, of EV_SET. @value is in the range of the key. @to: what the volume will have; what it has, if it has that value already. */
enum nfs4r_status nfs4r_core_may_set(const struct nfs4r_core *c, enum nfs4r_volume_key key, uint32_t value, struct nfs4r_volume_settings *to, char *why, size_t why_len);
enum nfs4r_status nfs4r_core_may_reconfigure(const struct nfs4r_core *c, nfs4r_servers set, char *why, size_t why_len);
/* After EV_LEAVE: does anybody have to wait for the return of this server if it is stopped now (control 7.12)? */
enum nfs4r_leave {
	NFS4R_LEAVE_DONE = 1, /* it controls nothing, everybody knows that, nothing is under way, and it is no member any more, or no view can do without it */
	NFS4R_LEAVE_WAIT = 2, /* not yet */
	NFS4R_LEAVE_CANNOT = 3, /* it can let go of nothing now, nor tell whether it controls anything: it is no member, or has no lease, or, in a view that is fixed, a server is missing */
	NFS4R_LEAVE_LEASE_RETURNED = 4 /* as DONE, and it has given its lease back (log 6.11): the others make a view without it now; if it stops before that they may make it later */
};
enum nfs4r_leave nfs4r_core_leave(const struct nfs4r_core *c);
/* The loss window: own entries that are not held by a majority yet: how many, their payload bytes, age of the oldest in ms (0: none). */
void nfs4r_core_loss_window(const struct nfs4r_core *c, uint64_t *entries, uint64_t *bytes, uint64_t *age_ms);

/* Room and limits of the volume (log 4.12), as far as this server was told. */
struct nfs4r_core_least {
	uint64_t room; /* the smallest of all members, above its reserve, without own entries under way */
	uint64_t share; /* what this server may use of it before the next measurement */
	nfs4r_server_id server; /* whose it is; 0: nobody's has a bound, or none was told */
};

struct nfs4r_core_room {
	struct {
		bool known, limits_known, member;
		struct nfs4r_space space;
		struct nfs4r_limits limits;
		struct nfs4r_remarks remarks; /* what it said last; of this server: what was measured last */
		uint64_t under_way; /* bytes that own entries may take there which its measurement does not have */
	} of[NFS4R_SERVERS_MAX + 1];
	struct nfs4r_core_least bytes, inodes, store;
	struct nfs4r_limits limits; /* the smallest of all servers of the volume */
	nfs4r_server_id file_by, xattr_by, name_by, link_by, time_by, text_by; /* whose those are; 0: not known */
};
void nfs4r_core_get_room(const struct nfs4r_core *c, struct nfs4r_core_room *out);

/*
 * Where a read of @oid goes (control 6.1, 6.2): self = serve locally, else the owner to ask.
 * @is_dir: look-up, listing, attributes of a directory under Directory_Reads = strict.
 * @excluded: owners that answered NOT_PRIMARY for this request (control 6.3).
 * 0: unknown object, or this server is not ready: DELAY (control 6.5).
 */
nfs4r_server_id nfs4r_core_route_read(struct nfs4r_core *c, const struct nfs4r_oid *oid, bool is_dir, nfs4r_servers excluded);

/* Bytes start..last of a file that nfs4r_core_route_read() sends to another server: may @owner read them here? It has locked them, and this copy has all that was written under earlier locks (locks 23). */
bool nfs4r_core_may_read_locked(struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_lock_owner *owner, uint64_t start, uint64_t last);
/*
 * Bytes of an entry were read back from the file, to be sent: sets the entry's mark (log 3.6). @last: newest entry of the object in the tree, looked up
 * after the read, as is this. @await: what the mark names is being executed or was just now: the bytes may leave when it is committed
 * and in the journal for good, since else nobody might ever bring it. False: not now, ask again soon.
 */
bool nfs4r_core_fuzzy(const struct nfs4r_core *c, struct nfs4r_entry *e, nfs4r_server_id last_log, nfs4r_lsn last_lsn, bool *await);
/* How exact the copy of @oid is here. @out: unless it is EXACT, at which version it was, and what it waits for, or what never was. */
enum nfs4r_exactness nfs4r_core_exactness(const struct nfs4r_core *c, const struct nfs4r_oid *oid, struct nfs4r_fuzzy_object *out);
/*
 * Log 4.6: may @peer, whose machine crashed, take the copy of @oid here? It may if the copy is exact, or waits for nothing but entries of @peer's log that it has told since it started.
 */
bool nfs4r_core_is_sound_for(const struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_server_id peer);
/* Is an update of @oid being executed or applied here? Its bytes, names and attributes may then be newer than its version (log 7.5). */
bool nfs4r_core_moves(const struct nfs4r_core *c, const struct nfs4r_oid *oid);
/* Log 8.3: in a REPAIR without `oids`, do the bytes here stay although the object is inexact at the source, since theirs were exact until @exact only? */
bool nfs4r_core_keeps(const struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_version exact);
/* Entries of @log that are committed here, contiguously. */
nfs4r_lsn nfs4r_core_applied(const struct nfs4r_core *c, nfs4r_server_id log);

struct nfs4r_closed {
	nfs4r_lsn lsn; /* up to which entry of the owner's log the copy has to be; 0: see below */
	uint64_t inc; /* of the owner: after a start without its log's end it gives numbers again */
	nfs4r_version owner_version; /* the newest that it told of the object and that is not here (control 6.9); 0: none */
};
/*
 * Why does a read of the file @oid go to @owner? lsn 0: not only since closing claims that this start of it announced (control 7.10) wait for updates that are not here.
 */
struct nfs4r_closed nfs4r_core_closed_at(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_server_id owner);

/* As the owner: may this server answer a READ of @oid (control 6.3)? NFS4R_OK, NFS4R_NOT_PRIMARY, or NFS4R_DELAY while it cannot know yet
 * (tail of the own log missing, own entries undecided): NOT_PRIMARY would send the reader to its own old copy. */
enum nfs4r_status nfs4r_core_may_serve(struct nfs4r_core *c, const struct nfs4r_oid *oid);
/* A READ of @oid for another server was allowed by may_serve(): counted for the policy, which acts on it at the next step. true: let that
 * be soon, there is something to do or a new end of a timer (control 7.4, 7.11). */
bool nfs4r_core_served(struct nfs4r_core *c, const struct nfs4r_oid *oid);

/* The list of clients of @server (locks 7), as this server knows it: how many, whether one is in it, all of them (@fn returning false ends it). */
uint32_t nfs4r_core_clients(const struct nfs4r_core *c, nfs4r_server_id server);
/* Is one of this server's clients expected to ask for locks back: it was in the list before the start, or before FENCE, and has not said CLIENT_RECLAIMED since? */
bool nfs4r_core_client_reclaims(const struct nfs4r_core *c, const uint64_t id[2]);
bool nfs4r_core_has_client(const struct nfs4r_core *c, nfs4r_server_id server, const uint64_t id[2]);
/* The same with those that are gone, and with what counts for all of them (id 0): what a repair copies. */
uint32_t nfs4r_core_client_rows(const struct nfs4r_core *c, nfs4r_server_id server);
void nfs4r_core_each_client_row(const struct nfs4r_core *c, nfs4r_server_id server, bool (*fn)(void *arg, const struct nfs4r_client_entry *k), void *arg);
void nfs4r_core_each_client(const struct nfs4r_core *c, nfs4r_server_id server, bool (*fn)(void *arg, const struct nfs4r_client_entry *k), void *arg);

/* Latencies in ms of the core's clock: bucket[0] counts those below 1 ms, bucket[i] those below 2^i, the last one all others. */
#define NFS4R_CORE_BUCKETS 16
struct nfs4r_core_hist {
	uint64_t n, sum_ms, max_ms, bucket[NFS4R_CORE_BUCKETS];
};

struct nfs4r_core_stats {
	uint64_t elections; /* proposals: of operations, of old files (control 3.8), and of the policy (promotions, narrowing, deep+) */
	uint64_t elections_waited; /* those that an operation waited for */
	uint64_t proposals_deferred; /* came before what they are for was known, and were kept */
	uint64_t reopened; /* closings that were taken back (control 7.1) */
	uint64_t yielded; /* claims that ended sooner because others read by them, and elections that they would have saved (control 7.11) */
	uint64_t yield_regrets;
	uint64_t turns; /* claims that ended while they were used, since it was another server's turn (control 7.5) */
	uint64_t conflicts, aborts, revokes_sent, revokes_got, forwards_sent, forwards_served, not_primary, entries_executed,
		entries_applied, entries_passed, entries_void, releases, bad_messages, delays;
	uint64_t deep_asked, deep_refused; /* elections that asked deep where shallow would do; those of them that were lost */
	uint64_t escalations, escalations_lost; /* deep control asked for because of elections below (control 7.4); not granted */
	uint64_t raises, raises_lost, drops; /* deep+ asked for (control 7.8), not granted, ended (control 7.9) */
	uint64_t deescalations; /* deep controls that were replaced by control of what is used (control 7.4) */
	uint64_t reads_served; /* READs of others this server was asked for as the owner */
	uint64_t claims, controls_own, controls_foreign, ops_waiting, ops_executing, replies_cached, pending_entries;
	struct nfs4r_core_hist won; /* PROPOSE to win, operations and policy alike */
	struct nfs4r_core_hist acked_by_all; /* PROPOSE to acked by all */
	struct nfs4r_core_hist forward; /* FORWARD sent to its answer, NOT_PRIMARY included */
	struct nfs4r_core_hist reply; /* executed to answered; 0 when nothing had to be waited for */
	struct nfs4r_core_hist release; /* begin of closing to RELEASE sent */
};
void nfs4r_core_get_stats(const struct nfs4r_core *c, struct nfs4r_core_stats *out);

struct nfs4r_core_peer {
	nfs4r_lsn received, applied, stable; /* how far the peer has our log */
	nfs4r_lsn our_received, our_applied, our_stable, peer_end, peer_stable; /* how far we have the peer's log; its end, and what is stable there, as announced */
	uint64_t unreceived_bytes; /* payload of our entries the peer has not received */
	bool up;
};
bool nfs4r_core_get_peer(const struct nfs4r_core *c, nfs4r_server_id id, struct nfs4r_core_peer *out);
nfs4r_lsn nfs4r_core_own_end(const struct nfs4r_core *c);

/* One row of the control table, for nfs4rctl and checkers. */
struct nfs4r_control_info {
	nfs4r_server_id owner;
	struct nfs4r_pid pid;
	struct nfs4r_control control;
	uint32_t kind;
	bool won, acting, closing; /* acting, closing: own claims only */
	bool acked_by_all; /* own claims only */
	struct nfs4r_prio prio;
	uint32_t below[NFS4R_SERVERS_MAX + 1]; /* ancestry table at the object: controls strictly below it, by server */
	/* own claims only: */
	nfs4r_servers acks, confirmed; /* who acked; who confirmed the release */
	uint32_t waiting, executing; /* operations that count on it and wait; that are executing under it */
	int64_t ends_in_ms; /* timer: when it starts closing if nothing happens; < 0: it has no timer (proposing, closing) */
	nfs4r_lsn closes_at; /* closing: released when all hold our log stably up to here */
	nfs4r_server_id wanted_by; /* who sent the last revoke that counted; 0: nobody */
	uint64_t reads_served; /* READs of others answered under it; deep claims only */
	bool policy; /* asked for by the policy, no operation waits for it */
};
/* Calls @fn for every control in the table, own and others'; @fn returning false ends it. */
void nfs4r_core_each_control(const struct nfs4r_core *c, bool (*fn)(void *arg, const struct nfs4r_control_info *i), void *arg);

enum nfs4r_wait { /* what an operation waits for */
	NFS4R_WAIT_OBJECT = 1, /* an object that has not arrived, or recovery (control 6.5) */
	NFS4R_WAIT_ELECTION = 2, /* acks of its own proposals */
	NFS4R_WAIT_OTHERS = 3, /* others to let go (revoked), a hold-off, its turn */
	NFS4R_WAIT_PRIMARY = 4, /* the answer to its FORWARD, from `on` */
	NFS4R_WAIT_ENTRY = 5, /* answered by its primary; the entry to be applied here */
	NFS4R_WAIT_LOCAL = 6, /* locks, local execution, older entries of the same object */
	NFS4R_WAIT_REPLY = 7, /* executed: acks or positions of `on` (control 5.2, 5.3) */
};

struct nfs4r_waiting_info {
	uint32_t op; /* enum nfs4r_op_type */
	enum nfs4r_wait wait;
	bool remote; /* came by FORWARD, from `from` */
	nfs4r_server_id from;
	nfs4r_servers on; /* servers it waits for, as far as that is known */
	struct nfs4r_oid obj; /* the object updated, or the directory it is named in */
	struct nfs4r_name name; /* empty for an update of the object itself */
	uint64_t waited_ms;
	uint32_t attempts;
};
/* Calls @fn for every operation in the core, oldest first within each stage; @fn returning false ends it. */
void nfs4r_core_each_waiting(const struct nfs4r_core *c, bool (*fn)(void *arg, const struct nfs4r_waiting_info *i), void *arg);
/* Do locks hold at all sites: has the volume protocol NFS4R_PROTOCOL_LOCKS or later? Else lock operations end with NOTSUPP, and each server has its own. */
bool nfs4r_core_locks_shared(const struct nfs4r_core *c);

enum nfs4r_lock_place { /* as what this server knows a lock */
	NFS4R_LOCK_AS_AUTHORITY = 1, /* it may update the file: `state` is the truth about all servers' clients */
	NFS4R_LOCK_AS_HOLDER = 2, /* of its own clients: set, waiting, or reserved (it is ready, and not fetched) */
	NFS4R_LOCK_GIVEN_BACK = 3 /* of its own clients: an UNLOCK or UNWAIT that its authority has not confirmed; `state` is WAITING */
};

struct nfs4r_core_lock {
	enum nfs4r_lock_place place;
	struct nfs4r_oid oid;
	struct nfs4r_file_lock lock;
	enum nfs4r_lock_state state;
	uint64_t since_ms; /* on the clock of step() */
};
/* Calls @fn for every lock, by place and file; all files (@oid NULL), or one. @fn returning false ends it. What only the rows of files have (tree port, locks()) is not in it. */
void nfs4r_core_each_lock(const struct nfs4r_core *c, const struct nfs4r_oid *oid, bool (*fn)(void *arg, const struct nfs4r_core_lock *i), void *arg);

/* A file's share reservations, as this server knows them (locks 19). */
struct nfs4r_core_share {
	struct nfs4r_opens opens; /* of its own clients */
	uint32_t marks; /* guards that it has heard of: with any, every open of the file asks the authority */
	bool guards; /* it is the authority, and guards the file */
	bool returning; /* a close, or the like, that the authority has not confirmed */
};
void nfs4r_core_share(const struct nfs4r_core *c, const struct nfs4r_oid *oid, struct nfs4r_core_share *out);
/* How many files clients have open here, or are guarded; and how many this server guards. */
uint32_t nfs4r_core_count_shares(const struct nfs4r_core *c, uint32_t *guards);

/* Calls @fn for every file (@oid NULL), or one, of which an open denies others something, and server that has opens of it; as far as that is known here. @fn returning false ends it. */
struct nfs4r_core_deny {
	struct nfs4r_oid oid;
	nfs4r_server_id server; /* of the clients */
	struct nfs4r_opens opens;
	bool guards; /* this server is the authority: all servers with opens are named. Else it knows of its own clients only */
	uint64_t until_ms; /* > 0: what the clients of that server had before it started anew. It counts until then, on the clock of step() */
};
void nfs4r_core_each_deny(const struct nfs4r_core *c, const struct nfs4r_oid *oid, bool (*fn)(void *arg, const struct nfs4r_core_deny *i), void *arg);

/* A gap (locks 8): what a claim of this server covers, and of whose locks this server has no table. Nothing new is granted there. */
struct nfs4r_core_gap {
	const struct nfs4r_control *controls; /* valid during the call */
	uint32_t ncontrols;
	uint64_t since_ms; /* on the clock of step() */
	nfs4r_servers lists; /* whose lists of locks are awaited */
	nfs4r_servers clients; /* servers whose clients are awaited: they may ask for their locks back */
	const uint64_t *until_ms; /* by server: when its clients are not awaited any more; 0: that server knows */
};
/* Calls @fn for every gap, or every one that @oid is in. @fn returning false ends it. */
void nfs4r_core_each_gap(const struct nfs4r_core *c, const struct nfs4r_oid *oid, bool (*fn)(void *arg, const struct nfs4r_core_gap *i), void *arg);

enum nfs4r_lock_source { /* what this server knows of the locks of a file that it has in no gap */
	NFS4R_LOCKS_FROM_TABLE = 1, /* all of them: each_lock(), as authority */
	NFS4R_LOCKS_FROM_ROW = 2, /* all of them, if no other server controls the file: its row */
	NFS4R_LOCKS_UNKNOWN = 3 /* it is in a gap: its row is of the past */
};
enum nfs4r_lock_source nfs4r_core_lock_source(const struct nfs4r_core *c, const struct nfs4r_oid *oid);

struct nfs4r_lock_counts {
	uint32_t files, ranges, waiting; /* as authority */
	uint32_t own_ranges, own_waiting, own_ready; /* of this server's clients */
	uint32_t returning; /* GIVEN_BACK */
	uint32_t gaps; /* claims of this server */
	uint32_t noted; /* objects that are in a gap as this server knows, since the log of whoever controlled them has ended */
	uint64_t gap_since_ms; /* of the oldest gap, on the clock of step(); 0: none */
	uint32_t reclaiming; /* clients of this server that may ask for locks back which they had before its start, or before it was outside the view */
	uint64_t reclaim_until_ms; /* so long; 0: that is over, or has not begun, since this server does not serve */
	uint32_t denying; /* opens of this server's clients that deny others something */
	uint32_t guarded; /* files with such opens at any server, of which this one is the authority */
};
void nfs4r_core_count_locks(const struct nfs4r_core *c, struct nfs4r_lock_counts *out);
/* Ancestry table: count of @owner's controls strictly below @dir (section 8). */
uint32_t nfs4r_core_count_below(const struct nfs4r_core *c, const struct nfs4r_oid *dir, nfs4r_server_id owner);
/* Recount everything from the table and the tree and compare; false + text on a difference. For checkers; O(controls * depth). */
bool nfs4r_core_check(const struct nfs4r_core *c, char *why, size_t why_len);

#endif
