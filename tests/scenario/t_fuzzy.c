/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Bytes that were read back and are newer than their entry (log 3.6): who gets them counts for nothing until the newer entry has come (log 3.9), and makes
 * the file exact again when that will never come (log 7.5). S writes a file twice; its first entry goes out late, with bytes of the second, which goes nowhere.
 */
#include <stdio.h>
#include <string.h>

#include "scenario/ends.h"

#include "lib/unit.h"

#define TREE "d/ d/f d/g"

static enum nfs4r_exactness exactness(struct net *n, nfs4r_server_id s)
{
	struct nfs4r_oid f = at(n, "d/f");
	struct nfs4r_fuzzy_object left;

	return nfs4r_core_exactness(n->s[s].core, &f, &left);
}

static nfs4r_version version(struct net *n, nfs4r_server_id s)
{
	struct nfs4r_oid f = at(n, "d/f");
	struct nfs4r_facts facts;

	memtree_facts(n->s[s].tree, &f, &facts);
	return facts.version;
}

static nfs4r_lsn stable_at(struct net *n, nfs4r_server_id s)
{
	struct nfs4r_core_peer p;

	assert_true(nfs4r_core_get_peer(n->s[S].core, s, &p));
	return p.stable;
}

static void an_entry_is_not_stable_while_its_file_is_not_exact(void **state)
{
	struct net *n = net_new(3);
	nfs4r_lsn first = late_writes(n, TREE, NFS4R_BIT(Q), 2);

	net_stable(n, P);
	net_stable(n, Q);
	net_run(n, 50);
	assert_int_equal(exactness(n, P), NFS4R_EXACT);
	assert_int_equal(exactness(n, Q), NFS4R_EXACT_LATER);
	assert_int_equal(stable_at(n, P), first);
	assert_int_equal(stable_at(n, Q), first - 1);
	net_crash(n, Q);
	net_restart(n, Q, true); /* it is remembered */
	assert_int_equal(exactness(n, Q), NFS4R_EXACT_LATER);
	net_stable(n, Q);
	net_pass(n);
	assert_true(until_back(n));
	for (int i = 0; i < 100 && stable_at(n, Q) <= first; i++) {
		net_run(n, 10);
		net_stable(n, Q);
	}
	assert_int_equal(exactness(n, Q), NFS4R_EXACT);
	assert_true(stable_at(n, Q) > first);
	assert_int_equal(memtree_rows(n->s[Q].tree, 'X'), 0);
	net_free(n);
}

static void what_a_seal_makes_inexact_is_taken_from_who_has_it(void **state)
{
	struct net *n = net_new(3);
	nfs4r_lsn first = late_writes(n, TREE, NFS4R_BIT(Q), 2), seal;
	nfs4r_version was = version(n, P);

	net_crash(n, S);
	assert_true(until_sealed(n, Q, S, 8 * LEASE));
	assert_true(sealed_at(n, Q, S, &seal));
	assert_int_equal(seal, first);
	for (int i = 0; i < 1000 && !serves(n, Q); i++) {
		assert_int_not_equal(exactness(n, Q), NFS4R_EXACT); /* it serves nothing before */
		net_run(n, 10);
	}
	assert_true(serves(n, Q));
	assert_int_equal(n->s[Q].repairs, 1);
	assert_int_equal(exactness(n, Q), NFS4R_EXACT);
	assert_int_equal(version(n, P), was);
	net_pass(n);
	net_restart(n, S, true);
	ends_well(n);
}

/* S, which is back with the bytes of that version, and every client's cache has to be told: it is a new version. */
static void one_is_right_if_nobody_has_it(void **state)
{
	struct net *n = net_new(3);

	late_writes(n, TREE, NFS4R_BIT(P) | NFS4R_BIT(Q), 2);
	nfs4r_version was = version(n, P);
	net_crash(n, S);
	assert_true(until_sealed(n, Q, S, 8 * LEASE));
	for (int i = 0; i < 1000 && !(serves(n, P) && serves(n, Q)); i++)
		net_run(n, 10);
	assert_true(serves(n, P) && serves(n, Q));
	assert_true(version(n, P) > was);
	assert_true(NFS4R_GEN(version(n, P)) > NFS4R_GEN(was));
	assert_int_equal(version(n, Q), version(n, P));
	assert_int_equal(exactness(n, P), NFS4R_EXACT);
	assert_int_equal(exactness(n, Q), NFS4R_EXACT);
	net_pass(n);
	net_restart(n, S, true);
	ends_well(n);
}

