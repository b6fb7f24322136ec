/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What waits to be sent on one lane: encoded records in order. Two allocations per message,
 * the node and the bytes. Bytes are counted from the push until the record has left for the
 * kernel, so that a limit means memory.
 *
 * POSITIONS are cumulative and tolerate any order, so one that still waits takes the newer
 * bytes in its place.
 */
#include <assert.h>
#include <arpa/inet.h>
#include <stdlib.h>

#include "rpc/rpc_internal.h"

#define LAST_FRAGMENT 0x80000000u

void rpc_node_set(struct rpc_node *n, struct nfs4r_buf *buf)
{
	n->buf = buf;
	n->mark = htonl(LAST_FRAGMENT | buf->len);
}

struct rpc_node *rpc_node_new(struct nfs4r_buf *buf)
{
	struct rpc_node *n = buf ? malloc(sizeof(*n)) : NULL;

	if (!n) {
		nfs4r_buf_put(buf);
		return NULL;
	}
	n->next = NULL;
	n->plain = n->keys = false;
	n->answer = 0;
	n->number = n->end = 0;
	n->by = NULL;
	rpc_node_set(n, buf);
	return n;
}

void rpc_nodes_free(struct rpc_node *list)
{
	while (list) {
		struct rpc_node *next = list->next;

		if (list->answer) {
			unsigned long before = atomic_fetch_sub(list->answers, list->answer);

			assert(before >= list->answer);
		}
		nfs4r_buf_put(list->buf);
		free(list);
		list = next;
	}
}

void rpc_queue_push(struct rpc_queue *q, struct rpc_node *n)
{
	n->next = NULL;
	if (q->tail)
		q->tail->next = n;
	else
		q->head = n;
	q->tail = n;
	q->bytes += rpc_node_bytes(n);
}

struct rpc_node *rpc_queue_take(struct rpc_queue *q, uint32_t max, uint64_t most, uint32_t *n, uint64_t *bytes)
{
	struct rpc_node *first = q->head, *last = NULL;

	*n = 0;
	*bytes = 0;
	while (q->head && *n < max && *bytes < most) {
		last = q->head;
		if (last == q->positions)
			q->positions = NULL;
		*bytes += rpc_node_bytes(last);
		(*n)++;
		q->head = last->next;
	}
	if (!last)
		return NULL;
	last->next = NULL;
	if (!q->head)
		q->tail = NULL;
	return first;
}

void rpc_queue_drop(struct rpc_queue *q)
{
	rpc_nodes_free(q->head);
	q->head = q->tail = q->positions = NULL;
	q->bytes = 0;
}
