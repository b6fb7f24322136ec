/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Private to src/rpc. Who may touch what:
 *  - struct rpc_conn and the members of struct rpc_peer above its lock: the transport's thread;
 *  - those below it: any thread that holds the lock. No callback runs under a lock.
 *
 * Files: rpc.c the interface and the thread; servers.c who the servers are; peer.c a peer's ups and downs; conn.c bytes of one
 * connection; bulk.c the connections of lane BULK; record.c record marking; accept.c who is heard; hello.c who is let in;
 * refusal.c what is said to who is not; handshake.c how a flavour is chosen, proved and renewed; certificate.c what ends and what is to be renewed; protect.c records as a flavour wants
 * them; security/ the flavours; work.c what runs on other threads; port.c ports of root; queue.c what waits to be sent;
 * addr.c addresses; tune.c socket options; warm.c padding; log.c log lines that do not flood.
 */
#ifndef NFS4R_RPC_INTERNAL_H
#define NFS4R_RPC_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include "base/said.h"
#include "rpc/rpc.h"
#include "rpc/security/security.h"
#include "xdr_hello.h"

#define RPC_ADDRS_MAX 8 /* addresses of one host name */
#define RPC_SLOTS (NFS4R_LANE_BULK + NFS4R_CONNECTIONS_MAX) /* connections with a peer; BULK, the last lane, has the rest */
#define RPC_UNHEARD_MAX 32 /* connections that came in from one address and have not said who they are */
#define RPC_UNHEARD_ALL_MAX 512 /* from all */
#define RPC_READ_BYTES 65536 /* receive buffer of a connection */
#define RPC_STRANGER_RECORD_MAX 65536 /* longest record before HELLO was accepted */
#define RPC_FRAGMENTS_MAX 4096 /* of one record */
#define RPC_BATCH_NODES 128 /* records of one writev */
#define RPC_BATCH_BYTES (1u << 20)
#define RPC_SHARE_BYTES (256u << 10) /* of lane BULK that one connection takes at a time, a record more at most */
#define RPC_UNSENT_BYTES (2 << 20) /* that the kernel takes beyond what it sends at once, on one of several connections: enough until this thread comes again on a busy machine */
#define RPC_STALL_MS 300 /* without an acknowledgement, and three round trips: a connection of several that stands still */
#define RPC_TURN_BYTES (4u << 20) /* written for one lane before the others have their turn */
#define RPC_BACKOFF_MAX_MS 5000
#define RPC_SHUN_MAX_MS 60000
#define RPC_BACKLOG 1024
#define RPC_LINGER_MS 1000 /* time for a REFUSED to be read before the connection closes */
#define RPC_RESOLVE_MS 5000
#define RPC_STRANGERS_MAX 16 /* connections from addresses of no server: they hear why they are refused */
#define RPC_LEAVE_MS 2000 /* one that was taken out hears what was sent to it */
#define RPC_ASK_MS 5000 /* one that does not call is asked whether it knows this server */
#define RPC_PORT_TRIES 16 /* ports from which one call is made, while connections that ended still have them */
#define RPC_LOG_SLOTS 64
#define RPC_LOG_CAUSES 32
#define RPC_LOG_BURST 32 /* lines of one cause in a minute, of whatever peers and addresses */
#define RPC_LOG_OFTEN 6 /* rpc_log_often() */
#define RPC_CREW_MAX 4 /* threads of one crew */
#define RPC_APART_BYTES (256u << 10) /* of records that came in on one connection and wait for a worker: no more are read meanwhile */
#define RPC_LOOK_MS 5000 /* have files changed? */
#define RPC_RENEW_AGAIN_MS 60000 /* after a renewal that failed */
#define RPC_RENEW_LEAST_MS 2000 /* between two of one connection that this side begins */
#define RPC_RENEW_MOST 60 /* in a minute that the other side begins; beyond it hears no */

struct rpc_addrs {
	uint32_t n;
	struct sockaddr_storage a[RPC_ADDRS_MAX]; /* with the port */
};

