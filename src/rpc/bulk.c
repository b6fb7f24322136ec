/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Lane BULK: one order of messages over several connections.
 *
 * One TCP connection over a long link with losses now and then moves at a fraction of the link's rate for seconds. So the lane has
 * several, and each takes the next share from one queue when it has sent what it had: a slow one takes little.
 *
 * Happy path: a message gets the lane's next number when a connection takes it, and is kept until the peer says that it
 * has taken it. The receiver delivers in the order of numbers; what comes before one that is missing waits, decoded.
 *
 * Failure: a connection breaks, or its bytes hardly move while another's do: what it had that the other kernel has not acknowledged (all of it, if
 * it broke) goes over the others, too. The receiver drops what it has already. One that broke is called again; one that stood still gets
 * nothing until what it had is gone. The last one that breaks takes the peer down, and everything kept with it.
 *
 * Invariants: the kept ones are those between what the peer took and what was given, all of them, ascending; all that waits at the receiver is
 * beyond the first that is missing, and takes less memory than a queue's limit; a message is delivered once.
 */
#include <assert.h>
#include <inttypes.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/rpc_internal.h"

#define SHARE_NODES (RPC_BATCH_NODES / 2) /* each message has its number before it */
#define SLOW_TIMES 8 /* slower than the fastest, and the rest would take longer than a stall may */

struct rpc_out_of_order {
	struct rpc_out_of_order *next;
	uint64_t number;
	struct nfs4r_msg *msg;
	uint64_t wire, bytes; /* as they came; of memory */
};

static struct rpc_conn *bulk_conn(const struct rpc_peer *p, uint32_t i)
{
	struct rpc_conn *c = p->conns[NFS4R_LANE_BULK + i];

	return c && c->state == RPC_CONN_READY && !c->paused ? c : NULL;
}

/* ---- out ---- */

/* Given to it, and not with the other kernel. */
static uint64_t in_hand(const struct rpc_conn *c)
{
	return uv_stream_get_write_queue_size((const uv_stream_t *)&c->tcp) + rpc_conn_in_kernel(c, SIOCOUTQ);
}

/* With a worker that wraps them (protect.c): no part of c->given yet. */
static uint64_t being_wrapped(const struct rpc_conn *c)
{
	uint64_t bytes = 0;

	for (const struct rpc_node *n = rpc_protect_apart(c) && (c->wrap_due || c->apart) ? c->writing : NULL; n; n = n->next)
		bytes += rpc_node_bytes(n);
	return bytes;
}

void rpc_bulk_given(struct rpc_conn *c)
{
	for (struct rpc_node *n = c->peer->bulk.head; n; n = n->next)
		if (n->by == c && n->end == UINT64_MAX)
			n->end = c->given;
}

/* The connection with the least unsent among those that can take something; a slow one only if there is no other. */
static struct rpc_conn *bulk_pick(const struct rpc_peer *p)
{
	struct rpc_conn *best = NULL;
	uint64_t least = UINT64_MAX;
	bool all_slow = true;

	for (uint32_t i = 0; i < NFS4R_CONNECTIONS_MAX; i++)
		all_slow = all_slow && (!bulk_conn(p, i) || bulk_conn(p, i)->slow);
	for (uint32_t i = 0; i < NFS4R_CONNECTIONS_MAX && least > 0; i++) {
		struct rpc_conn *c = bulk_conn(p, i);
		uint64_t unsent;

		if (!c || c->write_pending || (c->slow && !all_slow))
			continue;
		unsent = rpc_conn_in_kernel(c, SIOCOUTQNSD);
		if (unsent < least) {
			least = unsent;
			best = c;
		}
	}
	return best;
}

