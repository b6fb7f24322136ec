/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * BT, SP and LU: class S has the published values, values a little off are refused, a run can be cut in two, and neither the boundary of the field that it
 * starts from nor anything else that it must not depend on changes a bit.
 *
 *	ngb_cfd_test [S|W|A]	the class that is verified; the other tests are always of class S
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ngb/kernels/cfd.h"

static const struct ngb_kernel *const kernels[] = { &ngb_bt, &ngb_sp, &ngb_lu };

#define EACH_KERNEL(k) for (int n_ = 0; n_ < 3 && ((k) = kernels[n_], true); n_++)

static enum ngb_class verified = NGB_CLASS_S;

/* ---- memory that runs out: the countdown-th allocation fails; 0 is none ---- */

static int countdown;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);

static bool runs_out(void)
{
	return countdown && --countdown == 0;
}

void *__wrap_malloc(size_t size)
{
	return runs_out() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return runs_out() ? NULL : __real_calloc(n, size);
}

/* ---- helpers ---- */

static size_t values_in(const struct ngb_field *f)
{
	return (size_t)f->nx * f->ny * f->nz * f->nvar;
}

static void run(const struct ngb_kernel *k, int niter, const struct ngb_field *initial, struct ngb_field *solution, struct ngb_result *r)
{
	assert_int_equal(k->run(NGB_CLASS_S, niter, initial, solution, r), 0);
	assert_non_null(solution->v);
}

static void assert_same(const struct ngb_field *a, const struct ngb_field *b)
{
	assert_int_equal(values_in(a), values_in(b));
	assert_memory_equal(a->v, b->v, values_in(a) * sizeof(double));
}

static double *value_at(struct ngb_field *f, int i, int j, int k)
{
	return f->v + (((size_t)k * f->ny + j) * f->nx + i) * f->nvar;
}

/* Calls fn for all values, with the point and the value's number in it. */
static void each_value(struct ngb_field *f, void (*fn)(const struct ngb_field *f, const int at[3], int m, double *v))
{
	for (int k = 0; k < f->nz; k++)
		for (int j = 0; j < f->ny; j++)
			for (int i = 0; i < f->nx; i++)
				for (int m = 0; m < f->nvar; m++)
					fn(f, (const int[3]){ i, j, k }, m, value_at(f, i, j, k) + m);
}

/* ---- tests ---- */

static void test_published_values(void **state)
{
	const struct ngb_kernel *k;

	EACH_KERNEL(k) {
		struct ngb_field solution;
		struct ngb_result r;
		double worst;
		bool ok;

		assert_int_equal(k->run(verified, k->iterations(verified), NULL, &solution, &r), 0);
		ok = k->verify(verified, &r, &worst);
		print_message("%s: off by %.1e at most, %.2f s\n", k->name, worst, r.seconds);
		assert_true(ok);
		assert_true(worst <= 1e-8);
		free(solution.v);
	}
}

static void refused(const struct ngb_kernel *k, const struct ngb_result *r)
{
	double worst = 0.0;

	assert_false(k->verify(NGB_CLASS_S, r, &worst));
	assert_true(worst > 1e-8);
}

static void test_wrong_values_are_refused(void **state)
{
	const struct ngb_kernel *k;

	EACH_KERNEL(k) {
		struct ngb_field solution;
		struct ngb_result r, wrong;
		double worst;

		run(k, k->iterations(NGB_CLASS_S), NULL, &solution, &r);
		for (int i = 0; i < r.n; i++) {
			wrong = r;
			wrong.value[i] *= 1.0 + 0.9e-8;
			assert_true(k->verify(NGB_CLASS_S, &wrong, &worst));
			wrong.value[i] = r.value[i] * (1.0 + 1.1e-8);
			refused(k, &wrong);
			wrong.value[i] = r.value[i] * (1.0 - 1.1e-8);
			refused(k, &wrong);
			wrong.value[i] = -r.value[i];
			refused(k, &wrong);
			wrong.value[i] = NAN;
			refused(k, &wrong);
		}
		wrong = r;
		wrong.n--;
		refused(k, &wrong);
		free(solution.v);
	}
}

