/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See setback.h. */
#include "lib/setback.h"

int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);

_Atomic time_t setback_s;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	int rc = __real_clock_gettime(clock, ts);

	if (clock == CLOCK_REALTIME)
		ts->tv_sec += setback_s;
	return rc;
}
