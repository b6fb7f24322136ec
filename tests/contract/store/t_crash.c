/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Crashes. A run of random changes remembers after every change where the journal ended and what the model
 * said. A killed process leaves everything (the directory as it is); a machine that lost power leaves any
 * prefix of what was not synced, or blocks of it in any order. What is opened then must be what the model
 * said at the last change that is wholly there. With an argument: all the same with zeros laid out behind the journal's end (laid), or with byte-range
 * locks among the changes (locks).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fixture.h"
#include "store/internal.h"

#define CHANGES 400
#define AHEAD 4096

struct step {
	nfs4r_journal_pos pos;
	char *dump;
};

static struct fx f;
static struct model *m;
static struct step steps[CHANGES + 1];
static uint32_t nsteps;
static nfs4r_journal_pos last_sync;
static uint64_t rng;
static bool ahead, locks;

/* Before each change, so that it nearly always finds zeros. */
static void lay_out(void)
{
	if (ahead)
		store_jnl_lay_out(&f.s->jnl, AHEAD);
}

static int setup(void **state)
{
	fx_init(&f);
	f.cfg.segment_bytes = 16384;
	f.locks = locks;
	if (locks)
		f.cfg.formats = (struct nfs4r_versions){ NFS4R_DISK_FORMAT_LOCKS, NFS4R_DISK_FORMAT_LOCKS };
	fx_open_ok(&f);
	m = model_new(&f.root);
	nsteps = 0;
	last_sync = nfs4r_store_position(f.s);
	rng = 99;
	return 0;
}

static int teardown(void **state)
{
	while (nsteps)
		free(steps[--nsteps].dump);
	model_free(m);
	fx_fini(&f);
	return 0;
}

static void note(void)
{
	steps[nsteps].pos = nfs4r_store_position(f.s);
	steps[nsteps++].dump = model_dump(m);
}

static bool change(void)
{
	struct nfs4r_entry *e = random_entry(&f, &rng);
	struct nfs4r_put put = put_row("key", (char[]){ 'a' + rnd(&rng) % 26, 0 });
	nfs4r_journal_pos sync_first;

	if (!e)
		return false;
	lay_out();
	put.key[0] = 'a' + rnd(&rng) % 8;
	if (e->log == 1)
		assert_int_equal(nfs4r_store_intent(f.s, e, &sync_first), NFS4R_OK);
	model_apply(m, e);
	model_put(m, &put);
	assert_int_equal(nfs4r_store_commit(f.s, e, e->log == 1, &put, 1), NFS4R_OK);
	nfs4r_entry_put(e);
	return true;
}

static void run(uint32_t changes, uint32_t checkpoint_each, uint32_t sync_until)
{
	note();
	while (nsteps <= changes) {
		if (!change())
			continue;
		note();
		if (checkpoint_each && nsteps % checkpoint_each == 0) {
			assert_int_equal(nfs4r_store_checkpoint(f.s, NULL, NULL, NULL), NFS4R_OK);
			last_sync = nfs4r_store_position(f.s);
		}
		if (nsteps == sync_until) {
			last_sync = nfs4r_store_position(f.s);
			assert_int_equal(nfs4r_store_sync(f.s, last_sync), NFS4R_OK);
		}
	}
}

/* A second store in a copy of the directory. */
static struct fx copy_of(const char *boot)
{
	struct fx g = f;

	temp_dir(g.dir);
	copy_dir(f.dir, g.dir);
	g.s = NULL;
	g.cfg.boot_id = boot;
	return g;
}

static void assert_dump(struct fx *g, const char *should)
{
	char *is = dump_store(g);

	assert_string_equal(is, should);
	free(is);
}

static const struct step *step_at(nfs4r_journal_pos pos)
{
	const struct step *best = &steps[0];

	for (uint32_t i = 0; i < nsteps; i++) {
		if (steps[i].pos <= pos)
			best = &steps[i];
	}
	return best;
}

