/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The core's contract at its edges: nonsense from peers and disks, limits, restarts, same input - same output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/fault.h"
#include "scenario/net.h"

#include "lib/unit.h"

static uint64_t rnd(uint64_t *s)
{
	*s = *s * 6364136223846793005ull + 1442695040888963407ull;
	return *s >> 33;
}

static void configuration_is_checked(void **state)
{
	struct nfs4r_core_config c = { 0 };
	struct nfs4r_tree t = { 0 };

	nfs4r_core_config_init(&c);
	assert_null(nfs4r_core_create(&c, &t)); /* no self */
	c.self = 4;
	c.servers = NFS4R_BIT(1) | NFS4R_BIT(2);
	assert_null(nfs4r_core_create(&c, &t)); /* self is not configured */
	c.self = 16;
	c.servers = NFS4R_BIT(16);
	assert_null(nfs4r_core_create(&c, &t)); /* id out of range */
}

static void corrupt_rows_are_refused(void **state)
{
	struct nfs4r_core_config cfg = { 0 };
	struct nfs4r_tree port;
	struct nfs4r_oid root = { { 0 } };
	struct memtree *t = memtree_new(1, &root);
	uint8_t key[32] = { 'T', 0, 2, 0, 0, 0, 0, 0, 0, 0, 5 }, val[512] = { 0 };
	struct nfs4r_core *c;

	nfs4r_core_config_init(&cfg);
	cfg.self = 1;
	cfg.servers = NFS4R_BIT(1);
	memtree_port(t, &port);
	c = nfs4r_core_create(&cfg, &port);
	assert_int_equal(nfs4r_core_restore_row(c, key, 0, val, 0), NFS4R_CORRUPT);
	assert_int_equal(nfs4r_core_restore_row(c, key, 11, val, 3), NFS4R_CORRUPT);
	key[0] = '?';
	assert_int_equal(nfs4r_core_restore_row(c, key, 11, val, 20), NFS4R_CORRUPT);
	key[0] = 'T';
	key[2] = 99;
	assert_int_equal(nfs4r_core_restore_row(c, key, 11, val, 20), NFS4R_CORRUPT);
	for (uint64_t s = 1, i = 0; i < 20000; i++) {
		for (int k = 0; k < 32; k++)
			key[k] = (uint8_t)rnd(&s);
		for (int k = 0; k < 200; k++)
			val[k] = (uint8_t)(rnd(&s) & (i % 2 ? 255 : 3));
		key[0] = "TDFSRAN"[i % 7];
		key[1] = 0;
		key[2] = (uint8_t)(i % 17);
		nfs4r_core_restore_row(c, key, (uint16_t)(rnd(&s) % 25), val, (uint16_t)(rnd(&s) % 200));
	}
	nfs4r_core_destroy(c);
	memtree_free(t);
}

