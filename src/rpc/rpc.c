/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The transport's interface and its thread.
 *
 * Happy path: start checks the configuration, listens, and runs libuv's loop on a thread of
 * its own. send encodes in the caller's thread, puts the record into the lane's queue under
 * the peer's lock and wakes the loop, which writes all that has gathered.
 *
 * Failure: start reports everything that a configuration can get wrong before the thread is
 * there. A host name of a peer that does not resolve is no error; it is tried again.
 *
 * Invariants: the loop's thread is the only one that touches libuv, apart from
 * uv_async_send. No lock is held while an event is called.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/config_keys.h"
#include "base/locked.h"
#include "rpc/rpc_internal.h"
#include "xdr_map.h"

#define QUEUE_BYTES_DEFAULT (256ull << 20)
#define WARM_RTT_US_DEFAULT 5000

static int64_t day_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void set_text(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text ? text : "");
}

void nfs4r_rpc_config_init(struct nfs4r_rpc_config *cfg)
{
	memset(cfg, 0, sizeof(*cfg));
	cfg->protocol = (struct nfs4r_versions){ NFS4R_PROTOCOL_LOWEST, NFS4R_PROTOCOL_HIGHEST };
	cfg->disk_format = (struct nfs4r_versions){ NFS4R_DISK_FORMAT_LOWEST, NFS4R_DISK_FORMAT_HIGHEST };
	cfg->security = NFS4R_SECURITY_NONE;
	cfg->connect_retry_ms = 250;
	cfg->shun_ms = 1000;
	cfg->silence_ms = 10000;
	cfg->queue_bytes_max = QUEUE_BYTES_DEFAULT;
	cfg->buffer_bytes = NFS4R_DEFAULT_Window;
	cfg->warm_rtt_us = WARM_RTT_US_DEFAULT;
	cfg->day_ns = day_ns;
#define HOME_RPC(there, value) cfg->there = (value);
#define HOME_CORE(there, value)
#define HOME_ENGINE(there, value)
#define HOME_TEXT_RPC(there, value) set_text(cfg->there, sizeof(cfg->there), value);
#define HOME_TEXT_ENGINE(there, value)
#define KEY_NUMBER(block, name, field, home, there, def, ...) HOME_##home(there, def)
#define KEY_TOKEN(block, name, field, home, there, def, ...) HOME_##home(there, def)
#define KEY_LIST(block, name, field, home, there, def, ...) HOME_##home(there, def)
#define KEY_TEXT(block, name, field, home, there, def, ...) HOME_TEXT_##home(there, def)
#include "base/config.def"
#undef HOME_TEXT_RPC
#undef HOME_TEXT_ENGINE
}

static uint32_t text_sum(const char *text)
{
	uint32_t sum = 2166136261u; /* FNV-1a */

	for (; *text; text++)
		sum = (sum ^ (unsigned char)*text) * 16777619u;
	return sum;
}

void nfs4r_rpc_compare(struct nfs4r_rpc_config *cfg, const char *key, const char *value, bool differs)
{
	struct nfs4r_hello_key *k = &cfg->keys[cfg->nkeys];

	assert(cfg->nkeys < NFS4R_HELLO_KEYS_MAX && strlen(key) <= NFS4R_HELLO_KEY_MAX);
	cfg->nkeys++;
	memset(k, 0, sizeof(*k));
	snprintf(k->key, sizeof(k->key), "%s", key);
	if (!value)
		value = "";
	if (snprintf(k->value, sizeof(k->value), "%s", value) >= (int)sizeof(k->value))
		snprintf(k->value, sizeof(k->value), "%.200s... (%zu bytes, checksum %08x)", value, strlen(value), text_sum(value));
	k->differs = differs;
}

void nfs4r_rpc_tell(struct nfs4r_rpc_config *cfg, const char *key, const char *value)
{
	nfs4r_rpc_compare(cfg, key, value, false);
	cfg->keys[cfg->nkeys - 1].reported = true;
}

/* ---- the loop's thread ---- */

