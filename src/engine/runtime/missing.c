/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which objects are gone, or misplaced, in the exported directory itself, behind NFS. Whoever meets one notices it here and leaves it alone. resync/self_heal.c, which tells
 * the whole of it, brings it back on a thread of its own.
 */
#include <stdlib.h>

#include <uthash.h>

#include "engine/runtime/runtime.h"

#define OBJECTS_MAX 65536 /* open at a time; beyond, clients hear DELAY and nothing is begun */
#define PAUSE_MS 250 /* after a failure, before it is tried again */
#define AGAIN_MS 5000 /* after a failure, what other servers' updates need is not waited for */
#define SAID_MAX 20 /* lines of the log in SAID_MS */
#define SAID_MS 60000
#define WAIT_MS 1000
#define SWEEP_EVERY 1024

enum state {
	WAITING = 1, /* for a thread */
	WORKING,
	MISPLACED, /* waits for a thread that gives it its name; it is there, and used meanwhile */
	PLACING,
	LATER, /* its content is newer than its row */
	FAILED
};

struct object {
	struct nfs4r_oid oid;
	enum state state;
	uint64_t failed_ms;
	UT_hash_handle hh;
};

struct behind {
	task_fn mend;
	pthread_mutex_t lock;
	pthread_cond_t cond; /* an object has changed its state */
	struct object *objects; /* under lock */
	_Atomic uint32_t n;
	uint64_t said_ms, unsaid; /* under lock */
	uint32_t said;
	_Atomic uint64_t taken, failed;
};

struct behind *engine_missing_create(task_fn mend)
{
	struct behind *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->mend = mend;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->cond, NULL);
	return b;
}

