/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Byte-range locks: each rule by hand, then random operations against a model that knows bytes and not ranges. */
#include "lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/locks.h"

static const struct nfs4r_oid oid = { { 1 } };
#define FOREVER UINT64_MAX
#define RESERVE_MS 5000

static struct nfs4r_locks *table(uint32_t max)
{
	const struct nfs4r_locks_config cfg = { .max = max, .reserve_ms = RESERVE_MS };
	struct nfs4r_locks *t = nfs4r_locks_create(&cfg);

	assert_non_null(t);
	return t;
}

static struct nfs4r_lock lock_of(uint64_t owner, enum nfs4r_lock_type type, uint64_t start, uint64_t last)
{
	return (struct nfs4r_lock){ .owner = { .client = { owner > 3 ? 8 : 7 }, .owner = { owner } }, .type = type, .start = start, .last = last };
}

static enum nfs4r_lock_answer ask(struct nfs4r_locks *t, uint64_t owner, char type, uint64_t start, uint64_t last, enum nfs4r_lock_wait wait, uint64_t now)
{
	struct nfs4r_lock want = lock_of(owner, type == 'r' ? NFS4R_LOCK_READ : NFS4R_LOCK_WRITE, start, last), other;

	return nfs4r_locks_acquire(t, &oid, &want, wait, (void *)(uintptr_t)owner, now, &other);
}

#define GRANTED(...) assert_int_equal(ask(t, __VA_ARGS__), NFS4R_LOCK_GRANTED)
#define CONFLICT(...) assert_int_equal(ask(t, __VA_ARGS__), NFS4R_LOCK_CONFLICT)
#define WAITS(...) assert_int_equal(ask(t, __VA_ARGS__), NFS4R_LOCK_WAITS)

static void release(struct nfs4r_locks *t, uint64_t owner, uint64_t start, uint64_t last, uint64_t now)
{
	struct nfs4r_lock who = lock_of(owner, NFS4R_LOCK_READ, 0, 0);

	assert_true(nfs4r_locks_release(t, &oid, &who.owner, start, last, now));
}

static void describe(void *arg, const struct nfs4r_oid *o, const struct nfs4r_lock *l, enum nfs4r_lock_state state, uint64_t since_ms)
{
	char *text = arg;
	size_t n = strlen(text);

	snprintf(text + n, 512 - n, "%s%s%llu%c%llu-%llu", n == 0 ? "" : " ", state == NFS4R_LOCK_WAITING ? "?" : state == NFS4R_LOCK_RESERVED ? "!" :
																		 "",
		 (unsigned long long)l->owner.owner[0], l->type == NFS4R_LOCK_READ ? 'r' : 'w', (unsigned long long)l->start, (unsigned long long)l->last);
}

#define HAS(text_)                                         \
	do {                                               \
		char all_[512] = "";                       \
		nfs4r_locks_walk(t, &oid, describe, all_); \
		assert_string_equal(all_, text_);          \
	} while (0)

/* The owner that has to be told, or 0. */
static uint64_t told(struct nfs4r_locks *t, uint64_t now)
{
	struct nfs4r_lock_notice n;

	return nfs4r_locks_notice(t, now, &n) ? (uint64_t)(uintptr_t)n.tag : 0;
}

static void ranges_of_one_owner_are_split_cut_raised_lowered_and_merged(void **state)
{
	struct nfs4r_locks *t = table(100);

	GRANTED(1, 'w', 10, 19, NFS4R_LOCK_TRY, 0);
	GRANTED(1, 'r', 13, 15, NFS4R_LOCK_TRY, 0);
	HAS("1w10-12 1r13-15 1w16-19");
	GRANTED(1, 'w', 13, 15, NFS4R_LOCK_TRY, 0);
	HAS("1w10-19");
	GRANTED(1, 'w', 20, 29, NFS4R_LOCK_TRY, 0);
	GRANTED(1, 'w', 0, 9, NFS4R_LOCK_TRY, 0);
	HAS("1w0-29");
	GRANTED(1, 'r', 40, 50, NFS4R_LOCK_TRY, 0);
	GRANTED(1, 'w', 25, 45, NFS4R_LOCK_TRY, 0);
	HAS("1w0-45 1r46-50");
	release(t, 1, 5, 5, 0);
	HAS("1w0-4 1w6-45 1r46-50");
	release(t, 1, 40, 48, 0);
	HAS("1w0-4 1w6-39 1r49-50");
	GRANTED(1, 'r', 0, UINT64_MAX, NFS4R_LOCK_TRY, 0);
	HAS("1r0-18446744073709551615");
	release(t, 1, 0, UINT64_MAX, 0);
	HAS("");
	assert_int_equal(nfs4r_locks_count(t).files, 0);
	nfs4r_locks_destroy(t);
}

