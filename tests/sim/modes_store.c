/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Kinds of runs with real stores (store.h), and what is drawn for them: small segments, and disks that fail. They are not among the
 * modes of fresh seeds. With --store real any other mode has real stores, too.
 */
#include "sim.h"

void draw_store(struct plan *p)
{
	static const uint64_t segments[] = { 2048, 8192, 65536 };
	struct rng r = { hash_mix(p->seed, 0x5703) };

	p->segment_bytes = segments[rng_below(&r, 3)];
	p->ahead_bytes = hash_mix(p->seed, 0x1a1d) % 3 ? 1024u << hash_mix(p->seed, 0x1a1e) % 4 : 0;
	p->closes = rng_chance(&r, 500) ? 300 : 0;
	p->open_dies = rng_chance(&r, 400) ? 300 : 0;
	if (p->disk_every_us)
		p->disk_every_us += rng_below(&r, p->disk_every_us);
}

/* Nothing is cut, much restarts. */
static void local(struct plan *p, struct rng *r)
{
	p->segment_bytes = 1;
	p->think_us = 2 * MS + rng_below(r, 30 * MS);
	p->lag_us = 1 * MS + rng_below(r, 10 * MS);
	p->bulk_lag_us = p->lag_us * 2;
	p->cut_every_us = 0;
	p->loss = p->dup = 0;
	p->slow_paths = 0;
	p->work_us = 2 * SECOND + rng_below(r, 2 * SECOND);
	p->checkpoint_us = 100 * MS + rng_below(r, 1 * SECOND);
	p->crash_every_us = 200 * MS + rng_below(r, 800 * MS);
	p->down_for_us = 20 * MS + rng_below(r, 400 * MS);
	p->machine_crash = 0;
}

static void tune_crash(struct plan *p, struct rng *r)
{
	local(p, r);
}

static void tune_power(struct plan *p, struct rng *r)
{
	local(p, r);
	p->machine_crash = 800;
	p->sync_us = 1 * MS + rng_below(r, 30 * MS);
}

static void tune_die(struct plan *p, struct rng *r)
{
	local(p, r);
	p->crash_every_us = 0;
	p->machine_crash = rng_chance(r, 700) ? 600 : 0;
	p->disk_every_us = 100 * MS;
	p->disk_dies = 1;
}

static void tune_full(struct plan *p, struct rng *r)
{
	local(p, r);
	p->crash_every_us = rng_chance(r, 500) ? 0 : p->crash_every_us * 2;
	p->machine_crash = 300;
	p->disk_every_us = 200 * MS;
	p->disk_dies = 1;
	p->disk_full = 3;
	p->disk_breaks = 2;
}

static void tune_slow(struct plan *p, struct rng *r)
{
	local(p, r);
	p->machine_crash = 700;
	p->sync_us = 50 * MS + rng_below(r, 200 * MS);
	p->checkpoint_us = 50 * MS + rng_below(r, 300 * MS);
}

/* Own updates take longer than checkpoints and overtake one another. */
static void tune_hole(struct plan *p, struct rng *r)
{
	local(p, r);
	p->clients = 4;
	p->machine_crash = 900;
	p->sync_us = 200 + rng_below(r, 2 * MS);
	p->exec_us = 5 * MS + rng_below(r, 60 * MS);
	p->checkpoint_us = 20 * MS + rng_below(r, 100 * MS);
}

static void tune_process_holes_saved(struct plan *p, struct rng *r)
{
	tune_process_holes(p, r);
	p->segment_bytes = 1;
	p->hole_saved = 1;
	p->hole_process = rng_below(r, 2);
}

/* Others' updates take longer than many checkpoints and overtake one another. */
static void tune_long_holes(struct plan *p, struct rng *r)
{
	tune_process_holes_saved(p, r);
	p->hole_crash = 5;
	p->apply_us = 200 * MS + rng_below(r, 2 * SECOND);
	p->checkpoint_us = 50 * MS + rng_below(r, 300 * MS);
	p->crash_every_us *= 2;
}

