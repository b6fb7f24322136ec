/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Locks from Ganesha's list (SAL/state_lock.c, as it is) down to the module's table (FSAL_REPL/locks.c), and the notices on their way up. The module's thread runs; the time is the test's. What
 * Ganesha does on a thread of its own with a notice, the test does when it likes.
 *
 * Where locks hold at all servers (FSAL_REPL/locks_shared.c), the authority is a table of the test, which has locks of other servers' clients, too. Its news come when the test likes.
 */
#include "lib/sal_locks.h"

#include "client_mgr.h"
#include "export_mgr.h"
#include "hashtable.h"
#include "nfs_core.h"
#include "nfs_init.h"
#include "repl.h"
#include "locks_int.h"

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

/* ---- the volume, where locks hold at all servers ---- */

static bool shared; /* they do */
static bool away; /* nobody answers */
static struct nfs4r_locks *authority;
static bool news_are_faster; /* once, than the answer */
static char said[4096]; /* a letter for each that is asked for, in order */

static void hear(void);

static void say(char what)
{
	said[strlen(said)] = what;
}

bool repl_locks_are_shared(struct repl_export *e)
{
	return shared;
}

enum nfs4r_status repl_client_begins(struct repl_export *e, const uint64_t id[2], const char *name, const char *address, uint32_t minor_version)
{
	say('b');
	return away ? NFS4R_DELAY : NFS4R_OK;
}

enum nfs4r_status repl_client_gone(struct repl_export *e, const uint64_t id[2])
{
	say('g');
	return away ? NFS4R_DELAY : NFS4R_OK;
}

static const uint64_t (*listed)[2]; /* who was in the list when this server started */
static uint32_t nlisted;

bool repl_clients(struct repl_export *e, bool (*fn)(void *arg, const struct nfs4r_client_entry *k), void *arg)
{
	for (uint32_t i = 0; i < nlisted; i++) {
		struct nfs4r_client_entry k = { .client = { .id = { listed[i][0], listed[i][1] } } };

		fn(arg, &k);
	}
	return true;
}

void repl_client_reclaimed(struct repl_export *e, const uint64_t id[2])
{
	say('r');
}

static uint32_t shares_made_known, told;

void repl_locks_known(struct repl_export *e)
{
	__atomic_fetch_add(&told, 1, __ATOMIC_RELAXED);
}

void repl_shares_make_known(struct repl_export *e, uint64_t until_ms)
{
	__atomic_fetch_add(&shares_made_known, 1, __ATOMIC_RELAXED);
}

static bool serves; /* this server does */

bool repl_serves(struct repl_export *e)
{
	return serves;
}

void repl_fence_over(struct repl_export *e, uint32_t number)
{
	say((char)('0' + number));
}

static enum nfs4r_status authority_locks(struct nfs4r_op *op)
{
	static const enum nfs4r_status status[] = { [NFS4R_LOCK_GRANTED] = NFS4R_OK, [NFS4R_LOCK_CONFLICT] = NFS4R_DENIED, [NFS4R_LOCK_WAITS] = NFS4R_BLOCKED, [NFS4R_LOCK_FULL] = NFS4R_NOLCK };
	enum nfs4r_lock_answer answer = nfs4r_locks_acquire(authority, &op->obj, &op->lock.lock, op->lock.wait, NULL, clock_ms, &op->lock.conflict.lock);

	if (news_are_faster) {
		news_are_faster = false;
		nfs4r_locks_release(authority, &op->obj, &(struct nfs4r_lock_owner){ .client = { 99 } }, 0, UINT64_MAX, clock_ms);
		hear();
	}
	return status[answer];
}

