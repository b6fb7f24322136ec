/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The authority of a file: it decides about its locks while an own acting claim covers it (locks 1, 4, 17, 20).
 *
 * Happy path: a request comes under control, is decided by the table, and its answer is kept. A request that waits stands in the queue of the table, in the order in which
 * requests came, over all servers. When its turn comes the lock is reserved for it: nobody else can have it from then on. The server of its client hears LOCK_READY
 * until it says that it heard. The reservation ends when that server asks for the lock (its client fetched it), or with UNWAIT.
 *
 * Failure modes: a request comes twice: it hears the same again, whatever has changed (locks 4). An older one comes late: it is dropped. The server of a waiting client
 * is removed, or starts anew: what waits of it goes.
 *
 * Invariants: nothing is decided without the proof of the caller that an own claim covers the file and takes operations, in the same step.
 */
#include "core/locks/locks_int.h"

/* ---- the queue ---- */

static struct lock_wait *wait_of(struct lock_file *f, const struct nfs4r_lock *lock)
{
	struct lock_wait *w;

	DL_FOREACH(f->waits, w)
		if (lock_is(&w->lock, lock))
			return w;
	return NULL;
}

void locks_wait_drop(struct lock_file *f, struct lock_wait *w)
{
	DL_DELETE(f->waits, w);
	free(w);
}

/* Under any lock of it that is granted now, all that was written before is there (locks 15). */
static nfs4r_version version_of(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct nfs4r_facts f;

	control_is_known(c, oid, &f);
	return f.version;
}

static void send(struct nfs4r_core *c, uint32_t type, nfs4r_server_id to, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, uint64_t n, uint64_t to_inc)
{
	struct nfs4r_msg *m = out_msg(c, type);

	m->lock_ready.oid = *oid;
	m->lock_ready.lock = *lock;
	m->lock_ready.n = n;
	m->lock_ready.view = c->view.adopted.num;
	m->lock_ready.inc = c->cfg.peer_inc;
	m->lock_ready.to_inc = to_inc;
	m->lock_ready.version = type == NFS4R_MSG_LOCK_READY ? version_of(c, oid) : 0;
	out_send(c, to, m, false);
}

static bool is_due(struct nfs4r_core *c, uint64_t sent_ms)
{
	if (sent_ms && c->now < sent_ms + state_repeat_ms(c)) {
		out_timer_at(c, sent_ms + state_repeat_ms(c));
		return false;
	}
	out_timer_at(c, c->now + state_repeat_ms(c));
	return true;
}

/* The lock is reserved for it. */
static void tell_ready(struct nfs4r_core *c, struct lock_wait *w)
{
	w->ready = true;
	if (w->heard)
		return;
	if (w->holder == c->self) {
		w->heard = true;
		locks_holder_ready(c, &w->oid, &w->lock, w->n, version_of(c, &w->oid));
	} else if (is_due(c, w->sent_ms)) {
		w->sent_ms = c->now ? c->now : 1;
		send(c, NFS4R_MSG_LOCK_READY, w->holder, &w->oid, &w->lock, w->n, w->inc);
	}
}

static void tell_requeue(struct nfs4r_core *c, struct lock_requeue *q)
{
	if (!is_due(c, q->sent_ms))
		return;
	q->sent_ms = c->now ? c->now : 1;
	send(c, NFS4R_MSG_REQUEUE, q->to, &q->oid, &q->lock, q->n, q->inc);
}

/* Its server asks anew. */
void locks_say_requeue(struct nfs4r_core *c, const struct lock_wait *w)
{
	struct lock_requeue *q;

	if (w->holder == c->self) {
		locks_holder_again(c, &w->oid, &w->lock, w->n);
	} else if (!FAULT(F_LOCK_NO_REQUEUE)) {
		q = out_xcalloc(1, sizeof(*q));
		*q = (struct lock_requeue){ .oid = w->oid, .lock = w->lock, .to = w->holder, .inc = w->inc, .n = w->n };
		DL_APPEND(c->locks.requeues, q);
		tell_requeue(c, q);
	}
}

void locks_requeue(struct nfs4r_core *c, struct lock_file *f, struct lock_wait *w)
{
	nfs4r_locks_cancel(locks_table(c), &f->oid, &w->lock, c->now);
	locks_say_requeue(c, w);
	locks_wait_drop(f, w);
}

