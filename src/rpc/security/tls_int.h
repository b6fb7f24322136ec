/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files tls*.c share: the sessions, the files that they are made with, and whom a certificate is taken for. */
#ifndef NFS4R_RPC_SECURITY_TLS_INT_H
#define NFS4R_RPC_SECURITY_TLS_INT_H

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "rpc/security/security.h"

#define NFS4R_TLS_ALPN "nfs4r/9" /* the protocol that had TLS first. HELLO says which one is spoken inside; this changes when the channel does */

/* ---- tls_files.c ---- */

enum tls_file {
	TLS_CERTIFICATE,
	TLS_KEY,
	TLS_CA,
	TLS_CRL,
	TLS_FILES
};

/* By which a file that was changed is told from one that was not. */
struct tls_stamp {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime, ctime;
};

struct tls_setup { /* struct nfs4r_security_setup */
	BIO_METHOD *bio;
	pthread_mutex_t lock; /* of what follows */
	char path[TLS_FILES][1024]; /* "": not configured */
	struct tls_stamp used[TLS_FILES], tried[TLS_FILES]; /* those of ctx; those that were looked at last */
	SSL_CTX *ctx;
	atomic_ullong generation; /* of ctx; read without the lock */
};

/* NFS4R_OK; NFS4R_BADCONFIG, NFS4R_NOMEM: @why. Blocks. */
enum nfs4r_status rpc_tls_setup_new(const struct nfs4r_rpc_config *cfg, struct tls_setup **out, char *why);
void rpc_tls_setup_free(struct tls_setup *setup);
/* Files that have changed are read. What is wrong with them goes to @note (NFS4R_WHY bytes), once, and those of before stay in use. Any thread; blocks. */
void rpc_tls_look(struct tls_setup *setup, char *note);
/* What is in use. Any thread; blocks. */
void rpc_tls_shows(struct tls_setup *setup, struct nfs4r_rpc_own *out);
/* As rpc_tls_look(), and what is in use then: one reference. Any thread; blocks. */
SSL_CTX *rpc_tls_context(struct tls_setup *setup, uint64_t *generation, bool *has_ca, char *note);

/* ---- tls_trust.c ---- */

struct tls_trust {
	nfs4r_server_id self, called; /* 0: they called */
	uint8_t volume[16];
	bool has_ca;
	uint32_t n;
	struct {
		nfs4r_server_id id;
		uint8_t nkeys;
		struct nfs4r_key_fingerprint key[NFS4R_KEYS_MAX];
	} known[NFS4R_SERVERS_MAX];
	/* Of the certificate that was shown: */
	bool seen, by_ca; /* it was taken, and why */
	int64_t ends_s; /* 0: its key is a server's, and its dates count for nothing */
	X509 *certificate;
	struct nfs4r_key_fingerprint key;
	char name[256], fingerprint[NFS4R_FINGERPRINT_TEXT]; /* for people */
	char why[NFS4R_WHY]; /* it was not taken */
};

void rpc_tls_trust_init(struct tls_trust *t, const struct nfs4r_rpc_config *cfg, const struct nfs4r_endpoint *called);
void rpc_tls_trust_fini(struct tls_trust *t);
/* OpenSSL's question whether a certificate is good. The SSL's app data is a struct tls_trust. */
int rpc_tls_verify(X509_STORE_CTX *store, void *arg);
enum nfs4r_status rpc_tls_trust_is(const struct tls_trust *t, const struct nfs4r_endpoint *claimed, char *why);
bool rpc_tls_key_of(X509 *certificate, struct nfs4r_key_fingerprint *out);
int64_t rpc_tls_ends_s(const X509 *certificate); /* since 1970; 0: in the year 9999, which means never (RFC 5280) */

#endif
