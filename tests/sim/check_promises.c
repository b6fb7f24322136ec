/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What an answer promises (log 5.1): with `majority` every update, with `commit` stable WRITEs,
 * renames, links, and WRITEs that were committed are on the disks of a majority of the voters when they are
 * answered, and no seal is ever below them (check_seals.c). COMMIT covers the WRITEs whose verifier it is answered with, and with
 * `local` they are on their primary's disk. WRITE and COMMIT are not answered across a change of the loss epoch.
 *
 * Which durability counts (log 6.17): that of the view which the server had adopted when it decided to answer, and not when the answer left, for that may
 * wait for its journal. In the step in which it adopts a view, either one. What another server executed is answered by the durability of that one, or of the server
 * that tells the client: each has its own view, and the weaker one of both is promised. What was answered by `local` is its
 * primary's alone. A log does not end below it, unless its server was given up.
 */
#include "sim.h"

#define ULL(x) ((unsigned long long)(x))

uint32_t ent_index(struct sim *s, const struct ent *t)
{
	return (uint32_t)(t - s->ents);
}

uint32_t durability_of(const struct server *v)
{
	uint32_t d = nfs4r_core_adopted(v->core)->settings.keys.durability;

	return d ? d : v->sim->plan.durability;
}

bool view_ends(const struct sim *s, const struct nfs4r_view *w)
{
	return w->settings.keys.durability ? w->settings.keys.ends : s->plan.durability != NFS4R_DURABILITY_LOCAL;
}

/* @by: 0: nobody said. */
static uint32_t weaker(uint32_t durability, uint32_t by)
{
	return by && by < durability ? by : durability;
}

static nfs4r_servers stable_at(struct sim *s, const struct ent *t)
{
	nfs4r_servers set = 0;

	for (uint32_t q = 1; q <= s->plan.servers; q++)
		if (s->servers[q].stable[t->log] >= t->lsn || s->servers[q].had_stable[t->log] >= t->lsn)
			set |= NFS4R_BIT(q);
	return set;
}

/* Those that have it not are no majority of the voters; these may have become more since it was held. */
static bool meets_all(nfs4r_servers set, nfs4r_servers voters)
{
	return __builtin_popcountll(voters & ~set) <= __builtin_popcountll(voters) / 2;
}

/* By the view of who says so, or of the primary. */
static bool enough(const struct server *v, nfs4r_server_id primary, nfs4r_servers set)
{
	nfs4r_servers a = v->view_voters, b = v->sim->servers[primary].view_voters;

	return meets_all(set, a) || meets_all(set, b);
}

static void count_promise(struct server *v, const struct ent *t, uint32_t by)
{
	struct sim *s = v->sim;
	const struct nfs4r_view *top = view_find(s, s->top_view);

	s->totals.told_behind += top && top->settings.keys.durability && top->settings.keys.durability != by;
	s->totals.told_between += by != v->decided_by;
	s->totals.told_local += t->told_local;
}

static void promise(struct server *v, struct ent *t, const char *what, uint32_t by)
{
	struct sim *s = v->sim;
	nfs4r_servers set = stable_at(s, t);

	if (t->state == ENT_LOST || (t->state == ENT_SEALED && by != NFS4R_DURABILITY_LOCAL))
		sim_fail(s, "S%u answers %s for %u:%s, which is %s", v->id, what, t->log, lsn_str(t->lsn),
			 t->state == ENT_LOST ? "lost" : "sealed away");
	if (by == NFS4R_DURABILITY_LOCAL) {
		if (!(set & NFS4R_BIT(t->log)))
			sim_fail(s, "S%u answers %s for %u:%s, which is not on its primary's disk", v->id, what, t->log,
				 lsn_str(t->lsn));
		if (t->promised < PROMISED_DISK)
			t->promised = PROMISED_DISK;
		return;
	}
	if (!enough(v, t->log, set))
		sim_fail(s, "S%u answers %s for %u:%s, which only %llx have on their disks", v->id, what, t->log, lsn_str(t->lsn),
			 ULL(set));
	s->totals.promised += t->promised != PROMISED_MAJORITY;
	t->promised = PROMISED_MAJORITY;
}

/* Updates that are answered OK. */
static bool needs_majority(const struct nfs4r_op *op, uint32_t by)
{
	bool at_once = op->type == NFS4R_OP_RENAME || op->type == NFS4R_OP_LINK || (op->type == NFS4R_OP_WRITE && op->stable);

	return by == NFS4R_DURABILITY_MAJORITY || (by == NFS4R_DURABILITY_COMMIT && at_once);
}

void check_promised(struct server *v, const struct nfs4r_op *op, uint32_t ent)
{
	struct ent *t = &v->sim->ents[ent];
	uint32_t by = op->primary == v->id ? v->decided_by : weaker(v->decided_by, t->result_by);

	if (by == NFS4R_DURABILITY_LOCAL)
		t->told_local = true;
	if (needs_majority(op, by))
		promise(v, t, nfs4r_op_name(op->type), by);
	if (v->sim->plan.durabilities)
		count_promise(v, t, by);
}

