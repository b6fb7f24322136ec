/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Handles of directories of the sub-FSAL, kept between the engine's visits. To make one the sub-FSAL opens the
 * directory and looks at it, and a stream of updates visits the same few directories over and over.
 *
 * Such a handle is bytes in memory and nothing else: no descriptor is open, and a directory that is gone answers
 * STALE when it is used, as it would when the handle is made. Files are not kept: their handles own descriptors, share
 * reservations and, in FSAL_VFS, the way by which a socket or device is found.
 *
 * One slot for each hash. A handle is released by whoever lets go of it last, a user or the slot.
 */
#include "base/fnv.h"
#include "repl.h"

#define SLOTS 256

struct repl_kept {
	uint32_t refs; /* under the lock */
	struct nfs4r_lhandle h;
	struct fsal_obj_handle *sub;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* one daemon has one export (export.c) */
static struct repl_kept *slots[SLOTS];

static struct repl_kept **slot_of(const struct nfs4r_lhandle *h)
{
	return &slots[(nfs4r_fnv(NFS4R_FNV_BEGIN, h->b, h->len) >> 32) % SLOTS];
}

static struct repl_kept *find(const struct nfs4r_lhandle *h)
{
	struct repl_kept *k;

	PTHREAD_MUTEX_lock(&lock);
	k = *slot_of(h);
	if (k != NULL && (k->h.len != h->len || memcmp(k->h.b, h->b, h->len) != 0))
		k = NULL;
	if (k != NULL)
		k->refs++;
	PTHREAD_MUTEX_unlock(&lock);
	return k;
}

void repl_sub_put(struct repl_kept *k)
{
	bool last;

	PTHREAD_MUTEX_lock(&lock);
	last = --k->refs == 0;
	PTHREAD_MUTEX_unlock(&lock);
	if (!last)
		return;
	k->sub->obj_ops->release(k->sub);
	gsh_free(k);
}

fsal_status_t repl_sub_get(struct repl_export *exp, const struct nfs4r_lhandle *h, struct repl_kept **out,
			   struct fsal_obj_handle **sub)
{
	struct repl_kept *k = find(h), **slot, *old;
	fsal_status_t st = fsalstat(ERR_FSAL_NO_ERROR, 0);

	if (k == NULL) {
		st = repl_sub_open(exp, h, sub);
		if (FSAL_IS_ERROR(st))
			return st;
		k = gsh_calloc(1, sizeof(*k));
		k->refs = 1;
		k->h = *h;
		k->sub = *sub;
		if (k->sub->type == DIRECTORY) {
			k->refs = 2;
			PTHREAD_MUTEX_lock(&lock);
			slot = slot_of(h);
			old = *slot;
			*slot = k;
			PTHREAD_MUTEX_unlock(&lock);
			if (old != NULL)
				repl_sub_put(old);
		}
	}
	*out = k;
	*sub = k->sub;
	return st;
}

void repl_sub_cache_flush(void)
{
	struct repl_kept *k;

	for (size_t i = 0; i < SLOTS; i++) {
		PTHREAD_MUTEX_lock(&lock);
		k = slots[i];
		slots[i] = NULL;
		PTHREAD_MUTEX_unlock(&lock);
		if (k != NULL)
			repl_sub_put(k);
	}
}
