/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The files of flavour `tls`: certificate, private key, authorities, revoked certificates. All are PEM.
 *
 * Happy path: they are read at the start, into one SSL_CTX. When a handshake begins, and every few seconds besides, their inodes, sizes and times are compared with those
 * that were read. If one differs, all are read again, into another SSL_CTX, which counts for new sessions; sessions that stand are due to be renewed (is_due).
 *
 * Failure: at the start an error that says what to do. Later a line of the log, and what was read before stays in use: a certificate and its key
 * that are replaced one after the other do not match in between.
 *
 * A private key that others than its owner can read is refused, and so is one of another user, as ssh(1) does. One with a passphrase is refused, too: there is nobody to ask.
 *
 * Invariants: the contents of ctx and `used` belong together. Whatever blocks is done with the lock held, by threads that may block.
 */
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rpc/security/tls_int.h"

#define KEY_BYTES_MAX 65536
#define CIPHERS "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

static const char *const names[TLS_FILES] = { "Peer_Certificate", "Peer_Key", "Peer_CA", "Peer_CRL" };

static bool wrong(char *why, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Always false; what OpenSSL has to say is forgotten. */
static bool wrong(char *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, NFS4R_WHY, fmt, ap);
	va_end(ap);
	ERR_clear_error();
	return false;
}

static const char *reason(void)
{
	const char *text = ERR_reason_error_string(ERR_peek_last_error());

	return text ? text : "it is no PEM file of that kind";
}

/* ---- reading ---- */

static int no_passphrase(char *buf, int size, int rw, void *arg)
{
	return -1;
}

/* Bytes of the key's file, which must be its owner's alone; -1: @why. */
static ssize_t key_bytes(const char *path, char *buf, size_t size, char *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;
	ssize_t n = -1;

	if (fd < 0) {
		wrong(why, "Peer_Key = %s cannot be read: %s", path, strerror(errno));
		return -1;
	}
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		wrong(why, "Peer_Key = %s is no regular file", path);
	else if (st.st_uid != 0 && st.st_uid != geteuid())
		wrong(why, "Peer_Key = %s belongs to user %u, which lets that user read it: run chown root %s", path, st.st_uid, path);
	else if (st.st_mode & 077)
		wrong(why, "Peer_Key = %s can be read or changed by others (mode %03o): run chmod 600 %s, and make a new key if others may have read it", path, st.st_mode & 0777, path);
	else if ((n = read(fd, buf, size)) < 0)
		wrong(why, "Peer_Key = %s cannot be read: %s", path, strerror(errno));
	close(fd);
	return n;
}

static bool key_load(SSL_CTX *ctx, const char *path, char *why)
{
	char *buf = malloc(KEY_BYTES_MAX);
	ssize_t n = buf ? key_bytes(path, buf, KEY_BYTES_MAX, why) : -1;
	BIO *b = n >= 0 ? BIO_new_mem_buf(buf, (int)n) : NULL;
	EVP_PKEY *key = b ? PEM_read_bio_PrivateKey(b, NULL, no_passphrase, NULL) : NULL;
	bool ok = key && SSL_CTX_use_PrivateKey(ctx, key) == 1;

	if (!ok && n >= 0)
		wrong(why, "Peer_Key = %s holds no private key without a passphrase that fits Peer_Certificate: %s", path, reason());
	EVP_PKEY_free(key);
	BIO_free(b);
	if (n > 0)
		OPENSSL_cleanse(buf, (size_t)n);
	free(buf);
	return ok;
}

static bool ca_load(SSL_CTX *ctx, const char *ca, const char *crl, char *why)
{
	X509_STORE *store = SSL_CTX_get_cert_store(ctx);
	X509_LOOKUP *files = X509_STORE_add_lookup(store, X509_LOOKUP_file());

	if (!ca[0])
		return !crl[0] || wrong(why, "Peer_CRL = %s revokes nothing without Peer_CA: remove it, or write Peer_CA", crl);
	if (!files || X509_load_cert_file(files, ca, X509_FILETYPE_PEM) <= 0)
		return wrong(why, "Peer_CA = %s cannot be used: %s", ca, reason());
	X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN); /* whatever stands in the file is trusted, the root or one below it */
	if (!crl[0])
		return true;
	if (X509_load_crl_file(files, crl, X509_FILETYPE_PEM) <= 0)
		return wrong(why, "Peer_CRL = %s cannot be used: %s", crl, reason());
	X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
	return true;
}

static int alpn_select(SSL *ssl, const unsigned char **out, unsigned char *outlen, const unsigned char *in, unsigned inlen, void *arg)
{
	static const unsigned char ours[] = { sizeof(NFS4R_TLS_ALPN) - 1, 'n', 'f', 's', '4', 'r', '/', '9' };
	unsigned char *chosen;

	_Static_assert(sizeof(ours) == sizeof(NFS4R_TLS_ALPN), "the length, and the name without its NUL");
	if (SSL_select_next_proto(&chosen, outlen, ours, sizeof(ours), in, inlen) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

static bool policy(SSL_CTX *ctx)
{
	static const unsigned char protos[] = "\x07" NFS4R_TLS_ALPN;

	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	SSL_CTX_set_cert_verify_callback(ctx, rpc_tls_verify, NULL);
	SSL_CTX_set_alpn_select_cb(ctx, alpn_select, NULL);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS); /* fifty connections stand idle */
	return SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) == 1 && SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION) == 1 &&
		SSL_CTX_set_ciphersuites(ctx, CIPHERS) == 1 && SSL_CTX_set_num_tickets(ctx, 0) == 1 && SSL_CTX_set_max_early_data(ctx, 0) == 1 &&
		SSL_CTX_set_alpn_protos(ctx, protos, sizeof(protos) - 1) == 0;
}

