/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Byte-range locks and lists of clients as bytes (since protocol NFS4R_PROTOCOL_LOCKS): what operations, answers, entries, copies and the messages of locks have of them.
 *
 * A list of the locks of one file is checked when it is decoded (base/shape.h): nobody behind looks whether it is in order, or whether two ranges of one owner overlap.
 *
 * Failure: as everywhere in protocol/. A list that is half decoded hangs on its owner with the count of what was made.
 */
#include "xdr_codec.h"
#include "xdr_map.h"

#define LOCK_BYTES (32 + 4 + 8 + 8 + 8)
#define FILE_LOCK_BYTES (LOCK_BYTES + 4 + 8 + 8)
#define FILE_LOCK_ROW_BYTES (16 + FILE_LOCK_BYTES)
#define CLIENT_MIN (16 + 4 + 4 + 4)
#define CLIENT_ENTRY_MORE (4 + 8 + 4 + 8)

static bool c_owner(struct nfs4r_codec *c, struct nfs4r_lock_owner *o)
{
	return c_u64(c, &o->client[0]) && c_u64(c, &o->client[1]) && c_u64(c, &o->owner[0]) && c_u64(c, &o->owner[1]);
}

/* @least: 0 where the type may not be known, or does not matter. */
static bool c_lock(struct nfs4r_codec *c, struct nfs4r_lock *l, uint32_t least)
{
	uint32_t type = l->type;

	if (!c_owner(c, &l->owner) || !c_range(c, &type, least, NFS4R_LOCK_WRITE) || !c_u64(c, &l->start) || !c_u64(c, &l->last) || !c_u64(c, &l->life) || !c_check(c, l->start <= l->last))
		return false;
	if (c_decoding(c)) /* an entry may be on its way to several servers at once */
		l->type = (enum nfs4r_lock_type)type;
	return true;
}

static bool c_file_lock(struct nfs4r_codec *c, struct nfs4r_file_lock *l, bool known)
{
	return c_lock(c, &l->lock, known ? NFS4R_LOCK_READ : 0) && c_server(c, &l->holder, !known) && c_u64(c, &l->inc) && c_u64(c, &l->n);
}

bool c_lock_list(struct nfs4r_codec *c, uint32_t *count, struct nfs4r_file_lock **locks)
{
	uint32_t n = *count;

	if (!c_count(c, &n, NFS4R_LOCKS_LIST_MAX, FILE_LOCK_BYTES))
		return false;
	if (c_decoding(c) && n > 0) {
		*locks = calloc(n, sizeof(**locks));
		if (!*locks)
			return c_fail(c, NFS4R_NOMEM);
		*count = n;
	}
	for (uint32_t i = 0; i < n; i++)
		if (!c_file_lock(c, &(*locks)[i], true))
			return false;
	return !c_decoding(c) || c_shape(c, nfs4r_shape_of_locks(*locks, n));
}

/* ---- clients --------------------------------------------------------------------------- */

/* What is behind the NUL stays zero. */
static bool c_words(struct nfs4r_codec *c, char *text, uint32_t max)
{
	uint32_t len = c_decoding(c) ? 0 : (uint32_t)strnlen(text, max);
	const char *bytes = text;

	if (!c_bytes(c, &bytes, &len, max) || !c_check(c, !memchr(bytes, '\0', len)))
		return false;
	if (c_decoding(c))
		memcpy(text, bytes, len);
	return true;
}

static bool c_client(struct nfs4r_codec *c, struct nfs4r_client *k, bool none)
{
	return c_u64(c, &k->id[0]) && c_u64(c, &k->id[1]) && c_check(c, none || k->id[0] || k->id[1]) && c_u32(c, &k->minor) && c_words(c, k->name, NFS4R_CLIENT_NAME_MAX) &&
		c_words(c, k->address, NFS4R_CLIENT_ADDRESS_MAX);
}

