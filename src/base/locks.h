/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Byte-range locks: who holds which range of which file, and who waits for one. A pure table: no thread, no clock, no file. Whoever has it calls it from one
 * thread at a time and says what time it is. FSAL_REPL has one for the locks of this server's clients.
 *
 * Ranges behave as POSIX says of fcntl(). The locks of one owner never conflict with each other: a new one replaces what it covers, so that a range is split, cut,
 * raised or lowered. Neighbours of one type, and one life, are one range. Locks of two owners conflict when they overlap and one of them is a write lock.
 *
 * Waiters are served in the order in which they came. An owner that has a lock of the file is in front of those that have none, whatever it asks for. Else both could wait for each other, as when a
 * lock is lowered, raised or asked for again while others wait. A waiter is not granted its lock; it is *reserved*. Nobody else can have it then, and its client is told to ask again
 * (nfs4r_locks_notice()). Asking again makes the lock held. A client that does not ask within reserve_ms goes to the end of the queue with all
 * its requests of that file, if others wait for the same range. A request that does not wait is decided by what is held and reserved alone, as a non-blocking fcntl() is.
 *
 * A table of this kind decides. A second one may follow it at another place: see nfs4r_locks_follow().
 *
 * A *polling* waiter is one whose client cannot be told. Nothing is reserved for it, since it may ask half a minute later, and nobody waits for it. It gets the lock if that
 * is free when it asks.
 */
#ifndef NFS4R_BASE_LOCKS_H
#define NFS4R_BASE_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/oid.h"

#define NFS4R_LOCKS_FILE_MAX 65536 /* ranges of one file */
#define NFS4R_LOCKS_WAITERS_MAX 4096 /* of one file */
#define NFS4R_LOCKS_LIST_MAX 4096 /* ranges of one file over all servers: one entry of the log lists them all */

/* Two owners are the same if all of it is. The first half is the client. */
struct nfs4r_lock_owner {
	uint64_t client[2], owner[2];
};

enum nfs4r_lock_type {
	NFS4R_LOCK_READ = 1,
	NFS4R_LOCK_WRITE
};

struct nfs4r_lock {
	struct nfs4r_lock_owner owner;
	enum nfs4r_lock_type type;
	uint64_t start, last; /* bytes, both in it; start <= last */
	uint64_t life; /* of its client at its server: since which of its numbers it has not lost everything (locks 7, 12). Ranges of two lives are not joined; 0 where that does not matter */
};

/* A lock, and whose it is (locks 2): as it is said between servers and stands in the log. */
struct nfs4r_file_lock {
	struct nfs4r_lock lock;
	nfs4r_server_id holder; /* the server of the owner's client */
	uint64_t inc; /* that server's start, as the transport names it */
	uint64_t n; /* of the holder's request that was granted last to this owner (locks 4) */
};

struct nfs4r_locks_config {
	uint32_t max; /* ranges and waiters together; at least 1 */
	uint32_t reserve_ms; /* 0: for ever, until the lock is fetched or cancelled */
};

enum nfs4r_lock_answer {
	NFS4R_LOCK_GRANTED = 1,
	NFS4R_LOCK_CONFLICT, /* somebody else has it */
	NFS4R_LOCK_WAITS, /* the same, and the request is in the queue */
	NFS4R_LOCK_FULL /* a bound is reached, or no memory; nothing has changed */
};

enum nfs4r_lock_wait {
	NFS4R_LOCK_TRY = 1, /* does not wait */
	NFS4R_LOCK_QUEUE,
	NFS4R_LOCK_POLL
};

struct nfs4r_locks;

/* NULL: no memory. */
struct nfs4r_locks *nfs4r_locks_create(const struct nfs4r_locks_config *cfg);
void nfs4r_locks_destroy(struct nfs4r_locks *t);

/*
 * @want for the caller. With CONFLICT and WAITS *conflict (may be NULL) is one of the locks in the way. @tag comes back with the notices of a waiter. Asking again
 * for what waits keeps the place in the queue; for what is reserved, it is granted.
 */
enum nfs4r_lock_answer nfs4r_locks_acquire(struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *want, enum nfs4r_lock_wait wait, void *tag,
					   uint64_t now_ms, struct nfs4r_lock *conflict);
