/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Local execution of an operation at its primary, and what its log entry says about it. Objects, names, versions and requested
 * values are in the entry already (core/ops/entry_build.c).
 *
 * Before: times and cookies are chosen, so that the INTENT in the journal is complete enough to decide
 * it by evidence after a crash. After: the values that only the local file system knows (mode after umask and
 * set-id rules, owner, the new handle) are read back into the entry, absolute, so that every replica ends up equal.
 */
#include <stdlib.h>

#include "engine/replicate/replicate.h"
#include "engine/update/update_int.h"

/* ---- before ---- */

/* ctime never stands still or runs backwards on one object, whatever the clock does. */
static int64_t next_ctime(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, int64_t now)
{
	struct nfs4r_row row;

	if (nfs4r_store_row(eng->store, oid, &row) == NFS4R_KNOWN && row.ctime >= now)
		return row.ctime + 1;
	return now;
}

static void absolute_times(struct nfs4r_attrs *a, int64_t now)
{
	if (a->mask & NFS4R_ATTR_ATIME_NOW) {
		a->atime = now;
		a->mask |= NFS4R_ATTR_ATIME;
	}
	if (a->mask & NFS4R_ATTR_MTIME_NOW) {
		a->mtime = now;
		a->mask |= NFS4R_ATTR_MTIME;
	}
	a->mask &= ~(uint32_t)(NFS4R_ATTR_ATIME_NOW | NFS4R_ATTR_MTIME_NOW);
}

static void prepare_create(struct nfs4r_part *p, int64_t now)
{
	absolute_times(&p->attrs, now);
	p->mtime = p->attrs.mask & NFS4R_ATTR_MTIME ? p->attrs.mtime : now;
	p->attrs.mtime = p->mtime;
	if (!(p->attrs.mask & NFS4R_ATTR_ATIME))
		p->attrs.atime = now;
	p->attrs.mask |= NFS4R_ATTR_MTIME | NFS4R_ATTR_ATIME;
}

static void prepare_attrs(struct nfs4r_part *p, int64_t now)
{
	absolute_times(&p->attrs, now);
	p->attrs.mask &= ~(uint32_t)NFS4R_ATTR_SET_IDS_GO;
	if (p->attrs.mask & NFS4R_ATTR_MTIME)
		p->mtime = p->attrs.mtime;
	else if (p->attrs.mask & NFS4R_ATTR_SIZE)
		p->mtime = now;
}

static void prepare_part(struct nfs4r_engine *eng, struct nfs4r_part *p, int64_t now)
{
	p->ctime = next_ctime(eng, &p->oid, now);
	switch (p->effect) {
	case NFS4R_EFF_CREATE:
		prepare_create(p, now);
		break;
	case NFS4R_EFF_ATTRS:
		prepare_attrs(p, now);
		break;
	case NFS4R_EFF_WRITE:
	case NFS4R_EFF_ALLOC:
		p->mtime = p->ctime;
		break;
	case NFS4R_EFF_NAMES:
		p->mtime = p->ctime;
		for (uint32_t i = 0; i < p->nnames; i++)
			if (!nfs4r_oid_is_zero(&p->names[i].oid))
				p->names[i].cookie = nfs4r_store_new_cookie(eng->store, &p->oid, &p->names[i].name);
		break;
	default:
		break;
	}
}

void update_entry_prepare(struct nfs4r_engine *eng, struct nfs4r_entry *e)
{
	int64_t now = engine_now_real_ns();

	for (uint32_t i = 0; i < e->nparts; i++)
		prepare_part(eng, &e->parts[i], now);
}

/* ---- execution ---- */

static void resolve(struct nfs4r_engine *eng, const struct nfs4r_op *op, struct nfs4r_entry *e, struct nfs4r_exec *x)
{
	struct nfs4r_part *links = nfs4r_entry_part_with(e, NFS4R_EFF_LINKS), *moved = nfs4r_entry_part_with(e, NFS4R_EFF_PARENT);
	struct nfs4r_part *child = op->type == NFS4R_OP_RENAME ? moved : op->type == NFS4R_OP_REMOVE ? links :
												       NULL;
	struct nfs4r_row row;

	memset(x, 0, sizeof(*x));
	if (nfs4r_op_is_dirop(op->type))
		nfs4r_handle(eng, &op->dir, &x->dir);
	if (op->type == NFS4R_OP_RENAME)
		nfs4r_handle(eng, &op->dir2, &x->dir2);
	if (op->type == NFS4R_OP_LINK || !nfs4r_op_is_dirop(op->type))
		nfs4r_handle(eng, &op->obj, &x->obj);
	if (child) {
		nfs4r_handle(eng, &child->oid, &x->child);
		if (nfs4r_store_row(eng->store, &child->oid, &row) == NFS4R_KNOWN)
			x->child_type = row.type;
	}
	if (op->type == NFS4R_OP_RENAME && links)
		nfs4r_handle(eng, &links->oid, &x->target);
}

