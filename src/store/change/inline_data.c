/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Bytes of small stable WRITEs in the journal (log 4.10, decision 0017).
 *
 * Happy path: a BYTES record goes before the COMMIT of the entry that wrote them, in one append. So one sync of the journal makes the WRITE durable, and the file need not be synced: after
 * a crash of the machine, what the records since LMDB's position say is written into the files once more. A checkpoint syncs the files before LMDB's position moves beyond a record.
 *
 * Of one object only a row's `bytes_from` onwards counts: a change of its bytes that is not kept ends that, for it comes after a sync of the file (engine/update/ops.c), and what is
 * kept from before would undo it.
 *
 * Failure modes: a BYTES record whose COMMIT is torn off, or lies behind a hole, counts for nothing: it is noted with its COMMIT only.
 *
 * Invariant: nothing lies between a BYTES record and its COMMIT, which is never put off or copied (partial.c), since the entry was executed here.
 */
#include <stdlib.h>

#include "base/room.h"
#include "store/bytes.h"
#include "store/internal.h"

bool nfs4r_store_part_changes_bytes(const struct nfs4r_part *p)
{
	switch (p->effect) {
	case NFS4R_EFF_WRITE:
	case NFS4R_EFF_ALLOC:
	case NFS4R_EFF_INSTALL:
		return true;
	case NFS4R_EFF_ATTRS:
		return p->attrs.mask & NFS4R_ATTR_SIZE;
	default:
		return false;
	}
}

bool nfs4r_store_keeps_bytes(struct nfs4r_store *s, const struct nfs4r_oid *oid)
{
	struct nfs4r_ref ref;
	bool yes;

	store_ref_open(s, oid, &ref);
	yes = ref.status == NFS4R_OK && ref.obj->bytes_from;
	store_ref_close(s, &ref);
	return yes;
}

void store_rec_inline(struct nfs4r_wbuf *w, const struct nfs4r_entry *e)
{
	store_rec_begin(w, REC_BYTES);
	store_rec_bytes(w, e->parts[0].oid.b, 16);
	store_rec_u64(w, e->parts[0].off);
	store_rec_u32(w, e->payload->len);
	store_rec_bytes(w, e->payload->data, e->payload->len);
	store_rec_end(w);
}

struct bytes {
	uint64_t off;
	uint32_t len;
	const uint8_t *data;
};

static bool rd_inline(const struct nfs4r_rec_view *rec, struct nfs4r_inline_bytes *k, struct bytes *b)
{
	struct nfs4r_rd r = { rec->body, rec->len, false };
	const uint8_t *oid = rd_bytes(&r, 16);

	k->pos = rec->pos;
	k->end = rec_after(rec);
	b->off = rd_u64(&r);
	b->len = rd_u32(&r);
	b->data = rd_bytes(&r, b->len);
	if (r.bad || r.left || rec->type != REC_BYTES)
		return false;
	memcpy(k->oid.b, oid, 16);
	return true;
}

/* ---- at open ---- */

enum nfs4r_status store_replay_bytes(struct nfs4r_store *s, const struct nfs4r_rec_view *rec)
{
	struct bytes b;

	if (!rd_inline(rec, &s->inline_next, &b))
		return NFS4R_MALFORMED;
	return FAULT(F_STORE_BYTES_LOOSE) ? store_inline_note(s, &(struct nfs4r_entry){ .bytes_at = rec->pos }) : NFS4R_OK;
}

nfs4r_journal_pos store_inline_of(const struct nfs4r_store *s, nfs4r_journal_pos pos)
{
	return s->inline_next.end == pos ? s->inline_next.pos : 0;
}

enum nfs4r_status store_inline_note(struct nfs4r_store *s, const struct nfs4r_entry *e)
{
	if (!e->bytes_at)
		return NFS4R_OK;
	if (!NFS4R_ROOM(s->inline_data, s->nkept, s->inline_cap))
		return NFS4R_NOMEM;
	s->inline_data[s->nkept++] = s->inline_next;
	return NFS4R_OK;
}

static bool counts(struct nfs4r_store *s, const struct nfs4r_inline_bytes *k)
{
	struct nfs4r_ref ref;
	bool yes;

	store_ref_open(s, &k->oid, &ref);
	yes = ref.status == NFS4R_OK && ((ref.obj->bytes_from && ref.obj->bytes_from <= k->pos) || FAULT(F_STORE_BYTES_OLD) || FAULT(F_STORE_BYTES_LOOSE));
	store_ref_close(s, &ref);
	return yes;
}

enum nfs4r_status nfs4r_store_each_inline(struct nfs4r_store *s, nfs4r_inline_fn fn, void *arg)
{
	enum nfs4r_status st = NFS4R_OK;

	for (uint32_t i = 0; i < s->nkept && st == NFS4R_OK; i++) {
		struct nfs4r_inline_bytes k;
		struct nfs4r_rec_view rec;
		struct bytes b;
		uint8_t *buf;

		if (!counts(s, &s->inline_data[i]))
			continue;
		buf = store_jnl_read(&s->jnl, s->inline_data[i].pos, &rec);
		if (!buf)
			return NFS4R_IO;
		st = rd_inline(&rec, &k, &b) ? fn(arg, &k.oid, b.off, b.data, b.len) : NFS4R_CORRUPT;
		free(buf);
	}
	return st;
}
