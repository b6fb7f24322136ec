/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A simulated server: the shipped core, driven as its header says an engine must drive it.
 *
 * One step: give the core an event, append what it puts to the journal, carry out the actions in
 * order. Durable actions wait in a queue until the journal is synced that far; one sync runs at a
 * time and takes as long as the plan's disk. A crash can be armed to strike between two actions of
 * an update: the rest of the list never happens. A process crash keeps the whole journal, a
 * machine crash any prefix that holds what was synced; start.c begins again from it.
 */
#include "sim.h"

static void carry_out(struct server *v, const struct nfs4r_action *a, struct nfs4r_msg *copied);

/* ---- durability -------------------------------------------------------------------- */

static void start_sync(struct server *v);

static void delayed_free(struct delayed *d)
{
	if (d->msg)
		msg_free(d->msg);
	free(d);
}

/* An action that will never be carried out: gives up what it owns. */
static void undone(const struct nfs4r_action *a)
{
	if (a->type == NFS4R_ACT_DROP) {
		struct nfs4r_op *op = nfs4r_act_drop(a)->op;

		if (op->engine)
			simop_free(op->engine);
		op_free(op);
	} else if (a->type == NFS4R_ACT_STARTED) {
		nfs4r_entry_put(nfs4r_act_started(a)->entry);
	} else if (a->type == NFS4R_ACT_APPLY) {
		nfs4r_entry_put(nfs4r_act_apply(a)->entry);
	}
}

static void run_delayed(struct server *v)
{
	uint64_t generation = v->generation;

	while (v->delayed && v->delayed->need <= v->journal.synced) {
		struct delayed *d = v->delayed;

		v->delayed = d->next;
		if (!v->delayed)
			v->delayed_tail = &v->delayed;
		v->decided_by = d->by;
		carry_out(v, &d->action, d->msg);
		delayed_free(d);
		if (!v->up || v->generation != generation)
			return;
	}
	if (v->delayed)
		start_sync(v);
}

void server_synced(struct server *v)
{
	v->syncing = false;
	run_delayed(v);
}

static void synced(struct sim *s, void *arg, uint64_t generation, uint64_t target)
{
	struct server *v = arg;

	if (!v->up || v->generation != generation)
		return;
	if (v->journal.synced < target)
		v->journal.synced = (uint32_t)target;
	server_synced(v);
}

static void start_sync(struct server *v)
{
	struct sim *s = v->sim;

	if (v->syncing)
		return;
	v->syncing = true;
	if (v->storage) {
		store_sync_begin(v);
		return;
	}
	server_at(v, s->now + rng_time(&s->rng, s->plan.sync_us), synced, v, v->generation, v->journal.n);
}

static void delay_action(struct server *v, const struct nfs4r_action *a)
{
	struct delayed *d = calloc(1, sizeof(*d));

	d->action = *a;
	d->need = UINT32_MAX; /* set when the whole update is in the journal */
	d->by = v->decided_by;
	if (a->type == NFS4R_ACT_SEND)
		d->msg = msg_copy(nfs4r_act_send(a)->msg);
	*v->delayed_tail = d;
	v->delayed_tail = &d->next;
}

/* ---- checkpoints ------------------------------------------------------------------- */

struct checkpoint {
	struct server *server;
	uint64_t generation, repairs;
	nfs4r_lsn applied[SERVERS_MAX + 1];
};

/* As a store that may have so many entries on its disk, the oldest of which are the first in the journal. */
static void look_at_bound(struct server *v)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_BEYOND };
	const struct journal *j = &v->journal;
	uint32_t kept = 0, i = j->n;

	if (!v->sim->plan.keep)
		return;
	while (i && kept <= v->sim->plan.keep)
		kept += j->recs[--i].type == DID_COMMIT;
	while (i--)
		if (j->recs[i].type == DID_COMMIT && j->recs[i].e->lsn > v->beyond[j->recs[i].e->log])
			v->beyond[j->recs[i].e->log] = j->recs[i].e->lsn;
	memcpy(ev.stable, v->beyond, sizeof(v->beyond));
	server_step(v, &ev);
}

static void tell_stable(struct server *v, const nfs4r_lsn *stable)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_STABLE };

	memcpy(ev.stable, stable, (SERVERS_MAX + 1) * sizeof(ev.stable[0]));
	lose_image(v);
	server_step(v, &ev);
	if (v->up)
		commit_stable(v);
}

