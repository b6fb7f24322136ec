/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where the directories of a server may lie: each mistake is refused with a line that names the key and what to write, by whatever path
 * the directory is reached. And whose copy the exported directory is: a mark on it says so, and a new store does not take another's.
 * Bind mounts and marks need root; without it those tests are skipped.
 */
#include "lib/unit.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cluster.h"
#include "engine/start/start.h"

static char top[64];
static struct nfs4r_config cfg;

/* PATH below the test's directory. */
static const char *at(const char *path)
{
	static char buf[8][256];
	static int n;
	char *out = buf[n++ % 8];

	snprintf(out, sizeof(buf[0]), "%s/%s", top, path);
	return out;
}

static int begin(void **state)
{
	snprintf(top, sizeof(top), "/tmp/nfs4r-places-XXXXXX");
	assert_non_null(mkdtemp(top));
	nfs4r_config_init(&cfg);
	cfg.rpc.self = 1;
	memcpy(cfg.rpc.volume, "a test's volume", 16);
	must_shell("mkdir -p %s/data/sub %s/state/run", top, top);
	snprintf(cfg.export_dir, sizeof(cfg.export_dir), "%s", at("data"));
	snprintf(cfg.store_dir, sizeof(cfg.store_dir), "%s", at("state/store"));
	snprintf(cfg.control_socket, sizeof(cfg.control_socket), "%s", at("state/run/s"));
	return 0;
}

static int end(void **state)
{
	must_shell("rm -rf %s", top);
	return 0;
}

static void fits(void)
{
	char why[NFS4R_WHY] = "";

	if (nfs4r_places_check(&cfg, why, sizeof(why)) != NFS4R_OK)
		fail_msg("refused: %s", why);
}

/* The line names @key, says @what, and what to write. */
static void refused(const char *key, const char *what)
{
	char why[NFS4R_WHY] = "";

	assert_int_equal(nfs4r_places_check(&cfg, why, sizeof(why)), NFS4R_BADCONFIG);
	if (strncmp(why, key, strlen(key)) != 0 || !strstr(why, what) || (!strstr(why, "write ") && !strstr(why, "mount it")))
		fail_msg("'%s' and '%s' are not in: %s", key, what, why);
}

static void set(char *key, const char *path)
{
	snprintf(key, 200, "%s", path);
}

/* ---- in one another ---- */

static void test_apart_is_right(void **state)
{
	fits();
	set(cfg.conflicts_dir, at("state/store/conflicts"));
	fits();
	must_shell("mkdir -p %s/state/store", top);
	fits();
	set(cfg.store_dir, at("database")); /* begins like the exported directory's name */
	set(cfg.conflicts_dir, at("data.lost"));
	fits();
}

/* What others could write or replace is not taken for the server's own. */
static void test_directories_of_others_are_refused(void **state)
{
	static const char *const modes[] = { "0770", "0707", "1777" };

	must_shell("mkdir -m 0755 %s/state/store", top);
	fits(); /* of others who may read it: Ganesha's own files are so, too */
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		must_shell("chmod %s %s/state/store", modes[i], top);
		refused("Store", "is writable by users other than its owner");
	}
	must_shell("chmod 0700 %s/state/store; mkdir -m 0777 %s/state/store/conflicts", top, top);
	refused("Conflicts", "(mode 0777): chmod 0700 it");
	must_shell("rmdir %s/state/store/conflicts; mkdir %s/elsewhere; ln -s %s/elsewhere %s/state/store/conflicts", top, top, top, top);
	refused("Conflicts", "is a symbolic link");
	refused("Conflicts", at("elsewhere"));
	set(cfg.conflicts_dir, at("elsewhere")); /* as the line says */
	fits();
	must_shell("ln -s %s/state/store %s/link", top, top);
	set(cfg.store_dir, at("link"));
	refused("Store", "is a symbolic link");
	set(cfg.store_dir, at("state/store"));
	if (geteuid() != 0)
		return;
	must_shell("chown 65534 %s/state/store", top);
	refused("Store", "belongs to user 65534, and this server runs as user 0: chown it");
	must_shell("chown 0 %s/state/store; chown 65534 %s/elsewhere", top, top);
	refused("Conflicts", "belongs to user 65534");
}

static void test_store_in_the_exported_directory(void **state)
{
	set(cfg.store_dir, at("data/store")); /* not made yet */
	refused("Store", "lies in the exported directory");
	set(cfg.store_dir, at("data/sub"));
	refused("Store", "lies in the exported directory");
	set(cfg.store_dir, at("data"));
	refused("Store", "lies in the exported directory");
	set(cfg.store_dir, at("state/../data/sub/a/b/c"));
	refused("Store", "lies in the exported directory");
}

