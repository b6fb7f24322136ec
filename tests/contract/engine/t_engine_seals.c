/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Logs that end, with real engines: a server that is given up, what it had alone and what becomes of it at its return; going on without a server after
 * COMMIT was answered; repairs that are interrupted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cluster.h"
#include "engine/engine_int.h"

#define LEASE_MS 3000

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static uint64_t ms_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void get_view(struct site *s, struct nfs4r_core_view *v)
{
	pthread_mutex_lock(&s->eng->lock);
	nfs4r_core_get_view(s->eng->core, v);
	pthread_mutex_unlock(&s->eng->lock);
}

static bool all_serve(struct cluster *c)
{
	for (int i = 1; i <= SITES; i++) {
		struct nfs4r_core_view v;

		if (!c->site[i].eng || !view_has_lease(c->site[i].eng))
			return false;
		get_view(&c->site[i], &v);
		if (!v.member || v.joining || v.repairing)
			return false;
	}
	return true;
}

static void wait_all_serve(struct cluster *c)
{
	for (int i = 0; i < 3000 && !all_serve(c); i++)
		pause_ms(10);
	assert_true(all_serve(c));
}

static int begin(void **state, uint32_t durability)
{
	struct cluster *c = calloc(1, sizeof(*c));

	cluster_init(c);
	c->lease_ms = c->silence_ms = LEASE_MS;
	c->durability = durability;
	c->idle_ms = 20000; /* controls stay where they are */
	for (int i = 1; i <= SITES; i++)
		cluster_start(c, i);
	wait_all_serve(c);
	*state = c;
	return 0;
}

static int setup(void **state)
{
	return begin(state, NFS4R_DURABILITY_LOCAL);
}

static int setup_commit(void **state)
{
	return begin(state, NFS4R_DURABILITY_COMMIT);
}

static int teardown(void **state)
{
	cluster_fini(*state);
	free(*state);
	return 0;
}

static struct nfs4r_oid make(struct site *s, uint32_t type, const struct nfs4r_oid *dir, const char *name)
{
	struct nfs4r_oid oid;

	assert_int_equal(site_make(s, type, dir, name, &oid), NFS4R_OK);
	return oid;
}

static struct nfs4r_oid make_file(struct site *s, const struct nfs4r_oid *dir, const char *name, const char *text)
{
	struct nfs4r_oid f = make(s, NFS4R_OP_CREATE, dir, name);

	assert_int_equal(site_write(s, &f, 0, text, (uint32_t)strlen(text)), NFS4R_OK);
	return f;
}

static void write_text(struct site *s, const struct nfs4r_oid *f, const char *text)
{
	assert_int_equal(site_write(s, f, 0, text, (uint32_t)strlen(text)), NFS4R_OK);
}

static void expect_content(struct site *s, const struct nfs4r_oid *f, const char *want)
{
	char got[200];
	uint32_t len = sizeof(got);

	assert_int_equal(site_read(s, f, 0, got, &len), NFS4R_OK);
	assert_int_equal(len, strlen(want));
	assert_memory_equal(got, want, len);
}

/* What a shell says on standard output. */
static void shell(char *out, size_t len, const char *fmt, ...)
{
	char cmd[800];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	FILE *p = popen(cmd, "r");
	assert_non_null(p);
	size_t n = fread(out, 1, len - 1, p);
	out[n] = '\0';
	pclose(p);
}

static void give_up(struct site *s, nfs4r_server_id who)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_GIVE_UP, .peer = who };
	char why[200] = "";
	uint64_t lost;
	enum nfs4r_status st = NFS4R_INVAL;

	for (int i = 0; i < 1000 && st != NFS4R_OK; i++) { /* it may hear of the view a moment later than the other one */
		if (i)
			pause_ms(10);
		pthread_mutex_lock(&s->eng->lock);
		st = nfs4r_core_may_give_up(s->eng->core, who, &lost, why, sizeof(why));
		if (st == NFS4R_OK)
			engine_step(s->eng, &ev);
		pthread_mutex_unlock(&s->eng->lock);
	}
	if (st != NFS4R_OK)
		fail_msg("may not be given up: %s", why);
}

static void wait_sealed(struct site *s, nfs4r_server_id who)
{
	struct nfs4r_core_view v;

	for (int i = 0; i < 2000; i++) {
		get_view(s, &v);
		if (v.adopted.epoch && !(v.adopted.open & NFS4R_BIT(who)))
			return;
		pause_ms(10);
	}
	fail_msg("server %d sees no end of the log of server %d", s->id, who);
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
	assert_int_equal(site_rename(s, &t->dir, "moved", &t->sub, "moved-in"), NFS4R_OK);
	assert_int_equal(site_remove(s, &t->dir, "gone"), NFS4R_OK);
	make(s, NFS4R_OP_MKDIR, &t->dir, "newdir");
	assert_int_equal(site_rename(s, &t->dir, "sub", &t->dir, "sub-renamed"), NFS4R_OK);
}

