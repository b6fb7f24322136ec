/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Local object operations: what the engine needs from the file system below it.
 * FSAL_REPL fills the table with calls to its sub-FSAL; tests with a plain directory.
 *
 * Called from engine threads (never from a client's worker), many at once, but never two that
 * change the same object. All may block on the disk. `cred` NULL = as root; else the caller's
 * permissions count. Objects are named by the local file system's own handles.
 */
#ifndef NFS4R_ENGINE_LOPS_H
#define NFS4R_ENGINE_LOPS_H

#include <string.h>

#include "base/locks.h"
#include "base/op.h"

struct nfs4r_lhandle {
	uint8_t len; /* 0 = none */
	uint8_t b[NFS4R_LOCAL_HANDLE_MAX];
};

/* Both lead to the same object; false if one leads nowhere. */
static inline bool nfs4r_lhandle_eq(const struct nfs4r_lhandle *a, const struct nfs4r_lhandle *b)
{
	return a->len && a->len == b->len && memcmp(a->b, b->b, a->len) == 0;
}

/* @h is the object that @e makes here. */
static inline void nfs4r_entry_set_handle(struct nfs4r_entry *e, const struct nfs4r_lhandle *h)
{
	e->handle_len = h->len;
	memcpy(e->handle, h->b, h->len);
}

/* A byte-range lock of a client of this server, or its request that waits for one. */
struct nfs4r_lock_info {
	struct nfs4r_oid oid;
	struct nfs4r_lock lock;
	enum nfs4r_lock_state state;
	uint64_t age_ms; /* since it was granted, or asked for */
	char client[128]; /* the name that the client gives itself, any bytes but NUL; empty: not known */
	char address[64]; /* of the client; empty: not known */
};

enum nfs4r_was {
	NFS4R_WAS_IMMUTABLE = 1,
	NFS4R_WAS_APPEND_ONLY = 2
}; /* bits */

struct nfs4r_lops {
	enum nfs4r_status (*root)(void *ctx, struct nfs4r_lhandle *out);
	enum nfs4r_status (*lookup)(void *ctx, const struct nfs4r_lhandle *dir, const char *name, struct nfs4r_lhandle *out);
	/*
	 * Make an object of attrs->type (file, directory, symlink, fifo, socket, device) with exactly the mode, owner, times and
	 * ACL given in attrs->mask. Fails with EXIST, never opens what is there. *post: MODE UID GID SIZE ATIME NLINK TYPE (and ACL if any).
	 */
	enum nfs4r_status (*create)(void *ctx, const struct nfs4r_lhandle *dir, const char *name, const struct nfs4r_attrs *attrs,
				    const char *linktext, const struct nfs4r_cred *cred, struct nfs4r_lhandle *out, struct nfs4r_attrs *post);
	enum nfs4r_status (*link)(void *ctx, const struct nfs4r_lhandle *obj, const struct nfs4r_lhandle *dir, const char *name, const struct nfs4r_cred *cred);
	/* unlink or rmdir, by what it is; obj may be needed by a sub-FSAL and is what the name means. */
	enum nfs4r_status (*remove)(void *ctx, const struct nfs4r_lhandle *dir, const char *name, const struct nfs4r_lhandle *obj, const struct nfs4r_cred *cred);
	enum nfs4r_status (*rename)(void *ctx, const struct nfs4r_lhandle *obj, const struct nfs4r_lhandle *dir, const char *name,
				    const struct nfs4r_lhandle *dir2, const char *name2, const struct nfs4r_cred *cred);
	/* All of @len or an error. @stable: on disk before it returns. */
	enum nfs4r_status (*write)(void *ctx, const struct nfs4r_lhandle *obj, uint64_t off, const void *bytes, uint32_t len, bool stable, const struct nfs4r_cred *cred);
	/* *len in: wanted; out: got. *eof: the end was reached. */
	enum nfs4r_status (*read)(void *ctx, const struct nfs4r_lhandle *obj, uint64_t off, void *bytes, uint32_t *len, bool *eof);
	/* MODE UID GID SIZE ATIME MTIME ACL by mask; of a symbolic link all but MODE, SIZE and ACL. *post (may be NULL) as in create. */
	enum nfs4r_status (*setattr)(void *ctx, const struct nfs4r_lhandle *obj, const struct nfs4r_attrs *attrs, const struct nfs4r_cred *cred, struct nfs4r_attrs *post);
	/* @punch: make a hole (size stays); else allocate (size may grow). */
	enum nfs4r_status (*allocate)(void *ctx, const struct nfs4r_lhandle *obj, uint64_t off, uint64_t len, bool punch, const struct nfs4r_cred *cred);
	/* Extended attributes of objects of every type, by full names: user.x, security.y (base/xattr.h). */
	enum nfs4r_status (*setxattr)(void *ctx, const struct nfs4r_lhandle *obj, const char *name, const void *val, uint32_t len, uint32_t flags, const struct nfs4r_cred *cred);
	enum nfs4r_status (*removexattr)(void *ctx, const struct nfs4r_lhandle *obj, const char *name, const struct nfs4r_cred *cred);
	enum nfs4r_status (*getxattr)(void *ctx, const struct nfs4r_lhandle *obj, const char *name, void *val, uint32_t *len);
	/* Names one after the other, each NUL terminated: those that a volume has (nfs4r_xattr_is_carried()). */
	enum nfs4r_status (*listxattr)(void *ctx, const struct nfs4r_lhandle *obj, char *names, uint32_t *len);
	/* All attributes the local file system has: TYPE MODE UID GID SIZE SPACE ATIME MTIME NLINK RDEV (ACL: one reference). */
	enum nfs4r_status (*getattr)(void *ctx, const struct nfs4r_lhandle *obj, struct nfs4r_attrs *out);
	enum nfs4r_status (*readlink)(void *ctx, const struct nfs4r_lhandle *obj, char *text, uint32_t *len);
	/* Every name of a directory (not . and ..); fn returning false ends it. */
	enum nfs4r_status (*readdir)(void *ctx, const struct nfs4r_lhandle *dir, bool (*fn)(void *arg, const char *name), void *arg);
	enum nfs4r_status (*commit)(void *ctx, const struct nfs4r_lhandle *obj); /* fsync */
	int (*sync_all)(void *ctx); /* syncfs; 0 or errno value. Used as the checkpoint's sync_files */
	enum nfs4r_status (*seek)(void *ctx, const struct nfs4r_lhandle *obj, uint64_t off, bool hole, uint64_t *result, bool *eof);
	/*
	 * May op->cred do @op, which changes @obj (LINK: the directory)? Asked under the update locks, before anything is in the journal, for what the calls above do not check
	 * themselves: SETATTR, WRITE, ALLOCATE, DEALLOCATE, SETXATTR, REMOVEXATTR, LINK; never for uid 0. ACCES or PERM: no. Anything else but OK: it cannot be told. Set-id bits that
	 * the caller may not set are taken out of op->attrs.mode. NULL: everybody may do all.
	 */
	enum nfs4r_status (*may)(void *ctx, const struct nfs4r_lhandle *obj, struct nfs4r_op *op);
	/* An open descriptor of the exported directory, which stays the callee's: for the room and the limits of its file system. May be NULL: they are not known. */
	int (*dir_fd)(void *ctx);
	/*
	 * Blocks until the daemon that this server is a part of has started as a whole: only then does the server join the others. False: it never will.
	 * On a thread of the engine. May be NULL: it has.
	 */
	bool (*ready)(void *ctx);
	/*
	 * The server has halted, and what it halted for is over: who started it is to stop it, and to start another one in its place (log 4.15). Called once, on a thread of the
	 * engine, which must not wait for that. May be NULL: a person restarts it.
	 */
	void (*again)(void *ctx);
	/* Is the ACL among the extended attributes, too? Then a copy takes it from there, for there it is exact. NULL: no. */
	bool (*acl_is_xattr)(void *ctx);
	/* Bytes of extended attributes that an object takes for this ACL at most, and a directory besides, for what its children inherit (0: it inherits nothing). NULL: not known. */
	enum nfs4r_status (*acl_bytes)(void *ctx, const struct nfs4r_buf *acl, uint32_t *own, uint32_t *inherited);
	/* Is @name of @dir where another file system, or a directory of this one, is mounted? NULL: nothing is. */
	enum nfs4r_status (*is_mount)(void *ctx, const struct nfs4r_lhandle *dir, const char *name, bool *yes);
	/* Takes inode flags away because of which nobody may change the object. *had: NFS4R_WAS_*. NULL: there are none. */
	enum nfs4r_status (*make_mutable)(void *ctx, const struct nfs4r_lhandle *obj, uint32_t *had);
	/* The object changed under an update that came from a peer: drop what is cached about it. May be NULL. */
	void (*changed)(void *ctx, const struct nfs4r_oid *oid, bool is_dir);
	/* The object has another local handle from now on, since what the old one led to was removed behind NFS (self_heal.c). May be NULL. */
	void (*moved)(void *ctx, const struct nfs4r_oid *oid);
	/* The locks of this server's clients, of @oid or (NULL) of all files: the first @max into @out. Returns how many there are. NULL: the engine's caller keeps none. */
	uint32_t (*locks)(void *ctx, const struct nfs4r_oid *oid, struct nfs4r_lock_info *out, uint32_t max);
	/* How many there are; with the one before. */
	void (*count_locks)(void *ctx, struct nfs4r_locks_count *out);
	/*
	 * Where locks hold at all servers: news of a LOCK that was answered with BLOCKED, @lock as it was asked for. Ready: it is that client's now. The client is to be told to ask again, until it does, or
	 * UNWAIT follows; it may be called from here, and must be when nobody waits for it any more. Again: nobody knows of this request now (control of the file has moved, or the lock was not fetched), and
	 * the client is to be told to ask again. One call at a time, in the order of the news; they must not wait for other servers. May be NULL.
	 */
	void (*lock_ready)(void *ctx, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock);
	void (*lock_again)(void *ctx, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock);
	/*
	 * Fence: this server was outside the view, and its clients may have lost locks. The engine has forgotten what they had or waited for, and answers no client until nfs4r_fence_over(@number): every
	 * client has to begin anew, and reclaim (nfs4r_lock(), nfs4r_client_reclaimed()). @nlost of them cannot, since all of theirs is lost. A later number takes the place of an earlier one. Must not
	 * wait for other servers. NULL: the caller has no clients with locks.
	 */
	void (*fence)(void *ctx, uint32_t number, uint32_t nlost);
	/*
	 * From now on locks and opens hold at all servers (nfs4r_locks_are_shared()): after the start of the engine in such a volume, or when the upgrade to it is finished. What clients have is to be asked for
	 * now, as reclaims (nfs4r_lock(), nfs4r_share()), since no other server knows of it. Nobody is granted anything else until all servers have called nfs4r_locks_known(). Called once, on a thread of the
	 * engine that may wait for other servers. NULL: the caller's clients have nothing at that time.
	 */
	void (*locks_shared)(void *ctx);
};

#endif