/* Bytes from peers never trip an assert. */
static void nonsense_from_peers_is_dropped(void **state)
{
	struct net *n = net_new(3);
	struct client *c = op_name(n, 1, NFS4R_OP_CREATE, &n->root, "f");
	struct nfs4r_core_stats st;
	struct nfs4r_oid f;

	finish(n, c);
	f = c->op.result;
	for (uint64_t s = 7, i = 0; i < 30000; i++) {
		struct nfs4r_msg *m = calloc(1, sizeof(*m));
		struct nfs4r_event ev = { .type = NFS4R_EV_MSG, .now_ms = n->now, .msg = m };
		uint8_t *p = (uint8_t *)m;
		const struct nfs4r_update *u;

		for (size_t k = 0; k < 600; k++)
			p[k] = (uint8_t)(rnd(&s) & (i % 3 ? 3 : 255));
		m->type = (uint32_t)(rnd(&s) % (NFS4R_MSG_HALTED + 2));
		if (m->type == NFS4R_MSG_VERIFY || m->type == NFS4R_MSG_VERIFY_ANSWER) /* and so would its names */
			m->verify.names = NULL;
		if (m->type == NFS4R_MSG_JOINROWS) /* its rows would be anywhere */
			m->type = NFS4R_MSG_JOIN;
		*(uint8_t *)&m->propose.won &= 1; /* the decoder makes sure of that much */
		*(uint8_t *)&m->nack.won &= 1;
		*(uint8_t *)&m->revoke.below &= 1;
		*(uint8_t *)&m->positions.want_stable &= 1;
		*(uint8_t *)&m->positions.wanted &= 1;
		*(uint8_t *)&m->heartbeat.caught_up &= 1;
		*(uint8_t *)&m->heartbeat.joining &= 1;
		*(uint8_t *)&m->promise.refused &= 1;
		*(uint8_t *)&m->space.space.shared &= 1;
		ev.peer = (nfs4r_server_id)(rnd(&s) % 18);
		if (m->type == NFS4R_MSG_FORWARD || m->type == NFS4R_MSG_FORWARD_ANSWER) {
			m->op = i % 5 ? calloc(1, sizeof(*m->op)) : NULL;
			if (m->op) {
				m->op->type = (uint32_t)(rnd(&s) % 20);
				m->op->id = (struct nfs4r_request_id){ ev.peer, 1, rnd(&s) % 4 };
				m->op->obj = m->op->dir = i % 2 ? f : n->root;
				nfs4r_name_set(&m->op->name, "f", 1);
				m->op->primary = (nfs4r_server_id)rnd(&s);
				m->op->lsn = rnd(&s) % 3;
			}
		} else if (m->type == NFS4R_MSG_ENTRIES) {
			m->entries.n = (uint32_t)(rnd(&s) % 2);
			m->entries.entries = calloc(1, sizeof(void *));
			m->entries.entries[0] = m->entries.n ? nfs4r_entry_new() : NULL;
			if (m->entries.n) {
				m->entries.entries[0]->log = (nfs4r_server_id)(rnd(&s) % 5);
				m->entries.entries[0]->lsn = 50 + rnd(&s) % 3;
				m->entries.entries[0]->nparts = (uint32_t)(rnd(&s) % 7);
			}
		} else if (m->type == NFS4R_MSG_READ || m->type == NFS4R_MSG_READ_ANSWER) {
			m->read = NULL;
		} else if (m->type == NFS4R_MSG_PROPOSE && i % 2) {
			m->propose.pid.server = ev.peer;
			m->propose.prio.server = ev.peer;
			m->propose.floor = 0;
			m->propose.ncontrols = 1 + (uint32_t)(rnd(&s) % 8);
			m->propose.controls[0].oid = f;
		}
		u = nfs4r_core_step(n->s[2].core, &ev);
		for (uint32_t k = 0; k < u->n; k++)
			if (u->actions[k].type == NFS4R_ACT_DROP) {
				nfs4r_op_fini(nfs4r_act_drop(&u->actions[k])->op);
				free(nfs4r_act_drop(&u->actions[k])->op);
			}
		if (m->type == NFS4R_MSG_READ || m->type == NFS4R_MSG_READ_ANSWER || m->type == 0 || m->type > NFS4R_MSG_HALTED)
			m->type = NFS4R_MSG_ACK;
		nfs4r_msg_fini(m);
		free(m);
	}
	nfs4r_core_get_stats(n->s[2].core, &st);
	assert_true(st.bad_messages > 1000);
	net_free(n);
}

static void cancel_ends_a_waiting_operation(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid f = make(n, 1, &n->root, "f", NFS4R_OP_CREATE);
	struct nfs4r_event ev = { .type = NFS4R_EV_OP_CANCEL };
	const struct nfs4r_update *u;
	struct client *c;
	bool done = false;

	net_drop(n, 0, 0, NFS4R_MSG_ACK);
	c = op_write(n, 2, &f, "x", true);
	assert_false(c->done);
	ev.op = &c->op;
	ev.now_ms = n->now;
	u = nfs4r_core_step(n->s[2].core, &ev);
	for (uint32_t i = 0; i < u->n; i++)
		done |= u->actions[i].type == NFS4R_ACT_DONE && nfs4r_act_done(&u->actions[i])->op == &c->op;
	assert_true(done);
	assert_int_equal(c->op.status, NFS4R_DELAY);
	net_pass(n);
	net_quiet(n);
	net_free(n);
}

