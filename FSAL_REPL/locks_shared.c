/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Locks in a volume whose locks hold at all servers: for each file one server decides, its authority (docs/protocol/locks.md), and the engine knows which one.
 *
 * The table of locks.c follows here. It has what this server's clients have been answered, so that they can be notified and an administrator can see it. A request that waits comes in before the
 * authority is asked, since the lock may be ready before the answer is back on this thread. Ready means that the authority has granted it to this waiter. Its client is notified, again and again, until
 * its retry comes, which is granted without a question to anybody else. What nobody fetches the core takes back, and says so.
 *
 * Ganesha holds its lock of the file's state over each call, so requests of one file come one after another. They wait for other servers a second or two at most: after that the client hears DELAY, and asks
 * again. What a client gives back is gone at once, whatever becomes of it behind; what is cancelled, too.
 *
 * A client with NFSv4.0 cannot be notified. Its requests only poll: nothing is reserved for them, and what is for Ganesha a notice says that the lock was free a moment ago.
 *
 * A volume gets such locks when an upgrade is finished, while clients have locks that their servers granted each by itself. The table then changes the names of their owners, and the
 * authorities are asked for all of them, as soon as the engine says so, as reclaims: nobody is granted anything else until all servers have done that. Where two sites have granted what excludes each other, one hears that it is too late, and the log
 * says so: the program there goes on as it would have before. Requests that wait at that moment are asked for again by Ganesha, after two lease times.
 */
#include "repl.h"
#include "sal_data.h"

#include "locks_int.h"

#define AGAIN_MS 200
#define SWITCH_MS 10000 /* so long the others are asked for locks that were granted before they held everywhere */

/* ---- asking ---- */

/* @other, or NULL: its type is 0 before, and it is a lock in the way after. */
static enum nfs4r_status ask(struct repl_export *exp, uint32_t type, const struct nfs4r_oid *oid, const struct nfs4r_lock *want, enum nfs4r_lock_wait wait, bool reclaim, struct nfs4r_lock *other)
{
	struct nfs4r_op op = { .type = type, .obj = *oid, .lock = { .lock = *want, .wait = wait, .reclaim = reclaim } };
	enum nfs4r_status st = repl_lock_ask(exp, &op);

	if (other != NULL && (st == NFS4R_DENIED || st == NFS4R_BLOCKED))
		*other = op.lock.conflict.lock;
	if (other != NULL && other->type == 0) { /* nobody named it, and a request that waits on has something in its way */
		*other = *want;
		other->type = NFS4R_LOCK_WRITE;
	}
	nfs4r_op_fini(&op);
	return st;
}

static fsal_status_t status_of(enum nfs4r_status st)
{
	switch (st) {
	case NFS4R_OK:
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	case NFS4R_DENIED:
		return fsalstat(ERR_FSAL_ACCESS, EACCES);
	case NFS4R_BLOCKED:
		return fsalstat(ERR_FSAL_BLOCKED, 0);
	case NFS4R_NOLCK:
	case NFS4R_NOMEM:
		return fsalstat(ERR_FSAL_NOMEM, ENOLCK);
	case NFS4R_STALE:
		return fsalstat(ERR_FSAL_STALE, ESTALE);
	default:
		return fsalstat(ERR_FSAL_DELAY, EAGAIN);
	}
}

/* ---- the table ---- */

/* A request that waits is in the table before it is asked for. False: there is no room for it. *was: it waited before. */
static bool enter(struct repl_locks *l, const struct nfs4r_oid *oid, const struct nfs4r_lock *want, enum nfs4r_lock_wait wait, void *owner, bool *was)
{
	bool room;

	PTHREAD_MUTEX_lock(&l->lock);
	*was = nfs4r_locks_follow_is_waiting(l->table, oid, want);
	room = *was || nfs4r_locks_has_room(l->table, oid);
	if (room && wait != NFS4R_LOCK_TRY)
		room = nfs4r_locks_follow_waits(l->table, oid, want, wait, owner, repl_locks_now_ms());
	if (!room)
		repl_lock_say_full(l, oid);
	PTHREAD_MUTEX_unlock(&l->lock);
	return room;
}

