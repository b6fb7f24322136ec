/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What an authority makes of lists, of what it answered before, and of rows that nobody asks for (locks 7, 8, 11, 13, 14, 17), with and without each rule (see prevents.h). */
#include <string.h>

#include "scenario/byte_locks.h"
#include "scenario/ends.h"
#include "scenario/locks_on.h"
#include "scenario/prevents.h"

#include "lib/unit.h"

#define GRACE 3000

static struct nfs4r_oid begin(struct net *n)
{
	locks_on(n);
	n->cfg.lock_grace_ms = GRACE;
	ends_begin(n, "d/ d/f", NFS4R_DURABILITY_COMMIT);
	n->cfg.revoke_ms = 60000;
	n->cfg.idle_ms = 60000;
	net_retune(n);
	net_run(n, 2 * LEASE + GRACE); /* what starts had to say of earlier ones is said */
	return at(n, "d/f");
}

/* As a client does: again after DELAY, for so long. The last answer. */
static enum nfs4r_status keep_trying(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint64_t who, uint64_t at, uint64_t ms)
{
	enum nfs4r_status st = NFS4R_DELAY;

	for (uint64_t end = n->now + ms; n->now < end && st == NFS4R_DELAY;) {
		st = finish(n, lock_byte(n, s, f, who, at));
		net_run(n, 50);
	}
	return st;
}

static struct client *lock_as(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint64_t who, enum nfs4r_lock_type type, enum nfs4r_lock_wait wait)
{
	struct nfs4r_lock lock = byte(who, 0);

	lock.type = type;
	return op_lock(n, s, f, &lock, wait);
}

static struct client *reclaim(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint64_t who, uint64_t at)
{
	struct nfs4r_lock lock = byte(who, at);

	return op_reclaim(n, s, f, &lock);
}

static void list_client(struct net *n, nfs4r_server_id s, uint64_t who, bool begins)
{
	struct nfs4r_client k;

	memset(&k, 0, sizeof(k));
	k.id[0] = who;
	k.id[1] = 1;
	n->s[s].client_said = 0;
	net_client(n, s, who, &k, begins);
	for (int i = 0; i < 3000 && !n->s[s].client_said; i++)
		net_run(n, 1);
	assert_true(n->s[s].client_said == who && n->s[s].client_status == NFS4R_OK);
}

static void restart(struct net *n, nfs4r_server_id s)
{
	net_crash(n, s);
	net_restart(n, s, true);
	assert_true(until_back(n));
}

static uint32_t readies(const struct net *n, nfs4r_server_id s)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < n->s[s].nnotes; i++)
		k += n->s[s].notes[i].ready;
	return k;
}

static bool is_ready(const struct net *n, nfs4r_server_id s)
{
	return readies(n, s) > 0;
}

static uint32_t row(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f)
{
	struct nfs4r_tree t;

	memtree_port(n->s[s].tree, &t);
	return t.locks(t.ctx, f, NULL, 0);
}

static void let_go(struct net *n, nfs4r_server_id s, nfs4r_server_id of, const struct nfs4r_oid *f)
{
	revoke(n, s, of, "d/f", 1);
	for (int i = 0; i < 5000 && acting(n, of, f); i++)
		net_run(n, 1);
	assert_false(acting(n, of, f));
}

/* P controls the file. A client of Q has reclaimed one of its locks when P starts anew, and reclaims the other one before P hears what Q lists. */
static bool what_was_reclaimed_before_is_listed(struct net *n)
{
	struct nfs4r_oid f = begin(n);
	struct client *c;

	list_client(n, Q, 2, true);
	assert_int_equal(keep_trying(n, P, &f, 1, 50, 5000), NFS4R_OK);
	assert_int_equal(keep_trying(n, Q, &f, 2, 0, 5000), NFS4R_OK);
	assert_int_equal(keep_trying(n, Q, &f, 2, 1, 5000), NFS4R_OK);
	restart(n, Q);
	assert_int_equal(finish(n, reclaim(n, Q, &f, 2, 0)), NFS4R_OK);
	net_hold(n, Q, P, NFS4R_MSG_LOCKS_LIST);
	restart(n, P);
	for (int i = 0; i < 3000 && !n->held; i++)
		net_run(n, 1);
	assert_non_null(n->held);
	c = reclaim(n, Q, &f, 2, 1);
	assert_int_equal(finish(n, c), NFS4R_OK);
	net_client_reclaimed(n, Q, &(struct nfs4r_client){ .id = { 2, 1 } });
	net_pass(n);
	net_run(n, LEASE);
	return keep_trying(n, S, &f, 3, 0, 5000) == NFS4R_DENIED;
}

