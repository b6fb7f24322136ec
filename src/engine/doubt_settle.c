/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Bytes that a crash of the machine put in doubt (log sheet 4.6): where each object in doubt takes its content from. doubt.c tells the whole of it.
 *
 * Several threads (repair_crew) ask for one object each, since an object costs some round trips. What cannot be settled yet is looked at again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/doubt_int.h"

#define PAUSE_MS 200
#define SAY_EVERY_MS 60000

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
	struct nfs4r_entry *e;
	struct nfs4r_part *p;
	bool ok = true;

	r->nkeep = 0;
	for (size_t i = doubt_first_touch(d, oid); ok && (e = doubt_next_entry(d, oid, &i, &p)); nfs4r_entry_put(e)) {
		if (p->after <= than)
			continue;
		if (p->effect == NFS4R_EFF_WRITE || p->effect == NFS4R_EFF_ALLOC)
			ok = repair_keep(r, p->off, p->len);
		else if (p->effect == NFS4R_EFF_ATTRS && p->attrs.mask & NFS4R_ATTR_SIZE)
			ok = repair_keep(r, p->attrs.size, UINT64_MAX - p->attrs.size);
	}
	return ok;
}

static bool sets_size(const struct nfs4r_part *p)
{
	return p->effect == NFS4R_EFF_CREATE || (p->effect == NFS4R_EFF_ATTRS && p->attrs.mask & NFS4R_ATTR_SIZE);
}

/*
 * The last entry that set the size, and what was written after it, say how long the file may be; and if nothing was written, how long it is. For a server that goes
 * on with its own bytes.
 */
static enum nfs4r_status trim(struct doubt *d, const struct nfs4r_oid *oid)
{
	struct nfs4r_engine *eng = d->repair.eng;
	struct nfs4r_attrs now = { 0 }, size = { .mask = NFS4R_ATTR_SIZE };
	size_t first = doubt_first_touch(d, oid);
	struct nfs4r_lhandle h;
	struct nfs4r_entry *e;
	struct nfs4r_part *p;
	enum nfs4r_status st;
	nfs4r_version set = 0;
	uint64_t most = 0;

	for (size_t i = first; (e = doubt_next_entry(d, oid, &i, &p)); nfs4r_entry_put(e))
		if (sets_size(p) && p->after > set) {
			set = p->after;
			size.size = most = p->attrs.mask & NFS4R_ATTR_SIZE ? p->attrs.size : 0;
		}
	for (size_t i = first; (e = doubt_next_entry(d, oid, &i, &p)); nfs4r_entry_put(e))
		if ((p->effect == NFS4R_EFF_WRITE || p->effect == NFS4R_EFF_ALLOC) && p->after > set && p->off + p->len > most)
			most = p->off + p->len;
	nfs4r_handle(eng, oid, &h);
	if (!set || !h.len)
		return NFS4R_OK;
	st = eng->ops->getattr(eng->ctx, &h, &now);
	nfs4r_buf_put(now.acl);
	if (st != NFS4R_OK || (now.size >= size.size && now.size <= most))
		return st;
	size.size = now.size > most ? most : size.size;
	return eng->ops->setattr(eng->ctx, &h, &size, NULL, NULL);
}

static int by_offset(const void *a, const void *b)
{
	const struct repair_range *x = a, *y = b;

	return x->off < y->off ? -1 : x->off > y->off;
}

static enum nfs4r_status clear(struct nfs4r_engine *eng, const struct nfs4r_lhandle *h, uint64_t from, uint64_t until)
{
	static const uint8_t zeros[65536];
	enum nfs4r_status st = NFS4R_OK;

	for (uint64_t at = from, n; at < until && st == NFS4R_OK; at += n) {
		n = until - at < sizeof(zeros) ? until - at : sizeof(zeros);
		st = eng->ops->write(eng->ctx, h, at, zeros, (uint32_t)n, false, NULL);
	}
	return st;
}

/* Zeros wherever none of r->keep is. */
static enum nfs4r_status clear_rest(struct repair *r, const struct nfs4r_lhandle *h, uint64_t size)
{
	enum nfs4r_status st = NFS4R_OK;
	uint64_t at = 0;

