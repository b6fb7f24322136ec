/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Kerberos principals of any length (patches/0005). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "config.h"
#include "log.h"
#include "gsh_rpc.h"
#include "nfs_core.h"
#include "nfs_exports.h"
#include "nfs_creds.h"
#include "idmapper.h"
#include "idmapper_monitoring.h"
#include "uid2grp.h"

#define ANONYMOUS 65534
#define MAPPED 1000

static char asked[MAXNAMLEN + 2]; /* name that was to be mapped */

void never_called(void);
void never_called(void)
{
	fail();
}

/* Nobody has set the log up. */
void DisplayLogComponentLevel(log_components_t component, const char *file, int line, const char *function, log_levels_t level, const char *format, ...)
{
}

bool principal2uid(char *principal, uid_t *uid, gid_t *gid)
{
	snprintf(asked, sizeof(asked), "%s", principal);
	*uid = *gid = MAPPED;
	return true;
}

bool uid2grp(uid_t uid, struct group_data **gdata)
{
	return false;
}

bool principal2grp(char *principal, struct group_data **gdata, const uid_t uid, const gid_t gid)
{
	return false;
}

void idmapper_monitoring__failure(idmapping_op_t operation, idmapping_utility_t utility)
{
}

/* The user that a request of a principal with so many letters is of. */
static uid_t user_of(size_t letters)
{
	struct req_op_context context = { .export_perms = { .anonymous_uid = ANONYMOUS, .anonymous_gid = ANONYMOUS } };
	char *name = malloc(letters + 1);
	struct svc_rpc_gss_data gd = { .cname = { .length = letters, .value = name } };
	SVCAUTH auth = { .svc_ah_private = &gd };
	struct svc_req req = { .rq_auth = &auth };

	memset(name, 'p', letters);
	req.rq_msg.cb_cred.oa_flavor = RPCSEC_GSS;
	op_ctx = &context;
	asked[0] = '\0';
	assert_int_equal(nfs_req_creds(&req), NFS4_OK);
	/* as for the next operation of the request, which finds the credentials loaded */
	assert_int_equal(nfs_req_creds(&req), NFS4_OK);
	op_ctx = NULL;
	free(name);
	return context.creds.caller_uid;
}

static void test_a_name_is_mapped(void **unused)
{
	assert_int_equal(user_of(3), MAPPED);
	assert_string_equal(asked, "ppp");
	assert_int_equal(user_of(MAXNAMLEN), MAPPED);
	assert_int_equal(strlen(asked), MAXNAMLEN);
}

static void test_a_long_name_is_anonymous(void **unused)
{
	assert_int_equal(user_of(MAXNAMLEN + 1), ANONYMOUS);
	assert_int_equal(user_of(4096), ANONYMOUS);
	assert_string_equal(asked, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_name_is_mapped),
		cmocka_unit_test(test_a_long_name_is_anonymous),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
