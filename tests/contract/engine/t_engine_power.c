/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Machines that lose power (log 4.6): the exported directories and the journals go back to what was synced, which is not of one moment. Afterwards the copies are
 * equal, and what a COMMIT was answered for is there.
 */
#include "lib/unit.h"
#include <stdio.h>
#include <stdlib.h>

#include "ask.h"
#include "engine/resync/resync_int.h"
#include "engine/engine_int.h"
#include "machine.h"
#include "steps.h"

#define EVERYBODY (NFS4R_BIT(1) | NFS4R_BIT(2) | NFS4R_BIT(3))
#define NEVER_MS 600000

static int begin(void **state, uint32_t idle_ms, uint32_t checkpoint_ms)
{
	struct cluster *c = cluster_new();

	c->machines = true;
	c->lease_ms = 0; /* nobody is removed: what is shown here has nothing to do with views */
	c->idle_ms = idle_ms;
	c->checkpoint_ms = checkpoint_ms;
	return cluster_begin(c, state);
}

static int setup(void **state)
{
	return begin(state, 100, 300);
}

/* Checkpoints are taken only when a test says so, and controls stay where they are. */
static int setup_still(void **state)
{
	return begin(state, NEVER_MS, NEVER_MS);
}

static void checkpoint(struct site *s)
{
	assert_int_equal(engine_checkpoint_now(s->eng), NFS4R_OK);
}

static void sync_journal(struct site *s)
{
	assert_int_equal(nfs4r_store_sync(s->eng->store, nfs4r_store_position(s->eng->store)), NFS4R_OK);
}

static uint64_t checkpoints(struct site *s)
{
	struct nfs4r_store_stats st;

	nfs4r_store_get_stats(s->eng->store, &st);
	return st.checkpoints;
}

static void start(struct cluster *c, nfs4r_servers which)
{
	for (int i = 1; i <= SITES; i++)
		if (which & NFS4R_BIT(i))
			cluster_start(c, i);
}

static void set_size(struct site *s, const struct nfs4r_oid *f, uint64_t size)
{
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_SIZE, .size = size };

	assert_int_equal(site_setattr(s, f, &a), NFS4R_OK);
}

static void expect_everywhere(struct cluster *c, const struct nfs4r_oid *f, const char *want)
{
	for (int i = 1; i <= SITES; i++)
		expect_content(&c->site[i], f, want);
}

/* All is settled: the copies are equal, also as the servers compare them, and nothing of the volume is in the hidden directory. */
static void expect_equal(struct cluster *c)
{
	cluster_settle(c);
	cluster_verify_equal(c, 1);
}

/* ---- one after the other ---- */

struct tree {
	struct nfs4r_oid dir, sub, over, cut, moved, gone;
};

/* Everywhere, and synced. */
static void plant(struct cluster *c, struct tree *t)
{
	struct nfs4r_oid root = site_root(&c->site[1]);
	struct site *s = &c->site[1];

	t->dir = make(s, NFS4R_OP_MKDIR, &root, "dir");
	t->sub = make(s, NFS4R_OP_MKDIR, &t->dir, "sub");
	t->over = make_file(s, &t->dir, "over", "as it was");
	t->cut = make_file(s, &t->dir, "cut", "a file that will be shorter");
	t->moved = make_file(s, &t->dir, "moved", "moved");
	t->gone = make_file(s, &t->dir, "gone", "gone");
	cluster_settle(c);
	for (int i = 1; i <= SITES; i++)
		checkpoint(&c->site[i]);
}

static void change(struct site *s, const struct tree *t)
{
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_SIZE | NFS4R_ATTR_MODE, .size = 6, .mode = 0600 };

	write_text(s, &t->over, "AS IT IS, and longer");
	assert_int_equal(site_setattr(s, &t->cut, &a), NFS4R_OK);
	assert_int_equal(site_rename(s, &t->dir, "moved", &t->sub, "moved-in"), NFS4R_OK);
	assert_int_equal(site_remove(s, &t->dir, "gone"), NFS4R_OK);
	make_file(s, &t->dir, "new", "new");
	assert_int_equal(site_link(s, &t->over, &t->sub, "second"), NFS4R_OK);
	assert_int_equal(site_rename(s, &t->dir, "sub", &t->dir, "sub2"), NFS4R_OK);
}

/*
 * The journal says that a server has it all, and its directory is as it was at the last checkpoint: each version is right, so nothing else than the settling
 * (crash_check.c) can find that the content is not.
 */
static void what_the_directory_forgot_comes_back(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct tree t;
	uint64_t taken;

	plant(c, &t);
	taken = checkpoints(s);
	change(&c->site[1], &t);
	cluster_settle(c);
	sync_journal(s);
	assert_int_equal(checkpoints(s), taken);
	cluster_lose_power(c, NFS4R_BIT(3), 0);
	expect_shell("cut\ngone\nmoved\nover\nsub\nas it was", "cd %s/dir && ls && cat over", s->data);
	cluster_start(c, 3);
	site_says(s, "the machine had crashed", 10);
	expect_equal(c);
	expect_content(s, &t.over, "AS IT IS, and longer");
	expect_shell("cut\nnew\nover\nsub2\nmoved-in\nsecond\nAS IT IS, and longer", "cd %s/dir && ls && ls sub2 && cat over", s->data);
}

static struct {
	struct site *s;
	pthread_t starter;
	_Atomic uint32_t calls; /* of other threads */
	enum nfs4r_status (*getattr)(void *ctx, const struct nfs4r_lhandle *obj, struct nfs4r_attrs *out);
} early;

static enum nfs4r_status getattr_counted(void *ctx, const struct nfs4r_lhandle *obj, struct nfs4r_attrs *out)
{
	early.calls += ctx == early.s->ops && !pthread_equal(pthread_self(), early.starter);
	return early.getattr(ctx, obj, out);
}

/* Who starts it waits for its threads then, and what those would call waits for the start (FSAL_REPL/context.c). */
static void a_start_that_fails_settles_nothing(void **state)
{
	struct nfs4r_lops *table = (struct nfs4r_lops *)(uintptr_t)power_table();
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct tree t;
	char why[NFS4R_WHY];

	plant(c, &t);
	change(&c->site[1], &t);
	cluster_settle(c);
	sync_journal(s);
	cluster_lose_power(c, NFS4R_BIT(3), 0);
	must_shell("rm -f %s/ctl3 && mkdir %s/ctl3", c->dir, c->dir);
	early.s = s;
	early.starter = pthread_self();
	early.calls = 0;
	early.getattr = table->getattr;
	table->getattr = getattr_counted;
	for (int i = 0; i < 10; i++) /* a thread that does not wait may come too late to be seen */
		assert_int_equal(cluster_try_start(c, 3, why), NFS4R_BADCONFIG);
	table->getattr = early.getattr;
	assert_int_equal(early.calls, 0);
	must_shell("rmdir %s/ctl3", c->dir);
	cluster_start(c, 3);
	site_says(s, "nothing is in doubt any more", 10);
	expect_equal(c);
}

