/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A repair makes objects of this copy equal to those of another server's copy (log 8.3, 8.5). The core asks for it when this copy has entries
 * beyond the seal of a log, or cannot go on from its positions; nothing is executed, applied or served meanwhile.
 *
 * Happy path, on a thread of its own:
 *   1. conflicts.c   the objects that undone entries touched; with `all`, every object that is not equal at the source
 *   2. conflicts.c   what is lost by it is saved under the conflicts directory and synced, before anything changes
 *      adopt_tree.c  when the store was lost: what lies in the exported directory is taken for the objects that have its names
 *   3. fetch.c  each object's content, attributes, row and names, many objects at a time; what is missing here is made in the hidden directory
 *   4. names.c   names that are wrong are taken away, those that are missing put in; what is dead at the source is removed
 *   5. a checkpoint; with `all` the positions become those of the source; REPAIRED
 *
 * Failure modes: the source goes away or cannot be reached: REPAIRED says so, and the core asks again, perhaps with another source. Another REPAIR while
 * one runs takes its place. No space: the same, with a line in the log. The exported directory cannot be synced at the end: the server halts. A crash: the next start finds the log as it was, and everything is done once
 * more; each step finds its work done.
 *
 * Invariant: nothing of this copy changes before what would be lost is saved.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/room.h"
#include "engine/replicate/replicate.h"
#include "engine/resync/resync_int.h"

bool resync_over(const struct repair *r)
{
	return r->eng->door.stopping || (!r->doubt && r->generation != r->eng->resync.repair.generation);
}

enum nfs4r_status resync_fails(struct repair *r, enum nfs4r_status st, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->why, sizeof(r->why), fmt, ap);
	va_end(ap);
	return st;
}

struct repair_obj *resync_add(struct repair *r, const struct nfs4r_oid *oid, bool undone)
{
	if (!NFS4R_ROOM(r->objs, r->n, r->cap))
		return NULL;
	r->objs[r->n] = (struct repair_obj){ .oid = *oid, .undone = undone };
	return &r->objs[r->n++];
}

static int by_oid(const void *a, const void *b)
{
	return nfs4r_oid_cmp(&((const struct repair_obj *)a)->oid, &((const struct repair_obj *)b)->oid);
}

/* Each object once. */
static void sort(struct repair *r)
{
	uint32_t n = 0;

	if (r->n)
		qsort(r->objs, r->n, sizeof(*r->objs), by_oid);
	for (uint32_t i = 0; i < r->n; i++) {
		if (n && nfs4r_oid_eq(&r->objs[n - 1].oid, &r->objs[i].oid))
			r->objs[n - 1].undone |= r->objs[i].undone;
		else
			r->objs[n++] = r->objs[i];
	}
	r->n = n;
}

/* ---- progress, for status ---- */

void resync_progress(struct repair *r, uint64_t objects, uint64_t bytes)
{
	struct nfs4r_engine *eng = r->eng;

	pthread_mutex_lock(&eng->lock);
	eng->resync.repair.done += objects;
	eng->resync.repair.bytes += bytes;
	pthread_mutex_unlock(&eng->lock);
}

static void set_progress(struct repair *r, const char *phase)
{
	struct nfs4r_engine *eng = r->eng;

	pthread_mutex_lock(&eng->lock);
	eng->resync.repair.phase = phase;
	if (!eng->resync.repair.fetch_ms)
		eng->resync.repair.fetch_ms = engine_now_ms();
	eng->resync.repair.all = r->n;
	pthread_mutex_unlock(&eng->lock);
}

/* ---- many objects at a time ---- */

void resync_crew(void *(*work)(void *), void *arg, uint32_t most)
{
	pthread_t t[REPAIR_CREW];
	uint32_t n = 0, max = most < REPAIR_CREW ? most : REPAIR_CREW;

	while (n + 1 < max && pthread_create(&t[n], NULL, work, arg) == 0)
		n++;
	work(arg);
	while (n)
		pthread_join(t[--n], NULL);
}

struct fetch {
	struct repair *r; /* only read */
	_Atomic uint32_t next;
	_Atomic int st; /* the first that is not OK; who sets it says why */
	char why[sizeof(((struct repair *)0)->why)];
};

static void *fetch_some(void *arg)
{
	struct fetch *f = arg;
	struct repair own = *f->r;

	for (uint32_t i; f->st == NFS4R_OK && (i = f->next++) < own.n;) {
		enum nfs4r_status st = resync_over(&own) ? NFS4R_SHUTDOWN : resync_object(&own, &own.objs[i]);
		int none = NFS4R_OK;

		if (st == NFS4R_OK)
			resync_progress(&own, 1, 0);
		else if (atomic_compare_exchange_strong(&f->st, &none, (int)st))
			memcpy(f->why, own.why, sizeof(own.why));
	}
	return NULL;
}

static enum nfs4r_status fetch_all(struct repair *r)
{
	struct fetch f = { .r = r, .st = NFS4R_OK };

	resync_crew(fetch_some, &f, r->n);
	memcpy(r->why, f.why, sizeof(r->why));
	return (enum nfs4r_status)f.st;
}

/* ---- the run ---- */

static void tell_changed(struct repair *r)
{
	struct nfs4r_engine *eng = r->eng;

	for (uint32_t i = 0; eng->ops->changed && i < r->n; i++)
		eng->ops->changed(eng->ctx, &r->objs[i].oid, true);
}

static enum nfs4r_status finish(struct repair *r)
{
	struct nfs4r_engine *eng = r->eng;
	enum nfs4r_status st = NFS4R_OK;

