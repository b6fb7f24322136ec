/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Extended attributes of NFSv4.2 (RFC 8276): the user. name space, its prefix not on the wire. Reading is
 * a read of the engine, setting and removing are updates. Ganesha leaves the permission check to the
 * FSAL, and FSAL_VFS works as root, so it is made here, as Linux makes it for user. attributes: read permission to see a value,
 * write permission to change one, none to see the names. A change is checked again where it is executed (lops_may.c).
 *
 * On Linux only regular files and directories can have user. attributes. Of a FIFO, a socket, a device or a symbolic link
 * the list is empty, a read finds no attribute, and a change is refused with EPERM; programs that copy whole trees rely on
 * all three. The attributes of a directory with the sticky bit are changed by its owner and by root alone.
 *
 * A value above ON_WIRE_MAX bytes is one that Ganesha cannot encode: it would send no answer at all, and the client would ask for ever; so it is told that the value
 * is too large. With patches/0002 that is more than Linux lets a value have. Without it 8 KiB are on the way already in trees that were imported (and XATTR2BIG
 * would not do for an answer: that Ganesha takes it for a buffer that is too short, and tries again).
 *
 * Those of an orphan are its local file's, for its holders (control 3.7).
 */
#include "repl.h"

#include "base/xattr.h"

#ifdef XDR_XATTR_MAXLEN
#define ON_WIRE_MAX XDR_XATTR_MAXLEN /* patches/0002 */
#else
#define ON_WIRE_MAX XDR_STRING_MAXLEN
#endif

static bool can_have_any(const struct fsal_obj_handle *h)
{
	return h->type == REGULAR_FILE || h->type == DIRECTORY;
}

static fsal_status_t check_read(struct fsal_obj_handle *h)
{
	if (!can_have_any(h))
		return fsalstat(ERR_FSAL_NOXATTR, ENODATA);
	return h->obj_ops->test_access(h, FSAL_READ_ACCESS, NULL, NULL, false);
}

/* The sticky bit of a directory protects its user. attributes, too: else everybody could leave some in /tmp. */
static fsal_status_t check_sticky(struct fsal_obj_handle *h)
{
	struct fsal_attrlist attrs;
	fsal_status_t st;

	if (h->type != DIRECTORY || op_ctx->creds.caller_uid == 0)
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	fsal_prepare_attrs(&attrs, ATTR_MODE | ATTR_OWNER);
	st = repl_getattrs(h, &attrs);
	if (!FSAL_IS_ERROR(st) && (attrs.mode & S_ISVTX) != 0 && attrs.owner != op_ctx->creds.caller_uid)
		st = fsalstat(ERR_FSAL_PERM, EPERM);
	fsal_release_attrs(&attrs);
	return st;
}

static fsal_status_t check_change(struct fsal_obj_handle *h)
{
	fsal_status_t st;

	if (!can_have_any(h))
		return fsalstat(ERR_FSAL_PERM, EPERM);
	st = check_sticky(h);
	return FSAL_IS_ERROR(st) ? st : h->obj_ops->test_access(h, FSAL_WRITE_ACCESS, NULL, NULL, false);
}

/* With the prefix: whatever a client asks for, it is one of user. */
static fsal_status_t set_name(char out[NFS4R_XATTR_NAME_MAX + 1], const xattrkey4 *name)
{
	char *at = out + NFS4R_XATTR_USER_LEN;

	if (name->utf8string_len == 0 || name->utf8string_len > NFS4R_XATTR_NAME_MAX - NFS4R_XATTR_USER_LEN)
		return fsalstat(ERR_FSAL_NAMETOOLONG, ERANGE);
	memcpy(out, NFS4R_XATTR_USER, NFS4R_XATTR_USER_LEN);
	memcpy(at, name->utf8string_val, name->utf8string_len);
	at[name->utf8string_len] = '\0';
	return fsalstat(strlen(at) == name->utf8string_len ? ERR_FSAL_NO_ERROR : ERR_FSAL_INVAL, 0);
}

/* rd->data from the local file of an orphan. */
static fsal_status_t read_orphan(struct repl_export *exp, struct repl_obj *obj, struct nfs4r_read *rd)
{
	uint32_t len = NFS4R_XATTR_VALUE_MAX;
	fsal_status_t st;

	rd->data = nfs4r_buf_new(len);
	if (rd->data == NULL)
		return fsalstat(ERR_FSAL_DELAY, ENOMEM);
	if (rd->type == NFS4R_RD_GETXATTR)
		REPL_SUBCALL(exp, st = repl_sub_getxattr(obj->sub, rd->name, rd->data->data, &len));
	else
		REPL_SUBCALL(exp, st = repl_sub_listxattr(obj->sub, (char *)rd->data->data, &len));
	rd->data->len = len;
	return st;
}

static fsal_status_t read_any(struct repl_obj *obj, struct nfs4r_read *rd)
{
	struct repl_export *exp = repl_cur_export();
	enum nfs4r_status rs = repl_read_any(exp, rd);
	enum repl_lost lost = repl_obj_lost(exp, obj, rs);

	return lost == REPL_ORPHAN ? read_orphan(exp, obj, rd) : repl_obj_status(lost, rs);
}

