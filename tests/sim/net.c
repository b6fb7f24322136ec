/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The network between servers: connections that come and go, and messages that are lost, doubled,
 * late and overtake one another, each by the plan's odds. A connection has a number; what was sent
 * on an old one never arrives, unless it had landed in the socket of a process that was stopped. Its
 * two ends notice its begin and end at different times, sometimes seconds apart; a message that
 * arrives first tells its receiver of the connection.
 */
#include "sim.h"

static struct link *link_of(struct sim *s, nfs4r_server_id a, nfs4r_server_id b)
{
	return a < b ? &s->links[a][b] : &s->links[b][a];
}

/* ---- connections -------------------------------------------------------------------- */

static void seen(struct sim *s, void *arg, uint64_t peer, uint64_t epoch)
{
	struct server *v = arg;
	const struct link *l = link_of(s, v->id, (nfs4r_server_id)peer);

	if (l->epoch == epoch)
		server_peer(v, (nfs4r_server_id)peer, l->up ? epoch : 0);
}

static void tell(struct sim *s, nfs4r_server_id a, nfs4r_server_id b, uint64_t typical)
{
	const struct link *l = link_of(s, a, b);

	server_at(&s->servers[a], s->now + rng_time(&s->rng, typical), seen, &s->servers[a], b, l->epoch);
	server_at(&s->servers[b], s->now + rng_time(&s->rng, typical), seen, &s->servers[b], a, l->epoch);
}

void net_try(struct sim *s, nfs4r_server_id a, nfs4r_server_id b)
{
	struct link *l = link_of(s, a, b);

	if (l->up || l->cut || !s->servers[a].up || !s->servers[b].up || s->servers[a].stopped || s->servers[b].stopped)
		return;
	l->up = true;
	l->epoch++;
	TRACE(s, NULL, "link S%u S%u up", a, b);
	tell(s, a, b, s->plan.lag_us * 2);
}

void net_down(struct sim *s, nfs4r_server_id a, nfs4r_server_id b)
{
	struct link *l = link_of(s, a, b);

	if (!l->up)
		return;
	l->up = false;
	l->epoch++;
	tell(s, a, b, rng_chance(&s->rng, 500) ? s->plan.lag_us : 1 * SECOND);
}

void net_join(struct sim *s, nfs4r_server_id a, nfs4r_server_id b)
{
	link_of(s, a, b)->cut = false;
	net_try(s, a, b);
}

static void join_again(struct sim *s, void *arg, uint64_t a, uint64_t b)
{
	if (s->now >= link_of(s, (nfs4r_server_id)a, (nfs4r_server_id)b)->cut_until)
		net_join(s, (nfs4r_server_id)a, (nfs4r_server_id)b);
}

bool net_linked(struct sim *s, nfs4r_server_id a, nfs4r_server_id b)
{
	return link_of(s, a, b)->up;
}

void net_cut(struct sim *s, nfs4r_server_id a, nfs4r_server_id b)
{
	struct link *l = link_of(s, a, b);

	if (l->cut)
		return;
	TRACE(s, NULL, "link S%u S%u cut", a, b);
	s->totals.cuts++;
	net_down(s, a, b);
	l->cut = true;
	l->cut_until = s->now + rng_time(&s->rng, s->plan.cut_for_us);
	sim_at(s, l->cut_until, join_again, NULL, a, b);
}

void net_cut_for(struct sim *s, nfs4r_server_id a, nfs4r_server_id b, uint64_t us)
{
	struct link *l = link_of(s, a, b);

	net_cut(s, a, b);
	if (l->cut_until >= s->now + us)
		return;
	l->cut_until = s->now + us;
	sim_at(s, l->cut_until, join_again, NULL, a, b);
}

/* ---- messages -------------------------------------------------------------------------- */

struct letter {
	nfs4r_server_id from, to;
	uint64_t epoch;
	bool landed; /* it is in the receiver's socket: its process gets it, though the connection may be gone by then */
	struct nfs4r_msg *msg;
};

static void letter_free(void *arg)
{
	struct letter *l = arg;

	msg_free(l->msg);
	free(l);
}

static void give_to_core(struct server *v, nfs4r_server_id from, struct nfs4r_msg *m)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_MSG, .peer = from, .msg = m };

	server_step(v, &ev);
	if (m->type == NFS4R_MSG_FORWARD)
		m->op = NULL; /* the core took them over */
	if (m->type == NFS4R_MSG_ENTRIES)
		m->entries.n = 0;
}

static void arrive(struct sim *s, void *arg, uint64_t a, uint64_t b)
{
	struct letter *l = arg;
	struct server *v = &s->servers[l->to];
	const struct link *link = link_of(s, l->from, l->to);
	char text[400];

	if (link->up && link->epoch == l->epoch && v->up)
		server_peer(v, l->from, l->epoch);
	if (v->up && !liar_takes_back(s, l->from, l->to, l->msg) && ((link->up && link->epoch == l->epoch) || (l->landed && v->peer_epoch[l->from] == l->epoch))) {
		s->totals.messages++;
		release_travels(s, l->from, l->to, l->msg);
		v->heard[l->from] = s->now;
		if (s->trace) {
			msg_print(s, l->msg, text, sizeof(text));
			sim_trace(s, v, "<- S%u %s", l->from, text);
		}
		sim_note(s, 10, l->msg->type, (uint64_t)l->from << 8 | l->to);
		if (l->msg->type == NFS4R_MSG_READ || l->msg->type == NFS4R_MSG_READ_ANSWER)
			read_on_msg(v, l->from, l->msg);
		else
			give_to_core(v, l->from, l->msg);
	}
	letter_free(l);
}

