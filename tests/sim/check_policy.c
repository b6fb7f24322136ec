/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The policy of hierarchical control: claims that no operation waits for are won only when all
 * have acked, and are given up in time; timers run, and do not run wild; what nobody uses any more
 * comes to its end; a burst of one writer alone costs few elections.
 */
#include "sim.h"

#define ULL(x) ((unsigned long long)(x))
#define OP_WAIT_MS 1000 /* of the core's configuration, which the simulator leaves alone */
#define LATE_MS 100 /* timers are late by a few ms */
/*
 * Steps of one server, in a second, for nothing but time and with nothing to do. A timer that runs wild makes 500; a claim whose
 * replacement has all acks and waits for the entries of others (control 4.5) looks again 50 times, and some may do so at once.
 */
#define TICKS_MAX 300

/* ---- what happened ------------------------------------------------------------------- */

void policy_count(struct server *v)
{
	struct totals *t = &v->sim->totals;
	struct nfs4r_core_stats st;

	nfs4r_core_get_stats(v->core, &st);
	t->elections += st.elections;
	t->elections_waited += st.elections_waited;
	t->deep_asked += st.deep_asked;
	t->deep_refused += st.deep_refused;
	t->escalations += st.escalations;
	t->escalations_lost += st.escalations_lost;
	t->raises += st.raises;
	t->raises_lost += st.raises_lost;
	t->drops += st.drops;
	t->deescalations += st.deescalations;
	t->yielded += st.yielded;
	t->yield_regrets += st.yield_regrets;
	t->turns += st.turns;
	t->passed += st.entries_passed;
}

void policy_print(const struct totals *t)
{
	printf("policy: %llu elections, deep %llu asked %llu refused, promotions %llu lost %llu, raises %llu lost %llu, drops %llu, "
	       "narrowed %llu, yielded %llu regretted %llu, turns %llu\n",
	       ULL(t->elections), ULL(t->deep_asked), ULL(t->deep_refused), ULL(t->escalations), ULL(t->escalations_lost),
	       ULL(t->raises), ULL(t->raises_lost), ULL(t->drops), ULL(t->deescalations), ULL(t->yielded), ULL(t->yield_regrets), ULL(t->turns));
}

const char *policy_never(const struct totals *t)
{
	return !t->deep_asked	     ? "deep control was never asked for" :
		!t->deep_refused     ? "optional deep control was never refused" :
		!t->escalations	     ? "nothing was ever promoted" :
		!t->escalations_lost ? "no promotion was ever lost" :
		!t->raises	     ? "deep+ was never asked for" :
		!t->raises_lost	     ? "deep+ was never refused" :
		!t->drops	     ? "no deep+ was ever dropped" :
		!t->deescalations    ? "nothing was ever narrowed" :
		!t->yielded	     ? "nothing ever yielded to readers" :
		!t->yield_regrets    ? "no yielding was ever regretted" :
		!t->turns	     ? "nobody's turn was ever over" :
				       NULL;
}

/* ---- after every tick ------------------------------------------------------------------- */

struct asked {
	struct server *server;
	uint32_t n;
	struct policy_asked list[POLICY_ASKED_MAX];
};

static bool one_asked(void *arg, const struct nfs4r_control_info *i)
{
	struct asked *a = arg;
	struct server *v = a->server;
	struct sim *s = v->sim;
	nfs4r_servers all = view_members(v);
	uint64_t now = clock_ms(v), since = now;

	if (!i->policy || i->acting || (all & ~i->acks) == 0 || a->n == POLICY_ASKED_MAX)
		return true;
	for (uint32_t k = 0; k < v->nasked; k++)
		if (v->asked[k].seq == i->pid.seq)
			since = v->asked[k].since;
	if (now > since + OP_WAIT_MS + LATE_MS)
		sim_fail(s, "S%u asks for control of %s (depth %u, claim %llu) for %llu ms, and no operation waits for it", v->id,
			 oid_name(s, &i->control.oid), i->control.depth, ULL(i->pid.seq), ULL(now - since));
	a->list[a->n++] = (struct policy_asked){ i->pid.seq, since };
	return true;
}

void check_tick(struct server *v)
{
	struct sim *s = v->sim;
	struct asked a = { .server = v };

	if (s->now >= v->ticks_since + SECOND) {
		v->ticks_since = s->now;
		v->ticks = 0;
	}
	v->ticks += v->actions == 0;
	if (v->ticks > TICKS_MAX)
		sim_fail(s, "S%u: timers end for nothing more than %u times a second", v->id, TICKS_MAX);
	nfs4r_core_each_control(v->core, one_asked, &a);
	memcpy(v->asked, a.list, a.n * sizeof(a.list[0]));
	v->nasked = a.n;
}

/* ---- at the end ---------------------------------------------------------------------------- */

static bool idle_end(void *arg, const struct nfs4r_control_info *i)
{
	struct server *v = arg;
	struct sim *s = v->sim;
	const struct plan *p = &s->plan;
	uint64_t since = v->executed_us > s->idle_since ? v->executed_us : s->idle_since;
	/* its own timer; that of a deep+ and of the plain deep control after it; elections of both; a revoke */
	uint64_t limit = p->idle_ms + 2 * (uint64_t)p->deep_ms + 2 * OP_WAIT_MS + p->revoke_ms + 5 * LATE_MS;

	limit += limit * p->drift_permille / 1000;
	if (i->owner == v->id && i->acting && !i->closing && s->now > since + limit * MS)
		sim_fail(s, "S%u keeps control of %s (depth %u, claim %llu), idle for %llu ms", v->id, oid_name(s, &i->control.oid),
			 i->control.depth, ULL(i->pid.seq), ULL((s->now - since) / 1000));
	return true;
}

/* Nothing is on its way that a claim could have to wait for before it is won (control 4.5); nobody has to come back first. */
static bool all_applied(const struct sim *s)
{
	for (uint32_t i = 1; i <= s->plan.servers; i++)
		for (uint32_t log = 1; log <= s->plan.servers; log++)
			if (s->servers[i].applied[log] != s->servers[log].own_next - 1)
				return false;
	return true;
}

void check_idle(struct sim *s, bool idle)
{
	char why[200];

	if (!idle || !all_applied(s) || (s->locker && !locking_quiet(s, why, sizeof(why))) || (s->plan.lease_ms && !views_quiet(s, why, sizeof(why)))) {
		s->idle_since = NEVER;
		return;
	}
	if (s->idle_since == NEVER)
		s->idle_since = s->now;
	for (uint32_t i = 1; i <= s->plan.servers; i++)
		if (s->servers[i].up)
			nfs4r_core_each_control(s->servers[i].core, idle_end, &s->servers[i]);
}

void check_elections(struct sim *s)
{
	if (s->plan.elections_max && s->totals.elections_waited > s->plan.elections_max)
		sim_fail(s, "a burst of one writer alone waited for %llu elections", ULL(s->totals.elections_waited));
}
