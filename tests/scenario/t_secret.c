/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The secret of a volume (log 6.13): all servers that serve have the same, whoever comes, goes, or loses its disk; and a fixed view has one, too.
 */
#include <stdio.h>
#include <string.h>

#include "scenario/ends.h"

#include "lib/unit.h"

#define TREE "d/ d/f d/g e/ e/f"

static const uint8_t none[NFS4R_SECRET];

static const uint8_t *secret_of(struct net *n, nfs4r_server_id s)
{
	return nfs4r_core_adopted(n->s[s].core)->secret;
}

static bool has_one(struct net *n, nfs4r_server_id s)
{
	return memcmp(secret_of(n, s), none, sizeof(none)) != 0;
}

static bool all_have(struct net *n, const uint8_t secret[NFS4R_SECRET])
{
	for (nfs4r_server_id s = 1; s <= n->n; s++)
		if (n->s[s].up && memcmp(secret_of(n, s), secret, NFS4R_SECRET) != 0)
			return false;
	return true;
}

/* With views; they had none before, as after the first start. */
static struct net *net_secret(uint32_t servers)
{
	struct net *n = net_new(servers);

	n->secrets = true;
	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	return n;
}

static void all_get_one(void **state)
{
	struct net *n = net_secret(3);
	uint8_t secret[NFS4R_SECRET];

	assert_true(has_one(n, P));
	memcpy(secret, secret_of(n, P), sizeof(secret));
	assert_true(all_have(n, secret));
	assert_true(until_back(n));
	for (nfs4r_server_id s = 1; s <= 3; s++) {
		net_crash(n, s);
		net_restart(n, s, true);
	}
	assert_true(until_back(n));
	assert_true(all_have(n, secret));
	net_free(n);
}

/* Nobody serves before, and one that hears of no view does not either. */
static void nobody_serves_without(void **state)
{
	struct net *n = net_new(3);

	n->secrets = true;
	net_drop(n, 0, 0, NFS4R_MSG_PREPARE);
	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	net_run(n, 5 * LEASE);
	for (nfs4r_server_id s = 1; s <= 3; s++) {
		assert_false(has_one(n, s));
		assert_false(serves(n, s));
	}
	net_pass(n);
	assert_true(until_back(n));
	assert_true(has_one(n, P));
	assert_true(all_have(n, secret_of(n, P)));
	net_free(n);
}

static void a_new_disk_gets_it_from_the_others(void **state)
{
	struct net *n = net_secret(3);
	uint8_t secret[NFS4R_SECRET];

	memcpy(secret, secret_of(n, P), sizeof(secret));
	for (nfs4r_server_id s = 1; s <= 3; s++) {
		empty_disk(n, s);
		assert_false(has_one(n, s) && memcmp(secret_of(n, s), secret, sizeof(secret)) != 0);
		assert_true(until_back(n));
		assert_true(all_have(n, secret));
	}
	net_free(n);
}

static void a_new_server_gets_it(void **state)
{
	struct net *n = net_secret(1);
	uint8_t secret[NFS4R_SECRET];
	nfs4r_server_id e;

	assert_true(has_one(n, P));
	assert_true(serves(n, P));
	memcpy(secret, secret_of(n, P), sizeof(secret));
	e = net_new_server(n);
	assert_true(net_add(n, P, e));
	assert_true(until_all_are(n, NFS4R_BIT(P) | NFS4R_BIT(e)));
	assert_true(all_have(n, secret));
	net_free(n);
}

/* A server that is alone, and whose disk is lost, has nobody to ask: the volume begins anew. */
static void who_is_alone_makes_another(void **state)
{
	struct net *n = net_secret(1);
	uint8_t secret[NFS4R_SECRET];

	memcpy(secret, secret_of(n, P), sizeof(secret));
	net_crash(n, P);
	net_restart(n, P, true);
	net_run(n, LEASE);
	assert_true(all_have(n, secret));
	empty_disk(n, P);
	net_run(n, LEASE);
	assert_true(has_one(n, P));
	assert_false(all_have(n, secret));
	net_free(n);
}

/* What @liar says of the view that it goes by, with another secret in it. */
static struct nfs4r_msg other_secret(struct net *n, nfs4r_server_id liar, uint32_t type)
{
	struct nfs4r_msg m = { .type = type, .view = *nfs4r_core_adopted(n->s[liar].core) };