static void a_read_lock_beside_write_locks_leaves_them(void **state)
{
	struct nfs4r_locks *t = table(100);
	struct nfs4r_lock want = lock_of(1, NFS4R_LOCK_READ, 0, UINT64_MAX);

	GRANTED(1, 'w', 0, 4, NFS4R_LOCK_TRY, 0);
	GRANTED(1, 'r', 8, 12, NFS4R_LOCK_TRY, 0);
	GRANTED(1, 'w', 20, 29, NFS4R_LOCK_TRY, 0);
	assert_int_equal(nfs4r_locks_acquire(t, &oid, &(struct nfs4r_lock){ .owner = want.owner, .type = NFS4R_LOCK_WRITE, .start = 40, .last = 49, .life = 7 }, NFS4R_LOCK_TRY, NULL, 0, NULL), NFS4R_LOCK_GRANTED);
	WAITS(2, 'r', 22, 23, NFS4R_LOCK_QUEUE, 0);
	assert_int_equal(nfs4r_locks_acquire_beside(t, &oid, &want, NFS4R_LOCK_TRY, NULL, 0, NULL), NFS4R_LOCK_GRANTED);
	assert_int_equal(told(t, 0), 0);
	nfs4r_locks_cancel(t, &oid, &(struct nfs4r_lock){ .owner = lock_of(2, 0, 0, 0).owner, .type = NFS4R_LOCK_READ, .start = 22, .last = 23 }, 0);
	HAS("1w0-4 1r5-19 1w20-29 1r30-18446744073709551615"); /* but not of another life */
	want.start = want.last = 25;
	assert_int_equal(nfs4r_locks_acquire_beside(t, &oid, &want, NFS4R_LOCK_TRY, NULL, 0, NULL), NFS4R_LOCK_GRANTED);
	want.type = NFS4R_LOCK_WRITE;
	want.last = 34;
	assert_int_equal(nfs4r_locks_acquire_beside(t, &oid, &want, NFS4R_LOCK_TRY, NULL, 0, NULL), NFS4R_LOCK_GRANTED);
	HAS("1w0-4 1r5-19 1w20-34 1r35-18446744073709551615");
	nfs4r_locks_destroy(t);
}

static void two_owners_share_read_locks_alone(void **state)
{
	struct nfs4r_locks *t = table(100);
	struct nfs4r_lock want = lock_of(3, NFS4R_LOCK_WRITE, 5, 5), other;

	GRANTED(1, 'r', 0, 9, NFS4R_LOCK_TRY, 0);
	GRANTED(2, 'r', 5, 15, NFS4R_LOCK_TRY, 0);
	CONFLICT(3, 'w', 9, 9, NFS4R_LOCK_TRY, 0);
	CONFLICT(1, 'w', 0, 9, NFS4R_LOCK_TRY, 0);
	GRANTED(1, 'w', 0, 4, NFS4R_LOCK_TRY, 0);
	CONFLICT(2, 'r', 4, 4, NFS4R_LOCK_TRY, 0);
	GRANTED(3, 'w', 16, 20, NFS4R_LOCK_TRY, 0);
	assert_false(nfs4r_locks_test(t, &oid, &want, &other));
	assert_int_equal(other.owner.owner[0], 1);
	want = lock_of(1, NFS4R_LOCK_WRITE, 0, 4);
	assert_true(nfs4r_locks_test(t, &oid, &want, &other));
	nfs4r_locks_destroy(t);
}

/* Two clients may use the same owner's name. */
static void an_owner_is_one_of_its_client(void **state)
{
	struct nfs4r_locks *t = table(100);
	struct nfs4r_lock other_client = lock_of(1, NFS4R_LOCK_WRITE, 0, 9), conflict;

	GRANTED(1, 'w', 0, 9, NFS4R_LOCK_TRY, 0);
	other_client.owner.client[0] = 8;
	assert_int_equal(nfs4r_locks_acquire(t, &oid, &other_client, NFS4R_LOCK_TRY, NULL, 0, &conflict), NFS4R_LOCK_CONFLICT);
	nfs4r_locks_destroy(t);
}

static void waiters_are_served_in_their_order(void **state)
{
	struct nfs4r_locks *t = table(100);

	GRANTED(1, 'w', 0, 9, NFS4R_LOCK_TRY, 0);
	WAITS(2, 'w', 0, 9, NFS4R_LOCK_QUEUE, 1);
	WAITS(3, 'w', 0, 9, NFS4R_LOCK_QUEUE, 2);
	WAITS(2, 'w', 0, 9, NFS4R_LOCK_QUEUE, 3); /* again: the place is kept */
	assert_int_equal(told(t, 3), 0);
	assert_true(nfs4r_locks_due(t) == FOREVER);
	release(t, 1, 0, 9, 10);
	HAS("!2w0-9 ?3w0-9");
	assert_int_equal(told(t, 10), 2);
	assert_int_equal(told(t, 10), 0);
	CONFLICT(4, 'w', 0, 9, NFS4R_LOCK_TRY, 10);
	WAITS(3, 'w', 0, 9, NFS4R_LOCK_QUEUE, 10);
	GRANTED(2, 'w', 0, 9, NFS4R_LOCK_QUEUE, 11);
	HAS("2w0-9 ?3w0-9");
	release(t, 2, 0, 9, 12);
	assert_int_equal(told(t, 12), 3);
	nfs4r_locks_destroy(t);
}

/* Else a stream of readers would keep a writer away for ever. */
/* Else it would wait for those who wait for it. */
static void who_has_a_lock_does_not_wait_for_waiters(void **state)
{
	struct nfs4r_locks *t = table(100);

	GRANTED(1, 'w', 0, 9, NFS4R_LOCK_QUEUE, 0);
	WAITS(2, 'w', 0, 9, NFS4R_LOCK_QUEUE, 0);
	GRANTED(1, 'w', 3, 4, NFS4R_LOCK_QUEUE, 0);
	GRANTED(1, 'r', 0, 9, NFS4R_LOCK_QUEUE, 0);
	HAS("1r0-9 ?2w0-9");
	GRANTED(1, 'w', 0, 12, NFS4R_LOCK_QUEUE, 0);
	WAITS(3, 'r', 9, 29, NFS4R_LOCK_QUEUE, 0); /* behind the writer, which waits for 1 */
	GRANTED(1, 'w', 20, 29, NFS4R_LOCK_QUEUE, 0);
	GRANTED(4, 'r', 40, 49, NFS4R_LOCK_QUEUE, 0);
	WAITS(4, 'r', 12, 12, NFS4R_LOCK_QUEUE, 0); /* somebody has it */
	release(t, 1, 0, UINT64_MAX, 0);
	HAS("4r40-49 !2w0-9 ?3r9-29 !4r12-12");
	nfs4r_locks_destroy(t);
}

