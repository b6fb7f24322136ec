/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The checker of locks takes what is right, and refuses histories in which one rule each is broken. */
#include <stdlib.h>
#include <string.h>
#include "lib/unit.h"

#include "sim/locker.h"

#define BOUND 1000000ull
#define READS(from, to) (&(struct locker_range){ 0, LOCKER_READ, from, to })
#define WRITES(from, to) (&(struct locker_range){ 0, LOCKER_WRITE, from, to })

/* Owners 1 and 2 at server 1, 3 at server 2; all serve. */
static struct locker *begin(void)
{
	struct locker *l = locker_create(BOUND);

	locker_owner(l, 1, 1);
	locker_owner(l, 2, 1);
	locker_owner(l, 3, 2);
	locker_serves(l, 1, true);
	locker_serves(l, 2, true);
	locker_time(l, 1, false);
	return l;
}

static void is_good(struct locker *l)
{
	assert_null(locker_failure(l));
	locker_destroy(l);
}

static void is_refused(struct locker *l, const char *why)
{
	assert_non_null(locker_failure(l));
	if (!strstr(locker_failure(l), why))
		fail_msg("refused for another reason: %s", locker_failure(l));
	locker_destroy(l);
}

static void locks_that_do_not_meet_are_good(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 15));
	locker_granted(l, 3, 3, WRITES(16, LOCKER_END));
	locker_granted(l, 4, 2, &(struct locker_range){ 1, LOCKER_WRITE, 0, 63 });
	locker_unlocks(l, 5, 1, READS(4, 7));
	locker_granted(l, 6, 3, READS(4, 7));
	locker_granted(l, 7, 2, READS(4, 7));
	locker_unlocks(l, 8, 1, READS(0, LOCKER_END));
	locker_unlocks(l, 8, 3, READS(0, LOCKER_END));
	locker_unlocks(l, 8, 2, READS(0, LOCKER_END));
	locker_unlocks(l, 8, 2, &(struct locker_range){ 1, LOCKER_WRITE, 0, 63 });
	locker_ends(l);
	is_good(l);
}

static void two_writers_of_one_byte_are_refused(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 15));
	locker_granted(l, 3, 3, WRITES(15, 20));
	is_refused(l, "owner 3 at S2 is granted W f0 15..20, of which owner 1 at S1 has byte 15");
}

static void two_owners_of_one_server_conflict(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, READS(0, 15));
	locker_granted(l, 3, 2, WRITES(8, 8));
	is_refused(l, "is granted");
}

static void beyond_the_bytes_ranges_meet(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, READS(64, LOCKER_END));
	locker_granted(l, 3, 3, WRITES(60, LOCKER_END));
	is_refused(l, "has byte 64 (R)");
}

static void a_raise_over_another_reader_is_refused(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, READS(0, 15));
	locker_granted(l, 3, 3, READS(0, 15));
	assert_null(locker_failure(l));
	locker_granted(l, 4, 1, WRITES(0, 15));
	is_refused(l, "is granted W");
}

static void a_lowered_lock_lets_readers_in(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 15));
	locker_granted(l, 3, 1, READS(0, 7));
	locker_granted(l, 4, 3, READS(0, 7));
	assert_null(locker_failure(l));
	locker_granted(l, 5, 3, READS(0, 8)); /* this byte was not lowered */
	is_refused(l, "byte 8 (W)");
}

static void a_lock_of_who_cannot_serve_may_be_given_away(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 15));
	locker_serves(l, 1, false);
	locker_may_lose(l, 1);
	locker_granted(l, 3, 3, WRITES(4, 7));
	locker_lost(l, 4, 1, WRITES(0, 15));
	locker_serves(l, 1, true);
	is_good(l);
}

static void a_lock_that_can_be_reclaimed_is_nobody_elses(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 15));
	locker_serves(l, 1, false);
	locker_granted(l, 3, 3, READS(4, 7));
	is_refused(l, "owner 3 at S2 is granted R f0 4..7, of which owner 1 at S1 may reclaim byte 4");
}

