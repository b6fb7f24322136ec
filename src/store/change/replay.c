/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One record of the journal at open: into the overlay when LMDB does not hold it yet, into the log index
 * in any case. recover.c finds the records and decides where they end.
 *
 * Replay takes the same road as the changing calls, without appending. What cannot be understood although
 * its checksum is right, or does not fit the rows, is an error of the record; nothing on disk has changed
 * by then, so open() can refuse.
 */
#include <stdlib.h>

#include "base/room.h"
#include "store/bytes.h"
#include "store/internal.h"
#include "xdr_map.h"

enum nfs4r_status store_replay_puts(struct nfs4r_store *s, const struct nfs4r_rec_view *rec)
{
	struct nfs4r_rd r = { rec->body, rec->len, false };
	struct ov_need need = { 0 };
	struct nfs4r_put *puts;
	uint32_t n;
	enum nfs4r_status st = store_rd_puts(&r, &puts, &n);

	if (st != NFS4R_OK)
		return st;
	store_puts_need(&need, puts, n);
	if (store_ov_reserve(s->active, &need))
		store_puts_apply(s, puts, n, rec->pos);
	else
		st = NFS4R_NOMEM;
	free(puts);
	return st;
}

enum nfs4r_status store_replay_mark(struct nfs4r_store *s, const uint8_t oid[16], nfs4r_version version)
{
	struct ov_need need = { 0 };
	struct nfs4r_oid o;
	struct ov_mark *m;

	store_ov_need_mark(&need);
	if (!store_ov_reserve(s->active, &need))
		return NFS4R_NOMEM;
	memcpy(o.b, oid, 16);
	m = store_ov_make_mark(s->active, &o);
	if (!m->version || version < m->version)
		m->version = version;
	return NFS4R_OK;
}

static enum nfs4r_status replay_marks(struct nfs4r_store *s, const struct nfs4r_rec_view *rec)
{
	struct nfs4r_rd r = { rec->body, rec->len, false };
	enum nfs4r_status st = NFS4R_OK;

	for (uint32_t n = rd_u32(&r); n && st == NFS4R_OK; n--) {
		const uint8_t *oid = rd_bytes(&r, 16);
		nfs4r_version v = rd_u64(&r);

		st = r.bad ? NFS4R_MALFORMED : store_replay_mark(s, oid, v);
	}
	return st == NFS4R_OK && r.left ? store_foreign_intent_replay(s, &r) : st;
}

enum nfs4r_status store_replay_handle(struct nfs4r_store *s, const struct nfs4r_rec_view *rec)
{
	struct nfs4r_rd r = { rec->body, rec->len, false };
	const uint8_t *id = rd_bytes(&r, 16);
	uint8_t len = rd_u8(&r);
	const uint8_t *handle = rd_bytes(&r, len);
	struct ov_need need = { 0 };
	struct nfs4r_object o;
	struct nfs4r_oid oid;
	enum nfs4r_status st;

	if (r.bad || !len || len > NFS4R_LOCAL_HANDLE_MAX)
		return NFS4R_MALFORMED;
	memcpy(oid.b, id, 16);
	st = store_object_load(s, &oid, &o);
	if (st == NFS4R_OK || st == NFS4R_NOENT) {
		bool mine = store_handle_is_mine(s, &o);

		store_handle_need(&need, &o, len);
		st = store_ov_reserve(s->active, &need) ? NFS4R_OK : NFS4R_NOMEM;
		if (st == NFS4R_OK)
			store_handle_apply(s, &oid, &o, mine, handle, len);
	}
	store_object_fini(&o);
	return st;
}

enum nfs4r_status store_replay_commit(struct nfs4r_store *s, const struct nfs4r_rec_view *rec)
{
	struct nfs4r_plan plan;
	struct nfs4r_commit_body c;
	enum nfs4r_status st = store_rd_commit(rec, &c, &s->unreadable);

	if (st != NFS4R_OK)
		return st;
	c.entry->bytes_at = store_inline_of(s, rec->pos);
	st = store_commit_reserve(s, c.entry, c.puts, c.nputs, &plan);
	if (st == NFS4R_OK)
		st = store_inline_note(s, c.entry);
	if (st == NFS4R_OK)
		store_commit_apply(s, c.entry, c.puts, c.nputs, &plan, rec->pos);
	store_plan_fini(&plan);
	store_commit_body_fini(&c);
	return st;
}

/* ---- entries behind a hole --------------------------------------------------- */

enum nfs4r_status store_cut_add(struct nfs4r_scan *sc, const struct nfs4r_cut *cut)
{
	struct nfs4r_cut *cuts;

