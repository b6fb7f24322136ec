/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * HELLO, REFUSED, KEEPALIVE, TOKEN, NUMBER, TAKEN, PADDING and KEYS as bytes.
 *
 * HELLO comes before the two servers have agreed on a protocol, so it is the one message that all versions read, from
 * NFS4R_HELLO_WHOLE_SINCE on. Its members never move and never go. A later protocol adds members behind the last one, and who does
 * not know them leaves them unread, the one place where bytes behind the end are no error. Of a sender that speaks only an older
 * protocol, decoding stops behind what has been there since before: enough to tell each other what is wrong. Values that the transport compares
 * (volume, security, ids ...) are not judged here: a wrong one has to become a REFUSED with
 * a text, not a malformed message. An id that is out of range cannot be told apart from
 * garbage and is malformed.
 */
#include <arpa/inet.h>

#include "xdr_codec.h"
#include "xdr_hello.h"

struct transport_obj {
	uint32_t protocol; /* ours, or that of the connection; decoding only */
	struct nfs4r_transport_msg_body *m;
};

/* Text of at most @max bytes in place; NUL ends it in memory and is not part of it. */
static bool c_place(struct nfs4r_codec *c, char *text, uint32_t max)
{
	uint32_t len = c_decoding(c) ? 0 : (uint32_t)strnlen(text, max + 1);
	const char *bytes = text;

	if (!c_bytes(c, &bytes, &len, max))
		return false;
	if (!c_decoding(c))
		return true;
	if (len)
		memcpy(text, bytes, len);
	text[len] = '\0';
	return c_check(c, !memchr(text, '\0', len));
}

static bool c_hello_key(struct nfs4r_codec *c, struct nfs4r_hello_key *k)
{
	return c_place(c, k->key, NFS4R_HELLO_KEY_MAX) && c_place(c, k->value, NFS4R_HELLO_VALUE_MAX) && c_bool(c, &k->differs);
}

static bool c_hello_rest(struct nfs4r_codec *c, struct nfs4r_hello *h)
{
	if (!c_u64(c, &h->inc) || !c_u64(c, &h->session) || !c_u32(c, &h->index) ||
	    !c_fixed(c, h->volume, sizeof(h->volume)) || !c_u32(c, &h->export_id) ||
	    !c_u64(c, &h->fsid_major) || !c_u64(c, &h->fsid_minor) ||
	    !c_u32(c, &h->disk_format.highest) || !c_range(c, &h->disk_format.lowest, 0, h->disk_format.highest) || !c_u32(c, &h->security) ||
	    !c_u32(c, &h->lease_ms) || !c_u32(c, &h->silence_ms) || !c_u32(c, &h->drift_permille) ||
	    !c_u32(c, &h->durability) || !c_u64(c, &h->view) || !c_bool(c, &h->asks) ||
	    !c_count(c, &h->nservers, NFS4R_SERVERS_MAX, 8))
		return false;
	for (uint32_t i = 0; i < h->nservers; i++) {
		if (!c_server(c, &h->servers[i].id, false) || !c_u32(c, &h->servers[i].port))
			return false;
	}
	if (!c_count(c, &h->nkeys, NFS4R_HELLO_KEYS_MAX, 12))
		return false;
	for (uint32_t i = 0; i < h->nkeys; i++) {
		if (!c_hello_key(c, &h->keys[i]))
			return false;
	}
	return true;
}

/* The rest is nothing that this program knows. */
static bool skip_rest(struct nfs4r_codec *c)
{
	c->x.x_data = c->x.x_v.vio_tail;
	return true;
}

