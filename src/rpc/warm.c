/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Connections of lane BULK that know the rate of their link before they are needed.
 *
 * A TCP connection sends ten packets in its first round trip and doubles that from one to the next: over 120 ms the first megabytes after a connect
 * take a second, and whoever waits for them at the other end does, too. BBR keeps what it has learned as long as the connection lives, also while nothing is
 * sent. So a new connection over a long link learns it at once, from padding, while there is nothing else to send.
 *
 * Happy path: a connection is ready; a timer keeps a little of padding unsent in the kernel, so that the congestion control is never short of bytes, until BBR
 * leaves its state STARTUP, which says that it has found the rate, or the time or the peer's bytes are over. Then one line of the log says what was learned.
 *
 * Failure: a congestion control that forgets while it is idle (cubic), a kernel that tells nothing, a short link: no padding. A link that breaks again and
 * again: the bytes are for a minute, however many connections there are.
 *
 * Invariants: no padding is added while a message waits; a message finds UNSENT_MS of it before itself on a connection (UNSENT_MIN on a slow one), and what is
 * on its way. Padding never comes between a number and its message: it is written alone.
 */
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <netinet/tcp.h>
#include <string.h>

#include "rpc/rpc_internal.h"

#define TICK_MS 4
#define UNSENT_MS 25 /* so much of what is sent at the rate that is known so far; BBR tries nearly three times that, and a tick may be late */
#define UNSENT_MIN (64u << 10)
#define UNSENT_MAX (4u << 20)
#define RECORD_BYTES (32u << 10)
#define WARM_MS 3000 /* for one connection */
#define AGAIN_MS 60000 /* until a peer gets bytes again */
#define STARTUP_GAIN 512 /* of 256: BBR sends at more than twice the rate that it knows in no state but STARTUP */

static bool info(const struct rpc_conn *c, int what, void *out, socklen_t size)
{
	uv_os_fd_t fd;

	memset(out, 0, size);
	return uv_fileno((const uv_handle_t *)&c->tcp, &fd) == 0 && getsockopt(fd, IPPROTO_TCP, what, out, &size) == 0;
}

/* BBR alone remembers a rate over idle times. */
static bool is_bbr(const struct rpc_conn *c)
{
	char name[16];

	return info(c, TCP_CONGESTION, name, sizeof(name)) && strncmp(name, "bbr", 3) == 0;
}

/* Bytes a second that BBR knows, 0 without it; @startup: it still looks for more. */
static uint64_t rate(const struct rpc_conn *c, bool *startup)
{
	union tcp_cc_info cc;
	bool known = is_bbr(c) && info(c, TCP_CC_INFO, &cc, sizeof(cc));

	*startup = known && cc.bbr.bbr_pacing_gain > STARTUP_GAIN;
	return known ? (uint64_t)cc.bbr.bbr_bw_hi << 32 | cc.bbr.bbr_bw_lo : 0;
}

static bool goes_on(const struct rpc_conn *c, uint64_t now)
{
	bool startup;

	if (!c->warm_until_ms || c->state != RPC_CONN_READY || now >= c->warm_until_ms || !c->peer->warm.left)
		return false;
	(void)rate(c, &startup);
	return startup || !c->rpc->cfg.warm_rtt_us;
}

static uint64_t unsent_bytes(const struct rpc_conn *c)
{
	bool startup;
	uint64_t bytes = rate(c, &startup) * UNSENT_MS / 1000;

	return bytes < UNSENT_MIN ? UNSENT_MIN : bytes > UNSENT_MAX ? UNSENT_MAX :
								      bytes;
}

static void add(struct rpc_conn *c)
{
	struct rpc_warm *w = &c->peer->warm;
	uint64_t unsent = unsent_bytes(c);

	while (c->state == RPC_CONN_READY && !c->write_pending && w->left && rpc_conn_in_kernel(c, SIOCOUTQNSD) < unsent) {
		struct rpc_node *n = rpc_node_new(nfs4r_buf_get(c->rpc->padding));

		if (!n)
			return;
		if (!w->bytes)
			w->since_ms = uv_now(&c->rpc->loop);
		w->left -= w->left < RECORD_BYTES ? w->left : RECORD_BYTES;
		w->bytes += RECORD_BYTES;
		rpc_queue_push(&c->own, n);
		rpc_conn_flush(c);
	}
}

