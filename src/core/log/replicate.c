/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Logs seen from outside: distribution of the own one, positions, pulls, truncation, recovery of
 * the own tail (log 3.5, 3.10-3.12, 4.7).
 *
 * Happy path: entries that are committed and contiguous are sent to each peer at once, inside a
 * window of entries and bytes that the peer's `received` opens again. Receivers answer with
 * POSITIONS as soon as applied or stable moves; a heartbeat repeats them to all.
 *
 * Failure modes: an entry is lost: the receiver sees a gap, or an end it does not reach for a
 * whole heartbeat, and pulls. The owner is down, or has it no more: others serve its log from what they applied. This
 * server lost the end of its own log (machine crash): until everybody said how far it has that log
 * and the tail is pulled, nothing is executed or served under own controls.
 *
 * Invariants: received >= applied >= stable in every log; nothing is asked for below `base`.
 */
#include "core/log/log_int.h"

/* ---- payload sums, for windows -------------------------------------------------- */

/* cum[i] = bytes of the own entries after cum_base up to cum_base + i; cum[0] = 0. */
void log_bytes(struct nfs4r_core *c, nfs4r_lsn lsn, uint64_t bytes)
{
	uint64_t last;

	if (c->log.ncum && NFS4R_GEN(lsn) != NFS4R_GEN(c->log.cum_base + c->log.ncum))
		c->log.ncum = 0; /* a new generation: what was before counts as received */
	if (!c->log.ncum) {
		c->log.cum = out_grow(c->log.cum, &c->log.cum_cap, 0, sizeof(*c->log.cum));
		c->log.cum[c->log.ncum++] = 0;
		c->log.cum_base = lsn ? lsn - 1 : 0;
	}
	while (c->log.cum_base + c->log.ncum <= lsn) {
		last = c->log.cum[c->log.ncum - 1];
		c->log.cum = out_grow(c->log.cum, &c->log.cum_cap, c->log.ncum, sizeof(*c->log.cum));
		c->log.cum[c->log.ncum] = last + (c->log.cum_base + c->log.ncum == lsn ? bytes : 0);
		c->log.ncum++;
	}
}

static uint64_t sum_to(const struct nfs4r_core *c, nfs4r_lsn lsn)
{
	if (!c->log.ncum || lsn <= c->log.cum_base)
		return c->log.ncum ? c->log.cum[0] : 0;
	if (lsn - c->log.cum_base >= c->log.ncum)
		return c->log.cum[c->log.ncum - 1];
	return c->log.cum[lsn - c->log.cum_base];
}

static void forget_bytes(struct nfs4r_core *c, nfs4r_lsn until)
{
	uint64_t n = until > c->log.cum_base ? until - c->log.cum_base : 0;

	if (!c->log.ncum || n * 2 < c->log.ncum || n < 64)
		return;
	if (n >= c->log.ncum)
		n = c->log.ncum - 1;
	memmove(c->log.cum, c->log.cum + n, (c->log.ncum - n) * sizeof(*c->log.cum));
	c->log.ncum -= n;
	c->log.cum_base += n;
}

uint64_t log_bytes_between(const struct nfs4r_core *c, nfs4r_lsn from, nfs4r_lsn until)
{
	return sum_to(c, until) - sum_to(c, from);
}

/* The own log goes on with a new generation. */
void log_crossed(struct nfs4r_core *c)
{
	c->log.ncum = 0;
	log_bytes(c, c->log.logs[c->self].applied, 0);
	control_release_crossed(c);
	c->log.quorum.asked = c->log.quorum.wanted = 0;
	EACH_PEER(c, s)
		c->peers[s].sent = c->peers[s].received[c->self];
	c->log_moved = true;
}

uint64_t log_unreceived(const struct nfs4r_core *c, const struct peer *p)
{
	return sum_to(c, c->log.logs[c->self].applied) - sum_to(c, p->received[c->self]);
}

/* ---- own entries out -------------------------------------------------------------- */

static void send_entries(struct nfs4r_core *c, nfs4r_server_id to, nfs4r_server_id log, nfs4r_lsn from, nfs4r_lsn until)
{
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_SEND_ENTRIES, .send_entries = { .to = to, .log = log, .from = from, .until = until } });
}

