/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The table of keys and what is made from it, without a file (tests/unit/fsal/t_config_file.c reads some). */
#include "lib/unit.h"

#include <stdio.h>
#include <string.h>

#include "core/core.h"
#include "engine/config.h"

static void each_default_is_in_its_range(void **state)
{
	char why[NFS4R_WHY];

#define KEY_NUMBER(block, name, field, home, there, def, ...) \
	if (NFS4R_KEY_##name != NFS4R_KEY_Server_Id)          \
		assert_true(nfs4r_config_range(NFS4R_KEY_##name, def, why, sizeof(why)));
#include "base/config.def"
	assert_false(nfs4r_config_range(NFS4R_KEY_Server_Id, 0, why, sizeof(why)));
	assert_string_equal(why, "REPL: Server_Id = 0 is missing or out of range; write 1 to 15");
}

/* A round trip of 200 ms gives what the times were before they followed from it; who changes this changes every volume. */
static void times_follow_from_a_round_trip_of_200_ms(void **state)
{
	struct nfs4r_config cfg;

	nfs4r_config_init(&cfg);
	assert_int_equal(cfg.max_round_trip_ms, 200);
	assert_int_equal(cfg.lease_ms, 2000);
	assert_int_equal(cfg.silence_ms, 2000);
	assert_int_equal(cfg.repeat_ms, 400);
	assert_int_equal(cfg.drift_permille, 10);
}

static void the_range_of_a_round_trip_is_that_of_what_follows_from_it(void **state)
{
	static const uint32_t ends[] = { 20, 6000 };
	char why[NFS4R_WHY];

	for (size_t i = 0; i < 2; i++) {
		assert_true(nfs4r_config_range(NFS4R_KEY_Max_Round_Trip, ends[i], why, sizeof(why)));
#define KEY_TRIPS(block, name, field, home, there, times, ...) assert_true(nfs4r_config_range(NFS4R_KEY_##name, (times)*ends[i], why, sizeof(why)));
#include "base/config.def"
	}
}

/* The engine's, the core's and the transport's are one set. */
static void every_layer_has_the_same_defaults(void **state)
{
	struct nfs4r_core_config core = { 0 };
	struct nfs4r_rpc_config rpc;
	struct nfs4r_config cfg;
	int seen = 0;

	nfs4r_core_config_init(&core);
	nfs4r_rpc_config_init(&rpc);
	nfs4r_config_init(&cfg);
#define HOME_ENGINE(there, field)
#define HOME_CORE(there, field)                  \
	assert_int_equal(core.there, cfg.field); \
	seen++;
#define HOME_RPC(there, field)                  \
	assert_int_equal(rpc.there, cfg.field); \
	seen++;
#define KEY_NUMBER(block, name, field, home, there, ...) HOME_##home(there, field)
#define KEY_BOOL(block, name, field, home, there, ...) HOME_##home(there, field)
#define KEY_TOKEN(block, name, field, home, there, ...) HOME_##home(there, field)
#define KEY_LIST(block, name, field, home, there, ...) HOME_##home(there, field)
#define KEY_HIDDEN(field, home, there, def) HOME_##home(there, field)
#include "base/config.def"
	assert_true(seen > 20);
	assert_int_equal(rpc.buffer_bytes, cfg.window_bytes);
	assert_string_equal(rpc.congestion, "bbr");
	assert_string_equal(cfg.rpc.congestion, "bbr");
}

static void a_number_out_of_range_is_refused_with_its_range(void **state)
{
	char why[NFS4R_WHY];

	assert_false(nfs4r_config_range(NFS4R_KEY_Lease, 50, why, sizeof(why)));
	assert_string_equal(why, "REPL: Lease = 50 (of Tuning) is out of range; write 200 to 60000 milliseconds, or 0 (the set of servers is fixed)");
	assert_true(nfs4r_config_range(NFS4R_KEY_Lease, 0, why, sizeof(why)));
	assert_false(nfs4r_config_range(NFS4R_KEY_Failure_Timeout, 0, why, sizeof(why)));
	assert_false(nfs4r_config_range(NFS4R_KEY_Retention_Time, 60, why, sizeof(why)));
	assert_string_equal(why, "REPL: Retention_Time = 60 is out of range; write 3600 to 315360000 seconds, or 0 (any time)");
}

static void hint_is(const char *name, const char *want)
{
	char hint[256];

	nfs4r_config_hint(name, hint, sizeof(hint));
	assert_string_equal(hint, want);
}

static void an_old_key_is_told_its_new_name_and_block(void **state)
{
	hint_is("Silence", "Silence is called Failure_Timeout now: write that, in Tuning { } in REPL { }");
	hint_is("repeat", "repeat is called Retransmit_Interval now: write that, in Tuning { } in REPL { }");
	hint_is("Peer_Warm_Up", "Peer_Warm_Up is called Bandwidth_Probe now: write that, in Tuning { } in REPL { }");
}

static void a_key_in_the_wrong_block_is_told_the_right_one(void **state)
{
	hint_is("Lease", "Lease belongs in Tuning { } in REPL { }: move it there");
	hint_is("durability", "Durability belongs in REPL { }: move it there");
	hint_is("Address", "Address belongs in Server { } in REPL { }: move it there");
}

static void a_misspelt_key_is_told_the_nearest(void **state)
{
	char long_name[300];

	hint_is("Imports", "there is no such key; the most similar is Import, in REPL { }");
	hint_is("Max_RoundTrip", "there is no such key; the most similar is Max_Round_Trip, in REPL { }");
	hint_is("Adress", "there is no such key; the most similar is Address, in Server { } in REPL { }");
	hint_is("Revoke_Wiat", "there is no such key; the most similar is Revoke_Wait, in Tuning { } in REPL { }");
	hint_is("Zzyzx", "there is no such key, and no similar one");
	hint_is("", "there is no such key, and no similar one");
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	hint_is(long_name, "there is no such key, and no similar one");
}

/* Else the hint for an old key would lead to a key that is refused, or an old name would hide a key. */
static void renamed_keys_lead_to_keys(void **state)
{
	char hint[256];

#define KEY_RENAMED(old, name)                         \
	nfs4r_config_hint(#name, hint, sizeof(hint));  \
	assert_non_null(strstr(hint, " belongs in ")); \
	nfs4r_config_hint(#old, hint, sizeof(hint));   \
	assert_non_null(strstr(hint, " is called " #name " now"));
#include "base/config.def"
}

static bool compares(const struct nfs4r_rpc_config *rpc, const char *key)
{
	for (uint32_t i = 0; i < rpc->nkeys; i++)
		if (strcmp(rpc->keys[i].key, key) == 0)
			return !rpc->keys[i].differs && !rpc->keys[i].reported;
	return false;
}

/* What the manual page calls "the same on every server" is compared, and nothing else. */
static void what_has_to_be_equal_is_compared(void **state)
{
	struct nfs4r_config cfg;
	struct nfs4r_rpc_config rpc;
	uint32_t n = 0;

	nfs4r_config_init(&cfg);
	nfs4r_rpc_config_init(&rpc);
	snprintf(cfg.volume_name, sizeof(cfg.volume_name), "data");
	nfs4r_config_compare(&cfg, &rpc);
#define CHECK_OWN(name)
#define CHECK_HELLO(name)
#define CHECK_UNIQUE(name)
#define CHECK_VOLUME(name)
#define CHECK_SAME(name)                   \
	assert_true(compares(&rpc, name)); \
	n++;
#define KEY_NUMBER(block, name, field, home, there, def, min, max, zero, unit, same, text) CHECK_##same(#name)
#define KEY_BOOL(block, name, field, home, there, def, same, text) CHECK_##same(#name)
#define KEY_TOKEN(block, name, field, home, there, def, same, text) CHECK_##same(#name)
#define KEY_TEXT(block, name, field, home, there, def, min, max, same, text) CHECK_##same(#name)
#include "base/config.def"
	assert_int_equal(rpc.nkeys, n);
	assert_true(n >= 1);
	assert_string_equal(rpc.keys[0].value, "data");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_default_is_in_its_range),
		cmocka_unit_test(times_follow_from_a_round_trip_of_200_ms),
		cmocka_unit_test(the_range_of_a_round_trip_is_that_of_what_follows_from_it),
		cmocka_unit_test(every_layer_has_the_same_defaults),
		cmocka_unit_test(a_number_out_of_range_is_refused_with_its_range),
		cmocka_unit_test(an_old_key_is_told_its_new_name_and_block),
		cmocka_unit_test(a_key_in_the_wrong_block_is_told_the_right_one),
		cmocka_unit_test(a_misspelt_key_is_told_the_nearest),
		cmocka_unit_test(renamed_keys_lead_to_keys),
		cmocka_unit_test(what_has_to_be_equal_is_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
