/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What people and tools want to see: counters, latencies, positions, the control table, who waits
 * for what. Between steps; nothing in here changes the core.
 */
#include <stdio.h>

#include "core/door_int.h"

/* ---- counters, positions ------------------------------------------------- */

static uint64_t length(const struct opx *list)
{
	const struct opx *o;
	uint64_t n = 0;

	DL_FOREACH(list, o)
		n++;
	return n;
}

void nfs4r_core_get_stats(const struct nfs4r_core *c, struct nfs4r_core_stats *out)
{
	struct claim *cl, *tmp;

	*out = c->st;
	out->claims = c->control.nclaims;
	HASH_ITER(hh, c->control.claims, cl, tmp)
		if (cl->in_table)
			*(cl->own ? &out->controls_own : &out->controls_foreign) += cl->n;
	out->ops_waiting = length(c->ops.waiting) + length(c->ops.answering);
	out->ops_executing = length(c->ops.busy);
	out->replies_cached = HASH_COUNT(c->ops.replies);
	for (int s = 1; s <= NFS4R_SERVERS_MAX; s++)
		out->pending_entries += c->log.logs[s].npend;
}

bool nfs4r_core_get_peer(const struct nfs4r_core *c, nfs4r_server_id id, struct nfs4r_core_peer *out)
{
	const struct peer *p;

	memset(out, 0, sizeof(*out));
	if (id == 0 || id > NFS4R_SERVERS_MAX || id == c->self || !(servers_of(c) & NFS4R_BIT(id)))
		return false;
	p = &c->peers[id];
	out->received = p->received[c->self];
	out->applied = p->applied[c->self];
	out->stable = p->stable[c->self];
	out->our_received = c->log.logs[id].received;
	out->our_applied = c->log.logs[id].applied;
	out->our_stable = c->log.logs[id].stable;
	out->peer_end = p->end;
	out->peer_stable = p->stable[id];
	out->unreceived_bytes = log_unreceived(c, p);
	out->up = p->up;
	return true;
}

nfs4r_lsn nfs4r_core_own_end(const struct nfs4r_core *c)
{
	return c->log.logs[c->self].received;
}

/* ---- control table ---------------------------------------------------------- */

/* Where a time to close is set it decides, also when it is later than the timer; use puts off what a revoke set (release.c). */
static int64_t ends_in(const struct nfs4r_core *c, const struct own *ow)
{
	uint64_t end;

	if (!own_may_close(ow))
		return -1;
	if (own_is_revoked(ow)) /* only its operations keep it */
		return 0;
	end = ow->end != OWN_END_IDLE ? ow->close_at : control_idle_end(c, ow);
	if (own_is_forced(ow) && end < ow->used_ms + c->cfg.revoke_ms)
		end = ow->used_ms + c->cfg.revoke_ms;
	return end > c->now ? (int64_t)(end - c->now) : 0;
}

static void counts_below(const struct nfs4r_core *c, const struct nfs4r_oid *oid, uint32_t below[NFS4R_SERVERS_MAX + 1])
{
	struct anc *a;

	HASH_FIND(hh, c->control.anc, oid, sizeof(*oid), a);
	if (a)
		memcpy(below, a->count, sizeof(a->count));
	else
		memset(below, 0, sizeof(a->count));
}

static void info_of(const struct nfs4r_core *c, const struct claim *cl, struct nfs4r_control_info *i)
{
	const struct own *ow = cl->own;

	memset(i, 0, sizeof(*i));
	i->owner = (nfs4r_server_id)cl->key.server;
	i->pid = (struct nfs4r_pid){ i->owner, cl->key.seq };
	i->kind = cl->kind;
	i->won = cl->won;
	i->prio = cl->prio;
	i->ends_in_ms = -1;
	if (!ow)
		return;
	i->acting = own_is_acting(ow);
	i->closing = ow->state == OWN_CLOSING;
	i->acked_by_all = cl->kind == NFS4R_PROPOSED && quorum_is_all(c, ow->acks);
	i->acks = ow->acks;
	i->confirmed = ow->confirmed;
	i->waiting = ow->users;
	i->executing = ow->pins;
	i->ends_in_ms = ends_in(c, ow);
	i->closes_at = i->closing ? ow->last : 0;
	i->wanted_by = own_is_forced(ow) ? ow->revoked_by.server : 0;
	i->reads_served = policy_reads(ow);
	i->policy = own_is_side(ow);
}

