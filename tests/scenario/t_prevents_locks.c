/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The rules of byte-range locks (docs/protocol/locks.md), each with and without (see prevents.h). */
#include "scenario/byte_locks.h"
#include "scenario/prevents.h"
#include "scenario/trees.h"

#include <stdlib.h>

#include "lib/unit.h"

static const struct nfs4r_versions with_locks = { NFS4R_PROTOCOL_LOCKS, NFS4R_PROTOCOL_LOCKS };

/* A revoke that comes with a forward counts after @revoke_ms. */
static struct nfs4r_oid begin(struct net *n, uint32_t revoke_ms)
{
	tree(n, "d/ d/f");
	n->cfg.revoke_ms = revoke_ms;
	for (nfs4r_server_id s = P; s <= S; s++)
		n->s[s].protocol = with_locks;
	net_retune(n);
	return at(n, "d/f");
}

static enum nfs4r_status try_byte(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint64_t who, uint64_t at)
{
	return finish(n, lock_byte(n, s, f, who, at));
}

static struct client *wait_byte(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint64_t who, uint64_t at)
{
	struct nfs4r_lock lock = byte(who, at);

	return op_lock(n, s, f, &lock, NFS4R_LOCK_QUEUE);
}

static void say_client(struct net *n, nfs4r_server_id s, uint64_t who, bool begins)
{
	struct nfs4r_client k;

	memset(&k, 0, sizeof(k));
	k.id[0] = who;
	k.id[1] = 1;
	net_client(n, s, who, &k, begins);
	net_run(n, 10 * RTT(n));
}

static void list_client(struct net *n, nfs4r_server_id s, uint64_t who)
{
	say_client(n, s, who, true);
	assert_true(n->s[s].client_said == who && n->s[s].client_status == NFS4R_OK);
}

static bool is_told(const struct net *n, nfs4r_server_id s)
{
	for (uint32_t i = 0; i < n->s[s].nnotes; i++)
		if (n->s[s].notes[i].ready)
			return true;
	return false;
}

/* P's control of the file closes since Q wants it; another client of P comes meanwhile. */
static bool nothing_is_granted_while_control_closes(struct net *n)
{
	struct nfs4r_oid f = begin(n, 0);
	struct client *b, *c;

	assert_int_equal(try_byte(n, P, &f, 1, 0), NFS4R_OK);
	net_run(n, 3 * RTT(n));
	net_hold(n, Q, P, NFS4R_MSG_FORWARD);
	n->s[Q].no_checkpoint = true; /* so it is not released yet */
	c = lock_byte(n, Q, &f, 3, 10);
	net_run(n, 2 * RTT(n));
	b = lock_byte(n, P, &f, 2, 10);
	net_run(n, RTT(n));
	n->s[Q].no_checkpoint = false;
	net_stable(n, Q);
	net_pass(n);
	net_run(n, 5000);
	assert_true(b->done && c->done);
	return !(b->op.status == NFS4R_OK && c->op.status == NFS4R_OK);
}

static bool the_next_knows_what_is_locked(struct net *n)
{
	struct nfs4r_oid f = begin(n, 0);

	assert_int_equal(try_byte(n, P, &f, 1, 0), NFS4R_OK);
	net_quiet(n);
	return try_byte(n, Q, &f, 2, 0) == NFS4R_DENIED;
}

static bool what_was_given_back_is_free(struct net *n)
{
	struct nfs4r_oid f = begin(n, 0);

	assert_int_equal(try_byte(n, P, &f, 1, 0), NFS4R_OK);
	net_quiet(n);
	unlock_byte(n, P, &f, 1, 0);
	net_run(n, 1000);
	net_quiet(n);
	return try_byte(n, Q, &f, 2, 0) == NFS4R_OK;
}

static struct nfs4r_msg *copy_of(const struct nfs4r_msg *m)
{
	struct nfs4r_msg *c = malloc(sizeof(*c));

	*c = *m;
	c->op = malloc(sizeof(*c->op));
	*c->op = *m->op;
	return c;
}

