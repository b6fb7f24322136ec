/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Locks whose authority lost its memory or its log (docs/protocol/locks.md, locks 8 to 11): what is in a gap, for whom it waits, and when it is over. */
#include "scenario/byte_locks.h"
#include "scenario/ends.h"
#include "scenario/locks_on.h"

#include <stdio.h>
#include <string.h>

#include "lib/unit.h"

static enum nfs4r_status try_byte(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint64_t who, uint64_t at)
{
	return finish(n, lock_byte(n, s, f, who, at));
}

/* Which protocol the volume has, a start knows from its view. */
static void of_a_volume_that_was_upgraded(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid f;

	n->secrets = true;
	n->cfg.revoke_ms = 60000;
	for (nfs4r_server_id s = P; s <= S; s++) {
		n->s[s].protocol = (struct nfs4r_versions){ NFS4R_PROTOCOL_FIRST, NFS4R_PROTOCOL_FIRST };
		n->s[s].disk_format = (struct nfs4r_versions){ NFS4R_DISK_FORMAT_FIRST, NFS4R_DISK_FORMAT_FIRST };
	}
	ends_begin(n, "d/ d/f", NFS4R_DURABILITY_COMMIT);
	assert_true(replace_all(n, NFS4R_PROTOCOL_LOCKS, NFS4R_DISK_FORMAT_LOCKS));
	assert_true(net_finish(n, P));
	net_run(n, 2 * LEASE);
	f = at(n, "d/f");
	n->cfg.idle_ms = 60000;
	assert_int_equal(try_byte(n, P, &f, 1, 50), NFS4R_OK);
	assert_int_equal(try_byte(n, S, &f, 2, 0), NFS4R_OK);
	net_run(n, 3 * RTT(n));
	net_crash(n, P);
	net_restart(n, P, true);
	assert_true(acting(n, P, &f));
	assert_true(until_back(n));
	assert_int_equal(try_byte(n, P, &f, 3, 0), NFS4R_DENIED);
	net_free(n);
}

/* S granted a lock that no row has, and died. Nobody controls the file, and its row is no answer to a test. */
static void a_test_is_not_answered_by_a_row_that_is_past(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_lock lock = byte(3, 0);
	struct nfs4r_oid f;

	n->cfg.revoke_ms = n->cfg.idle_ms = 60000;
	locks_on(n);
	ends_begin(n, "d/ d/f", NFS4R_DURABILITY_COMMIT);
	n->cfg.idle_ms = 60000;
	net_retune(n);
	assert_true(until_back(n));
	f = at(n, "d/f");
	assert_int_equal(try_byte(n, S, &f, 1, 50), NFS4R_OK);
	assert_int_equal(try_byte(n, P, &f, 2, 0), NFS4R_OK);
	net_run(n, 3 * RTT(n));
	net_crash(n, S);
	assert_true(until_sealed(n, P, S, 8 * LEASE) && until_sealed(n, Q, S, 8 * LEASE));
	for (int i = 0; i < 20; i++) {
		enum nfs4r_status st = finish(n, op_lock_test(n, Q, &f, &lock));

		assert_true(st == NFS4R_DELAY || st == NFS4R_DENIED);
		net_run(n, 200);
	}
	assert_int_equal(finish(n, op_lock_test(n, Q, &f, &lock)), NFS4R_DENIED);
	net_free(n);
}

/* ---- what is said of it ---- */

struct seen {
	uint32_t n, ncontrols;
	nfs4r_servers lists, clients;
	uint64_t since_ms, until_ms[NFS4R_SERVERS_MAX + 1];
};

static bool see(void *arg, const struct nfs4r_core_gap *i)
{
	struct seen *s = arg;

	s->n++;
	s->ncontrols += i->ncontrols;
	s->lists |= i->lists;
	s->clients |= i->clients;
	s->since_ms = i->since_ms;
	memcpy(s->until_ms, i->until_ms, sizeof(s->until_ms));
	return true;
}