/* Server 1, its primary, may have executed it. */
static void cancel_leaves_what_was_forwarded(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid f = make(n, 1, &n->root, "f", NFS4R_OP_CREATE);
	struct nfs4r_event ev = { .type = NFS4R_EV_OP_CANCEL };
	const struct nfs4r_update *u;
	struct client *c;

	assert_int_equal(finish(n, op_write(n, 1, &f, "x", false)), NFS4R_OK);
	net_drop(n, 1, 2, NFS4R_MSG_FORWARD_ANSWER);
	c = op_write(n, 2, &f, "y", false);
	net_run(n, 100);
	assert_int_equal(n->sent[NFS4R_MSG_FORWARD], 1);
	ev.op = &c->op;
	ev.now_ms = n->now;
	u = nfs4r_core_step(n->s[2].core, &ev);
	for (uint32_t i = 0; i < u->n; i++)
		assert_int_not_equal(u->actions[i].type, NFS4R_ACT_DONE);
	net_pass(n);
	assert_int_equal(finish(n, c), NFS4R_OK);
	net_free(n);
}

static bool ends_with(struct net *n, struct client *c, uint32_t type)
{
	struct nfs4r_op answer = { .type = type, .id = c->op.id, .status = NFS4R_OK };
	struct nfs4r_msg m = { .type = NFS4R_MSG_FORWARD_ANSWER, .op = &answer };
	struct nfs4r_event ev = { .type = NFS4R_EV_MSG, .peer = 1, .msg = &m, .now_ms = n->now };
	const struct nfs4r_update *u = nfs4r_core_step(n->s[2].core, &ev);
	bool done = false;

	for (uint32_t i = 0; i < u->n; i++)
		done |= u->actions[i].type == NFS4R_ACT_DONE && nfs4r_act_done(&u->actions[i])->op == &c->op;
	return done;
}

/* Log 3.14: it says nothing of what became of this one, and the primary is asked again. */
static void answer_to_another_operation_is_none(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid f = make(n, 1, &n->root, "f", NFS4R_OP_CREATE);
	struct client *c;

	assert_int_equal(finish(n, op_write(n, 1, &f, "x", false)), NFS4R_OK);
	net_drop(n, 1, 2, NFS4R_MSG_FORWARD_ANSWER);
	c = op_write(n, 2, &f, "y", false);
	net_run(n, 100);
	for (uint32_t type = NFS4R_OP_CREATE; type <= NFS4R_OP_REMOVEXATTR; type++)
		assert_true(type == NFS4R_OP_WRITE || !ends_with(n, c, type));
	net_pass(n);
	assert_int_equal(finish(n, c), NFS4R_OK);
	assert_int_equal(c->op.primary, 1);
	net_free(n);
}

/* Control 4.6: no majority in time: DELAY, and nothing stays behind. */
static void no_majority_is_delay(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid f = make(n, 1, &n->root, "f", NFS4R_OP_CREATE);
	struct client *c;

	net_drop(n, 2, 0, 0);
	c = op_write(n, 2, &f, "x", true);
	assert_int_equal(finish(n, c), NFS4R_DELAY);
	assert_in_range(c->done_at - c->started, 900, 1100);
	net_pass(n);
	net_quiet(n);
	net_free(n);
}

/* A failed execution is a void entry: versions move, nothing else, others apply it. */
static void void_updates(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid d = make(n, 1, &n->root, "d", NFS4R_OP_MKDIR), child;
	struct nfs4r_facts f;
	nfs4r_version before;
	struct client *c;

	memtree_facts(n->s[3].tree, &d, &f);
	before = f.version;
	n->exec_fail = 1;
	c = op_name(n, 1, NFS4R_OP_CREATE, &d, "f");
	assert_int_equal(finish(n, c), NFS4R_NOSPC);
	net_quiet(n);
	memtree_facts(n->s[3].tree, &d, &f);
	assert_int_equal(f.version, before + 1);
	assert_false(memtree_lookup(n->s[1].tree, &d, "f", &child));
	assert_int_equal(finish(n, op_name(n, 2, NFS4R_OP_CREATE, &d, "f")), NFS4R_OK);
	net_quiet(n);
	net_free(n);
}