/* Those that have lost their connection first. Returns how many are in @out. */
static uint32_t bulk_next(struct rpc_peer *p, struct rpc_conn *c, struct rpc_node **out)
{
	struct rpc_bulk *b = &p->bulk;
	struct rpc_node *list = NULL, *n;
	uint64_t bytes = 0, more;
	uint32_t count = 0, new = 0;

	assert(rpc_is_mine(p->rpc));
	for (n = b->head; n && b->again > 0 && count < SHARE_NODES && bytes < RPC_SHARE_BYTES; n = n->next) {
		if (n->by)
			continue;
		n->by = c;
		b->again--;
		bytes += rpc_node_bytes(n);
		out[count++] = n;
		atomic_fetch_add_explicit(&p->resent, 1, memory_order_relaxed);
	}
	if (count > 0)
		return count;
	pthread_mutex_lock(&p->lock);
	if (p->up)
		list = rpc_queue_take(&p->queues[NFS4R_LANE_BULK], SHARE_NODES, RPC_SHARE_BYTES, &new, &more);
	pthread_mutex_unlock(&p->lock);
	for (n = list; n; n = n->next) {
		n->number = ++b->given;
		n->by = c;
		b->kept_bytes += rpc_node_bytes(n);
		out[count++] = n;
		if (b->tail)
			b->tail->next = n;
		else
			b->head = n;
		b->tail = n;
	}
	return count;
}

/* Their records, each with its number before it. NULL: no memory. */
static struct rpc_node *bulk_records(struct rpc_node **msgs, uint32_t n)
{
	struct nfs4r_transport_msg_body m = { .type = NFS4R_MSG_NUMBER };
	struct rpc_node *first = NULL, **tail = &first;

	for (uint32_t i = 0; i < 2 * n; i++) {
		m.number = msgs[i / 2]->number;
		*tail = rpc_node_new(i % 2 ? nfs4r_buf_get(msgs[i / 2]->buf) : nfs4r_transport_msg_encode(&m));
		if (!*tail) {
			rpc_nodes_free(first);
			return NULL;
		}
		tail = &(*tail)->next;
	}
	return first;
}

bool rpc_bulk_waits(struct rpc_peer *p)
{
	bool any;

	pthread_mutex_lock(&p->lock);
	any = p->queues[NFS4R_LANE_BULK].head != NULL;
	pthread_mutex_unlock(&p->lock);
	return any || p->bulk.again > 0;
}

void rpc_bulk_flush(struct rpc_peer *p)
{
	struct rpc_node *msgs[SHARE_NODES];
	struct rpc_conn *c;
	uint64_t total = 0;
	uint32_t n;

	while (rpc_bulk_waits(p) && (c = bulk_pick(p)) != NULL && (n = bulk_next(p, c, msgs)) > 0) {
		for (uint32_t i = 0; i < n; i++)
			msgs[i]->end = UINT64_MAX;
		c->writing = bulk_records(msgs, n);
		if (!c->writing) {
			rpc_conn_fail(c, "no memory");
			return;
		}
		c->writing_messages = n;
		if (!c->busy_ms)
			c->busy_ms = c->acked_ms = uv_now(&p->rpc->loop);
		rpc_conn_write(c, &total);
		for (uint32_t i = 0; i < n && !rpc_conn_dead(c) && !rpc_protect_apart(c); i++)
			msgs[i]->end = c->given;
		if (total >= RPC_TURN_BYTES) {
			uv_async_send(&p->rpc->wake);
			return;
		}
	}
}

/* What @c carries and the other kernel may not have, from @acked on, goes over another one. */
static void carry_again(struct rpc_conn *c, uint64_t acked)
{
	struct rpc_bulk *b = &c->peer->bulk;

	for (struct rpc_node *n = b->head; n; n = n->next) {
		if (n->by != c || n->end <= acked)
			continue;
		n->by = NULL;
		b->again++;
	}
}

void rpc_bulk_gone(struct rpc_conn *c)
{
	if (c->lane == NFS4R_LANE_BULK)
		carry_again(c, 0); /* what the other kernel had may be lost with it */
}

void rpc_bulk_taken(struct rpc_conn *c, uint64_t until)
{
	struct rpc_peer *p = c->peer;
	struct rpc_bulk *b = &p->bulk;
	uint64_t bytes = 0;

	if (until > b->given) {
		rpc_conn_fail(c, "acknowledged message %" PRIu64 " of %" PRIu64, until, b->given);
		return;
	}
	while (b->head && b->head->number <= until) {
		struct rpc_node *n = b->head;

		b->head = n->next;
		b->again -= !n->by;
		bytes += rpc_node_bytes(n);
		n->next = NULL;
		rpc_nodes_free(n);
	}
	if (!b->head)
		b->tail = NULL;
	b->kept_bytes -= bytes;
	pthread_mutex_lock(&p->lock);
	p->queues[NFS4R_LANE_BULK].bytes -= bytes;
	pthread_mutex_unlock(&p->lock);
}

