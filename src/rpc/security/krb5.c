/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Security flavours krb5i (integrity) and krb5p (integrity and privacy): Kerberos 5 through GSSAPI.
 *
 * Happy path: server N is the principal SERVICE/HOST@REALM, HOST being its Address. Each connection has a context of its own, made by one round trip when it is
 * called (krb5_context.c). HELLO is its first protected record, and names a server; is_server() compares that with the principal that was proved. From 80 % of its
 * lifetime on the context is renewed inside the connection that stands (handshake.c).
 *
 * Failure: what an administrator can mend has a line of its own, with the remedy (krb5_text.c). A KDC that is down ends no connection. It ends those whose
 * ticket ends before it is back: until then the KDC has vouched for the other side.
 *
 * Invariant: a context is used until its ticket ends, and not beyond.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "rpc/security/krb5_context_int.h"

#define KEYTAB_DEFAULT "/etc/krb5.keytab"
#define SERVICE_DEFAULT "nfs4r"
#define DUE_PERCENT 80 /* of the lifetime: the side that called renews */
#define DUE_CALLED_PERCENT 90 /* the other side asks for it */
#define AGAIN_MS 60000 /* with a ticket of before */
#define ALIKE_TEXT \
	"servers %u and %u are both at %s, and so have one principal: neither could prove which of the two it is; give each its own host name in Address"

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* ---- the configuration ---- */

static bool are_alike(const struct nfs4r_rpc_config *cfg, const struct nfs4r_endpoint *a, const struct nfs4r_endpoint *b)
{
	return a->id != b->id && !cfg->krb5_principal[a->id][0] && !cfg->krb5_principal[b->id][0] && strcasecmp(a->host, b->host) == 0;
}

/* Those that have the principal of another one. *a, *b: two of them. */
static nfs4r_servers alike(const struct nfs4r_rpc_config *cfg, const struct nfs4r_endpoint **a, const struct nfs4r_endpoint **b)
{
	nfs4r_servers set = 0;

	for (uint32_t i = 0; i < cfg->nservers; i++) {
		for (uint32_t j = 0; j < i; j++) {
			if (!are_alike(cfg, &cfg->servers[i], &cfg->servers[j]))
				continue;
			set |= NFS4R_BIT(cfg->servers[i].id) | NFS4R_BIT(cfg->servers[j].id);
			*a = &cfg->servers[j];
			*b = &cfg->servers[i];
		}
	}
	return set;
}

static enum nfs4r_status krb5_start(const struct nfs4r_rpc_config *cfg, struct nfs4r_security_setup **out, char *why)
{
	const struct nfs4r_endpoint *a, *b;
	struct nfs4r_security_setup *setup;

	if (cfg->krb5_keytab[0] && cfg->krb5_keytab[0] != '/') {
		snprintf(why, NFS4R_WHY, "the keytab %s is not an absolute path; write Peer_Keytab = \"/etc/krb5.keytab\", or another one", cfg->krb5_keytab);
		return NFS4R_BADCONFIG;
	}
	if (alike(cfg, &a, &b)) {
		snprintf(why, NFS4R_WHY, ALIKE_TEXT, a->id, b->id, a->host);
		return NFS4R_BADCONFIG;
	}
	setup = calloc(1, sizeof(*setup));
	if (!setup) {
		snprintf(why, NFS4R_WHY, "no memory for the configuration of Kerberos");
		return NFS4R_NOMEM;
	}
	setup->self = cfg->self;
	for (uint32_t i = 0; i < cfg->nservers; i++)
		if (cfg->servers[i].id == cfg->self)
			memcpy(setup->host, cfg->servers[i].host, sizeof(setup->host));
	snprintf(setup->service, sizeof(setup->service), "%s", cfg->krb5_service[0] ? cfg->krb5_service : SERVICE_DEFAULT);
	snprintf(setup->keytab, sizeof(setup->keytab), "%s", cfg->krb5_keytab[0] ? cfg->krb5_keytab : KEYTAB_DEFAULT);
	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++)
		snprintf(setup->principal[id], sizeof(setup->principal[id]), "%s", cfg->krb5_principal[id]);
	*out = setup;
	return NFS4R_OK;
}