static void send_window(struct nfs4r_core *c, nfs4r_server_id to)
{
	struct peer *p = &c->peers[to];
	nfs4r_lsn base = c->log.logs[c->self].base, got = p->received[c->self], end = state_gen_end(c, c->self, got), until;

	if (p->down || !p->reported || !state_memory_may_send(c, to) || c->repair.state == REPAIR_RUNS) /* before, a source may need what is here */
		return;
	if (p->sent < got)
		p->sent = got;
	if (p->sent >= end)
		return;
	if (p->sent + 1 < base) {
		if (!state_views_on(c)) /* else it takes what it needs from somebody's copy (log 8.5) */
			out_stuck(c, "a peer needs entries of this server's log that are truncated");
		return;
	}
	until = end < got + c->cfg.window_entries ? end : got + c->cfg.window_entries;
	while (until > p->sent + 1 && sum_to(c, until) - sum_to(c, got) > c->cfg.window_bytes)
		until = p->sent + 1 + (until - p->sent - 1) / 2;
	if (until <= p->sent ||
	    (p->sent > got && sum_to(c, until) - sum_to(c, got) > c->cfg.window_bytes))
		return;
	send_entries(c, to, c->self, p->sent + 1, until);
	p->sent = until;
}

/* Also before the tail is here: what the journal has is final, and others may be waiting for it (log_recovery()). */
void log_send(struct nfs4r_core *c)
{
	EACH_PEER(c, s)
		send_window(c, s);
	c->log_moved = false;
}

void log_on_pull(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	nfs4r_server_id log = m->pull.log;
	const struct logst *l;
	nfs4r_lsn first = m->pull.from, until;

	if (log == 0 || log > NFS4R_SERVERS_MAX || !(c->known & NFS4R_BIT(log)) || first == 0) {
		c->st.bad_messages++;
		return;
	}
	l = &c->log.logs[log];
	if (first > state_gen_end(c, log, first) || c->halted || c->repair.state == REPAIR_RUNS)
		return;
	if (first < l->base) {
		if (!state_views_on(c))
			out_stuck(c, "a peer asks for entries that are truncated");
		return;
	}
	if (log == c->self) {
		if (first - 1 < c->peers[from].sent)
			c->peers[from].sent = first - 1;
		if (first - 1 > c->peers[from].received[log] || c->peers[from].applied[log] < first) /* what it had received may be cut (log 6.3) */
			c->peers[from].received[log] = first - 1;
		c->log_moved = true;
		return;
	}
	until = state_gen_end(c, log, first);
	if (until > first + PULL_ENTRIES - 1)
		until = first + PULL_ENTRIES - 1;
	send_entries(c, from, log, first, until);
}

/* ---- what is missing here ------------------------------------------------------------ */

/* The next one in turn after @last, which did not give it: a copy that was made anew has no entries (log 8.5). */
static nfs4r_server_id next_supplier(const struct nfs4r_core *c, nfs4r_servers have, nfs4r_server_id last)
{
	nfs4r_server_id first = 0;

	EACH_PEER(c, s) {
		if (!(have & NFS4R_BIT(s)))
			continue;
		if (s > last)
			return s;
		if (!first)
			first = s;
	}
	return first;
}

/* A halted server stays connected, and answers nothing (log 4.15). */
static bool answers(const struct nfs4r_core *c, nfs4r_server_id s)
{
	return !c->peers[s].down && !c->peers[s].halted;
}

/* @last: asked for the same before; 0: nobody was. */
static nfs4r_server_id supplier(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_server_id last)
{
	/* its owner may be gone without anybody noticing, or not have it any more (log 8.6) */
	bool ends = state_seal_limit(c, log) != UINT64_MAX || (state_views_on(c) && log != c->self && c->peers[log].memory == NFS4R_MEMORY_FORGOT);
	nfs4r_server_id best = 0;
	nfs4r_servers have = 0;
	nfs4r_lsn next = c->log.logs[log].received + 1;

	if (log != c->self && answers(c, log) && !ends && c->peers[log].base[log] <= next)
		return log;
	EACH_PEER(c, s) {
		if (!answers(c, s) || (ends && !state_view_hears(c, s)) || !log_retention_has(c, s, log, next))
			continue;
		have |= NFS4R_BIT(s);
		if (!best || c->peers[s].applied[log] > c->peers[best].applied[log])
			best = s;
	}
	return last ? next_supplier(c, have, last) : best;
}

