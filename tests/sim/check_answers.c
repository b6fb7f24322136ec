/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What clients are told. An operation that is answered OK has one live entry and carries its
 * result; one that failed has none and never gets one. A completed directory operation, and a
 * file written and closed, is seen by every read that starts later, anywhere, locally or at the
 * owner, error answers included (control 5.2, 5.3, 6).
 *
 * What is not promised is not asked for: the bytes of an open file, a file's own attributes after
 * a directory operation (unless it has several names), and anything a machine crash took away
 * (log 5.1, `local`).
 */
#include "sim.h"

#define ULL(x) ((unsigned long long)(x))

/* ---- operations ------------------------------------------------------------------ */

static nfs4r_version wrote_newest(const struct server *v, uint32_t obj)
{
	for (uint32_t i = 0; i < v->nwrote; i++)
		if (v->wrote[i].obj == obj)
			return v->wrote[i].version;
	return 0;
}

static void wrote_note(struct server *v, uint32_t obj, nfs4r_version version)
{
	uint32_t i = 0;

	while (i < v->nwrote && v->wrote[i].obj != obj)
		i++;
	if (i == 64)
		return;
	if (i == v->nwrote) {
		v->nwrote++;
		v->wrote[i].version = 0;
	}
	v->wrote[i].obj = obj;
	if (v->wrote[i].version < version)
		v->wrote[i].version = version;
}

void check_submitted(struct server *v, struct simop *so)
{
	struct sim *s = v->sim;
	const struct nfs4r_op *op = so->op;

	so->epoch = epoch_of(v);
	if (op->type == NFS4R_OP_CLOSE)
		so->close_wants = wrote_newest(v, obj_of(s, &op->obj));
	if (!nfs4r_oid_is_zero(&op->dir)) {
		so->dir_wants[0] = obj_completed(s, obj_of(s, &op->dir));
		so->dir_taken_back = s->objs[obj_of(s, &op->dir)].last_dead;
	}
	if (!nfs4r_oid_is_zero(&op->dir2))
		so->dir_wants[1] = obj_completed(s, obj_of(s, &op->dir2));
}

static void complete(struct sim *s, uint32_t obj, nfs4r_version version)
{
	struct version_seen *seen = version_find(s, obj, version);

	if (seen)
		seen->completed = true;
}

static void complete_to(struct obj *o, nfs4r_version version)
{
	for (uint32_t i = 0; i < o->nvers; i++)
		o->vers[i].completed |= o->vers[i].version <= version;
}

static void complete_entry(struct server *v, const struct nfs4r_op *op, const struct ent *t)
{
	struct sim *s = v->sim;

	for (uint32_t i = 0; i < t->nparts; i++) {
		uint32_t obj = t->parts[i].obj;
		const struct row *r = tree_get(&s->oracle, obj);
		bool dirop = nfs4r_op_is_dirop(t->op);

		if (dirop && (t->parts[i].effect == NFS4R_EFF_CREATE || r->state == ROW_DEAD))
			continue; /* the last name gone: whoever has it open goes on reading (control 3.7) */
		if (dirop && t->parts[i].effect != NFS4R_EFF_NAMES && !t->parts[i].multi)
			continue;
		if (!dirop && op->under_open && op->primary == v->id)
			wrote_note(v, obj, t->parts[i].after);
		else
			complete(s, obj, t->parts[i].after);
	}
}

static struct ent *ent_of_request(struct sim *s, const struct nfs4r_request_id *id)
{
	for (uint32_t i = s->nents - 1; id->origin && i > 0; i--) {
		struct ent *t = &s->ents[i];

		if (t->request.origin == id->origin && t->request.inc == id->inc && t->request.seq == id->seq &&
		    t->state != ENT_LOST && t->state != ENT_SEALED)
			return t;
	}
	return NULL;
}

static void refuse(struct sim *s, const struct nfs4r_request_id *id)
{
	if (!id->origin)
		return;
	if (s->nrefused == s->refused_cap) {
		s->refused_cap = s->refused_cap ? s->refused_cap * 2 : 64;
		s->refused = realloc(s->refused, s->refused_cap * sizeof(*s->refused));
	}
	s->refused[s->nrefused++] = *id;
}

/* Error answers about names must have been true of a version that the client may see. */
static void check_name_answer(struct server *v, const struct simop *so)
{
	struct sim *s = v->sim;
	const struct nfs4r_op *op = so->op;
	bool makes = op->type >= NFS4R_OP_CREATE && op->type <= NFS4R_OP_LINK;
	bool takes = op->type == NFS4R_OP_REMOVE || op->type == NFS4R_OP_RENAME;

	if (!(op->status == NFS4R_EXIST && makes) && !(op->status == NFS4R_NOENT && takes))
		return;

	uint32_t dir = obj_of(s, &op->dir);
	nfs4r_version since = so->dir_taken_back == s->objs[dir].last_dead ? so->dir_wants[0] : 0;

	if (!name_was(s, dir, name_of(s, &op->name), makes, since))
		sim_fail(s, "S%u answers %s for %s/%s, which is %s since before v%llu", v->id, makes ? "EXIST" : "NOENT", oid_name(s, &op->dir),
			 op->name.s, makes ? "not there" : "there", ULL(since));
}

static void check_failed(struct server *v, const struct simop *so)
{
	struct sim *s = v->sim;
	const struct nfs4r_op *op = so->op;
	const struct ent *t = ent_of_request(s, &op->id);

	if (so->skipped && op->status == NFS4R_DELAY)
		return;
	if (t && nfs4r_op_is_dirop(op->type))
		sim_fail(s, "S%u answers %s with %s, but it was executed as %u:%llu", v->id, nfs4r_op_name(op->type),
			 nfs4r_status_str(op->status), t->log, ULL(t->lsn));
	if (nfs4r_op_is_dirop(op->type))
		refuse(s, &op->id);
	check_name_answer(v, so);
}