static void a_reader_waits_behind_a_writer_and_many_readers_go_together(void **state)
{
	struct nfs4r_locks *t = table(100);

	GRANTED(1, 'r', 0, 9, NFS4R_LOCK_TRY, 0);
	WAITS(2, 'w', 0, 9, NFS4R_LOCK_QUEUE, 0);
	WAITS(3, 'r', 0, 9, NFS4R_LOCK_QUEUE, 0);
	WAITS(4, 'r', 0, 9, NFS4R_LOCK_QUEUE, 0);
	GRANTED(5, 'r', 0, 9, NFS4R_LOCK_TRY, 0);
	release(t, 5, 0, 9, 0);
	release(t, 1, 0, 9, 0);
	HAS("!2w0-9 ?3r0-9 ?4r0-9");
	GRANTED(2, 'w', 0, 9, NFS4R_LOCK_QUEUE, 1);
	GRANTED(2, 'r', 0, 9, NFS4R_LOCK_TRY, 2); /* lowered */
	HAS("2r0-9 !3r0-9 !4r0-9");
	nfs4r_locks_destroy(t);
}

static void who_waits_for_other_bytes_does_not_wait_for_the_queue(void **state)
{
	struct nfs4r_locks *t = table(100);

	GRANTED(1, 'w', 0, 9, NFS4R_LOCK_TRY, 0);
	WAITS(2, 'w', 5, 15, NFS4R_LOCK_QUEUE, 0);
	GRANTED(3, 'w', 16, 20, NFS4R_LOCK_QUEUE, 0);
	WAITS(4, 'w', 15, 15, NFS4R_LOCK_QUEUE, 0);
	nfs4r_locks_destroy(t);
}

static void a_notice_is_repeated_until_the_lock_is_fetched(void **state)
{
	struct nfs4r_locks *t = table(100);
	const uint64_t at[] = { 0, 10, 110, 1110 };

	GRANTED(1, 'w', 0, 9, NFS4R_LOCK_TRY, 0);
	WAITS(2, 'w', 0, 9, NFS4R_LOCK_QUEUE, 0);
	release(t, 1, 0, 9, 0);
	for (int i = 0; i < 4; i++) {
		assert_true(nfs4r_locks_due(t) == at[i]);
		assert_int_equal(at[i] > 0 ? told(t, at[i] - 1) : 0, 0);
		assert_int_equal(told(t, at[i]), 2);
	}
	GRANTED(2, 'w', 0, 9, NFS4R_LOCK_QUEUE, 2000);
	assert_int_equal(told(t, 100000), 0);
	assert_true(nfs4r_locks_due(t) == FOREVER);
	nfs4r_locks_destroy(t);
}

static void a_lock_that_nobody_fetches_goes_to_the_next(void **state)
{
	struct nfs4r_locks *t = table(100);

	GRANTED(1, 'w', 0, 9, NFS4R_LOCK_TRY, 0);
	WAITS(2, 'w', 0, 9, NFS4R_LOCK_QUEUE, 0);
	WAITS(3, 'w', 0, 9, NFS4R_LOCK_QUEUE, 0);
	release(t, 1, 0, 9, 0);
	assert_int_equal(told(t, 0), 2);
	while (told(t, RESERVE_MS - 1) != 0)
		;
	HAS("!2w0-9 ?3w0-9");
	assert_int_equal(told(t, RESERVE_MS), 3);
	HAS("!3w0-9 ?2w0-9");
	WAITS(2, 'w', 0, 9, NFS4R_LOCK_QUEUE, RESERVE_MS); /* too late: it is told again */
	GRANTED(3, 'w', 0, 9, NFS4R_LOCK_QUEUE, RESERVE_MS);
	release(t, 3, 0, 9, RESERVE_MS);
	assert_int_equal(told(t, RESERVE_MS), 2);
	while (told(t, 2 * RESERVE_MS) != 0) /* nobody else wants it: it stays */
		;
	HAS("!2w0-9");
	nfs4r_locks_destroy(t);
}

/* Owners 2 and 3 are of one client, which may be dead. */
static void a_client_that_does_not_come_lets_the_others_go_first(void **state)
{
	struct nfs4r_locks *t = table(100);

	GRANTED(1, 'w', 0, 9, NFS4R_LOCK_TRY, 0);
	WAITS(2, 'w', 0, 9, NFS4R_LOCK_QUEUE, 0);
	WAITS(3, 'w', 0, 9, NFS4R_LOCK_QUEUE, 0);
	WAITS(4, 'w', 0, 9, NFS4R_LOCK_QUEUE, 0);
	WAITS(5, 'w', 0, 9, NFS4R_LOCK_QUEUE, 0);
	release(t, 1, 0, 9, 0);
	assert_int_equal(told(t, 0), 2);
	assert_int_equal(told(t, RESERVE_MS), 4);
	HAS("!4w0-9 ?5w0-9 ?3w0-9 ?2w0-9");
	nfs4r_locks_destroy(t);
}

