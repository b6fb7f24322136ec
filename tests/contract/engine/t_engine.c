/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The engine with everything below it but Ganesha: three servers over loopback, plain directories, real
 * journals. What a client at one site does is seen at all sites, and the trees end up equal.
 */
#include "lib/unit.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cluster.h"
#include "engine/engine_int.h"

static void expect_content(struct site *s, const struct nfs4r_oid *dir, const char *name, const char *want)
{
	struct nfs4r_oid oid;
	char got[4096];
	uint32_t len = sizeof(got);

	assert_int_equal(site_lookup(s, dir, name, &oid), NFS4R_OK);
	assert_int_equal(site_read(s, &oid, 0, got, &len), NFS4R_OK);
	assert_int_equal(len, strlen(want));
	assert_memory_equal(got, want, len);
}

/* Close-to-open: after the close every site reads the new content at once. */
static void a_closed_file_is_seen_everywhere(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f;
	char text[32];

	assert_int_equal(site_make(&c->site[1], NFS4R_OP_CREATE, &root, "hello", &f), NFS4R_OK);
	for (int round = 0; round < 20; round++) {
		struct site *w = &c->site[1 + round % SITES];

		snprintf(text, sizeof(text), "round %04d at %d", round, w->id);
		assert_int_equal(site_write(w, &f, 0, text, (uint32_t)strlen(text)), NFS4R_OK);
		assert_int_equal(site_close(w, &f), NFS4R_OK);
		for (int i = 1; i <= SITES; i++)
			expect_content(&c->site[i], &root, "hello", text);
	}
	cluster_settle(c);
}

static void every_operation_reaches_every_site(void **state)
{
	struct cluster *c = *state;
	struct site *a = &c->site[1], *b = &c->site[2], *d = &c->site[3];
	struct nfs4r_oid root = site_root(a), dir, sub, f, t;
	struct nfs4r_attrs at = { .mask = NFS4R_ATTR_MODE | NFS4R_ATTR_MTIME | NFS4R_ATTR_SIZE, .mode = 0604, .mtime = 1234567890123456789, .size = 3 };

	assert_int_equal(site_make(a, NFS4R_OP_MKDIR, &root, "dir", &dir), NFS4R_OK);
	assert_int_equal(site_make(b, NFS4R_OP_MKDIR, &dir, "sub", &sub), NFS4R_OK);
	assert_int_equal(site_make(d, NFS4R_OP_CREATE, &sub, "f", &f), NFS4R_OK);
	assert_int_equal(site_write(d, &f, 0, "abcdef", 6), NFS4R_OK);
	assert_int_equal(site_close(d, &f), NFS4R_OK);
	assert_int_equal(site_setattr(a, &f, &at), NFS4R_OK);
	assert_int_equal(site_link(b, &f, &dir, "g"), NFS4R_OK);
	assert_int_equal(site_make(a, NFS4R_OP_SYMLINK, &dir, "sym", NULL), NFS4R_OK);
	assert_int_equal(site_make(b, NFS4R_OP_MKNOD, &dir, "fifo", NULL), NFS4R_OK);
	assert_int_equal(site_make(b, NFS4R_OP_CREATE, &dir, "old", &t), NFS4R_OK);
	assert_int_equal(site_rename(d, &sub, "f", &dir, "old"), NFS4R_OK);
	assert_int_equal(site_rename(a, &dir, "sub", &root, "moved"), NFS4R_OK);
	assert_int_equal(site_make(a, NFS4R_OP_CREATE, &dir, "old", NULL), NFS4R_EXIST);
	assert_int_equal(site_remove(b, &root, "dir"), NFS4R_NOTEMPTY);
	assert_int_equal(site_remove(b, &root, "nothing"), NFS4R_NOENT);
	assert_int_equal(site_remove(b, &root, "moved"), NFS4R_OK);
	for (int i = 1; i <= SITES; i++) {
		struct nfs4r_attrs got;

		expect_content(&c->site[i], &dir, "old", "abc");
		assert_int_equal(site_getattr(&c->site[i], &f, &got), NFS4R_OK);
		assert_int_equal(got.mode, 0604);
		assert_int_equal(got.nlink, 2);
		assert_int_equal(got.mtime, at.mtime);
		assert_int_equal(site_lookup(&c->site[i], &root, "moved", &t), NFS4R_NOENT);
	}
	cluster_settle(c);
}

