/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a volume has of its own is changed while it works (log 6.17). */
#include <stdio.h>
#include <string.h>

#include "scenario/ends.h"

#include "lib/unit.h"

#define TREE "d/ d/f d/g e/ e/f"

static const struct nfs4r_volume_keys *keys(struct net *n, nfs4r_server_id s)
{
	return &nfs4r_core_adopted(n->s[s].core)->settings.keys;
}

static struct net *net_with(enum nfs4r_durability durability)
{
	struct net *n = net_new(3);

	n->secrets = true;
	ends_begin(n, TREE, durability);
	assert_true(until_back(n));
	for (nfs4r_server_id s = P; s <= S; s++)
		assert_int_equal(keys(n, s)->durability, durability);
	return n;
}

static void refused(struct net *n, nfs4r_server_id s, enum nfs4r_volume_key key, uint32_t value, const char *want)
{
	struct nfs4r_volume_settings to;
	char why[NFS4R_CORE_TEXT];

	assert_int_equal(nfs4r_core_may_set(n->s[s].core, key, value, &to, why, sizeof(why)), NFS4R_INVAL);
	if (!strstr(why, want))
		fail_msg("not '%s' in: %s", want, why);
}

/* At one number for all, and nobody loses its lease meanwhile. */
static void all_get_it_and_nobody_pauses(void **state)
{
	struct net *n = net_with(NFS4R_DURABILITY_LOCAL);
	uint64_t num = 0;

	assert_true(net_set(n, Q, NFS4R_VOLUME_SILENCE, 2 * SILENCE));
	for (uint32_t ms = 0; ms < 2 * LEASE; ms += 10) {
		net_run(n, 10);
		for (nfs4r_server_id s = P; s <= S; s++) {
			assert_true(serves(n, s));
			if (keys(n, s)->silence_ms != 2 * SILENCE)
				continue;
			num = num ? num : nfs4r_core_adopted(n->s[s].core)->num;
			assert_int_equal(nfs4r_core_adopted(n->s[s].core)->num, num);
		}
	}
	for (nfs4r_server_id s = P; s <= S; s++)
		assert_int_equal(keys(n, s)->silence_ms, 2 * SILENCE);
	assert_true(net_set(n, Q, NFS4R_VOLUME_SILENCE, 2 * SILENCE)); /* it has it: no view is made */
	net_run(n, LEASE);
	assert_int_equal(nfs4r_core_adopted(n->s[P].core)->num, num);
	ends_well(n);
}

/* Both times that are ten round trips stay that; one that is not stays as it is. */
static void times_follow_the_round_trip(void **state)
{
	struct net *n = net_new(3);

	n->secrets = true;
	n->cfg.round_trip_ms = LEASE / 10;
	ends_begin(n, TREE, NFS4R_DURABILITY_LOCAL);
	assert_true(until_back(n));
	assert_true(net_set(n, P, NFS4R_VOLUME_ROUND_TRIP, LEASE / 5));
	net_run(n, LEASE);
	assert_int_equal(keys(n, S)->round_trip_ms, LEASE / 5);
	assert_int_equal(keys(n, S)->lease_ms, 2 * LEASE);
	assert_int_equal(keys(n, S)->silence_ms, 2 * SILENCE);
	net_set(n, P, NFS4R_VOLUME_SILENCE, 3 * SILENCE);
	net_run(n, LEASE);
	net_set(n, P, NFS4R_VOLUME_ROUND_TRIP, LEASE / 10);
	net_run(n, LEASE);
	assert_int_equal(keys(n, S)->lease_ms, LEASE);
	assert_int_equal(keys(n, S)->silence_ms, 3 * SILENCE);
	ends_well(n);
}

static void files_do_not_count_any_more(void **state)
{
	struct net *n = net_with(NFS4R_DURABILITY_LOCAL);

	net_set(n, P, NFS4R_VOLUME_DURABILITY, NFS4R_DURABILITY_MAJORITY);
	net_run(n, LEASE);
	net_crash(n, S);
	net_run(n, LEASE / 2);
	net_restart(n, S, true);
	assert_int_equal(keys(n, S)->durability, NFS4R_DURABILITY_MAJORITY); /* its configuration says local */
	assert_true(until_back(n));
	ends_well(n);
}

/* As soon as all have settled, and not before. */
static void logs_end_when_all_have_settled(void **state)
{
	struct net *n = net_with(NFS4R_DURABILITY_LOCAL);

	net_crash(n, S);
	assert_true(until_removed(n, P, S, 10 * LEASE));
	assert_true(net_set(n, P, NFS4R_VOLUME_DURABILITY, NFS4R_DURABILITY_COMMIT));
	net_run(n, 10 * LEASE);
	assert_int_equal(keys(n, P)->durability, NFS4R_DURABILITY_COMMIT);
	assert_false(keys(n, P)->ends);
	net_restart(n, S, true);
	assert_true(until_back(n));
	net_run(n, 5 * LEASE);
	assert_true(keys(n, P)->ends && keys(n, S)->ends);
	net_set(n, Q, NFS4R_VOLUME_DURABILITY, NFS4R_DURABILITY_LOCAL);
	net_run(n, LEASE);
	assert_false(keys(n, P)->ends);
	ends_well(n);
}