static void a_reservation_over_what_can_be_reclaimed_is_refused(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, READS(0, 15));
	locker_recovers(l, 1, true);
	locker_reserved(l, 3, 3, READS(0, 15)); /* both can have that */
	assert_null(locker_failure(l));
	locker_reserved(l, 4, 2, WRITES(15, 15));
	is_refused(l, "owner 2 at S1 has reserved W f0 15..15, of which owner 1 at S1 may reclaim byte 15");
}

static void a_loss_without_a_cause_is_refused(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 15));
	locker_recovers(l, 1, true);
	locker_lost(l, 3, 1, WRITES(8, 15));
	is_refused(l, "owner 1 at S1 loses W f0 8..15, and byte 8 is still its own");
}

static void the_cause_of_a_loss_is_of_one_owner(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, READS(0, 15));
	locker_granted(l, 3, 2, READS(0, 15));
	locker_recovers(l, 1, true);
	locker_recovers(l, 2, true);
	locker_may_lose(l, 1);
	locker_lost(l, 4, 1, READS(0, 15));
	assert_null(locker_failure(l));
	locker_lost(l, 5, 2, READS(0, 15));
	is_refused(l, "owner 2 at S1 loses R f0 0..15, and byte 0 is still its own");
}

static void what_is_granted_after_the_cause_is_not_lost_by_it(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 15));
	locker_may_lose(l, 1);
	locker_granted(l, 3, 1, WRITES(8, 15));
	locker_serves(l, 1, false);
	locker_granted(l, 4, 3, WRITES(0, 7));
	assert_null(locker_failure(l));
	locker_granted(l, 5, 3, WRITES(8, 8));
	is_refused(l, "of which owner 1 at S1 may reclaim byte 8");
}

static void what_is_reclaimed_after_the_cause_is_not_lost_by_it(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 15));
	locker_recovers(l, 1, true);
	locker_may_lose(l, 1);
	locker_reclaimed(l, 3, 1, WRITES(0, 15));
	locker_lost(l, 4, 1, WRITES(0, 15));
	is_refused(l, "loses W f0 0..15");
}

static void who_moves_takes_its_locks_along(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 15));
	locker_serves(l, 1, false);
	locker_owner(l, 1, 2);
	locker_granted(l, 3, 3, WRITES(0, 0));
	is_refused(l, "of which owner 1 at S2 has byte 0");
}

static void a_loss_that_is_not_heard_is_refused(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 15));
	locker_serves(l, 1, false);
	locker_may_lose(l, 1);
	locker_granted(l, 3, 3, WRITES(4, 7));
	locker_unlocks(l, 4, 3, WRITES(4, 7)); /* nobody has it any more; that somebody was in counts */
	assert_null(locker_failure(l));
	locker_serves(l, 1, true);
	is_refused(l, "has not heard of the loss");
}

static void half_a_loss_heard_is_refused(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 15));
	locker_serves(l, 1, false);
	locker_may_lose(l, 1);
	locker_granted(l, 3, 3, WRITES(4, 7));
	locker_lost(l, 4, 1, WRITES(0, 6));
	locker_serves(l, 1, true);
	is_refused(l, "byte 7");
}

static void who_was_only_away_keeps_its_lock(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 15));
	locker_serves(l, 1, false);
	locker_serves(l, 1, true);
	locker_granted(l, 3, 3, READS(3, 3));
	is_refused(l, "is granted R");
}

static void bytes_of_the_last_lock_are_read(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 15));
	locker_write_begins(l, 1, 0, 1, 2, 77);
	locker_write_ends(l, 1, 0, 1, 2, 77, true);
	locker_unlocks(l, 3, 1, READS(0, 15));
	locker_granted(l, 4, 3, READS(0, 15));
	locker_reads(l, 3, 0, 0, 4, (uint32_t[]){ 0, 77, 77, 0 });
	is_good(l);
}