static void rpc_tick(uv_timer_t *t)
{
	struct nfs4r_rpc *rpc = t->data;
	uint64_t now = uv_now(&rpc->loop);
	struct rpc_conn *next;
	/* When this thread itself stood still, what the peers said meanwhile is not read yet. */
	bool stalled = rpc->ticked_ms != 0 && now - rpc->ticked_ms > rpc->cfg.silence_ms / 2;

	rpc->ticked_ms = now;
	/* A closed connection is freed later; one that is new stands before this. */
	for (struct rpc_conn *c = rpc->conns; c; c = next) {
		next = c->next;
		if (stalled)
			c->received_ms = c->created_ms = now;
		rpc_conn_tick(c, now);
	}
	for (uint32_t i = 0; rpc->accept_missed && i < rpc->nlisteners; i++)
		rpc_accepted((uv_stream_t *)&rpc->listeners[i], 0);
	rpc->accept_missed = false;
	rpc_security_look(rpc, now);
	rpc_certificates_tick(rpc);
	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++) {
		if (rpc->peers[id].known)
			rpc_peer_tick(&rpc->peers[id], now);
	}
}

static void handle_close(uv_handle_t *h, void *arg)
{
	struct nfs4r_rpc *rpc = arg;

	for (struct rpc_conn *c = rpc->conns; c; c = c->next) {
		if (h == (uv_handle_t *)&c->tcp) {
			rpc_conn_close(c);
			return;
		}
	}
	if (!uv_is_closing(h))
		uv_close(h, NULL);
}

void rpc_close_all(struct nfs4r_rpc *rpc)
{
	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++) {
		if (rpc->peers[id].resolving)
			uv_cancel((uv_req_t *)&rpc->peers[id].resolve_req);
	}
	uv_walk(&rpc->loop, handle_close, rpc);
}

static void rpc_woken(uv_async_t *a)
{
	struct nfs4r_rpc *rpc = a->data;

	if (atomic_load(&rpc->stopping)) {
		rpc_works_stop(rpc);
		rpc_close_all(rpc);
		return;
	}
	rpc_works_done(rpc);
	rpc_servers_apply(rpc);
	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++) {
		if (!rpc->peers[id].known)
			continue;
		for (int slot = 0; slot < RPC_SLOTS; slot++) {
			struct rpc_conn *c = rpc->peers[id].conns[slot];

			if (c && c->state == RPC_CONN_READY)
				rpc_conn_flush(c);
			if (c && c->state == RPC_CONN_READY)
				rpc_conn_go_on(c);
		}
		rpc_bulk_flush(&rpc->peers[id]);
	}
}

static void *rpc_thread(void *arg)
{
	struct nfs4r_rpc *rpc = arg;

	pthread_setname_np(pthread_self(), "nfs4r_rpc");
	rpc->owner = pthread_self();
	rpc->owned = true;
	uv_run(&rpc->loop, UV_RUN_DEFAULT);
	rpc->owned = false;
	return NULL;
}

/* ---- start and stop ---- */

static enum nfs4r_status config_check(const struct nfs4r_rpc_config *cfg, char *why)
{
	enum nfs4r_status st = rpc_servers_check(cfg->servers, cfg->nservers, cfg->security == NFS4R_SECURITY_NONE && !cfg->any_port, why);
	bool self = false;

	if (st != NFS4R_OK)
		return st;
	for (uint32_t i = 0; i < cfg->nservers; i++)
		self = self || cfg->servers[i].id == cfg->self;
	if (!self)
		return rpc_bad_config(why, "this server's id %u is not in the server list", cfg->self);
	if (cfg->connections > NFS4R_CONNECTIONS_MAX)
		return rpc_bad_config(why, "%u connections for entries are configured; the range is 1 to %u", cfg->connections,
				      NFS4R_CONNECTIONS_MAX);
	for (unsigned f = 0; f < 32; f++)
		if ((f == cfg->security || cfg->security_accept & NFS4R_SECURITY_BIT(f)) && !nfs4r_security_find(f))
			return rpc_bad_config(why, "security flavour %u is not part of this build", f);
	return nfs4r_security_find(cfg->security) ? NFS4R_OK : rpc_bad_config(why, "security flavour %u is not part of this build", cfg->security);
}

static void rpc_free(struct nfs4r_rpc *rpc)
{
	rpc_servers_fini(rpc);
	rpc_warm_fini(rpc);
	rpc_security_stop(rpc);
	free(rpc);
}

