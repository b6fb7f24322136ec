/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * After a crash of the machine the local file system may have less than the journal says, or more: bytes, names and attributes that changed since the
 * last checkpoint are in doubt (log sheet 4.6). MARKs (log 4.2) and the entries since then tell which objects that can concern, and no others.
 *
 * Happy path:
 *   1. restored(), before anything is applied: objects of the store that are not on the disk are made again, empty; the names of
 *      the directories in doubt become those of the store. What lies there without a row (it was made, and its record lost; or it was
 *      deleted, and that came back) is moved to the hidden directory, under "stray."; nobody was told that it is durable.
 *   2. doubt_task(), on the same thread (the repair's), when there are other servers: bytes, attributes and extended attributes of each object in doubt are
 *      taken from a server whose copy has at least this version and is in no doubt. Nobody has: of those that have the highest
 *      version, the one whose log it comes from (else the one with the lowest id) says that its own bytes are right, since what it synced for a client's COMMIT is
 *      there; bytes of older updates are taken from a copy that has them, and the others wait and take all from it.
 *   3. A checkpoint; then entries of others are applied again.
 *
 * Failure modes: a server that may have the bytes is not there: wait, and say for which; like the recovery of the own log's tail (log 4.7) this ends when it is back.
 * Another crash meanwhile: no checkpoint was taken, so marks and entries are still there, and all is done again.
 *
 * Invariants: nothing is applied, served or checkpointed while something is in doubt. Bytes in doubt are given to nobody.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/repair_int.h"

#define PAUSE_MS 200
#define SAY_EVERY_MS 60000
#define WORKERS 16 /* objects at a time: each costs several round trips */

struct touch { /* an entry since the last checkpoint, or a mark (lsn 0) */
	struct nfs4r_oid oid;
	nfs4r_server_id log;
	nfs4r_lsn lsn;
};

struct doubt {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool open;
	bool unknown; /* which objects: all of them may be */
	nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1]; /* of the last checkpoint */
	struct touch *v; /* ascending OID, then log, then LSN */
	size_t n, cap;
	struct nfs4r_oid *settled; /* ascending; no longer in doubt */
	size_t nsettled;
	struct repair repair; /* its objs: each object in doubt once */
};

/* ---- which ------------------------------------------------------------ */

static bool touch(struct doubt *d, const struct nfs4r_oid *oid, nfs4r_server_id log, nfs4r_lsn lsn)
{
	if (d->n == d->cap) {
		size_t cap = d->cap ? 2 * d->cap : 1024;
		struct touch *v = realloc(d->v, cap * sizeof(*v));

		if (!v)
			return false;
		d->v = v;
		d->cap = cap;
	}
	d->v[d->n++] = (struct touch){ *oid, log, lsn };
	return true;
}

static int by_touch(const void *a, const void *b)
{
	const struct touch *x = a, *y = b;
	int c = nfs4r_oid_cmp(&x->oid, &y->oid);

	if (c)
		return c;
	if (x->log != y->log)
		return x->log < y->log ? -1 : 1;
	return x->lsn < y->lsn ? -1 : x->lsn > y->lsn;
}

static bool touched_since(struct doubt *d, struct nfs4r_engine *eng, nfs4r_server_id log, nfs4r_lsn stable)
{
	struct nfs4r_entry *e;
	bool ok = true;

	for (nfs4r_lsn lsn = stable; ok && (lsn = nfs4r_store_log_next(eng->store, log, lsn));) {
		e = nfs4r_store_log_read(eng->store, log, lsn);
		for (uint32_t i = 0; e && ok && i < e->nparts; i++)
			ok = touch(d, &e->parts[i].oid, log, lsn);
		if (e)
			nfs4r_entry_put(e);
	}
	return ok;
}

static bool touched_marks(struct doubt *d, struct nfs4r_engine *eng)
{
	struct nfs4r_oid *list = NULL;
	uint32_t n = nfs4r_store_marked(eng->store, &list);
	bool ok = n != UINT32_MAX;

	for (uint32_t i = 0; ok && i < n; i++)
		ok = touch(d, &list[i], 0, 0);
	free(list);
	return ok;
}

