/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * An import (import.c) that is interrupted inside of a file, by a stop, by the end of the process or by a loss of power, and goes on with the next start: in the end all
 * copies are the tree as it was before: names, bytes, extended attributes, modes, times.
 *
 * It is held up at one place: the test has the update lock of what is to be done next. Which object that will be is known, for their numbers ascend.
 */
#include "lib/unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/text.h"
#include "engine/engine_int.h"
#include "machine.h"
#include "steps.h"

#define MIB (1u << 20)
#define FILE_SIZE (5 * MIB / 2)
#define FILES 3
#define SECOND 3 /* number of the second file: the root's only directory is 1 */

enum end {
	STOP = 1,
	KILL,
	POWER,
	POWER_SYNCED
};

struct place { /* where in the second file */
	uint64_t off, len; /* of the update lock; beyond the file: any other than a WRITE waits for it */
	nfs4r_version version; /* that the file has then */
	bool xattrs;
};

#define BEYOND ((uint64_t)1 << 40)

static const struct place nothing_sent = { 0, 1, 1, true }, first_sent = { MIB, 1, 2, true }, bytes_sent = { BEYOND, 1, 4, true }, times_missing = { BEYOND, 1, 4, false };

static int setup(void **state)
{
	struct cluster *c = cluster_new();

	c->machines = true;
	c->lease_ms = 0;
	c->idle_ms = c->checkpoint_ms = 600000; /* no checkpoint but by the test */
	*state = c;
	return 0;
}

/* All of a tree but the root's time and mode, which are each server's own. */
static void list_tree(struct cluster *c, const char *dir, const char *out)
{
	must_shell("cd %s && { find . -mindepth 1 ! -type d -printf '%%p %%y %%m %%n %%s %%T@\\n' | sort; find . -mindepth 1 -type d -printf '%%p %%m %%T@\\n' | sort; "
		   "find . -type f | sort | xargs sha1sum; find . -mindepth 1 | sort | xargs getfattr -d; } >%s/%s",
		   dir, c->dir, out);
}

static void plant(struct cluster *c, const struct place *at)
{
	struct site *s = &c->site[1];

	must_shell("cd %s && mkdir d && chmod 751 d && for i in 1 2 3; do head -c %u /dev/urandom >d/f$i && chmod 64$i d/f$i; done", s->data, FILE_SIZE);
	if (at->xattrs)
		must_shell("cd %s && for i in 1 2 3; do setfattr -n user.k -v v$i d/f$i && setfattr -n user.l -v w$i d/f$i; done", s->data);
	must_shell("cd %s && setfattr -n user.d -v d d && for i in 1 2 3; do touch -d \"2001-02-03 04:05:0$i.789\" d/f$i; done && touch -d '2002-02-03 04:05:06.789' d", s->data);
	list_tree(c, s->data, "before");
	s->import = true;
}

static void number(struct nfs4r_oid *out, uint64_t n)
{
	nfs4r_oid_make(out, 1, 1, n);
}

struct block {
	struct cluster *c;
	struct op_locks locks;
	struct nfs4r_engine *eng;
	struct nfs4r_oid oid;
	pthread_t thread;
};

/* The import comes to this place and no further. */
static void begin(struct cluster *c, struct block *b, const struct place *at, uint64_t file)
{
	b->c = c;
	cluster_start(c, 1); /* alone it gets no control, and begins with nothing */
	b->eng = c->site[1].eng;
	number(&b->oid, file);
	b->locks.n = 1;
	b->locks.want[0] = (struct lock_want){ b->oid, false, at->off, at->len };
	engine_locks_take(b->eng->runtime.locks, &b->locks);
	cluster_start(c, 2);
	cluster_start(c, 3);
}

static nfs4r_version version(struct site *s, const struct nfs4r_oid *oid)
{
	struct nfs4r_row row;

	return nfs4r_store_row(s->eng->store, oid, &row) == NFS4R_KNOWN ? row.version : 0;
}

static void wait_place(struct block *b, const struct place *at)
{
	for (int i = 1; i <= SITES; i++) {
		for (int n = 0; n < 2000 && version(&b->c->site[i], &b->oid) < at->version; n++)
			pause_ms(10);
		assert_int_equal(version(&b->c->site[i], &b->oid), at->version);
	}
}

