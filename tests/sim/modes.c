/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Kinds of runs. `random` is the general one. The others put clients where a certain rule of the
 * control rules decides; most of them found, in a model of the rules or here, what random runs
 * are blind to. plan_draw() turns seed and mode into a plan; the draws come from a stream of
 * their own, so that a change of the plan's making does not change what an old plan means.
 */
#include "sim.h"

#define FIRST_VIEWS "views"

static void tune_random(struct plan *p, struct rng *r)
{
	if (rng_chance(r, 300))
		p->deep_claims = 20 + (uint32_t)rng_below(r, 80);
}

static void tune_calm(struct plan *p, struct rng *r)
{
	p->loss = p->dup = p->slow_paths = p->exec_fails = 0;
	p->cut_every_us = p->crash_every_us = 0;
}

static void tune_deep(struct plan *p, struct rng *r)
{
	p->deep_claims = 100;
	p->shared = 800;
}

static void tune_power(struct plan *p, struct rng *r)
{
	p->crash_every_us = 500 * MS + rng_below(r, 2 * SECOND);
	p->machine_crash = 700;
	p->sync_us = 5 * MS;
}

static void tune_power_holes(struct plan *p, struct rng *r)
{
	tune_power(p, r);
	p->hole_crash = 150;
	p->sync_us = 20 * MS + rng_below(r, 60 * MS);
}

void tune_process_holes(struct plan *p, struct rng *r)
{
	tune_power_holes(p, r);
	p->hole_process = 1;
}

static void tune_crash(struct plan *p, struct rng *r)
{
	p->crash_every_us = 200 * MS + rng_below(r, 1 * SECOND);
	p->machine_crash = 0;
	p->down_for_us = 100 * MS;
}

static void tune_lossy(struct plan *p, struct rng *r)
{
	p->loss = 150;
	p->dup = 150;
	p->crash_every_us = p->cut_every_us = 0;
}

/* Scripts: few faults, much lag, so that the order of events varies most. */
static void tune_script(struct plan *p, struct rng *r)
{
	p->clients = 0;
	p->think_us = 2 * MS + rng_below(r, 40 * MS);
	p->exec_fails = 0;
	p->slow_paths = 1 + (uint32_t)rng_below(r, 4);
	p->slow_us = 200 * MS + rng_below(r, 2 * SECOND);
	p->work_us = 4 * SECOND;
	p->cancels = 0;
	if (rng_chance(r, 700))
		p->cut_every_us = 0;
	if (rng_chance(r, 700))
		p->crash_every_us = 0;
	if (rng_chance(r, 600))
		p->loss = p->dup = 0;
}

static void tune_script_crash(struct plan *p, struct rng *r)
{
	tune_script(p, r);
	p->crash_every_us = 300 * MS + rng_below(r, 700 * MS);
	p->down_for_us = 50 * MS + rng_below(r, 300 * MS);
	p->machine_crash = 0;
}

static void tune_script_mix(struct plan *p, struct rng *r)
{
	tune_script(p, r);
	p->clients = 1;
}

static void tune_settle(struct plan *p, struct rng *r)
{
	tune_script(p, r);
	p->idle_ms = 800;
	p->slow_paths = 0;
	p->lag_us = 1 * MS + rng_below(r, 10 * MS);
}

static void tune_dropback(struct plan *p, struct rng *r)
{
	tune_script(p, r);
	p->idle_ms = 60 + (uint32_t)rng_below(r, 100);
	p->checkpoint_us = 30 * MS + rng_below(r, 100 * MS);
	p->loss = 150;
	p->think_us = 1 * MS + rng_below(r, 10 * MS);
	p->bulk_lag_us = 50 * MS + rng_below(r, 300 * MS);
	p->slow_paths = 0;
	p->crash_every_us = p->cut_every_us = 0;
}

static void tune_old_release(struct plan *p, struct rng *r)
{
	tune_settle(p, r);
	p->idle_ms = 100 + (uint32_t)rng_below(r, 100);
	p->checkpoint_us = 20 * MS;
	p->think_us = 1 * MS + rng_below(r, 5 * MS);
	p->crash_every_us = p->cut_every_us = 0;
}

static void tune_overtake(struct plan *p, struct rng *r)
{
	tune_script(p, r);
	p->think_us = 1 * MS + rng_below(r, 5 * MS);
	p->apply_us = 20 * MS + rng_below(r, 60 * MS);
	p->slow_paths = 0;
	p->lag_us = 1 * MS;
	p->bulk_lag_us = 2 * MS;
}

static void tune_duplicate(struct plan *p, struct rng *r)
{
	tune_settle(p, r);
	p->crash_every_us = 150 * MS + rng_below(r, 500 * MS);
	p->down_for_us = 50 * MS + rng_below(r, 100 * MS);
	p->machine_crash = 0;
	p->cut_every_us = 0;
}

/* Of hierarchical control: the policy is on, and decides. */
static void tune_policy(struct plan *p, struct rng *r)
{
	tune_script(p, r);
	p->hierarchy = true;
	p->slow_us = 100 * MS + rng_below(r, 500 * MS);
}

/* Nobody pauses. */
static void tune_turns(struct plan *p, struct rng *r)
{
	tune_policy(p, r);
	if (rng_chance(r, 500))
		tune_calm(p, r);
	p->busy = true;
	p->think_us = 8 * MS + rng_below(r, 12 * MS);
	p->lag_us = 1 * MS + rng_below(r, 10 * MS);
	p->bulk_lag_us = 2 * p->lag_us;
	p->slow_us = 4 * p->lag_us;
}

/* One writer alone, nothing goes wrong. */
static void tune_burst(struct plan *p, struct rng *r)
{
	tune_policy(p, r);
	tune_calm(p, r);
	p->idle_ms = 5000;
	p->elections_max = 10;
}

/* ---- views: what goes on for longer than silence and lease (trouble.c) ---- */

#define TROUBLE_LINKS                                                                                     \
	(TROUBLE(TROUBLE_CUT) | TROUBLE(TROUBLE_ALONE) | TROUBLE(TROUBLE_SPLIT) | TROUBLE(TROUBLE_MUTE) | \
	 TROUBLE(TROUBLE_DEAF))

