/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What happens to the servers in runs with views, beyond the cuts and crashes of sim.c: things that last longer than silence
 * and lease, so that servers are removed and come back, and restarts at moments that a rule is about. The plan says which of
 * them; one strikes every now and then, and they may overlap. Everything ends with the healing.
 *
 * With `join_restarts` the only one is a server that comes back, restarts while it joins, and is deaf to one of the others.
 *
 * With `one_trouble` nothing else goes wrong and one is over before the next begins. Then the others have to have removed
 * the server in time (check_late()).
 */
#include "sim.h"

static struct server *any(struct sim *s)
{
	return &s->servers[rng_range(&s->rng, 1, s->plan.servers)];
}

static struct server *another(struct sim *s, const struct server *v)
{
	uint32_t n = s->plan.servers;

	return &s->servers[1 + (v->id - 1 + rng_range(&s->rng, 1, n - 1)) % n];
}

/* From shorter than what it takes to be removed to much longer. */
static uint64_t how_long(struct sim *s)
{
	return s->plan.trouble_for_us / 4 + rng_below(&s->rng, s->plan.trouble_for_us * 2);
}

/* ---- one server ------------------------------------------------------------------------ */

/*
 * A stop in order. When it has let go of everything no member that has all rows, its list among them, has a control of it in the table, and so nobody waits for its return.
 * Who was outside then may have one, from before, and bring it along when it is a member again (log 6.9).
 */

struct look {
	nfs4r_server_id whose;
	bool found;
};

static bool look_for(void *arg, const struct nfs4r_control_info *i)
{
	struct look *l = arg;

	l->found |= i->owner == l->whose;
	return !l->found;
}

static void check_left(struct server *v)
{
	struct sim *s = v->sim;

	for (uint32_t q = 1; q <= s->plan.servers; q++) {
		struct look l = { .whose = v->id };

		const struct nfs4r_core *other = s->servers[q].core;
		struct nfs4r_core_view view;

		if (!s->servers[q].up || !nfs4r_core_lease_until(other) || !(nfs4r_core_adopted(v->core)->members & NFS4R_BIT(q)))
			continue;
		nfs4r_core_get_view(other, &view);
		if (view.peer[v->id].unsure) /* the list that it was sent is lost, or waits for entries */
			continue;
		nfs4r_core_each_control(other, look_for, &l);
		if (l.found)
			sim_fail(s, "S%u has left, and S%u knows a control of it (7.12)", v->id, q);
	}
	s->totals.left++;
}

static bool has_shut_down(const struct server *v)
{
	enum nfs4r_leave how = nfs4r_core_leave(v->core);

	return how == NFS4R_LEAVE_DONE || how == NFS4R_LEAVE_LEASE_RETURNED;
}

void trouble_step(struct server *v)
{
	if (!v->leaving || !v->up || !has_shut_down(v))
		return;
	v->leaving = false;
	check_left(v);
}

static void look_left(struct sim *s, void *arg, uint64_t generation, uint64_t until)
{
	struct server *v = arg;
	enum nfs4r_leave how;

	if (!v->up || v->generation != generation)
		return;
	how = v->stopped ? NFS4R_LEAVE_WAIT : nfs4r_core_leave(v->core);
	if ((how == NFS4R_LEAVE_WAIT || how == NFS4R_LEAVE_LEASE_RETURNED) && (v->stopped || s->now < until)) {
		sim_at(s, s->now + 5 * MS, look_left, v, generation, until);
		return;
	}
	TRACE(s, v, "stops, %s", has_shut_down(v) ? "and has left" : how == NFS4R_LEAVE_WAIT ? "and waited too long" :
											       "and could not leave");
	server_stop(v, false);
}

static void leave(struct sim *s, struct server *v)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_LEAVE };

	TRACE(s, v, "leaves");
	s->totals.leaves++;
	v->leaving = true;
	server_step(v, &ev);
	look_left(s, v, v->generation, s->now + 3 * s->plan.trouble_for_us);
}

