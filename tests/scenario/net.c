/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See net.h. */
#include "scenario/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "lib/unit.h"

static void carry_out(struct net *n, nfs4r_server_id s, const struct nfs4r_update *u);
static void work(struct net *n, nfs4r_server_id s);

/* ---- messages ---------------------------------------------------------------------- */

static struct nfs4r_op *copy_op(const struct nfs4r_op *op)
{
	struct nfs4r_op *c = calloc(1, sizeof(*c));

	*c = *op;
	c->data = nfs4r_buf_get(op->data);
	nfs4r_buf_get(c->cred.groups);
	c->attrs.acl = nfs4r_buf_get(op->attrs.acl);
	c->post.acl = nfs4r_buf_get(op->post.acl);
	c->text = op->text ? strdup(op->text) : NULL;
	c->core = c->engine = NULL;
	return c;
}

static const struct rule *rule_for(struct net *n, nfs4r_server_id from, nfs4r_server_id to, uint32_t type)
{
	for (int i = 0; i < 16; i++) {
		const struct rule *r = &n->rules[i];

		if (r->used && (!r->from || r->from == from) && (!r->to || r->to == to) && (!r->type || r->type == type))
			return r;
	}
	return NULL;
}

static void free_packet(struct packet *p)
{
	nfs4r_msg_fini(p->msg);
	free(p->msg);
	free(p);
}

static bool speaks_next(const struct net *n, nfs4r_server_id s)
{
	return n->s[s].protocol.highest >= NFS4R_PROTOCOL_REHEARSED;
}

static void post(struct net *n, nfs4r_server_id from, nfs4r_server_id to, struct nfs4r_msg *m)
{
	const struct rule *r = rule_for(n, from, to, m->type);
	struct packet *p = calloc(1, sizeof(*p));

	if (m->type == NFS4R_MSG_HEARTBEAT && !(speaks_next(n, from) && speaks_next(n, to)))
		m->heartbeat.rehearsal = 0; /* it does not travel */
	p->at = n->now + n->delay;
	p->from = from;
	p->to = to;
	p->msg = m;
	n->sent[m->type]++;
	if (n->trace)
		printf("%6llu  %u -> %u  %s%s\n", (unsigned long long)n->now, from, to, nfs4r_msg_name(m->type),
		       r ? r->drop ? " (dropped)" : " (held)" : "");
	if (r && r->drop)
		free_packet(p);
	else if (r)
		DL_APPEND(n->held, p);
	else
		DL_APPEND(n->wire, p);
}

void net_msg(struct net *n, nfs4r_server_id from, nfs4r_server_id to, const struct nfs4r_msg *m)
{
	struct nfs4r_msg *c = malloc(sizeof(*c));

	*c = *m;
	if (m->type == NFS4R_MSG_FORWARD || m->type == NFS4R_MSG_FORWARD_ANSWER)
		c->op = copy_op(m->op);
	if (m->type == NFS4R_MSG_JOINROWS && m->joinrows.n) {
		c->joinrows.rows = calloc(m->joinrows.n, sizeof(*c->joinrows.rows));
		memcpy(c->joinrows.rows, m->joinrows.rows, m->joinrows.n * sizeof(*c->joinrows.rows));
	}
	if (m->type == NFS4R_MSG_LOCKS_LIST) {
		c->locks_list.rows = calloc(m->locks_list.n + 1, sizeof(*c->locks_list.rows));
		if (m->locks_list.n)
			memcpy(c->locks_list.rows, m->locks_list.rows, m->locks_list.n * sizeof(*c->locks_list.rows));
	}
	post(n, from, to, c);
}

/* An entry of the own log, as it is sent when its bytes are gone from memory. */
static struct nfs4r_entry *late_copy(struct net *n, nfs4r_server_id s, const struct nfs4r_entry *e)
{
	struct nfs4r_entry *c = nfs4r_entry_new();
	nfs4r_lsn last = e->lsn;
	bool await;

	for (nfs4r_lsn i = e->lsn; i <= memtree_applied(n->s[s].tree, e->log); i++)
		if (nfs4r_entry_part(memtree_entry(n->s[s].tree, e->log, i), &e->parts[0].oid))
			last = i;
	*c = *e;
	c->refs = 1;
	if (c->payload)
		nfs4r_buf_get(c->payload);
	assert_true(nfs4r_core_fuzzy(n->s[s].core, c, e->log, last, &await));
	return c;
}

static void post_entries(struct net *n, nfs4r_server_id s, const struct nfs4r_act_send_entries *a)
{
	struct nfs4r_msg *m = calloc(1, sizeof(*m));
	nfs4r_lsn until = a->until - a->from >= NFS4R_BATCH_MAX ? a->from + NFS4R_BATCH_MAX - 1 : a->until;

	m->type = NFS4R_MSG_ENTRIES;
	m->entries.log = a->log;
	m->entries.end = memtree_applied(n->s[s].tree, a->log);
	m->entries.entries = calloc(until - a->from + 1, sizeof(struct nfs4r_entry *));
	for (nfs4r_lsn i = a->from; i <= until; i++) {
		struct nfs4r_entry *e = memtree_entry(n->s[s].tree, a->log, i);

		assert_non_null(e);
		m->entries.entries[m->entries.n++] = n->late & NFS4R_BIT(a->to) && e->parts[0].effect == NFS4R_EFF_WRITE ? late_copy(n, s, e) : nfs4r_entry_get(e);
	}
	post(n, s, a->to, m);
}

static void add_rule(struct net *n, nfs4r_server_id from, nfs4r_server_id to, uint32_t type, bool drop)
{
	for (int i = 0; i < 16; i++)
		if (!n->rules[i].used) {
			n->rules[i] = (struct rule){ from, to, type, drop, true };
			return;
		}
	fail_msg("too many rules");
}

void net_hold(struct net *n, nfs4r_server_id from, nfs4r_server_id to, uint32_t type)
{
	add_rule(n, from, to, type, false);
}

void net_drop(struct net *n, nfs4r_server_id from, nfs4r_server_id to, uint32_t type)
{
	add_rule(n, from, to, type, true);
}

