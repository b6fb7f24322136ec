/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Messages between servers (control sheet section 2, log sheet 6.2), decoded.
 * protocol/nfs4r.x is the same list as bytes. HELLO belongs to the transport
 * (src/rpc) and never reaches the core.
 */
#ifndef NFS4R_BASE_MSG_H
#define NFS4R_BASE_MSG_H

#include "base/entry.h"
#include "base/op.h"

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
	NFS4R_MSG_POSITIONS = 11, /* APPLIED of the control sheet, HEARTBEAT's positions of the log sheet */
	NFS4R_MSG_ENTRIES = 12,
	NFS4R_MSG_PULL = 13,
	NFS4R_MSG_VERIFY = 14,	      /* engine to engine: checksum of one object, for nfs4rctl verify */
	NFS4R_MSG_VERIFY_ANSWER = 15,
};

enum nfs4r_nack_reason { NFS4R_NACK_BLOCKED = 1, NFS4R_NACK_UNKNOWN = 2 };

struct nfs4r_prio { /* larger wins: attempts first, then server id (control sheet 4.2) */
	uint32_t attempts;
	nfs4r_server_id server;
};

enum nfs4r_read_type { /* what a READ asks for; wire values */
	NFS4R_RD_GETATTR = 1,
	NFS4R_RD_LOOKUP = 2,	/* oid = directory, name -> result oid, type, attrs */
	NFS4R_RD_READDIR = 3,	/* oid, cookie, count of names -> names */
	NFS4R_RD_READ = 4,	/* oid, offset, length -> data, eof */
	NFS4R_RD_READLINK = 5,	/* -> data */
	NFS4R_RD_GETXATTR = 6,	/* name -> data */
	NFS4R_RD_LISTXATTR = 7,	/* -> data: names, each NUL terminated */
	NFS4R_RD_COMMIT = 8,	/* make what was written durable at the primary -> verifier */
	NFS4R_RD_SEEK = 9,	/* offset, length = 0 data, 1 hole -> offset, eof */
	NFS4R_RD_LOOKUPP = 10,	/* parent of a directory -> result oid */
};

struct nfs4r_dirent {
	struct nfs4r_name name;
	struct nfs4r_oid oid;
	uint32_t type;
	uint64_t cookie;
};

/* Request and answer of a READ in one struct; also what the engine uses for local reads. */
struct nfs4r_read {
	/* request */
	uint64_t id; /* of the asking server; echoed */
	uint32_t type;
	struct nfs4r_oid oid;
	char name[NFS4R_NAME_MAX + 1]; /* LOOKUP, GETXATTR */
	uint64_t offset, length, cookie;
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
	nfs4r_server_id server; /* who answered; set by the asking engine, not on the wire */
};

struct nfs4r_log_position {
	nfs4r_server_id log;
	nfs4r_lsn received, applied, stable; /* of the sender; received >= applied >= stable */
	uint64_t received_bytes; /* payload bytes of this log ever received, for the sender's window */
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
			struct nfs4r_oid oid;
			bool below;
			struct nfs4r_prio prio;
		} revoke;
		struct nfs4r_op *op; /* FORWARD, FORWARD_ANSWER: request/result part of it; the message owns it */
		struct nfs4r_read *read; /* READ, READ_ANSWER; the message owns it */
		struct {
			uint64_t clock_ns; /* sender's CLOCK_BOOTTIME, for round-trip and later for leases */
			uint64_t echo_ns;  /* last clock_ns received from the receiver, 0 = none */
			nfs4r_lsn own_end; /* last LSN of the sender's own log */
			nfs4r_lsn all_stable; /* of the sender's log: everybody has it stable up to here */
			bool want_stable;  /* a release at the sender waits for `stable` of its log: checkpoint soon */
			bool wanted;	   /* and somebody waits for that release: checkpoint now */
			uint32_t n;
			struct nfs4r_log_position pos[NFS4R_SERVERS_MAX];
		} positions;
		struct {
			nfs4r_server_id log; /* normally the sender's own */
			nfs4r_lsn end;	     /* last LSN of that log the sender has */
			uint32_t n;
			struct nfs4r_entry **entries; /* n references, ascending LSN, contiguous; array owned by the message */
		} entries;
		struct {
			nfs4r_server_id log;
			nfs4r_lsn from; /* first LSN wanted */
		} pull;
		struct {
			uint64_t id;
			struct nfs4r_oid oid;
			enum nfs4r_status status;
			nfs4r_version version;
			uint8_t sum[32]; /* SHA-256 over type, attributes, names or bytes, xattrs */
			uint64_t bytes;
		} verify; /* and VERIFY_ANSWER */
	};
};

/* Frees what the message owns, not the struct. */
void nfs4r_msg_fini(struct nfs4r_msg *m);
void nfs4r_read_fini(struct nfs4r_read *r);
const char *nfs4r_msg_name(uint32_t type);

#endif
