/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The command: runs seeds, in several processes, and says how to see a failure again.
 *
 *   nfs4r-sim [--seed N] [--seeds FROM COUNT] [--fresh COUNT] [--file SEEDS.TXT] [--twice] [--hashes]
 *             [--servers 3|5|1] [--mode NAME] [--steps N] [--trace] [--fault N] [--jobs N]
 *             [--list] [--faults BUDGET [--file FAULT_SEEDS.TXT] [--learn FAULT_SEEDS.TXT]] [--long-cuts] [--store real]
 *
 * --hashes prints the trace hash of each run: a change that only moves code leaves all of them as they are.
 *
 * Without any of them SEEDS (environment) or 1000 fresh seeds. A worker process that dies, by an
 * assertion of the core for example, counts as a finding of the seed it was at.
 */
#include "sim.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/fault.h"
#include "platter.h"
#include "store/fault.h"

#define LOCKS_SEEDS 20 /* so many of a mode with locks have to show everything that locks can do */
#define POLICY_SEEDS 1000 /* so many of all modes have to show everything the policy can do */

struct options {
	uint64_t from, count;
	uint32_t servers, jobs, fault;
	const struct mode *mode;
	uint64_t steps;
	bool trace, twice, hashes, long_cuts, stores;
	bool all_of_policy; /* everything the policy can do must have happened */
	const char *file, *learn; /* with faults: what caught them last time, and where to write what does now */
	uint64_t faults_budget;
};

struct shared { /* between the workers */
	uint64_t next, done;
	uint64_t failed_seed;
	uint32_t failed;
	struct totals totals;
	struct {
		uint64_t seed;
		char text[1024];
	} worker[64];
};

/* ---- one seed ---------------------------------------------------------------------- */

