/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * OPEN and CLOSE of one file by one client at the same time (decision 0021).
 *
 * All processes of a client's user that have a file open share one open state at the server. Each OPEN makes its seqid one higher, and a CLOSE that says an older
 * one is refused (OLD_STATEID), for its sender did not know of the OPEN. Ganesha 6.5 compares the seqid before it takes the lock of the file's states, and OPEN makes it
 * higher after it has left that lock. So an OPEN may be answered with the next seqid of a state that a CLOSE takes away, or two OPENs with the same one; and a Linux client waits five
 * seconds for the answer with the one in between, that there is none of (its issue 1395).
 *
 * Happy path: every CLOSE is announced by the handle in front of it (wire_to_host), and by the attributes that are asked for between the two; that is the last that we see of a request
 * before Ganesha compares. An OPEN of a state that is there comes by (reopen2), under the lock. Whoever comes second sees the first one here. An OPEN behind a CLOSE hears DELAY, and finds no
 * state or a quiet one when it comes again. So does a CLOSE behind an OPEN that it does not know of, until the client has surely heard of that: Linux, refused earlier, waits
 * for what it has not heard, and was seen to stand still then. An OPEN behind another one waits for a moment, until that has its number and, since Ganesha reads the number from the state
 * once more, has come by again for what its client asks for behind it; if that takes long (it waits for a processor, or for another server's attributes of the directory) it hears DELAY, too.
 *
 * Failure modes: a CLOSE that is announced and does not come, or is refused for another reason: its mark ends after CLOSING_US, an OPEN until then comes again. An OPEN that fails
 * never gets its number: its mark is taken back. An OPEN behind which nothing is asked for: the next one hears DELAY for PAUSE_US. A thread that stands still for longer than these times, and two states
 * in one slot, of which the later one counts: as without all this. NFSv4.0 numbers all requests of an owner; nothing is done there.
 */
#include "repl.h"

#define SLOTS 1024
#define TRY_US 20
#define TRIES 20 /* an OPEN has its number some 20 microseconds after it came by here */
#define CLOSING_US 1000000 /* from a CLOSE's last look here until its state is gone: the same, unless somebody has the lock */
#define OPENED_US 60000000 /* no OPEN takes so long */
#define PAUSE_US 50000 /* from an OPEN's number until its client has it */

struct mark {
	char other[OTHERSIZE]; /* of the state's stateid */
	uint64_t at_us; /* 0: none */
	uint32_t seqid; /* of the last OPEN that came by, or what a CLOSE says */
	const struct state_t *state; /* of an opened one; it is there until close2 */
};

static struct {
	pthread_mutex_t lock;
	struct mark opened[SLOTS], closing[SLOTS];
	struct answer { /* of an OPEN, being made */
		const struct state_t *state; /* a key only: it may be gone */
		uint64_t at_us;
	} answer[SLOTS];
} race = { .lock = PTHREAD_MUTEX_INITIALIZER };

static __thread const struct state_t *answers; /* this thread, an OPEN of it; a key only */

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
static struct mark *find(struct mark *marks, const char *other, uint64_t us)
{
	struct mark *m = slot(marks, other);

	return m->at_us && now_us() - m->at_us < us && memcmp(m->other, other, OTHERSIZE) == 0 ? m : NULL;
}

static void set(struct mark *marks, const char *other, uint32_t seqid, const struct state_t *state)
{
	struct mark *m = slot(marks, other);

	memcpy(m->other, other, OTHERSIZE);
	m->at_us = now_us();
	m->seqid = seqid;
	m->state = state;
}

static void clear(struct mark *marks, const char *other)
{
	struct mark *m = slot(marks, other);

	if (memcmp(m->other, other, OTHERSIZE) == 0)
		*m = (struct mark){ .at_us = 0 };
}

static struct answer *answer_of(const struct state_t *state)
{
	return &race.answer[((uintptr_t)state >> 5) % SLOTS];
}

static void begin_answer(const struct state_t *state)
{
	*answer_of(state) = (struct answer){ .state = state, .at_us = now_us() };
}

static void end_answer(const struct state_t *state)
{
	if (answer_of(state)->state == state)
		answer_of(state)->state = NULL;
}

/* Its number is in the state already, and may be read from there once more. */
static bool is_being_answered(const struct state_t *state)
{
	return answer_of(state)->state == state && now_us() - answer_of(state)->at_us < PAUSE_US;
}

/* 0 means whatever is the newest. */
static bool is_older(uint32_t seqid, uint32_t than)
{
	return seqid != 0 && (int32_t)(seqid - than) < 0;
}

static uint32_t seqid_of(const struct state_t *state)
{
	return __atomic_load_n(&state->state_seqid, __ATOMIC_ACQUIRE);
}

/* The OPEN that came by last has not got its number yet. */
static bool is_numberless(const struct mark *opened)
{
	return opened != NULL && is_older(seqid_of(opened->state), opened->seqid);
}

/* True: an OPEN that it does not know of has not got its number yet, or the client may not have that yet. */
static bool close_comes_early(const stateid4 *id)
{
	const struct mark *opened;
	bool early = false;

	pthread_mutex_lock(&race.lock);
	opened = find(race.opened, id->other, OPENED_US);
	if (opened == NULL || !is_older(id->seqid, opened->seqid))
		set(race.closing, id->other, id->seqid, NULL);
	else /* or it will be refused, and hinders nobody */
		early = is_numberless(opened) || now_us() - opened->at_us < PAUSE_US;
	pthread_mutex_unlock(&race.lock);
	return early;
}

/* The next such operation of the request under way, from the *@i-th on, or NULL; *@i is the one behind it. */
static const nfs_argop4 *next_op(nfs_opnum4 which, u_int *i)
{
	const COMPOUND4args *c = repl_compound_args();

	while (c != NULL && c->minorversion != 0 && *i < c->argarray.argarray_len) {
		const nfs_argop4 *op = &c->argarray.argarray_val[(*i)++];

		if (op->argop == which)
			return op;
	}
	return NULL;
}

bool repl_close_ahead(void)
{
	const nfs_argop4 *op;

	for (u_int i = 0; (op = next_op(NFS4_OP_CLOSE, &i)) != NULL;)
		if (close_comes_early(&op->nfs_argop4_u.opclose.open_stateid))
			return true;
	return false;
}

void repl_close_off(void)
{
	const nfs_argop4 *op;

	pthread_mutex_lock(&race.lock);
	for (u_int i = 0; (op = next_op(NFS4_OP_CLOSE, &i)) != NULL;)
		clear(race.closing, op->nfs_argop4_u.opclose.open_stateid.other);
	pthread_mutex_unlock(&race.lock);
}

static bool is_open_request(void)
{
	u_int i = 0;

	return next_op(NFS4_OP_OPEN, &i) != NULL;
}

enum meeting {
	QUIET,
	BUSY,
	MEETS
};

/* BUSY: an OPEN before this one has not got its number yet, or not into its answer; 0: the first one. */
static enum meeting open_comes(const struct state_t *state)
{
	enum meeting what = QUIET;
	const struct mark *closing;

	pthread_mutex_lock(&race.lock);
	uint32_t seqid = seqid_of(state);

	closing = find(race.closing, state->stateid_other, CLOSING_US);
	if (closing != NULL && !is_older(closing->seqid, seqid)) { /* or it is refused */
		what = MEETS;
	} else if (seqid == 0 || is_numberless(find(race.opened, state->stateid_other, OPENED_US))) {
		what = BUSY;
		begin_answer(state);
	} else if (is_being_answered(state)) {
		what = BUSY;
	} else {
		set(race.opened, state->stateid_other, seqid + 1, state);
		begin_answer(answers = state);
	}
	pthread_mutex_unlock(&race.lock);
	return what;
}

void repl_open_begun(const struct state_t *state)
{
	if (!is_open_request())
		return;
	pthread_mutex_lock(&race.lock);
	begin_answer(answers = state);
	pthread_mutex_unlock(&race.lock);
}

void repl_open_over(void)
{
	u_int i = 0;

	if (answers == NULL || next_op(NFS4_OP_OPEN, &i) == NULL || repl_compound_done() < i)
		return;
	pthread_mutex_lock(&race.lock);
	end_answer(answers);
	pthread_mutex_unlock(&race.lock);
	answers = NULL;
}

bool repl_open_comes_early(const struct state_t *state)
{
	enum meeting what;

	if (!is_open_request())
		return false;
	for (int tries = 1; (what = open_comes(state)) == BUSY && tries < TRIES; tries++)
		nanosleep(&(struct timespec){ .tv_nsec = TRY_US * 1000 }, NULL);
	return what != QUIET;
}

void repl_open_failed(const struct state_t *state)
{
	if (!is_open_request())
		return;
	pthread_mutex_lock(&race.lock);
	set(race.opened, state->stateid_other, seqid_of(state), state);
	end_answer(state);
	pthread_mutex_unlock(&race.lock);
}

void repl_close_over(const struct state_t *state)
{
	pthread_mutex_lock(&race.lock);
	clear(race.closing, state->stateid_other);
	clear(race.opened, state->stateid_other);
	end_answer(state);
	pthread_mutex_unlock(&race.lock);
}