/* A directory in doubt: its names may lead nowhere, and then the objects are in doubt, too. */
static bool touched_names(struct doubt *d, struct nfs4r_engine *eng, const struct nfs4r_oid *dir)
{
	struct nfs4r_dirent *ent = calloc(64, sizeof(*ent));
	struct nfs4r_lhandle dirh, h, found;
	uint64_t after = 0;
	bool ok = ent != NULL;

	nfs4r_handle(eng, dir, &dirh);
	for (uint32_t n = 64; ok && n == 64;) {
		n = nfs4r_store_readdir(eng->store, dir, after, ent, 64);
		for (uint32_t i = 0; i < n && ok; i++) {
			after = ent[i].cookie;
			nfs4r_handle(eng, &ent[i].oid, &h);
			if (!dirh.len || eng->ops->lookup(eng->ctx, &dirh, ent[i].name.s, &found) != NFS4R_OK || found.len != h.len ||
			    memcmp(found.b, h.b, h.len) != 0)
				ok = touch(d, &ent[i].oid, 0, 0);
		}
	}
	free(ent);
	return ok;
}

static bool collect(struct doubt *d)
{
	struct nfs4r_engine *eng = d->repair.eng;
	struct nfs4r_row row;
	size_t n;
	bool ok = touched_marks(d, eng);

	for (nfs4r_server_id s = 1; ok && s <= NFS4R_SERVERS_MAX; s++)
		ok = touched_since(d, eng, s, d->stable[s]);
	n = d->n;
	for (size_t i = 0; ok && i < n; i++) {
		struct nfs4r_oid oid = d->v[i].oid;

		if (nfs4r_store_row(eng->store, &oid, &row) == NFS4R_KNOWN && row.type == NFS4R_TYPE_DIR)
			ok = touched_names(d, eng, &oid);
	}
	if (!ok)
		return false;
	if (d->n)
		qsort(d->v, d->n, sizeof(*d->v), by_touch);
	for (size_t i = 0; i < d->n; i++)
		if ((!i || !nfs4r_oid_eq(&d->v[i - 1].oid, &d->v[i].oid)) && nfs4r_store_row(eng->store, &d->v[i].oid, NULL) == NFS4R_KNOWN &&
		    !repair_add(&d->repair, &d->v[i].oid, false))
			return false;
	return true;
}

