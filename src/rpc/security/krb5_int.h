/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Private to krb5*.c: names, tickets and contexts of Kerberos between servers.
 *
 * Files: krb5.c the tables of krb5i and krb5p; krb5_context.c the handshake; krb5_name.c which principal a server has; krb5_ticket.c keytab and KDC;
 * krb5_text.c what an error means and what to do; krb5_wrap.c the protection of records.
 */
#ifndef NFS4R_RPC_SECURITY_KRB5_INT_H
#define NFS4R_RPC_SECURITY_KRB5_INT_H

#include <gssapi/gssapi.h>
#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>
#include <krb5.h>

#include "rpc/security/security.h"

#define RPC_KRB5_NAME 640 /* bytes of a principal's text: a service, a host of 255 bytes, a realm, and room for what is escaped */
#define RPC_KRB5_PATH 1024

/* What the configuration says, which does not change while the transport runs. */
struct nfs4r_security_setup {
	nfs4r_server_id self;
	char host[256]; /* of self */
	char service[64];
	char keytab[RPC_KRB5_PATH];
	char principal[NFS4R_SERVERS_MAX + 1][RPC_KRB5_NAME]; /* by server; "": it follows from the host */
};

/* ---- krb5_name.c ---- */

/* Principals as texts, with their realm. For texts of errors, too. */
struct rpc_krb5_names {
	const struct nfs4r_security_setup *setup;
	nfs4r_server_id peer_id; /* 0: it has not been heard yet */
	char self[RPC_KRB5_NAME];
	char peer[RPC_KRB5_NAME]; /* "": not known */
};

/* The other side of a context, by its principal. */
struct rpc_krb5_party {
	char name[RPC_KRB5_NAME];
	char host[RPC_KRB5_NAME]; /* of SERVICE/HOST in the realm that belongs to HOST; "": its name is another one */
	uint32_t servers; /* NFS4R_BIT of those that have this principal by the configuration */
};

/*
 * Principal of server @id, that is at @host: the configured one, or SERVICE/HOST in the realm that krb5.conf gives that host. The host is taken as it is
 * written: no look-up may change it. May block (a realm that is looked up in DNS). 0 or an error of krb5.
 */
krb5_error_code rpc_krb5_principal(krb5_context k, const struct nfs4r_security_setup *setup, nfs4r_server_id id, const char *host, char out[RPC_KRB5_NAME]);
/* What @name can be. May block, as rpc_krb5_principal() may. */
krb5_error_code rpc_krb5_party_of(krb5_context k, const struct nfs4r_security_setup *setup, const char *name, struct rpc_krb5_party *out);

/* ---- krb5_ticket.c ---- */

struct rpc_krb5_ticket; /* for the peer of some names, shared by the connections that are made within a few seconds */

/* The keytab is there, nobody else may read it, and it has a key of this server. NFS4R_OK; NFS4R_ACCES: @why (NFS4R_WHY bytes). */
enum nfs4r_status rpc_krb5_keytab_check(krb5_context k, const struct rpc_krb5_names *n, char *why);
/*
 * Asks the KDC: blocks for as long as that takes. NFS4R_OK, or NFS4R_ACCES and @why (NFS4R_WHY bytes). NFS4R_OK and a text in @why: there is none from the KDC, and the
 * ticket is one of before.
 */
enum nfs4r_status rpc_krb5_ticket_get(const struct rpc_krb5_names *n, struct rpc_krb5_ticket **out, char *why);
/* @refused: it led to no context, and so the next connection asks the KDC again. Accepts NULL. Does not block. */
void rpc_krb5_ticket_put(struct rpc_krb5_ticket *t, bool refused);
const char *rpc_krb5_ticket_cache(const struct rpc_krb5_ticket *t); /* name of its credential cache */
krb5_enctype rpc_krb5_ticket_enctype(const struct rpc_krb5_ticket *t); /* of the weakest key among the ticket's and its session's */

/* ---- krb5_text.c ---- */

/* What @code of krb5 means for these names, and the remedy, in one line. @text: the library's own words, which close it. @why: NFS4R_WHY bytes. */
void rpc_krb5_explain(const struct rpc_krb5_names *n, krb5_error_code code, const char *text, char *why);
/* The same for an error of GSSAPI. */
void rpc_krb5_explain_gss(const struct rpc_krb5_names *n, OM_uint32 major, OM_uint32 minor, char *why);
bool rpc_krb5_is_weak(krb5_enctype type); /* known to be breakable: rc4, des3, single DES */

/* ---- krb5_wrap.c ---- */

/* An established context. One thread at a time: the library has no lock for it. */
struct rpc_krb5_keys {
	gss_ctx_id_t ctx;
	bool confidential;
	uint32_t header, trailer; /* bytes around those of a record; 0, 0: the encryption type is older than RFC 4121, and they vary */
	krb5_enctype enctype;
	uint64_t lifetime_s; /* that was left when it was established */
};

/* Takes *ctx, which is established and of the mechanism krb5, and leaves GSS_C_NO_CONTEXT there. */
void rpc_krb5_keys_take(gss_ctx_id_t *ctx, bool confidential, struct rpc_krb5_keys *keys);
void rpc_krb5_keys_free(struct rpc_krb5_keys *keys); /* also an empty one */
/* A new buffer, or NULL: no memory. */
struct nfs4r_buf *rpc_krb5_wrap(struct rpc_krb5_keys *keys, const void *bytes, size_t len);
/* A new buffer, or NULL: not authentic, not as confidential as it has to be, or not the next one. */
struct nfs4r_buf *rpc_krb5_unwrap(struct rpc_krb5_keys *keys, const void *bytes, size_t len);
#define RPC_KRB5_OVERHEAD 128 /* bytes that wrap adds at most */

#endif
