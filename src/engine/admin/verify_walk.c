/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The tree below a directory, by the store's names, depth first. A stack of directories with the cookie where each goes on;
 * nothing is locked between two steps, so names that come and go meanwhile may or may not be met. An object with
 * several names is met under each of them. Depth is bounded by NFS4R_DEPTH_MAX and the path by CTL_PATH_MAX: a
 * directory beyond is not entered (its own listing is still compared).
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine/admin/admin_int.h"

#define BATCH 64 /* names fetched at once, of the innermost directory only */

struct frame {
	struct nfs4r_oid dir;
	uint64_t cookie;
	size_t path_len;
};

struct verify_walk {
	struct nfs4r_engine *eng;
	char path[CTL_PATH_MAX + NFS4R_NAME_MAX + 2];
	bool begun;
	struct verify_found start;
	uint32_t depth;
	struct frame stack[NFS4R_DEPTH_MAX];
	uint32_t n, at;
	struct nfs4r_dirent batch[BATCH];
};

/* Next component of *p into @name; false at the end or when it is no name (then *bad). */
static bool component(const char **p, struct nfs4r_name *name, bool *bad)
{
	while (**p == '/')
		++*p;
	size_t len = strcspn(*p, "/");
	*bad = len && !nfs4r_name_set(name, *p, len);
	*p += len;
	return len && !*bad;
}

static bool resolve(struct verify_walk *w, const char *path, char *why)
{
	const char *p = path;
	struct nfs4r_dirent ent;
	bool bad;

	w->start.oid = w->eng->root;
	w->start.type = NFS4R_TYPE_DIR;
	while (component(&p, &w->start.name, &bad)) {
		if (w->start.type != NFS4R_TYPE_DIR ||
		    !nfs4r_store_lookup(w->eng->store, &w->start.oid, &w->start.name, &ent)) {
			snprintf(why, NFS4R_WHY, "there is no %.1900s in this volume; paths start at the volume's root",
				 path);
			return false;
		}
		w->start.dir = w->start.oid;
		w->start.oid = ent.oid;
		w->start.type = ent.type;
		size_t at = strlen(w->path);
		snprintf(w->path + at, sizeof(w->path) - at, "/%s", w->start.name.s);
	}
	if (bad)
		snprintf(why, NFS4R_WHY, "%.1900s is not a path of this volume: a name in it is too long, \".\" or \"..\"", path);
	return !bad;
}

struct verify_walk *admin_verify_walk_new(struct nfs4r_engine *eng, const char *path, char *why)
{
	struct verify_walk *w;

	if (path[0] != '/' || strlen(path) >= CTL_PATH_MAX) {
		snprintf(why, 200, "a path must start with / (the volume's root) and have less than %u bytes", CTL_PATH_MAX);
		return NULL;
	}
	w = calloc(1, sizeof(*w));
	if (!w) {
		snprintf(why, 200, "out of memory");
		return NULL;
	}
	w->eng = eng;
	if (!resolve(w, path, why)) {
		free(w);
		return NULL;
	}
	return w;
}

static void enter(struct verify_walk *w, const struct nfs4r_oid *dir)
{
	size_t len = strlen(w->path);

	if (w->depth == NFS4R_DEPTH_MAX || len >= CTL_PATH_MAX)
		return;
	w->stack[w->depth++] = (struct frame){ .dir = *dir, .path_len = len };
	w->n = w->at = 0;
}

static bool give(struct verify_walk *w, const struct verify_found *f, struct verify_found *out, enum nfs4r_status *st)
{
	*out = *f;
	out->path = strdup(w->path[0] ? w->path : "/");
	*st = out->path ? NFS4R_OK : NFS4R_NOMEM;
	if (out->path && f->type == NFS4R_TYPE_DIR)
		enter(w, &f->oid);
	return out->path != NULL;
}

bool admin_verify_walk_next(struct verify_walk *w, struct verify_found *out, enum nfs4r_status *st)
{
	*st = NFS4R_OK;
	if (!w->begun) {
		w->begun = true;
		return give(w, &w->start, out, st);
	}
	while (w->depth) {
		struct frame *f = &w->stack[w->depth - 1];

		w->path[f->path_len] = '\0';
		if (w->at == w->n) {
			w->at = 0;
			w->n = nfs4r_store_readdir(w->eng->store, &f->dir, f->cookie, w->batch, BATCH);
		}
		if (w->n == 0) {
			w->depth--;
			continue;
		}
		const struct nfs4r_dirent *ent = &w->batch[w->at++];
		struct verify_found found = { .oid = ent->oid, .dir = f->dir, .name = ent->name, .type = ent->type };

		f->cookie = ent->cookie;
		memcpy(w->path + f->path_len, "/", 1);
		memcpy(w->path + f->path_len + 1, ent->name.s, (size_t)ent->name.len + 1);
		return give(w, &found, out, st);
	}
	return false;
}

void admin_verify_walk_free(struct verify_walk *w)
{
	free(w);
}
