/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Somebody on the way between two servers, who sees records and not what is in them: passes them on, and does one thing to one of them when told. */
#ifndef NFS4R_TEST_RPC_PROXY_H
#define NFS4R_TEST_RPC_PROXY_H

#include <pthread.h>
#include <stdatomic.h>

#include "rpc/rpc.h"

enum proxy_action {
	PROXY_NONE,
	PROXY_FLIP, /* one bit of it */
	PROXY_DROP,
	PROXY_REPEAT,
	PROXY_SWAP, /* with the next one */
	PROXY_CUT, /* the connection in the middle of it */
	PROXY_SPLIT, /* it becomes two records */
	PROXY_ACTIONS
};

#define PROXY_CONNS 32

struct proxy_way { /* one direction of a connection */
	uint8_t *bytes, *held; /* of a record that is not whole; one that waits for the next */
	size_t len, held_len;
};

struct proxy {
	int listener, wake[2];
	struct nfs4r_endpoint to;
	char from[64]; /* calls are made from there */
	pthread_t thread;
	atomic_int action, direction; /* what to do to the next protected record of direction 0 (of who called) or 1 */
	atomic_uint bit; /* which one is turned over, modulo the record's length */
	atomic_uint least; /* shorter records are passed on */
	atomic_bool any; /* a record counts as protected whatever it begins with; else it has to look like one of TLS */
	atomic_bool closed; /* nobody gets through: set when the action is done */
	atomic_bool open; /* it is not set: the next connection may come at once */
	struct {
		int fd[2]; /* who called; whom */
		struct proxy_way way[2];
	} conn[PROXY_CONNS];
};

void proxy_start(struct proxy *p, const struct nfs4r_endpoint *at, const struct nfs4r_endpoint *to);
void proxy_stop(struct proxy *p);

#endif
