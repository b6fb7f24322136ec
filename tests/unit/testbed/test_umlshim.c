/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A guest misses no input: bed/umlshim.c, preloaded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define TRIES 400
#define LATE_NS 20000 /* poll shows a frame so long after its signal */

static atomic_int signals, others;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	atomic_fetch_add(&signals, 1);
}

static void on_other(int sig)
{
	(void)sig;
	atomic_fetch_add(&others, 1);
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int catch (void **state)
{
	struct sigaction a = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	(void)state;
	atomic_store(&signals, 0);
	atomic_store(&others, 0);
	return sigaction(SIGIO, &a, NULL);
}

static void sleep_until_signal(void)
{
	sigset_t none;

	sigemptyset(&none);
	assert_int_equal(sigsuspend(&none), -1);
}

/* An alarm ends the test if one of them sleeps on. */
static void a_signal_before_the_sleep_ends_it(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		alarm(5);
		raise(SIGIO);
		sleep_until_signal();
	}
	assert_int_equal(atomic_load(&signals), 100);
	alarm(0);
}

static void without_a_signal_it_sleeps(void **state)
{
	struct sigaction a = { .sa_handler = on_other };
	struct timespec at = { .tv_nsec = 50000000 };
	struct itimerspec in = { .it_value = at };
	timer_t timer;

	(void)state;
	raise(SIGIO);
	sleep_until_signal();
	assert_int_equal(sigaction(SIGALRM, &a, NULL), 0);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &(struct sigevent){ .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM }, &timer), 0);

	int64_t start = now_ns();

	assert_int_equal(timer_settime(timer, 0, &in, NULL), 0);
	sleep_until_signal();
	assert_true(now_ns() - start >= at.tv_nsec);
	assert_int_equal(atomic_load(&others), 1);
	timer_delete(timer);
	signal(SIGALRM, SIG_DFL);
}

/* UML looks for whether SIGIO works at all: it reads what is set, puts another in, and then the first back. */
static void the_own_handler_is_seen(void **state)
{
	struct sigaction was, other, now;

	(void)state;
	assert_int_equal(sigaction(SIGIO, NULL, &was), 0);
	assert_ptr_equal(was.sa_sigaction, on_signal);
	other = was;
	other.sa_handler = on_other;
	other.sa_flags = 0;
	assert_int_equal(sigaction(SIGIO, &other, NULL), 0);
	raise(SIGIO);
	assert_int_equal(atomic_load(&others), 1);
	assert_int_equal(sigaction(SIGIO, &was, &now), 0);
	assert_ptr_equal(now.sa_handler, on_other);
	raise(SIGIO);
	assert_int_equal(atomic_load(&signals), 1);
}

/* A timer of the kernel gives it: a thread that does would have to wait for a processor on a busy machine. */
static void a_look_after_a_signal_finds_what_comes_a_little_later(void **state)
{
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), epoll = epoll_create(1), found = 0;
	struct itimerspec late = { .it_value.tv_nsec = LATE_NS };
	struct epoll_event e = { .events = EPOLLIN };

	(void)state;
	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &e), 0);
	for (int i = 0; i < TRIES; i++) {
		uint64_t n;

		raise(SIGIO);
		assert_int_equal(timerfd_settime(timer, 0, &late, NULL), 0);
		found += epoll_wait(epoll, &e, 1, 0);
		while (read(timer, &n, sizeof(n)) != sizeof(n))
			;
	}
	assert_in_range(found, TRIES / 2, TRIES); /* the rest: something else had the processor meanwhile */
	assert_int_equal(epoll_wait(epoll, &e, 1, 0), 0);
	close(epoll);
	close(timer);
}

/* Without one it does not look for long. */
static void a_look_without_a_signal_costs_nothing(void **state)
{
	int epoll = epoll_create(1);
	struct epoll_event e;
	int64_t best = INT64_MAX;

	(void)state;
	for (int i = 0; i < 100; i++) {
		int64_t start = now_ns();

		assert_int_equal(epoll_wait(epoll, &e, 1, 0), 0);
		best = now_ns() - start < best ? now_ns() - start : best;
	}
	assert_in_range(best, 0, 20000);
	close(epoll);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_signal_before_the_sleep_ends_it, catch),
		cmocka_unit_test_setup(without_a_signal_it_sleeps, catch),
		cmocka_unit_test_setup(the_own_handler_is_seen, catch),
		cmocka_unit_test_setup(a_look_after_a_signal_finds_what_comes_a_little_later, catch),
		cmocka_unit_test_setup(a_look_without_a_signal_costs_nothing, catch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
