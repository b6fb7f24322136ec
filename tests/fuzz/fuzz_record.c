/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What comes over the connections of a peer: the shipped transport behind sockets that take every byte and bring what the input says.
 *
 * Input: a byte of flags (UP: server 3 is up, all its connections stand; QUEUED: entries wait to be sent to it; CALLED: this server calls server 1), then
 * pieces: a byte (bits 0-2: connection; bits 3-5: in how many reads), two of length, the bytes. A connection that is not there is one that server 3 opens.
 */
#include "fuzz/fuzz.h"
#include "rpc/rpc_internal.h"
#include "xdr_map.h"

enum {
	UP = 1,
	QUEUED = 2,
	CALLED = 4
};
#define CONNS 8
#define SELF 2

static struct rpc_conn *conns[CONNS];
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

/* ---- the transport's user ---- */

static void message(void *ctx, nfs4r_server_id from, struct nfs4r_msg *m)
{
	if (m->type == NFS4R_MSG_GRANT)
		nfs4r_rpc_blame(ctx, from, "no lease was asked for");
	nfs4r_msg_fini(m);
	free(m);
}

static void up(void *ctx, nfs4r_server_id peer, uint64_t inc)
{
}

static void down(void *ctx, nfs4r_server_id peer, const char *why)
{
	FUZZ_CHECK(why[0] && strlen(why) < NFS4R_WHY);
}

static void note(void *ctx, enum nfs4r_log_level level, const char *text)
{
	FUZZ_CHECK(strlen(text) > 0);
}

static struct nfs4r_rpc *transport_new(void)
{
	struct nfs4r_rpc *rpc = calloc(1, sizeof(*rpc));

	nfs4r_rpc_config_init(&rpc->cfg);
	rpc->cfg.self = SELF;
	rpc->cfg.security = NFS4R_SECURITY_NONE;
	rpc->cfg.nservers = 3;
	rpc->cfg.queue_bytes_max = 1 << 16;
	for (uint32_t i = 0; i < 3; i++) {
		rpc->cfg.servers[i].id = (nfs4r_server_id)(i + 1);
		rpc->cfg.servers[i].port = 2050;
		snprintf(rpc->cfg.servers[i].host, sizeof(rpc->cfg.servers[i].host), "127.0.0.%u", i + 1);
	}
	nfs4r_rpc_compare(&rpc->cfg, "Key", "value", false);
	rpc->ev = (struct nfs4r_rpc_events){ .ctx = rpc, .up = up, .down = down, .message = message, .log = note };
	rpc->accepts = NFS4R_SECURITY_BIT(NFS4R_SECURITY_NONE);
	rpc->cfg.any_port = true;
	FUZZ_CHECK(uv_loop_init(&rpc->loop) == 0 && uv_async_init(&rpc->loop, &rpc->wake, NULL) == 0);
	uv_timer_init(&rpc->loop, &rpc->tick);
	rpc->ping_ms = rpc->handshake_ms = 1000;
	rpc_servers_init(rpc);
	FUZZ_CHECK(rpc_warm_init(rpc) == NFS4R_OK);
	return rpc;
}

static void transport_free(struct nfs4r_rpc *rpc)
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

static struct rpc_conn *accepted(struct nfs4r_rpc *rpc)
{
	struct rpc_conn *c = rpc_conn_new(rpc);

	FUZZ_CHECK(c);
	c->addr = rpc->peers[3].addrs.a[0];
	rpc_addr_text(&c->addr, c->from, sizeof(c->from));
	rpc_handshake_start(c);
	return c;
}

