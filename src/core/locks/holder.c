/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The locks of this server's clients (locks 4, 16, 17): what they were told that they have (HT), what of it an authority has not heard yet, and what waits.
 *
 * Happy path: a LOCK of a client becomes one request to the authority, numbered. What it answers is what the client hears. An UNLOCK is done at once for the
 * client, and goes on the list of its owner at that file. The list is sent in order, one request at a time, each again until it is confirmed; a later LOCK of that owner
 * waits for it. A read lock that takes the place of write locks is confirmed on that list: till then the authority leaves those. A LOCK that waits is remembered. LOCK_READY makes it ready: the client's next LOCK is answered here, and the list says to the authority that it was fetched.
 *
 * Failure modes: a client does not fetch its lock: after lock_reserve_ms it is given back, and waits again behind the others. A client gave up while its LOCK was at another server: what
 * comes of it is treated as ready. The authority had put a lock among the ranges that is to be given back (control ended meanwhile): the owner's ranges there are said anew, from HT.
 *
 * Invariants: HT never has what the authority does not have (locks 22); the reverse holds while a request is under way, or something is on the list. An owner at a file has at most one request under way.
 */
#include "core/locks/locks_int.h"

static struct nfs4r_locks *own_table(struct nfs4r_core *c)
{
	struct nfs4r_locks_config cfg = { .max = c->cfg.lock_max, .reserve_ms = 0 };

	if (!c->locks.own) {
		c->locks.own = nfs4r_locks_create(&cfg);
		assert(c->locks.own);
		nfs4r_locks_follow(c->locks.own);
	}
	return c->locks.own;
}

/* ---- records ---- */

static struct lock_rec *rec_find(struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_lock_owner *owner)
{
	struct lock_rec *r;
	struct lock_key k;

	lock_key_of(&k, oid, owner);
	HASH_FIND(hh, c->locks.recs, &k, sizeof(k), r);
	return r;
}

static struct lock_rec *rec_get(struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_lock_owner *owner)
{
	struct lock_rec *r = rec_find(c, oid, owner);

	if (r)
		return r;
	r = out_xcalloc(1, sizeof(*r));
	lock_key_of(&r->key, oid, owner);
	HASH_ADD(hh, c->locks.recs, key, sizeof(r->key), r);
	return r;
}

static void rec_put(struct nfs4r_core *c, struct lock_rec *r)
{
	if (r->active || r->items || r->mine || c->locks.running)
		return;
	HASH_DEL(c->locks.recs, r);
	free(r);
}

static void has_work(struct nfs4r_core *c)
{
	c->locks.work = true;
	c->dirty |= DIRTY_LOCKS;
}

static struct lock_item *item_new(struct nfs4r_core *c, uint32_t type, const struct nfs4r_lock *lock)
{
	struct lock_item *i = out_xcalloc(1, sizeof(*i));

	*i = (struct lock_item){ .type = type, .lock = *lock, .since_ms = c->now };
	has_work(c);
	return i;
}

static void item_add(struct nfs4r_core *c, struct lock_rec *r, uint32_t type, const struct nfs4r_lock *lock)
{
	struct lock_item *i = item_new(c, type, lock);

	DL_APPEND(r->items, i);
}

static struct lock_mine *mine_find(struct lock_rec *r, const struct nfs4r_lock *lock)
{
	struct lock_mine *m;

	DL_FOREACH(r->mine, m)
		if (lock_is(&m->lock, lock))
			return m;
	return NULL;
}

static void mine_drop(struct lock_rec *r, struct lock_mine *m)
{
	DL_DELETE(r->mine, m);
	free(m);
}

static void note(struct nfs4r_core *c, enum nfs4r_action_type type, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, uint64_t n)
{
	struct nfs4r_action a = { .type = type };

	if (type == NFS4R_ACT_LOCK_READY)
		a.lock_ready = (struct nfs4r_act_lock_note){ *oid, *lock, n };
	else
		a.lock_again = (struct nfs4r_act_lock_note){ *oid, *lock, n };
	out_act(c, &a);
}

/* ---- HT ---- */

static void own_set(struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, nfs4r_version version)
{
	bool ok = nfs4r_locks_follow_granted(own_table(c), oid, lock, c->now);

	assert(ok); /* without memory no promise can be kept */
	locks_copy_needed(c, oid, version);
}

