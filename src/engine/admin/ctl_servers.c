/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * `nfs4rctl server` and `nfs4rctl force-reconfigure` (log 9.1, 9.3; keys: ctl_keys.c): the list of the volume's servers, adding one, removing one, and
 * continuing with the survivors after permanent loss of a majority.
 *
 * Happy path: a request is looked at here (numbers, addresses) and by the core (may it be now), which then keeps it in memory until it is done.
 * The answer comes at once; who asked looks at `servers` until it says so.
 *
 * Who was stopped for good counts as heard for a while. The refusal says so (`heard`, `wait_ms`), and who asks does it again.
 *
 * Failure: every refusal is one sentence that says what to do. A host name is looked up on the client's own thread, so a slow name
 * service holds up nobody else.
 */
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "engine/admin/admin_int.h"

#define WHY NFS4R_WHY

/* ---- the list ---- */

static json_t *server_row(struct nfs4r_engine *eng, const struct ctl_facts *f, const struct nfs4r_endpoint *e)
{
	bool self = e->id == eng->cfg.rpc.self, voter = f->view.adopted.voters & NFS4R_BIT(e->id);
	char why[NFS4R_WHY];
	const char *state = self ? admin_view_state(eng, f, why, sizeof(why)) : f->view.fixed ? "member" :
												admin_view_other(eng, f, e->id);
	uint64_t behind = self ? admin_own_lag(f) : admin_entries(f->peer[e->id].applied, f->end);

	json_t *row = json_pack("{s:i, s:o, s:i, s:b, s:b, s:b, s:s, s:o}", "server", e->id, "host", admin_json_text(e->host), "port", e->port,
				"self", self, "voter", voter, "member", (f->view.adopted.members & NFS4R_BIT(e->id)) != 0, "state",
				state ? state : "member", "lag_entries", admin_num(behind));

	if (row) {
		admin_release(eng, e->id, row);
		json_object_update_new(row, admin_key_facts(eng, f, e));
	}
	return row;
}

/* The orders for a forced reconfiguration that this server knows of; null: none. */
static json_t *orders(const struct nfs4r_engine *eng, const struct ctl_facts *f)
{
	json_t *said = json_array();

	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++) {
		bool self = s == eng->cfg.rpc.self;
		uint64_t epoch = self ? f->view.reconf_epoch : f->view.peer[s].reconf_epoch;

		if (epoch > NFS4R_RECONF(f->view.adopted.num))
			json_array_append_new(said, json_pack("{s:i, s:o, s:o}", "server", s, "epoch", admin_num(epoch), "servers", admin_server_list(self ? f->view.reconf_set : f->view.peer[s].reconf_set)));
	}
	if (json_array_size(said))
		return said;
	json_decref(said);
	return json_null();
}

json_t *admin_servers(struct nfs4r_engine *eng)
{
	json_t *rows = json_array();
	struct ctl_facts f;

	admin_collect(eng, &f);
	for (uint32_t i = 0; i < f.list.n; i++)
		json_array_append_new(rows, server_row(eng, &f, &f.list.list[i]));
	return json_pack("{s:i, s:b, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:s}", "server", eng->cfg.rpc.self, "finishing", f.view.finishing, "protocol", admin_num(nfs4r_volume_has(&f.view.adopted.settings).protocol), "view", admin_num(f.view.adopted.num), "forced_reconfigurations",
			 admin_num(NFS4R_RECONF(f.view.adopted.num)), "forced_reconfiguration", orders(eng, &f), "servers", rows, "removed", f.view.taken_out, "adding",
			 f.view.adding ? admin_num(f.view.adding) : json_null(), "removing", f.view.removing ? admin_num(f.view.removing) : json_null(), "changing_keys",
			 f.view.rekeying ? admin_num(f.view.rekeying) : json_null(), "waiting_for",
			 f.view.waits);
}

/* ---- what all of them look at first ---- */

/* 0: no server has this number. */
static nfs4r_server_id server_of(const json_t *v)
{
	json_int_t n = json_integer_value(v);

	return n > 0 && n <= NFS4R_SERVERS_MAX ? (nfs4r_server_id)n : 0;
}

static enum nfs4r_status bad(char *why, const char *text)
{
	snprintf(why, WHY, "%s", text);
	return NFS4R_INVAL;
}