static void what_does_not_go_is_refused(void **state)
{
	struct net *n = net_with(NFS4R_DURABILITY_LOCAL);

	refused(n, P, NFS4R_VOLUME_SILENCE, LEASE / 4, "at least half of Lease");
	refused(n, P, NFS4R_VOLUME_LEASE, 3 * SILENCE, "at least half of Lease");
	refused(n, P, NFS4R_VOLUME_DRIFT, 501, "out of range");
	assert_true(net_set(n, P, NFS4R_VOLUME_SILENCE, 2 * SILENCE));
	refused(n, P, NFS4R_VOLUME_DURABILITY, NFS4R_DURABILITY_COMMIT, "wait until that is done");
	net_run(n, LEASE);
	ends_well(n);
}

/* Two are changed at two servers at a time: both come. */
static void two_at_a_time(void **state)
{
	struct net *n = net_with(NFS4R_DURABILITY_LOCAL);

	net_set(n, P, NFS4R_VOLUME_SILENCE, 2 * SILENCE);
	net_set(n, S, NFS4R_VOLUME_DURABILITY, NFS4R_DURABILITY_COMMIT);
	net_run(n, 10 * LEASE);
	for (nfs4r_server_id s = P; s <= S; s++) {
		assert_int_equal(keys(n, s)->silence_ms, 2 * SILENCE);
		assert_int_equal(keys(n, s)->durability, NFS4R_DURABILITY_COMMIT);
	}
	ends_well(n);
}

/* Who was asked dies before anybody hears of it. */
static void who_was_asked_dies(void **state)
{
	struct net *n = net_with(NFS4R_DURABILITY_LOCAL);

	net_drop(n, P, 0, 0);
	net_set(n, P, NFS4R_VOLUME_DURABILITY, NFS4R_DURABILITY_COMMIT);
	net_run(n, 10);
	net_crash(n, P);
	net_pass(n);
	net_restart(n, P, true);
	assert_true(until_back(n));
	assert_int_equal(keys(n, Q)->durability, NFS4R_DURABILITY_LOCAL);
	ends_well(n);
}

/* A new server goes by what the volume has, whatever its own configuration says. */
static void a_new_server_gets_it(void **state)
{
	struct net *n = net_with(NFS4R_DURABILITY_LOCAL);
	nfs4r_server_id x;

	net_set(n, P, NFS4R_VOLUME_DURABILITY, NFS4R_DURABILITY_MAJORITY);
	net_run(n, LEASE);
	x = net_new_server(n);
	assert_true(net_add(n, P, x));
	assert_true(until_all_are(n, NFS4R_BIT(P) | NFS4R_BIT(Q) | NFS4R_BIT(S) | NFS4R_BIT(x)));
	assert_int_equal(keys(n, x)->durability, NFS4R_DURABILITY_MAJORITY);
	net_free(n);
	n = net_new(3);
	refused(n, P, NFS4R_VOLUME_DURABILITY, NFS4R_DURABILITY_COMMIT, "the view is fixed");
	net_free(n);
}

/* S's disk stands still when the silence becomes much shorter: five of the new ones are enough (log 4.18). */
static void a_disk_that_stands_still_goes_by_the_new_silence(void **state)
{
	struct net *n = net_with(NFS4R_DURABILITY_LOCAL);

	net_set(n, P, NFS4R_VOLUME_SILENCE, 20 * SILENCE);
	net_run(n, LEASE);
	n->s[S].hold_apply = true;
	chmod_(n, P, "d/f");
	net_run(n, SILENCE);
	assert_true(net_set(n, P, NFS4R_VOLUME_SILENCE, SILENCE));
	net_run(n, 3 * SILENCE);
	assert_true(view_of(n, P).adopted.members & NFS4R_BIT(S));
	assert_true(until_removed(n, P, S, 3 * SILENCE));
	assert_int_equal(view_of(n, P).peer[S].trouble, NFS4R_HUNG);
	n->s[S].hold_apply = false;
	net_let_apply(n, S);
	assert_true(until_back(n));
	ends_well(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_get_it_and_nobody_pauses),
		cmocka_unit_test(times_follow_the_round_trip),
		cmocka_unit_test(files_do_not_count_any_more),
		cmocka_unit_test(logs_end_when_all_have_settled),
		cmocka_unit_test(what_does_not_go_is_refused),
		cmocka_unit_test(two_at_a_time),
		cmocka_unit_test(who_was_asked_dies),
		cmocka_unit_test(a_new_server_gets_it),
		cmocka_unit_test(a_disk_that_stands_still_goes_by_the_new_silence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
