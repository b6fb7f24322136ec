/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Share reservations at three sites (docs/protocol/locks.md, Locks 19): what they do when nothing fails, over the end of control, and when a server starts anew. */
#include "scenario/trees.h"

#include "lib/unit.h"

#define R NFS4R_SHARE_READ
#define W NFS4R_SHARE_WRITE
#define RW NFS4R_SHARE_BOTH

static const struct nfs4r_versions with_locks = { NFS4R_PROTOCOL_LOCKS, NFS4R_PROTOCOL_LOCKS };

/* A revoke that comes with a forward counts after @revoke_ms. */
static struct net *begin(const char *paths, uint32_t revoke_ms)
{
	struct net *n = net_new(3);

	tree(n, paths);
	n->cfg.revoke_ms = revoke_ms;
	for (nfs4r_server_id s = P; s <= S; s++)
		n->s[s].protocol = with_locks;
	net_retune(n);
	return n;
}

static enum nfs4r_status opens(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint32_t access, uint32_t deny)
{
	return finish(n, op_share(n, s, f, 0, 0, access, deny));
}

/* What is given back is so at once, whatever has to follow. */
static void lowers(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint32_t had_access, uint32_t had_deny, uint32_t access, uint32_t deny)
{
	struct client *c = op_share(n, s, f, had_access, had_deny, access, deny);

	assert_true(c->done);
	assert_int_equal(c->op.status, NFS4R_OK);
}

static void closes(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint32_t access, uint32_t deny)
{
	lowers(n, s, f, access, deny, 0, 0);
}

static struct nfs4r_core_share share(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f)
{
	struct nfs4r_core_share out;

	nfs4r_core_share(n->s[s].core, f, &out);
	return out;
}

static void nothing_is_left(struct net *n)
{
	uint32_t guards;

	for (nfs4r_server_id s = P; s <= S; s++) {
		assert_int_equal(nfs4r_core_count_shares(n->s[s].core, &guards), 0);
		assert_int_equal(guards, 0);
	}
}

static uint32_t messages(const struct net *n)
{
	return n->sent[NFS4R_MSG_FORWARD] + n->sent[NFS4R_MSG_GUARD] + n->sent[NFS4R_MSG_PROPOSE];
}

struct denies {
	uint32_t n, readers, writers, deny_writers, before;
	nfs4r_servers at;
	bool guards;
};

static bool add_deny(void *arg, const struct nfs4r_core_deny *i)
{
	struct denies *d = arg;

	d->n++;
	d->at |= NFS4R_BIT(i->server);
	d->guards |= i->guards;
	d->readers += i->opens.readers;
	d->writers += i->opens.writers;
	d->deny_writers += i->opens.deny_writers;
	d->before += i->until_ms > 0;
	return true;
}

static struct denies denies_of(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f)
{
	struct denies out = { .n = 0 };

	nfs4r_core_each_deny(n->s[s].core, f, add_deny, &out);
	return out;
}

/* The authority names the opens of all servers, another server those of its own clients, if they deny something. */
static void a_report_names_who_denies_and_who_has_it_open(void **state)
{
	struct net *n = begin("f g", 60000);
	struct nfs4r_oid f = at(n, "f"), g = at(n, "g");
	struct nfs4r_lock_counts counts;
	struct denies d;

	assert_int_equal(finish(n, op_claim(n, P, &f, NFS4R_SHALLOW)), NFS4R_OK);
	assert_int_equal(opens(n, S, &g, RW, 0), NFS4R_OK);
	assert_int_equal(opens(n, Q, &f, RW, W), NFS4R_OK);
	assert_int_equal(opens(n, S, &f, R, 0), NFS4R_OK);
	net_run(n, 1000);
	d = denies_of(n, P, NULL);
	assert_true(d.guards && d.n == 2 && d.at == (NFS4R_BIT(Q) | NFS4R_BIT(S)));
	assert_int_equal(d.readers, 2);
	assert_int_equal(d.writers, 1);
	assert_int_equal(d.deny_writers, 1);
	assert_int_equal(d.before, 0);
	d = denies_of(n, Q, &f);
	assert_true(!d.guards && d.n == 1 && d.deny_writers == 1);
	assert_int_equal(denies_of(n, S, NULL).n, 0);
	nfs4r_core_count_locks(n->s[P].core, &counts);
	assert_int_equal(counts.guarded, 1);
	assert_int_equal(counts.denying, 0);
	nfs4r_core_count_locks(n->s[Q].core, &counts);
	assert_int_equal(counts.guarded, 0);
	assert_int_equal(counts.denying, 1);
	net_crash(n, Q);
	net_restart(n, Q, true);
	net_run(n, 3000);
	d = denies_of(n, P, &f);
	assert_true(d.before == 1 && d.deny_writers == 1); /* its client may ask for it again */
	net_free(n);
}