uint64_t rpc_bulk_pending(struct rpc_peer *p)
{
	uint64_t bytes;

	pthread_mutex_lock(&p->lock);
	bytes = p->up ? p->queues[NFS4R_LANE_BULK].bytes - p->bulk.kept_bytes : 0;
	pthread_mutex_unlock(&p->lock);
	bytes += p->bulk.again;
	for (uint32_t i = 0; i < NFS4R_CONNECTIONS_MAX; i++) {
		struct rpc_conn *c = bulk_conn(p, i);

		if (c && !c->slow && c->busy_ms) /* else it has padding at most */
			bytes += in_hand(c) + being_wrapped(c);
	}
	return bytes;
}

/* ---- connections that stand still ---- */

static void bulk_measure(struct rpc_conn *c, uint64_t now, uint64_t since_ms)
{
	uint64_t left = in_hand(c), acked = c->given - left, moved = acked - c->acked;

	if (c->busy_ms && now - c->busy_ms >= since_ms && since_ms > 0)
		c->rate = (3 * c->rate + moved * 1000 / since_ms) / 4;
	if (moved > 0 || left == 0)
		c->acked_ms = now;
	if (left == 0 && !c->wrap_due && !c->apart) {
		c->slow = false;
		c->busy_ms = 0;
	}
	c->acked = acked;
	c->left = left;
}

/* @best: rate of the fastest; @stall_ms: what is no stall yet. */
static bool is_slow(const struct rpc_conn *c, uint64_t now, uint64_t best, uint64_t stall_ms)
{
	if (c->slow || !c->busy_ms)
		return false;
	return now - c->acked_ms >= stall_ms ||
		(now - c->busy_ms >= 2 * stall_ms && c->rate * SLOW_TIMES < best && c->left * 1000 > c->rate * stall_ms);
}

/* Another one that could do what @c does not: nothing is known against it. */
static bool has_better(const struct rpc_peer *p, const struct rpc_conn *c, uint64_t now, uint64_t stall_ms)
{
	for (uint32_t i = 0; i < NFS4R_CONNECTIONS_MAX; i++) {
		const struct rpc_conn *o = bulk_conn(p, i);

		if (o && o != c && !o->slow && (!o->busy_ms || now - o->acked_ms < stall_ms))
			return true;
	}
	return false;
}

static void bulk_measure_all(struct rpc_peer *p, uint64_t now)
{
	uint64_t best = 0, stall_ms = RPC_STALL_MS, since = now - p->bulk.ticked_ms;

	p->bulk.ticked_ms = now;
	if (3 * p->rtt_ms > (double)stall_ms) /* this thread writes it */
		stall_ms = (uint64_t)(3 * p->rtt_ms);
	for (uint32_t i = 0; i < NFS4R_CONNECTIONS_MAX; i++) {
		if (!bulk_conn(p, i))
			continue;
		bulk_measure(bulk_conn(p, i), now, since);
		best = bulk_conn(p, i)->rate > best ? bulk_conn(p, i)->rate : best;
	}
	for (uint32_t i = 0; i < NFS4R_CONNECTIONS_MAX; i++) {
		struct rpc_conn *c = bulk_conn(p, i);

		if (!c || !is_slow(c, now, best, stall_ms) || !has_better(p, c, now, stall_ms))
			continue;
		rpc_log_limited(p->rpc, NFS4R_LOG_INFO, rpc_log_key(RPC_LOG_BULK, p->ep.id, NULL),
				"a connection to server %u has almost stalled: its %" PRIu64 " bytes are sent over the others", p->ep.id, c->left);
		c->slow = true;
		carry_again(c, c->acked);
	}
}

/* ---- connections that come and go ---- */

bool rpc_bulk_spare(const struct rpc_conn *c)
{
	if (c->lane != NFS4R_LANE_BULK)
		return false;
	if (!c->peer->up)
		return c->index > 0; /* the others are enough to begin with */
	for (uint32_t i = 0; i < NFS4R_CONNECTIONS_MAX; i++) {
		if (bulk_conn(c->peer, i) && bulk_conn(c->peer, i) != c)
			return true;
	}
	return false;
}

