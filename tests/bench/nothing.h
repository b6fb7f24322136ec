/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A file system for engines that are measured: it hands out numbers as handles, and keeps nothing. */
#ifndef NFS4R_BENCH_NOTHING_H
#define NFS4R_BENCH_NOTHING_H

#include <stdatomic.h>
#include <stdint.h>

#include "engine/lops.h"

struct bench_nothing { /* the context of each call; one of each engine */
	_Atomic uint64_t handles; /* so many were handed out */
};

extern const struct nfs4r_lops bench_nothing;

#endif
