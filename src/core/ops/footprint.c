/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What an operation needs (control 3), and the errors its names already decide.
 *
 * Pure: reads the tree, changes nothing. It is asked when the operation comes, whenever it is
 * tried again, and a last time under the update locks (control 3.4); only the last answer is acted on.
 * An error read from a directory is good when nobody else controls that directory (control 3.5); `judged`
 * names it. The no-cycle check is only exact under control (control 3.6), hence after_cover.
 */
#include "core/ops/ops_int.h"

static void need(struct needs *nd, const struct nfs4r_oid *oid, uint32_t depth, bool explicit_only)
{
	for (uint32_t i = 0; i < nd->n; i++) {
		if (!nfs4r_oid_eq(&nd->v[i].oid, oid))
			continue;
		if (depth > nd->v[i].depth)
			nd->v[i].depth = depth;
		nd->v[i].explicit_only |= explicit_only;
		return;
	}
	assert(nd->n < 4);
	nd->v[nd->n++] = (struct need){ *oid, depth, explicit_only };
}

static void early(struct needs *nd, enum nfs4r_status st, const struct nfs4r_oid *judged)
{
	if (nd->deferred != NFS4R_OK)
		return;
	nd->deferred = st;
	nd->judged = *judged;
}

static bool usable(struct nfs4r_core *c, struct needs *nd, const struct nfs4r_oid *oid, struct nfs4r_facts *f)
{
	if (control_is_known(c, oid, f))
		return true;
	if (nfs4r_oid_is_zero(oid))
		f->known = NFS4R_DEAD; /* no object has it, and none ever will */
	early(nd, f->known == NFS4R_DEAD ? NFS4R_STALE : NFS4R_DELAY, oid); /* control 6.5 */
	return false;
}

static bool directory(struct nfs4r_core *c, struct needs *nd, const struct nfs4r_oid *oid)
{
	struct nfs4r_facts f;

	nd->args[nd->nargs++] = *oid;
	need(nd, oid, NFS4R_SHALLOW, false);
	if (!usable(c, nd, oid, &f))
		return false;
	if (f.type != NFS4R_TYPE_DIR) {
		early(nd, NFS4R_NOTDIR, oid);
		return false;
	}
	return true;
}

static void of_create(struct nfs4r_core *c, struct nfs4r_op *op, struct needs *nd)
{
	struct nfs4r_oid found;
	struct nfs4r_facts f;

	if (!directory(c, nd, &op->dir) || !c->tree.lookup(c->tree.ctx, &op->dir, &op->name, &found))
		return;
	nd->obj = found;
	nd->has_obj = true;
	nd->obj_type = control_is_known(c, &found, &f) ? f.type : 0;
	early(nd, NFS4R_EXIST, &op->dir);
}

static void of_link(struct nfs4r_core *c, struct nfs4r_op *op, struct needs *nd)
{
	struct nfs4r_oid found;
	struct nfs4r_facts f;
	bool dir_ok = directory(c, nd, &op->dir);

	nd->args[nd->nargs++] = op->obj;
	need(nd, &op->obj, NFS4R_SHALLOW, !FAULT(F_LINK_NOT_EXPLICIT)); /* soon multi: only explicit control counts (section 0) */
	if (!dir_ok || !usable(c, nd, &op->obj, &f))
		return;
	nd->obj = op->obj;
	nd->has_obj = true;
	nd->obj_type = f.type;
	if (f.type == NFS4R_TYPE_DIR)
		early(nd, NFS4R_PERM, &op->obj);
	else if (c->tree.lookup(c->tree.ctx, &op->dir, &op->name, &found))
		early(nd, NFS4R_EXIST, &op->dir);
}

static bool child(struct nfs4r_core *c, struct needs *nd, const struct nfs4r_oid *dir, const struct nfs4r_name *name,
		  struct nfs4r_facts *f, struct nfs4r_oid *oid)
{
	if (!c->tree.lookup(c->tree.ctx, dir, name, oid)) {
		early(nd, NFS4R_NOENT, dir);
		return false;
	}
	if (control_is_known(c, oid, f))
		return true;
	early(nd, NFS4R_DELAY, dir); /* a name whose object has not come yet */
	return false;
}

static void of_remove(struct nfs4r_core *c, struct nfs4r_op *op, struct needs *nd)
{
	struct nfs4r_facts f;

	if (!directory(c, nd, &op->dir) || !child(c, nd, &op->dir, &op->name, &f, &nd->obj))
		return;
	nd->has_obj = true;
	nd->obj_type = f.type;
	if (!FAULT(F_CHILD_NOT_NEEDED))
		need(nd, &nd->obj, NFS4R_SHALLOW, false); /* control 3.1 */
	if (f.type == NFS4R_TYPE_DIR && f.nentries)
		early(nd, NFS4R_NOTEMPTY, &nd->obj);
}

static void of_target(struct nfs4r_core *c, struct nfs4r_op *op, struct needs *nd)
{
	struct nfs4r_facts t;

	nd->has_target = c->tree.lookup(c->tree.ctx, &op->dir2, &op->name2, &nd->target);
	if (!nd->has_target)
		return;
	if (nfs4r_oid_eq(&nd->target, &nd->obj)) { /* same inode on both names */
		nd->nothing = true;
		return;
	}
	if (!control_is_known(c, &nd->target, &t)) {
		early(nd, NFS4R_DELAY, &op->dir2);
		return;
	}
	nd->target_type = t.type;
	if (!FAULT(F_CHILD_NOT_NEEDED))
		need(nd, &nd->target, NFS4R_SHALLOW, false);
	if (nd->obj_type == NFS4R_TYPE_DIR && t.type != NFS4R_TYPE_DIR)
		early(nd, NFS4R_NOTDIR, &op->dir2);
	else if (nd->obj_type != NFS4R_TYPE_DIR && t.type == NFS4R_TYPE_DIR)
		early(nd, NFS4R_ISDIR, &op->dir2);
	else if (t.type == NFS4R_TYPE_DIR && t.nentries)
		early(nd, NFS4R_NOTEMPTY, &nd->target);
}

