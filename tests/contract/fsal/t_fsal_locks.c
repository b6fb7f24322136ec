/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Locks from Ganesha's list (SAL/state_lock.c, as it is) down to the module's table (FSAL_REPL/locks.c), and the notices on their way up. The module's thread runs; the time is the test's. What
 * Ganesha does on a thread of its own with a notice, the test does when it likes.
 */
#include "lib/sal_locks.h"

#include "client_mgr.h"
#include "hashtable.h"
#include "repl.h"

#define START_MS 1000
#define SOON_MS 10 /* the second notice */
#define RESERVED_MS 5000

/* ---- time, and a thread that rests ---- */

static uint64_t clock_ms = START_MS;
static pthread_cond_t *cond; /* what the thread waits for, */
static pthread_mutex_t *mutex; /* under that */
static bool resting; /* it does; under mutex */
static pthread_cond_t rested = PTHREAD_COND_INITIALIZER;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int __real_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __wrap_pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *until);
int __real_pthread_cond_signal(pthread_cond_t *c);
int __wrap_pthread_cond_signal(pthread_cond_t *c);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	uint64_t now = __atomic_load_n(&clock_ms, __ATOMIC_RELAXED);

	*ts = (struct timespec){ .tv_sec = (time_t)(now / 1000), .tv_nsec = (long)(now % 1000) * 1000000 };
	return 0;
}

int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	cond = c;
	mutex = m;
	resting = true;
	pthread_cond_broadcast(&rested);
	return __real_pthread_cond_wait(c, m);
}

int __wrap_pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *until)
{
	return (uint64_t)until->tv_sec * 1000 + (uint64_t)until->tv_nsec / 1000000 > __atomic_load_n(&clock_ms, __ATOMIC_RELAXED) ? __wrap_pthread_cond_wait(c, m) : ETIMEDOUT;
}

int __wrap_pthread_cond_signal(pthread_cond_t *c)
{
	if (c == cond)
		resting = false;
	return __real_pthread_cond_signal(c);
}

static void until_it_rests(void)
{
	pthread_mutex_lock(mutex);
	while (!resting)
		__real_pthread_cond_wait(&rested, mutex);
	pthread_mutex_unlock(mutex);
}

static void pass(uint64_t ms)
{
	pthread_mutex_lock(mutex);
	__atomic_fetch_add(&clock_ms, ms, __ATOMIC_RELAXED);
	resting = false;
	__real_pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
	until_it_rests();
}

/* ---- the module's surroundings ---- */

struct repl_module repl_module;

bool repl_wait_ready(struct repl_export *e)
{
	return true;
}

static bool fs_supports(struct fsal_export *e, fsal_fsinfo_options_t option)
{
	return option == fso_lock_support || option == fso_lock_support_async_block;
}

static void no_ref(struct fsal_obj_handle *obj)
{
}

static void (*before_it_is_listed)(void); /* once, between our answer and Ganesha's list */

static fsal_status_t lock_op2(struct fsal_obj_handle *h, struct state_t *state, void *owner, fsal_lock_op_t op, fsal_lock_param_t *request, fsal_lock_param_t *conflict)
{
	fsal_status_t st = repl_lock_op2(h, state, owner, op, request, conflict);
	void (*hook)(void) = before_it_is_listed;

	before_it_is_listed = NULL;
	if (hook != NULL)
		hook();
	return st;
}

static struct fsal_obj_ops obj_ops = { .lock_op2 = lock_op2, .get_ref = no_ref, .put_ref = no_ref };
static struct state_hdl hdl;
static struct repl_obj file = { .handle = { .type = REGULAR_FILE, .obj_ops = &obj_ops, .state_hdl = &hdl }, .oid = { { 1 } } };
static struct repl_export exp_;
static struct gsh_export gsh;
static struct req_op_context context;
static nfs_request_t request; /* of a client */

static uint32_t notices; /* up to Ganesha */

static state_status_t lock_avail(const struct fsal_up_vector *up, struct gsh_buffdesc *key, void *owner, fsal_lock_param_t *lock)
{
	assert_memory_equal(key->addr, &file.oid, sizeof(file.oid));
	__atomic_fetch_add(&notices, 1, __ATOMIC_RELAXED);
	available_blocked_lock_upcall(&file.handle, owner, lock);
	return STATE_SUCCESS;
}

