/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See solo.h. */
#include "bench/solo.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

uint64_t mono_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void solo_config(struct nfs4r_core_config *cfg, const struct nfs4r_oid *root)
{
	memset(cfg, 0, sizeof(*cfg));
	nfs4r_core_config_init(cfg);
	cfg->self = SOLO_SELF;
	cfg->servers = NFS4R_BIT(1) | NFS4R_BIT(2) | NFS4R_BIT(3);
	cfg->root = *root;
	cfg->inc = 1;
	cfg->deep = false;
	cfg->escalate_count = cfg->deep_plus_count = 0;
	cfg->revoke_ms = cfg->turn_ms = cfg->announce_ms = cfg->read_ms = 0;
	cfg->holdoff_ms = 1;
	cfg->lease_ms = 0; /* its peers are not real */
	cfg->idle_ms = cfg->deep_ms = 1u << 30;
}

static void sent(struct solo *s, nfs4r_server_id to, const struct nfs4r_msg *m)
{
	s->sent[m->type]++;
	if (m->type == NFS4R_MSG_PROPOSE)
		s->proposed = m->propose.pid;
	if (m->type == NFS4R_MSG_RELEASE && to == SOLO_PEERS_FROM)
		for (uint32_t i = 0; i < m->release.nseqs; i++) {
			MUST(s->nreleased < 4 * NFS4R_BATCH_MAX);
			s->released[s->nreleased++] = m->release.seqs[i];
		}
}

static void take(struct solo *s, const struct nfs4r_action *a)
{
	switch (a->type) {
	case NFS4R_ACT_SEND:
		sent(s, nfs4r_act_send(a)->to, nfs4r_act_send(a)->msg);
		break;
	case NFS4R_ACT_EXECUTE:
		s->nexecute++;
		s->executing = nfs4r_act_execute(a)->op;
		break;
	case NFS4R_ACT_STARTED:
		s->entry = nfs4r_act_started(a)->entry;
		break;
	case NFS4R_ACT_DONE:
		s->ndone++;
		s->status = nfs4r_act_done(a)->op->status;
		break;
	case NFS4R_ACT_APPLY:
		MUST(s->keep_apply);
		s->keep_apply(s->arg, nfs4r_act_apply(a)->entry);
		break;
	case NFS4R_ACT_CHECKPOINT:
		s->ncheckpoint++;
		break;
	case NFS4R_ACT_HALT:
		MUST(!"halted");
		break;
	default:
		break;
	}
}

static void forget(struct solo *s)
{
	memset(s->sent, 0, sizeof(s->sent));
	s->ndone = s->nexecute = s->ncheckpoint = s->nreleased = 0;
	s->executing = NULL;
}

void solo_step(struct solo *s, struct nfs4r_event *ev)
{
	const struct nfs4r_update *u;
	uint64_t t;

	forget(s);
	ev->now_ms = s->now;
	t = s->timing ? mono_ns() : 0;
	u = nfs4r_core_step(s->core, ev);
	s->ns += s->timing ? mono_ns() - t : 0;
	for (uint32_t i = 0; i < u->n; i++)
		take(s, &u->actions[i]);
}

void solo_start(struct solo *s, const struct nfs4r_core_config *cfg, const struct nfs4r_tree *port)
{
	memset(s, 0, sizeof(*s));
	s->port = *port;
	s->core = nfs4r_core_create(cfg, &s->port);
	MUST(s->core);
	nfs4r_core_started(s->core, s->now);
	for (nfs4r_server_id p = SOLO_PEERS_FROM; p <= SOLO_PEERS_TO; p++) {
		struct nfs4r_event ev = { .type = NFS4R_EV_PEER_UP, .peer = p, .peer_inc = 1 };

		solo_step(s, &ev);
		solo_positions(s, p, 0, 0);
	}
}

void solo_stop(struct solo *s)
{
	nfs4r_core_destroy(s->core);
}

void solo_tick(struct solo *s, uint64_t ms)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_TICK };

	s->now += ms;
	solo_step(s, &ev);
}

void solo_msg(struct solo *s, nfs4r_server_id from, struct nfs4r_msg *m)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_MSG, .peer = from, .msg = m };

	solo_step(s, &ev);
}

void solo_ack(struct solo *s, nfs4r_server_id from, struct nfs4r_pid pid)
{
	static struct nfs4r_msg m;

	m.type = NFS4R_MSG_ACK;
	m.ack.pid = pid;
	solo_msg(s, from, &m);
}

void solo_propose(struct solo *s, nfs4r_server_id from, uint64_t seq, const struct nfs4r_control *v, uint32_t n)
{
	static struct nfs4r_msg m;

	m.type = NFS4R_MSG_PROPOSE;
	m.propose.pid = (struct nfs4r_pid){ from, seq };
	m.propose.floor = 1;
	m.propose.prio = (struct nfs4r_prio){ 0, from };
	m.propose.won = false;
	m.propose.ncontrols = n;
	memcpy(m.propose.controls, v, n * sizeof(*v));
	solo_msg(s, from, &m);
}

void solo_release(struct solo *s, nfs4r_server_id from, uint64_t seq, uint64_t floor)
{
	static struct nfs4r_msg m;

	m.type = NFS4R_MSG_RELEASE;
	m.release.floor = floor;
	m.release.nseqs = 1;
	m.release.seqs[0] = seq;
	solo_msg(s, from, &m);
}

void solo_released(struct solo *s, nfs4r_server_id from, const uint64_t *seqs, uint32_t n)
{
	static struct nfs4r_msg m;

	while (n) {
		m.type = NFS4R_MSG_RELEASED;
		m.release.nseqs = n < NFS4R_BATCH_MAX ? n : NFS4R_BATCH_MAX;
		memcpy(m.release.seqs, seqs, m.release.nseqs * sizeof(*seqs));
		solo_msg(s, from, &m);
		seqs += m.release.nseqs;
		n -= m.release.nseqs;
	}
}

void solo_positions(struct solo *s, nfs4r_server_id from, nfs4r_lsn applied, nfs4r_lsn stable)
{
	static struct nfs4r_msg m;

	memset(&m.positions, 0, sizeof(m.positions));
	m.type = NFS4R_MSG_POSITIONS;
	m.positions.n = 1;
	m.positions.pos[0] = (struct nfs4r_log_position){ .log = SOLO_SELF, .received = applied, .applied = applied, .stable = stable };
	solo_msg(s, from, &m);
}

void solo_stable(struct solo *s, nfs4r_lsn lsn)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_STABLE };

	ev.stable[SOLO_SELF] = lsn;
	solo_step(s, &ev);
}

void solo_op(struct solo *s, struct nfs4r_op *op)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_OP, .op = op };

	solo_step(s, &ev);
}

void solo_execute(struct solo *s, struct nfs4r_op *op, bool ok)
{
	struct nfs4r_event locked = { .type = NFS4R_EV_OP_LOCKED, .op = op };
	struct nfs4r_event executed = { .type = NFS4R_EV_OP_EXECUTED, .op = op, .ok = ok };
	struct nfs4r_entry *e;

	solo_step(s, &locked);
	MUST(s->entry);
	executed.entry = e = s->entry;
	s->entry = NULL;
	if (!ok)
		op->status = NFS4R_NOSPC;
	solo_step(s, &executed);
	nfs4r_entry_put(e);
}
