/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The check in clients' handles (docs/decisions/0036-handles-are-checked.md): SipHash-2-4 of the OID under the volume's secret (log 6.13).
 *
 * Whoever has no handle of an object cannot make one: OIDs are counted up, so from one the next is known. The root has a fixed check, since every client gets to
 * it by its path, and Ganesha wants its handle before there may be a secret.
 *
 * The secret may change once in a server's life, when it was a volume of its own by mistake and becomes a server of another one. Workers read it without a
 * lock, so each new one gets a place of its own.
 */
#include <nettle/memops.h>

#include "base/siphash.h"
#include "engine/runtime/runtime.h"

_Static_assert(NFS4R_HANDLE_CHECK == NFS4R_SIPHASH, "a check is what SipHash-2-4 gives");
_Static_assert(NFS4R_SECRET == NFS4R_SIPHASH_KEY, "a secret is its key");

static const uint8_t none[NFS4R_SECRET];

void engine_handle_key_follow(struct nfs4r_engine *eng)
{
	const uint8_t *now = nfs4r_core_adopted(eng->core)->secret;
	uint32_t n = eng->runtime.keys.n;

	if (memcmp(n ? eng->runtime.keys.key[n % HANDLE_KEYS] : none, now, NFS4R_SECRET) == 0)
		return;
	memcpy(eng->runtime.keys.key[(n + 1) % HANDLE_KEYS], now, NFS4R_SECRET);
	eng->runtime.keys.n = n + 1;
}

enum nfs4r_status nfs4r_handle_check(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, uint8_t check[NFS4R_HANDLE_CHECK])
{
	uint32_t n = eng->runtime.keys.n;

	memset(check, 0, NFS4R_HANDLE_CHECK);
	if (nfs4r_oid_eq(oid, &eng->root))
		return NFS4R_OK;
	if (!n)
		return NFS4R_DELAY;
	nfs4r_siphash(check, oid->b, sizeof(oid->b), eng->runtime.keys.key[n % HANDLE_KEYS]);
	return NFS4R_OK;
}

enum nfs4r_status nfs4r_handle_verify(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, const uint8_t check[NFS4R_HANDLE_CHECK])
{
	uint8_t right[NFS4R_HANDLE_CHECK];
	enum nfs4r_status st = nfs4r_handle_check(eng, oid, right);

	if (st != NFS4R_OK)
		return st;
	return memeql_sec(right, check, sizeof(right)) ? NFS4R_OK : NFS4R_INVAL;
}
