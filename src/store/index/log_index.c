/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where each kept log entry lies in the journal, 24 bytes an entry, and the positions of each log.
 *
 * Entries may be committed in any order (parallel execution and apply), so an index may have holes beyond
 * `applied`; applied moves over whatever is contiguous. The creator's MINT moves with it and not with the
 * commit: while entry 4 is missing, the object that 4 creates is "not yet here", although 5 created a
 * later one (log 2.2). If that one has no row any more it is dead nevertheless, which the index tells.
 *
 * When a generation of a log is sealed (base/msg.h), its entries up to the seal stay readable beside those of the next one, until they
 * are truncated or that one is sealed, too. LMDB's meta record then has a `truncated` of the older generation; where that ended is in the
 * journal, which is kept from its first wanted entry on.
 *
 * The seal also ends what the log's owner has created: who makes OIDs puts the generation of its log above the counter of its runs
 * (store.c), so everything of ended generations that is not here is dead, and nobody waits for it.
 *
 * Failure: out of memory, in reserve() only. Nothing here is on disk: recover.c fills it by reading the
 * segments that are kept. Locking is the caller's (view).
 */
#include <stdlib.h>

#include "store/internal.h"

/* ---- one generation ------------------------------------------------------- */

static bool run_reserve(struct nfs4r_logrun *r, nfs4r_lsn lsn)
{
	struct nfs4r_logent *ents;
	uint64_t n, cap;

	if (lsn <= r->truncated)
		return true;
	n = lsn - r->truncated;
	if (n > r->n + LOG_GAP_MAX || n > UINT32_MAX / 2)
		return false;
	if (r->skip && r->skip >= r->n) { /* more dead than alive: move, so that it costs little */
		memmove(r->ents, r->ents + r->skip, r->n * sizeof(*r->ents));
		memset(r->ents + r->n, 0, r->skip * sizeof(*r->ents));
		r->skip = 0;
	}
	if (r->skip + n <= r->cap)
		return true;
	for (cap = r->cap ? r->cap : 1024; cap < r->skip + n;)
		cap *= 2;
	ents = realloc(r->ents, cap * sizeof(*ents));
	if (!ents)
		return false;
	memset(ents + r->cap, 0, (cap - r->cap) * sizeof(*ents));
	r->ents = ents;
	r->cap = cap;
	return true;
}

static const struct nfs4r_logent *run_at(const struct nfs4r_logrun *r, nfs4r_lsn lsn)
{
	const struct nfs4r_logent *e;

	if (lsn <= r->truncated || lsn - r->truncated > r->n)
		return NULL;
	e = &r->ents[r->skip + lsn - r->truncated - 1];
	return e->pos ? e : NULL;
}

static nfs4r_lsn run_last(const struct nfs4r_logrun *r)
{
	for (uint32_t i = r->n; i; i--) {
		if (r->ents[r->skip + i - 1].pos)
			return r->truncated + i;
	}
	return 0;
}

static nfs4r_lsn run_next(const struct nfs4r_logrun *r, nfs4r_lsn lsn)
{
	for (uint64_t i = lsn > r->truncated ? lsn - r->truncated : 0; i < r->n; i++) {
		if (r->ents[r->skip + i].pos)
			return r->truncated + i + 1;
	}
	return 0;
}

static void run_truncate(struct nfs4r_logrun *r, nfs4r_lsn until)
{
	uint64_t n;

	if (until <= r->truncated)
		return;
	n = until - r->truncated;
	if (n > r->n)
		n = r->n;
	if (n)
		memset(r->ents + r->skip, 0, n * sizeof(*r->ents));
	r->skip += n;
	r->n -= n;
	r->truncated = until;
}

/* Forget what lies beyond @last. */
static void run_cut(struct nfs4r_logrun *r, nfs4r_lsn last)
{
	uint64_t n = last > r->truncated ? last - r->truncated : 0;

	if (n >= r->n)
		return;
	memset(r->ents + r->skip + n, 0, (r->n - n) * sizeof(*r->ents));
	r->n = n;
}