struct rpc_conn;

/* One record that waits to be sent; the mark goes before the bytes. */
struct rpc_node {
	struct rpc_node *next;
	struct nfs4r_buf *buf;
	uint32_t mark;
	bool plain; /* not for the security layer: it is the layer's own */
	bool keys; /* the last one with the session that is left (handshake.c) */
	uint32_t answer; /* bytes that are counted in *answers until it is freed; 0: none */
	atomic_ulong *answers;
	/* bulk.c; of one that was given to a connection: */
	uint64_t number;
	struct rpc_conn *by; /* NULL: has to be sent again */
	uint64_t end; /* of @by's bytes */
};

struct rpc_queue {
	struct rpc_node *head, *tail;
	struct rpc_node *positions; /* the POSITIONS among them, to be replaced by a newer one */
	uint64_t bytes; /* of the queue, and of the records being written */
};

enum rpc_conn_state {
	RPC_CONN_CONNECTING = 1, /* we called, TCP is not there yet */
	RPC_CONN_TOKEN = 7, /* the security layer's handshake */
	RPC_CONN_HELLO = 2, /* waiting for the other's HELLO */
	RPC_CONN_CONFIRM = 3, /* we were called and sent HELLO: waiting for the first KEEPALIVE */
	RPC_CONN_READY = 4,
	RPC_CONN_LINGER = 5, /* REFUSED was sent; whatever comes is thrown away */
	RPC_CONN_CLOSED = 6, /* handle is closing */
};

struct rpc_peer;
struct rpc_apart;

/* Something for another thread. */
struct rpc_work {
	struct rpc_work *next;
	void (*run)(struct rpc_work *w); /* on that thread */
	void (*done)(struct rpc_work *w); /* afterwards, on the transport's; frees it */
};
enum rpc_crew {
	RPC_CREW_CALLS, /* handshakes that this server begins: they may wait for others */
	RPC_CREW_CALLED, /* handshakes that others begin */
	RPC_CREW_RECORDS,
	RPC_CREWS
};

struct rpc_conn {
	uv_tcp_t tcp;
	uv_connect_t connect_req;
	uv_write_t write_req;
	uv_shutdown_t shutdown_req;
	struct nfs4r_rpc *rpc;
	struct rpc_conn *prev, *next; /* rpc->conns */
	struct rpc_peer *peer; /* NULL until a caller's HELLO is accepted */
	enum rpc_conn_state state;
	bool caller; /* we opened it */
	bool paused; /* ready, but not read from until all lanes are */
	bool stopped; /* not read from while the peer has too much under way here */
	bool asks; /* the question of a server that is not called (hello.c): no part of its peer's connections */
	bool came; /* it was not opened here */
	bool low_right; /* from a port that every user gets, where that matters (port.c) */
	bool named; /* the other side has named the volume by its UUID */
	bool proven; /* it is the server that it says it is, and more than its address says so */
	bool stranger; /* from an address of no server: it is heard, and refused */
	enum nfs4r_lane lane;
	uint32_t index; /* among those of lane BULK; else 0 */
	char from[64]; /* address of the other side, for people */
	struct sockaddr_storage addr;
	uint32_t protocol; /* that both sides speak here; 0: the other side has not said */
	uint64_t created_ms, received_ms, pinged_ms;

	/* handshake.c */
	const struct nfs4r_security_ops *ops; /* of the one who called; `none` until that is known */
	bool chosen; /* it is */
	struct nfs4r_security_session *security, *wraps, *unwraps; /* the last two are what is in use: during a renewal the new one, one after the other */
	bool secured; /* its handshake is done: records are wrapped */
	bool stepping; /* a step of it runs that others have to wait for: nothing is taken from the connection */
	struct {
		struct nfs4r_security_session *session; /* NULL: none is under way */
		bool running, done; /* a step runs; the handshake is done */
		uint64_t begun_ms, again_ms; /* the last one, or the minute of those that the other side began; not before */
		uint32_t n; /* in that minute */
	} renewal;
	uint32_t works; /* that run for it, or wait: it lives until they are done */
	bool freed; /* as soon as they are */

