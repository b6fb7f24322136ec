/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The ups and downs of one peer.
 *
 * Happy path: the server with the higher id calls lane CONTROL; once both HELLOs are accepted
 * there it calls the other lanes. A lane is ready at the caller with the answer's HELLO, at
 * the called one with the first KEEPALIVE, which says that its HELLO was accepted. When all
 * lanes are ready the peer is up. A lane that is ready before that is held: nothing is read
 * from it, so that no message can come before the up event.
 *
 * Failure: whatever breaks on one lane takes all of them down, once (of the connections of lane BULK only the last, bulk.c): `up` goes, queues are
 * dropped, then the event. The caller calls again after connect_retry_ms, or after a growing
 * while when it was refused or when the peer did not stay up; at the next address of its name if nobody answered at the last one.
 *
 * Invariants: conns[] has only connections of one session and one start of the peer; up
 * implies that all are there, of lane BULK at least one, and were ready.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/rpc_internal.h"
#include "xdr_map.h"

void rpc_peer_state(struct rpc_peer *p, const char *text)
{
	pthread_mutex_lock(&p->lock);
	if (!p->up)
		snprintf(p->state, sizeof(p->state), "refused: %s", text);
	pthread_mutex_unlock(&p->lock);
}

static uint64_t backoff_most_ms(const struct rpc_peer *p)
{
	const struct nfs4r_rpc_config *cfg = &p->rpc->cfg;
	uint64_t most = cfg->connect_retry_most_ms ? cfg->connect_retry_most_ms : RPC_BACKOFF_MAX_MS;

	return cfg->connect_retry_ms > most ? cfg->connect_retry_ms : most;
}

static void peer_next_call(struct rpc_peer *p, bool slower)
{
	uint64_t most = backoff_most_ms(p), now = uv_now(&p->rpc->loop);

	if (!slower)
		p->backoff_ms = p->rpc->cfg.connect_retry_ms;
	p->call_at_ms = now + p->backoff_ms;
	if (slower)
		p->backoff_ms = 2 * p->backoff_ms < most ? 2 * p->backoff_ms : most;
}

void rpc_peer_down(struct rpc_peer *p, bool refused, const char *why)
{
	struct nfs4r_rpc *rpc = p->rpc;
	bool was_up;

	for (int i = 0; i < RPC_SLOTS; i++) {
		if (p->conns[i])
			rpc_conn_close(p->conns[i]);
	}
	rpc_bulk_reset(p);
	pthread_mutex_lock(&p->lock);
	was_up = p->up;
	p->up = false;
	p->security = 0;
	p->rtt_ms = -1;
	p->clock_known = false;
	for (int i = 0; i < NFS4R_LANES; i++)
		rpc_queue_drop(&p->queues[i]);
	if (refused)
		snprintf(p->state, sizeof(p->state), "refused: %s", why);
	else if (was_up || strncmp(p->state, "refused", 7) != 0)
		snprintf(p->state, sizeof(p->state), "down: %s", why);
	pthread_mutex_unlock(&p->lock);
	peer_next_call(p, refused || (was_up && uv_now(&rpc->loop) - p->up_since_ms < RPC_BACKOFF_MAX_MS));
	if (was_up) {
		rpc_log_often(rpc, NFS4R_LOG_WARN, rpc_log_key(RPC_LOG_DOWN, p->ep.id, NULL), NULL, "server %u (%s:%u) is down: %s", p->ep.id, p->ep.host, p->ep.port, why);
		if (rpc->ev.down)
			rpc->ev.down(rpc->ev.ctx, p->ep.id, why);
	} else if (!refused) {
		rpc_log_limited(rpc, NFS4R_LOG_INFO, rpc_log_key(RPC_LOG_CONNECT, p->ep.id, NULL),
				"no connection with server %u (%s:%u): %s%s", p->ep.id, p->ep.host, p->ep.port,
				why, p->caller ? "; trying on" : "");
	}
}

static bool is_ready(const struct rpc_conn *c)
{
	return c && c->state == RPC_CONN_READY;
}