static void run_free(struct nfs4r_logrun *r, nfs4r_lsn truncated)
{
	free(r->ents);
	*r = (struct nfs4r_logrun){ .truncated = truncated };
}

/* ---- the log ----------------------------------------------------------------- */

/* The generation that @lsn belongs to; NULL: none that is kept. */
static struct nfs4r_logrun *run_of(const struct nfs4r_log *l, nfs4r_lsn lsn)
{
	if (NFS4R_GEN(lsn) == NFS4R_GEN(l->applied))
		return (struct nfs4r_logrun *)&l->now;
	return l->seal && NFS4R_GEN(lsn) == NFS4R_GEN(l->seal) ? (struct nfs4r_logrun *)&l->old : NULL;
}

bool store_log_reserve(struct nfs4r_log *l, nfs4r_lsn lsn)
{
	struct nfs4r_logrun *r = run_of(l, lsn);

	return r ? run_reserve(r, lsn) : lsn < l->applied;
}

void store_log_add(struct nfs4r_log *l, nfs4r_lsn lsn, nfs4r_journal_pos pos,
		   const struct nfs4r_oid *created)
{
	struct nfs4r_logrun *r = run_of(l, lsn);
	struct nfs4r_logent *e;
	uint64_t i;

	if (!r || lsn <= r->truncated)
		return;
	i = lsn - r->truncated - 1;
	e = &r->ents[r->skip + i];
	if (i >= r->n)
		r->n = i + 1;
	e->pos = pos;
	if (!nfs4r_oid_is_zero(created)) {
		e->inc = nfs4r_oid_inc(created) << 16 | nfs4r_oid_creator(created);
		e->seq = nfs4r_oid_seq(created);
	}
}

const struct nfs4r_logent *store_log_at(const struct nfs4r_log *l, nfs4r_lsn lsn)
{
	const struct nfs4r_logrun *r = run_of(l, lsn);

	return r ? run_at(r, lsn) : NULL;
}

void store_log_advance(struct nfs4r_log *l, nfs4r_server_id owner, struct nfs4r_inc *watermark)
{
	const struct nfs4r_logent *e;

	while ((e = run_at(&l->now, l->applied + 1))) {
		uint64_t inc = e->inc >> 16;

		l->applied++;
		if (!e->seq || (e->inc & 0xffff) != owner)
			continue;
		if (inc > watermark->counter || (inc == watermark->counter && e->seq > watermark->random)) {
			watermark->counter = inc;
			watermark->random = e->seq;
		}
	}
}

bool store_log_made(const struct nfs4r_log *l, const struct nfs4r_oid *oid)
{
	uint64_t inc = nfs4r_oid_inc(oid) << 16 | nfs4r_oid_creator(oid), seq = nfs4r_oid_seq(oid);

	for (nfs4r_lsn lsn = l->applied + 1; lsn - l->now.truncated <= l->now.n; lsn++) {
		const struct nfs4r_logent *e = run_at(&l->now, lsn);

		if (e && e->seq == seq && e->inc == inc)
			return true;
	}
	return false;
}

nfs4r_lsn store_log_last(const struct nfs4r_log *l)
{
	nfs4r_lsn last = run_last(&l->now);

	return last || !l->seal ? last : run_last(&l->old);
}

nfs4r_lsn store_log_first(const struct nfs4r_log *l)
{
	if (l->seal)
		return l->old.truncated + 1;
	return run_last(&l->now) ? l->now.truncated + 1 : 0;
}

nfs4r_lsn store_log_next(const struct nfs4r_log *l, nfs4r_lsn lsn)
{
	nfs4r_lsn next = l->seal && lsn < l->seal ? run_next(&l->old, lsn) : 0;

	return next ? next : run_next(&l->now, lsn);
}

nfs4r_lsn store_log_truncated(const struct nfs4r_log *l)
{
	return l->seal ? l->old.truncated : l->now.truncated;
}