static void tune_views(struct plan *p, struct rng *r)
{
	p->troubles = TROUBLE_EACH;
	p->shared = 500 + (uint32_t)rng_below(r, 500);
	p->work_us = 5 * SECOND + rng_below(r, 7 * SECOND);
	if (rng_chance(r, 500))
		p->idle_ms = 1000 + (uint32_t)rng_below(r, 3000);
	if (rng_chance(r, 300))
		p->deep_claims = 20 + (uint32_t)rng_below(r, 80);
}

static void tune_views_cut(struct plan *p, struct rng *r)
{
	tune_views(p, r);
	p->troubles = TROUBLE_LINKS;
	p->crash_every_us = 0;
}

static void tune_views_stop(struct plan *p, struct rng *r)
{
	tune_views(p, r);
	p->troubles = TROUBLE(TROUBLE_STOP);
	if (rng_chance(r, 500))
		p->troubles |= TROUBLE(TROUBLE_ALONE) | TROUBLE(TROUBLE_SENT);
	p->cut_every_us = 0;
}

static void tune_views_restart(struct plan *p, struct rng *r)
{
	tune_views(p, r);
	p->troubles = TROUBLE(TROUBLE_SENT) | TROUBLE(TROUBLE_DOWN);
	if (rng_chance(r, 400))
		p->troubles |= TROUBLE(TROUBLE_ALL) | TROUBLE(TROUBLE_MAJORITY);
	p->cut_every_us = 0;
}

/* What is not on the disk yet is lost: promises, views, rows. */
static void tune_views_power(struct plan *p, struct rng *r)
{
	tune_views(p, r);
	p->troubles = TROUBLE(TROUBLE_SENT) | TROUBLE(TROUBLE_DOWN) | TROUBLE(TROUBLE_ALONE);
	p->cut_every_us = p->crash_every_us = 0;
	p->machine_crash = 900;
	p->sync_us = 5 * MS + rng_below(r, 60 * MS);
	p->lag_us = 1 * MS + rng_below(r, 10 * MS);
}

/* A stop in order, mostly while others are at work with what it controls; now and then somebody is cut off meanwhile. */
static void tune_views_leave(struct plan *p, struct rng *r)
{
	tune_views(p, r);
	p->troubles = TROUBLE(TROUBLE_DOWN);
	if (rng_chance(r, 300))
		p->troubles |= TROUBLE(TROUBLE_ALONE) | TROUBLE(TROUBLE_CUT);
	p->crash_every_us = 0;
	p->leaves = 900;
	if (rng_chance(r, 500))
		p->bulk_lag_us = p->lag_us + rng_below(r, 300 * MS);
}

/* Entries that a server, or several, cannot apply, and whatever else there is. */
static void tune_views_stuck(struct plan *p, struct rng *r)
{
	tune_views(p, r);
	p->stuck = 300 + (uint32_t)rng_below(r, 600);
}

static void tune_views_liar(struct plan *p, struct rng *r)
{
	tune_views(p, r);
	p->liar = p->secret = true;
}

static void tune_views_one(struct plan *p, struct rng *r)
{
	tune_views(p, r);
	tune_calm(p, r);
	p->troubles = TROUBLE(TROUBLE_DOWN) | TROUBLE(TROUBLE_ALONE) | TROUBLE(TROUBLE_STOP);
	p->one_trouble = true;
	p->clients = 1;
	p->lag_us = 1 * MS + rng_below(r, 10 * MS);
	p->bulk_lag_us = 2 * p->lag_us;
}

static void tune_views_script(struct plan *p, struct rng *r)
{
	tune_script(p, r);
	p->troubles = TROUBLE_EACH;
	p->work_us = 6 * SECOND + rng_below(r, 5 * SECOND);
	if (rng_chance(r, 700))
		p->slow_paths = 0;
	if (rng_chance(r, 500))
		p->idle_ms = 1000 + (uint32_t)rng_below(r, 3000);
}

/* Little lag between the controls, entries far behind: what is completed without a server arrives there late. */
static void tune_views_join(struct plan *p, struct rng *r)
{
	tune_script(p, r);
	p->troubles = TROUBLE_EACH;
	p->join_restarts = true;
	p->loss = p->dup = p->slow_paths = 0;
	p->crash_every_us = p->cut_every_us = 0;
	p->think_us = 1 * MS + rng_below(r, 5 * MS);
	p->lag_us = 1 * MS + rng_below(r, 4 * MS);
	p->bulk_lag_us = p->lag_us * (2 + rng_below(r, 8));
	p->sync_us = 200 + rng_below(r, 2 * MS);
	p->idle_ms = 200 + (uint32_t)rng_below(r, 3000);
	p->work_us = 10 * SECOND;
}

/* What the policy asks for, while somebody is being removed and others come back. */
static void tune_views_policy(struct plan *p, struct rng *r)
{
	tune_views_script(p, r);
	p->hierarchy = true;
	if (rng_chance(r, 500))
		p->troubles = TROUBLE(TROUBLE_DOWN) | TROUBLE(TROUBLE_ALONE) | TROUBLE(TROUBLE_STOP) | TROUBLE(TROUBLE_DEAF);
}

#define READERS(f, dir) \
	"B*: read " f "; get " f "; list " dir "\nC*: get " f "; wait 5; read " f "; get " dir "\n"

/* Capacities differ, and are soon reached; nobody is away for longer than it takes (the reserve is for that). */
static void tune_full_disks(struct plan *p, struct rng *r)
{
	tune_script(p, r);
	p->rooms = 24 + (uint32_t)rng_below(r, 60);
	p->machine_crash = 0;
	p->think_us = 2 * MS + rng_below(r, 10 * MS);
}

/* The same with views: something else fills disks as well, what is on its way finds no room, and its server is taken out until it does. */
static void tune_views_full(struct plan *p, struct rng *r)
{
	tune_views_script(p, r);
	p->rooms = 24 + (uint32_t)rng_below(r, 60);
	p->think_us = 2 * MS + rng_below(r, 10 * MS);
	p->fills = 300 + (uint32_t)rng_below(r, 600);
}

/* One disk at a time, and nothing else goes wrong: then who has no room for an entry is taken out in time. */
static void tune_views_full_one(struct plan *p, struct rng *r)
{
	tune_views_full(p, r);
	tune_calm(p, r);
	p->slow_paths = 0;
	p->one_trouble = true;
	p->clients = 0;
	p->lag_us = 1 * MS + rng_below(r, 10 * MS);
	p->bulk_lag_us = 2 * p->lag_us;
}

