/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Peers that break the protocol, fall silent, come twice, or cut their records to pieces. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/unit.h"

#include "contract/rpc/fake.h"
#include "xdr_map.h"

static struct world *one_of_two(void)
{
	struct world *w = malloc(sizeof(*w));

	world_init(w, 2);
	world_start(w, 0);
	return w;
}

/* Server 2 is played; it writes @len bytes at @bytes to @lane and loses the connection. */
static void broken_by(const void *bytes, size_t len, enum nfs4r_lane lane, const char *why)
{
	struct world *w = one_of_two();
	struct fake f;

	fake_call(&f, &w->s[1], &w->s[0], 1);
	fake_write(f.fd[lane], bytes, len);
	world_wait(&w->s[0], w_s->downs[2] == 1);
	for (int i = 0; i < NFS4R_LANES; i++)
		assert_true(raw_closed(f.fd[i], WORLD_WAIT_MS));
	if (world_logged(&w->s[0], why) != 1)
		fail_msg("log does not say '%s' once:\n%s", why, w->s[0].log);
	fake_close(&f);
	world_fini(w);
	free(w);
}

static void test_garbage(void **state)
{
	uint32_t words[6] = { htonl(0x80000000 | 20), htonl(NFS4R_MSG_ACK), 0xffffffff, 0xffffffff,
			      0xffffffff, 0xffffffff };

	broken_by(words, sizeof(words), NFS4R_LANE_CONTROL, "type 2 (ACK), 20 bytes, that cannot be decoded");
	words[0] = htonl(0x80000000 | 3);
	broken_by(words, sizeof(words), NFS4R_LANE_BULK, "cannot be decoded");
	words[0] = htonl(0x80000000 | 20);
	words[1] = htonl(99);
	broken_by(words, sizeof(words), NFS4R_LANE_REQUEST, "type 99");
	words[1] = htonl(NFS4R_MSG_HELLO);
	broken_by(words, sizeof(words), NFS4R_LANE_REQUEST, "not a message of this protocol");
	words[0] = htonl(0x80000000);
	broken_by(words, 4, NFS4R_LANE_REQUEST, "0 bytes, that cannot be decoded");
}

static void test_oversized(void **state)
{
	uint32_t mark = htonl(0x80000000 | (NFS4R_MESSAGE_MAX + 1));
	uint32_t parts[2] = { htonl(0), 0 };

	broken_by(&mark, 4, NFS4R_LANE_BULK, "sent a record of");
	mark = htonl(0x7fffffff);
	broken_by(&mark, 4, NFS4R_LANE_CONTROL, "sent a record of 2147483647 bytes");
	broken_by(parts, 8, NFS4R_LANE_CONTROL, "empty or too many fragments");
}

/* Before HELLO the limits are narrower, and there is no peer to go down. */
static void test_garbage_before_hello(void **state)
{
	static const char *const text = "GET / HTTP/1.0\r\n\r\n";
	struct world *w = one_of_two();
	struct nfs4r_transport_msg_body m = { .type = NFS4R_MSG_KEEPALIVE };
	uint32_t mark = htonl(0x80000000 | 70000);

	for (int i = 0; i < 3; i++) {
		int fd = raw_connect("127.0.0.2", &w->s[0].cfg.servers[0]);

		assert_true(fd >= 0);
		if (i == 0)
			fake_write(fd, text, strlen(text));
		else if (i == 1)
			fake_write(fd, &mark, 4);
		else
			fake_tell(fd, &m);
		assert_true(raw_closed(fd, WORLD_WAIT_MS));
		close(fd);
	}
	assert_int_equal(world_logged(&w->s[0], "before it sent its identity"), 1);
	world_fini(w);
	free(w);
}

/* Server 2 calls again and is told why it is refused. */
static void expect_shunned(struct world *w)
{
	struct nfs4r_transport_msg_body m = { 0 };
	struct nfs4r_hello h;
	int fd = raw_connect(w->s[1].cfg.servers[1].host, &w->s[0].cfg.servers[0]);

	assert_true(fd >= 0);
	fake_hello(&h, &w->s[1], &w->s[0]);
	h.session = 2;
	fake_tell_hello(fd, &h);
	while (fake_hear(fd, &m) && m.type != NFS4R_MSG_REFUSED)
		;
	assert_int_equal(m.type, NFS4R_MSG_REFUSED);
	assert_int_equal(m.refused.cause, NFS4R_REFUSED_MALFORMED);
	assert_non_null(strstr(m.refused.text, "cannot decode"));
	close(fd);
}

