/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A local file system that does not take what another server's took (log 4.11, 4.13, 6.12): every kind of call that an update needs, with many errors. The server with it goes, the others go on,
 * and it is back by itself: when it can, or when it need not any more.
 */
#include "lib/unit.h"
#include <stdio.h>
#include <string.h>

#include "engine/engine_int.h"
#include "steps.h"

#define LEASE_MS 1000

static int setup(void **state)
{
	struct cluster *c = cluster_new();

	c->lease_ms = c->silence_ms = LEASE_MS;
	return cluster_begin(c, state);
}

static enum nfs4r_status cut(struct site *s, const struct nfs4r_oid *f, uint64_t size)
{
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_SIZE, .size = size };

	return site_setattr(s, f, &a);
}

static enum nfs4r_status chmod_to(struct site *s, const struct nfs4r_oid *f, uint32_t mode)
{
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_MODE, .mode = mode };

	return site_setattr(s, f, &a);
}

static nfs4r_servers members(struct site *s)
{
	struct nfs4r_core_view v;

	get_view(s, &v);
	return v.adopted.members;
}

/* Server 3 cannot, and the others do without it. */
static void wait_removed(struct cluster *c, enum nfs4r_status why)
{
	struct nfs4r_core_view v;

	for (int i = 0; i < 2000 && members(&c->site[1]) & NFS4R_BIT(3); i++)
		pause_ms(10);
	assert_int_equal(members(&c->site[1]), NFS4R_BIT(1) | NFS4R_BIT(2));
	get_view(&c->site[3], &v);
	assert_int_equal(v.trouble, why);
	get_view(&c->site[1], &v);
	assert_int_equal(v.peer[3].trouble, why);
}

static uint64_t passed(struct site *s)
{
	struct nfs4r_core_stats st;

	pthread_mutex_lock(&s->eng->lock);
	nfs4r_core_get_stats(s->eng->core, &st);
	pthread_mutex_unlock(&s->eng->lock);
	return st.entries_passed;
}

/* Back, with the same as the others, and nothing left behind in the hidden directory. */
static void expect_back(struct cluster *c)
{
	struct nfs4r_core_view v;

	wait_all_serve(c);
	cluster_settle(c);
	get_view(&c->site[3], &v);
	assert_int_equal(v.trouble, NFS4R_OK);
	assert_string_equal(c->site[3].eng->runtime.halt.why, "");
	expect_shell("", "ls -a %s | grep nfs4r-hold", c->site[3].data);
}

/* ---- whatever the call and the error ---- */

struct objects {
	struct nfs4r_oid root, dir, f, g, h;
};

static void do_create(struct site *s, struct objects *o)
{
	make_file(s, &o->dir, "new", "bytes of a new file");
}

static void do_mkdir(struct site *s, struct objects *o)
{
	make(s, NFS4R_OP_MKDIR, &o->dir, "newdir");
}

static void do_write(struct site *s, struct objects *o)
{
	write_text(s, &o->f, "other bytes");
	assert_int_equal(site_close(s, &o->f), NFS4R_OK);
}

static void do_setattr(struct site *s, struct objects *o)
{
	assert_int_equal(chmod_to(s, &o->f, 0640), NFS4R_OK);
}

static void do_setxattr(struct site *s, struct objects *o)
{
	assert_int_equal(site_setxattr(s, &o->f, "note", "a value"), NFS4R_OK);
}

static void do_removexattr(struct site *s, struct objects *o)
{
	assert_int_equal(site_setxattr(s, &o->f, "note", NULL), NFS4R_OK);
}

static void do_allocate(struct site *s, struct objects *o)
{
	assert_int_equal(site_allocate(s, &o->f, 0, 100000), NFS4R_OK);
}

static void do_link(struct site *s, struct objects *o)
{
	assert_int_equal(site_link(s, &o->g, &o->dir, "second"), NFS4R_OK);
}

static void do_rename(struct site *s, struct objects *o)
{
	assert_int_equal(site_rename(s, &o->dir, "g", &o->root, "moved"), NFS4R_OK);
}

static void do_remove(struct site *s, struct objects *o)
{
	assert_int_equal(site_remove(s, &o->dir, "h"), NFS4R_OK);
}

