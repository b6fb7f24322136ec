/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A connection and the handshake that secures it: the shipped transport of server 2, and on the other side somebody with keys, good ones or others.
 *
 * The other side is made of the same table of src/rpc/security/security.h. So it gets as far as a peer gets, and the input says where it departs from that: in a token, in a record
 * before or after it is protected, in the order of records, in what it says inside. Key material is made once.
 *
 * Input: a byte of flags, a byte for the flavour, then pieces.
 *  - Flags: bits 0-1 say who proves itself, and bits 2-3 who does so when the security is renewed. UP: the server is up, and the connection stands. CALLS: this server calls server 1;
 *    without it server 3 calls. Bits 6-7 are the lane.
 *  - A piece: a byte, whose bits 0-2 are enum piece, and what the piece says. LATE: steps and records that belong to other threads wait until the next piece.
 *
 * What is checked: nobody is taken for a server whose keys they lack, at first or after a renewal. A record that was changed, repeated, cut or left out ends the
 * connection. What the transport sends can be opened by the other side.
 */
#include <arpa/inet.h>

#include "fuzz/stranger.h"
#include "xdr_map.h"

enum {
	UP = 0x10,
	CALLS = 0x20,
	LATE = 0x08
};
enum piece {
	NEXT, /* what a peer would send */
	BENT_INSIDE, /* the same, but bytes of it were changed before it was protected: struct bend */
	BENT, /* ... afterwards */
	SAID, /* a message of the input, protected if anything is: two bytes of length, the bytes */
	RAW, /* a record of the input as it is: likewise */
	BYTES, /* what may be no record: likewise */
	LEFT_OUT, /* what a peer would send is not sent */
	AGAIN, /* the last record; with LATE, the next one in two halves */
};

static struct {
	struct nfs4r_rpc_config cfg;
	struct nfs4r_security_setup *setup[NFS4R_SECURITY_FLAVOURS];
} self, others[4][STRANGERS]; /* others by id */

/* The other side. */
static struct {
	const struct nfs4r_security_ops *ops;
	struct nfs4r_rpc *rpc;
	struct rpc_conn *c; /* at the transport; NULL: it is gone */
	nfs4r_server_id id;
	unsigned who, who_renews;
	bool calls;
	struct nfs4r_security_session *first, *renewal, *wraps, *unwraps;
	bool begun, secured, greeted, confirmed, renewed, gave_up;
	struct nfs4r_buf *token; /* that came, to be answered; NULL: none */
	struct nfs4r_security_session *proved; /* at the transport, that was checked */
	bool gap; /* a record was left out */
	uint8_t in[1 << 18]; /* what the transport has written, from `at` on not looked at */
	size_t in_len, at;
	struct nfs4r_buf *last; /* record that was sent */
} s;

/* ---- what belongs to other threads ---- */

void __wrap_rpc_work_begin(struct nfs4r_rpc *rpc, struct rpc_work *w, enum rpc_crew crew);
static struct rpc_work *works, **works_tail = &works;

void __wrap_rpc_work_begin(struct nfs4r_rpc *rpc, struct rpc_work *w, enum rpc_crew crew)
{
	w->next = NULL;
	*works_tail = w;
	works_tail = &w->next;
}

static void works_run(void)
{
	while (works) {
		struct rpc_work *w = works;

		works = w->next;
		if (!works)
			works_tail = &works;
		w->run(w);
		w->done(w);
	}
}

/* ---- what the transport says ---- */

void fuzz_sent(struct rpc_conn *c, const void *bytes, size_t len)
{
	if (c != s.c)
		return;
	FUZZ_CHECK(len <= sizeof(s.in) - s.in_len);
	memcpy(s.in + s.in_len, bytes, len);
	s.in_len += len;
}

static void session_drop(struct nfs4r_security_session **session)
{
	if (*session)
		s.ops->close(*session);
	*session = NULL;
}

static void renewal_over(void)
{
	if (!s.renewal || s.wraps != s.renewal || s.unwraps != s.renewal)
		return;
	session_drop(&s.first);
	s.first = s.renewal;
	s.renewal = NULL;
	s.renewed = false;
}

