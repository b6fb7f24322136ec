/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The rules of going on with the survivors (log 9.3), each with and without (see prevents.h). */
#include <stdio.h>
#include <string.h>

#include "scenario/ends.h"
#include "scenario/prevents.h"

#include "lib/unit.h"

#define TREE "d/ d/f d/g"
#define T 4
#define U 5
#define SET(a, b) (NFS4R_BIT(a) | NFS4R_BIT(b))

static void die(struct net *n, nfs4r_server_id from, nfs4r_server_id to)
{
	for (nfs4r_server_id s = from; s <= to; s++)
		net_crash(n, s);
	net_run(n, 2 * LEASE);
}

static uint64_t reconfigured(struct net *n, nfs4r_server_id s)
{
	return NFS4R_RECONF(view_of(n, s).adopted.num);
}

static bool until_reconfigured(struct net *n, nfs4r_server_id s)
{
	for (int i = 0; i < 3000 && !reconfigured(n, s); i++)
		net_run(n, 10);
	return reconfigured(n, s) == 1;
}

static bool a_word_survives_a_restart(struct net *n)
{
	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	die(n, P, S);
	if (!net_reconfigure(n, T, SET(T, U)))
		return false;
	net_crash(n, T);
	net_restart(n, T, true);
	return view_of(n, T).reconf_set == SET(T, U);
}

/* Q is dead, S is told to go on alone, and P is not off at all: it is there again just after. */
static bool told_too_early(struct net *n)
{
	ends_begin(n, TREE, NFS4R_DURABILITY_LOCAL);
	cut_off(n, S);
	net_crash(n, Q);
	net_run(n, 2 * LEASE);
	if (!net_reconfigure(n, S, NFS4R_BIT(S)))
		return false;
	net_pass(n);
	net_run(n, 10 * LEASE);
	return true;
}

static bool no_old_view_is_promised(struct net *n)
{
	return told_too_early(n) && (view_of(n, P).adopted.members & NFS4R_BIT(Q));
}

static bool nobody_left_out_has_a_lease(struct net *n)
{
	return told_too_early(n) && !serves(n, P);
}

static bool who_was_told_serves_nothing(struct net *n)
{
	return told_too_early(n) && !serves(n, S);
}

static bool who_can_be_heard_is_not_off(struct net *n)
{
	return told_too_early(n) && !reconfigured(n, S);
}

/* U hears T's PREPARE late, and was told something else before. */
static bool who_was_told_otherwise_promises_nothing(struct net *n)
{
	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	die(n, P, S);
	net_hold(n, T, U, NFS4R_MSG_PREPARE);
	if (!net_reconfigure(n, T, SET(T, U)) || !net_reconfigure(n, U, SET(T, U)))
		return false;
	for (int i = 0; i < 500 && !n->held; i++)
		net_run(n, 10);
	net_drop(n, T, U, NFS4R_MSG_HEARTBEAT);
	net_run(n, SILENCE + 10);
	net_drop(n, U, T, NFS4R_MSG_HEARTBEAT); /* T does not hear of that */
	if (!n->held || !net_reconfigure(n, U, NFS4R_BIT(U)))
		return false;
	net_pass_from(n, T, U, NFS4R_MSG_PREPARE);
	net_run(n, 100);
	return !reconfigured(n, T);
}

/* S is ahead of a seal, and T has all. */
static bool a_complete_copy_goes_on(struct net *n)
{
	char why[200];

	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	if (!lonely_update_is_lost(n))
		return false;
	n->s[S].hold_repair = true;
	net_restart(n, S, true);
	for (int i = 0; i < 500 && !n->s[S].repair; i++)
		net_run(n, 10);
	net_crash(n, U);
	die(n, P, Q);
	if (!net_reconfigure(n, S, SET(S, T)) || !net_reconfigure(n, T, SET(S, T)))
		return false;
	net_run(n, 8 * LEASE);
	if (!reconfigured(n, T)) /* it did not wait for S */
		return false;
	n->s[S].hold_repair = false;
	net_let_repair(n, S, false);
	net_run(n, 15 * LEASE);
	return reconfigured(n, S) && serves(n, S) && serves(n, T) && memtree_equal(n->s[S].tree, n->s[T].tree, why, sizeof(why));
}

static void alone(struct net *n, nfs4r_server_id s, const char *path)
{
	do_chmod(n, s, path);
	net_drop(n, s, 0, NFS4R_MSG_ENTRIES);
	chmod_(n, s, path);
	net_run(n, 200);
}