static struct seen gaps_of(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *oid)
{
	struct seen out = { .n = 0 };

	nfs4r_core_each_gap(n->s[s].core, oid, see, &out);
	return out;
}

static void list_client(struct net *n, nfs4r_server_id s, uint64_t who)
{
	struct nfs4r_client k;

	memset(&k, 0, sizeof(k));
	k.id[0] = who;
	k.id[1] = 1;
	snprintf(k.name, sizeof(k.name), "client %u", (unsigned)who);
	net_client(n, s, 100 + who, &k, true);
	for (int i = 0; i < 1000 && n->s[s].client_said != 100 + who; i++)
		net_run(n, 1);
	assert_int_equal(n->s[s].client_status, NFS4R_OK);
}

static struct nfs4r_lock_counts counts(const struct net *n, nfs4r_server_id s)
{
	struct nfs4r_lock_counts out;

	nfs4r_core_count_locks(n->s[s].core, &out);
	return out;
}

/* An administrator is told: whose list is missing, whose clients may still ask for their locks back, and how long that takes at most. */
static void it_says_for_whom_it_waits(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid f, d;
	struct seen s;

	n->cfg.revoke_ms = 60000;
	locks_on(n);
	ends_begin(n, "d/ d/f d/g", NFS4R_DURABILITY_COMMIT);
	assert_true(until_back(n));
	n->cfg.idle_ms = 60000;
	net_retune(n);
	assert_true(until_back(n));
	f = at(n, "d/f");
	d = at(n, "d/g");
	list_client(n, P, 1);
	assert_int_equal(try_byte(n, P, &f, 1, 50), NFS4R_OK);
	assert_int_equal(try_byte(n, S, &f, 2, 0), NFS4R_OK);
	assert_int_equal(gaps_of(n, P, NULL).n, 0);
	assert_int_equal(nfs4r_core_lock_source(n->s[P].core, &f), NFS4R_LOCKS_FROM_TABLE);
	assert_int_equal(nfs4r_core_lock_source(n->s[Q].core, &f), NFS4R_LOCKS_FROM_ROW);
	assert_int_equal(counts(n, P).reclaiming, 0);
	net_crash(n, P);
	net_hold(n, S, P, NFS4R_MSG_LOCKS_LIST);
	net_restart(n, P, true);
	assert_true(until_back(n));
	net_run(n, 3000);
	s = gaps_of(n, P, &f);
	assert_true(s.n >= 1 && s.ncontrols >= 1);
	assert_int_equal(s.lists, NFS4R_BIT(S));
	assert_int_equal(s.clients, NFS4R_BIT(P));
	assert_true(s.until_ms[P] > n->now && s.until_ms[P] <= n->now + n->cfg.lock_grace_ms);
	assert_true(s.since_ms && s.since_ms <= n->now);
	assert_int_equal(gaps_of(n, P, &d).n, 0);
	assert_int_equal(nfs4r_core_lock_source(n->s[P].core, &f), NFS4R_LOCKS_UNKNOWN);
	assert_int_equal(counts(n, P).reclaiming, 1);
	assert_int_equal(counts(n, P).reclaim_until_ms, s.until_ms[P]);
	assert_int_equal(counts(n, P).gap_since_ms, s.since_ms);
	net_pass(n);
	net_run(n, 2000);
	assert_int_equal(gaps_of(n, P, &f).lists, 0);
	net_run(n, n->cfg.lock_grace_ms + 2000);
	assert_int_equal(gaps_of(n, P, NULL).n, 0);
	assert_int_equal(counts(n, P).gap_since_ms + counts(n, P).reclaiming + counts(n, P).reclaim_until_ms, 0);
	net_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_volume_that_was_upgraded),
		cmocka_unit_test(a_test_is_not_answered_by_a_row_that_is_past),
		cmocka_unit_test(it_says_for_whom_it_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
