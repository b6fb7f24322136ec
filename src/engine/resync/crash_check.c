/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * After a crash of the machine the local file system may have less than the journal says, or more: bytes, names and attributes that changed since the
 * last checkpoint are in doubt (log 4.6). MARKs (log 4.2) and the entries since then tell which objects that can concern, and no others. After a crash of the process these are
 * the objects of others' entries behind a hole, which the store has given up (log 4.7), and of entries that were being applied, which may never come again (log 4.5).
 *
 * Happy path:
 *   1. resync_crash_restore(), before anything is applied: objects of the store that are not on the disk are made again, empty; the names of
 *      the directories in doubt become those of the store; bytes that the journal keeps (log 4.10) are written. What lies there without a row (it was made, and its record lost; or it was
 *      deleted, and that came back) is moved to the hidden directory, under "stray."; nobody was told that it is durable.
 *   2. doubt_task(), on the same thread (the repair's), when there are other servers: bytes, attributes and extended attributes of each object in doubt (of a file
 *      that was only being written when the process ended: the bytes that were) are
 *      taken from a server whose copy has at least this version and is in no doubt; if that is newer, the core hears of it. Nobody has: the server whose log made the
 *      newest version says that its own bytes are right, also if its version is older, since what it synced for a client's COMMIT is there. Then one of those that have
 *      the newest: an older copy gives what was before the entries that it lacks (crash_plan.c). The others wait and take all from these.
 *   3. A checkpoint; then entries of others are applied again.
 *
 * After a run that could not sync the files (log 4.8) it is as after a crash of the machine, whether it crashed or not; and what is there of the bytes in doubt is written once more, first of all, for
 * it may be in memory only.
 *
 * Failure modes: a server that may have the bytes is not there: wait, and say for which; like the recovery of the own log's tail (log 4.7) this ends when it is back.
 * Another crash meanwhile: no checkpoint was taken, so marks and entries are still there, and all is done again.
 *
 * Invariants: nothing is applied, served or checkpointed while something is in doubt. Bytes in doubt are given to nobody.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine/replicate/replicate.h"
#include "engine/resync/resync_int.h"

#define WRITE_BYTES (256u << 10)

/* ---- which ------------------------------------------------------------ */

static bool touched_marks(struct doubt *d, struct nfs4r_engine *eng)
{
	struct nfs4r_oid *list = NULL;
	uint32_t n = nfs4r_store_marked(eng->store, &list);
	bool ok = n != UINT32_MAX;

	for (uint32_t i = 0; ok && i < n; i++)
		ok = resync_touches_add(&d->since, &(struct touch){ .oid = list[i] });
	free(list);
	return ok;
}

/* A directory in doubt: its names may lead nowhere, and then the objects are in doubt, too. */
static bool touched_names(struct doubt *d, struct nfs4r_engine *eng, const struct nfs4r_oid *dir)
{
	struct nfs4r_dirent *ent = calloc(64, sizeof(*ent));
	struct nfs4r_lhandle dirh, h, found;
	uint64_t after = 0;
	bool ok = ent != NULL;

	nfs4r_handle(eng, dir, &dirh);
	for (uint32_t n = 64; ok && n == 64;) {
		n = nfs4r_store_readdir(eng->store, dir, after, ent, 64);
		for (uint32_t i = 0; i < n && ok; i++) {
			after = ent[i].cookie;
			nfs4r_handle(eng, &ent[i].oid, &h);
			if (!dirh.len || eng->ops->lookup(eng->ctx, &dirh, ent[i].name.s, &found) != NFS4R_OK || found.len != h.len ||
			    memcmp(found.b, h.b, h.len) != 0)
				ok = resync_touches_add(&d->since, &(struct touch){ .oid = ent[i].oid });
		}
	}
	free(ent);
	return ok;
}

