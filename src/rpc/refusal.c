/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the two sides say when one refuses the other.
 *
 * The one that refuses knows both values. They go into its own log and, as the peer's state, to nfs4rctl. Over the wire goes the number of the cause, and the
 * whole text only to a caller at a server's address that has named the volume by its UUID, or that has proved which server it is: everybody else would learn from it, one
 * refusal after the other, all that a HELLO needs.
 *
 * The one that is refused has that text, or a text of its own for the number: what differs, what its own value is, and whose log says the rest.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/uuid.h"
#include "rpc/rpc_internal.h"

static bool may_be_disclosed(const struct rpc_conn *c)
{
	return c->named && (c->ops->is_server ? c->proven : !c->stranger);
}

static void refuse(struct rpc_conn *c, nfs4r_server_id who, enum nfs4r_refusal cause, const char *text)
{
	struct nfs4r_transport_msg_body m = { .type = NFS4R_MSG_REFUSED };
	struct nfs4r_rpc *rpc = c->rpc;
	struct rpc_peer *p = c->peer;

	m.refused.cause = cause;
	if (may_be_disclosed(c))
		snprintf(m.refused.text, sizeof(m.refused.text), "%s", text);
	/* Before the other side hears of it: whoever hears it there may look here at once. */
	if (!p && rpc_peer_of(rpc, who) && (c->proven || rpc_addrs_have(&rpc->peers[who].addrs, &c->addr)))
		rpc_peer_state(&rpc->peers[who], text);
	rpc_conn_tell(c, &m);
	rpc_conn_linger(c);
	if (p) /* we called: try again, but not soon */
		rpc_peer_down(p, true, text);
}

void rpc_refuse(struct rpc_conn *c, nfs4r_server_id who, enum nfs4r_refusal cause, const char *text)
{
	struct nfs4r_rpc *rpc = c->rpc;
	uint64_t key = rpc_log_key(RPC_LOG_REFUSED + cause, who, &c->addr);

	if (may_be_disclosed(c)) /* somebody who corrects one mistake hears of the next at once */
		rpc_log_often(rpc, NFS4R_LOG_WARN, key, text, "refused server %u (%s): %s", who, c->from, text);
	else if (who)
		rpc_log_limited(rpc, NFS4R_LOG_WARN, key, "refused server %u (%s): %s", who, c->from, text);
	else
		rpc_log_limited(rpc, NFS4R_LOG_WARN, key, "refused a call from %s: %s", c->from, text);
	refuse(c, who, cause, text);
}

void rpc_cannot_prove(struct rpc_peer *p, const char *why)
{
	rpc_log_often(p->rpc, NFS4R_LOG_WARN, rpc_log_key(RPC_LOG_SECURITY, p->ep.id, NULL), why, "no connection with server %u (%s:%u): %s", p->ep.id, p->ep.host, p->ep.port, why);
}

void rpc_end_call(struct rpc_conn *c, const char *why)
{
	rpc_cannot_prove(c->peer, why);
	refuse(c, c->peer->ep.id, NFS4R_REFUSED_SECURITY, why);
}

/* Where keys are known one by one, a server that does not belong to the volume is told no more than one whose key is wrong. */
#define ADD_TEXT "; a server that is new or was removed from this volume is let in after nfs4rctl server add %u ADDRESS --key FINGERPRINT at a member, with an empty store"

/* Of causes about which no more can be said here. */
static const char *plain_cause(uint32_t cause)
{
	static const char *const texts[] = {
		[NFS4R_REFUSED_EXPORT] = "export id differs; set the same Export_Id on all servers",
		[NFS4R_REFUSED_FSID] = "fsid differs; set the same Filesystem_Id on all servers",
		[NFS4R_REFUSED_DISK_FORMAT] = "no common disk format; install the same release on both",
		[NFS4R_REFUSED_SECURITY] = "security differs, or its handshake failed; write the same Peer_Security on all servers, and see that it knows this server's key, or the authority of its certificate",
		[NFS4R_REFUSED_SERVERS] = "server lists differ; write the same list on all servers",
		[NFS4R_REFUSED_MALFORMED] = "it cannot decode this server's messages; install the same release on both",
		[NFS4R_REFUSED_VIEWS] = "timing differs; write the same Max_Round_Trip, and the same Lease, Failure_Timeout and Clock_Drift in Tuning, on all servers",
		[NFS4R_REFUSED_DURABILITY] = "durability differs; write the same Durability on all servers",
		[NFS4R_REFUSED_KEYS] = "a configuration key differs, or is equal and must differ",
		[NFS4R_REFUSED_PORT] = "this server called from a port above 1023; write Peer_Ports = privileged here, and make sure that no device between the two changes ports (NAT)",
	};

	return cause < sizeof(texts) / sizeof(texts[0]) && texts[cause] ? texts[cause] : "the cause is unknown to this release; install the same release on both";
}

