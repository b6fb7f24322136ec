/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The rules about an entry that one server cannot apply (log 4.11, 6.12), each with and without (see prevents.h). */
#include <stdio.h>
#include <string.h>

#include "scenario/ends.h"
#include "scenario/prevents.h"

#include "lib/unit.h"

#define TREE "d/ d/f"

/* Everybody waits until S has applied it: for ever. */
static bool nobody_waits_for_who_cannot(struct net *n)
{
	ends_begin(n, TREE, NFS4R_DURABILITY_LOCAL);
	net_run(n, 4 * LEASE);
	n->s[S].cannot = at(n, "d/f");
	chmod_(n, P, "d/f");
	return until_removed(n, P, S, 4 * LEASE) && keep_trying_chmod(n, Q, "d/f", 4 * LEASE) == NFS4R_OK;
}

/* It is near the end of all logs, and would be added and removed for ever; each time the others pause. */
static bool who_cannot_is_not_added(struct net *n)
{
	uint64_t num;

	ends_begin(n, TREE, NFS4R_DURABILITY_LOCAL);
	net_run(n, 4 * LEASE);
	n->s[S].cannot = at(n, "d/f");
	chmod_(n, P, "d/f");
	if (!until_removed(n, P, S, 4 * LEASE))
		return false;
	net_run(n, LEASE);
	num = view_of(n, P).adopted.num;
	net_run(n, 20 * LEASE);
	return view_of(n, P).adopted.num == num;
}

/* Q has begun an entry of S, in vain, and nobody else gets it. S dies, and its log ends before that. What there is of it at Q is in no entry. */
static bool what_failed_may_have_left_something(struct net *n)
{
	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	if (keep_trying_chmod(n, S, "d/f", 4 * LEASE) != NFS4R_OK)
		return false;
	net_run(n, 100);
	n->s[Q].cannot = at(n, "d/f");
	net_drop(n, S, P, NFS4R_MSG_ENTRIES);
	net_drop(n, Q, P, NFS4R_MSG_ENTRIES);
	chmod_(n, S, "d/f");
	net_run(n, 100);
	net_crash(n, S);
	net_pass(n);
	if (!n->s[Q].failed || !until_sealed(n, Q, S, 20 * LEASE))
		return false;
	n->s[Q].cannot = (struct nfs4r_oid){ { 0 } };
	net_run(n, 4 * LEASE);
	return n->s[Q].repairs == 1 && serves(n, Q);
}

static bool is_inexact(struct net *n, nfs4r_server_id s)
{
	struct nfs4r_oid f = at(n, "d/f");
	struct nfs4r_fuzzy_object left;

	return nfs4r_core_exactness(n->s[s].core, &f, &left) == NFS4R_INEXACT;
}

/* S and Q have begun an entry of P in vain when they promise to end P's log. They give it back. No view comes of that: it comes again, and is applied. */
static bool what_was_given_back_comes_again(struct net *n)
{
	nfs4r_lsn last;

	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	net_run(n, 4 * LEASE);
	n->s[S].cannot = n->s[Q].cannot = at(n, "d/f");
	chmod_(n, P, "d/f");
	net_run(n, 100);
	last = nfs4r_core_own_end(n->s[P].core);
	net_drop(n, 0, 0, NFS4R_MSG_PROMISE);
	net_drop(n, P, 0, 0);
	n->s[S].hold_repair = n->s[Q].hold_repair = true; /* of each from the other, in vain */
	for (int i = 0; i < 800 && !(is_inexact(n, S) && is_inexact(n, Q)); i++)
		net_run(n, LEASE / 100);
	assert_true(is_inexact(n, S) && is_inexact(n, Q));
	n->s[S].cannot = n->s[Q].cannot = (struct nfs4r_oid){ { 0 } };
	net_pass(n);
	for (nfs4r_server_id s = 1; s <= 3; s++) {
		n->s[s].hold_repair = false;
		if (n->s[s].repair)
			net_let_repair(n, s, true);
	}
	for (int i = 0; i < 2000 && !(memtree_applied(n->s[S].tree, P) == last && memtree_applied(n->s[Q].tree, P) == last); i++)
		net_run(n, LEASE / 100);
	return !is_inexact(n, S) && !is_inexact(n, Q) && until_back(n) && all_equal(n);
}

/*
 * S passes over an entry, since the file is removed later by an entry that nobody else gets. Before S has that, too, it crashes, P dies, and P's log ends before the removal.
 * Now S has the file without what it passed over.
 */
