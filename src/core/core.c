/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The door: create, restore, step, and the questions that need no step. See core.h for the
 * contract and core_state.h for what happens inside a step.
 */
#include "base/config_keys.h"
#include "core/door_int.h"

void nfs4r_core_config_init(struct nfs4r_core_config *cfg)
{
	cfg->tail_intact = true;
	cfg->reply_wait_ms = 5000;
	cfg->holdoff_ms = 0;
	cfg->escalate_ms = 10000;
	cfg->window_entries = 4096;
	cfg->lock_max = 1000000;
	cfg->lock_reserve_ms = 5000;
	cfg->lock_grace_ms = 70000;
	cfg->fault = 0;
#define HOME_CORE(there, value) cfg->there = (value);
#define HOME_RPC(there, value)
#define HOME_ENGINE(there, value)
#define KEY_NUMBER(block, name, field, home, there, def, ...) HOME_##home(there, def)
#define KEY_SPAN(block, name, field, home, there, def, ...) HOME_##home(there, (def)*UINT64_C(1000))
#define KEY_BOOL(block, name, field, home, there, def, ...) HOME_##home(there, def)
#define KEY_TOKEN(block, name, field, home, there, def, ...) HOME_##home(there, def)
#define KEY_HIDDEN(field, home, there, def) HOME_##home(there, def)
#include "base/config.def"
}

static void claim_closes(struct nfs4r_core *c, struct claim *cl)
{
	locks_claim_closes(c, cl);
	locks_guards_sweep(c);
}

static void claim_released(struct nfs4r_core *c, struct claim *cl)
{
	locks_claim_released(c, cl);
	locks_guards_sweep(c);
}

struct nfs4r_core *nfs4r_core_create(const struct nfs4r_core_config *cfg, const struct nfs4r_tree *tree)
{
	nfs4r_servers valid = (NFS4R_BIT(NFS4R_SERVERS_MAX + 1) - 1) & ~(nfs4r_servers)1;
	struct nfs4r_core *c;

	if (cfg->self == 0 || cfg->self > NFS4R_SERVERS_MAX || (cfg->servers & ~valid) ||
	    !(cfg->servers & NFS4R_BIT(cfg->self)) || !cfg->repeat_ms || !cfg->window_entries ||
	    cfg->durability > NFS4R_DURABILITY_MAJORITY || (cfg->durability > NFS4R_DURABILITY_LOCAL && !cfg->lease_ms) ||
	    (cfg->lease_ms && (cfg->silence_ms < cfg->lease_ms / 2 || !cfg->silence_ms || cfg->drift_permille > 500)))
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->cfg = *cfg;
	if (!cfg->durability)
		c->cfg.durability = NFS4R_DURABILITY_LOCAL;
	if (!cfg->protocol.highest)
		c->cfg.protocol = (struct nfs4r_versions){ NFS4R_PROTOCOL_LOWEST, NFS4R_PROTOCOL_HIGHEST };
	if (!cfg->disk_format.highest)
		c->cfg.disk_format = (struct nfs4r_versions){ NFS4R_DISK_FORMAT_LOWEST, NFS4R_DISK_FORMAT_HIGHEST };
	c->tree = *tree;
	c->self = cfg->self;
	c->known = cfg->servers;
	c->control.next_seq = 1;
	c->step = 1;
	c->policy_ops = &nfs4r_policy;
	c->control_port = (struct control_port){ ops_claim_gone, claim_closes, locks_gap_keeps, locks_claim_is_awaited, claim_released, locks_gap_touches, locks_gap_named, locks_gap_won };
	c->membership_port = (struct membership_port){ core_view_adopted, recovery_repair_anew };
	view_init(c);
	recovery_memory_init(c);
	for (int s = 0; s <= NFS4R_SERVERS_MAX; s++)
		c->log.logs[s].base = 1;
	return c;
}

/* @owned: nobody else knows the remote ones; those being executed are in the caller's hands. */
static void free_ops(struct opx *list, bool owned)
{
	struct opx *o, *tmp;

	DL_FOREACH_SAFE(list, o, tmp) {
		if (owned && (o->remote || o->who != LOCKS_CLIENT)) {
			nfs4r_op_fini(o->op);
			free(o->op);
		}
		free(o);
	}
}

