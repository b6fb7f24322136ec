/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Operations. A client's thread (or, for one that had to wait and may not block, an executor) drives an
 * operation through: core says EXECUTE -> take update locks -> core resolves and numbers it (STARTED, or
 * RETRY when the names moved) -> INTENT in the journal -> local execution -> EXECUTED -> the core says
 * DONE when the reply conditions hold.
 *
 * An operation that was executed or sent and cannot be answered in time is parked (parked.c). Before a name is taken away Ganesha looks it up, so
 * the retry of a REMOVE or RENAME that was executed ends there, with NOENT, and never comes here: its worker waits longer.
 */
#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "base/locked.h"
#include "base/shape.h"
#include "engine/update/update_int.h"

#define CLOSE_AGAIN_MS 50
#define KEEP_BYTES_MAX 16384 /* of a stable WRITE in the journal; beyond it, writing them twice costs more than a second sync */
#define PARK_AFTER_MS 8000 /* how long a worker waits for an operation that is under way */
#define LOCK_ANSWER_MS 1000 /* how long a worker waits for the answer to a LOCK, after the time in which control has to be found; Ganesha's lock of the file is taken */
#define NAME_PARK_AFTER_MS 50000 /* the same, when the operation takes a name away; less than a client's patience with one request (60 s) */
#define NAME_WAITERS_MAX 64 /* so many workers for longer than PARK_AFTER_MS; Ganesha has a few hundred */

static void drive_task(struct nfs4r_engine *eng, void *arg);
static void run_remote(struct nfs4r_engine *eng, void *arg);

/* ---- deliveries from the core; eng->lock held ---- */

/* From each state to which. */
static const uint16_t next_of[] = {
	[OP_DRIVEN] = 1 << OP_COUNTED | 1 << OP_PARKED | 1 << OP_OVER,
	[OP_COUNTED] = 1 << OP_PARKED | 1 << OP_OVER,
	[OP_PASSING] = 1 << OP_ABANDONED | 1 << OP_OVER,
	[OP_ABANDONED] = 1 << OP_QUEUED | 1 << OP_PARKED | 1 << OP_OVER,
	[OP_QUEUED] = 1 << OP_PASSING,
	[OP_PARKED] = 1 << OP_DRIVEN | 1 << OP_PARKED_QUEUED | 1 << OP_OVER,
	[OP_PARKED_QUEUED] = 1 << OP_PARKED_PASSING,
	[OP_PARKED_PASSING] = 1 << OP_PARKED,
	[OP_OVER] = 0,
	[OP_REMOTE] = 1 << OP_RETURNED,
	[OP_RETURNED] = 0,
};

void update_op_move(struct nfs4r_engine *eng, struct opctx *o, enum op_state to)
{
	assert(next_of[o->state] & 1 << to);
	if (to == OP_COUNTED)
		engine_waiting_must(eng);
	if (o->state == OP_COUNTED)
		engine_waiting_end(eng, WAITING_ANSWERED);
	o->state = to;
}

/* The core has said something. Whoever has it is woken, or sees it before he leaves; what nobody has goes to an executor, if there is something to do. */
static void look(struct nfs4r_engine *eng, struct opctx *o)
{
	switch (o->state) {
	case OP_DRIVEN:
	case OP_COUNTED:
		pthread_cond_signal(&o->cond);
		break;
	case OP_ABANDONED:
		update_op_move(eng, o, OP_QUEUED);
		engine_pool_run(eng->runtime.executors, drive_task, o);
		break;
	case OP_PARKED:
		if (o->due != OP_EXECUTE)
			break;
		update_op_move(eng, o, OP_PARKED_QUEUED);
		engine_pool_run(eng->runtime.executors, drive_task, o);
		break;
	case OP_REMOTE:
		engine_pool_run(eng->runtime.executors, run_remote, o);
		break;
	default:
		break;
	}
}

static void ready(struct nfs4r_engine *eng, void *arg)
{
	struct opctx *o = arg;

	o->due = OP_EXECUTE;
	look(eng, o);
}

static struct opctx *opctx_new(struct nfs4r_op *forwarded, enum op_state state)
{
	struct opctx *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->op = forwarded ? forwarded : &o->own;
	o->state = state;
	o->due = OP_WAIT;
	pthread_cond_init(&o->cond, NULL);
	return o;
}