/* A stop waits for the import, which waits for the lock. */
static void *let_go(void *arg)
{
	struct block *b = arg;

	while (!b->eng->door.stopping)
		pause_ms(1);
	engine_locks_drop(b->eng->runtime.locks, &b->locks);
	return NULL;
}

static void interrupt(struct block *b, enum end end)
{
	struct site *s = &b->c->site[1];

	if (end == POWER_SYNCED)
		assert_int_equal(nfs4r_store_sync(s->eng->store, nfs4r_store_position(s->eng->store)), NFS4R_OK);
	assert_int_equal(pthread_create(&b->thread, NULL, let_go, b), 0);
	if (end == STOP) {
		cluster_stop(b->c, 1);
		site_says(s, "import stops with this server", 1);
	} else if (end == KILL) {
		cluster_kill(b->c, 1);
	} else {
		cluster_lose_power(b->c, NFS4R_BIT(1), 0);
	}
	pthread_join(b->thread, NULL);
}

static void go_on(struct cluster *c)
{
	struct site *s = &c->site[1];

	pthread_mutex_lock(&s->lock);
	s->logged[0] = '\0';
	pthread_mutex_unlock(&s->lock);
	cluster_start(c, 1);
	site_says(s, "import is complete", 60);
	cluster_settle(c);
}

static void expect_as_before(struct cluster *c)
{
	for (int i = 1; i <= SITES; i++) {
		list_tree(c, c->site[i].data, "after");
		must_shell("cd %s && diff before after >&2", c->dir);
	}
}

static void interrupted(struct cluster *c, const struct place *at, enum end end)
{
	struct block b;

	plant(c, at);
	begin(c, &b, at, SECOND);
	wait_place(&b, at);
	interrupt(&b, end);
	go_on(c);
	expect_as_before(c);
}

#define AT(place, how)                            \
	static void place##_##how(void **state)   \
	{                                         \
		interrupted(*state, &place, how); \
	}

AT(nothing_sent, STOP)
AT(first_sent, STOP)
AT(bytes_sent, STOP)
AT(times_missing, STOP)
AT(nothing_sent, KILL)
AT(first_sent, KILL)
AT(bytes_sent, KILL)
AT(times_missing, KILL)
AT(first_sent, POWER)
AT(times_missing, POWER)
AT(nothing_sent, POWER_SYNCED)
AT(first_sent, POWER_SYNCED)
AT(bytes_sent, POWER_SYNCED)

/* Import = true was removed from the configuration meanwhile: what was begun is ended, and nothing else. */
static void what_was_begun_is_ended_without_import(void **state)
{
	struct cluster *c = *state;
	struct block b;

	plant(c, &first_sent);
	begin(c, &b, &first_sent, SECOND);
	wait_place(&b, &first_sent);
	interrupt(&b, KILL);
	c->site[1].import = false;
	cluster_start(c, 1);
	site_says(&c->site[1], "import is complete", 60);
	for (int i = 2; i <= SITES; i++) {
		for (int n = 0; n < 1000 && version(&c->site[i], &b.oid) != version(&c->site[1], &b.oid); n++)
			pause_ms(10);
		must_shell("cd %s/d && for f in f*; do cmp $f %s/d/$f || exit 1; done && test $(ls | wc -l) -lt 4", c->site[i].data, c->site[1].data);
	}
}

static void expect_begins(struct site *s, const struct nfs4r_oid *f, const char *want)
{
	char got[20];
	uint32_t len = (uint32_t)strlen(want);

	assert_int_equal(site_read(s, f, 0, got, &len), NFS4R_OK);
	assert_memory_equal(got, want, strlen(want));
}