static struct fsal_up_vector up = { .lock_avail = lock_avail };

/* ---- Ganesha's thread for notices ---- */

static state_lock_entry_t *scheduled[64];
static uint32_t nscheduled; /* atomic; written by the module's thread, which rests when it is read */

state_status_t state_block_schedule(state_lock_entry_t *entry)
{
	assert_true(nscheduled < 64);
	scheduled[nscheduled++] = entry;
	return STATE_SUCCESS;
}

static char called_back[16]; /* the owners, in order */

static state_status_t call_back(struct fsal_obj_handle *obj, state_lock_entry_t *entry)
{
	strncat(called_back, entry->sle_owner->so_owner_val, 1);
	entry->sle_block_data->sbd_prot.sbd_v4.snbd_notified_eligible_time = 1;
	return STATE_SUCCESS;
}

/* Who was called back since the last time. */
static const char *notified(void)
{
	static char out[16];

	until_it_rests();
	for (uint32_t i = 0; i < nscheduled; i++) {
		process_blocked_lock_upcall(scheduled[i]);
		lock_entry_dec_ref(scheduled[i]);
	}
	nscheduled = 0;
	strcpy(out, called_back);
	called_back[0] = '\0';
	return out;
}

/* ---- clients ---- */

static nfs_client_id_t client_41, client_40;

static struct who {
	state_owner_t owner;
	state_t state;
} a, b, c, old; /* old: with NFSv4.0 */

static void born(struct who *who, char *name, nfs_client_id_t *client)
{
	memset(who, 0, sizeof(*who));
	PTHREAD_MUTEX_init(&who->owner.so_mutex, NULL);
	glist_init(&who->owner.so_lock_list);
	who->owner.so_type = STATE_LOCK_OWNER_NFSV4;
	who->owner.so_owner_val = name;
	who->owner.so_owner_len = 1;
	who->owner.so_owner.so_nfs4_owner.so_clientrec = client;
	who->owner.so_owner.so_nfs4_owner.so_clientid = client->cid_clientid;
	PTHREAD_MUTEX_init(&who->state.state_mutex, NULL);
	who->state.state_type = STATE_TYPE_LOCK;
	who->state.state_refcount = 100;
	who->state.state_owner = &who->owner;
	who->state.state_obj = &file.handle;
	glist_init(&who->state.state_data.lock.state_locklist);
}

/* Ganesha's table of clients, in which one has a name and an address. */
static struct gsh_client host = { .hostaddr_str = "::ffff:10.0.1.2" };

struct hash_table *ht_confirmed_client_id;

hash_error_t hashtable_getlatch(struct hash_table *ht, const struct gsh_buffdesc *key, struct gsh_buffdesc *value, bool may_write, struct hash_latch *latch)
{
	if (*(clientid4 *)key->addr != client_41.cid_clientid)
		return HASHTABLE_ERROR_NO_SUCH_KEY;
	value->addr = &client_41;
	return HASHTABLE_SUCCESS;
}

void hashtable_releaselatched(struct hash_table *ht, struct hash_latch *latch)
{
}

static int set_up(void **unused)
{
	client_41.cid_minorversion = 1;
	client_41.cid_clientid = 41;
	client_40.cid_minorversion = 0;
	client_40.cid_clientid = 40;
	born(&a, "a", &client_41);
	born(&b, "b", &client_41);
	born(&c, "c", &client_41);
	born(&old, "o", &client_40);
	memset(&gsh, 0, sizeof(gsh));
	memset(&exp_, 0, sizeof(exp_));
	PTHREAD_MUTEX_init(&hdl.st_lock, NULL);
	glist_init(&hdl.file.lock_list);
	hdl.file.obj = &file.handle;
	PTHREAD_RWLOCK_init(&gsh.exp_lock, NULL);
	glist_init(&gsh.exp_lock_list);
	gsh.export_status = EXPORT_READY;
	gsh.refcnt = 100;
	gsh.fsal_export = &exp_.export;
	exp_.export.exp_ops.fs_supports = fs_supports;
	exp_.export.up_ops = &up;
	context = (struct req_op_context){ .ctx_export = &gsh, .fsal_export = &exp_.export, .nfs_reqdata = &request };
	op_ctx = &context;
	repl_module.cfg.lock_max = 1000;
	notices = 0;
	assert_true(repl_locks_init(&exp_, repl_module.cfg.lock_max));
	resting = false;
	cond = NULL;
	assert_true(repl_locks_start(&exp_));
	while (__atomic_load_n(&mutex, __ATOMIC_ACQUIRE) == NULL || __atomic_load_n(&cond, __ATOMIC_ACQUIRE) == NULL)
		sched_yield();
	until_it_rests();
	return 0;
}