static void free_claims(struct nfs4r_core *c)
{
	struct claim *cl, *tmp;

	HASH_ITER(hh, c->control.claims, cl, tmp) {
		HASH_DEL(c->control.claims, cl);
		if (cl->own)
			free(cl->own->pol);
		free(cl->own);
		free(cl);
	}
}

void nfs4r_core_destroy(struct nfs4r_core *c)
{
	if (!c)
		return;
	HASH_CLEAR(hh, c->ops.by_id);
	free_ops(c->ops.waiting, true);
	free_ops(c->ops.busy, false);
	free_ops(c->ops.answering, true);
	for (int s = 1; s <= NFS4R_SERVERS_MAX; s++)
		while (c->log.logs[s].pend) {
			struct pend *p = c->log.logs[s].pend;

			DL_DELETE(c->log.logs[s].pend, p);
			log_pend_free(c, p);
		}
	FREE_TABLE(c->control.objs);
	free_claims(c);
	FREE_TABLE(c->control.anc);
	FREE_TABLE(c->control.dead);
	FREE_TABLE(c->control.said);
	control_deferred_forget(c, ~(nfs4r_servers)0);
	FREE_TABLE(c->control.holdoff);
	FREE_TABLE(c->policy.contested);
	FREE_TABLE(c->policy.let_go);
	FREE_TABLE(c->policy.missed);
	FREE_TABLE(c->policy.pinned);
	FREE_TABLE(c->policy.writing);
	FREE_TABLE(c->policy.writers);
	FREE_TABLE(c->control.clearing);
	FREE_TABLE(c->control.opens);
	policy_fini(c);
	recovery_join_fini(c);
	log_quorum_fini(c);
	log_clients_fini(c);
	ops_space_fini(c);
	log_fuzzy_fini(c);
	ops_refusals_free(c);
	FREE_TABLE(c->ops.replies);
	FREE_TABLE(c->log.written);
	FREE_TABLE(c->ops.monotonic);
	locks_fini(c);
	locks_shares_fini(c);
	out_begin(c);
	free(c->out.acts);
	free(c->out.kept);
	free(c->out.puts);
	free(c->log.cum);
	free(c->control.open.v);
	for (int s = 1; s <= NFS4R_SERVERS_MAX; s++)
		free(c->control.deads[s].v);
	free(c);
}

enum nfs4r_status nfs4r_core_restore_log(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn base, nfs4r_lsn applied,
					 nfs4r_lsn stable)
{
	assert(!c->started);
	if (log == 0 || log > NFS4R_SERVERS_MAX || stable > applied || base > applied + 1)
		return NFS4R_CORRUPT;
	if (applied || base > 1)
		state_logs_known(c, NFS4R_BIT(log));
	log_restored(c, log, base ? base : 1, applied, stable);
	return NFS4R_OK;
}

enum nfs4r_status nfs4r_core_restore_beyond(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn lsn)
{
	assert(!c->started);
	if (log == 0 || log > NFS4R_SERVERS_MAX || lsn <= c->log.logs[log].applied)
		return NFS4R_CORRUPT;
	log_restored_beyond(c, log, lsn);
	return NFS4R_OK;
}

enum nfs4r_status nfs4r_core_restore_entry(struct nfs4r_core *c, nfs4r_lsn lsn, uint64_t payload_bytes)
{
	assert(!c->started);
	if (lsn == 0 || (c->log.ncum && lsn < c->log.cum_base + c->log.ncum))
		return NFS4R_CORRUPT;
	log_bytes(c, lsn, payload_bytes);
	ops_space_restore(c, lsn, payload_bytes);
	return NFS4R_OK;
}

/* ---- a step ------------------------------------------------------------------------- */

static void on_msg(struct nfs4r_core *c, nfs4r_server_id from, struct nfs4r_msg *m);

