/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A server whose disk is new or from the past (log 8.6): its store, its copy of the tree or both were lost, or came from a backup. It finds out from the others,
 * takes everything from them, and is as before; nothing that is missing here is ever missing there.
 */
#include "lib/unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "steps.h"
#include "engine/engine_int.h"

#define LEASE_MS 1000
#define FILES 40

static int begin(void **state, uint32_t durability, uint32_t idle_ms)
{
	struct cluster *c = calloc(1, sizeof(*c));

	cluster_init(c);
	c->lease_ms = c->silence_ms = LEASE_MS;
	c->durability = durability;
	c->idle_ms = idle_ms;
	for (int i = 1; i <= SITES; i++)
		cluster_start(c, i);
	wait_all_serve(c);
	*state = c;
	return 0;
}

static int setup_local(void **state)
{
	return begin(state, NFS4R_DURABILITY_LOCAL, 200);
}

static int setup_controls(void **state)
{
	return begin(state, NFS4R_DURABILITY_LOCAL, 20000);
}

static int setup_commit(void **state)
{
	return begin(state, NFS4R_DURABILITY_COMMIT, 20000);
}

static int teardown(void **state)
{
	cluster_fini(*state);
	free(*state);
	return 0;
}

static void forget_said(struct site *s)
{
	pthread_mutex_lock(&s->lock);
	s->logged[0] = '\0';
	pthread_mutex_unlock(&s->lock);
}

/* ---- what is in the volume ---- */

struct tree {
	struct nfs4r_oid root, dir, f[FILES];
};

static void write_and_close(struct site *s, const struct nfs4r_oid *f, const char *text)
{
	write_text(s, f, text);
	assert_int_equal(site_close(s, f), NFS4R_OK);
}

/* All made at site 3, some by the others; equal everywhere at the end. */
static void plant(struct cluster *c, struct tree *t)
{
	char name[40];

	t->root = site_root(&c->site[3]);
	t->dir = make(&c->site[3], NFS4R_OP_MKDIR, &t->root, "dir");
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		t->f[i] = make(&c->site[i % 5 ? 3 : 1], NFS4R_OP_CREATE, &t->dir, name);
		write_and_close(&c->site[i % 7 ? 3 : 2], &t->f[i], name);
	}
	make(&c->site[3], NFS4R_OP_SYMLINK, &t->root, "link");
	make(&c->site[1], NFS4R_OP_MKNOD, &t->dir, "fifo");
	assert_int_equal(site_link(&c->site[2], &t->f[1], &t->root, "second name"), NFS4R_OK);
	cluster_settle(c);
}

/* The others go on while server 3 is away, where they may. */
static void go_on(struct cluster *c, struct tree *t)
{
	struct nfs4r_oid more = make(&c->site[1], NFS4R_OP_MKDIR, &t->root, "more"), f = make(&c->site[2], NFS4R_OP_CREATE, &more, "f");

	write_and_close(&c->site[1], &f, "made while server 3 was away");
	write_and_close(&c->site[2], &t->f[0], "changed while server 3 was away");
	assert_int_equal(site_remove(&c->site[1], &t->dir, "f5"), NFS4R_OK);
	assert_int_equal(site_rename(&c->site[2], &t->dir, "f6", &more, "f6"), NFS4R_OK);
}

/* Nothing is used twice, and everybody takes part again. */
static void as_before(struct cluster *c, struct tree *t)
{
	struct nfs4r_oid f;
	char name[40];

	wait_all_serve(c);
	cluster_settle(c);
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "again%d", i);
		f = make(&c->site[3], NFS4R_OP_CREATE, &t->root, name);
		for (int j = 0; j < FILES; j++)
			assert_false(nfs4r_oid_eq(&f, &t->f[j]));
		write_and_close(&c->site[3], &f, name);
		expect_content(&c->site[1 + i % 2], &f, name);
	}
	write_and_close(&c->site[3], &t->f[1], "server 3 again");
	expect_content(&c->site[1], &t->f[1], "server 3 again");
	cluster_settle(c);
	cluster_stop(c, 3);
	cluster_start(c, 3);
	wait_all_serve(c);
	cluster_settle(c);
}