static state_status_t ask(struct who *who, fsal_lock_t type, uint64_t start, uint64_t length, state_blocking_t blocking)
{
	fsal_lock_param_t want = { .lock_type = type, .lock_start = start, .lock_length = length }, conflict;
	state_block_data_t *block = gsh_calloc(1, sizeof(*block));
	state_owner_t *holder = NULL;
	state_status_t status;

	block->sbd_granted_callback = call_back;
	STATELOCK_lock(&file.handle);
	status = state_lock(&file.handle, &who->owner, &who->state, blocking, LOCK_NFSv4, &block, &want, &holder, &conflict);
	STATELOCK_unlock(&file.handle);
	gsh_free(block);
	return status;
}

static state_status_t wait_for(struct who *who)
{
	return ask(who, FSAL_LOCK_W, 0, 10, STATE_BLOCKING);
}

static void give_back(struct who *who)
{
	fsal_lock_param_t all = { .lock_type = FSAL_LOCK_R };

	assert_int_equal(state_unlock(&file.handle, &who->state, &who->owner, false, 0, &all), STATE_SUCCESS);
}

/* All clients have ended. */
static int tear_down(void **unused)
{
	struct who *const all[] = { &a, &b, &c, &old };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		give_back(all[i]);
	(void)notified();
	assert_int_equal(glist_length(&hdl.file.lock_list), 0);
	repl_locks_end(&exp_);
	mutex = NULL;
	repl_locks_fini(&exp_);
	return 0;
}

/* As Ganesha does itself, every two lease times, for one that waits. */
static state_status_t tested_by_ganesha(struct who *who)
{
	fsal_lock_param_t want = { .lock_type = FSAL_LOCK_W, .lock_start = 0, .lock_length = 10 };
	state_status_t status;

	context.nfs_reqdata = NULL;
	status = state_test(&file.handle, &who->state, &who->owner, &want, NULL, NULL);
	context.nfs_reqdata = &request;
	return status;
}

/* ---- tests ---- */

static void a_lock_goes_to_the_next_when_it_is_given_back(void **unused)
{
	assert_int_equal(wait_for(&a), STATE_SUCCESS);
	assert_int_equal(wait_for(&b), STATE_LOCK_BLOCKED);
	assert_int_equal(wait_for(&c), STATE_LOCK_BLOCKED);
	assert_string_equal(notified(), "");
	give_back(&a);
	assert_string_equal(notified(), "b");
	assert_int_equal(wait_for(&c), STATE_LOCK_BLOCKED);
	assert_int_equal(wait_for(&b), STATE_SUCCESS);
	give_back(&b);
	assert_string_equal(notified(), "c");
	assert_int_equal(wait_for(&c), STATE_SUCCESS);
}

static void a_gives_back(void)
{
	fsal_lock_param_t all = { .lock_type = FSAL_LOCK_R };

	assert_int_equal(repl_lock_op2(&file.handle, &a.state, &a.owner, FSAL_OP_UNLOCK, &all, NULL).major, ERR_FSAL_NO_ERROR);
	until_it_rests();
	assert_int_equal(notices, 1);
}

/* Ganesha lists who waits after we have answered. A notice before that is lost, and the next one is not. */
static void a_notice_that_comes_too_early_comes_again(void **unused)
{
	assert_int_equal(wait_for(&a), STATE_SUCCESS);
	before_it_is_listed = a_gives_back;
	assert_int_equal(wait_for(&b), STATE_LOCK_BLOCKED);
	assert_string_equal(notified(), "");
	pass(SOON_MS);
	assert_int_equal(notices, 2);
	assert_string_equal(notified(), "b");
	assert_int_equal(wait_for(&b), STATE_SUCCESS);
	pass(10 * RESERVED_MS);
	assert_int_equal(notices, 2);
}

