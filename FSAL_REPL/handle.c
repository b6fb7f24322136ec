/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Object handles. Host and key form are the 16 bytes of the OID, on every server. What clients have (wire form) are these and a keyed check of
 * them: one that is not right is a handle that nobody gave out, and is refused before anything is looked up or waited for
 * (docs/decisions/0036-handles-are-checked.md). MDCACHE keeps wire forms of parents and takes them for host forms, so those are taken, too.
 *
 * A repl_obj knows its OID, its type and (once somebody needed it) the sub-FSAL's handle. The latter may
 * be missing for good reasons: the object was made at another server and its entry has not been applied
 * here. Whoever needs it then answers DELAY, or asks the primary instead.
 *
 * Nothing of the volume's state hangs on a repl_obj: MDCACHE throws it away whenever nobody holds it.
 * It may be released by any thread, also one without an op_ctx.
 */
#include "repl.h"
#include "nfs_fh.h"

struct repl_obj *repl_obj_new(struct repl_export *exp, const struct nfs4r_oid *oid, object_file_type_t type,
			      struct fsal_obj_handle *sub)
{
	struct repl_obj *obj = gsh_calloc(1, sizeof(*obj));

	obj->oid = *oid;
	obj->sub = sub;
	obj->moved = __atomic_load_n(&exp->moved, __ATOMIC_ACQUIRE);
	obj->wrote = type == REGULAR_FILE; /* perhaps, before a restart: the engine knows what CLOSE has to wait for */
	fsal_obj_handle_init(&obj->handle, &exp->export, type, true);
	obj->handle.obj_ops = &repl_module.obj_ops;
	obj->handle.fs = exp->export.sub_export->root_fs;
	obj->handle.fsid = exp->fsid;
	obj->handle.fileid = nfs4r_oid_fileid(oid);
	return obj;
}

static void sub_release(struct fsal_obj_handle *sub)
{
	sub->obj_ops->release(sub);
}

void repl_obj_release(struct fsal_obj_handle *h)
{
	struct repl_obj *obj = repl_obj(h);
	bool ours = op_ctx != NULL && op_ctx->fsal_export != NULL && op_ctx->fsal_export->fsal == &repl_module.module;

	if (obj->sub != NULL) {
		if (ours)
			REPL_SUBCALL(repl_cur_export(), sub_release(obj->sub));
		else
			sub_release(obj->sub);
	}
	if (obj->old != NULL && ours)
		REPL_SUBCALL(repl_cur_export(), repl_old_subs_release(obj));
	else
		repl_old_subs_release(obj);
	fsal_obj_handle_fini(&obj->handle, true);
	gsh_free(obj);
}

/* ---- sub handles ---- */

bool repl_sub_handle_bytes(struct fsal_obj_handle *sub, struct nfs4r_lhandle *out)
{
	struct gsh_buffdesc desc = { .addr = out->b, .len = sizeof(out->b) };
	fsal_status_t st = sub->obj_ops->handle_to_wire(sub, FSAL_DIGEST_NFSV4, &desc);

	out->len = FSAL_IS_ERROR(st) ? 0 : desc.len;
	return !FSAL_IS_ERROR(st);
}

static fsal_status_t sub_create_handle(struct repl_export *exp, const struct nfs4r_lhandle *h,
				       struct fsal_obj_handle **out)
{
	struct fsal_export *sub = exp->export.sub_export;
	char bytes[NFS4R_LOCAL_HANDLE_MAX + FSAL_KEY_EXTRA_BYTES];
	struct gsh_buffdesc desc = { .addr = bytes, .len = h->len };
	fsal_status_t st;
	int flags = BYTE_ORDER == BIG_ENDIAN ? FH_FSAL_BIG_ENDIAN : 0;

	*out = NULL;
	if (h->len == 0)
		return fsalstat(ERR_FSAL_STALE, 0);
	memcpy(bytes, h->b, h->len);
	st = sub->exp_ops.wire_to_host(sub, FSAL_DIGEST_NFSV4, &desc, flags);
	if (!FSAL_IS_ERROR(st))
		st = sub->exp_ops.create_handle(sub, &desc, out, NULL);
	return st;
}

