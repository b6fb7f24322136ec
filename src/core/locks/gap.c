/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The gap after a start (locks 8, 12): the claims of this server outlive its process, its table of locks does not.
 *
 * Happy path: this server starts with claims that it had won. What they cover is in a gap: no lock is granted there, and nobody is told that one is free. Every member is asked for
 * the locks of its clients (LOCKS_OF) and answers with a list; this server's own clients ask for theirs again (reclaims). When all lists are here, and its own clients had the time of
 * lock_grace_ms if it has any, the gap ends, and the table is the truth again.
 *
 * Failure modes: a piece of a list is lost: the member is asked again, and its list begins anew. A member is removed: it is not waited for. The log of this server has ended: so have its claims, and the gap with them.
 *
 * Invariants: a claim with a gap is not released before that has ended. The rows of its files do not count any more: they are older than the table that was lost.
 */
#include "core/locks/locks_int.h"

static bool is_restored(const struct nfs4r_core *c, const struct claim *cl)
{
	return cl->own && cl->key.seq < c->locks.gap_below && own_is_acting(cl->own);
}

bool locks_is_before_start(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct walk w;
	struct ctl *k;

	if (!c->locks.gap_below)
		return false;
	control_walk_begin(&w, oid);
	do {
		for (k = control_of(c, &w.oid); k; k = k->next)
			if (is_restored(c, k->claim) && (!w.level || k->depth >= NFS4R_DEEP))
				return true;
	} while (control_walk_up(c, &w));
	return false;
}

bool locks_in_gap(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	return c->locks.gap_open && locks_is_before_start(c, oid);
}

bool locks_gap_keeps(const struct nfs4r_core *c, const struct claim *cl)
{
	return c->locks.gap_open && is_restored(c, cl);
}

static bool has_restored(const struct nfs4r_core *c)
{
	struct claim *cl, *tmp;

	HASH_ITER(hh, c->control.claims, cl, tmp)
		if (is_restored(c, cl))
			return true;
	return false;
}

void locks_gap_started(struct nfs4r_core *c)
{
	if (FAULT(F_LOCK_NO_GAP))
		return;
	c->locks.gap_below = c->control.next_seq;
	c->locks.gap_open = has_restored(c);
	c->locks.gap_until_ms = nfs4r_core_clients(c, c->self) ? c->now + c->cfg.lock_grace_ms : c->now;
	c->locks.gap_sent_ms = 0;
	if (c->locks.gap_open)
		out_timer_at(c, c->now + 1);
}

static void end(struct nfs4r_core *c)
{
	c->locks.gap_open = false;
	locks_gap_over(c);
	c->dirty |= DIRTY_OPS | DIRTY_RELEASE;
}

static nfs4r_servers missing(const struct nfs4r_core *c)
{
	return c->view.adopted.members & ~c->locks.gap_listed & ~NFS4R_BIT(c->self);
}

static struct nfs4r_gap own_gap(const struct nfs4r_core *c)
{
	return (struct nfs4r_gap){ .server = c->self, .view = c->view.adopted.num, .inc = c->cfg.peer_inc };
}

static void ask(struct nfs4r_core *c)
{
	if (c->locks.gap_sent_ms && c->now < c->locks.gap_sent_ms + state_repeat_ms(c)) {
		out_timer_at(c, c->locks.gap_sent_ms + state_repeat_ms(c));
		return;
	}
	c->locks.gap_sent_ms = c->now ? c->now : 1;
	out_timer_at(c, c->now + state_repeat_ms(c));
	EACH_OF(missing(c), s) {
		struct nfs4r_msg *m = out_msg(c, NFS4R_MSG_LOCKS_OF);

		m->locks_of.gap = own_gap(c);
		out_send(c, s, m, false);
	}
}

static void advance(struct nfs4r_core *c)
{
	if (!c->locks.gap_open || not_ready(c))
		return;
	if (!has_restored(c)) {
		end(c);
	} else if (missing(c)) {
		ask(c);
	} else if (!log_clients_reclaim(c)) {
		end(c);
	}
}

