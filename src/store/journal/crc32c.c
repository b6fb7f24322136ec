/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * CRC-32C (Castagnoli) over journal records. The processor's instruction where there is one, tables of
 * eight bytes at a time otherwise. Invariant: both give the same number, or a store could not be carried
 * from one machine to another; tests/unit/store checks them against published values.
 */
#include <pthread.h>
#include <string.h>

#include "store/internal.h"

static uint32_t table[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = c & 1 ? c >> 1 ^ 0x82f63b78 : c >> 1;
		table[0][i] = c;
	}
	for (uint32_t i = 0; i < 256; i++) {
		for (int t = 1; t < 8; t++)
			table[t][i] = table[t - 1][i] >> 8 ^ table[0][table[t - 1][i] & 0xff];
	}
}

uint32_t store_crc32c_tables(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;

	pthread_once(&once, fill_table);
	crc = ~crc;
	while (len >= 8) {
		uint32_t a = crc ^ (p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24);

		crc = table[7][a & 0xff] ^ table[6][a >> 8 & 0xff] ^ table[5][a >> 16 & 0xff] ^
			table[4][a >> 24] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^
			table[0][p[7]];
		p += 8;
		len -= 8;
	}
	while (len--)
		crc = crc >> 8 ^ table[0][(crc ^ *p++) & 0xff];
	return ~crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t crc, const void *data,
							    size_t len)
{
	const uint8_t *p = data;
	uint64_t c = ~crc;

	while (len >= 8) {
		uint64_t v;

		memcpy(&v, p, 8);
		c = __builtin_ia32_crc32di(c, v);
		p += 8;
		len -= 8;
	}
	while (len--)
		c = __builtin_ia32_crc32qi((uint32_t)c, *p++);
	return ~(uint32_t)c;
}
#endif

uint32_t store_crc32c(uint32_t crc, const void *data, size_t len)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return crc_sse42(crc, data, len);
#endif
	return store_crc32c_tables(crc, data, len);
}
