/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A hidden directory beside the volume's tree for objects that have no place in it at the moment (log 3.4).
 *
 * After a repair (transfer.c) an object may be newer here than the positions of the logs: the entries that made it so are still to come, and only the
 * parts of them apply whose objects are older. Such an entry cannot be executed as it was at its primary: the directory that a file is
 * created in may already hold what came later. So its names are made what they have to be: those of the store where a directory is newer, the entry's
 * own where it is not. What is in the way, or is newly made and has no place yet, waits in the hidden directory under its OID until an entry says where it
 * belongs, or that it is dead. A repair uses the same steps.
 *
 * A directory that is newer than the entry may be changed by the next entry, of another log, or by an update of this server at the same time. What the store says of it is what
 * the local file system has only while nobody does that; so whoever changes names has the locks of all objects of the entry until it is committed (applier.c).
 *
 * Failure modes: every step finds its work done when it is made again. What is not the volume's own is left where it is, unless it stands in the way: then it moves
 * here, too, as a stray.
 *
 * Invariants: clients never see the directory, because they see names of the store only, and the exported directory's link count without it;
 * it is there only while it is needed. eng->replicate.hold_there is set whenever it may be there, and whoever takes it away looks again.
 */
#include <stdio.h>

#include "engine/replicate/replicate.h"

/* ---- the directory ---- */

bool replicate_staging_is_name(const char *name)
{
	return strncmp(name, STAGING_NAME, strlen(STAGING_NAME)) == 0;
}

void replicate_staging_name(struct nfs4r_engine *eng, char out[STAGING_NAME_MAX])
{
	struct nfs4r_name name;
	struct nfs4r_dirent ent;

	snprintf(out, STAGING_NAME_MAX, "%s", STAGING_NAME);
	for (unsigned i = 1; nfs4r_name_set(&name, out, strlen(out)) && nfs4r_store_lookup(eng->store, &eng->root, &name, &ent); i++)
		snprintf(out, STAGING_NAME_MAX, "%s.%u", STAGING_NAME, i);
}

static enum nfs4r_status open_dir(struct nfs4r_engine *eng, bool make, struct nfs4r_lhandle *out)
{
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_TYPE | NFS4R_ATTR_MODE, .type = NFS4R_TYPE_DIR, .mode = 0700 }, post = { 0 };
	struct nfs4r_lhandle root;
	char name[STAGING_NAME_MAX];

	nfs4r_handle(eng, &eng->root, &root);
	replicate_staging_name(eng, name);
	enum nfs4r_status st = eng->ops->lookup(eng->ctx, &root, name, out);
	if (st != NFS4R_NOENT || !make)
		return st;
	eng->replicate.staging_exists = true;
	st = eng->ops->create(eng->ctx, &root, name, &a, NULL, NULL, out, &post);
	nfs4r_buf_put(post.acl);
	eng->replicate.staging_exists = true; /* and again: it may have been looked for meanwhile */
	return st == NFS4R_EXIST ? eng->ops->lookup(eng->ctx, &root, name, out) : st;
}

void replicate_staging_expect(struct nfs4r_engine *eng)
{
	eng->replicate.staging_exists = true;
}

void replicate_staging_look(struct nfs4r_engine *eng)
{
	struct nfs4r_lhandle dir;

	eng->replicate.staging_exists = true;
	if (open_dir(eng, false, &dir) != NFS4R_NOENT)
		return;
	eng->replicate.staging_exists = false;
	if (open_dir(eng, false, &dir) != NFS4R_NOENT) /* made meanwhile */
		eng->replicate.staging_exists = true;
}

void replicate_staging_tidy(struct nfs4r_engine *eng)
{
	struct nfs4r_lhandle root, dir;
	char name[STAGING_NAME_MAX];

	nfs4r_handle(eng, &eng->root, &root);
	replicate_staging_name(eng, name);
	if (eng->ops->lookup(eng->ctx, &root, name, &dir) == NFS4R_OK)
		(void)eng->ops->remove(eng->ctx, &root, name, &dir, NULL); /* not while something is in it */
	replicate_staging_look(eng);
}

