/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the logs say about objects in doubt (log 4.6): which entries touched them. crash_check.c tells the whole of it.
 *
 * Entries since the last checkpoint tell what is in doubt. Where this server has to go on from a copy that is older than its own, or its own copy is the only one, those from before
 * the checkpoint count, too: all that the logs still have of the objects in doubt is read once then. Versions tell whether there is a gap.
 */
#include <stdlib.h>

#include "base/room.h"
#include "engine/resync/resync_int.h"

bool resync_touches_add(struct touches *t, const struct touch *touch)
{
	if (!NFS4R_ROOM(t->v, t->n, t->cap))
		return false;
	t->v[t->n++] = *touch;
	return true;
}

static int by_version(const void *a, const void *b)
{
	const struct touch *x = a, *y = b;
	int c = nfs4r_oid_cmp(&x->oid, &y->oid);

	if (c)
		return c;
	return x->after < y->after ? -1 : x->after > y->after;
}

void resync_touches_sort(struct touches *t)
{
	if (t->n)
		qsort(t->v, t->n, sizeof(*t->v), by_version);
}

size_t resync_touches_first(const struct touches *t, const struct nfs4r_oid *oid)
{
	size_t lo = 0, hi = t->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (nfs4r_oid_cmp(&t->v[mid].oid, oid) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool resync_touches_of_log(struct touches *t, struct nfs4r_engine *eng, nfs4r_server_id log, nfs4r_lsn from, nfs4r_lsn until, struct repair *only)
{
	struct nfs4r_entry *e;
	bool ok = true;

	for (nfs4r_lsn lsn = from; ok && (lsn = nfs4r_store_log_next(eng->store, log, lsn)) && lsn <= until;) {
		e = nfs4r_store_log_read(eng->store, log, lsn);
		for (uint32_t i = 0; e && ok && i < e->nparts; i++) {
			const struct nfs4r_part *p = &e->parts[i];

			if (!only || resync_find(only, &p->oid, only->n))
				ok = resync_touches_add(t, &(struct touch){ p->oid, p->before, p->after, log, lsn });
		}
		if (e)
			nfs4r_entry_put(e);
	}
	return ok;
}

struct nfs4r_entry *resync_touches_next_entry(const struct doubt *d, const struct touches *t, const struct nfs4r_oid *oid, size_t *i, struct nfs4r_part **part)
{
	for (; *i < t->n && nfs4r_oid_eq(&t->v[*i].oid, oid); ++*i) {
		const struct touch *at = &t->v[*i];
		struct nfs4r_entry *e = at->lsn ? nfs4r_store_log_read(d->repair.eng->store, at->log, at->lsn) : NULL;

		*part = e ? nfs4r_entry_part(e, oid) : NULL;
		if (*part) {
			++*i;
			return e;
		}
		if (e)
			nfs4r_entry_put(e);
	}
	return NULL;
}

bool resync_touches_lead(const struct touches *t, const struct nfs4r_oid *oid, nfs4r_version from, nfs4r_version to)
{
	nfs4r_version at = from;

	for (size_t i = resync_touches_first(t, oid); i < t->n && nfs4r_oid_eq(&t->v[i].oid, oid) && at != to; i++)
		if (t->v[i].lsn && t->v[i].after > from) {
			if (t->v[i].before != at)
				return false;
			at = t->v[i].after;
		}
	return at == to;
}

nfs4r_version resync_touches_begin(const struct touches *t, const struct nfs4r_oid *oid, nfs4r_version to)
{
	size_t first = resync_touches_first(t, oid), i = first;
	nfs4r_version at = to;

	while (i < t->n && nfs4r_oid_eq(&t->v[i].oid, oid))
		i++;
	while (i-- > first)
		if (t->v[i].lsn && t->v[i].after == at)
			at = t->v[i].before;
	return at;
}

const struct touches *resync_crash_history(struct doubt *d)
{
	struct touches *t = &d->history;

	pthread_mutex_lock(&d->history_lock);
	if (!d->history_read) {
		bool ok = true;

		t->n = 0;
		for (nfs4r_server_id s = 1; ok && s <= NFS4R_SERVERS_MAX; s++)
			ok = resync_touches_of_log(t, d->repair.eng, s, 0, UINT64_MAX, &d->repair);
		resync_touches_sort(t);
		d->history_read = ok;
	}
	t = d->history_read ? t : NULL;
	pthread_mutex_unlock(&d->history_lock);
	return t;
}
