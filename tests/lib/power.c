/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * See power.h. Each change of names or attributes notes how to take it back, and the first change of a file's bytes notes what they were. A sync forgets
 * the notes. A loss of power goes through them from the newest to the oldest.
 *
 * A deleted object that has no other name moves to the grave, else it could not be brought back with its handle. One whose making is taken back goes there, too:
 * a store may still have its handle, which must lead nowhere.
 */
#include "lib/power.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 512
#define NAME 256

enum kind {
	MADE = 1,
	LINKED,
	REMOVED,
	RENAMED,
	ATTRS,
	XATTR
};

struct buried {
	bool there;
	char grave[24]; /* name in the grave; empty: it has other names, this one was just removed */
	struct nfs4r_lhandle obj;
};

struct note { /* how to take a change of names or attributes back */
	struct note *older;
	enum kind kind;
	struct nfs4r_lhandle obj, dir, dir2;
	char name[NAME], name2[NAME];
	struct buried was; /* REMOVED, RENAMED: what had the name */
	struct nfs4r_attrs attrs;
	bool had;
	uint32_t len;
	uint8_t value[4096];
};

struct bytes { /* of a file, when it was synced last */
	struct bytes *next;
	struct nfs4r_lhandle obj;
	uint64_t size;
	uint8_t *b;
};

struct power {
	struct dirlops *d;
	const struct nfs4r_lops *in;
	int grave;
	unsigned ngraves;
	pthread_mutex_t lock; /* one change at a time */
	pthread_cond_t cond;
	bool frozen, off;
	struct note *notes; /* newest first */
	unsigned nnotes;
	struct bytes *bytes;
};

/* A thread of the engine may be in here, so this is no assertion of the test. */
static void must_at(bool so, int line)
{
	if (so)
		return;
	fprintf(stderr, "%s:%d: %s\n", __FILE__, line, strerror(errno));
	abort();
}

#define must(so) must_at(so, __LINE__)

/* ---- notes; p->lock held ---- */

static struct note *note(enum kind kind)
{
	struct note *n = calloc(1, sizeof(*n));

	must(n);
	n->kind = kind;
	return n;
}

/* Keep it if the change was made. */
static enum nfs4r_status noted(struct power *p, struct note *n, enum nfs4r_status st)
{
	if (st != NFS4R_OK) {
		free(n);
		return st;
	}
	n->older = p->notes;
	p->notes = n;
	p->nnotes++;
	return st;
}

static void set_name(char out[NAME], const char *name)
{
	snprintf(out, NAME, "%s", name);
}

static bool same(const struct nfs4r_lhandle *a, const struct nfs4r_lhandle *b)
{
	return a->len == b->len && memcmp(a->b, b->b, a->len) == 0;
}

static void save_bytes(struct power *p, const struct nfs4r_lhandle *h)
{
	struct bytes *b;
	struct stat st;
	int fd;

	for (b = p->bytes; b; b = b->next)
		if (same(&b->obj, h))
			return;
	fd = dirlops_fd(p->d, h, O_RDONLY);
	if (fd < 0)
		return;
	b = calloc(1, sizeof(*b));
	must(b && fstat(fd, &st) == 0);
	b->obj = *h;
	b->size = (uint64_t)st.st_size;
	b->b = malloc(b->size + 1);
	must(b->b && pread(fd, b->b, b->size, 0) == st.st_size);
	close(fd);
	b->next = p->bytes;
	p->bytes = b;
}

static void forget_notes(struct power *p)
{
	while (p->notes) {
		struct note *n = p->notes;

		p->notes = n->older;
		free(n);
	}
	p->nnotes = 0;
}

/* @h NULL: of all files. */
static void forget_bytes(struct power *p, const struct nfs4r_lhandle *h)
{
	struct bytes **at = &p->bytes;

	while (*at) {
		struct bytes *b = *at;

		if (h && !same(&b->obj, h)) {
			at = &b->next;
			continue;
		}
		*at = b->next;
		free(b->b);
		free(b);
	}
}

/* A change begins: false = the power is off. Locked if true. */
static bool enter(struct power *p)
{
	pthread_mutex_lock(&p->lock);
	while (p->frozen && !p->off)
		pthread_cond_wait(&p->cond, &p->lock);
	if (!p->off)
		return true;
	pthread_mutex_unlock(&p->lock);
	return false;
}

static enum nfs4r_status leave(struct power *p, enum nfs4r_status st)
{
	pthread_mutex_unlock(&p->lock);
	return st;
}

/* ---- names ---- */