static void take_early(struct nfs4r_core *c)
{
	nfs4r_server_id from;
	struct nfs4r_msg m;

	if (!(c->dirty & DIRTY_OBJECTS))
		return;
	while (control_deferred_next(c, &from, &m))
		on_msg(c, from, &m);
}

static void run_releases(struct nfs4r_core *c)
{
	nfs4r_servers asked = control_release_run(c);

	EACH_OF(asked, s)
		log_send_positions(c, s);
}

/* Locks 14: before anything is answered. */
static void fence(struct nfs4r_core *c)
{
	if (!nfs4r_core_locks_shared(c) || !locks_is_back(c))
		return;
	locks_fence(c);
	ops_locks_fenced(c);
}

/* Repeat until nothing moves. Each pass looks only at what a handler marked. */
static void apply_to_fixpoint(struct nfs4r_core *c)
{
	do {
		uint32_t dirty;

		core_commit_run(c);
		take_early(c);
		fence(c);
		if (log_clients_run_sure(c)) {
			locks_lost(c);
			locks_gap_timers(c);
		}
		dirty = c->dirty;
		c->dirty = 0;
		if (dirty & DIRTY_POLICY)
			policy_run(c);
		if (dirty & DIRTY_RELEASE)
			run_releases(c);
		if (dirty & DIRTY_OPENS)
			ops_exec_open_files(c);
		if (dirty & DIRTY_REPLY)
			ops_exec_answers(c);
		if (dirty & DIRTY_OBJECTS)
			recovery_join_run(c);
		if (dirty & (DIRTY_OPS | DIRTY_OBJECTS))
			ops_run(c, true);
		if (dirty & (DIRTY_LOCKS | DIRTY_REPLY))
			ops_locks_run(c);
		if (dirty & DIRTY_LOCKS)
			ops_shares_run(c);
	} while (c->dirty || c->log.ready);
}

/* The same with what waits for the end of all that: promises, acceptances, seals. */
static void run_to_fixpoint(struct nfs4r_core *c)
{
	do {
		apply_to_fixpoint(c);
		if (!view_run(c))
			continue;
		recovery_repair_run(c);
		view_seal_cross_all(c);
	} while (c->dirty || c->log.ready);
}

static void ask_sync(struct nfs4r_core *c)
{
	c->sync_asked = c->step;
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_SYNC, .durable = true, .sync = { .num = c->step } });
}

static void on_synced(struct nfs4r_core *c, uint64_t step)
{
	out_durable(c, step);
	c->dirty |= DIRTY_REPLY;
	if (c->locks.unsaved) {
		locks_await_disk(c, false);
		c->dirty |= DIRTY_OPS;
	}
}

static const struct nfs4r_update *finish(struct nfs4r_core *c)
{
	core_leave_run(c);
	run_to_fixpoint(c);
	if (c->recovering) {
		log_recovery(c);
		run_to_fixpoint(c);
	}
	view_trouble_advance(c);
	core_leave_advance(c);
	log_quorum_run(c);
	control_release_flush(c);
	if (c->log_moved)
		log_send(c);
	log_quorum_flush(c);
	log_positions_out(c);
	if (c->sync_wanted > c->sync_asked)
		ask_sync(c);
	c->step++;
	core_assert_invariants(c);
	return out_end(c);
}

static void timers(struct nfs4r_core *c)
{
	if (c->now < c->out.timer)
		return;
	out_no_timer(c);
	control_election_timers(c);
	control_deferred_timers(c);
	control_release_timers(c);
	ops_timers(c);
	locks_authority_timers(c);
	locks_gap_timers(c);
	locks_holder_timers(c);
	if (nfs4r_core_locks_shared(c)) {
		locks_reclaim_timers(c);
		locks_orphans_timers(c);
		ops_locks_timers(c);
	}
	locks_guards_timers(c);
	locks_shares_timers(c);
	log_heartbeat(c);
	view_timers(c);
	recovery_memory_timers(c);
	recovery_join_timers(c);
	log_trouble_timers(c);
	view_trouble_timers(c);
}

