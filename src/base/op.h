/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A client's operation on its way: from FSAL_REPL or a peer's FORWARD to the core
 * (which needs the objects and names), to the executor (which needs the rest), and
 * back with a result. One struct for all of them, because a forwarded operation must
 * be the same operation.
 */
#ifndef NFS4R_BASE_OP_H
#define NFS4R_BASE_OP_H

#include "base/entry.h"
#include "base/status.h"

enum nfs4r_op_type { /* wire and disk values */
	NFS4R_OP_CREATE = 1, /* dir, name, attrs, verifier: regular file. EXIST answers carry the oid found */
	NFS4R_OP_MKDIR = 2, /* dir, name, attrs */
	NFS4R_OP_SYMLINK = 3, /* dir, name, attrs, text */
	NFS4R_OP_MKNOD = 4, /* dir, name, attrs with TYPE (fifo, socket, chr, blk) and RDEV */
	NFS4R_OP_LINK = 5, /* obj, dir, name: new name in dir */
	NFS4R_OP_REMOVE = 6, /* dir, name: unlink or rmdir, by what the name is */
	NFS4R_OP_RENAME = 7, /* dir, name -> dir2, name2 */
	NFS4R_OP_SETATTR = 8, /* obj, attrs (also size, times, ACL) */
	NFS4R_OP_WRITE = 9, /* obj, offset, data */
	NFS4R_OP_ALLOCATE = 10, /* obj, offset, length */
	NFS4R_OP_DEALLOCATE = 11,
	NFS4R_OP_SETXATTR = 12, /* obj, xname, data, xflags */
	NFS4R_OP_REMOVEXATTR = 13,
	NFS4R_OP_CLOSE = 14, /* obj: wait until what this server wrote to it is complete (control 5.3). Never forwarded, never logged */
	NFS4R_OP_ADOPT = 15, /* dir, name, attrs with TYPE: take an object that is already there into the volume (import) */
	NFS4R_OP_CLAIM = 16, /* obj, depth: get (and hold) control without changing anything; for import and tools */
	/*
	 * Byte-range locks (locks 1 to 20): obj, lock. Decided within a step, by the server that may update obj then, its authority: EXECUTE is never given for
	 * them, and they make no entry.
	 */
	NFS4R_OP_LOCK = 17, /* OK: held. DENIED: conflict. BLOCKED: it waits, LOCK_READY or LOCK_AGAIN follows. NOLCK: a bound is reached. DELAY: come again */
	NFS4R_OP_LOCK_TEST = 18, /* OK: free. DENIED: conflict */
	NFS4R_OP_UNLOCK = 19, /* lock.type does not matter. A client's is done at once, always with OK; the rest happens behind it (locks 16) */
	NFS4R_OP_UNWAIT = 20, /* lock as in the LOCK that waits, or is ready and was not fetched. As UNLOCK */
	NFS4R_OP_CLIENT = 21, /* only in entries: a client of the log's server begins, or is gone (locks 7) */
	NFS4R_OP_SHARE = 24, /* obj, share: an open with what it denies others (locks 19). OK. SHARE_DENIED: conflict. DELAY: come again. Decided as a LOCK is */
};

enum nfs4r_xattr_flags {
	NFS4R_XATTR_EITHER = 0,
	NFS4R_XATTR_CREATE = 1,
	NFS4R_XATTR_REPLACE = 2
};

/* What a lock operation asks for, and its answer. The caller fills in `lock`, `wait` and `reclaim`. */
struct nfs4r_lock_request {
	/* request */
	struct nfs4r_lock lock;
	enum nfs4r_lock_wait wait; /* LOCK; else 0 */
	bool reclaim; /* LOCK: its client had it before its server, or the authority, lost its memory */
	bool confirms; /* LOCK: its client has heard that it has just this. One that does not leaves its owner's write locks what they are (locks 22). Given by the core of the holder */
	uint64_t n; /* of the holder's request: rises with every one, over restarts, too (locks 4). Given by the core of the holder */
	uint64_t since_ms; /* of an own client: since when it has waited, by the core's clock. Given by the core of the holder, and not sent */
	uint64_t waited_ms; /* LOCK: for how long it has waited when it is sent or decided (locks 20). The same */
	/* both */
	uint64_t view; /* adopted by the asking server when it asked; comes back with the answer (locks 5) */
	uint64_t inc; /* start of the asked server, as the transport names it; comes back with the answer */
	/* answer */
	bool was_granted; /* UNWAIT: it does not wait, and some of these bytes are the owner's: perhaps by that request */
	uint64_t version; /* LOCK, OK: of the file, at that moment (locks 23) */
	struct nfs4r_file_lock conflict; /* DENIED, BLOCKED: one that is in the way; lock.type 0: not known */
};

