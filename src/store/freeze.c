/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What is noted when a checkpoint freezes (log sheet 4.3): positions, the marks of what is being changed, and what lies beyond the contiguous entries. checkpoint.c freezes
 * everything, aside.c all but what lies behind holes.
 *
 * Failure: out of memory, before anything is changed.
 */
#include <stdlib.h>

#include "store/internal.h"

/* Marks that must outlive this checkpoint. */
static bool collect_carry(const struct nfs4r_store *s, struct nfs4r_fresh *fresh)
{
	struct ov_need need = { 0 };

	fresh->carry = calloc(s->nflights * NFS4R_PARTS_MAX + 1, sizeof(*fresh->carry));
	if (!fresh->carry)
		return false;
	for (int b = 0; b < FLIGHT_BUCKETS; b++) {
		for (struct nfs4r_flight *f = s->flights[b]; f; f = f->next) {
			for (uint32_t i = 0; i < f->ntouched; i++) {
				if (!f->touched[i].before || FAULT(F_STORE_NO_CARRY))
					continue;
				fresh->carry[fresh->ncarry++] = f->touched[i];
				nfs4r_ov_need_mark(&need);
			}
		}
	}
	return nfs4r_ov_reserve(fresh->ov, &need);
}

/* What LMDB will have, and the positions in it do not tell. */
static bool collect_beyond(const struct nfs4r_log *logs, struct nfs4r_fresh *fresh)
{
	uint32_t n = 0;

	for (int i = 1; i < NLOGS; i++)
		for (nfs4r_lsn lsn = logs[i].applied; (lsn = nfs4r_log_next(&logs[i], lsn));)
			n++;
	fresh->beyond = calloc(n + 1, sizeof(*fresh->beyond));
	if (!fresh->beyond)
		return false;
	for (int i = 1; i < NLOGS; i++)
		for (nfs4r_lsn lsn = logs[i].applied; (lsn = nfs4r_log_next(&logs[i], lsn));) {
			const struct nfs4r_logent *e = nfs4r_log_at(&logs[i], lsn);
			struct nfs4r_beyond *b = &fresh->beyond[fresh->nbeyond++];

			b->log = (nfs4r_server_id)i;
			b->lsn = lsn;
			if (e->seq)
				nfs4r_oid_make(&b->created, e->inc & 0xffff, e->inc >> 16, e->seq);
		}
	return true;
}

enum nfs4r_status nfs4r_fresh_make(struct nfs4r_store *s, const struct nfs4r_log *logs, struct nfs4r_fresh *f)
{
	*f = (struct nfs4r_fresh){ .ov = nfs4r_ov_new() };
	if (f->ov && collect_carry(s, f) && collect_beyond(logs, f))
		return NFS4R_OK;
	nfs4r_fresh_free(f);
	return NFS4R_NOMEM;
}

void nfs4r_fresh_free(struct nfs4r_fresh *f)
{
	nfs4r_ov_free(f->ov);
	free(f->carry);
	free(f->beyond);
	*f = (struct nfs4r_fresh){ .ov = NULL };
}

void nfs4r_freeze_note(struct nfs4r_store *s, struct nfs4r_fresh *f, nfs4r_journal_pos pos)
{
	struct nfs4r_frozen *z = &s->frozen;
	struct nfs4r_meta *m = &z->meta;

	*m = s->meta;
	m->pos = pos;
	memcpy(z->last, s->last, sizeof(s->last));
	z->back = s->back;
	free(z->carry); /* of one that was left over */
	free(z->beyond);
	z->carry = f->carry;
	z->ncarry = f->ncarry;
	z->beyond = f->beyond;
	z->nbeyond = f->nbeyond;
	f->carry = NULL;
	f->beyond = NULL;
	for (uint32_t i = 0; i < z->ncarry; i++) {
		struct nfs4r_touched *t = &z->carry[i];
		struct ov_mark *mark = nfs4r_ov_make_mark(f->ov, &t->oid);

		if (!mark->version || t->before < mark->version)
			mark->version = t->before;
		mark->pos = m->pos;
	}
	for (int i = 0; i < NLOGS; i++) {
		m->applied[i] = s->logs[i].applied;
		m->truncated[i] = nfs4r_log_truncated(&s->logs[i]);
		m->mint[i] = s->mint[i];
	}
}
