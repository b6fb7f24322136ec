/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Addresses of servers: looked up, compared and printed. An IPv4 address inside an IPv6 one
 * equals the plain one.
 */
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "rpc/rpc_internal.h"

static void addr_plain(const struct sockaddr_storage *in, struct sockaddr_storage *out)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)in;
	struct sockaddr_in in4 = { .sin_family = AF_INET };

	*out = *in;
	if (in->ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		return;
	memcpy(&in4.sin_addr, in6->sin6_addr.s6_addr + 12, 4);
	in4.sin_port = in6->sin6_port;
	memset(out, 0, sizeof(*out));
	memcpy(out, &in4, sizeof(in4));
}

static bool addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
			((const struct sockaddr_in *)b)->sin_addr.s_addr;
	/* fe80::1 is another machine on another network. */
	return ((const struct sockaddr_in6 *)a)->sin6_scope_id == ((const struct sockaddr_in6 *)b)->sin6_scope_id &&
		memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
		       &((const struct sockaddr_in6 *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

void rpc_addrs_set(struct rpc_addrs *out, const struct addrinfo *list)
{
	out->n = 0;
	for (; list && out->n < RPC_ADDRS_MAX; list = list->ai_next) {
		if (list->ai_family != AF_INET && list->ai_family != AF_INET6)
			continue;
		memset(&out->a[out->n], 0, sizeof(out->a[0]));
		memcpy(&out->a[out->n], list->ai_addr, list->ai_addrlen);
		if (!rpc_addrs_have(out, &out->a[out->n])) /* looks at the n before it */
			out->n++;
	}
}

enum nfs4r_status rpc_addrs_resolve(const char *host, uint16_t port, bool numeric_only,
				    struct rpc_addrs *out, char *why)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	char service[8];
	int err;

	hints.ai_flags = AI_NUMERICSERV | (numeric_only ? AI_NUMERICHOST : 0);
	snprintf(service, sizeof(service), "%u", port);
	err = getaddrinfo(host, service, &hints, &list);
	if (err) {
		snprintf(why, NFS4R_WHY, "%s cannot be resolved: %s; correct the server list or the name service",
			 host, gai_strerror(err));
		return NFS4R_BADCONFIG;
	}
	rpc_addrs_set(out, list);
	freeaddrinfo(list);
	return NFS4R_OK;
}

bool rpc_addrs_have(const struct rpc_addrs *list, const struct sockaddr_storage *addr)
{
	struct sockaddr_storage a, b;

	addr_plain(addr, &a);
	for (uint32_t i = 0; i < list->n; i++) {
		addr_plain(&list->a[i], &b);
		if (addr_equal(&a, &b))
			return true;
	}
	return false;
}

const struct sockaddr *rpc_addrs_source(const struct rpc_addrs *list, int family,
					struct sockaddr_storage *out)
{
	for (uint32_t i = 0; i < list->n; i++) {
		if (list->a[i].ss_family != family)
			continue;
		*out = list->a[i];
		if (family == AF_INET)
			((struct sockaddr_in *)out)->sin_port = 0;
		else
			((struct sockaddr_in6 *)out)->sin6_port = 0;
		return (const struct sockaddr *)out;
	}
	return NULL;
}

void rpc_addr_text(const struct sockaddr_storage *addr, char *out, size_t size)
{
	char host[NI_MAXHOST], port[NI_MAXSERV];
	socklen_t len = addr->ss_family == AF_INET ? sizeof(struct sockaddr_in) :
						     sizeof(struct sockaddr_in6);

	if (getnameinfo((const struct sockaddr *)addr, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		snprintf(out, size, "?");
	else
		snprintf(out, size, addr->ss_family == AF_INET6 ? "[%.55s]:%.5s" : "%.45s:%.5s",
			 host, port);
}
