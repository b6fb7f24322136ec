/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The table of locks: files by OID, each with a tree of held ranges (lock_ranges.c) and a queue. A file is there as long as it has either.
 *
 * What is reserved lies in the queue, and not among the held ranges: its owner may have another lock of the same bytes (a read lock that is to be raised), which has to
 * stay as it is when the reservation ends without being fetched. So a request is in the way of another one's ranges and of another one's reservations.
 *
 * Memory is taken before anything is changed. Setting a range takes three ranges at most: itself, and what is left of an old one before and behind it.
 */
#include "base/locks.h"

#include <stdlib.h>

#include "base/fnv.h"
#include "base/lock_ranges.h"

#define BUCKETS_FIRST 256
#define NEEDED_TO_SET 3
#define SPARE_MAX 16

static const uint32_t notice_after_ms[] = { 10, 100, 1000, 5000 }; /* the last one again and again */

struct waiter {
	struct waiter *prev, *next; /* in the queue */
	struct waiter *offered_prev, *offered_next; /* in the list of those whose clients are being notified */
	struct file *file;
	struct nfs4r_lock lock;
	void *tag;
	uint64_t since_ms, reserved_until_ms, notice_at_ms;
	uint32_t notices; /* so many were given */
	bool polls;
	bool unknown; /* offered by a table that follows, and not reserved: the request may be forgotten */
	bool offered; /* its client is being notified: the lock is reserved, or it polls and the lock was free at some time since it asked last */
};

struct file {
	struct file *next;
	struct nfs4r_oid oid;
	struct nfs4r_lock_range *ranges;
	struct waiter *first, *last;
	uint32_t nranges, nwaiters, nreserved; /* the reserved are waiters, too */
};

struct nfs4r_locks {
	struct nfs4r_locks_config cfg;
	struct file **buckets;
	uint32_t nbuckets; /* a power of two */
	struct nfs4r_lock_range *spare;
	uint32_t nspare;
	struct waiter *offered, *offered_last; /* in the order in which they were offered */
	struct nfs4r_locks_count count;
	uint64_t random;
	bool follows;
};

/* ---- memory ---- */

struct nfs4r_locks *nfs4r_locks_create(const struct nfs4r_locks_config *cfg)
{
	struct nfs4r_locks *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->cfg = *cfg;
	t->random = NFS4R_FNV_BEGIN;
	t->nbuckets = BUCKETS_FIRST;
	t->buckets = calloc(t->nbuckets, sizeof(struct file *));
	if (t->buckets == NULL) {
		free(t);
		return NULL;
	}
	return t;
}

static void ranges_free(struct nfs4r_lock_range *r)
{
	if (r == NULL)
		return;
	ranges_free(r->left);
	ranges_free(r->right);
	free(r);
}

void nfs4r_locks_destroy(struct nfs4r_locks *t)
{
	for (uint32_t i = 0; i < t->nbuckets; i++) {
		for (struct file *f = t->buckets[i], *next; f != NULL; f = next) {
			next = f->next;
			ranges_free(f->ranges);
			for (struct waiter *w = f->first, *after; w != NULL; w = after) {
				after = w->next;
				free(w);
			}
			free(f);
		}
	}
	while (t->spare != NULL) {
		struct nfs4r_lock_range *r = t->spare;

		t->spare = r->right;
		free(r);
	}
	free(t->buckets);
	free(t);
}

/* At least so many spare ranges, or all that there is memory for. */
static bool provide(struct nfs4r_locks *t, uint32_t n)
{
	while (t->nspare < n) {
		struct nfs4r_lock_range *r = malloc(sizeof(*r));

		if (r == NULL)
			return false;
		r->right = t->spare;
		t->spare = r;
		t->nspare++;
	}
	return true;
}

static void add_range(struct nfs4r_locks *t, struct file *f, const struct nfs4r_lock *lock, uint64_t since_ms)
{
	struct nfs4r_lock_range *r = t->spare;

	t->spare = r->right;
	t->nspare--;
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	*r = (struct nfs4r_lock_range){ .lock = *lock, .since_ms = since_ms, .priority = (uint32_t)(t->random >> 32) };
	nfs4r_lock_range_insert(&f->ranges, r);
	f->nranges++;
	t->count.ranges++;
}