void net_pass_from(struct net *n, nfs4r_server_id from, nfs4r_server_id to, uint32_t type)
{
	struct packet *p, *tmp;

	for (int i = 0; i < 16; i++)
		if (n->rules[i].from == from && n->rules[i].to == to && n->rules[i].type == type)
			n->rules[i].used = false;
	DL_FOREACH_SAFE(n->held, p, tmp) {
		if (rule_for(n, p->from, p->to, p->msg->type))
			continue;
		DL_DELETE(n->held, p);
		p->at = n->now + n->delay;
		DL_APPEND(n->wire, p);
	}
}

void net_pass(struct net *n)
{
	memset(n->rules, 0, sizeof(n->rules));
	net_pass_from(n, 0, 0, 0);
}

/* ---- a server's work ----------------------------------------------------------------- */

static void step(struct net *n, nfs4r_server_id s, struct nfs4r_event *ev)
{
	char why[200];

	ev->now_ms = n->now;
	carry_out(n, s, nfs4r_core_step(n->s[s].core, ev));
	if (!nfs4r_core_check(n->s[s].core, why, sizeof(why)) && !n->cfg.fault)
		fail_msg("server %u: %s", s, why);
}

static void take_apply(struct server *sv, const struct nfs4r_act_apply *a)
{
	struct job *j = calloc(1, sizeof(*j));

	sv->applies++;
	j->entry = a->entry;
	j->apply = true;
	j->aside = a->aside;
	DL_APPEND(sv->jobs, j);
}

static void take_op(struct server *sv, const struct nfs4r_act_execute *a)
{
	struct job *j = calloc(1, sizeof(*j));

	j->op = a->op;
	j->nlocks = a->nlocks;
	for (uint32_t i = 0; i < a->nlocks; i++) {
		j->locks[i] = a->locks[i].oid;
		j->whole[i] = a->locks[i].whole;
	}
	DL_APPEND(sv->jobs, j);
}

static struct job *job_of(struct server *sv, const struct nfs4r_op *op)
{
	struct job *j;

	DL_FOREACH(sv->jobs, j)
		if (j->op == op)
			return j;
	return NULL;
}

static void drop_job(struct server *sv, struct job *j)
{
	DL_DELETE(sv->jobs, j);
	nfs4r_entry_put(j->entry);
	free(j);
}

static void done(struct net *n, struct nfs4r_op *op)
{
	struct client *c = (struct client *)op;

	c->done = true;
	c->done_at = n->now;
}

/* Until the test carries it out, which is after this update. */
static struct nfs4r_act_repair *keep_repair(const struct nfs4r_act_repair *a)
{
	struct nfs4r_act_repair *r = malloc(sizeof(*r) + a->nseals * sizeof(*a->seals) + a->noids * sizeof(*a->oids));
	struct nfs4r_seal *seals = (struct nfs4r_seal *)(r + 1);
	struct nfs4r_oid *oids = (struct nfs4r_oid *)(seals + a->nseals);

	*r = *a;
	for (uint32_t i = 0; i < a->nseals; i++)
		seals[i] = a->seals[i];
	for (uint32_t i = 0; i < a->noids; i++)
		oids[i] = a->oids[i];
	r->seals = seals;
	r->oids = oids;
	return r;
}

static void carry_out(struct net *n, nfs4r_server_id s, const struct nfs4r_update *u)
{
	struct server *sv = &n->s[s];

	sv->next_timer = u->next_timer_ms;
	for (uint32_t i = 0; i < u->n; i++) {
		const struct nfs4r_action *a = &u->actions[i];
		struct job *j;

		switch (a->type) {
		case NFS4R_ACT_PUT:
			memtree_put(sv->tree, nfs4r_act_put(a)->put);
			break;
		case NFS4R_ACT_SEND:
			net_msg(n, s, nfs4r_act_send(a)->to, nfs4r_act_send(a)->msg);
			break;
		case NFS4R_ACT_ACCEPTED:
			sv->accepted = nfs4r_act_accepted(a)->num;
			sv->waits = sv->slow_disk && a->durable;
			break;
		case NFS4R_ACT_SYNC:
			sv->sync = nfs4r_act_sync(a)->num;
			break;
		case NFS4R_ACT_SEND_ENTRIES:
			post_entries(n, s, nfs4r_act_send_entries(a));
			break;
		case NFS4R_ACT_EXECUTE:
			take_op(sv, nfs4r_act_execute(a));
			break;
		case NFS4R_ACT_APPLY:
			take_apply(sv, nfs4r_act_apply(a));
			break;
		case NFS4R_ACT_STARTED:
			j = job_of(sv, nfs4r_act_started(a)->op);
			j->entry = nfs4r_act_started(a)->entry;
			j->state = 2;
			break;
		case NFS4R_ACT_RETRY: /* a new EXECUTE may follow in this update */
			DL_FOREACH(sv->jobs, j)
				if (j->op == nfs4r_act_retry(a)->op) {
					drop_job(sv, j);
					break;
				}
			break;
		case NFS4R_ACT_DONE:
			done(n, nfs4r_act_done(a)->op);
			break;
		case NFS4R_ACT_DROP:
			nfs4r_op_fini(nfs4r_act_drop(a)->op);
			free(nfs4r_act_drop(a)->op);
			break;
		case NFS4R_ACT_TRUNCATE:
			memtree_truncate(sv->tree, nfs4r_act_truncate(a)->log, nfs4r_act_truncate(a)->until);
			break;
		case NFS4R_ACT_CHECKPOINT:
			sv->checkpoints++;
			sv->hurried += nfs4r_act_checkpoint(a)->hurry;
			break;
		case NFS4R_ACT_STUCK:
			sv->stuck++;
			break;
		case NFS4R_ACT_HALT:
			sv->halted++;
			break;
		case NFS4R_ACT_RECOVERED:
			sv->recovered++;
			sv->recovered_end = memtree_applied(sv->tree, s);
			break;
		case NFS4R_ACT_SEALED:
			memtree_seal(sv->tree, nfs4r_act_sealed(a)->log, nfs4r_act_sealed(a)->until);
			sv->sealed++;
			break;
		case NFS4R_ACT_REPAIR:
			assert_null(sv->repair);
			sv->repair = keep_repair(nfs4r_act_repair(a));
			break;
		case NFS4R_ACT_SERVERS:
			sv->servers_said++;
			break;
		case NFS4R_ACT_QUORUM_DURABLE:
			sv->held = nfs4r_act_quorum_durable(a)->wait_id;
			sv->holds++;
			break;
		case NFS4R_ACT_CLIENT:
			sv->client_said = nfs4r_act_client(a)->wait_id;
			sv->client_status = nfs4r_act_client(a)->status;
			break;
		case NFS4R_ACT_FENCE:
			sv->fences++;
			sv->lost = nfs4r_act_fence(a)->nlost;
			break;
		case NFS4R_ACT_LOCK_READY:
		case NFS4R_ACT_LOCK_AGAIN:
			assert_true(sv->nnotes < NET_NOTES);
			sv->notes[sv->nnotes++] = (struct net_note){ a->type == NFS4R_ACT_LOCK_READY, a->type == NFS4R_ACT_LOCK_READY ? *nfs4r_act_lock_ready(a) : *nfs4r_act_lock_again(a) };
			break;
		case NFS4R_ACT_CONTROL: /* the tests ask the core itself */
		case NFS4R_ACT_MONOTONIC_READ:
		case NFS4R_ACT_RECHECK_READS:
			break;
		}
	}
}

