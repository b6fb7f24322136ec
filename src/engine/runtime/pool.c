/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A few threads that work off a FIFO of tasks. What runs here may block on the local disk and on update
 * locks, never on a peer: what serves peers must not wait for what serves clients (ARCHITECTURE.md, "Threads").
 *
 * Waking a thread costs more than most tasks. A thread that is about to end its own task says so, and then the next task
 * that it queues wakes nobody: entries of one directory, each of which lets the next one go, stay on one thread.
 *
 * Nothing runs before the whole server has started: a task may use the local file system, which may wait for that (FSAL_REPL/context.c), and a start that
 * fails waits for these threads.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine/runtime/runtime.h"

struct task {
	struct task *next;
	task_fn fn, drop; /* drop: in place of fn, when @of is gone; NULL: fn runs all the same */
	void *arg;
	nfs4r_server_id of;
};

struct pool {
	struct nfs4r_engine *eng;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct task *head, **tail;
	size_t queued;
	unsigned idle, called; /* threads that wait; those of them that have been woken and did not run yet */
	bool begun, stop;
	task_fn drop;
	unsigned nthreads;
	pthread_t threads[];
};

static _Thread_local struct pool *returning; /* this thread of it comes back for one more task by itself */

static void *work(void *arg)
{
	struct pool *p = arg;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		while ((!p->head || !p->begun) && !p->stop) {
			p->idle++;
			pthread_cond_wait(&p->cond, &p->lock);
			p->idle--;
			if (p->called)
				p->called--;
		}
		struct task *t = p->begun ? p->head : NULL;
		if (!t)
			break;
		p->head = t->next;
		if (!p->head)
			p->tail = &p->head;
		p->queued--;
		pthread_mutex_unlock(&p->lock);
		t->fn(p->eng, t->arg);
		returning = NULL;
		free(t);
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

struct pool *engine_pool_create(struct nfs4r_engine *eng, const char *name, unsigned threads, task_fn drop)
{
	struct pool *p = calloc(1, sizeof(*p) + threads * sizeof(p->threads[0]));

	if (!p)
		return NULL;
	p->eng = eng;
	p->drop = drop;
	p->tail = &p->head;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->cond, NULL);
	for (unsigned i = 0; i < threads; i++) {
		char label[24];

		if (pthread_create(&p->threads[i], NULL, work, p) != 0) {
			engine_pool_destroy(p);
			return NULL;
		}
		p->nthreads++;
		snprintf(label, sizeof(label), "%.10s%u", name, i);
		label[15] = '\0'; /* the kernel's limit */
		pthread_setname_np(p->threads[i], label);
	}
	return p;
}

void engine_pool_begin(struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	p->begun = true;
	p->called = p->idle;
	pthread_cond_broadcast(&p->cond);
	pthread_mutex_unlock(&p->lock);
}

void engine_pool_returns(struct pool *p)
{
	returning = p;
}

void engine_pool_run(struct pool *p, task_fn fn, void *arg)
{
	engine_pool_run_for(p, 0, fn, NULL, arg);
}

void engine_pool_forget(struct pool *p, nfs4r_server_id of)
{
	struct task *gone = NULL, **at;

	pthread_mutex_lock(&p->lock);
	for (at = &p->head; *at;) {
		struct task *t = *at;

		if (t->of != of || !t->drop) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		t->next = gone;
		gone = t;
		p->queued--;
	}
	p->tail = at;
	pthread_mutex_unlock(&p->lock);
	while (gone) {
		struct task *t = gone;

		gone = t->next;
		t->drop(p->eng, t->arg);
		free(t);
	}
}

void engine_pool_run_for(struct pool *p, nfs4r_server_id of, task_fn fn, task_fn drop, void *arg)
{
	struct task *t = malloc(sizeof(*t));
	bool call = returning != p;

	if (!call)
		returning = NULL;

	if (!t)
		abort(); /* a lost task would be a lost answer; the process restarts and replays its journal */
	*t = (struct task){ .fn = fn, .drop = drop, .arg = arg, .of = of };
	pthread_mutex_lock(&p->lock);
	*p->tail = t;
	p->tail = &t->next;
	p->queued++;
	call = call && p->idle > p->called;
	p->called += call;
	pthread_mutex_unlock(&p->lock);
	if (call) /* not under the lock, which the thread would find taken */
		pthread_cond_signal(&p->cond);
}

size_t engine_pool_queued(struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	size_t n = p->queued;
	pthread_mutex_unlock(&p->lock);
	return n;
}

void engine_pool_stop(struct pool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->cond);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->nthreads; i++)
		pthread_join(p->threads[i], NULL);
	p->nthreads = 0;
}

void engine_pool_destroy(struct pool *p)
{
	if (!p)
		return;
	engine_pool_stop(p);
	while (p->head) { /* it never began, or this came after the stop; nobody waits for it */
		struct task *t = p->head;

		p->head = t->next;
		if (t->drop)
			t->drop(p->eng, t->arg);
		else if (p->drop)
			p->drop(p->eng, t->arg);
		free(t);
	}
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->cond);
	free(p);
}
