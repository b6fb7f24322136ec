/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What clients of this server had before a start, or before this server was outside (locks 4, 12, 14).
 *
 * Happy path: a start numbers its requests above those of all earlier ones. Clients that were in the list before ask for their locks again, and what they ask for has new numbers. A client that has done so
 * says it, and what is left of its earlier life is gone, by an entry of this server's log. When this server has served for lock_grace_ms clients that did not come back are gone, and
 * when all others are done everything of before is.
 * A server that comes back into the view with its memory does the same: its clients are fenced, and nothing is served before.
 *
 * Failure modes: this server cannot write at the end of that time: it does so as soon as it can. It starts anew meanwhile, or is outside again: the time begins anew, and so does reclaiming.
 *
 * Invariants: numbers only rise. A life that began before `reclaim_below` has no request under way here.
 */
#include "core/locks/locks_int.h"

/*
 * A number has three parts: the generation of the server's log, which rises when others make a view without this server and end its log; the counter of its starts; a count. The first two
 * overlap: 4096 starts are as much as a generation, and either makes it rise. [A store that is made anew counts its starts from the beginning, in a generation that is higher by 1.]
 */
#define COUNT_BITS 36
#define STARTS_BITS 12

uint64_t locks_number_base(uint64_t generation, uint64_t start)
{
	return ((generation << STARTS_BITS) + start) << COUNT_BITS;
}

static uint64_t base(const struct nfs4r_core *c)
{
	return FAULT(F_LOCK_NUMBERS_ANEW) ? 0 : locks_number_base(NFS4R_GEN(c->log.logs[c->self].applied), c->cfg.inc);
}

uint64_t locks_number_next(struct nfs4r_core *c)
{
	if (c->locks.n < base(c))
		c->locks.n = base(c);
	return ++c->locks.n;
}

uint64_t locks_life(const struct nfs4r_core *c, const struct nfs4r_lock_owner *owner)
{
	uint64_t life = log_client_life(c, owner->client);

	return life > c->locks.reclaim_below ? life : c->locks.reclaim_below;
}

static void begin(struct nfs4r_core *c)
{
	c->locks.reclaim_below = locks_number_next(c);
	c->locks.reclaim_until_ms = UINT64_MAX; /* nobody can reclaim anything before this server serves */
	log_clients_reclaim_begins(c);
	out_timer_at(c, c->now);
}

void locks_reclaim_started(struct nfs4r_core *c)
{
	begin(c);
}

void locks_client_reclaimed(struct nfs4r_core *c, const uint64_t id[2])
{
	bool any = log_clients_reclaim(c);

	log_client_reclaimed(c, id, c->locks.reclaim_below);
	if (any && !log_clients_reclaim(c) && c->locks.reclaim_until_ms && log_clients_may_say(c)) { /* the last one: nobody else had any */
		c->locks.reclaim_until_ms = c->now;
		out_timer_at(c, c->now);
	}
}

void locks_reclaim_timers(struct nfs4r_core *c)
{
	if (!c->locks.reclaim_until_ms)
		return;
	if (c->locks.reclaim_until_ms == UINT64_MAX && log_clients_may_say(c))
		c->locks.reclaim_until_ms = c->now + c->cfg.lock_grace_ms;
	if (!log_clients_may_say(c)) {
		out_timer_at(c, c->now + state_repeat_ms(c));
	} else if (c->now < c->locks.reclaim_until_ms) {
		out_timer_at(c, c->locks.reclaim_until_ms);
	} else {
		log_clients_reclaim_ends(c, c->locks.reclaim_below);
		if (log_clients_reclaim(c)) /* they are back, and have not come to an end: their reclaims cannot be decided yet, perhaps */
			return;
		c->locks.reclaim_until_ms = 0;
		if (!FAULT(F_LOCK_NOT_COMPLETED))
			log_clients_end(c, c->self, c->locks.reclaim_below, 0);
	}
}

/* ---- outside, and back --------------------------------------------------------------------- */

void locks_view_adopted(struct nfs4r_core *c, nfs4r_servers anew)
{
	c->locks.outside |= !state_is_member(c, c->self) || (anew & NFS4R_BIT(c->self));
}

bool locks_is_outside(const struct nfs4r_core *c)
{
	return c->locks.outside && !FAULT(F_LOCK_NO_FENCE);
}

bool locks_is_back(const struct nfs4r_core *c)
{
	return c->locks.outside && !not_ready(c);
}

struct lost {
	struct nfs4r_core *c;
	uint32_t n, cap;
	uint64_t (*ids)[2];
};

static void add_lost(struct lost *l, const uint64_t id[2])
{
	if (log_client_is_listed(l->c, l->c->self, id))
		return;
	for (uint32_t i = 0; i < l->n; i++)
		if (l->ids[i][0] == id[0] && l->ids[i][1] == id[1])
			return;
	l->ids = out_grow(l->ids, &l->cap, l->n, sizeof(*l->ids));
	memcpy(l->ids[l->n++], id, sizeof(*l->ids));
}

static void find_lost(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_state state, uint64_t since_ms)
{
	add_lost(arg, lock->owner.client);
}

void locks_fence(struct nfs4r_core *c)
{
	struct nfs4r_action a = { .type = NFS4R_ACT_FENCE };
	struct lost l = { .c = c };
	struct lock_rec *r;

	c->locks.outside = false;
	if (FAULT(F_LOCK_NO_FENCE))
		return;
	if (c->locks.own)
		nfs4r_locks_walk(c->locks.own, NULL, find_lost, &l);
	for (r = c->locks.recs; r; r = r->hh.next)
		add_lost(&l, r->key.owner.client);
	locks_holder_forget(c);
	begin(c);
	if (l.n) {
		uint64_t(*ids)[2] = out_keep(c, l.n * sizeof(*ids));

		memcpy(ids, l.ids, l.n * sizeof(*ids));
		a.fence.nlost = l.n;
		a.fence.lost = ids;
	}
	free(l.ids);
	out_act(c, &a);
}
