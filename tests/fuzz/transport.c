/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See transport.h. */
#include "fuzz/transport.h"

static uv_connect_cb called;

/* ---- in place of libuv's sockets ---- */

int __wrap_uv_try_write(uv_stream_t *s, const uv_buf_t bufs[], unsigned n);
int __wrap_uv_read_start(uv_stream_t *s, uv_alloc_cb alloc, uv_read_cb cb);
int __wrap_uv_tcp_bind(uv_tcp_t *t, const struct sockaddr *addr, unsigned flags);
int __wrap_uv_tcp_connect(uv_connect_t *req, uv_tcp_t *t, const struct sockaddr *addr, uv_connect_cb cb);
int __wrap_uv_shutdown(uv_shutdown_t *req, uv_stream_t *s, uv_shutdown_cb cb);

int __wrap_uv_try_write(uv_stream_t *s, const uv_buf_t bufs[], unsigned n)
{
	size_t all = 0;
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++) {
		all += bufs[i].len;
		for (size_t k = 0; k < bufs[i].len; k++)
			sum += (unsigned char)bufs[i].base[k]; /* the sanitizers look at what would be sent */
		fuzz_sent(s->data, bufs[i].base, bufs[i].len);
	}
	*(volatile unsigned *)&sum = sum;
	return (int)all;
}

int __wrap_uv_read_start(uv_stream_t *s, uv_alloc_cb alloc, uv_read_cb cb)
{
	return 0;
}

int __wrap_uv_tcp_bind(uv_tcp_t *t, const struct sockaddr *addr, unsigned flags)
{
	return 0;
}

int __wrap_uv_tcp_connect(uv_connect_t *req, uv_tcp_t *t, const struct sockaddr *addr, uv_connect_cb cb)
{
	called = cb;
	return 0;
}

int __wrap_uv_shutdown(uv_shutdown_t *req, uv_stream_t *s, uv_shutdown_cb cb)
{
	return 0;
}

/* ---- events ---- */

void fuzz_up(void *ctx, nfs4r_server_id peer, uint64_t inc)
{
}

void fuzz_down(void *ctx, nfs4r_server_id peer, const char *why)
{
	FUZZ_CHECK(why[0] && strlen(why) < NFS4R_WHY);
}

void fuzz_note(void *ctx, enum nfs4r_log_level level, const char *text)
{
	FUZZ_CHECK(strlen(text) > 0);
}

/* ---- the transport ---- */

void fuzz_transport_config(struct nfs4r_rpc_config *cfg, nfs4r_server_id id)
{
	nfs4r_rpc_config_init(cfg);
	cfg->self = id;
	cfg->security = NFS4R_SECURITY_NONE;
	cfg->any_port = true;
	cfg->nservers = 3;
	cfg->queue_bytes_max = 1 << 16;
	for (uint32_t i = 0; i < 3; i++) {
		cfg->servers[i].id = (nfs4r_server_id)(i + 1);
		cfg->servers[i].port = 2050;
		snprintf(cfg->servers[i].host, sizeof(cfg->servers[i].host), "127.0.0.%u", i + 1);
	}
	nfs4r_rpc_compare(cfg, "Key", "value", false);
}

struct nfs4r_rpc *fuzz_transport_new(const struct nfs4r_rpc_config *cfg, const struct nfs4r_rpc_events *ev)
{
	struct nfs4r_rpc *rpc = calloc(1, sizeof(*rpc));

	FUZZ_CHECK(rpc);
	rpc->cfg = *cfg;
	rpc->ev = *ev;
	rpc->accepts = cfg->security_accept | NFS4R_SECURITY_BIT(cfg->security);
	FUZZ_CHECK(uv_loop_init(&rpc->loop) == 0 && uv_async_init(&rpc->loop, &rpc->wake, NULL) == 0);
	uv_timer_init(&rpc->loop, &rpc->tick);
	rpc->ping_ms = rpc->handshake_ms = 1000;
	rpc_servers_init(rpc);
	FUZZ_CHECK(rpc_warm_init(rpc) == NFS4R_OK);
	return rpc;
}

void fuzz_transport_free(struct nfs4r_rpc *rpc)
{
	rpc_close_all(rpc);
	uv_run(&rpc->loop, UV_RUN_DEFAULT);
	FUZZ_CHECK(!rpc->conns && rpc->nstrangers == 0);
	FUZZ_CHECK(uv_loop_close(&rpc->loop) == 0);
	rpc_servers_fini(rpc);
	rpc_warm_fini(rpc);
	free(rpc);
}

/* ---- connections ---- */

static struct rpc_conn *conn_new(struct nfs4r_rpc *rpc, nfs4r_server_id from)
{
	struct rpc_conn *c = rpc_conn_new(rpc);

	FUZZ_CHECK(c);
	c->addr = rpc->peers[from].addrs.a[0];
	rpc_addr_text(&c->addr, c->from, sizeof(c->from));
	return c;
}

struct rpc_conn *fuzz_accepted(struct nfs4r_rpc *rpc, nfs4r_server_id from)
{
	struct rpc_conn *c = conn_new(rpc, from);

	rpc_handshake_start(c);
	return c;
}

void fuzz_calls_stand(struct nfs4r_rpc *rpc)
{
	struct rpc_conn *next;

	for (struct rpc_conn *c = rpc->conns; c; c = next) {
		next = c->next;
		if (c->state == RPC_CONN_CONNECTING)
			called(&c->connect_req, 0);
	}
}

struct rpc_conn *fuzz_standing(struct rpc_peer *p, enum nfs4r_lane lane, uint32_t index)
{
	struct rpc_conn *c = conn_new(p->rpc, p->ep.id);

	p->up = true;
	p->inc = p->session = 1;
	p->protocol = c->protocol = NFS4R_PROTOCOL_VERSION;
	c->peer = p;
	c->caller = p->caller;
	c->chosen = true;
	c->lane = lane;
	c->index = index;
	c->state = RPC_CONN_READY;
	p->conns[rpc_conn_slot(c)] = c;
	return c;
}

static void check(const struct rpc_conn *c)
{
	uint32_t max = c->state == RPC_CONN_READY ? NFS4R_MESSAGE_MAX + c->ops->overhead : RPC_STRANGER_RECORD_MAX;

	if (rpc_conn_dead(c))
		return;
	FUZZ_CHECK(c->in_len <= RPC_READ_BYTES);
	FUZZ_CHECK(c->record_len + c->fragment_left <= max);
	FUZZ_CHECK(c->fragment_left == 0 || (c->record && c->record->len >= c->record_len + c->fragment_left));
}

/* As conn_read(). */
bool fuzz_receive(struct rpc_conn *c, const uint8_t *bytes, size_t len)
{
	while (len > 0) {
		uv_buf_t buf;
		size_t n;

		if (rpc_conn_dead(c) || c->paused)
			return false;
		rpc_record_space(c, &buf);
		if (buf.len == 0) { /* nothing is read while it is full */
			FUZZ_CHECK(rpc_conn_is_full(c));
			return false;
		}
		n = len < buf.len ? len : buf.len;
		memcpy(buf.base, bytes, n);
		rpc_record_read(c, n);
		rpc_record_parse(c);
		check(c);
		bytes += n;
		len -= n;
	}
	return true;
}