/* The journal file of @g that holds @pos, open for damage; *off = the place in it. Later ones go if @cut. */
static int open_at(struct fx *g, nfs4r_journal_pos pos, off_t *off, bool cut)
{
	unsigned long start, best = 0;
	DIR *dir = opendir(g->dir);
	struct dirent *d;
	char path[512];
	int fd;

	assert_non_null(dir);
	while ((d = readdir(dir))) {
		if (sscanf(d->d_name, "journal-%lx", &start) != 1)
			continue;
		if (start <= pos && start > best)
			best = start;
		snprintf(path, sizeof(path), "%s/%s", g->dir, d->d_name);
		if (start > pos && cut)
			assert_int_equal(unlink(path), 0);
	}
	closedir(dir);
	snprintf(path, sizeof(path), "%s/journal-%016lx", g->dir, best);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	*off = pos - best;
	return fd;
}

static void test_process_killed_anywhere(void **state)
{
	note();
	while (nsteps <= CHANGES) {
		struct fx g;

		if (!change())
			continue;
		note();
		if (nsteps % 60 == 0)
			assert_int_equal(nfs4r_store_checkpoint(f.s, NULL, NULL, NULL), NFS4R_OK);
		if (nsteps % 7)
			continue;
		g = copy_of("boot-1");
		fx_open_ok(&g);
		assert_true(g.info.tail_intact);
		assert_int_equal(g.info.inc, 2);
		assert_int_not_equal(g.info.inc_random, f.info.inc_random);
		assert_dump(&g, steps[nsteps - 1].dump);
		for (int i = 1; i <= 2; i++)
			assert_int_equal(g.info.logs[i].applied, f.next[i] - 1);
		fx_fini(&g);
	}
}

/* The killed one goes on, many times. */
static void test_killed_again_and_again(void **state)
{
	uint64_t prev;

	note();
	for (int i = 0; i < 60; i++) {
		for (int k = 0; k < 5; k++)
			change();
		if (i % 9 == 8)
			assert_int_equal(nfs4r_store_checkpoint(f.s, NULL, NULL, NULL), NFS4R_OK);
		prev = f.info.inc_random;
		fx_crash(&f);
		fx_open_ok(&f);
		assert_int_equal(f.info.inc, i + 2);
		assert_int_not_equal(f.info.inc_random, prev);
		free(steps[0].dump);
		steps[0].dump = model_dump(m);
		assert_dump(&f, steps[0].dump);
	}
}

static void cut(struct fx *g, nfs4r_journal_pos pos)
{
	off_t off;
	int fd = open_at(g, pos, &off, true);

	assert_int_equal(ftruncate(fd, off), 0);
	if (ahead) /* what was laid out was on the disk, what was appended is not */
		assert_int_equal(ftruncate(fd, off + AHEAD), 0);
	close(fd);
}

/* What @pos cuts off is there all the same: it was zeros, and zeros follow. */
static bool zeros_replace(nfs4r_journal_pos pos, nfs4r_journal_pos end)
{
	off_t off;
	int fd = open_at(&f, pos, &off, false);
	uint8_t c = 0;

	while (ahead && pos < end && pread(fd, &c, 1, off++) == 1 && !c)
		pos++;
	close(fd);
	return pos == end;
}

/* What is left when the journal was cut at @pos. */
static const struct step *left_at(nfs4r_journal_pos pos)
{
	const struct step *s = step_at(pos), *end = &steps[nsteps - 1];

	while (s < end && zeros_replace(pos, s[1].pos))
		s++;
	return s;
}

/* Log 2.1: a number of a start comes again only if nobody was told of it, and then with another random number: power is lost in the middle of an open. */
static void test_incarnations_follow_each_other(void **state)
{
	struct nfs4r_store_info first = f.info, second;
	nfs4r_journal_pos before, after;

	assert_int_equal(first.inc, 1);
	assert_int_not_equal(first.inc_random, 0);
	run(60, 50, 0);
	fx_close(&f);
	fx_open_ok(&f);
	second = f.info;
	after = nfs4r_store_position(f.s);
	before = after - (24 + 8 + 8 + 40 + 8); /* the OPEN record */
	assert_int_equal(second.inc, 2);
	assert_int_not_equal(second.inc_random, first.inc_random);
	for (nfs4r_journal_pos pos = before; pos <= after; pos++) {
		struct fx g = copy_of("boot-2");

		cut(&g, pos);
		fx_open_ok(&g);
		assert_int_equal(g.info.inc, zeros_replace(pos, after) ? 3 : 2);
		assert_true(g.info.inc_random && g.info.inc_random != first.inc_random && g.info.inc_random != second.inc_random);
		fx_fini(&g);
	}
	fx_close(&f);
	fx_open_ok(&f);
	assert_int_equal(f.info.inc, 3);
}

