/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Private to protocol/: the cursor under the mapping. One function per struct serves three
 * passes: SIZE counts bytes, ENCODE writes them, DECODE reads them. A struct that is encoded
 * is not changed, though the functions take it without const.
 *
 * A function returns false at the first failure and leaves the reason in st; what it has
 * already put into the struct stays there, owned by the struct, for the struct's own fini.
 */
#ifndef NFS4R_PROTOCOL_XDR_CODEC_H
#define NFS4R_PROTOCOL_XDR_CODEC_H

#include <rpc/types.h>
#include <rpc/xdr.h>
#include <rpc/xdr_inline.h>

#include "base/shape.h"

enum nfs4r_pass {
	NFS4R_PASS_SIZE = 1,
	NFS4R_PASS_ENCODE = 2,
	NFS4R_PASS_DECODE = 3
};

struct nfs4r_codec {
	enum nfs4r_pass pass;
	enum nfs4r_status st; /* why it failed */
	const char *why; /* DECODE: in words, when its shape is wrong; else NULL */
	uint32_t protocol; /* of the connection: what is newer does not travel; 0: of none */
	size_t size; /* SIZE: bytes so far */
	XDR x; /* ENCODE, DECODE */
};

typedef bool (*nfs4r_codec_fn)(struct nfs4r_codec *c, void *obj);

/* Both passes of an encoding: a buffer of exactly the right size, or NULL and *st. */
struct nfs4r_buf *nfs4r_codec_encode(nfs4r_codec_fn fn, uint32_t protocol, const void *obj, enum nfs4r_status *st);
/* A decoding; bytes behind the end are malformed. @obj is the caller's to free on failure; *why is then a static text. */
enum nfs4r_status nfs4r_codec_decode(nfs4r_codec_fn fn, uint32_t protocol, const void *bytes, size_t len, void *obj, const char **why);

static inline bool c_fail(struct nfs4r_codec *c, enum nfs4r_status st)
{
	c->st = st;
	return false;
}

static inline bool c_decoding(const struct nfs4r_codec *c)
{
	return c->pass == NFS4R_PASS_DECODE;
}

/* DECODE: is @ok? The other passes trust their caller. */
static inline bool c_check(struct nfs4r_codec *c, bool ok)
{
	return ok || !c_decoding(c) || c_fail(c, NFS4R_MALFORMED);
}

/* DECODE: @why is NULL, or what is wrong with a shape (base/shape.h). */
static inline bool c_shape(struct nfs4r_codec *c, const char *why)
{
	if (!why)
		return true;
	c->why = why;
	return c_fail(c, NFS4R_MALFORMED);
}

static inline bool c_u32(struct nfs4r_codec *c, uint32_t *v)
{
	if (c->pass == NFS4R_PASS_SIZE) {
		c->size += 4;
		return true;
	}
	return xdr_uint32_t(&c->x, v) || c_fail(c, NFS4R_MALFORMED);
}

static inline bool c_u64(struct nfs4r_codec *c, uint64_t *v)
{
	if (c->pass == NFS4R_PASS_SIZE) {
		c->size += 8;
		return true;
	}
	return xdr_uint64_t(&c->x, v) || c_fail(c, NFS4R_MALFORMED);
}

static inline bool c_i64(struct nfs4r_codec *c, int64_t *v)
{
	return c_u64(c, (uint64_t *)v);
}

/*
 * A member that protocol @since added. True: it travels on this connection. False: it does not, and stays 0. One line of a mapping:
 * if (c_since(c, 10) && !c_u64(c, &m->heartbeat.something)) return false;
 */
static inline bool c_since(const struct nfs4r_codec *c, uint32_t since)
{
	return c->protocol >= since;
}

/* The same of what stands in journals, too, which are of no connection: they are of a disk format that has it. */
static inline bool c_knows(const struct nfs4r_codec *c, uint32_t since)
{
	return !c->protocol || c->protocol >= since;
}

/* A value between lo and hi. */
static inline bool c_range(struct nfs4r_codec *c, uint32_t *v, uint32_t lo, uint32_t hi)
{
	return c_u32(c, v) && c_check(c, *v >= lo && *v <= hi);
}

static inline bool c_bool(struct nfs4r_codec *c, bool *v)
{
	uint32_t u = *v ? 1 : 0;

	if (!c_range(c, &u, 0, 1))
		return false;
	if (c_decoding(c))
		*v = u != 0;
	return true;
}

