/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Bytes that an owner is asked for and that the asker's copy has, or is about to have, are not sent twice (control 6.3), and are those that the owner
 * would have sent. And what is not found in a database that cannot be read is not called absent.
 */
#include "lib/unit.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "engine/engine_int.h"
#include "engine/read/read_int.h"
#include "steps.h"
#include "store/internal.h"

#define MIB (1u << 20)

static char block[4 * MIB];

static int begin(void **state)
{
	struct cluster *c = cluster_new();

	c->idle_ms = 600000; /* the writer keeps control */
	return cluster_begin(c, state);
}

/* Until server 1 is asked for the file: for a moment nobody may know (0), while a view or the table changes. */
static void wait_asked(struct site *s, const struct nfs4r_oid *f)
{
	for (int tries = 0; nfs4r_read_server(s->eng, f) != 1; tries++) {
		assert_true(tries < 2000);
		pause_ms(5);
	}
}

static struct nfs4r_oid big_file(struct cluster *c, unsigned mib)
{
	struct nfs4r_oid root = site_root(&c->site[1]), f;

	assert_int_equal(site_make(&c->site[1], NFS4R_OP_CREATE, &root, "big", &f), NFS4R_OK);
	nfs4r_opened(c->site[1].eng, &f);
	for (unsigned i = 0; i < mib; i++) {
		memset(block, (int)('a' + i), MIB);
		assert_int_equal(site_write(&c->site[1], &f, (uint64_t)i * MIB, block, MIB), NFS4R_OK);
	}
	cluster_settle(c);
	wait_asked(&c->site[2], &f);
	return f;
}

static void expect_piece(struct site *s, const struct nfs4r_oid *f, unsigned i, char want)
{
	uint32_t len = MIB;

	assert_int_equal(site_read(s, f, (uint64_t)i * MIB, block, &len), NFS4R_OK);
	assert_int_equal(len, MIB);
	assert_int_equal(block[0], want);
	assert_memory_equal(block, block + 1, MIB - 1);
}

static uint64_t sent(struct cluster *c)
{
	struct nfs4r_rpc_peer_stats s;

	assert_true(nfs4r_rpc_get_stats(c->site[1].eng->rpc, 2, &s));
	return s.bytes_sent;
}

static nfs4r_version version_at(struct site *s, const struct nfs4r_oid *f)
{
	struct nfs4r_row row;

	assert_int_equal(nfs4r_store_row(s->eng->store, f, &row), NFS4R_KNOWN);
	return row.version;
}

static void bytes_that_are_here_are_not_sent_twice(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = big_file(c, 8);
	uint64_t before = sent(c);

	for (unsigned i = 0; i < 8; i++)
		expect_piece(&c->site[2], &f, i, (char)('a' + i));
	assert_int_equal(c->site[2].eng->read.promised, 8);
	assert_in_range(sent(c) - before, 1, MIB / 4);
}

/* The copy is behind by an update of one piece. The others are read at once, and this one as it is now. */
static void a_piece_is_read_before_the_copy_has_the_next(void **state)
{
	struct cluster *c = *state;
	struct site *asker = &c->site[2];
	struct nfs4r_oid f = big_file(c, 8);
	nfs4r_version old = version_at(asker, &f);

	memset(block, 'X', MIB);
	pace_connections(128u << 10); /* that takes eight seconds, or as long as a question */
	assert_int_equal(site_write(&c->site[1], &f, 5 * MIB, block, MIB), NFS4R_OK);
	for (unsigned i = 0; i < 5; i++)
		expect_piece(asker, &f, i, (char)('a' + i));
	assert_int_equal(asker->eng->read.promised, 5);
	assert_int_equal(version_at(asker, &f), old);
	pace_connections(UINT32_MAX);
	expect_piece(asker, &f, 5, 'X');
	expect_piece(asker, &f, 7, 'h');
	cluster_settle(c);
}

static void wait_for_lock(struct nfs4r_engine *eng, void *lock)
{
	pthread_mutex_lock(lock);
	pthread_mutex_unlock(lock);
}

/* Nobody of the pool does anything until @still, which is held from here on, is unlocked. */
static void stand_still(struct pool *p, uint32_t threads, pthread_mutex_t *still)
{
	pthread_mutex_lock(still);
	for (uint32_t i = 0; i < threads; i++)
		engine_pool_run(p, wait_for_lock, still);
}

