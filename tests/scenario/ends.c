/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See ends.h. */
#include "scenario/ends.h"

#include <stdio.h>

#include "lib/unit.h"

void ends_begin(struct net *n, const char *paths, enum nfs4r_durability durability)
{
	tree(n, paths);
	n->cfg.lease_ms = LEASE;
	n->cfg.silence_ms = SILENCE;
	n->cfg.idle_ms = 200;
	n->cfg.durability = durability;
	net_retune(n);
	net_run(n, 2 * LEASE); /* a start also waits for what was granted before it */
}

struct net *ends_net(uint32_t servers, const char *paths, enum nfs4r_durability durability)
{
	struct net *n = net_new(servers);

	ends_begin(n, paths, durability);
	return n;
}

void lonely_update(struct net *n, uint64_t ms)
{
	do_chmod(n, S, "d/f");
	net_drop(n, S, 0, NFS4R_MSG_ENTRIES);
	chmod_(n, S, "d/f");
	net_run(n, ms);
}

bool lonely_update_is_lost(struct net *n)
{
	lonely_update(n, 200);
	net_crash(n, S);
	net_pass(n);
	return keep_trying_chmod(n, Q, "d/f", 10 * LEASE) == NFS4R_OK;
}

bool about_to_undo(struct net *n)
{
	lonely_update(n, 100);
	net_crash(n, S);
	net_pass(n);
	if (!until_sealed(n, P, S, 8 * LEASE))
		return false;
	net_drop(n, Q, S, 0); /* so that it asks P */
	n->s[S].hold_repair = true;
	net_restart(n, S, true);
	for (int i = 0; i < 4000 && !n->s[S].repair; i++)
		net_run(n, 1);
	return n->s[S].repair && n->s[S].repair->from == P;
}

bool both_have(struct net *n, nfs4r_lsn lsn)
{
	return memtree_applied(n->s[P].tree, S) >= lsn && memtree_applied(n->s[Q].tree, S) >= lsn;
}

nfs4r_lsn late_writes(struct net *n, const char *paths, nfs4r_servers late, uint32_t count)
{
	struct nfs4r_oid f;
	nfs4r_lsn first;

	n->cfg.window_entries = 1;
	ends_begin(n, paths, NFS4R_DURABILITY_COMMIT);
	f = at(n, "d/f");
	do_chmod(n, S, "d/f");
	n->late = late;
	net_hold(n, S, 0, NFS4R_MSG_ENTRIES);
	chmod_(n, S, "d/f"); /* fills the window */
	net_run(n, 20);
	first = nfs4r_core_own_end(n->s[S].core) + 1;
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(finish(n, op_write(n, S, &f, i ? "more" : "one", true)), NFS4R_OK);
	assert_int_equal(nfs4r_core_own_end(n->s[S].core), first + count - 1);
	net_pass(n);
	for (int i = 0; i < 1000 && !both_have(n, first); i++)
		net_run(n, 1);
	net_drop(n, S, 0, NFS4R_MSG_ENTRIES);
	assert_true(both_have(n, first));
	assert_int_equal(memtree_applied(n->s[P].tree, S), first);
	assert_int_equal(memtree_applied(n->s[Q].tree, S), first);
	return first;
}

struct nfs4r_core_view view_of(struct net *n, nfs4r_server_id s)
{
	struct nfs4r_core_view v;

	nfs4r_core_get_view(n->s[s].core, &v);
	return v;
}

bool serves(struct net *n, nfs4r_server_id s)
{
	return nfs4r_core_lease_until(n->s[s].core) > n->now;
}

bool sealed_at(struct net *n, nfs4r_server_id s, nfs4r_server_id log, nfs4r_lsn *lsn)
{
	struct nfs4r_core_view v = view_of(n, s);
	bool found = false;

	for (uint32_t i = 0; i < v.adopted.nseals; i++)
		if (v.adopted.seals[i].log == log) {
			*lsn = v.adopted.seals[i].lsn;
			found = true;
		}
	return found;
}

void cut_off(struct net *n, nfs4r_server_id s)
{
	net_drop(n, s, 0, 0);
	net_drop(n, 0, s, 0);
}