static bool locked(struct server *sv, const struct job *me)
{
	struct job *j;

	DL_FOREACH(sv->jobs, j) {
		if (j == me || j->apply || j->state == 0)
			continue;
		for (uint32_t a = 0; a < me->nlocks; a++)
			for (uint32_t b = 0; b < j->nlocks; b++)
				if (nfs4r_oid_eq(&me->locks[a], &j->locks[b]) && (me->whole[a] || j->whole[b]))
					return true;
	}
	return false;
}

void net_stable(struct net *n, nfs4r_server_id s)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_STABLE };

	for (nfs4r_server_id i = 1; i <= n->n; i++) {
		ev.stable[i] = memtree_applied(n->s[s].tree, i);
		memtree_set_stable(n->s[s].tree, i, ev.stable[i]);
	}
	step(n, s, &ev);
}

void net_newer(struct net *n, nfs4r_server_id s, nfs4r_server_id from, const struct nfs4r_oid *oid)
{
	struct nfs4r_fuzzy_object left = { .oid = *oid, .log = from, .lsn = nfs4r_core_own_end(n->s[from].core) };

	step(n, s, &(struct nfs4r_event){ .type = NFS4R_EV_COPY_NEWER, .left = &left, .nleft = 1 });
	memtree_take_content(n->s[s].tree, n->s[from].tree, oid);
}

void net_beyond(struct net *n, nfs4r_server_id s, uint32_t keep)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_BEYOND };

	for (nfs4r_server_id i = 1; i <= n->n; i++) {
		nfs4r_lsn applied = memtree_applied(n->s[s].tree, i), begin = NFS4R_GEN(applied) << NFS4R_GEN_SHIFT;

		ev.stable[i] = applied > begin + keep ? applied - keep : 0;
	}
	step(n, s, &ev);
	work(n, s);
}

const struct nfs4r_limits net_no_limits = { .has = NFS4R_HAS_ALL };

static void measured(struct net *n, nfs4r_server_id s, const struct nfs4r_space *space, const struct nfs4r_limits *limits, const struct nfs4r_remarks *remarks)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_SPACE, .space = space, .limits = limits, .remarks = remarks };

	for (nfs4r_server_id i = 1; i <= n->n; i++)
		ev.stable[i] = nfs4r_core_applied(n->s[s].core, i);
	step(n, s, &ev);
	work(n, s);
}

#define DISK (UINT64_C(1) << 30)
#define KEPT_BACK 65536

void net_space(struct net *n, nfs4r_server_id s, uint64_t bytes, uint64_t inodes, const struct nfs4r_limits *limits)
{
	struct nfs4r_space space = { .tree = { DISK, bytes + KEPT_BACK, KEPT_BACK }, .inodes = { 1000, inodes + 4, 4 }, .store = { DISK, DISK / 2, KEPT_BACK } };

	measured(n, s, &space, limits, NULL);
}

void net_store_space(struct net *n, nfs4r_server_id s, uint64_t bytes)
{
	struct nfs4r_space space = { .tree = { DISK, DISK / 2, KEPT_BACK }, .inodes = { 1000, 900, 4 }, .store = { DISK, bytes, KEPT_BACK } };

	measured(n, s, &space, &net_no_limits, NULL);
}

void net_remarks(struct net *n, nfs4r_server_id s, const struct nfs4r_remarks *remarks)
{
	struct nfs4r_space space = { .tree = { DISK, DISK / 2, KEPT_BACK }, .inodes = { 1000, 900, 4 }, .store = { DISK, DISK / 2, KEPT_BACK } };

	measured(n, s, &space, &net_no_limits, remarks);
}

static bool same_version(struct server *a, struct server *b, const struct nfs4r_oid *oid)
{
	struct nfs4r_facts x, y;

	return memtree_facts(a->tree, oid, &x) == memtree_facts(b->tree, oid, &y) && x.version == y.version;
}

/* Those that are exact there, and of the version here. The rest goes to ev->left. */
static struct nfs4r_fuzzy_object *take_list(struct server *sv, struct server *from, struct nfs4r_event *ev)
{
	struct nfs4r_fuzzy_object *left = calloc(sv->repair->noids, sizeof(*left));

	for (uint32_t i = 0; i < sv->repair->noids; i++) {
		const struct nfs4r_oid *oid = &sv->repair->oids[i];
		bool exact = nfs4r_core_exactness(from->core, oid, &left[ev->nleft]) == NFS4R_EXACT;

		left[ev->nleft].later = exact && !same_version(sv, from, oid);
		if (exact && !left[ev->nleft].later)
			memtree_take(sv->tree, from->tree, oid);
		else
			ev->nleft++;
	}
	ev->left = left;
	return left;
}

