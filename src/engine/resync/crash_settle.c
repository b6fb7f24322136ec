/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Bytes that a crash of the machine put in doubt (log 4.6): where each object in doubt takes its content from. crash_check.c tells the whole of it.
 *
 * Several threads (resync_crew) ask for one object each, since an object costs some round trips. What cannot be settled yet is looked at again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/read/read.h"
#include "engine/resync/resync_int.h"

#define PAUSE_MS 200
#define SAY_EVERY_MS 60000

struct opinion { /* of a server about an object */
	nfs4r_version version; /* 0: it does not have it */
	nfs4r_server_id log; /* whose made that */
	bool answered, doubts, dead;
	bool unsettled; /* it doubts, and settles that itself */
};

static void ask_peer(struct doubt *d, nfs4r_server_id s, const struct nfs4r_oid *oid, struct opinion *out)
{
	struct nfs4r_read rd = { .type = NFS4R_RD_GETATTR, .oid = *oid, .cookie = NFS4R_COPY_ANY };
	enum nfs4r_status st = read_copy(d->repair.eng, s, &rd);

	*out = (struct opinion){ .answered = st == NFS4R_OK || st == NFS4R_STALE || st == NFS4R_UNKNOWN, .dead = st == NFS4R_STALE };
	if (st == NFS4R_OK) {
		out->version = rd.row.version;
		out->log = rd.row.last_log <= NFS4R_SERVERS_MAX ? rd.row.last_log : 0;
		out->doubts = rd.eof;
		out->unsettled = rd.eof && rd.result_offset;
	}
	nfs4r_read_fini(&rd);
}

enum outcome {
	DOUBT_CLEARED = 1,
	LATER,
	FAILED
};

/* Another server's answer, or none; all else is said by the local file system. */
static bool is_said_elsewhere(enum nfs4r_status st)
{
	return st == NFS4R_OK || st == NFS4R_DELAY || st == NFS4R_STALE || st == NFS4R_UNKNOWN || st == NFS4R_NOT_PRIMARY || st == NFS4R_SHUTDOWN || st == NFS4R_MALFORMED;
}

static enum outcome failed_or_later(struct repair *r, enum nfs4r_status st, bool done)
{
	if (!is_said_elsewhere(st)) {
		r->here = st;
		return FAILED;
	}
	return st == NFS4R_OK && done ? DOUBT_CLEARED : LATER;
}

/* What is not in these, which are the first @n of r->keep, takes their place. */
static bool keep_rest(struct repair *r, uint32_t n)
{
	uint64_t at = 0;
	bool ok = true;

	qsort(r->keep, n, sizeof(*r->keep), resync_by_offset);
	for (uint32_t i = 0; ok && i < n; i++) {
		struct repair_range k = r->keep[i];

		ok = k.off <= at || resync_keep(r, at, k.off - at);
		if (k.off + k.len > at)
			at = k.off + k.len;
	}
	ok = ok && resync_keep(r, at, UINT64_MAX - at);
	if (ok)
		memmove(r->keep, r->keep + n, (r->nkeep - n) * sizeof(*r->keep));
	r->nkeep = ok ? r->nkeep - n : 0;
	return ok;
}

