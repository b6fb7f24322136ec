/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Connections that came in and have not said who they are: how many are heard, and for how long.
 *
 * Happy path: a server says HELLO at once, is let in (hello.c), and counts no more here. What it may have then is bounded by its lanes.
 *
 * Failure: whoever has a server's address can open as many connections as it likes and say nothing. Each may take five seconds (rpc_conn_tick), and of one
 * address 32 are heard, of all 512: beyond that the one that was refused and lingers, else the oldest, makes room for the new one. So a server that comes is
 * always heard, whoever else has its address. From addresses of no server 16 are heard, and these make no room.
 *
 * A caller from a port that every user gets is told so and no more (port.c), and never takes the place of one that may be a server.
 */
#include <stdio.h>

#include "rpc/rpc_internal.h"

struct crowd {
	uint32_t n;
	struct rpc_conn *first; /* to make room */
};

static bool is_stranger(struct nfs4r_rpc *rpc, const struct rpc_conn *c)
{
	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++) {
		if (rpc->peers[id].known && rpc_addrs_have(&rpc->peers[id].addrs, &c->addr))
			return false;
	}
	return true;
}

static bool is_unheard(const struct rpc_conn *c)
{
	return c->came && !c->peer && c->state != RPC_CONN_CLOSED;
}

/* @c is older than all that were counted. */
static void count(struct crowd *crowd, struct rpc_conn *c)
{
	crowd->n++;
	if (!crowd->first || c->state == RPC_CONN_LINGER || crowd->first->state != RPC_CONN_LINGER)
		crowd->first = c;
}

/* Those that came before @c. */
static void count_all(struct rpc_conn *c, struct crowd *here, struct crowd *all)
{
	struct rpc_addrs from = { .n = 1, .a = { c->addr } };

	for (struct rpc_conn *o = c->rpc->conns; o; o = o->next) { /* the newest first */
		if (o == c || !is_unheard(o))
			continue;
		count(all, o);
		if (rpc_addrs_have(&from, &o->addr))
			count(here, o);
	}
}

/* False: @c is closed. */
static bool has_room(struct rpc_conn *c)
{
	struct crowd here = { 0 }, all = { 0 };
	struct nfs4r_rpc *rpc = c->rpc;
	bool full;

	count_all(c, &here, &all);
	full = here.n >= RPC_UNHEARD_MAX;
	if (!full && all.n < RPC_UNHEARD_ALL_MAX)
		return true;
	rpc_log_limited(rpc, NFS4R_LOG_WARN, rpc_log_key(RPC_LOG_FULL, 0, &c->addr),
			"%u connections%s%s are open without an identity: the oldest are closed for new ones; find out what opens them", full ? here.n : all.n,
			full ? " like that from " : "", full ? c->from : "");
	if (c->low_right || c->stranger) {
		rpc_conn_close(c);
		return false;
	}
	rpc_conn_close(full ? here.first : all.first);
	return true;
}

static bool is_heard(struct rpc_conn *c)
{
	struct nfs4r_rpc *rpc = c->rpc;

	c->stranger = is_stranger(rpc, c);
	rpc->nstrangers += c->stranger;
	if (rpc->nstrangers > RPC_STRANGERS_MAX && c->stranger) {
		rpc_log_limited(rpc, NFS4R_LOG_WARN, rpc_log_key(RPC_LOG_STRANGER, 0, &c->addr),
				"connection from %s closed: no server of the volume has that address, and %u such connections are open", c->from,
				rpc->nstrangers);
		rpc_conn_close(c);
		return false;
	}
	return has_room(c);
}

void rpc_accepted(uv_stream_t *listener, int status)
{
	struct nfs4r_rpc *rpc = listener->data;
	struct rpc_conn *c;
	int len = sizeof(c->addr);

	if (status < 0)
		return;
	c = rpc_conn_new(rpc);
	if (!c) {
		rpc->accept_missed = true; /* libuv waits for uv_accept: the tick tries again */
		return;
	}
	c->came = true;
	c->state = RPC_CONN_HELLO;
	if (uv_accept(listener, (uv_stream_t *)&c->tcp) != 0 ||
	    uv_tcp_getpeername(&c->tcp, (struct sockaddr *)&c->addr, &len) != 0) {
		rpc_conn_close(c);
		return;
	}
	rpc_addr_text(&c->addr, c->from, sizeof(c->from));
	/* Where other flavours are taken as well, the first record decides (handshake.c). */
	c->low_right = rpc->accepts == NFS4R_SECURITY_BIT(NFS4R_SECURITY_NONE) && rpc_ports_heard(rpc) && !rpc_port_privileged(&c->addr);
	if (!is_heard(c))
		return;
	rpc_conn_start(c);
	if (!rpc_conn_dead(c) && c->low_right)
		rpc_refuse(c, 0, NFS4R_REFUSED_PORT, RPC_PORT_TEXT);
	else if (!rpc_conn_dead(c))
		rpc_handshake_start(c);
}