const struct nfs4r_update *nfs4r_core_started(struct nfs4r_core *c, uint64_t now_ms)
{
	struct ctlobj *o, *tmp;
	struct ctl *k;

	assert(!c->started);
	out_begin(c);
	c->now = now_ms;
	out_no_timer(c);
	log_recovery_begin(c);
	if (!FAULT(F_COUNT_RESTART))
		control_anc_rebuild(c);
	HASH_ITER(hh, c->control.objs, o, tmp) { /* the fast path learns the table, before control 4.9 changes it */
		for (k = o->list; k; k = k->next)
			control_ctl_say(c, k, true);
	}
	c->started = true;
	log_bytes(c, c->log.logs[c->self].applied, 0);
	log_fuzzy_started(c);
	recovery_restart_claims(c);
	log_peers_started(c);
	recovery_memory_started(c);
	ops_monotonic_started(c);
	log_heartbeat(c);
	view_started(c);
	if (nfs4r_core_locks_shared(c)) /* the view says that */
		locks_gap_started(c);
	if (nfs4r_core_locks_shared(c)) {
		locks_reclaim_started(c);
		locks_orphans_new_view(c);
	}
	recovery_join_started(c);
	view_secret_started(c);
	view_timers(c);
	return finish(c);
}

/* Log 6.6: between members only. RELEASE only takes away, and a server that is back may have some to tell. */
static bool from_member_only(uint32_t type)
{
	switch (type) {
	case NFS4R_MSG_PROPOSE:
	case NFS4R_MSG_ACK:
	case NFS4R_MSG_NACK:
	case NFS4R_MSG_REVOKE:
	case NFS4R_MSG_CLOSING:
	case NFS4R_MSG_FORWARD:
	case NFS4R_MSG_FORWARD_ANSWER:
	case NFS4R_MSG_LOCK_READY:
	case NFS4R_MSG_REQUEUE:
	case NFS4R_MSG_LOCKS_OF:
	case NFS4R_MSG_LOCKS_LIST:
	case NFS4R_MSG_GAP_OVER:
	case NFS4R_MSG_GUARD:
	case NFS4R_MSG_UNGUARD:
		return true;
	default:
		return false;
	}
}

/* Log 8.6: who has forgotten acks nothing, and its acks are worth nothing. */
static bool is_counted(const struct nfs4r_core *c, nfs4r_server_id from, uint32_t type)
{
	if (FAULT(F_FORGOT_ACKS) && (type == NFS4R_MSG_PROPOSE || type == NFS4R_MSG_ACK))
		return true;
	return type == NFS4R_MSG_ACK ? state_memory_counts(c, from) : state_memory_known(c);
}

static void ignore(struct nfs4r_core *c, struct nfs4r_msg *m)
{
	if (m->type == NFS4R_MSG_ENTRIES) {
		log_apply_drop_entries(m);
		return;
	}
	if (m->type != NFS4R_MSG_FORWARD || !m->op)
		return;
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_DROP, .drop = { .op = m->op } });
	m->op = NULL;
}

/* Log 9.1: not of this volume, as far as is known here. One of the two may not know the newest view; of all else nothing is heard. */
static void stranger(struct nfs4r_core *c, nfs4r_server_id from, struct nfs4r_msg *m)
{
	bool heartbeat = m->type == NFS4R_MSG_HEARTBEAT && state_views_on(c);

	if (heartbeat && m->heartbeat.view < c->view.adopted.num)
		view_send(c, from);
	else if (heartbeat && m->heartbeat.view > c->view.adopted.num)
		view_beat_to(c, from);
	else if (!heartbeat)
		c->st.bad_messages++;
	ignore(c, m);
}

static void on_heartbeat(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	bool was_behind = c->peers[from].view < c->view.adopted.num;

	if (!state_views_on(c))
		return;
	if (view_heard(c, from, m))
		recovery_join_heard(c, from);
	if (c->peers[from].view < c->view.adopted.num)
		view_send(c, from);
	else if (was_behind)
		control_release_peer_up(c, from);
	recovery_memory_on_heartbeat(c, from, m);
	view_answer(c, from, m);
}

static void on_positions(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	if (!log_on_positions(c, from, m))
		return;
	recovery_repair_source_known(c, from, m);
	log_positions_taken(c, from, m);
}