/* What a client made of the file meanwhile stays, and so does the time of that. So it is with a file that was taken in long ago. */
static void what_clients_did_stays(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid first;
	struct nfs4r_attrs a;
	struct block b;

	plant(c, &first_sent);
	begin(c, &b, &first_sent, SECOND);
	wait_place(&b, &first_sent);
	number(&first, SECOND - 1);
	write_text(&c->site[2], &b.oid, "a client's");
	write_text(&c->site[3], &first, "another's");
	assert_int_equal(site_setxattr(&c->site[2], &first, "user.k", "a client's"), NFS4R_OK);
	interrupt(&b, KILL);
	go_on(c);
	for (int i = 0; i < 2; i++) { /* once more when all is done: nothing is left to do */
		expect_begins(&c->site[1], &b.oid, "a client's");
		expect_begins(&c->site[2], &first, "another's");
		assert_int_equal(site_getattr(&c->site[2], i ? &first : &b.oid, &a), NFS4R_OK);
		assert_true(a.mtime / 1000000000 > 1500000000);
		cluster_stop(c, 1);
		go_on(c);
		site_says(&c->site[1], "0 objects, 0 bytes", 1);
	}
}

/* ---- clients meanwhile ---- */

static struct meddler { /* a client at the moments after the import has looked at something; on its thread, so nothing else happens meanwhile */
	struct site *s;
	struct nfs4r_oid d;
	struct stat seen; /* what is renamed when it was seen */
	bool busy;
	int readdirs;
	unsigned failed;
} meddler;

static void did(enum nfs4r_status st)
{
	meddler.failed += st != NFS4R_OK;
}

static bool is_handle_of(const struct nfs4r_lhandle *h, const struct stat *st)
{
	return st->st_ino && h->len == sizeof(st->st_ino) && memcmp(h->b, &st->st_ino, sizeof(st->st_ino)) == 0;
}

static void begin_watched(struct cluster *c, void (*heard)(struct site *s, const char *text), dirlops_watch_fn watch)
{
	struct site *s = &c->site[1];

	meddler = (struct meddler){ .s = s };
	s->import = true;
	site_heard(s, heard);
	cluster_start(c, 1);
	dirlops_watch(s->ops, watch, &meddler);
	cluster_start(c, 2);
	cluster_start(c, 3);
}

/* All of it came, and nothing counts as begun any more. */
static void expect_complete(struct cluster *c)
{
	struct site *s = &c->site[1];

	site_says(s, "import is complete", 20);
	site_heard(s, NULL);
	dirlops_watch(s->ops, NULL, NULL);
	assert_int_equal(meddler.failed, 0);
	pthread_mutex_lock(&s->eng->lock);
	assert_false(engine_import_any_open(s->eng));
	pthread_mutex_unlock(&s->eng->lock);
	cluster_settle(c);
}

static void removes_the_first(struct site *s, const char *text)
{
	struct nfs4r_oid root = site_root(s);

	if (strstr(text, "importing: 1 objects"))
		did(site_remove(s, &root, "f"));
}

/* It is known to all, and before a byte of it is sent it is gone. */
static void a_file_that_is_deleted_at_once(void **state)
{
	struct cluster *c = *state;

	must_shell("cd %s && head -c %u /dev/urandom >f && setfattr -n user.k -v v f", c->site[1].data, FILE_SIZE);
	begin_watched(c, removes_the_first, NULL);
	expect_complete(c);
	expect_shell("", "find %s %s %s -name f", c->site[1].data, c->site[2].data, c->site[3].data);
}

static void makes_four_names(struct site *s, const char *text)
{
	static const char *const names[] = { "c1", "c2", "c3", "c4" };
	struct nfs4r_oid root = site_root(s);
	char path[200];

	if (!strstr(text, "importing: 1 objects"))
		return;
	did(site_lookup(s, &root, "d", &meddler.d));
	for (int i = 0; i < 4; i++)
		did(site_make(s, NFS4R_OP_CREATE, &meddler.d, names[i], NULL));
	snprintf(path, sizeof(path), "%s/d/c3", s->data);
	meddler.failed += stat(path, &meddler.seen) != 0;
	meddler.readdirs = 1;
}

static void changes_names(void *arg, const char *call, const struct nfs4r_lhandle *h)
{
	struct meddler *m = arg;

	if (!m->readdirs || m->busy || !pthread_equal(pthread_self(), m->s->eng->start.import_thread))
		return;
	m->busy = true;
	if (strcmp(call, "readlink") == 0) { /* before it is taken in */
		did(site_rename(m->s, &m->d, "c4", &m->d, "s"));
	} else if (strcmp(call, "readdir") == 0 && ++m->readdirs == 2) {
		did(site_remove(m->s, &m->d, "c1"));
		did(site_rename(m->s, &m->d, "c2", &m->d, "b2"));
	} else if (strcmp(call, "readdir") == 0) {
		did(site_remove(m->s, &m->d, "e"));
	} else if (is_handle_of(h, &m->seen)) { /* it was found under its name, which means nothing any more */
		m->seen.st_ino = 0;
		did(site_rename(m->s, &m->d, "c3", &m->d, "b3"));
	}
	m->busy = false;
}