static void poison(struct nfs4r_entry *e, bool symlink)
{
	e->log = 2;
	e->lsn = 1;
	e->op = symlink ? NFS4R_OP_SYMLINK : NFS4R_OP_CREATE;
	e->nparts = symlink ? 2 : 1;
	e->parts[0].effect = NFS4R_EFF_CREATE;
	e->parts[0].after = 1;
	e->parts[0].attrs.mask = NFS4R_ATTR_TYPE;
	e->parts[0].attrs.type = symlink ? NFS4R_TYPE_SYMLINK : NFS4R_TYPE_FILE;
	nfs4r_oid_make(&e->parts[0].oid, 2, 1, 1);
	if (!symlink)
		return;
	nfs4r_oid_make(&e->parts[0].parent, 1, 1, 1);
	e->parts[1] = (struct nfs4r_part){ .oid = e->parts[0].parent, .before = 1, .after = 2, .effect = NFS4R_EFF_NAMES };
	nfs4r_part_names(&e->parts[1], 1);
	nfs4r_name_set(&e->parts[1].names[0].name, "link", 4);
	e->parts[1].names[0].oid = e->parts[0].oid;
	e->parts[1].names[0].type = NFS4R_TYPE_SYMLINK;
	e->parts[1].names[0].cookie = 3;
}

/* An object without a name, a link without a text: nothing that could be applied, ever. All connections go, and for a while nobody is let in. */
static void test_poison(void **state)
{
	static const char *const why[] = { "its parts are not those of its operation", "a symbolic link has no target" };

	for (int symlink = 0; symlink < 2; symlink++) {
		struct world *w = malloc(sizeof(*w));
		struct nfs4r_msg *m = calloc(1, sizeof(*m));
		struct fake f;

		world_init(w, 2);
		w->s[0].cfg.shun_ms = 60000;
		world_start(w, 0);
		m->type = NFS4R_MSG_ENTRIES;
		m->entries.log = 2;
		m->entries.end = 1;
		m->entries.n = 1;
		m->entries.entries = malloc(sizeof(*m->entries.entries));
		m->entries.entries[0] = nfs4r_entry_new();
		poison(m->entries.entries[0], symlink);
		fake_call(&f, &w->s[1], &w->s[0], 1);
		fake_tell_number(f.fd[NFS4R_LANE_BULK], 1);
		fake_record(f.fd[NFS4R_LANE_BULK], nfs4r_msg_encode(m, NFS4R_PROTOCOL_VERSION));
		world_wait(&w->s[0], w_s->downs[2] == 1);
		assert_int_equal(world_get(&w->s[0], w_s->messages), 0);
		assert_int_equal(world_logged(&w->s[0], why[symlink]), 1);
		fake_close(&f);
		expect_shunned(w);
		nfs4r_msg_fini(m);
		free(m);
		world_fini(w);
		free(w);
	}
}

/* RFC 5531: a record may come in several fragments, cut anywhere. */
static void test_fragments(void **state)
{
	struct world *w = one_of_two();
	struct nfs4r_msg *m = calloc(1, sizeof(*m));
	struct nfs4r_entry *e = nfs4r_entry_new();
	struct nfs4r_buf *b;
	struct fake f;

	world_write(e, 2, 1, 300000);
	e->payload = nfs4r_buf_new(300000);
	memset(e->payload->data, 3, 300000);
	m->type = NFS4R_MSG_ENTRIES;
	m->entries.log = 2;
	m->entries.n = 1;
	m->entries.entries = malloc(sizeof(*m->entries.entries));
	m->entries.entries[0] = e;
	fake_call(&f, &w->s[1], &w->s[0], 1);
	for (uint32_t round = 1; round <= 4; round++) {
		uint32_t step = round == 1 ? 1000 : round == 2 ? 77777 :
			round == 3			       ? 299999 :
								 250;

		m->entries.end = round;
		b = nfs4r_msg_encode(m, NFS4R_PROTOCOL_VERSION);
		fake_tell_number(f.fd[NFS4R_LANE_BULK], round);
		for (uint32_t at = 0; at < b->len; at += step) {
			uint32_t n = b->len - at < step ? b->len - at : step;
			uint32_t mark = htonl(n | (at + n == b->len ? 0x80000000 : 0));

			fake_write(f.fd[NFS4R_LANE_BULK], &mark, 4);
			fake_write(f.fd[NFS4R_LANE_BULK], b->data + at, n);
		}
		nfs4r_buf_put(b);
	}
	world_wait(&w->s[0], w_s->last_entry == 4);
	assert_int_equal(world_get(&w->s[0], w_s->bytes), 4 * 300000);
	nfs4r_msg_fini(m);
	free(m);
	fake_close(&f);
	world_fini(w);
	free(w);
}

