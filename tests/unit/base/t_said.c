/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* How often one line of the log comes. */
#include "lib/unit.h"

#include "base/said.h"

static void lines_beyond_the_bound_are_counted(void **state)
{
	struct nfs4r_said s = { 0 };
	uint64_t more = 99;

	for (uint64_t i = 0; i < 3; i++) {
		assert_true(nfs4r_said_may(&s, i, 3, &more));
		assert_int_equal(more, 0);
	}
	for (uint64_t i = 3; i < NFS4R_SAID_INTERVAL_MS; i += 1000)
		assert_false(nfs4r_said_may(&s, i, 3, &more));
	assert_true(nfs4r_said_may(&s, NFS4R_SAID_INTERVAL_MS, 3, &more));
	assert_int_equal(more, 60);
	assert_true(nfs4r_said_may(&s, NFS4R_SAID_INTERVAL_MS + 1, 3, &more));
	assert_int_equal(more, 0);
}

/* Also when the clock begins at 0. */
static void one_in_an_interval(void **state)
{
	struct nfs4r_said s = { 0 };
	uint64_t more;

	assert_true(nfs4r_said_may(&s, 0, 1, &more));
	assert_false(nfs4r_said_may(&s, 0, 1, &more));
	assert_false(nfs4r_said_may(&s, NFS4R_SAID_INTERVAL_MS - 1, 1, &more));
	assert_true(nfs4r_said_may(&s, NFS4R_SAID_INTERVAL_MS, 1, &more));
	assert_int_equal(more, 2);
}

static void texts_that_differ_in_digits_are_one(void **state)
{
	assert_int_equal(nfs4r_said_key("server 2 has view 17"), nfs4r_said_key("server 14 has view 9000"));
	assert_int_not_equal(nfs4r_said_key("server 2 has view 17"), nfs4r_said_key("server 2 has no view"));
	assert_int_equal(nfs4r_said_key("1"), nfs4r_said_key(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_beyond_the_bound_are_counted),
		cmocka_unit_test(one_in_an_interval),
		cmocka_unit_test(texts_that_differ_in_digits_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