/* An UNLOCK is doubled, and its copy comes when its owner has the lock again. */
static bool a_late_unlock_takes_nothing_away(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);
	struct nfs4r_msg *late;

	assert_int_equal(try_byte(n, P, &f, 1, 50), NFS4R_OK); /* P is the authority */
	assert_int_equal(try_byte(n, Q, &f, 2, 0), NFS4R_OK);
	net_hold(n, Q, P, NFS4R_MSG_FORWARD);
	unlock_byte(n, Q, &f, 2, 0);
	assert_non_null(n->held);
	late = copy_of(n->held->msg);
	net_pass(n);
	net_run(n, 2 * RTT(n));
	assert_int_equal(try_byte(n, Q, &f, 2, 0), NFS4R_OK);
	net_msg(n, Q, P, late);
	nfs4r_msg_fini(late);
	free(late);
	net_run(n, RTT(n));
	return try_byte(n, S, &f, 3, 0) == NFS4R_DENIED;
}

/* P grants, and has forgotten it before Q hears of it. */
static bool an_answer_of_an_older_start_does_not_count(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);
	enum nfs4r_status a;
	struct client *b;

	assert_int_equal(try_byte(n, P, &f, 1, 50), NFS4R_OK);
	net_run(n, 3 * RTT(n));
	net_hold(n, P, Q, NFS4R_MSG_FORWARD_ANSWER);
	b = lock_byte(n, Q, &f, 2, 0);
	net_run(n, RTT(n));
	assert_non_null(n->held);
	net_hold(n, Q, P, NFS4R_MSG_FORWARD);
	net_crash(n, P);
	net_restart(n, P, true);
	net_run(n, RTT(n));
	a = try_byte(n, P, &f, 3, 0);
	net_pass(n);
	net_run(n, 5 * RTT(n));
	return !(a == NFS4R_OK && b->done && b->op.status == NFS4R_OK);
}

/* The row says that it is locked; its authority knows better. */
static bool the_table_counts_and_not_the_row(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);

	assert_int_equal(try_byte(n, P, &f, 1, 0), NFS4R_OK);
	net_quiet(n);
	unlock_byte(n, P, &f, 1, 0);
	net_run(n, 3 * RTT(n));
	assert_true(acting(n, P, &f));
	return try_byte(n, Q, &f, 2, 0) == NFS4R_OK;
}

/* S knows of P's deep control above the file, by which its readers do not go, and of nothing else. */
static bool who_gets_the_lock_sees_what_was_written(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);
	enum nfs4r_status b;

	do_claim(n, P, "d", NFS4R_DEEP);
	assert_int_equal(try_byte(n, P, &f, 1, 0), NFS4R_OK);
	net_run(n, 2 * RTT(n));
	net_drop(n, P, S, NFS4R_MSG_PROPOSE);
	net_drop(n, P, S, NFS4R_MSG_ENTRIES);
	assert_int_equal(finish(n, op_write(n, P, &f, "new", true)), NFS4R_OK);
	unlock_byte(n, P, &f, 1, 0);
	net_run(n, RTT(n));
	b = try_byte(n, S, &f, 2, 0);
	return !(b == NFS4R_OK && route(n, S, &f, false) == S);
}

/* The same, and the client does not unlock: its lease ends. P and Q are a majority that knows. */
static bool who_gets_the_lock_of_one_that_is_gone_sees_what_it_wrote(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);
	enum nfs4r_status b;

	do_claim(n, P, "d", NFS4R_DEEP);
	list_client(n, P, 1);
	assert_int_equal(try_byte(n, P, &f, 1, 0), NFS4R_OK);
	net_run(n, 2 * RTT(n));
	net_drop(n, P, S, NFS4R_MSG_PROPOSE);
	net_drop(n, P, S, NFS4R_MSG_ENTRIES);
	assert_int_equal(finish(n, op_write(n, P, &f, "new", true)), NFS4R_OK);
	say_client(n, P, 1, false);
	b = try_byte(n, S, &f, 2, 0);
	return !(b == NFS4R_OK && route(n, S, &f, false) == S);
}

/* Nobody can be asked when it is given back. */
static bool an_unlock_is_said_until_it_is_heard(struct net *n)
{
	struct nfs4r_oid f = begin(n, 0);

	assert_int_equal(try_byte(n, Q, &f, 1, 0), NFS4R_OK);
	net_quiet(n);
	net_crash(n, P);
	net_run(n, 3000);
	unlock_byte(n, Q, &f, 1, 0);
	net_run(n, 3 * (uint64_t)n->cfg.op_wait_ms);
	net_restart(n, P, true);
	net_run(n, 10000);
	return try_byte(n, S, &f, 2, 0) == NFS4R_OK;
}

