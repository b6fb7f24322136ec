/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Entries of one log that a server can still send, ascending, of one generation after the other
 * (base/msg.h: a seal ends a generation). There may be holes: entries without a common object are
 * committed in any order.
 */
#include "sim.h"

/* Index of the first entry with LSN >= @lsn. */
static uint32_t place(const struct kept *k, nfs4r_lsn lsn)
{
	uint32_t lo = 0, hi = k->n;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (k->e[mid]->lsn < lsn)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct nfs4r_entry *kept_find(const struct kept *k, nfs4r_lsn lsn)
{
	uint32_t at = place(k, lsn);

	return at < k->n && k->e[at]->lsn == lsn ? k->e[at] : NULL;
}

nfs4r_lsn kept_last(const struct kept *k)
{
	return k->n ? k->e[k->n - 1]->lsn : 0;
}

void kept_add(struct kept *k, struct nfs4r_entry *e)
{
	uint32_t at = place(k, e->lsn);

	if (at < k->n && k->e[at]->lsn == e->lsn)
		return;
	if (k->n == k->cap) {
		k->cap = k->cap ? k->cap * 2 : 64;
		k->e = realloc(k->e, k->cap * sizeof(struct nfs4r_entry *));
	}
	memmove(k->e + at + 1, k->e + at, (k->n - at) * sizeof(struct nfs4r_entry *));
	k->e[at] = nfs4r_entry_get(e);
	k->n++;
}

void kept_drop(struct kept *k, nfs4r_lsn from, nfs4r_lsn until)
{
	uint32_t first = place(k, from), end = place(k, until + 1);

	if (first == end)
		return;
	for (uint32_t i = first; i < end; i++)
		nfs4r_entry_put(k->e[i]);
	memmove(k->e + first, k->e + end, (k->n - end) * sizeof(struct nfs4r_entry *));
	k->n -= end - first;
}

void kept_fini(struct kept *k)
{
	kept_drop(k, 0, UINT64_MAX - 1);
	free(k->e);
	memset(k, 0, sizeof(*k));
}
