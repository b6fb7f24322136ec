/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What is noted when a checkpoint freezes (log 4.3): positions, the marks of what is being changed, and what lies beyond the contiguous entries. checkpoint.c freezes
 * everything, partial.c all but what lies behind holes.
 *
 * Failure: out of memory, before anything is changed.
 */
#include <stdlib.h>

#include "store/internal.h"

#define HOT_MAX 1024 /* objects that are marked anew; beyond it they wait for a sync, as those that were at rest do */
#define HOT_LOOK_MAX 16384 /* changes wait meanwhile */

/*
 * Objects that have a mark and were changed since it was made will likely be changed again: they are marked anew, with the version that this checkpoint has of
 * them. So the next change of a file that is written and synced again and again, or of a directory that is filled, finds a mark that is on the disk already. Until
 * LMDB has that, the journal's older mark stands. One that was not used for an interval ends.
 */
static void collect_hot(struct nfs4r_store *s, struct nfs4r_fresh *fresh, struct ov_need *need)
{
	const struct ov_table *t = &s->active->marks;
	uint32_t seen = 0;
	struct nfs4r_row row;

	for (uint64_t b = 0; b < t->nbuckets && fresh->nhot < HOT_MAX && seen < HOT_LOOK_MAX; b++) {
		for (const struct ov_node *n = t->buckets[b]; n && fresh->nhot < HOT_MAX; n = n->next, seen++) {
			const struct ov_mark *m = (const struct ov_mark *)n;

			if (nfs4r_store_row(s, &m->oid, &row) != NFS4R_KNOWN || row.version <= m->version)
				continue;
			fresh->carry[fresh->ncarry++] = (struct nfs4r_touched){ .oid = m->oid, .before = row.version };
			fresh->nhot++;
			store_ov_need_mark(need);
		}
	}
}

/* Marks that must outlive this checkpoint, and with @hot those that shall. */
static bool collect_carry(struct nfs4r_store *s, struct nfs4r_fresh *fresh, bool hot)
{
	struct ov_need need = { 0 };

	fresh->carry = calloc(s->nflights * NFS4R_PARTS_MAX + (hot ? HOT_MAX : 0) + 1, sizeof(*fresh->carry));
	if (!fresh->carry)
		return false;
	for (int b = 0; b < FLIGHT_BUCKETS; b++) {
		for (struct nfs4r_flight *f = s->flights[b]; f; f = f->next) {
			for (uint32_t i = 0; i < f->ntouched; i++) {
				if (!f->touched[i].before || FAULT(F_STORE_NO_CARRY))
					continue;
				fresh->carry[fresh->ncarry++] = f->touched[i];
				store_ov_need_mark(&need);
			}
		}
	}
	if (hot)
		collect_hot(s, fresh, &need);
	return store_ov_reserve(fresh->ov, &need);
}

/* What LMDB will have, and the positions in it do not tell. */
static bool collect_beyond(const struct nfs4r_log *logs, struct nfs4r_fresh *fresh)
{
	uint32_t n = 0;

	for (int i = 1; i < NLOGS; i++)
		for (nfs4r_lsn lsn = logs[i].applied; (lsn = store_log_next(&logs[i], lsn));)
			n++;
	fresh->beyond = calloc(n + 1, sizeof(*fresh->beyond));
	if (!fresh->beyond)
		return false;
	for (int i = 1; i < NLOGS; i++)
		for (nfs4r_lsn lsn = logs[i].applied; (lsn = store_log_next(&logs[i], lsn));) {
			const struct nfs4r_logent *e = store_log_at(&logs[i], lsn);
			struct nfs4r_beyond *b = &fresh->beyond[fresh->nbeyond++];

			b->log = (nfs4r_server_id)i;
			b->lsn = lsn;
			if (e->seq)
				nfs4r_oid_make(&b->created, e->inc & 0xffff, e->inc >> 16, e->seq);
		}
	return true;
}

enum nfs4r_status store_fresh_make(struct nfs4r_store *s, const struct nfs4r_log *logs, bool hot, struct nfs4r_fresh *f)
{
	*f = (struct nfs4r_fresh){ .ov = store_ov_new() };
	if (f->ov && collect_carry(s, f, hot) && collect_beyond(logs, f))
		return NFS4R_OK;
	store_fresh_free(f);
	return NFS4R_NOMEM;
}

void store_fresh_free(struct nfs4r_fresh *f)
{
	store_ov_free(f->ov);
	free(f->carry);
	free(f->beyond);
	*f = (struct nfs4r_fresh){ .ov = NULL };
}

void store_freeze_note(struct nfs4r_store *s, struct nfs4r_fresh *f, nfs4r_journal_pos pos)
{
	struct nfs4r_frozen *z = &s->frozen;
	struct nfs4r_meta *m = &z->meta;

	store_marks_ahead_gone(&s->marks_ahead);
	*m = s->meta;
	m->pos = pos;
	memcpy(z->last, s->last, sizeof(s->last));
	z->back = s->back;
	free(z->carry); /* of one that was left over */
	free(z->beyond);
	z->carry = f->carry;
	z->ncarry = f->ncarry;
	z->nhot = f->nhot;
	z->beyond = f->beyond;
	z->nbeyond = f->nbeyond;
	f->carry = NULL;
	f->beyond = NULL;
	for (uint32_t i = 0; i < z->ncarry; i++) {
		struct nfs4r_touched *t = &z->carry[i];
		struct ov_mark *mark = store_ov_make_mark(f->ov, &t->oid);

		if (!mark->version || t->before < mark->version)
			mark->version = t->before;
		mark->pos = m->pos;
	}
	for (int i = 0; i < NLOGS; i++) {
		m->applied[i] = s->logs[i].applied;
		m->truncated[i] = store_log_truncated(&s->logs[i]);
		m->oid_watermark[i] = s->oid_watermark[i];
	}
}