/* NULL: @why. */
static SSL_CTX *context_new(const struct tls_setup *setup, char *why)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_method());
	bool ok;

	ERR_clear_error();
	if (!ctx || !policy(ctx))
		ok = wrong(why, "OpenSSL cannot do TLS 1.3 as it is configured on this machine; look at /etc/ssl/openssl.cnf");
	else if (SSL_CTX_use_certificate_chain_file(ctx, setup->path[TLS_CERTIFICATE]) != 1)
		ok = wrong(why, "Peer_Certificate = %s cannot be used: %s", setup->path[TLS_CERTIFICATE], reason());
	else
		ok = key_load(ctx, setup->path[TLS_KEY], why) && ca_load(ctx, setup->path[TLS_CA], setup->path[TLS_CRL], why);
	if (ok)
		return ctx;
	SSL_CTX_free(ctx);
	return NULL;
}

/* ---- changes ---- */

static void stamps(const struct tls_setup *setup, struct tls_stamp out[TLS_FILES])
{
	struct stat st;

	memset(out, 0, TLS_FILES * sizeof(*out)); /* a file that is not there */
	for (int i = 0; i < TLS_FILES; i++) {
		if (!setup->path[i][0] || stat(setup->path[i], &st) != 0)
			continue;
		out[i].dev = st.st_dev;
		out[i].ino = st.st_ino;
		out[i].size = st.st_size;
		out[i].mtime = st.st_mtim;
		out[i].ctime = st.st_ctim;
	}
}

/* With the lock. */
static void look(struct tls_setup *setup, char *note)
{
	struct tls_stamp now[TLS_FILES];
	char why[NFS4R_WHY];
	SSL_CTX *ctx;

	stamps(setup, now);
	if (memcmp(now, setup->tried, sizeof(now)) == 0)
		return;
	memcpy(setup->tried, now, sizeof(now));
	if (memcmp(now, setup->used, sizeof(now)) == 0)
		return; /* what was put there meanwhile is gone again */
	ctx = context_new(setup, why);
	if (!ctx) {
		snprintf(note, NFS4R_WHY, "%.1800s. What was read before stays in use", why);
		return;
	}
	SSL_CTX_free(setup->ctx);
	setup->ctx = ctx;
	memcpy(setup->used, now, sizeof(now));
	atomic_fetch_add(&setup->generation, 1);
}

void rpc_tls_look(struct tls_setup *setup, char *note)
{
	pthread_mutex_lock(&setup->lock);
	look(setup, note);
	pthread_mutex_unlock(&setup->lock);
}

void rpc_tls_shows(struct tls_setup *setup, struct nfs4r_rpc_own *out)
{
	X509 *certificate;

	pthread_mutex_lock(&setup->lock);
	certificate = SSL_CTX_get0_certificate(setup->ctx);
	out->has_key = certificate && rpc_tls_key_of(certificate, &out->key);
	out->ends_s = out->has_key ? rpc_tls_ends_s(certificate) : 0;
	pthread_mutex_unlock(&setup->lock);
}

SSL_CTX *rpc_tls_context(struct tls_setup *setup, uint64_t *generation, bool *has_ca, char *note)
{
	SSL_CTX *ctx;

	pthread_mutex_lock(&setup->lock);
	look(setup, note);
	ctx = setup->ctx;
	SSL_CTX_up_ref(ctx);
	*generation = atomic_load(&setup->generation);
	*has_ca = setup->path[TLS_CA][0];
	pthread_mutex_unlock(&setup->lock);
	return ctx;
}

/* ---- start and stop ---- */

static bool paths(struct tls_setup *setup, const struct nfs4r_rpc_config *cfg, char *why)
{
	const char *const from[TLS_FILES] = { cfg->tls_certificate, cfg->tls_key, cfg->tls_ca, cfg->tls_crl };

	for (int i = 0; i < TLS_FILES; i++) {
		snprintf(setup->path[i], sizeof(setup->path[i]), "%s", from[i]);
		if (!from[i][0] && i <= TLS_KEY)
			return wrong(why, "Peer_Security = tls needs %s: write the path of this server's", names[i]);
		if (from[i][0] && from[i][0] != '/')
			return wrong(why, "%s = %s is no absolute path", names[i], from[i]);
	}
	return true;
}

enum nfs4r_status rpc_tls_setup_new(const struct nfs4r_rpc_config *cfg, struct tls_setup **out, char *why)
{
	struct tls_setup *setup = calloc(1, sizeof(*setup));

	if (!setup) {
		snprintf(why, NFS4R_WHY, "no memory for TLS");
		return NFS4R_NOMEM;
	}
	pthread_mutex_init(&setup->lock, NULL);
	if (paths(setup, cfg, why)) {
		stamps(setup, setup->used);
		memcpy(setup->tried, setup->used, sizeof(setup->used));
		setup->ctx = context_new(setup, why);
	}
	if (setup->ctx) {
		*out = setup;
		return NFS4R_OK;
	}
	rpc_tls_setup_free(setup);
	return NFS4R_BADCONFIG;
}

void rpc_tls_setup_free(struct tls_setup *setup)
{
	SSL_CTX_free(setup->ctx);
	BIO_meth_free(setup->bio);
	pthread_mutex_destroy(&setup->lock);
	free(setup);
}
