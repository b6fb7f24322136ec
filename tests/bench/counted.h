/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What our own code asked malloc for, as the linker lets our libraries see it: a program that links this has LINKER:--wrap=malloc and so on (CMakeLists.txt). */
#ifndef NFS4R_BENCH_COUNTED_H
#define NFS4R_BENCH_COUNTED_H

#include <stdint.h>

/* Bytes, with what malloc adds to each. Any thread. */
int64_t bench_in_use(void);

#endif