/* The directory has it and the journal does not; with what was forgotten of the journal the entries come again. */
static void what_the_journal_forgot_comes_back(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct tree t;

	plant(c, &t);
	change(&c->site[1], &t);
	cluster_settle(c);
	assert_int_equal(s->eng->ops->sync_all(s->eng->ctx), 0);
	cluster_lose_power(c, NFS4R_BIT(3), 0);
	cluster_start(c, 3);
	site_says(s, "nothing is in doubt any more", 10);
	expect_equal(c);
	expect_content(s, &t.over, "AS IT IS, and longer");
}

/* All at once. Nobody is without doubt; who answered the COMMIT has the bytes, whatever became of the others. */
static void a_commit_survives_a_loss_of_power_everywhere(void **state)
{
	struct cluster *c = *state;
	struct tree t;

	plant(c, &t);
	change(&c->site[1], &t);
	assert_int_equal(site_commit(&c->site[1], &t.over), NFS4R_OK);
	cluster_settle(c);
	for (int i = 1; i <= SITES; i++)
		sync_journal(&c->site[i]);
	cluster_lose_power(c, EVERYBODY, 0);
	expect_shell("as it wasas it was", "cat %s/dir/over %s/dir/over", c->site[2].data, c->site[3].data);
	start(c, EVERYBODY);
	expect_equal(c);
	expect_everywhere(c, &t.over, "AS IT IS, and longer");
}

/*
 * Log 4.3: a server's entries are told as stable when files and journal are synced. Power is lost everywhere before LMDB is written, so all are in doubt; the first one, whose
 * updates they were, had synced nothing but what a COMMIT asked for.
 */
static void what_is_stable_survives_without_lmdb(void **state)
{
	struct cluster *c = *state;
	struct tree t;

	plant(c, &t);
	change(&c->site[1], &t);
	cluster_settle(c);
	for (int i = 2; i <= SITES; i++) {
		assert_int_equal(c->site[i].eng->ops->sync_all(c->site[i].eng->ctx), 0);
		sync_journal(&c->site[i]);
	}
	assert_int_equal(site_commit(&c->site[1], &t.over), NFS4R_OK);
	cluster_lose_power(c, EVERYBODY, 0);
	expect_shell("AS IT IS, and longerAS IT IS, and longer", "cat %s/dir/over %s/dir/over", c->site[2].data, c->site[3].data);
	start(c, EVERYBODY);
	expect_equal(c);
	expect_everywhere(c, &t.over, "AS IT IS, and longer");
	expect_shell("cut\nnew\nover\nsub2\nmoved-in\nsecond\nAS IT IS, and longer", "cd %s/dir && ls && ls sub2 && cat over", c->site[2].data);
}

static void until_as_new(struct site *s, struct site *as, const struct nfs4r_oid *oid)
{
	struct nfs4r_row want, got = { 0 };

	assert_int_equal(nfs4r_store_row(as->eng->store, oid, &want), NFS4R_KNOWN);
	for (int i = 0; i < 500 && got.version != want.version; i++) {
		pause_ms(10);
		nfs4r_store_row(s->eng->store, oid, &got);
	}
	assert_int_equal(got.version, want.version);
}

/*
 * Log 4.6: the newest version is in the journal of a server that has nothing of it in its file, nor of the one before, which the COMMIT was answered for. @older: server 3
 * lost nothing and has the file as it was before both.
 */
static void commit_and_a_newer_update(struct cluster *c, bool older)
{
	struct site *p = &c->site[1];
	struct tree t;

	plant(c, &t);
	if (older)
		cluster_stop(c, 3);
	write_text(p, &t.over, "AS IT IS, and longer");
	assert_int_equal(site_commit(p, &t.over), NFS4R_OK);
	set_size(p, &t.over, 22);
	if (!older)
		cluster_settle(c);
	until_as_new(&c->site[2], p, &t.over);
	sync_journal(&c->site[2]);
	cluster_lose_power(c, older ? NFS4R_BIT(1) | NFS4R_BIT(2) : EVERYBODY, 0);
	expect_shell("as it was", "cat %s/dir/over", c->site[2].data);
	start(c, EVERYBODY);
	expect_equal(c);
	for (int i = 1; i <= SITES; i++)
		expect_shell("22\nAS IT IS, and longer", "cd %s/dir && stat -c %%s over && head -c 20 over", c->site[i].data);
}

static void a_commit_survives_a_newer_update_elsewhere(void **state)
{
	commit_and_a_newer_update(*state, false);
}

static void a_commit_survives_a_newer_update_and_an_older_copy(void **state)
{
	commit_and_a_newer_update(*state, true);
}

/* ---- what the journal keeps (log 4.10) ---- */

static void write_stable(struct site *s, const struct nfs4r_oid *f, uint64_t off, const char *text)
{
	assert_int_equal(site_write_stable(s, f, off, text, (uint32_t)strlen(text)), NFS4R_OK);
}

/* Everywhere, with nothing on the disks but what was synced. */
static void lose_everything(struct cluster *c)
{
	cluster_settle(c);
	cluster_lose_power(c, EVERYBODY, 0);
	start(c, EVERYBODY);
	expect_equal(c);
}

/* A small file that was never synced itself, not even its name is there: its bytes come from the journal, and so do its name and mode. */
static void a_small_file_survives_in_the_journal(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_attrs mode = { .mask = NFS4R_ATTR_MODE, .mode = 0604 };
	struct nfs4r_oid dir, f;
	struct tree t;

	plant(c, &t);
	dir = make(&c->site[1], NFS4R_OP_MKDIR, &t.dir, "made");
	f = make(&c->site[1], NFS4R_OP_CREATE, &dir, "f");
	assert_int_equal(site_setattr(&c->site[1], &f, &mode), NFS4R_OK);
	write_stable(&c->site[1], &f, 0, "as closed");
	write_stable(&c->site[1], &t.over, 3, "IT WAS"); /* an older one */
	cluster_settle(c);
	cluster_lose_power(c, EVERYBODY, 0);
	expect_shell("as it was0\n", "cd %s/dir && cat over && find . -name f | wc -l", c->site[1].data);
	start(c, EVERYBODY);
	expect_equal(c);
	expect_everywhere(c, &f, "as closed");
	expect_everywhere(c, &t.over, "as IT WAS");
	for (int i = 1; i <= SITES; i++)
		expect_shell("604\nas closed", "cd %s/dir/made && stat -c %%a f && cat f", c->site[i].data);
}

