/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What people see of the core: edges of the latency buckets, the control table, what each operation waits for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/state/state.h"
#include "scenario/net.h"

#include "lib/unit.h"

/* ---- latencies ---------------------------------------------------------------- */

static void buckets_have_their_edges(void **state)
{
	static const struct {
		uint64_t ms;
		uint32_t bucket;
	} cases[] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 3, 2 }, { 4, 3 }, { 7, 3 }, { 8, 4 }, { 1023, 10 }, { 1024, 11 }, { 16383, 14 }, { 16384, 15 }, { 32768, 15 }, { UINT32_MAX, 15 }, { UINT64_MAX, 15 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nfs4r_core_hist h = { 0 };

		state_hist_add(&h, cases[i].ms);
		assert_int_equal(h.n, 1);
		assert_true(h.sum_ms == cases[i].ms && h.max_ms == cases[i].ms);
		for (uint32_t b = 0; b < NFS4R_CORE_BUCKETS; b++)
			assert_int_equal(h.bucket[b], b == cases[i].bucket);
	}
}

static void sums_and_the_longest(void **state)
{
	struct nfs4r_core_hist h = { 0 };
	uint64_t n = 0;

	for (uint64_t ms = 0; ms < 5000; ms++)
		state_hist_add(&h, 4999 - ms);
	assert_int_equal(h.n, 5000);
	assert_int_equal(h.sum_ms, 5000 * 4999 / 2);
	assert_int_equal(h.max_ms, 4999);
	for (uint32_t b = 0; b < NFS4R_CORE_BUCKETS; b++)
		n += h.bucket[b];
	assert_int_equal(n, 5000);
	assert_int_equal(h.bucket[12], 2048); /* 2048..4095 */
}

/* One write of another's file: each latency is what the virtual clock says. */
static void latencies_are_measured(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid f = make(n, 1, &n->root, "f", NFS4R_OP_CREATE);
	struct nfs4r_core_stats before, st;
	struct client *c;

	nfs4r_core_get_stats(n->s[2].core, &before);
	finish(n, op_write(n, 2, &f, "x", true));
	nfs4r_core_get_stats(n->s[2].core, &st);
	assert_int_equal(st.elections - before.elections, 1);
	assert_int_equal(st.elections_waited - before.elections_waited, 1);
	assert_int_equal(st.won.n - before.won.n, 1);
	assert_int_equal(st.won.sum_ms - before.won.sum_ms, 20); /* there and back */
	c = op_write(n, 3, &f, "y", false);
	assert_int_equal(finish(n, c), NFS4R_OK);
	nfs4r_core_get_stats(n->s[3].core, &st);
	assert_int_equal(st.forward.n, 1);
	assert_in_range(st.forward.sum_ms, 20, 40);
	net_quiet(n);
	nfs4r_core_get_stats(n->s[2].core, &st);
	assert_int_equal(st.acked_by_all.n - before.acked_by_all.n, 1);
	assert_int_equal(st.release.n - before.release.n, 1);
	net_free(n);
}

/* ---- operations ------------------------------------------------------------------ */

struct seen {
	uint32_t n, stop;
	struct nfs4r_waiting_info v[8];
};

static bool see(void *arg, const struct nfs4r_waiting_info *i)
{
	struct seen *s = arg;

	if (s->n < 8)
		s->v[s->n] = *i;
	s->n++;
	return !s->stop || s->n < s->stop;
}

/* The one operation at @s. */
static struct nfs4r_waiting_info only(struct net *n, nfs4r_server_id s)
{
	struct seen seen = { 0 };

	nfs4r_core_each_waiting(n->s[s].core, see, &seen);
	if (seen.n != 1)
		fail_msg("%u operations at server %u", seen.n, s);
	return seen.v[0];
}

static uint32_t operations(struct net *n, nfs4r_server_id s)
{
	struct seen seen = { 0 };

	nfs4r_core_each_waiting(n->s[s].core, see, &seen);
	return seen.n;
}

static void an_object_that_has_not_arrived(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid later;
	struct nfs4r_waiting_info w;

	nfs4r_oid_make(&later, 1, 1, 12345);
	op_write(n, 2, &later, "x", true);
	net_run(n, 50);
	w = only(n, 2);
	assert_int_equal(w.wait, NFS4R_WAIT_OBJECT);
	assert_int_equal(w.op, NFS4R_OP_WRITE);
	assert_true(nfs4r_oid_eq(&w.obj, &later));
	assert_int_equal(w.name.len, 0);
	assert_int_equal(w.on, 0);
	assert_false(w.remote);
	net_free(n);
}

