/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See dirlops.h. */
#include "lib/dirlops.h"

#include "base/xattr.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include <linux/fs.h>

struct obj {
	struct obj *next;
	ino_t ino;
	int fd; /* O_PATH */
};

#define BUCKETS 4096

struct dirlops {
	pthread_mutex_t lock;
	struct obj *bucket[BUCKETS];
	int root;
	enum nfs4r_status write_fault; /* dirlops_fail_writes(); under lock */
	uint32_t write_part;
	int write_faults;
	_Atomic int sync_fault; /* errno */
	void *user;
	dirlops_watch_fn watch; /* dirlops_watch(); under lock, called without it */
	void *watch_arg;
	char fail_call[16], fail_name[300]; /* dirlops_fail_call(); under lock */
	enum nfs4r_status fail_st;
};

static enum nfs4r_status err(void)
{
	return nfs4r_status_from_errno(errno);
}

static enum nfs4r_status remember(struct dirlops *d, int fd, struct nfs4r_lhandle *out);

static int find(struct dirlops *d, ino_t ino)
{
	int fd = -1;

	pthread_mutex_lock(&d->lock);
	for (struct obj *o = d->bucket[ino % BUCKETS]; o; o = o->next)
		if (o->ino == ino)
			fd = o->fd;
	pthread_mutex_unlock(&d->lock);
	return fd;
}