static void without_a_limit_a_reservation_stays_until_it_is_cancelled(void **state)
{
	struct nfs4r_locks *t = nfs4r_locks_create(&(struct nfs4r_locks_config){ .max = 100 });
	struct nfs4r_lock what = lock_of(2, NFS4R_LOCK_WRITE, 0, 9);

	GRANTED(1, 'w', 0, 9, NFS4R_LOCK_TRY, 0);
	WAITS(2, 'w', 0, 9, NFS4R_LOCK_QUEUE, 0);
	WAITS(3, 'w', 0, 9, NFS4R_LOCK_QUEUE, 0);
	release(t, 1, 0, 9, 0);
	assert_int_equal(told(t, 1000000), 2);
	HAS("!2w0-9 ?3w0-9");
	assert_true(nfs4r_locks_cancel(t, &oid, &what, 1000000));
	assert_false(nfs4r_locks_cancel(t, &oid, &what, 1000000));
	assert_int_equal(told(t, 1000000), 3);
	nfs4r_locks_destroy(t);
}

/* The read lock is still there when the write lock was not fetched. */
static void what_is_reserved_replaces_nothing(void **state)
{
	struct nfs4r_locks *t = table(100);
	struct nfs4r_lock what = lock_of(2, NFS4R_LOCK_WRITE, 0, 9);

	GRANTED(1, 'r', 0, 9, NFS4R_LOCK_TRY, 0);
	GRANTED(2, 'r', 0, 9, NFS4R_LOCK_TRY, 0);
	WAITS(2, 'w', 0, 9, NFS4R_LOCK_QUEUE, 0);
	release(t, 1, 0, 9, 0);
	HAS("2r0-9 !2w0-9");
	CONFLICT(3, 'r', 0, 9, NFS4R_LOCK_TRY, 0);
	assert_true(nfs4r_locks_cancel(t, &oid, &what, 0));
	HAS("2r0-9");
	GRANTED(3, 'r', 0, 9, NFS4R_LOCK_TRY, 0);
	nfs4r_locks_destroy(t);
}

static void nobody_waits_for_a_client_that_cannot_be_told(void **state)
{
	struct nfs4r_locks *t = table(100);

	GRANTED(1, 'w', 0, 9, NFS4R_LOCK_TRY, 0);
	WAITS(2, 'w', 0, 9, NFS4R_LOCK_POLL, 0);
	WAITS(3, 'w', 0, 9, NFS4R_LOCK_QUEUE, 0);
	release(t, 1, 0, 9, 10);
	HAS("?2w0-9 !3w0-9");
	assert_int_equal(told(t, 10), 3);
	assert_int_equal(told(t, 10), 0);
	GRANTED(3, 'w', 0, 9, NFS4R_LOCK_QUEUE, 11);
	WAITS(2, 'w', 0, 9, NFS4R_LOCK_POLL, 12);
	release(t, 3, 0, 9, 13);
	assert_int_equal(told(t, 13), 2);
	HAS("?2w0-9");
	GRANTED(4, 'w', 0, 9, NFS4R_LOCK_QUEUE, 14); /* it is free until then */
	WAITS(2, 'w', 0, 9, NFS4R_LOCK_POLL, 15);
	release(t, 4, 0, 9, 16);
	GRANTED(2, 'w', 0, 9, NFS4R_LOCK_POLL, 17);
	nfs4r_locks_destroy(t);
}

/* One that waited elsewhere before it came here. */
static void waits_since(struct nfs4r_locks *t, uint64_t owner, uint64_t start, uint64_t last, uint64_t since, uint64_t now)
{
	struct nfs4r_lock w = lock_of(owner, NFS4R_LOCK_WRITE, start, last);

	nfs4r_locks_waits_since(t, &oid, &w, since, now);
}

static void who_has_waited_longer_goes_before_all_but_the_reserved(void **state)
{
	struct nfs4r_locks *t = table(100);

	GRANTED(1, 'w', 0, 9, NFS4R_LOCK_TRY, 1000);
	WAITS(2, 'w', 0, 9, NFS4R_LOCK_QUEUE, 1010);
	WAITS(3, 'w', 0, 9, NFS4R_LOCK_QUEUE, 1020);
	WAITS(4, 'w', 0, 9, NFS4R_LOCK_QUEUE, 1030);
	waits_since(t, 4, 0, 9, 1015, 1030);
	HAS("1w0-9 ?2w0-9 ?4w0-9 ?3w0-9");
	waits_since(t, 4, 0, 9, 1025, 1030); /* nobody becomes younger */
	waits_since(t, 5, 0, 9, 0, 1030); /* it does not wait */
	HAS("1w0-9 ?2w0-9 ?4w0-9 ?3w0-9");
	waits_since(t, 3, 0, 9, 1000, 1030);
	HAS("1w0-9 ?3w0-9 ?2w0-9 ?4w0-9");
	release(t, 1, 0, 9, 1040);
	HAS("!3w0-9 ?2w0-9 ?4w0-9");
	waits_since(t, 2, 0, 9, 900, 1040);
	HAS("!3w0-9 ?2w0-9 ?4w0-9");
	nfs4r_locks_destroy(t);
}

