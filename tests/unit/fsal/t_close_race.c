/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* OPEN and CLOSE of one state at the same time (docs/decisions/0021), in every order that Ganesha lets them come by, by a clock that only this program moves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "repl.h"

#define SETTLED_US 5000	  /* after that an OPEN that got no number yet is not waited for any more */
#define CLOSED_US 50000	  /* after that a CLOSE is over, whatever became of it */
#define OPEN_WAITS_US 400 /* what an OPEN waits for another one's number at the most */

static uint64_t clock_us;
static struct {
	struct state_t *state;
	uint64_t at_us; /* when the OPEN under way gets its number, while somebody sleeps; 0: never */
} number;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	*ts = (struct timespec){ .tv_sec = clock_us / 1000000, .tv_nsec = clock_us % 1000000 * 1000 };
	return 0;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	clock_us += time->tv_sec * 1000000 + time->tv_nsec / 1000;
	if (number.at_us != 0 && clock_us >= number.at_us) {
		number.state->state_seqid++;
		number.at_us = 0;
	}
	return 0;
}

static nfs_argop4 ops[2];
static COMPOUND4args request = { .argarray = { .argarray_len = 2, .argarray_val = ops } };

const COMPOUND4args *repl_compound_args(void)
{
	return &request;
}

/* Each test has a state of its own, which other tests' marks say nothing of. */
static struct state_t new_state(uint32_t seqid)
{
	static uint32_t made;
	struct state_t s = { .state_seqid = seqid };

	made++;
	memcpy(s.stateid_other, &made, sizeof(made));
	clock_us += 1000000;
	number.at_us = 0;
	return s;
}

/* The CLOSE's last look, or an earlier one; how long it waited. */
static uint64_t close_comes(const struct state_t *s, uint32_t seqid)
{
	uint64_t start = clock_us;

	ops[0].argop = NFS4_OP_PUTFH;
	ops[1] = (nfs_argop4){ .argop = NFS4_OP_CLOSE };
	ops[1].nfs_argop4_u.opclose.open_stateid.seqid = seqid;
	memcpy(ops[1].nfs_argop4_u.opclose.open_stateid.other, s->stateid_other, OTHERSIZE);
	repl_close_ahead();
	return clock_us - start;
}

/* True: it shall come again. Else its number comes @after_us from now; 0: the caller gives it, or nobody. */
static bool open_comes(struct state_t *s, uint64_t after_us)
{
	ops[0].argop = NFS4_OP_PUTFH;
	ops[1] = (nfs_argop4){ .argop = NFS4_OP_OPEN };
	if (repl_open_meets_close(s))
		return true;
	number.state = s;
	number.at_us = after_us ? clock_us + after_us : 0;
	return false;
}

static void test_an_open_behind_a_close_comes_again(void **unused)
{
	struct state_t s = new_state(1), other = new_state(1);

	assert_int_equal(close_comes(&s, 1), 0);
	assert_true(open_comes(&s, 0));
	assert_false(open_comes(&other, 0));
	repl_close_over(&s);
	assert_false(open_comes(&s, 0));
}

static void test_a_close_that_was_refused_is_over_by_itself(void **unused)
{
	struct state_t s = new_state(1);

	close_comes(&s, 1);
	clock_us += CLOSED_US - 1;
	assert_true(open_comes(&s, 0));
	clock_us++;
	assert_false(open_comes(&s, 0));
}

static void test_a_close_behind_an_open_waits_and_hinders_nobody(void **unused)
{
	struct state_t s = new_state(1);

	assert_false(open_comes(&s, 50));
	assert_int_equal(close_comes(&s, 1), SETTLED_US); /* by its handle ... */
	assert_int_equal(s.state_seqid, 2);
	assert_int_equal(close_comes(&s, 1), 0); /* ... and by its attributes: it is known to be refused */
	assert_false(open_comes(&s, 0));
}