static int dir_fd(struct power *p, const struct nfs4r_lhandle *dir)
{
	return dirlops_fd(p->d, dir, O_RDONLY | O_DIRECTORY);
}

static bool any_name(void *arg, const char *name)
{
	*(bool *)arg = true;
	return false;
}

/* Away with what has the name, so that it can come back. NOENT: nothing has it. */
static enum nfs4r_status bury(struct power *p, const struct nfs4r_lhandle *dir, const char *name, struct buried *out)
{
	enum nfs4r_status st = p->in->lookup(p->d, dir, name, &out->obj);
	bool full = false;
	struct stat sb;
	int fd = dir_fd(p, dir), rc;

	if (st == NFS4R_OK && fd >= 0 && fstatat(fd, name, &sb, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(sb.st_mode))
		st = p->in->readdir(p->d, &out->obj, any_name, &full);
	if (st == NFS4R_OK && full)
		st = NFS4R_NOTEMPTY;
	if (st == NFS4R_OK) {
		if (S_ISDIR(sb.st_mode) || sb.st_nlink == 1)
			snprintf(out->grave, sizeof(out->grave), "%u", p->ngraves++);
		rc = out->grave[0] ? renameat(fd, name, p->grave, out->grave) : unlinkat(fd, name, 0);
		out->there = rc == 0;
		st = rc == 0 ? NFS4R_OK : nfs4r_status_from_errno(errno);
	}
	if (fd >= 0)
		close(fd);
	return st;
}

static void exhume(struct power *p, const struct buried *was, const struct nfs4r_lhandle *dir, const char *name)
{
	int fd = was->there ? dir_fd(p, dir) : -1;

	if (fd < 0)
		return;
	if (was->grave[0])
		must(renameat(p->grave, was->grave, fd, name) == 0);
	else
		must(p->in->link(p->d, &was->obj, dir, name, NULL) == NFS4R_OK);
	close(fd);
}

static enum nfs4r_status p_create(void *ctx, const struct nfs4r_lhandle *dir, const char *name, const struct nfs4r_attrs *attrs, const char *linktext,
				  const struct nfs4r_cred *cred, struct nfs4r_lhandle *out, struct nfs4r_attrs *post)
{
	struct power *p = dirlops_user(ctx);
	struct note *n;

	if (!enter(p))
		return NFS4R_IO;
	n = note(MADE);
	n->dir = *dir;
	set_name(n->name, name);
	return leave(p, noted(p, n, p->in->create(p->d, dir, name, attrs, linktext, cred, out, post)));
}

static enum nfs4r_status p_link(void *ctx, const struct nfs4r_lhandle *obj, const struct nfs4r_lhandle *dir, const char *name, const struct nfs4r_cred *cred)
{
	struct power *p = dirlops_user(ctx);
	struct note *n;

	if (!enter(p))
		return NFS4R_IO;
	n = note(LINKED);
	n->dir = *dir;
	set_name(n->name, name);
	return leave(p, noted(p, n, p->in->link(p->d, obj, dir, name, cred)));
}

static enum nfs4r_status p_remove(void *ctx, const struct nfs4r_lhandle *dir, const char *name, const struct nfs4r_lhandle *obj, const struct nfs4r_cred *cred)
{
	struct power *p = dirlops_user(ctx);
	struct note *n;

	if (!enter(p))
		return NFS4R_IO;
	n = note(REMOVED);
	n->dir = *dir;
	set_name(n->name, name);
	return leave(p, noted(p, n, bury(p, dir, name, &n->was)));
}

static enum nfs4r_status rename_noted(struct power *p, struct note *n, const struct nfs4r_lhandle *obj, const struct nfs4r_cred *cred)
{
	struct nfs4r_lhandle from, to;
	enum nfs4r_status st = p->in->lookup(p->d, &n->dir, n->name, &from);