bool c_client_effect(struct nfs4r_codec *c, struct nfs4r_part *p)
{
	if (c_decoding(c)) {
		p->client = calloc(1, sizeof(*p->client));
		if (!p->client)
			return c_fail(c, NFS4R_NOMEM);
	} else if (!p->client) { /* nobody could read the journal again */
		return c_fail(c, NFS4R_MALFORMED);
	}
	return c_range(c, &p->client_word, NFS4R_CLIENT_BEGINS, NFS4R_CLIENTS_ENDED) && c_u64(c, &p->client_n) && c_u64(c, &p->client_below) &&
		c_check(c, p->client_word == NFS4R_CLIENTS_ENDED || !p->client_below) && c_client(c, p->client, p->client_word == NFS4R_CLIENTS_ENDED);
}

bool c_client_list(struct nfs4r_codec *c, struct nfs4r_read *r)
{
	uint32_t n = r->nclients;

	if (!c_count(c, &n, NFS4R_CLIENT_ROWS_MAX, CLIENT_MIN + 8 + CLIENT_ENTRY_MORE))
		return false;
	if (c_decoding(c) && n > 0) {
		r->clients = calloc(n, sizeof(*r->clients));
		if (!r->clients)
			return c_fail(c, NFS4R_NOMEM);
		r->nclients = n;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct nfs4r_client_entry *k = &r->clients[i];

		if (!c_server(c, &k->server, false) || !c_u64(c, &k->lsn) || !c_client(c, &k->client, true) || !c_bool(c, &k->gone) || !c_check(c, k->gone || k->client.id[0] || k->client.id[1]) ||
		    !c_u64(c, &k->n) || !c_server(c, &k->by, true) || !c_u64(c, &k->by_lsn))
			return false;
	}
	return true;
}

/* ---- operations ------------------------------------------------------------------------ */

/* Optional, and there with the operations of locks only. */
static bool c_is_lock(struct nfs4r_codec *c, const struct nfs4r_op *op, bool *there)
{
	*there = nfs4r_op_is_lock(op->type);
	return c_bool(c, there) && c_check(c, *there == nfs4r_op_is_lock(op->type));
}

bool c_lock_request(struct nfs4r_codec *c, struct nfs4r_op *op)
{
	struct nfs4r_lock_request *l = &op->lock;
	bool waits = op->type == NFS4R_OP_LOCK, there;
	uint32_t wait = l->wait;

	if (!c_is_lock(c, op, &there))
		return false;
	if (!there)
		return true;
	if (!c_lock(c, &l->lock, op->type == NFS4R_OP_UNLOCK ? 0 : NFS4R_LOCK_READ) || !c_range(c, &wait, waits ? NFS4R_LOCK_TRY : 0, waits ? NFS4R_LOCK_POLL : 0) ||
	    !c_bool(c, &l->reclaim) || !c_check(c, waits || !l->reclaim) || !c_bool(c, &l->confirms) || !c_check(c, waits || !l->confirms))
		return false;
	l->wait = (enum nfs4r_lock_wait)wait;
	return c_u64(c, &l->n) && c_u64(c, &l->waited_ms) && c_u64(c, &l->view) && c_u64(c, &l->inc);
}

bool c_lock_answer(struct nfs4r_codec *c, struct nfs4r_op *op)
{
	struct nfs4r_lock_request *l = &op->lock;
	bool there;

	if (!c_is_lock(c, op, &there))
		return false;
	return !there || (c_u64(c, &l->view) && c_u64(c, &l->inc) && c_bool(c, &l->was_granted) && c_u64(c, &l->version) && c_file_lock(c, &l->conflict, false));
}

static bool c_opens(struct nfs4r_codec *c, struct nfs4r_opens *o)
{
	return c_u32(c, &o->readers) && c_u32(c, &o->writers) && c_u32(c, &o->deny_readers) && c_u32(c, &o->deny_writers);
}

/* Optional, and there with SHARE only. */
static bool c_is_share(struct nfs4r_codec *c, const struct nfs4r_op *op, bool *there)
{
	*there = op->type == NFS4R_OP_SHARE;
	return c_bool(c, there) && c_check(c, *there == (op->type == NFS4R_OP_SHARE));
}

bool c_share_request(struct nfs4r_codec *c, struct nfs4r_op *op)
{
	struct nfs4r_share_request *s = &op->share;
	bool there;

	if (!c_is_share(c, op, &there))
		return false;
	return !there ||
		(c_range(c, &s->access, 0, NFS4R_SHARE_BOTH) && c_range(c, &s->deny, 0, NFS4R_SHARE_BOTH) && c_check(c, s->access || !s->deny) && c_bool(c, &s->reclaim) &&
		 c_opens(c, &s->others) && c_u64(c, &op->lock.n) && c_u64(c, &op->lock.view) && c_u64(c, &op->lock.inc));
}