static void acks_of_an_election(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_waiting_info w;

	net_drop(n, 3, 2, NFS4R_MSG_ACK);
	net_drop(n, 1, 2, NFS4R_MSG_ACK);
	op_name(n, 2, NFS4R_OP_CREATE, &n->root, "new");
	net_run(n, 150);
	net_tick(n, 2);
	w = only(n, 2);
	assert_int_equal(w.wait, NFS4R_WAIT_ELECTION);
	assert_int_equal(w.on, NFS4R_BIT(1) | NFS4R_BIT(3));
	assert_true(nfs4r_oid_eq(&w.obj, &n->root));
	assert_string_equal(w.name.s, "new");
	assert_int_equal(w.waited_ms, 150);
	assert_int_equal(w.attempts, 0);
	net_free(n);
}

/* Control 4.5: acked by all, but those who acked have entries of server 1 that are not here. */
static void the_barrier_of_an_election(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid f = make(n, 1, &n->root, "f", NFS4R_OP_CREATE), g = make(n, 1, &n->root, "g", NFS4R_OP_CREATE);
	struct nfs4r_waiting_info w;

	n->s[2].hold_apply = true;
	finish(n, op_write(n, 1, &g, "x", true));
	net_run(n, 50);
	op_write(n, 2, &f, "y", true);
	net_run(n, 50);
	w = only(n, 2);
	assert_int_equal(w.wait, NFS4R_WAIT_ELECTION);
	assert_int_equal(w.on, NFS4R_BIT(1));
	net_let_apply(n, 2);
	net_run(n, 50);
	assert_int_equal(operations(n, 2), 0);
	net_free(n);
}

/* A server that is down keeps elections from beginning: it is named. */
static void a_server_that_is_away(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid f = make(n, 1, &n->root, "f", NFS4R_OP_CREATE);
	struct nfs4r_waiting_info w;

	net_crash(n, 3);
	net_run(n, 2000);
	op_write(n, 2, &f, "x", true);
	net_run(n, 50);
	w = only(n, 2);
	assert_int_equal(w.wait, NFS4R_WAIT_ELECTION);
	assert_int_equal(w.on, NFS4R_BIT(3));
	net_restart(n, 3, true);
	net_quiet(n);
	net_free(n);
}

/* Server 1 executes under control of f and does not let go; 2 wants to remove f, so it has to be given up. */
static void others_in_the_way_are_named(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid f = make(n, 1, &n->root, "f", NFS4R_OP_CREATE);
	struct nfs4r_waiting_info w;

	n->s[1].hold_exec = true;
	op_write(n, 1, &f, "x", true);
	net_run(n, 50);
	op_name(n, 2, NFS4R_OP_REMOVE, &n->root, "f");
	net_run(n, 50);
	w = only(n, 2);
	assert_int_equal(w.wait, NFS4R_WAIT_OTHERS);
	assert_int_equal(w.on, NFS4R_BIT(1));
	assert_true(w.attempts >= 1);
	w = only(n, 1);
	assert_int_equal(w.wait, NFS4R_WAIT_LOCAL);
	net_let_execute(n, 1);
	net_quiet(n);
	net_free(n);
}

/* Control 7.6: nobody is in the way any more, but the one who asked has its turn. */
static void a_hold_off_is_no_missing_object(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid f = make(n, 1, &n->root, "f", NFS4R_OP_CREATE);
	struct nfs4r_waiting_info w;

	finish(n, op_write(n, 1, &f, "x", true));
	net_run(n, 30);
	net_drop(n, 2, 0, NFS4R_MSG_PROPOSE); /* 2 has it revoked, and is not heard of after */
	op_name(n, 2, NFS4R_OP_REMOVE, &n->root, "f");
	for (int i = 0; i < 200 && controls(n, 1, 1, &f); i++)
		net_run(n, 1);
	assert_false(controls(n, 1, 1, &f));
	op_write(n, 1, &f, "y", true);
	w = only(n, 1);
	assert_int_equal(w.wait, NFS4R_WAIT_OTHERS);
	assert_int_equal(w.attempts, 0);
	net_pass(n);
	net_quiet(n);
	net_free(n);
}

