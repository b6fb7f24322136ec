/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Control socket of one volume: a Unix stream socket, one JSON object per line in, one or more per line out
 * (docs/decisions/0006-control-socket.md).
 *
 * One thread accepts, samples the end of the log for the lag in seconds, and joins clients that are over. Each client has a
 * short-lived thread, so a `verify` of a large tree or a client that does not read holds up nobody else.
 *
 * Only root and the user the server runs as are answered; the socket's mode says so, and the kernel is asked again
 * (SO_PEERCRED). A socket file that nobody listens on is from a server that died: it is removed. Nothing a client sends can do
 * more than end its own connection.
 *
 * Stop: `stop` is set, every connection is shut down, threads are joined; a running verify notices within a piece.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/admin/admin_int.h"
#include "engine/start/start.h"

#define SAMPLE_MS 200
#define IDLE_MS 30000 /* a client that asks nothing for so long is disconnected */

struct client {
	struct client *next;
	struct ctl *ctl;
	pthread_t thread;
	int fd;
	bool over; /* ctl->lock */
	size_t len; /* bytes in buf */
	char buf[CTL_REQUEST_MAX];
};

struct ctl {
	struct nfs4r_engine *eng;
	int fd, wake; /* listening; eventfd that ends poll() */
	dev_t dev; /* of the socket file we made */
	ino_t ino;
	pthread_t thread;
	_Atomic bool stop;
	pthread_mutex_t lock;
	struct client *clients;
	unsigned nclients;
	struct ctl_lag lag; /* under lock */
};

/* ---- the socket file ---- */

static bool fail(char *why, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool fail(char *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, NFS4R_WHY, fmt, ap);
	va_end(ap);
	return false;
}

static bool somebody_listens(const struct sockaddr_un *addr)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc = fd < 0 ? -1 : connect(fd, (const struct sockaddr *)addr, sizeof(*addr));
	bool dead = fd >= 0 && rc != 0 && errno == ECONNREFUSED;

	if (fd >= 0)
		close(fd);
	return !dead; /* when in doubt, hands off */
}

/* The path is taken: remove what a dead server left. */
static bool remove_stale(const struct sockaddr_un *addr, char *why)
{
	struct stat st;

	if (lstat(addr->sun_path, &st) != 0 || !S_ISSOCK(st.st_mode))
		return fail(why, "Control_Socket %s exists and is not a socket; move it away or name another path", addr->sun_path);
	if (somebody_listens(addr))
		return fail(why, "Control_Socket %s is in use: another server listens on it; stop it, or give every volume its own path",
			    addr->sun_path);
	if (unlink(addr->sun_path) != 0 && errno != ENOENT)
		return fail(why, "Control_Socket %s is left over from a server that died, and cannot be removed: %s", addr->sun_path,
			    strerror(errno));
	return true;
}

static bool bind_to(struct ctl *c, const char *path, char *why)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct stat st;

	if (path[0] != '/')
		return fail(why, "Control_Socket %s is not an absolute path; write /run/nfs4r/NAME.sock", path);
	if (strnlen(path, sizeof(addr.sun_path)) >= sizeof(addr.sun_path))
		return fail(why, "Control_Socket is too long: the system allows %zu bytes; choose a shorter path", sizeof(addr.sun_path) - 1);
	memcpy(addr.sun_path, path, strlen(path) + 1);
	start_make_folder(path);
	int rc = bind(c->fd, (struct sockaddr *)&addr, sizeof(addr));
	if (rc != 0 && errno == EADDRINUSE) {
		if (!remove_stale(&addr, why))
			return false;
		rc = bind(c->fd, (struct sockaddr *)&addr, sizeof(addr));
	}
	if (rc != 0)
		return fail(why, "Control_Socket %s cannot be created: %s; its directory must exist and be writable by the server", path, strerror(errno));
	/* Nobody can connect before listen(), so the mode is in time. */
	if (chmod(path, 0600) != 0 || stat(path, &st) != 0 || listen(c->fd, 16) != 0) {
		int err = errno;

		unlink(path);
		return fail(why, "Control_Socket %s cannot be used: %s", path, strerror(err));
	}
	c->dev = st.st_dev;
	c->ino = st.st_ino;
	return true;
}