void empty_disk(struct net *n, nfs4r_server_id s)
{
	net_crash(n, s);
	net_lose_disk(n, s, NULL, 0);
	net_restart(n, s, true);
}

bool until_removed(struct net *n, nfs4r_server_id s, nfs4r_server_id gone, uint64_t ms)
{
	uint64_t until = n->now + ms;

	while ((view_of(n, s).adopted.members & NFS4R_BIT(gone)) && n->now < until)
		net_run(n, 1);
	return !(view_of(n, s).adopted.members & NFS4R_BIT(gone));
}

bool until_sealed(struct net *n, nfs4r_server_id s, nfs4r_server_id log, uint64_t ms)
{
	uint64_t until = n->now + ms;

	while ((view_of(n, s).adopted.open & NFS4R_BIT(log)) && n->now < until)
		net_run(n, 1);
	return !(view_of(n, s).adopted.open & NFS4R_BIT(log));
}

bool all_back(struct net *n)
{
	for (nfs4r_server_id s = 1; s <= n->n; s++)
		if (view_of(n, s).adopted.members != n->cfg.servers || view_of(n, s).joining || !serves(n, s))
			return false;
	return true;
}

bool until_back(struct net *n)
{
	for (int i = 0; i < 2000 && !all_back(n); i++)
		net_run(n, 10);
	return all_back(n);
}

bool replace_all(struct net *n, uint32_t protocol, uint32_t disk_format)
{
	for (nfs4r_server_id s = 1; s <= n->n; s++) {
		net_crash(n, s);
		n->s[s].protocol.highest = protocol;
		n->s[s].disk_format.highest = disk_format;
		net_restart(n, s, true);
		if (!until_back(n))
			return false;
	}
	return true;
}

void ends_well(struct net *n)
{
	assert_true(until_back(n));
	assert_true(all_equal(n));
	net_free(n);
}

enum nfs4r_status keep_trying_chmod(struct net *n, nfs4r_server_id s, const char *path, uint64_t ms)
{
	uint64_t until = n->now + ms;
	struct client *c;

	do {
		c = chmod_(n, s, path);
		net_run_until(n, &c->done, 20000);
		if (c->op.status == NFS4R_DELAY)
			net_run(n, 20);
	} while (c->done && c->op.status == NFS4R_DELAY && n->now < until);
	return c->done ? c->op.status : NFS4R_DELAY;
}

bool are_all(struct net *n, nfs4r_servers set)
{
	for (nfs4r_server_id s = 1; s <= n->n; s++) {
		struct nfs4r_core_view v;

		if (!(set & NFS4R_BIT(s)))
			continue;
		v = view_of(n, s);
		if (v.adopted.servers != set || v.adopted.voters != set || v.adopted.members != set || v.reconf_epoch || !serves(n, s))
			return false;
	}
	return true;
}

bool until_all_are(struct net *n, nfs4r_servers set)
{
	for (int i = 0; i < 3000 && !are_all(n, set); i++)
		net_run(n, 10);
	return are_all(n, set);
}

void expect_equal(struct net *n, nfs4r_server_id a, nfs4r_server_id b)
{
	char why[200];

	net_run(n, 10 * LEASE);
	if (!memtree_equal(n->s[a].tree, n->s[b].tree, why, sizeof(why)))
		fail_msg("server %u and %u: %s", a, b, why);
}

bool all_equal(struct net *n)
{
	uint32_t left = 1;
	char why[200];

	for (int i = 0; i < 60 && left; i++) {
		net_run(n, 1000);
		left = 0;
		for (nfs4r_server_id s = 1; s <= n->n; s++)
			left += rows(n, s) + memtree_rows(n->s[s].tree, 'T');
	}
	for (nfs4r_server_id s = 2; s <= n->n && !left; s++)
		if (!memtree_equal(n->s[1].tree, n->s[s].tree, why, sizeof(why))) {
			print_message("server 1 and %u: %s\n", s, why);
			return false;
		}
	return !left && memtree_no_cycle(n->s[1].tree);
}