static void peer_up(struct rpc_peer *p)
{
	struct nfs4r_rpc *rpc = p->rpc;
	struct rpc_conn *conns[RPC_SLOTS];
	char speaks[NFS4R_VERSIONS_TEXT], has[NFS4R_VERSIONS_TEXT];

	assert(rpc_is_mine(rpc));
	pthread_mutex_lock(&p->lock);
	p->up = true;
	p->up_inc = p->inc;
	p->security = p->conns[NFS4R_LANE_CONTROL]->ops->flavour;
	p->connects++;
	snprintf(p->state, sizeof(p->state), "up");
	pthread_mutex_unlock(&p->lock);
	p->up_since_ms = uv_now(&rpc->loop);
	rpc_log_often(rpc, NFS4R_LOG_INFO, rpc_log_key(RPC_LOG_UP, p->ep.id, NULL), NULL,
		      "server %u (%s:%u) is up, start %" PRIu64 ", NFSv4.r %s, protocol %u (it speaks %s), disk format %s, security %s", p->ep.id, p->ep.host, p->ep.port, p->inc, p->version,
		      p->protocol, nfs4r_versions_text(p->said_protocol, speaks), nfs4r_versions_text(p->said_format, has), p->conns[NFS4R_LANE_CONTROL]->ops->name);
	if (rpc->ev.up)
		rpc->ev.up(rpc->ev.ctx, p->ep.id, p->inc);
	memcpy(conns, p->conns, sizeof(conns));
	for (int i = 0; i < RPC_SLOTS; i++) {
		if (conns[i] && !rpc_conn_dead(conns[i]))
			rpc_conn_resume(conns[i]);
		if (is_ready(conns[i]) && conns[i]->peer == p)
			rpc_warm_begin(conns[i]);
	}
}

void rpc_peer_lane_ready(struct rpc_conn *c)
{
	struct rpc_peer *p = c->peer;
	bool bulk = false;

	c->state = RPC_CONN_READY;
	if (c->lane == NFS4R_LANE_BULK && p->rpc->cfg.connections > 1)
		rpc_tune_shared((uv_handle_t *)&c->tcp);
	else if (c->lane == NFS4R_LANE_REQUEST)
		rpc_tune_paused((uv_handle_t *)&c->tcp);
	if (p->up) {
		rpc_bulk_flush(p);
		if (is_ready(c))
			rpc_warm_begin(c);
		return;
	}
	c->paused = true;
	uv_read_stop((uv_stream_t *)&c->tcp);
	if (p->caller && c->lane == NFS4R_LANE_CONTROL) {
		for (uint32_t i = 0; i < NFS4R_LANE_BULK + p->rpc->cfg.connections; i++) {
			if (!p->conns[i] && p->conns[NFS4R_LANE_CONTROL] == c)
				rpc_peer_call(p, i);
		}
	}
	for (int i = NFS4R_LANE_BULK; i < RPC_SLOTS; i++)
		bulk = bulk || is_ready(p->conns[i]);
	if (bulk && is_ready(p->conns[NFS4R_LANE_CONTROL]) && is_ready(p->conns[NFS4R_LANE_REQUEST]))
		peer_up(p);
}

static void peer_called(uv_connect_t *req, int status)
{
	struct rpc_conn *c = req->data;
	struct rpc_peer *p = c->peer;

	if (rpc_conn_dead(c))
		return;
	if (status < 0) {
		p->addr_next++;
		rpc_conn_fail(c, "%s", uv_strerror(status));
		return;
	}
	rpc_conn_start(c);
	if (!rpc_conn_dead(c))
		rpc_handshake_start(c);
}

/* The connection that @c stands for is asked for. 0, or an error of libuv. */
static int conn_call(struct rpc_conn *c, struct rpc_peer *p)
{
	struct nfs4r_rpc *rpc = p->rpc;
	struct sockaddr_storage source;
	const struct sockaddr *from;
	int err = 0;

	c->peer = p;
	c->caller = true;
	c->state = RPC_CONN_CONNECTING;
	c->addr = p->addrs.a[p->addr_next % p->addrs.n];
	rpc_addr_text(&c->addr, c->from, sizeof(c->from));
	/* From our own address, because the other side asks where the call comes from. */
	from = rpc_addrs_source(&rpc->self_addrs, c->addr.ss_family, &source);
	if (rpc_ports_matter(rpc))
		err = rpc_port_bind(rpc, &c->tcp, c->addr.ss_family, from);
	else if (from)
		err = uv_tcp_bind(&c->tcp, from, 0);
	rpc_tune(rpc, (uv_handle_t *)&c->tcp);
	c->connect_req.data = c;
	if (!err)
		err = uv_tcp_connect(&c->connect_req, &c->tcp, (const struct sockaddr *)&c->addr, peer_called);
	return err;
}

