/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What is under way when a server stops or halts: each operation of a client ends once, the stop ends, too, forwarded operations are given back, and what is answered
 * too late is an answer to nothing. Each server has one executor, which a test keeps busy.
 */
#include "lib/unit.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cluster.h"
#include "engine/resync/resync_int.h"
#include "engine/engine_int.h"
#include "steps.h"
#include "store/internal.h"

/* ---- what keeps an executor busy ---- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool entered, open;
} gate = { .lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER };

static void pass(void)
{
	pthread_mutex_lock(&gate.lock);
	gate.entered = true;
	pthread_cond_broadcast(&gate.cond);
	while (!gate.open)
		pthread_cond_wait(&gate.cond, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
}

static void pass_task(struct nfs4r_engine *eng, void *arg)
{
	pass();
}

static void wait_entered(void)
{
	pthread_mutex_lock(&gate.lock);
	while (!gate.entered)
		pthread_cond_wait(&gate.cond, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
}

static void open_gate(void)
{
	pthread_mutex_lock(&gate.lock);
	gate.open = true;
	pthread_cond_broadcast(&gate.cond);
	pthread_mutex_unlock(&gate.lock);
}

static int begin(void **state, bool machines, uint32_t checkpoint_ms)
{
	struct cluster *c = cluster_new();

	c->machines = machines;
	if (checkpoint_ms)
		c->checkpoint_ms = checkpoint_ms;
	gate.entered = gate.open = false;
	c->executors = 1;
	c->lease_ms = 0; /* nobody is removed */
	c->idle_ms = 600000;
	int rc = cluster_begin(c, state);

	for (int s = 1; s <= 3; s++) /* they serve then (log 6.13); a test may mute one of them at once */
		for (int i = 0; i < 2000 && !c->site[s].eng->runtime.keys.n; i++)
			pause_ms(5);
	return rc;
}

static int setup(void **state)
{
	return begin(state, false, 0);
}

static int setup_machines(void **state)
{
	return begin(state, true, 0);
}

/* Checkpoints are taken only when a test says so. */
static int setup_still(void **state)
{
	return begin(state, true, 600000);
}

static int teardown(void **state)
{
	open_gate();
	return cluster_teardown(state);
}

/* ---- operations ---- */

struct request {
	struct nfs4r_op op;
	_Atomic int ended;
};

static void ended(void *arg, struct nfs4r_op *op)
{
	((struct request *)arg)->ended++;
}

static enum nfs4r_status execute_late(void *arg, struct nfs4r_op *op, struct nfs4r_exec *x)
{
	pass();
	return NFS4R_NOSPC;
}

static struct request *begin_write(struct site *s, const struct nfs4r_oid *f)
{
	struct request *r = calloc(1, sizeof(*r));

	r->op = (struct nfs4r_op){ .type = NFS4R_OP_WRITE, .obj = *f, .length = 4, .under_open = true };
	r->op.data = nfs4r_buf_copy("late", 4);
	nfs4r_update_async(s->eng, &r->op, NULL, NULL, ended, r);
	return r;
}

static struct request *begin_create(struct site *s, const char *name, nfs4r_exec_fn execute)
{
	struct request *r = calloc(1, sizeof(*r));

	r->op = (struct nfs4r_op){ .type = NFS4R_OP_CREATE, .dir = site_root(s), .client = (uint64_t)(uintptr_t)r };
	nfs4r_name_set(&r->op.name, name, strlen(name));
	nfs4r_update_async(s->eng, &r->op, execute, NULL, ended, r);
	return r;
}

static void expect_ended_once(struct request *r)
{
	assert_int_equal(r->ended, 1);
	nfs4r_op_fini(&r->op);
	free(r);
}

/* As the import does: nobody will ask again, and no retry would be recognised. */
static void *update_here(void *arg)
{
	struct nfs4r_op op = { .type = NFS4R_OP_CREATE };

	nfs4r_root(arg, &op.dir);
	nfs4r_name_set(&op.name, "made", 4);
	uintptr_t st = nfs4r_update(arg, &op, NULL, NULL);
	nfs4r_op_fini(&op);
	return (void *)st;
}