/* @list: eng->update.active or eng->update.remotes */
static void enlist(struct opctx **list, struct opctx *o)
{
	o->active_next = *list;
	o->active_prev = list;
	if (*list)
		(*list)->active_prev = &o->active_next;
	*list = o;
}

static void delist(struct opctx *o)
{
	*o->active_prev = o->active_next;
	if (o->active_next)
		o->active_next->active_prev = o->active_prev;
	o->active_prev = NULL;
}

void update_ops_wake(struct nfs4r_engine *eng)
{
	assert(nfs4r_is_locked(&eng->lock));
	for (struct opctx *o = eng->update.active; o; o = o->active_next)
		pthread_cond_signal(&o->cond);
	pthread_cond_broadcast(&eng->runtime.step.cond);
	update_clients_wake(eng);
}

bool update_ops_over(const struct nfs4r_engine *eng)
{
	return eng->door.stopping || eng->runtime.mute;
}

void update_op_deactivate(struct nfs4r_engine *eng, struct opctx *o)
{
	assert(nfs4r_is_locked(&eng->lock));
	if (!o->active_prev)
		return;
	delist(o);
	if (eng->door.frozen)
		pthread_cond_signal(&eng->update.idle_cond);
}

void update_op_free(struct opctx *o)
{
	pthread_cond_destroy(&o->cond);
	free(o);
}

struct opctx *update_op_take_remote(struct nfs4r_engine *eng, struct nfs4r_op *op)
{
	struct opctx *o = opctx_new(op, OP_REMOTE);

	if (!o)
		abort();
	op->engine = o;
	enlist(&eng->update.remotes, o);
	return o;
}

void update_op_sent(struct opctx *o)
{
	o->irrevocable = true;
}

void update_op_deliver_execute(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	const struct nfs4r_act_execute *x = nfs4r_act_execute(a);
	struct opctx *o = x->remote ? update_op_take_remote(eng, x->op) : x->op->engine;

	o->irrevocable = true; /* it may no longer be cancelled */
	o->wanted.n = x->nlocks;
	for (uint32_t i = 0; i < x->nlocks; i++)
		o->wanted.want[i] = (struct lock_want){ x->locks[i].oid, x->locks[i].whole, x->locks[i].off, x->locks[i].len };
	if (a->durable)
		engine_durable_call(eng->runtime.durable, ready, o);
	else
		ready(eng, o);
}

void update_op_deliver_retry(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	struct nfs4r_op *op = nfs4r_act_retry(a)->op;
	struct opctx *o = op->engine;

	if (!o || (o->state != OP_REMOTE && o->state != OP_RETURNED))
		return;
	op->engine = NULL; /* the next EXECUTE gets a new context */
	if (o->state == OP_REMOTE)
		update_op_move(eng, o, OP_RETURNED);
}

void update_op_deliver_started(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	const struct nfs4r_act_started *s = nfs4r_act_started(a);

	((struct opctx *)s->op->engine)->entry = s->entry;
}

void update_op_deliver_done(struct nfs4r_engine *eng, const struct nfs4r_action *a)
{
	struct opctx *o = nfs4r_act_done(a)->op->engine;

	o->due = OP_DONE;
	look(eng, o);
}

/* ---- running ---- */

static void event_op(struct nfs4r_engine *eng, uint32_t type, struct opctx *o, bool ok)
{
	struct nfs4r_event ev = { .type = type, .op = o->op, .entry = o->entry, .ok = ok, .changed = o->run.changed };

	engine_step(eng, &ev);
}

/* If there is no room the server halts before the lock is dropped: what needs less might fit then, and lie behind an LSN of which the journal has nothing, and that nobody fills. */
static enum nfs4r_status begin_entry(struct nfs4r_engine *eng, struct nfs4r_entry *e, nfs4r_journal_pos *sync_first)
{
	enum nfs4r_status st;

	assert(nfs4r_is_locked(&eng->lock)); /* it is what keeps the INTENTs in the order of their LSNs */
	st = engine_import_begin_by(eng, e);
	if (st == NFS4R_OK)
		st = nfs4r_store_intent(eng->store, e, sync_first);
	if (st != NFS4R_OK)
		engine_journal_failed(eng, st);
	return st;
}

static enum nfs4r_status sync_marks(struct nfs4r_engine *eng, nfs4r_journal_pos pos)
{
	enum nfs4r_status st = pos ? nfs4r_store_sync(eng->store, pos) : NFS4R_OK;