static void cannot_call(struct rpc_conn *c, int err)
{
	bool ports = rpc_ports_matter(c->rpc);

	rpc_conn_fail(c, "cannot call from %s: %s%s", c->rpc->self.host, uv_strerror(err),
		      ports && err == UV_EACCES ? "; a port below 1024 needs root or CAP_NET_BIND_SERVICE" : ports && err == UV_EADDRINUSE ? "; no port below 1024 is free" :
																	     "");
}

/* Once for each port that a connection of before may still have. */
static int call_once(struct rpc_peer *p, uint32_t slot, bool last)
{
	struct rpc_conn *c = rpc_conn_new(p->rpc);
	int err;

	if (!c) {
		rpc_peer_down(p, false, "no memory for a connection");
		return UV_ENOMEM;
	}
	c->lane = slot < NFS4R_LANE_BULK ? slot : NFS4R_LANE_BULK;
	c->index = slot - c->lane;
	p->conns[slot] = c;
	err = conn_call(c, p);
	if (err == UV_EADDRNOTAVAIL && !last)
		rpc_conn_close(c);
	else if (err)
		cannot_call(c, err);
	return err;
}

void rpc_peer_call(struct rpc_peer *p, uint32_t slot)
{
	int tries = rpc_ports_matter(p->rpc) ? RPC_PORT_TRIES : 1;

	if (p->addrs.n == 0) {
		rpc_peer_down(p, false, "its host name is not resolved yet");
		return;
	}
	while (tries-- > 0 && call_once(p, slot, tries == 0) == UV_EADDRNOTAVAIL)
		;
}

/* It should call and does not: perhaps it does not take this one for a server. */
static void peer_ask(struct rpc_peer *p)
{
	struct rpc_conn *c = rpc_conn_new(p->rpc);

	if (!c)
		return;
	c->asks = p->asking = true;
	int err = conn_call(c, p);
	if (err)
		cannot_call(c, err); /* it is asked again */
}

/* It is no server any more. */
static void peer_forget(struct rpc_peer *p)
{
	p->known = false; /* who hears that it is down finds it gone */
	rpc_peer_down(p, false, "it was removed from the volume");
	p->leave_at_ms = 0;
	p->addrs.n = 0;
}

static void peer_keepalive(struct rpc_conn *c, bool answer, uint64_t clock_ns, int64_t day_ns)
{
	struct rpc_peer *p = c->peer;
	uint64_t now = uv_hrtime();
	double ms = (double)(now - clock_ns) / 1e6;

	if (!answer) {
		rpc_conn_keepalive(c, true, clock_ns);
		return;
	}
	/* Other lanes measure their queues, too. */
	if (c->lane != NFS4R_LANE_CONTROL || clock_ns > now)
		return;
	pthread_mutex_lock(&p->lock);
	p->rtt_ms = p->rtt_ms < 0 ? ms : p->rtt_ms + (ms - p->rtt_ms) / 8;
	p->clock_known = true;
	p->clock_ahead_ms = ((double)day_ns - (double)c->rpc->cfg.day_ns()) / 1e6 + ms / 2; /* as if both ways took as long */
	pthread_mutex_unlock(&p->lock);
}

/* What it sent it will mostly send again: neither called nor let in for a while, longer each time. */
static void peer_shun(struct rpc_peer *p)
{
	uint64_t now = uv_now(&p->rpc->loop), max = RPC_SHUN_MAX_MS;

	if (!p->shun_ms || now - p->up_since_ms > max)
		p->shun_ms = p->rpc->cfg.shun_ms;
	else if (now >= p->shun_until_ms)
		p->shun_ms = 2 * p->shun_ms < max ? 2 * p->shun_ms : max;
	p->shun_until_ms = now + p->shun_ms;
}