/* The name of @oid in @dir, by going through its names. */
static bool name_of(struct repl_export *exp, const struct nfs4r_oid *dir, const struct nfs4r_oid *oid, char *name)
{
	struct nfs4r_read rd;
	bool found = false, more = true;
	uint64_t cookie = 0;
	uint32_t i;

	while (more && !found) {
		memset(&rd, 0, sizeof(rd));
		rd.type = NFS4R_RD_READDIR;
		rd.oid = *dir;
		rd.cookie = cookie;
		rd.length = NFS4R_READDIR_MAX;
		more = repl_read_here(exp, &rd) == NFS4R_OK && rd.ndirents > 0 && !rd.eof;
		for (i = 0; i < rd.ndirents && !found; i++) {
			found = nfs4r_oid_eq(&rd.dirents[i].oid, oid);
			if (found)
				memcpy(name, rd.dirents[i].name.s, rd.dirents[i].name.len + 1);
			cookie = rd.dirents[i].cookie;
		}
		nfs4r_read_fini(&rd);
	}
	return found;
}

/* @sub becomes what has the name in that directory, if that is the object of @h. */
static fsal_status_t sub_look_up(struct repl_export *exp, const struct nfs4r_lhandle *h, const struct nfs4r_lhandle *dh, const char *name,
				 struct fsal_obj_handle **sub)
{
	struct fsal_obj_handle *dir, *found = NULL;
	struct nfs4r_lhandle fh;
	fsal_status_t st;

	st = sub_create_handle(exp, dh, &dir);
	if (FSAL_IS_ERROR(st))
		return st;
	st = dir->obj_ops->lookup(dir, name, &found, NULL);
	sub_release(dir);
	if (FSAL_IS_ERROR(st))
		return st;
	if (!repl_sub_handle_bytes(found, &fh) || !nfs4r_lhandle_eq(&fh, h)) {
		sub_release(found);
		return fsalstat(ERR_FSAL_STALE, ESTALE);
	}
	sub_release(*sub);
	*sub = found;
	return st;
}

/*
 * Sockets and devices cannot be opened by handle; FSAL_VFS works on them by directory and name, which it
 * knows only for handles that it looked up. So they are looked up again, where they were last seen or where the volume has them.
 */
static fsal_status_t sub_open_by_name(struct repl_export *exp, const struct nfs4r_lhandle *h,
				      struct fsal_obj_handle **sub)
{
	struct nfs4r_lhandle dh;
	struct nfs4r_oid oid;
	struct nfs4r_row row;
	char name[NFS4R_NAME_MAX + 1];
	fsal_status_t st;

	if (repl_place_find(h, &dh, name)) {
		st = sub_look_up(exp, h, &dh, name, sub);
		if (!FSAL_IS_ERROR(st))
			return st;
	}
	if (!repl_by_handle(exp, h, &oid) || repl_row(exp, &oid, &row) != NFS4R_KNOWN ||
	    !name_of(exp, &row.parent, &oid, name))
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	repl_local_handle(exp, &row.parent, &dh);
	st = sub_look_up(exp, h, &dh, name, sub);
	if (!FSAL_IS_ERROR(st))
		repl_place_note(h, &dh, name);
	return st;
}

fsal_status_t repl_sub_open(struct repl_export *exp, const struct nfs4r_lhandle *h, struct fsal_obj_handle **out)
{
	fsal_status_t st = sub_create_handle(exp, h, out);

	if (FSAL_IS_ERROR(st) || repl_raw_can(*out))
		return st;
	if (!repl_needs_place((*out)->type))
		return st;
	st = sub_open_by_name(exp, h, out);
	if (FSAL_IS_ERROR(st)) {
		sub_release(*out);
		*out = NULL;
	}
	return st;
}

struct fsal_obj_handle *repl_obj_sub(struct repl_export *exp, struct repl_obj *obj, fsal_status_t *st)
{
	struct fsal_obj_handle *sub = __atomic_load_n(&obj->sub, __ATOMIC_ACQUIRE), *mine = NULL;
	struct nfs4r_lhandle h;