static void the_table_has_a_bound_and_says_so(void **state)
{
	struct nfs4r_locks *t = table(3);

	GRANTED(1, 'w', 0, 9, NFS4R_LOCK_TRY, 0);
	GRANTED(2, 'w', 20, 29, NFS4R_LOCK_TRY, 0);
	WAITS(3, 'w', 0, 9, NFS4R_LOCK_QUEUE, 0);
	assert_int_equal(ask(t, 4, 'w', 40, 49, NFS4R_LOCK_TRY, 0), NFS4R_LOCK_FULL);
	assert_int_equal(ask(t, 4, 'w', 0, 9, NFS4R_LOCK_QUEUE, 0), NFS4R_LOCK_FULL);
	CONFLICT(4, 'w', 0, 9, NFS4R_LOCK_TRY, 0);
	release(t, 1, 5, 5, 0); /* giving back a part takes one more, and may */
	HAS("1w0-4 1w6-9 2w20-29 ?3w0-9");
	release(t, 1, 0, 9, 0);
	GRANTED(3, 'w', 0, 9, NFS4R_LOCK_QUEUE, 0); /* what waited has its place already */
	nfs4r_locks_destroy(t);
}

static void one_file_may_not_take_all(void **state)
{
	struct nfs4r_locks *t = table(1000000);

	for (uint64_t i = 0; i < NFS4R_LOCKS_FILE_MAX; i++)
		GRANTED(1, 'w', 2 * i, 2 * i, NFS4R_LOCK_TRY, 0);
	assert_int_equal(ask(t, 1, 'w', 1000000, 1000000, NFS4R_LOCK_TRY, 0), NFS4R_LOCK_FULL);
	for (uint64_t i = 0; i < NFS4R_LOCKS_WAITERS_MAX; i++)
		WAITS(2 + i, 'w', 0, 0, NFS4R_LOCK_QUEUE, 0);
	assert_int_equal(ask(t, 9999999, 'w', 0, 0, NFS4R_LOCK_QUEUE, 0), NFS4R_LOCK_FULL);
	release(t, 1, 0, UINT64_MAX, 0);
	assert_int_equal(nfs4r_locks_count(t).ranges, 0);
	assert_int_equal(nfs4r_locks_count(t).reserved, 1);
	nfs4r_locks_destroy(t);
}

/* ---- random operations, against bytes ---- */

#define BYTES 24
#define OWNERS 5
#define FILES 3
#define QUEUE 64
#define SHORT_MS 12

struct entry {
	struct nfs4r_lock lock;
	bool polls, told;
	uint64_t until, seq;
};

struct model {
	char byte[FILES][OWNERS][BYTES]; /* 0, r, w */
	struct entry queue[FILES][QUEUE];
	int n[FILES];
	uint64_t now, seq;
};

static int owner_of(const struct nfs4r_lock *l)
{
	return (int)l->owner.owner[0] - 1;
}

static bool clash(const struct nfs4r_lock *a, const struct nfs4r_lock *b)
{
	return owner_of(a) != owner_of(b) && a->start <= b->last && b->start <= a->last && (a->type == NFS4R_LOCK_WRITE || b->type == NFS4R_LOCK_WRITE);
}

static bool model_in_the_way(const struct model *m, int f, const struct nfs4r_lock *want)
{
	for (int o = 0; o < OWNERS; o++) {
		for (uint64_t b = want->start; b <= want->last && o != owner_of(want); b++) {
			if (m->byte[f][o][b] == 'w' || (m->byte[f][o][b] == 'r' && want->type == NFS4R_LOCK_WRITE))
				return true;
		}
	}
	for (int i = 0; i < m->n[f]; i++) {
		if (m->queue[f][i].told && !m->queue[f][i].polls && clash(&m->queue[f][i].lock, want))
			return true;
	}
	return false;
}

static bool model_before(const struct model *m, int f, int end, const struct nfs4r_lock *want)
{
	for (int b = 0; b < BYTES; b++) {
		if (m->byte[f][owner_of(want)][b])
			return false;
	}
	for (int i = 0; i < end; i++) {
		if (!m->queue[f][i].told && !m->queue[f][i].polls && clash(&m->queue[f][i].lock, want))
			return true;
	}
	return false;
}

static void model_serve(struct model *m, int f)
{
	for (int i = 0; i < 2 * m->n[f]; i++) {
		struct entry *e = &m->queue[f][i % m->n[f]];
		bool polling = i >= m->n[f];

		if (e->polls != polling || e->told || model_in_the_way(m, f, &e->lock) || (!polling && model_before(m, f, i, &e->lock)))
			continue;
		e->told = true;
		e->until = e->polls ? FOREVER : m->now + SHORT_MS;
		e->seq = m->seq++;
	}
}

static bool same(const struct nfs4r_lock *a, const struct nfs4r_lock *b)
{
	return owner_of(a) == owner_of(b) && a->type == b->type && a->start == b->start && a->last == b->last;
}

static int model_find(const struct model *m, int f, const struct nfs4r_lock *l)
{
	for (int i = 0; i < m->n[f]; i++) {
		if (same(&m->queue[f][i].lock, l))
			return i;
	}
	return -1;
}

static void model_drop(struct model *m, int f, int i)
{
	memmove(&m->queue[f][i], &m->queue[f][i + 1], (size_t)(m->n[f] - i - 1) * sizeof(m->queue[f][0]));
	m->n[f]--;
}