void server_checkpointed(struct server *v)
{
	v->checkpointing = false;
	if (v->up)
		commit_stable(v);
	if (v->up)
		look_at_bound(v);
	if (v->up && v->checkpoint_wanted)
		server_checkpoint(v);
}

void server_safe(struct server *v, const nfs4r_lsn *stable)
{
	for (nfs4r_server_id log = 1; log <= SERVERS_MAX; log++) {
		nfs4r_lsn safe = seal_within(v, log, stable[log]); /* it may have been crossed meanwhile */

		if (v->stable[log] < safe && safe <= v->applied[log])
			v->stable[log] = safe;
	}
	tell_stable(v, stable);
}

static void checkpointed(struct sim *s, void *arg, uint64_t a, uint64_t b)
{
	struct checkpoint *c = arg;
	struct server *v = c->server;

	if (v->up && v->generation == c->generation) {
		for (uint32_t i = 1; i <= s->plan.servers; i++) {
			if (v->stable[i] < c->applied[i] && c->repairs == v->repair.number &&
			    NFS4R_GEN(c->applied[i]) == NFS4R_GEN(v->applied[i])) /* not over a seal or a repair */
				v->stable[i] = c->applied[i];
		}
		journal_checkpoint(&v->journal, v->stable);
		v->journal.synced = v->journal.n;
		tell_stable(v, v->stable);
		server_checkpointed(v);
	}
	free(c);
}

void server_checkpoint(struct server *v)
{
	struct sim *s = v->sim;
	struct checkpoint *c;

	if (v->checkpointing) {
		v->checkpoint_wanted = true;
		return;
	}
	v->checkpointing = true;
	v->checkpoint_wanted = false;
	if (v->storage) {
		store_checkpoint_begin(v);
		return;
	}
	c = calloc(1, sizeof(*c));
	c->server = v;
	c->generation = v->generation;
	c->repairs = v->repair.number;
	memcpy(c->applied, v->applied, sizeof(c->applied));
	server_at_owned(v, s->now + rng_time(&s->rng, s->plan.sync_us * 4), checkpointed, c, free, 0, 0);
}

static void checkpoint_soon(struct sim *s, void *arg, uint64_t generation, uint64_t b)
{
	struct server *v = arg;

	if (v->up && v->generation == generation)
		server_checkpoint(v);
}

/* ---- actions ------------------------------------------------------------------------- */

static void done(struct server *v, struct nfs4r_op *op)
{
	struct simop *so = op->engine;
	struct sim *s = v->sim;
	struct client *c = so->client;
	char text[200];

	if (s->trace) {
		op_print(s, op, text, sizeof(text));
		sim_trace(s, v, "done %s = %s", text, nfs4r_status_str(op->status));
	}
	so->done = true;
	check_done(v, so);
	room_answer(v, op);
	if (s->plan.lease_ms)
		check_view_answer(v, op);
	s->totals.ops++;
	if (op->status == NFS4R_OK)
		s->totals.ok++;
	else if (op->status == NFS4R_DELAY)
		s->totals.delays++;
	else
		s->totals.errors++;
	client_op_done(c, so);
	simop_free(so);
	op_free(op);
}

static void drop_remote(struct server *v, struct nfs4r_op *op)
{
	if (op->engine)
		simop_free(op->engine);
	op_free(op);
}

/* A learner begins with a copy of somebody who has it (log 9.1). */
static bool counts_on(const struct server *v, nfs4r_server_id q)
{
	return !v->sim->plan.lease_ms || v->view_voters & view_find(v->sim, v->sim->top_view)->voters & NFS4R_BIT(q);
}

static void truncate_log(struct server *v, nfs4r_server_id log, nfs4r_lsn until)
{
	if (until <= v->truncated[log])
		return;
	for (uint32_t q = 1; q <= v->sim->plan.servers; q++) {
		const struct server *w = &v->sim->servers[q];
		bool outside = v->sim->plan.keep && !(nfs4r_core_adopted(v->core)->members & NFS4R_BIT(q));

		if (!counts_on(v, (nfs4r_server_id)q) || w->stable[log] >= until || w->had_stable[log] >= until)
			continue;
		if (!outside || until > v->beyond[log])
			sim_fail(v->sim, "S%u truncates log %u at %llu, S%u has it stable only to %llu, and the bound is at %llu", v->id, log,
				 (unsigned long long)until, q, (unsigned long long)w->stable[log], (unsigned long long)v->beyond[log]);
		v->sim->totals.dropped++;
	}
	v->truncated[log] = until;
	disk_truncate(v, log, until);
	kept_drop(&v->kept[log], 0, until);
}

