/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Who is let in.
 *
 * The flavour of security comes first (handshake.c). Then the caller sends HELLO; the called one checks it, answers with its own, and the
 * caller checks that too. Both check the same list, so that a wrong configuration shows on
 * whichever side an operator looks: the refusing side sends REFUSED (refusal.c), and both log why
 * (once a minute) and keep it as the peer's state.
 *
 * The volume is the first thing that is looked at: before it is named nothing else is (refusal.c). Where the flavour proves who the other side is, that has to be the
 * server that HELLO says, and its address is only compared for people.
 *
 * A session number of the caller ties the lanes of one attempt together: lanes of different
 * attempts, or of different starts of a peer, never make one connection.
 *
 * A server that is not called, because the other side has the higher id, asks now and then (HELLO with `asks`): the called one
 * checks everything, refuses or closes, and calls if it should. Without that, one that was taken out while it was down would hear from nobody why.
 * For the same reason a HELLO from an unknown address is heard and refused, if it names the volume.
 *
 * Two processes with one id: the one that started later (higher incarnation) stays, the
 * other one is refused as long as it does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/uuid.h"
#include "rpc/rpc_internal.h"

#define CAUSE_TEXT NFS4R_REFUSED_TEXT_MAX

static int server_order(const struct nfs4r_endpoint *a, const struct nfs4r_endpoint *b)
{
	return (a->id > b->id) - (a->id < b->id);
}

void rpc_hello_send(struct rpc_conn *c, nfs4r_server_id to, uint64_t session)
{
	const struct nfs4r_rpc_config *cfg = &c->rpc->cfg;
	struct nfs4r_transport_msg_body m = { .type = NFS4R_MSG_HELLO };
	struct nfs4r_hello *h = &m.hello;

	h->magic = NFS4R_HELLO_MAGIC;
	h->protocol = cfg->protocol;
	h->server = cfg->self;
	h->to = to;
	h->lane = c->lane;
	memcpy(h->version, cfg->version, sizeof(h->version));
	h->index = c->index;
	h->inc = cfg->inc;
	h->session = session;
	memcpy(h->volume, cfg->volume, sizeof(h->volume));
	h->export_id = cfg->export_id;
	h->fsid_major = cfg->fsid_major;
	h->fsid_minor = cfg->fsid_minor;
	h->disk_format = cfg->disk_format;
	h->security = c->ops->flavour;
	h->lease_ms = cfg->keys_now.lease_ms;
	h->silence_ms = cfg->keys_now.silence_ms;
	h->drift_permille = cfg->keys_now.drift_permille;
	h->durability = cfg->keys_now.durability;
	h->view = cfg->view;
	h->asks = c->asks;
	h->nservers = cfg->nservers;
	for (uint32_t i = 0; i < cfg->nservers; i++) {
		uint32_t at = 0;

		for (uint32_t j = 0; j < cfg->nservers; j++)
			at += server_order(&cfg->servers[j], &cfg->servers[i]) < 0;
		h->servers[at].id = cfg->servers[i].id;
		h->servers[at].port = cfg->servers[i].port;
	}
	h->nkeys = cfg->nkeys;
	memcpy(h->keys, cfg->keys, sizeof(h->keys));
	rpc_conn_tell(c, &m);
}

/* "1:7001 2:7002" */
static void servers_text(const struct nfs4r_hello *h, char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (uint32_t i = 0; i < h->nservers && len < size; i++)
		len += (size_t)snprintf(out + len, size - len, "%s%u:%u", i ? " " : "",
					h->servers[i].id, h->servers[i].port);
}

static bool servers_equal(const struct nfs4r_rpc_config *cfg, const struct nfs4r_hello *h)
{
	if (cfg->nservers != h->nservers)
		return false;
	for (uint32_t i = 0; i < cfg->nservers; i++) {
		bool found = false;

		for (uint32_t j = 0; j < h->nservers; j++)
			found = found || (h->servers[j].id == cfg->servers[i].id && h->servers[j].port == cfg->servers[i].port);
		if (!found)
			return false;
	}
	return true;
}

