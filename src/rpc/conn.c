/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One TCP connection: bytes in, records out.
 *
 * Happy path of a write: records of the lane are taken in batches and given to the kernel at
 * once, many in one writev (bulk.c gives out those of lane BULK); only what the socket does not take becomes a pending write of
 * libuv, and the rest of the lane waits for its end. The transport's own messages go first.
 *
 * Failure: an error of the socket, its end, or a broken rule ends the connection, and with it
 * its peer (rpc_conn_fail), unless it is one of several. A connection that was refused lingers: the other side has to read
 * the reason before a reset could overtake it.
 *
 * Invariants: at most one write is pending; a closed connection is freed by libuv's callback
 * only, or when the last work for it is done, so that those below it on the stack may still look at its state.
 */
#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "rpc/rpc_internal.h"

struct rpc_conn *rpc_conn_new(struct nfs4r_rpc *rpc)
{
	struct rpc_conn *c;

	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->in = malloc(RPC_READ_BYTES);
	if (!c->in || uv_tcp_init(&rpc->loop, &c->tcp) != 0) {
		free(c->in);
		free(c);
		return NULL;
	}
	c->rpc = rpc;
	c->ops = nfs4r_security_find(NFS4R_SECURITY_NONE);
	c->tcp.data = c;
	c->created_ms = c->received_ms = uv_now(&rpc->loop);
	c->next = rpc->conns;
	if (c->next)
		c->next->prev = c;
	rpc->conns = c;
	return c;
}

static void conn_free(struct rpc_conn *c)
{
	if (c->renewal.session && c->ops->close)
		c->ops->close(c->renewal.session);
	if (c->security && c->ops->close)
		c->ops->close(c->security);
	rpc_nodes_free(c->writing);
	rpc_queue_drop(&c->own);
	rpc_protect_free(c);
	rpc_record_free(c);
	free(c->in);
	free(c);
}

/* What another thread does for it goes on, and has it until then. */
static void conn_closed(uv_handle_t *h)
{
	struct rpc_conn *c = h->data;
	struct nfs4r_rpc *rpc = c->rpc;

	if (c->prev)
		c->prev->next = c->next;
	else
		rpc->conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	rpc->nstrangers -= c->stranger;
	c->freed = true;
	if (!c->works)
		conn_free(c);
}

void rpc_conn_leave(struct rpc_conn *c)
{
	assert(c->works > 0);
	if (--c->works == 0 && c->freed)
		conn_free(c);
}

void rpc_conn_close(struct rpc_conn *c)
{
	assert(rpc_is_mine(c->rpc));
	if (c->state == RPC_CONN_CLOSED)
		return;
	c->state = RPC_CONN_CLOSED;
	if (c->peer && c->peer->conns[rpc_conn_slot(c)] == c) {
		c->peer->conns[rpc_conn_slot(c)] = NULL;
		rpc_bulk_gone(c);
	}
	if (c->asks && c->peer)
		c->peer->asking = false;
	uv_close((uv_handle_t *)&c->tcp, conn_closed);
}

void rpc_conn_fail(struct rpc_conn *c, const char *fmt, ...)
{
	struct rpc_peer *p = c->peer;
	char why[NFS4R_WHY];
	va_list ap;

	if (rpc_conn_dead(c))
		return;
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	if (p && p->conns[rpc_conn_slot(c)] == c) {
		if (rpc_bulk_spare(c))
			rpc_bulk_lost(c, why);
		else
			rpc_peer_down(p, false, why);
		return;
	}
	if (!c->asks) /* a question without an answer is asked again */
		rpc_log_limited(c->rpc, NFS4R_LOG_WARN, rpc_log_key(RPC_LOG_HANDSHAKE, 0, &c->addr),
				"connection from %s closed before it sent its identity: %s", c->from, why);
	rpc_conn_close(c);
}

