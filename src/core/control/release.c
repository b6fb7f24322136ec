/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The end of a claim (control 7): idle or revoked -> closing -> released -> confirmed.
 *
 * Happy path: a won claim nobody used for idle_ms starts closing with last = end of the own log;
 * new updates do not count on it any more, reads still do. When nothing executes under it and
 * everybody holds the log *stably* up to `last` (log 3.10), and this server has a lease, so that
 * "everybody" is true, its controls leave the table, the released state is saved, RELEASE goes to
 * all and is repeated until all confirmed; then the claim is forgotten. An abort takes the same
 * road from the release on (control 4.7).
 *
 * Failure modes: lost RELEASE or RELEASED: repeated. Peer down: the claim stays released, its
 * row too, until the peer confirms. Nobody checkpoints: ACT_CHECKPOINT here, want_stable there, and
 * `wanted` when somebody waits for the control.
 *
 * As a granter: RELEASE removes the controls and leaves a tombstone, so that a PROPOSE that comes
 * after it leaves no ghost (control 4.3b); the owner's floor says when a tombstone may go.
 */
#include "core/control/control_int.h"

static void close_soon(struct nfs4r_core *c, struct own *ow);
static void stays_for_now(struct nfs4r_core *c, struct own *ow);

/* There is a queue under it, and everybody who wants it can be served as it is (locks 20). */
static bool is_awaited(struct nfs4r_core *c, const struct own *ow)
{
	return !(own_is_forced(ow) && ow->revoked_by.attempts) && c->control_port.is_awaited(c, ow->claim);
}

void control_release_opened(struct nfs4r_core *c, const struct nfs4r_oid *oid, bool open)
{
	struct oidmark *o;
	struct ctl *k, *next;

	if (open) {
		if (!control_mark_get(&c->control.opens, oid)->value++)
			c->policy_ops->opened(c, oid, true);
		return;
	}
	o = control_mark_find(c->control.opens, oid);
	if (!o || --o->value)
		return;
	control_mark_drop(&c->control.opens, oid);
	c->policy_ops->opened(c, oid, false);
	for (k = control_of(c, oid); k; k = next) { /* control 7.1: the last writer closed */
		next = k->next;
		if (!k->claim->own || !own_is_acting(k->claim->own) || k->claim->n != 1 || k->depth != NFS4R_SHALLOW)
			continue;
		if (is_awaited(c, k->claim->own) && own_may_close(k->claim->own))
			stays_for_now(c, k->claim->own);
		else
			close_soon(c, k->claim->own);
	}
}

/* ---- closing ------------------------------------------------------------------- */

/* Won and not closing: in one of these lists, in order of use. */
static struct own **list_of(struct nfs4r_core *c, const struct own *ow)
{
	return own_is_deep(ow) ? &c->control.idle_deep : &c->control.idle;
}

/* @at: when; IDLE has none. */
static void own_end(struct nfs4r_core *c, struct own *ow, enum own_end to, uint64_t at)
{
	assert(to != OWN_END_READERS || ow->end != OWN_END_SET);
	if (ow->end == OWN_END_IDLE && to != OWN_END_IDLE)
		DL_APPEND2(c->control.ending, ow, end_prev, end_next);
	if (ow->end != OWN_END_IDLE && to == OWN_END_IDLE)
		DL_DELETE2(c->control.ending, ow, end_prev, end_next);
	ow->end = to;
	ow->close_at = to == OWN_END_IDLE ? 0 : at ? at :
						     1;
}

void control_release_no_end(struct nfs4r_core *c, struct own *ow)
{
	if (ow->end == OWN_END_IDLE)
		return;
	own_end(c, ow, OWN_END_IDLE, 0);
	out_timer_at(c, control_idle_end(c, ow));
}

void control_release_at(struct nfs4r_core *c, struct own *ow, uint64_t t)
{
	own_end(c, ow, OWN_END_SET, t);
	out_timer_at(c, ow->close_at);
}

void control_release_for_readers(struct nfs4r_core *c, struct own *ow, uint64_t t)
{
	own_end(c, ow, OWN_END_READERS, t);
	out_timer_at(c, ow->close_at);
}