static uint32_t servers_mismatch(const struct nfs4r_rpc_config *cfg, const struct nfs4r_hello *h,
				 char *text)
{
	struct nfs4r_hello own = { .nservers = cfg->nservers };
	char here[160], there[160];

	for (uint32_t i = 0; i < cfg->nservers; i++) {
		own.servers[i].id = cfg->servers[i].id;
		own.servers[i].port = cfg->servers[i].port;
	}
	servers_text(&own, here, sizeof(here));
	servers_text(h, there, sizeof(there));
	snprintf(text, CAUSE_TEXT, "server lists differ: server %u has %s, server %u has %s; write the same list on all servers",
		 cfg->self, here, h->server, there);
	return NFS4R_REFUSED_SERVERS;
}

/* One that takes part in no views is never removed from them, and waits for nobody's lease (log 6). What the times are is the view's business (log 6.17). */
static uint32_t views_mismatch(const struct nfs4r_rpc_config *cfg, const struct nfs4r_hello *h, char *text)
{
	if (!cfg->keys_now.lease_ms == !h->lease_ms)
		return 0;
	snprintf(text, CAUSE_TEXT, "timing differs: server %u has Lease = %u, server %u has %u, and a view that is fixed (0) does not go with one that changes; write Lease = 0 in Tuning on all servers, or on none",
		 cfg->self, cfg->keys_now.lease_ms, h->server, h->lease_ms);
	return NFS4R_REFUSED_VIEWS;
}

static const struct nfs4r_hello_key *find_key(const struct nfs4r_hello *h, const char *key)
{
	for (uint32_t i = 0; i < h->nkeys; i++)
		if (strcmp(h->keys[i].key, key) == 0)
			return &h->keys[i];
	return NULL;
}

static uint32_t keys_mismatch(const struct nfs4r_rpc_config *cfg, const struct nfs4r_hello *h, char *text)
{
	for (uint32_t i = 0; i < cfg->nkeys; i++) {
		const struct nfs4r_hello_key *here = &cfg->keys[i], *there = find_key(h, here->key);
		const char *value = there ? there->value : "";
		bool equal = strcmp(here->value, value) == 0;

		if (here->reported || equal != here->differs)
			continue;
		if (equal)
			snprintf(text, CAUSE_TEXT, "%s must differ: servers %u and %u both have \"%s\"; write another value on each server", here->key, cfg->self,
				 h->server, value);
		else
			snprintf(text, CAUSE_TEXT, "%s differs: server %u has \"%s\", server %u has \"%s\"; write the same on all servers", here->key,
				 cfg->self, here->value, h->server, value);
		return NFS4R_REFUSED_KEYS;
	}
	return 0;
}

static uint32_t volume_mismatch(const struct nfs4r_rpc_config *cfg, const struct nfs4r_hello *h, char *text)
{
	char here[NFS4R_UUID_TEXT], there[NFS4R_UUID_TEXT];

	if (memcmp(cfg->volume, h->volume, 16) == 0)
		return 0;
	snprintf(text, CAUSE_TEXT, "volume differs: server %u has %s, server %u has %s; correct the server list, or use a store of the same volume", cfg->self,
		 nfs4r_uuid_text(cfg->volume, here), h->server, nfs4r_uuid_text(h->volume, there));
	return NFS4R_REFUSED_VOLUME;
}

