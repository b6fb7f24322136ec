/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * nfs4r-bench-channel: what security between servers costs on lane BULK. Three servers on 127.0.0.1, .2 and .3, each a process of its own; the first sends entries of
 * 256 KiB to both others. A round has six turns: 400 Mbit/s to each with `none` and with `tls`, then as fast as it goes with `none`, `tls`, `krb5i` and `krb5p`. Each round also
 * measures what OpenSSL and Kerberos do to bytes alone, in the same minute: that tells a slow machine from a slow transport.
 *
 *   nfs4r-bench-channel [--rate MBIT] [--ms N] [--rounds N] [--check]
 *
 * Printed are bits that arrived in a second, summed over both, and the processors that the transport took at the sender and at both receivers. Then come megabytes for a second of
 * processor time: of the transport's thread, and of the workers, which wrap at the sender and unwrap at the receivers.
 *
 * --check asserts the bounds in README.md. Nearly all are about processor time, and a value counts that a quarter of the rounds reach: what else runs on the machine can spoil
 * neither. Where the processor is too slow for 100 MB/s, krb5p is compared with the cipher alone only.
 */
#include <getopt.h>
#include <krb5.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "lib/unit.h"

#include "bench/channel_turn.h"
#include "contract/rpc/krb5_world.h"
#include "contract/rpc/pki_world.h"

#define ROUNDS_MAX 64
#define RECORD (256u << 10) /* a message; Kerberos makes one record of it */
#define TLS_CORES 0.1
#define TLS_MORE 1.6 /* it is 0.7 to 1.2; encrypted twice, 1.8 to 1.9 */
#define KRB5P_SPEED 100.0 /* MB/s of a core */
#define KRB5P_PART 0.8 /* of the cipher alone: it is 0.95 */
#define BULK_CONNECTIONS 4 /* the default of Peer_Connections */
#define ALONE_BYTES (24u << 20) /* by which a cipher is measured */

enum turn {
	PACED_NONE,
	PACED_TLS,
	FAST_NONE,
	FAST_TLS,
	FAST_KRB5I,
	FAST_KRB5P,
	TURNS
};

static const struct {
	const char *name;
	enum nfs4r_security security;
	bool paced;
} turns[TURNS] = {
	{ "none, paced", NFS4R_SECURITY_NONE, true },
	{ "tls, paced", NFS4R_SECURITY_TLS, true },
	{ "none", NFS4R_SECURITY_NONE, false },
	{ "tls", NFS4R_SECURITY_TLS, false },
	{ "krb5i", NFS4R_SECURITY_KRB5I, false },
	{ "krb5p", NFS4R_SECURITY_KRB5P, false },
};

struct round {
	struct channel_turn turn[TURNS];
	double tls, krb5_encrypt, krb5_decrypt; /* MB/s of one core: what tls and krb5p do to bytes */
};

static double rate; /* bytes in a second that the paced turns send to both */

/* ---- the ciphers alone ---- */

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* MB/s, of @bytes in @ns. */
static double speed(uint64_t bytes, uint64_t ns)
{
	return ns ? (double)bytes * 1e3 / (double)ns : 0;
}

struct alone {
	SSL_CTX *ctx;
	double speed;
	pthread_t thread;
};

/* What a server with tls does to a message, in memory: OpenSSL copies and encrypts, and what it gives is copied. */
static void *tls_alone_once(void *arg)
{
	struct alone *a = arg;
	uint8_t *bytes = calloc(1, RECORD);
	SSL *end[2]; /* who sends, who reads */
	BIO *bio[2];
	uint64_t begun;
	size_t done;
	char *out;

	assert_true(bytes && BIO_new_bio_pair(&bio[0], 2 * RECORD, &bio[1], 2 * RECORD));
	for (int i = 0; i < 2; i++) {
		end[i] = SSL_new(a->ctx);
		assert_non_null(end[i]);
		SSL_set_bio(end[i], bio[i], bio[i]);
	}
	SSL_set_connect_state(end[0]);
	SSL_set_accept_state(end[1]);
	for (int i = 0; i < 4; i++)
		SSL_do_handshake(end[i % 2]);
	assert_true(SSL_is_init_finished(end[0]) && SSL_is_init_finished(end[1]));
	begun = cpu_ns();
	for (uint32_t at = 0; at < ALONE_BYTES; at += RECORD) {
		assert_int_equal(SSL_write_ex(end[0], bytes, RECORD, &done), 1);
		while (BIO_nread(bio[1], &out, 2 * RECORD) > 0) /* gone, without a copy */
			;
	}
	a->speed = speed(ALONE_BYTES, cpu_ns() - begun);
	for (int i = 0; i < 2; i++)
		SSL_free(end[i]);
	free(bytes);
	return NULL;
}