static void opens_exclude_each_other_at_all_servers(void **state)
{
	struct net *n = begin("f", 60000);
	struct nfs4r_oid f = at(n, "f");

	assert_int_equal(opens(n, P, &f, RW, W), NFS4R_OK);
	assert_int_equal(opens(n, Q, &f, RW, W), NFS4R_SHARE_DENIED);
	assert_int_equal(opens(n, Q, &f, R, 0), NFS4R_OK);
	assert_int_equal(opens(n, S, &f, R, R), NFS4R_SHARE_DENIED);
	assert_int_equal(opens(n, P, &f, W, 0), NFS4R_SHARE_DENIED); /* another client of the same server */
	closes(n, P, &f, RW, W);
	net_run(n, 3 * RTT(n));
	assert_int_equal(opens(n, S, &f, RW, W), NFS4R_OK);
	assert_int_equal(opens(n, Q, &f, W, 0), NFS4R_SHARE_DENIED);
	assert_int_equal(opens(n, P, &f, R, W), NFS4R_SHARE_DENIED);
	closes(n, S, &f, RW, W);
	closes(n, Q, &f, R, 0);
	net_run(n, 5 * RTT(n));
	nothing_is_left(n);
	net_free(n);
}

static void an_open_that_denies_nothing_costs_no_message(void **state)
{
	struct net *n = begin("f g", 60000);
	struct nfs4r_oid f = at(n, "f"), g = at(n, "g");
	uint32_t before;

	assert_int_equal(opens(n, P, &g, R, W), NFS4R_OK); /* of another file */
	net_run(n, 3 * RTT(n));
	before = messages(n);
	for (uint32_t i = 0; i < 100; i++)
		for (nfs4r_server_id s = P; s <= S; s++) {
			struct client *c = op_share(n, s, &f, 0, 0, RW, 0);

			assert_true(c->done);
			assert_int_equal(c->op.status, NFS4R_OK);
		}
	for (uint32_t i = 0; i < 100; i++)
		for (nfs4r_server_id s = P; s <= S; s++)
			closes(n, s, &f, RW, 0);
	net_run(n, 3 * RTT(n));
	assert_int_equal(messages(n), before);
	closes(n, P, &g, R, W);
	net_run(n, 3 * RTT(n));
	nothing_is_left(n);
	net_free(n);
}

static void the_last_deny_ends_the_guard(void **state)
{
	struct net *n = begin("f", 60000);
	struct nfs4r_oid f = at(n, "f");
	struct client *c;

	assert_int_equal(opens(n, P, &f, R, W), NFS4R_OK);
	assert_int_equal(opens(n, Q, &f, R, W), NFS4R_OK);
	assert_int_equal(opens(n, S, &f, R, 0), NFS4R_OK);
	closes(n, P, &f, R, W);
	net_run(n, 3 * RTT(n));
	for (nfs4r_server_id s = P; s <= S; s++)
		assert_int_equal(share(n, s, &f).marks, 1);
	assert_int_equal(opens(n, S, &f, W, 0), NFS4R_SHARE_DENIED);
	closes(n, Q, &f, R, W);
	net_run(n, 3 * RTT(n));
	for (nfs4r_server_id s = P; s <= S; s++)
		assert_int_equal(share(n, s, &f).marks, 0);
	c = op_share(n, S, &f, 0, 0, W, 0);
	assert_true(c->done);
	assert_int_equal(c->op.status, NFS4R_OK);
	closes(n, S, &f, W, 0);
	closes(n, S, &f, R, 0);
	nothing_is_left(n);
	net_free(n);
}

