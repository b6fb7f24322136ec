/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Gaps (locks 8 to 12): an authority whose table is not the truth. Its process started anew and kept its claims; or it won what another server controlled whose log has ended.
 *
 * Happy path: a claim is in a gap from the start of this server on, or from when it is won, since an ACK or this server's own rows say so (gap_rows.c). In it no lock is granted anew. Every member is asked for the
 * locks of its clients (LOCKS_OF) and answers with a list, which also says which clients have not reclaimed yet. Clients that do, and those of servers outside the view, are awaited. When all lists are here
 * and nobody is awaited, the gap ends, the table is the truth again, and all members hear it (GAP_OVER), so that they forget what they have noted.
 *
 * Failure modes: a piece of a list is lost: the member is asked again, and its list begins anew. A member starts anew: its list is awaited again. A member is removed: its list is not awaited any more, but its
 * clients are. The log of this server ends: so do its claims, and each server that had them notes a gap.
 *
 * Invariants: a claim with a gap is not released before that has ended and all members know. The rows of its files do not count any more. A list counts only if it was asked for since the gap began, in this view
 * and in the present starts of both servers. Who made a list counts no answer that was asked for before.
 */
#include "core/locks/locks_int.h"

static struct gap_claim *find(const struct nfs4r_core *c, uint64_t seq)
{
	struct gap_claim *g;

	HASH_FIND(hh, c->locks.gap_claims, &seq, sizeof(seq), g);
	return g;
}

static struct gap_claim *get(struct nfs4r_core *c, uint64_t seq)
{
	struct gap_claim *g = find(c, seq);

	if (g)
		return g;
	g = out_xcalloc(1, sizeof(*g));
	g->seq = seq;
	HASH_ADD(hh, c->locks.gap_claims, seq, sizeof(g->seq), g);
	return g;
}

static struct gap_list *list_of(struct nfs4r_core *c, nfs4r_server_id s)
{
	if (!c->locks.gap_lists[s])
		c->locks.gap_lists[s] = out_xcalloc(1, sizeof(*c->locks.gap_lists[s]));
	return c->locks.gap_lists[s];
}

void locks_gap_fini(struct nfs4r_core *c)
{
	struct gap_claim *g, *tmp;

	HASH_ITER(hh, c->locks.gap_claims, g, tmp) {
		HASH_DEL(c->locks.gap_claims, g);
		free(g);
	}
	for (int s = 0; s <= NFS4R_SERVERS_MAX; s++)
		free(c->locks.gap_lists[s]);
}

/* ---- what is in a gap ------------------------------------------------------------------ */

/* The next own acting claim that covers the object of @w, from *k on, and has or had a gap. */
static struct gap_claim *next_cover(struct nfs4r_core *c, struct walk *w, struct ctl **k)
{
	struct gap_claim *g;

	for (;;) {
		for (; *k; *k = (*k)->next) {
			if (!(*k)->claim->own || !own_is_acting((*k)->claim->own) || (w->level && (*k)->depth < NFS4R_DEEP))
				continue;
			g = find(c, (*k)->claim->key.seq);
			if (!g)
				continue;
			*k = (*k)->next;
			return g;
		}
		if (!control_walk_up(c, w))
			return NULL;
		*k = control_of(c, &w->oid);
	}
}

#define EACH_COVER(c, oid, g, w, k)      \
	control_walk_begin(&(w), (oid)); \
	(k) = control_of((c), &(w).oid); \
	while (((g) = next_cover((c), &(w), &(k))))

bool locks_in_gap(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct gap_claim *g;
	struct walk w;
	struct ctl *k;

	if (!c->locks.ngaps)
		return false;
	EACH_COVER(c, oid, g, w, k)
	if (g->open)
		return true;
	return false;
}

bool locks_gap_any(const struct nfs4r_core *c)
{
	return c->locks.ngaps;
}

bool locks_row_is_past(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_lsn written)
{
	struct gap_claim *g;
	struct walk w;
	struct ctl *k;

	if (!c->locks.gap_claims)
		return false;
	EACH_COVER(c, oid, g, w, k)
	if (g->past && written <= g->since)
		return true;
	return false;
}