	if (st == NFS4R_OK && p->in->lookup(p->d, &n->dir2, n->name2, &to) == NFS4R_OK && same(&from, &to))
		return NFS4R_EXIST; /* two names of one object: nothing happens, so nothing is noted */
	if (st == NFS4R_OK) {
		st = bury(p, &n->dir2, n->name2, &n->was);
		st = st == NFS4R_NOENT ? NFS4R_OK : st;
	}
	if (st != NFS4R_OK)
		return st;
	st = p->in->rename(p->d, obj, &n->dir, n->name, &n->dir2, n->name2, cred);
	if (st != NFS4R_OK)
		exhume(p, &n->was, &n->dir2, n->name2);
	return st;
}

static enum nfs4r_status p_rename(void *ctx, const struct nfs4r_lhandle *obj, const struct nfs4r_lhandle *dir, const char *name,
				  const struct nfs4r_lhandle *dir2, const char *name2, const struct nfs4r_cred *cred)
{
	struct power *p = dirlops_user(ctx);
	enum nfs4r_status st;
	struct note *n;

	if (!enter(p))
		return NFS4R_IO;
	n = note(RENAMED);
	n->dir = *dir;
	n->dir2 = *dir2;
	set_name(n->name, name);
	set_name(n->name2, name2);
	st = noted(p, n, rename_noted(p, n, obj, cred));
	return leave(p, st == NFS4R_EXIST ? NFS4R_OK : st);
}

/* ---- attributes ---- */

static enum nfs4r_status p_setattr(void *ctx, const struct nfs4r_lhandle *obj, const struct nfs4r_attrs *attrs, const struct nfs4r_cred *cred,
				   struct nfs4r_attrs *post)
{
	struct power *p = dirlops_user(ctx);
	struct note *n;

	if (!enter(p))
		return NFS4R_IO;
	n = note(ATTRS);
	n->obj = *obj;
	if (p->in->getattr(p->d, obj, &n->attrs) != NFS4R_OK)
		n->attrs.mask = 0;
	n->attrs.mask &= NFS4R_ATTR_MODE | NFS4R_ATTR_UID | NFS4R_ATTR_GID | NFS4R_ATTR_ATIME | NFS4R_ATTR_MTIME;
	if (attrs->mask & NFS4R_ATTR_SIZE)
		save_bytes(p, obj);
	return leave(p, noted(p, n, p->in->setattr(p->d, obj, attrs, cred, post)));
}

static struct note *note_xattr(struct power *p, const struct nfs4r_lhandle *obj, const char *name)
{
	struct note *n = note(XATTR);

	n->obj = *obj;
	set_name(n->name, name);
	n->len = sizeof(n->value);
	n->had = p->in->getxattr(p->d, obj, name, n->value, &n->len) == NFS4R_OK;
	return n;
}

static enum nfs4r_status p_setxattr(void *ctx, const struct nfs4r_lhandle *obj, const char *name, const void *val, uint32_t len, uint32_t flags,
				    const struct nfs4r_cred *cred)
{
	struct power *p = dirlops_user(ctx);
	struct note *n;

	if (!enter(p))
		return NFS4R_IO;
	n = note_xattr(p, obj, name);
	return leave(p, noted(p, n, p->in->setxattr(p->d, obj, name, val, len, flags, cred)));
}

static enum nfs4r_status p_removexattr(void *ctx, const struct nfs4r_lhandle *obj, const char *name, const struct nfs4r_cred *cred)
{
	struct power *p = dirlops_user(ctx);
	struct note *n;

	if (!enter(p))
		return NFS4R_IO;
	n = note_xattr(p, obj, name);
	return leave(p, noted(p, n, p->in->removexattr(p->d, obj, name, cred)));
}

/* ---- bytes ---- */

static enum nfs4r_status p_write(void *ctx, const struct nfs4r_lhandle *obj, uint64_t off, const void *bytes, uint32_t len, bool stable,
				 const struct nfs4r_cred *cred)
{
	struct power *p = dirlops_user(ctx);
	enum nfs4r_status st;

	if (!enter(p))
		return NFS4R_IO;
	save_bytes(p, obj);
	st = p->in->write(p->d, obj, off, bytes, len, false, cred);
	if (st == NFS4R_OK && stable) {
		forget_bytes(p, obj);
		forget_notes(p);
	}
	return leave(p, st);
}

static enum nfs4r_status p_allocate(void *ctx, const struct nfs4r_lhandle *obj, uint64_t off, uint64_t len, bool punch, const struct nfs4r_cred *cred)
{
	struct power *p = dirlops_user(ctx);

	if (!enter(p))
		return NFS4R_IO;
	save_bytes(p, obj);
	return leave(p, p->in->allocate(p->d, obj, off, len, punch, cred));
}

static enum nfs4r_status p_commit(void *ctx, const struct nfs4r_lhandle *obj)
{
	struct power *p = dirlops_user(ctx);
	enum nfs4r_status st = NFS4R_IO;

