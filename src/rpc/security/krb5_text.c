/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What an error of Kerberos means, and what to do about it. One line for each cause that an administrator can mend; docs/security.md has the same table.
 *
 * The library has some hundred codes and often several for one cause. Its own words close the line, in brackets, for whoever wants to search for them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rpc/security/krb5_int.h"

enum cause {
	CAUSE_OTHER,
	CAUSE_NO_KEYTAB,
	CAUSE_UNREADABLE,
	CAUSE_NO_KEY,
	CAUSE_NO_SELF,
	CAUSE_NO_PEER,
	CAUSE_NO_KDC,
	CAUSE_REALM,
	CAUSE_CLOCK,
	CAUSE_EXPIRED,
	CAUSE_REPLAY,
	CAUSE_OLD_KEY,
	CAUSE_SERVICE,
	CAUSE_LOCKED,
	CAUSE_ENCTYPE,
};

static enum cause cause_of_keytab(krb5_error_code code)
{
	switch (code) {
	case ENOENT:
	case ENOTDIR:
		return CAUSE_NO_KEYTAB;
	case EACCES:
	case EPERM:
	case EIO:
	case EISDIR:
	case ELOOP:
	case KRB5_KT_IOERR:
	case KRB5_KT_FORMAT:
	case KRB5_KEYTAB_BADVNO:
	case KRB5_KT_END:
		return CAUSE_UNREADABLE;
	case KRB5_KT_NOTFOUND:
		return CAUSE_NO_KEY;
	case KRB5_KT_KVNONOTFOUND:
		return CAUSE_OLD_KEY;
	default:
		return CAUSE_OTHER;
	}
}

static enum cause cause_of_kdc(krb5_error_code code)
{
	switch (code) {
	case KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN:
		return CAUSE_NO_SELF;
	case KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN:
		return CAUSE_NO_PEER;
	case KRB5_KDC_UNREACH:
	case KRB5_REALM_CANT_RESOLVE:
	case KRB5KDC_ERR_SVC_UNAVAILABLE:
		return CAUSE_NO_KDC;
	case KRB5_REALM_UNKNOWN:
	case KRB5_CONFIG_NODEFREALM:
	case KRB5KDC_ERR_WRONG_REALM:
	case KRB5KDC_ERR_PATH_NOT_ACCEPTED:
	case KRB5KRB_AP_ERR_ILL_CR_TKT:
		return CAUSE_REALM;
	case KRB5KDC_ERR_NAME_EXP:
	case KRB5KDC_ERR_KEY_EXP:
	case KRB5KDC_ERR_CLIENT_REVOKED:
	case KRB5KDC_ERR_CLIENT_NOTYET:
	case KRB5KDC_ERR_SERVICE_EXP:
	case KRB5KDC_ERR_SERVICE_REVOKED:
	case KRB5KDC_ERR_SERVICE_NOTYET:
	case KRB5KDC_ERR_POLICY:
		return CAUSE_LOCKED;
	case KRB5KDC_ERR_PREAUTH_FAILED:
		return CAUSE_OLD_KEY;
	case KRB5KDC_ERR_ETYPE_NOSUPP:
	case KRB5_PROG_ETYPE_NOSUPP:
	case KRB5_CONFIG_ETYPE_NOSUPP:
	case KRB5_BAD_ENCTYPE:
	case KRB5_NOPERM_ETYPE:
		return CAUSE_ENCTYPE;
	default:
		return CAUSE_OTHER;
	}
}

static enum cause cause_of_peer(krb5_error_code code)
{
	switch (code) {
	case KRB5KRB_AP_ERR_SKEW:
	case KRB5_KDCREP_SKEW:
	case KRB5KRB_AP_ERR_TKT_NYV:
		return CAUSE_CLOCK;
	case KRB5KRB_AP_ERR_TKT_EXPIRED:
		return CAUSE_EXPIRED;
	case KRB5KRB_AP_ERR_REPEAT:
		return CAUSE_REPLAY;
	case KRB5KRB_AP_ERR_BAD_INTEGRITY:
	case KRB5KRB_AP_ERR_MODIFIED:
	case KRB5KRB_AP_ERR_BADKEYVER:
		return CAUSE_OLD_KEY;
	case KRB5KRB_AP_ERR_NOT_US:
	case KRB5KRB_AP_ERR_NOKEY:
	case KRB5KRB_AP_WRONG_PRINC:
		return CAUSE_SERVICE;
	default:
		return CAUSE_OTHER;
	}
}

static enum cause cause_of(krb5_error_code code)
{
	enum cause c = cause_of_keytab(code);

	if (c == CAUSE_OTHER)
		c = cause_of_kdc(code);
	return c == CAUSE_OTHER ? cause_of_peer(code) : c;
}

static const char *realm_of(const char *principal)
{
	const char *at = strrchr(principal, '@');

	return at ? at + 1 : "";
}