static void drop_range(struct nfs4r_locks *t, struct file *f, struct nfs4r_lock_range *r)
{
	nfs4r_lock_range_remove(&f->ranges, r);
	f->nranges--;
	t->count.ranges--;
	if (t->nspare >= SPARE_MAX) {
		free(r);
		return;
	}
	r->right = t->spare;
	t->spare = r;
	t->nspare++;
}

/* ---- files ---- */

static struct file **place_of(const struct nfs4r_locks *t, const struct nfs4r_oid *oid)
{
	struct file **f = &t->buckets[nfs4r_fnv(NFS4R_FNV_BEGIN, oid->b, sizeof(oid->b)) & (t->nbuckets - 1)];

	while (*f != NULL && !nfs4r_oid_eq(&(*f)->oid, oid))
		f = &(*f)->next;
	return f;
}

/* Twice as many buckets; without memory they stay, and are only slower. */
static void grow(struct nfs4r_locks *t)
{
	struct file **old = t->buckets, **new = calloc((size_t)t->nbuckets * 2, sizeof(struct file *));
	uint32_t n = t->nbuckets;

	if (new == NULL)
		return;
	t->buckets = new;
	t->nbuckets *= 2;
	for (uint32_t i = 0; i < n; i++) {
		for (struct file *f = old[i], *next; f != NULL; f = next) {
			struct file **to = place_of(t, &f->oid);

			next = f->next;
			f->next = NULL;
			*to = f;
		}
	}
	free(old);
}

static struct file *file_get(struct nfs4r_locks *t, const struct nfs4r_oid *oid)
{
	struct file *f = *place_of(t, oid);

	if (f != NULL)
		return f;
	if (t->count.files >= t->nbuckets)
		grow(t);
	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return NULL;
	f->oid = *oid;
	*place_of(t, oid) = f;
	t->count.files++;
	return f;
}

static void file_put(struct nfs4r_locks *t, struct file *f)
{
	struct file **at;

	if (f->ranges != NULL || f->first != NULL)
		return;
	at = place_of(t, &f->oid);
	*at = f->next;
	t->count.files--;
	free(f);
}

/* ---- the queue ---- */

static bool is_reserved(const struct waiter *w)
{
	return w->offered && !w->polls && !w->unknown;
}

static void offer(struct nfs4r_locks *t, struct waiter *w, uint64_t now_ms)
{
	w->offered = true;
	w->notices = 0;
	w->notice_at_ms = now_ms;
	w->reserved_until_ms = w->polls || t->follows || t->cfg.reserve_ms == 0 ? UINT64_MAX : now_ms + t->cfg.reserve_ms;
	w->offered_prev = t->offered_last;
	w->offered_next = NULL;
	*(t->offered_last == NULL ? &t->offered : &t->offered_last->offered_next) = w;
	t->offered_last = w;
	w->file->nreserved += is_reserved(w);
	t->count.reserved += is_reserved(w);
}

static void withdraw_offer(struct nfs4r_locks *t, struct waiter *w)
{
	if (!w->offered)
		return;
	w->file->nreserved -= is_reserved(w);
	t->count.reserved -= is_reserved(w);
	w->offered = w->unknown = false;
	*(w->offered_prev == NULL ? &t->offered : &w->offered_prev->offered_next) = w->offered_next;
	*(w->offered_next == NULL ? &t->offered_last : &w->offered_next->offered_prev) = w->offered_prev;
}

/* @behind: NULL: at the end. */
static void queue_put(struct waiter *w, struct waiter *behind)
{
	struct file *f = w->file;

	w->prev = behind == NULL ? f->last : behind->prev;
	w->next = behind;
	*(w->prev == NULL ? &f->first : &w->prev->next) = w;
	*(behind == NULL ? &f->last : &behind->prev) = w;
}

static void queue_add(struct waiter *w)
{
	queue_put(w, NULL);
}

static void queue_remove(struct waiter *w)
{
	struct file *f = w->file;

	*(w->prev == NULL ? &f->first : &w->prev->next) = w->next;
	*(w->next == NULL ? &f->last : &w->next->prev) = w->prev;
}

