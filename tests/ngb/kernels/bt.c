/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * BT: the implicit operator is approximately factored into one factor per axis, each block tridiagonal with 5x5 blocks along the lines of its axis.
 *
 * A line is solved by elimination from its first point inside to its last and substitution back; the change on the boundary is 0. Blocks are eliminated
 * without looking for a pivot: their diagonal dominates for the benchmark's time steps. A field from elsewhere for which it does not gives numbers that are
 * no solution, in the same time, and nothing worse.
 */
#include "ngb/kernels/cfd_lanes.h"

/* A row of blocks while it is eliminated: its own block, the one to the next point, and the right-hand side, as one matrix. */
#define OWN 0
#define NEXT CFD_VARS
#define RIGHT (2 * CFD_VARS)
#define COLUMNS (2 * CFD_VARS + 1)

/* What elimination leaves of a point: its change is right - next * (change of the next point). */
struct left {
	cfd_lanes next[CFD_VARS][CFD_VARS], right[CFD_VARS]; /* next by columns */
};

/* 1 + 2t (N + diffusion) */
static inline void set_own(cfd_lanes w[CFD_VARS][COLUMNS], const struct cfd_point *p, const struct cfd_axis *x, double dt)
{
	const double t = 2.0 * dt * x->second, one = 1.0 + t * x->diffusion;
	const cfd_lanes visc = t * CFD_C34 * p->inv_rho, a = p->v[0], b = p->v[1], c = p->v[2], none = { 0.0 };

	for (int r = 0; r < CFD_VARS; r++)
		for (int q = 0; q < CFD_VARS; q++)
			w[r][OWN + q] = none;
	w[0][OWN] = none + one;
	w[1][OWN] = -visc * CFD_R43 * a;
	w[1][OWN + 1] = visc * CFD_R43 + one;
	w[2][OWN] = -visc * b;
	w[2][OWN + 2] = visc + one;
	w[3][OWN] = -visc * c;
	w[3][OWN + 3] = visc + one;
	w[4][OWN] = -visc * ((CFD_R43 - CFD_C15) * a * a + (1.0 - CFD_C15) * (b * b + c * c) + CFD_C15 * p->energy);
	w[4][OWN + 1] = visc * (CFD_R43 - CFD_C15) * a;
	w[4][OWN + 2] = visc * (1.0 - CFD_C15) * b;
	w[4][OWN + 3] = visc * (1.0 - CFD_C15) * c;
	w[4][OWN + 4] = visc * CFD_C15 + one;
}

static inline void set_next(cfd_lanes w[CFD_VARS][COLUMNS], const struct cfd_coupling *m)
{
	const cfd_lanes none = { 0.0 };

	for (int r = 0; r < 4; r++)
		for (int q = 0; q < CFD_VARS; q++)
			w[r][NEXT + q] = none;
	w[0][NEXT] = none + m->density[0];
	w[0][NEXT + 1] = none + m->density[1];
	for (int e = 0; e < 2; e++) {
		w[2 + e][NEXT] = m->side[e][0];
		w[2 + e][NEXT + 1] = m->side[e][1];
		w[2 + e][NEXT + 2 + e] = m->side[e][2];
	}
	for (int q = 0; q < CFD_VARS; q++) {
		w[1][NEXT + q] = m->along[q];
		w[4][NEXT + q] = m->energy[q];
	}
}

/* The point before is known but for the change at this one: takes it out of this row. */
static inline void take_out(cfd_lanes w[CFD_VARS][COLUMNS], const struct cfd_coupling *m, const struct left *before)
{
	cfd_lanes y[CFD_VARS];

	for (int q = 0; q < CFD_VARS; q++) {
		cfd_apply(m, before->next[q], y);
		for (int r = 0; r < CFD_VARS; r++)
			w[r][OWN + q] -= y[r];
	}
	cfd_apply(m, before->right, y);
	for (int r = 0; r < CFD_VARS; r++)
		w[r][RIGHT] -= y[r];
}

/* Makes column p of the own block that of the unit matrix. Always inline, so that p is a constant and the loops unroll. */
static inline __attribute__((always_inline)) void eliminate(cfd_lanes w[CFD_VARS][COLUMNS], int p)
{
	const cfd_lanes inv = 1.0 / w[p][p];

#pragma GCC unroll 16
	for (int q = p + 1; q < COLUMNS; q++)
		w[p][q] *= inv;
#pragma GCC unroll 8
	for (int r = 0; r < CFD_VARS; r++) {
		const cfd_lanes factor = w[r][p];

		if (r == p)
			continue;
#pragma GCC unroll 16
		for (int q = p + 1; q < COLUMNS; q++)
			w[r][q] -= factor * w[p][q];
	}
}