static void older_bytes_are_refused(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 15));
	locker_write_begins(l, 1, 0, 1, 2, 77);
	locker_write_ends(l, 1, 0, 1, 2, 77, true);
	locker_unlocks(l, 3, 1, READS(0, 15));
	locker_granted(l, 4, 3, READS(0, 15));
	locker_reads(l, 3, 0, 0, 4, (uint32_t[]){ 0, 77, 0, 0 });
	is_refused(l, "reads 0 at f0 word 2");
}

static void a_write_without_an_answer_may_be_seen_and_then_stays(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 3));
	locker_write_begins(l, 1, 0, 0, 1, 5);
	locker_write_ends(l, 1, 0, 0, 1, 5, false);
	locker_reads(l, 1, 0, 0, 1, (uint32_t[]){ 0 });
	assert_null(locker_failure(l));
	locker_write_begins(l, 1, 0, 0, 1, 6);
	locker_reads(l, 1, 0, 0, 1, (uint32_t[]){ 6 });
	assert_null(locker_failure(l));
	locker_reads(l, 1, 0, 0, 1, (uint32_t[]){ 0 });
	is_refused(l, "reads 0");
}

/* Its process was stopped, and goes on with what it had heard before. */
static void the_last_word_of_a_server_changes_nothing(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 3));
	locker_write_begins(l, 1, 0, 0, 1, 5);
	locker_serves(l, 1, false);
	locker_may_lose(l, 1);
	locker_granted(l, 3, 3, WRITES(0, 3));
	locker_write_begins(l, 3, 0, 0, 1, 6);
	locker_write_ends(l, 3, 0, 0, 1, 6, true);
	locker_write_ends(l, 1, 0, 0, 1, 5, true);
	locker_reads(l, 1, 0, 0, 1, (uint32_t[]){ 0 });
	locker_reads(l, 3, 0, 0, 1, (uint32_t[]){ 6 });
	assert_null(locker_failure(l));
	locker_reads(l, 3, 0, 0, 1, (uint32_t[]){ 5 });
	is_refused(l, "reads 5");
}

static void what_is_granted_by_a_last_word_is_lost_before_it_can_be_used(void **state)
{
	struct locker *l = begin();

	locker_serves(l, 1, false);
	locker_granted(l, 2, 3, READS(0, 7));
	locker_granted(l, 3, 1, WRITES(4, 9)); /* an old answer */
	assert_null(locker_failure(l));
	locker_granted(l, 4, 2, READS(9, 9)); /* of the same server */
	locker_lost(l, 5, 2, READS(9, 9));
	locker_granted(l, 6, 3, READS(0, 9));
	assert_null(locker_failure(l));
	locker_serves(l, 1, true);
	is_refused(l, "can use its lock of f0 byte 4");
}

static void a_write_that_nobody_can_serve_may_be_asked_for_under_a_lost_lock(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 3));
	locker_serves(l, 1, false);
	locker_may_lose(l, 1);
	locker_granted(l, 3, 3, WRITES(0, 3));
	locker_write_begins(l, 1, 0, 0, 1, 5);
	locker_write_ends(l, 1, 0, 0, 1, 5, false);
	assert_null(locker_failure(l));
	locker_reads(l, 3, 0, 0, 1, (uint32_t[]){ 0 });
	locker_reads(l, 3, 0, 0, 1, (uint32_t[]){ 5 }); /* but it is not to come then */
	is_refused(l, "reads 5");
}

static void a_use_without_a_lock_is_the_simulators_own(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, READS(0, 3));
	locker_write_begins(l, 1, 0, 0, 1, 5);
	is_refused(l, "without a lock");
}

