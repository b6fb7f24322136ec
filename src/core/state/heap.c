/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A heap of items, the smallest key first; each item knows its place, so that it can be taken out from anywhere. In, out:
 * O(log n). For floors (control 4.8): the smallest seq still asked for, and the tombstones below a peer's floor.
 */
#include "core/state/state_int.h"

static void put(struct minheap *h, uint32_t at, struct heap_item *it)
{
	h->v[at] = it;
	it->at = at + 1;
}

static void up(struct minheap *h, uint32_t at, struct heap_item *it)
{
	for (; at && h->v[(at - 1) / 2]->key > it->key; at = (at - 1) / 2)
		put(h, at, h->v[(at - 1) / 2]);
	put(h, at, it);
}

static void down(struct minheap *h, uint32_t at, struct heap_item *it)
{
	for (;;) {
		uint32_t k = 2 * at + 1;

		if (k + 1 < h->n && h->v[k + 1]->key < h->v[k]->key)
			k++;
		if (k >= h->n || h->v[k]->key >= it->key)
			break;
		put(h, at, h->v[k]);
		at = k;
	}
	put(h, at, it);
}

void heap_in(struct minheap *h, struct heap_item *it, uint64_t key)
{
	if (it->at)
		return;
	h->v = out_grow(h->v, &h->cap, h->n, sizeof(*h->v));
	it->key = key;
	up(h, h->n++, it);
}

void heap_out(struct minheap *h, struct heap_item *it)
{
	struct heap_item *last;
	uint32_t at = it->at - 1;

	if (!it->at)
		return;
	it->at = 0;
	last = h->v[--h->n];
	if (last == it)
		return;
	if (at && h->v[(at - 1) / 2]->key > last->key)
		up(h, at, last);
	else
		down(h, at, last);
}

struct heap_item *heap_first(const struct minheap *h)
{
	return h->n ? h->v[0] : NULL;
}