/* A client of Q has fetched its lock, and its lease ends before P hears that. */
static bool what_is_reserved_goes_with_its_client(struct net *n)
{
	struct nfs4r_oid f = begin(n);

	list_client(n, Q, 2, true);
	assert_int_equal(keep_trying(n, P, &f, 1, 0, 5000), NFS4R_OK);
	assert_int_equal(finish(n, lock_as(n, Q, &f, 2, NFS4R_LOCK_WRITE, NFS4R_LOCK_QUEUE)), NFS4R_BLOCKED);
	unlock_byte(n, P, &f, 1, 0);
	for (int i = 0; i < 1000 && !is_ready(n, Q); i++)
		net_run(n, 1);
	net_run(n, RTT(n));
	net_drop(n, Q, P, NFS4R_MSG_FORWARD);
	assert_int_equal(finish(n, lock_as(n, Q, &f, 2, NFS4R_LOCK_WRITE, NFS4R_LOCK_QUEUE)), NFS4R_OK);
	net_run(n, RTT(n));
	list_client(n, Q, 2, false);
	unlock_byte(n, Q, &f, 2, 0);
	net_run(n, 2 * LEASE);
	net_pass(n);
	net_run(n, 2 * LEASE);
	return keep_trying(n, S, &f, 3, 0, 5000) == NFS4R_OK;
}

/* P granted a lock to a client of Q, which has not heard it. P lets go, and wins again what is in the gap of a directory. */
static bool an_answer_goes_with_its_table(struct net *n)
{
	struct nfs4r_oid f = begin(n);
	enum nfs4r_status a;
	struct client *b;

	do_claim(n, S, "d", NFS4R_DEEP);
	net_crash(n, S);
	assert_true(until_sealed(n, P, S, 8 * LEASE) && until_sealed(n, Q, S, 8 * LEASE));
	net_restart(n, S, true);
	assert_true(until_back(n));
	assert_int_equal(keep_trying(n, P, &f, 1, 50, 5000), NFS4R_OK);
	net_hold(n, P, Q, NFS4R_MSG_FORWARD_ANSWER);
	b = lock_byte(n, Q, &f, 2, 0);
	net_run(n, RTT(n));
	assert_non_null(n->held);
	net_hold(n, Q, P, NFS4R_MSG_FORWARD);
	let_go(n, S, P, &f);
	a = keep_trying(n, P, &f, 1, 0, 5000);
	assert_true(acting(n, P, &f));
	net_pass(n);
	net_run(n, 2000);
	return !(a == NFS4R_OK && b->done && b->op.status == NFS4R_OK);
}

/* A client of Q that waits asks again when Q has no lease, hears that it is to come again, and never does. */
static bool who_does_not_come_again_waits_no_longer(struct net *n)
{
	struct nfs4r_oid f = begin(n);
	struct client *c;

	assert_int_equal(keep_trying(n, P, &f, 1, 0, 5000), NFS4R_OK);
	assert_int_equal(finish(n, lock_as(n, Q, &f, 2, NFS4R_LOCK_WRITE, NFS4R_LOCK_QUEUE)), NFS4R_BLOCKED);
	net_drop(n, P, Q, NFS4R_MSG_GRANT);
	net_drop(n, S, Q, NFS4R_MSG_GRANT);
	net_run(n, LEASE + 100);
	c = lock_as(n, Q, &f, 2, NFS4R_LOCK_WRITE, NFS4R_LOCK_QUEUE);
	assert_int_equal(finish(n, c), NFS4R_DELAY);
	net_pass(n);
	unlock_byte(n, P, &f, 1, 0);
	for (int i = 0; i < 20; i++) {
		net_run(n, n->cfg.lock_reserve_ms + 500);
		if (keep_trying(n, S, &f, 3, 0, 2000) == NFS4R_OK)
			return true;
	}
	return false;
}