void nfs4r_core_each_control(const struct nfs4r_core *c, bool (*fn)(void *arg, const struct nfs4r_control_info *i),
			     void *arg)
{
	struct nfs4r_control_info info;
	struct claim *cl, *tmp;

	HASH_ITER(hh, c->control.claims, cl, tmp) {
		if (!cl->in_table)
			continue;
		info_of(c, cl, &info);
		for (uint32_t i = 0; i < cl->n; i++) {
			info.control.oid = cl->ctl[i].oid;
			info.control.depth = cl->ctl[i].depth;
			counts_below(c, &info.control.oid, info.below);
			if (!fn(arg, &info))
				return;
		}
	}
}

/* ---- who waits ------------------------------------------------------------------ */

/* Acks that are missing, and logs that are not here as far as those who acked had them (control 4.5). true: it waits for an election. */
static bool waits_for_election(const struct nfs4r_core *c, const struct opx *o, nfs4r_servers *on)
{
	bool any = false;

	*on = 0;
	for (uint32_t i = 0; i < o->nholds; i++) {
		const struct own *ow = o->relies_on[i]->own;

		if (!own_is_candidate(ow))
			continue;
		any = true;
		*on |= c->view.adopted.voters & ~ow->acks;
		EACH_OTHER_LOG(c, s)
			if (c->log.logs[s].applied < ow->need[s])
				*on |= NFS4R_BIT(s);
	}
	return any;
}

/* Servers that have not applied the entry an answer waits for: either they do, or they ack. */
static nfs4r_servers not_applied(const struct nfs4r_core *c, const struct cond *k)
{
	nfs4r_servers set = 0;

	EACH_PEER(c, s)
		if (s != k->log && c->peers[s].applied[k->log] < k->lsn)
			set |= NFS4R_BIT(s);
	return set;
}

/* Others that cover what is needed, or that have something below what is needed deeply. */
static nfs4r_servers in_the_way(struct nfs4r_core *c, const struct needs *nd)
{
	nfs4r_servers set = 0, won;

	for (uint32_t i = 0; i < nd->nargs; i++)
		set |= control_foreign_cover(c, &nd->args[i], &won);
	for (uint32_t i = 0; i < nd->n; i++) {
		set |= control_foreign_cover(c, &nd->v[i].oid, &won);
		if (nd->v[i].depth >= NFS4R_DEEP)
			set |= control_anc_below(c, &nd->v[i].oid) & ~NFS4R_BIT(c->self);
	}
	return set;
}

/* An operation that waits for control: the same questions as ops_decide() asks. */
static void undecided(const struct nfs4r_core *cc, const struct opx *o, struct nfs4r_waiting_info *i)
{
	struct nfs4r_core *c = (struct nfs4r_core *)cc; /* the tree port is not const; nothing is changed */
	nfs4r_server_id away = quorum_away(c);
	struct needs nd;

	i->wait = NFS4R_WAIT_OBJECT;
	if (not_ready(c))
		return;
	if (waits_for_election(c, o, &i->on)) {
		i->wait = NFS4R_WAIT_ELECTION;
		return;
	}
	ops_needs_of(c, o->op, &nd);
	if (nd.deferred == NFS4R_DELAY)
		return;
	i->wait = NFS4R_WAIT_OTHERS;
	i->on = in_the_way(c, &nd);
	if (!i->on && away) { /* it begins when that one is back */
		i->wait = NFS4R_WAIT_ELECTION;
		i->on = NFS4R_BIT(away);
	}
}

static void waits_for(const struct nfs4r_core *c, const struct opx *o, struct nfs4r_waiting_info *i)
{
	switch (o->state) {
	case OP_FORWARDED:
		i->wait = NFS4R_WAIT_PRIMARY;
		i->on = NFS4R_BIT(o->to);
		break;
	case OP_CATCHUP:
		i->wait = NFS4R_WAIT_ENTRY;
		i->on = NFS4R_BIT(o->op->primary);
		break;
	case OP_REPLY:
		i->wait = NFS4R_WAIT_REPLY;
		i->on = not_applied(c, &o->cond);
		break;
	case OP_WAIT:
		undecided(c, o, i);
		break;
	default:
		i->wait = NFS4R_WAIT_LOCAL;
	}
}

static bool tell(const struct nfs4r_core *c, const struct opx *o, bool (*fn)(void *arg, const struct nfs4r_waiting_info *i),
		 void *arg)
{
	struct nfs4r_waiting_info i;
	bool named = nfs4r_op_is_dirop(o->op->type);

	memset(&i, 0, sizeof(i));
	i.op = o->op->type;
	i.remote = o->remote;
	i.from = o->from;
	i.obj = named ? o->op->dir : o->op->obj;
	if (named)
		i.name = o->op->name;
	i.waited_ms = c->now - o->since;
	i.attempts = o->attempts;
	waits_for(c, o, &i);
	return fn(arg, &i);
}

