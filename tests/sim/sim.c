/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One run. The seed and the mode give a plan (how many servers, how bad the network, how often
 * something crashes, what clients do). Then, on virtual time:
 *
 *  1. work under faults: clients operate, links are cut, servers crash and return (in runs with
 *     views also worse: trouble.c); every checker looks after every step, and the first finding ends
 *     the run;
 *  2. heal: links come back and stay, dead and stopped servers go on, nothing is lost any more,
 *     clients start nothing new. Every operation that is under way must end, within bounded time;
 *  3. quiet: everybody a member, no control left anywhere, every log truncated, all trees equal to
 *     the truth.
 *
 * With real stores (store.h) disks fail, too, and each start is compared with what was written.
 *
 * All that happens is an event in one heap, ordered by time and, at equal times, by the order of
 * its making; all chance comes from one stream. So the seed decides everything, and the hash over
 * events and actions is the same each time.
 */
#include "sim.h"

#include <stdarg.h>

#define HEAL_LIMIT (180 * SECOND) /* since a server last got an update that it did not have */
#define HEAL_LIMIT_ALL (1800 * SECOND) /* since the last fault: new updates without end are no progress */

/* ---- events -------------------------------------------------------------------- */

static bool before(const struct event *a, const struct event *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void push(struct sim *s, struct event e)
{
	uint32_t i = s->nevents++;

	if (e.at < s->now)
		e.at = s->now;
	if (s->nevents > s->events_cap) {
		s->events_cap = s->events_cap ? s->events_cap * 2 : 1024;
		s->events = realloc(s->events, s->events_cap * sizeof(*s->events));
	}
	while (i && before(&e, &s->events[(i - 1) / 2])) {
		s->events[i] = s->events[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	s->events[i] = e;
}

void sim_again(struct sim *s, const struct event *e)
{
	struct event again = *e;

	again.order = ++s->order;
	push(s, again);
}

void sim_at(struct sim *s, uint64_t at, event_fn fn, void *arg, uint64_t a, uint64_t b)
{
	push(s, (struct event){ at, ++s->order, fn, arg, NULL, a, b, NULL, false });
}

void sim_at_owned(struct sim *s, uint64_t at, event_fn fn, void *arg, void (*drop)(void *), uint64_t a, uint64_t b)
{
	push(s, (struct event){ at, ++s->order, fn, arg, drop, a, b, NULL, false });
}

void server_at(struct server *v, uint64_t at, event_fn fn, void *arg, uint64_t a, uint64_t b)
{
	push(v->sim, (struct event){ at, ++v->sim->order, fn, arg, NULL, a, b, v, false });
}

void server_at_owned(struct server *v, uint64_t at, event_fn fn, void *arg, void (*drop)(void *), uint64_t a, uint64_t b)
{
	push(v->sim, (struct event){ at, ++v->sim->order, fn, arg, drop, a, b, v, false });
}

void client_at(struct server *v, uint64_t at, event_fn fn, void *arg, uint64_t a, uint64_t b)
{
	push(v->sim, (struct event){ at, ++v->sim->order, fn, arg, NULL, a, b, v, true });
}

static struct event next_event(struct sim *s)
{
	struct event first = s->events[0], last = s->events[--s->nevents];
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < s->nevents) {
		if (child + 1 < s->nevents && before(&s->events[child + 1], &s->events[child]))
			child++;
		if (!before(&s->events[child], &last))
			break;
		s->events[i] = s->events[child];
		i = child;
	}
	s->events[i] = last;
	return first;
}

/* ---- findings and traces --------------------------------------------------------- */

void sim_fail(struct sim *s, const char *fmt, ...)
{
	va_list ap;
	size_t n = snprintf(s->failure, sizeof(s->failure), "%llu.%03llu ms: ", (unsigned long long)(s->now / 1000),
			    (unsigned long long)(s->now % 1000));

	va_start(ap, fmt);
	vsnprintf(s->failure + n, sizeof(s->failure) - n, fmt, ap);
	va_end(ap);
	if (s->trace)
		printf("FAILED %s\n", s->failure);
	longjmp(s->failed, 1);
}

void sim_trace(struct sim *s, const struct server *v, const char *fmt, ...)
{
	va_list ap;

	printf("%8llu.%03llu ", (unsigned long long)(s->now / 1000), (unsigned long long)(s->now % 1000));
	if (v)
		printf("S%u ", v->id);
	else
		printf("-- ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

void sim_note(struct sim *s, uint64_t kind, uint64_t a, uint64_t b)
{
	s->hash = hash_mix(s->hash, s->now ^ kind << 56);
	s->hash = hash_mix(s->hash, a);
	s->hash = hash_mix(s->hash, b);
}

/* ---- objects and names ------------------------------------------------------------- */

static void index_objs(struct sim *s)
{
	s->obj_index_size = s->obj_index_size ? s->obj_index_size * 2 : 1024;
	free(s->obj_index);
	s->obj_index = calloc(s->obj_index_size, sizeof(*s->obj_index));
	for (uint32_t i = 0; i < s->nobjs; i++) {
		uint32_t at = nfs4r_oid_hash(&s->objs[i].oid) & (s->obj_index_size - 1);

		while (s->obj_index[at])
			at = (at + 1) & (s->obj_index_size - 1);
		s->obj_index[at] = i + 1;
	}
}

uint32_t obj_of(struct sim *s, const struct nfs4r_oid *oid)
{
	uint32_t at;

	if (s->nobjs * 2 >= s->obj_index_size)
		index_objs(s);
	at = nfs4r_oid_hash(oid) & (s->obj_index_size - 1);
	while (s->obj_index[at]) {
		if (nfs4r_oid_eq(&s->objs[s->obj_index[at] - 1].oid, oid))
			return s->obj_index[at] - 1;
		at = (at + 1) & (s->obj_index_size - 1);
	}
	if (s->nobjs == s->objs_cap) {
		s->objs_cap = s->objs_cap ? s->objs_cap * 2 : 256;
		s->objs = realloc(s->objs, s->objs_cap * sizeof(*s->objs));
	}
	memset(&s->objs[s->nobjs], 0, sizeof(*s->objs));
	s->objs[s->nobjs].oid = *oid;
	s->obj_index[at] = ++s->nobjs;
	return s->nobjs - 1;
}

const char *obj_str(struct sim *s, uint32_t obj)
{
	static char ring[8][24];
	static uint32_t next;
	char *b = ring[next++ % 8];

	snprintf(b, 24, obj == 0 ? "root" : "o%u", obj);
	return b;
}

const char *oid_name(struct sim *s, const struct nfs4r_oid *oid)
{
	return obj_str(s, obj_of(s, oid));
}

uint16_t name_id(struct sim *s, const char *text)
{
	for (uint32_t i = 0; i < s->nnames; i++)
		if (!strcmp(s->names[i], text))
			return (uint16_t)i;
	if (s->nnames == NAMES_MAX)
		sim_fail(s, "more than %u names (%s)", NAMES_MAX, text);
	snprintf(s->names[s->nnames], sizeof(s->names[0]), "%s", text);
	return (uint16_t)s->nnames++;
}

uint16_t name_of(struct sim *s, const struct nfs4r_name *n)
{
	return name_id(s, n->s);
}

void name_set(struct sim *s, struct nfs4r_name *n, uint16_t name)
{
	nfs4r_name_set(n, s->names[name], strlen(s->names[name]));
}

/* ---- faults from outside ------------------------------------------------------------ */

static void cut_now(struct sim *s, void *arg, uint64_t a, uint64_t b)
{
	const struct plan *p = &s->plan;
	nfs4r_server_id x = (nfs4r_server_id)rng_range(&s->rng, 1, p->servers);
	nfs4r_server_id y = (nfs4r_server_id)rng_range(&s->rng, 1, p->servers);

	if (s->healed)
		return;
	if (rng_chance(&s->rng, 300)) { /* one server alone */
		for (y = 1; y <= p->servers; y++)
			if (y != x)
				net_cut(s, x, y);
	} else if (x != y) {
		net_cut(s, x, y);
	}
	sim_at(s, s->now + rng_time(&s->rng, p->cut_every_us), cut_now, NULL, 0, 0);
}

static void crash_now(struct sim *s, void *arg, uint64_t a, uint64_t b)
{
	const struct plan *p = &s->plan;
	struct server *v = &s->servers[rng_range(&s->rng, 1, p->servers)];

	if (s->healed)
		return;
	if (v->up) /* in the middle of what one of its next steps asks for */
		server_arm_crash(v, 1 + (uint32_t)rng_below(&s->rng, 12), rng_chance(&s->rng, p->machine_crash));
	sim_at(s, s->now + rng_time(&s->rng, p->crash_every_us), crash_now, NULL, 0, 0);
}

static void heal(struct sim *s, void *arg, uint64_t a, uint64_t b)
{
	uint32_t n = s->plan.servers;

	TRACE(s, NULL, "heal");
	s->healed = true;
	for (uint32_t i = 1; i <= n; i++) {
		struct server *v = &s->servers[i];

		v->crash_after = v->crash_on = 0;
		clock_go(v);
		store_heal(v);
		if (!v->up && !v->dead)
			server_start(v);
	}
	for (uint32_t i = 1; i <= n; i++)
		for (uint32_t j = i + 1; j <= n; j++)
			net_join(s, (nfs4r_server_id)i, (nfs4r_server_id)j);
	s->limit_us = s->now + HEAL_LIMIT;
	s->last_limit_us = s->now + HEAL_LIMIT_ALL;
}

void sim_progress(struct sim *s)
{
	if (s->healed)
		s->limit_us = s->now + HEAL_LIMIT < s->last_limit_us ? s->now + HEAL_LIMIT : s->last_limit_us;
}

/* ---- the run --------------------------------------------------------------------------- */

static void sim_init(struct sim *s, const struct plan *plan, bool trace)
{
	memset(s, 0, sizeof(*s));
	s->plan = *plan;
	s->trace = trace;
	s->rng.s = hash_mix(plan->seed, 0x5eed);
	s->hash = hash_mix(plan->seed, plan->servers);
	s->now = 1000 * MS;
	s->limit_us = s->idle_since = NEVER;
	s->nents = 1;
	s->ents_cap = 256;
	s->ents = calloc(s->ents_cap, sizeof(*s->ents));
}

static void begin(struct sim *s)
{
	const struct plan *p = &s->plan;

	clients_init(s);
	for (uint32_t i = 1; i <= p->servers; i++)
		clock_init(&s->servers[i]);
	for (uint32_t i = 0; i < p->slow_paths; i++)
		s->slow[rng_range(&s->rng, 1, p->servers)][rng_range(&s->rng, 1, p->servers)]
		       [rng_chance(&s->rng, 700)] = p->slow_us;
	room_draw(s);
	for (uint32_t i = 1; i <= p->servers; i++)
		store_make(&s->servers[i]);
	for (uint32_t i = 1; i <= p->servers; i++)
		server_start(&s->servers[i]);
	for (uint32_t i = 1; i <= p->servers; i++)
		for (uint32_t j = i + 1; j <= p->servers; j++)
			net_join(s, (nfs4r_server_id)i, (nfs4r_server_id)j);
	if (p->cut_every_us)
		sim_at(s, s->now + rng_time(&s->rng, p->cut_every_us), cut_now, NULL, 0, 0);
	if (p->crash_every_us)
		sim_at(s, s->now + rng_time(&s->rng, p->crash_every_us), crash_now, NULL, 0, 0);
	if (p->lease_ms)
		trouble_begin(s);
	if (p->segment_bytes)
		store_troubles(s);
	s->totals.with_views = p->lease_ms != 0;
	sim_at(s, s->now + p->work_us, heal, NULL, 0, 0);
}

static void stuck(struct sim *s)
{
	char why[600], clients[300];

	clients_blame(s, clients, sizeof(clients));
	if (!check_quiet(s, why, sizeof(why)) || clients[0])
		sim_fail(s, "not live: %llu s after the last fault, or update that was new to a server, %s%s%s",
			 (unsigned long long)(HEAL_LIMIT / SECOND), clients, clients[0] ? "; " : "", why);
}

int sim_run(struct sim *s, const struct plan *plan, bool trace)
{
	char why[600];

	sim_init(s, plan, trace);
	if (setjmp(s->failed))
		return !s->unknown;
	begin(s);
	while (!s->over && s->nevents) {
		struct event e = next_event(s);

		if (e.at > s->limit_us)
			stuck(s);
		s->now = e.at;
		if (clock_held(s, &e))
			continue;
		e.fn(s, e.arg, e.a, e.b);
		if (plan->segment_bytes)
			stores_settle(s);
		if (e.on)
			e.on->sampled_ms = 0;
		if (s->locker)
			locking_look(s);
		s->totals.steps++;
		if (!s->healed || s->totals.steps % 64)
			continue;
		check_idle(s, clients_idle(s));
		s->over = clients_idle(s) && check_quiet(s, why, sizeof(why));
	}
	stuck(s);
	check_equal(s);
	if (s->locker)
		locking_end(s);
	for (uint32_t i = 1; i <= plan->servers; i++)
		policy_count(&s->servers[i]);
	check_elections(s);
	return 0;
}

void sim_fini(struct sim *s)
{
	for (uint32_t i = 1; i <= SERVERS_MAX; i++)
		if (s->servers[i].sim)
			server_fini(&s->servers[i]);
	for (uint32_t i = 0; i < s->nevents; i++)
		if (s->events[i].drop)
			s->events[i].drop(s->events[i].arg);
	for (uint32_t i = 0; i < s->nobjs; i++)
		free(s->objs[i].vers), free(s->objs[i].dead);
	for (uint32_t i = 1; i < s->nents; i++) {
		if (s->ents[i].e)
			nfs4r_entry_put(s->ents[i].e);
		if (s->ents[i].content)
			row_fini(s->ents[i].content);
		free(s->ents[i].content);
	}
	tree_fini(&s->base);
	tree_fini(&s->oracle);
	free(s->events);
	free(s->objs);
	free(s->obj_index);
	free(s->ents);
	free(s->views);
	free(s->seals);
	free(s->refused);
	free(s->script);
	locker_destroy(s->locker);
}
