/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Flavour tls by itself: two sessions that hand each other tokens and records in memory, and one of them with a client of TLS that is no server of a volume. Whom is a
 * certificate taken for, what do refusals say, and which records come out?
 */
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/unit.h"

#include "contract/rpc/pki.h"
#include "rpc/security/security.h"

#define TLS (&nfs4r_security_tls)
#define UUID "42424242-4242-4242-4242-424242424242"
#define OTHER_UUID "43434343-4242-4242-4242-424242424242"
#define SERVERS 3

static EVP_PKEY *keys[SERVERS + 1], *ca_key, *other_ca_key; /* by server */
static X509 *ca, *other_ca;

/* One server's side. */
struct side {
	struct nfs4r_rpc_config cfg;
	struct nfs4r_security_setup *setup;
	struct nfs4r_security_session *s;
	enum nfs4r_status st;
	struct nfs4r_security_step step;
};

static void make_all(void)
{
	const struct pki_cert root = { .name = "root", .ca = true };

	for (int i = 1; i <= SERVERS; i++)
		keys[i] = pki_key();
	ca_key = pki_key();
	other_ca_key = pki_key();
	ca = pki_sign(ca_key, &root);
	other_ca = pki_sign(other_ca_key, &root);
	pki_save_cert(pki_path("ca"), ca, NULL);
	pki_save_cert(pki_path("other-ca"), other_ca, NULL);
}

static int setup_all(void **state)
{
	make_all();
	return 0;
}

static int free_all(void **state)
{
	for (int i = 1; i <= SERVERS; i++)
		EVP_PKEY_free(keys[i]);
	EVP_PKEY_free(ca_key);
	EVP_PKEY_free(other_ca_key);
	X509_free(ca);
	X509_free(other_ca);
	return 0;
}

static void path_set(char out[1024], const char *prefix, nfs4r_server_id id)
{
	char name[64];

	snprintf(name, sizeof(name), "%s%u", prefix, id);
	snprintf(out, 1024, "%s", pki_path(name));
}

/* Server @id, that shows @says with the key of server @key_of; it knows the keys of all if @with_keys, and the authority "ca" if @with_ca. */
static void side_make(struct side *side, nfs4r_server_id id, nfs4r_server_id key_of, const struct pki_cert *says, bool with_keys, bool with_ca)
{
	X509 *cert = pki_sign(keys[key_of], says);

	memset(side, 0, sizeof(*side));
	nfs4r_rpc_config_init(&side->cfg);
	side->cfg.self = id;
	memset(side->cfg.volume, 0x42, 16);
	side->cfg.nservers = SERVERS;
	for (uint32_t i = 0; i < SERVERS; i++) {
		struct nfs4r_endpoint *ep = &side->cfg.servers[i];

		ep->id = (nfs4r_server_id)(i + 1);
		snprintf(ep->host, sizeof(ep->host), "site%u.example", i + 1);
		ep->port = 294;
		ep->nkeys = with_keys;
		pki_fingerprint(keys[i + 1], &ep->key[0]);
	}
	path_set(side->cfg.tls_certificate, "cert", id);
	path_set(side->cfg.tls_key, "key", id);
	pki_save_cert(side->cfg.tls_certificate, cert, says->by != ca ? says->by : NULL);
	pki_save_key(side->cfg.tls_key, keys[key_of], 0600);
	X509_free(cert);
	if (with_ca)
		snprintf(side->cfg.tls_ca, sizeof(side->cfg.tls_ca), "%s", pki_path("ca"));
}

static void side_start(struct side *side, const struct nfs4r_endpoint *calls)
{
	char why[NFS4R_WHY];

	if (!side->setup && TLS->start(&side->cfg, &side->setup, why) != NFS4R_OK)
		fail_msg("%s", why);
	side->s = TLS->open(side->setup, &side->cfg, calls);
	side->st = NFS4R_DELAY;
}

static void side_close(struct side *side)
{
	if (side->s)
		TLS->close(side->s);
	side->s = NULL;
}

static void side_end(struct side *side)
{
	side_close(side);
	if (side->setup)
		TLS->stop(side->setup);
	side->setup = NULL;
}

