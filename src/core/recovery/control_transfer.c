/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A new member takes over the controls (log 8.4, control 11).
 *
 * Happy path: from the adoption on every member counts the new one as having acked nothing. The new one asks each other member
 * with JOIN; the member makes a list of what it controls, and of what is controlled by servers outside the view, and sends it in
 * pieces (JOINROWS). When all lists are here and every log is applied as far as their makers had it, the new one replaces its rows
 * by the lists, counts as complete, says JOINED, and serves; members then know that it has everything that was in their list.
 * Proposals and entries that are newer than the list come by themselves.
 *
 * The other way round: what the new member itself controls may be less than the others remember, since releases pass by who is
 * outside. So each member asks for its list after JOINED, and drops what is not in it.
 *
 * And what a removed server was only asking for, as its policy would have it: that is won by the acks of all, so one member that
 * was there and has not acked it shows that it never will be. Members ask each other for lists, and drop it (log 6.9).
 *
 * Failure modes: a lost piece is asked for again; a new view begins anew; so does a restart (the row 'V' says "not complete").
 *
 * Invariants: rows of owners outside the view are not dropped otherwise: the owner may have entries under them that nobody has (log 6.9).
 * While lists are gathered a RELEASE is noted, since a piece on its way may still hold the claim.
 */
#include "core/recovery/recovery_int.h"

#ifdef NFS4R_FAULTS
#define ROWS_EACH 2 /* lists in tests are short, and have to come in pieces, too */
#else
#define ROWS_EACH NFS4R_JOINROWS_MAX
#endif

/* ---- as a member that is asked ---------------------------------------------------------- */

static void row_of(const struct claim *cl, struct nfs4r_join_row *r)
{
	*r = (struct nfs4r_join_row){ { (nfs4r_server_id)cl->key.server, cl->key.seq }, cl->kind, cl->kind == NFS4R_PROPOSED ? 0 : cl->lsn, cl->prio, cl->n, { { { { 0 } }, 0 } } };
	for (uint32_t i = 0; i < cl->n; i++) {
		r->controls[i].oid = cl->ctl[i].oid;
		r->controls[i].depth = cl->ctl[i].depth;
	}
}

/* Entries that are not in the contiguous part bring their controls themselves. */
static bool listed(const struct nfs4r_core *c, const struct claim *cl)
{
	if (!cl->in_table)
		return false;
	if (!cl->own)
		return !state_is_member(c, (nfs4r_server_id)cl->key.server);
	return own_is_acting(cl->own) && (cl->kind == NFS4R_PROPOSED || cl->lsn <= c->log.logs[c->self].applied);
}

/*
 * One list for each asker, for as long as it has not joined: pieces of two lists are no list, and JOINED speaks of the one that
 * the joiner has, which may be the first of several answers. What changes meanwhile it hears as everybody does.
 */
static void make_list(struct nfs4r_core *c, struct joiner *j)
{
	struct claim *cl, *tmp;
	struct own *ow;
	uint32_t cap = 0;

	free(j->rows);
	*j = (struct joiner){ .made = true, .next_seq = c->control.next_seq };
	DL_FOREACH2(c->control.asking, ow, ask_next_own)
		if (own_is_candidate(ow) && ow->claim->key.seq < j->next_seq)
			j->next_seq = ow->claim->key.seq;
	EACH_LOG(c, s)
		j->applied[s] = c->log.logs[s].applied;
	HASH_ITER(hh, c->control.claims, cl, tmp) {
		if (!listed(c, cl))
			continue;
		j->rows = out_grow(j->rows, &cap, j->n, sizeof(*j->rows));
		row_of(cl, &j->rows[j->n++]);
	}
	for (const struct gap_row *g = c->locks.gap_rows; g; g = g->hh.next) {
		j->rows = out_grow(j->rows, &cap, j->n, sizeof(*j->rows));
		j->rows[j->n++] = (struct nfs4r_join_row){ { g->server, 0 }, NFS4R_GAP, g->end, { 0, 0 }, 1, { { g->oid, g->depth } } };
	}
}