uint64_t control_idle_end(const struct nfs4r_core *c, const struct own *ow)
{
	return ow->used_ms + (own_is_deep(ow) ? c->cfg.deep_ms : c->cfg.idle_ms);
}

void control_claim_idle(struct nfs4r_core *c, struct own *ow)
{
	struct own **list = list_of(c, ow);

	ow->used_ms = c->now;
	DL_APPEND(*list, ow);
	out_timer_at(c, control_idle_end(c, ow));
}

void control_claim_used(struct nfs4r_core *c, struct own *ow)
{
	struct own **list = list_of(c, ow);

	ow->used_ms = c->now;
	if (!own_may_close(ow))
		return;
	DL_DELETE(*list, ow);
	DL_APPEND(*list, ow);
}

static void deep_plus_ends(struct nfs4r_core *c, const struct claim *cl)
{
	for (uint32_t i = 0; i < cl->n; i++)
		if (cl->ctl[i].depth == NFS4R_DEEP_PLUS)
			c->dirty |= DIRTY_OPENS;
}

/* There is a queue under it. When that is empty it goes on while it is used, unless others want it. */
static void stays_for_now(struct nfs4r_core *c, struct own *ow)
{
	if (own_is_forced(ow)) {
		control_release_at(c, ow, c->now + c->cfg.idle_ms);
		return;
	}
	control_release_no_end(c, ow);
	control_claim_used(c, ow);
	out_timer_at(c, control_idle_end(c, ow));
}

/* @ow is closing, and the release is waited for: its checkpoints are more urgent than others. */
static void wanted(struct nfs4r_core *c, const struct own *ow)
{
	if (ow->last <= c->control.wanted_until)
		return;
	c->control.wanted_until = ow->last;
	c->control.wanted_moved = true;
	c->dirty |= DIRTY_RELEASE;
}

void control_release_wanted_until(struct nfs4r_core *c, nfs4r_lsn lsn)
{
	if (lsn > c->control.wanted_until)
		c->control.wanted_until = lsn;
}

void control_release_crossed(struct nfs4r_core *c)
{
	c->control.asked_stable = c->control.wanted_until = 0;
}

/* Control 7.1. `closing` is in the order of `last`. */
void control_claim_start_closing(struct nfs4r_core *c, struct own *ow)
{
	struct own **list = list_of(c, ow);

	assert(!ow->users);
	control_own_move(ow, OWN_CLOSING);
	DL_DELETE(*list, ow);
	DL_APPEND(c->control.closing, ow);
	ow->closing_ms = c->now;
	c->control_port.closes(c, ow->claim);
	ow->last = c->log.logs[c->self].received;
	if (own_is_forced(ow))
		wanted(c, ow);
	control_release_no_end(c, ow);
	deep_plus_ends(c, ow->claim);
	control_announce_later(c, ow);
	c->dirty |= DIRTY_RELEASE | DIRTY_OPS;
}

/* Closing, of a single control, no deep+, and would count for @n if it were not. What was announced completes no update (control 7.10). */
static bool may_reopen(const struct ctl *k, const struct need *n, uint32_t level)
{
	const struct own *ow = k->claim->own;

	return ow && ow->state == OWN_CLOSING && k->claim->n == 1 && !own_is_deep_plus(ow) && !k->claim->announced && k->depth >= (level ? NFS4R_DEEP : n->depth);
}

/* Will everybody have @cl in its table, or know nothing of what it controls, by the time that a claim closing with @last is released (control 7.2)? */
static bool known_by_then(const struct nfs4r_core *c, const struct claim *cl, nfs4r_lsn last)
{
	if (cl->kind == NFS4R_PROPOSED)
		return state_claim_acked_by_all(c, cl) || FAULT(F_LAST_NOT_ACKED);
	return cl->kind == NFS4R_CREATED || cl->lsn <= last;
}

