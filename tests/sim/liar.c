/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A server that lies (log 4.17, 6.14, 6.15): besides what it does as any other, it sends messages that are well formed and speak for somebody else: views that
 * nobody adopted, the one that it goes by with another secret, numbers of others, entries of others' logs, proposals, acks and answers in others' names. All other checks stay: none of the
 * messages may have any effect on the others. It says nothing false of itself, since that is believed; and it answers no PREPARE with a view that never was.
 */
#include "sim.h"

#define LIES 9
#define FALSE_VIEW UINT64_MAX /* of an entry that is a lie; the core goes by epochs */
#define ULL(x) ((unsigned long long)(x))

static nfs4r_server_id another(struct sim *s, nfs4r_server_id a, nfs4r_server_id b)
{
	nfs4r_server_id x;

	do
		x = (nfs4r_server_id)rng_range(&s->lies, 1, s->plan.servers);
	while (x == a || x == b);
	return x;
}

/* Some are out in it who are in the view that the liar goes by. */
static void false_view(struct server *v, struct nfs4r_view *w)
{
	struct rng *r = &v->sim->lies;
	struct nfs4r_core_view is;
	nfs4r_servers out = rng_next(r) & ~NFS4R_BIT(v->id);

	nfs4r_core_get_view(v->core, &is);
	*w = is.adopted;
	w->base = w->num;
	w->num = (w->num / NFS4R_VIEW_STEP + 1 + (rng_chance(r, 500) ? rng_below(r, 8) : rng_below(r, 1ull << 33))) * NFS4R_VIEW_STEP;
	w->num += rng_chance(r, 700) ? v->id : rng_range(r, 1, v->sim->plan.servers);
	w->members &= ~out;
	if (rng_chance(r, 700)) {
		w->servers &= ~out;
		w->voters &= ~out;
		w->open &= ~out;
	}
}

/* The view that it goes by, with another secret. */
static void false_secret(struct server *v, struct nfs4r_view *w)
{
	struct nfs4r_core_view is;

	nfs4r_core_get_view(v->core, &is);
	*w = is.adopted;
	w->secret[rng_below(&v->sim->lies, sizeof(w->secret))] ^= 1;
}

/* The last number of all, or one that is a leap ahead (log 6.15): many of them would end there, too. */
static uint64_t too_high(struct server *v)
{
	struct nfs4r_core_view is;

	if (v->sim->now / MS % 2)
		return (1ull << NFS4R_RECONF_SHIFT) - NFS4R_VIEW_STEP + v->id;
	nfs4r_core_get_view(v->core, &is);
	return (is.promised / NFS4R_VIEW_STEP + (1u << 23)) * NFS4R_VIEW_STEP + v->id;
}

static void false_prepare(struct server *v, struct nfs4r_msg *m)
{
	struct rng *r = &v->sim->lies;

	m->prepare.num = rng_chance(r, 500) ? too_high(v) : rng_below(r, 100) * NFS4R_VIEW_STEP + another(v->sim, v->id, 0);
	m->prepare.remove = rng_next(r) & ((NFS4R_BIT(v->sim->plan.servers + 1) - 1) & ~(nfs4r_servers)1);
}

/* Entries of a log that is another's: real ones under later numbers. */
static bool false_entries(struct server *v, nfs4r_server_id to, struct nfs4r_msg *m)
{
	const struct kept *k;
	nfs4r_server_id log = another(v->sim, v->id, to);
	struct nfs4r_entry *e;

	if (v->sim->asked[to][v->id] & (1u << log)) /* what was asked for is believed */
		return false;
	k = &v->kept[log];
	e = k->n ? kept_find(k, kept_last(k)) : NULL;
	if (!e)
		return false;
	m->entries.log = log;
	m->entries.end = e->lsn + 1 + rng_below(&v->sim->lies, 100);
	m->entries.entries = calloc(1, sizeof(*m->entries.entries));
	m->entries.entries[0] = entry_copy(e);
	m->entries.entries[0]->lsn++;
	m->entries.entries[0]->view = FALSE_VIEW;
	m->entries.n = 1;
	return true;
}

/* Its receiver has asked for such entries since it was sent. */
bool liar_takes_back(struct sim *s, nfs4r_server_id from, nfs4r_server_id to, const struct nfs4r_msg *m)
{
	if (m->type != NFS4R_MSG_ENTRIES || !m->entries.n || m->entries.entries[0]->view != FALSE_VIEW)
		return false;
	return s->asked[to][from] & (1u << m->entries.log);
}

