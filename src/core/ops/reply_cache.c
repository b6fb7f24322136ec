/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Results of executed forwarded requests (log 5.6): at most once, whoever is primary by then.
 *
 * The identity and the result travel in the entry, so every server that applies a log has them;
 * the row is written with the entry. A result goes when its origin says that it has the answer
 * (answered_below), or starts anew (a higher incarnation). At the limit the oldest of that origin
 * goes; an origin with a million unanswered requests does not exist (OPS_MAX is far below).
 *
 * Errors and NOT_PRIMARY changed nothing and are not logged, but they are remembered here until
 * the origin has them: else a late copy of the request would be executed after its client heard
 * the error, or after another server executed it. A restart may forget them, since no copy
 * outlives the connection.
 */
#include "core/ops/ops_int.h"

void ops_reply_key(const struct nfs4r_request_id *id, struct reqkey *k)
{
	memset(k, 0, sizeof(*k));
	k->origin = id->origin;
	k->inc = id->inc;
	k->seq = id->seq;
}

struct reply *ops_reply_find(struct nfs4r_core *c, const struct nfs4r_request_id *id)
{
	struct reqkey k;
	struct reply *r;

	ops_reply_key(id, &k);
	HASH_FIND(hh, c->ops.replies, &k, sizeof(k), r);
	return r;
}

bool ops_reply_too_old(const struct nfs4r_core *c, const struct nfs4r_request_id *id)
{
	const struct origin *o = &c->ops.origins[id->origin];

	return id->inc < o->inc || (id->inc == o->inc && id->seq < o->answered_below);
}

static void put_row(struct nfs4r_core *c, const struct nfs4r_put *p, bool in_commit)
{
	if (in_commit)
		out_commit_put(c, p);
	else
		out_put(c, p);
}

static void reply_drop(struct nfs4r_core *c, struct reply *r, bool in_commit)
{
	struct origin *o = &c->ops.origins[r->key.origin];
	struct nfs4r_put p;

	row_reply(r, &p, true);
	put_row(c, &p, in_commit);
	HASH_DEL(c->ops.replies, r);
	DL_DELETE(o->replies, r);
	o->nreplies--;
	free(r);
}

void ops_reply_add(struct nfs4r_core *c, const struct reply *from)
{
	struct origin *o = &c->ops.origins[from->key.origin];
	struct reply *r = out_xcalloc(1, sizeof(*r));

	*r = *from;
	HASH_ADD(hh, c->ops.replies, key, sizeof(r->key), r);
	DL_APPEND(o->replies, r);
	o->nreplies++;
}

static void refusal_drop(struct nfs4r_core *c, struct refusal *f)
{
	struct origin *o = &c->ops.origins[f->key.origin];

	HASH_DEL(c->ops.refusals, f);
	DL_DELETE(o->refusals, f);
	o->nrefusals--;
	free(f);
}

/* @op is answered and made no entry. */
void ops_refusal_add(struct nfs4r_core *c, const struct nfs4r_op *op)
{
	struct origin *o = &c->ops.origins[op->id.origin];
	struct refusal *f = out_xcalloc(1, sizeof(*f));

	if (o->nrefusals >= REFUSALS_MAX)
		refusal_drop(c, o->refusals);
	ops_reply_key(&op->id, &f->key);
	f->status = op->status;
	f->result = op->result;
	f->type = op->result_type;
	HASH_ADD(hh, c->ops.refusals, key, sizeof(f->key), f);
	DL_APPEND(o->refusals, f);
	o->nrefusals++;
}

/* True: refused before; @op has the same answer now. */
bool ops_refusal_find(struct nfs4r_core *c, struct nfs4r_op *op)
{
	struct refusal *f;
	struct reqkey k;

	ops_reply_key(&op->id, &k);
	HASH_FIND(hh, c->ops.refusals, &k, sizeof(k), f);
	if (!f)
		return false;
	op->status = f->status;
	op->result = f->result;
	op->result_type = f->type;
	return true;
}

void ops_refusals_free(struct nfs4r_core *c)
{
	for (int s = 1; s <= NFS4R_SERVERS_MAX; s++)
		while (c->ops.origins[s].refusals)
			refusal_drop(c, c->ops.origins[s].refusals);
}

/* What origin @s said of itself: its incarnation, and that it has the answers below @below. */
void ops_reply_origin_moved(struct nfs4r_core *c, nfs4r_server_id s, uint64_t inc, uint64_t below, bool in_commit)
{
	struct origin *o = &c->ops.origins[s];
	struct refusal *f, *ftmp;
	struct reply *r, *tmp;
	struct nfs4r_put p;

	if (inc < o->inc || (inc == o->inc && below <= o->answered_below))
		return;
	o->inc = inc;
	o->answered_below = below;
	row_origin(s, o, &p);
	put_row(c, &p, in_commit);
	DL_FOREACH_SAFE(o->replies, r, tmp)
		if (r->key.inc < inc || r->key.seq < below)
			reply_drop(c, r, in_commit);
	DL_FOREACH_SAFE(o->refusals, f, ftmp)
		if (f->key.inc < inc || f->key.seq < below)
			refusal_drop(c, f);
}

/* Results of entries of @log beyond its seal: they were undone. */
void ops_replies_undone(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn seal)
{
	struct reply *r, *tmp;

	HASH_ITER(hh, c->ops.replies, r, tmp)
		if (r->cond.log == log && NFS4R_GEN(r->cond.lsn) == NFS4R_GEN(seal) && r->cond.lsn > seal && !FAULT(F_UNDONE_REPLIES))
			reply_drop(c, r, false);
}

/* The commit of @e is being put together: its result goes along. */
void ops_reply_of_entry(struct nfs4r_core *c, const struct nfs4r_entry *e)
{
	struct reply r = { 0 };
	struct nfs4r_put p;
	uint32_t n = 0;

	if (!e->request.origin || e->request.origin > NFS4R_SERVERS_MAX)
		return;
	ops_reply_origin_moved(c, e->request.origin, e->request.inc, e->answered_below, true);
	if (ops_reply_too_old(c, &e->request) || ops_reply_find(c, &e->request))
		return;
	if (c->ops.origins[e->request.origin].nreplies >= REPLIES_MAX)
		reply_drop(c, c->ops.origins[e->request.origin].replies, true);
	ops_reply_key(&e->request, &r.key);
	r.result = e->result;
	for (uint32_t i = 0; i < e->nparts; i++) {
		if (e->parts[i].effect == NFS4R_EFF_CREATE)
			r.type = e->parts[i].attrs.type;
		if (e->parts[i].effect == NFS4R_EFF_NAMES && n < 4) {
			r.dv[n++] = e->parts[i].before;
			r.dv[n++] = e->parts[i].after;
		}
	}
	if (n == 2 && e->op == NFS4R_OP_RENAME) { /* inside one directory */
		r.dv[2] = r.dv[0];
		r.dv[3] = r.dv[1];
	}
	ops_cond_of(c, e, &r.cond);
	ops_reply_add(c, &r);
	row_reply(&r, &p, false);
	out_commit_put(c, &p);
}

void ops_origin_restored(struct nfs4r_core *c, nfs4r_server_id s, uint64_t inc, uint64_t answered_below)
{
	c->ops.origins[s].inc = inc;
	c->ops.origins[s].answered_below = answered_below;
}