struct load {
	struct cluster *c;
	int id;
	unsigned seed;
	int ops;
	pthread_t thread;
};

static void *load_thread(void *arg)
{
	struct load *l = arg;

	for (int i = 0; i < l->ops; i++)
		site_random_op(&l->c->site[l->id], &l->seed);
	return NULL;
}

static void run_load(struct cluster *c, int per_site, int ops, unsigned seed)
{
	struct load l[SITES * 4];
	int n = 0;

	for (int i = 1; i <= SITES; i++)
		for (int j = 0; j < per_site; j++, n++) {
			l[n] = (struct load){ .c = c, .id = i, .seed = seed + (unsigned)n * 7919, .ops = ops };
			assert_int_equal(pthread_create(&l[n].thread, NULL, load_thread, &l[n]), 0);
		}
	while (n-- > 0)
		pthread_join(l[n].thread, NULL);
}

static void random_work_at_all_sites_ends_equal(void **state)
{
	unsigned seed = getenv("NFS4R_SEED") ? (unsigned)atoi(getenv("NFS4R_SEED")) : (unsigned)time(NULL);

	print_message("seed %u (NFS4R_SEED=%u to repeat)\n", seed, seed);
	run_load(*state, 2, 60, seed);
	cluster_settle(*state);
}

static void a_server_that_was_away_catches_up(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f;

	assert_int_equal(site_make(&c->site[1], NFS4R_OP_CREATE, &root, "before", &f), NFS4R_OK);
	cluster_settle(c);
	for (int i = 1; i <= SITES; i++) {
		cluster_stop(c, i);
		cluster_start(c, i);
	}
	assert_int_equal(site_make(&c->site[2], NFS4R_OP_CREATE, &root, "after", &f), NFS4R_OK);
	assert_int_equal(site_write(&c->site[2], &f, 0, "xyz", 3), NFS4R_OK);
	assert_int_equal(site_close(&c->site[2], &f), NFS4R_OK);
	expect_content(&c->site[3], &root, "after", "xyz");
	run_load(c, 1, 20, 17);
	cluster_settle(c);
}

static void bytes_of_a_slow_peer_are_read_back(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f;
	char *block = calloc(1, 1 << 20);

	assert_int_equal(site_make(&c->site[1], NFS4R_OP_CREATE, &root, "big", &f), NFS4R_OK);
	for (unsigned i = 0; i < 96; i++) { /* more than payload memory and windows hold */
		memset(block, (int)('a' + i % 26), 1 << 20);
		assert_int_equal(site_write(&c->site[1], &f, (uint64_t)i << 20, block, 1 << 20), NFS4R_OK);
	}
	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	free(block);
	cluster_settle(c);
}

/* Log 3.12: one message takes longer than a heartbeat here, and what is on its way is not asked for again. */
static void a_slow_link_carries_everything_once(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f;
	struct nfs4r_rpc_peer_stats before, after;
	char *block = calloc(1, 1 << 20);

	assert_int_equal(site_make(&c->site[1], NFS4R_OP_CREATE, &root, "slow", &f), NFS4R_OK);
	cluster_settle(c);
	assert_true(nfs4r_rpc_get_stats(c->site[1].eng->rpc, 2, &before));
	pace_connections(1 << 20);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(site_write(&c->site[1], &f, (uint64_t)i << 20, block, 1 << 20), NFS4R_OK);
	free(block);
	cluster_settle(c);
	pace_connections(UINT32_MAX);
	assert_true(nfs4r_rpc_get_stats(c->site[1].eng->rpc, 2, &after));
	assert_in_range(after.bytes_sent - before.bytes_sent, 6 << 20, 7 << 20);
}

