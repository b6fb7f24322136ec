/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "lib/unit.h"

#include "contract/rpc/proxy.h"
#include "contract/rpc/world.h"

#define ROOM (NFS4R_MESSAGE_MAX + (1u << 16))

static void pass(int fd, const uint8_t *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

		if (n <= 0)
			return; /* it is closed: the other side hears of that soon */
		bytes += n;
		len -= (size_t)n;
	}
}

static void way_end(struct proxy_way *w)
{
	free(w->bytes);
	free(w->held);
	memset(w, 0, sizeof(*w));
}

static void conn_end(struct proxy *p, int i)
{
	for (int k = 0; k < 2; k++) {
		if (p->conn[i].fd[k] >= 0)
			close(p->conn[i].fd[k]);
		p->conn[i].fd[k] = -1;
		way_end(&p->conn[i].way[k]);
	}
}

static void mark_set(uint8_t *at, size_t len)
{
	uint32_t mark = htonl(0x80000000u | (uint32_t)len);

	memcpy(at, &mark, 4);
}

/* Two records, cut after the first record of TLS in it if there is more than one. */
static void split(int fd, const uint8_t *record, size_t len)
{
	size_t body = len - 4, first = 5 + ((size_t)record[4 + 3] << 8 | record[4 + 4]);
	uint8_t mark[4];

	if (first >= body)
		first = body / 2;
	mark_set(mark, first);
	pass(fd, mark, 4);
	pass(fd, record + 4, first);
	mark_set(mark, body - first);
	pass(fd, mark, 4);
	pass(fd, record + 4 + first, body - first);
}

/* True: the connection is to end. */
static bool act(struct proxy *p, struct proxy_way *w, int fd, uint8_t *record, size_t len, enum proxy_action what)
{
	size_t bit = atomic_load(&p->bit) % ((len - 4) * 8);

	switch (what) {
	case PROXY_FLIP:
		record[4 + bit / 8] ^= (uint8_t)(1u << bit % 8);
		pass(fd, record, len);
		break;
	case PROXY_REPEAT:
		pass(fd, record, len);
		pass(fd, record, len);
		break;
	case PROXY_SWAP:
		w->held = malloc(len);
		memcpy(w->held, record, len);
		w->held_len = len;
		break;
	case PROXY_CUT:
		pass(fd, record, len / 2);
		return true;
	case PROXY_SPLIT:
		split(fd, record, len);
		break;
	default: /* dropped */
		break;
	}
	return false;
}

/* One whole record. True: the connection is to end. */
static bool record(struct proxy *p, int i, int dir, uint8_t *bytes, size_t len)
{
	struct proxy_way *w = &p->conn[i].way[dir];
	int to = p->conn[i].fd[!dir], what = PROXY_NONE;
	bool protected = atomic_load(&p->any) || (len > 9 && bytes[4] == 0x17 && bytes[5] == 0x03 && bytes[6] == 0x03);

	if (w->held) {
		pass(to, bytes, len);
		pass(to, w->held, w->held_len);
		free(w->held);
		w->held = NULL;
		return false;
	}
	if (protected && len >= atomic_load(&p->least) && atomic_load(&p->direction) == dir)
		what = atomic_exchange(&p->action, PROXY_NONE);
	if (what == PROXY_NONE) {
		pass(to, bytes, len);
		return false;
	}
	atomic_store(&p->closed, !atomic_load(&p->open));
	return act(p, w, to, bytes, len, what);
}

/* False: the connection has ended. */
static bool bytes_came(struct proxy *p, int i, int dir)
{
	struct proxy_way *w = &p->conn[i].way[dir];
	size_t at = 0;
	ssize_t n;

	if (!w->bytes)
		w->bytes = malloc(ROOM);
	n = recv(p->conn[i].fd[dir], w->bytes + w->len, ROOM - w->len, 0);
	if (n <= 0)
		return false;
	w->len += (size_t)n;
	while (w->len - at >= 4) {
		uint32_t mark;

		memcpy(&mark, w->bytes + at, 4);
		size_t len = 4 + (ntohl(mark) & 0x7fffffff);
		if (w->len - at < len)
			break;
		if (record(p, i, dir, w->bytes + at, len))
			return false;
		at += len;
	}
	memmove(w->bytes, w->bytes + at, w->len - at);
	w->len -= at;
	return true;
}

static void accepted(struct proxy *p)
{
	int fd = accept(p->listener, NULL, NULL), i = 0, on = 1;

	while (i < PROXY_CONNS && p->conn[i].fd[0] >= 0)
		i++;
	if (fd < 0 || i == PROXY_CONNS || atomic_load(&p->closed)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	p->conn[i].fd[0] = fd;
	p->conn[i].fd[1] = raw_connect(p->from, &p->to);
	for (int k = 0; k < 2; k++) /* as the servers do: a handshake is many small records */
		setsockopt(p->conn[i].fd[k], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (p->conn[i].fd[1] < 0)
		conn_end(p, i);
}

static void *proxy_run(void *arg)
{
	struct proxy *p = arg;
	struct pollfd fds[2 + 2 * PROXY_CONNS];

	for (;;) {
		fds[0] = (struct pollfd){ p->wake[0], POLLIN, 0 };
		fds[1] = (struct pollfd){ p->listener, POLLIN, 0 };
		for (int i = 0; i < 2 * PROXY_CONNS; i++)
			fds[2 + i] = (struct pollfd){ p->conn[i / 2].fd[i % 2], POLLIN, 0 };
		poll(fds, 2 + 2 * PROXY_CONNS, -1);
		if (fds[0].revents)
			return NULL;
		for (int i = 0; i < 2 * PROXY_CONNS; i++)
			if (fds[2 + i].revents && p->conn[i / 2].fd[i % 2] == fds[2 + i].fd && !bytes_came(p, i / 2, i % 2))
				conn_end(p, i / 2);
		if (fds[1].revents)
			accepted(p);
	}
}

void proxy_start(struct proxy *p, const struct nfs4r_endpoint *at, const struct nfs4r_endpoint *to)
{
	memset(p, 0, sizeof(*p));
	p->to = *to;
	snprintf(p->from, sizeof(p->from), "%.63s", at->host);
	p->listener = raw_listen(at);
	for (int i = 0; i < PROXY_CONNS; i++)
		p->conn[i].fd[0] = p->conn[i].fd[1] = -1;
	assert_int_equal(pipe(p->wake), 0);
	assert_int_equal(pthread_create(&p->thread, NULL, proxy_run, p), 0);
}

void proxy_stop(struct proxy *p)
{
	assert_int_equal(write(p->wake[1], "", 1), 1);
	pthread_join(p->thread, NULL);
	for (int i = 0; i < PROXY_CONNS; i++)
		conn_end(p, i);
	close(p->listener);
	close(p->wake[0]);
	close(p->wake[1]);
}
