/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Who the servers of the volume are, and where (log 9.1).
 *
 * Happy path: the Server blocks of the configuration say it until a view has other servers, or a book of addresses (one that begins alone is told of
 * others by a view only, and says so when its blocks name more); from then on that view does, over
 * restarts, too, and everybody who goes through the servers goes by it. A view without a book has the addresses of the configuration, and a server without a key in the
 * view has those of its block. When the core has adopted a view with other servers or other
 * addresses or keys, the transport and the senders follow, and the log says who came and who went.
 *
 * Where this server itself listens is its own block's business: an address of this machine is no news that another one could have.
 *
 * Failure: blocks that name other servers than the view are put right by hand; a line at the start says which. A server that was taken out is
 * refused by the others, and its state and log say how it can come back.
 *
 * Invariants: `servers` and `list` change under eng->lock, together; `servers` may be read without it.
 */
#include <stdio.h>

#include "engine/membership/membership.h"
#include "engine/replicate/replicate.h"

#define FIRST_VIEW 1 /* to the transport, of a volume that began with one server and was not changed since: 0 is the configuration */

static const struct nfs4r_endpoint *find(const struct nfs4r_endpoint *list, uint32_t n, nfs4r_server_id id)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i].id == id)
			return &list[i];
	return NULL;
}

static nfs4r_servers set_of(const struct nfs4r_endpoint *list, uint32_t n)
{
	nfs4r_servers set = 0;

	for (uint32_t i = 0; i < n; i++)
		set |= NFS4R_BIT(list[i].id);
	return set;
}

/* Of the view; without any there, of the Server block. */
static void set_keys(struct nfs4r_endpoint *e, const struct nfs4r_address *a, const struct nfs4r_endpoint *written)
{
	e->nkeys = a->nkeys ? (uint8_t)a->nkeys : written ? written->nkeys :
							    0;
	if (e->nkeys)
		memcpy(e->key, a->nkeys ? a->keys : written->key, sizeof(e->key));
}

static void list_from_addresses(const struct nfs4r_rpc_config *cfg, struct nfs4r_rpc_servers *list, const struct nfs4r_view *v)
{
	list->n = v->nbook;
	for (uint32_t i = 0; i < v->nbook; i++) {
		struct nfs4r_endpoint *e = &list->list[i];

		memset(e, 0, sizeof(*e));
		e->id = v->addresses[i].id;
		e->port = v->addresses[i].port;
		memcpy(e->host, v->addresses[i].address, sizeof(v->addresses[i].address));
		set_keys(e, &v->addresses[i], find(cfg->servers, cfg->nservers, e->id));
	}
}

/* Who once was a server of the volume, as far as is known here. */
static nfs4r_servers once(const struct nfs4r_engine *eng, const struct nfs4r_view *v)
{
	nfs4r_servers set = set_of(eng->cfg.rpc.servers, eng->cfg.rpc.nservers) | eng->membership.list.gone | set_of(eng->membership.list.list, eng->membership.list.n);

	for (uint32_t i = 0; i < v->nseals; i++)
		set |= NFS4R_BIT(v->seals[i].log);
	return set;
}

static void take(struct nfs4r_engine *eng, const struct nfs4r_view *v)
{
	bool by_view = v->nbook || v->servers != set_of(eng->cfg.rpc.servers, eng->cfg.rpc.nservers);
	bool changed = v->nbook || v->epoch; /* else who is only written down here never was a server: a first view has but got its secret (log 6.13) */
	struct nfs4r_rpc_servers next = { .view = !by_view ? 0 : v->num ? v->num :
									  FIRST_VIEW,
					  .protocol = v->settings.protocol,
					  .gone = changed && by_view ? once(eng, v) & ~v->servers : 0 };

	if (v->nbook)
		list_from_addresses(&eng->cfg.rpc, &next, v);
	for (uint32_t i = 0; !v->nbook && i < eng->cfg.rpc.nservers; i++)
		if (v->servers & NFS4R_BIT(eng->cfg.rpc.servers[i].id))
			next.list[next.n++] = eng->cfg.rpc.servers[i];
	eng->membership.list = next;
	eng->membership.servers = v->servers;
}

/* What the view says, or else the configuration. */
static struct nfs4r_volume_keys keys_of(const struct nfs4r_engine *eng)
{
	const struct nfs4r_volume_keys *k = &nfs4r_core_adopted(eng->core)->settings.keys;

	if (k->durability)
		return *k;
	return (struct nfs4r_volume_keys){ .durability = eng->cfg.durability,
					   .directory_reads = eng->cfg.directory_reads,
					   .round_trip_ms = eng->cfg.max_round_trip_ms,
					   .lease_ms = eng->cfg.lease_ms,
					   .silence_ms = eng->cfg.silence_ms,
					   .drift_permille = eng->cfg.drift_permille };
}

