/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The protection of records by a context of Kerberos.
 *
 * Happy path: a record is copied once, to its place between the header and the trailer of its token, and protected where it lies (gss_wrap_iov). The other
 * way likewise: header and trailer are read where they came, and the record is copied to where it is decrypted. Encryption types of RFC 4121 (AES, Camellia) have
 * headers and trailers of one length; for the older ones the library makes its own buffers.
 *
 * Failure: anything but GSS_S_COMPLETE is the end of the connection, also the notes that a token is old, repeated, or that one is missing. TCP keeps the
 * order, so each of them means that somebody has had a hand in it.
 */
#include <string.h>

#include "rpc/security/krb5_int.h"

#define PARTS 3

/* Of a context in use: element 0 is its key, element 1 an OID that ends in the number of its encryption type. */
static krb5_enctype enctype_of(gss_ctx_id_t ctx)
{
	gss_buffer_set_t set = GSS_C_NO_BUFFER_SET;
	krb5_enctype type = 0;
	OM_uint32 minor;

	if (gss_inquire_sec_context_by_oid(&minor, ctx, GSS_C_INQ_SSPI_SESSION_KEY, &set) != GSS_S_COMPLETE)
		return ENCTYPE_NULL;
	if (set->count > 0)
		explicit_bzero(set->elements[0].value, set->elements[0].length);
	if (set->count > 1) {
		const unsigned char *oid = set->elements[1].value, *end = oid + set->elements[1].length, *arc = end - (end > oid);

		while (arc > oid && arc[-1] & 0x80) /* seven bits in each byte, all but the last one with the eighth */
			arc--;
		for (; arc < end; arc++)
			type = type << 7 | (*arc & 0x7f);
	}
	gss_release_buffer_set(&minor, &set);
	return type;
}

static void parts_of(gss_iov_buffer_desc iov[PARTS], void *header, size_t header_len, void *data, size_t len, void *trailer, size_t trailer_len)
{
	iov[0] = (gss_iov_buffer_desc){ GSS_IOV_BUFFER_TYPE_HEADER, { header_len, header } };
	iov[1] = (gss_iov_buffer_desc){ GSS_IOV_BUFFER_TYPE_DATA, { len, data } };
	iov[2] = (gss_iov_buffer_desc){ GSS_IOV_BUFFER_TYPE_TRAILER, { trailer_len, trailer } };
}

/* True for all but the old encryption types. */
static bool has_fixed_lengths(krb5_enctype type)
{
	return type >= ENCTYPE_AES128_CTS_HMAC_SHA1_96 && type != ENCTYPE_ARCFOUR_HMAC && type != ENCTYPE_ARCFOUR_HMAC_EXP;
}

static void measure(struct rpc_krb5_keys *keys)
{
	gss_iov_buffer_desc iov[PARTS];
	uint64_t some = 0;
	OM_uint32 minor;
	int conf = 0;

	if (!has_fixed_lengths(keys->enctype))
		return;
	parts_of(iov, NULL, 0, &some, sizeof(some), NULL, 0);
	if (gss_wrap_iov_length(&minor, keys->ctx, keys->confidential, GSS_C_QOP_DEFAULT, &conf, iov, PARTS) != GSS_S_COMPLETE)
		return;
	keys->header = (uint32_t)iov[0].buffer.length;
	keys->trailer = (uint32_t)iov[2].buffer.length;
	if (keys->header + keys->trailer > RPC_KRB5_OVERHEAD)
		keys->header = keys->trailer = 0; /* wrap says what it makes of that */
}

void rpc_krb5_keys_take(gss_ctx_id_t *ctx, bool confidential, struct rpc_krb5_keys *keys)
{
	OM_uint32 minor, lifetime = 0;

	memset(keys, 0, sizeof(*keys));
	keys->ctx = *ctx;
	*ctx = GSS_C_NO_CONTEXT;
	keys->confidential = confidential;
	keys->enctype = enctype_of(keys->ctx);
	if (gss_context_time(&minor, keys->ctx, &lifetime) == GSS_S_COMPLETE)
		keys->lifetime_s = lifetime;
	measure(keys);
}

