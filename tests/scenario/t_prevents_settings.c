/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The rules of the volume's settings (log 6.17), each with and without (see prevents.h). */
#include <stdio.h>

#include "scenario/ends.h"
#include "scenario/prevents.h"

#include "lib/unit.h"

#define LONG 8000
#define SHORT 400

static const struct nfs4r_volume_keys *keys(struct net *n, nfs4r_server_id s)
{
	return &nfs4r_core_adopted(n->s[s].core)->settings.keys;
}

/* All have one view that says the settings, which comes of an administrator's word at P. */
static void begin(struct net *n, uint32_t lease, enum nfs4r_durability durability)
{
	tree(n, "d/ d/f d/g");
	n->cfg.lease_ms = lease;
	n->cfg.silence_ms = LONG;
	n->cfg.idle_ms = 200;
	n->cfg.durability = durability;
	n->secrets = true;
	net_retune(n);
	net_run(n, 2 * LONG);
}

/* P and Q go by the new value, and S does not hear of it. */
static void set_behind(struct net *n, enum nfs4r_volume_key key, uint32_t value)
{
	net_drop(n, 0, S, NFS4R_MSG_VIEW);
	net_drop(n, 0, S, NFS4R_MSG_ACCEPT);
	net_drop(n, 0, S, NFS4R_MSG_ACCEPTED);
	net_set(n, P, key, value);
	net_run(n, 20 * RTT(n));
}

/* Does @s still count on its lease when the others go on without it? */
static bool waits_for(struct net *n, nfs4r_server_id at, nfs4r_server_id gone, uint64_t ms)
{
	return until_removed(n, at, gone, ms) && !serves(n, gone);
}

/* P goes by a lease that is much longer than what S has granted it, and hears no grant of Q. Then P hears nobody any more. */
static bool a_lease_runs_as_long_as_the_voter_waits(struct net *n)
{
	begin(n, SHORT, NFS4R_DURABILITY_LOCAL);
	net_drop(n, Q, P, NFS4R_MSG_GRANT);
	set_behind(n, NFS4R_VOLUME_LEASE, LONG);
	net_run(n, LONG / 2);
	if (keys(n, P)->lease_ms != LONG || keys(n, S)->lease_ms != SHORT)
		return false;
	net_drop(n, P, 0, 0);
	net_drop(n, 0, P, 0);
	net_run(n, 3 * SHORT);
	return !serves(n, P);
}

/* Q has granted S a long lease, and then a short one that does not arrive. S is cut off. */
static bool a_longer_grant_is_waited_for(struct net *n)
{
	begin(n, LONG, NFS4R_DURABILITY_LOCAL);
	net_drop(n, Q, S, NFS4R_MSG_GRANT);
	net_drop(n, P, S, NFS4R_MSG_GRANT);
	set_behind(n, NFS4R_VOLUME_LEASE, SHORT);
	net_run(n, LONG / 4 + SHORT); /* S sends a HEARTBEAT */
	net_set(n, P, NFS4R_VOLUME_SILENCE, SHORT);
	net_run(n, 20 * RTT(n));
	if (!serves(n, S))
		return false;
	net_drop(n, S, 0, 0);
	net_drop(n, 0, S, 0);
	return waits_for(n, P, S, 4 * LONG);
}

/* The same, and P and Q start anew. */
static bool a_start_waits_for_a_longer_grant(struct net *n)
{
	begin(n, LONG, NFS4R_DURABILITY_LOCAL);
	net_drop(n, Q, S, NFS4R_MSG_GRANT);
	net_drop(n, P, S, NFS4R_MSG_GRANT);
	set_behind(n, NFS4R_VOLUME_LEASE, SHORT);
	net_set(n, P, NFS4R_VOLUME_SILENCE, SHORT);
	net_run(n, SHORT / 2);
	if (!serves(n, S))
		return false;
	net_drop(n, S, 0, 0);
	net_drop(n, 0, S, 0);
	for (nfs4r_server_id s = P; s <= Q; s++) {
		net_crash(n, s);
		net_restart(n, s, true);
	}
	return waits_for(n, P, S, 4 * LONG);
}

/* Disks are slow when a longer lease is adopted: a loss of power may take it back. */
static bool a_longer_lease_is_on_disk_first(struct net *n)
{
	uint32_t said = 0;

	begin(n, SHORT, NFS4R_DURABILITY_LOCAL);
	set_behind(n, NFS4R_VOLUME_LEASE, SHORT + 1);
	net_pass(n);
	net_run(n, SHORT);
	n->s[Q].slow_disk = true;
	net_drop(n, P, Q, NFS4R_MSG_ACCEPT); /* it hears of the view when that is adopted */
	net_set(n, P, NFS4R_VOLUME_LEASE, LONG);
	net_run(n, SHORT);
	if (keys(n, Q)->lease_ms != LONG)
		return false;
	net_hold(n, Q, P, NFS4R_MSG_GRANT);
	net_run(n, LONG / 2);
	if (n->held)
		said = n->held->msg->grant.lease_ms;
	net_pass(n);
	return said && said < LONG;
}

