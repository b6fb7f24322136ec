/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * SP: as BT, but the convection in each factor is diagonalised, and the fourth-order dissipation is in the factor as well: each characteristic variable has a
 * scalar pentadiagonal system along each line.
 *
 * For every axis the right-hand side is turned into the characteristic variables of that axis, solved, and turned back. Three of the variables (entropy and the
 * two momenta across) travel with the flow and share one matrix; the other two are the sound waves along and against the axis.
 * The systems need no pivoting (as BT's blocks), and the change on the boundary is 0.
 */
#include <math.h>

#include "ngb/kernels/cfd_lanes.h"

enum {
	FLOW,
	WITH,
	AGAINST,
	WAVES
}; /* what travels with velocity v, v + sound, v - sound */

#define ROOT_HALF 0.70710678118654752440

/* A row of a pentadiagonal system: what is multiplied with the values at i - 2 ... i + 2. */
struct row {
	cfd_lanes before2, before, own, after, after2;
};

/* What elimination leaves: value = right - next * (the next) - next2 * (the one after it). */
struct left {
	cfd_lanes next[WAVES], next2[WAVES], right[CFD_VARS];
};

static const int wave_of[CFD_VARS] = { FLOW, WITH, FLOW, FLOW, AGAINST };

/* What the lines need to know of their points. */
struct state {
	struct cfd_point p;
	cfd_lanes sound;
};

static inline void load_state(const struct cfd *c, const struct cfd_axis *x, const size_t at[CFD_LANES], struct state *s)
{
	cfd_load_point(c, x, at, &s->p);
	s->sound = cfd_load(c->sound, at);
}

/* Entropy, sound along the axis, the two momenta across, sound against the axis; of a change r of u. */
static inline void to_waves(const struct state *s, cfd_lanes r[CFD_VARS])
{
	const cfd_lanes *v = s->p.v;
	cfd_lanes push = CFD_C2 / (s->sound * s->sound) * (s->p.half_v2 * r[0] - v[0] * r[1] - v[1] * r[2] - v[2] * r[3] + r[4]);
	cfd_lanes moved = ROOT_HALF * s->p.inv_rho * (r[1] - v[0] * r[0]);
	cfd_lanes pushed = ROOT_HALF * s->p.inv_rho * s->sound * push;

	r[2] = s->p.inv_rho * (r[2] - v[1] * r[0]);
	r[3] = s->p.inv_rho * (r[3] - v[2] * r[0]);
	r[0] -= push;
	r[1] = pushed + moved;
	r[4] = pushed - moved;
}

/* The inverse. */
static inline void from_waves(const struct state *s, cfd_lanes r[CFD_VARS])
{
	const cfd_lanes *v = s->p.v, rho = 1.0 / s->p.inv_rho;
	cfd_lanes push = ROOT_HALF * rho / s->sound * (r[1] + r[4]);
	cfd_lanes density = r[0] + push;

	r[1] = v[0] * density + ROOT_HALF * rho * (r[1] - r[4]);
	r[2] = v[1] * density + rho * r[2];
	r[3] = v[2] * density + rho * r[3];
	r[4] = s->sound * s->sound / CFD_C2 * push - s->p.half_v2 * density + v[0] * r[1] + v[1] * r[2] + v[2] * r[3];
	r[0] = density;
}

/* ---- the matrices ---- */

/* Diffusion and viscosity: the largest of what the components have, which is the energy's. */
static inline cfd_lanes spread(const struct state *s, const struct cfd_axis *x)
{
	return x->diffusion + CFD_C15 * CFD_C34 * s->p.inv_rho;
}

static inline void dissipation(struct row *row, double d, int i, int n)
{
	bool edge = i == 1 || i == n - 2;

	row->own += edge ? 5.0 * d : 6.0 * d;
	if (i > 1)
		row->before -= 4.0 * d;
	if (i < n - 2)
		row->after -= 4.0 * d;
	if (i > 2)
		row->before2 += d;
	if (i < n - 3)
		row->after2 += d;
}

/* The row of point i for what travels with the flow; s[0], s[1], s[2] are the points before, at and after it. */
static inline void flow_row(struct row *row, const struct cfd *c, const struct cfd_axis *x, const struct state *const s[3], int i)
{
	const double first = c->dt * x->first, second = c->dt * x->second;
	const cfd_lanes none = { 0.0 };

	row->before2 = row->after2 = none;
	row->before = -first * s[0]->p.v[0] - second * spread(s[0], x);
	row->own = 1.0 + 2.0 * second * spread(s[1], x);
	row->after = first * s[2]->p.v[0] - second * spread(s[2], x);
	dissipation(row, c->dt * CFD_DISSIPATION, i, c->n);
}

/* ---- elimination and substitution ---- */

/* Of one of the three systems, with the variables that it has. */
static inline __attribute__((always_inline)) void eliminate(struct left *own, const struct left *before, const struct left *before2,
							    const struct row *row, int wave)
{
	cfd_lanes b = row->before - row->before2 * before2->next[wave];
	cfd_lanes inv = 1.0 / (row->own - row->before2 * before2->next2[wave] - b * before->next[wave]);

	own->next[wave] = (row->after - b * before->next2[wave]) * inv;
	own->next2[wave] = row->after2 * inv;
	for (int m = 0; m < CFD_VARS; m++)
		if (wave_of[m] == wave)
			own->right[m] = (own->right[m] - row->before2 * before2->right[m] - b * before->right[m]) * inv;
}

static inline void eliminate_point(const struct cfd *c, const struct cfd_axis *x, struct left *own, const struct state *const s[3], int i)
{
	struct row flow, row;
	cfd_lanes before = c->dt * x->first * s[0]->sound, after = c->dt * x->first * s[2]->sound;

	flow_row(&flow, c, x, s, i);
	eliminate(own, own - 1, own - 2, &flow, FLOW);
	row = flow;
	row.before = flow.before - before;
	row.after = flow.after + after;
	eliminate(own, own - 1, own - 2, &row, WITH);
	row.before = flow.before + before;
	row.after = flow.after - after;
	eliminate(own, own - 1, own - 2, &row, AGAINST);
}

static inline void substitute(struct left *own)
{
	const struct left *next = own + 1, *next2 = own + 2;

	for (int m = 0; m < CFD_VARS; m++)
		own->right[m] -= own->next[wave_of[m]] * next->right[m] + own->next2[wave_of[m]] * next2->right[m];
}

static void solve_lines(struct cfd *c, const struct cfd_axis *x, const size_t begin[CFD_LANES])
{
	/* The boundary and one point beyond it at each end: nothing changes there. */
	struct left line[CFD_MESH_MAX + 2], *left = line + 1;
	struct state states[CFD_MESH_MAX];
	size_t at[CFD_LANES];
	int n = c->n;

	line[0] = line[1] = line[n] = line[n + 1] = (struct left){ 0 };
	for (int i = 0; i < n; i++) {
		cfd_shift(at, begin, i * x->stride);
		load_state(c, x, at, &states[i]);
	}
	for (int i = 1; i < n - 1; i++) {
		const struct state *const around[3] = { &states[i - 1], &states[i], &states[i + 1] };

		cfd_shift(at, begin, i * x->stride);
		cfd_load_vars(x, c->rhs, at, left[i].right);
		to_waves(&states[i], left[i].right);
		eliminate_point(c, x, &left[i], around, i);
	}
	for (int i = n - 2; i > 0; i--) {
		cfd_lanes r[CFD_VARS];

		substitute(&left[i]);
		for (int m = 0; m < CFD_VARS; m++)
			r[m] = left[i].right[m];
		from_waves(&states[i], r);
		cfd_shift(at, begin, i * x->stride);
		cfd_store_vars(x, c->rhs, at, r);
	}
}

static void solve(struct cfd *c)
{
#pragma omp parallel num_threads(ngb_threads())
	for (int d = 0; d < CFD_AXES; d++)
		cfd_each_line(c, d, solve_lines);
}

/* The published values (NAS Parallel Benchmarks, SP): residual norms, then error norms. */
static const struct cfd_method sp = {
	.class = {
		[NGB_CLASS_S] = { 12, 100, 0.015, { 2.7470315451339480e-02, 1.0360746705285417e-02, 1.6235745065095532e-02, 1.5840557224455615e-02, 3.4849040609362460e-02, 2.7289258557377225e-05, 1.0364446640837285e-05, 1.6154798287166470e-05, 1.5750704994480100e-05, 3.4177666183390530e-05 } },
		[NGB_CLASS_W] = { 36, 400, 0.0015, { 1.893253733584e-03, 1.717075447775e-04, 2.778153350936e-04, 2.887475409984e-04, 3.143611161242e-03, 7.542088599534e-05, 6.512852253086e-06, 1.049092285688e-05, 1.128838671535e-05, 1.212845639773e-04 } },
		[NGB_CLASS_A] = { 64, 400, 0.0015, { 2.4799822399300195e+00, 1.1276337964368832e+00, 1.5028977888770492e+00, 1.4217816211695180e+00, 2.1292113035138280e+00, 1.0900140297820550e-04, 3.7343951769282090e-05, 5.0092785406541630e-05, 4.7671093939528250e-05, 1.3621613399213000e-04 } },
	},
	.nvalues = 10,
	.relax = 1.0,
	.solve = solve,
};

static void mesh(enum ngb_class c, struct ngb_field *f)
{
	cfd_mesh(&sp, c, f);
}

static int iterations(enum ngb_class c)
{
	return sp.class[c].niter;
}

static int run(enum ngb_class c, int niter, const struct ngb_field *initial, struct ngb_field *solution, struct ngb_result *result)
{
	return cfd_run(&sp, c, niter, initial, solution, result);
}

static bool verify(enum ngb_class c, const struct ngb_result *result, double *worst_relative_error)
{
	return cfd_verify(&sp, c, result, worst_relative_error);
}

const struct ngb_kernel ngb_sp = { "SP", mesh, iterations, run, verify };
