/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What somebody on the wire between two servers can do when Kerberos protects it: end the connection. What can be read is test_plain_text.c's. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "lib/unit.h"

#include "contract/rpc/flips.h"
#include "contract/rpc/krb5_world.h"
#include "contract/rpc/tap.h"
#include "rpc/security/security.h"

#define TAP_PORT_STEP 4 /* world_init() keeps eight ports */

static const enum nfs4r_security flavours[] = { NFS4R_SECURITY_KRB5I, NFS4R_SECURITY_KRB5P };

/* ---- two sessions without a network ---- */

struct side {
	struct nfs4r_security_setup *setup;
	struct nfs4r_security_session *session;
};

struct two {
	const struct nfs4r_security_ops *ops;
	struct world *w;
	struct side caller, called;
};

static void two_open(struct two *t, enum nfs4r_security flavour)
{
	struct nfs4r_security_step *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
	struct nfs4r_buf *token;
	char why[NFS4R_WHY];

	t->ops = nfs4r_security_find(flavour);
	t->w = kerberos_world(2, flavour);
	assert_int_equal(t->ops->start(&t->w->s[1].cfg, &t->caller.setup, why), NFS4R_OK);
	assert_int_equal(t->ops->start(&t->w->s[0].cfg, &t->called.setup, why), NFS4R_OK);
	t->caller.session = t->ops->open(t->caller.setup, &t->w->s[1].cfg, &t->w->s[1].cfg.servers[0]);
	t->called.session = t->ops->open(t->called.setup, &t->w->s[0].cfg, NULL);
	if (t->ops->handshake(t->caller.session, a) != NFS4R_DELAY)
		fail_msg("%s", a->why);
	token = a->out;
	b->in = token->data;
	b->len = token->len;
	if (t->ops->handshake(t->called.session, b) != NFS4R_OK)
		fail_msg("%s", b->why);
	nfs4r_buf_put(token);
	memset(a, 0, sizeof(*a));
	a->in = b->out->data;
	a->len = b->out->len;
	if (t->ops->handshake(t->caller.session, a) != NFS4R_OK)
		fail_msg("%s", a->why);
	assert_null(a->out);
	nfs4r_buf_put(b->out);
	free(a);
	free(b);
	assert_int_equal(t->ops->is_server(t->caller.session, &t->w->s[1].cfg.servers[0], why), NFS4R_OK);
	assert_int_equal(t->ops->is_server(t->called.session, &t->w->s[0].cfg.servers[1], why), NFS4R_OK);
	assert_int_equal(t->ops->is_server(t->called.session, &t->w->s[0].cfg.servers[0], why), NFS4R_ACCES);
}

static void two_close(struct two *t)
{
	t->ops->close(t->caller.session);
	t->ops->close(t->called.session);
	t->ops->stop(t->caller.setup);
	t->ops->stop(t->called.setup);
	world_fini(t->w);
	free(t->w);
}

/* Whatever is wrapped comes out as it was, in both directions, and is not much longer meanwhile. */
static void test_records_come_out_as_they_were(void **state)
{
	static const size_t sizes[] = { 1, 4, 15, 16, 17, 100, 4096, 65535, 1 << 20, NFS4R_MESSAGE_MAX };
	uint8_t *bytes = malloc(NFS4R_MESSAGE_MAX);
	struct two t;

	for (size_t i = 0; i < NFS4R_MESSAGE_MAX; i++)
		bytes[i] = (uint8_t)(i * 31 + i / 256);
	for (int f = 0; f < 2; f++) {
		two_open(&t, flavours[f]);
		for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
			struct side *from = i % 2 ? &t.caller : &t.called, *to = i % 2 ? &t.called : &t.caller;
			struct nfs4r_buf *b = t.ops->wrap(from->session, bytes, sizes[i / 2]), *c;

			assert_non_null(b);
			assert_true(b->len <= sizes[i / 2] + t.ops->overhead);
			c = t.ops->unwrap(to->session, b->data, b->len);
			assert_non_null(c);
			assert_int_equal(c->len, sizes[i / 2]);
			assert_memory_equal(c->data, bytes, sizes[i / 2]);
			nfs4r_buf_put(b);
			nfs4r_buf_put(c);
		}
		two_close(&t);
	}
	free(bytes);
}