static void test_a_close_that_knows_of_the_open_does_not_wait(void **unused)
{
	struct state_t s = new_state(1);

	assert_false(open_comes(&s, 0));
	s.state_seqid = 2;
	assert_int_equal(close_comes(&s, 2), 0);
	assert_true(open_comes(&s, 0));
}

static void test_a_close_without_a_number_closes_the_newest(void **unused)
{
	struct state_t s = new_state(1);

	assert_false(open_comes(&s, 0));
	s.state_seqid = 2;
	assert_int_equal(close_comes(&s, 0), 0);
	assert_true(open_comes(&s, 0));
}

static void test_an_open_behind_an_open_waits_for_its_number(void **unused)
{
	struct state_t s = new_state(1);
	uint64_t start;

	assert_false(open_comes(&s, 90));
	start = clock_us;
	assert_false(open_comes(&s, 0));
	assert_int_equal(s.state_seqid, 2);
	assert_in_range(clock_us - start, 90, 110);
	s.state_seqid = 3;
	assert_int_equal(close_comes(&s, 2), SETTLED_US); /* knows of the first one only */
}

static void test_an_open_behind_the_first_one_waits(void **unused)
{
	struct state_t s = new_state(0);

	number.state = &s;
	number.at_us = clock_us + 90;
	assert_false(open_comes(&s, 0));
	assert_int_equal(s.state_seqid, 1);
}

static void test_no_open_waits_for_ever(void **unused)
{
	struct state_t s = new_state(1);
	uint64_t start;

	assert_false(open_comes(&s, 0));
	start = clock_us;
	assert_false(open_comes(&s, 0));
	assert_in_range(clock_us - start, OPEN_WAITS_US / 2, OPEN_WAITS_US);
	clock_us += SETTLED_US;
	start = clock_us;
	assert_false(open_comes(&s, 0));
	assert_int_equal(clock_us, start);
}

static void test_an_open_that_failed_has_overtaken_nobody(void **unused)
{
	struct state_t s = new_state(1);
	uint64_t start;

	assert_false(open_comes(&s, 0));
	repl_open_failed(&s);
	start = clock_us;
	assert_int_equal(close_comes(&s, 1), 0);
	assert_true(open_comes(&s, 0));
	repl_close_over(&s);
	assert_false(open_comes(&s, 0));
	assert_int_equal(clock_us, start);
}

static void test_numbers_go_round(void **unused)
{
	struct state_t s = new_state(UINT32_MAX);

	assert_false(open_comes(&s, 0));
	s.state_seqid = 1; /* 0 is no number */
	assert_int_equal(close_comes(&s, UINT32_MAX), SETTLED_US);
	assert_int_equal(close_comes(&s, 1), 0);
	assert_true(open_comes(&s, 0));
}

static void test_what_has_no_such_numbers_is_left_alone(void **unused)
{
	struct state_t s = new_state(1);

	request.minorversion = 0;
	close_comes(&s, 1);
	request.minorversion = 2;
	assert_false(open_comes(&s, 0));
	close_comes(&s, 2);
	ops[1].argop = NFS4_OP_OPEN_DOWNGRADE;
	assert_false(repl_open_meets_close(&s));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_open_behind_a_close_comes_again),
		cmocka_unit_test(test_a_close_that_was_refused_is_over_by_itself),
		cmocka_unit_test(test_a_close_behind_an_open_waits_and_hinders_nobody),
		cmocka_unit_test(test_a_close_that_knows_of_the_open_does_not_wait),
		cmocka_unit_test(test_a_close_without_a_number_closes_the_newest),
		cmocka_unit_test(test_an_open_behind_an_open_waits_for_its_number),
		cmocka_unit_test(test_an_open_behind_the_first_one_waits),
		cmocka_unit_test(test_no_open_waits_for_ever),
		cmocka_unit_test(test_an_open_that_failed_has_overtaken_nobody),
		cmocka_unit_test(test_numbers_go_round),
		cmocka_unit_test(test_what_has_no_such_numbers_is_left_alone),
	};

	request.minorversion = 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
