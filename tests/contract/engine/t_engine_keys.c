/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Keys by which the servers know each other (log 6.18), with real engines, asked for as nfs4rctl asks. Fingerprints are made up: nothing here proves anything by
 * them. What counts is which ones each server goes by, and tells its transport.
 */
#include "lib/unit.h"
#include <stdio.h>
#include <string.h>

#include "engine/admin/admin_int.h"
#include "steps.h"

#define LEASE_MS 600
#define SET3 (NFS4R_BIT(1) | NFS4R_BIT(2) | NFS4R_BIT(3))

static int setup(void **state)
{
	struct cluster *c = cluster_new();

	c->lease_ms = c->silence_ms = LEASE_MS;
	c->durability = NFS4R_DURABILITY_COMMIT;
	c->written_key[2] = 2;
	cluster_begin(c, state);
	wait_all_serve(c);
	return 0;
}

/* ---- steps ---- */

static const char *key_text(uint8_t first, char text[NFS4R_FINGERPRINT_TEXT])
{
	struct nfs4r_key_fingerprint f = { { first } };

	return nfs4r_fingerprint_text(&f, text);
}

/* Server @id is known by these; @second 0: by the first alone. */
static json_t *set_keys(struct cluster *c, int at, int id, uint8_t first, uint8_t second, bool abandon)
{
	char a[NFS4R_FINGERPRINT_TEXT], b[NFS4R_FINGERPRINT_TEXT];
	json_t *keys = json_pack("[s]", key_text(first, a)), *req, *answer;

	if (second)
		json_array_append_new(keys, json_string(key_text(second, b)));
	req = json_pack("{s:i, s:o, s:b}", "server", id, "keys", keys, "abandon", abandon);
	answer = admin_set_keys(c->site[at].eng, req);
	json_decref(req);
	return answer;
}

static void granted(json_t *a)
{
	const char *error = json_string_value(json_object_get(a, "error"));

	if (error)
		fail_msg("%s", error);
	json_decref(a);
}

static void refused(json_t *a, const char *text, bool wait)
{
	const char *error = json_string_value(json_object_get(a, "error"));

	if (!error || !strstr(error, text))
		fail_msg("'%s' does not say '%s'", error ? error : "no error", text);
	assert_int_equal(json_is_true(json_object_get(a, "wait")), wait);
	json_decref(a);
}

/* By which it knows server @id, and tells its transport; as first bytes, 0 where there is none. */
static void keys_at(struct site *s, int id, uint8_t out[2], char from[8])
{
	json_t *a = admin_keys(s->eng), *row, *key;
	struct nfs4r_key_fingerprint f;
	size_t i, k;

	out[0] = out[1] = 0;
	snprintf(from, 8, "-");
	json_array_foreach(json_object_get(a, "servers"), i, row)
	{
		if (json_integer_value(json_object_get(row, "server")) != id)
			continue;
		json_array_foreach(json_object_get(row, "keys"), k, key)
		{
			assert_true(nfs4r_fingerprint_parse(json_string_value(key), &f));
			out[k] = f.sha256[0];
		}
		if (json_is_string(json_object_get(row, "keys_from")))
			snprintf(from, 8, "%s", json_string_value(json_object_get(row, "keys_from")));
	}
	json_decref(a);
}

static void wait_known(struct cluster *c, nfs4r_servers at, int id, uint8_t first, uint8_t second, const char *from)
{
	uint8_t got[2];
	char where[8];
	int s;

	for (int i = 0; i < 2000; i++) {
		for (s = 1; s <= SITES_MAX; s++) {
			if (!(at & NFS4R_BIT(s)))
				continue;
			keys_at(&c->site[s], id, got, where);
			if (got[0] != first || got[1] != second || strcmp(where, from) != 0)
				break;
		}
		if (s > SITES_MAX)
			return;
		pause_ms(10);
	}
	fail_msg("server %d knows server %d by %u and %u of the %s", s, id, got[0], got[1], where);
}

