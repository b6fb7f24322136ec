/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Amnesia (log 8.6): a server whose store is not the one that others heard of.
 *
 * Happy path: in each heartbeat a server says by which start of its store it goes, and which start of the receiver it remembers. A server
 * that finds the remembered start among its own says KNOWN to that peer, and only from then on does the peer count what it says: acks,
 * grants, promises, acceptances. An empty store is NEW: it becomes KNOWN when every configured server was heard and none remembers another start;
 * one that is configured alone is KNOWN at once.
 *
 * Failure modes: somebody remembers a start that this store does not have, or that the journal was longer in one than the next one found it: the disk
 * was replaced, or put back to what it was. The server has FORGOT what it promised. The others count it no more, remove it like one that is silent, and end its log. When a majority of them says that
 * the newest view is one without it, it is OUTSIDE; then it makes its copy anew (state_transfer.c), is REPAIRED, and is added like anybody else: KNOWN.
 * Nobody else to hear: it waits, and says for whom.
 *
 * Invariants: the state and the own starts are in the row 'M', on stable storage before anybody hears KNOWN; the row 'I' of a peer is put
 * before anything is counted that the peer said. What it says between FORGOT and KNOWN are facts (views, entries of others), never promises.
 * A start's number holds the generation of the own log, which ended on the way: so no start, OID, request or claim of the lost store comes again.
 */
#include <stdio.h>

#include "core/recovery/recovery_int.h"

#define POSITION_PUT_MS 1000 /* a peer's position is put at most so often, */
#define POSITION_LAST_MS 10000 /* and so long after anything else was: a checkpoint or two, for else servers would make each other write for ever */

static void save(struct nfs4r_core *c)
{
	struct nfs4r_put p;

	row_memory(&c->memory, &p);
	out_put(c, &p);
}

/* ---- the own starts ---------------------------------------------------------------------- */

static void add_start(struct memory *m, struct start st)
{
	if (m->nstarts && m->starts[m->nstarts - 1].inc >= st.inc)
		return;
	if (m->nstarts == STARTS_REMEMBERED) {
		m->mine_below = m->starts[1].inc;
		memmove(m->starts, m->starts + 1, --m->nstarts * sizeof(m->starts[0]));
	}
	m->starts[m->nstarts++] = st;
}

static struct start start_of(const struct nfs4r_core *c, uint64_t counter, uint64_t random)
{
	return (struct start){ NFS4R_GEN(c->log.logs[c->self].applied) << NFS4R_GEN_SHIFT | counter, random, c->cfg.journal_end };
}

/*
 * In that start this server told of more of its journal than the next one found: its disk was put back to what it had been meanwhile. What it
 * told was on stable storage, so no crash takes it away. The start that goes on now has lost nothing yet.
 */
static bool is_longer(const struct nfs4r_core *c, const struct start *x)
{
	const struct memory *m = &c->memory;

	for (uint32_t i = 0; i < m->nstarts && !FAULT(F_POSITION_IGNORED); i++)
		if (m->starts[i].inc > x->inc)
			return x->pos > m->starts[i].pos;
	return false;
}

/*
 * One older than those that are kept counts as of this store. But one that is missing is not: had this store said KNOWN in it, it would be on
 * disk, and what was not on disk may be missing.
 */
static bool is_mine(const struct nfs4r_core *c, const struct start *x)
{
	const struct memory *m = &c->memory;

	if (!x->inc || x->inc < m->mine_below)
		return true;
	for (uint32_t i = 0; i < m->nstarts; i++)
		if (m->starts[i].inc == x->inc)
			return m->starts[i].random == x->random && !is_longer(c, x);
	return false;
}

static bool is_now(const struct nfs4r_core *c, const struct start *x)
{
	return x->inc == c->memory.now.inc && x->random == c->memory.now.random;
}

/* ---- the states -------------------------------------------------------------------------- */

static void count_from_now(struct nfs4r_core *c)
{
	view_peers_count_from_now(c);
}

