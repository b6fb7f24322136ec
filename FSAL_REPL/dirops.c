/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Changing the name space: make, link, rename, remove. Each is one operation of the engine, which finds
 * or becomes the primary, executes through lops with the caller's permissions, and answers when the
 * others know. We translate, wrap what was made, and report the directory's versions before and after,
 * which the primary took under its locks: Ganesha passes them on as an atomic change_info.
 */
#include "repl.h"

static fsal_status_t set_name(struct nfs4r_name *out, const char *name)
{
	size_t len = strlen(name);

	if (len > NFS4R_NAME_MAX)
		return fsalstat(ERR_FSAL_NAMETOOLONG, ENAMETOOLONG);
	return fsalstat(nfs4r_name_set(out, name, len) ? ERR_FSAL_NO_ERROR : ERR_FSAL_INVAL, 0);
}

static fsal_status_t update(struct nfs4r_op *op, struct fsal_attrlist *pre, struct fsal_attrlist *post)
{
	fsal_status_t st = repl_fsal_status(repl_update(repl_cur_export(), op, NULL, NULL));

	if (!FSAL_IS_ERROR(st))
		repl_change_info(op->dir_before, op->dir_after, pre, post);
	return st;
}

/* Wrap what an operation made. It exists: a failure to read its attributes must not become the answer. */
static fsal_status_t wrap_made(struct repl_export *exp, struct nfs4r_op *op, uint32_t type,
			       struct fsal_obj_handle **out, struct fsal_attrlist *attrs_out)
{
	struct repl_obj *obj = repl_obj_new(exp, &op->result, repl_fsal_type(type), NULL);
	fsal_status_t st = repl_fill_attrs(exp, obj, NULL, attrs_out);

	if (FSAL_IS_ERROR(st)) {
		repl_obj_release(&obj->handle);
		return st;
	}
	*out = &obj->handle;
	return st;
}

struct make {
	uint32_t op, type;
	const char *target; /* symlink */
};

static fsal_status_t make(const struct make *m, struct fsal_obj_handle *dir, const char *name, struct fsal_attrlist *in,
			  struct fsal_obj_handle **out, struct fsal_attrlist *attrs_out, struct fsal_attrlist *pre,
			  struct fsal_attrlist *post)
{
	struct repl_export *exp = repl_cur_export();
	struct nfs4r_op *op = repl_op_new(m->op);
	fsal_status_t st = set_name(&op->name, name);

	*out = NULL;
	if (FSAL_IS_ERROR(st))
		goto out;
	op->dir = repl_obj(dir)->oid;
	st = repl_attrs_from_request(&op->attrs, in);
	if (FSAL_IS_ERROR(st))
		goto out;
	op->attrs.type = m->type;
	op->attrs.mask |= NFS4R_ATTR_TYPE;
	if (m->type != NFS4R_TYPE_CHR && m->type != NFS4R_TYPE_BLK)
		op->attrs.mask &= ~NFS4R_ATTR_RDEV;
	op->attrs.mask &= ~NFS4R_ATTR_SIZE;
	if (m->target != NULL) {
		op->text = strdup(m->target); /* the engine frees it */
		if (op->text == NULL || strlen(m->target) >= NFS4R_PATH_MAX) {
			st = fsalstat(ERR_FSAL_NAMETOOLONG, ENAMETOOLONG);
			goto out;
		}
	}
	st = update(op, pre, post);
	if (!FSAL_IS_ERROR(st))
		st = wrap_made(exp, op, m->type, out, attrs_out);
	else if (st.major == ERR_FSAL_EXIST)
		repl_compound_remember_taken(exp, &op->dir, name);
out:
	repl_op_free(op);
	return st;
}

fsal_status_t repl_mkdir(struct fsal_obj_handle *dir, const char *name, struct fsal_attrlist *in,
			 struct fsal_obj_handle **out, struct fsal_attrlist *attrs_out, struct fsal_attrlist *pre,
			 struct fsal_attrlist *post)
{
	static const struct make m = { NFS4R_OP_MKDIR, NFS4R_TYPE_DIR, NULL };

	return make(&m, dir, name, in, out, attrs_out, pre, post);
}

fsal_status_t repl_mknode(struct fsal_obj_handle *dir, const char *name, object_file_type_t type,
			  struct fsal_attrlist *in, struct fsal_obj_handle **out, struct fsal_attrlist *attrs_out,
			  struct fsal_attrlist *pre, struct fsal_attrlist *post)
{
	const struct make m = { NFS4R_OP_MKNOD, repl_type(type), NULL };

	switch (type) {
	case FIFO_FILE:
	case SOCKET_FILE:
	case CHARACTER_FILE:
	case BLOCK_FILE:
		return make(&m, dir, name, in, out, attrs_out, pre, post);
	default:
		*out = NULL;
		return fsalstat(ERR_FSAL_BADTYPE, EINVAL);
	}
}

fsal_status_t repl_symlink(struct fsal_obj_handle *dir, const char *name, const char *target,
			   struct fsal_attrlist *in, struct fsal_obj_handle **out, struct fsal_attrlist *attrs_out,
			   struct fsal_attrlist *pre, struct fsal_attrlist *post)
{
	const struct make m = { NFS4R_OP_SYMLINK, NFS4R_TYPE_SYMLINK, target };

	return make(&m, dir, name, in, out, attrs_out, pre, post);
}

fsal_status_t repl_link(struct fsal_obj_handle *h, struct fsal_obj_handle *dir, const char *name,
			struct fsal_attrlist *pre, struct fsal_attrlist *post)
{
	struct nfs4r_op *op = repl_op_new(NFS4R_OP_LINK);
	fsal_status_t st = set_name(&op->name, name);

	if (!FSAL_IS_ERROR(st)) {
		op->obj = repl_obj(h)->oid;
		op->dir = repl_obj(dir)->oid;
		st = update(op, pre, post);
	}
	repl_op_free(op);
	return st;
}

fsal_status_t repl_rename(struct fsal_obj_handle *h, struct fsal_obj_handle *olddir, const char *oldname,
			  struct fsal_obj_handle *newdir, const char *newname, struct fsal_attrlist *oldpre,
			  struct fsal_attrlist *oldpost, struct fsal_attrlist *newpre, struct fsal_attrlist *newpost)
{
	struct nfs4r_op *op = repl_op_new(NFS4R_OP_RENAME);
	fsal_status_t st = set_name(&op->name, oldname);

	if (!FSAL_IS_ERROR(st))
		st = set_name(&op->name2, newname);
	if (!FSAL_IS_ERROR(st)) {
		op->dir = repl_obj(olddir)->oid;
		op->dir2 = repl_obj(newdir)->oid;
		st = update(op, oldpre, oldpost);
	}
	if (!FSAL_IS_ERROR(st)) {
		bool same = nfs4r_oid_eq(&op->dir, &op->dir2);

		repl_change_info(same ? op->dir_before : op->dir2_before, same ? op->dir_after : op->dir2_after, newpre,
				 newpost);
	}
	repl_op_free(op);
	return st;
}

fsal_status_t repl_unlink(struct fsal_obj_handle *dir, struct fsal_obj_handle *h, const char *name,
			  struct fsal_attrlist *pre, struct fsal_attrlist *post)
{
	struct nfs4r_op *op = repl_op_new(NFS4R_OP_REMOVE);
	fsal_status_t st = set_name(&op->name, name);

	if (!FSAL_IS_ERROR(st)) {
		op->dir = repl_obj(dir)->oid;
		st = update(op, pre, post);
	}
	repl_op_free(op);
	return st;
}