static uint64_t at_least(uint64_t v, uint64_t min)
{
	return v < min ? min : v;
}

static enum nfs4r_status thread_start(struct nfs4r_rpc *rpc, char *why)
{
	sigset_t all, old;
	int err;

	/* Signals are the process's own business. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&rpc->thread, NULL, rpc_thread, rpc);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	rpc->running = !err;
	return err ? rpc_bad_config(why, "cannot start the transport's thread: %s", strerror(err)) : NFS4R_OK;
}

static int listener_fd(struct nfs4r_rpc *rpc, uint32_t i)
{
	uv_os_fd_t fd;

	return uv_fileno((uv_handle_t *)&rpc->listeners[i], &fd) == 0 ? fd : -1;
}

/* Until begin: what listens keeps its address and port, and takes no calls. */
static enum nfs4r_status listen_only(struct nfs4r_rpc *rpc, char *why)
{
	for (uint32_t i = 0; i < rpc->nlisteners; i++)
		if (listener_fd(rpc, i) >= 0 && shutdown(listener_fd(rpc, i), SHUT_RD) != 0 && errno != ENOTCONN)
			return rpc_bad_config(why, "cannot stop listening: %s", strerror(errno));
	return NFS4R_OK;
}

enum nfs4r_status nfs4r_rpc_begin(struct nfs4r_rpc *rpc, char *why)
{
	if (rpc->running)
		return NFS4R_OK;
	/* One that has no descriptor, or could not be bound, is of an address that this machine does not have. */
	for (uint32_t i = 0; i < rpc->nlisteners; i++)
		if (uv_is_active((uv_handle_t *)&rpc->listeners[i]) && listen(listener_fd(rpc, i), RPC_BACKLOG) != 0)
			return rpc_bad_config(why, "cannot listen on port %u again: %s; stop the process that uses it", rpc->self.port, strerror(errno));
	return thread_start(rpc, why);
}

void rpc_silence(struct nfs4r_rpc *rpc, uint32_t silence)
{
	rpc->cfg.silence_ms = silence;
	rpc->ping_ms = at_least(silence / 4 < 1000 ? silence / 4 : 1000, 10);
	rpc->handshake_ms = at_least(silence < 5000 ? silence : 5000, 50);
	rpc->tick_ms = rpc->ping_ms < rpc->cfg.connect_retry_ms ? rpc->ping_ms : rpc->cfg.connect_retry_ms;
	rpc->tick_ms = at_least(rpc->tick_ms / 2, 10);
	if (uv_is_active((uv_handle_t *)&rpc->tick))
		uv_timer_set_repeat(&rpc->tick, rpc->tick_ms);
	for (struct rpc_conn *c = rpc->conns; c; c = c->next)
		rpc_conn_silence(c);
}

static enum nfs4r_status loop_start(struct nfs4r_rpc *rpc, char *why)
{
	enum nfs4r_status st;

