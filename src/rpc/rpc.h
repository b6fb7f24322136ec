/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Transport between the servers of one volume: ONC RPC record-marked XDR messages
 * (protocol/nfs4r.x) over TCP, on one event-loop thread of its own (libuv).
 *
 * Between two servers stands one connection per lane, several for BULK, opened by the server with
 * the higher id. A peer is "up" when all its lanes stand and both HELLOs were accepted; one of several
 * connections may come later, break, and come back.
 * Messages of one lane arrive in order and at most once while the peer stays up; what
 * was queued when it goes down is lost, and the core sends again what matters.
 *
 * Every length is checked against base/limits.h before memory is taken for it. A peer
 * that breaks the protocol is disconnected with one log line that says what was wrong.
 */
#ifndef NFS4R_RPC_RPC_H
#define NFS4R_RPC_RPC_H

#include "base/fingerprint.h"
#include "base/hello_key.h"
#include "base/msg.h"
#include "base/version.h"

#define NFS4R_CONNECTIONS_MAX 16 /* of lane BULK */
#define NFS4R_PORTS_PRIVILEGED 1024 /* below it ports are root's */
#define NFS4R_PORT_DEFAULT 294 /* a server listens on: assigned to nobody (docs/decisions/0033-strangers.md) */

enum nfs4r_lane {
	NFS4R_LANE_CONTROL = 0, /* elections, acks, releases, positions: never behind bulk data */
	NFS4R_LANE_REQUEST = 1, /* forwarded operations and reads, and their answers */
	NFS4R_LANE_BULK = 2, /* log entries with their bytes */
	NFS4R_LANES = 3,
};

/* Where messages of that type belong, and are taken from. */
enum nfs4r_lane nfs4r_rpc_lane_of(uint32_t type);

enum nfs4r_security { /* how servers prove who they are, and what protects the bytes */
	NFS4R_SECURITY_NONE = 1, /* nothing does */
	NFS4R_SECURITY_TLS = 2, /* TLS 1.3, with certificates of both sides */
	NFS4R_SECURITY_KRB5I = 3, /* Kerberos 5, integrity */
	NFS4R_SECURITY_KRB5P = 4, /* Kerberos 5, integrity and privacy */
};
#define NFS4R_SECURITY_BIT(flavour) (1u << (flavour))

enum nfs4r_log_level {
	NFS4R_LOG_ERROR = 1,
	NFS4R_LOG_WARN = 2,
	NFS4R_LOG_INFO = 3,
	NFS4R_LOG_DEBUG = 4
};
typedef void (*nfs4r_log_fn)(void *ctx, enum nfs4r_log_level level, const char *text);

struct nfs4r_endpoint {
	nfs4r_server_id id;
	char host[256]; /* numeric address or name; the source address of incoming connections must be one it resolves to */
	uint16_t port;
	uint8_t nkeys; /* 0: none is known, and only a CA can vouch for the server */
	struct nfs4r_key_fingerprint key[NFS4R_KEYS_MAX]; /* by which it is known */
};