static struct waiter *waiter_of(const struct file *f, const struct nfs4r_lock *lock)
{
	struct waiter *w;

	for (w = f->first; w != NULL; w = w->next) {
		if (w->lock.start == lock->start && w->lock.last == lock->last && w->lock.type == lock->type && nfs4r_lock_same_owner(&w->lock, lock))
			break;
	}
	return w;
}

static void waiter_drop(struct nfs4r_locks *t, struct waiter *w)
{
	withdraw_offer(t, w);
	queue_remove(w);
	w->file->nwaiters--;
	t->count.waiting--;
	free(w);
}

/* NULL: a bound, or no memory. */
static struct waiter *waiter_add(struct nfs4r_locks *t, struct file *f, const struct nfs4r_lock *lock, uint64_t now_ms)
{
	struct waiter *w;

	if (t->count.ranges + t->count.waiting >= t->cfg.max || f->nwaiters >= NFS4R_LOCKS_WAITERS_MAX)
		return NULL;
	w = calloc(1, sizeof(*w));
	if (w == NULL)
		return NULL;
	w->file = f;
	w->lock = *lock;
	w->since_ms = now_ms;
	queue_add(w);
	f->nwaiters++;
	t->count.waiting++;
	return w;
}

/* What of others keeps @want from being granted now: a range, or a reservation. */
static const struct nfs4r_lock *in_the_way(const struct file *f, const struct nfs4r_lock *want)
{
	const struct nfs4r_lock_range *r = nfs4r_lock_range_in_the_way(f->ranges, want);
	uint32_t left = f->nreserved;

	if (r != NULL)
		return &r->lock;
	for (const struct waiter *w = f->first; left > 0; w = w->next) {
		if (!is_reserved(w))
			continue;
		if (nfs4r_lock_conflicts(&w->lock, want))
			return &w->lock;
		left--;
	}
	return NULL;
}

static bool has_any(const struct file *f, const struct nfs4r_lock_owner *owner)
{
	struct nfs4r_lock all = { .owner = *owner, .start = 0, .last = UINT64_MAX };

	return nfs4r_lock_range_own(f->ranges, &all) != NULL;
}

/*
 * Somebody else who came before @end (NULL: all have), and waits for the same bytes. An owner that has a lock of the file stands behind nobody: whoever waits may wait for that
 * lock, and then both would wait for ever.
 */
static const struct nfs4r_lock *before_it(const struct file *f, const struct waiter *end, const struct nfs4r_lock *want)
{
	for (const struct waiter *w = f->first; w != end; w = w->next) {
		if (!w->polls && !w->offered && nfs4r_lock_conflicts(&w->lock, want))
			return has_any(f, &want->owner) ? NULL : &w->lock;
	}
	return NULL;
}

/* Something was given back: whose turn is it? Those that poll hear of what is left. */
static void serve_queue(struct nfs4r_locks *t, struct file *f, uint64_t now_ms)
{
	if (t->follows)
		return;
	for (struct waiter *w = f->first; w != NULL; w = w->next) {
		if (!w->polls && !w->offered && in_the_way(f, &w->lock) == NULL && before_it(f, w, &w->lock) == NULL)
			offer(t, w, now_ms);
	}
	for (struct waiter *w = f->first; w != NULL; w = w->next) {
		if (w->polls && !w->offered && in_the_way(f, &w->lock) == NULL)
			offer(t, w, now_ms);
	}
}

/* ---- ranges ---- */

/* The owner's ranges within @what go. Of the one at each end a piece may be left outside; *before and *behind, whose type is 0 without one. Of @merges' type all goes, and *all grows by it. */
static void cut_out(struct nfs4r_locks *t, struct file *f, const struct nfs4r_lock *what, struct nfs4r_lock *all, struct nfs4r_lock *before, struct nfs4r_lock *behind)
{
	struct nfs4r_lock_range *r;

	*before = *behind = (struct nfs4r_lock){ .type = 0 };
	while ((r = nfs4r_lock_range_own(f->ranges, what)) != NULL) {
		struct nfs4r_lock old = r->lock;

		drop_range(t, f, r);
		if (all != NULL && old.type == all->type && old.life == all->life) {
			all->start = old.start < all->start ? old.start : all->start;
			all->last = old.last > all->last ? old.last : all->last;
			continue;
		}
		if (old.start < what->start) {
			*before = old;
			before->last = what->start - 1;
		}
		if (old.last > what->last) {
			*behind = old;
			behind->start = what->last + 1;
		}
	}
}

