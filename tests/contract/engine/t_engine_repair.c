/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Parts of a repair that seals alone seldom need: a copy that is made anew from another one (log 8.5), and entries of which only some parts apply,
 * because a directory is newer than the entry (log 3.4).
 */
#include "lib/unit.h"
#include <stdio.h>

#include "engine/engine_int.h"
#include "steps.h"

/* ---- everything anew ---- */

static void install(struct site *s, const struct nfs4r_oid *oid, uint32_t type, nfs4r_version version, const struct nfs4r_oid *parent)
{
	struct nfs4r_install in = { .oid = *oid };

	in.row.version = version;
	in.row.type = type;
	in.row.nlink = type == NFS4R_TYPE_DIR ? 2 : 1;
	if (parent) {
		in.row.nparents = 1;
		in.row.parents[0] = *parent;
		in.row.parent_names[0] = 1;
	}
	pthread_mutex_lock(&s->eng->lock);
	assert_int_equal(nfs4r_store_install(s->eng->store, &in), NFS4R_OK);
	pthread_mutex_unlock(&s->eng->lock);
}

static void forget(struct site *s, const struct nfs4r_oid *oid)
{
	pthread_mutex_lock(&s->eng->lock);
	assert_int_equal(nfs4r_store_forget(s->eng->store, oid), NFS4R_OK);
	pthread_mutex_unlock(&s->eng->lock);
}

static void repair_begin(struct site *s, nfs4r_server_id from)
{
	struct nfs4r_action a = { .type = NFS4R_ACT_REPAIR, .repair = { .from = from, .all = true } };

	pthread_mutex_lock(&s->eng->lock);
	resync_start(s->eng, &a);
	pthread_mutex_unlock(&s->eng->lock);
}

static void repair_all(struct site *s, nfs4r_server_id from)
{
	bool running = true;

	repair_begin(s, from);
	for (int i = 0; i < 1000 && running; i++) {
		pause_ms(10);
		pthread_mutex_lock(&s->eng->lock);
		running = s->eng->resync.repair.running;
		pthread_mutex_unlock(&s->eng->lock);
	}
	assert_false(running);
	site_says(s, "resync complete, from server", 1);
}

static void a_copy_is_made_anew(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid root = site_root(s), dir = make(&c->site[1], NFS4R_OP_MKDIR, &root, "dir"), sub = make(&c->site[1], NFS4R_OP_MKDIR, &dir, "sub");
	struct nfs4r_oid lost = make_file(&c->site[2], &sub, "lost", "all its bytes are gone"), other = make_file(&c->site[1], &dir, "other", "other");
	struct nfs4r_oid stray, link = make(&c->site[1], NFS4R_OP_SYMLINK, &dir, "link");
	struct nfs4r_store_positions before, after;
	char text[40];

	for (int i = 0; i < 700; i++) { /* more than one page of the list */
		snprintf(text, sizeof(text), "f%d", i);
		make(&c->site[1], NFS4R_OP_CREATE, &sub, text);
	}
	assert_int_equal(site_link(&c->site[1], &other, &sub, "second name"), NFS4R_OK);
	cluster_settle(c);
	nfs4r_store_get_positions(c->site[3].eng->store, &before);
	/* a directory with all below it, a file's content, an object that nobody else has */
	expect_shell("", "cd %s && rm -r dir/sub/lost dir/link && echo wrong >dir/other && echo stray >stray", s->data);
	forget(s, &lost);
	forget(s, &link);
	install(s, &other, NFS4R_TYPE_FILE, 1, &dir);
	install(s, &sub, NFS4R_TYPE_DIR, 1, &dir);
	install(s, &dir, NFS4R_TYPE_DIR, 1, &root);
	nfs4r_oid_make(&stray, 2, 1, 999999);
	install(s, &stray, NFS4R_TYPE_FILE, 1, &root);
	expect_shell("dir\nstray\n", "ls %s", s->data);
	repair_all(s, 1);
	expect_shell("", "rm %s/stray", s->data); /* the volume never knew its name */
	cluster_settle(c);
	assert_int_not_equal(nfs4r_store_row(s->eng->store, &stray, NULL), NFS4R_KNOWN);
	nfs4r_store_get_positions(s->eng->store, &after);
	for (int i = 1; i <= SITES; i++)
		assert_true(after.applied[i] >= before.applied[i]);
	expect_shell("", "ls -a %s | grep nfs4r", s->data);
	cluster_stop(c, 3);
	cluster_start(c, 3);
	cluster_settle(c);
}