struct nfs4r_rpc_config { /* defaults of what has a key: base/config.def */
	nfs4r_server_id self;
	uint64_t inc; /* this start's incarnation */
	char version[64]; /* of the program, told to the others, for people */
	uint8_t volume[16]; /* volume UUID; unequal: refused */
	uint32_t export_id; /* must be equal on all servers */
	uint64_t fsid_major, fsid_minor; /* must be equal on all servers */
	struct nfs4r_versions protocol; /* that this server speaks; default: all of this release. A server that speaks none of them is refused */
	struct nfs4r_versions disk_format; /* that this program reads and writes; told. A server that has none of them is refused */
	enum nfs4r_security security; /* of the calls that this server makes, and takes */
	uint32_t security_accept; /* bits of further flavours that it takes calls of */
	char tls_certificate[1024], tls_key[1024]; /* files (PEM); read anew when they change */
	char tls_ca[1024]; /* certificates of those that vouch for servers; "": keys alone do */
	char tls_crl[1024]; /* their lists of revoked certificates; "": none */
	uint64_t tls_rekey_records; /* of TLS that are sent with one key; for tests. 0: 2^23 */
	char krb5_keytab[1024]; /* "": that of the system */
	char krb5_service[64];
	char krb5_principal[NFS4R_SERVERS_MAX + 1][192]; /* by server; "": krb5_service, and the host */
	bool any_port; /* security none: servers may listen on, and call from, any port, as any local user can. Default: only ports below 1024, which needs root or CAP_NET_BIND_SERVICE */
	struct nfs4r_volume_keys keys_now; /* that this server goes by, told. They may differ for a moment (log 6.17), but a fixed view (lease_ms 0) and one that changes do not go together: refused */
	uint32_t nkeys;
	struct nfs4r_hello_key keys[NFS4R_HELLO_KEYS_MAX]; /* other keys that are compared: nfs4r_rpc_compare() */
	uint32_t nservers;
	struct nfs4r_endpoint servers[NFS4R_SERVERS_MAX]; /* self included: its entry is where to listen */
	uint64_t view; /* the view that says who the servers are; 0: the configuration does, and must be equal on all */
	nfs4r_servers gone; /* taken out of the volume: what they are told when they call */
	bool paused; /* start takes the address and port, and no more: nfs4r_rpc_begin() does the rest */
	uint32_t connect_retry_ms; /* default 250 */
	uint32_t connect_retry_most_ms; /* to which it grows; for tests. 0: 5000 */
	uint32_t shun_ms; /* a peer that sent what cannot be decoded is not connected with for so long, at the next times for twice as long, at most a minute; default 1000 */
	uint32_t listen_wait_ms; /* so long start waits for its own name, address or port, when they are not there yet; default 0 */
	uint32_t silence_ms; /* nothing received for so long (keep-alives are sent): connection is dropped; default 10000 */
	char congestion[16]; /* of TCP, where the kernel has it; "" = the system's */
	uint64_t buffer_bytes; /* of each direction of a connection, past the system's limits where that is allowed; 0 = the system's; by itself that of the key Window */
	uint32_t connections; /* of lane BULK, when we call; what the other side calls with is its own business */
	uint64_t warm_bytes; /* of padding, to one peer in a minute, by which new connections of lane BULK learn the rate of their link; 0: none */
	uint32_t warm_rtt_us; /* only over round trips of so much, and with BBR; 0 (for tests): always; default 5000 */
	int64_t (*day_ns)(void); /* the clock of the day, since 1970, that peers are told; tests set another one; default CLOCK_REALTIME */
	uint64_t queue_bytes_max; /* per peer and lane, until the peer has it (BULK), or the kernel (the others); beyond, send() answers NFS4R_DELAY; default 256 MiB */
};

struct nfs4r_rpc_events { /* all called on the transport's thread; must not block for long */
	void *ctx;
	void (*up)(void *ctx, nfs4r_server_id peer, uint64_t peer_inc);
	void (*down)(void *ctx, nfs4r_server_id peer, const char *why);
	/* The callee owns *msg (heap; free with nfs4r_msg_fini + free). */
	void (*message)(void *ctx, nfs4r_server_id from, struct nfs4r_msg *msg);
	nfs4r_log_fn log;
};

struct nfs4r_rpc;

void nfs4r_rpc_config_init(struct nfs4r_rpc_config *cfg);
/*
 * Servers are refused whose configuration has another @value of @key (@differs: the same one). NULL is the empty text. A value that is
 * too long is shortened so that it still differs from others. At most NFS4R_HELLO_KEYS_MAX keys: more are a mistake of the caller.
 */
void nfs4r_rpc_compare(struct nfs4r_rpc_config *cfg, const char *key, const char *value, bool differs);
/* As nfs4r_rpc_compare(), but a server with another value is told from the others (WARN, `differs` of its stats), not refused. */
void nfs4r_rpc_tell(struct nfs4r_rpc_config *cfg, const char *key, const char *value);
/* Listens and starts connecting. On error nothing runs, and @why (at least NFS4R_WHY bytes) names what to do. */
enum nfs4r_status nfs4r_rpc_start(const struct nfs4r_rpc_config *cfg, const struct nfs4r_rpc_events *ev, struct nfs4r_rpc **out, char *why);

/*
 * Listens and starts connecting, after a start with cfg.held: until then whoever calls is turned away by the kernel. Once. NFS4R_OK, also without cfg.held;
 * NFS4R_BADCONFIG: the port is not free any more, or no thread can be made, and @why (at least 256 bytes) says which.
 */
enum nfs4r_status nfs4r_rpc_begin(struct nfs4r_rpc *rpc, char *why);

struct nfs4r_rpc_servers {
	uint64_t view; /* as in nfs4r_rpc_config */
	uint32_t protocol; /* of the volume: nothing older is spoken any more; 0: all that cfg.protocol has */
	nfs4r_servers gone;
	struct nfs4r_volume_keys keys; /* as keys_now; durability 0: unchanged */
	uint32_t silence_ms; /* of connections, as in nfs4r_rpc_config; 0: unchanged */
	uint32_t n;
	struct nfs4r_endpoint list[NFS4R_SERVERS_MAX];
};
/*
 * From now on these are the servers. New ones are connected with. One that is not among them any more stays connected for two seconds, so
 * that what was sent to it arrives, or until it goes itself; then `down` says that it was taken out, and its calls are refused.
 * One whose address changed is connected anew.
 * The address of self stays where it listens. @next is copied. Any thread; does not block; done soon, on the transport's thread.
 * NFS4R_OK; NFS4R_BADCONFIG: an entry that nfs4r_rpc_start() would refuse, nothing is changed, @why (NFS4R_WHY bytes) says which; NFS4R_NOMEM.
 */