static void krb5_stop(struct nfs4r_security_setup *setup)
{
	free(setup);
}

/* ---- sessions ---- */

static struct nfs4r_security_session *krb5_open(struct nfs4r_security_setup *setup, const struct nfs4r_rpc_config *cfg, const struct nfs4r_endpoint *peer, bool confidential)
{
	struct nfs4r_security_session *s = calloc(1, sizeof(*s));
	const struct nfs4r_endpoint *a, *b;

	if (!s)
		return NULL;
	s->names.setup = setup;
	s->confidential = confidential;
	s->caller = peer != NULL;
	s->alike = alike(cfg, &a, &b);
	if (peer) {
		s->names.peer_id = peer->id;
		memcpy(s->peer_host, peer->host, sizeof(s->peer_host));
	}
	return s;
}

static struct nfs4r_security_session *krb5i_open(struct nfs4r_security_setup *setup, const struct nfs4r_rpc_config *cfg, const struct nfs4r_endpoint *peer)
{
	return krb5_open(setup, cfg, peer, false);
}

static struct nfs4r_security_session *krb5p_open(struct nfs4r_security_setup *setup, const struct nfs4r_rpc_config *cfg, const struct nfs4r_endpoint *peer)
{
	return krb5_open(setup, cfg, peer, true);
}

static const char *enctype_name(krb5_enctype type, char *out, size_t size)
{
	if (krb5_enctype_to_name(type, false, out, size) != 0)
		snprintf(out, size, "encryption type %d", (int)type);
	return out;
}

/* One line for the log: what stands now. */
static void describe(const struct nfs4r_security_session *s, struct nfs4r_security_step *step)
{
	char *note = step->note;
	krb5_enctype of_ticket = s->ticket ? rpc_krb5_ticket_enctype(s->ticket) : s->keys.enctype;
	bool weak = rpc_krb5_is_weak(s->keys.enctype) || rpc_krb5_is_weak(of_ticket);
	char context[64], ticket[64];

	if (s->no_kdc[0]) {
		snprintf(note, NFS4R_WHY, "%.1900s. A ticket of before is used; it lasts for another %llu s", s->no_kdc, (unsigned long long)s->keys.lifetime_s);
		return;
	}
	enctype_name(s->keys.enctype, context, sizeof(context));
	enctype_name(of_ticket, ticket, sizeof(ticket));
	step->plain = !weak;
	if (weak)
		snprintf(note, NFS4R_WHY, "Kerberos: %s has %s, its ticket %s: an encryption type that can be broken; give the principals keys of aes256-cts-hmac-sha1-96 or newer: kadmin -q 'cpw -randkey -e aes256-cts:normal PRINCIPAL', then ktadd",
			 s->party.name, context, ticket);
	else
		snprintf(note, NFS4R_WHY, "Kerberos: %s is authenticated, %s, for %llu s", s->party.name, context, (unsigned long long)s->keys.lifetime_s);
}

/* How long it is used before it is renewed. */
static uint64_t due_after_ms(const struct nfs4r_security_session *s, uint64_t life_ms)
{
	if (s->no_kdc[0]) /* perhaps the KDC is back by then */
		return life_ms / 2 < AGAIN_MS ? life_ms / 2 : AGAIN_MS;
	return life_ms / 100 * (s->caller ? DUE_PERCENT : DUE_CALLED_PERCENT);
}

static enum nfs4r_status krb5_handshake(struct nfs4r_security_session *s, struct nfs4r_security_step *step)
{
	enum nfs4r_status st = rpc_krb5_context_step(s, step->in, step->len, &step->out, step->why);
	uint64_t now = now_ms(), life;

	if (st != NFS4R_OK)
		return st;
	life = s->keys.lifetime_s * 1000;
	s->due_ms = now + due_after_ms(s, life);
	s->end_ms = now + life;
	s->done = true;
	describe(s, step);
	return NFS4R_OK;
}