void nfs4r_rpc_pause(struct nfs4r_rpc *rpc, nfs4r_server_id peer, bool pause)
{
	if (!rpc || peer < 1 || peer > NFS4R_SERVERS_MAX)
		return;
	atomic_store(&rpc->peers[peer].full, pause);
	if (!pause)
		uv_async_send(&rpc->wake);
}

/* Not only this connection, as rpc_conn_fail() has it: another one of the lane would bring the same. */
static void peer_broke(struct rpc_conn *c, const void *bytes, size_t len, const char *why)
{
	uint32_t type = nfs4r_transport_msg_type(bytes, len);
	char text[NFS4R_WHY];

	snprintf(text, sizeof(text), "sent a message of type %u (%s), %zu bytes, that cannot be decoded: %s", type, nfs4r_msg_name(type), len, why);
	peer_shun(c->peer);
	rpc_peer_down(c->peer, false, text);
}

void nfs4r_rpc_blame(struct nfs4r_rpc *rpc, nfs4r_server_id peer, const char *why)
{
	struct rpc_peer *p = rpc ? rpc_peer_of(rpc, peer) : NULL;

	if (!p || !p->up)
		return;
	peer_shun(p);
	rpc_peer_down(p, false, why);
}

enum nfs4r_lane nfs4r_rpc_lane_of(uint32_t type)
{
	switch (type) {
	case NFS4R_MSG_FORWARD:
	case NFS4R_MSG_FORWARD_ANSWER:
	case NFS4R_MSG_READ:
	case NFS4R_MSG_READ_ANSWER:
	case NFS4R_MSG_VERIFY:
	case NFS4R_MSG_VERIFY_ANSWER:
		return NFS4R_LANE_REQUEST;
	case NFS4R_MSG_ENTRIES:
		return NFS4R_LANE_BULK;
	default:
		return NFS4R_LANE_CONTROL;
	}
}

struct nfs4r_msg *rpc_peer_decode(struct rpc_conn *c, const void *bytes, size_t len)
{
	struct nfs4r_msg *m = malloc(sizeof(*m));
	const char *why = nfs4r_status_str(NFS4R_NOMEM);
	enum nfs4r_status st = m ? nfs4r_msg_decode(bytes, len, c->protocol, m, &why) : NFS4R_NOMEM;

	if (st != NFS4R_OK) {
		free(m);
		if (st == NFS4R_NOMEM)
			rpc_conn_fail(c, "no memory");
		else
			peer_broke(c, bytes, len, why);
		return NULL;
	}
	if (c->lane != nfs4r_rpc_lane_of(m->type)) { /* there it would pass by nfs4r_rpc_pause(), or by what is taken of lane CONTROL (pace.c) */
		static const char *const names[] = { "it belongs to lane CONTROL", "it belongs to lane REQUEST", "it belongs to lane BULK" };

		why = names[nfs4r_rpc_lane_of(m->type)];
		nfs4r_msg_fini(m);
		free(m);
		peer_broke(c, bytes, len, why);
		return NULL;
	}
	struct nfs4r_msg *small = realloc(m, nfs4r_msg_bytes(m->type)); /* thousands may wait */

	return small ? small : m;
}

void rpc_peer_message(struct rpc_peer *p, struct nfs4r_msg *m)
{
	struct nfs4r_rpc *rpc = p->rpc;

	atomic_fetch_add_explicit(&p->messages_received, 1, memory_order_relaxed);
	if (rpc->ev.message) {
		rpc->ev.message(rpc->ev.ctx, p->ep.id, m);
	} else {
		nfs4r_msg_fini(m);
		free(m);
	}
}