/* For the transport. One that was taken out goes on calling, and is refused: until it is added again. */
static void for_transport(const struct nfs4r_engine *eng, struct nfs4r_rpc_servers *out)
{
	const struct nfs4r_endpoint *self = find(eng->cfg.rpc.servers, eng->cfg.rpc.nservers, eng->cfg.rpc.self);

	*out = eng->membership.list;
	out->keys = keys_of(eng);
	/* A connection that is silent for longer is of no use to anybody, and after a cut a new one is quicker than TCP's growing timers. */
	out->silence_ms = eng->cfg.rpc.silence_ms;
	if (out->keys.lease_ms && 2 * out->keys.silence_ms < out->silence_ms)
		out->silence_ms = 2 * out->keys.silence_ms;
	if (!(eng->membership.servers & NFS4R_BIT(eng->cfg.rpc.self)))
		out->list[out->n++] = *self;
}

nfs4r_servers membership_begin(struct nfs4r_engine *eng, nfs4r_servers logs)
{
	nfs4r_servers written = set_of(eng->cfg.rpc.servers, eng->cfg.rpc.nservers);
	struct nfs4r_core_view v;

	nfs4r_core_get_view(eng->core, &v);
	take(eng, &v.adopted);
	return v.has_address_table ? 0 : (v.adopted.servers & ~written) | (logs & ~once(eng, &v.adopted));
}

void membership_go_online(struct nfs4r_engine *eng, struct nfs4r_rpc_config *cfg)
{
	const struct nfs4r_endpoint *self = find(eng->cfg.rpc.servers, eng->cfg.rpc.nservers, eng->cfg.rpc.self);
	struct nfs4r_rpc_servers list;

	pthread_mutex_lock(&eng->lock); /* a server alone may adopt a view meanwhile; membership_tell() follows */
	for_transport(eng, &list);
	pthread_mutex_unlock(&eng->lock);
	cfg->view = list.view;
	cfg->gone = list.gone;
	cfg->keys_now = list.keys;
	cfg->silence_ms = list.silence_ms;
	if (list.protocol > cfg->protocol.lowest)
		cfg->protocol.lowest = list.protocol;
	cfg->nservers = list.n;
	memcpy(cfg->servers, list.list, sizeof(cfg->servers));
	for (uint32_t i = 0; i < cfg->nservers; i++)
		if (cfg->servers[i].id == cfg->self) {
			memcpy(cfg->servers[i].host, self->host, sizeof(self->host));
			cfg->servers[i].port = self->port;
		}
}

/* ---- what is said ---- */

#define say(eng, fmt, ...) engine_log(eng, NFS4R_LOG_INFO, "volume %s: " fmt, (eng)->cfg.volume_name, __VA_ARGS__)

const char *membership_come_back(const struct nfs4r_engine *eng, char *buf, size_t len)
{
	snprintf(buf, len, "this server was removed from the volume and serves nothing. Stop it; to bring it back, move away the Store directory and the content of the exported "
			   "directory, start it, and run `nfs4rctl server add %u ADDRESS` at a member",
		 eng->cfg.rpc.self);
	return buf;
}

static void say_came(struct nfs4r_engine *eng, const struct nfs4r_endpoint *e)
{
	if (!e)
		return; /* say_difference() said that nobody knows where it is */
	if (e->id == eng->cfg.rpc.self)
		say(eng, "this server belongs to the volume now: it copies everything from the others, and serves when the copy is complete (port %u)", e->port);
	else
		say(eng, "server %u (%s:%u) belongs to the volume now; it copies everything from the others, and votes when the copy is complete", e->id, e->host,
		    e->port);
}

static void say_went(struct nfs4r_engine *eng, nfs4r_server_id s)
{
	char text[400];

	if (s == eng->cfg.rpc.self)
		engine_log(eng, NFS4R_LOG_WARN, "volume %s: %s", eng->cfg.volume_name, membership_come_back(eng, text, sizeof(text)));
	else
		say(eng, "server %u was removed from the volume: the others no longer wait for it, and refuse its connections", s);
}

