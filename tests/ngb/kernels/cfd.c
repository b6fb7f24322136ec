/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A run of BT, SP or LU around its method: memory, forcing, initial field, steps, norms, comparison with the published values.
 *
 * Happy path: cfd_run() starts from the benchmark's field or the caller's, makes niter steps (right-hand side, solve, add), and reports the norms of the
 * right-hand side that is left and of the distance to the steady solution. The seconds are those of the steps only, as published ones are.
 * Failure: only memory. A field on another mesh is a mistake of the caller and stops the program.
 * Invariants: the boundary of u is that of the steady solution from the start to the end; nothing depends on what was in memory or on time, so the same input
 * gives the same bits.
 */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ngb/kernels/cfd.h"

#define TOLERANCE 1e-8 /* of the published values, relative */
#define LINE 8 /* doubles in a line of the cache */

/* ---- the steady solution: a constant and a polynomial of the fourth degree in x, in y and in z ---- */

struct polynomial {
	double constant, of[CFD_AXES][4];
};

static const struct polynomial steady[CFD_VARS] = {
	{ 2.0, { { 0.0, 5.0, 0.02, 0.5 }, { 0.0, 3.0, 0.01, 0.4 }, { 4.0, 0.5, 0.03, 0.3 } } },
	{ 1.0, { { 0.0, 1.0, 0.01, 0.4 }, { 0.0, 2.0, 0.03, 0.3 }, { 0.0, 3.0, 0.02, 0.5 } } },
	{ 2.0, { { 2.0, 0.0, 0.04, 0.3 }, { 0.0, 2.0, 0.03, 0.5 }, { 0.0, 3.0, 0.05, 0.4 } } },
	{ 2.0, { { 2.0, 0.0, 0.03, 0.2 }, { 0.0, 2.0, 0.05, 0.1 }, { 0.0, 3.0, 0.04, 0.3 } } },
	{ 5.0, { { 4.0, 0.1, 0.05, 0.1 }, { 3.0, 0.4, 0.04, 0.3 }, { 2.0, 0.3, 0.03, 0.2 } } },
};

static double power_sum(const double a[4], double x)
{
	return x * (a[0] + x * (a[1] + x * (a[2] + x * a[3])));
}

double cfd_exact(int m, double x, double y, double z)
{
	const struct polynomial *p = &steady[m];

	return p->constant + power_sum(p->of[0], x) + power_sum(p->of[1], y) + power_sum(p->of[2], z);
}

/* ---- memory ---- */

static void set_axes(struct cfd *c)
{
	static const double diffusion[CFD_AXES] = { 0.75, 0.75, 1.0 };
	size_t stride[CFD_AXES] = { 1, c->row, c->plane };
	double h = 1.0 / (c->n - 1);

	for (int d = 0; d < CFD_AXES; d++) {
		struct cfd_axis *a = &c->axis[d];

		a->stride = stride[d];
		a->first = 1.0 / (2.0 * h);
		a->second = 1.0 / (h * h);
		a->diffusion = diffusion[d];
		for (int m = 0; m < CFD_AXES; m++)
			a->vel[m] = m == 0 ? d : m <= d ? m - 1 :
							  m;
		a->var[0] = CFD_DENSITY;
		for (int m = 0; m < CFD_AXES; m++)
			a->var[1 + m] = CFD_MOMENTUM_X + a->vel[m];
		a->var[4] = CFD_ENERGY;
	}
}

int cfd_init(struct cfd *c, int n, double dt)
{
	double **array[] = { &c->u[0], &c->u[1], &c->u[2], &c->u[3], &c->u[4], &c->rhs[0], &c->rhs[1], &c->rhs[2],
			     &c->rhs[3], &c->rhs[4], &c->force[0], &c->force[1], &c->force[2], &c->force[3], &c->force[4], &c->inv_rho,
			     &c->vel[0], &c->vel[1], &c->vel[2], &c->half_v2, &c->energy, &c->pressure, &c->sound };
	size_t count = sizeof(array) / sizeof(array[0]), lines;

	assert(n > 6 && n <= CFD_MESH_MAX);
	memset(c, 0, sizeof(*c));
	c->n = n;
	c->dt = dt;
	c->row = n + 2;
	c->plane = c->row * (n + 1);
	lines = c->plane * n / LINE + 1;
	lines += lines % 2 == 0; /* an odd number, or the arrays would compete for the same lines */
	c->memory = calloc(count * lines, LINE * sizeof(double));
	if (!c->memory)
		return -ENOMEM;
	for (size_t a = 0; a < count; a++)
		*array[a] = c->memory + a * lines * LINE;
	set_axes(c);
	return 0;
}

