/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See text.h. One character of UTF-8 (RFC 3629) at a time; what does not begin one is a byte of its own. */
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ESCAPED 4 /* bytes of \ooo */

/* Bytes of the character that begins at @s, which goes to @point; 0: none does. */
static size_t character(const uint8_t *s, uint32_t *point)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 :
		s[0] >= 0xe0 && s[0] < 0xf0			 ? 3 :
		s[0] >= 0xf0 && s[0] < 0xf5			 ? 4 :
								   0;

	if (n <= 1) {
		*point = s[0];
		return n;
	}
	*point = s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*point = *point << 6 | (s[i] & 0x3f);
	}
	/* Longer than need be, a surrogate, or beyond the last one. */
	if ((n == 3 && *point < 0x800) || (n == 4 && *point < 0x10000) || (*point >= 0xd800 && *point < 0xe000) || *point > 0x10ffff)
		return 0;
	return n;
}

static bool is_harmless(uint32_t point)
{
	if (point < 0x20 || (point >= 0x7f && point < 0xa0))
		return false;
	return point != 0x061c && !(point >= 0x2028 && point <= 0x202e) && !(point >= 0x2066 && point <= 0x2069);
}

static char *escape(char *out, size_t size, const char *in, bool backslash)
{
	const uint8_t *s = (const uint8_t *)in;
	size_t at = 0;

	while (*s) {
		uint32_t point;
		size_t n = character(s, &point);
		bool plain = n > 0 && is_harmless(point) && !(backslash && *s == '\\');
		size_t len = n > 0 ? n : 1, need = plain ? len : len * ESCAPED;

		if (need >= size - at)
			break;
		if (plain)
			memcpy(out + at, s, len);
		else
			for (size_t i = 0; i < len; i++)
				snprintf(out + at + i * ESCAPED, ESCAPED + 1, "\\%03o", s[i]);
		at += need;
		s += len;
	}
	out[at] = '\0';
	return out;
}

char *nfs4r_text_line(char *out, size_t size, const char *in)
{
	return escape(out, size, in, false);
}

char *nfs4r_text_name(char *out, size_t size, const char *in)
{
	return escape(out, size, in, true);
}

static char *escape_new(const char *in, bool backslash)
{
	size_t size = NFS4R_TEXT_TIMES * strlen(in) + 1;
	char *out = malloc(size);

	return out ? escape(out, size, in, backslash) : NULL;
}

char *nfs4r_text_name_new(const char *in)
{
	return escape_new(in, true);
}

char *nfs4r_text_line_new(const char *in)
{
	return escape_new(in, false);
}