/* What must be equal in both configurations. 0 or a refusal with its text. */
static uint32_t config_mismatch(const struct nfs4r_rpc_config *cfg, const struct nfs4r_hello *h,
				char *text)
{
	char here[NFS4R_VERSIONS_TEXT], there[NFS4R_VERSIONS_TEXT];

	if (cfg->export_id != h->export_id) {
		snprintf(text, CAUSE_TEXT, "export id differs: server %u has %u, server %u has %u; set the same Export_Id",
			 cfg->self, cfg->export_id, h->server, h->export_id);
		return NFS4R_REFUSED_EXPORT;
	}
	if (cfg->fsid_major != h->fsid_major || cfg->fsid_minor != h->fsid_minor) {
		snprintf(text, CAUSE_TEXT,
			 "fsid differs: server %u has %" PRIu64 ".%" PRIu64 ", server %u has %" PRIu64 ".%" PRIu64
			 "; set the same Filesystem_Id",
			 cfg->self, cfg->fsid_major, cfg->fsid_minor, h->server, h->fsid_major, h->fsid_minor);
		return NFS4R_REFUSED_FSID;
	}
	if (!nfs4r_versions_common(cfg->disk_format, h->disk_format)) {
		snprintf(text, CAUSE_TEXT, "no common disk format: server %u has %s, server %u has %s; install the same release on both", cfg->self,
			 nfs4r_versions_text(cfg->disk_format, here), h->server, nfs4r_versions_text(h->disk_format, there));
		return NFS4R_REFUSED_DISK_FORMAT;
	}
	/* Once a view says who the servers are, the lists of the configurations are of no account. */
	if (!cfg->view && !h->view && !servers_equal(cfg, h))
		return servers_mismatch(cfg, h, text);

	uint32_t cause = views_mismatch(cfg, h, text);

	return cause ? cause : keys_mismatch(cfg, h, text);
}

/* It is none of the servers, or none any more: what to do about it. */
static uint32_t unknown_text(const struct rpc_conn *c, const struct nfs4r_hello *h, char *text)
{
	const struct nfs4r_rpc_config *cfg = &c->rpc->cfg;

	if (h->server && h->server <= NFS4R_SERVERS_MAX && cfg->gone & NFS4R_BIT(h->server)) {
		snprintf(text, CAUSE_TEXT, RPC_GONE_TEXT, h->server, h->server);
		return NFS4R_REFUSED_GONE;
	}
	if (cfg->view)
		snprintf(text, CAUSE_TEXT, RPC_UNKNOWN_TEXT, h->server, h->server);
	else
		snprintf(text, CAUSE_TEXT,
			 "unknown id: server %u (%s) is not in the server list of server %u; at the first start, write the same list on all servers; to add it to a running "
			 "volume, run nfs4rctl server add %u ADDRESS at a member",
			 h->server, c->from, cfg->self, h->server);
	return NFS4R_REFUSED_UNKNOWN;
}

/* Is it who it says it is, and does it mean us? */
static uint32_t identity_mismatch(struct rpc_conn *c, const struct nfs4r_hello *h, char *text)
{
	struct nfs4r_rpc *rpc = c->rpc;
	nfs4r_server_id self = rpc->cfg.self;
	struct rpc_peer *p = rpc_peer_of(rpc, h->server);

	if (h->server == self)
		snprintf(text, CAUSE_TEXT, "duplicate id: %s reports to be server %u, but this server (%s) has that id; give each server its own id",
			 c->from, self, rpc->self.host);
	else if (!p || p->leave_at_ms)
		return unknown_text(c, h, text);
	else if (h->to != self)
		snprintf(text, CAUSE_TEXT, "wrong id: server %u calls server %u, but this is server %u; correct the server list",
			 h->server, h->to, self);
	else if (c->caller && h->server != c->peer->ep.id)
		snprintf(text, CAUSE_TEXT, "wrong id: server %u answers where server %u should be (%s); correct the server list",
			 h->server, c->peer->ep.id, c->from);
	else if (!c->caller && !c->ops->is_server && !rpc_addrs_have(&p->addrs, &c->addr)) {
		snprintf(text, CAUSE_TEXT, "wrong address: server %u calls from %s, but should be at %s; correct the server list",
			 h->server, c->from, p->ep.host);
		return NFS4R_REFUSED_ADDRESS;
	} else if (!c->caller && p->caller && !h->asks)
		snprintf(text, CAUSE_TEXT, "wrong direction: server %u called server %u, but the server with the higher id makes the connection; stop the process at %s",
			 h->server, self, c->from);
	else
		return 0;
	return NFS4R_REFUSED_IDENTITY;
}