	if (r->nkeep)
		qsort(r->keep, r->nkeep, sizeof(r->keep[0]), by_offset);
	for (uint32_t i = 0; i < r->nkeep && st == NFS4R_OK; i++) {
		const struct repair_range *k = &r->keep[i];

		st = clear(r->eng, h, at, k->off < size ? k->off : size);
		at = k->off + k->len > at ? k->off + k->len : at;
	}
	return st == NFS4R_OK ? clear(r->eng, h, at, size) : st;
}

/*
 * Nobody else has heard of this file, and its making is among the entries: the others will make it of these, so it has nothing that none of them wrote. Bytes of a WRITE
 * whose entry is lost can be on the disk all the same.
 */
static enum nfs4r_status only_from_entries(struct doubt *d, struct repair *r, const struct nfs4r_oid *oid)
{
	struct nfs4r_engine *eng = d->repair.eng;
	struct nfs4r_attrs now = { 0 };
	struct nfs4r_lhandle h;
	struct nfs4r_entry *e;
	struct nfs4r_part *p;
	bool made = false, ok = true;
	enum nfs4r_status st;

	r->nkeep = 0;
	for (size_t i = doubt_first_touch(d, oid); ok && (e = doubt_next_entry(d, oid, &i, &p)); nfs4r_entry_put(e)) {
		made |= p->effect == NFS4R_EFF_CREATE;
		if (p->effect == NFS4R_EFF_WRITE || p->effect == NFS4R_EFF_ALLOC)
			ok = repair_keep(r, p->off, p->len);
	}
	nfs4r_handle(eng, oid, &h);
	if (!made || !h.len)
		return NFS4R_OK;
	st = ok ? eng->ops->getattr(eng->ctx, &h, &now) : NFS4R_NOMEM;
	nfs4r_buf_put(now.acl);
	return st == NFS4R_OK ? clear_rest(r, &h, now.size) : st;
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
		st = doubt_set_attrs(d, oid, at_least);
	if (st == NFS4R_OK && done && at_least < mine)
		st = trim(d, oid);
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
	nfs4r_servers silent = 0, have = 0, left = servers_left(eng);
	struct nfs4r_row row;

	if (nfs4r_store_row(eng->store, oid, &row) != NFS4R_KNOWN)
		return SETTLED;
	EACH_OF(left & ~NFS4R_BIT(eng->cfg.rpc.self), s) {
		ask_peer(d, s, oid, &o[s]);
		if (o[s].dead)
			return SETTLED; /* it will be deleted here, too */
		if (o[s].told && !o[s].doubts && o[s].version >= row.version)
			return take_from(d, r, s, oid, row.version, row.version);
		have |= o[s].version ? NFS4R_BIT(s) : 0;
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
	if (row.type != NFS4R_TYPE_FILE)
		return SETTLED;
	if (base)
		return take_from(d, r, base, oid, o[base].version, row.version);
	if (trim(d, oid) != NFS4R_OK || (!have && only_from_entries(d, r, oid) != NFS4R_OK))
		return FAILED;
	return SETTLED;
}

static void say_waiting(struct doubt *d, nfs4r_servers awaited, uint32_t left, uint64_t *said_ms)
{
	char who[100] = "";
	size_t n = 0;

	if (!left || now_ms() < *said_ms + SAY_EVERY_MS)
		return;
	EACH_OF(awaited, s)
		if (n < sizeof(who) - 8)
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
	if (servers_alone(eng) && !eng->halted[0])
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
	struct repair r = { .eng = eng, .doubt = true };
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
		doubt_mark_settled(d, oid);
	}
	w->awaited |= awaited;
	free(r.keep);
	return NULL;
}

static void each_once(struct round *w)
{
	w->next = 0;
	w->awaited = 0;
	repair_crew(work, w, w->left);
}

static void doubt_task(struct nfs4r_engine *eng, void *arg)
{
	struct round w = { .d = arg };
	uint64_t said_ms = now_ms() - SAY_EVERY_MS / 2;

	if (eng->stopping || !doubt_restore(w.d))
		return;
	w.left = w.d->repair.n;
	w.done = calloc(w.left + 1, sizeof(*w.done));
	while (w.done && w.left && !eng->stopping && servers_left(eng) != NFS4R_BIT(eng->cfg.rpc.self)) {
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
