/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* FNV-1a with 64 bits (Fowler, Noll, Vo; RFC 9923): a quick hash for tables of our own. Whoever can choose the bytes can make two alike: SipHash (siphash.h) where that matters. */
#ifndef NFS4R_BASE_FNV_H
#define NFS4R_BASE_FNV_H

#include <stddef.h>
#include <stdint.h>

#define NFS4R_FNV_BEGIN UINT64_C(0xcbf29ce484222325)

/* @h goes on with @len bytes at @bytes. Pure. */
static inline uint64_t nfs4r_fnv(uint64_t h, const void *bytes, size_t len)
{
	const uint8_t *b = bytes;

	for (size_t i = 0; i < len; i++)
		h = (h ^ b[i]) * UINT64_C(0x100000001b3);
	return h;
}

#endif
