/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The active view with real engines: the others go on without a server that is gone, it comes back by itself, and a server
 * without a lease answers nothing, whatever it is asked and by whom.
 */
#include "lib/unit.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/engine_int.h"
#include "steps.h"

#define LEASE_MS 1000

/* Everybody has heard everybody. */
static bool all_heard(struct cluster *c)
{
	bool heard = true;

	for (int i = 1; i <= SITES; i++) {
		struct nfs4r_engine *eng = c->site[i].eng;
		struct nfs4r_core_view v;

		pthread_mutex_lock(&eng->lock);
		nfs4r_core_get_view(eng->core, &v);
		pthread_mutex_unlock(&eng->lock);
		for (int k = 1; k <= SITES; k++)
			heard = heard && (k == i || v.peer[k].known);
	}
	return heard;
}

static int begin(void **state, uint32_t lease_ms, bool stale_reads)
{
	struct cluster *c = cluster_new();

	c->lease_ms = c->silence_ms = lease_ms;
	c->stale_reads = stale_reads;
	cluster_begin(c, state);
	for (int i = 0; i < 1000 && lease_ms && !all_heard(c); i++)
		pause_ms(10);
	return 0;
}

static int setup(void **state)
{
	return begin(state, LEASE_MS, false);
}

static int setup_stale_reads(void **state)
{
	return begin(state, LEASE_MS, true);
}

static int setup_fixed(void **state)
{
	return begin(state, 0, false);
}

/* Control does not end by itself for a while. */
static int setup_busy(void **state)
{
	struct cluster *c = cluster_new();

	c->lease_ms = c->silence_ms = 0;
	c->idle_ms = 3000;
	return cluster_begin(c, state);
}

/* One question, not repeated: NFS4R_OK with *local, or what the client would hear. */
static enum nfs4r_status ask(struct site *s, uint32_t type, const struct nfs4r_oid *oid, bool *local)
{
	struct nfs4r_read rd = { .type = type, .oid = *oid, .length = 100 };
	enum nfs4r_status st = nfs4r_read(s->eng, &rd, local);

	nfs4r_read_fini(&rd);
	return st;
}

/* What is asked then waits for op_wait_ms; there are many questions. */
static void wait_without_lease(struct site *s)
{
	s->eng->cfg.op_wait_ms = 100;
	for (int i = 0; i < 1000 && engine_has_lease(s->eng); i++)
		pause_ms(10);
	assert_false(engine_has_lease(s->eng));
}

static struct nfs4r_oid root_file(struct site *s, const char *name, const char *text)
{
	struct nfs4r_oid root = site_root(s), f;

	assert_int_equal(site_make(s, NFS4R_OP_CREATE, &root, name, &f), NFS4R_OK);
	assert_int_equal(site_write(s, &f, 0, text, (uint32_t)strlen(text)), NFS4R_OK);
	assert_int_equal(site_close(s, &f), NFS4R_OK);
	return f;
}

static void the_others_go_on_and_it_comes_back(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = root_file(&c->site[1], "f", "with three"), g;

	cluster_settle(c);
	cluster_stop(c, 3);
	site_says(&c->site[1], "server 3 was removed from the active view: not heard for", 20);
	site_says(&c->site[1], "members now 1, 2. Updates of objects that it controls wait", 1);
	site_says(&c->site[2], "server 3 was removed from the active view", 5);
	assert_int_equal(site_write(&c->site[2], &f, 0, "two alone!", 10), NFS4R_OK);
	assert_int_equal(site_close(&c->site[2], &f), NFS4R_OK);
	expect_content(&c->site[1], &f, "two alone!");
	g = root_file(&c->site[1], "g", "new");
	cluster_start(c, 3);
	site_says(&c->site[3], "this server serves again", 20);
	site_says(&c->site[2], "server 3 is back in the active view; members now 1, 2, 3", 5);
	expect_content(&c->site[3], &f, "two alone!");
	expect_content(&c->site[3], &g, "new");
	cluster_settle(c);
}