static void a_primary_that_is_asked(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid f = make(n, 1, &n->root, "f", NFS4R_OP_CREATE);
	struct nfs4r_waiting_info w;

	finish(n, op_write(n, 1, &f, "x", true));
	net_run(n, 30);
	n->s[1].hold_exec = true;
	op_write(n, 2, &f, "y", true);
	net_run(n, 30);
	w = only(n, 2);
	assert_int_equal(w.wait, NFS4R_WAIT_PRIMARY);
	assert_int_equal(w.on, NFS4R_BIT(1));
	w = only(n, 1); /* the same operation there */
	assert_int_equal(w.wait, NFS4R_WAIT_LOCAL);
	assert_true(w.remote);
	assert_int_equal(w.from, 2);
	assert_true(nfs4r_oid_eq(&w.obj, &f));

	n->s[2].hold_apply = true;
	net_let_execute(n, 1);
	net_run(n, 30);
	w = only(n, 2); /* answered; the own copy is older than the answer */
	assert_int_equal(w.wait, NFS4R_WAIT_ENTRY);
	assert_int_equal(w.on, NFS4R_BIT(1));
	net_let_apply(n, 2);
	net_quiet(n);
	net_free(n);
}

/* Control 5.2: executed under a majority; 3 neither acks nor applies. */
static void an_answer_that_is_quorum_durable(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_waiting_info w;
	struct client *c;

	net_hold(n, 1, 3, 0);
	c = op_name(n, 1, NFS4R_OP_CREATE, &n->root, "f");
	net_run(n, 100);
	assert_true(c->executed && !c->done);
	w = only(n, 1);
	assert_int_equal(w.wait, NFS4R_WAIT_REPLY);
	assert_int_equal(w.on, NFS4R_BIT(3));
	assert_string_equal(w.name.s, "f");
	net_pass(n);
	net_quiet(n);
	assert_int_equal(operations(n, 1), 0);
	net_free(n);
}

static void the_oldest_comes_first_and_one_may_stop(void **state)
{
	struct net *n = net_new(3);
	struct seen all = { 0 }, two = { .stop = 2 };
	struct nfs4r_core_stats st;
	char name[8];

	net_drop(n, 0, 2, NFS4R_MSG_ACK);
	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		op_name(n, 2, NFS4R_OP_CREATE, &n->root, name);
		net_run(n, 10);
	}
	nfs4r_core_each_waiting(n->s[2].core, see, &all);
	assert_int_equal(all.n, 5);
	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		assert_string_equal(all.v[i].name.s, name);
	}
	nfs4r_core_each_waiting(n->s[2].core, see, &two);
	assert_int_equal(two.n, 2);
	nfs4r_core_get_stats(n->s[2].core, &st);
	assert_int_equal(st.ops_waiting + st.ops_executing, 5);
	net_free(n);
}

/* ---- the control table ------------------------------------------------------------- */

struct find {
	struct nfs4r_oid oid;
	nfs4r_server_id owner;
	uint32_t found;
	struct nfs4r_control_info i;
};

static bool look(void *arg, const struct nfs4r_control_info *i)
{
	struct find *f = arg;

	if (nfs4r_oid_eq(&i->control.oid, &f->oid) && i->owner == f->owner) {
		f->found++;
		f->i = *i;
	}
	return true;
}

static struct nfs4r_control_info row(struct net *n, nfs4r_server_id at, nfs4r_server_id owner, const struct nfs4r_oid *oid)
{
	struct find f = { .oid = *oid, .owner = owner };

	nfs4r_core_each_control(n->s[at].core, look, &f);
	assert_int_equal(f.found, 1);
	return f.i;
}

static void a_deep_control_and_what_is_below(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid d = make(n, 1, &n->root, "d", NFS4R_OP_MKDIR);
	struct nfs4r_control_info i;

	assert_int_equal(finish(n, op_claim(n, 1, &d, NFS4R_DEEP)), NFS4R_OK);
	net_run(n, 30);
	finish(n, op_name(n, 1, NFS4R_OP_CREATE, &d, "a"));
	finish(n, op_name(n, 1, NFS4R_OP_CREATE, &d, "b"));
	i = row(n, 1, 1, &d);
	assert_int_equal(i.control.depth, NFS4R_DEEP);
	assert_true(i.acting && i.acked_by_all && !i.closing && !i.policy);
	assert_int_equal(i.acks, 0xe);
	assert_int_equal(i.below[1], 2); /* created controls */
	assert_int_equal(i.below[2] + i.below[3], 0);
	assert_in_range(i.ends_in_ms, 900, 1000);
	assert_int_equal(i.wanted_by, 0);
	for (nfs4r_server_id s = 1; s <= 3; s++)
		assert_int_equal(i.below[s], nfs4r_core_count_below(n->s[1].core, &d, s));
	nfs4r_core_served(n->s[1].core, &d);
	assert_int_equal(row(n, 1, 1, &d).reads_served, 1);
	i = row(n, 2, 1, &d); /* as another sees it */
	assert_int_equal(i.ends_in_ms, -1);
	assert_int_equal(i.acks, 0);
	net_run(n, 100);
	assert_int_equal(row(n, 2, 1, &d).below[1], 2);
	net_quiet(n);
	net_free(n);
}