	if (sc->ncuts && sc->cuts[sc->ncuts - 1].pos >= cut->pos)
		return NFS4R_OK; /* known from an earlier pass */
	cuts = realloc(sc->cuts, (sc->ncuts + 1) * sizeof(*cuts));
	if (!cuts)
		return NFS4R_NOMEM;
	sc->cuts = cuts;
	sc->cuts[sc->ncuts++] = *cut;
	for (int i = 1; i < NLOGS && !FAULT(F_STORE_BEHIND_HOLE); i++)
		sc->again |= store_log_last(&sc->s->logs[i]) > cut->last[i];
	return NFS4R_OK;
}

/* OK: counts. NOENT: does not. STALE: it follows once more. CORRUPT: should not, but LMDB holds it (checkpoint.c sees to it that this cannot be). */
static enum nfs4r_status counts(const struct nfs4r_scan *sc, const struct nfs4r_rec_view *rec,
				const struct nfs4r_commit_head *h)
{
	bool mine = h->log == sc->s->meta.self;
	enum nfs4r_status st = NFS4R_OK;

	for (uint32_t i = 0; i < sc->ncuts && !FAULT(F_STORE_BEHIND_HOLE); i++) {
		const struct nfs4r_cut *c = &sc->cuts[i];

		if (rec->pos >= c->pos || h->lsn <= c->last[h->log] || ((!mine || c->again) && rec->pos < c->from))
			continue;
		if (c->again) {
			st = NFS4R_STALE;
			continue;
		}
		return mine && c->pos == CUT_NEW && h->own && rec->pos < sc->s->meta.pos ? NFS4R_CORRUPT : NFS4R_NOENT;
	}
	return st;
}

static bool note_given_back(struct nfs4r_store *s, const struct nfs4r_entry *e, const struct nfs4r_part *p)
{
	if (!NFS4R_ROOM(s->given_back, s->ngiven_back, s->given_back_cap))
		return false;
	s->given_back[s->ngiven_back++] = (struct nfs4r_given_back){ p->oid, p->after, e->log, e->lsn };
	return true;
}

/* The files may have what it did, and clients may have seen it. */
static enum nfs4r_status note_dropped(struct nfs4r_store *s, const struct nfs4r_rec_view *rec)
{
	struct nfs4r_commit_body c;
	enum nfs4r_status st = store_rd_commit(rec, &c, &s->unreadable);

	if (st != NFS4R_OK)
		return st;
	for (uint32_t i = 0; i < c.entry->nparts && st == NFS4R_OK; i++) {
		const struct nfs4r_part *p = &c.entry->parts[i];
		struct nfs4r_extent x = store_extent_of(p);

		if (p->effect == NFS4R_EFF_CLIENT) /* of no object */
			continue;
		st = note_given_back(s, c.entry, p) ? NFS4R_OK : NFS4R_NOMEM;
		if (st == NFS4R_OK && p->effect != NFS4R_EFF_LOCKS) /* these change no files */
			st = store_drop_extent(s, &x);
	}
	store_commit_body_fini(&c);
	return st;
}

static bool note_beyond(struct nfs4r_store *s, const struct nfs4r_commit_head *h)
{
	if (!NFS4R_ROOM(s->beyond, s->nbeyond, s->beyond_cap))
		return false;
	s->beyond[s->nbeyond++] = (struct nfs4r_beyond){ h->log, h->lsn, h->created };
	return true;
}

/* Before what LMDB holds up to: only where the entry lies. */
static enum nfs4r_status index_commit(struct nfs4r_store *s, const struct nfs4r_rec_view *rec,
				      const struct nfs4r_commit_head *h)
{
	struct nfs4r_log *l = &s->logs[h->log];

	if (!store_log_reserve(l, h->lsn))
		return NFS4R_NOMEM;
	if (h->lsn > s->meta.applied[h->log] && !note_beyond(s, h))
		return NFS4R_NOMEM;
	store_log_add(l, h->lsn, rec->pos, &h->created);
	store_log_advance(l, h->log, &s->oid_watermark[h->log]);
	store_flight_end(s, h->log, h->lsn);
	return NFS4R_OK;
}

static enum nfs4r_status see_intent(struct nfs4r_store *s, const struct nfs4r_rec_view *rec,
				    const struct nfs4r_commit_head *h)
{
	struct nfs4r_flight *f;

	if (h->lsn <= s->logs[h->log].applied || store_log_at(&s->logs[h->log], h->lsn))
		return NFS4R_OK;
	/* A second one of the same number: the first was never decided and its run is over. */
	store_flight_end(s, h->log, h->lsn);
	f = store_flight_new(h->log, h->lsn);
	if (!f)
		return NFS4R_NOMEM;
	f->intent = rec->pos;
	store_flight_add(s, f);
	return NFS4R_OK;
}

enum nfs4r_status store_rd_cut(const struct nfs4r_rec_view *rec, nfs4r_server_id self, struct nfs4r_cut *c, bool *lost)
{
	struct nfs4r_rd r = { rec->body, rec->len, false };
	uint64_t cut = 0;

