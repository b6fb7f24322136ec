/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * MARKs for files that will be changed next (log 4.2). The first change in place of an old file waits for the sync of its mark: `chmod -R` would wait for one
 * sync after the other. So when a second file of a directory needs one, others of that directory get theirs with the same record, a few first; when at least half
 * of them were of use the next time, twice as many, else none. In the next directory it goes on with as many.
 *
 * A mark says "in doubt after a crash of the machine", and no more: one of no use costs a look at that file then. A checkpoint drops it.
 *
 * Files are taken in the order of the directory's cookies, in which clients list it, from where the last ones ended; after a checkpoint from where the last ones began: those of them that
 * were changed are still marked then (log 4.3), and the others are not.
 */
#include "store/internal.h"

#define AHEAD_FIRST 4
#define LOOK_MAX 4 /* times as many names are looked at, for most of those after the first in use are marked */
#define PIECE 16

void store_marks_ahead_used(struct nfs4r_marks_ahead *a, const struct ov_mark *m)
{
	if (m->ahead)
		a->used++;
}

void store_marks_ahead_gone(struct nfs4r_marks_ahead *a)
{
	if (a->made && !a->used)
		a->size = 0;
	a->cookie = a->from;
	a->used = a->made = 0;
}

/* How many this time. */
static uint32_t next_size(struct nfs4r_marks_ahead *a, const struct nfs4r_oid *dir)
{
	bool same = nfs4r_oid_eq(&a->dir, dir);

	if (a->size && 2 * a->used < a->made)
		a->size = 0;
	else if (same && !a->size)
		a->size = AHEAD_FIRST;
	else if (same && a->size < NFS4R_MARKS_AHEAD_MAX)
		a->size *= 2;
	if (!same) {
		a->dir = *dir;
		a->cookie = 0;
	}
	a->from = a->cookie;
	a->used = a->made = 0;
	return a->size;
}

static bool is_listed(const struct nfs4r_touched *list, uint32_t n, const struct nfs4r_oid *oid)
{
	for (uint32_t i = 0; i < n; i++)
		if (nfs4r_oid_eq(&list[i].oid, oid))
			return true;
	return false;
}

uint32_t store_marks_ahead_take(struct nfs4r_store *s, const struct nfs4r_oid *oid, struct nfs4r_touched *list, uint32_t n)
{
	struct nfs4r_marks_ahead *a = &s->marks_ahead;
	struct nfs4r_dirent ent[PIECE];
	struct nfs4r_oid dir;
	struct nfs4r_row row;
	uint32_t want, most = n, looked = 0, got = PIECE;

	if (nfs4r_store_row(s, oid, &row) != NFS4R_KNOWN || row.type != NFS4R_TYPE_FILE || !nfs4r_store_parents(s, oid, &dir, 1))
		return n;
	want = next_size(a, &dir);
	most += want;
	while (n < most && looked < LOOK_MAX * want && got == PIECE) {
		got = nfs4r_store_readdir(s, &dir, a->cookie, ent, PIECE);
		for (uint32_t i = 0; i < got && n < most; i++, looked++) {
			nfs4r_version v;

			a->cookie = ent[i].cookie;
			if (ent[i].type != NFS4R_TYPE_FILE || is_listed(list, n, &ent[i].oid) || store_ov_mark(s->active, &ent[i].oid))
				continue;
			v = store_unmarked(s, &ent[i].oid);
			if (v)
				list[n++] = (struct nfs4r_touched){ .oid = ent[i].oid, .before = v };
		}
	}
	a->made = n - (most - want);
	return n;
}