static void false_answer(struct server *v, nfs4r_server_id to, struct nfs4r_msg *m)
{
	m->op = calloc(1, sizeof(*m->op));
	m->op->type = NFS4R_OP_CREATE;
	m->op->status = NFS4R_OK;
	m->op->id.origin = another(v->sim, to, 0);
	m->op->id.inc = 1;
	m->op->id.seq = 1 + rng_below(&v->sim->lies, 100);
}

/* A claim of the receiver's neighbour. */
static void false_claim(struct server *v, nfs4r_server_id to, struct nfs4r_msg *m)
{
	struct nfs4r_pid pid = { another(v->sim, v->id, to), 1 + rng_below(&v->sim->lies, 200) };

	switch (m->type) {
	case NFS4R_MSG_PROPOSE:
		m->propose.pid = pid;
		m->propose.ncontrols = 1;
		m->propose.controls[0] = (struct nfs4r_control){ v->sim->objs[0].oid, NFS4R_DEEP };
		m->propose.prio.server = pid.server;
		m->propose.won = rng_chance(&v->sim->lies, 500);
		break;
	case NFS4R_MSG_ACK:
		m->ack.pid = pid;
		break;
	case NFS4R_MSG_NACK:
		m->nack.pid = pid;
		m->nack.reason = NFS4R_NACK_UNKNOWN;
		break;
	default:
		m->revoke.oid = v->sim->objs[0].oid;
		m->revoke.prio = (struct nfs4r_prio){ 9, pid.server };
	}
}

static bool make_lie(struct server *v, nfs4r_server_id to, struct nfs4r_msg *m)
{
	static const uint32_t types[LIES] = { NFS4R_MSG_VIEW, NFS4R_MSG_ACCEPT, NFS4R_MSG_PREPARE, NFS4R_MSG_ENTRIES, NFS4R_MSG_PROPOSE,
					      NFS4R_MSG_ACK, NFS4R_MSG_NACK, NFS4R_MSG_REVOKE, NFS4R_MSG_FORWARD_ANSWER };

	m->type = types[rng_below(&v->sim->lies, LIES)];
	switch (m->type) {
	case NFS4R_MSG_VIEW:
	case NFS4R_MSG_ACCEPT:
		if (m->type == NFS4R_MSG_VIEW && rng_chance(&v->sim->lies, 500)) {
			false_secret(v, &m->view);
			return true;
		}
		false_view(v, &m->view);
		m->view.num += 1000 * NFS4R_VIEW_STEP; /* none that somebody proposes: to accept and to propose is its right */
		return true;
	case NFS4R_MSG_PREPARE:
		false_prepare(v, m);
		return true;
	case NFS4R_MSG_ENTRIES:
		return false_entries(v, to, m);
	case NFS4R_MSG_FORWARD_ANSWER:
		false_answer(v, to, m);
		return true;
	default:
		false_claim(v, to, m);
		return true;
	}
}

static void tell(struct sim *s, void *arg, uint64_t liar, uint64_t b)
{
	struct server *v = &s->servers[liar];
	nfs4r_server_id to = another(s, v->id, 0);
	struct nfs4r_msg *m;

	if (s->healed)
		return;
	sim_at(s, s->now + rng_time(&s->lies, 20 * MS), tell, NULL, liar, 0);
	if (!v->up || v->stopped)
		return;
	m = calloc(1, sizeof(*m));
	if (!make_lie(v, to, m)) {
		free(m);
		return;
	}
	s->totals.lies++;
	TRACE(s, v, "lies to S%u: %s", to, nfs4r_msg_name(m->type));
	net_post(v, to, m, m->type == NFS4R_MSG_ENTRIES);
}

void liar_begin(struct sim *s)
{
	s->lies = (struct rng){ hash_mix(s->plan.seed, 0x11e5) };
	sim_at(s, s->now + rng_time(&s->lies, 200 * MS), tell, NULL, rng_range(&s->lies, 1, s->plan.servers), 0);
}

void liar_print(const struct totals *t)
{
	if (t->lies)
		printf("lies: %llu messages in another server's name\n", ULL(t->lies));
}