/* Rows of a message are the core's: what waits for the disk must not point to them (core.h, SEND). */
static void a_durable_message_keeps_no_pointer(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_engine *eng = c->site[1].eng;
	struct nfs4r_oid root = site_root(&c->site[1]), f;
	struct nfs4r_join_row row = { .pid = { 1, 1 }, .kind = NFS4R_PROPOSED };
	struct nfs4r_msg m = { .type = NFS4R_MSG_JOINROWS, .joinrows = { .total = 1, .n = 1, .rows = &row } };
	struct nfs4r_action a = { .type = NFS4R_ACT_SEND, .durable = true, .send = { .to = 2, .msg = &m } };
	struct nfs4r_rpc_peer_stats before, after;

	assert_int_equal(site_make(&c->site[1], NFS4R_OP_CREATE, &root, "before", &f), NFS4R_OK);
	cluster_settle(c);
	assert_true(nfs4r_rpc_get_stats(eng->rpc, 2, &before));
	assert_true(before.up);
	pthread_mutex_lock(&eng->lock);
	engine_perform(eng, &(struct nfs4r_update){ .n = 1, .actions = &a, .next_timer_ms = eng->runtime.timer.next_ms });
	row.kind = 0; /* a receiver drops the connection over this */
	pthread_mutex_unlock(&eng->lock);
	assert_int_equal(site_make(&c->site[1], NFS4R_OP_CREATE, &root, "after", &f), NFS4R_OK);
	cluster_settle(c); /* long after the journal was synced */
	assert_true(nfs4r_rpc_get_stats(eng->rpc, 2, &after));
	assert_int_equal(after.connects, before.connects);
	assert_true(after.up);
}

static void an_existing_tree_is_taken_in(void **state)
{
	struct cluster *c = calloc(1, sizeof(*c));
	struct nfs4r_oid root, dir;
	char cmd[512], why[NFS4R_WHY];

	cluster_init(c);
	snprintf(cmd, sizeof(cmd),
		 "cd %s/data1 && mkdir -p a/b && printf one >a/x && printf two >a/b/y && ln a/x a/b/x2 && ln -s ../x a/b/s && mkfifo a/p && chmod 751 a && "
		 "dd if=/dev/urandom of=a/big bs=1M count=3 2>/dev/null && touch -d '2001-02-03 04:05:06.789' a/x a/b a && setfattr -n user.k -v v a/x",
		 c->dir);
	assert_int_equal(system(cmd), 0);
	c->lease_ms = 0; /* with a lease the others are asked first: t_engine_disk.c */
	assert_int_equal(cluster_try_start(c, 1, why), NFS4R_NOTEMPTY);
	assert_non_null(strstr(why, "Import"));
	c->lease_ms = 2000;
	snprintf(cmd, sizeof(cmd), "rm -rf %s/store1", c->dir);
	assert_int_equal(system(cmd), 0);
	c->site[1].import = true;
	for (int i = 1; i <= SITES; i++)
		cluster_start(c, i);
	cluster_settle(c);
	root = site_root(&c->site[3]);
	assert_int_equal(site_lookup(&c->site[3], &root, "a", &dir), NFS4R_OK);
	expect_content(&c->site[3], &dir, "x", "one");
	snprintf(cmd, sizeof(cmd), "test \"$(getfattr --only-values -n user.k %s/data2/a/x)\" = v", c->dir);
	assert_int_equal(system(cmd), 0);
	cluster_fini(c);
	free(c);
}

/* A file that somebody put into the exported directory of one server is not overwritten by the volume's: it makes way, is kept, and that is said. */
static void a_strangers_file_is_kept(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f;

	must_shell("printf precious >%s/data2/name", c->dir);
	assert_int_equal(site_make(&c->site[1], NFS4R_OP_CREATE, &root, "name", &f), NFS4R_OK);
	assert_int_equal(site_write(&c->site[1], &f, 0, "volume", 6), NFS4R_OK);
	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	expect_content(&c->site[2], &root, "name", "volume");
	site_says(&c->site[2], "'/name' is in the exported directory and not in the volume: moved to .nfs4r-hold/stray.1", 5);
	cluster_settle(c); /* what was read may have come from site 1 */
	must_shell("test \"$(cat %s/data2/.nfs4r-hold/stray.1)\" = precious && test \"$(cat %s/data2/name)\" = volume && rm -r %s/data2/.nfs4r-hold", c->dir, c->dir, c->dir);
}

