/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * See platter.h. A sync takes what was written until it began, and what another one has on its way; what comes while it runs is for the next one. A sync of a directory takes its names, that of a
 * file does not (file systems may do more). Names come and go on the platter in the order in which they did in memory. The two directories themselves are there
 * as soon as they were made. What is locked only (lock, lock.mdb) is not followed.
 */
#include "sim.h"

#include "platter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define SECTOR 512u
#define FDS 4096
#define NAME 32
#define DIRS 2
#define DIRTY 1
#define WAY 2
#define PLACE "/dev/shm/nfs4r-sim"

struct inode {
	uint32_t refs;
	uint8_t *on; /* on the platter */
	uint64_t on_size, on_cap;
	uint64_t size; /* as it is read */
	uint8_t *dirty; /* a byte for each sector: DIRTY, or on its WAY to the platter */
	uint64_t *given; /* for each sector the sync that brought it */
	uint64_t *taken; /* and the newest one that has it, or had it, on its way */
	uint64_t sectors;
	uint64_t syncs, sized; /* begun; the one that brought the size */
	char path[128]; /* "": it has no name any more */
	int rd; /* to read it, -1: not open */
};

struct link_to {
	char name[NAME];
	struct inode *ino;
};

struct change { /* of a directory; not on the platter yet */
	bool gone;
	struct link_to l;
};

struct names {
	uint32_t n, cap;
	struct link_to *l;
};

struct directory {
	char path[72];
	struct names now, on;
	uint32_t n, cap;
	struct change *changes;
};

struct platter {
	struct server *v;
	struct directory dirs[DIRS]; /* the store's; lmdb */
	uint32_t die_in;
	bool dead, power, full, was_full, break_sync;
	uint64_t first; /* position in the journal of the first write; UINT64_MAX: none yet */
};

struct image {
	uint32_t n[DIRS];
	struct {
		char name[NAME];
		uint64_t size;
		uint8_t *bytes;
	} * files[DIRS];
};

static struct {
	struct platter *p;
	struct inode *ino;
	struct directory *dir;
	bool sync; /* O_DSYNC */
} fds[FDS];
static struct platter *platters[SERVERS_MAX + 1];

/* ---- the real calls ---- */

static int raw_open(const char *path, int flags, mode_t mode)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static void raw_close(int fd)
{
	syscall(SYS_close, fd);
}

/* ---- files and names ---- */

static void inode_put(struct inode *i)
{
	if (--i->refs)
		return;
	if (i->rd >= 0)
		raw_close(i->rd);
	free(i->on);
	free(i->dirty);
	free(i->given);
	free(i->taken);
	free(i);
}

static void soil(struct inode *i, uint64_t from, uint64_t to)
{
	uint64_t need = (to + SECTOR - 1) / SECTOR;

	if (need > i->sectors) {
		i->dirty = realloc(i->dirty, need);
		memset(i->dirty + i->sectors, 0, need - i->sectors);
		i->given = realloc(i->given, need * sizeof(*i->given));
		memset(i->given + i->sectors, 0, (need - i->sectors) * sizeof(*i->given));
		i->taken = realloc(i->taken, need * sizeof(*i->taken));
		memset(i->taken + i->sectors, 0, (need - i->sectors) * sizeof(*i->taken));
		i->sectors = need;
	}
	if (to > from)
		memset(i->dirty + from / SECTOR, DIRTY, need - from / SECTOR);
}

static void on_resize(struct inode *i, uint64_t size)
{
	if (size > i->on_cap) {
		i->on_cap = size + size / 2 + 4096;
		i->on = realloc(i->on, i->on_cap);
	}
	if (size > i->on_size)
		memset(i->on + i->on_size, 0, size - i->on_size);
	i->on_size = size;
}

static struct link_to *find(struct names *d, const char *name)
{
	for (uint32_t i = 0; i < d->n; i++)
		if (!strcmp(d->l[i].name, name))
			return &d->l[i];
	return NULL;
}