/* Objects of what is undone that are inexact at the source: the core hears of them before they change, and what was exact for longer stays (log 8.3). */
static struct nfs4r_fuzzy_object *note_left(struct net *n, nfs4r_server_id s, struct server *from, struct nfs4r_event *ev)
{
	struct server *sv = &n->s[s];
	struct nfs4r_fuzzy_object *left = calloc(UNDONE_MAX, sizeof(*left));
	struct nfs4r_oid oids[UNDONE_MAX];
	uint32_t noids = memtree_beyond(sv->tree, sv->repair->seals, sv->repair->nseals, oids, UNDONE_MAX);

	for (uint32_t i = 0; i < noids; i++) {
		if (nfs4r_core_exactness(from->core, &oids[i], &left[ev->nleft]) != NFS4R_INEXACT)
			continue;
		left[ev->nleft].kept = nfs4r_core_keeps(sv->core, &oids[i], left[ev->nleft].exact);
		step(n, s, &(struct nfs4r_event){ .type = NFS4R_EV_OBJECTS_FUZZY, .left = &left[ev->nleft], .nleft = 1 });
		ev->nleft++;
	}
	ev->left = left;
	return left;
}

static bool gives(const struct server *from)
{
	struct nfs4r_core_view v = { 0 };

	if (from->up)
		nfs4r_core_get_view(from->core, &v);
	return v.gives;
}

struct clients {
	struct nfs4r_client_entry *list;
	uint32_t n;
};

static bool take_client(void *arg, const struct nfs4r_client_entry *k)
{
	struct clients *l = arg;

	l->list = realloc(l->list, (l->n + 1) * sizeof(*l->list));
	l->list[l->n++] = *k;
	return true;
}

/* As @from has them. */
static struct nfs4r_client_entry *all_clients(struct server *from, uint32_t *n)
{
	struct clients l = { 0 };

	for (nfs4r_server_id i = 1; i <= NFS4R_SERVERS_MAX; i++)
		nfs4r_core_each_client_row(from->core, i, take_client, &l);
	*n = l.n;
	return l.list;
}

/* The copy of the source, at once; nothing if it gives none. */
static void do_repair(struct net *n, nfs4r_server_id s, bool ok)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_REPAIRED, .ok = ok };
	struct server *sv = &n->s[s], *from = &n->s[sv->repair->from];
	struct nfs4r_fuzzy_object *left = NULL;

	assert_null(sv->jobs);
	ev.ok = ok = ok && gives(from);
	if (ok && sv->repair->all)
		memtree_take_all(sv->tree, from->tree);
	else if (ok && sv->repair->noids)
		left = take_list(sv, from, &ev);
	else if (ok)
		left = note_left(n, s, from, &ev);
	if (ok && !sv->repair->all && !sv->repair->noids)
		memtree_undo(sv->tree, from->tree, sv->repair->seals, sv->repair->nseals);
	for (nfs4r_server_id i = 1; i <= n->n; i++)
		ev.stable[i] = memtree_applied(sv->tree, i);
	if (ok)
		ev.clients = all_clients(from, &ev.nclients);
	sv->repairs += ok;
	free(sv->repair);
	sv->repair = NULL;
	step(n, s, &ev);
	free((void *)ev.clients);
	free(left);
}

static bool cannot_apply(const struct server *sv, const struct job *j)
{
	const struct nfs4r_part *p = nfs4r_oid_is_zero(&sv->cannot) ? NULL : nfs4r_entry_part(j->entry, &sv->cannot);

	return p && !j->aside && p->effect != NFS4R_EFF_LINKS && (!sv->cannot_make || p->effect == NFS4R_EFF_CREATE);
}

static bool one_job(struct net *n, nfs4r_server_id s, struct job *j)
{
	struct server *sv = &n->s[s];
	struct nfs4r_event ev = { .op = j->op, .ok = true };

	if (j->apply) {
		if (sv->hold_apply)
			return false;
		ev.type = NFS4R_EV_APPLIED;
		ev.entry = j->entry;
		sv->asides += j->aside;
		if (cannot_apply(sv, j)) {
			ev.ok = false;
			ev.status = NFS4R_PERM;
			sv->failed++;
		}
		step(n, s, &ev);
		drop_job(sv, j);
		return true;
	}
	if (j->state == 0) {
		if (locked(sv, j))
			return false;
		j->state = 1;
		ev.type = NFS4R_EV_OP_LOCKED;
		ev.status = n->refuse ? NFS4R_PERM : NFS4R_OK;
		step(n, s, &ev); /* j may be gone: RETRY */
		return true;
	}
	if (j->state == 2 && !sv->hold_exec) {
		struct nfs4r_entry *e = j->entry;

		j->entry = NULL;
		j->op = NULL;
		DL_DELETE(sv->jobs, j);
		free(j);
		ev.type = NFS4R_EV_OP_EXECUTED;
		ev.entry = e;
		if (n->exec_fail) {
			n->exec_fail--;
			ev.ok = false;
			ev.op->status = NFS4R_NOSPC;
		}
		for (struct client *c = n->clients; c; c = c->next)
			if (&c->op == ev.op) {
				c->executed = true;
				c->executed_at = n->now;
			}
		step(n, s, &ev);
		nfs4r_entry_put(e);
		return true;
	}
	return false;
}

static void work(struct net *n, nfs4r_server_id s)
{
	struct server *sv = &n->s[s];
	struct job *j;
	bool again;

	do {
		again = false;
		DL_FOREACH(sv->jobs, j)
			if (one_job(n, s, j)) {
				again = true;
				break;
			}
		if (!again && sv->repair && !sv->hold_repair) {
			do_repair(n, s, true);
			again = true;
		}
		if (!again && sv->sync && !sv->slow_disk) {
			struct nfs4r_event ev = { .type = NFS4R_EV_SYNCED, .num = sv->sync };

			sv->sync = 0;
			step(n, s, &ev);
			again = true;
		}
		if (!again && sv->accepted && !(sv->waits && sv->slow_disk)) {
			struct nfs4r_event ev = { .type = NFS4R_EV_ACCEPTED, .num = sv->accepted };

			sv->accepted = 0;
			step(n, s, &ev);
			again = true;
		}
		if (!again && sv->checkpoints && !sv->no_checkpoint) {
			sv->checkpoints = 0;
			net_stable(n, s);
			again = true;
		}
	} while (again);
}

