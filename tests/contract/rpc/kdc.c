/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See kdc.h. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/unit.h"

#include "contract/rpc/kdc.h"
#include "contract/rpc/world.h"
#include "lib/ports.h"

#define LIBFAKETIME "/usr/lib/*/faketime/libfaketime.so.1"

static struct {
	char dir[64];
	uint16_t port;
	pid_t pid; /* 0: it does not run */
} kdc;

static void write_file(const char *name, const char *fmt, ...)
{
	char path[128];
	va_list ap;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", kdc.dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	assert_int_equal(fclose(f), 0);
}

/* ---- programs ---- */

/* The child: its output goes to a file of the directory, and it ends with this process. @preload, @offset: libfaketime and how far it changes the clock, or NULL. */
static pid_t run_at(const char *const argv[], int in, const char *preload, const char *offset)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	char log[128];

	snprintf(log, sizeof(log), "%s/programs.log", kdc.dir);
	int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		_exit(126);
	if (preload && (setenv("LD_PRELOAD", preload, 1) != 0 || setenv("FAKETIME", offset, 1) != 0))
		_exit(126);
	execvp(argv[0], (char *const *)argv);
	_exit(127);
}

static pid_t run(const char *const argv[], int in)
{
	return run_at(argv, in, NULL, NULL);
}

static void show_file(const char *name)
{
	char path[128], text[4096];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", kdc.dir, name);
	f = fopen(path, "r");
	if (!f)
		return;
	while ((n = fread(text, 1, sizeof(text), f)) > 0)
		fwrite(text, 1, n, stderr);
	fclose(f);
}

static void show_log(void)
{
	show_file("programs.log");
	show_file("kdc.log");
}

static void run_and_wait(const char *const argv[], int in)
{
	pid_t pid = run(argv, in);
	int status = 0;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		fail_msg("%s is missing; run 'make deps'", argv[0]);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		show_log();
		fail_msg("%s failed", argv[0]);
	}
}

/* kadmin.local answers a wrong order with a line, and its end with success. */
static void admin_file(const char *realm, const char *orders)
{
	const char *const argv[] = { "/usr/sbin/kadmin.local", "-r", realm, NULL };
	char path[128], *line = NULL, *text;
	size_t size = 0;
	bool wrong = false;
	long before;
	FILE *f;
	int in;

	write_file("orders", "%s\n", orders);
	snprintf(path, sizeof(path), "%s/programs.log", kdc.dir);
	f = fopen(path, "a+");
	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	before = ftell(f);
	snprintf(path, sizeof(path), "%s/orders", kdc.dir);
	in = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(in >= 0);
	run_and_wait(argv, in);
	close(in);
	fseek(f, before, SEEK_SET);
	while (getline(&line, &size, f) > 0) {
		text = strstr(line, "while ");
		wrong = wrong || text || strstr(line, "Unknown request") || strstr(line, "usage:");
	}
	free(line);
	fclose(f);
	if (wrong) {
		show_log();
		fail_msg("kadmin.local refused one of: %s", orders);
	}
}

void kdc_admin(const char *realm, const char *fmt, ...)
{
	char order[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(order, sizeof(order), fmt, ap);
	va_end(ap);
	admin_file(realm, order);
}

void kdc_keytab(const char *realm, const char *principal, const char *name, char *path, size_t size)
{
	snprintf(path, size, "%s/%s.keytab", kdc.dir, name);
	kdc_admin(realm, "ktadd -k %s -norandkey %s", path, principal);
	assert_int_equal(chmod(path, 0600), 0);
}

/* ---- the realms ---- */

static void create_realm(const char *realm)
{
	const char *const argv[] = { "/usr/sbin/kdb5_util", "-r", realm, "create", "-s", "-P", "master", NULL };
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);

	run_and_wait(argv, in);
	close(in);
	/* Each of the two trusts the other one's principals: a name is all that tells them apart. */
	admin_file(realm, "addprinc -pw trust krbtgt/" KDC_REALM "@" KDC_OTHER_REALM "\naddprinc -pw trust krbtgt/" KDC_OTHER_REALM "@" KDC_REALM);
}

