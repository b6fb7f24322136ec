/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a majority holds (log 5.1, 5.2): answers that promise more than the own disk.
 *
 * Happy path: with `commit` the answers of rename, link and stable WRITE, and whoever asks with HOLD (a COMMIT), wait until the own entry
 * is stable here and at so many members that a majority of the voters has it; with `majority` all updates do. Whoever waits
 * makes the others checkpoint at once: positions with `wanted` go out behind the entries.
 *
 * Failure modes: too few members: it waits, and after a while there is no lease either. The view seals something meanwhile: HOLDs end
 * (the caller sees that the epoch changed and says DELAY), and so do writes (ops_finish()).
 *
 * Invariants: held is a prefix of the own log, and only grows within a view.
 */
#include "core/log/log_int.h"

static uint32_t voters(const struct nfs4r_core *c)
{
	return (uint32_t)__builtin_popcountll(c->view.adopted.voters);
}

/* The @need-th newest of the stable positions in @log, the own one included. */
static nfs4r_lsn quorum_durable_by(const struct nfs4r_core *c, nfs4r_server_id log, uint32_t need)
{
	nfs4r_lsn best[NFS4R_SERVERS_MAX + 1] = { c->log.logs[log].stable }, v;
	uint32_t n = 1, i;

	EACH_MEMBER(c, s) {
		v = state_memory_counts(c, s) ? c->peers[s].stable[log] : 0;
		for (i = n++; i > 0 && best[i - 1] < v; i--)
			best[i] = best[i - 1];
		best[i] = v;
	}
	if (n < need)
		return 0;
	return best[need - 1] < c->log.logs[log].stable ? best[need - 1] : c->log.logs[log].stable;
}

static nfs4r_lsn quorum_durable_until(const struct nfs4r_core *c, nfs4r_server_id log)
{
	return quorum_durable_by(c, log, voters(c) / 2 + 1);
}

bool log_is_quorum_durable(const struct nfs4r_core *c, nfs4r_lsn lsn)
{
	return quorum_durable_until(c, c->self) >= lsn;
}

/* An entry of any log. */
bool log_is_quorum_durable_of(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn lsn)
{
	return quorum_durable_until(c, log) >= lsn;
}

bool log_needs_quorum(const struct nfs4r_core *c, const struct nfs4r_op *op)
{
	if (FAULT(F_NOT_QUORUM_DURABLE) || op->type == NFS4R_OP_CLOSE || op->type == NFS4R_OP_CLAIM || nfs4r_op_at_authority(op->type))
		return false;
	switch (state_durability(c)) {
	case NFS4R_DURABILITY_MAJORITY:
		return true;
	case NFS4R_DURABILITY_COMMIT:
		return op->type == NFS4R_OP_RENAME || op->type == NFS4R_OP_LINK || (op->type == NFS4R_OP_WRITE && op->stable);
	default:
		return false;
	}
}

/* An answer waits for @lsn. */
void log_quorum_wait(struct nfs4r_core *c, nfs4r_lsn lsn)
{
	if (lsn > c->log.quorum.wanted)
		c->log.quorum.wanted = lsn;
}

/* After the entries are on their way: ask for checkpoints, once for each need; heartbeats repeat it. */
void log_quorum_flush(struct nfs4r_core *c)
{
	struct logst *own = &c->log.logs[c->self];

	if (c->log.quorum.wanted <= c->log.quorum.asked)
		return;
	c->log.quorum.asked = c->log.quorum.wanted;
	state_log_want(c, c->self, c->log.quorum.asked);
	if (own->hurry < c->log.quorum.asked)
		own->hurry = c->log.quorum.asked;
	control_release_wanted_until(c, c->log.quorum.asked);
	EACH_MEMBER(c, s)
		if (c->peers[s].stable[c->self] < c->log.quorum.asked)
			log_send_positions(c, s);
}

/* ---- HOLD --------------------------------------------------------------------------------- */

static void give(struct nfs4r_core *c, uint64_t id)
{
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_QUORUM_DURABLE, .quorum_durable = { .wait_id = id } });
}

/* The newest own entry of @oid, or a newer one. */
static nfs4r_lsn newest(const struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct written *w;

	HASH_FIND(hh, c->log.written, oid, sizeof(*oid), w);
	return w ? w->lsn : c->log.logs[c->self].received;
}

void log_quorum_ask(struct nfs4r_core *c, uint64_t id, const struct nfs4r_oid *oid)
{
	nfs4r_lsn lsn = newest(c, oid);
	struct quorum_wait *h;

	if (state_durability(c) == NFS4R_DURABILITY_LOCAL || log_is_quorum_durable(c, lsn) || FAULT(F_NOT_QUORUM_DURABLE)) {
		give(c, id);
		return;
	}
	h = out_xcalloc(1, sizeof(*h));
	h->id = id;
	h->lsn = lsn;
	DL_APPEND(c->log.quorum.waits, h);
	log_quorum_wait(c, lsn);
}