/* ---- parts of entries ---- */

static struct nfs4r_part *part(struct nfs4r_entry *e, const struct nfs4r_oid *oid, uint32_t effect)
{
	struct nfs4r_part *p = &e->parts[e->nparts++];

	p->oid = *oid;
	p->effect = effect;
	return p;
}

static void name(struct nfs4r_part *p, const char *s, const struct nfs4r_oid *oid)
{
	assert_true(nfs4r_part_names(p, 1));
	assert_true(nfs4r_name_set(&p->names[0].name, s, strlen(s)));
	p->names[0].type = NFS4R_TYPE_FILE;
	if (oid)
		p->names[0].oid = *oid;
}

static void apply(struct site *s, struct nfs4r_entry *e, uint32_t mask)
{
	assert_int_equal(replicate_apply_entry(s->eng, e, mask, false), NFS4R_OK);
	assert_int_equal(replicate_apply_entry(s->eng, e, mask, false), NFS4R_OK); /* once more after a crash */
}

/* The hidden directory does not count: neither while it is there nor when it has gone. */
static void expect_links(struct site *s, uint32_t n)
{
	struct nfs4r_oid root = site_root(s);
	struct nfs4r_attrs got;

	assert_int_equal(site_getattr(s, &root, &got), NFS4R_OK);
	assert_int_equal(got.nlink, n);
}

/* A file is created where another one has the name by now, moved on, and deleted where the directory knows nothing of it. */
static void entries_apply_in_part(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid root = site_root(s), a = make(s, NFS4R_OP_MKDIR, &root, "a"), b = make(s, NFS4R_OP_MKDIR, &root, "b"), f;
	struct nfs4r_entry *e = nfs4r_entry_new();
	struct nfs4r_install in = { .row = { .version = 1, .type = NFS4R_TYPE_FILE, .nlink = 1 } };

	make_file(s, &a, "x", "the later one");
	cluster_settle(c);
	nfs4r_oid_make(&f, 1, 1, 777777);
	struct nfs4r_part *p = part(e, &f, NFS4R_EFF_CREATE);
	p->attrs.mask = NFS4R_ATTR_TYPE | NFS4R_ATTR_MODE;
	p->attrs.type = NFS4R_TYPE_FILE;
	p->attrs.mode = 0600;
	name(part(e, &a, NFS4R_EFF_NAMES), "x", &f);
	apply(s, e, 1);
	expect_shell("the later one", "cat %s/a/x", s->data);
	expect_shell("1.1.777777\n", "ls %s/.nfs4r-hold", s->data);
	expect_links(s, 4); /* itself, ".", a, b */
	assert_true(nfs4r_may_hide(s->eng, &root));
	assert_false(nfs4r_may_hide(s->eng, &a));
	in.oid = f;
	in.handle_len = e->handle_len;
	memcpy(in.handle, e->handle, e->handle_len);
	assert_int_equal(nfs4r_store_install(s->eng->store, &in), NFS4R_OK);
	nfs4r_entry_put(e);

	e = nfs4r_entry_new(); /* a/x -> b/y */
	name(part(e, &a, NFS4R_EFF_NAMES), "x", NULL);
	name(part(e, &b, NFS4R_EFF_NAMES), "y", &f);
	part(e, &f, NFS4R_EFF_PARENT);
	apply(s, e, 2 | 4);
	expect_shell("the later one", "cat %s/a/x", s->data);
	expect_shell(".\n..\na\nb\n", "ls -a %s", s->data);
	expect_shell("y\n", "ls %s/b", s->data);
	nfs4r_entry_put(e);

	e = nfs4r_entry_new(); /* b/y is removed; b is as if it had never had it */
	name(part(e, &b, NFS4R_EFF_NAMES), "y", NULL);
	part(e, &f, NFS4R_EFF_LINKS);
	apply(s, e, 2);
	expect_shell("", "ls %s/b", s->data);
	expect_shell(".\n..\na\nb\n", "ls -a %s", s->data);
	expect_links(s, 4);
	replicate_staging_tidy(s->eng);
	assert_false(nfs4r_may_hide(s->eng, &root));
	expect_links(s, 4);
	nfs4r_entry_put(e);
	forget(s, &f);
}

