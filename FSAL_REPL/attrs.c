/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Attributes. What a client sees is the local file system's word on mode, owner, size and space with the
 * volume's word over it: version (change), ctime, mtime, link count, fileid, fsid. Where the object is
 * controlled elsewhere the primary's answer replaces both.
 *
 * An orphan (last name gone, still open here) has only the local file left; its holders keep seeing that.
 */
#include "repl.h"

static bool is_openable(object_file_type_t type)
{
	return type == REGULAR_FILE || type == DIRECTORY;
}

/* Of what FSAL_VFS finds by directory and name: a handle that was kept over a rename leads nowhere. */
static fsal_status_t getattrs_by_name(struct repl_export *exp, struct repl_obj *obj, struct fsal_attrlist *out)
{
	struct nfs4r_read rd = { .type = NFS4R_RD_GETATTR, .oid = obj->oid };
	enum nfs4r_status rs = repl_read_here(exp, &rd);

	if (rs == NFS4R_OK)
		repl_attrs_to_fsal(exp, &obj->oid, &rd.attrs, out);
	nfs4r_read_fini(&rd);
	return repl_fsal_status(rs);
}

/* From the sub-FSAL. All that is ever asked for, so that the next question needs not ask it again. */
static fsal_status_t getattrs_sub(struct repl_export *exp, struct repl_obj *obj, const struct nfs4r_row *row,
				  struct fsal_attrlist *out)
{
	struct fsal_export *layer = exp->export.sub_export;
	struct fsal_obj_handle *sub;
	struct fsal_attrlist all;
	attrmask_t more = 0;
	fsal_status_t st;
	bool hides = repl_may_hide(exp, &obj->oid);

	sub = repl_obj_sub(exp, obj, &st);
	if (sub == NULL)
		return st;
	REPL_SUBCALL(exp, more = layer->exp_ops.fs_supported_attrs(layer));
	more &= sub->type == SYMBOLIC_LINK ? ATTRS_POSIX : ATTRS_POSIX | ATTR_ACL;
	fsal_prepare_attrs(&all, (out->request_mask & ~ATTR_RDATTR_ERR) | more);
	REPL_SUBCALL(exp, st = sub->obj_ops->getattrs(sub, &all));
	if (FSAL_IS_ERROR(st))
		st = repl_gone_here(exp, &obj->oid, st);
	else if (row != NULL && row->nlink > 0 && FSAL_TEST_MASK(all.valid_mask, ATTR_NUMLINKS) && all.numlinks == 0) /* only an open file keeps it alive */
		st = repl_gone_here(exp, &obj->oid, fsalstat(ERR_FSAL_STALE, ESTALE)).major == ERR_FSAL_DELAY ? fsalstat(ERR_FSAL_DELAY, EAGAIN) : st;
	hides = hides || repl_may_hide(exp, &obj->oid);
	if (!FSAL_IS_ERROR(st)) {
		if (hides)
			all.numlinks = repl_links_seen(exp, all.numlinks);
		if (row != NULL && !hides)
			repl_attr_cache_put(exp->attr_cache, &obj->oid, row->version, &all);
		fsal_copy_attrs(out, &all, false);
	}
	fsal_release_attrs(&all);
	return st;
}

fsal_status_t repl_getattrs_local(struct repl_export *exp, struct repl_obj *obj, struct fsal_attrlist *out)
{
	struct nfs4r_attrs over = { 0 };
	struct nfs4r_row row;
	enum nfs4r_known known = repl_row(exp, &obj->oid, &row); /* before the sub-FSAL is asked: attr_cache.c */
	fsal_status_t st = fsalstat(ERR_FSAL_NO_ERROR, 0);

	if (known == NFS4R_DEAD && __atomic_load_n(&obj->opens, __ATOMIC_RELAXED) == 0)
		return fsalstat(ERR_FSAL_STALE, ESTALE);
	if (known == NFS4R_KNOWN && repl_comes_back(exp, &obj->oid))
		return fsalstat(ERR_FSAL_DELAY, EAGAIN);
	if (repl_needs_place(obj->handle.type))
		return getattrs_by_name(exp, obj, out);
	if (known != NFS4R_KNOWN || !repl_attr_cache_get(exp->attr_cache, &obj->oid, row.version, out))
		st = getattrs_sub(exp, obj, known == NFS4R_KNOWN ? &row : NULL, out);
	if (FSAL_IS_ERROR(st))
		return st;
	if (known == NFS4R_NOT_YET)
		known = repl_row(exp, &obj->oid, &row);
	if (known != NFS4R_KNOWN && repl_is_closed(exp)) /* nobody can tell now what the volume says of it */
		return fsalstat(ERR_FSAL_DELAY, EAGAIN);
	/* The row from before: a version newer than the attributes would make a client keep them for good. */
	if (known == NFS4R_KNOWN)
		nfs4r_row_overlay(&row, &over);
	repl_attrs_overlay(exp, &obj->oid, &over, out);
	return st;
}