/* Between the look into a directory and what is done about a name in it. */
static void names_that_change_meanwhile(void **state)
{
	struct cluster *c = *state;

	must_shell("cd %s && mkdir d d/e && echo f1 >d/f1 && echo f2 >d/f2 && ln -s ../somewhere d/s", c->site[1].data);
	begin_watched(c, makes_four_names, changes_names);
	expect_complete(c);
	for (int i = 1; i <= SITES; i++)
		expect_shell("b2 b3 f1 f2 s ", "ls %s/d | tr '\\n' ' '", c->site[i].data);
	assert_int_equal(meddler.readdirs, 3);
}

static void moves_it_up(void *arg, const char *call, const struct nfs4r_lhandle *h)
{
	struct meddler *m = arg;
	struct nfs4r_oid root = site_root(m->s), d;

	if (m->busy || strcmp(call, "readdir") != 0 || !m->s->eng || !pthread_equal(pthread_self(), m->s->eng->start.import_thread))
		return;
	m->busy = true;
	if (++m->readdirs == 1) {
		did(site_lookup(m->s, &root, "d", &d));
		did(site_rename(m->s, &d, "sub", &root, "sub"));
	}
	m->busy = false;
}

/* An earlier start had not listed all of it; it comes to where this one has looked already, from where it has not. */
static void a_directory_that_moves_is_not_missed(void **state)
{
	static const struct place at = { 0, 1, 1, false };
	struct cluster *c = *state;
	struct site *s = &c->site[1];
	struct block b;

	must_shell("cd %s && mkdir -p d/sub && for i in 1 2 3; do echo $i >d/sub/f$i; done", s->data);
	s->import = true;
	begin(c, &b, &at, 4); /* d, sub, one of its files, the second */
	wait_place(&b, &at);
	interrupt(&b, KILL);
	pthread_mutex_lock(&s->lock);
	s->logged[0] = '\0';
	pthread_mutex_unlock(&s->lock);
	meddler = (struct meddler){ .s = s };
	cluster_stop(c, 2); /* alone it gets no control, and begins with nothing */
	cluster_stop(c, 3);
	cluster_start(c, 1);
	dirlops_watch(s->ops, moves_it_up, &meddler);
	cluster_start(c, 2);
	cluster_start(c, 3);
	expect_complete(c);
	for (int i = 1; i <= SITES; i++)
		expect_shell("f1 f2 f3 ", "ls %s/sub | tr '\\n' ' '", c->site[i].data);
}

/* ---- holes ---- */

#define HOLE 64 /* MiB */
#define IN_IT (10u << 20)

static void expect_sparse(struct cluster *c, const char *names)
{
	for (int i = 1; i <= SITES; i++)
		must_shell("cd %s && for f in %s; do test $(stat -c %%b $f) -lt 2048 && cmp $f %s/$f || exit 1; done", c->site[i].data, names, c->site[1].data);
}

static void holes_stay_holes(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[1];

	must_shell("cd %s && for f in none middle end begin both; do truncate -s %uM $f; done && echo middle | dd of=middle conv=notrunc status=none bs=1 seek=40000000 && "
		   "echo end | dd of=end conv=notrunc status=none bs=1 seek=%u && echo begin | dd of=begin conv=notrunc status=none && head -c 300000 /dev/urandom | dd of=both conv=notrunc status=none && "
		   "echo both | dd of=both conv=notrunc status=none bs=1 seek=%u && touch -d '2001-02-03 04:05:06.789' *",
		   s->data, HOLE, HOLE * MIB - 4, HOLE * MIB - 9);
	list_tree(c, s->data, "before");
	s->import = true;
	for (int i = 1; i <= SITES; i++)
		cluster_start(c, i);
	site_says(s, "import is complete", 60);
	cluster_settle(c);
	expect_as_before(c);
	expect_sparse(c, "none middle end begin both");
}