/* Is the list of @from to be taken in for @oid, if it was asked for in @round? */
static bool is_wanted(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_server_id from, uint64_t round)
{
	struct gap_claim *g;
	struct walk w;
	struct ctl *k;

	EACH_COVER(c, oid, g, w, k)
	if (g->open && g->round <= round && !(g->listed & NFS4R_BIT(from)))
		return true;
	return false;
}

static bool is_listed(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_server_id holder)
{
	struct gap_claim *g;
	struct walk w;
	struct ctl *k;

	EACH_COVER(c, oid, g, w, k)
	if (g->open && !(g->listed & NFS4R_BIT(holder)))
		return false;
	return true;
}

bool locks_gap_allows(struct nfs4r_core *c, const struct nfs4r_op *op, nfs4r_server_id holder)
{
	if (!locks_in_gap(c, &op->obj))
		return true;
	if (op->type == NFS4R_OP_LOCK)
		return op->lock.reclaim;
	return op->type != NFS4R_OP_LOCK_TEST && is_listed(c, &op->obj, holder);
}

/* ---- how a gap begins -------------------------------------------------------------------- */

static void take_row(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_file_lock_row *row)
{
	uint64_t inc = from == c->self ? c->cfg.peer_inc : c->peers[from].inc;
	struct lock_party *p;
	struct lock_file *f;

	f = locks_is_lost(c, from, &row->lock.lock) ? NULL : locks_file_get(c, &row->oid);
	if (!f || locks_file_is_full(c, f, NULL))
		return;
	p = locks_party_get(c, &row->oid, &row->lock.lock.owner);
	if (p->inc == inc && p->n > row->lock.n && FAULT(F_LOCK_LIST_OLDER))
		return;
	p->holder = from;
	p->inc = inc;
	if (row->lock.n > p->n) {
		p->n = p->granted = row->lock.n;
		p->status = NFS4R_OK;
	}
	locks_set(c, f, &row->lock.lock, NFS4R_LOCK_TRY, NULL, NULL);
}

static void take_own(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock)
{
	struct nfs4r_core *c = arg;
	struct nfs4r_file_lock_row row = { *oid, { .lock = *lock, .holder = c->self, .inc = c->cfg.peer_inc } };

	if (!is_wanted(c, oid, c->self, c->locks.gap_round))
		return;
	row.lock.n = locks_answered(c, oid, &lock->owner);
	take_row(c, c->self, &row);
}

static void open_gap(struct nfs4r_core *c, struct gap_claim *g)
{
	c->locks.ngaps += !g->open;
	g->won = g->open = g->past = true;
	g->since = c->log.logs[c->self].received;
	g->since_ms = c->now ? c->now : 1;
	g->round = ++c->locks.gap_round;
	g->listed = 0;
	g->known_by = NFS4R_BIT(c->self);
	c->locks.gap_sent_ms = 0;
	out_timer_at(c, c->now + 1);
}

/* This server's own list. */
static void list_own(struct nfs4r_core *c, struct gap_claim *g)
{
	locks_void(c);
	locks_own_each(c, take_own, c);
	g->listed |= NFS4R_BIT(c->self);
}

void locks_gap_started(struct nfs4r_core *c)
{
	struct claim *cl, *tmp;
	struct gap_claim *g;

	if (c->locks.gap_rows)
		locks_sweep_soon(c);
	if (FAULT(F_LOCK_NO_GAP))
		return;
	HASH_ITER(hh, c->control.claims, cl, tmp) {
		if (!cl->own || !own_is_acting(cl->own))
			continue;
		g = get(c, cl->key.seq);
		g->rows = locks_gap_touches(c, cl);
		open_gap(c, g);
		g->listed = NFS4R_BIT(c->self); /* nobody has heard anything yet */
	}
}

/* What this server controls is noted here, too: after a start it has to know whom to tell when the gap is over. */
static void note_own(struct nfs4r_core *c, const struct claim *cl)
{
	for (uint32_t i = 0; i < cl->n; i++)
		locks_gap_note(c, &(struct nfs4r_control){ cl->ctl[i].oid, cl->ctl[i].depth }, c->self, c->log.logs[c->self].received + 1);
}

