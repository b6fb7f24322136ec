/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What Ganesha asks an export. Limits and free space are the smallest of all servers (log 4.12), the rest of both the sub-FSAL's; features are answered here one by one, so
 * that nothing slips through which a replicated volume cannot keep (delegations, pNFS, referrals). Locks are our own (locks.c), so that requests can wait.
 * The write verifier is the engine's: it changes whenever unstable data may have died behind this server.
 */
#include "repl.h"

void repl_export_life_ops(struct export_ops *ops); /* export.c */

#define SUB(e) ((e)->sub_export)

static const char *get_name(struct fsal_export *e)
{
	return e->fsal->name;
}

/* What clients may still use, and no more than there is here. */
static void lower(uint64_t *free, uint64_t *avail, uint64_t total, bool known, uint64_t room)
{
	if (known)
		*free = *avail = MIN(room, total);
}

static fsal_status_t get_fs_dynamic_info(struct fsal_export *e, struct fsal_obj_handle *h, fsal_dynamicfsinfo_t *info)
{
	struct repl_export *exp = repl_export(e);
	struct fsal_obj_handle *sub;
	struct nfs4r_volume_room room;
	fsal_status_t st;

	sub = repl_obj_sub(exp, repl_obj(h), &st);
	if (sub != NULL)
		REPL_SUBCALL(exp, st = SUB(e)->exp_ops.get_fs_dynamic_info(SUB(e), sub, info));
	if (sub == NULL || FSAL_IS_ERROR(st))
		return st;
	repl_volume_room(exp, &room);
	lower(&info->free_bytes, &info->avail_bytes, info->total_bytes, room.bytes_known, room.bytes);
	lower(&info->free_files, &info->avail_files, info->total_files, room.inodes_known, room.inodes);
	return st;
}

static bool fs_supports(struct fsal_export *e, fsal_fsinfo_options_t option)
{
	bool yes;

	switch (option) {
	case fso_delegations_r:
	case fso_delegations_w:
	case fso_pnfs_ds_supported:
	case fso_pnfs_mds_supported:
	case fso_compute_readdir_cookie:
	case fso_whence_is_name:
	case fso_rename_changes_key:
	case fso_allocate_own_read_buffer:
	case fso_readdir_plus:
		return false;
	case fso_compliant_eof_behavior:
	case fso_unique_handles:
	case fso_xattr_support:
	case fso_cansettime:
	case fso_lock_support:
	case fso_lock_support_async_block:
		return true;
	case fso_grace_method:
		return repl_locks_are_shared(repl_export(e)); /* then the volume knows what is still to be reclaimed */
	default:
		REPL_SUBCALL(repl_export(e), yes = SUB(e)->exp_ops.fs_supports(SUB(e), option));
		return yes;
	}
}

#define PASS(type, name)                                                          \
	static type name(struct fsal_export *e)                                   \
	{                                                                         \
		type res;                                                         \
		REPL_SUBCALL(repl_export(e), res = SUB(e)->exp_ops.name(SUB(e))); \
		return res;                                                       \
	}

static uint64_t smaller(uint64_t own, uint64_t volume)
{
	return volume != 0 && volume < own ? volume : own;
}

static uint64_t fs_maxfilesize(struct fsal_export *e)
{
	struct nfs4r_volume_room room;
	uint64_t own;

	REPL_SUBCALL(repl_export(e), own = SUB(e)->exp_ops.fs_maxfilesize(SUB(e)));
	repl_volume_room(repl_export(e), &room);
	return smaller(own, room.limits.file_max);
}

static uint32_t fs_maxlink(struct fsal_export *e)
{
	struct nfs4r_volume_room room;

	repl_volume_room(repl_export(e), &room);
	if (room.limits.link_max == 0)
		REPL_SUBCALL(repl_export(e), room.limits.link_max = SUB(e)->exp_ops.fs_maxlink(SUB(e)));
	return room.limits.link_max;
}

PASS(uint32_t, fs_maxpathlen)
PASS(fsal_aclsupp_t, fs_acl_support)
PASS(uint32_t, fs_umask)

static uint32_t fs_maxread(struct fsal_export *e)
{
	uint32_t res;

	REPL_SUBCALL(repl_export(e), res = SUB(e)->exp_ops.fs_maxread(SUB(e)));
	return MIN(res, NFS4R_IO_MAX);
}