/* At every distance in time: a deny at P and an open at S are never both there, and one of them is. */
static void an_open_and_a_deny_at_once(void **state)
{
	for (uint32_t later = 0; later < 100; later += 5)
		for (uint32_t deny_first = 0; deny_first < 2; deny_first++) {
			struct net *n = begin("f", 60000);
			struct nfs4r_oid f = at(n, "f");
			struct client *a, *b;

			if (deny_first) {
				a = op_share(n, P, &f, 0, 0, R, W);
				net_run(n, later);
				b = op_share(n, S, &f, 0, 0, W, 0);
			} else {
				b = op_share(n, S, &f, 0, 0, W, 0);
				net_run(n, later);
				a = op_share(n, P, &f, 0, 0, R, W);
			}
			finish(n, a);
			finish(n, b);
			assert_int_equal((a->op.status == NFS4R_OK) + (b->op.status == NFS4R_OK), 1);
			assert_int_equal((a->op.status == NFS4R_SHARE_DENIED) + (b->op.status == NFS4R_SHARE_DENIED), 1);
			if (a->op.status == NFS4R_OK)
				closes(n, P, &f, R, W);
			else
				closes(n, S, &f, W, 0);
			net_run(n, 10 * RTT(n));
			nothing_is_left(n);
			net_free(n);
		}
}

/* Two who exclude each other, at two sites at once. */
static void two_denies_at_once(void **state)
{
	for (uint32_t later = 0; later < 100; later += 5) {
		struct net *n = begin("f", 60000);
		struct nfs4r_oid f = at(n, "f");
		struct client *a = op_share(n, P, &f, 0, 0, RW, W), *b;

		net_run(n, later);
		b = op_share(n, Q, &f, 0, 0, RW, W);
		finish(n, a);
		finish(n, b);
		assert_int_equal((a->op.status == NFS4R_OK) + (b->op.status == NFS4R_OK), 1);
		closes(n, a->op.status == NFS4R_OK ? P : Q, &f, RW, W);
		net_run(n, 10 * RTT(n));
		nothing_is_left(n);
		net_free(n);
	}
}

static void an_open_is_raised_and_lowered(void **state)
{
	struct net *n = begin("f", 60000);
	struct nfs4r_oid f = at(n, "f");

	assert_int_equal(opens(n, P, &f, R, 0), NFS4R_OK);
	assert_int_equal(opens(n, Q, &f, R, 0), NFS4R_OK);
	assert_int_equal(finish(n, op_share(n, P, &f, R, 0, RW, W)), NFS4R_OK);
	assert_int_equal(finish(n, op_share(n, Q, &f, R, 0, RW, 0)), NFS4R_SHARE_DENIED);
	lowers(n, P, &f, RW, W, RW, 0);
	net_run(n, 3 * RTT(n));
	assert_int_equal(finish(n, op_share(n, Q, &f, R, 0, RW, 0)), NFS4R_OK);
	assert_int_equal(finish(n, op_share(n, P, &f, RW, 0, RW, W)), NFS4R_SHARE_DENIED);
	lowers(n, Q, &f, RW, 0, R, 0);
	assert_int_equal(finish(n, op_share(n, P, &f, RW, 0, RW, W)), NFS4R_OK);
	assert_int_equal(opens(n, Q, &f, W, 0), NFS4R_SHARE_DENIED); /* the refused one has left nothing */
	closes(n, P, &f, RW, W);
	closes(n, Q, &f, R, 0);
	net_run(n, 5 * RTT(n));
	nothing_is_left(n);
	net_free(n);
}