static void send(struct server *v, nfs4r_server_id to, const struct nfs4r_msg *m)
{
	char text[400];

	if (v->sim->trace) {
		msg_print(v->sim, m, text, sizeof(text));
		sim_trace(v->sim, v, "-> S%u %s", to, text);
	}
	if (m->type == NFS4R_MSG_FORWARD_ANSWER)
		check_answered(v, m->op);
	net_send(v, to, m);
}

static void control_changed(struct server *v, const struct nfs4r_act_control *k)
{
	TRACE(v->sim, v, "control %s S%u %s depth %u", k->added ? "+" : "-", k->owner, oid_name(v->sim, &k->oid), k->depth);
	if (!k->added && k->owner == v->id)
		check_control_gone(v, &k->oid);
}

static void on_disk(struct server *v, uint32_t type, uint64_t num)
{
	struct nfs4r_event *ev = calloc(1, sizeof(*ev));

	ev->type = type;
	ev->num = num;
	server_soon(v, ev);
}

static void carry_out(struct server *v, const struct nfs4r_action *a, struct nfs4r_msg *copied)
{
	struct sim *s = v->sim;
	const struct nfs4r_act_send_entries *e;

	switch (a->type) {
	case NFS4R_ACT_PUT:
		disk_put(v, nfs4r_act_put(a)->put);
		break;
	case NFS4R_ACT_SEND:
		send(v, nfs4r_act_send(a)->to, copied ? copied : nfs4r_act_send(a)->msg);
		break;
	case NFS4R_ACT_ACCEPTED:
		on_disk(v, NFS4R_EV_ACCEPTED, nfs4r_act_accepted(a)->num);
		break;
	case NFS4R_ACT_SYNC:
		on_disk(v, NFS4R_EV_SYNCED, nfs4r_act_sync(a)->num);
		break;
	case NFS4R_ACT_SEND_ENTRIES:
		e = nfs4r_act_send_entries(a);
		net_send_entries(v, e->to, e->log, e->from, e->until);
		break;
	case NFS4R_ACT_EXECUTE:
		v->executed_us = s->now;
		exec_locks(v, nfs4r_act_execute(a));
		break;
	case NFS4R_ACT_STARTED:
		exec_started(v, nfs4r_act_started(a)->op, nfs4r_act_started(a)->entry);
		break;
	case NFS4R_ACT_RETRY:
		exec_unlock(v, nfs4r_act_retry(a)->op->engine);
		break;
	case NFS4R_ACT_DONE:
		done(v, nfs4r_act_done(a)->op);
		break;
	case NFS4R_ACT_APPLY:
		exec_apply(v, nfs4r_act_apply(a));
		break;
	case NFS4R_ACT_CONTROL:
		control_changed(v, nfs4r_act_control(a));
		break;
	case NFS4R_ACT_MONOTONIC_READ:
		TRACE(s, v, "%s is %s read at S%u", oid_name(s, &nfs4r_act_monotonic_read(a)->oid), nfs4r_act_monotonic_read(a)->added ? "newer, and" : "no more",
		      nfs4r_act_monotonic_read(a)->owner);
		break;
	case NFS4R_ACT_TRUNCATE:
		truncate_log(v, nfs4r_act_truncate(a)->log, nfs4r_act_truncate(a)->until);
		break;
	case NFS4R_ACT_CHECKPOINT:
		server_at(v, s->now + rng_time(&s->rng, s->plan.sync_us * 4), checkpoint_soon, v, v->generation, 0);
		break;
	case NFS4R_ACT_STUCK:
		TRACE(s, v, "stuck: %s", nfs4r_act_stuck(a)->text);
		break;
	case NFS4R_ACT_HALT:
		sim_fail(s, "S%u halts: %s", v->id, nfs4r_act_halt(a)->text);
	case NFS4R_ACT_RECOVERED:
		TRACE(s, v, "recovered, own log ends at %llu", (unsigned long long)nfs4r_core_own_end(v->core));
		if (!disk_recovered(v))
			break;
		v->ready = true;
		v->tail_lost = false;
		check_recovered(v, nfs4r_core_own_end(v->core));
		break;
	case NFS4R_ACT_DROP:
		drop_remote(v, nfs4r_act_drop(a)->op);
		break;
	case NFS4R_ACT_SEALED:
		server_sealed(v, nfs4r_act_sealed(a)->log, nfs4r_act_sealed(a)->until);
		break;
	case NFS4R_ACT_REPAIR:
		repair_begin(v, nfs4r_act_repair(a));
		break;
	case NFS4R_ACT_SERVERS: /* links are there to all the time */
	case NFS4R_ACT_RECHECK_READS: /* a READ under way is answered by its owner, which is as good */
		break;
	case NFS4R_ACT_QUORUM_DURABLE:
		commit_quorum_durable(v, nfs4r_act_quorum_durable(a)->wait_id);
		break;
	case NFS4R_ACT_CLIENT:
		locking_client_said(v, nfs4r_act_client(a)->wait_id, nfs4r_act_client(a)->status);
		break;
	case NFS4R_ACT_FENCE:
		locking_fence(v, nfs4r_act_fence(a));
		break;
	case NFS4R_ACT_LOCK_READY:
		locking_ready(v, nfs4r_act_lock_ready(a));
		break;
	case NFS4R_ACT_LOCK_AGAIN:
		locking_again(v, nfs4r_act_lock_again(a));
		break;
	default:
		sim_fail(s, "S%u: unknown action %u", v->id, a->type);
	}
}