/* @n entries of few bytes on the wire, up to @end. */
static void tell_many(struct fake *f, uint64_t number, uint64_t end, uint32_t n)
{
	struct nfs4r_msg *m = calloc(1, sizeof(*m));

	m->type = NFS4R_MSG_ENTRIES;
	m->entries.log = 2;
	m->entries.end = end;
	m->entries.n = n;
	m->entries.entries = calloc(n + 1, sizeof(*m->entries.entries));
	for (uint32_t i = 0; i < n; i++) {
		m->entries.entries[i] = nfs4r_entry_new();
		world_write(m->entries.entries[i], 2, end - n + 1 + i, 0);
		m->entries.entries[i]->payload = nfs4r_buf_new(0);
	}
	if (number)
		fake_tell_number(f->fd[NFS4R_LANE_BULK], number);
	fake_record(f->fd[NFS4R_LANE_BULK], nfs4r_msg_encode(m, NFS4R_PROTOCOL_VERSION));
	nfs4r_msg_fini(m);
	free(m);
}

static void tell_entries(struct fake *f, uint64_t number, uint64_t end)
{
	tell_many(f, number, end, 0);
}

/* Messages of lane BULK count in the order of their numbers, each once, however they come; one without a number ends it. */
static void test_numbers(void **state)
{
	static const uint64_t order[] = { 3, 2, 3, 5, 1, 1, 2, 4, 5, 7, 6 };
	struct world *w = one_of_two();
	struct fake f;

	fake_call(&f, &w->s[1], &w->s[0], 1);
	for (uint32_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		tell_entries(&f, order[i], order[i]);
	world_wait(&w->s[0], w_s->last_entry == 7);
	assert_int_equal(world_get(&w->s[0], w_s->messages), 7);
	tell_entries(&f, 0, 8);
	world_wait(&w->s[0], w_s->downs[2] == 1);
	assert_int_equal(world_logged(&w->s[0], "without its number"), 1);
	assert_int_equal(world_get(&w->s[0], w_s->messages), 7);
	fake_close(&f);
	world_fini(w);
	free(w);
}

/* The memory for what comes before one that is missing is bounded, and that is more than its bytes on the wire. */
static void test_too_much_ahead(void **state)
{
	enum {
		EACH = 64,
		ENTRY_BYTES = sizeof(struct nfs4r_entry)
	};
	struct world *w = malloc(sizeof(*w));
	struct fake f;

	world_init(w, 2);
	w->s[0].cfg.queue_bytes_max = 1;
	world_start(w, 0);
	fake_call(&f, &w->s[1], &w->s[0], 1);
	for (uint64_t i = 2; i <= 2 + NFS4R_MESSAGE_MAX / (EACH * ENTRY_BYTES); i++)
		tell_many(&f, i, i * EACH, EACH);
	world_wait(&w->s[0], w_s->downs[2] == 1);
	assert_int_equal(world_logged(&w->s[0], "too much data after"), 1);
	assert_int_equal(world_get(&w->s[0], w_s->messages), 0);
	fake_close(&f);
	world_fini(w);
	free(w);
}

/* Numbers and what was taken of them belong to their lanes, and nobody takes what was not sent. */
static void test_numbers_in_the_wrong_place(void **state)
{
	static const struct {
		enum nfs4r_lane lane;
		uint32_t type;
		const char *why;
	} cases[] = {
		{ NFS4R_LANE_CONTROL, NFS4R_MSG_NUMBER, "belongs to another lane" },
		{ NFS4R_LANE_BULK, NFS4R_MSG_TAKEN, "belongs to another lane" },
		{ NFS4R_LANE_CONTROL, NFS4R_MSG_TAKEN, "acknowledged message 9 of 0" },
	};

	for (uint32_t i = 0; i < 3; i++) {
		struct nfs4r_transport_msg_body m = { .type = cases[i].type, .number = 9 };
		struct nfs4r_buf *b = nfs4r_transport_msg_encode(&m);
		uint32_t mark = htonl(b->len | 0x80000000);
		char bytes[64];

		memcpy(bytes, &mark, 4);
		memcpy(bytes + 4, b->data, b->len);
		broken_by(bytes, 4 + b->len, cases[i].lane, cases[i].why);
		nfs4r_buf_put(b);
	}
}

/* Questions come on the lane that can be held, and what the core hears on the one of which not more is taken than a share of a processor. */
static void test_messages_in_the_wrong_place(void **state)
{
	static const struct {
		enum nfs4r_lane lane;
		uint32_t type;
		const char *why;
	} cases[] = {
		{ NFS4R_LANE_CONTROL, NFS4R_MSG_VERIFY, "it belongs to lane REQUEST" },
		{ NFS4R_LANE_BULK, NFS4R_MSG_VERIFY, "it belongs to lane REQUEST" },
		{ NFS4R_LANE_REQUEST, NFS4R_MSG_PULL, "it belongs to lane CONTROL" },
		{ NFS4R_LANE_BULK, NFS4R_MSG_PULL, "it belongs to lane CONTROL" },
	};

	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nfs4r_msg *m = calloc(1, sizeof(*m));
		struct world *w = one_of_two();
		struct fake f;

		m->type = cases[i].type;
		if (m->type == NFS4R_MSG_PULL)
			m->pull.log = 1;
		fake_call(&f, &w->s[1], &w->s[0], 1);
		if (cases[i].lane == NFS4R_LANE_BULK)
			fake_tell_number(f.fd[cases[i].lane], 1);
		fake_record(f.fd[cases[i].lane], nfs4r_msg_encode(m, NFS4R_PROTOCOL_VERSION));
		world_wait(&w->s[0], w_s->downs[2] == 1);
		assert_int_equal(world_logged(&w->s[0], cases[i].why), 1);
		assert_int_equal(world_get(&w->s[0], w_s->messages), 0);
		fake_close(&f);
		world_fini(w);
		free(w);
		free(m);
	}
}

