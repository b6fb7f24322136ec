/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What entries say about the bytes of a file in doubt (log 4.6): every other server that gets these entries makes the file of the bytes that they wrote, and of
 * nothing else, so this one does, too. What they wrote is on this server's disk, and nowhere else; the rest is as it was before them, which another server may have.
 * crash_check.c tells the whole of it.
 *
 * Of what was written here, extended attributes too, only the place is known. If the disk did not keep it, what is there instead is what the others get, since it is read back.
 * Space that was allocated has no bytes. An object that was taken in as it was (import.c) came with all of its bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "base/xattr.h"
#include "engine/resync/resync_int.h"

/* ---- ranges -------------------------------------------------------------------- */

static uint64_t end_of(const struct repair_range *r)
{
	return r->len > UINT64_MAX - r->off ? UINT64_MAX : r->off + r->len;
}

static bool add(struct ranges *r, uint64_t off, uint64_t until)
{
	struct repair_range *last = r->n ? &r->v[r->n - 1] : NULL;

	if (off >= until)
		return true;
	if (last && off >= last->off && off <= end_of(last)) { /* one after the other, as most files are written */
		last->len = until > end_of(last) ? until - last->off : last->len;
		return true;
	}
	if (!NFS4R_ROOM(r->v, r->n, r->cap))
		return false;
	r->v[r->n++] = (struct repair_range){ off, until - off };
	return true;
}

static bool cut(struct ranges *r, uint64_t off, uint64_t until)
{
	struct ranges left = { 0 };
	bool ok = true;

	for (uint32_t i = 0; i < r->n && ok; i++) {
		uint64_t end = end_of(&r->v[i]);

		ok = add(&left, r->v[i].off, end < off ? end : off) && add(&left, r->v[i].off > until ? r->v[i].off : until, end);
	}
	free(r->v);
	*r = left;
	return ok;
}

/* ---- extended attributes -------------------------------------------------------- */

static bool note_xattr(struct plan *pl, const char *name, bool gone)
{
	uint32_t i = 0;

	while (i < pl->nxattrs && strcmp(pl->xattrs[i], name) != 0)
		i++;
	if (i == pl->xattrs_cap) {
		uint32_t cap = i ? 2 * i : 8;
		char **names = realloc(pl->xattrs, cap * sizeof(*names));
		bool *is_gone = realloc(pl->gone, cap * sizeof(*is_gone));

		pl->xattrs = names ? names : pl->xattrs;
		pl->gone = is_gone ? is_gone : pl->gone;
		if (!names || !is_gone)
			return false;
		pl->xattrs_cap = cap;
	}
	if (i == pl->nxattrs && !(pl->xattrs[i] = strdup(name)))
		return false;
	pl->nxattrs += i == pl->nxattrs;
	pl->gone[i] = gone;
	return true;
}

static bool should_be(const struct plan *pl, const char *name)
{
	for (uint32_t i = 0; i < pl->nxattrs; i++)
		if (strcmp(pl->xattrs[i], name) == 0)
			return !pl->gone[i];
	return !pl->made || nfs4r_xattr_is_label(name) || strncmp(name, "system.", 7) == 0; /* what a new object has by itself: a label, an ACL */
}

static enum nfs4r_status remove_gone(const struct plan *pl, struct nfs4r_engine *eng, const struct nfs4r_lhandle *h)
{
	char *here = malloc(NFS4R_XATTR_VALUE_MAX);
	uint32_t len = NFS4R_XATTR_VALUE_MAX;
	enum nfs4r_status st = here ? eng->ops->listxattr(eng->ctx, h, here, &len) : NFS4R_NOMEM;

	for (const char *n = here; st == NFS4R_OK && n < here + len; n += strlen(n) + 1)
		if (!should_be(pl, n))
			st = eng->ops->removexattr(eng->ctx, h, n, NULL);
	free(here);
	return st == NFS4R_NOTSUPP || st == NFS4R_NOXATTR ? NFS4R_OK : st;
}