static uint64_t digest(uint64_t type, nfs4r_server_id to, nfs4r_server_id log, nfs4r_lsn from, nfs4r_lsn until)
{
	return hash_mix(hash_mix(type, (uint64_t)to << 32 | log), from << 20 ^ until);
}

static uint64_t digest_op(uint64_t h, const struct nfs4r_op *op)
{
	return hash_mix(h, op->id.seq << 8 ^ op->type);
}

/* The trace hash depends on it, so what it makes of an action stays as it is. */
static uint64_t action_digest(const struct nfs4r_action *a)
{
	uint64_t h = digest(a->type, 0, 0, 0, 0);
	const struct nfs4r_act_send_entries *s;

	switch (a->type) {
	case NFS4R_ACT_PUT:
		return hash_bytes(h, nfs4r_act_put(a)->put->key, nfs4r_act_put(a)->put->key_len);
	case NFS4R_ACT_SEND:
		return hash_mix(digest(a->type, nfs4r_act_send(a)->to, 0, 0, 0), nfs4r_act_send(a)->msg->type);
	case NFS4R_ACT_SEND_ENTRIES:
		s = nfs4r_act_send_entries(a);
		return digest(a->type, s->to, s->log, s->from, s->until);
	case NFS4R_ACT_APPLY:
		return digest(a->type, 0, nfs4r_act_apply(a)->entry->log, 0, 0);
	case NFS4R_ACT_TRUNCATE:
		return digest(a->type, 0, nfs4r_act_truncate(a)->log, 0, nfs4r_act_truncate(a)->until);
	case NFS4R_ACT_SEALED:
		return digest(a->type, 0, nfs4r_act_sealed(a)->log, 0, nfs4r_act_sealed(a)->until);
	case NFS4R_ACT_REPAIR:
		return digest(a->type, nfs4r_act_repair(a)->from, 0, 0, 0);
	case NFS4R_ACT_EXECUTE:
		return digest_op(h, nfs4r_act_execute(a)->op);
	case NFS4R_ACT_STARTED:
		return digest_op(h, nfs4r_act_started(a)->op);
	case NFS4R_ACT_RETRY:
		return digest_op(h, nfs4r_act_retry(a)->op);
	case NFS4R_ACT_DONE:
		return digest_op(h, nfs4r_act_done(a)->op);
	case NFS4R_ACT_DROP:
		return digest_op(h, nfs4r_act_drop(a)->op);
	default:
		return h;
	}
}

static void set_timer(struct server *v, uint64_t next_ms);

