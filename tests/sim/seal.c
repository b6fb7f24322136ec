/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Logs that end, and the repair of a copy that is ahead of a seal (log 8.3), as an engine does it: object by object, each
 * as it is at the source when it is asked, which goes on changing; everything journalled, so that a crash in between is
 * followed by the same from the beginning. The source has to stay up, within reach and a member of the same view.
 */
#include "sim.h"

#define ULL(x) ((unsigned long long)(x))

/* ---- seals ----------------------------------------------------------------------- */

static nfs4r_lsn last_of(nfs4r_lsn lsn) /* of its generation */
{
	return NFS4R_AFTER_SEAL(lsn) - 1;
}

void seal_cut(struct server *v, nfs4r_server_id log, nfs4r_lsn seal)
{
	nfs4r_lsn after = NFS4R_AFTER_SEAL(seal);

	kept_drop(&v->kept[log], seal + 1, last_of(seal));
	if (v->applied[log] < after)
		v->applied[log] = after;
	if (v->stable[log] > seal && v->stable[log] < after) /* more only with a checkpoint */
		v->stable[log] = seal;
	while (kept_find(&v->kept[log], v->applied[log] + 1))
		v->applied[log]++;
}

void set_positions(struct server *v, const nfs4r_lsn *applied)
{
	for (uint32_t log = 1; log <= v->sim->plan.servers; log++) {
		kept_fini(&v->kept[log]);
		v->applied[log] = applied[log] > v->truncated[log] ? applied[log] : v->truncated[log];
		v->stable[log] = applied[log];
	}
}

void server_sealed(struct server *v, nfs4r_server_id log, nfs4r_lsn seal)
{
	nfs4r_lsn after = NFS4R_AFTER_SEAL(seal);

	TRACE(v->sim, v, "crosses the seal of log %u at %s", log, lsn_str(seal));
	if (v->repair.on)
		sim_fail(v->sim, "S%u crosses a seal while its copy is repaired", v->id);
	check_sealed(v, log, seal);
	if (!disk_sealed(v, log, seal))
		return;
	seal_cut(v, log, seal);
	memset(v->failed, 0, sizeof(v->failed)); /* what is not applied is given back */
	if (log == v->id && v->own_next <= after)
		v->own_next = after + 1;
	v->sim->totals.crossings++;
}

/* ---- repair ------------------------------------------------------------------------ */

#define REPAIR_PAUSE_US (20 * MS) /* until a source that does not answer is asked again */

static void repair_over(struct server *v, bool ok)
{
	struct repair *r = &v->repair;
	struct nfs4r_event ev = { .type = NFS4R_EV_REPAIRED, .ok = ok };

	TRACE(v->sim, v, "repair %s", ok ? "done" : "failed");
	r->on = false;
	if (ok && r->all)
		ok = disk_positions(v, r->positions);
	if (ok)
		ok = disk_checkpoint_now(v);
	if (ok && r->all) {
		for (uint32_t log = 1; log <= v->sim->plan.servers; log++)
			v->truncated[log] = r->positions[log];
		set_positions(v, r->positions);
		r->number++; /* a checkpoint that began before is one of the old copy, which may have been further */
		v->own_next = r->positions[v->id] + 1;
		memcpy(ev.stable, r->positions, sizeof(r->positions));
	}
	if (ok && r->inc != v->peer_inc[r->to]) { /* the core is to know that, and to repair once more */
		v->sim->totals.repairs_anew++;
	} else if (ok) {
		check_repaired(v);
		r->changed = false;
	}
	ev.left = r->left;
	ev.nleft = r->nleft;
	ev.clients = r->clients;
	ev.nclients = r->list ? 0 : r->nclients;
	v->sim->totals.repairs_failed += !ok;
	for (struct simop *so = v->ops; so && ok && r->all; so = so->next)
		so->skipped = true;
	server_step(v, &ev);
}

static bool source_there(struct server *v)
{
	const struct server *from = &v->sim->servers[v->repair.to];
	struct nfs4r_core_view a, b;

	if (!from->up || from->stopped || !net_linked(v->sim, v->id, from->id) || !v->peer_epoch[from->id] || v->peer_inc[from->id] != from->inc)
		return false;
	nfs4r_core_get_view(v->core, &a);
	nfs4r_core_get_view(from->core, &b);
	return a.adopted.num == b.adopted.num && b.gives;
}