/* The UNLOCK waits until what was written is complete (locks 15). */
static bool what_was_given_back_here_is_free_here(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);
	struct client *a;

	do_claim(n, P, "d", NFS4R_DEEP);
	assert_int_equal(try_byte(n, P, &f, 1, 0), NFS4R_OK);
	net_run(n, 2 * RTT(n));
	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	net_drop(n, P, S, NFS4R_MSG_PROPOSE);
	assert_int_equal(finish(n, op_write(n, P, &f, "by its holder", true)), NFS4R_OK);
	unlock_byte(n, P, &f, 1, 0);
	net_run(n, 1);
	a = lock_byte(n, P, &f, 2, 0);
	net_run(n, 2 * RTT(n));
	net_pass(n);
	return finish(n, a) == NFS4R_OK;
}

static bool what_a_waiter_is_told_of_is_its_own(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);
	enum nfs4r_status c;
	struct client *b;

	assert_int_equal(try_byte(n, P, &f, 1, 0), NFS4R_OK);
	assert_int_equal(finish(n, wait_byte(n, Q, &f, 2, 0)), NFS4R_BLOCKED);
	unlock_byte(n, P, &f, 1, 0);
	net_run(n, RTT(n));
	assert_true(is_told(n, Q));
	c = try_byte(n, S, &f, 3, 0);
	b = wait_byte(n, Q, &f, 2, 0);
	return !(c == NFS4R_OK && finish(n, b) == NFS4R_OK);
}

static bool who_waits_is_not_forgotten_with_control(struct net *n)
{
	struct nfs4r_oid f = begin(n, 0);

	assert_int_equal(try_byte(n, P, &f, 1, 0), NFS4R_OK);
	assert_int_equal(finish(n, wait_byte(n, Q, &f, 2, 0)), NFS4R_BLOCKED);
	net_run(n, 5000);
	unlock_byte(n, P, &f, 1, 0);
	net_run(n, 5000);
	return is_told(n, Q);
}

static uint64_t elections(struct net *n)
{
	return stats(n, P).elections + stats(n, Q).elections + stats(n, S).elections;
}

/* Servers that wait for one lock ask the one that controls its file. Each of them asks for control, too. */
static bool a_queue_stays_where_it_is(struct net *n)
{
	struct nfs4r_oid f = begin(n, 0);
	uint64_t were;

	assert_int_equal(try_byte(n, P, &f, 1, 0), NFS4R_OK);
	assert_int_equal(finish(n, wait_byte(n, Q, &f, 2, 0)), NFS4R_BLOCKED);
	assert_int_equal(finish(n, wait_byte(n, S, &f, 3, 0)), NFS4R_BLOCKED);
	net_run(n, 1000);
	were = elections(n);
	net_run(n, 10000);
	if (elections(n) != were)
		return false;
	unlock_byte(n, P, &f, 1, 0);
	net_run(n, 5000);
	return is_told(n, Q) && !is_told(n, S);
}

/* S hears before Q that P controls the file no longer, and asks anew before Q does. */
static bool a_queue_keeps_its_order(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);

	assert_int_equal(try_byte(n, P, &f, 1, 50), NFS4R_OK);
	assert_int_equal(try_byte(n, S, &f, 4, 0), NFS4R_OK);
	assert_int_equal(finish(n, wait_byte(n, Q, &f, 2, 0)), NFS4R_BLOCKED);
	net_run(n, 100);
	assert_int_equal(finish(n, wait_byte(n, S, &f, 3, 0)), NFS4R_BLOCKED);
	net_hold(n, P, Q, NFS4R_MSG_REQUEUE);
	net_leave(n, P);
	net_run(n, 1000);
	assert_true(acting(n, S, &f));
	net_pass(n);
	net_run(n, 1000);
	assert_false(is_told(n, Q) || is_told(n, S));
	unlock_byte(n, S, &f, 4, 0);
	net_run(n, 200);
	return is_told(n, Q) && !is_told(n, S);
}

/* P has forgotten what it granted to Q's client. */
static bool a_start_does_not_grant_what_it_forgot(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);
	struct client *c;

	assert_int_equal(try_byte(n, P, &f, 1, 50), NFS4R_OK);
	assert_int_equal(try_byte(n, Q, &f, 2, 0), NFS4R_OK);
	net_crash(n, P);
	net_restart(n, P, true);
	assert_true(acting(n, P, &f));
	c = lock_byte(n, P, &f, 3, 0);
	net_run(n, 5000);
	return c->done && c->op.status == NFS4R_DENIED;
}