void cfd_fini(struct cfd *c)
{
	free(c->memory);
	c->memory = NULL;
}

/* ---- fields ---- */

/* What the six faces say about a point inside: the three interpolations between opposite faces, added as independent events are. */
static double interpolated(int m, double x, double y, double z)
{
	double a = (1.0 - x) * cfd_exact(m, 0.0, y, z) + x * cfd_exact(m, 1.0, y, z);
	double b = (1.0 - y) * cfd_exact(m, x, 0.0, z) + y * cfd_exact(m, x, 1.0, z);
	double c = (1.0 - z) * cfd_exact(m, x, y, 0.0) + z * cfd_exact(m, x, y, 1.0);

	return a + b + c - a * b - b * c - c * a + a * b * c;
}

/* Sets value m of a point of the mesh to value(m, x, y, z), at all points or at those of the boundary. */
static void fill(struct cfd *c, double (*value)(int m, double x, double y, double z), bool inside)
{
	int last = c->n - 1;
	double h = 1.0 / last;

	for (int k = 0; k <= last; k++) {
		for (int j = 0; j <= last; j++) {
			bool face = k == 0 || k == last || j == 0 || j == last;
			int step = face || inside ? 1 : last;

			for (int i = 0; i <= last; i += step)
				for (int m = 0; m < CFD_VARS; m++)
					c->u[m][cfd_at(c, i, j, k)] = value(m, i * h, j * h, k * h);
		}
	}
}

static bool same_mesh(const struct cfd *c, const struct ngb_field *f)
{
	return f->nx == c->n && f->ny == c->n && f->nz == c->n && f->nvar == CFD_VARS;
}

static void import(struct cfd *c, const struct ngb_field *f)
{
	const double *v = f->v;

	assert(same_mesh(c, f));
	for (int k = 0; k < c->n; k++)
		for (int j = 0; j < c->n; j++)
			for (int i = 0; i < c->n; i++)
				for (int m = 0; m < CFD_VARS; m++)
					c->u[m][cfd_at(c, i, j, k)] = *v++;
}

static void export(const struct cfd *c, struct ngb_field *f)
{
	double *v = f->v;

	assert(same_mesh(c, f));
	for (int k = 0; k < c->n; k++)
		for (int j = 0; j < c->n; j++)
			for (int i = 0; i < c->n; i++)
				for (int m = 0; m < CFD_VARS; m++)
					*v++ = c->u[m][cfd_at(c, i, j, k)];
}

void cfd_start(struct cfd *c, const struct ngb_field *initial)
{
	if (initial)
		import(c, initial);
	else
		fill(c, interpolated, true);
	fill(c, cfd_exact, false);
}

void cfd_force(struct cfd *c)
{
	/* Without a forcing the right-hand side at the steady solution is what the forcing has to take away. */
	fill(c, cfd_exact, true);
	cfd_rhs(c, -1.0);
	for (int m = 0; m < CFD_VARS; m++)
		for (int k = 1; k < c->n - 1; k++)
			for (int j = 1; j < c->n - 1; j++)
				for (int i = 1; i < c->n - 1; i++)
					c->force[m][cfd_at(c, i, j, k)] = c->rhs[m][cfd_at(c, i, j, k)];
}

static void add(struct cfd *c, double relax)
{
#pragma omp parallel for num_threads(ngb_threads()) schedule(static)
	for (int k = 1; k < c->n - 1; k++)
		for (int m = 0; m < CFD_VARS; m++)
			for (int j = 1; j < c->n - 1; j++)
				for (size_t p = cfd_at(c, 1, j, k); p < cfd_at(c, c->n - 1, j, k); p++)
					c->u[m][p] += relax * c->rhs[m][p];
}

/* ---- what a run says ---- */

/* Of a sum of squares: the root of the mean over the points inside. */
static double root_mean(const struct cfd *c, double sum)
{
	double inside = c->n - 2;

	return sqrt(sum / (inside * inside * inside));
}

