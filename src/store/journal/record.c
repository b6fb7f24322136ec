/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The bytes of journal records: building them in a reused buffer and finding them again.
 *
 * A record is a header of 24 bytes (magic, type, length, checksum, own position), the body, and zeros up
 * to the next multiple of 8. The position in the header keeps bytes of another place or time from passing
 * for a record; the checksum covers header and body.
 *
 * Failure: out of memory while building marks the buffer as bad, the append then answers NOMEM. What does
 * not parse is only reported here; recover.c decides between a torn tail and damage.
 */
#include <assert.h>
#include <stdlib.h>

#include "store/bytes.h"
#include "store/internal.h"
#include "xdr_map.h"

#define REC_MAGIC 0x4e34524au /* "N4RJ" */

static uint8_t *wbuf_room(struct nfs4r_wbuf *w, size_t n)
{
	if (w->len + n > w->cap) {
		size_t cap = w->cap ? w->cap : 4096;
		uint8_t *p;

		while (cap < w->len + n)
			cap *= 2;
		p = realloc(w->p, cap);
		if (!p) {
			w->bad = true;
			return NULL;
		}
		w->p = p;
		w->cap = cap;
	}
	w->len += n;
	return w->p + w->len - n;
}

void store_rec_bytes(struct nfs4r_wbuf *w, const void *p, size_t n)
{
	uint8_t *to;

	if (n && (to = wbuf_room(w, n)))
		memcpy(to, p, n);
}

void store_rec_u8(struct nfs4r_wbuf *w, uint8_t v)
{
	store_rec_bytes(w, &v, 1);
}

void store_rec_u16(struct nfs4r_wbuf *w, uint16_t v)
{
	v = htobe16(v);
	store_rec_bytes(w, &v, sizeof(v));
}

void store_rec_u32(struct nfs4r_wbuf *w, uint32_t v)
{
	v = htobe32(v);
	store_rec_bytes(w, &v, sizeof(v));
}

void store_rec_u64(struct nfs4r_wbuf *w, uint64_t v)
{
	v = htobe64(v);
	store_rec_bytes(w, &v, sizeof(v));
}

void store_rec_begin(struct nfs4r_wbuf *w, enum nfs4r_rec type)
{
	uint8_t *p;

	w->rec = w->len;
	p = wbuf_room(w, REC_HEADER);
	if (!p)
		return;
	memset(p, 0, REC_HEADER);
	put_be32(p, REC_MAGIC);
	put_be16(p + 4, type);
}

void store_rec_end(struct nfs4r_wbuf *w)
{
	static const uint8_t zeros[8];
	size_t body;

	if (w->bad)
		return;
	body = w->len - w->rec - REC_HEADER;
	assert(body <= REC_MAX);
	put_be32(w->p + w->rec + 8, body);
	store_rec_bytes(w, zeros, -body & 7);
}

static uint32_t record_crc(const uint8_t *rec, size_t body)
{
	uint32_t crc = store_crc32c(0, rec, 12); /* magic, type, length */

	return store_crc32c(crc, rec + 16, 8 + body); /* position, body */
}

void store_rec_seal(struct nfs4r_wbuf *w, nfs4r_journal_pos pos)
{
	size_t at = 0;

	while (at < w->len) {
		uint8_t *rec = w->p + at;
		size_t body = get_be32(rec + 8);

		put_be64(rec + 16, pos + at);
		put_be32(rec + 12, record_crc(rec, body));
		at += REC_HEADER + ((body + 7) & ~(size_t)7);
	}
}

bool store_rec_parse(const uint8_t *p, size_t left, nfs4r_journal_pos pos,
		     struct nfs4r_rec_view *out, size_t *total)
{
	size_t body;

	if (left < REC_HEADER || get_be32(p) != REC_MAGIC || get_be64(p + 16) != pos)
		return false;
	body = get_be32(p + 8);
	*total = REC_HEADER + ((body + 7) & ~(size_t)7);
	if (body > REC_MAX || *total > left || (get_be32(p + 12) != record_crc(p, body) && !FAULT(F_STORE_TORN)))
		return false;
	for (size_t i = REC_HEADER + body; i < *total; i++) /* not in the checksum */
		if (p[i])
			return false;
	out->pos = pos;
	out->type = get_be16(p + 4);
	out->len = body;
	out->body = p + REC_HEADER;
	return true;
}

void store_rec_puts(struct nfs4r_wbuf *w, const struct nfs4r_put *puts, uint32_t n)
{
	store_rec_u32(w, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct nfs4r_put *p = &puts[i];
		uint16_t val_len = p->del ? 0 : p->val_len;

		store_rec_u8(w, p->del);
		store_rec_u16(w, p->key_len);
		store_rec_u16(w, val_len);
		store_rec_bytes(w, p->key, p->key_len);
		store_rec_bytes(w, p->val, val_len);
	}
}

static const struct nfs4r_part *creating_part(const struct nfs4r_entry *e)
{
	for (uint32_t i = 0; i < e->nparts; i++) {
		if (e->parts[i].effect == NFS4R_EFF_CREATE)
			return &e->parts[i];
	}
	return NULL;
}

