/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Ports below 1024, which only root gets (CAP_NET_BIND_SERVICE). With security `none` a server listens on one, calls from one, and hears nobody who calls
 * from another, so that a local user of a server's machine, who has its address, too, is no server.
 *
 * A connection is the four of both addresses and both ports. The socket is bound with SO_REUSEADDR, and its port may be that of connections to
 * other servers and other volumes; so there are as many connections to each port of each server as there are ports in the range. What a closed
 * connection leaves (TIME_WAIT, a minute) is met by connect() only: the call is then made from the next port (rpc_peer_call). Each start begins somewhere else, for a
 * peer may still have the connections of the one before. IP_BIND_ADDRESS_NO_PORT is no help here: the kernel would choose a port from 1024 on.
 *
 * The range is that of bindresvport(3), which takes IPv4 only and knows nothing of a port that serves several connections.
 *
 * Failure: no right to such a port, or all of them taken by sockets that share with nobody: an error, and the call is made again later.
 */
#include <netinet/in.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpc/rpc_internal.h"

#define PORT_FIRST 600
#define PORTS (NFS4R_PORTS_PRIVILEGED - PORT_FIRST)
#define UNPRIVILEGED "/proc/sys/net/ipv4/ip_unprivileged_port_start"

static uint16_t *port_of(struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET6 ? &((struct sockaddr_in6 *)a)->sin6_port : &((struct sockaddr_in *)a)->sin_port;
}

bool rpc_port_privileged(const struct sockaddr_storage *addr)
{
	struct sockaddr_storage a = *addr;

	return ntohs(*port_of(&a)) < NFS4R_PORTS_PRIVILEGED;
}

bool rpc_ports_matter(const struct nfs4r_rpc *rpc)
{
	return rpc->cfg.security == NFS4R_SECURITY_NONE && !rpc->cfg.any_port;
}

bool rpc_ports_heard(const struct nfs4r_rpc *rpc)
{
	return rpc->accepts & NFS4R_SECURITY_BIT(NFS4R_SECURITY_NONE) && !rpc->cfg.any_port;
}

static int bind_one(struct nfs4r_rpc *rpc, int fd, struct sockaddr_storage *a)
{
	socklen_t len = a->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

	for (int i = 0; i < PORTS; i++) {
		*port_of(a) = htons((uint16_t)(PORT_FIRST + rpc->port_next++ % PORTS));
		if (bind(fd, (const struct sockaddr *)a, len) == 0)
			return 0;
		if (errno != EADDRINUSE)
			return uv_translate_sys_error(errno);
	}
	return UV_EADDRINUSE;
}

int rpc_port_bind(struct nfs4r_rpc *rpc, uv_tcp_t *tcp, int family, const struct sockaddr *from)
{
	struct sockaddr_storage a = { .ss_family = (sa_family_t)family };
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return uv_translate_sys_error(errno);
	if (from)
		memcpy(&a, from, family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
	err = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)) ? uv_translate_sys_error(errno) : bind_one(rpc, fd, &a);
	if (!err)
		err = uv_tcp_open(tcp, fd);
	if (err)
		close(fd);
	return err;
}

enum nfs4r_status rpc_ports_check(const struct nfs4r_rpc *rpc, char *why)
{
	FILE *f = rpc_ports_heard(rpc) ? fopen(UNPRIVILEGED, "re") : NULL;
	int first = NFS4R_PORTS_PRIVILEGED;

	if (!f)
		return NFS4R_OK;
	if (fscanf(f, "%d", &first) != 1)
		first = NFS4R_PORTS_PRIVILEGED;
	fclose(f);
	if (first >= NFS4R_PORTS_PRIVILEGED)
		return NFS4R_OK;
	return rpc_bad_config(why, "Peer_Ports = privileged: on this machine every local user may listen on ports from %d, and could impersonate this server; run sysctl "
				   "net.ipv4.ip_unprivileged_port_start=1024, or, if only root has an account, write Peer_Ports = any",
			      first);
}

void rpc_ports_warn(struct nfs4r_rpc *rpc)
{
	if (rpc->cfg.security != NFS4R_SECURITY_NONE || rpc->cfg.nservers < 2)
		return;
	rpc_log(rpc, NFS4R_LOG_WARN,
		"Peer_Security = none: servers identify each other by address alone. Anyone with root at the address of a server, or with control of such an address on the network, can impersonate "
		"that server, and read and change everything%s; keep the servers' network private (docs/security.md)",
		rpc->cfg.any_port ? ". Peer_Ports = any is unsafe: every local user of a server's machine can do the same" : "");
}