static void a_waiter_of_a_free_lock_is_served_in_time(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 3));
	locker_waits(l, 3, 3, READS(0, 3));
	locker_time(l, 50 * BOUND, false);
	locker_unlocks(l, 50 * BOUND, 1, READS(0, 3));
	locker_time(l, 50 * BOUND, false);
	locker_time(l, 51 * BOUND, false);
	locker_granted(l, 51 * BOUND, 3, READS(0, 3));
	locker_time(l, 60 * BOUND, false);
	is_good(l);
}

static void a_waiter_that_is_forgotten_is_found(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 3));
	locker_waits(l, 3, 3, READS(0, 3));
	locker_unlocks(l, 4, 1, READS(0, 3));
	locker_time(l, 5, false);
	locker_time(l, 5 + BOUND, false);
	assert_null(locker_failure(l));
	locker_time(l, 6 + BOUND, false);
	is_refused(l, "owner 3 at S2 waits for R f0 0..3, and nobody has been in its way for 1000 ms");
}

static void nobody_is_late_while_messages_do_not_arrive(void **state)
{
	struct locker *l = begin();

	locker_waits(l, 3, 3, READS(0, 3));
	locker_time(l, 5, false);
	locker_time(l, 5 + BOUND, true);
	locker_time(l, 5 + 2 * BOUND, false);
	assert_null(locker_failure(l));
	locker_time(l, 6 + 2 * BOUND, false);
	is_refused(l, "owner 3");
}

static void who_waits_behind_a_waiter_is_not_late(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, READS(0, 3));
	locker_waits(l, 3, 3, WRITES(0, 7));
	locker_waits(l, 4, 2, READS(4, 4)); /* nobody has it, but a writer came before */
	locker_time(l, 5, false);
	locker_time(l, 5 + 2 * BOUND, false);
	is_good(l);
}

static void who_is_overtaken_again_and_again_is_found(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 2, READS(4, 4));
	locker_waits(l, 3, 3, WRITES(0, 7));
	for (uint32_t i = 1; i < LOCKER_OVERTAKEN; i++) {
		locker_waits(l, 10 * i, 1, READS(0, 3));
		locker_reserved(l, 10 * i, 1, READS(0, 3));
		locker_granted(l, 10 * i + 1, 1, READS(0, 3));
		locker_unlocks(l, 10 * i + 2, 1, READS(0, 3));
		locker_granted(l, 10 * i + 3, 2, READS(4, 5)); /* did not wait */
	}
	assert_null(locker_failure(l));
	locker_waits(l, 9000, 1, READS(0, 3));
	locker_granted(l, 9001, 1, READS(0, 3));
	is_refused(l, "owner 3 at S2 waits for W f0 0..7, and 100 that came later have been served");
}

static void a_refusal_needs_somebody_in_the_way(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, READS(0, 3));
	locker_asks(l, 3, 3, WRITES(0, 3));
	locker_denied(l, 4, 3);
	locker_unlocks(l, 5, 1, READS(0, 3));
	locker_asks(l, 5 + BOUND, 3, WRITES(0, 3)); /* the unlock may be on its way */
	locker_denied(l, 6 + BOUND, 3);
	assert_null(locker_failure(l));
	locker_asks(l, 6 + BOUND, 3, WRITES(0, 3));
	locker_denied(l, 9 + BOUND, 3);
	is_refused(l, "owner 3 at S2 is refused W f0 0..3");
}

static void what_was_given_back_at_a_server_refuses_nobody_there(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, READS(0, 3));
	locker_unlocks(l, 5, 1, READS(0, 3));
	locker_asks(l, 6, 2, WRITES(0, 3)); /* before the answer */
	locker_unlocked(l, 7, 1, READS(0, 3));
	locker_denied(l, 8, 2);
	locker_asks(l, 9, 3, WRITES(0, 3)); /* at another server */
	locker_denied(l, 10, 3);
	locker_asks(l, 11, 2, WRITES(0, 3)); /* the one at the other server may have got it meanwhile */
	locker_denied(l, 12, 2);
	assert_null(locker_failure(l));
	locker_asks(l, 13 + BOUND, 2, WRITES(0, 3));
	locker_denied(l, 14 + BOUND, 2);
	is_refused(l, "owner 2 at S1 is refused W f0 0..3");
}