/* What does not come while one waits is asked for, and the owner is not waited for again soon. */
static void bytes_that_do_not_come_are_asked_for(void **state)
{
	struct cluster *c = *state;
	struct site *asker = &c->site[2];
	struct nfs4r_oid f = big_file(c, 2);
	pthread_mutex_t still = PTHREAD_MUTEX_INITIALIZER; /* nothing is applied there */

	memset(block, 'X', MIB);
	stand_still(asker->eng->replicate.appliers, asker->eng->cfg.appliers, &still);
	assert_int_equal(site_write(&c->site[1], &f, 0, block, MIB), NFS4R_OK);
	expect_piece(asker, &f, 0, 'X');
	assert_int_equal(asker->eng->read.promised, 0);
	pthread_mutex_unlock(&still);
	cluster_settle(c);
	expect_piece(asker, &f, 0, 'X');
	assert_int_equal(asker->eng->read.promised, 0);
}

/* ---- closed files ---- */

static int begin_closing(void **state)
{
	return cluster_begin(cluster_new(), state);
}

static nfs4r_lsn closed_at(struct site *s, const struct nfs4r_oid *f)
{
	pthread_mutex_lock(&s->eng->lock);
	nfs4r_lsn at = nfs4r_core_closed_at(s->eng->core, f, 1).lsn;
	pthread_mutex_unlock(&s->eng->lock);
	return at;
}

static uint64_t asked_of(struct site *s)
{
	struct nfs4r_core_stats st;

	pthread_mutex_lock(&s->eng->lock);
	nfs4r_core_get_stats(s->eng->core, &st);
	pthread_mutex_unlock(&s->eng->lock);
	return st.reads_served;
}

/* Control 7.10: it still travels, and is read as it comes, for one question. */
static void a_closed_file_is_read_as_it_comes(void **state)
{
	struct cluster *c = *state;
	struct site *owner = &c->site[1], *asker = &c->site[2];
	struct nfs4r_oid root = site_root(owner), f;

	assert_int_equal(site_make(owner, NFS4R_OP_CREATE, &root, "big", &f), NFS4R_OK);
	cluster_settle(c);
	pace_connections(1u << 20); /* six seconds for all of it */
	nfs4r_opened(owner->eng, &f);
	for (unsigned i = 0; i < 6; i++) {
		memset(block, (int)('a' + i), MIB);
		assert_int_equal(site_write(owner, &f, (uint64_t)i * MIB, block, MIB), NFS4R_OK);
	}
	assert_int_equal(site_close(owner, &f), NFS4R_OK);
	nfs4r_closed(owner->eng, &f);
	for (int tries = 0; !closed_at(asker, &f); tries++) {
		assert_true(tries < 2000);
		pause_ms(1);
	}

	uint64_t asked = asked_of(owner), before = sent(c);
	for (unsigned i = 0; i < 6; i++)
		expect_piece(asker, &f, i, (char)('a' + i));
	assert_in_range(asked_of(owner) - asked, 1, 2);
	assert_in_range(sent(c) - before, 1, 6 * MIB + MIB / 2);
	assert_in_range(asker->eng->read.promised, 4, 6); /* the last ones may be here as a whole */
	pace_connections(UINT32_MAX);
	cluster_settle(c);
}

/* ---- directories ---- */

struct looking {
	struct site *s;
	struct nfs4r_oid dir, found;
	enum nfs4r_status st;
	atomic_bool over;
	pthread_t thread;
};

static void *look(void *arg)
{
	struct looking *l = arg;

	l->st = site_lookup(l->s, &l->dir, "file", &l->found);
	l->over = true;
	return NULL;
}

/* As when it has answered a READ of another server: its control of @dir, which it does not update, is about to end. */
static void is_read(struct site *s, const struct nfs4r_oid *dir)
{
	pthread_mutex_lock(&s->eng->lock);
	assert_true(nfs4r_core_served(s->eng->core, dir));
	engine_step(s->eng, &(struct nfs4r_event){ .type = NFS4R_EV_TICK });
	pthread_mutex_unlock(&s->eng->lock);
}

