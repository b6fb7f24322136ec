/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Control of directories ends sooner when readers wait for it (control 7.11). What it must not do is in t_prevents_policy.c.
 */
#include <stdio.h>
#include <string.h>

#include "scenario/trees.h"

#include "lib/unit.h"

#define READ_MS 100

static struct net *net_readers(const char *paths)
{
	struct net *n = net_policy(paths);

	n->cfg.read_ms = READ_MS;
	net_retune(n);
	return n;
}

/* What has waited for S's disk is done. */
static void slow_disk_ends(struct net *n)
{
	n->s[S].no_checkpoint = false;
	net_stable(n, S);
	net_quiet(n);
}

/* Made, and left alone for so long that a reader ends it at once: the others have it back after what release takes, and not after deep_ms. */
static void what_is_idle_ends_at_once(void **state)
{
	struct net *n = net_readers("d/ d/x/");
	struct nfs4r_oid d = at(n, "d");
	uint64_t asked;

	do_create(n, P, "d", "a");
	net_run(n, READ_MS);
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP);
	assert_int_equal(route(n, S, &d, true), P);
	asked = n->now;
	reads(n, P, "d", 1);
	assert_int_equal(depth_of(n, P, "d"), 0);
	while (route(n, S, &d, true) == P)
		net_run(n, 1);
	assert_true(n->now - asked <= 2 * RTT(n) && n->now - asked < n->cfg.deep_ms / 2);
	assert_int_equal(stats(n, P).yielded, 1);
	net_quiet(n);
	net_free(n);
}

/* Announced (control 7.10): S reads its copy half a round trip after the end, and not before, though its slow disk keeps P from letting go. */
static void copies_are_read_at_once(void **state)
{
	struct net *n = net_readers("d/ d/x/");
	struct nfs4r_oid d = at(n, "d"), x = at(n, "d/x");
	uint64_t asked;

	n->cfg.announce_ms = 20;
	net_retune(n);
	n->s[S].no_checkpoint = true;
	do_create(n, P, "d", "a");
	net_run(n, READ_MS);
	asked = n->now;
	reads(n, P, "d", 1);
	assert_int_equal(route(n, S, &d, true), P);
	assert_int_equal(route(n, S, &x, true), P);
	while (route(n, S, &d, true) == P)
		net_run(n, 1);
	assert_true(n->now - asked <= n->delay + 5);
	assert_int_equal(route(n, S, &x, true), S);
	assert_true(controls(n, S, P, &d));
	slow_disk_ends(n);
	assert_false(controls(n, S, P, &d));
	net_free(n);
}

/* What P does there next has control of its own, and S asks P again before that is done. */
static void announced_and_needed_again(void **state)
{
	struct net *n = net_readers("d/ d/x/");
	struct nfs4r_oid d = at(n, "d");

	n->cfg.announce_ms = 20;
	net_retune(n);
	n->s[S].no_checkpoint = true;
	do_create(n, P, "d", "a");
	net_run(n, READ_MS);
	reads(n, P, "d", 1);
	net_run(n, n->delay + 5);
	assert_int_equal(route(n, S, &d, true), S);
	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	assert_int_equal(finish(n, create(n, P, "d", "b")), NFS4R_OK);
	assert_int_equal(stats(n, P).elections, 2);
	assert_int_equal(stats(n, P).reopened, 0);
	assert_int_equal(route(n, S, &d, true), P);
	net_pass(n);
	slow_disk_ends(n);
	net_free(n);
}

/* d is going, and S's disk is slow. */
static struct net *going(void)
{
	struct net *n = net_readers("d/ d/x/");

	n->s[S].no_checkpoint = true;
	do_create(n, P, "d", "a");
	net_run(n, READ_MS);
	reads(n, P, "d", 1);
	assert_int_equal(depth_of(n, P, "d"), 0);
	return n;
}

/* Closing is taken back for its owner (control 7.1), who is then left alone. */
static void its_owner_comes_back(void **state)
{
	struct net *n = going();

	assert_true(create(n, P, "d/x", "b")->done);
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP);
	assert_int_equal(stats(n, P).elections, 1);
	assert_int_equal(stats(n, P).reopened, 1);
	assert_int_equal(stats(n, P).yield_regrets, 1);
	reads(n, P, "d", 1);
	net_run(n, 2 * READ_MS);
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP);
	net_run(n, 4 * READ_MS);
	assert_int_equal(depth_of(n, P, "d"), 0); /* it pauses for longer than that */
	assert_true(create(n, P, "d/x", "c")->done);
	assert_int_equal(stats(n, P).yield_regrets, 2);
	reads(n, P, "d", 1);
	net_run(n, 7 * READ_MS);
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP);
	slow_disk_ends(n);
	net_free(n);
}

