/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Forwarded operations and reads as bytes. A request carries the request part of its struct,
 * an answer the identity (operation id, read id), the type and the result part.
 *
 * What an operation or an answer needs is checked here (base/shape.h), so that nobody behind has to ask
 * whether a name, a text or the bytes are there. CLOSE, ADOPT and CLAIM never travel.
 */
#include "xdr_codec.h"

#define DIRENT_MIN (4 + 16 + 4 + 8)
#define PARENT_BYTES 20

static bool c_op_text(struct nfs4r_codec *c, struct nfs4r_op *op)
{
	bool xattr = op->type == NFS4R_OP_SETXATTR || op->type == NFS4R_OP_REMOVEXATTR;

	return c_text(c, &op->text, xattr ? NFS4R_XATTR_NAME_MAX : NFS4R_PATH_MAX);
}

static bool c_cred(struct nfs4r_codec *c, struct nfs4r_cred *cred)
{
	uint32_t n = cred->ngroups, *groups = NULL;

	if (!c_u32(c, &cred->uid) || !c_u32(c, &cred->gid) || !c_count(c, &n, NFS4R_GROUPS_MAX, 4))
		return false;
	if (n == 0)
		return true;
	if (c_decoding(c)) {
		groups = nfs4r_cred_set_groups(cred, n);
		if (!groups)
			return c_fail(c, NFS4R_NOMEM);
	} else if (cred->groups) {
		groups = (uint32_t *)(void *)cred->groups->data;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (!c_check(c, groups != NULL) || !c_u32(c, &groups[i]))
			return false;
	}
	return true;
}

static bool c_op_type(struct nfs4r_codec *c, struct nfs4r_op *op)
{
	bool locks = c_since(c, NFS4R_PROTOCOL_LOCKS);

	return c_range(c, &op->type, NFS4R_OP_CREATE, locks ? NFS4R_OP_SHARE : NFS4R_OP_REMOVEXATTR) &&
		c_check(c, op->type <= NFS4R_OP_REMOVEXATTR || nfs4r_op_at_authority(op->type));
}

bool c_op_request(struct nfs4r_codec *c, struct nfs4r_op *op)
{
	bool value = false;

	if (!c_op_type(c, op) || !c_request_id(c, &op->id) || !c_u64(c, &op->answered_below) ||
	    !c_u32(c, &op->generation) || !c_oid(c, &op->obj) || !c_oid(c, &op->dir) || !c_oid(c, &op->dir2) ||
	    !c_name(c, &op->name, nfs4r_op_is_dirop(op->type)) ||
	    !c_name(c, &op->name2, op->type == NFS4R_OP_RENAME))
		return false;
	value = op->type == NFS4R_OP_SETXATTR;
	if (!c_attrs(c, &op->attrs) || !c_cred(c, &op->cred) || !c_u64(c, &op->offset) ||
	    !c_u64(c, &op->length) ||
	    !c_opt_buf(c, &op->data, value ? NFS4R_XATTR_VALUE_MAX : NFS4R_IO_MAX) ||
	    !c_op_text(c, op))
		return false;
	return c_range(c, &op->xflags, NFS4R_XATTR_EITHER, NFS4R_XATTR_REPLACE) &&
		c_bool(c, &op->stable) && c_bool(c, &op->under_open) &&
		(!c_since(c, NFS4R_PROTOCOL_LOCKS) || (c_u64(c, &op->view) && c_lock_request(c, op) && c_share_request(c, op))) && (!c_decoding(c) || c_shape(c, nfs4r_shape_of_request(op)));
}

bool c_op_answer(struct nfs4r_codec *c, struct nfs4r_op *op)
{
	return c_op_type(c, op) && c_request_id(c, &op->id) && c_status(c, &op->status) &&
		c_oid(c, &op->result) && c_range(c, &op->result_type, 0, NFS4R_TYPE_BLK) &&
		c_attrs(c, &op->post) && c_u64(c, &op->dir_before) && c_u64(c, &op->dir_after) &&
		c_u64(c, &op->dir2_before) && c_u64(c, &op->dir2_after) && c_u64(c, &op->lsn) &&
		c_server(c, &op->primary, true) && c_u64(c, &op->verifier) &&
		(!c_since(c, NFS4R_PROTOCOL_LOCKS) || (c_lock_answer(c, op) && c_share_answer(c, op))) && (!c_decoding(c) || c_shape(c, nfs4r_shape_of_result(op)));
}

