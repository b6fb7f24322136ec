/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Private to krb5_context.c and krb5.c: the session of one connection, or of its renewal. */
#ifndef NFS4R_RPC_SECURITY_KRB5_CONTEXT_INT_H
#define NFS4R_RPC_SECURITY_KRB5_CONTEXT_INT_H

#include "rpc/security/krb5_int.h"

struct nfs4r_security_session {
	bool caller, confidential; /* confidential: krb5p */
	bool done; /* the handshake was successful */
	nfs4r_servers alike; /* servers that share a host, and so a principal, with another one: nothing proves which of them it is */
	char peer_host[256]; /* of a call */
	struct rpc_krb5_names names;
	struct rpc_krb5_ticket *ticket; /* of a call */
	char no_kdc[NFS4R_WHY]; /* why it is one of before; "": it is not */
	gss_cred_id_t cred;
	gss_name_t target; /* of a call */
	gss_ctx_id_t ctx; /* until it is done */
	struct rpc_krb5_party party; /* from here on once it is done */
	struct rpc_krb5_keys keys;
	uint64_t due_ms, end_ms; /* by the monotonic clock: to be renewed, and its end */
};

/* One step of the handshake; blocks. NFS4R_OK: done. NFS4R_DELAY: another token is expected. NFS4R_ACCES, NFS4R_NOMEM: @why (NFS4R_WHY bytes). *out: a token, or unchanged. */
enum nfs4r_status rpc_krb5_context_step(struct nfs4r_security_session *s, const void *in, size_t len, struct nfs4r_buf **out, char *why);
void rpc_krb5_context_free(struct nfs4r_security_session *s); /* what GSSAPI gave */

#endif
