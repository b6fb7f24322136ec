/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* LOCK: whom Ganesha calls back when a lock is free, and what the answer to a request that waits says of the lock in the way (patches/0011). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "config.h"
#include "log.h"
#include "gsh_rpc.h"
#include "nfs4.h"
#include "nfs_core.h"
#include "sal_functions.h"
#include "nfs_proto_functions.h"
#include "nfs_proto_tools.h"
#include "nfs_rpc_callback.h"
#include "export_mgr.h"
#include "nfs_file_handle.h"
#include "fsal.h"

static nfs_client_id_t client;
static state_owner_t owner = { .so_type = STATE_LOCK_OWNER_NFSV4, .so_owner_val = "o", .so_owner_len = 1, .so_mutex = PTHREAD_MUTEX_INITIALIZER };
static state_t state_open, state;
static granted_callback_t granted; /* what a request that waits leaves behind */
static fsal_lock_param_t told; /* of the lock in the way */
static uint32_t calls; /* to the client */

void never_called(void); /* CMakeLists.txt */

void never_called(void)
{
	fail_msg("this is not called here");
}

/* Nobody has set the log up. */
void DisplayLogComponentLevel(log_components_t component, const char *file, int line, const char *function, log_levels_t level, const char *format, ...)
{
}

void log_lock(log_components_t component, log_levels_t debug, const char *reason, struct fsal_obj_handle *obj, state_owner_t *o, fsal_lock_param_t *lock, char *file,
	      int line, char *function)
{
}

/* The request waits. */
state_status_t state_lock(struct fsal_obj_handle *obj, state_owner_t *o, state_t *s, state_blocking_t blocking, lock_protocol_t protocol, state_block_data_t **bdata,
			  fsal_lock_param_t *lock, state_owner_t **holder, fsal_lock_param_t *conflict)
{
	granted = (*bdata)->sbd_granted_callback;
	return STATE_LOCK_BLOCKED;
}

nfsstat4 Process_nfs4_conflict(LOCK4denied *denied, state_owner_t *holder, fsal_lock_param_t *conflict, compound_data_t *data)
{
	told = *conflict;
	return NFS4ERR_DENIED;
}

int nfs_rpc_cb_single(nfs_client_id_t *c, nfs_cb_argop4 *op, struct state_refer *refer, void (*completion)(rpc_call_t *), void *arg)
{
	assert_int_equal(op->argop, NFS4_OP_CB_NOTIFY_LOCK);
	calls++;
	return 0;
}

bool nfs4_FSALToFhandle(bool allocate, nfs_fh4 *fh, const struct fsal_obj_handle *obj, struct gsh_export *exp)
{
	fh->nfs_fh4_val = gsh_calloc(1, 1);
	fh->nfs_fh4_len = 1;
	return true;
}

nfsstat4 check_resp_room(compound_data_t *data, uint32_t len)
{
	return NFS4_OK;
}

nfsstat4 nfs4_sanity_check_FH(compound_data_t *data, object_file_type_t type, bool ds)
{
	return NFS4_OK;
}

bool Check_nfs4_seqid(state_owner_t *o, seqid4 seqid, nfs_argop4 *args, struct fsal_obj_handle *obj, nfs_resop4 *resp, const char *tag)
{
	return true;
}

void Copy_nfs4_state_req(state_owner_t *o, seqid4 seqid, nfs_argop4 *args, struct fsal_obj_handle *obj, nfs_resop4 *resp, const char *tag)
{
}

nfsstat4 nfs4_Check_Stateid(stateid4 *id, struct fsal_obj_handle *obj, state_t **found, compound_data_t *data, int flags, seqid4 seqid, bool check_seqid, const char *tag)
{
	*found = &state;
	return NFS4_OK;
}

state_t *nfs4_State_Get_Pointer(char *other)
{
	return &state_open;
}

void inc_state_owner_ref(state_owner_t *o)
{
}

void dec_state_owner_ref(state_owner_t *o)
{
}

void dec_nfs4_state_ref(struct state_t *s)
{
}

int32_t inc_client_id_ref(nfs_client_id_t *c)
{
	return 1;
}

int32_t dec_client_id_ref(nfs_client_id_t *c)
{
	return 1;
}

static uint64_t fs_maxfilesize(struct fsal_export *export)
{
	return UINT64_MAX;
}

static bool fs_supports(struct fsal_export *export, fsal_fsinfo_options_t option)
{
	return true;
}

static struct fsal_export export = { .exp_ops = { .fs_maxfilesize = fs_maxfilesize, .fs_supports = fs_supports } };

/* A client with that version waits for a lock. */
static nfsstat4 wait_for_lock(uint32_t minorversion)
{
	struct state_hdl hdl = { .st_lock = PTHREAD_MUTEX_INITIALIZER };
	struct fsal_obj_handle obj = { .type = REGULAR_FILE, .state_hdl = &hdl };
	nfs41_session_t session = { .clientid = 1 };
	compound_data_t data = { .minorversion = minorversion, .current_obj = &obj, .session = &session };
	nfs_argop4 op = { .argop = NFS4_OP_LOCK, .nfs_argop4_u.oplock = { .locktype = WRITEW_LT, .length = 10 } };
	struct gsh_export gsh = { .export_id = 1 };
	struct req_op_context context = { .fsal_export = &export, .ctx_export = &gsh };
	nfs_resop4 resp = { 0 };

	op_ctx = &context;
	memset(&state, 0, sizeof(state));
	PTHREAD_MUTEX_init(&state.state_mutex, NULL);
	client.cid_minorversion = minorversion;
	owner.so_owner.so_nfs4_owner.so_clientrec = &client;
	owner.so_owner.so_nfs4_owner.so_related_owner = &owner;
	state.state_owner = &owner;
	state.state_export = &gsh;
	state.state_type = STATE_TYPE_LOCK;
	state_open.state_owner = &owner;
	state_open.state_data.share.share_access = OPEN4_SHARE_ACCESS_BOTH;
	nfs4_op_lock(&op, &data, &resp);
	return resp.nfs_resop4_u.oplock.status;
}

/* The lock is free. */
static void notify(void)
{
	state_block_data_t block = { 0 };
	state_lock_entry_t entry = { .sle_owner = &owner, .sle_block_data = &block };

	calls = 0;
	assert_int_equal(granted(NULL, &entry), STATE_SUCCESS);
	assert_true(block.sbd_prot.sbd_v4.snbd_notified_eligible_time != 0);
}

static void a_client_with_nfsv4_1_is_called_back(void **unused)
{
	assert_int_equal(wait_for_lock(1), NFS4ERR_DENIED);
	notify();
	assert_int_equal(calls, 1);
}

static void a_client_with_nfsv4_0_is_not(void **unused)
{
	assert_int_equal(wait_for_lock(0), NFS4ERR_DENIED);
	notify();
	assert_int_equal(calls, 0);
}

/* It came from the stack. */
static void what_is_said_of_the_lock_in_the_way_is_filled_in(void **unused)
{
	memset(&told, 0xee, sizeof(told));
	assert_int_equal(wait_for_lock(1), NFS4ERR_DENIED);
	assert_int_equal(told.lock_type, FSAL_LOCK_W);
	assert_int_equal(told.lock_start, 0);
	assert_int_equal(told.lock_length, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_with_nfsv4_1_is_called_back),
		cmocka_unit_test(a_client_with_nfsv4_0_is_not),
		cmocka_unit_test(what_is_said_of_the_lock_in_the_way_is_filled_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