static enum nfs4r_status reclaim_byte(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint64_t who, uint64_t at)
{
	struct nfs4r_lock lock = byte(who, at);

	return finish(n, op_reclaim(n, s, f, &lock));
}

/* Its server has given the lock up, and somebody else had it since. */
static bool a_lost_lock_is_not_reclaimed(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);

	list_client(n, Q, 2);
	assert_int_equal(try_byte(n, P, &f, 1, 50), NFS4R_OK);
	assert_int_equal(try_byte(n, Q, &f, 2, 0), NFS4R_OK);
	unlock_byte(n, Q, &f, 2, 0);
	net_run(n, RTT(n));
	assert_int_equal(try_byte(n, S, &f, 3, 0), NFS4R_OK);
	unlock_byte(n, S, &f, 3, 0);
	net_run(n, RTT(n));
	return reclaim_byte(n, Q, &f, 2, 0) == NFS4R_DENIED;
}

/* Bytes 0..@last at S, whose client @who asks. */
static bool reads_here(struct net *n, const struct nfs4r_oid *f, uint64_t who, uint64_t last)
{
	struct nfs4r_lock lock = byte(who, 0);

	assert_int_equal(route(n, S, f, false), P);
	return nfs4r_core_may_read_locked(n->s[S].core, f, &lock.owner, 0, last);
}

/* P controls the file, which all know, and has written to it; a client of S has its first byte. */
static struct nfs4r_oid locked_at_s(struct net *n)
{
	struct nfs4r_oid f = begin(n, 60000);

	assert_int_equal(try_byte(n, P, &f, 1, 0), NFS4R_OK);
	net_run(n, 3 * RTT(n));
	assert_int_equal(finish(n, op_write(n, P, &f, "old", true)), NFS4R_OK);
	net_run(n, 3 * RTT(n));
	return f;
}

/* P writes, and gives the lock back. Its entry is not at S when S gets the lock. */
static bool under_a_lock_no_older_copy_is_read(struct net *n)
{
	struct nfs4r_oid f = locked_at_s(n);
	bool early;

	net_drop(n, P, S, NFS4R_MSG_ENTRIES);
	assert_int_equal(finish(n, op_write(n, P, &f, "new", true)), NFS4R_OK);
	unlock_byte(n, P, &f, 1, 0);
	net_run(n, RTT(n));
	assert_int_equal(try_byte(n, S, &f, 2, 0), NFS4R_OK);
	early = reads_here(n, &f, 2, 0);
	net_pass(n);
	net_run(n, 2000);
	assert_true(reads_here(n, &f, 2, 0));
	return !early;
}

/* The same where S waits for the lock. */
static bool a_waiter_reads_no_older_copy(struct net *n)
{
	struct nfs4r_oid f = locked_at_s(n);
	struct client *w = wait_byte(n, S, &f, 2, 0);
	bool early;

	assert_int_equal(finish(n, w), NFS4R_BLOCKED);
	net_drop(n, P, S, NFS4R_MSG_ENTRIES);
	assert_int_equal(finish(n, op_write(n, P, &f, "new", true)), NFS4R_OK);
	unlock_byte(n, P, &f, 1, 0);
	net_run(n, 2 * RTT(n));
	assert_int_equal(finish(n, wait_byte(n, S, &f, 2, 0)), NFS4R_OK);
	early = reads_here(n, &f, 2, 0);
	net_pass(n);
	net_run(n, 2000);
	assert_true(reads_here(n, &f, 2, 0));
	return !early;
}

static struct nfs4r_oid has_it_at_s(struct net *n)
{
	struct nfs4r_oid f = locked_at_s(n);

	unlock_byte(n, P, &f, 1, 0);
	net_run(n, RTT(n));
	assert_int_equal(try_byte(n, S, &f, 2, 0), NFS4R_OK);
	assert_true(reads_here(n, &f, 2, 0));
	return f;
}

