/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Log entry: one update of one primary, Zebra's "delta" (log 3).
 * Values are absolute, never increments, so that applying twice does no harm.
 */
#ifndef NFS4R_BASE_ENTRY_H
#define NFS4R_BASE_ENTRY_H

#include "base/attrs.h"
#include "base/client.h"
#include "base/locks.h"

enum nfs4r_depth { /* wire and disk values */
	NFS4R_SHALLOW = 1,
	NFS4R_DEEP = 2,
	NFS4R_DEEP_PLUS = 3,
};

enum nfs4r_claim_kind {
	NFS4R_PROPOSED = 1, /* by election */
	NFS4R_CREATED = 2, /* comes with the entry that creates the object */
	NFS4R_MOVED = 3, /* comes with the entry that moves the object */
	NFS4R_GAP = 4, /* of a JOINROWS only, and no claim: what was controlled when a log ended (locks 11) */
};

struct nfs4r_control {
	struct nfs4r_oid oid;
	uint32_t depth; /* enum nfs4r_depth */
};

enum nfs4r_effect {
	NFS4R_EFF_NONE = 1, /* version moves, nothing else (a void update) */
	NFS4R_EFF_CREATE = 2, /* attrs, parent, linktext; before is 0 */
	NFS4R_EFF_WRITE = 3, /* off, len: payload of the entry */
	NFS4R_EFF_ATTRS = 4, /* attrs (may include SIZE and ACL) */
	NFS4R_EFF_XATTR = 5, /* xname, payload of the entry or removal */
	NFS4R_EFF_NAMES = 6, /* names[] of a directory */
	NFS4R_EFF_LINKS = 7, /* nlink, multi, one parent gained or lost */
	NFS4R_EFF_PARENT = 8, /* object renamed: parent_from -> parent (may be equal) */
	NFS4R_EFF_ALLOC = 9, /* off, len, punch */
	NFS4R_EFF_INSTALL = 10, /* whole content; log 7.5, not issued yet */
	NFS4R_EFF_LOCKS = 11, /* locks[]: all that are held of a file, whoever held which before (locks 3). Neither times nor attributes change */
	NFS4R_EFF_CLIENT = 12, /* client, client_word, client_n, client_below: of the server whose list the object names (locks 7; base/client.h). There is no such object */
};

struct nfs4r_name_change {
	struct nfs4r_name name;
	struct nfs4r_oid oid; /* zero: the name goes away */
	uint32_t type; /* enum nfs4r_type of oid */
	uint64_t cookie; /* readdir cookie, 3..2^63-1; of the removed name when it goes away */
};

/*
 * What happens to one object. Parts of an operation, in this order:
 *  create..      [0] object CREATE  [1] directory NAMES
 *  write/size/attrs/xattr/alloc     [0] the object
 *  lock                             [0] the object LOCKS
 *  client                           [0] CLIENT
 *  link          [0] directory NAMES  [1] object LINKS (nlink + 1, multi, parent gained)
 *  unlink/rmdir  [0] directory NAMES  [1] object LINKS (nlink - 1 or 0 = dead, parent lost)
 *  rename        [0] source directory NAMES (both changes when it is also the target directory)
 *                [..] target directory NAMES  [..] object PARENT  [..] replaced target LINKS
 */
