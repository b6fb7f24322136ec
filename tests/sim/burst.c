/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Bursts: a client that does many things below one directory, one right after the other. What
 * hierarchical control is made for, and what its policy decides by.
 *
 * build makes files and directories and fills them, storm goes over the files that are there one
 * after the other (chmod -R, rewriting in place), churn makes and removes.
 */
#include "sim.h"

#define BURST_NAMES 8

static bool is_below(struct client *c, uint32_t obj)
{
	return obj == c->burst_dir || tree_below(&c->server->tree, obj, c->burst_dir);
}

/* Object of @type at or below the directory of the burst, from @at on; -1 when there is none. */
static int pick_from(struct client *c, uint32_t type, uint32_t at)
{
	struct sim *s = c->server->sim;

	for (uint32_t i = 0; i < s->nobjs; i++) {
		uint32_t obj = (at + i) % s->nobjs;
		const struct row *r = tree_get(&c->server->tree, obj);

		if (r->state == ROW_KNOWN && r->type == type && is_below(c, obj))
			return (int)obj;
	}
	return -1;
}

static int pick(struct client *c, uint32_t type)
{
	struct sim *s = c->server->sim;

	return pick_from(c, type, (uint32_t)rng_below(&s->rng, s->nobjs));
}

/* ---- operations --------------------------------------------------------------------- */

static void new_name(struct sim *s, struct nfs4r_name *n)
{
	char text[4] = { 'n', (char)('0' + rng_below(&s->rng, BURST_NAMES)), 0 };

	name_set(s, n, name_id(s, text));
}

static bool make(struct client *c, uint32_t type)
{
	struct sim *s = c->server->sim;
	struct nfs4r_op *op;
	int dir = pick(c, NFS4R_TYPE_DIR);

	if (dir < 0)
		return false;
	op = client_op(type);
	op->dir = s->objs[dir].oid;
	op->attrs.mask = NFS4R_ATTR_MODE;
	op->attrs.mode = (uint32_t)rng_below(&s->rng, 512);
	new_name(s, &op->name);
	client_submit(c, op);
	return true;
}

/* Some name in a directory below: removed, or renamed there. */
static bool take(struct client *c, uint32_t type)
{
	struct sim *s = c->server->sim;
	int dir = pick(c, NFS4R_TYPE_DIR);
	const struct row *r = tree_get(&c->server->tree, dir < 0 ? 0 : (uint32_t)dir);
	struct nfs4r_op *op;

	if (dir < 0 || !r->nnames)
		return false;
	op = client_op(type);
	op->dir = op->dir2 = s->objs[dir].oid;
	name_set(s, &op->name, r->names[rng_below(&s->rng, r->nnames)].name);
	if (type == NFS4R_OP_RENAME)
		new_name(s, &op->name2);
	client_submit(c, op);
	return true;
}

static bool change(struct client *c, int file, bool write)
{
	struct sim *s = c->server->sim;
	struct nfs4r_op *op;

	if (file < 0)
		return false;
	if (write) {
		client_write(c, (uint32_t)file);
		return true;
	}
	op = client_op(NFS4R_OP_SETATTR);
	op->obj = s->objs[file].oid;
	op->attrs.mask = NFS4R_ATTR_MODE;
	op->attrs.mode = (uint32_t)rng_below(&s->rng, 512);
	client_submit(c, op);
	return true;
}

static bool storm(struct client *c)
{
	int file = pick_from(c, NFS4R_TYPE_FILE, c->burst_at);

	if (file >= 0)
		c->burst_at = (uint32_t)file + 1;
	return change(c, file, rng_chance(&c->server->sim->rng, 400));
}

static bool build(struct client *c)
{
	uint32_t k = (uint32_t)rng_below(&c->server->sim->rng, 100);

	if (k < 65)
		return make(c, k < 50 ? NFS4R_OP_CREATE : NFS4R_OP_MKDIR);
	return change(c, pick(c, NFS4R_TYPE_FILE), k < 85);
}

static bool churn(struct client *c)
{
	uint32_t k = (uint32_t)rng_below(&c->server->sim->rng, 100);

	if (k < 50)
		return make(c, k < 42 ? NFS4R_OP_CREATE : NFS4R_OP_MKDIR);
	if (k < 90)
		return take(c, k < 82 ? NFS4R_OP_REMOVE : NFS4R_OP_RENAME);
	return change(c, pick(c, NFS4R_TYPE_FILE), false);
}

/* ---- life ------------------------------------------------------------------------------ */

void burst_begin(struct client *c, uint32_t dir, enum burst_kind kind, uint32_t n)
{
	c->burst_dir = dir;
	c->burst_kind = kind;
	c->burst_left = n;
	c->burst_at = 0;
}

bool burst_random(struct client *c, uint32_t dir)
{
	struct sim *s = c->server->sim;

	burst_begin(c, dir, (enum burst_kind)(1 + rng_below(&s->rng, 3)), 5 + (uint32_t)rng_below(&s->rng, 25));
	return burst_step(c);
}

bool burst_step(struct client *c)
{
	while (c->burst_left) {
		c->burst_left--;
		if (c->burst_kind == BURST_BUILD ? build(c) : c->burst_kind == BURST_STORM ? storm(c) :
											     churn(c))
			return true;
	}
	return false;
}