/* As far as is known now that there is anything: more of it is another PULL's (log 4.17). */
static void note_pulled(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_server_id to)
{
	struct pulled *p = &c->log.pulled[log][to];

	p->from = c->log.logs[log].pull_from;
	p->until = c->log.logs[log].end > c->peers[to].received[log] ? c->log.logs[log].end : c->peers[to].received[log];
	if (p->until > p->from + PULL_ENTRIES - 1)
		p->until = p->from + PULL_ENTRIES - 1;
}

/* At most one PULL for one position in a quarter of the repetition time. */
void log_pull(struct nfs4r_core *c, nfs4r_server_id log)
{
	struct logst *l = &c->log.logs[log];
	nfs4r_server_id to = supplier(c, log, l->pull_from == l->received + 1 ? l->pull_to : 0);
	struct nfs4r_msg *m;

	if (!to || c->halted || c->repair.state || !state_memory_whole(c) || l->received >= state_seal_limit(c, log) || (l->pull_from == l->received + 1 && c->now < l->pull_at))
		return;
	l->pull_from = l->received + 1;
	l->pull_to = to;
	note_pulled(c, log, to);
	l->pull_at = c->now + state_repeat_ms(c) / 4;
	m = out_msg(c, NFS4R_MSG_PULL);
	m->pull.log = log;
	m->pull.from = l->pull_from;
	out_send(c, to, m, false);
}

/* Entries that were announced and have not come during a whole heartbeat. */
static void pull_late(struct nfs4r_core *c)
{
	EACH_OTHER_LOG(c, s) {
		struct logst *l = &c->log.logs[s];

		if (l->end <= l->received)
			continue;
		if (l->pull_from == l->received + 1)
			log_pull(c, s);
		if (l->pull_from != l->received + 1)
			l->pull_to = 0;
		l->pull_from = l->received + 1;
	}
}

void log_recovery_begin(struct nfs4r_core *c)
{
	c->recovering = !c->cfg.tail_intact && (has_peers(c) || state_views_on(c)); /* alone it has recovered at once, and says so */
}

static void recovered(struct nfs4r_core *c)
{
	nfs4r_lsn end = c->log.logs[c->self].received;

	c->recovering = false;
	c->recovered_step = c->step;
	c->log.written_before = end;
	control_joined_moved_until(c, end); /* control 4.9, once more for what was pulled */
	control_release_recovered(c, end);
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_RECOVERED });
	c->log_moved = true;
	c->dirty |= DIRTY_OPS | DIRTY_REPLY | DIRTY_RELEASE | DIRTY_OPENS | DIRTY_OBJECTS; /* the last: the lists of the others may be here */
}

/*
 * Every other log is here as far as its peers had it when they told. What the store of one who forgot has of its own log is not waited for: it gives
 * nothing of that, and what nobody else has is lost (log 8.6).
 */
static bool is_as_far_as_reported(const struct nfs4r_core *c)
{
	EACH_OTHER_LOG(c, s)
		EACH_PEER(c, t)
			if (c->log.logs[s].applied < c->peers[t].first_reported[s] && (!log_retention_forgot_log(c, t, s) || FAULT(F_FORGOT_AWAITED)))
				return false;
	return true;
}

/*
 * Log 4.7; and, as for one that joins (log 8.4): this server had perhaps applied more of the other logs
 * than its disk kept, and somebody counted on that ("applied by all", control 5.2), so it serves nothing
 * before it has every log to where its peers were when they told. Each incarnation of a peer tells
 * anew: what an older one had announced may be lost for good.
 */
