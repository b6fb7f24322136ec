/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The checker of locks. It is told what clients ask for and hear, and which servers can serve now; it knows no message, no table and no claim. So
 * it can be tested with histories that are made up (t_locker.c).
 *
 * An owner *believes* in a lock from the answer that grants it until it asks for the unlock or hears that the lock is lost. A belief is *usable* while the server of its
 * owner can serve, and the owner does not have to reclaim it. A lock that is reserved for a waiter counts as if its owner believed in it, beside what it believes of the same bytes. What is checked:
 *
 *  - no two usable beliefs conflict;
 *  - a client that loses a lock to somebody else hears of it before its server serves it again;
 *  - a lock is lost, or granted to somebody else, only when its client's lease has ended, or its server has been outside the view for long enough;
 *  - bytes that are read under a lock are those that were written under the last one that covered them;
 *  - a request that does not wait is refused only when somebody has been in its way lately. Who gave back at the same server what it had there, and was answered before, is not;
 *  - a test overlooks nobody who has had a lock for long, and cannot have lost it. It may be answered where control that was won at a majority is not known yet;
 *  - nobody waits for longer than the bound for what no belief is in the way of;
 *  - nobody is overtaken LOCKER_OVERTAKEN times by others that began to wait later. The order may get lost where the queue moves to another server, and not again and again;
 *  - at the end nobody believes in anything, and nobody waits.
 *
 * Owners and files are small numbers. A file has LOCKER_BYTES bytes, in words of four; all bytes beyond are one. Times are us of the simulated world.
 * The first finding stays in locker_failure().
 */
#ifndef NFS4R_TESTS_SIM_LOCKER_H
#define NFS4R_TESTS_SIM_LOCKER_H

#include <stdbool.h>
#include <stdint.h>

#define LOCKER_FILES 32
#define LOCKER_OWNERS 96
#define LOCKER_SERVERS 8 /* numbers 0..7 */
#define LOCKER_BYTES 64
#define LOCKER_WORDS (LOCKER_BYTES / 4)
#define LOCKER_OVERTAKEN 100
#define LOCKER_END UINT64_MAX /* last byte of a range that has no end */

enum locker_type {
	LOCKER_READ = 1,
	LOCKER_WRITE
};

struct locker_range { /* of @file, bytes start..last, both in it; start <= LOCKER_BYTES */
	uint32_t file;
	enum locker_type type;
	uint64_t start, last;
};

struct locker;

/* @bound_us: how long a lock may be free before its waiter has it, how long somebody who was in the way may still count as such while messages arrive, and how long a test may lag. */
struct locker *locker_create(uint64_t bound_us);
void locker_destroy(struct locker *l);
/* NULL, or the first finding. */
const char *locker_failure(const struct locker *l);

/* The owner lives at this server, from now on. */
void locker_owner(struct locker *l, uint32_t owner, uint32_t server);
/* Can clients of @server use their locks now? */
void locker_serves(struct locker *l, uint32_t server, bool serves);
/* This one cannot, whatever its server can: it has to reclaim its locks first, as after the server's restart. */
void locker_recovers(struct locker *l, uint32_t owner, bool recovers);

/* What the owner has may be lost from now on: its client's lease has ended, or its server has been outside the view for long enough. Not so what it is granted, or reclaims, later. */
void locker_may_lose(struct locker *l, uint32_t owner);

/* A request that does not wait leaves; then one of the two below, or locker_no_answer(): it was answered "come again". */
void locker_asks(struct locker *l, uint64_t now, uint32_t owner, const struct locker_range *r);
void locker_no_answer(struct locker *l, uint32_t owner);
/* The lock is the owner's. Ends its request, its wait and its reservation. Of what it had in the range before only what this says is left. If its server cannot serve it may be lost already. */
void locker_granted(struct locker *l, uint64_t now, uint32_t owner, const struct locker_range *r);
void locker_denied(struct locker *l, uint64_t now, uint32_t owner);
/* The owner asks for an unlock. The type is not looked at. */
void locker_unlocks(struct locker *l, uint64_t now, uint32_t owner, const struct locker_range *r);
/* That has been answered: at its own server nobody is refused what it gave back from now on. */
void locker_unlocked(struct locker *l, uint64_t now, uint32_t owner, const struct locker_range *r);
/* What the owner has in the range was reclaimed with success: nobody else may have had it meanwhile. If its server cannot serve that is what it heard earlier, and says nothing. */
void locker_reclaimed(struct locker *l, uint64_t now, uint32_t owner, const struct locker_range *r);
/* The owner hears that what it has in the range is lost. */
void locker_lost(struct locker *l, uint64_t now, uint32_t owner, const struct locker_range *r);

/* LOCKT leaves, and is answered. */
void locker_tests(struct locker *l, uint32_t owner, const struct locker_range *r);
void locker_tested(struct locker *l, uint32_t owner, bool is_free);

/* The owner was told that it waits; it gives up. */
void locker_waits(struct locker *l, uint64_t now, uint32_t owner, const struct locker_range *r);
void locker_gives_up(struct locker *l, uint64_t now, uint32_t owner);
/* What it waits for is reserved for it; locker_granted() when it asks again, or it is given back: then it waits no more. */
void locker_reserved(struct locker *l, uint64_t now, uint32_t owner, const struct locker_range *r);
void locker_gives_back(struct locker *l, uint64_t now, uint32_t owner);
bool locker_is_waiting(const struct locker *l, uint32_t owner);

/* Words first..first+n-1 become @word. A write that began may be seen from then on; one that ended well has to be. @ok false: nobody knows. */
void locker_write_begins(struct locker *l, uint32_t owner, uint32_t file, uint32_t first, uint32_t n, uint32_t word);
void locker_write_ends(struct locker *l, uint32_t owner, uint32_t file, uint32_t first, uint32_t n, uint32_t word, bool ok);
/* What it read, under a lock that it has had since before. */
void locker_reads(struct locker *l, uint32_t owner, uint32_t file, uint32_t first, uint32_t n, const uint32_t *words);

/* Does the owner have all of the range, by this type or more? */
bool locker_has(const struct locker *l, uint32_t owner, const struct locker_range *r);
/* The @n-th piece that it has of the file; false: there are not so many. */
bool locker_piece(const struct locker *l, uint32_t owner, uint32_t file, uint32_t n, struct locker_range *out);
/* Does it have anything of the file, or of any file (UINT32_MAX)? */
bool locker_has_any(const struct locker *l, uint32_t owner, uint32_t file);

/* Time goes on; @trouble: messages do not arrive just now, so nobody is late. */
void locker_time(struct locker *l, uint64_t now, bool trouble);
/* The run is over. */
void locker_ends(struct locker *l);

#endif