static bool touched_dropped(struct doubt *d, struct nfs4r_engine *eng)
{
	const struct nfs4r_extent *list;
	uint32_t n = nfs4r_store_dropped(eng->store, &list);
	bool ok = true;

	for (uint32_t i = 0; i < n && ok; i++)
		ok = resync_touches_add(&d->since, &(struct touch){ .oid = list[i].oid });
	return ok;
}

static bool collect(struct doubt *d)
{
	struct nfs4r_engine *eng = d->repair.eng;
	struct touches *t = &d->since;
	struct nfs4r_row row;
	size_t n;
	bool ok = touched_dropped(d, eng) && (!d->machine || touched_marks(d, eng));

	for (nfs4r_server_id s = 1; ok && d->machine && s <= NFS4R_SERVERS_MAX; s++)
		ok = resync_touches_of_log(t, eng, s, d->stable[s], UINT64_MAX, NULL);
	n = t->n;
	for (size_t i = 0; ok && i < n; i++) {
		struct nfs4r_oid oid = t->v[i].oid;

		if (nfs4r_store_row(eng->store, &oid, &row) == NFS4R_KNOWN && row.type == NFS4R_TYPE_DIR)
			ok = touched_names(d, eng, &oid);
	}
	if (!ok)
		return false;
	resync_touches_sort(t);
	for (size_t i = 0; i < t->n; i++)
		if ((!i || !nfs4r_oid_eq(&t->v[i - 1].oid, &t->v[i].oid)) && nfs4r_store_row(eng->store, &t->v[i].oid, NULL) == NFS4R_KNOWN &&
		    !resync_add(&d->repair, &t->v[i].oid, false))
			return false;
	return true;
}

/* ---- 1. objects and names ------------------------------------------------ */

/* What an object was made with, if that is not long ago. */
static struct nfs4r_entry *creation(struct doubt *d, const struct nfs4r_oid *oid, struct nfs4r_part **part)
{
	struct nfs4r_entry *e;

	for (size_t i = resync_touches_first(&d->since, oid); (e = resync_touches_next_entry(d, &d->since, oid, &i, part)); nfs4r_entry_put(e))
		if ((*part)->effect == NFS4R_EFF_CREATE)
			return e;
	return NULL;
}

static enum nfs4r_status make_again(struct doubt *d, const struct nfs4r_oid *oid)
{
	struct nfs4r_engine *eng = d->repair.eng;
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_TYPE | NFS4R_ATTR_MODE, .mode = 0600 };
	struct nfs4r_lhandle h;
	struct nfs4r_part *p = NULL;
	struct nfs4r_entry *e;
	struct nfs4r_row row;
	enum nfs4r_status st;

	if (nfs4r_store_row(eng->store, oid, &row) != NFS4R_KNOWN)
		return NFS4R_OK;
	e = creation(d, oid, &p);
	if (e)
		a = p->attrs;
	a.mask |= NFS4R_ATTR_TYPE;
	a.type = row.type;
	st = replicate_staging_make(eng, oid, &a, e && p->linktext ? p->linktext : row.type == NFS4R_TYPE_SYMLINK ? "?" :
														    "",
				    &h);
	if (e)
		nfs4r_entry_put(e);
	pthread_mutex_lock(&eng->lock);
	if (st == NFS4R_OK) {
		st = nfs4r_store_set_handle(eng->store, oid, h.b, h.len);
		if (nfs4r_status_is_full(st)) /* of Store, not of the exported directory (log 4.15) */
			engine_journal_failed(eng, st);
	}
	pthread_mutex_unlock(&eng->lock);
	if (st == NFS4R_OK && eng->ops->moved) /* a server that starts anew in its process (log 4.15) has clients that know the old one */
		eng->ops->moved(eng->ctx, oid);
	return st;
}

static enum nfs4r_status make_missing(struct doubt *d)
{
	struct nfs4r_engine *eng = d->repair.eng;
	enum nfs4r_status st = NFS4R_OK;

