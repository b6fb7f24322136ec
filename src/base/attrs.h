/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Object types and attributes as they travel between servers and live in rows. */
#ifndef NFS4R_BASE_ATTRS_H
#define NFS4R_BASE_ATTRS_H

#include "base/buf.h"
#include "base/limits.h"
#include "base/oid.h"

enum nfs4r_type { /* wire and disk values */
	NFS4R_TYPE_FILE = 1,
	NFS4R_TYPE_DIR = 2,
	NFS4R_TYPE_SYMLINK = 3,
	NFS4R_TYPE_FIFO = 4,
	NFS4R_TYPE_SOCKET = 5,
	NFS4R_TYPE_CHR = 6,
	NFS4R_TYPE_BLK = 7,
};

enum nfs4r_attr_mask { /* which members of struct nfs4r_attrs are set; wire and disk values */
	NFS4R_ATTR_MODE = 1 << 0,
	NFS4R_ATTR_UID = 1 << 1,
	NFS4R_ATTR_GID = 1 << 2,
	NFS4R_ATTR_SIZE = 1 << 3,
	NFS4R_ATTR_ATIME = 1 << 4,
	NFS4R_ATTR_MTIME = 1 << 5,
	NFS4R_ATTR_CTIME = 1 << 6,
	NFS4R_ATTR_NLINK = 1 << 7,
	NFS4R_ATTR_RDEV = 1 << 8,
	NFS4R_ATTR_SPACE = 1 << 9,
	NFS4R_ATTR_VERSION = 1 << 10,
	NFS4R_ATTR_TYPE = 1 << 11,
	NFS4R_ATTR_ACL = 1 << 12,
	NFS4R_ATTR_ATIME_NOW = 1 << 13, /* request only: set to the primary's clock */
	NFS4R_ATTR_MTIME_NOW = 1 << 14, /* request only */
	NFS4R_ATTR_SET_IDS_GO = 1 << 15, /* request only, and never sent: MODE may take set-id bits away and change nothing else, else MISMATCH */
};

struct nfs4r_attrs {
	uint32_t mask; /* NFS4R_ATTR_* */
	uint32_t type; /* enum nfs4r_type */
	uint32_t mode; /* 07777 */
	uint32_t uid, gid;
	uint32_t nlink;
	uint64_t size; /* bytes */
	uint64_t space; /* bytes allocated; local to a server, never logged */
	int64_t atime, mtime, ctime; /* ns since the epoch */
	uint32_t rdev_major, rdev_minor;
	nfs4r_version version; /* NFSv4 change attribute */
	struct nfs4r_buf *acl; /* encoded by FSAL_REPL, opaque elsewhere; one reference held; NULL = none */
};

struct nfs4r_cred {
	uint32_t uid, gid;
	uint32_t ngroups; /* above NFS4R_GROUPS_MAX: nothing is done for this caller, and no groups are here */
	struct nfs4r_buf *groups; /* ngroups numbers of 4 bytes; one reference; NULL if there are none */
};

/* The supplementary groups, cred->ngroups of them. They live as long as @cred has its reference. */
const uint32_t *nfs4r_cred_groups(const struct nfs4r_cred *cred);
/* A buffer for @n groups into @cred, which has none, for the caller to fill in. NULL: no memory; ngroups is then as if there were none. */
uint32_t *nfs4r_cred_set_groups(struct nfs4r_cred *cred, uint32_t n);
/* Is it the caller's own group or one of the supplementary ones? */
bool nfs4r_cred_has_group(const struct nfs4r_cred *cred, uint32_t gid);

struct nfs4r_name {
	uint16_t len; /* 1..NFS4R_NAME_MAX */
	char s[NFS4R_NAME_MAX + 1]; /* NUL terminated for convenience */
};

/* false if @len is out of range, or the name is ".", "..", has '/' or NUL. */
bool nfs4r_name_set(struct nfs4r_name *n, const char *s, size_t len);

#endif
