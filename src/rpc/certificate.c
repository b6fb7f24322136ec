/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What this server and its peers prove themselves with: how long it lasts, and which connections still have what was replaced.
 *
 * Happy path: after each look at the files, what new connections show is noted for nfs4r_rpc_get_own(). With each tick the connections of each peer are counted that are to be
 * renewed, and the first end of what the peer showed is noted. Within thirty days of an end the log has a line, once a day, and at once when the end is another one.
 *
 * A key that is known by its fingerprint does not end, whatever the dates of the certificate around it (security/tls_trust.c), so nothing is said of those.
 *
 * Invariant: the connections are counted before the new files are told. So who hears of these, and then of no connection that is to be renewed, knows that all have them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "rpc/rpc_internal.h"

#define DAY_S 86400
#define SOON_S (30 * DAY_S) /* an authority may take weeks for a new certificate */

/* True: now is the time to say that it ends. */
static bool is_due(struct rpc_ending *e, int64_t ends_s, int64_t now_s)
{
	if (!ends_s || ends_s - now_s >= SOON_S || (e->ends_s == ends_s && now_s - e->said_s < DAY_S && now_s >= e->said_s))
		return false;
	e->ends_s = ends_s;
	e->said_s = now_s;
	return true;
}

static const char *end_text(char *buf, size_t size, int64_t ends_s, int64_t now_s)
{
	time_t t = (time_t)ends_s;
	char day[32] = "?";
	struct tm tm;

	if (gmtime_r(&t, &tm))
		strftime(day, sizeof(day), "%Y-%m-%d", &tm);
	if (ends_s <= now_s)
		snprintf(buf, size, "ended on %s", day);
	else
		snprintf(buf, size, "ends on %s, in %" PRId64 " days", day, (ends_s - now_s) / DAY_S);
	return buf;
}

/* What a peer's connections say. */
static void count(struct rpc_peer *p)
{
	uint32_t to_renew = 0;
	int64_t first = 0;

	for (int i = 0; i < RPC_SLOTS; i++) {
		const struct rpc_conn *c = p->conns[i];
		int64_t ends;

		if (!c || !c->secured || !c->proven)
			continue;
		to_renew += c->renewal.session || (c->ops->is_due && c->ops->is_due(c->security));
		ends = c->ops->ends ? c->ops->ends(c->security) : 0;
		if (ends && (!first || ends < first))
			first = ends;
	}
	pthread_mutex_lock(&p->lock);
	p->to_renew = to_renew;
	p->ends_s = first;
	pthread_mutex_unlock(&p->lock);
}

static bool is_known(const struct nfs4r_rpc_config *cfg, const struct nfs4r_key_fingerprint *key)
{
	for (uint32_t i = 0; i < cfg->nservers; i++)
		for (uint32_t k = 0; cfg->servers[i].id == cfg->self && k < cfg->servers[i].nkeys; k++)
			if (memcmp(&cfg->servers[i].key[k], key, sizeof(*key)) == 0)
				return true;
	return false;
}

static int64_t now_s(const struct nfs4r_rpc *rpc)
{
	return rpc->cfg.day_ns() / 1000000000;
}

void rpc_certificates_tick(struct nfs4r_rpc *rpc)
{
	int64_t now = now_s(rpc);
	char text[80];

	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++) {
		struct rpc_peer *p = &rpc->peers[id];

		if (!p->known)
			continue;
		count(p);
		if (is_due(&p->ending, p->ends_s, now))
			rpc_log(rpc, NFS4R_LOG_WARN, "the certificate of server %u %s: after that day it is refused; it needs a new one in its Peer_Certificate, which connections use without a restart", id,
				end_text(text, sizeof(text), p->ends_s, now));
	}
}

void rpc_certificates_own(struct nfs4r_rpc *rpc, const struct nfs4r_rpc_own *own)
{
	int64_t now = now_s(rpc);
	char text[80];

	pthread_mutex_lock(&rpc->own_lock);
	rpc->own = *own;
	if (is_known(&rpc->cfg, &own->key))
		rpc->own.ends_s = 0;
	pthread_mutex_unlock(&rpc->own_lock);
	if (is_due(&rpc->ending, rpc->own.ends_s, now))
		rpc_log(rpc, NFS4R_LOG_WARN, "the certificate of this server %s: after that day the others refuse it; put a new one into Peer_Certificate, which connections use without a restart",
			end_text(text, sizeof(text), rpc->own.ends_s, now));
}

bool nfs4r_rpc_get_own(struct nfs4r_rpc *rpc, struct nfs4r_rpc_own *out)
{
	memset(out, 0, sizeof(*out));
	if (!rpc)
		return false;
	pthread_mutex_lock(&rpc->own_lock);
	*out = rpc->own;
	pthread_mutex_unlock(&rpc->own_lock);
	return out->has_key;
}