void net_let_repair(struct net *n, nfs4r_server_id s, bool ok)
{
	assert_non_null(n->s[s].repair);
	if (ok)
		n->s[s].hold_repair = false;
	do_repair(n, s, ok);
	work(n, s);
}

void net_one_repair(struct net *n, nfs4r_server_id s)
{
	assert_true(n->s[s].repair && n->s[s].hold_repair);
	do_repair(n, s, true);
	work(n, s);
}

static void addresses(const struct net *n, struct nfs4r_address all[NET_MAX])
{
	memset(all, 0, NET_MAX * sizeof(all[0]));
	for (nfs4r_server_id i = 1; i <= n->n; i++) {
		all[i - 1].id = i;
		all[i - 1].port = (uint16_t)(1000 + i);
		snprintf(all[i - 1].address, sizeof(all[0].address), "host%u", i);
	}
}

enum nfs4r_status net_set_keys(struct net *n, nfs4r_server_id s, nfs4r_server_id id, uint8_t first, uint8_t second, bool abandon)
{
	struct nfs4r_address all[NET_MAX], *a = &all[id - 1];
	struct nfs4r_event ev = { .type = NFS4R_EV_SERVER_KEYS, .peer = id, .all = all, .nall = n->n, .abandon = abandon };
	char why[NFS4R_CORE_TEXT];
	enum nfs4r_status st;

	addresses(n, all);
	a->keys[a->nkeys++].sha256[0] = first;
	if (second)
		a->keys[a->nkeys++].sha256[0] = second;
	st = nfs4r_core_may_set_keys(n->s[s].core, id, a->keys, a->nkeys, abandon, why, sizeof(why));
	if (st == NFS4R_OK) {
		step(n, s, &ev);
		work(n, s);
	}
	return st;
}

bool net_knows_key(struct net *n, nfs4r_server_id s, nfs4r_server_id id, uint8_t key)
{
	const struct nfs4r_view *v = nfs4r_core_adopted(n->s[s].core);

	for (uint32_t i = 0; i < v->nbook; i++)
		for (uint32_t k = 0; v->addresses[i].id == id && k < v->addresses[i].nkeys; k++)
			if (v->addresses[i].keys[k].sha256[0] == key)
				return true;
	return false;
}

bool net_add(struct net *n, nfs4r_server_id s, nfs4r_server_id id)
{
	struct nfs4r_address all[NET_MAX];
	struct nfs4r_event ev = { .type = NFS4R_EV_ADD_SERVER, .peer = id, .all = all, .nall = n->n };
	char why[200];

	addresses(n, all);
	if (nfs4r_core_may_add(n->s[s].core, id, why, sizeof(why)) != NFS4R_OK)
		return false;
	step(n, s, &ev);
	work(n, s);
	return true;
}

bool net_take_out(struct net *n, nfs4r_server_id s, nfs4r_server_id id, bool abandon)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_REMOVE_SERVER, .peer = id, .abandon = abandon };
	uint64_t lost;
	char why[200];

	if (nfs4r_core_may_remove(n->s[s].core, id, abandon, &lost, why, sizeof(why)) != NFS4R_OK)
		return false;
	step(n, s, &ev);
	work(n, s);
	return true;
}

bool net_reconfigure(struct net *n, nfs4r_server_id s, nfs4r_servers set)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_RECONFIGURE, .set = set };
	char why[200];

	if (nfs4r_core_may_reconfigure(n->s[s].core, set, why, sizeof(why)) != NFS4R_OK)
		return false;
	step(n, s, &ev);
	work(n, s);
	return true;
}

bool net_finish(struct net *n, nfs4r_server_id s)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_FINISH_UPGRADE };
	struct nfs4r_volume_settings to;
	char why[NFS4R_CORE_TEXT];

	if (nfs4r_core_may_finish_upgrade(n->s[s].core, &to, why, sizeof(why)) != NFS4R_OK)
		return false;
	step(n, s, &ev);
	work(n, s);
	return true;
}

bool net_set(struct net *n, nfs4r_server_id s, enum nfs4r_volume_key key, uint32_t value)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_SET, .key = key, .value = value };
	struct nfs4r_volume_settings to;
	char why[NFS4R_CORE_TEXT];

	if (nfs4r_core_may_set(n->s[s].core, key, value, &to, why, sizeof(why)) != NFS4R_OK)
		return false;
	step(n, s, &ev);
	work(n, s);
	return true;
}

void net_give_up(struct net *n, nfs4r_server_id s, nfs4r_server_id gone)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_ABANDON, .peer = gone };

	step(n, s, &ev);
	work(n, s);
}

void net_leave(struct net *n, nfs4r_server_id s)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_LEAVE };

	step(n, s, &ev);
	work(n, s);
}

void net_hold_until_quorum_durable(struct net *n, nfs4r_server_id s, uint64_t id, const struct nfs4r_oid *oid)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_AWAIT_QUORUM, .wait_id = id, .oid = *oid };

	step(n, s, &ev);
	work(n, s);
}

void net_client(struct net *n, nfs4r_server_id s, uint64_t id, const struct nfs4r_client *client, bool begins)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_CLIENT, .wait_id = id, .client = client, .ok = begins };

	step(n, s, &ev);
	work(n, s);
}

void net_client_reclaimed(struct net *n, nfs4r_server_id s, const struct nfs4r_client *client)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_CLIENT_RECLAIMED, .client = client };

	step(n, s, &ev);
	work(n, s);
}

void net_locks_known(struct net *n, nfs4r_server_id s)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_LOCKS_KNOWN };

	step(n, s, &ev);
	work(n, s);
}

void net_writers(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, bool open)
{
	struct nfs4r_event ev = { .type = open ? NFS4R_EV_OPENED : NFS4R_EV_CLOSED, .oid = *f };

	step(n, s, &ev);
	work(n, s);
}