/* First touch of an object; d->n: none. */
static size_t first_touch(const struct doubt *d, const struct nfs4r_oid *oid)
{
	size_t lo = 0, hi = d->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (nfs4r_oid_cmp(&d->v[mid].oid, oid) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* ---- 1. objects and names ------------------------------------------------ */

/* What an object was made with, if that is not long ago. */
static struct nfs4r_entry *creation(struct doubt *d, const struct nfs4r_oid *oid, struct nfs4r_part **part)
{
	for (size_t i = first_touch(d, oid); i < d->n && nfs4r_oid_eq(&d->v[i].oid, oid); i++) {
		struct nfs4r_entry *e = d->v[i].lsn ? nfs4r_store_log_read(d->repair.eng->store, d->v[i].log, d->v[i].lsn) : NULL;

		*part = e ? nfs4r_entry_part(e, oid) : NULL;
		if (*part && (*part)->effect == NFS4R_EFF_CREATE)
			return e;
		if (e)
			nfs4r_entry_put(e);
	}
	return NULL;
}

static enum nfs4r_status make_again(struct doubt *d, const struct nfs4r_oid *oid)
{
	struct nfs4r_engine *eng = d->repair.eng;
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_TYPE | NFS4R_ATTR_MODE, .mode = 0600 };
	struct nfs4r_lhandle h;
	struct nfs4r_part *p = NULL;
	struct nfs4r_entry *e;
	struct nfs4r_row row;
	enum nfs4r_status st;

	if (nfs4r_store_row(eng->store, oid, &row) != NFS4R_KNOWN)
		return NFS4R_OK;
	e = creation(d, oid, &p);
	if (e)
		a = p->attrs;
	a.mask |= NFS4R_ATTR_TYPE;
	a.type = row.type;
	st = hold_make(eng, oid, &a, e && p->linktext ? p->linktext : row.type == NFS4R_TYPE_SYMLINK ? "?" : "", &h);
	if (e)
		nfs4r_entry_put(e);
	pthread_mutex_lock(&eng->lock);
	if (st == NFS4R_OK)
		st = nfs4r_store_set_handle(eng->store, oid, h.b, h.len);
	pthread_mutex_unlock(&eng->lock);
	return st;
}

static enum nfs4r_status make_missing(struct doubt *d)
{
	struct nfs4r_engine *eng = d->repair.eng;
	enum nfs4r_status st = NFS4R_OK;

	for (uint32_t i = 0; st == NFS4R_OK && i < d->repair.n; i++) {
		struct nfs4r_attrs a = { 0 };
		struct nfs4r_lhandle h;

		nfs4r_handle(eng, &d->repair.objs[i].oid, &h);
		if (!h.len || eng->ops->getattr(eng->ctx, &h, &a) != NFS4R_OK)
			st = make_again(d, &d->repair.objs[i].oid);
		nfs4r_buf_put(a.acl);
	}
	return st;
}

/* Attributes of entries since the checkpoint: their values are in the journal. */
static enum nfs4r_status set_attrs_again(struct doubt *d, const struct nfs4r_oid *oid, nfs4r_version newer_than)
{
	struct nfs4r_engine *eng = d->repair.eng;
	enum nfs4r_status st = NFS4R_OK;
	struct nfs4r_lhandle h;

	nfs4r_handle(eng, oid, &h);
	for (size_t i = first_touch(d, oid); st == NFS4R_OK && h.len && i < d->n && nfs4r_oid_eq(&d->v[i].oid, oid); i++) {
		struct nfs4r_entry *e = d->v[i].lsn ? nfs4r_store_log_read(eng->store, d->v[i].log, d->v[i].lsn) : NULL;
		struct nfs4r_part *p = e ? nfs4r_entry_part(e, oid) : NULL;

		if (p && p->effect == NFS4R_EFF_ATTRS && p->after > newer_than) {
			struct nfs4r_attrs a = p->attrs;

			a.mask &= NFS4R_ATTR_MODE | NFS4R_ATTR_UID | NFS4R_ATTR_GID;
			st = a.mask ? eng->ops->setattr(eng->ctx, &h, &a, NULL, NULL) : NFS4R_OK;
		}
		if (e)
			nfs4r_entry_put(e);
	}
	return st;
}

enum nfs4r_status doubt_begin(struct nfs4r_engine *eng, const struct nfs4r_store_info *info)
{
	struct doubt *d;

	if (info->tail_intact || info->created)
		return NFS4R_OK;
	d = calloc(1, sizeof(*d));
	if (!d)
		return NFS4R_NOMEM;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->cond, NULL);
	d->open = d->unknown = true;
	d->repair.eng = eng;
	d->repair.strays = true;
	eng->doubt = d;
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		d->stable[s] = info->logs[s].stable;
	return NFS4R_OK;
}

static enum nfs4r_status restore_objects(struct doubt *d)
{
	enum nfs4r_status st = collect(d) ? NFS4R_OK : NFS4R_NOMEM;

	d->settled = calloc(d->repair.n + 1, sizeof(*d->settled));
	if (st == NFS4R_OK && !d->settled)
		st = NFS4R_NOMEM;
	if (st == NFS4R_OK)
		st = make_missing(d);
	if (st == NFS4R_OK)
		st = repair_tree(&d->repair);
	for (uint32_t i = 0; st == NFS4R_OK && i < d->repair.n; i++)
		st = set_attrs_again(d, &d->repair.objs[i].oid, 0);
	return st;
}