uint64_t rpc_conn_in_kernel(const struct rpc_conn *c, unsigned long what)
{
	uv_os_fd_t fd;
	int n = 0;

	return uv_fileno((const uv_handle_t *)&c->tcp, &fd) == 0 && ioctl(fd, what, &n) == 0 && n > 0 ? (uint64_t)n : 0;
}

static void conn_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *buf)
{
	rpc_record_space(h->data, buf);
}

/* Nothing more of it is read while the peer has too much under way here. */
static void conn_stop_if_full(struct rpc_conn *c)
{
	if (rpc_conn_dead(c) || c->paused || !rpc_conn_is_full(c))
		return;
	c->stopped = true;
	uv_read_stop((uv_stream_t *)&c->tcp);
}

static void conn_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
	struct rpc_conn *c = s->data;

	if (c->state == RPC_CONN_CLOSED || n == 0)
		return;
	if (c->state == RPC_CONN_LINGER) {
		if (n < 0)
			rpc_conn_close(c);
		return;
	}
	if (n < 0) {
		rpc_conn_fail(c, n == UV_EOF ? "the other side closed the connection%s" : "connection lost: %s",
			      n == UV_EOF ? "" : uv_strerror((int)n));
		return;
	}
	c->received_ms = uv_now(&c->rpc->loop);
	if (c->peer)
		atomic_fetch_add_explicit(&c->peer->bytes_received, (unsigned long)n,
					  memory_order_relaxed);
	rpc_record_read(c, (size_t)n);
	rpc_record_parse(c);
	conn_stop_if_full(c);
}

void rpc_conn_start(struct rpc_conn *c)
{
	int err;

	uv_tcp_nodelay(&c->tcp, 1);
	uv_tcp_keepalive(&c->tcp, 1, 30);
	rpc_tune(c->rpc, (uv_handle_t *)&c->tcp);
	rpc_tune_silence((uv_handle_t *)&c->tcp, c->rpc->cfg.silence_ms);
	c->state = RPC_CONN_HELLO;
	err = uv_read_start((uv_stream_t *)&c->tcp, conn_alloc, conn_read);
	if (err)
		rpc_conn_fail(c, "cannot be read from: %s", uv_strerror(err));
}

void rpc_conn_silence(struct rpc_conn *c)
{
	if (c->state == RPC_CONN_CONNECTING || rpc_conn_dead(c) || (c->state == RPC_CONN_READY && c->lane == NFS4R_LANE_REQUEST))
		return; /* not yet, not any more, or never (rpc_tune_paused()) */
	rpc_tune_silence((uv_handle_t *)&c->tcp, c->rpc->cfg.silence_ms);
}

void rpc_conn_resume(struct rpc_conn *c)
{
	if (!c->paused)
		return;
	c->paused = false;
	rpc_record_parse(c);
	if (rpc_conn_dead(c) || c->paused)
		return;
	if (rpc_conn_is_full(c)) {
		c->stopped = true;
		return;
	}
	int err = uv_read_start((uv_stream_t *)&c->tcp, conn_alloc, conn_read);
	if (err && err != UV_EALREADY)
		rpc_conn_fail(c, "cannot be read from: %s", uv_strerror(err));
}

void rpc_conn_go_on(struct rpc_conn *c)
{
	if (c->opened || c->arrived)
		rpc_protect_go_on(c);
	if (!c->stopped || rpc_conn_is_full(c) || rpc_conn_dead(c))
		return;
	rpc_record_parse(c); /* it may fill up again */
	if (rpc_conn_dead(c) || rpc_conn_is_full(c))
		return;
	c->stopped = false;
	c->received_ms = uv_now(&c->rpc->loop);
	int err = uv_read_start((uv_stream_t *)&c->tcp, conn_alloc, conn_read);
	if (err && err != UV_EALREADY)
		rpc_conn_fail(c, "cannot be read from: %s", uv_strerror(err));
}