/* Neighbours of the same type become a part of @all. */
static void merge_neighbours(struct nfs4r_locks *t, struct file *f, struct nfs4r_lock *all)
{
	struct nfs4r_lock next = *all;
	struct nfs4r_lock_range *r;

	next.start = next.last = all->start - 1;
	r = all->start == 0 ? NULL : nfs4r_lock_range_own(f->ranges, &next);
	if (r != NULL && r->lock.type == all->type && r->lock.life == all->life) {
		all->start = r->lock.start;
		drop_range(t, f, r);
	}
	next.start = next.last = all->last + 1;
	r = all->last == UINT64_MAX ? NULL : nfs4r_lock_range_own(f->ranges, &next);
	if (r != NULL && r->lock.type == all->type && r->lock.life == all->life) {
		all->last = r->lock.last;
		drop_range(t, f, r);
	}
}

/* NEEDED_TO_SET ranges are there. */
static void set_range(struct nfs4r_locks *t, struct file *f, const struct nfs4r_lock *lock, uint64_t now_ms)
{
	struct nfs4r_lock all = *lock, before, behind;

	cut_out(t, f, lock, &all, &before, &behind);
	merge_neighbours(t, f, &all);
	add_range(t, f, &all, now_ms);
	if (before.type != 0)
		add_range(t, f, &before, now_ms);
	if (behind.type != 0)
		add_range(t, f, &behind, now_ms);
}

/* The first one from @from on that @lock, a read lock of the same owner, leaves what it is; or NULL. */
static const struct nfs4r_lock *next_left(const struct file *f, const struct nfs4r_lock *lock, uint64_t from)
{
	const struct nfs4r_lock_range *r;
	struct nfs4r_lock rest = *lock;

	rest.start = from;
	while (lock->type == NFS4R_LOCK_READ && (r = nfs4r_lock_range_own(f->ranges, &rest)) != NULL) {
		if (r->lock.type == NFS4R_LOCK_WRITE && r->lock.life == lock->life)
			return &r->lock;
		if (r->lock.last >= lock->last)
			break;
		rest.start = r->lock.last + 1;
	}
	return NULL;
}

static uint32_t count_left(const struct file *f, const struct nfs4r_lock *lock)
{
	const struct nfs4r_lock *w;
	uint32_t n = 0;

	for (uint64_t from = lock->start; (w = next_left(f, lock, from)) != NULL; from = w->last + 1) {
		n++;
		if (w->last >= lock->last)
			break;
	}
	return n;
}

/* As many ranges more as are left are there, too. */
static void set_beside(struct nfs4r_locks *t, struct file *f, const struct nfs4r_lock *lock, uint64_t now_ms)
{
	struct nfs4r_lock piece = *lock;

	for (;;) {
		const struct nfs4r_lock *w = next_left(f, lock, piece.start);
		uint64_t last = w == NULL ? 0 : w->last;
		bool more = w != NULL && last < lock->last;

		piece.last = lock->last;
		if (w == NULL || w->start > piece.start) {
			if (w != NULL)
				piece.last = w->start - 1;
			set_range(t, f, &piece, now_ms);
		}
		if (!more)
			return;
		piece.start = last + 1;
	}
}

/* ---- what the caller asks for ---- */

static enum nfs4r_lock_answer refuse(struct nfs4r_locks *t, struct file *f, struct waiter *w, const struct nfs4r_lock *want, enum nfs4r_lock_wait wait, void *tag, uint64_t now_ms)
{
	if (wait == NFS4R_LOCK_TRY)
		return NFS4R_LOCK_CONFLICT;
	if (w == NULL)
		w = waiter_add(t, f, want, now_ms);
	if (w == NULL)
		return NFS4R_LOCK_FULL;
	withdraw_offer(t, w); /* one that polls, and came too late: its client is notified anew */
	w->polls = wait == NFS4R_LOCK_POLL;
	w->tag = tag;
	return NFS4R_LOCK_WAITS;
}