static void a_client_that_does_not_come_is_waited_for_a_few_seconds(void **unused)
{
	assert_int_equal(wait_for(&a), STATE_SUCCESS);
	assert_int_equal(wait_for(&b), STATE_LOCK_BLOCKED);
	assert_int_equal(wait_for(&c), STATE_LOCK_BLOCKED);
	give_back(&a);
	assert_string_equal(notified(), "b");
	pass(RESERVED_MS - 1);
	assert_string_equal(notified(), "");
	pass(1);
	assert_string_equal(notified(), "c");
	assert_int_equal(wait_for(&b), STATE_LOCK_BLOCKED); /* too late */
	assert_int_equal(wait_for(&c), STATE_SUCCESS);
	give_back(&c);
	assert_string_equal(notified(), "b");
	assert_int_equal(wait_for(&b), STATE_SUCCESS);
}

static void nobody_waits_for_a_client_with_nfsv4_0(void **unused)
{
	assert_int_equal(wait_for(&a), STATE_SUCCESS);
	assert_int_equal(wait_for(&old), STATE_LOCK_BLOCKED);
	assert_int_equal(wait_for(&b), STATE_LOCK_BLOCKED);
	give_back(&a);
	assert_string_equal(notified(), "b");
	assert_int_equal(wait_for(&old), STATE_LOCK_BLOCKED);
	assert_int_equal(wait_for(&b), STATE_SUCCESS);
	give_back(&b);
	assert_string_equal(notified(), "o"); /* Ganesha's callback tells it nothing (patches/0011): it asks by itself */
	assert_int_equal(wait_for(&c), STATE_SUCCESS);
	assert_int_equal(wait_for(&old), STATE_LOCK_BLOCKED);
	give_back(&c);
	assert_string_equal(notified(), "o");
	assert_int_equal(wait_for(&old), STATE_SUCCESS);
}

static void who_gives_up_waiting_keeps_nobody_waiting(void **unused)
{
	assert_int_equal(wait_for(&a), STATE_SUCCESS);
	assert_int_equal(wait_for(&b), STATE_LOCK_BLOCKED);
	assert_int_equal(wait_for(&c), STATE_LOCK_BLOCKED);
	give_back(&a);
	assert_string_equal(notified(), "b");
	give_back(&b); /* its process has ended: Ganesha cancels */
	assert_string_equal(notified(), "c");
	assert_int_equal(wait_for(&c), STATE_SUCCESS);
}

/* A lease that has ended, or a close: no request of a client is under way. */
static void what_ganesha_takes_back_itself_is_given_to_the_next(void **unused)
{
	assert_int_equal(wait_for(&a), STATE_SUCCESS);
	assert_int_equal(wait_for(&b), STATE_LOCK_BLOCKED);
	context.nfs_reqdata = NULL;
	STATELOCK_lock(&file.handle);
	state_unlock_all(&file.handle, &a.state);
	STATELOCK_unlock(&file.handle);
	context.nfs_reqdata = &request;
	assert_string_equal(notified(), "b");
	assert_int_equal(wait_for(&b), STATE_SUCCESS);
}

/* Else it would notify one whose turn it is not. */
static void ganeshas_own_test_says_that_it_is_not_free(void **unused)
{
	fsal_lock_param_t want = { .lock_type = FSAL_LOCK_W, .lock_start = 0, .lock_length = 10 };

	assert_int_equal(wait_for(&a), STATE_SUCCESS);
	assert_int_equal(wait_for(&b), STATE_LOCK_BLOCKED);
	assert_int_equal(tested_by_ganesha(&b), STATE_LOCK_CONFLICT);
	/* We have lost it: it is queued by the test, and has its turn. */
	assert_int_equal(repl_lock_op2(&file.handle, &b.state, &b.owner, FSAL_OP_CANCEL, &want, NULL).major, ERR_FSAL_NO_ERROR);
	give_back(&a);
	assert_string_equal(notified(), "");
	assert_int_equal(tested_by_ganesha(&b), STATE_LOCK_CONFLICT);
	assert_string_equal(notified(), "b");
	assert_int_equal(wait_for(&b), STATE_SUCCESS);
}

