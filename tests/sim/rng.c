/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Random numbers and hashes of the simulator. One stream per run (SplitMix64: small, no
 * state to warm up, good enough to draw schedules from), so that the seed alone decides the
 * run. The hash goes over every event and action; it only has to tell two runs apart.
 */
#include "sim.h"

uint64_t rng_next(struct rng *r)
{
	uint64_t z = (r->s += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
	return n ? rng_next(r) % n : 0;
}

uint64_t rng_range(struct rng *r, uint64_t lo, uint64_t hi)
{
	return hi <= lo ? lo : lo + rng_below(r, hi - lo + 1);
}

bool rng_chance(struct rng *r, uint32_t per_mille)
{
	return per_mille && rng_below(r, 1000) < per_mille;
}

uint64_t rng_time(struct rng *r, uint64_t typical)
{
	uint64_t t = typical / 4 + rng_below(r, typical + typical / 2 + 1);

	if (rng_chance(r, 60))
		t += rng_below(r, typical * 10 + 1);
	return t;
}

uint64_t hash_mix(uint64_t h, uint64_t v)
{
	h ^= v;
	h *= 0xff51afd7ed558ccdull;
	h ^= h >> 32;
	h *= 0xc4ceb9fe1a85ec53ull;
	return h ^ (h >> 29);
}

uint64_t hash_bytes(uint64_t h, const void *p, size_t n)
{
	const uint8_t *b = p;
	uint64_t v;

	for (; n >= 8; b += 8, n -= 8) {
		memcpy(&v, b, 8);
		h = hash_mix(h, v);
	}
	for (v = 0; n; b++, n--)
		v = v << 8 | *b;
	return hash_mix(h, v + 1);
}