/* Padding means nothing, on lane BULK, anywhere but between a number and its message. */
static void test_padding(void **state)
{
	struct nfs4r_transport_msg_body m = { .type = NFS4R_MSG_PADDING, .opaque = nfs4r_buf_new(1000) };
	struct world *w = one_of_two();
	uint32_t words[3] = { htonl(0x80000000 | 8), htonl(NFS4R_MSG_PADDING), 0 };
	struct fake f;

	memset(m.opaque->data, 0, 1000);
	fake_call(&f, &w->s[1], &w->s[0], 1);
	for (uint64_t i = 1; i <= 3; i++) {
		fake_tell(f.fd[NFS4R_LANE_BULK], &m);
		tell_entries(&f, i, i);
	}
	world_wait(&w->s[0], w_s->last_entry == 3);
	fake_tell_number(f.fd[NFS4R_LANE_BULK], 4);
	fake_tell(f.fd[NFS4R_LANE_BULK], &m);
	world_wait(&w->s[0], w_s->downs[2] == 1);
	assert_int_equal(world_logged(&w->s[0], "padding where none is allowed"), 1);
	nfs4r_transport_msg_fini(&m);
	fake_close(&f);
	world_fini(w);
	free(w);
	broken_by(words, sizeof(words), NFS4R_LANE_CONTROL, "padding where none is allowed");
	words[2] = htonl(NFS4R_PADDING_MAX + 1);
	broken_by(words, sizeof(words), NFS4R_LANE_BULK, "not a message of this protocol");
}

/* Fragments that together are too long end before memory is taken for them. */
static void test_fragments_too_long_together(void **state)
{
	struct world *w = one_of_two();
	uint32_t mark = htonl(NFS4R_MESSAGE_MAX / 2 + 4);
	char *half = calloc(1, NFS4R_MESSAGE_MAX / 2 + 4);
	struct fake f;

	fake_call(&f, &w->s[1], &w->s[0], 1);
	fake_write(f.fd[2], &mark, 4);
	fake_write(f.fd[2], half, NFS4R_MESSAGE_MAX / 2 + 4);
	fake_write(f.fd[2], &mark, 4);
	world_wait(&w->s[0], w_s->downs[2] == 1);
	assert_int_equal(world_logged(&w->s[0], "sent a record of"), 1);
	free(half);
	fake_close(&f);
	world_fini(w);
	free(w);
}

/* It was up, and then nothing comes any more, as from a stopped process. */
static void test_silence(void **state)
{
	struct world *w = malloc(sizeof(*w));
	struct nfs4r_rpc_peer_stats st;
	struct fake f;

	world_init(w, 2);
	w->s[0].cfg.silence_ms = 300;
	world_start(w, 0);
	fake_call(&f, &w->s[1], &w->s[0], 1);
	world_wait(&w->s[0], w_s->downs[2] == 1);
	assert_int_equal(world_logged(&w->s[0], "nothing was heard"), 1);
	assert_true(nfs4r_rpc_get_stats(w->s[0].rpc, 2, &st));
	assert_false(st.up);
	assert_int_equal(st.queued_bytes, 0);
	fake_close(&f);
	world_fini(w);
	free(w);
}

