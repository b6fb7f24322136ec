/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the server does whose log was ended, and what a copy does that is ahead of a seal (log 8.3, 8.5).
 *
 * Happy path of the sealed server: it hears of a view with a seal in its log. What waits is answered DELAY, what is being executed ends
 * as it would and is then answered DELAY if it lies beyond the seal. Its claims are released at once: nobody counts on what they covered. When
 * nothing is under way, REPAIR undoes what lies beyond the seal, the log is crossed, and the server comes back as ever (log 8.4). A server
 * whose log ends at the seal just crosses. Other servers may be ahead of a seal, too, also of several; it is the same for them.
 *
 * The source may have entries that nobody else has, and its copies have them, too, whatever the own positions say. So after a repair this
 * server asks how far the source was (reach), and until its own positions are there it is not ready, not complete, and no source. A
 * log that is ended below that is as good as one that this copy is ahead of, but which objects that concerns is not known: all.
 *
 * Failure modes: a crash on the way: row 'V' and the positions say where it was, everything begins again. The source goes away: REPAIRED
 * says "not done", another one is taken. No source: it waits; a member that waits is removed like any that does not get ready.
 *
 * Invariants: while a repair is under way nothing is taken, applied, executed or answered. The source has applied every log as far as this
 * copy has, so that no object gets older by the repair but what lies beyond seals. A repaired copy may be ahead of its positions, so
 * it joins anew before it serves.
 */
#include "core/recovery/recovery_int.h"

/* ---- the own log has ended -------------------------------------------------------------- */

static void end_self(struct nfs4r_core *c)
{
	ops_exec_undone(c);
	ops_refuse_waiting(c);
	view_claims_let_go(c);
}

/* ---- the repair --------------------------------------------------------------------------- */

/* The tail of the own log may come afterwards (log 4.7): it may need what only the repair brings. */
static bool is_quiet(const struct nfs4r_core *c)
{
	if (c->ops.busy || c->undecided)
		return false;
	EACH_LOG(c, s)
		if (!log_apply_is_idle(c, s))
			return false;
	return !state_is_ended(c, c->self) || c->recovering || state_self_ended(c);
}

/*
 * What a source must have of @log so that this server can take its copy: no position goes back, since others count on what they heard, to
 * truncate and to call an update held. What only this server has they get from it before (log_on_pull()). A learner told nobody of anything: what its
 * old copy has may be lost everywhere else, and its number is given out again when the owner does something (log 9.1).
 */
static nfs4r_lsn must_have(const struct nfs4r_core *c, nfs4r_server_id log)
{
	nfs4r_lsn begin = state_seal_begin(&c->view.adopted, log), said = state_repair_counts(c, log, c->log.logs[log].applied);
	const struct nfs4r_seal *s = state_seal_at(&c->view.accepted, log, c->log.logs[log].applied);

	if (state_is_ended(c, log))
		return begin;
	if (s && said < s->lsn && s->lsn <= c->log.logs[log].applied)
		return s->lsn; /* it was accepted because that is here (log 6.5) */
	return said > begin ? said : begin;
}

/* Those that may be taken for right: members; to accept a view (log 6.5), its members. */
static bool is_of_view(const struct nfs4r_core *c, nfs4r_server_id s)
{
	return c->view.accepting.from ? c->view.accepting.view.members & NFS4R_BIT(s) : state_is_member(c, s);
}

bool recovery_repair_is_source(const struct nfs4r_core *c, nfs4r_server_id s)
{
	const struct peer *p = &c->peers[s];

	if (!is_of_view(c, s) || p->down || !p->met || p->repairing || p->memory != NFS4R_MEMORY_KNOWN || p->view != c->view.adopted.num || !state_view_hears(c, s))
		return false;
	EACH_LOG(c, log)
		if (p->applied[log] < must_have(c, log))
			return false;
	return true;
}

/* How good it is: better one that has all rows, and better not the one that failed last. */
static uint32_t goodness(const struct nfs4r_core *c, nfs4r_server_id s)
{
	return 1 + (s != c->repair.failed) + 2 * !c->peers[s].joining;
}