/* The disk is full in the middle of a write: the client hears it, and the bytes that were written are the same everywhere. */
static void part_of_a_write_reaches_every_site(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f;

	assert_int_equal(site_make(&c->site[1], NFS4R_OP_CREATE, &root, "part", &f), NFS4R_OK);
	assert_int_equal(site_write(&c->site[1], &f, 0, "before", 6), NFS4R_OK);
	dirlops_fail_writes(c->site[1].ops, NFS4R_NOSPC, 5, 1);
	assert_int_equal(site_write(&c->site[1], &f, 3, "0123456789", 10), NFS4R_NOSPC);
	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	for (int i = 1; i <= SITES; i++)
		expect_content(&c->site[i], &root, "part", "bef01234");
	dirlops_fail_writes(c->site[1].ops, NFS4R_NOSPC, 2, 1); /* and by way of another server */
	assert_int_equal(site_write(&c->site[1], &f, 0, "AB", 2), NFS4R_NOSPC);
	assert_int_equal(site_write(&c->site[2], &f, 8, "end", 3), NFS4R_OK);
	assert_int_equal(site_close(&c->site[2], &f), NFS4R_OK);
	for (int i = 1; i <= SITES; i++)
		expect_content(&c->site[i], &root, "part", "ABf01234end");
	cluster_settle(c);
}

static enum nfs4r_status set_acl(struct site *s, const struct nfs4r_oid *o, uint32_t len)
{
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_ACL, .acl = nfs4r_buf_new(len) };

	memset(a.acl->data, 'a', len);
	a.acl->len = len;
	return site_setattr(s, o, &a);
}

/* As if its file system were measured: dirlops has none that could be. */
static void one_block_for_attributes(struct site *s)
{
	struct nfs4r_limits l = { .xattr_max = 4000, .has = NFS4R_HAS_ALL & ~NFS4R_HAS_ROOM_EACH };
	struct nfs4r_space space = { .shared = true };
	struct nfs4r_event ev = { .type = NFS4R_EV_SPACE, .space = &space, .limits = &l };

	pthread_mutex_lock(&s->eng->lock);
	engine_step(s->eng, &ev);
	pthread_mutex_unlock(&s->eng->lock);
}

/* ext4 has one block for the ACL and all attributes of an object: what does not fit is refused, though each alone would. */
static void an_acl_and_the_attributes_share_their_room(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f, d;
	char value[3001] = "";

	for (int i = 1; i <= SITES; i++)
		one_block_for_attributes(&c->site[i]);
	memset(value, 'v', 3000);
	assert_int_equal(site_make(&c->site[1], NFS4R_OP_CREATE, &root, "f", &f), NFS4R_OK);
	assert_int_equal(site_make(&c->site[1], NFS4R_OP_MKDIR, &root, "d", &d), NFS4R_OK);
	assert_int_equal(set_acl(&c->site[1], &d, 1500), NFS4R_OK);
	assert_int_equal(set_acl(&c->site[1], &d, 2500), NFS4R_NOSPC); /* it hands it on, and keeps it */
	assert_int_equal(set_acl(&c->site[1], &f, 2500), NFS4R_OK);
	assert_int_equal(site_setxattr(&c->site[2], &f, "big", value), NFS4R_OK);
	assert_int_equal(set_acl(&c->site[1], &f, 1500), NFS4R_NOSPC);
	assert_int_equal(set_acl(&c->site[2], &f, 1500), NFS4R_NOSPC);
	assert_int_equal(set_acl(&c->site[1], &f, 300), NFS4R_OK);
	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	cluster_settle(c);
}

static struct {
	struct site *site;
	struct nfs4r_oid file;
	pthread_t writer;
	_Atomic bool answered;
	enum nfs4r_status written;
} meanwhile;

static void *write_meanwhile(void *arg)
{
	meanwhile.written = site_write(meanwhile.site, &meanwhile.file, 0, "acknowledged", 12);
	meanwhile.answered = true;
	return NULL;
}

/* The disk has no room for it, after a search in which another client is served if it may be. */
static enum nfs4r_status allocate_fails_late(void *ctx, const struct nfs4r_lhandle *h, uint64_t off, uint64_t len, bool punch, const struct nfs4r_cred *cred)
{
	pthread_create(&meanwhile.writer, NULL, write_meanwhile, NULL);
	for (int i = 0; i < 30 && !meanwhile.answered; i++)
		pause_ms(10);
	return NFS4R_NOSPC;
}