static void heard_plain(const void *bytes, size_t len)
{
	struct nfs4r_transport_msg_body m;
	uint32_t type = nfs4r_transport_msg_type(bytes, len);

	if (type != NFS4R_MSG_TOKEN && type != NFS4R_MSG_KEYS)
		return;
	FUZZ_CHECK(nfs4r_transport_msg_decode(bytes, len, NFS4R_PROTOCOL_VERSION, &m) == NFS4R_OK);
	if (type == NFS4R_MSG_KEYS) {
		if (s.renewed)
			s.unwraps = s.renewal;
		else
			s.gave_up = true;
		renewal_over();
		return;
	}
	nfs4r_buf_put(s.token);
	s.token = m.opaque && m.opaque->len ? nfs4r_buf_get(m.opaque) : NULL;
	if (!s.token && m.security && s.renewal && s.wraps != s.renewal && s.unwraps != s.renewal) {
		session_drop(&s.renewal);
		s.renewed = false;
	}
	nfs4r_transport_msg_fini(&m);
}

static void heard(const uint8_t *bytes, size_t len)
{
	struct nfs4r_buf *plain;

	if (s.gave_up || (s.secured && nfs4r_transport_msg_type(bytes, len) == NFS4R_MSG_REFUSED))
		return;
	if (!s.secured) {
		heard_plain(bytes, len);
		return;
	}
	plain = s.ops->unwrap(s.unwraps, bytes, len);
	FUZZ_CHECK(plain);
	heard_plain(plain->data, plain->len);
	nfs4r_buf_put(plain);
}

/* Until a token that has to be answered first: what follows it may be protected by what comes of it. */
static void listen_to_it(void)
{
	uint32_t mark;

	while (s.in_len - s.at >= sizeof(mark) && !s.token) {
		memcpy(&mark, s.in + s.at, sizeof(mark));
		mark = ntohl(mark);
		FUZZ_CHECK(mark >> 31);
		mark &= 0x7fffffff;
		if (s.in_len - s.at - sizeof(mark) < mark)
			break;
		s.at += sizeof(mark) + mark;
		heard(s.in + s.at - mark, mark);
	}
	if (s.at < s.in_len)
		return;
	s.in_len = s.at = 0;
}

/* ---- what the other side says ---- */

static struct nfs4r_security_session *session_open(unsigned who, bool calls)
{
	struct nfs4r_security_session *n = s.ops->open(others[s.id][who].setup[s.ops->flavour], &others[s.id][who].cfg, calls ? &self.cfg.servers[FUZZ_SELF - 1] : NULL);

	FUZZ_CHECK(n);
	return n;
}

static struct nfs4r_buf *encoded(struct nfs4r_transport_msg_body m)
{
	struct nfs4r_buf *b = nfs4r_transport_msg_encode(&m);

	FUZZ_CHECK(b);
	return b;
}

/* A step of @session with the token that came. NULL: it has nothing to say, or gave up. */
static struct nfs4r_buf *step(struct nfs4r_security_session *session, bool *done)
{
	struct nfs4r_security_step step = { .in = s.token ? s.token->data : NULL, .len = s.token ? s.token->len : 0 };
	enum nfs4r_status st = s.ops->handshake(session, &step);
	struct nfs4r_buf *b = NULL;

	if (st == NFS4R_OK)
		*done = true;
	else if (st != NFS4R_DELAY)
		FUZZ_CHECK(step.why[0] && !step.out);
	s.gave_up = s.gave_up || (st != NFS4R_OK && st != NFS4R_DELAY);
	if (step.out)
		b = encoded((struct nfs4r_transport_msg_body){ .type = NFS4R_MSG_TOKEN, .security = s.ops->flavour, .opaque = step.out });
	nfs4r_buf_put(step.out);
	nfs4r_buf_put(s.token);
	s.token = NULL;
	return b;
}

static struct nfs4r_buf *hello(void)
{
	struct nfs4r_transport_msg_body m = { .type = NFS4R_MSG_HELLO };
	struct nfs4r_hello *h = &m.hello;

	h->magic = NFS4R_HELLO_MAGIC;
	h->protocol = self.cfg.protocol;
	h->disk_format = self.cfg.disk_format;
	memcpy(h->volume, self.cfg.volume, sizeof(h->volume));
	h->server = s.id;
	h->to = FUZZ_SELF;
	h->lane = s.c->lane;
	h->index = s.c->index;
	h->inc = 1;
	h->session = s.calls ? 1 : s.c->peer ? s.c->peer->session :
					       0;
	h->security = s.ops->flavour;
	h->lease_ms = self.cfg.keys_now.lease_ms;
	h->silence_ms = self.cfg.keys_now.silence_ms;
	h->drift_permille = self.cfg.keys_now.drift_permille;
	h->durability = self.cfg.keys_now.durability;
	h->nservers = self.cfg.nservers;
	for (uint32_t k = 0; k < h->nservers; k++) {
		h->servers[k].id = self.cfg.servers[k].id;
		h->servers[k].port = self.cfg.servers[k].port;
	}
	h->nkeys = self.cfg.nkeys;
	memcpy(h->keys, self.cfg.keys, sizeof(h->keys));
	return encoded(m);
}