	/* protect.c */
	struct rpc_apart *apart; /* a worker has it; NULL: none has */
	bool wrap_due; /* `writing` waits for a worker */
	struct rpc_node *arrived, *arrived_tail; /* records for a worker */
	struct rpc_node *opened; /* by one, in order, to be delivered */
	uint64_t arrived_bytes; /* of both, and of what it has */

	/* record.c: reading */
	uint8_t *in; /* RPC_READ_BYTES; in_len of them not yet consumed */
	uint32_t in_len;
	struct nfs4r_buf *record; /* one that does not lie in `in` as a whole; len = capacity */
	uint32_t record_len, fragment_left, fragments;
	bool fragment_last, parsing;

	struct { /* pace.c; of lane CONTROL */
		uint64_t begun_ms, used_ns, since_ns; /* the window; processor time in it; since_ns: parsing, since then. 0: it is not */
		uint64_t messages, until_ms; /* in it; nothing is read before */
	} pace;

	/* conn.c: writing */
	struct rpc_queue own; /* the transport's messages: they go before the lane's queue */
	struct rpc_node *writing; /* records of the write that is under way */
	uint64_t writing_bytes; /* of the lane's queue among them */
	uint32_t writing_messages;
	bool write_pending;
	uint64_t given; /* bytes, to libuv and the kernel */

	/* bulk.c */
	uint64_t announced; /* number of the message that comes next here; 0: none */
	uint64_t acked, left; /* at the last tick: of `given` what the other kernel has, and what not */
	uint64_t busy_ms; /* since when it has something; 0: it has nothing */
	uint64_t acked_ms, rate; /* when `acked` last moved, or it began; bytes in a second, smoothed */
	bool slow; /* gets nothing until what it has is gone */

	uint64_t warm_until_ms; /* warm.c: it may get padding until then; 0: none */
};

/* certificate.c: what was said of an end */
struct rpc_ending {
	int64_t ends_s, said_s; /* of what; when, by the clock of the day */
};

/* Padding to a peer (warm.c). */
struct rpc_warm {
	uint64_t begun_ms, left; /* of the bytes of this minute */
	uint64_t bytes, since_ms; /* sent since then, since the last line of the log */
};

struct rpc_out_of_order;

/* Lane BULK of a peer (bulk.c). */
struct rpc_bulk {
	uint64_t given; /* number of the newest message that went to a connection */
	struct rpc_node *head, *tail; /* given and not known to be taken, ascending */
	uint64_t kept_bytes; /* of them; part of the queue's */
	uint32_t again; /* of them have no connection */
	uint64_t taken, acknowledged; /* the other way: delivered in order; what the peer knows of it */
	uint64_t untold_bytes;
	struct rpc_out_of_order *early; /* came before one that is missing, ascending */
	uint64_t out_of_order_bytes;
	uint64_t recall_ms, ticked_ms;
};

struct rpc_peer {
	struct nfs4r_rpc *rpc;
	struct nfs4r_endpoint ep;
	bool caller; /* we call: our id is higher */
	struct rpc_addrs addrs;
	uint32_t addr_next;
	bool numeric, resolving, resolve_again; /* again: what is being resolved is an old name */
	uv_getaddrinfo_t resolve_req;
	uint64_t resolved_ms;
	struct rpc_conn *conns[RPC_SLOTS]; /* by lane; those of BULK from there on */
	struct rpc_bulk bulk;
	struct rpc_warm warm;
	uint64_t session; /* of the connections; see nfs4r.x */
	enum nfs4r_security flavour; /* of those that came in */
	uint64_t inc; /* of the peer, from the HELLO of the first lane */
	uint64_t call_at_ms, backoff_ms, up_since_ms, ask_at_ms;
	uint64_t shun_ms, shun_until_ms; /* it sent what cannot be decoded: no connection until then; 0: it did not */
	uint64_t leave_at_ms; /* taken out: then it goes; 0 = it stays */
	bool asking; /* a question is under way */
	struct rpc_ending ending; /* of its certificate */
	uint32_t steps; /* of handshakes with it that this server began; while one runs for a call that ended, there is no other call */
	atomic_bool known; /* it is a server of the volume */
	atomic_bool full; /* of its requests no more are read */
	atomic_ulong answers; /* memory of answers to it that wait here */
	atomic_ulong bytes_sent, bytes_received, messages_sent, messages_received, resent;