static void cause_text(const struct rpc_conn *c, uint32_t cause, char *out, size_t size)
{
	const struct nfs4r_rpc_config *cfg = &c->rpc->cfg;
	char uuid[NFS4R_UUID_TEXT], speaks[NFS4R_VERSIONS_TEXT];
	int len;

	nfs4r_uuid_text(cfg->volume, uuid);
	switch (cause) {
	case NFS4R_REFUSED_PROTOCOL:
		snprintf(out, size, "no common protocol version: server %u speaks %s (NFSv4.r %s); install a release that speaks a protocol of the other server", cfg->self,
			 nfs4r_versions_text(cfg->protocol, speaks), cfg->version[0] ? cfg->version : "of unknown version");
		break;
	case NFS4R_REFUSED_VOLUME:
		snprintf(out, size, "volume differs: server %u has %s; correct Volume_UUID or the server list, or use a store of the same volume", cfg->self, uuid);
		break;
	case NFS4R_REFUSED_IDENTITY:
		snprintf(out, size, "wrong id: it has the id %u itself, or is not server %u; correct the server list", cfg->self, c->peer->ep.id);
		break;
	case NFS4R_REFUSED_ADDRESS:
		snprintf(out, size, "wrong address: it expects server %u at another address than the one that this server calls from; correct the server list", cfg->self);
		break;
	case NFS4R_REFUSED_DUPLICATE:
		snprintf(out, size, "duplicate id: a newer start of server %u is connected there; stop one of the two, or give it its own id", cfg->self);
		break;
	case NFS4R_REFUSED_GONE:
		snprintf(out, size, RPC_GONE_TEXT, cfg->self, cfg->self);
		break;
	case NFS4R_REFUSED_UNKNOWN:
		snprintf(out, size, RPC_UNKNOWN_TEXT, cfg->self, cfg->self);
		break;
	default:
		len = snprintf(out, size, "%s", plain_cause(cause));
		if (cause == NFS4R_REFUSED_SECURITY && cfg->security == NFS4R_SECURITY_TLS)
			snprintf(out + len, size - (size_t)len, ADD_TEXT, cfg->self);
	}
}

/* By a caller that has not said who it is. */
static const char *refused_early(const struct rpc_conn *c, uint32_t cause)
{
	if (c->state == RPC_CONN_TOKEN && c->chosen)
		return "it does not take this server's certificate or ticket; its log says why";
	if (c->state == RPC_CONN_TOKEN && cause == NFS4R_REFUSED_SECURITY)
		return "it cannot prove which server it is; its log says why";
	return "sent a refusal before its identity";
}

void rpc_refused(struct rpc_conn *c, uint32_t cause, const char *disclosed)
{
	struct rpc_peer *p = c->peer;
	char text[NFS4R_TEXT_TIMES * NFS4R_REFUSED_TEXT_MAX + 1];
	size_t len;

	if (!p) {
		rpc_conn_fail(c, "%s", refused_early(c, cause));
		return;
	}
	if (disclosed[0]) {
		nfs4r_text_line(text, sizeof(text), disclosed);
	} else {
		cause_text(c, cause, text, sizeof(text));
		len = strlen(text);
		snprintf(text + len, sizeof(text) - len, " (the log of server %u at %s says more)", p->ep.id, p->ep.host);
	}
	rpc_log_often(c->rpc, NFS4R_LOG_WARN, rpc_log_key(RPC_LOG_REFUSED_US + cause, p->ep.id, NULL), text,
		      "server %u (%s:%u) refused this server: %s", p->ep.id, p->ep.host, p->ep.port, text);
	if (c->asks) {
		rpc_peer_state(p, text);
		rpc_conn_close(c);
		return;
	}
	rpc_peer_down(p, true, text);
}