static void own_clear(struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock)
{
	nfs4r_locks_release(own_table(c), oid, &lock->owner, lock->start, lock->last, c->now);
	if (!nfs4r_locks_any(own_table(c), oid))
		locks_copy_unneeded(c, oid);
}

bool locks_is_full(struct nfs4r_core *c)
{
	return nfs4r_locks_count(own_table(c)).ranges + 2 >= c->cfg.lock_max;
}

struct pieces {
	struct nfs4r_lock what;
	uint32_t n, cap;
	struct nfs4r_lock *v;
};

static void find_piece(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_state state, uint64_t since_ms)
{
	struct pieces *p = arg;

	if (state != NFS4R_LOCK_SET || memcmp(&lock->owner, &p->what.owner, sizeof(lock->owner)) != 0 || lock->start > p->what.last || lock->last < p->what.start)
		return;
	p->v = out_grow(p->v, &p->cap, p->n, sizeof(*p->v));
	p->v[p->n] = *lock;
	if (p->v[p->n].start < p->what.start)
		p->v[p->n].start = p->what.start;
	if (p->v[p->n].last > p->what.last)
		p->v[p->n].last = p->what.last;
	p->n++;
}

/* The owner's ranges within @what, in order; free(v) is the caller's. */
static void own_pieces(const struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_lock *what, struct pieces *p)
{
	*p = (struct pieces){ .what = *what };
	if (c->locks.own)
		nfs4r_locks_walk(c->locks.own, oid, find_piece, p);
}

bool locks_own_has(const struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_lock_owner *owner, uint64_t start, uint64_t last)
{
	struct nfs4r_lock what = { .owner = *owner, .start = start, .last = last };
	uint64_t next = start;
	struct pieces p;
	bool all = FAULT(F_READ_LOCKED_MORE);

	own_pieces(c, oid, &what, &p);
	for (uint32_t i = 0; i < p.n && !all && p.v[i].start <= next; i++) {
		all = p.v[i].last >= last;
		next = p.v[i].last + 1;
	}
	free(p.v);
	return all;
}

bool locks_gives_back(const struct nfs4r_op *op)
{
	return op->type == NFS4R_OP_UNLOCK || (op->type == NFS4R_OP_LOCK && op->lock.confirms && op->lock.lock.type == NFS4R_LOCK_READ);
}

/* Its client hears now that it has @lock. What the authority is to hear of that; NULL: it knows of the lock (@known), and no write lock goes with it. */
static struct lock_item *own_confirm(struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, bool known, nfs4r_version version)
{
	struct lock_item *confirm;
	bool lowers = false;
	struct pieces p;

	own_pieces(c, oid, lock, &p);
	for (uint32_t i = 0; i < p.n; i++)
		lowers |= p.v[i].type > lock->type;
	free(p.v);
	own_set(c, oid, lock, version);
	if (known && !lowers)
		return NULL;
	confirm = item_new(c, NFS4R_OP_LOCK, lock);
	confirm->lowers = lowers;
	return confirm;
}

/* The authority has @what among the owner's ranges, and its client does not: it is said anew what the client has there. Where that is more, the authority has it (locks 22). */
static void say_anew(struct nfs4r_core *c, struct lock_rec *r, const struct nfs4r_lock *what)
{
	struct nfs4r_lock gap = *what;
	struct pieces p;

	own_pieces(c, &r->key.oid, what, &p);
	for (uint32_t i = 0; i < p.n; i++)
		if (p.v[i].type < what->type)
			item_add(c, r, NFS4R_OP_LOCK, &p.v[i]);
	for (uint32_t i = 0; i <= p.n; i++) {
		uint64_t end = i < p.n ? p.v[i].start : what->last;

		gap.last = i < p.n ? end - 1 : end;
		if (i < p.n ? gap.start < end : gap.start <= end)
			item_add(c, r, NFS4R_OP_UNLOCK, &gap);
		if (i < p.n && p.v[i].last == UINT64_MAX)
			break;
		if (i < p.n)
			gap.start = p.v[i].last + 1;
	}
	free(p.v);
}

/* ---- what clients ask for ---- */

static bool overlaps(const struct nfs4r_lock *a, const struct nfs4r_lock *b)
{
	return a->start <= b->last && b->start <= a->last;
}