/* Whose turn is it? */
void locks_serve(struct nfs4r_core *c)
{
	struct nfs4r_lock_notice note;
	uint64_t due;

	if (!c->locks.table)
		return;
	while (nfs4r_locks_notice(c->locks.table, c->now, &note)) {
		struct lock_wait *w = note.tag;
		struct lock_file *f = locks_file_find(c, &note.oid);

		assert(f && w);
		if (w->polls) {
			locks_requeue(c, f, w);
			continue;
		}
		tell_ready(c, w);
		if (FAULT(F_LOCK_NOT_RESERVED)) {
			nfs4r_locks_cancel(c->locks.table, &f->oid, &w->lock, c->now);
			locks_wait_drop(f, w);
		}
	}
	due = nfs4r_locks_due(c->locks.table);
	if (due != UINT64_MAX)
		out_timer_at(c, due > c->now ? due : c->now + 1);
}

/* Its client may have fetched it: so it goes as all that this client had (locks 12, 13). */
static void keep_reserved(struct nfs4r_core *c, struct lock_file *f, struct lock_wait *w)
{
	locks_party_get(c, &f->oid, &w->lock.owner)->granted = w->n;
	locks_set_unheard(c, f, &w->lock, NFS4R_LOCK_TRY, NULL, NULL); /* as when it is fetched */
	locks_wait_drop(f, w);
}

void locks_authority_forget(struct nfs4r_core *c, nfs4r_servers servers)
{
	struct lock_requeue *q, *qtmp;
	struct lock_file *f, *tmp;
	struct lock_wait *w, *wtmp;

	HASH_ITER(hh, c->locks.files, f, tmp)
		DL_FOREACH_SAFE(f->waits, w, wtmp)
			if (servers & NFS4R_BIT(w->holder) && w->ready && w->sent_ms) {
				keep_reserved(c, f, w);
			} else if (servers & NFS4R_BIT(w->holder)) {
				nfs4r_locks_cancel(locks_table(c), &f->oid, &w->lock, c->now);
				locks_wait_drop(f, w);
			}
	DL_FOREACH_SAFE(c->locks.requeues, q, qtmp)
		if (servers & NFS4R_BIT(q->to)) {
			DL_DELETE(c->locks.requeues, q);
			free(q);
		}
	locks_serve(c);
}

void locks_authority_on_msg(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct lock_file *f = locks_file_find(c, &m->lock_ready.oid);
	struct lock_wait *w = f ? wait_of(f, &m->lock_ready.lock) : NULL;
	struct lock_requeue *q, *tmp;

	if (m->type == NFS4R_MSG_LOCK_READY) {
		if (w && w->ready && w->holder == from && w->n == m->lock_ready.n)
			w->heard = true;
		return;
	}
	DL_FOREACH_SAFE(c->locks.requeues, q, tmp)
		if (q->to == from && q->n == m->lock_ready.n && lock_is(&q->lock, &m->lock_ready.lock) && nfs4r_oid_eq(&q->oid, &m->lock_ready.oid)) {
			DL_DELETE(c->locks.requeues, q);
			free(q);
		}
}

void locks_authority_timers(struct nfs4r_core *c)
{
	struct lock_requeue *q;
	struct lock_file *f, *tmp;
	struct lock_wait *w;

	locks_serve(c);
	HASH_ITER(hh, c->locks.files, f, tmp)
		DL_FOREACH(f->waits, w)
			if (w->ready && !w->heard)
				tell_ready(c, w);
	DL_FOREACH(c->locks.requeues, q)
		tell_requeue(c, q);
}

/* ---- requests ---- */

static void name_conflict(struct nfs4r_core *c, struct nfs4r_op *op, const struct nfs4r_lock *other)
{
	const struct lock_party *p = locks_party_find(c, &op->obj, &other->owner);

	op->lock.conflict = (struct nfs4r_file_lock){ .lock = *other };
	if (p) {
		op->lock.conflict.holder = p->holder;
		op->lock.conflict.inc = p->inc;
		op->lock.conflict.n = p->granted;
	}
}

static struct lock_wait *wait_new(struct lock_file *f, const struct nfs4r_op *op)
{
	struct lock_wait *w = out_xcalloc(1, sizeof(*w));

	w->oid = f->oid;
	w->lock = op->lock.lock;
	DL_APPEND(f->waits, w);
	return w;
}

/* Its place in the queue stays, the number is the newest one of its server. */
static void queue(struct nfs4r_core *c, struct lock_wait *w, const struct nfs4r_op *op, nfs4r_server_id holder, uint64_t inc)
{
	w->holder = holder;
	w->inc = inc;
	w->n = op->lock.n;
	w->polls = op->lock.wait == NFS4R_LOCK_POLL;
	w->ready = w->heard = false;
	w->sent_ms = 0;
}