static void add_totals(struct totals *t, const struct totals *one)
{
	uint64_t max = __atomic_load_n(&t->removal_max_us, __ATOMIC_RELAXED);

	for (size_t i = 0; i < offsetof(struct totals, removal_max_us) / sizeof(uint64_t); i++)
		__atomic_add_fetch((uint64_t *)t + i, ((const uint64_t *)one)[i], __ATOMIC_RELAXED);
	while (max < one->removal_max_us && !__atomic_compare_exchange_n(&t->removal_max_us, &max, one->removal_max_us, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static int run_seed(const struct options *o, uint64_t seed, char *why, size_t len, struct totals *t, uint64_t *hash)
{
	struct sim *s = calloc(1, sizeof(*s));
	struct plan plan;
	char text[900];
	int bad;

	plan_draw(&plan, seed, o->mode, o->servers, o->stores);
	plan.fault = o->fault;
	if (o->steps)
		plan.work_us = o->steps * MS;
	if (o->long_cuts) { /* longer than a forwarded operation waits for its answer */
		plan.cut_every_us = 4 * SECOND;
		plan.cut_for_us = 14 * SECOND;
		plan.work_us = 25 * SECOND;
	}
	plan_print(&plan, text, sizeof(text));
	if (o->trace)
		printf("seed %llu: %s\n", (unsigned long long)seed, text);
	bad = sim_run(s, &plan, o->trace);
	if (bad)
		snprintf(why, len, "seed %llu (%s): %.900s", (unsigned long long)seed, plan.mode->name, s->failure);
	if (hash)
		*hash = s->hash;
	if (o->hashes) {
		printf("%s %llu %u %016llx\n", plan.mode->name, (unsigned long long)seed, plan.servers, (unsigned long long)s->hash);
		fflush(stdout); /* a worker leaves by _exit() */
	}
	if (t)
		add_totals(t, &s->totals);
	if (!bad) /* after a failure the core may be in any state */
		sim_fini(s);
	if (!bad)
		free(s);
	return bad;
}

static int run_twice(const struct options *o, uint64_t seed, char *why, size_t len, struct totals *t)
{
	uint64_t a = 0, b = 0;

	if (run_seed(o, seed, why, len, t, &a) || run_seed(o, seed, why, len, NULL, &b))
		return 1;
	if (a == b)
		return 0;
	snprintf(why, len, "seed %llu: two runs differ, %016llx and %016llx", (unsigned long long)seed,
		 (unsigned long long)a, (unsigned long long)b);
	return 1;
}

/* ---- many seeds ----------------------------------------------------------------------- */

static void worker(const struct options *o, struct shared *sh, uint32_t me)
{
	for (;;) {
		uint64_t n = __atomic_fetch_add(&sh->next, 1, __ATOMIC_RELAXED), seed = o->from + n;
		char *why = sh->worker[me].text;

		if (n >= o->count || __atomic_load_n(&sh->failed, __ATOMIC_RELAXED))
			break;
		sh->worker[me].seed = seed;
		snprintf(why, 1024, "seed %llu: the worker died", (unsigned long long)seed);
		if (o->twice ? run_twice(o, seed, why, 1024, &sh->totals) :
			       run_seed(o, seed, why, 1024, &sh->totals, NULL))
			_exit(1);
		__atomic_add_fetch(&sh->done, 1, __ATOMIC_RELAXED);
	}
	_exit(0);
}

/* 0, or 1 with the smallest failing seed and its text. */
static int run_many(const struct options *o, struct shared *sh, uint64_t *seed, char *why, size_t len)
{
	pid_t pids[64];
	uint32_t jobs = o->count < o->jobs ? (uint32_t)o->count : o->jobs;
	int status, bad = 0;

	memset(sh, 0, sizeof(*sh));
	fflush(NULL);
	for (uint32_t i = 0; i < jobs; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			worker(o, sh, i);
	}
	for (uint32_t k = 0; k < jobs; k++) {
		pid_t pid = wait(&status);
		uint32_t i = 0;

		platters_of(pid);

		while (i < jobs && pids[i] != pid)
			i++;
		if (i == jobs || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
			continue;
		__atomic_store_n(&sh->failed, 1, __ATOMIC_RELAXED);
		if (bad && *seed < sh->worker[i].seed)
			continue;
		bad = 1;
		*seed = sh->worker[i].seed;
		snprintf(why, len, "%s", sh->worker[i].text);
	}
	return bad;
}

static void print_totals(const struct totals *t, uint64_t seeds)
{
#define N(x) (unsigned long long)t->x
	printf("%llu seeds: %llu steps, %llu operations (%llu ok, %llu delay, %llu other), %llu entries, %llu applied, "
	       "%llu reads (%llu asked an owner, %llu delay), %llu messages, %llu crashes (%llu of machines, %llu entries lost), "
	       "%llu cuts\n",
	       (unsigned long long)seeds, N(steps), N(ops), N(ok), N(delays), N(errors), N(entries), N(applied), N(reads),
	       N(reads_forwarded), N(read_delays), N(messages), N(crashes), N(machine_crashes), N(lost), N(cuts));
#undef N
	policy_print(t);
	if (t->no_room)
		printf("  %llu operations refused for lack of room, %llu disks filled by something else, %llu entries that found no room\n", (unsigned long long)t->no_room,
		       (unsigned long long)t->filled, (unsigned long long)t->crowded);
	if (t->with_views)
		views_print(t);
	if (t->added)
		members_print(t);
	if (t->reconfigured)
		reconf_print(t);
	liar_print(t);
	if (t->replaced)
		releases_print(t);
	if (t->settings_changed)
		settings_print(t);
	if (t->seals)
		seals_print(t);
	if (t->lock_asks)
		locking_print(t);
	if (t->store_starts)
		stores_print(t);
}

static void print_again(const struct options *o, uint64_t seed)
{
	printf("again: nfs4r-sim --seed %llu%s%s", (unsigned long long)seed, o->mode ? " --mode " : "",
	       o->mode ? o->mode->name : "");
	if (o->servers)
		printf(" --servers %u", o->servers);
	if (o->fault)
		printf(" --fault %u", o->fault);
	if (o->steps)
		printf(" --steps %llu", (unsigned long long)o->steps);
	if (o->long_cuts)
		printf(" --long-cuts");
	if (o->stores)
		printf(" --store real");
	printf(" --trace\n");
}

static int run_range(const struct options *o, struct shared *sh)
{
	uint64_t seed = 0;
	char why[1024];

	printf("seeds %llu..%llu\n", (unsigned long long)o->from, (unsigned long long)(o->from + o->count - 1));
	if (run_many(o, sh, &seed, why, sizeof(why))) {
		printf("FAILED %s\n", why);
		print_again(o, seed);
		return 1;
	}
	print_totals(&sh->totals, sh->done);
	if (o->all_of_policy && policy_never(&sh->totals)) {
		printf("FAILED in %llu seeds %s\n", (unsigned long long)sh->done, policy_never(&sh->totals));
		return 1;
	}
	if (o->all_of_policy && views_never(&sh->totals)) {
		printf("FAILED in %llu seeds %s\n", (unsigned long long)sh->done, views_never(&sh->totals));
		return 1;
	}
	if (o->all_of_policy && seals_never(&sh->totals)) {
		printf("FAILED in %llu seeds %s\n", (unsigned long long)sh->done, seals_never(&sh->totals));
		return 1;
	}
	if (o->mode && !o->fault && o->count >= LOCKS_SEEDS && sh->totals.lock_asks && locking_never(&sh->totals)) {
		printf("FAILED in %llu seeds %s\n", (unsigned long long)sh->done, locking_never(&sh->totals));
		return 1;
	}
	return 0;
}

/* Lines "SEED [MODE [SERVERS]]", '#' begins a remark. */
static int run_file(const struct options *given, struct shared *sh)
{
	FILE *f = fopen(given->file, "r");
	char line[256], mode[32];
	int bad = 0;
	uint64_t n = 0;

	if (!f) {
		printf("%s: %s\n", given->file, strerror(errno));
		return 1;
	}
	while (!bad && fgets(line, sizeof(line), f)) {
		struct options o = *given;
		unsigned long long seed;
		unsigned servers = 0;
		int got;

		line[strcspn(line, "#\n")] = 0;
		got = sscanf(line, "%llu %31s %u", &seed, mode, &servers);
		if (got < 1)
			continue;
		o.from = seed;
		o.count = 1;
		o.mode = got > 1 && strcmp(mode, "-") ? mode_find(mode) : NULL;
		o.servers = servers;
		bad = run_range(&o, sh);
		n++;
	}
	fclose(f);
	printf("%llu seeds of %s\n", (unsigned long long)n, given->file);
	return bad;
}

/* ---- rules switched off ------------------------------------------------------------------ */

#define HINTED_SEEDS 4000 /* of the mode that was made for a rule */
#define ROUND_SEEDS 10 /* of every mode, times 1, 4, 16... up to the budget */

/*
 * Modes in which a rule decides; the others are tried after them. Two rules cannot be noticed from
 * outside while the view is fixed. A predecessor from another log is never missing (log 3.4), since
 * control moves only when everybody has everything stably (log 3.10). And a floor that is too high (control 4.8)
 * costs elections, which are tried again, and nothing else: what it makes a granter forget
 * it makes it ignore as well.
 */
static const struct {
	uint32_t fault;
	const char *mode;
} hints[] = {
	{ F_NO_MOVED_CLAIM, "moveout" },
	{ F_IN_NOT_RAISED, "in" },
	{ F_IN_STARTS_AT_ZERO, "in_before" },
	{ F_NO_BARRIER, "barrier" },
	{ F_RESTART_KEEPS_ACKS, "in_restart" },
	{ F_RESTART_IN_ZERO, "in_restart" },
	{ F_MOVED_COUNTS, "settled" },
	{ F_PLAIN_DEEP_COUNTS, "in_before" },
	{ F_5_3B_NOT_ACKED, "in_before" },
	{ F_5_3B_MULTI, "multi" },
	{ F_5_3B_IN, "in" },
	{ F_5_3B_LAST, "dropback2" },
	{ F_READ_NO_DEEP_PLUS, "in" },
	{ F_READ_NEAREST_DEEP, "in" },
	{ F_NOT_PRIMARY_LOCAL, "old_release" },
	{ F_SERVE_ALWAYS, "old_release" },
	{ F_NO_SKIP, "crash" },
	{ F_MOVE_OVERTAKES, "overtake" },
	{ F_DUPLICATE_AT_ONCE, "duplicate" },
	{ F_NO_DEEP_BELOW, "deep" },
	{ F_LINK_NOT_EXPLICIT, "linkdeep" },
	{ F_MOVED_OUT_BARE, "moveout" },
	{ F_GRANT_PLUS, "deep" },
	{ F_NAMES_OF_MULTI, "unlink" },
	{ F_DROP_AT_ONCE, "dropback2" },
	{ F_WAIT_FOR_LOST, "bursts" },
	{ F_REPLY_OWN_CONTROL, "settled" },
	{ F_PINS_IGNORED, "writers" },
	{ F_SIDE_NO_DEADLINE, "power" },
	{ F_LEASE_IGNORED, "views-stop" },
	{ F_PROMISE_AT_ONCE, "views" },
	{ F_GRANT_REMOVED, "views-power" },
	{ F_REMOVED_VOTES, "views-cut" },
	{ F_OWN_BASE, "views-cut" },
	{ F_VIEW_UNSAVED, "views-restart" },
	{ F_JOIN_NO_ROWS, "views-restart" },
	{ F_JOIN_EARLY, "views-hand" },
	{ F_JOIN_FORGOTTEN, "views-join" },
	{ F_RELEASE_UNLEASED, "views-join" },
	{ F_WITNESS_CAME_LATER, "views-stop" },
	{ F_NO_EPOCH, "seals-commit" },
	{ F_VIEW_NOT_AWAITED, "seals-forward" },
	{ F_NOT_QUORUM_DURABLE, "seals-majority" },
	{ F_ANSWER_UNDONE, "seals-commit" },
	{ F_WRITE_OVER_SEAL, "seals-forward" },
	{ F_NO_FREEZE, "seals-majority" },
	{ F_OLD_ACCEPT_LIFTS, "seals-power" },
	{ F_ACCEPT_WITHOUT_LOG, "seals-twice" },
	{ F_SERVE_UNCROSSED, "seals-commit" },
	{ F_CROSS_AHEAD, "seals-commit" },
	{ F_FORGOT_VOTES, "views-amnesia" },
	{ F_FORGOT_GRANTS, "seals-amnesia" },
	{ F_FORGOT_STAYS, "views-amnesia" },
	{ F_STARTS_FORGOTTEN, "views-amnesia" },
	{ F_REPAIR_UNSEALED, "views-amnesia" },
	{ F_SEQ_AGAIN, "views-amnesia" },
	{ F_FUZZY_IN_FLIGHT, "seals-late" },
	{ F_FUZZY_OWN, "seals-late" },
	{ F_STORE_SYNC_LATE, "store-slow" },
	{ F_STORE_NO_NAMES, "store-power" },
	{ F_STORE_TORN, "store-power" },
	{ F_STORE_REPLAY_LATE, "store-crash" },
	{ F_STORE_MARK_UNSYNCED, "store-slow" },
	{ F_STORE_POS_AHEAD, "store-crash" },
	{ F_STORE_LMDB_AHEAD, "store-power" },
	{ F_STORE_NO_CARRY, "store-slow" },
	{ F_STORE_HOLE, "store-hole" },
	{ F_STORE_TAIL_WHOLE, "store-power" },
	{ F_STORE_BEHIND_HOLE, "store-power" },
	{ F_STORE_TELL_FILES, "store-slow" },
	{ F_STORE_TELL_JOURNAL, "store-slow" },
	{ F_STORE_ZEROS_END, "store-power" },
	{ F_STORE_HOLE_STAYS, "store-process-holes" },
	{ F_STORE_BEGUN, "store-crash" },
	{ F_STORE_NOT_ASIDE, "store-aside" },
	{ F_STORE_HOT_UNSAVED, "store-die" },
	{ F_FUZZY_STABLE, "seals-late" },
	{ F_FUZZY_SEALED, "seals-late" },
	{ F_DROP_UNSTABLE, "seals-away" },
	{ F_LATE_WAITS, "seals-away" },
	{ F_VOTERS_UNASKED, "members" },
	{ F_LEARNER_KNOWN, "members-power" },
	{ F_ANNOUNCED_COMPLETES, "create" },
	{ F_ANNOUNCED_AT_ONCE, "writers" },
	{ F_ANNOUNCED_FORGOTTEN, "hot" },
	{ F_POSITION_IGNORED, "views-image" },
	{ F_TOLD_FORGOTTEN, "overtake" },
	{ F_TOLD_RESTART, "in_restart" },
	{ F_LEFT_UNCONFIRMED, "views-leave" },
	{ F_LEFT_KEEPS_LEASE, "views-leave" },
	{ F_STUCK_STAYS, "views-full-one" },
	{ F_STUCK_RETURNS, "views-full" },
	{ F_SPACE_IGNORED, "full" },
	{ F_SPACE_UNDER_WAY, "full" },
	{ F_SECRET_ANEW, "secret" },
	{ F_SECRET_UNDECIDED, "secret" },
	{ F_VERSION_EARLY, "releases" },
	{ F_FORMAT_EARLY, "releases" },
	{ F_FINISH_UNHEARD, "releases" },
	{ F_VERSION_ANEW, "releases" },
	{ F_GRANT_SHORTENS, "settings" },
	{ F_LEASE_BY_VIEW, "settings" },
	{ F_ENDS_AT_ONCE, "durability" },
	{ F_ANSWERS_BY_OLD, "durability" },
	{ F_DURABILITY_OF_FILE, "durability" },
	{ F_VIEW_BELIEVED, "views-liar" },
	{ F_ACCEPT_UNPROMISED, "views-liar" },
	{ F_ENTRIES_OF_ANYBODY, "views-liar" },
	{ F_LOCK_WHILE_CLOSING, "locks" },
	{ F_LOCK_NO_LIST, "locks" },
	{ F_LOCK_EMPTY_LIST, "locks" },
	{ F_LOCK_UNNUMBERED, "locks-hot" },
	{ F_LOCK_ROW_AGAIN, "locks" },
	{ F_UNLOCK_INCOMPLETE, "locks" },
	{ F_UNLOCK_ONCE, "locks" },
	{ F_LOCK_NOT_RESERVED, "locks-hot" },
	{ F_LOCK_NO_REQUEUE, "locks" },
	{ F_LOCK_NO_GAP, "locks-restart" },
	{ F_CLIENT_UNHELD, "locks-restart" },
	{ F_LOCK_NUMBERS_ANEW, "locks-restart" },
	{ F_LOCK_GONE_ANY, "locks-restart" },
	{ F_LOCK_GONE_BACK, "locks-restart" },
	{ F_LOCK_RECLAIM_NEW, "locks-restart" },
	{ F_LOCK_NOT_COMPLETED, "locks-restart" },
	{ F_LOCK_ORPHANS_AT_ONCE, "locks-cut" },
	{ F_LOCK_LOST_UNHELD, "locks-storm" },
	{ F_LOCK_ORPHANS_IN_ROWS, "locks-cut" },
	{ F_LOCK_NO_FENCE, "locks-cut" },
	{ F_LOCK_GAP_UNNOTED, "locks-cut" },
	{ F_LOCK_ACK_NO_GAP, "locks-cut" },
	{ F_LOCK_JOIN_KEEPS_GAPS, "locks-storm" },
	{ F_LOCK_RELEASE_IN_GAP, "locks-restart" },
	{ F_LOCK_AWAITS_MEMBERS, "locks-cut" },
	{ F_LOCK_LIST_NO_OPEN, "locks-restart" },
	{ F_LOCK_HEARD_ONLY, "locks-restart" },
};

/*
 * Not tried here; a scenario sees each of them (t_prevents.c, t_prevents_policy.c, t_prevents_views.c, t_prevents_seals.c,
 * t_prevents_memory.c, t_prevents_retention.c, t_prevents_members.c, t_prevents_reconfigure.c). The first two: see above. The next four cost
 * round trips and nothing else. A server that answers reads before it has won has everything that was completed: who could
 * have completed more needs everybody's ack, the reader's too. And a drop back on a plain deep control that is not acked by all
 * shows only when one server is deaf to two messages in a row. The next two want things to
 * happen within one round trip: a voter's restart between a grant and a PREPARE, a death between an ack and the entry it spoke of.
 * After them one wants two moves that make a ring, in logs that reach one that was away in the wrong order. The next five want a member
 * that has more of a log than all who promise its end, or a reader between two servers' adoption of one view. The next six are about who
 * hears what of a server that forgot within a round trip, or that only one remembers it. The next one wants a message that is under way
 * from before a server's removal until after its return (seed 830128 of views-amnesia). The next costs disk space and nothing else. Then one wants a server that
 * undoes what it wrote to a file while that is inexact at its source, and then the death of whoever has it exact (seed 854615 of seals-late).
 * The next four want two servers of five taken out, and those that are left know nothing of what these had, or a lease that ends a moment later
 * (t_prevents_members.c). One wants a loss of power within a sync (seed 176300000026264), one the death of a server that was away
 * and has just got entries of two logs, one upon the other (seed 1051 of store-seals-die), one a loss of power between the last ack and the next sync
 * (seed 128193221574205 of dropback2). The next five want two things within a round trip, or a step, in the course of a release or a return that is rare by itself
 * (seeds 600000000116966, 600000000247159, 500000000014846; 689 of seals-image with five servers; 600000000019564 in the shipped core without the rule). One wants an old store that has what its owner lost,
 * and an owner that does nothing more (seed 910000000617205). The last ones want servers that an
 * administrator calls dead, and which are not, or answers that come late. One wants content that is in doubt after a crash, which is not modelled. One wants who is outside to crash
 * with its machine while one of only two members has an old disk (seed 910000000679152). One wants two claims of one file, of which the one whose close was announced is in use after a
 * restart (seed 910000000762030), and one two of three members who are each told to take out the other while the third goes (seed 950000000787790).
 * Of the next ten, F_SOURCE_ANEW wants the source of a repair to lose with its machine what it had just told of, and to answer again before the repair is
 * given up. The others cost somebody his turn, or round trips, and nothing else. The last wants a restart in the round trip
 * and a half from an announcement to the release, and then an update that one server lacks, and has only that claim to ask by. Two want a message of an old connection that comes when a new
 * one stands, and there are none here (net.c). The next one is about what an execution leaves behind when it fails, and none does here (t_prevents_stuck.c).
 * The next two are about room and limits (t_prevents_space.c); the reserve of a disk covers the first of them here. What the next one passes over is in the tree here all the same.
 * Of the next four one wants a server that has halted to say so, and here it ends in the same moment (t_prevents_stuck.c). One wants a caller who may not do
 * something (t_prevents.c), one a secret in a volume with a fixed view (t_prevents_secret.c), and one more time than a run has (t_prevents_views.c). The last two are
 * about repairs (t_prevents_seals.c). One wants a log to end between the positions of a repaired copy and those of its source. The other wants a repair of files that
 * have another version at every source, and that lasts longer than the pause after it (seed 18044325201831).
 * Nobody puts a server back here when the upgrade is being finished (t_prevents_versions.c). One is about keys of servers, and none are here (t_prevents_members.c).
 * Two are about leases that are set, and a voter that starts seldom is the one whose long grant still runs (t_prevents_settings.c).
 * What stands still ends before a run does, and then nobody waits any more (t_prevents_stuck.c).
 * The last five are about locks: answers, reclaims and words that come late, and that another rule catches, too, unless several things fall into one round trip (t_prevents_locks.c,
 * t_prevents_gaps.c); and two about the order of a queue, which nobody is promised (t_prevents_locks.c).
 * Nor does anybody here open a file in a way that denies others anything (t_prevents_shares.c).
 * The last ones were found here, and show in one of some thousand seeds (t_prevents_tables.c, t_prevents_gaps.c, t_prevents_clients.c).
 */
static const uint32_t elsewhere[] = { F_NO_VERSION_WAIT, F_FLOOR_TOO_HIGH, F_ASK_DROPS_MULTI, F_SIDE_COUNTS,
				      F_NARROW_AT_ONCE, F_DIRS_KEEP_PLUS, F_SERVE_PROPOSING, F_LAST_NOT_ACKED,
				      F_NO_START_WAIT, F_KEEPS_PROPOSALS, F_MOVE_BEFORE_OTHERS,
				      F_ANSWER_BEFORE_VIEW, F_SEAL_UNPROMISED, F_SEAL_INCOMPLETE, F_LIST_UNCROSSED,
				      F_UNDONE_REPLIES, F_FORGOT_ACKS, F_FORGOT_RELEASES, F_NEW_HEARS_SOME,
				      F_KNOWN_AT_ONCE, F_OUTSIDE_AT_ONCE, F_SEAL_CLAIMED, F_OLD_REQUEST, F_SLOW_STAYS,
				      F_UNDO_EMPTIES, F_VOTERS_UNACKED, F_VOTERS_NOT_DURABLE, F_LEASE_OLD_VOTERS,
				      F_VOTERS_AT_ONCE, F_OWN_VOTE_UNSAVED, F_BUILDS_ON_HOLE, F_COMPLETES_UNSAVED,
				      F_FORGOT_APPLIES, F_MOVE_HALF_COVERED, F_GIVES_HALF_COPY, F_KNOWN_UNNOTICED, F_TAKES_LOST_NUMBER,
				      F_OLD_COPY_COUNTS, F_RECONF_UNSAVED, F_RECONF_OLD_VOTES, F_RECONF_OLD_GRANTS,
				      F_RECONF_SERVES, F_RECONF_SOME, F_RECONF_ANY_SET, F_RECONF_HEARD,
				      F_RECONF_INCOMPLETE, F_RECONF_LOGS_GO_ON, F_RECONF_KEEPS_COPY, F_NEWER_FORGOTTEN, F_FORGOT_AWAITED, F_LAST_ANNOUNCED, F_REMOVAL_STAYS, F_COUNTED_BEFORE,
				      F_REVOKE_CANCELLED, F_YIELDS_AGAIN, F_PROMOTES_OVER_OTHERS,
				      F_CLIMBS_OVER_CONTESTED, F_YIELD_IN_USE, F_NO_TURNS, F_TURN_NOW_AND_THEN,
				      F_NARROWS_TWICE, F_SOURCE_ANEW, F_YIELD_WRITTEN, F_ANNOUNCED_UNSAVED,
				      F_LEFT_OF_OLD_START, F_GRANT_OF_OLD_START,
				      F_BEGUN_IS_EXACT, F_SPACE_WHOLE, F_LIMITS_OWN,
				      F_PASSED_IS_EXACT, F_HALTED_UNHEARD, F_REFUSED_EXECUTES, F_SECRET_UNHEARD, F_VERSION_UNKNOWN,
				      F_NUMBERS_LEAP, F_REACH_FORGOTTEN, F_LIST_AT_ONCE, F_KEY_AT_ONCE, F_START_SHORT, F_GRANT_UNSAVED, F_HUNG_WAITS,
				      F_LOCK_OLD_GRANT, F_LOCK_RECLAIM_ANY, F_LOCK_END_ONCE, F_LOCK_ANSWER_AFTER_LIST, F_LOCK_OLD_END, F_LOCK_ORDER_ANEW, F_LOCK_QUEUE_SENT_AROUND,
				      F_GUARD_SOME, F_GUARD_UNMARKED, F_UNGUARD_ANY, F_SHARE_OLD_GRANT, F_SHARE_ONCE, F_SHARE_UNNUMBERED,
				      F_LOCK_LIST_OLDER, F_LOCK_LOST_WAITS, F_LOCK_ANSWER_KEPT, F_LOCK_WAITS_ON, F_LAST_BEFORE_GAP, F_LOCK_GAP_ROWS, F_WRITE_OF_OUTSIDE,
				      F_CLIENT_GONE_SINCE, F_LOCK_JOIN_DROPS_GAPS, F_LOCK_BEFORE_ALL_KNOWN, F_LOCK_FENCED_EARLY, F_LOCK_LOST_AHEAD, F_LOCK_READY_STAYS, F_LOCK_JOIN_OF_FEW, F_LOCK_READY_AGAIN, F_LOCK_LOST_UNHELD, F_READ_LOCKED_MORE, F_READ_LOCKED_TOLD, F_READ_LOCKED_LAGS, F_LOCK_ASKED_IN_TURN };

static bool is_elsewhere(uint32_t fault)
{
	for (uint32_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
		if (elsewhere[i] == fault)
			return true;
	return false;
}

struct hunt { /* for one fault */
	struct shared *sh;
	struct options o;
	FILE *learn;
	uint64_t used; /* seeds that were run */
	char why[1024];
};

/* Runs seeds of one mode with the fault on; true when something was found. */
static bool try_fault(struct hunt *h, const struct mode *m, uint64_t count)
{
	uint64_t seed = 0;
	bool found;

	h->o.from = 1;
	h->o.count = count;
	h->o.mode = m;
	found = run_many(&h->o, h->sh, &seed, h->why, sizeof(h->why));
	h->used += found ? seed : count;
	if (found && h->learn)
		fprintf(h->learn, "%u %s %llu\n", h->o.fault, m->name, (unsigned long long)seed);
	return found;
}

/* The seed that caught it last time; one that fails with the rule, too, says nothing. Each change of the core may make it miss. */
static bool try_known(struct hunt *h)
{
	FILE *f = h->o.file ? fopen(h->o.file, "r") : NULL;
	char line[256], mode[32];
	unsigned long long seed;
	uint64_t failed = 0;
	unsigned fault;
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		struct options o = h->o;

		if (sscanf(line, "%u %31s %llu", &fault, mode, &seed) != 3 || fault != o.fault || !(o.mode = mode_find(mode)))
			continue;
		o.from = seed;
		o.count = 1;
		h->used += 2;
		found = run_many(&o, h->sh, &failed, h->why, sizeof(h->why));
		o.fault = 0;
		if (found) {
			char other[sizeof(h->why)];

			found = !run_many(&o, h->sh, &failed, other, sizeof(other));
		}
		if (found && h->learn)
			fprintf(h->learn, "%u %s %llu\n", fault, mode, seed);
	}
	if (f)
		fclose(f);
	return found;
}

_Static_assert(NFS4R_FAULT_COUNT <= NFS4R_STORE_FAULT_FIRST, "one number, two faults");

/* NULL: no such fault. */
static const char *fault_text(uint32_t fault)
{
	static const char *const store[] = {
#define X(name, rule, what) [name - NFS4R_STORE_FAULT_FIRST] = rule ": " what,
		NFS4R_STORE_FAULTS_EACH(X) NFS4R_STORE_TOLD_FAULTS_EACH(X) NFS4R_STORE_END_FAULTS_EACH(X) NFS4R_STORE_ASIDE_FAULTS_EACH(X)
#undef X
	};

	return fault < NFS4R_STORE_FAULT_FIRST ? nfs4r_core_fault_text(fault) : store[fault - NFS4R_STORE_FAULT_FIRST];
}

/* @learnt is closed. It was gathered apart: @path may be what was read. */
static bool keep_learnt(FILE *learnt, const char *path)
{
	FILE *f = learnt ? fopen(path, "w") : NULL;
	int c;
	bool ok = f != NULL;

	if (ok)
		rewind(learnt);
	while (ok && (c = getc(learnt)) != EOF)
		ok = putc(c, f) != EOF;
	if (f && fclose(f) != 0)
		ok = false;
	if (!ok)
		printf("%s: %s\n", path, strerror(errno));
	if (learnt)
		fclose(learnt);
	return ok;
}

static int run_faults(const struct options *given, struct shared *sh)
{
	uint32_t caught = 0, all = 0;
	FILE *learn = given->learn ? tmpfile() : NULL;

	if (given->file && access(given->file, R_OK) != 0) {
		printf("%s: %s\n", given->file, strerror(errno));
		return 1;
	}

	for (uint32_t f = 1; f < NFS4R_STORE_FAULT_END; f++) {
		struct hunt h = { .sh = sh, .o = *given, .learn = learn };
		bool found;

		if (!fault_text(f) || (given->fault ? given->fault != f : is_elsewhere(f)))
			continue;
		h.o.fault = f;
		all++;
		found = try_known(&h);
		for (uint32_t i = 0; !found && i < sizeof(hints) / sizeof(hints[0]); i++)
			if (hints[i].fault == f)
				found = try_fault(&h, mode_find(hints[i].mode), HINTED_SEEDS);
		for (uint64_t round = 1; !found && f < NFS4R_STORE_FAULT_FIRST && round <= given->faults_budget; round *= 4)
			for (uint32_t m = 0; !found && m < nmodes; m++)
				found = try_fault(&h, &modes[m], round * ROUND_SEEDS);
		caught += found;
		printf("%2u %-6s %6llu seeds  %s\n", f, found ? "caught" : "MISSED", (unsigned long long)h.used,
		       fault_text(f));
		if (found)
			printf("       %.200s\n", h.why);
		fflush(stdout);
	}
	printf("%u of %u faults caught\n", caught, all);
	if (given->learn && !keep_learnt(learn, given->learn))
		return 1;
	return caught == all ? 0 : 1; /* else the checkers fail */
}

/* ---- command line --------------------------------------------------------------------------- */

static int usage(void)
{
	printf("nfs4r-sim [--seed N] [--seeds FROM COUNT] [--fresh COUNT] [--file FILE] [--twice] [--hashes]\n"
	       "          [--servers 3|5|1] [--mode NAME] [--steps MS] [--trace] [--fault N] [--jobs N] [--list]\n"
	       "          [--faults BUDGET [--file FILE] [--learn FILE]] [--long-cuts] [--store real]\n");
	for (uint32_t i = 0; i < nmodes; i++)
		printf("  %-16s %s\n", modes[i].name, modes[i].what);
	for (uint32_t i = 0; i < nnamed_modes; i++)
		printf("  %-16s %s\n", named_modes[i].name, named_modes[i].what);
	for (uint32_t i = 0; i < nstore_modes; i++)
		printf("  %-16s %s\n", store_modes[i].name, store_modes[i].what);
	return 2;
}

static uint64_t fresh_base(void)
{
	return (uint64_t)time(NULL) * 100000;
}

/* Only these have more than at first. */
static bool may_begin_with_one(const struct mode *m)
{
	return m && !strncmp(m->name, "members", strlen("members"));
}

static bool parse(int argc, char **argv, struct options *o)
{
	for (int i = 1; i < argc; i++) {
		const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : "";

		if (!strcmp(a, "--seed"))
			o->from = strtoull(v, NULL, 0), o->count = 1, i++;
		else if (!strcmp(a, "--seeds") && i + 2 < argc)
			o->from = strtoull(v, NULL, 0), o->count = strtoull(argv[i + 2], NULL, 0), i += 2;
		else if (!strcmp(a, "--fresh"))
			o->from = fresh_base(), o->count = strtoull(v, NULL, 0), i++;
		else if (!strcmp(a, "--file"))
			o->file = v, i++;
		else if (!strcmp(a, "--servers"))
			o->servers = (uint32_t)strtoul(v, NULL, 0), i++;
		else if (!strcmp(a, "--mode"))
			o->mode = mode_find(v), i++;
		else if (!strcmp(a, "--steps"))
			o->steps = strtoull(v, NULL, 0), i++;
		else if (!strcmp(a, "--fault"))
			o->fault = (uint32_t)strtoul(v, NULL, 0), i++;
		else if (!strcmp(a, "--jobs"))
			o->jobs = (uint32_t)strtoul(v, NULL, 0), i++;
		else if (!strcmp(a, "--faults"))
			o->faults_budget = strtoull(v, NULL, 0), i++;
		else if (!strcmp(a, "--learn"))
			o->learn = v, i++;
		else if (!strcmp(a, "--store") && !strcmp(v, "real"))
			o->stores = true, i++;
		else if (!strcmp(a, "--trace"))
			o->trace = true;
		else if (!strcmp(a, "--long-cuts"))
			o->long_cuts = true;
		else if (!strcmp(a, "--twice"))
			o->twice = true;
		else if (!strcmp(a, "--hashes"))
			o->hashes = true;
		else
			return false;
		if (!strcmp(a, "--mode") && !o->mode)
			return false;
	}
	o->all_of_policy = o->count >= POLICY_SEEDS && !o->mode && !o->fault;
	return o->jobs >= 1 && o->jobs <= 64 && o->servers <= 5 && (o->servers != 1 || may_begin_with_one(o->mode)) && o->servers != 2;
}

int main(int argc, char **argv)
{
	const char *seeds = getenv("SEEDS");
	struct options o = { .from = 0, .jobs = 2 };
	struct shared *sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char why[1024];

	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	if (sh == MAP_FAILED || !parse(argc, argv, &o))
		return usage();
	if (o.faults_budget)
		return run_faults(&o, sh);
	if (o.file && run_file(&o, sh))
		return 1;
	if (o.file && !o.count)
		return 0;
	if (!o.count) {
		o.from = fresh_base();
		o.count = seeds ? strtoull(seeds, NULL, 0) : 1000;
		o.all_of_policy = o.count >= POLICY_SEEDS && !o.mode && !o.fault;
	}
	if (o.count > 1)
		return run_range(&o, sh);
	if (o.trace) { /* in this process, for a debugger */
		if (!run_seed(&o, o.from, why, sizeof(why), &sh->totals, NULL)) {
			print_totals(&sh->totals, 1);
			return 0;
		}
		printf("FAILED %s\n", why);
		platters_of(getpid());
		return 1;
	}
	return run_range(&o, sh);
}