static bool what_is_not_locked_is_read_where_it_is_controlled(struct net *n)
{
	struct nfs4r_oid f = has_it_at_s(n);
	bool other, more, after;

	other = reads_here(n, &f, 3, 0);
	more = reads_here(n, &f, 2, 1);
	unlock_byte(n, S, &f, 2, 0);
	after = reads_here(n, &f, 2, 0);
	return !other && !more && !after;
}

/* A client of S has heard from P of a version that S does not have. */
static bool bytes_are_as_new_as_attributes(struct net *n)
{
	struct nfs4r_oid f = has_it_at_s(n);
	struct nfs4r_facts at_p;

	assert_true(memtree_facts(n->s[P].tree, &f, &at_p));
	net_told(n, S, P, &f, at_p.version + 1);
	return !reads_here(n, &f, 2, 0);
}

/* S's own client writes, and S does not get the entry before it has to answer. */
static bool who_has_a_lock_sees_what_it_wrote(struct net *n)
{
	struct nfs4r_oid f = has_it_at_s(n);
	struct client *w;
	bool late;

	net_drop(n, P, S, NFS4R_MSG_ENTRIES);
	w = op_write(n, S, &f, "mine", true);
	net_run(n, n->cfg.op_wait_ms + 4 * RTT(n));
	assert_true(w->done && w->op.status == NFS4R_OK);
	late = reads_here(n, &f, 2, 0);
	return !late;
}

static const struct prevents list[] = {
	{ "locks 1: nothing is granted under control that closes", F_LOCK_WHILE_CLOSING, nothing_is_granted_while_control_closes },
	{ "locks 2: the next authority knows what is locked", F_LOCK_NO_LIST, the_next_knows_what_is_locked },
	{ "locks 3: what was given back is in no list", F_LOCK_EMPTY_LIST, what_was_given_back_is_free },
	{ "locks 4: a late UNLOCK takes nothing away", F_LOCK_UNNUMBERED, a_late_unlock_takes_nothing_away },
	{ "locks 5: an answer of an older start does not count", F_LOCK_OLD_GRANT, an_answer_of_an_older_start_does_not_count },
	{ "locks 6: while a file is controlled its row is the past", F_LOCK_ROW_AGAIN, the_table_counts_and_not_the_row },
	{ "locks 8: a server that started grants nothing it may have granted", F_LOCK_NO_GAP, a_start_does_not_grant_what_it_forgot },
	{ "locks 12: a lost lock is not reclaimed", F_LOCK_RECLAIM_ANY, a_lost_lock_is_not_reclaimed },
	{ "locks 15: who gets a lock sees what was written before", F_UNLOCK_INCOMPLETE, who_gets_the_lock_sees_what_was_written },
	{ "locks 15: who gets a lock sees what was written by one that is gone", F_LOCK_LOST_AHEAD, who_gets_the_lock_of_one_that_is_gone_sees_what_it_wrote },
	{ "locks 16: an UNLOCK is said until it is heard", F_UNLOCK_ONCE, an_unlock_is_said_until_it_is_heard },
	{ "locks 16: what was given back here is free here", F_LOCK_PAST_UNLOCK, what_was_given_back_here_is_free_here },
	{ "locks 17: what a waiter is told of is reserved", F_LOCK_NOT_RESERVED, what_a_waiter_is_told_of_is_its_own },
	{ "locks 20: who waits hears that control ends", F_LOCK_NO_REQUEUE, who_waits_is_not_forgotten_with_control },
	{ "locks 20: a queue stays where it is", F_LOCK_QUEUE_SENT_AROUND, a_queue_stays_where_it_is },
	{ "locks 20: a queue keeps its order", F_LOCK_ORDER_ANEW, a_queue_keeps_its_order },
	{ "locks 23: under a lock no older copy is read", F_READ_LOCKED_OLD, under_a_lock_no_older_copy_is_read },
	{ "locks 23: a waiter reads no older copy", F_READ_LOCKED_OLD, a_waiter_reads_no_older_copy },
	{ "locks 23: what is not locked is read where it is controlled", F_READ_LOCKED_MORE, what_is_not_locked_is_read_where_it_is_controlled },
	{ "locks 23: bytes are as new as attributes", F_READ_LOCKED_TOLD, bytes_are_as_new_as_attributes },
	{ "locks 23: who has a lock sees what it wrote", F_READ_LOCKED_LAGS, who_has_a_lock_sees_what_it_wrote },
};

int main(void)
{
	return prevents_main(list, sizeof(list) / sizeof(list[0]));
}
