/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A fingerprint has one text, and only that text is one. */
#include <stdlib.h>
#include <string.h>
#include "lib/unit.h"

#include "base/fingerprint.h"

/* As openssl dgst -sha256 -binary | base64 says of nothing, and of "abc". */
static const struct {
	uint8_t sha256[32];
	const char *text;
} known[] = {
	{ { 0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24,
	    0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55 },
	  "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU" },
	{ { 0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
	    0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad },
	  "SHA256:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0" },
};

static void text_and_back(void **state)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct nfs4r_key_fingerprint f, g;
		char text[NFS4R_FINGERPRINT_TEXT];

		memcpy(f.sha256, known[i].sha256, sizeof(f.sha256));
		assert_string_equal(nfs4r_fingerprint_text(&f, text), known[i].text);
		assert_true(nfs4r_fingerprint_parse(text, &g));
		assert_memory_equal(&f, &g, sizeof(f));
	}
}

static void what_is_no_fingerprint(void **state)
{
	static const char *const texts[] = {
		"",
		"SHA256:",
		"47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU",
		"sha256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU",
		"MD5:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU",
		"SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuF",
		"SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
		"SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFUA",
		"SHA256:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU",
		"SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFV", /* bits behind the last byte */
		" SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct nfs4r_key_fingerprint f = { { 7 } };

		if (nfs4r_fingerprint_parse(texts[i], &f))
			fail_msg("\"%s\" is taken for a fingerprint", texts[i]);
		assert_int_equal(f.sha256[0], 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_and_back),
		cmocka_unit_test(what_is_no_fingerprint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