/* ---- the plan --------------------------------------------------------------------- */

static bool size_is_set(struct plan *pl, const struct nfs4r_entry *e, const struct nfs4r_part *p)
{
	uint64_t size = p->attrs.mask & NFS4R_ATTR_SIZE ? p->attrs.size : 0, was = p->effect == NFS4R_EFF_CREATE ? 0 : size;

	pl->made |= p->effect == NFS4R_EFF_CREATE && e->op != NFS4R_OP_ADOPT;
	pl->set = true;
	pl->size = pl->most = size;
	if (pl->limit > was)
		pl->limit = was;
	return cut(&pl->own, size, UINT64_MAX) && cut(&pl->wrote, size, UINT64_MAX) && (e->op != NFS4R_OP_ADOPT || add(&pl->own, 0, size));
}

static bool follow(struct plan *pl, const struct nfs4r_entry *e, const struct nfs4r_part *p)
{
	uint64_t end = end_of(&(struct repair_range){ p->off, p->len });

	if (p->effect == NFS4R_EFF_CREATE || (p->effect == NFS4R_EFF_ATTRS && p->attrs.mask & NFS4R_ATTR_SIZE))
		return size_is_set(pl, e, p);
	if (p->effect == NFS4R_EFF_XATTR && p->xname)
		return note_xattr(pl, p->xname, p->xremove);
	if (p->effect == NFS4R_EFF_ALLOC && p->punch)
		return cut(&pl->own, p->off, end) && add(&pl->none, p->off, end);
	if (p->effect != NFS4R_EFF_WRITE && p->effect != NFS4R_EFF_ALLOC)
		return true;
	if (end > pl->most)
		pl->most = end;
	if (p->effect == NFS4R_EFF_WRITE)
		return cut(&pl->none, p->off, end) && add(&pl->own, p->off, end) && add(&pl->wrote, p->off, end);
	if (end > pl->size)
		pl->size = end;
	return true;
}

int resync_by_offset(const void *a, const void *b)
{
	const struct repair_range *x = a, *y = b;

	return x->off < y->off ? -1 : x->off > y->off;
}

bool resync_plan_make(struct plan *pl, const struct doubt *d, const struct touches *t, const struct nfs4r_oid *oid, nfs4r_version from, nfs4r_version to)
{
	struct nfs4r_entry *e;
	struct nfs4r_part *p;
	bool ok = true;

	*pl = (struct plan){ .limit = UINT64_MAX };
	for (size_t i = resync_touches_first(t, oid); ok && (e = resync_touches_next_entry(d, t, oid, &i, &p)); nfs4r_entry_put(e))
		ok = p->after <= from || p->after > to || follow(pl, e, p);
	if (pl->own.n)
		qsort(pl->own.v, pl->own.n, sizeof(*pl->own.v), resync_by_offset);
	return ok;
}

void resync_plan_fini(struct plan *pl)
{
	free(pl->own.v);
	free(pl->none.v);
	free(pl->wrote.v);
	for (uint32_t i = 0; i < pl->nxattrs; i++)
		free(pl->xattrs[i]);
	free(pl->xattrs);
	free(pl->gone);
}

void resync_plan_was_long(struct plan *pl, uint64_t size)
{
	if (pl->limit > size)
		pl->limit = size;
	if (pl->set)
		return;
	pl->set = true;
	pl->size = pl->size > size ? pl->size : size;
	pl->most = pl->most > size ? pl->most : size;
}

static bool keep_all(const struct ranges *v, struct repair *r)
{
	bool ok = true;

	for (uint32_t i = 0; i < v->n && ok; i++)
		ok = resync_keep(r, v->v[i].off, v->v[i].len);
	return ok;
}