static void *join(pthread_t t)
{
	struct timespec until;
	void *ret;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 60;
	assert_int_equal(pthread_timedjoin_np(t, &ret, &until), 0);
	return ret;
}

/* ---- the stop ---- */

static void *stop(void *arg)
{
	struct site *s = arg;

	cluster_stop(s->cluster, s->id);
	return NULL;
}

static bool is_frozen(struct nfs4r_engine *eng)
{
	pthread_mutex_lock(&eng->lock);
	bool is = eng->door.frozen;
	pthread_mutex_unlock(&eng->lock);
	return is;
}

/* The server stops while its executor is busy; the gate opens when the core makes no more steps. */
static void stop_while_busy(struct site *s)
{
	struct nfs4r_engine *eng = s->eng;
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, stop, s), 0);
	while (!is_frozen(eng))
		pause_ms(5);
	pause_ms(100); /* the stop goes as far as it can without the executor */
	open_gate();
	join(t);
}

static void halt(struct site *s)
{
	pthread_mutex_lock(&s->eng->lock);
	engine_halt(s->eng, "the test says so");
	pthread_mutex_unlock(&s->eng->lock);
}

static void wait_made(struct site *s, const char *name)
{
	char path[160];
	int i = 0;

	snprintf(path, sizeof(path), "%s/%s", s->data, name);
	while (i++ < 2000 && access(path, F_OK) != 0)
		pause_ms(5);
	assert_int_equal(access(path, F_OK), 0);
}

/* It is done, and an executor is to hand it over. Another server's waits to be executed. */
static void what_waits_for_an_executor_ends_once(void **state)
{
	struct cluster *c = *state;
	struct site *a = &c->site[1], *b = &c->site[2];

	site_mute(&c->site[3], true); /* its ack is awaited */
	struct request *mine = begin_create(a, "mine", NULL);
	wait_made(b, "mine");
	engine_pool_run(a->eng->runtime.executors, pass_task, NULL);
	wait_entered();
	assert_int_equal(mine->ended, 0);
	site_mute(&c->site[3], false);
	wait_queued(a->eng, 1);
	struct request *other = begin_create(b, "other", NULL);
	wait_queued(a->eng, 2);
	stop_while_busy(a);
	expect_ended_once(mine);
	cluster_stop(c, 2);
	expect_ended_once(other);
}

/* One is being executed, another one is to be. Nobody else ends at that moment. */
static void what_is_executed_at_the_stop_ends_once(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[1];
	struct request *first = begin_create(s, "first", execute_late), *second = begin_create(s, "second", execute_late);

	wait_entered();
	wait_queued(s->eng, 1);
	stop_while_busy(s);
	expect_ended_once(first);
	expect_ended_once(second);
}

/* A request of a client holds up the end of Ganesha, which comes before the stop. */
static void what_a_halted_server_waits_for_is_asked_again(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[1];

	site_mute(&c->site[3], true); /* its ack is awaited */
	struct request *r = begin_create(s, "made", NULL);
	wait_made(&c->site[2], "made");
	assert_int_equal(r->ended, 0);
	halt(s);
	for (int i = 0; i < 2000 && !r->ended; i++)
		pause_ms(5);
	assert_int_equal(r->ended, 1);
	assert_int_equal(r->op.status, NFS4R_DELAY);
	cluster_stop(c, 1);
	expect_ended_once(r);
}

/* A thread of the engine's own or of Ganesha. The stop of the engine waits for the first, and Ganesha's for the second. */
static void what_a_thread_waits_for_ends_with_a_halt(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[1];
	pthread_t t;

	site_mute(&c->site[3], true); /* its ack is awaited */
	assert_int_equal(pthread_create(&t, NULL, update_here, s->eng), 0);
	wait_made(&c->site[2], "made");
	halt(s);
	assert_int_equal((uintptr_t)join(t), NFS4R_DELAY);
}

static bool has_active(struct nfs4r_engine *eng)
{
	pthread_mutex_lock(&eng->lock);
	bool has = eng->update.active != NULL;
	pthread_mutex_unlock(&eng->lock);
	return has;
}

