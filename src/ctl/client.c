/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The connection to a server: find its socket, send a request line, read answer lines. Every failure says what to
 * try next, because who calls this usually has a problem already.
 */
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl/ctl.h"

#define WHY 512

struct ctl_conn {
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	int fd;
	FILE *in;
	char *line;
	size_t cap;
	unsigned patience_s;
};

static bool several(const glob_t *g, const char *folder, char *why)
{
	int n = snprintf(why, WHY, "several volumes are served here; choose one with --socket:");

	for (size_t i = 0; i < g->gl_pathc && n > 0 && n < WHY; i++)
		n += snprintf(why + n, (size_t)(WHY - n), " %s", g->gl_pathv[i]);
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
		snprintf(why, WHY, "no server seems to run here: no socket in %s; start it, or name its Control_Socket with --socket", folder);
	} else {
		several(&g, folder, why);
	}
	globfree(&g);
	return ok;
}

static const char *advice(int err)
{
	switch (err) {
	case ENOENT:
		return "no server seems to run here; start it, or name its Control_Socket with --socket";
	case ECONNREFUSED:
		return "the server that made this socket is gone; start it again";
	case EACCES:
	case EPERM:
		return "only root and the user that runs the server may ask";
	default:
		return strerror(err);
	}
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
		snprintf(why, WHY, "%s: %s", c->path, advice(errno));
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
	ctl_close(c);
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
	snprintf(why, WHY, "%s is not UTF-8; name the folder above it instead", path ? path : cmd);
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
			snprintf(why, WHY, "the server ended the connection without a complete answer; look into its log");
		return NULL;
	}
	a = json_loadb(c->line, (size_t)n, 0, &err);
	if (json_is_object(a))
		return a;
	if (c->line[n - 1] != '\n')
		snprintf(why, WHY, "the server ended the connection without a complete answer; look into its log");
	else if (!a && c->line[0] == '{')
		snprintf(why, WHY, "the server's answer is damaged: %.200s, at byte %d", err.text, err.position);
	else
		snprintf(why, WHY, "what answers on this socket is not an NFSv4.r server: not a JSON object");
	json_decref(a);
	return NULL;
}
