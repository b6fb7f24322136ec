/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The engine's clocks. Leases and timers go by one that runs on while the machine sleeps; waits by one that nobody sets; what clients see by the clock of the day.
 */
#include <time.h>

#include "engine/runtime/runtime.h"

uint64_t engine_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

struct timespec engine_after_us(uint64_t us)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_nsec += (long)(us % 1000000) * 1000;
	ts.tv_sec += (time_t)(us / 1000000) + ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	return ts;
}

int64_t engine_now_real_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}