static bool has_controls(struct site *s)
{
	struct nfs4r_core_stats st;

	pthread_mutex_lock(&s->eng->lock);
	nfs4r_core_get_stats(s->eng->core, &st);
	pthread_mutex_unlock(&s->eng->lock);
	return st.controls_own + st.controls_foreign;
}

/* Where controls are short nobody has any, and everybody knows that: a release that is still on its way when its server stops is none. */
static void let_go(struct cluster *c)
{
	for (int i = 1; i <= SITES && c->idle_ms < 1000; i++)
		for (int ms = 0; has_controls(&c->site[i]); ms += 10, pause_ms(10))
			if (ms >= 20000)
				fail_msg("server %d knows controls for 20 s", i);
}

/* Server 3 stops, and is removed. */
static void go_away(struct cluster *c)
{
	struct nfs4r_core_view v;

	let_go(c);
	cluster_stop(c, 3);

	for (int i = 0; i < 2000; i++, pause_ms(10)) {
		get_view(&c->site[1], &v);
		if (!(v.adopted.members & NFS4R_BIT(3)))
			return;
	}
	fail_msg("server 3 stays a member");
}

static void wait_repaired(struct cluster *c)
{
	site_says(&c->site[3], "the other servers know a later state of this server than its store", 20);
	site_says(&c->site[3], "this copy is empty or out of date; resync starts, from server", 20);
	site_says(&c->site[3], "resync complete, from server", 20);
}

static void lose(struct cluster *c, bool store, bool data)
{
	struct site *s = &c->site[3];

	if (store)
		must_shell("rm -rf %s", s->store);
	if (data)
		must_shell("rm -rf %s/* %s/.nfs4r-hold", s->data, s->data);
	forget_said(s);
}

/* ---- both ---- */

/* With commit, and with local where nobody has a control any more. */
static void an_empty_disk(void **state)
{
	struct cluster *c = *state;
	struct tree t;

	plant(c, &t);
	go_away(c);
	go_on(c, &t);
	lose(c, true, true);
	cluster_start(c, 3);
	wait_repaired(c);
	as_before(c, &t);
}

/* So quickly that nobody has missed it. */
static void an_empty_disk_of_a_member(void **state)
{
	struct cluster *c = *state;
	struct tree t;

	plant(c, &t);
	cluster_stop(c, 3);
	lose(c, true, true);
	cluster_start(c, 3);
	wait_repaired(c);
	go_on(c, &t);
	as_before(c, &t);
}

static void an_empty_disk_with_controls(void **state)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_ABANDON, .peer = 3 };
	struct cluster *c = *state;
	struct tree t;

	plant(c, &t);
	write_and_close(&c->site[3], &t.f[3], "site 3 controls this");
	go_away(c);
	lose(c, true, true);
	cluster_start(c, 3);
	site_says(&c->site[3], "nfs4rctl abandon 3", 20);
	site_says(&c->site[1], "nfs4rctl abandon 3", 20);
	assert_false(engine_has_lease(c->site[3].eng));
	pthread_mutex_lock(&c->site[1].eng->lock);
	engine_step(c->site[1].eng, &ev);
	pthread_mutex_unlock(&c->site[1].eng->lock);
	wait_repaired(c);
	go_on(c, &t);
	as_before(c, &t);
}

/* Server 3 starts, and stops in the middle of its repair. */
static void start_in_vain(struct cluster *c)
{
	dirlops_slow_writes(1000);
	cluster_start(c, 3);
	site_says(&c->site[3], "resync starts, from server", 20);
	pause_ms(300);
	cluster_stop(c, 3);
	dirlops_slow_writes(0);
	forget_said(&c->site[3]);
}

