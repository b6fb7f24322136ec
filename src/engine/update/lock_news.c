/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the authority of a file says of requests for locks that wait (LOCK_READY, LOCK_AGAIN of the core), on its way to the caller of the engine, who knows the clients.
 *
 * The core says it under eng->lock, and the caller may ask for something from there, so the news go through a queue that one executor at a time empties: the caller hears them in their order.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/locked.h"
#include "engine/update/update_int.h"

struct lock_news {
	struct lock_news *next;
	bool ready;
	struct nfs4r_oid oid;
	struct nfs4r_lock lock;
};

static struct lock_news *next_news(struct nfs4r_engine *eng)
{
	struct lock_news *n;

	pthread_mutex_lock(&eng->lock);
	n = eng->update.lock_news;
	if (n)
		eng->update.lock_news = n->next;
	eng->update.lock_news_running = n != NULL;
	pthread_mutex_unlock(&eng->lock);
	return n;
}

static void tell_news(struct nfs4r_engine *eng, void *unused)
{
	for (struct lock_news *n = next_news(eng); n; n = next_news(eng)) {
		void (*tell)(void *ctx, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock) = n->ready ? eng->ops->lock_ready : eng->ops->lock_again;

		if (tell)
			tell(eng->ctx, &n->oid, &n->lock);
		free(n);
	}
}

static void add(struct nfs4r_engine *eng, const struct nfs4r_act_lock_note *note, bool ready)
{
	struct lock_news **end = &eng->update.lock_news, *n = malloc(sizeof(*n));

	assert(nfs4r_is_locked(&eng->lock));
	if (!n)
		abort();
	*n = (struct lock_news){ .ready = ready, .oid = note->oid, .lock = note->lock };
	while (*end)
		end = &(*end)->next;
	*end = n;
	if (eng->update.lock_news_running)
		return;
	eng->update.lock_news_running = true;
	engine_pool_run(eng->runtime.executors, tell_news, NULL);
}

void update_lock_ready(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	add(eng, nfs4r_act_lock_ready(a), true);
}

void update_lock_again(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	add(eng, nfs4r_act_lock_again(a), false);
}

void update_lock_news_fini(struct nfs4r_engine *eng)
{
	while (eng->update.lock_news) {
		struct lock_news *n = eng->update.lock_news;

		eng->update.lock_news = n->next;
		free(n);
	}
}