static void a_client_that_tests_hears_what_is_in_the_way(void **unused)
{
	fsal_lock_param_t want = { .lock_type = FSAL_LOCK_R, .lock_start = 5, .lock_length = 1 }, conflict = { 0 };

	assert_int_equal(repl_lock_op2(&file.handle, NULL, &b.owner, FSAL_OP_LOCKT, &want, &conflict).major, ERR_FSAL_NO_ERROR);
	assert_int_equal(conflict.lock_type, FSAL_NO_LOCK);
	assert_int_equal(ask(&a, FSAL_LOCK_W, 3, 0, STATE_NON_BLOCKING), STATE_SUCCESS);
	assert_int_equal(repl_lock_op2(&file.handle, NULL, &b.owner, FSAL_OP_LOCKT, &want, &conflict).major, ERR_FSAL_ACCESS);
	assert_int_equal(conflict.lock_type, FSAL_LOCK_W);
	assert_int_equal(conflict.lock_start, 3);
	assert_int_equal(conflict.lock_length, 0);
	assert_int_equal(repl_lock_op2(&file.handle, NULL, &a.owner, FSAL_OP_LOCKT, &want, &conflict).major, ERR_FSAL_NO_ERROR);
}

static void beyond_the_bound_a_lock_is_refused_and_one_that_is_given_back_makes_room(void **unused)
{
	for (uint64_t i = 0; i < repl_module.cfg.lock_max; i++)
		assert_int_equal(ask(&a, FSAL_LOCK_W, 2 * i, 1, STATE_NON_BLOCKING), STATE_SUCCESS);
	assert_int_equal(ask(&a, FSAL_LOCK_W, 5000, 1, STATE_NON_BLOCKING), STATE_MALLOC_ERROR);
	assert_int_equal(ask(&b, FSAL_LOCK_W, 0, 1, STATE_BLOCKING), STATE_MALLOC_ERROR);
	give_back(&a);
	assert_int_equal(ask(&b, FSAL_LOCK_W, 5000, 1, STATE_NON_BLOCKING), STATE_SUCCESS);
}

static void a_report_says_whose_the_locks_are(void **unused)
{
	struct nfs4r_lock_info rows[4];
	struct nfs4r_locks_count n;
	char record[sizeof(nfs_client_record_t) + 8] __attribute__((aligned(16))) = { 0 };

	((nfs_client_record_t *)record)->cr_client_val_len = 5;
	memcpy(((nfs_client_record_t *)record)->cr_client_val, "a\0bcd", 5);
	client_41.cid_client_record = (nfs_client_record_t *)record;
	client_41.gsh_client = &host;
	assert_int_equal(ask(&a, FSAL_LOCK_W, 10, 5, STATE_NON_BLOCKING), STATE_SUCCESS);
	assert_int_equal(ask(&old, FSAL_LOCK_R, 0, 0, STATE_BLOCKING), STATE_LOCK_BLOCKED);
	pass(1500);
	repl_lops_count_locks(&exp_, &n);
	assert_int_equal(n.ranges, 1);
	assert_int_equal(n.waiting, 1);
	assert_int_equal(repl_lops_locks(&exp_, NULL, rows, 1), 2);
	assert_int_equal(repl_lops_locks(&exp_, &file.oid, rows, 4), 2);
	assert_int_equal(rows[0].state, NFS4R_LOCK_SET);
	assert_int_equal(rows[0].lock.start, 10);
	assert_int_equal(rows[0].lock.last, 14);
	assert_int_equal(rows[0].age_ms, 1500);
	assert_string_equal(rows[0].client, "a bcd");
	assert_string_equal(rows[0].address, "10.0.1.2");
	assert_int_equal(rows[1].state, NFS4R_LOCK_WAITING);
	assert_true(rows[1].lock.last == UINT64_MAX);
	assert_string_equal(rows[1].client, ""); /* gone */
	give_back(&old);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(a_lock_goes_to_the_next_when_it_is_given_back),
		T(a_notice_that_comes_too_early_comes_again),
		T(a_client_that_does_not_come_is_waited_for_a_few_seconds),
		T(nobody_waits_for_a_client_with_nfsv4_0),
		T(who_gives_up_waiting_keeps_nobody_waiting),
		T(what_ganesha_takes_back_itself_is_given_to_the_next),
		T(ganeshas_own_test_says_that_it_is_not_free),
		T(a_client_that_tests_hears_what_is_in_the_way),
		T(beyond_the_bound_a_lock_is_refused_and_one_that_is_given_back_makes_room),
		T(a_report_says_whose_the_locks_are),
	};

	assert_int_equal(state_lock_init(), STATE_SUCCESS);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
