/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The rules of gaps (docs/protocol/locks.md, locks 5 and 8 to 11), each with and without (see prevents.h). */
#include "scenario/prevents.h"
#include "scenario/byte_locks.h"
#include "scenario/ends.h"
#include "scenario/locks_on.h"

#include <stdio.h>
#include <string.h>

#include "lib/unit.h"

static struct nfs4r_oid begin(struct net *n, uint32_t revoke_ms)
{
	n->cfg.revoke_ms = revoke_ms;
	locks_on(n);
	ends_begin(n, "d/ d/f", NFS4R_DURABILITY_COMMIT);
	assert_true(until_back(n));
	n->cfg.idle_ms = 60000;
	net_retune(n);
	assert_true(until_back(n));
	return at(n, "d/f");
}

static enum nfs4r_status try_byte(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint64_t who, uint64_t at)
{
	return finish(n, lock_byte(n, s, f, who, at));
}

/* As a client does: again after DELAY, for so long. The last answer. */
static enum nfs4r_status keep_trying(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint64_t who, uint64_t at, uint64_t ms)
{
	enum nfs4r_status st = NFS4R_DELAY;

	for (uint64_t end = n->now + ms; n->now < end && st == NFS4R_DELAY;) {
		st = try_byte(n, s, f, who, at);
		net_run(n, 50);
	}
	return st;
}

static enum nfs4r_status reclaim_byte(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint64_t who, uint64_t at)
{
	struct nfs4r_lock lock = byte(who, at);

	return finish(n, op_reclaim(n, s, f, &lock));
}

static struct nfs4r_client client(uint64_t who)
{
	struct nfs4r_client k;

	memset(&k, 0, sizeof(k));
	k.id[0] = who;
	k.id[1] = 1;
	snprintf(k.name, sizeof(k.name), "client %u", (unsigned)who);
	return k;
}

static void list_client(struct net *n, nfs4r_server_id s, uint64_t who)
{
	struct nfs4r_client k = client(who);

	net_client(n, s, 100 + who, &k, true);
	for (int i = 0; i < 1000 && n->s[s].client_said != 100 + who; i++)
		net_run(n, 1);
	assert_int_equal(n->s[s].client_status, NFS4R_OK);
}

static uint32_t noted(const struct net *n, nfs4r_server_id s)
{
	struct nfs4r_lock_counts out;

	nfs4r_core_count_locks(n->s[s].core, &out);
	return out.noted;
}

/* S is the authority of f, grants byte 0 to a client of P, and dies. */
static void the_authority_dies(struct net *n, const struct nfs4r_oid *f)
{
	assert_int_equal(keep_trying(n, S, f, 9, 50, 5000), NFS4R_OK);
	assert_int_equal(keep_trying(n, P, f, 1, 0, 5000), NFS4R_OK);
	net_run(n, 3 * RTT(n));
	assert_true(acting(n, S, f));
	net_crash(n, S);
	assert_true(until_sealed(n, P, S, 8 * LEASE) && until_sealed(n, Q, S, 8 * LEASE));
}

static bool what_a_dead_server_granted_is_not_granted_again(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);

	the_authority_dies(n, &f);
	return keep_trying(n, Q, &f, 2, 0, 10000) == NFS4R_DENIED;
}

/* Q never heard that S controlled it. */
static bool who_wins_hears_of_gaps_by_the_acks(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);

	net_drop(n, S, Q, NFS4R_MSG_PROPOSE);
	the_authority_dies(n, &f);
	net_pass(n);
	assert_int_equal(noted(n, Q), 0);
	return keep_trying(n, Q, &f, 2, 0, 10000) == NFS4R_DENIED;
}

/* Q has noted what S controlled, and is away when that ends. */
static bool who_joins_knows_no_gap_that_is_over(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);

	the_authority_dies(n, &f);
	net_restart(n, S, true);
	assert_true(until_back(n));
	assert_true(noted(n, Q) && noted(n, P) && noted(n, S));
	net_crash(n, Q);
	assert_true(until_removed(n, P, Q, 8 * LEASE) && until_removed(n, S, Q, 8 * LEASE));
	assert_int_equal(keep_trying(n, P, &f, 1, 3, 10000), NFS4R_OK);
	net_run(n, 2000);
	assert_int_equal(noted(n, P) + noted(n, S), 0);
	revoke(n, S, P, "d/f", 1);
	net_run(n, 2000);
	assert_false(acting(n, P, &f)); /* nobody is left to say it */
	net_restart(n, Q, true);
	assert_true(until_back(n));
	net_run(n, 2000);
	return noted(n, Q) == 0;
}