void store_rec_commit_head(struct nfs4r_wbuf *w, const struct nfs4r_entry *e, bool own)
{
	static const struct nfs4r_oid none;
	const struct nfs4r_part *made = creating_part(e);

	store_rec_u16(w, e->log);
	store_rec_u16(w, own);
	store_rec_u64(w, e->lsn);
	store_rec_bytes(w, made ? made->oid.b : none.b, 16);
}

bool store_rd_commit_head(const struct nfs4r_rec_view *r, struct nfs4r_commit_head *h)
{
	if (r->len < COMMIT_HEAD)
		return false;
	h->log = get_be16(r->body);
	h->own = get_be16(r->body + 2);
	h->lsn = get_be64(r->body + 4);
	memcpy(h->created.b, r->body + 12, 16);
	return h->log >= 1 && h->log <= NFS4R_SERVERS_MAX && h->lsn > 0;
}

/* ---- reading bodies ------------------------------------------------------- */

enum nfs4r_status store_rd_puts(struct nfs4r_rd *r, struct nfs4r_put **out, uint32_t *count)
{
	uint32_t n = rd_u32(r);
	struct nfs4r_put *puts;

	*out = NULL;
	*count = 0;
	if (r->bad || n > r->left / 5)
		return NFS4R_MALFORMED;
	if (!n)
		return NFS4R_OK;
	puts = calloc(n, sizeof(*puts));
	if (!puts)
		return NFS4R_NOMEM;
	for (uint32_t i = 0; i < n; i++) {
		struct nfs4r_put *p = &puts[i];
		const uint8_t *key, *val;

		p->del = rd_u8(r);
		p->key_len = rd_u16(r);
		p->val_len = rd_u16(r);
		key = rd_bytes(r, p->key_len);
		val = rd_bytes(r, p->val_len);
		if (r->bad || !p->key_len || p->key_len > sizeof(p->key) || p->val_len > sizeof(p->val)) {
			free(puts);
			return NFS4R_MALFORMED;
		}
		memcpy(p->key, key, p->key_len);
		memcpy(p->val, val, p->val_len);
	}
	*out = puts;
	*count = n;
	return NFS4R_OK;
}

static enum nfs4r_status rd_entry(struct nfs4r_rd *r, struct nfs4r_entry **e, const char **why)
{
	uint32_t len = rd_u32(r);
	const uint8_t *p = rd_bytes(r, len);

	*why = nfs4r_status_str(NFS4R_MALFORMED);
	return p && !r->left ? nfs4r_entry_decode(p, len, false, e, why) : NFS4R_MALFORMED;
}

enum nfs4r_status store_rd_commit(const struct nfs4r_rec_view *rec, struct nfs4r_commit_body *out, const char **why)
{
	struct nfs4r_rd r = { rec->body, rec->len, false };
	enum nfs4r_status st = NFS4R_OK;

	*out = (struct nfs4r_commit_body){ .entry = NULL };
	*why = nfs4r_status_str(NFS4R_MALFORMED);
	rd_bytes(&r, COMMIT_HEAD);
	if (rec->type == REC_COMMIT)
		st = store_rd_puts(&r, &out->puts, &out->nputs);
	if (st == NFS4R_OK)
		st = rd_entry(&r, &out->entry, why);
	if (st != NFS4R_OK)
		store_commit_body_fini(out);
	return st;
}

void store_commit_body_fini(struct nfs4r_commit_body *c)
{
	nfs4r_entry_put(c->entry);
	free(c->puts);
	*c = (struct nfs4r_commit_body){ .entry = NULL };
}

struct nfs4r_entry *store_entry_at(struct nfs4r_store *s, nfs4r_journal_pos pos)
{
	struct nfs4r_commit_body c = { .entry = NULL };
	struct nfs4r_entry *e = NULL;
	struct nfs4r_rec_view rec;
	const char *why;
	uint8_t *buf = store_jnl_read(&s->jnl, pos, &rec);

	if (buf && (rec.type == REC_COMMIT || rec.type == REC_INTENT) &&
	    store_rd_commit(&rec, &c, &why) == NFS4R_OK)
		e = nfs4r_entry_get(c.entry);
	store_commit_body_fini(&c);
	free(buf);
	return e;
}

enum nfs4r_status store_format_at_least(struct nfs4r_store *s, uint32_t format)
{
	if (!nfs4r_versions_have(s->jnl.formats, format))
		return NFS4R_INVAL;
	pthread_mutex_lock(&s->jnl.lay_lock);
	if (format > s->jnl.format) {
		s->jnl.format = s->meta.format = format;
		s->jnl.roll = true;
	}
	pthread_mutex_unlock(&s->jnl.lay_lock);
	return NFS4R_OK;
}

struct nfs4r_wbuf *store_change_begin(struct nfs4r_store *s)
{
	struct nfs4r_wbuf *w = &s->wbuf;
	nfs4r_journal_pos synced = atomic_load(&s->jnl.synced);

	w->len = 0;
	w->bad = false;
	if (synced > s->synced_noted) {
		store_rec_begin(w, REC_SYNCED);
		store_rec_u64(w, synced);
		store_rec_end(w);
		s->synced_noted = synced; /* lost with a failed append: the next sync brings another */
	}
	return w;
}
