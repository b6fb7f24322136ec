/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The right-hand side of the equations: forcing, and along each axis convection, diffusion and fourth-order dissipation.
 *
 * Everything goes by rows along x: the loop over a row is the innermost one, reads its neighbours along any axis at a fixed distance, and the compiler makes
 * vectors of it. A plane gets all its parts before the next one, while it is in the cache.
 * Invariants: only points inside are written, so rhs stays 0 on the boundary; no neighbour outside of the mesh is read (the dissipation has other weights next
 * to the boundary).
 */
#include <math.h>

#include "ngb/kernels/cfd.h"

/* What is derived of u, at all points of a row that begins at p. */
static void derive_row(struct cfd *c, size_t p, int n)
{
	const double *rho = c->u[CFD_DENSITY] + p, *mx = c->u[CFD_MOMENTUM_X] + p, *my = c->u[CFD_MOMENTUM_Y] + p;
	const double *mz = c->u[CFD_MOMENTUM_Z] + p, *e = c->u[CFD_ENERGY] + p;
	double *inv_rho = c->inv_rho + p, *vx = c->vel[0] + p, *vy = c->vel[1] + p, *vz = c->vel[2] + p;
	double *half_v2 = c->half_v2 + p, *energy = c->energy + p, *pressure = c->pressure + p, *sound = c->sound + p;

#pragma GCC ivdep
	for (int i = 0; i < n; i++) {
		double inv = 1.0 / rho[i], x = mx[i] * inv, y = my[i] * inv, z = mz[i] * inv;
		double half = 0.5 * (x * x + y * y + z * z);
		double press = CFD_C2 * (e[i] - rho[i] * half);

		inv_rho[i] = inv;
		vx[i] = x;
		vy[i] = y;
		vz[i] = z;
		half_v2[i] = half;
		energy[i] = e[i] * inv;
		pressure[i] = press;
		sound[i] = sqrt(CFD_C1 * press * inv);
	}
}

static inline double second_difference(const double *a, long s)
{
	return a[s] - 2.0 * a[0] + a[-s];
}

/* Convection and diffusion of density and momentum along one axis; s is the axis' stride. */
static void flow_row(struct cfd *c, const struct cfd_axis *a, size_t p, int n)
{
	const double *rho = c->u[0] + p, *m0 = c->u[a->var[1]] + p, *m1 = c->u[a->var[2]] + p, *m2 = c->u[a->var[3]] + p;
	const double *v0 = c->vel[a->vel[0]] + p, *v1 = c->vel[a->vel[1]] + p, *v2 = c->vel[a->vel[2]] + p, *pr = c->pressure + p;
	double *r = c->rhs[0] + p, *r0 = c->rhs[a->var[1]] + p, *r1 = c->rhs[a->var[2]] + p, *r2 = c->rhs[a->var[3]] + p;
	const double first = a->first, diffusion = a->diffusion * a->second, viscosity = CFD_C34 * a->second;
	const long s = a->stride;

#pragma GCC ivdep
	for (int i = 0; i < n; i++) {
		double before = v0[i - s], after = v0[i + s];

		r[i] += diffusion * second_difference(rho + i, s) - first * (m0[i + s] - m0[i - s]);
		r0[i] += diffusion * second_difference(m0 + i, s) + viscosity * CFD_R43 * second_difference(v0 + i, s) -
			first * (m0[i + s] * after - m0[i - s] * before + pr[i + s] - pr[i - s]);
		r1[i] += diffusion * second_difference(m1 + i, s) + viscosity * second_difference(v1 + i, s) -
			first * (m1[i + s] * after - m1[i - s] * before);
		r2[i] += diffusion * second_difference(m2 + i, s) + viscosity * second_difference(v2 + i, s) -
			first * (m2[i + s] * after - m2[i - s] * before);
	}
}