	*st = fsalstat(ERR_FSAL_NO_ERROR, 0);
	if (sub != NULL)
		return repl_obj_moved(exp, obj, sub, st);
	repl_local_handle(exp, &obj->oid, &h);
	if (h.len == 0) {
		*st = repl_is_gone(exp, &obj->oid) ? fsalstat(ERR_FSAL_STALE, ESTALE) : fsalstat(ERR_FSAL_DELAY, EAGAIN);
		return NULL;
	}
	REPL_SUBCALL(exp, *st = repl_sub_open(exp, &h, &mine));
	if (FSAL_IS_ERROR(*st)) {
		*st = repl_gone_here(exp, &obj->oid, *st);
		return NULL;
	}
	if (__atomic_compare_exchange_n(&obj->sub, &sub, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return mine;
	REPL_SUBCALL(exp, sub_release(mine));
	return sub;
}

enum repl_lost repl_obj_lost(struct repl_export *exp, struct repl_obj *obj, enum nfs4r_status st)
{
	if (st != NFS4R_STALE && st != NFS4R_ORPHAN)
		return REPL_PLAIN;
	if (__atomic_load_n(&obj->opens, __ATOMIC_RELAXED) == 0)
		return REPL_PLAIN;
	switch (repl_row(exp, &obj->oid, NULL)) {
	case NFS4R_DEAD:
		return __atomic_load_n(&obj->sub, __ATOMIC_ACQUIRE) != NULL ? REPL_ORPHAN : REPL_PLAIN;
	case NFS4R_KNOWN:
		return REPL_WAIT;
	default:
		return REPL_PLAIN;
	}
}

fsal_status_t repl_obj_status(enum repl_lost lost, enum nfs4r_status st)
{
	return repl_fsal_status(lost == REPL_WAIT ? NFS4R_DELAY : st);
}

bool repl_obj_is_stale(struct repl_export *exp, struct repl_obj *obj)
{
	return __atomic_load_n(&obj->opens, __ATOMIC_RELAXED) == 0 && repl_is_gone(exp, &obj->oid);
}

/* ---- handles as bytes ---- */

static fsal_status_t handle_to_wire(const struct fsal_obj_handle *h, fsal_digesttype_t type, struct gsh_buffdesc *desc)
{
	const struct repl_obj *obj = container_of(h, const struct repl_obj, handle);

	if (desc->len < REPL_WIRE_HANDLE)
		return fsalstat(ERR_FSAL_TOOSMALL, 0);
	if (repl_handle_check(repl_cur_export(), &obj->oid, (uint8_t *)desc->addr + sizeof(obj->oid)) != NFS4R_OK)
		return fsalstat(ERR_FSAL_DELAY, EAGAIN);
	memcpy(desc->addr, &obj->oid, sizeof(obj->oid));
	desc->len = REPL_WIRE_HANDLE;
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

static void handle_to_key(struct fsal_obj_handle *h, struct gsh_buffdesc *desc)
{
	desc->addr = &repl_obj(h)->oid;
	desc->len = sizeof(struct nfs4r_oid);
}

static bool handle_cmp(struct fsal_obj_handle *a, struct fsal_obj_handle *b)
{
	return a == b || (a->fsal == b->fsal && nfs4r_oid_eq(&repl_obj(a)->oid, &repl_obj(b)->oid));
}

/* To the OID alone, if the check is right. */
static fsal_status_t from_wire(struct repl_export *exp, struct gsh_buffdesc *desc)
{
	struct nfs4r_oid oid;

	if (desc->len != REPL_WIRE_HANDLE)
		return fsalstat(ERR_FSAL_BADHANDLE, 0);
	memcpy(&oid, desc->addr, sizeof(oid));
	switch (repl_handle_verify(exp, &oid, (const uint8_t *)desc->addr + sizeof(oid))) {
	case NFS4R_OK:
		desc->len = sizeof(oid);
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	case NFS4R_DELAY:
		return fsalstat(ERR_FSAL_DELAY, EAGAIN);
	default:
		return fsalstat(ERR_FSAL_BADHANDLE, 0);
	}
}

fsal_status_t repl_host_to_key(struct fsal_export *e, struct gsh_buffdesc *desc)
{
	if (desc->len == sizeof(struct nfs4r_oid))
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	return from_wire(repl_export(e), desc);
}

fsal_status_t repl_wire_to_host(struct fsal_export *e, fsal_digesttype_t type, struct gsh_buffdesc *desc, int flags)
{
	fsal_status_t st = from_wire(repl_export(e), desc);

	if (FSAL_IS_ERROR(st))
		return st;
	if (repl_close_ahead())
		return fsalstat(ERR_FSAL_DELAY, 0);
	repl_read_nothing_ahead();
	return st;
}

/* ---- handles out of nothing ---- */

static fsal_status_t hand_out(struct repl_export *exp, struct repl_obj *obj, const struct nfs4r_attrs *attrs,
			      struct fsal_obj_handle **out, struct fsal_attrlist *attrs_out)
{
	fsal_status_t st = repl_fill_attrs(exp, obj, attrs, attrs_out);

	if (FSAL_IS_ERROR(st)) {
		repl_obj_release(&obj->handle);
		return st;
	}
	*out = &obj->handle;
	return st;
}

/* Unknown here is not unknown: ask the server that gave the handle out (control 6.5). */
static fsal_status_t create_unknown(struct repl_export *exp, const struct nfs4r_oid *oid, struct fsal_obj_handle **out,
				    struct fsal_attrlist *attrs_out)
{
	struct nfs4r_read rd = { .type = NFS4R_RD_GETATTR, .oid = *oid };
	enum nfs4r_status rs;
	fsal_status_t st;
	bool local;

	rs = repl_read(exp, &rd, &local);
	if (local || rs == NFS4R_UNKNOWN || rs == NFS4R_NOT_PRIMARY)
		st = fsalstat(ERR_FSAL_DELAY, EAGAIN);
	else if (rs != NFS4R_OK)
		st = repl_fsal_status(rs);
	else
		st = hand_out(exp, repl_obj_new(exp, oid, repl_fsal_type(rd.attrs.type), NULL), &rd.attrs, out, attrs_out);
	nfs4r_read_fini(&rd);
	return st;
}

fsal_status_t repl_create_handle(struct fsal_export *e, struct gsh_buffdesc *desc, struct fsal_obj_handle **out,
				 struct fsal_attrlist *attrs_out)
{
	struct repl_export *exp = repl_export(e);
	fsal_status_t st = repl_host_to_key(e, desc);
	struct nfs4r_oid oid;
	struct nfs4r_row row;

	*out = NULL;
	if (FSAL_IS_ERROR(st))
		return st;
	memcpy(&oid, desc->addr, sizeof(oid));
	switch (repl_row(exp, &oid, &row)) {
	case NFS4R_KNOWN:
		return hand_out(exp, repl_obj_new(exp, &oid, repl_fsal_type(row.type), NULL), NULL, out, attrs_out);
	case NFS4R_DEAD:
		return repl_is_gone(exp, &oid) ? fsalstat(ERR_FSAL_STALE, ESTALE) : fsalstat(ERR_FSAL_DELAY, EAGAIN);
	default:
		return create_unknown(exp, &oid, out, attrs_out);
	}
}

/*
 * Ganesha wants the root while it starts, when the engine cannot yet tell who controls what. It only wants
 * to see a directory; whoever asks about it later asks the engine.
 */
static fsal_status_t root_handle(struct repl_export *exp, struct fsal_obj_handle **out, struct fsal_attrlist *attrs_out)
{
	struct repl_obj *obj = repl_obj_new(exp, &exp->root, DIRECTORY, NULL);
	fsal_status_t st = fsalstat(ERR_FSAL_NO_ERROR, 0);

	if (attrs_out != NULL)
		st = repl_getattrs_local(exp, obj, attrs_out);
	if (FSAL_IS_ERROR(st))
		repl_obj_release(&obj->handle);
	else
		*out = &obj->handle;
	return st;
}

fsal_status_t repl_lookup_path(struct fsal_export *e, const char *path, struct fsal_obj_handle **out,
			       struct fsal_attrlist *attrs_out)
{
	struct repl_export *exp = repl_export(e);
	struct fsal_obj_handle *sub = NULL;
	struct nfs4r_lhandle h;
	struct nfs4r_oid oid;
	fsal_status_t st;
	bool known;

	*out = NULL;
	if (strcmp(path, exp->path) == 0)
		return root_handle(exp, out, attrs_out);
	REPL_SUBCALL(exp, st = exp->export.sub_export->exp_ops.lookup_path(exp->export.sub_export, path, &sub, NULL));
	if (FSAL_IS_ERROR(st))
		return st;
	known = repl_sub_handle_bytes(sub, &h) && repl_by_handle(exp, &h, &oid);
	if (!known) {
		REPL_SUBCALL(exp, sub_release(sub));
		return fsalstat(ERR_FSAL_NOENT, ENOENT);
	}
	return hand_out(exp, repl_obj_new(exp, &oid, sub->type, sub), NULL, out, attrs_out);
}

/* Two threads made a handle of one object; @dupe goes away, what hangs on it must not. */
static fsal_status_t merge(struct fsal_obj_handle *orig_h, struct fsal_obj_handle *dupe_h)
{
	struct repl_export *exp = repl_cur_export();
	struct repl_obj *orig = repl_obj(orig_h), *dupe = repl_obj(dupe_h);
	struct fsal_obj_handle *sub = NULL;
	fsal_status_t st = fsalstat(ERR_FSAL_NO_ERROR, 0);

	__atomic_fetch_add(&orig->opens, dupe->opens, __ATOMIC_RELAXED);
	if (dupe->wrote)
		__atomic_store_n(&orig->wrote, 1, __ATOMIC_RELEASE);
	if (dupe->sub == NULL)
		return st;
	if (__atomic_compare_exchange_n(&orig->sub, &sub, dupe->sub, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		dupe->sub = NULL;
		return st;
	}
	REPL_SUBCALL(exp, st = sub->obj_ops->merge(sub, dupe->sub));
	if (FSAL_IS_ERROR(st))
		__atomic_fetch_sub(&orig->opens, dupe->opens, __ATOMIC_RELAXED);
	return st;
}

static bool is_referral(struct fsal_obj_handle *h, struct fsal_attrlist *attrs, bool cache)
{
	return false;
}

void repl_obj_ops_init(struct fsal_obj_ops *ops)
{
	fsal_default_obj_ops_init(ops);
	ops->release = repl_obj_release;
	ops->merge = merge;
	ops->handle_to_wire = handle_to_wire;
	ops->handle_to_key = handle_to_key;
	ops->handle_cmp = handle_cmp;
	ops->is_referral = is_referral;
	ops->lookup = repl_lookup;
	ops->readdir = repl_readdir;
	ops->readlink = repl_readlink;
	ops->mkdir = repl_mkdir;
	ops->mknode = repl_mknode;
	ops->symlink = repl_symlink;
	ops->link = repl_link;
	ops->rename = repl_rename;
	ops->unlink = repl_unlink;
	ops->getattrs = repl_getattrs;
	ops->setattr2 = repl_setattr2;
	ops->open2 = repl_open2;
	ops->check_verifier = repl_check_verifier;
	ops->status2 = repl_status2;
	ops->reopen2 = repl_reopen2;
	ops->close = repl_close;
	ops->close2 = repl_close2;
	ops->lock_op2 = repl_lock_op2;
	ops->read2 = repl_read2;
	ops->write2 = repl_write2;
	ops->commit2 = repl_commit2;
	ops->seek2 = repl_seek2;
	ops->io_advise2 = repl_io_advise2;
	ops->fallocate = repl_fallocate;
	ops->getxattrs = repl_getxattrs;
	ops->setxattrs = repl_setxattrs;
	ops->removexattrs = repl_removexattrs;
	ops->listxattrs = repl_listxattrs;
}
