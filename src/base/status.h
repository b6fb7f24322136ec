/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One table of operating errors and outcomes. Negative errno is not used between
 * modules: a status travels on the wire, so its values are part of the protocol.
 * 0 is success; the values never change once released.
 */
#ifndef NFS4R_BASE_STATUS_H
#define NFS4R_BASE_STATUS_H

#include <stdbool.h>

enum nfs4r_status {
	NFS4R_OK = 0,
	/* what a client may see */
	NFS4R_PERM = 1,
	NFS4R_NOENT = 2,
	NFS4R_IO = 5,
	NFS4R_NXIO = 6,
	NFS4R_ACCES = 13,
	NFS4R_EXIST = 17,
	NFS4R_XDEV = 18,
	NFS4R_NOTDIR = 20,
	NFS4R_ISDIR = 21,
	NFS4R_INVAL = 22,
	NFS4R_FBIG = 27,
	NFS4R_NOSPC = 28,
	NFS4R_ROFS = 30,
	NFS4R_MLINK = 31,
	NFS4R_NAMETOOLONG = 63,
	NFS4R_NOTEMPTY = 66,
	NFS4R_DQUOT = 69,
	NFS4R_STALE = 70,
	NFS4R_NOXATTR = 71,
	NFS4R_XATTR2BIG = 72,
	NFS4R_NOTSUPP = 73,
	NFS4R_SYMLINK = 74,
	NFS4R_BADTYPE = 75,
	NFS4R_DENIED = 76, /* somebody else has the lock */
	NFS4R_BLOCKED = 77, /* the same, and the request waits */
	NFS4R_NOLCK = 78, /* no room for another lock */
	NFS4R_SHARE_DENIED = 79, /* somebody else has it open in a way that excludes this one */
	NFS4R_DELAY = 100, /* nothing happened (or only something idempotent): try again */
	/* between servers and modules */
	NFS4R_NOT_PRIMARY = 200, /* the asked server does not control the object */
	NFS4R_UNKNOWN = 201, /* object not here yet */
	NFS4R_ORPHAN = 202, /* last name gone; only the holder of an open has it */
	NFS4R_NOMEM = 203,
	NFS4R_MALFORMED = 204, /* bytes from a peer or a disk that cannot be decoded */
	NFS4R_TOOBIG = 205, /* a length above its limit */
	NFS4R_CORRUPT = 206, /* a checksum or an invariant of stored data is broken */
	NFS4R_MISMATCH = 207, /* version, volume or identity differs from ours */
	NFS4R_LOCKED = 208, /* the store is in use by another process */
	NFS4R_SHUTDOWN = 209,
	NFS4R_BADCONFIG = 210,
	NFS4R_HUNG = 211, /* a call has not returned for so long that nobody waits for it any more */
};

/* English text for a status; never NULL, static. */
const char *nfs4r_status_str(enum nfs4r_status st);
/* There is no room: it may be made. */
static inline bool nfs4r_status_is_full(enum nfs4r_status st)
{
	return st == NFS4R_NOSPC || st == NFS4R_DQUOT;
}
/* errno value -> status; anything unknown becomes NFS4R_IO. */
enum nfs4r_status nfs4r_status_from_errno(int err);
/* status -> errno value, for tools and file-system glue. */
int nfs4r_status_to_errno(enum nfs4r_status st);

#endif