/* P has forgotten what it granted to Q's client, and S wants to control the file. */
static bool nothing_in_a_gap_is_released(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);
	enum nfs4r_status c;

	assert_int_equal(keep_trying(n, P, &f, 1, 50, 5000), NFS4R_OK);
	assert_int_equal(keep_trying(n, Q, &f, 2, 0, 5000), NFS4R_OK);
	assert_true(acting(n, P, &f));
	net_crash(n, P);
	net_hold(n, Q, P, NFS4R_MSG_LOCKS_LIST);
	net_restart(n, P, true);
	net_run(n, 2 * LEASE);
	revoke(n, S, P, "d/f", 1);
	net_run(n, 3000);
	c = keep_trying(n, S, &f, 3, 0, 3000);
	net_pass(n);
	return (c == NFS4R_DELAY ? keep_trying(n, S, &f, 3, 0, 5000) : c) == NFS4R_DENIED;
}

/* The word is lost on its way to Q. */
static bool the_end_of_a_gap_is_said_until_it_is_heard(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);

	the_authority_dies(n, &f);
	net_drop(n, P, Q, NFS4R_MSG_GAP_OVER);
	assert_int_equal(keep_trying(n, P, &f, 1, 3, 10000), NFS4R_OK);
	net_run(n, 50);
	net_pass(n);
	net_run(n, 2000);
	return noted(n, Q) == 0;
}

/* Q ended the gap of f, granted byte 3 to a client of P, and died. Its word comes once more when it is back. */
static bool the_end_of_an_older_gap_ends_no_other(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);
	struct nfs4r_msg word;

	the_authority_dies(n, &f);
	net_hold(n, Q, P, NFS4R_MSG_GAP_OVER);
	assert_int_equal(keep_trying(n, Q, &f, 2, 60, 10000), NFS4R_OK);
	net_run(n, 100);
	assert_non_null(n->held);
	word = *n->held->msg;
	net_pass(n);
	assert_int_equal(keep_trying(n, P, &f, 1, 3, 5000), NFS4R_OK);
	net_restart(n, S, true);
	assert_true(until_back(n));
	assert_true(acting(n, Q, &f));
	net_crash(n, Q);
	assert_true(until_sealed(n, P, Q, 8 * LEASE) && until_sealed(n, S, Q, 8 * LEASE));
	assert_true(noted(n, P) && noted(n, S));
	net_restart(n, Q, true);
	assert_true(until_back(n));
	net_msg(n, Q, P, &word);
	net_msg(n, Q, S, &word);
	net_run(n, 2 * RTT(n));
	net_drop(n, Q, S, NFS4R_MSG_ACK);
	return keep_trying(n, S, &f, 4, 3, 5000) != NFS4R_OK;
}

/* The authority and the client's server were one. */
static bool clients_of_a_server_outside_are_awaited(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);

	list_client(n, S, 9);
	the_authority_dies(n, &f);
	return keep_trying(n, Q, &f, 2, 50, 5000) == NFS4R_DELAY;
}

/* Only P knows that S controls the file. P is outside when S dies, and notes that as it joins. */
static bool who_joins_keeps_what_it_notes_then(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);

	list_client(n, S, 9);
	net_drop(n, S, Q, NFS4R_MSG_PROPOSE);
	assert_int_equal(keep_trying(n, S, &f, 9, 50, 5000), NFS4R_OK);
	cut_off(n, P);
	assert_true(until_removed(n, Q, P, 10 * LEASE) && until_removed(n, S, P, 10 * LEASE));
	assert_true(acting(n, S, &f));
	net_crash(n, S);
	net_pass(n);
	assert_true(until_sealed(n, Q, S, 10 * LEASE) && until_sealed(n, P, S, 10 * LEASE));
	net_run(n, 3 * LEASE);
	assert_true(serves(n, P) && serves(n, Q));
	return keep_trying(n, Q, &f, 2, 50, 5000) == NFS4R_DELAY;
}

