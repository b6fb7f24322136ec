/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Parked operations. One that was executed or sent and cannot be answered in time: the client hears DELAY and asks again, and the retry (same client, same request)
 * takes over the parked operation and its result. Without this, a mkdir whose answer was lost to a slow peer would come back as EXIST. Who drives operations: ops.c.
 *
 * A server that halts or stops parks all at once, the asynchronous ones as well: nobody says any more what they wait for, and nobody asks again before it starts anew.
 * eng->lock is held in all of this.
 */
#include <assert.h>
#include <stdlib.h>

#include "engine/update/update_int.h"

#define PARKED_MAX 4096 /* beyond it operations wait without being parked */
#define PARKED_KEEP_MS 300000 /* an answer that nobody fetched */

static bool same_name(const struct nfs4r_name *a, const struct nfs4r_name *b)
{
	return a->len == b->len && memcmp(a->s, b->s, a->len) == 0;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_bytes(const struct nfs4r_buf *a, const struct nfs4r_buf *b)
{
	return a == b || (a && b && a->len == b->len && memcmp(a->data, b->data, a->len) == 0);
}

static bool same_attrs(const struct nfs4r_attrs *a, const struct nfs4r_attrs *b)
{
	return a->mask == b->mask && a->type == b->type && a->mode == b->mode && a->uid == b->uid && a->gid == b->gid &&
		a->size == b->size && a->atime == b->atime && a->mtime == b->mtime && a->rdev_major == b->rdev_major &&
		a->rdev_minor == b->rdev_minor && same_bytes(a->acl, b->acl);
}

static bool same_request(const struct nfs4r_op *a, const struct nfs4r_op *b)
{
	return a->client != 0 && a->client == b->client && a->type == b->type && a->cred.uid == b->cred.uid &&
		a->cred.gid == b->cred.gid && nfs4r_oid_eq(&a->obj, &b->obj) && nfs4r_oid_eq(&a->dir, &b->dir) &&
		nfs4r_oid_eq(&a->dir2, &b->dir2) && same_name(&a->name, &b->name) && same_name(&a->name2, &b->name2) &&
		a->offset == b->offset && a->length == b->length && a->xflags == b->xflags && a->stable == b->stable &&
		a->under_open == b->under_open && a->depth == b->depth && same_attrs(&a->attrs, &b->attrs) &&
		same_text(a->text, b->text) && same_bytes(a->data, b->data);
}

struct opctx *update_op_adopt_parked(struct nfs4r_engine *eng, const struct nfs4r_op *op, bool *busy)
{
	*busy = false;
	for (struct opctx **p = &eng->update.parked; *p; p = &(*p)->next) {
		struct opctx *o = *p;

		if (!same_request(o->op, op))
			continue;
		if (o->state != OP_PARKED) {
			*busy = true;
			return NULL;
		}
		*p = o->next;
		assert(eng->update.nparked > 0);
		eng->update.nparked--;
		update_op_move(eng, o, OP_DRIVEN);
		return o;
	}
	return NULL;
}

static enum nfs4r_status too_late(void *arg, struct nfs4r_op *op, struct nfs4r_exec *x)
{
	return NFS4R_DELAY;
}

bool update_op_park(struct nfs4r_engine *eng, struct opctx *o)
{
	if ((o->own.here_only || (nfs4r_op_is_dirop(o->op->type) && o->own.client == 0)) && !update_ops_over(eng))
		return false; /* the retry could not be recognised, or only its caller can execute it: wait on */
	if (eng->update.nparked >= PARKED_MAX && !update_ops_over(eng))
		return false;
	update_op_move(eng, o, OP_PARKED);
	o->exec = update_ops_over(eng) ? too_late : NULL; /* the caller's context is gone: if it is still to be executed, lops do it */
	o->parked_at_ms = engine_now_ms();
	o->next = eng->update.parked;
	eng->update.parked = o;
	eng->update.nparked++;
	return true;
}

void update_ops_drop_parked(struct nfs4r_engine *eng)
{
	while (eng->update.parked) {
		struct opctx *o = eng->update.parked;

		eng->update.parked = o->next;
		nfs4r_op_fini(&o->own);
		update_op_free(o);
	}
}

void update_ops_expire_parked(struct nfs4r_engine *eng, uint64_t now)
{
	struct opctx **p = &eng->update.parked;

	while (*p) {
		struct opctx *o = *p;

		if (o->due != OP_DONE || o->state != OP_PARKED || now < o->parked_at_ms + PARKED_KEEP_MS) {
			p = &o->next;
			continue;
		}
		*p = o->next;
		assert(eng->update.nparked > 0);
		eng->update.nparked--;
		update_op_move(eng, o, OP_OVER);
		nfs4r_op_fini(&o->own);
		update_op_free(o);
	}
}

struct left { /* an asynchronous one whose caller waits no longer */
	struct nfs4r_op *op;
	nfs4r_done_fn done;
	void *arg;
};

static void leave_task(struct nfs4r_engine *eng, void *arg)
{
	struct left *l = arg;

	l->op->status = NFS4R_DELAY;
	l->done(l->arg, l->op);
	free(l);
}

/* Nobody says any more what they wait for, and Ganesha does not end, nor call the stop, before its requests are answered. */
void update_ops_park_halted(struct nfs4r_engine *eng)
{
	update_ops_wake(eng);
	for (struct opctx *o = eng->update.active, *next; o; o = next) {
		struct left *l;

		next = o->active_next;
		if (o->state != OP_ABANDONED || !update_op_park(eng, o))
			continue;
		update_op_deactivate(eng, o);
		l = malloc(sizeof(*l));
		if (!l)
			abort();
		*l = (struct left){ o->caller, o->done, o->arg };
		engine_pool_run(eng->runtime.executors, leave_task, l);
	}
}
