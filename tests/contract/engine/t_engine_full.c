/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A server whose store takes nothing any more (log 4.15): the others are told why and go on within a lease, its clients hear DELAY, and when there is room it starts anew by itself. Nothing is lost, and
 * nothing is there twice.
 */
#include "lib/unit.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/resync/resync_int.h"
#include "engine/runtime/fs.h"
#include "store/internal.h"
#include "steps.h"

static _Atomic bool has_room;
static _Atomic unsigned asked; /* to start it anew */
static _Atomic int sync_fails; /* errno value of the next sync of server 3's journal */
static _Atomic bool db_is_full; /* of a server that settles what a crash put in doubt */

/* In place of fs.c's: what the disk says when it is tried. */
bool __wrap_engine_fs_takes(int dirfd);

bool __wrap_engine_fs_takes(int dirfd)
{
	(void)dirfd;
	return has_room;
}

/* In place of the store's. The checkpoint thread calls another one. */
enum nfs4r_status __real_nfs4r_store_checkpoint(struct nfs4r_store *s, int (*sync_files)(void *arg), void *arg, nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1]);
enum nfs4r_status __wrap_nfs4r_store_checkpoint(struct nfs4r_store *s, int (*sync_files)(void *arg), void *arg, nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1]);

enum nfs4r_status __wrap_nfs4r_store_checkpoint(struct nfs4r_store *s, int (*sync_files)(void *arg), void *arg, nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1])
{
	return db_is_full ? NFS4R_NOSPC : __real_nfs4r_store_checkpoint(s, sync_files, arg, stable);
}

/* In place of the C library's. */
int fdatasync(int fd)
{
	char link[64], path[PATH_MAX] = "";
	int err = sync_fails;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = err ? readlink(link, path, sizeof(path) - 1) : 0;
	path[n > 0 ? n : 0] = '\0';
	if (err && strstr(path, "/store3/journal-") && atomic_exchange(&sync_fails, 0)) {
		errno = err;
		return -1;
	}
	return (int)syscall(SYS_fdatasync, fd);
}

static void start_anew(void *ctx)
{
	(void)ctx;
	asked++;
}

static int setup(void **state)
{
	struct cluster *c = cluster_new();
	int rc;

	has_room = db_is_full = false;
	asked = 0;
	c->lease_ms = c->silence_ms = 1000;
	rc = cluster_begin(c, state);
	for (int i = 1; i <= SITES; i++)
		c->site[i].table.again = start_anew;
	return rc;
}

/* From here on no append of server 3 finds room. */
static void fill(struct site *s)
{
	pthread_mutex_lock(&s->eng->lock);
	s->eng->store->jnl.fail_after = 1;
	pthread_mutex_unlock(&s->eng->lock);
}

static void wait_removed(struct cluster *c, enum nfs4r_status why, bool files)
{
	struct nfs4r_core_view v;

	for (int i = 1; i <= 2; i++) {
		do {
			pause_ms(10);
			get_view(&c->site[i], &v);
		} while (v.adopted.members & NFS4R_BIT(3) || !v.peer[3].halted);
		assert_int_equal(v.peer[3].trouble, why);
		assert_int_equal(v.peer[3].halted_files, files);
	}
}

static enum nfs4r_status getattr_once(struct cluster *c, int id, const struct nfs4r_oid *oid)
{
	struct nfs4r_attrs a = { 0 };
	enum nfs4r_status st;

	c->hurry = true;
	st = site_getattr(&c->site[id], oid, &a);
	c->hurry = false;
	nfs4r_buf_put(a.acl);
	return st;
}

/* Server 3, for want of room in its Store. The others hear that, and go on; no other disk is blamed. */
static void halted_for_store(struct cluster *c, const struct nfs4r_oid *f)
{
	struct nfs4r_oid root = site_root(&c->site[2]);

	site_says(&c->site[1], "server 3 reports: it has halted: its journal cannot be written (no space left on device). Free space on the file system of its Store; the server returns by itself", 5);
	make_file(&c->site[2], &root, "g", "new");
	assert_int_equal(getattr_once(c, 3, f), NFS4R_DELAY);
	pthread_mutex_lock(&c->site[3].lock);
	assert_null(strstr(c->site[3].logged, "the exported file system"));
	pthread_mutex_unlock(&c->site[3].lock);
}

/* There is room. What lops.again asks for is done; returns when all serve and are equal. */
static void come_back(struct cluster *c)
{
	pause_ms(1500);
	assert_int_equal(asked, 0);
	has_room = true;
	site_says(&c->site[3], "this server restarts, and returns to the active view by itself", 10);
	while (!asked)
		pause_ms(10);
	pause_ms(1200);
	assert_int_equal(asked, 1);
	cluster_stop(c, 3);
	cluster_start(c, 3);
	wait_all_serve(c);
	cluster_settle(c);
	assert_string_equal(c->site[3].eng->runtime.halt.why, "");
}