static enum nfs4r_lock_answer model_acquire(struct model *m, int f, const struct nfs4r_lock *want, enum nfs4r_lock_wait wait, bool beside)
{
	int i = model_find(m, f, want);
	bool blocked = model_in_the_way(m, f, want) ||
		(wait == NFS4R_LOCK_QUEUE && (i < 0 || !m->queue[f][i].told) && model_before(m, f, i < 0 ? m->n[f] : i, want));

	if (blocked && wait == NFS4R_LOCK_TRY)
		return NFS4R_LOCK_CONFLICT;
	if (blocked) {
		if (i < 0)
			i = m->n[f]++;
		m->queue[f][i] = (struct entry){ .lock = *want, .polls = wait == NFS4R_LOCK_POLL };
		return NFS4R_LOCK_WAITS;
	}
	if (i >= 0)
		model_drop(m, f, i);
	for (uint64_t b = want->start; b <= want->last; b++) {
		char *has = &m->byte[f][owner_of(want)][b];

		if (!beside || *has != 'w')
			*has = want->type == NFS4R_LOCK_READ ? 'r' : 'w';
	}
	model_serve(m, f);
	return NFS4R_LOCK_GRANTED;
}

/* The reservation that has ended and was made first; -1: none has. */
static int model_ended(const struct model *m, int f)
{
	int first = -1;

	for (int i = 0; i < m->n[f]; i++) {
		const struct entry *e = &m->queue[f][i];

		if (e->told && e->until <= m->now && (first < 0 || e->seq < m->queue[f][first].seq))
			first = i;
	}
	return first;
}

/* All that waits for that client goes to the end, in its order. */
static void model_lets_go_first(struct model *m, int f, uint64_t client)
{
	struct entry its[QUEUE];
	int n = 0;

	for (int i = 0; i < m->n[f]; i++) {
		if (m->queue[f][i].told || m->queue[f][i].lock.owner.client[0] != client)
			continue;
		its[n++] = m->queue[f][i];
		model_drop(m, f, i--);
	}
	memcpy(&m->queue[f][m->n[f]], its, (size_t)n * sizeof(its[0]));
	m->n[f] += n;
}

static void model_end(struct model *m, int f)
{
	int i;

	while ((i = model_ended(m, f)) >= 0) {
		struct entry e = m->queue[f][i];
		bool other = false;

		m->queue[f][i].until = m->now + SHORT_MS;
		for (int k = 0; k < m->n[f]; k++)
			other |= !m->queue[f][k].told && clash(&m->queue[f][k].lock, &e.lock);
		if (!other)
			continue;
		model_drop(m, f, i);
		model_lets_go_first(m, f, e.lock.owner.client[0]);
		e.told = false;
		m->queue[f][m->n[f]++] = e;
		model_serve(m, f);
	}
}

static struct nfs4r_oid file_of(int f)
{
	return (struct nfs4r_oid){ { (uint8_t)(f + 1) } };
}

struct seen {
	const struct model *m;
	int f, place;
	uint64_t held;
	char byte[OWNERS][BYTES];
};

static void see(void *arg, const struct nfs4r_oid *o, const struct nfs4r_lock *l, enum nfs4r_lock_state state, uint64_t since_ms)
{
	struct seen *s = arg;
	int owner = owner_of(l);

	if (state == NFS4R_LOCK_SET) {
		char c = l->type == NFS4R_LOCK_READ ? 'r' : 'w';

		for (uint64_t b = l->start; b <= l->last; b++) {
			assert_int_equal(s->byte[owner][b], 0);
			s->byte[owner][b] = c;
		}
		/* Neighbours of one type are one range. */
		assert_false(l->start > 0 && s->m->byte[s->f][owner][l->start - 1] == c);
		assert_false(l->last + 1 < BYTES && s->m->byte[s->f][owner][l->last + 1] == c);
		s->held++;
		return;
	}
	assert_true(s->place < s->m->n[s->f]);
	const struct entry *e = &s->m->queue[s->f][s->place++];
	assert_true(same(l, &e->lock));
	assert_int_equal(state == NFS4R_LOCK_RESERVED, e->told && !e->polls);
}

static void compare(const struct nfs4r_locks *t, const struct model *m)
{
	uint64_t held = 0, waiting = 0;

	for (int f = 0; f < FILES; f++) {
		struct seen s = { .m = m, .f = f };
		struct nfs4r_oid o = file_of(f);

		nfs4r_locks_walk(t, &o, see, &s);
		assert_memory_equal(s.byte, m->byte[f], sizeof(s.byte));
		assert_int_equal(s.place, m->n[f]);
		held += s.held;
		waiting += (uint64_t)s.place;
	}
	assert_int_equal(nfs4r_locks_count(t).ranges, held);
	assert_int_equal(nfs4r_locks_count(t).waiting, waiting);
}

static uint32_t below(uint64_t *seed, uint32_t n)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % n;
}