/* Of a WRITE that another server forwarded, too. */
static void a_forwarded_one_survives_in_the_journal(void **state)
{
	struct cluster *c = *state;
	struct tree t;

	plant(c, &t);
	nfs4r_opened(c->site[1].eng, &t.over);
	write_text(&c->site[1], &t.over, "control stays here");
	assert_int_equal(site_commit(&c->site[1], &t.over), NFS4R_OK);
	write_stable(&c->site[2], &t.over, 0, "CONTROL");
	lose_everything(c);
	expect_everywhere(c, &t.over, "CONTROL stays here");
}

/* What comes after it, and a COMMIT was answered for, is not written over. */
static void what_came_after_what_is_kept_stays(void **state)
{
	struct cluster *c = *state;
	struct tree t;

	plant(c, &t);
	write_stable(&c->site[1], &t.over, 0, "kept");
	write_text(&c->site[1], &t.over, "as of late");
	assert_int_equal(site_commit(&c->site[1], &t.over), NFS4R_OK);
	lose_everything(c);
	expect_everywhere(c, &t.over, "as of late");
	write_stable(&c->site[1], &t.over, 0, "AS");
	write_stable(&c->site[1], &t.over, 1, "s");
	lose_everything(c);
	expect_everywhere(c, &t.over, "As of late");
}

/* From there on the file must have it, since the journal's bytes count no more. */
static void what_is_kept_is_synced_before_it_is_changed(void **state)
{
	struct cluster *c = *state;
	struct tree t;

	plant(c, &t);
	write_stable(&c->site[1], &t.over, 0, "kept");
	assert_int_equal(site_write(&c->site[1], &t.over, 9, ", and lost", 10), NFS4R_OK);
	sync_journal(&c->site[1]);
	cluster_lose_power(c, EVERYBODY, 0);
	expect_shell("keptt was", "head -c 9 %s/dir/over", c->site[1].data);
	start(c, EVERYBODY);
	expect_equal(c);
	write_stable(&c->site[1], &t.cut, 0, "KEPT");
	set_size(&c->site[1], &t.cut, 30);
	sync_journal(&c->site[1]);
	cluster_lose_power(c, EVERYBODY, 0);
	expect_shell("KEPTle", "head -c 6 %s/dir/cut", c->site[1].data);
	start(c, EVERYBODY);
	expect_equal(c);
}

/* What an update of another server does before it changes a file whose bytes are in the journal only. */
static void what_is_kept_is_synced_before_another_changes_it(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[1];
	struct nfs4r_entry *e = nfs4r_entry_new();
	struct nfs4r_row row;
	struct tree t;

	plant(c, &t);
	write_stable(s, &t.over, 0, "kept");
	assert_int_equal(nfs4r_store_row(s->eng->store, &t.over, &row), NFS4R_KNOWN);
	e->nparts = 1;
	e->parts[0] = (struct nfs4r_part){ .oid = t.over, .before = row.version, .after = row.version + 1, .effect = NFS4R_EFF_WRITE, .off = 9, .len = 4 };
	assert_int_equal(engine_sync_inline(s->eng, e), NFS4R_OK);
	nfs4r_entry_put(e);
	cluster_lose_power(c, EVERYBODY, 0);
	expect_shell("keptt was", "cat %s/dir/over", s->data);
	start(c, EVERYBODY);
	expect_equal(c);
	expect_everywhere(c, &t.over, "keptt was");
}

/* The process ends amid an update of a file whose bytes are in the journal only: whether it was executed is decided by doing it again. */
static void what_is_kept_is_synced_before_an_update_is_done_again(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[1];
	struct nfs4r_entry *e = nfs4r_entry_new();
	nfs4r_journal_pos sync_first;
	struct nfs4r_row row;
	struct tree t;

	plant(c, &t);
	write_stable(s, &t.over, 0, "kept");
	cluster_settle(c);
	assert_int_equal(nfs4r_store_row(s->eng->store, &t.over, &row), NFS4R_KNOWN);
	e->log = 1;
	e->lsn = nfs4r_core_own_end(s->eng->core) + 1;
	e->op = NFS4R_OP_WRITE;
	e->has_payload = true;
	e->nparts = 1;
	e->parts[0] = (struct nfs4r_part){ .oid = t.over, .before = row.version, .after = row.version + 1, .effect = NFS4R_EFF_WRITE, .off = 5, .len = 4 };
	assert_int_equal(nfs4r_store_intent(s->eng->store, e, &sync_first), NFS4R_OK);
	nfs4r_entry_put(e);
	cluster_kill(c, 1);
	cluster_start(c, 1);
	site_says(s, "it had been executed", 10);
	cluster_settle(c);
	sync_journal(s);
	cluster_lose_power(c, NFS4R_BIT(1), 0);
	expect_shell("keptt was", "cat %s/dir/over", s->data);
	cluster_start(c, 1);
	expect_equal(c);
	expect_everywhere(c, &t.over, "keptt was");
}

/* The disk of @s has the bytes of @f, whatever its journal has. */
static void sync_file(struct site *s, const struct nfs4r_oid *f)
{
	struct nfs4r_lhandle h;

	nfs4r_handle(s->eng, f, &h);
	assert_int_equal(s->eng->ops->commit(s->eng->ctx, &h), NFS4R_OK);
}

/* Server 3 is alone from here on, and goes on with what it controls: a directory that it made. */
static struct nfs4r_oid dir_of_one(struct cluster *c)
{
	struct nfs4r_oid root = site_root(&c->site[3]);

	return make(&c->site[3], NFS4R_OP_MKDIR, &root, "dir");
}

static void leave_alone(struct cluster *c)
{
	cluster_settle(c);
	for (int i = 1; i <= SITES; i++)
		checkpoint(&c->site[i]);
	cluster_stop(c, 1);
	cluster_stop(c, 2);
}

static void set_mode(struct site *s, const struct nfs4r_oid *f, uint32_t mode)
{
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_MODE, .mode = mode };

	assert_int_equal(site_setattr(s, f, &a), NFS4R_OK);
}

static void expect_xattr(struct site *s, const struct nfs4r_oid *f, const char *name, const char *want)
{
	struct nfs4r_lhandle h;
	char got[64] = "", full[300];
	uint32_t len = sizeof(got) - 1;
	enum nfs4r_status st;

	nfs4r_handle(s->eng, f, &h);
	snprintf(full, sizeof(full), "user.%s", name);
	st = s->eng->ops->getxattr(s->eng->ctx, &h, full, got, &len);
	assert_int_equal(st, want ? NFS4R_OK : NFS4R_NOXATTR);
	assert_string_equal(got, want ? want : "");
}

/*
 * A new file, and only one server has it: the bytes of a WRITE whose entry is lost are on its disk, and attributes. Nobody can tell the others of them, so they go. The
 * file may be older than the last checkpoint of that server.
 */
