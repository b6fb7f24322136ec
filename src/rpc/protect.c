/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Records as the flavour of their connection wants them on the wire, and back.
 *
 * Flavour `none` has neither wrap nor unwrap: nothing is copied, and no other thread sees a record. Where a flavour's bytes are cheap (tls), or the lane is CONTROL, both happen on
 * the transport's thread, in the place where the record is written or parsed.
 *
 * Happy path of a flavour that costs much, on the lanes REQUEST and BULK: a batch of a connection goes to a worker, what is to be written and what has come. When it is back,
 * the one is written and the other delivered, and the next batch goes. A connection has one batch at a time: its records keep their order, and its session has
 * one user. Different connections are worked for in parallel; lane BULK has several.
 *
 * Failure: a record that is not authentic ends the connection, and none that came after it is delivered. A connection that was closed meanwhile is freed when its batch is back.
 *
 * Invariants: while a worker has c->writing, write_pending is set, so nothing else is taken to be written. What a worker has opened is delivered before
 * the next batch is opened: KEYS among it decides with what.
 */
#include <stdlib.h>

#include "rpc/rpc_internal.h"
#include "xdr_hello.h"

struct rpc_apart {
	struct rpc_work work;
	struct rpc_conn *c;
	const struct nfs4r_security_ops *ops;
	struct nfs4r_security_session *wraps, *renewed, *unwraps;
	struct rpc_node *write; /* c->writing; NULL: nothing is to be wrapped */
	struct rpc_node *open, *left; /* what came; those that were not opened, because KEYS or a failure was before them */
	bool not_wrapped;
};

bool rpc_protect_apart(const struct rpc_conn *c)
{
	return c->ops->costs && c->lane != NFS4R_LANE_CONTROL && c->state == RPC_CONN_READY;
}

/* False: one could not be wrapped. */
static bool wrap_all(const struct nfs4r_security_ops *ops, struct nfs4r_security_session **s, struct nfs4r_security_session *renewed, struct rpc_node *list)
{
	for (; ops->wrap && list; list = list->next) {
		struct nfs4r_buf *b;

		if (list->plain)
			continue;
		b = ops->wrap(*s, list->buf->data, list->buf->len);
		if (!b)
			return false;
		nfs4r_buf_put(list->buf);
		rpc_node_set(list, b);
		if (list->keys)
			*s = renewed;
	}
	return true;
}

bool rpc_protect_here(struct rpc_conn *c, struct rpc_node *list)
{
	struct nfs4r_security_session *before = c->wraps;

	if (!wrap_all(c->ops, &c->wraps, c->renewal.session, list))
		return false;
	if (c->wraps != before)
		rpc_renewal_finish(c);
	return true;
}

/* ---- on a worker ---- */

static bool is_keys(const struct nfs4r_buf *b)
{
	return nfs4r_transport_msg_type(b->data, b->len) == NFS4R_MSG_KEYS;
}

static void open_all(struct rpc_apart *a)
{
	for (struct rpc_node *n = a->open; n; n = n->next) {
		struct nfs4r_buf *b = a->ops->unwrap(a->unwraps, n->buf->data, n->buf->len);

		if (b) {
			nfs4r_buf_put(n->buf);
			n->buf = b;
			n->plain = true;
		}
		if (b && !is_keys(b))
			continue;
		a->left = n->next;
		n->next = NULL;
		return;
	}
}

static void apart_run(struct rpc_work *w)
{
	struct rpc_apart *a = (struct rpc_apart *)w;

	a->not_wrapped = !wrap_all(a->ops, &a->wraps, a->renewed, a->write);
	open_all(a);
}

/* ---- the transport's thread ---- */

static bool is_over(const struct rpc_conn *c)
{
	return rpc_conn_dead(c) || atomic_load(&c->rpc->stopping);
}

/* Nothing more is to be delivered now, whatever waits for a worker. */
static bool is_paused(const struct rpc_conn *c)
{
	return c->stepping || (c->lane == NFS4R_LANE_REQUEST && atomic_load_explicit(&c->peer->full, memory_order_relaxed));
}