	pthread_mutex_t lock;
	bool up;
	enum nfs4r_security security; /* of its connections; 0: it is not up */
	char state[NFS4R_WHY];
	char version[64];
	struct nfs4r_versions said_protocol, said_format; /* as in its stats */
	uint32_t protocol; /* of its connections, the same on all */
	char differs[NFS4R_WHY]; /* as in its stats; under lock */
	uint64_t up_inc, connects;
	double rtt_ms;
	bool clock_known;
	double clock_ahead_ms;
	uint32_t to_renew; /* as in its stats */
	int64_t ends_s;
	struct rpc_queue queues[NFS4R_LANES];
};

struct rpc_log_slot {
	uint64_t key, at_ms; /* when it was wanted last */
	struct nfs4r_said said;
};

/* Lines of one cause. */
struct rpc_log_bucket {
	uint32_t cause;
	struct nfs4r_said said;
};

struct nfs4r_rpc {
	struct nfs4r_rpc_config cfg;
	struct nfs4r_rpc_events ev;
	uint32_t accepts; /* NFS4R_SECURITY_BIT of flavours */
	struct nfs4r_security_setup *setups[NFS4R_SECURITY_FLAVOURS];
	struct rpc_works *works; /* work.c; NULL: there were none */
	bool looking; /* at files of the flavours */
	struct rpc_ending ending; /* of this server's certificate */
	pthread_mutex_t own_lock;
	struct nfs4r_rpc_own own; /* under it */
	uint64_t looked_ms;
	struct nfs4r_endpoint self; /* where it listens */
	struct rpc_addrs self_addrs;
	struct rpc_peer peers[NFS4R_SERVERS_MAX + 1]; /* by id; those that are not known wait to be */
	pthread_mutex_t next_lock;
	struct nfs4r_rpc_servers *next; /* set_servers, not yet carried out; under next_lock */
	uint64_t session; /* last one used */
	uv_loop_t loop;
	uv_async_t wake;
	uv_timer_t tick, warm, pace;
	struct nfs4r_buf *padding; /* a record of it; NULL: none is sent */
	uv_tcp_t listeners[RPC_ADDRS_MAX];
	uint32_t nlisteners;
	struct rpc_conn *conns;
	uint32_t nstrangers;
	bool accept_missed;
	uint64_t ping_ms, handshake_ms, tick_ms, ticked_ms;
	struct rpc_log_slot log_slots[RPC_LOG_SLOTS];
	struct rpc_log_bucket log_buckets[RPC_LOG_CAUSES];
	uint32_t port_next; /* port.c */
	atomic_bool stopping;
	bool running; /* the thread */
	pthread_t thread;
	bool owned; /* by the transport's thread, which has said so itself; before it runs and after it, by who makes and frees it */
	pthread_t owner;
};

/* For asserts: this is the transport's thread, or there is none. */
static inline bool rpc_is_mine(const struct nfs4r_rpc *rpc)
{
	return !rpc->owned || pthread_equal(rpc->owner, pthread_self());
}

