/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Messages between servers (control 2, log 6.2), decoded.
 * protocol/nfs4r.x is the same list as bytes. HELLO belongs to the transport
 * (src/rpc) and never reaches the core.
 */
#ifndef NFS4R_BASE_MSG_H
#define NFS4R_BASE_MSG_H

#include "base/entry.h"
#include "base/fingerprint.h"
#include "base/identity.h"
#include "base/op.h"
#include "base/space.h"
#include "base/version.h"

enum nfs4r_msg_type { /* wire values */
	NFS4R_MSG_PROPOSE = 1,
	NFS4R_MSG_ACK = 2,
	NFS4R_MSG_NACK = 3,
	NFS4R_MSG_RELEASE = 4,
	NFS4R_MSG_RELEASED = 5,
	NFS4R_MSG_REVOKE = 6,
	NFS4R_MSG_FORWARD = 7,
	NFS4R_MSG_FORWARD_ANSWER = 8,
	NFS4R_MSG_READ = 9,
	NFS4R_MSG_READ_ANSWER = 10,
	NFS4R_MSG_POSITIONS = 11, /* received, applied and stable of every log (control 2) */
	NFS4R_MSG_ENTRIES = 12,
	NFS4R_MSG_PULL = 13,
	NFS4R_MSG_VERIFY = 14, /* engine to engine: checksum of one object, for nfs4rctl verify */
	NFS4R_MSG_VERIFY_ANSWER = 15,
	/* the active view (log 6): to every server of the volume, member or not */
	NFS4R_MSG_HEARTBEAT = 16,
	NFS4R_MSG_GRANT = 17,
	NFS4R_MSG_PREPARE = 18,
	NFS4R_MSG_PROMISE = 19,
	NFS4R_MSG_ACCEPT = 20,
	NFS4R_MSG_ACCEPTED = 21,
	NFS4R_MSG_VIEW = 22,
	NFS4R_MSG_JOIN = 23, /* a new member to the others: your controls, from `offset` on */
	NFS4R_MSG_JOINROWS = 24, /* some of them */
	NFS4R_MSG_JOINED = 25, /* a new member to the others: I have all rows, and all logs as far as you had them */
	NFS4R_MSG_CLOSING = 26, /* the sender makes no more updates under these controls of files; copies that have its log up to there may be read (control 7.10) */
	NFS4R_MSG_SPACE = 27, /* what the sender has room for, and what its file system can hold (log 4.12) */
	NFS4R_MSG_HALTED = 28, /* the sender's disk takes nothing any more: it says nothing else in this start (log 4.15) */
	NFS4R_MSG_IDENTITIES = 29, /* engine to engine: which users the names of Kerberos are at the sender, of its clients that used them */
	/* byte-range locks (locks 1 to 20), from protocol NFS4R_PROTOCOL_LOCKS on */
	NFS4R_MSG_LOCK_READY = 30, /* an authority to the server of a client that waited: the lock is that client's now (locks 17) */
	NFS4R_MSG_REQUEUE = 31, /* the same: this request does not wait here any more, ask anew (locks 20) */
	NFS4R_MSG_LOCKS_OF = 32, /* an authority that has a gap to every member: which locks do your clients have? */
	NFS4R_MSG_LOCKS_LIST = 33, /* the answer: all of them, in pieces */
	NFS4R_MSG_GAP_OVER = 34, /* an authority to every member: what my claim covers is in no gap any more (locks 11); and the answer */
	NFS4R_MSG_GUARD = 44, /* an authority to every member: from now on ask me about opens of this file; and the answer: these there are (locks 19) */
	NFS4R_MSG_UNGUARD = 45, /* the same: no more; and the answer */
};

struct nfs4r_prio { /* larger wins: attempts first, then server id (control 4.2) */
	uint32_t attempts;
	nfs4r_server_id server;
};

