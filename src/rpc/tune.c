/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a TCP connection over a long, fast or lossy network needs.
 *
 * Congestion control: after a loss of one packet in a thousand, at 120 ms, one connection of cubic carries 4 Mbit/s, eight 30,
 * whatever the link's rate; and each burst begins with ten packets. BBR keeps the rate that it has measured through both.
 *
 * Buffers: what is sent and not yet received is bounded by the core's window already, so the kernel's per-connection limits (a
 * few MB, made for thousands of clients) are only in the way. With CAP_NET_ADMIN they are passed over; without, the
 * kernel tunes the buffers up to those limits, which is better than what setsockopt alone would allow.
 *
 * Failure: an algorithm that this kernel does not have, or does not let us use: the system's, and a line in the log.
 */
#include <errno.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <string.h>

#include "rpc/rpc_internal.h"

static void tune_congestion(struct nfs4r_rpc *rpc, int fd)
{
	const char *name = rpc->cfg.congestion;

	if (!name[0] || setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) == 0)
		return;
	rpc_log_limited(rpc, NFS4R_LOG_WARN, rpc_log_key(RPC_LOG_CONGESTION, 0, NULL),
			"TCP congestion control %s cannot be used here (%s): the system's default is used; run modprobe tcp_%s, or change Peer_Congestion",
			name, strerror(errno), name);
}

void rpc_tune(struct nfs4r_rpc *rpc, const uv_handle_t *h)
{
	uint64_t half = rpc->cfg.buffer_bytes < INT_MAX / 2 ? rpc->cfg.buffer_bytes : INT_MAX / 2; /* the kernel doubles it */
	int bytes = (int)half;
	uv_os_fd_t fd;

	if (uv_fileno(h, &fd) != 0)
		return; /* libuv has not made the socket yet: again when it is connected */
	tune_congestion(rpc, fd);
	if (bytes && setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) == 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
}

void rpc_tune_shared(const uv_handle_t *h)
{
	int bytes = RPC_UNSENT_BYTES;
	uv_os_fd_t fd;

	if (uv_fileno(h, &fd) == 0)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof(bytes));
}

void rpc_tune_silence(const uv_handle_t *h, unsigned silence_ms)
{
	uv_os_fd_t fd;

	if (uv_fileno(h, &fd) == 0)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_ms, sizeof(silence_ms));
}

void rpc_tune_paused(const uv_handle_t *h)
{
	rpc_tune_silence(h, 0);
}