/* addr.c */
/* NFS4R_OK, NFS4R_BADCONFIG: does not resolve. Blocks while a name is looked up. */
enum nfs4r_status rpc_addrs_resolve(const char *host, uint16_t port, bool numeric_only, struct rpc_addrs *out, char *why);
void rpc_addrs_set(struct rpc_addrs *out, const struct addrinfo *list);
bool rpc_addrs_have(const struct rpc_addrs *list, const struct sockaddr_storage *addr); /* any port */
/* Of the same family, port 0; NULL if there is none. */
const struct sockaddr *rpc_addrs_source(const struct rpc_addrs *list, int family, struct sockaddr_storage *out);
void rpc_addr_text(const struct sockaddr_storage *addr, char *out, size_t size);

/* certificate.c */
void rpc_certificates_tick(struct nfs4r_rpc *rpc);
void rpc_certificates_own(struct nfs4r_rpc *rpc, const struct nfs4r_rpc_own *own); /* after rpc_certificates_tick() */

/* log.c */
__attribute__((format(printf, 3, 4))) void rpc_log(struct nfs4r_rpc *rpc, enum nfs4r_log_level level, const char *fmt, ...);
/* At most one line a minute for one @key. */
__attribute__((format(printf, 4, 5))) void rpc_log_limited(struct nfs4r_rpc *rpc, enum nfs4r_log_level level, uint64_t key, const char *fmt, ...);
/* At most RPC_LOG_OFTEN, and one with the same @each, its digits aside; NULL: as many. */
__attribute__((format(printf, 5, 6))) void rpc_log_often(struct nfs4r_rpc *rpc, enum nfs4r_log_level level, uint64_t key, const char *each, const char *fmt, ...);
enum rpc_log_cause {
	RPC_LOG_CONNECT = 101,
	RPC_LOG_STRANGER = 102,
	RPC_LOG_HANDSHAKE = 103,
	RPC_LOG_REFUSED_US = 200 /* + refusal */,
	RPC_LOG_REFUSED = 300,
	RPC_LOG_RESOLVE = 104,
	RPC_LOG_DOWN = 105,
	RPC_LOG_FULL = 106,
	RPC_LOG_CONGESTION = 107,
	RPC_LOG_BULK = 108,
	RPC_LOG_UP = 109,
	RPC_LOG_REPORTED = 110,
	RPC_LOG_WARM = 111,
	RPC_LOG_PACE = 112,
	RPC_LOG_SECURITY = 113,
	RPC_LOG_RENEWAL = 114,
	RPC_LOG_ELSEWHERE = 115
};
uint64_t rpc_log_key(uint32_t cause, nfs4r_server_id peer, const struct sockaddr_storage *addr);

/* queue.c; the holder's lock, if it has one, is the caller's business */
struct rpc_node *rpc_node_new(struct nfs4r_buf *buf); /* takes the reference; NULL: it was put */
void rpc_node_set(struct rpc_node *n, struct nfs4r_buf *buf);
void rpc_nodes_free(struct rpc_node *list);
void rpc_queue_push(struct rpc_queue *q, struct rpc_node *n);
/* Take at most @max records for one write, until they are @most bytes or more. */
struct rpc_node *rpc_queue_take(struct rpc_queue *q, uint32_t max, uint64_t most, uint32_t *n, uint64_t *bytes);
void rpc_queue_drop(struct rpc_queue *q);
static inline uint64_t rpc_node_bytes(const struct rpc_node *n)
{
	return (uint64_t)n->buf->len + sizeof(n->mark);
}

/* port.c; with security `none` */
bool rpc_ports_matter(const struct nfs4r_rpc *rpc); /* calls are made from ports below 1024 */
bool rpc_ports_heard(const struct nfs4r_rpc *rpc); /* calls with `none` are heard from such ports only */
bool rpc_port_privileged(const struct sockaddr_storage *addr);
/* @tcp gets a socket with the next such port of the address @from (NULL: of any). 0, or an error of libuv: EACCES without the right, EADDRINUSE: none is free. */
int rpc_port_bind(struct nfs4r_rpc *rpc, uv_tcp_t *tcp, int family, const struct sockaddr *from);
enum nfs4r_status rpc_ports_check(const struct nfs4r_rpc *rpc, char *why); /* NFS4R_BADCONFIG: they mean nothing on this machine; @why (NFS4R_WHY bytes) */
void rpc_ports_warn(struct nfs4r_rpc *rpc);