static void say(struct rpc_peer *p, uint64_t now)
{
	uint64_t sum = 0;
	bool startup;

	for (int i = NFS4R_LANE_BULK; i < RPC_SLOTS; i++)
		sum += p->conns[i] ? rate(p->conns[i], &startup) : 0;
	rpc_log_often(p->rpc, NFS4R_LOG_INFO, rpc_log_key(RPC_LOG_WARM, p->ep.id, NULL), NULL, "the bandwidth to server %u was probed with %" PRIu64 " kB of padding in %" PRIu64 " ms: about %" PRIu64 " Mbit/s", p->ep.id, p->warm.bytes / 1000, now - p->warm.since_ms, sum / 125000);
	p->warm.bytes = 0;
}

/* False: nothing is left to do for it. */
static bool peer_tick(struct rpc_peer *p, uint64_t now)
{
	bool waits = rpc_bulk_waits(p), any = false;

	for (int i = NFS4R_LANE_BULK; i < RPC_SLOTS; i++) {
		struct rpc_conn *c = p->conns[i];

		if (!c || !goes_on(c, now)) {
			if (c)
				c->warm_until_ms = 0;
			continue;
		}
		any = true;
		if (!waits)
			add(c);
	}
	if (!any && p->warm.bytes)
		say(p, now);
	return any;
}

static void tick(uv_timer_t *t)
{
	struct nfs4r_rpc *rpc = t->data;
	uint64_t now = uv_now(&rpc->loop);
	bool any = false;

	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++)
		any |= peer_tick(&rpc->peers[id], now);
	if (!any)
		uv_timer_stop(t);
}

void rpc_warm_begin(struct rpc_conn *c)
{
	struct nfs4r_rpc *rpc = c->rpc;
	struct rpc_warm *w = &c->peer->warm;
	uint64_t now = uv_now(&rpc->loop);
	struct tcp_info ti;

	if (!rpc->padding || c->lane != NFS4R_LANE_BULK || !info(c, TCP_INFO, &ti, sizeof(ti)) || ti.tcpi_rtt < rpc->cfg.warm_rtt_us)
		return;
	if (!w->begun_ms || now - w->begun_ms >= AGAIN_MS) {
		w->begun_ms = now;
		w->left = rpc->cfg.warm_bytes;
	}
	c->warm_until_ms = now + WARM_MS;
	if (!goes_on(c, now))
		c->warm_until_ms = 0;
	else if (!uv_is_active((uv_handle_t *)&rpc->warm))
		uv_timer_start(&rpc->warm, tick, 0, TICK_MS);
}

/* Of no pattern that somebody on the way could make smaller. */
enum nfs4r_status rpc_warm_init(struct nfs4r_rpc *rpc)
{
	struct nfs4r_transport_msg_body m = { .type = NFS4R_MSG_PADDING };
	uint64_t x = 0x9e3779b97f4a7c15;

	uv_timer_init(&rpc->loop, &rpc->warm);
	rpc->warm.data = rpc;
	if (!rpc->cfg.warm_bytes)
		return NFS4R_OK;
	m.opaque = nfs4r_buf_new(RECORD_BYTES);
	for (uint32_t i = 0; m.opaque && i < RECORD_BYTES; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		m.opaque->data[i] = (uint8_t)(x >> 24);
	}
	rpc->padding = m.opaque ? nfs4r_transport_msg_encode(&m) : NULL;
	nfs4r_transport_msg_fini(&m);
	return rpc->padding ? NFS4R_OK : NFS4R_NOMEM;
}

void rpc_warm_fini(struct nfs4r_rpc *rpc)
{
	nfs4r_buf_put(rpc->padding);
}
