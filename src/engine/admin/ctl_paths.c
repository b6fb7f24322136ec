/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Paths of objects, for people. The tables of the engine name an object by its OID, and there is no map from an object to its name. So the parent is searched for it, within a budget for
 * one answer; beyond it the path is null, and the OID has to do.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine/admin/admin_int.h"

#define NAMES_BUDGET 2000000 /* names looked at for one answer */
#define BATCH 256
#define CACHE 512

struct ctl_paths {
	struct nfs4r_engine *eng;
	uint64_t budget;
	struct nfs4r_dirent batch[BATCH];
	struct { /* paths of directories found before, by hash of the OID */
		struct nfs4r_oid oid;
		char *path;
	} cache[CACHE];
};

static bool find_name(struct ctl_paths *pf, const struct nfs4r_oid *dir, const struct nfs4r_oid *oid, struct nfs4r_name *name)
{
	uint64_t cookie = 0;

	for (;;) {
		uint32_t n = nfs4r_store_readdir(pf->eng->store, dir, cookie, pf->batch, BATCH);

		for (uint32_t i = 0; i < n; i++)
			if (nfs4r_oid_eq(&pf->batch[i].oid, oid)) {
				*name = pf->batch[i].name;
				return true;
			}
		if (n < BATCH || pf->budget < n)
			return false;
		pf->budget -= n;
		cookie = pf->batch[n - 1].cookie;
	}
}

static char *join(const char *dir, const char *name)
{
	char *out = NULL;

	if (asprintf(&out, "%s/%s", strcmp(dir, "/") ? dir : "", name) < 0)
		return NULL;
	return out;
}

/* Path of an object as far as it can be found; heap. NULL if not. */
static char *path_of(struct ctl_paths *pf, const struct nfs4r_oid *oid, uint32_t depth)
{
	size_t slot = nfs4r_oid_hash(oid) % CACHE;
	struct nfs4r_name name;
	struct nfs4r_row row;
	char *dir, *path;

	if (nfs4r_oid_eq(oid, &pf->eng->root))
		return strdup("/");
	if (pf->cache[slot].path && nfs4r_oid_eq(&pf->cache[slot].oid, oid))
		return strdup(pf->cache[slot].path);
	if (depth >= NFS4R_DEPTH_MAX || nfs4r_store_row(pf->eng->store, oid, &row) != NFS4R_KNOWN || !row.nparents ||
	    !find_name(pf, &row.parent, oid, &name))
		return NULL;
	dir = path_of(pf, &row.parent, depth + 1);
	path = dir ? join(dir, name.s) : NULL;
	free(dir);
	if (path && row.type == NFS4R_TYPE_DIR) {
		free(pf->cache[slot].path);
		pf->cache[slot].path = strdup(path);
		pf->cache[slot].oid = *oid;
	}
	return path;
}

json_t *admin_path_json(struct ctl_paths *pf, const struct nfs4r_oid *oid)
{
	char *path = path_of(pf, oid, 0);
	json_t *out = path ? admin_json_text(path) : json_null();

	free(path);
	return out;
}

struct ctl_paths *admin_paths_new(struct nfs4r_engine *eng)
{
	struct ctl_paths *pf = calloc(1, sizeof(*pf));

	if (pf != NULL) {
		pf->eng = eng;
		pf->budget = NAMES_BUDGET;
	}
	return pf;
}

struct nfs4r_engine *admin_paths_engine(const struct ctl_paths *pf)
{
	return pf->eng;
}

void admin_paths_free(struct ctl_paths *pf)
{
	if (pf == NULL)
		return;
	for (size_t i = 0; i < CACHE; i++)
		free(pf->cache[i].path);
	free(pf);
}