/* Has this copy, as it will be, the entry that makes @obj? */
static bool is_made(const struct server *v, uint32_t obj)
{
	const struct repair *r = &v->repair;

	for (uint32_t i = 1; i < v->sim->nents; i++) {
		const struct ent *t = &v->sim->ents[i];

		for (uint32_t k = 0; k < t->nparts; k++)
			if (t->parts[k].obj == obj && t->parts[k].effect == NFS4R_EFF_CREATE && t->state != ENT_LOST)
				return r->all ? t->lsn <= r->positions[t->log] : t->lsn <= v->applied[t->log] || kept_find(&v->kept[t->log], t->lsn);
	}
	return true;
}

/* What is deleted at the source, and whose entry is still to come, is not dead here: it is made by that entry and taken away by a later one (log 2.2, 8.5). */
static void install(struct server *v, uint32_t obj, struct row *row)
{
	char text[300];

	if (row->state == ROW_DEAD && !is_made(v, obj)) {
		row_fini(row);
		v->sim->totals.deaths_to_come++;
	}
	if (v->sim->trace) {
		row_print(v->sim, row, text, sizeof(text));
		sim_trace(v->sim, v, "repairs %s: %s", obj_str(v->sim, obj), text);
	}
	v->repair.changed = true;
	if (disk_install(v, obj, row))
		tree_install(&v->tree, obj, row);
	row_fini(row);
}

static void add_left(struct repair *r, const struct nfs4r_fuzzy_object *l)
{
	r->left = realloc(r->left, (r->nleft + 1) * sizeof(*r->left));
	r->left[r->nleft++] = *l;
}

/* What is here was exact for longer than what is there: it stays, under the row of the source. */
static void keep_bytes(struct server *v, uint32_t obj, struct row *row)
{
	const struct row *own = tree_get(&v->tree, obj);

	free(row->bytes);
	row->bytes = own->bytes ? memcpy(malloc(CONTENT_MAX), own->bytes, CONTENT_MAX) : NULL;
	row->size = own->size;
	row->xattr = own->xattr;
}

static bool same_version(struct server *a, struct server *b, uint32_t obj)
{
	const struct row *x = tree_get(&a->tree, obj), *y = tree_get(&b->tree, obj);

	return x->state == y->state && x->version == y->version;
}

/* What the source has of @obj is on its way; or nothing, since it is not exact there, or not what is here. False: it may be exact, soon. */
static bool fetch(struct server *v, uint32_t obj)
{
	struct sim *s = v->sim;
	struct repair *r = &v->repair;
	struct server *from = &s->servers[r->to];
	struct nfs4r_fuzzy_object left;
	enum nfs4r_exactness x = nfs4r_core_exactness(from->core, &s->objs[obj].oid, &left);

	if (x == NFS4R_EXACT_LATER || nfs4r_core_moves(from->core, &s->objs[obj].oid))
		return false;
	left.later = x == NFS4R_EXACT && r->list && !same_version(v, from, obj);
	left.kept = x == NFS4R_INEXACT && !r->list && tree_get(&from->tree, obj)->state == ROW_KNOWN && nfs4r_core_keeps(v->core, &s->objs[obj].oid, left.exact);
	if (x == NFS4R_INEXACT || left.later)
		add_left(r, &left);
	if ((x == NFS4R_EXACT && !left.later) || !r->list) {
		as_it_is(from, obj, &r->row);
		r->fetched = true;
	} else {
		r->at++;
	}
	if (left.kept)
		keep_bytes(v, obj, &r->row);
	if (x == NFS4R_INEXACT && !r->list)
		server_step(v, &(struct nfs4r_event){ .type = NFS4R_EV_OBJECTS_FUZZY, .left = &left, .nleft = 1 });
	return true;
}

static bool copy_client(void *arg, const struct nfs4r_client_entry *k)
{
	struct repair *r = arg;

	r->clients = realloc(r->clients, (r->nclients + 1) * sizeof(*r->clients));
	r->clients[r->nclients++] = *k;
	return true;
}

static void copy_clients(struct repair *r, const struct nfs4r_core *from)
{
	r->nclients = 0;
	for (nfs4r_server_id q = 1; q <= SERVERS_MAX; q++)
		nfs4r_core_each_client_row(from, q, copy_client, r);
}

