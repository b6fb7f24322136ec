/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- directories ---------------------------------------------------------- */

void temp_dir(char out[256])
{
	const char *base = getenv("TMPDIR");

	snprintf(out, 256, "%s/nfs4r-store-XXXXXX", base ? base : "/tmp");
	assert_non_null(mkdtemp(out));
}

static void copy_file(const char *from, const char *to)
{
	char buf[65536];
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ssize_t n;

	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		assert_int_equal(write(out, buf, n), n);
	assert_int_equal(n, 0);
	close(in);
	close(out);
}

void copy_dir(const char *from, const char *to)
{
	DIR *d = opendir(from);
	struct dirent *e;

	assert_non_null(d);
	assert_true(!mkdir(to, 0700) || errno == EEXIST);
	while ((e = readdir(d))) {
		char a[512], b[512];
		struct stat sb;

		if (e->d_name[0] == '.')
			continue;
		snprintf(a, sizeof(a), "%s/%s", from, e->d_name);
		snprintf(b, sizeof(b), "%s/%s", to, e->d_name);
		assert_int_equal(stat(a, &sb), 0);
		if (S_ISDIR(sb.st_mode))
			copy_dir(a, b);
		else
			copy_file(a, b);
	}
	closedir(d);
}

void remove_dir(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d))) {
		char a[512];

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(a, sizeof(a), "%s/%s", dir, e->d_name);
		if (unlink(a))
			remove_dir(a);
	}
	closedir(d);
	rmdir(dir);
}

/* ---- the store ------------------------------------------------------------- */

void fx_init(struct fx *f)
{
	memset(f, 0, sizeof(*f));
	temp_dir(f->dir);
	f->cfg.dir = f->dir;
	memcpy(f->cfg.volume, "volume-for-tests", 16);
	f->cfg.self = 1;
	f->cfg.map_bytes = 1 << 20; /* grows early */
	f->cfg.boot_id = "boot-1";
	nfs4r_oid_root(&f->root, f->cfg.volume);
	f->clock = 1000;
}

enum nfs4r_status fx_open(struct fx *f)
{
	enum nfs4r_status st;

	f->cfg.dir = f->dir;
	st = nfs4r_store_open(&f->cfg, &f->s, &f->info, f->why);
	if (st == NFS4R_OK) {
		for (int i = 1; i <= NFS4R_SERVERS_MAX; i++)
			f->next[i] = f->info.logs[i].applied + 1;
	} else {
		assert_null(f->s);
		assert_true(f->why[0]);
	}
	return st;
}

void fx_open_ok(struct fx *f)
{
	enum nfs4r_status st = fx_open(f);

	if (st != NFS4R_OK)
		fail_msg("open: %s: %s", nfs4r_status_str(st), f->why);
}

void fx_begin(struct fx *f, uint64_t segment_bytes)
{
	fx_init(f);
	f->cfg.segment_bytes = segment_bytes;
	fx_open_ok(f);
}

void fx_close(struct fx *f)
{
	nfs4r_store_close(f->s);
	f->s = NULL;
}

void fx_crash(struct fx *f)
{
	char copy[256];

	temp_dir(copy);
	copy_dir(f->dir, copy);
	fx_close(f);
	remove_dir(f->dir);
	memcpy(f->dir, copy, sizeof(copy));
}

void fx_reopen_after_crash(struct fx *f, const char *boot)
{
	fx_crash(f);
	f->cfg.boot_id = boot;
	fx_open_ok(f);
}

void fx_checkpoint(struct fx *f)
{
	assert_int_equal(nfs4r_store_checkpoint(f->s, NULL, NULL, NULL), NFS4R_OK);
}

void fx_fini(struct fx *f)
{
	nfs4r_store_close(f->s);
	remove_dir(f->dir);
}

/* ---- entries ---------------------------------------------------------------- */

nfs4r_version version_of(struct fx *f, const struct nfs4r_oid *oid)
{
	struct nfs4r_row row;

	return nfs4r_store_row(f->s, oid, &row) == NFS4R_KNOWN ? row.version : 0;
}

struct nfs4r_entry *e_new(struct fx *f, nfs4r_server_id log)
{
	struct nfs4r_entry *e = nfs4r_entry_new();

	assert_non_null(e);
	e->log = log;
	e->lsn = f->next[log]++;
	e->view = 1;
	e->op = 1;
	return e;
}

