/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Actions that must not be seen before the journal is on stable storage (core.h, contract 3). One thread
 * takes what has gathered, syncs once for all of it, and performs it in order; meanwhile the core goes on.
 * If the journal cannot be synced nothing of it may ever be seen: the server halts.
 *
 * It also begins a sync for who syncs something else meanwhile, and comes for the journal then (commit_wait.c).
 */
#include <stdlib.h>

#include "engine/runtime/runtime.h"

struct item {
	struct item *next;
	nfs4r_journal_pos pos;
	nfs4r_server_id to;
	bool sync_only;
	task_fn fn; /* to be called under eng->lock */
	void *arg;
	uint32_t event; /* ACCEPTED, SYNCED: what the core hears, */
	uint64_t num; /* and of which */
	struct nfs4r_msg msg; /* SEND: flat types only */
};

struct durable {
	struct nfs4r_engine *eng;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct item *head, **tail;
	bool stop;
	pthread_t thread;
};

static void perform(struct nfs4r_engine *eng, struct item *it)
{
	if (it->sync_only)
		return;
	if (!it->fn && !it->event) {
		engine_send(eng, it->to, &it->msg);
		return;
	}
	pthread_mutex_lock(&eng->lock);
	if (it->fn)
		it->fn(eng, it->arg);
	else
		engine_step(eng, &(struct nfs4r_event){ .type = it->event, .num = it->num });
	pthread_mutex_unlock(&eng->lock);
}

static void *run(void *arg)
{
	struct durable *d = arg;
	struct nfs4r_engine *eng = d->eng;

	pthread_mutex_lock(&d->lock);
	for (;;) {
		while (!d->head && !d->stop)
			pthread_cond_wait(&d->cond, &d->lock);
		struct item *list = d->head;
		if (!list)
			break;
		d->head = NULL;
		d->tail = &d->head;
		pthread_mutex_unlock(&d->lock);

		nfs4r_journal_pos max = 0;
		for (struct item *it = list; it; it = it->next)
			max = it->pos > max ? it->pos : max;
		enum nfs4r_status st = nfs4r_store_sync(eng->store, max);
		if (st != NFS4R_OK) {
			pthread_mutex_lock(&eng->lock);
			engine_store_failed(eng, "cannot sync the journal", st);
			pthread_mutex_unlock(&eng->lock);
		}
		while (list) {
			struct item *it = list;

			list = it->next;
			if (st == NFS4R_OK && !eng->runtime.mute)
				perform(eng, it);
			free(it);
		}
		pthread_mutex_lock(&d->lock);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

struct durable *engine_durable_create(struct nfs4r_engine *eng)
{
	struct durable *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->eng = eng;
	d->tail = &d->head;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->cond, NULL);
	if (pthread_create(&d->thread, NULL, run, d) != 0) {
		free(d);
		return NULL;
	}
	pthread_setname_np(d->thread, "nfs4r-durable");
	return d;
}

void engine_durable_stop(struct durable *d)
{
	if (!d || d->stop)
		return;
	pthread_mutex_lock(&d->lock);
	d->stop = true;
	pthread_cond_signal(&d->cond);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->thread, NULL);
}

void engine_durable_destroy(struct durable *d)
{
	if (!d)
		return;
	engine_durable_stop(d);
	while (d->head) {
		struct item *it = d->head;

		d->head = it->next;
		free(it);
	}
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->cond);
	free(d);
}

static void push(struct durable *d, struct item *it)
{
	it->pos = nfs4r_store_position(d->eng->store);
	pthread_mutex_lock(&d->lock);
	*d->tail = it;
	d->tail = &it->next;
	pthread_cond_signal(&d->cond);
	pthread_mutex_unlock(&d->lock);
}

void engine_durable_send(struct durable *d, nfs4r_server_id to, const struct nfs4r_msg *msg)
{
	struct item *it = calloc(1, sizeof(*it));

	if (!it)
		abort();
	it->to = to;
	it->msg = *msg;
	push(d, it);
}

void engine_durable_begin_sync(struct durable *d)
{
	struct item *it = calloc(1, sizeof(*it));

	if (!it)
		return;
	it->sync_only = true;
	push(d, it);
}

void engine_durable_event(struct durable *d, uint32_t event, uint64_t num)
{
	struct item *it = calloc(1, sizeof(*it));

	if (!it)
		abort();
	it->event = event;
	it->num = num;
	push(d, it);
}

void engine_durable_call(struct durable *d, task_fn fn, void *arg)
{
	struct item *it = calloc(1, sizeof(*it));

	if (!it)
		abort();
	it->fn = fn;
	it->arg = arg;
	push(d, it);
}