void rpc_krb5_keys_free(struct rpc_krb5_keys *keys)
{
	OM_uint32 ignored;

	if (keys->ctx != GSS_C_NO_CONTEXT)
		gss_delete_sec_context(&ignored, &keys->ctx, GSS_C_NO_BUFFER);
	memset(keys, 0, sizeof(*keys));
}

/* ---- encryption types of before RFC 4121 ---- */

static struct nfs4r_buf *old_wrap(struct rpc_krb5_keys *keys, const void *bytes, size_t len)
{
	gss_buffer_desc in = { len, (void *)bytes }, out = GSS_C_EMPTY_BUFFER;
	struct nfs4r_buf *b = NULL;
	OM_uint32 minor;
	int conf = 0;

	if (gss_wrap(&minor, keys->ctx, keys->confidential, GSS_C_QOP_DEFAULT, &in, &conf, &out) == GSS_S_COMPLETE && (conf || !keys->confidential) &&
	    out.length <= len + RPC_KRB5_OVERHEAD)
		b = nfs4r_buf_copy(out.value, (uint32_t)out.length);
	gss_release_buffer(&minor, &out);
	return b;
}

static struct nfs4r_buf *old_unwrap(struct rpc_krb5_keys *keys, const void *bytes, size_t len)
{
	gss_buffer_desc in = { len, (void *)bytes }, out = GSS_C_EMPTY_BUFFER;
	struct nfs4r_buf *b = NULL;
	OM_uint32 minor;
	int conf = 0;

	if (gss_unwrap(&minor, keys->ctx, &in, &out, &conf, NULL) == GSS_S_COMPLETE && (conf || !keys->confidential) && out.length <= len)
		b = nfs4r_buf_copy(out.value, (uint32_t)out.length);
	gss_release_buffer(&minor, &out);
	return b;
}

/* ---- the others ---- */

struct nfs4r_buf *rpc_krb5_wrap(struct rpc_krb5_keys *keys, const void *bytes, size_t len)
{
	gss_iov_buffer_desc iov[PARTS];
	struct nfs4r_buf *b;
	OM_uint32 minor;
	int conf = 0;

	if (keys->header == 0)
		return old_wrap(keys, bytes, len);
	if (len > UINT32_MAX - RPC_KRB5_OVERHEAD)
		return NULL;
	b = nfs4r_buf_new(keys->header + (uint32_t)len + keys->trailer);
	if (!b)
		return NULL;
	memcpy(b->data + keys->header, bytes, len);
	parts_of(iov, b->data, keys->header, b->data + keys->header, len, b->data + keys->header + len, keys->trailer);
	if (gss_wrap_iov(&minor, keys->ctx, keys->confidential, GSS_C_QOP_DEFAULT, &conf, iov, PARTS) == GSS_S_COMPLETE && (conf || !keys->confidential) &&
	    iov[0].buffer.length == keys->header && iov[2].buffer.length == keys->trailer)
		return b;
	nfs4r_buf_put(b);
	return NULL;
}

struct nfs4r_buf *rpc_krb5_unwrap(struct rpc_krb5_keys *keys, const void *bytes, size_t len)
{
	uint8_t around[RPC_KRB5_OVERHEAD]; /* header and trailer: the library writes into them */
	gss_iov_buffer_desc iov[PARTS];
	struct nfs4r_buf *b;
	size_t plain;
	OM_uint32 minor;
	int conf = 0;

	if (keys->header == 0)
		return old_unwrap(keys, bytes, len);
	if (len < keys->header + keys->trailer || len > UINT32_MAX)
		return NULL;
	plain = len - keys->header - keys->trailer;
	b = nfs4r_buf_new((uint32_t)plain);
	if (!b)
		return NULL;
	memcpy(around, bytes, keys->header);
	memcpy(b->data, (const uint8_t *)bytes + keys->header, plain);
	memcpy(around + keys->header, (const uint8_t *)bytes + keys->header + plain, keys->trailer);
	parts_of(iov, around, keys->header, b->data, plain, around + keys->header, keys->trailer);
	if (gss_unwrap_iov(&minor, keys->ctx, &conf, NULL, iov, PARTS) == GSS_S_COMPLETE && (conf || !keys->confidential) && iov[1].buffer.length == plain && iov[1].buffer.value == b->data)
		return b;
	nfs4r_buf_put(b);
	return NULL;
}
