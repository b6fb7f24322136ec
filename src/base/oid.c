/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* OIDs: packing, hashing, printing. Pure. */
#include "base/oid.h"

#include <stdio.h>

static void put_be(uint8_t *p, uint64_t v, int n)
{
	while (n-- > 0) {
		p[n] = (uint8_t)v;
		v >>= 8;
	}
}

static uint64_t get_be(const uint8_t *p, int n)
{
	uint64_t v = 0;

	for (int i = 0; i < n; i++)
		v = v << 8 | p[i];
	return v;
}

/* Finalizer of a 64-bit mixer: every input bit reaches every output bit. */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ULL;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

void nfs4r_oid_make(struct nfs4r_oid *out, nfs4r_server_id creator, uint64_t inc, uint64_t seq)
{
	put_be(out->b, creator, 2);
	put_be(out->b + 2, inc, 6);
	put_be(out->b + 8, seq, 8);
}

nfs4r_server_id nfs4r_oid_creator(const struct nfs4r_oid *oid)
{
	return (nfs4r_server_id)get_be(oid->b, 2);
}

uint64_t nfs4r_oid_inc(const struct nfs4r_oid *oid)
{
	return get_be(oid->b + 2, 6);
}

uint64_t nfs4r_oid_seq(const struct nfs4r_oid *oid)
{
	return get_be(oid->b + 8, 8);
}

void nfs4r_oid_root(struct nfs4r_oid *out, const uint8_t volume_uuid[16])
{
	uint64_t h = mix(get_be(volume_uuid, 8)) ^ get_be(volume_uuid + 8, 8);

	nfs4r_oid_make(out, 0, 0, mix(h) | 1); /* creator 0 mints nothing else; never all zero */
}

uint64_t nfs4r_oid_hash(const struct nfs4r_oid *oid)
{
	return mix(get_be(oid->b, 8) * 0x9e3779b97f4a7c15ULL + get_be(oid->b + 8, 8));
}

uint64_t nfs4r_oid_fileid(const struct nfs4r_oid *oid)
{
	/* Own mixing, apart from the table hash: this one is part of what clients see and may never change. */
	uint64_t id = mix(mix(get_be(oid->b, 8) + 0x6e66733472ULL) ^ get_be(oid->b + 8, 8));

	return id ? id : 1;
}

const char *nfs4r_oid_str(const struct nfs4r_oid *oid, char buf[NFS4R_OID_STRLEN])
{
	if (nfs4r_oid_is_zero(oid))
		snprintf(buf, NFS4R_OID_STRLEN, "none");
	else if (nfs4r_oid_creator(oid) == 0)
		snprintf(buf, NFS4R_OID_STRLEN, "root");
	else
		snprintf(buf, NFS4R_OID_STRLEN, "%u.%llu.%llu", nfs4r_oid_creator(oid),
			 (unsigned long long)nfs4r_oid_inc(oid), (unsigned long long)nfs4r_oid_seq(oid));
	return buf;
}
