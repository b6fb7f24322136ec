/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Taking an existing tree in as the volume's first copy (Import = true on one server).
 *
 * Objects that lie in the exported directory and that the volume does not know are "created" by ordinary
 * log entries whose local execution finds its work done. So they reach the other servers like any update, with
 * bytes read back from the files and bounded memory, under an ordinary deep control of the root. Clients may change what is taken in already, here and, once they
 * have control of it, at other servers, by update locks and versions like at any time. The entries of the import are made here only (control 6.6), after a look at what is so here now.
 * What clients have deleted or renamed meanwhile, or made known themselves, is none of the import's business any more; it goes on. What it has not taken in yet they can neither see nor move: only a
 * directory that an earlier start had begun with can come from where this one has not looked to where it has (walk_moved()).
 *
 * A stop or a crash in the middle is continued by the next start. It skips what the volume knows already, but for the objects that were begun with and not ended
 * (import_open.c): of these all is sent again, whatever was sent before. That overwrites nothing: this server takes control of the object first, so its copy is the newest, and
 * what an entry says of it is what it is when the entry is executed. Until then the bytes of such an object are nowhere but here. After a crash of the machine
 * they are in no doubt, therefore (crash_settle.c), and what has no row yet is no stray (names.c).
 *
 * What cannot be taken is skipped, or taken without the part that cannot be, and the administrator hears of it (import_notes.c). Only what ends the work of this server ends the
 * import. A file that something other than a client changes meanwhile is sent again, and one that is gone leaves the volume.
 *
 * Invariant: a server whose store was lost or restored (log 8.6) imports nothing. Its tree is an old copy of the volume, which the others have.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/room.h"
#include "base/text.h"
#include "engine/membership/membership.h"
#include "engine/replicate/replicate.h"
#include "engine/start/start.h"
#include "engine/update/update.h"

#define CHUNK (1u << 20) /* bytes of a file per entry */
#define TRIES 100 /* for what may be something else whenever it is looked at */
#define CHANGES_MAX 5 /* of a file, by others than the volume's clients, while it is sent */
#define FRESH_NS (86400 * INT64_C(1000000000)) /* a file that was changed so lately may be changed again before the import ends */
#define FRESH_MAX 1000000

struct fresh { /* a file that is in the volume, as it was then */
	struct nfs4r_oid oid;
	nfs4r_lsn last;
	uint64_t size;
	int64_t mtime;
	char *path;
};

struct import {
	struct nfs4r_engine *eng;
	struct fresh *fresh; /* looked at once more at the end */
	size_t nfresh, fresh_cap;
	uint64_t objects, bytes, gone, last_line_ms;
	nfs4r_lsn last; /* own entry */
	char *path; /* of what the walk is at, from the volume's root on; "" at the root */
	size_t path_len, path_cap;
	bool stopped; /* and that was said */
};

static enum nfs4r_status import_dir(struct import *im, const struct nfs4r_oid *dir, uint32_t depth);

/* A client has deleted or renamed it, or made its name known. */
static bool is_gone(enum nfs4r_status st)
{
	return st == NFS4R_STALE || st == NFS4R_ORPHAN || st == NFS4R_NOENT || st == NFS4R_EXIST;
}

/* It is this server that cannot go on, and not the object that cannot be taken. */
static bool stops(enum nfs4r_status st)
{
	return st == NFS4R_SHUTDOWN || st == NFS4R_NOMEM || st == NFS4R_NOSPC || st == NFS4R_DQUOT || st == NFS4R_ROFS || st == NFS4R_DELAY ||
		st == NFS4R_CORRUPT;
}

/* ---- the path, for what has to be said of an object ---- */

static bool add_to_path(struct import *im, const char *bytes, size_t n)
{
	if (im->path_len + n > im->path_cap) {
		size_t cap = 2 * (im->path_len + n);
		char *more = realloc(im->path, cap);

		if (!more)
			return false;
		im->path = more;
		im->path_cap = cap;
	}
	memcpy(im->path + im->path_len, bytes, n);
	im->path_len += n;
	return true;
}

/* Returns what path_back() wants; SIZE_MAX: no memory. */
static size_t path_enter(struct import *im, const char *name)
{
	size_t was = im->path_len;

	if (!add_to_path(im, "/", 1) || !add_to_path(im, name, strlen(name) + 1)) {
		im->path_len = was;
		return SIZE_MAX;
	}
	im->path_len--; /* without the NUL */
	return was;
}

static void path_back(struct import *im, size_t was)
{
	im->path_len = was;
	if (im->path)
		im->path[was] = '\0';
}