/* The directory of a file's other name is newer, and that name has gone there: the one that goes now is the last that is here. */
static void the_last_place_is_kept(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid root = site_root(s), a = make(s, NFS4R_OP_MKDIR, &root, "a"), b = make(s, NFS4R_OP_MKDIR, &root, "b");
	struct nfs4r_oid f = make_file(s, &a, "one", "of two names"), g = make_file(s, &a, "other", "other");
	struct nfs4r_entry *e = nfs4r_entry_new();

	cluster_settle(c);
	name(part(e, &a, NFS4R_EFF_NAMES), "one", NULL); /* a/one is removed */
	part(e, &f, NFS4R_EFF_LINKS)->nlink = 1;
	apply(s, e, 1 | 2);
	expect_shell("other\n", "ls %s/a", s->data);
	expect_shell("of two names", "cat %s/.nfs4r-hold/*", s->data);
	nfs4r_entry_put(e);

	e = nfs4r_entry_new(); /* b/two is made */
	name(part(e, &b, NFS4R_EFF_NAMES), "two", &f);
	part(e, &f, NFS4R_EFF_LINKS)->nlink = 2;
	apply(s, e, 1 | 2);
	expect_shell("of two names", "cat %s/b/two", s->data);
	expect_shell(".\n..\na\nb\n", "ls -a %s", s->data);
	nfs4r_entry_put(e);

	e = nfs4r_entry_new(); /* a/other -> b/two */
	name(part(e, &a, NFS4R_EFF_NAMES), "other", NULL);
	name(part(e, &b, NFS4R_EFF_NAMES), "two", &g);
	part(e, &g, NFS4R_EFF_PARENT);
	part(e, &f, NFS4R_EFF_LINKS)->nlink = 1;
	apply(s, e, 1 | 2 | 4 | 8);
	expect_shell("other", "cat %s/b/two", s->data);
	expect_shell("of two names", "cat %s/.nfs4r-hold/*", s->data);
	nfs4r_entry_put(e);

	e = nfs4r_entry_new(); /* its last name goes where nothing of it is */
	name(part(e, &a, NFS4R_EFF_NAMES), "three", NULL);
	part(e, &f, NFS4R_EFF_LINKS);
	apply(s, e, 2);
	expect_shell(".\n..\na\nb\n", "ls -a %s", s->data);
	nfs4r_entry_put(e);
	forget(s, &f);
}

/* A directory's row and names as a repair installs them. */
static void install_names(struct site *s, const struct nfs4r_oid *dir, const struct nfs4r_oid *parent, nfs4r_version version, const char *one, const struct nfs4r_oid *f)
{
	struct nfs4r_dirent d = { .cookie = 5, .type = NFS4R_TYPE_FILE };
	struct nfs4r_install in = { .oid = *dir, .row = { .version = version, .type = NFS4R_TYPE_DIR, .nlink = 2, .nparents = 1 }, .names = &d };
	struct nfs4r_lhandle h;

	if (one) {
		d.oid = *f;
		assert_true(nfs4r_name_set(&d.name, one, strlen(one)));
		in.nnames = 1;
	}
	nfs4r_handle(s->eng, dir, &h);
	in.handle_len = h.len;
	memcpy(in.handle, h.b, h.len);
	in.row.parents[0] = *parent;
	in.row.parent_names[0] = 1;
	pthread_mutex_lock(&s->eng->lock);
	assert_int_equal(nfs4r_store_install(s->eng->store, &in), NFS4R_OK);
	pthread_mutex_unlock(&s->eng->lock);
}

/*
 * a/x -> b/y -> c/z, and c/z is removed. The file came with a repair, and is newer than the first two: of these only b applies, and the last one, of another log,
 * comes between them.
 */