/* The called server takes the connection and never says a word; then it is there. */
static void test_half_open(void **state)
{
	struct world *w = malloc(sizeof(*w));
	struct nfs4r_endpoint at;
	int fd;

	world_init(w, 2);
	w->s[1].cfg.silence_ms = 200;
	at = w->s[0].cfg.servers[0];
	fd = raw_listen(&at);
	world_start(w, 1);
	world_wait(&w->s[1], world_state_has(w_s, 1, "no answer for"));
	close(fd);
	world_start(w, 0);
	world_wait_all_up(w);
	world_fini(w);
	free(w);
}

/* One lane breaks: all go, one event. */
static void test_one_lane_takes_all_down(void **state)
{
	struct world *w = one_of_two();
	struct fake f;

	for (uint32_t lane = 0; lane < NFS4R_LANES; lane++) {
		fake_call(&f, &w->s[1], &w->s[0], 1 + lane);
		close(f.fd[lane]);
		world_wait(&w->s[0], w_s->downs[2] == lane + 1);
		for (uint32_t i = 0; i < NFS4R_LANES; i++) {
			if (i == lane)
				continue;
			assert_true(raw_closed(f.fd[i], WORLD_WAIT_MS));
			close(f.fd[i]);
		}
	}
	assert_int_equal(world_get(&w->s[0], w_s->downs[2]), NFS4R_LANES);
	world_fini(w);
	free(w);
}

/* A new attempt of the same start replaces connections that are still thought to stand. */
static void test_second_connection_replaces(void **state)
{
	struct world *w = one_of_two();
	struct nfs4r_hello old;
	struct fake f, g;
	int fd;

	fake_call(&f, &w->s[1], &w->s[0], 1);
	fake_call(&g, &w->s[1], &w->s[0], 2);
	assert_int_equal(world_get(&w->s[0], w_s->downs[2]), 1);
	for (int i = 0; i < NFS4R_LANES; i++)
		assert_true(raw_closed(f.fd[i], WORLD_WAIT_MS));
	/* A late one of the first attempt changes nothing. */
	old = f.hello;
	fd = raw_connect("127.0.0.2", &w->s[0].cfg.servers[0]);
	fake_tell_hello(fd, &old);
	assert_true(raw_closed(fd, WORLD_WAIT_MS));
	close(fd);
	assert_int_equal(world_get(&w->s[0], w_s->downs[2]), 1);
	assert_true(world_get(&w->s[0], w_s->up[2]));
	fake_close(&f);
	fake_close(&g);
	world_fini(w);
	free(w);
}

/* Lanes of two attempts never make one peer. */
static void test_lanes_of_two_attempts(void **state)
{
	struct world *w = one_of_two();
	struct nfs4r_transport_msg_body m;
	struct nfs4r_hello h;
	struct fake g;
	int fd[2];

	fake_hello(&h, &w->s[1], &w->s[0]);
	for (uint32_t lane = 0; lane < 2; lane++) {
		fd[lane] = raw_connect("127.0.0.2", &w->s[0].cfg.servers[0]);
		h.lane = lane;
		fake_tell_hello(fd[lane], &h);
		assert_true(fake_hear(fd[lane], &m));
		memset(&m, 0, sizeof(m));
		m.type = NFS4R_MSG_KEEPALIVE;
		fake_tell(fd[lane], &m);
	}
	fake_call(&g, &w->s[1], &w->s[0], 2);
	for (int i = 0; i < 2; i++) {
		assert_true(raw_closed(fd[i], WORLD_WAIT_MS));
		close(fd[i]);
	}
	assert_int_equal(world_get(&w->s[0], w_s->ups[2]), 1);
	fake_close(&g);
	world_fini(w);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_oversized),
		cmocka_unit_test(test_garbage_before_hello),
		cmocka_unit_test(test_poison),
		cmocka_unit_test(test_fragments),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_too_much_ahead),
		cmocka_unit_test(test_numbers_in_the_wrong_place),
		cmocka_unit_test(test_messages_in_the_wrong_place),
		cmocka_unit_test(test_padding),
		cmocka_unit_test(test_fragments_too_long_together),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_half_open),
		cmocka_unit_test(test_one_lane_takes_all_down),
		cmocka_unit_test(test_second_connection_replaces),
		cmocka_unit_test(test_lanes_of_two_attempts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
