/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Kinds of runs in which logs are sealed: the durability, who gives up whom, and troubles that bring servers back ahead of a seal.
 * The draws come from a stream of their own, like those of views (modes.c).
 */
#include "sim.h"

/* After the plan's other draws. */
void draw_seals(struct plan *p)
{
	struct rng r = { hash_mix(p->seed, 0x5ea1) };

	if (!p->durability)
		p->durability = (uint32_t)rng_range(&r, NFS4R_DURABILITY_LOCAL, NFS4R_DURABILITY_MAJORITY);
	p->commits = 100 + (uint32_t)rng_below(&r, 500);
	p->stable_writes = rng_chance(&r, 500) ? (uint32_t)rng_below(&r, 500) : 0;
	p->repair_crash = rng_chance(&r, 300) ? 50 + (uint32_t)rng_below(&r, 200) : 0;
	if (p->calm_between)
		p->trouble_every_us *= p->calm_between;
	if (p->durability != NFS4R_DURABILITY_LOCAL)
		return;
	if (rng_chance(&r, 700))
		p->give_up_us = 300 * MS + rng_below(&r, 4 * SECOND);
	else
		p->abandon_ms = 300 + (uint32_t)rng_below(&r, 4000);
}

static void seals(struct plan *p, struct rng *r, uint32_t durability)
{
	p->calm_between = 1;
	p->seals = true;
	p->durability = durability;
	p->troubles = TROUBLE_EACH;
	p->shared = 500 + (uint32_t)rng_below(r, 500);
	p->work_us = 5 * SECOND + rng_below(r, 7 * SECOND);
	if (rng_chance(r, 500))
		p->bulk_lag_us = p->lag_us * (4 + rng_below(r, 40)); /* entries are under way for long: some copies are ahead of others */
	if (rng_chance(r, 600))
		p->think_us = 2 * MS + rng_below(r, 30 * MS);
	if (rng_chance(r, 300))
		p->deep_claims = 20 + (uint32_t)rng_below(r, 80);
}

void tune_seals_commit(struct plan *p, struct rng *r)
{
	seals(p, r, NFS4R_DURABILITY_COMMIT);
}

void tune_seals_majority(struct plan *p, struct rng *r)
{
	seals(p, r, NFS4R_DURABILITY_MAJORITY);
}

void tune_seals_local(struct plan *p, struct rng *r)
{
	seals(p, r, NFS4R_DURABILITY_LOCAL);
}

/* What is not on the disk yet is lost: promises, views, seals, half a repair. */
void tune_seals_power(struct plan *p, struct rng *r)
{
	seals(p, r, rng_chance(r, 500) ? NFS4R_DURABILITY_COMMIT : NFS4R_DURABILITY_MAJORITY);
	p->troubles = TROUBLE(TROUBLE_SENT) | TROUBLE(TROUBLE_DOWN) | TROUBLE(TROUBLE_ALONE) | TROUBLE(TROUBLE_ALL);
	p->cut_every_us = 0;
	p->machine_crash = 900;
	p->sync_us = 5 * MS + rng_below(r, 60 * MS);
}

/* Servers that go on, or are reached again, with entries that nobody else has. */
void tune_seals_stop(struct plan *p, struct rng *r)
{
	seals(p, r, 0);
	p->troubles = TROUBLE(TROUBLE_STOP) | TROUBLE(TROUBLE_ALONE) | TROUBLE(TROUBLE_DEAF) | TROUBLE(TROUBLE_MUTE);
	p->crash_every_us = 0;
	p->think_us = 2 * MS + rng_below(r, 30 * MS);
	p->bulk_lag_us = p->lag_us + rng_below(r, 300 * MS);
}

/* One is away for most of the time, the others come and go. */
void tune_seals_twice(struct plan *p, struct rng *r)
{
	seals(p, r, rng_chance(r, 700) ? NFS4R_DURABILITY_COMMIT : 0);
	p->troubles = TROUBLE(TROUBLE_DOWN) | TROUBLE(TROUBLE_ALONE) | TROUBLE(TROUBLE_STOP);
	p->servers = 5;
	p->clients = 1;
	p->work_us = 10 * SECOND + rng_below(r, 15 * SECOND);
	p->away_us = p->work_us * (3 + rng_below(r, 6)) / 10;
}

/* Much is updated between the troubles, and is under way for long: much lies beyond seals. */
void tune_seals_busy(struct plan *p, struct rng *r)
{
	seals(p, r, 0);
	p->clients = 2 + (uint32_t)rng_below(r, 3);
	p->think_us = 1 * MS + rng_below(r, 10 * MS);
	p->calm_between = 2 + (uint32_t)rng_below(r, 3);
	p->work_us = 8 * SECOND + rng_below(r, 8 * SECOND);
	p->lag_us = 1 * MS + rng_below(r, 10 * MS);
	p->bulk_lag_us = p->lag_us + rng_below(r, 400 * MS);
	p->sync_us = 200 + rng_below(r, 5 * MS);
	p->idle_ms = 200 + (uint32_t)rng_below(r, 3000);
	p->slow_us = 100 * MS + rng_below(r, 500 * MS);
	p->cut_every_us = 0;
	if (rng_chance(r, 500))
		p->crash_every_us = 0;
	p->window = 4096;
}

