/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * LT, the table of an authority (locks 1, 6): which ranges of a file are whose, while an acting claim of this server covers it.
 *
 * Happy path: the first lock operation under a claim loads the list of the file's row, and from then on the table is the truth. When control ends, outlive.c
 * writes the list into the log and drops the file.
 *
 * Failure modes: a LOCKS entry of this server that is not in the tree yet: the row would be the one before, so the operation waits. Memory: base/locks.c says
 * FULL before anything is changed; what the row has is never more than fits.
 *
 * Invariants: a file is in the table only while an own claim covers it. `nranges` is at most NFS4R_LOCKS_LIST_MAX, so that one entry lists them all. What an owner heard last is
 * kept for longer than its ranges are, since copies of its requests may still be on their way (locks 4).
 */
#include "core/locks/locks_int.h"

struct nfs4r_locks *locks_table(struct nfs4r_core *c)
{
	struct nfs4r_locks_config cfg = { .max = c->cfg.lock_max, .reserve_ms = 0 };

	if (!c->locks.table) {
		c->locks.table = nfs4r_locks_create(&cfg);
		assert(c->locks.table);
	}
	return c->locks.table;
}

struct lock_file *locks_file_find(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct lock_file *f;

	HASH_FIND(hh, c->locks.files, oid, sizeof(*oid), f);
	return f;
}

/* ---- owners ---- */

struct lock_party *locks_party_find(struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_lock_owner *owner)
{
	struct lock_party *p;
	struct lock_key k;

	lock_key_of(&k, oid, owner);
	HASH_FIND(hh, c->locks.parties, &k, sizeof(k), p);
	return p;
}

struct owned {
	const struct nfs4r_lock_owner *owner;
	bool any;
};

static void is_owned(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_state state, uint64_t since_ms)
{
	struct owned *o = arg;

	o->any |= memcmp(&lock->owner, o->owner, sizeof(lock->owner)) == 0;
}

/* One without a lock goes, the one that was used longest ago. Owners with locks are bounded by lock_max. */
static void parties_bound(struct nfs4r_core *c)
{
	uint64_t most = (uint64_t)PARTIES_MAX + (c->locks.table ? nfs4r_locks_count(c->locks.table).ranges : 0);
	struct lock_party *p = c->locks.parties;
	struct owned o;

	if (HASH_COUNT(c->locks.parties) <= most)
		return;
	o = (struct owned){ .owner = &p->key.owner };
	if (c->locks.table)
		nfs4r_locks_walk(c->locks.table, &p->key.oid, is_owned, &o);
	HASH_DEL(c->locks.parties, p);
	if (o.any)
		HASH_ADD(hh, c->locks.parties, key, sizeof(p->key), p);
	else
		free(p);
}

struct lock_party *locks_party_get(struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_lock_owner *owner)
{
	struct lock_party *p = locks_party_find(c, oid, owner);

	if (p) {
		HASH_DEL(c->locks.parties, p);
	} else {
		parties_bound(c);
		p = out_xcalloc(1, sizeof(*p));
		lock_key_of(&p->key, oid, owner);
	}
	HASH_ADD(hh, c->locks.parties, key, sizeof(p->key), p);
	return p;
}

/* ---- ranges ---- */

static enum nfs4r_lock_answer set(struct nfs4r_core *c, struct lock_file *f, const struct nfs4r_lock *lock, enum nfs4r_lock_wait wait, bool beside, void *tag, struct nfs4r_lock *conflict)
{
	struct nfs4r_locks *t = locks_table(c);
	uint32_t before = nfs4r_locks_count(t).ranges;
	enum nfs4r_lock_answer a = (beside ? nfs4r_locks_acquire_beside : nfs4r_locks_acquire)(t, &f->oid, lock, wait, tag, c->now, conflict);

	f->nranges += nfs4r_locks_count(t).ranges - before;
	f->changed |= a == NFS4R_LOCK_GRANTED;
	return a;
}

enum nfs4r_lock_answer locks_set(struct nfs4r_core *c, struct lock_file *f, const struct nfs4r_lock *lock, enum nfs4r_lock_wait wait, void *tag, struct nfs4r_lock *conflict)
{
	return set(c, f, lock, wait, false, tag, conflict);
}

enum nfs4r_lock_answer locks_set_unheard(struct nfs4r_core *c, struct lock_file *f, const struct nfs4r_lock *lock, enum nfs4r_lock_wait wait, void *tag, struct nfs4r_lock *conflict)
{
	return set(c, f, lock, wait, true, tag, conflict);
}

struct middle {
	const struct nfs4r_lock *what;
	bool found;
};