fsal_status_t repl_getxattrs(struct fsal_obj_handle *h, xattrkey4 *name, xattrvalue4 *value)
{
	struct repl_obj *obj = repl_obj(h);
	struct nfs4r_read rd = { .type = NFS4R_RD_GETXATTR, .oid = obj->oid };
	fsal_status_t st = check_read(h);
	uint32_t len;

	if (!FSAL_IS_ERROR(st))
		st = set_name(rd.name, name);
	if (FSAL_IS_ERROR(st))
		return st;
	st = read_any(obj, &rd);
	if (!FSAL_IS_ERROR(st)) {
		len = rd.data != NULL ? rd.data->len : 0;
		if (len > ON_WIRE_MAX)
			st = fsalstat(ERR_FSAL_FBIG, EFBIG);
		else if (value->utf8string_len != 0 && value->utf8string_len < len) /* 0 asks for the length */
			st = fsalstat(ERR_FSAL_XATTR2BIG, ERANGE);
		else if (value->utf8string_len != 0 && len != 0)
			memcpy(value->utf8string_val, rd.data->data, len);
		value->utf8string_len = len;
	}
	nfs4r_read_fini(&rd);
	return st;
}

/* @value NULL: remove it. */
static fsal_status_t change_orphan(struct repl_export *exp, struct repl_obj *obj, const char *name, const xattrvalue4 *value,
				   uint32_t flags)
{
	fsal_status_t st;

	if (value == NULL)
		REPL_SUBCALL(exp, st = repl_sub_removexattr(obj->sub, name));
	else
		REPL_SUBCALL(exp, st = repl_sub_setxattr(obj->sub, name, value->utf8string_val, value->utf8string_len, flags));
	return st;
}

static fsal_status_t change(struct fsal_obj_handle *h, uint32_t type, const xattrkey4 *name, const xattrvalue4 *value,
			    uint32_t flags)
{
	struct repl_export *exp = repl_cur_export();
	struct repl_obj *obj = repl_obj(h);
	enum repl_lost lost;
	enum nfs4r_status rs;
	struct nfs4r_op *op;
	char text[NFS4R_XATTR_NAME_MAX + 1];
	fsal_status_t st = check_change(h);

	if (!FSAL_IS_ERROR(st))
		st = set_name(text, name);
	if (!FSAL_IS_ERROR(st) && value != NULL && value->utf8string_len > NFS4R_XATTR_VALUE_MAX)
		st = fsalstat(ERR_FSAL_XATTR2BIG, E2BIG);
	if (FSAL_IS_ERROR(st))
		return st;
	op = repl_op_new(type);
	op->obj = obj->oid;
	op->xflags = flags;
	op->text = strdup(text); /* the engine frees it */
	if (value != NULL)
		op->data = nfs4r_buf_copy(value->utf8string_val, value->utf8string_len);
	rs = op->text == NULL || (value != NULL && op->data == NULL) ? NFS4R_DELAY : repl_update(exp, op, NULL, NULL);
	repl_op_free(op);
	lost = repl_obj_lost(exp, obj, rs);
	return lost == REPL_ORPHAN ? change_orphan(exp, obj, text, value, flags) : repl_obj_status(lost, rs);
}

fsal_status_t repl_setxattrs(struct fsal_obj_handle *h, setxattr_option4 option, xattrkey4 *name, xattrvalue4 *value)
{
	uint32_t flags = option == SETXATTR4_CREATE ? NFS4R_XATTR_CREATE :
		option == SETXATTR4_REPLACE	    ? NFS4R_XATTR_REPLACE :
						      NFS4R_XATTR_EITHER;

	return change(h, NFS4R_OP_SETXATTR, name, value, flags);
}

fsal_status_t repl_removexattrs(struct fsal_obj_handle *h, xattrkey4 *name)
{
	return change(h, NFS4R_OP_REMOVEXATTR, name, NULL, 0);
}

/* Those that clients may see, with their prefix: Ganesha's helper wants them as listxattr(2) gives them. */
static char *users_own(const struct nfs4r_buf *names, size_t *len)
{
	char *out = gsh_malloc((names != NULL ? names->len : 0) + 1), *p = out;
	uint32_t at, n;

	for (at = 0; names != NULL && at < names->len; at += n + 1) {
		n = strnlen((const char *)names->data + at, names->len - at);
		if (at + n < names->len && strncmp((const char *)names->data + at, NFS4R_XATTR_USER, NFS4R_XATTR_USER_LEN) == 0)
			p = stpcpy(p, (const char *)names->data + at) + 1;
	}
	*len = p - out;
	return out;
}

fsal_status_t repl_listxattrs(struct fsal_obj_handle *h, count4 max, nfs_cookie4 *cookie, bool_t *eof, xattrlist4 *names)
{
	struct repl_obj *obj = repl_obj(h);
	struct nfs4r_read rd = { .type = NFS4R_RD_LISTXATTR, .oid = obj->oid };
	fsal_status_t st;
	char *flat;
	size_t len;

	if (!can_have_any(h))
		return repl_obj_is_stale(repl_cur_export(), obj) ? fsalstat(ERR_FSAL_STALE, ESTALE) :
								   fsal_listxattr_helper("", 0, max, cookie, eof, names);
	st = read_any(obj, &rd);
	if (!FSAL_IS_ERROR(st)) {
		flat = users_own(rd.data, &len);
		st = fsal_listxattr_helper(flat, len, max, cookie, eof, names);
		gsh_free(flat);
	}
	nfs4r_read_fini(&rd);
	return st;
}
