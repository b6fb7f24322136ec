/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Local execution: update locks in the order of asking, an INTENT in the journal, a while of
 * working, then the core commits. The same for entries of others (APPLY), which take no locks,
 * because nothing of ours may be at work on their objects: that is what is checked here.
 *
 * In reality the file system changes some time before the commit; nobody else may look at the
 * object in between, so the simulator changes its tree in the commit only, and a crash in between
 * decides by the dice whether it had been executed (log 4.5).
 */
#include "sim.h"

struct simop *simop_new(struct server *v, struct nfs4r_op *op, struct client *c)
{
	struct simop *so = calloc(1, sizeof(*so)), **at = &v->ops;

	so->op = op;
	so->server = v;
	so->client = c;
	so->remote = !c;
	so->started_us = v->sim->now;
	op->engine = so;
	while (*at)
		at = &(*at)->next;
	*at = so;
	return so;
}

void simop_free(struct simop *so)
{
	struct simop **at = &so->server->ops;

	while (*at && *at != so)
		at = &(*at)->next;
	if (*at)
		*at = so->next;
	if (so->intent)
		nfs4r_entry_put(so->intent);
	so->op->engine = NULL;
	free(so);
}

/* ---- locks ------------------------------------------------------------------------ */

static bool locks_meet(const struct simop *a, const struct simop *b)
{
	for (uint32_t i = 0; i < a->nlocks; i++)
		for (uint32_t j = 0; j < b->nlocks; j++) {
			if (a->locks[i].obj != b->locks[j].obj)
				continue;
			if (a->locks[i].whole || b->locks[j].whole ||
			    (a->locks[i].off < b->locks[j].off + b->locks[j].len &&
			     b->locks[j].off < a->locks[i].off + a->locks[i].len))
				return true;
		}
	return false;
}

static void locked(struct sim *s, void *arg, uint64_t generation, uint64_t b);

static void grant_locks(struct server *v)
{
	struct sim *s = v->sim;

	for (struct simop *so = v->ops; so; so = so->next) {
		bool free_now = true;

		if (!so->waiting)
			continue;
		for (struct simop *o = v->ops; o; o = o->next)
			if (o != so && o->locked && locks_meet(o, so))
				free_now = false;
		for (struct simop *o = v->ops; o != so; o = o->next)
			if (o->waiting && locks_meet(o, so))
				free_now = false;
		if (!free_now)
			continue;
		so->waiting = false;
		so->locked = true;
		server_at(v, s->now + rng_below(&s->rng, s->plan.exec_us + 1), locked, so->op, v->generation,
			  (uint64_t)v->id);
	}
}

static void locked(struct sim *s, void *arg, uint64_t generation, uint64_t id)
{
	struct server *v = &s->servers[id];
	struct nfs4r_event ev = { .type = NFS4R_EV_OP_LOCKED, .op = arg };

	if (v->up && v->generation == generation) /* the op lives as long as the start that knew it */
		server_step(v, &ev);
}

void exec_locks(struct server *v, const struct nfs4r_act_execute *a)
{
	struct simop *so = a->op->engine ? a->op->engine : simop_new(v, a->op, NULL);

	so->given = true;
	if (so->locked || so->waiting)
		sim_fail(v->sim, "S%u: EXECUTE of an operation that has locks", v->id);
	so->nlocks = a->nlocks;
	for (uint32_t i = 0; i < a->nlocks; i++) {
		so->locks[i].obj = obj_of(v->sim, &a->locks[i].oid);
		so->locks[i].whole = a->locks[i].whole;
		so->locks[i].off = a->locks[i].off;
		so->locks[i].len = a->locks[i].len;
	}
	so->waiting = true;
	grant_locks(v);
}

void exec_unlock(struct server *v, struct simop *so)
{
	so->locked = so->waiting = so->given = false;
	so->nlocks = 0;
	grant_locks(v);
}

/* ---- own operations ------------------------------------------------------------------- */

static void fill_entry(struct server *v, struct nfs4r_entry *e)
{
	for (uint32_t i = 0; i < e->nparts; i++) {
		struct nfs4r_part *p = &e->parts[i];

		p->ctime = p->mtime = 1;
		for (uint32_t k = 0; k < p->nnames; k++)
			if (!p->names[k].cookie)
				p->names[k].cookie = v->storage ? store_cookie(v, &p->oid, &p->names[k].name) : 3 + e->lsn;
	}
}

static void executed(struct sim *s, void *arg, uint64_t generation, uint64_t id)
{
	struct server *v = &s->servers[id];
	struct nfs4r_op *op = arg;
	struct simop *so;
	struct nfs4r_event ev = { .type = NFS4R_EV_OP_EXECUTED, .op = op, .ok = true };
	struct nfs4r_entry *e;

	if (!v->up || v->generation != generation)
		return;
	so = op->engine;
	e = so->intent;
	so->intent = NULL;
	so->executing = false;
	op->status = NFS4R_OK;
	if ((!s->healed && rng_chance(&s->rng, s->plan.exec_fails)) || room_lacks(v, e, UINT32_MAX)) {
		ev.ok = false;
		op->status = NFS4R_NOSPC;
	}
	ev.entry = e;
	exec_unlock(v, so); /* what waits gets its locks in a later event, after the commit */
	server_step(v, &ev);
	nfs4r_entry_put(e);
}