/* Server 3 has updates that nobody else has, and is gone; the other two are up and without it. */
static void part(struct cluster *c, struct tree *t)
{
	plant(c, t);
	cluster_stop(c, 1);
	cluster_stop(c, 2);
	only_three_has(c, t);
	cluster_stop(c, 3);
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
}

static void a_server_that_was_given_up_comes_back(void **state)
{
	struct cluster *c = *state;
	struct tree t;
	struct nfs4r_oid more;
	uint64_t verifier;

	part(c, &t);
	verifier = nfs4r_verifier(c->site[1].eng);
	give_up(&c->site[1], 3);
	wait_sealed(&c->site[1], 3);
	wait_sealed(&c->site[2], 3);
	assert_true(nfs4r_verifier(c->site[1].eng) != verifier); /* unstable data may be gone */
	expect_old(&c->site[2], &t);
	write_text(&c->site[1], &t.over, "one took it over");
	more = make_file(&c->site[2], &t.dir, "new", "another new");
	assert_int_equal(site_remove(&c->site[1], &t.dir, "moved"), NFS4R_OK);
	cluster_start(c, 3);
	site_says(&c->site[3], "this copy was repaired from server", 30);
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
	give_up(&c->site[2], 3);
	wait_sealed(&c->site[2], 3);
	cluster_start(c, 3);
	site_says(&c->site[3], "this copy was repaired from server", 30);
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
	give_up(&c->site[1], 3);
	wait_sealed(&c->site[1], 3);
	wait_sealed(&c->site[2], 3);
	for (int i = 0; i < 3; i++) {
		dirlops_slow_writes(i < 2 ? 400 : 0); /* of all servers: the repair makes some of them */
		cluster_start(c, 3);
		if (i == 2)
			break;
		site_says(&c->site[3], "this copy has updates that were given up", 30);
		pause_ms(200 + 500 * i);
		cluster_stop(c, 3);
		pthread_mutex_lock(&c->site[3].lock);
		c->site[3].logged[0] = '\0';
		pthread_mutex_unlock(&c->site[3].lock);
	}
	site_says(&c->site[3], "this copy was repaired from server", 30);
	wait_all_serve(c);
	expect_old(&c->site[3], &t);
	cluster_settle(c);
	expect_saved(c);
}

static enum nfs4r_status commit_file(struct site *s, const struct nfs4r_oid *f)
{
	for (int i = 0; i < 100; i++) {
		struct nfs4r_read rd = { .type = NFS4R_RD_COMMIT, .oid = *f };
		bool local;
		enum nfs4r_status st = nfs4r_read(s->eng, &rd, &local);

		if (local)
			st = nfs4r_read_here(s->eng, &rd);
		nfs4r_read_fini(&rd);
		if (st != NFS4R_DELAY)
			return st;
	}
	return NFS4R_DELAY;
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
		assert_int_equal(commit_file(&c->site[3], &f[i]), NFS4R_OK);
		began = ms_now() - began;
		most = began > most ? began : most;
		sum += began;
	}
	for (int i = 0; i < 3; i++) /* asked for at another server than the one that has the file */
		assert_int_equal(commit_file(&c->site[2], &f[i]), NFS4R_OK);
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

/* Nobody else is there: it must not be said that a majority has it. */
static void a_commit_waits_for_a_majority(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[3]), f = make_file(&c->site[3], &root, "f", "x");
	uint64_t began;

	assert_int_equal(commit_file(&c->site[3], &f), NFS4R_OK);
	cluster_stop(c, 1);
	cluster_stop(c, 2);
	write_text(&c->site[3], &f, "y"); /* unstable: answered at once */
	began = ms_now();
	assert_int_equal(nfs4r_commit(c->site[3].eng, &f), NFS4R_DELAY);
	assert_in_range(ms_now() - began, c->site[3].eng->cfg.op_wait_ms - 100, c->site[3].eng->cfg.op_wait_ms + 2000);
}

/* Every TCP connection of this process. */
static void pace_connections(uint32_t bytes_per_second)
{
	for (int fd = 3; fd < 256; fd++) {
		struct sockaddr_storage peer;
		socklen_t len = sizeof(peer);

		if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0 && peer.ss_family == AF_INET)
			assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes_per_second, sizeof(bytes_per_second)), 0);
	}
}

static bool is_waiting(struct site *s, const struct nfs4r_oid *oid)
{
	struct nfs4r_left left;

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

	assert_int_equal(commit_file(&c->site[3], &f), NFS4R_OK);
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

#define T(name, setup) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_server_that_was_given_up_comes_back, setup),
		T(what_was_undone_is_as_before, setup),
		T(a_repair_that_is_interrupted_begins_again, setup),
		T(committed_bytes_survive_their_server, setup_commit),
		T(a_commit_waits_for_a_majority, setup_commit),
		T(bytes_of_lost_writes_are_the_same_everywhere, setup_commit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