/* Does somebody wait for a closing claim that covers @oid, and would updates under @cl put its release off? */
static bool is_waited_for(struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct claim *cl)
{
	struct walk w;
	struct ctl *k;

	if (FAULT(F_REVOKE_CANCELLED))
		return false;
	control_walk_begin(&w, oid);
	do {
		for (k = control_of(c, &w.oid); k; k = k->next) {
			const struct own *ow = k->claim->own;

			if (!ow || ow->state != OWN_CLOSING || ow->demand == OWN_UNASKED || (w.level && k->depth < NFS4R_DEEP))
				continue;
			if (k->claim == cl || !w.level || k->depth != NFS4R_DEEP || !known_by_then(c, cl, ow->last))
				return true;
		}
	} while (control_walk_up(c, &w));
	return false;
}

/* An operation was done under it: a file without writers, reopened for that, closes again. */
static void unpinned(struct nfs4r_core *c, struct own *ow)
{
	const struct ctl *k = &ow->claim->ctl[0];

	if (ow->state != OWN_REOPENED && ow->state != OWN_REOPENED_REVOKED)
		return;
	if (k->depth == NFS4R_SHALLOW && control_is_known_file(c, &k->oid) && !control_mark_find(c->control.opens, &k->oid))
		control_release_at(c, ow, c->now + 1);
	control_own_move(ow, ow->state == OWN_REOPENED ? OWN_WON : OWN_REVOKED);
}

/*
 * Control 7.1: closing is taken back for an operation of this server if nobody waits for it, nor for a deep one above it, whose `last` the
 * operation might raise (control 5.1).
 */
struct claim *control_claim_reopen(struct nfs4r_core *c, const struct need *n)
{
	struct walk w;
	struct ctl *k;

	if (!c->control.closing)
		return NULL;
	control_walk_begin(&w, &n->oid);
	do {
		for (k = control_of(c, &w.oid); k; k = k->next) {
			struct own *ow = k->claim->own;

			if (!may_reopen(k, n, w.level) || is_waited_for(c, &n->oid, k->claim))
				continue;
			DL_DELETE(c->control.closing, ow);
			control_announce_never(c, ow);
			control_own_move(ow, OWN_REOPENED);
			control_claim_idle(c, ow);
			c->policy_ops->regret(c, &n->oid);
			c->st.reopened++;
			c->dirty |= DIRTY_OPS;
			return k->claim;
		}
	} while (!n->explicit_only && control_walk_up(c, &w));
	return NULL;
}

/* As soon as control 5.5 allows: not while an operation it was won for has not executed. */
static void close_soon(struct nfs4r_core *c, struct own *ow)
{
	if (ow->state == OWN_CLOSING)
		return;
	if (!ow->users)
		control_claim_start_closing(c, ow);
	else if (!own_is_revoked(ow))
		control_own_move(ow, ow->state == OWN_WON ? OWN_REVOKED : OWN_REOPENED_REVOKED);
}

void control_claim_use(struct own *ow)
{
	ow->users++;
}

void control_claim_unhold(struct nfs4r_core *c, struct own *ow)
{
	assert(ow->users);
	ow->users--;
	if (!ow->users && own_may_close(ow) && own_is_revoked(ow))
		control_claim_start_closing(c, ow);
}

void control_claim_pin(struct own *ow)
{
	ow->pins++;
}

void control_claim_unpin(struct nfs4r_core *c, struct own *ow)
{
	assert(ow->pins);
	if (--ow->pins)
		return;
	if (ow->state == OWN_CLOSING)
		c->dirty |= DIRTY_RELEASE;
	else if (own_may_close(ow))
		unpinned(c, ow);
}

void control_claim_close_when_won(struct own *ow)
{
	if (ow->state == OWN_ELECTED)
		control_own_move(ow, OWN_ELECTED_REVOKED);
}

void control_release_all(struct nfs4r_core *c)
{
	struct own *ow, *tmp;

	DL_FOREACH_SAFE(c->control.idle, ow, tmp)
		close_soon(c, ow);
	DL_FOREACH_SAFE(c->control.idle_deep, ow, tmp)
		close_soon(c, ow);
}

/*
 * Does another own claim go on covering @oid when @k, which is closing, is gone, so that nobody serves or takes @oid
 * meanwhile? Readers look at none that was announced (control 7.10), and those of a file at explicit controls and deep+ only (control 6.2): only against a plain deep one above a file is any
 * cover good enough. @moved, a directory that changes parents: who has not got that yet must find all below it covered, too.
 */