void check_done(struct server *v, const struct simop *so)
{
	struct sim *s = v->sim;
	const struct nfs4r_op *op = so->op;
	struct ent *t;

	s->totals.checks++;
	if (op->status != NFS4R_OK) {
		check_failed(v, so);
		return;
	}
	if (op->type == NFS4R_OP_CLAIM)
		return;
	if (op->type == NFS4R_OP_CLOSE) {
		complete_to(&s->objs[obj_of(s, &op->obj)], so->close_wants);
		return;
	}
	if (!op->lsn) {
		if (ent_of_request(s, &op->id) || op->type == NFS4R_OP_CREATE || op->type == NFS4R_OP_MKDIR ||
		    op->type == NFS4R_OP_REMOVE || op->type == NFS4R_OP_LINK || op->type == NFS4R_OP_WRITE)
			sim_fail(s, "S%u answers %s OK and names no entry", v->id, nfs4r_op_name(op->type));
		return;
	}
	t = ent_find(s, op->primary, op->lsn);
	if (!t || t->state == ENT_EXECUTING || t->is_void)
		sim_fail(s, "S%u answers %s with %u:%llu, which is not executed", v->id, nfs4r_op_name(op->type),
			 op->primary, ULL(op->lsn));
	if (t->state == ENT_SEALED && t->sealed_by <= v->view_was)
		sim_fail(s, "S%u answers %s with %u:%s, which view %llu, which it adopted, sealed away", v->id, nfs4r_op_name(op->type),
			 op->primary, lsn_str(op->lsn), ULL(t->sealed_by));
	check_promised(v, op, ent_index(s, t));
	if (op->type == NFS4R_OP_WRITE)
		check_wrote(so->client, op, ent_index(s, t));
	if (t->state == ENT_LOST || t->state == ENT_SEALED)
		return;
	if (t->op != op->type || !nfs4r_oid_eq(&t->result, &op->result) ||
	    t->request.origin != op->id.origin || t->request.inc != op->id.inc || t->request.seq != op->id.seq)
		sim_fail(s, "S%u answers %s with the result of %u:%llu, which is another operation", v->id,
			 nfs4r_op_name(op->type), t->log, ULL(t->lsn));
	complete_entry(v, op, t);
}

/* ---- reads ------------------------------------------------------------------------------- */

static nfs4r_version told_here(const struct server *v, const struct obj *o)
{
	return o->told[v->id].last_dead == o->last_dead ? o->told[v->id].version : 0;
}

void check_read_start(struct server *v, uint32_t obj, struct read_want *w)
{
	const struct obj *o = &v->sim->objs[obj];

	w->obj = obj;
	w->taken_back = o->last_dead;
	w->version = obj_completed(v->sim, obj);
	w->told = told_here(v, o);
}

static bool in_limbo(struct sim *s, uint32_t obj, nfs4r_version version)
{
	const struct version_seen *seen = version_find(s, obj, version);

	return !seen || s->ents[seen->ent].state == ENT_LIMBO;
}

void check_read_end(struct server *v, const struct read_want *w, const struct nfs4r_read *r, nfs4r_server_id answered)
{
	struct sim *s = v->sim;
	struct obj *o = &s->objs[w->obj];
	const struct ent *t;
	const struct version_seen *seen;

	s->totals.checks++;
	if (w->taken_back != s->objs[w->obj].last_dead)
		return; /* what it could have seen is no longer known */
	if (r->status == NFS4R_STALE) {
		if (tree_get(&s->oracle, w->obj)->state != ROW_DEAD && !s->objs[w->obj].lost && !s->objs[w->obj].ndead)
			sim_fail(s, "S%u answers STALE for %s, which lives (from S%u)", v->id, obj_str(s, w->obj),
				 answered);
		return;
	}
	if (r->attrs.version < w->version && !in_limbo(s, w->obj, w->version)) {
		seen = version_find(s, w->obj, w->version);
		t = &s->ents[seen->ent];
		sim_fail(s, "stale read at S%u (answered by S%u): %s v%llu, but v%llu was completed before it began "
			    "(%u:%llu %s)",
			 v->id, answered, obj_str(s, w->obj), ULL(r->attrs.version), ULL(w->version),
			 t->log, ULL(t->lsn), nfs4r_op_name(t->op));
	}
	if (r->attrs.version < w->told && !in_limbo(s, w->obj, w->told))
		sim_fail(s, "read at S%u (answered by S%u): %s v%s, and it had said v%s before: a client keeps these bytes for the newer ones", v->id, answered,
			 obj_str(s, w->obj), lsn_str(r->attrs.version), lsn_str(w->told));
	if (r->attrs.version >= told_here(v, o)) {
		o->told[v->id].version = r->attrs.version;
		o->told[v->id].last_dead = o->last_dead;
	}
	if (r->type == NFS4R_RD_LOOKUP && (r->status == NFS4R_OK || r->status == NFS4R_NOENT) &&
	    !in_limbo(s, w->obj, w->version ? w->version : 1) &&
	    !name_was(s, w->obj, name_id(s, r->name), r->status == NFS4R_OK, w->version))
		sim_fail(s, "S%u answers %s for %s/%s (from S%u), which was not so since v%llu", v->id,
			 nfs4r_status_str(r->status), obj_str(s, w->obj), r->name, answered, ULL(w->version));
}
