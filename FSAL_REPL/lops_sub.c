/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Local object operations for the engine, by calls to the sub-FSAL. This file: visiting an object,
 * attributes, extended attributes, the table. Names: lops_names.c. Bytes: lops_data.c.
 *
 * The engine calls from its own threads, which have no op_ctx, or from a worker in the middle of some
 * client's operation. A visit gives the thread a context of the sub layer, as root or as the caller whose
 * credentials come with the operation (then the file system checks permissions as for a local client), and
 * a handle for the object. Nothing is kept over a visit but handles of directories (sub_cache.c) and descriptors that the
 * sub-FSAL itself caches.
 */
#include "repl.h"

enum nfs4r_status repl_visit_enter(struct repl_visit *v, void *ctx, const struct nfs4r_lhandle *obj,
				   const struct nfs4r_cred *cred)
{
	fsal_status_t st = fsalstat(ERR_FSAL_NO_ERROR, 0);

	v->exp = ctx;
	v->sub = NULL;
	v->kept = NULL;
	if (!repl_wait_ready(v->exp))
		return v->status = NFS4R_DELAY;
	repl_context_enter(&v->ctx, v->exp, v->exp->export.sub_export, cred);
	if (obj != NULL)
		st = repl_sub_get(v->exp, obj, &v->kept, &v->sub);
	if (FSAL_IS_ERROR(st))
		repl_context_leave(&v->ctx);
	return v->status = repl_status(st);
}

void repl_visit_leave(struct repl_visit *v)
{
	if (v->kept != NULL)
		repl_sub_put(v->kept);
	else if (v->sub != NULL)
		v->sub->obj_ops->release(v->sub);
	repl_context_leave(&v->ctx);
}

/* FSAL_VFS opens the object, or finds it by name, or does not set times: what is no file and no directory is better named by its handle alone. */
static bool by_handle(const struct fsal_obj_handle *sub)
{
	return sub->type != REGULAR_FILE && sub->type != DIRECTORY && repl_raw_can(sub);
}

enum nfs4r_status repl_sub_getattr(struct fsal_obj_handle *sub, struct nfs4r_attrs *out)
{
	attrmask_t wanted = ATTRS_POSIX, has = op_ctx->fsal_export->exp_ops.fs_supported_attrs(op_ctx->fsal_export);
	struct fsal_attrlist attrs;
	fsal_status_t st;

	if (by_handle(sub) && sub->type != FIFO_FILE) /* a FIFO has an ACL, which FSAL_VFS translates */
		return repl_status(repl_raw_getattr(sub, out));
	if (sub->type != SYMBOLIC_LINK)
		wanted |= ATTR_ACL;
	fsal_prepare_attrs(&attrs, wanted & has);
	st = sub->obj_ops->getattrs(sub, &attrs);
	if (!FSAL_IS_ERROR(st))
		repl_attrs_from_sub(out, &attrs);
	fsal_release_attrs(&attrs);
	return repl_status(st);
}

static enum nfs4r_status lops_getattr(void *ctx, const struct nfs4r_lhandle *obj, struct nfs4r_attrs *out)
{
	struct repl_visit v;

	if (repl_visit_enter(&v, ctx, obj, NULL) != NFS4R_OK)
		return v.status;
	v.status = repl_sub_getattr(v.sub, out);
	repl_visit_leave(&v);
	return v.status;
}

/*
 * FSAL_VFS changes the mode before the owner, and a change of the owner takes set-id bits away, from root's hands as well: of anything but a directory,
 * and though the owner is the same. The answer to a client says what came out of that; a copy has to be exact.
 */
static bool loses_set_ids(const struct fsal_obj_handle *sub, const struct nfs4r_attrs *attrs)
{
	return sub->type != DIRECTORY && sub->type != SYMBOLIC_LINK && attrs->mask & NFS4R_ATTR_MODE && attrs->mode & 06000 &&
		attrs->mask & (NFS4R_ATTR_UID | NFS4R_ATTR_GID);
}

static fsal_status_t set_once(struct fsal_obj_handle *sub, bool bypass, struct state_t *state, const struct nfs4r_attrs *attrs)
{
	struct fsal_attrlist in;
	fsal_status_t st;

	repl_attrs_to_request(&in, attrs);
	st = sub->obj_ops->setattr2(sub, bypass, state, &in);
	fsal_release_attrs(&in);
	return st;
}

fsal_status_t repl_sub_setattr(struct fsal_obj_handle *sub, bool bypass, struct state_t *state, const struct nfs4r_attrs *attrs, const struct nfs4r_cred *cred)
{
	struct nfs4r_attrs mode = { .mask = NFS4R_ATTR_MODE, .mode = attrs->mode };
	fsal_status_t st;

	if (by_handle(sub) && !(attrs->mask & NFS4R_ATTR_SIZE) && (sub->type != FIFO_FILE || !(attrs->mask & NFS4R_ATTR_ACL)))
		return repl_raw_setattr(sub, attrs);
	st = set_once(sub, bypass, state, attrs);
	return FSAL_IS_ERROR(st) || cred != NULL || !loses_set_ids(sub, attrs) ? st : set_once(sub, bypass, state, &mode);
}