static bool goes_on(struct nfs4r_core *c, const struct nfs4r_oid *oid, const struct ctl *k, uint32_t level, bool moved)
{
	struct nfs4r_facts f;
	bool any_cover, needs_deep;
	struct walk w;
	struct ctl *o;

	if (!control_is_known(c, oid, &f))
		return false;
	needs_deep = moved && f.type == NFS4R_TYPE_DIR && !FAULT(F_MOVE_HALF_COVERED);
	any_cover = f.type == NFS4R_TYPE_DIR || (level && k->depth == NFS4R_DEEP);
	control_walk_begin(&w, oid);
	do {
		for (o = control_of(c, &w.oid); o; o = o->next) {
			const struct own *ow = o->claim->own;

			if (o->claim->announced && (f.type == NFS4R_TYPE_DIR || !any_cover) && !FAULT(F_LAST_ANNOUNCED))
				continue;
			if (ow && o->claim != k->claim && own_may_close(ow) &&
			    ((!w.level && !needs_deep) || o->depth >= NFS4R_DEEP) && known_by_then(c, o->claim, k->claim->own->last))
				return true;
		}
	} while (any_cover && control_walk_up(c, &w));
	return false;
}

/* control 7.9: a plain deep control of the same directory stands, everybody has it. */
static bool drops_back(struct nfs4r_core *c, const struct ctl *k)
{
	struct ctl *o;

	if (k->depth != NFS4R_DEEP_PLUS || k->claim->n != 1)
		return false;
	for (o = control_of(c, &k->oid); o; o = o->next)
		if (o != k && o->claim->own && o->depth >= NFS4R_DEEP && own_may_close(o->claim->own) && !o->claim->announced &&
		    (state_claim_acked_by_all(c, o->claim) || FAULT(F_LAST_NOT_ACKED)))
			return true;
	return false;
}

/* Control 5.1: an entry moves `last` of every closing claim that covers one of its objects and is needed for that. */
void control_raise_last(struct nfs4r_core *c, const struct nfs4r_entry *e)
{
	if (!c->control.closing || FAULT(F_LAST_NOT_RAISED))
		return;
	for (uint32_t i = 0; i < e->nparts; i++) {
		const struct nfs4r_part *p = &e->parts[i];
		bool moved = p->effect == NFS4R_EFF_PARENT && !nfs4r_oid_eq(&p->parent, &p->parent_from);
		struct walk w;
		struct ctl *k;

		control_walk_begin(&w, &p->oid);
		do {
			for (k = control_of(c, &w.oid); k; k = k->next) {
				if (!k->claim->own || k->claim->own->state != OWN_CLOSING || (w.level && k->depth < NFS4R_DEEP))
					continue;
				if (drops_back(c, k) || goes_on(c, &p->oid, k, w.level, moved))
					continue;
				k->claim->own->last = e->lsn;
				if (own_is_forced(k->claim->own))
					wanted(c, k->claim->own);
				DL_DELETE(c->control.closing, k->claim->own);
				DL_APPEND(c->control.closing, k->claim->own);
			}
		} while (control_walk_up(c, &w));
	}
}

/* Closing claims whose `last` is up to here may be released. */
static nfs4r_lsn safe_until(const struct nfs4r_core *c)
{
	if (!c->view.ready || (!state_lease_valid(c) && !FAULT(F_RELEASE_UNLEASED)))
		return 0; /* who "all" are is not known here */
	if (FAULT(F_RELEASE_AT_ONCE))
		return UINT64_MAX;
	if (FAULT(F_RELEASE_APPLIED))
		return quorum_applied_by_all(c, c->self);
	return quorum_stable_by_all(c, c->self); /* control 7.2, log 3.10 */
}

/*
 * It was in a gap (locks 11). Another claim of what it controls, which went on then, may have been released meanwhile, with updates that members of now did not have: it is the last one, so it waits for those, too.
 */
static bool not_kept_now(struct nfs4r_core *c, struct own *ow)
{
	if (!ow->kept || FAULT(F_LAST_BEFORE_GAP))
		return false;
	ow->kept = false;
	ow->last = c->log.logs[c->self].received;
	DL_DELETE(c->control.closing, ow);
	DL_APPEND(c->control.closing, ow);
	return true;
}