static void lose_entries_of_one(struct cluster *c, bool old)
{
	struct site *s = &c->site[3];
	struct nfs4r_oid dir = dir_of_one(c), told, empty;
	char got[20], want[20] = { 0 };
	uint32_t len = sizeof(got);

	leave_alone(c);
	told = make(s, NFS4R_OP_CREATE, &dir, "told");
	empty = make(s, NFS4R_OP_CREATE, &dir, "empty");
	assert_int_equal(site_write(s, &told, 10, "told", 4), NFS4R_OK);
	if (old) {
		checkpoint(s);
		assert_int_equal(site_write(s, &told, 12, "ld", 2), NFS4R_OK); /* marks, which are synced */
		set_size(s, &empty, 0);
	}
	assert_int_equal(site_setxattr(s, &told, "told", "told"), NFS4R_OK);
	set_mode(s, &told, 0604);
	sync_journal(s);
	assert_int_equal(site_setxattr(s, &told, "lost", "lost"), NFS4R_OK);
	set_mode(s, &told, 0600);
	set_mode(s, &empty, 0600);
	write_text(s, &told, "lost");
	assert_int_equal(site_write(s, &told, 14, "lost", 4), NFS4R_OK);
	write_text(s, &empty, "lost");
	sync_file(s, &told);
	sync_file(s, &empty);
	cluster_lose_power(c, NFS4R_BIT(3), 0);
	expect_shell("losttoldlostlost", "cd %s/dir && cat told empty | tr -d '\\0'", s->data);
	start(c, EVERYBODY);
	expect_equal(c);
	memcpy(want + 10, "told", 4);
	assert_int_equal(site_read(s, &told, 0, got, &len), NFS4R_OK);
	assert_int_equal(len, 14);
	assert_memory_equal(got, want, 14);
	expect_content(s, &empty, "");
	expect_xattr(s, &told, "told", "told");
	expect_xattr(s, &told, "lost", NULL);
	expect_shell("604\n640\n", "stat -c %%a %s/dir/told %s/dir/empty", s->data, s->data);
}

static void bytes_without_an_entry_are_nowhere(void **state)
{
	lose_entries_of_one(*state, false);
}

static void bytes_without_an_entry_in_an_older_file(void **state)
{
	lose_entries_of_one(*state, true);
}

/*
 * The others get from a WRITE what this one's disk has of it: nothing, if its file ends before that. So it may not end somewhere between, where an update put the end that is lost, or that is older
 * than the ones in the journal.
 */
static void a_file_ends_where_entries_come_to(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid dir = dir_of_one(c), grown, cut, freed, allocated;

	leave_alone(c);
	grown = make_file(s, &dir, "grown", "0123");
	assert_int_equal(site_write(s, &grown, 76, "not here", 8), NFS4R_OK);
	cut = make_file(s, &dir, "cut", "a text that is cut, and then longer");
	freed = make_file(s, &dir, "freed", "of which the end is freed");
	assert_int_equal(site_punch(s, &freed, 13, 12), NFS4R_OK);
	allocated = make_file(s, &dir, "allocated", "a text");
	sync_file(s, &allocated);
	sync_file(s, &cut);
	sync_file(s, &freed);
	assert_int_equal(site_allocate(s, &allocated, 0, 100), NFS4R_OK);
	set_size(s, &cut, 6);
	assert_int_equal(site_write(s, &cut, 50, "not here", 8), NFS4R_OK);
	sync_journal(s);
	set_size(s, &grown, 51); /* is lost, but for the disk */
	sync_file(s, &grown);
	cluster_lose_power(c, NFS4R_BIT(3), 0);
	expect_shell("51 35 25 6\n", "cd %s/dir && echo $(stat -c %%s grown cut freed allocated)", s->data);
	start(c, EVERYBODY);
	expect_equal(c);
	expect_everywhere(c, &grown, "0123");
	expect_everywhere(c, &cut, "a text");
	for (int i = 1; i <= SITES; i++)
		expect_shell("25 100 of which the\n", "cd %s/dir && echo $(stat -c %%s freed allocated) $(head -c 13 freed)", c->site[i].data);
}

/* The others have the file as it was before; what the lost WRITE made longer is cut. */
static void bytes_without_an_entry_at_the_end(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid dir = dir_of_one(c), f = make_file(s, &dir, "f", "0123456789");

	leave_alone(c);
	write_text(s, &f, "abc");
	sync_journal(s);
	assert_int_equal(site_write(s, &f, 12, "lost", 4), NFS4R_OK);
	sync_file(s, &f);
	cluster_lose_power(c, NFS4R_BIT(3), 0);
	expect_shell("abc3456789lost", "tr -d '\\0' < %s/dir/f", s->data);
	start(c, EVERYBODY);
	expect_equal(c);
	expect_content(s, &f, "abc3456789");
}

/*
 * The others have the file as it was before; some of what came after is older than this server's last checkpoint, and so on its disk for good, and the rest is in doubt.
 */
static void what_a_checkpoint_covers_stays(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid dir = dir_of_one(c), f = make_file(s, &dir, "f", "0123456789");

	leave_alone(c);
	write_text(s, &f, "abc");
	set_mode(s, &f, 0640);
	checkpoint(s);
	assert_int_equal(site_write(s, &f, 5, "XY", 2), NFS4R_OK);
	assert_int_equal(site_commit(s, &f), NFS4R_OK);
	cluster_lose_power(c, NFS4R_BIT(3), 0);
	start(c, EVERYBODY);
	expect_equal(c);
	expect_content(s, &f, "abc34XY789");
	expect_shell("640\n", "stat -c %%a %s/dir/f", s->data);
}

/* So with extended attributes. Those that were removed may be on the disk again. */
static void newer_extended_attributes_stay(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid dir = dir_of_one(c), f = make_file(s, &dir, "f", "0123456789");

	assert_int_equal(site_setxattr(s, &f, "old", "as it was"), NFS4R_OK);
	assert_int_equal(site_setxattr(s, &f, "gone", "as it was"), NFS4R_OK);
	assert_int_equal(site_setxattr(s, &f, "same", "as it was"), NFS4R_OK);
	leave_alone(c);
	assert_int_equal(site_setxattr(s, &f, "old", "as it is"), NFS4R_OK);
	assert_int_equal(site_setxattr(s, &f, "new", "as it is"), NFS4R_OK);
	checkpoint(s);
	write_text(s, &f, "abc");
	assert_int_equal(site_setxattr(s, &f, "gone", NULL), NFS4R_OK);
	sync_journal(s);
	cluster_lose_power(c, NFS4R_BIT(3), 0);
	start(c, EVERYBODY);
	expect_equal(c);
	expect_xattr(s, &f, "old", "as it is");
	expect_xattr(s, &f, "new", "as it is");
	expect_xattr(s, &f, "gone", NULL);
	expect_xattr(s, &f, "same", "as it was");
}

