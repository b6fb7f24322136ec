/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Tickets that are refused: a line with the reason and the remedy, once a minute for a cause, and nothing of it changes what else the RPC library says. And how names are mapped, as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>
#include <gssapi/gssapi_krb5.h>

#include "repl.h"
#include "nfs_core.h"
#include "nfs_exports.h"

#define SKEW 2529638949u /* KRB5KRB_AP_ERR_SKEW */
#define NOT_IN_KEYTAB 2529639093u /* KRB5_KT_NOTFOUND */

nfs_parameter_t nfs_param;
static log_levels_t levels[COMPONENT_COUNT];
log_levels_t *component_log_level = levels;
__thread struct req_op_context *op_ctx;
static tirpc_pkg_params params;
static char logged[4096], passed[512];
static unsigned lines;

void DisplayLogComponentLevel(log_components_t component, const char *file, int line, const char *function, log_levels_t level, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(logged, sizeof(logged), format, ap);
	va_end(ap);
	lines++;
}

bool tirpc_control(const u_int what, void *in)
{
	if (what == TIRPC_GET_PARAMETERS)
		*(tirpc_pkg_params *)in = params;
	else
		params = *(tirpc_pkg_params *)in;
	return true;
}

void repl_identity_used(struct repl_export *exp, const struct nfs4r_identity *id)
{
	fail_msg("nobody asked");
}

const gss_OID gss_mech_krb5;

/* What GSSAPI says of these when they were the last failure of the thread. */
OM_uint32 gss_display_status(OM_uint32 *minor, OM_uint32 value, int type, gss_OID mech, OM_uint32 *context, gss_buffer_t text)
{
	static char buf[100];

	assert_int_equal(type, GSS_C_MECH_CODE);
	if (value == SKEW)
		snprintf(buf, sizeof(buf), "Clock skew too great");
	else if (value == NOT_IN_KEYTAB)
		snprintf(buf, sizeof(buf), "Request ticket server nfs/a@B kvno 3 not found in keytab; keytab is likely out of date");
	else
		return GSS_S_BAD_STATUS;
	text->value = buf;
	text->length = strlen(buf);
	return GSS_S_COMPLETE;
}

OM_uint32 gss_release_buffer(OM_uint32 *minor, gss_buffer_t text)
{
	return GSS_S_COMPLETE;
}

static void library_says(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(passed, sizeof(passed), fmt, ap);
	va_end(ap);
}

static void refused(unsigned minor)
{
	params.warnx_("%s: auth failed major=%u minor=%u", "svcauth_gss_accept_sec_context", 851968u, minor);
}

static void test_each_cause_has_a_remedy_once_a_minute(void **unused)
{
	params.warnx_ = library_says;
	component_log_level[COMPONENT_FSAL] = NIV_WARN;
	repl_kerberos_watch();
	assert_ptr_equal(params.warnx_, library_says); /* no Kerberos: nothing is changed */
	nfs_param.krb5_param.active_krb5 = true;
	repl_kerberos_watch();
	assert_ptr_not_equal(params.warnx_, library_says);
	assert_true(params.debug_flags & TIRPC_DEBUG_FLAG_AUTH);
	refused(SKEW);
	assert_non_null(strstr(logged, "a client's Kerberos ticket was refused: Clock skew too great; correct the clock"));
	refused(SKEW);
	refused(SKEW);
	assert_int_equal(lines, 1);
	refused(NOT_IN_KEYTAB);
	assert_non_null(strstr(logged, "ktadd -k KEYTAB"));
	assert_int_equal(lines, 2);
	for (unsigned i = 0; i < 1000; i++) /* whatever a client may bring about */
		refused(i % 50 + 1);
	assert_int_equal(lines, 8);
	params.warnx_("%s: something else %d", "f", 3);
	assert_string_equal(passed, "f: something else 3");
	repl_kerberos_unwatch();
	assert_ptr_equal(params.warnx_, library_says);
}

static void conf_is(const char *text, const char *want)
{
	static struct gsh_export export;
	char path[] = "/tmp/t_kerberos-XXXXXX", got[512];
	int fd = mkstemp(path);

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	nfs_param.nfsv4_param.idmapconf = path;
	nfs_param.directory_services_param.root_kerberos_principal = ROOT_KERBEROS_PRINCIPAL_NONE;
	export.export_perms.set = EXPORT_OPTION_AUTH_TYPES;
	export.export_perms.options = EXPORT_OPTION_AUTH_UNIX;
	repl_identity_conf(&export, got, sizeof(got));
	assert_string_equal(got, "none (no Kerberos in SecType)");
	export.export_perms.options = EXPORT_OPTION_RPCSEC_GSS_PRIV;
	repl_identity_conf(&export, got, sizeof(got));
	assert_string_equal(got, want);
	unlink(path);
}

static void test_what_decides_is_told(void **unused)
{
	conf_is("# comment\n[General]\n Domain = example.org\nlocal-realms=EXAMPLE.ORG , OTHER.ORG\n[Mapping]\nNobody-User = nobody\n[Translation]\nMethod = static,nsswitch\n",
		"Domain = example.org, Local-Realms = EXAMPLE.ORG,OTHER.ORG, Method = static,nsswitch, GSS-Methods = default, 0 Static, Root_Kerberos_Principal = None");
	conf_is("", "Domain = default, Local-Realms = default, Method = default, GSS-Methods = default, 0 Static, Root_Kerberos_Principal = None");
}

static void test_static_names_are_compared_in_any_order(void **unused)
{
	static struct gsh_export export = { .export_perms = { .set = EXPORT_OPTION_AUTH_TYPES, .options = EXPORT_OPTION_RPCSEC_GSS_NONE } };
	static const char *const files[] = { "[Static]\na@R = x\nb@R = y\n", "[static]\nb@R=y\n  a@R  =  x \n", "[Static]\na@R = y\nb@R = x\n" };
	char got[3][512];

	nfs_param.directory_services_param.root_kerberos_principal = ROOT_KERBEROS_PRINCIPAL_ALL;
	for (int i = 0; i < 3; i++) {
		char path[] = "/tmp/t_kerberos-XXXXXX";
		int fd = mkstemp(path);

		assert_true(fd >= 0 && write(fd, files[i], strlen(files[i])) == (ssize_t)strlen(files[i]));
		close(fd);
		nfs_param.nfsv4_param.idmapconf = path;
		repl_identity_conf(&export, got[i], sizeof(got[i]));
		unlink(path);
	}
	assert_string_equal(got[0], got[1]);
	assert_string_not_equal(got[0], got[2]);
	assert_non_null(strstr(got[0], "2 Static"));
	assert_non_null(strstr(got[0], "Root_Kerberos_Principal = nfs root host"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_cause_has_a_remedy_once_a_minute),
		cmocka_unit_test(test_what_decides_is_told),
		cmocka_unit_test(test_static_names_are_compared_in_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
