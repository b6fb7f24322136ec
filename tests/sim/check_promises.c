/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What an answer promises, by the durability of the run (log 5.1): with `majority` every update, with `commit` stable WRITEs,
 * renames, links, and WRITEs that were committed are on the disks of a majority of the voters when they are
 * answered, and no seal is ever below them (check_seals.c). COMMIT covers the WRITEs whose verifier it is answered with, and with
 * `local` they are on their primary's disk. WRITE and COMMIT are not answered across a change of the loss epoch.
 */
#include "sim.h"

#define ULL(x) ((unsigned long long)(x))

uint32_t ent_index(struct sim *s, const struct ent *t)
{
	return (uint32_t)(t - s->ents);
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

static void promise(struct server *v, struct ent *t, const char *what)
{
	struct sim *s = v->sim;
	nfs4r_servers set = stable_at(s, t);

	if (t->state == ENT_LOST || (t->state == ENT_SEALED && s->plan.durability != NFS4R_DURABILITY_LOCAL))
		sim_fail(s, "S%u answers %s for %u:%s, which is %s", v->id, what, t->log, lsn_str(t->lsn),
			 t->state == ENT_LOST ? "lost" : "sealed away");
	if (s->plan.durability == NFS4R_DURABILITY_LOCAL) {
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
void check_promised(struct server *v, const struct nfs4r_op *op, uint32_t ent)
{
	struct sim *s = v->sim;
	bool at_once = op->type == NFS4R_OP_RENAME || op->type == NFS4R_OP_LINK || (op->type == NFS4R_OP_WRITE && op->stable);

	if (s->plan.durability == NFS4R_DURABILITY_MAJORITY || (s->plan.durability == NFS4R_DURABILITY_COMMIT && at_once))
		promise(v, &s->ents[ent], nfs4r_op_name(op->type));
}

void check_held(struct server *v, uint32_t obj, nfs4r_lsn until)
{
	struct sim *s = v->sim;

	if (s->plan.durability == NFS4R_DURABILITY_LOCAL)
		return;
	for (uint32_t i = 1; i < s->nents; i++) {
		const struct ent *t = &s->ents[i];

		for (uint32_t k = 0; k < t->nparts; k++)
			if (t->log == v->id && t->state == ENT_LIVE && t->parts[k].obj == obj && t->parts[k].effect == NFS4R_EFF_WRITE &&
			    t->lsn <= until && !enough(v, t->log, stable_at(s, t)))
				sim_fail(s, "S%u: %s is held, but only %llx have %u:%s on their disks", v->id, obj_str(s, obj),
					 ULL(stable_at(s, t)), t->log, lsn_str(t->lsn));
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
			promise(c->server, &s->ents[u->ent], "COMMIT");
		c->uncommitted[i] = c->uncommitted[--c->nuncommitted];
	}
}