void rpc_bulk_lost(struct rpc_conn *c, const char *why)
{
	struct rpc_peer *p = c->peer;

	rpc_log_limited(p->rpc, NFS4R_LOG_INFO, rpc_log_key(RPC_LOG_BULK, p->ep.id, NULL),
			"one of several connections to server %u was lost: %s; its data is sent over the others", p->ep.id, why);
	p->bulk.recall_ms = uv_now(&p->rpc->loop) + 4 * p->rpc->cfg.connect_retry_ms;
	rpc_conn_close(c);
	uv_async_send(&p->rpc->wake);
}

static void tell_taken(struct rpc_peer *p)
{
	struct nfs4r_transport_msg_body m = { .type = NFS4R_MSG_TAKEN, .number = p->bulk.taken };
	struct rpc_conn *c = p->conns[NFS4R_LANE_CONTROL];

	if (p->bulk.acknowledged == p->bulk.taken || !c || c->own.bytes > RPC_READ_BYTES)
		return;
	p->bulk.acknowledged = p->bulk.taken;
	p->bulk.untold_bytes = 0;
	rpc_conn_tell(c, &m);
}

void rpc_bulk_tick(struct rpc_peer *p, uint64_t now)
{
	if (!p->up)
		return;
	bulk_measure_all(p, now);
	if (p->bulk.again > 0)
		rpc_bulk_flush(p);
	tell_taken(p);
	if (!p->caller || now < p->bulk.recall_ms)
		return;
	for (uint32_t i = 0; i < p->rpc->cfg.connections && p->up; i++) {
		if (!p->conns[NFS4R_LANE_BULK + i])
			rpc_peer_call(p, NFS4R_LANE_BULK + i);
	}
}

/* ---- in ---- */

static void out_of_order_free(struct rpc_out_of_order *e)
{
	nfs4r_msg_fini(e->msg);
	free(e->msg);
	free(e);
}

/* Takes over @m. */
static void bulk_out_of_order(struct rpc_conn *c, uint64_t number, struct nfs4r_msg *m, size_t len)
{
	struct rpc_bulk *b = &c->peer->bulk;
	struct rpc_out_of_order **at = &b->early, *e;

	while (*at && (*at)->number < number)
		at = &(*at)->next;
	e = *at && (*at)->number == number ? NULL : malloc(sizeof(*e));
	if (!e) { /* it is here already, or there is no memory: the connection goes, and it comes again */
		nfs4r_msg_fini(m);
		free(m);
		if (!*at || (*at)->number != number)
			rpc_conn_fail(c, "no memory");
		return;
	}
	*e = (struct rpc_out_of_order){ *at, number, m, len, sizeof(*e) + nfs4r_msg_memory(m) };
	*at = e;
	b->out_of_order_bytes += e->bytes;
	if (b->out_of_order_bytes > c->rpc->cfg.queue_bytes_max + NFS4R_MESSAGE_MAX)
		rpc_peer_down(c->peer, false, "it sent too much data after a missing message");
}

static void bulk_deliver(struct rpc_peer *p, struct nfs4r_msg *m, size_t len)
{
	p->bulk.taken++;
	p->bulk.untold_bytes += len;
	rpc_peer_message(p, m);
}

void rpc_bulk_received(struct rpc_conn *c, const void *bytes, size_t len)
{
	struct rpc_peer *p = c->peer;
	struct rpc_bulk *b = &p->bulk;
	uint64_t number = c->announced;
	struct nfs4r_msg *m = rpc_peer_decode(c, bytes, len);
	struct rpc_out_of_order *e;

	c->announced = 0;
	if (!m)
		return;
	if (number <= b->taken) { /* has come already */
		nfs4r_msg_fini(m);
		free(m);
		if (number == 0)
			rpc_conn_fail(c, "sent a message without its number");
		return;
	}
	if (number != b->taken + 1) {
		bulk_out_of_order(c, number, m, len);
		return;
	}
	bulk_deliver(p, m, len);
	while ((e = b->early) != NULL && e->number == b->taken + 1) {
		b->early = e->next;
		b->out_of_order_bytes -= e->bytes;
		bulk_deliver(p, e->msg, e->wire);
		free(e);
	}
	if (b->untold_bytes >= RPC_SHARE_BYTES)
		tell_taken(p);
}

void rpc_bulk_reset(struct rpc_peer *p)
{
	struct rpc_bulk *b = &p->bulk;

	rpc_nodes_free(b->head);
	while (b->early) {
		struct rpc_out_of_order *e = b->early;

		b->early = e->next;
		out_of_order_free(e);
	}
	memset(b, 0, sizeof(*b));
}
