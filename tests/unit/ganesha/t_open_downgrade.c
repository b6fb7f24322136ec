/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* OPEN_DOWNGRADE: what a client hears of an error of the FSAL, and what is kept of it (patches/0004). */
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
#include "fsal.h"

static state_owner_t owner = { .so_mutex = PTHREAD_MUTEX_INITIALIZER };
static state_t state;
static fsal_status_t answer; /* the FSAL's */
static bool asked_permission;
static nfsstat4 kept; /* in the owner, for a repetition */
static uint32_t nkept;

/* Nobody has set the log up. */
void DisplayLogComponentLevel(log_components_t component, const char *file, int line, const char *function, log_levels_t level, const char *format, ...)
{
}

nfsstat4 nfs4_Check_Stateid(stateid4 *id, struct fsal_obj_handle *obj, state_t **found, compound_data_t *data, int flags, seqid4 seqid, bool check_seqid, const char *tag)
{
	*found = &state;
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
	kept = resp->nfs_resop4_u.opopen_downgrade.status;
	nkept++;
}

fsal_status_t fsal_reopen2(struct fsal_obj_handle *obj, struct state_t *s, fsal_openflags_t flags, bool check_permission)
{
	asked_permission = check_permission;
	return answer;
}

void update_stateid(state_t *s, stateid4 *id, compound_data_t *data, const char *tag)
{
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

/* From read and write to read, while the FSAL says that. */
static nfsstat4 downgrade(fsal_errors_t error, uint32_t minorversion)
{
	struct state_hdl hdl = { .st_lock = PTHREAD_MUTEX_INITIALIZER };
	struct fsal_obj_handle obj = { .type = REGULAR_FILE, .state_hdl = &hdl };
	compound_data_t data = { .minorversion = minorversion, .current_obj = &obj, .current_filetype = REGULAR_FILE };
	nfs_argop4 op = { .argop = NFS4_OP_OPEN_DOWNGRADE, .nfs_argop4_u.opopen_downgrade = { .share_access = OPEN4_SHARE_ACCESS_READ } };
	nfs_resop4 resp = { 0 };

	memset(&state, 0, sizeof(state));
	PTHREAD_MUTEX_init(&state.state_mutex, NULL);
	state.state_owner = &owner;
	state.state_data.share.share_access = OPEN4_SHARE_ACCESS_BOTH;
	state.state_data.share.share_access_prev = 1 << OPEN4_SHARE_ACCESS_READ | 1 << OPEN4_SHARE_ACCESS_BOTH;
	state.state_data.share.share_deny_prev = 1 << OPEN4_SHARE_DENY_NONE;
	answer = fsalstat(error, 0);
	nkept = 0;
	nfs4_op_open_downgrade(&op, &data, &resp);
	return resp.nfs_resop4_u.opopen_downgrade.status;
}

static void test_it_asks_for_no_permission(void **unused)
{
	asked_permission = true;
	assert_int_equal(downgrade(ERR_FSAL_NO_ERROR, 1), NFS4_OK);
	assert_false(asked_permission);
}

static void test_errors_are_said_as_they_are(void **unused)
{
	assert_int_equal(downgrade(ERR_FSAL_DELAY, 1), NFS4ERR_DELAY);
	assert_int_equal(downgrade(ERR_FSAL_STALE, 1), NFS4ERR_STALE);
	assert_int_equal(downgrade(ERR_FSAL_ROFS, 1), NFS4ERR_ROFS);
}

/* The client counts on after any of these. */
static void test_an_error_is_an_answer_with_its_seqid(void **unused)
{
	assert_int_equal(downgrade(ERR_FSAL_NO_ERROR, 0), NFS4_OK);
	assert_int_equal(nkept, 1);
	assert_int_equal(downgrade(ERR_FSAL_DELAY, 0), NFS4ERR_DELAY);
	assert_int_equal(nkept, 1);
	assert_int_equal(kept, NFS4ERR_DELAY);
	assert_int_equal(downgrade(ERR_FSAL_DELAY, 1), NFS4ERR_DELAY);
	assert_int_equal(nkept, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_asks_for_no_permission),
		cmocka_unit_test(test_errors_are_said_as_they_are),
		cmocka_unit_test(test_an_error_is_an_answer_with_its_seqid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
