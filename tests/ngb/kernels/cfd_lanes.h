/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The implicit side of BT, SP and LU: several independent lines (or points) at once, one in each lane of a vector, and the 5x5 matrices that couple a point
 * with its neighbours along one axis.
 *
 * With F the derivative of the convection and N that of the viscosity at a point, s = dt / 2h and t = dt / h^2, the change at a point depends on the change at
 * the next one along the axis by s F - t (N + diffusion), at the one before by -s F - t (N + diffusion), each taken where the neighbour is, and at the point
 * itself by 2t (N + diffusion). Vectors here have the order of the axis (struct cfd_axis.var): density, momentum along it, the two others, energy.
 *
 * When the lines left are fewer than the lanes, the last line is in several lanes, which compute and store the same.
 */
#ifndef NGB_CFD_LANES_H
#define NGB_CFD_LANES_H

#include "ngb/kernels/cfd.h"

/* What the processor has registers for; the results do not depend on it. */
#if defined(__AVX512F__)
#define CFD_LANES 8
#elif defined(__AVX__)
#define CFD_LANES 4
#else
#define CFD_LANES 2
#endif

/* A number in each lane: the arithmetic of a double, so it has a name like a scalar's. */
typedef double cfd_lanes __attribute__((vector_size(CFD_LANES * sizeof(double))));

static inline cfd_lanes cfd_load(const double *a, const size_t at[CFD_LANES])
{
	cfd_lanes v;

	for (int l = 0; l < CFD_LANES; l++)
		v[l] = a[at[l]];
	return v;
}

static inline void cfd_store(double *a, const size_t at[CFD_LANES], cfd_lanes v)
{
	for (int l = 0; l < CFD_LANES; l++)
		a[at[l]] = v[l];
}

static inline void cfd_shift(size_t to[CFD_LANES], const size_t from[CFD_LANES], size_t by)
{
	for (int l = 0; l < CFD_LANES; l++)
		to[l] = from[l] + by;
}

static inline void cfd_load_vars(const struct cfd_axis *x, double *const array[CFD_VARS], const size_t at[CFD_LANES], cfd_lanes v[CFD_VARS])
{
	for (int m = 0; m < CFD_VARS; m++)
		v[m] = cfd_load(array[x->var[m]], at);
}

static inline void cfd_store_vars(const struct cfd_axis *x, double *const array[CFD_VARS], const size_t at[CFD_LANES], const cfd_lanes v[CFD_VARS])
{
	for (int m = 0; m < CFD_VARS; m++)
		cfd_store(array[x->var[m]], at, v[m]);
}

/* ---- lines ---- */

/* What is done with a batch of lines along an axis: at[l] is where the one in lane l begins (on the boundary). */
typedef void (*cfd_line_fn)(struct cfd *c, const struct cfd_axis *x, const size_t at[CFD_LANES]);

/* All lines inside the mesh along axis d, in batches. Within a parallel region its threads share the lines, and go on when all are done. */
static inline void cfd_each_line(struct cfd *c, int d, cfd_line_fn fn)
{
	const struct cfd_axis *x = &c->axis[d];
	size_t across = c->axis[d == 0 ? 1 : 0].stride, beyond = c->axis[d == 2 ? 1 : 2].stride;
	int last = c->n - 2;

#pragma omp for schedule(static)
	for (int b = 1; b <= last; b++)
		for (int a = 1; a <= last; a += CFD_LANES) {
			size_t at[CFD_LANES];

			for (int l = 0; l < CFD_LANES; l++)
				at[l] = b * beyond + (a + l < last ? a + l : last) * across;
			fn(c, x, at);
		}
}

/* ---- the state at a point ---- */

struct cfd_point {
	cfd_lanes inv_rho, v[CFD_AXES], half_v2, energy; /* v[0] along the axis */
};

static inline void cfd_load_point(const struct cfd *c, const struct cfd_axis *x, const size_t at[CFD_LANES], struct cfd_point *p)
{
	p->inv_rho = cfd_load(c->inv_rho, at);
	for (int m = 0; m < CFD_AXES; m++)
		p->v[m] = cfd_load(c->vel[x->vel[m]], at);
	p->half_v2 = cfd_load(c->half_v2, at);
	p->energy = cfd_load(c->energy, at);
}

/* ---- couplings: 5x5 matrices of which only these are not 0 ---- */

struct cfd_coupling {
	double density[2]; /* of density and momentum along the axis */
	cfd_lanes along[5]; /* of all */
	cfd_lanes side[2][3]; /* of density, momentum along the axis, and itself */
	cfd_lanes energy[5];
};

/* With the point after (sign = 1) or before (sign = -1) along the axis; p is there. */
static inline void cfd_couple(struct cfd_coupling *m, const struct cfd_point *p, const struct cfd_axis *x, double dt, double sign)
{
	const double s = sign * dt * x->first, t = dt * x->second, diffusion = t * x->diffusion;
	const cfd_lanes visc = t * CFD_C34 * p->inv_rho, a = p->v[0], b = p->v[1], c = p->v[2];
	const cfd_lanes sa = s * a, sides = b * b + c * c, none = { 0.0 };

	m->density[0] = -diffusion;
	m->density[1] = s;
	m->along[0] = s * (CFD_C2 * p->half_v2 - a * a) + visc * CFD_R43 * a;
	m->along[1] = (2.0 - CFD_C2) * sa - visc * CFD_R43 - diffusion;
	m->along[2] = -(s * CFD_C2) * b;
	m->along[3] = -(s * CFD_C2) * c;
	m->along[4] = none + s * CFD_C2;
	for (int e = 0; e < 2; e++) {
		m->side[e][0] = (visc - sa) * p->v[1 + e];
		m->side[e][1] = s * p->v[1 + e];
		m->side[e][2] = sa - visc - diffusion;
	}
	m->energy[0] = sa * (2.0 * CFD_C2 * p->half_v2 - CFD_C1 * p->energy) +
		visc * ((CFD_R43 - CFD_C15) * a * a + (1.0 - CFD_C15) * sides + CFD_C15 * p->energy);
	m->energy[1] = s * (CFD_C1 * p->energy - CFD_C2 * (p->half_v2 + a * a)) - visc * (CFD_R43 - CFD_C15) * a;
	m->energy[2] = -(CFD_C2 * sa + (1.0 - CFD_C15) * visc) * b;
	m->energy[3] = -(CFD_C2 * sa + (1.0 - CFD_C15) * visc) * c;
	m->energy[4] = CFD_C1 * sa - CFD_C15 * visc - diffusion;
}

/* y = m v */
static inline void cfd_apply(const struct cfd_coupling *m, const cfd_lanes v[CFD_VARS], cfd_lanes y[CFD_VARS])
{
	y[0] = m->density[0] * v[0] + m->density[1] * v[1];
	y[1] = m->along[0] * v[0] + m->along[1] * v[1] + m->along[2] * v[2] + m->along[3] * v[3] + m->along[4] * v[4];
	y[2] = m->side[0][0] * v[0] + m->side[0][1] * v[1] + m->side[0][2] * v[2];
	y[3] = m->side[1][0] * v[0] + m->side[1][1] * v[1] + m->side[1][2] * v[3];
	y[4] = m->energy[0] * v[0] + m->energy[1] * v[1] + m->energy[2] * v[2] + m->energy[3] * v[3] + m->energy[4] * v[4];
}

#endif