void log_recovery(struct nfs4r_core *c)
{
	struct logst *l = &c->log.logs[c->self];
	nfs4r_lsn target = 0;

	if (!c->recovering || c->cfg.doubts)
		return;
	if (!state_memory_known(c)) { /* its tail is another store's; made anew, the copy has none */
		if (state_memory_whole(c))
			recovered(c);
		return;
	}
	if (state_is_ended(c, c->self)) { /* the tail ends at the seal, whoever is silent, if it is the log that the others know; it joins anew */
		const struct nfs4r_seal *e = state_seal_at(&c->view.adopted, c->self, l->applied);

		if (e && l->applied < e->lsn)
			log_pull(c, c->self);
		else if (state_memory_judged(c))
			recovered(c);
		return;
	}
	EACH_PEER(c, s) {
		if (!c->peers[s].reported || !state_memory_may_send(c, s)) /* it may know more of this store than is in it (log 8.6) */
			return;
		if (c->peers[s].received[c->self] > target)
			target = c->peers[s].received[c->self];
	}
	if (l->applied < target) {
		if (l->received < target)
			log_pull(c, c->self);
		return;
	}
	if (is_as_far_as_reported(c) || c->repair.state) /* after a repair it joins anew (log 8.4) */
		recovered(c);
}

/* ---- positions -------------------------------------------------------------------------- */

void log_send_positions(struct nfs4r_core *c, nfs4r_server_id to)
{
	struct nfs4r_msg *m = out_msg(c, NFS4R_MSG_POSITIONS);
	const struct logst *own = &c->log.logs[c->self];

	m->positions.clock_ns = c->now * 1000000;
	m->positions.echo_ns = c->peers[to].clock_ns;
	m->positions.own_end = state_memory_tells_nothing(c) ? 0 : own->applied;
	m->positions.all_stable = quorum_stable_everywhere(c, c->self);
	m->positions.want_stable = (c->control.closing || (c->log.quorum.asked && !log_is_quorum_durable(c, c->log.quorum.asked))) && c->peers[to].stable[c->self] < own->want;
	m->positions.wanted = m->positions.want_stable && c->peers[to].stable[c->self] < c->control.wanted_until;
	EACH_LOG(c, s) {
		struct nfs4r_log_position *p = &m->positions.pos[m->positions.n++];

		p->log = s;
		if (state_memory_tells_nothing(c))
			continue;
		p->received = c->log.logs[s].received; /* of the own log: given out; what is done of it may be in copies that others take (log 8.3) */
		if (p->received < c->log.logs[s].highest)
			p->received = c->log.logs[s].highest; /* done behind a gap, and given back: its number has this meaning here */
		p->applied = state_repair_counts(c, s, c->log.logs[s].applied);
		p->stable = state_repair_counts_stable(c, s);
		p->received_bytes = c->log.logs[s].received_bytes;
		p->base = c->log.logs[s].base;
	}
	out_send(c, to, m, false);
}

void log_positions_out(struct nfs4r_core *c)
{
	EACH_PEER(c, s)
		if (c->log.logs[s].moved) {
			c->log.logs[s].moved = false;
			log_send_positions(c, s);
		}
	EACH_LOG(c, s) {
		const struct logst *l = &c->log.logs[s];

		bool hurry = l->stable < l->hurry;

		if (l->stable < l->want && l->applied > l->stable && !(hurry ? c->log.checkpoint_hurried : c->log.checkpoint_asked) && state_fuzzy_allows_more(c, s)) {
			c->log.checkpoint_asked = true; /* until the next STABLE */
			c->log.checkpoint_hurried |= hurry;
			out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_CHECKPOINT, .checkpoint = { .hurry = hurry } });
		}
	}
}

void log_peers_started(struct nfs4r_core *c)
{
	EACH_PEER(c, s) { /* nobody has said anything yet: what is new is sent, what is missing gets pulled */
		c->peers[s].reported = !c->recovering;
		c->peers[s].sent = c->log.logs[c->self].applied;
	}
}

void log_peer_up(struct nfs4r_core *c, nfs4r_server_id s)
{
	c->peers[s].sent = c->peers[s].received[c->self];
	c->log_moved = true;
}

void log_peer_forget(struct nfs4r_core *c, nfs4r_server_id s)
{
	struct peer *p = &c->peers[s];

	p->reported = false;
	p->reported_ns = p->less_ms = 0;
	memset(p->received, 0, sizeof(p->received));
	memset(p->applied, 0, sizeof(p->applied));
	memset(p->stable, 0, sizeof(p->stable));
	memset(p->first_reported, 0, sizeof(p->first_reported));
	memset(p->base, 0, sizeof(p->base));
	p->slow_ms = 0;
}

