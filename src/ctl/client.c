/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The connection to a server: find its socket, send a request line, read answer lines. Every failure says what to
 * try next, because who calls this usually has a problem already.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl/ctl.h"

#define WHY CTL_WHY

struct ctl_conn {
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	int fd;
	FILE *in;
	char *line;
	size_t cap;
	unsigned patience_s;
};

static bool several(const glob_t *g, char *why)
{
	int n = snprintf(why, WHY, "this machine serves several volumes; choose one with --socket:");

	for (size_t i = 0; i < g->gl_pathc; i++) {
		if ((size_t)n + strlen(g->gl_pathv[i]) + 40 > WHY) { /* whole paths only */
			snprintf(why + n, (size_t)(WHY - n), " and %zu more", g->gl_pathc - i);
			break;
		}
		n += snprintf(why + n, (size_t)(WHY - n), " %s", g->gl_pathv[i]);
	}
	errno = EEXIST;
	return false;
}

/* Process that holds the lock of one of @folder's pid files, as Ganesha does for as long as it runs; 0: none. *file: that file. */
static long runs_here(const char *folder, char *file, size_t len)
{
	char pattern[256];
	glob_t g = { 0 };
	long pid = 0;

	snprintf(pattern, sizeof(pattern), "%.240s/*.pid", folder);
	(void)glob(pattern, 0, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc && !pid; i++) {
		struct flock lk = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
		int fd = open(g.gl_pathv[i], O_RDONLY | O_CLOEXEC);

		if (fd >= 0 && fcntl(fd, F_GETLK, &lk) == 0 && lk.l_type != F_UNLCK) {
			pid = lk.l_pid ? lk.l_pid : -1;
			snprintf(file, len, "%s", g.gl_pathv[i]);
		}
		if (fd >= 0)
			close(fd);
	}
	globfree(&g);
	return pid;
}

/* The daemon of the socket @path waits before it starts, and says why (src/engine/start/start_wait.c). False: it does not; what is there is from one that was killed. */
static bool waits(const char *path, char *text, size_t len)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	ssize_t n = locked ? read(fd, text, len - 1) : 0;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return true;
}

/* As waits(), of the socket @path, or with NULL of any in @folder. */
static bool somebody_waits(const char *folder, const char *path, char *text, size_t len)
{
	char pattern[256];
	glob_t g = { 0 };
	bool found = false;

	if (path) {
		snprintf(pattern, sizeof(pattern), "%.240s.waits", path);
		return waits(pattern, text, len);
	}
	snprintf(pattern, sizeof(pattern), "%.240s/*.waits", folder);
	(void)glob(pattern, 0, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc && !found; i++)
		found = waits(g.gl_pathv[i], text, len);
	globfree(&g);
	return found;
}

/* There is no socket, or nobody listens on it. @path: it, or NULL; @what: which one, and how that is. */
static bool nobody(const char *folder, const char *path, const char *what, char *why)
{
	char file[256], text[WHY - 400];
	long pid = runs_here(folder, file, sizeof(file));

	if (somebody_waits(folder, path, text, sizeof(text)))
		snprintf(why, WHY, "%.250s: the server waits before it starts, and will continue by itself: %s", what, text);
	else if (pid)
		snprintf(why, WHY,
			 "%.250s, but a server runs (process %ld of %s). It is still starting, or serves another volume, or its REPL block has no Control_Socket, or another one: its log "
			 "says which (journalctl -u 'nfs4r@*')",
			 what, pid, file);
	else
		snprintf(why, WHY, "%.250s: no server seems to run here; start it (systemctl start nfs4r@NAME; its log says why it ended), or name its Control_Socket with --socket", what);
	errno = ENOENT;
	return false;
}

bool ctl_find_socket(const char *env, const char *folder, char *path, size_t path_len, char *why)
{
	char pattern[256];
	glob_t g = { 0 };
	bool ok = false;

	if (env && *env) {
		snprintf(path, path_len, "%s", env);
		return true;
	}
	snprintf(pattern, sizeof(pattern), "%s/*.sock", folder);
	(void)glob(pattern, 0, NULL, &g);
	if (g.gl_pathc == 1) {
		snprintf(path, path_len, "%s", g.gl_pathv[0]);
		ok = true;
	} else if (g.gl_pathc == 0) {
		snprintf(pattern, sizeof(pattern), "there is no socket in %s", folder);
		nobody(folder, NULL, pattern, why);
	} else {
		several(&g, why);
	}
	globfree(&g);
	return ok;
}

