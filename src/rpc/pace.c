/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One server's lane CONTROL takes no more than a tenth of a processor here for long (control 6.12).
 *
 * Happy path: a message is delivered as soon as it is there. Who works takes little: few messages in a tenth of a second, or messages that cost next to nothing.
 *
 * A server may send RPC_PACE_MESSAGES within RPC_PACE_WINDOW_MS, or take a tenth of that time of this thread. A server that does both is not read from until ten times what its messages took is over. What it sends then
 * waits at that server, in order, as with nfs4r_rpc_pause(). The other lanes, and the other servers, go on. The time of the processor counts and not the clock, so a busy machine slows no server down. The number of messages
 * counts as well, so a few that cost much are no reason.
 *
 * Invariant: whoever is stopped goes on, since the timer runs as long as one is.
 */
#include <assert.h>
#include <time.h>

#include "rpc/rpc_internal.h"

#define LOOK_EVERY 32 /* messages: the clock costs as much as a small one */

static uint64_t processor_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static bool is_paced(const struct rpc_conn *c)
{
	return c->lane == NFS4R_LANE_CONTROL && c->state == RPC_CONN_READY;
}

void rpc_pace_begin(struct rpc_conn *c)
{
	uint64_t now = uv_now(&c->rpc->loop);

	if (!is_paced(c))
		return;
	if (now >= c->pace.begun_ms + RPC_PACE_WINDOW_MS) {
		c->pace.begun_ms = now;
		c->pace.used_ns = c->pace.messages = 0;
	}
	c->pace.since_ns = processor_ns();
}

static void add(struct rpc_conn *c)
{
	uint64_t now = processor_ns();

	c->pace.used_ns += now - c->pace.since_ns;
	c->pace.since_ns = now;
}

static void stop(struct rpc_conn *c)
{
	struct nfs4r_rpc *rpc = c->rpc;

	c->pace.until_ms = c->pace.begun_ms + c->pace.used_ns * RPC_PACE_SHARE / 1000000;
	rpc_log_limited(rpc, NFS4R_LOG_WARN, rpc_log_key(RPC_LOG_PACE, c->peer->ep.id, NULL),
			"server %u sends so many messages that it is heard more slowly: %llu took %llu ms of a processor; if that continues, restart that server", c->peer->ep.id,
			(unsigned long long)c->pace.messages, (unsigned long long)c->pace.used_ns / 1000000);
	if (!uv_is_active((uv_handle_t *)&rpc->pace))
		uv_timer_start(&rpc->pace, rpc_pace_timer, RPC_PACE_TICK_MS, RPC_PACE_TICK_MS);
}

void rpc_pace_took(struct rpc_conn *c)
{
	if (!is_paced(c) || !c->pace.since_ns || ++c->pace.messages % LOOK_EVERY)
		return;
	add(c);
	if (c->pace.messages >= RPC_PACE_MESSAGES && c->pace.used_ns >= RPC_PACE_WINDOW_MS * 1000000ull / RPC_PACE_SHARE)
		stop(c);
}

void rpc_pace_end(struct rpc_conn *c)
{
	if (c->pace.since_ns)
		add(c);
	c->pace.since_ns = 0;
}

bool rpc_pace_is_over(const struct rpc_conn *c)
{
	return is_paced(c) && uv_now(&c->rpc->loop) < c->pace.until_ms;
}

void rpc_pace_timer(uv_timer_t *t)
{
	struct nfs4r_rpc *rpc = t->data;
	bool any = false;

	assert(rpc_is_mine(rpc));
	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++) {
		struct rpc_conn *c = rpc->peers[id].conns[NFS4R_LANE_CONTROL];

		if (c && c->state == RPC_CONN_READY)
			rpc_conn_go_on(c);
		c = rpc->peers[id].conns[NFS4R_LANE_CONTROL];
		any = any || (c && rpc_pace_is_over(c));
	}
	if (!any)
		uv_timer_stop(t);
}
