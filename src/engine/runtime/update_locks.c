/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Update locks (log 3.3): held from choosing versions until local execution is done, so that the
 * order in the log is the order on the disk. Directories are locked whole, files by byte range. Also while a peer's entry
 * changes names here, until it is committed (log 8.5).
 *
 * An operation takes all its locks at once or none, so there is no order to keep and no deadlock. Few are
 * held at any time (one set per executing thread): a list and one condition are enough.
 */
#include <assert.h>
#include <stdlib.h>

#include "engine/runtime/runtime.h"

struct locks {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct op_locks *taken;
};

struct locks *engine_locks_create(void)
{
	struct locks *l = calloc(1, sizeof(*l));

	if (l) {
		pthread_mutex_init(&l->lock, NULL);
		pthread_cond_init(&l->cond, NULL);
	}
	return l;
}

void engine_locks_destroy(struct locks *l)
{
	if (!l)
		return;
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->cond);
	free(l);
}

static bool ranges_meet(const struct lock_want *a, const struct lock_want *b)
{
	if (a->whole || b->whole)
		return true;
	return a->off < b->off + b->len && b->off < a->off + a->len;
}

static bool conflicts(const struct locks *l, const struct op_locks *h)
{
	for (const struct op_locks *o = l->taken; o; o = o->next)
		for (uint32_t i = 0; i < o->n; i++)
			for (uint32_t j = 0; j < h->n; j++)
				if (nfs4r_oid_eq(&o->want[i].oid, &h->want[j].oid) && ranges_meet(&o->want[i], &h->want[j]))
					return true;
	return false;
}

void engine_locks_take(struct locks *l, struct op_locks *h)
{
	pthread_mutex_lock(&l->lock);
	while (conflicts(l, h))
		pthread_cond_wait(&l->cond, &l->lock);
	h->next = l->taken;
	l->taken = h;
	pthread_mutex_unlock(&l->lock);
}

void engine_locks_drop(struct locks *l, struct op_locks *h)
{
	struct op_locks **p = &l->taken;

	pthread_mutex_lock(&l->lock);
	while (*p != h) {
		assert(*p); /* who drops has taken */
		p = &(*p)->next;
	}
	*p = h->next;
	pthread_cond_broadcast(&l->cond);
	pthread_mutex_unlock(&l->lock);
}