/* Control 7.10: the owner does not come to answer, and ends its control, since others read and it does not update. */
static void a_question_under_way_is_answered_here(void **state)
{
	struct cluster *c = *state;
	struct site *owner = &c->site[1], *asker = &c->site[2];
	struct nfs4r_oid root = site_root(owner), f;
	struct looking l = { .s = asker };
	static pthread_mutex_t still = PTHREAD_MUTEX_INITIALIZER; /* server 1 answers nothing */

	asker->eng->cfg.op_wait_ms = 30000; /* it does not ask once more */
	assert_int_equal(site_make(owner, NFS4R_OP_MKDIR, &root, "d", &l.dir), NFS4R_OK);
	assert_int_equal(site_make(owner, NFS4R_OP_CREATE, &l.dir, "file", &f), NFS4R_OK);
	wait_asked(asker, &l.dir);

	uint64_t local = asker->eng->read.local;
	stand_still(owner->eng->runtime.executors, owner->eng->cfg.executors, &still);
	wait_queued(owner->eng, 0);
	assert_int_equal(pthread_create(&l.thread, NULL, look, &l), 0);
	wait_queued(owner->eng, 1); /* the question */
	is_read(owner, &l.dir);
	for (int tries = 0; tries < 10000 && !l.over; tries++)
		pause_ms(1);
	bool over = l.over; /* before the owner can answer */
	pthread_mutex_unlock(&still);
	pthread_join(l.thread, NULL);
	assert_true(over);
	assert_int_equal(l.st, NFS4R_OK);
	assert_true(nfs4r_oid_eq(&l.found, &f));
	assert_int_equal(asker->eng->read.local, local); /* it has not been asked once more */
	cluster_settle(c);
}

static nfs4r_version told_of(struct site *s, const struct nfs4r_oid *oid)
{
	pthread_mutex_lock(&s->eng->lock);
	nfs4r_version told = nfs4r_core_closed_at(s->eng->core, oid, 1).owner_version;
	pthread_mutex_unlock(&s->eng->lock);
	return told;
}

#define QUESTIONS 6

/* Control 6.9: whatever of a directory a client was told, and that there is no such name, too, is read at the owner until the copy has it. */
static void what_is_told_of_names_is_noted(void **state)
{
	static const struct {
		uint32_t type;
		const char *name;
		enum nfs4r_status st;
	} question[QUESTIONS] = {
		{ NFS4R_RD_LOOKUP, "none", NFS4R_NOENT },
		{ NFS4R_RD_LOOKUP, "file", NFS4R_OK },
		{ NFS4R_RD_READDIR, "", NFS4R_OK },
		{ NFS4R_RD_LOOKUPP, "", NFS4R_OK },
		{ NFS4R_RD_GETXATTR, "user.none", NFS4R_NOXATTR },
		{ NFS4R_RD_LISTXATTR, "", NFS4R_OK },
	};
	struct cluster *c = *state;
	struct site *owner = &c->site[1], *asker = &c->site[2];
	struct nfs4r_oid root = site_root(owner), d, f;
	enum nfs4r_status st[QUESTIONS];
	nfs4r_version told[QUESTIONS], there[QUESTIONS];
	static pthread_mutex_t still = PTHREAD_MUTEX_INITIALIZER; /* nothing is applied there */

	assert_int_equal(site_make(owner, NFS4R_OP_MKDIR, &root, "d", &d), NFS4R_OK);
	assert_int_equal(site_make(owner, NFS4R_OP_CREATE, &d, "file", &f), NFS4R_OK);
	cluster_settle(c);
	wait_asked(asker, &d);
	stand_still(asker->eng->replicate.appliers, asker->eng->cfg.appliers, &still);
	for (unsigned i = 0; i < QUESTIONS; i++) {
		struct nfs4r_read rd = { .type = question[i].type, .oid = d };
		char name[16];
		bool local = true;

		snprintf(name, sizeof(name), "new%u", i);
		st[i] = site_make(owner, NFS4R_OP_CREATE, &d, name, NULL);
		snprintf(rd.name, sizeof(rd.name), "%s", question[i].name);
		if (st[i] == NFS4R_OK)
			st[i] = nfs4r_read(asker->eng, &rd, &local);
		nfs4r_read_fini(&rd);
		told[i] = local ? 0 : told_of(asker, &d);
		there[i] = version_at(owner, &d);
	}
	nfs4r_version here = version_at(asker, &d);

	pthread_mutex_unlock(&still);
	for (unsigned i = 0; i < QUESTIONS; i++) {
		assert_int_equal(st[i], question[i].st);
		assert_true(here < told[i]);
		assert_int_equal(told[i], there[i]);
	}
	cluster_settle(c);
	assert_int_equal(told_of(asker, &d), 0);
}

/* ---- two at once ---- */

struct writing {
	struct site *s;
	struct nfs4r_op op;
	struct writing *after; /* whose bytes are written first */
	atomic_bool begun, written;
	pthread_t thread;
};