/* ---- answers; the client's thread ---- */

static bool send_all(int fd, const char *p, size_t len)
{
	while (len) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

static bool emit(void *arg, json_t *line)
{
	struct client *cl = arg;
	char *s = line ? json_dumps(line, JSON_COMPACT) : NULL;
	bool ok;

	json_decref(line);
	if (!s)
		return send_all(cl->fd, "{\"error\":\"out of memory\"}\n", 26);
	size_t len = strlen(s);
	s[len] = '\n'; /* instead of its NUL; sent by length */
	ok = send_all(cl->fd, s, len + 1);
	free(s);
	return ok;
}

static bool emit_error(struct client *cl, const char *text)
{
	return emit(cl, json_pack("{s:s}", "error", text));
}

static bool cancelled(void *arg)
{
	struct client *cl = arg;
	struct pollfd p = { .fd = cl->fd }; /* POLLHUP: gone. One that only ended its requests still reads */

	return cl->ctl->stop || (poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR));
}

static bool do_status(struct client *cl)
{
	struct ctl_lag *lag = malloc(sizeof(*lag));
	json_t *out = NULL;

	if (lag) {
		pthread_mutex_lock(&cl->ctl->lock);
		*lag = cl->ctl->lag;
		pthread_mutex_unlock(&cl->ctl->lock);
		out = admin_report_status(cl->ctl->eng, lag);
		free(lag);
	}
	return emit(cl, out);
}

static bool do_verify(struct client *cl, json_t *req)
{
	struct verify_sink sink = { .arg = cl, .emit = emit, .cancelled = cancelled };
	json_t *path = json_object_get(req, "path");

	if (path && !json_is_string(path))
		return emit_error(cl, "\"path\" must be a string");
	admin_verify_run(cl->ctl->eng, path ? json_string_value(path) : "/", NULL, &sink);
	return !cancelled(cl);
}

static bool do_repair(struct client *cl, json_t *req)
{
	struct verify_sink sink = { .arg = cl, .emit = emit, .cancelled = cancelled };
	json_t *path = json_object_get(req, "path"), *from = json_object_get(req, "from");
	struct nfs4r_engine *eng = cl->ctl->eng;
	json_int_t server = json_integer_value(from);
	struct verify_repair repair = { .from = (nfs4r_server_id)server, .dry_run = json_is_true(json_object_get(req, "dry_run")) };
	char why[200];

	if (path && !json_is_string(path))
		return emit_error(cl, "\"path\" must be a string");
	if (from && (server < 1 || server > NFS4R_SERVERS_MAX || !(eng->membership.servers & NFS4R_BIT(server)) || server == eng->cfg.rpc.self)) {
		snprintf(why, sizeof(why), "%lld is not another server of this volume; --from names the server to copy from", (long long)server);
		return emit_error(cl, why);
	}
	if (engine_is_alone(eng))
		return emit_error(cl, "this server is the only one of the volume: there is no other copy to repair it from");
	admin_verify_run(eng, path ? json_string_value(path) : "/", &repair, &sink);
	return !cancelled(cl);
}