static struct nfs4r_buf *renew(void)
{
	bool done = false;

	if (s.renewal && s.renewed && s.wraps != s.renewal && (!s.calls || s.unwraps == s.renewal))
		return encoded((struct nfs4r_transport_msg_body){ .type = NFS4R_MSG_KEYS });
	if (!s.renewal && !s.calls && !s.token)
		return encoded((struct nfs4r_transport_msg_body){ .type = NFS4R_MSG_TOKEN }); /* please begin */
	if (s.renewal && (s.renewed || !s.token))
		return encoded((struct nfs4r_transport_msg_body){ .type = NFS4R_MSG_KEEPALIVE });
	if (!s.renewal) {
		s.renewal = session_open(s.who_renews, s.calls);
		if (s.calls) {
			nfs4r_buf_put(s.token);
			s.token = NULL;
		}
	}
	struct nfs4r_buf *b = step(s.renewal, &done);
	s.renewed = done;
	return b;
}

/* What a peer would send next, as it is before it is protected; NULL: nothing. *protect: it is. */
static struct nfs4r_buf *next(bool *protect)
{
	struct nfs4r_buf *b;

	*protect = s.secured;
	if (s.gave_up)
		return NULL;
	if (!s.secured && (s.token || (s.calls && !s.begun))) {
		s.begun = true;
		b = step(s.first, &s.secured);
		s.wraps = s.unwraps = s.first;
		return b;
	}
	if (!s.secured)
		return NULL;
	if (!s.greeted) {
		s.greeted = true;
		return hello();
	}
	if (s.calls && !s.confirmed) {
		s.confirmed = true;
		return encoded((struct nfs4r_transport_msg_body){ .type = NFS4R_MSG_KEEPALIVE });
	}
	return renew();
}

/* The record that @plain, which is put, becomes. */
static struct nfs4r_buf *protected(struct nfs4r_buf *plain, bool keys)
{
	struct nfs4r_buf *b = s.ops->wrap(s.wraps, plain->data, plain->len);

	FUZZ_CHECK(b && b->len <= plain->len + s.ops->overhead);
	nfs4r_buf_put(plain);
	if (keys)
		s.wraps = s.renewal;
	return b;
}

/* ---- pieces ---- */

/* How many bytes are changed (bits 0-1), whether the end is cut off (4) or something follows it (8); for each two bytes of place, one to combine it with. True: it is another one. */
static bool bend(struct fuzz_in *in, struct nfs4r_buf **b)
{
	uint8_t how = fuzz_u8(in), n = how & 3;
	uint32_t len = (*b)->len, cut = how & 4 ? fuzz_u16(in) % (len + 1) : 0, more = how & 8 ? fuzz_u8(in) : 0;
	struct nfs4r_buf *bent = nfs4r_buf_new(len - cut + more);
	bool differs;

	FUZZ_CHECK(bent);
	memcpy(bent->data, (*b)->data, len - cut);
	memset(bent->data + len - cut, how, more);
	for (; n > 0 && bent->len; n--) {
		uint32_t at = fuzz_u16(in) % bent->len;

		bent->data[at] ^= fuzz_u8(in);
	}
	differs = bent->len != len || memcmp(bent->data, (*b)->data, len) != 0;
	nfs4r_buf_put(*b);
	*b = bent;
	return differs;
}

/* The next record that comes over the connection is opened at once, or as soon as works are run. */
static bool is_listened_to(const struct rpc_conn *c)
{
	return c && !rpc_conn_dead(c) && c->secured && c->unwraps && !c->paused && !rpc_conn_is_full(c) && !c->in_len && !c->fragment_left && !c->fragment_last && !c->arrived && !c->opened &&
		!c->apart;
}

static void send_bytes(const struct nfs4r_buf *b)
{
	if (s.c && !rpc_conn_dead(s.c))
		fuzz_receive(s.c, b->data, b->len);
}