static enum nfs4r_status look(const struct nfs4r_engine *eng, nfs4r_server_id s, char *why)
{
	if (!s)
		return bad(why, "give the number of the server, 1 to 15");
	if (engine_lease_ms(eng) == 0)
		return bad(why, "with Lease = 0 the servers of a volume never change: remove Lease = 0 from Tuning on every server, and restart all of them");
	return NFS4R_OK;
}

bool admin_is_server(const struct nfs4r_engine *eng, nfs4r_server_id s, char *why, size_t len)
{
	char all[64];

	if (eng->membership.servers & NFS4R_BIT(s))
		return true;
	snprintf(why, len, "server %u does not belong to this volume: its servers are %s", s, engine_server_list(eng->membership.servers, all, sizeof(all)));
	return false;
}

enum nfs4r_status admin_addresses(const struct nfs4r_engine *eng, struct nfs4r_address *out, uint32_t *n, char *why)
{
	*n = 0;
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++) {
		for (uint32_t i = 0; i < eng->membership.list.n; i++) {
			const struct nfs4r_endpoint *e = &eng->membership.list.list[i];

			if (e->id != s)
				continue;
			if (strlen(e->host) > NFS4R_ADDRESS_MAX) {
				snprintf(why, WHY, "the Address of server %u has more than %u bytes; write a shorter one in its Server block on every server", s,
					 NFS4R_ADDRESS_MAX);
				return NFS4R_INVAL;
			}
			memset(&out[*n], 0, sizeof(out[*n]));
			out[*n].id = s;
			out[*n].port = e->port;
			out[*n].nkeys = e->nkeys;
			memcpy(out[*n].keys, e->key, e->nkeys * sizeof(e->key[0]));
			memcpy(out[(*n)++].address, e->host, strlen(e->host));
		}
	}
	return NFS4R_OK;
}

/* What the core says of a server does not name it. */
static enum nfs4r_status named(nfs4r_server_id s, enum nfs4r_status st, const char *text, char *why)
{
	if (st != NFS4R_OK)
		snprintf(why, WHY, "server %u: %s", s, text);
	return st;
}

/* ---- one more ---- */

static enum nfs4r_status look_address(const struct nfs4r_engine *eng, const char *host, json_int_t port, char *why)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;
	size_t len = host ? strlen(host) : 0;

	if (len == 0 || len > NFS4R_ADDRESS_MAX)
		return bad(why, "an address is a host name or an IP address of 1 to 95 bytes");
	for (const char *p = host; *p; p++)
		if (*p <= ' ' || *p > '~')
			return bad(why, "an address is a host name or an IP address without blanks");
	if (port < 1 || port > 65535)
		return bad(why, "a port is a number from 1 to 65535");
	if (!eng->cfg.rpc.any_port && port >= NFS4R_PORTS_PRIVILEGED)
		return bad(why, "the port of a server must be below 1024, where only root can listen: use 294, or the port in its own Server block (Peer_Ports)");
	int err = getaddrinfo(host, NULL, &hints, &found);
	if (err) {
		snprintf(why, WHY, "%s cannot be resolved here (%s): use an address that every server of the volume can reach", host, gai_strerror(err));
		return NFS4R_INVAL;
	}
	freeaddrinfo(found);
	return NFS4R_OK;
}

/* Nobody else is there. eng->lock held */
static enum nfs4r_status look_taken(const struct nfs4r_engine *eng, nfs4r_server_id s, const char *host, json_int_t port, char *why)
{
	for (uint32_t i = 0; i < eng->membership.list.n; i++) {
		const struct nfs4r_endpoint *e = &eng->membership.list.list[i];

		if (e->id != s && e->port == port && strcmp(e->host, host) == 0) {
			snprintf(why, WHY, "%s:%u is the address of server %u; give the new server its own", host, e->port, e->id);
			return NFS4R_INVAL;
		}
	}
	if (eng->membership.list.n >= NFS4R_SERVERS_MAX && !(eng->membership.servers & NFS4R_BIT(s)))
		return bad(why, "a volume has at most 15 servers: remove one first with `nfs4rctl server remove N`");
	return NFS4R_OK;
}

/* @all in ascending order with the new one at its place. */
static void insert(struct nfs4r_address *all, uint32_t *n, const struct nfs4r_address *a)
{
	uint32_t at = *n;

	for (; at > 0 && all[at - 1].id > a->id; at--)
		all[at] = all[at - 1];
	all[at] = *a;
	(*n)++;
}

