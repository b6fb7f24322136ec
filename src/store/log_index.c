/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where each kept log entry lies in the journal, 24 bytes an entry, and the positions of each log.
 *
 * Entries may be committed in any order (parallel execution and apply), so an index may have holes beyond
 * `applied`; applied moves over whatever is contiguous. The creator's MINT moves with it and not with the
 * commit: while entry 4 is missing, the object that 4 creates is "not yet here", although 5 created a
 * later one (log sheet 2.2).
 *
 * Failure: out of memory, in reserve() only. Nothing here is on disk: recover.c fills it by reading the
 * segments that are kept. Locking is the caller's (view).
 */
#include <stdlib.h>

#include "store/internal.h"

bool nfs4r_log_reserve(struct nfs4r_log *l, nfs4r_lsn lsn)
{
	struct nfs4r_logent *ents;
	uint64_t n, cap;

	if (lsn <= l->truncated)
		return true;
	n = lsn - l->truncated;
	if (n > l->n + LOG_GAP_MAX || n > UINT32_MAX / 2)
		return false;
	if (l->skip && l->skip >= l->n) { /* more dead than alive: move, so that it costs little */
		memmove(l->ents, l->ents + l->skip, l->n * sizeof(*l->ents));
		memset(l->ents + l->n, 0, l->skip * sizeof(*l->ents));
		l->skip = 0;
	}
	if (l->skip + n <= l->cap)
		return true;
	for (cap = l->cap ? l->cap : 1024; cap < l->skip + n;)
		cap *= 2;
	ents = realloc(l->ents, cap * sizeof(*ents));
	if (!ents)
		return false;
	memset(ents + l->cap, 0, (cap - l->cap) * sizeof(*ents));
	l->ents = ents;
	l->cap = cap;
	return true;
}

void nfs4r_log_add(struct nfs4r_log *l, nfs4r_lsn lsn, nfs4r_journal_pos pos,
		   const struct nfs4r_oid *created)
{
	struct nfs4r_logent *e;
	uint64_t i;

	if (lsn <= l->truncated)
		return;
	i = lsn - l->truncated - 1;
	e = &l->ents[l->skip + i];
	if (i >= l->n)
		l->n = i + 1;
	e->pos = pos;
	if (!nfs4r_oid_is_zero(created)) {
		e->inc = nfs4r_oid_inc(created) << 16 | nfs4r_oid_creator(created);
		e->seq = nfs4r_oid_seq(created);
	}
}

const struct nfs4r_logent *nfs4r_log_at(const struct nfs4r_log *l, nfs4r_lsn lsn)
{
	const struct nfs4r_logent *e;

	if (lsn <= l->truncated || lsn - l->truncated > l->n)
		return NULL;
	e = &l->ents[l->skip + lsn - l->truncated - 1];
	return e->pos ? e : NULL;
}

void nfs4r_log_advance(struct nfs4r_log *l, nfs4r_server_id owner, struct nfs4r_inc *mint)
{
	const struct nfs4r_logent *e;

	while ((e = nfs4r_log_at(l, l->applied + 1))) {
		uint64_t inc = e->inc >> 16;

		l->applied++;
		if (!e->seq || (e->inc & 0xffff) != owner)
			continue;
		if (inc > mint->counter || (inc == mint->counter && e->seq > mint->random)) {
			mint->counter = inc;
			mint->random = e->seq;
		}
	}
}

nfs4r_lsn nfs4r_log_last(const struct nfs4r_log *l)
{
	for (uint32_t i = l->n; i; i--) {
		if (l->ents[l->skip + i - 1].pos)
			return l->truncated + i;
	}
	return 0;
}

void nfs4r_log_truncate(struct nfs4r_log *l, nfs4r_lsn until)
{
	uint64_t n;

	if (until > l->applied)
		until = l->applied; /* what may still come cannot be done with */
	if (until <= l->truncated)
		return;
	n = until - l->truncated;
	if (n > l->n)
		n = l->n;
	memset(l->ents + l->skip, 0, n * sizeof(*l->ents));
	l->skip += n;
	l->n -= n;
	l->truncated = until;
}

/* ---- reads --------------------------------------------------------------- */

void nfs4r_store_truncate(struct nfs4r_store *s, nfs4r_server_id log, nfs4r_lsn until)
{
	if (log < 1 || log > NFS4R_SERVERS_MAX)
		return;
	pthread_mutex_lock(&s->change);
	pthread_rwlock_wrlock(&s->view);
	nfs4r_log_truncate(&s->logs[log], until);
	pthread_rwlock_unlock(&s->view);
	pthread_mutex_unlock(&s->change);
}

void nfs4r_store_log_range(struct nfs4r_store *s, nfs4r_server_id log, nfs4r_lsn *first, nfs4r_lsn *last)
{
	*first = *last = 0;
	if (log < 1 || log > NFS4R_SERVERS_MAX)
		return;
	pthread_rwlock_rdlock(&s->view);
	*last = nfs4r_log_last(&s->logs[log]);
	if (*last)
		*first = s->logs[log].truncated + 1;
	pthread_rwlock_unlock(&s->view);
}