/* What an open does, and what it denies others. */
#define NFS4R_SHARE_READ 1u
#define NFS4R_SHARE_WRITE 2u
#define NFS4R_SHARE_BOTH 3u

/* Opens of a file at one server. One that reads and writes counts for both. */
struct nfs4r_opens {
	uint32_t readers, writers; /* opens with this access */
	uint32_t deny_readers, deny_writers; /* opens that deny this to all others */
};

/* An open begins, changes or ends. The caller fills in the first five. The numbers that keep copies of requests apart are in nfs4r_lock_request: n, view, inc. */
struct nfs4r_share_request {
	/* request */
	uint32_t access, deny; /* bits of NFS4R_SHARE_BOTH that it has afterwards; without access it is closed, and denies nothing */
	uint32_t had_access, had_deny; /* those that it has; without access it is a new one */
	bool reclaim; /* its client had it before its server lost its memory */
	struct nfs4r_opens others; /* all others of that server's clients, when it asked. Given by the core of that server */
	/* answer */
	uint64_t guard; /* by which guard of the answering server it was granted; 0: not granted */
};

struct nfs4r_op {
	/* request */
	uint32_t type;
	struct nfs4r_oid obj, dir, dir2;
	struct nfs4r_name name, name2;
	struct nfs4r_attrs attrs;
	struct nfs4r_cred cred;
	uint64_t offset, length; /* bytes */
	struct nfs4r_buf *data; /* WRITE, SETXATTR: one reference. May be NULL for a WRITE that is executed by a local callback */
	char *text; /* SYMLINK target or xattr name; NUL terminated, owned */
	uint32_t xflags;
	bool stable; /* WRITE: bytes are on disk before the answer */
	bool under_open; /* WRITE under an open state of this server: completes at CLOSE (control 5.3), else before the answer */
	uint32_t depth; /* CLAIM */
	struct nfs4r_request_id id;
	uint64_t answered_below;
	uint32_t generation; /* of the log of the server that is asked, as the origin knows it (log 5.6) */
	uint64_t view; /* that the origin had adopted when it asked (locks 14); since protocol 10 */
	uint64_t client; /* who asked, for recognising its retry after DELAY; local only, 0 = not known */
	struct nfs4r_lock_request lock; /* LOCK to UNWAIT; of SHARE n, view and inc */
	struct nfs4r_share_request share; /* SHARE */
	bool here_only; /* executed by this server or not at all: it is about the local tree (an import, set-id bits). Who controls what it needs is asked to let go. Local only */

	/* result */
	enum nfs4r_status status;
	struct nfs4r_oid result; /* object made or found */
	uint32_t result_type;
	struct nfs4r_attrs post; /* attributes of the result or obj after, when the executor has them */
	nfs4r_version dir_before, dir_after, dir2_before, dir2_after; /* change_info */
	nfs4r_lsn lsn; /* entry made, in log of server `primary`; 0 = none */
	nfs4r_server_id primary;
	uint64_t verifier; /* WRITE: write verifier of the answering server when it began (log 5.3) */

	void *core; /* private to the core while it has the operation */
	void *engine; /* private to the engine */
	uint64_t asked; /* private to the engine that it was forwarded to: bytes that it counts for the origin */
};

/* Frees what the op owns (data, text, groups of cred, acl of attrs and post), not the op itself. */
void nfs4r_op_fini(struct nfs4r_op *op);
const char *nfs4r_op_name(uint32_t type);
static inline bool nfs4r_op_is_dirop(uint32_t type)
{
	return (type >= NFS4R_OP_CREATE && type <= NFS4R_OP_RENAME) || type == NFS4R_OP_ADOPT;
}

static inline bool nfs4r_op_is_lock(uint32_t type)
{
	return type >= NFS4R_OP_LOCK && type <= NFS4R_OP_UNWAIT;
}

/* Decided within a step by the authority of obj, without an entry. */
static inline bool nfs4r_op_at_authority(uint32_t type)
{
	return nfs4r_op_is_lock(type) || type == NFS4R_OP_SHARE;
}

/* Of an object that exists: not of names. */
static inline bool nfs4r_op_is_file_update(uint32_t type)
{
	return type >= NFS4R_OP_SETATTR && type <= NFS4R_OP_REMOVEXATTR;
}

#endif
