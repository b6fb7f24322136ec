/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* ACLs of many entries: which travel, and what they take on a disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "repl.h"

#define ALWAYS (4 + 4 * 8) /* bytes of a POSIX ACL with owner, group, others and mask */

void never_called(void);
void never_called(void)
{
	fail();
}

static fsal_acl_t acl_of(uint32_t n)
{
	fsal_acl_t acl = { .naces = n, .aces = calloc(n, sizeof(*acl.aces)) };

	for (uint32_t i = 0; i < n; i++)
		acl.aces[i] = (fsal_ace_t){ .type = FSAL_ACE_TYPE_ALLOW, .who.uid = 100000 + i };
	return acl;
}

static void bytes_of(const fsal_acl_t *acl, uint32_t *own, uint32_t *inherited)
{
	struct nfs4r_buf *buf = repl_acl_encode(acl);

	assert_non_null(buf);
	assert_true(repl_acl_bytes(buf, own, inherited));
	nfs4r_buf_put(buf);
}

static void test_all_that_a_file_system_holds_travels(void **unused)
{
	fsal_acl_t all = acl_of(4 * 5461), more = acl_of(40000); /* of a directory of XFS: two POSIX ACLs, each entry allows and denies */
	struct nfs4r_buf *buf = repl_acl_encode(&all);

	assert_true(repl_acl_fits(&all));
	assert_non_null(buf);
	nfs4r_buf_put(buf);
	assert_false(repl_acl_fits(&more));
	assert_null(repl_acl_encode(&more));
	free(all.aces);
	free(more.aces);
}

static void test_each_name_counts_once(void **unused)
{
	fsal_acl_t acl = acl_of(6);
	uint32_t own, inherited;

	acl.aces[0].iflag = FSAL_ACE_IFLAG_SPECIAL_ID;
	acl.aces[1].type = FSAL_ACE_TYPE_DENY; /* of the same as the next one */
	acl.aces[1].who.uid = acl.aces[2].who.uid;
	acl.aces[3].flag = FSAL_ACE_FLAG_GROUP_ID; /* not the user of that number */
	acl.aces[3].who.gid = acl.aces[4].who.uid;
	bytes_of(&acl, &own, &inherited);
	assert_int_equal(own, ALWAYS + 4 * 8);
	assert_int_equal(inherited, 0);
	free(acl.aces);
}

static void test_what_is_inherited_counts_apart(void **unused)
{
	fsal_acl_t acl = acl_of(3);
	uint32_t own, inherited;

	acl.aces[0].flag = FSAL_ACE_FLAG_DIR_INHERIT;
	acl.aces[1].flag = FSAL_ACE_FLAG_FILE_INHERIT | FSAL_ACE_FLAG_INHERIT_ONLY;
	bytes_of(&acl, &own, &inherited);
	assert_int_equal(own, ALWAYS + 2 * 8);
	assert_int_equal(inherited, ALWAYS + 2 * 8);
	free(acl.aces);
}

static void test_an_empty_one_takes_nothing_else(void **unused)
{
	fsal_acl_t acl = acl_of(0);
	uint32_t own, inherited;

	bytes_of(&acl, &own, &inherited);
	assert_int_equal(own, ALWAYS);
	assert_int_equal(inherited, 0);
	free(acl.aces);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_that_a_file_system_holds_travels),
		cmocka_unit_test(test_each_name_counts_once),
		cmocka_unit_test(test_what_is_inherited_counts_apart),
		cmocka_unit_test(test_an_empty_one_takes_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