/* As many at once as servers have a turn: they share the processors and their caches as these do. */
static double tls_alone(void)
{
	struct alone a[1 + CHANNEL_PEERS];
	EVP_PKEY *key = pki_key();
	X509 *cert = pki_sign(key, &(struct pki_cert){ .name = "alone" });
	SSL_CTX *ctx = SSL_CTX_new(TLS_method());
	double sum = 0;

	assert_non_null(ctx);
	assert_int_equal(SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION), 1);
	assert_int_equal(SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256"), 1);
	assert_int_equal(SSL_CTX_use_certificate(ctx, cert), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(ctx, key), 1);
	for (uint32_t i = 0; i <= CHANNEL_PEERS; i++) {
		a[i].ctx = ctx;
		assert_int_equal(pthread_create(&a[i].thread, NULL, tls_alone_once, &a[i]), 0);
	}
	for (uint32_t i = 0; i <= CHANNEL_PEERS; i++) {
		pthread_join(a[i].thread, NULL);
		sum += a[i].speed;
	}
	SSL_CTX_free(ctx);
	X509_free(cert);
	EVP_PKEY_free(key);
	return sum / (1 + CHANNEL_PEERS);
}

static void krb5_alone(uint8_t *bytes, double *encrypt, double *decrypt)
{
	krb5_crypto_iov iov[4] = { { .flags = KRB5_CRYPTO_TYPE_HEADER }, { .flags = KRB5_CRYPTO_TYPE_DATA }, { .flags = KRB5_CRYPTO_TYPE_PADDING }, { .flags = KRB5_CRYPTO_TYPE_TRAILER } };
	char header[64], padding[64], trailer[64];
	krb5_keyblock block;
	krb5_context ctx;
	krb5_key key;
	uint64_t ns[2] = { 0, 0 };

	assert_int_equal(krb5_init_context(&ctx), 0);
	assert_int_equal(krb5_c_make_random_key(ctx, ENCTYPE_AES256_CTS_HMAC_SHA1_96, &block), 0);
	assert_int_equal(krb5_k_create_key(ctx, &block, &key), 0);
	for (uint32_t at = 0; at < ALONE_BYTES; at += RECORD) {
		uint64_t begun = cpu_ns();

		iov[0].data = (krb5_data){ .data = header, .length = sizeof(header) };
		iov[1].data = (krb5_data){ .data = (char *)bytes, .length = RECORD };
		iov[2].data = (krb5_data){ .data = padding, .length = sizeof(padding) };
		iov[3].data = (krb5_data){ .data = trailer, .length = sizeof(trailer) };
		assert_int_equal(krb5_k_encrypt_iov(ctx, key, 1, NULL, iov, 4), 0);
		ns[0] += cpu_ns() - begun;
		begun = cpu_ns();
		assert_int_equal(krb5_k_decrypt_iov(ctx, key, 1, NULL, iov, 4), 0);
		ns[1] += cpu_ns() - begun;
	}
	*encrypt = speed(ALONE_BYTES, ns[0]);
	*decrypt = speed(ALONE_BYTES, ns[1]);
	krb5_k_free_key(ctx, key);
	krb5_free_keyblock_contents(ctx, &block);
	krb5_free_context(ctx);
}

/* ---- rounds ---- */

static double cores(const struct channel_turn *t, const struct channel_usage *u)
{
	return (double)(u->loop_ns + u->work_ns) / (double)t->took_ns;
}