/* Q's client gave back what the row lists, and the table that knew it is gone with S. Nobody wants the file any more. */
static bool rows_in_gaps_are_looked_at(struct net *n)
{
	struct nfs4r_oid f = begin(n);

	list_client(n, Q, 2, true);
	assert_int_equal(keep_trying(n, Q, &f, 2, 0, 5000), NFS4R_OK);
	let_go(n, S, Q, &f);
	net_run(n, LEASE);
	assert_int_equal(row(n, P, &f), 1);
	assert_int_equal(keep_trying(n, S, &f, 3, 50, 5000), NFS4R_OK);
	unlock_byte(n, Q, &f, 2, 0);
	unlock_byte(n, S, &f, 3, 50);
	net_run(n, 3 * RTT(n));
	n->cfg.idle_ms = 200;
	net_crash(n, S);
	assert_true(until_sealed(n, P, S, 8 * LEASE) && until_sealed(n, Q, S, 8 * LEASE));
	for (int i = 0; i < 100 && row(n, P, &f) + row(n, Q, &f); i++) {
		net_run(n, LEASE);
		revoke(n, Q, P, "d/f", 1);
	}
	return !row(n, P, &f) && !row(n, Q, &f);
}

/* A client of Q has a write lock, and its WRITE is on the way to P for long. Q is outside meanwhile, and S's client has the lock. */
static bool what_was_written_before_does_not_count(struct net *n)
{
	struct nfs4r_oid f = begin(n);
	uint64_t was;

	list_client(n, Q, 2, true);
	assert_int_equal(keep_trying(n, P, &f, 1, 50, 5000), NFS4R_OK);
	assert_int_equal(keep_trying(n, Q, &f, 2, 0, 5000), NFS4R_OK);
	net_hold(n, Q, P, NFS4R_MSG_FORWARD);
	op_write(n, Q, &f, "late", true);
	net_run(n, RTT(n));
	assert_non_null(n->held);
	cut_off(n, Q);
	assert_true(until_removed(n, P, Q, 10 * LEASE));
	net_run(n, GRACE + 2 * LEASE);
	assert_int_equal(keep_trying(n, S, &f, 3, 0, 5000), NFS4R_OK);
	net_run(n, LEASE);
	memset(n->rules, 0, sizeof(n->rules));
	net_hold(n, Q, P, NFS4R_MSG_FORWARD);
	was = memtree_content(n->s[P].tree, &f);
	for (int i = 0; i < 20000 && !(nfs4r_core_adopted(n->s[P].core)->members & NFS4R_BIT(Q)); i++)
		net_run(n, 1);
	assert_true(nfs4r_core_adopted(n->s[P].core)->members & NFS4R_BIT(Q));
	net_pass_from(n, Q, P, NFS4R_MSG_FORWARD);
	net_run(n, 2 * LEASE);
	return memtree_content(n->s[P].tree, &f) == was;
}

/* P has carried out what a client of Q asked for, a read lock in place of its write lock. The client hears that it is to come again, and does not. A client of S wants to read. Then P starts anew. */
static bool what_is_lowered_is_heard_first(struct net *n)
{
	struct nfs4r_oid f = begin(n);
	enum nfs4r_status st;
	struct client *c;

	assert_int_equal(keep_trying(n, P, &f, 1, 50, 5000), NFS4R_OK);
	assert_int_equal(keep_trying(n, Q, &f, 2, 0, 5000), NFS4R_OK);
	net_drop(n, P, Q, NFS4R_MSG_FORWARD_ANSWER);
	c = lock_as(n, Q, &f, 2, NFS4R_LOCK_READ, NFS4R_LOCK_TRY);
	net_run(n, RTT(n));
	net_cancel(n, c);
	assert_int_equal(c->op.status, NFS4R_DELAY);
	st = finish(n, lock_as(n, S, &f, 3, NFS4R_LOCK_READ, NFS4R_LOCK_TRY));
	net_pass(n);
	restart(n, P);
	net_run(n, 2 * LEASE);
	assert_int_equal(keep_trying(n, P, &f, 4, 0, 5000), NFS4R_DENIED);
	unlock_byte(n, Q, &f, 2, 0);
	net_run(n, n->cfg.lock_reserve_ms + LEASE); /* the one that it does not come again for */
	return st == NFS4R_DENIED && keep_trying(n, P, &f, 4, 0, 5000) == NFS4R_OK;
}