/* Its certificate or ticket counts, not its address: it may be behind NAT, or move. */
static void proven(struct rpc_conn *c, const struct rpc_peer *p)
{
	c->proven = true;
	c->rpc->nstrangers -= c->stranger;
	c->stranger = false;
	if (!c->caller && !rpc_addrs_have(&p->addrs, &c->addr))
		rpc_log_limited(c->rpc, NFS4R_LOG_WARN, rpc_log_key(RPC_LOG_ELSEWHERE, p->ep.id, NULL),
				"server %u calls from %s, which is no address of %s: it is let in, because it has proved with %s that it is server %u. If no NAT lies between the two, correct its Address", p->ep.id, c->from,
				p->ep.host, c->ops->name, p->ep.id);
}

/* May it speak for the server that it says it is? */
static uint32_t proof_mismatch(struct rpc_conn *c, const struct nfs4r_hello *h, char *text)
{
	struct rpc_peer *p = rpc_peer_of(c->rpc, h->server);
	char why[NFS4R_WHY] = "";

	if (h->security != c->ops->flavour) {
		snprintf(text, CAUSE_TEXT, "security differs: server %u says %s on a connection with %s; install the same release on both", h->server, nfs4r_security_name(h->security), c->ops->name);
		return NFS4R_REFUSED_SECURITY;
	}
	if (!c->ops->is_server)
		return 0;
	if (c->ops->is_server(c->security, &p->ep, why) != NFS4R_OK) {
		snprintf(text, CAUSE_TEXT, "%.*s", CAUSE_TEXT - 1, why);
		return NFS4R_REFUSED_SECURITY;
	}
	proven(c, p);
	return 0;
}

/* Called: compare with what stands already. True: the connection may join. */
static bool session_joins(struct rpc_conn *c, struct rpc_peer *p, const struct nfs4r_hello *h)
{
	uint32_t slot = h->lane + h->index;
	bool stands = false;
	char text[CAUSE_TEXT];

	for (int i = 0; i < RPC_SLOTS; i++)
		stands = stands || p->conns[i];
	if (stands && h->inc < p->inc) {
		snprintf(text, sizeof(text),
			 "duplicate id: start %" PRIu64 " of server %u is connected, this is start %" PRIu64
			 " of it; stop one of the two, or give it its own id",
			 p->inc, h->server, h->inc);
		rpc_refuse(c, h->server, NFS4R_REFUSED_DUPLICATE, text);
		return false;
	}
	if (stands && h->inc == p->inc && h->session < p->session) {
		rpc_conn_close(c); /* an attempt that its caller has given up */
		return false;
	}
	if (stands && h->inc == p->inc && h->session == p->session && p->flavour != c->ops->flavour) {
		rpc_conn_fail(c, "its connections differ in security");
		return false;
	}
	if (stands && p->up && h->inc == p->inc && h->session == p->session && h->lane == NFS4R_LANE_BULK && p->conns[slot])
		rpc_bulk_lost(p->conns[slot], "it connects anew");
	else if (stands && (h->inc != p->inc || h->session != p->session || p->conns[slot]))
		rpc_peer_down(p, false, h->inc != p->inc ? "the server was started again" : "it connects anew");
	p->inc = h->inc;
	p->session = h->session;
	p->flavour = c->ops->flavour;
	return true;
}

/* A sender that speaks only older protocols has a HELLO whose volume cannot be read. */
static bool names_a_volume(const struct nfs4r_hello *h)
{
	return h->protocol.highest >= NFS4R_HELLO_WHOLE_SINCE;
}