void locks_gap_named(struct nfs4r_core *c, struct claim *cl, nfs4r_server_id from)
{
	struct gap_claim *g;

	if (!state_locks_shared(c) || FAULT(F_LOCK_ACK_NO_GAP))
		return;
	g = get(c, cl->key.seq);
	if (own_is_candidate(cl->own)) {
		g->rows = true;
		return;
	}
	if (!g->rows)
		g->known_by = ~(nfs4r_servers)0;
	g->won = true;
	g->rows = true; /* a majority did not name it: it is over, and @from has not heard that */
	g->known_by &= ~NFS4R_BIT(from);
	out_timer_at(c, c->now + 1);
}

void locks_gap_won(struct nfs4r_core *c, struct claim *cl)
{
	struct gap_claim *g;

	if (!state_locks_shared(c))
		return;
	g = find(c, cl->key.seq);
	if (!g && !locks_gap_touches(c, cl))
		return;
	g = get(c, cl->key.seq);
	g->rows = true;
	note_own(c, cl);
	open_gap(c, g);
	list_own(c, g);
}

/* What covers it now cannot know its locks either. */
void locks_gap_moved(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct gap_claim *g;
	struct walk w;
	struct ctl *k;

	control_walk_begin(&w, oid);
	do {
		for (k = control_of(c, &w.oid); k; k = k->next) {
			if (!k->claim->own || !own_is_acting(k->claim->own) || (w.level && k->depth < NFS4R_DEEP))
				continue;
			g = get(c, k->claim->key.seq);
			if (g->open)
				continue;
			open_gap(c, g);
			list_own(c, g);
		}
	} while (control_walk_up(c, &w));
}

/* ---- how it ends ------------------------------------------------------------------------- */

bool locks_gap_keeps(const struct nfs4r_core *c, const struct claim *cl)
{
	const struct gap_claim *g = c->locks.gap_claims ? find(c, cl->key.seq) : NULL;

	if (!g || FAULT(F_LOCK_RELEASE_IN_GAP))
		return false;
	return g->open || (g->won && g->rows && (c->view.adopted.members & ~g->known_by));
}

void locks_gap_released(struct nfs4r_core *c, const struct claim *cl)
{
	struct gap_claim *g = find(c, cl->key.seq);

	if (!g)
		return;
	c->locks.ngaps -= g->open;
	HASH_DEL(c->locks.gap_claims, g);
	free(g);
}

static uint32_t controls_of(const struct nfs4r_core *c, const struct gap_claim *g, struct nfs4r_control *out)
{
	const struct claim *cl = state_claim_find(c, c->self, g->seq);

	for (uint32_t i = 0; cl && i < cl->n; i++)
		out[i] = (struct nfs4r_control){ cl->ctl[i].oid, cl->ctl[i].depth };
	return cl ? cl->n : 0;
}

/* All members know: nothing is left of it at any of them, nor here. */
static void all_know(struct nfs4r_core *c, const struct gap_claim *g)
{
	struct nfs4r_control v[NFS4R_CLAIM_CONTROLS_MAX];

	if (c->view.adopted.members & ~g->known_by)
		return;
	locks_gap_drop(c, v, controls_of(c, g, v));
	c->dirty |= DIRTY_RELEASE;
}

static void tell(struct nfs4r_core *c, struct gap_claim *g)
{
	nfs4r_servers to = c->view.adopted.members & ~g->known_by;

	if (!g->won || g->open || !g->rows || !to)
		return;
	if (g->sent_ms && c->now < g->sent_ms + state_repeat_ms(c)) {
		out_timer_at(c, g->sent_ms + state_repeat_ms(c));
		return;
	}
	if (FAULT(F_LOCK_END_ONCE) && g->sent_ms) {
		g->known_by = ~(nfs4r_servers)0;
		all_know(c, g);
		return;
	}
	g->sent_ms = c->now ? c->now : 1;
	out_timer_at(c, c->now + state_repeat_ms(c));
	EACH_OF(to, s) {
		struct nfs4r_msg *m = out_msg(c, NFS4R_MSG_GAP_OVER);

		m->gap_over.pid = (struct nfs4r_pid){ c->self, g->seq };
		m->gap_over.view = c->view.adopted.num;
		m->gap_over.ncontrols = controls_of(c, g, m->gap_over.controls);
		out_send(c, s, m, false);
	}
}