/* Owners of whole subtrees go on alone until their lease ends, and what they did is far from anywhere else. */
void tune_seals_ahead(struct plan *p, struct rng *r)
{
	tune_seals_busy(p, r);
	p->hierarchy = true;
	p->deep_claims = 20 + (uint32_t)rng_below(r, 100);
	p->idle_ms = 1000 + (uint32_t)rng_below(r, 4000);
	p->bulk_lag_us = 200 * MS + rng_below(r, 1500 * MS);
	p->loss = p->dup = 0;
	p->slow_paths = rng_chance(r, 500) ? 1 + (uint32_t)rng_below(r, 4) : 0;
	p->troubles = TROUBLE(TROUBLE_DOWN) | TROUBLE(TROUBLE_ALONE) | TROUBLE(TROUBLE_STOP) | TROUBLE(TROUBLE_DEAF);
	p->crash_every_us = 0;
	if (rng_chance(r, 300))
		p->machine_crash = 500;
}

/* A stop in order ends the log of the server as well, since it is removed for it; everybody has all of that log. */
void tune_seals_leave(struct plan *p, struct rng *r)
{
	seals(p, r, rng_chance(r, 500) ? NFS4R_DURABILITY_COMMIT : NFS4R_DURABILITY_MAJORITY);
	p->troubles = TROUBLE(TROUBLE_DOWN);
	if (rng_chance(r, 300))
		p->troubles |= TROUBLE(TROUBLE_ALONE) | TROUBLE(TROUBLE_CUT);
	p->crash_every_us = 0;
	p->leaves = 900;
}

void tune_seals_stuck(struct plan *p, struct rng *r)
{
	seals(p, r, rng_chance(r, 700) ? NFS4R_DURABILITY_COMMIT : 0);
	p->stuck = 300 + (uint32_t)rng_below(r, 600);
}

void tune_seals_liar(struct plan *p, struct rng *r)
{
	seals(p, r, rng_chance(r, 500) ? NFS4R_DURABILITY_COMMIT : 0);
	p->liar = p->secret = true;
}

/* Bytes are read back when they are sent, from files that are written again and again by owners who go away. */
void tune_seals_late(struct plan *p, struct rng *r)
{
	seals(p, r, rng_chance(r, 700) ? NFS4R_DURABILITY_COMMIT : 0);
	p->late = 300 + (uint32_t)rng_below(r, 700);
	p->clients = 0;
	p->think_us = 1 * MS + rng_below(r, 5 * MS);
	p->idle_ms = 1000 + (uint32_t)rng_below(r, 3000);
	p->lag_us = 1 * MS + rng_below(r, 10 * MS);
	p->bulk_lag_us = p->lag_us + rng_below(r, 150 * MS);
	p->window = 1 + (uint32_t)rng_below(r, 12); /* what waits for its turn is read late */
	p->slow_paths = 1 + (uint32_t)rng_below(r, 4); /* some copies are behind others, and get the rest from them */
	p->slow_us = 50 * MS + rng_below(r, 400 * MS);
	p->loss = p->dup = 0;
	p->exec_us = 1 * MS + rng_below(r, 5 * MS);
	p->exec_fails = 0; /* what was read in the middle of it would have been nothing */
	p->troubles = TROUBLE(TROUBLE_DOWN) | TROUBLE(TROUBLE_ALONE) | TROUBLE(TROUBLE_STOP) | TROUBLE(TROUBLE_CUT);
	p->cancels = 0;
	p->cut_every_us = p->crash_every_us = 0;
	if (rng_chance(r, 300))
		p->machine_crash = 500;
}

void tune_seals_forward(struct plan *p, struct rng *r)
{
	seals(p, r, rng_chance(r, 500) ? NFS4R_DURABILITY_COMMIT : NFS4R_DURABILITY_MAJORITY);
	p->clients = 0;
	p->think_us = 2 * MS + rng_below(r, 30 * MS);
	p->idle_ms = 300 + (uint32_t)rng_below(r, 2000);
	p->troubles = TROUBLE(TROUBLE_DOWN) | TROUBLE(TROUBLE_ALONE) | TROUBLE(TROUBLE_STOP) | TROUBLE(TROUBLE_MUTE) | TROUBLE(TROUBLE_CUT);
	p->cancels = 0;
}