static void print(enum turn which, const struct channel_turn *t)
{
	struct channel_usage r = channel_receivers(t);
	const struct channel_usage *s = &t->of[0];

	printf("%-12s %6.0f Mbit/s; cores %.3f + %.3f; MB a core-second: sender's thread %5.0f, workers %4.0f; receivers' threads %5.0f, workers %4.0f\n", turns[which].name,
	       (double)r.bytes * 8e3 / (double)t->took_ns, cores(t, s), cores(t, &r), speed(s->bytes, s->loop_ns), speed(s->bytes, s->work_ns), speed(r.bytes, r.loop_ns),
	       speed(r.bytes, r.work_ns));
}

static void run(struct world *w, struct round *r, uint64_t ms)
{
	uint8_t *bytes = calloc(1, ALONE_BYTES);

	assert_non_null(bytes);
	for (uint32_t i = 0; i < TURNS; i++) {
		r->turn[i] = channel_turn(w, turns[i].security, turns[i].paced ? rate * 8e-6 / CHANNEL_PEERS : 0, ms);
		print((enum turn)i, &r->turn[i]);
	}
	r->tls = tls_alone();
	krb5_alone(bytes, &r->krb5_encrypt, &r->krb5_decrypt);
	printf("alone        TLS %.0f MB/s; Kerberos encrypts %.0f and decrypts %.0f MB/s\n", r->tls, r->krb5_encrypt, r->krb5_decrypt);
	fflush(stdout);
	free(bytes);
}

/* ---- what is judged ---- */

typedef double (*value_fn)(const struct round *r);

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The value that a quarter of the rounds reach: what else runs on the machine makes turns slower and dearer, and never the reverse. */
static double quarter(const struct round *r, int n, value_fn value, bool high)
{
	double v[ROUNDS_MAX];

	for (int i = 0; i < n; i++)
		v[i] = value(&r[i]);
	qsort(v, (size_t)n, sizeof(v[0]), by_value);
	return v[high ? n - 1 - n / 4 : n / 4];
}

/* Of what was to be sent; a turn that was held up catches up, which counts for nothing. */
static double bits(const struct channel_turn *t)
{
	double part = 100 * (double)channel_bytes(t) * 1e9 / (double)t->took_ns / rate;

	return part < 100 ? part : 100;
}

static double none_bits(const struct round *r)
{
	return bits(&r->turn[PACED_NONE]);
}

static double tls_bits(const struct round *r)
{
	return bits(&r->turn[PACED_TLS]);
}

/* Processors for the paced rate, whatever was reached of it. */
static double cores_for(struct channel_usage u)
{
	return u.bytes ? (double)(u.loop_ns + u.work_ns) / (double)u.bytes * rate * 1e-9 : 1e9;
}

static double none_sender(const struct round *r)
{
	return cores_for(r->turn[PACED_NONE].of[0]);
}

static double tls_sender(const struct round *r)
{
	return cores_for(r->turn[PACED_TLS].of[0]);
}

static double none_receiver(const struct round *r)
{
	return cores_for(channel_receivers(&r->turn[PACED_NONE])) / CHANNEL_PEERS;
}

static double tls_receiver(const struct round *r)
{
	return cores_for(channel_receivers(&r->turn[PACED_TLS])) / CHANNEL_PEERS;
}

/* What tls costs the sender more than none for each byte, as a multiple of what OpenSSL alone costs: all of the same round. */
static double tls_more(const struct round *r)
{
	return (cores_for(r->turn[FAST_TLS].of[0]) - cores_for(r->turn[FAST_NONE].of[0])) / (rate * 1e-6 / r->tls);
}

static double krb5p_wraps(const struct round *r)
{
	const struct channel_usage *u = &r->turn[FAST_KRB5P].of[0];

	return speed(u->bytes, u->work_ns);
}

static double krb5p_unwraps(const struct round *r)
{
	struct channel_usage u = channel_receivers(&r->turn[FAST_KRB5P]);

	return speed(u.bytes, u.work_ns);
}

static double krb5_encrypts(const struct round *r)
{
	return r->krb5_encrypt;
}

static double krb5_decrypts(const struct round *r)
{
	return r->krb5_decrypt;
}

/* Workers that the transport's thread could keep busy. */
static double busy(struct channel_usage u)
{
	return u.loop_ns ? (double)u.work_ns / (double)u.loop_ns : 0;
}

static double krb5p_sender_busy(const struct round *r)
{
	return busy(r->turn[FAST_KRB5P].of[0]);
}

static double krb5p_receiver_busy(const struct round *r)
{
	return busy(channel_receivers(&r->turn[FAST_KRB5P]));
}