static bool c_read_name(struct nfs4r_codec *c, struct nfs4r_read *r)
{
	uint32_t len = c_decoding(c) ? 0 : (uint32_t)strnlen(r->name, sizeof(r->name));
	const char *bytes = r->name;
	struct nfs4r_name checked;

	if (!c_bytes(c, &bytes, &len, NFS4R_NAME_MAX))
		return false;
	if (!c_decoding(c))
		return true;
	switch (r->type) {
	case NFS4R_RD_LOOKUP:
		if (!nfs4r_name_set(&checked, bytes, len))
			return c_fail(c, NFS4R_MALFORMED);
		break;
	case NFS4R_RD_GETXATTR:
		if (len == 0 || memchr(bytes, '\0', len))
			return c_fail(c, NFS4R_MALFORMED);
		break;
	default:
		if (len != 0)
			return c_fail(c, NFS4R_MALFORMED);
	}
	memcpy(r->name, bytes, len);
	r->name[len] = '\0';
	return true;
}

static bool c_read_type(struct nfs4r_codec *c, struct nfs4r_read *r)
{
	return c_range(c, &r->type, NFS4R_RD_GETATTR, c_since(c, NFS4R_PROTOCOL_LOCKS) ? NFS4R_RD_CLIENTS : NFS4R_RD_OIDS);
}

bool c_read_request(struct nfs4r_codec *c, struct nfs4r_read *r)
{
	return c_u64(c, &r->id) && c_read_type(c, r) && c_oid(c, &r->oid) && c_read_name(c, r) && c_u64(c, &r->offset) &&
		c_u64(c, &r->length) && c_u64(c, &r->cookie) && c_bool(c, &r->copy) &&
		c_check(c, r->copy || r->type < NFS4R_RD_OIDS);
}

static bool c_dirents(struct nfs4r_codec *c, struct nfs4r_read *r)
{
	uint32_t n = r->ndirents;

	if (!c_count(c, &n, NFS4R_READDIR_MAX, DIRENT_MIN))
		return false;
	if (c_decoding(c) && n > 0) {
		r->dirents = calloc(n, sizeof(*r->dirents));
		if (!r->dirents)
			return c_fail(c, NFS4R_NOMEM);
		r->ndirents = n;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct nfs4r_dirent *d = &r->dirents[i];

		if (!c_name(c, &d->name, r->type != NFS4R_RD_OIDS) || !c_oid(c, &d->oid) ||
		    !c_range(c, &d->type, NFS4R_TYPE_FILE, NFS4R_TYPE_BLK) ||
		    !c_u64(c, &d->cookie))
			return false;
	}
	return true;
}

static bool c_row(struct nfs4r_codec *c, struct nfs4r_copy_row *r)
{
	bool there = r->version != 0;

	if (!c_bool(c, &there))
		return false;
	if (!there)
		return true;
	if (!c_u64(c, &r->version) || !c_check(c, r->version != 0) ||
	    !c_range(c, &r->type, NFS4R_TYPE_FILE, NFS4R_TYPE_BLK) || !c_bool(c, &r->multi) ||
	    !c_u32(c, &r->nlink) || !c_i64(c, &r->ctime) || !c_i64(c, &r->mtime) ||
	    !c_server(c, &r->last_log, true) || !c_u64(c, &r->last_lsn) ||
	    !c_count(c, &r->nparents, NFS4R_PARENTS_MAX, PARENT_BYTES))
		return false;
	for (uint32_t i = 0; i < r->nparents; i++) {
		if (!c_oid(c, &r->parents[i]) || !c_u32(c, &r->parent_names[i]))
			return false;
	}
	return true;
}

bool c_read_answer(struct nfs4r_codec *c, struct nfs4r_read *r)
{
	return c_u64(c, &r->id) && c_read_type(c, r) && c_status(c, &r->status) && c_oid(c, &r->result) && c_attrs(c, &r->attrs) &&
		c_opt_buf(c, &r->data, NFS4R_IO_MAX) && c_bool(c, &r->eof) &&
		c_u64(c, &r->result_offset) && c_u64(c, &r->verifier) && c_dirents(c, r) &&
		c_row(c, &r->row) &&
		(!c_since(c, NFS4R_PROTOCOL_LOCKS) || (c_lock_list(c, &r->nlocks, &r->locks) && c_client_list(c, r))) && (!c_decoding(c) || c_shape(c, nfs4r_shape_of_answer(r)));
}
