/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A treap: sorted by first byte and owner from left to right, and by priority from the top. */
#include "base/lock_ranges.h"

static int order(const struct nfs4r_lock *a, const struct nfs4r_lock *b)
{
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return memcmp(&a->owner, &b->owner, sizeof(a->owner));
}

/* After a change below @r. */
static void sum_up(struct nfs4r_lock_range *r)
{
	r->max_last = r->lock.last;
	r->any_write = r->lock.type == NFS4R_LOCK_WRITE;
	for (int i = 0; i < 2; i++) {
		const struct nfs4r_lock_range *below = i == 0 ? r->left : r->right;

		if (below == NULL)
			continue;
		if (below->max_last > r->max_last)
			r->max_last = below->max_last;
		r->any_write |= below->any_write;
	}
}

/* @r in two: what comes before @lock, and the rest. */
static void split(struct nfs4r_lock_range *r, const struct nfs4r_lock *lock, struct nfs4r_lock_range **before, struct nfs4r_lock_range **rest)
{
	if (r == NULL) {
		*before = *rest = NULL;
		return;
	}
	if (order(&r->lock, lock) < 0) {
		split(r->right, lock, &r->right, rest);
		*before = r;
	} else {
		split(r->left, lock, before, &r->left);
		*rest = r;
	}
	sum_up(r);
}

/* All of @a comes before all of @b. */
static struct nfs4r_lock_range *join(struct nfs4r_lock_range *a, struct nfs4r_lock_range *b)
{
	if (a == NULL || b == NULL)
		return a == NULL ? b : a;
	if (a->priority > b->priority) {
		a->right = join(a->right, b);
		sum_up(a);
		return a;
	}
	b->left = join(a, b->left);
	sum_up(b);
	return b;
}

void nfs4r_lock_range_insert(struct nfs4r_lock_range **root, struct nfs4r_lock_range *range)
{
	struct nfs4r_lock_range *r = *root;

	if (r == NULL || range->priority > r->priority) {
		split(r, &range->lock, &range->left, &range->right);
		*root = range;
	} else {
		nfs4r_lock_range_insert(order(&range->lock, &r->lock) < 0 ? &r->left : &r->right, range);
	}
	sum_up(*root);
}

void nfs4r_lock_range_remove(struct nfs4r_lock_range **root, struct nfs4r_lock_range *range)
{
	struct nfs4r_lock_range *r = *root;

	if (r == range) {
		*root = join(r->left, r->right);
		return;
	}
	nfs4r_lock_range_remove(order(&range->lock, &r->lock) < 0 ? &r->left : &r->right, range);
	sum_up(r);
}

struct nfs4r_lock_range *nfs4r_lock_range_in_the_way(struct nfs4r_lock_range *root, const struct nfs4r_lock *want)
{
	struct nfs4r_lock_range *r;

	if (root == NULL || root->max_last < want->start || (want->type == NFS4R_LOCK_READ && !root->any_write))
		return NULL;
	r = nfs4r_lock_range_in_the_way(root->left, want);
	if (r != NULL || root->lock.start > want->last)
		return r;
	return nfs4r_lock_conflicts(&root->lock, want) ? root : nfs4r_lock_range_in_the_way(root->right, want);
}

struct nfs4r_lock_range *nfs4r_lock_range_own(struct nfs4r_lock_range *root, const struct nfs4r_lock *what)
{
	struct nfs4r_lock_range *r;

	if (root == NULL || root->max_last < what->start)
		return NULL;
	r = nfs4r_lock_range_own(root->left, what);
	if (r != NULL || root->lock.start > what->last)
		return r;
	return nfs4r_lock_overlaps(&root->lock, what) && nfs4r_lock_same_owner(&root->lock, what) ? root : nfs4r_lock_range_own(root->right, what);
}