static uint32_t fs_maxwrite(struct fsal_export *e)
{
	uint32_t res;

	REPL_SUBCALL(repl_export(e), res = SUB(e)->exp_ops.fs_maxwrite(SUB(e)));
	return MIN(res, NFS4R_IO_MAX);
}

static uint32_t fs_maxnamelen(struct fsal_export *e)
{
	struct nfs4r_volume_room room;
	uint32_t res;

	REPL_SUBCALL(repl_export(e), res = SUB(e)->exp_ops.fs_maxnamelen(SUB(e)));
	repl_volume_room(repl_export(e), &room);
	return (uint32_t)smaller(MIN(res, NFS4R_NAME_MAX), room.limits.name_max);
}

static attrmask_t fs_supported_attrs(struct fsal_export *e)
{
	attrmask_t res;

	REPL_SUBCALL(repl_export(e), res = SUB(e)->exp_ops.fs_supported_attrs(SUB(e)));
	return (res & (ATTRS_POSIX | ATTR_ACL | ATTRS_SET_TIME | ATTR_RDATTR_ERR)) | ATTR_CHANGE | ATTR_FILEID | ATTR_FSID |
		ATTR4_XATTR;
}

static int32_t fs_expiretimeparent(struct fsal_export *e)
{
	return -1;
}

static fsal_status_t get_quota(struct fsal_export *e, const char *path, int type, int id, fsal_quota_t *quota)
{
	fsal_status_t st;

	REPL_SUBCALL(repl_export(e), st = SUB(e)->exp_ops.get_quota(SUB(e), path, type, id, quota));
	return st;
}

static fsal_status_t set_quota(struct fsal_export *e, const char *path, int type, int id, fsal_quota_t *quota,
			       fsal_quota_t *res)
{
	fsal_status_t st;

	REPL_SUBCALL(repl_export(e), st = SUB(e)->exp_ops.set_quota(SUB(e), path, type, id, quota, res));
	return st;
}

static fsal_status_t check_quota(struct fsal_export *e, const char *path, int type)
{
	fsal_status_t st;

	REPL_SUBCALL(repl_export(e), st = SUB(e)->exp_ops.check_quota(SUB(e), path, type));
	return st;
}

static struct state_t *alloc_state(struct fsal_export *e, enum state_type type, struct state_t *related)
{
	struct state_t *state;

	REPL_SUBCALL(repl_export(e), state = SUB(e)->exp_ops.alloc_state(SUB(e), type, related));
	return state;
}

static bool is_superuser(struct fsal_export *e, const struct user_cred *creds)
{
	bool yes;

	REPL_SUBCALL(repl_export(e), yes = SUB(e)->exp_ops.is_superuser(SUB(e), creds));
	return yes;
}

static void get_write_verifier(struct fsal_export *e, struct gsh_buffdesc *out)
{
	uint64_t verifier = repl_verifier_answer(repl_export(e));

	memset(out->addr, 0, out->len);
	memcpy(out->addr, &verifier, MIN(out->len, sizeof(verifier)));
}

void repl_export_ops_init(struct export_ops *ops)
{
	repl_export_life_ops(ops);
	ops->get_name = get_name;
	ops->lookup_path = repl_lookup_path;
	ops->wire_to_host = repl_wire_to_host;
	ops->host_to_key = repl_host_to_key;
	ops->create_handle = repl_create_handle;
	ops->get_fs_dynamic_info = get_fs_dynamic_info;
	ops->fs_supports = fs_supports;
	ops->fs_maxfilesize = fs_maxfilesize;
	ops->fs_maxread = fs_maxread;
	ops->fs_maxwrite = fs_maxwrite;
	ops->fs_maxlink = fs_maxlink;
	ops->fs_maxnamelen = fs_maxnamelen;
	ops->fs_maxpathlen = fs_maxpathlen;
	ops->fs_acl_support = fs_acl_support;
	ops->fs_supported_attrs = fs_supported_attrs;
	ops->fs_umask = fs_umask;
	ops->fs_expiretimeparent = fs_expiretimeparent;
	ops->check_quota = check_quota;
	ops->get_quota = get_quota;
	ops->set_quota = set_quota;
	ops->alloc_state = alloc_state;
	ops->is_superuser = is_superuser;
	ops->get_write_verifier = get_write_verifier;
}
