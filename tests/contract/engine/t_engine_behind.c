/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Changes in the exported directory itself, behind NFS (docs/decisions/0027-changes-behind-nfs.md): what is gone comes back when it is used, what is in the way of an update moves
 * aside, verify names what is on the disk alone, and a repair makes a copy equal while clients work.
 */
#include "lib/unit.h"
#include <stdio.h>
#include <stdlib.h>

#include "ask.h"
#include "engine/engine_int.h"
#include "steps.h"

#define PATIENCE 200 /* of 50 ms */

/* As a client that comes again after DELAY, until the file has these bytes. */
static void wait_content(struct site *s, const struct nfs4r_oid *f, const char *want)
{
	char got[200] = "";
	uint32_t len;

	for (int i = 0; i < PATIENCE; i++) {
		len = sizeof(got) - 1;
		if (site_read(s, f, 0, got, &len) == NFS4R_OK && len == strlen(want) && memcmp(got, want, len) == 0)
			return;
		pause_ms(50);
	}
	fail_msg("server %d never has '%s'", s->id, want);
}

static void touch(struct site *s, const struct nfs4r_oid *oid)
{
	struct nfs4r_attrs a = { 0 };

	assert_int_equal(site_getattr(s, oid, &a), NFS4R_OK);
	nfs4r_buf_put(a.acl);
}

/* Look at the object, which is gone, until the disk is as it should be. At first another server may control it, and be asked. */
static void wait_shell(struct site *s, const struct nfs4r_oid *oid, const char *want, const char *cmd)
{
	char got[4096];

	for (int i = 0; i < PATIENCE; i++) {
		if (oid)
			touch(s, oid);
		shell(got, sizeof(got), "exec 2>/dev/null; cd %s && %s", s->data, cmd);
		if (strcmp(got, want) == 0)
			return;
		pause_ms(50);
	}
	assert_string_equal(got, want);
}

static void counts(struct site *s, struct behind_counts *n)
{
	resync_heal_count(s->eng, n);
}

struct repaired {
	uint64_t status, repaired, left, names;
	char text[4096];
};

static struct repaired repair(struct cluster *c, int id, const char *path, int from, bool dry_run)
{
	struct repaired r = { .status = 99 };
	struct ctl_conn *k = cluster_ctl(c, id);
	json_t *a, *req = json_pack("{s:s, s:s, s:b}", "cmd", "repair", "path", path, "dry_run", dry_run);
	char why[CTL_WHY] = "";

	if (from)
		json_object_set_new(req, "from", json_integer(from));
	assert_true(ctl_send(k, req, 60));
	while (r.status == 99 && (a = ctl_next(k, why))) {
		const json_t *m = json_object_get(a, "repair"), *l = json_object_get(a, "unrepaired"), *res = json_object_get(a, "result"), *n = json_object_get(a, "name");
		size_t at = strlen(r.text);

		if (m || l)
			snprintf(r.text + at, sizeof(r.text) - at, "%s%s %s;", l ? "left " : "", get_text(m ? m : l, "path"), get_text(m ? m : l, m ? "what" : "why"));
		if (n)
			snprintf(r.text + at, sizeof(r.text) - at, "name %s at %d;", get_text(n, "name"), (int)get_num(n, "server"));
		if (json_object_get(a, "error"))
			fail_msg("%s", get_text(a, "error"));
		if (res) {
			r.status = get_num(res, "status");
			r.repaired = get_num(res, "repaired");
			r.left = get_num(res, "unrepaired");
			r.names = get_num(res, "names");
		}
		json_decref(a);
	}
	ctl_close(k);
	return r;
}

/* ---- gone ---- */

static void what_is_gone_comes_back_when_it_is_used(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid root = site_root(s), dir = make(&c->site[1], NFS4R_OP_MKDIR, &root, "dir"), sub = make(&c->site[1], NFS4R_OP_MKDIR, &dir, "sub");
	struct nfs4r_oid f = make_file(&c->site[1], &sub, "file", "its bytes"), link = make(&c->site[1], NFS4R_OP_SYMLINK, &dir, "link");
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_MODE, .mode = 0640 };
	struct behind_counts n;

	assert_int_equal(site_setattr(&c->site[1], &f, &a), NFS4R_OK);
	assert_int_equal(site_setxattr(&c->site[1], &f, "k", "v"), NFS4R_OK);
	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	cluster_settle(c);
	must_shell("rm -r %s/dir", s->data);
	wait_content(s, &f, "its bytes");
	wait_shell(s, &f, "640 v\n", "stat -c %a dir/sub/file | tr '\\n' ' '; getfattr --only-values -n user.k dir/sub/file; echo");
	site_says(s, "'/dir/sub/file' was removed or replaced behind NFS: restored from server", 5);
	wait_shell(s, &link, "link\nsub\n", "ls dir"); /* the directories are there with the file */
	counts(s, &n);
	assert_int_equal(n.taken, 4);
	cluster_settle(c);
	cluster_verify_equal(c, 1);
}