/* Nothing of it has begun: it is cancelled, and the thread that waits is the only one that ends it. */
static void what_has_not_begun_ends_with_a_halt(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[1];
	pthread_t t;

	site_mute(&c->site[2], true); /* no majority gives control of the root */
	site_mute(&c->site[3], true);
	assert_int_equal(pthread_create(&t, NULL, update_here, s->eng), 0);
	for (int i = 0; i < 2000 && !has_active(s->eng); i++)
		pause_ms(5);
	assert_true(has_active(s->eng));
	halt(s);
	assert_int_equal((uintptr_t)join(t), NFS4R_DELAY);
	cluster_stop(c, 1);
}

static void what_a_thread_waits_for_ends_with_a_stop(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[1];
	pthread_t t, stops;

	site_mute(&c->site[3], true);
	assert_int_equal(pthread_create(&t, NULL, update_here, s->eng), 0);
	wait_made(&c->site[2], "made");
	engine_pool_run(s->eng->resync.repairs, pass_task, NULL); /* the stop comes no further than to it */
	wait_entered();
	assert_int_equal(pthread_create(&stops, NULL, stop, s), 0);
	assert_int_equal((uintptr_t)join(t), NFS4R_DELAY);
	open_gate();
	join(stops);
}

static bool has_forwarded(struct nfs4r_engine *eng)
{
	pthread_mutex_lock(&eng->lock);
	bool has = eng->update.remotes != NULL;
	pthread_mutex_unlock(&eng->lock);
	return has;
}

/* A forwarded operation that is to be executed, and nothing is executed any more: it belongs to nobody else. */
static void what_a_mute_server_does_not_execute_is_given_back(void **state)
{
	struct cluster *c = *state;
	struct site *a = &c->site[1], *b = &c->site[2];
	struct nfs4r_oid root = site_root(a), f = make_file(a, &root, "f", "text");

	cluster_settle(c);
	site_mute(a, true); /* as a halt does, and a loss of power; what the core had heard before it still makes actions */
	struct request *r = begin_write(b, &f);
	for (int i = 0; i < 2000 && !has_forwarded(a->eng); i++)
		pause_ms(5);
	assert_true(has_forwarded(a->eng));
	assert_int_equal(r->ended, 0);
	cluster_stop(c, 1); /* a sanitizer says what is lost now */
	cluster_stop(c, 2);
	expect_ended_once(r);
}

/* ---- questions of a former life ---- */

struct question {
	struct nfs4r_read rd;
	_Atomic int ended;
	bool local;
};

static void answered(void *arg, struct nfs4r_read *rd, bool local)
{
	struct question *q = arg;

	q->local = local;
	q->ended++;
}

static void ask(struct site *s, struct question *q)
{
	nfs4r_read_async(s->eng, &q->rd, answered, q);
}

/* It starts anew, and would ask @owner about @f. */
static void restart(struct site *s, const struct nfs4r_oid *f, struct site *owner)
{
	struct nfs4r_rpc_peer_stats st = { .up = false };

	cluster_stop(s->cluster, s->id);
	cluster_start(s->cluster, s->id);
	for (int i = 0; i < 2000; i++) {
		if (nfs4r_read_server(s->eng, f) == owner->id && nfs4r_rpc_get_stats(s->eng->rpc, owner->id, &st) && st.up &&
		    nfs4r_rpc_get_stats(owner->eng->rpc, s->id, &st) && st.up)
			return;
		pause_ms(5);
	}
	fail_msg("server %d does not find its owner again", s->id);
}

static struct nfs4r_engine *_Atomic slow_commits; /* here an executor waits at the gate with a COMMIT of another server, once */

bool __wrap_update_commit_is_asked(const struct nfs4r_engine *eng);
bool __real_update_commit_is_asked(const struct nfs4r_engine *eng);

bool __wrap_update_commit_is_asked(const struct nfs4r_engine *eng)
{
	if (eng == slow_commits) {
		slow_commits = NULL;
		pass();
	}
	return __real_update_commit_is_asked(eng);
}

/*
 * Control 6.3: an owner answers late, and who asked has started anew meanwhile and asks for something else. Both are the first question of a life, and the late
 * answer comes first. The old question is under way: one that waits for an executor would go with its asker's connection (control 6.11).
 */