void net_told(struct net *n, nfs4r_server_id s, nfs4r_server_id by, const struct nfs4r_oid *oid, nfs4r_version version)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_OWNER_VERSION, .peer = by, .oid = *oid, .version = version };

	step(n, s, &ev);
	work(n, s);
}

void net_finish_apply(struct net *n, nfs4r_server_id s, nfs4r_lsn lsn)
{
	struct job *j;

	DL_FOREACH(n->s[s].jobs, j)
		if (j->apply && j->entry->lsn == lsn) {
			n->s[s].hold_apply = false;
			one_job(n, s, j);
			n->s[s].hold_apply = true;
			return;
		}
	fail_msg("no such apply");
}

void net_finish_exec(struct net *n, struct client *c)
{
	struct server *sv = &n->s[c->server];
	struct job *j = job_of(sv, &c->op);

	assert_true(j && j->state == 2);
	sv->hold_exec = false;
	one_job(n, c->server, j);
	sv->hold_exec = true;
}

uint32_t net_jobs(struct net *n, nfs4r_server_id s)
{
	struct job *j;
	uint32_t k = 0;

	DL_FOREACH(n->s[s].jobs, j)
		k++;
	return k;
}

void net_let_execute(struct net *n, nfs4r_server_id s)
{
	n->s[s].hold_exec = false;
	work(n, s);
}

void net_let_apply(struct net *n, nfs4r_server_id s)
{
	n->s[s].hold_apply = false;
	work(n, s);
}

/* ---- time ------------------------------------------------------------------------------- */

static void deliver(struct net *n, struct packet *p)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_MSG, .peer = p->from, .msg = p->msg };

	DL_DELETE(n->wire, p);
	if (n->s[p->to].up) {
		step(n, p->to, &ev);
		work(n, p->to);
	}
	free_packet(p);
}

void net_tick(struct net *n, nfs4r_server_id s)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_TICK };

	step(n, s, &ev);
	work(n, s);
}

static bool next(struct net *n, uint64_t until)
{
	struct packet *p, *first = NULL;
	uint64_t t = until;
	nfs4r_server_id who = 0;

	DL_FOREACH(n->wire, p)
		if (!first || p->at < first->at)
			first = p;
	if (first && first->at <= t)
		t = first->at;
	else
		first = NULL;
	for (nfs4r_server_id s = 1; s <= n->n; s++)
		if (n->s[s].up && n->s[s].next_timer < t) {
			t = n->s[s].next_timer;
			who = s;
			first = NULL;
		}
	if (!first && !who) {
		n->now = until;
		return false;
	}
	if (t > n->now)
		n->now = t;
	if (first)
		deliver(n, first);
	else
		net_tick(n, who);
	return true;
}

void net_run(struct net *n, uint64_t ms)
{
	uint64_t until = n->now + ms;

	while (next(n, until))
		;
}

bool net_run_until(struct net *n, const bool *flag, uint64_t ms)
{
	uint64_t until = n->now + ms;

	while (!*flag && next(n, until))
		;
	return *flag;
}

/* ---- life ---------------------------------------------------------------------------------- */

/* A name of a start that only the transport uses, as in the engine. */
static uint64_t peer_inc(const struct net *n, nfs4r_server_id s)
{
	return UINT64_C(0x9e3779b97f4a7c15) * n->s[s].inc ^ s;
}

static void start(struct net *n, nfs4r_server_id s, bool intact)
{
	struct nfs4r_core_config cfg = n->cfg;
	struct nfs4r_volume_settings has;
	struct nfs4r_tree port;

	memtree_port(n->s[s].tree, &port);
	cfg.protocol = n->s[s].protocol;
	cfg.disk_format = n->s[s].disk_format;
	cfg.self = s;
	cfg.servers |= NFS4R_BIT(s); /* a new one has all in its configuration */
	cfg.inc = ++n->s[s].inc;
	cfg.inc_random = ++n->starts;
	cfg.peer_inc = peer_inc(n, s);
	if (n->secrets)
		memcpy(cfg.secret, (uint64_t[]){ s, n->starts }, sizeof(cfg.secret));
	cfg.journal_end = memtree_written(n->s[s].tree);
	cfg.tail_intact = intact;
	memtree_set_inc(n->s[s].tree, cfg.inc);
	n->s[s].core = nfs4r_core_create(&cfg, &port);
	assert_non_null(n->s[s].core);
	n->s[s].too_old = !memtree_restore(n->s[s].tree, n->s[s].core) || !nfs4r_core_knows_volume(n->s[s].core, &has);
	if (n->s[s].too_old) {
		nfs4r_core_destroy(n->s[s].core);
		n->s[s].core = NULL;
		assert_true(n->s[s].disk_format.highest); /* only a scenario about that may come here */
		return;
	}
	if (n->s[s].back.log)
		nfs4r_core_restore_given_back(n->s[s].core, n->s[s].back.log, n->s[s].back.lsn, &n->s[s].back.oid, n->s[s].back.version);
	n->s[s].back.log = 0;
	n->s[s].up = true;
	carry_out(n, s, nfs4r_core_started(n->s[s].core, n->now));
	work(n, s);
}

struct net *net_new(uint32_t servers)
{
	static const uint8_t uuid[16] = { 1, 2, 3 };
	struct net *n = calloc(1, sizeof(*n));

	n->n = servers;
	n->delay = 10;
	n->trace = getenv("NET_TRACE") != NULL;
	nfs4r_oid_root(&n->root, uuid);
	nfs4r_core_config_init(&n->cfg);
	n->cfg.deep = false; /* scenarios of the policy turn it on */
	n->cfg.revoke_ms = n->cfg.turn_ms = n->cfg.announce_ms = n->cfg.read_ms = 0; /* and those of these turn them on */
	n->cfg.holdoff_ms = 100;
	n->cfg.lease_ms = 0; /* scenarios of views turn them on */
	n->cfg.root = n->root;
	for (nfs4r_server_id s = 1; s <= servers; s++)
		n->cfg.servers |= NFS4R_BIT(s);
	for (nfs4r_server_id s = 1; s <= servers; s++) {
		n->s[s].tree = memtree_new(s, &n->root);
		start(n, s, true);
	}
	net_run(n, 50);
	return n;
}