/* A part that was freed and one that was cut are on the disk again: the journal has the entries, the directory does not. */
static void what_was_freed_and_cut_is_not_back(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[3];
	struct nfs4r_oid dir = dir_of_one(c), f = make_file(s, &dir, "f", "0123456789"), g;

	leave_alone(c);
	g = make_file(s, &dir, "g", "0123456789");
	checkpoint(s);
	for (int i = 0; i < 2; i++) {
		const struct nfs4r_oid *file = i ? &g : &f;

		assert_int_equal(site_punch(s, file, 1, 2), NFS4R_OK);
		set_size(s, file, 5);
		set_size(s, file, 8);
	}
	sync_journal(s);
	cluster_lose_power(c, NFS4R_BIT(3), 0);
	expect_shell("01234567890123456789", "cd %s/dir && cat f g", s->data);
	start(c, EVERYBODY);
	expect_equal(c);
	expect_shell("0..34...0..34...", "cd %s/dir && cat f g | tr '\\0' .", c->site[1].data);
}

/*
 * A mode that reached the disk, and its entry nobody (log 4.2). @grown: something was made in the directory before, which the journal has. One object each: the mark of a
 * second one would sync the entry of the first.
 */
static void lose_mode(struct cluster *c, bool file, bool grown)
{
	struct site *s = &c->site[3];
	struct nfs4r_oid dir = dir_of_one(c), f = file ? make_file(s, &dir, "f", "old") : make(s, NFS4R_OP_MKDIR, &dir, "f");

	leave_alone(c);
	if (grown) {
		make(s, NFS4R_OP_CREATE, &f, "new");
		sync_journal(s);
	}
	set_mode(s, &f, 0704);
	sync_file(s, &f);
	cluster_lose_power(c, NFS4R_BIT(3), 0);
	expect_shell("704\n", "stat -c %%a %s/dir/f", s->data);
	start(c, EVERYBODY);
	expect_equal(c);
	expect_shell(file ? "640\n" : "755\n", "stat -c %%a %s/dir/f", s->data);
}

static void a_mode_without_an_entry_is_nowhere(void **state)
{
	lose_mode(*state, true, false);
}

static void a_mode_without_an_entry_of_a_directory(void **state)
{
	lose_mode(*state, false, false);
}

static void a_mode_without_an_entry_of_a_directory_that_grew(void **state)
{
	lose_mode(*state, false, true);
}

/* The same at one that applied it: the owner's machine crashes, too, and has forgotten it, and nobody else ever heard of it. */
static void a_mode_that_was_applied_and_forgotten_is_nowhere(void **state)
{
	struct cluster *c = *state;
	struct site *p = &c->site[1], *r = &c->site[2];
	struct nfs4r_oid root = site_root(p), f = make_file(p, &root, "f", "old");

	cluster_settle(c);
	for (int i = 1; i <= SITES; i++)
		checkpoint(&c->site[i]);
	cluster_stop(c, 3);
	set_mode(p, &f, 0604);
	cluster_settle_of(c, NFS4R_BIT(1) | NFS4R_BIT(2));
	sync_file(r, &f);
	cluster_lose_power(c, NFS4R_BIT(1) | NFS4R_BIT(2), 0);
	expect_shell("640\n604\n", "stat -c %%a %s/f %s/f", p->data, r->data);
	start(c, EVERYBODY);
	expect_equal(c);
	expect_shell("640\n640\n", "stat -c %%a %s/f %s/f", p->data, r->data);
}

/* ---- a hole (log 4.7) ---- */

static void until_known(struct site *s, const struct nfs4r_oid *oid, enum nfs4r_known known)
{
	for (int i = 0; i < 500 && nfs4r_store_row(s->eng->store, oid, NULL) != known; i++)
		pause_ms(10);
	assert_int_equal(nfs4r_store_row(s->eng->store, oid, NULL), known);
}

/* What server 1 has for good of its own log, server 3 has heard of. */
static void until_heard(struct cluster *c)
{
	nfs4r_lsn end = nfs4r_core_own_end(c->site[1].eng->core);
	struct nfs4r_core_peer p = { 0 };

	for (int i = 0; i < 500 && p.peer_stable < end; i++) {
		pause_ms(10);
		pthread_mutex_lock(&c->site[3].eng->lock);
		nfs4r_core_get_peer(c->site[3].eng->core, 1, &p);
		pthread_mutex_unlock(&c->site[3].eng->lock);
	}
	assert_int_equal(p.peer_stable, end);
}

/* How server 3 ends amid updates of server 1. */
struct ending {
	bool stopped; /* and not killed */
	bool checkpoints; /* two of server 3 before that */
	bool lost; /* the machine of server 1 crashes meanwhile, and nobody else has the updates */
};

static void end_server_3(struct cluster *c, struct ending end)
{
	for (int i = 0; i < 2 && end.checkpoints; i++)
		checkpoint(&c->site[3]);
	if (end.stopped)
		cluster_stop(c, 3);
	else
		cluster_kill(c, 3);
}

/* Server 2 was stopped before. */
static void start_again(struct cluster *c, struct ending end)
{
	if (end.lost)
		cluster_lose_power(c, NFS4R_BIT(1), 0);
	for (int i = end.lost ? 1 : 2; i <= SITES; i++)
		cluster_start(c, i);
}

/* Server 3 has applied updates of server 1 and not one before them; then it ends. If they are lost, their numbers are given out again. */
static void updates_behind_a_hole(struct cluster *c, struct ending end)
{
	struct site *p = &c->site[1], *r = &c->site[3];
	struct nfs4r_oid root = site_root(p), a = make(p, NFS4R_OP_MKDIR, &root, "a"), b = make(p, NFS4R_OP_MKDIR, &root, "b");
	struct nfs4r_oid f = make_file(p, &a, "f", "as it was"), gone = make_file(p, &b, "gone", "gone"), made;

	cluster_settle(c);
	for (int i = 1; i <= SITES; i++)
		checkpoint(&c->site[i]);
	write_text(p, &f, "AS IT WAS"); /* marks, which are synced */
	make(p, NFS4R_OP_CREATE, &b, "before");
	cluster_settle(c);
	sync_journal(p);
	cluster_stop(c, 2);
	dirlops_fail_writes(r->ops, NFS4R_IO, 0, 1 << 20);
	write_text(p, &f, "AS IT IS");
	made = make(p, NFS4R_OP_CREATE, &b, "made");
	assert_int_equal(site_remove(p, &b, "gone"), NFS4R_OK);
	until_known(r, &made, NFS4R_KNOWN);
	until_known(r, &gone, NFS4R_DEAD);
	end_server_3(c, end);
	expect_shell("before\nmade\n", "cd %s/b && ls", r->data);
	start_again(c, end);
	site_says(r, "the server stopped while it applied updates of others", 10);
	if (end.lost) {
		site_says(p, "nothing is in doubt any more", 20);
		write_text(p, &f, "AS IT WILL BE");
		make(p, NFS4R_OP_CREATE, &b, "another");
	}
	expect_equal(c);
	expect_content(r, &f, end.lost ? "AS IT WILL BE" : "AS IT ISS");
	expect_shell(end.lost ? "another\nbefore\ngone\ngone" : "before\nmade\n", "cd %s/b && ls && (! test -e gone || cat gone)", r->data);
}