/* The local file system may not be used for everything before the server as a whole has started, so this is done here. */
static bool restored(struct doubt *d)
{
	struct nfs4r_engine *eng = d->repair.eng;
	enum nfs4r_status st = restore_objects(d);
	char why[300];

	if (st != NFS4R_OK) {
		snprintf(why, sizeof(why), "after a crash of the machine the exported directory cannot be made equal to the store: %s%s%.100s; see docs/failures.md",
			 nfs4r_status_str(st), d->repair.why[0] ? ": " : "", d->repair.why);
		pthread_mutex_lock(&eng->lock);
		if (!eng->stopping)
			engine_halt(eng, why);
		pthread_mutex_unlock(&eng->lock);
		return false;
	}
	pthread_mutex_lock(&d->lock);
	d->unknown = false;
	pthread_mutex_unlock(&d->lock);
	engine_log(eng, NFS4R_LOG_INFO, "volume %s: the machine had crashed; %u objects that changed shortly before are in doubt", eng->cfg.volume_name, d->repair.n);
	return true;
}

/* ---- for others ------------------------------------------------------------ */

bool doubt_is_open(struct nfs4r_engine *eng)
{
	struct doubt *d = eng->doubt;
	bool open = false;

	if (d) {
		pthread_mutex_lock(&d->lock);
		open = d->open;
		pthread_mutex_unlock(&d->lock);
	}
	return open;
}

void doubt_wait(struct nfs4r_engine *eng)
{
	struct doubt *d = eng->doubt;

	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	while (d->open && !eng->stopping)
		pthread_cond_wait(&d->cond, &d->lock);
	pthread_mutex_unlock(&d->lock);
}

void doubt_wake(struct nfs4r_engine *eng)
{
	struct doubt *d = eng->doubt;

	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	pthread_cond_broadcast(&d->cond);
	pthread_mutex_unlock(&d->lock);
}

static int cmp_oid(const void *a, const void *b)
{
	return nfs4r_oid_cmp(a, b);
}

bool doubt_about(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct doubt *d = eng->doubt;
	size_t at;
	bool yes;

	if (!d)
		return false;
	pthread_mutex_lock(&d->lock);
	if (d->unknown) {
		pthread_mutex_unlock(&d->lock);
		return true;
	}
	at = first_touch(d, oid);
	yes = d->open && at < d->n && nfs4r_oid_eq(&d->v[at].oid, oid) &&
	      !bsearch(oid, d->settled, d->nsettled, sizeof(*d->settled), cmp_oid);
	pthread_mutex_unlock(&d->lock);
	return yes;
}

void doubt_free(struct nfs4r_engine *eng)
{
	struct doubt *d = eng->doubt;

	if (!d)
		return;
	pthread_cond_destroy(&d->cond);
	pthread_mutex_destroy(&d->lock);
	free(d->repair.objs);
	free(d->settled);
	free(d->v);
	free(d);
	eng->doubt = NULL;
}

/* ---- 2. bytes --------------------------------------------------------------- */

struct opinion { /* of one other server about an object */
	nfs4r_version version; /* 0: it does not have it */
	bool told, doubts, dead;
};

static void ask_peer(struct doubt *d, nfs4r_server_id s, const struct nfs4r_oid *oid, struct opinion *out)
{
	struct nfs4r_read rd = { .type = NFS4R_RD_GETATTR, .oid = *oid, .cookie = NFS4R_COPY_ANY };
	enum nfs4r_status st = reads_copy(d->repair.eng, s, &rd);

	*out = (struct opinion){ .told = st == NFS4R_OK || st == NFS4R_STALE || st == NFS4R_UNKNOWN, .dead = st == NFS4R_STALE };
	if (st == NFS4R_OK) {
		out->version = rd.row.version;
		out->doubts = rd.eof;
	}
	nfs4r_read_fini(&rd);
}

enum outcome { SETTLED = 1, LATER, FAILED };

/* Ranges that entries newer than @than wrote here stay as they are. */
static bool keep_newer(struct doubt *d, struct repair *r, const struct nfs4r_oid *oid, nfs4r_version than)
{
	r->nkeep = 0;
	for (size_t i = first_touch(d, oid); i < d->n && nfs4r_oid_eq(&d->v[i].oid, oid); i++) {
		struct nfs4r_entry *e = d->v[i].lsn ? nfs4r_store_log_read(r->eng->store, d->v[i].log, d->v[i].lsn) : NULL;
		struct nfs4r_part *p = e ? nfs4r_entry_part(e, oid) : NULL;
		bool ok = true;

		if (p && p->after > than && (p->effect == NFS4R_EFF_WRITE || p->effect == NFS4R_EFF_ALLOC))
			ok = repair_keep(r, p->off, p->len);
		else if (p && p->after > than && p->effect == NFS4R_EFF_ATTRS && p->attrs.mask & NFS4R_ATTR_SIZE)
			ok = repair_keep(r, p->attrs.size, UINT64_MAX - p->attrs.size);
		if (e)
			nfs4r_entry_put(e);
		if (!ok)
			return false;
	}
	return true;
}