/* A client of Q reads under a lock, waits to write, and its lock is ready when control ends. Then another thread of it gives back those bytes. */
static bool what_is_ready_goes_with_what_is_given_back(struct net *n)
{
	struct nfs4r_oid f = begin(n);
	enum nfs4r_status a, b;

	n->cfg.lock_reserve_ms = 60000;
	net_retune(n);
	assert_int_equal(finish(n, lock_as(n, P, &f, 1, NFS4R_LOCK_READ, NFS4R_LOCK_TRY)), NFS4R_OK);
	assert_int_equal(finish(n, lock_as(n, Q, &f, 2, NFS4R_LOCK_READ, NFS4R_LOCK_TRY)), NFS4R_OK);
	assert_int_equal(finish(n, lock_as(n, Q, &f, 2, NFS4R_LOCK_WRITE, NFS4R_LOCK_QUEUE)), NFS4R_BLOCKED);
	unlock_byte(n, P, &f, 1, 0);
	for (int i = 0; i < 1000 && !is_ready(n, Q); i++)
		net_run(n, 1);
	assert_true(is_ready(n, Q));
	net_run(n, RTT(n));
	let_go(n, S, P, &f);
	assert_int_equal(row(n, S, &f), 1);
	unlock_byte(n, Q, &f, 2, 0);
	net_run(n, LEASE);
	a = keep_trying(n, S, &f, 3, 0, 5000);
	b = finish(n, lock_as(n, Q, &f, 2, NFS4R_LOCK_WRITE, NFS4R_LOCK_QUEUE));
	return !(a == NFS4R_OK && b == NFS4R_OK);
}

/* P does not hear that Q knows of the lock, and says so again, while Q's word that it was not fetched is on its way. A client of S waits, too. */
static bool what_was_not_fetched_is_not_ready_again(struct net *n)
{
	struct nfs4r_oid f = begin(n);
	enum nfs4r_status q;

	n->cfg.lock_reserve_ms = 500;
	net_retune(n);
	assert_int_equal(keep_trying(n, P, &f, 1, 0, 5000), NFS4R_OK);
	assert_int_equal(finish(n, lock_as(n, Q, &f, 2, NFS4R_LOCK_WRITE, NFS4R_LOCK_QUEUE)), NFS4R_BLOCKED);
	assert_int_equal(finish(n, lock_as(n, S, &f, 3, NFS4R_LOCK_WRITE, NFS4R_LOCK_QUEUE)), NFS4R_BLOCKED);
	net_drop(n, Q, P, NFS4R_MSG_LOCK_READY);
	net_drop(n, Q, P, NFS4R_MSG_FORWARD);
	unlock_byte(n, P, &f, 1, 0);
	for (int i = 0; i < 2000 && readies(n, Q) < 2; i++)
		net_run(n, 1);
	q = finish(n, lock_as(n, Q, &f, 2, NFS4R_LOCK_WRITE, NFS4R_LOCK_QUEUE));
	net_pass(n);
	for (int i = 0; i < 1000 && !is_ready(n, S); i++)
		net_run(n, 1);
	return !(q == NFS4R_OK && is_ready(n, S) && finish(n, lock_as(n, S, &f, 3, NFS4R_LOCK_WRITE, NFS4R_LOCK_QUEUE)) == NFS4R_OK);
}

