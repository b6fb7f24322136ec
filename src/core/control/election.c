/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Election (control 4): PROPOSE, ACK, NACK, winning.
 *
 * Happy path: control_election_propose() saves the claim, sends PROPOSE to all; each granter records and
 * answers ACK with its applied positions; with a majority and everything the granters had applied
 * (the barrier) the claim is won, saved, and operations execute. Proposing goes on until all acked.
 *
 * One that comes before the entry that makes its object is kept for a moment (deferred.c).
 *
 * Failure modes: a NACK or a rival's PROPOSE of higher priority makes a claim without majority
 * yield (abort = release to all); no majority in time does the same; lost messages are repeated.
 *
 * Invariants: this server never withdraws an ack; only the owner's RELEASE removes it. A claim
 * that once had a majority never yields. `won` of another's claim is set only by its owner.
 */
#include "core/control/control_int.h"

bool control_prio_higher(const struct nfs4r_prio *a, const struct nfs4r_prio *b)
{
	return a->attempts != b->attempts ? a->attempts > b->attempts : a->server > b->server;
}

void control_claim_abort(struct nfs4r_core *c, struct own *ow)
{
	c->st.aborts++;
	c->policy_ops->lost(c, ow);
	c->control_port.claim_gone(c, ow->claim);
	control_claim_release(c, ow);
}

static void asking_in(struct nfs4r_core *c, struct own *ow)
{
	DL_APPEND2(c->control.asking, ow, ask_prev, ask_next_own);
	heap_in(&c->control.open, &ow->open, ow->claim->key.seq);
}

void control_asking_out(struct nfs4r_core *c, struct own *ow)
{
	if (!ow->ask_prev)
		return;
	DL_DELETE2(c->control.asking, ow, ask_prev, ask_next_own);
	ow->ask_prev = ow->ask_next_own = NULL;
	heap_out(&c->control.open, &ow->open);
}

void control_election_send(struct nfs4r_core *c, struct own *ow, nfs4r_server_id to)
{
	struct nfs4r_msg *m = out_msg(c, NFS4R_MSG_PROPOSE);
	const struct claim *cl = ow->claim;

	m->propose.pid = (struct nfs4r_pid){ c->self, cl->key.seq };
	m->propose.floor = control_own_floor(c);
	m->propose.prio = cl->prio;
	m->propose.won = ow->state != OWN_PROPOSING;
	m->propose.ncontrols = cl->n;
	for (uint32_t i = 0; i < cl->n; i++) {
		m->propose.controls[i].oid = cl->ctl[i].oid;
		m->propose.controls[i].depth = cl->ctl[i].depth;
	}
	out_send(c, to, m, !FAULT(F_PROPOSE_UNSAVED)); /* control 4.1: persist first */
}

static void ask(struct nfs4r_core *c, struct own *ow, nfs4r_servers whom)
{
	if (!c->view.ready)
		return;
	EACH_MEMBER(c, s)
		if (whom & ~ow->acks & NFS4R_BIT(s))
			control_election_send(c, ow, s);
}

static void ask_at(struct nfs4r_core *c, struct own *ow, uint64_t t)
{
	ow->ask_next = t;
	out_timer_at(c, t);
}

struct own *control_election_propose(struct nfs4r_core *c, const struct nfs4r_control *v, uint32_t n, uint32_t attempts,
				     enum own_purpose purpose)
{
	bool side = purpose == OWN_FOR_POLICY;
	struct claim *cl;
	struct own *ow;

	assert(n && n <= NFS4R_CLAIM_CONTROLS_MAX);
	cl = control_claim_add(c, (struct nfs4r_pid){ c->self, control_seq_next(c) }, NFS4R_PROPOSED, v, n);
	cl->prio.attempts = side ? 0 : attempts < ATTEMPTS_CAP ? attempts + 1 :
								 ATTEMPTS_CAP; /* operations go first */
	cl->prio.server = c->self;
	ow = control_own_new(c, cl, OWN_PROPOSING);
	ow->purpose = purpose;
	ow->in = FAULT(F_IN_STARTS_AT_ZERO) ? 0 : c->control.last_move; /* control 3.9 */
	ow->deadline = c->now + (FAULT(F_SIDE_NO_DEADLINE) && side ? 3600 * 1000 : c->cfg.op_wait_ms);
	out_timer_at(c, ow->deadline);
	if (!FAULT(F_PROPOSE_UNSAVED))
		control_claim_save(c, cl);
	asking_in(c, ow);
	c->st.elections++;
	ow->asked_ms = c->now;
	ask_at(c, ow, c->now + state_repeat_ms(c));
	ask(c, ow, servers_of(c));
	control_election_check_win(c, ow);
	return ow;
}