/* A client has written into a hole when the machine loses power: the others have that and this server, whose copy is the one that counts, does not. */
static void a_hole_that_came_back(void **state)
{
	static const struct place at = { BEYOND, 1, 2, false }, written = { .version = 3 };
	struct cluster *c = *state;
	struct site *s = &c->site[1];
	struct block b;

	must_shell("cd %s && truncate -s %uM f && echo middle | dd of=f conv=notrunc status=none bs=1 seek=40000000 && setfattr -n user.k -v v f && "
		   "touch -d '2001-02-03 04:05:06.789' f",
		   s->data, HOLE);
	s->import = true;
	begin(c, &b, &at, 1);
	wait_place(&b, &at);
	assert_int_equal(site_write(s, &b.oid, IN_IT, "a client's", 10), NFS4R_OK);
	wait_place(&b, &written);
	interrupt(&b, POWER_SYNCED);
	expect_shell("", "head -c %u %s/f | tail -c 10 | tr -d '\\0'", IN_IT + 10, s->data);
	go_on(c);
	expect_sparse(c, "f");
	expect_shell("middle\n", "tail -c +40000001 %s/f | head -c 7", c->site[2].data);
}

/* ---- what is odd ---- */

/* Every kind of object, with what it has besides bytes. The root's own attributes count, too. */
static void plant_odd(struct site *s)
{
	must_shell("cd %s && mkdir d d/deeper && echo f >d/f && mkfifo d/p && mknod d/c c 1 3 && mknod d/b b 7 9 && ln -s nowhere d/l && ln d/l d/deeper/l2 && ln d/c d/deeper/c2 && "
		   "echo cap >d/cap && : >'d/new\nline' && printf x >\"d/$(printf '\\377\\n\\\\')\" && "
		   "for o in d/p d/c d/b d/l; do chown -h 12:13 $o; setfattr -h -n trusted.odd -v odd $o; touch -h -d '2001-02-03 04:05:06.123456789' $o; done",
		   s->data);
	must_shell("cd %s && chmod 4711 d/f && setfattr -n security.capability -v 0x0100000200040000000000000000000000000000 d/cap && setfattr -n user.e -v '' d/f && "
		   "setfacl -m u:77:rx,m::rwx d/f && setfacl -d -m u:77:rwx d/deeper && touch -d '2002-02-03 04:05:06.789' d/f d/cap d/deeper d && chmod 2751 . && setfattr -n user.root -v r .",
		   s->data);
}

/* With what only root sees, and of links themselves; the root's own mode, too. */
static void list_all(struct cluster *c, const char *dir, const char *out)
{
	must_shell("cd %s && { stat -c '%%a %%u %%g' .; find . -mindepth 1 -printf '%%p %%y %%m %%U %%G %%T@ %%l\n' | sort; find . -mindepth 1 ! -type d -printf '%%p %%n %%s\n' | sort; "
		   "find . -type b -o -type c | sort | xargs stat -c '%%n %%t %%T'; find . -type f -print0 | sort -z | xargs -0 sha1sum; "
		   "find . -print0 | sort -z | xargs -0 getfattr -h -d -m '^(user|trusted|security|system[.]posix)' -e hex | grep -v '^trusted[.]nfs4r[.]'; } >%s/%s",
		   dir, c->dir, out);
}

static void expect_all_as_before(struct cluster *c)
{
	for (int i = 1; i <= SITES; i++) {
		list_all(c, c->site[i].data, "after");
		must_shell("cd %s && diff before after >&2", c->dir);
	}
}

/* The root's times are what comes last of all. */
static void wait_last(struct cluster *c)
{
	struct nfs4r_oid root = site_root(&c->site[1]);

	for (int i = 2; i <= SITES; i++) {
		for (int n = 0; n < 2000 && version(&c->site[i], &root) != version(&c->site[1], &root); n++)
			pause_ms(10);
		assert_int_equal(version(&c->site[i], &root), version(&c->site[1], &root));
	}
}

static void import_all(struct cluster *c)
{
	c->site[1].import = true;
	for (int i = 1; i <= SITES; i++)
		cluster_start(c, i);
	site_says(&c->site[1], "import is complete", 60);
	wait_last(c);
	cluster_settle_of(c, NFS4R_BIT(2) | NFS4R_BIT(3)); /* what is skipped is at the first one only */
}

