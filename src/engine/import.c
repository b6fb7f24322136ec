/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Taking an existing tree in as the volume's first copy (Import = true on one server).
 *
 * Objects that lie in the exported directory and that the volume does not know are "created" by ordinary
 * log entries whose local execution finds its work done. So they reach the other servers like any update, with
 * bytes read back from the files and bounded memory, under an ordinary deep control of the root: nobody can change the volume
 * meanwhile, and a crash in the middle is continued by the next start, which skips what the volume knows already.
 *
 * Invariant: a server whose store was lost or restored (log 8.6) imports nothing. Its tree is an old copy of the volume, which the others have.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/engine_int.h"

#define CHUNK (1u << 20) /* bytes of a file per entry */

struct names {
	char (*name)[NFS4R_NAME_MAX + 1];
	size_t n, cap;
};

struct import {
	struct nfs4r_engine *eng;
	uint64_t objects, bytes, last_line_ms;
};

static enum nfs4r_status import_dir(struct import *im, const struct nfs4r_oid *dir, uint32_t depth);

static bool collect(void *arg, const char *name)
{
	struct names *l = arg;

	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 64;
		void *p = realloc(l->name, cap * sizeof(l->name[0]));

		if (!p)
			return false;
		l->name = p;
		l->cap = cap;
	}
	snprintf(l->name[l->n++], sizeof(l->name[0]), "%s", name);
	return true;
}

static enum nfs4r_status nothing_to_do(void *arg, struct nfs4r_op *op, struct nfs4r_exec *x)
{
	return NFS4R_OK;
}

/* Run until it happened; others' operations may hold it up for a while. */
static enum nfs4r_status run(struct import *im, struct nfs4r_op *op, nfs4r_exec_fn exec)
{
	enum nfs4r_status st;

	while ((st = nfs4r_update(im->eng, op, exec, NULL)) == NFS4R_DELAY && !im->eng->stopping)
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	return im->eng->stopping && st == NFS4R_DELAY ? NFS4R_SHUTDOWN : st;
}

static void progress(struct import *im)
{
	struct nfs4r_engine *eng = im->eng;
	uint64_t now = now_ms();

	pthread_mutex_lock(&eng->lock);
	snprintf(eng->import_state, sizeof(eng->import_state), "importing: %llu objects, %llu bytes so far", (unsigned long long)im->objects,
		 (unsigned long long)im->bytes);
	pthread_mutex_unlock(&eng->lock);
	if (now >= im->last_line_ms + 5000) {
		im->last_line_ms = now;
		engine_log(eng, NFS4R_LOG_INFO, "volume %s: %s", eng->cfg.volume_name, eng->import_state);
	}
}

static enum nfs4r_status import_bytes(struct import *im, const struct nfs4r_oid *oid, const struct nfs4r_attrs *a)
{
	enum nfs4r_status st = NFS4R_OK;

	for (uint64_t off = 0; off < a->size && st == NFS4R_OK; off += CHUNK) {
		struct nfs4r_op op = { .type = NFS4R_OP_WRITE, .obj = *oid, .offset = off, .under_open = true };

		op.length = a->size - off < CHUNK ? a->size - off : CHUNK;
		st = run(im, &op, nothing_to_do);
		im->bytes += op.length;
		nfs4r_op_fini(&op);
		progress(im);
	}
	return st;
}

static enum nfs4r_status import_xattrs(struct import *im, const struct nfs4r_oid *oid, const struct nfs4r_lhandle *h)
{
	const struct nfs4r_lops *l = im->eng->ops;
	char *names = malloc(NFS4R_XATTR_VALUE_MAX);
	uint32_t len = NFS4R_XATTR_VALUE_MAX;
	enum nfs4r_status st = names ? l->listxattr(im->eng->ctx, h, names, &len) : NFS4R_NOMEM;