/* And the owners are not heard, so that what is behind a hole must be set aside, again and again. */
static void tune_aside(struct plan *p, struct rng *r)
{
	tune_long_holes(p, r);
	p->owners_unheard = 1;
	p->clients = 4;
	p->hole_crash = 2;
	p->checkpoint_us = 20 * MS + rng_below(r, 60 * MS);
	p->apply_us = 300 * MS + rng_below(r, 1500 * MS);
}

static void tune_lost(struct plan *p, struct rng *r)
{
	tune_views_amnesia(p, r);
	p->segment_bytes = 1;
}

static void tune_seals(struct plan *p, struct rng *r)
{
	tune_seals_power(p, r);
	p->segment_bytes = 1;
}

static void tune_seals_lost(struct plan *p, struct rng *r)
{
	tune_seals_amnesia(p, r);
	p->segment_bytes = 1;
}

static void tune_image_stores(struct plan *p, struct rng *r)
{
	tune_seals_image(p, r);
	p->segment_bytes = 1;
}

static void tune_members_stores(struct plan *p, struct rng *r)
{
	tune_members(p, r);
	p->segment_bytes = 1;
}

static void tune_reconfigure_stores(struct plan *p, struct rng *r)
{
	tune_reconfigure_power(p, r);
	p->segment_bytes = 1;
}

static void tune_stuck(struct plan *p, struct rng *r)
{
	tune_seals_stuck(p, r);
	p->segment_bytes = 1;
}

static void tune_no_room(struct plan *p, struct rng *r)
{
	tune_seals_full(p, r);
	p->segment_bytes = 1;
}

static void tune_seals_die(struct plan *p, struct rng *r)
{
	tune_seals_commit(p, r);
	p->segment_bytes = 1;
	p->machine_crash = 500;
	p->disk_every_us = 500 * MS;
	p->disk_dies = 3;
	p->disk_full = p->disk_breaks = 1;
}

const struct mode store_modes[] = {
	{ "store-crash", NULL, NULL, tune_crash, "real stores: processes crash, or end in order, while checkpoints are under way" },
	{ "store-power", NULL, NULL, tune_power, "real stores: machines lose power, what was not synced is lost, kept or torn" },
	{ "store-die", NULL, NULL, tune_die, "real stores: a crash between any two calls of the file system" },
	{ "store-full", NULL, NULL, tune_full, "real stores: disks are full for a while, syncs fail" },
	{ "store-slow", NULL, NULL, tune_slow, "real stores: syncs take long, and machines lose power" },
	{ "store-hole", NULL, NULL, tune_hole, "real stores: updates under way during checkpoints, and machines lose power" },
	{ "store-process-holes", NULL, NULL, tune_process_holes_saved, "real stores: a checkpoint when an entry is there and one before it is not; then all machines crash, or only the process there" },
	{ "store-long-holes", NULL, NULL, tune_long_holes, "real stores: holes in logs of others that last over many checkpoints" },
	{ "store-aside", NULL, NULL, tune_aside, "real stores: the same, and what lies behind such holes is set aside by many checkpoints" },
	{ "store-lost", NULL, NULL, tune_lost, "real stores: disks are lost or put back" },
	{ "store-seals", NULL, NULL, tune_seals, "real stores: power is lost while logs are sealed and copies repaired" },
	{ "store-seals-lost", NULL, NULL, tune_seals_lost, "real stores: disks are lost or put back; what was promised stays" },
	{ "store-image", NULL, NULL, tune_image_stores, "real stores: disks are put back to what they were earlier in the same start" },
	{ "store-seals-die", NULL, NULL, tune_seals_die, "real stores: disks die, are full or broken, while logs are sealed" },
	{ "store-seals-stuck", NULL, NULL, tune_stuck, "real stores: entries that servers cannot apply for a while, and logs end" },
	{ "store-seals-full", FULL_TREE, FULL_TEXT, tune_no_room, "real stores: full disks at several servers, and logs end" },
	{ "store-members", NULL, NULL, tune_members_stores, "real stores: servers are added and taken out, and copies made anew" },
	{ "store-reconfigure", NULL, NULL, tune_reconfigure_stores, "real stores: an administrator says who goes on, and machines lose power" },
};
const uint32_t nstore_modes = sizeof(store_modes) / sizeof(store_modes[0]);
