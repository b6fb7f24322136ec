/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The one table of statuses: value, errno, text. */
#include "base/status.h"

#include <errno.h>
#include <stddef.h>

static const struct {
	enum nfs4r_status st;
	int err;
	const char *text;
} table[] = {
	{ NFS4R_OK, 0, "success" },
	{ NFS4R_PERM, EPERM, "operation not permitted" },
	{ NFS4R_NOENT, ENOENT, "no such file or directory" },
	{ NFS4R_IO, EIO, "input/output error" },
	{ NFS4R_NXIO, ENXIO, "no such device, or no data beyond this offset" },
	{ NFS4R_ACCES, EACCES, "permission denied" },
	{ NFS4R_EXIST, EEXIST, "file exists" },
	{ NFS4R_XDEV, EXDEV, "crosses a file system boundary" },
	{ NFS4R_NOTDIR, ENOTDIR, "not a directory" },
	{ NFS4R_ISDIR, EISDIR, "is a directory" },
	{ NFS4R_INVAL, EINVAL, "invalid argument" },
	{ NFS4R_FBIG, EFBIG, "file too large" },
	{ NFS4R_NOSPC, ENOSPC, "no space left on device" },
	{ NFS4R_ROFS, EROFS, "read-only file system" },
	{ NFS4R_MLINK, EMLINK, "too many links" },
	{ NFS4R_NAMETOOLONG, ENAMETOOLONG, "name too long" },
	{ NFS4R_NOTEMPTY, ENOTEMPTY, "directory not empty" },
	{ NFS4R_DQUOT, EDQUOT, "disk quota exceeded" },
	{ NFS4R_STALE, ESTALE, "object no longer exists" },
	{ NFS4R_NOXATTR, ENODATA, "no such extended attribute" },
	{ NFS4R_XATTR2BIG, ERANGE, "extended attribute too big" },
	{ NFS4R_NOTSUPP, EOPNOTSUPP, "not supported" },
	{ NFS4R_SYMLINK, ELOOP, "is a symbolic link" },
	{ NFS4R_BADTYPE, EINVAL, "wrong object type" },
	{ NFS4R_DELAY, EAGAIN, "not now, try again" },
	{ NFS4R_DENIED, EAGAIN, "locked by another owner" },
	{ NFS4R_BLOCKED, EAGAIN, "locked by another owner, the request waits" },
	{ NFS4R_NOLCK, ENOLCK, "no locks available" },
	{ NFS4R_SHARE_DENIED, EBUSY, "denied by another open" },
	{ NFS4R_NOT_PRIMARY, EAGAIN, "server does not control the object" },
	{ NFS4R_UNKNOWN, EAGAIN, "object not here yet" },
	{ NFS4R_ORPHAN, ESTALE, "object has lost its last name" },
	{ NFS4R_NOMEM, ENOMEM, "out of memory" },
	{ NFS4R_MALFORMED, EBADMSG, "malformed bytes" },
	{ NFS4R_TOOBIG, EMSGSIZE, "length above its limit" },
	{ NFS4R_CORRUPT, EIO, "stored data is corrupt" },
	{ NFS4R_MISMATCH, EINVAL, "identity or version differs" },
	{ NFS4R_LOCKED, EBUSY, "in use by another process" },
	{ NFS4R_SHUTDOWN, ESHUTDOWN, "shutting down" },
	{ NFS4R_BADCONFIG, EINVAL, "bad configuration" },
	{ NFS4R_HUNG, EIO, "no answer for too long" },
};

#define ROWS (sizeof(table) / sizeof(table[0]))

const char *nfs4r_status_str(enum nfs4r_status st)
{
	for (size_t i = 0; i < ROWS; i++)
		if (table[i].st == st)
			return table[i].text;
	return "unknown status";
}

enum nfs4r_status nfs4r_status_from_errno(int err)
{
	if (err == EBADF || err == ENOTCONN)
		return NFS4R_IO;
	for (size_t i = 0; i < ROWS; i++)
		if (table[i].err == err)
			return table[i].st;
	return NFS4R_IO;
}

int nfs4r_status_to_errno(enum nfs4r_status st)
{
	for (size_t i = 0; i < ROWS; i++)
		if (table[i].st == st)
			return table[i].err;
	return EIO;
}
