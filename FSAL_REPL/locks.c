/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Byte-range locks of this server's clients. They are in a table of our own (base/locks.h), and nothing of them goes to the sub-FSAL: that could neither queue a request nor
 * know the locks of other sites. Before protocol NFS4R_PROTOCOL_LOCKS this table decides, each server for its own clients. From then on the volume decides, and the table follows (locks_shared.c).
 *
 * Ganesha has a list of the same locks, and looks there first. Here comes what that does not decide: each request that waits, each other one that nothing in the list is in
 * the way of, and what is given back. A request that has to wait is BLOCKED, and the client is told with CB_NOTIFY_LOCK when it may ask again. A thread does that: Ganesha puts the
 * request into its list after we have answered, so that a notice may come too early, and has to be given again.
 *
 * Ganesha grants what a notified client asks for, whatever we say, unless it has patches/0010 (which is asked when this is compiled: module and Ganesha are built together). With that patch a lock is reserved for a few seconds only, and a client that was killed
 * while it waited keeps nobody waiting for long. Without it the reservation has to stay until Ganesha cancels it, some five seconds after the time of its lease.
 *
 * Clients with NFSv4.0 cannot be notified (Ganesha has no callback channel to them without delegations), and ask again after 1, 2, 4 ... 30 s. Nothing is reserved for them.
 *
 * Every two lease times Ganesha tests by itself whether the lock of a waiter is free, and would notify it then. That test queues the request again, should it not be queued any more, and
 * is always answered with a conflict: whose turn it is, is decided here.
 */
#include "repl.h"
#include "nfs_init.h"
#include "sal_data.h"
#include "sal_functions.h"

#include "base/siphash.h"
#include "locks_int.h"

#ifdef SAL_NOTIFIED_WAITER_MAY_BE_REFUSED
#define RESERVE_MS 5000
#else
#define RESERVE_MS 0
#endif
#define GRACE_LOOK_MS 200

uint64_t repl_locks_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- Ganesha's words and ours ---- */

/* A client's number is Ganesha's own, so that no client can have the locks of another by choosing its owners' names. */
static struct nfs4r_lock_owner owner_of(const state_owner_t *owner)
{
	static const uint8_t keys[2][NFS4R_SIPHASH_KEY] = { { 1 }, { 2 } };
	struct nfs4r_lock_owner out = { .client = { owner->so_owner.so_nfs4_owner.so_clientid } };

	for (int i = 0; i < 2; i++)
		nfs4r_siphash((uint8_t *)&out.owner[i], owner->so_owner_val, (size_t)owner->so_owner_len, keys[i]);
	return out;
}

struct nfs4r_lock repl_lock_request(const struct nfs4r_lock_owner *owner, const fsal_lock_param_t *request)
{
	uint64_t most = UINT64_MAX - request->lock_start;

	return (struct nfs4r_lock){
		.owner = *owner,
		.type = request->lock_type == FSAL_LOCK_R ? NFS4R_LOCK_READ : NFS4R_LOCK_WRITE,
		.start = request->lock_start,
		.last = request->lock_length == 0 || request->lock_length > most ? UINT64_MAX : request->lock_start + request->lock_length - 1,
	};
}

fsal_lock_param_t repl_lock_param(const struct nfs4r_lock *lock)
{
	return (fsal_lock_param_t){
		.lock_sle_type = FSAL_POSIX_LOCK,
		.lock_type = lock->type == NFS4R_LOCK_READ ? FSAL_LOCK_R : FSAL_LOCK_W,
		.lock_start = lock->start,
		.lock_length = lock->last == UINT64_MAX ? 0 : lock->last - lock->start + 1,
	};
}

enum nfs4r_lock_wait repl_lock_wait_of(const state_owner_t *owner, fsal_lock_op_t op)
{
	if (op == FSAL_OP_LOCK)
		return NFS4R_LOCK_TRY;
	return RESERVE_MS != 0 && owner->so_owner.so_nfs4_owner.so_clientrec->cid_minorversion == 0 ? NFS4R_LOCK_POLL : NFS4R_LOCK_QUEUE;
}

