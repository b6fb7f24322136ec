/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Primitives of the mapping between structs and bytes, and the small structs that many
 * messages share.
 *
 * Happy path: an encoding runs its function twice, once to count and once to write into a
 * buffer of exactly that size, so payload is copied once and nothing grows. A decoding runs
 * it once over the received bytes; strings and payload are looked at in place and copied
 * only after their length is known to be allowed.
 *
 * Failure: an encoding fails when a count is above its limit or the whole is above
 * NFS4R_MESSAGE_MAX. A decoding fails with MALFORMED or TOOBIG, never by an assert, and
 * what was allocated until then hangs on the struct that the caller frees.
 *
 * Invariants: no allocation is larger than a constant times the bytes that are there
 * (c_count, c_bytes); what decodes encodes to the same bytes (padding and booleans are
 * checked, absent and zero are one form only).
 */
#include <assert.h>
#include <stdlib.h>

#include "xdr_codec.h"

static const char c_zeroes[4];

/* Bytes that are still unread. */
static inline size_t c_left(struct nfs4r_codec *c)
{
	return xdr_tail_inline(&c->x);
}

struct nfs4r_buf *nfs4r_codec_encode(nfs4r_codec_fn fn, uint32_t protocol, const void *obj, enum nfs4r_status *st)
{
	struct nfs4r_codec c = { .pass = NFS4R_PASS_SIZE, .st = NFS4R_OK, .protocol = protocol };
	struct nfs4r_buf *buf;

	*st = NFS4R_TOOBIG;
	if (!fn(&c, (void *)obj) || c.size > NFS4R_MESSAGE_MAX)
		return NULL;
	buf = nfs4r_buf_new((uint32_t)c.size);
	*st = NFS4R_NOMEM;
	if (!buf)
		return NULL;
	c.pass = NFS4R_PASS_ENCODE;
	xdrmem_ncreate(&c.x, (char *)buf->data, buf->len, XDR_ENCODE);
	/* Unequal passes would mean that the struct changed meanwhile, or a bug in a function. */
	bool ok = fn(&c, (void *)obj);
	assert(ok && c.x.x_data == buf->data + buf->len);
	*st = NFS4R_OK;
	return buf;
}

enum nfs4r_status nfs4r_codec_decode(nfs4r_codec_fn fn, uint32_t protocol, const void *bytes, size_t len, void *obj, const char **why)
{
	struct nfs4r_codec c = { .pass = NFS4R_PASS_DECODE, .st = NFS4R_OK, .protocol = protocol };
	struct nfs4r_buf *aligned = NULL;

	*why = nfs4r_status_str(NFS4R_MALFORMED);
	if (len > NFS4R_MESSAGE_MAX) {
		*why = nfs4r_status_str(NFS4R_TOOBIG);
		return NFS4R_TOOBIG;
	}
	if (len % 4)
		return NFS4R_MALFORMED;
	/* xdrmem reads whole words. */
	if ((uintptr_t)bytes % 4) {
		aligned = nfs4r_buf_copy(bytes, (uint32_t)len);
		if (!aligned)
			return NFS4R_NOMEM;
		bytes = aligned->data;
	}
	xdrmem_ncreate(&c.x, (char *)bytes, (u_int)len, XDR_DECODE);
	if (fn(&c, obj) && c_left(&c) != 0)
		c.st = NFS4R_MALFORMED;
	nfs4r_buf_put(aligned);
	*why = c.why ? c.why : nfs4r_status_str(c.st);
	return c.st;
}

bool c_server(struct nfs4r_codec *c, nfs4r_server_id *id, bool may_be_nobody)
{
	uint32_t u = *id;

	if (!c_range(c, &u, may_be_nobody ? 0 : 1, NFS4R_SERVERS_MAX))
		return false;
	if (c_decoding(c))
		*id = (nfs4r_server_id)u;
	return true;
}

static bool c_status_known(const struct nfs4r_codec *c, uint32_t u)
{
	static const uint8_t known[] = { 0, 1, 2, 5, 6, 13, 17, 18, 20, 21, 22, 27,
					 28, 30, 31, 63, 66, 69, 70, 71, 72, 73, 74, 75,
					 100, 200, 201, 202, 203, 204, 205, 206, 207, 208, 209, 210 };

	if (u >= NFS4R_DENIED && u <= NFS4R_SHARE_DENIED)
		return c_since(c, NFS4R_PROTOCOL_LOCKS);
	return u <= 210 && memchr(known, (int)u, sizeof(known));
}

bool c_status(struct nfs4r_codec *c, enum nfs4r_status *st)
{
	uint32_t u = *st;

	if (!c_u32(c, &u) || !c_check(c, c_status_known(c, u)))
		return false;
	if (c_decoding(c))
		*st = (enum nfs4r_status)u;
	return true;
}

bool c_fixed(struct nfs4r_codec *c, void *bytes, uint32_t len)
{
	switch (c->pass) {
	case NFS4R_PASS_SIZE:
		c->size += RNDUP(len);
		return true;
	case NFS4R_PASS_ENCODE:
		return xdr_opaque_encode(&c->x, bytes, len);
	case NFS4R_PASS_DECODE:
		/* Asked first, because the library prints a warning when it runs short. */
		if (c_left(c) < RNDUP(len))
			return c_fail(c, NFS4R_MALFORMED);
		return xdr_opaque_decode(&c->x, bytes, len) || c_fail(c, NFS4R_MALFORMED);
	}
	return c_fail(c, NFS4R_MALFORMED);
}

