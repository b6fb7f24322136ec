/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The rules about servers without their memory (log 8.6; log 4.7: who waits for them; log 5.1: who counts), each with and without (see prevents.h): what an image that was put back says,
 * who a new store has to hear, when it was removed, and what becomes of its log, and of what it was asked.
 */
#include <stdio.h>
#include <string.h>

#include "scenario/ends.h"
#include "scenario/prevents.h"

#include "lib/unit.h"

static void memory(struct net *n, enum nfs4r_durability durability)
{
	ends_begin(n, "d/ d/f d/g", durability);
}

/* S acked P's claim, which Q did not hear of; the image of before does not know that, and Q asks. */
static bool no_second_primary(struct net *n, bool deaf)
{
	struct memtree *image;
	struct nfs4r_oid f;
	uint64_t inc;

	memory(n, NFS4R_DURABILITY_COMMIT);
	f = at(n, "d/f");
	image = memtree_clone(n->s[S].tree);
	inc = n->s[S].inc;
	net_crash(n, S);
	net_restart(n, S, true);
	net_run(n, LEASE);
	n->s[Q].no_checkpoint = true;
	net_hold(n, P, Q, NFS4R_MSG_PROPOSE);
	chmod_(n, P, "d/f");
	net_run(n, 3 * RTT(n));
	if (!acting(n, P, &f))
		return false;
	net_drop(n, P, 0, 0);
	net_drop(n, 0, P, 0);
	if (deaf)
		net_hold(n, Q, S, NFS4R_MSG_HEARTBEAT);
	net_crash(n, S);
	net_lose_disk(n, S, image, inc);
	net_restart(n, S, true);
	if (!deaf)
		net_run(n, 2 * RTT(n));
	chmod_(n, Q, "d/f");
	net_run(n, LEASE / 4);
	return !acting(n, Q, &f);
}

static bool an_image_hears_before_it_says_known(struct net *n)
{
	return no_second_primary(n, true);
}

static bool who_forgot_acks_nothing(struct net *n)
{
	return no_second_primary(n, false);
}

/* In the image S only asks for the file. It won it, and updated it. */
static bool an_image_takes_nothing_back(struct net *n)
{
	struct memtree *image;
	struct nfs4r_oid f;
	uint64_t inc;

	memory(n, NFS4R_DURABILITY_LOCAL);
	f = at(n, "d/f");
	n->s[P].no_checkpoint = true;
	net_hold(n, 0, S, NFS4R_MSG_ACK);
	chmod_(n, S, "d/f");
	image = memtree_clone(n->s[S].tree);
	inc = n->s[S].inc;
	net_pass(n);
	net_run(n, 4 * RTT(n));
	net_crash(n, S);
	net_restart(n, S, true);
	net_run(n, LEASE);
	net_crash(n, S);
	net_lose_disk(n, S, image, inc);
	net_restart(n, S, true);
	net_run(n, LEASE / 4);
	return controls(n, P, S, &f);
}

/* P never met S: the row that says so is taken from its disk. Q did, and cannot be heard. */
static bool a_new_store_hears_all(struct net *n)
{
	struct nfs4r_put row = { .del = true, .key_len = 3, .key = { 'I', 0, S } };

	memory(n, NFS4R_DURABILITY_COMMIT);
	net_crash(n, P);
	memtree_put(n->s[P].tree, &row);
	net_drop(n, Q, 0, 0);
	net_drop(n, 0, Q, 0);
	net_crash(n, S);
	net_lose_disk(n, S, NULL, 0);
	net_restart(n, P, true);
	net_restart(n, S, true);
	net_run(n, 2 * SILENCE);
	return view_of(n, S).memory != NFS4R_MEMORY_KNOWN;
}

/*
 * S was removed and came back by P's view, which Q accepted and does not know to be adopted. Then S loses its disk, hears of the removal from
 * Q, and then of the return, which was not its own.
 */
