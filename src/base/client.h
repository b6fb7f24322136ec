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

struct nfs4r_client {
	uint64_t id[2]; /* the client's half of its lock owners (base/locks.h), the same at all servers; not both 0 */
	uint32_t minor; /* version of NFSv4 */
	char name[NFS4R_CLIENT_NAME_MAX + 1]; /* for people: what the client calls itself, and where it was seen; NUL terminated. Behind the NUL all is zero */
	char address[NFS4R_CLIENT_ADDRESS_MAX + 1];
};

struct nfs4r_client_entry { /* one line of a server's list */
	nfs4r_server_id server; /* whose client it is */
	nfs4r_lsn lsn; /* the entry of that server's log that says so */
	struct nfs4r_client client;
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
