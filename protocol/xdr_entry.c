/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Log entries as bytes: with their payload for the peers, without it and with the local
 * handle for the journal (nfs4r_entry and nfs4r_journal_entry of nfs4r.x).
 *
 * Each part carries only what its effect means (entry.h names the members); other members
 * of the part are zero after decoding. An entry that has not the shape of its operation (base/shape.h)
 * cannot be decoded, whether it comes from a peer or from the journal; INSTALL parts are refused until
 * something issues them, because a server that skipped one would silently differ.
 *
 * Failure: a half decoded entry is put by nfs4r_entry_decode or by the message that holds it.
 */
#include "xdr_codec.h"
#include "xdr_map.h"

#define PART_MIN (16 + 8 * 4 + 4)
#define NAME_CHANGE_MIN (8 + 16 + 4 + 8)

static bool c_name_changes(struct nfs4r_codec *c, struct nfs4r_part *p)
{
	uint32_t n = p->nnames;

	if (!c_count(c, &n, NFS4R_NAME_CHANGES_MAX, NAME_CHANGE_MIN))
		return false;
	if (c_decoding(c) && n > 0 && !nfs4r_part_names(p, n))
		return c_fail(c, NFS4R_NOMEM);
	for (uint32_t i = 0; i < n; i++) {
		struct nfs4r_name_change *nc = &p->names[i];

		if (!c_name(c, &nc->name, true) || !c_oid(c, &nc->oid) ||
		    !c_range(c, &nc->type, nfs4r_oid_is_zero(&nc->oid) ? 0 : NFS4R_TYPE_FILE,
			     NFS4R_TYPE_BLK) ||
		    !c_u64(c, &nc->cookie))
			return false;
	}
	return true;
}

static bool c_effect(struct nfs4r_codec *c, struct nfs4r_part *p)
{
	switch (p->effect) {
	case NFS4R_EFF_NONE:
		return true;
	case NFS4R_EFF_CREATE:
		return c_attrs(c, &p->attrs) && c_oid(c, &p->parent) &&
			c_text(c, &p->linktext, NFS4R_PATH_MAX);
	case NFS4R_EFF_WRITE:
		return c_u64(c, &p->off) && c_u64(c, &p->len);
	case NFS4R_EFF_ATTRS:
		return c_attrs(c, &p->attrs);
	case NFS4R_EFF_XATTR: /* without a name it is not encoded either: nobody could read the journal again */
		return c_text(c, &p->xname, NFS4R_XATTR_NAME_MAX) &&
			((p->xname && *p->xname) || c_fail(c, NFS4R_MALFORMED)) && c_bool(c, &p->xremove);
	case NFS4R_EFF_NAMES:
		return c_name_changes(c, p);
	case NFS4R_EFF_LINKS:
		return c_u32(c, &p->nlink) && c_bool(c, &p->multi) &&
			c_bool(c, &p->parent_gained) && c_oid(c, &p->parent);
	case NFS4R_EFF_PARENT:
		return c_oid(c, &p->parent) && c_oid(c, &p->parent_from);
	case NFS4R_EFF_ALLOC:
		return c_u64(c, &p->off) && c_u64(c, &p->len) && c_bool(c, &p->punch);
	case NFS4R_EFF_LOCKS:
		return c_lock_list(c, &p->nlocks, &p->locks);
	case NFS4R_EFF_CLIENT:
		return c_client_effect(c, p);
	default:
		return c_fail(c, NFS4R_MALFORMED);
	}
}

static bool c_part(struct nfs4r_codec *c, struct nfs4r_part *p)
{
	return c_oid(c, &p->oid) && c_u64(c, &p->before) && c_u64(c, &p->after) &&
		c_i64(c, &p->ctime) && c_i64(c, &p->mtime) &&
		c_range(c, &p->effect, NFS4R_EFF_NONE, c_knows(c, NFS4R_PROTOCOL_LOCKS) ? NFS4R_EFF_CLIENT : NFS4R_EFF_ALLOC) && c_effect(c, p);
}

static bool c_joined(struct nfs4r_codec *c, struct nfs4r_joined *j)
{
	bool there = j->pid.server != 0;

	if (!c_bool(c, &there))
		return false;
	return !there || (c_pid(c, &j->pid) && c_control(c, &j->control) && c_range(c, &j->kind, NFS4R_CREATED, NFS4R_MOVED));
}