static bool an_older_removal_is_none(struct net *n)
{
	uint64_t back;

	memory(n, NFS4R_DURABILITY_COMMIT);
	net_drop(n, S, 0, 0);
	net_drop(n, 0, S, 0);
	net_run(n, 4 * LEASE);
	net_hold(n, P, Q, NFS4R_MSG_VIEW);
	net_hold(n, S, Q, NFS4R_MSG_VIEW);
	net_hold(n, Q, 0, NFS4R_MSG_PREPARE);
	net_pass_from(n, S, 0, 0);
	net_pass_from(n, 0, S, 0);
	for (int i = 0; i < 4000 && (view_of(n, S).adopted.num != view_of(n, P).adopted.num || !(view_of(n, P).adopted.members & NFS4R_BIT(S))); i++)
		net_run(n, 1);
	back = view_of(n, P).adopted.num;
	if (!(view_of(n, P).adopted.members & NFS4R_BIT(S)) || view_of(n, Q).adopted.num == back)
		return false;
	net_hold(n, P, S, 0);
	net_hold(n, P, Q, NFS4R_MSG_PREPARE);
	empty_disk(n, S);
	net_run(n, LEASE / 2);
	net_pass_from(n, P, S, 0);
	net_run(n, LEASE / 4);
	return !(view_of(n, S).memory == NFS4R_MEMORY_KNOWN && view_of(n, S).adopted.num == back);
}

/* S controls a file that it updated: its log is not ended without being given up. */
static bool what_it_controlled_is_not_given_up(struct net *n)
{
	memory(n, NFS4R_DURABILITY_LOCAL);
	n->s[P].no_checkpoint = true;
	do_chmod(n, S, "d/f");
	empty_disk(n, S);
	net_run(n, 10 * LEASE);
	return view_of(n, P).adopted.open & NFS4R_BIT(S);
}

/* The same, made anew too early: it comes back, and the log that others know goes on from where nobody was. */
static bool a_copy_is_not_made_anew_too_early(struct net *n)
{
	memory(n, NFS4R_DURABILITY_LOCAL);
	n->s[P].no_checkpoint = true;
	do_chmod(n, S, "d/f");
	empty_disk(n, S);
	net_run(n, 10 * LEASE);
	return !n->s[S].repairs;
}

static bool claim_numbers_are_new(struct net *n)
{
	memory(n, NFS4R_DURABILITY_COMMIT);
	do_chmod(n, S, "d/f");
	do_chmod(n, S, "d/g");
	net_quiet(n);
	empty_disk(n, S);
	net_run(n, 10 * LEASE);
	return serves(n, S) && finish(n, chmod_(n, S, "d/f")) == NFS4R_OK;
}

static bool who_forgot_is_removed(struct net *n)
{
	memory(n, NFS4R_DURABILITY_COMMIT);
	empty_disk(n, S);
	net_run(n, 4 * SILENCE); /* one that does not get ready is removed after five */
	return serves(n, S);
}

static bool starts_are_remembered(struct net *n)
{
	memory(n, NFS4R_DURABILITY_COMMIT);
	do_chmod(n, S, "d/f");
	empty_disk(n, S);
	net_run(n, LEASE / 2);
	return view_of(n, S).memory == NFS4R_MEMORY_FORGOT;
}

/* Q asked S, which had a new disk, and made the file itself when the log of S had ended. S has the file with its new copy, but not the request. */
static bool a_copy_of_a_request_is_not_executed_after_a_seal(struct net *n)
{
	struct nfs4r_oid d, x;
	struct client *c;

	memory(n, NFS4R_DURABILITY_COMMIT);
	d = at(n, "d");
	n->s[P].no_checkpoint = true;
	do_create(n, S, "d", "a"); /* S controls d */
	empty_disk(n, S);
	n->s[S].hold_repair = true;
	net_hold(n, Q, S, NFS4R_MSG_FORWARD);
	c = create(n, Q, "d", "b");
	net_run(n, 2 * RTT(n));
	assert_non_null(n->held);
	assert_int_equal(finish(n, c), NFS4R_OK);
	n->s[P].no_checkpoint = false;
	net_stable(n, P);
	n->s[S].hold_repair = false;
	net_let_repair(n, S, false); /* it takes the copy of now */
	net_run(n, 10 * LEASE);
	assert_true(serves(n, S));
	assert_int_equal(finish(n, unlink_(n, S, "d", "b")), NFS4R_OK);
	net_pass_from(n, Q, S, NFS4R_MSG_FORWARD);
	net_run(n, 4 * RTT(n));
	return !memtree_lookup(n->s[S].tree, &d, "b", &x);
}

/* S is about to undo what it alone had, with P's copy. Then P comes back with a new disk, on which there is nothing. */
static bool a_copy_that_is_none_is_not_given(struct net *n)
{
	struct nfs4r_facts facts;
	struct nfs4r_oid f;

	memory(n, NFS4R_DURABILITY_COMMIT);
	f = at(n, "d/f");
	if (!about_to_undo(n))
		return false;
	empty_disk(n, P);
	net_let_repair(n, S, true);
	if (!memtree_facts(n->s[S].tree, &f, &facts))
		return false;
	net_pass(n);
	return until_back(n) && all_equal(n);
}