static fsal_status_t status_of(enum nfs4r_lock_answer answer)
{
	switch (answer) {
	case NFS4R_LOCK_GRANTED:
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	case NFS4R_LOCK_CONFLICT:
		return fsalstat(ERR_FSAL_ACCESS, EACCES); /* as fcntl() says it */
	case NFS4R_LOCK_WAITS:
		return fsalstat(ERR_FSAL_BLOCKED, 0);
	default:
		return fsalstat(ERR_FSAL_NOMEM, ENOLCK);
	}
}

/* ---- notices ---- */

static void tell(struct repl_export *exp, const struct nfs4r_lock_notice *n)
{
	const struct fsal_up_vector *up = exp->export.up_ops;
	fsal_lock_param_t lock = repl_lock_param(&n->lock);
	struct nfs4r_oid oid = n->oid;
	struct gsh_buffdesc key = { .addr = &oid, .len = sizeof(oid) };

	if (repl_wait_ready(exp) && !up->up_cancel)
		up->lock_avail(up, &key, n->tag, &lock); /* the owner is compared by its address alone: it may be gone */
}

static void rest(struct repl_locks *l)
{
	uint64_t due = MIN(nfs4r_locks_due(l->table), l->look_ms);
	struct timespec until = { .tv_sec = (time_t)(due / 1000), .tv_nsec = (long)(due % 1000) * 1000000 };

	if (due == UINT64_MAX)
		pthread_cond_wait(&l->cond, &l->lock);
	else
		pthread_cond_clockwait(&l->cond, &l->lock, CLOCK_MONOTONIC, &until);
}

/* l->lock is taken, and is not meanwhile. */
static void look(struct repl_export *exp)
{
	struct repl_locks *l = exp->locks;
	uint64_t again_ms;

	l->look_ms = UINT64_MAX;
	PTHREAD_MUTEX_unlock(&l->lock);
	repl_locks_make_known(exp);
	again_ms = repl_lock_clients_look(exp);
	if (!l->grace_ended)
		l->grace_ended = repl_grace_end(exp);
	if (!l->grace_ended)
		again_ms = MIN(again_ms, GRACE_LOOK_MS);
	PTHREAD_MUTEX_lock(&l->lock);
	l->look_ms = MIN(l->look_ms, repl_locks_now_ms() + again_ms);
}

/* The same. */
static void carry_out_fence(struct repl_export *exp)
{
	struct repl_locks *l = exp->locks;
	uint32_t number = l->fence;

	l->fence = 0;
	PTHREAD_MUTEX_unlock(&l->lock);
	repl_lock_clients_expect_all(exp);
	repl_grace_fence(exp);
	repl_fence_over(exp, number);
	PTHREAD_MUTEX_lock(&l->lock);
	l->look_ms = 0;
}

static void *run(void *arg)
{
	struct repl_export *exp = arg;
	struct repl_locks *l = exp->locks;
	struct nfs4r_lock_notice n;

	SetNameFunction("repl-locks");
	PTHREAD_MUTEX_lock(&l->lock);
	while (!l->ends) {
		uint64_t now = repl_locks_now_ms();

		if (l->fence != 0 && nfs_init_wait_timeout(0) == 0) {
			carry_out_fence(exp);
		} else if (now >= l->look_ms) {
			look(exp);
		} else if (nfs4r_locks_notice(l->table, now, &n)) {
			PTHREAD_MUTEX_unlock(&l->lock);
			tell(exp, &n);
			PTHREAD_MUTEX_lock(&l->lock);
		} else {
			rest(l);
		}
	}
	PTHREAD_MUTEX_unlock(&l->lock);
	return NULL;
}

/* ---- life ---- */

bool repl_locks_init(struct repl_export *exp, uint32_t max)
{
	struct repl_locks *l = gsh_calloc(1, sizeof(*l));

	PTHREAD_MUTEX_init(&l->lock, NULL);
	PTHREAD_MUTEX_init(&l->switching, NULL);
	PTHREAD_COND_init(&l->cond, NULL);
	l->look_ms = UINT64_MAX; /* until locks hold at all servers */
	l->table = nfs4r_locks_create(&(struct nfs4r_locks_config){ .max = max, .reserve_ms = RESERVE_MS });
	exp->locks = l;
	return l->table != NULL;
}

bool repl_locks_start(struct repl_export *exp)
{
	if (repl_locks_are_shared(exp))
		exp->locks->look_ms = 0;
	exp->locks->running = pthread_create(&exp->locks->thread, NULL, run, exp) == 0;
	return exp->locks->running;
}