/* Log 4.9. And then a server with new disks gets it all from another one (log 8.3). */
static void everything_that_linux_has(void **state)
{
	struct cluster *c = *state;

	c->lease_ms = 1000;
	plant_odd(&c->site[1]);
	list_all(c, c->site[1].data, "before");
	import_all(c);
	expect_all_as_before(c);
	cluster_stop(c, 3);
	must_shell("rm -rf %s %s && mkdir %s %s", c->site[3].data, c->site[3].store, c->site[3].data, c->site[3].store);
	cluster_start(c, 3);
	site_says(&c->site[3], "resync complete", 60);
	cluster_settle(c);
	expect_all_as_before(c);
}

static struct {
	struct nfs4r_lops in;
	char grows[200];
	int grown;
} odd;

static enum nfs4r_status odd_lookup(void *ctx, const struct nfs4r_lhandle *dir, const char *name, struct nfs4r_lhandle *out)
{
	return strcmp(name, "broken") == 0 ? NFS4R_IO : odd.in.lookup(ctx, dir, name, out);
}

static enum nfs4r_status odd_is_mount(void *ctx, const struct nfs4r_lhandle *dir, const char *name, bool *yes)
{
	*yes = strcmp(name, "mounted") == 0;
	return NFS4R_OK;
}

static enum nfs4r_status odd_make_mutable(void *ctx, const struct nfs4r_lhandle *obj, uint32_t *had)
{
	struct nfs4r_attrs a = { 0 };

	*had = odd.in.getattr(ctx, obj, &a) == NFS4R_OK && a.mode == 0604 ? NFS4R_WAS_IMMUTABLE : 0;
	return a.mode == 0602 ? NFS4R_PERM : NFS4R_OK;
}

/* An attribute that the file system does not give: the rest of the object comes. */
static enum nfs4r_status odd_getxattr(void *ctx, const struct nfs4r_lhandle *obj, const char *name, void *val, uint32_t *len)
{
	return strcmp(name, "user.broken") == 0 ? NFS4R_IO : odd.in.getxattr(ctx, obj, name, val, len);
}

/* Somebody writes into the directory, without the volume, as soon as the size was looked at. */
static enum nfs4r_status odd_seek(void *ctx, const struct nfs4r_lhandle *obj, uint64_t off, bool hole, uint64_t *result, bool *eof)
{
	struct nfs4r_attrs a = { 0 };

	if (odd.in.getattr(ctx, obj, &a) == NFS4R_OK && a.mode == 0601 && odd.grown++ < 2)
		must_shell("echo more >>%s", odd.grows);
	return odd.in.seek(ctx, obj, off, hole, result, eof);
}

static void be_odd(struct nfs4r_lops *table)
{
	table->lookup = odd_lookup;
	table->is_mount = odd_is_mount;
	table->make_mutable = odd_make_mutable;
	table->getxattr = odd_getxattr;
	table->seek = odd_seek;
}

static void with_lops(void (*change)(struct nfs4r_lops *table), void (*fn)(struct cluster *c), struct cluster *c)
{
	struct nfs4r_lops *table = (struct nfs4r_lops *)(uintptr_t)power_table();

	odd.in = *table;
	odd.grown = 0;
	change(table);
	fn(c);
	for (int i = 1; i <= SITES; i++)
		cluster_stop(c, i);
	*table = odd.in;
}

static uint64_t noted(struct site *s, enum import_note kind)
{
	pthread_mutex_lock(&s->eng->lock);
	uint64_t n = s->eng->start.import.noted[kind];
	pthread_mutex_unlock(&s->eng->lock);
	return n;
}

static void expect_notes(struct site *s, enum import_note kind, const char *file, const char *want)
{
	expect_shell(want, "cut -f1 %s/%s | sort | tr '\n' ' '; grep -c . %s/%s | tr -d '\n'", s->store, file, s->store, file);
	assert_int_equal(noted(s, kind), want[strlen(want) - 1] - '0');
}