/* Meet every object below @dirfd: handles of an earlier run must work. */
static void meet_all(struct dirlops *d, int dirfd)
{
	struct nfs4r_lhandle h;
	struct dirent *e;
	DIR *dir = fdopendir(dirfd);

	while (dir && (e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		remember(d, openat(dirfd, e->d_name, O_PATH | O_NOFOLLOW), &h);
		if (e->d_type == DT_DIR)
			meet_all(d, openat(dirfd, e->d_name, O_RDONLY | O_DIRECTORY));
	}
	if (dir)
		closedir(dir);
}

static int fd_of(struct dirlops *d, const struct nfs4r_lhandle *h)
{
	ino_t ino;
	int fd;

	errno = ESTALE;
	if (h->len != sizeof(ino))
		return -1;
	memcpy(&ino, h->b, sizeof(ino));
	fd = find(d, ino);
	if (fd >= 0)
		return fd;
	meet_all(d, openat(d->root, ".", O_RDONLY | O_DIRECTORY));
	fd = find(d, ino);
	errno = ESTALE;
	return fd;
}

/* Takes @fd over. */
static enum nfs4r_status remember(struct dirlops *d, int fd, struct nfs4r_lhandle *out)
{
	struct stat st;
	struct obj *o;

	if (fd < 0 || fstat(fd, &st) != 0)
		return err();
	out->len = sizeof(st.st_ino);
	memcpy(out->b, &st.st_ino, sizeof(st.st_ino));
	pthread_mutex_lock(&d->lock);
	for (o = d->bucket[st.st_ino % BUCKETS]; o; o = o->next)
		if (o->ino == st.st_ino)
			break;
	if (o) {
		close(fd);
	} else {
		o = calloc(1, sizeof(*o));
		o->ino = st.st_ino;
		o->fd = fd;
		o->next = d->bucket[st.st_ino % BUCKETS];
		d->bucket[st.st_ino % BUCKETS] = o;
	}
	pthread_mutex_unlock(&d->lock);
	return NFS4R_OK;
}

/* One write less that fails. */
static bool write_fails(struct dirlops *d, enum nfs4r_status *st, uint32_t *part)
{
	bool yes;

	pthread_mutex_lock(&d->lock);
	yes = d->write_faults > 0;
	if (yes)
		d->write_faults--;
	*st = d->write_fault;
	*part = d->write_part;
	pthread_mutex_unlock(&d->lock);
	return yes;
}

static bool fails(struct dirlops *d, const char *call, const char *name, enum nfs4r_status *st)
{
	bool yes;

	pthread_mutex_lock(&d->lock);
	yes = d->fail_st != NFS4R_OK && strcmp(call, d->fail_call) == 0 && (!name || !d->fail_name[0] || strcmp(name, d->fail_name) == 0);
	*st = d->fail_st;
	pthread_mutex_unlock(&d->lock);
	return yes;
}

void dirlops_fail_call(struct dirlops *d, const char *call, const char *name, enum nfs4r_status st)
{
	pthread_mutex_lock(&d->lock);
	snprintf(d->fail_call, sizeof(d->fail_call), "%s", call);
	snprintf(d->fail_name, sizeof(d->fail_name), "%s", name ? name : "");
	d->fail_st = st;
	pthread_mutex_unlock(&d->lock);
}

static const char *proc(int fd, char buf[64])
{
	snprintf(buf, 64, "/proc/self/fd/%d", fd);
	return buf;
}

int dirlops_fd(struct dirlops *d, const struct nfs4r_lhandle *h, int flags)
{
	char p[64];
	int fd = fd_of(d, h);

	return fd < 0 ? -1 : open(proc(fd, p), flags);
}

static enum nfs4r_status d_root(void *ctx, struct nfs4r_lhandle *out)
{
	struct dirlops *d = ctx;

	return remember(d, dup(d->root), out);
}

static enum nfs4r_status d_lookup(void *ctx, const struct nfs4r_lhandle *dir, const char *name, struct nfs4r_lhandle *out)
{
	int dfd = fd_of(ctx, dir);

	return dfd < 0 ? err() : remember(ctx, openat(dfd, name, O_PATH | O_NOFOLLOW), out);
}

static enum nfs4r_status d_getattr(void *ctx, const struct nfs4r_lhandle *h, struct nfs4r_attrs *a)
{
	struct stat st;
	int fd = fd_of(ctx, h);

	memset(a, 0, sizeof(*a));
	if (fd < 0 || fstat(fd, &st) != 0)
		return err();
	a->type = S_ISDIR(st.st_mode) ? NFS4R_TYPE_DIR :
		S_ISLNK(st.st_mode)   ? NFS4R_TYPE_SYMLINK :
		S_ISFIFO(st.st_mode)  ? NFS4R_TYPE_FIFO :
		S_ISSOCK(st.st_mode)  ? NFS4R_TYPE_SOCKET :
		S_ISCHR(st.st_mode)   ? NFS4R_TYPE_CHR :
		S_ISBLK(st.st_mode)   ? NFS4R_TYPE_BLK :
					NFS4R_TYPE_FILE;
	a->mode = st.st_mode & 07777;
	a->uid = st.st_uid;
	a->gid = st.st_gid;
	a->size = (uint64_t)st.st_size;
	a->space = (uint64_t)st.st_blocks * 512;
	a->nlink = (uint32_t)st.st_nlink;
	a->atime = st.st_atim.tv_sec * 1000000000LL + st.st_atim.tv_nsec;
	a->mtime = st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec;
	a->rdev_major = major(st.st_rdev);
	a->rdev_minor = minor(st.st_rdev);
	a->mask = NFS4R_ATTR_TYPE | NFS4R_ATTR_MODE | NFS4R_ATTR_UID | NFS4R_ATTR_GID | NFS4R_ATTR_SIZE | NFS4R_ATTR_SPACE |
		NFS4R_ATTR_NLINK | NFS4R_ATTR_ATIME | NFS4R_ATTR_MTIME | NFS4R_ATTR_RDEV;
	return NFS4R_OK;
}

static struct timespec ts_of(int64_t ns, bool set)
{
	return set ? (struct timespec){ ns / 1000000000, ns % 1000000000 } : (struct timespec){ 0, UTIME_OMIT };
}

static bool is_link(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISLNK(st.st_mode);
}

static enum nfs4r_status d_setattr(void *ctx, const struct nfs4r_lhandle *h, const struct nfs4r_attrs *a, const struct nfs4r_cred *cred,
				   struct nfs4r_attrs *post)
{
	enum nfs4r_status fault;
	char p[64];
	int fd = fd_of(ctx, h);

	if (fails(ctx, "setattr", NULL, &fault))
		return fault;
	if (fd < 0)
		return err();
	proc(fd, p);
	if (a->mask & NFS4R_ATTR_SIZE && truncate(p, (off_t)a->size) != 0)
		return err();
	if (a->mask & (NFS4R_ATTR_UID | NFS4R_ATTR_GID) &&
	    fchownat(fd, "", a->mask & NFS4R_ATTR_UID ? a->uid : (uid_t)-1, a->mask & NFS4R_ATTR_GID ? a->gid : (gid_t)-1, AT_EMPTY_PATH) != 0)
		return err();
	if (a->mask & NFS4R_ATTR_MODE && !is_link(fd) && chmod(p, a->mode) != 0)
		return err();
	if (a->mask & (NFS4R_ATTR_ATIME | NFS4R_ATTR_MTIME)) {
		struct timespec t[2] = { ts_of(a->atime, a->mask & NFS4R_ATTR_ATIME), ts_of(a->mtime, a->mask & NFS4R_ATTR_MTIME) };

		if (utimensat(AT_FDCWD, p, t, 0) != 0)
			return err();
	}
	return post ? d_getattr(ctx, h, post) : NFS4R_OK;
}

static int make(int dfd, const char *name, const struct nfs4r_attrs *a, const char *linktext)
{
	static const mode_t types[] = { [NFS4R_TYPE_FIFO] = S_IFIFO, [NFS4R_TYPE_SOCKET] = S_IFSOCK, [NFS4R_TYPE_CHR] = S_IFCHR, [NFS4R_TYPE_BLK] = S_IFBLK };

	switch (a->type) {
	case NFS4R_TYPE_FILE: {
		int fd = openat(dfd, name, O_CREAT | O_EXCL | O_RDWR, 0600);

		if (fd >= 0)
			close(fd);
		return fd < 0 ? -1 : 0;
	}
	case NFS4R_TYPE_DIR:
		return mkdirat(dfd, name, 0700);
	case NFS4R_TYPE_SYMLINK:
		return symlinkat(linktext, dfd, name);
	default:
		return mknodat(dfd, name, types[a->type] | 0600, makedev(a->rdev_major, a->rdev_minor));
	}
}

static enum nfs4r_status d_create(void *ctx, const struct nfs4r_lhandle *dir, const char *name, const struct nfs4r_attrs *a, const char *linktext,
				  const struct nfs4r_cred *cred, struct nfs4r_lhandle *out, struct nfs4r_attrs *post)
{
	enum nfs4r_status fault;
	struct nfs4r_attrs set = *a;
	int dfd = fd_of(ctx, dir);

	if (fails(ctx, "create", name, &fault))
		return fault;
	if (dfd < 0 || make(dfd, name, a, linktext) != 0)
		return err();
	enum nfs4r_status st = d_lookup(ctx, dir, name, out);
	if (st != NFS4R_OK)
		return st;
	if (!(set.mask & NFS4R_ATTR_MODE))
		set.mode = a->type == NFS4R_TYPE_DIR ? 0755 : 0644;
	set.mask |= NFS4R_ATTR_MODE;
	return d_setattr(ctx, out, &set, cred, post);
}

static enum nfs4r_status d_link(void *ctx, const struct nfs4r_lhandle *obj, const struct nfs4r_lhandle *dir, const char *name, const struct nfs4r_cred *cred)
{
	enum nfs4r_status fault;
	int fd = fd_of(ctx, obj), dfd = fd_of(ctx, dir);

	if (fails(ctx, "link", name, &fault))
		return fault;
	return fd < 0 || dfd < 0 || linkat(fd, "", dfd, name, AT_EMPTY_PATH) != 0 ? err() : NFS4R_OK;
}

static enum nfs4r_status d_remove(void *ctx, const struct nfs4r_lhandle *dir, const char *name, const struct nfs4r_lhandle *obj, const struct nfs4r_cred *cred)
{
	enum nfs4r_status fault;
	int dfd = fd_of(ctx, dir);

	if (fails(ctx, "remove", name, &fault))
		return fault;
	if (dfd < 0)
		return err();
	if (unlinkat(dfd, name, 0) == 0)
		return NFS4R_OK;
	if (errno != EISDIR && errno != EPERM)
		return err();
	return unlinkat(dfd, name, AT_REMOVEDIR) == 0 ? NFS4R_OK : err();
}

static enum nfs4r_status d_rename(void *ctx, const struct nfs4r_lhandle *obj, const struct nfs4r_lhandle *dir, const char *name,
				  const struct nfs4r_lhandle *dir2, const char *name2, const struct nfs4r_cred *cred)
{
	enum nfs4r_status fault;
	int a = fd_of(ctx, dir), b = fd_of(ctx, dir2);

	if (fails(ctx, "rename", name2, &fault))
		return fault;
	return a < 0 || b < 0 || renameat(a, name, b, name2) != 0 ? err() : NFS4R_OK;
}

static _Atomic int slow_ms;

void dirlops_slow_writes(int ms)
{
	slow_ms = ms;
}

static enum nfs4r_status d_write(void *ctx, const struct nfs4r_lhandle *h, uint64_t off, const void *bytes, uint32_t len, bool stable, const struct nfs4r_cred *cred)
{
	enum nfs4r_status fault;
	struct dirlops *d = ctx;
	uint32_t most;
	int fd;

	if (fails(ctx, "write", NULL, &fault))
		return fault;
	if (slow_ms)
		nanosleep(&(struct timespec){ slow_ms / 1000, slow_ms % 1000 * 1000000L }, NULL);
	fd = dirlops_fd(d, h, O_WRONLY);
	if (fd < 0)
		return err();
	if (write_fails(d, &fault, &most)) {
		ssize_t part = pwrite(fd, bytes, most, (off_t)off);

		close(fd);
		return part < 0 ? err() : fault;
	}
	ssize_t n = pwrite(fd, bytes, len, (off_t)off);
	enum nfs4r_status st = n == (ssize_t)len ? NFS4R_OK : n < 0 ? err() :
								      NFS4R_NOSPC;
	if (st == NFS4R_OK && stable && fsync(fd) != 0)
		st = err();
	close(fd);
	return st;
}

static enum nfs4r_status d_read(void *ctx, const struct nfs4r_lhandle *h, uint64_t off, void *bytes, uint32_t *len, bool *eof)
{
	int fd = dirlops_fd(ctx, h, O_RDONLY);
	struct stat st;

	if (fd < 0)
		return err();
	ssize_t n = pread(fd, bytes, *len, (off_t)off);
	enum nfs4r_status res = n < 0 || fstat(fd, &st) != 0 ? err() : NFS4R_OK;
	if (res == NFS4R_OK) {
		*len = (uint32_t)n;
		*eof = off + (uint64_t)n >= (uint64_t)st.st_size;
	}
	close(fd);
	return res;
}

static enum nfs4r_status d_allocate(void *ctx, const struct nfs4r_lhandle *h, uint64_t off, uint64_t len, bool punch, const struct nfs4r_cred *cred)
{
	enum nfs4r_status fault;
	int fd = dirlops_fd(ctx, h, O_WRONLY);

	if (fails(ctx, "allocate", NULL, &fault))
		return fault;
	if (fd < 0)
		return err();
	enum nfs4r_status st = fallocate(fd, punch ? FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE : 0, (off_t)off, (off_t)len) == 0 ? NFS4R_OK : err();
	close(fd);
	return st;
}

static enum nfs4r_status d_setxattr(void *ctx, const struct nfs4r_lhandle *h, const char *name, const void *val, uint32_t len, uint32_t flags, const struct nfs4r_cred *cred)
{
	enum nfs4r_status fault;
	char p[64];
	int fd = fd_of(ctx, h);
	int fl = flags == NFS4R_XATTR_CREATE ? XATTR_CREATE : flags == NFS4R_XATTR_REPLACE ? XATTR_REPLACE :
											     0;

	if (fails(ctx, "setxattr", name, &fault))
		return fault;
	return fd < 0 || setxattr(proc(fd, p), name, val, len, fl) != 0 ? err() : NFS4R_OK;
}

static enum nfs4r_status d_removexattr(void *ctx, const struct nfs4r_lhandle *h, const char *name, const struct nfs4r_cred *cred)
{
	enum nfs4r_status fault;
	char p[64];
	int fd = fd_of(ctx, h);

	if (fails(ctx, "removexattr", name, &fault))
		return fault;
	return fd < 0 || removexattr(proc(fd, p), name) != 0 ? err() : NFS4R_OK;
}

static enum nfs4r_status d_getxattr(void *ctx, const struct nfs4r_lhandle *h, const char *name, void *val, uint32_t *len)
{
	char p[64];
	int fd = fd_of(ctx, h);
	ssize_t got = fd < 0 ? -1 : getxattr(proc(fd, p), name, val, *len);

	if (got < 0)
		return err();
	*len = (uint32_t)got;
	return NFS4R_OK;
}

static enum nfs4r_status d_listxattr(void *ctx, const struct nfs4r_lhandle *h, char *names, uint32_t *len)
{
	char p[64];
	int fd = fd_of(ctx, h);
	ssize_t got = fd < 0 ? -1 : listxattr(proc(fd, p), names, *len);

	if (got < 0)
		return err();
	*len = nfs4r_xattr_list_carried(names, (uint32_t)got);
	return NFS4R_OK;
}

static enum nfs4r_status d_readlink(void *ctx, const struct nfs4r_lhandle *h, char *text, uint32_t *len)
{
	int fd = fd_of(ctx, h);
	ssize_t n = fd < 0 ? -1 : readlinkat(fd, "", text, *len);

	if (n < 0)
		return err();
	*len = (uint32_t)n;
	return NFS4R_OK;
}

static enum nfs4r_status d_readdir(void *ctx, const struct nfs4r_lhandle *h, bool (*fn)(void *arg, const char *name), void *arg)
{
	int fd = dirlops_fd(ctx, h, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir)
		return err();
	while ((e = readdir(dir)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && !fn(arg, e->d_name))
			break;
	closedir(dir);
	return NFS4R_OK;
}

static enum nfs4r_status d_commit(void *ctx, const struct nfs4r_lhandle *h)
{
	int fd = dirlops_fd(ctx, h, O_RDONLY);

	if (fd < 0)
		return err();
	enum nfs4r_status st = fsync(fd) == 0 ? NFS4R_OK : err();
	close(fd);
	return st;
}

static int d_sync_all(void *ctx)
{
	struct dirlops *d = ctx;

	return atomic_exchange(&d->sync_fault, 0); /* tests play machine crashes at the store, not at the kernel */
}

static enum nfs4r_status d_seek(void *ctx, const struct nfs4r_lhandle *h, uint64_t off, bool hole, uint64_t *result, bool *eof)
{
	int fd = dirlops_fd(ctx, h, O_RDONLY);

	if (fd < 0)
		return err();
	off_t r = lseek(fd, (off_t)off, hole ? SEEK_HOLE : SEEK_DATA);
	enum nfs4r_status st = r < 0 ? err() : NFS4R_OK;
	*result = (uint64_t)r;
	*eof = r >= lseek(fd, 0, SEEK_END);
	close(fd);
	return st;
}

/* ---- permission, by the mode alone ---- */

static bool has_bits(const struct nfs4r_attrs *a, const struct nfs4r_cred *cred, uint32_t bits)
{
	uint32_t mode = a->uid == cred->uid ? a->mode >> 6 : nfs4r_cred_has_group(cred, a->gid) ? a->mode >> 3 :
												  a->mode;

	return (mode & bits) == bits;
}

static enum nfs4r_status d_may(void *ctx, const struct nfs4r_lhandle *h, struct nfs4r_op *op)
{
	struct nfs4r_attrs a;
	enum nfs4r_status st = d_getattr(ctx, h, &a);
	bool owner = a.uid == op->cred.uid;

	if (st != NFS4R_OK)
		return st;
	switch (op->type) {
	case NFS4R_OP_SETATTR:
		if (op->attrs.mask & NFS4R_ATTR_MODE && !nfs4r_cred_has_group(&op->cred, a.gid))
			op->attrs.mode &= ~02000u;
		return owner && !(op->attrs.mask & NFS4R_ATTR_UID && op->attrs.uid != a.uid) ? NFS4R_OK : NFS4R_PERM;
	case NFS4R_OP_SETXATTR:
	case NFS4R_OP_REMOVEXATTR:
		return has_bits(&a, &op->cred, 2) ? NFS4R_OK : NFS4R_ACCES;
	case NFS4R_OP_LINK:
		return has_bits(&a, &op->cred, 3) ? NFS4R_OK : NFS4R_ACCES;
	default:
		return owner || has_bits(&a, &op->cred, 2) ? NFS4R_OK : NFS4R_ACCES;
	}
}

/* ---- for an import ---- */

static bool d_acl_is_xattr(void *ctx)
{
	return true;
}

static enum nfs4r_status d_is_mount(void *ctx, const struct nfs4r_lhandle *dir, const char *name, bool *yes)
{
	int dfd = fd_of(ctx, dir);
	struct stat in, at;

	if (dfd < 0 || fstat(dfd, &in) != 0 || fstatat(dfd, name, &at, AT_SYMLINK_NOFOLLOW) != 0)
		return err();
	*yes = at.st_dev != in.st_dev;
	return NFS4R_OK;
}

static enum nfs4r_status d_make_mutable(void *ctx, const struct nfs4r_lhandle *h, uint32_t *had)
{
	enum nfs4r_status st = NFS4R_OK;
	int fd = fd_of(ctx, h), flags = 0;
	struct stat is;

	*had = 0;
	if (fd < 0 || fstat(fd, &is) != 0)
		return err();
	if (!S_ISREG(is.st_mode) && !S_ISDIR(is.st_mode))
		return NFS4R_OK;
	fd = dirlops_fd(ctx, h, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return err();
	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && flags & (FS_IMMUTABLE_FL | FS_APPEND_FL)) {
		*had = (flags & FS_IMMUTABLE_FL ? NFS4R_WAS_IMMUTABLE : 0u) | (flags & FS_APPEND_FL ? NFS4R_WAS_APPEND_ONLY : 0u);
		flags &= ~(FS_IMMUTABLE_FL | FS_APPEND_FL);
		st = ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0 ? NFS4R_OK : err();
	}
	close(fd);
	return st;
}

/* ---- watched ---- */

static enum nfs4r_status watched(struct dirlops *d, const char *call, const struct nfs4r_lhandle *h, enum nfs4r_status st)
{
	dirlops_watch_fn watch;
	void *arg;

	pthread_mutex_lock(&d->lock);
	watch = d->watch;
	arg = d->watch_arg;
	pthread_mutex_unlock(&d->lock);
	if (watch)
		watch(arg, call, h);
	return st;
}

static enum nfs4r_status w_getattr(void *ctx, const struct nfs4r_lhandle *h, struct nfs4r_attrs *a)
{
	return watched(ctx, "getattr", h, d_getattr(ctx, h, a));
}

static enum nfs4r_status w_readlink(void *ctx, const struct nfs4r_lhandle *h, char *text, uint32_t *len)
{
	return watched(ctx, "readlink", h, d_readlink(ctx, h, text, len));
}

static enum nfs4r_status w_readdir(void *ctx, const struct nfs4r_lhandle *h, bool (*fn)(void *arg, const char *name), void *arg)
{
	return watched(ctx, "readdir", h, d_readdir(ctx, h, fn, arg));
}

void dirlops_watch(struct dirlops *d, dirlops_watch_fn fn, void *arg)
{
	pthread_mutex_lock(&d->lock);
	d->watch_arg = arg;
	d->watch = fn;
	pthread_mutex_unlock(&d->lock);
}

static const struct nfs4r_lops table = {
	.root = d_root,
	.lookup = d_lookup,
	.create = d_create,
	.link = d_link,
	.remove = d_remove,
	.rename = d_rename,
	.write = d_write,
	.read = d_read,
	.setattr = d_setattr,
	.allocate = d_allocate,
	.setxattr = d_setxattr,
	.removexattr = d_removexattr,
	.getxattr = d_getxattr,
	.listxattr = d_listxattr,
	.getattr = w_getattr,
	.may = d_may,
	.acl_is_xattr = d_acl_is_xattr,
	.is_mount = d_is_mount,
	.make_mutable = d_make_mutable,
	.readlink = w_readlink,
	.readdir = w_readdir,
	.commit = d_commit,
	.sync_all = d_sync_all,
	.seek = d_seek,
};

const struct nfs4r_lops *dirlops_table(void)
{
	return &table;
}

void dirlops_fail_writes(struct dirlops *d, enum nfs4r_status st, uint32_t part, int count)
{
	pthread_mutex_lock(&d->lock);
	d->write_fault = st;
	d->write_part = part;
	d->write_faults = count;
	pthread_mutex_unlock(&d->lock);
}

void dirlops_fail_sync(struct dirlops *d, int err)
{
	d->sync_fault = err;
}

void dirlops_set_user(struct dirlops *d, void *user)
{
	d->user = user;
}

void *dirlops_user(const struct dirlops *d)
{
	return d->user;
}

struct dirlops *dirlops_open(const char *path)
{
	struct dirlops *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	pthread_mutex_init(&d->lock, NULL);
	d->root = open(path, O_PATH | O_DIRECTORY);
	if (d->root < 0) {
		free(d);
		return NULL;
	}
	return d;
}

void dirlops_close(struct dirlops *d)
{
	for (size_t i = 0; i < BUCKETS; i++)
		while (d->bucket[i]) {
			struct obj *o = d->bucket[i];

			d->bucket[i] = o->next;
			close(o->fd);
			free(o);
		}
	close(d->root);
	pthread_mutex_destroy(&d->lock);
	free(d);
}