/*
 * Where a log ended (log 7). An LSN is a generation in the upper bits and a number in the lower NFS4R_GEN_SHIFT; a seal ends the generation of its
 * LSN with that entry (or before the first, when the number is 0), and the log goes on with the next generation, number 1. Positions so
 * only grow: who has applied a log to its seal is at number 0 of the next generation. Entries of the ended generation beyond its seal never happened.
 */
struct nfs4r_seal {
	nfs4r_server_id log;
	nfs4r_lsn lsn;
};

#define NFS4R_GEN_SHIFT 40
#define NFS4R_GEN(lsn) ((lsn) >> NFS4R_GEN_SHIFT)
#define NFS4R_AFTER_SEAL(lsn) ((NFS4R_GEN(lsn) + 1) << NFS4R_GEN_SHIFT) /* position of who has applied all up to the seal at @lsn */

#define NFS4R_ADDRESS_MAX 95

struct nfs4r_address { /* where a server listens for the others, and how they know that it is the one */
	nfs4r_server_id id;
	uint16_t port;
	char address[NFS4R_ADDRESS_MAX + 1]; /* a name or a number, NUL terminated */
	uint16_t nkeys;
	struct nfs4r_key_fingerprint keys[NFS4R_KEYS_MAX]; /* by which the others know it (log 6.18); 0 of them: as configured. What is not used is zero */
};

#define NFS4R_SECRET 16 /* bytes of the key under which handles are checked: src/base/siphash.h */

/* members are voters, voters are servers */
struct nfs4r_view { /* log 6.1 */
	uint64_t num; /* NFS4R_RECONF_SHIFT bits: k * NFS4R_VIEW_STEP + id of the server that proposed it; above: how often the volume was reconfigured
			* (log 9.3). 0: the first, all configured servers */
	uint64_t base; /* the view it changes; 0 for the first */
	nfs4r_servers members;
	nfs4r_servers open; /* servers whose log's newest generation is not sealed: members, and those that were removed without a seal */
	uint32_t epoch; /* loss epoch: how many views before this one, itself included, sealed something (log 2.3, 5.3) */
	uint32_t nseals;
	struct nfs4r_seal seals[NFS4R_SEALS_MAX]; /* in the order in which they were made; the oldest falls out */
	nfs4r_servers servers; /* who belongs to the volume: is connected to, catches up, holds back truncation */
	nfs4r_servers voters; /* whose majority decides */
	uint32_t nbook; /* 0: the addresses are as configured; else those of all servers */
	struct nfs4r_address addresses[NFS4R_SERVERS_MAX]; /* ascending id */
	struct nfs4r_volume_settings settings; /* of the volume (log 6.16) */
	uint8_t secret[NFS4R_SECRET]; /* of the volume (log 6.13), the same in all views that have one; all 0: none yet. For nobody's eyes but the servers' */
};

/* Of all that the view says, the secret included, so that two views of one number can be told apart. No defence against somebody who looks for two views with one
 * digest, and for nobody's eyes but the servers': it says something about the secret. */
uint64_t nfs4r_view_digest(const struct nfs4r_view *v);

#define NFS4R_VIEW_STEP 64 /* above every server id */
#define NFS4R_RECONF_SHIFT 40
#define NFS4R_RECONF(num) ((num) >> NFS4R_RECONF_SHIFT) /* how often the volume was reconfigured before the view with that number */
#define NFS4R_JOINROWS_MAX 64 /* claims in one JOINROWS */

struct nfs4r_join_row { /* one claim that is won; or a gap (NFS4R_GAP) */
	struct nfs4r_pid pid;
	uint32_t kind; /* enum nfs4r_claim_kind */
	nfs4r_lsn lsn; /* created, moved: of its entry; else 0 */
	struct nfs4r_prio prio;
	uint32_t ncontrols;
	struct nfs4r_control controls[NFS4R_CLAIM_CONTROLS_MAX];
};