bool nfs4r_may_hide(const struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	return eng->replicate.staging_exists && nfs4r_oid_eq(oid, &eng->root);
}

uint32_t nfs4r_links_seen(struct nfs4r_engine *eng, uint32_t nlink)
{
	struct nfs4r_lhandle dir;

	if (nlink > 2 && open_dir(eng, false, &dir) == NFS4R_OK)
		nlink--;
	return nlink;
}

/* ---- objects in it ---- */

static bool is_dir(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h, uint32_t *nlink)
{
	struct nfs4r_attrs a = { 0 };
	bool yes = eng->ops->getattr(eng->ctx, h, &a) == NFS4R_OK && a.type == NFS4R_TYPE_DIR;

	*nlink = a.nlink;
	nfs4r_buf_put(a.acl);
	return yes;
}

enum nfs4r_status replicate_staging_find(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, struct nfs4r_lhandle *out)
{
	char name[NFS4R_OID_STRLEN];
	struct nfs4r_lhandle dir;
	enum nfs4r_status st = open_dir(eng, false, &dir);

	out->len = 0;
	if (st == NFS4R_OK && oid)
		return eng->ops->lookup(eng->ctx, &dir, nfs4r_oid_str(oid, name), out);
	if (st == NFS4R_OK)
		*out = dir;
	return st;
}

enum nfs4r_status replicate_staging_make(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, const struct nfs4r_attrs *attrs, const char *linktext,
					 struct nfs4r_lhandle *out)
{
	char name[NFS4R_OID_STRLEN];
	struct nfs4r_attrs post = { 0 };
	struct nfs4r_lhandle dir;
	enum nfs4r_status st = NFS4R_NOENT;

	nfs4r_oid_str(oid, name);
	for (int tries = 0; st == NFS4R_NOENT && tries < 8; tries++) { /* another thread may have found it empty, and taken it away */
		st = open_dir(eng, true, &dir);
		if (st == NFS4R_OK)
			st = eng->ops->create(eng->ctx, &dir, name, attrs, linktext, NULL, out, &post);
	}
	nfs4r_buf_put(post.acl);
	return st == NFS4R_EXIST ? eng->ops->lookup(eng->ctx, &dir, name, out) : st;
}

enum nfs4r_status replicate_staging_drop(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	char name[NFS4R_OID_STRLEN];
	struct nfs4r_lhandle dir, h;
	enum nfs4r_status st = open_dir(eng, false, &dir);

	if (st == NFS4R_OK)
		st = eng->ops->lookup(eng->ctx, &dir, nfs4r_oid_str(oid, name), &h);
	if (st == NFS4R_OK)
		st = eng->ops->remove(eng->ctx, &dir, name, &h, NULL);
	return st == NFS4R_NOENT ? NFS4R_OK : st;
}

/* The OID that replicate_staging_make() and replicate_staging_park() call it by. */
static bool staged_oid(const char *name, struct nfs4r_oid *oid)
{
	unsigned long long inc, seq;
	char same[NFS4R_OID_STRLEN];
	unsigned creator;

	if (sscanf(name, "%u.%llu.%llu", &creator, &inc, &seq) != 3 || !creator || creator > NFS4R_SERVERS_MAX)
		return false;
	nfs4r_oid_make(oid, creator, inc, seq);
	return strcmp(nfs4r_oid_str(oid, same), name) == 0;
}

bool replicate_staging_is_orphan(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, struct nfs4r_oid *oid)
{
	struct nfs4r_lhandle found, h;
	struct nfs4r_oid owner;

	if (!staged_oid(name, oid) || eng->ops->lookup(eng->ctx, dirh, name, &found) != NFS4R_OK || nfs4r_by_handle(eng, &found, &owner))
		return false;
	nfs4r_handle(eng, oid, &h);
	return h.len || nfs4r_store_row(eng->store, oid, NULL) != NFS4R_KNOWN;
}