static void of_rename(struct nfs4r_core *c, struct nfs4r_op *op, struct needs *nd)
{
	bool cross = !nfs4r_oid_eq(&op->dir, &op->dir2), from, to;
	struct nfs4r_facts o;

	from = directory(c, nd, &op->dir);
	to = !cross || directory(c, nd, &op->dir2);
	if (!from || !to || !child(c, nd, &op->dir, &op->name, &o, &nd->obj))
		return;
	nd->has_obj = true;
	nd->obj_type = o.type;
	nd->dirmove = cross && o.type == NFS4R_TYPE_DIR;
	if (nd->dirmove && !FAULT(F_MOVE_SHALLOW))
		need(nd, &nd->obj, NFS4R_DEEP, false); /* control 3.2 */
	else if (!FAULT(F_CHILD_NOT_NEEDED))
		need(nd, &nd->obj, NFS4R_SHALLOW, false);
	if (nd->dirmove && control_is_under(c, &op->dir2, &nd->obj)) {
		early(nd, NFS4R_INVAL, &op->dir2);
		nd->after_cover = true; /* control 3.6 */
		return;
	}
	of_target(c, op, nd);
}

static void of_object(struct nfs4r_core *c, struct nfs4r_op *op, struct needs *nd)
{
	struct nfs4r_facts f;
	bool bytes = op->type == NFS4R_OP_WRITE || op->type == NFS4R_OP_ALLOCATE || op->type == NFS4R_OP_DEALLOCATE ||
		(op->type == NFS4R_OP_SETATTR && (op->attrs.mask & NFS4R_ATTR_SIZE));
	bool lock = nfs4r_op_at_authority(op->type);
	bool xattr = op->type == NFS4R_OP_SETXATTR || op->type == NFS4R_OP_REMOVEXATTR;

	nd->args[nd->nargs++] = op->obj;
	need(nd, &op->obj, NFS4R_SHALLOW, false);
	if (!usable(c, nd, &op->obj, &f))
		return;
	nd->obj = op->obj;
	nd->has_obj = true;
	nd->obj_type = f.type;
	if (xattr && (!op->text || !*op->text))
		early(nd, NFS4R_INVAL, &op->obj);
	if ((bytes || lock) && f.type != NFS4R_TYPE_FILE)
		early(nd, f.type == NFS4R_TYPE_DIR ? NFS4R_ISDIR : NFS4R_INVAL, &op->obj);
}

static void of_claim(struct nfs4r_core *c, struct nfs4r_op *op, struct needs *nd)
{
	uint32_t depth = op->depth;
	struct nfs4r_facts f;

	if (depth < NFS4R_SHALLOW || depth > NFS4R_DEEP_PLUS)
		depth = NFS4R_SHALLOW;
	if (!usable(c, nd, &op->obj, &f))
		return;
	nd->obj = op->obj;
	nd->has_obj = true;
	nd->obj_type = f.type;
	need(nd, &op->obj, f.type == NFS4R_TYPE_DIR ? depth : NFS4R_SHALLOW, false);
}

void ops_needs_of(struct nfs4r_core *c, struct nfs4r_op *op, struct needs *nd)
{
	memset(nd, 0, sizeof(*nd));
	switch (op->type) {
	case NFS4R_OP_CREATE:
	case NFS4R_OP_MKDIR:
	case NFS4R_OP_SYMLINK:
	case NFS4R_OP_MKNOD:
	case NFS4R_OP_ADOPT:
		of_create(c, op, nd);
		break;
	case NFS4R_OP_LINK:
		of_link(c, op, nd);
		break;
	case NFS4R_OP_REMOVE:
		of_remove(c, op, nd);
		break;
	case NFS4R_OP_RENAME:
		of_rename(c, op, nd);
		break;
	case NFS4R_OP_SETATTR:
	case NFS4R_OP_WRITE:
	case NFS4R_OP_ALLOCATE:
	case NFS4R_OP_DEALLOCATE:
	case NFS4R_OP_SETXATTR:
	case NFS4R_OP_REMOVEXATTR:
	case NFS4R_OP_LOCK:
	case NFS4R_OP_LOCK_TEST:
	case NFS4R_OP_UNLOCK:
	case NFS4R_OP_UNWAIT:
	case NFS4R_OP_SHARE:
		of_object(c, op, nd);
		break;
	case NFS4R_OP_CLAIM:
		of_claim(c, op, nd);
		break;
	default:
		nd->deferred = NFS4R_INVAL;
		break;
	}
}

/* Is it a lock or a share of a file that has not come yet? */
bool ops_is_ahead_of_file(const struct nfs4r_op *op, const struct needs *nd)
{
	return nfs4r_op_at_authority(op->type) && nd->deferred == NFS4R_DELAY;
}

/* Do the names still mean the same objects (control 3.4)? */
bool ops_needs_same(const struct needs *a, const struct needs *b)
{
	if (a->deferred != b->deferred || a->nothing != b->nothing || a->n != b->n || a->has_obj != b->has_obj ||
	    a->has_target != b->has_target || a->dirmove != b->dirmove)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (!nfs4r_oid_eq(&a->v[i].oid, &b->v[i].oid) || a->v[i].depth != b->v[i].depth)
			return false;
	return (!a->has_obj || nfs4r_oid_eq(&a->obj, &b->obj)) &&
		(!a->has_target || nfs4r_oid_eq(&a->target, &b->target));
}