enum nfs4r_status repl_lock_ask(struct repl_export *e, struct nfs4r_op *op)
{
	switch (op->type) {
	case NFS4R_OP_LOCK:
		say(op->lock.reclaim ? 'L' : 'l');
		return away ? NFS4R_DELAY : authority_locks(op);
	case NFS4R_OP_LOCK_TEST:
		say('t');
		if (away)
			return NFS4R_DELAY;
		return nfs4r_locks_test(authority, &op->obj, &op->lock.lock, &op->lock.conflict.lock) ? NFS4R_OK : NFS4R_DENIED;
	case NFS4R_OP_UNLOCK:
		say('u');
		assert_true(nfs4r_locks_release(authority, &op->obj, &op->lock.lock.owner, op->lock.lock.start, op->lock.lock.last, clock_ms));
		return NFS4R_OK;
	case NFS4R_OP_UNWAIT:
		say('w');
		nfs4r_locks_cancel(authority, &op->obj, &op->lock.lock, clock_ms);
		return NFS4R_OK;
	}
	fail_msg("operation %u", op->type);
	return NFS4R_INVAL;
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

static bool initialised; /* the daemon is; before that it has no table of clients */
static bool has_40; /* and not only the one with NFSv4.1 */

hash_error_t hashtable_getlatch(struct hash_table *ht, const struct gsh_buffdesc *key, struct gsh_buffdesc *value, bool may_write, struct hash_latch *latch)
{
	clientid4 number = *(clientid4 *)key->addr;

	assert_true(initialised);
	if (number != client_41.cid_clientid && (!has_40 || number != client_40.cid_clientid))
		return HASHTABLE_ERROR_NO_SUCH_KEY;
	value->addr = number == client_41.cid_clientid ? &client_41 : &client_40;
	return HASHTABLE_SUCCESS;
}

void hashtable_for_each(hash_table_t *ht, ht_for_each_cb_t callback, void *arg)
{
	struct hash_data entries[] = { { .val = { .addr = &client_41 } }, { .val = { .addr = &client_40 } } };

	assert_true(initialised);
	for (int i = 0; i < 1 + has_40; i++) {
		struct rbt_node node = { .rbt_opaq = &entries[i] };

		callback(&node, arg);
	}
}

void hashtable_releaselatched(struct hash_table *ht, struct hash_latch *latch)
{
}

/* What a client calls itself. */
static nfs_client_record_t *record_of(const char *name)
{
	nfs_client_record_t *r = gsh_calloc(1, sizeof(*r) + strlen(name));

	r->cr_client_val_len = (int)strlen(name);
	memcpy(r->cr_client_val, name, strlen(name));
	return r;
}

/* ---- Ganesha's grace period ---- */

static struct gsh_export *other_export; /* besides the volume's */
static uint32_t graces_ended;

int nfs_init_wait_timeout(int timeout)
{
	return initialised ? 0 : ETIMEDOUT;
}

void nfs_wait_for_grace_enforcement(void)
{
	graces_ended++;
}

struct gsh_export *get_gsh_export(uint16_t id)
{
	return id == 1 ? &gsh : id == 2 ? other_export :
					  NULL;
}

void init_op_context(struct req_op_context *into, struct gsh_export *of, struct fsal_export *fsal_export, nfs_request_t *reqdata, sockaddr_t *caller, uint32_t nfs_vers, uint32_t nfs_minorvers, enum request_type type)
{
}

void release_op_context(void)
{
}

static void (*expire)(void); /* what the clients have, which Ganesha gives back for them when they are made stale */

int nfs_start_grace(nfs_grace_start_t *start)
{
	assert_int_equal(start->event, EVENT_RELEASE_IP);
	assert_string_equal(start->ipaddr, "");
	client_41.cid_confirmed = client_40.cid_confirmed = STALE_CLIENT_ID;
	say('F');
	if (expire != NULL)
		expire();
	return 0;
}

static uint64_t names[2][2]; /* in the volume, of both clients */

/* Both were in the list when the daemon started, and are not back yet. */
static void are_expected(void)
{
	struct nfs4r_lock_owner first = repl_lock_owner(&a.owner), second = repl_lock_owner(&old.owner);

	memcpy(names[0], first.client, sizeof(names[0]));
	memcpy(names[1], second.client, sizeof(names[1]));
	listed = names;
	nlisted = 2;
	client_41.cid_confirmed = client_40.cid_confirmed = UNCONFIRMED_CLIENT_ID;
}

static int set_up_of(bool everywhere, bool anew, bool runs)
{
	memset(&client_41, 0, sizeof(client_41));
	memset(&client_40, 0, sizeof(client_40));
	client_41.cid_client_record = record_of("forty-one");
	client_40.cid_client_record = record_of("forty");
	client_41.cid_confirmed = client_40.cid_confirmed = CONFIRMED_CLIENT_ID;
	PTHREAD_MUTEX_init(&client_41.cid_mutex, NULL);
	client_41.cid_refcount = client_40.cid_refcount = 100;
	shared = everywhere;
	away = false;
	serves = true;
	has_40 = false;
	listed = NULL;
	nlisted = 0;
	initialised = runs;
	other_export = NULL;
	graces_ended = 0;
	expire = NULL;
	nfs_param.nfsv4_param.lease_lifetime = 60;
	nfs_param.nfsv4_param.grace_period = 90;
	nfs_param.nfsv4_param.graceless = false;
	memset(said, 0, sizeof(said));
	repl_module.cfg.rpc.self = 1;
	authority = nfs4r_locks_create(&(struct nfs4r_locks_config){ .max = 100000, .reserve_ms = RESERVED_MS });
	assert_non_null(authority);
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
	shares_made_known = told = 0;
	repl_lock_clients_init(&exp_);
	if (anew)
		are_expected();
	assert_true(repl_locks_init(&exp_, repl_module.cfg.lock_max));
	resting = false;
	cond = NULL;
	assert_true(repl_locks_start(&exp_));
	while (__atomic_load_n(&mutex, __ATOMIC_ACQUIRE) == NULL || __atomic_load_n(&cond, __ATOMIC_ACQUIRE) == NULL)
		sched_yield();
	until_it_rests();
	return 0;
}

static int set_up(void **unused)
{
	return set_up_of(false, false, true);
}

static int set_up_shared(void **unused)
{
	return set_up_of(true, false, true);
}

static int set_up_anew(void **unused)
{
	return set_up_of(true, true, true);
}

static int set_up_starting(void **unused)
{
	return set_up_of(true, true, false);
}

/* What the authority says of waiters of this server. */
static void hear(void)
{
	const struct nfs4r_lock_owner polls = repl_lock_owner(&old.owner);
	struct nfs4r_lock_notice n;

	while (nfs4r_locks_notice(authority, clock_ms, &n)) {
		if (n.lock.owner.client[0] == 99)
			continue;
		if (memcmp(n.lock.owner.client, polls.client, sizeof(polls.client)) == 0)
			repl_lops_lock_again(&exp_, &n.oid, &n.lock);
		else
			repl_lops_lock_ready(&exp_, &n.oid, &n.lock);
	}
}

static struct nfs4r_lock elsewhere(fsal_lock_t type, uint64_t start, uint64_t last)
{
	return (struct nfs4r_lock){ .owner = { .client = { 99 } }, .type = type == FSAL_LOCK_R ? NFS4R_LOCK_READ : NFS4R_LOCK_WRITE, .start = start, .last = last };
}

/* A client of another server. */
static bool locks_elsewhere(fsal_lock_t type, uint64_t start, uint64_t last)
{
	struct nfs4r_lock want = elsewhere(type, start, last);

	return nfs4r_locks_acquire(authority, &file.oid, &want, NFS4R_LOCK_TRY, NULL, clock_ms, NULL) == NFS4R_LOCK_GRANTED;
}

static void gives_back_elsewhere(void)
{
	struct nfs4r_lock what = elsewhere(FSAL_LOCK_R, 0, UINT64_MAX);

	assert_true(nfs4r_locks_release(authority, &file.oid, &what.owner, what.start, what.last, clock_ms));
	hear();
}

static bool reclaims; /* who asks says that it had this before */

static state_status_t ask(struct who *who, fsal_lock_t type, uint64_t start, uint64_t length, state_blocking_t blocking)
{
	fsal_lock_param_t want = { .lock_type = type, .lock_start = start, .lock_length = length, .lock_reclaim = reclaims }, conflict;
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
	repl_lock_clients_fini(&exp_);
	nfs4r_locks_destroy(authority);
	gsh_free(client_41.cid_client_record);
	gsh_free(client_40.cid_client_record);
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

	client_41.cid_client_record->cr_client_val[1] = '\0';
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
	assert_string_equal(rows[0].client, "f rty-one");
	assert_string_equal(rows[0].address, "10.0.1.2");
	assert_int_equal(rows[1].state, NFS4R_LOCK_WAITING);
	assert_true(rows[1].lock.last == UINT64_MAX);
	assert_string_equal(rows[1].client, ""); /* gone */
	give_back(&old);
}

/* ---- where locks hold at all servers ---- */

#define SAYS(text_)                               \
	do {                                      \
		assert_string_equal(said, text_); \
		memset(said, 0, sizeof(said));    \
	} while (0)

static state_status_t try(struct who *who, fsal_lock_t type, uint64_t start, uint64_t length)
{
	return ask(who, type, start, length, STATE_NON_BLOCKING);
}

static void a_lock_of_another_site_is_in_the_way(void **unused)
{
	fsal_lock_param_t want = { .lock_type = FSAL_LOCK_R, .lock_start = 5, .lock_length = 1 }, conflict = { 0 };

	assert_true(locks_elsewhere(FSAL_LOCK_W, 0, 9));
	assert_int_equal(try(&a, FSAL_LOCK_R, 5, 20), STATE_LOCK_CONFLICT);
	assert_int_equal(repl_lock_op2(&file.handle, NULL, &b.owner, FSAL_OP_LOCKT, &want, &conflict).major, ERR_FSAL_ACCESS);
	assert_int_equal(conflict.lock_type, FSAL_LOCK_W);
	assert_int_equal(conflict.lock_length, 10);
	gives_back_elsewhere();
	assert_int_equal(repl_lock_op2(&file.handle, NULL, &b.owner, FSAL_OP_LOCKT, &want, &conflict).major, ERR_FSAL_NO_ERROR);
	assert_int_equal(conflict.lock_type, FSAL_NO_LOCK);
	assert_int_equal(try(&a, FSAL_LOCK_R, 5, 20), STATE_SUCCESS);
	assert_false(locks_elsewhere(FSAL_LOCK_W, 24, 30));
	give_back(&a);
	assert_true(locks_elsewhere(FSAL_LOCK_W, 24, 30));
}

static void who_waits_is_notified_when_another_site_gives_its_lock_back(void **unused)
{
	assert_true(locks_elsewhere(FSAL_LOCK_W, 0, 9));
	assert_int_equal(wait_for(&a), STATE_LOCK_BLOCKED);
	assert_int_equal(wait_for(&b), STATE_LOCK_BLOCKED);
	assert_string_equal(notified(), "");
	gives_back_elsewhere();
	assert_string_equal(notified(), "a");
	assert_false(locks_elsewhere(FSAL_LOCK_R, 0, 0));
	assert_int_equal(wait_for(&b), STATE_LOCK_BLOCKED);
	assert_int_equal(wait_for(&a), STATE_SUCCESS);
	give_back(&a);
	hear();
	assert_string_equal(notified(), "b");
	assert_int_equal(wait_for(&b), STATE_SUCCESS);
}

static void a_read_lock_is_not_raised_over_a_reader_of_another_site(void **unused)
{
	assert_true(locks_elsewhere(FSAL_LOCK_R, 0, 9));
	assert_int_equal(try(&a, FSAL_LOCK_R, 0, 10), STATE_SUCCESS);
	assert_int_equal(try(&a, FSAL_LOCK_W, 0, 10), STATE_LOCK_CONFLICT);
	assert_int_equal(try(&a, FSAL_LOCK_W, 3, 2), STATE_LOCK_CONFLICT);
	assert_int_equal(wait_for(&a), STATE_LOCK_BLOCKED);
	assert_true(locks_elsewhere(FSAL_LOCK_R, 0, 20));
	gives_back_elsewhere();
	assert_string_equal(notified(), "a");
	assert_int_equal(wait_for(&a), STATE_SUCCESS);
	assert_false(locks_elsewhere(FSAL_LOCK_R, 3, 3));
}

static void what_cannot_be_decided_now_is_no_conflict(void **unused)
{
	fsal_lock_param_t want = { .lock_type = FSAL_LOCK_R, .lock_start = 5, .lock_length = 1 }, conflict = { 0 };

	away = true;
	assert_int_equal(try(&a, FSAL_LOCK_W, 0, 10), STATE_FSAL_DELAY); /* its client cannot begin */
	SAYS("b");
	away = false;
	assert_int_equal(try(&a, FSAL_LOCK_W, 0, 10), STATE_SUCCESS);
	SAYS("bl");
	away = true;
	assert_int_equal(try(&a, FSAL_LOCK_W, 20, 10), STATE_FSAL_DELAY);
	assert_int_equal(ask(&a, FSAL_LOCK_W, 20, 10, STATE_BLOCKING), STATE_FSAL_DELAY);
	assert_int_equal(repl_lock_op2(&file.handle, NULL, &b.owner, FSAL_OP_LOCKT, &want, &conflict).major, ERR_FSAL_DELAY);
	assert_int_equal(conflict.lock_type, FSAL_NO_LOCK);
	give_back(&a); /* that is never put off */
	assert_true(locks_elsewhere(FSAL_LOCK_W, 0, 9));
}

/* The engine has the answer and the news on different threads. */
static void news_may_be_faster_than_the_answer(void **unused)
{
	assert_true(locks_elsewhere(FSAL_LOCK_W, 0, 9));
	news_are_faster = true;
	assert_int_equal(wait_for(&a), STATE_LOCK_BLOCKED);
	pass(SOON_MS);
	assert_string_equal(notified(), "a");
	assert_int_equal(wait_for(&a), STATE_SUCCESS);
}

static void a_lock_that_is_ready_for_nobody_is_given_back(void **unused)
{
	struct nfs4r_lock_owner owner = repl_lock_owner(&a.owner);
	struct nfs4r_lock ready = { .owner = owner, .type = NFS4R_LOCK_WRITE, .start = 0, .last = 9 };

	assert_true(locks_elsewhere(FSAL_LOCK_W, 0, 9));
	assert_int_equal(wait_for(&a), STATE_LOCK_BLOCKED);
	give_back(&a);
	SAYS("blwu");
	gives_back_elsewhere();
	assert_int_equal(notices, 0);
	assert_true(locks_elsewhere(FSAL_LOCK_W, 0, 9)); /* it did not wait any more */
	repl_lops_lock_ready(&exp_, &file.oid, &ready);
	SAYS("w");
	until_it_rests();
	assert_int_equal(notices, 0);
}

static void a_waiter_waits_on_while_nobody_answers(void **unused)
{
	assert_true(locks_elsewhere(FSAL_LOCK_W, 0, 9));
	assert_int_equal(wait_for(&a), STATE_LOCK_BLOCKED);
	gives_back_elsewhere();
	assert_string_equal(notified(), "a");
	away = true;
	assert_int_equal(wait_for(&a), STATE_LOCK_BLOCKED);
	away = false;
	assert_string_equal(notified(), "");
	pass(200);
	assert_string_equal(notified(), "a");
	assert_int_equal(wait_for(&a), STATE_SUCCESS);
}

static void a_waiter_whose_time_is_over_is_notified_when_it_has_its_turn_again(void **unused)
{
	struct nfs4r_lock_owner owner = repl_lock_owner(&a.owner);
	struct nfs4r_lock waits = { .owner = owner, .type = NFS4R_LOCK_WRITE, .start = 0, .last = 9 };

	assert_true(locks_elsewhere(FSAL_LOCK_W, 0, 9));
	assert_int_equal(wait_for(&a), STATE_LOCK_BLOCKED);
	repl_lops_lock_ready(&exp_, &file.oid, &waits);
	assert_string_equal(notified(), "a");
	repl_lops_lock_again(&exp_, &file.oid, &waits);
	until_it_rests();
	notices = 0;
	pass(100000);
	assert_int_equal(notices, 0);
	assert_int_equal(wait_for(&a), STATE_LOCK_BLOCKED); /* too late */
	gives_back_elsewhere();
	assert_string_equal(notified(), "a");
	assert_int_equal(wait_for(&a), STATE_SUCCESS);
}

static void a_client_with_nfsv4_0_gets_what_is_free_when_it_asks(void **unused)
{
	assert_true(locks_elsewhere(FSAL_LOCK_W, 0, 9));
	assert_int_equal(wait_for(&old), STATE_LOCK_BLOCKED);
	assert_string_equal(notified(), "");
	gives_back_elsewhere();
	assert_string_equal(notified(), "o");
	assert_true(locks_elsewhere(FSAL_LOCK_W, 0, 9)); /* nothing is reserved for it */
	assert_int_equal(wait_for(&old), STATE_LOCK_BLOCKED);
	gives_back_elsewhere();
	assert_string_equal(notified(), "o");
	assert_int_equal(wait_for(&old), STATE_SUCCESS);
}

static void a_test_by_ganesha_helps_who_is_not_known_any_more(void **unused)
{
	fsal_lock_param_t want = { .lock_type = FSAL_LOCK_W, .lock_start = 0, .lock_length = 10 };

	assert_true(locks_elsewhere(FSAL_LOCK_W, 0, 9));
	assert_int_equal(wait_for(&a), STATE_LOCK_BLOCKED);
	SAYS("bl");
	assert_int_equal(tested_by_ganesha(&a), STATE_LOCK_CONFLICT);
	assert_string_equal(notified(), "");
	assert_int_equal(repl_lock_op2(&file.handle, &a.state, &a.owner, FSAL_OP_CANCEL, &want, NULL).major, ERR_FSAL_NO_ERROR);
	SAYS("w");
	assert_int_equal(tested_by_ganesha(&a), STATE_LOCK_CONFLICT);
	assert_string_equal(notified(), "a");
	assert_int_equal(wait_for(&a), STATE_LOCK_BLOCKED);
	gives_back_elsewhere();
	assert_string_equal(notified(), "a");
	assert_int_equal(wait_for(&a), STATE_SUCCESS);
}

static void beyond_the_bound_nobody_is_asked(void **unused)
{
	for (uint64_t i = 0; i < repl_module.cfg.lock_max; i++) {
		assert_int_equal(try(&a, FSAL_LOCK_W, 2 * i, 1), STATE_SUCCESS);
		memset(said, 0, sizeof(said));
	}
	assert_int_equal(try(&a, FSAL_LOCK_W, 5000, 1), STATE_MALLOC_ERROR);
	assert_int_equal(ask(&b, FSAL_LOCK_W, 0, 1, STATE_BLOCKING), STATE_MALLOC_ERROR);
	SAYS("");
}

/* The same after a restart, which gives other numbers to clients; another one at another server, for machines that call themselves the same. */
static void an_owner_has_a_name_in_the_volume(void **unused)
{
	struct nfs4r_lock_owner first = repl_lock_owner(&a.owner), other = repl_lock_owner(&b.owner), now;

	assert_memory_equal(first.client, other.client, sizeof(first.client));
	assert_memory_not_equal(first.owner, other.owner, sizeof(first.owner));
	client_41.cid_clientid = a.owner.so_owner.so_nfs4_owner.so_clientid = 4141;
	now = repl_lock_owner(&a.owner);
	assert_memory_equal(&first, &now, sizeof(first));
	repl_module.cfg.rpc.self = 2;
	now = repl_lock_owner(&a.owner);
	assert_int_not_equal(first.client[0], now.client[0]);
	assert_int_not_equal(first.client[1], now.client[1]);
	repl_module.cfg.rpc.self = 1;
	client_41.cid_client_record->cr_client_val[0] = 'F';
	now = repl_lock_owner(&a.owner);
	assert_int_not_equal(first.client[0], now.client[0]);
	now = repl_lock_owner(&old.owner);
	assert_int_not_equal(first.client[0], now.client[0]);
}

static void the_volume_hears_of_a_client_before_its_first_lock_and_of_its_end_before_its_last(void **unused)
{
	assert_int_equal(try(&a, FSAL_LOCK_W, 0, 10), STATE_SUCCESS);
	assert_int_equal(try(&b, FSAL_LOCK_W, 20, 10), STATE_SUCCESS);
	SAYS("bll");
	client_41.cid_confirmed = EXPIRED_CLIENT_ID;
	away = true;
	give_back(&a);
	until_it_rests();
	SAYS("g");
	give_back(&b);
	until_it_rests();
	SAYS("g");
	assert_false(locks_elsewhere(FSAL_LOCK_R, 0, 0)); /* not yet */
	pass(1000);
	SAYS("g");
	client_41.cid_confirmed = CONFIRMED_CLIENT_ID; /* it is here again */
	assert_int_equal(try(&a, FSAL_LOCK_W, 0, 10), STATE_FSAL_DELAY);
	SAYS("");
	away = false;
	pass(1000);
	SAYS("guu");
	assert_true(locks_elsewhere(FSAL_LOCK_R, 0, 0));
	gives_back_elsewhere();
	assert_int_equal(try(&a, FSAL_LOCK_W, 0, 10), STATE_SUCCESS);
	SAYS("bl");
	pass(10000);
	SAYS("");
	give_back(&a);
	SAYS("u");
	client_41.cid_clientid = 4141; /* not in Ganesha's table any more */
	pass(10000);
	SAYS("g");
	pass(10000);
	SAYS("");
}

static void locks_of_before_are_made_known_when_they_begin_to_hold_everywhere(void **unused)
{
	shared = false;
	assert_int_equal(try(&a, FSAL_LOCK_R, 0, 10), STATE_SUCCESS);
	assert_int_equal(try(&b, FSAL_LOCK_W, 20, 10), STATE_SUCCESS);
	assert_true(locks_elsewhere(FSAL_LOCK_W, 20, 22)); /* each site by itself */
	SAYS("");
	shared = true;
	assert_int_equal(try(&c, FSAL_LOCK_R, 0, 10), STATE_SUCCESS);
	SAYS("bLLl");
	assert_false(locks_elsewhere(FSAL_LOCK_W, 0, 3));
	assert_true(locks_elsewhere(FSAL_LOCK_W, 25, 25)); /* of those two sites only one can have all */
	give_back(&a);
	give_back(&c);
	assert_true(locks_elsewhere(FSAL_LOCK_W, 0, 3));
	give_back(&b);
}

/* Without any request at this server: clients of others ask for the same. */
static void they_are_made_known_at_once(void **unused)
{
	shared = false;
	assert_int_equal(try(&a, FSAL_LOCK_W, 0, 10), STATE_SUCCESS);
	until_it_rests();
	assert_int_equal(shares_made_known, 0);
	shared = true;
	resting = false;
	assert_int_equal(told, 0);
	repl_lops_locks_shared(&exp_);
	until_it_rests();
	SAYS("bL");
	assert_false(locks_elsewhere(FSAL_LOCK_R, 5, 5));
	assert_int_equal(shares_made_known, 1);
	assert_int_equal(told, 1);
	pass(20000);
	SAYS("");
	assert_int_equal(shares_made_known, 1);
	assert_int_equal(told, 1);
	repl_locks_open_unknown(&exp_);
	until_it_rests();
	assert_int_equal(shares_made_known, 2);
	give_back(&a);
	SAYS("u");
}

/* One that had halted, in the same process: Ganesha and its clients have all that they had. */
static void another_engine_hears_of_all_locks(void **unused)
{
	assert_int_equal(try(&a, FSAL_LOCK_W, 0, 10), STATE_SUCCESS);
	assert_int_equal(try(&b, FSAL_LOCK_R, 20, 10), STATE_SUCCESS);
	assert_int_equal(wait_for(&c), STATE_LOCK_BLOCKED);
	nfs4r_locks_destroy(authority);
	authority = nfs4r_locks_create(&(struct nfs4r_locks_config){ .max = 100000, .reserve_ms = RESERVED_MS });
	memset(said, 0, sizeof(said));
	repl_locks_engine_anew(&exp_);
	SAYS("LLr");
	assert_false(locks_elsewhere(FSAL_LOCK_R, 9, 9));
	assert_false(locks_elsewhere(FSAL_LOCK_W, 29, 29));
	assert_string_equal(notified(), "c");
	assert_int_equal(wait_for(&c), STATE_LOCK_BLOCKED);
	give_back(&a);
	hear();
	assert_string_equal(notified(), "c");
	assert_int_equal(wait_for(&c), STATE_SUCCESS);
}

/* ---- clients that come back ---- */

static state_status_t reclaim(struct who *who, uint64_t start, uint64_t length)
{
	state_status_t status;

	reclaims = true;
	status = try(who, FSAL_LOCK_W, start, length);
	reclaims = false;
	return status;
}

static void is_back(nfs_client_id_t *client)
{
	client->cid_confirmed = CONFIRMED_CLIENT_ID;
	client->cid_cb.v41.cid_reclaim_complete = false;
}

static void who_comes_back_reclaims_until_it_says_that_it_has(void **unused)
{
	is_back(&client_41);
	pass(200);
	assert_int_equal(reclaim(&a, 0, 10), STATE_SUCCESS);
	assert_true(locks_elsewhere(FSAL_LOCK_W, 20, 29));
	assert_int_equal(reclaim(&a, 20, 10), STATE_LOCK_CONFLICT); /* lost */
	SAYS("LL");
	pass(1000);
	SAYS("");
	client_41.cid_cb.v41.cid_reclaim_complete = true;
	pass(200);
	SAYS("r");
	assert_int_equal(reclaim(&b, 40, 10), STATE_LOCK_CONFLICT);
	SAYS("");
	assert_int_equal(try(&b, FSAL_LOCK_W, 40, 10), STATE_SUCCESS);
	SAYS("l");
	pass(100000);
	SAYS("");
}

/* Its reclaim says that it is in the list; without one it may have been taken off meanwhile. */
static void who_has_reclaimed_nothing_begins_again(void **unused)
{
	is_back(&client_41);
	client_41.cid_cb.v41.cid_reclaim_complete = true;
	pass(200);
	SAYS("r");
	assert_int_equal(try(&a, FSAL_LOCK_W, 0, 10), STATE_SUCCESS);
	assert_int_equal(try(&a, FSAL_LOCK_W, 20, 10), STATE_SUCCESS);
	SAYS("bll");
}

static void who_cannot_say_that_it_has_reclaimed_has_a_lease_time(void **unused)
{
	has_40 = true;
	is_back(&client_40);
	pass(59800);
	assert_int_equal(reclaim(&old, 0, 10), STATE_SUCCESS);
	SAYS("L");
	pass(200);
	SAYS("r");
	assert_int_equal(reclaim(&old, 20, 10), STATE_LOCK_CONFLICT);
	SAYS("");
}

static void no_time_to_reclaim_passes_while_nobody_serves(void **unused)
{
	has_40 = true;
	is_back(&client_40);
	serves = false;
	away = true;
	pass(100000);
	assert_int_equal(reclaim(&old, 0, 10), STATE_FSAL_DELAY);
	SAYS("L");
	serves = true;
	away = false;
	pass(50000);
	assert_int_equal(reclaim(&old, 0, 10), STATE_SUCCESS);
	SAYS("L");
	pass(10000);
	SAYS("r");
}

/* The volume says by itself that it is gone. */
static void who_does_not_come_back_is_not_waited_for(void **unused)
{
	pass(60000);
	pass(60000);
	SAYS("");
	is_back(&client_41);
	assert_int_equal(try(&a, FSAL_LOCK_W, 0, 10), STATE_SUCCESS);
	SAYS("bl");
}

/* Whom the volume has in the list, and this server did not know of: the end of its log came late. */
static void who_was_not_expected_is_when_the_volume_grants_its_reclaim(void **unused)
{
	assert_int_equal(reclaim(&a, 0, 10), STATE_SUCCESS);
	SAYS("L");
	client_41.cid_cb.v41.cid_reclaim_complete = true;
	pass(10000);
	SAYS("r");
}

/* On the thread of locks.c. */
static void all_is_given_back(void)
{
	struct req_op_context none = context;

	none.nfs_reqdata = NULL;
	op_ctx = &none;
	give_back(&a);
	give_back(&b);
	op_ctx = NULL;
}

/* Ganesha gives them back for the client, and the volume keeps them for it. What others got meanwhile is lost. */
static void a_fence_lets_clients_reclaim_what_they_had(void **unused)
{
	const struct nfs4r_lock_owner owner = repl_lock_owner(&a.owner);
	struct nfs4r_locks_count n;

	assert_int_equal(try(&a, FSAL_LOCK_W, 0, 10), STATE_SUCCESS);
	assert_int_equal(try(&a, FSAL_LOCK_W, 20, 10), STATE_SUCCESS);
	assert_int_equal(wait_for(&b), STATE_LOCK_BLOCKED);
	SAYS("blll");
	graces_ended = 0;
	expire = all_is_given_back;
	repl_lops_fence(&exp_, 1, 0);
	until_it_rests();
	SAYS("Fw1");
	assert_int_equal(graces_ended, 1);
	repl_lops_count_locks(&exp_, &n);
	assert_int_equal(n.ranges + n.waiting, 0);
	assert_false(locks_elsewhere(FSAL_LOCK_W, 0, 9));
	assert_true(nfs4r_locks_release(authority, &file.oid, &owner, 20, 29, clock_ms)); /* another server gave it up */
	assert_true(locks_elsewhere(FSAL_LOCK_W, 20, 29));
	client_41.cid_clientid = 43; /* its new session */
	is_back(&client_41);
	assert_int_equal(reclaim(&a, 0, 10), STATE_SUCCESS);
	assert_int_equal(reclaim(&a, 20, 10), STATE_LOCK_CONFLICT);
	SAYS("LL");
	client_41.cid_cb.v41.cid_reclaim_complete = true;
	pass(200);
	SAYS("r");
	pass(20000);
	SAYS("");
}

/* Else it could reclaim after one more start what others have had by then. */
static void of_who_is_gone_the_volume_hears_first_that_it_is(void **unused)
{
	assert_int_equal(try(&a, FSAL_LOCK_W, 0, 10), STATE_SUCCESS);
	client_41.cid_confirmed = EXPIRED_CLIENT_ID;
	away = true;
	give_back(&a);
	until_it_rests();
	assert_memory_equal(said, "blg", 3); /* and again, as often as the thread was woken: nobody has answered */
	assert_int_equal(strspn(said + 3, "g"), strlen(said + 3));
	memset(said, 0, sizeof(said));
	repl_locks_engine_anew(&exp_);
	until_it_rests();
	assert_null(strchr(said, 'r'));
	repl_lops_fence(&exp_, 3, 0);
	until_it_rests();
	assert_null(strchr(said, 'r'));
	memset(said, 0, sizeof(said));
	away = false;
	pass(1000);
	SAYS("gu");
}

/* It may have been taken off the list while this server was away. */
static void a_fence_makes_a_client_begin_again(void **unused)
{
	assert_int_equal(try(&a, FSAL_LOCK_W, 0, 10), STATE_SUCCESS);
	expire = all_is_given_back;
	repl_lops_fence(&exp_, 7, 1);
	until_it_rests();
	SAYS("blF7");
	is_back(&client_41);
	client_41.cid_cb.v41.cid_reclaim_complete = true;
	pass(200);
	SAYS("r");
	assert_int_equal(try(&b, FSAL_LOCK_W, 40, 10), STATE_SUCCESS);
	SAYS("bl");
}

static void the_daemons_grace_period_ends_when_it_serves(void **unused)
{
	assert_int_equal(graces_ended, 1);
	assert_int_equal(nfs_param.nfsv4_param.grace_period, 0);
	pass(100000);
	assert_int_equal(graces_ended, 1);
}

static void the_daemons_grace_period_ends_only_when_it_serves(void **unused)
{
	initialised = false;
	exp_.locks->grace_ended = false;
	graces_ended = 0;
	repl_lops_fence(&exp_, 1, 0); /* the thread looks */
	until_it_rests();
	pass(10000);
	assert_int_equal(graces_ended, 0);
	initialised = true;
	pass(200);
	assert_int_equal(graces_ended, 2); /* that of the fence, too */
}

/* The export is there before the rest of the daemon, and with it the thread that looks. */
static void clients_are_looked_for_when_the_daemon_is_up(void **unused)
{
	is_back(&client_41);
	client_41.cid_cb.v41.cid_reclaim_complete = true;
	pass(1000);
	SAYS("");
	initialised = true;
	pass(200);
	SAYS("r");
}

static void the_daemons_grace_period_stays_for_other_exports(void **unused)
{
	struct fsal_module vfs = { .name = "VFS" }, pseudo = { .name = "PSEUDO" };
	struct fsal_export below = { .fsal = &pseudo }, above = { .sub_export = &below };
	struct gsh_export other = { .fsal_export = &above };

	other_export = &other;
	graces_ended = 0;
	assert_true(repl_grace_end(&exp_));
	assert_int_equal(graces_ended, 1);
	below.fsal = &vfs;
	nfs_param.nfsv4_param.grace_period = 90;
	assert_true(repl_grace_end(&exp_));
	assert_int_equal(graces_ended, 1);
	assert_int_equal(nfs_param.nfsv4_param.grace_period, 90);
}

static void the_daemons_grace_period_stays_where_each_server_decides(void **unused)
{
	assert_int_equal(graces_ended, 0);
	assert_int_equal(try(&a, FSAL_LOCK_W, 0, 10), STATE_SUCCESS);
	pass(100000);
	assert_int_equal(graces_ended, 0);
	assert_int_equal(nfs_param.nfsv4_param.grace_period, 90);
}

static uint32_t highest_protocol(void)
{
	struct nfs4r_versions known = { .lowest = NFS4R_PROTOCOL_LOCKS - 1, .highest = NFS4R_PROTOCOL_LOCKS };

	repl_locks_limit_protocol(&known);
	return known.highest;
}

static void a_daemon_whose_clients_cannot_be_fenced_has_no_such_locks(void **unused)
{
	assert_int_equal(highest_protocol(), NFS4R_PROTOCOL_LOCKS);
	nfs_param.nfsv4_param.graceless = true;
	assert_int_equal(highest_protocol(), NFS4R_PROTOCOL_LOCKS - 1);
	nfs_param.nfsv4_param.graceless = false;
	nfs_param.nfsv4_param.sticky_grace = true;
	assert_int_equal(highest_protocol(), NFS4R_PROTOCOL_LOCKS - 1);
	nfs_param.nfsv4_param.sticky_grace = false;
	nfs_param.core_param.unique_server_id = 5;
	assert_int_equal(highest_protocol(), NFS4R_PROTOCOL_LOCKS - 1);
	nfs_param.core_param.unique_server_id = 0;
	assert_int_equal(highest_protocol(), NFS4R_PROTOCOL_LOCKS);
}

/* ---- what this server's clients were answered is what the authority has, whatever they do ---- */

#define BYTES 24

struct bytes {
	const struct nfs4r_lock_owner *owner;
	char of[BYTES + 1];
};

static void paint(void *arg, const struct nfs4r_oid *oid, const struct nfs4r_lock *lock, enum nfs4r_lock_state state, uint64_t since_ms)
{
	struct bytes *bytes = arg;

	for (uint64_t i = lock->start; state == NFS4R_LOCK_SET && i <= lock->last && i < BYTES && memcmp(&lock->owner, bytes->owner, sizeof(lock->owner)) == 0; i++)
		bytes->of[i] = lock->type == NFS4R_LOCK_READ ? 'r' : 'w';
}

static void expect_the_same(struct who *who)
{
	struct nfs4r_lock_owner owner = repl_lock_owner(&who->owner);
	struct bytes here = { .owner = &owner }, there = { .owner = &owner };

	memset(here.of, '.', BYTES);
	memset(there.of, '.', BYTES);
	repl_locks_walk(&exp_, &file.oid, paint, &here);
	nfs4r_locks_walk(authority, &file.oid, paint, &there);
	assert_string_equal(here.of, there.of);
}

static void ranges_of_an_owner_are_those_of_the_authority(void **unused)
{
	struct who *const all[] = { &a, &b, &c };
	unsigned seed = 1;

	for (int i = 0; i < 20000; i++) {
		struct who *who = all[rand_r(&seed) % 3];
		uint64_t start = (uint64_t)rand_r(&seed) % BYTES, length = 1 + (uint64_t)rand_r(&seed) % (BYTES - start);
		fsal_lock_param_t what = { .lock_type = FSAL_LOCK_R, .lock_start = start, .lock_length = length };

		switch (rand_r(&seed) % 6) {
		case 0:
			(void)locks_elsewhere(rand_r(&seed) % 2 ? FSAL_LOCK_R : FSAL_LOCK_W, start, start);
			break;
		case 1:
			gives_back_elsewhere();
			break;
		case 2:
			assert_int_equal(state_unlock(&file.handle, &who->state, &who->owner, false, 0, &what), STATE_SUCCESS);
			break;
		default:
			(void)try(who, rand_r(&seed) % 2 ? FSAL_LOCK_R : FSAL_LOCK_W, start, length);
			break;
		}
		memset(said, 0, sizeof(said));
		for (int j = 0; j < 3; j++)
			expect_the_same(all[j]);
	}
}

int main(void)
{
#define A(test) cmocka_unit_test_setup_teardown(test, set_up_anew, tear_down)
#define S(test) cmocka_unit_test_setup_teardown(test, set_up_shared, tear_down)
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
		S(a_report_says_whose_the_locks_are),
		S(a_lock_of_another_site_is_in_the_way),
		S(who_waits_is_notified_when_another_site_gives_its_lock_back),
		S(a_read_lock_is_not_raised_over_a_reader_of_another_site),
		S(what_cannot_be_decided_now_is_no_conflict),
		S(news_may_be_faster_than_the_answer),
		S(a_lock_that_is_ready_for_nobody_is_given_back),
		S(a_waiter_waits_on_while_nobody_answers),
		S(a_waiter_whose_time_is_over_is_notified_when_it_has_its_turn_again),
		S(a_client_with_nfsv4_0_gets_what_is_free_when_it_asks),
		S(a_test_by_ganesha_helps_who_is_not_known_any_more),
		S(beyond_the_bound_nobody_is_asked),
		S(an_owner_has_a_name_in_the_volume),
		S(the_volume_hears_of_a_client_before_its_first_lock_and_of_its_end_before_its_last),
		T(locks_of_before_are_made_known_when_they_begin_to_hold_everywhere),
		T(they_are_made_known_at_once),
		S(another_engine_hears_of_all_locks),
		S(ranges_of_an_owner_are_those_of_the_authority),
		cmocka_unit_test_setup_teardown(clients_are_looked_for_when_the_daemon_is_up, set_up_starting, tear_down),
		A(who_comes_back_reclaims_until_it_says_that_it_has),
		A(who_has_reclaimed_nothing_begins_again),
		A(who_cannot_say_that_it_has_reclaimed_has_a_lease_time),
		A(no_time_to_reclaim_passes_while_nobody_serves),
		A(who_does_not_come_back_is_not_waited_for),
		S(who_was_not_expected_is_when_the_volume_grants_its_reclaim),
		S(a_fence_lets_clients_reclaim_what_they_had),
		S(of_who_is_gone_the_volume_hears_first_that_it_is),
		S(a_fence_makes_a_client_begin_again),
		S(the_daemons_grace_period_ends_when_it_serves),
		S(the_daemons_grace_period_ends_only_when_it_serves),
		S(the_daemons_grace_period_stays_for_other_exports),
		T(the_daemons_grace_period_stays_where_each_server_decides),
		T(a_daemon_whose_clients_cannot_be_fenced_has_no_such_locks),
	};

	assert_int_equal(state_lock_init(), STATE_SUCCESS);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