static enum nfs4r_status adopt(struct nfs4r_engine *eng, struct nfs4r_op *op, struct nfs4r_exec *x)
{
	enum nfs4r_status st = eng->ops->lookup(eng->ctx, &x->dir, op->name.s, &x->made);

	if (st == NFS4R_OK)
		st = eng->ops->getattr(eng->ctx, &x->made, &op->post);
	return st == NFS4R_OK && op->post.type != op->attrs.type ? NFS4R_NOENT : st; /* another object has the name by now */
}

/* @sync: nobody does it later. */
static enum nfs4r_status run_lops(struct nfs4r_engine *eng, struct nfs4r_op *op, bool sync, struct nfs4r_entry *e, struct nfs4r_exec *x)
{
	const struct nfs4r_lops *l = eng->ops;
	struct nfs4r_part *p = &e->parts[0];
	enum nfs4r_status st;

	switch (op->type) {
	case NFS4R_OP_CREATE:
	case NFS4R_OP_MKDIR:
	case NFS4R_OP_SYMLINK:
	case NFS4R_OP_MKNOD:
		return l->create(eng->ctx, &x->dir, op->name.s, &p->attrs, p->linktext, &op->cred, &x->made, &op->post);
	case NFS4R_OP_ADOPT:
		return adopt(eng, op, x);
	case NFS4R_OP_LINK:
		return l->link(eng->ctx, &x->obj, &x->dir, op->name.s, &op->cred);
	case NFS4R_OP_REMOVE:
		return l->remove(eng->ctx, &x->dir, op->name.s, &x->child, &op->cred);
	case NFS4R_OP_RENAME:
		return l->rename(eng->ctx, &x->child, &x->dir, op->name.s, &x->dir2, op->name2.s, &op->cred);
	case NFS4R_OP_SETATTR:
		st = engine_suid_alone(eng, op, &x->obj);
		return st == NFS4R_OK ? l->setattr(eng->ctx, &x->obj, &p->attrs, &op->cred, &op->post) : st;
	case NFS4R_OP_WRITE:
		if (!op->data)
			return NFS4R_INVAL;
		return l->write(eng->ctx, &x->obj, op->offset, op->data->data, op->data->len, sync && op->stable, &op->cred);
	case NFS4R_OP_ALLOCATE:
	case NFS4R_OP_DEALLOCATE:
		return l->allocate(eng->ctx, &x->obj, op->offset, op->length, op->type == NFS4R_OP_DEALLOCATE, &op->cred);
	case NFS4R_OP_SETXATTR:
		return l->setxattr(eng->ctx, &x->obj, op->text, op->data ? op->data->data : NULL, op->data ? op->data->len : 0, op->xflags, &op->cred);
	case NFS4R_OP_REMOVEXATTR:
		return l->removexattr(eng->ctx, &x->obj, op->text, &op->cred);
	default:
		return NFS4R_NOTSUPP;
	}
}

/* ---- after ---- */

#define OWNER_BITS (NFS4R_ATTR_MODE | NFS4R_ATTR_UID | NFS4R_ATTR_GID)

static void take_post(struct nfs4r_part *p, const struct nfs4r_attrs *post)
{
	if (post->mask & NFS4R_ATTR_MODE)
		p->attrs.mode = post->mode;
	if (post->mask & NFS4R_ATTR_UID)
		p->attrs.uid = post->uid;
	if (post->mask & NFS4R_ATTR_GID)
		p->attrs.gid = post->gid;
}

static void fill_created(struct nfs4r_engine *eng, struct nfs4r_entry *e, struct nfs4r_part *p, struct nfs4r_op *op, const struct nfs4r_exec *x)
{
	take_post(p, &op->post);
	p->attrs.mask |= op->post.mask & OWNER_BITS;
	p->attrs.size = op->post.size;
	p->attrs.mask = (p->attrs.mask & ~(uint32_t)NFS4R_ATTR_SIZE) | (p->attrs.type == NFS4R_TYPE_FILE && op->post.size ? NFS4R_ATTR_SIZE : 0);
	if (op->type == NFS4R_OP_ADOPT) { /* the object brings its own past along */
		p->attrs.type = op->post.type;
		p->attrs.atime = op->post.atime;
		p->attrs.mtime = p->mtime = op->post.mtime;
		p->attrs.rdev_major = op->post.rdev_major;
		p->attrs.rdev_minor = op->post.rdev_minor;
		p->attrs.mask |= NFS4R_ATTR_RDEV;
		if (op->post.acl && !p->attrs.acl && !(eng->ops->acl_is_xattr && eng->ops->acl_is_xattr(eng->ctx))) {
			p->attrs.acl = nfs4r_buf_get(op->post.acl);
			p->attrs.mask |= NFS4R_ATTR_ACL;
		}
	}
	nfs4r_entry_set_handle(e, &x->made);
}