static void a_full_journal_takes_a_server_out_until_there_is_room(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f = make_file(&c->site[1], &root, "f", "with three");
	struct nfs4r_core_view v;

	cluster_settle(c);
	fill(&c->site[3]);
	write_text(&c->site[1], &f, "two alone!");
	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	site_says(&c->site[3], "this server stops serving: cannot write the journal (no space left on device): free space on the file system of", 20);
	site_says(&c->site[3], "returns by itself when", 1);
	wait_removed(c, NFS4R_NOSPC, false);
	halted_for_store(c, &f);
	come_back(c);
	expect_content(&c->site[3], &f, "two alone!");
	get_view(&c->site[1], &v);
	assert_false(v.peer[3].halted);
	assert_int_equal(v.peer[3].trouble, NFS4R_OK);
}

static struct {
	enum nfs4r_status (*create)(void *ctx, const struct nfs4r_lhandle *dir, const char *name, const struct nfs4r_attrs *attrs, const char *linktext, const struct nfs4r_cred *cred,
				    struct nfs4r_lhandle *out, struct nfs4r_attrs *post);
	struct site *site;
} amid;

static enum nfs4r_status create_and_fill(void *ctx, const struct nfs4r_lhandle *dir, const char *name, const struct nfs4r_attrs *attrs, const char *linktext, const struct nfs4r_cred *cred,
					 struct nfs4r_lhandle *out, struct nfs4r_attrs *post)
{
	fill(amid.site);
	return amid.create(ctx, dir, name, attrs, linktext, cred, out, post);
}

/* INTENT is in the journal, it was executed, and DONE finds no room. It is in no reply, and after the start it is there once, at every server. */
static void an_update_that_was_executed_and_not_noted(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid root = site_root(s), d = make(s, NFS4R_OP_MKDIR, &root, "d"), f;

	make_file(s, &d, "first", "control is here");
	cluster_settle(c);
	amid.site = s;
	amid.create = s->table.create;
	s->table.create = create_and_fill;
	c->hurry = true;
	assert_int_equal(site_make(s, NFS4R_OP_CREATE, &d, "amid", &f), NFS4R_DELAY);
	c->hurry = false;
	s->table.create = amid.create;
	wait_removed(c, NFS4R_NOSPC, false);
	come_back(c);
	for (int i = 1; i <= SITES; i++)
		expect_shell("amid\nfirst\n", "ls %s/d", c->site[i].data);
	assert_int_equal(site_make(s, NFS4R_OP_CREATE, &d, "amid", &f), NFS4R_EXIST);
}

/* A thin pool ran full, and the journal's own pages are among those that it lost. Memory still has them. */
static void a_journal_whose_sync_finds_no_room(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f = make_file(&c->site[1], &root, "f", "with three"), own;

	cluster_settle(c);
	sync_fails = ENOSPC;
	write_text(&c->site[1], &f, "two alone!");
	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	c->hurry = true;
	for (int i = 0; i < 50 && sync_fails; i++) { /* somebody has to sync it. It may halt amid that: DELAY */
		(void)site_make(&c->site[3], NFS4R_OP_CREATE, &root, (char[]){ (char)('A' + i), 0 }, &own);
		pause_ms(20);
	}
	c->hurry = false;
	site_says(&c->site[3], "(no space left on device): free space on the file system of", 20);
	wait_removed(c, NFS4R_NOSPC, false);
	come_back(c);
	assert_non_null(c->site[3].eng->resync.doubt);
	assert_true(c->site[3].eng->resync.doubt->machine);
	expect_content(&c->site[3], &f, "two alone!");
}

/* Server 3 cannot sync what it has got of @f, and halts. */
static void fail_file_sync(struct cluster *c, const struct nfs4r_oid *f, int error, const char *says)
{
	cluster_settle(c);
	dirlops_fail_sync(c->site[3].ops, error);
	write_text(&c->site[1], f, "two alone!");
	assert_int_equal(site_close(&c->site[1], f), NFS4R_OK);
	site_says(&c->site[3], says, 20);
}

/* A pool below the exported directory: what was lost of the files is written again, and taken from the others. */
static void a_directory_whose_sync_finds_no_room(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f = make_file(&c->site[1], &root, "f", "with three");

	fail_file_sync(c, &f, EDQUOT, "the exported directory could not be synced, and may lack recent writes (disk quota exceeded): free space on its file system");
	wait_removed(c, NFS4R_DQUOT, true);
	come_back(c);
	assert_non_null(c->site[3].eng->resync.doubt);
	expect_content(&c->site[3], &f, "two alone!");
}

