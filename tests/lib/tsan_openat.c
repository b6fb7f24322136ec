/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * openat() for the tsan build. GCC's ThreadSanitizer sees open() and close(), but not openat(), nor that libuv closes a descriptor. A number that
 * libuv had, and openat() gives next, looks like the old descriptor then, and its close() like a race with whoever used that. So what
 * is opened here is opened with open(), which ThreadSanitizer takes for a new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

int openat(int dirfd, const char *path, int flags, ...)
{
	char whole[PATH_MAX];
	mode_t mode = 0;
	va_list ap;

	if (flags & O_CREAT) {
		va_start(ap, flags);
		mode = va_arg(ap, mode_t);
		va_end(ap);
	}
	if (dirfd == AT_FDCWD || path[0] == '/')
		return open(path, flags, mode);
	if ((size_t)snprintf(whole, sizeof(whole), "/proc/self/fd/%d/%s", dirfd, path) >= sizeof(whole)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(whole, flags, mode);
}
