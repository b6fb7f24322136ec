/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What must not run on the transport's thread, because it blocks (a handshake that asks a KDC) or because it costs much (encryption of file data).
 *
 * Happy path: a work is queued with a crew, one of the crew's threads runs it, and the transport's thread calls what is to be done afterwards. The threads are made when
 * there is work for them, so that a transport of flavour `none` has none.
 *
 * There are three crews, so that nothing waits behind what waits for somebody else. The crew of calls this server makes may wait for a KDC that is away. The
 * crew of calls that came in has what it needs here. Records of connections that stand have theirs. libuv's own pool is not used: it has four threads for
 * everything, host names included.
 *
 * Failure: no thread can be made: the work runs on the transport's thread.
 *
 * Invariants: `done` of every work is called, once, on the transport's thread. After rpc_works_stop() none is left and no thread runs.
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "rpc/rpc_internal.h"

struct crew {
	struct rpc_works *works;
	pthread_cond_t more;
	struct rpc_work *head, *tail;
	uint32_t max, n, idle, queued;
	pthread_t thread[RPC_CREW_MAX];
};

struct rpc_works {
	struct nfs4r_rpc *rpc;
	pthread_mutex_t lock;
	bool stopping;
	struct rpc_work *done, *done_tail;
	struct crew crew[RPC_CREWS];
};

static void put(struct rpc_work **head, struct rpc_work **tail, struct rpc_work *w)
{
	w->next = NULL;
	if (*head)
		(*tail)->next = w;
	else
		*head = w;
	*tail = w;
}

static struct rpc_work *take(struct rpc_work **head)
{
	struct rpc_work *w = *head;

	if (w)
		*head = w->next;
	return w;
}

static void *crew_run(void *arg)
{
	struct crew *crew = arg;
	struct rpc_works *works = crew->works;
	struct rpc_work *w;

	pthread_mutex_lock(&works->lock);
	while (!works->stopping) {
		w = take(&crew->head);
		if (!w) {
			crew->idle++;
			pthread_cond_wait(&crew->more, &works->lock);
			crew->idle--;
			continue;
		}
		crew->queued--;
		pthread_mutex_unlock(&works->lock);
		w->run(w);
		pthread_mutex_lock(&works->lock);
		put(&works->done, &works->done_tail, w);
		if (!works->stopping)
			uv_async_send(&works->rpc->wake);
	}
	pthread_mutex_unlock(&works->lock);
	return NULL;
}

static void thread_make(struct crew *crew)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&crew->thread[crew->n], NULL, crew_run, crew);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!err)
		pthread_setname_np(crew->thread[crew->n++], "nfs4r_rpc_work");
}

static struct rpc_works *works_new(struct nfs4r_rpc *rpc)
{
	struct rpc_works *works = calloc(1, sizeof(*works));
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (!works)
		return NULL;
	works->rpc = rpc;
	pthread_mutex_init(&works->lock, NULL);
	for (int i = 0; i < RPC_CREWS; i++) {
		works->crew[i].works = works;
		pthread_cond_init(&works->crew[i].more, NULL);
	}
	works->crew[RPC_CREW_CALLS].max = 2;
	works->crew[RPC_CREW_CALLED].max = 1;
	works->crew[RPC_CREW_RECORDS].max = cores < 1 ? 1 : cores > RPC_CREW_MAX ? RPC_CREW_MAX :
										   (uint32_t)cores;
	return works;
}

/* True: somebody will take it. */
static bool hire(struct rpc_works *works, struct rpc_work *w, enum rpc_crew which)
{
	struct crew *crew = &works->crew[which];
	bool any;

	pthread_mutex_lock(&works->lock);
	put(&crew->head, &crew->tail, w);
	if (++crew->queued > crew->idle && crew->n < crew->max)
		thread_make(crew);
	any = crew->n > 0;
	if (any) {
		pthread_cond_signal(&crew->more);
	} else {
		crew->head = NULL;
		crew->queued = 0;
	}
	pthread_mutex_unlock(&works->lock);
	return any;
}

void rpc_work_begin(struct nfs4r_rpc *rpc, struct rpc_work *w, enum rpc_crew which)
{
	if (!rpc->works)
		rpc->works = works_new(rpc);
	if (rpc->works && hire(rpc->works, w, which))
		return;
	w->run(w);
	w->done(w);
}

void rpc_works_done(struct nfs4r_rpc *rpc)
{
	struct rpc_work *list, *w;

	if (!rpc->works)
		return;
	pthread_mutex_lock(&rpc->works->lock);
	list = rpc->works->done;
	rpc->works->done = NULL;
	pthread_mutex_unlock(&rpc->works->lock);
	while ((w = take(&list)) != NULL)
		w->done(w);
}

void rpc_works_stop(struct nfs4r_rpc *rpc)
{
	struct rpc_works *works = rpc->works;
	struct rpc_work *w;

	if (!works)
		return;
	pthread_mutex_lock(&works->lock);
	works->stopping = true;
	for (int i = 0; i < RPC_CREWS; i++)
		pthread_cond_broadcast(&works->crew[i].more);
	pthread_mutex_unlock(&works->lock);
	for (int i = 0; i < RPC_CREWS; i++)
		for (uint32_t k = 0; k < works->crew[i].n; k++)
			pthread_join(works->crew[i].thread[k], NULL);
	rpc_works_done(rpc);
	for (int i = 0; i < RPC_CREWS; i++) {
		while ((w = take(&works->crew[i].head)) != NULL)
			w->done(w); /* it has not run: nobody looks at what it would have left */
		pthread_cond_destroy(&works->crew[i].more);
	}
	pthread_mutex_destroy(&works->lock);
	free(works);
	rpc->works = NULL;
}
