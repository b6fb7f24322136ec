/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Asserts at seams: a reference that nobody has is not given or put back, and a lock that a caller has to hold is seen. */
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/entry.h"
#include "base/locked.h"

#include "lib/unit.h"

static struct nfs4r_buf gone; /* no references */
static struct nfs4r_entry gone_entry;

static void get_buf(void)
{
	nfs4r_buf_get(&gone);
}
static void put_buf(void)
{
	nfs4r_buf_put(&gone);
}
static void get_entry(void)
{
	nfs4r_entry_get(&gone_entry);
}
static void put_entry(void)
{
	nfs4r_entry_put(&gone_entry);
}

/* In a child: @what ends it by abort(). */
static void assert_ends(void (*what)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
		signal(SIGABRT, SIG_DFL);
		(void)!freopen("/dev/null", "w", stderr);
		what();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void a_reference_that_nobody_has(void **state)
{
	assert_ends(get_buf);
	assert_ends(put_buf);
	assert_ends(get_entry);
	assert_ends(put_entry);
}

static void a_lock_is_seen(void **state)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&m);
	assert_true(nfs4r_is_locked(&m));
	pthread_mutex_unlock(&m);
	assert_false(nfs4r_is_locked(&m)); /* and takes it */
	pthread_mutex_unlock(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_reference_that_nobody_has), cmocka_unit_test(a_lock_is_seen) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