/* One step of @side with the other one's token, which is used up; what it says next. */
static struct nfs4r_buf *side_step(struct side *side, struct nfs4r_buf *in)
{
	memset(&side->step, 0, sizeof(side->step));
	side->step.in = in ? in->data : NULL;
	side->step.len = in ? in->len : 0;
	side->st = TLS->handshake(side->s, &side->step);
	nfs4r_buf_put(in);
	return side->step.out;
}

/* Both sides as far as they come. */
static void shake(struct side *caller, struct side *called)
{
	struct nfs4r_buf *token;

	side_start(caller, &caller->cfg.servers[called->cfg.self - 1]);
	side_start(called, NULL);
	token = side_step(caller, NULL);
	while (token) {
		token = side_step(called, token);
		if (token)
			token = side_step(caller, token);
	}
}

static const struct pki_cert plain = { .name = "nfs4r" };

static void pair_make(struct side *caller, struct side *called)
{
	side_make(caller, 2, 2, &plain, true, false);
	side_make(called, 1, 1, &plain, true, false);
	shake(caller, called);
	assert_int_equal(caller->st, NFS4R_OK);
	assert_int_equal(called->st, NFS4R_OK);
}

/* Another session each. */
static void shake_again(struct side *caller, struct side *called)
{
	side_close(caller);
	side_close(called);
	shake(caller, called);
	assert_int_equal(called->st, NFS4R_OK);
}

static void pair_end(struct side *caller, struct side *called)
{
	side_end(caller);
	side_end(called);
}

/* ---- whom a certificate is taken for ---- */

#define URI2 "URI:nfs4r:" UUID ":2"
struct taken {
	const char *what;
	struct pki_cert says; /* of the one that calls, as server 2 */
	nfs4r_server_id key_of;
	enum {
		SELF,
		CA,
		OTHER_CA
	} by;
	bool keys, ca; /* what the called one goes by */
	const char *unknown; /* the handshake is refused, with this in its text */
	const char *other; /* it is not server 2, with this in the text */
};

static const struct taken takens[] = {
	{ "its key", { .name = "a" }, 2, SELF, true, false, NULL, NULL },
	{ "its key, of a certificate that has expired", { .name = "a", .from_s = -9 * PKI_DAY, .until_s = -PKI_DAY }, 2, SELF, true, false, NULL, NULL },
	{ "its key, of a certificate that names another server", { .name = "a", .san = "URI:nfs4r:" UUID ":3" }, 2, SELF, true, false, NULL, NULL },
	{ "another server's key", { .name = "a" }, 3, SELF, true, false, NULL, "is of server 3" },
	{ "another server's key, and its own name by an authority", { .name = "a", .san = URI2 }, 3, CA, true, true, NULL, NULL },
	{ "nobody's key", { .name = "a" }, 2, SELF, false, false, "is of no server of the volume; a key is made known", NULL },
	{ "its URI", { .name = "a", .san = URI2 }, 2, CA, false, true, NULL, NULL },
	{ "its URI, both trusted", { .name = "a", .san = URI2 }, 2, CA, true, true, NULL, NULL },
	{ "its key, both trusted, by nobody", { .name = "a" }, 2, SELF, true, true, NULL, NULL },
	{ "its URI among others", { .name = "a", .san = "DNS:x.example,URI:https://x.example," URI2 }, 2, CA, false, true, NULL, NULL },
	{ "another server's URI", { .name = "a", .san = "URI:nfs4r:" UUID ":3" }, 2, CA, false, true, NULL, "it names URI:nfs4r:" UUID ":3" },
	{ "another server's URI and its host name", { .name = "a", .san = "URI:nfs4r:" UUID ":3,DNS:site2.example" }, 2, CA, false, true, NULL, "it names URI" },
	{ "another volume's URI", { .name = "a", .san = "URI:nfs4r:" OTHER_UUID ":2" }, 2, CA, false, true, NULL, OTHER_UUID },
	{ "a longer URI", { .name = "a", .san = URI2 "2" }, 2, CA, false, true, NULL, "it names URI" },
	{ "its host name", { .name = "a", .san = "DNS:site2.example" }, 2, CA, false, true, NULL, NULL },
	{ "another host name", { .name = "a", .san = "DNS:site3.example" }, 2, CA, false, true, NULL, "DNS:site3.example" },
	{ "a host name with a wildcard", { .name = "a", .san = "DNS:*.example" }, 2, CA, false, true, NULL, "DNS:*.example" },
	{ "its host name as CN only", { .name = "site2.example" }, 2, CA, false, true, NULL, "it names no server" },
	{ "expired", { .name = "a", .san = URI2, .from_s = -9 * PKI_DAY, .until_s = -PKI_DAY }, 2, CA, false, true, "it has expired", NULL },
	{ "not valid yet", { .name = "a", .san = URI2, .from_s = PKI_DAY, .until_s = 9 * PKI_DAY }, 2, CA, false, true, "compare the clocks", NULL },
	{ "another authority", { .name = "a", .san = URI2 }, 2, OTHER_CA, false, true, "no authority in Peer_CA", NULL },
	{ "no authority", { .name = "a", .san = URI2 }, 2, SELF, false, true, "no authority in Peer_CA", NULL },
	{ "for servers of the web only", { .name = "a", .san = URI2, .eku = "serverAuth" }, 2, CA, false, true, "extendedKeyUsage", NULL },
	{ "for both ends", { .name = "a", .san = URI2, .eku = "serverAuth,clientAuth" }, 2, CA, false, true, NULL, NULL },
};