	if (st != NFS4R_OK) {
		free(names);
		return st == NFS4R_NOTSUPP || st == NFS4R_NOXATTR ? NFS4R_OK : st;
	}
	for (const char *n = names; st == NFS4R_OK && n < names + len; n += strlen(n) + 1) {
		struct nfs4r_op op = { .type = NFS4R_OP_SETXATTR, .obj = *oid };
		uint32_t vlen = NFS4R_XATTR_VALUE_MAX;

		op.text = strdup(n);
		op.data = nfs4r_buf_new(vlen);
		st = op.text && op.data ? l->getxattr(im->eng->ctx, h, n, op.data->data, &vlen) : NFS4R_NOMEM;
		if (st == NFS4R_OK) {
			op.data->len = vlen;
			st = run(im, &op, nothing_to_do);
		}
		nfs4r_op_fini(&op);
	}
	free(names);
	return st;
}

/* What the entries above did to the times is undone last. */
static enum nfs4r_status import_times(struct import *im, const struct nfs4r_oid *oid, const struct nfs4r_attrs *a)
{
	struct nfs4r_op op = { .type = NFS4R_OP_SETATTR, .obj = *oid };

	op.attrs.mask = NFS4R_ATTR_MTIME | NFS4R_ATTR_ATIME;
	op.attrs.mtime = a->mtime;
	op.attrs.atime = a->atime;
	enum nfs4r_status st = run(im, &op, NULL);
	nfs4r_op_fini(&op);
	return st;
}

static enum nfs4r_status import_content(struct import *im, const struct nfs4r_oid *oid, const struct nfs4r_lhandle *h, const struct nfs4r_attrs *a,
					uint32_t depth)
{
	enum nfs4r_status st = NFS4R_OK;

	if (a->type == NFS4R_TYPE_DIR)
		st = import_dir(im, oid, depth + 1);
	else if (a->type == NFS4R_TYPE_FILE)
		st = import_bytes(im, oid, a);
	if (st == NFS4R_OK && a->type <= NFS4R_TYPE_DIR)
		st = import_xattrs(im, oid, h);
	if (st == NFS4R_OK && (a->type == NFS4R_TYPE_DIR || a->size) && a->type != NFS4R_TYPE_SYMLINK)
		st = import_times(im, oid, a);
	return st;
}

static enum nfs4r_status link_text(struct import *im, const struct nfs4r_lhandle *h, struct nfs4r_op *op)
{
	uint32_t len = NFS4R_PATH_MAX;

	op->text = calloc(1, NFS4R_PATH_MAX + 1);
	return op->text ? im->eng->ops->readlink(im->eng->ctx, h, op->text, &len) : NFS4R_NOMEM;
}

static enum nfs4r_status import_name(struct import *im, const struct nfs4r_oid *dir, const struct nfs4r_lhandle *dirh, const char *name, uint32_t depth)
{
	struct nfs4r_engine *eng = im->eng;
	struct nfs4r_op op = { .type = NFS4R_OP_ADOPT, .dir = *dir };
	struct nfs4r_attrs a = { 0 };
	struct nfs4r_lhandle h;
	struct nfs4r_oid known;
	struct nfs4r_dirent ent;

	if (!nfs4r_name_set(&op.name, name, strlen(name)))
		return NFS4R_INVAL;
	enum nfs4r_status st = eng->ops->lookup(eng->ctx, dirh, name, &h);
	if (st == NFS4R_OK)
		st = eng->ops->getattr(eng->ctx, &h, &a);
	if (st != NFS4R_OK)
		return st;
	nfs4r_buf_put(a.acl);
	a.acl = NULL;
	if (nfs4r_store_lookup(eng->store, dir, &op.name, &ent)) /* an earlier start came this far */
		return a.type == NFS4R_TYPE_DIR ? import_dir(im, &ent.oid, depth + 1) : NFS4R_OK;
	if (nfs4r_by_handle(eng, &h, &known)) {
		op.type = NFS4R_OP_LINK; /* another name of a file taken in before */
		op.obj = known;
		st = run(im, &op, nothing_to_do);
		nfs4r_op_fini(&op);
		return st;
	}
	op.attrs.mask = NFS4R_ATTR_TYPE;
	op.attrs.type = a.type;
	if (a.type == NFS4R_TYPE_SYMLINK)
		st = link_text(im, &h, &op);
	if (st == NFS4R_OK)
		st = run(im, &op, NULL);
	struct nfs4r_oid oid = op.result;
	nfs4r_op_fini(&op);
	im->objects++;
	progress(im);
	return st == NFS4R_OK ? import_content(im, &oid, &h, &a, depth) : st;
}