bool server_carry_out(struct server *v, const struct nfs4r_update *u)
{
	struct sim *s = v->sim;
	uint64_t next = u->next_timer_ms;
	bool changed = false, machine;

	v->actions = u->n;
	v->decided_by = durability_of(v) < v->durability_was ? durability_of(v) : v->durability_was;
	if (s->plan.lease_ms)
		check_adopted(v);
	for (uint32_t i = 0; i < u->n; i++) {
		const struct nfs4r_action *a = &u->actions[i];

		if (store_halted(v, &machine) || (v->crash_after && --v->crash_after == 0 && !s->healed)) {
			for (uint32_t k = i; k < u->n; k++)
				undone(&u->actions[k]);
			server_stop(v, machine || (!v->crash_after && v->crash_machine));
			return false;
		}
		sim_note(s, 2 + v->id, action_digest(a), a->durable);
		changed |= a->type == NFS4R_ACT_PUT || a->type == NFS4R_ACT_CONTROL;
		if (a->type == NFS4R_ACT_EXECUTE && nfs4r_act_execute(a)->op->engine)
			((struct simop *)nfs4r_act_execute(a)->op->engine)->given = true;
		if (a->durable)
			delay_action(v, a);
		else
			carry_out(v, a, NULL);
	}
	if (store_halted(v, &machine)) { /* what the core did last is nowhere: there is nothing to compare it with */
		server_stop(v, machine);
		return false;
	}
	for (struct delayed *d = v->delayed; d; d = d->next)
		if (d->need == UINT32_MAX)
			d->need = v->journal.n;
	set_timer(v, next);
	check_core(v);
	if (s->plan.lease_ms)
		check_view(v);
	if (changed)
		check_controls(s);
	if (v->delayed)
		run_delayed(v);
	return v->up;
}

/* ---- steps ------------------------------------------------------------------------------ */

void server_step(struct server *v, struct nfs4r_event *ev)
{
	struct sim *s = v->sim;
	const struct nfs4r_update *u;

	if (!v->up || v->in_step)
		sim_fail(s, "simulator: step of S%u at a wrong moment", v->id);
	sim_note(s, 1, ev->type, (uint64_t)v->id << 32 | ev->peer);
	ev->now_ms = clock_ms(v);
	v->lease_was = nfs4r_core_lease_until(v->core);
	v->view_was = v->seen_adopted;
	v->epoch_was = epoch_of(v);
	v->durability_was = durability_of(v);
	v->in_step = true;
	u = nfs4r_core_step(v->core, ev);
	v->in_step = false;
	server_carry_out(v, u);
	room_check(v);
	trouble_step(v);
}

static void soon(struct sim *s, void *arg, uint64_t generation, uint64_t id)
{
	struct server *v = &s->servers[id];

	if (v->up && v->generation == generation)
		server_step(v, arg);
	free(arg);
}

void server_soon(struct server *v, struct nfs4r_event *ev)
{
	server_at_owned(v, v->sim->now, soon, ev, free, v->generation, v->id);
}

static void tick(struct sim *s, void *arg, uint64_t generation, uint64_t at)
{
	struct server *v = arg;
	struct nfs4r_event ev = { .type = NFS4R_EV_TICK };

	if (!v->up || v->generation != generation || v->timer_at != at)
		return;
	v->timer_at = NEVER;
	server_step(v, &ev);
	if (v->up)
		check_tick(v);
}

static void set_timer(struct server *v, uint64_t next_ms)
{
	struct sim *s = v->sim;
	uint64_t at;

	if (!v->up || next_ms == UINT64_MAX)
		return;
	at = clock_world(v, next_ms);
	if (at <= s->now)
		at = s->now + 1 * MS;
	if (v->timer_at != NEVER && v->timer_at <= at + 2 * MS)
		return;
	v->timer_at = at + rng_below(&s->rng, 2 * MS);
	server_at(v, v->timer_at, tick, v, v->generation, v->timer_at);
}

/* Names of starts say nothing of their order. In modes without locks they are numbers: so traces of old seeds stay what they are. */
uint64_t server_start_name(const struct server *v)
{
	return v->sim->plan.lockers ? UINT64_C(0x9e3779b97f4a7c15) * v->inc ^ v->id : v->inc;
}