void log_heartbeat(struct nfs4r_core *c)
{
	if (c->now >= c->log.heartbeat_at) {
		c->log.heartbeat_at = c->now + state_repeat_ms(c);
		if (!c->halted)
			EACH_PEER(c, s)
				log_send_positions(c, s);
		pull_late(c);
		c->log_moved = true;
		log_retention_look(c);
	}
	out_timer_at(c, c->log.heartbeat_at);
}

static void raise(nfs4r_lsn *p, nfs4r_lsn v)
{
	if (v > *p)
		*p = v;
}

/* Some answer may wait for what others have on disk (log 5.1, 5.6); with `local` none does. */
static uint32_t dirty_by_stable(const struct nfs4r_core *c)
{
	return c->log.quorum.asked || c->log.quorum.waits || (c->ops.answering && state_durability(c) != NFS4R_DURABILITY_LOCAL) ? DIRTY_REPLY : 0;
}

static void take_position(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_log_position *q)
{
	struct peer *p = &c->peers[from];
	nfs4r_server_id log = q->log;
	nfs4r_lsn max = c->log.logs[log].received;

	bool more_is_known = c->recovering || !state_memory_known(c);
	bool ended = log == c->self && NFS4R_GEN(q->received) > NFS4R_GEN(max);

	if (ended && !more_is_known && !state_is_ended(c, c->self))
		return; /* the view that says so will come; until then it would count as "applied by all" */
	if (log == c->self && !more_is_known && !ended && (q->received > max || q->applied > max || q->stable > max)) {
		out_complain(c, from, "reports positions beyond the end of this server's log: ignored (log 4.17)");
		return;
	}
	if (log == c->self && q->applied > p->applied[log]) {
		c->dirty |= DIRTY_REPLY;
		control_election_peer_moved(c, from);
	}
	if (q->stable > p->stable[log])
		c->dirty |= (log == c->self ? DIRTY_RELEASE : 0) | dirty_by_stable(c);
	if (log != c->self && q->applied > p->applied[log]) {
		state_log_heard(c, log, q->applied);
		c->dirty |= DIRTY_REPLY;
	}
	raise(&p->received[log], q->received);
	raise(&p->applied[log], q->applied);
	raise(&p->stable[log], q->stable);
	raise(&p->base[log], q->base);
}

/*
 * For a while it says less than it had said before: it gave back entries that it had not applied (log 6.3, 8.3), and gets them again; or they are gone,
 * if the machine of this server crashed (log 4.7). Once may be a message that a PULL overtook.
 */
static void given_back(const struct nfs4r_core *c, struct peer *p, nfs4r_lsn received)
{
	if (c->recovering && received < p->applied[c->self])
		received = p->applied[c->self]; /* others may have that from it */
	if (received >= p->received[c->self]) {
		p->less_ms = 0;
		return;
	}
	if (!p->less_ms)
		p->less_ms = c->now ? c->now : 1;
	if (c->now < p->less_ms + state_repeat_ms(c))
		return;
	p->less_ms = 0;
	p->received[c->self] = received;
	if (p->sent > received)
		p->sent = received;
}

/* Takes them, if they are sane and of its life as a member. */
bool log_on_positions(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct peer *p = &c->peers[from];

	if (m->positions.n > NFS4R_SERVERS_MAX) {
		c->st.bad_messages++;
		return false;
	}
	if (state_is_learner(c, from) && (!p->learner_ns || m->positions.clock_ns <= p->learner_ns))
		return false; /* it did not know yet that it is one, and takes all anew */
	for (uint32_t i = 0; i < m->positions.n; i++) {
		const struct nfs4r_log_position *q = &m->positions.pos[i];

		if (q->log == 0 || q->log > NFS4R_SERVERS_MAX ||
		    q->applied > q->received || q->stable > q->applied) {
			c->st.bad_messages++;
			return false;
		}
	}
	for (uint32_t i = 0; i < m->positions.n && m->positions.clock_ns > p->reported_ns; i++)
		if (m->positions.pos[i].log == c->self)
			given_back(c, p, m->positions.pos[i].received);
	if (m->positions.clock_ns > p->reported_ns)
		p->reported_ns = m->positions.clock_ns;
	p->clock_ns = m->positions.clock_ns;
	for (uint32_t i = 0; i < m->positions.n; i++)
		take_position(c, from, &m->positions.pos[i]);
	return true;
}

