/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is remembered within one request of a client: names that were refused as taken, and what the request is about. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "repl.h"

__thread struct req_op_context *op_ctx;

struct nfs4r_buf *nfs4r_buf_copy(const void *bytes, uint32_t len)
{
	return NULL; /* no test remembers an ACL */
}

static const struct nfs4r_oid dir = { { 1 } }, other_dir = { { 2 } };
static struct repl_export export;
static nfs_argop4 ops[3];
static compound_data_t data;
static nfs_request_t request = { .arg_nfs.arg_compound4.argarray = { .argarray_len = 3, .argarray_val = ops } };
static struct req_op_context context;

static int new_request(void **unused)
{
	memset(&context, 0, sizeof(context));
	op_ctx = &context;
	context.nfs_reqdata = &request;
	context.req_type = NFS_REQUEST;
	context.nfs_vers = NFS_V4;
	context.start_time.tv_sec = 1;
	request.svc.rq_msg.cb_proc = NFSPROC4_COMPOUND;
	request.proc_data = &data;
	memset(ops, 0, sizeof(ops));
	data.oppos = 0;
	repl_compound_forget();
	return 0;
}

static bool recall(const struct nfs4r_oid *in, const char *name, enum nfs4r_status *st)
{
	struct nfs4r_read rd = { .type = NFS4R_RD_LOOKUP, .oid = *in };
	bool found;

	snprintf(rd.name, sizeof(rd.name), "%s", name);
	found = repl_compound_recall_name(&export, &rd);
	*st = rd.status;
	return found;
}

static void test_a_name_that_was_taken_is_found_taken(void **unused)
{
	enum nfs4r_status st;

	repl_compound_remember_taken(&export, &dir, "lock");
	assert_true(recall(&dir, "lock", &st));
	assert_int_equal(st, NFS4R_EXIST);
	assert_false(recall(&dir, "loc", &st));
	assert_false(recall(&other_dir, "lock", &st));
}

/* The structure of a request that is over may be that of another one. */
static void test_another_request_asks_anew(void **unused)
{
	enum nfs4r_status st;

	repl_compound_remember_taken(&export, &dir, "lock");
	context.start_time.tv_nsec++;
	assert_false(recall(&dir, "lock", &st));
}

static void test_an_update_ends_it(void **unused)
{
	enum nfs4r_status st;

	repl_compound_remember_taken(&export, &dir, "lock");
	repl_compound_forget();
	assert_false(recall(&dir, "lock", &st));
}

static void test_the_longest_name(void **unused)
{
	char name[NFS4R_NAME_MAX + 1];
	enum nfs4r_status st;

	memset(name, 'n', NFS4R_NAME_MAX);
	name[NFS4R_NAME_MAX] = '\0';
	repl_compound_remember_taken(&export, &dir, name);
	assert_true(recall(&dir, name, &st));
	assert_int_equal(st, NFS4R_EXIST);
}

static void test_an_open_by_name_is_known(void **unused)
{
	ops[1].argop = NFS4_OP_OPEN;
	ops[1].nfs_argop4_u.opopen.claim.claim = CLAIM_NULL;
	assert_false(repl_compound_opens_by_name());
	data.oppos = 1;
	assert_true(repl_compound_opens_by_name());
	ops[1].nfs_argop4_u.opopen.claim.claim = CLAIM_FH;
	assert_false(repl_compound_opens_by_name());
	data.oppos = 2; /* GETATTR, or what else follows */
	assert_false(repl_compound_opens_by_name());
	context.nfs_reqdata = NULL; /* a thread of the engine */
	assert_false(repl_compound_opens_by_name());
}

#define T(test) cmocka_unit_test_setup(test, new_request)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_a_name_that_was_taken_is_found_taken),
		T(test_another_request_asks_anew),
		T(test_an_update_ends_it),
		T(test_the_longest_name),
		T(test_an_open_by_name_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