/* A client of Q waits for one byte twice, and does not fetch it. P, which decided, is gone, so Q decides now. */
static bool an_owner_that_waits_twice_lets_others_have_it(struct net *n)
{
	struct nfs4r_oid f = begin(n);

	n->cfg.lock_reserve_ms = 500;
	n->cfg.lock_grace_ms = GRACE;
	net_retune(n);
	list_client(n, Q, 2, true);
	assert_int_equal(keep_trying(n, P, &f, 1, 0, 5000), NFS4R_OK);
	assert_int_equal(finish(n, lock_as(n, Q, &f, 2, NFS4R_LOCK_READ, NFS4R_LOCK_QUEUE)), NFS4R_BLOCKED);
	assert_int_equal(finish(n, lock_as(n, Q, &f, 2, NFS4R_LOCK_WRITE, NFS4R_LOCK_QUEUE)), NFS4R_BLOCKED);
	net_crash(n, P);
	for (int i = 0; i < 60000 && !is_ready(n, Q); i++) /* its removal, and the gap */
		net_run(n, 1);
	assert_true(is_ready(n, Q));
	assert_int_equal(finish(n, lock_as(n, S, &f, 3, NFS4R_LOCK_WRITE, NFS4R_LOCK_QUEUE)), NFS4R_BLOCKED);
	for (int i = 0; i < 5000 && !is_ready(n, S) && readies(n, Q) < 6; i++)
		net_run(n, 1);
	return is_ready(n, S);
}

/* P's claim of the file is in a gap, and closes for want of use. P updates the file under another claim, and lets go of that while S is outside. Then S is back and the gap ends. S has the update on no disk. */
static bool what_was_kept_waits_for_all_that_came_since(struct net *n)
{
	struct nfs4r_oid f = begin(n), d = at(n, "d");
	uint64_t was;

	list_client(n, S, 9, true);
	assert_int_equal(finish(n, op_rename(n, P, &d, "f", &d, "g")), NFS4R_OK);
	net_run(n, LEASE);
	assert_true(acting(n, P, &f) && acting(n, P, &d));
	n->cfg.lock_grace_ms = 10 * GRACE;
	n->cfg.idle_ms = 200;
	net_crash(n, S);
	net_crash(n, P);
	net_restart(n, P, true);
	assert_true(until_removed(n, P, S, 10 * LEASE));
	net_run(n, LEASE); /* it closes, and that is not taken back, since it is of two objects */
	was = stats(n, P).elections;
	assert_int_equal(keep_trying_chmod(n, P, "d/g", 10 * LEASE), NFS4R_OK);
	assert_true(stats(n, P).elections > was);
	was = stats(n, P).releases;
	net_run(n, 2 * LEASE);
	assert_true(stats(n, P).releases > was);
	n->s[S].no_checkpoint = true;
	net_restart(n, S, true);
	assert_true(until_back(n));
	assert_true(acting(n, P, &f));
	net_run(n, 10 * GRACE + 3 * LEASE);
	if (!acting(n, P, &f))
		return false;
	n->s[S].no_checkpoint = false;
	net_run(n, 3 * LEASE);
	assert_false(acting(n, P, &f));
	return true;
}

static const struct prevents list[] = {
	{ "locks 8: what was reclaimed before is listed", F_LOCK_LIST_OLDER, what_was_reclaimed_before_is_listed },
	{ "locks 7: what is reserved goes with its client", F_LOCK_LOST_WAITS, what_is_reserved_goes_with_its_client },
	{ "locks 8: an answer goes with its table", F_LOCK_ANSWER_KEPT, an_answer_goes_with_its_table },
	{ "locks 17: who does not come again waits no longer", F_LOCK_WAITS_ON, who_does_not_come_again_waits_no_longer },
	{ "locks 11: what was kept waits for all that came since", F_LAST_BEFORE_GAP, what_was_kept_waits_for_all_that_came_since },
	{ "locks 13: rows in gaps are looked at", F_LOCK_GAP_ROWS, rows_in_gaps_are_looked_at },
	{ "locks 14: what was written before does not count", F_WRITE_OF_OUTSIDE, what_was_written_before_does_not_count },
	{ "locks 17: what was not fetched is not ready again", F_LOCK_READY_AGAIN, what_was_not_fetched_is_not_ready_again },
	{ "locks 17: an owner that waits twice lets others have it", F_LOCK_ASKED_IN_TURN, an_owner_that_waits_twice_lets_others_have_it },
	{ "locks 22: what is lowered is heard first", F_LOCK_LOWERED_UNHEARD, what_is_lowered_is_heard_first },
	{ "locks 17: what is ready goes with what is given back", F_LOCK_READY_STAYS, what_is_ready_goes_with_what_is_given_back },
};

int main(void)
{
	return prevents_main(list, sizeof(list) / sizeof(list[0]));
}