static enum nfs4r_lock_answer acquire(struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *want, enum nfs4r_lock_wait wait, bool beside, void *tag, uint64_t now_ms,
				      struct nfs4r_lock *conflict)
{
	struct file *f = file_get(t, oid);
	enum nfs4r_lock_answer answer = NFS4R_LOCK_FULL;
	const struct nfs4r_lock *other;
	struct waiter *w;
	uint32_t left;

	if (f == NULL)
		return NFS4R_LOCK_FULL;
	left = beside ? count_left(f, want) : 0;
	w = waiter_of(f, want);
	other = in_the_way(f, want);
	if (other == NULL && wait == NFS4R_LOCK_QUEUE && (w == NULL || !w->offered))
		other = before_it(f, w, want);
	if (other != NULL) {
		if (conflict != NULL)
			*conflict = *other;
		answer = refuse(t, f, w, want, wait, tag, now_ms);
	} else if ((w != NULL || t->count.ranges + t->count.waiting + left < t->cfg.max) && f->nranges + left < NFS4R_LOCKS_FILE_MAX && provide(t, NEEDED_TO_SET + 1 + left)) {
		if (w != NULL)
			waiter_drop(t, w);
		if (left > 0)
			set_beside(t, f, want, now_ms);
		else
			set_range(t, f, want, now_ms);
		serve_queue(t, f, now_ms); /* a write lock may have become a read lock */
		answer = NFS4R_LOCK_GRANTED;
	}
	file_put(t, f);
	return answer;
}

enum nfs4r_lock_answer nfs4r_locks_acquire(struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *want, enum nfs4r_lock_wait wait, void *tag,
					   uint64_t now_ms, struct nfs4r_lock *conflict)
{
	return acquire(t, oid, want, wait, false, tag, now_ms, conflict);
}

enum nfs4r_lock_answer nfs4r_locks_acquire_beside(struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *want, enum nfs4r_lock_wait wait, void *tag,
						  uint64_t now_ms, struct nfs4r_lock *conflict)
{
	return acquire(t, oid, want, wait, true, tag, now_ms, conflict);
}

bool nfs4r_locks_release(struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock_owner *owner, uint64_t start, uint64_t last, uint64_t now_ms)
{
	struct nfs4r_lock what = { .owner = *owner, .start = start, .last = last }, before, behind;
	struct file *f = *place_of(t, oid);
	struct nfs4r_lock_range *r;

	if (f == NULL)
		return true;
	r = nfs4r_lock_range_own(f->ranges, &what);
	if (r != NULL && r->lock.start < start && r->lock.last > last && !provide(t, 1))
		return false;
	cut_out(t, f, &what, NULL, &before, &behind);
	if (before.type != 0)
		add_range(t, f, &before, now_ms);
	if (behind.type != 0)
		add_range(t, f, &behind, now_ms);
	serve_queue(t, f, now_ms);
	file_put(t, f);
	return true;
}

bool nfs4r_locks_cancel(struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *what, uint64_t now_ms)
{
	struct file *f = *place_of(t, oid);
	struct waiter *w = f == NULL ? NULL : waiter_of(f, what);

	if (w == NULL)
		return false;
	waiter_drop(t, w);
	serve_queue(t, f, now_ms);
	file_put(t, f);
	return true;
}

void nfs4r_locks_waits_since(struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *what, uint64_t since_ms, uint64_t now_ms)
{
	struct file *f = *place_of(t, oid);
	struct waiter *w = f == NULL ? NULL : waiter_of(f, what), *behind = NULL;

	if (w == NULL || w->since_ms <= since_ms)
		return;
	w->since_ms = since_ms;
	for (struct waiter *other = w->prev; other != NULL && other->since_ms > since_ms && !is_reserved(other); other = other->prev)
		behind = other;
	if (behind == NULL)
		return;
	queue_remove(w);
	queue_put(w, behind);
	serve_queue(t, f, now_ms);
}