static void expect(const struct taken *t, struct side *called)
{
	char why[NFS4R_WHY] = "";
	enum nfs4r_status st;

	if (t->unknown) {
		if (called->st != NFS4R_ACCES || !strstr(called->step.why, t->unknown) || !strstr(called->step.why, "server 1"))
			fail_msg("%s: %d %s", t->what, called->st, called->step.why);
		return;
	}
	if (called->st != NFS4R_OK)
		fail_msg("%s: %s", t->what, called->step.why);
	st = TLS->is_server(called->s, &called->cfg.servers[1], why);
	if (st != (t->other ? NFS4R_ACCES : NFS4R_OK) || (t->other && (!strstr(why, t->other) || !strstr(why, "server 2") || !strstr(why, "server 1"))))
		fail_msg("%s: %d %s", t->what, st, why);
}

static void test_whom_it_is_taken_for(void **state)
{
	for (size_t i = 0; i < sizeof(takens) / sizeof(takens[0]); i++) {
		const struct taken *t = &takens[i];
		struct pki_cert says = t->says;
		struct side caller, called;

		if (t->by != SELF) {
			says.by = t->by == CA ? ca : other_ca;
			says.by_key = t->by == CA ? ca_key : other_ca_key;
		}
		side_make(&caller, 2, t->key_of, &says, true, false);
		side_make(&called, 1, 1, &plain, t->keys, t->ca);
		shake(&caller, &called);
		assert_int_equal(caller.st, NFS4R_OK); /* in TLS 1.3 it is content before it is looked at */
		expect(t, &called);
		pair_end(&caller, &called);
	}
}

/* The one that calls looks as closely. */
static void test_who_answers(void **state)
{
	struct side caller, called;
	char why[NFS4R_WHY] = "";

	pair_make(&caller, &called);
	assert_int_equal(TLS->is_server(caller.s, &caller.cfg.servers[0], why), NFS4R_OK);
	assert_int_equal(TLS->is_server(caller.s, &caller.cfg.servers[2], why), NFS4R_ACCES);
	pair_end(&caller, &called);
	side_make(&caller, 2, 2, &plain, true, false);
	caller.cfg.servers[0].nkeys = 0; /* removed from the list */
	side_make(&called, 1, 1, &plain, true, false);
	shake(&caller, &called);
	assert_int_equal(caller.st, NFS4R_ACCES);
	assert_non_null(strstr(caller.step.why, "server 1 shows server 2 the certificate"));
	assert_null(caller.step.out);
	pair_end(&caller, &called);
}