/* One that joins will do: it lacks rows, and waits perhaps for the list of this server, which makes none before it is repaired. */
static nfs4r_server_id source(const struct nfs4r_core *c)
{
	nfs4r_server_id best = 0;

	EACH_PEER(c, s)
		if (recovery_repair_is_source(c, s) && (!best || goodness(c, s) > goodness(c, best)))
			best = s;
	return best;
}

static void save_reach(struct nfs4r_core *c)
{
	struct nfs4r_put p;

	row_reach(&c->reach, &p);
	out_put(c, &p);
}

/* Log 9.3: the copy of the one that goes on is the only one that counts. */
void recovery_repair_anew(struct nfs4r_core *c)
{
	c->reach.all = true;
	save_reach(c);
}

/*
 * Log 9.3: the only member of a volume that was reconfigured takes its copy for what it is, since nobody else's counts. What it has beyond seals is
 * there, under versions that are lower than all that come.
 */
static void take_as_it_is(struct nfs4r_core *c)
{
	out_stuck(c, "this copy is incomplete, and no reachable server has a better one: it is used as it is");
	log_late_none(c);
	c->reach = (struct reach){ 0 };
	save_reach(c);
	EACH_LOG(c, s)
		log_back_to(c, s, state_is_ahead(c, s) ? state_seal_at(&c->view.adopted, s, c->log.logs[s].applied)->lsn : c->log.logs[s].applied);
	c->repair = (struct repair){ 0 };
	view_seal_cross_all(c);
	c->dirty |= DIRTY_OPS | DIRTY_OBJECTS | DIRTY_REPLY | DIRTY_RELEASE;
	log_goes_on(c);
}

/* The positions that come of it do not say any more that it is not done, nor what was said before. */
static void copy_begins(struct nfs4r_core *c)
{
	c->reach.all = true;
	EACH_LOG(c, s)
		if (!c->reach.anew || state_memory_tells_nothing(c))
			c->reach.before[s] = state_repair_counts(c, s, c->log.logs[s].applied);
	c->reach.anew = true;
	save_reach(c);
}

static void begin(struct nfs4r_core *c, nfs4r_server_id from)
{
	struct nfs4r_act_repair a = { .from = from, .all = c->repair.all };
	struct nfs4r_seal *seals = out_keep(c, NFS4R_SERVERS_MAX * sizeof(*seals));

	if (c->repair.all && (!c->reach.all || state_memory_tells_nothing(c)))
		copy_begins(c);
	c->repair.state = REPAIR_RUNS;
	c->repair.from = from;
	c->repair.anew = false;
	if (c->repair.list)
		recovery_fuzzy_list(c, &a);
	EACH_LOG(c, s)
		if (state_is_ahead(c, s) && !c->repair.list)
			seals[a.nseals++] = *state_seal_at(&c->view.adopted, s, c->log.logs[s].applied);
	a.seals = seals;
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_REPAIR, .repair = a });
}

/* Before anything is applied that stands on what the seals left: it would meet a version here that never was. */
void recovery_repair_check(struct nfs4r_core *c)
{
	bool all;

	if (c->repair.state || (!state_memory_whole(c) && !state_memory_wants_all(c)))
		return;
	if ((!state_seals_open(c) && !c->log.late && state_repair_is_whole(c) && !state_memory_wants_all(c)) || !state_needs_repair(c, &all))
		return;
	c->repair.state = REPAIR_DRAIN;
	state_view_check_ready(c);
}

/* Log 7.5: takes what is inexact here from @from. */
void recovery_repair_list(struct nfs4r_core *c, nfs4r_server_id from)
{
	c->repair = (struct repair){ .state = REPAIR_DRAIN, .list = true, .from = from };
	state_view_check_ready(c);
}

/* Ready as before, but for what is still inexact. */
static void list_ended(struct nfs4r_core *c, bool in_vain)
{
	recovery_fuzzy_list_ended(c, in_vain);
	c->repair = (struct repair){ 0 };
	c->dirty |= DIRTY_OPS | DIRTY_OBJECTS | DIRTY_REPLY | DIRTY_RELEASE;
	log_goes_on(c);
	EACH_OTHER_LOG(c, s) { /* what was not begun, or was dropped, because of it */
		log_apply_wake(c, s);
		if (c->log.logs[s].end > c->log.logs[s].received)
			log_pull(c, s);
	}
	state_view_check_ready(c);
}

