/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where a read goes (control 6). Nobody else controls the object: the caller serves it locally. Another
 * server does: ask it; NOT_PRIMARY means ask again who does, without that one. An object that is not here yet is asked for at
 * the server that made it (control 6.5); nothing is ever proposed for it.
 *
 * A question that nobody can be asked now, since the owner cannot be reached or there is no lease, waits and is decided again when the core has made a step; so
 * does one whose connection is lost. Who takes over mostly does so within op_wait_ms, and then the client need not come back; its own waiting doubles each time.
 * After op_wait_ms a question ends as DELAY.
 * A question that is under way when its owner announces or ends the control that it was asked for (control 7.10) is answered from the copy here, and what comes for it later is not looked at.
 * Nothing is answered without a lease (lease.c): all that a client reads passes engine_route_read(). What others ask of this server: server.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/shape.h"
#include "engine/read/read_int.h"

struct ask { /* one read under way to a peer */
	struct ask *next;
	struct nfs4r_read *rd;
	nfs4r_read_done_fn done;
	void *arg;
	nfs4r_server_id asked;
	nfs4r_servers excluded;
	nfs4r_server_id only; /* no other than this one; 0: by control */
	uint64_t deadline_ms;
	enum nfs4r_status end; /* status of a question that was not answered */
	bool local;
	struct read_promise promise;
	bool bytes; /* no promise this time */
};

#define BUCKETS 1024

struct reads {
	pthread_mutex_t lock;
	pthread_cond_t cond; /* copy_bytes became less */
	uint64_t copy_bytes; /* asked for by read_copy() and not here yet */
	bool closed; /* the engine stops: nothing is asked any more, for nobody would end it */
	struct ask *_Atomic waiting; /* for somebody to ask */
	_Atomic uint32_t asked; /* under way to peers */
	uint64_t next_id; /* begins anywhere: a late answer to a question of this server's former life must not be that to one of now */
	struct ask *bucket[BUCKETS];
};

struct reads *read_router_create(struct nfs4r_engine *eng)
{
	struct reads *r = calloc(1, sizeof(*r));

	if (!r || getrandom(&r->next_id, sizeof(r->next_id), 0) != sizeof(r->next_id)) {
		free(r);
		return NULL;
	}
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->cond, NULL);
	return r;
}