static void who_counts_on_it_and_who_wants_it(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid f = make(n, 1, &n->root, "f", NFS4R_OP_CREATE);
	struct nfs4r_control_info i;

	net_hold(n, 0, 1, NFS4R_MSG_ACK);
	n->s[1].hold_exec = true;
	op_write(n, 1, &f, "x", true);
	i = row(n, 1, 1, &f);
	assert_true(!i.won && !i.acked_by_all);
	assert_int_equal(i.acks, NFS4R_BIT(1));
	assert_int_equal(i.waiting, 1);
	assert_int_equal(i.executing, 0);
	assert_int_equal(i.ends_in_ms, -1); /* no timer yet */
	net_run(n, 30);
	net_pass(n);
	net_run(n, 30);
	i = row(n, 1, 1, &f);
	assert_int_equal(i.waiting, 0);
	assert_int_equal(i.executing, 1);
	op_name(n, 2, NFS4R_OP_REMOVE, &n->root, "f");
	net_run(n, 30);
	i = row(n, 1, 1, &f);
	assert_int_equal(i.wanted_by, 2);
	assert_true(i.closing);
	assert_int_equal(i.ends_in_ms, -1);
	assert_true(i.closes_at > 0);
	net_let_execute(n, 1);
	net_quiet(n);
	net_free(n);
}

/* Control 7.5: what a revoke set decides, also when the idle timer would end before it; use of the claim puts it off. */
static void a_time_to_close_decides(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid f;
	struct nfs4r_msg m = { .type = NFS4R_MSG_REVOKE };

	n->cfg.idle_ms = 200;
	n->cfg.revoke_ms = 500;
	net_retune(n);
	f = make(n, 1, &n->root, "f", NFS4R_OP_CREATE);
	finish(n, op_write(n, 1, &f, "x", true));
	net_run(n, 30);
	net_tick(n, 1); /* times are those of the last step */
	assert_in_range(row(n, 1, 1, &f).ends_in_ms, 160, 200);
	n->s[1].hold_exec = true;
	op_write(n, 1, &f, "y", true); /* uses it, so the revoke has to wait */
	m.revoke.oid = f;
	m.revoke.prio = (struct nfs4r_prio){ 1, 2 };
	net_msg(n, 2, 1, &m);
	net_run(n, 20);
	net_tick(n, 1);
	assert_int_equal(row(n, 1, 1, &f).ends_in_ms, 490);
	net_let_execute(n, 1);
	net_tick(n, 1);
	assert_int_equal(row(n, 1, 1, &f).ends_in_ms, 500);
	net_run(n, 499);
	assert_false(row(n, 1, 1, &f).closing);
	net_run(n, 2);
	assert_true(!controls(n, 1, 1, &f) || row(n, 1, 1, &f).closing);
	net_quiet(n);
	net_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_have_their_edges),
		cmocka_unit_test(sums_and_the_longest),
		cmocka_unit_test(latencies_are_measured),
		cmocka_unit_test(an_object_that_has_not_arrived),
		cmocka_unit_test(acks_of_an_election),
		cmocka_unit_test(the_barrier_of_an_election),
		cmocka_unit_test(a_server_that_is_away),
		cmocka_unit_test(others_in_the_way_are_named),
		cmocka_unit_test(a_hold_off_is_no_missing_object),
		cmocka_unit_test(a_primary_that_is_asked),
		cmocka_unit_test(an_answer_that_is_quorum_durable),
		cmocka_unit_test(the_oldest_comes_first_and_one_may_stop),
		cmocka_unit_test(a_deep_control_and_what_is_below),
		cmocka_unit_test(who_counts_on_it_and_who_wants_it),
		cmocka_unit_test(a_time_to_close_decides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