static void end(struct nfs4r_core *c, struct gap_claim *g)
{
	g->open = false;
	c->locks.ngaps--;
	g->sent_ms = 0;
	tell(c, g);
	if (g->rows)
		all_know(c, g);
	c->dirty |= DIRTY_OPS | DIRTY_RELEASE;
}

static bool reclaims(const struct nfs4r_core *c, nfs4r_server_id s)
{
	const struct gap_list *l = c->locks.gap_lists[s];

	if (!l || FAULT(F_LOCK_LIST_NO_OPEN))
		return false;
	for (uint32_t i = 0; i < l->nclients; i++)
		if (log_client_is_listed(c, s, l->clients[i]))
			return true;
	return l->more_clients;
}

static bool count_reclaims(void *arg, const struct nfs4r_client_entry *k)
{
	struct nfs4r_msg *m = arg;

	if (m->locks_list.nclients == NFS4R_LOCKS_LIST_CLIENTS) {
		m->locks_list.more_clients = true;
		return false;
	}
	memcpy(m->locks_list.clients[m->locks_list.nclients++], k->client.id, sizeof(k->client.id));
	return true;
}

struct own_clients {
	const struct nfs4r_core *c;
	struct nfs4r_msg *m; /* where they are written */
	bool any;
};

static bool own_client(void *arg, const struct nfs4r_client_entry *k)
{
	struct own_clients *o = arg;

	if (!nfs4r_core_client_reclaims(o->c, k->client.id))
		return true;
	o->any = true;
	return o->m && count_reclaims(o->m, k);
}

/* This server's clients that have not reclaimed. */
static bool own_reclaim(const struct nfs4r_core *c, struct nfs4r_msg *m)
{
	struct own_clients o = { .c = c, .m = m };

	if (log_clients_reclaim(c))
		nfs4r_core_each_client(c, c->self, own_client, &o);
	return o.any;
}

/* Members whose clients have not reclaimed all (locks 9). */
static nfs4r_servers awaited(const struct nfs4r_core *c)
{
	nfs4r_servers set = 0;

	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++) {
		bool is;

		if (s == c->self)
			is = own_reclaim(c, NULL);
		else if (state_is_member(c, s))
			is = reclaims(c, s);
		else
			is = nfs4r_core_clients(c, s) && !FAULT(F_LOCK_AWAITS_MEMBERS);
		is |= !log_clients_are_sure(c, s);
		set |= is ? NFS4R_BIT(s) : 0;
	}
	return set;
}

nfs4r_servers locks_gap_awaits_clients(const struct nfs4r_core *c)
{
	return awaited(c);
}

static void ask(struct nfs4r_core *c, nfs4r_servers lists, nfs4r_servers clients)
{
	nfs4r_servers to = (lists | clients) & c->view.adopted.members & ~NFS4R_BIT(c->self);

	if (!to)
		return;
	if (c->locks.gap_sent_ms && c->now < c->locks.gap_sent_ms + state_repeat_ms(c)) {
		out_timer_at(c, c->locks.gap_sent_ms + state_repeat_ms(c));
		return;
	}
	c->locks.gap_sent_ms = c->now ? c->now : 1;
	out_timer_at(c, c->now + state_repeat_ms(c));
	EACH_OF(to, s) {
		struct nfs4r_msg *m = out_msg(c, NFS4R_MSG_LOCKS_OF);

		m->locks_of.view = c->view.adopted.num;
		m->locks_of.inc = c->cfg.peer_inc;
		m->locks_of.round = c->locks.gap_round;
		m->locks_of.only_clients = !(lists & NFS4R_BIT(s));
		out_send(c, s, m, false);
	}
}

/* Whose lists are awaited: all members, also those that are silent (locks 10). */
static nfs4r_servers to_list(const struct nfs4r_core *c, const struct gap_claim *g)
{
	nfs4r_servers set = c->view.adopted.members & ~g->listed;

	if (FAULT(F_LOCK_HEARD_ONLY) && quorum_is_majority(c, g->listed))
		return 0;
	return set;
}

nfs4r_servers locks_gap_awaits_lists(const struct nfs4r_core *c, const struct gap_claim *g)
{
	return to_list(c, g);
}

bool locks_gap_covers(struct nfs4r_core *c, const struct gap_claim *gap, const struct nfs4r_oid *oid)
{
	struct gap_claim *g;
	struct walk w;
	struct ctl *k;

	EACH_COVER(c, oid, g, w, k)
	if (g == gap)
		return true;
	return false;
}

