/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Inside of locks.c, locks_shared.c and lock_clients.c. Needs sal_data.h. */
#ifndef REPL_LOCKS_INT_H
#define REPL_LOCKS_INT_H

#include "repl.h"

#include "base/locks.h"
#include "base/said.h"

struct repl_locks {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct nfs4r_locks *table; /* under lock, as the rest is */
	struct nfs4r_said full, volume_full, lost;
	pthread_t thread;
	uint64_t look_ms; /* when the thread has to look for clients that are gone, or back */
	uint32_t fence; /* 0, or the number of one that the thread has to carry out */
	bool running, ends;
	bool grace_ended; /* Ganesha's; of the thread */
	bool follows; /* the table does */
	pthread_mutex_t switching; /* before lock: while the table begins to follow (locks_shared.c) */
	bool anew; /* another engine has to hear of all that clients have; under switching */
	bool shared; /* that is over; atomic, written under switching */
	bool opens_known; /* the present engine has heard of all opens; atomic */
};

uint64_t repl_locks_now_ms(void);
/* What clients had before locks and opens held everywhere, and before the present engine, is made known now, if it is not. May wait for other servers. */
void repl_locks_make_known(struct repl_export *exp);
/* The request of that owner. A length of 0 is all to the end. */
struct nfs4r_lock repl_lock_request(const struct nfs4r_lock_owner *owner, const fsal_lock_param_t *request);
fsal_lock_param_t repl_lock_param(const struct nfs4r_lock *lock);
enum nfs4r_lock_wait repl_lock_wait_of(const state_owner_t *owner, fsal_lock_op_t op);
/* For the one whom a full table refuses something of @oid, which the log says now and then. l->lock is taken. */
void repl_lock_say_full(struct repl_locks *l, const struct nfs4r_oid *oid);
/* The same for what the volume refuses. Takes l->lock. */
void repl_lock_say_volume_full(struct repl_export *exp, const struct nfs4r_oid *oid);

/* The answer to @op in a volume whose locks hold at all servers. *other: the lock in the way, with CONFLICT and WAITS; type 0: there is none, or it is not known. */
fsal_status_t repl_lock_shared(struct repl_export *exp, const struct nfs4r_oid *oid, state_owner_t *owner, fsal_lock_op_t op, const fsal_lock_param_t *request, struct nfs4r_lock *other);

#endif