static void on_join(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct joiner *j = &c->join.to[from];
	uint32_t at = m->join.offset;
	struct nfs4r_msg *a;

	if (m->join.view != c->view.adopted.num || !state_is_member(c, c->self) || !state_is_member(c, from) || not_recovered(c) || !state_memory_known(c))
		return; /* one that joins itself answers: two may come back at once, and the last complete one may have gone */
	if (c->join.asked && c->peers[from].joining)
		return; /* it asks again; what is about to be dropped it need not have */
	if (state_seals_open(c) && !FAULT(F_LIST_UNCROSSED))
		return; /* it may hold claims of a sealed server, and misses entries under them */
	if (!at && !j->made)
		make_list(c, j);
	if (!j->made || at > j->n)
		return;
	a = out_msg(c, NFS4R_MSG_JOINROWS);
	a->joinrows.view = m->join.view;
	a->joinrows.offset = at;
	a->joinrows.total = j->n;
	a->joinrows.next_seq = j->next_seq;
	memcpy(a->joinrows.applied, j->applied, sizeof(j->applied));
	a->joinrows.n = j->n - at < ROWS_EACH ? j->n - at : ROWS_EACH;
	a->joinrows.rows = j->rows + at; /* read before the next step */
	out_send(c, from, a, true); /* what is not in it counts as released */
	if (at + a->joinrows.n == j->n)
		c->join.owed &= ~NFS4R_BIT(from);
}

/* ---- as the one that asks ------------------------------------------------------------------ */

static void ask(struct nfs4r_core *c, nfs4r_server_id s)
{
	struct nfs4r_msg *m = out_msg(c, NFS4R_MSG_JOIN);

	m->join.view = c->view.adopted.num;
	m->join.offset = c->join.from[s].n;
	out_send(c, s, m, false);
	c->join.repeat_ms = c->now + state_repeat_ms(c);
	out_timer_at(c, c->join.repeat_ms);
}

static void begin(struct nfs4r_core *c, nfs4r_server_id s)
{
	struct joiner *j = &c->join.from[s];

	free(j->rows);
	*j = (struct joiner){ 0 };
	c->join.want |= NFS4R_BIT(s);
	c->join.have &= ~NFS4R_BIT(s);
	ask(c, s);
}

static void on_joined(struct nfs4r_core *c, nfs4r_server_id from, uint64_t view)
{
	struct joiner *j = &c->join.to[from];

	if (view != c->view.adopted.num || !state_is_member(c, from) || !c->view.complete)
		return; /* ready or not: who is complete asks nobody again by itself */
	view_peer_joined(c, from);
	locks_gap_joined(c, NFS4R_BIT(from));
	if (j->made)
		control_election_joined(c, from, j->next_seq);
	free(j->rows);
	*j = (struct joiner){ 0 };
	control_election_peer_up(c, from); /* what is newer than the list */
	c->dirty |= DIRTY_REPLY;
	begin(c, from); /* what it controls itself, by now */
}

/* A new start of @s: it has not what it was sent, and its own list is another one now. */
void recovery_join_peer_fresh(struct nfs4r_core *c, nfs4r_server_id s)
{
	free(c->join.to[s].rows);
	c->join.to[s] = (struct joiner){ 0 };
	view_peer_incomplete(c, s);
	EACH_PEER(c, p)
		c->join.witness[p] &= ~NFS4R_BIT(s);
	c->join.asked &= ~NFS4R_BIT(s);
	if (c->join.want & NFS4R_BIT(s))
		begin(c, s);
}

/* Its heartbeat says that it has joined, and no JOINED came: that was lost, or of an older view. */
void recovery_join_heard(struct nfs4r_core *c, nfs4r_server_id from)
{
	if (c->view.complete && state_is_member(c, from))
		begin(c, from);
}

static void forget_released(struct nfs4r_core *c)
{
	struct released *d, *tmp;

	HASH_ITER(hh, c->join.released, d, tmp) {
		HASH_DEL(c->join.released, d);
		free(d);
	}
}

static void clear(struct nfs4r_core *c)
{
	for (int s = 1; s <= NFS4R_SERVERS_MAX; s++) {
		free(c->join.from[s].rows);
		free(c->join.to[s].rows);
		c->join.from[s] = c->join.to[s] = (struct joiner){ 0 };
	}
	c->join.want = c->join.have = c->join.asked = 0;
	forget_released(c);
}