static void a_server_that_stood_still_may_have_forgotten_what_was_given_back(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, READS(0, 3));
	locker_unlocks(l, 5, 1, READS(0, 3));
	locker_unlocked(l, 5, 1, READS(0, 3));
	locker_time(l, 6, false);
	locker_serves(l, 1, false);
	locker_serves(l, 1, true);
	locker_asks(l, 7, 2, WRITES(0, 3));
	locker_denied(l, 8, 2);
	assert_null(locker_failure(l));
}

static void who_unlocked_just_now_refuses_nobody_at_its_server(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, READS(0, 3));
	locker_unlocks(l, 5, 1, READS(0, 3));
	locker_unlocked(l, 5, 1, READS(0, 3));
	locker_asks(l, 6, 2, WRITES(0, 3));
	locker_denied(l, 7, 2);
	is_refused(l, "owner 2 at S1 is refused W f0 0..3");
}

static void an_unlock_may_be_on_its_way_for_as_long_as_messages_do_not_arrive(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, READS(0, 3));
	locker_time(l, 3, true);
	locker_unlocks(l, 4, 1, READS(0, 3));
	locker_time(l, 4 + 3 * BOUND, false);
	locker_asks(l, 4 + 3 * BOUND, 3, WRITES(0, 3));
	locker_denied(l, 5 + 3 * BOUND, 3);
	assert_null(locker_failure(l));
	locker_asks(l, 5 + 4 * BOUND, 3, WRITES(0, 3));
	locker_denied(l, 6 + 4 * BOUND, 3);
	is_refused(l, "owner 3 at S2 is refused W f0 0..3");
}

static void readers_are_not_refused_because_of_readers(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, READS(0, 3));
	locker_time(l, 9 * BOUND, false);
	locker_asks(l, 9 * BOUND, 3, READS(0, 3));
	locker_denied(l, 9 * BOUND, 3);
	is_refused(l, "is refused R");
}

static void a_test_that_overlooks_a_lock_is_refused(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, READS(0, 3));
	locker_tests(l, 3, WRITES(3, 9));
	locker_tested(l, 3, true); /* the lock is new */
	locker_time(l, 3 + BOUND, false);
	locker_tests(l, 3, WRITES(3, 9));
	locker_tested(l, 3, false);
	locker_tests(l, 3, WRITES(3, 9));
	locker_unlocks(l, 3 + BOUND, 1, READS(3, 3));
	locker_tested(l, 3, true); /* one or the other */
	assert_null(locker_failure(l));
	locker_time(l, 9 + 2 * BOUND, false);
	locker_tests(l, 3, WRITES(2, 9));
	locker_tested(l, 3, true);
	is_refused(l, "owner 1 has had a lock there all the while");
}

static void what_is_reserved_is_held(void **state)
{
	struct locker *l = begin();

	locker_waits(l, 2, 1, WRITES(0, 15));
	locker_reserved(l, 3, 1, WRITES(0, 15));
	assert_null(locker_failure(l));
	locker_granted(l, 4, 3, READS(15, 15));
	is_refused(l, "has byte 15 (reserved)");
}

static void two_reservations_of_one_byte_are_refused(void **state)
{
	struct locker *l = begin();

	locker_waits(l, 2, 1, WRITES(0, 15));
	locker_reserved(l, 3, 1, WRITES(0, 15));
	locker_reserved(l, 4, 3, WRITES(10, LOCKER_END));
	is_refused(l, "owner 3 at S2 has reserved W f0 10..end");
}

