/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Operations on several objects of which some are below deep control of another server (control 3,
 * control 3.3, 6.6, 7.5): renames and links across the border, directories that are controlled themselves,
 * files with a name on either side. Each says who executes, who forwards, who revokes.
 */
#include <stdio.h>
#include <string.h>

#include "scenario/trees.h"

#include "lib/unit.h"

struct traffic {
	uint32_t forwards, revokes;
};

static struct traffic traffic(const struct net *n)
{
	return (struct traffic){ n->sent[NFS4R_MSG_FORWARD], n->sent[NFS4R_MSG_REVOKE] };
}

static struct client *move(struct net *n, nfs4r_server_id s, const char *d, const char *name, const char *e, const char *to)
{
	struct nfs4r_oid from = at(n, d), into = at(n, e);

	return op_rename(n, s, &from, name, &into, to);
}

/* It ended well, was executed by @who, and cost so much. */
static void assert_by(struct net *n, struct client *c, nfs4r_server_id who, struct traffic before, bool forwarded, bool revoked)
{
	struct traffic t;

	assert_int_equal(finish(n, c), NFS4R_OK);
	t = traffic(n);
	assert_int_equal(c->op.primary, who);
	assert_int_equal(t.forwards > before.forwards, forwarded);
	assert_int_equal(t.revokes > before.revokes, revoked);
}

/* ---- control 6.6: some covered by others, not all by the same ------------------------------- */

/* From a directory of nobody's into Q's deep one: Q lets go, P executes. */
static void rename_into_anothers_tree(void **state)
{
	struct net *n = net_policy("a/ a/f d/ d/x/");
	struct traffic t;

	do_claim(n, Q, "d", NFS4R_DEEP);
	t = traffic(n);
	assert_by(n, move(n, P, "a", "f", "d/x", "g"), P, t, false, true);
	assert_int_equal(depth_of(n, Q, "d"), 0);
	net_quiet(n);
	net_free(n);
}

/* Both directories below Q's: forwarded, Q keeps what it has for a while. */
static void rename_within_anothers_tree(void **state)
{
	struct net *n = net_policy("d/ d/x/ d/y/ d/x/f");
	struct traffic t;

	do_claim(n, Q, "d", NFS4R_DEEP);
	t = traffic(n);
	assert_by(n, move(n, P, "d/x", "f", "d/y", "g"), Q, t, true, true);
	assert_int_equal(depth_of(n, Q, "d"), NFS4R_DEEP);
	net_quiet(n);
	net_free(n);
}

/* Out of Q's tree into one of S's: both let go, P executes. */
static void rename_between_two_others(void **state)
{
	struct net *n = net_policy("d/ d/f e/");
	struct traffic t;

	do_claim(n, Q, "d", NFS4R_DEEP);
	do_claim(n, S, "e", NFS4R_DEEP);
	t = traffic(n);
	assert_by(n, move(n, P, "d", "f", "e", "g"), P, t, false, true);
	assert_true(traffic(n).revokes >= t.revokes + 2);
	net_quiet(n);
	net_free(n);
}

/* The file is below Q's deep control, the new name is not. */
static void link_out_of_anothers_tree(void **state)
{
	struct net *n = net_policy("d/ d/f e/");
	struct nfs4r_oid f = at(n, "d/f"), e = at(n, "e");
	struct traffic t;

	do_claim(n, Q, "d", NFS4R_DEEP);
	t = traffic(n);
	assert_by(n, op_link(n, P, &f, &e, "g"), P, t, false, true);
	assert_int_equal(depth_of(n, P, "d/f"), NFS4R_SHALLOW);
	net_quiet(n);
	net_free(n);
}

/* The child is somebody else's, the directory nobody's: no forward, Q gives the child up. */
static void unlink_of_anothers_file(void **state)
{
	struct net *n = net_policy("d/ d/f");
	struct traffic t;

	do_chmod(n, Q, "d/f");
	t = traffic(n);
	assert_by(n, unlink_(n, P, "d", "f"), P, t, false, true);
	net_quiet(n);
	net_free(n);
}

/* ---- control 3.2, 3.3: directories that are controlled ----------------------------------------- */

/* Into a deep tree of the same owner: no election, the directory stays usable at once. */
static void own_directory_into_own_tree(void **state)
{
	struct net *n = net_policy("d/ d/x/ d/x/k/ e/");
	struct nfs4r_oid x = at(n, "d/x");
	struct client *c;
	uint64_t paid;

	do_claim(n, P, "d", NFS4R_DEEP);
	do_claim(n, P, "e", NFS4R_DEEP);
	paid = stats(n, P).elections;
	c = move(n, P, "d", "x", "e", "x");
	assert_true(c->done);
	assert_true(controls(n, P, P, &x)); /* it brought its control along */
	assert_true(create(n, P, "e/x/k", "a")->done);
	assert_int_equal(stats(n, P).elections, paid);
	net_quiet(n);
	net_free(n);
}