static void test_store_in_the_exported_directory_by_a_link(void **state)
{
	must_shell("ln -s %s/data/sub %s/state/link; ln -s %s/data %s/other", top, top, top, top);
	set(cfg.store_dir, at("state/link"));
	refused("Store", "lies in the exported directory");
	set(cfg.store_dir, at("state/link/store"));
	refused("Store", "lies in the exported directory");
	set(cfg.store_dir, at("data/sub/store"));
	must_shell("ln -s %s %s.link", top, top);
	snprintf(cfg.export_dir, sizeof(cfg.export_dir), "%s.link/data", top); /* a link on the way there */
	refused("Store", "lies in the exported directory");
	set(cfg.store_dir, at("state/store"));
	fits();
	must_shell("rm %s.link", top);
	set(cfg.export_dir, at("other"));
	refused("Path", "is a symbolic link");
	refused("Path", at("data"));
}

static void test_exported_directory_in_the_store(void **state)
{
	must_shell("mkdir -p %s/state/store/data", top);
	set(cfg.export_dir, at("state/store/data"));
	refused("Path", "lies in Store");
}

static void test_conflicts(void **state)
{
	set(cfg.conflicts_dir, at("data/lost"));
	refused("Conflicts", "lies in the exported directory");
	set(cfg.conflicts_dir, top);
	refused("Path", "lies in Conflicts");
	must_shell("mkdir -p %s/state/store", top);
	set(cfg.conflicts_dir, at("state/store"));
	refused("Conflicts", "is Store itself");
}

static void test_socket_and_recovery(void **state)
{
	set(cfg.control_socket, at("data/sub/s"));
	refused("Control_Socket", "lies in the exported directory");
	set(cfg.control_socket, "");
	set(cfg.recovery_dir, at("data/rec"));
	refused("RecoveryRoot", "lies in the exported directory");
}

static void test_path_is_no_directory_or_everything(void **state)
{
	set(cfg.export_dir, at("none"));
	assert_int_equal(nfs4r_places_check(&cfg, (char[512]){ 0 }, 512), NFS4R_BADCONFIG);
	set(cfg.export_dir, "/");
	refused("Path = \"/\"", "a separate directory");
}

/* ---- mounts ---- */

/* A name space of mounts for this process; skips the test where that is not allowed. */
static void own_mounts(void)
{
	if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		skip();
}

static void bind_to(const char *from, const char *to)
{
	assert_int_equal(mount(from, to, NULL, MS_BIND, NULL), 0);
}

static void test_store_in_the_exported_directory_by_a_bind_mount(void **state)
{
	own_mounts();
	must_shell("mkdir '%s/state/a bind'", top);
	bind_to(at("data/sub"), at("state/a bind")); /* ".." does not lead into the exported directory */
	set(cfg.store_dir, at("state/a bind/store"));
	refused("Store", "lies in the exported directory");
	set(cfg.store_dir, at("state/store"));
	fits();
	umount2(at("state/a bind"), MNT_DETACH);
	bind_to(at("data"), at("state/a bind"));
	set(cfg.export_dir, at("state/a bind"));
	set(cfg.store_dir, at("data/sub/store"));
	refused("Store", "lies in the exported directory");
	umount2(at("state/a bind"), MNT_DETACH);
}

static void test_another_file_system_in_the_exported_directory(void **state)
{
	own_mounts();
	assert_int_equal(mount("none", at("data/sub"), "tmpfs", 0, "size=1m"), 0);
	set(cfg.store_dir, at("data/sub/store"));
	refused("Store", "lies in the exported directory");
	umount2(at("data/sub"), MNT_DETACH);
}

static void test_file_systems_that_cannot_carry_a_copy(void **state)
{
	own_mounts();
	set(cfg.export_dir, "/proc/sys");
	refused("Path", "without persistent file handles");
	set(cfg.export_dir, at("data"));
	bind_to(at("data"), at("data"));
	assert_int_equal(mount("none", at("data"), NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), 0);
	refused("Path", "mounted read-only");
	umount2(at("data"), MNT_DETACH);
}

/* ---- other volumes ---- */

static void mark(const char *path, const char *text)
{
	if (setxattr(path, PLACES_MARK, text, strlen(text), 0) != 0)
		skip();
}

static void test_in_the_copy_of_another_volume(void **state)
{
	const char *other = "00000000-0000-0000-0000-000000000001 server 2";

	must_shell("mkdir -p %s/home/a/b", top);
	mark(at("home"), other);
	set(cfg.store_dir, at("home/store"));
	refused("Store", other);
	set(cfg.store_dir, at("home"));
	refused("Store", other);
	set(cfg.store_dir, at("state/store"));
	set(cfg.conflicts_dir, at("home/a/b/c"));
	refused("Conflicts", other);
	set(cfg.conflicts_dir, "");
	set(cfg.control_socket, at("home/a/s"));
	refused("Control_Socket", other);
	set(cfg.control_socket, "");
	set(cfg.export_dir, at("home/a"));
	refused("Path", other);
	set(cfg.export_dir, at("home")); /* start_places_whose() has more to say */
	fits();
}

