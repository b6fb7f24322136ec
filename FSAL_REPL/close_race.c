/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * OPEN and CLOSE of one file by one client at the same time (docs/decisions/0021).
 *
 * All processes of a client's user that have a file open share one open state at the server. Each OPEN makes its seqid one higher, and a CLOSE that says an older
 * one is refused (OLD_STATEID), for its sender did not know of the OPEN. Ganesha 6.5 compares the seqid before it takes the lock of the file's states, and OPEN makes it
 * higher after it has left that lock. So an OPEN may be answered with the next seqid of a state that a CLOSE takes away, or two OPENs with the same one; and a Linux client waits five
 * seconds for the answer with the one in between, that there is none of (its issue 1395).
 *
 * Happy path: every CLOSE is announced by the handle in front of it (wire_to_host), and by the attributes that are asked for between the two; that is the last that we see of a request
 * before Ganesha compares. An OPEN of a state that is there comes by (reopen2), under the lock. Whoever comes second sees the first one here. The OPEN then hears DELAY, and finds no state or
 * a quiet one when it comes again; the CLOSE waits for a moment, until the OPEN has its number, and is refused as it should be. An OPEN behind another one waits, too, until that has its number:
 * the other one has left the lock for good.
 *
 * Failure modes: a CLOSE that is announced and refused for another reason: its mark ends after CLOSING_US, an OPEN until then waits once more. An OPEN that fails
 * never gets its number: its mark is taken back. A thread that stands still for longer than these times, and two states in one slot, of which the later one counts: as without all this. NFSv4.0 numbers all requests of an owner; nothing is done there.
 */
#include "repl.h"

#define SLOTS 1024
#define SETTLE_US 5000	/* from an OPEN's look here until Ganesha has given it its number: some 20, unless the thread has to wait for a processor */
#define TRY_US 20
#define TRIES 20
#define CLOSING_US 50000 /* from a CLOSE's last look here until its state is gone: the same */

struct mark {
	char other[OTHERSIZE]; /* of the state's stateid */
	uint64_t at_us;	       /* 0: none */
	uint32_t seqid;	       /* of an opened state: the number of the last OPEN that came by */
};

static struct {
	pthread_mutex_t lock;
	struct mark opened[SLOTS], closing[SLOTS];
} race = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static struct mark *slot(struct mark *marks, const char *other)
{
	uint64_t h = 0;

	for (int i = 0; i < OTHERSIZE; i++)
		h = (h ^ (uint8_t)other[i]) * UINT64_C(0x100000001b3);
	return &marks[(h ^ h >> 32) % SLOTS];
}

/* NULL, or what is known of @other since @us ago. */
static struct mark *find(struct mark *marks, const char *other, uint64_t now, uint64_t us)
{
	struct mark *m = slot(marks, other);

	return m->at_us && now - m->at_us < us && memcmp(m->other, other, OTHERSIZE) == 0 ? m : NULL;
}

static void set(struct mark *marks, const char *other, uint64_t now, uint32_t seqid)
{
	struct mark *m = slot(marks, other);

	memcpy(m->other, other, OTHERSIZE);
	m->at_us = now;
	m->seqid = seqid;
}

/* 0 means whatever is the newest. */
static bool is_older(uint32_t seqid, uint32_t than)
{
	return seqid != 0 && (int32_t)(seqid - than) < 0;
}

static void close_comes(const stateid4 *id)
{
	struct mark *opened;
	bool overtaken, wait;

	pthread_mutex_lock(&race.lock);
	uint64_t now = now_us(); /* no mark is of a later time */

	opened = find(race.opened, id->other, now, CLOSING_US);
	overtaken = opened != NULL && is_older(id->seqid, opened->seqid);
	wait = overtaken && now - opened->at_us < SETTLE_US;
	if (!overtaken) /* or it would be refused */
		set(race.closing, id->other, now, 0);
	pthread_mutex_unlock(&race.lock);
	if (wait)
		nanosleep(&(struct timespec){ .tv_nsec = SETTLE_US * 1000 }, NULL);
}

void repl_close_ahead(void)
{
	const COMPOUND4args *c = repl_compound_args();

	if (c == NULL || c->minorversion == 0)
		return;
	for (u_int i = 0; i < c->argarray.argarray_len; i++)
		if (c->argarray.argarray_val[i].argop == NFS4_OP_CLOSE)
			close_comes(&c->argarray.argarray_val[i].nfs_argop4_u.opclose.open_stateid);
}

static bool is_open_request(void)
{
	const COMPOUND4args *c = repl_compound_args();

	for (u_int i = 0; c != NULL && c->minorversion != 0 && i < c->argarray.argarray_len; i++)
		if (c->argarray.argarray_val[i].argop == NFS4_OP_OPEN)
			return true;
	return false;
}

enum meeting { QUIET, BUSY, MEETS };

/* BUSY: an OPEN before this one has not got its number yet; 0: the first one. */
static enum meeting open_comes(const struct state_t *state, bool last_try)
{
	uint32_t seqid = __atomic_load_n(&state->state_seqid, __ATOMIC_ACQUIRE);
	enum meeting what = QUIET;
	struct mark *opened;

	pthread_mutex_lock(&race.lock);
	uint64_t now = now_us();

	opened = find(race.opened, state->stateid_other, now, SETTLE_US);
	if (find(race.closing, state->stateid_other, now, CLOSING_US) != NULL)
		what = MEETS;
	else if (!last_try && (seqid == 0 || (opened != NULL && is_older(seqid, opened->seqid))))
		what = BUSY;
	else
		set(race.opened, state->stateid_other, now, seqid + 1);
	pthread_mutex_unlock(&race.lock);
	return what;
}

bool repl_open_meets_close(const struct state_t *state)
{
	enum meeting what = QUIET;

	if (!is_open_request())
		return false;
	for (int i = 1; i <= TRIES && (what = open_comes(state, i == TRIES)) == BUSY; i++)
		nanosleep(&(struct timespec){ .tv_nsec = TRY_US * 1000 }, NULL);
	return what == MEETS;
}

void repl_open_failed(const struct state_t *state)
{
	if (!is_open_request())
		return;
	pthread_mutex_lock(&race.lock);
	set(race.opened, state->stateid_other, now_us(), __atomic_load_n(&state->state_seqid, __ATOMIC_ACQUIRE));
	pthread_mutex_unlock(&race.lock);
}

void repl_close_over(const struct state_t *state)
{
	struct mark *m;

	pthread_mutex_lock(&race.lock);
	m = find(race.closing, state->stateid_other, now_us(), CLOSING_US);
	if (m != NULL)
		m->at_us = 0;
	pthread_mutex_unlock(&race.lock);
}
