/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The names of repaired directories. The store has them as the source has them (fetch.c); here the local directories become so.
 *
 * Happy path: every name that should not be there, or leads to another object, is taken away: the object waits in the hidden directory, under its OID. Then
 * every name that is missing is given to its object, which is either there or, a file with several names, elsewhere. Since all are
 * taken away before any is given, directories that were moved below each other cannot form a ring. At the end what is dead at the source is
 * removed for good: its bytes were saved, or are dead everywhere. So is what an earlier attempt, which a crash broke off, made for objects that are gone since.
 *
 * What a later entry created or moved has no object, or no free one, yet: staging_dir.c puts it where it belongs when that entry comes.
 *
 * Failure modes: something that is not the volume's stands in the way of a name: it moves to the hidden directory as a stray.
 */
#include <stdlib.h>

#include "engine/replicate/replicate.h"
#include "engine/resync/resync_int.h"

#define LISTED 256

/* What the name should lead to; NULL: nothing, or nothing that is here. */
static const struct nfs4r_lhandle *wanted(struct repair *r, const struct repair_obj *o, const char *s, struct nfs4r_lhandle *h)
{
	struct nfs4r_dirent ent;
	struct nfs4r_name name;

	if (o->dead || !nfs4r_name_set(&name, s, strlen(s)) || !nfs4r_store_lookup(r->eng->store, &o->oid, &name, &ent))
		return NULL;
	nfs4r_handle(r->eng, &ent.oid, h);
	return h->len ? h : NULL;
}

/* Names that are wrong go. */
static enum nfs4r_status clear_dir(struct repair *r, const struct repair_obj *o, const struct nfs4r_lhandle *dirh)
{
	struct nfs4r_engine *eng = r->eng;
	bool root = nfs4r_oid_eq(&o->oid, &eng->root);
	struct disk_names l;
	enum nfs4r_status st = engine_disk_names_read(eng, dirh, &l);

	for (const char *name = engine_disk_names_next(&l, NULL); name && st == NFS4R_OK; name = engine_disk_names_next(&l, name)) {
		const struct nfs4r_lhandle *want;
		struct nfs4r_lhandle h;

		if (root && (replicate_staging_is_name(name) || strcmp(name, "lost+found") == 0))
			continue;
		want = wanted(r, o, name, &h);
		st = r->strays && (want || !r->importing) ? replicate_staging_stray(eng, dirh, name) : NFS4R_OK;
		if (st == NFS4R_OK)
			st = replicate_staging_clear(eng, dirh, name, want);
		if (st != NFS4R_OK)
			resync_fails(r, st, "the name %.100s in a directory: %s", name, nfs4r_status_str(st));
	}
	engine_disk_names_free(&l);
	return st;
}

/* Names that are missing come. */
static enum nfs4r_status fill_dir(struct repair *r, const struct repair_obj *o, const struct nfs4r_lhandle *dirh)
{
	struct nfs4r_dirent *d = calloc(LISTED, sizeof(*d));
	enum nfs4r_status st = d ? NFS4R_OK : NFS4R_NOMEM;
	uint64_t after = 0;

	for (uint32_t n = LISTED; st == NFS4R_OK && n == LISTED;) {
		n = nfs4r_store_readdir(r->eng->store, &o->oid, after, d, LISTED);
		for (uint32_t i = 0; i < n && st == NFS4R_OK; i++) {
			struct nfs4r_lhandle h;

			after = d[i].cookie;
			nfs4r_handle(r->eng, &d[i].oid, &h);
			if (!replicate_staging_is_in(r->eng, &o->oid, &d[i].oid))
				continue;
			st = replicate_staging_place(r->eng, dirh, d[i].name.s, &d[i].oid, &h);
			if (st != NFS4R_OK)
				resync_fails(r, st, "the name %.100s in a directory: %s", d[i].name.s, nfs4r_status_str(st));
		}
	}
	free(d);
	return st;
}

