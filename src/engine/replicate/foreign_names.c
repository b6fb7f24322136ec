/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Names in the exported directory that somebody changed behind NFS, where an update wants to be (docs/decisions/0027-changes-behind-nfs.md).
 *
 * The store says what each name means, and the update that is executed or applied holds the locks of the directories that it changes. So a name on the disk
 * that is not the store's is no volume's name. An object that the store does not know moves to the hidden directory as a stray (staging_dir.c), where people find it. An object of the
 * volume under a wrong name is parked there under its OID, and self_heal.c gives it its own name back. Then the update goes on.
 *
 * A name that the store has and the disk has not: the client hears DELAY, and self_heal.c brings the object back first. The removal of a name is no exception,
 * for the local file system decides whether that client may remove it.
 *
 * Invariant: nothing that the volume does not know is overwritten or removed here.
 */
#include <stdlib.h>

#include "engine/replicate/replicate.h"

bool replicate_way_leads_to(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_lhandle *h)
{
	struct nfs4r_lhandle found;

	return eng->ops->lookup(eng->ctx, dirh, name, &found) == NFS4R_OK && nfs4r_lhandle_eq(&found, h);
}

static void say_parked(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_oid *oid)
{
	char dir[600] = "", path[600];
	struct nfs4r_oid in;

	if (nfs4r_by_handle(eng, dirh, &in))
		engine_path_of(eng, &in, dir, sizeof(dir));
	engine_path_of(eng, oid, path, sizeof(path));
	engine_log(eng, NFS4R_LOG_WARN, "volume %s: '%.200s' in the exported directory's '%.200s' is the volume's '%.200s', moved or linked there behind NFS: it is moved back",
		   eng->cfg.volume_name, name, dir, path);
}

enum nfs4r_status replicate_way_clear(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_lhandle *may)
{
	struct nfs4r_lhandle found;
	struct nfs4r_oid oid;
	enum nfs4r_status st = eng->ops->lookup(eng->ctx, dirh, name, &found);

	if (st != NFS4R_OK || (may && nfs4r_lhandle_eq(&found, may)))
		return st == NFS4R_NOENT ? NFS4R_OK : st;
	if (!nfs4r_by_handle(eng, &found, &oid))
		return replicate_staging_stray(eng, dirh, name);
	say_parked(eng, dirh, name, &oid);
	st = replicate_staging_park(eng, dirh, name, &found, &oid);
	if (st == NFS4R_OK)
		engine_missing_misplaced(eng, &oid);
	return st;
}

static bool way_empty(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh)
{
	struct disk_names l = { .len = 0 };
	enum nfs4r_status st = dirh->len ? engine_disk_names_read(eng, dirh, &l) : NFS4R_STALE;
	bool any = l.len;

	for (const char *name = engine_disk_names_next(&l, NULL); name && st == NFS4R_OK; name = engine_disk_names_next(&l, name))
		st = replicate_way_clear(eng, dirh, name, NULL);
	engine_disk_names_free(&l);
	return st == NFS4R_OK && any;
}

/* ---- an own update that is about to be executed ---- */

/* The name that is taken away leads to its object; what else has it moves aside, for the local file system would remove that. */
static enum nfs4r_status way_from(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_lhandle *child)
{
	enum nfs4r_status st;

	if (!dirh->len || !child->len || replicate_way_leads_to(eng, dirh, name, child))
		return NFS4R_OK;
	st = replicate_way_clear(eng, dirh, name, child);
	return st == NFS4R_OK ? NFS4R_NOENT : st;
}

enum nfs4r_status replicate_way_before(struct nfs4r_engine *eng, const struct nfs4r_op *op, const struct nfs4r_exec *x)
{
	enum nfs4r_status st;

	if (op->type != NFS4R_OP_REMOVE && op->type != NFS4R_OP_RENAME)
		return NFS4R_OK;
	/* What an import has still to take in is no stranger. */
	if (engine_import_is_open(eng, &op->dir, NULL) || (op->type == NFS4R_OP_RENAME && engine_import_is_open(eng, &op->dir2, NULL)))
		return NFS4R_OK;
	st = way_from(eng, &x->dir, op->name.s, &x->child);
	if (st != NFS4R_OK || op->type == NFS4R_OP_REMOVE || !x->dir2.len || replicate_way_leads_to(eng, &x->dir2, op->name2.s, &x->child))
		return st;
	return replicate_way_clear(eng, &x->dir2, op->name2.s, &x->target);
}

/* ---- an update that could not be executed or applied ---- */

/* The directory that the entry takes away, or replaces, has names on the disk that the store has not. */
static bool make_empty(struct nfs4r_engine *eng, const struct nfs4r_entry *e)
{
	bool moved = false;

	for (uint32_t i = 0; i < e->nparts; i++) {
		struct nfs4r_lhandle dirh;
		struct nfs4r_row row;

		if (e->parts[i].effect != NFS4R_EFF_LINKS || nfs4r_store_row(eng->store, &e->parts[i].oid, &row) != NFS4R_KNOWN)
			continue;
		nfs4r_handle(eng, &e->parts[i].oid, &dirh);
		if (row.type == NFS4R_TYPE_DIR && !row.nentries && !engine_import_is_open(eng, &e->parts[i].oid, NULL))
			moved |= way_empty(eng, &dirh);
	}
	return moved;
}

static bool renames(const struct nfs4r_entry *e)
{
	for (uint32_t i = 0; i < e->nparts; i++)
		if (e->parts[i].effect == NFS4R_EFF_PARENT)
			return true;
	return false;
}

bool replicate_way_make(struct nfs4r_engine *eng, const struct nfs4r_entry *e, enum nfs4r_status st)
{
	bool moved = false;

	if (st == NFS4R_NOTEMPTY || (st == NFS4R_EXIST && renames(e)))
		return make_empty(eng, e);
	for (uint32_t i = 0; st == NFS4R_EXIST && i < e->nparts; i++) {
		const struct nfs4r_part *p = &e->parts[i];
		struct nfs4r_lhandle dirh;

		if (p->effect != NFS4R_EFF_NAMES || engine_import_is_open(eng, &p->oid, NULL))
			continue;
		nfs4r_handle(eng, &p->oid, &dirh);
		for (uint32_t j = 0; dirh.len && j < p->nnames; j++)
			if (!nfs4r_oid_is_zero(&p->names[j].oid))
				moved |= replicate_way_clear(eng, &dirh, p->names[j].name.s, NULL) == NFS4R_OK;
	}
	return moved;
}
