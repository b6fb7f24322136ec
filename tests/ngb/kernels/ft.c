/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * FT: the diffusion equation on a periodic box, in the space of its Fourier transform.
 *
 * Happy path: the box is filled with random complex numbers, or with the given field as real parts, and transformed once; iteration
 * t multiplies each mode by exp(-4 alpha pi^2 t |k|^2), transforms back into a box of its own and adds up 1024 of its values. The
 * solution is the real part of the last box. A transform is three sweeps of one-dimensional ones: a line is copied to a buffer,
 * transformed there with Stockham's method (radix 2, no bit reversal), and copied back, several lines at a time where they are
 * not contiguous.
 *
 * Failure modes: memory. Invariants: all lengths are powers of two; exp, sin and cos are rounded from long double, because the library's
 * double ones differ in the last bit from processor to processor, and the sites of a graph must agree to the bit.
 */
#include "ngb/kernels/clock.h"
#include "ngb/kernels/random.h"
#include "ngb/ngb.h"

#include <complex.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LINES 8 /* transformed together */
#define LENGTH_MAX 256
#define SAMPLES 1024 /* in a checksum */
#define ITERATIONS 6
#define ALPHA 1e-6

typedef double complex cplx;

struct ft {
	int n[3]; /* x, y, z; x is the fastest */
	size_t total;
	cplx *modes, *box;
	double *decay[3]; /* of one iteration, for each coordinate of a mode */
	cplx root[LENGTH_MAX]; /* exp(2 pi i q / LENGTH_MAX) */
};

/* What a thread transforms lines in. */
struct buffers {
	cplx a[LENGTH_MAX * LINES], b[LENGTH_MAX * LINES];
};

static const double sums[][ITERATIONS][2] = {
	[NGB_CLASS_S] = { { 554.6087004964, 484.5363331978 }, { 554.6385409189, 486.5304269511 }, { 554.6148406171, 488.3910722336 }, { 554.5423607415, 490.1273169046 }, { 554.4255039624, 491.7475857993 }, { 554.2683411902, 493.2597244941 } },
	[NGB_CLASS_W] = { { 567.3612178944, 529.3246849175 }, { 563.1436885271, 528.2149986629 }, { 559.402408997, 527.0996558037 }, { 556.069804702, 526.0027904925 }, { 553.089899125, 524.9400845633 }, { 550.4159734538, 523.9212247086 } },
	[NGB_CLASS_A] = { { 504.6735008193, 511.404790551 }, { 505.9412319734, 509.8809666433 }, { 506.9376896287, 509.8144042213 }, { 507.7892868474, 510.1336130759 }, { 508.5233095391, 510.4914655194 }, { 509.1487099959, 510.7917842803 } },
};

static void ft_mesh(enum ngb_class c, struct ngb_field *f)
{
	static const int n[][3] = { [NGB_CLASS_S] = { 64, 64, 64 }, [NGB_CLASS_W] = { 128, 128, 32 }, [NGB_CLASS_A] = { 256, 256, 128 } };

	*f = (struct ngb_field){ .nx = n[c][0], .ny = n[c][1], .nz = n[c][2], .nvar = 1 };
}

static int ft_iterations(enum ngb_class c)
{
	return ITERATIONS;
}

/* LINES transforms of length n at once; element q of line l is at [q * LINES + l]. Returns where the result is: a or b. */
static cplx *lines(const struct ft *f, struct buffers *w, int n, bool inverse)
{
	cplx *from = w->a, *to = w->b, *t;

	/* `half` is the length of what is still to be split, `s` how many interleaved sequences there are. */
	for (int half = n / 2, s = 1; half >= 1; half /= 2, s *= 2) {
		for (int p = 0; p < half; p++) {
			cplx root = f->root[(size_t)p * (size_t)(LENGTH_MAX / (2 * half))];
			double re = creal(root), im = inverse ? cimag(root) : -cimag(root);

			for (int q = 0; q < s * LINES; q++) {
				cplx x = from[p * s * LINES + q], y = from[(p + half) * s * LINES + q], d = x - y;

				to[2 * p * s * LINES + q] = x + y;
				to[(2 * p + 1) * s * LINES + q] =
					CMPLX(creal(d) * re - cimag(d) * im, creal(d) * im + cimag(d) * re);
			}
		}
		t = from;
		from = to;
		to = t;
	}
	return from;
}

/* All lines along one direction. `stride` between elements of a line; LINES neighbouring lines lie `next` apart. */
static void sweep(const struct ft *f, cplx *x, int direction, bool inverse)
{
	int n = f->n[direction], nx = f->n[0], across = direction == 0 ? f->n[1] : nx;
	int outer = direction == 2 ? f->n[1] : f->n[2];
	size_t stride = direction == 0 ? 1 : direction == 1 ? (size_t)nx :
							      (size_t)nx * f->n[1];
	size_t next = direction == 0 ? (size_t)nx : 1;
	size_t plane = direction == 2 ? (size_t)nx : (size_t)nx * f->n[1];

#pragma omp parallel for num_threads(ngb_threads()) schedule(static)
	for (int o = 0; o < outer; o++) {
		struct buffers w;

		for (int first = 0; first < across; first += LINES) {
			cplx *base = x + o * plane + first * next, *done;

			for (int q = 0; q < n; q++)
				for (int l = 0; l < LINES; l++)
					w.a[q * LINES + l] = base[q * stride + l * next];
			done = lines(f, &w, n, inverse);
			for (int q = 0; q < n; q++)
				for (int l = 0; l < LINES; l++)
					base[q * stride + l * next] = done[q * LINES + l];
		}
	}
}