	if (st == NFS4R_OK)
		return st;
	pthread_mutex_lock(&eng->lock);
	engine_journal_failed(eng, st);
	pthread_mutex_unlock(&eng->lock);
	return st;
}

/* Log 4.10: the journal keeps the bytes, so that the file need not be synced. With commit and majority the file is synced by the checkpoint that is waited for. */
static bool is_pinned(const struct nfs4r_engine *eng, const struct nfs4r_op *op)
{
	return op->type == NFS4R_OP_WRITE && op->stable && op->data && op->data->len && op->data->len <= KEEP_BYTES_MAX &&
		engine_durability(eng) == NFS4R_DURABILITY_LOCAL;
}

static void bits_gone(void *arg, struct nfs4r_op *op)
{
	nfs4r_op_fini(op);
	free(op);
}

/* Begin the update that takes set-id bits away (suid.c). Under no locks, but on any thread. */
static void take_set_ids(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, uint32_t left)
{
	struct nfs4r_op *op = calloc(1, sizeof(*op));

	if (!op)
		return;
	op->type = NFS4R_OP_SETATTR;
	op->obj = *oid;
	op->here_only = true; /* who controls the file by then looks himself */
	op->attrs.mask = NFS4R_ATTR_MODE | NFS4R_ATTR_SET_IDS_GO;
	op->attrs.mode = left;
	nfs4r_update_async(eng, op, NULL, NULL, bits_gone, NULL);
}

/* Its INTENT is in the journal, or could not be written (@st). No lock held. */
static enum nfs4r_status execute(struct nfs4r_engine *eng, struct opctx *o, struct nfs4r_entry *e, enum nfs4r_status st, nfs4r_journal_pos sync_first)
{
	if (st == NFS4R_OK)
		st = sync_marks(eng, sync_first);
	o->run.changed = o->run.set_ids = false;
	if (st != NFS4R_OK) /* nothing was executed. The exported file system may have all the room in the world, so this is no answer for a client: it asks again */
		st = NFS4R_DELAY;
	else if (!o->run.kept)
		st = engine_sync_inline(eng, e);
	if (st == NFS4R_OK)
		st = update_entry_execute(eng, o);
	o->op->status = st;
	if (o->run.kept && st == NFS4R_OK)
		e->bytes_at = 1;
	else if (o->run.kept) /* part of it may be in the file: it may not be written over again */
		(void)engine_sync_inline(eng, e);
	o->run.kept = e->bytes_at;
	return st;
}

/* From EXECUTE to EXECUTED or RETRY. No lock held on entry and exit. */
static void run_once(struct nfs4r_engine *eng, struct opctx *o)
{
	nfs4r_journal_pos sync_first = 0;

	o->locks = o->wanted;
	o->run.durabilities = engine_durability_changes(eng);
	o->run.kept = is_pinned(eng, o->op);
	for (uint32_t i = 0; i < o->locks.n; i++)
		o->locks.want[i].whole |= o->run.kept;
	engine_locks_take(eng->runtime.locks, &o->locks);
	struct nfs4r_event locked = { .type = NFS4R_EV_OP_LOCKED, .op = o->op, .status = update_permission_first(eng, o) };

	pthread_mutex_lock(&eng->lock);
	o->entry = NULL;
	engine_step(eng, &locked);
	if (!o->entry) {
		pthread_mutex_unlock(&eng->lock);
		engine_locks_drop(eng->runtime.locks, &o->locks);
		return;
	}
	struct nfs4r_entry *e = o->entry;

	engine_touched_begin(eng->runtime.touched, e);
	update_entry_prepare(eng, e);
	enum nfs4r_status st = begin_entry(eng, e, &sync_first);
	pthread_mutex_unlock(&eng->lock);

	st = execute(eng, o, e, st, sync_first);
	struct nfs4r_oid oid = o->op->obj; /* a forwarded one may be gone then */
	bool set_ids = o->run.set_ids;
	uint32_t mode_remaining = o->run.mode_remaining;

	pthread_mutex_lock(&eng->lock);
	if (o->state == OP_REMOTE && !eng->door.frozen) /* else the core does not hear it */
		update_op_move(eng, o, OP_RETURNED);
	event_op(eng, NFS4R_EV_OP_EXECUTED, o, st == NFS4R_OK);
	pthread_mutex_unlock(&eng->lock);
	engine_locks_drop(eng->runtime.locks, &o->locks);
	nfs4r_entry_put(e);
	if (set_ids)
		take_set_ids(eng, &oid, mode_remaining);
}