struct nfs4r_part *e_part(struct fx *f, struct nfs4r_entry *e, const struct nfs4r_oid *oid, uint32_t effect)
{
	struct nfs4r_part *p = &e->parts[e->nparts++];

	p->oid = *oid;
	p->effect = effect;
	p->before = version_of(f, oid);
	p->after = p->before + 1;
	p->ctime = (int64_t)++f->clock;
	if (effect == NFS4R_EFF_ATTRS)
		e->op = NFS4R_OP_SETATTR;
	return p;
}

void e_name(struct nfs4r_part *p, uint32_t i, const char *name, const struct nfs4r_oid *oid, uint32_t type,
	    uint64_t cookie)
{
	assert_true(nfs4r_name_set(&p->names[i].name, name, strlen(name)));
	if (oid)
		p->names[i].oid = *oid;
	p->names[i].type = type;
	p->names[i].cookie = cookie;
}

static uint64_t cookie_for(struct fx *f, const struct nfs4r_oid *dir, const char *s)
{
	struct nfs4r_name n;

	assert_true(nfs4r_name_set(&n, s, strlen(s)));
	return nfs4r_store_new_cookie(f->s, dir, &n);
}

static void find(struct fx *f, const struct nfs4r_oid *dir, const char *s, struct nfs4r_dirent *d)
{
	struct nfs4r_name n;

	assert_true(nfs4r_name_set(&n, s, strlen(s)));
	if (!nfs4r_store_lookup(f->s, dir, &n, d))
		fail_msg("no name %s", s);
}

struct nfs4r_entry *e_create(struct fx *f, nfs4r_server_id log, const struct nfs4r_oid *dir, const char *name,
			     uint32_t type, struct nfs4r_oid *made)
{
	struct nfs4r_entry *e = e_new(f, log);
	struct nfs4r_part *p;

	if (log == f->cfg.self)
		nfs4r_store_oid_watermark(f->s, made);
	else
		nfs4r_oid_make(made, log, 1, ++f->seq[log]);
	e->op = type == NFS4R_TYPE_FILE	   ? NFS4R_OP_CREATE :
		type == NFS4R_TYPE_DIR	   ? NFS4R_OP_MKDIR :
		type == NFS4R_TYPE_SYMLINK ? NFS4R_OP_SYMLINK :
					     NFS4R_OP_MKNOD;
	e->result = *made;
	p = e_part(f, e, made, NFS4R_EFF_CREATE);
	p->attrs.mask = NFS4R_ATTR_TYPE | NFS4R_ATTR_MODE;
	p->attrs.type = type;
	p->attrs.mode = 0644;
	p->mtime = p->ctime;
	p->parent = *dir;
	if (type == NFS4R_TYPE_SYMLINK)
		p->linktext = strdup("target");
	e->handle_len = 12;
	f->handles++;
	memcpy(e->handle, "hndl", 4);
	memcpy(e->handle + 4, &f->handles, 8);
	p = e_part(f, e, dir, NFS4R_EFF_NAMES);
	p->mtime = p->ctime;
	assert_true(nfs4r_part_names(p, 1));
	e_name(p, 0, name, made, type, cookie_for(f, dir, name));
	return e;
}

struct nfs4r_entry *e_link(struct fx *f, nfs4r_server_id log, const struct nfs4r_oid *obj,
			   const struct nfs4r_oid *dir, const char *name)
{
	struct nfs4r_entry *e = e_new(f, log);
	struct nfs4r_part *p = e_part(f, e, dir, NFS4R_EFF_NAMES);
	struct nfs4r_row row;

	e->op = NFS4R_OP_LINK;
	assert_int_equal(nfs4r_store_row(f->s, obj, &row), NFS4R_KNOWN);
	assert_true(nfs4r_part_names(p, 1));
	e_name(p, 0, name, obj, row.type, cookie_for(f, dir, name));
	p = e_part(f, e, obj, NFS4R_EFF_LINKS);
	p->multi = true;
	p->parent_gained = true;
	p->nlink = row.nlink + 1;
	p->parent = *dir;
	return e;
}