/* Parallel writes of one file: versions build on the last one given out; the end out of order. */
static void parallel_writes(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid f = make(n, 1, &n->root, "f", NFS4R_OP_CREATE);
	struct client *c[10];
	struct nfs4r_facts facts;

	finish(n, op_write(n, 1, &f, "first", true));
	n->s[1].hold_exec = true;
	for (int i = 0; i < 10; i++)
		c[i] = op_write(n, 1, &f, "parallel", true);
	assert_int_equal(net_jobs(n, 1), 10);
	net_let_execute(n, 1);
	for (int i = 0; i < 10; i++)
		assert_int_equal(finish(n, c[i]), NFS4R_OK);
	memtree_facts(n->s[1].tree, &f, &facts);
	assert_int_equal(facts.version, 1 + 11);
	net_quiet(n);
	net_free(n);
}

static void crash_of_each_server(void **state)
{
	for (nfs4r_server_id dead = 1; dead <= 3; dead++) {
		struct net *n = net_new(3);
		struct nfs4r_oid d = make(n, 1, &n->root, "d", NFS4R_OP_MKDIR), f = make(n, 2, &d, "f", NFS4R_OP_CREATE);
		struct client *c;

		finish(n, op_write(n, 1, &f, "one", true));
		finish(n, op_name(n, 2, NFS4R_OP_CREATE, &d, "g"));
		net_crash(n, dead);
		net_run(n, 500);
		c = op_write(n, dead == 3 ? 2 : 3, &f, "two", true);
		net_run(n, 2000);
		net_restart(n, dead, true);
		finish(n, c);
		assert_int_equal(finish(n, op_write(n, dead, &f, "three", false)), NFS4R_OK);
		assert_int_equal(finish(n, op_rename(n, dead, &d, "g", &n->root, "h")), NFS4R_OK);
		net_quiet(n);
		net_free(n);
	}
}

/* Log 4.7: the end of the own log comes back from the peers before anything is served. */
static void tail_is_pulled(void **state)
{
	struct net *n = net_new(3);
	struct client *c;
	struct memtree *disk;
	struct nfs4r_oid f;
	nfs4r_lsn end;

	for (nfs4r_server_id s = 1; s <= 3; s++)
		n->s[s].no_checkpoint = true;
	c = op_name(n, 1, NFS4R_OP_CREATE, &n->root, "f");
	finish(n, c);
	f = c->op.result;
	net_run(n, 100);
	disk = memtree_clone(n->s[1].tree); /* what survives */
	finish(n, op_write(n, 1, &f, "one", true));
	finish(n, op_write(n, 1, &f, "two", true));
	finish(n, op_name(n, 1, NFS4R_OP_MKDIR, &n->root, "d"));
	net_run(n, 100);
	end = nfs4r_core_own_end(n->s[1].core);
	net_crash(n, 1);
	memtree_free(n->s[1].tree);
	n->s[1].tree = disk;
	net_hold(n, 2, 1, NFS4R_MSG_POSITIONS);
	net_restart(n, 1, false);
	net_run(n, 1000);
	assert_int_equal(n->s[1].recovered, 0); /* not everybody has told */
	assert_int_equal(nfs4r_core_may_serve(n->s[1].core, &f), NFS4R_DELAY);
	assert_int_equal(route(n, 1, &f, false), 0);
	c = op_write(n, 1, &f, "three", true);
	assert_false(c->executed);
	net_pass(n);
	finish(n, c);
	assert_int_equal(c->op.status, NFS4R_OK);
	assert_int_equal(n->s[1].recovered, 1);
	assert_int_equal(nfs4r_core_own_end(n->s[1].core), end + 1); /* no LSN has two meanings */
	for (nfs4r_server_id s = 1; s <= 3; s++) {
		n->s[s].no_checkpoint = false;
		net_stable(n, s);
	}
	net_quiet(n);
	net_free(n);
}