/* What became of it. OK may become NOMEM: then it has to be given back. */
static enum nfs4r_status follow(struct repl_locks *l, const struct nfs4r_oid *oid, const struct nfs4r_lock *want, enum nfs4r_lock_wait wait, bool was, enum nfs4r_status st)
{
	uint64_t now = repl_locks_now_ms();

	PTHREAD_MUTEX_lock(&l->lock);
	if (st == NFS4R_OK && !nfs4r_locks_follow_granted(l->table, oid, want, now))
		st = NFS4R_NOMEM;
	if (st == NFS4R_DELAY && was && wait != NFS4R_LOCK_TRY && nfs4r_locks_follow_notify(l->table, oid, want, false, now + AGAIN_MS))
		st = NFS4R_BLOCKED; /* it waits on; Ganesha would forget it otherwise */
	if (st != NFS4R_OK && st != NFS4R_BLOCKED && wait != NFS4R_LOCK_TRY)
		nfs4r_locks_cancel(l->table, oid, want, now);
	pthread_cond_signal(&l->cond);
	PTHREAD_MUTEX_unlock(&l->lock);
	return st;
}

static enum nfs4r_status acquire(struct repl_export *exp, const struct nfs4r_oid *oid, const struct nfs4r_lock *want, enum nfs4r_lock_wait wait, bool reclaim, state_owner_t *owner, struct nfs4r_lock *other)
{
	const uint64_t *name = want->owner.client;
	enum nfs4r_status st = reclaim ? repl_lock_client_reclaims(exp, owner, name) : repl_lock_client_begins(exp, owner, name), after;
	bool was;

	if (st == NFS4R_NOLCK)
		repl_lock_say_volume_full(exp, oid);
	if (st != NFS4R_OK)
		return st;
	if (!enter(exp->locks, oid, want, wait, owner, &was))
		return NFS4R_NOLCK;
	st = ask(exp, NFS4R_OP_LOCK, oid, want, wait, reclaim, other);
	if (st == NFS4R_NOLCK)
		repl_lock_say_volume_full(exp, oid);
	if (reclaim && st == NFS4R_OK)
		repl_lock_client_is_back(exp, owner, name);
	after = follow(exp->locks, oid, want, wait, was, st);
	if (st == NFS4R_OK && after != NFS4R_OK)
		(void)ask(exp, NFS4R_OP_UNLOCK, oid, want, 0, false, NULL);
	return after;
}

static void release(struct repl_export *exp, const struct nfs4r_oid *oid, const struct nfs4r_lock *what, const state_owner_t *owner)
{
	enum repl_given_back when = repl_lock_client_gives_back(exp, owner, oid, what);
	struct repl_locks *l = exp->locks;
	char text[NFS4R_OID_STRLEN];

	PTHREAD_MUTEX_lock(&l->lock);
	if (when == REPL_GIVEN_BACK_LATER) {
		l->look_ms = 0;
		pthread_cond_signal(&l->cond);
	}
	if (!nfs4r_locks_release(l->table, oid, &what->owner, what->start, what->last, repl_locks_now_ms()))
		REPL_LOG(Crit, "no memory to forget a part of a lock of file %s: reports show it until its program closes the file", nfs4r_oid_str(oid, text));
	PTHREAD_MUTEX_unlock(&l->lock);
	if (when == REPL_GIVEN_BACK)
		(void)ask(exp, NFS4R_OP_UNLOCK, oid, what, 0, false, NULL);
}

