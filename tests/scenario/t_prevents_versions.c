/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The rules of the volume's protocol and disk format (log 6.16), each with and without (see prevents.h). */
#include <stdio.h>

#include "scenario/ends.h"
#include "scenario/prevents.h"

#include "lib/unit.h"

static const struct nfs4r_versions now = { NFS4R_PROTOCOL_VERSION, NFS4R_PROTOCOL_VERSION }, next = { NFS4R_PROTOCOL_VERSION, NFS4R_PROTOCOL_REHEARSED };
static const struct nfs4r_versions format_now = { NFS4R_DISK_FORMAT, NFS4R_DISK_FORMAT }, format_next = { NFS4R_DISK_FORMAT, NFS4R_DISK_FORMAT_REHEARSED };

static void release(struct net *n, nfs4r_server_id s, bool is_next)
{
	n->s[s].protocol = is_next ? next : now;
	n->s[s].disk_format = is_next ? format_next : format_now;
}

/* All have been replaced by the next release, and the upgrade is not finished. */
static void begin(struct net *n)
{
	tree(n, "d/ d/f d/g");
	n->cfg.lease_ms = LEASE;
	n->cfg.silence_ms = SILENCE;
	n->secrets = true;
	for (nfs4r_server_id s = P; s <= S; s++)
		release(n, s, false); /* a new volume would begin with the highest that all know */
	net_retune(n);
	net_run(n, 2 * LEASE);
	assert_true(replace_all(n, next.highest, format_next.highest));
}

static uint32_t protocol_of(struct net *n, nfs4r_server_id s)
{
	return nfs4r_core_adopted(n->s[s].core)->settings.protocol;
}

static bool runs(struct net *n, nfs4r_server_id s)
{
	return n->s[s].up && serves(n, s);
}

static bool nothing_new_is_said(struct net *n)
{
	bool said;

	begin(n);
	net_hold(n, P, Q, NFS4R_MSG_HEARTBEAT);
	net_run(n, LEASE / 2);
	said = !n->held || n->held->msg->heartbeat.rehearsal;
	net_pass(n);
	return !said;
}

/* S is put back to the release before, after views that the later one has written. */
static bool what_is_written_is_read_by_the_old(struct net *n)
{
	begin(n);
	net_crash(n, S);
	net_run(n, 5 * LEASE);
	net_restart(n, S, true);
	assert_true(until_back(n));
	net_crash(n, S);
	release(n, S, false);
	net_restart(n, S, true);
	net_run(n, 10 * LEASE);
	return !n->s[S].too_old && runs(n, S);
}

/* S is down, and of the old release. */
static bool nobody_is_left_behind(struct net *n)
{
	begin(n);
	net_crash(n, S);
	release(n, S, false);
	net_run(n, 5 * LEASE);
	net_finish(n, P);
	net_run(n, 5 * LEASE);
	net_restart(n, S, true);
	net_run(n, 10 * LEASE);
	return runs(n, S);
}

/* S goes back while the view is made, and hears of it only then. */
static bool nobody_goes_by_what_it_does_not_know(struct net *n)
{
	begin(n);
	for (uint32_t type = NFS4R_MSG_PREPARE; type <= NFS4R_MSG_VIEW; type++)
		net_drop(n, 0, S, type);
	net_finish(n, P);
	net_run(n, LEASE / 2);
	if (protocol_of(n, P) != NFS4R_PROTOCOL_REHEARSED)
		return false;
	net_crash(n, S);
	release(n, S, false);
	net_pass(n);
	net_restart(n, S, true);
	net_run(n, 10 * LEASE);
	return protocol_of(n, S) <= now.highest;
}

/* Another server makes the next view. */
static bool views_inherit_it(struct net *n)
{
	begin(n);
	net_finish(n, P);
	net_run(n, LEASE);
	net_crash(n, P);
	net_run(n, 5 * LEASE);
	return runs(n, Q) && protocol_of(n, Q) == NFS4R_PROTOCOL_REHEARSED;
}

static const struct prevents list[] = {
	{ "log 6.16: what a later protocol has waits for the volume", F_VERSION_EARLY, nothing_new_is_said },
	{ "log 6.16: what a later disk format has waits for the volume", F_FORMAT_EARLY, what_is_written_is_read_by_the_old },
	{ "log 6.16: an upgrade is finished when all are heard", F_FINISH_UNHEARD, nobody_is_left_behind },
	{ "log 6.16: a server accepts no view that it does not know", F_VERSION_UNKNOWN, nobody_goes_by_what_it_does_not_know },
	{ "log 6.16: a view inherits protocol and disk format", F_VERSION_ANEW, views_inherit_it },
};

int main(void)
{
	return prevents_main(list, sizeof(list) / sizeof(list[0]));
}