/* What was asked for last time is here now; ask for the next. */
static void repair_step(struct sim *s, void *arg, uint64_t generation, uint64_t number)
{
	struct server *v = arg;
	struct repair *r = &v->repair;
	uint32_t all = r->all ? s->nobjs : r->n;

	if (!v->up || v->generation != generation || !r->on || r->number != number)
		return;
	if (!source_there(v)) {
		if (r->patience--)
			server_at(v, s->now + REPAIR_PAUSE_US, repair_step, v, generation, number);
		else
			repair_over(v, false);
		return;
	}
	if (!r->told) {
		r->told = true;
		memcpy(r->positions, s->servers[r->to].applied, sizeof(r->positions));
		copy_clients(r, s->servers[r->to].core);
	}
	if (r->fetched && r->row.state == ROW_KNOWN && tree_get(&v->tree, r->all ? r->at : r->objs[r->at])->state != ROW_KNOWN && room_lacks_for(v, 1)) {
		repair_drop(v);
		repair_over(v, false);
		return;
	}
	if (r->fetched) {
		r->fetched = false;
		install(v, r->all ? r->at : r->objs[r->at], &r->row);
		r->at++;
	}
	if (r->at == all) {
		repair_over(v, true);
		return;
	}
	if (!s->healed && s->plan.repair_crash && rng_chance(&s->rng, s->plan.repair_crash)) {
		server_stop(v, rng_chance(&s->rng, s->plan.machine_crash));
		return;
	}
	if (!fetch(v, r->all ? r->at : r->objs[r->at]) && !r->patience--) {
		repair_over(v, false);
		return;
	}
	if (!v->up || v->generation != generation || !r->on || r->number != number)
		return;
	server_at(v, s->now + rng_time(&s->rng, r->all ? s->plan.apply_us / 4 : s->plan.apply_us + s->plan.lag_us), repair_step, v,
		  generation, number);
}

static void add_obj(struct repair *r, uint32_t obj)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (r->objs[i] == obj)
			return;
	if (r->n == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 64;
		r->objs = realloc(r->objs, r->cap * sizeof(*r->objs));
	}
	r->objs[r->n++] = obj;
}

/* The objects that entries beyond @seal touch. */
static void add_beyond(struct server *v, const struct nfs4r_seal *seal)
{
	const struct kept *k = &v->kept[seal->log];

	for (uint32_t i = 0; i < k->n; i++)
		for (uint32_t p = 0; p < k->e[i]->nparts; p++)
			if (k->e[i]->lsn > seal->lsn && k->e[i]->lsn <= last_of(seal->lsn) && k->e[i]->op != NFS4R_OP_CLIENT)
				add_obj(&v->repair, obj_of(v->sim, &k->e[i]->parts[p].oid));
}

void repair_drop(struct server *v)
{
	if (v->repair.fetched)
		row_fini(&v->repair.row);
	v->repair.fetched = v->repair.on = false;
}

void repair_begin(struct server *v, const struct nfs4r_act_repair *a)
{
	struct sim *s = v->sim;
	struct repair *r = &v->repair;

	check_repair(v, a);
	repair_drop(v);
	r->on = true;
	r->all = a->all;
	r->to = a->from;
	r->number++;
	r->n = r->at = r->nleft = 0;
	r->patience = 30;
	r->list = a->noids != 0;
	memset(v->failed, 0, sizeof(v->failed)); /* what is not applied is given back */
	for (uint32_t i = 0; i < a->noids; i++)
		add_obj(r, obj_of(s, &a->oids[i]));
	r->nseals = a->nseals;
	memcpy(r->seals, a->seals, a->nseals * sizeof(*a->seals));
	r->told = false;
	r->inc = v->peer_inc[a->from];
	store_note_source(v, &s->servers[a->from]);
	for (uint32_t i = 0; !r->all && i < r->nseals; i++)
		add_beyond(v, &r->seals[i]);
	TRACE(s, v, "begins to repair %u objects%s from S%u", r->n, r->all ? " (all)" : "", r->to);
	s->totals.repairs++;
	s->totals.repairs_all += r->all;
	server_at(v, s->now + rng_time(&s->rng, s->plan.lag_us * 2), repair_step, v, v->generation, r->number);
}