/* An editor writes a new file and renames it over the old one; so does rsync. */
static void what_was_replaced_is_the_volumes_again(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[2];
	struct nfs4r_oid root = site_root(s), f = make_file(&c->site[1], &root, "file", "of the volume");

	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	cluster_settle(c);
	must_shell("cd %s && echo edited >.file.tmp && mv .file.tmp file", s->data);
	wait_content(s, &f, "of the volume");
	wait_shell(s, &f, "of the volume", "cat file");
	wait_shell(s, NULL, "edited\n", "cat .nfs4r-hold/stray.1");
	must_shell("rm -r %s/.nfs4r-hold", s->data);
	cluster_settle(c);
	cluster_verify_equal(c, 2);
}

/* An update of another site finds its object gone, or its directory. */
static void updates_of_others_bring_back_what_they_need(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid root = site_root(s), dir = make(&c->site[1], NFS4R_OP_MKDIR, &root, "dir"), f = make_file(&c->site[1], &root, "file", "0123456789"), g;

	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	cluster_settle(c);
	must_shell("cd %s && rm -r dir file", s->data);
	assert_int_equal(site_write(&c->site[1], &f, 4, "new", 3), NFS4R_OK);
	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	g = make_file(&c->site[1], &dir, "in it", "g");
	assert_int_equal(site_close(&c->site[1], &g), NFS4R_OK);
	wait_content(s, &f, "0123new789");
	wait_shell(s, &f, "0123new789g", "cat file 'dir/in it'"); /* a test's local file system goes on writing to what it has in use, so only a look notices it */
	cluster_settle(c);
	cluster_verify_equal(c, 1);
}

/* The same where the update is executed; the client comes again after DELAY. */
static void own_updates_bring_back_what_they_need(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[1];
	struct nfs4r_oid root = site_root(s), dir = make(s, NFS4R_OP_MKDIR, &root, "dir"), a = make_file(s, &dir, "a", "aaaa"), b = make_file(s, &dir, "b", "b"), x = make_file(s, &dir, "x", "x"), got;

	assert_int_equal(site_close(s, &a), NFS4R_OK);
	assert_int_equal(site_close(s, &b), NFS4R_OK);
	assert_int_equal(site_close(s, &x), NFS4R_OK);
	cluster_settle(c);
	must_shell("rm -r %s/dir", s->data);
	assert_int_equal(site_write(s, &a, 2, "A", 1), NFS4R_OK);
	assert_int_equal(site_rename(s, &dir, "b", &dir, "c"), NFS4R_OK);
	assert_int_equal(site_remove(s, &dir, "x"), NFS4R_OK);
	assert_int_equal(site_close(s, &a), NFS4R_OK);
	wait_content(s, &a, "aaAa");
	wait_shell(s, &a, "a\nc\n", "ls dir");
	assert_int_equal(site_lookup(&c->site[2], &dir, "c", &got), NFS4R_OK);
	cluster_settle(c);
	cluster_verify_equal(c, 2);
}

/* ---- in the way ---- */

static void foreign_names_make_way_at_every_site(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), dir, f = make_file(&c->site[1], &root, "f", "f"), g = make_file(&c->site[1], &root, "g", "g");
	struct behind_counts n;

	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	assert_int_equal(site_close(&c->site[1], &g), NFS4R_OK);
	cluster_settle(c);
	for (int i = 1; i <= SITES; i++)
		must_shell("cd %s && mkdir made renamed linked && echo mine | tee made/mine renamed/mine linked/mine >pipe && mkdir symlink", c->site[i].data);
	dir = make(&c->site[2], NFS4R_OP_MKDIR, &root, "made");
	make(&c->site[1], NFS4R_OP_SYMLINK, &root, "symlink");
	make(&c->site[1], NFS4R_OP_CREATE, &root, "pipe");
	assert_int_equal(site_rename(&c->site[3], &root, "f", &root, "renamed"), NFS4R_OK);
	assert_int_equal(site_link(&c->site[1], &g, &root, "linked"), NFS4R_OK);
	make(&c->site[3], NFS4R_OP_CREATE, &dir, "in it");
	cluster_settle(c);
	for (int i = 1; i <= SITES; i++) {
		expect_shell("g\nlinked\nmade\npipe\nrenamed\nsymlink\n", "ls %s", c->site[i].data);
		expect_shell("in it\n", "ls %s/made", c->site[i].data);
		expect_shell("4\n", "cat %s/.nfs4r-hold/stray.*/mine %s/.nfs4r-hold/stray.* 2>/dev/null | grep -c mine", c->site[i].data, c->site[i].data);
		counts(&c->site[i], &n);
		assert_int_equal(n.aside, 5);
		assert_int_equal(n.strays, 5);
		must_shell("rm -r %s/.nfs4r-hold", c->site[i].data);
	}
	cluster_verify_equal(c, 1);
}