static const struct {
	const char *call;
	enum nfs4r_status st;
	void (*update)(struct site *s, struct objects *o);
} kinds[] = {
	{ "create", NFS4R_NAMETOOLONG, do_create },
	{ "create", NFS4R_PERM, do_mkdir },
	{ "write", NFS4R_FBIG, do_write },
	{ "setattr", NFS4R_PERM, do_setattr },
	{ "setxattr", NFS4R_XATTR2BIG, do_setxattr },
	{ "removexattr", NFS4R_ROFS, do_removexattr },
	{ "allocate", NFS4R_DQUOT, do_allocate },
	{ "link", NFS4R_MLINK, do_link },
	{ "rename", NFS4R_IO, do_rename },
	{ "remove", NFS4R_NOTEMPTY, do_remove },
};

static void whatever_the_call_and_the_error(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[1], *bad = &c->site[3];
	struct objects o = { .root = site_root(s) };

	o.dir = make(s, NFS4R_OP_MKDIR, &o.root, "dir");
	o.f = make_file(s, &o.dir, "f", "bytes of f");
	o.g = make_file(s, &o.dir, "g", "bytes of g");
	o.h = make_file(s, &o.dir, "h", "bytes of h");
	cluster_settle(c);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		uint64_t begun = engine_now_ms();

		dirlops_fail_call(bad->ops, kinds[i].call, NULL, kinds[i].st);
		kinds[i].update(s, &o);
		wait_removed(c, kinds[i].st);
		assert_true(engine_now_ms() - begun < 20 * LEASE_MS); /* half a lease, the lease, and the load of this machine */
		dirlops_fail_call(bad->ops, "", NULL, NFS4R_OK);
		expect_back(c);
	}
	assert_int_equal(passed(bad), 0);
}

/* ---- quotas (log 4.16) ---- */

static void quota_at_all(struct cluster *c, const char *call, enum nfs4r_status st)
{
	for (int i = 1; i <= SITES; i++)
		dirlops_fail_call(c->site[i].ops, call, NULL, st);
}

static enum nfs4r_status try_update(struct site *s, const char *call, struct objects *o)
{
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_UID, .uid = 1234 };
	struct nfs4r_oid made;

	if (strcmp(call, "create") == 0)
		return site_make(s, NFS4R_OP_MKDIR, &o->dir, "new", &made);
	if (strcmp(call, "write") == 0)
		return site_write(s, &o->f, 0, "other bytes than before", 23);
	if (strcmp(call, "setattr") == 0)
		return site_setattr(s, &o->f, &a);
	if (strcmp(call, "setxattr") == 0)
		return site_setxattr(s, &o->f, "note", "a value");
	if (strcmp(call, "allocate") == 0)
		return site_allocate(s, &o->f, 0, 100000);
	if (strcmp(call, "link") == 0)
		return site_link(s, &o->g, &o->dir, "second");
	return site_rename(s, &o->dir, "g", &o->root, "moved");
}

static void list_tree(struct site *s, char *out, size_t len)
{
	shell(out, len, "cd %s && find . -mindepth 1 -printf '%%p %%m %%u %%n %%s\n' | sort && getfattr -d dir/f && cat dir/f", s->data);
}

/* The primary's own quota: its client hears that at once, whichever server it asked, and nothing has changed at any site. */
static void what_the_primary_s_quota_refuses_is_not_done(void **state)
{
	static const char *const calls[] = { "create", "write", "setattr", "setxattr", "allocate", "link", "rename" };
	struct cluster *c = *state;
	struct objects o = { .root = site_root(&c->site[1]) };
	char before[2000], after[2000];

	o.dir = make(&c->site[1], NFS4R_OP_MKDIR, &o.root, "dir");
	o.f = make_file(&c->site[1], &o.dir, "f", "bytes of f");
	o.g = make_file(&c->site[1], &o.dir, "g", "bytes of g");
	cluster_settle(c);
	list_tree(&c->site[1], before, sizeof(before));
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		quota_at_all(c, calls[i], NFS4R_DQUOT);
		assert_int_equal(try_update(&c->site[1], calls[i], &o), NFS4R_DQUOT);
		assert_int_equal(try_update(&c->site[2], calls[i], &o), NFS4R_DQUOT);
		quota_at_all(c, "", NFS4R_OK);
	}
	assert_int_equal(site_close(&c->site[1], &o.f), NFS4R_OK);
	cluster_settle(c);
	for (int i = 1; i <= SITES; i++) {
		struct nfs4r_core_view v;

		list_tree(&c->site[i], after, sizeof(after));
		assert_string_equal(after, before);
		get_view(&c->site[i], &v);
		assert_int_equal(v.trouble, NFS4R_OK);
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		assert_int_equal(try_update(&c->site[2], calls[i], &o), NFS4R_OK);
	assert_int_equal(site_close(&c->site[2], &o.f), NFS4R_OK);
	cluster_settle(c);
}