static void cancel(struct repl_export *exp, const struct nfs4r_oid *oid, const struct nfs4r_lock *what)
{
	PTHREAD_MUTEX_lock(&exp->locks->lock);
	nfs4r_locks_cancel(exp->locks->table, oid, what, repl_locks_now_ms());
	PTHREAD_MUTEX_unlock(&exp->locks->lock);
	(void)ask(exp, NFS4R_OP_UNWAIT, oid, what, 0, false, NULL);
}

/*
 * A client that asks, or Ganesha for one that waits, which it would notify if it heard that the lock is free. Whose turn it is, is decided elsewhere; but the client of what does not wait any
 * more, by whatever mistake, is notified.
 */
static enum nfs4r_status test(struct repl_export *exp, const struct nfs4r_oid *oid, const struct nfs4r_lock *want, state_owner_t *owner, struct nfs4r_lock *other)
{
	struct repl_locks *l = exp->locks;
	bool was;

	if (op_ctx->nfs_reqdata != NULL)
		return ask(exp, NFS4R_OP_LOCK_TEST, oid, want, 0, false, other);
	*other = *want;
	PTHREAD_MUTEX_lock(&l->lock);
	was = nfs4r_locks_follow_is_waiting(l->table, oid, want);
	if (!was && nfs4r_locks_follow_waits(l->table, oid, want, repl_lock_wait_of(owner, FSAL_OP_LOCKB), owner, repl_locks_now_ms()))
		nfs4r_locks_follow_notify(l->table, oid, want, false, repl_locks_now_ms());
	pthread_cond_signal(&l->cond);
	PTHREAD_MUTEX_unlock(&l->lock);
	return NFS4R_DENIED;
}

/* ---- a table that begins to follow ---- */

struct granted_here {
	struct granted_here *next;
	clientid4 number; /* of its client */
	struct nfs4r_oid oid;
	struct nfs4r_lock lock;
};

static void take(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_state state, uint64_t since_ms)
{
	struct granted_here **first = arg, *g;

	if (state != NFS4R_LOCK_SET)
		return;
	g = gsh_malloc(sizeof(*g));
	*g = (struct granted_here){ .next = *first, .number = lock->owner.client[0], .oid = *oid, .lock = *lock };
	*first = g;
}

/* The table that decides is no more; another one follows in its place. */
static bool replace_table(struct repl_locks *l, struct granted_here **granted)
{
	struct nfs4r_locks *table = nfs4r_locks_create(&(struct nfs4r_locks_config){ .max = repl_module.cfg.lock_max });

	if (table == NULL)
		return false;
	nfs4r_locks_follow(table);
	PTHREAD_MUTEX_lock(&l->lock);
	nfs4r_locks_walk(l->table, NULL, take, granted);
	nfs4r_locks_destroy(l->table);
	l->table = table;
	l->follows = true;
	PTHREAD_MUTEX_unlock(&l->lock);
	return true;
}

static void say_lost(struct repl_locks *l, const struct granted_here *g, enum nfs4r_status st)
{
	char text[NFS4R_OID_STRLEN];
	uint64_t more;

	if (nfs4r_said_may(&l->lost, repl_locks_now_ms(), 1, &more))
		REPL_LOG(Warn, "a lock of file %s that a client of this server has %s. Restart the programs that use the file (%" PRIu64 " more such locks before)", nfs4r_oid_str(&g->oid, text),
			 st == NFS4R_DENIED ? "excludes one that a client of another server has" : "could not be made known to the other servers", more);
}

/* True: it is to be asked again, a while later. */
static bool is_delayed(enum nfs4r_status st, uint64_t until_ms)
{
	if (st != NFS4R_DELAY || repl_locks_now_ms() >= until_ms)
		return false;
	nanosleep(&(struct timespec){ .tv_nsec = AGAIN_MS * 1000000L }, NULL);
	return true;
}

static void make_known(struct repl_export *exp, const struct granted_here *g, uint64_t until_ms)
{
	enum nfs4r_status st;

	do
		st = ask(exp, NFS4R_OP_LOCK, &g->oid, &g->lock, NFS4R_LOCK_TRY, true, NULL);
	while (is_delayed(st, until_ms));
	if (st != NFS4R_OK)
		say_lost(exp->locks, g, st);
}