static enum nfs4r_status write_in_turn(void *arg, struct nfs4r_op *op, struct nfs4r_exec *x)
{
	struct writing *w = arg;

	w->begun = true;
	while (w->after && !w->after->written)
		pause_ms(1);
	enum nfs4r_status st = w->s->eng->ops->write(w->s->eng->ctx, &x->obj, op->offset, op->data->data, op->data->len, false, NULL);

	w->written = true;
	return st;
}

static void *write_one(void *arg)
{
	struct writing *w = arg;

	assert_int_equal(nfs4r_update(w->s->eng, &w->op, write_in_turn, w), NFS4R_OK);
	return NULL;
}

static void begin_write(struct writing *w, struct site *s, const struct nfs4r_oid *f, uint64_t off, uint32_t len, char fill)
{
	w->s = s;
	w->op = (struct nfs4r_op){ .type = NFS4R_OP_WRITE, .obj = *f, .offset = off, .length = len, .data = nfs4r_buf_new(len) };
	memset(w->op.data->data, fill, len);
	w->op.data->len = len;
	assert_int_equal(pthread_create(&w->thread, NULL, write_one, w), 0);
	while (!w->begun)
		pause_ms(1);
}

static void end_write(struct writing *w)
{
	pthread_join(w->thread, NULL);
	nfs4r_op_fini(&w->op);
}

/* An update is executed before the one that makes the file a large one, and has a newer version. */
static void a_small_write_overtakes_the_first_large_one(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = big_file(c, 1);
	struct writing small = { 0 }, large = { .after = &small };

	pace_connections(128u << 10);
	begin_write(&large, &c->site[1], &f, 3 * MIB, MIB / 4, 'L');
	begin_write(&small, &c->site[1], &f, 0, MIB / 4, 'S');
	end_write(&small);
	end_write(&large);

	uint32_t len = MIB / 4;
	assert_int_equal(site_read(&c->site[2], &f, 0, block, &len), NFS4R_OK);
	assert_int_equal(len, MIB / 4);
	assert_int_equal(block[0], 'S');
	pace_connections(UINT32_MAX);
	cluster_settle(c);
}

/* ---- whatever is done to the file ---- */

struct model {
	uint64_t size;
	char b[12 * MIB];
};

static void resize(struct model *m, uint64_t size)
{
	if (size > m->size)
		memset(m->b + m->size, 0, size - m->size);
	m->size = size;
}

static void change(struct site *s, const struct nfs4r_oid *f, struct model *m, unsigned *seed)
{
	uint64_t off = rand_r(seed) % (8 * MIB), len = 1 + rand_r(seed) % (2 * MIB);
	struct nfs4r_attrs a = { .mask = NFS4R_ATTR_SIZE, .size = off };

	switch (rand_r(seed) % 6) {
	case 0:
		assert_int_equal(site_setattr(s, f, &a), NFS4R_OK);
		resize(m, off);
		return;
	case 1:
		assert_int_equal(site_punch(s, f, off, len), NFS4R_OK);
		if (off < m->size)
			memset(m->b + off, 0, off + len < m->size ? len : m->size - off);
		return;
	default:
		memset(block, 1 + rand_r(seed) % 250, len);
		assert_int_equal(site_write(s, f, off, block, (uint32_t)len), NFS4R_OK);
		if (off + len > m->size)
			resize(m, off + len);
		memcpy(m->b + off, block, len);
	}
}

static void expect_model(struct site *s, const struct nfs4r_oid *f, const struct model *m, unsigned *seed)
{
	uint64_t off = rand_r(seed) % (9 * MIB);
	uint32_t len = 1 + rand_r(seed) % (3 * MIB), want = off >= m->size ? 0 : m->size - off < len ? (uint32_t)(m->size - off) :
												       len;

	assert_int_equal(site_read(s, f, off, block, &len), NFS4R_OK);
	assert_int_equal(len, want);
	assert_memory_equal(block, m->b + off, want);
}

static void a_read_has_all_that_was_done_before_it(void **state)
{
	struct cluster *c = *state;
	struct nfs4r_oid f = big_file(c, 3);
	struct model *m = calloc(1, sizeof(*m));
	unsigned seed = 7;

	assert_non_null(m);
	m->size = 3 * MIB;
	for (unsigned i = 0; i < 3; i++)
		memset(m->b + i * MIB, (int)('a' + i), MIB);
	pace_connections(24u << 20); /* the copies are behind now and then */
	for (int i = 0; i < 150; i++) {
		for (int n = 1 + i % 3; n; n--)
			change(&c->site[1], &f, m, &seed);
		expect_model(&c->site[2 + i % 2], &f, m, &seed);
	}
	pace_connections(UINT32_MAX);
	assert_true(c->site[2].eng->read.promised > 10);
	assert_true(c->site[2].eng->read.promised < c->site[2].eng->read.remote);
	free(m);
	cluster_settle(c);
}

