/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* SipHash-2-4, section 2 of the paper: two rounds for each word of 8 bytes, four at the end. */
#include "base/siphash.h"

#define ROUNDS_WORD 2
#define ROUNDS_END 4

static uint64_t word(const uint8_t *b, size_t n)
{
	uint64_t w = 0;

	while (n-- > 0)
		w = w << 8 | b[n];
	return w;
}

static uint64_t left(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static void rounds(uint64_t v[4], int n)
{
	while (n-- > 0) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = left(v[1], 13) ^ v[0];
		v[3] = left(v[3], 16) ^ v[2];
		v[0] = left(v[0], 32) + v[3];
		v[2] += v[1];
		v[3] = left(v[3], 21) ^ v[0];
		v[1] = left(v[1], 17) ^ v[2];
		v[2] = left(v[2], 32);
	}
}

static void take(uint64_t v[4], uint64_t m)
{
	v[3] ^= m;
	rounds(v, ROUNDS_WORD);
	v[0] ^= m;
}

void nfs4r_siphash(uint8_t out[NFS4R_SIPHASH], const void *in, size_t len, const uint8_t key[NFS4R_SIPHASH_KEY])
{
	uint64_t k0 = word(key, 8), k1 = word(key + 8, 8), h;
	uint64_t v[4] = { k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573 };
	const uint8_t *b = in;
	size_t left_over = len % 8;

	for (size_t i = 0; i + 8 <= len; i += 8)
		take(v, word(b + i, 8));
	take(v, (uint64_t)len << 56 | word(b + len - left_over, left_over));
	v[2] ^= 0xff;
	rounds(v, ROUNDS_END);
	h = v[0] ^ v[1] ^ v[2] ^ v[3];
	for (int i = 0; i < NFS4R_SIPHASH; i++)
		out[i] = (uint8_t)(h >> (8 * i));
}
