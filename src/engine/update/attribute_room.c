/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Have the extended attributes and ACLs that an update sets room at every server (log 4.12)? */
#include <stdlib.h>

#include "engine/update/update_int.h"

#define XATTR_LIST_MAX 65536
#define ATTRIBUTE_BYTES 20 /* what a file system that puts all attributes of an object into one block needs besides name and value */

/* What @op adds: of a value, or of an ACL in the object and, of a directory, for its children. */
static enum nfs4r_status bytes_added(struct nfs4r_engine *eng, const struct nfs4r_op *op, bool is_dir, uint32_t part[2])
{
	part[0] = op->data ? op->data->len : 0;
	part[1] = 0;
	if (op->type == NFS4R_OP_SETXATTR || !op->attrs.acl)
		return NFS4R_OK;
	if (!eng->ops->acl_bytes) {
		part[0] = op->attrs.acl->len;
		part[1] = is_dir ? part[0] : 0;
		return NFS4R_OK;
	}
	enum nfs4r_status st = eng->ops->acl_bytes(eng->ctx, op->attrs.acl, &part[0], &part[1]);
	if (!is_dir)
		part[1] = 0;
	return st;
}

static bool is_replaced(const struct nfs4r_op *op, const char *name, bool inherits)
{
	if (op->type == NFS4R_OP_SETXATTR)
		return strcmp(name, op->text) == 0;
	return strcmp(name, "system.posix_acl_access") == 0 || (inherits && strcmp(name, "system.posix_acl_default") == 0);
}

/* Names and values that @obj keeps beside what @op sets. */
static enum nfs4r_status bytes_kept(struct nfs4r_engine *eng, const struct nfs4r_op *op, const struct nfs4r_lhandle *obj, bool inherits, uint64_t *sum)
{
	uint32_t len = XATTR_LIST_MAX;
	char *names = malloc(XATTR_LIST_MAX), *value = malloc(NFS4R_XATTR_VALUE_MAX);
	enum nfs4r_status st = names && value ? eng->ops->listxattr(eng->ctx, obj, names, &len) : NFS4R_NOMEM;

	for (char *n = names; st == NFS4R_OK && n < names + len; n += strlen(n) + 1) {
		uint32_t got = NFS4R_XATTR_VALUE_MAX;

		if (!is_replaced(op, n, inherits) && eng->ops->getxattr(eng->ctx, obj, n, value, &got) == NFS4R_OK)
			*sum += got + strlen(n) + ATTRIBUTE_BYTES;
	}
	free(names);
	free(value);
	return st;
}

static bool is_directory(struct nfs4r_engine *eng, const struct nfs4r_op *op)
{
	struct nfs4r_row row;

	if (nfs4r_op_is_dirop(op->type))
		return op->type == NFS4R_OP_MKDIR;
	return nfs4r_store_row(eng->store, &op->obj, &row) == NFS4R_KNOWN && row.type == NFS4R_TYPE_DIR;
}

enum nfs4r_status update_room_for_attributes(struct nfs4r_engine *eng, const struct nfs4r_op *op, const struct nfs4r_lhandle *obj)
{
	struct nfs4r_volume_room room;
	uint32_t part[2];
	uint64_t sum;
	enum nfs4r_status st = bytes_added(eng, op, is_directory(eng, op), part);

	nfs4r_volume_room(eng, &room);
	if (st != NFS4R_OK || !room.limits.xattr_max)
		return st;
	if (room.limits.has & NFS4R_HAS_ROOM_EACH)
		return part[0] <= room.limits.xattr_max && part[1] <= room.limits.xattr_max ? NFS4R_OK : NFS4R_NOSPC;
	sum = part[0] + (part[1] ? part[1] + ATTRIBUTE_BYTES : 0);
	if (obj->len)
		st = bytes_kept(eng, op, obj, part[1] != 0, &sum);
	if (st != NFS4R_OK)
		return st;
	return sum <= room.limits.xattr_max ? NFS4R_OK : NFS4R_NOSPC;
}