	m.view.secret[0] ^= 1;
	return m;
}

/* Three servers with a tree, in view 0: no view with a secret has been asked for. */
static struct net *net_view_0(void)
{
	struct net *n = net_new(3);

	n->secrets = true;
	net_drop(n, 0, 0, NFS4R_MSG_PREPARE);
	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	net_pass(n);
	return n;
}

/* S has not heard that the first view with a secret is adopted. P's word for that view is none for what Q makes of it (log 6.14). */
static void a_view_with_another_secret_is_another_view(void **state)
{
	struct net *n = net_view_0();
	struct nfs4r_msg lie;

	net_drop(n, 0, S, NFS4R_MSG_VIEW);
	for (uint64_t ms = 0; ms < 10 * LEASE && !has_one(n, Q); ms++)
		net_run(n, 1);
	assert_true(has_one(n, Q));
	assert_false(has_one(n, S));
	lie = other_secret(n, Q, NFS4R_MSG_VIEW);
	net_pass(n);
	net_msg(n, Q, S, &lie);
	net_run(n, n->delay);
	assert_false(has_one(n, S));
	assert_true(until_back(n));
	assert_true(all_have(n, secret_of(n, P)));
	net_free(n);
}

/* The fifth is gone, and P asks for a view without it. S promises, and then says that it has accepted one with another secret: P goes on with the others. */
static void a_promise_of_another_secret_does_not_count(void **state)
{
	struct net *n = net_secret(5);
	struct nfs4r_msg lie = { .type = NFS4R_MSG_PROMISE };
	uint8_t secret[NFS4R_SECRET];

	assert_true(until_back(n));
	memcpy(secret, secret_of(n, P), sizeof(secret));
	net_hold(n, Q, P, NFS4R_MSG_PROMISE);
	net_hold(n, 4, P, NFS4R_MSG_PROMISE);
	net_crash(n, 5);
	for (uint64_t ms = 0; ms < 5 * LEASE && !(n->held && n->held->next); ms++)
		net_run(n, 1);
	assert_non_null(n->held);
	net_run(n, 2 * n->delay);
	lie.promise.num = n->held->msg->promise.num;
	lie.promise.accepted = other_secret(n, S, 0).view;
	lie.promise.accepted.num += NFS4R_VIEW_STEP;
	lie.promise.complete = true;
	net_msg(n, S, P, &lie);
	net_run(n, n->delay);
	net_pass(n);
	assert_true(until_removed(n, P, 5, 6 * n->delay));
	assert_true(all_have(n, secret));
	net_free(n);
}

/* P asks S for something else than Q under one number, which is P's own. What P and Q have adopted is what S says that it has accepted. */
static void an_adopted_view_is_what_was_accepted(void **state)
{
	struct net *n = net_view_0();
	struct nfs4r_msg lie;

	net_drop(n, P, S, NFS4R_MSG_ACCEPT);
	net_drop(n, 0, S, NFS4R_MSG_VIEW);
	for (uint64_t ms = 0; ms < 10 * LEASE && !has_one(n, P); ms++)
		net_run(n, 1);
	lie = other_secret(n, P, NFS4R_MSG_ACCEPT);
	net_pass(n);
	net_msg(n, P, S, &lie);
	net_run(n, n->delay);
	assert_true(nfs4r_view_digest(nfs4r_core_accepted(n->s[S].core)) == nfs4r_view_digest(&lie.view));
	for (uint64_t ms = 0; ms < LEASE && !has_one(n, S); ms++)
		net_run(n, 1);
	assert_true(all_have(n, secret_of(n, P)));
	assert_true(nfs4r_view_digest(nfs4r_core_accepted(n->s[S].core)) == nfs4r_view_digest(nfs4r_core_adopted(n->s[S].core)));
	assert_true(until_back(n));
	net_free(n);
}