/* A client that confirms, or reclaims, has nothing else there. */
static enum nfs4r_lock_answer set(struct nfs4r_core *c, struct lock_file *f, const struct nfs4r_op *op, struct lock_wait *w, struct nfs4r_lock *other)
{
	if (op->lock.confirms || op->lock.reclaim || FAULT(F_LOCK_LOWERED_UNHEARD))
		return locks_set(c, f, &op->lock.lock, op->lock.wait, w, other);
	return locks_set_unheard(c, f, &op->lock.lock, op->lock.wait, w, other);
}

static enum nfs4r_status acquire(struct nfs4r_core *c, struct lock_file *f, struct nfs4r_op *op, nfs4r_server_id holder, uint64_t inc)
{
	struct lock_wait *w = wait_of(f, &op->lock.lock);
	struct nfs4r_lock other;
	bool fresh = false;

	if (locks_file_is_full(c, f, op->lock.confirms ? NULL : &op->lock.lock))
		return NFS4R_NOLCK;
	if (!w && op->lock.wait != NFS4R_LOCK_TRY) {
		w = wait_new(f, op);
		fresh = true;
	}
	switch (set(c, f, op, w, &other)) {
	case NFS4R_LOCK_GRANTED:
		if (w)
			locks_wait_drop(f, w);
		return NFS4R_OK;
	case NFS4R_LOCK_CONFLICT:
		name_conflict(c, op, &other);
		return NFS4R_DENIED;
	case NFS4R_LOCK_WAITS:
		name_conflict(c, op, &other);
		queue(c, w, op, holder, inc);
		if (op->lock.waited_ms && !FAULT(F_LOCK_ORDER_ANEW))
			nfs4r_locks_waits_since(locks_table(c), &f->oid, &op->lock.lock, c->now > op->lock.waited_ms ? c->now - op->lock.waited_ms : 0, c->now);
		return NFS4R_BLOCKED;
	default:
		if (fresh)
			locks_wait_drop(f, w);
		return NFS4R_NOLCK;
	}
}

/* True: it waited here, or its lock was reserved for it. */
static bool abandon(struct nfs4r_core *c, struct lock_file *f, const struct nfs4r_op *op)
{
	struct lock_wait *w = wait_of(f, &op->lock.lock);

	if (!w)
		return false;
	nfs4r_locks_cancel(locks_table(c), &f->oid, &w->lock, c->now);
	locks_wait_drop(f, w);
	return true;
}

struct any {
	const struct nfs4r_lock *of;
	bool found;
};

static void find_any(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_state state, uint64_t since_ms)
{
	struct any *a = arg;

	a->found |= state == NFS4R_LOCK_SET && lock->start <= a->of->last && a->of->start <= lock->last && memcmp(&lock->owner, &a->of->owner, sizeof(lock->owner)) == 0;
}

/* Does the owner have some of these bytes? What waited may be among them, since control has ended meanwhile. */
static bool has_any(struct nfs4r_core *c, const struct nfs4r_lock *of, const struct nfs4r_oid *oid)
{
	struct any a = { .of = of };

	nfs4r_locks_walk(locks_table(c), oid, find_any, &a);
	return a.found;
}

struct all {
	const struct nfs4r_lock *of;
	uint64_t next; /* first byte that was not found yet */
	bool done;
};

static void find_all(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_state state, uint64_t since_ms)
{
	struct all *a = arg;

	if (a->done || state != NFS4R_LOCK_SET || lock->start > a->next || lock->last < a->next || lock->type < a->of->type || memcmp(&lock->owner, &a->of->owner, sizeof(lock->owner)) != 0)
		return;
	a->done = lock->last >= a->of->last;
	a->next = lock->last + 1;
}

/* Does the owner have all of these bytes, as much as it says? */
static bool has_all(struct nfs4r_core *c, const struct nfs4r_lock *of, const struct nfs4r_oid *oid)
{
	struct all a = { .of = of, .next = of->start };

	nfs4r_locks_walk(locks_table(c), oid, find_all, &a);
	return a.done;
}

static void test(struct nfs4r_core *c, struct nfs4r_op *op)
{
	struct nfs4r_lock other;

	op->status = NFS4R_OK;
	if (nfs4r_locks_test(locks_table(c), &op->obj, &op->lock.lock, &other))
		return;
	name_conflict(c, op, &other);
	op->status = NFS4R_DENIED;
}