void nfs4r_locks_wait_again(struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *what, enum nfs4r_lock_wait wait, void *tag, uint64_t now_ms)
{
	struct file *f = file_get(t, oid);
	struct waiter *w = f == NULL ? NULL : waiter_of(f, what);

	if (f == NULL)
		return;
	if (w == NULL)
		w = waiter_add(t, f, what, now_ms);
	if (w != NULL) {
		if (!w->offered)
			w->polls = wait == NFS4R_LOCK_POLL;
		w->tag = tag;
		serve_queue(t, f, now_ms);
	}
	file_put(t, f);
}

bool nfs4r_locks_test(const struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *want, struct nfs4r_lock *conflict)
{
	const struct file *f = *place_of(t, oid);
	const struct nfs4r_lock *other = f == NULL ? NULL : in_the_way(f, want);

	if (other != NULL)
		*conflict = *other;
	return other == NULL;
}

/* ---- following ---- */

void nfs4r_locks_follow(struct nfs4r_locks *t)
{
	t->follows = true;
	while (t->offered != NULL)
		withdraw_offer(t, t->offered);
}

bool nfs4r_locks_has_room(const struct nfs4r_locks *t, const struct nfs4r_oid *oid)
{
	const struct file *f = *place_of(t, oid);

	return t->count.ranges + t->count.waiting < t->cfg.max && (f == NULL || (f->nranges < NFS4R_LOCKS_FILE_MAX && f->nwaiters < NFS4R_LOCKS_WAITERS_MAX));
}

bool nfs4r_locks_follow_granted(struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, uint64_t now_ms)
{
	struct file *f = provide(t, NEEDED_TO_SET + 1) ? file_get(t, oid) : NULL;
	struct waiter *w = f == NULL ? NULL : waiter_of(f, lock);

	if (f == NULL)
		return false;
	if (w != NULL)
		waiter_drop(t, w);
	set_range(t, f, lock, now_ms);
	return true;
}

bool nfs4r_locks_follow_waits(struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_wait wait, void *tag, uint64_t now_ms)
{
	struct file *f = file_get(t, oid);
	struct waiter *w = f == NULL ? NULL : waiter_of(f, lock);

	if (f == NULL)
		return false;
	if (w == NULL)
		w = waiter_add(t, f, lock, now_ms);
	if (w != NULL) {
		withdraw_offer(t, w);
		w->polls = wait == NFS4R_LOCK_POLL;
		w->tag = tag;
	}
	file_put(t, f);
	return w != NULL;
}

bool nfs4r_locks_follow_notify(struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, bool reserved, uint64_t now_ms)
{
	struct file *f = *place_of(t, oid);
	struct waiter *w = f == NULL ? NULL : waiter_of(f, lock);

	if (w == NULL)
		return false;
	withdraw_offer(t, w);
	w->unknown = !reserved;
	offer(t, w, now_ms);
	return true;
}

void nfs4r_locks_follow_again(struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, uint64_t now_ms)
{
	struct file *f = *place_of(t, oid);
	struct waiter *w = f == NULL ? NULL : waiter_of(f, lock);

	if (w == NULL)
		return;
	withdraw_offer(t, w);
	if (w->polls)
		offer(t, w, now_ms);
}

bool nfs4r_locks_follow_is_waiting(const struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock)
{
	const struct file *f = *place_of(t, oid);

	return f != NULL && waiter_of(f, lock) != NULL;
}

/* ---- notices ---- */

static bool is_wanted_by_another(const struct waiter *w)
{
	const struct waiter *other;

	for (other = w->file->first; other != NULL; other = other->next) {
		if (!other->offered && nfs4r_lock_conflicts(&other->lock, &w->lock))
			break;
	}
	return other != NULL;
}

static void go_to_the_end(struct waiter *w)
{
	queue_remove(w);
	queue_add(w);
}

/*
 * The lock was reserved for long enough: it is another one's turn, if there is another one. The client may be dead, so all that waits in its name lets the others go first. Else each of its
 * requests would cost them the same time again.
 */
