/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A majority that is lost for good, and an administrator who says at each survivor who goes on, sometimes something else first (log 9.3). In the middle
 * of all the usual so many die that the rest are no majority. Some of them come back later, one or two with their old stores (never a majority,
 * which could go on by itself), the others with new disks. When all is healed everybody is added, so that the end is as in any run.
 *
 * What may be lost is what no survivor had, promised or not. One of the survivors knows the newest view, and has all up to its seals: else
 * what that one decided would be undone, and the truth with it. When a copy is taken as it is, since nobody's is complete, the truth is unknown: the run ends.
 */
#include "sim.h"

#define ULL(x) ((unsigned long long)(x))

bool reconf_first(const struct nfs4r_view *w)
{
	return NFS4R_RECONF(w->num) > NFS4R_RECONF(w->base);
}

/* ---- the view --------------------------------------------------------------------------- */

void reconf_check(struct server *v, const struct nfs4r_view *base, const struct nfs4r_view *w)
{
	struct sim *s = v->sim;

	if (w->voters != s->survivors || w->servers != w->voters || __builtin_popcountll(w->members) != 1 || w->open != w->members || w->epoch != base->epoch + 1)
		sim_fail(s, "S%u has view %llu of servers %llx, voters %llx, members %llx, open %llx, epoch %u; the survivors are %llx", v->id, ULL(w->num), ULL(w->servers),
			 ULL(w->voters), ULL(w->members), ULL(w->open), w->epoch, ULL(s->survivors));
}

bool reconf_again(struct sim *s, const struct nfs4r_view *w)
{
	const struct nfs4r_view *top = view_find(s, s->top_view);

	return reconf_first(w) && reconf_first(top) && NFS4R_RECONF(w->num) == NFS4R_RECONF(top->num) && w->voters == top->voters && __builtin_popcountll(w->voters) == 1;
}

/* The member's own log ends more than once: nobody was complete. */
static bool is_as_it_is(struct sim *s, const struct nfs4r_view *w)
{
	const struct nfs4r_view *base = view_find(s, w->base);
	uint32_t had = 0, has = 0;

	for (uint32_t i = 0; i < base->nseals; i++)
		had += !!(w->members & NFS4R_BIT(base->seals[i].log));
	for (uint32_t i = 0; i < w->nseals; i++)
		has += !!(w->members & NFS4R_BIT(w->seals[i].log));
	return reconf_first(w) && has > had + 1;
}

void reconf_seen(struct server *v, const struct nfs4r_view *w)
{
	struct sim *s = v->sim;

	s->totals.reconfigured++;
	if (!is_as_it_is(s, w))
		return;
	TRACE(s, v, "a copy is taken as it is: the run ends");
	s->totals.reconf_as_is++;
	s->unknown = true;
	longjmp(s->failed, 1);
}

/* No survivor has it. */
bool reconf_may_lose(struct sim *s, const struct ent *t)
{
	for (uint32_t q = 1; q <= s->plan.servers; q++)
		if ((s->survivors & NFS4R_BIT(q)) && NFS4R_GEN(s->servers[q].applied[t->log]) == NFS4R_GEN(t->lsn) && s->servers[q].applied[t->log] >= t->lsn)
			return false;
	return true;
}

void reconf_print(const struct totals *t)
{
	printf("reconfigured: %llu volumes, %llu words, %llu old stores came back, %llu copies taken as they are\n", ULL(t->reconfigured), ULL(t->reconf_words),
	       ULL(t->reconf_late), ULL(t->reconf_as_is));
}

/* ---- those that come back ------------------------------------------------------------------ */

static uint32_t old_ones(const struct sim *s)
{
	uint32_t n = 0;

	for (uint32_t q = 1; q <= s->plan.servers; q++)
		n += !(s->survivors & NFS4R_BIT(q)) && !s->servers[q].dead && s->servers[q].dead_store;
	return n;
}

static void come_back(struct sim *s, struct server *x)
{
	x->dead_store = old_ones(s) + 1 <= s->plan.servers / 2 && rng_chance(&s->rng, 700);
	if (x->dead_store)
		s->totals.reconf_late++;
	else
		disk_empty(x);
	x->dead = false;
	TRACE(s, x, "comes back, with %s", x->dead_store ? "its old store" : "a new disk");
	server_start(x);
}

/* ---- the administrator ------------------------------------------------------------------------ */

static void say(struct sim *s, struct server *v, nfs4r_servers set)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_RECONFIGURE, .set = set };
	struct nfs4r_core_view w;
	char why[200];

	nfs4r_core_get_view(v->core, &w);
	if (w.reconf_set == set || nfs4r_core_may_reconfigure(v->core, set, why, sizeof(why)) != NFS4R_OK)
		return;
	TRACE(s, v, "is told that %llx go on", ULL(set));
	s->totals.reconf_words++;
	server_step(v, &ev);
}

