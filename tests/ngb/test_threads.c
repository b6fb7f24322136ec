/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Kernels with several threads: class S verifies, and not a bit of the result is other than with one thread. What threads should have of their own and share, or
 * read before another thread has written it, shows here: again and again a signal stops a thread, mostly the first one, wherever it is, and the others go on. Where
 * processors are few or busy they would seldom meet by themselves. A build without OpenMP has only the refusals.
 */
#include "ngb/kernels/clock.h"
#include "ngb/ngb.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <cmocka.h>

#define GO_ON_US 200 /* between two stops */
#define STOP_US 50
#define EFFORT_S 0.3 /* for each kernel and number of threads */

/* ---- stops ---- */

static void next_stop_in(int us)
{
	struct itimerval once = { .it_value.tv_usec = us };

	setitimer(ITIMER_REAL, &once, NULL);
}

/* The next stop counts from the end of this one, so that there is some progress however long it takes. */
static void stop(int signal_number)
{
	struct timespec moment = { .tv_nsec = STOP_US * 1000 };
	int saved = errno;

	nanosleep(&moment, NULL);
	next_stop_in(GO_ON_US);
	errno = saved;
}

static int with_stops(void **state)
{
	struct sigaction action = { .sa_handler = stop, .sa_flags = SA_RESTART };

	return sigaction(SIGALRM, &action, NULL);
}

static int without_stops(void **state)
{
	signal(SIGALRM, SIG_IGN);
	next_stop_in(0);
	return 0;
}

/* ---- tests ---- */

struct outcome {
	struct ngb_field solution;
	struct ngb_result result;
};

static void run(const struct ngb_kernel *k, int threads, int niter, struct outcome *o)
{
	assert_int_equal(ngb_threads_set(threads), 0);
	assert_int_equal(ngb_threads(), threads);
	next_stop_in(threads > 1 ? GO_ON_US : 0);
	assert_int_equal(k->run(NGB_CLASS_S, niter, NULL, &o->solution, &o->result), 0);
	next_stop_in(0);
	assert_int_equal(ngb_threads_set(1), 0);
}

static void assert_same(const struct outcome *a, const struct outcome *b)
{
	const struct ngb_field *f = &a->solution;

	assert_int_equal(a->result.n, b->result.n);
	assert_memory_equal(a->result.value, b->result.value, sizeof(a->result.value));
	assert_memory_equal(f->v, b->solution.v, (size_t)f->nx * f->ny * f->nz * f->nvar * sizeof(double));
}

/* At least once, and as often as fits into the seconds: threads that tread on one another need not do so each time. */
static void compare(const struct ngb_kernel *k, int niter, int threads, double seconds)
{
	double end = ngb_seconds() + seconds, worst;
	struct outcome one, several;

	run(k, 1, niter, &one);
	do {
		run(k, threads, niter, &several);
		if (niter == k->iterations(NGB_CLASS_S))
			assert_true(k->verify(NGB_CLASS_S, &several.result, &worst));
		assert_same(&one, &several);
		free(several.solution.v);
	} while (ngb_seconds() < end);
	free(one.solution.v);
}

static void threads_change_nothing(void **state)
{
	static const struct ngb_kernel *const kernels[] = { &ngb_bt, &ngb_sp, &ngb_lu, &ngb_mg, &ngb_ft };

	if (ngb_threads_set(2) == -ENOTSUP)
		skip();
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		const struct ngb_kernel *k = kernels[i];

		for (int threads = 1; threads <= 3; threads++)
			compare(k, k->iterations(NGB_CLASS_S), threads, threads > 1 ? EFFORT_S : 0);
		compare(k, 1, NGB_THREADS_MAX, 0); /* more than there are planes, or diagonals of LU */
	}
}

static void no_such_number(void **state)
{
	static const int wrong[] = { INT32_MIN, -1, 0, NGB_THREADS_MAX + 1, INT32_MAX };

	assert_int_equal(ngb_threads(), 1);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(ngb_threads_set(wrong[i]), -EINVAL);
	assert_int_equal(ngb_threads(), 1);
	assert_int_equal(ngb_threads_set(1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_such_number),
		cmocka_unit_test_setup_teardown(threads_change_nothing, with_stops, without_stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
