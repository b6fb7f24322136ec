/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a file system has room for, and what it can hold (log 4.12).
 *
 * No table of file systems says the same as the file system itself: how large a file may be depends on its block size, what attributes
 * may take on how it was made. So a file without a name (O_TMPFILE), which no client can see and no crash leaves behind, is tried with. Where
 * the file system has no such files, or is full, the limits that need one are not known: 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "engine/runtime/fs.h"

#define TAKES (1u << 20)
#define XATTR_VALUE_MAX 65536u
#define XATTR_NAME "user.nfs4r.probe"
#define XATTR_SECOND "user.nfs4r.second"
#define LINK_MAX_UNKNOWN 127 /* what the C library says of a file system that it does not know */

bool engine_fs_room(int fd, struct fs_room *out)
{
	struct statvfs v;
	struct stat st;

	memset(out, 0, sizeof(*out));
	if (fstatvfs(fd, &v) != 0 || fstat(fd, &st) != 0)
		return false;
	out->dev = st.st_dev;
	out->bytes.total = (uint64_t)v.f_blocks * v.f_frsize;
	out->bytes.free = (uint64_t)v.f_bavail * v.f_frsize;
	out->inodes.total = v.f_files;
	out->inodes.free = v.f_files ? v.f_favail : 0;
	return true;
}