uint32_t locks_gap_controls(const struct nfs4r_core *c, const struct gap_claim *g, struct nfs4r_control *out)
{
	return controls_of(c, g, out);
}

/* All rows that were older than a gap which is over are in tables now: what is read of one later is newer, or of a file that came from elsewhere. */
static void rows_count(struct nfs4r_core *c)
{
	struct gap_claim *g, *tmp;

	HASH_ITER(hh, c->locks.gap_claims, g, tmp)
		g->past &= g->open || !c->tree.next_locked;
}

void locks_gap_goes_on(struct nfs4r_core *c)
{
	nfs4r_servers lists = 0, clients;
	struct gap_claim *g, *tmp;
	bool over = false;

	HASH_ITER(hh, c->locks.gap_claims, g, tmp)
		tell(c, g);
	if (!c->locks.ngaps)
		return;
	if (not_ready(c) || !state_lease_valid(c)) {
		out_timer_at(c, c->now + state_repeat_ms(c));
		return;
	}
	clients = awaited(c);
	HASH_ITER(hh, c->locks.gap_claims, g, tmp) {
		if (!g->open)
			continue;
		lists |= to_list(c, g);
		if (!to_list(c, g) && !clients) {
			end(c, g);
			over = true;
		}
	}
	if (over) {
		locks_load_past(c);
		rows_count(c);
		locks_gap_all_over(c);
	}
	if (!c->locks.ngaps)
		return;
	ask(c, lists, clients);
	if (clients)
		out_timer_at(c, c->now + state_repeat_ms(c));
}

void locks_gap_timers(struct nfs4r_core *c)
{
	if (c->locks.gap_claims)
		locks_gap_goes_on(c);
}

/* Who was removed and is back takes over what others have noted. */
void locks_gap_joined(struct nfs4r_core *c, nfs4r_servers servers)
{
	struct gap_claim *g, *tmp;

	HASH_ITER(hh, c->locks.gap_claims, g, tmp)
		if (!FAULT(F_LOCK_END_ONCE))
			g->known_by &= ~servers | NFS4R_BIT(c->self);
	locks_gap_timers(c);
}

void locks_gap_new_view(struct nfs4r_core *c, nfs4r_servers anew)
{
	struct gap_claim *g, *tmp;

	locks_gap_joined(c, anew);
	HASH_ITER(hh, c->locks.gap_claims, g, tmp) {
		g->listed &= ~anew | NFS4R_BIT(c->self);
		if (g->won && !g->open && g->rows)
			all_know(c, g);
	}
}

/* What it said was what its last start knew. */
void locks_gap_peer_fresh(struct nfs4r_core *c, nfs4r_server_id s)
{
	struct gap_claim *g, *tmp;

	HASH_ITER(hh, c->locks.gap_claims, g, tmp)
		g->listed &= ~NFS4R_BIT(s);
	free(c->locks.gap_lists[s]);
	c->locks.gap_lists[s] = NULL;
	locks_gap_timers(c);
}

/*
 * In the view in which it was said: the claim under which the gap ended still is its sender's, and what is noted here of the same objects is older. The claim itself may be unknown here (control 4.3b).
 */
void locks_gap_on_over(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	const struct nfs4r_pid *pid = &m->gap_over.pid;
	struct gap_claim *g;
	struct nfs4r_msg *a;

	if ((m->gap_over.view != c->view.adopted.num && !FAULT(F_LOCK_OLD_END)) || m->gap_over.ncontrols > NFS4R_CLAIM_CONTROLS_MAX)
		return;
	if (m->gap_over.heard) {
		g = pid->server == c->self ? find(c, pid->seq) : NULL;
		if (!g || g->open)
			return;
		g->known_by |= NFS4R_BIT(from);
		all_know(c, g);
		return;
	}
	if (pid->server != from || !c->view.complete || not_ready(c))
		return;
	locks_gap_drop(c, m->gap_over.controls, m->gap_over.ncontrols);
	a = out_msg(c, NFS4R_MSG_GAP_OVER);
	a->gap_over = m->gap_over;
	a->gap_over.heard = true;
	out_send(c, from, a, true);
}