static void say_difference(struct nfs4r_engine *eng, nfs4r_server_id s)
{
	const struct nfs4r_endpoint *is = find(eng->membership.list.list, eng->membership.list.n, s), *said = find(eng->cfg.rpc.servers, eng->cfg.rpc.nservers, s);
	char where[300] = "not a server of the volume";

	if (is && said && is->port == said->port && strcmp(is->host, said->host) == 0)
		return;
	if (is)
		snprintf(where, sizeof(where), "at %s:%u", is->host, is->port);
	else if (eng->membership.servers & NFS4R_BIT(s))
		snprintf(where, sizeof(where), "a server of the volume");
	engine_log(eng, NFS4R_LOG_WARN, "volume %s: server %u is %s, but the configuration of this server %s: correct its Server blocks%s", eng->cfg.volume_name, s, where,
		   !said ? "lacks it" : is ? "says another address" :
					     "names it (to add it: nfs4rctl server add)",
		   s == eng->cfg.rpc.self && is ? "; this server listens at the configured address, and the others connect to the first one" : "");
}

/* Log 6.17. The file counts no more since the first view said them: who wrote something else there should know. */
static void say_settings(struct nfs4r_engine *eng, const struct nfs4r_volume_keys *has)
{
	struct engine_setting is[ENGINE_SETTINGS];
	char text[400] = "";
	size_t n = 0;

	engine_settings(&eng->cfg, has, is);
	for (uint32_t i = 0; i < ENGINE_SETTINGS; i++)
		if (is[i].differs)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s = %s (here %s)", n ? ", " : "", is[i].name, is[i].value, is[i].file);
	if (n)
		engine_log(eng, NFS4R_LOG_WARN, "volume %s: the volume has %s, and that counts: correct the configuration of this server, or change the volume with nfs4rctl set", eng->cfg.volume_name, text);
}

static void say_changes(struct nfs4r_engine *eng, const struct nfs4r_volume_keys *was, const struct nfs4r_volume_keys *has)
{
	struct engine_setting before[ENGINE_SETTINGS], now[ENGINE_SETTINGS];

	engine_settings(&eng->cfg, was, before);
	engine_settings(&eng->cfg, has, now);
	for (uint32_t i = 0; i < ENGINE_SETTINGS; i++)
		if (strcmp(before[i].value, now[i].value))
			say(eng, "the volume has %s = %s now; it was %s", now[i].name, now[i].value, before[i].value);
	if (has->ends && !was->ends)
		say(eng, "the log of a server that is removed from the view ends with that from now on%s", "");
}

/* Log 6.16, 6.17. @has: of the view that is adopted. */
static void follow_settings(struct nfs4r_engine *eng, const struct nfs4r_volume_settings *has)
{
	uint32_t format = nfs4r_volume_has(has).disk_format;

	if (has->keys.durability && !eng->membership.keys.durability)
		say_settings(eng, &has->keys);
	else if (has->keys.durability)
		say_changes(eng, &eng->membership.keys, &has->keys);
	eng->membership.keys = has->keys;

	if (has->protocol > eng->membership.list.protocol)
		say(eng, "the volume has protocol %u and disk format %u now: releases before these can no longer serve it", has->protocol, format);
	nfs4r_store_raise_format(eng->store, format);
}

void membership_start(struct nfs4r_engine *eng)
{
	struct nfs4r_core_view v;
	char text[400];

	nfs4r_core_get_view(eng->core, &v);
	eng->membership.list.protocol = v.adopted.settings.protocol;
	follow_settings(eng, &v.adopted.settings); /* it may have died before */
	if (!eng->membership.list.view)
		return;
	EACH_OF(eng->membership.servers | set_of(eng->cfg.rpc.servers, eng->cfg.rpc.nservers), s)
		say_difference(eng, s);
	if (!(eng->membership.servers & NFS4R_BIT(eng->cfg.rpc.self)))
		engine_log(eng, NFS4R_LOG_WARN, "volume %s: %s", eng->cfg.volume_name, membership_come_back(eng, text, sizeof(text)));
}

/* ---- they change ---- */

void membership_tell(struct nfs4r_engine *eng)
{
	struct nfs4r_rpc_servers list;
	char why[NFS4R_WHY] = "";

	for_transport(eng, &list);
	if (eng->rpc && nfs4r_rpc_set_servers(eng->rpc, &list, why) != NFS4R_OK)
		engine_log(eng, NFS4R_LOG_ERROR, "volume %s: the transport cannot adopt the new list of servers and keeps the old one: %s; restart this server", eng->cfg.volume_name, why);
}

void membership_adopted(struct nfs4r_engine *eng)
{
	nfs4r_servers before = eng->membership.servers;
	struct nfs4r_core_view v;

	nfs4r_core_get_view(eng->core, &v);
	follow_settings(eng, &v.adopted.settings);
	take(eng, &v.adopted);
	replicate_sender_serve(eng->replicate.distributor, eng->membership.servers);
	EACH_OF(eng->membership.servers & ~before, s)
		say_came(eng, find(eng->membership.list.list, eng->membership.list.n, s));
	EACH_OF(before & ~eng->membership.servers, s)
		say_went(eng, s);
	membership_tell(eng);
}
