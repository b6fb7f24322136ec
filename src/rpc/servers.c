/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Who the servers are, while the transport runs.
 *
 * Happy path: set_servers checks the list and leaves a copy; the loop's thread compares it with the peers that it has. A new
 * peer is called, or asked to call (hello.c). One that is not in the list stays connected until what was queued for it has had time to
 * arrive: it must hear that it was taken out. Then it is forgotten, and its calls are refused with a text.
 *
 * Failure: a host name that is being looked up belongs to an address that may be gone when the answer comes; that answer is
 * thrown away. A list that comes while another one waits takes its place.
 *
 * Invariants: a struct rpc_peer never moves and its lock lives as long as the transport, so that senders need no lock to find
 * it; one that is not known is down, with empty queues and no connections.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/rpc_internal.h"

enum nfs4r_status rpc_bad_config(char *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, NFS4R_WHY, fmt, ap);
	va_end(ap);
	return NFS4R_BADCONFIG;
}

enum nfs4r_status rpc_servers_check(const struct nfs4r_endpoint *list, uint32_t n, bool privileged, char *why)
{
	if (n == 0 || n > NFS4R_SERVERS_MAX)
		return rpc_bad_config(why, "%u servers are configured; the range is 1 to %u", n, NFS4R_SERVERS_MAX);
	for (uint32_t i = 0; i < n; i++) {
		const struct nfs4r_endpoint *a = &list[i];

		if (a->id == 0 || a->id > NFS4R_SERVERS_MAX || a->port == 0 || a->host[0] == '\0' ||
		    !memchr(a->host, '\0', sizeof(a->host)))
			return rpc_bad_config(why, "server %u needs an id from 1 to %u, a host and a port", a->id, NFS4R_SERVERS_MAX);
		if (a->nkeys > NFS4R_KEYS_MAX)
			return rpc_bad_config(why, "server %u has %u keys; the maximum is %u", a->id, a->nkeys, NFS4R_KEYS_MAX);
		if (privileged && a->port >= NFS4R_PORTS_PRIVILEGED)
			return rpc_bad_config(why, "server %u listens on port %u, which every user of its machine can use: write Port = %u, or another one below %u", a->id, a->port,
					      NFS4R_PORT_DEFAULT, NFS4R_PORTS_PRIVILEGED);
		for (uint32_t j = 0; j < i; j++) {
			const struct nfs4r_endpoint *b = &list[j];

			if (a->id == b->id)
				return rpc_bad_config(why, "server id %u occurs twice; give each server its own id", a->id);
			if (a->port == b->port && strcmp(a->host, b->host) == 0)
				return rpc_bad_config(why, "servers %u and %u have the same address %s:%u", b->id, a->id, a->host, a->port);
		}
	}
	return NFS4R_OK;
}

static void peer_make(struct nfs4r_rpc *rpc, const struct nfs4r_endpoint *ep, uint64_t ask_at_ms)
{
	struct rpc_peer *p = &rpc->peers[ep->id];
	char why[NFS4R_WHY];

	p->ep = *ep;
	p->caller = rpc->cfg.self > ep->id;
	p->backoff_ms = rpc->cfg.connect_retry_ms;
	p->call_at_ms = p->leave_at_ms = 0;
	p->ask_at_ms = ask_at_ms;
	p->addr_next = 0;
	p->addrs.n = 0;
	p->resolved_ms = 0;
	p->resolve_again = p->resolving;
	/* A name is looked up on the loop, which does not wait for it. */
	p->numeric = rpc_addrs_resolve(ep->host, ep->port, true, &p->addrs, why) == NFS4R_OK;
	pthread_mutex_lock(&p->lock);
	snprintf(p->state, sizeof(p->state), "connecting");
	pthread_mutex_unlock(&p->lock);
	p->known = true;
}

void rpc_servers_init(struct nfs4r_rpc *rpc)
{
	pthread_mutex_init(&rpc->next_lock, NULL);
	pthread_mutex_init(&rpc->own_lock, NULL);
	for (nfs4r_server_id id = 0; id <= NFS4R_SERVERS_MAX; id++) {
		struct rpc_peer *p = &rpc->peers[id];

		p->rpc = rpc;
		p->rtt_ms = -1;
		pthread_mutex_init(&p->lock, NULL);
	}
	for (uint32_t i = 0; i < rpc->cfg.nservers; i++) {
		if (rpc->cfg.servers[i].id == rpc->cfg.self)
			rpc->self = rpc->cfg.servers[i];
		else
			peer_make(rpc, &rpc->cfg.servers[i], uv_now(&rpc->loop) + RPC_ASK_MS);
	}
}

