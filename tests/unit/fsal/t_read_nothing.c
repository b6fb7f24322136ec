/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* READs of 0 bytes: which of a request ask for one byte in place of that, and which of them is under way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "repl.h"

#define OPS 80

static nfs_argop4 ops[OPS];
static COMPOUND4args request = { .argarray = { .argarray_val = ops } };
static bool is_compound = true;
static uint32_t done;
__thread struct req_op_context *op_ctx;
static struct req_op_context context;

const COMPOUND4args *repl_compound_args(void)
{
	return is_compound ? &request : NULL;
}

uint32_t repl_compound_done(void)
{
	return is_compound ? done : 0;
}

static void request_is(const nfs_opnum4 *list, uint32_t n)
{
	memset(ops, 0, sizeof(ops));
	memset(&context, 0, sizeof(context));
	op_ctx = &context;
	for (uint32_t i = 0; i < n; i++)
		ops[i].argop = list[i];
	request.argarray.argarray_len = n;
	done = 0;
}

static count4 count_of(uint32_t op)
{
	return ops[op].nfs_argop4_u.opread.count;
}

static bool is_for_nothing(uint32_t op)
{
	done = op;
	return repl_read_nothing();
}

static void test_a_read_of_nothing_asks_for_one_byte(void **unused)
{
	static const nfs_opnum4 list[] = { NFS4_OP_SEQUENCE, NFS4_OP_PUTFH, NFS4_OP_READ, NFS4_OP_READ, NFS4_OP_GETATTR };

	request_is(list, 5);
	ops[3].nfs_argop4_u.opread.count = 100;
	done = 1;
	repl_read_nothing_ahead();
	assert_int_equal(count_of(2), 1);
	assert_int_equal(count_of(3), 100);
	assert_true(is_for_nothing(2));
	assert_false(is_for_nothing(3));
	assert_false(is_for_nothing(1));
}

static void test_a_read_of_one_byte_is_one(void **unused)
{
	static const nfs_opnum4 list[] = { NFS4_OP_PUTFH, NFS4_OP_READ };

	request_is(list, 2);
	ops[1].nfs_argop4_u.opread.count = 1;
	repl_read_nothing_ahead();
	assert_false(is_for_nothing(1));
}

/* It may be of another export, whose FSAL would give the byte to the client. */
static void test_another_file_is_left_alone(void **unused)
{
	static const nfs_opnum4 others[] = { NFS4_OP_PUTFH, NFS4_OP_PUTROOTFH, NFS4_OP_RESTOREFH, NFS4_OP_LOOKUP, NFS4_OP_LOOKUPP, NFS4_OP_OPEN };

	for (uint32_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		const nfs_opnum4 list[] = { NFS4_OP_PUTFH, NFS4_OP_READ, others[i], NFS4_OP_READ };

		request_is(list, 4);
		repl_read_nothing_ahead();
		assert_int_equal(count_of(1), 1);
		assert_int_equal(count_of(3), 0);
		assert_false(is_for_nothing(3));
	}
}

/* One that was put aside is the current one again. */
static void test_a_file_that_comes_back_is_the_same(void **unused)
{
	static const nfs_opnum4 list[] = { NFS4_OP_PUTFH, NFS4_OP_SAVEFH, NFS4_OP_PUTROOTFH, NFS4_OP_READ, NFS4_OP_RESTOREFH, NFS4_OP_READ };

	request_is(list, 6);
	repl_read_nothing_ahead();
	assert_int_equal(count_of(3), 0);
	assert_int_equal(count_of(5), 1);
	assert_false(is_for_nothing(3));
	assert_true(is_for_nothing(5));
}

static void test_another_that_comes_back_is_left_alone(void **unused)
{
	static const nfs_opnum4 list[] = { NFS4_OP_PUTFH, NFS4_OP_SAVEFH, NFS4_OP_PUTROOTFH, NFS4_OP_SAVEFH, NFS4_OP_RESTOREFH, NFS4_OP_READ };

	request_is(list, 6);
	repl_read_nothing_ahead();
	assert_int_equal(count_of(5), 0);
	request_is(list, 6); /* as seen by the second file, if that is ours as well */
	done = 2;
	repl_read_nothing_ahead();
	assert_int_equal(count_of(5), 1);
}

static void test_a_read_before_is_left_alone(void **unused)
{
	static const nfs_opnum4 list[] = { NFS4_OP_READ, NFS4_OP_LOOKUP, NFS4_OP_READ };

	request_is(list, 3);
	done = 1;
	repl_read_nothing_ahead();
	assert_int_equal(count_of(0), 0);
	assert_int_equal(count_of(2), 1);
}

static void test_a_long_request_has_a_limit(void **unused)
{
	nfs_opnum4 list[OPS] = { NFS4_OP_PUTFH };

	for (uint32_t i = 1; i < OPS; i++)
		list[i] = NFS4_OP_READ;
	request_is(list, OPS);
	repl_read_nothing_ahead();
	for (uint32_t i = 1; i < OPS; i++)
		assert_int_equal(is_for_nothing(i), count_of(i) == 1);
	assert_int_equal(count_of(63), 1);
	assert_int_equal(count_of(64), 0);
}

static void test_other_protocols_have_none(void **unused)
{
	request_is(NULL, 0);
	is_compound = false;
	repl_read_nothing_ahead();
	assert_false(repl_read_nothing());
	is_compound = true;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_read_of_nothing_asks_for_one_byte),
		cmocka_unit_test(test_a_read_of_one_byte_is_one),
		cmocka_unit_test(test_another_file_is_left_alone),
		cmocka_unit_test(test_a_file_that_comes_back_is_the_same),
		cmocka_unit_test(test_another_that_comes_back_is_left_alone),
		cmocka_unit_test(test_a_read_before_is_left_alone),
		cmocka_unit_test(test_a_long_request_has_a_limit),
		cmocka_unit_test(test_other_protocols_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