static void carry_out(struct nfs4r_core *c, struct lock_file *f, struct lock_party *p, struct nfs4r_op *op)
{
	op->status = NFS4R_OK;
	op->lock.was_granted = false;
	switch (op->type) {
	case NFS4R_OP_LOCK:
		if (op->lock.reclaim && !locks_in_gap(c, &op->obj) && locks_may_begin(c) && !has_all(c, &op->lock.lock, &op->obj) && !FAULT(F_LOCK_RECLAIM_ANY)) {
			op->status = NFS4R_DENIED; /* it was given up meanwhile */
			break;
		}
		op->status = acquire(c, f, op, p->holder, p->inc);
		if (op->status == NFS4R_OK)
			p->granted = op->lock.n;
		break;
	case NFS4R_OP_UNLOCK:
		locks_clear(c, f, &op->lock.lock);
		break;
	default:
		op->lock.was_granted = !abandon(c, f, op) && has_any(c, &op->lock.lock, &op->obj);
	}
}

/* The table of that time may be lost (locks 8), and with it what was granted, or waited. One that polls was told to ask anew. */
static bool is_still_so(struct nfs4r_core *c, struct lock_file *f, const struct lock_party *p, const struct nfs4r_op *op)
{
	if (op->type != NFS4R_OP_LOCK || FAULT(F_LOCK_ANSWER_KEPT))
		return true;
	if (p->status == NFS4R_OK)
		return has_all(c, &op->lock.lock, &op->obj);
	return p->status != NFS4R_BLOCKED || op->lock.wait == NFS4R_LOCK_POLL || wait_of(f, &op->lock.lock);
}

/* Locks 21: somebody may have had it before. */
static bool is_too_early(struct nfs4r_core *c, const struct nfs4r_op *op)
{
	return ((op->type == NFS4R_OP_LOCK && !op->lock.reclaim) || op->type == NFS4R_OP_LOCK_TEST) && !locks_may_begin(c);
}

enum locks_outcome locks_request(struct nfs4r_core *c, struct nfs4r_op *op, nfs4r_server_id holder, uint64_t inc)
{
	struct lock_file *f = locks_file_get(c, &op->obj);
	struct lock_party *p;

	if (!f || !locks_gap_allows(c, op, holder) || is_too_early(c, op))
		return LOCKS_LATER;
	if (op->type == NFS4R_OP_LOCK_TEST) {
		test(c, op);
		return LOCKS_DONE;
	}
	if (op->type == NFS4R_OP_LOCK && locks_is_lost(c, holder, &op->lock.lock) && !(op->lock.reclaim && FAULT(F_LOCK_RECLAIM_NEW))) { /* the life that it is of is over */
		op->status = NFS4R_DENIED;
		return LOCKS_DONE;
	}
	p = locks_party_get(c, &op->obj, &op->lock.lock.owner);
	if (p->inc == inc && p->n && op->lock.n <= p->n && !FAULT(F_LOCK_UNNUMBERED)) {
		if (op->lock.n < p->n)
			return LOCKS_OLD;
		if (is_still_so(c, f, p, op)) {
			op->status = p->status;
			op->lock.was_granted = p->was_granted;
			op->lock.version = op->type == NFS4R_OP_LOCK && op->status == NFS4R_OK ? version_of(c, &op->obj) : 0;
			return LOCKS_DONE;
		}
	}
	p->holder = holder;
	p->inc = inc;
	p->n = op->lock.n;
	carry_out(c, f, p, op);
	p->status = op->status;
	p->was_granted = op->lock.was_granted;
	op->lock.version = op->type == NFS4R_OP_LOCK && op->status == NFS4R_OK ? version_of(c, &op->obj) : 0;
	locks_serve(c);
	return LOCKS_DONE;
}

static bool in_the_way(const struct nfs4r_lock *a, const struct nfs4r_lock *b)
{
	return (a->type == NFS4R_LOCK_WRITE || b->type == NFS4R_LOCK_WRITE) && a->start <= b->last && b->start <= a->last && memcmp(&a->owner, &b->owner, sizeof(a->owner)) != 0;
}

void locks_test_row(struct nfs4r_core *c, struct nfs4r_op *op)
{
	uint32_t n = c->tree.locks ? c->tree.locks(c->tree.ctx, &op->obj, NULL, 0) : 0;
	struct nfs4r_file_lock *v = n ? out_xcalloc(n, sizeof(*v)) : NULL;

	op->status = NFS4R_OK;
	if (n)
		n = c->tree.locks(c->tree.ctx, &op->obj, v, n);
	for (uint32_t i = 0; i < n && op->status == NFS4R_OK; i++)
		if (in_the_way(&v[i].lock, &op->lock.lock)) {
			op->lock.conflict = v[i];
			op->status = NFS4R_DENIED;
		}
	free(v);
}