void locks_gap_timers(struct nfs4r_core *c)
{
	if (c->locks.gap_open && not_ready(c))
		out_timer_at(c, c->now + state_repeat_ms(c));
	advance(c);
}

/* ---- lists ---- */

static void take_row(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_file_lock_row *row)
{
	struct lock_party *p;
	struct lock_file *f;

	if (row->lock.lock.start > row->lock.lock.last || !locks_in_gap(c, &row->oid))
		return;
	f = locks_file_get(c, &row->oid);
	if (!f || locks_file_is_full(f))
		return;
	p = locks_party_get(c, &row->oid, &row->lock.lock.owner);
	p->holder = from;
	p->inc = c->peers[from].inc;
	if (row->lock.n > p->n) {
		p->n = p->granted = row->lock.n;
		p->status = NFS4R_OK;
	}
	locks_set(c, f, &row->lock.lock, NFS4R_LOCK_TRY, NULL, NULL);
}

void locks_gap_on_list(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	uint32_t *next = &c->locks.gap_next[from];

	if (!c->locks.gap_open || m->locks_list.gap.server != c->self || m->locks_list.gap.inc != c->cfg.peer_inc || m->locks_list.n > NFS4R_LOCKS_LIST_ROWS ||
	    (c->locks.gap_listed & NFS4R_BIT(from)))
		return;
	if (!m->locks_list.offset)
		*next = 0;
	if (m->locks_list.offset != *next)
		return;
	for (uint32_t i = 0; i < m->locks_list.n; i++)
		take_row(c, from, &m->locks_list.rows[i]);
	*next += m->locks_list.n;
	if (!m->locks_list.last)
		return;
	c->locks.gap_listed |= NFS4R_BIT(from);
	c->dirty |= DIRTY_OPS;
	advance(c);
}

struct listing {
	struct nfs4r_core *c;
	nfs4r_server_id to;
	struct nfs4r_gap gap;
	struct nfs4r_msg *m;
	uint32_t offset;
};

static void send_piece(struct listing *l, bool last)
{
	l->m->locks_list.last = last;
	l->offset += l->m->locks_list.n;
	out_send(l->c, l->to, l->m, false);
	l->m = NULL;
}

static void next_piece(struct listing *l)
{
	l->m = out_msg(l->c, NFS4R_MSG_LOCKS_LIST);
	l->m->locks_list.gap = l->gap;
	l->m->locks_list.offset = l->offset;
	l->m->locks_list.rows = out_keep(l->c, NFS4R_LOCKS_LIST_ROWS * sizeof(struct nfs4r_file_lock_row));
}

static void list_lock(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_state state, uint64_t since_ms)
{
	struct listing *l = arg;
	struct nfs4r_core *c = l->c;

	if (state != NFS4R_LOCK_SET)
		return;
	if (l->m->locks_list.n == NFS4R_LOCKS_LIST_ROWS) {
		send_piece(l, false);
		next_piece(l);
	}
	l->m->locks_list.rows[l->m->locks_list.n++] =
		(struct nfs4r_file_lock_row){ *oid, { .lock = *lock, .holder = c->self, .inc = c->cfg.peer_inc, .n = locks_answered(c, oid, &lock->owner) } };
}

/* Another server has a gap. What it has granted, and this server's clients were told, is in HT. */
void locks_gap_on_question(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct listing l = { .c = c, .to = from, .gap = m->locks_of.gap };

	if (m->locks_of.gap.server != from || m->locks_of.gap.inc != c->peers[from].inc)
		return;
	next_piece(&l);
	if (c->locks.own)
		nfs4r_locks_walk(c->locks.own, NULL, list_lock, &l);
	send_piece(&l, true);
}

/* ---- what is decided in a gap ---- */

bool locks_gap_allows(struct nfs4r_core *c, const struct nfs4r_op *op, nfs4r_server_id holder)
{
	if (!locks_in_gap(c, &op->obj))
		return true;
	if (op->type == NFS4R_OP_LOCK)
		return op->lock.reclaim;
	return op->type != NFS4R_OP_LOCK_TEST && (holder == c->self || (c->locks.gap_listed & NFS4R_BIT(holder)));
}