/* It has room for a part of a WRITE: the client hears of the quota, and all copies have that part. */
static void a_part_of_a_write_within_the_quota(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f = make_file(&c->site[1], &root, "f", "before");

	dirlops_fail_writes(c->site[1].ops, NFS4R_DQUOT, 4, 1);
	assert_int_equal(site_write(&c->site[1], &f, 3, "0123456789", 10), NFS4R_DQUOT);
	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	for (int i = 1; i <= SITES; i++)
		expect_content(&c->site[i], &f, "bef0123");
	cluster_settle(c);
}

/* Another server's quota (Quotas = ignore): it leaves, says what to do, and is back when its quota is larger. */
static void a_quota_takes_a_server_out_until_there_is_room(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f = make_file(&c->site[1], &root, "f", "bytes of f");

	cluster_settle(c);
	dirlops_fail_call(c->site[3].ops, "write", NULL, NFS4R_DQUOT);
	write_text(&c->site[1], &f, "more than that");
	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	wait_removed(c, NFS4R_DQUOT);
	site_says(&c->site[3], "disk quota exceeded; enlarge its quota on the exported file system, or turn quotas off there", 10);
	write_text(&c->site[2], &f, "and more of it");
	assert_int_equal(site_close(&c->site[2], &f), NFS4R_OK);
	dirlops_fail_call(c->site[3].ops, "", NULL, NFS4R_OK);
	expect_back(c);
	expect_content(&c->site[3], &f, "and more of it");
}

/* ---- moot ---- */

/* The file is too large for it, in many updates, and is removed; it never could. */
static void a_file_that_is_too_large_and_goes(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f = make_file(&c->site[1], &root, "f", "small");

	cluster_settle(c);
	dirlops_fail_call(c->site[3].ops, "write", NULL, NFS4R_FBIG);
	for (int i = 0; i < 50; i++)
		assert_int_equal(site_write(&c->site[1], &f, 1000000 + 10 * i, "many bytes", 10), NFS4R_OK);
	wait_removed(c, NFS4R_FBIG);
	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	assert_int_equal(site_remove(&c->site[2], &root, "f"), NFS4R_OK);
	expect_back(c);
	assert_true(passed(&c->site[3]) >= 50);
}

/* It is cut again, and what is left fits. */
static void a_file_that_is_too_large_and_is_cut(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f = make_file(&c->site[1], &root, "f", "small");

	cluster_settle(c);
	dirlops_fail_call(c->site[3].ops, "write", NULL, NFS4R_FBIG);
	assert_int_equal(site_write(&c->site[1], &f, 1000000, "far away", 8), NFS4R_OK);
	assert_int_equal(site_write(&c->site[1], &f, 2000000, "farther", 7), NFS4R_OK);
	wait_removed(c, NFS4R_FBIG);
	assert_int_equal(cut(&c->site[1], &f, 5), NFS4R_OK);
	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	expect_back(c);
	expect_shell("small", "cat %s/f", c->site[3].data);
}

static void an_attribute_that_does_not_fit_and_goes(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f = make_file(&c->site[1], &root, "f", "bytes");

	cluster_settle(c);
	dirlops_fail_call(c->site[3].ops, "setxattr", "user.big", NFS4R_XATTR2BIG);
	assert_int_equal(site_setxattr(&c->site[1], &f, "big", "as if it were big"), NFS4R_OK);
	assert_int_equal(site_setxattr(&c->site[1], &f, "other", "small"), NFS4R_OK);
	wait_removed(c, NFS4R_XATTR2BIG);
	assert_int_equal(site_setxattr(&c->site[1], &f, "big", NULL), NFS4R_OK);
	expect_back(c);
}

/* It has a name that it cannot have here. It is made all the same, and written, for what comes in between; then it is removed. */
static void a_name_that_cannot_be_and_goes(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[1];
	struct nfs4r_oid root = site_root(s), d, f;

	dirlops_fail_call(c->site[3].ops, "create", "odd", NFS4R_NAMETOOLONG);
	d = make(s, NFS4R_OP_MKDIR, &root, "odd");
	f = make_file(s, &d, "in it", "bytes");
	assert_int_equal(site_close(s, &f), NFS4R_OK);
	wait_removed(c, NFS4R_NAMETOOLONG);
	assert_int_equal(site_remove(s, &d, "in it"), NFS4R_OK);
	assert_int_equal(site_remove(s, &root, "odd"), NFS4R_OK);
	expect_back(c);
	expect_shell("", "ls %s", c->site[3].data);
}