static void transform(const struct ft *f, cplx *x, bool inverse)
{
	for (int d = 0; d < 3; d++)
		sweep(f, x, inverse ? 2 - d : d, inverse);
}

/* The modes as they are one iteration later, and a copy of them into the box. */
static void evolve(struct ft *f)
{
	size_t plane = (size_t)f->n[0] * f->n[1];

#pragma omp parallel for num_threads(ngb_threads()) schedule(static)
	for (int k = 0; k < f->n[2]; k++) {
		cplx *x = f->modes + k * plane;

		for (int j = 0; j < f->n[1]; j++) {
			double jk = f->decay[1][j] * f->decay[2][k];

			for (int i = 0; i < f->n[0]; i++)
				*x++ *= jk * f->decay[0][i];
		}
		memcpy(f->box + k * plane, f->modes + k * plane, plane * sizeof(cplx));
	}
}

static cplx checksum(const struct ft *f)
{
	cplx sum = 0;

	for (int j = 1; j <= SAMPLES; j++) {
		size_t q = j % f->n[0], r = 3 * j % f->n[1], s = 5 * j % f->n[2];

		sum += f->box[(s * f->n[1] + r) * f->n[0] + q];
	}
	return sum / (double)f->total;
}

static void fill(struct ft *f, const struct ngb_field *initial)
{
	uint64_t x = NGB_SEED;

	for (size_t p = 0; p < f->total; p++) {
		if (initial) {
			f->modes[p] = initial->v[p];
			continue;
		}
		double re = ngb_random(&x), im = ngb_random(&x);

		f->modes[p] = CMPLX(re, im);
	}
}

static void ft_free(struct ft *f)
{
	if (!f)
		return;
	for (int d = 0; d < 3; d++)
		free(f->decay[d]);
	free(f->modes);
	free(f->box);
	free(f);
}

static struct ft *ft_alloc(enum ngb_class c)
{
	struct ft *f = calloc(1, sizeof(*f));
	struct ngb_field mesh;
	bool ok = true;

	if (!f)
		return NULL;
	ft_mesh(c, &mesh);
	f->n[0] = mesh.nx, f->n[1] = mesh.ny, f->n[2] = mesh.nz;
	f->total = (size_t)mesh.nx * mesh.ny * mesh.nz;
	f->modes = malloc(f->total * sizeof(cplx));
	f->box = malloc(f->total * sizeof(cplx));
	for (int d = 0; d < 3; d++) {
		int n = f->n[d];

		f->decay[d] = malloc(n * sizeof(double));
		ok = ok && f->decay[d];
		for (int q = 0; ok && q < n; q++) {
			int k = q < n / 2 ? q : q - n;

			f->decay[d][q] = (double)expl(-4 * ALPHA * M_PIl * M_PIl * k * k);
		}
	}
	for (int q = 0; q < LENGTH_MAX; q++)
		f->root[q] = CMPLX((double)cosl(2 * M_PIl * q / LENGTH_MAX), (double)sinl(2 * M_PIl * q / LENGTH_MAX));
	if (ok && f->modes && f->box)
		return f;
	ft_free(f);
	return NULL;
}

static void iterate(struct ft *f, int niter, struct ngb_result *result)
{
	transform(f, f->modes, false);
	for (int t = 0; t < niter; t++) {
		cplx sum;

		evolve(f);
		transform(f, f->box, true);
		sum = checksum(f);
		if (t < ITERATIONS) {
			result->value[result->n++] = creal(sum);
			result->value[result->n++] = cimag(sum);
		}
	}
}

static int ft_run(enum ngb_class c, int niter, const struct ngb_field *initial, struct ngb_field *solution, struct ngb_result *result)
{
	struct ft *f = ft_alloc(c);
	double start, *v = f ? malloc(f->total * sizeof(double)) : NULL;

	if (!v) {
		ft_free(f);
		return -ENOMEM;
	}
	fill(f, initial);
	memcpy(f->box, f->modes, f->total * sizeof(cplx)); /* the solution of no iteration */
	for (size_t p = 0; niter == 0 && p < f->total; p++)
		f->box[p] *= (double)f->total;
	*result = (struct ngb_result){ 0 };
	start = ngb_seconds();
	iterate(f, niter, result);
	result->seconds = ngb_seconds() - start;
	for (size_t p = 0; p < f->total; p++)
		v[p] = creal(f->box[p]) / (double)f->total;
	ft_mesh(c, solution);
	solution->v = v;
	ft_free(f);
	return 0;
}

static bool ft_verify(enum ngb_class c, const struct ngb_result *result, double *worst_relative_error)
{
	*worst_relative_error = 0;
	for (int t = 0; t < ITERATIONS; t++) {
		cplx want = CMPLX(sums[c][t][0], sums[c][t][1]), got = CMPLX(result->value[2 * t], result->value[2 * t + 1]);

		*worst_relative_error = fmax(*worst_relative_error, cabs(got - want) / cabs(want));
	}
	return result->n == 2 * ITERATIONS && *worst_relative_error <= 1e-12;
}

const struct ngb_kernel ngb_ft = { "FT", ft_mesh, ft_iterations, ft_run, ft_verify };