static void down(struct sim *s, struct server *v, uint64_t us)
{
	if (!v->up)
		return;
	v->down_us = us;
	if (s->plan.leaves && !v->stopped && rng_chance(&s->rng, s->plan.leaves)) {
		leave(s, v);
		return;
	}
	server_stop(v, rng_chance(&s->rng, s->plan.machine_crash));
}

static void alone(struct sim *s, struct server *v, uint64_t us)
{
	for (nfs4r_server_id q = 1; q <= s->plan.servers; q++)
		if (q != v->id)
			net_cut_for(s, v->id, q, us);
}

static void mute(struct sim *s, const struct server *from, const struct server *to, uint64_t us)
{
	TRACE(s, NULL, "nothing from S%u to S%u for %llu ms", from->id, to->id, (unsigned long long)(us / 1000));
	s->mute[from->id][to->id] = s->now + us;
}

/* Nothing arrives at it, or nothing from it. */
static void deaf(struct sim *s, struct server *v, uint64_t us)
{
	bool in = rng_chance(&s->rng, 500);

	for (nfs4r_server_id q = 1; q <= s->plan.servers; q++)
		if (q != v->id)
			mute(s, in ? &s->servers[q] : v, in ? v : &s->servers[q], us);
}

/* Restarts at once after it sent a certain message, mostly while somebody is being removed. */
static void sent(struct sim *s, struct server *v, uint64_t us)
{
	static const uint8_t types[] = { NFS4R_MSG_GRANT, NFS4R_MSG_GRANT, NFS4R_MSG_GRANT, NFS4R_MSG_PREPARE,
					 NFS4R_MSG_PROMISE, NFS4R_MSG_PROMISE, NFS4R_MSG_ACCEPT, NFS4R_MSG_ACCEPTED,
					 NFS4R_MSG_ACCEPTED, NFS4R_MSG_VIEW, NFS4R_MSG_JOIN, NFS4R_MSG_JOIN,
					 NFS4R_MSG_JOINROWS, NFS4R_MSG_JOINROWS, NFS4R_MSG_JOINED, NFS4R_MSG_HEARTBEAT,
					 ADOPTED_VIEW, ADOPTED_VIEW };

	v->crash_on = types[rng_below(&s->rng, sizeof(types))];
	v->down_us = 1 + rng_below(&s->rng, 100 * MS);
	TRACE(s, v, "will restart after %s", v->crash_on == ADOPTED_VIEW ? "adopting a view" : nfs4r_msg_name(v->crash_on));
	if (rng_chance(&s->rng, 600))
		alone(s, another(s, v), us);
}

void trouble_sent(struct server *v, uint32_t type)
{
	struct sim *s = v->sim;

	if (v->crash_on != type || s->healed)
		return;
	v->crash_on = 0;
	server_arm_crash(v, 1 + (uint32_t)rng_below(&s->rng, 3), rng_chance(&s->rng, s->plan.machine_crash));
}

static void check_caught_up(struct server *v);

/* ---- a restart while joining ------------------------------------------------------------- */

/* Outside for long enough. The rest when it comes back. */
static void join_restart(struct sim *s, struct server *v)
{
	v->join_restart = true;
	alone(s, v, s->plan.trouble_for_us + rng_below(&s->rng, s->plan.trouble_for_us / 2));
}

/*
 * Near the end of all logs, it hears nothing of one of the others from now on: neither entries that this one completes without
 * it, nor what it controls. Whoever serves then without the lists shows a client what was before.
 */
void trouble_caught_up(struct server *v)
{
	struct sim *s = v->sim;

	check_caught_up(v);
	if (!v->join_restart || s->healed)
		return;
	v->join_restart = false;
	mute(s, another(s, v), v, (uint64_t)s->plan.silence_ms * MS * 3 / 2);
	v->crash_on = ADOPTED_VIEW;
	v->down_us = 1 + rng_below(&s->rng, 20 * MS);
}