/*
 * P has made a write that Q has on its disk, and S not yet: that is enough for an answer when Q, which is back, says that it remembers. Nothing else happens then that
 * P would look at the answer for.
 */
static bool an_answer_hears_who_remembers(struct net *n)
{
	struct client *c;

	memory(n, NFS4R_DURABILITY_MAJORITY);
	do_chmod(n, P, "d/f");
	n->s[S].no_checkpoint = true;
	net_crash(n, Q);
	net_drop(n, P, Q, NFS4R_MSG_HEARTBEAT);
	net_restart(n, Q, true);
	c = write_(n, P, "d/f");
	net_run(n, LEASE / 2);
	if (c->done)
		return false;
	net_pass(n);
	net_run(n, 10 * LEASE);
	return c->done && c->op.status == NFS4R_OK;
}

/*
 * S is outside, and its own log has ended when its machine crashes. An image of P's disk is put back that has an update of P which nobody else has. P has
 * forgotten, and gives nothing of its own log before that has ended; that takes S, which recovers first.
 */
static bool who_recovers_does_not_wait_for_who_forgot(struct net *n)
{
	struct memtree *image;
	uint64_t inc;

	memory(n, NFS4R_DURABILITY_COMMIT);
	net_drop(n, S, 0, NFS4R_MSG_HEARTBEAT);
	if (!until_removed(n, S, S, 8 * LEASE))
		return false;
	net_run(n, LEASE);
	net_crash(n, S);
	net_drop(n, P, Q, NFS4R_MSG_ENTRIES);
	chmod_(n, P, "d/f");
	net_run(n, LEASE / 2);
	image = memtree_clone(n->s[P].tree);
	inc = n->s[P].inc;
	chmod_(n, P, "d/f");
	net_run(n, LEASE);
	assert_true(memtree_applied(image, P) > memtree_applied(n->s[Q].tree, P));
	net_crash(n, P);
	net_lose_disk(n, P, image, inc);
	net_pass(n);
	net_restart(n, P, true);
	net_run(n, LEASE / 2);
	assert_int_equal(view_of(n, P).memory, NFS4R_MEMORY_FORGOT);
	net_restart(n, S, false);
	return until_back(n) && all_equal(n);
}

static const struct prevents list[] = {
	{ "log 8.6: who hears nothing of itself does not say that it remembers", F_KNOWN_AT_ONCE, an_image_hears_before_it_says_known },
	{ "log 8.6: who forgot acks nothing", F_FORGOT_ACKS, who_forgot_acks_nothing },
	{ "log 8.6: an older image releases nothing", F_FORGOT_RELEASES, an_image_takes_nothing_back },
	{ "log 8.6: a new store hears all", F_NEW_HEARS_SOME, a_new_store_hears_all },
	{ "log 8.6: a removal of before is none", F_OUTSIDE_AT_ONCE, an_older_removal_is_none },
	{ "log 8.6: claims keep the log open", F_SEAL_CLAIMED, what_it_controlled_is_not_given_up },
	{ "log 8.6: no new copy before the log has ended", F_REPAIR_UNSEALED, a_copy_is_not_made_anew_too_early },
	{ "log 8.6: claim numbers are new", F_SEQ_AGAIN, claim_numbers_are_new },
	{ "log 8.6: who forgot is removed", F_FORGOT_STAYS, who_forgot_is_removed },
	{ "log 8.6: starts are remembered", F_STARTS_FORGOTTEN, starts_are_remembered },
	{ "log 8.6: a copy that is none is not given", F_GIVES_HALF_COPY, a_copy_that_is_none_is_not_given },
	{ "log 4.7: who recovers does not wait for who forgot", F_FORGOT_AWAITED, who_recovers_does_not_wait_for_who_forgot },
	{ "log 5.1: an answer hears who remembers", F_KNOWN_UNNOTICED, an_answer_hears_who_remembers },
	{ "log 5.6: no request from before a seal", F_OLD_REQUEST, a_copy_of_a_request_is_not_executed_after_a_seal },
};

int main(void)
{
	return prevents_main(list, sizeof(list) / sizeof(list[0]));
}