/* Each bit of a record, its header and its trailer included. */
static void test_every_bit_counts(void **state)
{
	static const char text[] = "a record of some length, longer than one block of the cipher";
	struct two t;

	for (int f = 0; f < 2; f++) {
		two_open(&t, flavours[f]);
		struct nfs4r_buf *b = t.ops->wrap(t.caller.session, text, sizeof(text)), *c;

		for (uint32_t bit = 0; bit < 8 * b->len; bit++) {
			b->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
			c = t.ops->unwrap(t.called.session, b->data, b->len);
			if (c)
				fail_msg("bit %u of %u is not protected", bit, 8 * b->len);
			b->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		for (uint32_t len = 0; len < b->len; len++) /* shorter ones */
			assert_null(t.ops->unwrap(t.called.session, b->data, len));
		c = t.ops->unwrap(t.called.session, b->data, b->len);
		assert_non_null(c);
		nfs4r_buf_put(c);
		assert_null(t.ops->unwrap(t.called.session, b->data, b->len)); /* the same again */
		nfs4r_buf_put(b);
		two_close(&t);
	}
}

/* A later one before an earlier one, and one of the other direction. */
static void test_the_order_counts(void **state)
{
	struct nfs4r_buf *b[3];
	struct two t;

	for (int f = 0; f < 2; f++) {
		two_open(&t, flavours[f]);
		for (int i = 0; i < 3; i++)
			b[i] = t.ops->wrap(t.caller.session, "record", 6);
		assert_null(t.ops->unwrap(t.caller.session, b[0]->data, b[0]->len)); /* sent back */
		assert_null(t.ops->unwrap(t.called.session, b[1]->data, b[1]->len)); /* one is missing */
		for (int i = 0; i < 3; i++)
			nfs4r_buf_put(b[i]);
		two_close(&t);
	}
}

/* What krb5i protects is no record of krb5p, and of another context none at all. */
static void test_contexts_are_apart(void **state)
{
	struct nfs4r_buf *b;
	struct two t, u;

	two_open(&t, NFS4R_SECURITY_KRB5I);
	two_open(&u, NFS4R_SECURITY_KRB5I);
	b = t.ops->wrap(t.caller.session, "record", 6);
	assert_null(u.ops->unwrap(u.called.session, b->data, b->len));
	nfs4r_buf_put(b);
	two_close(&t);
	two_close(&u);
}

/* ---- somebody in between ---- */

/* Server 2 reaches server 1 through the tap. */
static struct world *through(enum nfs4r_security flavour, struct tap **p)
{
	struct world *w = kerberos_world(2, flavour);
	struct nfs4r_endpoint at = w->s[0].cfg.servers[0];

	at.port = (uint16_t)(at.port + TAP_PORT_STEP);
	w->s[1].cfg.servers[0].port = at.port;
	w->s[1].cfg.connections = 1; /* of lane BULK: each that breaks is the end for the peer */
	w->s[1].cfg.connect_retry_ms = 300; /* it does not come again before a test has sent all that it wants to send */
	w->s[0].cfg.view = w->s[1].cfg.view = 1; /* the lists of the configurations are of no account then */
	*p = tap_start(&at, &w->s[0].cfg.servers[0], "127.0.0.2");
	world_start_all(w);
	world_wait_all_up(w);
	return w;
}

static void end(struct world *w, struct tap *p)
{
	world_fini(w); /* which fails if anything came twice, in another order, or not at all before what followed it */
	tap_stop(p);
	free(w);
}

static void both_up(struct world *w, uint32_t ups)
{
	world_wait(&w->s[0], w_s->up[2] && w_s->ups[2] == ups);
	world_wait(&w->s[1], w_s->up[1] && w_s->ups[1] == ups);
}

/* The connection ends, and nothing is delivered that was not sent, or not then. */
static void ends_with(enum nfs4r_security flavour, enum tap_act act)
{
	struct tap *p;
	struct world *w = through(flavour, &p);

	for (uint32_t ups = 1; ups <= 3; ups++) {
		both_up(w, ups);
		for (uint64_t i = 1; i <= 20; i++)
			kerberos_question(&w->s[1], 1, i);
		world_wait(&w->s[0], w_s->last_question == 20);
		tap_do(p, act, 0);
		for (uint64_t i = 21; i <= 60; i++)
			kerberos_question(&w->s[1], 1, i);
		world_wait(&w->s[0], w_s->downs[2] == ups);
		world_wait(&w->s[1], w_s->downs[1] == ups);
		assert_true(tap_done(p));
		assert_int_equal(world_get(&w->s[0], w_s->broken_order), 0);
	}
	if (act != TAP_CUT)
		assert_true(world_logged(&w->s[0], "sent a record that is not authentic") > 0);
	end(w, p);
}

static void test_changed_records_end_the_connection(void **state)
{
	for (int f = 0; f < 2; f++)
		for (enum tap_act act = TAP_FLIP; act < TAP_ACTS; act++)
			ends_with(flavours[f], act);
}

/* Server 2 reaches server 1 through a proxy that tells records by their length. */
static struct world *behind(enum nfs4r_security flavour, struct proxy *p)
{
	struct world *w = kerberos_world(2, flavour);
	struct nfs4r_endpoint at = w->s[0].cfg.servers[0];

	at.port = (uint16_t)(at.port + TAP_PORT_STEP);
	w->s[1].cfg.servers[0].port = at.port;
	for (int i = 0; i < 2; i++) {
		w->s[i].cfg.view = 1;
		w->s[i].cfg.connections = 1;
		w->s[i].cfg.connect_retry_ms = w->s[i].cfg.connect_retry_most_ms = 2; /* each connection is cut soon after it came */
	}
	proxy_start(p, &at, &w->s[0].cfg.servers[0]);
	atomic_store(&p->any, true);
	world_start_all(w);
	world_wait_all_up(w);
	return w;
}

static void test_a_bit_of_each_record(void **state)
{
	for (int f = 0; f < 2; f++) {
		struct proxy p;
		struct world *w = behind(flavours[f], &p);

		flips(w, &p, 128); /* the header of a token (RFC 4121) is in the clear */
		world_fini(w);
		proxy_stop(&p);
		free(w);
	}
}

/* The token of a call that was recorded, once more: the ticket in it is good. */
static void test_a_token_is_good_once(void **state)
{
	static uint8_t token[65536 + 64];
	struct tap *p;
	struct world *w = through(NFS4R_SECURITY_KRB5P, &p);
	size_t len = tap_first(p, token, sizeof(token));
	int fd = raw_connect("127.0.0.2", &w->s[0].cfg.servers[0]);

	assert_true(len > 100 && fd >= 0);
	assert_int_equal(send(fd, token, len, MSG_NOSIGNAL), len);
	world_wait(&w->s[0], strstr(w_s->log, "a replay: the same token has been here before"));
	assert_true(raw_closed(fd, WORLD_WAIT_MS));
	close(fd);
	assert_int_equal(world_get(&w->s[0], w_s->downs[2]), 0);
	end(w, p);
}

/* ---- speed: test_krb5_wire --speed ---- */

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void measure(enum nfs4r_security flavour, uint32_t size)
{
	uint32_t n = (64u << 20) / size;
	struct nfs4r_buf **b = malloc(n * sizeof(*b)), *c;
	uint8_t *bytes = calloc(1, size);
	uint64_t begun, wrapped, unwrapped;
	struct two t;

	two_open(&t, flavour);
	begun = cpu_ns();
	for (uint32_t i = 0; i < n; i++)
		b[i] = t.ops->wrap(t.caller.session, bytes, size);
	wrapped = cpu_ns();
	for (uint32_t i = 0; i < n; i++) {
		c = t.ops->unwrap(t.called.session, b[i]->data, b[i]->len);
		assert_non_null(c);
		nfs4r_buf_put(c);
	}
	unwrapped = cpu_ns();
	printf("%s %7u bytes: wrap %6.0f MB/s, unwrap %6.0f MB/s, %u bytes more\n", t.ops->name, size, (double)n * size * 1e3 / (double)(wrapped - begun),
	       (double)n * size * 1e3 / (double)(unwrapped - wrapped), b[0]->len - size);
	for (uint32_t i = 0; i < n; i++)
		nfs4r_buf_put(b[i]);
	two_close(&t);
	free(bytes);
	free(b);
}

static void speed(void **state)
{
	static const uint32_t sizes[] = { 256, 4096, 65536, 1 << 20 };

	for (int f = 0; f < 2; f++)
		for (int i = 0; i < 4; i++)
			measure(flavours[f], sizes[i]);
}

/* The argument: one test by its name, or a pattern of names. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_come_out_as_they_were),
		cmocka_unit_test(test_every_bit_counts),
		cmocka_unit_test(test_the_order_counts),
		cmocka_unit_test(test_contexts_are_apart),
		cmocka_unit_test(test_changed_records_end_the_connection),
		cmocka_unit_test(test_a_bit_of_each_record),
		cmocka_unit_test(test_a_token_is_good_once),
	};
	const struct CMUnitTest speeds[] = { cmocka_unit_test(speed) };

	if (argc > 1 && strcmp(argv[1], "--speed") == 0)
		return cmocka_run_group_tests(speeds, kerberos_setup, kerberos_teardown);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, kerberos_setup, kerberos_teardown);
}