/* What is said of it under that number counts no more: it is asked for anew, behind what was said to its authority. */
static void unready(const struct nfs4r_core *c, struct lock_mine *m)
{
	m->ready = m->set = false;
	if (!FAULT(F_LOCK_READY_AGAIN))
		m->n = 0;
}

/*
 * What is ready is so until its owner asks for anything else there. Then its client waits again: what is reserved may be among the ranges by now, and goes with that. (What the owner has there is said anew from HT,
 * which does not have what is only ready.)
 */
static void not_ready_now(struct nfs4r_core *c, struct lock_rec *r, const struct nfs4r_lock *by)
{
	struct lock_mine *m;

	DL_FOREACH(r->mine, m)
		if (m->ready && (m->set || !FAULT(F_LOCK_READY_STAYS)) && overlaps(&m->lock, by)) {
			note(c, NFS4R_ACT_LOCK_AGAIN, &r->key.oid, &m->lock, m->n);
			unready(c, m);
			m->ask = true;
			has_work(c);
		}
}

static void unwait(struct nfs4r_core *c, struct lock_rec *r, const struct nfs4r_lock *lock)
{
	not_ready_now(c, r, lock);
	item_add(c, r, NFS4R_OP_UNWAIT, lock);
}

static void fetched(struct nfs4r_core *c, struct lock_rec *r, struct lock_mine *m)
{
	struct lock_item *confirm = own_confirm(c, &r->key.oid, &m->lock, m->set, m->version);

	if (confirm)
		DL_APPEND(r->items, confirm);
	mine_drop(r, m);
	has_work(c);
	rec_put(c, r);
}

bool locks_fetch(struct nfs4r_core *c, const struct nfs4r_op *op, enum nfs4r_status *st)
{
	struct lock_rec *r = rec_find(c, &op->obj, &op->lock.lock.owner);
	struct lock_mine *m = r ? mine_find(r, &op->lock.lock) : NULL;
	struct nfs4r_facts f;

	if (r && !(m && m->ready))
		not_ready_now(c, r, &op->lock.lock);
	if (!m)
		return false;
	control_is_known(c, &op->obj, &f);
	if (f.known == NFS4R_DEAD) {
		mine_drop(r, m);
		rec_put(c, r);
		return false;
	}
	if (m->ready) {
		fetched(c, r, m);
		*st = NFS4R_OK;
		return true;
	}
	m->abandoned = false;
	*st = NFS4R_BLOCKED;
	return op->lock.wait == NFS4R_LOCK_QUEUE && !m->polls;
}

void locks_unlock(struct nfs4r_core *c, const struct nfs4r_op *op)
{
	struct lock_rec *r = rec_find(c, &op->obj, &op->lock.lock.owner);
	struct pieces p;

	own_pieces(c, &op->obj, &op->lock.lock, &p);
	free(p.v);
	if (!p.n && !r)
		return; /* nobody was told that it has any */
	own_clear(c, &op->obj, &op->lock.lock);
	if (r)
		not_ready_now(c, r, &op->lock.lock);
	item_add(c, rec_get(c, &op->obj, &op->lock.lock.owner), NFS4R_OP_UNLOCK, &op->lock.lock);
}

void locks_unwait(struct nfs4r_core *c, const struct nfs4r_op *op)
{
	struct lock_rec *r = rec_find(c, &op->obj, &op->lock.lock.owner);
	struct lock_mine *m = r ? mine_find(r, &op->lock.lock) : NULL;

	if (!r)
		return;
	if (m) {
		mine_drop(r, m);
		unwait(c, r, &op->lock.lock);
	} else if (r->active) { /* of what comes of it */
		unwait(c, r, &op->lock.lock);
	}
}

/* ---- requests ---- */

/* Locks 16: a client of this server gave back what is asked for, before @o came, and the authority may not have heard that. */
static bool is_given_back(struct nfs4r_core *c, const struct opx *o, const struct nfs4r_op *op)
{
	struct lock_rec *r, *tmp;
	struct lock_item *i;

	if ((op->type == NFS4R_OP_LOCK && op->lock.wait == NFS4R_LOCK_QUEUE) || FAULT(F_LOCK_PAST_UNLOCK))
		return false;
	HASH_ITER(hh, c->locks.recs, r, tmp) {
		if (!nfs4r_oid_eq(&r->key.oid, &op->obj))
			continue;
		DL_FOREACH(r->items, i)
			if ((i->type != NFS4R_OP_LOCK || i->lowers) && i->since_ms <= o->since && i->lock.start <= op->lock.lock.last && op->lock.lock.start <= i->lock.last)
				return true;
	}
	return false;
}

