/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * FENCE of the core: this server was outside the view, serves again, and has forgotten the locks of its clients, since others may have got them meanwhile (L14 of docs/protocol/locks-failures.md).
 *
 * Happy path: in the step in which the core says so, and before any client is answered, the fence is up: updates, reads and locks of clients end with DELAY. An executor tells the caller of the engine, who
 * takes their sessions from all clients, and says that the fence is over. The clients come back in new sessions, and reclaim.
 *
 * What a client gives back is not kept up: closes, UNLOCK and UNWAIT go through. So does what other servers ask for.
 *
 * Failure modes: another fence before this one is over: it has the next number, and the word that the one before is over ends nothing. The engine halts or stops: its successor knows of no fence, and the caller's
 * clients reclaim there.
 */
#include <assert.h>

#include "base/locked.h"
#include "engine/update/update_int.h"

static void tell(struct nfs4r_engine *eng, void *unused)
{
	uint32_t number, nlost;

	pthread_mutex_lock(&eng->lock);
	number = eng->update.fences;
	nlost = eng->update.fence_lost;
	eng->update.fence_lost = 0;
	eng->update.fence_running = false;
	pthread_mutex_unlock(&eng->lock);
	eng->ops->fence(eng->ctx, number, nlost);
}

void update_fence(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	assert(nfs4r_is_locked(&eng->lock));
	if (!eng->ops->fence)
		return;
	if (!++eng->update.fences) /* 0 is none */
		eng->update.fences++;
	eng->update.fence_lost += nfs4r_act_fence(a)->nlost;
	engine_fence_set(eng, eng->update.fences);
	if (eng->update.fence_running)
		return;
	eng->update.fence_running = true;
	engine_pool_run(eng->runtime.executors, tell, NULL);
}

void nfs4r_fence_over(struct nfs4r_engine *eng, uint32_t number)
{
	pthread_mutex_lock(&eng->lock);
	if (eng->runtime.fence == number)
		engine_fence_set(eng, 0);
	pthread_mutex_unlock(&eng->lock);
}