#define NFS4R_LOCKS_LIST_ROWS 1024 /* locks in one LOCKS_LIST */
#define NFS4R_LOCKS_LIST_CLIENTS 64 /* clients in one LOCKS_LIST; more: the first, with `more_clients` */
#define NFS4R_GUARD_MARKS 8 /* guards that one message names */

struct nfs4r_guard_mark { /* a guard of a file, as a server has heard of it */
	nfs4r_server_id by;
	uint64_t id;
};

struct nfs4r_file_lock_row { /* a lock, and of which file */
	struct nfs4r_oid oid;
	struct nfs4r_file_lock lock;
};

enum nfs4r_nack_reason {
	NFS4R_NACK_BLOCKED = 1,
	NFS4R_NACK_UNKNOWN = 2
};

/* What a READ asks for; wire values. A peer's answer to LOOKUP, READDIR, LOOKUPP, GETXATTR and LISTXATTR also has result_offset = version of oid, looked at afterwards. */
enum nfs4r_read_type {
	NFS4R_RD_GETATTR = 1,
	NFS4R_RD_LOOKUP = 2, /* oid = directory, name -> result oid, type, attrs */
	NFS4R_RD_READDIR = 3, /* oid, cookie, count of names -> names */
	NFS4R_RD_READ = 4, /* oid, offset, length, cookie = version of the asker's copy or 0 -> data, eof; or verifier = version of a copy that has these
				 * bytes, result_offset = how many, eof, data = the file's pieces (control 6.3) */
	NFS4R_RD_READLINK = 5, /* -> data */
	NFS4R_RD_GETXATTR = 6, /* name -> data */
	NFS4R_RD_LISTXATTR = 7, /* -> data: names, each NUL terminated */
	NFS4R_RD_COMMIT = 8, /* make what was written durable at the primary -> verifier */
	NFS4R_RD_SEEK = 9, /* offset, length = 0 data, 1 hole -> offset, eof */
	NFS4R_RD_LOOKUPP = 10, /* parent of a directory -> result oid */
	NFS4R_RD_OIDS = 11, /* only with `copy`: objects in the order of their OIDs from oid (exclusive) on -> dirents without names; eof */
	NFS4R_RD_CLIENTS = 12, /* only with `copy`: offset = a server -> clients, the list of its clients (locks 7). Since NFS4R_PROTOCOL_LOCKS */
};

struct nfs4r_dirent {
	struct nfs4r_name name;
	struct nfs4r_oid oid;
	uint32_t type;
	uint64_t cookie;
};

struct nfs4r_copy_row { /* what a copy of an object is called in the volume */
	nfs4r_version version; /* 0: not asked for */
	uint32_t type;
	bool multi;
	uint32_t nlink;
	int64_t ctime, mtime; /* ns */
	nfs4r_server_id last_log; /* entry that made this version */
	nfs4r_lsn last_lsn;
	uint32_t nparents;
	struct nfs4r_oid parents[NFS4R_PARENTS_MAX];
	uint32_t parent_names[NFS4R_PARENTS_MAX]; /* names of the object in each */
};

/* Request and answer of a READ in one struct; also what the engine uses for local reads. */
struct nfs4r_read {
	/* request */
	uint64_t id; /* of the asking server; echoed */
	uint32_t type;
	struct nfs4r_oid oid;
	char name[NFS4R_NAME_MAX + 1]; /* LOOKUP, GETXATTR */
	uint64_t offset, length, cookie;
#define NFS4R_COPY_ANY 1 /* as cookie, with `copy`, but for READDIR: any copy will do that does not repair itself; `eof` of the answer to
			  * GETATTR: only the row is right, the content may not be (log 4.6); `result_offset` 1: it will be when the server
			  * has decided what a crash put in doubt */
	bool locked; /* READ: `owner` asks, and has locked the bytes, it seems (locks 23); not on the wire */
	struct nfs4r_lock_owner owner;
	bool copy; /* of the answering server's own copy, whoever is primary: for a server that repairs its own (log 8.3) */
	/* answer */
	enum nfs4r_status status;
	struct nfs4r_oid result;
	struct nfs4r_attrs attrs;
	struct nfs4r_buf *data; /* one reference */
	bool eof;
	uint64_t result_offset;
	uint64_t verifier;
	uint32_t ndirents;
	struct nfs4r_dirent *dirents; /* owned */
	struct nfs4r_copy_row row; /* answers with `copy` to GETATTR and READDIR, and to LISTXATTR, as it was after; status STALE: dead, UNKNOWN: not here yet */
	uint32_t nlocks;
	struct nfs4r_file_lock *locks; /* answers with `copy` to GETATTR of a file: the list that belongs to the row (locks 6); owned */
	uint32_t nclients;
	struct nfs4r_client_entry *clients; /* CLIENTS; owned */
	nfs4r_server_id server; /* who answered; set by the asking engine, not on the wire */
};