/* Locks 11: its log has ended, so it lets go of everything, and this server is not past that end yet. */
static void note_gaps(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	if (!state_locks_shared(c) || !state_seal_at(&c->view.adopted, from, c->log.logs[from].applied))
		return;
	for (uint32_t i = 0; i < m->release.nseqs && i < NFS4R_BATCH_MAX; i++) {
		const struct claim *cl = state_claim_find(c, from, m->release.seqs[i]);

		if (cl)
			locks_gap_of_ended(c, cl);
	}
}

static void on_release(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	const struct nfs4r_msg *a;

	note_gaps(c, from, m);
	a = control_release_on_release(c, from, m);
	for (uint32_t i = 0; a && i < a->release.nseqs; i++)
		recovery_join_released(c, from, a->release.seqs[i]);
}

static void on_lock_note(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	if (!nfs4r_core_locks_shared(c))
		c->st.bad_messages++;
	else if (m->lock_ready.heard)
		locks_authority_on_msg(c, from, m);
	else
		locks_holder_on_msg(c, from, m);
}

/* One case for each type. NOLINTNEXTLINE(readability-function-size) */
static void on_msg(struct nfs4r_core *c, nfs4r_server_id from, struct nfs4r_msg *m)
{
	const char *why;

	if (from == 0 || from > NFS4R_SERVERS_MAX || from == c->self) {
		c->st.bad_messages++;
		return;
	}
	if (!(servers_of(c) & NFS4R_BIT(from))) {
		stranger(c, from, m);
		return;
	}
	why = core_door_refuses(c, from, m);
	if (why) {
		out_complain(c, from, why);
		ignore(c, m);
		return;
	}
	if (from_member_only(m->type) && !(state_is_member(c, from) && state_is_member(c, c->self) && is_counted(c, from, m->type))) {
		ignore(c, m);
		return;
	}
	switch (m->type) {
	case NFS4R_MSG_PROPOSE:
		control_election_on_propose(c, from, m);
		break;
	case NFS4R_MSG_ACK:
		control_election_on_ack(c, from, m);
		break;
	case NFS4R_MSG_NACK:
		control_election_on_nack(c, from, m);
		break;
	case NFS4R_MSG_RELEASE:
		if (state_memory_counts(c, from) || FAULT(F_FORGOT_RELEASES)) /* by an older image what it has won since may be one that it only asked for */
			on_release(c, from, m);
		break;
	case NFS4R_MSG_RELEASED:
		control_release_on_released(c, from, m);
		break;
	case NFS4R_MSG_REVOKE:
		control_release_on_revoke(c, from, m);
		break;
	case NFS4R_MSG_CLOSING:
		if (state_memory_counts(c, from))
			control_announce_on_closing(c, from, m);
		break;
	case NFS4R_MSG_FORWARD:
		ops_forward_on_request(c, from, m);
		break;
	case NFS4R_MSG_FORWARD_ANSWER:
		ops_forward_on_answer(c, from, m);
		break;
	case NFS4R_MSG_POSITIONS:
		on_positions(c, from, m);
		break;
	case NFS4R_MSG_ENTRIES:
		log_apply_on_entries(c, from, m);
		break;
	case NFS4R_MSG_PULL:
		log_on_pull(c, from, m);
		break;
	case NFS4R_MSG_HEARTBEAT:
		on_heartbeat(c, from, m);
		break;
	case NFS4R_MSG_GRANT:
	case NFS4R_MSG_PREPARE:
	case NFS4R_MSG_PROMISE:
	case NFS4R_MSG_ACCEPT:
	case NFS4R_MSG_ACCEPTED:
	case NFS4R_MSG_VIEW:
	case NFS4R_MSG_HALTED:
		view_on_msg(c, from, m);
		break;
	case NFS4R_MSG_JOIN:
	case NFS4R_MSG_JOINROWS:
	case NFS4R_MSG_JOINED:
		recovery_join_on_msg(c, from, m);
		break;
	case NFS4R_MSG_LOCK_READY:
	case NFS4R_MSG_REQUEUE:
		on_lock_note(c, from, m);
		break;
	case NFS4R_MSG_LOCKS_OF:
		if (nfs4r_core_locks_shared(c))
			locks_gap_on_question(c, from, m);
		break;
	case NFS4R_MSG_LOCKS_LIST:
		if (nfs4r_core_locks_shared(c))
			locks_gap_on_list(c, from, m);
		break;
	case NFS4R_MSG_GAP_OVER:
		if (nfs4r_core_locks_shared(c))
			locks_gap_on_over(c, from, m);
		break;
	case NFS4R_MSG_GUARD:
	case NFS4R_MSG_UNGUARD:
		if (nfs4r_core_locks_shared(c))
			locks_shares_on_msg(c, from, m);
		break;
	case NFS4R_MSG_SPACE:
		ops_space_on_msg(c, from, m);
		break;
	default:
		c->st.bad_messages++;
	}
}

