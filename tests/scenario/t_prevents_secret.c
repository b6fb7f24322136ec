/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The rules of the volume's secret (log 6.13), each with and without (see prevents.h). */
#include <stdio.h>
#include <string.h>

#include "scenario/prevents.h"
#include "scenario/trees.h"

#include "lib/unit.h"

#define LEASE 1000
#define SILENCE 1000

static const uint8_t none[NFS4R_SECRET];

static void views(struct net *n)
{
	tree(n, "d/ d/f d/g");
	n->cfg.lease_ms = LEASE;
	n->cfg.silence_ms = SILENCE;
	n->secrets = true;
	net_retune(n);
	net_run(n, 2 * LEASE);
}

static const uint8_t *secret_of(struct net *n, nfs4r_server_id s)
{
	return nfs4r_core_adopted(n->s[s].core)->secret;
}

static bool has_one(struct net *n, nfs4r_server_id s)
{
	return memcmp(secret_of(n, s), none, sizeof(none)) != 0;
}

static bool serves(struct net *n, nfs4r_server_id s)
{
	return nfs4r_core_lease_until(n->s[s].core) > n->now;
}

/* Another server makes the next view: clients' handles are good all the same. */
static bool handles_outlive_views(struct net *n)
{
	uint8_t secret[NFS4R_SECRET];

	views(n);
	memcpy(secret, secret_of(n, Q), sizeof(secret));
	net_crash(n, P);
	net_run(n, 5 * LEASE);
	return serves(n, Q) && memcmp(secret, none, sizeof(none)) != 0 && memcmp(secret, secret_of(n, Q), sizeof(secret)) == 0;
}

/* Q asks for a view as it should, but for the secret, and says that it is adopted. */
static bool nobody_gives_the_volume_another(struct net *n)
{
	struct nfs4r_msg prepare = { .type = NFS4R_MSG_PREPARE }, view = { .type = NFS4R_MSG_ACCEPT };
	uint8_t secret[NFS4R_SECRET];

	views(n);
	memcpy(secret, secret_of(n, P), sizeof(secret));
	view.view = *nfs4r_core_adopted(n->s[Q].core);
	view.view.base = view.view.num;
	view.view.num = prepare.prepare.num = (view.view.base / NFS4R_VIEW_STEP + 1) * NFS4R_VIEW_STEP + Q;
	view.view.secret[0] ^= 1;
	for (nfs4r_server_id s = P; s <= S; s += S - P) {
		net_msg(n, Q, s, &prepare);
		net_msg(n, Q, s, &view);
		view.type = NFS4R_MSG_VIEW;
		net_msg(n, Q, s, &view);
		view.type = NFS4R_MSG_ACCEPT;
	}
	net_run(n, 8 * LEASE);
	for (nfs4r_server_id s = P; s <= S; s++)
		if (memcmp(secret, secret_of(n, s), sizeof(secret)) != 0 || !serves(n, s))
			return false;
	return true;
}

static bool no_handle_without_a_secret(struct net *n)
{
	net_drop(n, 0, 0, NFS4R_MSG_PREPARE);
	views(n);
	for (nfs4r_server_id s = P; s <= S; s++)
		if (serves(n, s) && !has_one(n, s))
			return false;
	return true;
}

/* P's disk is lost before it hears of anybody: the others have a secret. */
static bool who_has_one_is_asked_first(struct net *n)
{
	uint8_t secret[NFS4R_SECRET];

	tree(n, "d/ d/f d/g");
	n->secrets = true;
	net_retune(n);
	memcpy(secret, secret_of(n, Q), sizeof(secret));
	net_crash(n, P);
	net_lose_disk(n, P, NULL, 0);
	net_restart(n, P, true);
	net_run(n, LEASE);
	return memcmp(secret_of(n, P), secret_of(n, Q), NFS4R_SECRET) == 0 && memcmp(secret, secret_of(n, Q), NFS4R_SECRET) == 0;
}

static const struct prevents list[] = {
	{ "log 6.13: a view inherits the secret", F_SECRET_ANEW, handles_outlive_views },
	{ "log 6.13: nobody accepts a view with another secret", F_SECRET_ANEW, nobody_gives_the_volume_another },
	{ "log 6.13: without a secret nothing is answered", F_SECRET_UNDECIDED, no_handle_without_a_secret },
	{ "log 6.13: with a fixed view all are asked first", F_SECRET_UNHEARD, who_has_one_is_asked_first },
};

int main(void)
{
	return prevents_main(list, sizeof(list) / sizeof(list[0]));
}