/* @end: nobody may take it for a record of the peer. Puts @b. */
static void send_record(struct nfs4r_buf *b, bool end)
{
	struct nfs4r_buf *all = nfs4r_buf_new(b->len + 4);
	uint32_t mark = htonl(0x80000000 | b->len);
	bool opens = is_listened_to(s.c);

	FUZZ_CHECK(all);
	memcpy(all->data, &mark, sizeof(mark));
	memcpy(all->data + sizeof(mark), b->data, b->len);
	send_bytes(all);
	nfs4r_buf_put(all);
	nfs4r_buf_put(s.last);
	s.last = opens ? b : NULL;
	if (!opens)
		nfs4r_buf_put(b);
	if (!opens || !end)
		return;
	works_run();
	FUZZ_CHECK(rpc_conn_dead(s.c));
}

static struct nfs4r_buf *given(struct fuzz_in *in)
{
	size_t len;
	uint8_t *bytes = fuzz_bytes(in, fuzz_u16(in), &len);
	struct nfs4r_buf *b = nfs4r_buf_copy(bytes, (uint32_t)len);

	FUZZ_CHECK(b);
	free(bytes);
	return b;
}

static void send_halves(struct nfs4r_buf *b)
{
	uint32_t half = b->len / 2;

	send_record(nfs4r_buf_copy(b->data, half), true);
	if (s.c && !rpc_conn_dead(s.c))
		send_record(nfs4r_buf_copy(b->data + half, b->len - half), true);
	nfs4r_buf_put(b);
}

static void send_next(struct fuzz_in *in, enum piece piece)
{
	bool protect, keys, other = false;
	struct nfs4r_buf *b = next(&protect);

	if (!b)
		return;
	keys = protect && nfs4r_transport_msg_type(b->data, b->len) == NFS4R_MSG_KEYS;
	if (piece == BENT_INSIDE)
		bend(in, &b);
	if (protect)
		b = protected(b, keys);
	renewal_over();
	if (piece == BENT)
		other = bend(in, &b) && protect;
	if (piece == LEFT_OUT) {
		s.gap = s.gap || protect;
		nfs4r_buf_put(b);
	} else if (piece == AGAIN) {
		send_halves(b);
	} else {
		send_record(b, other || s.gap);
	}
}

static void send_piece(struct fuzz_in *in, uint8_t head)
{
	enum piece piece = head & 7;
	struct nfs4r_buf *b;

	switch (piece) {
	case SAID:
		b = given(in);
		send_record(s.secured && !s.gave_up ? protected(b, false) : b, s.gap);
		break;
	case RAW:
		send_record(given(in), true);
		break;
	case BYTES:
		b = given(in);
		send_bytes(b);
		nfs4r_buf_put(b);
		break;
	case AGAIN:
		if (head & LATE)
			send_next(in, AGAIN);
		else if (s.last)
			send_record(nfs4r_buf_get(s.last), true);
		break;
	default:
		send_next(in, piece);
	}
}

/* ---- who is taken for whom ---- */

static void check_proof(void)
{
	const struct rpc_conn *c = s.c;
	unsigned who = s.proved ? s.who_renews : s.who;

	if (!c || rpc_conn_dead(c) || !c->peer || !c->unwraps || c->unwraps == s.proved)
		return;
	FUZZ_CHECK(c->ops == s.ops && stranger_may(s.id, who) & NFS4R_BIT(c->peer->ep.id));
	s.proved = c->unwraps;
}

static void message(void *ctx, nfs4r_server_id from, struct nfs4r_msg *m)
{
	FUZZ_CHECK(s.proved);
	nfs4r_msg_fini(m);
	free(m);
}

/* ---- connections ---- */

static void handshake_between(struct nfs4r_security_session *a, struct nfs4r_security_session *b)
{
	struct nfs4r_security_session *turn = a;
	struct nfs4r_buf *token = NULL;
	int done = 0;

	while (done < 2) {
		struct nfs4r_security_step step = { .in = token ? token->data : NULL, .len = token ? token->len : 0 };
		enum nfs4r_status st = s.ops->handshake(turn, &step);

		FUZZ_CHECK(st == NFS4R_OK || st == NFS4R_DELAY);
		done += st == NFS4R_OK;
		nfs4r_buf_put(token);
		token = step.out;
		turn = turn == a ? b : a;
	}
	FUZZ_CHECK(!token);
}

