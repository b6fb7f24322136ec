/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The pseudo-random numbers of the NAS Parallel Benchmarks: x(k+1) = 5^13 x(k) mod 2^46, as fractions of 2^46.
 * Exact in integers, so every machine draws the same.
 */
#ifndef NGB_RANDOM_H
#define NGB_RANDOM_H

#include <stdint.h>

#define NGB_SEED 314159265u

/* The next number in (0, 1); *x is the state. */
static inline double ngb_random(uint64_t *x)
{
	*x = *x * 1220703125u & ((UINT64_C(1) << 46) - 1); /* 2^46 divides 2^64: the overflow does no harm */
	return (double)*x * 0x1p-46;
}

#endif