/* Or it gets another name, which it can have. */
static void a_name_that_cannot_be_and_is_changed(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[1];
	struct nfs4r_oid root = site_root(s), f;

	dirlops_fail_call(c->site[3].ops, "create", "odd", NFS4R_NAMETOOLONG);
	f = make_file(s, &root, "odd", "bytes");
	assert_int_equal(site_close(s, &f), NFS4R_OK);
	wait_removed(c, NFS4R_NAMETOOLONG);
	assert_int_equal(site_rename(s, &root, "odd", &root, "even"), NFS4R_OK);
	expect_back(c);
	expect_shell("even\n", "ls %s", c->site[3].data);
	expect_shell("bytes", "cat %s/even", c->site[3].data);
}

/* Moved to a name that cannot be, and on to one that can. */
static void a_move_that_cannot_be_and_goes_on(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[1];
	struct nfs4r_oid root = site_root(s), f = make_file(s, &root, "f", "bytes");

	assert_int_equal(site_close(s, &f), NFS4R_OK);
	cluster_settle(c);
	dirlops_fail_call(c->site[3].ops, "rename", "odd", NFS4R_NAMETOOLONG);
	assert_int_equal(site_rename(s, &root, "f", &root, "odd"), NFS4R_OK);
	wait_removed(c, NFS4R_NAMETOOLONG);
	assert_int_equal(site_rename(s, &root, "odd", &root, "even"), NFS4R_OK);
	expect_back(c);
	expect_shell("even\n", "ls %s", c->site[3].data);
}

/* It ends while it cannot, and the file is removed meanwhile. The start after that cannot either, and need not. */
static void a_restart_before_it_is_moot(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f = make_file(&c->site[1], &root, "f", "small");

	cluster_settle(c);
	dirlops_fail_call(c->site[3].ops, "write", NULL, NFS4R_FBIG);
	assert_int_equal(site_write(&c->site[1], &f, 1000000, "many bytes", 10), NFS4R_OK);
	wait_removed(c, NFS4R_FBIG);
	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	cluster_stop(c, 3);
	assert_int_equal(site_remove(&c->site[2], &root, "f"), NFS4R_OK);
	cluster_start(c, 3);
	dirlops_fail_call(c->site[3].ops, "write", NULL, NFS4R_FBIG);
	expect_back(c);
}

/* Before anything in doubt is written. */
static void fail_from_the_start(struct site *s, const char *text)
{
	if (strstr(text, "that changed shortly before are in doubt"))
		dirlops_fail_call(s->ops, "write", NULL, NFS4R_FBIG);
}

/* It ends before it is in trouble. At the next start what it had begun is in doubt, which has to be written before anything is applied; and it cannot. */
static void a_restart_before_it_is_in_trouble(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f = make_file(&c->site[1], &root, "f", "small"), d;

	cluster_settle(c);
	dirlops_fail_call(c->site[3].ops, "write", NULL, NFS4R_FBIG);
	assert_int_equal(site_write(&c->site[1], &f, 1000000, "many bytes", 10), NFS4R_OK);
	site_says(&c->site[3], "cannot apply update", 20);
	cluster_stop(c, 3);
	site_heard(&c->site[3], fail_from_the_start);
	cluster_start(c, 3);
	site_says(&c->site[3], "an object in doubt after a crash cannot be written: file too large", 20);
	assert_int_equal(site_make(&c->site[1], NFS4R_OP_MKDIR, &root, "d", &d), NFS4R_OK);
	wait_removed(c, NFS4R_FBIG);
	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	site_heard(&c->site[3], NULL);
	dirlops_fail_call(c->site[3].ops, "", NULL, NFS4R_OK);
	expect_back(c);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, cluster_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(whatever_the_call_and_the_error),
		T(what_the_primary_s_quota_refuses_is_not_done),
		T(a_part_of_a_write_within_the_quota),
		T(a_quota_takes_a_server_out_until_there_is_room),
		T(a_file_that_is_too_large_and_goes),
		T(a_file_that_is_too_large_and_is_cut),
		T(an_attribute_that_does_not_fit_and_goes),
		T(a_name_that_cannot_be_and_goes),
		T(a_name_that_cannot_be_and_is_changed),
		T(a_move_that_cannot_be_and_goes_on),
		T(a_restart_before_it_is_moot),
		T(a_restart_before_it_is_in_trouble),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