static enum nfs4r_status krb5_is_server(const struct nfs4r_security_session *s, const struct nfs4r_endpoint *claimed, char *why)
{
	const struct nfs4r_security_setup *setup = s->names.setup;
	bool is;

	if (s->alike & NFS4R_BIT(claimed->id)) {
		snprintf(why, NFS4R_WHY, "server %u has the same Address as another one, and so the same principal; give each its own host name in Address", claimed->id);
		return NFS4R_ACCES;
	}
	if (s->caller)
		is = claimed->id == s->names.peer_id && strcmp(s->party.name, s->names.peer) == 0;
	else if (setup->principal[claimed->id][0])
		is = s->party.servers & NFS4R_BIT(claimed->id);
	else
		is = s->party.host[0] && strcasecmp(s->party.host, claimed->host) == 0;
	if (is && s->party.servers & ~NFS4R_BIT(claimed->id)) {
		snprintf(why, NFS4R_WHY, "Kerberos: %s is the principal of server %u, and of another one by a Principal in the configuration, so it proves neither; give each its own", s->party.name, claimed->id);
		return NFS4R_ACCES;
	}
	if (is)
		return NFS4R_OK;
	if (setup->principal[claimed->id][0])
		snprintf(why, NFS4R_WHY, "Kerberos: it proved to be %s, but server %u is %s; correct its Principal here, or the keytab there", s->party.name, claimed->id,
			 setup->principal[claimed->id]);
	else
		snprintf(why, NFS4R_WHY, "Kerberos: it proved to be %s, but server %u is %s/%s in the realm that krb5.conf gives that host; correct the Address of server %u here, or the keytab there",
			 s->party.name, claimed->id, setup->service, claimed->host, claimed->id);
	return NFS4R_ACCES;
}

static bool krb5_is_due(const struct nfs4r_security_session *s)
{
	return s->done && now_ms() >= s->due_ms;
}

static bool krb5_has_ended(const struct nfs4r_security_session *s, char *why)
{
	if (!s->done || now_ms() < s->end_ms)
		return false;
	snprintf(why, NFS4R_WHY, "Kerberos: the ticket of the connection, with %s, has ended and was not renewed; an earlier line of the log of the server with the higher id says why", s->party.name);
	return true;
}

static struct nfs4r_buf *krb5_wrap(struct nfs4r_security_session *s, const void *bytes, size_t len)
{
	return rpc_krb5_wrap(&s->keys, bytes, len);
}

static struct nfs4r_buf *krb5_unwrap(struct nfs4r_security_session *s, const void *bytes, size_t len)
{
	return rpc_krb5_unwrap(&s->keys, bytes, len);
}

static void krb5_close(struct nfs4r_security_session *s)
{
	rpc_krb5_context_free(s);
	rpc_krb5_ticket_put(s->ticket, !s->done);
	explicit_bzero(s, sizeof(*s));
	free(s);
}

/* They differ in what a session is opened with, and in nothing else. */
#define KRB5_OPS(of, called, opens)                                                                                                                  \
	{                                                                                                                                            \
		.flavour = of, .name = called, .blocks = true, .costs = true, .overhead = RPC_KRB5_OVERHEAD, .start = krb5_start, .stop = krb5_stop, \
		.open = opens, .handshake = krb5_handshake, .is_server = krb5_is_server, .is_due = krb5_is_due, .has_ended = krb5_has_ended,         \
		.wrap = krb5_wrap, .unwrap = krb5_unwrap, .close = krb5_close                                                                        \
	}

const struct nfs4r_security_ops nfs4r_security_krb5i = KRB5_OPS(NFS4R_SECURITY_KRB5I, "krb5i", krb5i_open);
const struct nfs4r_security_ops nfs4r_security_krb5p = KRB5_OPS(NFS4R_SECURITY_KRB5P, "krb5p", krb5p_open);