/* Its second start finds the work of the first, and goes on. */
static void an_empty_disk_interrupted(void **state)
{
	struct cluster *c = *state;
	struct tree t;

	plant(c, &t);
	go_away(c);
	lose(c, true, true);
	start_in_vain(c);
	cluster_start(c, 3);
	site_says(&c->site[3], "resync complete, from server", 20);
	as_before(c, &t);
}

static int times_said(struct site *s, const char *text)
{
	int n = 0;

	pthread_mutex_lock(&s->lock);
	for (const char *at = s->logged; (at = strstr(at, text)); at += strlen(text))
		n++;
	pthread_mutex_unlock(&s->lock);
	return n;
}

static int source_of(struct site *s)
{
	site_says(s, "resync starts, from server", 20);
	pthread_mutex_lock(&s->eng->lock);
	int id = s->eng->resync.repair.from;
	pthread_mutex_unlock(&s->eng->lock);
	assert_in_range(id, 1, 2);
	return id;
}

/* Log 8.3: what it gave before counts for nothing, since its machine may have lost some of that. */
static void a_source_that_starts_anew(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct tree t;
	int from;

	plant(c, &t);
	go_away(c);
	go_on(c, &t);
	lose(c, true, true);
	dirlops_slow_writes(1000);
	cluster_start(c, 3);
	from = source_of(s);
	pause_ms(300);
	assert_int_equal(times_said(s, "resync complete"), 0);
	cluster_stop(c, from);
	dirlops_slow_writes(0);
	cluster_start(c, from);
	for (int ms = 0; times_said(s, "resync complete") < 2; ms += 10, pause_ms(10))
		if (ms >= 20000)
			fail_msg("repaired %d times", times_said(s, "resync complete"));
	as_before(c, &t);
}

/* ---- one of the two ---- */

static void a_lost_store(void **state)
{
	struct cluster *c = *state;
	struct tree t;

	plant(c, &t);
	go_away(c);
	go_on(c, &t);
	must_shell("echo precious >%s/mine", c->site[3].data);
	lose(c, true, false);
	c->site[3].import = true; /* was never removed from its configuration */
	cluster_start(c, 3);
	site_says(&c->site[3], "nothing is imported", 20);
	wait_repaired(c);
	wait_all_serve(c);
	must_shell("grep -qr precious %s/.nfs4r-hold && rm -r %s/.nfs4r-hold", c->site[3].data, c->site[3].data);
	as_before(c, &t);
}

/* By name and inode. */
static void list_inodes(struct site *s, char *out, size_t len)
{
	shell(out, len, "cd %s && find . -name .nfs4r-hold -prune -o ! -type d -printf '%%P %%i\\n' | sort", s->data);
}

/* Server 3 loses its store and starts name; what is made at the others meanwhile: @meanwhile. */
static void lose_store(struct cluster *c, void (*meanwhile)(struct cluster *c, struct tree *t), struct tree *t)
{
	go_away(c);
	if (meanwhile)
		meanwhile(c, t);
	lose(c, true, false);
	cluster_start(c, 3);
	wait_repaired(c);
	wait_all_serve(c);
	cluster_settle(c);
}

static void several_names(struct cluster *c, struct tree *t)
{
	make(&c->site[3], NFS4R_OP_SYMLINK, &t->dir, "other link");
	for (int i = 10; i < 20; i++) {
		char name[40];

		snprintf(name, sizeof(name), "name%d", i);
		assert_int_equal(site_link(&c->site[1], &t->f[i], &t->root, name), NFS4R_OK);
		assert_int_equal(site_link(&c->site[1], &t->f[i], &t->dir, name), NFS4R_OK);
	}
	cluster_settle(c);
}