/* A failed ALLOCATE puts the file's size back: what another client writes elsewhere in the file meanwhile stays (log 3.3). */
static void a_failed_allocation_takes_nobodys_bytes(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]);
	static const struct site_hooks late = { .allocate = allocate_fails_late };

	assert_int_equal(site_make(&c->site[1], NFS4R_OP_CREATE, &root, "f", &meanwhile.file), NFS4R_OK);
	cluster_settle(c);
	meanwhile.site = &c->site[1];
	site_hook(&c->site[1], &late);
	assert_int_equal(site_allocate(&c->site[1], &meanwhile.file, 1 << 30, 1 << 20), NFS4R_NOSPC);
	pthread_join(meanwhile.writer, NULL);
	site_hook(&c->site[1], NULL);
	assert_int_equal(meanwhile.written, NFS4R_OK);
	assert_int_equal(site_close(&c->site[1], &meanwhile.file), NFS4R_OK);
	cluster_settle(c);
	for (int i = 1; i <= SITES; i++)
		expect_content(&c->site[i], &root, "f", "acknowledged");
}

/* As a client does, which comes again after DELAY. */
static void update_as(struct site *s, const struct nfs4r_oid *f, uint32_t type, uint32_t uid, uint32_t gid)
{
	struct nfs4r_op op = { .type = type, .obj = *f, .length = 3, .cred = { .uid = uid, .gid = gid } };

	if (type == NFS4R_OP_WRITE)
		op.data = nfs4r_buf_copy("new", 3);
	while (nfs4r_update(s->eng, &op, NULL, NULL) == NFS4R_DELAY)
		pause_ms(10);
	assert_int_equal(op.status, NFS4R_OK);
	nfs4r_op_fini(&op);
}

static void expect_mode(struct cluster *c, const char *name, const char *mode)
{
	char cmd[300];

	cluster_settle(c);
	for (int i = 1; i <= SITES; i++) {
		snprintf(cmd, sizeof(cmd), "test $(stat -c %%a %s/%s) = %s", c->site[i].data, name, mode);
		if (system(cmd) != 0)
			fail_msg("site %d: the mode of %s is not %s", i, name, mode);
	}
}

/* Set-id bits go when a user writes, here or by way of another server, in every copy (log 3.13). */
/* Each fits into a message, and all that a server missed do not. */
static void many_large_acls_reach_who_was_away(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f;
	static uint8_t acl[NFS4R_ACL_MAX];

	assert_int_equal(site_make(&c->site[1], NFS4R_OP_CREATE, &root, "f", &f), NFS4R_OK);
	cluster_settle(c);
	cluster_stop(c, 3);
	for (uint32_t i = 0; i < NFS4R_MESSAGE_MAX / NFS4R_ACL_MAX + 2; i++) {
		struct nfs4r_op op = { .type = NFS4R_OP_SETATTR, .obj = f, .attrs = { .mask = NFS4R_ATTR_MODE | NFS4R_ATTR_ACL, .mode = 0600 + i } };

		op.attrs.acl = nfs4r_buf_copy(acl, sizeof(acl));
		while (nfs4r_update(c->site[1].eng, &op, NULL, NULL) == NFS4R_DELAY)
			pause_ms(10);
		assert_int_equal(op.status, NFS4R_OK);
		nfs4r_op_fini(&op);
	}
	cluster_start(c, 3);
	expect_mode(c, "f", "621");
}

static void a_users_write_takes_set_ids_away(void **state)
{
	static const uint32_t types[] = { NFS4R_OP_WRITE, NFS4R_OP_ALLOCATE, NFS4R_OP_DEALLOCATE };
	struct nfs4r_attrs program = { .mask = NFS4R_ATTR_MODE, .mode = 06777 };
	struct nfs4r_attrs grouped = { .mask = NFS4R_ATTR_MODE | NFS4R_ATTR_GID, .mode = 06666, .gid = 7 };
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f;

	assert_int_equal(site_make(&c->site[1], NFS4R_OP_CREATE, &root, "f", &f), NFS4R_OK);
	nfs4r_opened(c->site[1].eng, &f); /* control stays there */
	for (int i = 1; i <= SITES; i++)
		for (int j = 0; j < 3; j++) {
			assert_int_equal(site_setattr(&c->site[1], &f, &program), NFS4R_OK);
			update_as(&c->site[i], &f, types[j], 0, 0);
			expect_mode(c, "f", "6777");
			update_as(&c->site[i], &f, types[j], 1000, 1000);
			expect_mode(c, "f", "777");
			update_as(&c->site[i], &f, types[j], 1000, 1000);
		}
	assert_int_equal(site_setattr(&c->site[1], &f, &grouped), NFS4R_OK);
	update_as(&c->site[1], &f, NFS4R_OP_WRITE, 1000, 7);
	expect_mode(c, "f", "2666"); /* no program, and the group's own */
	update_as(&c->site[1], &f, NFS4R_OP_WRITE, 1000, 8);
	expect_mode(c, "f", "666");
	nfs4r_closed(c->site[1].eng, &f);
}