/* A new incarnation may have lost what the old one reported. */
static void on_peer_up(struct nfs4r_core *c, nfs4r_server_id s, uint64_t inc)
{
	struct peer *p = &c->peers[s];
	bool fresh = p->inc && p->inc != inc;

	p->down = false;
	p->up = true;
	view_peer_up(c, s);
	control_deferred_forget(c, NFS4R_BIT(s));
	if (p->inc != inc)
		view_peer_forget(c, s);
	p->inc = inc;
	log_peer_up(c, s);
	c->dirty |= DIRTY_OPS | DIRTY_OPENS; /* what waited because it was away */
	log_send_positions(c, s);
	ops_space_peer_up(c, s);
	view_beat_to(c, s);
	view_secret_peer_up(c, s);
	control_election_peer_up(c, s);
	control_release_peer_up(c, s);
	ops_forward_peer_up(c, s, fresh);
	if (fresh) {
		locks_authority_forget(c, NFS4R_BIT(s));
		locks_gap_peer_fresh(c, s);
		locks_guards_started(c, s);
		locks_shares_say_denies(c);
		ops_locks_again(c, s);
		recovery_join_peer_fresh(c, s);
		recovery_repair_peer_fresh(c, s);
	}
}

static void on_peer_down(struct nfs4r_core *c, nfs4r_server_id s)
{
	struct peer *p = &c->peers[s];

	if (!p->down)
		p->down_at = c->now;
	p->up = false;
	p->down = true;
	view_trouble_unheard(p);
	control_deferred_forget(c, NFS4R_BIT(s));
}

static void on_op(struct nfs4r_core *c, struct nfs4r_op *op)
{
	if (ops_lock_at_once(c, op) || ops_share_at_once(c, op))
		return;
	if (c->ops.nops >= OPS_MAX || c->halted) {
		op->status = NFS4R_DELAY;
		out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_DONE, .done = { .op = op } });
		return;
	}
	memset(&op->id, 0, sizeof(op->id)); /* given when it is forwarded */
	ops_decide(c, ops_begin(c, op, false, 0));
}

static void on_cancel(struct nfs4r_core *c, struct opx *o)
{
	if (o && !o->remote && o->state == OP_WAIT)
		ops_finish(c, o, NFS4R_DELAY);
	else if (o && o->state == OP_CATCHUP)
		ops_finish(c, o, o->op->status);
	else if (o && o->state == OP_FORWARDED && nfs4r_op_at_authority(o->op->type))
		ops_lock_cancel(c, o);
}