static enum nfs4r_status lops_setattr(void *ctx, const struct nfs4r_lhandle *obj, const struct nfs4r_attrs *attrs,
				      const struct nfs4r_cred *cred, struct nfs4r_attrs *post)
{
	struct repl_visit v;

	if (repl_visit_enter(&v, ctx, obj, cred) != NFS4R_OK)
		return v.status;
	v.status = repl_status(repl_sub_setattr(v.sub, true, NULL, attrs, cred));
	if (v.status == NFS4R_OK && post != NULL)
		v.status = repl_sub_getattr(v.sub, post);
	repl_visit_leave(&v);
	return v.status;
}

static enum nfs4r_status lops_setxattr(void *ctx, const struct nfs4r_lhandle *obj, const char *name, const void *val,
				       uint32_t len, uint32_t flags, const struct nfs4r_cred *cred)
{
	struct repl_visit v;

	if (repl_visit_enter(&v, ctx, obj, cred) != NFS4R_OK)
		return v.status;
	v.status = repl_status(repl_sub_setxattr(v.sub, name, val, len, flags));
	repl_visit_leave(&v);
	return v.status;
}

static enum nfs4r_status lops_removexattr(void *ctx, const struct nfs4r_lhandle *obj, const char *name,
					  const struct nfs4r_cred *cred)
{
	struct repl_visit v;

	if (repl_visit_enter(&v, ctx, obj, cred) != NFS4R_OK)
		return v.status;
	v.status = repl_status(repl_sub_removexattr(v.sub, name));
	repl_visit_leave(&v);
	return v.status;
}

static enum nfs4r_status lops_getxattr(void *ctx, const struct nfs4r_lhandle *obj, const char *name, void *val, uint32_t *len)
{
	struct repl_visit v;

	if (repl_visit_enter(&v, ctx, obj, NULL) != NFS4R_OK)
		return v.status;
	v.status = repl_status(repl_sub_getxattr(v.sub, name, val, len));
	repl_visit_leave(&v);
	return v.status;
}

static enum nfs4r_status lops_listxattr(void *ctx, const struct nfs4r_lhandle *obj, char *names, uint32_t *len)
{
	struct repl_visit v;

	if (repl_visit_enter(&v, ctx, obj, NULL) != NFS4R_OK)
		return v.status;
	v.status = repl_status(repl_sub_listxattr(v.sub, names, len));
	repl_visit_leave(&v);
	return v.status;
}

static bool lops_ready(void *ctx)
{
	return repl_wait_ready(ctx);
}

/* ---- for an import ---- */

static bool lops_acl_is_xattr(void *ctx)
{
	const struct repl_export *exp = ctx;

	return strcmp(exp->export.sub_export->fsal->name, "VFS") == 0;
}

static enum nfs4r_status lops_acl_bytes(void *ctx, const struct nfs4r_buf *acl, uint32_t *own, uint32_t *inherited)
{
	return repl_acl_bytes(acl, own, inherited) ? NFS4R_OK : NFS4R_NOMEM;
}

static enum nfs4r_status lops_is_mount(void *ctx, const struct nfs4r_lhandle *dir, const char *name, bool *yes)
{
	struct repl_visit v;

	*yes = false;
	if (repl_visit_enter(&v, ctx, dir, NULL) != NFS4R_OK)
		return v.status;
	if (repl_raw_can(v.sub))
		v.status = repl_status(repl_raw_is_mount(v.sub, name, yes));
	repl_visit_leave(&v);
	return v.status;
}

static enum nfs4r_status lops_make_mutable(void *ctx, const struct nfs4r_lhandle *obj, uint32_t *had)
{
	struct repl_visit v;

	*had = 0;
	if (repl_visit_enter(&v, ctx, obj, NULL) != NFS4R_OK)
		return v.status;
	if (repl_raw_can(v.sub))
		v.status = repl_status(repl_raw_make_mutable(v.sub, had));
	repl_visit_leave(&v);
	return v.status;
}

const struct nfs4r_lops repl_lops = {
	.root = repl_lops_root,
	.lookup = repl_lops_lookup,
	.create = repl_lops_create,
	.link = repl_lops_link,
	.remove = repl_lops_remove,
	.rename = repl_lops_rename,
	.write = repl_lops_write,
	.read = repl_lops_read,
	.setattr = lops_setattr,
	.allocate = repl_lops_allocate,
	.setxattr = lops_setxattr,
	.removexattr = lops_removexattr,
	.getxattr = lops_getxattr,
	.listxattr = lops_listxattr,
	.getattr = lops_getattr,
	.readlink = repl_lops_readlink,
	.readdir = repl_lops_readdir,
	.commit = repl_lops_commit,
	.sync_all = repl_lops_sync_all,
	.seek = repl_lops_seek,
	.dir_fd = repl_lops_dir_fd,
	.ready = lops_ready,
	.may = repl_lops_may,
	.acl_is_xattr = lops_acl_is_xattr,
	.acl_bytes = lops_acl_bytes,
	.is_mount = lops_is_mount,
	.make_mutable = lops_make_mutable,
	.changed = repl_lops_changed,
	.again = repl_lops_again,
	.moved = repl_lops_moved,
	.locks = repl_lops_locks,
	.count_locks = repl_lops_count_locks,
	.lock_ready = repl_lops_lock_ready,
	.lock_again = repl_lops_lock_again,
	.fence = repl_lops_fence,
	.locks_shared = repl_lops_locks_shared,
};