/* How the others will know it. With keys alone somebody has to say which is its; a CA may vouch for it instead. */
static enum nfs4r_status look_keys(const struct nfs4r_engine *eng, const json_t *list, struct nfs4r_address *a, char *why)
{
	enum nfs4r_status st = admin_keys_of(list, a->keys, &a->nkeys, why);

	if (st == NFS4R_OK && !a->nkeys && eng->cfg.rpc.security == NFS4R_SECURITY_TLS && !eng->cfg.rpc.tls_ca[0])
		return bad(why, "the others would not know the new server: add --key and what `nfs4rctl key make` printed on its machine");
	return st;
}

json_t *admin_add_server(struct nfs4r_engine *eng, const json_t *req)
{
	nfs4r_server_id s = server_of(json_object_get(req, "server"));
	const char *host = json_string_value(json_object_get(req, "host"));
	json_int_t port = json_integer_value(json_object_get(req, "port"));
	struct nfs4r_event ev = { .type = NFS4R_EV_ADD_SERVER, .peer = s };
	struct nfs4r_address all[NFS4R_SERVERS_MAX + 1], a = { .id = s, .port = (uint16_t)port };
	char why[WHY] = "", text[WHY - 20] = "";
	enum nfs4r_status st = look(eng, s, why);

	if (st == NFS4R_OK)
		st = look_address(eng, host, port, why);
	if (st == NFS4R_OK)
		st = look_keys(eng, json_object_get(req, "keys"), &a, why);
	if (st != NFS4R_OK)
		return admin_error(why);
	memcpy(a.address, host, strlen(host));
	pthread_mutex_lock(&eng->lock);
	st = look_taken(eng, s, host, port, why);
	if (st == NFS4R_OK)
		st = named(s, nfs4r_core_may_add(eng->core, s, text, sizeof(text)), text, why);
	if (st == NFS4R_OK)
		st = admin_addresses(eng, all, &ev.nall, why);
	if (st == NFS4R_OK) {
		engine_log(eng, NFS4R_LOG_INFO, "volume %s: an administrator adds server %u at %s:%u", eng->cfg.volume_name, s, host, (unsigned)port);
		insert(all, &ev.nall, &a);
		ev.all = all;
		engine_step(eng, &ev);
	}
	pthread_mutex_unlock(&eng->lock);
	return st == NFS4R_OK ? json_pack("{s:i, s:s, s:i}", "server", s, "host", host, "port", (int)port) : admin_error(why);
}

/* ---- one less ---- */

json_t *admin_remove_server(struct nfs4r_engine *eng, const json_t *req)
{
	nfs4r_server_id s = server_of(json_object_get(req, "server"));
	bool sure = json_is_true(json_object_get(req, "yes"));
	struct nfs4r_event ev = { .type = NFS4R_EV_REMOVE_SERVER, .peer = s, .abandon = json_is_true(json_object_get(req, "abandon")) };
	char why[WHY] = "", text[WHY - 20] = "";
	uint64_t lost = 0;
	enum nfs4r_status st = look(eng, s, why);

	if (st != NFS4R_OK)
		return admin_error(why);
	pthread_mutex_lock(&eng->lock);
	st = !admin_is_server(eng, s, why, sizeof(why)) ? NFS4R_INVAL : named(s, nfs4r_core_may_remove(eng->core, s, ev.abandon, &lost, text, sizeof(text)), text, why);
	if (st == NFS4R_OK && sure) {
		engine_log(eng, NFS4R_LOG_WARN, "volume %s: an administrator removes server %u from the volume; %llu of its updates are not known to be on any other server",
			   eng->cfg.volume_name, s, (unsigned long long)lost);
		engine_step(eng, &ev);
	}
	pthread_mutex_unlock(&eng->lock);
	return st == NFS4R_OK ? json_pack("{s:i, s:o, s:b}", "server", s, "lost_entries", admin_num(lost), "removing", sure) : admin_error(why);
}

/* ---- an upgrade is finished (log 6.16) ---- */

