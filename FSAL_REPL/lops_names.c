/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Local object operations on names: the sub-FSAL's directories as the engine changes them.
 *
 * Making an object is the delicate one. For a client (cred given) it is made as that user and gets what
 * the file system gives it: its group may come from the directory, its mode from a default ACL. What came
 * out is reported, and is what the other servers must make of it, exactly: there (cred NULL) everything is
 * set once more afterwards if it differs, so that no default of the local directory shows through. So are the times of a symbolic
 * link that a client makes: FSAL_VFS does not set them.
 */
#include "repl.h"

static void sub_release(struct fsal_obj_handle *sub)
{
	sub->obj_ops->release(sub);
}

/* Root of the export. */
static fsal_status_t sub_root(struct repl_export *exp, struct fsal_obj_handle **out)
{
	struct fsal_export *sub = exp->export.sub_export;

	return sub->exp_ops.lookup_path(sub, exp->path, out, NULL);
}

enum nfs4r_status repl_lops_root(void *ctx, struct nfs4r_lhandle *out)
{
	struct repl_visit v;

	if (repl_visit_enter(&v, ctx, NULL, NULL) != NFS4R_OK)
		return v.status;
	v.status = repl_status(sub_root(v.exp, &v.sub));
	if (v.status != NFS4R_OK)
		v.sub = NULL;
	else if (!repl_sub_handle_bytes(v.sub, out))
		v.status = NFS4R_TOOBIG;
	repl_visit_leave(&v);
	return v.status;
}

/* @sub has the name there. */
static void note_place(struct fsal_obj_handle *sub, const struct nfs4r_lhandle *dir, const char *name)
{
	struct nfs4r_lhandle h;

	if (repl_needs_place(sub->type) && repl_sub_handle_bytes(sub, &h))
		repl_place_note(&h, dir, name);
}

enum nfs4r_status repl_lops_lookup(void *ctx, const struct nfs4r_lhandle *dir, const char *name, struct nfs4r_lhandle *out)
{
	struct fsal_obj_handle *found = NULL;
	struct repl_visit v;
	fsal_status_t st;

	if (repl_visit_enter(&v, ctx, dir, NULL) != NFS4R_OK)
		return v.status;
	st = v.sub->obj_ops->lookup(v.sub, name, &found, NULL);
	v.status = repl_status(st);
	if (!FSAL_IS_ERROR(st)) {
		if (!repl_sub_handle_bytes(found, out))
			v.status = NFS4R_TOOBIG;
		else
			note_place(found, dir, name);
		sub_release(found);
	}
	repl_visit_leave(&v);
	return v.status;
}

/* ---- make ---- */

static fsal_status_t make(struct fsal_obj_handle *dir, const struct repl_make *m, struct fsal_attrlist *in, struct fsal_obj_handle **out,
			  struct fsal_attrlist *post)
{
	bool perm_check = false;

	switch (m->attrs->type) {
	case NFS4R_TYPE_FILE:
		return dir->obj_ops->open2(dir, m->state, m->flags, FSAL_GUARDED, m->name, in, NULL, out, post, &perm_check, NULL, NULL);
	case NFS4R_TYPE_DIR:
		return dir->obj_ops->mkdir(dir, m->name, in, out, post, NULL, NULL);
	case NFS4R_TYPE_SYMLINK:
		return dir->obj_ops->symlink(dir, m->name, m->linktext, in, out, post, NULL, NULL);
	default:
		return dir->obj_ops->mknode(dir, m->name, repl_fsal_type(m->attrs->type), in, out, post, NULL, NULL);
	}
}

fsal_status_t repl_sub_make(struct fsal_obj_handle *dir, const struct repl_make *m, struct fsal_obj_handle **out, struct nfs4r_attrs *post)
{
	struct fsal_attrlist in, came_out;
	fsal_status_t st;

	repl_attrs_to_request(&in, m->attrs);
	in.valid_mask |= ATTR_MODE;
	fsal_prepare_attrs(&came_out, ATTRS_POSIX);
	st = make(dir, m, &in, out, &came_out);
	fsal_release_attrs(&in);
	if (!FSAL_IS_ERROR(st))
		repl_attrs_from_sub(post, &came_out);
	fsal_release_attrs(&came_out);
	return st;
}

#define TIMES (NFS4R_ATTR_ATIME | NFS4R_ATTR_MTIME)

