/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* OPEN and CLOSE of one state at the same time (decision 0021), in every order that Ganesha lets them come by, by a clock that only this program moves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "repl.h"

#define WAITS_US 400 /* what is waited for a number at the most, before it is DELAY */
#define CLOSED_US 1000000 /* after that a CLOSE that did not come is over */
#define OPENED_US 60000000 /* after that an OPEN without a number is not waited for any more */
#define PAUSE_US 50000 /* after that the client has the answer of an OPEN */

static uint64_t clock_us = 1; /* 0 is no time */
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

static uint32_t done = 1; /* the OPEN or CLOSE is the second operation of its request, and under way */

uint32_t repl_compound_done(void)
{
	return done;
}

/* The OPEN that came by last is done, and its client asks for what is behind it. */
static void answered(void)
{
	done = 2;
	repl_open_over();
	done = 1;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	clock_us += time->tv_sec * 1000000 + time->tv_nsec / 1000;
	if (number.at_us != 0 && clock_us >= number.at_us) {
		number.state->state_seqid++;
		number.at_us = 0;
		answered();
	}
	return 0;
}

/* It has its number and is answered. */
static void gets_number(struct state_t *s)
{
	s->state_seqid++;
	answered();
}

static nfs_argop4 ops[2];
static COMPOUND4args request = { .argarray = { .argarray_len = 2, .argarray_val = ops } };

const COMPOUND4args *repl_compound_args(void)
{
	return &request;
}

/* Each test has states of its own, which other tests' marks say nothing of. */
static struct state_t new_state(uint32_t seqid)
{
	static uint32_t made;
	struct state_t s = { .state_seqid = seqid };

	made++;
	memcpy(s.stateid_other, &made, sizeof(made));
	clock_us += 10 * PAUSE_US;
	number.at_us = 0;
	return s;
}

static void request_is(nfs_opnum4 op)
{
	ops[0].argop = NFS4_OP_PUTFH;
	ops[1] = (nfs_argop4){ .argop = op };
}

/* The CLOSE's last look, or an earlier one. True: it shall come again. */
static bool close_comes(const struct state_t *s, uint32_t seqid)
{
	request_is(NFS4_OP_CLOSE);
	ops[1].nfs_argop4_u.opclose.open_stateid.seqid = seqid;
	memcpy(ops[1].nfs_argop4_u.opclose.open_stateid.other, s->stateid_other, OTHERSIZE);
	return repl_close_ahead();
}

/* True: it shall come again. Else its number comes @after_us from now; 0: the test gives it, or nobody. */
static bool open_comes(struct state_t *s, uint64_t after_us)
{
	request_is(NFS4_OP_OPEN);
	if (repl_open_comes_early(s))
		return true;
	number.state = s;
	number.at_us = after_us ? clock_us + after_us : 0;
	return false;
}

static void test_an_open_behind_a_close_comes_again(void **unused)
{
	struct state_t s = new_state(1), other = new_state(1);

	assert_false(close_comes(&s, 1));
	assert_true(open_comes(&s, 0));
	assert_false(open_comes(&other, 0));
	repl_close_over(&s);
	assert_false(open_comes(&s, 0));
}

static void test_a_close_that_does_not_come_is_over_by_itself(void **unused)
{
	struct state_t s = new_state(1);

	assert_false(close_comes(&s, 1));
	clock_us += CLOSED_US - 1;
	assert_true(open_comes(&s, 0));
	clock_us++;
	assert_false(open_comes(&s, 0));
}

static void test_a_close_without_its_attributes_is_over(void **unused)
{
	struct state_t s = new_state(1);

	assert_false(close_comes(&s, 1));
	repl_close_off();
	assert_false(open_comes(&s, 0));
}

static void test_a_close_behind_an_open_comes_again(void **unused)
{
	struct state_t s = new_state(1);
	uint64_t start = clock_us;

	assert_false(open_comes(&s, 0));
	assert_true(close_comes(&s, 1));
	gets_number(&s);
	assert_true(close_comes(&s, 1)); /* its client may not have the answer yet */
	assert_int_equal(clock_us, start);
	clock_us += PAUSE_US;
	assert_false(close_comes(&s, 1)); /* by its handle, */
	assert_false(close_comes(&s, 1)); /* and by its attributes: it is known to be refused, */
	assert_false(open_comes(&s, 0)); /* and hinders nobody */
}

static void test_who_waits_for_a_number_in_vain_comes_again(void **unused)
{
	struct state_t s = new_state(1);
	uint64_t start;

	assert_false(open_comes(&s, 0));
	for (int i = 0; i < 3; i++) {
		start = clock_us;
		assert_true(open_comes(&s, 0));
		assert_in_range(clock_us - start, WAITS_US / 2, WAITS_US);
		assert_true(close_comes(&s, 1));
		clock_us += OPENED_US / 4; /* the attributes of the directory come from far away */
	}
	gets_number(&s);
	assert_false(open_comes(&s, 0));
}