void recovery_join_fini(struct nfs4r_core *c)
{
	clear(c);
}

/* A RELEASE came: a list that is on its way may still hold the claim. */
void recovery_join_released(struct nfs4r_core *c, nfs4r_server_id s, uint64_t seq)
{
	struct pidkey k = { s, seq };
	struct released *d;

	if (!(c->join.want | c->join.have))
		return;
	HASH_FIND(hh, c->join.released, &k, sizeof(k), d);
	if (d)
		return;
	d = out_xcalloc(1, sizeof(*d));
	d->key = k;
	HASH_ADD(hh, c->join.released, key, sizeof(d->key), d);
}

static bool was_released(const struct nfs4r_core *c, const struct nfs4r_pid *pid)
{
	struct pidkey k = { pid->server, pid->seq };
	struct released *d;

	HASH_FIND(hh, c->join.released, &k, sizeof(k), d);
	return d || state_is_dead_seq(c, pid->server, pid->seq);
}

static bool row_sane(const struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_join_row *r)
{
	if (!r->pid.server || r->pid.server > NFS4R_SERVERS_MAX || r->kind < NFS4R_PROPOSED || r->kind > NFS4R_GAP || !r->ncontrols ||
	    r->ncontrols > NFS4R_CLAIM_CONTROLS_MAX)
		return false;
	for (uint32_t i = 0; i < r->ncontrols; i++)
		if (r->controls[i].depth < NFS4R_SHALLOW || r->controls[i].depth > NFS4R_DEEP_PLUS)
			return false;
	if (r->kind == NFS4R_GAP)
		return r->ncontrols == 1 && state_locks_shared(c);
	return r->pid.server == from || (r->pid.server != c->self && !state_is_member(c, r->pid.server));
}

static void on_rows(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct joiner *j = &c->join.from[from];

	if (m->joinrows.view != c->view.adopted.num || !(c->join.want & NFS4R_BIT(from)) || m->joinrows.offset != j->n ||
	    m->joinrows.n > NFS4R_JOINROWS_MAX || m->joinrows.total < j->n + m->joinrows.n)
		return;
	if (!j->n) {
		j->next_seq = m->joinrows.next_seq;
		memcpy(j->applied, m->joinrows.applied, sizeof(j->applied));
	}
	for (uint32_t i = 0; i < m->joinrows.n; i++) {
		if (!row_sane(c, from, &m->joinrows.rows[i])) {
			c->st.bad_messages++;
			return;
		}
		j->rows = out_grow(j->rows, &j->cap, j->n + i, sizeof(*j->rows));
		j->rows[j->n + i] = m->joinrows.rows[i];
	}
	j->n += m->joinrows.n;
	if (j->n < m->joinrows.total) {
		ask(c, from);
		return;
	}
	c->join.want &= ~NFS4R_BIT(from);
	c->join.have |= NFS4R_BIT(from);
	EACH_OTHER_LOG(c, s)
		state_log_heard(c, s, j->applied[s]);
	c->dirty |= DIRTY_OBJECTS;
}

/* ---- putting the rows in ---------------------------------------------------------------------- */

static bool arrived(struct nfs4r_core *c, nfs4r_server_id s)
{
	const struct joiner *j = &c->join.from[s];
	struct nfs4r_facts f;

	EACH_OTHER_LOG(c, t)
		if (c->log.logs[t].applied < j->applied[t] && !FAULT(F_JOIN_EARLY))
			return false;
	for (uint32_t i = 0; i < j->n && !FAULT(F_JOIN_EARLY); i++)
		for (uint32_t k = 0; k < j->rows[i].ncontrols; k++)
			if (!control_is_known(c, &j->rows[i].controls[k].oid, &f) && f.known == NFS4R_NOT_YET)
				return false;
	return true;
}

