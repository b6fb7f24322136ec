/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Checkpoints (log 4.3): every checkpoint_ms, when many rows are dirty, and soon after somebody asked because a release
 * waits for `stable`. Requests that come while one runs are served by the next; a pause between two keeps a storm of
 * small releases from turning into a storm of syncs. Each checkpoint costs more than itself: the next change of every
 * directory in use waits for the sync of a new mark (log 4.4). So the pause is short only while somebody wants control:
 * until then nobody waits for a release, every file that was made and closed asks for one all the same. What an answer to a client
 * waits for (log 5.1: COMMIT with commit or majority) is hurried: no pause at all, and all that come during one checkpoint share the next.
 *
 * What is stable is told as soon as files and journal are synced (log 4.3): LMDB costs two flushes more, and nobody waits for it.
 *
 * Without room for LMDB under the Store directory it is tried again at once, and the journal goes on. When the exported directory cannot be
 * synced the server halts at once, whatever the reason: the kernel has lost what was written there (src/store/checkpoint/fs_sync.c). For want of room that ends by itself (halt.c).
 */

#include "engine/runtime/runtime.h"

#define PAUSE_MS 250
#define URGENT_PAUSE_MS 50
#define URGENT_FOR_MS 1000 /* after the last proposal or revoke, of anybody */
#define DIRTY_ROWS_MAX 200000

struct telling {
	struct nfs4r_engine *eng;
	uint64_t taken; /* as it was when the checkpoint began */
};

/* The journal meanwhile, too: what the checkpoint syncs of it after the files is little then. */
static int sync_files(void *arg)
{
	const struct telling *t = arg;

	engine_durable_begin_sync(t->eng->runtime.durable);
	return t->eng->ops->sync_all(t->eng->ctx);
}

/* Whoever waits for what is stable here waits no longer, LMDB is still to be written. Not of a copy that is gone, which may have been further (log 8.5): the next one tells. */
static void tell_stable(void *arg, const nfs4r_lsn *stable)
{
	const struct telling *t = arg;
	struct nfs4r_event ev = { .type = NFS4R_EV_STABLE };

	memcpy(ev.stable, stable, sizeof(ev.stable));
	pthread_mutex_lock(&t->eng->lock);
	if (t->taken == t->eng->resync.repair.taken)
		engine_step(t->eng, &ev);
	pthread_mutex_unlock(&t->eng->lock);
}

/* LMDB takes nothing behind a hole of another's log as long as its owner may lose that. */
static void say_what_owners_have(struct nfs4r_engine *eng, struct telling *t)
{
	nfs4r_lsn have[NFS4R_SERVERS_MAX + 1] = { 0 };
	struct nfs4r_core_peer p;

	pthread_mutex_lock(&eng->lock);
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		if (nfs4r_core_get_peer(eng->core, s, &p))
			have[s] = p.peer_stable;
	t->taken = eng->resync.repair.taken;
	pthread_mutex_unlock(&eng->lock);
	nfs4r_store_owners_have(eng->store, have);
}

enum nfs4r_status engine_checkpoint_now(struct nfs4r_engine *eng)
{
	if (engine_doubt_is_open(eng))
		return NFS4R_DELAY; /* it would forget the marks */
	struct telling t = { .eng = eng };

	say_what_owners_have(eng, &t);
	enum nfs4r_status st = nfs4r_store_checkpoint_telling(eng->store, sync_files, tell_stable, &t, NULL);

	if (nfs4r_status_is_full(st) || st == NFS4R_DELAY)
		return st;
	pthread_mutex_lock(&eng->lock);
	if (st == NFS4R_OK)
		eng->notices->checkpointed(eng);
	else
		engine_store_failed(eng, "a checkpoint failed", st);
	pthread_mutex_unlock(&eng->lock);
	return st;
}

