/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The normal course of things: elections, replication, forwarding, release. */
#include <string.h>
#include <stdio.h>

#include "scenario/net.h"

#include "lib/unit.h"

/* Paper, figure 2: the first update of an uncontrolled file executes two message delays after it came. */
static void first_update_costs_two_message_delays(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid f = make(n, 1, &n->root, "f", NFS4R_OP_CREATE);
	struct client *w;
	uint32_t proposals;

	net_run(n, 1000);
	proposals = n->sent[NFS4R_MSG_PROPOSE];
	w = op_write(n, 2, &f, "hello", true);
	assert_false(w->executed);
	finish(n, w);
	assert_int_equal(w->op.status, NFS4R_OK);
	assert_int_equal(w->executed_at - w->started, 2 * n->delay);
	assert_int_equal(w->done_at, w->executed_at);
	assert_int_equal(n->sent[NFS4R_MSG_PROPOSE] - proposals, 2);
	/* the second one costs nothing */
	w = op_write(n, 2, &f, "again", true);
	assert_true(w->done);
	assert_int_equal(route(n, 1, &f, false), 2);
	net_quiet(n);
	assert_int_equal(route(n, 1, &f, false), 1);
	net_free(n);
}

static void alone_needs_no_messages(void **state)
{
	struct net *n = net_new(1);
	struct client *c = op_name(n, 1, NFS4R_OP_MKDIR, &n->root, "d");

	assert_true(c->done);
	assert_int_equal(c->op.status, NFS4R_OK);
	c = op_name(n, 1, NFS4R_OP_CREATE, &c->op.result, "f");
	assert_true(c->done);
	c = op_write(n, 1, &c->op.result, "x", false);
	assert_true(c->done);
	net_quiet(n);
	net_free(n);
}

static void all_operations(void **state)
{
	for (uint32_t servers = 2; servers <= 5; servers++) {
		struct net *n = net_new(servers);
		struct nfs4r_oid d = make(n, 1, &n->root, "d", NFS4R_OP_MKDIR), e = make(n, 2, &n->root, "e", NFS4R_OP_MKDIR);
		struct nfs4r_oid f = make(n, 1, &d, "f", NFS4R_OP_CREATE), x = make(n, 2, &d, "x", NFS4R_OP_MKDIR);

		assert_int_equal(finish(n, op_write(n, 2, &f, "data", false)), NFS4R_OK);
		assert_int_equal(finish(n, op_setattr(n, 1, &f, 0600)), NFS4R_OK);
		assert_int_equal(finish(n, op_setattr(n, 1, &x, 0700)), NFS4R_OK);
		assert_int_equal(finish(n, op_link(n, 1, &f, &e, "g")), NFS4R_OK);
		assert_int_equal(finish(n, op_write(n, 2, &f, "more", true)), NFS4R_OK);
		assert_int_equal(finish(n, op_close(n, 2, &f)), NFS4R_OK);
		assert_int_equal(finish(n, op_rename(n, 2, &d, "x", &e, "y")), NFS4R_OK);
		assert_int_equal(finish(n, op_rename(n, 1, &e, "y", &e, "z")), NFS4R_OK);
		assert_int_equal(finish(n, op_name(n, 1, NFS4R_OP_CREATE, &x, "in")), NFS4R_OK);
		assert_int_equal(finish(n, op_name(n, 2, NFS4R_OP_REMOVE, &d, "f")), NFS4R_OK);
		net_quiet(n);
		assert_int_equal(finish(n, op_name(n, 1, NFS4R_OP_REMOVE, &e, "z")), NFS4R_NOTEMPTY);
		assert_int_equal(finish(n, op_name(n, 2, NFS4R_OP_REMOVE, &x, "in")), NFS4R_OK);
		assert_int_equal(finish(n, op_name(n, 2, NFS4R_OP_REMOVE, &e, "z")), NFS4R_OK);
		assert_int_equal(finish(n, op_name(n, 1, NFS4R_OP_REMOVE, &e, "nothing")), NFS4R_NOENT);
		assert_int_equal(finish(n, op_name(n, 1, NFS4R_OP_CREATE, &e, "g")), NFS4R_EXIST);
		assert_int_equal(finish(n, op_rename(n, 1, &n->root, "d", &n->root, "h")), NFS4R_OK);
		assert_int_equal(finish(n, op_rename(n, 1, &n->root, "h", &e, "h")), NFS4R_OK);
		net_quiet(n);
		assert_int_equal(finish(n, op_rename(n, 2, &n->root, "e", &d, "e")), NFS4R_INVAL);
		net_quiet(n);
		net_free(n);
	}
}

/* Control 6.6, 6.7: D is held by 1; 2's create in D goes there and 2 sees its own file when it is answered. */
static void forwarded_create(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid d = make(n, 3, &n->root, "d", NFS4R_OP_MKDIR), child;
	struct client *c;

	finish(n, op_name(n, 1, NFS4R_OP_CREATE, &d, "a"));
	net_run(n, 20);
	c = op_name(n, 2, NFS4R_OP_CREATE, &d, "b");
	assert_int_equal(finish(n, c), NFS4R_OK);
	assert_int_equal(c->op.primary, 1);
	assert_int_equal(nfs4r_oid_creator(&c->op.result), 1);
	assert_true(memtree_lookup(n->s[2].tree, &d, "b", &child));
	assert_true(n->sent[NFS4R_MSG_FORWARD] >= 1);
	assert_true(n->sent[NFS4R_MSG_REVOKE] >= 1);
	net_quiet(n);
	net_free(n);
}