static void fill(struct nfs4r_engine *eng, struct nfs4r_entry *e, struct nfs4r_op *op, const struct nfs4r_exec *x)
{
	struct nfs4r_part *p = &e->parts[0];

	if (p->effect == NFS4R_EFF_CREATE) {
		fill_created(eng, e, p, op, x);
	} else if (p->effect == NFS4R_EFF_ATTRS) {
		/* A change of owner or size may have cleared set-id bits. */
		if (p->attrs.mask & (OWNER_BITS | NFS4R_ATTR_SIZE | NFS4R_ATTR_ACL) && op->post.mask & NFS4R_ATTR_MODE)
			p->attrs.mask |= NFS4R_ATTR_MODE;
		take_post(p, &op->post);
	}
}

/* ---- what an execution that failed leaves behind ---- */

/* The disk took some of the bytes, or all but for the sync. The others get what is in the file now, read back as it is sent. */
static void keep_bytes(struct opctx *o)
{
	nfs4r_buf_put(o->entry->payload);
	o->entry->payload = NULL;
	o->run.changed = true;
}

static uint64_t size_of(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h)
{
	struct nfs4r_attrs now = { 0 };
	enum nfs4r_status st = eng->ops->getattr(eng->ctx, h, &now);

	nfs4r_buf_put(now.acl);
	return st == NFS4R_OK ? now.size : UINT64_MAX;
}

/* Space that was found before there was no more may count for the file's size; freeing some of it cannot fail for lack of space. */
static void set_size(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h, uint64_t size)
{
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_SIZE, .size = size };

	if (size_of(eng, h) != size)
		(void)eng->ops->setattr(eng->ctx, h, &a, NULL, NULL);
}

static enum nfs4r_status run(struct nfs4r_engine *eng, struct opctx *o, struct nfs4r_exec *x)
{
	return o->exec ? o->exec(o->arg, o->op, x) : run_lops(eng, o->op, o->state == OP_REMOTE && !o->run.kept, o->entry, x);
}

/* What somebody changed behind NFS, where the update wants to be, gives way. An object that it needs and that is gone comes back first. */
static enum nfs4r_status run_anyway(struct nfs4r_engine *eng, struct opctx *o, struct nfs4r_exec *x)
{
	enum nfs4r_status st = NFS4R_OK;

	if (o->op->type == NFS4R_OP_ADOPT || o->op->here_only) /* an import knows what it looks at */
		return run(eng, o, x);
	st = replicate_way_before(eng, o->op, x);
	if (st == NFS4R_OK)
		st = update_permission_now(eng, o);
	if (st == NFS4R_OK)
		st = run(eng, o, x);
	if ((st == NFS4R_EXIST || st == NFS4R_NOTEMPTY) && replicate_way_make(eng, o->entry, st))
		st = run(eng, o, x);
	return engine_missing_failed(eng, o->entry, o->op, st);
}

enum nfs4r_status update_entry_execute(struct nfs4r_engine *eng, struct opctx *o)
{
	struct nfs4r_exec x;
	enum nfs4r_status st;

	if (engine_missing_blocks(eng, o->entry))
		return NFS4R_DELAY;
	resolve(eng, o->op, o->entry, &x);
	o->run.set_ids = engine_suid_go(eng, o->op, &x.obj, &o->run.mode_remaining);
	if (o->run.set_ids)
		return NFS4R_DELAY;
	if (o->op->type == NFS4R_OP_SETXATTR || o->op->attrs.acl) {
		st = update_room_for_attributes(eng, o->op, &x.obj);
		if (st != NFS4R_OK)
			return st;
	}
	engine_suid_forget(eng->runtime.set_ids, o->entry);
	uint64_t size = o->op->type == NFS4R_OP_ALLOCATE ? size_of(eng, &x.obj) : UINT64_MAX;

	st = run_anyway(eng, o, &x);
	if (st == NFS4R_OK)
		fill(eng, o->entry, o->op, &x);
	else if (o->op->type == NFS4R_OP_WRITE && engine_is_disk_error(st))
		keep_bytes(o);
	else if (size != UINT64_MAX)
		set_size(eng, &x.obj, size);
	if (st == NFS4R_OK || o->run.changed)
		engine_touched_note(eng->runtime.touched, o->entry);
	return st;
}