/* P never heard that S controlled f. S is back in the view in which Q is not any more. */
static bool who_joins_keeps_what_few_may_know(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);
	enum nfs4r_status st = NFS4R_DELAY;

	list_client(n, S, 9);
	net_drop(n, S, P, NFS4R_MSG_PROPOSE);
	assert_int_equal(keep_trying(n, S, &f, 9, 50, 5000), NFS4R_OK);
	net_crash(n, S);
	assert_true(until_sealed(n, P, S, 8 * LEASE) && until_sealed(n, Q, S, 8 * LEASE));
	net_pass(n);
	assert_true(!noted(n, P) && noted(n, Q));
	net_crash(n, Q);
	net_run(n, 4 * LEASE);
	net_restart(n, S, true);
	assert_true(until_removed(n, P, Q, 10 * LEASE));
	for (int i = 0; i < 20000 && !(serves(n, P) && serves(n, S)); i++)
		net_run(n, 1);
	assert_true(serves(n, P) && serves(n, S));
	for (int i = 0; i < 200 && st == NFS4R_DELAY; i++) {
		st = reclaim_byte(n, S, &f, 9, 50);
		net_run(n, 50);
	}
	return st == NFS4R_OK;
}

/* P, the authority, and S, where a client has a lock, start anew. The list of S has nothing in it. */
static bool a_client_that_has_to_reclaim_is_awaited(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);
	struct nfs4r_client k = client(9);
	enum nfs4r_status st;

	list_client(n, S, 9);
	assert_int_equal(keep_trying(n, P, &f, 1, 50, 5000), NFS4R_OK);
	assert_int_equal(keep_trying(n, S, &f, 9, 0, 5000), NFS4R_OK);
	net_crash(n, S);
	net_crash(n, P);
	net_restart(n, P, true);
	net_restart(n, S, true);
	assert_true(until_back(n));
	assert_true(acting(n, P, &f));
	st = keep_trying(n, Q, &f, 2, 0, 3000);
	if (st != NFS4R_DELAY)
		return false;
	assert_int_equal(reclaim_byte(n, S, &f, 9, 0), NFS4R_OK);
	net_client_reclaimed(n, S, &k);
	return keep_trying(n, Q, &f, 2, 0, 3000) == NFS4R_DENIED;
}

/* Q is slow, and its client has the lock. */
static bool a_silent_member_is_awaited(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);
	enum nfs4r_status st;

	assert_int_equal(keep_trying(n, P, &f, 1, 50, 5000), NFS4R_OK);
	assert_int_equal(keep_trying(n, Q, &f, 2, 0, 5000), NFS4R_OK);
	net_crash(n, P);
	net_hold(n, Q, P, NFS4R_MSG_LOCKS_LIST);
	net_restart(n, P, true);
	assert_true(acting(n, P, &f));
	st = keep_trying(n, S, &f, 3, 0, 4000);
	net_pass(n);
	return st == NFS4R_DELAY && keep_trying(n, S, &f, 3, 0, 5000) == NFS4R_DENIED;
}

/* What P granted to a client of Q is in P's list, which does not count in a gap, and the answer to Q is late. */
static bool who_has_made_a_list_hears_no_older_answer(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);
	enum nfs4r_status a;
	struct client *b;

	do_claim(n, S, "d", NFS4R_DEEP);
	net_crash(n, S);
	assert_true(until_sealed(n, P, S, 8 * LEASE) && until_sealed(n, Q, S, 8 * LEASE));
	net_restart(n, S, true);
	assert_true(until_back(n));
	assert_int_equal(keep_trying(n, P, &f, 1, 50, 5000), NFS4R_OK);
	assert_true(noted(n, P) && noted(n, Q) && noted(n, S)); /* of the directory */
	net_run(n, 3 * RTT(n));
	net_hold(n, P, Q, NFS4R_MSG_FORWARD_ANSWER);
	b = lock_byte(n, Q, &f, 2, 0);
	net_run(n, RTT(n));
	assert_non_null(n->held);
	net_hold(n, Q, P, NFS4R_MSG_FORWARD);
	revoke(n, S, P, "d/f", 1);
	for (int i = 0; i < 5000 && acting(n, P, &f); i++)
		net_run(n, 1);
	assert_false(acting(n, P, &f));
	a = try_byte(n, S, &f, 3, 0);
	net_pass(n);
	net_run(n, 2000);
	return !(a == NFS4R_OK && b->done && b->op.status == NFS4R_OK);
}