/* One case for each type. NOLINTNEXTLINE(readability-function-size) */
const struct nfs4r_update *nfs4r_core_step(struct nfs4r_core *c, const struct nfs4r_event *ev)
{
	assert(c->started && ev->now_ms >= c->now);
	out_begin(c);
	c->now = ev->now_ms;
	switch (ev->type) {
	case NFS4R_EV_TICK:
		break;
	case NFS4R_EV_MSG:
		on_msg(c, ev->peer, ev->msg);
		break;
	case NFS4R_EV_PEER_UP:
	case NFS4R_EV_PEER_DOWN:
		assert(ev->peer && ev->peer <= NFS4R_SERVERS_MAX && ev->peer != c->self);
		if (ev->type == NFS4R_EV_PEER_UP)
			on_peer_up(c, ev->peer, ev->peer_inc);
		else
			on_peer_down(c, ev->peer);
		break;
	case NFS4R_EV_OP:
		on_op(c, ev->op);
		break;
	case NFS4R_EV_OP_LOCKED:
		ops_exec_locked(c, ev->op->core, ev->status);
		break;
	case NFS4R_EV_OP_EXECUTED:
		if (ev->op)
			ops_exec_executed(c, ev->op->core, ev);
		else
			recovery_restart_decided(c, ev->entry, ev->ok);
		break;
	case NFS4R_EV_OP_CANCEL:
		on_cancel(c, ev->op->core);
		break;
	case NFS4R_EV_APPLIED:
		log_apply_done(c, ev);
		break;
	case NFS4R_EV_STABLE:
		log_on_stable(c, ev->stable);
		break;
	case NFS4R_EV_BEYOND:
		log_retention_beyond(c, ev->stable);
		break;
	case NFS4R_EV_OPENED:
	case NFS4R_EV_CLOSED:
		control_release_opened(c, &ev->oid, ev->type == NFS4R_EV_OPENED);
		break;
	case NFS4R_EV_SPACE:
		ops_space_measured(c, ev);
		break;
	case NFS4R_EV_ABANDON:
		view_propose_abandon(c, ev->peer);
		break;
	case NFS4R_EV_ADD_SERVER:
		view_member_add(c, ev);
		break;
	case NFS4R_EV_REMOVE_SERVER:
		view_member_remove(c, ev);
		break;
	case NFS4R_EV_SERVER_KEYS:
		view_server_keys_set(c, ev);
		break;
	case NFS4R_EV_FINISH_UPGRADE:
		view_settings_finish(c);
		break;
	case NFS4R_EV_SET:
		view_settings_set(c, ev->key, ev->value);
		break;
	case NFS4R_EV_RECONFIGURE:
		view_reconf_order(c, ev);
		break;
	case NFS4R_EV_LEAVE:
		core_leave_begin(c);
		break;
	case NFS4R_EV_AWAIT_QUORUM:
		log_quorum_ask(c, ev->wait_id, &ev->oid);
		break;
	case NFS4R_EV_CLIENT:
		if (ev->ok)
			log_client_begins(c, ev->wait_id, ev->client, locks_number_next(c));
		else
			log_client_gone(c, ev->wait_id, ev->client, locks_number_next(c));
		break;
	case NFS4R_EV_LOCKS_KNOWN:
		locks_known(c);
		view_beat(c);
		break;
	case NFS4R_EV_CLIENT_RECLAIMED:
		if (nfs4r_core_locks_shared(c))
			locks_client_reclaimed(c, ev->client->id);
		locks_gap_timers(c);
		break;
	case NFS4R_EV_ACCEPTED:
		view_propose_accepted_here(c, ev->num);
		view_settings_on_disk(c, ev->num);
		break;
	case NFS4R_EV_SYNCED:
		on_synced(c, ev->num);
		break;
	case NFS4R_EV_OWNER_VERSION:
		ops_monotonic_note(c, &ev->oid, ev->peer, ev->version);
		break;
	case NFS4R_EV_DOUBT_CLEARED:
		c->cfg.doubts = false;
		view_trouble_cleared(c);
		break;
	case NFS4R_EV_TROUBLE:
		view_trouble_reported(c, ev->status);
		break;
	case NFS4R_EV_OBJECTS_FUZZY:
		for (uint32_t i = 0; i < ev->nleft; i++)
			log_fuzzy_noted(c, &ev->left[i]);
		break;
	case NFS4R_EV_COPY_NEWER:
		for (uint32_t i = 0; i < ev->nleft; i++)
			log_fuzzy_newer(c, &ev->left[i]);
		break;
	case NFS4R_EV_REPAIRED:
		recovery_repair_done(c, ev);
		break;
	default:
		assert(!"unknown event");
	}
	timers(c);
	return finish(c);
}