static void drop_old(struct nfs4r_log *l)
{
	run_free(&l->old, 0);
	l->seal = 0;
}

void store_log_truncate(struct nfs4r_log *l, nfs4r_lsn until)
{
	if (until > l->applied)
		until = l->applied; /* what may still come cannot be done with */
	if (l->seal && until < l->seal)
		run_truncate(&l->old, until);
	else if (l->seal)
		drop_old(l);
	run_truncate(&l->now, until);
}

/* Nothing that was created in the ended generation and is not here will come. */
static void oid_watermark_ends(struct nfs4r_inc *watermark, nfs4r_lsn seal)
{
	uint64_t inc = ((NFS4R_GEN(seal) + 1) << OID_GEN_SHIFT) - 1;

	if (inc > watermark->counter)
		*watermark = (struct nfs4r_inc){ inc, UINT64_MAX };
}

bool store_log_seal(struct nfs4r_log *l, nfs4r_lsn seal, struct nfs4r_inc *watermark)
{
	nfs4r_lsn after = NFS4R_AFTER_SEAL(seal);

	if (NFS4R_GEN(seal) < NFS4R_GEN(l->applied)) { /* of this walk over the journal: LMDB has crossed it */
		if (l->seal == SEAL_UNSEEN(seal)) {
			l->seal = seal;
			run_cut(&l->old, seal);
		}
		return true;
	}
	if (NFS4R_GEN(seal) > NFS4R_GEN(l->applied) || seal > l->applied)
		return false;
	run_free(&l->old, 0);
	run_cut(&l->now, seal);
	l->old = l->now;
	l->seal = seal;
	l->now = (struct nfs4r_logrun){ .truncated = after };
	if (l->old.truncated >= seal)
		drop_old(l);
	if (l->stable >= seal)
		l->stable = after;
	l->applied = after;
	oid_watermark_ends(watermark, seal);
	return true;
}

void store_log_clear(struct nfs4r_log *l)
{
	drop_old(l);
	run_free(&l->now, l->applied);
}

void store_log_found(struct nfs4r_log *l, nfs4r_lsn applied, nfs4r_lsn truncated)
{
	l->applied = applied;
	store_log_clear(l);
	l->now.truncated = truncated;
	if (NFS4R_GEN(truncated) == NFS4R_GEN(applied))
		return;
	l->now.truncated = NFS4R_GEN(applied) << NFS4R_GEN_SHIFT;
	l->old.truncated = truncated;
	l->seal = SEAL_UNSEEN(truncated);
}

/* ---- reads --------------------------------------------------------------- */

void nfs4r_store_truncate(struct nfs4r_store *s, nfs4r_server_id log, nfs4r_lsn until)
{
	if (log < 1 || log > NFS4R_SERVERS_MAX)
		return;
	pthread_mutex_lock(&s->change);
	pthread_rwlock_wrlock(&s->view);
	store_log_truncate(&s->logs[log], until);
	pthread_rwlock_unlock(&s->view);
	pthread_mutex_unlock(&s->change);
}

void nfs4r_store_log_range(struct nfs4r_store *s, nfs4r_server_id log, nfs4r_lsn *first, nfs4r_lsn *last)
{
	*first = *last = 0;
	if (log < 1 || log > NFS4R_SERVERS_MAX)
		return;
	pthread_rwlock_rdlock(&s->view);
	*last = store_log_last(&s->logs[log]);
	if (*last)
		*first = store_log_first(&s->logs[log]);
	pthread_rwlock_unlock(&s->view);
}

nfs4r_lsn nfs4r_store_log_next(struct nfs4r_store *s, nfs4r_server_id log, nfs4r_lsn after)
{
	nfs4r_lsn next;

	if (log < 1 || log > NFS4R_SERVERS_MAX)
		return 0;
	pthread_rwlock_rdlock(&s->view);
	next = store_log_next(&s->logs[log], after);
	pthread_rwlock_unlock(&s->view);
	return next;
}