/* A forwarded operation belongs to the core; it is ours, and has a context, from EXECUTE to EXECUTED or RETRY. */
static void run_remote(struct nfs4r_engine *eng, void *arg)
{
	struct opctx *o = arg;

	run_once(eng, o);
	pthread_mutex_lock(&eng->lock);
	bool over = o->state == OP_RETURNED;
	if (over)
		delist(o);
	pthread_mutex_unlock(&eng->lock);
	if (over) /* else update_ops_fini() has it, for nobody executes anything any more */
		update_op_free(o);
}

static bool wait_until(struct nfs4r_engine *eng, struct opctx *o, uint64_t deadline_ms)
{
	uint64_t now = engine_now_ms();

	if (now >= deadline_ms)
		return false;
	struct timespec ts = engine_after_us((deadline_ms - now) * 1000);
	pthread_cond_clockwait(&o->cond, &eng->lock, CLOCK_MONOTONIC, &ts);
	return true;
}

/* Drive until DONE, or until the deadline; what no client's thread has, until it has to wait. eng->lock held. */
static void drive(struct nfs4r_engine *eng, struct opctx *o, uint64_t deadline_ms)
{
	for (;;) {
		if (o->due == OP_EXECUTE) {
			o->due = OP_WAIT;
			pthread_mutex_unlock(&eng->lock);
			run_once(eng, o);
			pthread_mutex_lock(&eng->lock);
		} else if (o->due == OP_DONE || o->state == OP_PASSING || o->state == OP_PARKED_PASSING || update_ops_over(eng)) {
			break;
		} else {
			if (o->state == OP_DRIVEN)
				update_op_move(eng, o, OP_COUNTED);
			if (!wait_until(eng, o, deadline_ms))
				break;
		}
	}
	if (o->state == OP_PARKED_PASSING)
		update_op_move(eng, o, OP_PARKED);
	else if (o->state == OP_PASSING)
		update_op_move(eng, o, o->due == OP_DONE ? OP_OVER : OP_ABANDONED);
	if (eng->door.frozen)
		pthread_cond_signal(&eng->update.idle_cond);
}

void update_ops_fini(struct nfs4r_engine *eng)
{
	update_ops_drop_parked(eng);
	update_lock_news_fini(eng);
	while (eng->update.remotes) {
		struct opctx *o = eng->update.remotes;

		delist(o);
		nfs4r_op_fini(o->op);
		free(o->op);
		update_op_free(o);
	}
}

/* ---- the calls ---- */

static struct opctx *begin(struct nfs4r_engine *eng, struct nfs4r_op *op, nfs4r_exec_fn exec, nfs4r_done_fn done, void *arg)
{
	struct opctx *o = opctx_new(NULL, done ? OP_PASSING : OP_DRIVEN);

	if (!o)
		return NULL;
	o->own = *op; /* buffers move in; finish() moves them back */
	o->own.core = NULL;
	o->own.engine = o;
	o->exec = exec;
	o->done = done;
	o->arg = arg;
	o->caller = op;
	o->verifier = eng->runtime.verifier;
	op->data = NULL;
	op->text = NULL;
	op->attrs.acl = NULL;
	op->cred.groups = NULL;
	if (!(o->own.attrs.mask & NFS4R_ATTR_ACL)) { /* an entry has none that it does not set (log 3.14): no server could read it */
		nfs4r_buf_put(o->own.attrs.acl);
		o->own.attrs.acl = NULL;
	}
	return o;
}

/*
 * A stable WRITE of an own client was executed without a sync. Its bytes must be on the disk, and so must the entries that say so, and that made the
 * file (log 5.1): both at the same time, unless the journal has the bytes, too (log 4.10). With commit and majority they are, here and elsewhere, when the core says that it is done.
 */
