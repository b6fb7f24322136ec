/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Logs that end, with real engines: a server that is given up, what it had alone and what becomes of it at its return; going on without a server after
 * COMMIT was answered, or anything with durability majority; repairs that are interrupted, or have no room for what they undo.
 */
#include "lib/unit.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/engine_int.h"
#include "engine/update/update_int.h"
#include "lib/setback.h"
#include "machine.h"
#include "steps.h"

#define LEASE_MS 3000

/* The linker puts it before start_recover_intents(), which the start calls when the transport runs. */
static struct site *starts_slowly;

void __real_start_recover_intents(struct nfs4r_engine *eng, const struct nfs4r_store_info *info);
void __wrap_start_recover_intents(struct nfs4r_engine *eng, const struct nfs4r_store_info *info);

static size_t said_at(struct site *s, const char *text)
{
	pthread_mutex_lock(&s->lock);
	const char *at = strstr(s->logged, text);
	pthread_mutex_unlock(&s->lock);
	return at ? (size_t)(at - s->logged) : SIZE_MAX;
}

void __wrap_start_recover_intents(struct nfs4r_engine *eng, const struct nfs4r_store_info *info)
{
	for (int ms = 0; starts_slowly && ms < 10000 && said_at(starts_slowly, "resync complete, from server") == SIZE_MAX; ms += 10)
		pause_ms(10);
	__real_start_recover_intents(eng, info);
}

static uint64_t ms_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int begin_removing(void **state, uint32_t durability, bool machines, uint32_t checkpoint_ms, uint32_t silence_ms)
{
	struct cluster *c = cluster_new();

	c->machines = machines;
	if (checkpoint_ms)
		c->checkpoint_ms = checkpoint_ms;
	c->lease_ms = LEASE_MS;
	c->silence_ms = silence_ms;
	c->durability = durability;
	c->idle_ms = 20000; /* controls stay where they are */
	cluster_begin(c, state);
	wait_all_serve(c);
	return 0;
}

static int begin(void **state, uint32_t durability, bool machines, uint32_t checkpoint_ms)
{
	return begin_removing(state, durability, machines, checkpoint_ms, LEASE_MS);
}

static int setup(void **state)
{
	return begin(state, NFS4R_DURABILITY_LOCAL, false, 0);
}

static int setup_commit(void **state)
{
	return begin(state, NFS4R_DURABILITY_COMMIT, false, 0);
}

/* Nothing is synced but what is asked for. */
static int setup_commit_asked(void **state)
{
	return begin(state, NFS4R_DURABILITY_COMMIT, false, 600000);
}

static int setup_majority(void **state)
{
	return begin(state, NFS4R_DURABILITY_MAJORITY, true, 0);
}

/* A server is removed later than an operation is parked. */
static int setup_removed_late(void **state)
{
	return begin_removing(state, NFS4R_DURABILITY_MAJORITY, false, 0, 12000);
}

static int setup_machines(void **state)
{
	return begin(state, NFS4R_DURABILITY_LOCAL, true, 0);
}

/* A file system of our own, gone with this process. */
static int setup_mounts(void **state)
{
	*state = NULL;
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return 0;
	return setup(state);
}

static int teardown_mounts(void **state)
{
	struct cluster *c = *state;
	char conflicts[200];

	if (!c)
		return 0;
	snprintf(conflicts, sizeof(conflicts), "%s/conflicts", c->site[3].store);
	(void)umount2(conflicts, MNT_DETACH);
	return cluster_teardown(state);
}

static void abandon(struct site *s, nfs4r_server_id who)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_ABANDON, .peer = who };
	char why[200] = "";
	uint64_t lost;
	enum nfs4r_status st = NFS4R_INVAL;

	for (int i = 0; i < 1000 && st != NFS4R_OK; i++) { /* it may hear of the view a moment later than the other one */
		if (i)
			pause_ms(10);
		pthread_mutex_lock(&s->eng->lock);
		st = nfs4r_core_may_abandon(s->eng->core, who, &lost, why, sizeof(why));
		if (st == NFS4R_OK)
			engine_step(s->eng, &ev);
		pthread_mutex_unlock(&s->eng->lock);
	}
	if (st != NFS4R_OK)
		fail_msg("may not be given up: %s", why);
}

struct tree { /* what server 3 made and still controls */
	struct nfs4r_oid dir, over, moved, gone, grown, sub, deep;
};

