/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Objects as the source of a repair has them.
 *
 * Happy path for one object: ask for its row and attributes; make it in the hidden directory if it is not here; make bytes, extended attributes and
 * attributes equal; ask for the row once more, if the last answer did not bring it along. The same version as before: what was fetched is of that version, and the row is installed, with all
 * names of a directory. Another one: begin again. The source goes on serving meanwhile, so what is fetched may be newer than the
 * positions of this server; entries up to there then find it newer and leave it alone. Of objects that are given only what is of the
 * version here is fetched.
 *
 * Failure modes: no answer for PATIENCE_MS, or an object that moves all the time: the repair fails and is tried again later. What it made in the hidden directory, and did
 * not come to install, it takes away again: the next attempt hears nothing of it when it is deleted meanwhile.
 */
#include <stdlib.h>
#include <time.h>

#include "base/room.h"
#include "engine/read/read.h"
#include "engine/replicate/replicate.h"
#include "engine/resync/resync_int.h"

#define PATIENCE_MS 30000
#define PAUSE_MS 50
#define MOVED_MAX 100
#define CHUNK (1u << 20)
#define BLOCK 4096u /* of a file system: a part of one cannot be a hole */

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

/* One question, until it is answered. With `all` the source may not have come so far as this copy was: UNKNOWN is an answer then. */
static enum nfs4r_status ask(struct repair *r, struct nfs4r_read *rd)
{
	uint64_t until = engine_now_ms() + (r->patience_ms ? r->patience_ms : PATIENCE_MS);
	enum nfs4r_status st;

	for (;;) {
		if (resync_over(r))
			return NFS4R_SHUTDOWN;
		if (r->doubt)
			rd->cookie = NFS4R_COPY_ANY;
		st = read_copy(r->eng, r->from, rd);
		if (st != NFS4R_DELAY && st != NFS4R_NOT_PRIMARY && (st != NFS4R_UNKNOWN || r->all))
			return st;
		if (engine_now_ms() >= until)
			return resync_fails(r, NFS4R_DELAY, "server %u does not answer", r->from);
		pause_ms(PAUSE_MS);
	}
}

/* ---- lists of clients ---- */

enum nfs4r_status resync_clients(struct repair *r)
{
	enum nfs4r_status st = NFS4R_OK;
	bool shared;

	pthread_mutex_lock(&r->eng->lock);
	shared = nfs4r_core_locks_shared(r->eng->core);
	pthread_mutex_unlock(&r->eng->lock);
	for (nfs4r_server_id s = 1; shared && s <= NFS4R_SERVERS_MAX && st == NFS4R_OK; s++) {
		struct nfs4r_read rd = { .type = NFS4R_RD_CLIENTS, .offset = s };
		struct nfs4r_client_entry *all;

		st = ask(r, &rd);
		all = st == NFS4R_OK && rd.nclients ? realloc(r->clients, (r->nclients + rd.nclients) * sizeof(*all)) : NULL;
		if (all) {
			memcpy(all + r->nclients, rd.clients, rd.nclients * sizeof(*all));
			r->clients = all;
			r->nclients += rd.nclients;
		} else if (st == NFS4R_OK && rd.nclients) {
			st = NFS4R_NOMEM;
		}
		nfs4r_read_fini(&rd);
	}
	return st;
}

/* ---- which objects differ ---- */

struct repair_obj *resync_find(struct repair *r, const struct nfs4r_oid *oid, uint32_t n)
{
	uint32_t lo = 0, hi = n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		int d = nfs4r_oid_cmp(&r->objs[mid].oid, oid);