void control_claim_promotes(struct own *ow)
{
	assert(ow->purpose == OWN_FOR_POLICY);
	ow->purpose = OWN_FOR_PROMOTION;
}

static bool barrier_passed(const struct nfs4r_core *c, const struct own *ow)
{
	if (FAULT(F_NO_BARRIER))
		return true;
	EACH_OTHER_LOG(c, s)
		if (c->log.logs[s].applied < ow->need[s])
			return false;
	return true;
}

/* It has a majority, and is not won. */
static bool is_elected(const struct own *ow)
{
	return own_is_candidate(ow) && ow->state != OWN_PROPOSING;
}

/* Control 4.5. */
void control_election_check_win(struct nfs4r_core *c, struct own *ow)
{
	if (ow->state == OWN_PROPOSING && (own_is_side(ow) && !FAULT(F_SIDE_MAJORITY) ? quorum_is_all(c, ow->acks) || FAULT(F_SIDE_WINS_ALONE) : quorum_is_majority(c, ow->acks)))
		control_own_move(ow, OWN_ELECTED);
	if (is_elected(ow) && barrier_passed(c, ow)) {
		control_own_move(ow, ow->state == OWN_ELECTED ? OWN_WON : OWN_REVOKED);
		ow->claim->won = true;
		ow->won_step = FAULT(F_WON_UNSAVED) ? 0 : c->step;
		if (!FAULT(F_WON_UNSAVED))
			control_claim_save(c, ow->claim);
		control_claim_idle(c, ow);
		state_hist_add(&c->st.won, c->now - ow->begun_ms);
		c->policy_ops->won(c, ow);
		c->control_port.won(c, ow->claim);
		c->dirty |= DIRTY_OPS | DIRTY_REPLY;
		if (own_is_revoked(ow) && !ow->users)
			control_claim_start_closing(c, ow);
	}
	if (own_is_acting(ow) && ow->ask_prev && quorum_is_all(c, ow->acks)) {
		control_asking_out(c, ow);
		state_hist_add(&c->st.acked_by_all, c->now - ow->begun_ms);
		c->dirty |= DIRTY_REPLY;
	}
}

/* Applied positions moved: barriers may have been passed. */
void control_election_barriers(struct nfs4r_core *c)
{
	struct own *ow, *tmp;

	DL_FOREACH_SAFE2(c->control.asking, ow, tmp, ask_next_own)
		if (is_elected(ow))
			control_election_check_win(c, ow);
}

/* ---- as a granter ------------------------------------------------------- */

struct blockers {
	bool unknown;
	bool deferred; /* not known yet: the entry that makes it may be on its way */
	bool won;
	struct nfs4r_prio prio;
	nfs4r_servers owners;
};

static void blocked_by(struct blockers *b, const struct claim *cl)
{
	bool won = cl->won || (cl->own && cl->own->state != OWN_PROPOSING);

	b->owners |= NFS4R_BIT(cl->key.server);
	b->won |= won;
	if (control_prio_higher(&cl->prio, &b->prio))
		b->prio = cl->prio;
}

struct blockers_below {
	struct blockers *b;
	uint32_t left;
};

static bool blocks_below(void *arg, struct ctl *k)
{
	struct blockers_below *bb = arg;

	blocked_by(bb->b, k->claim);
	return !bb->b->won && --bb->left;
}

/*
 * Which controls below @dir block. The table knows their owners; of each a few are looked at, for the hint that NACK gives
 * of what stands in the way (control 4.4), however many there are.
 */
static void blocked_below(struct nfs4r_core *c, const struct nfs4r_oid *dir, nfs4r_servers owners, struct blockers *b)
{
	b->owners |= owners;
	EACH_LOG(c, s) {
		struct blockers_below bb = { b, BLOCKERS_SEEN };

		if ((owners & NFS4R_BIT(s)) && !b->won)
			control_anc_each_below(c, dir, s, blocks_below, &bb);
	}
}

/* Control 4.3d for one control, on this server's tree. */
static void look_for_blockers(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_control *want, bool won,
			      struct blockers *b)
{
	struct nfs4r_facts f;
	nfs4r_servers below;
	struct walk w;
	struct ctl *k;