/* The same, but a read lock leaves write locks of its owner, and of its life, what they are: the owner may have them until it has heard that it is granted. */
enum nfs4r_lock_answer nfs4r_locks_acquire_beside(struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *want, enum nfs4r_lock_wait wait, void *tag,
						  uint64_t now_ms, struct nfs4r_lock *conflict);
/*
 * Nothing of @owner's between @start and @last is held after it; waiters stay. False: there was no memory to split a range, and that range is still held as a whole.
 * A granted request sets memory aside for one such split.
 */
bool nfs4r_locks_release(struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock_owner *owner, uint64_t start, uint64_t last, uint64_t now_ms);
/* @what waits no longer, and is not reserved. False: it did not wait. */
bool nfs4r_locks_cancel(struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *what, uint64_t now_ms);
/* @what, which waits, has done so since then: its place in the queue is before all that wait for less long and are not reserved. */
void nfs4r_locks_waits_since(struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *what, uint64_t since_ms, uint64_t now_ms);
/* @what is in the queue after it, as it was or at its end, or there is no room. If it may be had, its client is told. */
void nfs4r_locks_wait_again(struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *what, enum nfs4r_lock_wait wait, void *tag, uint64_t now_ms);
/* Could the owner of @want have it? False: *conflict is in the way. */
bool nfs4r_locks_test(const struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *want, struct nfs4r_lock *conflict);

/*
 * A table can *follow* another one, which decides: its locks are what its clients have been answered. Then nothing conflicts and nothing is anybody's turn by itself, no reservation ends by itself, and
 * acquire(), wait_again() and test() are not called. What is given back, or cancelled, only goes.
 */
void nfs4r_locks_follow(struct nfs4r_locks *t); /* from now on; what was reserved waits */
/* Is there room for one more range or waiter of @oid? */
bool nfs4r_locks_has_room(const struct nfs4r_locks *t, const struct nfs4r_oid *oid);
/* @lock is granted, and the same request waits no longer. False: no memory. */
bool nfs4r_locks_follow_granted(struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, uint64_t now_ms);
/* @lock is being asked for, or asked for again, and waits. Its client is not told anything any more. False: no room, or no memory. */
bool nfs4r_locks_follow_waits(struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_wait wait, void *tag, uint64_t now_ms);
/* The client of what waits is told to ask again, until it does: it is @reserved for it, or the request may be forgotten. False: it does not wait. */
bool nfs4r_locks_follow_notify(struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, bool reserved, uint64_t now_ms);
/* What was reserved is not any more, and waits as before; if it polls, its client is told to ask now. */
void nfs4r_locks_follow_again(struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, uint64_t now_ms);
bool nfs4r_locks_follow_is_waiting(const struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock); /* this very request */

/* A waiter whose client has to be told now to ask again. */
struct nfs4r_lock_notice {
	struct nfs4r_oid oid;
	struct nfs4r_lock lock;
	void *tag;
};

/* The next one of @now_ms; false: none is left. It also ends what was reserved for too long. A notice comes again, less and less often, until its lock is fetched or cancelled. */
bool nfs4r_locks_notice(struct nfs4r_locks *t, uint64_t now_ms, struct nfs4r_lock_notice *out);
/* When nfs4r_locks_notice() has to be called next; UINT64_MAX: not before something else changes. */
uint64_t nfs4r_locks_due(const struct nfs4r_locks *t);

struct nfs4r_locks_count {
	uint32_t files, ranges, waiting, reserved; /* the reserved wait, too */
};

struct nfs4r_locks_count nfs4r_locks_count(const struct nfs4r_locks *t);

/* How many write locks nfs4r_locks_acquire_beside() would leave what they are. */
uint32_t nfs4r_locks_left(const struct nfs4r_locks *t, const struct nfs4r_oid *oid, const struct nfs4r_lock *want);

/* Has anybody a lock of @oid? What waits, or is reserved, does not count. */
bool nfs4r_locks_any(const struct nfs4r_locks *t, const struct nfs4r_oid *oid);

enum nfs4r_lock_state {
	NFS4R_LOCK_SET = 1,
	NFS4R_LOCK_WAITING,
	NFS4R_LOCK_RESERVED
};

/* All of the file, or of all files (@oid NULL): what is held by its first byte, then the queue in its order. @fn must not change the table. */
void nfs4r_locks_walk(const struct nfs4r_locks *t, const struct nfs4r_oid *oid,
		      void (*fn)(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_state state, uint64_t since_ms), void *arg);

#endif