static inline void divide(cfd_lanes w[CFD_VARS][COLUMNS], struct left *out)
{
	eliminate(w, 0);
	eliminate(w, 1);
	eliminate(w, 2);
	eliminate(w, 3);
	eliminate(w, 4);
	for (int r = 0; r < CFD_VARS; r++) {
		for (int q = 0; q < CFD_VARS; q++)
			out->next[q][r] = w[r][NEXT + q];
		out->right[r] = w[r][RIGHT];
	}
}

static void substitute_back(struct cfd *c, const struct cfd_axis *x, const size_t begin[CFD_LANES], struct left left[CFD_MESH_MAX])
{
	size_t at[CFD_LANES];

	for (int i = c->n - 2; i > 0; i--) {
		cfd_lanes *own = left[i].right;
		const cfd_lanes *next = left[i + 1].right;

		if (i < c->n - 2)
			for (int q = 0; q < CFD_VARS; q++)
				for (int r = 0; r < CFD_VARS; r++)
					own[r] -= left[i].next[q][r] * next[q];
		cfd_shift(at, begin, i * x->stride);
		cfd_store_vars(x, c->rhs, at, own);
	}
}

static void solve_lines(struct cfd *c, const struct cfd_axis *x, const size_t begin[CFD_LANES])
{
	struct left left[CFD_MESH_MAX];
	struct cfd_point before, here, after;
	struct cfd_coupling m;
	size_t at[CFD_LANES];

	cfd_load_point(c, x, begin, &before);
	cfd_shift(at, begin, x->stride);
	cfd_load_point(c, x, at, &here);
	for (int i = 1; i < c->n - 1; i++) {
		cfd_lanes w[CFD_VARS][COLUMNS], right[CFD_VARS];

		cfd_load_vars(x, c->rhs, at, right);
		for (int r = 0; r < CFD_VARS; r++)
			w[r][RIGHT] = right[r];
		set_own(w, &here, x, c->dt);
		if (i > 1) {
			cfd_couple(&m, &before, x, c->dt, -1.0);
			take_out(w, &m, &left[i - 1]);
		}
		cfd_shift(at, at, x->stride);
		cfd_load_point(c, x, at, &after);
		cfd_couple(&m, &after, x, c->dt, 1.0);
		set_next(w, &m);
		divide(w, &left[i]);
		before = here;
		here = after;
	}
	substitute_back(c, x, begin, left);
}

static void solve(struct cfd *c)
{
#pragma omp parallel num_threads(ngb_threads())
	for (int d = 0; d < CFD_AXES; d++)
		cfd_each_line(c, d, solve_lines);
}

/* The published values (NAS Parallel Benchmarks, BT): residual norms, then error norms. */
static const struct cfd_method bt = {
	.class = {
		[NGB_CLASS_S] = { 12, 60, 0.01, { 1.7034283709541312e-01, 1.2975252070034096e-02, 3.2527926989486054e-02, 2.6436421275166800e-02, 1.9211784131744440e-01, 4.9976913345811580e-04, 4.5195666782961930e-05, 7.3973765172921350e-05, 7.3821238632439730e-05, 8.9269630987491450e-04 } },
		[NGB_CLASS_W] = { 24, 200, 0.0008, { 1.125590409344e+02, 1.180007595731e+01, 2.710329767846e+01, 2.469174937669e+01, 2.638427874317e+02, 4.419655736008e+00, 4.638531260002e-01, 1.011551749967e+00, 9.235878729944e-01, 1.018045837718e+01 } },
		[NGB_CLASS_A] = { 64, 200, 0.0008, { 1.0806346714637264e+02, 1.1319730901220813e+01, 2.5974354511582465e+01, 2.3665622544678910e+01, 2.5278963211748345e+02, 4.2348416040525025e+00, 4.4390282496995700e-01, 9.6692480136345650e-01, 8.8302063039765480e-01, 9.7379901770829280e+00 } },
	},
	.nvalues = 10,
	.relax = 1.0,
	.solve = solve,
};

static void mesh(enum ngb_class c, struct ngb_field *f)
{
	cfd_mesh(&bt, c, f);
}

static int iterations(enum ngb_class c)
{
	return bt.class[c].niter;
}

static int run(enum ngb_class c, int niter, const struct ngb_field *initial, struct ngb_field *solution, struct ngb_result *result)
{
	return cfd_run(&bt, c, niter, initial, solution, result);
}

static bool verify(enum ngb_class c, const struct ngb_result *result, double *worst_relative_error)
{
	return cfd_verify(&bt, c, result, worst_relative_error);
}

const struct ngb_kernel ngb_bt = { "BT", mesh, iterations, run, verify };
