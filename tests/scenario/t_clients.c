/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The lists of clients (locks 7): what a server says of its own is known everywhere, is answered when a majority holds it, outlives starts and ends of logs, and comes with a copy.
 */
#include <stdio.h>

#include "scenario/ends.h"
#include "scenario/locks_on.h"

#include "lib/unit.h"

static struct nfs4r_client client(uint64_t number)
{
	struct nfs4r_client k;

	memset(&k, 0, sizeof(k));
	k.id[0] = number;
	k.minor = 2;
	snprintf(k.name, sizeof(k.name), "client %u", (unsigned)number);
	snprintf(k.address, sizeof(k.address), "192.0.2.%u", (unsigned)(number % 256));
	return k;
}

static void say(struct net *n, nfs4r_server_id s, uint64_t number, bool begins)
{
	struct nfs4r_client k = client(number);

	net_client(n, s, number, &k, begins);
}

static bool knows(struct net *n, nfs4r_server_id at, nfs4r_server_id server, uint64_t number)
{
	return nfs4r_core_has_client(n->s[at].core, server, client(number).id);
}

static bool all_know(struct net *n, nfs4r_server_id server, uint64_t number)
{
	return knows(n, P, server, number) && knows(n, Q, server, number) && knows(n, S, server, number);
}

static bool nobody_knows(struct net *n, nfs4r_server_id server, uint64_t number)
{
	return !knows(n, P, server, number) && !knows(n, Q, server, number) && !knows(n, S, server, number);
}

static bool answered(struct net *n, nfs4r_server_id s, uint64_t number, enum nfs4r_status st)
{
	return n->s[s].client_said == number && n->s[s].client_status == st;
}

static struct net *begin(enum nfs4r_durability durability)
{
	struct net *n = net_new(3);

	locks_on(n);
	ends_begin(n, "d/ d/f", durability);
	net_run(n, 2 * LEASE);
	return n;
}

static void test_known_at_all_servers(void **state)
{
	struct net *n = begin(NFS4R_DURABILITY_LOCAL);

	say(n, P, 1, true);
	net_run(n, LEASE);
	assert_true(answered(n, P, 1, NFS4R_OK));
	assert_true(all_know(n, P, 1));
	assert_false(knows(n, P, Q, 1)); /* it is P's */
	say(n, Q, 1, true);
	net_run(n, LEASE);
	assert_true(all_know(n, P, 1) && all_know(n, Q, 1));
	say(n, P, 1, false);
	net_run(n, LEASE);
	assert_true(answered(n, P, 1, NFS4R_OK));
	assert_true(nobody_knows(n, P, 1) && all_know(n, Q, 1));
	ends_well(n);
}

static void let_checkpoint(struct net *n, bool yes)
{
	n->s[Q].no_checkpoint = n->s[S].no_checkpoint = !yes;
}

/* All have the entry, and only P has it on its disk. */
static void test_answered_when_a_majority_holds_it(void **state)
{
	struct net *n = begin(NFS4R_DURABILITY_LOCAL);

	for (int begins = 1; begins >= 0; begins--) {
		let_checkpoint(n, false);
		say(n, P, 1, begins);
		net_run(n, 3 * LEASE);
		assert_false(answered(n, P, 1, NFS4R_OK));
		assert_true(begins ? all_know(n, P, 1) : nobody_knows(n, P, 1));
		n->s[P].client_said = 0;
		say(n, P, 1, begins); /* asked again: there is nothing more to say, and it is not held */
		net_run(n, LEASE);
		assert_false(answered(n, P, 1, NFS4R_OK));
		let_checkpoint(n, true);
		net_run(n, 3 * LEASE);
		assert_true(answered(n, P, 1, NFS4R_OK));
		n->s[P].client_said = 0;
		say(n, P, 1, begins);
		assert_true(answered(n, P, 1, NFS4R_OK)); /* at once */
		n->s[P].client_said = 0;
	}
	ends_well(n);
}