static bool is_about(nfs4r_journal_pos pos, nfs4r_journal_pos end)
{
	return pos >= end && pos <= end + 128; /* OPEN may begin a file, or follow a SYNCED */
}

/*
 * Log 8.6: what was told to be synced is there, whatever a loss of power takes; and starts that are over before anybody used the store say where it
 * ended before them.
 */
static void test_where_the_journal_ended(void **state)
{
	nfs4r_journal_pos told, end;

	assert_int_equal(f.info.end, 64);
	run(100, 50, 80);
	assert_int_equal(nfs4r_store_sync(f.s, nfs4r_store_position(f.s)), NFS4R_OK);
	told = nfs4r_store_synced(f.s);
	assert_int_equal(told, nfs4r_store_position(f.s));
	run(60, 50, 0);
	end = nfs4r_store_position(f.s);
	for (nfs4r_journal_pos pos = told; pos <= end; pos += 8 * (1 + rnd(&rng) % 40)) {
		struct fx g = copy_of("boot-2");
		nfs4r_journal_pos began;

		cut(&g, pos);
		fx_open_ok(&g);
		began = g.info.end;
		assert_true(began >= told && began <= pos);
		assert_true(nfs4r_store_synced(g.s) > began);
		for (int i = 0; i < 4; i++) {
			if (i % 2)
				g.cfg.boot_id = i == 1 ? "boot-3" : "boot-4";
			fx_close(&g);
			fx_open_ok(&g);
			assert_true(is_about(g.info.end, began));
		}
		mk(&g, &g.root, "used", NFS4R_TYPE_FILE);
		end = nfs4r_store_position(g.s);
		fx_close(&g);
		fx_open_ok(&g);
		assert_true(g.info.end >= end);
		fx_fini(&g);
		end = nfs4r_store_position(f.s);
	}
}

static void test_power_lost_any_prefix_remains(void **state)
{
	nfs4r_journal_pos end;

	run(160, 50, 120);
	end = nfs4r_store_position(f.s);
	for (nfs4r_journal_pos pos = last_sync; pos < end;) {
		struct fx g = copy_of("boot-2");

		cut(&g, pos);
		fx_open_ok(&g);
		assert_false(g.info.tail_intact);
		assert_int_equal(g.info.inc, 2);
		assert_int_not_equal(g.info.inc_random, f.info.inc_random);
		assert_dump(&g, left_at(pos)->dump);
		/* It goes on from there. */
		mk(&g, &g.root, "after the crash", NFS4R_TYPE_FILE);
		assert_int_equal(nfs4r_store_recovered(g.s), NFS4R_OK);
		fx_close(&g);
		g.cfg.boot_id = "boot-3";
		fx_open_ok(&g);
		assert_true(g.info.tail_intact);
		fx_fini(&g);
		pos += rnd(&rng) % 3 ? 1 + rnd(&rng) % 400 : 8;
	}
}

/* Where the first byte lies that really changed; 0 = none. */
static nfs4r_journal_pos overwrite(struct fx *g, nfs4r_journal_pos from, size_t len, int byte)
{
	nfs4r_journal_pos changed = 0;
	off_t off;
	int fd = open_at(g, from, &off, false);
	uint8_t c = byte, was;

	for (size_t i = 0; i < len && pread(fd, &was, 1, off + i) == 1; i++) {
		assert_int_equal(pwrite(fd, &c, 1, off + i), 1);
		if (was != c && !changed)
			changed = from + i;
	}
	close(fd);
	return changed;
}

static bool in_header(struct fx *g, nfs4r_journal_pos pos)
{
	off_t off;

	close(open_at(g, pos, &off, false));
	return off < 64; /* has a test of its own */
}

static void test_power_lost_a_block_is_missing(void **state)
{
	nfs4r_journal_pos end;

	run(200, 0, 120);
	end = nfs4r_store_position(f.s);
	for (int i = 0; i < 60; i++) {
		nfs4r_journal_pos hole = last_sync + rnd(&rng) % (end - last_sync - 600), changed;
		struct fx g;

		if (in_header(&f, hole))
			continue;
		g = copy_of("boot-2");
		changed = overwrite(&g, hole, 512, i % 2 ? 0 : 0xa5);
		fx_open_ok(&g);
		assert_false(g.info.tail_intact);
		assert_dump(&g, step_at(changed ? changed : end)->dump);
		fx_fini(&g);
	}
}