static fsal_status_t ask_attrs(struct repl_export *exp, struct repl_obj *obj, struct fsal_attrlist *out)
{
	struct nfs4r_read rd = { .type = NFS4R_RD_GETATTR, .oid = obj->oid };
	enum nfs4r_status rs;
	enum repl_lost lost;
	fsal_status_t st;
	bool local;

	rs = repl_read(exp, &rd, &local);
	lost = local ? REPL_PLAIN : repl_obj_lost(exp, obj, rs);
	if (local || lost == REPL_ORPHAN) {
		nfs4r_read_fini(&rd);
		return repl_getattrs_local(exp, obj, out);
	}
	st = repl_obj_status(lost, rs);
	if (rs == NFS4R_OK)
		repl_attrs_to_fsal(exp, &obj->oid, &rd.attrs, out);
	nfs4r_read_fini(&rd);
	return st;
}

static fsal_status_t getattrs(struct repl_export *exp, struct repl_obj *obj, struct fsal_attrlist *out)
{
	fsal_status_t st = ask_attrs(exp, obj, out);
	struct nfs4r_attrs listed;

	/* It was there when this request listed it, or made it. */
	if ((st.major == ERR_FSAL_STALE || st.major == ERR_FSAL_DELAY) && repl_compound_recall(exp, &obj->oid, true, &listed)) {
		repl_attrs_to_fsal(exp, &obj->oid, &listed, out);
		nfs4r_buf_put(listed.acl);
		st = fsalstat(ERR_FSAL_NO_ERROR, 0);
	}
	return st;
}

fsal_status_t repl_getattrs(struct fsal_obj_handle *h, struct fsal_attrlist *out)
{
	struct repl_export *exp = repl_cur_export();
	struct repl_obj *obj = repl_obj(h);
	fsal_status_t st;

	repl_identity_note(exp);
	repl_open_over();
	if (repl_permission_of_open(exp, obj, out, &st))
		return st;
	st = repl_opened_name_status(obj, getattrs(exp, obj, out));
	if (FSAL_IS_ERROR(st) && FSAL_TEST_MASK(out->request_mask, ATTR_RDATTR_ERR))
		out->valid_mask = ATTR_RDATTR_ERR;
	if (FSAL_IS_ERROR(st)) {
		repl_close_off();
	} else if (repl_close_ahead()) {
		fsal_release_attrs(out);
		st = fsalstat(ERR_FSAL_DELAY, 0);
	}
	return st;
}

fsal_status_t repl_fill_attrs(struct repl_export *exp, struct repl_obj *obj, const struct nfs4r_attrs *in,
			      struct fsal_attrlist *out)
{
	static const uint32_t whole = NFS4R_ATTR_TYPE | NFS4R_ATTR_MODE | NFS4R_ATTR_UID | NFS4R_ATTR_GID |
		NFS4R_ATTR_SIZE | NFS4R_ATTR_ATIME | NFS4R_ATTR_MTIME | NFS4R_ATTR_CTIME |
		NFS4R_ATTR_NLINK | NFS4R_ATTR_VERSION;
	fsal_status_t st;

	if (out == NULL)
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	if (in != NULL && (in->mask & whole) == whole) {
		repl_attrs_to_fsal(exp, &obj->oid, in, out);
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	}
	st = getattrs(exp, obj, out);
	if (FSAL_IS_ERROR(st) && FSAL_TEST_MASK(out->request_mask, ATTR_RDATTR_ERR) && st.major != ERR_FSAL_STALE) {
		out->valid_mask = ATTR_RDATTR_ERR;
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	}
	return st;
}