static void test_one_server_alone(void **state)
{
	struct net *n = net_new(1);

	locks_on(n);
	n->cfg.lease_ms = LEASE;
	n->cfg.silence_ms = SILENCE;
	net_retune(n);
	net_run(n, 2 * LEASE);
	say(n, 1, 5, true);
	net_run(n, LEASE);
	assert_true(answered(n, 1, 5, NFS4R_OK));
	net_free(n);
}

static void test_after_starts(void **state)
{
	struct net *n = begin(NFS4R_DURABILITY_LOCAL);

	for (uint64_t i = 1; i <= 3; i++)
		say(n, P, i, true);
	say(n, P, 2, false);
	net_run(n, LEASE);
	for (nfs4r_server_id s = P; s <= S; s++) {
		net_crash(n, s);
		net_restart(n, s, s != Q);
		assert_true(until_back(n));
		assert_true(all_know(n, P, 1) && nobody_knows(n, P, 2) && all_know(n, P, 3));
		assert_int_equal(nfs4r_core_clients(n->s[s].core, P), 2);
	}
	say(n, P, 1, false); /* one that the start found */
	net_run(n, LEASE);
	assert_true(answered(n, P, 1, NFS4R_OK) && nobody_knows(n, P, 1));
	ends_well(n);
}

/* Nobody heard of it: the log ends before it. */
static void test_the_log_ends_before_it(void **state)
{
	struct net *n = begin(NFS4R_DURABILITY_COMMIT);

	say(n, S, 1, true);
	net_run(n, LEASE);
	assert_true(all_know(n, S, 1));
	net_drop(n, S, 0, NFS4R_MSG_ENTRIES);
	say(n, S, 1, false);
	say(n, S, 2, true);
	net_run(n, 100);
	assert_false(n->s[S].client_said == 2);
	cut_off(n, S);
	assert_true(until_sealed(n, P, S, 10 * LEASE));
	assert_true(knows(n, P, S, 1) && !knows(n, P, S, 2));
	net_pass(n);
	assert_true(until_back(n));
	assert_true(answered(n, S, 2, NFS4R_DELAY));
	assert_true(all_know(n, S, 1) && nobody_knows(n, S, 2));
	ends_well(n);
}

/* A store that was lost has the lists of its source, its own included. */
static void test_with_a_copy(void **state)
{
	struct net *n = begin(NFS4R_DURABILITY_COMMIT);

	for (nfs4r_server_id s = P; s <= S; s++)
		for (uint64_t i = 1; i <= 3; i++)
			say(n, s, 10 * s + i, true);
	say(n, Q, 21, false);
	net_run(n, LEASE);
	empty_disk(n, S);
	assert_true(until_back(n));
	for (nfs4r_server_id s = P; s <= S; s++)
		for (uint64_t i = 1; i <= 3; i++)
			assert_true(s == Q && i == 1 ? nobody_knows(n, s, 21) : all_know(n, s, 10 * s + i));
	net_crash(n, S);
	net_restart(n, S, true);
	assert_true(until_back(n));
	assert_true(all_know(n, S, 31));
	ends_well(n);
}

/* A volume of the protocol before has no lists. */
static void test_not_before_protocol_10(void **state)
{
	struct net *n = net_new(3);

	n->secrets = true;
	for (nfs4r_server_id s = P; s <= S; s++) {
		n->s[s].protocol = (struct nfs4r_versions){ NFS4R_PROTOCOL_FIRST, NFS4R_PROTOCOL_FIRST };
		n->s[s].disk_format = (struct nfs4r_versions){ NFS4R_DISK_FORMAT_FIRST, NFS4R_DISK_FORMAT_FIRST };
	}
	ends_begin(n, "d/ d/f", NFS4R_DURABILITY_LOCAL);
	assert_true(replace_all(n, NFS4R_PROTOCOL_LOCKS, NFS4R_DISK_FORMAT_LOCKS)); /* their programs know it */
	say(n, P, 1, true);
	assert_true(answered(n, P, 1, NFS4R_NOTSUPP));
	assert_true(net_finish(n, P));
	net_run(n, 2 * LEASE);
	say(n, P, 1, true);
	net_run(n, LEASE);
	assert_true(answered(n, P, 1, NFS4R_OK) && all_know(n, P, 1));
	ends_well(n);
}