static void note(struct import *im, enum import_note kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void note(struct import *im, enum import_note kind, const char *fmt, ...)
{
	char why[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	start_import_notes_add(im->eng, kind, im->path_len ? im->path : "/", why);
}

/* OK, unless the whole import has to stop. What clients have taken away meanwhile is counted by the caller. */
static enum nfs4r_status skip(struct import *im, enum nfs4r_status st, const char *what)
{
	if (st == NFS4R_OK || stops(st) || is_gone(st))
		return st;
	note(im, IMPORT_SKIPPED, "%s: %s", what, nfs4r_status_str(st));
	return NFS4R_OK;
}

/* The object is in the volume, and one thing of it is not. */
static enum nfs4r_status lacks(struct import *im, enum nfs4r_status st, const char *what)
{
	if (st == NFS4R_OK || stops(st) || is_gone(st))
		return st;
	note(im, IMPORT_CHANGED, "%s: %s", what, nfs4r_status_str(st));
	return NFS4R_OK;
}

static enum nfs4r_status nothing_to_do(void *arg, struct nfs4r_op *op, struct nfs4r_exec *x)
{
	return NFS4R_OK;
}

/*
 * Run until it happened; others' operations may hold it up for a while. It is done here or not at all: @exec looks at what is in the tree here. Once all is over the
 * operation may be parked, and have nothing any more of what it came with.
 */
static enum nfs4r_status run(struct import *im, struct nfs4r_op *op, nfs4r_exec_fn exec, void *arg)
{
	enum nfs4r_status st;

	op->here_only = true;
	while ((st = nfs4r_update(im->eng, op, exec, arg)) == NFS4R_DELAY && !update_ops_over(im->eng))
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	if (op->lsn && op->primary == im->eng->cfg.rpc.self)
		im->last = op->lsn;
	return st == NFS4R_DELAY ? NFS4R_SHUTDOWN : st;
}

static void progress(struct import *im)
{
	struct nfs4r_engine *eng = im->eng;
	uint64_t now = engine_now_ms();

	pthread_mutex_lock(&eng->lock);
	eng->start.import.objects = im->objects;
	eng->start.import.bytes = im->bytes;
	uint64_t skipped = eng->start.import.noted[IMPORT_SKIPPED];
	pthread_mutex_unlock(&eng->lock);
	if (now >= im->last_line_ms + 5000) {
		im->last_line_ms = now;
		engine_log(eng, NFS4R_LOG_INFO, "volume %s: importing: %llu objects, %llu bytes so far, %llu skipped", eng->cfg.volume_name,
			   (unsigned long long)im->objects, (unsigned long long)im->bytes, (unsigned long long)skipped);
	}
}

/*
 * The next bytes of the file from *off on are at *off, and end before *end. None: *off is @size. What the file system cannot say counts as bytes, as does what clients change meanwhile.
 */
static enum nfs4r_status next_bytes(struct import *im, const struct nfs4r_lhandle *h, uint64_t size, uint64_t *off, uint64_t *end)
{
	const struct nfs4r_lops *l = im->eng->ops;
	uint64_t data = *off, hole = size;
	bool eof = false;
	enum nfs4r_status st = l->seek(im->eng->ctx, h, *off, false, &data, &eof);

	*end = size;
	if (st == NFS4R_NXIO || (st == NFS4R_OK && (eof || data >= size))) {
		*off = size;
	} else if (st == NFS4R_OK) {
		*off = data;
		if (l->seek(im->eng->ctx, h, data, true, &hole, &eof) == NFS4R_OK && hole > data && hole < size)
			*end = hole;
	}
	return st == NFS4R_STALE ? st : NFS4R_OK;
}

/* A client may have written there since it was looked at. */
static enum nfs4r_status still_a_hole(void *arg, struct nfs4r_op *op, struct nfs4r_exec *x)
{
	struct nfs4r_engine *eng = arg;
	uint64_t data = op->offset;
	bool eof = false;
	enum nfs4r_status st = eng->ops->seek(eng->ctx, &x->obj, op->offset, false, &data, &eof);

	if (st == NFS4R_NXIO || (st == NFS4R_OK && (eof || data >= op->offset + op->length)))
		return NFS4R_OK;
	return st == NFS4R_STALE ? st : NFS4R_MISMATCH;
}

static enum nfs4r_status import_range(struct import *im, const struct nfs4r_oid *oid, uint32_t type, uint64_t off, uint64_t len)
{
	struct nfs4r_op op = { .type = type, .obj = *oid, .offset = off, .length = len, .under_open = type == NFS4R_OP_WRITE };
	enum nfs4r_status st = run(im, &op, type == NFS4R_OP_WRITE ? nothing_to_do : still_a_hole, im->eng);

	im->bytes += type == NFS4R_OP_WRITE ? len : 0;
	nfs4r_op_fini(&op);
	progress(im);
	return st;
}

/*
 * Holes are not sent: the others make the file of its size, and nothing is in it there but what entries write. @again: they may have what a client wrote here, and a crash of
 * the machine took, so they make a hole of it.
 */
static enum nfs4r_status import_bytes(struct import *im, const struct nfs4r_oid *oid, const struct nfs4r_lhandle *h, uint64_t size, bool again)
{
	enum nfs4r_status st = NFS4R_OK;

	for (uint64_t at = 0, off = 0, end = 0; at < size && st == NFS4R_OK;) {
		if (off >= end)
			st = next_bytes(im, h, size, &off, &end);
		if (st == NFS4R_OK && again && off > at) {
			st = import_range(im, oid, NFS4R_OP_DEALLOCATE, at, off - at);
			if (st == NFS4R_MISMATCH) { /* look once more */
				off = end = at;
				st = NFS4R_OK;
				continue;
			}
		}
		uint64_t len = end - off < CHUNK ? end - off : CHUNK;

		if (st == NFS4R_OK && off < size)
			st = import_range(im, oid, NFS4R_OP_WRITE, off, len);
		at = off = off < size ? off + len : size;
	}
	return st;
}

/* A client may have been here since it was read. */
static enum nfs4r_status same_value(void *arg, struct nfs4r_op *op, struct nfs4r_exec *x)
{
	struct nfs4r_engine *eng = arg;
	uint8_t *now = malloc(NFS4R_XATTR_VALUE_MAX);
	uint32_t len = NFS4R_XATTR_VALUE_MAX;
	enum nfs4r_status st = now ? eng->ops->getxattr(eng->ctx, &x->obj, op->text, now, &len) : NFS4R_NOMEM;

	if (st == NFS4R_NOXATTR || (st == NFS4R_OK && (len != op->data->len || memcmp(now, op->data->data, len) != 0)))
		st = NFS4R_MISMATCH;
	free(now);
	return st;
}

static enum nfs4r_status import_xattr(struct import *im, const struct nfs4r_oid *oid, const struct nfs4r_lhandle *h, const char *name)
{
	struct nfs4r_engine *eng = im->eng;
	enum nfs4r_status st = NFS4R_MISMATCH;
	char what[NFS4R_XATTR_NAME_MAX + 60];

	for (int i = 0; i < TRIES && st == NFS4R_MISMATCH; i++) {
		struct nfs4r_op op = { .type = NFS4R_OP_SETXATTR, .obj = *oid };
		uint32_t len = NFS4R_XATTR_VALUE_MAX;

		op.text = strdup(name);
		op.data = nfs4r_buf_new(len);
		st = op.text && op.data ? eng->ops->getxattr(eng->ctx, h, name, op.data->data, &len) : NFS4R_NOMEM;
		if (st == NFS4R_OK) {
			op.data->len = len;
			st = run(im, &op, same_value, eng);
		}
		nfs4r_op_fini(&op);
	}
	snprintf(what, sizeof(what), "its extended attribute %s is missing", name);
	if (st == NFS4R_NOSPC) { /* of the room for attributes at some server; if it is the disk that is full, the next bytes will say so */
		note(im, IMPORT_CHANGED, "%s: not every server has space for it", what);
		return NFS4R_OK;
	}
	return st == NFS4R_NOXATTR ? NFS4R_OK : lacks(im, st, what);
}

static enum nfs4r_status import_xattrs(struct import *im, const struct nfs4r_oid *oid, const struct nfs4r_lhandle *h)
{
	const struct nfs4r_lops *l = im->eng->ops;
	char *names = malloc(NFS4R_XATTR_VALUE_MAX);
	uint32_t len = NFS4R_XATTR_VALUE_MAX;
	enum nfs4r_status st = names ? l->listxattr(im->eng->ctx, h, names, &len) : NFS4R_NOMEM;

	if (st != NFS4R_OK) {
		free(names);
		return st == NFS4R_NOTSUPP || st == NFS4R_NOXATTR ? NFS4R_OK : lacks(im, st, "its extended attributes are missing");
	}
	for (const char *n = names; st == NFS4R_OK && n < names + len; n += strlen(n) + 1)
		st = import_xattr(im, oid, h, n);
	free(names);
	return st;
}

/*
 * Entries of the import do not move the time of the object here, unless they are applied again after a crash; who else updates it does. The time of such an update stays.
 * So does that of a change behind NFS; a void entry says so, and has_changed() finds that change behind it.
 */
static enum nfs4r_status times_if_unchanged(void *arg, struct nfs4r_op *op, struct nfs4r_exec *x)
{
	struct import *im = arg;
	struct nfs4r_engine *eng = im->eng;
	struct nfs4r_attrs now = { 0 };
	struct nfs4r_row row;
	enum nfs4r_status st = eng->ops->getattr(eng->ctx, &x->obj, &now);

	nfs4r_buf_put(now.acl);
	if (st != NFS4R_OK)
		return st;
	if (now.mtime != op->attrs.mtime) {
		bool by_us = nfs4r_store_row(eng->store, &op->obj, &row) == NFS4R_KNOWN && row.last_log == eng->cfg.rpc.self;

		if (by_us && row.last_lsn == im->last)
			im->last = op->lsn;
		if (!by_us || row.mtime != now.mtime)
			return NFS4R_MISMATCH;
	}
	return eng->ops->setattr(eng->ctx, &x->obj, &op->attrs, &op->cred, &op->post);
}

/* What the entries above did to the times is undone last. */
static enum nfs4r_status import_times(struct import *im, const struct nfs4r_oid *oid, const struct import_times *t)
{
	struct nfs4r_op op = { .type = NFS4R_OP_SETATTR, .obj = *oid };

	op.attrs.mask = NFS4R_ATTR_MTIME | NFS4R_ATTR_ATIME;
	op.attrs.mtime = t->mtime;
	op.attrs.atime = t->atime;
	enum nfs4r_status st = run(im, &op, times_if_unchanged, im);
	nfs4r_op_fini(&op);
	return st == NFS4R_MISMATCH ? NFS4R_OK : st;
}

/* ---- what changes meanwhile, and is no client's doing ---- */

static enum nfs4r_status same_attrs(void *arg, struct nfs4r_op *op, struct nfs4r_exec *x)
{
	struct nfs4r_engine *eng = arg;
	struct nfs4r_attrs *now = &op->post, *want = &op->attrs;
	enum nfs4r_status st = eng->ops->getattr(eng->ctx, &x->obj, now);

	if (st == NFS4R_OK && (now->mode != want->mode || now->uid != want->uid || now->gid != want->gid || (want->mask & NFS4R_ATTR_SIZE && now->size != want->size)))
		st = NFS4R_MISMATCH;
	return st;
}

static uint32_t mode_of(uint32_t type)
{
	return type == NFS4R_TYPE_SYMLINK ? 0 : NFS4R_ATTR_MODE;
}

static bool acl_is_xattr(const struct nfs4r_engine *eng)
{
	return eng->ops->acl_is_xattr && eng->ops->acl_is_xattr(eng->ctx);
}

/* Size, mode, owner and ACL as they are; *a is what they are. */
static enum nfs4r_status send_attrs(struct import *im, const struct nfs4r_oid *oid, const struct nfs4r_lhandle *h, struct nfs4r_attrs *a)
{
	struct nfs4r_engine *eng = im->eng;
	enum nfs4r_status st = NFS4R_MISMATCH;

	for (int i = 0; i < TRIES && st == NFS4R_MISMATCH; i++) {
		struct nfs4r_op op = { .type = NFS4R_OP_SETATTR, .obj = *oid };

		st = eng->ops->getattr(eng->ctx, h, &op.attrs);
		*a = op.attrs;
		a->acl = NULL;
		op.attrs.mask = mode_of(a->type) | NFS4R_ATTR_UID | NFS4R_ATTR_GID | (a->type == NFS4R_TYPE_FILE ? NFS4R_ATTR_SIZE : 0u) |
			(op.attrs.acl && !acl_is_xattr(eng) ? NFS4R_ATTR_ACL : 0u);
		if (st == NFS4R_OK)
			st = run(im, &op, same_attrs, eng);
		nfs4r_op_fini(&op);
	}
	return st;
}

/* Did the file change since @a, by something else than an entry after @last, its last one then? Entries of clients say what they do themselves. */
static bool has_changed(struct import *im, const struct nfs4r_oid *oid, const struct nfs4r_lhandle *h, const struct nfs4r_attrs *a, nfs4r_lsn last)
{
	struct nfs4r_engine *eng = im->eng;
	struct nfs4r_attrs now = { 0 };
	struct nfs4r_row row;
	enum nfs4r_status st = eng->ops->getattr(eng->ctx, h, &now);

	nfs4r_buf_put(now.acl);
	if (st != NFS4R_OK || (now.size == a->size && now.mtime == a->mtime))
		return false;
	return nfs4r_store_row(eng->store, oid, &row) == NFS4R_KNOWN && row.last_log == eng->cfg.rpc.self && row.last_lsn == last;
}

/* Until it rests, or too often; then the copies may have other bytes. */
static enum nfs4r_status send_changed(struct import *im, const struct nfs4r_oid *oid, const struct nfs4r_lhandle *h, struct nfs4r_attrs *a, nfs4r_lsn last)
{
	enum nfs4r_status st = NFS4R_OK;
	int changes = 0;

	while (st == NFS4R_OK && has_changed(im, oid, h, a, last) && changes++ < CHANGES_MAX) {
		st = send_attrs(im, oid, h, a);
		if (st == NFS4R_OK)
			st = import_bytes(im, oid, h, a->size, true);
		last = im->last;
	}
	if (changes && (st == NFS4R_OK || st == NFS4R_MISMATCH))
		note(im, IMPORT_CHANGED, "a program wrote to it behind NFS%s", changes > CHANGES_MAX || st == NFS4R_MISMATCH ? " throughout the import: the copies may have other bytes" : " during the import, and it was sent again. That program must use NFS from now on");
	return st == NFS4R_MISMATCH ? NFS4R_OK : st;
}

/* No memory: it is not looked at again. */
static void remember_fresh(struct import *im, const struct nfs4r_oid *oid, const struct nfs4r_attrs *a)
{
	if (a->mtime < engine_now_real_ns() - FRESH_NS || im->nfresh >= FRESH_MAX || !NFS4R_ROOM(im->fresh, im->nfresh, im->fresh_cap))
		return;
	im->fresh[im->nfresh++] = (struct fresh){ *oid, im->last, a->size, a->mtime, strdup(im->path) };
}

static enum nfs4r_status look_again(struct import *im, struct fresh *f)
{
	struct nfs4r_attrs a = { .size = f->size, .mtime = f->mtime };
	struct nfs4r_lhandle h;

	nfs4r_handle(im->eng, &f->oid, &h);
	if (!h.len || !has_changed(im, &f->oid, &h, &a, f->last))
		return NFS4R_OK;
	size_t was = path_enter(im, f->path ? f->path + 1 : "");
	enum nfs4r_status st = send_changed(im, &f->oid, &h, &a, f->last);

	if (st == NFS4R_OK)
		st = import_times(im, &f->oid, &(struct import_times){ a.mtime, a.atime });
	st = lacks(im, st, "it was changed during the import, and the copies may have other bytes");
	if (was != SIZE_MAX)
		path_back(im, was);
	return is_gone(st) ? NFS4R_OK : st;
}

static enum nfs4r_status look_at_fresh(struct import *im)
{
	enum nfs4r_status st = NFS4R_OK;

	for (size_t i = 0; i < im->nfresh; i++) {
		if (st == NFS4R_OK)
			st = look_again(im, &im->fresh[i]);
		free(im->fresh[i].path);
	}
	free(im->fresh);
	return st;
}

static enum nfs4r_status import_file(struct import *im, const struct nfs4r_oid *oid, const struct nfs4r_lhandle *h, struct nfs4r_attrs *a)
{
	enum nfs4r_status st = import_bytes(im, oid, h, a->size, false);

	if (st == NFS4R_OK)
		st = send_changed(im, oid, h, a, im->last);
	return lacks(im, st, "its bytes are missing");
}

/* A client may have made something else of that name. */
static enum nfs4r_status is_really_gone(void *arg, struct nfs4r_op *op, struct nfs4r_exec *x)
{
	struct nfs4r_engine *eng = arg;
	struct nfs4r_lhandle h;
	enum nfs4r_status st = eng->ops->lookup(eng->ctx, &x->dir, op->name.s, &h);

	return st == NFS4R_NOENT ? NFS4R_OK : st == NFS4R_OK ? NFS4R_MISMATCH :
							       st;
}

/* The volume knows @oid by this name, and its file may have gone from the directory without the volume. Then nobody can have it. */
static void forget_vanished(struct import *im, const struct nfs4r_oid *dir, const char *name, const struct nfs4r_oid *oid)
{
	struct nfs4r_op op = { .type = NFS4R_OP_REMOVE, .dir = *dir };
	struct nfs4r_dirent ent;

	if (nfs4r_name_set(&op.name, name, strlen(name)) && nfs4r_store_lookup(im->eng->store, dir, &op.name, &ent) && nfs4r_oid_eq(&ent.oid, oid))
		(void)run(im, &op, is_really_gone, im->eng);
	nfs4r_op_fini(&op);
}

/* Own entries become applied in the core's steps. eng->lock held. */
static bool is_whole(struct import *im)
{
	struct nfs4r_store_positions p;

	nfs4r_store_get_positions(im->eng->store, &p);
	return p.applied[im->eng->cfg.rpc.self] >= im->last;
}

/* The object is whole in the journal. What lies behind a hole would count for nothing after a crash of the machine (log 4.7), so there must be none. */
static enum nfs4r_status end_object(struct import *im, const struct nfs4r_oid *oid)
{
	struct nfs4r_engine *eng = im->eng;
	enum nfs4r_status st = NFS4R_SHUTDOWN;

	pthread_mutex_lock(&eng->lock);
	while (!is_whole(im) && !eng->door.stopping && !eng->runtime.mute)
		(void)engine_step_await(eng, NULL);
	if (is_whole(im))
		st = engine_import_end(eng, oid);
	pthread_mutex_unlock(&eng->lock);
	return st;
}

static enum nfs4r_status import_content(struct import *im, const struct nfs4r_oid *oid, const struct nfs4r_lhandle *h, struct nfs4r_attrs *a, uint32_t depth)
{
	enum nfs4r_status st = NFS4R_OK;

	if (a->type == NFS4R_TYPE_DIR)
		st = import_dir(im, oid, depth + 1);
	else if (a->type == NFS4R_TYPE_FILE)
		st = import_file(im, oid, h, a);
	if (st == NFS4R_OK)
		st = import_xattrs(im, oid, h);
	if (st == NFS4R_OK && (a->type == NFS4R_TYPE_DIR || (a->type == NFS4R_TYPE_FILE && a->size)))
		st = lacks(im, import_times(im, oid, &(struct import_times){ a->mtime, a->atime }), "its times may be others");
	if (st == NFS4R_OK && a->type == NFS4R_TYPE_FILE)
		remember_fresh(im, oid, a);
	return st;
}

/* What was begun with is ended, also if it is gone by now. */
static enum nfs4r_status import_all_of(struct import *im, const struct nfs4r_oid *dir, const char *name, const struct nfs4r_oid *oid, struct nfs4r_attrs *a,
				       uint32_t depth)
{
	struct nfs4r_lhandle h;

	nfs4r_handle(im->eng, oid, &h);
	enum nfs4r_status st = h.len ? import_content(im, oid, &h, a, depth) : NFS4R_STALE;
	if (is_gone(st)) {
		forget_vanished(im, dir, name, oid);
		im->gone++;
		st = NFS4R_OK;
	}
	return st == NFS4R_OK ? end_object(im, oid) : st;
}

/* ---- what an earlier start has begun with ---- */

static enum nfs4r_status take_control(struct import *im, const struct nfs4r_oid *oid, uint32_t depth)
{
	struct nfs4r_op claim = { .type = NFS4R_OP_CLAIM, .obj = *oid, .depth = depth };
	enum nfs4r_status st = run(im, &claim, nothing_to_do, NULL);

	nfs4r_op_fini(&claim);
	return st;
}

static enum nfs4r_status send_again(struct import *im, const struct nfs4r_oid *oid, const struct import_times *t)
{
	struct nfs4r_lhandle h;
	struct nfs4r_attrs a = { 0 };
	enum nfs4r_status st = take_control(im, oid, NFS4R_SHALLOW);

	nfs4r_handle(im->eng, oid, &h);
	if (st == NFS4R_OK && !h.len)
		return NFS4R_STALE;
	if (st == NFS4R_OK)
		st = lacks(im, send_attrs(im, oid, &h, &a), "its owner and mode may be others");
	if (st == NFS4R_OK && a.type == NFS4R_TYPE_FILE)
		st = lacks(im, import_bytes(im, oid, &h, a.size, true), "its bytes are missing");
	if (st == NFS4R_OK)
		st = import_xattrs(im, oid, &h);
	return st == NFS4R_OK ? lacks(im, import_times(im, oid, t), "its times may be others") : st;
}

/* An object that clients may have moved: nobody asks where it is now. */
static size_t path_of_number(struct import *im, const struct nfs4r_oid *oid)
{
	char text[NFS4R_OID_STRLEN], name[NFS4R_OID_STRLEN + 20];

	if (nfs4r_oid_eq(oid, &im->eng->root))
		return im->path_len;
	snprintf(name, sizeof(name), "(object %s)", nfs4r_oid_str(oid, text));
	size_t was = path_enter(im, name);
	return was == SIZE_MAX ? im->path_len : was;
}

/* @last: everything below the directories is known. Else of them only the times, which a crash may have moved here, before what comes into them moves those of the row. */
static enum nfs4r_status finish_open(struct import *im, bool last)
{
	struct nfs4r_oid *list;
	uint32_t n = engine_import_list_open(im->eng, &list);
	enum nfs4r_status st = n == UINT32_MAX ? NFS4R_NOMEM : NFS4R_OK;

	for (uint32_t i = 0; st == NFS4R_OK && i < n; i++) {
		struct import_times t = { 0 };
		struct nfs4r_row row;
		size_t was = path_of_number(im, &list[i]);
		bool known = nfs4r_store_row(im->eng->store, &list[i], &row) == NFS4R_KNOWN;
		bool later = known && row.type == NFS4R_TYPE_DIR && !last;

		if (engine_import_is_open(im->eng, &list[i], &t) && known)
			st = later ? import_times(im, &list[i], &t) : send_again(im, &list[i], &t);
		if (is_gone(st))
			st = NFS4R_OK;
		if (st == NFS4R_OK && !later)
			st = end_object(im, &list[i]);
		path_back(im, was);
	}
	free(list);
	return st;
}

/* ---- the walk ---- */

/*
 * Directories that an earlier start had begun with, and that this one did not come to: clients have moved them. What is in one and not known yet moves with it, and only so.
 * (The root's row is there, too, and stays where it is.)
 */
static enum nfs4r_status walk_moved(struct import *im)
{
	struct nfs4r_oid *list;
	uint32_t n = engine_import_list_open(im->eng, &list);
	enum nfs4r_status st = n == UINT32_MAX ? NFS4R_NOMEM : NFS4R_OK;

	for (uint32_t i = 0; st == NFS4R_OK && i < n; i++) {
		struct nfs4r_row row;

		if (nfs4r_oid_eq(&list[i], &im->eng->root) || engine_import_is_walked(im->eng, &list[i]) ||
		    nfs4r_store_row(im->eng->store, &list[i], &row) != NFS4R_KNOWN || row.type != NFS4R_TYPE_DIR)
			continue;
		size_t was = path_of_number(im, &list[i]);

		st = import_dir(im, &list[i], 1);
		path_back(im, was);
		if (is_gone(st))
			st = NFS4R_OK;
	}
	free(list);
	return st;
}

/*
 * An update that this server may not execute in its own tree would be one that no server can rely on, and no client can take such a flag away. So it goes, and the
 * administrator is told.
 */
static enum nfs4r_status be_mutable(struct import *im, const struct nfs4r_lhandle *h)
{
	uint32_t had = 0;
	enum nfs4r_status st = im->eng->ops->make_mutable ? im->eng->ops->make_mutable(im->eng->ctx, h, &had) : NFS4R_OK;

	if (st == NFS4R_OK && had)
		note(im, IMPORT_CHANGED, "it was %s%s%s (chattr), which a volume cannot represent: the flag was cleared here",
		     had & NFS4R_WAS_IMMUTABLE ? "immutable" : "", had == (NFS4R_WAS_IMMUTABLE | NFS4R_WAS_APPEND_ONLY) ? " and " : "",
		     had & NFS4R_WAS_APPEND_ONLY ? "append-only" : "");
	return st;
}

/* The root, before anything comes into it. */
static enum nfs4r_status begin_root(struct import *im)
{
	struct nfs4r_engine *eng = im->eng;
	struct nfs4r_attrs a = { 0 };
	struct nfs4r_lhandle h;

	if (im->objects)
		return NFS4R_OK;
	nfs4r_handle(eng, &eng->root, &h);
	enum nfs4r_status st = eng->ops->getattr(eng->ctx, &h, &a);
	nfs4r_buf_put(a.acl);
	if (st == NFS4R_OK)
		st = be_mutable(im, &h);
	if (st != NFS4R_OK)
		return st;
	pthread_mutex_lock(&eng->lock);
	st = engine_import_begin(eng, &eng->root, &(struct import_times){ a.mtime, a.atime });
	pthread_mutex_unlock(&eng->lock);
	return st;
}

static enum nfs4r_status link_text(struct import *im, const struct nfs4r_lhandle *h, struct nfs4r_op *op)
{
	uint32_t len = NFS4R_PATH_MAX;

	op->text = calloc(1, NFS4R_PATH_MAX + 1);
	return op->text ? im->eng->ops->readlink(im->eng->ctx, h, op->text, &len) : NFS4R_NOMEM;
}

/* A client may have renamed the file since it was found. */
static enum nfs4r_status same_name(void *arg, struct nfs4r_op *op, struct nfs4r_exec *x)
{
	struct nfs4r_engine *eng = arg;
	struct nfs4r_lhandle h;
	enum nfs4r_status st = eng->ops->lookup(eng->ctx, &x->dir, op->name.s, &h);

	if (st == NFS4R_OK && (h.len != x->obj.len || memcmp(h.b, x->obj.b, h.len) != 0))
		st = NFS4R_NOENT;
	return st;
}

/* Said once, of the innermost object. */
static void import_stops(struct import *im, enum nfs4r_status st)
{
	struct nfs4r_engine *eng = im->eng;
	char *path = im->stopped ? NULL : nfs4r_text_name_new(im->path);

	if (path)
		engine_log(eng, NFS4R_LOG_ERROR, "volume %s: the import stops at %s: %s", eng->cfg.volume_name, path, nfs4r_status_str(st));
	im->stopped = true;
	free(path);
}

/* Another name of a file that was taken in before. */
static enum nfs4r_status import_link(struct import *im, struct nfs4r_op *op, const struct nfs4r_oid *known, uint32_t type)
{
	if (type == NFS4R_TYPE_DIR)
		return NFS4R_NOENT; /* it has just been moved away */
	op->type = NFS4R_OP_LINK;
	op->obj = *known;
	return skip(im, run(im, op, same_name, im->eng), "another name of an object that is in the volume cannot be added");
}

/* A new object; *a: what it is, and then what it was when the volume took it. */
static enum nfs4r_status import_new(struct import *im, struct nfs4r_op *op, const struct nfs4r_lhandle *h, struct nfs4r_attrs *a)
{
	enum nfs4r_status st = begin_root(im);

	if (st == NFS4R_OK)
		st = be_mutable(im, h);
	if (st == NFS4R_PERM || st == NFS4R_ACCES) {
		note(im, IMPORT_SKIPPED, "it is immutable, append-only or sealed by fs-verity, and the flag cannot be cleared: %s", nfs4r_status_str(st));
		return NFS4R_INVAL;
	}
	op->attrs.mask = NFS4R_ATTR_TYPE | NFS4R_ATTR_MTIME | NFS4R_ATTR_ATIME;
	op->attrs.type = a->type;
	op->attrs.mtime = a->mtime;
	op->attrs.atime = a->atime;
	if (st == NFS4R_OK && a->type == NFS4R_TYPE_SYMLINK)
		st = link_text(im, h, op);
	if (st == NFS4R_OK)
		st = run(im, op, NULL, NULL);
	if (st != NFS4R_OK) {
		enum nfs4r_status said = skip(im, st, "it cannot be added");

		return said == NFS4R_OK ? NFS4R_INVAL : said;
	}
	*a = op->post;
	a->acl = NULL;
	im->objects++;
	progress(im);
	return NFS4R_OK;
}

/* What has this name in the directory, if it can be had at all; INVAL: it was skipped. */
static enum nfs4r_status look(struct import *im, const struct nfs4r_lhandle *dirh, const char *name, struct nfs4r_lhandle *h, struct nfs4r_attrs *a)
{
	struct nfs4r_engine *eng = im->eng;
	bool mount = false;
	enum nfs4r_status st = eng->ops->is_mount ? eng->ops->is_mount(eng->ctx, dirh, name, &mount) : NFS4R_OK;

	if (st == NFS4R_OK && mount) {
		note(im, IMPORT_SKIPPED, "something is mounted there, or it is another file system: a volume is one file system, so this directory is skipped");
		return NFS4R_INVAL;
	}
	if (st == NFS4R_OK)
		st = eng->ops->lookup(eng->ctx, dirh, name, h);
	if (st == NFS4R_OK)
		st = eng->ops->getattr(eng->ctx, h, a);
	nfs4r_buf_put(a->acl);
	a->acl = NULL;
	if (st == NFS4R_OK && a->type == 0)
		st = NFS4R_BADTYPE;
	enum nfs4r_status said = skip(im, st, "its attributes cannot be read");
	return st != NFS4R_OK && said == NFS4R_OK ? NFS4R_INVAL : said;
}

static enum nfs4r_status import_name(struct import *im, const struct nfs4r_oid *dir, const struct nfs4r_lhandle *dirh, const char *name, uint32_t depth)
{
	struct nfs4r_engine *eng = im->eng;
	struct nfs4r_op op = { .type = NFS4R_OP_ADOPT, .dir = *dir };
	struct nfs4r_attrs a = { 0 };
	struct nfs4r_lhandle h;
	struct nfs4r_oid known, oid;
	struct nfs4r_dirent ent;

	if (!nfs4r_name_set(&op.name, name, strlen(name)))
		return skip(im, NFS4R_NAMETOOLONG, "its name");
	enum nfs4r_status st = look(im, dirh, name, &h, &a);
	if (st != NFS4R_OK)
		return st == NFS4R_INVAL ? NFS4R_OK : st;
	if (nfs4r_store_lookup(eng->store, dir, &op.name, &ent)) /* an earlier start came this far, or a client made it */
		return ent.type == NFS4R_TYPE_DIR ? import_dir(im, &ent.oid, depth + 1) : NFS4R_OK;
	if (a.type == NFS4R_TYPE_DIR && depth + 1 >= NFS4R_DEPTH_MAX) {
		note(im, IMPORT_SKIPPED, "a volume has at most %u levels of directories: this directory is skipped", NFS4R_DEPTH_MAX);
		return NFS4R_OK;
	}
	bool again = nfs4r_by_handle(eng, &h, &known);
	st = again ? import_link(im, &op, &known, a.type) : import_new(im, &op, &h, &a);
	oid = op.result;
	nfs4r_op_fini(&op);
	if (again || st != NFS4R_OK)
		return st == NFS4R_INVAL ? NFS4R_OK : st;
	return import_all_of(im, dir, name, &oid, &a, depth);
}

static enum nfs4r_status import_dir(struct import *im, const struct nfs4r_oid *dir, uint32_t depth)
{
	struct disk_names l;
	struct nfs4r_lhandle dirh;
	enum nfs4r_status st;

	if (depth > NFS4R_DEPTH_MAX)
		return skip(im, NFS4R_NAMETOOLONG, "it is nested too deeply");
	nfs4r_handle(im->eng, dir, &dirh);
	if (!dirh.len)
		return NFS4R_STALE;
	engine_import_walked(im->eng, dir);
	st = skip(im, engine_disk_names_read(im->eng, &dirh, &l), "names in it cannot be read");
	for (const char *name = engine_disk_names_next(&l, NULL); name && st == NFS4R_OK; name = engine_disk_names_next(&l, name)) {
		if (depth == 0 && (strcmp(name, "lost+found") == 0 || replicate_staging_is_name(name)))
			continue;
		size_t was = path_enter(im, name);

		st = was == SIZE_MAX ? NFS4R_NOMEM : import_name(im, dir, &dirh, name, depth);
		if (is_gone(st)) {
			im->gone++;
			st = NFS4R_OK;
		}
		if (st != NFS4R_OK && st != NFS4R_SHUTDOWN)
			import_stops(im, st);
		if (was != SIZE_MAX)
			path_back(im, was);
	}
	engine_disk_names_free(&l);
	return st;
}

/* Once it is known that no other server knows of an earlier store of this one. */
static bool may_begin(struct nfs4r_engine *eng)
{
	enum nfs4r_memory memory;
	bool forgot;

	for (;;) {
		pthread_mutex_lock(&eng->lock);
		memory = engine_memory(eng);
		forgot = membership_view_forgot(eng) || memory == NFS4R_MEMORY_FORGOT;
		pthread_mutex_unlock(&eng->lock);
		if (forgot || eng->door.stopping || memory != NFS4R_MEMORY_NEW)
			break;
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	}
	if (forgot)
		engine_log(eng, NFS4R_LOG_WARN, "volume %s: nothing is imported, because the others have this volume and know an earlier copy at this server: remove Import = true",
			   eng->cfg.volume_name);
	return !forgot && !eng->door.stopping;
}

static void set_phase(struct nfs4r_engine *eng, enum import_phase phase, enum nfs4r_status st)
{
	pthread_mutex_lock(&eng->lock);
	eng->start.import.phase = phase;
	eng->start.import.st = st;
	pthread_mutex_unlock(&eng->lock);
}

static void say_end(struct import *im, enum nfs4r_status st)
{
	struct nfs4r_engine *eng = im->eng;
	uint64_t skipped, changed;

	pthread_mutex_lock(&eng->lock);
	skipped = eng->start.import.noted[IMPORT_SKIPPED];
	changed = eng->start.import.noted[IMPORT_CHANGED];
	pthread_mutex_unlock(&eng->lock);
	if (im->gone)
		engine_log(eng, NFS4R_LOG_INFO, "volume %s: clients deleted, renamed or created %llu of the names before the import reached them", eng->cfg.volume_name,
			   (unsigned long long)im->gone);
	if (st != NFS4R_OK && st != NFS4R_SHUTDOWN)
		engine_log(eng, NFS4R_LOG_ERROR, "volume %s: the import stopped after %llu objects (%s): the volume has only a part of the tree. Remove the cause, then restart this server to continue",
			   eng->cfg.volume_name, (unsigned long long)im->objects, nfs4r_status_str(st));
	else
		engine_log(eng, NFS4R_LOG_INFO, "volume %s: import %s: %llu objects, %llu bytes", eng->cfg.volume_name,
			   st == NFS4R_OK ? "is complete" : "stops with this server, and continues after its next start", (unsigned long long)im->objects,
			   (unsigned long long)im->bytes);
	if (st == NFS4R_OK && (skipped || changed))
		engine_log(eng, NFS4R_LOG_WARN, "volume %s: the import skipped %llu objects and changed %llu: see import-skipped.txt and import-changed.txt in %s",
			   eng->cfg.volume_name, (unsigned long long)skipped, (unsigned long long)changed, eng->cfg.store_dir);
}

void *start_import_thread(void *arg)
{
	struct nfs4r_engine *eng = arg;
	struct import im = { .eng = eng };

	if (!may_begin(eng)) {
		set_phase(eng, IMPORT_NONE, NFS4R_OK);
		return NULL;
	}
	if (eng->cfg.import)
		start_import_notes_begin(eng);
	enum nfs4r_status st = take_control(&im, &eng->root, eng->cfg.import ? NFS4R_DEEP : NFS4R_SHALLOW);
	if (st == NFS4R_OK)
		st = finish_open(&im, false);
	if (st == NFS4R_OK && eng->cfg.import)
		st = import_dir(&im, &eng->root, 0);
	if (st == NFS4R_OK && eng->cfg.import)
		st = walk_moved(&im);
	if (st == NFS4R_OK)
		st = finish_open(&im, true);
	enum nfs4r_status again = look_at_fresh(&im);
	if (st == NFS4R_OK)
		st = again;
	set_phase(eng, st == NFS4R_OK ? IMPORT_COMPLETE : IMPORT_STOPPED, st);
	say_end(&im, st);
	free(im.path);
	return NULL;
}
