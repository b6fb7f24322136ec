/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Extended attributes of another copy, into this one. Two things differ from other content. A label that a kernel gives to new objects by itself
 * (nfs4r_xattr_is_label()) is taken where that is possible, since the other machine may have another security module, or none. An object that is made
 * in a directory with a default ACL gets an ACL from there, even if the object that is copied has none.
 */
#include "base/xattr.h"
#include "engine/runtime/runtime.h"

enum nfs4r_status engine_xattr_take(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h, const char *name, const void *val, uint32_t len)
{
	enum nfs4r_status st = eng->ops->setxattr(eng->ctx, h, name, val, len, NFS4R_XATTR_EITHER, NULL);

	if (st == NFS4R_OK || !nfs4r_xattr_is_label(name) || engine_is_disk_error(st) || st == NFS4R_STALE || st == NFS4R_NOENT)
		return st;
	if (!eng->runtime.labels_refused++)
		engine_log(eng, NFS4R_LOG_WARN, "volume %s: this machine refuses the label %s of another server's file (%s): files here have no such labels, or local ones",
			   eng->cfg.volume_name, name, nfs4r_status_str(st));
	return NFS4R_OK;
}

enum nfs4r_status engine_xattr_drop(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h, const char *name)
{
	enum nfs4r_status st = nfs4r_xattr_is_label(name) ? NFS4R_OK : eng->ops->removexattr(eng->ctx, h, name, NULL);

	return st == NFS4R_NOXATTR ? NFS4R_OK : st;
}

enum nfs4r_status engine_xattr_drop_inherited(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h)
{
	enum nfs4r_status st = NFS4R_OK;
	char names[4096];
	uint32_t len = sizeof(names);

	if (!eng->ops->acl_is_xattr || !eng->ops->acl_is_xattr(eng->ctx) || eng->ops->listxattr(eng->ctx, h, names, &len) != NFS4R_OK)
		return NFS4R_OK; /* more names than those of a new object: it was there before */
	for (const char *n = names; st == NFS4R_OK && n < names + len; n += strlen(n) + 1)
		if (strncmp(n, "system.", 7) == 0)
			st = engine_xattr_drop(eng, h, n);
	return st;
}