static void updates_behind_a_hole_come_again(void **state)
{
	updates_behind_a_hole(*state, (struct ending){ .lost = false });
}

static void updates_behind_a_hole_that_nobody_has_are_gone(void **state)
{
	updates_behind_a_hole(*state, (struct ending){ .lost = true });
}

static void updates_behind_a_hole_are_gone_after_a_stop(void **state)
{
	updates_behind_a_hole(*state, (struct ending){ .stopped = true, .lost = true });
}

static void updates_behind_a_hole_come_again_after_checkpoints(void **state)
{
	updates_behind_a_hole(*state, (struct ending){ .checkpoints = true });
}

static void updates_behind_a_hole_are_gone_after_checkpoints(void **state)
{
	updates_behind_a_hole(*state, (struct ending){ .checkpoints = true, .lost = true });
}

/* Nobody can lose them: LMDB has them, and nothing but what was being applied is in doubt after a crash of the process. */
static void updates_behind_a_hole_stay_when_their_owner_has_them(void **state)
{
	struct cluster *c = *state;
	struct site *p = &c->site[1], *r = &c->site[3];
	struct nfs4r_oid root = site_root(p), a = make(p, NFS4R_OP_MKDIR, &root, "a"), b = make(p, NFS4R_OP_MKDIR, &root, "b");
	struct nfs4r_oid f = make_file(p, &a, "f", "as it was"), made;
	const struct nfs4r_extent *dropped;

	cluster_settle(c);
	dirlops_fail_writes(r->ops, NFS4R_IO, 0, 1 << 20);
	write_text(p, &f, "AS IT IS");
	made = make(p, NFS4R_OP_CREATE, &b, "made");
	until_known(r, &made, NFS4R_KNOWN);
	checkpoint(p);
	until_heard(c);
	checkpoint(r);
	cluster_kill(c, 3);
	cluster_start(c, 3);
	for (uint32_t n = nfs4r_store_dropped(r->eng->store, &dropped); n; n--)
		assert_true(nfs4r_oid_eq(&dropped[n - 1].oid, &f));
	assert_int_equal(nfs4r_store_row(r->eng->store, &made, NULL), NFS4R_KNOWN);
	expect_equal(c);
	expect_content(r, &f, "AS IT ISs");
}

/* ---- an update that was being applied (log 4.4, 4.5) ---- */

/* Server 3 has a part of an update of server 1 in its file when it ends. */
static void half_an_update(struct cluster *c, struct ending end)
{
	struct site *p = &c->site[1], *r = &c->site[3];
	struct nfs4r_oid root = site_root(p), f = make_file(p, &root, "f", "as it was");
	char got[20] = "";

	cluster_settle(c);
	for (int i = 1; i <= SITES; i++)
		checkpoint(&c->site[i]);
	write_text(p, &f, "AS IT WAS"); /* marks, which are synced */
	cluster_settle(c);
	sync_journal(p);
	cluster_stop(c, 2);
	dirlops_fail_writes(r->ops, NFS4R_IO, 4, 1 << 20);
	write_text(p, &f, "half done");
	for (int i = 0; i < 500 && strcmp(got, "halfT WAS") != 0; i++) {
		pause_ms(10);
		shell(got, sizeof(got), "cat %s/f", r->data);
	}
	assert_string_equal(got, "halfT WAS");
	end_server_3(c, end);
	start_again(c, end);
	expect_equal(c);
	expect_everywhere(c, &f, end.lost ? "AS IT WAS" : "half done");
}

static void half_an_update_that_nobody_has_is_gone(void **state)
{
	half_an_update(*state, (struct ending){ .lost = true });
}

static void half_an_update_is_gone_after_a_stop(void **state)
{
	half_an_update(*state, (struct ending){ .stopped = true, .lost = true });
}

static void half_an_update_is_gone_after_checkpoints(void **state)
{
	half_an_update(*state, (struct ending){ .checkpoints = true, .lost = true });
}

static void half_an_update_comes_again(void **state)
{
	half_an_update(*state, (struct ending){ .lost = false });
}

/* So with names: of an MKDIR that never was the directory is there, and its name is wanted for something else. */
static void half_a_mkdir_is_gone(void **state)
{
	struct cluster *c = *state;
	struct site *p = &c->site[1], *r = &c->site[3];
	struct nfs4r_oid root = site_root(p), f = make_file(p, &root, "f", "as it was");
	struct nfs4r_entry *e = nfs4r_entry_new();

	cluster_settle(c);
	e->log = 1;
	e->lsn = nfs4r_core_own_end(p->eng->core) + 1;
	e->nparts = 1;
	e->parts[0].oid = root;
	assert_int_equal(nfs4r_store_begin(r->eng->store, e), NFS4R_OK);
	nfs4r_entry_put(e);
	expect_shell("", "mkdir %s/x", r->data);
	cluster_kill(c, 3);
	cluster_start(c, 3);
	site_says(r, "nothing is in doubt any more", 20);
	f = make_file(p, &root, "x", "a file");
	expect_equal(c);
	expect_content(r, &f, "a file");
	expect_shell("f\nx\n", "ls %s", r->data);
}

static void begin_write(struct site *r, const struct nfs4r_oid *f, nfs4r_lsn lsn, uint64_t off, uint64_t len)
{
	struct nfs4r_entry *e = nfs4r_entry_new();

	e->log = 1;
	e->lsn = lsn;
	e->nparts = 1;
	e->parts[0].oid = *f;
	e->parts[0].effect = NFS4R_EFF_WRITE;
	e->parts[0].off = off;
	e->parts[0].len = len;
	assert_int_equal(nfs4r_store_begin(r->eng->store, e), NFS4R_OK);
	nfs4r_entry_put(e);
}

static uint64_t received(struct site *s)
{
	struct nfs4r_rpc_peer_stats st;
	uint64_t n = 0;

	for (nfs4r_server_id i = 1; i <= SITES; i++)
		if (i != s->id && nfs4r_rpc_get_stats(s->eng->rpc, i, &st))
			n += st.bytes_received;
	return n;
}

#define MIB (1u << 20)
#define LARGE 8 /* MiB */