static void begin_older(struct net *n)
{
	n->secrets = n->cfg.locks_before = true;
	n->cfg.revoke_ms = 60000;
	for (nfs4r_server_id s = P; s <= S; s++) {
		n->s[s].protocol = (struct nfs4r_versions){ NFS4R_PROTOCOL_FIRST, NFS4R_PROTOCOL_FIRST };
		n->s[s].disk_format = (struct nfs4r_versions){ NFS4R_DISK_FORMAT_FIRST, NFS4R_DISK_FORMAT_FIRST };
	}
	ends_begin(n, "d/ d/f", NFS4R_DURABILITY_COMMIT);
	assert_true(replace_all(n, NFS4R_PROTOCOL_LOCKS, NFS4R_DISK_FORMAT_LOCKS));
}

static void finish_upgrade(struct net *n)
{
	assert_true(net_finish(n, P));
	net_run(n, 2 * LEASE);
}

/* The volume is raised. A client of P has the lock from before, and one of S asks for it first. */
static bool what_others_had_before_is_known(struct net *n)
{
	struct nfs4r_oid f;

	begin_older(n);
	finish_upgrade(n);
	f = at(n, "d/f");
	list_client(n, P, 1);
	net_locks_known(n, Q);
	net_locks_known(n, S);
	if (keep_trying(n, S, &f, 2, 0, 3000) != NFS4R_DELAY)
		return false;
	assert_int_equal(reclaim_byte(n, P, &f, 1, 0), NFS4R_OK);
	net_locks_known(n, P);
	net_run(n, 3 * RTT(n));
	assert_int_equal(keep_trying(n, Q, &f, 3, 50, 3000), NFS4R_OK);
	return keep_trying(n, S, &f, 2, 0, 3000) == NFS4R_DENIED;
}

/* S has been outside, for its new release. That was before any lock held at all servers. */
static bool an_upgrade_fences_nobody(struct net *n)
{
	begin_older(n);
	net_crash(n, S);
	assert_true(until_removed(n, P, S, 8 * LEASE));
	net_restart(n, S, true);
	assert_true(until_back(n));
	finish_upgrade(n);
	return n->s[P].fences + n->s[Q].fences + n->s[S].fences == 0;
}

static const struct prevents list[] = {
	{ "locks 11: what a dead server granted is not granted again", F_LOCK_GAP_UNNOTED, what_a_dead_server_granted_is_not_granted_again },
	{ "locks 11: who wins hears of gaps by the ACKs", F_LOCK_ACK_NO_GAP, who_wins_hears_of_gaps_by_the_acks },
	{ "locks 11: who joins knows no gap that is over", F_LOCK_JOIN_KEEPS_GAPS, who_joins_knows_no_gap_that_is_over },
	{ "locks 11: who joins keeps what it notes then", F_LOCK_JOIN_DROPS_GAPS, who_joins_keeps_what_it_notes_then },
	{ "locks 11: who joins keeps what few may know", F_LOCK_JOIN_OF_FEW, who_joins_keeps_what_few_may_know },
	{ "locks 11: nothing in a gap is released", F_LOCK_RELEASE_IN_GAP, nothing_in_a_gap_is_released },
	{ "locks 11: the end of a gap is said until it is heard", F_LOCK_END_ONCE, the_end_of_a_gap_is_said_until_it_is_heard },
	{ "locks 11: the end of an older gap ends no other", F_LOCK_OLD_END, the_end_of_an_older_gap_ends_no_other },
	{ "locks 9: clients of a server outside are awaited", F_LOCK_AWAITS_MEMBERS, clients_of_a_server_outside_are_awaited },
	{ "locks 9: a client that has to reclaim is awaited", F_LOCK_LIST_NO_OPEN, a_client_that_has_to_reclaim_is_awaited },
	{ "locks 10: a silent member is awaited", F_LOCK_HEARD_ONLY, a_silent_member_is_awaited },
	{ "locks 21: an upgrade fences nobody", F_LOCK_FENCED_EARLY, an_upgrade_fences_nobody },
	{ "locks 21: what others had before is known", F_LOCK_BEFORE_ALL_KNOWN, what_others_had_before_is_known },
	{ "locks 5: who has made a list hears no older answer", F_LOCK_ANSWER_AFTER_LIST, who_has_made_a_list_hears_no_older_answer },
};

int main(void)
{
	return prevents_main(list, sizeof(list) / sizeof(list[0]));
}