static void make_durable(struct nfs4r_engine *eng, struct opctx *o)
{
	struct nfs4r_op *op = o->op;
	enum nfs4r_status st;
	uint64_t begun;

	if (op->type != NFS4R_OP_WRITE || !op->stable || op->status != NFS4R_OK || op->primary != eng->cfg.rpc.self)
		return;
	if (engine_durability(eng) != NFS4R_DURABILITY_LOCAL && engine_durability_changes(eng) == o->run.durabilities)
		return; /* else perhaps it was answered as with local */
	if (o->run.kept) {
		if (nfs4r_commit(eng, &op->obj, 0) != NFS4R_OK)
			op->status = NFS4R_DELAY;
		return;
	}
	begun = nfs4r_commit_begin(eng, &op->obj);
	st = o->sync_bytes ? o->sync_bytes(o->arg, op) : engine_sync_file(eng, &op->obj);
	if (st != NFS4R_OK && st != NFS4R_STALE) /* of one that is gone meanwhile nothing has to stay */
		op->status = st;
	else if (nfs4r_commit(eng, &op->obj, begun) != NFS4R_OK)
		op->status = NFS4R_DELAY; /* it is executed; the client asks again */
}

struct late_answer {
	nfs4r_server_id to;
	struct nfs4r_op op;
};

static void late_answer_task(struct nfs4r_engine *eng, void *arg)
{
	struct late_answer *a = arg;
	struct nfs4r_msg m = { .type = NFS4R_MSG_FORWARD_ANSWER, .op = &a->op };
	enum nfs4r_status st = nfs4r_store_sync_whole(eng->store);

	if (st == NFS4R_DELAY && !update_ops_over(eng)) { /* a hole: own updates before it are still under way */
		engine_pool_run(eng->runtime.executors, late_answer_task, a);
		return;
	}
	if (st == NFS4R_OK)
		engine_send(eng, a->to, &m);
	nfs4r_op_fini(&a->op);
	free(a);
}

/* For the protocol the answer is just longer on its way. */
bool update_op_answer_when_durable(struct nfs4r_engine *eng, nfs4r_server_id to, struct nfs4r_op *op)
{
	struct late_answer *a;

	if (op->type != NFS4R_OP_WRITE || !op->stable || op->status != NFS4R_OK)
		return false;
	a = malloc(sizeof(*a));
	if (!a)
		abort();
	*a = (struct late_answer){ .to = to, .op = *op };
	op->data = NULL; /* it goes with the copy; the core drops the rest */
	op->text = NULL;
	op->attrs.acl = op->post.acl = NULL;
	op->cred.groups = NULL;
	engine_pool_run(eng->runtime.executors, late_answer_task, a);
	return true;
}

static enum nfs4r_status finish(struct opctx *o, struct nfs4r_op *op)
{
	nfs4r_op_fini(op);
	*op = o->own;
	op->verifier = o->verifier;
	op->core = op->engine = NULL;
	update_op_free(o);
	return op->status;
}

/* A worker has waited for PARK_AFTER_MS. @longer: it is one of those that wait on. */
static bool waits_longer(struct nfs4r_engine *eng, const struct opctx *o, uint64_t begun_ms, bool *longer)
{
	bool takes_name = o->op->type == NFS4R_OP_REMOVE || o->op->type == NFS4R_OP_RENAME;

	if (!o->irrevocable || !takes_name || update_ops_over(eng) || engine_now_ms() >= begun_ms + NAME_PARK_AFTER_MS)
		return false;
	if (!*longer && eng->update.nlonger == NAME_WAITERS_MAX)
		return false;
	eng->update.nlonger += !*longer;
	*longer = true;
	return true;
}

/*
 * A worker gives up on an operation: before anything happened it is cancelled, after that it is parked or waited for. Once all is over nothing is waited for: the
 * core may believe that it has sent what it has not.
 */
static bool abandon(struct nfs4r_engine *eng, struct opctx *o, struct nfs4r_op *op)
{
	if (!o->irrevocable || o->op->type == NFS4R_OP_CLOSE || nfs4r_op_at_authority(o->op->type)) {
		event_op(eng, NFS4R_EV_OP_CANCEL, o, false);
		if (o->due == OP_DONE || !update_ops_over(eng))
			return false;
	}
	if (!update_op_park(eng, o))
		return false;
	op->status = NFS4R_DELAY;
	return true;
}

static enum nfs4r_status update(struct nfs4r_engine *eng, struct nfs4r_op *op, nfs4r_exec_fn exec, void *arg, uint64_t wait_ms)
{
	uint64_t begun_ms = engine_now_ms();
	bool busy, longer = false;

