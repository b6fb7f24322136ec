/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The seam between the transport and whatever proves who a peer is and protects the bytes.
 * `none` is here; Kerberos through GSSAPI follows as another table, without a change in the
 * transport. All functions are called on the transport's thread and must not block on the
 * network (a ticket that has to be fetched is the table's own problem: answer NFS4R_DELAY).
 *
 * Life of a session: open, handshake until NFS4R_OK, then wrap and unwrap for each record
 * (HELLO is the first of them), close. A hook that is NULL has nothing to do.
 */
#ifndef NFS4R_RPC_SECURITY_H
#define NFS4R_RPC_SECURITY_H

#include "rpc/rpc.h"

struct nfs4r_security_session; /* of the table's own making */

struct nfs4r_security_ops {
	enum nfs4r_security flavour; /* told in HELLO; unequal: refused */
	const char *name;
	/* @peer: whom we call, NULL for a connection that came in. NULL when out of memory. */
	struct nfs4r_security_session *(*open)(const struct nfs4r_rpc_config *cfg,
					       const struct nfs4r_endpoint *peer);
	/*
	 * One step. @in is the other side's token, NULL for the first step of who calls. *out is a
	 * token to send, or NULL. NFS4R_OK: done. NFS4R_DELAY: another token is expected.
	 * NFS4R_ACCES: no; @why (NFS4R_WHY bytes) says why.
	 */
	enum nfs4r_status (*handshake)(struct nfs4r_security_session *s, const void *in, size_t len,
				       struct nfs4r_buf **out, char *why);
	/* New buffers with one reference; NULL: out of memory, or not authentic. */
	struct nfs4r_buf *(*wrap)(struct nfs4r_security_session *s, const void *bytes, size_t len);
	struct nfs4r_buf *(*unwrap)(struct nfs4r_security_session *s, const void *bytes, size_t len);
	uint32_t overhead; /* bytes that wrap adds at most */
	void (*close)(struct nfs4r_security_session *s);
};

/* Makes a table known, before any transport starts. For layers that are built apart, and for tests. */
void nfs4r_security_add(const struct nfs4r_security_ops *ops);
/* Table of a flavour, NULL if this build has none. */
const struct nfs4r_security_ops *nfs4r_security_find(enum nfs4r_security flavour);

#endif