void read_router_destroy(struct reads *r)
{
	if (!r)
		return;
	pthread_cond_destroy(&r->cond);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static struct ask **slot(struct reads *r, uint64_t id)
{
	return &r->bucket[id % BUCKETS];
}

static struct ask *take(struct reads *r, uint64_t id, nfs4r_server_id from)
{
	struct ask *a = NULL;

	pthread_mutex_lock(&r->lock);
	for (struct ask **p = slot(r, id); *p; p = &(*p)->next)
		if ((*p)->rd->id == id && (*p)->asked == from) {
			a = *p;
			*p = a->next;
			r->asked--;
			break;
		}
	pthread_mutex_unlock(&r->lock);
	return a;
}

static void complete(struct nfs4r_engine *eng, void *arg)
{
	struct ask *a = arg;

	if (!a->local && a->end != NFS4R_OK)
		a->rd->status = a->end;
	a->done(a->arg, a->rd, a->local);
	free(a);
}

void read_router_performed(struct nfs4r_engine *eng)
{
	if (eng->read.reads->waiting)
		engine_look_soon(eng);
}

/* Nobody could be asked when the core had made @steps. True: it waits for read_router_again(), and `a` is no longer ours. */
static bool wait_for_owner(struct nfs4r_engine *eng, struct ask *a, uint64_t steps)
{
	struct reads *r = eng->read.reads;
	bool waits;

	a->end = NFS4R_DELAY;
	a->excluded = 0;
	pthread_mutex_lock(&r->lock);
	waits = !a->only && !r->closed && eng->runtime.ready && engine_now_ms() < a->deadline_ms;
	if (waits) {
		a->next = r->waiting;
		r->waiting = a;
	}
	pthread_mutex_unlock(&r->lock);
	if (waits && eng->runtime.step.count != steps) { /* one that did not see it wait */
		pthread_mutex_lock(&eng->lock);
		engine_look_soon(eng);
		pthread_mutex_unlock(&eng->lock);
	}
	return waits;
}

static bool wait_for_promise(struct nfs4r_engine *eng, struct ask *a, uint64_t steps)
{
	a->deadline_ms = a->promise.until_ms + eng->cfg.op_wait_ms;
	return wait_for_owner(eng, a, steps);
}

/* Decide (again) and send. True: the question is on its way or waits, and `a` is no longer ours. */
static bool ask(struct nfs4r_engine *eng, struct ask *a)
{
	struct reads *r = eng->read.reads;
	uint64_t steps = eng->runtime.step.count;
	nfs4r_server_id to = a->only ? a->only : engine_route_read(eng, a->rd, a->excluded);
	struct nfs4r_msg *m;

	a->local = to == eng->cfg.rpc.self;
	a->end = NFS4R_OK;
	if (a->local)
		return false;
	if (to == 0)
		return wait_for_owner(eng, a, steps);
	if (a->promise.version ? a->promise.by == to : !a->bytes && !a->only && read_promise_known(eng, a->rd, to, &a->promise)) {
		if (read_promise_valid(eng, a->rd, &a->promise))
			return false;
		if (read_promise_may_be_valid(eng, &a->promise))
			return wait_for_promise(eng, a, steps);
		read_promise_broken(eng, &a->promise);
		a->bytes = true;
		a->deadline_ms = engine_now_ms() + eng->cfg.op_wait_ms;
	}
	m = calloc(1, sizeof(*m));
	if (!m) {
		a->end = NFS4R_NOMEM;
		return false;
	}
	m->type = NFS4R_MSG_READ;
	m->read = a->rd;
	if (!a->only)
		a->rd->cookie = read_promise_asked(eng, a->rd, to, &a->promise, a->bytes);
	pthread_mutex_lock(&r->lock);
	a->asked = to;
	a->rd->id = ++r->next_id;
	uint64_t id = a->rd->id;
	a->next = *slot(r, id);
	*slot(r, id) = a;
	r->asked++;
	/* under the lock: rd may not go while it is encoded */
	enum nfs4r_status st = r->closed ? NFS4R_SHUTDOWN : nfs4r_rpc_send(eng->rpc, to, NFS4R_LANE_REQUEST, m);
	if (st != NFS4R_OK) {
		*slot(r, id) = a->next;
		r->asked--;
	}
	pthread_mutex_unlock(&r->lock);
	free(m);
	return st == NFS4R_OK || wait_for_owner(eng, a, steps);
}

void nfs4r_read_async(struct nfs4r_engine *eng, struct nfs4r_read *rd, nfs4r_read_done_fn done, void *arg)
{
	struct ask *a;

	if (eng->runtime.fence) {
		rd->status = NFS4R_DELAY;
		done(arg, rd, false);
		return;
	}
	if (engine_route_read(eng, rd, 0) == eng->cfg.rpc.self) { /* the usual case costs no memory */
		__atomic_add_fetch(&eng->read.local, 1, __ATOMIC_RELAXED);
		done(arg, rd, true);
		return;
	}
	a = calloc(1, sizeof(*a));
	if (!a) {
		rd->status = NFS4R_NOMEM;
		done(arg, rd, false);
		return;
	}
	__atomic_add_fetch(&eng->read.remote, 1, __ATOMIC_RELAXED);
	a->rd = rd;
	a->done = done;
	a->arg = arg;
	a->deadline_ms = engine_now_ms() + eng->cfg.op_wait_ms;
	if (!ask(eng, a))
		complete(eng, a);
}

struct waiter {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool over, local;
};

static void wake(void *arg, struct nfs4r_read *rd, bool local)
{
	struct waiter *w = arg;

	pthread_mutex_lock(&w->lock);
	w->local = local;
	w->over = true;
	pthread_cond_signal(&w->cond);
	pthread_mutex_unlock(&w->lock);
}

/*
 * An object that this server made, or one that is none any more, and that is not known here although all of its log is: a server that may answer has crossed its end,
 * or has it to the last entry. It was undone, or its handle is of an older life of the volume.
 */
static bool is_nowhere(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	nfs4r_server_id creator = nfs4r_oid_creator(oid);
	uint32_t era = engine_lease_era(eng);

	if (creator != eng->cfg.rpc.self && (eng->membership.servers & NFS4R_BIT(creator)))
		return false;
	return eng->runtime.ready && engine_may_answer(eng, era) && nfs4r_store_row(eng->store, oid, NULL) == NFS4R_NOT_YET && engine_may_answer(eng, era);
}

enum nfs4r_status nfs4r_read(struct nfs4r_engine *eng, struct nfs4r_read *rd, bool *local)
{
	struct waiter w = { .lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER };
	nfs4r_server_id to = engine_route_read(eng, rd, 0);
	enum waiting_kind kind = engine_waiting_kind(eng, to);
	uint64_t begun_ms = engine_now_ms();

	*local = false;
	if (eng->runtime.fence)
		return rd->status = NFS4R_DELAY;
	if (to == eng->cfg.rpc.self) { /* the usual case */
		__atomic_add_fetch(&eng->read.local, 1, __ATOMIC_RELAXED);
		*local = true;
		return NFS4R_OK;
	}
	if (to == 0 && is_nowhere(eng, &rd->oid))
		return rd->status = NFS4R_STALE;
	if (!engine_waiting_begin(eng, kind, &rd->oid))
		return rd->status = NFS4R_DELAY;
	nfs4r_read_async(eng, rd, wake, &w);
	pthread_mutex_lock(&w.lock);
	while (!w.over)
		pthread_cond_wait(&w.cond, &w.lock);
	pthread_mutex_unlock(&w.lock);
	engine_waiting_end(eng, kind);
	if (!w.local && rd->status == NFS4R_DELAY && engine_now_ms() >= begun_ms + eng->cfg.op_wait_ms)
		engine_waiting_vain(eng, to, &rd->oid);
	*local = w.local;
	return w.local ? NFS4R_OK : rd->status;
}

#define COPY_WAIT_MS 10000
#define COPY_BYTES_MAX (8u << 20) /* on their way at a time: enough for a link of 1 Gbit/s and 60 ms, and no more than it carries in a moment */

static void copy_bytes_take(struct reads *r, uint64_t n)
{
	pthread_mutex_lock(&r->lock);
	while (r->copy_bytes && r->copy_bytes + n > COPY_BYTES_MAX)
		pthread_cond_wait(&r->cond, &r->lock);
	r->copy_bytes += n;
	pthread_mutex_unlock(&r->lock);
}

static void copy_bytes_drop(struct reads *r, uint64_t n)
{
	pthread_mutex_lock(&r->lock);
	r->copy_bytes -= n;
	pthread_cond_broadcast(&r->cond);
	pthread_mutex_unlock(&r->lock);
}

enum nfs4r_status read_copy(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_read *rd)
{
	struct waiter w = { .lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER };
	struct ask *a = calloc(1, sizeof(*a));
	uint64_t bytes = rd->type == NFS4R_RD_READ ? rd->length : 0;

	if (!a)
		return NFS4R_NOMEM;
	rd->copy = true;
	copy_bytes_take(eng->read.reads, bytes);
	*a = (struct ask){ .rd = rd, .done = wake, .arg = &w, .only = from, .deadline_ms = engine_now_ms() + COPY_WAIT_MS };
	if (!ask(eng, a))
		complete(eng, a);
	pthread_mutex_lock(&w.lock);
	while (!w.over)
		pthread_cond_wait(&w.cond, &w.lock);
	pthread_mutex_unlock(&w.lock);
	copy_bytes_drop(eng->read.reads, bytes);
	return rd->status;
}

/* ---- answers ---- */

static void copy_answer(struct nfs4r_read *to, struct nfs4r_read *from)
{
	read_router_forget_answer(to);
	to->status = from->status;
	to->result = from->result;
	to->attrs = from->attrs;
	to->data = from->data;
	to->eof = from->eof;
	to->result_offset = from->result_offset;
	to->verifier = from->verifier;
	to->ndirents = from->ndirents;
	to->dirents = from->dirents;
	to->row = from->row;
	to->nlocks = from->nlocks;
	to->locks = from->locks;
	to->nclients = from->nclients;
	to->clients = from->clients;
	from->attrs.acl = NULL;
	from->data = NULL;
	from->dirents = NULL;
	from->ndirents = 0;
	from->locks = NULL;
	from->nlocks = 0;
	from->clients = NULL;
	from->nclients = 0;
}

static void ask_again(struct nfs4r_engine *eng, void *arg)
{
	if (!ask(eng, arg))
		complete(eng, arg);
}

static bool is_older_here(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, nfs4r_version version)
{
	struct nfs4r_row row;

	return version && (nfs4r_store_row(eng->store, oid, &row) != NFS4R_KNOWN || row.version < version);
}

/* Control 6.9: what the owner says is news to the core when the copy here is older, or when it is no owner any more. How many of @ev, which has room for two. */
static uint32_t news(struct nfs4r_engine *eng, nfs4r_server_id from, const struct nfs4r_read *asked, const struct nfs4r_read *answer, struct nfs4r_event *ev)
{
	nfs4r_version attrs = answer->status == NFS4R_OK && answer->attrs.mask & NFS4R_ATTR_VERSION ? answer->attrs.version : 0;
	nfs4r_version version = asked->type == NFS4R_RD_GETATTR ? attrs : read_router_version_said(asked, answer);
	uint32_t n = 0;

	if (answer->status == NFS4R_NOT_PRIMARY || is_older_here(eng, &asked->oid, version))
		ev[n++] = (struct nfs4r_event){ .type = NFS4R_EV_OWNER_VERSION, .peer = from, .oid = asked->oid, .version = version };
	if (asked->type == NFS4R_RD_LOOKUP && is_older_here(eng, &answer->result, attrs))
		ev[n++] = (struct nfs4r_event){ .type = NFS4R_EV_OWNER_VERSION, .peer = from, .oid = answer->result, .version = attrs };
	return n;
}

/* Before a client hears @answer. What could not be noted it does not hear. */
static void note_owner_version(struct nfs4r_engine *eng, nfs4r_server_id from, const struct nfs4r_read *asked, struct nfs4r_read *answer)
{
	struct nfs4r_event ev[2];
	uint32_t n = news(eng, from, asked, answer, ev);

	if (!n)
		return;
	pthread_mutex_lock(&eng->lock);
	for (uint32_t i = 0; i < n && !eng->runtime.halt.why[0]; i++)
		engine_step(eng, &ev[i]);
	if (eng->runtime.halt.why[0])
		answer->status = NFS4R_DELAY;
	pthread_mutex_unlock(&eng->lock);
}

/* It is no answer: the question is asked again, elsewhere or when that server is back. */
static void blame(struct nfs4r_engine *eng, struct ask *a, nfs4r_server_id from, const char *why)
{
	char text[NFS4R_WHY];

	snprintf(text, sizeof(text), "sent an invalid answer to a read (type %u): %s", a->rd->type, why);
	engine_pool_run(eng->runtime.executors, ask_again, a);
	nfs4r_rpc_blame(eng->rpc, from, text);
}

void read_router_answer(struct nfs4r_engine *eng, nfs4r_server_id from, struct nfs4r_msg *m)
{
	struct ask *a = take(eng->read.reads, m->read->id, from);
	const char *why = a ? nfs4r_shape_of_answer_to(a->rd, m->read) : NULL;

	if (why) {
		blame(eng, a, from, why);
		nfs4r_msg_fini(m);
		free(m);
		return;
	}
	engine_waiting_heard(eng, from);
	if (a && !a->only)
		note_owner_version(eng, from, a->rd, m->read);
	if (a && m->read->status == NFS4R_NOT_PRIMARY && !a->only) {
		a->excluded |= NFS4R_BIT(from);
		engine_pool_run(eng->runtime.executors, ask_again, a);
	} else if (a && !a->only && read_promise_taken(eng, from, a->rd, m->read, &a->promise)) {
		engine_pool_run(eng->runtime.executors, ask_again, a);
	} else if (a) {
		copy_answer(a->rd, m->read);
		a->rd->server = from;
		a->end = NFS4R_OK;
		/* A sleeping thread is woken from here; anything longer runs on an executor. */
		if (a->done == wake)
			complete(eng, a);
		else
			engine_pool_run(eng->runtime.executors, complete, a);
	}
	nfs4r_msg_fini(m);
	free(m);
}

/* Those that were asked of @peer, or are overdue, in a list of their own. */
static struct ask *take_some(struct reads *r, nfs4r_server_id peer, uint64_t before_ms)
{
	struct ask *taken = NULL;

	for (size_t i = 0; i < BUCKETS; i++) {
		struct ask **p = &r->bucket[i];

		while (*p) {
			struct ask *a = *p;

			if (a->asked != peer && a->deadline_ms > before_ms) {
				p = &a->next;
				continue;
			}
			*p = a->next;
			r->asked--;
			a->next = taken;
			taken = a;
		}
	}
	return taken;
}

static void run_all(struct nfs4r_engine *eng, struct ask *list, void (*fn)(struct nfs4r_engine *, void *))
{
	while (list) {
		struct ask *a = list;

		list = a->next;
		a->end = NFS4R_DELAY;
		engine_pool_run(eng->runtime.executors, fn, a);
	}
}

void read_router_peer_down(struct nfs4r_engine *eng, nfs4r_server_id peer)
{
	struct ask *lost;

	pthread_mutex_lock(&eng->read.reads->lock);
	lost = take_some(eng->read.reads, peer, 0);
	pthread_mutex_unlock(&eng->read.reads->lock);
	run_all(eng, lost, ask_again); /* mostly it waits then: the same owner, who cannot be reached */
}

void read_router_expire(struct nfs4r_engine *eng, uint64_t now)
{
	struct reads *r = eng->read.reads;
	struct ask *late, *waiting = NULL;

	pthread_mutex_lock(&r->lock);
	late = take_some(r, 0, now);
	if (now == UINT64_MAX) {
		r->closed = true;
		waiting = r->waiting;
		r->waiting = NULL;
	}
	pthread_mutex_unlock(&r->lock);
	run_all(eng, late, complete);
	run_all(eng, waiting, complete);
}

void read_router_again(struct nfs4r_engine *eng)
{
	struct reads *r = eng->read.reads;
	struct ask *waiting;

	pthread_mutex_lock(&r->lock);
	waiting = r->waiting;
	r->waiting = NULL;
	pthread_mutex_unlock(&r->lock);
	run_all(eng, waiting, ask_again);
}

/* ---- what may be read here by now ---- */

#define LOOK_MAX 64 /* questions looked at for one change */

/* Those that were asked of @owners, not more than LOOK_MAX of them: what engine_route_read() needs to know, and to whom. */
static uint32_t asked_of(struct reads *r, nfs4r_servers owners, struct nfs4r_read *rd, nfs4r_servers *excluded, nfs4r_server_id *asked)
{
	uint32_t n = 0;

	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < BUCKETS && n < LOOK_MAX && n < r->asked; i++)
		for (struct ask *a = r->bucket[i]; a && n < LOOK_MAX; a = a->next) {
			if (a->only || !(owners & NFS4R_BIT(a->asked)))
				continue;
			rd[n] = (struct nfs4r_read){ .type = a->rd->type, .oid = a->rd->oid, .id = a->rd->id };
			excluded[n] = a->excluded;
			asked[n++] = a->asked;
		}
	pthread_mutex_unlock(&r->lock);
	return n;
}

static void look_here(struct nfs4r_engine *eng, void *arg)
{
	nfs4r_servers excluded[LOOK_MAX], owners;
	nfs4r_server_id asked[LOOK_MAX];
	struct nfs4r_read rd[LOOK_MAX];
	struct ask *a;

	pthread_mutex_lock(&eng->lock);
	owners = eng->read.here;
	eng->read.here = 0;
	pthread_mutex_unlock(&eng->lock);

	uint32_t n = asked_of(eng->read.reads, owners, rd, excluded, asked);

	for (uint32_t i = 0; i < n; i++)
		if (engine_route_read(eng, &rd[i], excluded[i]) == eng->cfg.rpc.self && (a = take(eng->read.reads, rd[i].id, asked[i])))
			ask_again(eng, a);
}

void read_router_here(struct nfs4r_engine *eng, nfs4r_server_id owner)
{
	if (!eng->read.reads->asked)
		return;
	if (!eng->read.here)
		engine_pool_run(eng->runtime.executors, look_here, NULL);
	eng->read.here |= NFS4R_BIT(owner);
}