bool c_share_answer(struct nfs4r_codec *c, struct nfs4r_op *op)
{
	bool there;

	if (!c_is_share(c, op, &there))
		return false;
	return !there || (c_u64(c, &op->lock.view) && c_u64(c, &op->lock.inc) && c_u64(c, &op->share.guard));
}

/* ---- messages -------------------------------------------------------------------------- */

bool c_ack_gap(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	return c_bool(c, &m->ack.gap);
}

bool c_lock_ready(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	return c_oid(c, &m->lock_ready.oid) && c_lock(c, &m->lock_ready.lock, NFS4R_LOCK_READ) && c_u64(c, &m->lock_ready.n) && c_u64(c, &m->lock_ready.view) &&
		c_u64(c, &m->lock_ready.inc) && c_u64(c, &m->lock_ready.to_inc) && c_u64(c, &m->lock_ready.version) && c_bool(c, &m->lock_ready.heard);
}

bool c_locks_of(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	return c_u64(c, &m->locks_of.view) && c_u64(c, &m->locks_of.inc) && c_u64(c, &m->locks_of.round) && c_bool(c, &m->locks_of.only_clients);
}

bool c_gap_over(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	return c_pid(c, &m->gap_over.pid) && c_u64(c, &m->gap_over.view) && c_controls(c, &m->gap_over.ncontrols, m->gap_over.controls) && c_bool(c, &m->gap_over.heard);
}

static bool c_clients(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	if (!c_count(c, &m->locks_list.nclients, NFS4R_LOCKS_LIST_CLIENTS, 16))
		return false;
	for (uint32_t i = 0; i < m->locks_list.nclients; i++)
		if (!c_u64(c, &m->locks_list.clients[i][0]) || !c_u64(c, &m->locks_list.clients[i][1]) || !c_check(c, m->locks_list.clients[i][0] || m->locks_list.clients[i][1]))
			return false;
	return c_bool(c, &m->locks_list.more_clients);
}

bool c_locks_list(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	uint32_t n = m->locks_list.n;

	if (!c_u64(c, &m->locks_list.view) || !c_u64(c, &m->locks_list.inc) || !c_u64(c, &m->locks_list.round) || !c_bool(c, &m->locks_list.only_clients) ||
	    !c_u32(c, &m->locks_list.offset) || !c_bool(c, &m->locks_list.last) || !c_clients(c, m) ||
	    !c_count(c, &n, NFS4R_LOCKS_LIST_ROWS, FILE_LOCK_ROW_BYTES) || !c_check(c, m->locks_list.offset <= UINT32_MAX - n))
		return false;
	if (c_decoding(c) && n > 0) {
		m->locks_list.rows = calloc(n, sizeof(*m->locks_list.rows));
		if (!m->locks_list.rows)
			return c_fail(c, NFS4R_NOMEM);
		m->locks_list.n = n;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct nfs4r_file_lock_row *r = &m->locks_list.rows[i];

		if (!c_oid(c, &r->oid) || !c_check(c, !nfs4r_oid_is_zero(&r->oid)) || !c_file_lock(c, &r->lock, true))
			return false;
	}
	return true;
}

bool c_guard(struct nfs4r_codec *c, struct nfs4r_msg *m)
{
	if (!c_oid(c, &m->guard.oid) || !c_check(c, !nfs4r_oid_is_zero(&m->guard.oid)) || !c_u64(c, &m->guard.id) || !c_u64(c, &m->guard.view) || !c_u64(c, &m->guard.inc) ||
	    !c_u64(c, &m->guard.to_inc) || !c_bool(c, &m->guard.heard) || !c_opens(c, &m->guard.opens) || !c_count(c, &m->guard.nmarks, NFS4R_GUARD_MARKS, 4 + 8))
		return false;
	for (uint32_t i = 0; i < m->guard.nmarks; i++)
		if (!c_server(c, &m->guard.marks[i].by, false) || !c_u64(c, &m->guard.marks[i].id))
			return false;
	return true;
}