void tune_seals_full(struct plan *p, struct rng *r)
{
	tune_views_full(p, r);
	p->calm_between = 1;
	p->seals = true;
}

/* Views, and whatever may happen to those who know the secret. */
static void tune_secret(struct plan *p, struct rng *r)
{
	static void (*const kinds[])(struct plan *, struct rng *) = { tune_views, tune_views_power, tune_views_amnesia, tune_seals_amnesia, tune_members,
								      tune_members_power, tune_reconfigure, tune_reconfigure_power, tune_views_restart };

	kinds[rng_below(r, sizeof(kinds) / sizeof(kinds[0]))](p, r);
	p->secret = true;
}

static void tune_releases(struct plan *p, struct rng *r)
{
	static void (*const kinds[])(struct plan *, struct rng *) = { tune_views, tune_views_power, tune_views_restart, tune_views_leave, tune_views_cut };

	kinds[rng_below(r, sizeof(kinds) / sizeof(kinds[0]))](p, r);
	p->secret = p->releases = true;
	if (rng_chance(r, 500)) /* else a server that is away keeps most upgrades from being finished */
		p->trouble_every_us *= 4;
}

static void tune_settings(struct plan *p, struct rng *r)
{
	static void (*const kinds[])(struct plan *, struct rng *) = { tune_views, tune_views_power, tune_views_restart, tune_views_cut, tune_views_stop };

	kinds[rng_below(r, sizeof(kinds) / sizeof(kinds[0]))](p, r);
	p->secret = p->settings = true;
}

/* Servers are away while the durability is another one, and come back with what they answered by the former. */
static void tune_durability(struct plan *p, struct rng *r)
{
	static void (*const kinds[])(struct plan *, struct rng *) = { tune_seals_commit, tune_seals_power, tune_seals_stop, tune_seals_busy, tune_seals_late, tune_seals_twice, tune_seals_away, tune_seals_ahead, tune_seals_amnesia, tune_members_commit, tune_members_power };

	kinds[rng_below(r, sizeof(kinds) / sizeof(kinds[0]))](p, r);
	p->durability = (uint32_t)rng_range(r, NFS4R_DURABILITY_LOCAL, NFS4R_DURABILITY_MAJORITY);
	p->calm_between = 1 + (uint32_t)rng_below(r, 3);
	p->durability_us = 100 * MS + rng_below(r, 3 * SECOND);
	p->secret = p->durabilities = true;
	p->settings = rng_chance(r, 200);
}

