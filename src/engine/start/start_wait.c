/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Why a daemon that waits before it starts does so (log 4.15), for `nfs4rctl`: there is no control socket yet that it could ask.
 *
 * Happy path: the reason is in a file beside the socket, PATH.waits, for as long as the daemon waits. The daemon holds a lock (flock) of that file, so what one
 * that was killed has left there is known for what it is.
 *
 * Failure modes: the file cannot be made or written (its disk is full, too): nfs4rctl says only that the daemon is starting, and the log has the reason.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/start/start.h"

static bool path_of(const struct nfs4r_config *cfg, char *out, size_t len)
{
	return cfg->control_socket[0] == '/' && (size_t)snprintf(out, len, "%s" NFS4R_WAITS, cfg->control_socket) < len;
}

/* The last folder of the path is made when missing: /run is empty after every boot. */
void start_make_folder(const char *path)
{
	char dir[108];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash && slash != dir) {
		*slash = '\0';
		(void)mkdir(dir, 0755); /* bind() tells if that was not enough */
	}
}

void nfs4r_start_waits(const struct nfs4r_config *cfg, int *fd, const char *why)
{
	char path[sizeof(cfg->control_socket) + sizeof(NFS4R_WAITS)];
	size_t len = strlen(why);

	if (!path_of(cfg, path, sizeof(path)))
		return;
	if (*fd < 0) {
		start_make_folder(path);
		*fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	}
	if (*fd < 0 || flock(*fd, LOCK_EX) != 0 || ftruncate(*fd, 0) != 0)
		return;
	if (pwrite(*fd, why, len, 0) != (ssize_t)len)
		(void)ftruncate(*fd, 0); /* no half a sentence */
}

void nfs4r_start_goes_on(const struct nfs4r_config *cfg, int *fd)
{
	char path[sizeof(cfg->control_socket) + sizeof(NFS4R_WAITS)];

	if (*fd < 0 || !path_of(cfg, path, sizeof(path)))
		return;
	unlink(path);
	close(*fd);
	*fd = -1;
}
