/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Whose store this is: the lock on the directory, volume, server id and disk format, the kernel's boot id,
 * the random part of an incarnation. Each refusal names what was found and what to do about it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "store/internal.h"

enum nfs4r_status store_ident_lock(struct nfs4r_store *s, const char *dir, char *why)
{
	char pid[24] = "";
	ssize_t n;

	s->lockfd = openat(s->dirfd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->lockfd < 0)
		return nfs4r_refuse(why, nfs4r_status_from_errno(errno), "cannot open %s/lock: %s", dir,
				    strerror(errno));
	if (!flock(s->lockfd, LOCK_EX | LOCK_NB)) {
		n = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
		/* Only for people; a full disk must not keep a server from starting to read. */
		if (ftruncate(s->lockfd, 0) || pwrite(s->lockfd, pid, n, 0) != n)
			return NFS4R_OK;
		return NFS4R_OK;
	}
	if (errno != EWOULDBLOCK)
		return nfs4r_refuse(why, nfs4r_status_from_errno(errno), "cannot lock %s/lock: %s", dir,
				    strerror(errno));
	n = pread(s->lockfd, pid, sizeof(pid) - 1, 0);
	pid[n > 0 ? n : 0] = 0;
	pid[strcspn(pid, "\n")] = 0;
	return nfs4r_refuse(why, NFS4R_LOCKED,
			    "%s is in use by process %s: stop that server first, or give this server its own directory",
			    dir, pid[0] ? pid : "(unknown)");
}

enum nfs4r_status store_ident_boot_id(const char *given, char out[BOOT_ID_LEN], char *why)
{
	static const char path[] = "/proc/sys/kernel/random/boot_id";
	ssize_t n;
	int fd;

	memset(out, 0, BOOT_ID_LEN);
	if (given) {
		snprintf(out, BOOT_ID_LEN, "%s", given);
		return NFS4R_OK;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, out, BOOT_ID_LEN - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return nfs4r_refuse(why, NFS4R_IO, "cannot read %s: is /proc mounted?", path);
	out[n] = 0;
	out[strcspn(out, "\n")] = 0;
	return NFS4R_OK;
}

enum nfs4r_status store_ident_random(uint64_t *out)
{
	if (getrandom(out, sizeof(*out), 0) != sizeof(*out))
		return NFS4R_IO;
	*out |= !*out; /* 0 means that there is none */
	return NFS4R_OK;
}