static void name_add(struct names *d, const char *name, struct inode *ino)
{
	if (d->n == d->cap) {
		d->cap = d->cap ? d->cap * 2 : 8;
		d->l = realloc(d->l, d->cap * sizeof(*d->l));
	}
	snprintf(d->l[d->n].name, NAME, "%s", name);
	d->l[d->n++].ino = ino;
	ino->refs++;
}

static void name_drop(struct names *d, const char *name)
{
	struct link_to *l = find(d, name);

	if (!l)
		return;
	inode_put(l->ino);
	*l = d->l[--d->n];
}

static void note_change(struct directory *d, bool gone, const char *name, struct inode *ino)
{
	struct change *c;

	if (d->n == d->cap) {
		d->cap = d->cap ? d->cap * 2 : 8;
		d->changes = realloc(d->changes, d->cap * sizeof(*d->changes));
	}
	c = &d->changes[d->n++];
	c->gone = gone;
	snprintf(c->l.name, NAME, "%s", name);
	c->l.ino = ino;
	ino->refs++;
}

/* The first @k changes are on the platter now. */
static void settle(struct directory *d, uint32_t k)
{
	for (uint32_t i = 0; i < k; i++) {
		struct change *c = &d->changes[i];

		name_drop(&d->on, c->l.name);
		if (!c->gone)
			name_add(&d->on, c->l.name, c->l.ino);
		inode_put(c->l.ino);
	}
	memmove(d->changes, d->changes + k, (d->n - k) * sizeof(*d->changes));
	d->n -= k;
}

static void names_clear(struct names *d)
{
	while (d->n)
		inode_put(d->l[--d->n].ino);
}

static struct inode *inode_new(const struct directory *d, const char *name)
{
	struct inode *i = calloc(1, sizeof(*i));

	i->rd = -1;
	snprintf(i->path, sizeof(i->path), "%s/%.31s", d->path, name);
	return i;
}

/* ---- content ---- */

static void write_file(const char *path, const uint8_t *p, uint64_t n)
{
	int fd = raw_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	for (uint64_t at = 0; at < n;) {
		ssize_t k = fd < 0 ? -1 : syscall(SYS_pwrite64, fd, p + at, n - at, at);

		if (k <= 0)
			abort();
		at += (uint64_t)k;
	}
	raw_close(fd);
}

static void read_at(struct inode *i, uint8_t *out, uint64_t n, uint64_t at)
{
	ssize_t k = syscall(SYS_pread64, i->rd, out, n, at);

	if (k < 0)
		abort();
	memset(out + k, 0, n - (uint64_t)k);
}

/* ---- what survives ---- */

struct taken { /* by a sync, when it begins */
	uint64_t size, sync;
	uint32_t n;
	uint64_t *at;
	uint8_t *bytes;
};

/* What another sync has on its way, too: this one is not over before that is there. */
static void take(struct inode *i, uint64_t from, uint64_t to, struct taken *t)
{
	uint32_t cap = 0;

	memset(t, 0, sizeof(*t));
	t->size = i->size;
	t->sync = ++i->syncs;
	for (uint64_t k = from / SECTOR; k < i->sectors && k * SECTOR < to; k++) {
		if (!i->dirty[k] || k * SECTOR >= i->size)
			continue;
		if (t->n == cap) {
			cap = cap ? cap * 2 : 16;
			t->at = realloc(t->at, cap * sizeof(*t->at));
			t->bytes = realloc(t->bytes, (size_t)cap * SECTOR);
		}
		t->at[t->n] = k;
		read_at(i, t->bytes + (size_t)t->n++ * SECTOR, SECTOR, k * SECTOR);
		i->dirty[k] = WAY;
		i->taken[k] = t->sync;
	}
}