static void plant(struct cluster *c, struct tree *t)
{
	struct nfs4r_oid root = site_root(&c->site[3]);
	struct site *s = &c->site[3];

	t->dir = make(s, NFS4R_OP_MKDIR, &root, "dir");
	t->over = make_file(s, &t->dir, "over", "as all know it");
	t->moved = make_file(s, &t->dir, "moved", "moved");
	t->gone = make_file(s, &t->dir, "gone", "to be deleted");
	t->sub = make(s, NFS4R_OP_MKDIR, &t->dir, "sub");
	t->deep = make_file(s, &t->sub, "deep", "deep");
	cluster_settle(c);
}

/* Server 3 goes on while nobody hears it, as long as its lease lasts. */
static void only_three_has(struct cluster *c, struct tree *t)
{
	struct site *s = &c->site[3];

	write_text(s, &t->over, "ONLY THREE HAS THIS, and it is longer");
	make_file(s, &t->dir, "new", "a file that nobody else saw");
	make_file(s, &t->dir, "forged\n2026-01-01 00:00:00  server 1  remove  all", "its name would be another line of the list");
	assert_int_equal(site_rename(s, &t->dir, "moved", &t->sub, "moved-in"), NFS4R_OK);
	assert_int_equal(site_remove(s, &t->dir, "gone"), NFS4R_OK);
	make(s, NFS4R_OP_MKDIR, &t->dir, "newdir");
	assert_int_equal(site_rename(s, &t->dir, "sub", &t->dir, "sub-renamed"), NFS4R_OK);
}

/* Server 3 has updates that nobody else has, and is gone, as @go says; the other two are up and without it. */
static void part_by(struct cluster *c, struct tree *t, void (*go)(struct cluster *c, int id))
{
	plant(c, t);
	cluster_stop(c, 1);
	cluster_stop(c, 2);
	only_three_has(c, t);
	go(c, 3);
	cluster_start(c, 1);
	cluster_start(c, 2);
	for (int i = 0; i < 2000; i++) {
		struct nfs4r_core_view v;

		get_view(&c->site[1], &v);
		if (!(v.adopted.members & NFS4R_BIT(3)) && v.member && !v.joining)
			return;
		pause_ms(10);
	}
	fail_msg("server 3 was not removed");
}

static void part(struct cluster *c, struct tree *t)
{
	part_by(c, t, cluster_stop);
}

static void expect_old(struct site *s, const struct tree *t)
{
	struct nfs4r_oid oid;

	expect_content(s, &t->over, "as all know it");
	assert_int_equal(site_lookup(s, &t->dir, "new", &oid), NFS4R_NOENT);
	assert_int_equal(site_lookup(s, &t->dir, "newdir", &oid), NFS4R_NOENT);
	assert_int_equal(site_lookup(s, &t->dir, "gone", &oid), NFS4R_OK);
	expect_content(s, &t->gone, "to be deleted");
	assert_int_equal(site_lookup(s, &t->dir, "moved", &oid), NFS4R_OK);
	assert_int_equal(site_lookup(s, &t->dir, "sub", &oid), NFS4R_OK);
	assert_int_equal(site_lookup(s, &t->sub, "moved-in", &oid), NFS4R_NOENT);
	expect_content(s, &t->deep, "deep");
}

static void expect_saved(struct cluster *c)
{
	char out[4096];

	shell(out, sizeof(out), "cd %s/conflicts && ls -a | grep -c 3-20", c->site[3].store);
	assert_string_equal(out, "1\n");
	assert_int_equal(resync_saved(c->site[3].eng), 1); /* as status and health say */
	assert_int_equal(resync_saved(c->site[1].eng), 0);
	shell(out, sizeof(out), "cat %s/conflicts/3-*/files/dir/over", c->site[3].store);
	assert_string_equal(out, "ONLY THREE HAS THIS, and it is longer");
	shell(out, sizeof(out), "cat %s/conflicts/3-*/files/dir/new", c->site[3].store);
	assert_string_equal(out, "a file that nobody else saw");
	shell(out, sizeof(out), "cat %s/conflicts/3-*/LIST.txt", c->site[3].store);
	assert_non_null(strstr(out, "Undone at server 3:"));
	assert_non_null(strstr(out, "/dir/over, 37 bytes at 0"));
	assert_non_null(strstr(out, "away from /dir/gone"));
	assert_non_null(strstr(out, "now at /dir/sub-renamed"));
	assert_non_null(strstr(out, "now at /dir/new"));
	assert_non_null(strstr(out, "now at /dir/forged\\0122026-01-01 00:00:00  server 1  remove  all"));
	assert_null(strstr(out, "\n2026-01-01"));
}