static void transport_message(struct rpc_conn *c, const void *bytes, size_t len)
{
	struct nfs4r_transport_msg_body m;

	if (nfs4r_transport_msg_decode(bytes, len, c->protocol ? c->protocol : c->rpc->cfg.protocol.highest, &m) != NFS4R_OK) {
		rpc_conn_fail(c, "sent %zu bytes that are not a message of this protocol", len);
		return;
	}
	switch (m.type) {
	case NFS4R_MSG_HELLO:
		if (c->state == RPC_CONN_TOKEN && !rpc_handshake_none(c, m.hello.server))
			break;
		if (c->state != RPC_CONN_HELLO)
			rpc_conn_fail(c, "sent HELLO twice");
		else
			rpc_hello_received(c, &m.hello);
		break;
	case NFS4R_MSG_REFUSED: /* before there is a proof, anybody may have sent it */
		rpc_refused(c, m.refused.cause, c->ops->is_server && !c->proven ? "" : m.refused.text);
		break;
	case NFS4R_MSG_KEEPALIVE:
		if (c->state == RPC_CONN_HELLO || c->state == RPC_CONN_TOKEN) {
			rpc_conn_fail(c, "sent a message before HELLO");
			break;
		}
		peer_keepalive(c, m.keepalive.answer, m.keepalive.clock_ns, m.keepalive.day_ns);
		if (c->state == RPC_CONN_CONFIRM) {
			rpc_conn_keepalive(c, false, uv_hrtime());
			if (!rpc_conn_dead(c))
				rpc_peer_lane_ready(c);
		}
		break;
	case NFS4R_MSG_TOKEN:
		rpc_token_received(c, m.security, m.opaque);
		nfs4r_transport_msg_fini(&m);
		break;
	case NFS4R_MSG_PADDING:
		if (c->state != RPC_CONN_READY || c->lane != NFS4R_LANE_BULK || c->announced)
			rpc_conn_fail(c, "sent padding where none is allowed");
		nfs4r_transport_msg_fini(&m);
		break;
	case NFS4R_MSG_KEYS:
		rpc_keys_received(c);
		break;
	case NFS4R_MSG_NUMBER:
	case NFS4R_MSG_TAKEN:
		if (c->state != RPC_CONN_READY || (c->lane == NFS4R_LANE_BULK) != (m.type == NFS4R_MSG_NUMBER))
			rpc_conn_fail(c, "sent a message that belongs to another lane");
		else if (m.type == NFS4R_MSG_TAKEN)
			rpc_bulk_taken(c, m.number);
		else
			c->announced = m.number;
		break;
	}
}

void rpc_deliver_plain(struct rpc_conn *c, const void *bytes, size_t len)
{
	struct nfs4r_msg *m;

	if (c->state != RPC_CONN_READY || nfs4r_transport_msg_type(bytes, len) >= NFS4R_MSG_HELLO)
		transport_message(c, bytes, len);
	else if (c->lane == NFS4R_LANE_BULK)
		rpc_bulk_received(c, bytes, len);
	else if ((m = rpc_peer_decode(c, bytes, len)) != NULL)
		rpc_peer_message(c->peer, m);
}

/* In TLS 1.3 the server that calls is content before the other one has looked at its certificate: the refusal is no wrapped record then. Whoever forges it has ended an attempt, as a reset would. */
static bool is_bare_refusal(const struct rpc_conn *c, const void *bytes, size_t len)
{
	return c->caller && c->state == RPC_CONN_HELLO && nfs4r_transport_msg_type(bytes, len) == NFS4R_MSG_REFUSED;
}

static void bare_refusal(struct rpc_conn *c, const void *bytes, size_t len)
{
	struct nfs4r_transport_msg_body m;

	if (nfs4r_transport_msg_decode(bytes, len, NFS4R_PROTOCOL_VERSION, &m) == NFS4R_OK)
		rpc_refused(c, m.refused.cause, "");
	else
		rpc_conn_fail(c, "sent a record that is not authentic");
}

void rpc_deliver(struct rpc_conn *c, const void *bytes, size_t len)
{
	struct nfs4r_buf *plain;

	if (!c->ops->unwrap || !c->secured) {
		rpc_deliver_plain(c, bytes, len);
		return;
	}
	if (is_bare_refusal(c, bytes, len)) {
		bare_refusal(c, bytes, len);
		return;
	}
	if (rpc_protect_apart(c)) {
		rpc_protect_arrived(c, bytes, len);
		return;
	}
	plain = c->ops->unwrap(c->unwraps, bytes, len);
	if (plain)
		rpc_deliver_plain(c, plain->data, plain->len);
	else
		rpc_conn_fail(c, "sent a record that is not authentic");
	nfs4r_buf_put(plain);
}