static void step(struct nfs4r_locks *t, struct model *m, uint64_t *seed)
{
	int f = (int)below(seed, FILES);
	struct nfs4r_oid o = file_of(f);
	uint64_t start = below(seed, BYTES), last = start + below(seed, (uint32_t)(BYTES - start));
	struct nfs4r_lock l = lock_of(1 + below(seed, OWNERS), below(seed, 2) ? NFS4R_LOCK_READ : NFS4R_LOCK_WRITE, start, last), other;
	struct nfs4r_lock_notice n;
	uint32_t what = below(seed, 20);

	if (what >= 16 && m->n[f] > 0)
		l = m->queue[f][below(seed, (uint32_t)m->n[f])].lock; /* one that waits already */
	if (what < 9 || what >= 18) {
		enum nfs4r_lock_wait wait = m->n[f] == QUEUE ? NFS4R_LOCK_TRY : (enum nfs4r_lock_wait)(NFS4R_LOCK_TRY + below(seed, 3));
		bool beside = below(seed, 3) == 0;

		assert_int_equal((beside ? nfs4r_locks_acquire_beside : nfs4r_locks_acquire)(t, &o, &l, wait, NULL, m->now, &other), model_acquire(m, f, &l, wait, beside));
	} else if (what < 15) {
		assert_true(nfs4r_locks_release(t, &o, &l.owner, start, last, m->now));
		memset(&m->byte[f][owner_of(&l)][start], 0, last - start + 1);
		model_serve(m, f);
	} else if (what == 15) {
		assert_int_equal(nfs4r_locks_test(t, &o, &l, &other), !model_in_the_way(m, f, &l));
	} else if (what == 16) {
		int i = model_find(m, f, &l);

		assert_int_equal(nfs4r_locks_cancel(t, &o, &l, m->now), i >= 0);
		if (i >= 0) {
			model_drop(m, f, i);
			model_serve(m, f);
		}
	} else {
		m->now += below(seed, 4);
		for (int k = 0; k < FILES; k++)
			model_end(m, k);
		while (nfs4r_locks_notice(t, m->now, &n)) {
			int k = n.oid.b[0] - 1, i = model_find(m, k, &n.lock);

			assert_true(i >= 0 && m->queue[k][i].told);
		}
		assert_true(nfs4r_locks_due(t) > m->now);
	}
}

static void random_operations_end_as_in_a_model_of_bytes(void **state)
{
	const char *text = getenv("SEED");
	uint64_t first = text != NULL ? strtoull(text, NULL, 10) : 1, runs = text != NULL ? 1 : 100;

	for (uint64_t run = 0; run < runs; run++) {
		struct nfs4r_locks *t = nfs4r_locks_create(&(struct nfs4r_locks_config){ .max = 100000, .reserve_ms = SHORT_MS });
		struct model *m = calloc(1, sizeof(*m));
		uint64_t seed = first + run;

		assert_true(t != NULL && m != NULL);
		for (int i = 0; i < 2000; i++) {
			step(t, m, &seed);
			compare(t, m);
		}
		free(m);
		nfs4r_locks_destroy(t);
	}
}

/* ---- a table that follows another one ---- */

static struct nfs4r_lock named(uint64_t owner, char type, uint64_t start, uint64_t last)
{
	return lock_of(owner, type == 'r' ? NFS4R_LOCK_READ : NFS4R_LOCK_WRITE, start, last);
}

#define FOLLOW_GRANTED(...)                                                  \
	do {                                                                 \
		const struct nfs4r_lock lock_ = named(__VA_ARGS__);          \
		assert_true(nfs4r_locks_follow_granted(t, &oid, &lock_, 0)); \
	} while (0)

static void who_follows_takes_what_the_other_table_says(void **state)
{
	struct nfs4r_locks *t = table(100);

	nfs4r_locks_follow(t);
	FOLLOW_GRANTED(1, 'w', 0, 9);
	FOLLOW_GRANTED(2, 'r', 5, 15); /* the first one has given it back there, and here not yet */
	HAS("1w0-9 2r5-15");
	FOLLOW_GRANTED(1, 'r', 3, 4);
	HAS("1w0-2 1r3-4 1w5-9 2r5-15");
	FOLLOW_GRANTED(1, 'w', 3, 4);
	HAS("1w0-9 2r5-15");
	release(t, 1, 0, UINT64_MAX, 0);
	HAS("2r5-15");
	nfs4r_locks_destroy(t);
}

static void who_follows_gives_nobody_his_turn(void **state)
{
	struct nfs4r_locks *t = table(100);
	const struct nfs4r_lock first = named(2, 'w', 0, 9), second = named(3, 'w', 0, 9);

	nfs4r_locks_follow(t);
	FOLLOW_GRANTED(1, 'w', 0, 9);
	assert_true(nfs4r_locks_follow_waits(t, &oid, &first, NFS4R_LOCK_QUEUE, (void *)2, 0));
	assert_true(nfs4r_locks_follow_waits(t, &oid, &second, NFS4R_LOCK_QUEUE, (void *)3, 0));
	release(t, 1, 0, 9, 0);
	assert_int_equal(told(t, 0), 0);
	assert_true(nfs4r_locks_follow_notify(t, &oid, &second, true, 100));
	HAS("?2w0-9 !3w0-9");
	assert_int_equal(told(t, 100), 3);
	assert_int_equal(told(t, 100), 0);
	assert_int_equal(told(t, 110), 3);
	assert_int_equal(told(t, 100 + 10 * RESERVE_MS), 3); /* for as long as it takes */
	assert_true(nfs4r_locks_follow_waits(t, &oid, &second, NFS4R_LOCK_QUEUE, (void *)3, 110)); /* it asks */
	HAS("?2w0-9 ?3w0-9");
	assert_true(nfs4r_locks_due(t) == FOREVER);
	FOLLOW_GRANTED(3, 'w', 0, 9);
	HAS("3w0-9 ?2w0-9");
	assert_true(nfs4r_locks_cancel(t, &oid, &first, 0));
	assert_false(nfs4r_locks_follow_notify(t, &oid, &first, true, 0));
	HAS("3w0-9");
	nfs4r_locks_destroy(t);
}