/* S hears nobody but Q for long, so it takes Q's word for a new view (log 6.14), and not for another secret. */
static void nobody_alone_gives_it_another(void **state)
{
	struct net *n = net_secret(3);
	struct nfs4r_msg lie, beat = { .type = NFS4R_MSG_HEARTBEAT, .heartbeat.memory = NFS4R_MEMORY_KNOWN };
	uint8_t secret[NFS4R_SECRET];

	assert_true(until_back(n));
	memcpy(secret, secret_of(n, P), sizeof(secret));
	lie = other_secret(n, Q, NFS4R_MSG_VIEW);
	lie.view.base = lie.view.num;
	lie.view.num += NFS4R_VIEW_STEP;
	beat.heartbeat.view = lie.view.num;
	beat.heartbeat.view_digest = nfs4r_view_digest(&lie.view);
	beat.heartbeat.inc = n->s[Q].inc;
	for (uint32_t i = 0; i < 16; i++) {
		net_msg(n, Q, S, &beat);
		net_msg(n, Q, S, &lie);
		net_drop(n, 0, S, 0);
		net_run(n, LEASE / 4);
		net_pass(n);
	}
	assert_memory_equal(secret_of(n, S), secret, sizeof(secret));
	assert_true(until_back(n));
	assert_true(all_have(n, secret));
	net_free(n);
}

/* ---- with a fixed view ---- */

static struct net *net_fixed(void)
{
	struct net *n = net_new(3);

	tree(n, TREE);
	n->secrets = true;
	return n;
}

static void all_get_one_fixed(void **state)
{
	struct net *n = net_fixed();
	uint8_t secret[NFS4R_SECRET];

	net_retune(n);
	assert_true(has_one(n, P));
	memcpy(secret, secret_of(n, P), sizeof(secret));
	assert_true(all_have(n, secret));
	do_chmod(n, S, "d/f");
	for (nfs4r_server_id s = 1; s <= 3; s++) {
		empty_disk(n, s);
		net_run(n, 100);
		assert_true(all_have(n, secret));
	}
	net_free(n);
}

static void who_makes_it_waits_for_all_fixed(void **state)
{
	struct net *n = net_fixed();

	net_drop(n, S, P, NFS4R_MSG_VIEW);
	net_retune(n);
	net_run(n, 5000);
	for (nfs4r_server_id s = 1; s <= 3; s++) {
		assert_false(has_one(n, s));
		assert_false(serves(n, s));
	}
	assert_true(n->s[P].stuck > 0);
	net_pass(n);
	net_crash(n, S);
	net_restart(n, S, true);
	net_run(n, 100);
	assert_true(has_one(n, P));
	assert_true(all_have(n, secret_of(n, P)));
	do_chmod(n, S, "d/f");
	net_free(n);
}

/* Nobody votes, so there is no majority to ask: who has one keeps it, and the log says that the two differ. */
static void who_has_one_keeps_it_fixed(void **state)
{
	struct net *n = net_fixed();
	uint8_t secret[NFS4R_SECRET];
	struct nfs4r_msg lie;

	net_retune(n);
	memcpy(secret, secret_of(n, P), sizeof(secret));
	lie = other_secret(n, Q, NFS4R_MSG_VIEW);
	assert_int_equal(n->s[S].stuck, 0);
	net_msg(n, Q, P, &lie);
	net_msg(n, Q, S, &lie);
	net_run(n, 100);
	assert_true(all_have(n, secret));
	assert_int_equal(n->s[S].stuck, 1);
	do_chmod(n, S, "d/f");
	net_free(n);
}

/* A volume with a fixed view gets another kind of view: the secret stays. */
static void it_survives_a_change_of_the_kind_of_view(void **state)
{
	struct net *n = net_fixed();
	uint8_t secret[NFS4R_SECRET];

	net_retune(n);
	memcpy(secret, secret_of(n, P), sizeof(secret));
	n->cfg.lease_ms = LEASE;
	n->cfg.silence_ms = SILENCE;
	net_retune(n);
	assert_true(until_back(n));
	assert_true(all_have(n, secret));
	net_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_get_one),
		cmocka_unit_test(nobody_serves_without),
		cmocka_unit_test(a_new_disk_gets_it_from_the_others),
		cmocka_unit_test(a_new_server_gets_it),
		cmocka_unit_test(who_is_alone_makes_another),
		cmocka_unit_test(a_view_with_another_secret_is_another_view),
		cmocka_unit_test(an_adopted_view_is_what_was_accepted),
		cmocka_unit_test(nobody_alone_gives_it_another),
		cmocka_unit_test(a_promise_of_another_secret_does_not_count),
		cmocka_unit_test(all_get_one_fixed),
		cmocka_unit_test(who_makes_it_waits_for_all_fixed),
		cmocka_unit_test(who_has_one_keeps_it_fixed),
		cmocka_unit_test(it_survives_a_change_of_the_kind_of_view),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