/* Of a large file only the bytes that were being written are taken from others, and its end. */
static void only_what_was_being_written_is_taken(void **state)
{
	struct cluster *c = *state;
	struct site *p = &c->site[1], *r = &c->site[3];
	struct nfs4r_oid root = site_root(p), f = make_file(p, &root, "f", "");
	static char text[MIB];
	nfs4r_lsn end;

	for (uint32_t i = 0; i < LARGE; i++) {
		memset(text, 'a' + (int)i, sizeof(text));
		assert_int_equal(site_write(p, &f, (uint64_t)i * MIB, text, MIB), NFS4R_OK);
	}
	cluster_settle(c);
	checkpoint(r);
	end = nfs4r_core_own_end(p->eng->core);
	begin_write(r, &f, end + 1, 3 * MIB + 5, 10);
	begin_write(r, &f, end + 2, LARGE * MIB, 4);
	begin_write(r, &f, end + 3, 3 * MIB, 8);
	expect_shell("", "printf half | dd of=%s/f bs=1 seek=%u conv=notrunc status=none; printf more >> %s/f", r->data, 3 * MIB + 6, r->data);
	cluster_kill(c, 3);
	cluster_start(c, 3);
	site_says(r, "nothing is in doubt any more", 20);
	assert_true(received(r) < LARGE / 2 * MIB);
	expect_equal(c);
	expect_shell("8388608\nddddddddddddddd\n", "stat -c %%s %s/f; tail -c +%u %s/f | head -c 15; echo", r->data, 3 * MIB + 1, r->data);
}

/* Log 4.6: who takes content that is newer than its own row may rely on it that a crash does not take away the entry that explains it. */
static void what_is_given_to_one_in_doubt_is_for_good(void **state)
{
	struct cluster *c = *state;
	struct site *p = &c->site[1];
	struct nfs4r_oid root = site_root(p), f = make_file(p, &root, "f", "as it was");
	struct nfs4r_read rd = { .type = NFS4R_RD_GETATTR, .oid = f, .cookie = NFS4R_COPY_ANY };
	nfs4r_journal_pos pos;

	cluster_settle(c);
	write_text(p, &f, "AS IT IS");
	pos = nfs4r_store_position(p->eng->store);
	assert_true(nfs4r_store_synced(p->eng->store) < pos);
	assert_int_equal(read_copy(c->site[2].eng, 1, &rd), NFS4R_OK);
	assert_false(rd.eof);
	assert_true(nfs4r_store_synced(p->eng->store) >= pos);
	nfs4r_read_fini(&rd);
}

/* Log 4.6: before a server that starts knows what is in doubt, it says nothing; else the asker goes on with its own copy, beside a sound one. */
static void what_is_in_doubt_is_said_when_it_is_known(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f = make_file(&c->site[1], &root, "f", "as it was");
	struct nfs4r_read rd = { .type = NFS4R_RD_GETATTR, .oid = f, .cookie = NFS4R_COPY_ANY };
	struct nfs4r_engine *eng;

	cluster_settle(c);
	cluster_lose_power(c, NFS4R_BIT(3), 0);
	cluster_start(c, 3);
	eng = c->site[3].eng;
	site_says(&c->site[3], "nothing is in doubt any more", 20);
	pthread_mutex_lock(&eng->runtime.in_doubt->lock);
	eng->runtime.in_doubt->unknown = true;
	pthread_mutex_unlock(&eng->runtime.in_doubt->lock);
	assert_int_equal(read_copy(c->site[2].eng, 3, &rd), NFS4R_DELAY);
	pthread_mutex_lock(&eng->runtime.in_doubt->lock);
	eng->runtime.in_doubt->unknown = false;
	pthread_mutex_unlock(&eng->runtime.in_doubt->lock);
	expect_equal(c);
	assert_int_equal(read_copy(c->site[2].eng, 3, &rd), NFS4R_OK);
	assert_false(rd.eof);
	nfs4r_read_fini(&rd);
}

/* ---- under load ---- */

#define PROMISES 2000
#define WORKERS (2 * SITES)

struct worker {
	struct cluster *c;
	int id;
	unsigned seed;
	pthread_t thread;
	struct nfs4r_oid dir;
	uint32_t n;
	struct promise { /* a COMMIT or a stable WRITE was answered */
		struct nfs4r_oid oid;
		unsigned number;
	} v[PROMISES];
};

static uint64_t verifier(struct site *s)
{
	uint64_t v = 0;

	pthread_rwlock_rdlock(&s->gate);
	if (s->eng)
		v = nfs4r_verifier(s->eng);
	pthread_rwlock_unlock(&s->gate);
	return v;
}

static void text_of(char text[32], unsigned number)
{
	snprintf(text, 32, "promised %u", number);
}

/* A new file, or the last one again. As with a client, what was written before the verifier changed is not promised. */
static void promise(struct worker *w)
{
	struct site *s = &w->c->site[w->id];
	unsigned losses = s->losses, number = (unsigned)rand_r(&w->seed);
	uint64_t v = verifier(s);
	struct promise *p;
	char name[32], text[32];
	bool again = w->n && rand_r(&w->seed) % 2;

	if (w->n == PROMISES)
		return;
	p = &w->v[again ? w->n - 1 : w->n];
	snprintf(name, sizeof(name), "w%d-%u", w->id, w->n);
	if (!again && site_make(s, NFS4R_OP_CREATE, &w->dir, name, &p->oid) != NFS4R_OK)
		return;
	text_of(text, number);
	p->number = 0; /* from here on it may be either */
	if (rand_r(&w->seed) % 3 == 0) /* beside what is promised: the journal does not keep it */
		site_write(s, &p->oid, 32 + (unsigned)rand_r(&w->seed) % 64, "whatever", 8);
	if (rand_r(&w->seed) % 3 == 0 ? site_write_stable(s, &p->oid, 0, text, 32) != NFS4R_OK :
					site_write(s, &p->oid, 0, text, 32) != NFS4R_OK || site_commit(s, &p->oid) != NFS4R_OK)
		return;
	if (rand_r(&w->seed) % 4 == 0)
		site_setattr(s, &p->oid, &(struct nfs4r_attrs){ .mask = NFS4R_ATTR_SIZE, .size = 32 + (unsigned)rand_r(&w->seed) % 64 });
	if (s->losses != losses || verifier(s) != v)
		return;
	p->number = number;
	w->n += !again;
}

static void *work(void *arg)
{
	struct worker *w = arg;

	while (!w->c->hurry) {
		if (rand_r(&w->seed) % 3)
			site_random_op(&w->c->site[w->id], &w->seed);
		else
			promise(w);
	}
	return NULL;
}

static uint32_t expect_promises(struct cluster *c, struct worker *w)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < w->n; i++) {
		char want[32], got[33] = "";
		uint32_t len = 32;

		if (!w->v[i].number)
			continue;
		text_of(want, w->v[i].number);
		assert_int_equal(site_read(&c->site[1 + i % SITES], &w->v[i].oid, 0, got, &len), NFS4R_OK);
		assert_string_equal(got, want);
		kept++;
	}
	return kept;
}