static void peer_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *list)
{
	struct rpc_peer *p = req->data;

	p->resolving = false;
	if (p->resolve_again) {
		p->resolve_again = false;
		p->resolved_ms = 0;
	} else if (status == 0 && p->known)
		rpc_addrs_set(&p->addrs, list);
	else if (status != 0 && status != UV_ECANCELED)
		rpc_log_limited(p->rpc, NFS4R_LOG_WARN, rpc_log_key(RPC_LOG_RESOLVE, p->ep.id, NULL),
				"host name %s of server %u cannot be resolved: %s", p->ep.host, p->ep.id,
				uv_strerror(status));
	uv_freeaddrinfo(list);
}

/* While a peer is not there its name may come to mean another address. */
static void peer_resolve(struct rpc_peer *p, uint64_t now)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	char service[8];

	if (p->numeric || p->resolving || (p->resolved_ms != 0 && now - p->resolved_ms < RPC_RESOLVE_MS))
		return;
	p->resolved_ms = now ? now : 1;
	snprintf(service, sizeof(service), "%u", p->ep.port);
	hints.ai_flags = AI_NUMERICSERV;
	p->resolve_req.data = p;
	p->resolving = uv_getaddrinfo(&p->rpc->loop, &p->resolve_req, peer_resolved, p->ep.host,
				      service, &hints) == 0;
}

void rpc_conn_tick(struct rpc_conn *c, uint64_t now)
{
	struct nfs4r_rpc *rpc = c->rpc;

	switch (c->state) {
	case RPC_CONN_CONNECTING:
	case RPC_CONN_TOKEN:
	case RPC_CONN_HELLO:
	case RPC_CONN_CONFIRM:
		if (now - c->created_ms <= rpc->handshake_ms || c->stepping) /* what this side waits for says itself what is wrong */
			break;
		if (c->caller)
			c->peer->addr_next++; /* as after an error: peer_called() finds the connection closed */
		rpc_conn_fail(c, "no answer for %" PRIu64 " ms while connecting", now - c->created_ms);
		break;
	case RPC_CONN_READY:
		if (c->stopped) /* it is not asked, and so it may be silent */
			c->received_ms = now;
		if (c->paused ? now - c->created_ms > 2 * rpc->handshake_ms :
				now - c->received_ms > rpc->cfg.silence_ms)
			rpc_conn_fail(c, c->paused ? "its other lanes did not connect within %" PRIu64 " ms" : "nothing was heard from it for %" PRIu64 " ms",
				      now - (c->paused ? c->created_ms : c->received_ms));
		else if (now - c->pinged_ms >= rpc->ping_ms)
			rpc_conn_keepalive(c, false, uv_hrtime());
		rpc_renewal_tick(c, now);
		break;
	case RPC_CONN_LINGER:
		if (now - c->created_ms > RPC_LINGER_MS)
			rpc_conn_close(c);
		break;
	case RPC_CONN_CLOSED:
		break;
	}
}

void rpc_peer_tick(struct rpc_peer *p, uint64_t now)
{
	bool any = false;

	if (p->leave_at_ms && (!p->up || now >= p->leave_at_ms)) {
		peer_forget(p);
		return;
	}
	rpc_bulk_tick(p, now);
	for (int i = 0; i < RPC_SLOTS; i++)
		any = any || p->conns[i];
	if (any)
		return;
	peer_resolve(p, now);
	if (!p->caller && !p->asking && !p->steps && now >= p->ask_at_ms && p->addrs.n > 0) {
		p->ask_at_ms = now + RPC_ASK_MS;
		peer_ask(p);
	}
	if (p->caller && !p->steps && now >= p->call_at_ms && now >= p->shun_until_ms && p->addrs.n > 0) {
		p->session = ++p->rpc->session;
		rpc_peer_call(p, NFS4R_LANE_CONTROL);
	}
}