/* It was sent, and that was said; the last look at the end of the import finds it changed once more. */
static void grows_again(struct site *s, const char *text)
{
	if (strstr(text, "/z/grows is changed") && odd.grown++ < 100) {
		must_shell("echo more >>%s", odd.grows);
		odd.grown = 100;
	}
}

static void changes_twice(struct cluster *c)
{
	struct site *s = &c->site[1];

	must_shell("cd %s && mkdir z && echo begun >z/grows && chmod 601 z/grows", s->data);
	snprintf(odd.grows, sizeof(odd.grows), "%s/z/grows", s->data);
	site_heard(s, grows_again);
	import_all(c);
	site_heard(s, NULL);
	for (int i = 1; i <= SITES; i++)
		expect_shell("begun more more more ", "tr '\n' ' ' <%s/z/grows", c->site[i].data);
	for (int start = 1; start <= 2; start++) {
		expect_shell("2", "grep -c . %s/import-changed.txt | tr -d '\n'", s->store);
		assert_int_equal(noted(s, IMPORT_CHANGED), 1);
		cluster_stop(c, 1);
		cluster_start(c, 1);
		site_says(s, "0 objects, 0 bytes", 60);
	}
}

static void skips(struct cluster *c)
{
	struct site *s = &c->site[1];

	must_shell("cd %s && mkdir a a/mounted z && echo in >a/mounted/in && echo b >a/broken && echo x >\"a/$(printf 'new\\nline')\" && mv \"a/$(printf 'new\\nline')\" z/ && "
		   "echo sealed >z/sealed && chmod 602 z/sealed && echo i >z/immutable && chmod 604 z/immutable && echo attr >z/attr && setfattr -n user.broken -v v z/attr && "
		   "setfattr -n user.good -v v z/attr && echo begun >z/grows && chmod 601 z/grows",
		   s->data);
	snprintf(odd.grows, sizeof(odd.grows), "%s/z/grows", s->data);
	import_all(c);
	expect_notes(s, IMPORT_SKIPPED, "import-skipped.txt", "/a/broken /a/mounted /z/sealed 3");
	expect_notes(s, IMPORT_CHANGED, "import-changed.txt", "/z/attr /z/grows /z/immutable 3");
	site_says(s, "/a/mounted is skipped", 1);
	for (int i = 1; i <= SITES; i++) {
		expect_shell("begun more more ", "tr '\n' ' ' <%s/z/grows", c->site[i].data);
		must_shell("cd %s/z && test -e immutable && test -e \"$(printf 'new\\nline')\" && getfattr -n user.good attr >/dev/null 2>&1", c->site[i].data);
		if (i != 1)
			must_shell("cd %s && test ! -e a/mounted && test ! -e a/broken && test ! -e z/sealed && ! getfattr -n user.broken z/attr >/dev/null 2>&1", c->site[i].data);
	}
	cluster_stop(c, 1); /* once more: it is met again, and listed once */
	cluster_start(c, 1);
	site_says(s, "0 objects, 0 bytes", 60);
	expect_notes(s, IMPORT_SKIPPED, "import-skipped.txt", "/a/broken /a/mounted /z/sealed 3");
	expect_notes(s, IMPORT_CHANGED, "import-changed.txt", "/z/attr /z/grows /z/immutable 3");
}

/* Log 4.9: each is said, listed and counted, and all the rest comes. */
static void odd_objects_are_skipped_and_said(void **state)
{
	with_lops(be_odd, skips, *state);
}

/* Two lines, one object; after a restart, too. */
static void a_file_that_changes_twice_counts_once(void **state)
{
	with_lops(be_odd, changes_twice, *state);
}

/* As FSAL_VFS does it: what it says of an object has its ACL, which travels as an extended attribute all the same. */
static enum nfs4r_status getattr_with_acl(void *ctx, const struct nfs4r_lhandle *obj, struct nfs4r_attrs *out)
{
	enum nfs4r_status st = odd.in.getattr(ctx, obj, out);

	if (st == NFS4R_OK)
		out->acl = nfs4r_buf_copy("acl", 3);
	return st;
}

static void tell_acls(struct nfs4r_lops *table)
{
	table->getattr = getattr_with_acl;
}

