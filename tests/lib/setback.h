/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A clock that is set back while somebody waits. For programs that are linked with -Wl,--wrap=clock_gettime. */
#ifndef NFS4R_TESTS_SETBACK_H
#define NFS4R_TESTS_SETBACK_H

#include <stdatomic.h>
#include <time.h>

/* CLOCK_REALTIME says so much more than the kernel goes by, as if it had been asked before it was set back. */
extern _Atomic time_t setback_s;

#endif