static void conn_tell(struct rpc_conn *c, const struct nfs4r_transport_msg_body *m, bool keys)
{
	struct rpc_node *n = rpc_node_new(nfs4r_transport_msg_encode(m));

	if (!n) {
		rpc_conn_fail(c, "no memory");
		return;
	}
	n->plain = !c->secured;
	n->keys = keys;
	rpc_queue_push(&c->own, n);
	rpc_conn_flush(c);
}

void rpc_conn_tell(struct rpc_conn *c, const struct nfs4r_transport_msg_body *m)
{
	conn_tell(c, m, false);
}

void rpc_conn_tell_keys(struct rpc_conn *c)
{
	struct nfs4r_transport_msg_body m = { .type = NFS4R_MSG_KEYS };

	conn_tell(c, &m, true);
}

void rpc_conn_keepalive(struct rpc_conn *c, bool answer, uint64_t clock_ns)
{
	struct nfs4r_transport_msg_body m = { .type = NFS4R_MSG_KEEPALIVE };

	/* A peer that asks without reading must not fill our memory. */
	if (c->own.bytes > RPC_READ_BYTES)
		return;
	m.keepalive.answer = answer;
	m.keepalive.clock_ns = clock_ns;
	if (answer)
		m.keepalive.day_ns = c->rpc->cfg.day_ns();
	if (!answer)
		c->pinged_ms = uv_now(&c->rpc->loop);
	rpc_conn_tell(c, &m);
}

/* The records of a write have left. */
static void conn_written(struct rpc_conn *c)
{
	struct rpc_peer *p = c->peer;

	if (c->writing_messages > 0 && p && p->conns[rpc_conn_slot(c)] == c) {
		pthread_mutex_lock(&p->lock);
		p->queues[c->lane].bytes -= c->writing_bytes;
		pthread_mutex_unlock(&p->lock);
		atomic_fetch_add_explicit(&p->messages_sent, c->writing_messages,
					  memory_order_relaxed);
	}
	rpc_nodes_free(c->writing);
	c->writing = NULL;
	c->writing_bytes = c->writing_messages = 0;
}

static void conn_write_done(uv_write_t *req, int status)
{
	struct rpc_conn *c = req->data;

	c->write_pending = false;
	if (c->state == RPC_CONN_CLOSED)
		return;
	conn_written(c);
	if (status < 0) {
		if (c->state == RPC_CONN_LINGER)
			rpc_conn_close(c);
		else
			rpc_conn_fail(c, "connection lost: %s", uv_strerror(status));
		return;
	}
	rpc_conn_write_more(c);
}

void rpc_conn_write_more(struct rpc_conn *c)
{
	rpc_conn_flush(c);
	if (c->state == RPC_CONN_READY && c->lane == NFS4R_LANE_BULK)
		rpc_bulk_flush(c->peer);
}

/* Next batch into c->writing, but of lane BULK, which bulk.c gives out; false: nothing to write. */
static bool conn_take(struct rpc_conn *c)
{
	struct rpc_peer *p = c->peer;
	uint64_t own_bytes, bytes = 0;
	uint32_t own, n = 0;
	struct rpc_node *list, *tail;

	list = rpc_queue_take(&c->own, RPC_BATCH_NODES, RPC_BATCH_BYTES, &own, &own_bytes);
	c->own.bytes -= own_bytes;
	if (c->state == RPC_CONN_READY && p && c->lane != NFS4R_LANE_BULK && own < RPC_BATCH_NODES) {
		struct rpc_node *more = NULL;

		pthread_mutex_lock(&p->lock);
		if (p->up)
			more = rpc_queue_take(&p->queues[c->lane], RPC_BATCH_NODES - own, RPC_BATCH_BYTES, &n, &bytes);
		pthread_mutex_unlock(&p->lock);
		for (tail = list; tail && tail->next; tail = tail->next)
			;
		if (tail)
			tail->next = more;
		else
			list = more;
	}
	c->writing = list;
	c->writing_messages = n;
	c->writing_bytes = bytes;
	return list != NULL;
}