	rpc_silence(rpc, rpc->cfg.silence_ms);
	if (uv_async_init(&rpc->loop, &rpc->wake, rpc_woken) != 0)
		return rpc_bad_config(why, "no file descriptors left for the transport's event loop");
	rpc->wake.data = rpc;
	st = rpc_security_start(rpc, why);
	if (st == NFS4R_OK)
		st = rpc_ports_check(rpc, why);
	if (st == NFS4R_OK)
		st = rpc_listen(rpc, why);
	if (st != NFS4R_OK)
		return st;
	rpc_ports_warn(rpc);
	rpc_security_warn(rpc);
	uv_timer_init(&rpc->loop, &rpc->tick);
	rpc->tick.data = rpc;
	uv_timer_start(&rpc->tick, rpc_tick, 0, rpc->tick_ms);
	uv_timer_init(&rpc->loop, &rpc->pace);
	rpc->pace.data = rpc;
	if (rpc_warm_init(rpc) != NFS4R_OK)
		return rpc_bad_config(why, "no memory for the transport");
	return rpc->cfg.paused ? listen_only(rpc, why) : thread_start(rpc, why);
}

enum nfs4r_status nfs4r_rpc_start(const struct nfs4r_rpc_config *cfg,
				  const struct nfs4r_rpc_events *ev, struct nfs4r_rpc **out,
				  char *why)
{
	struct nfs4r_rpc_config defaults;
	struct nfs4r_rpc *rpc;
	enum nfs4r_status st = config_check(cfg, why);

	*out = NULL;
	if (st != NFS4R_OK)
		return st;
	nfs4r_rpc_config_init(&defaults);
	rpc = calloc(1, sizeof(*rpc));
	if (!rpc || uv_loop_init(&rpc->loop) != 0) {
		snprintf(why, NFS4R_WHY, "no memory for the transport");
		free(rpc);
		return NFS4R_NOMEM;
	}
	rpc->cfg = *cfg;
	if (rpc->cfg.connections == 0)
		rpc->cfg.connections = defaults.connections;
	if (rpc->cfg.connect_retry_ms == 0)
		rpc->cfg.connect_retry_ms = defaults.connect_retry_ms;
	if (rpc->cfg.shun_ms == 0)
		rpc->cfg.shun_ms = defaults.shun_ms;
	if (rpc->cfg.silence_ms == 0)
		rpc->cfg.silence_ms = defaults.silence_ms;
	if (rpc->cfg.queue_bytes_max == 0)
		rpc->cfg.queue_bytes_max = defaults.queue_bytes_max;
	if (rpc->cfg.protocol.highest == 0)
		rpc->cfg.protocol = defaults.protocol;
	if (!rpc->cfg.day_ns)
		rpc->cfg.day_ns = defaults.day_ns;
	rpc->port_next = (uint32_t)uv_hrtime();
	rpc->ev = *ev;
	rpc_servers_init(rpc);
	st = loop_start(rpc, why);
	if (st == NFS4R_OK) {
		*out = rpc;
		return NFS4R_OK;
	}
	rpc_close_all(rpc);
	uv_run(&rpc->loop, UV_RUN_DEFAULT);
	uv_loop_close(&rpc->loop);
	rpc_free(rpc);
	return st;
}

void nfs4r_rpc_stop(struct nfs4r_rpc *rpc)
{
	if (!rpc)
		return;
	atomic_store(&rpc->stopping, true);
	if (rpc->running) {
		uv_async_send(&rpc->wake);
		pthread_join(rpc->thread, NULL);
	} else {
		rpc_close_all(rpc);
		uv_run(&rpc->loop, UV_RUN_DEFAULT);
	}
	uv_loop_close(&rpc->loop);
	rpc_free(rpc);
}

/* ---- any thread ---- */

static struct rpc_peer *peer_at(struct nfs4r_rpc *rpc, nfs4r_server_id id)
{
	return rpc && id && id <= NFS4R_SERVERS_MAX && atomic_load(&rpc->peers[id].known) ? &rpc->peers[id] : NULL;
}

static enum nfs4r_status send_check(struct nfs4r_rpc *rpc, struct rpc_peer *p, enum nfs4r_lane lane,
				    uint64_t more)
{
	uint64_t queued = p->queues[lane].bytes;

	assert(nfs4r_is_locked(&p->lock));
	if (!p->up)
		return NFS4R_UNKNOWN;
	if (queued > 0 && queued + more > rpc->cfg.queue_bytes_max)
		return NFS4R_DELAY;
	return NFS4R_OK;
}

/* Under the lock. True: @n took the place of nothing and is queued. */
static bool send_queue(struct rpc_queue *q, struct rpc_node *n, bool positions)
{
	if (positions && q->positions) {
		q->bytes += rpc_node_bytes(n);
		q->bytes -= rpc_node_bytes(q->positions);
		struct nfs4r_buf *old = q->positions->buf;
		rpc_node_set(q->positions, n->buf);
		n->buf = old;
		return false;
	}
	rpc_queue_push(q, n);
	if (positions)
		q->positions = n;
	return true;
}

static bool is_answer(uint32_t type)
{
	return type == NFS4R_MSG_READ_ANSWER || type == NFS4R_MSG_VERIFY_ANSWER || type == NFS4R_MSG_FORWARD_ANSWER;
}

static void count_answer(struct rpc_peer *p, struct rpc_node *n)
{
	n->answers = &p->answers;
	n->answer = (uint32_t)(n->buf->len + sizeof(*n) + sizeof(*n->buf)); /* thousands of small ones may wait */
	atomic_fetch_add(n->answers, n->answer);
}

uint64_t nfs4r_rpc_answers(struct nfs4r_rpc *rpc, nfs4r_server_id to)
{
	struct rpc_peer *p = peer_at(rpc, to);

	return p ? atomic_load_explicit(&p->answers, memory_order_relaxed) : 0;
}

enum nfs4r_status nfs4r_rpc_send(struct nfs4r_rpc *rpc, nfs4r_server_id to, enum nfs4r_lane lane,
				 const struct nfs4r_msg *msg)
{
	struct rpc_peer *p = peer_at(rpc, to);
	enum nfs4r_status st;
	struct rpc_node *n;
	bool queued = false;
	uint32_t protocol;

	if (!p || lane >= NFS4R_LANES)
		return NFS4R_UNKNOWN;
	pthread_mutex_lock(&p->lock);
	st = send_check(rpc, p, lane, 0);
	protocol = p->protocol;
	pthread_mutex_unlock(&p->lock);
	if (st != NFS4R_OK)
		return st;
	n = rpc_node_new(nfs4r_msg_encode(msg, protocol));
	if (!n)
		return NFS4R_TOOBIG;
	if (is_answer(msg->type))
		count_answer(p, n);
	pthread_mutex_lock(&p->lock);
	st = send_check(rpc, p, lane, rpc_node_bytes(n));
	if (st == NFS4R_OK && p->protocol != protocol) /* it came back as another release meanwhile, and what was sent before is lost */
		st = NFS4R_UNKNOWN;
	if (st == NFS4R_OK)
		queued = send_queue(&p->queues[lane], n, msg->type == NFS4R_MSG_POSITIONS);
	pthread_mutex_unlock(&p->lock);
	if (!queued)
		rpc_nodes_free(n);
	else
		uv_async_send(&rpc->wake);
	return st;
}

uint64_t nfs4r_rpc_pending(struct nfs4r_rpc *rpc, nfs4r_server_id to, enum nfs4r_lane lane)
{
	struct rpc_peer *p = peer_at(rpc, to);
	uint64_t bytes = 0;

	if (!p || lane >= NFS4R_LANES)
		return 0;
	if (lane == NFS4R_LANE_BULK)
		return rpc_bulk_pending(p);
	if (!p->conns[lane])
		return 0;
	pthread_mutex_lock(&p->lock);
	if (p->up)
		bytes = p->queues[lane].bytes;
	pthread_mutex_unlock(&p->lock);
	return bytes + rpc_conn_in_kernel(p->conns[lane], SIOCOUTQ);
}

bool nfs4r_rpc_get_stats(struct nfs4r_rpc *rpc, nfs4r_server_id peer,
			 struct nfs4r_rpc_peer_stats *out)
{
	struct rpc_peer *p = peer_at(rpc, peer);