static void test_revoked(void **state)
{
	const struct pki_cert says = { .name = "a", .san = URI2, .by = ca, .by_key = ca_key, .serial = 77 };
	static const struct {
		long serial, from_s;
		const char *refused;
	} rows[] = { { 0, -PKI_DAY, NULL }, { 76, -PKI_DAY, NULL }, { 77, -PKI_DAY, "Peer_CRL revokes it" }, { 0, -20 * PKI_DAY, "no list of its authority that is good today" } };
	struct side caller, called;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		side_make(&caller, 2, 2, &says, true, false);
		side_make(&called, 1, 1, &plain, false, true);
		snprintf(called.cfg.tls_crl, sizeof(called.cfg.tls_crl), "%s", pki_path("crl"));
		pki_save_crl(called.cfg.tls_crl, ca, ca_key, rows[i].serial, rows[i].from_s);
		shake(&caller, &called);
		assert_int_equal(called.st, rows[i].refused ? NFS4R_ACCES : NFS4R_OK);
		if (rows[i].refused && !strstr(called.step.why, rows[i].refused))
			fail_msg("%s", called.step.why);
		pair_end(&caller, &called);
	}
}

/* ---- those that are no servers ---- */

static void set_tls12(SSL_CTX *ctx)
{
	SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
}

static void set_nothing(SSL_CTX *ctx)
{
}

static void set_other_protocol(SSL_CTX *ctx)
{
	assert_int_equal(SSL_CTX_set_alpn_protos(ctx, (const unsigned char *)"\x02h2", 3), 0);
}

/* A client of OpenSSL against the called side. */
static void stranger(void (*set)(SSL_CTX *ctx), bool with_alpn, const char *why)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	BIO *to = BIO_new(BIO_s_mem()), *from = BIO_new(BIO_s_mem());
	struct nfs4r_buf *token;
	struct side called;
	SSL *ssl;

	if (with_alpn)
		SSL_CTX_set_alpn_protos(ctx, (const unsigned char *)"\x07nfs4r/9", 8);
	set(ctx);
	ssl = SSL_new(ctx);
	SSL_set_bio(ssl, from, to);
	SSL_set_connect_state(ssl);
	side_make(&called, 1, 1, &plain, true, false);
	side_start(&called, NULL);
	for (int i = 0; i < 4 && called.st == NFS4R_DELAY; i++) {
		char *bytes;

		SSL_do_handshake(ssl);
		long n = BIO_get_mem_data(to, &bytes);
		assert_true(n > 0);
		token = side_step(&called, nfs4r_buf_copy(bytes, (uint32_t)n));
		(void)BIO_reset(to);
		if (token)
			BIO_write(from, token->data, (int)token->len);
		nfs4r_buf_put(token);
	}
	assert_int_equal(called.st, NFS4R_ACCES);
	assert_null(called.step.out);
	if (!strstr(called.step.why, why))
		fail_msg("%s", called.step.why);
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	side_end(&called);
}

static void test_strangers(void **state)
{
	stranger(set_tls12, true, "does not speak TLS 1.3");
	stranger(set_nothing, true, "shows no certificate to server 1");
	stranger(set_other_protocol, false, "not nfs4r/9");
}

static void test_garbage(void **state)
{
	static const struct {
		const char *bytes;
		uint32_t len;
	} tokens[] = { { "\x16\x03\x01\xff\xff", 5 }, { "GET / HTTP/1.1\r\n\r\n", 18 }, { "\x15\x03\x03\x00\x02\x02\x28", 7 }, { "\x17\x03\x03\x00\x01\x00", 6 } };

	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		struct side called;

		side_make(&called, 1, 1, &plain, true, false);
		side_start(&called, NULL);
		nfs4r_buf_put(side_step(&called, nfs4r_buf_copy(tokens[i].bytes, tokens[i].len)));
		assert_int_equal(called.st, NFS4R_ACCES);
		assert_true(called.step.why[0]);
		side_end(&called);
	}
}

/* ---- records ---- */

static struct nfs4r_buf *wrapped(struct side *side, uint32_t len, uint8_t fill)
{
	struct nfs4r_buf *plain_bytes = nfs4r_buf_new(len), *b;

	memset(plain_bytes->data, fill, len);
	b = TLS->wrap(side->s, plain_bytes->data, len);
	nfs4r_buf_put(plain_bytes);
	assert_non_null(b);
	assert_true(b->len <= len + TLS->overhead);
	return b;
}