	for (uint32_t i = 0; st == NFS4R_OK && i < d->repair.n; i++) {
		struct nfs4r_attrs a = { 0 };
		struct nfs4r_lhandle h;

		nfs4r_handle(eng, &d->repair.objs[i].oid, &h);
		if (!h.len || eng->ops->getattr(eng->ctx, &h, &a) != NFS4R_OK) {
			d->repair.objs[i].made = true;
			st = make_again(d, &d->repair.objs[i].oid);
		}
		nfs4r_buf_put(a.acl);
	}
	return st;
}

static bool sets_attrs(const struct nfs4r_part *p)
{
	return p->effect == NFS4R_EFF_ATTRS || (p->effect == NFS4R_EFF_CREATE && (p->attrs.type == NFS4R_TYPE_FILE || p->attrs.type == NFS4R_TYPE_DIR));
}

enum nfs4r_status resync_crash_set_attrs(struct doubt *d, const struct touches *t, const struct nfs4r_oid *oid, nfs4r_version newer_than)
{
	struct nfs4r_engine *eng = d->repair.eng;
	enum nfs4r_status st = NFS4R_OK;
	struct nfs4r_lhandle h;
	struct nfs4r_entry *e;
	struct nfs4r_part *p;

	nfs4r_handle(eng, oid, &h);
	for (size_t i = resync_touches_first(t, oid); st == NFS4R_OK && h.len && (e = resync_touches_next_entry(d, t, oid, &i, &p)); nfs4r_entry_put(e))
		if (sets_attrs(p) && p->after > newer_than) {
			struct nfs4r_attrs a = p->attrs;

			a.mask &= NFS4R_ATTR_MODE | NFS4R_ATTR_UID | NFS4R_ATTR_GID | (a.acl && p->effect == NFS4R_EFF_ATTRS ? NFS4R_ATTR_ACL : 0u);
			st = a.mask ? eng->ops->setattr(eng->ctx, &h, &a, NULL, NULL) : NFS4R_OK;
		}
	return st;
}

enum nfs4r_status resync_crash_begin(struct nfs4r_engine *eng, const struct nfs4r_store_info *info)
{
	const struct nfs4r_extent *dropped;
	struct doubt *d;

	if (info->created || (info->tail_intact && !nfs4r_store_dropped(eng->store, &dropped)))
		return NFS4R_OK;
	d = calloc(1, sizeof(*d));
	if (!d)
		return NFS4R_NOMEM;
	if (!engine_doubt_begin(eng)) {
		free(d);
		return NFS4R_NOMEM;
	}
	pthread_mutex_init(&d->history_lock, NULL);
	d->machine = !info->tail_intact;
	d->unsynced = info->files_failed;
	d->repair.eng = eng;
	d->repair.doubt = d->repair.strays = true;
	d->repair.importing = engine_import_any_open(eng);
	eng->resync.doubt = d;
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		d->stable[s] = info->logs[s].stable;
	return NFS4R_OK;
}

/* Log 4.10. One of which there is no handle was deleted. */
static enum nfs4r_status write_inline(void *arg, const struct nfs4r_oid *oid, uint64_t off, const uint8_t *data, uint32_t len)
{
	struct nfs4r_engine *eng = arg;
	struct nfs4r_lhandle h;

	nfs4r_handle(eng, oid, &h);
	return h.len ? eng->ops->write(eng->ctx, &h, off, data, len, false, NULL) : NFS4R_OK;
}

/*
 * Log 4.8: what memory has is perhaps on no disk, and clean to the kernel. Bytes that are fetched and found equal are not written, nor are those that nobody else has. What cannot be read cannot be
 * kept either.
 */
static enum nfs4r_status write_again(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, uint8_t *buf)
{
	struct nfs4r_attrs a = { 0 };
	enum nfs4r_status st;
	struct nfs4r_lhandle h;
	uint64_t data;
	uint32_t len;
	bool eof;

