/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Control: no two servers act as primary of one object, whether by the same object or by deep
 * control above another's (each judged on its own tree); a claim under which a server acts, and which
 * it won by acks, stands in a majority of all tables; the ancestry table equals a recount; and a server
 * that lets go of an object has all its updates of it stable at every member of its view.
 */
#include "sim.h"

#define ULL(x) ((unsigned long long)(x))
#define ACTING_MAX 512

struct acting {
	struct server *server;
	uint32_t obj, depth;
	struct nfs4r_pid pid;
	bool proposed;
};

#define ROWS_MAX 4096

struct rows { /* of the others' claims, as the servers have them */
	struct server *server;
	uint32_t n;
	struct {
		nfs4r_server_id at;
		struct nfs4r_pid pid;
	} row[ROWS_MAX];
};

struct collect {
	struct server *server;
	struct acting *list;
	uint32_t n;
};

static bool collect_one(void *arg, const struct nfs4r_control_info *i)
{
	struct collect *c = arg;

	if (i->owner != c->server->id || !i->acting || c->n == ACTING_MAX)
		return true;
	if (i->policy && !i->acked_by_all && !c->server->sim->plan.lease_ms) /* a new member may have acked nothing yet */
		sim_fail(c->server->sim, "S%u acts on %s (depth %u, claim %llu), which the policy asked for and not all have acked",
			 i->owner, oid_name(c->server->sim, &i->control.oid), i->control.depth, ULL(i->pid.seq));
	c->list[c->n].server = c->server;
	c->list[c->n].obj = obj_of(c->server->sim, &i->control.oid);
	c->list[c->n].depth = i->control.depth;
	c->list[c->n].proposed = i->kind == NFS4R_PROPOSED;
	c->list[c->n++].pid = i->pid;
	return true;
}

/* Does @a, on its owner's tree, cover the object of @b? */
static bool covers(const struct acting *a, uint32_t obj)
{
	if (a->obj == obj)
		return true;
	return a->depth >= NFS4R_DEEP && tree_below(&a->server->tree, obj, a->obj);
}

static bool row_one(void *arg, const struct nfs4r_control_info *i)
{
	struct rows *r = arg;

	if (i->kind == NFS4R_PROPOSED && r->n < ROWS_MAX) {
		r->row[r->n].at = r->server->id;
		r->row[r->n++].pid = i->pid;
	}
	return true;
}

/* It hears of all claims before it is a member with all rows. */
static bool may_not_ack(const struct server *v)
{
	return !(view_members(v) & NFS4R_BIT(v->id)) || v->seen_joining;
}

/* A server that is down has what it acked on its disk. */
static void check_majority(struct sim *s, const struct acting *a, const struct rows *r)
{
	nfs4r_servers have = 0, voters = view_find(s, s->top_view)->voters; /* those without it elect nobody else */

	for (uint32_t i = 0; i < r->n; i++)
		if (r->row[i].pid.server == a->pid.server && r->row[i].pid.seq == a->pid.seq)
			have |= NFS4R_BIT(r->row[i].at);
	for (uint32_t q = 1; q <= s->plan.servers; q++)
		if (!s->servers[q].up || s->servers[q].disk_lost || may_not_ack(&s->servers[q])) /* that acks nothing else, either */
			have |= NFS4R_BIT(q);
	if (__builtin_popcountll(voters & ~have) >= __builtin_popcountll(voters) / 2 + 1 && r->n < ROWS_MAX)
		sim_fail(s, "S%u acts on %s (depth %u, claim %llu), which is in the tables of %llx only", a->server->id,
			 obj_str(s, a->obj), a->depth, ULL(a->pid.seq), ULL(have));
}

static void check_rows(struct sim *s, const struct acting *list, uint32_t n)
{
	static struct rows r;

	r.n = 0;
	for (uint32_t i = 1; i <= s->plan.servers; i++) {
		r.server = &s->servers[i];
		if (r.server->up)
			nfs4r_core_each_control(r.server->core, row_one, &r);
	}
	for (uint32_t i = 0; i < n; i++)
		if (list[i].proposed)
			check_majority(s, &list[i], &r);
}