static void a_reservation_that_is_over_is_no_reason_to_ask_but_for_who_polls(void **state)
{
	struct nfs4r_locks *t = table(100);
	const struct nfs4r_lock first = named(2, 'w', 0, 9), second = named(3, 'w', 0, 9);

	nfs4r_locks_follow(t);
	assert_true(nfs4r_locks_follow_waits(t, &oid, &first, NFS4R_LOCK_QUEUE, (void *)2, 0));
	assert_true(nfs4r_locks_follow_waits(t, &oid, &second, NFS4R_LOCK_POLL, (void *)3, 0));
	assert_true(nfs4r_locks_follow_notify(t, &oid, &first, true, 0));
	assert_int_equal(told(t, 0), 2);
	nfs4r_locks_follow_again(t, &oid, &first, 20);
	HAS("?2w0-9 ?3w0-9");
	assert_int_equal(told(t, 10000), 0);
	nfs4r_locks_follow_again(t, &oid, &second, 20);
	assert_int_equal(told(t, 20), 3);
	HAS("?2w0-9 ?3w0-9");
	nfs4r_locks_destroy(t);
}

static void the_client_of_a_request_that_may_be_forgotten_is_told_and_nothing_is_reserved(void **state)
{
	struct nfs4r_locks *t = table(2);
	const struct nfs4r_lock want = named(2, 'w', 0, 9), more = named(3, 'w', 0, 9);

	nfs4r_locks_follow(t);
	FOLLOW_GRANTED(1, 'w', 0, 9);
	assert_true(nfs4r_locks_follow_waits(t, &oid, &want, NFS4R_LOCK_QUEUE, (void *)2, 0));
	assert_true(nfs4r_locks_follow_is_waiting(t, &oid, &want));
	assert_true(nfs4r_locks_follow_notify(t, &oid, &want, true, 0));
	assert_int_equal(nfs4r_locks_count(t).reserved, 1);
	assert_true(nfs4r_locks_follow_notify(t, &oid, &want, false, 5));
	HAS("1w0-9 ?2w0-9");
	assert_int_equal(nfs4r_locks_count(t).reserved, 0);
	assert_int_equal(told(t, 5), 2);
	assert_int_equal(told(t, 5), 0);
	assert_int_equal(told(t, 15), 2);
	assert_false(nfs4r_locks_has_room(t, &oid));
	assert_false(nfs4r_locks_follow_waits(t, &oid, &more, NFS4R_LOCK_QUEUE, NULL, 30));
	assert_false(nfs4r_locks_follow_is_waiting(t, &oid, &more));
	assert_true(nfs4r_locks_follow_waits(t, &oid, &want, NFS4R_LOCK_QUEUE, (void *)2, 20));
	assert_true(nfs4r_locks_due(t) == FOREVER);
	nfs4r_locks_destroy(t);
}

static void a_table_that_begins_to_follow_ends_its_reservations(void **state)
{
	struct nfs4r_locks *t = table(100);

	GRANTED(1, 'w', 0, 9, NFS4R_LOCK_TRY, 0);
	WAITS(2, 'w', 0, 9, NFS4R_LOCK_QUEUE, 0);
	release(t, 1, 0, 9, 0);
	HAS("!2w0-9");
	nfs4r_locks_follow(t);
	HAS("?2w0-9");
	assert_true(nfs4r_locks_due(t) == FOREVER);
	nfs4r_locks_destroy(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_of_one_owner_are_split_cut_raised_lowered_and_merged),
		cmocka_unit_test(a_read_lock_beside_write_locks_leaves_them),
		cmocka_unit_test(two_owners_share_read_locks_alone),
		cmocka_unit_test(an_owner_is_one_of_its_client),
		cmocka_unit_test(waiters_are_served_in_their_order),
		cmocka_unit_test(who_has_a_lock_does_not_wait_for_waiters),
		cmocka_unit_test(a_reader_waits_behind_a_writer_and_many_readers_go_together),
		cmocka_unit_test(who_waits_for_other_bytes_does_not_wait_for_the_queue),
		cmocka_unit_test(a_notice_is_repeated_until_the_lock_is_fetched),
		cmocka_unit_test(a_lock_that_nobody_fetches_goes_to_the_next),
		cmocka_unit_test(a_client_that_does_not_come_lets_the_others_go_first),
		cmocka_unit_test(without_a_limit_a_reservation_stays_until_it_is_cancelled),
		cmocka_unit_test(what_is_reserved_replaces_nothing),
		cmocka_unit_test(nobody_waits_for_a_client_that_cannot_be_told),
		cmocka_unit_test(who_has_waited_longer_goes_before_all_but_the_reserved),
		cmocka_unit_test(the_table_has_a_bound_and_says_so),
		cmocka_unit_test(one_file_may_not_take_all),
		cmocka_unit_test(who_follows_takes_what_the_other_table_says),
		cmocka_unit_test(who_follows_gives_nobody_his_turn),
		cmocka_unit_test(the_client_of_a_request_that_may_be_forgotten_is_told_and_nothing_is_reserved),
		cmocka_unit_test(a_reservation_that_is_over_is_no_reason_to_ask_but_for_who_polls),
		cmocka_unit_test(a_table_that_begins_to_follow_ends_its_reservations),
		cmocka_unit_test(random_operations_end_as_in_a_model_of_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