static void is_middle(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_state state, uint64_t since_ms)
{
	struct middle *m = arg;

	if (state == NFS4R_LOCK_SET && memcmp(&lock->owner, &m->what->owner, sizeof(lock->owner)) == 0 && lock->start < m->what->start && lock->last > m->what->last)
		m->found = true;
}

/* A range, and what it splits; a read lock beside write locks is as many ranges, and what else is granted may split one of them. */
static uint32_t room_for(struct nfs4r_core *c, const struct lock_file *f, const struct nfs4r_lock *lock)
{
	uint32_t left = nfs4r_locks_left(locks_table(c), &f->oid, lock);

	return 2 + (left ? left + 1 : 0);
}

/* What is reserved may have to be in the list, too. */
bool locks_file_is_full(struct nfs4r_core *c, const struct lock_file *f, const struct nfs4r_lock *more)
{
	uint32_t n = f->nranges + (more ? room_for(c, f, more) : 2);
	const struct lock_wait *w;

	DL_FOREACH(f->waits, w)
		n += w->ready ? room_for(c, f, &w->lock) : 0;
	return n > NFS4R_LOCKS_LIST_MAX;
}

/* At the bound a range is not split: it stays as it is, until more of it is given back. */
static bool would_split(struct nfs4r_core *c, const struct lock_file *f, const struct nfs4r_lock *what)
{
	struct middle m = { .what = what };

	if (!locks_file_is_full(c, f, NULL))
		return false;
	nfs4r_locks_walk(c->locks.table, &f->oid, is_middle, &m);
	return m.found;
}

void locks_clear(struct nfs4r_core *c, struct lock_file *f, const struct nfs4r_lock *lock)
{
	struct nfs4r_locks *t = locks_table(c);
	uint32_t before = nfs4r_locks_count(t).ranges;

	if (would_split(c, f, lock))
		return;
	nfs4r_locks_release(t, &f->oid, &lock->owner, lock->start, lock->last, c->now);
	f->nranges += nfs4r_locks_count(t).ranges - before;
	f->changed = true;
}

/* ---- files ---- */

static bool is_leaving(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct lock_leaving *l;

	HASH_FIND(hh, c->locks.leaving, oid, sizeof(*oid), l);
	if (!l)
		return false;
	if (c->log.logs[c->self].applied < l->lsn)
		return true;
	if (c->locks.gap_claims)
		return false; /* it says of which time the row is */
	HASH_DEL(c->locks.leaving, l);
	free(l);
	return false;
}

void locks_left(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_lsn lsn)
{
	struct lock_leaving *l, *tmp;

	HASH_ITER(hh, c->locks.leaving, l, tmp)
		if (!c->locks.gap_claims && c->log.logs[c->self].applied >= l->lsn) {
			HASH_DEL(c->locks.leaving, l);
			free(l);
		}
	HASH_FIND(hh, c->locks.leaving, oid, sizeof(*oid), l);
	if (!l) {
		l = out_xcalloc(1, sizeof(*l));
		l->oid = *oid;
		HASH_ADD(hh, c->locks.leaving, oid, sizeof(l->oid), l);
	}
	l->lsn = lsn;
}

/* Its row is older than a table that was lost (locks 6, 8). */
static bool is_past(struct nfs4r_core *c, const struct lock_file *f)
{
	struct lock_leaving *l;

	HASH_FIND(hh, c->locks.leaving, &f->oid, sizeof(f->oid), l);
	return locks_row_is_past(c, &f->oid, l ? l->lsn : 0);
}

static void load(struct nfs4r_core *c, struct lock_file *f)
{
	uint32_t n = c->tree.locks ? c->tree.locks(c->tree.ctx, &f->oid, NULL, 0) : 0;
	struct nfs4r_file_lock *v;
	bool lost = false;

	f->nrows = n;
	if (!n)
		return;
	if (is_past(c, f)) {
		f->changed = true;
		return;
	}
	v = out_xcalloc(n, sizeof(*v));
	n = c->tree.locks(c->tree.ctx, &f->oid, v, n);
	for (uint32_t i = 0; i < n && i < f->nrows; i++) {
		struct lock_party *p = locks_party_get(c, &f->oid, &v[i].lock.owner);

		if (v[i].n >= p->n || v[i].inc != p->inc) {
			p->holder = v[i].holder;
			p->inc = v[i].inc;
			p->n = p->granted = v[i].n;
			p->status = NFS4R_OK;
		}
		if (locks_is_lost(c, v[i].holder, &v[i].lock))
			lost = true;
		else
			locks_set(c, f, &v[i].lock, NFS4R_LOCK_TRY, NULL, NULL);
	}
	free(v);
	f->changed = lost;
}

