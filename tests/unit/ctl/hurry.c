/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A clock for nfs4rctl that goes on only while the program sleeps, and a sleep that does nothing else. A wait of a minute is over when the program has
 * looked as often as it does in a minute. For programs that are linked with -Wl,--wrap=clock_gettime,--wrap=nanosleep.
 */
#include <time.h>

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_nanosleep(const struct timespec *want, struct timespec *left);

static struct timespec now = { .tv_sec = 1000 };

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	*ts = now;
	return 0;
}

int __wrap_nanosleep(const struct timespec *want, struct timespec *left)
{
	now.tv_nsec += want->tv_nsec;
	now.tv_sec += want->tv_sec + now.tv_nsec / 1000000000;
	now.tv_nsec %= 1000000000;
	return 0;
}
