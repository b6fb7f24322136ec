/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* For scenarios of locks: write locks of single bytes, owner @who, whose client is { @who, 1 }. */
#ifndef NFS4R_TESTS_BYTE_LOCKS_H
#define NFS4R_TESTS_BYTE_LOCKS_H

#include "scenario/net.h"

static inline struct nfs4r_lock byte(uint64_t who, uint64_t at)
{
	return (struct nfs4r_lock){ .owner = { .client = { who, 1 }, .owner = { 2, who } }, .type = NFS4R_LOCK_WRITE, .start = at, .last = at };
}

static inline struct client *lock_byte(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint64_t who, uint64_t at)
{
	struct nfs4r_lock lock = byte(who, at);

	return op_lock(n, s, f, &lock, NFS4R_LOCK_TRY);
}

static inline void unlock_byte(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint64_t who, uint64_t at)
{
	struct nfs4r_lock lock = byte(who, at);

	op_unlock(n, s, f, &lock);
}

#endif
