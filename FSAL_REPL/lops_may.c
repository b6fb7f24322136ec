/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * May the caller of an update do that, at the server that executes it (control 6.10)?
 *
 * Where names change the kernel answers: FSAL_VFS takes the caller's identity on. For all other updates, and for LINK, Ganesha decides before it calls the FSAL, and
 * FSAL_VFS works as root. Ganesha asked at the server that the client is connected to, some time ago. So its rules are applied once more here, by its own functions, to the object as it is
 * now. They are given a stand-in for the object, which answers for its attributes; to set some it only takes notes. What Ganesha would do to set-id bits is noted that way.
 *
 * The holder of an open may not do more than others: Ganesha, like the kernel's NFS server, checks each WRITE, and lets the owner of the file pass whatever the mode.
 *
 * For extended attributes, which Ganesha does not check, the rules are those of xattrs.c.
 */
#include "repl.h"
#include "sal_functions.h"

#include "base/xattr.h"

struct stand_in {
	struct fsal_obj_handle handle;
	struct state_hdl states; /* none: Ganesha looks for delegations */
	struct fsal_obj_handle *sub;
	struct repl_export *exp;
	const struct nfs4r_oid *oid;
};

static fsal_status_t tell_attrs(struct fsal_obj_handle *h, struct fsal_attrlist *out)
{
	struct stand_in *in = container_of(h, struct stand_in, handle);
	struct nfs4r_attrs now = { 0 };
	enum nfs4r_status st = repl_sub_getattr(in->sub, &now);

	if (st == NFS4R_OK)
		repl_attrs_to_fsal(in->exp, in->oid, &now, out);
	nfs4r_buf_put(now.acl);
	return repl_fsal_status(st);
}

static fsal_status_t note_set(struct fsal_obj_handle *h, bool bypass, struct state_t *state, struct fsal_attrlist *set)
{
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

static void stand_in_init(struct stand_in *in, struct fsal_obj_ops *ops, const struct repl_visit *v, const struct nfs4r_oid *oid)
{
	memset(in, 0, sizeof(*in));
	memset(ops, 0, sizeof(*ops));
	ops->getattrs = tell_attrs;
	ops->test_access = fsal_test_access;
	ops->setattr2 = note_set;
	in->handle.obj_ops = ops;
	in->handle.type = v->sub->type;
	in->handle.fsal = v->sub->fsal;
	in->handle.state_hdl = &in->states;
	state_hdl_init(&in->states, in->handle.type, &in->handle);
	in->sub = v->sub;
	in->exp = v->exp;
	in->oid = oid;
}

static fsal_status_t may_set(struct stand_in *in, struct nfs4r_op *op)
{
	struct fsal_attrlist set;
	fsal_status_t st;

	if (op->attrs.mask & NFS4R_ATTR_SIZE && in->handle.type != REGULAR_FILE)
		return fsalstat(ERR_FSAL_NO_ERROR, 0); /* refused by the execution, in its own words */
	repl_attrs_to_request(&set, &op->attrs);
	st = fsal_setattr(&in->handle, true, NULL, &set);
	if (!FSAL_IS_ERROR(st) && op->attrs.mask & NFS4R_ATTR_MODE)
		op->attrs.mode &= set.mode; /* else the file system takes set-id bits away by itself */
	fsal_release_attrs(&set);
	return st;
}

static fsal_status_t may_set_xattr(struct stand_in *in, const struct nfs4r_op *op)
{
	struct nfs4r_attrs now = { 0 };
	enum nfs4r_status st = NFS4R_OK;

	if (in->handle.type != REGULAR_FILE && in->handle.type != DIRECTORY)
		return fsalstat(ERR_FSAL_PERM, EPERM);
	if (strncmp(op->text, NFS4R_XATTR_USER, NFS4R_XATTR_USER_LEN) != 0)
		return fsalstat(ERR_FSAL_PERM, EPERM);
	if (in->handle.type == DIRECTORY)
		st = repl_sub_getattr(in->sub, &now);
	nfs4r_buf_put(now.acl);
	if (st != NFS4R_OK)
		return repl_fsal_status(st);
	if ((now.mode & S_ISVTX) != 0 && now.uid != op->cred.uid)
		return fsalstat(ERR_FSAL_PERM, EPERM);
	return fsal_test_access(&in->handle, FSAL_WRITE_ACCESS, NULL, NULL, false);
}

static fsal_status_t may(struct stand_in *in, struct nfs4r_op *op)
{
	static const fsal_accessflags_t add_name = FSAL_MODE_MASK_SET(FSAL_W_OK) | FSAL_MODE_MASK_SET(FSAL_X_OK) |
		FSAL_ACE4_MASK_SET(FSAL_ACE_PERM_EXECUTE) | FSAL_ACE4_MASK_SET(FSAL_ACE_PERM_ADD_FILE);

	switch (op->type) {
	case NFS4R_OP_SETATTR:
		return may_set(in, op);
	case NFS4R_OP_WRITE:
	case NFS4R_OP_ALLOCATE:
	case NFS4R_OP_DEALLOCATE:
		return fsal_test_access(&in->handle, FSAL_WRITE_ACCESS, NULL, NULL, true);
	case NFS4R_OP_SETXATTR:
	case NFS4R_OP_REMOVEXATTR:
		return may_set_xattr(in, op);
	case NFS4R_OP_LINK: /* of the directory */
		return fsal_test_access(&in->handle, add_name, NULL, NULL, false);
	default:
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	}
}

enum nfs4r_status repl_lops_may(void *ctx, const struct nfs4r_lhandle *obj, struct nfs4r_op *op)
{
	struct fsal_obj_ops ops;
	struct stand_in in;
	struct repl_visit v;

	if (repl_visit_enter(&v, ctx, obj, &op->cred) != NFS4R_OK)
		return v.status;
	stand_in_init(&in, &ops, &v, op->type == NFS4R_OP_LINK ? &op->dir : &op->obj);
	v.status = repl_status(may(&in, op));
	state_hdl_cleanup(&in.states, in.handle.type);
	repl_visit_leave(&v);
	return v.status;
}
