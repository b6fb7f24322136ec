/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The ranges that are held of one file, for locks.c: a tree by first byte. A part of it that ends before what is asked for is passed over, and so is a part without write
 * locks when a read lock is asked for. Ranges of one owner are disjoint. Nothing here allocates: the caller's ranges are linked, and are its own again when they are out.
 */
#ifndef NFS4R_BASE_LOCK_RANGES_H
#define NFS4R_BASE_LOCK_RANGES_H

#include "base/locks.h"

struct nfs4r_lock_range {
	struct nfs4r_lock_range *left, *right; /* right: also the next in the caller's list of unused ones */
	struct nfs4r_lock lock;
	uint64_t max_last; /* of this part of the tree */
	uint64_t since_ms;
	uint32_t priority; /* random, from the caller: it keeps the tree flat */
	bool any_write; /* in this part of the tree */
};

static inline bool nfs4r_lock_same_owner(const struct nfs4r_lock *a, const struct nfs4r_lock *b)
{
	return memcmp(&a->owner, &b->owner, sizeof(a->owner)) == 0;
}

static inline bool nfs4r_lock_overlaps(const struct nfs4r_lock *a, const struct nfs4r_lock *b)
{
	return a->start <= b->last && b->start <= a->last;
}

/* May two owners not have both? */
static inline bool nfs4r_lock_conflicts(const struct nfs4r_lock *a, const struct nfs4r_lock *b)
{
	return (a->type == NFS4R_LOCK_WRITE || b->type == NFS4R_LOCK_WRITE) && nfs4r_lock_overlaps(a, b) && !nfs4r_lock_same_owner(a, b);
}

void nfs4r_lock_range_insert(struct nfs4r_lock_range **root, struct nfs4r_lock_range *range);
void nfs4r_lock_range_remove(struct nfs4r_lock_range **root, struct nfs4r_lock_range *range); /* one that is in */
/* One that conflicts with @want, the first by its first byte; or NULL. */
struct nfs4r_lock_range *nfs4r_lock_range_in_the_way(struct nfs4r_lock_range *root, const struct nfs4r_lock *want);
/* One of the owner of @what that overlaps it; or NULL. */
struct nfs4r_lock_range *nfs4r_lock_range_own(struct nfs4r_lock_range *root, const struct nfs4r_lock *what);

#endif