/* Closing claims whose time has come. Asks for checkpoints where they wait for `stable`: of the servers that it returns, by POSITIONS. */
nfs4r_servers control_release_run(struct nfs4r_core *c)
{
	nfs4r_lsn safe = safe_until(c), want;
	nfs4r_servers set = 0;
	struct own *ow, *tmp;

	DL_FOREACH_SAFE(c->control.closing, ow, tmp) {
		if ((ow->last > safe && !(FAULT(F_DROP_AT_ONCE) && own_is_deep_plus(ow))) || c->recovering)
			break;
		if (ow->pins)
			continue;
		if (c->control_port.keeps(c, ow->claim)) {
			ow->kept = true;
			continue;
		}
		if (not_kept_now(c, ow) && ow->last > safe)
			continue;
		c->st.releases++;
		state_hist_add(&c->st.release, c->now - ow->closing_ms);
		if (own_is_forced(ow))
			control_holdoff_set(c, ow);
		control_claim_release(c, ow);
	}
	want = c->control.closing ? c->control.closing->prev->last : 0;
	state_log_want(c, c->self, want);
	if (want > c->control.asked_stable || c->control.wanted_moved) { /* once for each need; heartbeats repeat it */
		c->control.asked_stable = want;
		c->control.wanted_moved = false;
		EACH_PEER(c, s)
			if (c->peers[s].stable[c->self] < want)
				set |= NFS4R_BIT(s);
	}
	return set;
}

void control_release_recovered(struct nfs4r_core *c, nfs4r_lsn end)
{
	for (struct own *ow = c->control.closing; ow; ow = ow->next)
		ow->last = end;
}

static void forget_if_confirmed(struct nfs4r_core *c, struct own *ow)
{
	struct nfs4r_put p;

	if (!quorum_is_all(c, ow->confirmed | NFS4R_BIT(c->self) | ~ow->release_to))
		return;
	row_claim(ow->claim, &p, true);
	out_put(c, &p);
	DL_DELETE(c->control.released, ow);
	heap_out(&c->control.open, &ow->open);
	control_claim_free(c, ow->claim);
}

/* A created or moved claim was never proposed, so it does not keep the floor down. */
void control_released_in(struct nfs4r_core *c, struct own *ow)
{
	ow->release_to = c->view.adopted.members;
	DL_APPEND(c->control.released, ow);
	if (ow->claim->kind == NFS4R_PROPOSED)
		heap_in(&c->control.open, &ow->open, ow->claim->key.seq);
}

/* Control 4.7, 7.2: out of the own table at once; RELEASE goes out with control_release_flush(). */
void control_claim_release(struct nfs4r_core *c, struct own *ow)
{
	struct own **list = list_of(c, ow);

	assert(!ow->pins && !ow->users);
	control_asking_out(c, ow);
	if (ow->state == OWN_CLOSING)
		DL_DELETE(c->control.closing, ow);
	else if (own_may_close(ow))
		DL_DELETE(*list, ow);
	if (FAULT(F_ABORT_TO_ACKERS) && own_is_candidate(ow))
		ow->confirmed = ~ow->acks;
	control_release_no_end(c, ow);
	control_announce_never(c, ow);
	control_own_move(ow, OWN_RELEASED);
	deep_plus_ends(c, ow->claim);
	control_claim_out_of_table(c, ow->claim);
	c->control_port.released(c, ow->claim);
	control_claim_save(c, ow->claim);
	ow->sent_ms = 0;
	control_released_in(c, ow);
	c->dirty |= DIRTY_OPS | DIRTY_REPLY;
}

/* ---- RELEASE out ------------------------------------------------------------------ */

/*
 * @ow and those after it. Not to one that goes by an older view: what was let go because the own log ended must not reach it before that view
 * does. It may have a lease and lack entries up to the seal (log 6.6).
 */