static void known(struct nfs4r_core *c)
{
	c->memory.state = MEMORY_KNOWN;
	c->memory.saved = false;
	save(c);
	count_from_now(c);
	state_view_check_ready(c);
	c->dirty |= DIRTY_OBJECTS;
	view_beat(c);
}

static void forgot(struct nfs4r_core *c)
{
	c->memory.state = MEMORY_FORGOT;
	save(c);
	view_stop(c);
	recovery_join_again(c);
	ops_refuse_waiting(c);
	view_beat(c);
}

/* Not by a majority: perhaps only the one that is missing heard of a store that was lost. */
static bool all_heard(const struct nfs4r_core *c)
{
	nfs4r_servers unheard = state_memory_unheard(c);

	return !unheard || (FAULT(F_NEW_HEARS_SOME) && state_views_enough(c, ~unheard));
}

/*
 * No view that the lost store was a member of is newer than the adopted one: a majority of the others has accepted nothing newer, and
 * said so since this start.
 */
static bool is_outside(const struct nfs4r_core *c)
{
	nfs4r_servers set = 0;

	if (state_is_member(c, c->self) || state_is_taken_out(c))
		return false;
	EACH_PEER(c, s) {
		const struct peer *p = &c->peers[s];

		if (p->memory == NFS4R_MEMORY_KNOWN && p->view == c->view.adopted.num && p->promised <= c->view.adopted.num)
			set |= NFS4R_BIT(s);
	}
	return state_views_enough(c, set) || FAULT(F_OUTSIDE_AT_ONCE);
}

/* Somebody goes by a view that is not known here yet: perhaps it is one of which this server is no voter. */
static bool view_is_old(const struct nfs4r_core *c)
{
	EACH_PEER(c, s)
		if (c->peers[s].judged && c->peers[s].view > c->view.adopted.num)
			return true;
	return false;
}

static void consider(struct nfs4r_core *c)
{
	if (c->memory.state == MEMORY_NEW && all_heard(c) && !view_is_old(c)) {
		known(c);
	} else if (c->memory.state == MEMORY_FORGOT && is_outside(c)) {
		c->memory.state = MEMORY_OUTSIDE;
		save(c);
	}
}

/*
 * Log 9.1: a server that is new takes all from the others, whatever its store has from before; so does one that was taken out. Its log ends with that:
 * so one that was taken out and added again, and heard of neither, begins anew, too. Nobody kept entries for it in between.
 */
static bool is_stale_learner(const struct nfs4r_core *c)
{
	if (state_is_taken_out(c))
		return c->memory.state != MEMORY_FORGOT;
	if (!state_is_learner(c, c->self) || FAULT(F_LEARNER_KNOWN))
		return false;
	return c->memory.state == MEMORY_NEW || c->memory.state == MEMORY_KNOWN || (c->memory.state != MEMORY_FORGOT && state_is_ended(c, c->self));
}

/* All of it is as it was at the source. */
void recovery_memory_repaired(struct nfs4r_core *c)
{
	if (c->memory.state != MEMORY_OUTSIDE || state_is_ended(c, c->self)) /* it was taken out and added while it copied */
		return;
	c->memory.state = MEMORY_REPAIRED;
	save(c);
}

/* The claims of the lost store had numbers of older generations. */
static void number_anew(struct nfs4r_core *c)
{
	uint64_t first = NFS4R_GEN(c->log.logs[c->self].applied) << NFS4R_GEN_SHIFT | 1;

	if (c->control.next_seq < first && !FAULT(F_SEQ_AGAIN))
		control_seq_anew(c, first);
}

/* A view was adopted. The others added this server when it was repaired, or it never left and has forgotten what it is counted on for. */
void recovery_memory_adopted(struct nfs4r_core *c)
{
	struct memory *m = &c->memory;

	if (is_stale_learner(c)) {
		forgot(c);
		return;
	}
	if (!state_is_member(c, c->self) || m->state == MEMORY_NEW || m->state == MEMORY_FORGOT || m->state == MEMORY_KNOWN)
		return;
	if (m->state == MEMORY_OUTSIDE) {
		m->state = MEMORY_FORGOT;
		save(c);
		return;
	}
	m->now = start_of(c, c->cfg.inc, c->cfg.inc_random);
	m->nstarts = 0;
	m->mine_below = m->now.inc; /* all that the others remember by now */
	add_start(m, m->now);
	number_anew(c);
	known(c);
}