	control_is_known(c, &want->oid, &f);
	if (f.known == NFS4R_DEAD) {
		/*
		 * The barrier shows the proposer the deletion only if it is in this server's contiguous part of
		 * that log, which it need not be yet (log 3.8). So wait: the proposer hears of it and gives up (control 4.10).
		 */
		b->unknown |= !won;
		return;
	}
	if (f.known != NFS4R_KNOWN && !FAULT(F_GRANT_UNKNOWN)) {
		b->deferred = true;
		return;
	}
	control_walk_begin(&w, &want->oid);
	do {
		for (k = control_of(c, &w.oid); k; k = k->next)
			if (k->claim->key.server != from && (!w.level || (k->depth >= NFS4R_DEEP && !FAULT(F_GRANT_BELOW_DEEP))))
				blocked_by(b, k->claim);
	} while (control_walk_up(c, &w));
	if (want->depth < NFS4R_DEEP || FAULT(F_NO_DEEP_BELOW) || (FAULT(F_GRANT_PLUS) && want->depth == NFS4R_DEEP_PLUS))
		return;
	below = control_anc_below(c, &want->oid) & ~NFS4R_BIT(from) & ~(FAULT(F_GRANT_OVER_OWN) ? NFS4R_BIT(c->self) : 0);
	if (below)
		blocked_below(c, &want->oid, below, b);
}

static bool conflict(struct nfs4r_core *c, const struct ctl *mine, const struct nfs4r_control *theirs)
{
	if (nfs4r_oid_eq(&mine->oid, &theirs->oid))
		return true;
	if (mine->depth >= NFS4R_DEEP && control_is_under(c, &theirs->oid, &mine->oid))
		return true;
	return theirs->depth >= NFS4R_DEEP && control_is_under(c, &mine->oid, &theirs->oid);
}

/* Control 4.3c: own claims without majority yield to a won or higher one. */
static void yield_to(struct nfs4r_core *c, const struct nfs4r_msg *m)
{
	struct own *ow, *tmp;

	DL_FOREACH_SAFE2(c->control.asking, ow, tmp, ask_next_own) {
		bool hit = false;

		if (ow->state != OWN_PROPOSING)
			continue;
		if (!m->propose.won && !own_is_side(ow) && !control_prio_higher(&m->propose.prio, &ow->claim->prio))
			continue;
		for (uint32_t i = 0; i < ow->claim->n && !hit; i++)
			for (uint32_t j = 0; j < m->propose.ncontrols && !hit; j++)
				hit = conflict(c, &ow->claim->ctl[i], &m->propose.controls[j]);
		if (hit) {
			c->st.conflicts++;
			control_claim_abort(c, ow);
		}
	}
}

static void ack(struct nfs4r_core *c, nfs4r_server_id to, const struct claim *cl)
{
	struct nfs4r_msg *m = out_msg(c, NFS4R_MSG_ACK);

	m->ack.pid = (struct nfs4r_pid){ (nfs4r_server_id)cl->key.server, cl->key.seq };
	m->ack.gap = c->control_port.in_gap(c, cl);
	EACH_LOG(c, s)
		m->ack.applied[s] = c->log.logs[s].applied;
	if (c->control.ancestors_changed > m->ack.applied[c->self]) /* what this answer rests on, the winner must see (control 4.5) */
		m->ack.applied[c->self] = c->control.ancestors_changed;
	out_send(c, to, m, !FAULT(F_ACK_UNSAVED)); /* control 4.3e */
}

static void nack(struct nfs4r_core *c, nfs4r_server_id to, const struct nfs4r_pid *pid, const struct blockers *b)
{
	struct nfs4r_msg *m = out_msg(c, NFS4R_MSG_NACK);

	m->nack.pid = *pid;
	m->nack.reason = b->owners ? NFS4R_NACK_BLOCKED : NFS4R_NACK_UNKNOWN;
	m->nack.prio = b->prio;
	m->nack.won = b->won;
	m->nack.owners = b->owners;
	c->st.conflicts += b->owners != 0;
	out_send(c, to, m, false);
}

void control_election_refuse_unknown(struct nfs4r_core *c, nfs4r_server_id to, const struct nfs4r_pid *pid)
{
	nack(c, to, pid, &(struct blockers){ .unknown = true });
}

static bool sane(const struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	if (m->propose.pid.server != from || !m->propose.ncontrols || m->propose.ncontrols > NFS4R_CLAIM_CONTROLS_MAX ||
	    m->propose.floor > m->propose.pid.seq || m->propose.prio.server != from)
		return FAULT(F_FLOOR_TOO_HIGH) && m->propose.ncontrols <= NFS4R_CLAIM_CONTROLS_MAX;
	for (uint32_t i = 0; i < m->propose.ncontrols; i++) {
		if (m->propose.controls[i].depth < NFS4R_SHALLOW || m->propose.controls[i].depth > NFS4R_DEEP_PLUS)
			return false;
		for (uint32_t j = 0; j < i; j++)
			if (nfs4r_oid_eq(&m->propose.controls[i].oid, &m->propose.controls[j].oid))
				return false;
	}
	return true;
}