static void a_server_that_was_given_up_comes_back(void **state)
{
	struct cluster *c = *state;
	struct tree t;
	struct nfs4r_oid more;
	uint64_t verifier;

	part(c, &t);
	verifier = nfs4r_verifier(c->site[1].eng);
	abandon(&c->site[1], 3);
	wait_sealed(&c->site[1], 3);
	wait_sealed(&c->site[2], 3);
	assert_true(nfs4r_verifier(c->site[1].eng) != verifier); /* unstable data may be gone */
	expect_old(&c->site[2], &t);
	write_text(&c->site[1], &t.over, "one took it over");
	more = make_file(&c->site[2], &t.dir, "new", "another new");
	assert_int_equal(site_remove(&c->site[1], &t.dir, "moved"), NFS4R_OK);
	cluster_start(c, 3);
	site_says(&c->site[3], "resync complete, from server", 30);
	wait_all_serve(c);
	expect_content(&c->site[3], &t.over, "one took it over");
	expect_content(&c->site[3], &more, "another new");
	cluster_settle(c);
	expect_saved(c);
	write_text(&c->site[3], &t.over, "three is one of them again");
	expect_content(&c->site[2], &t.over, "three is one of them again");
	cluster_settle(c);
}

/* Nobody changed anything meanwhile, so what was is what is. */
static void what_was_undone_is_as_before(void **state)
{
	struct cluster *c = *state;
	struct tree t;

	part(c, &t);
	abandon(&c->site[2], 3);
	wait_sealed(&c->site[2], 3);
	cluster_start(c, 3);
	site_says(&c->site[3], "resync complete, from server", 30);
	wait_all_serve(c);
	expect_old(&c->site[3], &t);
	cluster_settle(c);
	expect_saved(c);
	for (int i = 1; i <= SITES; i++)
		cluster_stop(c, i);
	for (int i = 1; i <= SITES; i++)
		cluster_start(c, i);
	wait_all_serve(c);
	expect_old(&c->site[3], &t);
	cluster_settle(c);
}

/* Stopped while it fetches; it begins again, and what it had is saved once. */
static void a_repair_that_is_interrupted_begins_again(void **state)
{
	struct cluster *c = *state;
	struct tree t;

	part(c, &t);
	abandon(&c->site[1], 3);
	wait_sealed(&c->site[1], 3);
	wait_sealed(&c->site[2], 3);
	dirlops_slow_writes(1500); /* of all servers: the repair makes some of them, all at a time */
	cluster_start(c, 3);
	site_says(&c->site[3], "this copy has abandoned updates", 30);
	pause_ms(300);
	cluster_stop(c, 3);
	pthread_mutex_lock(&c->site[3].lock);
	c->site[3].logged[0] = '\0';
	pthread_mutex_unlock(&c->site[3].lock);
	dirlops_slow_writes(0);
	cluster_start(c, 3);
	site_says(&c->site[3], "resync complete, from server", 30);
	wait_all_serve(c);
	expect_old(&c->site[3], &t);
	cluster_settle(c);
	expect_saved(c);
}

/* All is on its disk, and no checkpoint says so. */
static void lose_power(struct cluster *c, int id)
{
	struct nfs4r_engine *eng = c->site[id].eng;

	assert_int_equal(eng->ops->sync_all(eng->ctx), 0);
	assert_int_equal(nfs4r_store_sync(eng->store, nfs4r_store_position(eng->store)), NFS4R_OK);
	cluster_lose_power(c, NFS4R_BIT(id), 0);
}

/* Log 4.6: the repair ends with a checkpoint, and that forgets what the crash put in doubt. Here the others are heard long before the start has ended. */
static void what_is_in_doubt_is_settled_before_a_repair(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct tree t;

	part_by(c, &t, lose_power);
	abandon(&c->site[1], 3);
	wait_sealed(&c->site[1], 3);
	wait_sealed(&c->site[2], 3);
	starts_slowly = s;
	cluster_start(c, 3);
	starts_slowly = NULL;
	site_says(s, "resync complete, from server", 30);
	assert_true(said_at(s, "nothing is in doubt any more") < said_at(s, "resync complete, from server"));
	assert_true(said_at(s, "nothing is in doubt any more") < said_at(s, "resync failed"));
	wait_all_serve(c);
	cluster_settle(c);
}