/* Q had it exact for longer: what was promised is in its copy, if in any. */
static void the_best_copy_is_right(void **state)
{
	struct net *n = net_new(3);
	nfs4r_lsn first = late_writes(n, TREE, NFS4R_BIT(P), 3), own;
	struct nfs4r_fuzzy_object p, q;
	struct nfs4r_oid f = at(n, "d/f");

	n->late = NFS4R_BIT(P) | NFS4R_BIT(Q);
	net_pass(n);
	for (int i = 0; i < 1000 && !both_have(n, first + 1); i++)
		net_run(n, 1);
	net_drop(n, S, 0, NFS4R_MSG_ENTRIES);
	assert_int_equal(memtree_applied(n->s[P].tree, S), first + 1);
	assert_int_equal(memtree_applied(n->s[Q].tree, S), first + 1);
	assert_int_equal(nfs4r_core_exactness(n->s[P].core, &f, &p), NFS4R_EXACT_LATER);
	assert_int_equal(nfs4r_core_exactness(n->s[Q].core, &f, &q), NFS4R_EXACT_LATER);
	assert_true(q.exact > p.exact);
	own = nfs4r_core_own_end(n->s[P].core);
	net_crash(n, S);
	assert_true(until_sealed(n, Q, S, 8 * LEASE));
	for (int i = 0; i < 1000 && !(serves(n, P) && serves(n, Q)); i++)
		net_run(n, 10);
	assert_true(serves(n, P) && serves(n, Q));
	assert_int_equal(nfs4r_core_own_end(n->s[P].core), own); /* the new version is Q's */
	assert_int_equal(version(n, P), version(n, Q));
	net_pass(n);
	net_restart(n, S, true);
	ends_well(n);
}

/* P gives the file a new version. As long as Q does not get that entry, which may be given up, it does not take the file either. */
static void only_the_version_that_is_here_is_taken(void **state)
{
	struct net *n = net_new(3);
	nfs4r_version was;

	late_writes(n, TREE, NFS4R_BIT(P) | NFS4R_BIT(Q), 2);
	was = version(n, P);
	net_crash(n, S);
	net_hold(n, P, Q, NFS4R_MSG_ENTRIES);
	assert_true(until_sealed(n, Q, S, 8 * LEASE));
	for (int i = 0; i < 1000 && version(n, P) == was; i++)
		net_run(n, 1);
	assert_true(version(n, P) > was);
	assert_int_equal(exactness(n, P), NFS4R_EXACT);
	n->s[Q].repairs = 0;
	net_run(n, LEASE);
	assert_true(n->s[Q].repairs > 0); /* it asks */
	assert_int_equal(version(n, Q), was);
	assert_int_equal(exactness(n, Q), NFS4R_INEXACT);
	net_pass(n);
	for (int i = 0; i < 1000 && !serves(n, Q); i++)
		net_run(n, 10);
	assert_true(serves(n, Q));
	assert_int_equal(exactness(n, Q), NFS4R_EXACT);
	assert_int_equal(version(n, Q), version(n, P));
	net_restart(n, S, true);
	ends_well(n);
}

static bool sound_for(struct net *n, nfs4r_server_id s, nfs4r_server_id asker)
{
	struct nfs4r_oid f = at(n, "d/f");

	return nfs4r_core_is_sound_for(n->s[s].core, &f, asker);
}

/* It hears positions, and no entries. */
static void until_sound(struct net *n, nfs4r_server_id s, nfs4r_server_id asker)
{
	for (int i = 0; i < 100 && !sound_for(n, s, asker); i++)
		net_run(n, 10);
	assert_true(sound_for(n, s, asker));
	assert_int_equal(exactness(n, s), NFS4R_EXACT_LATER);
}

/* Log 4.6: bytes of an entry of one's own that one still has do no harm, and nobody can tell of others. */
static void who_crashed_takes_what_its_own_log_explains(void **state)
{
	struct net *n = net_new(3);

	late_writes(n, TREE, NFS4R_BIT(Q), 2);
	assert_int_equal(exactness(n, Q), NFS4R_EXACT_LATER);
	until_sound(n, Q, S);
	assert_false(sound_for(n, Q, P));
	assert_true(sound_for(n, P, S));
	net_crash(n, S);
	net_hold(n, S, Q, 0);
	net_hold(n, S, P, NFS4R_MSG_ENTRIES);
	net_restart(n, S, false);
	net_run(n, 20);
	assert_false(sound_for(n, Q, S)); /* it has not said what it still has */
	net_pass_from(n, S, Q, 0);
	net_hold(n, S, Q, NFS4R_MSG_ENTRIES);
	until_sound(n, Q, S);
	net_crash(n, S);
	assert_true(until_sealed(n, Q, S, 8 * LEASE));
	assert_int_equal(exactness(n, Q), NFS4R_INEXACT);
	assert_false(sound_for(n, Q, S)); /* what it waited for never was */
	assert_true(sound_for(n, P, S));
	net_pass(n);
	net_restart(n, S, true);
	ends_well(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_is_not_stable_while_its_file_is_not_exact),
		cmocka_unit_test(what_a_seal_makes_inexact_is_taken_from_who_has_it),
		cmocka_unit_test(one_is_right_if_nobody_has_it),
		cmocka_unit_test(the_best_copy_is_right),
		cmocka_unit_test(only_the_version_that_is_here_is_taken),
		cmocka_unit_test(who_crashed_takes_what_its_own_log_explains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