const struct mode modes[] = {
	{ "random", NULL, NULL, tune_random, "everything at random" },
	{ "calm", NULL, NULL, tune_calm, "everything at random, no faults" },
	{ "deep", NULL, NULL, tune_deep, "many deep and deep+ claims" },
	{ "crash", NULL, NULL, tune_crash, "process crashes in quick succession" },
	{ "power", NULL, NULL, tune_power, "machine crashes, slow disks" },
	{ "power-holes", NULL, NULL, tune_power_holes, "all machines crash when an entry is on a disk and one before it is not" },
	{ "process-holes", NULL, NULL, tune_process_holes, "the same, but where that entry is only the process crashes" },
	{ "lossy", NULL, NULL, tune_lossy, "every seventh message lost, every seventh twice" },
	{ "in", "D/ E/ E/x/ E/x/f D/y/",
	  "A*: claim D deep+; claim E deep; wait 30; rename E x D x; open f; write f; close; wait 30; rename D x E x; "
	  "open f; write f; close\n" READERS("f", "x"),
	  tune_script, "a directory is moved below deep+, then a file in it written (3.9)" },
	{ "in_before", "D/ E/ E/x/ E/x/f D/y/",
	  "A*: claim E deep; rename E x D x; claim D deep+; open f; write f; close; wait 900; rename D x E x; wait 900\n" READERS("f", "x"),
	  tune_script, "moved before the deep+ was asked for (3.9, last_move)" },
	{ "in_restart", "D/ E/ E/x/ E/x/f D/y/",
	  "A*: claim D deep+; claim E deep; rename E x D x; open f; write f; close; open f; write f; close; "
	  "rename D x E x; wait 50\n" READERS("f", "x"),
	  tune_script_crash, "the same, the owner restarts in between" },
	{ "dropback", "D/ D/f D/g D/x/ D/x/k",
	  "A*: claim D deep; claim D deep+; open f; write f; close; wait 1500; open f; write f; close; open k; write k; close\n"
	  "B*: read f; get f; wait 20; read k\nC*: read f; wait 10; get k\nB*: wait 3000; chmod g\n",
	  tune_script, "deep+ ends while files below are written (7.9, 5.1 last)" },
	{ "multi", "D/ E/ D/f D/g E/h=f E/e",
	  "A*: claim D deep+; open f; write f; close; write f; chmod f\nB*: read f; get f; list D\nC*: read f; get f; wait 100; chmod e; "
	  "get f\nB*: wait 800; write f\n",
	  tune_script, "a file with two names, one of them under deep+ (0, 5.3b)" },
	{ "linkdeep", "D/ E/ D/f D/g E/e",
	  "A*: claim D deep+; link f E n; write f; remove E n; open f; write f; close; wait 100\nB*: claim E deep; write e; read f; get f; wait 200\n"
	  "C*: read f; list E; write e; wait 100\nC*: write f; lookup E n; wait 400\n",
	  tune_script, "a second name for a file under deep control (0, 8.2)" },
	{ "moveout", "D/ E/ D/x/ D/f D/x/k",
	  "A*: claim D deep+; create x n v; rename D x E x; lookup x n; create x m; remove x n; remove x m; write k; rename E x D x; "
	  "rename D f E f; write f; rename E f D f\nB*: list x; lookup x n; read k; get x; read f\nC*: lookup x n; lookup x m; list x; read f; read k; wait 10\n",
	  tune_script, "moves out of deep+ (3.3)" },
	{ "movein", "D/ E/ D/x/ D/f D/x/k",
	  "A*: claim E deep; claim x deep; rename D x E x; create x n; lookup x n; remove x n; wait 50; rename E x D x; wait 200\n"
	  "B*: list x; lookup x n; list x; lookup x n\nC*: lookup x n; list x; wait 5; lookup x n; get x\n",
	  tune_script, "moves into a deep, directory acked by all (5.2, moved claims)" },
	{ "crossing", "A/ B/ A/f B/g",
	  "A*: rename A f B f; rename B f A f; wait 50\nB*: rename B g A g; rename A g B g; wait 50\nC*: list A; list B; lookup A f\n",
	  tune_script_mix, "renames that cross (5.5)" },
	{ "cycle", "P/ Q/ P/b/ Q/c/ P/b/e/ Q/c/d/",
	  "A*: rename P b d b; wait 30; rename d b P b; wait 100\nB*: rename Q c e c; wait 30; rename e c Q c; wait 100\nC*: list P; list Q; get b; get c\n",
	  tune_script, "two moves that would make a ring (3.2)" },
	{ "writers", "D/ D/f D/g",
	  "A*: open f; write f; write f; close\nB*: open f; write f; close; read f\nC*: write f; read f; trunc f\nA*: write g; read f\nB*: chmod g; read g\n",
	  tune_script, "three writers of one file" },
	{ "unlink", "D/ D/f D/g E/ E/h=g",
	  "A*: create D n v; wait 20; remove D n; wait 20; remove D f; create D f f\nB*: open f; write f; close; write v; open v; write v; close\n"
	  "C*: lookup D f; write v; lookup D n; read f; link v E m; remove E m; create E n\n",
	  tune_script_mix, "unlink against writes" },
	{ "resolve", "D/ E/ D/f D/g E/k",
	  "A*: rename D f D t; rename D g D f; rename D t D g\nB*: remove D f; create D f f; remove E k; create E k k\nC*: rename D f E k; create D f f; lookup D f; remove D f; create D f f\n",
	  tune_script_mix, "names change between resolving and executing (3.4)" },
	{ "deepwrite", "D/ D/x/ D/x/y/ D/x/y/f E/ E/z/",
	  "A*: rename D x E x; wait 100; rename E x D x; wait 300\nB*: write f; create y n; remove y n; chmod y\nC*: claim D deep; create y m; remove y m; claim E deep; get f; wait 200\n",
	  tune_script_mix, "deep control against updates below" },
	{ "create", "D/ D/x/ E/",
	  "A*: claim D deep; create x n v; open v; write v; close; write v; rename x n D n; write v; remove D n\nB*: lookup x n; read v; get v; write v\nC*: list x; read v; lookup D n; get v; claim E deep; wait 50; write v\n",
	  tune_script_mix, "new files under deep control, read and written elsewhere" },
	{ "forward", "D/ D/f E/ E/g",
	  "A*: claim D deep; create D n; remove D n; wait 400\nB*: create D b; remove D b; mkdir D c; remove D c\nC*: create D b; rename D b E c; remove E c; write f; chmod f\n",
	  tune_script, "operations forwarded to an owner" },
	{ "forward_crash", "D/ D/f E/ E/g",
	  "A*: claim D deep; create D n; remove D n; wait 100\nB*: create D b; remove D b; mkdir D c; remove D c\nC*: create D e; rename D e E e; remove E e; write f; chmod f\n",
	  tune_script_crash, "the same, servers restart" },
	{ "deepdeep", "D/ D/x/ D/x/y/ D/x/y/f D/x/g E/",
	  "A*: claim D deep+; claim x deep; write f; open g; write g; close; write f; wait 20; write f; wait 600\nB*: read f; get g; read g; read f; list y\nC*: read g; read f; get f\n",
	  tune_script, "a nearer deep control below a deep+ (6.2)" },
	{ "settled", "D/ E/ D/x/ D/x/k",
	  "A: claim E deep; wait 100; claim E deep; wait 50; slowc A C 2000; slow A C 2000; claim D deep; flag 1; rename D x E x\n"
	  "A: need 1; wait 40; create x n\nA: need 1; wait 80; create x m\nA: need 1; wait 120; create x l\n"
	  "C*: lookup x n; lookup x m; lookup x l\nB*: lookup x n; lookup x m; list x\n",
	  tune_settle, "a moved claim is not acked by all before the move is known (5.2)" },
	{ "dropback2", "D/ D/f D/g",
	  "A*: create D a; remove D a; wait 20\nA*: claim D deep; wait 30\n"
	  "A*: claim D deep+; wait 30; open f; write f; close; wait 200; open f; write f; close; open g; write g; close; wait 30; "
	  "open f; write f; close\nB*: read f; read g\nC*: read f; read g\n",
	  tune_dropback, "writes while a deep+ closes and the plain deep stays (5.3b last)" },
	{ "old_release", "D/ D/x/ D/x/k",
	  "A: mkdir root E E; wait 30; slowc A C 20000; flag 1\n"
	  "B: need 1; claim D deep; wait 400; claim D deep; wait 30; claim D deep; slow B C 300; rename D x E x; create x n; create x m; "
	  "create x l; remove x n; remove x m\nC*: lookup x n; lookup x m; lookup x l; list x\n",
	  tune_old_release, "a released control that one server still sees (6.3, 7.7)" },
	{ "overtake", "D/ E/ D/x/ D/x/f",
	  "A*: claim D deep+; claim E deep; claim x deep; open f; write f; close; rename D x E x; claim x deep; claim D deep+; rename E x D x; "
	  "wait 50\nB*: read f; get f; read f\nC*: get f; read f; list x\n",
	  tune_overtake, "a move overtakes a write below it (9)" },
	{ "duplicate", "D/ D/f E/",
	  "A: slowc A C 2500; slow A C 2500; claim D deep; flag 1\nA*: need 1; wait 300; claim D deep\n"
	  "B: need 1; create D b; create D c; remove D b; create D d; create D e\nB: need 1; mkdir D m; remove D m; create D n\n"
	  "C*: lookup D b; lookup D c; lookup D m; list D; lookup D d\n",
	  tune_duplicate, "forwarded again to an owner that restarted (5.6)" },
	{ "barrier", "D/ E/ E/f E/g",
	  "A: slow A C 4000; slowc A C 4000; wait 30; link f D n; write f\n"
	  "C: wait 400; claim E deep; write f; write g\nB*: read f; list E; wait 20\n",
	  tune_settle, "a granter has applied what the proposer has not (4.5)" },
	{ "hot", "D/ D/f E/ E/g",
	  "A*: write f; wait 40\nB*: write f; wait 40\nC*: write f; wait 40\nA*: read f; chmod g; wait 100\nB*: chmod g; read f; wait 100\n",
	  tune_script_crash, "control of one file changes hands, servers restart" },
	{ "burst", "D/ D/f D/g D/h D/k D/l D/m D/x/ D/y/ D/y/z/ E/",
	  "A: burst D build 30; burst D storm 20; burst y churn 20; burst D churn 20\n",
	  tune_burst, "a burst of one writer alone: few elections (4.1, 7.8)" },
	{ "bursts", "D/ D/f D/g D/h D/k D/x/ D/x/l D/y/ D/y/m D/y/z/ E/",
	  "A*: burst D build 20; wait 600; burst D churn 20; wait 1500\nB*: wait 2000; burst x churn 8; wait 2000; burst y build 8\n"
	  "C*: list x; lookup D n1; get f; read g; wait 200\n",
	  tune_policy, "bursts that meet (7.4, 7.5)" },
	{ "storm", "D/ D/f D/g D/h D/x/ D/x/k D/x/l D/x/m D/x/o D/y/ D/y/p D/y/q D/y/r",
	  "A*: burst D storm 20; wait 300; burst x storm 10; wait 1500\nA*: create D n0; remove D n0; wait 300\n"
	  "B*: read f; get k; wait 100; read p\nC*: wait 1500; write q; wait 700; chmod x; create y n1; remove y n1\n",
	  tune_policy, "storms on old files (7.8, 7.9)" },
	{ "alternate", "D/ D/f D/g D/x/ D/x/h",
	  "A*: burst D churn 10; wait 800\nB*: burst D churn 10; wait 800\nC*: list D; lookup D n0; list x; wait 300\n",
	  tune_policy, "two servers take turns in one directory" },
	{ "turns", "D/ D/f E/ E/g",
	  "A*: burst D churn 400\nB*: burst D churn 400\nC*: list D; lookup D n0; wait 300; create E n9; remove D n1; wait 2000\n",
	  tune_turns, "two servers at work in one directory all the time (7.5)" },
	{ "siblings", "D/ D/x/ D/x/f D/x/u/ D/y/ D/y/g D/y/v/ D/z/ D/z/h",
	  "A*: burst x churn 15; burst x storm 5; wait 1000\nB*: wait 500; burst y churn 15; burst y build 5; wait 1000\n"
	  "C*: wait 1500; burst z churn 5; list x; rename D z y z2; rename y z2 D z\n",
	  tune_policy, "two servers busy in neighbouring directories (7.4)" },
	{ "watchers", "D/ D/f D/g D/h D/x/ D/x/k D/y/ D/y/l",
	  "A*: burst x churn 15; burst D storm 6; create D n7; remove D n7; wait 800\n"
	  "B*: list y; lookup y l; get l; read l; list y; get f; list y; read g; wait 200\nC*: read f; read k; get h; list y; list y; get y; wait 200\n",
	  tune_policy, "others read below while a burst runs (7.4, 7.9)" },
	{ "climb", "D/ D/x/ D/x/a/ D/x/b/ D/x/c/ D/y/ D/y/d/ D/y/e/ D/y/f/ E/ E/g/",
	  "A*: create a n0; create b n1; create c n2; burst x churn 5; create d n0; create e n1; create f n2; burst y churn 5; wait 1500\n"
	  "B*: wait 1500; create E n3; chmod g; create f n4; remove f n4; wait 1500\nC*: list D; list x; lookup a n0; wait 300\n",
	  tune_policy, "elections in many places below one directory (7.4, promotion)" },
	/* From here on with views. */
	{ FIRST_VIEWS, NULL, NULL, tune_views, "members are removed and come back, everything at random" },
	{ "views-cut", NULL, NULL, tune_views_cut, "links cut one way and both ways, for long" },
	{ "views-stop", NULL, NULL, tune_views_stop, "servers stop and go on" },
	{ "views-restart", NULL, NULL, tune_views_restart, "restarts, just after a grant, a promise..., of all at once" },
	{ "views-power", NULL, NULL, tune_views_power, "machine crashes, slow disks, just after what has to be on them" },
	{ "views-one", NULL, NULL, tune_views_one, "one server away at a time, nothing else: removed in time" },
	{ "views-hand", "D/ D/f D/g D/x/ D/x/k E/ E/h",
	  "A*: claim D deep; create D n; remove D n; write f; wait 300\nB*: write g; read f; lookup D n; chmod k; wait 100\n"
	  "C*: read f; get k; list D; lookup D n; wait 20\nC*: write f; create x m; remove x m; wait 500\n"
	  "B*: claim x deep+; open k; write k; close; write h; wait 800\nA*: read h; read g; list x; lookup x m; get k\n",
	  tune_views_script, "control changes hands while somebody is outside" },
	{ "views-join", "D/ D/f D/g D/h D/x/",
	  "A*: open f; write f; close; read g\nA*: read h; get f\nB*: open g; write g; close; read f\nB*: read h; get f\n"
	  "C*: open h; write h; close; read g\nC*: read f; get g; get h; list x\n",
	  tune_views_join, "restarts while joining, deaf to one of the others" },
	{ "views-policy", "D/ D/x/ D/x/a/ D/x/b/ D/x/c/ D/x/f D/y/ D/y/d/ D/y/e/ D/y/g E/ E/h",
	  "A*: create a n0; create b n1; create c n2; burst x churn 5; create d n3; create e n4; wait 300\n"
	  "B*: burst x storm 4; wait 200; burst y storm 4; create d n5; create e n6; write g; wait 200\n"
	  "C*: write f; create b n7; remove b n7; create c n8; remove c n8; chmod h; wait 400\nA*: write g; read f; chmod D; wait 800\n"
	  "B*: read f; get g; list x; lookup a n0; wait 100\n",
	  tune_views_policy, "claims of the policy while somebody is removed and comes back" },
	/* And with seals. */
	{ "seals-commit", NULL, NULL, tune_seals_commit, "logs of removed servers are sealed, what was committed stays" },
	{ "seals-majority", NULL, NULL, tune_seals_majority, "the same, every update is held by a majority before its answer" },
	{ "seals-local", NULL, NULL, tune_seals_local, "servers are given up" },
	{ "seals-power", NULL, NULL, tune_seals_power, "machine crashes, slow disks, while logs are sealed and copies repaired" },
	{ "seals-stop", NULL, NULL, tune_seals_stop, "servers stop or are cut off, and come back ahead of a seal" },
	{ "seals-twice", NULL, NULL, tune_seals_twice, "several seals while one is away" },
	{ "seals-busy", NULL, NULL, tune_seals_busy, "much is updated between the troubles, and is under way for long" },
	{ "seals-ahead", NULL, NULL, tune_seals_ahead, "owners of subtrees go on alone until their lease ends" },
	{ "views-amnesia", NULL, NULL, tune_views_amnesia, "disks are lost or put back; servers are given up" },
	{ "seals-away", NULL, NULL, tune_seals_away, "little is kept for servers that are away for long" },
	{ "seals-amnesia", NULL, NULL, tune_seals_amnesia, "disks are lost or put back; what was promised stays" },
	{ "views-image", NULL, NULL, tune_views_image, "disks are put back to what they were earlier in the same start; servers are given up" },
	{ "seals-image", NULL, NULL, tune_seals_image, "disks are put back to what they were earlier in the same start; what was promised stays" },
	{ "members", NULL, NULL, tune_members, "servers are added and taken out" },
	{ "members-commit", NULL, NULL, tune_members_commit, "the same, what was promised stays" },
	{ "members-power", NULL, NULL, tune_members_power, "the same, machines crash, all at once, too" },
	{ "reconfigure", NULL, NULL, tune_reconfigure, "a majority is lost for good, and an administrator says who goes on" },
	{ "reconfigure-power", NULL, NULL, tune_reconfigure_power, "the same, machines crash" },
	{ "seals-late", "D/ D/f D/g D/h",
	  "A*: open f; write f; write f; commit f; write f; trunc f; write f; write f; commit f; close; wait 10\nA*: write f; write f; trunc f; commit f; wait 10\n"
	  "B*: open g; write g; write g; trunc g; commit g; write g; write g; close; wait 10\nB*: write g; commit g; write g; trunc g; wait 10\n"
	  "C*: write h; commit h; write h; read f; write h; trunc h; wait 50\nC*: create D c; remove D c; write f; wait 3000\n",
	  tune_seals_late, "bytes are read back when they are sent" },
	{ "seals-forward", "D/ D/f D/g D/x/ D/x/k E/ E/h",
	  "A*: claim D deep; create D n; remove D n; write f; commit f; wait 200\nA*: rename D f E f2; rename E f2 D f; wait 100\n"
	  "B*: create D b; rename D b E c; remove E c; write f; commit f; wait 30\nC*: create D c; remove D c; mkdir D m; remove D m; wait 30\n"
	  "C*: write f; commit f; link g E l; remove E l; read f; list D; wait 50\nB*: lookup D n; list D; get f; read f; wait 20\n"
	  "A*: open k; write k; commit k; close; read h; wait 100\nB*: claim x deep; write k; wait 500\n",
	  tune_seals_forward, "operations forwarded to a primary that is sealed (5.6)" },
	{ "views-leave", NULL, NULL, tune_views_leave, "servers are stopped in order (7.12)" },
	{ "seals-leave", NULL, NULL, tune_seals_leave, "the same, and their logs end" },
	{ "views-stuck", NULL, NULL, tune_views_stuck, "entries that servers cannot apply for a while (log 4.11)" },
	{ "seals-stuck", NULL, NULL, tune_seals_stuck, "the same, and logs end" },
};
const uint32_t nmodes = sizeof(modes) / sizeof(modes[0]);

