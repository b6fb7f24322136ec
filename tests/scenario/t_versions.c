/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Two releases in one volume (log 6.16): servers are replaced by the next release one after the other, the upgrade is finished, and before that any of them goes
 * back. The next release is the one that is rehearsed (src/base/version.h): it has one more member in HEARTBEAT and a longer row 'W'.
 */
#include <stdio.h>
#include <string.h>

#include "scenario/ends.h"

#include "lib/unit.h"

#define TREE "d/ d/f d/g e/ e/f"

static const struct nfs4r_versions now = { NFS4R_PROTOCOL_VERSION, NFS4R_PROTOCOL_VERSION }, next = { NFS4R_PROTOCOL_VERSION, NFS4R_PROTOCOL_REHEARSED };
static const struct nfs4r_versions format_now = { NFS4R_DISK_FORMAT, NFS4R_DISK_FORMAT }, format_next = { NFS4R_DISK_FORMAT, NFS4R_DISK_FORMAT_REHEARSED };

static void release(struct net *n, nfs4r_server_id s, bool is_next)
{
	n->s[s].protocol = is_next ? next : now;
	n->s[s].disk_format = is_next ? format_next : format_now;
}

/* Stopped, and started as the other release. */
static void replace(struct net *n, nfs4r_server_id s, bool is_next)
{
	net_crash(n, s);
	release(n, s, is_next);
	net_restart(n, s, true);
}

static struct net *net_of_now(uint32_t servers)
{
	struct net *n = net_new(servers);

	for (nfs4r_server_id s = 1; s <= servers; s++)
		release(n, s, false);
	n->secrets = true;
	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	assert_true(until_back(n));
	return n;
}

static const struct nfs4r_volume_settings *settings(struct net *n, nfs4r_server_id s)
{
	return &nfs4r_core_adopted(n->s[s].core)->settings;
}

static void expect(struct net *n, uint32_t protocol, uint32_t format)
{
	for (nfs4r_server_id s = 1; s <= n->n; s++) {
		if (!n->s[s].up)
			continue;
		assert_int_equal(settings(n, s)->protocol, protocol);
		assert_int_equal(settings(n, s)->disk_format, format);
	}
}

/* What the next HEARTBEAT of @from to @to has of the next protocol. */
static uint32_t rehearsed(struct net *n, nfs4r_server_id from, nfs4r_server_id to)
{
	uint32_t said = 2;

	net_hold(n, from, to, NFS4R_MSG_HEARTBEAT);
	net_run(n, LEASE / 2);
	if (n->held)
		said = n->held->msg->heartbeat.rehearsal;
	net_pass(n);
	return said;
}

static void refused_to_finish(struct net *n, nfs4r_server_id s, const char *want)
{
	struct nfs4r_volume_settings to;
	char why[NFS4R_CORE_TEXT];

	assert_int_equal(nfs4r_core_may_finish_upgrade(n->s[s].core, &to, why, sizeof(why)), NFS4R_INVAL);
	if (!strstr(why, want))
		fail_msg("not '%s' in: %s", want, why);
}

/* Nobody can want to go back to what was before a new volume. */
static void a_new_volume_has_the_highest_that_all_know(void **state)
{
	for (nfs4r_server_id old = 0; old <= 3; old++) { /* 0: none */
		struct net *n = net_new(3);

		for (nfs4r_server_id s = 1; s <= 3; s++)
			release(n, s, s != old);
		n->secrets = true;
		ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
		assert_true(until_back(n));
		expect(n, old ? NFS4R_PROTOCOL_VERSION : NFS4R_PROTOCOL_REHEARSED, old ? NFS4R_DISK_FORMAT : NFS4R_DISK_FORMAT_REHEARSED);
		ends_well(n);
	}
}

static void one_after_the_other(void **state)
{
	struct net *n = net_of_now(3);

	expect(n, NFS4R_PROTOCOL_VERSION, NFS4R_DISK_FORMAT);
	refused_to_finish(n, P, "there is nothing to finish");
	for (nfs4r_server_id s = 1; s <= 3; s++) {
		if (s > 1)
			refused_to_finish(n, 1, "install the new release there first");
		replace(n, s, true);
		assert_true(until_back(n));
		expect(n, NFS4R_PROTOCOL_VERSION, NFS4R_DISK_FORMAT);
		for (nfs4r_server_id t = 1; t <= 3; t++)
			if (t != s)
				assert_int_equal(rehearsed(n, s, t), 0);
	}
	net_run(n, 2 * LEASE); /* nothing finishes by itself */
	expect(n, NFS4R_PROTOCOL_VERSION, NFS4R_DISK_FORMAT);
	assert_true(net_finish(n, Q));
	net_run(n, LEASE);
	expect(n, NFS4R_PROTOCOL_REHEARSED, NFS4R_DISK_FORMAT_REHEARSED);
	assert_int_equal(rehearsed(n, P, S), 1);
	assert_true(all_back(n)); /* no server paused for it */
	refused_to_finish(n, P, "there is nothing to finish");
	for (nfs4r_server_id s = 1; s <= 3; s++) /* it is on the disks */
		replace(n, s, true);
	assert_true(until_back(n));
	expect(n, NFS4R_PROTOCOL_REHEARSED, NFS4R_DISK_FORMAT_REHEARSED);
	ends_well(n);
}