/* The old key may go as soon as all others have the new one on their disks. */
static void until_granted(struct cluster *c, int at, int id, uint8_t key)
{
	json_t *a = set_keys(c, at, id, key, 0, false);

	for (int i = 0; i < 2000 && json_is_true(json_object_get(a, "wait")); i++) {
		json_decref(a);
		pause_ms(10);
		a = set_keys(c, at, id, key, 0, false);
	}
	granted(a);
}

/* Server 1's key 11 alone is refused because of these servers; the others have said soon that it is on their disks. */
static void until_waits_for(struct cluster *c, const char *text)
{
	json_t *a = set_keys(c, 1, 1, 11, 0, false);

	for (int i = 0; i < 2000 && !strstr(json_string_value(json_object_get(a, "error")), text); i++) {
		assert_true(json_is_true(json_object_get(a, "wait")));
		json_decref(a);
		pause_ms(10);
		a = set_keys(c, 1, 1, 11, 0, false);
	}
	refused(a, text, true);
}

/* ---- tests ---- */

static void a_key_of_the_file_counts_until_the_view_has_one(void **state)
{
	struct cluster *c = *state;

	wait_known(c, SET3, 2, 2, 0, "file");
	wait_known(c, SET3, 3, 0, 0, "-");
	refused(set_keys(c, 2, 2, 22, 0, false), "known by the key of its Server block: that one has to stay", false);
	granted(set_keys(c, 1, 3, 3, 0, false));
	wait_known(c, SET3, 3, 3, 0, "view");
	wait_known(c, SET3, 2, 2, 0, "view"); /* the first view with keys has those of the file, too */
	granted(set_keys(c, 2, 2, 2, 22, false));
	wait_known(c, SET3, 2, 2, 22, "view");
	until_granted(c, 2, 2, 22);
	wait_known(c, SET3, 2, 22, 0, "view");
	for (int id = 1; id <= 3; id++)
		cluster_stop(c, id);
	for (int id = 1; id <= 3; id++)
		cluster_start(c, id);
	wait_all_serve(c);
	wait_known(c, SET3, 2, 22, 0, "view"); /* and the old one of the file counts for nothing */
}

static void the_old_key_stays_for_a_server_that_is_away(void **state)
{
	struct cluster *c = *state;

	granted(set_keys(c, 1, 1, 1, 0, false));
	wait_known(c, SET3, 1, 1, 0, "view");
	cluster_stop(c, 3);
	site_says(&c->site[1], "server 3 was removed from the active view", 20);
	granted(set_keys(c, 1, 1, 1, 11, false));
	wait_known(c, SET3 & ~NFS4R_BIT(3), 1, 1, 11, "view");
	until_waits_for(c, "the old key stays until these servers have the new one on their disks: 3");
	cluster_start(c, 3);
	until_granted(c, 1, 1, 11);
	wait_known(c, SET3, 1, 11, 0, "view");
	wait_all_serve(c);
}

static void what_is_no_key_is_refused(void **state)
{
	struct cluster *c = *state;
	json_t *req = json_pack("{s:i, s:[s]}", "server", 1, "keys", "SHA256:nine");

	refused(admin_set_keys(c->site[1].eng, req), "SHA256:nine is not a fingerprint", false);
	json_decref(req);
	req = json_pack("{s:i}", "server", 1);
	refused(admin_set_keys(c->site[1].eng, req), "a server has one key", false);
	json_decref(req);
	refused(set_keys(c, 1, 5, 1, 0, false), "it does not belong to this volume", false);
	refused(set_keys(c, 1, 99, 1, 0, false), "give the number of the server", false);
	granted(set_keys(c, 1, 1, 1, 1, false)); /* said twice it is one */
	wait_known(c, SET3, 1, 1, 0, "view");
	refused(set_keys(c, 1, 1, 5, 0, false), "one of its present keys has to stay", false);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, cluster_teardown)
	const struct CMUnitTest tests[] = {
		T(a_key_of_the_file_counts_until_the_view_has_one),
		T(the_old_key_stays_for_a_server_that_is_away),
		T(what_is_no_key_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
