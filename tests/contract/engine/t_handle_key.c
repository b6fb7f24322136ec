/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The check of handles (log 6.13): it is SipHash-2-4, no bit of a handle may be another one, and the root needs none. */
#include <stdlib.h>
#include <string.h>

#include "base/siphash.h"
#include "engine/engine_int.h"

#include "lib/unit.h"

static struct nfs4r_engine *with_key(bool key)
{
	struct nfs4r_engine *eng = calloc(1, sizeof(*eng));

	memset(&eng->root, 0xee, sizeof(eng->root));
	eng->runtime.keys.n = key;
	for (uint8_t i = 0; i < NFS4R_SECRET; i++)
		eng->runtime.keys.key[1][i] = i;
	return eng;
}

static struct nfs4r_oid counted(void)
{
	struct nfs4r_oid oid;

	for (uint8_t i = 0; i < sizeof(oid); i++)
		oid.b[i] = i;
	return oid;
}

/* Of the vectors that its authors publish with SipHash-2-4 (key 00 01 ... 0f, message 00 01 ...): those of 0, 7, 8 and 15 bytes (the paper's example), and the check of such an OID. */
static void it_is_siphash(void **state)
{
	static const struct {
		size_t len;
		uint8_t hash[NFS4R_SIPHASH];
	} shorter[] = {
		{ 0, { 0x31, 0x0e, 0x0e, 0xdd, 0x47, 0xdb, 0x6f, 0x72 } },
		{ 7, { 0x37, 0xd1, 0x01, 0x8b, 0xf5, 0x00, 0x02, 0xab } },
		{ 8, { 0x62, 0x24, 0x93, 0x9a, 0x79, 0xf5, 0xf5, 0x93 } },
		{ 15, { 0xe5, 0x45, 0xbe, 0x49, 0x61, 0xca, 0x29, 0xa1 } },
	};
	static const uint8_t published[NFS4R_HANDLE_CHECK] = { 0xdb, 0x9b, 0xc2, 0x57, 0x7f, 0xcc, 0x2a, 0x3f };
	struct nfs4r_engine *eng = with_key(true);
	struct nfs4r_oid oid = counted();
	uint8_t check[NFS4R_HANDLE_CHECK];

	for (size_t i = 0; i < sizeof(shorter) / sizeof(shorter[0]); i++) {
		nfs4r_siphash(check, oid.b, shorter[i].len, oid.b); /* its bytes are those of the key, too */
		assert_memory_equal(check, shorter[i].hash, sizeof(check));
	}
	assert_int_equal(nfs4r_handle_check(eng, &oid, check), NFS4R_OK);
	assert_memory_equal(check, published, sizeof(published));
	free(eng);
}

static void every_bit_counts(void **state)
{
	struct nfs4r_engine *eng = with_key(true);
	struct nfs4r_oid oid = counted();
	uint8_t check[NFS4R_HANDLE_CHECK];

	assert_int_equal(nfs4r_handle_check(eng, &oid, check), NFS4R_OK);
	assert_int_equal(nfs4r_handle_verify(eng, &oid, check), NFS4R_OK);
	for (uint32_t bit = 0; bit < 8 * sizeof(check); bit++) {
		check[bit / 8] ^= 1u << bit % 8;
		assert_int_equal(nfs4r_handle_verify(eng, &oid, check), NFS4R_INVAL);
		check[bit / 8] ^= 1u << bit % 8;
	}
	for (uint32_t bit = 0; bit < 8 * sizeof(oid); bit++) {
		oid.b[bit / 8] ^= 1u << bit % 8;
		assert_int_equal(nfs4r_handle_verify(eng, &oid, check), NFS4R_INVAL);
		oid.b[bit / 8] ^= 1u << bit % 8;
	}
	free(eng);
}

static void without_a_secret_only_the_root(void **state)
{
	struct nfs4r_engine *eng = with_key(false);
	struct nfs4r_oid oid = counted();
	uint8_t check[NFS4R_HANDLE_CHECK], zero[NFS4R_HANDLE_CHECK] = { 0 };

	assert_int_equal(nfs4r_handle_check(eng, &oid, check), NFS4R_DELAY);
	assert_int_equal(nfs4r_handle_verify(eng, &oid, zero), NFS4R_DELAY);
	assert_int_equal(nfs4r_handle_check(eng, &eng->root, check), NFS4R_OK);
	assert_memory_equal(check, zero, sizeof(zero));
	assert_int_equal(nfs4r_handle_verify(eng, &eng->root, zero), NFS4R_OK);
	zero[0] = 1;
	assert_int_equal(nfs4r_handle_verify(eng, &eng->root, zero), NFS4R_INVAL);
	free(eng);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_siphash),
		cmocka_unit_test(every_bit_counts),
		cmocka_unit_test(without_a_secret_only_the_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