/* Nothing of ours is told to who does not even know the volume. */
static bool stranger_closed(struct rpc_conn *c, const struct nfs4r_hello *h)
{
	if (!c->stranger || !names_a_volume(h) || memcmp(c->rpc->cfg.volume, h->volume, 16) == 0)
		return false;
	rpc_log_limited(c->rpc, NFS4R_LOG_WARN, rpc_log_key(RPC_LOG_STRANGER, 0, &c->addr),
			"connection from %s closed: no server of the volume has that address, and the caller names another volume", c->from);
	rpc_conn_close(c);
	return true;
}

static void protocol_text(const struct rpc_conn *c, const struct nfs4r_hello *h, char *text)
{
	const struct nfs4r_rpc_config *cfg = &c->rpc->cfg;
	bool here = cfg->protocol.highest < h->protocol.highest; /* this one is older */
	char ours[NFS4R_VERSIONS_TEXT], theirs[NFS4R_VERSIONS_TEXT];

	snprintf(text, CAUSE_TEXT,
		 "no common protocol version: server %u speaks %s (NFSv4.r %s), server %u speaks %s (NFSv4.r %s); install on server %u a release that speaks protocol %u", cfg->self,
		 nfs4r_versions_text(cfg->protocol, ours), cfg->version[0] ? cfg->version : "of unknown version", h->server, nfs4r_versions_text(h->protocol, theirs),
		 h->version[0] ? h->version : "of an older version", here ? cfg->self : h->server, here ? h->protocol.lowest : cfg->protocol.lowest);
}

/* Also of one that is refused: who asks why wants to know it. */
static void remember_version(struct rpc_conn *c, const struct nfs4r_hello *h)
{
	struct rpc_peer *p = rpc_peer_of(c->rpc, h->server);

	if (!p || (c->ops->is_server ? !c->proven : !c->caller && !rpc_addrs_have(&p->addrs, &c->addr)))
		return;
	pthread_mutex_lock(&p->lock);
	nfs4r_text_line(p->version, sizeof(p->version), h->version);
	p->said_protocol = h->protocol;
	p->said_format = h->disk_format;
	pthread_mutex_unlock(&p->lock);
}

/* What of its configuration is only told (nfs4r_rpc_tell()). One line when that changes, of any of its connections. */
static void compare_reported(struct rpc_conn *c, struct rpc_peer *p, const struct nfs4r_hello *h)
{
	const struct nfs4r_rpc_config *cfg = &c->rpc->cfg;
	char raw[NFS4R_WHY] = "", text[NFS4R_WHY];
	size_t len = 0;

	for (uint32_t i = 0; i < cfg->nkeys; i++) {
		const struct nfs4r_hello_key *here = &cfg->keys[i], *there = find_key(h, here->key);

		if (!here->reported || !there || strcmp(here->value, there->value) == 0 || len >= sizeof(raw))
			continue;
		len += (size_t)snprintf(raw + len, sizeof(raw) - len, "%s%s differs: server %u has \"%s\", server %u has \"%s\"", len ? "; " : "", here->key, cfg->self,
					here->value, h->server, there->value);
	}
	nfs4r_text_line(text, sizeof(text), raw);
	pthread_mutex_lock(&p->lock);
	bool changed = strcmp(p->differs, text) != 0;
	memcpy(p->differs, text, sizeof(text));
	pthread_mutex_unlock(&p->lock);
	if (changed && text[0])
		rpc_log_often(c->rpc, NFS4R_LOG_WARN, rpc_log_key(RPC_LOG_REPORTED, p->ep.id, NULL), NULL, "%s; write the same on all servers: what the most permissive one lets in changes all copies", text);
	else if (changed)
		rpc_log_often(c->rpc, NFS4R_LOG_INFO, rpc_log_key(RPC_LOG_REPORTED, p->ep.id, NULL), NULL, "server %u has the same export policy and identity mapping again", h->server);
}

/* A server that we call, or should, knows us: now is the time to call it. */
static void asked(struct rpc_conn *c, struct rpc_peer *p)
{
	rpc_conn_close(c);
	p->backoff_ms = c->rpc->cfg.connect_retry_ms;
	p->call_at_ms = 0;
}