/* A stable WRITE of @s: site 1, the primary, has synced its journal since it was asked for. */
static void expect_synced(struct cluster *c, struct site *s, const struct nfs4r_oid *f)
{
	struct nfs4r_store_stats before, after;
	struct nfs4r_op op = { .type = NFS4R_OP_WRITE, .obj = *f, .length = 5, .stable = true, .under_open = true };

	nfs4r_store_get_stats(c->site[1].eng->store, &before);
	op.data = nfs4r_buf_copy("again", 5);
	while (nfs4r_update(s->eng, &op, NULL, NULL) == NFS4R_DELAY)
		;
	nfs4r_store_get_stats(c->site[1].eng->store, &after);
	assert_int_equal(op.status, NFS4R_OK);
	assert_int_equal(op.primary, 1);
	assert_true(after.syncs > before.syncs);
	nfs4r_op_fini(&op);
}

/*
 * Linux says "stable" of a small file's only WRITE, and sends no COMMIT: at the primary the journal is on the disk when it is answered, here or at the server that
 * forwarded it (log 5.4).
 */
static void a_stable_write_syncs_the_journal(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f;

	assert_int_equal(site_make(&c->site[1], NFS4R_OP_CREATE, &root, "stable", &f), NFS4R_OK);
	nfs4r_opened(c->site[1].eng, &f); /* control stays there */
	for (int n = 0; n < 20; n++) {
		assert_int_equal(site_write(&c->site[1], &f, 0, "first", 5), NFS4R_OK); /* nothing waits for marks */
		expect_synced(c, &c->site[1 + n % 2], &f);
	}
	nfs4r_closed(c->site[1].eng, &f);
	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	cluster_settle(c);
}

static struct {
	struct nfs4r_engine *eng;
	const struct nfs4r_lops *in;
	_Atomic unsigned calls, waited_in_vain;
	_Atomic bool over;
} at_once;

/* A checkpoint would sync the journal, too. */
static int sync_all_afterwards(void *ctx)
{
	while (!at_once.over)
		usleep(1000);
	return at_once.in->sync_all(ctx);
}

/* A sync of a file, which takes until the journal was synced. Nobody has a reason to do that because of anything new: the engine stands still. */
static enum nfs4r_status commit_after_the_journal(void *ctx, const struct nfs4r_lhandle *h)
{
	struct nfs4r_store_stats before, now;
	int tries = 0;

	at_once.calls++;
	pthread_mutex_lock(&at_once.eng->lock);
	nfs4r_store_get_stats(at_once.eng->store, &before);
	do {
		usleep(1000);
		nfs4r_store_get_stats(at_once.eng->store, &now);
	} while (now.syncs == before.syncs && ++tries < 5000);
	pthread_mutex_unlock(&at_once.eng->lock);
	at_once.waited_in_vain += now.syncs == before.syncs;
	return at_once.in->commit(ctx, h);
}

/* More than the journal keeps (log 4.10). */
static char large[20000];

/* Log 5.4: of a large stable WRITE, and of a COMMIT, file and journal are synced at the same time, and both before it is answered. */
static void file_and_journal_are_synced_at_once(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_engine *eng = c->site[1].eng;
	struct nfs4r_oid root = site_root(&c->site[1]), f;
	static const struct site_hooks hooks = { .commit = commit_after_the_journal, .sync_all = sync_all_afterwards };
	enum nfs4r_status stable, written, committed;

	assert_int_equal(site_make(&c->site[1], NFS4R_OP_CREATE, &root, "f", &f), NFS4R_OK);
	cluster_settle(c);
	at_once.eng = eng;
	at_once.in = site_unhooked(&c->site[1]);
	site_hook(&c->site[1], &hooks);
	stable = site_write_stable(&c->site[1], &f, 0, large, sizeof(large));
	written = site_write(&c->site[1], &f, 0, "again", 5);
	committed = site_commit(&c->site[1], &f);
	at_once.over = true;
	site_hook(&c->site[1], NULL);
	assert_int_equal(stable, NFS4R_OK);
	assert_int_equal(written, NFS4R_OK);
	assert_int_equal(committed, NFS4R_OK);
	assert_int_equal(at_once.calls, 2);
	assert_int_equal(at_once.waited_in_vain, 0);
	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	cluster_settle(c);
}

