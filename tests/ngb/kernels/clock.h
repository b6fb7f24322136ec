/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The time of a run; monotonic, in seconds from some point. */
#ifndef NGB_CLOCK_H
#define NGB_CLOCK_H

#include <time.h>

static inline double ngb_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

#endif