static void what_is_given_back_is_free_and_the_old_lock_stays(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, READS(0, 3));
	locker_waits(l, 3, 1, WRITES(0, 7));
	locker_reserved(l, 4, 1, WRITES(0, 7));
	locker_gives_back(l, 5, 1);
	locker_granted(l, 6, 3, WRITES(4, 7));
	assert_true(locker_has(l, 1, READS(0, 3)));
	assert_false(locker_has(l, 1, READS(0, 4)));
	assert_null(locker_failure(l));
	locker_granted(l, 7, 3, WRITES(3, 3));
	is_refused(l, "has byte 3 (R)");
}

static void a_reservation_that_was_given_away_must_not_be_fetched(void **state)
{
	struct locker *l = begin();

	locker_waits(l, 2, 1, WRITES(0, 15));
	locker_reserved(l, 3, 1, WRITES(0, 15));
	locker_serves(l, 1, false);
	locker_granted(l, 4, 3, READS(0, 15));
	assert_null(locker_failure(l));
	locker_serves(l, 1, true);
	is_refused(l, "that was reserved for it, which somebody else has had since");
}

static void who_recovers_can_use_nothing(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 15));
	locker_recovers(l, 1, true);
	locker_may_lose(l, 1);
	locker_granted(l, 3, 3, WRITES(4, 7));
	locker_lost(l, 4, 1, WRITES(0, 15));
	locker_recovers(l, 1, false);
	is_good(l);
}

static void a_reclaim_of_what_stands_is_good(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 15));
	locker_recovers(l, 1, true);
	locker_reclaimed(l, 3, 1, WRITES(0, 15));
	locker_recovers(l, 1, false);
	assert_null(locker_failure(l));
	locker_granted(l, 4, 3, WRITES(4, 7));
	is_refused(l, "is granted");
}

static void a_reclaim_of_what_was_given_away_is_refused(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 15));
	locker_recovers(l, 1, true);
	locker_may_lose(l, 1);
	locker_granted(l, 3, 3, WRITES(4, 7));
	locker_unlocks(l, 4, 3, WRITES(4, 7));
	locker_reclaimed(l, 5, 1, WRITES(0, 15));
	is_refused(l, "reclaims W f0 0..15, of which somebody else has had byte 4 since");
}

static void a_reclaim_that_is_heard_late_says_nothing(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 15));
	locker_recovers(l, 1, true);
	locker_serves(l, 1, false);
	locker_may_lose(l, 1);
	locker_granted(l, 3, 3, WRITES(4, 7));
	locker_reclaimed(l, 4, 1, WRITES(0, 15));
	locker_lost(l, 5, 1, WRITES(0, 3));
	assert_null(locker_failure(l));
	locker_serves(l, 1, true);
	locker_recovers(l, 1, false);
	is_refused(l, "has not heard of the loss");
}

static void who_goes_on_without_a_reclaim_is_found(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, WRITES(0, 15));
	locker_recovers(l, 1, true);
	locker_may_lose(l, 1);
	locker_granted(l, 3, 3, WRITES(4, 7));
	locker_recovers(l, 1, false);
	is_refused(l, "has not heard of the loss");
}

static void pieces_are_what_an_owner_has(void **state)
{
	struct locker *l = begin();
	struct locker_range r;

	locker_granted(l, 2, 1, WRITES(2, LOCKER_END));
	locker_granted(l, 3, 1, READS(4, 9));
	locker_unlocks(l, 4, 1, READS(6, 6));
	assert_true(locker_piece(l, 1, 0, 2, &r));
	assert_true(r.type == LOCKER_READ && r.start == 7 && r.last == 9);
	assert_true(locker_piece(l, 1, 0, 3, &r));
	assert_true(r.type == LOCKER_WRITE && r.start == 10 && r.last == LOCKER_END);
	assert_false(locker_piece(l, 1, 0, 4, &r));
	is_good(l);
}

