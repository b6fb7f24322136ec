/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Object and server identities (log 2.1, 2.2).
 *
 * An OID names one object of a volume on every server for ever: creating
 * server, the incarnation that minted it, a rising sequence. The bytes are the
 * NFS handle's opaque part, so the order of fields is part of the wire and disk
 * format: all big endian.
 */
#ifndef NFS4R_BASE_OID_H
#define NFS4R_BASE_OID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Configured servers of a volume have ids 1..NFS4R_SERVERS_MAX; 0 is nobody. */
#define NFS4R_SERVERS_MAX 15

typedef uint16_t nfs4r_server_id; /* 1..NFS4R_SERVERS_MAX, 0 = nobody */
typedef uint64_t nfs4r_lsn; /* position in one log, from 1; 0 = before the first */
typedef uint64_t nfs4r_version; /* epoch (upper 24 bits) | count (lower 40); 0 = object not there */
typedef uint64_t nfs4r_servers; /* bit set of server ids: bit i = server i */

#define NFS4R_VERSION_COUNT_BITS 40
#define NFS4R_BIT(id) ((nfs4r_servers)1 << (id))
/* For each server s of a set, by rising id: a head like that of `for`. */
#define EACH_OF(set, s)                                          \
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++) \
		if ((set)&NFS4R_BIT(s))

struct nfs4r_oid {
	uint8_t b[16]; /* creator (2) | incarnation counter (6) | mint sequence (8) */
};

static inline bool nfs4r_oid_eq(const struct nfs4r_oid *a, const struct nfs4r_oid *b)
{
	return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

static inline int nfs4r_oid_cmp(const struct nfs4r_oid *a, const struct nfs4r_oid *b)
{
	return memcmp(a->b, b->b, sizeof(a->b));
}

static inline bool nfs4r_oid_is_zero(const struct nfs4r_oid *a)
{
	static const struct nfs4r_oid zero;

	return nfs4r_oid_eq(a, &zero);
}

/* Make an OID. @inc uses its lower 48 bits. */
void nfs4r_oid_make(struct nfs4r_oid *out, nfs4r_server_id creator, uint64_t inc, uint64_t seq);
nfs4r_server_id nfs4r_oid_creator(const struct nfs4r_oid *oid);
uint64_t nfs4r_oid_inc(const struct nfs4r_oid *oid);
uint64_t nfs4r_oid_seq(const struct nfs4r_oid *oid);

/* The root's OID is derived from the 16 bytes of the volume's UUID; creator 0. */
void nfs4r_oid_root(struct nfs4r_oid *out, const uint8_t volume_uuid[16]);

/* NFS fileid: 64 bits derived from the OID, never 0, equal on all servers. */
uint64_t nfs4r_oid_fileid(const struct nfs4r_oid *oid);

/* 64-bit hash for tables; stable, part of no format. */
uint64_t nfs4r_oid_hash(const struct nfs4r_oid *oid);

/* "2.7.1234" (creator.inc.seq) or "root"; returns buf. */
#define NFS4R_OID_STRLEN 48
const char *nfs4r_oid_str(const struct nfs4r_oid *oid, char buf[NFS4R_OID_STRLEN]);

/* Sequence number of a claim or request made by one server. Never repeats, also over restarts. */
struct nfs4r_pid {
	nfs4r_server_id server;
	uint64_t seq;
};

/* Identity of a client operation as its first server saw it (log 5.6). server 0 = none. */
struct nfs4r_request_id {
	nfs4r_server_id origin;
	uint64_t inc;
	uint64_t seq;
};

static inline bool nfs4r_pid_eq(const struct nfs4r_pid *a, const struct nfs4r_pid *b)
{
	return a->server == b->server && a->seq == b->seq;
}

#endif