/* Out of an own deep tree to a place nobody covers: one election, for that place; what is below stays P's. */
static void own_directory_out_of_own_tree(void **state)
{
	struct net *n = net_policy("d/ d/x/ d/x/k/ e/");
	uint64_t paid;

	do_claim(n, P, "d", NFS4R_DEEP_PLUS);
	paid = stats(n, P).elections;
	assert_int_equal(finish(n, move(n, P, "d", "x", "e", "x")), NFS4R_OK);
	assert_int_equal(stats(n, P).elections, paid + 1);
	assert_int_equal(depth_of(n, P, "e/x"), NFS4R_DEEP); /* moved claims are never deep+ */
	net_run(n, 30);
	assert_true(create(n, P, "e/x/k", "a")->done);
	net_quiet(n);
	net_free(n);
}

/* P's own directory into a tree of Q: Q lets go of it, P executes and keeps the directory. */
static void own_directory_into_anothers_tree(void **state)
{
	struct net *n = net_policy("d/ d/x/ e/ e/z/");
	struct traffic t;

	do_claim(n, P, "d", NFS4R_DEEP);
	do_claim(n, Q, "e", NFS4R_DEEP);
	t = traffic(n);
	assert_by(n, move(n, P, "d", "x", "e/z", "x"), P, t, false, true);
	assert_int_equal(depth_of(n, P, "e/z/x"), NFS4R_DEEP);
	net_quiet(n);
	net_free(n);
}

/* Q controls something below the directory, nobody the directory: Q gives up what is below it. */
static void anothers_directory_is_moved(void **state)
{
	struct net *n = net_policy("d/ d/x/ d/x/k/ e/");
	struct nfs4r_oid x = at(n, "d/x");
	struct traffic t;

	do_chmod(n, Q, "d/x/k"); /* below x */
	t = traffic(n);
	assert_by(n, move(n, P, "d", "x", "e", "y"), P, t, false, true);
	assert_true(acting(n, P, &x));
	assert_int_equal(nfs4r_core_count_below(n->s[S].core, &x, Q), 0);
	net_quiet(n);
	net_free(n);
}

/* Out of a deep tree of Q: not all arguments are Q's, so Q lets go and P executes. */
static void anothers_tree_loses_a_directory(void **state)
{
	struct net *n = net_policy("d/ d/x/ d/x/k/ e/");
	struct traffic t;

	do_claim(n, Q, "d", NFS4R_DEEP);
	t = traffic(n);
	assert_by(n, move(n, P, "d", "x", "e", "x"), P, t, false, true);
	assert_int_equal(depth_of(n, Q, "d"), 0);
	net_quiet(n);
	net_free(n);
}

/* ---- removal of a controlled directory ------------------------------------------------------------ */

/* Q holds d/x deeply, nobody holds d: P's rmdir waits for Q to let go of it. */
static void rmdir_of_anothers_directory(void **state)
{
	struct net *n = net_policy("d/ d/x/");
	struct traffic t;

	do_claim(n, Q, "d/x", NFS4R_DEEP);
	t = traffic(n);
	assert_by(n, unlink_(n, P, "d", "x"), P, t, false, true);
	net_quiet(n);
	net_free(n);
}

/* Below Q's deep control it is Q that removes it, its own claim for it included. */
static void rmdir_below_anothers_tree(void **state)
{
	struct net *n = net_policy("d/ d/x/ d/y/");
	struct nfs4r_oid x = at(n, "d/x");
	struct traffic t;

	do_claim(n, Q, "d", NFS4R_DEEP);
	do_claim(n, Q, "d/x", NFS4R_DEEP);
	t = traffic(n);
	assert_by(n, unlink_(n, P, "d", "x"), Q, t, true, true);
	net_run(n, 3000);
	assert_false(controls(n, S, Q, &x)); /* the claim ends although its object is gone */
	net_quiet(n);
	net_free(n);
}

/* ---- hard links with one parent covered -------------------------------------------------------------- */

#define LINKS "d/ d/f e/ e/f=d/f"

/* P's deep d does not cover f: Q writes it, by its own election, and asks nobody. */
static void write_through_the_other_name(void **state)
{
	struct net *n = net_policy(LINKS);
	struct nfs4r_oid f = at(n, "e/f");
	struct client *c;
	struct traffic t;

	do_claim(n, P, "d", NFS4R_DEEP);
	t = traffic(n);
	c = write_(n, Q, "e/f");
	assert_by(n, c, Q, t, false, false);
	assert_int_equal(c->executed_at - c->started, RTT(n));
	net_run(n, 30);
	assert_int_equal(route(n, P, &f, false), Q); /* at P, too, although d is P's */
	assert_int_equal(depth_of(n, P, "d"), NFS4R_DEEP);
	net_quiet(n);
	net_free(n);
}

/* Unlink of the name below P's deep d while Q writes the file: P revokes the file, and elects itself for it. */
static void unlink_of_the_covered_name(void **state)
{
	struct net *n = net_policy(LINKS);
	struct traffic t;

	do_claim(n, P, "d", NFS4R_DEEP);
	assert_int_equal(finish(n, write_(n, Q, "e/f")), NFS4R_OK);
	net_run(n, 30);
	t = traffic(n);
	assert_by(n, unlink_(n, P, "d", "f"), P, t, false, true);
	assert_int_equal(depth_of(n, P, "e/f"), NFS4R_SHALLOW);
	assert_int_equal(finish(n, write_(n, Q, "e/f")), NFS4R_OK); /* the file lives on by its other name */
	net_quiet(n);
	net_free(n);
}