static void a_late_answer_is_not_that_to_another_question(void **state)
{
	struct cluster *c = *state;
	struct site *asker = &c->site[1], *owner = &c->site[3];
	struct nfs4r_oid root = site_root(owner), f = make_file(owner, &root, "f", "old"), g = make_file(owner, &root, "g", "new");
	struct question old = { .rd = { .type = NFS4R_RD_COMMIT, .oid = f } }, new = { .rd = { .type = NFS4R_RD_READ, .oid = g, .length = 10 } };

	cluster_settle(c);
	restart(asker, &f, owner);
	slow_commits = owner->eng;
	ask(asker, &old);
	wait_entered();
	restart(asker, &g, owner);
	assert_int_equal(old.ended, 1);
	assert_int_not_equal(old.rd.status, NFS4R_OK);
	ask(asker, &new);
	wait_queued(owner->eng, 1);
	open_gate();
	for (int i = 0; i < 2000 && !new.ended; i++)
		pause_ms(5);
	assert_int_equal(new.ended, 1);
	assert_false(new.local);
	assert_int_equal(new.rd.status, NFS4R_OK);
	assert_non_null(new.rd.data);
	assert_int_equal(new.rd.data->len, 3);
	assert_memory_equal(new.rd.data->data, "new", 3);
	nfs4r_read_fini(&old.rd);
	nfs4r_read_fini(&new.rd);
}

/* ---- a full journal ---- */

#define BIG 3000 /* bytes of an INTENT that does not fit */
#define ROOM 2000

struct making {
	struct nfs4r_engine *eng;
	struct nfs4r_oid dir;
	bool big;
	_Atomic bool ended;
};

static void *make_one(void *arg)
{
	struct making *m = arg;
	struct nfs4r_op op = { .type = m->big ? NFS4R_OP_SYMLINK : NFS4R_OP_CREATE, .dir = m->dir };

	nfs4r_name_set(&op.name, "made", 4);
	if (m->big) {
		op.text = malloc(BIG + 1);
		memset(op.text, 'x', BIG);
		op.text[BIG] = '\0';
	}
	nfs4r_update(m->eng, &op, NULL, NULL);
	nfs4r_op_fini(&op);
	m->ended = true;
	return NULL;
}

/* The first INTENT finds no room. When its thread lets go of the engine's lock a second update, which needs less, goes as far as it can. */
static struct {
	struct nfs4r_engine *_Atomic eng; /* NULL: nobody looks */
	struct making second;
	pthread_t first_thread, second_thread;
	_Atomic bool failed, began, has;
} full;

enum nfs4r_status __real_nfs4r_store_intent(struct nfs4r_store *s, const struct nfs4r_entry *e, nfs4r_journal_pos *sync_first);
enum nfs4r_status __wrap_nfs4r_store_intent(struct nfs4r_store *s, const struct nfs4r_entry *e, nfs4r_journal_pos *sync_first);
int __real_pthread_mutex_unlock(pthread_mutex_t *m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m);

enum nfs4r_status __wrap_nfs4r_store_intent(struct nfs4r_store *s, const struct nfs4r_entry *e, nfs4r_journal_pos *sync_first)
{
	enum nfs4r_status st = __real_nfs4r_store_intent(s, e, sync_first);
	struct nfs4r_engine *eng = full.eng;

	if (!eng || s != eng->store)
		return st;
	if (st != NFS4R_OK && !full.failed) {
		full.first_thread = pthread_self();
		full.failed = true;
	} else if (full.failed) {
		s->jnl.fail_after = 1; /* from here on nothing fits */
		full.has = st == NFS4R_OK;
	}
	return st;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
	int rc = __real_pthread_mutex_unlock(m);
	struct nfs4r_engine *eng = full.eng;

	if (!eng || !full.failed || full.began || m != &eng->lock || !pthread_equal(pthread_self(), full.first_thread))
		return rc;
	full.began = true;
	assert_int_equal(pthread_create(&full.second_thread, NULL, make_one, &full.second), 0);
	while (!full.has && !full.second.ended)
		pause_ms(1);
	return rc;
}

