/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Disks that are too small, at several servers at once (log 4.12).
 *
 * An object takes one unit of its server's disk while it is there, whatever is in it, and so much that the core's estimate of what a
 * new object may take is at least that. Each server measures now and then; what it measured the core hears a moment later. Half of what
 * the disk has above the first tree is the reserve. No entry may be committed on a disk that has no room for it, at any server, and a
 * removal is never refused.
 */
#include "sim.h"

#define UNIT 4096
#define MEASURE_US (100 * MS)

static uint32_t count(const struct tree *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n; i++)
		n += t->rows[i].state == ROW_KNOWN;
	return n;
}

static uint32_t used(const struct server *v)
{
	return count(&v->tree);
}

void room_draw(struct sim *s)
{
	uint32_t first = count(&s->base);

	if (!s->plan.rooms)
		return;
	for (uint32_t q = 1; q <= s->plan.servers; q++) /* no draw of the run's own: what one seed means does not depend on it */
		s->servers[q].room = first + s->plan.rooms / 2 + (uint32_t)(hash_mix(s->plan.seed, q) % (s->plan.rooms + 1));
	s->rooms_first = first;
}

static uint64_t reserve(const struct server *v)
{
	return (uint64_t)(v->room - v->sim->rooms_first) / 2;
}

struct measured {
	struct nfs4r_event ev;
	struct nfs4r_space space;
};

static const struct nfs4r_limits no_limits = { .has = NFS4R_HAS_ALL };

static void measure(struct sim *s, void *arg, uint64_t generation, uint64_t b);

static void heard(struct sim *s, void *arg, uint64_t generation, uint64_t id)
{
	struct server *v = &s->servers[id];
	struct measured *m = arg;

	m->ev.space = &m->space;
	m->ev.limits = &no_limits;
	if (v->up && v->generation == generation)
		server_step(v, &m->ev);
	free(m);
}

static struct measured *look(struct server *v)
{
	struct measured *m = calloc(1, sizeof(*m));
	uint64_t left = v->room > used(v) ? v->room - used(v) : 0;

	m->ev.type = NFS4R_EV_SPACE;
	m->space.inodes = (struct nfs4r_room){ v->room, left, reserve(v) };
	m->space.tree = (struct nfs4r_room){ (uint64_t)v->room * UNIT * 4, left * UNIT * 4, reserve(v) * UNIT * 4 };
	for (nfs4r_server_id l = 1; l <= SERVERS_MAX; l++)
		m->ev.stable[l] = nfs4r_core_applied(v->core, l);
	return m;
}

static void measure(struct sim *s, void *arg, uint64_t generation, uint64_t b)
{
	struct server *v = arg;

	if (!v->up || v->generation != generation)
		return;
	server_at_owned(v, s->now + rng_time(&s->rng, s->plan.exec_us), heard, look(v), free, generation, v->id);
	server_at(v, s->now + rng_time(&s->rng, MEASURE_US), measure, v, generation, 0);
}

void room_start(struct server *v)
{
	if (!v->sim->plan.rooms)
		return;
	heard(v->sim, look(v), v->generation, v->id);
	if (v->up)
		server_at(v, v->sim->now + rng_time(&v->sim->rng, MEASURE_US), measure, v, v->generation, 0);
}

void room_check(struct server *v)
{
	if (v->sim->plan.rooms && used(v) > v->room)
		sim_fail(v->sim, "S%u has %u objects on a disk for %u", v->id, used(v), v->room);
}

void room_answer(struct server *v, const struct nfs4r_op *op)
{
	if (!v->sim->plan.rooms || op->status != NFS4R_NOSPC)
		return;
	v->sim->totals.no_room++;
	if (op->type != NFS4R_OP_CREATE && op->type != NFS4R_OP_MKDIR && op->type != NFS4R_OP_LINK && op->type != NFS4R_OP_SYMLINK && op->type != NFS4R_OP_WRITE &&
	    op->type != NFS4R_OP_SETXATTR)
		sim_fail(v->sim, "S%u: %s is refused for lack of room", v->id, nfs4r_op_name(op->type));
}