/* Segments begun after the last sync: header, size or the whole file may be gone. */
static void test_power_lost_new_segments_suffer(void **state)
{
	nfs4r_journal_pos starts[64], pos = 0;
	uint32_t n = 0;

	run(300, 0, 40);
	while (pos < nfs4r_store_position(f.s)) {
		off_t off;
		struct stat sb;
		int fd = open_at(&f, pos, &off, false);

		assert_int_equal(off, 0);
		assert_int_equal(fstat(fd, &sb), 0);
		close(fd);
		starts[n++] = pos;
		pos += sb.st_size;
	}
	assert_true(n > 4);
	for (uint32_t i = 0; i < n; i++) {
		for (int how = 0; how < 3; how++) {
			struct fx g;
			char path[512];

			if (starts[i] <= last_sync)
				continue;
			g = copy_of("boot-2");
			snprintf(path, sizeof(path), "%s/journal-%016lx", g.dir, (unsigned long)starts[i]);
			if (how == 0)
				overwrite(&g, starts[i], 64, 0);
			else if (how == 1)
				assert_int_equal(truncate(path, 0), 0);
			else
				assert_int_equal(unlink(path), 0);
			fx_open_ok(&g);
			assert_false(g.info.tail_intact);
			assert_dump(&g, step_at(starts[i])->dump);
			fx_fini(&g);
			/* In the same boot this cannot come about by itself. */
			if (i + 1 == n)
				continue;
			g = copy_of("boot-1");
			snprintf(path, sizeof(path), "%s/journal-%016lx", g.dir, (unsigned long)starts[i]);
			assert_int_equal(unlink(path), 0);
			assert_int_equal(fx_open(&g), NFS4R_CORRUPT);
			remove_dir(g.dir);
		}
	}
}

static void assert_damaged(struct fx *g, nfs4r_journal_pos at)
{
	char name[64];
	off_t off;
	int fd = open_at(g, at, &off, false);

	close(fd);
	assert_int_equal(fx_open(g), NFS4R_CORRUPT);
	snprintf(name, sizeof(name), "journal-%016lx", (unsigned long)(at - off));
	if (!strstr(g->why, name) || !strstr(g->why, "offset"))
		fail_msg("%s: %s", name, g->why);
}

static void test_damage_is_not_taken_for_a_torn_end(void **state)
{
	nfs4r_journal_pos synced;

	run(300, 150, 0);
	assert_int_equal(nfs4r_store_sync(f.s, nfs4r_store_position(f.s)), NFS4R_OK);
	synced = nfs4r_store_position(f.s);
	change(); /* brings the note that all before was synced */
	change();
	for (int i = 0; i < 60; i++) {
		nfs4r_journal_pos at = 64 + rnd(&rng) % (synced - 64);
		struct fx g;

		if (in_header(&f, at))
			continue;
		g = copy_of(i % 2 ? "boot-1" : "boot-2");
		while (!overwrite(&g, at, 1, (int)(rnd(&rng) & 0xff)))
			;
		assert_damaged(&g, at);
		remove_dir(g.dir);
	}
}

/* In one boot nothing that was written can get lost, synced or not. */
static void test_same_boot_hole_is_damage(void **state)
{
	struct fx g;

	run(100, 0, 0);
	g = copy_of("boot-1");
	overwrite(&g, steps[50].pos + 40, 64, 0);
	assert_damaged(&g, steps[50].pos + 40);
	remove_dir(g.dir);
}

static void test_same_boot_torn_last_record(void **state)
{
	nfs4r_journal_pos end;

	run(50, 0, 0);
	end = nfs4r_store_position(f.s);
	for (int less = 1; less < 60; less += 7) {
		struct fx g = copy_of("boot-1");

		cut(&g, end - less);
		fx_open_ok(&g);
		assert_true(g.info.tail_intact);
		assert_dump(&g, steps[zeros_replace(end - less, end) ? 50 : 49].dump);
		fx_fini(&g);
	}
}