static void try_later(struct nfs4r_core *c)
{
	struct repair *r = &c->repair;

	if (r->list) { /* another time: meanwhile entries are applied, and others may need that */
		list_ended(c, true);
		return;
	}
	r->state = REPAIR_WAIT;
	r->failed = r->from;
	r->again_ms = c->now + state_repeat_ms(c);
	out_timer_at(c, r->again_ms);
}

/* It answers a clock that is later than the last object. */
static void ask_reach(struct nfs4r_core *c)
{
	struct repair *r = &c->repair;

	if (c->now >= r->again_ms) {
		log_send_positions(c, r->from);
		r->again_ms = c->now + state_repeat_ms(c) / 4 + 1;
	}
	out_timer_at(c, r->again_ms);
}

/* The own positions are where the copied objects were. */
static void check_reach(struct nfs4r_core *c)
{
	if (!c->reach.open || c->repair.state)
		return;
	EACH_LOG(c, s)
		if (c->log.logs[s].applied < c->reach.lsn[s])
			return;
	c->reach = (struct reach){ 0 };
	save_reach(c);
	EACH_LOG(c, s)
		log_says(c, s); /* now it counts */
	state_view_check_ready(c);
}

/* Unless there is more to be repaired meanwhile. */
static void begin_list(struct nfs4r_core *c)
{
	bool all;

	if (recovery_repair_is_source(c, c->repair.from) && c->log.ninexact && !state_seals_open(c) && !state_needs_repair(c, &all))
		begin(c, c->repair.from);
	else
		list_ended(c, true);
}

void recovery_repair_run(struct nfs4r_core *c)
{
	struct repair *r = &c->repair;
	nfs4r_server_id from;

	if (state_is_ended(c, c->self))
		end_self(c);
	check_reach(c);
	recovery_repair_check(c);
	recovery_fuzzy_run(c);
	if (r->state == REPAIR_ASKS && !recovery_repair_is_source(c, r->from))
		try_later(c);
	if (r->state == REPAIR_ASKS)
		ask_reach(c);
	if (!r->state || r->state == REPAIR_ASKS || r->state == REPAIR_RUNS || c->halted)
		return;
	if (r->state == REPAIR_DRAIN && is_quiet(c)) {
		log_apply_drop_all(c);
		if (!r->list) { /* that one is where its positions are, and does nothing before it is there again */
			view_incomplete(c);
			recovery_join_again(c);
		}
		r->state = REPAIR_WAIT;
	}
	if (r->state != REPAIR_WAIT)
		return;
	if (r->list) {
		begin_list(c);
		return;
	}
	out_timer_at(c, r->again_ms > c->now ? r->again_ms : c->now + state_repeat_ms(c));
	if (!state_needs_repair(c, &r->all)) { /* what was being applied reached the seal */
		*r = (struct repair){ 0 };
		return;
	}
	if (c->view.adopted.members == NFS4R_BIT(c->self)) {
		take_as_it_is(c);
		return;
	}
	from = c->now >= r->again_ms ? source(c) : 0;
	if (from)
		begin(c, from);
	else if (c->now >= r->again_ms)
		out_stuck(c, "this copy has abandoned updates, and waits for a server to copy the affected objects from");
}

/* ---- afterwards ------------------------------------------------------------------------------ */

/* The old copy had more of @log: what came with that goes with it. Nobody may have those entries any more, and their numbers be given out again. */
static void goes_back(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn pos)
{
	if (c->log.logs[log].applied > pos)
		state_log_ends(c, log, pos); /* what there is of it will be announced */
	view_claims_undone(c, log, pos);
	ops_replies_undone(c, log, pos);
}

static void take_positions(struct nfs4r_core *c, const nfs4r_lsn *v)
{
	EACH_LOG(c, s) {
		goes_back(c, s, v[s]);
		log_copied(c, s, v[s]);
	}
	log_crossed(c);
}