static enum outcome take_from(struct doubt *d, struct repair *r, nfs4r_server_id s, const struct nfs4r_oid *oid, nfs4r_version at_least, nfs4r_version mine)
{
	enum nfs4r_status st;
	bool done = false;

	r->from = s;
	r->nkeep = 0;
	if (at_least < mine && !keep_newer(d, r, oid, at_least))
		return FAILED;
	st = repair_refresh(r, oid, at_least, &done);
	if (st == NFS4R_OK && done && at_least < mine)
		st = set_attrs_again(d, oid, at_least);
	if (st == NFS4R_NOSPC || st == NFS4R_IO)
		return FAILED;
	return st == NFS4R_OK && done ? SETTLED : LATER;
}

/* Nobody has it without doubt. Of those that have the highest version: whose log it comes from, else the lowest id. */
static nfs4r_server_id winner(struct nfs4r_engine *eng, const struct opinion *o, const struct nfs4r_row *row)
{
	nfs4r_version top = row->version;
	nfs4r_server_id first = 0;

	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		if (o[s].version > top)
			top = o[s].version;
	if (top > row->version)
		return 0; /* theirs to settle */
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++) {
		bool has = s == eng->cfg.rpc.self || (o[s].told && o[s].version == top);

		if (has && s == row->last_log)
			return s;
		if (has && !first)
			first = s;
	}
	return first;
}

static enum outcome settle(struct doubt *d, struct repair *r, const struct nfs4r_oid *oid, nfs4r_servers *awaited)
{
	struct nfs4r_engine *eng = d->repair.eng;
	struct opinion o[NFS4R_SERVERS_MAX + 1] = { { 0 } };
	nfs4r_server_id base = 0;
	nfs4r_servers silent = 0;
	struct nfs4r_row row;

	if (nfs4r_store_row(eng->store, oid, &row) != NFS4R_KNOWN)
		return SETTLED;
	for (uint32_t i = 0; i < eng->cfg.rpc.nservers; i++) {
		nfs4r_server_id s = eng->cfg.rpc.servers[i].id;

		if (s == eng->cfg.rpc.self)
			continue;
		ask_peer(d, s, oid, &o[s]);
		if (o[s].dead)
			return SETTLED; /* it will be deleted here, too */
		if (o[s].told && !o[s].doubts && o[s].version >= row.version)
			return take_from(d, r, s, oid, row.version, row.version);
		if (!o[s].told)
			silent |= NFS4R_BIT(s);
		else if (!o[s].doubts && o[s].version && (!base || o[s].version > o[base].version))
			base = s;
	}
	if (silent) {
		*awaited |= silent;
		return LATER;
	}
	if (winner(eng, o, &row) != eng->cfg.rpc.self)
		return LATER;
	return base && row.type == NFS4R_TYPE_FILE ? take_from(d, r, base, oid, o[base].version, row.version) : SETTLED;
}

static void mark_settled(struct doubt *d, const struct nfs4r_oid *oid)
{
	size_t i;

	pthread_mutex_lock(&d->lock);
	for (i = d->nsettled++; i > 0 && nfs4r_oid_cmp(&d->settled[i - 1], oid) > 0; i--)
		d->settled[i] = d->settled[i - 1];
	d->settled[i] = *oid;
	pthread_mutex_unlock(&d->lock);
}

