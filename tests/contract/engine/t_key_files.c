/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The files by which a server proves who it is: what is refused before anything starts, and what the line says. */
#include "lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/engine.h"

static char folder[64];
static struct nfs4r_config cfg;

static void file(char *out, size_t size, const char *name, mode_t mode)
{
	FILE *f;

	snprintf(out, size, "%s/%s", folder, name);
	f = fopen(out, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(chmod(out, mode), 0);
}

static int make(void **state)
{
	snprintf(folder, sizeof(folder), "/tmp/nfs4r-keys.XXXXXX");
	assert_non_null(mkdtemp(folder));
	nfs4r_config_init(&cfg);
	cfg.rpc.security = NFS4R_SECURITY_TLS;
	file(cfg.rpc.tls_key, sizeof(cfg.rpc.tls_key), "peer.key", 0600);
	file(cfg.rpc.tls_certificate, sizeof(cfg.rpc.tls_certificate), "peer.crt", 0644);
	return 0;
}

static int unmake(void **state)
{
	char cmd[100];

	snprintf(cmd, sizeof(cmd), "rm -r %s", folder);
	return system(cmd);
}

static void taken(void)
{
	char why[NFS4R_WHY] = "";

	if (nfs4r_key_files_check(&cfg, why, sizeof(why)) != NFS4R_OK)
		fail_msg("%s", why);
}

static void refused(const char *key, const char *what)
{
	char why[NFS4R_WHY] = "", begin[40];

	assert_int_equal(nfs4r_key_files_check(&cfg, why, sizeof(why)), NFS4R_BADCONFIG);
	snprintf(begin, sizeof(begin), "REPL: %s = \"", key);
	if (strncmp(why, begin, strlen(begin)) != 0 || !strstr(why, what))
		fail_msg("\"%s\" is not about %s, or does not say \"%s\"", why, key, what);
}

static void what_is_there_is_taken(void **state)
{
	taken();
	file(cfg.rpc.tls_ca, sizeof(cfg.rpc.tls_ca), "ca.crt", 0644);
	file(cfg.rpc.tls_crl, sizeof(cfg.rpc.tls_crl), "ca.crl", 0644);
	taken();
	cfg.rpc.security = NFS4R_SECURITY_KRB5P;
	file(cfg.rpc.krb5_keytab, sizeof(cfg.rpc.krb5_keytab), "keytab", 0600);
	taken();
}

static void nothing_is_looked_at_with_none(void **state)
{
	cfg.rpc.security = NFS4R_SECURITY_NONE;
	unlink(cfg.rpc.tls_key);
	taken();
	cfg.rpc.security_accept = NFS4R_SECURITY_BIT(NFS4R_SECURITY_TLS);
	refused("Peer_Key", "is not there");
}

static void the_line_has_the_command_that_makes_them(void **state)
{
	char command[200];

	unlink(cfg.rpc.tls_key);
	snprintf(command, sizeof(command), "run `nfs4rctl key make --files %s/peer` on this machine", folder);
	refused("Peer_Key", command);
	snprintf(cfg.rpc.tls_certificate, sizeof(cfg.rpc.tls_certificate), "%s/other.crt", folder);
	refused("Peer_Key", "write the paths that it prints as Peer_Key and Peer_Certificate");
	if (access("/etc/nfs4r/peer.key", F_OK) == 0)
		skip();
	nfs4r_config_init(&cfg);
	cfg.rpc.security = NFS4R_SECURITY_TLS;
	refused("Peer_Key", "\"/etc/nfs4r/peer.key\" is not there: run `nfs4rctl key make` on this machine");
}

static void what_is_missing_is_named(void **state)
{
	unlink(cfg.rpc.tls_certificate);
	refused("Peer_Certificate", "is not there");
	file(cfg.rpc.tls_certificate, sizeof(cfg.rpc.tls_certificate), "peer.crt", 0644);
	snprintf(cfg.rpc.tls_ca, sizeof(cfg.rpc.tls_ca), "%s/ca.crt", folder);
	refused("Peer_CA", "put the certificate of the authority there");
	file(cfg.rpc.tls_ca, sizeof(cfg.rpc.tls_ca), "ca.crt", 0644);
	snprintf(cfg.rpc.tls_crl, sizeof(cfg.rpc.tls_crl), "%s/ca.crl", folder);
	refused("Peer_CRL", "is not there");
	cfg.rpc.security = NFS4R_SECURITY_KRB5I;
	snprintf(cfg.rpc.krb5_keytab, sizeof(cfg.rpc.krb5_keytab), "%s/keytab", folder);
	refused("Peer_Keytab", "ktadd");
	snprintf(cfg.rpc.krb5_keytab, sizeof(cfg.rpc.krb5_keytab), "%s", folder);
	refused("Peer_Keytab", "is no file");
}

static void secrets_are_kept_from_others(void **state)
{
	static const mode_t modes[] = { 0644, 0640, 0604, 0620, 0601 };

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(chmod(cfg.rpc.tls_key, modes[i]), 0);
		refused("Peer_Key", "chmod 600");
	}
	assert_int_equal(chmod(cfg.rpc.tls_key, 0400), 0);
	taken();
	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(cfg.rpc.tls_key, 65534, 65534), 0);
	refused("Peer_Key", "belongs to another user");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make, unmake)
	const struct CMUnitTest tests[] = {
		T(what_is_there_is_taken),
		T(nothing_is_looked_at_with_none),
		T(the_line_has_the_command_that_makes_them),
		T(what_is_missing_is_named),
		T(secrets_are_kept_from_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