/* Not drawn by a seed: what older seeds mean depends on how many modes there are. */
const struct mode named_modes[] = {
	{ "views-liar", NULL, NULL, tune_views_liar, "one server speaks for others (log 4.17, 6.14)" },
	{ "seals-liar", NULL, NULL, tune_seals_liar, "the same, and logs end" },
	{ "full", FULL_TREE, FULL_TEXT, tune_full_disks, "small disks at several servers, and all of them write (log 4.12)" },
	{ "views-full", FULL_TREE, FULL_TEXT, tune_views_full, "the same with views, and something else fills the disks of several servers at once (log 4.11, 4.12)" },
	{ "views-full-one", FULL_TREE, FULL_TEXT, tune_views_full_one, "the same, one disk at a time, nothing else: taken out in time" },
	{ "seals-full", FULL_TREE, FULL_TEXT, tune_seals_full, "the same, and logs end" },
	{ "releases", NULL, NULL, tune_releases, "servers are replaced by the next release and put back, and upgrades finished (log 6.16)" },
	{ "settings", NULL, NULL, tune_settings, "the volume's lease is set to other values (log 6.17)" },
	{ "durability", NULL, NULL, tune_durability, "and its durability, while logs end (log 6.17)" },
	{ "secret", NULL, NULL, tune_secret, "views, members, lost disks: all who serve have the same secret (log 6.13)" },
	{ "locks", LOCKS_TREE, LOCKS_TEXT, tune_locks, "clients lock ranges of few files, which are controlled here and there" },
	{ "locks-hot", "D/ D/f D/g", "A*: chmod f; wait 900\nB*: chmod g; wait 700; chmod f; wait 1500\n", tune_locks_hot, "many owners, two files" },
	{ "locks-deep", LOCKS_DEEP_TREE, LOCKS_DEEP_TEXT, tune_locks_deep, "many locked files below directories whose deep control comes and goes" },
	{ "locks-restart", LOCKS_TREE, LOCKS_TEXT, tune_locks_restart, "servers restart, and their clients reclaim, or do not come back" },
	{ "locks-power", LOCKS_TREE, LOCKS_TEXT, tune_locks_power, "the same, machines crash, and members are removed" },
	{ "locks-cut", LOCKS_TREE, LOCKS_TEXT, tune_locks_cut, "servers are cut off or stopped, removed, and come back" },
	{ "locks-storm", LOCKS_TREE, LOCKS_TEXT, tune_locks_storm, "all of these in quick succession" },
};
const uint32_t nnamed_modes = sizeof(named_modes) / sizeof(named_modes[0]);