		if (!d)
			return &r->objs[mid];
		if (d < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

struct listing { /* the local objects, beside those of the source */
	struct nfs4r_oid at[256];
	uint32_t i, n;
	struct nfs4r_oid after;
};

static bool local_next(struct repair *r, struct listing *l)
{
	if (l->i < l->n)
		return true;
	l->n = nfs4r_store_each_oid(r->eng->store, &l->after, l->at, 256);
	l->i = 0;
	if (l->n)
		l->after = l->at[l->n - 1];
	return l->n != 0;
}

/* Local objects before @until (NULL: all that are left) are not in the source's list. */
static enum nfs4r_status only_here(struct repair *r, struct listing *l, const struct nfs4r_oid *until)
{
	while (local_next(r, l) && (!until || nfs4r_oid_cmp(&l->at[l->i], until) < 0))
		if (!resync_add(r, &l->at[l->i++], false))
			return NFS4R_NOMEM;
	if (until && local_next(r, l) && nfs4r_oid_eq(&l->at[l->i], until))
		l->i++;
	return NFS4R_OK;
}

static bool is_exact(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct nfs4r_fuzzy_object left;

	pthread_mutex_lock(&eng->lock);
	enum nfs4r_exactness x = nfs4r_core_exactness(eng->core, oid, &left);
	pthread_mutex_unlock(&eng->lock);
	return x == NFS4R_EXACT;
}

static enum nfs4r_status compare_page(struct repair *r, struct nfs4r_read *rd, struct listing *l, uint32_t undone)
{
	enum nfs4r_status st = NFS4R_OK;
	struct nfs4r_row row;

	for (uint32_t i = 0; i < rd->ndirents && st == NFS4R_OK; i++) {
		const struct nfs4r_dirent *d = &rd->dirents[i];
		struct nfs4r_lhandle h;

		st = only_here(r, l, &d->oid);
		nfs4r_handle(r->eng, &d->oid, &h);
		if (!r->strays && h.len && nfs4r_store_row(r->eng->store, &d->oid, &row) == NFS4R_KNOWN && row.version == d->cookie &&
		    !resync_find(r, &d->oid, undone) && is_exact(r->eng, &d->oid))
			continue; /* equal version: equal content, unless store and tree are of different pasts */
		if (st == NFS4R_OK && !resync_add(r, &d->oid, false))
			st = NFS4R_NOMEM;
	}
	return st;
}

enum nfs4r_status resync_compare(struct repair *r)
{
	struct listing *l = calloc(1, sizeof(*l));
	struct nfs4r_oid after = { { 0 } };
	uint32_t undone = r->n;
	bool first = true, eof = false;
	enum nfs4r_status st = l ? NFS4R_OK : NFS4R_NOMEM;

	while (st == NFS4R_OK && !eof) {
		struct nfs4r_read rd = { .type = NFS4R_RD_OIDS, .oid = after };

		st = ask(r, &rd);
		if (st == NFS4R_OK && first && !read_copy_positions_get(&r->positions, rd.data))
			st = resync_fails(r, NFS4R_MALFORMED, "server %u does not send its positions", r->from);
		if (st == NFS4R_OK)
			st = compare_page(r, &rd, l, undone);
		eof = rd.eof;
		first = false;
		if (rd.ndirents)
			after = rd.dirents[rd.ndirents - 1].oid;
		nfs4r_read_fini(&rd);
	}
	if (st == NFS4R_OK)
		st = only_here(r, l, NULL);
	free(l);
	return st;
}

/* ---- one object ---- */

struct fetched {
	struct nfs4r_read head; /* GETATTR: row and attributes */
	struct nfs4r_lhandle h;
	bool gone; /* not here, whatever its handle leads to by now */
	const struct nfs4r_lhandle *found; /* what may be taken for it when it is not here; NULL: nothing */
	bool kept; /* what is here was exact for longer than what is there: bytes and extended attributes stay (log 8.3) */
	nfs4r_version after; /* of the row, later than everything that was asked for; 0: it was not said */
	struct nfs4r_dirent *names;
	uint32_t nnames, cap;
};

static enum nfs4r_status fetch_linktext(struct repair *r, const struct nfs4r_oid *oid, char out[NFS4R_PATH_MAX + 1])
{
	struct nfs4r_read rd = { .type = NFS4R_RD_READLINK, .oid = *oid };
	enum nfs4r_status st = ask(r, &rd);

	if (st == NFS4R_OK && (!rd.data || rd.data->len > NFS4R_PATH_MAX))
		st = NFS4R_MALFORMED;
	if (st == NFS4R_OK) {
		memcpy(out, rd.data->data, rd.data->len);
		out[rd.data->len] = '\0';
	}
	nfs4r_read_fini(&rd);
	return st;
}

static bool is_here(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h, uint32_t type)
{
	struct nfs4r_attrs a = { 0 };
	bool here = h->len && eng->ops->getattr(eng->ctx, h, &a) == NFS4R_OK && a.type == type;

	nfs4r_buf_put(a.acl);
	return here;
}

/* What was found has the type of the object. Has it what cannot be changed afterwards, too? */
static bool is_same(struct nfs4r_engine *eng, const struct fetched *f, const char *linktext)
{
	char here[NFS4R_PATH_MAX + 1];
	uint32_t len = NFS4R_PATH_MAX;
	struct nfs4r_attrs a = { 0 };
	bool same;

	switch (f->head.row.type) {
	case NFS4R_TYPE_SYMLINK:
		return eng->ops->readlink(eng->ctx, f->found, here, &len) == NFS4R_OK && len == strlen(linktext) && memcmp(here, linktext, len) == 0;
	case NFS4R_TYPE_CHR:
	case NFS4R_TYPE_BLK:
		same = eng->ops->getattr(eng->ctx, f->found, &a) == NFS4R_OK && a.rdev_major == f->head.attrs.rdev_major && a.rdev_minor == f->head.attrs.rdev_minor;
		nfs4r_buf_put(a.acl);
		return same;
	default:
		return true;
	}
}

/* The local object, made in the hidden directory when there is none. */
static enum nfs4r_status local_object(struct repair *r, const struct nfs4r_oid *oid, struct fetched *f)
{
	struct nfs4r_engine *eng = r->eng;
	struct nfs4r_attrs a = f->head.attrs;
	char text[NFS4R_PATH_MAX + 1] = "";
	enum nfs4r_status st = NFS4R_OK;

	nfs4r_handle(eng, oid, &f->h);
	if (!f->gone && is_here(eng, &f->h, f->head.row.type))
		return NFS4R_OK;
	if (f->head.row.type == NFS4R_TYPE_SYMLINK)
		st = fetch_linktext(r, oid, text);
	if (st == NFS4R_OK && f->found && is_here(eng, f->found, f->head.row.type) && is_same(eng, f, text)) {
		f->h = *f->found;
		return NFS4R_OK;
	}
	a.acl = NULL;
	a.type = f->head.row.type;
	a.mask = NFS4R_ATTR_TYPE | (f->head.attrs.mask & (NFS4R_ATTR_MODE | NFS4R_ATTR_UID | NFS4R_ATTR_GID | NFS4R_ATTR_RDEV));
	return st == NFS4R_OK ? replicate_staging_make(eng, oid, &a, text, &f->h) : st;
}

/* Of @n bytes, how many from @at on belong to blocks that are all equal, or all not. The blocks are those of the file, which begins at @off. */
static uint32_t run_of(uint64_t off, const uint8_t *a, const uint8_t *b, uint32_t at, uint32_t n, bool *equal)
{
	uint32_t end = at;

	for (uint32_t len; end < n; end += len) {
		len = BLOCK - (uint32_t)((off + end) % BLOCK);
		len = len < n - end ? len : n - end;
		bool same = memcmp(a + end, b + end, len) == 0;

		if (end == at)
			*equal = same;
		else if (same != *equal)
			break;
	}
	return end - at;
}

/* Blocks that are equal are not written: holes stay holes, and disks rest. */
static enum nfs4r_status take_bytes(struct repair *r, const struct fetched *f, uint64_t off, const uint8_t *b, uint32_t n, uint8_t *here)
{
	struct nfs4r_engine *eng = r->eng;
	enum nfs4r_status st = NFS4R_OK;
	uint32_t len = n;
	bool eof, equal = true;

	if (eng->ops->read(eng->ctx, &f->h, off, here, &len, &eof) != NFS4R_OK || len != n)
		return eng->ops->write(eng->ctx, &f->h, off, b, n, false, NULL);
	for (uint32_t at = 0, run; at < n && st == NFS4R_OK; at += run) {
		run = run_of(off, b, here, at, n, &equal);
		if (!equal)
			st = eng->ops->write(eng->ctx, &f->h, off + at, b + at, run, false, NULL);
	}
	return st;
}

/* How many bytes from @off on, at most @n, are all to be kept, or all not. */
static uint32_t stretch(const struct repair *r, uint64_t off, uint32_t n, bool *keep)
{
	*keep = false;
	for (uint32_t i = 0; i < r->nkeep; i++) {
		const struct repair_range *k = &r->keep[i];

		if (off >= k->off && off - k->off < k->len) {
			*keep = true;
			return k->len - (off - k->off) < n ? (uint32_t)(k->len - (off - k->off)) : n;
		}
		if (k->off > off && k->off - off < n)
			n = (uint32_t)(k->off - off);
	}
	return n;
}

static enum nfs4r_status take_chunk(struct repair *r, const struct fetched *f, uint64_t off, const struct nfs4r_buf *b, uint8_t *here)
{
	enum nfs4r_status st = NFS4R_OK;
	bool keep;

	for (uint32_t at = 0, n; at < b->len && st == NFS4R_OK; at += n) {
		n = stretch(r, off + at, b->len - at, &keep);
		if (!keep)
			st = take_bytes(r, f, off + at, b->data + at, n, here);
	}
	return st;
}

bool resync_keep(struct repair *r, uint64_t off, uint64_t len)
{
	if (!NFS4R_ROOM(r->keep, r->nkeep, r->keep_cap))
		return false;
	if (len)
		r->keep[r->nkeep++] = (struct repair_range){ off, len };
	return true;
}

static enum nfs4r_status fetch_bytes(struct repair *r, const struct nfs4r_oid *oid, struct fetched *f)
{
	struct nfs4r_engine *eng = r->eng;
	struct nfs4r_attrs size = { .mask = NFS4R_ATTR_SIZE, .size = f->head.attrs.size };
	uint8_t *here = malloc(size.size < CHUNK ? size.size + 1 : CHUNK);
	enum nfs4r_status st = !here ? NFS4R_NOMEM : r->nkeep && !r->sized ? NFS4R_OK :
									     eng->ops->setattr(eng->ctx, &f->h, &size, NULL, NULL);

	for (uint64_t off = 0; off < size.size && st == NFS4R_OK;) {
		struct nfs4r_read rd = { .type = NFS4R_RD_READ, .oid = *oid, .offset = off, .length = size.size - off < CHUNK ? size.size - off : CHUNK };
		uint32_t got;
		bool keep;

		if (stretch(r, off, (uint32_t)rd.length, &keep) == rd.length && keep) {
			off += rd.length;
			continue;
		}
		st = ask(r, &rd);
		got = st == NFS4R_OK && rd.data ? rd.data->len : 0;
		if (got && got <= rd.length)
			st = take_chunk(r, f, off, rd.data, here);
		nfs4r_read_fini(&rd);
		if (!got || got > rd.length)
			break; /* it became shorter: the version will tell */
		off += got;
		resync_progress(r, 0, got);
	}
	free(here);
	return st;
}

static enum nfs4r_status fetch_names(struct repair *r, const struct nfs4r_oid *oid, struct fetched *f)
{
	uint64_t cookie = 0;
	bool eof = false;
	enum nfs4r_status st = NFS4R_OK;

	f->nnames = 0;
	while (st == NFS4R_OK && !eof) {
		struct nfs4r_read rd = { .type = NFS4R_RD_READDIR, .oid = *oid, .cookie = cookie, .length = NFS4R_READDIR_MAX };

		st = ask(r, &rd);
		if (st == NFS4R_OK && f->nnames + rd.ndirents > f->cap) {
			uint32_t cap = 2 * (f->nnames + rd.ndirents);
			struct nfs4r_dirent *p = realloc(f->names, cap * sizeof(*p));

			st = p ? NFS4R_OK : NFS4R_NOMEM;
			f->names = p ? p : f->names;
			f->cap = p ? cap : f->cap;
		}
		if (st == NFS4R_OK && rd.ndirents) {
			memcpy(f->names + f->nnames, rd.dirents, rd.ndirents * sizeof(*rd.dirents));
			f->nnames += rd.ndirents;
			cookie = rd.dirents[rd.ndirents - 1].cookie;
		}
		eof = rd.eof || !rd.ndirents;
		nfs4r_read_fini(&rd);
	}
	return st;
}

enum nfs4r_status resync_names(struct repair *r, const struct nfs4r_oid *oid, struct nfs4r_dirent **names, uint32_t *n)
{
	struct fetched f = { .names = NULL };
	enum nfs4r_status st = fetch_names(r, oid, &f);

	*names = f.names;
	*n = f.nnames;
	return st;
}

static bool listed(const char *names, uint32_t len, const char *name)
{
	for (const char *n = names; n < names + len; n += strlen(n) + 1)
		if (strcmp(n, name) == 0)
			return true;
	return false;
}

static bool is_pinned(const struct repair *r, const char *name)
{
	for (uint32_t i = 0; i < r->nkeep_xattrs; i++)
		if (strcmp(r->keep_xattrs[i], name) == 0)
			return true;
	return false;
}

static enum nfs4r_status take_xattr(struct repair *r, const struct nfs4r_oid *oid, const struct fetched *f, const char *name)
{
	struct nfs4r_read rd = { .type = NFS4R_RD_GETXATTR, .oid = *oid };
	enum nfs4r_status st;

	if (strlen(name) > NFS4R_NAME_MAX)
		return NFS4R_MALFORMED;
	memcpy(rd.name, name, strlen(name) + 1);
	st = ask(r, &rd);
	if (st == NFS4R_OK && rd.data)
		st = engine_xattr_take(r->eng, &f->h, name, rd.data->data, rd.data->len);
	else if (st == NFS4R_NOXATTR)
		st = NFS4R_OK; /* went away: the version will tell */
	nfs4r_read_fini(&rd);
	return st;
}

static enum nfs4r_status drop_xattrs(struct repair *r, const struct fetched *f, const char *keep, uint32_t keep_len)
{
	struct nfs4r_engine *eng = r->eng;
	char *here = malloc(NFS4R_XATTR_VALUE_MAX);
	uint32_t len = NFS4R_XATTR_VALUE_MAX;
	enum nfs4r_status st = here ? eng->ops->listxattr(eng->ctx, &f->h, here, &len) : NFS4R_NOMEM;

	for (const char *n = here; st == NFS4R_OK && n < here + len; n += strlen(n) + 1)
		if (!listed(keep, keep_len, n) && !is_pinned(r, n))
			st = engine_xattr_drop(eng, &f->h, n);
	free(here);
	return st == NFS4R_NOTSUPP || st == NFS4R_NOXATTR ? NFS4R_OK : st;
}

static enum nfs4r_status fetch_xattrs(struct repair *r, const struct nfs4r_oid *oid, struct fetched *f)
{
	struct nfs4r_read rd = { .type = NFS4R_RD_LISTXATTR, .oid = *oid };
	enum nfs4r_status st = ask(r, &rd);
	const char *names = rd.data ? (const char *)rd.data->data : "";
	uint32_t len = rd.data ? rd.data->len : 0;

	if (st == NFS4R_NOTSUPP) {
		st = NFS4R_OK;
		len = 0;
	}
	if (st == NFS4R_OK && len && names[len - 1])
		st = NFS4R_MALFORMED;
	if (st == NFS4R_OK)
		st = drop_xattrs(r, f, names, len);
	for (const char *n = names; st == NFS4R_OK && n < names + len; n += strlen(n) + 1)
		st = is_pinned(r, n) ? NFS4R_OK : take_xattr(r, oid, f, n);
	f->after = len ? 0 : rd.row.version;
	nfs4r_read_fini(&rd);
	return st;
}

/* What @f says, by @mask. An owner that is the same is not set: to set it takes set-id bits and file capabilities away. */
static enum nfs4r_status take_attrs(struct repair *r, const struct fetched *f, uint32_t mask)
{
	const struct nfs4r_lops *ops = r->eng->ops;
	struct nfs4r_attrs a = f->head.attrs, now = { 0 };
	enum nfs4r_status st = NFS4R_OK;

	a.mask &= mask;
	if (!a.acl || f->head.row.type == NFS4R_TYPE_SYMLINK || (ops->acl_is_xattr && ops->acl_is_xattr(r->eng->ctx)))
		a.mask &= ~(uint32_t)NFS4R_ATTR_ACL;
	if (f->head.row.type == NFS4R_TYPE_SYMLINK)
		a.mask &= ~(uint32_t)NFS4R_ATTR_MODE;
	if (a.mask & (NFS4R_ATTR_UID | NFS4R_ATTR_GID)) {
		st = ops->getattr(r->eng->ctx, &f->h, &now);
		nfs4r_buf_put(now.acl);
	}
	if (st == NFS4R_OK && now.mask & NFS4R_ATTR_UID && now.uid == a.uid)
		a.mask &= ~(uint32_t)NFS4R_ATTR_UID;
	if (st == NFS4R_OK && now.mask & NFS4R_ATTR_GID && now.gid == a.gid)
		a.mask &= ~(uint32_t)NFS4R_ATTR_GID;
	return st == NFS4R_OK && a.mask ? ops->setattr(r->eng->ctx, &f->h, &a, NULL, NULL) : st;
}

#define OWNER (NFS4R_ATTR_MODE | NFS4R_ATTR_UID | NFS4R_ATTR_GID | NFS4R_ATTR_ACL)
#define TIMES (NFS4R_ATTR_ATIME | NFS4R_ATTR_MTIME)

/* A change of the owner takes file capabilities away, as a write does: so it comes before the extended attributes. Times come last, for all else moves them. */
static enum nfs4r_status take_rest(struct repair *r, const struct nfs4r_oid *oid, struct fetched *f)
{
	enum nfs4r_status st = take_attrs(r, f, OWNER);

	if (st == NFS4R_OK && !f->kept)
		st = fetch_xattrs(r, oid, f);
	return st == NFS4R_OK ? take_attrs(r, f, TIMES) : st;
}

static enum nfs4r_status fetch_content(struct repair *r, const struct nfs4r_oid *oid, struct fetched *f)
{
	uint32_t type = f->head.row.type;
	enum nfs4r_status st = local_object(r, oid, f);

	if (st == NFS4R_OK && type == NFS4R_TYPE_FILE && !f->kept)
		st = fetch_bytes(r, oid, f);
	if (st == NFS4R_OK && type == NFS4R_TYPE_DIR)
		st = fetch_names(r, oid, f);
	return st == NFS4R_OK ? take_rest(r, oid, f) : st;
}

static enum nfs4r_status install(struct repair *r, const struct nfs4r_oid *oid, const struct fetched *f)
{
	struct nfs4r_install in = { .oid = *oid, .row = f->head.row, .handle_len = f->h.len, .nnames = f->nnames, .names = f->names, .nlocks = f->head.nlocks, .locks = f->head.locks };
	enum nfs4r_status st;

	memcpy(in.handle, f->h.b, f->h.len);
	pthread_mutex_lock(&r->eng->lock);
	st = nfs4r_store_install(r->eng->store, &in);
	pthread_mutex_unlock(&r->eng->lock);
	return st;
}

/* Has the object the version that it had in f->head? */
static enum nfs4r_status unmoved(struct repair *r, const struct nfs4r_oid *oid, const struct fetched *f, bool *same)
{
	struct nfs4r_read rd = { .type = NFS4R_RD_GETATTR, .oid = *oid };
	enum nfs4r_status st;

	if (f->after) {
		*same = f->after == f->head.row.version;
		return NFS4R_OK;
	}
	st = ask(r, &rd);
	*same = st == NFS4R_OK && rd.row.version == f->head.row.version;
	nfs4r_read_fini(&rd);
	return st == NFS4R_STALE ? NFS4R_OK : st;
}

/* Log 7.5: what the source says of its copy beside the row (server.c). What is inexact is so by an entry of some log. */
static enum nfs4r_status note_exactness(struct repair_obj *o, const struct nfs4r_read *head)
{
	o->inexact = head->eof;
	o->left = (struct nfs4r_fuzzy_object){ .oid = o->oid, .exact = head->result_offset, .log = nfs4r_oid_creator(&head->result), .lsn = nfs4r_oid_seq(&head->result) };
	return o->inexact && (!o->left.log || o->left.log > NFS4R_SERVERS_MAX) ? NFS4R_MALFORMED : NFS4R_OK;
}

/* Log 7.5: is nothing of it taken now? @version: 0 if there is none at the source. */
static bool is_fuzzy_there(const struct repair *r, struct repair_obj *o, nfs4r_version version)
{
	struct nfs4r_row row;

	if (!r->list || o->inexact)
		return r->list;
	if (nfs4r_store_row(r->eng->store, &o->oid, &row) != NFS4R_KNOWN)
		row.version = 0;
	o->left.later = row.version != version;
	return o->left.later;
}

/* It is inexact at the source, too, and will be taken all the same. Before anything of it changes here. */
static enum nfs4r_status will_take(struct repair *r, struct repair_obj *o, struct fetched *f)
{
	struct nfs4r_engine *eng = r->eng;
	struct nfs4r_event ev = { .type = NFS4R_EV_OBJECTS_FUZZY, .left = &o->left, .nleft = 1 };
	struct nfs4r_lhandle h;

	nfs4r_handle(eng, &o->oid, &h);
	bool here = !r->strays && f->head.row.type == NFS4R_TYPE_FILE && is_here(eng, &h, NFS4R_TYPE_FILE);

	pthread_mutex_lock(&eng->lock);
	bool over = resync_over(r);
	f->kept = o->left.kept = here && nfs4r_core_keeps(eng->core, &o->oid, o->left.exact);
	if (!over)
		engine_step(eng, &ev);
	pthread_mutex_unlock(&eng->lock);
	return over ? NFS4R_SHUTDOWN : NFS4R_OK;
}

static enum nfs4r_status try_object(struct repair *r, struct repair_obj *o, struct fetched *f, bool *done)
{
	enum nfs4r_status st;
	bool same = false;

	f->found = o->found;
	f->gone = o->gone;
	f->after = 0;
	f->kept = false;
	f->head = (struct nfs4r_read){ .type = NFS4R_RD_GETATTR, .oid = o->oid };
	st = ask(r, &f->head);
	if (st == NFS4R_STALE || st == NFS4R_UNKNOWN) { /* UNKNOWN: it comes again with its entry */
		*done = true;
		o->dead = !r->list; /* else its names are here, and go with the entry that deleted it */
		o->inexact = false;
		o->left = (struct nfs4r_fuzzy_object){ .oid = o->oid };
		is_fuzzy_there(r, o, 0);
		return NFS4R_OK;
	}
	if (st == NFS4R_OK && !f->head.row.version)
		st = NFS4R_MALFORMED;
	if (st == NFS4R_OK)
		st = note_exactness(o, &f->head);
	if (st == NFS4R_OK && is_fuzzy_there(r, o, f->head.row.version)) {
		*done = true;
		return NFS4R_OK;
	}
	if (st == NFS4R_OK && o->inexact)
		st = will_take(r, o, f);
	if (st == NFS4R_OK)
		st = fetch_content(r, &o->oid, f);
	if (st == NFS4R_OK || st == NFS4R_STALE)
		st = unmoved(r, &o->oid, f, &same);
	if (st == NFS4R_OK && same)
		st = install(r, &o->oid, f);
	*done = same;
	return st;
}

enum nfs4r_status resync_object(struct repair *r, struct repair_obj *o)
{
	struct fetched f = { .names = NULL };
	char text[NFS4R_OID_STRLEN];
	enum nfs4r_status st = NFS4R_OK;
	bool done = false;

	for (int i = 0; i < MOVED_MAX && !done && st == NFS4R_OK; i++) {
		if (i)
			pause_ms(PAUSE_MS);
		st = try_object(r, o, &f, &done);
		nfs4r_read_fini(&f.head);
	}
	if (nfs4r_store_row(r->eng->store, &o->oid, NULL) != NFS4R_KNOWN)
		(void)replicate_staging_drop(r->eng, &o->oid); /* what was made and not installed */
	free(f.names);
	if (st == NFS4R_OK && !done)
		return resync_fails(r, NFS4R_DELAY, "object %s keeps changing", nfs4r_oid_str(&o->oid, text));
	if (st != NFS4R_OK && !r->why[0])
		resync_fails(r, st, "object %s: %s%s", nfs4r_oid_str(&o->oid, text), nfs4r_status_str(st),
			     st == NFS4R_NOSPC ? "; free space on the exported file system" : "");
	return st;
}

/* What is taken is newer than the row here: that is not exact before that entry is here, too (log 4.6). */
static void note_newer(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, const struct nfs4r_copy_row *there)
{
	struct nfs4r_fuzzy_object left = { .oid = *oid, .log = there->last_log, .lsn = there->last_lsn };
	struct nfs4r_event ev = { .type = NFS4R_EV_COPY_NEWER, .left = &left, .nleft = 1 };
	struct nfs4r_row here;

	if (nfs4r_store_row(eng->store, oid, &here) != NFS4R_KNOWN || here.version >= there->version)
		return;
	pthread_mutex_lock(&eng->lock);
	engine_step(eng, &ev);
	pthread_mutex_unlock(&eng->lock);
}

enum nfs4r_status resync_refresh(struct repair *r, const struct nfs4r_oid *oid, nfs4r_version at_least, uint64_t *size, bool *done)
{
	struct fetched f = { .head = { .type = NFS4R_RD_GETATTR, .oid = *oid }, .gone = r->gone };
	enum nfs4r_status st = ask(r, &f.head);
	uint32_t type = f.head.row.type;

	*done = false;
	*size = f.head.attrs.size;
	if (st == NFS4R_OK && !f.head.eof && f.head.row.version >= at_least) {
		note_newer(r->eng, oid, &f.head.row);
		st = local_object(r, oid, &f);
		if (st == NFS4R_OK && type == NFS4R_TYPE_FILE)
			st = fetch_bytes(r, oid, &f);
		if (st == NFS4R_OK)
			st = take_rest(r, oid, &f);
		if (st == NFS4R_OK)
			st = unmoved(r, oid, &f, done);
		r->took_handle = f.h;
		r->took_version = f.head.row.version;
	}
	nfs4r_read_fini(&f.head);
	return st;
}
