/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Mapping between the structs of src/base and the bytes of nfs4r.x, with libntirpc's
 * XDR codecs. Used by the transport (messages) and by the store (entries in the journal).
 * Decoding checks every length against base/limits.h before it allocates, and every
 * enum against its values; a failure leaves nothing allocated.
 */
#ifndef NFS4R_PROTOCOL_XDR_MAP_H
#define NFS4R_PROTOCOL_XDR_MAP_H

#include "base/msg.h"
#include "base/version.h"

/*
 * Encoded into a new buffer (one reference) as @protocol has it, which both sides of the connection know; NULL when out of memory or above
 * NFS4R_MESSAGE_MAX. A member that a later protocol added is left out.
 */
struct nfs4r_buf *nfs4r_msg_encode(const struct nfs4r_msg *msg, uint32_t protocol);
/*
 * A message of @protocol; a member that a later one added is 0. NFS4R_OK, NFS4R_MALFORMED (also an entry, an operation or an answer whose shape is wrong: base/shape.h), NFS4R_TOOBIG, NFS4R_NOMEM. Trailing bytes are malformed.
 * *why: on failure what is wrong, a static text. Any thread; needs nothing but the bytes.
 */
enum nfs4r_status nfs4r_msg_decode(const void *bytes, size_t len, uint32_t protocol, struct nfs4r_msg *out, const char **why);

/*
 * One entry. @with_payload: the bytes travel too (messages); without: the journal's form, in which
 * the local handle of a created object is kept instead.
 */
struct nfs4r_buf *nfs4r_entry_encode(const struct nfs4r_entry *e, bool with_payload);
enum nfs4r_status nfs4r_entry_decode(const void *bytes, size_t len, bool with_payload, struct nfs4r_entry **out, const char **why);

#endif