/* listen.c; before the thread is there. BADCONFIG: @why. Blocks for cfg.listen_wait_ms where something is not there yet. */
enum nfs4r_status rpc_listen(struct nfs4r_rpc *rpc, char *why);
void rpc_accepted(uv_stream_t *listener, int status); /* accept.c */

/* tune.c; before the connection is asked for or listened to, as far as the socket is there, and once it stands */
void rpc_tune(struct nfs4r_rpc *rpc, const uv_handle_t *h);

/* work.c; the transport's thread */
struct rpc_works;
void rpc_work_begin(struct nfs4r_rpc *rpc, struct rpc_work *w, enum rpc_crew crew);
void rpc_works_done(struct nfs4r_rpc *rpc); /* of those that have run, what is to be done */
void rpc_works_stop(struct nfs4r_rpc *rpc); /* of all; waits for those that run */

/* One of several connections that carry a lane together: the kernel takes little beyond what it sends at once. */
void rpc_tune_shared(const uv_handle_t *h);
/* TCP ends the connection when nothing was acknowledged for so long; 0: when the kernel gives up. */
void rpc_tune_silence(const uv_handle_t *h, unsigned silence_ms);
/* The other side may take nothing for long (nfs4r_rpc_pause): TCP does not end the connection for that. */
void rpc_tune_paused(const uv_handle_t *h);

/* pace.c: what one server's lane CONTROL may take of a processor */
#define RPC_PACE_WINDOW_MS 100
#define RPC_PACE_MESSAGES 256
#define RPC_PACE_SHARE 10
#define RPC_PACE_TICK_MS 10
void rpc_pace_begin(struct rpc_conn *c); /* records are parsed */
void rpc_pace_took(struct rpc_conn *c); /* one was delivered */
void rpc_pace_end(struct rpc_conn *c);
bool rpc_pace_is_over(const struct rpc_conn *c); /* it has taken too much: nothing is read for a while */
void rpc_pace_timer(uv_timer_t *t);

/* conn.c */
struct rpc_conn *rpc_conn_new(struct nfs4r_rpc *rpc); /* NULL: out of memory */
void rpc_conn_start(struct rpc_conn *c); /* connected: socket options, reading */
void rpc_conn_silence(struct rpc_conn *c); /* cfg.silence_ms is another one: for TCP, too */
void rpc_conn_close(struct rpc_conn *c);
void rpc_close_all(struct nfs4r_rpc *rpc); /* connections and all other handles of the loop */
/* It broke: the peer goes down if it belongs to one. */
__attribute__((format(printf, 2, 3))) void rpc_conn_fail(struct rpc_conn *c, const char *fmt, ...);
void rpc_conn_tell(struct rpc_conn *c, const struct nfs4r_transport_msg_body *m);
/* A question, or the answer to one. */
void rpc_conn_keepalive(struct rpc_conn *c, bool answer, uint64_t clock_ns);
void rpc_conn_flush(struct rpc_conn *c);
/* Write c->writing, with no write pending. False: one is now, or the connection failed. */
bool rpc_conn_write(struct rpc_conn *c, uint64_t *total);
bool rpc_conn_write_wrapped(struct rpc_conn *c, uint64_t *total); /* the same, once it is wrapped */
void rpc_conn_write_more(struct rpc_conn *c); /* one is done */
void rpc_conn_leave(struct rpc_conn *c); /* one of its works is done: the last one frees what was closed meanwhile */
void rpc_conn_tell_keys(struct rpc_conn *c); /* the last one with c->wraps; then it is the renewal's */
void rpc_conn_resume(struct rpc_conn *c); /* end of held */
void rpc_conn_go_on(struct rpc_conn *c); /* end of stopped, if it may go on */
/* SIOCOUTQ: bytes that the other kernel has not acknowledged; SIOCOUTQNSD: those of them that were not sent. 0 also if it cannot be told. */
uint64_t rpc_conn_in_kernel(const struct rpc_conn *c, unsigned long what);
void rpc_conn_linger(struct rpc_conn *c); /* send what is queued, then close */
static inline bool rpc_conn_dead(const struct rpc_conn *c)
{
	return c->state == RPC_CONN_CLOSED || c->state == RPC_CONN_LINGER;
}