bool c_count(struct nfs4r_codec *c, uint32_t *n, uint32_t max, uint32_t item_min)
{
	if (!c_u32(c, n))
		return false;
	if (*n > max)
		return c_fail(c, NFS4R_TOOBIG);
	return c_check(c, !c_decoding(c) || c_left(c) / item_min >= *n);
}

bool c_bytes(struct nfs4r_codec *c, const char **bytes, uint32_t *len, uint32_t max)
{
	const char *in;

	if (!c_u32(c, len))
		return false;
	if (*len > max)
		return c_fail(c, NFS4R_TOOBIG);
	switch (c->pass) {
	case NFS4R_PASS_SIZE:
		c->size += RNDUP((size_t)*len);
		return true;
	case NFS4R_PASS_ENCODE:
		return xdr_opaque_encode(&c->x, *bytes, *len);
	case NFS4R_PASS_DECODE:
		if (c_left(c) < RNDUP((size_t)*len))
			return c_fail(c, NFS4R_MALFORMED);
		in = (const char *)xdr_inline_decode(&c->x, RNDUP((size_t)*len));
		*bytes = in;
		return c_check(c, memcmp(in + *len, c_zeroes, RNDUP((size_t)*len) - *len) == 0);
	}
	return c_fail(c, NFS4R_MALFORMED);
}

bool c_text(struct nfs4r_codec *c, char **s, uint32_t max)
{
	uint32_t len = !c_decoding(c) && *s ? (uint32_t)strnlen(*s, (size_t)max + 1) : 0;
	const char *bytes = *s;

	if (!c_bytes(c, &bytes, &len, max))
		return false;
	if (!c_decoding(c) || len == 0)
		return true;
	if (memchr(bytes, '\0', len))
		return c_fail(c, NFS4R_MALFORMED);
	*s = strndup(bytes, len);
	return *s || c_fail(c, NFS4R_NOMEM);
}

bool c_name(struct nfs4r_codec *c, struct nfs4r_name *n, bool needed)
{
	uint32_t len = n->len;
	const char *bytes = n->s;

	if (!c_bytes(c, &bytes, &len, NFS4R_NAME_MAX))
		return false;
	if (!c_decoding(c))
		return true;
	return c_check(c, len == 0 ? !needed : nfs4r_name_set(n, bytes, len));
}

bool c_buf(struct nfs4r_codec *c, struct nfs4r_buf **b, uint32_t max)
{
	uint32_t len = !c_decoding(c) && *b ? (*b)->len : 0;
	const char *bytes = *b ? (const char *)(*b)->data : NULL;

	if (!c_bytes(c, &bytes, &len, max))
		return false;
	if (!c_decoding(c) || len == 0)
		return true;
	*b = nfs4r_buf_copy(bytes, len);
	return *b || c_fail(c, NFS4R_NOMEM);
}

bool c_opt_buf(struct nfs4r_codec *c, struct nfs4r_buf **b, uint32_t max)
{
	bool there = *b != NULL;

	if (!c_bool(c, &there))
		return false;
	if (!there)
		return true;
	if (!c_buf(c, b, max))
		return false;
	if (!*b)
		*b = nfs4r_buf_new(0);
	return *b || c_fail(c, NFS4R_NOMEM);
}

bool c_pid(struct nfs4r_codec *c, struct nfs4r_pid *pid)
{
	return c_server(c, &pid->server, false) && c_u64(c, &pid->seq);
}

bool c_request_id(struct nfs4r_codec *c, struct nfs4r_request_id *id)
{
	return c_server(c, &id->origin, true) && c_u64(c, &id->inc) && c_u64(c, &id->seq);
}

bool c_prio(struct nfs4r_codec *c, struct nfs4r_prio *prio)
{
	return c_u32(c, &prio->attempts) && c_server(c, &prio->server, true);
}

bool c_control(struct nfs4r_codec *c, struct nfs4r_control *control)
{
	return c_oid(c, &control->oid) &&
		c_range(c, &control->depth, NFS4R_SHALLOW, NFS4R_DEEP_PLUS);
}

#define ATTR_MASK_ALL (2u * NFS4R_ATTR_MTIME_NOW - 1)

bool c_attrs(struct nfs4r_codec *c, struct nfs4r_attrs *a)
{
	static const struct nfs4r_attrs zero;
	bool there = !c_decoding(c) && memcmp(a, &zero, sizeof(zero)) != 0;

	if (!c_bool(c, &there))
		return false;
	if (!there)
		return true;
	if (!c_u32(c, &a->mask) || !c_check(c, (a->mask & ~ATTR_MASK_ALL) == 0) ||
	    !c_range(c, &a->type, a->mask & NFS4R_ATTR_TYPE ? NFS4R_TYPE_FILE : 0, NFS4R_TYPE_BLK) ||
	    !c_range(c, &a->mode, 0, 07777))
		return false;
	if (!c_u32(c, &a->uid) || !c_u32(c, &a->gid) || !c_u32(c, &a->nlink) ||
	    !c_u64(c, &a->size) || !c_u64(c, &a->space) || !c_i64(c, &a->atime) ||
	    !c_i64(c, &a->mtime) || !c_i64(c, &a->ctime) || !c_u32(c, &a->rdev_major) ||
	    !c_u32(c, &a->rdev_minor) || !c_u64(c, &a->version))
		return false;
	return c_buf(c, &a->acl, NFS4R_ACL_MAX) &&
		c_check(c, !c_decoding(c) || memcmp(a, &zero, sizeof(zero)) != 0);
}
