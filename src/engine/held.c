/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * COMMIT under Durability = commit or majority (log sheet 5.1, 5.4): the log is on this server's disk, and then on those of a majority.
 *
 * The core is told what is waited for (EV_HOLD) and says HELD, which may be at once: of a file that nobody controls everything is on all disks. It makes the
 * others checkpoint meanwhile. The wait is bounded: DELAY then, and the client asks again. A HELD that comes after that finds nobody, which is harmless.
 *
 * A view that sealed something during the wait makes the answer DELAY, too: what was waited for may have been undone.
 */
#include <errno.h>
#include <time.h>

#include "engine/engine_int.h"

struct held_wait {
	struct held_wait *next;
	uint64_t id;
	bool held;
	pthread_cond_t cond;
};

void held_done(struct nfs4r_engine *eng, uint64_t id)
{
	for (struct held_wait *w = eng->holds; w; w = w->next) {
		if (w->id != id)
			continue;
		w->held = true;
		pthread_cond_signal(&w->cond);
	}
}

static void unlink_wait(struct nfs4r_engine *eng, struct held_wait *w)
{
	struct held_wait **at = &eng->holds;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
}

/* eng->lock held. */
static void wait_for(struct nfs4r_engine *eng, struct held_wait *w)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += eng->cfg.op_wait_ms / 1000;
	until.tv_nsec += (long)(eng->cfg.op_wait_ms % 1000) * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (!w->held && !eng->stopping && pthread_cond_timedwait(&w->cond, &eng->lock, &until) != ETIMEDOUT)
		;
}

static enum nfs4r_status wait_held(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct held_wait w = { .cond = PTHREAD_COND_INITIALIZER };
	struct nfs4r_event ev = { .type = NFS4R_EV_HOLD, .oid = *oid };

	pthread_mutex_lock(&eng->lock);
	ev.hold = w.id = ++eng->next_hold;
	w.next = eng->holds;
	eng->holds = &w;
	if (!eng->mute)
		engine_step(eng, &ev);
	wait_for(eng, &w);
	unlink_wait(eng, &w);
	pthread_mutex_unlock(&eng->lock);
	pthread_cond_destroy(&w.cond);
	return w.held ? NFS4R_OK : NFS4R_DELAY;
}

enum nfs4r_status nfs4r_commit(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	uint32_t epoch = eng->epoch;
	enum nfs4r_status st = nfs4r_store_sync(eng->store, nfs4r_store_position(eng->store));

	if (st == NFS4R_OK && eng->cfg.durability != NFS4R_DURABILITY_LOCAL && eng->cfg.rpc.nservers > 1)
		st = wait_held(eng, oid);
	return st == NFS4R_OK && epoch != eng->epoch ? NFS4R_DELAY : st;
}