void engine_missing_destroy(struct behind *b)
{
	struct object *o, *next;

	if (!b)
		return;
	HASH_ITER(hh, b->objects, o, next) {
		HASH_DEL(b->objects, o);
		free(o);
	}
	pthread_cond_destroy(&b->cond);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

void engine_missing_wake(struct nfs4r_engine *eng)
{
	pthread_mutex_lock(&eng->runtime.behind->lock);
	pthread_cond_broadcast(&eng->runtime.behind->cond);
	pthread_mutex_unlock(&eng->runtime.behind->lock);
}

/* ---- the table; b->lock held ---- */

static struct object *find(struct behind *b, const struct nfs4r_oid *oid)
{
	struct object *o;

	HASH_FIND(hh, b->objects, oid, sizeof(*oid), o);
	return o;
}

static void drop(struct behind *b, struct object *o)
{
	HASH_DEL(b->objects, o);
	b->n--;
	free(o);
}

/* Objects that could not be had, and were deleted since. */
static void sweep(struct nfs4r_engine *eng)
{
	struct object *o, *next;

	HASH_ITER(hh, eng->runtime.behind->objects, o, next)
		if (o->state == FAILED && nfs4r_store_row(eng->store, &o->oid, NULL) != NFS4R_KNOWN)
			drop(eng->runtime.behind, o);
}

/* NULL: there is no room. */
static struct object *add(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, enum state state)
{
	struct behind *b = eng->runtime.behind;
	struct object *o;

	if (b->n % SWEEP_EVERY == SWEEP_EVERY - 1)
		sweep(eng);
	o = b->n < OBJECTS_MAX ? calloc(1, sizeof(*o)) : NULL;
	if (!o)
		return NULL;
	o->oid = *oid;
	o->state = state;
	HASH_ADD(hh, b->objects, oid, sizeof(o->oid), o);
	b->n++;
	return o;
}

static void set_state(struct behind *b, struct object *o, enum state state)
{
	o->state = state;
	o->failed_ms = state == FAILED ? engine_now_ms() : 0;
	pthread_cond_broadcast(&b->cond);
}

static bool is_exact(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct nfs4r_fuzzy_object left;

	pthread_mutex_lock(&eng->lock);
	enum nfs4r_exactness x = nfs4r_core_exactness(eng->core, oid, &left);
	pthread_mutex_unlock(&eng->lock);
	return x != NFS4R_EXACT_LATER;
}

static enum state state_of(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct behind *b = eng->runtime.behind;
	struct object *o;
	enum state s = 0;

	if (!b->n)
		return 0;
	pthread_mutex_lock(&b->lock);
	o = find(b, oid);
	s = o ? o->state : 0;
	pthread_mutex_unlock(&b->lock);
	if (s != LATER || !is_exact(eng, oid))
		return s;
	pthread_mutex_lock(&b->lock);
	o = find(b, oid);
	if (o && o->state == LATER)
		drop(b, o);
	pthread_mutex_unlock(&b->lock);
	return 0;
}

enum behind_about engine_missing_about(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	switch (state_of(eng, oid)) {
	case WAITING:
	case WORKING:
		return BEHIND_OPEN;
	case LATER:
		return BEHIND_LATER;
	default:
		return BEHIND_NOT;
	}
}

/* ---- what is said ---- */

static bool may_say(struct behind *b, uint64_t *unsaid)
{
	uint64_t now = engine_now_ms();
	bool yes;

	pthread_mutex_lock(&b->lock);
	*unsaid = 0;
	if (now >= b->said_ms + SAID_MS) {
		b->said_ms = now;
		b->said = 0;
		*unsaid = b->unsaid;
		b->unsaid = 0;
	}
	yes = b->said < SAID_MAX;
	b->said += yes;
	b->unsaid += !yes;
	pthread_mutex_unlock(&b->lock);
	return yes;
}

void engine_missing_say(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, const char *text)
{
	char path[400];
	uint64_t unsaid;

	if (!may_say(eng->runtime.behind, &unsaid))
		return;
	if (unsaid)
		engine_log(eng, NFS4R_LOG_WARN, "volume %s: the same happened to %llu more objects; nfs4rctl status counts them", eng->cfg.volume_name, (unsigned long long)unsaid);
	engine_path_of(eng, oid, path, sizeof(path));
	engine_log(eng, NFS4R_LOG_WARN, "volume %s: '%.390s' %s", eng->cfg.volume_name, path, text);
}

/* ---- is it there ---- */

bool engine_missing_is(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct nfs4r_attrs a = { 0 };
	struct nfs4r_lhandle h;
	struct nfs4r_row row;

	if (nfs4r_store_row(eng->store, oid, &row) != NFS4R_KNOWN)
		return false;
	nfs4r_handle(eng, oid, &h);
	enum nfs4r_status st = h.len ? eng->ops->getattr(eng->ctx, &h, &a) : NFS4R_STALE;
	nfs4r_buf_put(a.acl);
	if (st != NFS4R_OK)
		return st == NFS4R_STALE || st == NFS4R_NOENT;
	/* Without a name only an open file keeps it alive. */
	return a.type != row.type || (a.mask & NFS4R_ATTR_NLINK && !a.nlink);
}

/* Can it come from anywhere? */
bool engine_missing_may_mend(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	bool may;

	if (nfs4r_oid_eq(oid, &eng->root) || engine_is_alone(eng) || engine_doubt_is_open(eng) || engine_import_is_open(eng, oid, NULL))
		return false;
	pthread_mutex_lock(&eng->lock);
	may = eng->runtime.ready && !eng->door.stopping && !eng->resync.repair.running;
	pthread_mutex_unlock(&eng->lock);
	return may;
}

/* ---- who mends it ---- */

/* A task takes what was queued. False: another thread was quicker. */
bool engine_missing_claim_queued(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	bool missing = engine_missing_is(eng, oid), ours = false;
	struct behind *b = eng->runtime.behind;
	struct object *o;

	pthread_mutex_lock(&b->lock);
	o = find(b, oid);
	if (o && (o->state == WAITING || o->state == MISPLACED)) {
		set_state(b, o, o->state == MISPLACED && !missing ? PLACING : WORKING);
		ours = true;
	}
	pthread_mutex_unlock(&b->lock);
	return ours;
}

/* The same at once, or after another thread: then it is looked at once more. */
enum nfs4r_status engine_missing_claim(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	enum nfs4r_status st = NFS4R_OK;
	struct behind *b = eng->runtime.behind;
	struct object *o;

	pthread_mutex_lock(&b->lock);
	while ((o = find(b, oid)) && (o->state == WORKING || o->state == PLACING) && !eng->door.stopping) {
		struct timespec ts = engine_after_us(WAIT_MS * 1000);

		pthread_cond_clockwait(&b->cond, &b->lock, CLOCK_MONOTONIC, &ts);
	}
	if (eng->door.stopping)
		st = NFS4R_SHUTDOWN;
	else if (o)
		set_state(b, o, WORKING);
	else if (!add(eng, oid, WORKING))
		st = NFS4R_NOMEM;
	pthread_mutex_unlock(&b->lock);
	return st;
}

void engine_missing_end(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, enum nfs4r_status st, bool newer, nfs4r_server_id took)
{
	struct behind *b = eng->runtime.behind;
	struct object *o;

	pthread_mutex_lock(&b->lock);
	o = find(b, oid);
	if (o && st == NFS4R_OK && newer)
		set_state(b, o, LATER);
	else if (o && st != NFS4R_OK)
		set_state(b, o, FAILED);
	else if (o)
		drop(b, o);
	pthread_cond_broadcast(&b->cond);
	pthread_mutex_unlock(&b->lock);
	b->taken += st == NFS4R_OK && took;
	b->failed += st != NFS4R_OK;
	pthread_mutex_lock(&eng->lock);
	engine_look_soon(eng); /* reads wait for it */
	pthread_mutex_unlock(&eng->lock);
}

void engine_missing_drop(struct nfs4r_engine *eng, void *arg)
{
	free(arg);
}

static bool queue(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct nfs4r_oid *copy = malloc(sizeof(*copy));

	if (!copy)
		return false;
	*copy = *oid;
	engine_pool_run(eng->runtime.menders, eng->runtime.behind->mend, copy);
	return true;
}

/* In the table, and queued if it was not. @since: how long ago it failed last, UINT64_MAX: it did not. */
static void enqueue(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, enum state state, uint64_t *since)
{
	struct behind *b = eng->runtime.behind;
	struct object *o;
	bool begin = false;

	*since = UINT64_MAX;
	pthread_mutex_lock(&b->lock);
	o = find(b, oid);
	if (o && o->state == FAILED) {
		*since = engine_now_ms() - o->failed_ms;
		begin = *since >= PAUSE_MS;
		if (begin)
			set_state(b, o, state);
	} else if (o && o->state == LATER) {
		set_state(b, o, state); /* once more */
		begin = true;
	} else if (!o) {
		o = add(eng, oid, state);
		begin = o != NULL;
	}
	if (begin && !queue(eng, oid))
		drop(b, o);
	pthread_mutex_unlock(&b->lock);
}

/* ---- noticed ---- */

bool engine_missing_notice(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	uint64_t since;

	if (engine_missing_about(eng, oid) == BEHIND_OPEN)
		return true;
	if (!engine_missing_may_mend(eng, oid) || !engine_missing_is(eng, oid))
		return false;
	enqueue(eng, oid, WAITING, &since);
	return true;
}

bool nfs4r_is_gone_here(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	return engine_missing_notice(eng, oid);
}

bool nfs4r_comes_back(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	return engine_missing_about(eng, oid) != BEHIND_NOT;
}

void engine_missing_misplaced(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	uint64_t since;

	enqueue(eng, oid, MISPLACED, &since);
}

/* ---- updates ---- */

bool engine_missing_blocks(struct nfs4r_engine *eng, const struct nfs4r_entry *e)
{
	for (uint32_t i = 0; eng->runtime.behind->n && i < e->nparts; i++)
		if (engine_missing_about(eng, &e->parts[i].oid) == BEHIND_OPEN)
			return true;
	return false;
}

void engine_missing_wait(struct nfs4r_engine *eng, const struct nfs4r_entry *e)
{
	uint64_t until = engine_now_ms() + WAIT_MS;

	while (engine_missing_blocks(eng, e) && !eng->door.stopping && engine_now_ms() < until) {
		struct timespec ts = engine_after_us(20000);

		pthread_mutex_lock(&eng->runtime.behind->lock);
		pthread_cond_clockwait(&eng->runtime.behind->cond, &eng->runtime.behind->lock, CLOCK_MONOTONIC, &ts);
		pthread_mutex_unlock(&eng->runtime.behind->lock);
	}
}

/* A name that the update takes away does not lead to its object, which is there: that gets its names back. True: soon; *hopeless: it was tried a moment ago. */
static bool gets_names(struct nfs4r_engine *eng, const struct nfs4r_entry *e, bool *hopeless)
{
	bool any = false;

	for (uint32_t i = 0; i < e->nparts; i++) {
		uint64_t since;

		if ((e->parts[i].effect != NFS4R_EFF_LINKS && e->parts[i].effect != NFS4R_EFF_PARENT) || !engine_missing_may_mend(eng, &e->parts[i].oid))
			continue;
		enqueue(eng, &e->parts[i].oid, MISPLACED, &since);
		*hopeless |= since < AGAIN_MS;
		any = true;
	}
	return any;
}

enum nfs4r_status engine_missing_failed(struct nfs4r_engine *eng, const struct nfs4r_entry *e, const struct nfs4r_op *op, enum nfs4r_status st)
{
	bool missing = false, hopeless = false;

	if (st != NFS4R_STALE && st != NFS4R_NOENT)
		return st;
	for (uint32_t i = 0; i < e->nparts; i++) {
		const struct nfs4r_oid *oid = &e->parts[i].oid;
		uint64_t since = UINT64_MAX;

		if (e->parts[i].effect == NFS4R_EFF_CREATE || !engine_missing_may_mend(eng, oid) || !engine_missing_is(eng, oid))
			continue;
		enqueue(eng, oid, WAITING, &since);
		missing = true;
		hopeless |= since < AGAIN_MS;
	}
	if (!missing && (st != NFS4R_NOENT || !gets_names(eng, e, &hopeless)))
		return st;
	return hopeless && !op ? st : NFS4R_DELAY; /* who applies it says that it cannot */
}

/* ---- for status ---- */

void engine_missing_count(struct nfs4r_engine *eng, uint64_t *taken, uint64_t *failed, uint64_t *waiting)
{
	*taken = eng->runtime.behind->taken;
	*failed = eng->runtime.behind->failed;
	*waiting = eng->runtime.behind->n;
}
