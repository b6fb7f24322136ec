/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The rule of the lists of clients (locks 7), with and without (see prevents.h). */
#include "scenario/ends.h"
#include "scenario/locks_on.h"
#include "scenario/prevents.h"

/* S says that a client begins, and nobody hears of it. If that is answered, S gives it a lock, dies, and the client comes to another server to reclaim it. */
static bool who_has_a_lock_is_listed(struct net *n)
{
	struct nfs4r_client k = { .id = { 1, 2 } };
	bool has_lock;

	locks_on(n);
	ends_begin(n, "d/ d/f", NFS4R_DURABILITY_COMMIT);
	net_run(n, 2 * LEASE);
	net_drop(n, S, 0, NFS4R_MSG_ENTRIES);
	net_client(n, S, 1, &k, true);
	net_run(n, LEASE / 2);
	has_lock = n->s[S].client_said == 1 && n->s[S].client_status == NFS4R_OK;
	net_crash(n, S);
	net_pass(n);
	if (!until_sealed(n, P, S, 10 * LEASE))
		return false;
	return !has_lock || nfs4r_core_has_client(n->s[P].core, S, k.id);
}

/* A client's lease has ended at S, and its locks are given up if the others know that it is gone. They do not; S dies, and the client reclaims what somebody else had meanwhile. */
static bool who_lost_a_lock_is_not_listed(struct net *n)
{
	struct nfs4r_client k = { .id = { 1, 2 } };
	bool given_up;

	locks_on(n);
	ends_begin(n, "d/ d/f", NFS4R_DURABILITY_COMMIT);
	net_run(n, 2 * LEASE);
	net_client(n, S, 1, &k, true);
	net_run(n, LEASE);
	net_drop(n, S, 0, NFS4R_MSG_ENTRIES);
	net_client(n, S, 2, &k, false);
	net_run(n, LEASE / 2);
	given_up = n->s[S].client_said == 2 && n->s[S].client_status == NFS4R_OK;
	net_crash(n, S);
	net_pass(n);
	if (!until_sealed(n, P, S, 10 * LEASE))
		return false;
	return !given_up || !nfs4r_core_has_client(n->s[P].core, S, k.id);
}

/* S waits to hear that its client is listed, and says meanwhile that it is gone. The first is known to all before the second. */
static bool who_is_gone_since_is_not_listed(struct net *n)
{
	struct nfs4r_client k = { .id = { 1, 2 } };

	locks_on(n);
	ends_begin(n, "d/ d/f", NFS4R_DURABILITY_COMMIT);
	net_run(n, 2 * LEASE);
	net_hold(n, P, S, NFS4R_MSG_POSITIONS);
	net_hold(n, Q, S, NFS4R_MSG_POSITIONS);
	net_client(n, S, 1, &k, true);
	net_run(n, LEASE / 4);
	net_drop(n, S, 0, NFS4R_MSG_ENTRIES);
	net_client(n, S, 2, &k, false);
	net_pass_from(n, P, S, NFS4R_MSG_POSITIONS);
	net_run(n, LEASE / 4);
	return n->s[S].client_said == 1 && n->s[S].client_status == NFS4R_DELAY;
}

static const struct prevents list[] = {
	{ "locks 7: a client is listed at a majority before its first lock", F_CLIENT_UNHELD, who_has_a_lock_is_listed },
	{ "locks 7: a client is gone at a majority before its locks are given up", F_CLIENT_UNHELD, who_lost_a_lock_is_not_listed },
	{ "locks 7: a client that is gone since is not listed", F_CLIENT_GONE_SINCE, who_is_gone_since_is_not_listed },
};

int main(void)
{
	return prevents_main(list, sizeof(list) / sizeof(list[0]));
}