/* Place of the first with that OID, or a higher one. */
static uint32_t dropped_first(const struct nfs4r_extent *list, uint32_t n, const struct nfs4r_oid *oid)
{
	uint32_t lo = 0, hi = n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (nfs4r_oid_cmp(&list[mid].oid, oid) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/*
 * After a crash of the process: of a file that was only written to, the bytes of these updates are in doubt, and no others. Large files would be copied whole
 * otherwise, since there is nearly always an update of them under way. False: all of it is in doubt.
 */
static bool keep_what_is_sound(struct doubt *d, struct repair *r, const struct repair_obj *o)
{
	const struct nfs4r_extent *list;
	uint32_t n = nfs4r_store_dropped(d->repair.eng->store, &list);
	bool bytes = !d->machine && !o->made;

	r->nkeep = 0;
	for (uint32_t i = dropped_first(list, n, &o->oid); bytes && i < n && nfs4r_oid_eq(&list[i].oid, &o->oid); i++)
		bytes = list[i].len != NFS4R_WHOLE && list[i].off + list[i].len >= list[i].off && resync_keep(r, list[i].off, list[i].len);
	if (bytes && r->nkeep)
		return keep_rest(r, r->nkeep);
	r->nkeep = 0;
	return false;
}

static enum outcome take_all_from(struct doubt *d, struct repair *r, nfs4r_server_id s, const struct repair_obj *o, nfs4r_version version)
{
	bool done = false;
	uint64_t size;

	r->from = s;
	r->sized = keep_what_is_sound(d, r, o);
	enum nfs4r_status st = resync_refresh(r, &o->oid, version, &size, &done);
	r->sized = false;
	return failed_or_later(r, st, done);
}

/* Its copy is older than the one here: what entries did after it is taken from the own copy. It may have bytes of these entries already (log 3.6). */
static enum outcome take_older_from(struct doubt *d, struct repair *r, nfs4r_server_id s, const struct touches *t, const struct nfs4r_row *mine, nfs4r_version version)
{
	const struct nfs4r_oid *oid = &mine->oid;
	enum nfs4r_status st = NFS4R_NOMEM;
	bool done = false;
	struct plan pl;
	uint64_t size;

	r->from = s;
	r->nkeep = 0;
	if (resync_plan_make(&pl, d, t, oid, version, mine->version) && resync_plan_keep(&pl, r))
		st = resync_refresh(r, oid, version, &size, &done);
	if (st == NFS4R_OK && done)
		st = resync_crash_set_attrs(d, t, oid, version);
	if (st == NFS4R_OK && done) {
		resync_plan_was_long(&pl, size);
		st = resync_plan_carry_out(&pl, d->repair.eng, oid);
	}
	r->nkeep_xattrs = 0;
	resync_plan_fini(&pl);
	return failed_or_later(r, st, done);
}

/* Its own bytes and attributes are right, but for those of which the entries know nothing: of a WRITE whose entry is lost there can be bytes on the disk, and nobody could tell the others of them. */
static enum outcome take_own(struct doubt *d, const struct touches *t, const struct nfs4r_row *mine)
{
	nfs4r_version begin = resync_touches_begin(t, &mine->oid, mine->version);
	struct plan pl;
	bool ok = resync_plan_make(&pl, d, t, &mine->oid, begin, mine->version) && resync_crash_set_attrs(d, t, &mine->oid, begin) == NFS4R_OK &&
		resync_plan_carry_out(&pl, d->repair.eng, &mine->oid) == NFS4R_OK;

	resync_plan_fini(&pl);
	return ok ? DOUBT_CLEARED : FAILED;
}

/*
 * Who goes on when nobody has it as new as here without doubt: the server whose log made the newest version, since what clients were promised is on its disk, also if its journal lost the
 * end; then the others have its copy without doubt. If it does not have the object, or has settled: of those with the newest version the one with the lowest id.
 */
static nfs4r_server_id winner(nfs4r_server_id self, const struct opinion *o)
{
	nfs4r_server_id newest = self, first = 0, maker;

	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		if (o[s].version > o[newest].version)
			newest = s;
	maker = o[newest].log;
	if (o[maker].version == o[newest].version || o[maker].unsettled)
		return maker;
	for (nfs4r_server_id s = NFS4R_SERVERS_MAX; s; s--)
		if (o[s].version == o[newest].version)
			first = s;
	return first;
}

/* Nobody has it as new as it is here, and without doubt. @base: who has an older one without; 0: nobody. @some: others have none. */
static enum outcome go_on(struct doubt *d, struct repair *r, const struct nfs4r_row *row, nfs4r_server_id base, nfs4r_version version, bool some)
{
	const struct touches *t = base || some ? resync_crash_history(d) : &d->since;

	if (!t)
		return FAILED;
	if (base && resync_touches_lead(t, &row->oid, version, row->version))
		return take_older_from(d, r, base, t, row, version);
	return take_own(d, t, row); /* if the entries in between are gone, who has the older one takes all (log 8.5) */
}

struct answers {
	struct opinion o[NFS4R_SERVERS_MAX + 1];
	nfs4r_server_id source; /* who has it without doubt, as new as here or newer */
	nfs4r_server_id base; /* the newest older one without doubt */
	nfs4r_servers silent;
	bool some, dead; /* others have none; it is deleted there */
};

/*
 * After a crash of the process some have what was being applied, and others the version that is here, which is the better one: what is newer may be given up.
 * After one of the machine there are many objects, and who answers first has them as new as any.
 */
static void ask_all(struct doubt *d, const struct nfs4r_row *row, nfs4r_servers others, struct answers *a)
{
	EACH_OF(others, s) {
		struct opinion *o = &a->o[s];

		ask_peer(d, s, &row->oid, o);
		a->dead |= o->dead;
		if (!o->answered)
			a->silent |= NFS4R_BIT(s);
		if (o->answered && !o->doubts && o->version >= row->version && (!a->source || o->version == row->version))
			a->source = s;
		if ((d->machine && (a->source || a->dead)) || (a->source && a->o[a->source].version == row->version))
			return;
		a->some |= !o->version;
		if (o->answered && !o->doubts && o->version && (!a->base || o->version > a->o[a->base].version))
			a->base = s;
	}
}

static enum outcome choose_source(struct doubt *d, struct repair *r, const struct repair_obj *obj, nfs4r_servers *awaited)
{
	struct nfs4r_engine *eng = d->repair.eng;
	nfs4r_server_id self = eng->cfg.rpc.self;
	const struct nfs4r_oid *oid = &obj->oid;
	struct answers a = { .source = 0 };
	struct nfs4r_row row;

	if (nfs4r_store_row(eng->store, oid, &row) != NFS4R_KNOWN || engine_import_is_open(eng, oid, NULL))
		return DOUBT_CLEARED; /* of what is being imported nobody else has all; they get the whole of it again */
	a.o[self] = (struct opinion){ .version = row.version, .log = row.last_log, .unsettled = true };
	ask_all(d, &row, engine_servers_surviving(eng) & ~NFS4R_BIT(self), &a);
	if (a.source)
		return take_all_from(d, r, a.source, obj, row.version);
	if (a.dead)
		return DOUBT_CLEARED; /* it will be deleted here, too */
	if (a.silent) {
		*awaited |= a.silent;
		return LATER;
	}
	if (winner(self, a.o) != self)
		return LATER;
	return go_on(d, r, &row, a.base, a.o[a.base].version, a.some);
}

static void say_waiting(struct doubt *d, nfs4r_servers awaited, uint32_t left, uint64_t *said_ms)
{
	char who[100] = "";
	size_t n = 0;

	if (!left || engine_now_ms() < *said_ms + SAY_EVERY_MS)
		return;
	EACH_OF(awaited, s)
		if (n < sizeof(who) - 8)
			n += (size_t)snprintf(who + n, sizeof(who) - n, " %u", s);
	engine_log(d->repair.eng, NFS4R_LOG_WARN, "volume %s: after the crash of the %s %u objects are in doubt; waiting for %s%s, which may have them",
		   d->repair.eng->cfg.volume_name, d->machine ? "machine" : "process", left, n ? "server" : "the other servers", who);
	*said_ms = engine_now_ms();
}

/* @what cannot be written. As long as it is not settled nothing is applied here, and the others would wait for that (log 6.12). */
static void say_failed(struct doubt *d, enum nfs4r_status st, const char *what, const char *remedy)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_TROUBLE, .status = st ? st : NFS4R_IO };
	struct nfs4r_engine *eng = d->repair.eng;
	uint64_t now = engine_now_ms(), said = d->said_ms;

	if ((said && now < said + SAY_EVERY_MS) || !atomic_compare_exchange_strong(&d->said_ms, &said, now))
		return;
	engine_log(eng, NFS4R_LOG_ERROR, "volume %s: %s cannot be written: %s; %s. The server keeps trying", eng->cfg.volume_name, what, nfs4r_status_str(ev.status), remedy);
	pthread_mutex_lock(&eng->lock);
	engine_step(eng, &ev);
	pthread_mutex_unlock(&eng->lock);
}