/* Sooner it would only send the same again. */
static bool is_shunned(struct rpc_conn *c, struct rpc_peer *p)
{
	char text[CAUSE_TEXT];

	if (uv_now(&c->rpc->loop) >= p->shun_until_ms)
		return false;
	snprintf(text, sizeof(text),
		 "server %u sent a message that server %u cannot decode, and may not connect for %" PRIu64 " ms; install the same release on both, and see the log of server %u",
		 p->ep.id, c->rpc->cfg.self, p->shun_until_ms - uv_now(&c->rpc->loop), c->rpc->cfg.self);
	rpc_refuse(c, p->ep.id, NFS4R_REFUSED_MALFORMED, text);
	return true;
}

/* Why it is refused, and *text says so; 0: it is not. */
static uint32_t mismatch(struct rpc_conn *c, const struct nfs4r_hello *h, char *text)
{
	uint32_t cause;

	if (!nfs4r_versions_common(c->rpc->cfg.protocol, h->protocol)) {
		protocol_text(c, h, text);
		return NFS4R_REFUSED_PROTOCOL;
	}
	cause = volume_mismatch(&c->rpc->cfg, h, text);
	if (cause == 0)
		cause = identity_mismatch(c, h, text);
	if (cause == 0)
		cause = proof_mismatch(c, h, text);
	return cause != 0 ? cause : config_mismatch(&c->rpc->cfg, h, text);
}

/* What both sides speak from here on. It is the same on all connections of two starts. */
static void agree(struct rpc_conn *c, struct rpc_peer *p, const struct nfs4r_hello *h)
{
	c->protocol = nfs4r_versions_common(c->rpc->cfg.protocol, h->protocol);
	pthread_mutex_lock(&p->lock);
	p->protocol = c->protocol;
	pthread_mutex_unlock(&p->lock);
}

/* Of a connection that @p has called. */
static void let_in(struct rpc_conn *c, struct rpc_peer *p, const struct nfs4r_hello *h)
{
	if (is_shunned(c, p) || !session_joins(c, p, h))
		return;
	agree(c, p, h);
	c->peer = p;
	c->lane = h->lane;
	c->index = h->index;
	p->conns[rpc_conn_slot(c)] = c;
	c->state = RPC_CONN_CONFIRM;
	rpc_hello_send(c, h->server, h->session);
}

/* Of a connection that this server has called. */
static void answered(struct rpc_conn *c, struct rpc_peer *p, const struct nfs4r_hello *h)
{
	if (c->lane == NFS4R_LANE_CONTROL)
		p->inc = h->inc;
	if (h->inc != p->inc) {
		rpc_conn_fail(c, "the server was started again");
		return;
	}
	agree(c, p, h);
	rpc_conn_keepalive(c, false, uv_hrtime());
	if (!rpc_conn_dead(c))
		rpc_peer_lane_ready(c);
}

void rpc_hello_received(struct rpc_conn *c, const struct nfs4r_hello *h)
{
	char text[CAUSE_TEXT];
	struct rpc_peer *p;
	uint32_t cause;

	if (stranger_closed(c, h))
		return;
	c->named = names_a_volume(h) && memcmp(c->rpc->cfg.volume, h->volume, 16) == 0;
	cause = mismatch(c, h, text);
	remember_version(c, h);
	if (cause != 0) {
		rpc_refuse(c, h->server, cause, text);
		return;
	}
	p = rpc_peer_of(c->rpc, h->server);
	compare_reported(c, p, h);
	if (h->asks || c->asks) {
		asked(c, p);
		return;
	}
	if (h->lane >= NFS4R_LANES || h->index >= (h->lane == NFS4R_LANE_BULK ? NFS4R_CONNECTIONS_MAX : 1) ||
	    (c->caller && (h->lane != c->lane || h->index != c->index || h->session != p->session))) {
		rpc_conn_fail(c, "answered for another connection");
		return;
	}
	if (c->caller)
		answered(c, p, h);
	else
		let_in(c, p, h);
}