enum nfs4r_status replicate_staging_park(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_lhandle *h,
					 const struct nfs4r_oid *oid)
{
	char to[NFS4R_OID_STRLEN];
	struct nfs4r_lhandle dir;
	uint32_t nlink;
	bool directory = is_dir(eng, h, &nlink);
	enum nfs4r_status st;

	if (!directory && nlink > 1) /* it has another place */
		return eng->ops->remove(eng->ctx, dirh, name, h, NULL);
	st = open_dir(eng, true, &dir);
	if (st != NFS4R_OK)
		return st;
	nfs4r_oid_str(oid, to);
	if (replicate_way_leads_to(eng, &dir, to, h))
		return eng->ops->remove(eng->ctx, dirh, name, h, NULL);
	return eng->ops->rename(eng->ctx, h, dirh, name, &dir, to, NULL);
}

enum nfs4r_status replicate_staging_stray(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name)
{
	char to[32], where[400] = "";
	struct nfs4r_lhandle h, dir, there;
	struct nfs4r_oid oid;
	enum nfs4r_status st = eng->ops->lookup(eng->ctx, dirh, name, &h);

	if (st != NFS4R_OK || nfs4r_by_handle(eng, &h, &oid))
		return st == NFS4R_NOENT ? NFS4R_OK : st;
	st = open_dir(eng, true, &dir);
	while (st == NFS4R_OK) {
		snprintf(to, sizeof(to), "stray.%u", ++eng->replicate.strays);
		if (eng->ops->lookup(eng->ctx, &dir, to, &there) == NFS4R_NOENT)
			break;
	}
	if (st != NFS4R_OK)
		return st;
	if (nfs4r_by_handle(eng, dirh, &oid))
		engine_path_of(eng, &oid, where, sizeof(where));
	engine_log(eng, NFS4R_LOG_WARN, "volume %s: '%.300s%s%.200s' is in the exported directory and not in the volume: moved to %s/%s",
		   eng->cfg.volume_name, strcmp(where, "/") ? where : "", where[0] ? "/" : "", name, STAGING_NAME, to);
	st = eng->ops->rename(eng->ctx, &h, dirh, name, &dir, to, NULL);
	eng->replicate.strays_moved += st == NFS4R_OK;
	return st;
}

enum nfs4r_status replicate_staging_clear(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_lhandle *want)
{
	struct nfs4r_lhandle found;
	struct nfs4r_oid oid;
	enum nfs4r_status st = eng->ops->lookup(eng->ctx, dirh, name, &found);

	if (st == NFS4R_NOENT || (st == NFS4R_OK && want && nfs4r_lhandle_eq(&found, want)))
		return NFS4R_OK;
	if (st != NFS4R_OK)
		return st;
	if (!nfs4r_by_handle(eng, &found, &oid))
		return want && want->len ? replicate_staging_stray(eng, dirh, name) : NFS4R_OK;
	return replicate_staging_park(eng, dirh, name, &found, &oid);
}

enum nfs4r_status replicate_staging_place(struct nfs4r_engine *eng, const struct nfs4r_lhandle *dirh, const char *name, const struct nfs4r_oid *oid,
					  const struct nfs4r_lhandle *h)
{
	char from[NFS4R_OID_STRLEN];
	struct nfs4r_lhandle dir;
	uint32_t nlink;

	if (!h->len || replicate_way_leads_to(eng, dirh, name, h))
		return NFS4R_OK;
	nfs4r_oid_str(oid, from);
	if (open_dir(eng, false, &dir) == NFS4R_OK && replicate_way_leads_to(eng, &dir, from, h))
		return eng->ops->rename(eng->ctx, h, &dir, from, dirh, name, NULL);
	if (is_dir(eng, h, &nlink))
		return NFS4R_OK; /* it is where a later entry found it; the one that moves it here is still to come */
	return eng->ops->link(eng->ctx, h, dirh, name, NULL);
}

/*
 * Is the object in that directory by its own row? If not, one of the two is newer: the entry that gives it the name comes still, and will; or the one that took
 * it there comes, and the file may be dead by then, with nobody who knows what its last place here was.
 */
bool replicate_staging_is_in(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, const struct nfs4r_oid *oid)
{
	struct nfs4r_oid parents[NFS4R_PARENTS_MAX];
	uint32_t n = nfs4r_store_parents(eng->store, oid, parents, NFS4R_PARENTS_MAX);

	for (uint32_t i = 0; i < n && i < NFS4R_PARENTS_MAX; i++)
		if (nfs4r_oid_eq(&parents[i], dir))
			return true;
	return n >= NFS4R_PARENTS_MAX; /* a row that was copied has no more */
}

