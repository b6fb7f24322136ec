/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a server has room for, and what its file system can hold at all (log 4.12). Each server finds both out for itself and tells
 * the others; the core compares them before an update is executed.
 */
#ifndef NFS4R_BASE_SPACE_H
#define NFS4R_BASE_SPACE_H

#include <stdbool.h>
#include <stdint.h>

/* One kind of room. A `total` of 0 says that it has no bound (inodes of a file system that makes them as needed); the rest is 0 then. */
struct nfs4r_room {
	uint64_t total;
	uint64_t free; /* for clients; without what the file system keeps for root */
	uint64_t reserve; /* of `free`, kept back: for removals, for entries under way, for the journal */
};

struct nfs4r_space {
	struct nfs4r_room tree; /* bytes of the file system of the exported directory */
	struct nfs4r_room inodes; /* of the same */
	struct nfs4r_room store; /* bytes of the file system of Store, with what is set aside there for removals */
	bool shared; /* both are one file system: what one takes the other lacks */
};

/* Bits of nfs4r_limits.has. */
#define NFS4R_HAS_XATTRS 1u /* user attributes */
#define NFS4R_HAS_ACLS 2u /* POSIX ACLs */
#define NFS4R_HAS_BYTES 4u /* names of any bytes; without it only those that are UTF-8 */
#define NFS4R_HAS_ROOM_EACH 8u /* each extended attribute has its own room; without it all of an object share `xattr_max` */
#define NFS4R_HAS_ALL 15u

/* What the file system of the exported directory can hold. A number of 0 says that the limit is not known, and then it limits nothing. */
struct nfs4r_limits {
	uint64_t file_max; /* bytes of the largest file */
	int64_t time_min; /* first and last time stamp, in seconds since 1970; not above 0 and not below 0. Both 0: not known */
	int64_t time_max;
	uint64_t text_max; /* bytes of the longest text of a symbolic link */
	uint32_t xattr_max; /* bytes of the largest value of an extended attribute */
	uint32_t name_max; /* bytes of the longest name */
	uint32_t link_max; /* names of one file */
	uint32_t has; /* NFS4R_HAS_* */
};

/* Bits of nfs4r_remarks.is. */
#define NFS4R_IS_IMPORTING 1u /* an existing tree is being taken in */
#define NFS4R_IS_IMPORT_STOPPED 2u /* the import ended before it had all */
#define NFS4R_IS_ALL 3u

/* What a server says of itself for the people who ask another one. Nothing is decided by it. */
struct nfs4r_remarks {
	uint32_t is; /* NFS4R_IS_*; at most one of the two */
	uint64_t imported; /* objects that the import has taken in so far */
	uint64_t strays; /* foreign names that made way, and lie in the hidden directory (log 4.14) */
	uint64_t conflicts; /* saved lists of updates that were undone (log 8.4) */
};

#endif
