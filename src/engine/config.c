/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Configuration: defaults, ranges, what the servers compare, and what belongs together. The keys are those of base/config.def. Pure; every complaint names the key and
 * what to write.
 */
#include <inttypes.h>
#include <stdio.h>

#include "engine/config.h"
#include "engine/engine_int.h"

static void set_text(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text ? text : "");
}

void nfs4r_config_init(struct nfs4r_config *cfg)
{
	memset(cfg, 0, sizeof(*cfg));
	nfs4r_rpc_config_init(&cfg->rpc);
#define KEY_NUMBER(block, name, field, home, there, def, ...) cfg->field = (def);
#define KEY_SPAN(block, name, field, home, there, def, ...) cfg->field = (def)*UINT64_C(1000);
#define KEY_BOOL(block, name, field, home, there, def, ...) cfg->field = (def);
#define KEY_TOKEN(block, name, field, home, there, def, ...) cfg->field = (def);
#define KEY_LIST(block, name, field, home, there, def, ...) cfg->field = (def);
#define KEY_TEXT(block, name, field, home, there, def, ...) set_text(cfg->field, sizeof(cfg->field), def);
#define KEY_HIDDEN(field, home, there, def) cfg->field = (def);
#include "base/config.def"
}

/* ---- ranges ---- */

#define EQUAL_OWN false
#define EQUAL_UNIQUE false
#define EQUAL_SAME true
#define EQUAL_HELLO true
#define EQUAL_VOLUME false
#define IN_PUBLIC ""
#define IN_TUNING " (of Tuning)"