/* A server that cannot apply what the others do leaves the view; with room again, and a restart, it comes back. */
/* It says why, the others go on, and it is back by itself when there is room. */
static void a_full_disk_takes_a_server_out(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = root_file(&c->site[1], "f", "with three");
	struct nfs4r_core_view v;

	cluster_settle(c);
	dirlops_fail_writes(c->site[3].ops, NFS4R_NOSPC, 0, 1000000);
	assert_int_equal(site_write(&c->site[2], &f, 0, "two alone!", 10), NFS4R_OK);
	assert_int_equal(site_close(&c->site[2], &f), NFS4R_OK);
	site_says(&c->site[3], "of server 1: no space left on device; free space on the exported file system. This server releases its controls", 10);
	site_says(&c->site[1], "server 3 reports that it cannot apply an update: no space left on device. Remedy, at that server: free space on the exported file system", 10);
	site_says(&c->site[1], "server 3 was removed from the active view: it cannot apply an update (no space left on device)", 20);
	expect_content(&c->site[1], &f, "two alone!");
	assert_int_equal(ask(&c->site[3], NFS4R_RD_GETATTR, &f, &(bool){ false }), NFS4R_DELAY);
	pthread_mutex_lock(&c->site[3].eng->lock);
	nfs4r_core_get_view(c->site[3].eng->core, &v);
	pthread_mutex_unlock(&c->site[3].eng->lock);
	assert_int_equal(v.trouble, NFS4R_NOSPC);
	assert_false(v.member);
	dirlops_fail_writes(c->site[3].ops, NFS4R_NOSPC, 0, 0);
	site_says(&c->site[3], "this server applied the update that it could not apply: it catches up", 10);
	site_says(&c->site[3], "this server serves again", 20);
	expect_content(&c->site[3], &f, "two alone!");
	cluster_settle(c);
}

/* The same before and after a restart: it is not added, and removed again. */
static void a_restart_with_a_full_disk(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = root_file(&c->site[1], "f", "with three");

	cluster_settle(c);
	dirlops_fail_writes(c->site[3].ops, NFS4R_NOSPC, 0, 1000000);
	assert_int_equal(site_write(&c->site[2], &f, 0, "two alone!", 10), NFS4R_OK);
	site_says(&c->site[1], "server 3 was removed from the active view: it cannot apply", 20);
	cluster_stop(c, 3);
	cluster_start(c, 3);
	site_says(&c->site[3], "this server serves again", 30); /* a start makes dirlops anew: it has room now */
	expect_content(&c->site[3], &f, "two alone!");
	cluster_settle(c);
}

static const uint32_t questions[] = { NFS4R_RD_GETATTR, NFS4R_RD_LOOKUP, NFS4R_RD_READDIR, NFS4R_RD_READ, NFS4R_RD_READLINK,
				      NFS4R_RD_GETXATTR, NFS4R_RD_LISTXATTR, NFS4R_RD_SEEK, NFS4R_RD_LOOKUPP, NFS4R_RD_COMMIT };

#define QUESTIONS (sizeof(questions) / sizeof(questions[0]))

/* A file that is deleted, one that never was here, and one that is. */
static void make_objects(struct cluster *c, struct nfs4r_oid o[3])
{
	struct nfs4r_oid root = site_root(&c->site[1]);

	o[0] = root_file(&c->site[1], "f", "content");
	o[1] = root_file(&c->site[1], "dead", "x");
	assert_int_equal(site_remove(&c->site[1], &root, "dead"), NFS4R_OK);
	nfs4r_oid_make(&o[2], 2, 1, 1000000);
	cluster_settle(c);
}

static void nothing_is_answered_without_a_lease(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[1];
	struct nfs4r_oid o[3], root = site_root(s);
	struct nfs4r_op op = { .type = NFS4R_OP_MKDIR, .dir = root };
	bool local;

	make_objects(c, o);
	assert_int_equal(ask(s, NFS4R_RD_READ, &o[0], &local), NFS4R_OK);
	assert_true(local);
	cluster_stop(c, 2);
	cluster_stop(c, 3);
	wait_without_lease(s);
	for (size_t q = 0; q < QUESTIONS; q++)
		for (size_t i = 0; i < 3; i++) {
			assert_int_equal(ask(s, questions[q], &o[i], &local), NFS4R_DELAY);
			assert_false(local);
		}
	assert_int_equal(nfs4r_read_server(s->eng, &o[0]), 0);
	nfs4r_name_set(&op.name, "new", 3);
	assert_int_equal(nfs4r_update(s->eng, &op, NULL, NULL), NFS4R_DELAY);
	nfs4r_op_fini(&op);
	site_says(s, "this server has no lease", 5);
	cluster_start(c, 2);
	site_says(s, "this server has its lease again", 20);
	expect_content(s, &o[0], "content");
	cluster_start(c, 3);
	cluster_settle(c);
}