/* It is said until it is heard, and a copy of it does no harm. */
static void a_close_is_lost_and_comes_again(void **state)
{
	struct net *n = begin("f", 60000);
	struct nfs4r_oid f = at(n, "f");

	assert_int_equal(opens(n, P, &f, R, 0), NFS4R_OK);
	assert_int_equal(finish(n, op_claim(n, P, &f, NFS4R_SHALLOW)), NFS4R_OK);
	assert_int_equal(opens(n, Q, &f, R, W), NFS4R_OK);
	assert_true(share(n, P, &f).guards);
	net_drop(n, Q, P, NFS4R_MSG_FORWARD);
	closes(n, Q, &f, R, W);
	net_run(n, 3 * RTT(n));
	assert_true(share(n, Q, &f).returning);
	assert_int_equal(opens(n, P, &f, W, 0), NFS4R_SHARE_DENIED);
	net_pass(n);
	net_run(n, 3000);
	assert_int_equal(opens(n, P, &f, W, 0), NFS4R_OK);
	closes(n, P, &f, W, 0);
	closes(n, P, &f, R, 0);
	net_run(n, 5 * RTT(n));
	nothing_is_left(n);
	net_free(n);
}

/* Nothing of it is in the log: the next authority asks. */
static void denies_outlive_control(void **state)
{
	struct net *n = begin("f", 0);
	struct nfs4r_oid f = at(n, "f");

	assert_int_equal(opens(n, P, &f, RW, W), NFS4R_OK);
	net_quiet(n); /* no control is left */
	assert_false(share(n, P, &f).guards);
	assert_int_equal(opens(n, Q, &f, W, 0), NFS4R_SHARE_DENIED);
	assert_int_equal(opens(n, S, &f, R, 0), NFS4R_OK);
	net_quiet(n);
	assert_int_equal(opens(n, S, &f, RW, W), NFS4R_SHARE_DENIED);
	net_quiet(n);
	closes(n, P, &f, RW, W);
	closes(n, S, &f, R, 0);
	net_run(n, 5000);
	net_quiet(n);
	assert_int_equal(opens(n, Q, &f, RW, RW), NFS4R_OK);
	closes(n, Q, &f, RW, RW);
	net_run(n, 5000);
	nothing_is_left(n);
	net_free(n);
}

/* What earlier authorities have marked goes with the next guard. */
static void marks_of_earlier_authorities_go(void **state)
{
	struct net *n = begin("f", 0);
	struct nfs4r_oid f = at(n, "f");

	assert_int_equal(opens(n, P, &f, R, W), NFS4R_OK);
	net_quiet(n);
	assert_int_equal(opens(n, Q, &f, R, W), NFS4R_OK);
	net_quiet(n);
	assert_true(share(n, S, &f).marks > 1);
	closes(n, P, &f, R, W);
	net_run(n, 3000);
	net_quiet(n);
	closes(n, Q, &f, R, W);
	net_run(n, 5000);
	nothing_is_left(n);
	net_free(n);
}

static void a_file_that_is_made_may_deny(void **state)
{
	struct net *n = begin("d/", 60000);
	struct nfs4r_oid d = at(n, "d"), f;
	struct client *c = op_name(n, P, NFS4R_OP_CREATE, &d, "f"), *b;

	assert_int_equal(finish(n, c), NFS4R_OK);
	f = c->op.result;
	b = op_share(n, P, &f, 0, 0, RW, RW);
	assert_int_equal(finish(n, b), NFS4R_OK);
	assert_true(b->done_at - b->started <= RTT(n)); /* nobody is asked for control */
	net_run(n, 3 * RTT(n));
	assert_int_equal(opens(n, Q, &f, R, 0), NFS4R_SHARE_DENIED);
	closes(n, P, &f, RW, RW);
	net_run(n, 3 * RTT(n));
	assert_int_equal(opens(n, Q, &f, R, 0), NFS4R_OK);
	closes(n, Q, &f, R, 0);
	nothing_is_left(n);
	net_free(n);
}

static void a_file_that_goes_takes_its_guard_along(void **state)
{
	struct net *n = begin("d/ d/f", 60000);
	struct nfs4r_oid d = at(n, "d"), f = at(n, "d/f");

	assert_int_equal(opens(n, P, &f, RW, W), NFS4R_OK);
	assert_int_equal(finish(n, op_name(n, Q, NFS4R_OP_REMOVE, &d, "f")), NFS4R_OK);
	net_run(n, 3000);
	closes(n, P, &f, RW, W);
	net_run(n, 3000);
	nothing_is_left(n);
	net_free(n);
}