/* All of it is taken for what it is, whatever it is and however many names it has. */
static void a_lost_store_with_all_kinds_of_objects(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	char before[4096], after[4096];
	struct tree t;

	plant(c, &t);
	several_names(c, &t);
	list_inodes(s, before, sizeof(before));
	assert_non_null(strstr(before, "dir/fifo "));
	lose_store(c, NULL, &t);
	list_inodes(s, after, sizeof(after));
	assert_string_equal(after, before);
	expect_shell("", "ls -A %s | grep nfs4r", s->data);
	assert_int_equal(times_said(s, "is in the exported directory and not in the volume"), 0);
	as_before(c, &t);
}

static void change_names(struct cluster *c, struct tree *t)
{
	assert_int_equal(site_remove(&c->site[1], &t->root, "name10"), NFS4R_OK); /* one of three */
	assert_int_equal(site_remove(&c->site[1], &t->root, "name11"), NFS4R_OK); /* one of three, and another one instead */
	assert_int_equal(site_link(&c->site[1], &t->f[11], &t->root, "instead"), NFS4R_OK);
	assert_int_equal(site_link(&c->site[2], &t->f[2], &t->root, "second"), NFS4R_OK); /* the first of its kind */
	assert_int_equal(site_remove(&c->site[2], &t->dir, "f12"), NFS4R_OK); /* two of three */
	assert_int_equal(site_remove(&c->site[2], &t->root, "name12"), NFS4R_OK);
}

static void inode_of(struct site *s, const char *name, char *out, size_t len)
{
	shell(out, len, "stat -c %%i %s/%s", s->data, name);
	assert_int_not_equal(out[0], '\0');
}

static void expect_inode(struct site *s, const char *name, const char *want)
{
	char got[40];

	inode_of(s, name, got, sizeof(got));
	assert_string_equal(got, want);
}

/* Names came and went meanwhile: the file stays the one that it was. */
static void a_lost_store_and_names_that_changed(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	char f10[40], f11[40], f12[40];
	struct tree t;

	plant(c, &t);
	several_names(c, &t);
	inode_of(s, "dir/f10", f10, sizeof(f10));
	inode_of(s, "dir/f11", f11, sizeof(f11));
	inode_of(s, "dir/f12", f12, sizeof(f12));
	lose_store(c, change_names, &t);
	expect_inode(s, "dir/f10", f10);
	expect_inode(s, "dir/f11", f11);
	expect_inode(s, "instead", f11);
	expect_inode(s, "dir/name12", f12);
	expect_shell("", "ls -A %s | grep nfs4r", s->data);
	as_before(c, &t);
}

/*
 * What lies there is not what it should be: two names of one file belong to two objects, a name of several leads to another file, a symbolic link leads elsewhere,
 * a FIFO is another one, and somebody gave a file one more name.
 */
static void a_lost_store_and_a_tree_that_was_changed(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	char one[40], two[40];
	struct tree t;

	plant(c, &t);
	several_names(c, &t);
	must_shell("cd %s && ln -f dir/f20 dir/f21 && rm dir/name13 && echo other >dir/name13 && ln -sfn elsewhere link && rm dir/fifo && mknod dir/fifo p && ln dir/f22 mine", s->data);
	lose_store(c, NULL, &t);
	inode_of(s, "dir/f20", one, sizeof(one));
	inode_of(s, "dir/f21", two, sizeof(two));
	assert_string_not_equal(one, two);
	expect_content(s, &t.f[20], "f20");
	expect_content(s, &t.f[21], "f21");
	expect_content(s, &t.f[13], "f13");
	expect_shell("elsewhere\nother\n", "cd %s/.nfs4r-hold && (readlink stray.* ; cat stray.* 2>/dev/null)", s->data);
	assert_int_equal(times_said(s, "is in the exported directory and not in the volume"), 2);
	must_shell("rm -r %s/.nfs4r-hold", s->data);
	as_before(c, &t);
}