/* ---- several ----------------------------------------------------------------------------- */

static void split(struct sim *s, uint64_t us)
{
	uint64_t group = rng_next(&s->rng);

	for (nfs4r_server_id a = 1; a <= s->plan.servers; a++)
		for (nfs4r_server_id b = a + 1; b <= s->plan.servers; b++)
			if ((group >> a ^ group >> b) & 1)
				net_cut_for(s, a, b, us);
}

static void all(struct sim *s)
{
	for (uint32_t i = 1; i <= s->plan.servers; i++)
		down(s, &s->servers[i], 1 + rng_below(&s->rng, 300 * MS));
}

static void power_fails(struct sim *s, void *arg, uint64_t a, uint64_t b)
{
	struct server *v = arg;

	if (s->plan.hole_saved && v->up && !v->checkpointing)
		(void)disk_checkpoint_now(v);
	for (uint32_t i = 1; i <= s->plan.servers && !s->healed; i++)
		if (s->servers[i].up)
			server_stop(&s->servers[i], !s->plan.hole_process || &s->servers[i] != v);
}

/* What @v has just committed lies behind a hole in its log. That is on its disk at once; then everywhere the power fails, or everywhere else, and here the process ends. */
void trouble_hole(struct server *v)
{
	struct sim *s = v->sim;

	if (s->healed || !s->plan.hole_crash || !rng_chance(&s->rng, s->plan.hole_crash))
		return;
	disk_sync_now(v);
	sim_at(s, s->now, power_fails, v, 0, 0);
}

static void majority(struct sim *s, uint64_t us)
{
	uint32_t n = s->plan.servers, first = (uint32_t)rng_below(&s->rng, n);

	for (uint32_t i = 0; i < n / 2 + 1; i++)
		down(s, &s->servers[1 + (first + i) % n], us);
}

/*
 * @v comes back without its memory. Often only those can be heard then that know the least: one is cut off, and whoever was is
 * reached again.
 */
static bool lose(struct sim *s, struct server *v, uint64_t us)
{
	const struct server *cut = another(s, v);

	if (!lose_disk(v, us / 2))
		return false;
	if (rng_chance(&s->rng, 400))
		return true;
	for (nfs4r_server_id a = 1; a <= s->plan.servers; a++)
		for (nfs4r_server_id b = a + 1; b <= s->plan.servers; b++)
			if (a != cut->id && b != cut->id)
				net_join(s, a, b);
			else
				net_cut_for(s, a, b, us * 2);
	return true;
}

/* ---- entries that cannot be applied (log 4.11) ------------------------------------------- */

bool trouble_stuck(const struct server *v, const struct nfs4r_entry *e, uint32_t mask)
{
	struct sim *s = v->sim;

	for (uint32_t i = 0; i < e->nparts && s->now < v->stuck_until && !s->healed; i++)
		if (mask & 1u << i && obj_of(s, &e->parts[i].oid) % v->stuck_of == v->stuck_rest &&
		    (!v->stuck_content || (e->parts[i].effect != NFS4R_EFF_LINKS && e->parts[i].effect != NFS4R_EFF_NAMES)))
			return true;
	return false;
}

/* Its owner still has it, so that it is not lost. */
static bool still_fails(const struct server *v, uint32_t log)
{
	nfs4r_lsn lsn = v->failed[log];

	return lsn && v->applied[log] < lsn && !kept_find(&v->kept[log], lsn) && kept_find(&v->sim->servers[log].kept[log], lsn);
}

static uint64_t in_time(const struct sim *s)
{
	return s->plan.lease_ms * MS / 2 + s->plan.trouble_for_us;
}

/* Log 6.12: it withdraws after half a lease, and then it is removed as if it were away. */
static void look_stuck(struct sim *s, void *arg, uint64_t generation, uint64_t log)
{
	struct server *v = arg;

	if (s->healed || !v->up || v->generation != generation || s->now >= v->ballast_until || !still_fails(v, (uint32_t)log))
		return;
	v->away_since = v->failed_since[log];
	if (s->now >= v->away_since + in_time(s)) /* else another entry fails by now */
		check_late(s, v);
}