static void say_waiting(struct doubt *d, nfs4r_servers awaited, uint32_t left, uint64_t *said_ms)
{
	char who[100] = "";
	size_t n = 0;

	if (!left || now_ms() < *said_ms + SAY_EVERY_MS)
		return;
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX && n < sizeof(who) - 8; s++)
		if (awaited & NFS4R_BIT(s))
			n += (size_t)snprintf(who + n, sizeof(who) - n, " %u", s);
	engine_log(d->repair.eng, NFS4R_LOG_WARN, "volume %s: after the crash of the machine %u objects are in doubt; waiting for %s%s, which may have them",
		   d->repair.eng->cfg.volume_name, left, n ? "server" : "the other servers", who);
	*said_ms = now_ms();
}

static void finish(struct doubt *d)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_SETTLED };
	struct nfs4r_engine *eng = d->repair.eng;
	enum nfs4r_status st = nfs4r_store_checkpoint(eng->store, eng->ops->sync_all, eng->ctx, NULL);

	if (st != NFS4R_OK) {
		pthread_mutex_lock(&eng->lock);
		engine_halt(eng, "the checkpoint after a crash of the machine failed; check the disks, free space, and restart");
		pthread_mutex_unlock(&eng->lock);
		return;
	}
	for (uint32_t i = 0; eng->ops->changed && i < d->repair.n; i++)
		eng->ops->changed(eng->ctx, &d->repair.objs[i].oid, true);
	pthread_mutex_lock(&d->lock);
	d->open = false;
	pthread_cond_broadcast(&d->cond);
	pthread_mutex_unlock(&d->lock);
	pthread_mutex_lock(&eng->lock);
	engine_step(eng, &ev);
	if (eng->cfg.rpc.nservers == 1 && !eng->halted[0])
		eng->ready = true;
	pthread_mutex_unlock(&eng->lock);
	engine_log(eng, NFS4R_LOG_INFO, "volume %s: nothing is in doubt any more", eng->cfg.volume_name);
}

struct round { /* one look at every object that is left */
	struct doubt *d;
	bool *done;
	_Atomic uint32_t next, left;
	_Atomic nfs4r_servers awaited;
};

static void *work(void *arg)
{
	struct round *w = arg;
	struct doubt *d = w->d;
	struct nfs4r_engine *eng = d->repair.eng;
	struct repair r = { .eng = eng, .strays = true };
	nfs4r_servers awaited = 0;

	for (uint32_t i; (i = w->next++) < d->repair.n && !eng->stopping;) {
		const struct nfs4r_oid *oid = &d->repair.objs[i].oid;
		enum outcome o = w->done[i] ? LATER : settle(d, &r, oid, &awaited);

		if (o == FAILED)
			engine_log(eng, NFS4R_LOG_ERROR, "volume %s: an object cannot be written after the crash of the machine: free space on the exported file "
				   "system, check its disk; it is tried again", eng->cfg.volume_name);
		if (o != SETTLED)
			continue;
		w->done[i] = true;
		w->left--;
		mark_settled(d, oid);
	}
	w->awaited |= awaited;
	free(r.keep);
	return NULL;
}

static void each_once(struct round *w)
{
	pthread_t t[WORKERS];
	uint32_t n = 0, max = w->left < WORKERS ? w->left : WORKERS;

	w->next = 0;
	w->awaited = 0;
	while (n + 1 < max && pthread_create(&t[n], NULL, work, w) == 0)
		n++;
	work(w);
	while (n)
		pthread_join(t[--n], NULL);
}

static void doubt_task(struct nfs4r_engine *eng, void *arg)
{
	struct round w = { .d = arg };
	uint64_t said_ms = now_ms() - SAY_EVERY_MS / 2;

	if (eng->stopping || !restored(w.d))
		return;
	w.left = w.d->repair.n;
	w.done = calloc(w.left + 1, sizeof(*w.done));
	while (w.done && w.left && !eng->stopping && eng->cfg.rpc.nservers > 1) {
		each_once(&w);
		say_waiting(w.d, w.awaited, w.left, &said_ms);
		if (w.left)
			nanosleep(&(struct timespec){ .tv_nsec = PAUSE_MS * 1000000L }, NULL);
	}
	if (w.done && !eng->stopping)
		finish(w.d);
	free(w.done);
}

void doubt_start(struct nfs4r_engine *eng)
{
	if (eng->doubt)
		pool_run(eng->repairs, doubt_task, eng->doubt);
}