/* Locks of before: their owners have other names from now on. */
static void switch_over(struct repl_export *exp, struct granted_here *first, uint64_t until_ms)
{
	struct repl_locks *l = exp->locks;
	enum nfs4r_status st;

	for (struct granted_here *g = first; g != NULL; g = g->next) {
		do
			st = repl_lock_client_known(exp, g->number, g->lock.owner.client);
		while (is_delayed(st, until_ms)); /* the volume has to have it in the list first */
		if (st == NFS4R_NOENT)
			continue; /* it is about to go, and its locks with it */
		PTHREAD_MUTEX_lock(&l->lock);
		(void)nfs4r_locks_follow_granted(l->table, &g->oid, &g->lock, repl_locks_now_ms());
		PTHREAD_MUTEX_unlock(&l->lock);
		make_known(exp, g, until_ms);
	}
}

static void take_waiting(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_state state, uint64_t since_ms)
{
	if (state != NFS4R_LOCK_SET)
		take(arg, oid, lock, NFS4R_LOCK_SET, since_ms);
}

static void free_all(struct granted_here *first)
{
	for (struct granted_here *g = first, *next; g != NULL; g = next) {
		next = g->next;
		gsh_free(g);
	}
}

/* Another engine has taken the place of the one that was asked before, and knows nothing of what this server's clients have. Those that wait are told to ask again. */
static void say_all_again(struct repl_export *exp, uint64_t until_ms)
{
	struct granted_here *granted = NULL, *waiting = NULL;
	struct repl_locks *l = exp->locks;

	PTHREAD_MUTEX_lock(&l->lock);
	nfs4r_locks_walk(l->table, NULL, take, &granted);
	nfs4r_locks_walk(l->table, NULL, take_waiting, &waiting);
	for (const struct granted_here *g = waiting; g != NULL; g = g->next)
		(void)nfs4r_locks_follow_notify(l->table, &g->oid, &g->lock, false, repl_locks_now_ms());
	pthread_cond_signal(&l->cond);
	PTHREAD_MUTEX_unlock(&l->lock);
	for (const struct granted_here *g = granted; g != NULL; g = g->next)
		make_known(exp, g, until_ms);
	free_all(granted);
	free_all(waiting);
}

/* Other requests wait for it. */
static bool is_switched(struct repl_export *exp)
{
	struct repl_locks *l = exp->locks;
	uint64_t until_ms = repl_locks_now_ms() + SWITCH_MS;
	struct granted_here *first = NULL;

	if (__atomic_load_n(&l->shared, __ATOMIC_ACQUIRE))
		return true;
	PTHREAD_MUTEX_lock(&l->switching);
	if (!l->shared && (l->follows || replace_table(l, &first))) {
		if (l->anew) {
			say_all_again(exp, until_ms);
			repl_lock_clients_have_all(exp);
		}
		switch_over(exp, first, until_ms);
		free_all(first);
		l->anew = false;
		__atomic_store_n(&l->shared, true, __ATOMIC_RELEASE);
		PTHREAD_MUTEX_lock(&l->lock);
		l->look_ms = 0; /* from now on, now and then */
		pthread_cond_signal(&l->cond);
		PTHREAD_MUTEX_unlock(&l->lock);
	}
	PTHREAD_MUTEX_unlock(&l->switching);
	return __atomic_load_n(&l->shared, __ATOMIC_ACQUIRE);
}

void repl_locks_make_known(struct repl_export *exp)
{
	struct repl_locks *l = exp->locks;

	if (!repl_locks_are_shared(exp) || !is_switched(exp) || __atomic_exchange_n(&l->opens_known, true, __ATOMIC_ACQ_REL))
		return;
	repl_shares_make_known(exp, repl_locks_now_ms() + SWITCH_MS);
	repl_locks_known(exp);
}

