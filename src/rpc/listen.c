/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where the other servers reach this one: a listener on each address of the own host name.
 *
 * An address that this machine does not have (IPv6 switched off) is passed over while there is another.
 *
 * Debian's installer writes the machine's own name into /etc/hosts with the address 127.0.1.1. Nobody else reaches that, and nobody is called
 * from it. So where a name means nothing but this machine itself, this server listens on all addresses, and calls from any: the
 * others, and this server, look at the address of who calls in any case (hello.c).
 *
 * What is not there yet when a machine starts (the name service, an address, a port that an earlier process still has) is waited for, for a while.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "rpc/rpc_internal.h"

#define LISTEN_AGAIN_NS 500000000L

static int listen_on(struct nfs4r_rpc *rpc, const struct sockaddr_storage *addr)
{
	uv_tcp_t *l = &rpc->listeners[rpc->nlisteners];
	int err = uv_tcp_init(&rpc->loop, l);

	if (err)
		return err;
	l->data = rpc;
	rpc->nlisteners++;
	err = uv_tcp_bind(l, (const struct sockaddr *)addr, 0);
	rpc_tune(rpc, (uv_handle_t *)l); /* what is accepted inherits it */
	return err ? err : uv_listen((uv_stream_t *)l, RPC_BACKLOG, rpc_accepted);
}

static bool not_here(int err)
{
	return err == UV_EADDRNOTAVAIL || err == UV_EAFNOSUPPORT;
}

static bool is_loopback(const struct sockaddr_storage *a)
{
	const struct in6_addr *a6 = &((const struct sockaddr_in6 *)a)->sin6_addr;

	if (a->ss_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(a6) || (IN6_IS_ADDR_V4MAPPED(a6) && a6->s6_addr[12] == IN_LOOPBACKNET);
}

/* A name, not an address, and not that of the machine for itself. */
static bool means_itself_only(const struct nfs4r_rpc *rpc)
{
	struct rpc_addrs numeric;
	char why[NFS4R_WHY];

	for (uint32_t i = 0; i < rpc->self_addrs.n; i++)
		if (!is_loopback(&rpc->self_addrs.a[i]))
			return false;
	return strcmp(rpc->self.host, "localhost") != 0 && rpc_addrs_resolve(rpc->self.host, rpc->self.port, true, &numeric, why) != NFS4R_OK;
}

static void listen_everywhere(struct nfs4r_rpc *rpc)
{
	struct sockaddr_in6 *any6 = (struct sockaddr_in6 *)&rpc->self_addrs.a[0];
	struct sockaddr_in *any4 = (struct sockaddr_in *)&rpc->self_addrs.a[1];
	char text[64];

	rpc_addr_text(&rpc->self_addrs.a[0], text, sizeof(text));
	rpc_log(rpc, NFS4R_LOG_WARN,
		"%s is %s on this machine (/etc/hosts), which other servers cannot reach: listening on all addresses. To listen on one address only, give %s that address in /etc/hosts, or write "
		"it as the Address of server %u",
		rpc->self.host, text, rpc->self.host, rpc->cfg.self);
	memset(&rpc->self_addrs, 0, sizeof(rpc->self_addrs));
	*any6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(rpc->self.port) };
	*any4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(rpc->self.port) };
	rpc->self_addrs.n = 2;
}

/* @again: it may be there later. */
static enum nfs4r_status listen_once(struct nfs4r_rpc *rpc, bool *again, char *why)
{
	enum nfs4r_status st = rpc_addrs_resolve(rpc->self.host, rpc->self.port, false, &rpc->self_addrs, why);
	bool listening = false, everywhere;
	char text[64];

	*again = true;
	if (st != NFS4R_OK)
		return st;
	everywhere = means_itself_only(rpc);
	if (everywhere)
		listen_everywhere(rpc);
	for (uint32_t i = 0; i < rpc->self_addrs.n && !(everywhere && listening); i++) {
		int err = listen_on(rpc, &rpc->self_addrs.a[i]);

		if (not_here(err))
			continue;
		if (err) {
			*again = err == UV_EADDRINUSE;
			rpc_addr_text(&rpc->self_addrs.a[i], text, sizeof(text));
			return rpc_bad_config(why, "cannot listen on %s: %s; server %u's entry must be a free address of this machine", text, uv_strerror(err),
					      rpc->cfg.self);
		}
		listening = true;
	}
	if (everywhere)
		rpc->self_addrs.n = 0; /* called from whatever leads there */
	return listening ? NFS4R_OK : rpc_bad_config(why, "cannot listen on %s: it is no address of this machine; server %u's entry must be one", rpc->self.host, rpc->cfg.self);
}

static void forget_listeners(struct nfs4r_rpc *rpc)
{
	for (uint32_t i = 0; i < rpc->nlisteners; i++)
		uv_close((uv_handle_t *)&rpc->listeners[i], NULL);
	(void)uv_run(&rpc->loop, UV_RUN_NOWAIT); /* their memory is used again */
	rpc->nlisteners = 0;
}

enum nfs4r_status rpc_listen(struct nfs4r_rpc *rpc, char *why)
{
	uint64_t until = uv_hrtime() + rpc->cfg.listen_wait_ms * UINT64_C(1000000);
	bool again, said = false;

	for (;;) {
		enum nfs4r_status st = listen_once(rpc, &again, why);

		if (st == NFS4R_OK || !again || uv_hrtime() >= until)
			return st;
		if (!said)
			rpc_log(rpc, NFS4R_LOG_WARN, "%s. The server retries for %u s", why, rpc->cfg.listen_wait_ms / 1000);
		said = true;
		forget_listeners(rpc);
		nanosleep(&(struct timespec){ .tv_nsec = LISTEN_AGAIN_NS }, NULL);
	}
}