	pthread_mutex_lock(&p->lock);
	if (!p->frozen) {
		forget_bytes(p, obj);
		forget_notes(p);
		st = NFS4R_OK;
	}
	return leave(p, st);
}

static int p_sync_all(void *ctx)
{
	struct power *p = dirlops_user(ctx);
	int rc = EIO;

	pthread_mutex_lock(&p->lock);
	if (!p->frozen) {
		forget_bytes(p, NULL);
		forget_notes(p);
		rc = 0;
	}
	pthread_mutex_unlock(&p->lock);
	return rc;
}

/* ---- the loss ---- */

static void take_back(struct power *p, struct note *n)
{
	struct buried gone = { 0 };

	switch (n->kind) {
	case MADE:
	case LINKED:
		must(bury(p, &n->dir, n->name, &gone) == NFS4R_OK);
		break;
	case REMOVED:
		exhume(p, &n->was, &n->dir, n->name);
		break;
	case RENAMED:
		must(p->in->rename(p->d, &n->obj, &n->dir2, n->name2, &n->dir, n->name, NULL) == NFS4R_OK);
		exhume(p, &n->was, &n->dir2, n->name2);
		break;
	case ATTRS:
		if (n->attrs.mask)
			(void)p->in->setattr(p->d, &n->obj, &n->attrs, NULL, NULL);
		break;
	case XATTR:
		if (n->had)
			(void)p->in->setxattr(p->d, &n->obj, n->name, n->value, n->len, NFS4R_XATTR_EITHER, NULL);
		else
			(void)p->in->removexattr(p->d, &n->obj, n->name, NULL);
		break;
	}
}

static bool is_zero(const uint8_t *b, uint64_t len)
{
	return !len || (!b[0] && memcmp(b, b + 1, len - 1) == 0);
}

/* Blocks of what it was and of what it became, as @seed says; 0: what it was, and holes where it has zeros. */
static void tear(struct power *p, const struct bytes *b, unsigned *seed)
{
	int fd = dirlops_fd(p->d, &b->obj, O_RDWR), how = *seed ? rand_r(seed) % 3 : 0;
	uint64_t size = b->size;
	struct stat st;

	if (fd < 0)
		return; /* no file any more */
	must(fstat(fd, &st) == 0);
	if (how && rand_r(seed) % 2)
		size = (uint64_t)st.st_size;
	if (!how)
		must(ftruncate(fd, 0) == 0);
	for (uint64_t at = 0; at < b->size && how < 2; at += BLOCK) {
		uint64_t len = b->size - at < BLOCK ? b->size - at : BLOCK;

		if (how ? rand_r(seed) % 2 : !is_zero(b->b + at, len))
			must(pwrite(fd, b->b + at, len, (off_t)at) > 0);
	}
	if (how < 2)
		must(ftruncate(fd, (off_t)size) == 0);
	close(fd);
}

void power_freeze(struct power *p)
{
	pthread_mutex_lock(&p->lock);
	p->frozen = true;
	pthread_mutex_unlock(&p->lock);
}

void power_lose(struct power *p, unsigned seed)
{
	unsigned lost;

	pthread_mutex_lock(&p->lock);
	lost = seed && p->nnotes ? (unsigned)rand_r(&seed) % (p->nnotes + 1) : p->nnotes;
	for (struct note *n = p->notes; lost; lost--, n = n->older)
		take_back(p, n);
	for (struct bytes *b = p->bytes; b; b = b->next)
		tear(p, b, &seed);
	forget_notes(p);
	forget_bytes(p, NULL);
	p->off = true;
	pthread_cond_broadcast(&p->cond);
	pthread_mutex_unlock(&p->lock);
}

void power_release(struct power *p)
{
	pthread_mutex_lock(&p->lock);
	p->off = p->frozen;
	pthread_cond_broadcast(&p->cond);
	pthread_mutex_unlock(&p->lock);
}

/* ---- */

static struct nfs4r_lops table;

static void make_table(void)
{
	table = *dirlops_table();
	table.create = p_create;
	table.link = p_link;
	table.remove = p_remove;
	table.rename = p_rename;
	table.setattr = p_setattr;
	table.setxattr = p_setxattr;
	table.removexattr = p_removexattr;
	table.write = p_write;
	table.allocate = p_allocate;
	table.commit = p_commit;
	table.sync_all = p_sync_all;
}

const struct nfs4r_lops *power_table(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_table);
	return &table;
}

struct power *power_begin(const char *grave)
{
	struct power *p = calloc(1, sizeof(*p));

	must(p);
	p->in = dirlops_table();
	p->grave = open(grave, O_RDONLY | O_DIRECTORY);
	must(p->grave >= 0);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->cond, NULL);
	return p;
}

void power_attach(struct power *p, struct dirlops *d)
{
	p->d = d;
	p->frozen = p->off = false;
	dirlops_set_user(d, p);
}

void power_end(struct power *p)
{
	forget_notes(p);
	forget_bytes(p, NULL);
	close(p->grave);
	pthread_cond_destroy(&p->cond);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