/* connect() failed with errno. */
static void explain(const char *path, char *why)
{
	char folder[sizeof(((struct sockaddr_un *)NULL)->sun_path)], what[200];
	int err = errno;
	char *slash;

	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	snprintf(what, sizeof(what), "%s %s", path, err == ENOENT ? "is not there" : "is left over from a server that has ended");
	if (err == ENOENT || err == ECONNREFUSED)
		nobody(slash ? folder : ".", path, what, why);
	else if (err == EACCES || err == EPERM)
		snprintf(why, WHY, "%s: only root and the user that runs the server may use the control socket", path);
	else
		snprintf(why, WHY, "%s: %s", path, strerror(err));
	errno = err;
}

static void hang_up(struct ctl_conn *c)
{
	if (c->in)
		fclose(c->in);
	else if (c->fd >= 0)
		close(c->fd);
	c->in = NULL;
	c->fd = -1;
}

bool ctl_again(struct ctl_conn *c, char *why)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	hang_up(c);
	memcpy(addr.sun_path, c->path, sizeof(addr.sun_path));
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&addr, sizeof(addr)) != 0) {
		explain(c->path, why);
		return false;
	}
	c->in = fdopen(c->fd, "r");
	if (!c->in)
		snprintf(why, WHY, "out of memory");
	return c->in != NULL;
}

struct ctl_conn *ctl_connect(const char *path, char *why)
{
	struct ctl_conn *c;

	if (strlen(path) >= sizeof(c->path)) {
		snprintf(why, WHY, "%.100s...: the path of a socket has at most %zu bytes", path, sizeof(c->path) - 1);
		errno = ENAMETOOLONG;
		return NULL;
	}
	c = calloc(1, sizeof(*c));
	if (!c) {
		snprintf(why, WHY, "out of memory");
		return NULL;
	}
	c->fd = -1;
	memcpy(c->path, path, strlen(path) + 1);
	if (ctl_again(c, why))
		return c;
	int err = errno;
	ctl_close(c);
	errno = err;
	return NULL;
}

void ctl_close(struct ctl_conn *c)
{
	if (!c)
		return;
	hang_up(c);
	free(c->line);
	free(c);
}

bool ctl_ask(struct ctl_conn *c, const char *cmd, const char *path, unsigned patience_s, char *why)
{
	if (ctl_send(c, json_pack("{s:s, s:s*}", "cmd", cmd, "path", path), patience_s))
		return true;
	snprintf(why, WHY, "%s is not UTF-8; name its parent directory instead", path ? path : cmd);
	return false;
}

bool ctl_send(struct ctl_conn *c, json_t *req, unsigned patience_s)
{
	struct timeval tv = { .tv_sec = patience_s };
	char *s = req ? json_dumps(req, JSON_COMPACT) : NULL;
	size_t len = s ? strlen(s) : 0, done = 0;

	json_decref(req);
	c->patience_s = patience_s;
	setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	if (!s)
		return false;
	s[len] = '\n'; /* instead of its NUL; sent by length */
	while (done < len + 1) {
		ssize_t n = send(c->fd, s + done, len + 1 - done, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break; /* what the server said before it hung up is still to be read */
		done += (size_t)n;
	}
	free(s);
	return true;
}

json_t *ctl_next(struct ctl_conn *c, char *why)
{
	json_error_t err;
	json_t *a;

	errno = 0;
	ssize_t n = getline(&c->line, &c->cap, c->in);
	if (n <= 0) {
		if (ferror(c->in) && (errno == EAGAIN || errno == EWOULDBLOCK))
			snprintf(why, WHY, "the server did not answer for %u s", c->patience_s);
		else
			snprintf(why, WHY, "the server closed the connection before its answer was complete; see its log");
		return NULL;
	}
	a = json_loadb(c->line, (size_t)n, 0, &err);
	if (json_is_object(a))
		return a;
	if (c->line[n - 1] != '\n')
		snprintf(why, WHY, "the server closed the connection before its answer was complete; see its log");
	else if (!a && c->line[0] == '{')
		snprintf(why, WHY, "the server's answer is damaged: %.200s, at byte %d", err.text, err.position);
	else
		snprintf(why, WHY, "this socket does not belong to an NFSv4.r server: the answer is not a JSON object");
	json_decref(a);
	return NULL;
}