void rpc_servers_fini(struct nfs4r_rpc *rpc)
{
	for (nfs4r_server_id id = 0; id <= NFS4R_SERVERS_MAX; id++) {
		for (int lane = 0; lane < NFS4R_LANES; lane++)
			rpc_queue_drop(&rpc->peers[id].queues[lane]);
		rpc_bulk_reset(&rpc->peers[id]);
		pthread_mutex_destroy(&rpc->peers[id].lock);
	}
	free(rpc->next);
	pthread_mutex_destroy(&rpc->next_lock);
	pthread_mutex_destroy(&rpc->own_lock);
}

static const struct nfs4r_endpoint *list_find(const struct nfs4r_rpc_servers *list, nfs4r_server_id id)
{
	for (uint32_t i = 0; i < list->n; i++) {
		if (list->list[i].id == id)
			return &list->list[i];
	}
	return NULL;
}

/* A connection that was proved with a key that is no longer there ends. */
static void keys_change(struct rpc_peer *p, const struct nfs4r_endpoint *ep)
{
	p->ep.nkeys = ep->nkeys;
	memcpy(p->ep.key, ep->key, sizeof(p->ep.key));
	rpc_peer_prove_again(p);
}

static void peer_change(struct nfs4r_rpc *rpc, nfs4r_server_id id, const struct nfs4r_endpoint *ep)
{
	struct rpc_peer *p = &rpc->peers[id];
	uint64_t now = uv_now(&rpc->loop);

	if (!ep) {
		if (p->known && !p->leave_at_ms)
			p->leave_at_ms = now + RPC_LEAVE_MS;
		return;
	}
	if (p->known && p->ep.port == ep->port && strcmp(p->ep.host, ep->host) == 0) {
		p->leave_at_ms = 0;
		keys_change(p, ep);
		return;
	}
	if (p->known)
		rpc_peer_down(p, false, "its address changed");
	rpc_log(rpc, NFS4R_LOG_INFO, "server %u is at %s:%u", id, ep->host, ep->port);
	peer_make(rpc, ep, now);
}

void rpc_servers_apply(struct nfs4r_rpc *rpc)
{
	struct nfs4r_rpc_servers *next;

	pthread_mutex_lock(&rpc->next_lock);
	next = rpc->next;
	rpc->next = NULL;
	pthread_mutex_unlock(&rpc->next_lock);
	if (!next)
		return;
	rpc->cfg.view = next->view;
	rpc->cfg.gone = next->gone;
	if (next->protocol > rpc->cfg.protocol.lowest && next->protocol <= rpc->cfg.protocol.highest)
		rpc->cfg.protocol.lowest = next->protocol;
	if (next->keys.durability)
		rpc->cfg.keys_now = next->keys;
	if (next->silence_ms && next->silence_ms != rpc->cfg.silence_ms)
		rpc_silence(rpc, next->silence_ms);
	rpc->cfg.nservers = next->n;
	memcpy(rpc->cfg.servers, next->list, sizeof(rpc->cfg.servers));
	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++) {
		if (id != rpc->cfg.self)
			peer_change(rpc, id, list_find(next, id));
	}
	free(next);
}

enum nfs4r_status nfs4r_rpc_set_servers(struct nfs4r_rpc *rpc, const struct nfs4r_rpc_servers *next, char *why)
{
	enum nfs4r_status st = rpc_servers_check(next->list, next->n, rpc_ports_matter(rpc), why);
	struct nfs4r_rpc_servers *copy;

	if (st != NFS4R_OK)
		return st;
	copy = malloc(sizeof(*copy));
	if (!copy) {
		snprintf(why, NFS4R_WHY, "no memory for the list of servers");
		return NFS4R_NOMEM;
	}
	*copy = *next;
	pthread_mutex_lock(&rpc->next_lock);
	free(rpc->next);
	rpc->next = copy;
	pthread_mutex_unlock(&rpc->next_lock);
	uv_async_send(&rpc->wake);
	return NFS4R_OK;
}
