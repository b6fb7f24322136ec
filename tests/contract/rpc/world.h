/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Transports of one process on 127.0.0.1, .2, .3 ... and what their events said. Nothing
 * sleeps for a fixed time: a test waits for a condition, with a deadline far away.
 */
#ifndef NFS4R_TEST_RPC_WORLD_H
#define NFS4R_TEST_RPC_WORLD_H

#include <pthread.h>

#include "rpc/rpc.h"

#define WORLD_WAIT_MS 20000
#define WORLD_LOG 65536

struct world_server {
	struct nfs4r_rpc_config cfg;
	struct nfs4r_rpc *rpc; /* NULL: not started */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock, by peer: */
	uint32_t ups[NFS4R_SERVERS_MAX + 1], downs[NFS4R_SERVERS_MAX + 1];
	bool up[NFS4R_SERVERS_MAX + 1];
	uint64_t inc[NFS4R_SERVERS_MAX + 1];
	uint64_t messages, bytes, broken_order, early;
	uint64_t last_pull, last_question, last_release, last_entry; /* numbers that have to rise */
	uint64_t echoes;
	uint64_t heartbeats, rehearsed; /* received; the sum of what a member of the next protocol said in them */
	uint32_t cost_us; /* of a processor that each message takes */
	bool echo; /* answer VERIFY with VERIFY_ANSWER */
	uint64_t last_positions;
	char log[WORLD_LOG];
	size_t log_len;
};

struct world {
	uint32_t n;
	struct world_server s[4]; /* id = index + 1 */
};

/* Configured, not started; test may change s[i].cfg before it starts. */
void world_init(struct world *w, uint32_t n);
void world_start(struct world *w, uint32_t i);
void world_stop(struct world *w, uint32_t i);
void world_start_fails(struct world *w, uint32_t i, const char *text); /* its configuration is refused, and @text is in the reason */
void world_start_all(struct world *w);
/* Waits until everybody is up with everybody. */
void world_wait_all_up(struct world *w);
void world_fini(struct world *w);
uint64_t world_now_ns(void);

/* Wait until an expression over server @s is true, with its lock held meanwhile. */
#define world_wait(s, expr)                                                          \
	do {                                                                         \
		struct world_server *w_s = (s);                                      \
		uint64_t w_end = world_now_ns() + WORLD_WAIT_MS * 1000000ull;        \
		pthread_mutex_lock(&w_s->lock);                                      \
		bool w_ok;                                                           \
		while (!(w_ok = (expr)) && world_now_ns() < w_end)                   \
			world_pause(w_s);                                            \
		pthread_mutex_unlock(&w_s->lock);                                    \
		if (!w_ok)                                                           \
			fail_msg("%s did not come true; log:\n%s", #expr, w_s->log); \
	} while (0)
/* Value of an expression over server @s, read under its lock. */
#define world_get(s, expr)                        \
	({                                        \
		struct world_server *w_s = (s);   \
		pthread_mutex_lock(&w_s->lock);   \
		uint64_t w_v = (uint64_t)(expr);  \
		pthread_mutex_unlock(&w_s->lock); \
		w_v;                              \
	})
/* Times that @text stands in the log. */
uint32_t world_logged(struct world_server *s, const char *text);
void world_pause(struct world_server *s); /* until something changes, 20 ms at most */

/* State text of @peer as @s tells it. */
bool world_state_has(struct world_server *s, nfs4r_server_id peer, const char *text);

/* TCP connection from @from to server @to's port by hand; -1 if that fails. */
int raw_connect(const char *from, const struct nfs4r_endpoint *to);
int raw_listen(const struct nfs4r_endpoint *at);
/* True when the other side closes; what it sends before is thrown away. */
bool raw_closed(int fd, int timeout_ms);

/* A WRITE of @len bytes, which the caller may add, into a zeroed entry. */
void world_write(struct nfs4r_entry *e, nfs4r_server_id log, nfs4r_lsn lsn, uint64_t len);
/* ENTRIES with such a write, of log 1, and @len bytes of payload: the @n bytes over and over. The caller's to end (nfs4r_msg_fini, free). */
struct nfs4r_msg *world_entry(uint64_t number, const void *bytes, size_t n, uint32_t len);

#endif
