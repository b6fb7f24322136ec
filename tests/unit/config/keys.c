/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The table of keys (src/base/config.def) as text. `keys page`: the reference of docs/man/nfs4r.conf.5, source of man(7). `keys list`: a line for each key, with its block,
 * its name and its default ("-": none). `keys renamed`: what keys were called before, and what they are called now.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/config_keys.h"
#include "core/core.h"
#include "engine/engine.h"

enum kind {
	NUMBER,
	BOOL,
	TOKEN,
	LIST,
	TEXT
};

struct word {
	const char *word;
	uint32_t value;
};

struct key {
	enum kind kind;
	const char *block, *name, *def, *same, *text, *zero, *unit;
	uint64_t number, min, max;
	uint32_t trips; /* NUMBER: that many times Max_Round_Trip; 0: it has a default of its own */
	const char *text_default; /* TEXT */
	struct word words[5];
};

#define WORD(word, value) { word, value },
static const struct key keys[] = {
#define KEY_NUMBER(block, name, field, home, there, def, min, max, zero, unit, same, text) \
	{ NUMBER, #block, #name, #def, #same, text, zero, unit, def, min, max, 0, NULL, { { NULL, 0 } } },
#define KEY_TRIPS(block, name, field, home, there, times, min, max, zero, unit, same, text) \
	{ NUMBER, #block, #name, "", #same, text, zero, unit, (times)*NFS4R_DEFAULT_Max_Round_Trip, min, max, times, NULL, { { NULL, 0 } } },
#define KEY_BOOL(block, name, field, home, there, def, same, text) { BOOL, #block, #name, #def, #same, text, NULL, "", def, 0, 0, 0, NULL, { { NULL, 0 } } },
#define KEY_TOKEN(block, name, field, home, there, def, same, text) \
	{ TOKEN, #block, #name, #def, #same, text, NULL, "", def, 0, 0, 0, NULL, { NFS4R_TOKENS_##name(WORD) } },
#define KEY_LIST(block, name, field, home, there, def, same, text) { LIST, #block, #name, "", #same, text, NULL, "", def, 0, 0, 0, NULL, { NFS4R_TOKENS_##name(WORD) } },
#define KEY_TEXT(block, name, field, home, there, def, min, max, same, text) { TEXT, #block, #name, #def, #same, text, NULL, "bytes", 0, min, max, 0, def, { { NULL, 0 } } },
#define KEY_UUID(block, name, field, same, text) { TEXT, #block, #name, "NFS4R_REQUIRED", #same, text, NULL, "bytes", 0, 36, 36, 0, NULL, { { NULL, 0 } } },
#define KEY_SERVER_U32(name, member, def, min, max, text) { NUMBER, "SERVER", #name, #def, "SERVER", text, NULL, "", def, min, max, 0, NULL, { { NULL, 0 } } },
#define KEY_SERVER_TEXT(name, member, min, max, text) { TEXT, "SERVER", #name, "NFS4R_REQUIRED", "SERVER", text, NULL, "bytes", 0, min, max, 0, NULL, { { NULL, 0 } } },
#define KEY_SERVER_OPTIONAL(name, member, min, max, text) { TEXT, "SERVER", #name, "NULL", "SERVER", text, NULL, "bytes", 0, min, max, 0, NULL, { { NULL, 0 } } },
#include "base/config.def"
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

static bool is_required(const struct key *k)
{
	return strcmp(k->def, "NFS4R_REQUIRED") == 0;
}

/* The default as an administrator would write it, or "". */
static void default_text(const struct key *k, char *out, size_t size)
{
	out[0] = '\0';
	if (is_required(k))
		return;
	if (k->kind == NUMBER)
		snprintf(out, size, "%" PRIu64, k->number);
	else if (k->kind == BOOL)
		snprintf(out, size, "%s", k->number ? "true" : "false");
	else if (k->kind == TEXT)
		snprintf(out, size, "%s", k->text_default ? k->text_default : "");
	for (const struct word *w = k->words; k->kind == TOKEN && w->word; w++)
		if (w->value == k->number)
			snprintf(out, size, "%s", w->word);
}

/* man(7): a sentence is a line. */
static void sentences(const char *text)
{
	for (const char *c = text; *c; c++) {
		if (c == text && (*c == '.' || *c == '\''))
			printf("\\&");
		if (*c == '\\')
			printf("\\e");
		else if (*c == '-')
			printf("\\-");
		else if (*c == ' ' && c > text && c[-1] == '.')
			putchar('\n');
		else
			putchar(*c);
	}
	putchar('\n');
}

static void values(const struct key *k)
{
	if (k->kind == BOOL)
		printf("true or false");
	for (const struct word *w = k->words; k->kind == TOKEN && w->word; w++)
		printf("%s%s", w == k->words ? "" : w[1].word ? ", " :
								" or ",
		       w->word);
	for (const struct word *w = k->words; k->kind == LIST && w->word; w++)
		printf("%s%s", w == k->words ? "some of " : w[1].word ? ", " :
									" and ",
		       w->word);
	if (k->kind == NUMBER) {
		printf("%" PRIu64 " to %" PRIu64, k->min, k->max);
		if (k->unit[0])
			printf(" %s", k->unit);
		if (k->zero)
			printf("%s 0: %s", k->min ? ", or" : ";", k->zero);
	}
	if (k->kind == TEXT && k->min == k->max)
		printf("%" PRIu64 " bytes", k->max);
	else if (k->kind == TEXT)
		printf("%" PRIu64 " to %" PRIu64 " bytes", k->min, k->max);
	printf(".\n");
}

static void default_line(const struct key *k)
{
	char def[64];

	default_text(k, def, sizeof(def));
	if (is_required(k))
		printf("Required.\n");
	else if (k->trips)
		printf("Default: %u times Max_Round_Trip (%s).\n", k->trips, def);
	else if (def[0])
		printf("Default: %s.\n", def);
	if (strcmp(k->same, "SAME") == 0 || strcmp(k->same, "HELLO") == 0)
		printf("The same on every server.\n");
	if (strcmp(k->same, "VOLUME") == 0)
		printf("It belongs to the volume: the file counts at the first start only, and\n.B nfs4rctl set\nchanges it for all servers.\n");
	if (strcmp(k->same, "UNIQUE") == 0)
		printf("Different on every server.\n");
}

static void section(const char *block, const char *title)
{
	printf(".SH %s\n", title);
	for (const struct key *k = keys; k < keys + KEYS; k++) {
		if (strcmp(k->block, block) != 0)
			continue;
		printf(".TP\n.B %s\n", k->name);
		sentences(k->text);
		printf(".br\n");
		values(k);
		default_line(k);
	}
}

static void list(void)
{
	char def[64];

	for (const struct key *k = keys; k < keys + KEYS; k++) {
		default_text(k, def, sizeof(def));
		printf("%s %s %s\n", k->block, k->name, def[0] ? def : "-");
	}
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";

	if (strcmp(what, "page") == 0) {
		section("PUBLIC", "KEYS OF REPL");
		section("SERVER", "KEYS OF SERVER");
		section("TUNING", "KEYS OF TUNING");
		printf(".SH RENAMED KEYS\nThe daemon refuses these names of earlier versions, and says what to write:\n");
#define KEY_RENAMED(old, name) printf(".PP\n.B " #old "\nis\n.B " #name "\nof Tuning.\n");
#include "base/config.def"
		return 0;
	}
	if (strcmp(what, "list") == 0) {
		list();
		return 0;
	}
	if (strcmp(what, "renamed") == 0) {
#define KEY_RENAMED(old, name) printf(#old " " #name "\n");
#include "base/config.def"
		return 0;
	}
	fprintf(stderr, "usage: keys page|list|renamed\n");
	return 2;
}