/* ---- lists ------------------------------------------------------------------------------- */

static void is_here(struct nfs4r_core *c, nfs4r_server_id from, uint64_t round)
{
	struct gap_claim *g, *tmp;

	HASH_ITER(hh, c->locks.gap_claims, g, tmp)
		if (g->open && g->round <= round)
			g->listed |= NFS4R_BIT(from);
	c->dirty |= DIRTY_OPS;
}

static void take_clients(struct gap_list *l, const struct nfs4r_msg *m)
{
	l->nclients = m->locks_list.nclients;
	l->more_clients = m->locks_list.more_clients;
	memcpy(l->clients, m->locks_list.clients, l->nclients * sizeof(l->clients[0]));
}

void locks_gap_on_list(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct gap_list *l;

	if (!c->locks.ngaps || m->locks_list.inc != c->cfg.peer_inc || m->locks_list.view != c->view.adopted.num || m->locks_list.round > c->locks.gap_round ||
	    m->locks_list.n > NFS4R_LOCKS_LIST_ROWS || m->locks_list.nclients > NFS4R_LOCKS_LIST_CLIENTS)
		return;
	l = list_of(c, from);
	if (m->locks_list.only_clients) {
		take_clients(l, m);
		locks_gap_goes_on(c);
		return;
	}
	if (!m->locks_list.offset) {
		l->next = 0;
		l->round = m->locks_list.round;
	}
	if (m->locks_list.round != l->round || m->locks_list.offset != l->next)
		return;
	for (uint32_t i = 0; i < m->locks_list.n; i++) {
		const struct nfs4r_file_lock_row *row = &m->locks_list.rows[i];

		if (row->lock.lock.start <= row->lock.lock.last && is_wanted(c, &row->oid, from, l->round))
			take_row(c, from, row);
	}
	l->next += m->locks_list.n;
	if (!m->locks_list.last)
		return;
	take_clients(l, m);
	is_here(c, from, l->round);
	locks_gap_goes_on(c);
}

struct listing {
	struct nfs4r_core *c;
	nfs4r_server_id to;
	const struct nfs4r_msg *question;
	struct nfs4r_msg *m;
	uint32_t offset;
};

static void send_piece(struct listing *l, bool last)
{
	l->m->locks_list.last = last;
	if (last)
		own_reclaim(l->c, l->m);
	l->offset += l->m->locks_list.n;
	out_send(l->c, l->to, l->m, false);
	l->m = NULL;
}

static void next_piece(struct listing *l)
{
	l->m = out_msg(l->c, NFS4R_MSG_LOCKS_LIST);
	l->m->locks_list.view = l->question->locks_of.view;
	l->m->locks_list.inc = l->question->locks_of.inc;
	l->m->locks_list.round = l->question->locks_of.round;
	l->m->locks_list.only_clients = l->question->locks_of.only_clients;
	l->m->locks_list.offset = l->offset;
	l->m->locks_list.rows = out_keep(l->c, NFS4R_LOCKS_LIST_ROWS * sizeof(struct nfs4r_file_lock_row));
}

static void list_lock(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock)
{
	struct listing *l = arg;
	struct nfs4r_core *c = l->c;

	if (l->m->locks_list.n == NFS4R_LOCKS_LIST_ROWS) {
		send_piece(l, false);
		next_piece(l);
	}
	l->m->locks_list.rows[l->m->locks_list.n++] =
		(struct nfs4r_file_lock_row){ *oid, { .lock = *lock, .holder = c->self, .inc = c->cfg.peer_inc, .n = locks_answered(c, oid, &lock->owner) } };
}

/* Another server has a gap. What clients have heard of is in HT, whoever granted it; what is not, they have not. */
void locks_gap_on_question(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct listing l = { .c = c, .to = from, .question = m };

	if (m->locks_of.inc != c->peers[from].inc || m->locks_of.view != c->view.adopted.num || not_ready(c))
		return;
	if (!m->locks_of.only_clients && !FAULT(F_LOCK_ANSWER_AFTER_LIST) && !FAULT(F_LOCK_OLD_GRANT))
		locks_void(c);
	next_piece(&l);
	if (!m->locks_of.only_clients)
		locks_own_each(c, list_lock, &l);
	send_piece(&l, true);
}