static void give_sector(struct inode *i, const struct taken *t, uint32_t k)
{
	uint64_t sector = t->at[k], at = sector * SECTOR, n = i->on_size > at ? i->on_size - at : 0;

	if (i->given[sector] > t->sync)
		return;
	if (n)
		memcpy(i->on + at, t->bytes + (size_t)k * SECTOR, n < SECTOR ? n : SECTOR);
	i->given[sector] = t->sync;
	if (i->dirty[sector] == WAY && i->taken[sector] == t->sync)
		i->dirty[sector] = 0; /* else a newer one has newer bytes of it on its way, and who syncs now has to wait for that */
}

/* Syncs of one file may overtake one another: what a later one brought stays. */
static void give(struct inode *i, struct taken *t, bool ok)
{
	if (ok && i->sized < t->sync) {
		on_resize(i, t->size);
		i->sized = t->sync;
	}
	for (uint32_t k = 0; ok && k < t->n; k++)
		give_sector(i, t, k);
	for (uint32_t k = 0; !ok && k < t->n; k++)
		i->dirty[t->at[k]] = DIRTY;
	free(t->at);
	free(t->bytes);
}

/* New content of @i after a loss of power: all, none or some of what was not synced. */
static void tear(struct rng *r, struct inode *i)
{
	static const uint32_t odds[] = { 0, 500, 900, 1000 };
	uint32_t kept = odds[rng_below(r, 4)];
	uint64_t size = i->on_size;
	uint8_t b[SECTOR];

	if (i->path[0] && i->size != i->on_size) {
		if (i->size > size && rng_chance(r, 300))
			size = rng_range(r, size, i->size);
		else if (rng_chance(r, 600))
			size = i->size;
	}
	on_resize(i, size);
	for (uint64_t k = 0; i->path[0] && k < i->sectors && k * SECTOR < size; k++) {
		uint64_t n = size - k * SECTOR;

		if (!i->dirty[k] || !rng_chance(r, kept))
			continue;
		read_at(i, b, SECTOR, k * SECTOR);
		memcpy(i->on + k * SECTOR, b, n < SECTOR ? n : SECTOR);
	}
}

/* Memory is what is on the platter. */
static void reload(struct directory *d)
{
	for (uint32_t i = 0; i < d->now.n; i++) {
		syscall(SYS_unlinkat, AT_FDCWD, d->now.l[i].ino->path, 0);
		d->now.l[i].ino->path[0] = 0;
	}
	names_clear(&d->now);
	for (uint32_t i = 0; i < d->n; i++)
		inode_put(d->changes[i].l.ino);
	d->n = 0;
	for (uint32_t i = 0; i < d->on.n; i++) {
		struct inode *ino = d->on.l[i].ino;

		snprintf(ino->path, sizeof(ino->path), "%s/%s", d->path, d->on.l[i].name);
		write_file(ino->path, ino->on, ino->on_size);
		if (ino->rd >= 0)
			raw_close(ino->rd);
		ino->rd = raw_open(ino->path, O_RDONLY, 0);
		ino->size = ino->on_size;
		if (ino->sectors)
			memset(ino->dirty, 0, ino->sectors);
		name_add(&d->now, d->on.l[i].name, ino);
	}
}

void platter_lose_power(struct platter *p)
{
	struct rng *r = &p->v->sim->rng;

	for (uint32_t i = 0; i < DIRS; i++) {
		struct directory *d = &p->dirs[i];

		settle(d, rng_chance(r, 300) ? 0 : (uint32_t)rng_below(r, d->n + 1));
		for (uint32_t k = 0; k < d->on.n; k++)
			tear(r, d->on.l[k].ino);
		reload(d);
	}
}

void platter_clear(struct platter *p)
{
	for (uint32_t i = DIRS; i-- > 0;) {
		names_clear(&p->dirs[i].on);
		reload(&p->dirs[i]);
	}
}

struct image *platter_image(const struct platter *p)
{
	struct image *m = calloc(1, sizeof(*m));