static void committed_bytes_survive_their_server(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[3]), f[20];
	uint64_t began, most = 0, sum = 0;
	char name[16], text[32];

	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		snprintf(text, sizeof(text), "committed %d", i);
		f[i] = make_file(&c->site[3], &root, name, text);
		began = ms_now();
		assert_int_equal(site_commit(&c->site[3], &f[i]), NFS4R_OK);
		began = ms_now() - began;
		most = began > most ? began : most;
		sum += began;
	}
	for (int i = 0; i < 3; i++) /* asked for at another server than the one that has the file */
		assert_int_equal(site_commit(&c->site[2], &f[i]), NFS4R_OK);
	print_message("COMMIT held by a majority: %.1f ms on average, %lu ms at most\n", (double)sum / 20, (unsigned long)most);
	cluster_stop(c, 3);
	wait_sealed(&c->site[1], 3); /* by themselves */
	wait_sealed(&c->site[2], 3);
	for (int i = 0; i < 20; i++) {
		snprintf(text, sizeof(text), "committed %d", i);
		expect_content(&c->site[1 + i % 2], &f[i], text);
	}
	write_text(&c->site[1], &f[0], "others write it now");
	cluster_start(c, 3);
	wait_all_serve(c);
	expect_content(&c->site[3], &f[0], "others write it now");
	cluster_settle(c);
}

/* A client would wait twice as long before each new attempt, and come back late. */
static void a_question_waits_for_who_takes_over(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[3]), f = make_file(&c->site[3], &root, "f", "x");
	struct nfs4r_read rd = { .type = NFS4R_RD_READ, .oid = f, .length = 100 };
	uint64_t began;
	bool local;

	cluster_settle(c);
	nfs4r_opened(c->site[3].eng, &f);
	write_text(&c->site[3], &f, "of site 3");
	assert_int_equal(site_commit(&c->site[3], &f), NFS4R_OK);
	for (int i = 0; i < 1000 && nfs4r_read_server(c->site[2].eng, &f) != 3; i++)
		pause_ms(10);
	assert_int_equal(nfs4r_read_server(c->site[2].eng, &f), 3);
	c->site[2].eng->cfg.op_wait_ms = 30000;
	cluster_stop(c, 3);
	began = ms_now();
	assert_int_equal(nfs4r_read(c->site[2].eng, &rd, &local), NFS4R_OK);
	assert_in_range(ms_now() - began, 100, 20000);
	assert_true(local);
	nfs4r_read_fini(&rd);
	expect_content(&c->site[2], &f, "of site 3");
}

/* Nobody else is there: it must not be said that a majority has it. A clock that is set back meanwhile does not make the wait longer. */
static void a_commit_waits_for_a_majority(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[3]), f = make_file(&c->site[3], &root, "f", "x");
	uint64_t began;

	assert_int_equal(site_commit(&c->site[3], &f), NFS4R_OK);
	cluster_stop(c, 1);
	cluster_stop(c, 2);
	write_text(&c->site[3], &f, "y"); /* unstable: answered at once */
	setback_s = 20;
	began = ms_now();
	assert_int_equal(nfs4r_commit(c->site[3].eng, &f, 0), NFS4R_DELAY);
	setback_s = 0;
	assert_in_range(ms_now() - began, c->site[3].eng->cfg.op_wait_ms - 100, c->site[3].eng->cfg.op_wait_ms + 2000);
}

static uint64_t held_by_nobody_else(struct site *s)
{
	uint64_t entries, bytes, age_ms;

	pthread_mutex_lock(&s->eng->lock);
	nfs4r_core_loss_window(s->eng->core, &entries, &bytes, &age_ms);
	pthread_mutex_unlock(&s->eng->lock);
	return entries;
}

