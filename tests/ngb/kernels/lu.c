/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * LU: the whole implicit operator is D + L + U, with D the blocks of the points themselves, L those to the neighbours before along each axis and U those to the
 * neighbours after; a step is one symmetric successive over-relaxation,
 *
 *	(D + w L) D^-1 (D + w U) change = right-hand side, the change then being multiplied by 1 / (w (2 - w)).
 *
 * The first sweep goes from the first corner to the last, the second one back. Within a plane, points with the same i + j do not depend on one another and are
 * done side by side. The blocks of L and U are multiplied with as they are made; D has nothing above its diagonal but in the last row, where it has nothing
 * right of the diagonal either, so it is solved from the top. On the boundary the change is 0, and so may be read like any other.
 *
 * Threads: each has one piece of every plane, some of these diagonals, and is some planes behind the thread whose piece comes before its own. So each point is
 * done after the same neighbours as with one thread.
 */
#include "ngb/kernels/cfd_lanes.h"

#define OVER 1.2 /* w, the factor of over-relaxation */
#define TOGETHER 4 /* planes that a thread does before it waits for the others: more cost less waiting, but all threads are at work later */

/* ---- D ---- */

/* Per mesh: twice the sums over the axes, times dt. */
struct diagonal {
	double one; /* 1 + diffusion */
	double viscosity[CFD_AXES]; /* of the momentum along each axis */
	double heat;
};

static struct diagonal diagonal(const struct cfd *c)
{
	struct diagonal d = { .one = 1.0 };

	for (int x = 0; x < CFD_AXES; x++) {
		double t = 2.0 * c->dt * c->axis[x].second;

		d.one += t * c->axis[x].diffusion;
		d.heat += t * CFD_C34 * CFD_C15;
		for (int m = 0; m < CFD_AXES; m++)
			d.viscosity[m] += t * CFD_C34 * (m == x ? CFD_R43 : 1.0);
	}
	return d;
}

/* r = D^-1 r */
static inline void solve_diagonal(const struct diagonal *d, const struct cfd_point *p, cfd_lanes r[CFD_VARS])
{
	cfd_lanes heat = d->heat * p->inv_rho, own = heat * p->energy;

	r[0] = r[0] / d->one;
	for (int m = 0; m < CFD_AXES; m++) {
		cfd_lanes viscosity = d->viscosity[m] * p->inv_rho, work = (viscosity - heat) * p->v[m];

		own += work * p->v[m];
		r[1 + m] = (r[1 + m] + viscosity * p->v[m] * r[0]) / (viscosity + d->one);
		r[4] -= work * r[1 + m];
	}
	r[4] = (r[4] + own * r[0]) / (heat + d->one);
}

/* ---- L and U ---- */

/* sum += (block of the neighbour before (-1) or after (1) along axis d) * (its change) */
static inline void add_neighbour(const struct cfd *c, int d, double sign, const size_t at[CFD_LANES], cfd_lanes sum[CFD_VARS])
{
	const struct cfd_axis *x = &c->axis[d];
	struct cfd_point p;
	struct cfd_coupling m;
	cfd_lanes v[CFD_VARS], y[CFD_VARS];
	size_t there[CFD_LANES];

	cfd_shift(there, at, sign < 0 ? -x->stride : x->stride);
	cfd_load_point(c, x, there, &p);
	cfd_couple(&m, &p, x, c->dt, sign);
	cfd_load_vars(x, c->rhs, there, v);
	cfd_apply(&m, v, y);
	for (int q = 0; q < CFD_VARS; q++)
		sum[x->var[q]] += y[q];
}

/* r = D^-1 (r - w L r) at some points */
static void relax_forward(struct cfd *c, const struct diagonal *d, const size_t at[CFD_LANES])
{
	cfd_lanes r[CFD_VARS], sum[CFD_VARS] = { 0 };
	struct cfd_point p;

	for (int x = 0; x < CFD_AXES; x++)
		add_neighbour(c, x, -1.0, at, sum);
	cfd_load_vars(&c->axis[0], c->rhs, at, r);
	for (int m = 0; m < CFD_VARS; m++)
		r[m] -= OVER * sum[m];
	cfd_load_point(c, &c->axis[0], at, &p);
	solve_diagonal(d, &p, r);
	cfd_store_vars(&c->axis[0], c->rhs, at, r);
}

/* r = r - D^-1 w U r at some points */
static void relax_back(struct cfd *c, const struct diagonal *d, const size_t at[CFD_LANES])
{
	cfd_lanes r[CFD_VARS], sum[CFD_VARS] = { 0 };
	struct cfd_point p;

	for (int x = 0; x < CFD_AXES; x++)
		add_neighbour(c, x, 1.0, at, sum);
	cfd_load_point(c, &c->axis[0], at, &p);
	solve_diagonal(d, &p, sum);
	cfd_load_vars(&c->axis[0], c->rhs, at, r);
	for (int m = 0; m < CFD_VARS; m++)
		r[m] -= OVER * sum[m];
	cfd_store_vars(&c->axis[0], c->rhs, at, r);
}

/* ---- the sweeps ---- */

typedef void (*relax_fn)(struct cfd *c, const struct diagonal *d, const size_t at[CFD_LANES]);

