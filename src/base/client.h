/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A client of one server, as all servers know it (locks 7): who may ask for a lock back when its server has died. Every server lists its own in its log, before it gives them
 * their first lock.
 */
#ifndef NFS4R_BASE_CLIENT_H
#define NFS4R_BASE_CLIENT_H

#include <string.h>

#include "base/oid.h"

#define NFS4R_CLIENT_NAME_MAX 255 /* bytes */
#define NFS4R_CLIENT_ADDRESS_MAX 95 /* bytes */
#define NFS4R_CLIENTS_MAX 8192 /* of one server */
#define NFS4R_CLIENTS_GONE_MAX 1024 /* of one server, that are remembered */
#define NFS4R_CLIENT_ROWS_MAX (NFS4R_CLIENTS_MAX + NFS4R_CLIENTS_GONE_MAX + 1)

struct nfs4r_client {
	uint64_t id[2]; /* the client's half of its lock owners (base/locks.h), the same at all servers; not both 0 */
	uint32_t minor; /* version of NFSv4 */
	char name[NFS4R_CLIENT_NAME_MAX + 1]; /* for people: what the client calls itself, and where it was seen; NUL terminated. Behind the NUL all is zero */
	char address[NFS4R_CLIENT_ADDRESS_MAX + 1];
};

/* What an entry says of a client (locks 7, 12, 13). `n`: a number of lock requests (locks 4). */
enum nfs4r_client_word {
	NFS4R_CLIENT_BEGINS = 0, /* its life begins with n */
	NFS4R_CLIENT_GONE = 1, /* with its locks of lives that began before n */
	NFS4R_CLIENT_RECLAIMED = 2, /* it has asked for all that it wants back: its locks of lives that began before n are gone */
	NFS4R_CLIENTS_ENDED = 3 /* the same of all clients of that server. Clients that began before `below` are gone, too. Its client's id is 0 */
};

struct nfs4r_client_entry { /* one line of a server's list */
	nfs4r_server_id server; /* whose client it is */
	nfs4r_lsn lsn; /* the entry of that server's log that says that it begins, or is gone; of CLIENTS_ENDED (id 0): `below` */
	struct nfs4r_client client;
	bool gone; /* no more in the list, but remembered */
	uint64_t n; /* its locks of lives that began before it are gone; 0: of none was that said */
	nfs4r_server_id by; /* the entry that said so; 0: none */
	nfs4r_lsn by_lsn;
};

static inline bool nfs4r_client_is(const struct nfs4r_client *c, const uint64_t id[2])
{
	return c->id[0] == id[0] && c->id[1] == id[1];
}

/*
 * The object that entries of @server's log name which change its list. There is none: no server makes an OID with an incarnation of 0, and every store says that it is dead. So such
 * an entry goes the way of all entries, and changes no object.
 */
static inline struct nfs4r_oid nfs4r_client_list_oid(nfs4r_server_id server)
{
	struct nfs4r_oid oid;

	nfs4r_oid_make(&oid, server, 0, 0);
	return oid;
}

#endif