/* The others sync while this server does: they are asked when a COMMIT begins. */
static void a_commit_that_begins_asks_the_others(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid root = site_root(s), f = make_file(s, &root, "f", "x");

	assert_int_equal(site_commit(s, &f), NFS4R_OK);
	assert_int_equal(held_by_nobody_else(s), 0);
	write_text(s, &f, "y"); /* unstable: nobody syncs it */
	assert_int_equal(held_by_nobody_else(s), 1);
	nfs4r_commit_begin(s->eng, &f);
	for (int i = 0; i < 1000 && held_by_nobody_else(s); i++)
		pause_ms(10);
	assert_int_equal(held_by_nobody_else(s), 0);
}

/* Log 8.3: what is undone is saved before anything changes. There is no room for it: nothing changes, it is said, and goes on when there is. */
static void what_is_undone_waits_for_room(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_core_view v;
	char conflicts[200];
	struct tree t;

	if (!c) {
		print_message("not allowed to mount a tmpfs: skipped\n");
		skip();
	}
	part(c, &t);
	abandon(&c->site[1], 3);
	wait_sealed(&c->site[1], 3);
	wait_sealed(&c->site[2], 3);
	snprintf(conflicts, sizeof(conflicts), "%s/conflicts", c->site[3].store);
	assert_int_equal(mkdir(conflicts, 0700), 0);
	assert_int_equal(mount("none", conflicts, "tmpfs", 0, "size=64k,mode=0700"), 0);
	expect_shell("", "cat /dev/zero >%s/filler 2>/dev/null", conflicts);
	cluster_start(c, 3);
	site_says(&c->site[3], "cannot save the undone updates", 30);
	site_says(&c->site[3], "free space under the Conflicts directory", 1);
	site_says(&c->site[3], "the server tries again", 1);
	expect_shell("ONLY THREE HAS THIS, and it is longer", "cat %s/dir/over", c->site[3].data);
	expect_shell("filler\n", "ls -A %s", conflicts);
	get_view(&c->site[3], &v);
	assert_false(v.member && !v.joining);
	expect_shell("", "rm %s/filler", conflicts);
	site_says(&c->site[3], "resync complete, from server", 60);
	wait_all_serve(c);
	expect_old(&c->site[3], &t);
	cluster_settle(c);
	expect_saved(c);
}

/* Log 4.8: another attempt would find all bytes equal, since they are in memory, and its sync would find nothing to do. */
static void a_repair_that_cannot_be_synced_halts(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct tree t;

	part(c, &t);
	abandon(&c->site[1], 3);
	wait_sealed(&c->site[1], 3);
	wait_sealed(&c->site[2], 3);
	dirlops_slow_writes(1500);
	cluster_start(c, 3);
	site_says(s, "this copy has abandoned updates", 30);
	dirlops_fail_sync(s->ops, ENOSPC);
	dirlops_slow_writes(0);
	site_says(s, "this server stops serving: the exported directory could not be synced", 30);
	assert_true(said_at(s, "resync complete, from server") == SIZE_MAX);
}

static void note_done(void *arg, struct nfs4r_op *op)
{
	(void)op;
	*(_Atomic bool *)arg = true;
}

/* Log 5.1: each answer means that a majority has it on its disks, so when its server loses power at once and never comes back, nothing is lost. */
static void majority_keeps_every_answer(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid root = site_root(s), dir = make(s, NFS4R_OP_MKDIR, &root, "dir"), f[10], oid;
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_MODE, .mode = 0604 }, now;
	uint64_t entries, bytes, age_ms;
	char name[16];

	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		f[i] = make_file(s, &dir, name, name);
	}
	assert_int_equal(site_rename(s, &dir, "f0", &dir, "moved"), NFS4R_OK);
	assert_int_equal(site_remove(s, &dir, "f1"), NFS4R_OK);
	assert_int_equal(site_setattr(s, &f[2], &a), NFS4R_OK);
	write_text(s, &f[3], "the last thing it answered");
	pthread_mutex_lock(&s->eng->lock);
	nfs4r_core_loss_window(s->eng->core, &entries, &bytes, &age_ms);
	pthread_mutex_unlock(&s->eng->lock);
	assert_int_equal(entries, 0);
	cluster_lose_power(c, NFS4R_BIT(3), 0);
	wait_sealed(&c->site[1], 3);
	wait_sealed(&c->site[2], 3);
	assert_int_equal(site_lookup(&c->site[1], &dir, "moved", &oid), NFS4R_OK);
	assert_true(nfs4r_oid_eq(&oid, &f[0]));
	assert_int_equal(site_lookup(&c->site[1], &dir, "f0", &oid), NFS4R_NOENT);
	assert_int_equal(site_lookup(&c->site[2], &dir, "f1", &oid), NFS4R_NOENT);
	assert_int_equal(site_getattr(&c->site[2], &f[2], &now), NFS4R_OK);
	assert_int_equal(now.mode, 0604);
	expect_content(&c->site[1], &f[3], "the last thing it answered");
	for (int i = 4; i < 10; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		expect_content(&c->site[1 + i % 2], &f[i], name);
	}
	write_text(&c->site[1], &f[3], "others write it now, and go on");
	cluster_start(c, 3);
	wait_all_serve(c);
	cluster_settle(c);
	expect_content(s, &f[3], "others write it now, and go on");
}

