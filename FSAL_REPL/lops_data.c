/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Local object operations on bytes. Writing as a replica goes through the sub-FSAL's global descriptor of a
 * handle that lives for one call: open by handle, write, close. Whole transfers, whatever the sub-FSAL does in
 * one go, are repl_sub_write() and repl_sub_read() in io.c.
 */
#include "repl.h"

enum nfs4r_status repl_lops_write(void *ctx, const struct nfs4r_lhandle *obj, uint64_t off, const void *bytes,
				  uint32_t len, bool stable, const struct nfs4r_cred *cred)
{
	struct iovec iov = { .iov_base = (void *)bytes, .iov_len = len };
	size_t done = len;
	struct repl_visit v;

	if (repl_visit_enter(&v, ctx, obj, cred) != NFS4R_OK)
		return v.status;
	if (v.sub->type != REGULAR_FILE)
		v.status = NFS4R_INVAL;
	else if (len > 0)
		v.status = repl_status(repl_sub_write(v.sub, true, NULL, off, &iov, 1, &done, &stable));
	repl_visit_leave(&v);
	return v.status;
}

enum nfs4r_status repl_lops_read(void *ctx, const struct nfs4r_lhandle *obj, uint64_t off, void *bytes, uint32_t *len, bool *eof)
{
	size_t done = *len;
	struct repl_visit v;

	*eof = false;
	if (repl_visit_enter(&v, ctx, obj, NULL) != NFS4R_OK)
		return v.status;
	if (v.sub->type == REGULAR_FILE)
		v.status = repl_status(repl_sub_read(v.sub, off, bytes, &done, eof));
	else
		v.status = v.sub->type == DIRECTORY ? NFS4R_ISDIR : NFS4R_INVAL;
	*len = done;
	repl_visit_leave(&v);
	return v.status;
}

enum nfs4r_status repl_lops_allocate(void *ctx, const struct nfs4r_lhandle *obj, uint64_t off, uint64_t len, bool punch,
				     const struct nfs4r_cred *cred)
{
	struct repl_visit v;

	if (repl_visit_enter(&v, ctx, obj, cred) != NFS4R_OK)
		return v.status;
	if (v.sub->type == REGULAR_FILE)
		v.status = repl_status(v.sub->obj_ops->fallocate(v.sub, NULL, off, len, !punch));
	else
		v.status = NFS4R_INVAL;
	repl_visit_leave(&v);
	return v.status;
}

enum nfs4r_status repl_lops_commit(void *ctx, const struct nfs4r_lhandle *obj)
{
	struct repl_visit v;

	if (repl_visit_enter(&v, ctx, obj, NULL) != NFS4R_OK)
		return v.status;
	if (v.sub->type == REGULAR_FILE)
		v.status = repl_status(v.sub->obj_ops->commit2(v.sub, 0, 0));
	repl_visit_leave(&v);
	return v.status;
}

enum nfs4r_status repl_lops_seek(void *ctx, const struct nfs4r_lhandle *obj, uint64_t off, bool hole, uint64_t *result, bool *eof)
{
	struct io_info info = { 0 };
	struct repl_visit v;

	if (repl_visit_enter(&v, ctx, obj, NULL) != NFS4R_OK)
		return v.status;
	info.io_content.what = hole ? NFS4_CONTENT_HOLE : NFS4_CONTENT_DATA;
	info.io_content.hole.di_offset = off;
	if (v.sub->type == REGULAR_FILE)
		v.status = repl_status(v.sub->obj_ops->seek2(v.sub, NULL, &info));
	else
		v.status = NFS4R_INVAL;
	*result = info.io_content.hole.di_offset;
	*eof = info.io_eof;
	repl_visit_leave(&v);
	return v.status;
}

int repl_lops_sync_all(void *ctx)
{
	struct repl_export *exp = ctx;

	return syncfs(exp->dir_fd) == 0 ? 0 : errno;
}

int repl_lops_dir_fd(void *ctx)
{
	struct repl_export *exp = ctx;

	return exp->dir_fd;
}