/* Never distributed as deletions. */
static void a_lost_tree(void **state)
{
	struct cluster *c = *state;
	struct tree t;
	char why[NFS4R_WHY];

	plant(c, &t);
	cluster_stop(c, 3);
	lose(c, false, true);
	assert_int_equal(cluster_try_start(c, 3, why), NFS4R_NOTEMPTY);
	assert_non_null(strstr(why, "move the store away"));
	expect_content(&c->site[1], &t.f[2], "f2");
	lose(c, true, false);
	cluster_start(c, 3);
	wait_repaired(c);
	as_before(c, &t);
}

/* ---- from the past ---- */

enum put_back {
	TREE_OF_NOW = 1,
	TREE_OVER, /* the old one, file by file, into what is there */
	TREE_ANEW, /* the same, into an empty directory: a file system may give each file the inode of another one, or of one that is made later */
};

static int copy_now(void *arg)
{
	struct site *s = arg;

	must_shell("cp -a %s %s/store.old && cp -a %s %s/data.old", s->store, s->cluster->dir, s->data, s->cluster->dir);
	return 0;
}

/* LMDB and the marks are as they are while a checkpoint syncs the files; the journal may go on, and have a torn end in the copy. */
static void copy_running(struct site *s)
{
	assert_int_equal(nfs4r_store_checkpoint(s->eng->store, copy_now, s, NULL), NFS4R_OK);
}

/* By the peers' cores: the position that they remember of this server's journal. */
static void wait_told(struct cluster *c, struct site *s)
{
	nfs4r_journal_pos synced = nfs4r_store_synced(s->eng->store);
	struct nfs4r_core_view v;

	for (int i = 1; i < 3; i++)
		for (int ms = 0; get_view(&c->site[i], &v), v.peer[3].position < synced; ms += 10, pause_ms(10))
			if (ms >= 20000)
				fail_msg("server %d was not told of server 3's journal for 20 s", i);
}

static void copy_stopped(struct cluster *c, struct site *s)
{
	cluster_stop(c, 3);
	copy_now(s);
	cluster_start(c, 3);
	wait_all_serve(c);
}

static void an_old_image(void **state, enum put_back tree, bool in_vain, bool same_start)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct tree t;

	plant(c, &t);
	if (same_start)
		copy_running(s);
	else
		copy_stopped(c, s);
	write_and_close(&c->site[3], &t.f[2], "after the copy was made");
	make(&c->site[3], NFS4R_OP_CREATE, &t.root, "made after the copy");
	assert_int_equal(site_remove(&c->site[3], &t.dir, "f8"), NFS4R_OK);
	cluster_settle(c);
	if (same_start) { /* all is on its disk, and the next heartbeats tell the others */
		assert_int_equal(nfs4r_store_sync(s->eng->store, nfs4r_store_position(s->eng->store)), NFS4R_OK);
		wait_told(c, s);
	}
	go_away(c);
	go_on(c, &t);
	lose(c, true, false);
	must_shell("mv %s/store.old %s", c->dir, s->store);
	if (tree == TREE_ANEW)
		lose(c, false, true);
	if (tree != TREE_OF_NOW)
		must_shell("cp -a %s/data.old/. %s/", c->dir, s->data);
	if (in_vain)
		start_in_vain(c);
	cluster_start(c, 3);
	wait_repaired(c);
	wait_all_serve(c);
	must_shell("rm -rf %s/.nfs4r-hold", s->data);
	expect_content(s, &t.f[2], "after the copy was made");
	as_before(c, &t);
}

static void an_old_store(void **state)
{
	an_old_image(state, TREE_OF_NOW, false, false);
}

/* Nobody heard of a later start than that one. */
static void an_image_of_the_same_start(void **state)
{
	an_old_image(state, TREE_OVER, false, true);
}

static void an_old_store_and_tree(void **state)
{
	an_old_image(state, TREE_OVER, false, false);
}

static void an_old_store_and_a_tree_made_anew(void **state)
{
	an_old_image(state, TREE_ANEW, false, false);
}

static void an_old_store_and_a_tree_made_anew_interrupted(void **state)
{
	an_old_image(state, TREE_ANEW, true, false);
}

