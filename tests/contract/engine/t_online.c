/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * When a server begins to take part: not before the daemon around it has started, and not at once when it ended soon after its last starts. Until then
 * the others notice nothing of it.
 */
#include "lib/unit.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster.h"
#include "engine/engine_int.h"
#include "engine/start/start.h"
#include "steps.h"

/* ---- the daemon of server 3 ---- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool up, never;
} daemon_of_3 = { .lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER };

static bool ready(void *ops)
{
	pthread_mutex_lock(&daemon_of_3.lock);
	while (!daemon_of_3.up && !daemon_of_3.never)
		pthread_cond_wait(&daemon_of_3.cond, &daemon_of_3.lock);
	bool up = daemon_of_3.up;
	pthread_mutex_unlock(&daemon_of_3.lock);
	return up;
}

static void daemon_is(bool up, bool never)
{
	pthread_mutex_lock(&daemon_of_3.lock);
	daemon_of_3.up = up;
	daemon_of_3.never = never;
	pthread_cond_broadcast(&daemon_of_3.cond);
	pthread_mutex_unlock(&daemon_of_3.lock);
}

static int setup(void **state)
{
	struct cluster *c = cluster_new();

	c->lease_ms = c->silence_ms = 500;
	daemon_is(true, false);
	cluster_begin(c, state);
	wait_all_serve(c);
	return 0;
}

static uint64_t view_of(struct cluster *c)
{
	struct nfs4r_core_view v;

	get_view(&c->site[1], &v);
	return v.adopted.num;
}

/* The others have removed server 3, and go on. */
static uint64_t gone(struct cluster *c)
{
	struct nfs4r_core_view v;

	cluster_stop(c, 3);
	for (int i = 0;; i++) {
		get_view(&c->site[1], &v);
		if (!(v.adopted.members & NFS4R_BIT(3)))
			return view_of(c);
		assert_true(i < 1000);
		pause_ms(20);
	}
}

static bool said(struct site *s, const char *text)
{
	pthread_mutex_lock(&s->lock);
	bool yes = strstr(s->logged, text) != NULL;
	pthread_mutex_unlock(&s->lock);
	return yes;
}

static void forget_said(struct site *s)
{
	pthread_mutex_lock(&s->lock);
	s->logged[0] = '\0';
	pthread_mutex_unlock(&s->lock);
}

static void write_starts(struct site *s, const char *text)
{
	must_shell("printf '%s' >%s/starts", text, s->store);
}

/* ---- tests ---- */

static void nobody_notices_a_start_that_comes_to_nothing(void **state)
{
	struct cluster *c = *state;
	uint64_t num = gone(c);

	forget_said(&c->site[1]);
	forget_said(&c->site[3]);
	c->site[3].ready = ready;
	for (int i = 0; i < 3; i++) { /* its NFS port is taken, say; systemd tries it again */
		daemon_is(false, false);
		cluster_start(c, 3);
		pause_ms(300);
		pthread_mutex_lock(&c->site[3].eng->lock);
		assert_non_null(strstr(c->site[3].eng->start.starting, "the daemon is starting"));
		pthread_mutex_unlock(&c->site[3].eng->lock);
		daemon_is(false, true);
		cluster_stop(c, 3);
	}
	assert_int_equal(view_of(c), num);
	assert_false(said(&c->site[1], "server 3 is connected"));
	assert_false(said(&c->site[3], "server 1 is connected"));
	daemon_is(true, false);
	cluster_start(c, 3);
	wait_all_serve(c);
	if (view_of(c) <= num)
		fail_msg("view %llu after %llu", (unsigned long long)view_of(c), (unsigned long long)num);
	assert_int_equal(c->site[3].eng->start.starting[0], 0);
}

static void who_ends_soon_again_and_again_waits(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	uint64_t num = gone(c), begun;

	forget_said(s);
	c->restart_pause_ms = 1500;
	write_starts(s, "3\n"); /* it died three times */
	cluster_start(c, 3);
	begun = engine_now_ms();
	site_says(s, "the last 3 runs of this server ended within 30 s each; it waits 1 s before it joins", 5);
	pause_ms(700);
	assert_int_equal(view_of(c), num);
	assert_false(said(s, "server 1 is connected"));
	wait_all_serve(c);
	assert_true(engine_now_ms() - begun >= 1500);
	assert_int_equal(start_online_starts(s->eng), 4); /* should it die now */
	cluster_stop(c, 3); /* in order: it counts for nothing */
	cluster_start(c, 3);
	assert_int_equal(start_online_starts(s->eng), 3);
}

static void a_stop_ends_the_pause(void **state)
{
	struct cluster *c = *state;
	uint64_t begun;

	gone(c);
	c->restart_pause_ms = 60000;
	write_starts(&c->site[3], "4000000000");
	cluster_start(c, 3);
	site_says(&c->site[3], "it waits 60 s", 5);
	begun = engine_now_ms();
	cluster_stop(c, 3);
	assert_true(engine_now_ms() - begun < 10000);
}

static void few_starts_or_none_known_wait_for_nothing(void **state)
{
	struct cluster *c = *state;
	static const char *const texts[] = { "2\n", "", "rubbish", "-" };

	gone(c);
	c->restart_pause_ms = 60000;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_starts(&c->site[3], texts[i]);
		cluster_start(c, 3);
		wait_all_serve(c);
		cluster_stop(c, 3);
	}
	assert_false(said(&c->site[3], "it waits"));
}

static void pauses_grow_and_have_a_bound(void **state)
{
	assert_int_equal(start_online_pause_ms(0, 60000), 0);
	assert_int_equal(start_online_pause_ms(2, 60000), 0);
	assert_int_equal(start_online_pause_ms(3, 60000), 5000);
	assert_int_equal(start_online_pause_ms(4, 60000), 10000);
	assert_int_equal(start_online_pause_ms(6, 60000), 40000);
	assert_int_equal(start_online_pause_ms(7, 60000), 60000);
	assert_int_equal(start_online_pause_ms(UINT32_MAX, 600000), 600000);
	assert_int_equal(start_online_pause_ms(3, 100), 100);
	assert_int_equal(start_online_pause_ms(9, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pauses_grow_and_have_a_bound),
		cmocka_unit_test_setup_teardown(nobody_notices_a_start_that_comes_to_nothing, setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(who_ends_soon_again_and_again_waits, setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_stop_ends_the_pause, setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(few_starts_or_none_known_wait_for_nothing, setup, cluster_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