/* The thread looks at once. */
static void look_now(struct repl_locks *l)
{
	PTHREAD_MUTEX_lock(&l->lock);
	l->look_ms = 0;
	pthread_cond_signal(&l->cond);
	PTHREAD_MUTEX_unlock(&l->lock);
}

void repl_lops_locks_shared(void *ctx)
{
	struct repl_export *exp = ctx;

	look_now(exp->locks);
}

void repl_locks_open_unknown(struct repl_export *exp)
{
	__atomic_store_n(&exp->locks->opens_known, false, __ATOMIC_RELEASE);
	look_now(exp->locks);
}

void repl_locks_engine_anew(struct repl_export *exp)
{
	struct repl_locks *l = exp->locks;

	__atomic_store_n(&l->opens_known, false, __ATOMIC_RELEASE);
	PTHREAD_MUTEX_lock(&l->switching);
	if (l->shared) {
		l->anew = true;
		__atomic_store_n(&l->shared, false, __ATOMIC_RELEASE);
	}
	PTHREAD_MUTEX_unlock(&l->switching);
	if (l->anew)
		(void)is_switched(exp);
}

/* ---- what Ganesha asks for, and what the authority says ---- */

fsal_status_t repl_lock_shared(struct repl_export *exp, const struct nfs4r_oid *oid, state_owner_t *owner, fsal_lock_op_t op, const fsal_lock_param_t *request, struct nfs4r_lock *other)
{
	struct nfs4r_lock_owner who = repl_lock_owner(owner);
	struct nfs4r_lock want = repl_lock_request(&who, request);

	if (!is_switched(exp))
		return status_of(NFS4R_DELAY);
	switch (op) {
	case FSAL_OP_LOCKT:
		return status_of(test(exp, oid, &want, owner, other));
	case FSAL_OP_LOCK:
	case FSAL_OP_LOCKB:
		return status_of(acquire(exp, oid, &want, repl_lock_wait_of(owner, op), request->lock_reclaim, owner, other));
	case FSAL_OP_UNLOCK:
		release(exp, oid, &want, owner);
		break;
	case FSAL_OP_CANCEL:
		cancel(exp, oid, &want);
		break;
	}
	return status_of(NFS4R_OK);
}

void repl_lops_lock_ready(void *ctx, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock)
{
	struct repl_export *exp = ctx;
	struct repl_locks *l = exp->locks;

	PTHREAD_MUTEX_lock(&l->lock);
	if (!nfs4r_locks_follow_notify(l->table, oid, lock, true, repl_locks_now_ms()))
		(void)ask(exp, NFS4R_OP_UNWAIT, oid, lock, 0, false, NULL); /* before anybody can ask for it again */
	pthread_cond_signal(&l->cond);
	PTHREAD_MUTEX_unlock(&l->lock);
}

void repl_lops_lock_again(void *ctx, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock)
{
	struct repl_export *exp = ctx;
	struct repl_locks *l = exp->locks;

	PTHREAD_MUTEX_lock(&l->lock);
	nfs4r_locks_follow_again(l->table, oid, lock, repl_locks_now_ms());
	pthread_cond_signal(&l->cond);
	PTHREAD_MUTEX_unlock(&l->lock);
}

void repl_lops_fence(void *ctx, uint32_t number, uint32_t nlost)
{
	struct repl_export *exp = ctx;
	struct repl_locks *l = exp->locks;

	REPL_LOG(Warn, "this server was outside the active view, and locks of clients may be lost: all clients of this server get new sessions and reclaim their locks (clients that lost all: %u). A program that had a lost lock gets an I/O error", nlost);
	PTHREAD_MUTEX_lock(&l->lock);
	l->fence = number;
	pthread_cond_signal(&l->cond);
	PTHREAD_MUTEX_unlock(&l->lock);
}
