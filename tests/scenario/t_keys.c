/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Keys of servers in the view (log 6.18): one is added and another one goes, while a server is away, starts anew or dies in between. */
#include <stdio.h>
#include <string.h>

#include "scenario/ends.h"

#include "lib/unit.h"

#define TREE "d/ d/f d/g"
#define SET3 (NFS4R_BIT(1) | NFS4R_BIT(2) | NFS4R_BIT(3))

static struct net *begin(void)
{
	return ends_net(3, TREE, NFS4R_DURABILITY_COMMIT);
}

/* P is known by exactly these at all that are up; @second 0: by one. */
static bool known_by(struct net *n, nfs4r_servers at, uint8_t first, uint8_t second)
{
	for (nfs4r_server_id s = 1; s <= n->n; s++) {
		const struct nfs4r_view *v;

		if (!(at & NFS4R_BIT(s)))
			continue;
		v = nfs4r_core_adopted(n->s[s].core);
		if (!v->nbook || v->addresses[P - 1].nkeys != 1 + (second != 0) || !net_knows_key(n, s, P, first) || (second && !net_knows_key(n, s, P, second)))
			return false;
	}
	return true;
}

static bool until_known_by(struct net *n, nfs4r_servers at, uint8_t first, uint8_t second)
{
	for (int i = 0; i < 1000 && !known_by(n, at, first, second); i++)
		net_run(n, 10);
	return known_by(n, at, first, second);
}

/* Until the core says something else than that others are missing. */
static enum nfs4r_status until_keys_set(struct net *n, nfs4r_server_id s, uint8_t first, uint8_t second)
{
	enum nfs4r_status st = NFS4R_DELAY;

	for (int i = 0; i < 1000 && st == NFS4R_DELAY; i++) {
		st = net_set_keys(n, s, P, first, second, false);
		net_run(n, 10);
	}
	return st;
}

static void a_key_changes(void **state)
{
	struct net *n = begin();
	struct nfs4r_core_view v;

	n->s[Q].servers_said = 0;
	assert_int_equal(net_set_keys(n, P, P, 1, 0, false), NFS4R_OK);
	assert_true(until_known_by(n, SET3, 1, 0));
	assert_true(n->s[Q].servers_said > 0); /* the transport hears of it */
	v = view_of(n, S);
	assert_int_equal(v.adopted.nbook, 3);
	assert_string_equal(v.adopted.addresses[2].address, "host3");
	assert_int_equal(v.adopted.addresses[2].nkeys, 0);
	assert_int_equal(net_set_keys(n, P, P, 1, 2, false), NFS4R_OK);
	assert_true(until_known_by(n, SET3, 1, 2));
	assert_int_equal(until_keys_set(n, P, 2, 0), NFS4R_OK);
	assert_true(until_known_by(n, SET3, 2, 0));
	assert_true(are_all(n, SET3));
	assert_int_equal(finish(n, chmod_(n, Q, "d/f")), NFS4R_OK);
	ends_well(n);
}

/* Every machine stops after each step. What a server was known by is on its disk. */
static void keys_survive_a_restart_of_all(void **state)
{
	struct net *n = begin();

	assert_int_equal(net_set_keys(n, P, P, 1, 2, false), NFS4R_OK);
	assert_true(until_known_by(n, SET3, 1, 2));
	for (nfs4r_server_id s = 1; s <= 3; s++)
		net_crash(n, s);
	net_run(n, LEASE);
	for (nfs4r_server_id s = 1; s <= 3; s++)
		net_restart(n, s, true);
	assert_true(known_by(n, SET3, 1, 2));
	assert_true(until_all_are(n, SET3));
	assert_int_equal(until_keys_set(n, Q, 2, 0), NFS4R_OK); /* another member may be asked for it, too */
	assert_true(until_known_by(n, SET3, 2, 0));
	ends_well(n);
}