void trouble_unapplied(struct server *v, const struct nfs4r_entry *e)
{
	struct sim *s = v->sim;

	if (v->failed[e->log] == e->lsn)
		return;
	v->failed[e->log] = e->lsn;
	v->failed_since[e->log] = s->now;
	v->failed_stops = v->stops;
	if (s->plan.one_trouble)
		sim_at(s, s->now + in_time(s), look_stuck, v, v->generation, e->log);
}

/* Who cannot apply an entry would be removed again (log 6.12). What it says now it may have said before the entry failed: then it waited for a sync, or for the end of a stop. */
static void check_caught_up(struct server *v)
{
	uint64_t late = v->sim->plan.lease_ms * MS + 20 * v->sim->plan.sync_us;

	for (uint32_t log = 1; log <= v->sim->plan.servers; log++)
		if (still_fails(v, log) && !v->repair.on && v->sim->now > v->failed_since[log] + late && v->stops == v->failed_stops)
			sim_fail(v->sim, "S%u says that it has caught up, and cannot apply %u:%s", v->id, log, lsn_str(v->failed[log]));
}

/* Perhaps at another server, too, perhaps at all. */
static void stick(struct sim *s, struct server *v, uint64_t us)
{
	v->stuck_of = (uint32_t)rng_range(&s->rng, 1, 6);
	v->stuck_rest = (uint32_t)rng_below(&s->rng, v->stuck_of);
	v->stuck_hangs = v->stuck_of == 2;
	v->stuck_until = s->now + us;
	v->stuck_content = rng_chance(&s->rng, 600);
	s->totals.stuck++;
	TRACE(s, v, "%s entries of every object of %u for %llu ms", v->stuck_hangs ? "hangs in" : "cannot apply", v->stuck_of, (unsigned long long)(us / 1000));
	if (rng_chance(&s->rng, 300))
		stick(s, another(s, v), us);
}

/* At one server, at two, or at all at once. */
static void fill(struct sim *s, struct server *v, uint64_t us)
{
	uint64_t kind = rng_below(&s->rng, 3);

	room_fill(v, us);
	if (kind == 1)
		room_fill(another(s, v), how_long(s));
	for (uint32_t i = 1; i <= s->plan.servers && kind == 2; i++)
		if (i != v->id)
			room_fill(&s->servers[i], how_long(s));
}

/* ---- when ---------------------------------------------------------------------------------- */

static enum trouble pick(struct sim *s)
{
	uint32_t kind;

	do
		kind = (uint32_t)rng_range(&s->rng, 1, TROUBLES - 1);
	while (!(s->plan.troubles & TROUBLE(kind)));
	return (enum trouble)kind;
}

static void happen(struct sim *s, enum trouble kind, struct server *v, uint64_t us)
{
	switch (kind) {
	case TROUBLE_DOWN:
		down(s, v, us);
		break;
	case TROUBLE_CUT:
		net_cut_for(s, v->id, another(s, v)->id, us);
		break;
	case TROUBLE_ALONE:
		alone(s, v, us);
		break;
	case TROUBLE_SPLIT:
		split(s, us);
		break;
	case TROUBLE_MUTE:
		mute(s, v, another(s, v), us);
		break;
	case TROUBLE_DEAF:
		deaf(s, v, us);
		break;
	case TROUBLE_STOP:
		clock_stop(v, us);
		break;
	case TROUBLE_SENT:
		sent(s, v, us);
		break;
	case TROUBLE_ALL:
		all(s);
		break;
	case TROUBLE_MAJORITY:
		majority(s, us);
		break;
	default:
		break;
	}
}