static void lose_link(struct fx *f, struct nfs4r_entry *e, const struct nfs4r_oid *oid,
		      const struct nfs4r_oid *dir)
{
	struct nfs4r_part *p = e_part(f, e, oid, NFS4R_EFF_LINKS);
	struct nfs4r_row row;

	assert_int_equal(nfs4r_store_row(f->s, oid, &row), NFS4R_KNOWN);
	p->multi = row.multi;
	p->nlink = row.type == NFS4R_TYPE_DIR ? 0 : row.nlink - 1;
	p->parent = *dir;
}

struct nfs4r_entry *e_remove(struct fx *f, nfs4r_server_id log, const struct nfs4r_oid *dir, const char *name)
{
	struct nfs4r_entry *e = e_new(f, log);
	struct nfs4r_part *p = e_part(f, e, dir, NFS4R_EFF_NAMES);
	struct nfs4r_dirent d;

	e->op = NFS4R_OP_REMOVE;
	find(f, dir, name, &d);
	assert_true(nfs4r_part_names(p, 1));
	e_name(p, 0, name, NULL, d.type, d.cookie);
	lose_link(f, e, &d.oid, dir);
	return e;
}

struct nfs4r_entry *e_rename(struct fx *f, nfs4r_server_id log, const struct nfs4r_oid *dir, const char *name,
			     const struct nfs4r_oid *dir2, const char *name2)
{
	struct nfs4r_entry *e = e_new(f, log);
	bool same = nfs4r_oid_eq(dir, dir2);
	struct nfs4r_part *p = e_part(f, e, dir, NFS4R_EFF_NAMES);
	struct nfs4r_dirent d, old;
	struct nfs4r_name n2;
	bool replaced;

	e->op = NFS4R_OP_RENAME;
	find(f, dir, name, &d);
	assert_true(nfs4r_name_set(&n2, name2, strlen(name2)));
	replaced = nfs4r_store_lookup(f->s, dir2, &n2, &old);
	assert_true(nfs4r_part_names(p, same ? 2 : 1));
	e_name(p, 0, name, NULL, d.type, d.cookie);
	if (!same) {
		p = e_part(f, e, dir2, NFS4R_EFF_NAMES);
		assert_true(nfs4r_part_names(p, 1));
	}
	e_name(p, same, name2, &d.oid, d.type, replaced ? old.cookie : cookie_for(f, dir2, name2));
	p = e_part(f, e, &d.oid, NFS4R_EFF_PARENT);
	p->parent = *dir2;
	p->parent_from = *dir;
	if (replaced)
		lose_link(f, e, &old.oid, dir2);
	return e;
}

struct nfs4r_entry *e_write(struct fx *f, nfs4r_server_id log, const struct nfs4r_oid *obj)
{
	struct nfs4r_entry *e = e_new(f, log);
	struct nfs4r_part *p = e_part(f, e, obj, NFS4R_EFF_WRITE);

	e->op = NFS4R_OP_WRITE;
	p->mtime = p->ctime;
	p->off = f->clock;
	p->len = 100;
	e->has_payload = true;
	return e;
}

struct nfs4r_entry *e_locks(struct fx *f, nfs4r_server_id log, const struct nfs4r_oid *obj, uint32_t n, uint64_t first)
{
	struct nfs4r_entry *e = e_new(f, log);
	struct nfs4r_part *p = e_part(f, e, obj, NFS4R_EFF_LOCKS);

	e->op = NFS4R_OP_LOCK;
	assert_true(nfs4r_part_locks(p, n));
	for (uint32_t i = 0; i < n; i++) {
		struct nfs4r_file_lock *l = &p->locks[i];

		l->lock.owner = (struct nfs4r_lock_owner){ { first + i, 1 }, { 2, first } };
		l->lock.type = first % 2 ? NFS4R_LOCK_WRITE : NFS4R_LOCK_READ;
		l->lock.start = 10 * i;
		l->lock.last = i + 1 < n ? 10 * i + 9 : UINT64_MAX;
		l->holder = log;
		l->inc = 1000 + first;
		l->n = f->clock;
	}
	return e;
}

void commit(struct fx *f, struct nfs4r_entry *e)
{
	enum nfs4r_status st = nfs4r_store_commit(f->s, e, e->log == f->cfg.self, NULL, 0);

	if (st != NFS4R_OK)
		fail_msg("commit of %u:%lu: %s", e->log, (unsigned long)e->lsn, nfs4r_status_str(st));
	nfs4r_entry_put(e);
}