static void forget_jobs(struct server *sv, struct net *n)
{
	struct job *j, *tmp;

	DL_FOREACH_SAFE(sv->jobs, j, tmp) {
		bool mine = false;

		for (struct client *c = n->clients; c; c = c->next)
			mine |= &c->op == j->op;
		if (j->op && !mine) {
			nfs4r_op_fini(j->op);
			free(j->op);
		}
		drop_job(sv, j);
	}
}

void net_fault(struct net *n, uint32_t fault)
{
	n->cfg.fault = fault;
	net_retune(n);
}

void net_retune(struct net *n)
{
	for (nfs4r_server_id s = 1; s <= n->n; s++) {
		net_crash(n, s);
		net_restart(n, s, true);
	}
	net_run(n, 50);
}

void net_crash(struct net *n, nfs4r_server_id s)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_PEER_DOWN, .peer = s };

	forget_jobs(&n->s[s], n);
	free(n->s[s].repair);
	n->s[s].repair = NULL;
	n->s[s].accepted = n->s[s].sync = 0;
	nfs4r_core_destroy(n->s[s].core);
	n->s[s].core = NULL;
	n->s[s].up = false;
	for (nfs4r_server_id i = 1; i <= n->n; i++)
		if (n->s[i].up) {
			step(n, i, &ev);
			work(n, i);
		}
}

void net_lose_disk(struct net *n, nfs4r_server_id s, struct memtree *image, uint64_t inc)
{
	assert_false(n->s[s].up);
	memtree_free(n->s[s].tree);
	n->s[s].tree = image ? image : memtree_new(s, &n->root);
	n->s[s].inc = image ? inc : 0;
}

void net_restart(struct net *n, nfs4r_server_id s, bool intact)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_PEER_UP };

	start(n, s, intact);
	if (!n->s[s].up)
		return;
	for (nfs4r_server_id i = 1; i <= n->n; i++) {
		if (i == s || !n->s[i].up)
			continue;
		ev.peer = s;
		ev.peer_inc = peer_inc(n, s);
		step(n, i, &ev);
		work(n, i);
		ev.peer = i;
		ev.peer_inc = peer_inc(n, i);
		step(n, s, &ev);
		work(n, s);
	}
}

nfs4r_server_id net_new_server(struct net *n)
{
	nfs4r_server_id s = (nfs4r_server_id)++n->n;

	assert_true(s <= NET_MAX);
	n->s[s].tree = memtree_new(s, &n->root);
	net_restart(n, s, true);
	return s;
}

void net_free(struct net *n)
{
	struct packet *p, *tmp;
	struct client *c;

	for (nfs4r_server_id s = 1; s <= n->n; s++) {
		forget_jobs(&n->s[s], n);
		free(n->s[s].repair);
		nfs4r_core_destroy(n->s[s].core);
		memtree_free(n->s[s].tree);
	}
	DL_FOREACH_SAFE(n->wire, p, tmp)
		free_packet(p);
	DL_FOREACH_SAFE(n->held, p, tmp)
		free_packet(p);
	while ((c = n->clients)) {
		n->clients = c->next;
		nfs4r_op_fini(&c->op);
		free(c);
	}
	free(n);
}

/* ---- operations -------------------------------------------------------------------------------- */

static struct client *client(struct net *n, nfs4r_server_id s, uint32_t type)
{
	struct client *c = calloc(1, sizeof(*c));

	c->op.type = type;
	c->server = s;
	c->started = n->now;
	c->next = n->clients;
	n->clients = c;
	return c;
}

static struct client *go(struct net *n, struct client *c)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_OP, .op = &c->op };

	step(n, c->server, &ev);
	work(n, c->server);
	return c;
}

struct client *op_name(struct net *n, nfs4r_server_id s, uint32_t type, const struct nfs4r_oid *dir, const char *name)
{
	struct client *c = client(n, s, type);

	c->op.dir = *dir;
	nfs4r_name_set(&c->op.name, name, strlen(name));
	return go(n, c);
}

struct client *op_symlink(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *dir, const char *name, const char *text)
{
	struct client *c = client(n, s, NFS4R_OP_SYMLINK);

	c->op.dir = *dir;
	nfs4r_name_set(&c->op.name, name, strlen(name));
	c->op.text = strdup(text);
	return go(n, c);
}

struct client *op_link(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *obj, const struct nfs4r_oid *dir,
		       const char *name)
{
	struct client *c = client(n, s, NFS4R_OP_LINK);

	c->op.obj = *obj;
	c->op.dir = *dir;
	nfs4r_name_set(&c->op.name, name, strlen(name));
	return go(n, c);
}

struct client *op_rename(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *d, const char *a,
			 const struct nfs4r_oid *d2, const char *b)
{
	struct client *c = client(n, s, NFS4R_OP_RENAME);

	c->op.dir = *d;
	c->op.dir2 = *d2;
	nfs4r_name_set(&c->op.name, a, strlen(a));
	nfs4r_name_set(&c->op.name2, b, strlen(b));
	return go(n, c);
}

struct client *op_write(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, const char *text, bool under_open)
{
	struct client *c = client(n, s, NFS4R_OP_WRITE);

	c->op.obj = *f;
	c->op.data = nfs4r_buf_copy(text, (uint32_t)strlen(text));
	c->op.under_open = under_open;
	return go(n, c);
}

struct client *op_setattr(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint32_t mode)
{
	struct client *c = client(n, s, NFS4R_OP_SETATTR);

	c->op.obj = *f;
	c->op.attrs.mask = NFS4R_ATTR_MODE;
	c->op.attrs.mode = mode;
	return go(n, c);
}

struct client *op_size(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint64_t size)
{
	struct client *c = client(n, s, NFS4R_OP_SETATTR);

	c->op.obj = *f;
	c->op.attrs.mask = NFS4R_ATTR_SIZE;
	c->op.attrs.size = size;
	return go(n, c);
}

struct client *op_times(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, int64_t atime, int64_t mtime)
{
	struct client *c = client(n, s, NFS4R_OP_SETATTR);