static void rest_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
}

static enum nfs4r_status checkpoint_of_doubt(struct doubt *d)
{
	struct nfs4r_engine *eng = d->repair.eng;
	enum nfs4r_status st;

	do /* DELAY: after a crash of the process own updates go on meanwhile, and may take long */
		st = nfs4r_store_checkpoint(eng->store, eng->ops->sync_all, eng->ctx, NULL);
	while (!eng->door.stopping && !eng->runtime.mute && (st == NFS4R_DELAY || (nfs4r_status_is_full(st) && nfs4r_store_give_spare(eng->store))));
	return st;
}

static void journal_failed(struct nfs4r_engine *eng, enum nfs4r_status st)
{
	pthread_mutex_lock(&eng->lock);
	engine_journal_failed(eng, st);
	pthread_mutex_unlock(&eng->lock);
}

/*
 * Without room for LMDB the marks of what is in doubt stay, and nothing is applied. Then nothing comes into the journal either, so no write there can fail and tell. So the server halts here (log 4.15).
 * Its reason names the file system of Store, also at the other servers, and it starts anew by itself when there is room.
 */
static void finish(struct doubt *d)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_DOUBT_CLEARED };
	struct nfs4r_engine *eng = d->repair.eng;
	enum nfs4r_status st;

	st = checkpoint_of_doubt(d);
	if (st == NFS4R_DELAY || (st != NFS4R_OK && eng->door.stopping))
		return; /* it stops */
	if (st != NFS4R_OK) {
		pthread_mutex_lock(&eng->lock);
		engine_store_failed(eng, "cannot write the database after a crash", st);
		pthread_mutex_unlock(&eng->lock);
		return;
	}
	for (uint32_t i = 0; eng->ops->changed && i < d->repair.n; i++)
		eng->ops->changed(eng->ctx, &d->repair.objs[i].oid, true);
	engine_doubt_over(eng);
	pthread_mutex_lock(&eng->lock);
	engine_step(eng, &ev);
	if (engine_is_alone(eng))
		engine_recovered(eng);
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

	for (uint32_t i; (i = w->next++) < d->repair.n && !eng->door.stopping;) {
		const struct repair_obj *obj = &d->repair.objs[i];
		enum outcome o = w->done[i] ? LATER : choose_source(d, &r, obj, &awaited);

		if (o == FAILED && nfs4r_store_broken(eng->store)) {
			journal_failed(eng, r.here);
			break;
		}
		if (o == FAILED)
			say_failed(d, r.here, "an object in doubt after a crash", engine_remedy(r.here ? r.here : NFS4R_IO));
		if (o != DOUBT_CLEARED)
			continue;
		w->done[i] = true;
		w->left--;
		engine_doubt_cleared(eng, &obj->oid);
	}
	w->awaited |= awaited;
	free(r.keep);
	return NULL;
}

