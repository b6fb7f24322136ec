/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Kinds of runs in which clients lock ranges (locking.c). They have views, since a volume's protocol is said by its view; other clients are scripts that move
 * control of the locked files about, and write nothing to them.
 *
 * In the first three no server ends, and no link is cut for so long that one would be removed.
 */
#include "sim.h"

/* Nobody is removed: the silence is much longer than anything that is cut here. */
void draw_locks(struct plan *p)
{
	struct rng r = { hash_mix(p->seed, 0x10c4) };

	if (!p->troubles) {
		p->lease_ms = 1000 + (uint32_t)rng_below(&r, 2000);
		p->silence_ms = 10000;
		p->drift_permille = 10;
		p->trouble_for_us = p->trouble_every_us = 20 * SECOND;
	}
	p->lock_reserve_ms = 100 + (uint32_t)rng_below(&r, 1500);
	p->lock_grace_ms = 1500 + (uint32_t)rng_below(&r, 2000); /* clients come back within a second */
	if (!p->lock_files)
		p->lock_files = LOCKER_FILES;
	if (p->troubles && rng_chance(&r, 500)) /* over while a server is outside, or before its clients are back */
		p->lock_grace_ms = 100 + (uint32_t)rng_below(&r, 900);
	if (p->troubles && rng_chance(&r, 300))
		p->trouble_for_us += 2 * p->lock_grace_ms * MS;
}

static void some_faults(struct plan *p, struct rng *r)
{
	static const uint32_t odds[] = { 0, 0, 20, 50 };

	p->loss = odds[rng_below(r, 4)];
	p->dup = 3 * odds[rng_below(r, 4)];
	p->cut_every_us = rng_chance(r, 300) ? SECOND + rng_below(r, 3 * SECOND) : 0;
	p->cut_for_us = 20 * MS + rng_below(r, 100 * MS);
	p->slow_paths = rng_chance(r, 400) ? 1 + (uint32_t)rng_below(r, 3) : 0;
	p->slow_us = 20 * MS + rng_below(r, 200 * MS);
	p->exec_fails = rng_chance(r, 300) ? 20 : 0;
	p->cancels = rng_chance(r, 300) ? 40 : 0;
}

void tune_locks(struct plan *p, struct rng *r)
{
	p->clients = 0;
	p->secret = true; /* there is a first view soon, which says the protocol */
	p->lockers = 1 + (uint32_t)rng_below(r, 3);
	p->think_us = 5 * MS + rng_below(r, 80 * MS);
	p->lock_think_us = 1 * MS + rng_below(r, 20 * MS);
	p->lock_waits = 300 + (uint32_t)rng_below(r, 600);
	p->lock_deaths = rng_chance(r, 500) ? 15 : 0;
	p->lock_more = 10;
	p->lag_us = rng_chance(r, 500) ? 1 * MS + rng_below(r, 20 * MS) : 200 + rng_below(r, 2 * MS);
	p->bulk_lag_us = p->lag_us * (1 + rng_below(r, 3));
	p->work_us = 3 * SECOND + rng_below(r, 5 * SECOND);
	p->crash_every_us = 0;
	p->machine_crash = 0;
	p->sync_us = rng_chance(r, 500) ? 200 : 5 * MS;
	some_faults(p, r);
}

void tune_locks_hot(struct plan *p, struct rng *r)
{
	tune_locks(p, r);
	p->lockers = 3 + (uint32_t)rng_below(r, 4);
	p->lock_waits = 700 + (uint32_t)rng_below(r, 300);
	p->lock_think_us = 1 * MS + rng_below(r, 3 * MS);
	if (rng_chance(r, 400))
		p->dup = 300; /* late copies of what was asked */
}

static void listed_clients(struct plan *p, struct rng *r)
{
	p->lock_clients = true;
	p->lock_deaths = rng_chance(r, 500) ? 5 : 0;
	p->lock_away = rng_chance(r, 500) ? 5 : 0;
	p->lock_late = rng_chance(r, 500) ? 150 : 0;
}