static enum nfs4r_status import_dir(struct import *im, const struct nfs4r_oid *dir, uint32_t depth)
{
	struct names l = { 0 };
	struct nfs4r_lhandle dirh;
	enum nfs4r_status st;

	if (depth > NFS4R_DEPTH_MAX)
		return NFS4R_NAMETOOLONG;
	nfs4r_handle(im->eng, dir, &dirh);
	st = im->eng->ops->readdir(im->eng->ctx, &dirh, collect, &l);
	for (size_t i = 0; i < l.n && st == NFS4R_OK; i++) {
		if (depth == 0 && (strcmp(l.name[i], "lost+found") == 0 || hold_is_name(l.name[i])))
			continue;
		st = import_name(im, dir, &dirh, l.name[i], depth);
		if (st != NFS4R_OK && st != NFS4R_SHUTDOWN)
			engine_log(im->eng, NFS4R_LOG_ERROR, "volume %s: import stops at '%s' in object %llu: %s", im->eng->cfg.volume_name, l.name[i],
				   (unsigned long long)nfs4r_oid_seq(dir), nfs4r_status_str(st));
	}
	free(l.name);
	return st;
}

/* Once it is known that no other server knows of an earlier store of this one. */
static bool may_begin(struct nfs4r_engine *eng)
{
	enum nfs4r_memory memory;
	bool forgot;

	for (;;) {
		pthread_mutex_lock(&eng->lock);
		memory = view_memory(eng);
		forgot = eng->seen.forgot || memory == NFS4R_MEMORY_FORGOT;
		pthread_mutex_unlock(&eng->lock);
		if (forgot || eng->stopping || memory != NFS4R_MEMORY_NEW)
			break;
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	}
	if (forgot)
		engine_log(eng, NFS4R_LOG_WARN, "volume %s: nothing is imported, for the others have this volume, and know of an earlier copy here: remove Import = true",
			   eng->cfg.volume_name);
	return !forgot && !eng->stopping;
}

void *import_thread(void *arg)
{
	struct nfs4r_engine *eng = arg;
	struct import im = { .eng = eng };
	struct nfs4r_op claim = { .type = NFS4R_OP_CLAIM, .obj = eng->root, .depth = NFS4R_DEEP };
	struct nfs4r_lhandle rooth;
	struct nfs4r_attrs root = { 0 };

	if (!may_begin(eng))
		return NULL;
	nfs4r_handle(eng, &eng->root, &rooth);
	enum nfs4r_status st = eng->ops->getattr(eng->ctx, &rooth, &root);
	if (st == NFS4R_OK)
		st = run(&im, &claim, nothing_to_do);
	nfs4r_op_fini(&claim);
	if (st == NFS4R_OK)
		st = import_dir(&im, &eng->root, 0);
	if (st == NFS4R_OK && im.objects)
		st = import_times(&im, &eng->root, &root);
	nfs4r_buf_put(root.acl);
	pthread_mutex_lock(&eng->lock);
	if (st == NFS4R_OK)
		eng->import_state[0] = '\0';
	else
		snprintf(eng->import_state, sizeof(eng->import_state), "import stopped after %llu objects: %s; restart to continue",
			 (unsigned long long)im.objects, nfs4r_status_str(st));
	pthread_mutex_unlock(&eng->lock);
	engine_log(eng, st == NFS4R_OK ? NFS4R_LOG_INFO : NFS4R_LOG_ERROR, "volume %s: import %s: %llu objects, %llu bytes", eng->cfg.volume_name,
		   st == NFS4R_OK ? "is complete" : "stopped", (unsigned long long)im.objects, (unsigned long long)im.bytes);
	return NULL;
}