static void strike(struct sim *s, void *arg, uint64_t a, uint64_t b)
{
	if (s->healed)
		return;
	s->totals.troubles++;
	if (s->plan.fills && rng_chance(&s->rng, s->plan.fills))
		fill(s, any(s), how_long(s));
	else if (s->plan.stuck && rng_chance(&s->rng, s->plan.stuck))
		stick(s, any(s), how_long(s));
	else if (s->plan.join_restarts)
		join_restart(s, any(s));
	else if (!s->plan.losses || !rng_chance(&s->rng, s->plan.losses) || !lose(s, any(s), how_long(s)))
		happen(s, pick(s), any(s), how_long(s));
	sim_at(s, s->now + rng_time(&s->rng, s->plan.trouble_every_us), strike, NULL, 0, 0);
}

/* ---- one at a time --------------------------------------------------------------------------- */

static void look(struct sim *s, void *arg, uint64_t a, uint64_t b)
{
	if (!s->healed)
		check_late(s, arg);
}

static void strike_one(struct sim *s, void *arg, uint64_t a, uint64_t b)
{
	const struct plan *p = &s->plan;
	struct server *v = any(s);
	char why[200];

	if (s->healed)
		return;
	if (!views_quiet(s, why, sizeof(why))) { /* the last one is not back yet */
		sim_at(s, s->now + 200 * MS, strike_one, NULL, 0, 0);
		return;
	}
	s->totals.troubles++;
	v->away_since = s->now;
	if (p->fills)
		room_fill(v, 3 * p->trouble_for_us);
	else
		happen(s, pick(s), v, p->trouble_for_us);
	if (!p->fills) /* else when an entry finds no room */
		sim_at(s, s->now + p->trouble_for_us * 9 / 10, look, v, 0, 0);
	sim_at(s, s->now + p->trouble_for_us + p->trouble_every_us, strike_one, NULL, 0, 0);
}

/* ---- the administrator ----------------------------------------------------------------------- */

static void ask_give_up(struct sim *s, nfs4r_server_id gone)
{
	struct server *v = any(s);
	struct nfs4r_event ev = { .type = NFS4R_EV_ABANDON, .peer = gone };
	uint64_t lost;
	char why[200];

	if (!v->up || v->stopped || v->id == gone || nfs4r_core_may_abandon(v->core, gone, &lost, why, sizeof(why)) != NFS4R_OK)
		return;
	TRACE(s, v, "is told to give up S%u, %llu entries", gone, (unsigned long long)lost);
	s->totals.give_ups++;
	server_step(v, &ev);
}

/* When all is healed, only who has lost its disk needs it. */
static void administer(struct sim *s, void *arg, uint64_t a, uint64_t b)
{
	if (s->healed && !s->plan.losses)
		return;
	for (uint32_t q = 1; q <= s->plan.servers; q++)
		if (s->servers[q].outside_since && (!s->healed || s->servers[q].disk_lost) && s->now > s->servers[q].outside_since + s->plan.give_up_us)
			ask_give_up(s, (nfs4r_server_id)q);
	sim_at(s, s->now + rng_time(&s->rng, 300 * MS), administer, NULL, 0, 0);
}

/* Cut off until long after it was removed. */
static void away(struct sim *s, void *arg, uint64_t a, uint64_t b)
{
	if (!s->healed)
		alone(s, any(s), s->plan.away_us);
}

void trouble_begin(struct sim *s)
{
	const struct plan *p = &s->plan;

	if (p->members)
		members_begin(s);
	if (p->reconfigure)
		reconfigure_begin(s);
	if (p->liar)
		liar_begin(s);
	if (p->releases)
		releases_begin(s);
	if (p->settings || p->durabilities)
		settings_begin(s);
	if (p->give_up_us)
		sim_at(s, s->now + p->give_up_us, administer, NULL, 0, 0);
	if (p->away_us)
		sim_at(s, s->now + rng_below(&s->rng, 2 * SECOND), away, NULL, 0, 0);

	if (p->troubles)
		sim_at(s, s->now + rng_time(&s->rng, p->trouble_every_us), p->one_trouble ? strike_one : strike, NULL, 0, 0);
}
