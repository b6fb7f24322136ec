/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Values of extended attributes that Ganesha cannot carry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "repl.h"

#define ON_WIRE_MAX 65536

__thread struct req_op_context *op_ctx;
static struct req_op_context context;
static struct repl_export export;
static uint32_t stored; /* bytes of the value that the engine has */

/* In place of what the module needs for changes and lists. */
void never_called(void);
void never_called(void)
{
	fail();
}

enum nfs4r_status repl_read_any(struct repl_export *exp, struct nfs4r_read *rd)
{
	rd->data = nfs4r_buf_new(stored);
	assert_non_null(rd->data);
	memset(rd->data->data, 'v', stored);
	rd->data->len = stored;
	return NFS4R_OK;
}

enum repl_lost repl_obj_lost(struct repl_export *exp, struct repl_obj *obj, enum nfs4r_status st)
{
	return REPL_PLAIN;
}

fsal_status_t repl_obj_status(enum repl_lost lost, enum nfs4r_status st)
{
	return fsalstat(st == NFS4R_OK ? ERR_FSAL_NO_ERROR : ERR_FSAL_SERVERFAULT, 0);
}

static fsal_status_t allowed(struct fsal_obj_handle *h, fsal_accessflags_t type, fsal_accessflags_t *yes, fsal_accessflags_t *no, bool skip)
{
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

static fsal_status_t get_into(uint32_t room, uint32_t *len)
{
	static char bytes[2 * ON_WIRE_MAX], name[] = "n";
	struct fsal_obj_ops ops = { .test_access = allowed };
	struct repl_obj obj = { .handle = { .type = REGULAR_FILE, .obj_ops = &ops } };
	xattrkey4 key = { .utf8string_len = 1, .utf8string_val = name };
	xattrvalue4 value = { .utf8string_len = room, .utf8string_val = room ? bytes : NULL };
	fsal_status_t st;

	context.fsal_export = &export.export;
	op_ctx = &context;
	st = repl_getxattrs(&obj.handle, &key, &value);
	*len = value.utf8string_len;
	return st;
}

/* As a Ganesha without patches/0002 asks for it: into a short buffer, then for the length, then into one that is long enough. */
static fsal_errors_t get_stepwise(uint32_t *len)
{
	uint32_t room[] = { 1024, 0, 0 };
	fsal_status_t st;

	for (int i = 0; i < 3; i++) {
		st = get_into(room[i], len);
		if (st.major != (i == 0 ? ERR_FSAL_XATTR2BIG : ERR_FSAL_NO_ERROR))
			break;
		if (i == 1)
			room[2] = *len;
	}
	return st.major;
}

static fsal_errors_t get(uint32_t size, uint32_t *len)
{
	uint32_t again;
	fsal_errors_t st;

	stored = size;
	st = get_into(ON_WIRE_MAX, len).major;
	assert_int_equal(get_stepwise(&again), st);
	assert_int_equal(again, *len);
	return st;
}

static void test_what_fits_is_given(void **unused)
{
	static const uint32_t sizes[] = { 0, 1, 1024, 1025, 8192, 8193, ON_WIRE_MAX };
	uint32_t len;

	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(get(sizes[i], &len), ERR_FSAL_NO_ERROR);
		assert_int_equal(len, sizes[i]);
	}
}

/* Its answer would not be sent, and the client would ask again for ever. */
static void test_what_does_not_fit_is_too_large(void **unused)
{
	uint32_t len;

	assert_int_equal(get(ON_WIRE_MAX + 1, &len), ERR_FSAL_FBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_fits_is_given),
		cmocka_unit_test(test_what_does_not_fit_is_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