static bool c_hello(struct nfs4r_codec *c, struct nfs4r_hello *h, uint32_t protocol)
{
	if (!c_u32(c, &h->magic) || !c_check(c, h->magic == NFS4R_HELLO_MAGIC) ||
	    !c_u32(c, &h->protocol.highest) || !c_server(c, &h->server, false) ||
	    !c_server(c, &h->to, false) || !c_u32(c, &h->lane))
		return false;
	if (!c_decoding(c) || h->protocol.highest >= NFS4R_HELLO_VERSION_SINCE)
		if (!c_place(c, h->version, NFS4R_HELLO_VERSION_MAX))
			return false;
	if (c_decoding(c) && h->protocol.highest < NFS4R_HELLO_WHOLE_SINCE) {
		h->protocol.lowest = h->protocol.highest;
		return skip_rest(c);
	}
	return c_range(c, &h->protocol.lowest, 1, h->protocol.highest) && c_hello_rest(c, h) &&
		(!c_decoding(c) || h->protocol.highest <= protocol || skip_rest(c));
}

static bool c_refused(struct nfs4r_codec *c, struct nfs4r_transport_msg_body *m)
{
	uint32_t len = c_decoding(c) ? 0 : (uint32_t)strlen(m->refused.text);
	const char *bytes = m->refused.text;

	if (!c_u32(c, &m->refused.cause) || !c_bytes(c, &bytes, &len, NFS4R_REFUSED_TEXT_MAX))
		return false;
	if (c_decoding(c)) {
		/* It goes to our log: nothing but plain text. */
		for (uint32_t i = 0; i < len; i++)
			m->refused.text[i] = bytes[i] < ' ' || bytes[i] > '~' ? '?' : bytes[i];
		m->refused.text[len] = '\0';
	}
	return true;
}

static bool c_transport(struct nfs4r_codec *c, void *obj)
{
	struct transport_obj *o = obj;
	struct nfs4r_transport_msg_body *m = o->m;

	if (!c_u32(c, &m->type))
		return false;
	switch (m->type) {
	case NFS4R_MSG_HELLO:
		return c_hello(c, &m->hello, o->protocol);
	case NFS4R_MSG_REFUSED:
		return c_refused(c, m);
	case NFS4R_MSG_KEEPALIVE:
		return c_bool(c, &m->keepalive.answer) && c_u64(c, &m->keepalive.clock_ns) && c_i64(c, &m->keepalive.day_ns);
	case NFS4R_MSG_TOKEN:
		return c_u32(c, &m->security) && c_buf(c, &m->opaque, NFS4R_TOKEN_MAX);
	case NFS4R_MSG_PADDING:
		return c_buf(c, &m->opaque, NFS4R_PADDING_MAX);
	case NFS4R_MSG_NUMBER:
	case NFS4R_MSG_TAKEN:
		return c_u64(c, &m->number);
	case NFS4R_MSG_KEYS:
		return true;
	default:
		return c_fail(c, NFS4R_MALFORMED);
	}
}

uint32_t nfs4r_transport_msg_type(const void *bytes, size_t len)
{
	uint32_t be;

	if (len < sizeof(be))
		return 0;
	memcpy(&be, bytes, sizeof(be));
	return ntohl(be);
}

struct nfs4r_buf *nfs4r_transport_msg_encode(const struct nfs4r_transport_msg_body *m)
{
	struct transport_obj o = { .m = (struct nfs4r_transport_msg_body *)m };
	enum nfs4r_status st;

	return nfs4r_codec_encode(c_transport, 0, &o, &st);
}

enum nfs4r_status nfs4r_transport_msg_decode(const void *bytes, size_t len, uint32_t protocol,
					     struct nfs4r_transport_msg_body *out)
{
	struct transport_obj o = { .protocol = protocol, .m = out };
	enum nfs4r_status st;
	const char *why;

	memset(out, 0, sizeof(*out));
	st = nfs4r_codec_decode(c_transport, protocol, bytes, len, &o, &why);
	if (st != NFS4R_OK)
		nfs4r_transport_msg_fini(out);
	return st;
}

void nfs4r_transport_msg_fini(struct nfs4r_transport_msg_body *m)
{
	if (m->type != NFS4R_MSG_TOKEN && m->type != NFS4R_MSG_PADDING)
		return;
	nfs4r_buf_put(m->opaque);
	m->opaque = NULL;
}
