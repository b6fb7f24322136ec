/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What to write in place of a key that REPL { } does not have: the name that an old key has now, the block of a key that stands in another one, or the key whose name
 * is nearest (the fewest letters added, taken away or changed). Pure; names are compared without regard to case, as Ganesha's parser does.
 */
#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include "engine/config.h"
#include "engine/engine_int.h"

#define NAME_MAX_LOOKED_AT 40

#define BLOCK_PUBLIC "REPL { }"
#define BLOCK_TUNING "Tuning { } in REPL { }"
#define BLOCK_SERVER "Server { } in REPL { }"

static const struct known {
	const char *name, *block;
} known[] = {
#define KEY_NUMBER(block, name, ...) { #name, BLOCK_##block },
#define KEY_BOOL(block, name, ...) { #name, BLOCK_##block },
#define KEY_TOKEN(block, name, ...) { #name, BLOCK_##block },
#define KEY_LIST(block, name, ...) { #name, BLOCK_##block },
#define KEY_TEXT(block, name, ...) { #name, BLOCK_##block },
#define KEY_UUID(block, name, ...) { #name, BLOCK_##block },
#define KEY_SERVER_U32(name, ...) { #name, BLOCK_SERVER },
#define KEY_SERVER_TEXT(name, ...) { #name, BLOCK_SERVER },
#define KEY_SERVER_OPTIONAL(name, ...) { #name, BLOCK_SERVER },
#include "base/config.def"
};

static const struct {
	const char *old, *name;
} renamed[] = {
#define KEY_RENAMED(old, name) { #old, #name },
#include "base/config.def"
};

static size_t least(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* How many letters have to be added, taken away or changed to make @b of @a. */
static size_t distance(const char *a, const char *b)
{
	size_t row[NAME_MAX_LOOKED_AT + 1], na = strlen(a), nb = strlen(b);

	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t above = row[j];
			bool equal = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);

			row[j] = least(above + 1, row[j - 1] + 1, diagonal + !equal);
			diagonal = above;
		}
	}
	return row[nb];
}

static const struct known *find(const char *name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcasecmp(known[i].name, name) == 0)
			return &known[i];
	return NULL;
}

/* NULL: no name is like it. */
static const struct known *nearest(const char *name)
{
	const struct known *best = NULL;
	size_t least_so_far = strlen(name) / 2 + 1;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t d = distance(name, known[i].name);

		if (d < least_so_far) {
			best = &known[i];
			least_so_far = d;
		}
	}
	return best;
}

void nfs4r_config_hint(const char *name, char *out, size_t out_len)
{
	const struct known *k = find(name);

	if (k) {
		snprintf(out, out_len, "%s belongs in %s: move it there", k->name, k->block);
		return;
	}
	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
		if (strcasecmp(renamed[i].old, name) == 0)
			k = find(renamed[i].name);
	if (k) {
		snprintf(out, out_len, "%s is called %s now: write that, in %s", name, k->name, k->block);
		return;
	}
	k = strlen(name) <= NAME_MAX_LOOKED_AT ? nearest(name) : NULL;
	if (k)
		snprintf(out, out_len, "there is no such key; the most similar is %s, in %s", k->name, k->block);
	else
		snprintf(out, out_len, "there is no such key, and no similar one");
}
