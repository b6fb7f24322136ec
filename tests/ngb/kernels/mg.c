/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * MG: V-cycles of a multigrid method for the Poisson equation A u = v on a periodic cube of n^3 points, n a power of two.
 *
 * Happy path: v is drawn (charges of +1 and -1 at the places of the ten largest and ten smallest of n^3 random numbers) or is the
 * given field; u begins as 0; an iteration is u += M (v - A u); the result is the root mean square of the last v - A u.
 * Each of the operators A, S (smoother) and P (to the coarser mesh) is one 27-point stencil whose coefficient depends on how many
 * coordinates differ; Q (to the finer mesh) is tri-linear interpolation. Point J of a coarse mesh lies on 2J+1 of the finer one.
 *
 * Failure modes: memory. Invariants: no mesh has a halo; rows and planes wrap around by a mask.
 */
#include "ngb/kernels/clock.h"
#include "ngb/kernels/random.h"
#include "ngb/ngb.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHARGES 10
#define LEVELS_MAX 9 /* 2^1 .. 2^9 points a side */
#define SIDE_MAX (1 << LEVELS_MAX)
#define SHARED_MIN 16 /* points a side; less is done by one thread sooner than several threads meet */

struct mg_level {
	int n;
	double *u, *r;
};

struct mg {
	int finest; /* level[l] has 2^l points a side, from 1 on */
	struct mg_level level[LEVELS_MAX + 1];
	double *v;
};

/* What a thread works on: rows of the mesh, with the points that they wrap around to at both ends. */
struct rows {
	double row[3][SIDE_MAX + 2];
};

static const double coef_a[4] = { -8.0 / 3, 0, 1.0 / 6, 1.0 / 12 };
static const double coef_s[4] = { -3.0 / 8, 1.0 / 32, -1.0 / 64, 0 };
static const double coef_p[4] = { 1.0 / 2, 1.0 / 4, 1.0 / 8, 1.0 / 16 };

static const double norms[] = { [NGB_CLASS_S] = 0.5307707005734e-04, [NGB_CLASS_W] = 0.6467329375339e-05, [NGB_CLASS_A] = 0.2433365309069e-05 };

static int side(enum ngb_class c)
{
	return c == NGB_CLASS_S ? 32 : c == NGB_CLASS_W ? 128 :
							  256;
}

static void mg_mesh(enum ngb_class c, struct ngb_field *f)
{
	*f = (struct ngb_field){ .nx = side(c), .ny = side(c), .nz = side(c), .nvar = 1 };
}

static int mg_iterations(enum ngb_class c)
{
	return 4;
}

/*
 * Row (j, k) of a mesh, and the sums of its 4 nearest and of its 4 diagonal neighbour rows, into row[0..2]; element i is at [i + 1],
 * the ends wrap around.
 */
static void gather(struct rows *w, const double *x, int n, int j, int k)
{
	int jm = (j - 1) & (n - 1), jp = (j + 1) & (n - 1), km = (k - 1) & (n - 1), kp = (k + 1) & (n - 1);
#define ROW(jj, kk) (x + ((size_t)(kk)*n + (jj)) * n)
	const double *c = ROW(j, k), *f1 = ROW(jm, k), *f2 = ROW(jp, k), *f3 = ROW(j, km), *f4 = ROW(j, kp);
	const double *d1 = ROW(jm, km), *d2 = ROW(jp, km), *d3 = ROW(jm, kp), *d4 = ROW(jp, kp);
#undef ROW
	for (int i = 0; i < n; i++) {
		w->row[0][i + 1] = c[i];
		w->row[1][i + 1] = f1[i] + f2[i] + f3[i] + f4[i];
		w->row[2][i + 1] = d1[i] + d2[i] + d3[i] + d4[i];
	}
	for (int q = 0; q < 3; q++) {
		w->row[q][0] = w->row[q][n];
		w->row[q][n + 1] = w->row[q][1];
	}
}