/* A client sees an empty directory and may remove it. */
static void a_directory_with_foreign_names_can_be_removed(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), d = make(&c->site[1], NFS4R_OP_MKDIR, &root, "d");

	make(&c->site[1], NFS4R_OP_MKDIR, &root, "e");
	make(&c->site[1], NFS4R_OP_MKDIR, &root, "over");
	(void)d;
	cluster_settle(c);
	for (int i = 1; i <= SITES; i++)
		must_shell("echo mine >%s/d/mine && echo mine >%s/over/mine", c->site[i].data, c->site[i].data);
	assert_int_equal(site_remove(&c->site[1], &root, "d"), NFS4R_OK);
	assert_int_equal(site_rename(&c->site[2], &root, "e", &root, "over"), NFS4R_OK);
	cluster_settle(c);
	for (int i = 1; i <= SITES; i++) {
		expect_shell("over\nmine\nmine\n", "cd %s && ls && cat .nfs4r-hold/stray.*", c->site[i].data);
		must_shell("rm -r %s/.nfs4r-hold", c->site[i].data);
	}
	cluster_verify_equal(c, 3);
}

/* Somebody moved what is the volume's: it goes back when it is in the way, or its name is needed. */
static void what_was_moved_goes_back(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid root = site_root(s), d = make(&c->site[1], NFS4R_OP_MKDIR, &root, "d"), f = make_file(&c->site[1], &root, "f", "f"), in = make_file(&c->site[1], &d, "in", "in");

	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	assert_int_equal(site_close(&c->site[1], &in), NFS4R_OK);
	cluster_settle(c);
	must_shell("cd %s && mv f new && mv d elsewhere", s->data);
	make(&c->site[1], NFS4R_OP_CREATE, &root, "new");
	assert_int_equal(site_rename(&c->site[1], &root, "d", &root, "d2"), NFS4R_OK);
	cluster_settle(c);
	wait_shell(s, NULL, "d2\nf\nnew\nfin", "ls && cat f d2/in");
	expect_content(s, &f, "f");
	cluster_verify_equal(c, 1);
}

/* ---- verify ---- */

static void verify_names_what_is_only_on_the_disk(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), d = make(&c->site[1], NFS4R_OP_MKDIR, &root, "d"), f = make_file(&c->site[1], &d, "f", "f");
	char text[VERIFY_TEXT];

	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	cluster_settle(c);
	must_shell("touch %s/d/foreign", c->site[2].data);
	must_shell("mv %s/d/f %s/d/f2", c->site[3].data, c->site[3].data);
	assert_int_equal(cluster_verify(c, 1, text), 1);
	assert_non_null(strstr(text, "/d/foreign 2 on the disk, and not in the volume;"));
	assert_non_null(strstr(text, "/d/f2 3 on the disk, and not in the volume;"));
	assert_non_null(strstr(text, "/d/f 3 in the volume, and not on the disk;"));
	must_shell("rm %s/d/foreign", c->site[2].data);
	assert_int_equal(repair(c, 3, "/", 0, false).status, 0);
	expect_shell("f\n", "ls %s/d", c->site[3].data);
	cluster_verify_equal(c, 1);
}

/* ---- repair ---- */