/* A broken disk is another matter: nobody starts it anew. */
static void a_broken_disk_waits_for_a_person(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f = make_file(&c->site[1], &root, "f", "with three");

	cluster_settle(c);
	has_room = true;
	dirlops_fail_sync(c->site[3].ops, EIO);
	write_text(&c->site[1], &f, "two alone!");
	site_says(&c->site[3], "check the disk under it, and restart", 20);
	wait_removed(c, NFS4R_IO, false);
	site_says(&c->site[2], "server 3 reports: it has halted (", 5);
	pause_ms(2500);
	assert_int_equal(asked, 0);
	cluster_stop(c, 3);
	cluster_start(c, 3);
	wait_all_serve(c);
	cluster_settle(c);
}

static void fail_restoring(struct site *s, const char *text)
{
	if (strstr(text, "members of the active view:"))
		dirlops_fail_call(s->ops, "setattr", NULL, NFS4R_PERM);
}

/* What a crash put in doubt cannot even be begun with: tried again, while the others are told and go on. */
static void what_cannot_be_restored_is_tried_again(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_attrs mode = { .mask = NFS4R_ATTR_MODE, .mode = 0640 };
	struct nfs4r_oid root = site_root(&c->site[1]), f = make_file(&c->site[1], &root, "f", "with three");
	struct nfs4r_core_view v;

	cluster_settle(c);
	dirlops_fail_sync(c->site[3].ops, EIO);
	assert_int_equal(site_setattr(&c->site[1], &f, &mode), NFS4R_OK);
	site_says(&c->site[3], "check the disk under it, and restart", 20);
	cluster_stop(c, 3);
	site_heard(&c->site[3], fail_restoring);
	cluster_start(c, 3);
	site_heard(&c->site[3], NULL);
	site_says(&c->site[3], "objects in doubt after a crash in the exported directory cannot be written: operation not permitted", 20);
	do {
		pause_ms(10);
		get_view(&c->site[1], &v);
	} while (v.peer[3].trouble != NFS4R_PERM || v.adopted.members & NFS4R_BIT(3));
	make_file(&c->site[2], &root, "g", "new");
	assert_string_equal(c->site[3].eng->runtime.halt.why, "");
	dirlops_fail_call(c->site[3].ops, "", NULL, NFS4R_OK);
	wait_all_serve(c);
	cluster_settle(c);
}

/* A crash left something in doubt, and it is taken from the others. Then the database has no room to note that. Each server names the right file system, and server 3 returns by itself. */
static void what_is_in_doubt_finds_the_database_full(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f = make_file(&c->site[1], &root, "f", "with three");
	struct nfs4r_core_view v;
	char why[NFS4R_WHY];

	fail_file_sync(c, &f, EIO, "check the disk under it, and restart");
	wait_removed(c, NFS4R_IO, false);
	cluster_stop(c, 3);
	db_is_full = true;
	cluster_start(c, 3);
	c->site[3].table.again = start_anew;
	snprintf(why, sizeof(why), "this server stops serving: cannot write the database after a crash (no space left on device): free space on the file system of %s. This server returns by itself when", c->site[3].store);
	site_says(&c->site[3], why, 20);
	wait_removed(c, NFS4R_NOSPC, false);
	halted_for_store(c, &f);
	assert_true(engine_doubt_is_open(c->site[3].eng));
	db_is_full = false;
	come_back(c);
	assert_false(engine_doubt_is_open(c->site[3].eng));
	expect_content(&c->site[3], &f, "two alone!");
	get_view(&c->site[1], &v);
	assert_int_equal(v.peer[3].trouble, NFS4R_OK);
}

/* A start that finds no room has changed nothing: who asked for it tries again, and what it is told is what nfs4rctl says meanwhile. */
static void a_start_without_room_says_what_to_do(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid root = site_root(&c->site[1]);
	char why[NFS4R_WHY], remedy[200];

	make_file(&c->site[1], &root, "f", "before");
	cluster_settle(c);
	cluster_stop(c, 3);
	snprintf(remedy, sizeof(remedy), ". Free space on the file system of %s", s->store);
	for (int i = 0; i < 3; i++) {
		sync_fails = ENOSPC;
		assert_int_equal(cluster_try_start(c, 3, why), NFS4R_NOSPC);
		assert_non_null(strstr(why, remedy));
	}
	make_file(&c->site[1], &root, "g", "meanwhile");
	cluster_start(c, 3);
	wait_all_serve(c);
	cluster_settle(c);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, cluster_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_full_journal_takes_a_server_out_until_there_is_room),
		T(an_update_that_was_executed_and_not_noted),
		T(a_journal_whose_sync_finds_no_room),
		T(a_directory_whose_sync_finds_no_room),
		T(a_broken_disk_waits_for_a_person),
		T(what_cannot_be_restored_is_tried_again),
		T(what_is_in_doubt_finds_the_database_full),
		T(a_start_without_room_says_what_to_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
