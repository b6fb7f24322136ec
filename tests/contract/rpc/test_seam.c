/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What security.h promises to a flavour, with tables made for that: one that turns bits over, on the transport's thread or apart, whose handshake stops at a gate,
 * that proves what a test wants, and that is due when a test says so.
 */
#include <arpa/inet.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "lib/unit.h"

#include "contract/rpc/fake.h"
#include "contract/rpc/traffic.h"
#include "rpc/security/security.h"

#define OURS NFS4R_SECURITY_KRB5P /* a number that a table of these tests takes */
#define SECOND NFS4R_SECURITY_KRB5I

struct nfs4r_security_session {
	uint8_t key; /* each record is turned over with it, and has it behind */
	nfs4r_server_id peer;
	int generation;
	uint32_t wrapped, unwrapped;
	atomic_int inside;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	nfs4r_server_id gate; /* a first step towards this server waits */
	bool at_gate;
} gate = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
static atomic_int generation, sessions, no_server, refuse_from; /* no_server: is_server says no of this one; refuse_from: the first generation that the called side refuses */
static atomic_int open_of[8]; /* sessions by generation */
static atomic_uint counter;

static struct nfs4r_security_session *seam_open(struct nfs4r_security_setup *setup, const struct nfs4r_rpc_config *cfg, const struct nfs4r_endpoint *peer)
{
	struct nfs4r_security_session *s = calloc(1, sizeof(*s));

	s->peer = peer ? peer->id : 0;
	s->generation = atomic_load(&generation);
	atomic_fetch_add(&sessions, 1);
	atomic_fetch_add(&open_of[s->generation], 1);
	return s;
}

static void gate_pass(nfs4r_server_id peer)
{
	pthread_mutex_lock(&gate.lock);
	while (peer && gate.gate == peer) {
		gate.at_gate = true;
		pthread_cond_broadcast(&gate.changed);
		pthread_cond_wait(&gate.changed, &gate.lock);
	}
	pthread_mutex_unlock(&gate.lock);
}

static void gate_set(nfs4r_server_id peer)
{
	pthread_mutex_lock(&gate.lock);
	gate.gate = peer;
	gate.at_gate = false;
	pthread_cond_broadcast(&gate.changed);
	pthread_mutex_unlock(&gate.lock);
}