	for (uint32_t i = 0; i < DIRS; i++) {
		const struct names *on = &p->dirs[i].on;

		m->n[i] = on->n;
		m->files[i] = calloc(on->n + 1, sizeof(*m->files[i]));
		for (uint32_t k = 0; k < on->n; k++) {
			const struct inode *ino = on->l[k].ino;

			snprintf(m->files[i][k].name, NAME, "%s", on->l[k].name);
			m->files[i][k].size = ino->on_size;
			m->files[i][k].bytes = malloc(ino->on_size + 1);
			if (ino->on_size)
				memcpy(m->files[i][k].bytes, ino->on, ino->on_size);
		}
	}
	return m;
}

void platter_put_back(struct platter *p, const struct image *m)
{
	for (uint32_t i = 0; i < DIRS; i++) {
		names_clear(&p->dirs[i].on);
		for (uint32_t k = 0; k < m->n[i]; k++) {
			struct inode *ino = inode_new(&p->dirs[i], m->files[i][k].name);

			on_resize(ino, m->files[i][k].size);
			if (ino->on_size)
				memcpy(ino->on, m->files[i][k].bytes, ino->on_size);
			name_add(&p->dirs[i].on, m->files[i][k].name, ino);
		}
		reload(&p->dirs[i]);
	}
}

void image_free(struct image *m)
{
	for (uint32_t i = 0; m && i < DIRS; i++) {
		for (uint32_t k = 0; k < m->n[i]; k++)
			free(m->files[i][k].bytes);
		free(m->files[i]);
	}
	free(m);
}

/* ---- its life ---- */