/* Control 4.3: one atomic step over the whole set. */
void control_election_on_propose(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	const struct nfs4r_pid *pid = &m->propose.pid;
	struct blockers b = { 0 };
	struct claim *cl;

	if (!sane(c, from, m)) {
		c->st.bad_messages++;
		return;
	}
	if (c->halted || (not_ready(c) && (state_memory_known(c) || !FAULT(F_FORGOT_ACKS))))
		return;
	cl = state_claim_find(c, from, pid->seq);
	if (cl) { /* a */
		if (m->propose.won && !cl->won) {
			cl->won = true;
			control_claim_save(c, cl);
		}
		ack(c, from, cl);
		return;
	}
	if (pid->seq < c->control.floor[from] || pid->seq < c->peers[from].joined_below || state_is_dead_seq(c, from, pid->seq)) /* b */
		return;
	control_release_raise_floor(c, from, m->propose.floor);
	yield_to(c, m); /* c */
	for (uint32_t i = 0; i < m->propose.ncontrols; i++)
		c->policy_ops->others(c, &m->propose.controls[i].oid);
	for (uint32_t i = 0; i < m->propose.ncontrols; i++) /* d */
		look_for_blockers(c, from, &m->propose.controls[i], m->propose.won, &b);
	if (b.deferred && !b.owners && !b.unknown && control_deferred_keep(c, from, m))
		return;
	if ((b.owners && !FAULT(F_GRANT_ALL)) || b.unknown || b.deferred) {
		nack(c, from, pid, &b);
		return;
	}
	if (c->control.nclaims >= CLAIMS_MAX)
		return;
	cl = control_claim_add(c, *pid, NFS4R_PROPOSED, m->propose.controls, m->propose.ncontrols); /* e */
	cl->prio = m->propose.prio;
	cl->won = m->propose.won;
	if (!FAULT(F_ACK_UNSAVED))
		control_claim_save(c, cl);
	ack(c, from, cl);
}

/* ---- answers -------------------------------------------------------------- */

static struct own *own_asking(struct nfs4r_core *c, const struct nfs4r_pid *pid)
{
	struct claim *cl = pid->server == c->self ? state_claim_find(c, c->self, pid->seq) : NULL;

	if (!cl || cl->kind != NFS4R_PROPOSED || cl->own->state == OWN_RELEASED)
		return NULL;
	return cl->own;
}

/* Control 4.4. */
void control_election_on_ack(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct own *ow = own_asking(c, &m->ack.pid);

	if (!ow)
		return;
	EACH_OTHER_LOG(c, s)
		if (m->ack.applied[s] > ow->need[s])
			ow->need[s] = m->ack.applied[s];
	EACH_OTHER_LOG(c, s) /* what a granter has, somebody can send */
		state_log_heard(c, s, m->ack.applied[s]);
	if (!(ow->acks & NFS4R_BIT(from)))
		c->policy_ops->acked(c, from, ow);
	ow->acks |= NFS4R_BIT(from);
	ow->nacked &= ~NFS4R_BIT(from);
	if (m->ack.gap)
		c->control_port.gap_named(c, ow->claim, from);
	c->dirty |= DIRTY_REPLY;
	control_election_check_win(c, ow);
}

void control_election_on_nack(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct own *ow = own_asking(c, &m->nack.pid);

	if (!ow || (ow->acks & NFS4R_BIT(from)))
		return;
	ow->nacked |= NFS4R_BIT(from);
	if (m->nack.reason == NFS4R_NACK_BLOCKED && ow->state == OWN_PROPOSING &&
	    (m->nack.won || own_is_side(ow) || control_prio_higher(&m->nack.prio, &ow->claim->prio))) {
		control_claim_abort(c, ow);
		return;
	}
	if (c->now + state_repeat_ms(c) / NACK_REPEAT_DIV < ow->ask_next)
		ask_at(c, ow, c->now + state_repeat_ms(c) / NACK_REPEAT_DIV);
}

/* The peer applied something: what was unknown to it may be known now. */
void control_election_peer_moved(struct nfs4r_core *c, nfs4r_server_id s)
{
	struct own *ow;

	DL_FOREACH2(c->control.asking, ow, ask_next_own)
		if (ow->nacked & NFS4R_BIT(s)) {
			ow->nacked &= ~NFS4R_BIT(s);
			control_election_send(c, ow, s);
		}
}

