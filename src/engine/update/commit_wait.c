/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * COMMIT under Durability = commit or majority (log 5.1, 5.4): the log is on this server's disk, and on those of a majority.
 *
 * The core is told what is waited for (EV_HOLD) and says HELD, which may be at once: of a file that nobody controls everything is on all disks. It makes the
 * others checkpoint meanwhile, also while a client's thread syncs the file and the log here: they are asked when a COMMIT begins. The wait is bounded: DELAY then, and the client asks again. A HELD that comes after that finds nobody, which is harmless.
 *
 * A client's thread waits here. A COMMIT that another server asks for has an executor only until it is on this disk: the answer is made by another
 * one when HELD comes, or by the timer. So peers never wait for each other's executors.
 *
 * The file and the journal are synced at the same time: neither waits for the other, the answer for both. A journal that is on the disk before the file says no
 * more than with an unstable WRITE: what was not answered is in doubt (log 4.6), by a mark that was synced before the bytes changed.
 *
 * A view that sealed something during the wait makes the answer DELAY, too: what was waited for may have been undone.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/locked.h"
#include "engine/update/update_int.h"

struct commit_wait {
	struct commit_wait *next;
	uint64_t id;
	bool durable;
	pthread_cond_t cond; /* of a thread that waits */
	commit_wait_fn done; /* instead; then this struct is on the heap */
	void *arg;
	uint32_t epoch;
	uint64_t deadline_ms;
};

/* @w: who waits for its HELD, or NULL. eng->lock held. */
static void await_quorum(struct nfs4r_engine *eng, struct commit_wait *w, const struct nfs4r_oid *oid)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_AWAIT_QUORUM, .oid = *oid, .wait_id = ++eng->update.next_commit_wait };

	if (w) {
		w->id = ev.wait_id;
		w->next = eng->update.commit_waits;
		eng->update.commit_waits = w;
	}
	if (!eng->runtime.mute)
		engine_step(eng, &ev);
}

/* ---- without a thread ---- */

static void answer_task(struct nfs4r_engine *eng, void *arg)
{
	struct commit_wait *w = arg;

	w->done(eng, w->arg, w->durable && w->epoch == eng->runtime.epoch ? NFS4R_OK : NFS4R_DELAY);
	free(w);
}

/* Those that are held, and those whose time is over. eng->lock held. */
static void answer_some(struct nfs4r_engine *eng, uint64_t now)
{
	struct commit_wait **at = &eng->update.commit_waits;

	while (*at) {
		struct commit_wait *w = *at;

		if (!w->done || (!w->durable && w->deadline_ms > now)) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		engine_pool_run(eng->runtime.executors, answer_task, w);
	}
}

void update_commit_expire(struct nfs4r_engine *eng, uint64_t now)
{
	pthread_mutex_lock(&eng->lock);
	answer_some(eng, now);
	pthread_mutex_unlock(&eng->lock);
}

void update_commit_async(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, commit_wait_fn done, void *arg)
{
	struct commit_wait *w = calloc(1, sizeof(*w));
	uint32_t epoch = eng->runtime.epoch;
	enum nfs4r_status st = w ? nfs4r_store_sync_whole(eng->store) : NFS4R_NOMEM;

	if (st != NFS4R_OK) {
		free(w);
		done(eng, arg, st);
		return;
	}
	*w = (struct commit_wait){ .done = done, .arg = arg, .epoch = epoch, .deadline_ms = engine_now_ms() + eng->cfg.op_wait_ms };
	pthread_mutex_lock(&eng->lock);
	if (eng->door.frozen) { /* stop: nobody looks any more */
		pthread_mutex_unlock(&eng->lock);
		free(w);
		done(eng, arg, NFS4R_DELAY);
		return;
	}
	await_quorum(eng, w, oid);
	answer_some(eng, 0);
	pthread_mutex_unlock(&eng->lock);
}

/* ---- a thread that waits ---- */

void update_commit_quorum_durable(struct nfs4r_engine *eng, uint64_t id)
{
	assert(nfs4r_is_locked(&eng->lock));
	for (struct commit_wait *w = eng->update.commit_waits; w; w = w->next) {
		if (w->id != id)
			continue;
		w->durable = true;
		if (!w->done)
			pthread_cond_signal(&w->cond);
	}
	answer_some(eng, 0);
}

static void unlink_wait(struct nfs4r_engine *eng, struct commit_wait *w)
{
	struct commit_wait **at = &eng->update.commit_waits;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
}

/* eng->lock held. */
static void wait_for(struct nfs4r_engine *eng, struct commit_wait *w)
{
	struct timespec until = engine_after_us((uint64_t)eng->cfg.op_wait_ms * 1000);

	while (!w->durable && !eng->door.stopping && pthread_cond_clockwait(&w->cond, &eng->lock, CLOCK_MONOTONIC, &until) != ETIMEDOUT)
		;
}

static void ask(struct nfs4r_engine *eng, struct commit_wait *w, const struct nfs4r_oid *oid)
{
	pthread_mutex_lock(&eng->lock);
	await_quorum(eng, w, oid);
	pthread_mutex_unlock(&eng->lock);
}

/* Was asked; @synced: else nobody wants to know. */
static enum nfs4r_status wait_quorum(struct nfs4r_engine *eng, struct commit_wait *w, enum nfs4r_status synced)
{
	pthread_mutex_lock(&eng->lock);
	if (synced == NFS4R_OK)
		wait_for(eng, w);
	unlink_wait(eng, w);
	pthread_mutex_unlock(&eng->lock);
	return synced != NFS4R_OK || w->durable ? synced : NFS4R_DELAY;
}

bool update_commit_is_asked(const struct nfs4r_engine *eng)
{
	return engine_durability(eng) != NFS4R_DURABILITY_LOCAL && !engine_is_alone(eng);
}

uint64_t nfs4r_commit_begin(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	nfs4r_journal_pos pos;

	if (update_commit_is_asked(eng)) { /* of the others, while this server syncs; nobody waits for this HELD */
		pthread_mutex_lock(&eng->lock);
		await_quorum(eng, NULL, oid);
		pthread_mutex_unlock(&eng->lock);
	}
	if (nfs4r_store_whole(eng->store, &pos) != NFS4R_OK)
		return 0;
	engine_durable_begin_sync(eng->runtime.durable);
	return pos;
}

enum nfs4r_status nfs4r_commit(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, uint64_t begun)
{
	struct commit_wait w = { .cond = PTHREAD_COND_INITIALIZER };
	uint32_t epoch = eng->runtime.epoch;
	bool asked = update_commit_is_asked(eng);

	if (asked)
		ask(eng, &w, oid);
	enum nfs4r_status st = begun ? nfs4r_store_sync(eng->store, begun) : nfs4r_store_sync_whole(eng->store);

	if (!asked && st == NFS4R_OK && update_commit_is_asked(eng)) { /* since the sync began (log 6.17) */
		ask(eng, &w, oid);
		asked = true;
	}
	if (asked)
		st = wait_quorum(eng, &w, st);
	pthread_cond_destroy(&w.cond);
	return st == NFS4R_OK && epoch != eng->runtime.epoch ? NFS4R_DELAY : st;
}
