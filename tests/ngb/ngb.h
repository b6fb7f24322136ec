/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The kernels of the NAS Parallel Benchmarks that the NAS Grid Benchmarks use, as the graphs see them: a kernel starts from its
 * own initial field, as published, or from a field that another kernel has left, and leaves a field. README.md of this folder
 * says where they come from and what was decided.
 */
#ifndef NGB_H
#define NGB_H

#include <stdbool.h>

enum ngb_class {
	NGB_CLASS_S = 1,
	NGB_CLASS_W,
	NGB_CLASS_A
};
/* A field on a mesh of nx*ny*nz points, nvar values a point; value m of point (i, j, k) is v[((k * ny + j) * nx + i) * nvar + m]. */
struct ngb_field {
	int nx, ny, nz, nvar;
	double *v;
};
/* What a run says about itself: norms per component (BT, SP, LU: 5 residual, 5 error; surface integral for LU), L2 norm (MG), checksums (FT). */
struct ngb_result {
	int n;
	double value[32];
	double seconds;
};
struct ngb_kernel {
	const char *name; /* "BT" ... */
	void (*mesh)(enum ngb_class c, struct ngb_field *f); /* fills nx, ny, nz, nvar; v = NULL */
	int (*iterations)(enum ngb_class c); /* of the benchmark as published */
	/* Runs niter iterations from `initial` (NULL: the benchmark's own initial field; else a field on the kernel's own mesh, whose boundary values are replaced by the
	   benchmark's where it needs them) and puts the solution into `solution` (v allocated by the callee, freed by the caller with free()). 0, or -ENOMEM. */
	int (*run)(enum ngb_class c, int niter, const struct ngb_field *initial, struct ngb_field *solution, struct ngb_result *result);
	/* Compares a run of the published number of iterations from the own initial field with the published values. true = verified. */
	bool (*verify)(enum ngb_class c, const struct ngb_result *result, double *worst_relative_error);
};
extern const struct ngb_kernel ngb_bt, ngb_sp, ngb_lu, ngb_mg, ngb_ft;

#define NGB_THREADS_MAX 64

/* How many threads the kernels of this process run with from now on; 1 until it is said. No result depends on it. Not while a kernel runs.
   0; -EINVAL: not 1 to NGB_THREADS_MAX; -ENOTSUP: more than 1, but the kernels were built without OpenMP. */
int ngb_threads_set(int n);
int ngb_threads(void);

#endif
