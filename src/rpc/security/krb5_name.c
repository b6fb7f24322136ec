/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which principal a server has.
 *
 * Happy path: server N is SERVICE/HOST@REALM, HOST being its Address as it is written, in lower case, and REALM what [domain_realm] of krb5.conf says of
 * that host, else the default realm. A principal that is configured for N takes the place of that.
 *
 * The host is never looked up to find its "real" name. A name service that lies could otherwise choose the principal that a server is taken for.
 *
 * Failure: a name without a realm is an error of krb5 (no default realm), and the connection is refused with it.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "rpc/security/krb5_int.h"

static void lower(char *s)
{
	for (; *s; s++)
		*s = (char)tolower((unsigned char)*s);
}

static krb5_error_code text_of(krb5_context k, krb5_const_principal p, char out[RPC_KRB5_NAME])
{
	char *text = NULL;
	krb5_error_code code = krb5_unparse_name(k, p, &text);

	if (code)
		return code;
	if (snprintf(out, RPC_KRB5_NAME, "%s", text) >= RPC_KRB5_NAME)
		code = KRB5_PARSE_MALFORMED;
	krb5_free_unparsed_name(k, text);
	return code;
}

/* The same principal as it is written everywhere: with its realm, and escaped where that is needed. */
static krb5_error_code parsed(krb5_context k, const char *text, char out[RPC_KRB5_NAME])
{
	krb5_principal p = NULL;
	krb5_error_code code = krb5_parse_name(k, text, &p);

	if (code)
		return code;
	code = text_of(k, p, out);
	krb5_free_principal(k, p);
	return code;
}

static krb5_error_code of_host(krb5_context k, const char *service, const char *host, char out[RPC_KRB5_NAME])
{
	char **realms = NULL, *standard = NULL, *realm;
	krb5_principal p = NULL;
	char name[RPC_KRB5_NAME];
	krb5_error_code code;

	snprintf(name, sizeof(name), "%s", host);
	lower(name);
	code = krb5_get_host_realm(k, name, &realms);
	if (code)
		return code;
	realm = realms[0];
	if (!realm || !realm[0]) { /* "ask the KDC": it may answer whatever it likes, and so it is not asked */
		code = krb5_get_default_realm(k, &standard);
		realm = standard;
	}
	if (!code)
		code = krb5_build_principal(k, &p, (unsigned)strlen(realm), realm, service, name, (char *)NULL);
	if (!code)
		code = text_of(k, p, out);
	krb5_free_principal(k, p);
	krb5_free_default_realm(k, standard);
	krb5_free_host_realm(k, realms);
	return code;
}

krb5_error_code rpc_krb5_principal(krb5_context k, const struct nfs4r_security_setup *setup, nfs4r_server_id id, const char *host, char out[RPC_KRB5_NAME])
{
	if (setup->principal[id][0])
		return parsed(k, setup->principal[id], out);
	return of_host(k, setup->service, host, out);
}

static bool equals(const krb5_data *d, const char *text)
{
	return d->length == strlen(text) && memcmp(d->data, text, d->length) == 0;
}

/* HOST of SERVICE/HOST, if that is what @name has for its host; else "". */
static krb5_error_code host_of(krb5_context k, const struct nfs4r_security_setup *setup, const char *name, char out[RPC_KRB5_NAME])
{
	char expected[RPC_KRB5_NAME];
	krb5_principal p = NULL;
	krb5_error_code code = krb5_parse_name(k, name, &p);

	out[0] = '\0';
	if (code)
		return code;
	if (p->length == 2 && equals(&p->data[0], setup->service) && !memchr(p->data[1].data, '\0', p->data[1].length))
		snprintf(out, RPC_KRB5_NAME, "%.*s", (int)p->data[1].length, p->data[1].data);
	krb5_free_principal(k, p);
	if (!out[0])
		return 0;
	code = of_host(k, setup->service, out, expected);
	if (code || strcmp(expected, name) != 0) /* of another realm, or not in lower case: no server has it */
		out[0] = '\0';
	return code;
}

krb5_error_code rpc_krb5_party_of(krb5_context k, const struct nfs4r_security_setup *setup, const char *name, struct rpc_krb5_party *out)
{
	char expected[RPC_KRB5_NAME];
	krb5_error_code code = parsed(k, name, out->name);

	out->servers = 0;
	if (!code)
		code = host_of(k, setup, out->name, out->host);
	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX && !code; id++) {
		if (!setup->principal[id][0])
			continue;
		code = parsed(k, setup->principal[id], expected);
		if (!code && strcmp(expected, out->name) == 0)
			out->servers |= NFS4R_BIT(id);
	}
	return code;
}
