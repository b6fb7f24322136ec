/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "bench/nothing.h"

#include <string.h>

static enum nfs4r_status handle(uint64_t n, struct nfs4r_lhandle *out)
{
	out->len = sizeof(n);
	memcpy(out->b, &n, sizeof(n));
	return NFS4R_OK;
}

static enum nfs4r_status n_root(void *ctx, struct nfs4r_lhandle *out)
{
	return handle(1, out);
}

static enum nfs4r_status n_lookup(void *ctx, const struct nfs4r_lhandle *d, const char *name, struct nfs4r_lhandle *out)
{
	return NFS4R_NOENT;
}

static void post_of(const struct nfs4r_attrs *a, struct nfs4r_attrs *post)
{
	memset(post, 0, sizeof(*post));
	post->mask = NFS4R_ATTR_TYPE | NFS4R_ATTR_MODE | NFS4R_ATTR_UID | NFS4R_ATTR_GID | NFS4R_ATTR_SIZE | NFS4R_ATTR_ATIME | NFS4R_ATTR_NLINK;
	post->type = a ? a->type : NFS4R_TYPE_DIR;
	post->mode = a ? a->mode : 0755;
	post->atime = a ? a->atime : 0;
	post->nlink = 1;
}

static enum nfs4r_status n_create(void *ctx, const struct nfs4r_lhandle *d, const char *name, const struct nfs4r_attrs *attrs,
				  const char *linktext, const struct nfs4r_cred *cred, struct nfs4r_lhandle *out, struct nfs4r_attrs *post)
{
	struct bench_nothing *s = ctx;

	post_of(attrs, post);
	return handle(2 + s->handles++, out);
}

static enum nfs4r_status n_setattr(void *ctx, const struct nfs4r_lhandle *obj, const struct nfs4r_attrs *attrs,
				   const struct nfs4r_cred *cred, struct nfs4r_attrs *post)
{
	if (post)
		post_of(attrs, post);
	return NFS4R_OK;
}

static enum nfs4r_status n_getattr(void *ctx, const struct nfs4r_lhandle *obj, struct nfs4r_attrs *out)
{
	post_of(NULL, out);
	return NFS4R_OK;
}

static enum nfs4r_status n_readdir(void *ctx, const struct nfs4r_lhandle *d, bool (*fn)(void *arg, const char *name), void *arg)
{
	return NFS4R_OK;
}

static int n_sync_all(void *ctx)
{
	return 0;
}

const struct nfs4r_lops bench_nothing = { .root = n_root, .lookup = n_lookup, .create = n_create, .setattr = n_setattr, .getattr = n_getattr, .readdir = n_readdir, .sync_all = n_sync_all };
