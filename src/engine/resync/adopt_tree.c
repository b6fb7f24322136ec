/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What lies in the exported directory of a server that lost its store, or has an old one (log 8.6), is for the most part what it has to have, and its disk may not have room
 * for a second copy. So before anything is made anew, what has the name and the type that an object has at the source is taken for that object, and its
 * content is then made equal like any other's (fetch.c).
 *
 * Happy path: first the handles of an old store are tried. Then, from the root on, level by level, the source's names of each directory are looked up in the local one.
 *
 * An old store knows handles of files that are gone. A file system may give such a handle again, to a file that this repair makes for another object, and two objects would
 * share one file. So whether a handle leads to its object is asked before anything is made, and what is gone stays gone.
 *
 * A file with several names here is taken for the object that has one of them at the source; its other names then become those at the source (names.c). What cannot be changed afterwards
 * has to be the same already: the target of a symbolic link, the number of a device (fetch.c).
 *
 * Failure modes: what cannot be looked up is not taken; the object is then made in the hidden directory, and what has its name is a stray
 * (names.c). The source goes away: the repair fails and is tried again.
 *
 * Invariant: one local object is taken for one object of the volume. Each local handle has one owner in the store, and each name is looked at once. If the names of several objects lead to one
 * local file, one of these objects gets it. Nothing is taken that the store knows already. A file in the hidden directory belongs to the object whose OID is its name there.
 */
#include <stdlib.h>

#include "base/room.h"
#include "engine/replicate/replicate.h"
#include "engine/resync/resync_int.h"

/* ---- what the store knows ---- */

struct known {
	struct repair *r; /* only read, but for its objects' `gone` */
	_Atomic uint32_t next;
};

/* To something of its type, and that was not given to another object since: an earlier attempt may have. */
static bool leads_to(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct nfs4r_attrs a = { 0 };
	struct nfs4r_lhandle h;
	struct nfs4r_oid owner;
	struct nfs4r_row row;

	nfs4r_handle(eng, oid, &h);
	if (nfs4r_by_handle(eng, &h, &owner) && !nfs4r_oid_eq(&owner, oid))
		return false;
	bool there = h.len && eng->ops->getattr(eng->ctx, &h, &a) == NFS4R_OK;

	if (there && nfs4r_store_row(eng->store, oid, &row) == NFS4R_KNOWN)
		there = a.type == row.type;
	nfs4r_buf_put(a.acl);
	return there;
}

static void *try_handles(void *arg)
{
	struct known *k = arg;
	struct repair *r = k->r;

	for (uint32_t i; !resync_over(r) && (i = k->next++) < r->n;)
		r->objs[i].gone = !leads_to(r->eng, &r->objs[i].oid);
	return NULL;
}

/* The handle is that of something else. */
static void not_of(struct repair *r, const struct nfs4r_lhandle *h, const struct nfs4r_oid *oid)
{
	struct nfs4r_oid known;
	struct repair_obj *o = nfs4r_by_handle(r->eng, h, &known) && !(oid && nfs4r_oid_eq(&known, oid)) ? resync_find(r, &known, r->n) : NULL;

	if (o)
		o->gone = true;
}

/* The hidden directory itself, and what an earlier attempt made there and did not come to install. */
static void look_at_hidden(struct repair *r)
{
	struct nfs4r_lhandle h;

	if (replicate_staging_find(r->eng, NULL, &h) != NFS4R_OK)
		return;
	not_of(r, &h, NULL);
	for (uint32_t i = 0; i < r->n; i++)
		if (replicate_staging_find(r->eng, &r->objs[i].oid, &h) == NFS4R_OK)
			not_of(r, &h, &r->objs[i].oid);
}

static void see_what_is_gone(struct repair *r)
{
	struct known k = { .r = r };

	resync_crew(try_handles, &k, r->n);
	look_at_hidden(r);
}

/* ---- what it does not know ---- */

struct place { /* a directory of the source, and the local one */
	struct nfs4r_oid oid;
	struct nfs4r_lhandle h;
};

struct level {
	struct place *v;
	uint32_t n, cap;
};

struct adopt {
	struct repair *r; /* only read, but for what was found */
	pthread_mutex_t lock;
	struct level here, below; /* below, and what objects were found: under lock */
	struct repair_obj **linked; /* found, with several names here; under lock */
	uint32_t nlinked, linked_cap;
	_Atomic uint32_t next;
	_Atomic int st; /* the first that is not OK; who sets it says why */
	char why[sizeof(((struct repair *)0)->why)];
};

static bool add(struct level *l, const struct nfs4r_oid *oid, const struct nfs4r_lhandle *h)
{
	if (!NFS4R_ROOM(l->v, l->n, l->cap))
		return false;
	l->v[l->n++] = (struct place){ *oid, *h };
	return true;
}