static void write_configuration(void)
{
	write_file("krb5.conf",
		   "[libdefaults]\n default_realm = " KDC_REALM "\n dns_lookup_kdc = false\n dns_lookup_realm = false\n dns_canonicalize_hostname = false\n rdns = false\n"
		   " udp_preference_limit = 1\n allow_weak_crypto = true\n"
		   "[realms]\n " KDC_REALM " = {\n  kdc = 127.0.0.1:%u\n }\n " KDC_OTHER_REALM " = {\n  kdc = 127.0.0.1:%u\n }\n",
		   kdc.port, kdc.port);
	write_file("kdc.conf",
		   "[kdcdefaults]\n kdc_listen = 127.0.0.1:%u\n kdc_tcp_listen = 127.0.0.1:%u\n"
		   "[realms]\n " KDC_REALM " = {\n  database_name = %s/first\n  key_stash_file = %s/first.stash\n  acl_file = %s/acl\n  max_life = 10h\n }\n " KDC_OTHER_REALM
		   " = {\n  database_name = %s/second\n  key_stash_file = %s/second.stash\n  acl_file = %s/acl\n  max_life = 10h\n }\n"
		   "[logging]\n kdc = FILE:%s/kdc.log\n admin_server = FILE:%s/kadmin.log\n",
		   kdc.port, kdc.port, kdc.dir, kdc.dir, kdc.dir, kdc.dir, kdc.dir, kdc.dir, kdc.dir, kdc.dir);
}

void kdc_create(void)
{
	char path[128];

	memset(&kdc, 0, sizeof(kdc));
	strcpy(kdc.dir, "/tmp/nfs4r-kdc-XXXXXX");
	assert_non_null(mkdtemp(kdc.dir));
	kdc.port = ports_free(PORTS_KDC, 1, 1);
	assert_int_not_equal(kdc.port, 0);
	write_configuration();
	snprintf(path, sizeof(path), "%s/krb5.conf", kdc.dir);
	setenv("KRB5_CONFIG", path, 1);
	snprintf(path, sizeof(path), "%s/kdc.conf", kdc.dir);
	setenv("KRB5_KDC_PROFILE", path, 1);
	setenv("KRB5RCACHEDIR", kdc.dir, 1);
	unsetenv("KRB5_KTNAME");
	unsetenv("KRB5_CLIENT_KTNAME");
	unsetenv("KRB5CCNAME");
	create_realm(KDC_REALM);
	create_realm(KDC_OTHER_REALM);
}

static int unlink_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

void kdc_destroy(void)
{
	kdc_stop();
	nftw(kdc.dir, unlink_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *kdc_directory(void)
{
	return kdc.dir;
}

/* ---- the KDC ---- */

static bool answers(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(kdc.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool is = connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0;

	close(fd);
	return is;
}

void kdc_start(int clock_s)
{
	const char *const argv[] = { "/usr/sbin/krb5kdc", "-n", "-r", KDC_REALM, "-r", KDC_OTHER_REALM, NULL };
	char offset[32];
	glob_t found = { 0 };
	uint64_t end = world_now_ns() + WORLD_WAIT_MS * 1000000ull;
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC), status;

	assert_int_equal(kdc.pid, 0);
	assert_false(answers());
	snprintf(offset, sizeof(offset), "%+ds", clock_s);
	if (clock_s && glob(LIBFAKETIME, 0, NULL, &found) != 0)
		fail_msg("faketime is missing; run 'make deps'");
	kdc.pid = run_at(argv, in, clock_s ? found.gl_pathv[0] : NULL, offset);
	globfree(&found);
	close(in);
	while (!answers()) {
		if (waitpid(kdc.pid, &status, WNOHANG) == kdc.pid || world_now_ns() > end) {
			show_log();
			fail_msg("the KDC does not start; is krb5-kdc there? run 'make deps'");
		}
		usleep(10000);
	}
}

void kdc_stop(void)
{
	int status;

	if (!kdc.pid)
		return;
	kdc_freeze(false);
	kill(kdc.pid, SIGTERM);
	assert_int_equal(waitpid(kdc.pid, &status, 0), kdc.pid);
	kdc.pid = 0;
}

void kdc_freeze(bool frozen)
{
	assert_int_equal(kill(kdc.pid, frozen ? SIGSTOP : SIGCONT), 0);
}