static void put_in(struct nfs4r_core *c, const struct nfs4r_join_row *r)
{
	struct claim *cl = state_claim_find(c, r->pid.server, r->pid.seq);
	bool won = !cl || state_is_member(c, r->pid.server); /* of one outside nobody else knows */

	if (r->kind == NFS4R_GAP) {
		if (!c->view.complete)
			locks_gap_taken_over(c, &r->controls[0], r->pid.server, r->lsn);
		return;
	}
	if (!cl && (c->view.complete || was_released(c, &r->pid)))
		return; /* a complete member knows enough; the list may be older than a RELEASE that it got */
	if (!cl)
		cl = control_claim_learnt(c, r);
	if (won)
		control_claim_learn_won(cl);
	cl->listed = true;
	control_claim_save(c, cl);
}

static void drop(struct nfs4r_core *c, struct claim *cl)
{
	struct nfs4r_put p;

	control_claim_out_of_table(c, cl);
	row_claim(cl, &p, true);
	out_put(c, &p);
	control_claim_free(c, cl);
}

/* Claims of @s that are in no list and came with no later entry are gone. */
static void drop_unlisted(struct nfs4r_core *c, nfs4r_server_id s)
{
	const struct joiner *j = &c->join.from[s];
	struct claim *cl, *tmp;

	HASH_ITER(hh, c->control.claims, cl, tmp) {
		bool newer = cl->kind == NFS4R_PROPOSED ? cl->key.seq >= j->next_seq : cl->lsn > j->applied[s];

		if (cl->key.server == s && !cl->own && !cl->listed && !newer)
			drop(c, cl);
	}
}

/* ---- what a removed server was asking for (log 6.9) ---- */

/* Who could show that @cl is lost: a claim that is won by the acks of all (control 7.4), of a server outside. */
static nfs4r_servers witnesses_of(const struct nfs4r_core *c, const struct claim *cl)
{
	return cl->own || cl->won || cl->kind != NFS4R_PROPOSED || cl->prio.attempts ? 0 : c->join.witness[cl->key.server];
}

/*
 * A view was adopted. Who was a complete member together with the removed one, and is a member still, has acked what that one won
 * by the acks of all, and acks nothing of it any more. Whoever came or comes later does not count.
 */
void recovery_join_witnesses(struct nfs4r_core *c, nfs4r_servers removed, nfs4r_servers anew)
{
	nfs4r_servers stay = 0;

	EACH_MEMBER(c, s)
		if ((c->peers[s].complete && !(anew & NFS4R_BIT(s))) || FAULT(F_WITNESS_CAME_LATER))
			stay |= NFS4R_BIT(s);
	EACH_PEER(c, p) {
		if (removed & NFS4R_BIT(p))
			c->join.witness[p] = stay;
		c->join.witness[p] &= stay;
		if (state_is_member(c, p))
			c->join.witness[p] = 0;
	}
}

static nfs4r_servers witnesses_wanted(const struct nfs4r_core *c)
{
	nfs4r_servers set = 0;
	struct claim *cl, *tmp;

	HASH_ITER(hh, c->control.claims, cl, tmp)
		set |= witnesses_of(c, cl);
	return set;
}

static void drop_lost(struct nfs4r_core *c, nfs4r_server_id s)
{
	struct claim *cl, *tmp;

	HASH_ITER(hh, c->control.claims, cl, tmp)
		if (!cl->listed && (witnesses_of(c, cl) & NFS4R_BIT(s)))
			drop(c, cl);
}

/*
 * A PROPOSE of a claim below it is of the past. A complete member has heard of each release. So what it does not know, and @s has, is still to come, and is acked then. With locks a claim may last as long as its gap, and
 * who does not know it cannot ask its owner.
 */
static uint64_t known_below(struct nfs4r_core *c, nfs4r_server_id s)
{
	const struct joiner *j = &c->join.from[s];
	uint64_t below = j->next_seq;

	for (uint32_t i = 0; i < j->n && c->view.complete && state_locks_shared(c); i++) {
		const struct nfs4r_pid *pid = &j->rows[i].pid;

		if (pid->server == s && j->rows[i].kind == NFS4R_PROPOSED && pid->seq < below && !state_claim_find(c, s, pid->seq) && !was_released(c, pid))
			below = pid->seq;
	}
	return below;
}