/* Many closes of one file, each of which is seen by who reads after it, though some of it may still travel. */
static void a_read_has_all_that_was_closed_before_it(void **state)
{
	struct cluster *c = *state;
	struct site *writer = &c->site[1];
	struct nfs4r_oid root = site_root(writer), f;
	struct model *m = calloc(1, sizeof(*m));
	unsigned seed = 11;

	assert_non_null(m);
	assert_int_equal(site_make(writer, NFS4R_OP_CREATE, &root, "f", &f), NFS4R_OK);
	cluster_settle(c);
	pace_connections(8u << 20);
	for (int i = 0; i < 80; i++) {
		nfs4r_opened(writer->eng, &f);
		for (int n = 1 + i % 4; n; n--)
			change(writer, &f, m, &seed);
		assert_int_equal(site_close(writer, &f), NFS4R_OK);
		nfs4r_closed(writer->eng, &f);
		if (i % 2)
			pause_ms(30); /* until the close is announced, about */
		for (int n = 0; n < 4; n++)
			expect_model(&c->site[2], &f, m, &seed);
		expect_model(&c->site[3], &f, m, &seed);
	}
	pace_connections(UINT32_MAX);
	free(m);
	cluster_settle(c);
}

static enum nfs4r_status here(struct site *s, uint32_t type, const struct nfs4r_oid *oid, const char *name, bool copy)
{
	struct nfs4r_read rd = { .type = type, .oid = *oid };

	strcpy(rd.name, name);
	enum nfs4r_status st = copy ? read_copy_here(s->eng, &rd) : nfs4r_read_here(s->eng, &rd);
	nfs4r_read_fini(&rd);
	return st;
}

static void a_database_that_cannot_be_read(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[1];
	struct nfs4r_oid root = site_root(s), f = make(s, NFS4R_OP_CREATE, &root, "f"), none;

	nfs4r_oid_make(&none, 2, 99, 99); /* may be on its way from server 2 */
	cluster_settle(c); /* the server has nothing to write meanwhile */
	for (int failed = 0; failed < 2; failed++) {
		atomic_store(&s->eng->store->jnl.failed, failed);
		assert_int_equal(here(s, NFS4R_RD_LOOKUP, &root, "f", false), NFS4R_OK);
		assert_int_equal(here(s, NFS4R_RD_GETATTR, &f, "", false), NFS4R_OK);
		assert_int_equal(here(s, NFS4R_RD_LOOKUP, &root, "nobody", false), failed ? NFS4R_DELAY : NFS4R_NOENT);
		assert_int_equal(here(s, NFS4R_RD_READDIR, &root, "", false), failed ? NFS4R_DELAY : NFS4R_OK);
		assert_int_equal(here(s, NFS4R_RD_GETATTR, &none, "", false), failed ? NFS4R_DELAY : NFS4R_UNKNOWN);
		assert_int_equal(here(s, NFS4R_RD_GETATTR, &none, "", true), failed ? NFS4R_DELAY : NFS4R_UNKNOWN);
		assert_int_equal(here(s, NFS4R_RD_OIDS, &(struct nfs4r_oid){ 0 }, "", true), failed ? NFS4R_DELAY : NFS4R_OK);
	}
	atomic_store(&s->eng->store->jnl.failed, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(bytes_that_are_here_are_not_sent_twice, begin, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_piece_is_read_before_the_copy_has_the_next, begin, cluster_teardown),
		cmocka_unit_test_setup_teardown(bytes_that_do_not_come_are_asked_for, begin, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_closed_file_is_read_as_it_comes, begin_closing, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_read_has_all_that_was_closed_before_it, begin_closing, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_question_under_way_is_answered_here, begin, cluster_teardown),
		cmocka_unit_test_setup_teardown(what_is_told_of_names_is_noted, begin, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_small_write_overtakes_the_first_large_one, begin, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_read_has_all_that_was_done_before_it, begin, cluster_teardown),
		cmocka_unit_test_setup_teardown(a_database_that_cannot_be_read, begin, cluster_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