static void deliver(struct rpc_conn *c)
{
	while (c->opened && !is_over(c) && !is_paused(c)) {
		struct rpc_node *n = c->opened;

		c->opened = n->next;
		n->next = NULL;
		c->arrived_bytes -= n->mark;
		if (n->plain)
			rpc_deliver_plain(c, n->buf->data, n->buf->len);
		else
			rpc_conn_fail(c, "sent a record that is not authentic");
		rpc_nodes_free(n);
	}
}

/* @a has left its records to @c. */
static void records_back(struct rpc_conn *c, struct rpc_apart *a)
{
	struct rpc_node *last = a->left;

	if (!a->open) /* there may be some that wait to be delivered */
		return;
	c->opened = a->open;
	while (last && last->next)
		last = last->next;
	if (!last)
		return;
	last->next = c->arrived;
	if (!c->arrived)
		c->arrived_tail = last;
	c->arrived = a->left;
}

static void written_back(struct rpc_conn *c, struct rpc_apart *a)
{
	struct nfs4r_security_session *before = c->wraps;
	uint64_t total = 0;

	c->write_pending = false;
	c->wraps = a->wraps;
	if (c->wraps != before)
		rpc_renewal_finish(c);
	bool written = rpc_conn_write_wrapped(c, &total);
	if (c->lane == NFS4R_LANE_BULK && !rpc_conn_dead(c))
		rpc_bulk_given(c);
	if (written)
		rpc_conn_write_more(c);
}

static void apart_done(struct rpc_work *w)
{
	struct rpc_apart *a = (struct rpc_apart *)w;
	struct rpc_conn *c = a->c;

	c->apart = NULL;
	records_back(c, a);
	if (!is_over(c) && a->not_wrapped)
		rpc_conn_fail(c, "a message could not be protected");
	if (!is_over(c) && a->write)
		written_back(c, a);
	if (!is_over(c))
		rpc_protect_go_on(c);
	if (!is_over(c))
		rpc_conn_go_on(c);
	free(a);
	rpc_conn_leave(c);
}

void rpc_protect_begin(struct rpc_conn *c)
{
	struct rpc_node *open = c->opened || is_paused(c) ? NULL : c->arrived;
	struct rpc_apart *a;

	if (c->apart || (!open && !c->wrap_due))
		return;
	a = calloc(1, sizeof(*a));
	if (!a) {
		rpc_conn_fail(c, "no memory");
		return;
	}
	*a = (struct rpc_apart){ { NULL, apart_run, apart_done }, c, c->ops, c->wraps, c->renewal.session, c->unwraps, c->wrap_due ? c->writing : NULL, open, NULL, false };
	if (open)
		c->arrived = c->arrived_tail = NULL;
	c->apart = a;
	c->wrap_due = false;
	c->works++;
	rpc_work_begin(c->rpc, &a->work, RPC_CREW_RECORDS);
}

void rpc_protect_arrived(struct rpc_conn *c, const void *bytes, size_t len)
{
	struct rpc_node *n = rpc_node_new(nfs4r_buf_copy(bytes, (uint32_t)len));

	if (!n) {
		rpc_conn_fail(c, "no memory");
		return;
	}
	n->mark = (uint32_t)(len + sizeof(*n)); /* what it counts */
	c->arrived_bytes += n->mark;
	if (c->arrived)
		c->arrived_tail->next = n;
	else
		c->arrived = n;
	c->arrived_tail = n;
	rpc_protect_begin(c);
}

void rpc_protect_go_on(struct rpc_conn *c)
{
	deliver(c);
	if (!is_over(c))
		rpc_protect_begin(c);
}

void rpc_protect_free(struct rpc_conn *c)
{
	rpc_nodes_free(c->arrived);
	rpc_nodes_free(c->opened);
	c->arrived = c->arrived_tail = c->opened = NULL;
}