/* ---- heartbeats -------------------------------------------------------------------------- */

/*
 * The row of a new start is put before anything counts that it said. That of a position is put now and then, and reaches the disk with what is
 * synced next: who forgets the newest has restarted, too.
 */
static void remember(struct nfs4r_core *c, nfs4r_server_id s, const struct start *st)
{
	struct peer *p = &c->peers[s];
	bool same = p->knows.inc == st->inc && p->knows.random == st->random;
	struct nfs4r_put row;

	if (FAULT(F_STARTS_FORGOTTEN))
		return;
	if (!same || p->knows.pos < st->pos) /* one that was said earlier may come later */
		p->knows = *st;
	if (same && (p->knows.pos == p->knows_put || c->now < p->knows_ms + POSITION_PUT_MS || c->now >= c->wrote_ms + POSITION_LAST_MS))
		return;
	p->knows_ms = c->now;
	p->knows_put = p->knows.pos;
	row_peer_start(s, &p->knows, &row);
	out_row(c, &row);
	if (!same)
		out_wrote(c);
}

void recovery_memory_on_heartbeat(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct peer *p = &c->peers[from];
	struct start theirs = { m->heartbeat.inc, m->heartbeat.inc_random, m->heartbeat.position };
	struct start mine = { m->heartbeat.your_inc, m->heartbeat.your_random, m->heartbeat.your_position };
	bool first = !p->judged && c->memory.state == MEMORY_KNOWN;

	if (!(c->view.adopted.voters & NFS4R_BIT(from)) && m->heartbeat.memory == NFS4R_MEMORY_KNOWN && m->heartbeat.view < c->view.accepted.num)
		return; /* of a life before it was added: it takes all anew, and counts by what it says then (log 9.1) */
	view_peer_remembers(c, from, m);
	if (is_now(c, &mine))
		c->memory.saved = true; /* it heard KNOWN, which was not said before that was on disk */
	if (p->memory == NFS4R_MEMORY_KNOWN) {
		view_peer_counts(c, from);
		remember(c, from, &theirs);
	}
	if (!is_mine(c, &mine) && (c->memory.state == MEMORY_NEW || c->memory.state == MEMORY_KNOWN))
		forgot(c);
	else
		consider(c);
	if (first && c->memory.state == MEMORY_KNOWN) /* it waits for that word */
		view_beat_to(c, from);
}

/* ---- start ------------------------------------------------------------------------------- */

void recovery_memory_init(struct nfs4r_core *c)
{
	c->memory.state = MEMORY_NEW;
}

void recovery_memory_started(struct nfs4r_core *c)
{
	struct memory *m = &c->memory;

	m->now = start_of(c, c->cfg.inc, c->cfg.inc_random);
	if (!state_views_on(c))
		return;
	add_start(m, m->now);
	save(c);
	count_from_now(c);
	if (is_stale_learner(c)) { /* it stopped between the two rows */
		m->state = MEMORY_FORGOT;
		save(c);
	}
	if (m->state == MEMORY_REPAIRED || m->state == MEMORY_OUTSIDE)
		recovery_memory_adopted(c);
	if (!has_peers(c) && m->state == MEMORY_NEW) {
		consider(c); /* nobody is to be heard */
		view_save(c); /* more servers in its configuration make no view: they have to be added (log 9.1) */
	}
}

void recovery_memory_timers(struct nfs4r_core *c)
{
	nfs4r_servers unheard = state_memory_unheard(c);
	uint64_t t = c->view.started_ms + state_silence_ms(c);
	char text[NFS4R_CORE_TEXT], names[NFS4R_LIST_TEXT];

	if (!unheard)
		return;
	if (c->now < t) {
		out_timer_at(c, t);
		return;
	}
	out_servers_text(unheard, names, sizeof(names));
	snprintf(text, sizeof(text), "first start: this server waits to hear server %s, which may know an earlier store of it", names);
	out_stuck(c, text);
}