void engine_checkpoint_wake(struct nfs4r_engine *eng, bool hurry)
{
	pthread_mutex_lock(&eng->runtime.checkpoint.lock);
	eng->runtime.checkpoint.wanted = true;
	eng->runtime.checkpoint.hurried |= hurry;
	pthread_cond_signal(&eng->runtime.checkpoint.cond);
	pthread_mutex_unlock(&eng->runtime.checkpoint.lock);
}

void engine_checkpoint_urge(struct nfs4r_engine *eng)
{
	uint64_t now = engine_now_ms();
	bool was = eng->runtime.checkpoint.urgent_until_ms > now;

	eng->runtime.checkpoint.urgent_until_ms = now + URGENT_FOR_MS;
	if (was)
		return;
	pthread_mutex_lock(&eng->runtime.checkpoint.lock);
	pthread_cond_signal(&eng->runtime.checkpoint.cond);
	pthread_mutex_unlock(&eng->runtime.checkpoint.lock);
}

static void rest(struct nfs4r_engine *eng)
{
	uint64_t began = engine_now_ms(), now;
	struct timespec ts;

	pthread_mutex_lock(&eng->runtime.checkpoint.lock);
	while (!eng->door.stopping && !eng->runtime.checkpoint.hurried) {
		now = engine_now_ms();
		uint64_t until = began + (eng->runtime.checkpoint.urgent_until_ms > now ? URGENT_PAUSE_MS : PAUSE_MS);

		if (now >= until)
			break;
		ts = engine_after_us((until - now) * 1000);
		pthread_cond_clockwait(&eng->runtime.checkpoint.cond, &eng->runtime.checkpoint.lock, CLOCK_MONOTONIC, &ts);
	}
	pthread_mutex_unlock(&eng->runtime.checkpoint.lock);
}

static void wait_for_work(struct nfs4r_engine *eng)
{
	uint64_t due = engine_now_ms() + eng->cfg.checkpoint_ms;

	pthread_mutex_lock(&eng->runtime.checkpoint.lock);
	while (!eng->runtime.checkpoint.wanted && !eng->door.stopping && engine_now_ms() < due) {
		struct nfs4r_store_stats stats;
		struct timespec ts = engine_after_us(1000000);

		pthread_cond_clockwait(&eng->runtime.checkpoint.cond, &eng->runtime.checkpoint.lock, CLOCK_MONOTONIC, &ts);
		nfs4r_store_get_stats(eng->store, &stats);
		if (stats.rows_dirty > DIRTY_ROWS_MAX)
			break;
	}
	eng->runtime.checkpoint.wanted = eng->runtime.checkpoint.hurried = false;
	pthread_mutex_unlock(&eng->runtime.checkpoint.lock);
}

/*
 * What is stable was told all the same, and the journal goes on: removals are what makes room, and they need no more than that (log 4.12). What was to go to
 * LMDB stays in memory, and is tried again all the time.
 */
static void no_space(struct nfs4r_engine *eng, uint64_t *complained)
{
	uint64_t now = engine_now_ms();

	if (nfs4r_store_give_spare(eng->store)) /* it may do for the next one, which frees what lies in the journal */
		return;
	if (*complained && now < *complained + 60000)
		return;
	*complained = now;
	engine_log(eng, NFS4R_LOG_ERROR, "volume %s: no space for the database under %s: updates stay in the journal, which grows meanwhile; free space there",
		   eng->cfg.volume_name, eng->cfg.store_dir);
}

void *engine_checkpoint_thread(void *arg)
{
	struct nfs4r_engine *eng = arg;
	uint64_t complained = 0;

	while (!eng->door.stopping) {
		wait_for_work(eng);
		if (eng->door.stopping)
			break;
		enum nfs4r_status st = engine_checkpoint_now(eng);

		if (st == NFS4R_DELAY) /* an update takes long */
			engine_checkpoint_wake(eng, false);
		if (nfs4r_status_is_full(st)) {
			engine_checkpoint_wake(eng, false);
			no_space(eng, &complained);
		}
		rest(eng);
	}
	return NULL;
}