static const uint32_t exact_mask = NFS4R_ATTR_MODE | NFS4R_ATTR_UID | NFS4R_ATTR_GID | TIMES;

static bool differs(const struct nfs4r_attrs *want, const struct nfs4r_attrs *have)
{
	uint32_t m = want->mask;

	return ((m & NFS4R_ATTR_MODE) && want->mode != have->mode) || ((m & NFS4R_ATTR_UID) && want->uid != have->uid) ||
		((m & NFS4R_ATTR_GID) && want->gid != have->gid) || ((m & NFS4R_ATTR_ATIME) && want->atime != have->atime) ||
		((m & NFS4R_ATTR_MTIME) && want->mtime != have->mtime);
}

/* After a replica's make (@cred NULL): nothing of the local directory may show. */
static enum nfs4r_status make_exact(struct fsal_obj_handle *sub, const struct nfs4r_attrs *want, const struct nfs4r_cred *cred,
				    struct nfs4r_attrs *post)
{
	struct nfs4r_attrs set = *want;
	enum nfs4r_status st;

	if (cred != NULL)
		set.mask &= sub->type == SYMBOLIC_LINK ? TIMES : 0;
	set.mask &= exact_mask;
	if (sub->type == SYMBOLIC_LINK)
		set.mask &= ~NFS4R_ATTR_MODE; /* it cannot be set */
	if (!differs(&set, post))
		return NFS4R_OK;
	st = repl_status(repl_sub_setattr(sub, true, NULL, &set, NULL));
	if (st != NFS4R_OK)
		return st;
	nfs4r_buf_put(post->acl);
	post->acl = NULL;
	return repl_sub_getattr(sub, post);
}

/* Take back what was made and could not be finished. */
static void unmake(struct fsal_obj_handle *dir, struct fsal_obj_handle *made, const char *name)
{
	struct user_cred saved = op_ctx->creds;

	memset(&op_ctx->creds, 0, sizeof(op_ctx->creds));
	dir->obj_ops->unlink(dir, made, name, NULL, NULL);
	op_ctx->creds = saved;
}

enum nfs4r_status repl_lops_create(void *ctx, const struct nfs4r_lhandle *dir, const char *name,
				   const struct nfs4r_attrs *attrs, const char *linktext, const struct nfs4r_cred *cred,
				   struct nfs4r_lhandle *out, struct nfs4r_attrs *post)
{
	const struct repl_make make = { .name = name, .attrs = attrs, .linktext = linktext, .flags = FSAL_O_RDWR };
	struct fsal_obj_handle *made = NULL;
	struct repl_visit v;

	if (repl_visit_enter(&v, ctx, dir, cred) != NFS4R_OK)
		return v.status;
	v.status = repl_status(repl_sub_make(v.sub, &make, &made, post));
	if (v.status == NFS4R_OK) {
		v.status = repl_sub_handle_bytes(made, out) ? NFS4R_OK : NFS4R_TOOBIG;
		if (v.status == NFS4R_OK)
			v.status = make_exact(made, attrs, cred, post);
		if (v.status != NFS4R_OK)
			unmake(v.sub, made, name);
		else
			note_place(made, dir, name);
		sub_release(made);
	}
	repl_visit_leave(&v);
	return v.status;
}

/* ---- change ---- */

enum nfs4r_status repl_lops_link(void *ctx, const struct nfs4r_lhandle *obj, const struct nfs4r_lhandle *dir,
				 const char *name, const struct nfs4r_cred *cred)
{
	struct fsal_obj_handle *into;
	struct repl_kept *kept;
	struct repl_visit v;

	if (repl_visit_enter(&v, ctx, obj, cred) != NFS4R_OK)
		return v.status;
	v.status = repl_status(repl_sub_get(v.exp, dir, &kept, &into));
	if (v.status == NFS4R_OK) {
		v.status = repl_status(v.sub->obj_ops->link(v.sub, into, name, NULL, NULL));
		if (v.status == NFS4R_OK)
			note_place(v.sub, dir, name);
		repl_sub_put(kept);
	}
	repl_visit_leave(&v);
	return v.status;
}

/* FSAL_VFS says STALE for a name that is not there; the directory itself was just opened. */
static enum nfs4r_status name_status(fsal_status_t st)
{
	return st.major == ERR_FSAL_STALE && st.minor == ENOENT ? NFS4R_NOENT : repl_status(st);
}