void exec_started(struct server *v, struct nfs4r_op *op, struct nfs4r_entry *e)
{
	struct sim *s = v->sim;
	struct simop *so = op->engine;
	uint64_t sync_first;
	char text[400];

	if (!so || !so->locked)
		sim_fail(s, "S%u: STARTED without locks", v->id);
	if (s->trace) {
		entry_print(s, e, text, sizeof(text));
		sim_trace(s, v, "started %s", text);
	}
	for (struct applying *a = v->applying; a; a = a->next)
		for (uint32_t i = 0; i < a->e->nparts; i++)
			if (a->mask & 1u << i && nfs4r_entry_part(e, &a->e->parts[i].oid))
				sim_fail(s, "S%u starts %s while an entry of log %u is applied to %s", v->id, text,
					 a->e->log, oid_name(s, &a->e->parts[i].oid));
	so->intent = e;
	so->begun = false;
	fill_entry(v, e); /* before the INTENT, as the engine does: a start that decides it has nothing else */
	if (!disk_intent(v, e, &sync_first))
		return;
	check_started(v, op, e);
	so->executing = true;
	if (v->storage)
		store_sync_then(v, sync_first, rng_time(&s->rng, s->plan.exec_us), executed, op, e);
	else
		server_at(v, s->now + rng_time(&s->rng, s->plan.exec_us), executed, op, v->generation, v->id);
}

/* ---- entries of others ----------------------------------------------------------------- */

#define HANG_LOOKS_US (20 * MS)

static void applied(struct sim *s, void *arg, uint64_t generation, uint64_t id)
{
	struct server *v = &s->servers[id];
	struct applying *a = arg, **at = &v->applying;
	struct nfs4r_event ev = { .type = NFS4R_EV_APPLIED, .ok = true };

	if (!v->up || v->generation != generation)
		return; /* freed with the start that it belongs to */
	if (!a->aside && v->stuck_hangs && trouble_stuck(v, a->e, a->mask)) {
		s->totals.hung++;
		server_at(v, s->now + HANG_LOOKS_US, applied, a, generation, id);
		return;
	}
	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	ev.entry = a->e;
	s->totals.asides += a->aside;
	if ((!a->aside && trouble_stuck(v, a->e, a->mask)) || room_lacks(v, a->e, a->mask)) {
		ev.ok = false;
		ev.status = NFS4R_NOSPC;
		s->totals.failed++;
		trouble_unapplied(v, a->e);
	}
	free(a);
	s->totals.applied++;
	server_step(v, &ev);
	nfs4r_entry_put(ev.entry);
}

/* The core says which parts follow the version that is here; the others are old or of dead objects. */
static void check_mask(struct server *v, const struct nfs4r_entry *e, uint32_t mask)
{
	struct sim *s = v->sim;

	for (uint32_t i = 0; i < e->nparts && mask; i++) {
		const struct row *r = tree_get(&v->tree, obj_of(s, &e->parts[i].oid));

		if (mask & 1u << i && (r->version != e->parts[i].before || r->state == ROW_DEAD))
			sim_fail(s, "S%u applies %u:%llu to v%llu of %s, which is not its v%llu", v->id, e->log,
				 (unsigned long long)e->lsn, (unsigned long long)r->version,
				 oid_name(s, &e->parts[i].oid), (unsigned long long)e->parts[i].before);
	}
}

void exec_apply(struct server *v, const struct nfs4r_act_apply *p)
{
	struct nfs4r_entry *e = p->entry;
	uint32_t mask = p->mask;
	struct sim *s = v->sim;
	struct applying *a = calloc(1, sizeof(*a));
	uint64_t sync_first = 0;
	char text[400];

	if (s->trace) {
		entry_print(s, e, text, sizeof(text));
		sim_trace(s, v, "applies %s mask %x", text, mask);
	}
	check_mask(v, e, mask);
	for (struct applying *o = v->applying; o; o = o->next)
		for (uint32_t i = 0; i < e->nparts; i++)
			for (uint32_t k = 0; k < o->e->nparts; k++)
				if (mask & 1u << i && o->mask & 1u << k &&
				    nfs4r_oid_eq(&e->parts[i].oid, &o->e->parts[k].oid))
					sim_fail(s, "S%u applies %u:%llu and %u:%llu to %s at once", v->id, e->log,
						 (unsigned long long)e->lsn, o->e->log,
						 (unsigned long long)o->e->lsn, oid_name(s, &e->parts[i].oid));
	for (struct simop *so = v->ops; so; so = so->next)
		for (uint32_t i = 0; so->executing && i < e->nparts; i++)
			if (mask & 1u << i && nfs4r_entry_part(so->intent, &e->parts[i].oid))
				sim_fail(s, "S%u applies %u:%llu to %s, on which it executes", v->id, e->log,
					 (unsigned long long)e->lsn, oid_name(s, &e->parts[i].oid));
	a->e = e;
	a->mask = mask;
	a->aside = p->aside;
	a->next = v->applying;
	v->applying = a;
	if (v->storage && mask)
		store_mark(v, e, &sync_first);
	if (v->storage)
		store_sync_then(v, sync_first, rng_time(&s->rng, s->plan.apply_us), applied, a, e);
	else
		server_at(v, s->now + rng_time(&s->rng, s->plan.apply_us), applied, a, v->generation, v->id);
}