static bool handle(struct client *cl, const char *line, size_t len)
{
	json_error_t err;
	json_t *req = json_loadb(line, len, JSON_REJECT_DUPLICATES, &err);
	const char *cmd = json_string_value(json_object_get(req, "cmd"));
	char text[300];
	bool go_on;

	if (!req) {
		snprintf(text, sizeof(text), "not JSON: %.200s", err.text);
		go_on = emit_error(cl, text);
	} else if (!cmd) {
		go_on = emit_error(cl, "a request is an object with \"cmd\": status, controls, locks, verify, repair, stats, servers, add-server, remove-server, keys, set-keys, finish-upgrade, settings, set, force-reconfigure or abandon");
	} else if (strcmp(cmd, "abandon") == 0) {
		go_on = emit(cl, admin_abandon(cl->ctl->eng, json_integer_value(json_object_get(req, "server")), json_is_true(json_object_get(req, "yes"))));
	} else if (strcmp(cmd, "status") == 0) {
		go_on = do_status(cl);
	} else if (strcmp(cmd, "controls") == 0) {
		go_on = emit(cl, admin_report_controls(cl->ctl->eng));
	} else if (strcmp(cmd, "locks") == 0) {
		go_on = emit(cl, admin_report_locks(cl->ctl->eng, req));
	} else if (strcmp(cmd, "servers") == 0) {
		go_on = emit(cl, admin_servers(cl->ctl->eng));
	} else if (strcmp(cmd, "add-server") == 0) {
		go_on = emit(cl, admin_add_server(cl->ctl->eng, req));
	} else if (strcmp(cmd, "remove-server") == 0) {
		go_on = emit(cl, admin_remove_server(cl->ctl->eng, req));
	} else if (strcmp(cmd, "keys") == 0) {
		go_on = emit(cl, admin_keys(cl->ctl->eng));
	} else if (strcmp(cmd, "set-keys") == 0) {
		go_on = emit(cl, admin_set_keys(cl->ctl->eng, req));
	} else if (strcmp(cmd, "finish-upgrade") == 0) {
		go_on = emit(cl, admin_finish_upgrade(cl->ctl->eng, req));
	} else if (strcmp(cmd, "settings") == 0) {
		go_on = emit(cl, admin_settings(cl->ctl->eng));
	} else if (strcmp(cmd, "set") == 0) {
		go_on = emit(cl, admin_set(cl->ctl->eng, req));
	} else if (strcmp(cmd, "force-reconfigure") == 0) {
		go_on = emit(cl, admin_force_reconfigure(cl->ctl->eng, req));
	} else if (strcmp(cmd, "stats") == 0) {
		go_on = emit(cl, admin_report_stats(cl->ctl->eng));
	} else if (strcmp(cmd, "verify") == 0) {
		go_on = do_verify(cl, req);
	} else if (strcmp(cmd, "repair") == 0) {
		go_on = do_repair(cl, req);
	} else {
		go_on = emit_error(cl, "unknown command; this server knows status, controls, locks, verify, repair, stats, servers, add-server, remove-server, keys, set-keys, finish-upgrade, settings, set, force-reconfigure (formerly reconfigure) and abandon (formerly give-up)");
	}
	json_decref(req);
	return go_on;
}

/* ---- one client ---- */

static bool may_ask(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 && (cred.uid == 0 || cred.uid == geteuid());
}

/* One complete line from the buffer, or more bytes. false: the connection is over. */
static bool serve_some(struct client *cl)
{
	char *nl = memchr(cl->buf, '\n', cl->len);
	struct pollfd p = { .fd = cl->fd, .events = POLLIN };

	if (nl) {
		size_t len = (size_t)(nl - cl->buf);
		bool go_on = handle(cl, cl->buf, len);

		cl->len -= len + 1;
		memmove(cl->buf, nl + 1, cl->len);
		return go_on;
	}
	if (cl->len == sizeof(cl->buf)) {
		emit_error(cl, "the request is longer than 65536 bytes");
		return false;
	}
	if (poll(&p, 1, IDLE_MS) <= 0)
		return false;
	ssize_t n = recv(cl->fd, cl->buf + cl->len, sizeof(cl->buf) - cl->len, 0);
	if (n > 0) {
		cl->len += (size_t)n;
		return true;
	}
	if (n == 0 && cl->len)
		emit_error(cl, "the request does not end with a newline");
	return n < 0 && errno == EINTR;
}

static void *client_thread(void *arg)
{
	struct client *cl = arg;

	if (!may_ask(cl->fd))
		emit_error(cl, "only root and the user that runs the server may use the control socket");
	else
		while (!cl->ctl->stop && serve_some(cl))
			;
	shutdown(cl->fd, SHUT_RDWR);
	pthread_mutex_lock(&cl->ctl->lock);
	cl->over = true;
	pthread_mutex_unlock(&cl->ctl->lock);
	return NULL;
}

/* ---- the socket's thread ---- */