/* What a deleted file's handle in an old store leads to now is a directory with something in it: not the volume's, and not in the way. */
static void an_old_handle_leads_to_something_else(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_lhandle rooth, was, other;
	struct tree t;

	plant(c, &t);
	must_shell("mkdir %s/other && echo precious >%s/other/file", s->data, s->data);
	nfs4r_handle(s->eng, &t.root, &rooth);
	nfs4r_handle(s->eng, &t.f[8], &was);
	assert_int_equal(s->eng->ops->lookup(s->eng->ctx, &rooth, "other", &other), NFS4R_OK);
	assert_int_equal(nfs4r_store_set_handle(s->eng->store, &t.f[8], other.b, other.len), NFS4R_OK);
	cluster_stop(c, 3);
	must_shell("cp -a %s %s/store.old", s->store, c->dir);
	cluster_start(c, 3);
	wait_all_serve(c);
	assert_int_equal(nfs4r_store_set_handle(s->eng->store, &t.f[8], was.b, was.len), NFS4R_OK);
	assert_int_equal(site_remove(&c->site[3], &t.dir, "f8"), NFS4R_OK);
	go_away(c);
	lose(c, true, false);
	must_shell("mv %s/store.old %s", c->dir, s->store);
	cluster_start(c, 3);
	wait_repaired(c);
	wait_all_serve(c);
	must_shell("grep -qr precious %s/.nfs4r-hold/stray.* && rm -rf %s/.nfs4r-hold", s->data, s->data);
	as_before(c, &t);
}

/* ---- first starts ---- */

/* Nobody knows of an earlier store, so a tree is what an administrator has to decide on, now and at the next start. */
static void a_tree_without_a_past(void **state)
{
	struct cluster *c = calloc(1, sizeof(*c));
	struct nfs4r_oid root, f;
	char why[NFS4R_WHY];

	cluster_init(c);
	c->lease_ms = c->silence_ms = LEASE_MS;
	must_shell("echo old >%s/file", c->site[1].data);
	for (int i = 1; i <= SITES; i++)
		cluster_start(c, i);
	site_says(&c->site[1], "set Import = true on exactly one server", 20);
	assert_int_not_equal(c->site[1].eng->runtime.halt.why[0], '\0');
	cluster_stop(c, 1);
	assert_int_equal(cluster_try_start(c, 1, why), NFS4R_NOTEMPTY);
	c->site[1].import = true;
	cluster_start(c, 1);
	wait_all_serve(c);
	cluster_settle(c);
	root = site_root(&c->site[3]);
	assert_int_equal(site_lookup(&c->site[3], &root, "file", &f), NFS4R_OK);
	expect_content(&c->site[3], &f, "old\n");
	cluster_fini(c);
	free(c);
}

#define T(name, setup) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		{ "an_empty_disk_with_commit", an_empty_disk, setup_commit, teardown, NULL },
		T(an_empty_disk_of_a_member, setup_commit),
		{ "an_empty_disk_without_controls", an_empty_disk, setup_local, teardown, NULL },
		T(an_empty_disk_with_controls, setup_controls),
		T(an_empty_disk_interrupted, setup_commit),
		T(a_source_that_starts_anew, setup_commit),
		T(a_lost_store, setup_local),
		T(a_lost_store_with_all_kinds_of_objects, setup_local),
		T(a_lost_store_and_names_that_changed, setup_local),
		T(a_lost_store_and_a_tree_that_was_changed, setup_local),
		T(a_lost_tree, setup_commit),
		T(an_old_store, setup_commit),
		T(an_old_store_and_tree, setup_local),
		T(an_image_of_the_same_start, setup_commit),
		T(an_old_store_and_a_tree_made_anew, setup_local),
		T(an_old_store_and_a_tree_made_anew_interrupted, setup_local),
		T(an_old_handle_leads_to_something_else, setup_local),
		cmocka_unit_test(a_tree_without_a_past),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