/* Nothing more is to be taken from it now. */
static inline bool rpc_conn_is_full(const struct rpc_conn *c)
{
	if (c->stepping || c->arrived_bytes > RPC_APART_BYTES)
		return true;
	if (c->lane == NFS4R_LANE_REQUEST)
		return c->state == RPC_CONN_READY && atomic_load_explicit(&c->peer->full, memory_order_relaxed);
	return rpc_pace_is_over(c);
}

static inline uint32_t rpc_conn_slot(const struct rpc_conn *c)
{
	return c->lane + c->index;
}

/* bulk.c */
bool rpc_bulk_waits(struct rpc_peer *p); /* messages that no connection has taken */
void rpc_bulk_flush(struct rpc_peer *p);
void rpc_bulk_received(struct rpc_conn *c, const void *bytes, size_t len);
void rpc_bulk_taken(struct rpc_conn *c, uint64_t until); /* the other side says so */
void rpc_bulk_gone(struct rpc_conn *c); /* what it carried goes over others */
bool rpc_bulk_spare(const struct rpc_conn *c); /* the peer can do without it */
void rpc_bulk_lost(struct rpc_conn *c, const char *why); /* one that is spare */
void rpc_bulk_tick(struct rpc_peer *p, uint64_t now);
void rpc_bulk_reset(struct rpc_peer *p);
uint64_t rpc_bulk_pending(struct rpc_peer *p);
void rpc_bulk_given(struct rpc_conn *c); /* what it was given last is among `given` now */

/* protect.c */
bool rpc_protect_apart(const struct rpc_conn *c); /* its records go through a worker */
bool rpc_protect_here(struct rpc_conn *c, struct rpc_node *list); /* wrapped in place; false: they could not be */
void rpc_protect_begin(struct rpc_conn *c); /* a worker wraps what is to be written, and unwraps what came */
void rpc_protect_arrived(struct rpc_conn *c, const void *bytes, size_t len); /* a record, for a worker */
void rpc_protect_go_on(struct rpc_conn *c); /* what a worker has opened is delivered, if it may be */
void rpc_protect_free(struct rpc_conn *c);

/* warm.c; the transport's thread */
enum nfs4r_status rpc_warm_init(struct nfs4r_rpc *rpc); /* NFS4R_OK, NFS4R_NOMEM */
void rpc_warm_fini(struct nfs4r_rpc *rpc);
void rpc_warm_begin(struct rpc_conn *c); /* of a peer that is up: it is ready */

/* record.c */
void rpc_record_space(struct rpc_conn *c, uv_buf_t *buf); /* where the next bytes should go */
void rpc_record_read(struct rpc_conn *c, size_t n); /* they are there */
void rpc_record_parse(struct rpc_conn *c); /* deliver what is complete */
void rpc_record_free(struct rpc_conn *c);

/* handshake.c */
enum nfs4r_status rpc_security_start(struct nfs4r_rpc *rpc, char *why); /* of all flavours; BADCONFIG: @why */
void rpc_security_stop(struct nfs4r_rpc *rpc);
void rpc_security_look(struct nfs4r_rpc *rpc, uint64_t now);
void rpc_security_warn(struct nfs4r_rpc *rpc);
void rpc_handshake_start(struct rpc_conn *c); /* after rpc_conn_start: tokens, if any, then HELLO */
bool rpc_handshake_none(struct rpc_conn *c, nfs4r_server_id who); /* HELLO came without one; false: that is refused */
void rpc_token_received(struct rpc_conn *c, enum nfs4r_security flavour, const struct nfs4r_buf *token);
void rpc_keys_received(struct rpc_conn *c);
void rpc_renewal_finish(struct rpc_conn *c); /* a direction has changed */
void rpc_renewal_tick(struct rpc_conn *c, uint64_t now);
void rpc_peer_prove_again(struct rpc_peer *p); /* its keys have changed */

