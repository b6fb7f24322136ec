/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a file system can hold that only names show (log 4.12): it is tried, and nothing of that is left. File systems that hold less: tests/cluster/t_full.py. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/unit.h"

#include "engine/runtime/fs.h"

#define SCRATCH ".scratch"

static char dir[] = "/tmp/nfs4r-fs.XXXXXX";
static int fd;

static int make_dir(void **state)
{
	fd = mkdtemp(dir) ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	return fd < 0;
}

static int remove_dir(void **state)
{
	close(fd);
	return rmdir(dir); /* it is empty */
}

static int link_of(size_t len)
{
	char *text = calloc(1, len + 1);
	int rc;

	memset(text, 'x', len);
	rc = symlinkat(text, fd, "link") == 0 ? 0 : errno;
	free(text);
	(void)unlinkat(fd, "link", 0);
	return rc;
}

static void it_is_what_the_file_system_takes(void **state)
{
	struct fs_names n;

	engine_fs_try_names(fd, SCRATCH, &n);
	assert_in_range(n.text_max, 255, 4095);
	assert_int_equal(link_of(n.text_max), 0);
	assert_int_equal(link_of(n.text_max + 1), ENAMETOOLONG);
	assert_false(n.folds);
}

static void the_directory_is_as_before(void **state)
{
	struct timespec old[2] = { { .tv_sec = 1000, .tv_nsec = 5 }, { .tv_sec = 2000, .tv_nsec = 7 } };
	struct fs_names n;
	struct stat st;

	assert_int_equal(futimens(fd, old), 0);
	engine_fs_try_names(fd, SCRATCH, &n);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mtim.tv_sec, 2000);
	assert_int_equal(st.st_mtim.tv_nsec, 7);
	assert_int_not_equal(faccessat(fd, SCRATCH, F_OK, 0), 0);
}

/* A crash amid an earlier try, and an object that waits there: the one goes, the other stays. */
static void what_was_there_stays(void **state)
{
	struct fs_names n;

	assert_int_equal(mkdirat(fd, SCRATCH, 0700), 0);
	assert_int_equal(mkdirat(fd, SCRATCH "/waits", 0700), 0);
	assert_int_equal(symlinkat("x", fd, SCRATCH "/nfs4r.probe"), 0);
	engine_fs_try_names(fd, SCRATCH, &n);
	assert_int_not_equal(n.text_max, 0);
	assert_int_equal(unlinkat(fd, SCRATCH "/waits", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(fd, SCRATCH, AT_REMOVEDIR), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_what_the_file_system_takes),
		cmocka_unit_test(the_directory_is_as_before),
		cmocka_unit_test(what_was_there_stays),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