/* And forward again: what a server wrote is read by both. */
static void back_before_it_is_finished(void **state)
{
	struct net *n = net_of_now(3);

	for (nfs4r_server_id s = 1; s <= 3; s++)
		replace(n, s, true);
	assert_true(until_back(n));
	net_crash(n, S); /* views are made by the new release, too */
	assert_true(until_removed(n, P, S, 10 * LEASE));
	net_restart(n, S, true);
	assert_true(until_back(n));
	for (nfs4r_server_id s = 3; s >= 1; s--) {
		replace(n, s, false);
		assert_false(n->s[s].too_old);
		assert_true(until_back(n));
	}
	expect(n, NFS4R_PROTOCOL_VERSION, NFS4R_DISK_FORMAT);
	replace(n, Q, true);
	assert_true(until_back(n));
	ends_well(n);
}

/* The old release does not start on what it cannot read, and the others go on. */
static void not_back_when_it_is_finished(void **state)
{
	struct net *n = net_of_now(3);

	for (nfs4r_server_id s = 1; s <= 3; s++)
		replace(n, s, true);
	assert_true(until_back(n));
	assert_true(net_finish(n, P));
	net_run(n, LEASE);
	replace(n, S, false);
	assert_true(n->s[S].too_old);
	assert_true(until_removed(n, P, S, 10 * LEASE));
	release(n, S, true);
	net_restart(n, S, true);
	assert_true(until_back(n));
	expect(n, NFS4R_PROTOCOL_REHEARSED, NFS4R_DISK_FORMAT_REHEARSED);
	ends_well(n);
}

static void who_is_silent_keeps_it_open(void **state)
{
	struct net *n = net_of_now(3);
	char least[80];

	replace(n, P, true);
	replace(n, Q, true);
	net_crash(n, S);
	assert_true(until_removed(n, P, S, 10 * LEASE));
	net_run(n, 2 * LEASE);
	refused_to_finish(n, P, "server 3 is not heard");
	release(n, S, false);
	net_restart(n, S, true);
	assert_true(until_back(n));
	snprintf(least, sizeof(least), "server 3 knows no more than protocol %u and disk format %u", NFS4R_PROTOCOL_VERSION, NFS4R_DISK_FORMAT);
	refused_to_finish(n, P, least);
	replace(n, S, true);
	assert_true(until_back(n));
	assert_true(net_finish(n, P));
	net_run(n, LEASE);
	expect(n, NFS4R_PROTOCOL_REHEARSED, NFS4R_DISK_FORMAT_REHEARSED);
	ends_well(n);
}

/* The member that was asked dies before anybody heard of it: nothing happened, and it is asked for again. */
static void who_was_asked_dies(void **state)
{
	struct net *n = net_of_now(3);

	for (nfs4r_server_id s = 1; s <= 3; s++)
		replace(n, s, true);
	assert_true(until_back(n));
	net_drop(n, P, 0, NFS4R_MSG_PREPARE);
	assert_true(net_finish(n, P));
	net_run(n, 20);
	net_crash(n, P);
	net_pass(n);
	net_restart(n, P, true);
	assert_true(until_back(n));
	expect(n, NFS4R_PROTOCOL_VERSION, NFS4R_DISK_FORMAT);
	assert_true(net_finish(n, P));
	net_run(n, 4 * LEASE);
	expect(n, NFS4R_PROTOCOL_REHEARSED, NFS4R_DISK_FORMAT_REHEARSED);
	ends_well(n);
}

/* A server that is added hears of it by the view; a fixed view has none. */
static void a_new_server_gets_it(void **state)
{
	struct net *n = net_of_now(3);
	nfs4r_server_id id;

	for (nfs4r_server_id s = 1; s <= 3; s++)
		replace(n, s, true);
	assert_true(until_back(n));
	assert_true(net_finish(n, P));
	net_run(n, LEASE);
	release(n, (nfs4r_server_id)(n->n + 1), true);
	id = net_new_server(n);
	assert_true(net_add(n, P, id));
	assert_true(until_all_are(n, NFS4R_BIT(1) | NFS4R_BIT(2) | NFS4R_BIT(3) | NFS4R_BIT(4)));
	expect(n, NFS4R_PROTOCOL_REHEARSED, NFS4R_DISK_FORMAT_REHEARSED);
	net_free(n);
	n = net_new(3);
	refused_to_finish(n, P, "the view is fixed");
	net_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_volume_has_the_highest_that_all_know),
		cmocka_unit_test(one_after_the_other),
		cmocka_unit_test(back_before_it_is_finished),
		cmocka_unit_test(not_back_when_it_is_finished),
		cmocka_unit_test(who_is_silent_keeps_it_open),
		cmocka_unit_test(who_was_asked_dies),
		cmocka_unit_test(a_new_server_gets_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