/* S has answered an update that nobody else has, by `local`, when the others go by `commit`. It is cut off and removed. */
static bool what_local_answered_is_not_ended(struct net *n)
{
	bool kept;

	begin(n, LEASE, NFS4R_DURABILITY_LOCAL);
	net_set(n, P, NFS4R_VOLUME_SILENCE, SILENCE);
	net_run(n, LEASE);
	lonely_update(n, 1);
	set_behind(n, NFS4R_VOLUME_DURABILITY, NFS4R_DURABILITY_COMMIT);
	if (keys(n, P)->durability != NFS4R_DURABILITY_COMMIT)
		return false;
	cut_off(n, S);
	kept = until_removed(n, P, S, 10 * LEASE) && !until_sealed(n, P, S, 10 * LEASE);
	return kept;
}

/* S dies, and its log ends. Is @c, which makes d/i, not answered, or still there? */
static bool is_kept(struct net *n, const struct client *c)
{
	struct nfs4r_oid d = at(n, "d"), x;
	bool told;

	net_run(n, 20 * RTT(n));
	told = c->done && c->op.status == NFS4R_OK;
	net_crash(n, S);
	net_pass(n);
	if (!until_sealed(n, P, S, 10 * LEASE))
		return false;
	net_run(n, LEASE);
	return !told || memtree_lookup(n->s[P].tree, &d, "i", &x);
}

/* S executes an update while all adopt `majority` in place of `commit`, and nobody hears of the update. */
static bool an_answer_goes_by_the_view_of_then(struct net *n)
{
	struct client *c;
	struct nfs4r_oid d;

	begin(n, LEASE, NFS4R_DURABILITY_COMMIT);
	net_set(n, P, NFS4R_VOLUME_SILENCE, SILENCE);
	net_run(n, LEASE);
	d = at(n, "d");
	finish(n, op_name(n, S, NFS4R_OP_CREATE, &d, "h"));
	n->s[S].hold_exec = true;
	c = op_name(n, S, NFS4R_OP_CREATE, &d, "i");
	net_run(n, 1);
	net_set(n, P, NFS4R_VOLUME_DURABILITY, NFS4R_DURABILITY_MAJORITY);
	net_run(n, 20 * RTT(n));
	if (keys(n, S)->durability != NFS4R_DURABILITY_MAJORITY || c->done)
		return false;
	net_drop(n, S, 0, NFS4R_MSG_ENTRIES);
	n->s[S].hold_exec = false;
	net_let_execute(n, S);
	return is_kept(n, c);
}

/* The files say `local`, and the volume has `majority`. S answers an update that nobody hears of. */
static bool files_promise_nothing(struct net *n)
{
	struct nfs4r_oid d;

	begin(n, LEASE, NFS4R_DURABILITY_LOCAL);
	net_set(n, P, NFS4R_VOLUME_SILENCE, SILENCE);
	net_run(n, LEASE);
	net_set(n, P, NFS4R_VOLUME_DURABILITY, NFS4R_DURABILITY_MAJORITY);
	net_run(n, 10 * LEASE);
	if (!keys(n, S)->ends)
		return false;
	d = at(n, "d");
	finish(n, op_name(n, S, NFS4R_OP_CREATE, &d, "h"));
	net_drop(n, S, 0, NFS4R_MSG_ENTRIES);
	return is_kept(n, op_name(n, S, NFS4R_OP_CREATE, &d, "i"));
}

static const struct prevents list[] = {
	{ "log 6.17: a lease runs as long as its voter waits", F_LEASE_BY_VIEW, a_lease_runs_as_long_as_the_voter_waits },
	{ "log 6.17: a shorter grant does not end the wait for a longer one", F_GRANT_SHORTENS, a_longer_grant_is_waited_for },
	{ "log 6.17: who starts waits for the longest lease that it may have granted", F_START_SHORT, a_start_waits_for_a_longer_grant },
	{ "log 6.17: a longer lease is on disk before it is granted", F_GRANT_UNSAVED, a_longer_lease_is_on_disk_first },
	{ "log 6.17: no log ends that may have answers of `local` which only its server has", F_ENDS_AT_ONCE, what_local_answered_is_not_ended },
	{ "log 6.17: an answer goes by the Durability of when it is given", F_ANSWERS_BY_OLD, an_answer_goes_by_the_view_of_then },
	{ "log 6.17: an answer goes by the view and not by the file", F_DURABILITY_OF_FILE, files_promise_nothing },
};

int main(void)
{
	return prevents_main(list, sizeof(list) / sizeof(list[0]));
}