/* Its opens are known by the others, and by whoever asks. */
static void an_authority_starts_anew(void **state)
{
	struct net *n = begin("f", 60000);
	struct nfs4r_oid f = at(n, "f");

	assert_int_equal(finish(n, op_claim(n, P, &f, NFS4R_SHALLOW)), NFS4R_OK);
	assert_int_equal(opens(n, Q, &f, RW, W), NFS4R_OK);
	assert_true(share(n, P, &f).guards);
	net_crash(n, P);
	net_restart(n, P, true);
	net_run(n, 3000);
	assert_int_equal(opens(n, S, &f, W, 0), NFS4R_SHARE_DENIED);
	closes(n, Q, &f, RW, W);
	net_run(n, 5000);
	assert_int_equal(opens(n, S, &f, W, 0), NFS4R_OK);
	closes(n, S, &f, W, 0);
	net_run(n, 5000);
	nothing_is_left(n);
	net_free(n);
}

/* So long its client may ask for it again, and nobody else has it. */
static void who_denies_starts_anew(void **state)
{
	struct net *n = begin("f", 60000);
	struct nfs4r_oid f = at(n, "f");

	assert_int_equal(finish(n, op_claim(n, P, &f, NFS4R_SHALLOW)), NFS4R_OK);
	assert_int_equal(opens(n, Q, &f, RW, W), NFS4R_OK);
	net_crash(n, Q);
	net_restart(n, Q, true);
	net_run(n, 3000);
	assert_int_equal(opens(n, S, &f, W, 0), NFS4R_SHARE_DENIED);
	assert_int_equal(opens(n, Q, &f, W, 0), NFS4R_SHARE_DENIED); /* another client */
	assert_int_equal(finish(n, op_share_reclaim(n, Q, &f, RW, W)), NFS4R_OK);
	net_run(n, n->cfg.lock_grace_ms + 3000);
	assert_int_equal(opens(n, S, &f, W, 0), NFS4R_SHARE_DENIED);
	net_crash(n, Q);
	net_restart(n, Q, true);
	net_run(n, n->cfg.lock_grace_ms + 3000); /* it does not come back */
	assert_int_equal(opens(n, S, &f, W, 0), NFS4R_OK);
	closes(n, S, &f, W, 0);
	net_run(n, 5000);
	nothing_is_left(n);
	net_free(n);
}

/* It has forgotten the marks, and nobody controls the file: who denies says so anew. */
static void who_starts_anew_hears_of_denies(void **state)
{
	struct net *n = begin("f", 0);
	struct nfs4r_oid f = at(n, "f");

	assert_int_equal(opens(n, P, &f, RW, W), NFS4R_OK);
	net_quiet(n);
	net_crash(n, S);
	net_restart(n, S, true);
	net_run(n, 3000);
	assert_true(share(n, S, &f).marks > 0);
	assert_int_equal(opens(n, S, &f, W, 0), NFS4R_SHARE_DENIED);
	closes(n, P, &f, RW, W);
	net_run(n, 5000);
	nothing_is_left(n);
	net_free(n);
}

/* A member that is silent may have it open: it is waited for until it is removed. */
static void a_silent_member_is_waited_for(void **state)
{
	struct net *n = begin("f", 60000);
	struct nfs4r_oid f = at(n, "f");
	struct client *c;

	assert_int_equal(opens(n, S, &f, W, 0), NFS4R_OK);
	net_drop(n, P, S, NFS4R_MSG_GUARD);
	c = op_share(n, P, &f, 0, 0, R, W);
	assert_int_equal(finish(n, c), NFS4R_DELAY);
	net_pass(n);
	net_run(n, 5 * RTT(n));
	assert_int_equal(opens(n, P, &f, R, W), NFS4R_SHARE_DENIED);
	closes(n, S, &f, W, 0);
	net_run(n, 5 * RTT(n));
	assert_int_equal(opens(n, P, &f, R, W), NFS4R_OK);
	closes(n, P, &f, R, W);
	net_run(n, 5 * RTT(n));
	nothing_is_left(n);
	net_free(n);
}

