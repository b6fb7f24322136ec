/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The seam between the transport and whatever proves who a peer is and protects the bytes: one table for each flavour.
 *
 * Life: `start` once for each flavour that a transport calls with or accepts. For each connection `open`, `handshake` until NFS4R_OK, `is_server`, then
 * `wrap` and `unwrap` for each record (HELLO is the first), `close`. For a renewal the same once more, with tokens that travel inside the connection that stands;
 * the old session is closed when both directions have left it. A hook that is NULL has nothing to do.
 *
 * Threads: `handshake` and `look` run on a thread made for them where `blocks` is set, so they may wait for a KDC, a name service or a disk. `wrap` and `unwrap` of
 * the lanes REQUEST and BULK run on workers where `costs` is set. All other calls are made on the transport's thread and must not block. No two calls
 * for one session run at the same time, but `is_server`, `is_due`, `ends` and `has_ended`, which read what the handshake left. `start` and `stop` are called before and after everything else.
 *
 * A session outlives its connection while a call for it runs. `close` follows that call.
 */
#ifndef NFS4R_RPC_SECURITY_SECURITY_H
#define NFS4R_RPC_SECURITY_SECURITY_H

#include "rpc/rpc.h"

#define NFS4R_SECURITY_FLAVOURS 8 /* values of enum nfs4r_security are less */

struct nfs4r_security_setup; /* of one transport: what was read from files, and is shared by its sessions; of the table's own making */
struct nfs4r_security_session; /* of one connection, or of its renewal; of the table's own making */

struct nfs4r_security_step {
	const void *in; /* the other side's token; NULL: the first step of the side that begins */
	size_t len;
	struct nfs4r_buf *out; /* a token to send, with one reference; NULL: none */
	char why[NFS4R_WHY]; /* of a refusal: who, the cause, and what to do */
	char note[NFS4R_WHY]; /* "", or a line for the log, whatever the outcome */
	bool plain; /* the note is no warning */
};

struct nfs4r_security_ops {
	enum nfs4r_security flavour; /* told in TOKEN and in HELLO */
	const char *name; /* as in the configuration */
	bool blocks, costs; /* see above */
	uint32_t overhead; /* bytes that wrap adds at most, to a message of NFS4R_MESSAGE_MAX */

	/* Looks at the configuration and reads files. NFS4R_OK; NFS4R_BADCONFIG, NFS4R_NOMEM: @why (NFS4R_WHY bytes) says what to do. May block. */
	enum nfs4r_status (*start)(const struct nfs4r_rpc_config *cfg, struct nfs4r_security_setup **out, char *why);
	void (*stop)(struct nfs4r_security_setup *setup);
	/* Every few seconds: have files changed? @note as in a step. */
	void (*look)(struct nfs4r_security_setup *setup, char *note);
	/* What new sessions show. After `start`, and after each `look` on the same thread. */
	void (*shows)(struct nfs4r_security_setup *setup, struct nfs4r_rpc_own *out);

	/* @peer: whom we begin with; NULL: the other side begins. What is needed of *cfg and *peer has to be copied. @setup is NULL without `start`. NULL: no memory. */
	struct nfs4r_security_session *(*open)(struct nfs4r_security_setup *setup, const struct nfs4r_rpc_config *cfg, const struct nfs4r_endpoint *peer);
	/* One step. NFS4R_OK: done, step->out may go out still. NFS4R_DELAY: another token is expected. NFS4R_ACCES, NFS4R_NOMEM: no, step->why says why. */
	enum nfs4r_status (*handshake)(struct nfs4r_security_session *s, struct nfs4r_security_step *step);
	/*
	 * After the handshake: is the other side the server @claimed? It may speak for that one only. NFS4R_OK; NFS4R_ACCES: @why (NFS4R_WHY bytes) names both, and what
	 * to do. Asked again when the keys of @claimed change. NULL: the flavour proves nothing, and the address has to do.
	 */
	enum nfs4r_status (*is_server)(const struct nfs4r_security_session *s, const struct nfs4r_endpoint *claimed, char *why);
	/* The session should be renewed: its end comes near, or what it was proved with was replaced. Asked a few times a second. */
	bool (*is_due)(const struct nfs4r_security_session *s);
	/* It is over, and was not renewed: the connection ends with @why (NFS4R_WHY bytes). Asked as is_due is. */
	bool (*has_ended)(const struct nfs4r_security_session *s, char *why);
	/* When what the other side showed ends, in seconds since 1970; 0: never. Asked as is_due is, after is_server. */
	int64_t (*ends)(const struct nfs4r_security_session *s);
	/* New buffers with one reference; NULL: out of memory, or not authentic. A record comes out whole, as it went in, or not at all. */
	struct nfs4r_buf *(*wrap)(struct nfs4r_security_session *s, const void *bytes, size_t len);
	struct nfs4r_buf *(*unwrap)(struct nfs4r_security_session *s, const void *bytes, size_t len);
	void (*close)(struct nfs4r_security_session *s);
};

extern const struct nfs4r_security_ops nfs4r_security_none, nfs4r_security_tls;
extern const struct nfs4r_security_ops nfs4r_security_krb5i, nfs4r_security_krb5p;

/* Makes a table known, in place of the one of its flavour, before any transport starts. NULL: only those of this build are known again. For tests. */
void nfs4r_security_add(const struct nfs4r_security_ops *ops);
/* Table of a flavour, NULL if this build has none. */
const struct nfs4r_security_ops *nfs4r_security_find(enum nfs4r_security flavour);
/* Name of a flavour for people; never NULL. */
const char *nfs4r_security_name(enum nfs4r_security flavour);

#endif