/* Little is kept for those who are away, and some are for long: they come back too late, and copy everything. */
void tune_seals_away(struct plan *p, struct rng *r)
{
	seals(p, r, 0);
	p->keep = 2 + (uint32_t)rng_below(r, 40);
	p->troubles = TROUBLE(TROUBLE_DOWN) | TROUBLE(TROUBLE_ALONE) | TROUBLE(TROUBLE_STOP) | TROUBLE(TROUBLE_SENT);
	p->work_us = 8 * SECOND + rng_below(r, 12 * SECOND);
	p->away_us = p->work_us * (2 + rng_below(r, 7)) / 10;
	p->think_us = 2 * MS + rng_below(r, 20 * MS);
	if (rng_chance(r, 500))
		p->slow_paths = 1 + (uint32_t)rng_below(r, 4); /* members that are slow */
	p->slow_us = 100 * MS + rng_below(r, 1000 * MS);
	p->window = 16 + (uint32_t)rng_below(r, 4096); /* not one entry at a time over a slow path: that takes minutes */
	if (rng_chance(r, 300))
		p->machine_crash = 500;
	if (rng_chance(r, 300))
		p->losses = 100 + (uint32_t)rng_below(r, 200);
}

/* Disks are lost or put back, one at a time, among other troubles. */
static void amnesia(struct plan *p, struct rng *r)
{
	p->losses = 400 + (uint32_t)rng_below(r, 500);
	p->troubles = TROUBLE(TROUBLE_DOWN) | TROUBLE(TROUBLE_CUT) | TROUBLE(TROUBLE_ALONE) | TROUBLE(TROUBLE_MUTE) | TROUBLE(TROUBLE_SENT);
	if (rng_chance(r, 300))
		p->troubles |= TROUBLE_EACH;
	p->work_us = 10 * SECOND + rng_below(r, 15 * SECOND);
	if (rng_chance(r, 500))
		p->cut_every_us = 0;
	if (rng_chance(r, 500))
		p->crash_every_us = 0;
}

void tune_views_amnesia(struct plan *p, struct rng *r)
{
	seals(p, r, NFS4R_DURABILITY_LOCAL);
	amnesia(p, r);
}

void tune_seals_amnesia(struct plan *p, struct rng *r)
{
	seals(p, r, rng_chance(r, 500) ? NFS4R_DURABILITY_COMMIT : NFS4R_DURABILITY_MAJORITY);
	amnesia(p, r);
}

/* What is put back is as young as the others can tell. */
static void images(struct plan *p, struct rng *r)
{
	amnesia(p, r);
	p->newest_images = true;
}

void tune_views_image(struct plan *p, struct rng *r)
{
	seals(p, r, NFS4R_DURABILITY_LOCAL);
	images(p, r);
}

void tune_seals_image(struct plan *p, struct rng *r)
{
	seals(p, r, rng_chance(r, 500) ? NFS4R_DURABILITY_COMMIT : NFS4R_DURABILITY_MAJORITY);
	images(p, r);
}

/* Servers come and go for good, among all other troubles. */
static void members(struct plan *p, struct rng *r)
{
	p->members = true;
	p->members_us = 200 * MS + rng_below(r, 1500 * MS);
	p->work_us = 8 * SECOND + rng_below(r, 15 * SECOND);
	p->calm_between = 1 + (uint32_t)rng_below(r, 4);
	if (rng_chance(r, 500))
		p->cut_every_us = 0;
	if (rng_chance(r, 500))
		p->crash_every_us = 0;
	p->clients = 1;
	p->bulk_lag_us = p->lag_us * (1 + rng_below(r, 6)); /* who joins needs so many of them before it is given up as not ready */
}

void tune_members(struct plan *p, struct rng *r)
{
	seals(p, r, NFS4R_DURABILITY_LOCAL);
	members(p, r);
}

void tune_members_commit(struct plan *p, struct rng *r)
{
	seals(p, r, rng_chance(r, 500) ? NFS4R_DURABILITY_COMMIT : NFS4R_DURABILITY_MAJORITY);
	members(p, r);
}

void tune_members_power(struct plan *p, struct rng *r)
{
	seals(p, r, 0);
	members(p, r);
	p->troubles = TROUBLE(TROUBLE_SENT) | TROUBLE(TROUBLE_DOWN) | TROUBLE(TROUBLE_ALONE) | TROUBLE(TROUBLE_ALL) | TROUBLE(TROUBLE_MAJORITY);
	p->machine_crash = 900;
	p->sync_us = 5 * MS + rng_below(r, 60 * MS);
}

void tune_reconfigure(struct plan *p, struct rng *r)
{
	seals(p, r, 0);
	p->reconfigure = true;
	p->members_us = 300 * MS;
	p->work_us = 10 * SECOND + rng_below(r, 10 * SECOND);
	p->calm_between = 1 + (uint32_t)rng_below(r, 4);
	if (rng_chance(r, 500))
		p->cut_every_us = 0;
	if (rng_chance(r, 500))
		p->crash_every_us = 0;
	p->machine_crash = 0;
	p->bulk_lag_us = p->lag_us * (1 + rng_below(r, 6));
}

void tune_reconfigure_power(struct plan *p, struct rng *r)
{
	tune_reconfigure(p, r);
	p->troubles = TROUBLE(TROUBLE_SENT) | TROUBLE(TROUBLE_DOWN) | TROUBLE(TROUBLE_ALONE) | TROUBLE(TROUBLE_ALL) | TROUBLE(TROUBLE_MAJORITY);
	p->machine_crash = 900;
	p->sync_us = 5 * MS + rng_below(r, 60 * MS);
}
