/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The volume's keys (log 6.17) as text: their names, values and ranges are those of base/config.def, where they have VOLUME in the column `same`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "base/config_keys.h"
#include "engine/runtime/runtime.h"

/* Member of struct nfs4r_volume_keys and number of each. */
#define MEMBER_Durability durability
#define MEMBER_Directory_Reads directory_reads
#define MEMBER_Max_Round_Trip round_trip_ms
#define MEMBER_Lease lease_ms
#define MEMBER_Failure_Timeout silence_ms
#define MEMBER_Clock_Drift drift_permille
#define NUMBER_Durability NFS4R_VOLUME_DURABILITY
#define NUMBER_Directory_Reads NFS4R_VOLUME_DIRECTORY_READS
#define NUMBER_Max_Round_Trip NFS4R_VOLUME_ROUND_TRIP
#define NUMBER_Lease NFS4R_VOLUME_LEASE
#define NUMBER_Failure_Timeout NFS4R_VOLUME_SILENCE
#define NUMBER_Clock_Drift NFS4R_VOLUME_DRIFT

struct word {
	const char *word;
	uint32_t value;
};

static const struct setting_key {
	const char *name, *unit;
	enum nfs4r_volume_key key;
	size_t member, file; /* places in struct nfs4r_volume_keys and struct nfs4r_config; a token's in the latter has the size of an enum */
	uint64_t min, max;
	const struct word *words; /* NULL: a number */
} keys[ENGINE_SETTINGS] = {
#define WORD(word, value) { word, value },
#define ROW_OWN(...)
#define ROW_SAME(...)
#define ROW_HELLO(...)
#define ROW_UNIQUE(...)
#define ROW_VOLUME(name, field, unit, min, max, words) { #name, unit, NUMBER_##name, offsetof(struct nfs4r_volume_keys, MEMBER_##name), offsetof(struct nfs4r_config, field), min, max, words },
#define KEY_NUMBER(block, name, field, home, there, def, min, max, zero, unit, same, text) ROW_##same(name, field, unit, min, max, NULL)
#define KEY_TOKEN(block, name, field, home, there, def, same, text) ROW_##same(name, field, "", 0, 0, ((const struct word[]){ NFS4R_TOKENS_##name(WORD){ NULL, 0 } }))
#include "base/config.def"
};

_Static_assert(sizeof(enum nfs4r_directory_reads) == sizeof(uint32_t), "settings are read from the configuration as numbers of 32 bits");

static uint32_t number_at(const void *base, size_t place)
{
	uint32_t v;

	memcpy(&v, (const char *)base + place, sizeof(v));
	return v;
}

static void value_text(const struct setting_key *k, uint32_t v, char out[ENGINE_SETTING_TEXT])
{
	for (const struct word *w = k->words; w && w->word; w++)
		if (w->value == v) {
			snprintf(out, ENGINE_SETTING_TEXT, "%s", w->word);
			return;
		}
	snprintf(out, ENGINE_SETTING_TEXT, "%u", v);
}

void engine_settings(const struct nfs4r_config *file, const struct nfs4r_volume_keys *has, struct engine_setting out[ENGINE_SETTINGS])
{
	for (uint32_t i = 0; i < ENGINE_SETTINGS; i++) {
		uint32_t here = number_at(file, keys[i].file), there = has->durability ? number_at(has, keys[i].member) : here;

		out[i] = (struct engine_setting){ .name = keys[i].name, .unit = keys[i].unit, .key = keys[i].key, .differs = here != there };
		value_text(&keys[i], there, out[i].value);
		value_text(&keys[i], here, out[i].file);
	}
}

static bool parse(const struct setting_key *k, const char *text, uint32_t *value)
{
	uint64_t v = 0;

	for (const struct word *w = k->words; w && w->word; w++)
		if (strcasecmp(w->word, text) == 0) {
			*value = w->value;
			return true;
		}
	if (k->words || !*text || strlen(text) > 9)
		return false;
	for (const char *c = text; *c; c++) {
		if (*c < '0' || *c > '9')
			return false;
		v = 10 * v + (uint64_t)(*c - '0');
	}
	*value = (uint32_t)v;
	return v >= k->min && v <= k->max;
}

static void list(const struct setting_key *k, char *out, size_t len)
{
	size_t n = 0;

	if (!k->words)
		snprintf(out, len, "%" PRIu64 " to %" PRIu64 " %s", k->min, k->max, k->unit);
	for (const struct word *w = k->words; w && w->word && n < len; w++)
		n += (size_t)snprintf(out + n, len - n, "%s%s", n ? ", " : "", w->word);
}

enum nfs4r_status engine_setting_parse(const char *name, const char *text, enum nfs4r_volume_key *key, uint32_t *value, char *why, size_t why_len)
{
	char may[160];
	size_t n = 0;

	for (uint32_t i = 0; i < ENGINE_SETTINGS; i++) {
		if (strcasecmp(keys[i].name, name))
			continue;
		*key = keys[i].key;
		if (parse(&keys[i], text, value))
			return NFS4R_OK;
		list(&keys[i], may, sizeof(may));
		snprintf(why, why_len, "%s cannot be that; give %s", keys[i].name, may);
		return NFS4R_INVAL;
	}
	for (uint32_t i = 0; i < ENGINE_SETTINGS; i++)
		n += (size_t)snprintf(may + n, sizeof(may) - n, "%s%s", i ? ", " : "", keys[i].name);
	snprintf(why, why_len, "the volume has no such setting: it has %s. All other keys are each server's own: change its configuration file, and restart it", may);
	return NFS4R_INVAL;
}
