/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The handshake of Kerberos between two servers: a security context of GSSAPI.
 *
 * Happy path: the caller asks the KDC for a ticket for the server that it calls, under the name that the configuration gives that server, and sends it. The
 * called one decrypts it with its keytab, and answers; that proves it to the caller. One round trip. What the called one has then is the caller's principal, and
 * is_server() decides which server that may be (krb5.c).
 *
 * Failure: whatever GSSAPI returns beside GSS_S_COMPLETE, and a context that lacks one of the flags that were asked for, is the end of the handshake. The
 * tokens in which Kerberos tells the other side what was wrong are not sent: nothing is disclosed to a caller that is not authenticated.
 */
#include <stdio.h>
#include <string.h>

#include "rpc/security/krb5_context_int.h"

static const OM_uint32 demanded = GSS_C_MUTUAL_FLAG | GSS_C_INTEG_FLAG | GSS_C_SEQUENCE_FLAG | GSS_C_REPLAY_FLAG;

static OM_uint32 flags_of(const struct nfs4r_security_session *s)
{
	return demanded | (s->confidential ? GSS_C_CONF_FLAG : 0);
}

static enum nfs4r_status fail_krb5(const struct nfs4r_security_session *s, krb5_context k, krb5_error_code code, char *why)
{
	const char *text = k ? krb5_get_error_message(k, code) : NULL;

	rpc_krb5_explain(&s->names, code, text ? text : "krb5.conf cannot be read", why);
	if (text)
		krb5_free_error_message(k, text);
	return NFS4R_ACCES;
}

static enum nfs4r_status fail_gss(const struct nfs4r_security_session *s, OM_uint32 major, OM_uint32 minor, char *why)
{
	rpc_krb5_explain_gss(&s->names, major, minor, why);
	return NFS4R_ACCES;
}

static OM_uint32 import(const char *principal, gss_name_t *out, OM_uint32 *minor)
{
	gss_buffer_desc text = { strlen(principal), (void *)principal };

	return gss_import_name(minor, &text, (gss_OID)GSS_KRB5_NT_PRINCIPAL_NAME, out);
}

/* @key: "ccache" for who calls, "keytab" for who is called. */
static OM_uint32 acquire(struct nfs4r_security_session *s, const char *key, const char *value, OM_uint32 *minor)
{
	gss_key_value_element_desc element = { key, value };
	gss_key_value_set_desc store = { 1, &element };
	gss_OID_set_desc mechanisms = { 1, (gss_OID)gss_mech_krb5 };
	gss_name_t self = GSS_C_NO_NAME;
	OM_uint32 ignored, major = import(s->names.self, &self, minor);

	if (major == GSS_S_COMPLETE)
		major = gss_acquire_cred_from(minor, self, GSS_C_INDEFINITE, &mechanisms, s->caller ? GSS_C_INITIATE : GSS_C_ACCEPT, &store, &s->cred, NULL, NULL);
	gss_release_name(&ignored, &self);
	return major;
}

/* ---- the first step ---- */

static enum nfs4r_status names_find(struct nfs4r_security_session *s, krb5_context k, char *why)
{
	const struct nfs4r_security_setup *setup = s->names.setup;
	krb5_error_code code = rpc_krb5_principal(k, setup, setup->self, setup->host, s->names.self);

	if (!code && s->caller)
		code = rpc_krb5_principal(k, setup, s->names.peer_id, s->peer_host, s->names.peer);
	return code ? fail_krb5(s, k, code, why) : NFS4R_OK;
}

static enum nfs4r_status begin_call(struct nfs4r_security_session *s, char *why)
{
	enum nfs4r_status st = rpc_krb5_ticket_get(&s->names, &s->ticket, why);
	OM_uint32 minor, major;

	if (st != NFS4R_OK)
		return st;
	memcpy(s->no_kdc, why, sizeof(s->no_kdc));
	why[0] = '\0';
	major = import(s->names.peer, &s->target, &minor);
	if (major == GSS_S_COMPLETE)
		major = acquire(s, "ccache", rpc_krb5_ticket_cache(s->ticket), &minor);
	return major == GSS_S_COMPLETE ? NFS4R_OK : fail_gss(s, major, minor, why);
}

static enum nfs4r_status begin_answer(struct nfs4r_security_session *s, krb5_context k, char *why)
{
	char keytab[RPC_KRB5_PATH + sizeof("FILE:")];
	enum nfs4r_status st = rpc_krb5_keytab_check(k, &s->names, why);
	OM_uint32 minor, major;

	if (st != NFS4R_OK)
		return st;
	snprintf(keytab, sizeof(keytab), "FILE:%s", s->names.setup->keytab);
	major = acquire(s, "keytab", keytab, &minor);
	return major == GSS_S_COMPLETE ? NFS4R_OK : fail_gss(s, major, minor, why);
}

static enum nfs4r_status begin(struct nfs4r_security_session *s, char *why)
{
	krb5_context k = NULL;
	krb5_error_code code = krb5_init_context(&k);
	enum nfs4r_status st;

	if (code)
		return fail_krb5(s, NULL, code, why);
	st = names_find(s, k, why);
	if (st == NFS4R_OK)
		st = s->caller ? begin_call(s, why) : begin_answer(s, k, why);
	krb5_free_context(k);
	return st;
}

/* ---- the last one ---- */

static enum nfs4r_status check_flags(const struct nfs4r_security_session *s, OM_uint32 granted, const gss_OID mechanism, char *why)
{
	OM_uint32 missing = flags_of(s) & ~granted;