static void test_in_the_store_of_another_volume(void **state)
{
	must_shell("mkdir -p %s/their/lmdb %s/their/data && touch %s/their/lock %s/their/lmdb/data.mdb", top, top, top, top);
	set(cfg.store_dir, at("their/store"));
	refused("Store", "lies in the Store of another server");
	set(cfg.store_dir, at("their")); /* it is the store itself, which says whose it is */
	set(cfg.export_dir, at("data"));
	fits();
	set(cfg.store_dir, at("state/store"));
	set(cfg.export_dir, at("their/data"));
	refused("Path", "lies in the Store of another server");
	set(cfg.export_dir, at("their"));
	refused("Path", "lies in the Store of another server");
	set(cfg.export_dir, at("data"));
	set(cfg.conflicts_dir, at("their/lost"));
	refused("Conflicts", "lies in the Store of another server");
}

/* ---- whose copy it is ---- */

static void has_mark(const char *path, const char *want)
{
	char got[128] = "";

	assert_true(getxattr(path, PLACES_MARK, got, sizeof(got) - 1) > 0);
	assert_non_null(strstr(got, want));
}

/* One server; @why when it is refused. */
static enum nfs4r_status try_start(struct cluster *c, char *why)
{
	c->first = 1;
	return cluster_try_start(c, 1, why);
}

static void test_a_copy_is_marked(void **state)
{
	struct cluster *c = calloc(1, sizeof(*c));
	char why[NFS4R_WHY] = "";

	cluster_init(c);
	mark(c->site[2].data, "x");
	assert_int_equal(try_start(c, why), NFS4R_OK);
	has_mark(c->site[1].data, " server 1");
	cluster_stop(c, 1);
	assert_int_equal(removexattr(c->site[1].data, PLACES_MARK), 0); /* restored from a backup without such attributes */
	assert_int_equal(try_start(c, why), NFS4R_OK);
	has_mark(c->site[1].data, " server 1");
	cluster_stop(c, 1);
	mark(c->site[1].data, "00000000-0000-0000-0000-000000000001 server 2"); /* the store knows it by its handle, which counts for more */
	assert_int_equal(try_start(c, why), NFS4R_OK);
	has_mark(c->site[1].data, " server 1");
	cluster_fini(c);
	free(c);
}

/* Another Path in a copied configuration: the directory is empty, and still another's. */
static void test_a_new_store_does_not_take_the_copy_of_another(void **state)
{
	struct cluster *c = calloc(1, sizeof(*c));
	char why[NFS4R_WHY] = "";

	cluster_init(c);
	mark(c->site[1].data, "00000000-0000-0000-0000-000000000001 server 2");
	assert_int_equal(try_start(c, why), NFS4R_MISMATCH);
	assert_non_null(strstr(why, "00000000-0000-0000-0000-000000000001 server 2"));
	assert_non_null(strstr(why, "write the right Path"));
	has_mark(c->site[1].data, "server 2");
	must_shell("rm -rf %s", c->site[1].store);
	c->site[1].import = true; /* it is said to become the volume's */
	assert_int_equal(try_start(c, why), NFS4R_OK);
	has_mark(c->site[1].data, " server 1");
	cluster_fini(c);
	free(c);
}

/* Two configurations with one Path, and stores of their own. */
static void test_a_copy_is_one_servers_alone(void **state)
{
	struct cluster *c = calloc(1, sizeof(*c));
	char why[NFS4R_WHY] = "";
	int fd;

	cluster_init(c);
	fd = open(c->site[1].data, O_RDONLY | O_DIRECTORY);
	assert_int_equal(start_places_lock(fd, &cfg, why, sizeof(why)), NFS4R_OK);
	assert_int_equal(try_start(c, why), NFS4R_LOCKED);
	assert_non_null(strstr(why, "in use by another server on this machine"));
	close(fd);
	assert_int_equal(try_start(c, why), NFS4R_OK);
	cluster_fini(c);
	free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_apart_is_right, begin, end),
		cmocka_unit_test_setup_teardown(test_directories_of_others_are_refused, begin, end),
		cmocka_unit_test_setup_teardown(test_store_in_the_exported_directory, begin, end),
		cmocka_unit_test_setup_teardown(test_store_in_the_exported_directory_by_a_link, begin, end),
		cmocka_unit_test_setup_teardown(test_exported_directory_in_the_store, begin, end),
		cmocka_unit_test_setup_teardown(test_conflicts, begin, end),
		cmocka_unit_test_setup_teardown(test_socket_and_recovery, begin, end),
		cmocka_unit_test_setup_teardown(test_path_is_no_directory_or_everything, begin, end),
		cmocka_unit_test_setup_teardown(test_in_the_copy_of_another_volume, begin, end),
		cmocka_unit_test_setup_teardown(test_in_the_store_of_another_volume, begin, end),
		cmocka_unit_test_setup_teardown(test_store_in_the_exported_directory_by_a_bind_mount, begin, end),
		cmocka_unit_test_setup_teardown(test_another_file_system_in_the_exported_directory, begin, end),
		cmocka_unit_test_setup_teardown(test_file_systems_that_cannot_carry_a_copy, begin, end),
		cmocka_unit_test(test_a_copy_is_marked),
		cmocka_unit_test(test_a_new_store_does_not_take_the_copy_of_another),
		cmocka_unit_test(test_a_copy_is_one_servers_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