/* The stencil at point i of the gathered row. */
static inline double at(const struct rows *w, const double *coef, int i)
{
	const double *c = w->row[0] + i, *f = w->row[1] + i, *d = w->row[2] + i;

	return coef[0] * c[1] + coef[1] * (c[0] + c[2] + f[1]) + coef[2] * (f[0] + f[2] + d[1]) + coef[3] * (d[0] + d[2]);
}

/* out = b - A x; b may be out. */
static void residual(const double *x, const double *b, double *out, int n)
{
#pragma omp parallel for num_threads(ngb_threads()) if (n >= SHARED_MIN) schedule(static)
	for (int k = 0; k < n; k++) {
		struct rows w;

		for (int j = 0; j < n; j++) {
			size_t at0 = ((size_t)k * n + j) * n;

			gather(&w, x, n, j, k);
			for (int i = 0; i < n; i++)
				out[at0 + i] = b[at0 + i] - at(&w, coef_a, i);
		}
	}
}

/* u += S r */
static void smooth(const double *r, double *u, int n)
{
#pragma omp parallel for num_threads(ngb_threads()) if (n >= SHARED_MIN) schedule(static)
	for (int k = 0; k < n; k++) {
		struct rows w;

		for (int j = 0; j < n; j++) {
			double *out = u + ((size_t)k * n + j) * n;

			gather(&w, r, n, j, k);
			for (int i = 0; i < n; i++)
				out[i] += at(&w, coef_s, i);
		}
	}
}

/* The next coarser mesh's r = P r */
static void restrict_to(struct mg *m, int l)
{
	int n = m->level[l].n, half = n / 2;
	double *coarse = m->level[l - 1].r;

#pragma omp parallel for num_threads(ngb_threads()) if (half >= SHARED_MIN) schedule(static)
	for (int k = 0; k < half; k++) {
		struct rows w;

		for (int j = 0; j < half; j++) {
			gather(&w, m->level[l].r, n, 2 * j + 1, 2 * k + 1);
			for (int i = 0; i < half; i++)
				coarse[((size_t)k * half + j) * half + i] = at(&w, coef_p, 2 * i + 1);
		}
	}
}

/* u of level l += Q u of level l - 1. A fine point lies on a coarse one (odd index), or half-way between two, in each direction. */
static void prolongate(struct mg *m, int l)
{
	int n = m->level[l].n, half = n / 2;
	const double *coarse = m->level[l - 1].u;

#pragma omp parallel for num_threads(ngb_threads()) if (n >= SHARED_MIN) schedule(static)
	for (int k = 0; k < n; k++) {
		int k1 = k >> 1, k0 = k & 1 ? k1 : (k1 - 1) & (half - 1);
		double row[SIDE_MAX / 2 + 1];

		for (int j = 0; j < n; j++) {
			int j1 = j >> 1, j0 = j & 1 ? j1 : (j1 - 1) & (half - 1);
			const double *a = coarse + ((size_t)k0 * half + j0) * half, *b = coarse + ((size_t)k0 * half + j1) * half;
			const double *c = coarse + ((size_t)k1 * half + j0) * half, *d = coarse + ((size_t)k1 * half + j1) * half;
			double *out = m->level[l].u + ((size_t)k * n + j) * n;

			for (int i = 0; i < half; i++)
				row[i + 1] = 0.25 * (a[i] + b[i] + c[i] + d[i]);
			row[0] = row[half];
			for (int i = 0; i < half; i++) {
				out[2 * i] += 0.5 * (row[i] + row[i + 1]);
				out[2 * i + 1] += row[i + 1];
			}
		}
	}
}

static size_t points(const struct mg_level *l)
{
	return (size_t)l->n * l->n * l->n;
}