static void trace_of(uint64_t *hash)
{
	struct net *n = net_new(3);
	struct client *c[30];
	struct nfs4r_oid d = make(n, 1, &n->root, "d", NFS4R_OP_MKDIR);
	char name[8];

	for (int i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "n%d", i % 7);
		c[i] = op_name(n, (nfs4r_server_id)(1 + i % 3), i % 4 ? NFS4R_OP_CREATE : NFS4R_OP_REMOVE, &d, name);
		net_run(n, 3);
	}
	for (int i = 0; i < 30; i++) {
		finish(n, c[i]);
		*hash = (*hash ^ (uint64_t)c[i]->op.status ^ c[i]->done_at) * 1099511628211ull;
	}
	net_quiet(n);
	for (int i = 0; i < 32; i++)
		*hash = (*hash ^ n->sent[i]) * 1099511628211ull;
	net_free(n);
}

static void same_input_same_output(void **state)
{
	uint64_t a = 1, b = 1;
	void *shift = malloc(12345);

	trace_of(&a);
	free(shift);
	trace_of(&b);
	assert_true(a == b);
}

static void every_fault_has_a_text(void **state)
{
	assert_null(nfs4r_core_fault_text(0));
#define X(name, rule, text) assert_non_null(nfs4r_core_fault_text(name));
	NFS4R_FAULTS_EACH(X)
#undef X
	assert_null(nfs4r_core_fault_text(NFS4R_FAULT_COUNT));
}

/* Control 7.2, log 3.10: after all is quiet nothing of a claim is left anywhere, tombstones included. */
static void rows_go_away(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid f = make(n, 1, &n->root, "f", NFS4R_OP_CREATE);

	for (int i = 0; i < 20; i++) {
		finish(n, op_write(n, (nfs4r_server_id)(1 + i % 3), &f, "x", false));
		net_quiet(n);
	}
	for (nfs4r_server_id s = 1; s <= 3; s++) {
		assert_int_equal(memtree_rows(n->s[s].tree, 'T'), 0);
		assert_in_range(memtree_rows(n->s[s].tree, 'D'), 0, 4); /* until the next floor is heard */
		assert_in_range(memtree_rows(n->s[s].tree, 'R'), 0, 4);
	}
	net_free(n);
}

/* Control 6.9, MONOTONIC_READS_MAX: the oldest note goes, with its row, and a start takes all of them back. */
static void what_was_told_is_bounded(void **state)
{
	const uint32_t max = 65536, more = 3;
	struct net *n = net_new(3);
	struct nfs4r_oid f = make(n, 1, &n->root, "f", NFS4R_OP_CREATE), other;

	net_quiet(n);
	assert_int_equal(nfs4r_core_route_read(n->s[2].core, &f, false, 0), 2);
	net_told(n, 2, 1, &f, 1000);
	for (uint32_t i = 1; i <= max - 1; i++) {
		nfs4r_oid_make(&other, 1, 1000, i);
		net_told(n, 2, 1, &other, 1);
	}
	assert_int_equal(memtree_rows(n->s[2].tree, 'N'), max);
	assert_int_equal(nfs4r_core_route_read(n->s[2].core, &f, false, 0), 1);
	net_crash(n, 2);
	net_restart(n, 2, true);
	assert_int_equal(memtree_rows(n->s[2].tree, 'N'), max);
	assert_int_equal(nfs4r_core_route_read(n->s[2].core, &f, false, 0), 1);
	for (uint32_t i = 0; i < more; i++) {
		nfs4r_oid_make(&other, 1, 1000, max + i);
		net_told(n, 2, 1, &other, 1);
		assert_int_equal(memtree_rows(n->s[2].tree, 'N'), max);
	}
	net_free(n);
}

