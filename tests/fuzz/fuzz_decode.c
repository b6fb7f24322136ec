/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Mutates the golden messages and entries and decodes the result. The sanitizers find what is
 * read or kept wrongly; besides, whatever decodes must encode to the very same bytes.
 *
 * Usage: fuzz_decode [iterations [seed]]. Same numbers, same run. On failure the bytes are
 * printed in hex.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/proto/vectors.h"
#include "xdr_map.h"

static const char *why; /* what the decoder said last */
#include "rpc/rpc.h"

#define FUZZ_MAX 4096

static uint64_t prng_state;

static uint32_t prng(uint32_t below)
{
	prng_state ^= prng_state << 13;
	prng_state ^= prng_state >> 7;
	prng_state ^= prng_state << 17;
	return (uint32_t)((prng_state * 0x2545f4914f6cdd1d) >> 33) % below;
}

static uint32_t interesting_word(void)
{
	static const uint32_t words[] = { 0, 1, 2, 3, 4, 5, 7, 8,
					  9, 10, 15, 16, 17, 64, 65, 255,
					  256, 512, 1024, 1025, 65536, 65537, 4194304, 0x7fffffff,
					  0x80000000, 0xfffffffc, 0xffffffff };

	return htonl(words[prng(sizeof(words) / sizeof(words[0]))]);
}

static void mutate(uint8_t *b, size_t *len, const struct nfs4r_buf *other)
{
	uint32_t word = interesting_word(), at = *len >= 4 ? prng((uint32_t)*len / 4) * 4 : 0, n;

	switch (prng(7)) {
	case 0:
		b[prng((uint32_t)*len)] ^= (uint8_t)(1u << prng(8));
		break;
	case 1:
		b[prng((uint32_t)*len)] = (uint8_t)prng(256);
		break;
	case 2:
	case 3:
		if (*len >= 4)
			memcpy(b + at, &word, 4);
		break;
	case 4: /* shorter */
		*len = 1 + prng((uint32_t)*len);
		if (prng(4))
			*len = (*len + 3) & ~(size_t)3;
		break;
	case 5: /* a word more or less in the middle */
		if (prng(2) && *len + 4 <= FUZZ_MAX) {
			memmove(b + at + 4, b + at, *len - at);
			*len += 4;
		} else if (*len > 8 && at + 4 <= *len) {
			memmove(b + at, b + at + 4, *len - at - 4);
			*len -= 4;
		}
		break;
	case 6: /* the end of another message */
		n = prng(other->len / 4) * 4;
		if (at + other->len - n <= FUZZ_MAX && other->len > n) {
			memcpy(b + at, other->data + n, other->len - n);
			*len = at + other->len - n;
		}
		break;
	}
}

static void broken(const char *what, const uint8_t *b, size_t len)
{
	printf("%s:\n", what);
	for (size_t i = 0; i < len; i++)
		printf("%02x", b[i]);
	printf("\n");
	exit(1);
}

static void check_same(struct nfs4r_buf *again, const uint8_t *b, size_t len)
{
	if (!again || again->len != len || memcmp(again->data, b, len) != 0)
		broken("decodes, but encodes to other bytes", b, len);
	nfs4r_buf_put(again);
}

/* 1 if it decoded. */
static int try_decode(const struct vector *v, const uint8_t *b, size_t len, struct nfs4r_msg *m)
{
	struct nfs4r_transport_msg_body t;
	struct nfs4r_entry *e;

	switch (v->kind) {
	case VECTOR_MSG:
		if (nfs4r_msg_decode(b, len, v->protocol, m, &why) != NFS4R_OK)
			return 0;
		check_same(nfs4r_msg_encode(m, v->protocol), b, len);
		nfs4r_msg_fini(m);
		return 1;
	case VECTOR_JOURNAL:
		if (nfs4r_entry_decode(b, len, false, &e, &why) != NFS4R_OK)
			return 0;
		check_same(nfs4r_entry_encode(e, false), b, len);
		nfs4r_entry_put(e);
		return 1;
	case VECTOR_TRANSPORT:
		if (nfs4r_transport_msg_decode(b, len, NFS4R_PROTOCOL_VERSION, &t) != NFS4R_OK)
			return 0;
		nfs4r_transport_msg_fini(&t);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 200000, good = 0;
	struct nfs4r_buf **seeds = calloc(vector_count, sizeof(*seeds));
	struct nfs4r_msg *m = malloc(sizeof(*m));

	prng_state = 0x9e3779b97f4a7c15u ^ (argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
	for (unsigned i = 0; i < vector_count; i++)
		seeds[i] = vector_encode(&vectors[i]);
	for (unsigned long i = 0; i < n; i++) {
		unsigned k = prng(vector_count);
		size_t len = seeds[k]->len;
		uint8_t work[FUZZ_MAX + 4], *exact;

		memcpy(work, seeds[k]->data, len);
		for (uint32_t times = 1 + prng(4); times > 0; times--)
			mutate(work, &len, seeds[prng(vector_count)]);
		/* A block of exactly this size, so that reading one byte too much shows. */
		exact = malloc(len);
		memcpy(exact, work, len);
		good += (unsigned long)try_decode(&vectors[k], exact, len, m);
		free(exact);
	}
	printf("%lu mutated messages, %lu of them decoded\n", n, good);
	for (unsigned i = 0; i < vector_count; i++)
		nfs4r_buf_put(seeds[i]);
	free(seeds);
	free(m);
	return 0;
}
