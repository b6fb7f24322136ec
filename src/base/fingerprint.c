/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Fingerprints as text. The last letter of 32 bytes in base64 carries four bits and two that are zero; a text with other bits there is refused, so that one
 * fingerprint has one text.
 */
#include <string.h>

#include "base/fingerprint.h"

#define PREFIX "SHA256:"
#define LETTERS 43

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *nfs4r_fingerprint_text(const struct nfs4r_key_fingerprint *f, char out[NFS4R_FINGERPRINT_TEXT])
{
	char *p = out + sizeof(PREFIX) - 1;
	uint32_t bits = 0;
	int n = 0;

	memcpy(out, PREFIX, sizeof(PREFIX) - 1);
	for (size_t i = 0; i < sizeof(f->sha256); i++) {
		bits = bits << 8 | f->sha256[i];
		for (n += 8; n >= 6; n -= 6)
			*p++ = alphabet[bits >> (n - 6) & 63];
	}
	*p++ = alphabet[bits << (6 - n) & 63];
	*p = '\0';
	return out;
}

bool nfs4r_fingerprint_parse(const char *text, struct nfs4r_key_fingerprint *out)
{
	struct nfs4r_key_fingerprint f;
	uint32_t bits = 0;
	size_t at = 0;
	int n = 0;

	if (strncmp(text, PREFIX, sizeof(PREFIX) - 1) != 0 || strlen(text) != sizeof(PREFIX) - 1 + LETTERS)
		return false;
	for (const char *p = text + sizeof(PREFIX) - 1; *p; p++) {
		const char *letter = strchr(alphabet, *p);

		if (!letter)
			return false;
		bits = bits << 6 | (uint32_t)(letter - alphabet);
		n += 6;
		if (n >= 8) {
			n -= 8;
			f.sha256[at++] = (uint8_t)(bits >> n);
		}
	}
	if (bits & ((1u << n) - 1))
		return false;
	*out = f;
	return true;
}