	*c = (struct nfs4r_cut){ .pos = rec->pos, .from = UINT64_MAX, .again = rec->type == REC_ASIDE };
	memset(c->last, 0xff, sizeof(c->last)); /* what it does not say cuts nothing */
	if (!c->again) {
		rd_bytes(&r, 16 + BOOT_ID_LEN);
		cut = r.left ? rd_u64(&r) : 0;
	}
	if (c->again || r.left) {
		c->from = rd_u64(&r);
		for (int i = 1; i < NLOGS; i++)
			c->last[i] = rd_u64(&r);
	}
	if (!c->again)
		c->last[self] = cut - 1;
	*lost = cut;
	return r.bad ? NFS4R_MALFORMED : NFS4R_OK;
}

/* Of every OPEN that is kept: what its run had found missing; of every ASIDE, what it set aside. */
static enum nfs4r_status see_cut(struct nfs4r_scan *sc, const struct nfs4r_rec_view *rec, bool *lost)
{
	struct nfs4r_cut c;
	enum nfs4r_status st = store_rd_cut(rec, sc->s->meta.self, &c, lost);

	return st == NFS4R_OK ? store_cut_add(sc, &c) : st;
}

static enum nfs4r_status see_open(struct nfs4r_scan *sc, const struct nfs4r_rec_view *rec)
{
	struct nfs4r_rd r = { rec->body, rec->len, false };
	struct nfs4r_store *s = sc->s;
	struct nfs4r_inc *incs;
	const uint8_t *boot;

	sc->inc.counter = rd_u64(&r);
	sc->inc.random = rd_u64(&r);
	boot = rd_bytes(&r, BOOT_ID_LEN);
	if (r.bad || sc->inc.counter >> OID_GEN_SHIFT) /* the next one's OIDs would be those of another generation */
		return NFS4R_MALFORMED;
	memcpy(sc->last_boot, boot, BOOT_ID_LEN);
	sc->last_boot[BOOT_ID_LEN - 1] = 0;
	incs = realloc(s->incs, (s->nincs + 1) * sizeof(*incs));
	if (!incs)
		return NFS4R_NOMEM;
	s->incs = incs;
	s->incs[s->nincs++] = sc->inc;
	return NFS4R_OK;
}

static enum nfs4r_status see_entry(struct nfs4r_scan *sc, const struct nfs4r_rec_view *rec)
{
	struct nfs4r_store *s = sc->s;
	struct nfs4r_commit_head h;
	enum nfs4r_status st;

	if (!store_rd_commit_head(rec, &h))
		return NFS4R_MALFORMED;
	if (rec->type == REC_INTENT)
		return see_intent(s, rec, &h);
	st = counts(sc, rec, &h);
	if (st == NFS4R_NOENT)
		return h.log != s->meta.self && rec->pos >= s->meta.pos ? note_dropped(s, rec) : NFS4R_OK;
	if (st != NFS4R_OK)
		return st == NFS4R_STALE ? NFS4R_OK : st;
	store_seg_note(&s->jnl, rec->pos, h.log, h.lsn);
	if (h.own && h.lsn > s->last[h.log])
		s->last[h.log] = h.lsn;
	return rec->pos >= s->meta.pos + FAULT(F_STORE_REPLAY_LATE) ? store_replay_commit(s, rec) : index_commit(s, rec, &h);
}

enum nfs4r_status store_replay(struct nfs4r_scan *sc, const struct nfs4r_rec_view *rec)
{
	struct nfs4r_store *s = sc->s;
	bool lost, replay = rec->pos >= s->meta.pos + FAULT(F_STORE_REPLAY_LATE);
	enum nfs4r_status st;

	sc->closed = rec->type == REC_CLOSE;
	if (rec->type == REC_COMMIT || rec->type == REC_INTENT)
		return see_entry(sc, rec);
	if (rec->type == REC_OPEN) {
		st = see_cut(sc, rec, &lost);
		if (st != NFS4R_OK || !replay)
			return st;
		sc->lost = lost;
		return see_open(sc, rec);
	}
	if (rec->type == REC_ASIDE)
		return see_cut(sc, rec, &lost);
	if (rec->type == REC_RECOVERED)
		store_flights_free(s); /* begun before, and nobody has them */
	if (rec->type >= REC_SEAL && rec->type <= REC_POSITIONS)
		return store_replay_repair(s, rec, !replay);
	if (!replay)
		return NFS4R_OK;
	switch (rec->type) {
	case REC_PUTS:
		return store_replay_puts(s, rec);
	case REC_MARKS:
		return replay_marks(s, rec);
	case REC_HANDLE:
		return store_replay_handle(s, rec);
	case REC_BYTES:
		return store_replay_bytes(s, rec);
	case REC_RECOVERED:
		sc->lost = false;
		return NFS4R_OK;
	case REC_SYNCED:
	case REC_CLOSE:
		return NFS4R_OK;
	default:
		return NFS4R_MALFORMED;
	}
}