static void end_is_quorum_durable(struct nfs4r_core *c, nfs4r_lsn until)
{
	struct quorum_wait *h, *tmp;

	DL_FOREACH_SAFE(c->log.quorum.waits, h, tmp) {
		if (h->lsn > until)
			continue;
		DL_DELETE(c->log.quorum.waits, h);
		give(c, h->id);
		free(h);
	}
}

/*
 * Log 9.1: those voters that have not all that may have been called held are no majority when there is one voter less; that one is outside before it is taken
 * out, and does not count. What is missing is asked for, as an answer would.
 */
bool log_quorum_doubt_cleared(struct nfs4r_core *c)
{
	if (state_durability(c) == NFS4R_DURABILITY_LOCAL || FAULT(F_VOTERS_NOT_DURABLE))
		return true;
	if (quorum_durable_by(c, c->self, voters(c) - (voters(c) - 1) / 2 - (c->view.adopted.members != c->view.adopted.voters)) >= c->log.quorum.top)
		return true;
	log_quorum_wait(c, c->log.quorum.top);
	return false;
}

/* Log 6.17: what was answered by an older Durability, or may have been, is on the disks of a majority. What is missing is asked for. */
bool log_quorum_backs(struct nfs4r_core *c)
{
	if (state_durability(c) == NFS4R_DURABILITY_LOCAL || state_ends_logs(c) || log_is_quorum_durable(c, c->log.quorum.backed))
		return true;
	log_quorum_wait(c, c->log.quorum.backed);
	return false;
}

/* Another Durability counts from now on. */
void log_quorum_changed(struct nfs4r_core *c)
{
	c->log.quorum.backed = c->log.logs[c->self].received;
	c->dirty |= DIRTY_REPLY;
}

void log_quorum_run(struct nfs4r_core *c)
{
	nfs4r_lsn durable = state_durability(c) == NFS4R_DURABILITY_LOCAL ? 0 : quorum_durable_until(c, c->self);

	if (durable > c->log.quorum.top)
		c->log.quorum.top = durable;
	if (c->log.quorum.waits)
		end_is_quorum_durable(c, quorum_durable_until(c, c->self));
	if (c->log.clients.waits)
		log_clients_run(c, quorum_durable_until(c, c->self));
}

/* The epoch is another one. */
void log_quorum_has_all(struct nfs4r_core *c)
{
	end_is_quorum_durable(c, UINT64_MAX);
}

void log_quorum_fini(struct nfs4r_core *c)
{
	struct quorum_wait *h, *tmp;

	DL_FOREACH_SAFE(c->log.quorum.waits, h, tmp)
		free(h);
}

/* ---- the loss window ------------------------------------------------------------------------- */

/* When own entries were made, in steps that double when there is no more place. */
void log_quorum_note(struct nfs4r_core *c, nfs4r_lsn lsn)
{
	struct quorum_state *d = &c->log.quorum;

	if (d->nmarks && (c->now == d->marks[d->nmarks - 1].ms || lsn <= d->marks[d->nmarks - 1].lsn))
		return;
	if (d->nmarks == MARKS) {
		for (uint32_t i = 0; i < MARKS / 2; i++)
			d->marks[i] = d->marks[2 * i];
		d->nmarks = MARKS / 2;
	}
	d->marks[d->nmarks].lsn = lsn;
	d->marks[d->nmarks++].ms = c->now;
}

void nfs4r_core_loss_window(const struct nfs4r_core *c, uint64_t *entries, uint64_t *bytes, uint64_t *age_ms)
{
	nfs4r_lsn durable = quorum_durable_until(c, c->self), end = c->log.logs[c->self].applied, begin = NFS4R_GEN(end) << NFS4R_GEN_SHIFT;
	uint64_t since = c->view.started_ms;

	*entries = *bytes = *age_ms = 0;
	if (durable >= end)
		return;
	if (durable < begin)
		durable = begin;
	*entries = end - durable;
	*bytes = log_bytes_between(c, durable, end);
	for (uint32_t i = 0; i < c->log.quorum.nmarks && c->log.quorum.marks[i].lsn <= durable + 1; i++)
		since = c->log.quorum.marks[i].ms;
	*age_ms = c->now - since;
}

void log_quorum_started(struct nfs4r_core *c)
{
	c->log.quorum.top = c->log.logs[c->self].stable;
	c->log.quorum.backed = c->log.logs[c->self].received;
}
