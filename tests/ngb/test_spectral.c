/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * MG and FT: the published values (class S, or the classes that the arguments name), values a little off are refused, and what follows
 * from the definitions: a given field is taken, both kernels are linear in it, no iteration leaves it.
 *
 *	ngb_spectral_test [S|W|A]...
 */
#include "ngb/ngb.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct ngb_kernel *const kernels[] = { &ngb_mg, &ngb_ft };

#define EACH_KERNEL(k) for (int n_ = 0; n_ < 2 && ((k) = kernels[n_], true); n_++)

static bool wanted[NGB_CLASS_A + 1] = { [NGB_CLASS_S] = true };

static size_t values_in(const struct ngb_field *f)
{
	return (size_t)f->nx * f->ny * f->nz * f->nvar;
}

static void published(void **state)
{
	const struct ngb_kernel *k;

	for (enum ngb_class c = NGB_CLASS_S; c <= NGB_CLASS_A; c++)
		EACH_KERNEL(k) {
			struct ngb_field solution;
			struct ngb_result r;
			double worst;

			if (!wanted[c])
				continue;
			assert_int_equal(k->run(c, k->iterations(c), NULL, &solution, &r), 0);
			assert_true(k->verify(c, &r, &worst));
			print_message("%s %d: %.2g off, %.2f s\n", k->name, c, worst, r.seconds);
			for (int i = 0; i < r.n; i++) {
				struct ngb_result off = r;

				off.value[i] *= 1 + 1e-7;
				assert_false(k->verify(c, &off, &worst));
			}
			r.n--;
			assert_false(k->verify(c, &r, &worst));
			free(solution.v);
		}
}

static struct ngb_field made(const struct ngb_kernel *k, double scale)
{
	struct ngb_field f;

	k->mesh(NGB_CLASS_S, &f);
	f.v = malloc(values_in(&f) * sizeof(double));
	assert_non_null(f.v);
	for (size_t q = 0; q < values_in(&f); q++)
		f.v[q] = scale * (double)(q * 2654435761u % 1000);
	return f;
}

/* Twice the field gives exactly twice the solution: a factor of two rounds nothing. */
static void linear(void **state)
{
	const struct ngb_kernel *k;

	EACH_KERNEL(k) {
		struct ngb_field one = made(k, 1), two = made(k, 2), a, b;
		struct ngb_result r;

		assert_int_equal(k->run(NGB_CLASS_S, 2, &one, &a, &r), 0);
		assert_int_equal(k->run(NGB_CLASS_S, 2, &two, &b, &r), 0);
		for (size_t q = 0; q < values_in(&a); q++)
			assert_true(b.v[q] == 2 * a.v[q] && isfinite(a.v[q]));
		free(one.v);
		free(two.v);
		free(a.v);
		free(b.v);
	}
}

/* MG begins with u = 0, so r is what was given; FT has done nothing with it. */
static void no_iteration(void **state)
{
	struct ngb_field f = made(&ngb_mg, 1), u;
	struct ngb_result r;
	double sum = 0;

	assert_int_equal(ngb_mg.run(NGB_CLASS_S, 0, &f, &u, &r), 0);
	for (size_t q = 0; q < values_in(&f); q++) {
		assert_true(u.v[q] == 0);
		sum += f.v[q] * f.v[q];
	}
	assert_true(fabs(r.value[0] - sqrt(sum / (double)values_in(&f))) < 1e-9);
	free(f.v);
	free(u.v);
	f = made(&ngb_ft, 1);
	assert_int_equal(ngb_ft.run(NGB_CLASS_S, 0, &f, &u, &r), 0);
	assert_int_equal(r.n, 0);
	assert_memory_equal(f.v, u.v, values_in(&f) * sizeof(double));
	free(f.v);
	free(u.v);
}

/* One mode, cos(2 pi (3x + y)), decays by exp(-4 alpha pi^2 10) an iteration and keeps its shape. */
static void one_mode(void **state)
{
	struct ngb_field f, u;
	struct ngb_result r;
	double decay = exp(-4e-6 * M_PI * M_PI * 10 * 2);

	ngb_ft.mesh(NGB_CLASS_S, &f);
	f.v = malloc(values_in(&f) * sizeof(double));
	assert_non_null(f.v);
	for (size_t q = 0; q < values_in(&f); q++)
		f.v[q] = cos(2 * M_PI * (3.0 * (double)(q % f.nx) / f.nx + (double)(q / f.nx % f.ny) / f.ny));
	assert_int_equal(ngb_ft.run(NGB_CLASS_S, 2, &f, &u, &r), 0);
	for (size_t q = 0; q < values_in(&f); q++)
		assert_true(fabs(u.v[q] - decay * f.v[q]) < 1e-12);
	free(f.v);
	free(u.v);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published),
		cmocka_unit_test(linear),
		cmocka_unit_test(no_iteration),
		cmocka_unit_test(one_mode),
	};

	for (int i = 1; i < argc; i++)
		wanted[argv[i][0] == 'W' ? NGB_CLASS_W : argv[i][0] == 'A' ? NGB_CLASS_A :
									     NGB_CLASS_S] = true;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