struct nfs4r_part {
	struct nfs4r_oid oid;
	nfs4r_version before, after;
	uint32_t effect; /* enum nfs4r_effect */
	int64_t ctime; /* ns; the object's ctime after */
	int64_t mtime; /* ns; the object's mtime after; 0 = unchanged, unless attrs say that it is 0 */
	struct nfs4r_attrs attrs; /* CREATE, ATTRS: values after */
	uint64_t off, len; /* WRITE, ALLOC: bytes. WRITE: len as executed, also when the payload is short */
	bool punch; /* ALLOC: hole instead of space */
	bool multi; /* LINKS: sticky flag after */
	bool parent_gained; /* LINKS: parent names the directory gained (else lost; zero = none) */
	uint32_t nlink; /* LINKS: after; 0 = dead */
	struct nfs4r_oid parent; /* CREATE, PARENT: parent after; LINKS: directory gained or lost */
	struct nfs4r_oid parent_from; /* PARENT */
	uint32_t nnames;
	struct nfs4r_name_change *names; /* NAMES: nnames of them, owned by the entry */
	char *linktext; /* CREATE of a symlink, NUL terminated, owned by the entry */
	char *xname; /* XATTR, NUL terminated, owned by the entry */
	bool xremove; /* XATTR: removal */
	uint32_t nlocks;
	struct nfs4r_file_lock *locks; /* LOCKS: nlocks of them, by first byte, owned by the entry; NULL: none is left */
	struct nfs4r_client *client; /* CLIENT, owned by the entry; of one that is gone only its id counts */
	uint32_t client_word; /* enum nfs4r_client_word */
	uint64_t client_n;
	nfs4r_lsn client_below; /* of CLIENTS_ENDED, else 0 */
};

struct nfs4r_joined { /* claim that comes with the entry; pid.server 0 = none */
	struct nfs4r_pid pid;
	struct nfs4r_control control;
	uint32_t kind; /* NFS4R_CREATED or NFS4R_MOVED */
};

struct nfs4r_entry {
	uint32_t refs; /* atomic */
	nfs4r_server_id log; /* whose log */
	nfs4r_lsn lsn;
	uint64_t view; /* view number it was executed in; 1 while views are fixed */
	uint32_t op; /* enum nfs4r_op_type, for people and recovery */
	struct nfs4r_request_id request; /* origin 0 = none */
	uint64_t answered_below; /* of the origin, for garbage collection of results */
	struct nfs4r_oid result; /* object made, or zero */
	struct nfs4r_joined joined;
	uint32_t nparts;
	struct nfs4r_part parts[NFS4R_PARTS_MAX];
	bool has_payload; /* the operation carries bytes (WRITE or XATTR value) */
	struct nfs4r_buf *payload; /* may be absent (has to be read back) or shorter than len after a read-back */
	nfs4r_lsn after[NFS4R_SERVERS_MAX + 1]; /* a directory that changes parents: positions of the other logs (index = server id) that it was
					 * executed on; who applies it has them applied. Else zeroes */
	nfs4r_server_id fuzzy_log; /* read back: newest entry assigned to the file when the read ended; 0 = exact */
	nfs4r_lsn fuzzy_lsn;
	/* local only, never on the wire: */
	uint64_t bytes_at; /* WRITE: the payload is to be kept in the journal, or is there since this position (log 4.10); 0 = it is in the file only */
	uint8_t handle_len; /* sub-FSAL handle of parts[0].oid of a CREATE, filled by whoever executed or applied it here */
	uint8_t handle[NFS4R_LOCAL_HANDLE_MAX];
};

struct nfs4r_entry *nfs4r_entry_new(void); /* zeroed, one reference */
struct nfs4r_entry *nfs4r_entry_get(struct nfs4r_entry *e);
void nfs4r_entry_put(struct nfs4r_entry *e); /* frees names, texts, acl, payload with the last reference */
/* Part of @oid, or NULL. */
struct nfs4r_part *nfs4r_entry_part(struct nfs4r_entry *e, const struct nfs4r_oid *oid);
struct nfs4r_part *nfs4r_entry_part_with(struct nfs4r_entry *e, enum nfs4r_effect effect); /* the first, or NULL */
/* Allocate @n zeroed name changes in @p; false when out of memory or n > NFS4R_NAME_CHANGES_MAX. */
bool nfs4r_part_names(struct nfs4r_part *p, uint32_t n);
/* Allocate @n zeroed locks in @p, 0: none; false when out of memory or n > NFS4R_LOCKS_LIST_MAX. */
bool nfs4r_part_locks(struct nfs4r_part *p, uint32_t n);
/* Payload bytes that travel with the entry: payload->len, or the operation's length while it is only on disk. */
uint64_t nfs4r_entry_bytes(const struct nfs4r_entry *e);

#endif