static void all_up(struct nfs4r_rpc *rpc, bool queued)
{
	struct rpc_peer *p = &rpc->peers[3];

	p->up = true;
	p->inc = p->session = 1;
	for (uint32_t i = 0; i < NFS4R_LANE_BULK + 2; i++) {
		struct rpc_conn *c = conns[i] = accepted(rpc);

		c->peer = p;
		c->lane = i < NFS4R_LANE_BULK ? i : NFS4R_LANE_BULK;
		c->index = i - c->lane;
		c->state = RPC_CONN_READY;
		p->conns[i] = c;
	}
	for (int i = 0; queued && i < 3; i++) {
		struct nfs4r_msg m = { .type = NFS4R_MSG_ENTRIES, .entries = { .log = SELF } };

		FUZZ_CHECK(nfs4r_rpc_send(rpc, 3, NFS4R_LANE_BULK, &m) == NFS4R_OK);
		rpc_bulk_flush(p);
	}
}

/* Calls that the transport has made stand. */
static void answer_calls(struct nfs4r_rpc *rpc)
{
	struct rpc_conn *next;
	uint32_t k = 0;

	for (struct rpc_conn *c = rpc->conns; c; c = next) {
		next = c->next;
		if (c->state == RPC_CONN_CONNECTING)
			called(&c->connect_req, 0);
	}
	for (struct rpc_conn *c = rpc->conns; c; c = c->next)
		if (c->caller && c->state != RPC_CONN_CLOSED && k < CONNS)
			conns[k++] = c;
}

/* Those that were closed are freed now, as by the loop. */
static void sweep(struct nfs4r_rpc *rpc)
{
	for (int i = 0; i < CONNS; i++)
		if (conns[i] && conns[i]->state == RPC_CONN_CLOSED)
			conns[i] = NULL;
	uv_run(&rpc->loop, UV_RUN_NOWAIT);
}

static void check(const struct rpc_conn *c)
{
	uint32_t max = (c->state == RPC_CONN_READY ? NFS4R_MESSAGE_MAX : RPC_STRANGER_RECORD_MAX);

	if (rpc_conn_dead(c))
		return;
	FUZZ_CHECK(c->in_len <= RPC_READ_BYTES);
	FUZZ_CHECK(c->record_len + c->fragment_left <= max);
	FUZZ_CHECK(c->fragment_left == 0 || (c->record && c->record->len >= c->record_len + c->fragment_left));
}

/* As conn_read(). False: the connection is gone. */
static bool receive(struct rpc_conn *c, const uint8_t *bytes, size_t len)
{
	while (len > 0) {
		uv_buf_t buf;
		size_t n;

		if (rpc_conn_dead(c) || c->paused)
			return false;
		rpc_record_space(c, &buf);
		FUZZ_CHECK(buf.len > 0);
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

static void piece(struct nfs4r_rpc *rpc, struct fuzz_in *in)
{
	uint8_t head = fuzz_u8(in);
	size_t len, part, parts = 1 + (head >> 3 & 7);
	uint8_t *bytes = fuzz_bytes(in, fuzz_u16(in), &len);
	struct rpc_conn *c = conns[head & 7];

	if (!c)
		c = conns[head & 7] = accepted(rpc);
	for (size_t at = 0; at < len; at += part) {
		part = len / parts ? len / parts : 1;
		part = part < len - at ? part : len - at;
		if (!receive(c, bytes + at, part))
			break;
	}
	free(bytes);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_in in = { data, len };
	struct nfs4r_rpc *rpc = transport_new();
	uint8_t flags = fuzz_u8(&in);

	memset(conns, 0, sizeof(conns));
	if (flags & UP)
		all_up(rpc, flags & QUEUED);
	if (flags & CALLED) {
		rpc_peer_call(&rpc->peers[1], NFS4R_LANE_CONTROL);
		answer_calls(rpc);
	}
	for (int i = 0; in.left > 0 && i < 64; i++) {
		piece(rpc, &in);
		sweep(rpc);
		if (flags & CALLED)
			answer_calls(rpc);
	}
	for (nfs4r_server_id id = 1; id <= 3; id++)
		if (rpc->peers[id].known)
			rpc_bulk_tick(&rpc->peers[id], uv_now(&rpc->loop));
	transport_free(rpc);
	return 0;
}