	c->op.obj = *f;
	c->op.attrs.mask = NFS4R_ATTR_ATIME | NFS4R_ATTR_MTIME;
	c->op.attrs.atime = atime;
	c->op.attrs.mtime = mtime;
	return go(n, c);
}

struct client *op_xattr(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, const char *name, const void *value, uint32_t len)
{
	struct client *c = client(n, s, NFS4R_OP_SETXATTR);

	c->op.obj = *f;
	c->op.text = strdup(name);
	c->op.data = nfs4r_buf_copy(value, len);
	return go(n, c);
}

struct client *op_close(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f)
{
	struct client *c = client(n, s, NFS4R_OP_CLOSE);

	c->op.obj = *f;
	return go(n, c);
}

struct client *op_here(struct net *n, nfs4r_server_id s, const struct nfs4r_op *op)
{
	struct client *c = client(n, s, op->type);

	c->op = *op;
	c->op.here_only = true;
	return go(n, c);
}

struct client *op_claim(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint32_t depth)
{
	struct client *c = client(n, s, NFS4R_OP_CLAIM);

	c->op.obj = *f;
	c->op.depth = depth;
	return go(n, c);
}

enum nfs4r_status finish(struct net *n, struct client *c)
{
	if (!net_run_until(n, &c->done, 60000))
		fail_msg("operation %s of server %u does not end", nfs4r_op_name(c->op.type), c->server);
	return c->op.status;
}

/* ---- questions ------------------------------------------------------------------------------------ */

struct ask {
	nfs4r_server_id owner;
	const struct nfs4r_oid *oid;
	bool found, acting;
	uint32_t n;
};

static bool look(void *arg, const struct nfs4r_control_info *i)
{
	struct ask *a = arg;

	a->n++;
	if (a->oid && i->owner == a->owner && nfs4r_oid_eq(&i->control.oid, a->oid)) {
		a->found = true;
		a->acting |= i->acting;
	}
	return true;
}

bool controls(struct net *n, nfs4r_server_id at, nfs4r_server_id owner, const struct nfs4r_oid *oid)
{
	struct ask a = { owner, oid, false, false, 0 };

	nfs4r_core_each_control(n->s[at].core, look, &a);
	return a.found;
}

bool acting(struct net *n, nfs4r_server_id owner, const struct nfs4r_oid *oid)
{
	struct ask a = { owner, oid, false, false, 0 };

	nfs4r_core_each_control(n->s[owner].core, look, &a);
	return a.acting;
}

uint32_t rows(struct net *n, nfs4r_server_id at)
{
	struct ask a = { 0 };

	nfs4r_core_each_control(n->s[at].core, look, &a);
	return a.n;
}

nfs4r_server_id route(struct net *n, nfs4r_server_id at, const struct nfs4r_oid *oid, bool is_dir)
{
	return nfs4r_core_route_read(n->s[at].core, oid, is_dir, 0);
}

void net_quiet(struct net *n)
{
	uint32_t left = 1;
	char why[200];

	for (int i = 0; i < 100 && left; i++) {
		net_run(n, 1000);
		left = 0;
		for (nfs4r_server_id s = 1; s <= n->n; s++)
			left += rows(n, s) + memtree_rows(n->s[s].tree, 'T');
	}
	if (left)
		fail_msg("%u controls are left", left);
	for (nfs4r_server_id s = 2; s <= n->n; s++)
		if (!memtree_equal(n->s[1].tree, n->s[s].tree, why, sizeof(why)))
			fail_msg("server 1 and %u: %s", s, why);
	assert_true(memtree_no_cycle(n->s[1].tree));
}

struct nfs4r_oid make(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *dir, const char *name, uint32_t type)
{
	struct client *c = op_name(n, s, type, dir, name);
	struct nfs4r_oid oid;

	assert_int_equal(finish(n, c), NFS4R_OK);
	oid = c->op.result;
	net_quiet(n);
	return oid;
}

static struct client *lock_op(struct net *n, nfs4r_server_id s, uint32_t type, const struct nfs4r_oid *f, const struct nfs4r_lock *lock, enum nfs4r_lock_wait wait)
{
	struct client *c = client(n, s, type);

	c->op.obj = *f;
	c->op.lock.lock = *lock;
	c->op.lock.wait = wait;
	return go(n, c);
}

struct client *op_lock(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, const struct nfs4r_lock *lock, enum nfs4r_lock_wait wait)
{
	return lock_op(n, s, NFS4R_OP_LOCK, f, lock, wait);
}

struct client *op_reclaim(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, const struct nfs4r_lock *lock)
{
	struct client *c = client(n, s, NFS4R_OP_LOCK);

	c->op.obj = *f;
	c->op.lock.lock = *lock;
	c->op.lock.wait = NFS4R_LOCK_TRY;
	c->op.lock.reclaim = true;
	return go(n, c);
}

struct client *op_lock_test(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, const struct nfs4r_lock *lock)
{
	return lock_op(n, s, NFS4R_OP_LOCK_TEST, f, lock, 0);
}

struct client *op_unlock(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, const struct nfs4r_lock *lock)
{
	return lock_op(n, s, NFS4R_OP_UNLOCK, f, lock, 0);
}

struct client *op_unwait(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, const struct nfs4r_lock *lock)
{
	return lock_op(n, s, NFS4R_OP_UNWAIT, f, lock, 0);
}

struct client *op_share(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint32_t had_access, uint32_t had_deny, uint32_t access, uint32_t deny)
{
	struct client *c = client(n, s, NFS4R_OP_SHARE);

	c->op.obj = *f;
	c->op.share = (struct nfs4r_share_request){ .access = access, .deny = deny, .had_access = had_access, .had_deny = had_deny };
	return go(n, c);
}

struct client *op_share_reclaim(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint32_t access, uint32_t deny)
{
	struct client *c = client(n, s, NFS4R_OP_SHARE);

	c->op.obj = *f;
	c->op.share = (struct nfs4r_share_request){ .access = access, .deny = deny, .reclaim = true };
	return go(n, c);
}

void net_cancel(struct net *n, struct client *c)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_OP_CANCEL, .op = &c->op };

	step(n, c->server, &ev);
	work(n, c->server);
}