static void send_releases(struct nfs4r_core *c, nfs4r_server_id to, struct own *ow,
			  bool (*pick)(const struct nfs4r_core *, struct own *))
{
	struct nfs4r_msg *m = NULL;

	if (c->peers[to].view < c->view.adopted.num)
		return; /* its next heartbeat */
	for (; ow; ow = ow->next) {
		if ((ow->confirmed & NFS4R_BIT(to)) || !(ow->release_to & NFS4R_BIT(to)) || !pick(c, ow))
			continue;
		if (!m) {
			m = out_msg(c, NFS4R_MSG_RELEASE);
			m->release.floor = control_own_floor(c);
		}
		m->release.seqs[m->release.nseqs++] = ow->claim->key.seq;
		if (m->release.nseqs == NFS4R_BATCH_MAX) {
			out_send(c, to, m, true);
			m = NULL;
		}
	}
	if (m)
		out_send(c, to, m, true); /* the released state is on disk before anybody hears of it */
}

/* "All" changed: who left confirms nothing any more. */
void control_releases_new_view(struct nfs4r_core *c)
{
	struct own *ow, *tmp;

	DL_FOREACH_SAFE(c->control.released, ow, tmp)
		if (ow->sent_ms)
			forget_if_confirmed(c, ow);
}

static bool pick_new(const struct nfs4r_core *c, struct own *ow)
{
	return ow->sent_ms == 0;
}

static bool pick_due(const struct nfs4r_core *c, struct own *ow)
{
	return c->now >= ow->sent_ms + state_repeat_ms(c);
}

static bool pick_all(const struct nfs4r_core *c, struct own *ow)
{
	return true;
}

static void mark_sent(struct nfs4r_core *c, struct own *ow, bool (*pick)(const struct nfs4r_core *, struct own *))
{
	struct own *next;

	for (; ow; ow = next) {
		next = ow->next;
		if (!pick(c, ow))
			continue;
		ow->sent_ms = c->now ? c->now : 1;
		forget_if_confirmed(c, ow); /* nobody to tell */
	}
}

void control_release_flush(struct nfs4r_core *c)
{
	struct own *ow = c->control.released ? c->control.released->prev : NULL; /* new ones are at the end */

	if (!ow || ow->sent_ms)
		return;
	while (ow != c->control.released && !ow->prev->sent_ms)
		ow = ow->prev;
	EACH_MEMBER(c, s)
		send_releases(c, s, ow, pick_new);
	mark_sent(c, ow, pick_new);
	if (c->control.release_at <= c->now)
		c->control.release_at = c->now + state_repeat_ms(c);
	out_timer_at(c, c->control.release_at);
}

void control_release_peer_up(struct nfs4r_core *c, nfs4r_server_id s)
{
	send_releases(c, s, c->control.released, pick_all);
}

/* ---- turns (control 7.5) ---------------------------------------------------------------- */

#define TURN_REVOKES 8
#define TURN_ROUND_TRIPS 40
#define GAP_ROUND_TRIPS 12 /* to make a file and to remove it are two revokes of the directory, and eleven round trips */

static uint64_t round_trips_ms(const struct nfs4r_core *c, uint32_t n)
{
	return n * control_holdoff_ms(c) / 2;
}

static void own_ask(struct own *ow, enum own_demand to)
{
	assert(to > ow->demand || (to == OWN_FORCED && own_is_forced(ow)));
	ow->demand = to;
}

/* Others ask for @ow. */
static void note_revoke(struct nfs4r_core *c, struct own *ow)
{
	if (c->now > ow->revokes_last_ms + round_trips_ms(c, GAP_ROUND_TRIPS) && !FAULT(F_TURN_NOW_AND_THEN)) {
		ow->revokes = 0;
		ow->revokes_from_ms = c->now;
	}
	ow->revokes++;
	ow->revokes_last_ms = c->now;
}

/* Have others asked for @ow all the time, for as long as a turn? */
static bool turn_is_over(const struct nfs4r_core *c, const struct own *ow)
{
	uint64_t least = round_trips_ms(c, TURN_ROUND_TRIPS), turn = c->cfg.turn_ms > least ? c->cfg.turn_ms : least;

	return c->cfg.turn_ms && ow->revokes >= TURN_REVOKES && ow->revokes_last_ms >= ow->revokes_from_ms + turn &&
		c->now <= ow->revokes_last_ms + round_trips_ms(c, GAP_ROUND_TRIPS) && !FAULT(F_NO_TURNS);
}