/* Ganesha reads it from the state again, and may find the next one's. */
static void test_an_open_waits_until_the_number_is_in_the_answer(void **unused)
{
	struct state_t s = new_state(0);
	uint64_t start = clock_us;

	request_is(NFS4_OP_OPEN);
	repl_open_begun(&s); /* the first one, and it does not come by as the others do */
	for (int i = 0; i < 2; i++) {
		s.state_seqid++;
		repl_open_over(); /* attributes of the directory are asked for, and it is not done */
		assert_true(open_comes(&s, 0));
		answered();
		assert_false(open_comes(&s, 0));
	}
	s.state_seqid++;
	assert_true(open_comes(&s, 0));
	clock_us = start + 4 * PAUSE_US; /* and if its client asks for nothing else */
	assert_false(open_comes(&s, 0));
}

static void test_nobody_waits_for_ever(void **unused)
{
	struct state_t s = new_state(1), other = new_state(1);

	assert_false(open_comes(&s, 0));
	assert_false(open_comes(&other, 0));
	clock_us += OPENED_US;
	assert_false(open_comes(&s, 0));
	assert_false(close_comes(&other, 1));
}

static void test_a_close_of_the_newest_does_not_come_again(void **unused)
{
	static const uint32_t says[] = { 2, 0 /* which means the newest */ };

	for (int i = 0; i < 2; i++) {
		struct state_t s = new_state(1);

		assert_false(open_comes(&s, 0));
		gets_number(&s);
		assert_false(close_comes(&s, says[i]));
		assert_true(open_comes(&s, 0));
	}
}

static void test_an_old_close_whose_open_nobody_knows_hinders_nobody(void **unused)
{
	struct state_t s = new_state(5);

	assert_false(close_comes(&s, 4));
	assert_false(open_comes(&s, 0));
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
	gets_number(&s);
	assert_true(close_comes(&s, 2)); /* knows of the first one only */
	assert_false(close_comes(&s, 3));
}

static void test_an_open_behind_the_first_one_waits(void **unused)
{
	struct state_t s = new_state(0);

	request_is(NFS4_OP_OPEN);
	repl_open_begun(&s);
	clock_us += 10 * PAUSE_US;
	assert_true(open_comes(&s, 0));
	number.state = &s;
	number.at_us = clock_us + 90;
	assert_false(open_comes(&s, 0));
	assert_int_equal(s.state_seqid, 1);
}

static void test_an_open_that_failed_has_overtaken_nobody(void **unused)
{
	struct state_t s = new_state(1);
	uint64_t start = clock_us;

	assert_false(open_comes(&s, 0));
	repl_open_failed(&s);
	assert_false(close_comes(&s, 1));
	assert_true(open_comes(&s, 0));
	repl_close_over(&s);
	assert_false(open_comes(&s, 0));
	assert_int_equal(clock_us, start);
}

/* Its memory may be another's by then. */
static void test_a_state_is_not_looked_at_when_it_is_gone(void **unused)
{
	struct state_t s = new_state(1), gone = s;

	assert_false(open_comes(&gone, 0));
	repl_close_over(&gone);
	gone.state_seqid = 1; /* still without its number, if one looked */
	assert_false(close_comes(&s, 1));
	assert_true(open_comes(&s, 0)); /* so the CLOSE has a mark */
	repl_close_over(&s);
	assert_false(open_comes(&gone, 0)); /* nor is one that has its place waited for */
}

static void test_numbers_go_round(void **unused)
{
	struct state_t s = new_state(UINT32_MAX);

	assert_false(open_comes(&s, 0));
	assert_true(close_comes(&s, UINT32_MAX));
	s.state_seqid = 0; /* which is no number */
	gets_number(&s);
	clock_us += PAUSE_US;
	assert_false(close_comes(&s, UINT32_MAX));
	assert_false(open_comes(&s, 0));
	gets_number(&s);
	assert_false(close_comes(&s, 2));
	assert_true(open_comes(&s, 0));
}

static void test_what_has_no_such_numbers_is_left_alone(void **unused)
{
	struct state_t s = new_state(1);

	request.minorversion = 0;
	assert_false(close_comes(&s, 1));
	request.minorversion = 2;
	assert_false(open_comes(&s, 0));
	gets_number(&s);
	assert_false(close_comes(&s, 2));
	request_is(NFS4_OP_OPEN_DOWNGRADE);
	assert_false(repl_open_comes_early(&s));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_open_behind_a_close_comes_again),
		cmocka_unit_test(test_a_close_that_does_not_come_is_over_by_itself),
		cmocka_unit_test(test_a_close_without_its_attributes_is_over),
		cmocka_unit_test(test_a_close_behind_an_open_comes_again),
		cmocka_unit_test(test_who_waits_for_a_number_in_vain_comes_again),
		cmocka_unit_test(test_an_open_waits_until_the_number_is_in_the_answer),
		cmocka_unit_test(test_nobody_waits_for_ever),
		cmocka_unit_test(test_a_close_of_the_newest_does_not_come_again),
		cmocka_unit_test(test_an_old_close_whose_open_nobody_knows_hinders_nobody),
		cmocka_unit_test(test_an_open_behind_an_open_waits_for_its_number),
		cmocka_unit_test(test_an_open_behind_the_first_one_waits),
		cmocka_unit_test(test_an_open_that_failed_has_overtaken_nobody),
		cmocka_unit_test(test_a_state_is_not_looked_at_when_it_is_gone),
		cmocka_unit_test(test_numbers_go_round),
		cmocka_unit_test(test_what_has_no_such_numbers_is_left_alone),
	};

	request.minorversion = 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
