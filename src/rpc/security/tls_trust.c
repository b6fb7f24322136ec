/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Whom a certificate is taken for.
 *
 * By its key: the SHA-256 of its SubjectPublicKeyInfo is one of the fingerprints of a server. Nothing else in such a certificate counts: neither its dates, nor its names, nor
 * who signed it. It was made by the server itself, and the list of fingerprints says how long its key is good for.
 *
 * By an authority: it leads to a certificate in Peer_CA, its dates are good, and Peer_CRL does not revoke it. Then its names say for which server it may speak. A URI
 * nfs4r:VOLUME:SERVER names one server of one volume. A certificate without any such URI may have the DNS name of the server's Address instead.
 *
 * Either is enough where both are configured, so that a volume goes from one to the other. The handshake takes whatever may be some server of the
 * volume; which one, is asked afterwards. With a fingerprint for each server and no CA, nobody else gets that far.
 */
#include <openssl/sha.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/uuid.h"
#include "rpc/security/tls_int.h"

#define URI_PREFIX "nfs4r:"

void rpc_tls_trust_init(struct tls_trust *t, const struct nfs4r_rpc_config *cfg, const struct nfs4r_endpoint *called)
{
	memset(t, 0, sizeof(*t));
	t->self = cfg->self;
	t->called = called ? called->id : 0;
	memcpy(t->volume, cfg->volume, sizeof(t->volume));
	t->n = cfg->nservers;
	for (uint32_t i = 0; i < t->n; i++) {
		t->known[i].id = cfg->servers[i].id;
		t->known[i].nkeys = cfg->servers[i].nkeys;
		memcpy(t->known[i].key, cfg->servers[i].key, sizeof(t->known[i].key));
	}
}

void rpc_tls_trust_fini(struct tls_trust *t)
{
	X509_free(t->certificate);
}

static bool key_equal(const struct nfs4r_key_fingerprint *a, const struct nfs4r_key_fingerprint *b)
{
	return memcmp(a->sha256, b->sha256, sizeof(a->sha256)) == 0;
}

bool rpc_tls_key_of(X509 *certificate, struct nfs4r_key_fingerprint *out)
{
	unsigned char *der = NULL;
	int len = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);

	if (len <= 0)
		return false;
	SHA256(der, (size_t)len, out->sha256);
	OPENSSL_free(der);
	return true;
}

int64_t rpc_tls_ends_s(const X509 *certificate)
{
	struct tm tm;

	if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &tm) != 1 || tm.tm_year + 1900 == 9999)
		return 0;
	return (int64_t)timegm(&tm);
}

/* The server that has such a key, but not @self; 0: none. */
static nfs4r_server_id owner(const struct tls_trust *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		for (uint32_t k = 0; k < t->known[i].nkeys; k++)
			if (t->known[i].id != t->self && key_equal(&t->known[i].key[k], &t->key))
				return t->known[i].id;
	return 0;
}

/* ---- a certificate that nobody vouches for ---- */

static const char *remedy(int error)
{
	switch (error) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
		return "it has expired: put a new one in its Peer_Certificate";
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return "it is not valid yet: compare the clocks of both machines (chronyc tracking)";
	case X509_V_ERR_CERT_REVOKED:
		return "Peer_CRL revokes it: put a new one in its Peer_Certificate";
	case X509_V_ERR_CRL_HAS_EXPIRED:
	case X509_V_ERR_CRL_NOT_YET_VALID:
	case X509_V_ERR_UNABLE_TO_GET_CRL:
		return "Peer_CRL here has no list of its authority that is good today: put the newest one there";
	case X509_V_ERR_INVALID_PURPOSE:
		return "its extendedKeyUsage lacks serverAuth or clientAuth: sign one that has both, or none";
	default:
		return "no authority in Peer_CA here has signed it: have it signed by one, or add that one to Peer_CA";
	}
}

static void explain_unknown(struct tls_trust *t, int error)
{
	char side[48] = "a caller";

	if (t->called)
		snprintf(side, sizeof(side), "server %u", t->called);
	snprintf(t->why, sizeof(t->why), "%s shows server %u the certificate %s: its key %s is of no server of the volume%s%s; a key is made known with nfs4rctl key, or Key in the Server block",
		 side, t->self, t->name, t->fingerprint, t->has_ca ? ", and " : "", t->has_ca ? remedy(error) : "");
}