bool locks_begin(struct nfs4r_core *c, const struct opx *o, struct nfs4r_op *op)
{
	struct lock_rec *r = NULL;
	struct lock_mine *m = NULL;

	if (is_given_back(c, o, op))
		return false;
	if (op->type != NFS4R_OP_LOCK_TEST) {
		r = rec_get(c, &op->obj, &op->lock.lock.owner);
		m = mine_find(r, &op->lock.lock);
		if (r->active && r->active != o)
			return false;
		if (!r->active && r->items)
			return false;
		r->active = o;
	}
	if (!op->lock.n)
		op->lock.n = locks_number_next(c);
	op->lock.lock.life = locks_life(c, &op->lock.lock.owner);
	if (m) {
		op->lock.since_ms = m->since_ms;
		m->abandoned = false; /* it is back, and hears what becomes of that */
	}
	if (r)
		r->active_n = op->lock.n;
	return true;
}

/* It was given up while the request was under way. */
static bool is_abandoned(struct lock_rec *r, const struct nfs4r_lock *lock)
{
	struct lock_item *i;

	DL_FOREACH(r->items, i)
		if (i->type == NFS4R_OP_UNWAIT && lock_is(&i->lock, lock))
			return true;
	return false;
}

static void wait_until(struct nfs4r_core *c, struct lock_mine *m)
{
	m->until_ms = c->cfg.lock_reserve_ms ? c->now + c->cfg.lock_reserve_ms : UINT64_MAX;
	out_timer_at(c, m->until_ms);
}

static void reserve(struct nfs4r_core *c, struct lock_mine *m)
{
	m->ready = true;
	m->ask = false;
	wait_until(c, m);
}

static void client_has(struct nfs4r_core *c, struct lock_rec *r, const struct nfs4r_op *op)
{
	struct lock_mine *m = mine_find(r, &op->lock.lock);
	struct lock_item *i, *confirm;

	if (m)
		mine_drop(r, m);
	confirm = own_confirm(c, &op->obj, &op->lock.lock, true, op->lock.version);
	DL_FOREACH(r->items, i) /* given back meanwhile */
		if (i->type == NFS4R_OP_UNLOCK)
			own_clear(c, &op->obj, &i->lock);
	if (confirm)
		DL_PREPEND(r->items, confirm);
}

static void lock_ended(struct nfs4r_core *c, struct lock_rec *r, const struct nfs4r_op *op, enum nfs4r_status st, enum locks_asker who)
{
	const struct nfs4r_lock *lock = &op->lock.lock;
	struct lock_mine *m = mine_find(r, lock);
	bool fresh = !m;

	if (st == NFS4R_OK && who == LOCKS_CLIENT) {
		client_has(c, r, op);
		return;
	}
	if (is_abandoned(r, lock))
		return;
	if (fresh && who == LOCKS_ASK) { /* its client does not wait any more, or has it */
		unwait(c, r, lock);
		return;
	}
	if (st != NFS4R_OK && st != NFS4R_BLOCKED) {
		if (m && op->lock.inc) { /* its authority knows it by this number, or by the one before */
			m->n = op->lock.n;
			m->ask |= st == NFS4R_DELAY && !m->polls && !m->ready;
		} else if (op->lock.inc && st == NFS4R_DELAY && !op->lock.reclaim) /* what is not reclaimed goes with its life; else it was sent, and perhaps granted by who has let go of the file since */
			unwait(c, r, lock);
		if (m && (st == NFS4R_STALE || st == NFS4R_ORPHAN)) {
			note(c, NFS4R_ACT_LOCK_READY, &op->obj, lock, m->n); /* its client hears that the file is gone when it asks */
			mine_drop(r, m);
		} else if (m && m->ask)
			r->not_before = c->now + state_repeat_ms(c);
		return;
	}
	if (!m) {
		m = out_xcalloc(1, sizeof(*m));
		m->lock = *lock;
		m->since_ms = op->lock.since_ms;
		DL_APPEND(r->mine, m);
	}
	m->n = op->lock.n;
	m->version = op->lock.version;
	m->polls = op->lock.wait == NFS4R_LOCK_POLL;
	m->ask = m->ready = false;
	m->set = st == NFS4R_OK;
	if (who != LOCKS_ASK)
		m->abandoned = who == LOCKS_ABANDONED;
	if (m->abandoned)
		wait_until(c, m);
	if (st == NFS4R_OK) {
		not_ready_now(c, r, lock);
		reserve(c, m);
		note(c, NFS4R_ACT_LOCK_READY, &op->obj, lock, m->n);
	} else if (r->early_n == m->n && r->early_ready) {
		locks_holder_ready(c, &op->obj, lock, m->n, r->early_version);
	} else if (r->early_n == m->n) {
		locks_holder_again(c, &op->obj, lock, m->n);
	}
}

