/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What an engine does in threads that wait for the disk (syncs, checkpoints) is done here in tasks: functions with a stack of their own, of which one runs at a
 * time and only until it waits. So the seed decides who comes first, and everything else happens meanwhile, crashes too.
 *
 * The store's condition variables lead here as well. Whoever waits in a task sleeps until it is woken or its second is over; whoever waits outside of one
 * (in the middle of a step of the core) lets the tasks of its server go on first.
 */
#include "sim.h"

#include "platter.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK (256u << 10)

struct task {
	struct task *next;
	struct server *v;
	uint64_t id, waits; /* waits: counts, to recognise the newest */
	ucontext_t here, world;
	void *stack;
	int (*run)(struct server *v, void *arg);
	void (*end)(struct server *v, void *arg, int result);
	void *arg;
	int result;
	bool over, woken, timed;
	const void *cond; /* that it waits for; NULL: for the disk */
};

static struct task *tasks, *running;
static void *spare;

bool task_running(void)
{
	return running != NULL;
}

static void body(void)
{
	struct task *t = running;

	t->result = t->run(t->v, t->arg);
	t->over = true;
	swapcontext(&t->here, &t->world);
}

static void leave(void)
{
	struct task *t = running;

	t->waits++;
	swapcontext(&t->here, &t->world);
}

static void drop(struct task *t)
{
	struct task **at = &tasks;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	if (spare)
		munmap(t->stack, STACK);
	else
		spare = t->stack;
	free(t);
}

/* On until it waits. */
static void go(struct task *t)
{
	struct task *outer = running;

	running = t;
	swapcontext(&t->world, &t->here);
	running = outer;
}

/* The end in an event, so that it never comes in the middle of a step. */
struct ended {
	struct server *v;
	void (*end)(struct server *v, void *arg, int result);
	void *arg;
};

static void tell_end(struct sim *s, void *arg, uint64_t generation, uint64_t result)
{
	struct ended *e = arg;

	if (e->v->up && e->v->generation == generation)
		e->end(e->v, e->arg, (int)result);
	else
		e->end(e->v, e->arg, -1);
	free(e);
}

static void go_on(struct task *t)
{
	struct ended *e;

	go(t);
	if (!t->over)
		return;
	e = calloc(1, sizeof(*e));
	*e = (struct ended){ t->v, t->end, t->arg };
	server_at_owned(t->v, t->v->sim->now, tell_end, e, free, t->v->generation, (uint64_t)t->result);
	drop(t);
}

static void wake(struct sim *s, void *arg, uint64_t id, uint64_t waits)
{
	for (struct task *t = tasks; t; t = t->next)
		if (t->v == arg && t->id == id && t->waits == waits) {
			go_on(t);
			return;
		}
}

static void set_stack(struct task *t)
{
	getcontext(&t->here);
	t->here.uc_stack.ss_sp = t->stack;
	t->here.uc_stack.ss_size = STACK;
	makecontext(&t->here, body, 0);
}

static void append(struct task *t)
{
	struct task **at = &tasks;

	while (*at)
		at = &(*at)->next;
	*at = t;
}

void task_start(struct server *v, int (*run)(struct server *v, void *arg), void (*end)(struct server *v, void *arg, int result), void *arg)
{
	struct task *t = calloc(1, sizeof(*t));

	t->v = v;
	t->id = ++v->sim->order;
	t->run = run;
	t->end = end;
	t->arg = arg;
	t->stack = spare ? spare : mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	spare = NULL;
	set_stack(t);
	append(t);
	go_on(t);
}

/* The oldest task of @v that can go on; with @cond, even one that waits for it. */
static struct task *next_of(const struct server *v)
{
	for (struct task *t = tasks; t; t = t->next)
		if (t->v == v && t != running && (!t->cond || t->woken))
			return t;
	return NULL;
}

void tasks_finish(struct server *v)
{
	struct task *t;

	for (;;) {
		t = next_of(v);
		if (!t) /* who waits for a condition that will not come: its second is over */
			for (t = tasks; t && t->v != v;)
				t = t->next;
		if (!t)
			return;
		go_on(t);
	}
}

void task_sleep(uint64_t us)
{
	struct task *t = running;

	server_at(t->v, t->v->sim->now + us, wake, t->v, t->id, t->waits + 1);
	leave();
}

/* ---- the store's condition variables ---- */

static int wait_in_task(pthread_cond_t *c, pthread_mutex_t *m, bool timed)
{
	struct task *t = running;

	t->cond = c;
	t->timed = timed;
	t->woken = false;
	if (timed)
		server_at(t->v, t->v->sim->now + SECOND, wake, t->v, t->id, t->waits + 1);
	pthread_mutex_unlock(m);
	leave();
	pthread_mutex_lock(m);
	t->cond = NULL;
	return t->woken ? 0 : ETIMEDOUT;
}

static int wait_outside(pthread_cond_t *c, pthread_mutex_t *m)
{
	struct server *v = store_of(c);
	struct task *t = v ? next_of(v) : NULL;

	for (struct task *o = tasks; !t && o; o = o->next) /* none can go on until somebody's second is over */
		if (o->v == v && o != running && o->timed)
			t = o;
	if (!t)
		return ETIMEDOUT;
	pthread_mutex_unlock(m);
	go_on(t);
	pthread_mutex_lock(m);
	return 0;
}

int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	int rc = running ? wait_in_task(c, m, false) : wait_outside(c, m);

	if (rc && !running)
		abort(); /* nobody could end this */
	return 0;
}

int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *until)
{
	return running ? wait_in_task(c, m, true) : ETIMEDOUT;
}

int pthread_cond_broadcast(pthread_cond_t *c)
{
	for (struct task *t = tasks; t; t = t->next)
		if (t->cond == c && !t->woken) {
			t->woken = true;
			server_at(t->v, t->v->sim->now, wake, t->v, t->id, t->waits);
		}
	return 0;
}