/* Its time is over, used or not. */
static void time_over(struct nfs4r_core *c, struct own *ow)
{
	bool used = own_is_forced(ow) && c->now < ow->used_ms + c->cfg.revoke_ms, turned = used && turn_is_over(c, ow);
	uint64_t again;

	if (is_awaited(c, ow)) {
		stays_for_now(c, ow);
		return;
	}
	if (own_is_forced(ow) && turned != (ow->demand == OWN_TURN_OVER))
		own_ask(ow, turned ? OWN_TURN_OVER : OWN_FORCED);
	if (used && !turned) { /* a revoke shortens the timer, it does not stop it */
		control_release_at(c, ow, ow->used_ms + c->cfg.revoke_ms);
		return;
	}
	if (ow->end == OWN_END_READERS && !c->policy_ops->yield_over(c, ow))
		return;
	if (!c->policy_ops->may_close(c, ow, &again)) {
		control_release_at(c, ow, again);
		return;
	}
	c->st.turns += turned;
	control_release_no_end(c, ow);
	close_soon(c, ow);
}

static void idle_timers(struct nfs4r_core *c, struct own **list)
{
	struct own *ow, *tmp;

	DL_FOREACH_SAFE(*list, ow, tmp) {
		if (ow->end != OWN_END_IDLE)
			continue; /* that decides, below */
		if (c->now < control_idle_end(c, ow)) {
			out_timer_at(c, control_idle_end(c, ow));
			break;
		}
		if (ow->users || ow->pins) {
			control_claim_used(c, ow);
			out_timer_at(c, control_idle_end(c, ow));
		} else {
			time_over(c, ow);
		}
	}
}

static void end_timers(struct nfs4r_core *c)
{
	struct own *ow, *tmp;

	DL_FOREACH_SAFE2(c->control.ending, ow, tmp, end_next) {
		if (c->now >= ow->close_at)
			time_over(c, ow);
		else
			out_timer_at(c, ow->close_at);
	}
}

void control_release_timers(struct nfs4r_core *c)
{
	control_holdoff_timers(c);
	idle_timers(c, &c->control.idle);
	idle_timers(c, &c->control.idle_deep);
	end_timers(c);
	control_announce_timers(c);
	if (c->control.released && c->now >= c->control.release_at) {
		EACH_MEMBER(c, s)
			send_releases(c, s, c->control.released, pick_due);
		mark_sent(c, c->control.released, pick_due);
		c->control.release_at = c->now + state_repeat_ms(c);
	}
	if (c->control.released)
		out_timer_at(c, c->control.release_at);
}

/* ---- RELEASE, RELEASED, REVOKE in ---------------------------------------------------- */

/* Control 4.8: remove, tombstone, floor, answer. An unknown pid: the same. Returns the answer, which names what is released; NULL: nothing was taken. */
const struct nfs4r_msg *control_release_on_release(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct nfs4r_msg *a;
	struct nfs4r_put p;

	if (m->release.nseqs > NFS4R_BATCH_MAX || from == c->self) {
		c->st.bad_messages++;
		return NULL;
	}
	if (c->halted || c->repair.state == REPAIR_RUNS) /* the tree changes: the counts would not fit it */
		return NULL;
	a = out_msg(c, NFS4R_MSG_RELEASED);
	for (uint32_t i = 0; i < m->release.nseqs; i++) {
		uint64_t seq = m->release.seqs[i];
		struct claim *cl = state_claim_find(c, from, seq);

		if (seq >= c->control.floor[from] && seq >= m->release.floor && !state_is_dead_seq(c, from, seq) &&
		    !FAULT(F_NO_TOMBSTONES)) {
			if (c->control.deads[from].n >= DEADS_MAX)
				continue;
			control_dead_add(c, from, seq);
			row_dead(from, seq, &p, false);
			out_put(c, &p);
		}
		if (cl) {
			control_claim_out_of_table(c, cl);
			row_claim(cl, &p, true);
			out_put(c, &p);
			control_claim_free(c, cl);
		}
		a->release.seqs[a->release.nseqs++] = seq;
	}
	control_release_raise_floor(c, from, m->release.floor);
	out_send(c, from, a, true);
	return a;
}