void control_election_peer_up(struct nfs4r_core *c, nfs4r_server_id s)
{
	struct own *ow;

	DL_FOREACH2(c->control.asking, ow, ask_next_own)
		ask(c, ow, NFS4R_BIT(s));
}

/*
 * Control 11: acks of servers that left count no more, those that came have acked nothing. What is not won begins anew: what the
 * acks of the removed stood for (control 4.5) may be nowhere now, and what is below next_seq at a joiner's list is won or dead (log 8.4).
 */
void control_elections_new_view(struct nfs4r_core *c, nfs4r_servers removed, nfs4r_servers added)
{
	nfs4r_servers out = removed | added;
	struct claim *cl, *tmp;
	struct own *ow, *next;

	control_deferred_forget(c, ~(nfs4r_servers)0);
	DL_FOREACH_SAFE2(c->control.asking, ow, next, ask_next_own)
		if (own_is_candidate(ow) && !FAULT(F_KEEPS_PROPOSALS))
			control_claim_abort(c, ow);
	HASH_ITER(hh, c->control.claims, cl, tmp) {
		ow = cl->own;
		if (!ow || !own_is_acting(ow) || cl->kind != NFS4R_PROPOSED)
			continue;
		ow->acks &= ~out | NFS4R_BIT(c->self);
		if (!ow->ask_prev && !quorum_is_all(c, ow->acks)) {
			asking_in(c, ow);
			ow->asked_ms = c->now;
			ask_at(c, ow, c->now + state_repeat_ms(c));
		}
		control_election_check_win(c, ow);
	}
}

void control_claim_restart(struct nfs4r_core *c, struct own *ow)
{
	struct claim *cl = ow->claim;
	bool announced = cl->announced;

	assert(ow->state == OWN_WON);
	ow->in = FAULT(F_RESTART_IN_ZERO) ? 0 : c->control.last_move;
	if (FAULT(F_RESTART_KEEPS_ACKS))
		ow->acks = ~(nfs4r_servers)0;
	cl->won = true;
	control_announce_again(c, cl);
	control_claim_idle(c, ow);
	if (cl->kind == NFS4R_PROPOSED && !quorum_is_all(c, ow->acks)) {
		asking_in(c, ow);
		ow->asked_ms = c->now;
		ask_at(c, ow, c->now + state_repeat_ms(c));
	}
	if (announced)
		control_claim_start_closing(c, ow);
}

void control_election_joined(struct nfs4r_core *c, nfs4r_server_id from, uint64_t next_seq)
{
	struct own *ow, *tmp;

	DL_FOREACH_SAFE2(c->control.asking, ow, tmp, ask_next_own)
		if (own_is_acting(ow) && ow->claim->key.seq < next_seq) {
			ow->acks |= NFS4R_BIT(from);
			control_election_check_win(c, ow);
		}
}

/* A member again: nobody has acked anything, as after a restart (control 4.9). */
void control_elections_again(struct nfs4r_core *c)
{
	control_elections_new_view(c, ~(nfs4r_servers)0, 0);
	EACH_MEMBER(c, s)
		control_election_peer_up(c, s);
}

/* Log 9.1: members that do not know a claim that is won are no majority, and are none when there is one voter less. */
bool control_elections_decided(const struct nfs4r_core *c)
{
	int n = __builtin_popcountll(c->view.adopted.voters);
	const struct own *ow;

	DL_FOREACH2(c->control.asking, ow, ask_next_own)
		if (own_is_acting(ow) && __builtin_popcountll(c->view.adopted.members & ~ow->acks) > (n - 1) / 2)
			return false;
	return true;
}

void control_election_timers(struct nfs4r_core *c)
{
	struct own *ow, *tmp;

	DL_FOREACH_SAFE2(c->control.asking, ow, tmp, ask_next_own) {
		if (ow->state == OWN_PROPOSING) {
			if (c->now >= ow->deadline) { /* control 4.6 */
				control_claim_abort(c, ow);
				continue;
			}
			out_timer_at(c, ow->deadline);
		}
		if (c->now >= ow->ask_next) {
			bool all = c->now >= ow->asked_ms + state_repeat_ms(c);

			ask(c, ow, all ? servers_of(c) : ow->nacked);
			if (all)
				ow->asked_ms = c->now;
			ow->ask_next = c->now + state_repeat_ms(c);
		}
		out_timer_at(c, ow->ask_next);
	}
}

/* Control 4.10. */
void control_abort_deleted(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct ctl *k = control_of(c, oid);

	while (k) {
		struct claim *cl = k->claim;

		if (cl->own && own_is_candidate(cl->own)) {
			control_claim_abort(c, cl->own);
			k = control_of(c, oid);
		} else {
			k = k->next;
		}
	}
}