struct lock_file *locks_file_get(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct lock_file *f = locks_file_find(c, oid);

	if (f && FAULT(F_LOCK_ROW_AGAIN) && !f->nranges && !f->waits) { /* what the row says of a file without locks */
		locks_file_drop(c, f);
		f = NULL;
	}
	if (f || is_leaving(c, oid))
		return f && !f->leaves ? f : NULL;
	f = out_xcalloc(1, sizeof(*f));
	f->oid = *oid;
	HASH_ADD(hh, c->locks.files, oid, sizeof(f->oid), f);
	load(c, f);
	return f;
}

void locks_load_below(struct nfs4r_core *c, const struct nfs4r_oid *obj)
{
	struct nfs4r_oid oid = { { 0 } };

	while (c->tree.next_locked && c->tree.next_locked(c->tree.ctx, &oid, &oid))
		if (!locks_file_find(c, &oid) && control_is_under(c, &oid, obj))
			locks_file_get(c, &oid);
}

void locks_load_past(struct nfs4r_core *c)
{
	struct nfs4r_oid oid = { { 0 } };
	struct lock_leaving *l;

	while (c->tree.next_locked && c->tree.next_locked(c->tree.ctx, &oid, &oid)) {
		HASH_FIND(hh, c->locks.leaving, &oid, sizeof(oid), l);
		if (!locks_file_find(c, &oid) && !locks_in_gap(c, &oid) && locks_row_is_past(c, &oid, l ? l->lsn : 0))
			locks_file_get(c, &oid);
	}
}

struct listing {
	struct nfs4r_core *c;
	struct nfs4r_file_lock *v;
	uint32_t n;
};

static void list_one(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_state state, uint64_t since_ms)
{
	struct listing *l = arg;
	const struct lock_party *p;

	if (state != NFS4R_LOCK_SET || l->n == NFS4R_LOCKS_LIST_MAX)
		return;
	p = locks_party_find(l->c, oid, &lock->owner);
	l->v[l->n++] = (struct nfs4r_file_lock){ .lock = *lock, .holder = p ? p->holder : 0, .inc = p ? p->inc : 0, .n = p ? p->granted : 0 };
}

uint32_t locks_file_list(struct nfs4r_core *c, const struct lock_file *f, struct nfs4r_file_lock *out)
{
	struct listing l = { .c = c, .v = out };

	nfs4r_locks_walk(locks_table(c), &f->oid, list_one, &l);
	return l.n;
}

/* Out of the table, with all that waits. */
void locks_file_drop(struct nfs4r_core *c, struct lock_file *f)
{
	struct nfs4r_file_lock *v = out_xcalloc(NFS4R_LOCKS_LIST_MAX, sizeof(*v));
	uint32_t n;

	while (f->waits) {
		nfs4r_locks_cancel(locks_table(c), &f->oid, &f->waits->lock, c->now);
		locks_wait_drop(f, f->waits);
	}
	n = locks_file_list(c, f, v);
	for (uint32_t i = 0; i < n; i++)
		nfs4r_locks_release(locks_table(c), &f->oid, &v[i].lock.owner, v[i].lock.start, v[i].lock.last, c->now);
	free(v);
	HASH_DEL(c->locks.files, f);
	free(f);
}

void locks_fini(struct nfs4r_core *c)
{
	struct lock_requeue *q, *qtmp;
	struct lock_file *f, *ftmp;
	struct lock_rec *r, *rtmp;

	HASH_ITER(hh, c->locks.files, f, ftmp)
		while (f->waits)
			locks_wait_drop(f, f->waits);
	FREE_TABLE(c->locks.files);
	FREE_TABLE(c->locks.parties);
	FREE_TABLE(c->locks.leaving);
	FREE_TABLE(c->locks.gap_rows);
	locks_gap_fini(c);
	DL_FOREACH_SAFE(c->locks.requeues, q, qtmp)
		free(q);
	HASH_ITER(hh, c->locks.recs, r, rtmp) {
		struct lock_item *i, *itmp;
		struct lock_mine *m, *mtmp;

		DL_FOREACH_SAFE(r->items, i, itmp)
			free(i);
		DL_FOREACH_SAFE(r->mine, m, mtmp)
			free(m);
	}
	FREE_TABLE(c->locks.recs);
	FREE_TABLE(c->locks.copies);
	if (c->locks.table)
		nfs4r_locks_destroy(c->locks.table);
	if (c->locks.own)
		nfs4r_locks_destroy(c->locks.own);
}