/* Causes in the keytab and the principal of this server. */
static void own_text(enum cause c, const struct rpc_krb5_names *n, char *out, size_t size)
{
	const char *keytab = n->setup->keytab, *self = n->self;

	switch (c) {
	case CAUSE_NO_KEYTAB:
		snprintf(out, size, "there is no keytab %.300s; create it: kadmin -q 'ktadd -k %.300s %.300s'", keytab, keytab, self);
		break;
	case CAUSE_UNREADABLE:
		snprintf(out, size, "the keytab %.300s cannot be read; it has to be a keytab (klist -k %.300s) of root with mode 600: chown root %.300s; chmod 600 %.300s", keytab, keytab, keytab, keytab);
		break;
	case CAUSE_NO_KEY:
		snprintf(out, size, "the keytab %.300s has no key of %.300s; add it: kadmin -q 'ktadd -k %.300s %.300s' (klist -k %.300s shows its keys)", keytab, self, keytab, self, keytab);
		break;
	case CAUSE_NO_SELF:
		snprintf(out, size, "the KDC has no principal %.300s, which is this server's; create it: kadmin -q 'addprinc -randkey %.300s', then kadmin -q 'ktadd -k %.300s %.300s'", self, self, keytab, self);
		break;
	case CAUSE_OLD_KEY:
		snprintf(out, size, "the key of %.300s in %.300s is not the one that the KDC uses; write a new one there: kadmin -q 'ktadd -k %.300s %.300s'", self, keytab, keytab, self);
		break;
	case CAUSE_SERVICE:
		snprintf(out, size, "wrong service: the ticket is not for %.300s, or %.300s has no key of it (klist -k %.300s); correct this server's Address at the other one, or Peer_Service", self, keytab, keytab);
		break;
	default:
		snprintf(out, size, "an unexpected error; look for it with: KRB5_TRACE=/dev/stderr kinit -c MEMORY: -k -t %.300s %.300s", keytab, self);
	}
}

static void text_of(enum cause c, const struct rpc_krb5_names *n, char *out, size_t size)
{
	const char *keytab = n->setup->keytab, *self = n->self;

	switch (c) {
	case CAUSE_NO_PEER:
		snprintf(out, size,
			 "the KDC has no principal %s, which is that of server %u; create it: kadmin -q 'addprinc -randkey %s', or correct the server's Address; across realms, their KDCs have to trust each other",
			 n->peer[0] ? n->peer : "of the other server", n->peer_id, n->peer[0] ? n->peer : "PRINCIPAL");
		break;
	case CAUSE_NO_KDC:
		snprintf(out, size, "no KDC of realm %s answers; start it, or correct [realms] in krb5.conf; to try it: kinit -c MEMORY: -k -t %s %s. Connections that stand stay up until their tickets end", realm_of(self), keytab, self);
		break;
	case CAUSE_REALM:
		snprintf(out, size, "wrong realm: this server is %s, the other one %s; correct default_realm, [realms] and [domain_realm] in krb5.conf of both", self[0] ? self : "of no realm",
			 n->peer[0] ? n->peer : "is not known");
		break;
	case CAUSE_CLOCK:
		snprintf(out, size, "the clocks of this server, the other server and the KDC are too far apart; set them right (chronyc tracking on each shows how far)");
		break;
	case CAUSE_EXPIRED:
		snprintf(out, size, "the ticket has expired; set the clocks of this server, the other server and the KDC right (chronyc tracking on each), and see maxlife of the other server's principal (kadmin -q getprinc)");
		break;
	case CAUSE_REPLAY:
		snprintf(out, size, "a replay: the same token has been here before; if this repeats, another machine sends copies of recorded connections: look for it between the servers");
		break;
	case CAUSE_LOCKED:
		snprintf(out, size, "the KDC refuses %s or %s: the principal or its key has expired, is locked, or may not have such tickets; kadmin -q 'getprinc PRINCIPAL' shows which", self,
			 n->peer[0] ? n->peer : "the other server's principal");
		break;
	case CAUSE_ENCTYPE:
		snprintf(out, size, "no common encryption type: see permitted_enctypes in krb5.conf of both servers, and the keys of both principals (kadmin -q 'getprinc %s')", self);
		break;
	default:
		own_text(c, n, out, size);
	}
}

void rpc_krb5_explain(const struct rpc_krb5_names *n, krb5_error_code code, const char *text, char *why)
{
	char line[NFS4R_WHY];

	text_of(cause_of(code), n, line, sizeof(line));
	snprintf(why, NFS4R_WHY, "Kerberos: %.1700s (%.300s)", line, text);
}

void rpc_krb5_explain_gss(const struct rpc_krb5_names *n, OM_uint32 major, OM_uint32 minor, char *why)
{
	OM_uint32 ignored, more = 0;
	gss_buffer_desc text = GSS_C_EMPTY_BUFFER;
	bool of_mechanism = minor != 0;

	if (gss_display_status(&ignored, of_mechanism ? minor : major, of_mechanism ? GSS_C_MECH_CODE : GSS_C_GSS_CODE, (gss_OID)gss_mech_krb5, &more, &text) != GSS_S_COMPLETE)
		text = (gss_buffer_desc)GSS_C_EMPTY_BUFFER;
	char words[512];

	snprintf(words, sizeof(words), "%.*s", (int)text.length, text.value ? (const char *)text.value : "");
	gss_release_buffer(&ignored, &text);
	rpc_krb5_explain(n, (krb5_error_code)minor, words, why);
}

bool rpc_krb5_is_weak(krb5_enctype type)
{
	return type > ENCTYPE_NULL && (type < ENCTYPE_AES128_CTS_HMAC_SHA1_96 || type == ENCTYPE_ARCFOUR_HMAC || type == ENCTYPE_ARCFOUR_HMAC_EXP);
}
