/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Security flavour `tls`: TLS 1.3 by OpenSSL 3, over buffers in memory. The certificates of both sides are demanded.
 *
 * Happy path: tokens carry the handshake. From then on a record of the transport is sent as a few records of TLS. The first four bytes of their content are its length.
 * The marks between records are not protected, but that length is: nobody on the way can cut a record in two, or join two.
 *
 * Trust: a certificate is taken for the key in it, or for the authority that signed it; either is enough (tls_trust.c). What server it may speak for
 * is asked when the handshake is done (is_server).
 *
 * Files (tls_files.c) are read at the start, and anew when a handshake begins or the transport looks, if they have changed. The sessions of a certificate that was replaced are due.
 *
 * What TLS has and this does not use: tickets and resumption, early data, keys known before. A key of the record layer is replaced after 2^23 records,
 * well before the 2^24.5 that AES-GCM is good for.
 *
 * Invariants: no function of OpenSSL sees a socket. A session is used by one thread at a time.
 */
#include <arpa/inet.h>
#include <openssl/err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rpc/security/tls_int.h"

#define LENGTH_BYTES 4 /* before each record */
#define FIRST_BYTES (SSL3_RT_MAX_PLAIN_LENGTH - LENGTH_BYTES) /* of it, in the same record of TLS */
#define TLS_OVERHEAD 22 /* of a record of TLS: header 5, type 1, tag 16 */
#define OUT_SLACK 128 /* for a KEY_UPDATE */
#define REKEY_RECORDS (1u << 23)
#define LIFE_S (24 * 3600) /* a session is renewed after that: a certificate may have expired, or been revoked */

struct nfs4r_security_session {
	SSL *ssl; /* NULL: the first step is still to come */
	struct tls_setup *setup;
	uint64_t generation, begun_s; /* of the files; by CLOCK_MONOTONIC */
	uint64_t records, rekey; /* of TLS, with the key in use, and at most */
	struct tls_trust trust;
	bool calls;

	/* What OpenSSL reads and writes. */
	const uint8_t *in;
	size_t in_len;
	struct nfs4r_buf *out;
	uint32_t out_len;
	bool may_write;
};

static uint64_t now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec;
}

/* ---- bytes to and from OpenSSL ---- */

static int bio_write(BIO *b, const char *bytes, int len)
{
	struct nfs4r_security_session *s = BIO_get_data(b);
	uint32_t need = s->out_len + (uint32_t)len;

	BIO_clear_retry_flags(b);
	if (!s->may_write)
		return -1;
	if (!s->out || need > s->out->len) {
		struct nfs4r_buf *more = nfs4r_buf_new(2 * need);

		if (!more)
			return -1;
		if (s->out_len)
			memcpy(more->data, s->out->data, s->out_len);
		nfs4r_buf_put(s->out);
		s->out = more;
	}
	memcpy(s->out->data + s->out_len, bytes, (size_t)len);
	s->out_len = need;
	return len;
}

static int bio_read(BIO *b, char *to, int len)
{
	struct nfs4r_security_session *s = BIO_get_data(b);
	size_t n = (size_t)len < s->in_len ? (size_t)len : s->in_len;

	BIO_clear_retry_flags(b);
	if (!n) {
		BIO_set_retry_read(b);
		return -1;
	}
	memcpy(to, s->in, n);
	s->in += n;
	s->in_len -= n;
	return (int)n;
}

static long bio_ctrl(BIO *b, int cmd, long num, void *ptr)
{
	return cmd == BIO_CTRL_FLUSH;
}

static int bio_create(BIO *b)
{
	BIO_set_init(b, 1);
	return 1;
}

static BIO_METHOD *bio_method(void)
{
	BIO_METHOD *m = BIO_meth_new(BIO_TYPE_MEM, "nfs4r");

	if (m && BIO_meth_set_write(m, bio_write) && BIO_meth_set_read(m, bio_read) && BIO_meth_set_ctrl(m, bio_ctrl) && BIO_meth_set_create(m, bio_create))
		return m;
	BIO_meth_free(m);
	return NULL;
}

static void out_begin(struct nfs4r_security_session *s, struct nfs4r_buf *room)
{
	s->out = room;
	s->out_len = 0;
	s->may_write = true;
}

/* What was written, or NULL. */
static struct nfs4r_buf *out_end(struct nfs4r_security_session *s)
{
	struct nfs4r_buf *b = s->out;

	s->out = NULL;
	s->may_write = false;
	if (b && s->out_len == 0) {
		nfs4r_buf_put(b);
		return NULL;
	}
	if (b)
		b->len = s->out_len;
	return b;
}

/* ---- a session ---- */

static enum nfs4r_status tls_start(const struct nfs4r_rpc_config *cfg, struct nfs4r_security_setup **out, char *why)
{
	struct tls_setup *setup;
	enum nfs4r_status st = rpc_tls_setup_new(cfg, &setup, why);

