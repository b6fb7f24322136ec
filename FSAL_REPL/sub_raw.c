/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What FSAL_VFS of Ganesha 6.5 cannot do with an object that it names by a handle, and what copies of a volume have to be exact in. It leaves
 * out the times of a symbolic link and the attributes of a socket or device. Of extended attributes it has those of files and directories,
 * in user. alone. It lists no directory without a look at each object, and it knows nothing of mount points and inode flags.
 *
 * The bytes of a handle of FSAL_VFS contain the kernel's file handle. It is opened with O_PATH, which opens nothing and
 * disturbs nothing: a device is not touched, a FIFO has no reader. The system calls then go through /proc/self/fd.
 *
 * Failure modes: another sub-FSAL, or an object of another file system than the exported one: raw_open() says
 * -ENOTSUP, and the caller goes by the sub-FSAL's own methods. Permissions are the caller's business: all of this works as root.
 */
#include "repl.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <linux/fs.h>

/* The first byte of a handle of FSAL_VFS: how the file system is named (the low bits), and how long the kernel's handle type is. */
#define VFS_FSID_MASK 0x1f
#define VFS_DUMMY 0x20
#define VFS_TYPE_MASK 0xc0
#define VFS_TYPE_8 0x40
#define VFS_TYPE_16 0x80
#define VFS_TYPE_32 0xc0

#define DENTS_BYTES 65536
#define PROC_LEN 32

struct kernel_handle {
	struct file_handle head;
	uint8_t bytes[MAX_HANDLE_SZ];
};

/* False: it is no handle that the kernel could open. */
static bool parse(const struct nfs4r_lhandle *h, struct kernel_handle *out)
{
	size_t at = 1 + sizeof_fsid((enum fsid_type)(h->b[0] & VFS_FSID_MASK)), n;
	int32_t type32;
	int16_t type16;

	if (h->b[0] & VFS_DUMMY || at + 4 > h->len)
		return false;
	switch (h->b[0] & VFS_TYPE_MASK) {
	case VFS_TYPE_8:
		out->head.handle_type = h->b[at];
		at += 1;
		break;
	case VFS_TYPE_16:
		memcpy(&type16, h->b + at, sizeof(type16));
		out->head.handle_type = type16;
		at += sizeof(type16);
		break;
	case VFS_TYPE_32:
		memcpy(&type32, h->b + at, sizeof(type32));
		out->head.handle_type = type32;
		at += sizeof(type32);
		break;
	default:
		return false;
	}
	n = h->len - at;
	if (n > MAX_HANDLE_SZ)
		return false;
	out->head.handle_bytes = n;
	memcpy(out->head.f_handle, h->b + at, n);
	return true;
}

bool repl_raw_can(const struct fsal_obj_handle *sub)
{
	const struct fsal_export *layer = op_ctx->fsal_export;

	return strcmp(sub->fsal->name, "VFS") == 0 && sub->fs != NULL && sub->fs == layer->root_fs && layer->super_export != NULL &&
		repl_export(layer->super_export)->dir_fd >= 0;
}