/* hello.c */
void rpc_hello_send(struct rpc_conn *c, nfs4r_server_id to, uint64_t session);
void rpc_hello_received(struct rpc_conn *c, const struct nfs4r_hello *h);

/* refusal.c */
#define RPC_PORT_TEXT "it calls from a port that every user of its machine can use; servers call from ports below 1024 (Peer_Ports = privileged)"
#define RPC_GONE_TEXT "server %u was removed from this volume; to bring it back, start it with an empty store and run nfs4rctl server add %u ADDRESS at a member"
#define RPC_UNKNOWN_TEXT "server %u does not belong to this volume: run nfs4rctl server add %u ADDRESS at a member"
/* @who: who it says it is; 0: it did not say. */
void rpc_refuse(struct rpc_conn *c, nfs4r_server_id who, enum nfs4r_refusal cause, const char *text);
/* This server has nothing to prove itself to @p with: a line for the log, one a minute for each cause. */
void rpc_cannot_prove(struct rpc_peer *p, const char *why);
/* The same, of a call that has said nothing yet: it ends, and the next one comes as after a refusal. */
void rpc_end_call(struct rpc_conn *c, const char *why);
void rpc_refused(struct rpc_conn *c, uint32_t cause, const char *disclosed); /* @told is empty where nothing may be told */

/* peer.c */
/* A peer of the volume, or NULL. Transport's thread. */
static inline struct rpc_peer *rpc_peer_of(struct nfs4r_rpc *rpc, nfs4r_server_id id)
{
	return id && id <= NFS4R_SERVERS_MAX && rpc->peers[id].known ? &rpc->peers[id] : NULL;
}
/* servers.c; before the thread runs, or on it */
void rpc_servers_init(struct nfs4r_rpc *rpc);
void rpc_servers_apply(struct nfs4r_rpc *rpc); /* what set_servers left */
void rpc_silence(struct nfs4r_rpc *rpc, uint32_t silence); /* connections are dropped after it; the transport's thread, or before it runs */
void rpc_servers_fini(struct nfs4r_rpc *rpc);
/* NFS4R_OK, or NFS4R_BADCONFIG and @why (NFS4R_WHY bytes). */
__attribute__((format(printf, 2, 3))) enum nfs4r_status rpc_bad_config(char *why, const char *fmt, ...); /* BADCONFIG; @why: NFS4R_WHY bytes */
/* @privileged: ports below 1024 only. */
enum nfs4r_status rpc_servers_check(const struct nfs4r_endpoint *list, uint32_t n, bool privileged, char *why);

/* peer.c */
void rpc_peer_call(struct rpc_peer *p, uint32_t slot);
void rpc_peer_lane_ready(struct rpc_conn *c);
/* All lanes are closed; @refused: wait longer before the next call. */
void rpc_peer_down(struct rpc_peer *p, bool refused, const char *why);
void rpc_peer_state(struct rpc_peer *p, const char *text);
void rpc_conn_tick(struct rpc_conn *c, uint64_t now);
void rpc_peer_tick(struct rpc_peer *p, uint64_t now);
/* NULL: the connection failed. */
struct nfs4r_msg *rpc_peer_decode(struct rpc_conn *c, const void *bytes, size_t len);
void rpc_peer_message(struct rpc_peer *p, struct nfs4r_msg *m);
void rpc_deliver(struct rpc_conn *c, const void *bytes, size_t len); /* a record as it came */
void rpc_deliver_plain(struct rpc_conn *c, const void *bytes, size_t len);

#endif