static enum nfs4r_status dir_mtime(struct repair *r, const struct repair_obj *o, const struct nfs4r_lhandle *h)
{
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_MTIME };
	struct nfs4r_row row;

	if (nfs4r_store_row(r->eng->store, &o->oid, &row) != NFS4R_KNOWN || !nfs4r_row_has_mtime(&row))
		return NFS4R_OK;
	a.mtime = row.mtime;
	return r->eng->ops->setattr(r->eng->ctx, h, &a, NULL, NULL);
}

enum step {
	CLEAR = 1,
	FILL,
	TIMES
};

static enum nfs4r_status each_dir(struct repair *r, enum step step)
{
	enum nfs4r_status st = NFS4R_OK;

	for (uint32_t i = 0; i < r->n && st == NFS4R_OK; i++) {
		const struct repair_obj *o = &r->objs[i];
		struct nfs4r_lhandle h;
		struct nfs4r_row row;

		if (resync_over(r))
			return NFS4R_SHUTDOWN;
		nfs4r_handle(r->eng, &o->oid, &h);
		if (!h.len || nfs4r_store_row(r->eng->store, &o->oid, &row) != NFS4R_KNOWN || row.type != NFS4R_TYPE_DIR)
			continue;
		if (o->dead && step != CLEAR)
			continue;
		st = step == CLEAR ? clear_dir(r, o, &h) : step == FILL ? fill_dir(r, o, &h) :
									  dir_mtime(r, o, &h);
		if (st == NFS4R_STALE && o->dead)
			st = NFS4R_OK; /* gone before a crash */
	}
	return st;
}

static enum nfs4r_status remove_dead(struct repair *r, bool gone)
{
	enum nfs4r_status st = NFS4R_OK;
	char text[NFS4R_OID_STRLEN];

	for (uint32_t i = 0; i < r->n && st == NFS4R_OK; i++) {
		const struct repair_obj *o = &r->objs[i];

		if (!o->dead || o->gone != gone)
			continue;
		st = replicate_staging_drop(r->eng, &o->oid);
		pthread_mutex_lock(&r->eng->lock);
		if (st == NFS4R_OK)
			st = nfs4r_store_forget(r->eng->store, &o->oid);
		pthread_mutex_unlock(&r->eng->lock);
		if (st != NFS4R_OK)
			resync_fails(r, st, "cannot remove object %s, which no longer exists on the other servers: %s", nfs4r_oid_str(&o->oid, text),
				     nfs4r_status_str(st));
	}
	return st;
}

static enum nfs4r_status drop_orphans(struct repair *r)
{
	struct nfs4r_engine *eng = r->eng;
	struct nfs4r_lhandle dirh;
	struct nfs4r_oid oid;
	struct disk_names l = { .len = 0 };
	enum nfs4r_status st = replicate_staging_find(eng, NULL, &dirh);

	if (st == NFS4R_OK)
		st = engine_disk_names_read(eng, &dirh, &l);
	for (const char *name = engine_disk_names_next(&l, NULL); name && st == NFS4R_OK; name = engine_disk_names_next(&l, name))
		if (replicate_staging_is_orphan(eng, &dirh, name, &oid)) /* of a store that was lost: it may be what nobody else has */
			st = r->strays ? replicate_staging_stray(eng, &dirh, name) : replicate_staging_drop(eng, &oid);
	engine_disk_names_free(&l);
	if (st == NFS4R_NOENT)
		return NFS4R_OK;
	return st == NFS4R_OK ? st : resync_fails(r, st, "cannot empty the staging directory: %s", nfs4r_status_str(st));
}

enum nfs4r_status resync_tree(struct repair *r)
{
	enum nfs4r_status st = remove_dead(r, true); /* first: what their handles lead to is not theirs */

	if (st == NFS4R_OK)
		st = each_dir(r, CLEAR);
	if (st == NFS4R_OK)
		st = each_dir(r, FILL);
	if (st == NFS4R_OK)
		st = remove_dead(r, false);
	if (st == NFS4R_OK)
		st = drop_orphans(r);
	if (st == NFS4R_OK)
		st = each_dir(r, TIMES);
	replicate_staging_tidy(r->eng);
	return st;
}