enum nfs4r_status repl_lops_remove(void *ctx, const struct nfs4r_lhandle *dir, const char *name,
				   const struct nfs4r_lhandle *obj, const struct nfs4r_cred *cred)
{
	struct fsal_obj_handle *child = NULL;
	struct repl_visit v;
	fsal_status_t st;

	if (repl_visit_enter(&v, ctx, dir, cred) != NFS4R_OK)
		return v.status;
	st = v.sub->obj_ops->lookup(v.sub, name, &child, NULL);
	if (!FSAL_IS_ERROR(st)) {
		st = v.sub->obj_ops->unlink(v.sub, child, name, NULL, NULL);
		sub_release(child);
	}
	v.status = name_status(st);
	repl_visit_leave(&v);
	return v.status;
}

enum nfs4r_status repl_lops_rename(void *ctx, const struct nfs4r_lhandle *obj, const struct nfs4r_lhandle *dir,
				   const char *name, const struct nfs4r_lhandle *dir2, const char *name2,
				   const struct nfs4r_cred *cred)
{
	struct fsal_obj_handle *to = NULL, *child = NULL;
	struct repl_kept *kept = NULL;
	struct repl_visit v;
	fsal_status_t st;

	if (repl_visit_enter(&v, ctx, dir, cred) != NFS4R_OK)
		return v.status;
	st = repl_sub_get(v.exp, dir2, &kept, &to);
	if (!FSAL_IS_ERROR(st))
		st = v.sub->obj_ops->lookup(v.sub, name, &child, NULL);
	if (!FSAL_IS_ERROR(st)) {
		st = v.sub->obj_ops->rename(child, v.sub, name, to, name2, NULL, NULL, NULL, NULL);
		if (!FSAL_IS_ERROR(st))
			note_place(child, dir2, name2);
		sub_release(child);
	}
	if (kept != NULL)
		repl_sub_put(kept);
	v.status = name_status(st);
	repl_visit_leave(&v);
	return v.status;
}

/* ---- read ---- */

enum nfs4r_status repl_lops_readlink(void *ctx, const struct nfs4r_lhandle *obj, char *text, uint32_t *len)
{
	struct gsh_buffdesc content = { 0 };
	struct repl_visit v;
	size_t n;

	if (repl_visit_enter(&v, ctx, obj, NULL) != NFS4R_OK)
		return v.status;
	v.status = v.sub->type != SYMBOLIC_LINK ? NFS4R_INVAL :
						  repl_status(v.sub->obj_ops->readlink(v.sub, &content, false));
	if (v.status == NFS4R_OK) {
		n = strnlen(content.addr, content.len);
		if (n > *len)
			v.status = NFS4R_TOOBIG;
		else
			memcpy(text, content.addr, n);
		*len = n;
	}
	gsh_free(content.addr);
	repl_visit_leave(&v);
	return v.status;
}

struct walk {
	bool (*fn)(void *arg, const char *name);
	void *arg;
	bool stopped;
	fsal_cookie_t cookie;
};

static enum fsal_dir_result walk_name(const char *name, struct fsal_obj_handle *sub, struct fsal_attrlist *attrs,
				      void *dir_state, fsal_cookie_t cookie)
{
	struct walk *w = dir_state;

	sub_release(sub); /* it is ours, only the name is wanted */
	w->cookie = cookie;
	w->stopped = !w->fn(w->arg, name);
	return w->stopped ? DIR_TERMINATE : DIR_CONTINUE;
}

enum nfs4r_status repl_lops_readdir(void *ctx, const struct nfs4r_lhandle *dir,
				    bool (*fn)(void *arg, const char *name), void *arg)
{
	struct walk w = { .fn = fn, .arg = arg };
	fsal_cookie_t *whence = NULL, at;
	struct repl_visit v;
	bool eof = false;

	if (repl_visit_enter(&v, ctx, dir, NULL) != NFS4R_OK)
		return v.status;
	if (repl_raw_can(v.sub)) { /* without a look at every object */
		v.status = repl_status(repl_raw_readdir(v.sub, fn, arg));
		eof = true;
	}
	while (v.status == NFS4R_OK && !eof && !w.stopped) {
		v.status = repl_status(v.sub->obj_ops->readdir(v.sub, whence, &w, walk_name, 0, &eof));
		at = w.cookie;
		whence = &at;
	}
	repl_visit_leave(&v);
	return v.status;
}
