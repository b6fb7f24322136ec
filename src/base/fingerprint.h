/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The fingerprint of a server's key: SHA-256 of the DER SubjectPublicKeyInfo of its certificate. Written as ssh-keygen prints one: "SHA256:" and 43 letters of
 * base64 without padding. All functions are pure; any thread.
 */
#ifndef NFS4R_BASE_FINGERPRINT_H
#define NFS4R_BASE_FINGERPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NFS4R_KEYS_MAX 2 /* of one server: the one that it uses, and the next or the last one */
#define NFS4R_FINGERPRINT_TEXT 51 /* bytes of the text, its NUL included */

struct nfs4r_key_fingerprint {
	uint8_t sha256[32];
};

/* Returns @out. */
char *nfs4r_fingerprint_text(const struct nfs4r_key_fingerprint *f, char out[NFS4R_FINGERPRINT_TEXT]);
/* false: @text is no fingerprint, and @out is unchanged. */
bool nfs4r_fingerprint_parse(const char *text, struct nfs4r_key_fingerprint *out);

#endif