json_t *admin_finish_upgrade(struct nfs4r_engine *eng, const json_t *req)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_FINISH_UPGRADE };
	bool sure = json_is_true(json_object_get(req, "yes"));
	struct nfs4r_volume_settings to;
	enum nfs4r_status st;
	char why[WHY] = "";

	pthread_mutex_lock(&eng->lock);
	st = nfs4r_core_may_finish_upgrade(eng->core, &to, why, sizeof(why));
	if (st == NFS4R_OK && sure) {
		engine_log(eng, NFS4R_LOG_WARN, "volume %s: an administrator finishes the upgrade: the volume gets protocol %u and disk format %u", eng->cfg.volume_name, to.protocol, to.disk_format);
		engine_step(eng, &ev);
	}
	pthread_mutex_unlock(&eng->lock);
	return st == NFS4R_OK ? json_pack("{s:o, s:o, s:b}", "protocol", admin_num(to.protocol), "disk_format", admin_num(to.disk_format), "finishing", sure) : admin_error(why);
}

/* ---- going on with the survivors ---- */

static bool set_of(const json_t *list, nfs4r_servers *set)
{
	*set = 0;
	for (size_t i = 0; i < json_array_size(list); i++) {
		nfs4r_server_id s = server_of(json_array_get(list, i));

		if (!s)
			return false;
		*set |= NFS4R_BIT(s);
	}
	return json_is_array(list);
}

/* What the others had announced and this server does not have. */
static json_t *lost_of(const struct ctl_facts *f, nfs4r_servers off)
{
	json_t *out = json_array();

	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		if ((off & NFS4R_BIT(s)) && f->known[s])
			json_array_append_new(out, json_pack("{s:i, s:o}", "server", s, "missing_here", admin_num(admin_entries(f->peer[s].our_applied, f->peer[s].peer_end))));
	return out;
}

/* Of those that are said to be off: who was heard lately. 0 also if that is not why @set is refused. */
static nfs4r_servers still_heard(const struct nfs4r_engine *eng, const struct ctl_facts *f, nfs4r_servers set)
{
	nfs4r_servers heard = 0;

	if (!(set & NFS4R_BIT(eng->cfg.rpc.self)) || set & ~f->view.adopted.voters || f->view.lease_remaining_ms || f->view.memory != NFS4R_MEMORY_KNOWN)
		return 0;
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		if ((f->servers & ~set & NFS4R_BIT(s)) && f->view.peer[s].known && f->view.peer[s].silent_ms < engine_silence_ms(eng))
			heard |= NFS4R_BIT(s);
	return heard;
}

static json_t *refuse_set(const struct nfs4r_engine *eng, const struct ctl_facts *f, nfs4r_servers set, const char *why)
{
	nfs4r_servers heard = still_heard(eng, f, set);
	json_t *a = admin_error(why);

	if (heard) {
		json_object_set_new(a, "heard", admin_server_list(heard));
		json_object_set_new(a, "wait_ms", admin_num(engine_silence_ms(eng) + engine_lease_ms(eng)));
	}
	return a;
}

json_t *admin_force_reconfigure(struct nfs4r_engine *eng, const json_t *req)
{
	bool sure = json_is_true(json_object_get(req, "yes"));
	struct nfs4r_event ev = { .type = NFS4R_EV_RECONFIGURE };
	char why[WHY] = "force-reconfigure needs the numbers of all surviving servers, 1 to 15", left[64];
	enum nfs4r_status st;
	struct ctl_facts f;

	if (!set_of(json_object_get(req, "servers"), &ev.set) || look(eng, eng->cfg.rpc.self, why) != NFS4R_OK)
		return admin_error(why);
	admin_collect(eng, &f);
	pthread_mutex_lock(&eng->lock);
	st = nfs4r_core_may_reconfigure(eng->core, ev.set, why, sizeof(why));
	if (st == NFS4R_OK && sure) {
		engine_log(eng, NFS4R_LOG_WARN, "volume %s: an administrator %s %s", eng->cfg.volume_name,
			   ev.set ? "confirms that all servers are off for good except" : "cancels the forced reconfiguration; servers named:",
			   engine_server_list(ev.set, left, sizeof(left)));
		engine_step(eng, &ev);
	}
	pthread_mutex_unlock(&eng->lock);
	return st == NFS4R_OK ? json_pack("{s:o, s:o, s:o, s:b}", "servers", admin_server_list(ev.set), "off", admin_server_list(f.servers & ~ev.set), "lost",
					  lost_of(&f, f.servers & ~ev.set), "force_reconfiguring", sure) :
				refuse_set(eng, &f, ev.set, why);
}
