/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * SipHash-2-4 (J.-P. Aumasson, D. J. Bernstein: SipHash: a fast short-input PRF, INDOCRYPT 2012): a keyed hash of 64 bits, for what is short and must not be made up by
 * who does not have the key.
 */
#ifndef NFS4R_BASE_SIPHASH_H
#define NFS4R_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

#define NFS4R_SIPHASH_KEY 16 /* bytes */
#define NFS4R_SIPHASH 8 /* bytes */

/* @out: the hash of @len bytes at @in, little endian as in the paper. Pure. */
void nfs4r_siphash(uint8_t out[NFS4R_SIPHASH], const void *in, size_t len, const uint8_t key[NFS4R_SIPHASH_KEY]);

#endif
