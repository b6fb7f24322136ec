/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Extended attributes on the wire: values and lists of all sizes that Linux has (patches/0002). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "config.h"
#include "log.h"
#include "gsh_rpc.h"
#include "nfs4.h"

#define VALUE_MAX 65536
#define LIST_MAX 9362 /* names of one letter in a list of 64 KiB: "user.x" and a NUL each */
#define ROOM (1 << 20)

static char wire[ROOM];

static XDR stream(enum xdr_op op)
{
	XDR x = { 0 };

	xdrmem_create(&x, wire, ROOM, op);
	return x;
}

static bool carries_argument(uint32_t len)
{
	char *bytes = malloc(len + 1);
	SETXATTR4args in = { .sxa_key = { .utf8string_len = 1, .utf8string_val = "n" }, .sxa_value = { .utf8string_len = len, .utf8string_val = bytes } };
	SETXATTR4args out = { 0 };
	XDR x = stream(XDR_ENCODE);
	bool ok;

	memset(bytes, 'v', len);
	ok = xdr_SETXATTR4args(&x, &in);
	x = stream(XDR_DECODE);
	ok = ok && xdr_SETXATTR4args(&x, &out);
	if (ok) {
		assert_int_equal(out.sxa_value.utf8string_len, len);
		assert_memory_equal(out.sxa_value.utf8string_val != NULL ? out.sxa_value.utf8string_val : "", bytes, len);
	}
	xdr_SETXATTR4args(&(XDR){ .x_op = XDR_FREE }, &out);
	free(bytes);
	return ok;
}

static bool carries_result(uint32_t len)
{
	char *bytes = malloc(len + 1);
	GETXATTR4res in = { .status = NFS4_OK, .GETXATTR4res_u.resok4.gxr_value = { .utf8string_len = len, .utf8string_val = bytes } };
	XDR x = stream(XDR_ENCODE);
	bool ok;

	memset(bytes, 'v', len);
	ok = xdr_GETXATTR4res(&x, &in);
	assert_true(!ok || xdr_getpos(&x) == 8 + (len + 3) / 4 * 4);
	free(bytes);
	return ok;
}

static bool carries_list(uint32_t n)
{
	component4 *names = calloc(n, sizeof(*names));
	LISTXATTR4res in = { .status = NFS4_OK, .LISTXATTR4res_u.resok4.lxr_names = { .xl4_count = n, .xl4_entries = names } };
	XDR x = stream(XDR_ENCODE);
	bool ok;

	for (uint32_t i = 0; i < n; i++)
		names[i] = (component4){ .utf8string_len = 1, .utf8string_val = "x" };
	ok = xdr_LISTXATTR4res(&x, &in);
	free(names);
	return ok;
}

static void test_values_of_all_sizes(void **unused)
{
	static const uint32_t sizes[] = { 0, 1, 8191, 8192, 8193, 65535, VALUE_MAX };

	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_true(carries_argument(sizes[i]));
		assert_true(carries_result(sizes[i]));
	}
}

static void test_a_larger_value_is_none(void **unused)
{
	assert_false(carries_argument(VALUE_MAX + 1));
}

static void test_lists_of_many_names(void **unused)
{
	assert_true(carries_list(0));
	assert_true(carries_list(1024));
	assert_true(carries_list(1025));
	assert_true(carries_list(LIST_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_of_all_sizes),
		cmocka_unit_test(test_a_larger_value_is_none),
		cmocka_unit_test(test_lists_of_many_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