static void item_ended(struct nfs4r_core *c, struct lock_rec *r, const struct nfs4r_op *op, enum nfs4r_status st)
{
	struct lock_item *i = r->items, *rest;

	if ((st == NFS4R_DELAY || st == NFS4R_NOT_PRIMARY || st == NFS4R_NOLCK) && !FAULT(F_UNLOCK_ONCE)) { /* the authority has not heard it, or could not */
		r->not_before = c->now + state_repeat_ms(c);
		return;
	}
	DL_DELETE(r->items, i);
	free(i);
	if (op->type == NFS4R_OP_UNWAIT && op->lock.was_granted && st == NFS4R_OK) { /* before what came later */
		rest = r->items;
		r->items = NULL;
		say_anew(c, r, &op->lock.lock);
		DL_CONCAT(r->items, rest);
	}
}

/* Its client was told once that it waits, and is told to ask again now: perhaps it does not. */
static void perhaps_not(struct nfs4r_core *c, struct lock_rec *r, const struct nfs4r_op *op)
{
	struct lock_mine *m = mine_find(r, &op->lock.lock);

	if (!m || FAULT(F_LOCK_WAITS_ON))
		return;
	m->abandoned = true;
	wait_until(c, m);
}

void locks_end(struct nfs4r_core *c, const struct opx *o, const struct nfs4r_op *op, enum nfs4r_status st, enum locks_asker who)
{
	struct lock_rec *r = rec_find(c, &op->obj, &op->lock.lock.owner);

	if (r && st == NFS4R_DELAY && (who == LOCKS_CLIENT || who == LOCKS_ABANDONED))
		perhaps_not(c, r, op);
	if (!r || r->active != o)
		return;
	r->active = NULL;
	if (who == LOCKS_ITEM)
		item_ended(c, r, op, st);
	else
		lock_ended(c, r, op, st, who);
	if (r->items || r->mine)
		has_work(c);
	c->dirty |= DIRTY_OPS; /* a LOCK of the same owner may wait for this one */
	rec_put(c, r);
}

/* One that the owner waits for is ready, and waits for its client: what is granted in the same place makes it ask anew, and so would that one when it is granted. */
static bool is_in_turn(const struct nfs4r_core *c, const struct lock_rec *r, const struct lock_mine *m)
{
	const struct lock_mine *other;

	DL_FOREACH(r->mine, other)
		if (other->ready && overlaps(&other->lock, &m->lock))
			return FAULT(F_LOCK_ASKED_IN_TURN);
	return true;
}

/* The one that has waited longest. */
static struct lock_mine *to_ask(const struct nfs4r_core *c, struct lock_rec *r)
{
	struct lock_mine *m, *first = NULL;

	DL_FOREACH(r->mine, m)
		if (m->ask && is_in_turn(c, r, m) && (!first || m->since_ms < first->since_ms))
			first = m;
	return first;
}

void locks_run_begin(struct nfs4r_core *c)
{
	c->locks.running = true;
	c->locks.work = false;
}

struct lock_rec *locks_run_next(struct nfs4r_core *c, struct lock_rec *after, struct nfs4r_op *op, enum locks_asker *who)
{
	struct lock_rec *r = after ? after->hh.next : c->locks.recs;
	struct lock_mine *m;