	pthread_mutex_lock(&eng->lock);
	if (!nfs4r_op_at_authority(op->type))
		__atomic_add_fetch(&eng->update.done, 1, __ATOMIC_RELAXED); /* read without the lock */
	struct opctx *o = update_op_adopt_parked(eng, op, &busy);
	bool adopted = o != NULL;
	if (!o) {
		if (busy || !eng->runtime.ready || eng->door.stopping || !(o = begin(eng, op, exec, NULL, arg))) {
			pthread_mutex_unlock(&eng->lock);
			return op->status = NFS4R_DELAY;
		}
	}
	enlist(&eng->update.active, o);
	if (!adopted)
		event_op(eng, NFS4R_EV_OP, o, true);
	for (;;) {
		drive(eng, o, engine_now_ms() + wait_ms);
		if (o->due == OP_DONE)
			break;
		if (eng->door.frozen) {
			o->op->status = NFS4R_DELAY;
			break;
		}
		if (!waits_longer(eng, o, begun_ms, &longer) && abandon(eng, o, op)) {
			eng->update.nlonger -= longer;
			update_op_deactivate(eng, o);
			pthread_mutex_unlock(&eng->lock);
			return NFS4R_DELAY;
		}
	}
	eng->update.nlonger -= longer;
	update_op_move(eng, o, OP_OVER);
	update_op_deactivate(eng, o);
	pthread_mutex_unlock(&eng->lock);
	make_durable(eng, o);
	return finish(o, op);
}

/*
 * A client is never told to try a CLOSE again (close2's result is ignored), so we do it here: a server without a lease, or outside
 * the view, answers DELAY soon, and is mostly back before the client may believe that others see what it wrote.
 */
static enum nfs4r_status update_close(struct nfs4r_engine *eng, struct nfs4r_op *op)
{
	uint64_t now = engine_now_ms(), until = now + eng->cfg.close_wait_ms;
	enum nfs4r_status st;

	for (;;) {
		st = update(eng, op, NULL, NULL, until - now);
		if (st != NFS4R_DELAY || update_ops_over(eng))
			return st;
		nanosleep(&(struct timespec){ .tv_nsec = CLOSE_AGAIN_MS * 1000000L }, NULL);
		now = engine_now_ms();
		if (now >= until)
			return st;
		op->status = NFS4R_OK;
	}
}

/* Of one whose owner is not likely to answer few wait. What is parked is there to be asked for. */
static enum nfs4r_status update_bounded(struct nfs4r_engine *eng, struct nfs4r_op *op, nfs4r_exec_fn exec, void *arg, uint64_t wait_ms)
{
	const struct nfs4r_oid oid = nfs4r_oid_is_zero(&op->dir) ? op->obj : op->dir;
	nfs4r_server_id to = nfs4r_read_server(eng, &oid);
	uint64_t begun_ms = engine_now_ms();
	enum nfs4r_status st;

	if (engine_waiting_full(eng))
		return op->status = NFS4R_DELAY;
	if (engine_waiting_kind(eng, to) == WAITING_ANSWERED)
		return update(eng, op, exec, arg, wait_ms);
	if (!engine_waiting_begin(eng, WAITING_UNANSWERED, &oid))
		return op->status = NFS4R_DELAY;
	st = update(eng, op, exec, arg, wait_ms);
	engine_waiting_end(eng, WAITING_UNANSWERED);
	if (st == NFS4R_DELAY && engine_now_ms() >= begun_ms + eng->cfg.op_wait_ms)
		engine_waiting_vain(eng, 0, &oid);
	return st;
}

enum nfs4r_status nfs4r_update(struct nfs4r_engine *eng, struct nfs4r_op *op, nfs4r_exec_fn exec, void *arg)
{
	enum nfs4r_status st = nfs4r_op_fits(op);

	if (st != NFS4R_OK) /* no other server would take its entry */
		return op->status = st;
	if (eng->runtime.fence && op->type != NFS4R_OP_CLOSE)
		return op->status = NFS4R_DELAY;
	return op->type == NFS4R_OP_CLOSE ? update_close(eng, op) : update_bounded(eng, op, exec, arg, PARK_AFTER_MS);
}

enum nfs4r_status nfs4r_lock(struct nfs4r_engine *eng, struct nfs4r_op *op)
{
	assert(nfs4r_op_is_lock(op->type));
	if (!nfs4r_locks_are_shared(eng))
		return op->status = NFS4R_NOTSUPP;
	if (op->type == NFS4R_OP_UNLOCK || op->type == NFS4R_OP_UNWAIT)
		return update(eng, op, NULL, NULL, 0);
	if (eng->runtime.fence)
		return op->status = NFS4R_DELAY;
	return update_bounded(eng, op, NULL, NULL, eng->cfg.op_wait_ms + LOCK_ANSWER_MS);
}