static void test_bounds(void **state)
{
	struct net *n = begin(NFS4R_DURABILITY_LOCAL);
	struct nfs4r_client k = client(7);

	memset(k.name, 'n', sizeof(k.name));
	net_client(n, P, 7, &k, true);
	assert_true(answered(n, P, 7, NFS4R_INVAL));
	k = client(7);
	k.id[0] = 0;
	net_client(n, P, 8, &k, true);
	assert_true(answered(n, P, 8, NFS4R_INVAL));
	for (uint64_t i = 1; i <= NFS4R_CLIENTS_MAX; i++) {
		say(n, P, i, true);
		if (i % 16 == 0)
			net_run(n, RTT(n));
	}
	net_run(n, 3 * LEASE);
	assert_true(answered(n, P, NFS4R_CLIENTS_MAX, NFS4R_OK));
	say(n, P, NFS4R_CLIENTS_MAX + 1, true);
	assert_true(answered(n, P, NFS4R_CLIENTS_MAX + 1, NFS4R_NOLCK));
	say(n, P, 5, true); /* one that is listed */
	assert_true(answered(n, P, 5, NFS4R_OK));
	say(n, P, 5, false);
	say(n, P, NFS4R_CLIENTS_MAX + 1, true);
	net_run(n, LEASE);
	assert_true(answered(n, P, NFS4R_CLIENTS_MAX + 1, NFS4R_OK));
	assert_int_equal(nfs4r_core_clients(n->s[S].core, P), NFS4R_CLIENTS_MAX);
	net_free(n);
}

/* What it says of itself may change: another address. */
static void test_said_again_with_another_address(void **state)
{
	struct net *n = begin(NFS4R_DURABILITY_LOCAL);
	struct nfs4r_client k = client(1);
	nfs4r_lsn end;

	net_client(n, P, 1, &k, true);
	net_run(n, LEASE);
	end = nfs4r_core_own_end(n->s[P].core);
	net_client(n, P, 2, &k, true);
	assert_int_equal(nfs4r_core_own_end(n->s[P].core), end);
	k.address[0] = '2';
	net_client(n, P, 3, &k, true);
	assert_int_equal(nfs4r_core_own_end(n->s[P].core), end + 1);
	net_run(n, LEASE);
	assert_true(answered(n, P, 3, NFS4R_OK));
	assert_int_equal(nfs4r_core_clients(n->s[Q].core, P), 1);
	ends_well(n);
}

/* A server that has no lease, or does not know the tail of its log, says nothing. */
static void test_not_while_it_may_not_serve(void **state)
{
	struct net *n = begin(NFS4R_DURABILITY_COMMIT);

	cut_off(n, S);
	net_run(n, 3 * LEASE);
	say(n, S, 1, true);
	assert_true(answered(n, S, 1, NFS4R_DELAY));
	net_pass(n);
	assert_true(until_back(n));
	assert_true(nobody_knows(n, S, 1));
	ends_well(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_at_all_servers),
		cmocka_unit_test(test_answered_when_a_majority_holds_it),
		cmocka_unit_test(test_one_server_alone),
		cmocka_unit_test(test_after_starts),
		cmocka_unit_test(test_the_log_ends_before_it),
		cmocka_unit_test(test_with_a_copy),
		cmocka_unit_test(test_not_before_protocol_10),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_said_again_with_another_address),
		cmocka_unit_test(test_not_while_it_may_not_serve),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