const struct mode *mode_find(const char *name)
{
	for (uint32_t i = 0; i < nmodes; i++)
		if (!strcmp(modes[i].name, name))
			return &modes[i];
	for (uint32_t i = 0; i < nnamed_modes; i++)
		if (!strcmp(named_modes[i].name, name))
			return &named_modes[i];
	for (uint32_t i = 0; i < nstore_modes; i++)
		if (!strcmp(store_modes[i].name, name))
			return &store_modes[i];
	return NULL;
}

static void draw_network(struct plan *p, struct rng *r)
{
	static const uint32_t odds[] = { 0, 0, 0, 10, 50, 200 };

	p->loss = odds[rng_below(r, 6)];
	p->dup = odds[rng_below(r, 6)];
	p->lag_us = 1 * MS + rng_below(r, 50 * MS);
	p->bulk_lag_us = p->lag_us * (1 + rng_below(r, 8));
	p->slow_paths = rng_chance(r, 300) ? 1 + (uint32_t)rng_below(r, 4) : 0;
	p->slow_us = 100 * MS + rng_below(r, 2 * SECOND);
	if (rng_chance(r, 500)) {
		p->cut_every_us = 500 * MS + rng_below(r, 3 * SECOND);
		p->cut_for_us = 50 * MS + rng_below(r, 2 * SECOND);
	}
}

