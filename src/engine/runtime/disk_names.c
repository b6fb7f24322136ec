/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The names that a directory has on the disk, all at once: whoever goes through them changes the directory meanwhile, and local file systems then show names twice or
 * not at all. They lie one after the other, so that a directory of a million names takes as much memory as its names have bytes.
 */
#include <stdlib.h>

#include "engine/runtime/runtime.h"

static bool take(void *arg, const char *name)
{
	struct disk_names *l = arg;
	size_t n = strlen(name) + 1;

	if (l->len + n > l->cap) {
		size_t cap = 2 * l->cap + n + 4096;
		char *v = realloc(l->v, cap);

		l->failed = !v;
		if (!v)
			return false;
		l->v = v;
		l->cap = cap;
	}
	memcpy(l->v + l->len, name, n);
	l->len += n;
	return true;
}

enum nfs4r_status engine_disk_names_read(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, struct disk_names *l)
{
	enum nfs4r_status st;

	*l = (struct disk_names){ .len = 0 };
	st = eng->ops->readdir(eng->ctx, dirh, take, l);
	return l->failed ? NFS4R_NOMEM : st;
}

const char *engine_disk_names_next(const struct disk_names *l, const char *name)
{
	const char *next = name ? name + strlen(name) + 1 : l->v;

	return l->len && next < l->v + l->len ? next : NULL;
}

void engine_disk_names_free(struct disk_names *l)
{
	free(l->v);
}