static void a_file_dies_before_its_old_name_goes(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid root = site_root(s), b = make(s, NFS4R_OP_MKDIR, &root, "b"), dir = make(s, NFS4R_OP_MKDIR, &root, "c");
	struct nfs4r_oid a = make(s, NFS4R_OP_MKDIR, &root, "a"), f = make_file(s, &dir, "z", "moved on");
	struct nfs4r_entry *e = nfs4r_entry_new();

	cluster_settle(c);
	name(part(e, &a, NFS4R_EFF_NAMES), "x", NULL);
	name(part(e, &b, NFS4R_EFF_NAMES), "y", &f);
	part(e, &f, NFS4R_EFF_PARENT);
	apply(s, e, 2);
	install_names(s, &b, &root, 1, "y", &f);
	nfs4r_entry_put(e);

	e = nfs4r_entry_new();
	name(part(e, &dir, NFS4R_EFF_NAMES), "z", NULL);
	part(e, &f, NFS4R_EFF_LINKS);
	apply(s, e, 1 | 2);
	forget(s, &f);
	nfs4r_entry_put(e);

	e = nfs4r_entry_new();
	name(part(e, &b, NFS4R_EFF_NAMES), "y", NULL);
	name(part(e, &dir, NFS4R_EFF_NAMES), "z", &f);
	part(e, &f, NFS4R_EFF_PARENT);
	apply(s, e, 1);
	expect_shell("a\nb\nc\n", "find %s -mindepth 1 -printf '%%P\\n' | sort", s->data);
	nfs4r_entry_put(e);
}

/* The directory that a file is made in is newer, and has it: after a crash it lies there already. */
static void a_file_that_was_given_its_name_is_made_once(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid root = site_root(s), a = make(s, NFS4R_OP_MKDIR, &root, "a"), f;
	struct nfs4r_entry *e = nfs4r_entry_new();

	cluster_settle(c);
	nfs4r_oid_make(&f, 1, 1, 777777);
	install_names(s, &a, &root, 1, "x", &f);
	struct nfs4r_part *p = part(e, &f, NFS4R_EFF_CREATE);
	p->attrs.mask = NFS4R_ATTR_TYPE | NFS4R_ATTR_MODE;
	p->attrs.type = NFS4R_TYPE_FILE;
	p->attrs.mode = 0600;
	name(part(e, &a, NFS4R_EFF_NAMES), "x", &f);
	assert_int_equal(replicate_apply_entry(s->eng, e, 1, false), NFS4R_OK);
	e->handle_len = 0;
	assert_int_equal(replicate_apply_entry(s->eng, e, 1, false), NFS4R_OK);
	expect_shell("a\na/x\n", "find %s -mindepth 1 -printf '%%P\\n' | sort", s->data);
	nfs4r_entry_put(e);
}

static bool is_here(struct site *s, const struct nfs4r_oid *oid)
{
	return nfs4r_store_row(s->eng->store, oid, NULL) == NFS4R_KNOWN;
}

/* What the store says of a directory and what is in it locally are the same only while nobody changes it. */
static void names_are_changed_one_after_the_other(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid root = site_root(s), a = make(&c->site[1], NFS4R_OP_MKDIR, &root, "a"), f = make_file(&c->site[1], &a, "f", "f"), g;
	struct op_locks own = { .n = 1, .want = { { .oid = a, .whole = true } } };

	cluster_settle(c);
	engine_locks_take(s->eng->runtime.locks, &own);
	g = make_file(&c->site[1], &a, "g", "g"); /* all parts apply */
	pause_ms(300);
	assert_false(is_here(s, &g));
	engine_locks_drop(s->eng->runtime.locks, &own);
	cluster_settle(c);

	struct nfs4r_row row;
	assert_int_equal(nfs4r_store_row(s->eng->store, &a, &row), NFS4R_KNOWN);
	install_names(s, &a, &root, row.version + 1000, "g", &g);
	engine_locks_take(s->eng->runtime.locks, &own);
	assert_int_equal(site_remove(&c->site[1], &a, "f"), NFS4R_OK); /* the directory is newer here */
	pause_ms(300);
	assert_true(is_here(s, &f));
	engine_locks_drop(s->eng->runtime.locks, &own);
	for (int i = 0; i < 500 && is_here(s, &f); i++)
		pause_ms(10);
	assert_false(is_here(s, &f));
}

/* ---- attempts that end early ---- */

static bool is_held(struct site *s)
{
	char out[8];

	shell(out, sizeof(out), "ls -A %s/.nfs4r-hold 2>/dev/null | head -c 1", s->data);
	return out[0];
}

static struct nfs4r_oid without_file(struct cluster *c, struct site *s, unsigned mib)
{
	struct nfs4r_oid root = site_root(s), f = make_file(&c->site[1], &root, "f", "f");
	static char bytes[1 << 20] = "much";