static void energy_row(struct cfd *c, const struct cfd_axis *a, size_t p, int n)
{
	const double *e = c->u[CFD_ENERGY] + p, *per_mass = c->energy + p, *half_v2 = c->half_v2 + p, *pr = c->pressure + p;
	const double *v = c->vel[a->vel[0]] + p;
	double *r = c->rhs[CFD_ENERGY] + p;
	const double first = a->first, diffusion = a->diffusion * a->second, viscosity = CFD_C34 * a->second;
	const long s = a->stride;

#pragma GCC ivdep
	for (int i = 0; i < n; i++) {
		double square = v[i + s] * v[i + s] - 2.0 * v[i] * v[i] + v[i - s] * v[i - s];
		double heat = (1.0 - CFD_C15) * second_difference(half_v2 + i, s) + (1.0 / 6.0) * square + CFD_C15 * second_difference(per_mass + i, s);

		r[i] += diffusion * second_difference(e + i, s) + viscosity * heat -
			first * ((e[i + s] + pr[i + s]) * v[i + s] - (e[i - s] + pr[i - s]) * v[i - s]);
	}
}

/* ---- dissipation ---- */

/* The weights of the five neighbours along the axis at position q of n; a neighbour outside of the mesh has none. */
static void weights(int q, int n, double w[5])
{
	int from_end = n - 1 - q, edge = q < from_end ? q : from_end;

	w[0] = q > 2 ? 1.0 : 0.0;
	w[1] = q > 1 ? -4.0 : 0.0;
	w[2] = edge == 1 ? 5.0 : 6.0;
	w[3] = from_end > 1 ? -4.0 : 0.0;
	w[4] = from_end > 2 ? 1.0 : 0.0;
}

static void dissipate(struct cfd *c, long s, const double w[5], size_t p, int n)
{
	/* A neighbour without weight may be outside of the array: the point itself is read instead. */
	const long before2 = w[0] != 0.0 ? -2 * s : 0, after2 = w[4] != 0.0 ? 2 * s : 0;
	const double w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4];

	for (int m = 0; m < CFD_VARS; m++) {
		const double *u = c->u[m] + p;
		double *r = c->rhs[m] + p;

#pragma GCC ivdep
		for (int i = 0; i < n; i++)
			r[i] -= CFD_DISSIPATION * (w0 * u[i + before2] + w1 * u[i - s] + w2 * u[i] + w3 * u[i + s] + w4 * u[i + after2]);
	}
}

/* Along x the weights change within the row: both ends point by point, then what is between them. */
static void dissipate_along_x(struct cfd *c, size_t p)
{
	const int ends[4] = { 1, 2, c->n - 3, c->n - 2 };
	double w[5];

	for (int e = 0; e < 4; e++) {
		weights(ends[e], c->n, w);
		dissipate(c, 1, w, p + ends[e], 1);
	}
	weights(3, c->n, w);
	dissipate(c, 1, w, p + 3, c->n - 6);
}

static void dissipate_row(struct cfd *c, int j, int k)
{
	double w[5];

	dissipate_along_x(c, cfd_at(c, 0, j, k));
	weights(j, c->n, w);
	dissipate(c, c->axis[1].stride, w, cfd_at(c, 1, j, k), c->n - 2);
	weights(k, c->n, w);
	dissipate(c, c->axis[2].stride, w, cfd_at(c, 1, j, k), c->n - 2);
}

/* All parts of the row of points inside with this j and k. */
static void whole_row(struct cfd *c, double scale, int j, int k)
{
	int inside = c->n - 2;
	size_t p = cfd_at(c, 1, j, k);

	for (int m = 0; m < CFD_VARS; m++)
		for (int i = 0; i < inside; i++)
			c->rhs[m][p + i] = c->force[m][p + i];
	for (int d = 0; d < CFD_AXES; d++) {
		flow_row(c, &c->axis[d], p, inside);
		energy_row(c, &c->axis[d], p, inside);
	}
	dissipate_row(c, j, k);
	for (int m = 0; m < CFD_VARS; m++)
		for (int i = 0; i < inside; i++)
			c->rhs[m][p + i] *= scale;
}

void cfd_rhs(struct cfd *c, double scale)
{
#pragma omp parallel num_threads(ngb_threads())
	{
		/* A row reads what is derived of its neighbours: the first loop ends for all threads before the second begins. */
#pragma omp for schedule(static)
		for (int k = 0; k < c->n; k++)
			for (int j = 0; j < c->n; j++)
				derive_row(c, cfd_at(c, 0, j, k), c->n);
#pragma omp for schedule(static)
		for (int k = 1; k < c->n - 1; k++)
			for (int j = 1; j < c->n - 1; j++)
				whole_row(c, scale, j, k);
	}
}