void repl_locks_end(struct repl_export *exp)
{
	struct repl_locks *l = exp->locks;

	if (!l->running)
		return;
	PTHREAD_MUTEX_lock(&l->lock);
	l->ends = true;
	pthread_cond_signal(&l->cond);
	PTHREAD_MUTEX_unlock(&l->lock);
	pthread_join(l->thread, NULL);
	l->running = false;
}

void repl_locks_fini(struct repl_export *exp)
{
	struct repl_locks *l = exp->locks;

	if (l->table != NULL)
		nfs4r_locks_destroy(l->table);
	PTHREAD_COND_destroy(&l->cond);
	PTHREAD_MUTEX_destroy(&l->switching);
	PTHREAD_MUTEX_destroy(&l->lock);
	gsh_free(l);
}

/*
 * A Ganesha without the patch grants a lock to a client that was notified, whatever the volume says, and two sites would have it. So a server with that one knows no protocol by which locks hold at all servers, and no upgrade to
 * it can be finished. The same holds where Ganesha cannot make its clients reclaim (lock_grace.c).
 */
static const char *unfit(void)
{
#ifndef SAL_NOTIFIED_WAITER_MAY_BE_REFUSED
	return "Ganesha was built without patches/0010. Install one that has that patch";
#else
	return repl_grace_unfit();
#endif
}

void repl_locks_limit_protocol(struct nfs4r_versions *protocol)
{
	const char *why = unfit();

	if (why == NULL || protocol->highest < NFS4R_PROTOCOL_LOCKS)
		return;
	protocol->highest = NFS4R_PROTOCOL_LOCKS - 1;
	REPL_LOG(Warn, "locks cannot hold at all servers: %s. The volume keeps protocol %u until that is so on every server", why, protocol->highest);
}

/* ---- looking ---- */

struct walk {
	void (*fn)(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_state state, uint64_t age_ms);
	void *arg;
	uint64_t now;
};

static void with_age(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_state state, uint64_t since_ms)
{
	const struct walk *w = arg;

	w->fn(w->arg, oid, lock, state, w->now - since_ms);
}

void repl_locks_walk(struct repl_export *exp, const struct nfs4r_oid *oid,
		     void (*fn)(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_state state, uint64_t age_ms), void *arg)
{
	struct walk w = { .fn = fn, .arg = arg };

	PTHREAD_MUTEX_lock(&exp->locks->lock);
	w.now = repl_locks_now_ms();
	nfs4r_locks_walk(exp->locks->table, oid, with_age, &w);
	PTHREAD_MUTEX_unlock(&exp->locks->lock);
}

void repl_lops_count_locks(void *ctx, struct nfs4r_locks_count *out)
{
	struct repl_export *exp = ctx;

	PTHREAD_MUTEX_lock(&exp->locks->lock);
	*out = nfs4r_locks_count(exp->locks->table);
	PTHREAD_MUTEX_unlock(&exp->locks->lock);
}

/* ---- what Ganesha asks for ---- */

void repl_lock_say_full(struct repl_locks *l, const struct nfs4r_oid *oid)
{
	struct nfs4r_locks_count n = nfs4r_locks_count(l->table);
	char text[NFS4R_OID_STRLEN];
	uint64_t more;

	if (nfs4r_said_may(&l->full, repl_locks_now_ms(), 1, &more))
		REPL_LOG(Warn, "a lock of file %s is refused: this server's clients have %u locks and wait for %u (Lock_Max = %u; %u of one file, with %u that wait). Find the program that has so many, or raise Lock_Max; %" PRIu64 " more were refused before",
			 nfs4r_oid_str(oid, text), n.ranges, n.waiting, repl_module.cfg.lock_max, NFS4R_LOCKS_FILE_MAX, NFS4R_LOCKS_WAITERS_MAX, more);
}

void repl_lock_say_volume_full(struct repl_export *exp, const struct nfs4r_oid *oid)
{
	struct repl_locks *l = exp->locks;
	char text[NFS4R_OID_STRLEN];
	uint64_t more;

	PTHREAD_MUTEX_lock(&l->lock);
	if (nfs4r_said_may(&l->volume_full, repl_locks_now_ms(), 1, &more))
		REPL_LOG(Warn, "a lock of file %s is refused: the clients of all servers have %u locks of it, or the server that controls it has reached its Lock_Max, or %u clients of this server have locks. `nfs4rctl locks` at the server that controls the file lists them; %" PRIu64 " more were refused before",
			 nfs4r_oid_str(oid, text), NFS4R_LOCKS_LIST_MAX, NFS4R_CLIENTS_MAX, more);
	PTHREAD_MUTEX_unlock(&l->lock);
}

