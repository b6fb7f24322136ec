/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Lists of groups, compared without their order. */
#include "base/identity.h"

static uint64_t scatter(uint64_t x) /* splitmix64's last steps */
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

uint64_t nfs4r_groups_digest(const uint32_t *groups, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += scatter(groups[i]);
	return sum;
}