/* The points of plane k with i + j = sum. */
static void each_on_diagonal(struct cfd *c, const struct diagonal *d, int k, int sum, relax_fn relax)
{
	int inside = c->n - 2, first = sum > inside ? sum - inside : 1, last = sum > inside ? inside : sum - 1;

	for (int i = first; i <= last; i += CFD_LANES) {
		size_t at[CFD_LANES];

		for (int l = 0; l < CFD_LANES; l++) {
			int own = i + l < last ? i + l : last;

			at[l] = cfd_at(c, own, sum - own, k);
		}
		relax(c, d, at);
	}
}

/* Piece q of a plane has the diagonals with i + j from first[q] up to, but without, first[q + 1]. */
struct pieces {
	int n, first[NGB_THREADS_MAX + 1];
};

/* n pieces of about as many points each; some are empty when there are more than diagonals. */
static void cut(struct pieces *p, int n, int inside)
{
	int q = 0, points = 0;

	p->n = n;
	for (int sum = 2; sum <= 2 * inside; sum++) {
		while (q < n && points >= inside * inside * q / n)
			p->first[q++] = sum;
		points += sum > inside ? 2 * inside + 1 - sum : sum - 1;
	}
	while (q <= n)
		p->first[q++] = 2 * inside + 1;
}

/* The q-th piece of the `done`-th plane of a sweep; both count from 0 in the order of the sweep. */
typedef void (*piece_fn)(struct cfd *c, const struct diagonal *d, const struct pieces *p, int done, int q);

static void piece_forward(struct cfd *c, const struct diagonal *d, const struct pieces *p, int done, int q)
{
	for (int sum = p->first[q]; sum < p->first[q + 1]; sum++)
		each_on_diagonal(c, d, 1 + done, sum, relax_forward);
}

static void piece_back(struct cfd *c, const struct diagonal *d, const struct pieces *p, int done, int q)
{
	for (int sum = p->first[p->n - q] - 1; sum >= p->first[p->n - q - 1]; sum--)
		each_on_diagonal(c, d, c->n - 2 - done, sum, relax_back);
}

/* A piece needs the one before it in its plane, and the same one of the plane before: both belong to an earlier wave, or to this one and the same thread. */
static void sweep(struct cfd *c, const struct diagonal *d, const struct pieces *p, piece_fn piece)
{
	int inside = c->n - 2, steps = (inside + TOGETHER - 1) / TOGETHER;

	for (int wave = 0; wave < steps + p->n - 1; wave++) {
#pragma omp for schedule(static, 1)
		for (int q = 0; q < p->n; q++)
			if (wave >= q)
				for (int done = (wave - q) * TOGETHER; done < inside && done < (wave - q + 1) * TOGETHER; done++)
					piece(c, d, p, done, q);
	}
}

static void solve(struct cfd *c)
{
	struct diagonal d = diagonal(c);
	struct pieces p;

	cut(&p, ngb_threads(), c->n - 2);
#pragma omp parallel num_threads(ngb_threads())
	{
		sweep(c, &d, &p, piece_forward);
		sweep(c, &d, &p, piece_back);
	}
}

/* The published values (NAS Parallel Benchmarks, LU): residual norms, error norms, surface integral. */
static const struct cfd_method lu = {
	.class = {
		[NGB_CLASS_S] = { 12, 50, 0.5, { 1.6196343210976703e-02, 2.1976745164821320e-03, 1.5179927653399185e-03, 1.5029584435994323e-03, 3.4264073155896460e-02, 6.4223319957960920e-04, 8.4144342047347920e-05, 5.8588269616485187e-05, 5.8474222595157350e-05, 1.3103347914111294e-03, 7.8418928865937080e+00 } },
		[NGB_CLASS_W] = { 33, 300, 0.0015, { 1.236511638192e+01, 1.317228477799e+00, 2.550120713095e+00, 2.326187750252e+00, 2.826799444189e+01, 4.867877144216e-01, 5.064652880982e-02, 9.281818101960e-02, 8.570126542733e-02, 1.084277417792e+00, 1.161399311023e+01 } },
		[NGB_CLASS_A] = { 64, 250, 2.0, { 7.7902107606689367e+02, 6.3402765259692870e+01, 1.9499249727292480e+02, 1.7845301160418538e+02, 1.8384760349464248e+03, 2.9964085685471943e+01, 2.8194576365003350e+00, 7.3473412698774740e+00, 6.7139225687777050e+00, 7.0715315688392580e+01, 2.6030925604886278e+01 } },
	},
	.nvalues = CFD_VALUES,
	.relax = 1.0 / (OVER * (2.0 - OVER)),
	.solve = solve,
};

static void mesh(enum ngb_class c, struct ngb_field *f)
{
	cfd_mesh(&lu, c, f);
}

static int iterations(enum ngb_class c)
{
	return lu.class[c].niter;
}

static int run(enum ngb_class c, int niter, const struct ngb_field *initial, struct ngb_field *solution, struct ngb_result *result)
{
	return cfd_run(&lu, c, niter, initial, solution, result);
}

static bool verify(enum ngb_class c, const struct ngb_result *result, double *worst_relative_error)
{
	return cfd_verify(&lu, c, result, worst_relative_error);
}

const struct ngb_kernel ngb_lu = { "LU", mesh, iterations, run, verify };