/* ---- entries of which not all parts apply ---- */

bool replicate_staging_is_partial(const struct nfs4r_entry *e, uint32_t mask)
{
	bool names = false, all = true;

	for (uint32_t i = 0; i < e->nparts; i++) {
		names |= e->parts[i].effect == NFS4R_EFF_NAMES;
		all &= (mask >> i & 1) != 0;
	}
	return names && !all;
}

/* What the name has to mean: by the entry, or by the store where the directory is newer. Zero: nothing. */
static void desired(struct nfs4r_engine *eng, const struct nfs4r_entry *e, uint32_t part, uint32_t i, bool applies, struct nfs4r_oid *oid,
		    struct nfs4r_lhandle *h)
{
	const struct nfs4r_part *p = &e->parts[part];
	struct nfs4r_dirent ent;

	h->len = 0;
	*oid = p->names[i].oid;
	if (!applies) {
		memset(oid, 0, sizeof(*oid));
		if (nfs4r_store_lookup(eng->store, &p->oid, &p->names[i].name, &ent))
			*oid = ent.oid;
	}
	if (nfs4r_oid_is_zero(oid))
		return;
	if (e->handle_len && nfs4r_oid_eq(oid, &e->parts[0].oid) && e->parts[0].effect == NFS4R_EFF_CREATE) {
		h->len = e->handle_len;
		memcpy(h->b, e->handle, e->handle_len);
	} else {
		nfs4r_handle(eng, oid, h);
	}
}

/* Before a crash it may have been given its name already. */
static bool find_made(struct nfs4r_engine *eng, const struct nfs4r_entry *e, uint32_t mask, const struct nfs4r_part *made, struct nfs4r_lhandle *h)
{
	for (uint32_t i = 0; i < e->nparts; i++) {
		const struct nfs4r_part *p = &e->parts[i];
		struct nfs4r_lhandle dirh, none;
		struct nfs4r_oid oid;

		nfs4r_handle(eng, &p->oid, &dirh);
		for (uint32_t j = 0; p->effect == NFS4R_EFF_NAMES && dirh.len && j < p->nnames; j++) {
			desired(eng, e, i, j, mask & 1u << i, &oid, &none);
			if (nfs4r_oid_eq(&oid, &made->oid) && replicate_made_before(eng, made, &dirh, p->names[j].name.s, h) == NFS4R_OK)
				return true;
		}
	}
	return false;
}

static enum nfs4r_status make_created(struct nfs4r_engine *eng, struct nfs4r_entry *e, uint32_t mask)
{
	struct nfs4r_lhandle h;

	for (uint32_t i = 0; i < e->nparts; i++) {
		struct nfs4r_part *p = &e->parts[i];

		if (p->effect != NFS4R_EFF_CREATE || !(mask & 1u << i))
			continue;
		nfs4r_handle(eng, &p->oid, &h);
		enum nfs4r_status st = h.len || find_made(eng, e, mask, p, &h) ? NFS4R_OK : replicate_staging_make(eng, &p->oid, &p->attrs, p->linktext, &h);
		if (st != NFS4R_OK)
			return st;
		nfs4r_entry_set_handle(e, &h);
	}
	return NFS4R_OK;
}

static bool is_changed(const struct nfs4r_entry *e, uint32_t mask, const struct nfs4r_oid *oid)
{
	for (uint32_t i = 0; i < e->nparts; i++)
		if (mask & 1u << i && nfs4r_oid_eq(&e->parts[i].oid, oid))
			return true;
	return false;
}

