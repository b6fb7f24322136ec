/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The transport's own messages (HELLO, REFUSED, KEEPALIVE, TOKEN, NUMBER, TAKEN, PADDING, KEYS of nfs4r.x). They never
 * reach the core. Decoding follows the rules of xdr_map.h; none of them owns memory but TOKEN and PADDING.
 */
#ifndef NFS4R_PROTOCOL_XDR_HELLO_H
#define NFS4R_PROTOCOL_XDR_HELLO_H

#include "base/buf.h"
#include "base/hello_key.h"
#include "base/oid.h"
#include "base/status.h"
#include "base/version.h"

#define NFS4R_HELLO_MAGIC 0x4e345252u
#define NFS4R_REFUSED_TEXT_MAX 1024
#define NFS4R_TOKEN_MAX 65536
#define NFS4R_PADDING_MAX 65536

enum nfs4r_transport_msg { /* wire values, apart from those of enum nfs4r_msg_type */
	NFS4R_MSG_HELLO = 101,
	NFS4R_MSG_REFUSED = 102,
	NFS4R_MSG_KEEPALIVE = 103,
	NFS4R_MSG_TOKEN = 104,
	NFS4R_MSG_NUMBER = 105,
	NFS4R_MSG_TAKEN = 106,
	NFS4R_MSG_PADDING = 107,
	NFS4R_MSG_KEYS = 108,
};

enum nfs4r_refusal { /* why a connection was not taken; wire values */
	NFS4R_REFUSED_PROTOCOL = 1,
	NFS4R_REFUSED_VOLUME = 2,
	NFS4R_REFUSED_EXPORT = 3,
	NFS4R_REFUSED_FSID = 4,
	NFS4R_REFUSED_DISK_FORMAT = 5,
	NFS4R_REFUSED_SECURITY = 6,
	NFS4R_REFUSED_SERVERS = 7, /* the sets of configured servers differ, before any view says who they are */
	NFS4R_REFUSED_IDENTITY = 8, /* id own, or not the one called */
	NFS4R_REFUSED_DUPLICATE = 9, /* a newer start of that id is connected */
	NFS4R_REFUSED_MALFORMED = 10, /* a moment ago it sent a message that cannot be decoded */
	NFS4R_REFUSED_VIEWS = 11, /* lease, silence or clock drift differ */
	NFS4R_REFUSED_DURABILITY = 12,
	NFS4R_REFUSED_KEYS = 13, /* another key of the configuration differs, or is the same and must not be */
	NFS4R_REFUSED_PORT = 14, /* from a port that every user gets */
	NFS4R_REFUSED_GONE = 15, /* taken out of the volume */
	NFS4R_REFUSED_UNKNOWN = 16, /* no server of the volume */
	NFS4R_REFUSED_ADDRESS = 17, /* that server is at another address */
};

#define NFS4R_HELLO_VERSION_MAX 63
#define NFS4R_HELLO_VERSION_SINCE 7 /* protocol that has it */
#define NFS4R_HELLO_WHOLE_SINCE 9 /* from this protocol on every later one can read all of it */

struct nfs4r_hello {
	uint32_t magic;
	struct nfs4r_versions protocol; /* that the sender speaks; one before NFS4R_HELLO_WHOLE_SINCE speaks one */
	nfs4r_server_id server, to;
	uint32_t lane;
	char version[NFS4R_HELLO_VERSION_MAX + 1]; /* of the program; "": it speaks a protocol before NFS4R_HELLO_VERSION_SINCE */
	/* From here on only of a sender that speaks NFS4R_HELLO_WHOLE_SINCE or more: */
	uint64_t inc, session;
	uint32_t index;
	uint8_t volume[16];
	uint32_t export_id;
	uint64_t fsid_major, fsid_minor;
	struct nfs4r_versions disk_format; /* that the sender's program reads and writes */
	uint32_t security;
	uint32_t lease_ms, silence_ms, drift_permille, durability;
	uint64_t view; /* that says who the servers are; 0: the configuration does */
	bool asks;
	uint32_t nservers;
	struct {
		nfs4r_server_id id;
		uint32_t port;
	} servers[NFS4R_SERVERS_MAX];
	uint32_t nkeys;
	struct nfs4r_hello_key keys[NFS4R_HELLO_KEYS_MAX];
};

struct nfs4r_transport_msg_body {
	uint32_t type; /* enum nfs4r_transport_msg */
	union {
		struct nfs4r_hello hello;
		struct {
			uint32_t cause; /* enum nfs4r_refusal */
			char text[NFS4R_REFUSED_TEXT_MAX + 1];
		} refused;
		struct {
			bool answer;
			uint64_t clock_ns;
			int64_t day_ns;
		} keepalive;
		struct nfs4r_buf *opaque; /* TOKEN, PADDING; owned: nfs4r_buf_put */
		uint64_t number; /* NUMBER, TAKEN */
	};
	uint32_t security; /* TOKEN: enum nfs4r_security of src/rpc/rpc.h */
};

/* Type of an encoded message of either kind; 0 when shorter than that. */
uint32_t nfs4r_transport_msg_type(const void *bytes, size_t len);
/* New buffer with one reference; NULL when out of memory. */
struct nfs4r_buf *nfs4r_transport_msg_encode(const struct nfs4r_transport_msg_body *m);
/*
 * NFS4R_OK, NFS4R_MALFORMED, NFS4R_TOOBIG, NFS4R_NOMEM. @protocol: of the connection; before there is one, the highest that this server speaks.
 * A HELLO of a sender that speaks nothing from NFS4R_HELLO_WHOLE_SINCE on decodes with only its first members. What a sender that speaks more
 * than @protocol adds behind them is left unread.
 */
enum nfs4r_status nfs4r_transport_msg_decode(const void *bytes, size_t len, uint32_t protocol,
					     struct nfs4r_transport_msg_body *out);
/* Lets go of what a decoded message owns. */
void nfs4r_transport_msg_fini(struct nfs4r_transport_msg_body *m);

#endif