static void land(struct sim *s, void *arg, uint64_t a, uint64_t b)
{
	struct letter *l = arg;
	const struct link *link = link_of(s, l->from, l->to);

	if (!link->up || link->epoch != l->epoch) {
		letter_free(l);
		return;
	}
	l->landed = true;
	server_at_owned(&s->servers[l->to], s->now, arrive, l, letter_free, 0, 0);
}

static uint64_t travel_time(struct sim *s, nfs4r_server_id from, nfs4r_server_id to, bool bulk)
{
	uint64_t t = rng_time(&s->rng, bulk ? s->plan.bulk_lag_us : s->plan.lag_us);

	return s->healed ? t : t + rng_below(&s->rng, s->slow[from][to][bulk] + 1);
}

void net_post(struct server *v, nfs4r_server_id to, struct nfs4r_msg *m, bool bulk)
{
	struct sim *s = v->sim;
	const struct link *link = link_of(s, v->id, to);
	uint32_t copies = 1;

	if (!link->up || v->peer_epoch[to] != link->epoch) {
		msg_free(m);
		return;
	}
	if (!s->healed && (rng_chance(&s->rng, s->plan.loss) || s->now < s->mute[v->id][to]))
		copies = 0;
	else if (!s->healed && rng_chance(&s->rng, s->plan.dup))
		copies = 2;
	for (uint32_t i = 0; i < copies; i++) {
		struct letter *l = calloc(1, sizeof(*l));

		l->from = v->id;
		l->to = to;
		l->epoch = link->epoch;
		l->msg = i ? msg_copy(m) : m;
		sim_at_owned(s, s->now + travel_time(s, v->id, to, bulk), s->plan.lease_ms ? land : arrive, l, letter_free,
			     0, 0);
	}
	if (!copies) {
		TRACE(s, v, "   lost %s to S%u", nfs4r_msg_name(m->type), to);
		msg_free(m);
	}
}

void net_send(struct server *v, nfs4r_server_id to, const struct nfs4r_msg *m)
{
	struct sim *s = v->sim;
	struct nfs4r_msg *c;

	if (to < 1 || to > s->plan.servers || to == v->id)
		sim_fail(s, "S%u sends %s to S%u", v->id, nfs4r_msg_name(m->type), to);
	if (s->plan.lease_ms)
		check_view_sent(v, m);
	check_stable_told(v, m);
	if (m->type == NFS4R_MSG_PULL)
		s->asked[v->id][to] |= 1u << m->pull.log;
	c = msg_copy(m);
	if (m->type == NFS4R_MSG_FORWARD_ANSWER)
		c->op->verifier = v->inc;
	net_post(v, to, c, m->type >= NFS4R_MSG_FORWARD && m->type <= NFS4R_MSG_READ_ANSWER);
	trouble_sent(v, m->type);
	if (m->type == NFS4R_MSG_HEARTBEAT && m->heartbeat.caught_up)
		trouble_caught_up(v);
}

void net_send_entries(struct server *v, nfs4r_server_id to, nfs4r_server_id log, nfs4r_lsn from, nfs4r_lsn until)
{
	struct sim *s = v->sim;
	const struct kept *k = &v->kept[log];
	nfs4r_lsn end = k->n ? kept_last(k) : v->truncated[log];

	if (from < 1 || from > until || NFS4R_GEN(from) != NFS4R_GEN(until))
		sim_fail(s, "S%u sends entries %llu..%llu", v->id, (unsigned long long)from, (unsigned long long)until);
	while (from <= until) {
		uint32_t n = 1 + (uint32_t)rng_below(&s->rng, 6);
		struct nfs4r_msg *m = calloc(1, sizeof(*m));
		struct nfs4r_seal await[6] = { { 0 } };

		m->type = NFS4R_MSG_ENTRIES;
		m->entries.log = log;
		m->entries.end = end;
		m->entries.entries = calloc(n, sizeof(*m->entries.entries));
		for (; from <= until && m->entries.n < n; from++) {
			struct nfs4r_entry *e = kept_find(k, from);

			if (!e)
				sim_fail(s, "S%u has to send %u:%llu and does not have it (truncated at %llu)", v->id, log,
					 (unsigned long long)from, (unsigned long long)v->truncated[log]);
			e = entry_copy(e);
			if (!late_read(v, e, &await[m->entries.n])) {
				nfs4r_entry_put(e);
				from = until + 1; /* the peer asks again */
				break;
			}
			m->entries.entries[m->entries.n++] = e;
		}
		if (s->trace) {
			char text[200];

			msg_print(s, m, text, sizeof(text));
			sim_trace(s, v, "-> S%u %s", to, text);
		}
		late_send(v, to, m, await);
	}
}

void net_post_entries(struct server *v, nfs4r_server_id to, struct nfs4r_msg *m)
{
	net_post(v, to, m, true);
}