static void test_clean_close_is_intact_after_a_reboot(void **state)
{
	run(20, 0, 0);
	fx_close(&f);
	f.cfg.boot_id = "boot-2";
	fx_open_ok(&f);
	assert_true(f.info.tail_intact);
	assert_dump(&f, steps[20].dump);
	fx_crash(&f);
	f.cfg.boot_id = "boot-3";
	fx_open_ok(&f);
	assert_false(f.info.tail_intact);
}

/* ---- a file that was made shorter ---------------------------------------------------- */

static struct {
	ino_t ino;
	off_t size; /* when it was synced before the next file was begun; -1: never */
	char next[512];
} shortened;

/* In place of the C library's. */
int fdatasync(int fd)
{
	struct stat sb;

	if (shortened.ino && !fstat(fd, &sb) && sb.st_ino == shortened.ino && access(shortened.next, F_OK))
		shortened.size = sb.st_size;
	return (int)syscall(SYS_fdatasync, fd);
}

/* Power is lost twice: what the start after the first one cut off must not be there again after the second, when a later file says that the journal went on. */
static void lose_power_twice(nfs4r_journal_pos end, bool killed)
{
	struct fx g = copy_of("boot-2"), h;
	char path[512], cmd[1200];
	struct stat sb;
	off_t off;
	int fd;

	overwrite(&g, end + 8, 8, 0xa5);
	fd = open_at(&g, end, &off, false);
	assert_int_equal(fstat(fd, &sb), 0);
	snprintf(path, sizeof(path), "journal-%016lx", (unsigned long)(end - off));
	snprintf(cmd, sizeof(cmd), "cp %s/%s %s.torn", g.dir, path, g.dir);
	assert_int_equal(system(cmd), 0);
	if (killed) /* an open that cut, and came no further */
		assert_int_equal(ftruncate(fd, off), 0);
	shortened.ino = sb.st_ino;
	shortened.size = -1;
	snprintf(shortened.next, sizeof(shortened.next), "%s/journal-%016lx", g.dir, (unsigned long)end);
	g.cfg.segment_bytes = 512; /* a new file for the next record */
	fx_open_ok(&g);
	shortened.ino = 0;
	assert_false(g.info.tail_intact);
	assert_int_equal(fstat(fd, &sb), 0);
	assert_int_equal(sb.st_size, off);
	assert_int_equal(access(shortened.next, F_OK), 0);
	close(fd);
	h = g;
	temp_dir(h.dir);
	copy_dir(g.dir, h.dir);
	fx_fini(&g);
	snprintf(cmd, sizeof(cmd), shortened.size == off ? "rm %s.torn" : "mv %s.torn %s/%s", g.dir, h.dir, path);
	assert_int_equal(system(cmd), 0);
	h.s = NULL;
	h.cfg.boot_id = "boot-3";
	fx_open_ok(&h);
	assert_dump(&h, step_at(end)->dump);
	fx_fini(&h);
}

static void test_power_lost_again_after_a_cut(void **state)
{
	for (int i = 0; i < 4; i++) {
		nfs4r_journal_pos end;

		run(nsteps + 30, 0, 0);
		if (i % 2) /* LMDB ends where the cut is */
			assert_int_equal(nfs4r_store_checkpoint(f.s, NULL, NULL, NULL), NFS4R_OK);
		end = nfs4r_store_position(f.s);
		while (!change())
			;
		lose_power_twice(end, i / 2);
		note();
	}
}

/* ---- inside a checkpoint ------------------------------------------------------------ */

static struct fx inside;

static int copy_inside(void *arg)
{
	inside = copy_of("boot-2");
	/* Changes go on during a checkpoint. */
	change();
	note();
	return 0;
}

static void copy_journals(const char *from, const char *to)
{
	char cmd[700];

	snprintf(cmd, sizeof(cmd), "cp -n %s/journal-* %s/", from, to);
	assert_int_equal(system(cmd), 0);
}