bool resync_plan_keep(const struct plan *pl, struct repair *r)
{
	r->keep_xattrs = pl->xattrs;
	r->nkeep_xattrs = pl->nxattrs;
	return keep_all(&pl->own, r) && keep_all(&pl->none, r) && (pl->limit == UINT64_MAX || resync_keep(r, pl->limit, UINT64_MAX - pl->limit));
}

/* ---- carried out -------------------------------------------------------------------- */

static enum nfs4r_status clear(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h, uint64_t from, uint64_t until)
{
	static const uint8_t zeros[65536];
	enum nfs4r_status st = NFS4R_OK;

	if (from >= until || eng->ops->allocate(eng->ctx, h, from, until - from, true, NULL) == NFS4R_OK)
		return NFS4R_OK;
	for (uint64_t at = from, n; at < until && st == NFS4R_OK; at += n) { /* not every file system can make a hole */
		n = until - at < sizeof(zeros) ? until - at : sizeof(zeros);
		st = eng->ops->write(eng->ctx, h, at, zeros, (uint32_t)n, false, NULL);
	}
	return st;
}

static enum nfs4r_status clear_all(const struct plan *pl, struct nfs4r_engine *eng, const struct nfs4r_lhandle *h, uint64_t size)
{
	enum nfs4r_status st = NFS4R_OK;
	uint64_t at = pl->limit;

	for (uint32_t i = 0; i < pl->none.n && st == NFS4R_OK; i++) {
		uint64_t end = end_of(&pl->none.v[i]);

		st = clear(eng, h, pl->none.v[i].off, end < size ? end : size);
	}
	for (uint32_t i = 0; i < pl->own.n && st == NFS4R_OK; i++) {
		const struct repair_range *k = &pl->own.v[i];

		st = clear(eng, h, at, k->off < size ? k->off : size);
		at = end_of(k) > at ? end_of(k) : at;
	}
	return st == NFS4R_OK ? clear(eng, h, at, size) : st;
}

/*
 * Others write what a WRITE finds here: nothing if the file ends before it. So it may only end where they come to: in what was written, at the end of that, or at the least. (The size
 * on the disk may be that of an update that is lost, or of an older one.)
 */
static uint64_t length(const struct plan *pl, uint64_t now)
{
	uint64_t end = pl->size;

	if (now < pl->size)
		return pl->size;
	if (!pl->set)
		return now;
	if (now > pl->most)
		now = pl->most;
	for (uint32_t i = 0; i < pl->wrote.n; i++) {
		uint64_t until = end_of(&pl->wrote.v[i]);

		if (pl->wrote.v[i].off < now && now <= until)
			return now;
		if (until < now && until > end)
			end = until;
	}
	return end;
}

static enum nfs4r_status set_length(const struct plan *pl, struct nfs4r_engine *eng, const struct nfs4r_lhandle *h, uint64_t now)
{
	struct nfs4r_attrs size = { .mask = NFS4R_ATTR_SIZE };
	enum nfs4r_status st = NFS4R_OK;

	size.size = length(pl, now);
	if (size.size != now)
		st = eng->ops->setattr(eng->ctx, h, &size, NULL, NULL);
	return st == NFS4R_OK ? clear_all(pl, eng, h, size.size) : st;
}

enum nfs4r_status resync_plan_carry_out(const struct plan *pl, struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct nfs4r_attrs now = { 0 };
	struct nfs4r_lhandle h;
	enum nfs4r_status st;

	nfs4r_handle(eng, oid, &h);
	if (!h.len)
		return NFS4R_OK;
	st = eng->ops->getattr(eng->ctx, &h, &now);
	nfs4r_buf_put(now.acl);
	if (st == NFS4R_OK && now.type == NFS4R_TYPE_FILE)
		st = set_length(pl, eng, &h, now.size);
	if (st == NFS4R_OK && (now.type == NFS4R_TYPE_FILE || now.type == NFS4R_TYPE_DIR))
		st = remove_gone(pl, eng, &h);
	return st;
}