static void turn_away(int fd, const char *line)
{
	(void)send(fd, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

static void accept_one(struct ctl *c)
{
	struct timeval patience = { .tv_sec = 30 };
	int fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC);
	struct client *cl;

	if (fd < 0)
		return;
	if (c->nclients >= CTL_CLIENTS_MAX) {
		turn_away(fd, "{\"error\":\"too many connections to the control socket; try again\"}\n");
		return;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	cl = malloc(sizeof(*cl));
	if (!cl) {
		turn_away(fd, "{\"error\":\"out of memory\"}\n");
		return;
	}
	cl->ctl = c;
	cl->fd = fd;
	cl->len = 0;
	cl->over = false;
	if (pthread_create(&cl->thread, NULL, client_thread, cl) != 0) {
		turn_away(fd, "{\"error\":\"the server cannot start another thread\"}\n");
		free(cl);
		return;
	}
	pthread_setname_np(cl->thread, "nfs4r-ctl-cl");
	cl->next = c->clients;
	c->clients = cl;
	c->nclients++;
}

/* Join clients that are over; all of them at the end. */
static void reap(struct ctl *c, bool all)
{
	for (struct client **p = &c->clients; *p;) {
		struct client *cl = *p;

		pthread_mutex_lock(&c->lock);
		bool over = cl->over;
		pthread_mutex_unlock(&c->lock);
		if (all && !over)
			shutdown(cl->fd, SHUT_RDWR);
		if (!all && !over) {
			p = &cl->next;
			continue;
		}
		*p = cl->next;
		c->nclients--;
		pthread_join(cl->thread, NULL);
		close(cl->fd);
		free(cl);
	}
}

static void sample(struct ctl *c)
{
	pthread_mutex_lock(&c->eng->lock);
	nfs4r_lsn end = nfs4r_core_own_end(c->eng->core);
	pthread_mutex_unlock(&c->eng->lock);
	pthread_mutex_lock(&c->lock);
	admin_lag_sample(&c->lag, engine_now_ms(), end);
	pthread_mutex_unlock(&c->lock);
}

static void *socket_thread(void *arg)
{
	struct ctl *c = arg;
	uint64_t next = 0;

	while (!c->stop) {
		struct pollfd p[2] = { { .fd = c->fd, .events = POLLIN }, { .fd = c->wake, .events = POLLIN } };

		if (engine_now_ms() >= next) {
			sample(c);
			next = engine_now_ms() + SAMPLE_MS;
		}
		if (poll(p, 2, SAMPLE_MS) > 0 && p[0].revents & POLLIN)
			accept_one(c);
		reap(c, false);
	}
	reap(c, true);
	return NULL;
}

/* ---- life ---- */

static void free_ctl(struct ctl *c)
{
	if (c->fd >= 0)
		close(c->fd);
	if (c->wake >= 0)
		close(c->wake);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

struct ctl *admin_ctl_create(struct nfs4r_engine *eng, char *why)
{
	struct ctl *c = calloc(1, sizeof(*c));

	if (!c) {
		fail(why, "out of memory");
		return NULL;
	}
	c->eng = eng;
	pthread_mutex_init(&c->lock, NULL);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->fd < 0 || c->wake < 0) {
		fail(why, "cannot create the control socket: %s", strerror(errno));
	} else if (bind_to(c, eng->cfg.control_socket, why)) {
		if (pthread_create(&c->thread, NULL, socket_thread, c) == 0) {
			pthread_setname_np(c->thread, "nfs4r-ctl");
			return c;
		}
		unlink(eng->cfg.control_socket);
		fail(why, "cannot start threads; check the process limits");
	}
	free_ctl(c);
	return NULL;
}

void admin_ctl_destroy(struct ctl *c)
{
	struct stat st;
	uint64_t one = 1;

	if (!c)
		return;
	c->stop = true;
	if (write(c->wake, &one, sizeof(one)) < 0)
		(void)one; /* it wakes by itself soon */
	pthread_join(c->thread, NULL);
	/* Only if it is still ours: somebody may have put a newer server there. */
	if (stat(c->eng->cfg.control_socket, &st) == 0 && st.st_dev == c->dev && st.st_ino == c->ino)
		unlink(c->eng->cfg.control_socket);
	free_ctl(c);
}