static void test_too_few_iterations_are_refused(void **state)
{
	const struct ngb_kernel *k;

	EACH_KERNEL(k) {
		struct ngb_field solution;
		struct ngb_result r;

		run(k, k->iterations(NGB_CLASS_S) - 1, NULL, &solution, &r);
		refused(k, &r);
		free(solution.v);
	}
}

static void test_a_run_cut_in_two_is_the_same(void **state)
{
	const struct ngb_kernel *k;

	EACH_KERNEL(k) {
		struct ngb_field whole, half, rest;
		struct ngb_result of_whole, of_half, of_rest;

		run(k, 7, NULL, &whole, &of_whole);
		run(k, 3, NULL, &half, &of_half);
		run(k, 4, &half, &rest, &of_rest);
		assert_same(&whole, &rest);
		assert_int_equal(of_whole.n, of_rest.n);
		assert_memory_equal(of_whole.value, of_rest.value, sizeof(of_whole.value));
		free(whole.v);
		free(half.v);
		free(rest.v);
	}
}

static void spoil_boundary(const struct ngb_field *f, const int at[3], int m, double *v)
{
	for (int d = 0; d < 3; d++)
		if (at[d] == 0 || at[d] == f->nx - 1)
			*v = NAN;
}

static void test_the_boundary_is_the_benchmarks_own(void **state)
{
	const struct ngb_kernel *k;

	EACH_KERNEL(k) {
		struct ngb_field start, spoiled, a, b;
		struct ngb_result r;

		run(k, 0, NULL, &start, &r);
		run(k, 0, NULL, &spoiled, &r);
		each_value(&spoiled, spoil_boundary);
		run(k, 2, &start, &a, &r);
		run(k, 2, &spoiled, &b, &r);
		assert_same(&a, &b);
		free(start.v);
		free(spoiled.v);
		free(a.v);
		free(b.v);
	}
}

static void set_steady(const struct ngb_field *f, const int at[3], int m, double *v)
{
	double h = 1.0 / (f->nx - 1);

	*v = cfd_exact(m, at[0] * h, at[1] * h, at[2] * h);
}

static void test_the_steady_solution_stays(void **state)
{
	const struct ngb_kernel *k;

	EACH_KERNEL(k) {
		struct ngb_field f, after;
		struct ngb_result r;

		run(k, 0, NULL, &f, &r);
		each_value(&f, set_steady);
		run(k, 3, &f, &after, &r);
		for (int i = 0; i < 2 * CFD_VARS; i++)
			assert_true(r.value[i] < 1e-11);
		free(f.v);
		free(after.v);
	}
}

static void test_no_memory(void **state)
{
	const struct ngb_kernel *k;

	EACH_KERNEL(k) {
		for (int nth = 1; nth <= 2; nth++) {
			struct ngb_field solution;
			struct ngb_result r;

			countdown = nth;
			assert_int_equal(k->run(NGB_CLASS_S, 1, NULL, &solution, &r), -ENOMEM);
			assert_int_equal(countdown, 0);
			assert_null(solution.v);
		}
	}
}

int main(int argc, char **argv)
{
	static const char letters[] = " SWA";
	const char *letter = argc > 1 ? strchr(letters + 1, argv[1][0]) : letters + NGB_CLASS_S;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published_values),
		cmocka_unit_test(test_wrong_values_are_refused),
		cmocka_unit_test(test_too_few_iterations_are_refused),
		cmocka_unit_test(test_a_run_cut_in_two_is_the_same),
		cmocka_unit_test(test_the_boundary_is_the_benchmarks_own),
		cmocka_unit_test(test_the_steady_solution_stays),
		cmocka_unit_test(test_no_memory),
	};

	if (!letter || !*letter) {
		fprintf(stderr, "usage: ngb_cfd_test [S|W|A]\n");
		return 2;
	}
	verified = (enum ngb_class)(letter - letters);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