void server_peer(struct server *v, nfs4r_server_id peer, uint64_t epoch)
{
	struct sim *s = v->sim;
	struct nfs4r_event ev = { .peer = peer };
	uint64_t generation = v->generation;

	if (!v->up || v->peer_epoch[peer] == epoch)
		return;
	if (v->peer_epoch[peer]) {
		v->peer_epoch[peer] = 0;
		TRACE(s, v, "peer S%u down", peer);
		ev.type = NFS4R_EV_PEER_DOWN;
		server_step(v, &ev);
		if (!v->up || v->generation != generation)
			return;
	}
	if (!epoch)
		return;
	v->peer_epoch[peer] = epoch;
	ev.type = NFS4R_EV_PEER_UP;
	v->peer_inc[peer] = s->servers[peer].inc;
	ev.peer_inc = server_start_name(&s->servers[peer]);
	TRACE(s, v, "peer S%u up, incarnation %llu", peer, (unsigned long long)v->peer_inc[peer]);
	server_step(v, &ev);
}

/* ---- crashes ------------------------------------------------------------------------------- */

void server_arm_crash(struct server *v, uint32_t actions, bool machine)
{
	v->crash_after = actions;
	v->crash_machine = machine;
}

static void forget_memory(struct server *v)
{
	while (v->delayed) {
		struct delayed *d = v->delayed;

		v->delayed = d->next;
		undone(&d->action);
		delayed_free(d);
	}
	v->delayed_tail = &v->delayed;
	while (v->applying) {
		struct applying *a = v->applying;

		v->applying = a->next;
		nfs4r_entry_put(a->e);
		free(a);
	}
	read_drop_all(v);
	commit_drop_all(v);
	repair_drop(v);
	while (v->ops) {
		struct simop *so = v->ops;
		struct nfs4r_op *op = so->op;
		bool remote = so->remote;

		simop_free(so);
		if (!remote) /* the core frees the operations of others that it has */
			op_free(op);
		else
			op->engine = NULL;
	}
}

static void restart(struct sim *s, void *arg, uint64_t generation, uint64_t b)
{
	struct server *v = arg;

	if (!v->up && !v->dead && v->generation == generation)
		server_start(v);
}

/* As long as its tail is not back a server that ends is one whose machine crashed (log 4.7): of its own log, too, what came back behind a hole counts for nothing. */
static void crash_journal(struct server *v, bool machine)
{
	struct journal *j = &v->journal;
	uint64_t slack = j->n - j->synced;

	if (machine)
		journal_cut(j, j->synced + (rng_chance(&v->sim->rng, 500) ? 0 : rng_below(&v->sim->rng, slack + 1)));
	v->tail_lost |= machine;
	if (v->tail_lost)
		check_crashed(v, journal_drop_undecided(j, v->id, 0));
	else
		journal_drop_holes(j, v->id, 0);
}

void server_stop(struct server *v, bool machine)
{
	struct sim *s = v->sim;

	TRACE(s, v, "%s crash, journal %u records, %u synced", machine ? "machine" : "process", v->journal.n,
	      v->journal.synced);
	s->totals.crashes++;
	s->totals.machine_crashes += machine;
	sim_note(s, 9, v->id, machine);
	v->up = v->ready = false;
	v->crash_after = 0;
	if (v->storage)
		store_note_amid(v);
	forget_memory(v);
	policy_count(v);
	nfs4r_core_destroy(v->core);
	v->core = NULL;
	if (v->storage) {
		store_crash(v, machine);
	} else {
		crash_journal(v, machine);
	}
	for (nfs4r_server_id q = 1; q <= s->plan.servers; q++) {
		v->peer_epoch[q] = 0;
		if (q != v->id)
			net_down(s, v->id, q);
	}
	client_server_down(v);
	v->crash_on = 0;
	v->sampled_ms = 0;
	clock_go(v);
	if (machine)
		clock_reboot(v);
	sim_at(s, s->now + (v->down_us ? v->down_us : rng_time(&s->rng, s->plan.down_for_us)), restart, v, v->generation, 0);
	v->down_us = 0;
}

void server_fini(struct server *v)
{
	v->up = false;
	forget_memory(v);
	if (v->core)
		nfs4r_core_destroy(v->core);
	v->core = NULL;
	clients_fini(v);
	for (uint32_t i = 0; i < v->nheld; i++)
		if (v->held[i].drop)
			v->held[i].drop(v->held[i].arg);
	free(v->held);
	store_free(v);
	journal_fini(&v->journal);
	for (uint32_t log = 1; log <= SERVERS_MAX; log++)
		kept_fini(&v->kept[log]);
	free(v->repair.objs);
	free(v->repair.left);
	free(v->repair.clients);
	tree_fini(&v->tree);
}