/* Log 4.2, 4.8: an LSN that has neither INTENT nor COMMIT has none behind it that has one: nobody would ever fill it, and all wait for it. */
static void no_update_begins_behind_one_that_found_no_room(void **state)
{
	struct cluster *c = *state;
	struct site *s = &c->site[1];
	struct nfs4r_oid root = site_root(s), one = make(s, NFS4R_OP_MKDIR, &root, "one"), two = make(s, NFS4R_OP_MKDIR, &root, "two");
	struct making first = { .eng = s->eng, .dir = one, .big = true };
	enum nfs4r_status st = NFS4R_DELAY;

	make_file(s, &one, "old", "one"); /* control is here */
	make_file(s, &two, "old", "two");
	cluster_settle(c);
	pthread_mutex_lock(&s->eng->lock);
	full.second = (struct making){ .eng = s->eng, .dir = two };
	s->eng->store->jnl.fail_after = s->eng->store->jnl.appended + ROOM;
	full.eng = s->eng;
	pthread_mutex_unlock(&s->eng->lock);
	make_one(&first);
	assert_true(full.began);
	join(full.second_thread);
	full.failed = false;
	full.eng = NULL;
	cluster_stop(c, 1);
	cluster_start(c, 1);
	make_file(s, &one, "new", "goes on");
	for (int i = 0; i < 10 && st == NFS4R_DELAY; i++)
		st = nfs4r_store_sync_whole(s->eng->store);
	assert_int_equal(st, NFS4R_OK);
	cluster_settle(c);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* ---- what a stop says of the disk ---- */

static _Atomic unsigned syncs;
static _Atomic int sync_answers;

static int sync_all_counted(void *ctx)
{
	(void)ctx;
	syncs++;
	return sync_answers;
}

/* A halted server takes no last checkpoint. It starts again in another life of its machine. */
static struct site *stop_without_a_checkpoint(struct cluster *c, int answer)
{
	static const struct site_hooks hooks = { .sync_all = sync_all_counted };
	struct site *s = &c->site[3];

	cluster_settle(c);
	sync_answers = answer;
	pthread_mutex_lock(&s->eng->lock);
	engine_halt(s->eng, "the test says so");
	site_hook(s, &hooks);
	pthread_mutex_unlock(&s->eng->lock);
	syncs = 0;
	cluster_stop(c, 3);
	assert_true(syncs > 0);
	snprintf(s->boot, sizeof(s->boot), "another boot");
	cluster_start(c, 3);
	return s;
}

/* Log 4.1, 4.10: the run ended in order, so no crash of the machine after it puts anything in doubt. Then all must be on the disk. */
static void a_stop_syncs_the_files(void **state)
{
	struct site *s = stop_without_a_checkpoint(*state, 0);

	assert_null(s->eng->resync.doubt);
	cluster_settle(*state);
}

static void a_stop_that_cannot_sync_them_is_none_in_order(void **state)
{
	struct site *s = stop_without_a_checkpoint(*state, EIO);

	assert_non_null(s->eng->resync.doubt);
	assert_true(s->eng->resync.doubt->machine);
	site_says(s, "the exported directory had not been synced", 10);
	cluster_settle(*state);
}

/* ---- a disk that says once what it has lost ---- */

static struct {
	const struct nfs4r_engine *at_stop; /* not before this one stops */
	_Atomic int answer; /* to the next one; 0 after that */
} once;

static int sync_all_fails_once(void *ctx)
{
	(void)ctx;
	return once.at_stop && !once.at_stop->door.stopping ? 0 : atomic_exchange(&once.answer, 0);
}

static struct site *fail_once(struct cluster *c, int answer, bool at_stop)
{
	static const struct site_hooks hooks = { .sync_all = sync_all_fails_once };
	struct site *s = &c->site[3];

	cluster_settle(c);
	once.at_stop = at_stop ? s->eng : NULL;
	once.answer = answer;
	site_hook(s, &hooks);
	return s;
}

/* Its machine lives on, or starts anew after that. What was in the files since LMDB's position is in doubt. */
static void expect_doubt(struct cluster *c, struct site *s, const char *boot)
{
	cluster_stop(c, 3);
	assert_int_equal(once.answer, 0);
	snprintf(s->boot, sizeof(s->boot), "%s", boot);
	cluster_start(c, 3);
	assert_non_null(s->eng->resync.doubt);
	assert_true(s->eng->resync.doubt->machine);
	cluster_settle(c);
}

/* Log 4.8: the next one finds nothing to do, and says so. */
static void a_file_system_that_lost_pages_halts(void **state, int answer)
{
	struct cluster *c = *state;
	struct site *s = fail_once(c, answer, false);

	engine_checkpoint_wake(s->eng, true);
	site_says(s, "this server stops serving", 10);
	expect_doubt(c, s, "another boot");
	site_says(s, "the exported directory could not be synced", 1);
}

static void a_broken_file_system_halts(void **state)
{
	a_file_system_that_lost_pages_halts(state, EIO);
}

static void a_file_system_that_turns_out_to_be_full_halts(void **state)
{
	a_file_system_that_lost_pages_halts(state, ENOSPC);
}

/* The machine lives on, and its memory has what the disk lacks. */
static struct {
	struct site *s;
	struct nfs4r_lhandle of;
	_Atomic uint32_t times;
	enum nfs4r_status (*write)(void *ctx, const struct nfs4r_lhandle *obj, uint64_t off, const void *bytes, uint32_t len, bool stable, const struct nfs4r_cred *cred);
} again;

static enum nfs4r_status write_counted(void *ctx, const struct nfs4r_lhandle *obj, uint64_t off, const void *bytes, uint32_t len, bool stable, const struct nfs4r_cred *cred)
{
	if (ctx == again.s->ops && obj->len == again.of.len && !memcmp(obj->b, again.of.b, obj->len) && !off && len == 4 && !memcmp(bytes, "text", 4))
		again.times++;
	return again.write(ctx, obj, off, bytes, len, stable, cred);
}

static bool is_noted(const struct site *s)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/files-failed", s->store);
	return access(path, F_OK) == 0;
}