/* O_PATH, the caller's to close; else -errno. */
static int raw_open(struct fsal_obj_handle *sub)
{
	struct kernel_handle k;
	struct nfs4r_lhandle h;
	int fd;

	if (!repl_raw_can(sub) || !repl_sub_handle_bytes(sub, &h) || !parse(&h, &k))
		return -ENOTSUP;
	fd = open_by_handle_at(repl_export(op_ctx->fsal_export->super_export)->dir_fd, &k.head, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	return fd;
}

/* A path that leads to the object itself, a symbolic link included. */
static const char *proc_path(int fd, char out[PROC_LEN])
{
	snprintf(out, PROC_LEN, "/proc/self/fd/%d", fd);
	return out;
}

static fsal_status_t result(int fd, int rc)
{
	int err = rc < 0 ? errno : 0;

	close(fd);
	return posix2fsal_status(err);
}

/* ---- attributes ---- */

fsal_status_t repl_raw_getattr(struct fsal_obj_handle *sub, struct nfs4r_attrs *out)
{
	struct fsal_attrlist attrs;
	struct stat st;
	int fd = raw_open(sub);
	fsal_status_t status;

	if (fd < 0)
		return posix2fsal_status(-fd);
	fsal_prepare_attrs(&attrs, ATTRS_POSIX);
	status = result(fd, fstat(fd, &st));
	if (!FSAL_IS_ERROR(status)) {
		posix2fsal_attributes_all(&st, &attrs);
		repl_attrs_from_sub(out, &attrs);
	}
	fsal_release_attrs(&attrs);
	return status;
}

static struct timespec time_to_set(const struct nfs4r_attrs *a, uint32_t now, uint32_t set, int64_t ns)
{
	if (a->mask & now)
		return (struct timespec){ .tv_nsec = UTIME_NOW };
	return a->mask & set ? repl_timespec(ns) : (struct timespec){ .tv_nsec = UTIME_OMIT };
}

/* The owner first: a change of it takes set-id bits away. The mode of a symbolic link cannot be set, and means nothing. */
static int set_all(struct fsal_obj_handle *sub, int fd, const char *path, const struct nfs4r_attrs *a)
{
	struct timespec t[2] = { time_to_set(a, NFS4R_ATTR_ATIME_NOW, NFS4R_ATTR_ATIME, a->atime),
				 time_to_set(a, NFS4R_ATTR_MTIME_NOW, NFS4R_ATTR_MTIME, a->mtime) };
	int rc = 0;

	if (a->mask & (NFS4R_ATTR_UID | NFS4R_ATTR_GID))
		rc = fchownat(fd, "", a->mask & NFS4R_ATTR_UID ? a->uid : (uid_t)-1, a->mask & NFS4R_ATTR_GID ? a->gid : (gid_t)-1,
			      AT_EMPTY_PATH);
	if (rc == 0 && a->mask & NFS4R_ATTR_MODE && sub->type != SYMBOLIC_LINK)
		rc = chmod(path, a->mode & 07777);
	if (rc == 0 && (t[0].tv_nsec != UTIME_OMIT || t[1].tv_nsec != UTIME_OMIT))
		rc = utimensat(AT_FDCWD, path, t, 0);
	return rc;
}

fsal_status_t repl_raw_setattr(struct fsal_obj_handle *sub, const struct nfs4r_attrs *a)
{
	int fd = raw_open(sub);
	char path[PROC_LEN];

	if (fd < 0)
		return posix2fsal_status(-fd);
	return result(fd, set_all(sub, fd, proc_path(fd, path), a));
}

/* ---- extended attributes: names with their prefix ---- */

fsal_status_t repl_raw_getxattr(struct fsal_obj_handle *sub, const char *name, void *val, uint32_t *len)
{
	int fd = raw_open(sub);
	char path[PROC_LEN];
	ssize_t n;

	if (fd < 0)
		return posix2fsal_status(-fd);
	n = getxattr(proc_path(fd, path), name, val, *len);
	*len = n < 0 ? 0 : n;
	return result(fd, n);
}

fsal_status_t repl_raw_setxattr(struct fsal_obj_handle *sub, const char *name, const void *val, uint32_t len, uint32_t flags)
{
	int how = flags == NFS4R_XATTR_CREATE ? XATTR_CREATE : flags == NFS4R_XATTR_REPLACE ? XATTR_REPLACE :
											      0;
	int fd = raw_open(sub);
	char path[PROC_LEN];

	if (fd < 0)
		return posix2fsal_status(-fd);
	return result(fd, setxattr(proc_path(fd, path), name, val, len, how));
}

fsal_status_t repl_raw_removexattr(struct fsal_obj_handle *sub, const char *name)
{
	int fd = raw_open(sub);
	char path[PROC_LEN];

	if (fd < 0)
		return posix2fsal_status(-fd);
	return result(fd, removexattr(proc_path(fd, path), name));
}

fsal_status_t repl_raw_listxattr(struct fsal_obj_handle *sub, char *names, uint32_t *len)
{
	int fd = raw_open(sub);
	char path[PROC_LEN];
	ssize_t n;

	if (fd < 0)
		return posix2fsal_status(-fd);
	n = listxattr(proc_path(fd, path), names, *len);
	*len = n < 0 ? 0 : n;
	return result(fd, n);
}

/* ---- names ---- */

static bool is_dot(const char *name)
{
	return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

fsal_status_t repl_raw_readdir(struct fsal_obj_handle *sub, bool (*fn)(void *arg, const char *name), void *arg)
{
	int path_fd = raw_open(sub), fd;
	char *buf;
	long n, at;
	bool go_on = true;

	if (path_fd < 0)
		return posix2fsal_status(-path_fd);
	fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return result(path_fd, fd);
	close(path_fd);
	buf = gsh_malloc(DENTS_BYTES);
	while (go_on && (n = syscall(SYS_getdents64, fd, buf, DENTS_BYTES)) > 0)
		for (at = 0; at < n && go_on;) {
			const struct dirent64 *e = (const void *)(buf + at);

			at += e->d_reclen;
			go_on = is_dot(e->d_name) || fn(arg, e->d_name);
		}
	gsh_free(buf);
	return result(fd, go_on ? n : 0);
}

fsal_status_t repl_raw_is_mount(struct fsal_obj_handle *dir, const char *name, bool *yes)
{
	int fd = raw_open(dir), rc;
	struct statx there, here;

	*yes = false;
	if (fd < 0)
		return posix2fsal_status(-fd);
	rc = statx(fd, "", AT_EMPTY_PATH, STATX_INO, &here);
	if (rc == 0)
		rc = statx(fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_INO, &there);
	if (rc == 0)
		*yes = there.stx_dev_major != here.stx_dev_major || there.stx_dev_minor != here.stx_dev_minor ||
			(there.stx_attributes_mask & there.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
	return result(fd, rc);
}

/* ---- inode flags ---- */

fsal_status_t repl_raw_make_mutable(struct fsal_obj_handle *sub, uint32_t *had)
{
	int path_fd, fd, rc, flags = 0;
	char path[PROC_LEN];

	*had = 0;
	if (sub->type != REGULAR_FILE && sub->type != DIRECTORY)
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	path_fd = raw_open(sub);
	if (path_fd < 0)
		return posix2fsal_status(-path_fd);
	fd = open(proc_path(path_fd, path), O_RDONLY | O_NONBLOCK | O_NOATIME | O_CLOEXEC);
	if (fd < 0)
		return result(path_fd, fd);
	close(path_fd);
	rc = ioctl(fd, FS_IOC_GETFLAGS, &flags);
	if (rc < 0 && (errno == ENOTTY || errno == EOPNOTSUPP || errno == EINVAL || errno == ENOSYS))
		return result(fd, 0); /* a file system without such flags */
	if (rc == 0 && flags & FS_VERITY_FL) {
		errno = EPERM; /* can never be changed, here */
		return result(fd, -1);
	}
	if (rc == 0 && flags & (FS_IMMUTABLE_FL | FS_APPEND_FL)) {
		*had = (flags & FS_IMMUTABLE_FL ? NFS4R_WAS_IMMUTABLE : 0) | (flags & FS_APPEND_FL ? NFS4R_WAS_APPEND_ONLY : 0);
		flags &= ~(FS_IMMUTABLE_FL | FS_APPEND_FL);
		rc = ioctl(fd, FS_IOC_SETFLAGS, &flags);
	}
	return result(fd, rc);
}
