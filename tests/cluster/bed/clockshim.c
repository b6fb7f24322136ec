/*
 * For LD_PRELOAD: to the module and to Kerberos the clock of the day of one server is BED_CLOCK_AHEAD seconds ahead. Time namespaces shift the other clocks only.
 *
 * The rest of the process has the true time: Ganesha waits for points of time with the kernel's clock, and would wait for minutes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static time_t ahead(const void *caller)
{
	const char *text = getenv("BED_CLOCK_AHEAD");
	Dl_info of;

	if (!text || !dladdr(caller, &of) || !of.dli_fname)
		return 0;
	return strstr(of.dli_fname, "/libkrb5") || strstr(of.dli_fname, "/libgssapi") || strstr(of.dli_fname, "/libfsalrepl") ? atol(text) : 0;
}

static int real_time(clockid_t id, struct timespec *ts)
{
	static int (*next)(clockid_t, struct timespec *);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
	return next(id, ts);
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int rc = real_time(id, ts);

	if (rc == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		ts->tv_sec += ahead(__builtin_return_address(0));
	return rc;
}

time_t time(time_t *out)
{
	struct timespec ts;

	real_time(CLOCK_REALTIME, &ts);
	ts.tv_sec += ahead(__builtin_return_address(0));
	if (out)
		*out = ts.tv_sec;
	return ts.tv_sec;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec ts;

	(void)zone;
	real_time(CLOCK_REALTIME, &ts);
	tv->tv_sec = ts.tv_sec + ahead(__builtin_return_address(0));
	tv->tv_usec = ts.tv_nsec / 1000;
	return 0;
}

/* A module that is loaded with RTLD_DEEPBIND would find libc's functions before these. */
void *dlopen(const char *file, int flags)
{
	static void *(*next)(const char *, int);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "dlopen");
	return next(file, flags & ~RTLD_DEEPBIND);
}