static void what_is_in_memory_only_is_written_again(void **state)
{
	struct nfs4r_lops *table = (struct nfs4r_lops *)(uintptr_t)power_table(); /* a start takes it from there */
	struct cluster *c = *state;
	struct site *s = fail_once(c, 0, false);
	struct nfs4r_oid root = site_root(&c->site[1]), f = make_file(&c->site[1], &root, "f", "text");

	cluster_settle(c);
	nfs4r_handle(s->eng, &f, &again.of);
	once.answer = EIO;
	engine_checkpoint_wake(s->eng, true);
	site_says(s, "the exported directory could not be synced", 10);
	assert_true(is_noted(s));
	again.s = s;
	again.times = 0;
	again.write = table->write;
	table->write = write_counted;
	expect_doubt(c, s, "boot 0");
	site_says(s, "nothing is in doubt any more", 10);
	table->write = again.write;
	assert_int_equal(again.times, 1);
	assert_false(is_noted(s));
	expect_content(s, &f, "text");
	cluster_stop(c, 3);
	cluster_start(c, 3);
	assert_null(s->eng->resync.doubt);
}

static void pages_that_are_lost_at_the_stop(void **state)
{
	expect_doubt(*state, fail_once(*state, EIO, true), "another boot");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_waits_for_an_executor_ends_once),
		T(what_is_executed_at_the_stop_ends_once),
		T(what_a_halted_server_waits_for_is_asked_again),
		T(what_a_thread_waits_for_ends_with_a_halt),
		T(what_has_not_begun_ends_with_a_halt),
		T(what_a_thread_waits_for_ends_with_a_stop),
		T(what_a_mute_server_does_not_execute_is_given_back),
		T(a_late_answer_is_not_that_to_another_question),
		T(no_update_begins_behind_one_that_found_no_room),
		cmocka_unit_test_setup_teardown(a_stop_syncs_the_files, setup_machines, teardown),
		cmocka_unit_test_setup_teardown(a_stop_that_cannot_sync_them_is_none_in_order, setup_machines, teardown),
		cmocka_unit_test_setup_teardown(a_broken_file_system_halts, setup_machines, teardown),
		cmocka_unit_test_setup_teardown(a_file_system_that_turns_out_to_be_full_halts, setup_machines, teardown),
		cmocka_unit_test_setup_teardown(what_is_in_memory_only_is_written_again, setup_still, teardown),
		cmocka_unit_test_setup_teardown(pages_that_are_lost_at_the_stop, setup_machines, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