static void test_crash_inside_a_checkpoint(void **state)
{
	note();
	for (int i = 0; i < 12; i++) {
		struct fx before, after;
		nfs4r_server_id log = 1 + i % 2;
		uint32_t at;

		for (int k = 0; k < 30; k++)
			change();
		note();
		at = nsteps - 1;
		before = copy_of("boot-2");
		nfs4r_store_truncate(f.s, log, f.next[log] - 5);
		assert_int_equal(nfs4r_store_checkpoint(f.s, copy_inside, NULL, NULL), NFS4R_OK);
		/* frozen, LMDB not written */
		fx_open_ok(&inside);
		assert_dump(&inside, steps[at].dump);
		fx_fini(&inside);
		/* LMDB written, old segments not yet removed */
		after = copy_of("boot-1");
		copy_journals(before.dir, after.dir);
		fx_open_ok(&after);
		assert_dump(&after, steps[nsteps - 1].dump);
		fx_fini(&after);
		remove_dir(before.dir);
	}
}

static struct {
	nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1];
	struct fx then; /* the machine, if it loses power now */
	uint32_t times;
} told;

static void tell(void *arg, const nfs4r_lsn *stable)
{
	memcpy(told.stable, stable, sizeof(told.stable));
	told.then = copy_of("boot-2");
	told.times++;
}

/* Log 4.3: what is told as stable survives a loss of power before LMDB is written, with a journal that was synced no further than it had to be. */
static void test_stable_is_told_before_lmdb(void **state)
{
	nfs4r_lsn before[NFS4R_SERVERS_MAX + 1] = { 0 }, after[NFS4R_SERVERS_MAX + 1];

	note();
	for (uint32_t i = 1; i <= 8; i++) {
		struct fx *g = &told.then;

		for (int k = 0; k < 30; k++)
			change();
		note();
		assert_int_equal(nfs4r_store_checkpoint_telling(f.s, NULL, tell, NULL, after), NFS4R_OK);
		assert_int_equal(told.times, i);
		assert_memory_equal(told.stable, after, sizeof(after));
		cut(g, steps[nsteps - 1].pos);
		fx_open_ok(g);
		assert_dump(g, steps[nsteps - 1].dump);
		for (int s = 1; s <= 2; s++) {
			assert_int_equal(g->info.logs[s].stable, before[s]); /* LMDB's */
			assert_true(g->info.logs[s].applied >= after[s] && after[s] > before[s]);
		}
		fx_fini(g);
		memcpy(before, after, sizeof(before));
	}
}

static int broken_disk(void *arg)
{
	return EIO;
}

static void test_nothing_is_told_when_files_are_not_synced(void **state)
{
	uint32_t times = told.times;

	for (int k = 0; k < 30; k++)
		change();
	assert_int_equal(nfs4r_store_checkpoint_telling(f.s, broken_disk, tell, NULL, NULL), NFS4R_IO);
	assert_int_equal(told.times, times);
}

static int fail_once(void *arg)
{
	return (*(int *)arg)++ ? 0 : ENOSPC;
}

/* The kernel tells a lost page once: a later sync that finds nothing to do says nothing of it. */
static void test_files_that_could_not_be_synced_are_never_taken_for_stable(void **state)
{
	nfs4r_journal_pos lmdb = f.s->lmdb.pos;
	uint32_t times = told.times;
	int calls = 0;

	for (int k = 0; k < 30; k++)
		change();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(nfs4r_store_checkpoint_telling(f.s, fail_once, tell, &calls, NULL), NFS4R_IO);
		assert_int_equal(nfs4r_store_sync_files(f.s, fail_once, &calls), NFS4R_IO);
		assert_true(nfs4r_store_files_failed(f.s));
		change();
	}
	assert_int_equal(calls, 1);
	assert_int_equal(told.times, times);
	assert_true(f.s->lmdb.pos == lmdb);
}

/* In the same life of the machine, too, until LMDB is behind it; a stop changes nothing. */
static void test_files_that_could_not_be_synced_are_in_doubt_at_the_next_start(void **state)
{
	int calls = 0;

	for (int k = 0; k < 30; k++)
		change();
	assert_int_equal(nfs4r_store_checkpoint(f.s, fail_once, &calls, NULL), NFS4R_IO);
	for (int i = 0; i < 3; i++) {
		if (i == 1)
			fx_close(&f);
		else
			fx_crash(&f);
		fx_open_ok(&f);
		assert_true(f.info.files_failed);
		assert_false(f.info.tail_intact);
		assert_false(nfs4r_store_files_failed(f.s));
	}
	fx_checkpoint(&f);
	assert_int_equal(nfs4r_store_recovered(f.s), NFS4R_OK);
	fx_crash(&f);
	fx_open_ok(&f);
	assert_false(f.info.files_failed);
	assert_true(f.info.tail_intact);
}