static void a_repair_makes_the_copy_equal(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[2];
	struct nfs4r_oid root = site_root(s), dir = make(&c->site[1], NFS4R_OP_MKDIR, &root, "dir"), other = make_file(&c->site[1], &root, "other", "other");
	struct nfs4r_oid edited = make_file(&c->site[1], &dir, "edited", "as the volume has it"), mode = make_file(&c->site[1], &dir, "mode", "m");
	struct nfs4r_oid two = make_file(&c->site[1], &dir, "two", "two names");
	struct repaired r;
	char text[40];

	for (int i = 0; i < 40; i++) {
		snprintf(text, sizeof(text), "f%d", i);
		make_file(&c->site[1], &dir, text, text);
	}
	make(&c->site[1], NFS4R_OP_SYMLINK, &dir, "link");
	assert_int_equal(site_link(&c->site[1], &two, &root, "second"), NFS4R_OK);
	cluster_settle(c);
	must_shell("cd %s/dir && rm -r f1? two && printf 'as somebody wanted it, and longer' >edited && chmod 600 mode && setfattr -n user.x -v y mode && ln -sfn elsewhere link && "
		   "mkdir new && echo n >new/n && mv f20 new/ && echo edited >../other",
		   s->data);
	(void)edited;
	(void)mode;
	r = repair(c, 2, "/dir", 0, true);
	assert_int_equal(r.status, 1);
	assert_true(r.repaired >= 14);
	expect_shell("as somebody wanted it, and longer", "cat %s/dir/edited", s->data); /* only said */
	r = repair(c, 2, "/dir", 0, false);
	if (r.status)
		fail_msg("%s", r.text);
	assert_int_equal(r.left, 0);
	expect_shell("as the volume has it", "cat %s/dir/edited", s->data);
	expect_shell("edited\n", "cat %s/other", s->data); /* not below that path */
	expect_shell("n\n", "cat %s/.nfs4r-hold/stray.*/n", s->data);
	must_shell("grep -q /dir/edited %s/conflicts/repair-*.txt", s->store);
	r = repair(c, 2, "/", 0, false);
	if (r.status)
		fail_msg("%s", r.text);
	wait_content(s, &other, "other");
	must_shell("rm -r %s/.nfs4r-hold", s->data);
	cluster_settle(c);
	for (int i = 1; i <= SITES; i++)
		cluster_verify_equal(c, i);
}

/* No update of a client is lost or undone by it. */
static void clients_work_while_it_is_repaired(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid root = site_root(s), f[24];
	char text[40];

	for (int i = 0; i < 24; i++) {
		snprintf(text, sizeof(text), "f%d", i);
		f[i] = make_file(&c->site[1], &root, text, "0123456789");
		assert_int_equal(site_close(&c->site[1], &f[i]), NFS4R_OK);
	}
	cluster_settle(c);
	must_shell("cd %s && rm f?; for i in f1?; do echo wrong bytes >$i; done", s->data);
	must_shell("cd %s && touch foreign", s->data);
	struct ctl_conn *k = cluster_ctl(c, 3);
	char why[CTL_WHY] = "";
	uint64_t status = 99;
	json_t *a;

	assert_true(ctl_send(k, json_pack("{s:s}", "cmd", "repair"), 60));
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 24; i++) {
			struct site *at = &c->site[1 + (i + round) % SITES];

			snprintf(text, sizeof(text), "%d", round);
			assert_int_equal(site_write(at, &f[i], (uint64_t)round * 2, text, 1), NFS4R_OK);
			assert_int_equal(site_close(at, &f[i]), NFS4R_OK);
		}
	while (status == 99 && (a = ctl_next(k, why))) {
		if (json_object_get(a, "result"))
			status = get_num(json_object_get(a, "result"), "status");
		json_decref(a);
	}
	ctl_close(k);
	/* What changes all the time may be left, and the status says so. A repair while nobody writes leaves nothing. */
	assert_true(status <= 1);
	if (status == 0)
		cluster_settle(c);
	cluster_settle_rows(c);
	assert_int_equal(repair(c, 3, "/", 0, false).status, 0);
	cluster_settle(c);
	for (int i = 0; i < 24; i++)
		for (int j = 1; j <= SITES; j++)
			expect_content(&c->site[j], &f[i], "0113256789");
	must_shell("rm -r %s/.nfs4r-hold", s->data);
	cluster_verify_equal(c, 1);
}

/* The administrator says whose copy is right, against the majority. */
static void a_named_server_is_right(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f = make_file(&c->site[1], &root, "f", "one");
	struct repaired r;

	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	cluster_settle(c);
	must_shell("printf two >%s/f", c->site[3].data);
	r = repair(c, 1, "/", 3, false);
	if (r.left)
		fail_msg("%s", r.text);
	expect_shell("two", "cat %s/f", c->site[1].data);
	assert_int_equal(repair(c, 2, "/", 0, false).repaired, 1); /* the majority by now */
	expect_shell("two", "cat %s/f", c->site[2].data);
	cluster_verify_equal(c, 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, cluster_setup, cluster_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_is_gone_comes_back_when_it_is_used),
		T(what_was_replaced_is_the_volumes_again),
		T(updates_of_others_bring_back_what_they_need),
		T(own_updates_bring_back_what_they_need),
		T(foreign_names_make_way_at_every_site),
		T(a_directory_with_foreign_names_can_be_removed),
		T(what_was_moved_goes_back),
		T(verify_names_what_is_only_on_the_disk),
		T(a_repair_makes_the_copy_equal),
		T(clients_work_while_it_is_repaired),
		T(a_named_server_is_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