	if (missing == 0 && mechanism && mechanism->length == gss_mech_krb5->length && memcmp(mechanism->elements, gss_mech_krb5->elements, mechanism->length) == 0)
		return NFS4R_OK;
	snprintf(why, NFS4R_WHY, "Kerberos: the context lacks%s%s%s%s%s; write the same Peer_Security on all servers, and see that the other side is a server of the volume",
		 missing & GSS_C_CONF_FLAG ? " privacy" : "", missing & GSS_C_INTEG_FLAG ? " integrity" : "", missing & GSS_C_MUTUAL_FLAG ? " mutual authentication" : "",
		 missing & (GSS_C_SEQUENCE_FLAG | GSS_C_REPLAY_FLAG) ? " the detection of replays and gaps" : "", missing ? "" : " the mechanism krb5");
	return NFS4R_ACCES;
}

/* The principal of the other side. */
static enum nfs4r_status party_find(struct nfs4r_security_session *s, char *why)
{
	gss_name_t name = GSS_C_NO_NAME;
	gss_buffer_desc text = GSS_C_EMPTY_BUFFER;
	char principal[RPC_KRB5_NAME];
	krb5_context k = NULL;
	OM_uint32 ignored, minor, major;
	krb5_error_code code = 0;
	bool fits;

	major = gss_inquire_context(&minor, s->ctx, s->caller ? NULL : &name, s->caller ? &name : NULL, NULL, NULL, NULL, NULL, NULL);
	if (major == GSS_S_COMPLETE)
		major = gss_display_name(&minor, name, &text, NULL);
	if (major != GSS_S_COMPLETE) {
		gss_release_name(&ignored, &name);
		return fail_gss(s, major, minor, why);
	}
	fits = text.length < sizeof(principal) && !memchr(text.value, '\0', text.length);
	snprintf(principal, sizeof(principal), "%.*s", fits ? (int)text.length : 0, (const char *)text.value);
	gss_release_buffer(&ignored, &text);
	gss_release_name(&ignored, &name);
	code = fits ? krb5_init_context(&k) : KRB5_PARSE_MALFORMED;
	if (!code)
		code = rpc_krb5_party_of(k, s->names.setup, principal, &s->party);
	if (code)
		fail_krb5(s, k, code, why);
	if (k)
		krb5_free_context(k);
	return code ? NFS4R_ACCES : NFS4R_OK;
}

static enum nfs4r_status finish(struct nfs4r_security_session *s, OM_uint32 granted, const gss_OID mechanism, char *why)
{
	enum nfs4r_status st = check_flags(s, granted, mechanism, why);

	if (st == NFS4R_OK)
		st = party_find(s, why);
	if (st == NFS4R_OK)
		rpc_krb5_keys_take(&s->ctx, s->confidential, &s->keys);
	return st;
}

/* ---- steps ---- */

static OM_uint32 step_call(struct nfs4r_security_session *s, gss_buffer_desc *in, gss_buffer_desc *out, OM_uint32 *granted, gss_OID *mechanism, OM_uint32 *minor)
{
	return gss_init_sec_context(minor, s->cred, &s->ctx, s->target, (gss_OID)gss_mech_krb5, flags_of(s), GSS_C_INDEFINITE, GSS_C_NO_CHANNEL_BINDINGS, in, mechanism, out, granted, NULL);
}

static OM_uint32 step_answer(struct nfs4r_security_session *s, gss_buffer_desc *in, gss_buffer_desc *out, OM_uint32 *granted, gss_OID *mechanism, OM_uint32 *minor)
{
	return gss_accept_sec_context(minor, &s->ctx, s->cred, in, GSS_C_NO_CHANNEL_BINDINGS, NULL, mechanism, out, granted, NULL, NULL);
}

enum nfs4r_status rpc_krb5_context_step(struct nfs4r_security_session *s, const void *in, size_t len, struct nfs4r_buf **out, char *why)
{
	gss_buffer_desc token = { len, (void *)in }, answer = GSS_C_EMPTY_BUFFER;
	OM_uint32 major, minor = 0, granted = 0;
	gss_OID mechanism = GSS_C_NO_OID;
	enum nfs4r_status st = NFS4R_OK;

	if (s->cred == GSS_C_NO_CREDENTIAL)
		st = begin(s, why);
	if (st != NFS4R_OK)
		return st;
	major = (s->caller ? step_call : step_answer)(s, &token, &answer, &granted, &mechanism, &minor);
	if (major == GSS_S_CONTINUE_NEEDED)
		st = NFS4R_DELAY;
	else if (major == GSS_S_COMPLETE)
		st = finish(s, granted, mechanism, why);
	else
		st = fail_gss(s, major, minor, why);
	if ((st == NFS4R_OK || st == NFS4R_DELAY) && answer.length > 0) {
		*out = nfs4r_buf_copy(answer.value, (uint32_t)answer.length);
		if (!*out) {
			snprintf(why, NFS4R_WHY, "no memory for a token of Kerberos");
			st = NFS4R_NOMEM;
		}
	}
	gss_release_buffer(&minor, &answer);
	return st;
}

void rpc_krb5_context_free(struct nfs4r_security_session *s)
{
	OM_uint32 ignored;

	if (s->ctx != GSS_C_NO_CONTEXT)
		gss_delete_sec_context(&ignored, &s->ctx, GSS_C_NO_BUFFER);
	gss_release_cred(&ignored, &s->cred);
	gss_release_name(&ignored, &s->target);
	rpc_krb5_keys_free(&s->keys);
}
