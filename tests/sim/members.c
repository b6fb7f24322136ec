/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * An administrator who adds servers and takes them out while all the usual goes wrong (log 9.1). The last two servers of the run are no part
 * of the volume at first, though they run and believe that they are. Who is taken out keeps its store, and comes with it when it is added again;
 * or it lost its disk meanwhile. When all is healed everybody is added, so that the end is as in any run: all are members, and equal.
 */
#include "sim.h"

#define ULL(x) ((unsigned long long)(x))

/* Of the view that @v goes by. */
nfs4r_servers view_servers(const struct server *v)
{
	return v->sim->plan.lease_ms && v->up ? nfs4r_core_adopted(v->core)->servers : v->view_servers;
}

static struct server *someone(struct sim *s)
{
	struct server *v = &s->servers[rng_range(&s->rng, 1, s->plan.servers)];

	return v->up && !v->stopped && (view_members(v) & NFS4R_BIT(v->id)) && v->seen_adopted == s->top_view ? v : NULL;
}

static void add(struct sim *s, struct server *v, nfs4r_server_id id)
{
	struct nfs4r_address all[SERVERS_MAX] = { { 0 } };
	struct nfs4r_event ev = { .type = NFS4R_EV_ADD_SERVER, .peer = id, .all = all };
	char why[200];

	if (nfs4r_core_may_add(v->core, id, why, sizeof(why)) != NFS4R_OK)
		return;
	for (nfs4r_server_id q = 1; q <= s->plan.servers; q++) {
		all[q - 1].id = q;
		all[q - 1].port = (uint16_t)(1000 + q);
		snprintf(all[q - 1].address, sizeof(all[0].address), "s%u", q);
	}
	ev.nall = s->plan.servers;
	TRACE(s, v, "is told to add S%u", id);
	server_step(v, &ev);
}

static void take_out(struct sim *s, struct server *v, nfs4r_server_id id)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_REMOVE_SERVER, .peer = id, .abandon = rng_chance(&s->rng, 300) };
	uint64_t lost;
	char why[200];

	if (nfs4r_core_may_remove(v->core, id, ev.abandon, &lost, why, sizeof(why)) != NFS4R_OK)
		return;
	TRACE(s, v, "is told to take out S%u%s", id, ev.abandon ? ", and to give up what only that has" : "");
	server_step(v, &ev);
}

/* Nothing of it is needed any more. */
static void new_disk(struct sim *s, struct server *x)
{
	if (view_find(s, s->top_view)->servers & NFS4R_BIT(x->id) || x->disk_lost || !rng_chance(&s->rng, 300))
		return;
	if (x->up) {
		x->down_us = 1 + rng_below(&s->rng, 200 * MS);
		server_stop(x, true);
	}
	disk_empty(x);
}

static void administer(struct sim *s, void *arg, uint64_t a, uint64_t b)
{
	struct server *v = someone(s);
	nfs4r_server_id id = (nfs4r_server_id)rng_range(&s->rng, 1, s->plan.servers);

	if (v && id != v->id) {
		if (!(view_servers(v) & NFS4R_BIT(id))) {
			if (!s->healed)
				new_disk(s, &s->servers[id]);
			add(s, v, id);
		} else if (!s->healed && rng_chance(&s->rng, 600)) {
			take_out(s, v, id);
		}
	}
	sim_at(s, s->now + rng_time(&s->rng, s->healed ? 300 * MS : s->plan.members_us), administer, NULL, 0, 0);
}

void members_begin(struct sim *s)
{
	sim_at(s, s->now + rng_time(&s->rng, s->plan.members_us), administer, NULL, 0, 0);
}

/* What changed from one adopted view to the next: the voters by one at most. */
void members_count(struct sim *s, const struct nfs4r_view *old, const struct nfs4r_view *w)
{
	nfs4r_servers voters = old->voters ^ w->voters;

	if (__builtin_popcountll(voters) > 1)
		sim_fail(s, "view %llu has voters %llx, view %llu, on which it was made, has %llx", ULL(w->num), ULL(w->voters), ULL(old->num),
			 ULL(old->voters));
	s->totals.added += (uint64_t)__builtin_popcountll(w->voters & ~old->voters);
	s->totals.taken_out += (uint64_t)__builtin_popcountll(old->servers & ~w->servers);
}

void members_check_book(struct sim *s, const struct nfs4r_view *w)
{
	for (uint32_t i = 0; i < w->nbook; i++)
		if (w->addresses[i].port != 1000 + w->addresses[i].id || !(w->servers & NFS4R_BIT(w->addresses[i].id)))
			sim_fail(s, "view %llu has address %s, port %u, for S%u", ULL(w->num), w->addresses[i].address, w->addresses[i].port, w->addresses[i].id);
	if (w->nbook && w->nbook != (uint32_t)__builtin_popcountll(w->servers))
		sim_fail(s, "view %llu has %u addresses for servers %llx", ULL(w->num), w->nbook, ULL(w->servers));
}

void members_print(const struct totals *t)
{
	printf("servers: %llu became voters, %llu were taken out, %llu of them got a new disk\n", ULL(t->added), ULL(t->taken_out), ULL(t->new_disks));
}