/* ... but not when another server wants it: that one is first, and P waits (control 7.5, 7.6). */
static void its_owner_comes_back_too_late(void **state)
{
	struct net *n = going();
	struct client *p, *q;

	revoke(n, Q, P, "d", 1);
	p = create(n, P, "d", "p");
	net_run(n, 4 * RTT(n));
	assert_false(p->done);
	n->s[S].no_checkpoint = false;
	net_stable(n, S);
	q = create(n, Q, "d", "q");
	assert_int_equal(finish(n, q), NFS4R_OK);
	assert_int_equal(q->op.primary, Q);
	assert_int_equal(finish(n, p), NFS4R_OK);
	assert_true(p->done_at > q->done_at);
	net_quiet(n);
	net_free(n);
}

/* In use when the reader comes: READ_MS after the last use, which moves with each. */
static void what_is_used_ends_after_the_pause(void **state)
{
	struct net *n = net_readers("d/ d/x/");
	char name[8];

	do_create(n, P, "d", "a");
	for (int i = 0; i < 8; i++) {
		reads(n, P, "d", 1);
		net_run(n, READ_MS / 2);
		snprintf(name, sizeof(name), "k%d", i);
		assert_true(create(n, P, "d", name)->done);
	}
	reads(n, P, "d", 1);
	net_run(n, READ_MS - 1);
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP);
	net_run(n, 2);
	assert_int_equal(depth_of(n, P, "d"), 0);
	assert_int_equal(stats(n, P).elections, 1);
	net_quiet(n);
	net_free(n);
}

/* A READ ends what is used for the last time after it, too. */
static void a_reader_is_remembered(void **state)
{
	struct net *n = net_readers("d/ d/x/");

	do_create(n, P, "d", "a");
	reads(n, P, "d", 1);
	net_run(n, READ_MS / 2);
	assert_true(create(n, P, "d", "b")->done);
	net_run(n, READ_MS - 1);
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP);
	net_run(n, 15);
	assert_int_equal(depth_of(n, P, "d"), 0);
	assert_int_equal(stats(n, P).yielded, 1);
	net_quiet(n);
	net_free(n);
}

/* What was done under it may wait for the last ACK. */
static void nothing_yields_before_all_have_acked(void **state)
{
	struct net *n = net_readers("d/ d/x/");
	struct client *made;

	n->cfg.announce_ms = 20;
	net_retune(n);
	net_hold(n, P, S, NFS4R_MSG_PROPOSE);
	net_hold(n, P, S, NFS4R_MSG_ENTRIES);
	made = create(n, P, "d", "a");
	net_run(n, RTT(n) + 5);
	assert_false(made->done);
	for (int i = 0; i < 4; i++) {
		reads(n, P, "d", 1);
		net_run(n, READ_MS / 2);
	}
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP);
	net_pass(n);
	assert_int_equal(finish(n, made), NFS4R_OK);
	net_quiet(n);
	net_free(n);
}

/* A use puts the end off. Nobody reads any more while it goes on, so then the usual timer counts. */
static void nobody_reads_any_more(void **state)
{
	struct net *n = net_readers("d/");
	char name[16];

	do_create(n, P, "d", "a");
	reads(n, P, "d", 1);
	for (uint32_t t = 0; t < n->cfg.deep_ms; t += READ_MS / 2) {
		net_run(n, READ_MS / 2);
		snprintf(name, sizeof(name), "k%u", t);
		assert_true(create(n, P, "d", name)->done);
	}
	net_run(n, n->cfg.deep_ms - 50);
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP);
	net_run(n, 100);
	assert_int_equal(depth_of(n, P, "d"), 0);
	assert_int_equal(stats(n, P).yielded, 0);
	net_quiet(n);
	net_free(n);
}

/* While a member is away (for longer than an operation waits) nothing could be released: what is idle stays, and serves, until its own timer ends. */
static void nothing_yields_while_one_is_away(void **state)
{
	struct net *n = net_readers("d/");
	char name[8];

	do_create(n, P, "d", "a");
	net_crash(n, S);
	for (uint32_t t = 0; t <= n->cfg.op_wait_ms; t += 2 * READ_MS) {
		snprintf(name, sizeof(name), "k%u", t);
		create(n, P, "d", name);
		net_run(n, 2 * READ_MS);
	}
	reads(n, P, "d", 1);
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP);
	assert_int_equal(stats(n, P).yielded, 0);
	net_restart(n, S, true);
	net_quiet(n);
	net_free(n);
}

