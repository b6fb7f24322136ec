/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Big endian numbers in disk records, and a reader that cannot run past its end. */
#ifndef NFS4R_STORE_BYTES_H
#define NFS4R_STORE_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void put_be16(void *p, uint16_t v)
{
	v = htobe16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void put_be32(void *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void put_be64(void *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
}

static inline uint16_t get_be16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return be16toh(v);
}

static inline uint32_t get_be32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static inline uint64_t get_be64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

struct nfs4r_rd { /* after a read beyond the end: bad, and everything reads as zero */
	const uint8_t *p;
	size_t left;
	bool bad;
};

static inline const uint8_t *rd_bytes(struct nfs4r_rd *r, size_t n)
{
	const uint8_t *p = r->p;

	if (r->bad || r->left < n) {
		r->bad = true;
		return NULL;
	}
	r->p += n;
	r->left -= n;
	return p;
}

static inline uint8_t rd_u8(struct nfs4r_rd *r)
{
	const uint8_t *p = rd_bytes(r, 1);

	return p ? *p : 0;
}

static inline uint16_t rd_u16(struct nfs4r_rd *r)
{
	const uint8_t *p = rd_bytes(r, 2);

	return p ? get_be16(p) : 0;
}

static inline uint32_t rd_u32(struct nfs4r_rd *r)
{
	const uint8_t *p = rd_bytes(r, 4);

	return p ? get_be32(p) : 0;
}

static inline uint64_t rd_u64(struct nfs4r_rd *r)
{
	const uint8_t *p = rd_bytes(r, 8);

	return p ? get_be64(p) : 0;
}

#endif
