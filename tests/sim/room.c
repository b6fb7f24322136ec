/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Disks that are too small, at several servers at once (log 4.12).
 *
 * An object takes one unit of its server's disk while it is there, whatever is in it, and so much that the core's estimate of what a
 * new object may take is at least that. Each server measures now and then; what it measured the core hears a moment later. Half of what
 * the disk has above the first tree is the reserve. No entry may be committed on a disk that has no room for it, at any server, and a
 * removal is never refused.
 *
 * With views a server may be outside while the others go on, and something else may fill disks (trouble.c). Then an entry that makes an object finds no room, and fails.
 * That is a mistake where everybody knew better.
 */
#include "sim.h"

#define UNIT 4096
#define MEASURE_US (100 * MS)
#define HEALED_ROOM 100000

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

/* What the volume may take of its disk. Runs with views end with room for all: who was outside when there was too much of it needs somebody who makes room. */
static uint32_t capacity(const struct server *v)
{
	if (v->sim->healed && v->sim->plan.lease_ms)
		return v->room + HEALED_ROOM;
	return v->room - (v->sim->now < v->ballast_until ? v->ballast : 0);
}

static uint64_t reserve(const struct server *v)
{
	return (uint64_t)(v->room - v->sim->rooms_first) / 2;
}

static uint32_t room_left(const struct server *v)
{
	uint32_t all = capacity(v), n = used(v);

	return all > n ? all - n : 0;
}

/* ---- what finds no room ------------------------------------------------------------------- */

/* Something else takes all that is left. */
void room_fill(struct server *v, uint64_t us)
{
	struct sim *s = v->sim;

	if (s->now >= v->ballast_until)
		v->ballast = 0;
	v->ballast += room_left(v);
	v->ballast_until = s->now + us;
	room_forget(v);
	s->totals.filled++;
	TRACE(s, v, "has a disk that something else fills for %llu ms, %u objects are on it", (unsigned long long)(us / 1000), used(v));
}

void room_forget(struct server *v)
{
	v->room_unsure = true;
	v->room_marked = false;
}

/* All who could execute something have heard from it in their start. */
static bool control_is_known(const struct server *v)
{
	struct nfs4r_core_room told;

	for (uint32_t q = 1; q <= v->sim->plan.servers; q++) {
		if (!v->sim->servers[q].up)
			continue;
		nfs4r_core_get_room(v->sim->servers[q].core, &told);
		if (!told.of[v->id].known)
			return false;
	}
	return true;
}

static void mark(struct server *v)
{
	v->room_marked = true;
	for (uint32_t log = 1; log <= v->sim->plan.servers; log++)
		v->room_mark[log] = v->sim->servers[log].own_next - 1;
}

static bool has_marked(const struct server *v)
{
	for (uint32_t log = 1; log <= v->sim->plan.servers; log++)
		if (v->applied[log] < v->room_mark[log])
			return false;
	return v->room_marked;
}

/*
 * From when on is it a mistake that an entry finds no room? When the server is a member, its reserve is untouched, everybody knows of that, and it has applied what was executed before.
 */
static void look_if_known(struct server *v)
{
	if (!v->room_unsure)
		return;
	if (v->outside_since || v->sim->now < v->ballast_until || room_left(v) < reserve(v) || !control_is_known(v))
		v->room_marked = false;
	else if (!v->room_marked)
		mark(v);
	else if (has_marked(v))
		v->room_unsure = false;
}

/* Objects that there are more afterwards. */
static int more(const struct server *v, const struct nfs4r_entry *e, uint32_t mask)
{
	int n = 0;

	for (uint32_t i = 0; i < e->nparts && mask; i++) {
		const struct nfs4r_part *p = &e->parts[i];
		bool is_there = tree_get(&v->tree, obj_of(v->sim, &p->oid))->state == ROW_KNOWN;

		if (mask & 1u << i && p->effect == NFS4R_EFF_CREATE)
			n += !is_there;
		if (mask & 1u << i && p->effect == NFS4R_EFF_LINKS && !p->nlink)
			n -= is_there;
	}
	return n;
}

bool room_lacks_for(const struct server *v, uint32_t n)
{
	return v->sim->plan.rooms && v->sim->plan.lease_ms && room_left(v) < n;
}

bool room_lacks(struct server *v, const struct nfs4r_entry *e, uint32_t mask)
{
	int n = v->sim->plan.rooms ? more(v, e, mask) : 0;

	if (n <= 0 || !room_lacks_for(v, (uint32_t)n))
		return false;
	if (!v->room_unsure)
		sim_fail(v->sim, "S%u has %u objects on a disk for %u and no room for %u:%s, and all knew that (4.12)", v->id, used(v), v->room, e->log, lsn_str(e->lsn));
	v->sim->totals.crowded++;
	return true;
}

/* ---- measuring ----------------------------------------------------------------------------- */

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
	uint64_t left = room_left(v);

	m->ev.type = NFS4R_EV_SPACE;
	m->space.inodes = (struct nfs4r_room){ capacity(v), left, reserve(v) };
	m->space.tree = (struct nfs4r_room){ (uint64_t)capacity(v) * UNIT * 4, left * UNIT * 4, reserve(v) * UNIT * 4 };
	for (nfs4r_server_id l = 1; l <= SERVERS_MAX; l++)
		m->ev.stable[l] = nfs4r_core_applied(v->core, l);
	return m;
}

static void measure(struct sim *s, void *arg, uint64_t generation, uint64_t b)
{
	struct server *v = arg;

	if (!v->up || v->generation != generation)
		return;
	look_if_known(v);
	server_at_owned(v, s->now + rng_time(&s->rng, s->plan.exec_us), heard, look(v), free, generation, v->id);
	server_at(v, s->now + rng_time(&s->rng, MEASURE_US), measure, v, generation, 0);
}

void room_start(struct server *v)
{
	if (!v->sim->plan.rooms)
		return;
	for (uint32_t q = 1; q <= v->sim->plan.servers; q++)
		room_forget(&v->sim->servers[q]);
	heard(v->sim, look(v), v->generation, v->id);
	if (v->up)
		server_at(v, v->sim->now + rng_time(&v->sim->rng, MEASURE_US), measure, v, v->generation, 0);
}

void room_check(struct server *v)
{
	if (v->sim->plan.rooms && used(v) > v->room && !(v->sim->healed && v->sim->plan.lease_ms))
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