static void draw_machines(struct plan *p, struct rng *r)
{
	static const uint64_t disks[] = { 200, 200, 2 * MS, 30 * MS };

	if (rng_chance(r, 500))
		p->crash_every_us = 500 * MS + rng_below(r, 4 * SECOND);
	p->down_for_us = 50 * MS + rng_below(r, 2 * SECOND);
	p->machine_crash = rng_chance(r, 400) ? 500 : 0;
	p->sync_us = disks[rng_below(r, 4)];
	p->exec_us = 100 + rng_below(r, 3 * MS);
	p->apply_us = 100 + rng_below(r, 10 * MS);
	p->checkpoint_us = 300 * MS + rng_below(r, 3 * SECOND);
	p->exec_fails = rng_chance(r, 500) ? 20 : 0;
}

/* A stream of its own, so that seeds of before the policy keep their other draws. */
static void draw_policy(struct plan *p)
{
	static const uint32_t counts[] = { 0, 1, 2, 3 }, waits[] = { 0, 50, 400, 5000 }, reads[] = { 0, 1, 3, 32 }, says[] = { 0, 1, 20, 100 };
	struct rng r = { hash_mix(p->seed, 0xdee9) };

	p->deep = rng_chance(&r, p->mode->text ? 400 : 800) || p->hierarchy;
	p->deep_ms = rng_chance(&r, 500) ? p->idle_ms : 50 + (uint32_t)rng_below(&r, 1500);
	p->revoke_ms = rng_chance(&r, 600) ? 100 : 0;
	p->holdoff_ms = rng_chance(&r, 500) ? 100 : 0;
	p->escalate_count = counts[rng_below(&r, 4)];
	p->deep_plus_count = counts[rng_below(&r, 4)];
	p->contested_ms = waits[rng_below(&r, 4)];
	p->share_reads = reads[rng_below(&r, 4)];
	p->bursts = rng_chance(&r, 400) ? 5 + (uint32_t)rng_below(&r, 40) : 0;
	p->announce_ms = says[rng_below(&r, 4)];
	if (p->hierarchy && (p->elections_max || rng_chance(&r, 500))) {
		p->deep_ms = p->elections_max ? 5000 : 1000;
		p->revoke_ms = 100;
		p->escalate_count = p->deep_plus_count = 3;
	}
}

/* A stream of its own, once more: readers hurry those who control directories. */
static void draw_readers(struct plan *p)
{
	static const uint32_t waits[] = { 0, 0, 1, 30, 100, 400 };
	struct rng r = { hash_mix(p->seed, 0x7e11) };

	p->read_ms = waits[rng_below(&r, 6)];
}

/* And once more: who works without a pause. */
static void draw_turns(struct plan *p)
{
	static const uint32_t turns[] = { 0, 0, 1, 100, 400, 2000 };
	struct rng r = { hash_mix(p->seed, 0x7423) };

	p->turn_ms = turns[rng_below(&r, 6)];
	if (p->busy) {
		p->revoke_ms = p->turn_ms = 100;
		p->holdoff_ms = 0; /* as measured: a turn is some round trips */
	}
}

static uint32_t at_least(uint64_t min, uint64_t x)
{
	return (uint32_t)(x < min ? min : x);
}

/* A stream of its own, too. Servers are away for longer than it takes to remove them. */
static void draw_views(struct plan *p, struct rng *r)
{
	static const uint32_t drifts[] = { 10, 10, 10, 50, 100, 300 };
	uint64_t removal;

	if (!p->troubles)
		p->troubles = rng_chance(r, 500) ? TROUBLE_EACH : TROUBLE(rng_range(r, 1, TROUBLES - 1));
	p->lease_ms = at_least(8 * p->lag_us / MS, 300 + rng_below(r, 1700));
	p->silence_ms = at_least(p->lease_ms / 4 + 8 * p->lag_us / MS, p->lease_ms * 55 / 100 + rng_below(r, 1500)); /* two heartbeats */
	p->drift_permille = drifts[rng_below(r, 6)];
	removal = (p->silence_ms + p->lease_ms * (1000 + p->drift_permille) / (1000 - p->drift_permille)) * MS;
	p->trouble_for_us = removal + removal / 5 + 300 * MS;
	p->trouble_every_us = p->trouble_for_us * (3 + rng_below(r, 12)) / 10;
	if (!p->one_trouble)
		return;
	p->trouble_for_us = removal + 40 * p->lag_us + 20 * p->sync_us + 700 * MS;
	p->trouble_every_us = 1 * SECOND + 40 * p->lag_us;
	p->work_us = 2 * ((p->fills ? 4 : 1) * p->trouble_for_us + p->trouble_every_us);
}

/*
 * A fresh seed chooses the mode, half of them random; and half of them have views, in a mode that was made for them or in any
 * other. The stream is one in which the seeds of seeds.txt that are older than views have none.
 */
#define VIEWS_STREAM 0x71f4