/* The others have it in memory and cannot take it to their disks: no answer, not even to an unstable WRITE. */
static void no_majority_no_answer(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid root = site_root(s), f = make_file(s, &root, "f", "x");
	static struct nfs4r_op op; /* outlives a test that fails */
	static _Atomic bool done;

	op = (struct nfs4r_op){ .type = NFS4R_OP_WRITE, .obj = f, .length = 1, .under_open = true };
	done = false;
	cluster_settle(c);
	power_freeze(c->site[1].power);
	power_freeze(c->site[2].power);
	op.data = nfs4r_buf_copy("y", 1);
	nfs4r_update_async(s->eng, &op, NULL, NULL, note_done, (void *)&done);
	pause_ms(1500);
	assert_false(done);
	cluster_stop(c, 3); /* ends it */
	assert_true(done);
	assert_int_equal(op.status, NFS4R_DELAY);
	nfs4r_op_fini(&op);
}

static bool is_waiting(struct site *s, const struct nfs4r_oid *oid)
{
	struct nfs4r_fuzzy_object left;

	pthread_mutex_lock(&s->eng->lock);
	enum nfs4r_exactness x = nfs4r_core_exactness(s->eng->core, oid, &left);
	pthread_mutex_unlock(&s->eng->lock);
	return x == NFS4R_EXACT_LATER;
}

/* Log 7.5: the bytes of each WRITE are read back when it is sent, from a file that is written again and again, and its log ends in the middle of that. */
static void bytes_of_lost_writes_are_the_same_everywhere(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[3]), f = make_file(&c->site[3], &root, "f", "x");
	static char block[4096], one[4096], two[4096];
	uint32_t n1 = sizeof(one), n2 = sizeof(two), waits;

	assert_int_equal(site_commit(&c->site[3], &f), NFS4R_OK);
	c->site[3].eng->cfg.payload_bytes_max = 0;
	pace_connections(1 << 20);
	for (uint64_t until = ms_now() + 500, i = 0; ms_now() < until; i++) {
		memset(block, (int)('a' + i % 26), sizeof(block));
		assert_int_equal(site_write(&c->site[3], &f, 0, block, sizeof(block)), NFS4R_OK);
	}
	waits = is_waiting(&c->site[1], &f) + is_waiting(&c->site[2], &f);
	cluster_stop(c, 3);
	pace_connections(UINT32_MAX);
	wait_sealed(&c->site[1], 3);
	wait_sealed(&c->site[2], 3);
	assert_int_equal(site_read(&c->site[1], &f, 0, one, &n1), NFS4R_OK);
	assert_int_equal(site_read(&c->site[2], &f, 0, two, &n2), NFS4R_OK);
	assert_int_equal(n1, n2);
	assert_memory_equal(one, two, n1);
	print_message("%u of 2 copies had newer bytes than their version\n", waits);
	cluster_start(c, 3);
	wait_all_serve(c);
	cluster_settle(c); /* and what is on the disks is equal, too */
}

struct slow_write {
	struct site *s;
	struct nfs4r_oid f;
};

static void *write_slowly(void *arg)
{
	struct slow_write *w = arg;

	return (void *)(intptr_t)site_write(w->s, &w->f, 0, "y", 1);
}