/* One walk over the names: take away what is wrong, or put in what is missing. */
static enum nfs4r_status each_name(struct nfs4r_engine *eng, const struct nfs4r_entry *e, uint32_t mask, bool place)
{
	for (uint32_t i = 0; i < e->nparts; i++) {
		const struct nfs4r_part *p = &e->parts[i];
		struct nfs4r_lhandle dirh, h;
		struct nfs4r_oid oid;

		if (p->effect != NFS4R_EFF_NAMES)
			continue;
		nfs4r_handle(eng, &p->oid, &dirh);
		for (uint32_t j = 0; dirh.len && j < p->nnames; j++) {
			desired(eng, e, i, j, mask & 1u << i, &oid, &h);
			enum nfs4r_status st = NFS4R_OK;

			if (!place)
				st = replicate_staging_clear(eng, &dirh, p->names[j].name.s, &h);
			else if (is_changed(e, mask, &oid) || replicate_staging_is_in(eng, &p->oid, &oid))
				st = replicate_staging_place(eng, &dirh, p->names[j].name.s, &oid, &h);
			if (st != NFS4R_OK)
				return st;
		}
	}
	return NFS4R_OK;
}

static enum nfs4r_status drop_dead(struct nfs4r_engine *eng, const struct nfs4r_entry *e, uint32_t mask)
{
	enum nfs4r_status st = NFS4R_OK;

	for (uint32_t i = 0; i < e->nparts && st == NFS4R_OK; i++)
		if (e->parts[i].effect == NFS4R_EFF_LINKS && !e->parts[i].nlink && mask & 1u << i)
			st = replicate_staging_drop(eng, &e->parts[i].oid);
	return st;
}

bool replicate_staging_has(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, const struct nfs4r_lhandle *h, struct nfs4r_lhandle *dirh, char name[NFS4R_OID_STRLEN])
{
	nfs4r_oid_str(oid, name);
	return eng->replicate.staging_exists && open_dir(eng, false, dirh) == NFS4R_OK && replicate_way_leads_to(eng, dirh, name, h);
}

/* The name that the entry takes from @oid, and where. */
static const struct nfs4r_name_change *name_lost(const struct nfs4r_entry *e, const struct nfs4r_part *p, const struct nfs4r_part **dir)
{
	for (uint32_t i = 0; i < e->nparts; i++)
		for (uint32_t j = 0; e->parts[i].effect == NFS4R_EFF_NAMES && j < e->parts[i].nnames; j++)
			if (nfs4r_oid_is_zero(&e->parts[i].names[j].oid) && nfs4r_oid_eq(&e->parts[i].oid, &p->parent_from)) {
				*dir = &e->parts[i];
				return &e->parts[i].names[j];
			}
	return NULL;
}

/* What is moved is taken from its old name, if it is there. */
static enum nfs4r_status park_moved(struct nfs4r_engine *eng, const struct nfs4r_entry *e, const struct nfs4r_part *p)
{
	const struct nfs4r_part *dir = NULL;
	const struct nfs4r_name_change *n = name_lost(e, p, &dir);
	struct nfs4r_lhandle dirh, h;

	nfs4r_handle(eng, &p->oid, &h);
	if (!n || !h.len)
		return NFS4R_STALE;
	nfs4r_handle(eng, &dir->oid, &dirh);
	if (!replicate_way_leads_to(eng, &dirh, n->name.s, &h))
		return NFS4R_OK;
	return replicate_staging_park(eng, &dirh, n->name.s, &h, &p->oid);
}

enum nfs4r_status replicate_staging_aside(struct nfs4r_engine *eng, struct nfs4r_entry *e, uint32_t mask)
{
	enum nfs4r_status st = make_created(eng, e, mask);

	for (uint32_t i = 0; i < e->nparts && st == NFS4R_OK; i++)
		if (mask & 1u << i && e->parts[i].effect == NFS4R_EFF_PARENT)
			st = park_moved(eng, e, &e->parts[i]);
	return st;
}

enum nfs4r_status replicate_staging_apply(struct nfs4r_engine *eng, struct nfs4r_entry *e, uint32_t mask)
{
	enum nfs4r_status st = make_created(eng, e, mask);

	if (st == NFS4R_OK)
		st = each_name(eng, e, mask, false);
	if (st == NFS4R_OK)
		st = each_name(eng, e, mask, true);
	if (st == NFS4R_OK)
		st = drop_dead(eng, e, mask);
	replicate_staging_tidy(eng);
	return st;
}