/* ---- callers that share a checkpoint ---- */

static struct {
	pthread_mutex_t lock;
	_Atomic int syncing, coming, told[2];
} share = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int slow_disk(void *arg)
{
	share.syncing = 1;
	pthread_mutex_lock(&share.lock);
	pthread_mutex_unlock(&share.lock);
	return 0;
}

static void count(void *arg, const nfs4r_lsn *stable)
{
	++*(_Atomic int *)arg;
}

static void *first_caller(void *arg)
{
	return nfs4r_store_checkpoint(f.s, slow_disk, NULL, NULL) == NFS4R_OK ? arg : NULL;
}

static void *next_caller(void *arg)
{
	share.coming++;
	return nfs4r_store_checkpoint_telling(f.s, NULL, count, arg, NULL) == NFS4R_OK ? arg : NULL;
}

static void share_once(void)
{
	pthread_t t[3];
	void *ok;

	share.syncing = share.coming = 0;
	pthread_mutex_lock(&share.lock);
	assert_int_equal(pthread_create(&t[2], NULL, first_caller, &share), 0);
	while (!share.syncing)
		sched_yield();
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i], NULL, next_caller, &share.told[i]), 0);
	while (share.coming < 2)
		sched_yield();
	for (int i = 0; i < 20; i++) /* mostly they are in the call then; if not, this round shows nothing */
		sched_yield();
	pthread_mutex_unlock(&share.lock);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pthread_join(t[i], &ok), 0);
		assert_non_null(ok);
	}
}

/* Two that came during one get the next together: the one that did not run it is told, too, or whoever waits for the positions waits for ever. */
static void test_who_shares_a_checkpoint_is_told(void **state)
{
	for (int round = 1; round <= 50; round++) {
		share_once();
		assert_int_equal(share.told[0], round);
		assert_int_equal(share.told[1], round);
	}
}

static void test_random_damage_never_breaks_more_than_open(void **state)
{
	nfs4r_journal_pos end;

	run(120, 70, 0);
	end = nfs4r_store_position(f.s);
	for (int i = 0; i < 150; i++) {
		struct fx g = copy_of(i % 2 ? "boot-1" : "boot-2");
		bool found = false;
		char *is;

		for (int k = rnd(&rng) % 4; k >= 0; k--)
			overwrite(&g, rnd(&rng) % end, 1 + rnd(&rng) % 16, (int)(rnd(&rng) & 0xff));
		if (fx_open(&g) != NFS4R_OK) {
			assert_null(g.s);
			remove_dir(g.dir);
			continue;
		}
		is = dump_store(&g);
		for (uint32_t k = 0; k < nsteps && !found; k++)
			found = !strcmp(is, steps[k].dump);
		assert_true(found);
		free(is);
		fx_fini(&g);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		T(test_process_killed_anywhere),
		T(test_killed_again_and_again),
		T(test_incarnations_follow_each_other),
		T(test_where_the_journal_ended),
		T(test_power_lost_any_prefix_remains),
		T(test_power_lost_a_block_is_missing),
		T(test_power_lost_new_segments_suffer),
		T(test_damage_is_not_taken_for_a_torn_end),
		T(test_same_boot_hole_is_damage),
		T(test_same_boot_torn_last_record),
		T(test_clean_close_is_intact_after_a_reboot),
		T(test_power_lost_again_after_a_cut),
		T(test_crash_inside_a_checkpoint),
		T(test_stable_is_told_before_lmdb),
		T(test_nothing_is_told_when_files_are_not_synced),
		T(test_files_that_could_not_be_synced_are_never_taken_for_stable),
		T(test_files_that_could_not_be_synced_are_in_doubt_at_the_next_start),
		T(test_who_shares_a_checkpoint_is_told),
		T(test_random_damage_never_breaks_more_than_open),
	};

	ahead = argc > 1 && strcmp(argv[1], "laid") == 0;
	locks = argc > 1 && strcmp(argv[1], "locks") == 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