void repl_change_info(nfs4r_version before, nfs4r_version after, struct fsal_attrlist *pre, struct fsal_attrlist *post)
{
	if (pre == NULL || post == NULL || after == 0)
		return;
	pre->change = before;
	pre->valid_mask |= ATTR_CHANGE;
	post->change = after;
	post->valid_mask |= ATTR_CHANGE;
}

/* ---- setting ---- */

struct setattr_call {
	struct repl_export *exp;
	struct repl_obj *obj;
	bool bypass;
	struct state_t *state;
	fsal_status_t st; /* the sub-FSAL's own words, which say more than a status between servers */
};

/* Local execution with the client's state, so that share reservations count. */
static enum nfs4r_status setattr_exec(void *arg, struct nfs4r_op *op, struct nfs4r_exec *x)
{
	struct setattr_call *call = arg;
	struct fsal_obj_handle *sub;
	struct repl_context c;
	enum nfs4r_status st;

	repl_context_enter(&c, call->exp, &call->exp->export, &op->cred);
	repl_state_moved(call->exp, call->obj, call->state);
	sub = repl_obj_sub(call->exp, call->obj, &call->st);
	if (sub != NULL)
		REPL_SUBCALL(call->exp, call->st = repl_sub_setattr(sub, call->bypass, call->state, &op->attrs, &op->cred));
	st = repl_status(call->st);
	if (st == NFS4R_OK)
		REPL_SUBCALL(call->exp, st = repl_sub_getattr(sub, &op->post));
	repl_context_leave(&c);
	return st;
}

/* An orphan belongs to its holders alone: no control, no log. */
static fsal_status_t setattr_orphan(struct setattr_call *call, struct nfs4r_op *op)
{
	fsal_status_t st;

	REPL_SUBCALL(call->exp, st = repl_sub_setattr(call->obj->sub, call->bypass, call->state, &op->attrs, &op->cred));
	return st;
}

static fsal_status_t setattr(struct setattr_call *call, struct nfs4r_op *op)
{
	enum nfs4r_status rs;
	enum repl_lost lost;

	op->obj = call->obj->oid;
	/* The others have no states, and lops can do more with them than the sub-FSAL's setattr2. */
	rs = repl_update(call->exp, op, is_openable(call->obj->handle.type) ? setattr_exec : NULL, call);
	lost = repl_obj_lost(call->exp, call->obj, rs);
	if (rs != NFS4R_OK)
		repl_attr_cache_drop(call->exp->attr_cache, &call->obj->oid); /* one of several may have been set */
	if (lost == REPL_ORPHAN)
		return setattr_orphan(call, op);
	if (repl_own_words(rs, call->st))
		return call->st;
	return repl_obj_status(lost, rs);
}

fsal_status_t repl_setattr2(struct fsal_obj_handle *h, bool bypass, struct state_t *state, struct fsal_attrlist *in)
{
	struct setattr_call call = { repl_cur_export(), repl_obj(h), bypass, state, { 0, 0 } };
	struct nfs4r_op *op = repl_op_new(NFS4R_OP_SETATTR);
	fsal_status_t st;

	st = repl_attrs_from_request(&op->attrs, in);
	op->attrs.mask &= ~NFS4R_ATTR_RDEV;
	if (!FSAL_IS_ERROR(st) && op->attrs.mask != 0)
		st = setattr(&call, op);
	repl_op_free(op);
	return st;
}

fsal_status_t repl_truncate(struct repl_export *exp, struct repl_obj *obj, bool bypass, struct state_t *state)
{
	struct setattr_call call = { exp, obj, bypass, state, { 0, 0 } };
	struct nfs4r_op *op = repl_op_new(NFS4R_OP_SETATTR);
	fsal_status_t st;

	op->attrs.mask = NFS4R_ATTR_SIZE | NFS4R_ATTR_MTIME_NOW;
	st = setattr(&call, op);
	repl_op_free(op);
	return st;
}