static struct nfs4r_op adopt(const struct nfs4r_oid *dir, const char *name)
{
	struct nfs4r_op op = { .type = NFS4R_OP_ADOPT, .dir = *dir };

	nfs4r_name_set(&op.name, name, strlen(name));
	op.attrs.mask = NFS4R_ATTR_TYPE;
	op.attrs.type = NFS4R_TYPE_FILE;
	return op;
}

/* Control 6.6: what is done in the tree of one server is executed there, and the owner of what it needs lets go. */
static void here_only_is_not_forwarded(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid d = make(n, 3, &n->root, "d", NFS4R_OP_MKDIR), f = make(n, 3, &d, "f", NFS4R_OP_CREATE), child;
	struct nfs4r_op ops[] = { adopt(&d, "there"), { .type = NFS4R_OP_WRITE, .obj = f, .length = 1 << 20, .under_open = true } };
	const struct nfs4r_oid *needed[] = { &d, &f };

	assert_int_equal(finish(n, op_name(n, 2, NFS4R_OP_CREATE, &d, "a")), NFS4R_OK);
	assert_int_equal(finish(n, op_write(n, 2, &f, "text", false)), NFS4R_OK);
	net_run(n, 20);
	for (int i = 0; i < 2; i++) {
		struct client *c = op_here(n, 1, &ops[i]);

		assert_true(acting(n, 2, needed[i]));
		assert_false(c->executed);
		while (finish(n, c) == NFS4R_DELAY) /* as the import does */
			c = op_here(n, 1, &ops[i]);
		assert_int_equal(c->op.status, NFS4R_OK);
		assert_int_equal(c->op.primary, 1);
		assert_true(acting(n, 1, needed[i]));
	}
	assert_int_equal(n->sent[NFS4R_MSG_FORWARD], 0);
	assert_true(n->sent[NFS4R_MSG_REVOKE] >= 2);
	net_run(n, 20);
	assert_true(memtree_lookup(n->s[2].tree, &d, "there", &child));
	net_quiet(n);
	net_free(n);
}

/* Its entry could not be read again. */
static void an_attribute_has_a_name(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_op op = { .type = NFS4R_OP_SETXATTR, .obj = n->root };

	assert_int_equal(finish(n, op_here(n, 1, &op)), NFS4R_INVAL);
	op.type = NFS4R_OP_REMOVEXATTR;
	assert_int_equal(finish(n, op_here(n, 1, &op)), NFS4R_INVAL);
	net_quiet(n);
	net_free(n);
}

/* What the directory says by then counts: somebody else has made the name known, or has taken the directory away. */
static void here_only_hears_what_others_did(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid d = make(n, 3, &n->root, "d", NFS4R_OP_MKDIR), f = make(n, 3, &d, "f", NFS4R_OP_CREATE);
	struct nfs4r_op op = adopt(&d, "there"), w = { .type = NFS4R_OP_WRITE, .obj = f, .length = 1 << 20, .under_open = true };
	struct client *c, *gone;

	assert_int_equal(finish(n, op_name(n, 2, NFS4R_OP_CREATE, &d, "there")), NFS4R_OK);
	assert_int_equal(finish(n, op_name(n, 2, NFS4R_OP_REMOVE, &d, "f")), NFS4R_OK);
	c = op_here(n, 1, &op);
	gone = op_here(n, 1, &w);
	while (finish(n, c) == NFS4R_DELAY)
		c = op_here(n, 1, &op);
	while (finish(n, gone) == NFS4R_DELAY)
		gone = op_here(n, 1, &w);
	assert_int_equal(c->op.status, NFS4R_EXIST);
	assert_int_equal(gone->op.status, NFS4R_STALE);
	assert_int_equal(n->sent[NFS4R_MSG_FORWARD], 0);
	net_quiet(n);
	net_free(n);
}

/* Rivals for one file: one wins, the other forwards; everybody ends, trees are equal. */
static void rivals(void **state)
{
	for (uint32_t servers = 2; servers <= 5; servers++) {
		struct net *n = net_new(servers);
		struct nfs4r_oid f = make(n, 1, &n->root, "f", NFS4R_OP_CREATE);
		struct client *c[NET_MAX + 1];

		for (nfs4r_server_id s = 1; s <= servers; s++)
			c[s] = op_write(n, s, &f, "rival", false);
		for (nfs4r_server_id s = 1; s <= servers; s++)
			assert_int_equal(finish(n, c[s]), NFS4R_OK);
		net_quiet(n);
		net_free(n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_update_costs_two_message_delays),
		cmocka_unit_test(alone_needs_no_messages),
		cmocka_unit_test(all_operations),
		cmocka_unit_test(forwarded_create),
		cmocka_unit_test(rivals),
		cmocka_unit_test(here_only_is_not_forwarded),
		cmocka_unit_test(here_only_hears_what_others_did),
		cmocka_unit_test(an_attribute_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