/* The rest of what POSITIONS say: where the sender's log ends, what it waits for, what nobody needs any more. */
void log_positions_taken(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct peer *p = &c->peers[from];
	struct logst *l = &c->log.logs[from];

	if (!p->reported) {
		p->reported = true;
		p->sent = p->received[c->self];
		p->first_reported[from] = m->positions.own_end;
		for (uint32_t i = 0; i < m->positions.n; i++)
			raise(&p->first_reported[m->positions.pos[i].log], m->positions.pos[i].applied);
	}
	raise(&p->end, m->positions.own_end);
	state_log_heard(c, from, m->positions.own_end);
	if (m->positions.want_stable)
		state_log_want(c, from, m->positions.own_end);
	if (m->positions.wanted && state_durability(c) != NFS4R_DURABILITY_LOCAL)
		raise(&l->hurry, m->positions.own_end);
	if (m->positions.all_stable > l->truncated) {
		nfs4r_lsn until = m->positions.all_stable < l->stable ? m->positions.all_stable : l->stable;

		if (state_is_sealed_away(c, from, until))
			until = state_seal_at(&c->view.adopted, from, until)->lsn;
		log_drop(c, from, until);
	}
	c->log_moved = true; /* the window may have opened */
	log_truncate(c);
	log_retention_drop(c);
	log_written_gc(c);
}

void log_on_stable(struct nfs4r_core *c, const nfs4r_lsn *stable)
{
	log_fuzzy_stable(c, stable);
	EACH_LOG(c, s) {
		struct logst *l = &c->log.logs[s];
		nfs4r_lsn v = state_fuzzy_limit(c, s, stable[s] < l->applied ? stable[s] : l->applied);

		if (v > l->stable) {
			l->stable = v;
			l->moved |= s != c->self;
		}
	}
	c->log.checkpoint_asked = c->log.checkpoint_hurried = false;
	c->dirty |= DIRTY_RELEASE | dirty_by_stable(c);
	log_truncate(c);
	log_retention_drop(c);
}

void log_drop(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn until)
{
	struct logst *l = &c->log.logs[log];

	if (until <= l->truncated)
		return;
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_TRUNCATE, .truncate = { .log = log, .until = until } });
	l->truncated = until;
	raise(&l->base, until + 1);
	if (log == c->self)
		forget_bytes(c, until);
}

/* Log 3.11. */
void log_truncate(struct nfs4r_core *c)
{
	if (!c->recovering)
		log_drop(c, c->self, quorum_stable_everywhere(c, c->self));
}

/* ---- what CLOSE waits for ------------------------------------------------------------------ */

nfs4r_lsn log_written_lsn(const struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct written *w;

	HASH_FIND(hh, c->log.written, oid, sizeof(*oid), w);
	if (w)
		return w->lsn;
	if (c->log.nwritten >= WRITTEN_MAX)
		return c->log.logs[c->self].received; /* not known: everything */
	return quorum_applied_by_all(c, c->self) < c->log.written_before ? c->log.written_before : 0;
}

void log_written_note(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_lsn lsn)
{
	struct written *w;

	HASH_FIND(hh, c->log.written, oid, sizeof(*oid), w);
	if (w) {
		DL_DELETE(c->log.written_list, w);
	} else {
		if (c->log.nwritten >= WRITTEN_MAX)
			return;
		w = out_xcalloc(1, sizeof(*w));
		w->oid = *oid;
		HASH_ADD(hh, c->log.written, oid, sizeof(w->oid), w);
		c->log.nwritten++;
	}
	w->lsn = lsn;
	DL_APPEND(c->log.written_list, w); /* ascending */
}

void log_written_forget(struct nfs4r_core *c)
{
	struct written *w, *tmp;

	DL_FOREACH_SAFE(c->log.written_list, w, tmp) {
		DL_DELETE(c->log.written_list, w);
		HASH_DEL(c->log.written, w);
		free(w);
	}
	c->log.nwritten = 0;
}

void log_written_gc(struct nfs4r_core *c)
{
	nfs4r_lsn all = quorum_applied_by_all(c, c->self);
	struct written *w;

	while ((w = c->log.written_list) && w->lsn <= all) {
		DL_DELETE(c->log.written_list, w);
		HASH_DEL(c->log.written, w);
		c->log.nwritten--;
		free(w);
	}
}