/*
 * The tree changed underneath. What is remembered of objects is taken from it again; what is remembered of own entries counts as
 * of the end of the log.
 */
static void forget_tree(struct nfs4r_core *c)
{
	log_written_forget(c);
	log_written_before(c, c->log.logs[c->self].received);
	control_joined_rebuilt(c, c->log.logs[c->self].received);
	control_anc_rebuild(c);
	ops_monotonic_rebuilt(c);
}

/* Another start of @s: after a crash of its machine it may have less than it said when the repair began, and have it again before the repair ends. */
void recovery_repair_peer_fresh(struct nfs4r_core *c, nfs4r_server_id s)
{
	if (c->repair.from == s)
		c->repair.anew = true;
}

void recovery_repair_done(struct nfs4r_core *c, const struct nfs4r_event *ev)
{
	struct repair *r = &c->repair;
	nfs4r_servers ended_logs = 0;

	if (r->state != REPAIR_RUNS)
		return;
	if (!ev->ok || (r->anew && !FAULT(F_SOURCE_ANEW)) || !recovery_fuzzy_repaired(c, ev->left, ev->nleft, r->all ? ev->stable : NULL)) {
		try_later(c);
		return;
	}
	forget_tree(c);
	if (r->list) {
		recovery_fuzzy_mended(c);
		list_ended(c, false);
		return;
	}
	log_clients_copied(c, ev->clients, ev->nclients);
	EACH_LOG(c, s) {
		if (r->all && state_is_ended(c, s)) {
			ops_monotonic_sealed(c, s);
			view_claims_sealed(c, s);
		}
		if (NFS4R_GEN(ev->stable[s]) != NFS4R_GEN(c->log.logs[s].applied))
			ended_logs |= NFS4R_BIT(s);
	}
	if (r->all) {
		log_late_none(c);
		take_positions(c, ev->stable);
		ops_forward_unknown(c, ended_logs);
	}
	r->state = REPAIR_ASKS;
	r->source_known = false;
	r->done_ms = c->now;
	r->again_ms = c->now + 1;
}

static void ended(struct nfs4r_core *c)
{
	struct repair *r = &c->repair;

	EACH_LOG(c, s)
		if (r->all || !c->reach.open || c->reach.lsn[s] < r->lsn[s]) /* what an earlier repair left may be further */
			c->reach.lsn[s] = r->lsn[s];
	c->reach.open = !FAULT(F_REACH_FORGOTTEN);
	c->reach.anew &= c->reach.open;
	c->reach.all = false;
	save_reach(c);
	recovery_fuzzy_mended(c); /* after that row: what is taken may be further */
	EACH_LOG(c, s)
		if (state_is_ahead(c, s)) {
			nfs4r_lsn seal = state_seal_at(&c->view.adopted, s, c->log.logs[s].applied)->lsn;

			ops_replies_undone(c, s, seal);
			log_back_to(c, s, seal); /* below it there may be a hole: that is pulled */
		}
	if (r->all)
		recovery_memory_repaired(c);
	*r = (struct repair){ 0 };
	view_seal_cross_all(c);
	c->dirty |= DIRTY_OPS | DIRTY_OBJECTS | DIRTY_REPLY | DIRTY_RELEASE;
	log_goes_on(c);
}

/*
 * Positions of the source that it sent after it gave the last object: what it had received by then is all that its copies can hold. It has to
 * be on its disk, or it may lose it, and nobody would know that this copy has it.
 */
void recovery_repair_source_known(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct repair *r = &c->repair;
	bool stable = true;

	if (r->state != REPAIR_ASKS || from != r->from)
		return;
	if (!r->source_known && m->positions.echo_ns <= r->done_ms * 1000000)
		return;
	for (uint32_t i = 0; i < m->positions.n; i++) {
		const struct nfs4r_log_position *q = &m->positions.pos[i];

		if (!r->source_known)
			r->lsn[q->log] = q->received;
		stable &= q->stable >= r->lsn[q->log];
	}
	r->source_known = true;
	if (stable)
		ended(c);
}