/* The primary has decided, whoever tells the client. */
void check_answered(struct server *v, const struct nfs4r_op *op)
{
	struct sim *s = v->sim;
	struct ent *t = op->status == NFS4R_OK && op->lsn ? ent_find(s, op->primary, op->lsn) : NULL;

	if (!t || t->state != ENT_LIVE)
		return;
	t->result_by = weaker(v->decided_by, t->result_by);
	if (needs_majority(op, v->decided_by) && !enough(v, t->log, stable_at(s, t)))
		sim_fail(s, "S%u answers another server for %u:%s by durability %u, and only %llx have it on their disks", v->id, t->log, lsn_str(t->lsn), v->decided_by,
			 ULL(stable_at(s, t)));
}

/* Do others say that all clients of @v are gone which began before @lsn? */
static struct ent *ended_by(struct server *v, nfs4r_lsn lsn)
{
	for (uint32_t i = v->sim->nents - 1; i > 0; i--) {
		struct ent *t = &v->sim->ents[i];
		const struct nfs4r_part *p = t->e && t->op == NFS4R_OP_CLIENT ? &t->e->parts[0] : NULL;

		if (p && t->state != ENT_LOST && t->state != ENT_SEALED && p->client_word == NFS4R_CLIENTS_ENDED && nfs4r_oid_creator(&p->oid) == v->id && lsn < p->client_below)
			return t;
	}
	return NULL;
}

/* The newest word of @v about the client @id (locks 7), which is answered now. */
void check_client_held(struct server *v, const uint64_t id[2], bool gone)
{
	struct sim *s = v->sim;

	for (uint32_t i = s->nents - 1; i > 0; i--) {
		struct ent *t = &s->ents[i];
		const struct nfs4r_part *p = t->e && t->op == NFS4R_OP_CLIENT ? &t->e->parts[0] : NULL;

		if (!p || t->log != v->id || t->state == ENT_LOST || t->state == ENT_SEALED || p->client_word > NFS4R_CLIENT_GONE || !nfs4r_client_is(p->client, id))
			continue;
		if (gone && p->client_word == NFS4R_CLIENT_BEGINS && ended_by(v, t->lsn))
			return;
		if ((p->client_word == NFS4R_CLIENT_GONE) != gone)
			sim_fail(s, "S%u answers that a client %s, and said last that it %s", v->id, gone ? "is gone" : "begins", gone ? "begins" : "is gone");
		promise(v, t, gone ? "that a client is gone" : "that a client begins", NFS4R_DURABILITY_MAJORITY);
		return;
	}
	if (!gone)
		sim_fail(s, "S%u answers that a client begins, and has not said it", v->id);
}

void check_held(struct server *v, uint32_t obj, nfs4r_lsn until)
{
	struct sim *s = v->sim;
	uint32_t by = durability_of(v);

	if (by == NFS4R_DURABILITY_LOCAL && !s->plan.durabilities)
		return;
	for (uint32_t i = 1; i < s->nents; i++) {
		struct ent *t = &s->ents[i];

		for (uint32_t k = 0; k < t->nparts; k++) {
			if (t->log != v->id || t->state != ENT_LIVE || t->parts[k].obj != obj || t->parts[k].effect != NFS4R_EFF_WRITE || t->lsn > until)
				continue;
			t->commit_by = weaker(by, t->commit_by);
			if (by != NFS4R_DURABILITY_LOCAL && !enough(v, t->log, stable_at(s, t)))
				sim_fail(s, "S%u: %s is held, but only %llx have %u:%s on their disks", v->id, obj_str(s, obj),
					 ULL(stable_at(s, t)), t->log, lsn_str(t->lsn));
		}
	}
}

/* ---- WRITE and COMMIT ------------------------------------------------------------------ */

void check_wrote(struct client *c, const struct nfs4r_op *op, uint32_t ent)
{
	struct server *v = c->server;
	struct uncommitted *u;
	const struct simop *so = op->engine;

	if (so->epoch != epoch_of(v) && so->epoch != v->epoch_was)
		sim_fail(v->sim, "S%u answers WRITE, asked in epoch %u, in epoch %u", v->id, so->epoch, epoch_of(v));
	if (op->stable || c->nuncommitted == UNCOMMITTED_MAX)
		return;
	u = &c->uncommitted[c->nuncommitted++];
	u->obj = obj_of(v->sim, &op->obj);
	u->ent = ent;
	u->verifier = (struct verifier){ op->primary, op->primary == v->id ? v->inc : op->verifier, so->epoch };
}

/* It may have been answered by this server's own view, or by that of who has the file. */
static uint32_t committed_by(const struct server *v, struct ent *t, const struct verifier *w)
{
	uint32_t by = w->server == v->id ? durability_of(v) : weaker(durability_of(v), t->commit_by);

	if (by == NFS4R_DURABILITY_LOCAL)
		t->told_local = true;
	return by;
}

void check_committed(struct client *c, uint32_t obj, const struct verifier *w)
{
	struct sim *s = c->server->sim;

	s->totals.commits_ok++;
	for (uint32_t i = 0; i < c->nuncommitted;) {
		const struct uncommitted *u = &c->uncommitted[i];

		if (u->obj != obj) {
			i++;
			continue;
		}
		/* with another verifier the client sends it again */
		if (u->verifier.server == w->server && u->verifier.inc == w->inc && u->verifier.epoch == w->epoch)
			promise(c->server, &s->ents[u->ent], "COMMIT", committed_by(c->server, &s->ents[u->ent], w));
		c->uncommitted[i] = c->uncommitted[--c->nuncommitted];
	}
}