static void at_the_end_nothing_is_left(void **state)
{
	struct locker *l = begin();

	locker_granted(l, 2, 1, READS(64, LOCKER_END));
	locker_ends(l);
	is_refused(l, "at the end owner 1 at S1 has a lock");
	l = begin();
	locker_waits(l, 2, 1, READS(64, LOCKER_END));
	locker_ends(l);
	is_refused(l, "at the end owner 1 at S1 waits");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(locks_that_do_not_meet_are_good),
		cmocka_unit_test(two_writers_of_one_byte_are_refused),
		cmocka_unit_test(two_owners_of_one_server_conflict),
		cmocka_unit_test(beyond_the_bytes_ranges_meet),
		cmocka_unit_test(a_raise_over_another_reader_is_refused),
		cmocka_unit_test(a_lowered_lock_lets_readers_in),
		cmocka_unit_test(a_lock_of_who_cannot_serve_may_be_given_away),
		cmocka_unit_test(a_lock_that_can_be_reclaimed_is_nobody_elses),
		cmocka_unit_test(a_reservation_over_what_can_be_reclaimed_is_refused),
		cmocka_unit_test(a_loss_without_a_cause_is_refused),
		cmocka_unit_test(the_cause_of_a_loss_is_of_one_owner),
		cmocka_unit_test(what_is_granted_after_the_cause_is_not_lost_by_it),
		cmocka_unit_test(what_is_reclaimed_after_the_cause_is_not_lost_by_it),
		cmocka_unit_test(who_moves_takes_its_locks_along),
		cmocka_unit_test(a_loss_that_is_not_heard_is_refused),
		cmocka_unit_test(half_a_loss_heard_is_refused),
		cmocka_unit_test(who_was_only_away_keeps_its_lock),
		cmocka_unit_test(bytes_of_the_last_lock_are_read),
		cmocka_unit_test(older_bytes_are_refused),
		cmocka_unit_test(a_write_without_an_answer_may_be_seen_and_then_stays),
		cmocka_unit_test(the_last_word_of_a_server_changes_nothing),
		cmocka_unit_test(what_is_granted_by_a_last_word_is_lost_before_it_can_be_used),
		cmocka_unit_test(a_write_that_nobody_can_serve_may_be_asked_for_under_a_lost_lock),
		cmocka_unit_test(a_use_without_a_lock_is_the_simulators_own),
		cmocka_unit_test(a_waiter_of_a_free_lock_is_served_in_time),
		cmocka_unit_test(a_waiter_that_is_forgotten_is_found),
		cmocka_unit_test(nobody_is_late_while_messages_do_not_arrive),
		cmocka_unit_test(who_waits_behind_a_waiter_is_not_late),
		cmocka_unit_test(who_is_overtaken_again_and_again_is_found),
		cmocka_unit_test(a_refusal_needs_somebody_in_the_way),
		cmocka_unit_test(what_was_given_back_at_a_server_refuses_nobody_there),
		cmocka_unit_test(a_server_that_stood_still_may_have_forgotten_what_was_given_back),
		cmocka_unit_test(who_unlocked_just_now_refuses_nobody_at_its_server),
		cmocka_unit_test(an_unlock_may_be_on_its_way_for_as_long_as_messages_do_not_arrive),
		cmocka_unit_test(readers_are_not_refused_because_of_readers),
		cmocka_unit_test(a_test_that_overlooks_a_lock_is_refused),
		cmocka_unit_test(what_is_reserved_is_held),
		cmocka_unit_test(two_reservations_of_one_byte_are_refused),
		cmocka_unit_test(what_is_given_back_is_free_and_the_old_lock_stays),
		cmocka_unit_test(a_reservation_that_was_given_away_must_not_be_fetched),
		cmocka_unit_test(who_recovers_can_use_nothing),
		cmocka_unit_test(a_reclaim_of_what_stands_is_good),
		cmocka_unit_test(a_reclaim_of_what_was_given_away_is_refused),
		cmocka_unit_test(a_reclaim_that_is_heard_late_says_nothing),
		cmocka_unit_test(who_goes_on_without_a_reclaim_is_found),
		cmocka_unit_test(pieces_are_what_an_owner_has),
		cmocka_unit_test(at_the_end_nothing_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