void both(struct fx *f, struct model *m, struct nfs4r_entry *e)
{
	model_apply(m, e);
	commit(f, e);
}

struct nfs4r_oid mk(struct fx *f, const struct nfs4r_oid *dir, const char *name, uint32_t type)
{
	struct nfs4r_oid oid;

	commit(f, e_create(f, f->cfg.self, dir, name, type, &oid));
	return oid;
}

struct nfs4r_put put_row(const char *key, const char *val)
{
	struct nfs4r_put p = { .key_len = strlen(key), .val_len = val ? strlen(val) : 0, .del = !val };

	memcpy(p.key, key, p.key_len);
	memcpy(p.val, val ? val : "", p.val_len);
	return p;
}

/* ---- random changes ----------------------------------------------------------- */

uint64_t rnd(uint64_t *rng)
{
	*rng ^= *rng << 13;
	*rng ^= *rng >> 7;
	*rng ^= *rng << 17;
	return *rng;
}

/* A directory and one name in it, chosen by walking down at random. */
static bool random_name(struct fx *f, uint64_t *rng, struct nfs4r_oid *dir, struct nfs4r_dirent *out)
{
	struct nfs4r_dirent d[32];
	struct nfs4r_oid at = f->root;
	uint32_t n;

	do {
		*dir = at;
		n = nfs4r_store_readdir(f->s, dir, 0, d, 32);
		if (!n)
			return false;
		*out = d[rnd(rng) % n];
		at = out->oid;
	} while (out->type == NFS4R_TYPE_DIR && rnd(rng) % 3);
	return true;
}

static struct nfs4r_entry *random_rename(struct fx *f, uint64_t *rng, nfs4r_server_id log,
					 const struct nfs4r_oid *dir, const struct nfs4r_dirent *d,
					 const struct nfs4r_oid *dir2, const char *to)
{
	struct nfs4r_dirent old;
	struct nfs4r_name n;

	nfs4r_name_set(&n, to, strlen(to));
	/* Onto a directory, or onto another name of the same object: not an entry. */
	if (nfs4r_store_lookup(f->s, dir2, &n, &old) &&
	    (old.type == NFS4R_TYPE_DIR || nfs4r_oid_eq(&old.oid, &d->oid)))
		return NULL;
	return e_rename(f, log, dir, d->name.s, dir2, to);
}

struct nfs4r_entry *random_entry(struct fx *f, uint64_t *rng)
{
	struct nfs4r_oid dir = f->root, dir2 = f->root, made;
	struct nfs4r_dirent d, d2;
	nfs4r_server_id log = rnd(rng) % 4 ? 1 : 2;
	struct nfs4r_row row;
	char name[16];
	bool some = random_name(f, rng, &dir, &d), other = random_name(f, rng, &dir2, &d2);
	uint64_t what = rnd(rng) % 10;

	snprintf(name, sizeof(name), "n%lu", (unsigned long)(rnd(rng) % 40));
	if (!some || what < 4) {
		struct nfs4r_name n;

		nfs4r_name_set(&n, name, strlen(name));
		if (nfs4r_store_lookup(f->s, &dir, &n, &d2))
			return NULL;
		return e_create(f, log, &dir, name, rnd(rng) % 3 ? NFS4R_TYPE_FILE : NFS4R_TYPE_DIR, &made);
	}
	nfs4r_store_row(f->s, &d.oid, &row);
	if (f->locks && row.type == NFS4R_TYPE_FILE && what <= 5 && rnd(rng) % 2)
		return e_locks(f, log, &d.oid, rnd(rng) % 4 ? (uint32_t)(rnd(rng) % 5) : 100, rnd(rng) % 1000);
	if (what == 4)
		return e_write(f, log, &d.oid);
	if (what <= 6)
		return row.type == NFS4R_TYPE_DIR && row.nentries ? NULL : e_remove(f, log, &dir, d.name.s);
	if (!other || d.type == NFS4R_TYPE_DIR)
		return NULL;
	if (what == 7) {
		struct nfs4r_name n;

		nfs4r_name_set(&n, name, strlen(name));
		return nfs4r_store_lookup(f->s, &dir2, &n, &d2) ? NULL : e_link(f, log, &d.oid, &dir2, name);
	}
	return random_rename(f, rng, log, &dir, &d, &dir2, rnd(rng) % 2 ? d2.name.s : "moved");
}