/* S is away: the new key is announced, the old one stays until S is back and has heard of the new one. */
static void the_old_key_waits_for_who_is_away(void **state)
{
	struct net *n = begin();

	assert_int_equal(net_set_keys(n, P, P, 1, 0, false), NFS4R_OK);
	assert_true(until_known_by(n, SET3, 1, 0));
	net_crash(n, S);
	assert_true(until_removed(n, P, S, 10 * LEASE));
	assert_int_equal(net_set_keys(n, P, P, 1, 2, false), NFS4R_OK);
	assert_true(until_known_by(n, NFS4R_BIT(P) | NFS4R_BIT(Q), 1, 2));
	net_run(n, 10 * LEASE);
	assert_int_equal(net_set_keys(n, P, P, 2, 0, false), NFS4R_DELAY);
	net_restart(n, S, true);
	assert_true(net_knows_key(n, S, P, 1));
	assert_int_equal(until_keys_set(n, P, 2, 0), NFS4R_OK);
	assert_true(until_known_by(n, SET3, 2, 0));
	ends_well(n);
}

/* Or until an administrator says that nobody waits for S. */
static void who_is_away_can_be_left_behind(void **state)
{
	struct net *n = begin();

	assert_int_equal(net_set_keys(n, P, P, 1, 2, false), NFS4R_OK);
	assert_true(until_known_by(n, SET3, 1, 2));
	net_crash(n, S);
	assert_true(until_removed(n, P, S, 10 * LEASE));
	net_run(n, 4 * LEASE);
	assert_int_equal(net_set_keys(n, P, P, 2, 0, false), NFS4R_DELAY);
	assert_int_equal(net_set_keys(n, P, P, 2, 0, true), NFS4R_OK);
	assert_true(until_known_by(n, NFS4R_BIT(P) | NFS4R_BIT(Q), 2, 0));
	net_restart(n, S, true);
	assert_true(until_known_by(n, SET3, 2, 0));
	ends_well(n);
}

/* Who was asked dies before anybody heard of it: nothing has changed, and another member is asked. */
static void who_was_asked_dies(void **state)
{
	struct net *n = begin();

	net_drop(n, Q, 0, NFS4R_MSG_PREPARE);
	assert_int_equal(net_set_keys(n, Q, P, 1, 0, false), NFS4R_OK);
	net_run(n, 50);
	net_crash(n, Q);
	net_pass(n);
	assert_true(until_removed(n, S, Q, 10 * LEASE));
	assert_false(net_knows_key(n, S, P, 1));
	assert_int_equal(net_set_keys(n, S, P, 1, 0, false), NFS4R_OK);
	net_restart(n, Q, true);
	assert_true(until_known_by(n, SET3, 1, 0));
	ends_well(n);
}

static void who_is_new_gets_the_keys_of_all(void **state)
{
	struct net *n = begin();
	nfs4r_server_id e = net_new_server(n);

	assert_int_equal(net_set_keys(n, P, P, 1, 0, false), NFS4R_OK);
	assert_true(until_known_by(n, SET3, 1, 0));
	assert_true(net_add(n, Q, e));
	assert_true(until_all_are(n, SET3 | NFS4R_BIT(e)));
	assert_true(known_by(n, SET3 | NFS4R_BIT(e), 1, 0));
	assert_true(net_take_out(n, P, e, false));
	assert_true(until_all_are(n, SET3));
	assert_true(known_by(n, SET3, 1, 0));
	net_free(n);
}

static void what_is_refused(void **state)
{
	struct net *n = begin();

	assert_int_equal(net_set_keys(n, P, 4, 1, 0, false), NFS4R_INVAL); /* no server */
	assert_int_equal(net_set_keys(n, P, P, 1, 2, false), NFS4R_OK);
	assert_int_equal(net_set_keys(n, P, Q, 1, 0, false), NFS4R_INVAL); /* one at a time */
	assert_true(until_known_by(n, SET3, 1, 2));
	assert_int_equal(net_set_keys(n, P, P, 3, 0, false), NFS4R_INVAL); /* none of the present ones stays */
	assert_int_equal(net_set_keys(n, P, P, 3, 4, true), NFS4R_INVAL);
	ends_well(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_changes),
		cmocka_unit_test(keys_survive_a_restart_of_all),
		cmocka_unit_test(the_old_key_waits_for_who_is_away),
		cmocka_unit_test(who_is_away_can_be_left_behind),
		cmocka_unit_test(who_was_asked_dies),
		cmocka_unit_test(who_is_new_gets_the_keys_of_all),
		cmocka_unit_test(what_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