	if (st != NFS4R_OK)
		return st;
	setup->bio = bio_method();
	if (!setup->bio) {
		snprintf(why, NFS4R_WHY, "no memory for TLS");
		rpc_tls_setup_free(setup);
		return NFS4R_NOMEM;
	}
	*out = (struct nfs4r_security_setup *)setup;
	return NFS4R_OK;
}

static void tls_stop(struct nfs4r_security_setup *setup)
{
	rpc_tls_setup_free((struct tls_setup *)setup);
}

static void tls_look(struct nfs4r_security_setup *setup, char *note)
{
	rpc_tls_look((struct tls_setup *)setup, note);
}

static void tls_shows(struct nfs4r_security_setup *setup, struct nfs4r_rpc_own *out)
{
	rpc_tls_shows((struct tls_setup *)setup, out);
}

static struct nfs4r_security_session *tls_open(struct nfs4r_security_setup *setup, const struct nfs4r_rpc_config *cfg, const struct nfs4r_endpoint *peer)
{
	struct nfs4r_security_session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->setup = (struct tls_setup *)setup;
	s->calls = peer;
	s->rekey = cfg->tls_rekey_records ? cfg->tls_rekey_records : REKEY_RECORDS;
	rpc_tls_trust_init(&s->trust, cfg, peer);
	return s;
}

static void tls_close(struct nfs4r_security_session *s)
{
	SSL_free(s->ssl);
	rpc_tls_trust_fini(&s->trust);
	nfs4r_buf_put(s->out);
	free(s);
}

static bool ssl_new(struct nfs4r_security_session *s, char *note)
{
	SSL_CTX *ctx = rpc_tls_context(s->setup, &s->generation, &s->trust.has_ca, note);
	BIO *b = BIO_new(s->setup->bio);

	s->ssl = b ? SSL_new(ctx) : NULL;
	SSL_CTX_free(ctx);
	if (!s->ssl) {
		BIO_free(b);
		return false;
	}
	BIO_set_data(b, s);
	SSL_set_bio(s->ssl, b, b);
	SSL_set_app_data(s->ssl, &s->trust);
	if (s->calls)
		SSL_set_connect_state(s->ssl);
	else
		SSL_set_accept_state(s->ssl);
	s->begun_s = now_s();
	return true;
}

/* ---- handshake ---- */