static void names_are_not_answered_either_where_directories_are_read_locally(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[1];
	struct nfs4r_oid root = site_root(s);
	bool local;

	root_file(s, "f", "content");
	s->eng->cfg.directory_reads = NFS4R_DIRECTORY_READS_LOCAL;
	assert_int_equal(ask(s, NFS4R_RD_READDIR, &root, &local), NFS4R_OK);
	assert_true(local);
	cluster_stop(c, 2);
	cluster_stop(c, 3);
	wait_without_lease(s);
	assert_int_equal(ask(s, NFS4R_RD_READDIR, &root, &local), NFS4R_DELAY);
	assert_int_equal(ask(s, NFS4R_RD_GETATTR, &root, &local), NFS4R_DELAY);
}

/* Reads only, and only of what is here; a COMMIT would be a promise. */
static void stale_reads_answer_from_the_own_copy(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[1];
	struct nfs4r_oid o[3];
	struct nfs4r_op op = { .type = NFS4R_OP_MKDIR, .dir = site_root(s) };
	bool local;

	make_objects(c, o);
	cluster_stop(c, 2);
	cluster_stop(c, 3);
	wait_without_lease(s);
	for (size_t q = 0; q < QUESTIONS; q++) {
		bool commit = questions[q] == NFS4R_RD_COMMIT;

		assert_int_equal(ask(s, questions[q], &o[0], &local), commit ? NFS4R_DELAY : NFS4R_OK);
		assert_int_equal(local, !commit);
		for (size_t i = 1; i < 3; i++)
			assert_int_equal(ask(s, questions[q], &o[i], &local), NFS4R_DELAY);
	}
	nfs4r_name_set(&op.name, "new", 3);
	assert_int_equal(nfs4r_update(s->eng, &op, NULL, NULL), NFS4R_DELAY);
	nfs4r_op_fini(&op);
	site_says(s, "Its clients read its own copy (Stale_Reads)", 5);
}

/* The owner, too: it must not answer other servers when a majority may have gone on without it. */
static bool is_asked_for(struct site *s, const struct nfs4r_oid *oid)
{
	bool local;

	return ask(s, NFS4R_RD_READ, oid, &local) == NFS4R_OK && !local;
}

/* No step can renew its lease meanwhile, which is over. */
static void set_frozen(struct site *s, bool frozen)
{
	pthread_mutex_lock(&s->eng->lock);
	s->eng->door.frozen = frozen;
	if (frozen)
		s->eng->runtime.lease.until_ms = 1;
	pthread_mutex_unlock(&s->eng->lock);
}

static void an_owner_without_a_lease_tells_other_servers_to_wait(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[1];
	struct nfs4r_oid f = root_file(s, "f", "content");
	enum nfs4r_status st = NFS4R_OK;
	bool local;

	cluster_settle(c);
	nfs4r_opened(s->eng, &f);
	assert_int_equal(site_write(s, &f, 0, "changed", 7), NFS4R_OK);
	for (int i = 0; i < 1000 && !is_asked_for(&c->site[2], &f); i++) /* a WRITE does not wait for all to know who controls the file */
		pause_ms(10);
	expect_content(&c->site[2], &f, "changed");
	for (int i = 0; i < 100 && st != NFS4R_DELAY; i++) { /* at rest its control is announced as closing, and the asker's own copy is as good (control 7.10) */
		assert_int_equal(site_write(s, &f, 0, "changed", 7), NFS4R_OK);
		for (int k = 0; k < 100 && !is_asked_for(&c->site[2], &f); k++)
			pause_ms(1);
		set_frozen(s, true);
		st = ask(&c->site[2], NFS4R_RD_READ, &f, &local);
		assert_true(st == NFS4R_DELAY || local);
		set_frozen(s, false);
	}
	assert_int_equal(st, NFS4R_DELAY);
	assert_false(local);
	nfs4r_closed(s->eng, &f);
	expect_content(&c->site[2], &f, "changed");
}