static void each_once(struct round *w)
{
	w->next = 0;
	w->awaited = 0;
	resync_crew(work, w, w->left);
}

/* Tried again until it works: an object that is in the way can be moved, a full disk can get room, a flag can be taken away. */
static bool restored(struct doubt *d)
{
	struct nfs4r_engine *eng = d->repair.eng;
	enum nfs4r_status st;
	char what[sizeof(d->repair.why) + 100];

	for (;;) {
		st = eng->door.stopping ? NFS4R_SHUTDOWN : resync_crash_restore(d);
		if (st == NFS4R_OK || eng->door.stopping || eng->runtime.mute)
			return st == NFS4R_OK;
		if (nfs4r_store_broken(eng->store)) {
			journal_failed(eng, st);
			return false;
		}
		snprintf(what, sizeof(what), "objects in doubt after a crash in the exported directory%s%s%s", d->repair.why[0] ? " (" : "", d->repair.why, d->repair.why[0] ? ")" : "");
		say_failed(d, st, what, engine_remedy(st));
		rest_ms(PAUSE_MS);
	}
}

static void doubt_task(struct nfs4r_engine *eng, void *arg)
{
	struct round w = { .d = arg };
	uint64_t said_ms = engine_now_ms() - SAY_EVERY_MS / 2;

	if (!restored(w.d))
		return;
	w.left = w.d->repair.n;
	w.done = calloc(w.left + 1, sizeof(*w.done));
	while (w.done && w.left && !eng->door.stopping && !eng->runtime.mute && engine_servers_surviving(eng) != NFS4R_BIT(eng->cfg.rpc.self)) {
		each_once(&w);
		say_waiting(w.d, w.awaited, w.left, &said_ms);
		if (w.left)
			rest_ms(PAUSE_MS);
	}
	if (w.done && !eng->door.stopping && !eng->runtime.mute)
		finish(w.d);
	free(w.done);
}

void resync_crash_queue(struct nfs4r_engine *eng)
{
	if (eng->resync.doubt)
		engine_pool_run(eng->resync.repairs, doubt_task, eng->resync.doubt);
}