/* u of the finest level += M r, for its r. */
static void cycle(struct mg *m)
{
	int top = m->finest;

	for (int l = top; l > 1; l--)
		restrict_to(m, l);
	memset(m->level[1].u, 0, points(&m->level[1]) * sizeof(double));
	smooth(m->level[1].r, m->level[1].u, m->level[1].n);
	for (int l = 2; l <= top; l++) {
		struct mg_level *x = &m->level[l];

		if (l < top)
			memset(x->u, 0, points(x) * sizeof(double));
		prolongate(m, l);
		residual(x->u, l < top ? x->r : m->v, x->r, x->n);
		smooth(x->r, x->u, x->n);
	}
}

/* Keeps the CHARGES largest of what it is shown; the least of them is first[0]. */
struct extreme {
	double value;
	size_t where;
};

static void show(struct extreme *kept, double value, size_t where)
{
	int q = 0;

	if (value <= kept[0].value)
		return;
	for (; q + 1 < CHARGES && kept[q + 1].value < value; q++)
		kept[q] = kept[q + 1];
	kept[q] = (struct extreme){ value, where };
}

static void charges(double *v, size_t n)
{
	struct extreme largest[CHARGES], smallest[CHARGES];
	uint64_t x = NGB_SEED;

	for (int q = 0; q < CHARGES; q++)
		largest[q] = smallest[q] = (struct extreme){ -1, 0 };
	for (size_t p = 0; p < n; p++) {
		double value = ngb_random(&x);

		show(largest, value, p);
		show(smallest, 1 - value, p);
	}
	memset(v, 0, n * sizeof(double));
	for (int q = 0; q < CHARGES; q++) {
		v[largest[q].where] = 1;
		v[smallest[q].where] = -1;
	}
}

static void mg_free(struct mg *m)
{
	for (int l = 1; l <= m->finest; l++) {
		free(m->level[l].u);
		free(m->level[l].r);
	}
	free(m->v);
}

static bool mg_alloc(struct mg *m, int n)
{
	bool ok = true;

	for (m->finest = 1; 1 << m->finest < n; m->finest++)
		;
	for (int l = 1; l <= m->finest; l++) {
		struct mg_level *x = &m->level[l];

		x->n = 1 << l;
		x->u = calloc(points(x), sizeof(double));
		x->r = calloc(points(x), sizeof(double));
		ok = ok && x->u && x->r;
	}
	m->v = calloc(points(&m->level[m->finest]), sizeof(double));
	return ok && m->v;
}

static double l2norm(const double *r, size_t n)
{
	double sum = 0;

	for (size_t p = 0; p < n; p++)
		sum += r[p] * r[p];
	return sqrt(sum / (double)n);
}

static int mg_run(enum ngb_class c, int niter, const struct ngb_field *initial, struct ngb_field *solution, struct ngb_result *result)
{
	struct mg m = { 0 };
	struct mg_level *top;
	double start;

	if (!mg_alloc(&m, side(c))) {
		mg_free(&m);
		return -ENOMEM;
	}
	top = &m.level[m.finest];
	if (initial)
		memcpy(m.v, initial->v, points(top) * sizeof(double));
	else
		charges(m.v, points(top));
	start = ngb_seconds();
	residual(top->u, m.v, top->r, top->n);
	for (int it = 0; it < niter; it++) {
		cycle(&m);
		residual(top->u, m.v, top->r, top->n);
	}
	*result = (struct ngb_result){ .n = 1, .seconds = ngb_seconds() - start };
	result->value[0] = l2norm(top->r, points(top));
	mg_mesh(c, solution);
	solution->v = top->u;
	top->u = NULL;
	mg_free(&m);
	return 0;
}

static bool mg_verify(enum ngb_class c, const struct ngb_result *result, double *worst_relative_error)
{
	*worst_relative_error = fabs(result->value[0] - norms[c]) / norms[c];
	return result->n == 1 && *worst_relative_error <= 1e-8;
}

const struct ngb_kernel ngb_mg = { "MG", mg_mesh, mg_iterations, mg_run, mg_verify };
