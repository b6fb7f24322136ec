/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Common to the fuzz targets: an input read from its front, and what a target offers. tests/fuzz/README.md says what each one is fed with.
 *
 * A target is one file with fuzz_one(). clang's libFuzzer calls it in the fuzz build; in the asan build replay.c calls it with each file of the kept corpus.
 */
#ifndef NFS4R_TESTS_FUZZ_H
#define NFS4R_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* A finding that no sanitizer sees. */
#define FUZZ_CHECK(cond)                                                                     \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                             \
		}                                                                            \
	} while (0)

struct fuzz_in {
	const uint8_t *p;
	size_t left;
};

/* 0 when nothing is left. */
static inline uint8_t fuzz_u8(struct fuzz_in *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->p++;
}

static inline uint16_t fuzz_u16(struct fuzz_in *in)
{
	uint8_t high = fuzz_u8(in);

	return (uint16_t)(high << 8 | fuzz_u8(in));
}

/* The next @n bytes, or what is left of them, in a block of exactly that size: a byte read too far shows. Heap. */
static inline uint8_t *fuzz_bytes(struct fuzz_in *in, size_t n, size_t *got)
{
	uint8_t *block;

	*got = n < in->left ? n : in->left;
	block = malloc(*got);
	FUZZ_CHECK(block || !*got);
	if (*got) {
		memcpy(block, in->p, *got);
		in->p += *got;
	}
	in->left -= *got;
	return block;
}

#endif
