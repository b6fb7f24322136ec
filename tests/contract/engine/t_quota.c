/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which quotas concern an exported directory (log 4.16), decided over what kernels said: lines of mountinfo, and flags. Real file systems: quota_guest.py. */
#include <stdio.h>
#include <string.h>

#include "lib/unit.h"

#include "engine/runtime/quota.h"

/* Of the mount 36 in @line. */
static uint32_t kinds_of(const char *line, uint32_t enforced, bool whole_project)
{
	struct quota_facts f = { .enforced = enforced, .whole_project = whole_project };
	char copy[512];

	snprintf(copy, sizeof(copy), "%s", line);
	if (!engine_quota_mount(copy, 36, &f))
		return UINT32_MAX;
	return engine_quota_kinds(&f);
}

static void mount_options_are_believed(void **state)
{
	assert_int_equal(kinds_of("36 35 98:0 / /srv/data rw,noatime shared:1 - ext4 /dev/vdb rw,usrquota,grpquota\n", 0, false), QUOTA_USER | QUOTA_GROUP);
	assert_int_equal(kinds_of("36 35 98:0 / /srv rw master:1 shared:4 - ext4 /dev/vdb rw,jqfmt=vfsv1,usrjquota=aquota.user\n", 0, false), QUOTA_USER);
	assert_int_equal(kinds_of("36 35 98:0 / /srv rw - xfs /dev/vdb rw,attr2,inode64,logbufs=8,prjquota\n", 0, false), QUOTA_PROJECT);
	assert_int_equal(kinds_of("36 35 98:0 / /srv rw - xfs /dev/vdb rw,attr2,inode64,usrquota,gqnoenforce\n", 0, false), QUOTA_USER);
	assert_int_equal(kinds_of("36 35 98:0 / /srv rw - xfs /dev/vdb rw,uqnoenforce,noquota\n", 0, false), 0);
	assert_int_equal(kinds_of("36 35 98:0 / /mnt/usrquota rw - ext4 /dev/usrquota rw,data=ordered\n", 0, false), 0);
}

static void what_the_kernel_enforces_counts(void **state)
{
	assert_int_equal(kinds_of("36 35 98:0 / /srv rw - ext4 /dev/vdb rw", QUOTA_USER, false), QUOTA_USER);
	assert_int_equal(kinds_of("36 35 98:0 / /srv rw - btrfs /dev/vdb rw,space_cache=v2,subvol=/", QUOTA_QGROUP, false), QUOTA_QGROUP);
}

static void a_project_that_is_the_directory_is_room(void **state)
{
	assert_int_equal(kinds_of("36 35 98:0 / /srv rw - xfs /dev/vdb rw,prjquota", QUOTA_PROJECT, true), 0);
	assert_int_equal(kinds_of("36 35 98:0 / /srv rw - xfs /dev/vdb rw,usrquota,prjquota", QUOTA_USER | QUOTA_PROJECT, true), QUOTA_USER);
}

static void lines_of_other_mounts_say_nothing(void **state)
{
	assert_int_equal(kinds_of("360 35 98:0 / /srv rw - xfs /dev/vdb rw,prjquota", 0, false), UINT32_MAX);
	assert_int_equal(kinds_of("36 35 98:0 /", 0, false), UINT32_MAX);
	assert_int_equal(kinds_of("", 0, false), UINT32_MAX);
	assert_int_equal(kinds_of("36 35 98:0 / /srv rw shared:1", 0, false), 0);
}

static void expect_name(uint32_t kinds, const char *name)
{
	char text[80];

	engine_quota_name(kinds, text, sizeof(text));
	assert_string_equal(text, name);
}

static void they_have_names(void **state)
{
	expect_name(QUOTA_USER, "user quotas");
	expect_name(QUOTA_USER | QUOTA_PROJECT, "user and project quotas");
	expect_name(QUOTA_USER | QUOTA_GROUP | QUOTA_PROJECT, "user, group and project quotas");
	expect_name(QUOTA_USER | QUOTA_GROUP | QUOTA_PROJECT | QUOTA_QGROUP, "user, group, project and qgroup quotas");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mount_options_are_believed),
		cmocka_unit_test(what_the_kernel_enforces_counts),
		cmocka_unit_test(a_project_that_is_the_directory_is_room),
		cmocka_unit_test(lines_of_other_mounts_say_nothing),
		cmocka_unit_test(they_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