	for (; r; r = r->hh.next) {
		if (r->active || (!r->items && !to_ask(c, r)))
			continue;
		if (c->now < r->not_before) {
			out_timer_at(c, r->not_before);
			continue;
		}
		memset(op, 0, sizeof(*op));
		op->obj = r->key.oid;
		m = r->items ? NULL : to_ask(c, r);
		if (m && r->asked_step == c->step) { /* it was answered at once; whatever came of it, no step lasts for ever */
			out_timer_at(c, c->now + state_repeat_ms(c));
			continue;
		}
		*who = m ? LOCKS_ASK : LOCKS_ITEM;
		op->type = m ? NFS4R_OP_LOCK : r->items->type;
		op->lock.lock = m ? m->lock : r->items->lock;
		if (op->type == NFS4R_OP_LOCK)
			op->lock.wait = m ? NFS4R_LOCK_QUEUE : NFS4R_LOCK_TRY;
		op->lock.confirms = !m && op->type == NFS4R_OP_LOCK;
		op->lock.since_ms = m ? m->since_ms : 0;
		return r;
	}
	return NULL;
}

void locks_begin_own(struct nfs4r_core *c, struct lock_rec *r, const struct opx *o, struct nfs4r_op *op)
{
	struct lock_mine *m = r->items ? NULL : mine_find(r, &op->lock.lock);

	assert(!r->active);
	r->active = o;
	if (m)
		r->asked_step = c->step;
	r->active_n = op->lock.n = locks_number_next(c);
	op->lock.lock.life = locks_life(c, &op->lock.lock.owner);
	if (m)
		m->n = op->lock.n; /* what is said of an older number does not count any more */
}

struct list_walk {
	void (*fn)(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock);
	void *arg;
};

static void list_own(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_state state, uint64_t since_ms)
{
	const struct list_walk *l = arg;

	if (state == NFS4R_LOCK_SET)
		l->fn(l->arg, oid, lock);
}

void locks_own_each(struct nfs4r_core *c, void (*fn)(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock), void *arg)
{
	struct list_walk l = { fn, arg };

	if (c->locks.own)
		nfs4r_locks_walk(c->locks.own, NULL, list_own, &l);
}

uint64_t locks_answered(struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_lock_owner *owner)
{
	const struct lock_rec *r = rec_find(c, oid, owner);

	return r && r->active ? r->active_n - 1 : c->locks.n;
}

void locks_run_end(struct nfs4r_core *c, bool more)
{
	struct lock_rec *r, *tmp;

	c->locks.running = false;
	c->locks.work |= more;
	HASH_ITER(hh, c->locks.recs, r, tmp)
		rec_put(c, r);
}

void locks_await_disk(struct nfs4r_core *c, bool wait)
{
	c->locks.unsaved = wait;
}

/* ---- what waits ---- */

/* What comes of a LOCK may come before its answer. */
static void early(struct lock_rec *r, uint64_t n, bool ready, nfs4r_version version)
{
	r->early_n = n;
	r->early_ready = ready;
	r->early_version = version;
}

void locks_holder_ready(struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, uint64_t n, nfs4r_version version)
{
	struct lock_rec *r = rec_find(c, oid, &lock->owner);
	struct lock_mine *m = r ? mine_find(r, lock) : NULL;

	if (r && r->active && r->active_n == n) {
		early(r, n, true, version);
		return;
	}
	if (!m || m->n != n || m->ready)
		return; /* it was given up, which its authority will hear, or this is heard already */
	m->set = false;
	m->version = version;
	reserve(c, m);
	note(c, NFS4R_ACT_LOCK_READY, oid, lock, n);
}

/* Of a request that was told to be ready, too: control has ended, and it is among the ranges now. */
void locks_holder_again(struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, uint64_t n)
{
	struct lock_rec *r = rec_find(c, oid, &lock->owner);
	struct lock_mine *m = r ? mine_find(r, lock) : NULL;

	if (r && r->active && r->active_n == n) {
		early(r, n, false, 0);
		return;
	}
	if (!m || m->n != n || m->ready)
		return;
	if (m->polls) {
		note(c, NFS4R_ACT_LOCK_AGAIN, oid, lock, n);
		mine_drop(r, m);
		rec_put(c, r);
		return;
	}
	m->ask = true;
	has_work(c);
}