void check_controls(struct sim *s)
{
	static struct acting list[ACTING_MAX];
	struct collect c = { NULL, list, 0 };

	for (uint32_t i = 1; i <= s->plan.servers; i++) {
		c.server = &s->servers[i];
		if (c.server->up && !sealed_out(c.server) && !c.server->disk_lost) /* it acts again when it serves again */
			nfs4r_core_each_control(c.server->core, collect_one, &c);
	}
	if (s->plan.lease_ms && c.n)
		check_rows(s, list, c.n);
	for (uint32_t i = 0; i < c.n; i++)
		for (uint32_t k = 0; k < c.n; k++) {
			if (list[i].server == list[k].server || !covers(&list[i], list[k].obj))
				continue;
			sim_fail(s, "two primaries: S%u acts on %s (depth %u, claim %llu), S%u on %s (depth %u, claim %llu)",
				 list[i].server->id, obj_str(s, list[i].obj), list[i].depth, ULL(list[i].pid.seq),
				 list[k].server->id, obj_str(s, list[k].obj), list[k].depth, ULL(list[k].pid.seq));
		}
}

bool acting_cover(struct server *v, uint32_t obj)
{
	static struct acting list[ACTING_MAX];
	struct collect c = { v, list, 0 };

	if (v->disk_lost) /* an image of what it was: it does nothing by it */
		return false;
	nfs4r_core_each_control(v->core, collect_one, &c);
	for (uint32_t i = 0; i < c.n; i++)
		if (covers(&list[i], obj))
			return true;
	return false;
}

void check_core(struct server *v)
{
	char why[200] = "";

	if (v->up && !v->repair.changed && !nfs4r_core_check(v->core, why, sizeof(why)))
		sim_fail(v->sim, "S%u: %s", v->id, why);
}

/*
 * By a view that it does not know. At a start it may tell the end of what it decided before that view was; and with a lease by the
 * clock that it goes by, it decides on what it had heard before a stop.
 */
static bool was_removed(const struct server *v)
{
	return v->view_known && v->seen_adopted < v->removed_by && nfs4r_core_lease_until(v->core) <= clock_ms(v);
}

static void check_left(struct server *v, uint32_t obj)
{
	struct sim *s = v->sim;
	struct obj *o = &s->objs[obj];
	const struct ent *t;
	uint32_t n;

	if (!o->nvers || tree_get(&v->tree, obj)->state != ROW_KNOWN || v->disk_lost) /* nobody believes that one (log 8.6) */
		return;
	n = o->vers[o->nvers - 1].ent;
	t = &s->ents[n];
	if (t->log != v->id || t->content || t->state != ENT_LIVE || o->left == n || /* what was taken for right needs no control (log 7.5) */
	    NFS4R_GEN(t->lsn) < s->gen[v->id])
		return;
	if (acting_cover(v, obj))
		return;
	for (uint32_t q = 1; q <= s->plan.servers; q++) {
		if (s->plan.lease_ms && !(view_servers(v) & NFS4R_BIT(q)))
			continue;
		if (s->servers[q].stable[v->id] >= t->lsn || s->servers[q].had_stable[v->id] >= t->lsn)
			continue;
		if (view_members(v) & NFS4R_BIT(q))
			sim_fail(s, "S%u let go of %s, which it updated as %u:%llu, and S%u has that stable to %llu only",
				 v->id, obj_str(s, obj), t->log, ULL(t->lsn), q, ULL(s->servers[q].stable[v->id]));
		if (was_removed(v))
			sim_fail(s, "S%u let go of %s, which it updated as %u:%llu, and does not know that it was removed", v->id,
				 obj_str(s, obj), t->log, ULL(t->lsn));
	}
	o->left = n; /* what it asks for and gives up later is another control, and who has joined by then had no say in this one */
}

void check_control_gone(struct server *v, const struct nfs4r_oid *oid)
{
	struct sim *s = v->sim;
	uint32_t dir = obj_of(s, oid);

	check_left(v, dir);
	if (tree_get(&v->tree, dir)->type != NFS4R_TYPE_DIR)
		return;
	for (uint32_t i = 0; i < s->nobjs; i++)
		if (tree_below(&v->tree, i, dir))
			check_left(v, i);
}