/* S and T are ahead of seals, each with something else, and whoever could have helped is lost. */
static bool copies_are_made_from_the_one_that_goes_on(struct net *n)
{
	char why[200];

	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	alone(n, S, "d/f");
	alone(n, T, "d/g");
	net_crash(n, S);
	net_crash(n, T);
	net_pass(n);
	if (keep_trying_chmod(n, Q, "d/f", 10 * LEASE) != NFS4R_OK || keep_trying_chmod(n, Q, "d/g", 10 * LEASE) != NFS4R_OK)
		return false;
	n->s[S].hold_repair = n->s[T].hold_repair = true;
	net_restart(n, S, true);
	net_restart(n, T, true);
	for (int i = 0; i < 500 && !(n->s[S].repair && n->s[T].repair); i++)
		net_run(n, 10);
	net_crash(n, U);
	die(n, P, Q);
	if (!net_reconfigure(n, S, SET(S, T)) || !net_reconfigure(n, T, SET(S, T)))
		return false;
	n->s[S].hold_repair = n->s[T].hold_repair = false;
	net_let_repair(n, S, false);
	net_let_repair(n, T, false);
	net_run(n, 20 * LEASE);
	return serves(n, S) && serves(n, T) && memtree_equal(n->s[S].tree, n->s[T].tree, why, sizeof(why));
}

static const nfs4r_servers last3 = NFS4R_BIT(5) | NFS4R_BIT(6) | NFS4R_BIT(7);

static bool all_survivors_have_to_agree(struct net *n)
{
	ends_begin(n, TREE, NFS4R_DURABILITY_COMMIT);
	die(n, 1, 4);
	if (!net_reconfigure(n, 5, last3) || !net_reconfigure(n, 6, last3))
		return false;
	net_run(n, 15 * LEASE);
	return !reconfigured(n, 5);
}

/* 7 won d/f by the acks of those who are lost; 5 and 6 know nothing of it. */
static bool what_the_lost_acked_is_over(struct net *n)
{
	struct nfs4r_oid f;
	bool there;

	ends_begin(n, TREE, NFS4R_DURABILITY_LOCAL);
	n->cfg.idle_ms = 600000; /* what is controlled stays so */
	net_retune(n);
	net_run(n, 2 * LEASE);
	f = at(n, "d/f");
	net_drop(n, 7, 5, NFS4R_MSG_PROPOSE);
	net_drop(n, 7, 6, NFS4R_MSG_PROPOSE);
	chmod_(n, 7, "d/f");
	net_run(n, 300);
	there = acting(n, 7, &f);
	die(n, 1, 4);
	net_pass(n);
	for (nfs4r_server_id s = 5; s <= 7; s++)
		if (!net_reconfigure(n, s, last3))
			return false;
	if (!there || !until_reconfigured(n, 5))
		return false;
	cut_off(n, 7);
	if (keep_trying_chmod(n, 5, "d/f", 20 * LEASE) != NFS4R_OK)
		return false;
	there = acting(n, 5, &f);
	net_pass(n);
	net_run(n, 10 * LEASE);
	return there && !acting(n, 7, &f);
}

static const struct prevents of_three[] = {
	{ "log 9.3: no old view is promised after the word", F_RECONF_OLD_VOTES, no_old_view_is_promised },
	{ "log 9.3: nobody who is left out has a lease", F_RECONF_OLD_GRANTS, nobody_left_out_has_a_lease },
	{ "log 9.3: who was told serves nothing", F_RECONF_SERVES, who_was_told_serves_nothing },
	{ "log 9.3: who can be heard is not off", F_RECONF_HEARD, who_can_be_heard_is_not_off },
};

static const struct prevents of_five[] = {
	{ "log 9.3: a word survives a restart", F_RECONF_UNSAVED, a_word_survives_a_restart },
	{ "log 9.3: who was told otherwise promises nothing", F_RECONF_ANY_SET, who_was_told_otherwise_promises_nothing },
	{ "log 9.3: a complete copy goes on", F_RECONF_INCOMPLETE, a_complete_copy_goes_on },
	{ "log 9.3: copies are made from the one that goes on", F_RECONF_KEEPS_COPY, copies_are_made_from_the_one_that_goes_on },
};

static const struct prevents of_seven[] = {
	{ "log 9.3: all survivors have to agree", F_RECONF_SOME, all_survivors_have_to_agree },
	{ "log 9.3: what the lost acked is over", F_RECONF_LOGS_GO_ON, what_the_lost_acked_is_over },
};

int main(void)
{
	return prevents_with(of_three, sizeof(of_three) / sizeof(of_three[0]), 3) + prevents_with(of_five, sizeof(of_five) / sizeof(of_five[0]), 5) +
		prevents_with(of_seven, sizeof(of_seven) / sizeof(of_seven[0]), 7);
}