static const struct range {
	const char *name, *block, *zero, *unit;
	uint64_t def, min, max;
	bool equal;
} ranges[NFS4R_KEYS] = {
#define KEY_NUMBER(block, name, field, home, there, def, min, max, zero, unit, same, text) \
	[NFS4R_KEY_##name] = { #name, IN_##block, zero, unit, def, min, max, EQUAL_##same },
#include "base/config.def"
};

bool nfs4r_config_range(enum nfs4r_key key, uint64_t value, char *why, size_t why_len)
{
	const struct range *r = &ranges[key];
	char zero[128] = "";

	if ((value >= r->min && value <= r->max) || (value == 0 && r->zero))
		return true;
	if (r->zero && r->min)
		snprintf(zero, sizeof(zero), ", or 0 (%s)", r->zero);
	snprintf(why, why_len, "REPL: %s = %" PRIu64 "%s is %s; write %" PRIu64 " to %" PRIu64 "%s%s%s%s", r->name, value, r->block,
		 value == 0 && r->def == 0 ? "missing or out of range" : "out of range", r->min, r->max,
		 r->unit[0] ? " " : "", r->unit, zero, r->equal ? "; the same on every server" : "");
	return false;
}

/* A journal whose files have another size is a test's, and so may be what is kept of it. */
static enum nfs4r_status check_ranges(const struct nfs4r_config *cfg, char *why, size_t len)
{
	const bool any_retention = cfg->segment_bytes != 0;

#define CHECK(name, value)                                                                                                               \
	if (!(any_retention && NFS4R_KEY_##name == NFS4R_KEY_Retention_Bytes) && !nfs4r_config_range(NFS4R_KEY_##name, value, why, len)) \
		return NFS4R_BADCONFIG;
#define KEY_NUMBER(block, name, field, ...) CHECK(name, cfg->field)
#define KEY_SPAN(block, name, field, ...) CHECK(name, cfg->field / 1000)
#include "base/config.def"
#undef CHECK
	return NFS4R_OK;
}

/* ---- what the servers compare ---- */

struct word {
	const char *word;
	uint32_t value;
};

static const char *word_of(const struct word *w, uint32_t value)
{
	while (w->word && w->value != value)
		w++;
	return w->word;
}

void nfs4r_config_compare(const struct nfs4r_config *cfg, struct nfs4r_rpc_config *rpc)
{
	char number[24];

#define WORD(word, value) { word, value },
#define COMPARE_OWN(name, text)
#define COMPARE_UNIQUE(name, text)
#define COMPARE_HELLO(name, text)
#define COMPARE_VOLUME(name, text)
#define COMPARE_SAME(name, text) nfs4r_rpc_compare(rpc, #name, text, false);
#define KEY_NUMBER(block, name, field, home, there, def, min, max, zero, unit, same, text) COMPARE_##same(name, (snprintf(number, sizeof(number), "%" PRIu64, (uint64_t)cfg->field), number))
#define KEY_BOOL(block, name, field, home, there, def, same, text) COMPARE_##same(name, cfg->field ? "true" : "false")
#define KEY_TOKEN(block, name, field, home, there, def, same, text) \
	COMPARE_##same(name, word_of((const struct word[]){ NFS4R_TOKENS_##name(WORD){ NULL, 0 } }, cfg->field))
#define KEY_TEXT(block, name, field, home, there, def, min, max, same, text) COMPARE_##same(name, cfg->field)
#include "base/config.def"
	(void)number; /* until a number is compared, or a word */
	(void)word_of;
}

/* ---- what belongs together ---- */

static const struct nfs4r_endpoint *find(const struct nfs4r_rpc_config *rpc, nfs4r_server_id id)
{
	for (uint32_t i = 0; i < rpc->nservers; i++)
		if (rpc->servers[i].id == id)
			return &rpc->servers[i];
	return NULL;
}

static enum nfs4r_status bad(char *why, size_t len, const char *text)
{
	snprintf(why, len, "%s", text);
	return NFS4R_BADCONFIG;
}

static enum nfs4r_status check_servers(const struct nfs4r_rpc_config *rpc, char *why, size_t len)
{
	if (rpc->nservers == 0)
		return bad(why, len, "REPL: no Server block; write one `Server { Id = N; Address = \"host\"; Port = P; }` for every server of the volume");
	for (uint32_t i = 0; i < rpc->nservers; i++) {
		const struct nfs4r_endpoint *e = &rpc->servers[i];

		if (e->id == 0 || e->id > NFS4R_SERVERS_MAX) {
			snprintf(why, len, "REPL: Server Id = %u is out of range; use 1 to %u", e->id, NFS4R_SERVERS_MAX);
			return NFS4R_BADCONFIG;
		}
		if (find(rpc, e->id) != e) {
			snprintf(why, len, "REPL: two Server blocks have Id = %u; every server needs its own", e->id);
			return NFS4R_BADCONFIG;
		}
		if (!e->host[0] || e->port == 0) {
			snprintf(why, len, "REPL: Server %u needs an Address and a Port from 1 to 65535", e->id);
			return NFS4R_BADCONFIG;
		}
		if (!rpc->any_port && e->port >= NFS4R_PORTS_PRIVILEGED) {
			snprintf(why, len, "REPL: Server %u has Port = %u, which every user of its machine can use to impersonate a server: write Port = %u, or another one below "
					   "%u; with Peer_Ports = any it is allowed, and unsafe",
				 e->id, e->port, NFS4R_PORT_DEFAULT, NFS4R_PORTS_PRIVILEGED);
			return NFS4R_BADCONFIG;
		}
	}
	if (!find(rpc, rpc->self)) {
		snprintf(why, len, "REPL: Server_Id = %u has no Server block; add one, or correct Server_Id", rpc->self);
		return NFS4R_BADCONFIG;
	}
	return NFS4R_OK;
}

static enum nfs4r_status check_view(const struct nfs4r_config *cfg, char *why, size_t len)
{
	if (cfg->lease_ms == 0 || cfg->silence_ms >= cfg->lease_ms / 2)
		return NFS4R_OK;
	snprintf(why, len, "REPL: Failure_Timeout = %u does not go with Lease = %u: servers send a heartbeat every quarter of a lease, and a late server must not be "
			   "taken for a failed one; write Failure_Timeout = %u or more, or Max_Round_Trip in place of both",
		 cfg->silence_ms, cfg->lease_ms, cfg->lease_ms / 2);
	return NFS4R_BADCONFIG;
}

static enum nfs4r_status check_durability(const struct nfs4r_config *cfg, char *why, size_t len)
{
	if (cfg->durability < NFS4R_DURABILITY_LOCAL || cfg->durability > NFS4R_DURABILITY_MAJORITY)
		return bad(why, len, "REPL: Durability must be local, commit or majority; the same on every server");
	if (cfg->durability != NFS4R_DURABILITY_LOCAL && cfg->lease_ms == 0)
		return bad(why, len, "REPL: Durability = commit or majority needs a view that can change: remove Lease = 0 from Tuning, or write Durability = local");
	if (cfg->abandon_ms && cfg->lease_ms == 0)
		return bad(why, len, "REPL: Abandon_After needs a view that can change: remove Lease = 0 from Tuning, or write Abandon_After = 0");
	if (cfg->abandon_ms && cfg->durability != NFS4R_DURABILITY_LOCAL)
		return bad(why, len, "REPL: Abandon_After is only for Durability = local; with commit and majority the others never wait for a failed server");
	if (cfg->conflicts_dir[0] && cfg->conflicts_dir[0] != '/')
		return bad(why, len, "REPL: Conflicts is not an absolute path; write a directory outside the exported one, or omit the key for Store/conflicts");
	return NFS4R_OK;
}

/* ---- how servers prove who they are ---- */

enum nfs4r_status nfs4r_config_server_keys(const char *text, struct nfs4r_endpoint *e, char *why, size_t why_len)
{
	char one[NFS4R_FINGERPRINT_TEXT + 1];

	e->nkeys = 0;
	for (text += strspn(text, " \t"); *text; text += strspn(text, " \t")) {
		size_t len = strcspn(text, " \t");

		if (e->nkeys == NFS4R_KEYS_MAX) {
			snprintf(why, why_len, "REPL: Server %u has more than two fingerprints as Key: the one of the key that it uses, and perhaps the next one", e->id);
			return NFS4R_BADCONFIG;
		}
		snprintf(one, sizeof(one), "%.*s", len < sizeof(one) ? (int)len : (int)sizeof(one) - 1, text);
		if (!nfs4r_fingerprint_parse(one, &e->key[e->nkeys])) {
			snprintf(why, why_len, "REPL: Server %u: Key = \"%.60s\" is no fingerprint; write the line that `nfs4rctl key show` prints on that server, "
					       "Key = \"SHA256:...\" with 43 letters",
				 e->id, one);
			return NFS4R_BADCONFIG;
		}
		e->nkeys++;
		text += len;
	}
	return NFS4R_OK;
}

static bool uses(const struct nfs4r_rpc_config *rpc, enum nfs4r_security flavour)
{
	return rpc->security == flavour || (rpc->security_accept & NFS4R_SECURITY_BIT(flavour));
}

static bool have_one_key(const struct nfs4r_endpoint *a, const struct nfs4r_endpoint *b)
{
	for (uint32_t i = 0; i < a->nkeys; i++)
		for (uint32_t k = 0; k < b->nkeys; k++)
			if (memcmp(&a->key[i], &b->key[k], sizeof(a->key[0])) == 0)
				return true;
	return false;
}

/* Whoever has a key is the server that it is written for. */
static enum nfs4r_status check_keys(const struct nfs4r_rpc_config *rpc, char *why, size_t len)
{
	uint32_t known = 0;

	for (uint32_t i = 0; i < rpc->nservers; i++) {
		known += rpc->servers[i].id != rpc->self && rpc->servers[i].nkeys;
		for (uint32_t k = 0; k < i; k++) {
			if (!have_one_key(&rpc->servers[i], &rpc->servers[k]))
				continue;
			snprintf(why, len, "REPL: servers %u and %u have the same Key; each server makes its own with `nfs4rctl key make`", rpc->servers[k].id, rpc->servers[i].id);
			return NFS4R_BADCONFIG;
		}
	}
	if (rpc->nservers == 1 || known || rpc->tls_ca[0])
		return NFS4R_OK;
	return bad(why, len, "REPL: Peer_Security = tls has nothing by which to know another server: write Key = \"SHA256:...\" into each Server block, as `nfs4rctl key make` prints it on that "
			     "server, or Peer_CA");
}

static enum nfs4r_status check_tls(const struct nfs4r_rpc_config *rpc, char *why, size_t len)
{
	const struct {
		const char *key, *path;
	} paths[] = { { "Peer_Certificate", rpc->tls_certificate }, { "Peer_Key", rpc->tls_key }, { "Peer_CA", rpc->tls_ca }, { "Peer_CRL", rpc->tls_crl } };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (paths[i].path[0] == '/' || (i > 1 && !paths[i].path[0]))
			continue;
		snprintf(why, len, "REPL: %s = \"%.200s\" is not an absolute path; write the whole path of the file", paths[i].key, paths[i].path);
		return NFS4R_BADCONFIG;
	}
	if (rpc->tls_crl[0] && !rpc->tls_ca[0])
		return bad(why, len, "REPL: Peer_CRL is of no use without Peer_CA; to stop trusting a server that is known by its key, take its Key away");
	return check_keys(rpc, why, len);
}

/* Whoever has a principal is the server that it is written for. */
static enum nfs4r_status check_principals(const struct nfs4r_rpc_config *rpc, char *why, size_t len)
{
	for (nfs4r_server_id a = 1; a <= NFS4R_SERVERS_MAX; a++) {
		const char *name = rpc->krb5_principal[a];

		if (strpbrk(name, " \t")) {
			snprintf(why, len, "REPL: Server %u: Principal = \"%s\" has a blank in it; write one principal, such as nfs4r/one.example@REALM; the same on every server", a, name);
			return NFS4R_BADCONFIG;
		}
		for (nfs4r_server_id b = 1; b < a; b++) {
			if (!name[0] || strcmp(name, rpc->krb5_principal[b]) != 0)
				continue;
			snprintf(why, len, "REPL: servers %u and %u have the same Principal; each server needs its own", b, a);
			return NFS4R_BADCONFIG;
		}
	}
	return NFS4R_OK;
}

static enum nfs4r_status check_krb5(const struct nfs4r_rpc_config *rpc, char *why, size_t len)
{
	if (rpc->krb5_keytab[0] != '/')
		return bad(why, len, "REPL: Peer_Keytab is not an absolute path; write the whole path of the keytab");
	if (!rpc->krb5_service[0] || strpbrk(rpc->krb5_service, "/@ "))
		return bad(why, len, "REPL: Peer_Service is the first part of the servers' principals alone, such as nfs4r; the same on every server");
	return check_principals(rpc, why, len);
}

static enum nfs4r_status check_security(const struct nfs4r_rpc_config *rpc, char *why, size_t len)
{
	enum nfs4r_status st = NFS4R_OK;

	if (rpc->security < NFS4R_SECURITY_NONE || rpc->security > NFS4R_SECURITY_KRB5P)
		return bad(why, len, "REPL: Peer_Security is missing; write Peer_Security = tls, and make the key of this server with `nfs4rctl key make` (docs/security.md); "
				     "the same on every server");
	if (uses(rpc, NFS4R_SECURITY_TLS))
		st = check_tls(rpc, why, len);
	if (st == NFS4R_OK && (uses(rpc, NFS4R_SECURITY_KRB5I) || uses(rpc, NFS4R_SECURITY_KRB5P)))
		st = check_krb5(rpc, why, len);
	return st;
}

static const uint8_t no_uuid[16];

enum nfs4r_status nfs4r_config_check(const struct nfs4r_config *cfg, char *why, size_t why_len)
{
	if (cfg->rpc.self == 0 || cfg->rpc.self > NFS4R_SERVERS_MAX)
		return bad(why, why_len, "REPL: Server_Id is missing or out of range; write the number of this server, 1 to 15");
	if (!cfg->volume_name[0])
		return bad(why, why_len, "REPL: Volume is missing; write Volume = \"name\"; the same on every server");
	if (memcmp(cfg->rpc.volume, no_uuid, sizeof(no_uuid)) == 0)
		return bad(why, why_len, "REPL: Volume_UUID is missing; make one with uuidgen and write it on every server");
	if (cfg->store_dir[0] != '/')
		return bad(why, why_len, "REPL: Store is missing or not an absolute path; write Store = \"/var/lib/nfs4r/NAME\" outside the exported directory");
	enum nfs4r_status st = check_ranges(cfg, why, why_len);

	if (st == NFS4R_OK)
		st = check_view(cfg, why, why_len);
	if (st == NFS4R_OK)
		st = check_durability(cfg, why, why_len);
	if (st == NFS4R_OK)
		st = check_servers(&cfg->rpc, why, why_len);
	return st == NFS4R_OK ? check_security(&cfg->rpc, why, why_len) : st;
}