/* Servers restart, also several at once, and are back before anybody would remove them. */
void tune_locks_restart(struct plan *p, struct rng *r)
{
	tune_locks(p, r);
	p->crash_every_us = 300 * MS + rng_below(r, 1500 * MS);
	p->down_for_us = 20 * MS + rng_below(r, 300 * MS);
	p->lock_stable = true;
	listed_clients(p, r);
}

static void locks_and_views(struct plan *p, struct rng *r)
{
	tune_locks(p, r);
	p->cut_every_us = 0;
	p->work_us = 6 * SECOND + rng_below(r, 8 * SECOND);
	p->lock_stable = true;
	p->durability = (uint32_t)rng_range(r, NFS4R_DURABILITY_COMMIT, NFS4R_DURABILITY_MAJORITY); /* with `local` what is written may go with its primary */
	p->seals = true;
	listed_clients(p, r);
}

/* The same with machines, whose journals lose what was not on the disk, and for longer: members are removed. */
void tune_locks_power(struct plan *p, struct rng *r)
{
	locks_and_views(p, r);
	p->troubles = TROUBLE(TROUBLE_DOWN) | TROUBLE(TROUBLE_SENT);
	if (rng_chance(r, 400))
		p->troubles |= TROUBLE(TROUBLE_ALL);
	p->machine_crash = 700;
	p->sync_us = 1 * MS + rng_below(r, 20 * MS);
}

/* Servers are cut off or stopped for longer than it takes to remove them, with all their memory, and come back. */
void tune_locks_cut(struct plan *p, struct rng *r)
{
	locks_and_views(p, r);
	p->troubles = TROUBLE(TROUBLE_CUT) | TROUBLE(TROUBLE_ALONE) | TROUBLE(TROUBLE_SPLIT) | TROUBLE(TROUBLE_DEAF) | TROUBLE(TROUBLE_STOP);
}

/* Everything, and the next trouble before the last one is settled. */
void tune_locks_storm(struct plan *p, struct rng *r)
{
	static const uint32_t all = TROUBLE(TROUBLE_DOWN) | TROUBLE(TROUBLE_SENT) | TROUBLE(TROUBLE_ALL) | TROUBLE(TROUBLE_CUT) | TROUBLE(TROUBLE_ALONE) | TROUBLE(TROUBLE_SPLIT) |
		TROUBLE(TROUBLE_DEAF) | TROUBLE(TROUBLE_STOP);

	locks_and_views(p, r);
	p->troubles = all;
	p->crash_every_us = rng_chance(r, 500) ? 500 * MS + rng_below(r, 2500 * MS) : 0;
	p->down_for_us = 20 * MS + rng_below(r, 500 * MS);
	p->machine_crash = 300;
	p->sync_us = 1 * MS + rng_below(r, 20 * MS);
	p->lockers = 2 + (uint32_t)rng_below(r, 3);
	p->lock_deaths = 5;
	p->lock_away = 5;
	p->lock_late = 150;
	if (rng_chance(r, 500))
		p->lock_files = 2; /* in one another's way */
}

void tune_locks_deep(struct plan *p, struct rng *r)
{
	tune_locks(p, r);
	p->lockers = 2 + (uint32_t)rng_below(r, 2);
	p->lock_more = 55;
	p->lock_think_us = 1 * MS + rng_below(r, 5 * MS);
	p->idle_ms = 50 + (uint32_t)rng_below(r, 300);
	if (rng_chance(r, 500))
		return;
	/* Below a directory that is held deep: readers do not look at that. Entries come late, and so does the news of the file's own control, which has to be on a disk first. */
	p->lock_files = 4;
	p->lock_more = 10;
	p->lock_waits = 900;
	p->lock_think_us = 200 + rng_below(r, 2 * MS);
	p->lag_us = 200 + rng_below(r, 2 * MS);
	p->bulk_lag_us = p->lag_us * (4 + rng_below(r, 20));
	p->sync_us = 20 * MS + rng_below(r, 60 * MS);
	p->idle_ms = 500 + (uint32_t)rng_below(r, 2000);
}