/* Return how many bounds do not hold. */
static int at_least(const char *what, double is, double bound, const char *unit)
{
	printf("%s %s: %.3g %s, has to be %.3g at least\n", is >= bound ? "ok" : "not ok", what, is, unit, bound);
	return is < bound;
}

static int less_than(const char *what, double is, double bound, const char *unit)
{
	printf("%s %s: %.3g %s, has to be less than %.3g\n", is < bound ? "ok" : "not ok", what, is, unit, bound);
	return is >= bound;
}

static int judge_tls(const struct round *r, int n)
{
	double sender = quarter(r, n, tls_sender, false) - quarter(r, n, none_sender, false), receiver = quarter(r, n, tls_receiver, false) - quarter(r, n, none_receiver, false);
	int bad = 0;

	bad += at_least("tls has, at that rate, of the bits of none", 100 * quarter(r, n, tls_bits, true) / quarter(r, n, none_bits, true), 90, "%");
	bad += less_than("tls costs the sender, at that rate to two, more than none", sender, TLS_CORES, "cores");
	bad += less_than("tls costs a receiver, at that rate, more than none", receiver, TLS_CORES, "cores");
	bad += less_than("tls costs the sender more than none, as fast as it goes", quarter(r, n, tls_more, false), TLS_MORE, "times what OpenSSL alone does");
	return bad;
}

static int judge_krb5p(const struct round *r, int n)
{
	double wraps = quarter(r, n, krb5p_wraps, true), encrypts = quarter(r, n, krb5_encrypts, true);
	double unwraps = quarter(r, n, krb5p_unwraps, true), decrypts = quarter(r, n, krb5_decrypts, true);
	int bad = 0;

	if (encrypts < KRB5P_SPEED / KRB5P_PART) {
		printf("# Kerberos alone encrypts %.0f MB/s here: krb5p is judged by that\n", encrypts);
	} else {
		bad += at_least("a worker of krb5p wraps", wraps, KRB5P_SPEED, "MB/s");
		bad += at_least("a worker of krb5p unwraps", unwraps, KRB5P_SPEED, "MB/s");
	}
	bad += at_least("a worker of krb5p wraps, of what the cipher alone does", wraps / encrypts, KRB5P_PART, "times");
	bad += at_least("a worker of krb5p unwraps, of what the cipher alone does", unwraps / decrypts, KRB5P_PART, "times");
	/* One for each connection of lane BULK. */
	bad += at_least("the sender's thread can keep busy", quarter(r, n, krb5p_sender_busy, true), BULK_CONNECTIONS * CHANNEL_PEERS, "workers of krb5p");
	bad += at_least("a receiver's thread can keep busy", quarter(r, n, krb5p_receiver_busy, true), BULK_CONNECTIONS, "workers of krb5p");
	return bad;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "rate", 1, NULL, 'r' }, { "ms", 1, NULL, 'm' }, { "rounds", 1, NULL, 'n' }, { "check", 0, NULL, 'c' }, { NULL, 0, NULL, 0 } };
	static struct round round[ROUNDS_MAX];
	int rounds = 7, c, bad;
	uint64_t ms = 600;
	double mbit = 400;
	bool check = false;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'r' && atof(optarg) > 0)
			mbit = atof(optarg);
		else if (c == 'm' && atoi(optarg) > 0)
			ms = (uint64_t)atoi(optarg);
		else if (c == 'n' && atoi(optarg) > 0 && atoi(optarg) <= ROUNDS_MAX)
			rounds = atoi(optarg);
		else if (c == 'c')
			check = true;
		else
			return 2;
	}
	rate = mbit * CHANNEL_PEERS * 1e6 / 8;
	kerberos_setup(NULL);
	struct world *w = kerberos_world(1 + CHANNEL_PEERS, NFS4R_SECURITY_KRB5P);

	assert_int_equal(w->s[0].cfg.connections, BULK_CONNECTIONS);
	pki_world_keys(w);
	for (int i = 0; i < rounds; i++)
		run(w, &round[i], ms);
	free(w);
	kerberos_teardown(NULL);
	bad = judge_tls(round, rounds) + judge_krb5p(round, rounds);
	return check && bad ? 1 : 0;
}