static void install(struct nfs4r_core *c, nfs4r_server_id s)
{
	struct joiner *j = &c->join.from[s];
	struct claim *cl;

	if (!FAULT(F_JOIN_NO_ROWS))
		for (uint32_t i = 0; i < j->n; i++)
			put_in(c, &j->rows[i]);
	drop_unlisted(c, s);
	drop_lost(c, s);
	c->join.asked &= ~NFS4R_BIT(s);
	for (uint32_t i = 0; i < j->n; i++)
		if ((cl = state_claim_find(c, j->rows[i].pid.server, j->rows[i].pid.seq)))
			cl->listed = false;
	c->peers[s].joined_below = known_below(c, s);
	free(j->rows);
	*j = (struct joiner){ 0 };
}

/* Controls and logs are complete: serve, and tell the others. */
static void complete(struct nfs4r_core *c)
{
	if (c->join.have)
		locks_gaps_forget(c); /* what is older than the lists of the others (locks 11) */
	EACH_PEER(c, s)
		if (c->join.have & NFS4R_BIT(s))
			install(c, s);
	c->join.have = 0;
	c->join.owed = c->view.adopted.members & ~NFS4R_BIT(c->self);
	forget_released(c);
	view_complete(c);
	EACH_PEER(c, s) {
		struct nfs4r_msg *m = out_msg(c, NFS4R_MSG_JOINED);

		if (!state_is_member(c, s))
			continue;
		m->joined.view = c->view.adopted.num;
		out_send(c, s, m, true);
	}
}

void recovery_join_run(struct nfs4r_core *c)
{
	if (!state_views_on(c) || !state_memory_known(c) || !state_is_member(c, c->self) || not_recovered(c) || state_seals_open(c) || c->repair.state)
		return;
	if (c->view.complete) {
		EACH_PEER(c, s)
			if ((c->join.have & NFS4R_BIT(s)) && arrived(c, s)) {
				install(c, s);
				c->join.have &= ~NFS4R_BIT(s);
				if (!(c->join.want | c->join.have))
					forget_released(c);
			}
		return;
	}
	EACH_PEER(c, s)
		if (state_is_member(c, s) && (!(c->join.have & NFS4R_BIT(s)) || !arrived(c, s)))
			return;
	complete(c);
}

/* A view was adopted, or this is a start: lists of an older view count no more. */
void recovery_join_new_view(struct nfs4r_core *c)
{
	nfs4r_servers asked = c->view.complete ? witnesses_wanted(c) : 0;
	nfs4r_servers ask_again = c->view.complete ? c->join.want | c->join.have | asked : ~(nfs4r_servers)0;

	clear(c);
	c->join.owed &= c->view.adopted.members;
	if (!state_is_member(c, c->self))
		return;
	c->join.asked = asked;
	EACH_MEMBER(c, s)
		if (ask_again & NFS4R_BIT(s))
			begin(c, s);
	c->dirty |= DIRTY_OBJECTS;
}

/*
 * Once more in the same view, since this copy is repaired. Who made a list for it, and heard no JOINED, sends the same list again; so what was
 * released since it was asked for is remembered.
 */
void recovery_join_again(struct nfs4r_core *c)
{
	struct released *released = c->join.released;

	c->join.released = NULL;
	recovery_join_new_view(c);
	c->join.released = released;
}

/* What was interrupted by the restart is done again; for a member that is complete that is a check of what others released. */
void recovery_join_started(struct nfs4r_core *c)
{
	if (state_views_on(c) && state_is_member(c, c->self))
		EACH_MEMBER(c, s)
			begin(c, s);
}

void recovery_join_timers(struct nfs4r_core *c)
{
	if (!c->join.want)
		return;
	if (c->now >= c->join.repeat_ms)
		EACH_PEER(c, s)
			if (c->join.want & NFS4R_BIT(s))
				ask(c, s);
	out_timer_at(c, c->join.repeat_ms);
}

void recovery_join_on_msg(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	if (!state_views_on(c))
		return;
	switch (m->type) {
	case NFS4R_MSG_JOIN:
		on_join(c, from, m);
		break;
	case NFS4R_MSG_JOINROWS:
		on_rows(c, from, m);
		break;
	case NFS4R_MSG_JOINED:
		on_joined(c, from, m->joined.view);
		break;
	}
}