/* A file that cannot be synced is no stable one, though it was written. What the journal keeps needs no sync of the file (log 4.10). */
static enum nfs4r_status commit_fails(void *ctx, const struct nfs4r_lhandle *h)
{
	return NFS4R_IO;
}

static void a_stable_write_hears_that_its_file_is_not_synced(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid root = site_root(&c->site[1]), f;
	static const struct site_hooks hooks = { .commit = commit_fails };

	assert_int_equal(site_make(&c->site[1], NFS4R_OP_CREATE, &root, "f", &f), NFS4R_OK);
	cluster_settle(c);
	site_hook(&c->site[1], &hooks);
	assert_int_equal(site_write_stable(&c->site[1], &f, 0, "small", 5), NFS4R_OK);
	assert_int_equal(site_write_stable(&c->site[1], &f, 0, large, sizeof(large)), NFS4R_IO);
	site_hook(&c->site[1], NULL);
	assert_int_equal(site_setattr(&c->site[1], &f, &(struct nfs4r_attrs){ .mask = NFS4R_ATTR_SIZE }), NFS4R_OK);
	assert_int_equal(site_write_stable(&c->site[1], &f, 0, "other", 5), NFS4R_OK);
	assert_int_equal(site_close(&c->site[1], &f), NFS4R_OK);
	cluster_settle(c);
	expect_content(&c->site[2], &root, "f", "other");
}

/* While the WRITE is executed a peer turns out to have started anew: what was forwarded to it may have died. */
static enum nfs4r_status verifier_moves(void *arg, struct nfs4r_op *op, struct nfs4r_exec *x)
{
	struct nfs4r_engine *eng = arg;

	pthread_mutex_lock(&eng->lock);
	eng->runtime.peer_inc[2]++;
	engine_update_verifier(eng);
	pthread_mutex_unlock(&eng->lock);
	return eng->ops->write(eng->ctx, &x->obj, op->offset, op->data->data, op->data->len, op->stable, NULL);
}

/* Log 5.3: with the newer one the client would believe that its WRITE came after whatever made it change. */
static void a_write_has_the_verifier_from_before(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_engine *eng = c->site[1].eng;
	struct nfs4r_oid root = site_root(&c->site[1]), f;
	struct nfs4r_op op = { .type = NFS4R_OP_WRITE, .length = 1, .under_open = true };
	uint64_t before;

	assert_int_equal(site_make(&c->site[1], NFS4R_OP_CREATE, &root, "f", &f), NFS4R_OK);
	cluster_settle(c);
	op.obj = f;
	op.data = nfs4r_buf_copy("x", 1);
	do
		before = nfs4r_verifier(eng);
	while (nfs4r_update(eng, &op, verifier_moves, eng) == NFS4R_DELAY);
	assert_int_equal(op.status, NFS4R_OK);
	assert_true(nfs4r_verifier(eng) != before);
	assert_true(op.verifier == before);
	nfs4r_op_fini(&op);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_closed_file_is_seen_everywhere, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(every_operation_reaches_every_site, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(random_work_at_all_sites_ends_equal, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_server_that_was_away_catches_up, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(bytes_of_a_slow_peer_are_read_back, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_slow_link_carries_everything_once, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_strangers_file_is_kept, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_stable_write_syncs_the_journal, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(file_and_journal_are_synced_at_once, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_stable_write_hears_that_its_file_is_not_synced, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_write_has_the_verifier_from_before, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(part_of_a_write_reaches_every_site, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(an_acl_and_the_attributes_share_their_room, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_failed_allocation_takes_nobodys_bytes, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(many_large_acls_reach_who_was_away, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_users_write_takes_set_ids_away, cluster_setup, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_durable_message_keeps_no_pointer, cluster_setup, cluster_teardown),
		cmocka_unit_test(an_existing_tree_is_taken_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