static void acls_beside(struct cluster *c)
{
	struct site *s = &c->site[1];
	struct nfs4r_oid root;
	struct nfs4r_attrs mode = { .mask = NFS4R_ATTR_MODE, .mode = 0640, .acl = nfs4r_buf_copy("acl", 3) };

	plant_odd(s);
	list_all(c, s->data, "before");
	import_all(c);
	expect_all_as_before(c);
	cluster_kill(c, 1); /* what it has is in its journal */
	cluster_start(c, 1);
	cluster_settle(c);
	expect_all_as_before(c);
	root = site_root(s);
	assert_int_equal(site_setattr(s, &root, &mode), NFS4R_OK); /* so it is with an update of a client */
	cluster_settle(c);
	for (int i = 1; i <= SITES; i++)
		expect_shell("640\n", "stat -c %%a %s", c->site[i].data);
}

/* Log 3.14: no server could read an entry with an ACL that it does not set, nor the one that wrote it its own journal. */
static void an_acl_that_is_not_set_is_in_no_entry(void **state)
{
	with_lops(tell_acls, acls_beside, *state);
}

/* A path is one line, whatever is in it. */
static void paths_are_escaped(void **state)
{
	static const char *const pairs[][2] = { { "/a b", "/a b" }, { "/new\nline\t\\", "/new\\012line\\011\\134" }, { "/\xc3\xa4\xff\xc3", "/\xc3\xa4\\377\\303" }, { "/\xf0\x9d\x84\x9e", "/\xf0\x9d\x84\x9e" } };

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		char *got = nfs4r_text_name_new(pairs[i][0]);

		assert_string_equal(got, pairs[i][1]);
		free(got);
	}
}

/* ---- its operations ---- */

struct request {
	struct nfs4r_engine *eng;
	struct nfs4r_op op;
	_Atomic bool ended;
};

static void *update(void *arg)
{
	struct request *r = arg;

	nfs4r_update(r->eng, &r->op, NULL, NULL);
	r->ended = true;
	return NULL;
}

/* Nobody would recognise a retry, and their execution needs what they came with: they wait for as long as it takes (parked.c). */
static void its_operations_are_not_parked(void **state)
{
	struct cluster *c = *state;
	struct request r = { .op = { .type = NFS4R_OP_SETXATTR, .here_only = true } };
	struct nfs4r_oid found;
	pthread_t t;

	for (int i = 1; i <= SITES; i++)
		cluster_start(c, i);
	r.eng = c->site[1].eng;
	r.op.obj = site_root(&c->site[1]);
	r.op.text = strdup("user.k");
	r.op.data = nfs4r_buf_copy("v", 1);
	assert_int_equal(site_lookup(&c->site[1], &r.op.obj, "nothing", &found), NFS4R_NOENT);
	site_mute(&c->site[3], true); /* its ack is awaited */
	assert_int_equal(pthread_create(&t, NULL, update, &r), 0);
	pause_ms(8500);
	bool early = r.ended;
	site_mute(&c->site[3], false);
	pthread_join(t, NULL);
	assert_false(early);
	assert_int_equal(r.op.status, NFS4R_OK);
	assert_string_equal(r.op.text, "user.k");
	assert_int_equal(r.op.data->len, 1);
	nfs4r_op_fini(&r.op);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, cluster_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nothing_sent_STOP),
		T(first_sent_STOP),
		T(bytes_sent_STOP),
		T(times_missing_STOP),
		T(nothing_sent_KILL),
		T(first_sent_KILL),
		T(bytes_sent_KILL),
		T(times_missing_KILL),
		T(first_sent_POWER),
		T(times_missing_POWER),
		T(nothing_sent_POWER_SYNCED),
		T(first_sent_POWER_SYNCED),
		T(bytes_sent_POWER_SYNCED),
		T(what_was_begun_is_ended_without_import),
		T(what_clients_did_stays),
		T(a_file_that_is_deleted_at_once),
		T(names_that_change_meanwhile),
		T(a_directory_that_moves_is_not_missed),
		T(holes_stay_holes),
		T(everything_that_linux_has),
		T(odd_objects_are_skipped_and_said),
		T(a_file_that_changes_twice_counts_once),
		T(an_acl_that_is_not_set_is_in_no_entry),
		cmocka_unit_test(paths_are_escaped),
		T(a_hole_that_came_back),
		T(its_operations_are_not_parked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