void nfs4r_core_each_waiting(const struct nfs4r_core *c, bool (*fn)(void *arg, const struct nfs4r_waiting_info *i), void *arg)
{
	const struct opx *lists[] = { c->ops.waiting, c->ops.busy, c->ops.answering }, *o;

	for (int i = 0; i < 3; i++)
		DL_FOREACH(lists[i], o)
			if (!tell(c, o, fn, arg))
				return;
}

void nfs4r_core_get_view(const struct nfs4r_core *c, struct nfs4r_core_view *out)
{
	nfs4r_servers unsure = state_join_unsure(c);

	*out = (struct nfs4r_core_view){ .adopted = c->view.adopted, .accepted = c->view.accepted, .promised = c->view.promised };
	out->fixed = !state_views_on(c);
	out->member = state_is_member(c, c->self);
	out->joining = out->member && !c->view.complete;
	out->repairing = c->repair.state == REPAIR_RUNS && !c->repair.list; /* what is not in the list is as good as ever */
	out->gives = !out->repairing && ((state_memory_whole(c) && state_repair_is_whole(c)) || FAULT(F_GIVES_HALF_COPY)) &&
		(out->member || (c->view.accepted.members & NFS4R_BIT(c->self)));
	out->abandoned = c->view.abandoned;
	out->taken_out = state_is_taken_out(c);
	out->has_address_table = c->started ? c->view.adopted.nbook > 0 : c->view.nadopted > 0;
	out->adding = c->change.add;
	out->removing = c->change.remove;
	out->rekeying = c->change.rekey;
	out->finishing = c->change.finish;
	out->setting = c->change.key;
	snprintf(out->waits, sizeof(out->waits), "%s", c->change.waits);
	out->reconf_epoch = c->view.reconf_epoch;
	out->reconf_set = c->view.reconf_set;
	out->learner = !out->taken_out && !(c->view.adopted.voters & NFS4R_BIT(c->self));
	out->left = c->view.left;
	out->trouble = (enum nfs4r_status)c->trouble.cause;
	out->trouble_log = c->trouble.log;
	out->trouble_lsn = c->trouble.lsn;
	out->failing = c->log.nfailed;
	out->memory = state_memory_said(c);
	out->unheard = state_memory_unheard(c);
	if (nfs4r_core_lease_until(c) > c->now && !out->fixed)
		out->lease_remaining_ms = c->view.lease_until == UINT64_MAX ? state_lease_ms(c) : c->view.lease_until - c->now;
	EACH_PEER(c, s) {
		out->peer[s].known = c->peers[s].beats;
		out->peer[s].silent_ms = c->now - c->peers[s].heard_ms;
		out->peer[s].view = c->peers[s].view;
		out->peer[s].caught_up = c->peers[s].caught_up;
		out->peer[s].joining = c->peers[s].joining;
		out->peer[s].left = c->peers[s].left;
		out->peer[s].trouble = (enum nfs4r_status)c->peers[s].trouble;
		out->peer[s].halted = c->peers[s].halted;
		out->peer[s].halted_files = c->peers[s].halted_files;
		out->peer[s].unsure = unsure & NFS4R_BIT(s);
		out->peer[s].memory = c->peers[s].memory;
		out->peer[s].position = c->peers[s].knows.pos;
		out->peer[s].reconf_epoch = c->peers[s].reconf_epoch;
		out->peer[s].reconf_set = c->peers[s].reconf_set;
	}
}

/* ---- locks ---------------------------------------------------------------------- */

struct lock_walk {
	const struct nfs4r_core *c;
	bool (*fn)(void *arg, const struct nfs4r_core_lock *i);
	void *arg;
	enum nfs4r_lock_place place;
	bool ended;
};

static const struct lock_party *party_of(const struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct nfs4r_lock_owner *owner)
{
	struct lock_key k = { *oid, *owner };
	struct lock_party *p;

	HASH_FIND(hh, c->locks.parties, &k, sizeof(k), p);
	return p;
}