/* What comes out of @b is @len times @fill, or nothing at all. @b is used up. */
static bool comes_out(struct side *side, struct nfs4r_buf *b, uint32_t len, uint8_t fill)
{
	struct nfs4r_buf *out = TLS->unwrap(side->s, b->data, b->len);
	bool ok = out;

	nfs4r_buf_put(b);
	if (!out)
		return false;
	ok = out->len == len;
	for (uint32_t i = 0; ok && i < len; i++)
		ok = out->data[i] == fill;
	nfs4r_buf_put(out);
	assert_true(ok);
	return true;
}

static void test_records_of_all_sizes(void **state)
{
	static const uint32_t sizes[] = { 1, 4, 16379, 16380, 16381, 16384, 32764, 65536, NFS4R_MESSAGE_MAX };
	struct side caller, called;

	pair_make(&caller, &called);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_true(comes_out(&called, wrapped(&caller, sizes[i], (uint8_t)i), sizes[i], (uint8_t)i));
		assert_true(comes_out(&caller, wrapped(&called, sizes[i], (uint8_t)i), sizes[i], (uint8_t)i));
	}
	pair_end(&caller, &called);
}

/* The key of the record layer changes, and nobody notices. */
static void test_keys_of_records_change(void **state)
{
	struct side caller, called;

	side_make(&caller, 2, 2, &plain, true, false);
	side_make(&called, 1, 1, &plain, true, false);
	caller.cfg.tls_rekey_records = called.cfg.tls_rekey_records = 7;
	shake(&caller, &called);
	for (int i = 0; i < 100; i++) {
		assert_true(comes_out(&called, wrapped(&caller, 40000, (uint8_t)i), 40000, (uint8_t)i));
		assert_true(comes_out(&caller, wrapped(&called, 100, (uint8_t)i), 100, (uint8_t)i));
	}
	pair_end(&caller, &called);
}

/* A thousand records, one bit of each: the session brings nothing from there on. */
static void test_a_bit_of_each(void **state)
{
	struct side caller, called;

	pair_make(&caller, &called);
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t len = 1 + i * 37 % 20000;
		struct nfs4r_buf *b;

		shake_again(&caller, &called);
		b = wrapped(&caller, len, 1);
		b->data[i * 7919 % b->len] ^= (uint8_t)(1u << i % 8);
		assert_false(comes_out(&called, b, len, 1));
		assert_false(comes_out(&called, wrapped(&caller, 10, 2), 10, 2));
	}
	pair_end(&caller, &called);
}

/* What somebody on the way can do with whole records of TLS. */
static void test_records_cut_and_joined(void **state)
{
	struct side caller, called;
	struct nfs4r_buf *a, *b, *both;

	pair_make(&caller, &called);
	a = wrapped(&caller, 40000, 1); /* three records of TLS: the first one alone */
	a->len = 16384 + 22;
	assert_false(comes_out(&called, a, 16380, 1));
	shake_again(&caller, &called);
	a = wrapped(&caller, 40000, 1);
	a->len -= 1;
	assert_false(comes_out(&called, a, 39999, 1));
	shake_again(&caller, &called);
	a = wrapped(&caller, 100, 1);
	b = wrapped(&caller, 100, 1);
	both = nfs4r_buf_new(a->len + b->len);
	memcpy(both->data, a->data, a->len);
	memcpy(both->data + a->len, b->data, b->len);
	assert_false(comes_out(&called, both, 200, 1));
	nfs4r_buf_put(a);
	nfs4r_buf_put(b);
	pair_end(&caller, &called);
}

static void test_records_dropped_repeated_swapped(void **state)
{
	struct side caller, called;
	struct nfs4r_buf *a, *b;

	pair_make(&caller, &called);
	nfs4r_buf_put(wrapped(&caller, 100, 1)); /* dropped */
	assert_false(comes_out(&called, wrapped(&caller, 100, 2), 100, 2));
	shake_again(&caller, &called);
	a = wrapped(&caller, 100, 1);
	assert_true(comes_out(&called, nfs4r_buf_get(a), 100, 1));
	assert_false(comes_out(&called, a, 100, 1));
	shake_again(&caller, &called);
	a = wrapped(&caller, 100, 1);
	b = wrapped(&caller, 100, 2);
	assert_false(comes_out(&called, b, 100, 2));
	assert_false(comes_out(&called, a, 100, 1));
	shake_again(&caller, &called);
	a = wrapped(&caller, 100, 1); /* sent back to where it came from */
	assert_false(comes_out(&caller, a, 100, 1));
	pair_end(&caller, &called);
}