bool engine_fs_takes(int dirfd)
{
	static const uint64_t some[8192] = { 1 };
	int fd = openat(dirfd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct fs_room room;
	bool took = fd >= 0;

	if (fd < 0)
		return (errno == EOPNOTSUPP || errno == EISDIR) && engine_fs_room(dirfd, &room) && room.bytes.free >= TAKES;
	for (size_t n = 0; took && n < TAKES; n += sizeof(some))
		took = write(fd, some, sizeof(some)) == (ssize_t)sizeof(some);
	took = took && fdatasync(fd) == 0;
	close(fd);
	return took;
}

/* The largest @v up to @max that @may takes; 0: none. Whatever is below one that it takes, it takes, too. */
static uint64_t largest(bool (*may)(int fd, uint64_t v), int fd, uint64_t max)
{
	uint64_t lo = 0, hi = max;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2 + 1;

		if (may(fd, mid))
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

static bool may_be_long(int fd, uint64_t size)
{
	return ftruncate(fd, (off_t)size) == 0;
}

static const uint8_t zeros[XATTR_VALUE_MAX];

static bool may_have_value(int fd, uint64_t len)
{
	return fsetxattr(fd, XATTR_NAME, zeros, len, 0) == 0;
}

/* Beyond it a signal would come instead of an error. */
static uint64_t size_max(void)
{
	struct rlimit r;

	return getrlimit(RLIMIT_FSIZE, &r) == 0 && r.rlim_cur != RLIM_INFINITY && r.rlim_cur < INT64_MAX ? r.rlim_cur : INT64_MAX;
}

#define FAR_S (INT64_C(1) << 60)

/* The kernel takes the nearest time that the file system can keep. */
static void try_times(int fd, struct nfs4r_limits *l)
{
	struct timespec far[2] = { { .tv_sec = -FAR_S }, { .tv_sec = FAR_S } };
	struct stat st;

	if (futimens(fd, far) != 0 || fstat(fd, &st) != 0 || st.st_atim.tv_sec > 0 || st.st_mtim.tv_sec < 0)
		return;
	l->time_min = st.st_atim.tv_sec;
	l->time_max = st.st_mtim.tv_sec;
}

static void try_file(int fd, struct nfs4r_limits *l)
{
	bool value = may_have_value(fd, 1);

	if (!value && (errno == EOPNOTSUPP || errno == EPERM))
		l->has &= ~NFS4R_HAS_XATTRS;
	if (fgetxattr(fd, "system.posix_acl_access", NULL, 0) < 0 && errno == EOPNOTSUPP)
		l->has &= ~NFS4R_HAS_ACLS;
	if (value)
		l->xattr_max = (uint32_t)largest(may_have_value, fd, XATTR_VALUE_MAX);
	if (l->xattr_max && may_have_value(fd, l->xattr_max) && fsetxattr(fd, XATTR_SECOND, zeros, l->xattr_max, 0) != 0)
		l->has &= ~NFS4R_HAS_ROOM_EACH;
	(void)fremovexattr(fd, XATTR_NAME);
	(void)fremovexattr(fd, XATTR_SECOND);
	l->file_max = largest(may_be_long, fd, size_max());
	try_times(fd, l);
}

bool engine_fs_limits(int dirfd, struct nfs4r_limits *l)
{
	int fd = openat(dirfd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct statvfs v;
	long links;

	memset(l, 0, sizeof(*l));
	l->has = NFS4R_HAS_ALL;
	if (fstatvfs(dirfd, &v) == 0)
		l->name_max = (uint32_t)v.f_namemax;
	links = fpathconf(dirfd, _PC_LINK_MAX);
	if (links > LINK_MAX_UNKNOWN)
		l->link_max = links > UINT32_MAX ? UINT32_MAX : (uint32_t)links;
	if (faccessat(dirfd, "\xff\xfe", F_OK, AT_SYMLINK_NOFOLLOW) != 0 && (errno == EILSEQ || errno == EINVAL))
		l->has &= ~NFS4R_HAS_BYTES;
	if (fd < 0)
		return false;
	try_file(fd, l);
	close(fd);
	return true;
}

/* ---- what only names show ---- */

#define PROBE "nfs4r.probe"
#define PROBE_CASE "NFS4R.PROBE"
#define PROBE_LETTER "nfs4r.\xc3\xa9" /* e with an acute accent: one code point, */
#define PROBE_COMBINED "nfs4r.e\xcc\x81" /* or two */
#define TEXT_MAX 4095u /* the kernel takes no longer ones */
#define LEAST_TEXT 255u /* POSIX; fewer are what a full file system has room for in the inode */

static bool may_have_text(int fd, uint64_t len)
{
	char text[TEXT_MAX + 1];

	memset(text, 't', len);
	text[len] = '\0';
	if (symlinkat(text, fd, PROBE) != 0)
		return false;
	(void)unlinkat(fd, PROBE, 0);
	return true;
}

/* Is what is made as @a found as @b? */
static bool is_one_name(int fd, const char *a, const char *b)
{
	int made = openat(fd, a, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	bool one = made >= 0 && faccessat(fd, b, F_OK, AT_SYMLINK_NOFOLLOW) == 0;

	if (made < 0)
		return false;
	close(made);
	(void)unlinkat(fd, a, 0);
	return one;
}

void engine_fs_try_names(int dirfd, const char *scratch, struct fs_names *out)
{
	struct stat was;
	bool know = fstat(dirfd, &was) == 0, made = mkdirat(dirfd, scratch, 0700) == 0;
	int fd = openat(dirfd, scratch, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	memset(out, 0, sizeof(*out));
	if (fd < 0)
		return;
	(void)unlinkat(fd, PROBE, 0);
	(void)unlinkat(fd, PROBE_LETTER, 0);
	if (may_have_text(fd, 1)) /* there is room for one: a longer one that fails is too long, or there is none for its block */
		out->text_max = may_have_text(fd, TEXT_MAX) ? TEXT_MAX : largest(may_have_text, fd, TEXT_MAX);
	if (out->text_max < LEAST_TEXT)
		out->text_max = 0;
	out->folds = is_one_name(fd, PROBE, PROBE_CASE) || is_one_name(fd, PROBE_LETTER, PROBE_COMBINED);
	close(fd);
	if (!made)
		return;
	(void)unlinkat(dirfd, scratch, AT_REMOVEDIR); /* not if somebody uses it meanwhile */
	if (know)
		(void)futimens(dirfd, (struct timespec[2]){ was.st_atim, was.st_mtim });
}

bool engine_fs_is_live(int fd, bool *suid, bool *dev)
{
	struct statvfs v;

	if (fstatvfs(fd, &v) != 0)
		return false;
	*suid = !(v.f_flag & ST_NOSUID);
	*dev = !(v.f_flag & ST_NODEV);
	return *suid || *dev;
}

enum nfs4r_status engine_fs_private(const char *key, const char *path, char *why, size_t len)
{
	struct stat st;
	char to[PATH_MAX];

	if (lstat(path, &st) != 0)
		return NFS4R_OK; /* it is made, 0700, or that fails and says why */
	if (S_ISLNK(st.st_mode))
		snprintf(why, len, "%s = \"%.300s\" is a symbolic link, which another user may redirect: write its target instead, %s = \"%.300s\"", key, path, key,
			 realpath(path, to) ? to : "?");
	else if (st.st_uid != geteuid())
		snprintf(why, len, "%s = \"%.300s\" belongs to user %u, and this server runs as user %u: chown it, or write another directory", key, path, st.st_uid,
			 geteuid());
	else if (st.st_mode & (S_IWGRP | S_IWOTH))
		snprintf(why, len, "%s = \"%.300s\" is writable by users other than its owner (mode %04o): chmod 0700 it, or write another directory", key, path,
			 st.st_mode & 07777);
	else
		return NFS4R_OK;
	return NFS4R_BADCONFIG;
}