static void gate_wait(void)
{
	pthread_mutex_lock(&gate.lock);
	while (!gate.at_gate)
		pthread_cond_wait(&gate.changed, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
}

static enum nfs4r_status say(struct nfs4r_security_step *step, char what, uint8_t key, enum nfs4r_status st)
{
	uint8_t token[2] = { (uint8_t)what, key };

	step->out = nfs4r_buf_copy(token, 2);
	return st;
}

/* Caller: 'a' and its key; called: 'd', and it is content, as with GSSAPI. */
static enum nfs4r_status seam_two_steps(struct nfs4r_security_session *s, struct nfs4r_security_step *step)
{
	const uint8_t *in = step->in;

	if (!in) {
		s->key = (uint8_t)(1 + atomic_fetch_add(&counter, 1) % 255);
		return say(step, 'a', s->key, NFS4R_DELAY);
	}
	s->key = in[1];
	usleep(in[0] == 'd' ? 3000 : 0); /* what came right behind that token comes meanwhile */
	return in[0] == 'a' ? say(step, 'd', s->key, NFS4R_OK) : NFS4R_OK;
}

/* Caller: 'a' and its key; called: 'b'; caller: 'c', and is content as in TLS 1.3. */
static enum nfs4r_status seam_handshake(struct nfs4r_security_session *s, struct nfs4r_security_step *step)
{
	const uint8_t *in = step->in;

	assert_true(atomic_fetch_add(&s->inside, 1) == 0);
	gate_pass(in ? 0 : s->peer);
	atomic_fetch_sub(&s->inside, 1);
	if (!in) {
		s->key = (uint8_t)(1 + atomic_fetch_add(&counter, 1) % 255);
		return say(step, 'a', s->key, NFS4R_DELAY);
	}
	if (step->len != 2 || in[0] < 'a' || in[0] > 'c') {
		strcpy(step->why, "it sends no token of these tests");
		return NFS4R_ACCES;
	}
	s->key = in[1];
	if (in[0] == 'c')
		return NFS4R_OK;
	return in[0] == 'a' ? say(step, 'b', s->key, NFS4R_DELAY) : say(step, 'c', s->key, NFS4R_OK);
}

static enum nfs4r_status seam_is_server(const struct nfs4r_security_session *s, const struct nfs4r_endpoint *claimed, char *why)
{
	if (claimed->id != atomic_load(&no_server) && (s->peer || s->generation < atomic_load(&refuse_from)))
		return NFS4R_OK;
	snprintf(why, NFS4R_WHY, "it proves to be somebody else than server %u", claimed->id);
	return NFS4R_ACCES;
}

static bool seam_is_due(const struct nfs4r_security_session *s)
{
	return s->generation < atomic_load(&generation);
}

static struct nfs4r_buf *seam_wrap(struct nfs4r_security_session *s, const void *bytes, size_t len)
{
	struct nfs4r_buf *b = nfs4r_buf_new((uint32_t)len + 5);

	assert_true(atomic_fetch_add(&s->inside, 1) == 0); /* one user at a time */
	for (size_t i = 0; i < len; i++)
		b->data[i] = ((const uint8_t *)bytes)[i] ^ s->key;
	b->data[len] = s->key;
	memcpy(b->data + len + 1, &s->wrapped, 4);
	s->wrapped++;
	atomic_fetch_sub(&s->inside, 1);
	return b;
}

/* Only in the order in which they were wrapped. */
static struct nfs4r_buf *seam_unwrap(struct nfs4r_security_session *s, const void *bytes, size_t len)
{
	struct nfs4r_buf *b = len < 5 ? NULL : nfs4r_buf_copy(bytes, (uint32_t)len - 5);
	const uint8_t *end = (const uint8_t *)bytes + len - 5;

	assert_true(atomic_fetch_add(&s->inside, 1) == 0);
	for (size_t i = 0; b && i < len - 5; i++)
		b->data[i] ^= s->key;
	if (b && (*end != s->key || memcmp(end + 1, &s->unwrapped, 4) != 0)) {
		nfs4r_buf_put(b);
		b = NULL;
	}
	s->unwrapped++;
	atomic_fetch_sub(&s->inside, 1);
	return b;
}

static void seam_close(struct nfs4r_security_session *s)
{
	assert_int_equal(atomic_load(&s->inside), 0);
	atomic_fetch_sub(&sessions, 1);
	atomic_fetch_sub(&open_of[s->generation], 1);
	free(s);
}

#define TABLE(number, apart, shake)                                                                                                          \
	{                                                                                                                                    \
		.flavour = number, .name = "turning", .blocks = apart, .costs = apart, .overhead = 5, .open = seam_open, .handshake = shake, \
		.is_server = seam_is_server, .is_due = seam_is_due, .wrap = seam_wrap, .unwrap = seam_unwrap, .close = seam_close            \
	}
static const struct nfs4r_security_ops here = TABLE(OURS, false, seam_handshake), apart = TABLE(OURS, true, seam_handshake), second = TABLE(SECOND, true, seam_handshake),
				       two_steps = TABLE(OURS, true, seam_two_steps);

static void begin(const struct nfs4r_security_ops *ops)
{
	atomic_store(&generation, 0);
	atomic_store(&no_server, 0);
	atomic_store(&refuse_from, 1000);
	gate_set(0);
	nfs4r_security_add(ops);
}

static void end(struct world *w)
{
	world_fini(w);
	free(w);
	assert_int_equal(atomic_load(&sessions), 0);
	nfs4r_security_add(NULL);
}

static struct world *world_of(uint32_t n, enum nfs4r_security security)
{
	struct world *w = malloc(sizeof(*w));

	world_init(w, n);
	for (uint32_t i = 0; i < n; i++)
		w->s[i].cfg.security = security;
	return w;
}

static void records_keep_their_order(const struct nfs4r_security_ops *ops)
{
	struct world *w;

	begin(ops);
	w = world_of(2, OURS);
	world_start_all(w);
	world_wait_all_up(w);
	struct traffic to = { w, 0, 1, 0, 0, 0 }, back = { w, 1, 0, 0, 0, 0 };

	for (int i = 0; i < 30; i++) {
		traffic_some(&to, 10);
		traffic_some(&back, 10);
	}
	traffic_arrived(&to);
	traffic_arrived(&back);
	end(w);
}

static void test_records_here(void **state)
{
	records_keep_their_order(&here);
}

static void test_records_apart(void **state)
{
	records_keep_their_order(&apart);
}

/* A handshake that stands still at both sides stops nobody else, and neither does an attempt that its caller gave up. */
static void test_slow_handshake_blocks_nobody(void **state)
{
	struct world *w;

	begin(&apart);
	w = world_of(3, NFS4R_SECURITY_NONE);
	w->s[2].cfg.security = OURS;
	for (int i = 0; i < 2; i++)
		w->s[i].cfg.security_accept = NFS4R_SECURITY_BIT(OURS);
	gate_set(1);
	world_start_all(w);
	gate_wait();
	world_wait(&w->s[0], w_s->up[2]);
	world_wait(&w->s[1], w_s->up[1] && w_s->up[3]);
	world_wait(&w->s[2], w_s->up[2]);
	struct traffic here_to = { w, 0, 1, 0, 0, 0 }, from_caller = { w, 2, 1, 0, 0, 0 };

	traffic_some(&here_to, 100);
	traffic_arrived(&here_to);
	world_get(&w->s[1], w_s->last_question = w_s->last_entry = w_s->bytes = 0); /* another sender */
	traffic_some(&from_caller, 100);
	traffic_arrived(&from_caller);
	assert_int_equal(world_get(&w->s[0], w_s->up[3]), 0);
	gate_set(0);
	world_wait(&w->s[0], w_s->up[3]);
	world_wait(&w->s[2], w_s->up[1]);
	end(w);
}

static void *stop_third(void *arg)
{
	world_stop(arg, 2);
	return NULL;
}

/* A stop waits for a step that runs, and nothing is left of it; so does the end of a connection. */
static void test_stop_in_a_handshake(void **state)
{
	struct world *w;
	pthread_t thread;

	begin(&apart);
	w = world_of(3, OURS);
	gate_set(1);
	world_start_all(w);
	gate_wait();
	world_stop(w, 0); /* the other end of what stands at the gate */
	assert_int_equal(pthread_create(&thread, NULL, stop_third, w), 0);
	gate_set(0);
	pthread_join(thread, NULL);
	end(w);
}

/* Closed while workers have its records: those that came before are delivered once or not at all, and nothing is left. */
static void test_stop_under_traffic(void **state)
{
	struct world *w;

	begin(&apart);
	w = world_of(2, OURS);
	world_start_all(w);
	for (int round = 0; round < 6; round++) {
		world_wait(&w->s[0], w_s->up[2]);
		world_wait(&w->s[1], w_s->up[1]);
		struct traffic to = { w, 0, 1, 0, 0, 0 }, back = { w, 1, 0, 0, 0, 0 };

		traffic_some(&to, 50);
		traffic_some(&back, 50);
		world_stop(w, (uint32_t)round % 2);
		world_wait(&w->s[1 - round % 2], w_s->downs[round % 2 + 1] == (uint32_t)round / 2 + 1);
		w->s[round % 2].last_question = w->s[round % 2].last_entry = 0;
		w->s[round % 2].cfg.inc += 1000;
		world_start(w, (uint32_t)round % 2);
	}
	end(w);
}

/* Who proves to be somebody else is let in by nobody, from either side, and hears no more than the number of a cause. */
static void test_somebody_else(void **state)
{
	for (int who = 1; who <= 2; who++) {
		struct world *w;

		begin(&apart);
		atomic_store(&no_server, who);
		w = world_of(2, OURS);
		world_start_all(w);
		world_wait(&w->s[2 - who], strstr(w_s->log, who == 1 ? "refused server 1 (127.0.0.1" : "refused server 2 (127.0.0.2"));
		assert_true(world_logged(&w->s[2 - who], who == 1 ? "somebody else than server 1" : "somebody else than server 2") > 0);
		world_wait(&w->s[2 - who], world_state_has(w_s, (nfs4r_server_id)who, "somebody else"));
		if (who == 2) /* the one that called hears that it is refused, and not why */
			world_wait(&w->s[1], strstr(w_s->log, "security differs, or its handshake failed"));
		assert_int_equal(world_logged(&w->s[who - 1], "somebody else"), 0);
		assert_int_equal(world_get(&w->s[0], w_s->ups[2]) + world_get(&w->s[1], w_s->ups[1]), 0);
		end(w);
	}
}

static void renewed_under_traffic(const struct nfs4r_security_ops *ops)
{
	struct nfs4r_rpc_peer_stats st;
	struct world *w;

	begin(ops);
	w = world_of(2, OURS);
	world_start_all(w);
	world_wait_all_up(w);
	struct traffic to = { w, 0, 1, 0, 0, 0 }, back = { w, 1, 0, 0, 0, 0 };

	for (int round = 1; round <= 3; round++) {
		uint64_t until = world_now_ns() + WORLD_WAIT_MS * 1000000ull;

		atomic_store(&generation, round);
		do {
			traffic_some(&to, 10);
			traffic_some(&back, 10);
			traffic_arrived(&to); /* else tokens wait behind megabytes */
			traffic_arrived(&back);
		} while (atomic_load(&open_of[round - 1]) > 0 && world_now_ns() < until);
		assert_int_equal(atomic_load(&open_of[round - 1]), 0);
		assert_int_equal(atomic_load(&open_of[round]), 2 * (NFS4R_LANE_BULK + (int)w->s[1].cfg.connections));
	}
	assert_true(nfs4r_rpc_get_stats(w->s[0].rpc, 2, &st));
	assert_int_equal(st.connects, 1);
	assert_int_equal(world_get(&w->s[0], w_s->downs[2]) + world_get(&w->s[1], w_s->downs[1]), 0);
	assert_true(world_logged(&w->s[0], "was renewed") > 0);
	end(w);
}

static void test_renewed_here(void **state)
{
	renewed_under_traffic(&here);
}

static void test_renewed_apart(void **state)
{
	renewed_under_traffic(&apart);
}

/* The called side changes its keys right behind the token that makes the other one content. */
static void test_renewed_in_two_steps(void **state)
{
	renewed_under_traffic(&two_steps);
}

/* A lane that is paused while a worker has its records goes on afterwards, with nothing lost. */
static void test_paused_lane(void **state)
{
	struct world *w;

	begin(&apart);
	w = world_of(2, OURS);
	world_start_all(w);
	world_wait_all_up(w);
	struct traffic to = { w, 0, 1, 0, 0, 0 };

	for (int round = 0; round < 20; round++) {
		nfs4r_rpc_pause(w->s[1].rpc, 1, true);
		for (int i = 0; i < 20; i++)
			traffic_question(&to);
		traffic_entry(&to, 1000);
		world_wait(&w->s[1], w_s->last_entry == to.entries);
		nfs4r_rpc_pause(w->s[1].rpc, 1, false);
		traffic_arrived(&to);
	}
	end(w);
}

/* The other side does not take what a renewal proves: what was proved before stays. */
static void test_renewal_refused(void **state)
{
	struct world *w;

	begin(&apart);
	atomic_store(&refuse_from, 1);
	w = world_of(2, OURS);
	world_start_all(w);
	world_wait_all_up(w);
	struct traffic to = { w, 0, 1, 0, 0, 0 }, back = { w, 1, 0, 0, 0, 0 };

	atomic_store(&generation, 1);
	world_wait(&w->s[0], strstr(w_s->log, "cannot be renewed: it proves to be somebody else than server 2"));
	world_wait(&w->s[1], strstr(w_s->log, "server 1 does not take what the connections with it are to be renewed with"));
	traffic_some(&to, 50);
	traffic_some(&back, 50);
	traffic_arrived(&to);
	traffic_arrived(&back);
	assert_int_equal(world_get(&w->s[0], w_s->downs[2]), 0);
	end(w);
}

/* ---- a peer by hand, which renews as it likes ---- */

struct hand { /* one lane of it; `wraps` and `unwraps` are its sessions */
	int fd;
	struct nfs4r_security_session wraps, unwraps, next;
};

static void hand_tell(struct hand *h, struct nfs4r_security_session *with, const struct nfs4r_transport_msg_body *m)
{
	struct nfs4r_buf *b = nfs4r_transport_msg_encode(m);

	if (with) {
		struct nfs4r_buf *plain = b;

		b = seam_wrap(with, plain->data, plain->len);
		nfs4r_buf_put(plain);
	}
	fake_record(h->fd, b);
}

static void hand_token(struct hand *h, struct nfs4r_security_session *with, char what, uint8_t key)
{
	struct nfs4r_transport_msg_body m = { .type = NFS4R_MSG_TOKEN, .security = OURS };
	uint8_t token[2] = { (uint8_t)what, key };

	m.opaque = nfs4r_buf_copy(token, 2);
	hand_tell(h, with, &m);
	nfs4r_buf_put(m.opaque);
}

static void hand_type(struct hand *h, struct nfs4r_security_session *with, uint32_t type)
{
	struct nfs4r_transport_msg_body m = { .type = type };

	hand_tell(h, with, &m);
}

/* Waits for a message of this type. False: the connection ended. */
static bool hand_hear(struct hand *h, struct nfs4r_security_session *with, uint32_t type)
{
	for (;;) {
		struct nfs4r_transport_msg_body m;
		uint8_t bytes[8192];
		struct nfs4r_buf *b;
		uint32_t mark;

		if (recv(h->fd, &mark, 4, MSG_WAITALL) != 4)
			return false;
		mark = ntohl(mark) & 0x7fffffff;
		assert_true(mark <= sizeof(bytes));
		if (recv(h->fd, bytes, mark, MSG_WAITALL) != mark)
			return false;
		b = with ? seam_unwrap(with, bytes, mark) : nfs4r_buf_copy(bytes, mark);
		assert_non_null(b);
		assert_int_equal(nfs4r_transport_msg_decode(b->data, b->len, NFS4R_PROTOCOL_VERSION, &m), NFS4R_OK);
		bool there = m.type == type;

		nfs4r_transport_msg_fini(&m);
		nfs4r_buf_put(b);
		if (there)
			return true;
	}
}

/* All lanes, as server 2 to server 1. */
static void hand_call(struct world *w, struct hand hands[NFS4R_LANES])
{
	struct nfs4r_transport_msg_body m = { .type = NFS4R_MSG_HELLO };

	fake_hello(&m.hello, &w->s[1], &w->s[0]);
	memset(hands, 0, NFS4R_LANES * sizeof(*hands));
	for (uint32_t lane = 0; lane < NFS4R_LANES; lane++) {
		struct hand *h = &hands[lane];

		h->fd = raw_connect("127.0.0.2", &w->s[0].cfg.servers[0]);
		assert_true(h->fd >= 0);
		h->wraps.key = h->unwraps.key = (uint8_t)(7 + lane);
		hand_token(h, NULL, 'a', h->wraps.key);
		assert_true(hand_hear(h, NULL, NFS4R_MSG_TOKEN));
		hand_token(h, NULL, 'c', h->wraps.key);
		m.hello.lane = lane;
		hand_tell(h, &h->wraps, &m);
		assert_true(hand_hear(h, &h->unwraps, NFS4R_MSG_HELLO));
		hand_type(h, &h->wraps, NFS4R_MSG_KEEPALIVE);
	}
	world_wait(&w->s[0], w_s->up[2]);
}

/* The tokens of a renewal; the other side is content, and changes its keys. */
static void hand_renew(struct hand *h)
{
	h->next.key = 99;
	hand_token(h, &h->wraps, 'a', h->next.key);
	assert_true(hand_hear(h, &h->unwraps, NFS4R_MSG_TOKEN));
	hand_token(h, &h->wraps, 'c', h->next.key);
	assert_true(hand_hear(h, &h->unwraps, NFS4R_MSG_KEYS));
	h->unwraps = h->next;
}

enum wrong_keys {
	KEYS_IN_ORDER, /* once, after the handshake */
	KEYS_WITHOUT_A_HANDSHAKE,
	KEYS_BEFORE_ITS_END,
	KEYS_TWICE,
	KEYS_NOT_SAID, /* a record of the new session, and no KEYS before it */
};

static void keys_in(struct hand *h, enum wrong_keys what)
{
	h->next.key = 99;
	if (what == KEYS_BEFORE_ITS_END) {
		hand_token(h, &h->wraps, 'a', h->next.key);
		assert_true(hand_hear(h, &h->unwraps, NFS4R_MSG_TOKEN));
	} else if (what != KEYS_WITHOUT_A_HANDSHAKE) {
		hand_renew(h);
	}
	if (what != KEYS_NOT_SAID)
		hand_type(h, &h->wraps, NFS4R_MSG_KEYS);
	if (what == KEYS_TWICE)
		hand_type(h, &h->next, NFS4R_MSG_KEYS);
	else if (what != KEYS_WITHOUT_A_HANDSHAKE)
		hand_type(h, &h->next, NFS4R_MSG_KEEPALIVE);
}

/* Log 6.20: on any lane, KEYS counts after a handshake that was done, and once. */
static void test_keys_have_their_place(void **state)
{
	for (enum wrong_keys what = KEYS_IN_ORDER; what <= KEYS_NOT_SAID; what++) {
		for (uint32_t lane = 0; lane < NFS4R_LANES; lane++) {
			struct hand hands[NFS4R_LANES];
			struct world *w;

			begin(&here);
			w = world_of(2, OURS);
			world_start(w, 0);
			hand_call(w, hands);
			keys_in(&hands[lane], what);
			if (what == KEYS_IN_ORDER) {
				world_wait(&w->s[0], strstr(w_s->log, "the security of a connection with server 2 was renewed"));
				assert_int_equal(world_get(&w->s[0], w_s->downs[2]), 0);
			} else {
				world_wait(&w->s[0], w_s->downs[2] == 1);
				assert_int_equal(world_logged(&w->s[0], what == KEYS_NOT_SAID ? "sent a record that is not authentic" : "changed keys without a handshake"), 1);
				assert_int_equal(world_logged(&w->s[0], "was renewed"), what == KEYS_TWICE);
			}
			for (uint32_t i = 0; i < NFS4R_LANES; i++)
				close(hands[i].fd);
			end(w);
		}
	}
}

/*
 * What a server calls with, what another one takes. That with a higher id calls. In the table: own flavour and those accepted beside it, of the server that is called.
 */
static void test_who_takes_what(void **state)
{
	enum {
		N = NFS4R_SECURITY_BIT(NFS4R_SECURITY_NONE),
		A = NFS4R_SECURITY_BIT(OURS),
		B = NFS4R_SECURITY_BIT(SECOND)
	};
	static const struct {
		enum nfs4r_security calls, own;
		uint32_t accepts;
		bool up;
	} rows[] = {
		{ NFS4R_SECURITY_NONE, NFS4R_SECURITY_NONE, 0, true },
		{ NFS4R_SECURITY_NONE, NFS4R_SECURITY_NONE, A, true },
		{ NFS4R_SECURITY_NONE, OURS, 0, false },
		{ NFS4R_SECURITY_NONE, OURS, N, true },
		{ NFS4R_SECURITY_NONE, OURS, B, false },
		{ OURS, NFS4R_SECURITY_NONE, 0, false },
		{ OURS, NFS4R_SECURITY_NONE, A, true },
		{ OURS, NFS4R_SECURITY_NONE, B, false },
		{ OURS, OURS, 0, true },
		{ OURS, OURS, N | B, true },
		{ OURS, SECOND, 0, false },
		{ OURS, SECOND, A | N, true },
		{ SECOND, OURS, N, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nfs4r_rpc_peer_stats st;
		struct world *w;

		begin(&apart);
		nfs4r_security_add(&second);
		w = world_of(2, rows[i].calls);
		w->s[0].cfg.security = rows[i].own;
		w->s[0].cfg.security_accept = rows[i].accepts;
		world_start_all(w);
		if (rows[i].up) {
			world_wait_all_up(w);
			for (int k = 0; k < 2; k++) {
				assert_true(nfs4r_rpc_get_stats(w->s[k].rpc, (nfs4r_server_id)(2 - k), &st));
				assert_int_equal(st.security, rows[i].calls);
			}
		} else { /* each side says so in its log */
			for (int k = 0; k < 2; k++)
				world_wait(&w->s[k], strstr(w_s->log, "security differs"));
			assert_int_equal(world_get(&w->s[0], w_s->ups[2]) + world_get(&w->s[1], w_s->ups[1]), 0);
		}
		end(w);
	}
}

static void test_accepting_none_is_said(void **state)
{
	struct world *w;

	begin(&apart);
	w = world_of(2, OURS);
	w->s[0].cfg.security_accept = NFS4R_SECURITY_BIT(NFS4R_SECURITY_NONE);
	world_start_all(w);
	world_wait_all_up(w);
	assert_int_equal(world_logged(&w->s[0], "Peer_Security_Accept = none"), 1);
	assert_int_equal(world_logged(&w->s[1], "Peer_Security_Accept = none"), 0);
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_here),
		cmocka_unit_test(test_records_apart),
		cmocka_unit_test(test_slow_handshake_blocks_nobody),
		cmocka_unit_test(test_stop_in_a_handshake),
		cmocka_unit_test(test_stop_under_traffic),
		cmocka_unit_test(test_somebody_else),
		cmocka_unit_test(test_renewed_here),
		cmocka_unit_test(test_renewed_apart),
		cmocka_unit_test(test_renewed_in_two_steps),
		cmocka_unit_test(test_paused_lane),
		cmocka_unit_test(test_renewal_refused),
		cmocka_unit_test(test_keys_have_their_place),
		cmocka_unit_test(test_who_takes_what),
		cmocka_unit_test(test_accepting_none_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