static void begin_work(struct cluster *c, struct worker *w, unsigned seed)
{
	struct nfs4r_oid root = site_root(&c->site[1]);
	char name[16];

	for (int i = 0; i < WORKERS; i++) {
		snprintf(name, sizeof(name), "w%u-%d", seed, i);
		w[i] = (struct worker){ .c = c, .id = 1 + i % SITES, .seed = seed * 31 + (unsigned)i };
		w[i].dir = make(&c->site[w[i].id], NFS4R_OP_MKDIR, &root, name);
	}
	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
	pause_ms(500 + seed % 300);
}

static void end_work(struct cluster *c, struct worker *w)
{
	c->hurry = true;
	for (int i = 0; i < WORKERS; i++)
		pthread_join(w[i].thread, NULL);
	c->hurry = false;
}

static void expect_kept(struct cluster *c, struct worker *w)
{
	uint32_t kept = 0;

	expect_equal(c);
	for (int i = 0; i < WORKERS; i++)
		kept += expect_promises(c, &w[i]);
	print_message("%u promises kept\n", kept);
	free(w);
}

static unsigned first_seed(void)
{
	return getenv("NFS4R_SEED") ? (unsigned)atoi(getenv("NFS4R_SEED")) : 1;
}

static unsigned rounds(void)
{
	return getenv("NFS4R_ROUNDS") ? (unsigned)atoi(getenv("NFS4R_ROUNDS")) : 2;
}

/* NFS4R_SEED and NFS4R_ROUNDS for others and more. @trouble: somebody goes, and starts again. */
static void under_load(struct cluster *c, unsigned first, void (*trouble)(struct cluster *c, unsigned round, unsigned seed))
{
	for (unsigned i = 0; i < rounds(); i++) {
		struct worker *w = calloc(WORKERS, sizeof(*w));
		unsigned seed = first_seed() + first + i;

		begin_work(c, w, seed);
		trouble(c, i, seed);
		pause_ms(200);
		end_work(c, w);
		expect_kept(c, w);
	}
}

static void one_loses_power(struct cluster *c, unsigned round, unsigned seed)
{
	cluster_lose_power(c, NFS4R_BIT(1 + round % SITES), seed);
	cluster_start(c, 1 + (int)round % SITES);
}

static void one_loses_power_under_load(void **state)
{
	under_load(*state, 0, one_loses_power);
}

static void one_dies(struct cluster *c, unsigned round, unsigned seed)
{
	cluster_kill(c, 1 + (int)round % SITES);
	cluster_start(c, 1 + (int)round % SITES);
}

/* What it has applied behind a hole is given up. */
static void one_dies_under_load(void **state)
{
	under_load(*state, 2000, one_dies);
}

/* The journals are whole, so that the files alone are in doubt, in other parts at each server. */
static void all_lose_power_after_load(void **state)
{
	struct cluster *c = *state;

	for (unsigned i = 0; i < rounds(); i++) {
		struct worker *w = calloc(WORKERS, sizeof(*w));

		begin_work(c, w, first_seed() + 1000 + i);
		end_work(c, w);
		cluster_settle(c);
		for (int s = 1; s <= SITES; s++)
			sync_journal(&c->site[s]);
		cluster_lose_power(c, EVERYBODY, first_seed() + 1000 + i);
		start(c, EVERYBODY);
		expect_kept(c, w);
	}
}

static void all_lose_power(struct cluster *c, unsigned round, unsigned seed)
{
	cluster_lose_power(c, EVERYBODY, round % 2 ? seed : 0);
	start(c, EVERYBODY);
}

/* Journals and files are in doubt, in other parts at each server. */
static void all_lose_power_under_load(void **state)
{
	under_load(*state, 3000, all_lose_power);
}

#define T(name, setup) cmocka_unit_test_setup_teardown(name, setup, cluster_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_the_directory_forgot_comes_back, setup_still),
		T(a_start_that_fails_settles_nothing, setup_still),
		T(what_the_journal_forgot_comes_back, setup_still),
		T(a_commit_survives_a_loss_of_power_everywhere, setup_still),
		T(what_is_stable_survives_without_lmdb, setup_still),
		T(a_commit_survives_a_newer_update_elsewhere, setup_still),
		T(a_commit_survives_a_newer_update_and_an_older_copy, setup_still),
		T(a_small_file_survives_in_the_journal, setup_still),
		T(a_forwarded_one_survives_in_the_journal, setup_still),
		T(what_came_after_what_is_kept_stays, setup_still),
		T(what_is_kept_is_synced_before_it_is_changed, setup_still),
		T(what_is_kept_is_synced_before_another_changes_it, setup_still),
		T(what_is_kept_is_synced_before_an_update_is_done_again, setup_still),
		T(bytes_without_an_entry_are_nowhere, setup_still),
		T(bytes_without_an_entry_in_an_older_file, setup_still),
		T(a_file_ends_where_entries_come_to, setup_still),
		T(bytes_without_an_entry_at_the_end, setup_still),
		T(what_a_checkpoint_covers_stays, setup_still),
		T(newer_extended_attributes_stay, setup_still),
		T(updates_behind_a_hole_come_again, setup_still),
		T(updates_behind_a_hole_that_nobody_has_are_gone, setup_still),
		T(updates_behind_a_hole_are_gone_after_a_stop, setup_still),
		T(updates_behind_a_hole_come_again_after_checkpoints, setup_still),
		T(updates_behind_a_hole_are_gone_after_checkpoints, setup_still),
		T(updates_behind_a_hole_stay_when_their_owner_has_them, setup_still),
		T(half_an_update_that_nobody_has_is_gone, setup_still),
		T(half_an_update_is_gone_after_a_stop, setup_still),
		T(half_an_update_is_gone_after_checkpoints, setup_still),
		T(half_an_update_comes_again, setup_still),
		T(half_a_mkdir_is_gone, setup_still),
		T(only_what_was_being_written_is_taken, setup_still),
		T(what_is_given_to_one_in_doubt_is_for_good, setup_still),
		T(what_is_in_doubt_is_said_when_it_is_known, setup_still),
		T(what_was_freed_and_cut_is_not_back, setup_still),
		T(a_mode_without_an_entry_is_nowhere, setup_still),
		T(a_mode_without_an_entry_of_a_directory, setup_still),
		T(a_mode_without_an_entry_of_a_directory_that_grew, setup_still),
		T(a_mode_that_was_applied_and_forgotten_is_nowhere, setup_still),
		T(one_loses_power_under_load, setup),
		T(one_dies_under_load, setup),
		T(all_lose_power_after_load, setup),
		T(all_lose_power_under_load, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
