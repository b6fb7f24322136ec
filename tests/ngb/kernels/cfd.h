/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What BT, SP and LU have in common ("The NAS Parallel Benchmarks", RNR-94-007, chapter 3): five coupled equations in the unit cube,
 *
 *	du/dt = -(convection) + (diffusion) - (fourth-order dissipation) + (forcing)
 *
 * for u = (density, momentum along x, y, z, energy), with a forcing that makes a given polynomial the steady solution. The three differ only in how they turn
 * the right-hand side into the change of one step: `solve` of struct cfd_method.
 *
 * The equations are the same along all three axes if the momentum along the axis changes places with the first one; so everything here is written once, for an
 * axis, with struct cfd_axis saying which component is which.
 *
 * Each component is an array of its own; point (i, j, k) is element k * plane + j * row + i. Rows and planes are longer than the mesh, so that neighbours along
 * z do not all fall into the same lines of the cache.
 */
#ifndef NGB_CFD_H
#define NGB_CFD_H

#include <stddef.h>

#include "ngb/ngb.h"

#define CFD_VARS 5
#define CFD_AXES 3
#define CFD_MESH_MAX 64 /* points along an axis, of class A */

enum {
	CFD_DENSITY,
	CFD_MOMENTUM_X,
	CFD_MOMENTUM_Y,
	CFD_MOMENTUM_Z,
	CFD_ENERGY
};

/* The constants of the equations, with the specification's names. */
#define CFD_C1 1.4
#define CFD_C2 0.4
#define CFD_C34 (0.1 * 1.0) /* c3 c4: the viscosity */
#define CFD_C15 (1.4 * 1.4) /* c1 c5: how much better heat travels than momentum */
#define CFD_R43 (4.0 / 3.0) /* the momentum along the axis is more viscous than the others */
#define CFD_DISSIPATION (0.25 * 1.0) /* a quarter of the largest of the diffusions below */

struct cfd_axis {
	size_t stride; /* from a point to the next one along this axis */
	int var[CFD_VARS]; /* the components, the momentum along this axis as the second */
	int vel[CFD_AXES]; /* the velocities, the one along this axis first */
	double first; /* 1 / 2h */
	double second; /* 1 / h^2 */
	double diffusion;
};

struct cfd {
	int n; /* points along each axis */
	size_t row, plane;
	double dt;
	struct cfd_axis axis[CFD_AXES];
	double *u[CFD_VARS], *rhs[CFD_VARS], *force[CFD_VARS];
	/* Of u, by cfd_rhs(): 1 / density, velocities, half of the velocity's square, energy / density, pressure, speed of sound. */
	double *inv_rho, *vel[CFD_AXES], *half_v2, *energy, *pressure, *sound;
	double *memory; /* where all the arrays are */
};

#define CFD_VALUES 11 /* 5 residual norms, 5 error norms, and the surface integral */

struct cfd_class {
	int n, niter;
	double dt;
	double published[CFD_VALUES];
};

struct cfd_method {
	struct cfd_class class[NGB_CLASS_A + 1];
	int nvalues; /* of CFD_VALUES: 11 with the surface integral, 10 without */
	double relax; /* what the change is multiplied by before it is added to u */
	/* Turns rhs (dt times the right-hand side of the equations; 0 on the boundary, which stays) into the change of u. */
	void (*solve)(struct cfd *c);
};

static inline size_t cfd_at(const struct cfd *c, int i, int j, int k)
{
	return k * c->plane + j * c->row + i;
}

/* Value m of the steady solution at (x, y, z) in the unit cube. */
double cfd_exact(int m, double x, double y, double z);

/* The arrays for a mesh of n^3 points (zeroed) and the axes. 0, or -ENOMEM. */
int cfd_init(struct cfd *c, int n, double dt);
void cfd_fini(struct cfd *c);

/* u at the start: the steady solution on the boundary; inside, `initial` or (NULL) what the boundary says by interpolation. */
void cfd_start(struct cfd *c, const struct ngb_field *initial);

/* The forcing, for which u is overwritten. */
void cfd_force(struct cfd *c);

/* rhs = scale times the right-hand side of the equations at u, with what is derived of u. */
void cfd_rhs(struct cfd *c, double scale);

/* Root mean squares per component: of rhs, and of u minus the steady solution. */
void cfd_residual_norm(const struct cfd *c, double norm[CFD_VARS]);
void cfd_error_norm(const struct cfd *c, double norm[CFD_VARS]);

/* The pressure of the last cfd_rhs(), integrated over the six sides of a box inside the mesh. */
double cfd_surface_integral(const struct cfd *c);

/* What a kernel's functions of struct ngb_kernel do, given its method. */
void cfd_mesh(const struct cfd_method *m, enum ngb_class class, struct ngb_field *f);
int cfd_run(const struct cfd_method *m, enum ngb_class class, int niter, const struct ngb_field *initial, struct ngb_field *solution,
	    struct ngb_result *result);
bool cfd_verify(const struct cfd_method *m, enum ngb_class class, const struct ngb_result *result, double *worst_relative_error);

#endif