static bool draw_mode(struct plan *p, struct rng *r, struct rng *views)
{
	uint32_t first = (uint32_t)(mode_find(FIRST_VIEWS) - modes);

	p->mode = rng_chance(r, 500) ? &modes[0] : &modes[rng_below(r, first)];
	if (!rng_chance(views, 500))
		return false;
	if (rng_chance(views, 500))
		p->mode = &modes[rng_range(views, first, nmodes - 1)];
	return true;
}

/* Two of all are no part of the volume at first; or it begins with one server alone. A stream of its own, again. */
static void draw_members(struct plan *p, uint32_t servers)
{
	struct rng r = { hash_mix(p->seed, 0x10e1) };

	if (!servers && rng_chance(&r, 300))
		p->base = 1;
	else
		p->servers += 2;
}

/* Mostly a log ends by the durability alone. Whoever has lost its disk has to be given up if the durability is `local` then. */
static void draw_durabilities(struct plan *p)
{
	struct rng r = { hash_mix(p->seed, 0xd4ab) };

	if (rng_chance(&r, 650))
		p->give_up_us = p->abandon_ms = 0;
	if (p->losses && !p->abandon_ms)
		p->give_up_us = 300 * MS + rng_below(&r, 4 * SECOND);
}

void plan_draw(struct plan *p, uint64_t seed, const struct mode *mode, uint32_t servers, bool stores)
{
	struct rng r = { hash_mix(seed, 0x91a4) }, v = { hash_mix(seed, VIEWS_STREAM) };
	bool views = false;

	memset(p, 0, sizeof(*p));
	p->seed = seed;
	p->mode = mode;
	if (!mode)
		views = draw_mode(p, &r, &v);
	p->servers = rng_chance(&r, 800) ? 3 : 5;
	if (servers)
		p->servers = servers;
	p->clients = 1 + (uint32_t)rng_below(&r, 3);
	p->work_us = 3 * SECOND + rng_below(&r, 5 * SECOND);
	p->think_us = 5 * MS + rng_below(&r, 120 * MS);
	p->shared = (uint32_t)rng_below(&r, 900);
	p->window = rng_chance(&r, 300) ? 1 + (uint32_t)rng_below(&r, 20) : 4096;
	p->idle_ms = 50 + (uint32_t)rng_below(&r, 1000);
	p->cancels = rng_chance(&r, 200) ? 30 : 0;
	draw_network(p, &r);
	draw_machines(p, &r);
	if (p->mode->tune)
		p->mode->tune(p, &r);
	if (!p->cut_for_us)
		p->cut_for_us = 500 * MS;
	draw_policy(p);
	draw_readers(p);
	draw_turns(p);
	if (p->troubles || (views && !p->elections_max))
		draw_views(p, &v);
	if (p->seals || (views && p->lease_ms && rng_chance(&v, 400)))
		draw_seals(p);
	if (p->durabilities)
		draw_durabilities(p);
	if (p->lockers)
		draw_locks(p);
	if (stores || p->segment_bytes)
		draw_store(p);
	if (!p->durability)
		p->durability = NFS4R_DURABILITY_LOCAL;
	p->base = p->servers;
	if (p->members)
		draw_members(p, servers);
	if (p->away_us && servers == 3)
		p->away_us /= 2;
}

void plan_print(const struct plan *p, char *buf, size_t len)
{
	size_t n;

	snprintf(buf, len,
		 "mode %s, %u of %u servers, %u clients each, work %llu ms, think %llu ms, loss %u, dup %u, lag %llu/%llu ms, "
		 "%u slow paths %llu ms, cut every %llu ms for %llu, crash every %llu ms (machine %u/1000), sync %llu us, "
		 "exec %llu us, apply %llu us, checkpoint %llu ms, window %u, idle %u ms, deep %s %u ms, promote %u, deep+ %u, "
		 "contested %u ms, read idle %u ms, revoke %u ms, turn %u ms, announce %u ms, holdoff %u ms, share %u, bursts %u",
		 p->mode->name, p->base, p->servers, p->clients, (unsigned long long)(p->work_us / MS),
		 (unsigned long long)(p->think_us / MS), p->loss, p->dup, (unsigned long long)(p->lag_us / MS),
		 (unsigned long long)(p->bulk_lag_us / MS), p->slow_paths, (unsigned long long)(p->slow_us / MS),
		 (unsigned long long)(p->cut_every_us / MS), (unsigned long long)(p->cut_for_us / MS),
		 (unsigned long long)(p->crash_every_us / MS), p->machine_crash, (unsigned long long)p->sync_us,
		 (unsigned long long)p->exec_us, (unsigned long long)p->apply_us,
		 (unsigned long long)(p->checkpoint_us / MS), p->window, p->idle_ms, p->deep ? "on" : "off",
		 p->deep_ms, p->escalate_count, p->deep_plus_count, p->contested_ms, p->read_ms, p->revoke_ms, p->turn_ms, p->announce_ms, p->holdoff_ms,
		 p->share_reads, p->bursts);
	n = strlen(buf);
	if (p->lease_ms)
		snprintf(buf + n, len - n, ", lease %u ms, silence %u ms, drift %u/1000, %s %x every %llu ms for %llu", p->lease_ms,
			 p->silence_ms, p->drift_permille, p->one_trouble ? "one trouble of" : "troubles", p->troubles,
			 (unsigned long long)(p->trouble_every_us / MS), (unsigned long long)(p->trouble_for_us / MS));
	n = strlen(buf);
	if (p->commits)
		snprintf(buf + n, len - n, ", durability %u, commits %u, stable writes %u, given up after %llu/%u ms, repair crash %u, losses %u, keeps %u, away %llu ms",
			 p->durability, p->commits, p->stable_writes, (unsigned long long)(p->give_up_us / MS), p->abandon_ms,
			 p->repair_crash, p->losses, p->keep, (unsigned long long)(p->away_us / MS));
	n = strlen(buf);
	if (p->segment_bytes)
		snprintf(buf + n, len - n, ", stores: segments of %llu, laid out %llu ahead, %u ends in order, %u deaths while opening, a disk dies/is full/breaks %u/%u/%u every %llu ms",
			 (unsigned long long)p->segment_bytes, (unsigned long long)p->ahead_bytes, p->closes, p->open_dies, p->disk_dies, p->disk_full, p->disk_breaks,
			 (unsigned long long)(p->disk_every_us / MS));
}