bool c_server(struct nfs4r_codec *c, nfs4r_server_id *id, bool may_be_nobody);
bool c_status(struct nfs4r_codec *c, enum nfs4r_status *st);
/* Bytes of fixed length. */
bool c_fixed(struct nfs4r_codec *c, void *bytes, uint32_t len);
/*
 * Count of a variable array. Above @max is TOOBIG in every pass; a count that the rest of the
 * message cannot hold at @item_min bytes each is malformed, so that memory follows bytes.
 */
bool c_count(struct nfs4r_codec *c, uint32_t *n, uint32_t max, uint32_t item_min);
/*
 * Variable bytes in place. Encoding writes *bytes and *len; decoding sets both, *bytes points
 * into the message and is not NUL terminated.
 */
bool c_bytes(struct nfs4r_codec *c, const char **bytes, uint32_t *len, uint32_t max);
/* Heap string, NUL terminated; NULL and empty are the same and become NULL. No NUL inside. */
bool c_text(struct nfs4r_codec *c, char **s, uint32_t max);
/* Name of a directory entry; @needed: may not be empty. */
bool c_name(struct nfs4r_codec *c, struct nfs4r_name *n, bool needed);
/* Buffer as variable bytes; NULL and empty are the same and become NULL. */
bool c_buf(struct nfs4r_codec *c, struct nfs4r_buf **b, uint32_t max);
/* The same as optional data: NULL and empty differ. */
bool c_opt_buf(struct nfs4r_codec *c, struct nfs4r_buf **b, uint32_t max);

static inline bool c_oid(struct nfs4r_codec *c, struct nfs4r_oid *oid)
{
	return c_fixed(c, oid->b, sizeof(oid->b));
}

bool c_pid(struct nfs4r_codec *c, struct nfs4r_pid *pid);
bool c_request_id(struct nfs4r_codec *c, struct nfs4r_request_id *id);
bool c_prio(struct nfs4r_codec *c, struct nfs4r_prio *prio);
bool c_control(struct nfs4r_codec *c, struct nfs4r_control *control);
/* Optional: absent when all of it is zero. */
bool c_attrs(struct nfs4r_codec *c, struct nfs4r_attrs *a);

/* xdr_entry.c; *e is made when decoding, and is the caller's also on failure. */
bool c_entry(struct nfs4r_codec *c, struct nfs4r_entry **e, bool with_payload);
bool c_applied(struct nfs4r_codec *c, nfs4r_lsn applied[NFS4R_SERVERS_MAX + 1]); /* by server id; zeroes at the end are left out */
/* xdr_op.c; decoding into zeroed structs. */
bool c_op_request(struct nfs4r_codec *c, struct nfs4r_op *op);
bool c_op_answer(struct nfs4r_codec *c, struct nfs4r_op *op);
bool c_read_request(struct nfs4r_codec *c, struct nfs4r_read *r);
bool c_read_answer(struct nfs4r_codec *c, struct nfs4r_read *r);
/* xdr_lock.c: since NFS4R_PROTOCOL_LOCKS, which the caller asks for; decoding into zeroed structs. */
bool c_lock_list(struct nfs4r_codec *c, uint32_t *count, struct nfs4r_file_lock **locks); /* *locks is made when decoding, and is the caller's also on failure */
bool c_client_effect(struct nfs4r_codec *c, struct nfs4r_part *p);
bool c_client_list(struct nfs4r_codec *c, struct nfs4r_read *r);
bool c_lock_request(struct nfs4r_codec *c, struct nfs4r_op *op);
bool c_lock_answer(struct nfs4r_codec *c, struct nfs4r_op *op);
bool c_ack_gap(struct nfs4r_codec *c, struct nfs4r_msg *m);
bool c_controls(struct nfs4r_codec *c, uint32_t *n, struct nfs4r_control controls[NFS4R_CLAIM_CONTROLS_MAX]);
bool c_gap_over(struct nfs4r_codec *c, struct nfs4r_msg *m);
bool c_lock_ready(struct nfs4r_codec *c, struct nfs4r_msg *m); /* and REQUEUE */
bool c_locks_of(struct nfs4r_codec *c, struct nfs4r_msg *m);
bool c_locks_list(struct nfs4r_codec *c, struct nfs4r_msg *m);
bool c_guard(struct nfs4r_codec *c, struct nfs4r_msg *m); /* and UNGUARD */
bool c_share_request(struct nfs4r_codec *c, struct nfs4r_op *op);
bool c_share_answer(struct nfs4r_codec *c, struct nfs4r_op *op);

#endif