/* Shallow control of a directory yields as well. */
static void shallow_control_yields(void **state)
{
	struct net *n = net_readers("d/ d/x/ d/x/f");

	do_chmod(n, Q, "d/x/f"); /* below d, so P asks for no more than d itself */
	do_create(n, P, "d", "a");
	assert_int_equal(depth_of(n, P, "d"), NFS4R_SHALLOW);
	net_run(n, READ_MS);
	reads(n, P, "d", 1);
	assert_int_equal(depth_of(n, P, "d"), 0);
	net_quiet(n);
	net_free(n);
}

/* New directories come with control each. One READ of the directory above ends them all, but not the one that is worked in. */
static void what_is_below_goes_along(void **state)
{
	struct net *n = net_readers("d/ d/old/ d/old/f");
	struct nfs4r_oid d = at(n, "d");
	struct client *c;

	do_chmod(n, Q, "d/old/f");
	assert_int_equal(finish(n, op_name(n, P, NFS4R_OP_MKDIR, &d, "a")), NFS4R_OK);
	assert_int_equal(finish(n, op_name(n, P, NFS4R_OP_MKDIR, &d, "b")), NFS4R_OK);
	net_run(n, READ_MS);
	c = create(n, P, "d/b", "file");
	assert_true(c->done);
	reads(n, P, "d", 1);
	assert_int_equal(depth_of(n, P, "d"), 0);
	assert_int_equal(depth_of(n, P, "d/a"), 0);
	assert_int_equal(depth_of(n, P, "d/b"), NFS4R_DEEP);
	assert_int_equal(stats(n, P).yielded, 2);
	net_quiet(n);
	net_free(n);
}

/* A file that is open for writing is written again after a pause: its control stays, whoever reads. */
static void files_do_not_yield(void **state)
{
	struct net *n = net_readers("d/ d/f");
	struct nfs4r_oid f = at(n, "d/f");

	net_writers(n, P, &f, true);
	assert_int_equal(finish(n, write_(n, P, "d/f")), NFS4R_OK);
	net_run(n, READ_MS);
	reads(n, P, "d/f", 3);
	net_run(n, READ_MS);
	assert_int_equal(depth_of(n, P, "d/f"), NFS4R_SHALLOW);
	net_writers(n, P, &f, false);
	net_quiet(n);
	net_free(n);
}

/* A revoke decides after a reader has asked, and use does not take that back. */
static void a_revoke_after_a_reader(void **state)
{
	struct net *n = net_readers("d/ d/x/ d/x/f");
	char name[8];

	do_create(n, P, "d", "a");
	reads(n, P, "d", 1);
	revoke(n, Q, P, "d/x", 1);
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "k%d", i);
		finish(n, create(n, P, "d", name));
		net_run(n, READ_MS / 4);
	}
	assert_int_equal(depth_of(n, P, "d"), NFS4R_SHALLOW); /* narrowed to what is used */
	assert_int_equal(stats(n, P).yielded, 0);
	net_quiet(n);
	net_free(n);
}

/* Readers of what is not worked in narrow a deep control as soon as that is so for READ_MS, not for deep_ms. */
static void others_are_narrowed_for_sooner(void **state)
{
	struct net *n = net_readers("d/ d/x/ d/y/ d/y/f");
	char name[8];

	do_create(n, P, "d", "a");
	net_run(n, READ_MS);
	assert_true(create(n, P, "d/x", "first")->done);
	reads(n, P, "d/y", n->cfg.share_reads); /* d itself is used no more, d/x is */
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "k%d", i);
		assert_true(create(n, P, "d/x", name)->done);
		net_run(n, READ_MS / 2);
	}
	assert_int_equal(depth_of(n, P, "d"), NFS4R_SHALLOW);
	assert_int_equal(depth_of(n, P, "d/x"), NFS4R_DEEP);
	assert_int_equal(stats(n, P).deescalations, 1);
	net_quiet(n);
	net_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_idle_ends_at_once),
		cmocka_unit_test(copies_are_read_at_once),
		cmocka_unit_test(announced_and_needed_again),
		cmocka_unit_test(its_owner_comes_back),
		cmocka_unit_test(its_owner_comes_back_too_late),
		cmocka_unit_test(what_is_used_ends_after_the_pause),
		cmocka_unit_test(a_reader_is_remembered),
		cmocka_unit_test(nothing_yields_before_all_have_acked),
		cmocka_unit_test(nobody_reads_any_more),
		cmocka_unit_test(nothing_yields_while_one_is_away),
		cmocka_unit_test(shallow_control_yields),
		cmocka_unit_test(what_is_below_goes_along),
		cmocka_unit_test(files_do_not_yield),
		cmocka_unit_test(a_revoke_after_a_reader),
		cmocka_unit_test(others_are_narrowed_for_sooner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
