/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * `nfs4rctl key` (log 6.18): by which keys the servers know each other, where each is from, and the change of one.
 *
 * Happy path: set-keys says by which fingerprints a server is known from now on. The core is asked whether that may be now, and makes a view of it. The answer comes at
 * once; who asked looks at `servers` until the server has the keys.
 *
 * Failure: every refusal is one sentence that says what to do. One with `wait` is about servers that do not know the new key yet: the same may be asked later. Until
 * the view has keys of a server, those of the Server block count, which the core does not know; that none of them is forgotten is looked at here.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/config_keys.h"
#include "engine/admin/admin_int.h"

#define DAY_S 86400

const char *admin_flavour(enum nfs4r_security flavour)
{
#define WORD(word, value)       \
	if (flavour == (value)) \
		return word;
	NFS4R_TOKENS_Peer_Security(WORD)
#undef WORD
		return "unknown";
}

/* ---- the list ---- */

static json_t *texts(const struct nfs4r_key_fingerprint *keys, uint32_t n)
{
	json_t *out = json_array();
	char text[NFS4R_FINGERPRINT_TEXT];

	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(out, json_string(nfs4r_fingerprint_text(&keys[i], text)));
	return out;
}

static const struct nfs4r_address *in_view(const struct nfs4r_view *v, nfs4r_server_id s)
{
	for (uint32_t i = 0; i < v->nbook; i++)
		if (v->addresses[i].id == s && v->addresses[i].nkeys)
			return &v->addresses[i];
	return NULL;
}

json_t *admin_key_facts(const struct nfs4r_engine *eng, const struct ctl_facts *f, const struct nfs4r_endpoint *e)
{
	const char *from = in_view(&f->view.adopted, e->id) ? "view" : e->nkeys ? "file" :
										  NULL;

	return json_pack("{s:o, s:o}", "keys", texts(e->key, e->nkeys), "keys_from", from ? json_string(from) : json_null());
}

static json_t *server_row(const struct nfs4r_engine *eng, const struct ctl_facts *f, const struct nfs4r_endpoint *e)
{
	const struct nfs4r_rpc_config *rpc = &eng->cfg.rpc;
	json_t *row = json_pack("{s:i, s:o, s:i, s:b}", "server", e->id, "host", admin_json_text(e->host), "port", e->port, "self", e->id == rpc->self);

	if (!row)
		return NULL;
	json_object_update_new(row, admin_key_facts(eng, f, e));
	for (uint32_t i = 0; i < rpc->nservers; i++)
		if (rpc->servers[i].id == e->id)
			json_object_set_new(row, "keys_in_file", texts(rpc->servers[i].key, rpc->servers[i].nkeys));
	return row;
}

static json_t *accepted(const struct nfs4r_rpc_config *rpc)
{
	json_t *out = json_array();

	for (uint32_t flavour = NFS4R_SECURITY_NONE; flavour <= NFS4R_SECURITY_KRB5P; flavour++)
		if (flavour != rpc->security && (rpc->security_accept & NFS4R_SECURITY_BIT(flavour)))
			json_array_append_new(out, json_string(admin_flavour(flavour)));
	return out;
}

void admin_add_days(json_t *out, int64_t ends_s)
{
	int64_t left_s = ends_s - time(NULL);

	if (ends_s)
		json_object_set_new(out, "certificate_days", json_integer(left_s < 0 ? -1 : left_s / DAY_S));
}

void admin_add_security(const struct nfs4r_engine *eng, json_t *out)
{
	const struct nfs4r_rpc_config *rpc = &eng->cfg.rpc;
	struct nfs4r_rpc_own own;

	json_object_set_new(out, "security", json_string(admin_flavour(rpc->security)));
	json_object_set_new(out, "accepts", accepted(rpc));
	if (rpc->security == NFS4R_SECURITY_TLS || (rpc->security_accept & NFS4R_SECURITY_BIT(NFS4R_SECURITY_TLS)))
		json_object_set_new(out, "certificate", admin_json_text(rpc->tls_certificate));
	if (nfs4r_rpc_get_own(eng->rpc, &own))
		admin_add_days(out, own.ends_s);
}

static json_t *path_or_null(const char *path)
{
	return *path ? admin_json_text(path) : json_null();
}

/* Connections that are proved with files that were replaced. */
static json_t *to_renew(const struct nfs4r_engine *eng, const struct ctl_facts *f)
{
	struct nfs4r_rpc_peer_stats rs;
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->list.n; i++)
		if (nfs4r_rpc_get_stats(eng->rpc, f->list.list[i].id, &rs) && rs.security == NFS4R_SECURITY_TLS)
			n += rs.to_renew;
	return admin_num(n);
}

/* "in_use": what new connections show; asked for before to_renew(). */
static json_t *in_use(const struct nfs4r_engine *eng)
{
	struct nfs4r_rpc_own own;

	return nfs4r_rpc_get_own(eng->rpc, &own) ? texts(&own.key, 1) : json_array();
}