/* Nobody else is asked. */
static bool share_is_free(struct nfs4r_engine *eng, const struct nfs4r_op *op)
{
	struct nfs4r_core_share known;

	if (op->share.deny & ~op->share.had_deny)
		return false;
	pthread_mutex_lock(&eng->lock);
	nfs4r_core_share(eng->core, &op->obj, &known);
	pthread_mutex_unlock(&eng->lock);
	return known.marks == 0;
}

enum nfs4r_status nfs4r_share(struct nfs4r_engine *eng, struct nfs4r_op *op)
{
	assert(op->type == NFS4R_OP_SHARE);
	if (!nfs4r_locks_are_shared(eng))
		return op->status = NFS4R_NOTSUPP;
	if (!(op->share.access & ~op->share.had_access) && !(op->share.deny & ~op->share.had_deny))
		return update(eng, op, NULL, NULL, 0);
	if (share_is_free(eng, op))
		return update(eng, op, NULL, NULL, eng->cfg.op_wait_ms + LOCK_ANSWER_MS);
	return update_bounded(eng, op, NULL, NULL, eng->cfg.op_wait_ms + LOCK_ANSWER_MS);
}

static void complete_async(struct nfs4r_engine *eng, struct opctx *o)
{
	struct nfs4r_op *op = o->caller;
	nfs4r_done_fn done = o->done;
	void *arg = o->arg;

	make_durable(eng, o);
	finish(o, op);
	done(arg, op);
}

/* eng->lock held; it is not any more afterwards. */
static void drive_and_unlock(struct nfs4r_engine *eng, struct opctx *o)
{
	drive(eng, o, 0);
	bool over = o->state == OP_OVER;
	if (over)
		update_op_deactivate(eng, o);
	pthread_mutex_unlock(&eng->lock);
	if (over)
		complete_async(eng, o);
}

static void drive_task(struct nfs4r_engine *eng, void *arg)
{
	struct opctx *o = arg;

	pthread_mutex_lock(&eng->lock);
	update_op_move(eng, o, o->state == OP_QUEUED ? OP_PASSING : OP_PARKED_PASSING);
	drive_and_unlock(eng, o);
}

void nfs4r_update_async(struct nfs4r_engine *eng, struct nfs4r_op *op, nfs4r_exec_fn exec, nfs4r_sync_fn sync, nfs4r_done_fn done,
			void *arg)
{
	struct opctx *o = NULL;

	op->status = eng->runtime.fence ? NFS4R_DELAY : nfs4r_op_fits(op);
	if (op->status != NFS4R_OK) {
		done(arg, op);
		return;
	}
	pthread_mutex_lock(&eng->lock);
	__atomic_add_fetch(&eng->update.done, 1, __ATOMIC_RELAXED); /* read without the lock */
	if (eng->runtime.ready && !eng->door.stopping)
		o = begin(eng, op, exec, done, arg);
	if (o)
		o->sync_bytes = sync;
	if (!o) {
		pthread_mutex_unlock(&eng->lock);
		op->status = NFS4R_DELAY;
		done(arg, op);
		return;
	}
	enlist(&eng->update.active, o);
	event_op(eng, NFS4R_EV_OP, o, true);
	drive_and_unlock(eng, o);
}

/* An executor that has an operation, or is about to, ends it or leaves it to this one: the executors still run. */
void update_ops_end_all(struct nfs4r_engine *eng)
{
	struct opctx *async = NULL;

	pthread_mutex_lock(&eng->lock);
	while (eng->update.active) {
		struct opctx *o = eng->update.active;

		if (o->state == OP_ABANDONED) {
			update_op_move(eng, o, OP_OVER);
			update_op_deactivate(eng, o);
			o->next = async;
			async = o;
			continue;
		}
		update_ops_wake(eng);
		pthread_cond_wait(&eng->update.idle_cond, &eng->lock);
	}
	pthread_mutex_unlock(&eng->lock);
	while (async) {
		struct opctx *o = async;

		async = o->next;
		o->op->status = NFS4R_DELAY;
		complete_async(eng, o);
	}
}