struct closer {
	struct site *s;
	struct nfs4r_oid f;
	enum nfs4r_status st;
	pthread_t thread;
};

static void *close_once(void *arg)
{
	struct closer *k = arg;
	struct nfs4r_op op = { .type = NFS4R_OP_CLOSE, .obj = k->f };

	k->st = nfs4r_update(k->s->eng, &op, NULL, NULL);
	return NULL;
}

/* Its client hears nothing of a DELAY: the file would count as closed while others may still read what was before. */
static void a_close_waits_for_the_lease(void **state)
{
	struct cluster *c = *state;
	struct closer k = { .s = &c->site[1] };

	k.f = root_file(k.s, "f", "content");
	cluster_settle(c);
	cluster_stop(c, 2);
	cluster_stop(c, 3);
	wait_without_lease(k.s);
	assert_int_equal(pthread_create(&k.thread, NULL, close_once, &k), 0);
	nanosleep(&(struct timespec){ .tv_sec = 2 }, NULL); /* longer than an operation waits in the core */
	assert_int_equal(pthread_tryjoin_np(k.thread, NULL), EBUSY);
	cluster_start(c, 2);
	pthread_join(k.thread, NULL);
	assert_int_equal(k.st, NFS4R_OK);
}

static void *remove_once(void *arg)
{
	struct closer *k = arg;
	struct nfs4r_op op = { .type = NFS4R_OP_REMOVE, .client = 1 };

	nfs4r_root(k->s->eng, &op.dir);
	nfs4r_name_set(&op.name, "f", 1);
	k->st = nfs4r_update(k->s->eng, &op, NULL, NULL);
	return NULL;
}