	if (r->all) {
		pthread_mutex_lock(&eng->lock);
		st = nfs4r_store_set_positions(eng->store, &r->positions);
		replicate_sender_forget(eng->replicate.distributor, UINT64_MAX);
		eng->resync.repair.taken++;
		pthread_mutex_unlock(&eng->lock);
	}
	if (st == NFS4R_OK)
		st = nfs4r_store_checkpoint(eng->store, eng->ops->sync_all, eng->ctx, NULL);
	if (st == NFS4R_IO) { /* nor will another attempt: the bytes that it would find equal may be on no disk */
		pthread_mutex_lock(&eng->lock);
		engine_store_failed(eng, "a checkpoint failed", st);
		pthread_mutex_unlock(&eng->lock);
	}
	if (st == NFS4R_OK)
		tell_changed(r);
	return st == NFS4R_OK ? st : resync_fails(r, st, "cannot write the store: %s", nfs4r_status_str(st));
}

static enum nfs4r_status run(struct repair *r)
{
	enum nfs4r_status st = r->list ? NFS4R_OK : resync_collect(r);

	if (st == NFS4R_OK)
		sort(r);
	if (st == NFS4R_OK && !r->list)
		st = resync_save(r);
	if (st == NFS4R_OK && r->everything)
		st = resync_compare(r);
	if (st != NFS4R_OK)
		return st;
	sort(r);
	if (r->strays)
		st = resync_adopt(r);
	set_progress(r, "objects");
	if (st == NFS4R_OK)
		st = fetch_all(r);
	if (st != NFS4R_OK)
		return st;
	set_progress(r, "names");
	st = resync_tree(r);
	if (st == NFS4R_OK && !r->list)
		st = resync_clients(r);
	return st == NFS4R_OK ? finish(r) : st;
}

static void say_end(struct repair *r, enum nfs4r_status st)
{
	struct nfs4r_engine *eng = r->eng;

	if (st != NFS4R_OK)
		engine_log(eng, NFS4R_LOG_WARN, "volume %s: resync failed, from server %u: %s; the server tries again", eng->cfg.volume_name, r->from,
			   r->why[0] ? r->why : nfs4r_status_str(st));
	else
		engine_log(eng, NFS4R_LOG_INFO, "volume %s: resync complete, from server %u: %u objects, %llu bytes in %.1f s%s%s", eng->cfg.volume_name, r->from, r->n,
			   (unsigned long long)eng->resync.repair.bytes, (double)(engine_now_ms() - eng->resync.repair.since_ms) / 1000, r->saved[0] ? "; the undone updates are in " : "", r->saved);
}

/* What the source has inexact, too, or in another version; free(ev->left) is the caller's. False: no memory. */
static bool tell_unrepaired(const struct repair *r, struct nfs4r_event *ev)
{
	struct nfs4r_fuzzy_object *left = calloc(r->n + 1, sizeof(*left));

	for (uint32_t i = 0; left && i < r->n; i++)
		if (r->objs[i].inexact || r->objs[i].left.later)
			left[ev->nleft++] = r->objs[i].left;
	ev->left = left;
	return left != NULL;
}

static void repair_task(struct nfs4r_engine *eng, void *arg)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_REPAIRED };
	struct repair *r = arg;
	enum nfs4r_status st = resync_over(r) ? NFS4R_SHUTDOWN : run(r);

	pthread_mutex_lock(&eng->lock);
	if (!resync_over(r)) {
		say_end(r, st);
		ev.ok = st == NFS4R_OK && tell_unrepaired(r, &ev);
		memcpy(ev.stable, r->positions.applied, sizeof(ev.stable));
		ev.clients = r->clients;
		ev.nclients = r->nclients;
		eng->resync.repair.running = false;
		engine_touched_forget_all(eng->runtime.touched);
		engine_suid_forget_all(eng->runtime.set_ids);
		engine_step(eng, &ev);
		if (ev.ok)
			engine_checkpoint_wake(eng, false);
	}
	pthread_mutex_unlock(&eng->lock);
	for (uint32_t i = 0; i < r->n; i++)
		free(r->objs[i].found);
	free((void *)ev.left);
	free(r->clients);
	free(r->objs);
	free(r);
}

void resync_start(struct nfs4r_engine *eng, const struct nfs4r_action *act)
{
	const struct nfs4r_act_repair *a = nfs4r_act_repair(act);
	struct repair *r = calloc(1, sizeof(*r));
	bool forgot = engine_memory(eng) == NFS4R_MEMORY_FORGOT;

	if (!r)
		abort();
	r->eng = eng;
	r->generation = ++eng->resync.repair.generation;
	r->from = a->from;
	r->all = r->everything = a->all;
	r->strays = a->all && forgot; /* else nobody but people can have put it there */
	r->list = a->noids != 0;
	for (uint32_t i = 0; i < a->noids; i++)
		if (!resync_add(r, &a->oids[i], false))
			abort();
	r->nseals = a->nseals;
	for (uint32_t i = 0; i < a->nseals; i++)
		r->seals[i] = a->seals[i];
	eng->resync.repair.from = a->from;
	eng->resync.repair.running = true;
	eng->resync.repair.phase = "list";
	eng->resync.repair.done = eng->resync.repair.all = eng->resync.repair.bytes = eng->resync.repair.fetch_ms = 0;
	eng->resync.repair.since_ms = engine_now_ms();
	engine_log(eng, NFS4R_LOG_INFO, "volume %s: this copy %s; resync starts, from server %u", eng->cfg.volume_name,
		   a->noids ? "has files with bytes of abandoned updates" : a->all && forgot ? "is empty or out of date" :
			   a->all							     ? "cannot be brought up to date from the logs" :
											       "has abandoned updates",
		   a->from);
	engine_pool_run(eng->resync.repairs, repair_task, r);
}