json_t *admin_keys(struct nfs4r_engine *eng)
{
	const struct nfs4r_rpc_config *rpc = &eng->cfg.rpc;
	json_t *rows = json_array();
	json_t *shown = in_use(eng), *a;
	struct ctl_facts f;

	admin_collect(eng, &f);
	for (uint32_t i = 0; i < f.list.n; i++)
		json_array_append_new(rows, server_row(eng, &f, &f.list.list[i]));
	a = json_pack("{s:i, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "server", rpc->self, "view", admin_num(f.view.adopted.num), "security", admin_flavour(rpc->security),
		      "accepts", accepted(rpc), "certificate", path_or_null(rpc->tls_certificate), "key", path_or_null(rpc->tls_key), "ca", path_or_null(rpc->tls_ca), "crl",
		      path_or_null(rpc->tls_crl), "keytab", path_or_null(rpc->krb5_keytab), "changing_keys", f.view.rekeying ? admin_num(f.view.rekeying) : json_null(), "servers", rows, "to_renew", to_renew(eng, &f));
	json_object_set_new(a, "in_use", shown);
	return a;
}

/* ---- a change ---- */

enum nfs4r_status admin_keys_of(const json_t *list, struct nfs4r_key_fingerprint out[NFS4R_KEYS_MAX], uint16_t *n, char *why)
{
	*n = 0;
	if (list && json_array_size(list) > NFS4R_KEYS_MAX) {
		snprintf(why, NFS4R_WHY, "a server has at most two keys: the one that it uses and the next one");
		return NFS4R_INVAL;
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *text = json_string_value(json_array_get(list, i));

		if (!text || !nfs4r_fingerprint_parse(text, &out[*n])) {
			snprintf(why, NFS4R_WHY, "%.60s is not a fingerprint: `nfs4rctl key show` prints one, SHA256: and 43 letters", text ? text : "this");
			return NFS4R_INVAL;
		}
		(*n)++;
	}
	if (*n == 2 && memcmp(&out[0], &out[1], sizeof(out[0])) == 0)
		memset(&out[--*n], 0, sizeof(out[0]));
	return NFS4R_OK;
}

static bool is_among(const struct nfs4r_address *a, const struct nfs4r_key_fingerprint *key)
{
	for (uint32_t i = 0; i < a->nkeys; i++)
		if (memcmp(&a->keys[i], key, sizeof(*key)) == 0)
			return true;
	return false;
}

/* The Server blocks say by which keys @want is known. One stays, as from view to view, and the first view has all of them. eng->lock held */
static enum nfs4r_status look_written(const struct nfs4r_engine *eng, const struct nfs4r_address *want, char *why)
{
	for (uint32_t i = 0; i < eng->membership.list.n; i++) {
		const struct nfs4r_endpoint *e = &eng->membership.list.list[i];

		for (uint32_t k = 0; e->id == want->id && k < e->nkeys; k++) {
			if (is_among(want, &e->key[k]))
				continue;
			snprintf(why, NFS4R_WHY, "server %u is known by the key of its Server block: that one has to stay beside the new one at first", want->id);
			return NFS4R_INVAL;
		}
	}
	return NFS4R_OK;
}

/* The servers as they are to be known. OK; else @why. eng->lock held */
static enum nfs4r_status look(const struct nfs4r_engine *eng, const struct nfs4r_address *want, bool abandon, struct nfs4r_address *all, uint32_t *n, char *why)
{
	char text[NFS4R_WHY - 40] = "";
	enum nfs4r_status st = nfs4r_core_may_set_keys(eng->core, want->id, want->keys, want->nkeys, abandon, text, sizeof(text));

	if (st != NFS4R_OK)
		snprintf(why, NFS4R_WHY, "server %u: %s", want->id, text);
	if (st == NFS4R_OK && !in_view(nfs4r_core_adopted(eng->core), want->id))
		st = look_written(eng, want, why);
	if (st == NFS4R_OK)
		st = admin_addresses(eng, all, n, why);
	for (uint32_t i = 0; st == NFS4R_OK && i < *n; i++) {
		if (all[i].id != want->id)
			continue;
		all[i].nkeys = want->nkeys;
		memcpy(all[i].keys, want->keys, sizeof(want->keys));
	}
	return st;
}

json_t *admin_set_keys(struct nfs4r_engine *eng, const json_t *req)
{
	json_int_t server = json_integer_value(json_object_get(req, "server"));
	struct nfs4r_event ev = { .type = NFS4R_EV_SERVER_KEYS, .abandon = json_is_true(json_object_get(req, "abandon")) };
	struct nfs4r_address all[NFS4R_SERVERS_MAX], want = { 0 };
	char why[NFS4R_WHY] = "give the number of the server, 1 to 15";
	bool dry_run = json_is_true(json_object_get(req, "dry_run"));
	enum nfs4r_status st = NFS4R_INVAL;
	json_t *a;

	if (server > 0 && server <= NFS4R_SERVERS_MAX)
		st = admin_keys_of(json_object_get(req, "keys"), want.keys, &want.nkeys, why);
	if (st != NFS4R_OK)
		return admin_error(why);
	ev.peer = want.id = (nfs4r_server_id)server;
	pthread_mutex_lock(&eng->lock);
	st = look(eng, &want, ev.abandon, all, &ev.nall, why);
	if (st == NFS4R_OK && !dry_run) {
		engine_log(eng, NFS4R_LOG_INFO, "volume %s: an administrator changes the keys by which server %u is known", eng->cfg.volume_name, want.id);
		ev.all = all;
		engine_step(eng, &ev);
	}
	pthread_mutex_unlock(&eng->lock);
	if (st == NFS4R_OK)
		return json_pack("{s:i, s:o}", "server", want.id, "keys", texts(want.keys, want.nkeys));
	a = admin_error(why);
	if (st == NFS4R_DELAY)
		json_object_set_new(a, "wait", json_true());
	return a;
}