	nfs4r_handle(eng, oid, &h);
	if (!h.len || eng->ops->getattr(eng->ctx, &h, &a) != NFS4R_OK)
		return NFS4R_OK;
	nfs4r_buf_put(a.acl);
	for (uint64_t off = 0; a.type == NFS4R_TYPE_FILE && off < a.size; off += len) {
		st = eng->ops->seek(eng->ctx, &h, off, false, &data, &eof);
		if (st == NFS4R_NXIO)
			break;
		if (st == NFS4R_OK && data > off)
			off = data;
		len = WRITE_BYTES;
		if (off >= a.size || eng->ops->read(eng->ctx, &h, off, buf, &len, &eof) != NFS4R_OK || !len)
			break;
		st = eng->ops->write(eng->ctx, &h, off, buf, len, false, NULL);
		if (st != NFS4R_OK)
			return st;
	}
	return NFS4R_OK;
}

static enum nfs4r_status write_all_again(struct doubt *d)
{
	uint8_t *buf = malloc(WRITE_BYTES);
	enum nfs4r_status st = buf ? NFS4R_OK : NFS4R_NOMEM;

	for (uint32_t i = 0; st == NFS4R_OK && i < d->repair.n && !d->repair.eng->door.stopping; i++)
		st = write_again(d->repair.eng, &d->repair.objs[i].oid, buf);
	free(buf);
	return st;
}

/* For those who ask about one of them. */
static bool list_objects(struct doubt *d)
{
	const struct touches *t = &d->since;
	struct nfs4r_oid *list = calloc(t->n + 1, sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; list && i < t->n; i++)
		if (!n || !nfs4r_oid_eq(&list[n - 1], &t->v[i].oid))
			list[n++] = t->v[i].oid;
	return list && engine_doubt_list(d->repair.eng, list, n);
}

static enum nfs4r_status restore_objects(struct doubt *d)
{
	enum nfs4r_status st = NFS4R_OK;

	if (!d->collected) { /* the first time */
		d->since.n = d->repair.n = 0;
		d->collected = collect(d) && list_objects(d);
		st = d->collected ? NFS4R_OK : NFS4R_NOMEM;
	}
	if (st == NFS4R_OK)
		st = make_missing(d);
	if (st == NFS4R_OK)
		st = resync_tree(&d->repair);
	if (st == NFS4R_OK && d->unsynced)
		st = write_all_again(d);
	if (st == NFS4R_OK && d->machine)
		st = nfs4r_store_each_inline(d->repair.eng->store, write_inline, d->repair.eng);
	for (uint32_t i = 0; st == NFS4R_OK && i < d->repair.n; i++)
		st = resync_crash_set_attrs(d, &d->since, &d->repair.objs[i].oid, 0);
	return st;
}

/* The local file system may not be used for everything before the server as a whole has started, so this is done here. */
enum nfs4r_status resync_crash_restore(struct doubt *d)
{
	struct nfs4r_engine *eng = d->repair.eng;
	enum nfs4r_status st;

	d->repair.why[0] = '\0';
	st = restore_objects(d);
	if (st != NFS4R_OK)
		return st;
	engine_doubt_known(eng);
	engine_log(eng, NFS4R_LOG_INFO, "volume %s: %s; %u objects that changed shortly before are in doubt", eng->cfg.volume_name,
		   d->unsynced	      ? "the exported directory had not been synced" :
			   d->machine ? "the machine had crashed" :
					"the server stopped while it applied updates of others",
		   d->repair.n);
	return NFS4R_OK;
}

void resync_crash_free(struct nfs4r_engine *eng)
{
	struct doubt *d = eng->resync.doubt;

	if (!d)
		return;
	engine_doubt_free(eng);
	pthread_mutex_destroy(&d->history_lock);
	free(d->repair.objs);
	free(d->since.v);
	free(d->history.v);
	free(d);
	eng->resync.doubt = NULL;
}