/* By server id, zeroed before decoding; zeroes at the end do not travel. */
bool c_applied(struct nfs4r_codec *c, nfs4r_lsn applied[NFS4R_SERVERS_MAX + 1])
{
	uint32_t n = NFS4R_SERVERS_MAX + 1;

	while (n > 0 && applied[n - 1] == 0)
		n--;
	if (!c_count(c, &n, NFS4R_SERVERS_MAX + 1, 8))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (!c_u64(c, &applied[i]))
			return false;
	}
	return c_check(c, n == 0 || applied[n - 1] != 0);
}

static bool c_entry_head(struct nfs4r_codec *c, struct nfs4r_entry *e)
{
	if (!c_server(c, &e->log, false) || !c_u64(c, &e->lsn) || !c_check(c, e->lsn != 0) ||
	    !c_u64(c, &e->view) || !c_range(c, &e->op, NFS4R_OP_CREATE, c_knows(c, NFS4R_PROTOCOL_LOCKS) ? NFS4R_OP_CLIENT : NFS4R_OP_CLAIM) ||
	    !c_request_id(c, &e->request) || !c_u64(c, &e->answered_below) ||
	    !c_oid(c, &e->result) || !c_joined(c, &e->joined) ||
	    !c_count(c, &e->nparts, NFS4R_PARTS_MAX, PART_MIN)) {
		/* The entry's own fini must not walk parts that are not there. */
		if (e->nparts > NFS4R_PARTS_MAX && c_decoding(c))
			e->nparts = 0;
		return false;
	}
	for (uint32_t i = 0; i < e->nparts; i++) {
		if (!c_part(c, &e->parts[i]))
			return false;
	}
	return c_bool(c, &e->has_payload) && c_server(c, &e->fuzzy_log, true) &&
		c_u64(c, &e->fuzzy_lsn) && c_applied(c, e->after);
}

static bool c_payload(struct nfs4r_codec *c, struct nfs4r_entry *e)
{
	bool xattr = e->nparts > 0 && e->parts[0].effect == NFS4R_EFF_XATTR;

	if (!c_opt_buf(c, &e->payload, xattr ? NFS4R_XATTR_VALUE_MAX : NFS4R_IO_MAX))
		return false;
	return c_check(c, !e->payload || e->has_payload);
}

static bool c_local_handle(struct nfs4r_codec *c, struct nfs4r_entry *e)
{
	uint32_t len = e->handle_len;
	const char *bytes = (const char *)e->handle;

	if (!c_bytes(c, &bytes, &len, NFS4R_LOCAL_HANDLE_MAX))
		return false;
	if (c_decoding(c)) {
		e->handle_len = (uint8_t)len;
		memcpy(e->handle, bytes, len);
	}
	return true;
}

bool c_entry(struct nfs4r_codec *c, struct nfs4r_entry **e, bool with_payload)
{
	if (c_decoding(c)) {
		*e = nfs4r_entry_new();
		if (!*e)
			return c_fail(c, NFS4R_NOMEM);
	}
	return c_entry_head(c, *e) && (with_payload ? c_payload(c, *e) : c_local_handle(c, *e)) &&
		(!c_decoding(c) || c_shape(c, nfs4r_shape_of_entry(*e)));
}

static bool c_entry_message(struct nfs4r_codec *c, void *obj)
{
	return c_entry(c, obj, true);
}

static bool c_entry_journal(struct nfs4r_codec *c, void *obj)
{
	return c_entry(c, obj, false);
}

struct nfs4r_buf *nfs4r_entry_encode(const struct nfs4r_entry *e, bool with_payload)
{
	enum nfs4r_status st;

	return nfs4r_codec_encode(with_payload ? c_entry_message : c_entry_journal, 0, &e, &st);
}

enum nfs4r_status nfs4r_entry_decode(const void *bytes, size_t len, bool with_payload,
				     struct nfs4r_entry **out, const char **why)
{
	struct nfs4r_entry *e = NULL;
	enum nfs4r_status st;

	*out = NULL;
	st = nfs4r_codec_decode(with_payload ? c_entry_message : c_entry_journal, 0, bytes, len, &e, why);
	if (st == NFS4R_OK)
		*out = e;
	else
		nfs4r_entry_put(e);
	return st;
}