void cfd_residual_norm(const struct cfd *c, double norm[CFD_VARS])
{
	for (int m = 0; m < CFD_VARS; m++) {
		double sum = 0.0;

		for (int k = 1; k < c->n - 1; k++)
			for (int j = 1; j < c->n - 1; j++)
				for (size_t p = cfd_at(c, 1, j, k); p < cfd_at(c, c->n - 1, j, k); p++)
					sum += c->rhs[m][p] * c->rhs[m][p];
		norm[m] = root_mean(c, sum);
	}
}

void cfd_error_norm(const struct cfd *c, double norm[CFD_VARS])
{
	double h = 1.0 / (c->n - 1);

	for (int m = 0; m < CFD_VARS; m++) {
		double sum = 0.0;

		for (int k = 1; k < c->n - 1; k++)
			for (int j = 1; j < c->n - 1; j++)
				for (int i = 1; i < c->n - 1; i++) {
					double off = c->u[m][cfd_at(c, i, j, k)] - cfd_exact(m, i * h, j * h, k * h);

					sum += off * off;
				}
		norm[m] = root_mean(c, sum);
	}
}

/* The sum over the cells of one side of the pressure in their four corners; a and b are the steps along the side, from `corner`. */
static double side(const struct cfd *c, size_t corner, size_t a, int na, size_t b, int nb)
{
	double sum = 0.0;

	for (int y = 0; y < nb; y++)
		for (int x = 0; x < na; x++) {
			const double *p = c->pressure + corner + x * a + y * b;

			sum += p[0] + p[a] + p[b] + p[a + b];
		}
	return sum;
}

double cfd_surface_integral(const struct cfd *c)
{
	/* The box of the specification, counted from 0; it has its first corner at (1, 1, 2). */
	int ni = c->n - 3, nj = c->n - 4, nk = c->n - 4;
	size_t near = cfd_at(c, 1, 1, 2);
	size_t x = 1, y = c->row, z = c->plane;
	double h = 1.0 / (c->n - 1), sum;

	sum = side(c, near, x, ni, y, nj) + side(c, near + nk * z, x, ni, y, nj);
	sum += side(c, near, x, ni, z, nk) + side(c, near + nj * y, x, ni, z, nk);
	sum += side(c, near, y, nj, z, nk) + side(c, near + ni * x, y, nj, z, nk);
	return 0.25 * h * h * sum;
}

static void measure(struct cfd *c, const struct cfd_method *m, struct ngb_result *result)
{
	cfd_rhs(c, 1.0);
	cfd_residual_norm(c, &result->value[0]);
	cfd_error_norm(c, &result->value[CFD_VARS]);
	if (m->nvalues == CFD_VALUES)
		result->value[CFD_VALUES - 1] = cfd_surface_integral(c);
	result->n = m->nvalues;
}

/* ---- a kernel, given its method ---- */

void cfd_mesh(const struct cfd_method *m, enum ngb_class class, struct ngb_field *f)
{
	f->nx = f->ny = f->nz = m->class[class].n;
	f->nvar = CFD_VARS;
	f->v = NULL;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

int cfd_run(const struct cfd_method *m, enum ngb_class class, int niter, const struct ngb_field *initial, struct ngb_field *solution,
	    struct ngb_result *result)
{
	struct cfd c;
	double begin;

	cfd_mesh(m, class, solution);
	memset(result, 0, sizeof(*result));
	if (cfd_init(&c, m->class[class].n, m->class[class].dt))
		return -ENOMEM;
	solution->v = malloc(sizeof(double) * CFD_VARS * c.n * c.n * c.n);
	if (!solution->v) {
		cfd_fini(&c);
		return -ENOMEM;
	}
	cfd_force(&c);
	cfd_start(&c, initial);
	begin = seconds();
	for (int step = 0; step < niter; step++) {
		cfd_rhs(&c, c.dt);
		m->solve(&c);
		add(&c, m->relax);
	}
	result->seconds = seconds() - begin;
	measure(&c, m, result);
	export(&c, solution);
	cfd_fini(&c);
	return 0;
}

bool cfd_verify(const struct cfd_method *m, enum ngb_class class, const struct ngb_result *result, double *worst_relative_error)
{
	double worst = 0.0;

	if (result->n != m->nvalues) {
		*worst_relative_error = INFINITY;
		return false;
	}
	for (int i = 0; i < m->nvalues; i++) {
		double published = m->class[class].published[i];
		double off = fabs((result->value[i] - published) / published);

		if (isnan(off))
			off = INFINITY;
		if (off > worst)
			worst = off;
	}
	*worst_relative_error = worst;
	return worst <= TOLERANCE;
}