	for (unsigned i = 0; i < mib; i++)
		assert_int_equal(site_write(&c->site[1], &f, (uint64_t)i << 20, bytes, sizeof(bytes)), NFS4R_OK);
	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	cluster_settle(c);
	expect_shell("", "rm %s/f", s->data);
	forget(s, &f);
	return f;
}

static void a_repair_that_is_broken_off_leaves_nothing(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid root = site_root(s);
	bool held = false;

	without_file(c, s, 200);
	repair_begin(s, 1);
	for (int i = 0; i < 2000 && !held; i++) {
		pause_ms(1);
		held = is_held(s);
	}
	assert_true(held);
	pthread_mutex_lock(&s->eng->lock);
	s->eng->resync.repair.generation++; /* as if another one took its place */
	pthread_mutex_unlock(&s->eng->lock);
	assert_int_equal(site_remove(&c->site[1], &root, "f"), NFS4R_OK);
	for (int i = 0; i < 500 && is_held(s); i++)
		pause_ms(10);
	assert_false(is_held(s));
	repair_all(s, 1);
	cluster_settle(c);
	expect_shell("", "ls -A %s", s->data);
}

static void wait_no_name(struct site *s, const struct nfs4r_oid *dir, const char *text)
{
	struct nfs4r_dirent ent;
	struct nfs4r_name n;

	assert_true(nfs4r_name_set(&n, text, strlen(text)));
	for (int i = 0; i < 1000 && nfs4r_store_lookup(s->eng->store, dir, &n, &ent); i++)
		pause_ms(10);
	assert_false(nfs4r_store_lookup(s->eng->store, dir, &n, &ent));
}

/* As above, but the process died: what it had begun to make is found by the next attempt only. What has other names there is for people. */
static void what_a_crash_left_aside_goes(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid root = site_root(s);
	char oid[NFS4R_OID_STRLEN];
	struct nfs4r_oid f = without_file(c, s, 1);

	assert_int_equal(site_remove(&c->site[1], &root, "f"), NFS4R_OK);
	wait_no_name(s, &root, "f"); /* an empty hidden directory would go with that */
	must_shell("mkdir %s/.nfs4r-hold && echo half >%s/.nfs4r-hold/%s && echo mine >%s/.nfs4r-hold/stray.1", s->data, s->data, nfs4r_oid_str(&f, oid), s->data);
	repair_all(s, 1);
	cluster_settle(c);
	expect_shell(".nfs4r-hold\n.nfs4r-hold/stray.1\n", "find %s -mindepth 1 -printf '%%P\\n' | sort", s->data);
	expect_shell("", "rm -r %s/.nfs4r-hold", s->data);
}

/* What is not the volume's stays where it is until something of the volume needs the place, and is kept then. */
static void strangers_make_way(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid root = site_root(s), a = make(s, NFS4R_OP_MKDIR, &root, "a"), f = make_file(s, &a, "f", "f");
	struct nfs4r_lhandle dirh, h;

	cluster_settle(c);
	expect_shell("", "echo mine >%s/a/stranger", s->data);
	nfs4r_handle(s->eng, &a, &dirh);
	nfs4r_handle(s->eng, &f, &h);
	assert_int_equal(replicate_staging_clear(s->eng, &dirh, "stranger", NULL), NFS4R_OK);
	expect_shell("mine\n", "cat %s/a/stranger", s->data);
	assert_int_equal(replicate_staging_clear(s->eng, &dirh, "stranger", &h), NFS4R_OK);
	site_says(s, "'/a/stranger' is in the exported directory and not in the volume: moved to .nfs4r-hold/stray.1", 1);
	expect_shell("f\nmine\n", "ls %s/a; cat %s/.nfs4r-hold/stray.1", s->data, s->data);
}

#define T(name) cmocka_unit_test_setup_teardown(name, cluster_setup, cluster_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_copy_is_made_anew),
		T(entries_apply_in_part),
		T(the_last_place_is_kept),
		T(a_file_dies_before_its_old_name_goes),
		T(a_file_that_was_given_its_name_is_made_once),
		T(names_are_changed_one_after_the_other),
		T(a_repair_that_is_broken_off_leaves_nothing),
		T(what_a_crash_left_aside_goes),
		T(strangers_make_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