int rpc_tls_verify(X509_STORE_CTX *store, void *arg)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct tls_trust *t = SSL_get_app_data(ssl);
	X509 *certificate = X509_STORE_CTX_get0_cert(store);
	int error = X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT;

	if (!certificate || !rpc_tls_key_of(certificate, &t->key))
		return 0;
	X509_NAME_oneline(X509_get_subject_name(certificate), t->name, sizeof(t->name));
	nfs4r_fingerprint_text(&t->key, t->fingerprint);
	t->by_ca = t->has_ca && X509_verify_cert(store) == 1;
	if (t->has_ca && !t->by_ca)
		error = X509_STORE_CTX_get_error(store);
	if (!t->by_ca && !owner(t)) {
		explain_unknown(t, error);
		X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED);
		return 0;
	}
	X509_up_ref(certificate);
	X509_free(t->certificate);
	t->certificate = certificate;
	t->ends_s = owner(t) ? 0 : rpc_tls_ends_s(certificate);
	t->seen = true;
	X509_STORE_CTX_set_error(store, X509_V_OK);
	return 1;
}

/* ---- of which server is it? ---- */

static void uri_of(const struct tls_trust *t, nfs4r_server_id id, char *out, size_t size)
{
	char uuid[NFS4R_UUID_TEXT];

	snprintf(out, size, URI_PREFIX "%s:%u", nfs4r_uuid_text(t->volume, uuid), id);
}

static bool is_text(const ASN1_IA5STRING *s, const char *text)
{
	return (size_t)ASN1_STRING_length(s) == strlen(text) && memcmp(ASN1_STRING_get0_data(s), text, strlen(text)) == 0;
}

/* Names that count: @uri is among them, there is any of our URIs; all, as text. */
struct names {
	const char *uri;
	bool found, any;
	char text[256];
};

static void name_add(struct names *n, const char *kind, const ASN1_IA5STRING *s)
{
	size_t len = strlen(n->text);

	snprintf(n->text + len, sizeof(n->text) - len, "%s%s:%.*s", len ? ", " : "", kind, ASN1_STRING_length(s), (const char *)ASN1_STRING_get0_data(s));
}

static void names_of(X509 *certificate, struct names *n)
{
	GENERAL_NAMES *list = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);

	for (int i = 0; i < sk_GENERAL_NAME_num(list); i++) {
		const GENERAL_NAME *g = sk_GENERAL_NAME_value(list, i);

		if (g->type == GEN_DNS)
			name_add(n, "DNS", g->d.dNSName);
		if (g->type != GEN_URI)
			continue;
		name_add(n, "URI", g->d.uniformResourceIdentifier);
		n->found = n->found || is_text(g->d.uniformResourceIdentifier, n->uri);
		n->any = n->any || (ASN1_STRING_length(g->d.uniformResourceIdentifier) >= (int)strlen(URI_PREFIX) && memcmp(ASN1_STRING_get0_data(g->d.uniformResourceIdentifier), URI_PREFIX, strlen(URI_PREFIX)) == 0);
	}
	GENERAL_NAMES_free(list);
}

static bool has_dns_name(X509 *certificate, const char *host)
{
	return X509_check_host(certificate, host, 0, X509_CHECK_FLAG_NO_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, NULL) == 1;
}

static void explain_other(const struct tls_trust *t, const struct nfs4r_endpoint *claimed, const struct names *n, char *why)
{
	nfs4r_server_id of = owner(t);
	char proof[400];

	if (of)
		snprintf(proof, sizeof(proof), "its key %s is of server %u", t->fingerprint, of);
	else
		snprintf(proof, sizeof(proof), "it names %s", n->text[0] ? n->text : "no server");
	snprintf(why, NFS4R_WHY, "the other side says that it is server %u, and shows server %u the certificate %s, which is not that server's: %s. Give server %u one of its own: with a key that is known as its, or signed by an authority in Peer_CA for URI:%s or DNS:%s",
		 claimed->id, t->self, t->name, proof, claimed->id, n->uri, claimed->host);
}

enum nfs4r_status rpc_tls_trust_is(const struct tls_trust *t, const struct nfs4r_endpoint *claimed, char *why)
{
	char uri[64];
	struct names n = { .uri = uri };

	for (uint32_t k = 0; k < claimed->nkeys; k++)
		if (key_equal(&claimed->key[k], &t->key))
			return NFS4R_OK;
	uri_of(t, claimed->id, uri, sizeof(uri));
	names_of(t->certificate, &n);
	if (t->by_ca && (n.any ? n.found : has_dns_name(t->certificate, claimed->host)))
		return NFS4R_OK;
	explain_other(t, claimed, &n, why);
	return NFS4R_ACCES;
}