void control_release_on_released(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	if (m->release.nseqs > NFS4R_BATCH_MAX) {
		c->st.bad_messages++;
		return;
	}
	for (uint32_t i = 0; i < m->release.nseqs; i++) {
		struct claim *cl = state_claim_find(c, c->self, m->release.seqs[i]);

		if (!cl || cl->own->state != OWN_RELEASED)
			continue;
		cl->own->confirmed |= NFS4R_BIT(from);
		forget_if_confirmed(c, cl->own);
	}
}

/*
 * Control 7.5: a deep control that only a single object is wanted of gets a shorter timer first. So does, if
 * configured, a claim in use, and one whose revoke came with a forward (control 6.6): that operation is served anyway, and
 * letting go at its first would make the next ones of the same site wait for the release. For the same reason such a revoke
 * is none that ends it at once, whoever asked before.
 */
static void revoke(struct nfs4r_core *c, struct own *ow, const struct nfs4r_msg *m)
{
	const struct nfs4r_prio *prio = &m->revoke.prio;
	bool again = own_is_forced(ow) && control_prio_higher(prio, &ow->revoked_by) && prio->attempts;
	bool below = m->revoke.below;

	if (own_is_side(ow) && ow->state == OWN_PROPOSING)
		control_claim_abort(c, ow); /* it is in somebody's way */
	if (ow->state == OWN_CLOSING) {
		if (ow->demand == OWN_UNASKED)
			own_ask(ow, OWN_AWAITED);
		wanted(c, ow);
		if (own_is_deep(ow) && !own_is_forced(ow)) { /* what this server does below goes on raising `last` */
			own_ask(ow, OWN_FORCED);
			c->policy_ops->wants(c, ow, &m->revoke.oid);
		}
	}
	if (!own_may_close(ow))
		return;
	if (!own_is_forced(ow) || again)
		ow->revoked_by = *prio;
	note_revoke(c, ow);
	c->policy_ops->revoked(c, ow, &m->revoke.oid, below);
	if (!own_is_forced(ow))
		own_ask(ow, OWN_FORCED);
	if (ow->end == OWN_END_READERS) /* its use does not take this end back */
		own_end(c, ow, OWN_END_SET, ow->close_at);
	if ((!c->cfg.revoke_ms && !is_awaited(c, ow)) || again || below || !(own_is_deep(ow) || ow->users || ow->pins || prio->attempts == 0))
		close_soon(c, ow);
	else if (ow->end == OWN_END_IDLE)
		control_release_at(c, ow, c->now + c->cfg.revoke_ms);
}

static void revoke_below(struct nfs4r_core *c, const struct nfs4r_msg *m)
{
	struct own_list l;

	control_anc_own_below(c, &m->revoke.oid, &l);
	for (uint32_t i = 0; i < l.n; i++)
		revoke(c, l.v[i], m);
	free(l.v);
}

void control_release_on_revoke(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	const struct nfs4r_oid *oid = &m->revoke.oid;
	struct ctl *k, *next;
	struct walk w;

	c->st.revokes_got++;
	control_walk_begin(&w, oid);
	do {
		for (k = control_of(c, &w.oid); k; k = next) {
			next = k->next;
			if (k->claim->own && (!w.level || k->depth >= NFS4R_DEEP))
				revoke(c, k->claim->own, m);
		}
	} while (control_walk_up(c, &w));
	if (m->revoke.below) {
		control_holdoff_below(c, oid);
		revoke_below(c, m);
	}
}

void control_send_revoke(struct nfs4r_core *c, nfs4r_server_id to, const struct nfs4r_oid *oid, bool below, uint32_t attempts)
{
	struct nfs4r_msg *m = out_msg(c, NFS4R_MSG_REVOKE);

	m->revoke.oid = *oid;
	m->revoke.below = below;
	m->revoke.prio.attempts = attempts < ATTEMPTS_CAP ? attempts : ATTEMPTS_CAP;
	m->revoke.prio.server = c->self;
	c->st.revokes_sent++;
	out_send(c, to, m, false);
}