/* Server s.id is up, with this connection; nothing comes over the others. */
static void stands(enum nfs4r_lane lane)
{
	struct rpc_peer *p = &s.rpc->peers[s.id];
	struct nfs4r_security_session *mine = s.ops->open(self.setup[s.ops->flavour], &s.rpc->cfg, s.calls ? NULL : &p->ep);

	s.who = 0;
	for (enum nfs4r_lane i = 0; i < NFS4R_LANES; i++)
		if (i != lane)
			fuzz_standing(p, i, 0);
	s.c = fuzz_standing(p, lane, 0);
	s.c->ops = s.ops;
	s.c->security = s.c->wraps = s.c->unwraps = mine;
	s.c->secured = s.c->proven = true;
	p->flavour = s.ops->flavour;
	handshake_between(s.calls ? s.first : mine, s.calls ? mine : s.first);
	s.wraps = s.unwraps = s.first;
	s.begun = s.secured = s.greeted = s.confirmed = true;
}

static void calls(uint32_t slot)
{
	s.rpc->peers[s.id].inc = 1;
	rpc_peer_call(&s.rpc->peers[s.id], slot);
	fuzz_calls_stand(s.rpc);
	for (struct rpc_conn *c = s.rpc->conns; c; c = c->next)
		if (c->caller && c->state != RPC_CONN_CLOSED)
			s.c = c;
}

static void connect_it(uint8_t flags)
{
	enum nfs4r_lane lane = (flags >> 6) % NFS4R_LANES;

	s.id = flags & CALLS ? 1 : 3;
	s.calls = !(flags & CALLS);
	s.who = flags & UP ? 0 : flags & 3;
	s.who_renews = flags >> 2 & 3;
	s.first = session_open(s.who, s.calls);
	if (flags & UP)
		stands(lane);
	else if (s.calls)
		s.c = fuzz_accepted(s.rpc, s.id);
	else
		calls(lane);
}

/* Connections that were closed are freed, as by the loop. */
static void sweep(void)
{
	const struct rpc_conn *c;

	uv_run(&s.rpc->loop, UV_RUN_NOWAIT);
	for (c = s.rpc->conns; c && c != s.c; c = c->next)
		;
	if (!c || c->state == RPC_CONN_CLOSED)
		s.c = NULL;
}

static void goodbye(void)
{
	session_drop(&s.renewal);
	session_drop(&s.first);
	nfs4r_buf_put(s.token);
	nfs4r_buf_put(s.last);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char why[NFS4R_WHY];

	stranger_init();
	for (nfs4r_server_id id = 1; id <= 3; id++) {
		for (unsigned who = 0; who < STRANGERS; who++) {
			struct nfs4r_rpc_config *cfg = &others[id][who].cfg;

			fuzz_transport_config(cfg, id);
			stranger_configure(cfg, id, who);
			for (enum nfs4r_security f = 1; f < NFS4R_SECURITY_FLAVOURS; f++)
				if (stranger_flavours() & NFS4R_SECURITY_BIT(f))
					FUZZ_CHECK(nfs4r_security_find(f)->start(cfg, &others[id][who].setup[f], why) == NFS4R_OK);
		}
	}
	self.cfg = others[FUZZ_SELF][0].cfg;
	memcpy(self.setup, others[FUZZ_SELF][0].setup, sizeof(self.setup));
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct nfs4r_rpc_events ev = { .up = fuzz_up, .down = fuzz_down, .message = message, .log = fuzz_note };
	struct fuzz_in in = { data, len };
	uint8_t flags = fuzz_u8(&in), variant = fuzz_u8(&in);

	stranger_reset();
	memset(&s, 0, offsetof(__typeof__(s), in));
	s.in_len = s.at = 0;
	s.last = NULL;
	s.ops = nfs4r_security_find(stranger_flavour(variant));
	self.cfg.security = s.ops->flavour;
	s.rpc = fuzz_transport_new(&self.cfg, &ev);
	memcpy(s.rpc->setups, self.setup, sizeof(self.setup));
	connect_it(flags);
	works_run();
	check_proof();
	for (int i = 0; in.left > 0 && i < 64 && s.c; i++) {
		uint8_t head = fuzz_u8(&in);

		listen_to_it();
		send_piece(&in, head);
		if (!(head & LATE))
			works_run();
		check_proof();
		listen_to_it();
		sweep();
	}
	atomic_store(&s.rpc->stopping, true);
	works_run();
	s.c = NULL;
	fuzz_transport_free(s.rpc);
	goodbye();
	return 0;
}