static void end_reservation(struct nfs4r_locks *t, struct waiter *w, uint64_t now_ms)
{
	struct waiter *last = w->file->last, *other, *next;

	w->reserved_until_ms = now_ms + t->cfg.reserve_ms;
	if (!is_wanted_by_another(w))
		return;
	withdraw_offer(t, w);
	for (other = w->file->first; other != NULL; other = other == last ? NULL : next) {
		next = other->next;
		if (other != w && !other->offered && memcmp(other->lock.owner.client, w->lock.owner.client, sizeof(w->lock.owner.client)) == 0)
			go_to_the_end(other);
	}
	go_to_the_end(w);
	serve_queue(t, w->file, now_ms);
}

static void end_reservations(struct nfs4r_locks *t, uint64_t now_ms)
{
	struct waiter *w = t->offered;

	while (w != NULL) {
		struct waiter *next = w->offered_next;

		if (w->reserved_until_ms <= now_ms)
			end_reservation(t, w, now_ms); /* others come in at the end of the list, and have not ended */
		w = next;
	}
}

bool nfs4r_locks_notice(struct nfs4r_locks *t, uint64_t now_ms, struct nfs4r_lock_notice *out)
{
	const uint32_t last = sizeof(notice_after_ms) / sizeof(notice_after_ms[0]) - 1;

	end_reservations(t, now_ms);
	for (struct waiter *w = t->offered; w != NULL; w = w->offered_next) {
		if (w->notice_at_ms > now_ms)
			continue;
		w->notice_at_ms = now_ms + notice_after_ms[w->notices < last ? w->notices : last];
		w->notices++;
		*out = (struct nfs4r_lock_notice){ .oid = w->file->oid, .lock = w->lock, .tag = w->tag };
		return true;
	}
	return false;
}

uint64_t nfs4r_locks_due(const struct nfs4r_locks *t)
{
	uint64_t due = UINT64_MAX;

	for (const struct waiter *w = t->offered; w != NULL; w = w->offered_next) {
		due = w->notice_at_ms < due ? w->notice_at_ms : due;
		due = w->reserved_until_ms < due ? w->reserved_until_ms : due;
	}
	return due;
}

/* ---- looking ---- */

uint32_t nfs4r_locks_left(const struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *want)
{
	const struct file *f = *place_of(t, oid);

	return f != NULL ? count_left(f, want) : 0;
}

bool nfs4r_locks_any(const struct nfs4r_locks *t, const struct nfs4r_oid *oid)
{
	const struct file *f = *place_of(t, oid);

	return f != NULL && f->nranges != 0;
}

struct nfs4r_locks_count nfs4r_locks_count(const struct nfs4r_locks *t)
{
	return t->count;
}

typedef void (*walk_fn)(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_state state, uint64_t since_ms);

static void walk_ranges(const struct nfs4r_oid *oid, const struct nfs4r_lock_range *r, walk_fn fn, void *arg)
{
	if (r == NULL)
		return;
	walk_ranges(oid, r->left, fn, arg);
	fn(arg, oid, &r->lock, NFS4R_LOCK_SET, r->since_ms);
	walk_ranges(oid, r->right, fn, arg);
}

static void walk_file(const struct file *f, walk_fn fn, void *arg)
{
	walk_ranges(&f->oid, f->ranges, fn, arg);
	for (const struct waiter *w = f->first; w != NULL; w = w->next)
		fn(arg, &f->oid, &w->lock, is_reserved(w) ? NFS4R_LOCK_RESERVED : NFS4R_LOCK_WAITING, w->since_ms);
}

void nfs4r_locks_walk(const struct nfs4r_locks *t, const struct nfs4r_oid *oid,
		      void (*fn)(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_state state, uint64_t since_ms), void *arg)
{
	if (oid != NULL) {
		const struct file *f = *place_of(t, oid);

		if (f != NULL)
			walk_file(f, fn, arg);
		return;
	}
	for (uint32_t i = 0; i < t->nbuckets; i++) {
		for (const struct file *f = t->buckets[i]; f != NULL; f = f->next)
			walk_file(f, fn, arg);
	}
}
