/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How many threads the kernels share their loops among. Each parallel region of a kernel asks ngb_threads(), so neither OMP_NUM_THREADS nor the number of
 * processors makes more than one of it unasked.
 *
 * Invariant of all kernels: threads share only loops whose iterations do not depend on one another, and whatever is added up (norms, checksums, the surface
 * integral) is added by one thread in one order. So a result has the same bits with any number of threads, or with fewer than were asked for.
 */
#include "ngb/ngb.h"

#include <errno.h>

static int threads = 1;

int ngb_threads(void)
{
	return threads;
}

int ngb_threads_set(int n)
{
	if (n < 1 || n > NGB_THREADS_MAX)
		return -EINVAL;
#ifndef _OPENMP
	if (n > 1)
		return -ENOTSUP;
#endif
	threads = n;
	return 0;
}