static void wait_read_here(struct site *s, const struct nfs4r_oid *f)
{
	for (int tries = 0; nfs4r_read_server(s->eng, f) != s->id; tries++) {
		assert_true(tries < 2000);
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
}

/* Control 6.9: nobody controls f as far as this server knows, and yet its copy is not read before it has what a client was told. */
static void what_was_told_is_read_where_it_is(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[2];
	struct nfs4r_event ev = { .type = NFS4R_EV_OWNER_VERSION, .peer = 1, .oid = root_file(&c->site[1], "f", "old") };
	struct nfs4r_row row;
	bool local;

	cluster_settle(c);
	wait_read_here(s, &ev.oid);
	assert_int_equal(nfs4r_store_row(s->eng->store, &ev.oid, &row), NFS4R_KNOWN);
	ev.version = row.version + 1;
	pthread_mutex_lock(&s->eng->lock);
	engine_step(s->eng, &ev);
	pthread_mutex_unlock(&s->eng->lock);
	assert_int_equal(nfs4r_read_server(s->eng, &ev.oid), 1);
	cluster_stop(c, 2);
	cluster_start(c, 2);
	while (!nfs4r_read_server(s->eng, &ev.oid)) /* 0: it has no lease yet */
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	assert_int_equal(nfs4r_read_server(s->eng, &ev.oid), 1);
	assert_int_equal(ask(s, NFS4R_RD_READ, &ev.oid, &local), NFS4R_OK); /* server 1 does not wait for it: it has it, or says that it is no primary */
	write_text(&c->site[1], &ev.oid, "new");
	wait_read_here(s, &ev.oid);
	expect_content(s, &ev.oid, "new");
}

/* A name leads to a file that another server controls: whose directory it is gives the name, and not the attributes that the file has there. */
static void a_name_comes_without_what_another_server_controls(void **state)
{
	struct cluster *c = *state;
	struct site *asker = &c->site[2];
	struct nfs4r_oid root = site_root(asker), f = root_file(&c->site[1], "f", "old");
	struct nfs4r_read rd = { .type = NFS4R_RD_LOOKUP, .oid = root, .name = "f" };
	bool local;

	assert_int_equal(site_link(&c->site[1], &f, &root, "g"), NFS4R_OK); /* deep control does not cover it then */
	cluster_settle(c);
	wait_read_here(asker, &f);
	wait_read_here(asker, &root);
	write_text(&c->site[3], &f, "new");
	assert_int_equal(site_make(&c->site[1], NFS4R_OP_CREATE, &root, "h", NULL), NFS4R_OK);
	assert_int_equal(nfs4r_read_server(asker->eng, &f), 3);
	assert_int_equal(nfs4r_read_server(asker->eng, &root), 1);
	assert_int_equal(nfs4r_read(asker->eng, &rd, &local), NFS4R_OK);
	assert_false(local);
	assert_int_equal(rd.server, 1);
	assert_true(nfs4r_oid_eq(&rd.result, &f));
	assert_int_equal(rd.attrs.mask, NFS4R_ATTR_TYPE);
	assert_int_equal(rd.attrs.type, NFS4R_TYPE_FILE);
	nfs4r_read_fini(&rd);
	snprintf(rd.name, sizeof(rd.name), "h"); /* its own */
	assert_int_equal(nfs4r_read(asker->eng, &rd, &local), NFS4R_OK);
	assert_true(local || rd.attrs.mask & NFS4R_ATTR_VERSION);
	nfs4r_read_fini(&rd);
}

/* Who takes a name away is answered for it: a retry would be told by Ganesha's own look-up that there is no such name. */
static void a_removal_is_not_to_be_asked_for_again(void **state)
{
	struct cluster *c = *state;
	struct closer k = { .s = &c->site[1] };
	struct nfs4r_oid root;

	k.f = root_file(k.s, "f", "content");
	cluster_settle(c);
	nfs4r_root(k.s->eng, &root);
	for (int tries = 0; nfs4r_read_server(c->site[2].eng, &root) == 1; tries++) { /* control of it ends: the removal needs an election */
		assert_true(tries < 2000);
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	cluster_stop(c, 3);
	assert_int_equal(pthread_create(&k.thread, NULL, remove_once, &k), 0);
	nanosleep(&(struct timespec){ .tv_sec = 9 }, NULL); /* longer than a worker waits for all others */
	assert_int_equal(pthread_tryjoin_np(k.thread, NULL), EBUSY);
	cluster_start(c, 3);
	pthread_join(k.thread, NULL);
	assert_int_equal(k.st, NFS4R_OK);
}

/* The table may have lost what this server missed while it was outside: what was seen in another era counts for nothing. */
static void an_answer_belongs_to_one_era(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_engine *eng = c->site[1].eng;
	struct nfs4r_oid f = root_file(&c->site[1], "f", "content");
	bool local;

	assert_int_equal(ask(&c->site[1], NFS4R_RD_READ, &f, &local), NFS4R_OK);
	uint32_t era = engine_lease_era(eng);
	assert_true(engine_may_answer(eng, era));
	cluster_stop(c, 2);
	cluster_stop(c, 3);
	wait_without_lease(&c->site[1]);
	assert_int_equal(engine_lease_era(eng), era); /* it is a member as far as it knows */
	assert_false(engine_may_answer(eng, era));
	pthread_mutex_lock(&eng->lock);
	eng->runtime.lease.until_ms = 0; /* as after the adoption of a view without it */
	engine_lease_raise(eng);
	pthread_mutex_unlock(&eng->lock);
	assert_false(engine_may_answer(eng, era));
	assert_int_not_equal(engine_lease_era(eng), era);
}

static void with_a_fixed_view_everything_is_as_before(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[1];
	struct nfs4r_oid f = root_file(s, "f", "content");
	bool local;

	cluster_settle(c);
	cluster_stop(c, 2);
	cluster_stop(c, 3);
	assert_int_equal(s->eng->runtime.lease.until_ms, UINT64_MAX);
	assert_int_equal(ask(s, NFS4R_RD_READ, &f, &local), NFS4R_OK);
	assert_true(local);
}

static void a_configuration_that_cannot_work_is_refused(void **state)
{
	struct cluster c;
	char why[NFS4R_WHY];

	cluster_init(&c);
	c.lease_ms = 100;
	assert_int_equal(cluster_try_start(&c, 1, why), NFS4R_BADCONFIG);
	assert_non_null(strstr(why, "Lease = 100 (of Tuning) is out of range; write 200 to 60000"));
	c.lease_ms = 4000;
	c.silence_ms = 1900;
	assert_int_equal(cluster_try_start(&c, 1, why), NFS4R_BADCONFIG);
	assert_non_null(strstr(why, "Failure_Timeout = 2000"));
	cluster_fini(&c);
}

static _Atomic int64_t wrong_by_s;

static int64_t wrong_day_ns(void)
{
	return engine_now_real_ns() + wrong_by_s * 1000000000;
}

static int setup_wrong_clock(void **state)
{
	struct cluster *c = cluster_new();

	wrong_by_s = 3600;
	c->site[2].day_ns = wrong_day_ns;
	return cluster_begin(c, state);
}

/* Times of files would go back and forth between sites: everybody says which clock, once, and when it is over. */
static void a_clock_that_is_off_is_said(void **state)
{
	struct cluster *c = *state;

	site_says(&c->site[1], "the clock of server 2 is 3600.", 20);
	site_says(&c->site[3], "s ahead of this server's: files get their times", 20);
	site_says(&c->site[2], "s behind this server's: files get their times", 20);
	wrong_by_s = -60;
	site_says(&c->site[1], "the clock of server 2 is 60.", 20);
	wrong_by_s = 0;
	site_says(&c->site[1], "the clock of server 2 agrees with this server's again", 20);
	assert_null(strstr(c->site[1].logged, "the clock of server 3"));
}

static _Atomic int64_t told;

static int64_t lying_day_ns(void)
{
	return engine_now_real_ns() + (told++ % 1000 + 1) * 3600000000000;
}

static int setup_lying_clock(void **state)
{
	struct cluster *c = cluster_new();

	c->site[2].day_ns = lying_day_ns;
	return cluster_begin(c, state);
}

static uint32_t lines_about_the_clock(struct site *s)
{
	uint32_t lines = 0;

	pthread_mutex_lock(&s->lock);
	for (const char *p = s->logged; (p = strstr(p, "the clock of server 2 is")); p++)
		lines++;
	pthread_mutex_unlock(&s->lock);
	return lines;
}

/* A clock that is another one each time that it is told: six lines a minute. A server tells it several times a second, and another one looks at it once in that time. */
static void a_clock_that_lies_fills_no_log(void **state)
{
	struct cluster *c = *state;
	int64_t then;

	for (int i = 0; lines_about_the_clock(&c->site[1]) < 6 && i < 3000; i++)
		pause_ms(10);
	then = told;
	while (told < then + 60)
		pause_ms(10);
	assert_int_equal(lines_about_the_clock(&c->site[1]), 6);
}

int main(void)
{
#define T(name, setup) cmocka_unit_test_setup_teardown(name, setup, cluster_teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_clock_that_is_off_is_said, setup_wrong_clock, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_clock_that_lies_fills_no_log, setup_lying_clock, cluster_teardown),
		T(the_others_go_on_and_it_comes_back, setup),
		T(a_full_disk_takes_a_server_out, setup),
		T(a_restart_with_a_full_disk, setup),
		T(nothing_is_answered_without_a_lease, setup),
		T(names_are_not_answered_either_where_directories_are_read_locally, setup),
		T(stale_reads_answer_from_the_own_copy, setup_stale_reads),
		T(an_owner_without_a_lease_tells_other_servers_to_wait, setup),
		T(a_close_waits_for_the_lease, setup),
		T(an_answer_belongs_to_one_era, setup),
		T(with_a_fixed_view_everything_is_as_before, setup_fixed),
		T(what_was_told_is_read_where_it_is, setup_fixed),
		T(a_name_comes_without_what_another_server_controls, setup_busy),
		T(a_removal_is_not_to_be_asked_for_again, setup_fixed),
		cmocka_unit_test(a_configuration_that_cannot_work_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