static void remove_all(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	char sub[400];

	while (dir && (e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(sub, sizeof(sub), "%s/%s", path, e->d_name);
		if (syscall(SYS_unlinkat, AT_FDCWD, sub, 0))
			remove_all(sub);
	}
	if (dir)
		closedir(dir);
	syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}

void platters_of(int pid)
{
	char path[64];

	snprintf(path, sizeof(path), PLACE ".%d", pid);
	remove_all(path);
}

struct platter *platter_new(struct server *v)
{
	struct platter *p = calloc(1, sizeof(*p));
	char top[48];

	snprintf(top, sizeof(top), PLACE ".%d", getpid());
	syscall(SYS_mkdirat, AT_FDCWD, top, 0700);
	p->v = v;
	snprintf(p->dirs[0].path, sizeof(p->dirs[0].path), "%s/%u", top, v->id);
	snprintf(p->dirs[1].path, sizeof(p->dirs[1].path), "%s/%u/lmdb", top, v->id);
	remove_all(p->dirs[0].path);
	platters[v->id] = p;
	return p;
}

void platter_free(struct platter *p)
{
	char top[48];

	for (uint32_t i = 0; i < DIRS; i++) {
		struct directory *d = &p->dirs[i];

		names_clear(&d->on);
		reload(d);
		free(d->now.l);
		free(d->on.l);
		free(d->changes);
	}
	remove_all(p->dirs[0].path);
	snprintf(top, sizeof(top), PLACE ".%d", getpid());
	syscall(SYS_unlinkat, AT_FDCWD, top, AT_REMOVEDIR); /* with the last */
	platters[p->v->id] = NULL;
	free(p);
}

const char *platter_path(const struct platter *p)
{
	return p->dirs[0].path;
}

void platter_die_in(struct platter *p, uint32_t calls)
{
	p->die_in = calls;
}

void platter_kill(struct platter *p, bool power)
{
	p->dead = true;
	p->power = power;
}

bool platter_is_dead(const struct platter *p)
{
	return p->dead;
}

void platter_revive(struct platter *p)
{
	p->dead = p->power = p->full = p->break_sync = false;
	p->die_in = 0;
}

void platter_set_full(struct platter *p, bool full)
{
	p->full = full;
}

bool platter_was_full(struct platter *p)
{
	bool was = p->was_full;

	p->was_full = false;
	return was;
}

void platter_break_sync(struct platter *p)
{
	p->break_sync = true;
}

void platter_watch(struct platter *p)
{
	p->first = UINT64_MAX;
}

uint64_t platter_first(const struct platter *p)
{
	return p->first;
}

/* One more call; false: it fails. */
static bool alive(struct platter *p)
{
	if (!p->dead && p->die_in && --p->die_in == 0) {
		p->dead = true;
		store_died(p->v);
	}
	errno = EIO;
	return !p->dead;
}

/* ---- the calls of src/store and LMDB ---- */

static struct directory *place_of(const char *path, struct platter **p, const char **name)
{
	const char *slash = strrchr(path, '/');

	for (uint32_t i = 1; slash && i <= SERVERS_MAX; i++)
		for (uint32_t k = 0; platters[i] && k < DIRS; k++) {
			struct directory *d = &platters[i]->dirs[k];
			size_t n = strlen(d->path);

			*p = platters[i];
			*name = slash + 1;
			if ((size_t)(slash - path) == n && !strncmp(path, d->path, n))
				return d;
		}
	return NULL;
}

static struct directory *directory_at(const char *path, struct platter **p)
{
	for (uint32_t i = 1; i <= SERVERS_MAX; i++)
		for (uint32_t k = 0; platters[i] && k < DIRS; k++)
			if (!strcmp(path, platters[i]->dirs[k].path)) {
				*p = platters[i];
				return &platters[i]->dirs[k];
			}
	return NULL;
}

static bool is_followed(const char *name)
{
	return !strncmp(name, "journal-", 8) || !strcmp(name, "data.mdb") || !strcmp(name, "files-failed") || !strcmp(name, "sync-failed");
}

static void resized(struct inode *i, uint64_t size)
{
	if (size > i->size)
		soil(i, i->size, size);
	i->size = size;
}

static int open_file(const char *path, int flags, mode_t mode)
{
	const char *name = "";
	struct platter *p = NULL;
	struct directory *d = place_of(path, &p, &name), *itself = directory_at(path, &p);
	struct link_to *l = d && is_followed(name) ? find(&d->now, name) : NULL;
	struct inode *ino = l ? l->ino : NULL;
	int fd;

	if (d && is_followed(name) && (flags & O_CREAT) && (p->full || !ino) && (!alive(p) || (!ino && p->full))) {
		p->was_full |= !p->dead;
		errno = p->dead ? EIO : ENOSPC;
		return -1;
	}
	fd = raw_open(path, flags, mode);
	if (fd < 0 || fd >= FDS)
		return fd;
	if (d && is_followed(name) && !ino) {
		ino = inode_new(d, name);
		ino->rd = raw_open(path, O_RDONLY, 0);
		name_add(&d->now, name, ino);
		note_change(d, false, name, ino);
	}
	if (ino && (flags & O_TRUNC))
		resized(ino, 0);
	memset(&fds[fd], 0, sizeof(fds[fd]));
	fds[fd].p = ino || itself ? p : NULL;
	fds[fd].ino = ino;
	fds[fd].dir = itself;
	fds[fd].sync = flags & O_DSYNC;
	if (ino)
		ino->refs++;
	return fd;
}

static int open_in(int dirfd, const char *path, int flags, mode_t mode)
{
	struct directory *d = dirfd >= 0 && dirfd < FDS ? fds[dirfd].dir : NULL;
	char full[128];

	if (!d || path[0] == '.' || path[0] == '/')
		return (int)syscall(SYS_openat, dirfd, path, flags, mode);
	snprintf(full, sizeof(full), "%s/%s", d->path, path);
	return open_file(full, flags, mode);
}

static mode_t mode_of(int flags, va_list ap)
{
	return flags & O_CREAT ? va_arg(ap, mode_t) : 0;
}

#define OPEN(name)                                               \
	int name(const char *path, int flags, ...)               \
	{                                                        \
		va_list ap;                                      \
		int fd;                                          \
                                                                 \
		va_start(ap, flags);                             \
		fd = open_file(path, flags, mode_of(flags, ap)); \
		va_end(ap);                                      \
		return fd;                                       \
	}
#define OPENAT(name)                                                  \
	int name(int dirfd, const char *path, int flags, ...)         \
	{                                                             \
		va_list ap;                                           \
		int fd;                                               \
                                                                      \
		va_start(ap, flags);                                  \
		fd = open_in(dirfd, path, flags, mode_of(flags, ap)); \
		va_end(ap);                                           \
		return fd;                                            \
	}

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

int close(int fd)
{
	if (fd >= 0 && fd < FDS) {
		if (fds[fd].ino)
			inode_put(fds[fd].ino);
		memset(&fds[fd], 0, sizeof(fds[fd]));
	}
	return (int)syscall(SYS_close, fd);
}

int dup(int fd)
{
	int to = (int)syscall(SYS_dup, fd);

	if (to >= 0 && to < FDS && fd < FDS) {
		fds[to] = fds[fd];
		if (fds[to].ino)
			fds[to].ino->refs++;
	}
	return to;
}

/* How much of @n bytes at @at can be written; -1: nothing. */
static ssize_t room(int fd, size_t n, uint64_t at)
{
	struct platter *p = fds[fd].p;

	if (!alive(p))
		return -1;
	if (!p->full || at + n <= fds[fd].ino->size)
		return (ssize_t)n;
	p->was_full = true;
	errno = ENOSPC;
	n = rng_chance(&p->v->sim->rng, 500) ? 0 : rng_below(&p->v->sim->rng, n);
	return n ? (ssize_t)n : -1;
}

static int sync_part(int fd, uint64_t from, uint64_t to);

static ssize_t wrote(int fd, ssize_t n, uint64_t at)
{
	const char *journal;
	struct inode *i = fds[fd].ino;

	if (n <= 0)
		return n;
	if (fds[fd].p->first == UINT64_MAX && (journal = strstr(i->path, "/journal-")))
		fds[fd].p->first = strtoull(journal + 9, NULL, 16) + at;
	soil(i, at, at + (uint64_t)n);
	if (at + (uint64_t)n > i->size)
		i->size = at + (uint64_t)n;
	return fds[fd].sync && sync_part(fd, at, at + (uint64_t)n) ? -1 : n;
}

static bool is_file(int fd)
{
	return fd >= 0 && fd < FDS && fds[fd].ino;
}

/* What is written again as it is (log 4.15) is no news. */
static bool is_there(int fd, const void *b, size_t n, off_t at)
{
	char *was = malloc(n);
	bool same = was && pread(fd, was, n, at) == (ssize_t)n && !memcmp(was, b, n);

	free(was);
	return same;
}

ssize_t pwrite(int fd, const void *b, size_t n, off_t at)
{
	ssize_t k = is_file(fd) ? room(fd, n, (uint64_t)at) : (ssize_t)n;
	uint64_t *first = is_file(fd) ? &fds[fd].p->first : NULL, before = first ? *first : 0;

	if (k < 0)
		return -1;
	if (first && before == UINT64_MAX && is_there(fd, b, n, at)) {
		k = wrote(fd, syscall(SYS_pwrite64, fd, b, k, at), (uint64_t)at);
		*first = before;
		return k;
	}
	k = syscall(SYS_pwrite64, fd, b, k, at);
	return is_file(fd) ? wrote(fd, k, (uint64_t)at) : k;
}

ssize_t pwrite64(int fd, const void *b, size_t n, off_t at)
{
	return pwrite(fd, b, n, at);
}

ssize_t write(int fd, const void *b, size_t n)
{
	if (!is_file(fd))
		return syscall(SYS_write, fd, b, n);
	return pwrite(fd, b, n, lseek(fd, 0, SEEK_CUR));
}

/* LMDB: after lseek() */
ssize_t writev(int fd, const struct iovec *iov, int n)
{
	ssize_t done = 0, k = 0;
	off_t at;

	if (!is_file(fd))
		return syscall(SYS_writev, fd, iov, n);
	at = lseek(fd, 0, SEEK_CUR);
	for (int i = 0; i < n && k >= 0; i++) {
		k = pwrite(fd, iov[i].iov_base, iov[i].iov_len, at + done);
		if (k > 0)
			done += k;
		if (k < (ssize_t)iov[i].iov_len)
			break;
	}
	if (!done && k < 0)
		return -1;
	lseek(fd, at + done, SEEK_SET);
	return done;
}

int ftruncate(int fd, off_t size)
{
	if (is_file(fd)) {
		if (!alive(fds[fd].p))
			return -1;
		resized(fds[fd].ino, (uint64_t)size);
	}
	return (int)syscall(SYS_ftruncate, fd, size);
}

int ftruncate64(int fd, off_t size)
{
	return ftruncate(fd, size);
}

/* ---- syncs ---- */

/* The disk is at work; false: it died meanwhile, or cannot. */
static bool takes_time(struct platter *p)
{
	struct sim *s = p->v->sim;

	if (task_running() && !store_is_changing(p->v)) /* else nothing goes on meanwhile: all would wait for that */
		task_sleep(rng_time(&s->rng, s->plan.sync_us));
	if (p->dead)
		errno = EIO;
	if (p->dead || !p->break_sync)
		return !p->dead;
	p->break_sync = false;
	errno = EIO;
	return false;
}

/* Of one call with the write before it, if there is one: a process does not die between them. */
static int sync_part(int fd, uint64_t from, uint64_t to)
{
	struct platter *p = fds[fd].p;
	struct inode *i = fds[fd].ino;
	struct taken t;
	bool ok;

	i->refs++; /* its descriptor may be closed meanwhile */
	take(i, from, to, &t);
	ok = takes_time(p);
	give(i, &t, ok || (p->dead && !p->power));
	inode_put(i);
	return ok ? 0 : -1;
}

static int sync_names(struct platter *p, struct directory *d)
{
	uint32_t n = d->n;
	bool ok;

	if (!alive(p))
		return -1;
	ok = takes_time(p);
	if (ok || (p->dead && !p->power))
		settle(d, n < d->n ? n : d->n);
	return ok ? 0 : -1;
}

int fdatasync(int fd)
{
	if (is_file(fd))
		return alive(fds[fd].p) ? sync_part(fd, 0, UINT64_MAX) : -1;
	if (fd >= 0 && fd < FDS && fds[fd].dir)
		return sync_names(fds[fd].p, fds[fd].dir);
	return 0;
}

int fsync(int fd)
{
	return fdatasync(fd);
}

/* ---- names ---- */

int unlinkat(int dirfd, const char *name, int flags)
{
	struct directory *d = dirfd >= 0 && dirfd < FDS ? fds[dirfd].dir : NULL;
	struct link_to *l = d ? find(&d->now, name) : NULL;
	struct inode *ino;

	if (d && !alive(fds[dirfd].p))
		return -1;
	if (l) {
		ino = l->ino;
		note_change(d, true, name, ino);
		ino->path[0] = 0;
		name_drop(&d->now, name);
	}
	return (int)syscall(SYS_unlinkat, dirfd, name, flags);
}

int fstatvfs(int fd, struct statvfs *out)
{
	memset(out, 0, sizeof(*out));
	out->f_frsize = 4096;
	out->f_bavail = fd >= 0 && fd < FDS && fds[fd].p && fds[fd].p->full ? 0 : 1u << 20;
	return 0;
}

int fstatvfs64(int fd, struct statvfs64 *out)
{
	return fstatvfs(fd, (struct statvfs *)out); /* the same on 64-bit machines */
}

/* In place of the kernel's: the seed's. */
ssize_t getrandom(void *b, size_t n, unsigned flags)
{
	memset(b, 0, n);
	return store_random(b, n);
}