enum nfs4r_status nfs4r_rpc_set_servers(struct nfs4r_rpc *rpc, const struct nfs4r_rpc_servers *next, char *why);
/* Closes everything, joins the thread; no event is called after it returns. */
void nfs4r_rpc_stop(struct nfs4r_rpc *rpc);
/*
 * The next three take NULL, too, since events come before nfs4r_rpc_start() has returned: until its caller has the transport, no peer is up.
 *
 * Encode @msg now (it stays the caller's) and queue it. Any thread; does not block.
 * NFS4R_OK; NFS4R_UNKNOWN: peer is not up (dropped); NFS4R_DELAY: queue is full (dropped); NFS4R_TOOBIG.
 */
enum nfs4r_status nfs4r_rpc_send(struct nfs4r_rpc *rpc, nfs4r_server_id to, enum nfs4r_lane lane, const struct nfs4r_msg *msg);

/*
 * Bytes sent on this lane that the other side's kernel has not acknowledged, those that still wait here included. 0: it has all, or is not up.
 * Only in an event, on the transport's thread. Does not block.
 */
uint64_t nfs4r_rpc_pending(struct nfs4r_rpc *rpc, nfs4r_server_id to, enum nfs4r_lane lane);

/* Memory of answers (READ_ANSWER, VERIFY_ANSWER, FORWARD_ANSWER) to @to that were given to nfs4r_rpc_send(), and of which the kernel has not taken them all. Any thread. Does not block. NULL: 0. */
uint64_t nfs4r_rpc_answers(struct nfs4r_rpc *rpc, nfs4r_server_id to);

/*
 * While @hold is true nothing of @peer's lane REQUEST is read. What the peer sends there then waits in the two kernels, and in its own memory. The lane counts as alive meanwhile,
 * however long that takes. One message may still be delivered after the call, none if it comes on the transport's thread. Holds for later connections of the peer, too, until
 * @hold is false. Any thread. Does not block. NULL, or an id out of range: nothing happens.
 */
void nfs4r_rpc_pause(struct nfs4r_rpc *rpc, nfs4r_server_id peer, bool pause);

/*
 * What @peer sent is nothing that a server of the volume sends: the connections end, `down` says @why, and it is neither called nor let in for cfg.shun_ms, longer each time.
 * Only in an event, on the transport's thread. Does not block. NULL, or a peer that is not up: nothing happens.
 */
void nfs4r_rpc_blame(struct nfs4r_rpc *rpc, nfs4r_server_id peer, const char *why);

struct nfs4r_rpc_peer_stats {
	bool up;
	enum nfs4r_security security; /* of its connections; 0: it is not up */
	char state[NFS4R_WHY]; /* "up", "connecting", or why it was refused */
	char version[64]; /* of its program, as it said last; "" before it was heard */
	struct nfs4r_versions protocol, disk_format; /* that it knows, as it said last; 0: it did not say */
	uint32_t speaks; /* protocol of the connections; 0: it is not up */
	char differs[NFS4R_WHY]; /* what of its configuration differs and should not, with both values; "" = nothing */
	uint64_t inc;
	uint64_t bytes_sent, bytes_received, messages_sent, messages_received, queued_bytes, connects;
	uint64_t resent; /* messages of lane BULK that went over another connection, too, because theirs broke or hardly moved */
	double rtt_ms; /* smoothed, from keep-alives; < 0 = not known */
	bool clock_known;
	double clock_ahead_ms; /* how far its clock of the day is ahead of this server's, to half a round trip; < 0: behind */
	uint32_t to_renew; /* of its connections: they are proved with files that were replaced, or for long */
	int64_t ends_s; /* when the certificate that it showed ends, in seconds since 1970; 0: never, or its key is known, or it is not up */
};
bool nfs4r_rpc_get_stats(struct nfs4r_rpc *rpc, nfs4r_server_id peer, struct nfs4r_rpc_peer_stats *out);

/* What new connections show of this server. */
struct nfs4r_rpc_own {
	bool has_key; /* false: a flavour without */
	struct nfs4r_key_fingerprint key;
	int64_t ends_s; /* as in the statistics of a peer */
};
/*
 * Files that were replaced count within five seconds. When they are told here, to_renew of the peers has what is still proved with those of before. Any thread, does not block.
 * False: this server shows no certificate, or @rpc is NULL.
 */
bool nfs4r_rpc_get_own(struct nfs4r_rpc *rpc, struct nfs4r_rpc_own *out);

#endif
