/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A lock that the FSAL cannot decide yet (patches/0009), and what a waiter that was notified gets (patches/0010): Ganesha's own list of locks over a FSAL that answers as it is told. */
#include "lib/sal_locks.h"

/* ---- a file, an owner, a FSAL ---- */

static fsal_errors_t answer; /* the FSAL's, with */
static fsal_lock_t in_the_way; /* what it says of the lock in the way */
static fsal_lock_op_t asked[16]; /* it for that */
static uint32_t nasked;
static bool async;

static fsal_status_t lock_op2(struct fsal_obj_handle *obj, struct state_t *state, void *owner, fsal_lock_op_t op, fsal_lock_param_t *request, fsal_lock_param_t *conflict)
{
	asked[nasked++ % 16] = op;
	if (op == FSAL_OP_CANCEL || op == FSAL_OP_UNLOCK)
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	if (answer != ERR_FSAL_NO_ERROR && in_the_way != FSAL_NO_LOCK)
		*conflict = (fsal_lock_param_t){ .lock_type = in_the_way, .lock_start = 5, .lock_length = 5 };
	return fsalstat(answer, 0);
}

static bool fs_supports(struct fsal_export *export, fsal_fsinfo_options_t option)
{
	return option == fso_lock_support || (option == fso_lock_support_async_block && async);
}

static void no_ref(struct fsal_obj_handle *obj)
{
}

static state_status_t notified(struct fsal_obj_handle *obj, state_lock_entry_t *entry)
{
	return STATE_SUCCESS;
}

static struct fsal_obj_ops obj_ops = { .lock_op2 = lock_op2, .get_ref = no_ref, .put_ref = no_ref };
static struct state_hdl hdl;
static struct fsal_obj_handle obj = { .type = REGULAR_FILE, .obj_ops = &obj_ops, .state_hdl = &hdl };
static struct fsal_export fsal_export = { .exp_ops.fs_supports = fs_supports };
static struct gsh_export export;
static struct req_op_context context;
static nfs_client_id_t client;
static state_owner_t owner;
static state_t state;

static int set_up(void **unused)
{
	memset(&export, 0, sizeof(export));
	memset(&owner, 0, sizeof(owner));
	memset(&state, 0, sizeof(state));
	PTHREAD_MUTEX_init(&hdl.st_lock, NULL);
	glist_init(&hdl.file.lock_list);
	hdl.file.obj = &obj;
	PTHREAD_RWLOCK_init(&export.exp_lock, NULL);
	glist_init(&export.exp_lock_list);
	export.fsal_export = &fsal_export;
	export.export_status = EXPORT_READY;
	export.refcnt = 100;
	context = (struct req_op_context){ .ctx_export = &export, .fsal_export = &fsal_export };
	op_ctx = &context;
	PTHREAD_MUTEX_init(&owner.so_mutex, NULL);
	glist_init(&owner.so_lock_list);
	owner.so_type = STATE_LOCK_OWNER_NFSV4;
	owner.so_owner.so_nfs4_owner.so_clientrec = &client;
	PTHREAD_MUTEX_init(&state.state_mutex, NULL);
	state.state_type = STATE_TYPE_LOCK;
	glist_init(&state.state_data.lock.state_locklist);
	state.state_refcount = 100;
	answer = ERR_FSAL_NO_ERROR;
	in_the_way = FSAL_NO_LOCK;
	nasked = 0;
	async = true;
	return 0;
}

/* Whoever has a lock, or waits, has ended. */
static int tear_down(void **unused)
{
	fsal_lock_param_t all = { .lock_type = FSAL_LOCK_R };

	assert_int_equal(state_unlock(&obj, &state, &owner, false, 0, &all), STATE_SUCCESS);
	assert_int_equal(glist_length(&hdl.file.lock_list), 0);
	return 0;
}

static state_status_t lock(state_blocking_t blocking)
{
	fsal_lock_param_t want = { .lock_type = FSAL_LOCK_W, .lock_start = 0, .lock_length = 10 }, conflict;
	state_block_data_t *block = gsh_calloc(1, sizeof(*block));
	state_owner_t *holder = NULL;
	state_status_t status;

	block->sbd_granted_callback = notified;
	STATELOCK_lock(&obj);
	status = state_lock(&obj, &owner, &state, blocking, LOCK_NFSv4, &block, &want, &holder, &conflict);
	STATELOCK_unlock(&obj);
	gsh_free(block);
	return status;
}

static uint32_t entries(void)
{
	return (uint32_t)glist_length(&hdl.file.lock_list);
}

/* The only entry: it waits, and its client is told that it may ask again. */
static state_lock_entry_t *notify(void)
{
	state_lock_entry_t *e = glist_first_entry(&hdl.file.lock_list, state_lock_entry_t, sle_list);

	try_to_grant_lock(e);
	assert_int_equal(e->sle_blocked, STATE_AVAILABLE);
	return e;
}

/* ---- patches/0009 ---- */

static void delay_without_a_lock_in_the_way_is_delay(void **unused)
{
	answer = ERR_FSAL_DELAY;
	assert_int_equal(lock(STATE_NON_BLOCKING), STATE_FSAL_DELAY);
	assert_int_equal(lock(STATE_BLOCKING), STATE_FSAL_DELAY);
	assert_int_equal(entries(), 0);
}