static void walk_lock(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_state state, uint64_t since_ms)
{
	struct lock_walk *w = arg;
	struct nfs4r_core_lock i = { .place = w->place, .oid = *oid, .lock = { .lock = *lock, .holder = w->c->self, .inc = w->c->cfg.peer_inc }, .state = state, .since_ms = since_ms };
	const struct lock_party *p;

	if (w->ended)
		return;
	if (w->place == NFS4R_LOCK_AS_AUTHORITY) {
		p = party_of(w->c, oid, &lock->owner);
		i.lock.holder = p ? p->holder : 0;
		i.lock.inc = p ? p->inc : 0;
		i.lock.n = p ? p->granted : 0;
	}
	w->ended = !w->fn(w->arg, &i);
}

static void walk_record(struct lock_walk *w, const struct lock_rec *r)
{
	const struct lock_item *t;
	const struct lock_mine *m;

	w->place = NFS4R_LOCK_AS_HOLDER;
	DL_FOREACH(r->mine, m)
		walk_lock(w, &r->key.oid, &m->lock, m->ready ? NFS4R_LOCK_RESERVED : NFS4R_LOCK_WAITING, m->since_ms);
	w->place = NFS4R_LOCK_GIVEN_BACK;
	DL_FOREACH(r->items, t)
		walk_lock(w, &r->key.oid, &t->lock, NFS4R_LOCK_WAITING, w->c->now);
}

void nfs4r_core_each_lock(const struct nfs4r_core *c, const struct nfs4r_oid *oid, bool (*fn)(void *arg, const struct nfs4r_core_lock *i), void *arg)
{
	struct lock_walk w = { .c = c, .fn = fn, .arg = arg, .place = NFS4R_LOCK_AS_AUTHORITY };

	if (c->locks.table)
		nfs4r_locks_walk(c->locks.table, oid, walk_lock, &w);
	w.place = NFS4R_LOCK_AS_HOLDER;
	if (c->locks.own)
		nfs4r_locks_walk(c->locks.own, oid, walk_lock, &w);
	for (const struct lock_rec *r = c->locks.recs; r; r = r->hh.next)
		if (!oid || nfs4r_oid_eq(&r->key.oid, oid))
			walk_record(&w, r);
}

struct reclaims {
	const struct nfs4r_core *c;
	uint32_t n;
};

static bool count_reclaim(void *arg, const struct nfs4r_client_entry *k)
{
	struct reclaims *r = arg;

	r->n += nfs4r_core_client_reclaims(r->c, k->client.id);
	return true;
}

static void count_reclaims(const struct nfs4r_core *c, struct nfs4r_lock_counts *out)
{
	uint64_t until = c->locks.reclaim_until_ms;
	struct reclaims r = { .c = c };

	nfs4r_core_each_client(c, c->self, count_reclaim, &r);
	out->reclaiming = r.n;
	out->reclaim_until_ms = r.n && until != UINT64_MAX ? until : 0;
}

void nfs4r_core_count_locks(const struct nfs4r_core *c, struct nfs4r_lock_counts *out)
{
	const struct lock_item *t;
	const struct lock_mine *m;

	memset(out, 0, sizeof(*out));
	out->files = HASH_COUNT(c->locks.files);
	if (c->locks.table) {
		out->ranges = nfs4r_locks_count(c->locks.table).ranges;
		out->waiting = nfs4r_locks_count(c->locks.table).waiting;
	}
	if (c->locks.own)
		out->own_ranges = nfs4r_locks_count(c->locks.own).ranges;
	out->gaps = c->locks.ngaps;
	for (const struct gap_claim *g = c->locks.gap_claims; g; g = g->hh.next)
		if (g->open && (!out->gap_since_ms || g->since_ms < out->gap_since_ms))
			out->gap_since_ms = g->since_ms;
	count_reclaims(c, out);
	for (const struct share_file *f = c->locks.shares.files; f; f = f->hh.next)
		out->denying += f->opens.deny_readers > f->opens.deny_writers ? f->opens.deny_readers : f->opens.deny_writers;
	out->guarded = HASH_COUNT(c->locks.shares.guards);
	out->noted = HASH_COUNT(c->locks.gap_rows);
	for (const struct lock_rec *r = c->locks.recs; r; r = r->hh.next) {
		DL_FOREACH(r->mine, m)
			(*(m->ready ? &out->own_ready : &out->own_waiting))++;
		DL_FOREACH(r->items, t)
			out->returning++;
	}
}

/* ---- gaps ---- */

static void gap_ends(const struct nfs4r_core *c, uint64_t until_ms[NFS4R_SERVERS_MAX + 1])
{
	memset(until_ms, 0, (NFS4R_SERVERS_MAX + 1) * sizeof(until_ms[0]));
	if (c->locks.reclaim_until_ms != UINT64_MAX)
		until_ms[c->self] = c->locks.reclaim_until_ms;
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		if (s != c->self && c->locks.outside_ms[s])
			until_ms[s] = c->locks.outside_ms[s] + c->cfg.lock_grace_ms;
}