static enum nfs4r_lock_answer acquire(struct repl_locks *l, const struct nfs4r_oid *oid, const struct nfs4r_lock *want, enum nfs4r_lock_wait wait, void *owner, struct nfs4r_lock *other)
{
	enum nfs4r_lock_answer answer = nfs4r_locks_acquire(l->table, oid, want, wait, owner, repl_locks_now_ms(), other);

	if (answer == NFS4R_LOCK_FULL)
		repl_lock_say_full(l, oid);
	return answer;
}

static enum nfs4r_lock_answer test(struct repl_locks *l, const struct nfs4r_oid *oid, const struct nfs4r_lock *want, void *owner, struct nfs4r_lock *other)
{
	if (op_ctx->nfs_reqdata != NULL)
		return nfs4r_locks_test(l->table, oid, want, other) ? NFS4R_LOCK_GRANTED : NFS4R_LOCK_CONFLICT;
	*other = *want;
	nfs4r_locks_wait_again(l->table, oid, want, repl_lock_wait_of(owner, FSAL_OP_LOCKB), owner, repl_locks_now_ms());
	return NFS4R_LOCK_CONFLICT;
}

/* The answer where each server decides for its own clients. False: it does not any more. */
static bool lock_here(struct repl_locks *l, const struct nfs4r_oid *oid, state_owner_t *owner, fsal_lock_op_t op, const fsal_lock_param_t *request, struct nfs4r_lock *other, fsal_status_t *st)
{
	enum nfs4r_lock_answer answer = NFS4R_LOCK_GRANTED;
	struct nfs4r_lock_owner who = owner_of(owner);
	struct nfs4r_lock want = repl_lock_request(&who, request);
	char text[NFS4R_OID_STRLEN];

	PTHREAD_MUTEX_lock(&l->lock);
	if (l->follows) {
		PTHREAD_MUTEX_unlock(&l->lock);
		return false;
	}
	switch (op) {
	case FSAL_OP_LOCKT:
		answer = test(l, oid, &want, owner, other);
		break;
	case FSAL_OP_LOCK:
	case FSAL_OP_LOCKB:
		answer = acquire(l, oid, &want, repl_lock_wait_of(owner, op), owner, other);
		break;
	case FSAL_OP_UNLOCK:
		/* Ganesha has forgotten it already, so that an error would help nobody. */
		if (!nfs4r_locks_release(l->table, oid, &want.owner, want.start, want.last, repl_locks_now_ms()))
			REPL_LOG(Crit, "no memory to give back a part of a lock of file %s: it stays until its program closes the file", nfs4r_oid_str(oid, text));
		break;
	case FSAL_OP_CANCEL:
		nfs4r_locks_cancel(l->table, oid, &want, repl_locks_now_ms());
		break;
	}
	if (nfs4r_locks_due(l->table) != UINT64_MAX)
		pthread_cond_signal(&l->cond);
	PTHREAD_MUTEX_unlock(&l->lock);
	*st = status_of(answer);
	return true;
}

fsal_status_t repl_lock_op2(struct fsal_obj_handle *h, struct state_t *state, void *owner, fsal_lock_op_t op,
			    fsal_lock_param_t *request, fsal_lock_param_t *conflict)
{
	struct repl_export *exp = repl_cur_export();
	const struct nfs4r_oid *oid = &repl_obj(h)->oid;
	struct nfs4r_lock other = { .type = 0 };
	fsal_status_t st;

	if (repl_locks_are_shared(exp) || !lock_here(exp->locks, oid, owner, op, request, &other, &st))
		st = repl_lock_shared(exp, oid, owner, op, request, &other);
	if (conflict != NULL && (st.major == ERR_FSAL_ACCESS || st.major == ERR_FSAL_BLOCKED))
		*conflict = repl_lock_param(&other);
	else if (conflict != NULL)
		*conflict = (fsal_lock_param_t){ .lock_type = FSAL_NO_LOCK };
	return st;
}
