/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What time it is for a server, and servers that stop for a while. While the view is fixed all clocks show the world's time.
 * With views each begins anywhere and runs faster or slower, within the bound that the core is told; a machine that starts
 * again begins with a clock near zero.
 *
 * A stop is what SIGSTOP, a paused virtual machine or a disk that hangs do: nothing happens in the process, its clock goes on,
 * and what arrives lies in its sockets until it goes on itself. It begins at one of its events, after the process has looked
 * at its clock and before it does anything about it. The others notice after about a second that it does not answer.
 */
#include "sim.h"

#define RATE 1000000ull /* us of a clock in a second that is as long as the world's */
#define NOTICED_AFTER (1 * SECOND)

/* ---- clocks ---------------------------------------------------------------------- */

void clock_init(struct server *v)
{
	struct sim *s = v->sim;
	uint64_t most = s->plan.drift_permille * (RATE / 1000) / 2; /* from the world's: half of what two may differ */

	v->clock_rate = RATE;
	if (!s->plan.lease_ms)
		return;
	v->clock_off = rng_below(&s->rng, 1000 * SECOND);
	v->clock_rate = RATE - most + rng_below(&s->rng, 2 * most + 1);
}

void clock_reboot(struct server *v)
{
	if (!v->sim->plan.lease_ms)
		return;
	v->booted = v->sim->now;
	v->clock_off = rng_below(&v->sim->rng, 20 * SECOND);
}

uint64_t clock_true_ms(const struct server *v)
{
	return (v->clock_off + (v->sim->now - v->booted) * v->clock_rate / RATE) / 1000;
}

uint64_t clock_ms(const struct server *v)
{
	return v->sampled_ms ? v->sampled_ms : clock_true_ms(v);
}

uint64_t clock_world(const struct server *v, uint64_t ms)
{
	uint64_t us = ms * 1000;

	if (us <= v->clock_off)
		return v->booted;
	return v->booted + ((us - v->clock_off) * RATE + v->clock_rate - 1) / v->clock_rate;
}

/* ---- stops ----------------------------------------------------------------------- */

static void go(struct sim *s, void *arg, uint64_t stop, uint64_t b)
{
	struct server *v = arg;

	if (v->stopped && v->stops == stop)
		clock_go(v);
}

static void noticed(struct sim *s, void *arg, uint64_t stop, uint64_t b)
{
	struct server *v = arg;

	if (!v->stopped || v->stops != stop)
		return;
	for (nfs4r_server_id q = 1; q <= s->plan.servers; q++)
		if (q != v->id)
			net_down(s, v->id, q);
}

static void stop_at(struct server *v, const struct event *e)
{
	struct sim *s = v->sim;

	TRACE(s, v, "stops for %llu ms", (unsigned long long)(v->stop_for / 1000));
	s->totals.stops++;
	v->sampled_ms = e->asked ? 0 : clock_true_ms(v);
	v->stopped = true;
	v->stops++;
	sim_at(s, s->now + v->stop_for, go, v, v->stops, 0);
	sim_at(s, s->now + rng_time(&s->rng, NOTICED_AFTER), noticed, v, v->stops, 0);
	v->stop_for = 0;
}

bool clock_held(struct sim *s, const struct event *e)
{
	struct server *v = e->on;

	if (!v || !v->up)
		return false;
	if (v->stop_for && !v->stopped)
		stop_at(v, e);
	if (!v->stopped)
		return false;
	if (v->nheld == v->held_cap) {
		v->held_cap = v->held_cap ? v->held_cap * 2 : 64;
		v->held = realloc(v->held, v->held_cap * sizeof(*v->held));
	}
	v->held[v->nheld++] = *e;
	return true;
}

void clock_stop(struct server *v, uint64_t us)
{
	if (v->up && !v->stopped)
		v->stop_for = us;
}

void clock_go(struct server *v)
{
	struct sim *s = v->sim;

	v->stop_for = 0;
	if (!v->stopped)
		return;
	TRACE(s, v, "goes on");
	v->stopped = false;
	for (uint32_t i = 0; i < v->nheld; i++)
		sim_again(s, &v->held[i]);
	v->nheld = 0;
	for (nfs4r_server_id q = 1; q <= s->plan.servers; q++)
		if (q != v->id)
			net_try(s, v->id, q);
}
