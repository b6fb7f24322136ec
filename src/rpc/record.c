/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Record marking (RFC 5531, section 11) of what is received.
 *
 * Happy path: small records arrive many at a time in the connection's buffer and are decoded
 * where they lie. One that does not fit in there gets a buffer of its size as soon as its
 * length is known, and the socket is read right into it.
 *
 * Failure: a record above the limit (a much smaller one before HELLO), fragments that are
 * empty or too many end the connection before any memory is taken for them.
 *
 * Invariants: record_len + fragment_left never exceeds the limit; while fragment_left is
 * not zero there is a record with room for it; nothing is delivered on a held connection.
 */
#include <arpa/inet.h>
#include <string.h>

#include "rpc/rpc_internal.h"

static uint32_t record_max(const struct rpc_conn *c)
{
	if (c->state != RPC_CONN_READY)
		return RPC_STRANGER_RECORD_MAX;
	return NFS4R_MESSAGE_MAX + c->ops->overhead;
}

void rpc_record_space(struct rpc_conn *c, uv_buf_t *buf)
{
	if (c->fragment_left > 0 && c->in_len == 0)
		*buf = uv_buf_init((char *)c->record->data + c->record_len, c->fragment_left);
	else
		*buf = uv_buf_init((char *)c->in + c->in_len, RPC_READ_BYTES - c->in_len);
}

void rpc_record_read(struct rpc_conn *c, size_t n)
{
	if (c->fragment_left > 0 && c->in_len == 0) {
		c->record_len += (uint32_t)n;
		c->fragment_left -= (uint32_t)n;
	} else {
		c->in_len += (uint32_t)n;
	}
}

/* Room for @more bytes behind what the record has. */
static bool record_grow(struct rpc_conn *c, uint32_t more, bool last)
{
	uint32_t need = c->record_len + more, cap = need;
	struct nfs4r_buf *b;

	if (c->record && c->record->len >= need)
		return true;
	/* Unless it is the only fragment others follow: grow by doubling. */
	if (!last && cap < 2 * c->record_len)
		cap = 2 * c->record_len;
	b = nfs4r_buf_new(cap);
	if (!b)
		return false;
	if (c->record_len > 0)
		memcpy(b->data, c->record->data, c->record_len);
	nfs4r_buf_put(c->record);
	c->record = b;
	return true;
}

/* A fragment's header at @p with @have bytes behind it. Consumed bytes, or 0 if the connection failed. */
static uint32_t record_header(struct rpc_conn *c, const uint8_t *p, uint32_t have)
{
	uint32_t mark, len;
	bool last;

	memcpy(&mark, p, sizeof(mark));
	mark = ntohl(mark);
	last = mark >> 31;
	len = mark & 0x7fffffff;
	if (len > record_max(c) || c->record_len > record_max(c) - len) {
		rpc_conn_fail(c, "sent a record of %u bytes; the limit is %u", len, record_max(c));
		return 0;
	}
	if ((len == 0 && !last) || ++c->fragments > RPC_FRAGMENTS_MAX) {
		rpc_conn_fail(c, "sent a record in empty or too many fragments");
		return 0;
	}
	if (last && c->record_len == 0 && have >= len) {
		c->fragments = 0;
		rpc_deliver(c, p + 4, len);
		rpc_pace_took(c);
		return 4 + len;
	}
	if (!record_grow(c, len, last)) {
		rpc_conn_fail(c, "no memory for a record of %u bytes", len);
		return 0;
	}
	c->fragment_left = len;
	c->fragment_last = last;
	return 4;
}

/* Bytes of the fragment under way. True if there may be more to do. */
static bool record_fragment(struct rpc_conn *c, uint32_t *pos)
{
	uint32_t n = c->in_len - *pos;
	struct nfs4r_buf *record;

	if (n > c->fragment_left)
		n = c->fragment_left;
	memcpy(c->record->data + c->record_len, c->in + *pos, n);
	*pos += n;
	c->record_len += n;
	c->fragment_left -= n;
	if (c->fragment_left > 0)
		return false;
	if (!c->fragment_last)
		return true;
	record = c->record;
	n = c->record_len;
	c->record = NULL;
	c->record_len = c->fragments = 0;
	c->fragment_last = false;
	rpc_deliver(c, record->data, n);
	rpc_pace_took(c);
	nfs4r_buf_put(record);
	return true;
}

void rpc_record_parse(struct rpc_conn *c)
{
	uint32_t pos = 0;

	/* A delivery may end the hold of this very connection: the loop below goes on then. */
	if (c->parsing)
		return;
	c->parsing = true;
	rpc_pace_begin(c);
	while (!rpc_conn_dead(c) && !c->paused && !rpc_conn_is_full(c)) {
		if (c->fragment_left > 0 || c->fragment_last) {
			if (!record_fragment(c, &pos))
				break;
			continue;
		}
		if (c->in_len - pos < 4)
			break;
		uint32_t used = record_header(c, c->in + pos, c->in_len - pos - 4);
		if (used == 0)
			break;
		pos += used;
	}
	rpc_pace_end(c);
	c->parsing = false;
	if (rpc_conn_dead(c))
		c->in_len = pos = 0;
	c->in_len -= pos;
	if (pos > 0 && c->in_len > 0)
		memmove(c->in, c->in + pos, c->in_len);
}

void rpc_record_free(struct rpc_conn *c)
{
	nfs4r_buf_put(c->record);
	c->record = NULL;
}