bool rpc_conn_write_wrapped(struct rpc_conn *c, uint64_t *total)
{
	uv_buf_t iov[2 * RPC_BATCH_NODES];
	uint32_t n = 0, skip = 0;
	uint64_t bytes = 0;
	int done;

	for (struct rpc_node *node = c->writing; node; node = node->next) {
		iov[n++] = uv_buf_init((char *)&node->mark, sizeof(node->mark));
		iov[n++] = uv_buf_init((char *)node->buf->data, node->buf->len);
		bytes += rpc_node_bytes(node);
	}
	*total += bytes;
	c->given += bytes;
	if (c->peer)
		atomic_fetch_add_explicit(&c->peer->bytes_sent, bytes, memory_order_relaxed);
	done = uv_try_write((uv_stream_t *)&c->tcp, iov, n);
	if (done < 0 && done != UV_EAGAIN) {
		rpc_conn_fail(c, "connection lost: %s", uv_strerror(done));
		return false;
	}
	if (done == (int64_t)bytes) {
		conn_written(c);
		return true;
	}
	for (; done > 0 && (size_t)done >= iov[skip].len; skip++)
		done -= (int)iov[skip].len;
	if (done > 0) {
		iov[skip].base += done;
		iov[skip].len -= (size_t)done;
	}
	c->write_req.data = c;
	c->write_pending = true;
	done = uv_write(&c->write_req, (uv_stream_t *)&c->tcp, iov + skip, n - skip, conn_write_done);
	if (done < 0) {
		c->write_pending = false;
		rpc_conn_fail(c, "connection lost: %s", uv_strerror(done));
	}
	return false;
}

bool rpc_conn_write(struct rpc_conn *c, uint64_t *total)
{
	assert(rpc_is_mine(c->rpc));
	if (rpc_protect_apart(c)) {
		for (const struct rpc_node *n = c->writing; n; n = n->next)
			*total += rpc_node_bytes(n);
		c->write_pending = c->wrap_due = true;
		rpc_protect_begin(c);
		return false;
	}
	if (!rpc_protect_here(c, c->writing)) {
		rpc_conn_fail(c, "a message could not be protected");
		return false;
	}
	return rpc_conn_write_wrapped(c, total);
}

static void conn_shut(uv_shutdown_t *req, int status)
{
	/* What follows is the other side's end, or the tick's patience. */
}

void rpc_conn_flush(struct rpc_conn *c)
{
	uint64_t total = 0;

	while (!c->write_pending && c->state != RPC_CONN_CLOSED &&
	       c->state != RPC_CONN_CONNECTING && conn_take(c)) {
		if (!rpc_conn_write(c, &total))
			return;
		if (total >= RPC_TURN_BYTES) {
			uv_async_send(&c->rpc->wake);
			return;
		}
	}
	if (c->state == RPC_CONN_LINGER && !c->write_pending && !c->shutdown_req.data) {
		c->shutdown_req.data = c;
		uv_shutdown(&c->shutdown_req, (uv_stream_t *)&c->tcp, conn_shut);
	}
}

void rpc_conn_linger(struct rpc_conn *c)
{
	if (rpc_conn_dead(c))
		return;
	if (c->peer && c->peer->conns[rpc_conn_slot(c)] == c) {
		c->peer->conns[rpc_conn_slot(c)] = NULL;
		rpc_bulk_gone(c);
	}
	c->peer = NULL;
	c->state = RPC_CONN_LINGER;
	c->created_ms = uv_now(&c->rpc->loop);
	c->paused = false;
	c->in_len = c->fragment_left = 0;
	uv_read_start((uv_stream_t *)&c->tcp, conn_alloc, conn_read);
	rpc_conn_flush(c);
}