/* With one of the dead in it nothing can come of it. */
static nfs4r_servers wrong_set(struct sim *s, const struct server *v)
{
	nfs4r_server_id x;

	do
		x = (nfs4r_server_id)rng_range(&s->rng, 1, s->plan.servers);
	while (s->survivors & NFS4R_BIT(x));
	return NFS4R_BIT(v->id) | NFS4R_BIT(x);
}

static bool all_adopted(struct sim *s)
{
	for (uint32_t q = 1; q <= s->plan.servers; q++) {
		const struct server *v = &s->servers[q];

		if ((s->survivors & NFS4R_BIT(q)) && (!v->up || !NFS4R_RECONF(v->seen_adopted)))
			return false;
	}
	return true;
}

/* @until: so long some are told something wrong. @since: they all go by the view since then; after a while it is on their disks. */
static void administer(struct sim *s, void *arg, uint64_t until, uint64_t since)
{
	bool all_back = true, done = since && s->now > since + 2 * SECOND;

	for (uint32_t q = 1; q <= s->plan.servers; q++) {
		struct server *v = &s->servers[q];

		if ((s->survivors & NFS4R_BIT(q)) && !done && v->up && !v->stopped && rng_chance(&s->rng, 700))
			say(s, v, s->now < until && rng_chance(&s->rng, 500) ? wrong_set(s, v) : s->survivors);
		else if (v->dead && done && rng_chance(&s->rng, s->healed ? 300 : 30))
			come_back(s, v);
		all_back &= !v->dead;
	}
	if (all_back && s->healed)
		members_begin(s);
	else
		sim_at(s, s->now + rng_time(&s->rng, 200 * MS), administer, NULL, until, done ? since : !all_adopted(s) ? 0 :
			       since											? since :
															  s->now);
}

/* ---- the loss ----------------------------------------------------------------------------------- */

static bool knows_all(struct sim *s, const struct server *v)
{
	const struct nfs4r_view *top = view_find(s, s->top_view);
	struct nfs4r_core_view w;

	if (!v->up || v->seen_adopted != s->top_view)
		return false;
	nfs4r_core_get_view(v->core, &w);
	for (uint32_t i = 0; i < top->nseals; i++)
		if (v->applied[top->seals[i].log] < top->seals[i].lsn)
			return false;
	return w.memory == NFS4R_MEMORY_KNOWN && w.member && !w.repairing && !w.joining;
}

/* An administrator names nobody else. */
static bool remembers(const struct server *v)
{
	struct nfs4r_core_view w;

	if (!v->up)
		return false;
	nfs4r_core_get_view(v->core, &w);
	return w.memory == NFS4R_MEMORY_KNOWN;
}

static bool choose(struct sim *s, nfs4r_servers *set)
{
	nfs4r_servers all = (NFS4R_BIT(s->plan.servers + 1) - 1) & ~(nfs4r_servers)1;
	bool good = false;

	*set = rng_next(&s->rng) & all;
	for (uint32_t q = 1; q <= s->plan.servers; q++) {
		if (!(*set & NFS4R_BIT(q)))
			continue;
		if (!remembers(&s->servers[q]))
			return false;
		good |= knows_all(s, &s->servers[q]);
	}
	return good && __builtin_popcountll(*set) <= (int)s->plan.servers / 2;
}

static void lose_majority(struct sim *s, void *arg, uint64_t a, uint64_t b)
{
	nfs4r_servers set = 0;
	bool good = false;

	for (uint32_t i = 0; i < 20 && !good; i++)
		good = choose(s, &set);
	if (!good) {
		if (!s->healed)
			sim_at(s, s->now + 50 * MS, lose_majority, NULL, 0, 0);
		return;
	}
	TRACE(s, NULL, "all but %llx are lost for good", ULL(set));
	s->survivors = set;
	for (uint32_t q = 1; q <= s->plan.servers; q++) {
		struct server *v = &s->servers[q];

		if (set & NFS4R_BIT(q))
			continue;
		v->dead = true;
		if (v->up)
			server_stop(v, rng_chance(&s->rng, 500));
	}
	sim_at(s, s->now + rng_time(&s->rng, 500 * MS), administer, NULL, rng_chance(&s->rng, 400) ? s->now + 4 * SECOND : 0, 0);
}

void reconfigure_begin(struct sim *s)
{
	sim_at(s, s->now + s->plan.work_us / 10 + rng_below(&s->rng, s->plan.work_us / 2), lose_majority, NULL, 0, 0);
}
