/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Bytes that somebody else chose make no second line, no control character and no false name of a line for people. */
#include <stdlib.h>
#include <string.h>
#include "lib/unit.h"

#include "base/text.h"

static void names_become_one_harmless_line(void **state)
{
	static const char *const cases[][2] = {
		{ "", "" },
		{ "plain name", "plain name" },
		{ "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80", "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80" },
		{ "a\nundone\tb\r\x7f", "a\\012undone\\011b\\015\\177" },
		{ "\x1b[2J\x1b]0;title\x07", "\\033[2J\\033]0;title\\007" },
		{ "\xc2\x9b"
		  "31m",
		  "\\302\\23331m" }, /* CSI in one character */
		{ "doc\xe2\x80\xaegpj.exe", "doc\\342\\200\\256gpj.exe" }, /* shown as docexe.jpg */
		{ "\xe2\x81\xa6x\xd8\x9c", "\\342\\201\\246x\\330\\234" },
		{ "\xe2\x80\xa8", "\\342\\200\\250" }, /* line separator */
		{ "a\xff\xc3", "a\\377\\303" },
		{ "\xc0\x80", "\\300\\200" },
		{ "\xed\xa0\x80", "\\355\\240\\200" },
		{ "\xf4\x90\x80\x80", "\\364\\220\\200\\200" },
		{ "\xe0\x80\xaf", "\\340\\200\\257" },
		{ "back\\012slash", "back\\134012slash" },
	};
	char out[128];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *got = nfs4r_text_name_new(cases[i][0]);

		assert_string_equal(got, cases[i][1]);
		assert_string_equal(nfs4r_text_name(out, sizeof(out), cases[i][0]), cases[i][1]);
		free(got);
	}
}

static void a_line_keeps_what_was_escaped_before(void **state)
{
	char *once = nfs4r_text_line_new("a\n\\012\xff"), *twice = nfs4r_text_line_new(once);

	assert_string_equal(once, "a\\012\\012\\377");
	assert_string_equal(twice, once);
	free(once);
	free(twice);
}

/* Whatever the size: terminated, and no character or escape in two. */
static void what_does_not_fit_is_cut_between_characters(void **state)
{
	static const char in[] = "a\xc3\xbc\nb";
	static const char *const cut[] = { "", "a", "a", "a\xc3\xbc", "a\xc3\xbc", "a\xc3\xbc", "a\xc3\xbc", "a\xc3\xbc\\012", ("a\xc3\xbc\\012"
																"b") };
	char out[16];

	for (size_t size = 1; size <= sizeof(cut) / sizeof(cut[0]); size++) {
		memset(out, 'x', sizeof(out));
		assert_string_equal(nfs4r_text_name(out, size, in), cut[size - 1]);
		assert_int_equal(out[size], 'x');
	}
}

/* Every byte, alone and after the beginning of a longer character. */
static void every_byte_is_escaped_or_harmless(void **state)
{
	for (int first = 1; first < 256; first++) {
		for (int second = 1; second < 256; second++) {
			char in[3] = { (char)first, (char)second }, out[3 * NFS4R_TEXT_TIMES];

			nfs4r_text_name(out, sizeof(out), in);
			for (const uint8_t *p = (const uint8_t *)out; *p; p++)
				assert_true(*p >= 0x20 && *p != 0x7f && (*p < 0x80 || (*p == (uint8_t)first && p[1] == second && second >= 0x80) || *p == second));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_become_one_harmless_line),
		cmocka_unit_test(a_line_keeps_what_was_escaped_before),
		cmocka_unit_test(what_does_not_fit_is_cut_between_characters),
		cmocka_unit_test(every_byte_is_escaped_or_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