/* Is what has the name here of that type, and nothing that is known under another name? *linked: it has several names here. */
static bool may_be(struct repair *r, const struct nfs4r_lhandle *dirh, const struct nfs4r_dirent *d, struct nfs4r_lhandle *h, bool *linked)
{
	struct nfs4r_engine *eng = r->eng;
	struct nfs4r_attrs a = { 0 };
	struct nfs4r_oid known;
	bool yes;

	*linked = false;
	if (eng->ops->lookup(eng->ctx, dirh, d->name.s, h) != NFS4R_OK)
		return false;
	if (nfs4r_by_handle(eng, h, &known))
		return d->type == NFS4R_TYPE_DIR && nfs4r_oid_eq(&known, &d->oid);
	yes = eng->ops->getattr(eng->ctx, h, &a) == NFS4R_OK && a.type == d->type;
	*linked = a.type != NFS4R_TYPE_DIR && a.nlink > 1;
	nfs4r_buf_put(a.acl);
	return yes;
}

static bool note_linked(struct adopt *w, struct repair_obj *o)
{
	if (!NFS4R_ROOM(w->linked, w->nlinked, w->linked_cap))
		return false;
	w->linked[w->nlinked++] = o;
	return true;
}

/* False: no memory. */
static bool take(struct adopt *w, const struct nfs4r_dirent *d, const struct nfs4r_lhandle *h, bool linked)
{
	struct repair_obj *o = resync_find(w->r, &d->oid, w->r->n);
	bool ok = true;

	pthread_mutex_lock(&w->lock);
	if (o && !o->found) { /* else it was found under another name, or moved meanwhile and found at its other place */
		o->found = malloc(sizeof(*o->found));
		if (o->found)
			*o->found = *h;
		ok = o->found && (d->type != NFS4R_TYPE_DIR || add(&w->below, &d->oid, h)) && (!linked || note_linked(w, o));
	}
	pthread_mutex_unlock(&w->lock);
	return ok;
}

static int by_found(const void *a, const void *b)
{
	const struct repair_obj *x = *(struct repair_obj *const *)a, *y = *(struct repair_obj *const *)b;
	int order = (int)x->found->len - (int)y->found->len;

	if (!order)
		order = memcmp(x->found->b, y->found->b, x->found->len);
	return order ? order : nfs4r_oid_cmp(&x->oid, &y->oid);
}

/* Names that lead to one file here belong to several objects at the source: the first of them gets it. */
static void link_or_drop(struct adopt *w)
{
	struct nfs4r_lhandle *last = NULL;

	if (w->nlinked)
		qsort(w->linked, w->nlinked, sizeof(*w->linked), by_found);
	for (uint32_t i = 0; i < w->nlinked; i++) {
		struct repair_obj *o = w->linked[i];

		if (last && last->len == o->found->len && memcmp(last->b, o->found->b, last->len) == 0) {
			free(o->found);
			o->found = NULL;
		} else {
			last = o->found;
		}
	}
	free(w->linked);
}

static enum nfs4r_status adopt_names(struct adopt *w, struct repair *r, const struct place *p)
{
	struct nfs4r_dirent *names = NULL;
	uint32_t n = 0;
	enum nfs4r_status st = resync_names(r, &p->oid, &names, &n);

	for (uint32_t i = 0; i < n && st == NFS4R_OK; i++) {
		struct nfs4r_lhandle h;
		bool linked;

		if (may_be(r, &p->h, &names[i], &h, &linked) && !take(w, &names[i], &h, linked))
			st = NFS4R_NOMEM;
	}
	free(names);
	return st == NFS4R_STALE || st == NFS4R_UNKNOWN ? NFS4R_OK : st; /* deleted meanwhile */
}

static void *adopt_some(void *arg)
{
	struct adopt *w = arg;
	struct repair own = *w->r;

	for (uint32_t i; w->st == NFS4R_OK && (i = w->next++) < w->here.n;) {
		enum nfs4r_status st = resync_over(&own) ? NFS4R_SHUTDOWN : adopt_names(w, &own, &w->here.v[i]);
		int none = NFS4R_OK;

		if (st != NFS4R_OK && atomic_compare_exchange_strong(&w->st, &none, (int)st))
			memcpy(w->why, own.why, sizeof(own.why));
	}
	return NULL;
}

enum nfs4r_status resync_adopt(struct repair *r)
{
	struct adopt w = { .r = r, .st = NFS4R_OK };

	see_what_is_gone(r);
	pthread_mutex_init(&w.lock, NULL);
	if (!add(&w.here, &r->eng->root, &r->eng->start.root_handle))
		w.st = NFS4R_NOMEM;
	while (w.st == NFS4R_OK && w.here.n) {
		struct level done = w.here;

		w.next = 0;
		resync_crew(adopt_some, &w, w.here.n);
		w.here = w.below;
		w.below = (struct level){ .v = NULL };
		free(done.v);
	}
	link_or_drop(&w);
	memcpy(r->why, w.why, sizeof(r->why));
	free(w.here.v);
	pthread_mutex_destroy(&w.lock);
	return (enum nfs4r_status)w.st;
}