/* Lines of the log of server 2 because server 1 sends it such a message, which is refused. */
static uint32_t lines_about(struct net *n, struct nfs4r_msg *m)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_MSG, .now_ms = n->now, .peer = 1, .msg = m };
	const struct nfs4r_update *u = nfs4r_core_step(n->s[2].core, &ev);
	uint32_t lines = 0;

	for (uint32_t i = 0; i < u->n; i++)
		lines += u->actions[i].type == NFS4R_ACT_STUCK && strncmp(nfs4r_act_stuck(&u->actions[i])->text, "server 1 ", 9) == 0;
	return lines;
}

/* One text does not hide another; the same is said once a minute, and of different ones eight. */
static void each_complaint_is_said_at_once(void **state)
{
	static const uint32_t types[] = { NFS4R_MSG_PROPOSE, NFS4R_MSG_ACK, NFS4R_MSG_NACK, NFS4R_MSG_REVOKE, NFS4R_MSG_FORWARD, NFS4R_MSG_FORWARD_ANSWER, NFS4R_MSG_ENTRIES };
	struct net *n = net_new(3);
	struct nfs4r_msg *m = calloc(1, sizeof(*m));

	for (int again = 0; again < 2; again++)
		for (uint32_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
			*m = (struct nfs4r_msg){ .type = types[i] };
			assert_int_equal(lines_about(n, m), !again);
		}
	*m = (struct nfs4r_msg){ .type = NFS4R_MSG_ENTRIES, .entries.log = 3 };
	assert_int_equal(lines_about(n, m), 1);
	*m = (struct nfs4r_msg){ .type = NFS4R_MSG_POSITIONS, .positions = { .n = 1, .pos[0] = { .log = 2, .received = 1 << 20 } } };
	assert_int_equal(lines_about(n, m), 0);
	n->now += 60000;
	assert_int_equal(lines_about(n, m), 1);
	free(m);
	net_free(n);
}

#define MISREAD(TYPE, member, kind)                                                                                                             \
	static void misread_##member(void)                                                                                                      \
	{                                                                                                                                       \
		(void)nfs4r_act_##member(&(struct nfs4r_action){ .type = NFS4R_ACT_##TYPE == NFS4R_ACT_PUT ? NFS4R_ACT_SEND : NFS4R_ACT_PUT }); \
	}
NFS4R_ACTIONS_EACH(MISREAD)

/* Each accessor ends the process, rather than give the member of another action. In a child. */
static void an_action_is_read_as_what_it_is(void **state)
{
#define MISREADER(TYPE, member, kind) misread_##member,
	static void (*const wrong[])(void) = { NFS4R_ACTIONS_EACH(MISREADER) };
	const struct nfs4r_put row = { .del = true };
	const struct nfs4r_action put = { .type = NFS4R_ACT_PUT, .put = { .put = &row } };
	int status;

	assert_ptr_equal(nfs4r_act_put(&put)->put, &row);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		pid_t pid = fork();

		if (pid == 0) {
			setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
			signal(SIGABRT, SIG_DFL);
			(void)!freopen("/dev/null", "w", stderr);
			wrong[i]();
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(configuration_is_checked),
		cmocka_unit_test(corrupt_rows_are_refused),
		cmocka_unit_test(nonsense_from_peers_is_dropped),
		cmocka_unit_test(cancel_ends_a_waiting_operation),
		cmocka_unit_test(cancel_leaves_what_was_forwarded),
		cmocka_unit_test(answer_to_another_operation_is_none),
		cmocka_unit_test(no_majority_is_delay),
		cmocka_unit_test(void_updates),
		cmocka_unit_test(parallel_writes),
		cmocka_unit_test(crash_of_each_server),
		cmocka_unit_test(tail_is_pulled),
		cmocka_unit_test(same_input_same_output),
		cmocka_unit_test(every_fault_has_a_text),
		cmocka_unit_test(rows_go_away),
		cmocka_unit_test(what_was_told_is_bounded),
		cmocka_unit_test(each_complaint_is_said_at_once),
		cmocka_unit_test(an_action_is_read_as_what_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