/* Its caller gives up while it is at the authority. */
static void who_gives_up_denies_nobody(void **state)
{
	struct net *n = begin("f", 60000);
	struct nfs4r_oid f = at(n, "f");
	struct client *c;

	assert_int_equal(finish(n, op_claim(n, P, &f, NFS4R_SHALLOW)), NFS4R_OK);
	net_run(n, 3 * RTT(n));
	c = op_share(n, Q, &f, 0, 0, R, W);
	net_run(n, RTT(n) / 4);
	net_cancel(n, c);
	assert_true(c->done);
	assert_int_equal(c->op.status, NFS4R_DELAY);
	net_run(n, 10 * RTT(n));
	assert_int_equal(share(n, Q, &f).opens.deny_writers, 0);
	assert_int_equal(opens(n, S, &f, W, 0), NFS4R_OK);
	closes(n, S, &f, W, 0);
	net_run(n, 10 * RTT(n));
	nothing_is_left(n);
	net_free(n);
}

static void a_volume_of_before_has_none(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid f = make(n, P, &n->root, "f", NFS4R_OP_CREATE);

	assert_int_equal(opens(n, P, &f, R, W), NFS4R_NOTSUPP);
	net_free(n);
}

/* Control 6.5: S takes what P makes, and cannot bring it to its disk. */
static void a_file_is_denied_before_it_arrives(void **state)
{
	struct net *n = begin("d/", 60000);
	struct nfs4r_oid d = at(n, "d"), f;
	struct nfs4r_facts facts;
	struct client *c;

	assert_int_equal(finish(n, op_claim(n, P, &d, NFS4R_DEEP)), NFS4R_OK);
	net_run(n, 3 * RTT(n));
	n->s[S].hold_apply = true;
	c = create(n, P, "d", "f");
	net_run(n, 3 * RTT(n));
	assert_true(c->executed);
	f = at(n, "d/f");
	assert_int_equal(opens(n, S, &f, RW, W), NFS4R_OK);
	assert_int_equal(opens(n, P, &f, W, 0), NFS4R_SHARE_DENIED);
	closes(n, S, &f, RW, W);
	net_run(n, 3 * RTT(n));
	assert_int_equal(opens(n, P, &f, W, 0), NFS4R_OK);
	assert_int_equal(opens(n, S, &f, RW, W), NFS4R_SHARE_DENIED);
	assert_false(memtree_facts(n->s[S].tree, &f, &facts));
	closes(n, P, &f, W, 0);
	net_let_apply(n, S);
	net_quiet(n);
	net_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_exclude_each_other_at_all_servers),
		cmocka_unit_test(a_report_names_who_denies_and_who_has_it_open),
		cmocka_unit_test(an_open_that_denies_nothing_costs_no_message),
		cmocka_unit_test(the_last_deny_ends_the_guard),
		cmocka_unit_test(an_open_and_a_deny_at_once),
		cmocka_unit_test(two_denies_at_once),
		cmocka_unit_test(an_open_is_raised_and_lowered),
		cmocka_unit_test(a_close_is_lost_and_comes_again),
		cmocka_unit_test(denies_outlive_control),
		cmocka_unit_test(marks_of_earlier_authorities_go),
		cmocka_unit_test(a_file_that_is_made_may_deny),
		cmocka_unit_test(a_file_that_goes_takes_its_guard_along),
		cmocka_unit_test(an_authority_starts_anew),
		cmocka_unit_test(who_denies_starts_anew),
		cmocka_unit_test(who_starts_anew_hears_of_denies),
		cmocka_unit_test(a_silent_member_is_waited_for),
		cmocka_unit_test(who_gives_up_denies_nobody),
		cmocka_unit_test(a_volume_of_before_has_none),
		cmocka_unit_test(a_file_is_denied_before_it_arrives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
