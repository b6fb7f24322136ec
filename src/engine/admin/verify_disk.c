/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Names of a directory on the disk, beside those of the store. Clients see the store's, so a difference is none between two copies; but a name that is on the disk alone is in the way of
 * an update, and somebody who put it there waits for it in vain.
 *
 * The volume's own hidden directory (staging_dir.c) and lost+found are no such names, nor are those that an import has still to take in.
 */
#include <stdlib.h>

#include "engine/admin/admin_int.h"
#include "engine/replicate/replicate.h"

static void note(struct verify_side *side, char kind, const char *name)
{
	uint32_t have = side->names ? side->names->len : 0, len = (uint32_t)strlen(name) + 2;
	struct nfs4r_buf *b;

	side->odd++;
	if (have + len > NFS4R_ODD_NAMES_MAX)
		return;
	b = nfs4r_buf_new(have + len);
	if (!b)
		return;
	if (have)
		memcpy(b->data, side->names->data, have);
	b->data[have] = (uint8_t)kind;
	memcpy(b->data + have + 1, name, len - 1);
	nfs4r_buf_put(side->names);
	side->names = b;
}

const char *admin_verify_odd_next(const struct verify_side *side, uint32_t *at, const char **what)
{
	const char *all = side->names ? (const char *)side->names->data : "";
	uint32_t len = side->names ? side->names->len : 0, end;

	if (*at + 2 > len || !memchr(all + *at, '\0', len - *at)) /* from another server it may be anything */
		return NULL;
	end = *at + (uint32_t)strlen(all + *at);
	*what = all[*at] == '+' ? "on the disk, and not in the volume" : all[*at] == '-' ? "in the volume, and not on the disk" :
											   "another object on the disk than in the volume";
	const char *name = all + *at + 1;
	*at = end + 1;
	return name;
}

void admin_verify_disk_name(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, const struct nfs4r_lhandle *dirh, const struct nfs4r_dirent *d, struct verify_side *side)
{
	struct nfs4r_lhandle h, found;

	nfs4r_handle(eng, &d->oid, &h);
	if (!h.len || !replicate_staging_is_in(eng, dir, &d->oid))
		return; /* not here yet */
	enum nfs4r_status st = eng->ops->lookup(eng->ctx, dirh, d->name.s, &found);
	if (st == NFS4R_NOENT)
		note(side, '-', d->name.s);
	else if (st == NFS4R_OK && (found.len != h.len || memcmp(found.b, h.b, h.len) != 0))
		note(side, '!', d->name.s);
}

struct rest {
	struct nfs4r_engine *eng;
	const struct nfs4r_oid *dir;
	struct verify_side *side;
	bool root;
};

static bool look_at(void *arg, const char *s)
{
	struct rest *r = arg;
	struct nfs4r_dirent ent;
	struct nfs4r_name name;

	if (r->root && (replicate_staging_is_name(s) || strcmp(s, "lost+found") == 0))
		return true;
	if (!nfs4r_name_set(&name, s, strlen(s)) || !nfs4r_store_lookup(r->eng->store, r->dir, &name, &ent))
		note(r->side, '+', s);
	return true;
}

enum nfs4r_status admin_verify_disk_rest(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, const struct nfs4r_lhandle *dirh, struct verify_side *side)
{
	struct rest r = { .eng = eng, .dir = dir, .side = side, .root = nfs4r_oid_eq(dir, &eng->root) };

	if (engine_import_is_open(eng, dir, NULL))
		return NFS4R_OK;
	return eng->ops->readdir(eng->ctx, dirh, look_at, &r);
}