	memset(out, 0, sizeof(*out));
	if (!p)
		return false;
	pthread_mutex_lock(&p->lock);
	out->up = p->up;
	out->security = p->security;
	memcpy(out->state, p->state, sizeof(out->state));
	memcpy(out->version, p->version, sizeof(out->version));
	out->protocol = p->said_protocol;
	out->disk_format = p->said_format;
	out->speaks = p->up ? p->protocol : 0;
	memcpy(out->differs, p->differs, sizeof(out->differs));
	out->inc = p->up_inc;
	out->connects = p->connects;
	out->rtt_ms = p->rtt_ms;
	out->clock_known = p->clock_known;
	out->clock_ahead_ms = p->clock_ahead_ms;
	for (int lane = 0; lane < NFS4R_LANES; lane++)
		out->queued_bytes += p->queues[lane].bytes;
	out->to_renew = p->to_renew;
	out->ends_s = p->ends_s;
	pthread_mutex_unlock(&p->lock);
	out->bytes_sent = atomic_load_explicit(&p->bytes_sent, memory_order_relaxed);
	out->bytes_received = atomic_load_explicit(&p->bytes_received, memory_order_relaxed);
	out->messages_sent = atomic_load_explicit(&p->messages_sent, memory_order_relaxed);
	out->resent = atomic_load_explicit(&p->resent, memory_order_relaxed);
	out->messages_received = atomic_load_explicit(&p->messages_received, memory_order_relaxed);
	return true;
}