void nfs4r_core_each_gap(const struct nfs4r_core *cc, const struct nfs4r_oid *oid, bool (*fn)(void *arg, const struct nfs4r_core_gap *i), void *arg)
{
	struct nfs4r_core *c = (struct nfs4r_core *)cc; /* the tree port is not const; nothing is changed */
	struct nfs4r_control v[NFS4R_CLAIM_CONTROLS_MAX];
	uint64_t until_ms[NFS4R_SERVERS_MAX + 1];

	if (!c->locks.ngaps)
		return;
	gap_ends(c, until_ms);
	for (const struct gap_claim *g = c->locks.gap_claims; g; g = g->hh.next) {
		struct nfs4r_core_gap i = { .controls = v, .since_ms = g->since_ms, .until_ms = until_ms };

		if (!g->open || (oid && !locks_gap_covers(c, g, oid)))
			continue;
		i.ncontrols = locks_gap_controls(c, g, v);
		i.lists = locks_gap_awaits_lists(c, g);
		i.clients = locks_gap_awaits_clients(c);
		if (!fn(arg, &i))
			return;
	}
}

enum nfs4r_lock_source nfs4r_core_lock_source(const struct nfs4r_core *cc, const struct nfs4r_oid *oid)
{
	struct nfs4r_core *c = (struct nfs4r_core *)cc; /* as above */
	const struct lock_file *f;

	HASH_FIND(hh, c->locks.files, oid, sizeof(*oid), f);
	if (f)
		return NFS4R_LOCKS_FROM_TABLE;
	return locks_in_gap(c, oid) || locks_row_is_past(c, oid, 0) ? NFS4R_LOCKS_UNKNOWN : NFS4R_LOCKS_FROM_ROW;
}

/* ---- share reservations ---- */

static bool is_any(const struct nfs4r_opens *o)
{
	return o->readers || o->writers;
}

static bool denies(const struct nfs4r_opens *o)
{
	return o->deny_readers || o->deny_writers;
}

/* Of the guard's file, what others have open, and had before they started anew. */
static bool tell_guarded(const struct nfs4r_core *c, const struct share_guard *g, bool (*fn)(void *arg, const struct nfs4r_core_deny *i), void *arg)
{
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++) {
		struct nfs4r_core_deny i = { .oid = g->oid, .server = s, .opens = g->of[s].opens, .guards = true };

		if (is_any(&i.opens) && !fn(arg, &i))
			return false;
		i.opens = g->of[s].before;
		i.until_ms = g->of[s].before_until_ms;
		if (is_any(&i.opens) && i.until_ms > c->now && !fn(arg, &i))
			return false;
	}
	return true;
}

void nfs4r_core_each_deny(const struct nfs4r_core *c, const struct nfs4r_oid *oid, bool (*fn)(void *arg, const struct nfs4r_core_deny *i), void *arg)
{
	const struct share_guard *g;

	for (const struct share_file *f = c->locks.shares.files; f; f = f->hh.next) {
		struct nfs4r_core_deny i = { .oid = f->oid, .server = c->self, .opens = f->opens };

		if (oid && !nfs4r_oid_eq(oid, &f->oid))
			continue;
		HASH_FIND(hh, c->locks.shares.guards, &f->oid, sizeof(f->oid), g);
		i.guards = g != NULL;
		if ((denies(&i.opens) || (g && is_any(&i.opens))) && !fn(arg, &i))
			return;
		if (g && !tell_guarded(c, g, fn, arg))
			return;
	}
}

void nfs4r_core_share(const struct nfs4r_core *c, const struct nfs4r_oid *oid, struct nfs4r_core_share *out)
{
	const struct share_guard *g;
	const struct share_file *f;
	const struct share_mark *k;

	memset(out, 0, sizeof(*out));
	HASH_FIND(hh, c->locks.shares.guards, oid, sizeof(*oid), g);
	HASH_FIND(hh, c->locks.shares.files, oid, sizeof(*oid), f);
	out->guards = g != NULL;
	if (!f)
		return;
	out->opens = f->opens;
	DL_FOREACH(f->marks, k)
		out->marks++;
	out->returning = f->say || f->active;
}

uint32_t nfs4r_core_count_shares(const struct nfs4r_core *c, uint32_t *guards)
{
	*guards = HASH_COUNT(c->locks.shares.guards);
	return HASH_COUNT(c->locks.shares.files);
}