/* ---- files ---- */

static void start_fails(struct side *side, const char *with)
{
	char why[NFS4R_WHY] = "";

	assert_int_equal(TLS->start(&side->cfg, &side->setup, why), NFS4R_BADCONFIG);
	if (!strstr(why, with))
		fail_msg("\"%s\" does not say \"%s\"", why, with);
	assert_null(side->setup);
}

static void test_what_start_refuses(void **state)
{
	struct side side;

	for (mode_t bit = 1; bit <= 040; bit <<= 1) {
		side_make(&side, 2, 2, &plain, true, false);
		pki_save_key(side.cfg.tls_key, keys[2], 0600 | bit);
		start_fails(&side, "run chmod 600");
	}
	pki_save_key(side.cfg.tls_key, keys[3], 0600);
	start_fails(&side, "fits Peer_Certificate");
	unlink(side.cfg.tls_key);
	start_fails(&side, "cannot be read: No such file");
	side_make(&side, 2, 2, &plain, true, false);
	if (geteuid() == 0) {
		assert_int_equal(chown(side.cfg.tls_key, 12345, 0), 0);
		start_fails(&side, "belongs to user 12345");
	}
	side.cfg.tls_certificate[0] = '\0';
	start_fails(&side, "needs Peer_Certificate");
	side_make(&side, 2, 2, &plain, true, true);
	snprintf(side.cfg.tls_ca, sizeof(side.cfg.tls_ca), "%s", side.cfg.tls_key);
	start_fails(&side, "Peer_CA = ");
	side.cfg.tls_ca[0] = '\0';
	snprintf(side.cfg.tls_crl, sizeof(side.cfg.tls_crl), "/nowhere");
	start_fails(&side, "without Peer_CA");
	snprintf(side.cfg.tls_key, sizeof(side.cfg.tls_key), "relative");
	start_fails(&side, "no absolute path");
}

/* Files that change count for the next session, the others are due; bad ones change nothing, and are told once. */
static void test_files_change(void **state)
{
	struct side caller, called;
	char note[NFS4R_WHY] = "";
	X509 *cert;

	pair_make(&caller, &called);
	assert_false(TLS->is_due(called.s));
	TLS->look(called.setup, note);
	assert_false(TLS->is_due(called.s));
	pki_save_key(called.cfg.tls_key, keys[3], 0600); /* the certificate comes later */
	TLS->look(called.setup, note);
	assert_non_null(strstr(note, "What was read before stays in use"));
	note[0] = '\0';
	TLS->look(called.setup, note);
	assert_string_equal(note, "");
	assert_false(TLS->is_due(called.s));
	shake_again(&caller, &called);
	cert = pki_sign(keys[3], &plain);
	pki_save_cert(called.cfg.tls_certificate, cert, NULL);
	X509_free(cert);
	TLS->look(called.setup, note);
	assert_string_equal(note, "");
	assert_true(TLS->is_due(called.s));
	assert_true(comes_out(&called, wrapped(&caller, 100, 1), 100, 1)); /* it goes on */
	shake_again(&caller, &called);
	assert_false(TLS->is_due(called.s));
	assert_int_equal(TLS->is_server(caller.s, &caller.cfg.servers[0], note), NFS4R_ACCES);
	assert_int_equal(TLS->is_server(caller.s, &caller.cfg.servers[2], note), NFS4R_OK);
	pair_end(&caller, &called);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whom_it_is_taken_for),
		cmocka_unit_test(test_who_answers),
		cmocka_unit_test(test_revoked),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_records_of_all_sizes),
		cmocka_unit_test(test_keys_of_records_change),
		cmocka_unit_test(test_a_bit_of_each),
		cmocka_unit_test(test_records_cut_and_joined),
		cmocka_unit_test(test_records_dropped_repeated_swapped),
		cmocka_unit_test(test_what_start_refuses),
		cmocka_unit_test(test_files_change),
	};

	return cmocka_run_group_tests(tests, setup_all, free_all);
}
