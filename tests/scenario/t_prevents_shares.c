/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Share reservations (docs/protocol/locks.md, Locks 19), with each part of the rule and without (see prevents.h). */
#include "scenario/prevents.h"
#include "scenario/trees.h"

#include <stdlib.h>

#include "lib/unit.h"

#define R NFS4R_SHARE_READ
#define W NFS4R_SHARE_WRITE

static const struct nfs4r_versions with_locks = { NFS4R_PROTOCOL_LOCKS, NFS4R_PROTOCOL_LOCKS };

/* P controls the file. */
static struct nfs4r_oid begin(struct net *n)
{
	struct nfs4r_oid f;

	tree(n, "d/ d/f");
	n->cfg.revoke_ms = 60000;
	for (nfs4r_server_id s = P; s <= S; s++)
		n->s[s].protocol = with_locks;
	net_retune(n);
	f = at(n, "d/f");
	assert_int_equal(finish(n, op_claim(n, P, &f, NFS4R_SHALLOW)), NFS4R_OK);
	net_run(n, 3 * RTT(n));
	return f;
}

static enum nfs4r_status opens(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint32_t access, uint32_t deny)
{
	return finish(n, op_share(n, s, f, 0, 0, access, deny));
}

static void closes(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint32_t access, uint32_t deny)
{
	assert_int_equal(finish(n, op_share(n, s, f, access, deny, 0, 0)), NFS4R_OK);
}

/* S has it open, which nobody else knows. */
static bool who_denies_knows_all_opens(struct net *n)
{
	struct nfs4r_oid f = begin(n);

	assert_int_equal(opens(n, S, &f, W, 0), NFS4R_OK);
	return opens(n, P, &f, R, W) == NFS4R_SHARE_DENIED;
}

/* S has said that it has none, and opens it then. */
static bool what_comes_after_the_answer_is_asked(struct net *n)
{
	struct nfs4r_oid f = begin(n);

	assert_int_equal(opens(n, P, &f, R, W), NFS4R_OK);
	return opens(n, S, &f, W, 0) == NFS4R_SHARE_DENIED;
}

/* The word that the first guard is over comes when there is a second one. */
static bool a_late_end_ends_no_other_guard(struct net *n)
{
	struct nfs4r_oid f = begin(n);
	struct nfs4r_msg late;

	assert_int_equal(opens(n, P, &f, R, W), NFS4R_OK);
	net_hold(n, P, S, NFS4R_MSG_UNGUARD);
	closes(n, P, &f, R, W);
	assert_non_null(n->held);
	late = *n->held->msg;
	net_pass(n);
	net_run(n, 3 * RTT(n));
	assert_int_equal(opens(n, P, &f, R, W), NFS4R_OK);
	net_msg(n, P, S, &late);
	net_run(n, RTT(n));
	return opens(n, S, &f, W, 0) == NFS4R_SHARE_DENIED;
}

/* P has granted it, and Q has not heard so when P lets go of the file. The next authority asks Q, which has nothing. */
static bool a_grant_of_an_earlier_authority_is_void(struct net *n)
{
	struct nfs4r_oid f = begin(n);
	enum nfs4r_status b;
	struct client *a;

	net_hold(n, P, Q, NFS4R_MSG_FORWARD_ANSWER);
	a = op_share(n, Q, &f, 0, 0, R, W);
	net_run(n, 3 * RTT(n));
	assert_false(a->done);
	assert_non_null(n->held);
	net_hold(n, Q, 0, NFS4R_MSG_FORWARD);
	assert_int_equal(finish(n, op_claim(n, S, &f, NFS4R_SHALLOW)), NFS4R_OK);
	b = opens(n, S, &f, W, 0);
	net_pass(n);
	finish(n, a);
	return !(b == NFS4R_OK && a->op.status == NFS4R_OK);
}

/* The authority cannot decide when it hears of the close: it waits for a member that started anew. */
static bool a_close_is_said_until_it_is_heard(struct net *n)
{
	struct nfs4r_oid f = begin(n);

	assert_int_equal(opens(n, Q, &f, R, W), NFS4R_OK);
	net_drop(n, P, S, NFS4R_MSG_GUARD);
	net_crash(n, S);
	net_restart(n, S, true);
	net_run(n, 3 * RTT(n));
	closes(n, Q, &f, R, W);
	net_run(n, 3 * (uint64_t)n->cfg.op_wait_ms);
	net_pass(n);
	net_run(n, 10000);
	return opens(n, P, &f, W, 0) == NFS4R_OK;
}

static struct nfs4r_msg *copy_of(const struct nfs4r_msg *m)
{
	struct nfs4r_msg *c = malloc(sizeof(*c));

	*c = *m;
	c->op = malloc(sizeof(*c->op));
	*c->op = *m->op;
	return c;
}

/* A close is doubled, and its copy comes when there is another open. */
static bool a_late_close_takes_nothing_away(struct net *n)
{
	struct nfs4r_oid f = begin(n);
	struct nfs4r_msg *late;

	assert_int_equal(opens(n, P, &f, W, W), NFS4R_OK); /* so the guard lasts */
	assert_int_equal(opens(n, Q, &f, R, 0), NFS4R_OK);
	net_hold(n, Q, P, NFS4R_MSG_FORWARD);
	closes(n, Q, &f, R, 0);
	assert_non_null(n->held);
	late = copy_of(n->held->msg);
	net_pass(n);
	net_run(n, 3 * RTT(n));
	assert_int_equal(opens(n, Q, &f, R, 0), NFS4R_OK);
	net_msg(n, Q, P, late);
	free(late->op);
	free(late);
	net_run(n, RTT(n));
	return finish(n, op_share(n, P, &f, W, W, W, R | W)) == NFS4R_SHARE_DENIED;
}

static const struct prevents list[] = {
	{ "locks 19: who denies knows all opens", F_GUARD_SOME, who_denies_knows_all_opens },
	{ "locks 19: what comes after the answer is asked", F_GUARD_UNMARKED, what_comes_after_the_answer_is_asked },
	{ "locks 19: a late end ends no other guard", F_UNGUARD_ANY, a_late_end_ends_no_other_guard },
	{ "locks 19: a grant of an earlier authority is void", F_SHARE_OLD_GRANT, a_grant_of_an_earlier_authority_is_void },
	{ "locks 19: a close is said until it is heard", F_SHARE_ONCE, a_close_is_said_until_it_is_heard },
	{ "locks 19: a late close takes nothing away", F_SHARE_UNNUMBERED, a_late_close_takes_nothing_away },
};

int main(void)
{
	return prevents_main(list, sizeof(list) / sizeof(list[0]));
}