static void delay_with_a_lock_in_the_way_is_a_conflict(void **unused)
{
	answer = ERR_FSAL_DELAY;
	in_the_way = FSAL_LOCK_R;
	assert_int_equal(lock(STATE_NON_BLOCKING), STATE_LOCK_CONFLICT);
	answer = ERR_FSAL_ACCESS;
	assert_int_equal(lock(STATE_NON_BLOCKING), STATE_LOCK_CONFLICT);
	in_the_way = FSAL_NO_LOCK;
	assert_int_equal(lock(STATE_NON_BLOCKING), STATE_LOCK_CONFLICT);
	assert_int_equal(entries(), 0);
}

/* As FSAL_VFS has them: the request waits in Ganesha's list alone. */
static void without_asynchronous_locks_a_conflict_waits(void **unused)
{
	async = false;
	answer = ERR_FSAL_DELAY;
	in_the_way = FSAL_LOCK_W;
	assert_int_equal(lock(STATE_BLOCKING), STATE_LOCK_BLOCKED);
	assert_int_equal(asked[0], FSAL_OP_LOCK);
	assert_int_equal(entries(), 1);
}

static void a_test_that_cannot_be_decided_is_delay(void **unused)
{
	fsal_lock_param_t want = { .lock_type = FSAL_LOCK_W, .lock_length = 10 }, conflict;
	state_owner_t *holder = NULL;

	answer = ERR_FSAL_DELAY;
	assert_int_equal(state_test(&obj, &state, &owner, &want, &holder, &conflict), STATE_FSAL_DELAY);
	in_the_way = FSAL_LOCK_W;
	assert_int_equal(state_test(&obj, &state, &owner, &want, &holder, &conflict), STATE_LOCK_CONFLICT);
	assert_int_equal(conflict.lock_start, 5);
}

/* ---- patches/0010 ---- */

static void a_notified_waiter_has_the_lock_when_the_fsal_says_so(void **unused)
{
	answer = ERR_FSAL_BLOCKED;
	assert_int_equal(lock(STATE_BLOCKING), STATE_LOCK_BLOCKED);
	notify();
	answer = ERR_FSAL_NO_ERROR;
	assert_int_equal(lock(STATE_BLOCKING), STATE_SUCCESS);
	assert_int_equal(entries(), 1);
	assert_int_equal(glist_first_entry(&hdl.file.lock_list, state_lock_entry_t, sle_list)->sle_blocked, STATE_NON_BLOCKING);
}

static void a_notified_waiter_waits_on_when_another_was_faster(void **unused)
{
	state_lock_entry_t *e;

	answer = ERR_FSAL_BLOCKED;
	assert_int_equal(lock(STATE_BLOCKING), STATE_LOCK_BLOCKED);
	e = notify();
	assert_int_equal(lock(STATE_BLOCKING), STATE_LOCK_BLOCKED);
	assert_int_equal(entries(), 1);
	assert_int_equal(e->sle_blocked, STATE_BLOCKING);
	nasked = 0;
	assert_int_equal(lock(STATE_BLOCKING), STATE_LOCK_BLOCKED);
	assert_int_equal(nasked, 0); /* it waits, and the FSAL is not asked */
	assert_true(notify() == e);
	answer = ERR_FSAL_NO_ERROR;
	assert_int_equal(lock(STATE_BLOCKING), STATE_SUCCESS);
}

static void an_error_is_an_answer_and_nobody_waits_any_more(void **unused)
{
	answer = ERR_FSAL_BLOCKED;
	assert_int_equal(lock(STATE_BLOCKING), STATE_LOCK_BLOCKED);
	notify();
	answer = ERR_FSAL_IN_GRACE;
	nasked = 0;
	assert_int_equal(lock(STATE_BLOCKING), STATE_IN_GRACE);
	assert_int_equal(entries(), 0);
	assert_int_equal(asked[1], FSAL_OP_CANCEL);
}

static void who_does_not_want_to_wait_any_more_does_not(void **unused)
{
	answer = ERR_FSAL_BLOCKED;
	assert_int_equal(lock(STATE_BLOCKING), STATE_LOCK_BLOCKED);
	notify();
	nasked = 0;
	assert_int_equal(lock(STATE_NON_BLOCKING), STATE_LOCK_BLOCKED); /* DENIED for the client */
	assert_int_equal(entries(), 0);
	assert_int_equal(asked[1], FSAL_OP_CANCEL);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(delay_without_a_lock_in_the_way_is_delay),
		T(delay_with_a_lock_in_the_way_is_a_conflict),
		T(without_asynchronous_locks_a_conflict_waits),
		T(a_test_that_cannot_be_decided_is_delay),
		T(a_notified_waiter_has_the_lock_when_the_fsal_says_so),
		T(a_notified_waiter_waits_on_when_another_was_faster),
		T(an_error_is_an_answer_and_nobody_waits_any_more),
		T(who_does_not_want_to_wait_any_more_does_not),
	};

	assert_int_equal(state_lock_init(), STATE_SUCCESS);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