static enum nfs4r_status no(struct nfs4r_security_step *step, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static enum nfs4r_status no(struct nfs4r_security_step *step, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(step->why, sizeof(step->why), fmt, ap);
	va_end(ap);
	return NFS4R_ACCES;
}

static enum nfs4r_status failed(const struct nfs4r_security_session *s, struct nfs4r_security_step *step)
{
	nfs4r_server_id self = s->trust.self;
	unsigned long err = ERR_peek_error();
	const char *text = ERR_reason_error_string(err);

	if (s->trust.why[0])
		return no(step, "%s", s->trust.why);
	switch (ERR_GET_REASON(err)) {
	case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
		return no(step, "the other server shows no certificate to server %u; write Peer_Certificate and Peer_Key there", self);
	case SSL_R_UNSUPPORTED_PROTOCOL:
	case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
	case SSL_R_WRONG_SSL_VERSION:
	case SSL_R_VERSION_TOO_LOW:
		return no(step, "the other side does not speak TLS 1.3 with server %u; is it a server of NFSv4.r, and of a release that has Peer_Security = tls?", self);
	case SSL_R_NO_APPLICATION_PROTOCOL:
	case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL:
		return no(step, "the other side speaks TLS, and not " NFS4R_TLS_ALPN " with server %u; correct the server list", self);
	default:
		return no(step, "the TLS handshake with server %u failed: %s; look at the logs of both servers", self, text ? text : "it ended early");
	}
}

static enum nfs4r_status finished(struct nfs4r_security_session *s, struct nfs4r_security_step *step)
{
	const unsigned char *alpn;
	unsigned len;

	SSL_get0_alpn_selected(s->ssl, &alpn, &len);
	if (SSL_version(s->ssl) != TLS1_3_VERSION || len != strlen(NFS4R_TLS_ALPN) || memcmp(alpn, NFS4R_TLS_ALPN, len) != 0)
		return no(step, "the other side agreed to something that is not TLS 1.3 for " NFS4R_TLS_ALPN " with server %u; correct the server list", s->trust.self);
	if (s->in_len)
		return no(step, "the other side sent %zu bytes after its handshake with server %u; install the same release on both", s->in_len, s->trust.self);
	if (!s->trust.seen)
		return no(step, "the other side proved nothing to server %u; install the same release on both", s->trust.self);
	return NFS4R_OK;
}

static enum nfs4r_status step_ssl(struct nfs4r_security_session *s, struct nfs4r_security_step *step)
{
	int rc = SSL_do_handshake(s->ssl), err = SSL_get_error(s->ssl, rc);

	if (rc == 1)
		return finished(s, step);
	return err == SSL_ERROR_WANT_READ ? NFS4R_DELAY : failed(s, step);
}

static enum nfs4r_status tls_handshake(struct nfs4r_security_session *s, struct nfs4r_security_step *step)
{
	enum nfs4r_status st;

	ERR_clear_error();
	if (!s->ssl && !ssl_new(s, step->note))
		return NFS4R_NOMEM;
	s->in = step->in;
	s->in_len = step->len;
	out_begin(s, NULL);
	st = step_ssl(s, step);
	step->out = out_end(s);
	if (st != NFS4R_OK && st != NFS4R_DELAY) { /* an alert: REFUSED says as much */
		nfs4r_buf_put(step->out);
		step->out = NULL;
	}
	ERR_clear_error();
	return st;
}

static enum nfs4r_status tls_is_server(const struct nfs4r_security_session *s, const struct nfs4r_endpoint *claimed, char *why)
{
	return rpc_tls_trust_is(&s->trust, claimed, why);
}

static bool tls_is_due(const struct nfs4r_security_session *s)
{
	return atomic_load(&s->setup->generation) != s->generation || now_s() - s->begun_s >= LIFE_S;
}

static int64_t tls_ends(const struct nfs4r_security_session *s)
{
	return s->trust.ends_s;
}

/* ---- records ---- */

static uint64_t tls_records(size_t len)
{
	return (len + LENGTH_BYTES + SSL3_RT_MAX_PLAIN_LENGTH - 1) / SSL3_RT_MAX_PLAIN_LENGTH;
}

/* The length and what fits behind it, then the rest. */
static bool write_all(struct nfs4r_security_session *s, const uint8_t *bytes, size_t len)
{
	uint8_t first[SSL3_RT_MAX_PLAIN_LENGTH];
	size_t n = len < FIRST_BYTES ? len : FIRST_BYTES, done;
	uint32_t mark = htonl((uint32_t)len);

	memcpy(first, &mark, LENGTH_BYTES);
	memcpy(first + LENGTH_BYTES, bytes, n);
	return SSL_write_ex(s->ssl, first, n + LENGTH_BYTES, &done) == 1 && (len == n || SSL_write_ex(s->ssl, bytes + n, len - n, &done) == 1);
}

static struct nfs4r_buf *tls_wrap(struct nfs4r_security_session *s, const void *bytes, size_t len)
{
	uint64_t records = tls_records(len);
	struct nfs4r_buf *b = nfs4r_buf_new((uint32_t)(len + LENGTH_BYTES + records * TLS_OVERHEAD + OUT_SLACK));
	bool ok = b;

	if (!b)
		return NULL;
	ERR_clear_error();
	s->records += records;
	if (s->records > s->rekey) {
		ok = SSL_key_update(s->ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1;
		s->records = records;
	}
	out_begin(s, b);
	ok = ok && write_all(s, bytes, len);
	b = out_end(s);
	if (ok)
		return b;
	nfs4r_buf_put(b);
	ERR_clear_error();
	return NULL;
}

/* All of @len bytes. */
static bool read_all(struct nfs4r_security_session *s, uint8_t *to, size_t len)
{
	size_t n;

	for (; len > 0; to += n, len -= n)
		if (SSL_read_ex(s->ssl, to, len, &n) != 1)
			return false;
	return true;
}

static struct nfs4r_buf *tls_unwrap(struct nfs4r_security_session *s, const void *bytes, size_t len)
{
	struct nfs4r_buf *b = NULL;
	uint32_t mark = 0, want;
	bool ok;

	ERR_clear_error();
	s->in = bytes;
	s->in_len = len;
	ok = read_all(s, (uint8_t *)&mark, sizeof(mark));
	want = ntohl(mark);
	ok = ok && want < len && (b = nfs4r_buf_new(want)) != NULL && read_all(s, b->data, want) && !s->in_len && !SSL_has_pending(s->ssl);
	s->in = NULL;
	s->in_len = 0;
	if (ok)
		return b;
	nfs4r_buf_put(b);
	ERR_clear_error();
	return NULL;
}

const struct nfs4r_security_ops nfs4r_security_tls = {
	.flavour = NFS4R_SECURITY_TLS,
	.name = "tls",
	.blocks = true, /* signatures, and files */
	.overhead = (NFS4R_MESSAGE_MAX / SSL3_RT_MAX_PLAIN_LENGTH + 2) * TLS_OVERHEAD + LENGTH_BYTES + OUT_SLACK,
	.start = tls_start,
	.stop = tls_stop,
	.look = tls_look,
	.shows = tls_shows,
	.open = tls_open,
	.handshake = tls_handshake,
	.is_server = tls_is_server,
	.is_due = tls_is_due,
	.ends = tls_ends,
	.wrap = tls_wrap,
	.unwrap = tls_unwrap,
	.close = tls_close,
};