static bool what_was_passed_over_is_missing(struct net *n)
{
	struct nfs4r_oid d, f;
	struct nfs4r_fuzzy_object left;

	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	net_run(n, 4 * LEASE);
	d = at(n, "d");
	f = n->s[S].cannot = at(n, "d/f");
	chmod_(n, P, "d/f");
	if (!until_removed(n, P, S, 4 * LEASE) || !until_removed(n, S, S, LEASE))
		return false;
	net_run(n, LEASE);
	net_drop(n, P, Q, NFS4R_MSG_ENTRIES);
	net_drop(n, S, Q, NFS4R_MSG_ENTRIES);
	op_name(n, P, NFS4R_OP_REMOVE, &d, "f");
	net_run(n, RTT(n));
	n->s[S].hold_apply = true;
	net_run(n, LEASE + LEASE / 2);
	if (!stats(n, S).entries_passed || !net_jobs(n, S))
		return false;
	net_crash(n, P);
	net_crash(n, S);
	n->s[S].hold_apply = false;
	n->s[S].cannot = (struct nfs4r_oid){ { 0 } };
	net_pass(n);
	net_restart(n, S, true);
	if (!until_sealed(n, S, P, 20 * LEASE))
		return false;
	net_run(n, 4 * LEASE);
	return serves(n, S) && n->s[S].repairs > 0 && nfs4r_core_exactness(n->s[S].core, &f, &left) == NFS4R_EXACT;
}

/* S has halted, said so, and says nothing more. Its lease is what the others have to wait for, and not the silence, which may be long. */
static bool nobody_waits_for_the_silence_of_who_halted(struct net *n)
{
	struct nfs4r_msg m = { .type = NFS4R_MSG_HALTED, .halted = { NFS4R_NOSPC, false } };

	ends_begin(n, TREE, NFS4R_DURABILITY_LOCAL);
	n->cfg.silence_ms = 10 * SILENCE;
	net_retune(n);
	net_run(n, 6 * LEASE);
	net_msg(n, S, P, &m);
	net_msg(n, S, Q, &m);
	net_run(n, RTT(n));
	net_drop(n, S, 0, 0);
	if (!until_removed(n, P, S, 3 * LEASE) || !view_of(n, P).peer[S].halted || view_of(n, P).peer[S].trouble != NFS4R_NOSPC)
		return false;
	return keep_trying_chmod(n, Q, "d/f", 4 * LEASE) == NFS4R_OK;
}

/* P has halted and stays connected. Of its last update only S has heard, and Q hears of that: S can give it, and P gives nothing more. */
static bool what_a_halted_server_wrote_comes_from_others(struct net *n)
{
	struct nfs4r_msg m = { .type = NFS4R_MSG_HALTED, .halted = { NFS4R_NOSPC, false } };
	nfs4r_lsn last;

	ends_begin(n, TREE, NFS4R_DURABILITY_LOCAL);
	if (keep_trying_chmod(n, P, "d/f", 4 * LEASE) != NFS4R_OK)
		return false;
	net_run(n, 100);
	net_drop(n, P, Q, NFS4R_MSG_ENTRIES);
	net_drop(n, S, Q, NFS4R_MSG_ENTRIES);
	chmod_(n, P, "d/f");
	net_run(n, RTT(n));
	last = nfs4r_core_own_end(n->s[P].core);
	assert_true(memtree_applied(n->s[S].tree, P) == last && memtree_applied(n->s[Q].tree, P) < last);
	net_msg(n, P, Q, &m);
	net_msg(n, P, S, &m);
	net_run(n, RTT(n));
	net_pass(n);
	net_drop(n, P, 0, 0);
	net_run(n, 4 * LEASE);
	return memtree_applied(n->s[Q].tree, P) == last;
}

/* S has begun to apply P's update, and its disk stands still: no call fails. */
static bool nobody_waits_for_a_disk_that_stands_still(struct net *n)
{
	ends_begin(n, TREE, NFS4R_DURABILITY_LOCAL);
	net_run(n, 4 * LEASE);
	n->s[S].hold_apply = true;
	chmod_(n, P, "d/f");
	if (!until_removed(n, P, S, 5 * SILENCE + 4 * LEASE))
		return false;
	return keep_trying_chmod(n, Q, "d/f", 4 * LEASE) == NFS4R_OK;
}

static const struct prevents list[] = {
	{ "log 6.12: nobody waits for a server that cannot apply an entry", F_STUCK_STAYS, nobody_waits_for_who_cannot },
	{ "log 6.12: a server that cannot apply an entry is not added", F_STUCK_RETURNS, who_cannot_is_not_added },
	{ "log 4.11: what failed and is given back may have left something", F_BEGUN_IS_EXACT, what_failed_may_have_left_something },
	{ "log 4.11: what was given back and is applied after all is exact", F_GIVEN_BACK_STAYS, what_was_given_back_comes_again },
	{ "log 4.13: what was passed over is missing until the later entry is here", F_PASSED_IS_EXACT, what_was_passed_over_is_missing },
	{ "log 4.18: nobody waits for a disk that stands still", F_HUNG_WAITS, nobody_waits_for_a_disk_that_stands_still },
	{ "log 4.15: nobody waits for the silence of a server that has halted", F_HALTED_UNHEARD, nobody_waits_for_the_silence_of_who_halted },
	{ "log 4.15: what a halted server wrote comes from others", F_HALTED_UNHEARD, what_a_halted_server_wrote_comes_from_others },
};

int main(void)
{
	return prevents_main(list, sizeof(list) / sizeof(list[0]));
}