/* Log 7.5: bytes of a WRITE that is being executed are not given away under the version before. */
static void a_copy_is_given_when_it_is_at_rest(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f = make_file(&c->site[1], &root, "f", "x");
	struct slow_write w = { &c->site[1], f };
	struct nfs4r_read rd = { .type = NFS4R_RD_GETATTR, .oid = f };
	uint32_t waited = 0;
	nfs4r_version was;
	pthread_t t;
	void *st;

	cluster_settle(c);
	assert_int_equal(read_copy(c->site[2].eng, 1, &rd), NFS4R_OK);
	was = rd.row.version;
	nfs4r_read_fini(&rd);
	dirlops_slow_writes(700);
	assert_int_equal(pthread_create(&t, NULL, write_slowly, &w), 0);
	for (uint64_t until = ms_now() + 500; ms_now() < until && !waited;) {
		rd = (struct nfs4r_read){ .type = NFS4R_RD_GETATTR, .oid = f };
		waited += read_copy(c->site[2].eng, 1, &rd) == NFS4R_DELAY;
		nfs4r_read_fini(&rd);
	}
	dirlops_slow_writes(0);
	pthread_join(t, &st);
	assert_int_equal((intptr_t)st, NFS4R_OK);
	assert_true(waited);
	rd = (struct nfs4r_read){ .type = NFS4R_RD_GETATTR, .oid = f };
	assert_int_equal(read_copy(c->site[2].eng, 1, &rd), NFS4R_OK);
	assert_true(rd.row.version > was);
	nfs4r_read_fini(&rd);
}

static enum nfs4r_status chmod_once(struct site *s, const struct nfs4r_oid *oid, uint32_t mode)
{
	struct nfs4r_op op = { .type = NFS4R_OP_SETATTR, .obj = *oid, .client = 7, .attrs = { .mask = NFS4R_ATTR_MODE, .mode = mode } };
	enum nfs4r_status st = nfs4r_update(s->eng, &op, NULL, NULL);

	nfs4r_op_fini(&op);
	return st;
}

/* The operation that is parked there has its result, which nobody fetches. */
static bool is_parked_and_done(struct nfs4r_engine *eng)
{
	bool is;

	pthread_mutex_lock(&eng->lock);
	is = eng->update.parked && eng->update.parked->state == OP_PARKED && eng->update.parked->due == OP_DONE;
	pthread_mutex_unlock(&eng->lock);
	return is;
}

/* Its owner falls silent, so its client is told to ask again. Then the owner is removed, and an executor drives it here: that is no worker of Ganesha's that waits for others. */
static void a_parked_operation_is_no_worker_that_waits(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_engine *eng = c->site[1].eng;
	struct nfs4r_oid root = site_root(&c->site[3]), f = make_file(&c->site[3], &root, "f", "x");

	cluster_settle(c);
	pthread_mutex_lock(&c->site[3].eng->lock);
	c->site[3].eng->runtime.mute = true;
	pthread_mutex_unlock(&c->site[3].eng->lock);
	assert_int_equal(chmod_once(&c->site[1], &f, 0604), NFS4R_DELAY);
	assert_int_equal(eng->update.nparked, 1);
	for (int i = 0; i < 6000 && !is_parked_and_done(eng); i++)
		pause_ms(10);
	assert_true(is_parked_and_done(eng));
	assert_int_equal(eng->runtime.waiting.all, 0);
	assert_int_equal(chmod_once(&c->site[1], &f, 0604), NFS4R_OK); /* its result */
	assert_int_equal(eng->update.nparked, 0);
}

#define T(name, setup) cmocka_unit_test_setup_teardown(name, setup, cluster_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_server_that_was_given_up_comes_back, setup),
		T(what_was_undone_is_as_before, setup),
		T(a_repair_that_is_interrupted_begins_again, setup),
		T(what_is_in_doubt_is_settled_before_a_repair, setup_machines),
		T(committed_bytes_survive_their_server, setup_commit),
		T(a_question_waits_for_who_takes_over, setup_commit),
		T(a_commit_waits_for_a_majority, setup_commit),
		T(a_commit_that_begins_asks_the_others, setup_commit_asked),
		T(a_repair_that_cannot_be_synced_halts, setup),
		T(majority_keeps_every_answer, setup_majority),
		T(no_majority_no_answer, setup_majority),
		cmocka_unit_test_setup_teardown(what_is_undone_waits_for_room, setup_mounts, teardown_mounts),
		T(a_copy_is_given_when_it_is_at_rest, setup),
		T(bytes_of_lost_writes_are_the_same_everywhere, setup_commit),
		T(a_parked_operation_is_no_worker_that_waits, setup_removed_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