void locks_holder_on_msg(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct nfs4r_msg *a;

	if (!FAULT(F_LOCK_OLD_GRANT) && (m->lock_ready.view != c->view.adopted.num || m->lock_ready.inc != c->peers[from].inc || m->lock_ready.to_inc != c->cfg.peer_inc))
		return; /* locks 5: it comes again, or does not count */
	if (m->type == NFS4R_MSG_REQUEUE)
		locks_holder_again(c, &m->lock_ready.oid, &m->lock_ready.lock, m->lock_ready.n);
	else
		locks_holder_ready(c, &m->lock_ready.oid, &m->lock_ready.lock, m->lock_ready.n, m->lock_ready.version);
	a = out_msg(c, m->type);
	a->lock_ready = m->lock_ready;
	a->lock_ready.heard = true;
	a->lock_ready.inc = c->cfg.peer_inc;
	a->lock_ready.to_inc = c->peers[from].inc;
	out_send(c, from, a, false);
}

void locks_ask_again(struct nfs4r_core *c)
{
	struct lock_mine *m;
	struct lock_rec *r;

	for (r = c->locks.recs; r; r = r->hh.next)
		DL_FOREACH(r->mine, m)
			if (!m->ready) {
				m->ask = !m->polls;
				if (m->polls)
					note(c, NFS4R_ACT_LOCK_AGAIN, &r->key.oid, &m->lock, m->n);
				has_work(c);
			}
}

/* Not fetched in time: it is given back, and waits again behind the others, if its client knows that it waits. */
static void reserve_over(struct nfs4r_core *c, struct lock_rec *r, struct lock_mine *m)
{
	if (!m->abandoned)
		note(c, NFS4R_ACT_LOCK_AGAIN, &r->key.oid, &m->lock, m->n);
	unready(c, m);
	m->since_ms = c->now;
	unwait(c, r, &m->lock);
	m->ask = !m->polls && !m->abandoned;
	if (!m->ask)
		mine_drop(r, m);
}

/* This server says what its clients have: nothing counts that was promised to them, or asked for, before that. */
void locks_void(struct nfs4r_core *c)
{
	struct lock_mine *m, *tmp;
	struct lock_rec *r;

	c->locks.anew = true;
	c->dirty |= DIRTY_LOCKS;
	for (r = c->locks.recs; r; r = r->hh.next) {
		r->early_ready = false; /* it is asked anew */
		DL_FOREACH_SAFE(r->mine, m, tmp) {
			if (m->ready && (m->polls || m->abandoned)) {
				reserve_over(c, r, m);
				continue;
			}
			if (m->ready || m->polls)
				note(c, NFS4R_ACT_LOCK_AGAIN, &r->key.oid, &m->lock, m->n);
			unready(c, m);
			m->ask = !m->polls;
			has_work(c);
		}
	}
}

bool locks_are_asked_anew(struct nfs4r_core *c)
{
	bool anew = c->locks.anew;

	c->locks.anew = false;
	return anew;
}

void locks_holder_timers(struct nfs4r_core *c)
{
	struct lock_mine *m, *tmp;
	struct lock_rec *r;

	for (r = c->locks.recs; r; r = r->hh.next) {
		DL_FOREACH_SAFE(r->mine, m, tmp) {
			if (!m->ready && !m->abandoned)
				continue;
			if (c->now >= m->until_ms)
				reserve_over(c, r, m);
			else
				out_timer_at(c, m->until_ms);
		}
		if (r->items || to_ask(c, r)) {
			if (c->now < r->not_before)
				out_timer_at(c, r->not_before);
			else
				has_work(c);
		}
	}
}

/* As a start would. Requests under way end without being heard of any more. */
void locks_holder_forget(struct nfs4r_core *c)
{
	struct lock_rec *r, *tmp;

	HASH_ITER(hh, c->locks.recs, r, tmp) {
		while (r->items) {
			struct lock_item *i = r->items;

			DL_DELETE(r->items, i);
			free(i);
		}
		while (r->mine)
			mine_drop(r, r->mine);
		HASH_DEL(c->locks.recs, r);
		free(r);
	}
	if (c->locks.own)
		nfs4r_locks_destroy(c->locks.own);
	c->locks.own = NULL;
	FREE_TABLE(c->locks.copies);
	c->locks.work = false;
}
