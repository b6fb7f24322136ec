/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What Ganesha's list of locks (SAL/state_lock.c) calls, made up, for a test that is compiled together with that file. Included once. */
#ifndef NFS4R_TESTS_SAL_LOCKS_H
#define NFS4R_TESTS_SAL_LOCKS_H

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
#include "sal_metrics.h"
#include "nfs_proto_functions.h"
#include "export_mgr.h"
#include "fsal.h"

void try_to_grant_lock(state_lock_entry_t *entry); /* of that file */

void never_called(void); /* CMakeLists.txt */

void never_called(void)
{
	fail_msg("this is not called here");
}

pthread_mutex_t cached_open_owners_lock;
uint32_t num_of_curr_expired_clients;
pool_t *state_owner_pool;

/* Nobody has set the log up. */
void DisplayLogComponentLevel(log_components_t component, const char *file, int line, const char *function, log_levels_t level, const char *format, ...)
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

bool different_owners(state_owner_t *a, state_owner_t *b)
{
	return a != b;
}

/* As state_misc.c has it for these. */
state_status_t state_error_convert(fsal_status_t st)
{
	switch (st.major) {
	case ERR_FSAL_NO_ERROR:
		return STATE_SUCCESS;
	case ERR_FSAL_DELAY:
	case ERR_FSAL_ACCESS:
		return STATE_LOCK_CONFLICT;
	case ERR_FSAL_BLOCKED:
		return STATE_LOCK_BLOCKED;
	case ERR_FSAL_IN_GRACE:
		return STATE_IN_GRACE;
	case ERR_FSAL_NOMEM:
		return STATE_MALLOC_ERROR;
	default:
		return STATE_FSAL_ERROR;
	}
}

state_status_t state_async_init(void)
{
	return STATE_SUCCESS;
}

void sal_metrics__locks_inc(sal_metrics__lock_type type)
{
}

void sal_metrics__locks_dec(sal_metrics__lock_type type)
{
}

#endif