struct nfs4r_log_position {
	nfs4r_server_id log;
	nfs4r_lsn received, applied, stable; /* of the sender; received >= applied >= stable */
	uint64_t received_bytes; /* payload bytes of this log ever received, for the sender's window */
	nfs4r_lsn base; /* the first entry that the sender can still give to others */
};

enum nfs4r_memory { /* what a server's store knows of what it said before (log 8.6); wire and row values */
	NFS4R_MEMORY_NEW = 1, /* an empty store: perhaps there never was another */
	NFS4R_MEMORY_FORGOT = 2, /* somebody knows a later or another store of this server */
	NFS4R_MEMORY_KNOWN = 3,
};

struct nfs4r_msg {
	uint32_t type;
	union {
		struct {
			struct nfs4r_pid pid;
			uint64_t floor;
			uint32_t ncontrols;
			struct nfs4r_control controls[NFS4R_CLAIM_CONTROLS_MAX];
			struct nfs4r_prio prio;
			bool won;
		} propose;
		struct {
			struct nfs4r_pid pid;
			nfs4r_lsn applied[NFS4R_SERVERS_MAX + 1]; /* index = server id */
			bool gap; /* something of what is asked for, or below it, is in a gap (locks 11) */
		} ack;
		struct {
			struct nfs4r_pid pid;
			uint32_t reason;
			struct nfs4r_prio prio; /* highest over the blocking controls */
			bool won;
			nfs4r_servers owners;
		} nack;
		struct {
			uint64_t floor; /* RELEASE only */
			uint32_t nseqs;
			uint64_t seqs[NFS4R_BATCH_MAX]; /* pids of the sender (RELEASE) or of the receiver (RELEASED) */
		} release; /* and RELEASED */
		struct {
			uint32_t n;
			uint64_t seqs[NFS4R_CLOSING_MAX]; /* pids of the sender */
			nfs4r_lsn last[NFS4R_CLOSING_MAX];
		} closing;
		struct {
			struct nfs4r_oid oid;
			bool below;
			struct nfs4r_prio prio;
		} revoke;
		struct nfs4r_op *op; /* FORWARD, FORWARD_ANSWER: request/result part of it; the message owns it */
		struct nfs4r_read *read; /* READ, READ_ANSWER; the message owns it */
		struct {
			uint64_t clock_ns; /* sender's CLOCK_BOOTTIME, for round-trip and later for leases */
			uint64_t echo_ns; /* last clock_ns received from the receiver, 0 = none */
			nfs4r_lsn own_end; /* last LSN of the sender's own log */
			nfs4r_lsn all_stable; /* of the sender's log: everybody has it stable up to here */
			bool want_stable; /* a release at the sender waits for `stable` of its log: checkpoint soon */
			bool wanted; /* and somebody waits for that release: checkpoint now */
			uint32_t n;
			struct nfs4r_log_position pos[NFS4R_SERVERS_MAX];
		} positions;
		struct {
			nfs4r_server_id log; /* normally the sender's own */
			nfs4r_lsn end; /* last LSN of that log the sender has */
			uint32_t n;
			struct nfs4r_entry **entries; /* n references, ascending LSN, contiguous; array owned by the message */
		} entries;
		struct {
			nfs4r_server_id log;
			nfs4r_lsn from; /* first LSN wanted */
		} pull;
		struct {
			uint64_t clock_ms; /* sender's, for the lease: comes back in GRANT */
			uint64_t view; /* number of the view the sender adopted */
			uint64_t promised; /* highest number it promised */
			nfs4r_servers hears; /* servers it heard within the silence time, itself included */
			bool caught_up; /* not a member, and near enough to the end of every log to become one */
			bool joining; /* a member that has not all rows yet */
			bool repairing; /* its copy is ahead of a seal, or incomplete: no source for others (log 8.3) */
			enum nfs4r_memory memory;
			uint64_t inc, inc_random; /* this start of the sender's (log 2.1) */
			uint64_t position; /* of its journal: what it told counts on no more than this, and no crash takes it back */
			uint64_t your_inc, your_random; /* the newest start of the receiver's that the sender knows of; 0: none */
			uint64_t your_position; /* the highest that the receiver said in that start */
			nfs4r_servers claims; /* servers outside the view that the sender, a complete member, knows claims of */
			bool confirmed; /* this view is on the sender's disk, it has all rows, and what counts on a majority counts on one of this view's (log 9.1) */
			uint64_t reconf_epoch; /* an administrator's word (log 9.3): from this NFS4R_RECONF() on these are all; 0: none */
			nfs4r_servers reconf_set;
			uint64_t view_digest; /* nfs4r_view_digest() of the adopted view */
			uint64_t accepted, accepted_digest; /* the highest view that the sender accepted (log 6.14) */
			bool left; /* this start of the sender has no lease any more, whatever is granted (log 6.11) */
			uint32_t trouble; /* enum nfs4r_status: why the sender cannot apply an entry, and asks to be removed (log 6.12); 0: it can */
			struct nfs4r_versions protocol, disk_format; /* that the sender's program knows (log 6.16) */
			bool locks_known; /* since protocol NFS4R_PROTOCOL_LOCKS: what the sender's clients had before locks held at all servers has been asked for (locks 21) */
			uint32_t rehearsal; /* of protocol NFS4R_PROTOCOL_REHEARSED, which no release speaks */
		} heartbeat;
		struct {
			uint64_t clock_ms; /* of the HEARTBEAT */
			uint32_t lease_ms; /* so long from then on (log 6.17) */
		} grant;
		struct {
			uint64_t num;
			nfs4r_servers remove, add;
			nfs4r_servers seal; /* logs that are to end; none of them votes */
		} prepare;
		struct {
			uint64_t num;
			bool refused;
			uint64_t promised; /* the sender's now */
			struct nfs4r_view accepted; /* the highest it accepted */
			bool complete; /* not repairing: its copy may stand for what is sealed */
			nfs4r_lsn applied[NFS4R_SERVERS_MAX + 1]; /* of every log; no entry beyond is taken of those to be sealed (log 6.3) */
		} promise;
		struct nfs4r_view view; /* ACCEPT, VIEW */
		struct {
			uint64_t num;
			uint64_t digest; /* nfs4r_view_digest() of that view */
		} accepted;
		struct {
			uint64_t view; /* number; both sides have adopted it */
			uint32_t offset;
		} join;
		struct {
			uint64_t view;
			uint32_t offset, total; /* rows before these; rows in the sender's list, which it made for this joiner */
			uint64_t next_seq; /* when the list was made: below it everything of the sender's is in the list or dead */
			nfs4r_lsn applied[NFS4R_SERVERS_MAX + 1]; /* of every log at that time; index = server id */
			uint32_t n;
			struct nfs4r_join_row *rows; /* owned by the message */
		} joinrows;
		struct {
			uint64_t view;
		} joined;
		struct {
			uint64_t id;
			struct nfs4r_oid oid;
			enum nfs4r_status status;
			nfs4r_version version;
			uint8_t sum[32]; /* SHA-256 over type, attributes, names or bytes, xattrs */
			uint64_t bytes;
			uint32_t odd; /* names of a directory that are on the disk and not in the volume, or the reverse */
			struct nfs4r_buf *names; /* some of them (nfs4r.x); NULL: none */
		} verify; /* and VERIFY_ANSWER */
		struct {
			nfs4r_lsn applied; /* of the receiver's log, before the room was measured: what came later may or may not be counted */
			struct nfs4r_space space;
			struct nfs4r_limits limits;
			struct nfs4r_remarks remarks;
		} space;
		struct {
			uint32_t status; /* enum nfs4r_status: why */
			bool files; /* of the file system of the exported directory; else of Store */
		} halted;
		struct {
			uint32_t n;
			struct nfs4r_identity list[NFS4R_IDENTITIES_MAX];
		} identities;
		struct {
			struct nfs4r_oid oid;
			struct nfs4r_lock lock; /* as it was asked for */
			uint64_t n; /* of that request */
			uint64_t view; /* the sender has adopted (locks 5) */
			uint64_t inc, to_inc; /* starts of the sender and of the receiver, as the transport names them */
			nfs4r_version version; /* LOCK_READY: of the file when it was sent (locks 23); REQUEUE: 0 */
			bool heard; /* the answer: it need not be said again. All else as it was, but for the view and the starts */
		} lock_ready; /* and REQUEUE */
		struct {
			uint64_t view; /* adopted by both */
			uint64_t inc; /* start of the sender, as the transport names it */
			uint64_t round; /* a number of the sender's, in that start */
			bool only_clients; /* only which clients have not reclaimed yet */
		} locks_of;
		struct {
			uint64_t view, inc, round; /* of the question */
			bool only_clients;
			uint32_t offset; /* rows before these */
			bool last; /* no more come */
			uint32_t nclients; /* listed, and not done with reclaiming in this start of the sender */
			bool more_clients; /* and others */
			uint64_t clients[NFS4R_LOCKS_LIST_CLIENTS][2];
			uint32_t n;
			struct nfs4r_file_lock_row *rows; /* owned by the message */
		} locks_list;
		struct {
			struct nfs4r_pid pid; /* of the sender's claim under which the gap ended; in the answer of the receiver's */
			uint64_t view; /* adopted by both */
			uint32_t ncontrols; /* of that claim */
			struct nfs4r_control controls[NFS4R_CLAIM_CONTROLS_MAX];
			bool heard; /* the answer; all else is as it was */
		} gap_over;
		struct {
			struct nfs4r_oid oid;
			uint64_t id; /* of the guard: rises with each one of its server, over restarts, too */
			uint64_t view; /* the sender has adopted (locks 5) */
			uint64_t inc, to_inc; /* starts of the sender and of the receiver, as the transport names them */
			bool heard; /* it is the answer */
			struct nfs4r_opens opens; /* answer to GUARD: of the sender's clients */
			uint32_t nmarks;
			struct nfs4r_guard_mark marks[NFS4R_GUARD_MARKS]; /* answer to GUARD: other guards that the sender has heard of; UNGUARD: those are over, too */
		} guard; /* and UNGUARD */
	};
};

/* Frees what the message owns, not the struct. */
void nfs4r_msg_fini(struct nfs4r_msg *m);
void nfs4r_read_fini(struct nfs4r_read *r);
/* Bytes of memory that it takes with what it owns; what several messages share is counted by each. */
uint64_t nfs4r_msg_memory(const struct nfs4r_msg *m);
/* Bytes of struct nfs4r_msg that one of this type needs: questions, answers and entries point to the rest. */
size_t nfs4r_msg_bytes(uint32_t type);
const char *nfs4r_msg_name(uint32_t type);

#endif