/* Unlink of the uncovered name is nobody else's business: Q elects e and f. */
static void unlink_of_the_uncovered_name(void **state)
{
	struct net *n = net_policy(LINKS);
	struct nfs4r_oid f = at(n, "d/f");
	struct traffic t;

	do_claim(n, P, "d", NFS4R_DEEP);
	t = traffic(n);
	assert_by(n, unlink_(n, Q, "e", "f"), Q, t, false, false);
	assert_true(acting(n, Q, &f));
	assert_int_equal(depth_of(n, Q, "e"), NFS4R_DEEP);
	net_quiet(n);
	net_free(n);
}

/* A second name for a file that P covers only deeply: the file leaves the deep control, P's explicit one stays. */
static void link_takes_a_file_out_of_deep_control(void **state)
{
	struct net *n = net_policy("d/ d/f e/");
	struct nfs4r_oid f = at(n, "d/f"), d = at(n, "d"), e = at(n, "e");
	struct traffic t;

	do_claim(n, P, "d", NFS4R_DEEP);
	assert_int_equal(finish(n, op_link(n, P, &f, &e, "g")), NFS4R_OK);
	assert_int_equal(depth_of(n, P, "d/f"), NFS4R_SHALLOW);
	net_run(n, 30);
	assert_int_equal(nfs4r_core_count_below(n->s[S].core, &d, P), 0); /* it is below nothing now */
	t = traffic(n);
	assert_by(n, write_(n, Q, "e/g"), P, t, true, true);
	net_quiet(n);
	net_free(n);
}

/* ---- a tree in which another site works is moved ------------------------------------------------ */

/* P works in two directories below d/a all the time: creates and removes, each as soon as the one before is answered. */
struct worker {
	const char *dir;
	struct client *busy;
	uint32_t done;
};

static void work(struct net *n, struct worker *w)
{
	char name[16];

	if (w->busy && !w->busy->done)
		return;
	if (w->busy && w->busy->op.status == NFS4R_OK)
		w->done++;
	snprintf(name, sizeof(name), "w%u", w->done / 2);
	w->busy = w->done % 2 ? unlink_(n, P, w->dir, name) : create(n, P, w->dir, name);
}

/* Clients ask again when they are told to. Returns how long it took, or UINT64_MAX. */
static uint64_t move_under_work(struct net *n, nfs4r_server_id mover, struct worker w[2])
{
	struct nfs4r_oid from = at(n, "d"), to = at(n, "e");
	uint64_t start = n->now;
	struct client *c = NULL;

	while (n->now < start + 10000) {
		work(n, &w[0]);
		work(n, &w[1]);
		net_run(n, 5);
		if (c && !c->done)
			continue;
		if (c && c->op.status == NFS4R_OK)
			return n->now - start;
		assert_true(!c || c->op.status == NFS4R_DELAY);
		c = op_rename(n, mover, &from, "a", &to, "a");
	}
	return UINT64_MAX;
}

static void tree_is_moved_under_work(void **state)
{
	struct net *n = net_policy("d/ d/a/ d/a/x/ d/a/y/ d/o/ e/");
	struct worker w[2] = { { .dir = "d/a/x" }, { .dir = "d/a/y" } };
	uint32_t before;

	for (uint32_t i = 0; i < 100; i++) {
		work(n, &w[0]);
		work(n, &w[1]);
		net_run(n, 5);
	}
	before = w[0].done;
	assert_true(before > 50);
	assert_true(move_under_work(n, S, w) < 2500);
	w[0].dir = "e/a/x";
	w[1].dir = "e/a/y";
	for (uint32_t i = 0; i < 400; i++) { /* and the work goes on where it was moved to */
		work(n, &w[0]);
		work(n, &w[1]);
		net_run(n, 5);
	}
	assert_true(w[0].done > before + 50);
	net_quiet(n);
	net_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tree_is_moved_under_work),
		cmocka_unit_test(rename_into_anothers_tree),
		cmocka_unit_test(rename_within_anothers_tree),
		cmocka_unit_test(rename_between_two_others),
		cmocka_unit_test(link_out_of_anothers_tree),
		cmocka_unit_test(unlink_of_anothers_file),
		cmocka_unit_test(own_directory_into_own_tree),
		cmocka_unit_test(own_directory_out_of_own_tree),
		cmocka_unit_test(own_directory_into_anothers_tree),
		cmocka_unit_test(anothers_directory_is_moved),
		cmocka_unit_test(anothers_tree_loses_a_directory),
		cmocka_unit_test(rmdir_of_anothers_directory),
		cmocka_unit_test(rmdir_below_anothers_tree),
		cmocka_unit_test(write_through_the_other_name),
		cmocka_unit_test(unlink_of_the_covered_name),
		cmocka_unit_test(unlink_of_the_uncovered_name),
		cmocka_unit_test(link_takes_a_file_out_of_deep_control),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
