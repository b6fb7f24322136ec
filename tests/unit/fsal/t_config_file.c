/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* REPL { } of a configuration file, by Ganesha's own parser, into the engine's configuration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "repl.h"
#include "config_parsing.h"
#include "gsh_config.h"

#include <stdlib.h>
#include <unistd.h>

struct repl_module repl_module;

#define NEEDED                                                                                       \
	"Server_Id = 1; Volume = \"data\"; Volume_UUID = \"3b0d7a3c-5b0e-4c86-9d0b-3a2f6d1c9e55\"; " \
	"Store = \"/var/lib/nfs4r/data\"; Peer_Security = none; Server { Id = 1; Address = \"192.0.2.1\"; } "

#define NEEDED_BUT_SECURITY                                                                          \
	"Server_Id = 1; Volume = \"data\"; Volume_UUID = \"3b0d7a3c-5b0e-4c86-9d0b-3a2f6d1c9e55\"; " \
	"Store = \"/var/lib/nfs4r/data\"; Server { Id = 1; Address = \"192.0.2.1\"; } "

/* In builds with a sanitizer. Ganesha's parser forgets the texts that it has read when it finds a block wrong; the daemon ends then. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

/* REPL { @inside }; true: it is taken. */
static bool load(const char *inside)
{
	char path[] = "/tmp/nfs4r-conf-XXXXXX.conf";
	struct config_error_type err;
	config_file_t parsed;
	int fd = mkstemps(path, 5);

	assert_true(fd >= 0);
	dprintf(fd, "REPL {\n%s\n}\n", inside);
	close(fd);
	memset(&repl_module.cfg, 0xff, sizeof(repl_module.cfg));
	assert_true(init_error_type(&err));
	parsed = config_ParseFile(path, &err);
	assert_non_null(parsed);
	repl_config_load(parsed, &err);
	config_Free(parsed);
	if (err.fp) /* else it was read, and closed */
		fclose(err.fp);
	free(err.diag_buf);
	unlink(path);
	return repl_module.configured;
}

static void taken(const char *inside)
{
	if (!load(inside))
		fail_msg("%s", repl_module.why);
}

static void refused(const char *inside, const char *want)
{
	bool is_taken;

	if (__lsan_disable)
		__lsan_disable();
	is_taken = load(inside);
	if (__lsan_enable)
		__lsan_enable();
	assert_false(is_taken);
	if (!strstr(repl_module.why, want) || strncmp(repl_module.why, "REPL: ", 6) != 0)
		fail_msg("\"%s\" is not in \"%s\"", want, repl_module.why);
}

/* Whoever adds a key gives it a default once. */
static void what_is_not_written_has_the_default(void **state)
{
	struct nfs4r_config *cfg = &repl_module.cfg, def;

	for (int tuning = 0; tuning < 2; tuning++) {
		taken(tuning ? NEEDED "Tuning { Op_Wait = 1000; }" : NEEDED);
		nfs4r_config_init(&def);
#define KEY_NUMBER(block, name, field, ...)                                       \
	if (strcmp(#name, "Server_Id") != 0 && strcmp(#name, "Waiting_Max") != 0) \
		assert_int_equal(cfg->field, def.field);
#define KEY_BOOL(block, name, field, ...) assert_int_equal(cfg->field, def.field);
#define KEY_LIST(block, name, field, ...) assert_int_equal(cfg->field, def.field);
#define KEY_TOKEN(block, name, field, home, there, def_, ...) \
	if (strcmp(#name, "Peer_Security") != 0)              \
		assert_int_equal(cfg->field, def.field);
#include "base/config.def"
		assert_int_equal(cfg->waiting_max, nfs_param.core_param.rpc.ioq_thrd_max * 3 / 4);
		assert_string_equal(cfg->rpc.congestion, "bbr");
		assert_string_equal(cfg->volume_name, "data");
		assert_string_equal(cfg->control_socket, "");
		assert_int_equal(cfg->rpc.servers[0].port, NFS4R_PORT_DEFAULT);
		assert_int_equal(cfg->rpc.buffer_bytes, cfg->window_bytes);
	}
}

static void the_times_follow_from_the_round_trip(void **state)
{
	struct nfs4r_config *cfg = &repl_module.cfg;

	taken(NEEDED "Max_Round_Trip = 350;");
	assert_int_equal(cfg->lease_ms, 3500);
	assert_int_equal(cfg->silence_ms, 3500);
	assert_int_equal(cfg->repeat_ms, 700);
	assert_int_equal(cfg->drift_permille, 10);
}

static void a_time_that_is_written_does_not_follow(void **state)
{
	struct nfs4r_config *cfg = &repl_module.cfg;

	taken(NEEDED "Max_Round_Trip = 350; Tuning { Failure_Timeout = 9000; Clock_Drift = 20; }");
	assert_int_equal(cfg->lease_ms, 3500);
	assert_int_equal(cfg->silence_ms, 9000);
	assert_int_equal(cfg->repeat_ms, 700);
	assert_int_equal(cfg->drift_permille, 20);
	taken(NEEDED "Tuning { Lease = 0; }");
	assert_int_equal(cfg->lease_ms, 0);
	assert_int_equal(cfg->silence_ms, 2000);
	taken(NEEDED "Tuning { Retransmit_Interval = 50; }");
	assert_int_equal(cfg->repeat_ms, 50);
	assert_int_equal(cfg->lease_ms, 2000);
}

static void keys_of_both_blocks_arrive(void **state)
{
	struct nfs4r_config *cfg = &repl_module.cfg;

	taken(NEEDED "Abandon_After = 60; Import = true; Quotas = ignore; Directory_Reads = local; Conflicts = \"/lost\";"
		     "Tuning { Peer_Ports = any; Peer_Congestion = system; Escalate_After = 0; Deep_Control = false; Bandwidth_Probe = 5; Waiting_Max = 7; }");
	assert_int_equal(cfg->abandon_ms, 60000);
	assert_true(cfg->import);
	assert_true(cfg->quotas_ignored);
	assert_int_equal(cfg->directory_reads, NFS4R_DIRECTORY_READS_LOCAL);
	assert_string_equal(cfg->conflicts_dir, "/lost");
	assert_true(cfg->rpc.any_port);
	assert_string_equal(cfg->rpc.congestion, "");
	assert_int_equal(cfg->escalate_after, 0);
	assert_false(cfg->deep_control);
	assert_int_equal(cfg->rpc.warm_bytes, 5);
	assert_int_equal(cfg->waiting_max, 7);
}

static void an_old_key_is_refused_with_its_new_name(void **state)
{
	refused(NEEDED "Silence = 2000;", ":2): Unknown parameter (Silence): Silence is called Failure_Timeout now: write that, in Tuning { } in REPL { }; see nfs4r.conf(5)");
	refused(NEEDED "Tuning { Promote_After = 3; }", "Promote_After is called Escalate_After now: write that, in Tuning { } in REPL { }");
}

static void a_key_in_the_wrong_block_is_refused_with_the_right_one(void **state)
{
	refused(NEEDED "Op_Wait = 1000;", "Op_Wait belongs in Tuning { } in REPL { }: move it there");
	refused(NEEDED "Tuning { Durability = commit; }", "Durability belongs in REPL { }: move it there");
}

static void a_misspelt_key_is_refused_with_the_nearest(void **state)
{
	refused(NEEDED "Imports = true;", "Unknown parameter (Imports): there is no such key; the most similar is Import, in REPL { }");
	refused(NEEDED "Server { Id = 2; Adress = \"192.0.2.2\"; }", "the most similar is Address, in Server { } in REPL { }");
	refused(NEEDED "Tunning { }", "Unknown parameter (Tunning)");
}

static void a_value_that_cannot_be_is_refused(void **state)
{
	refused(NEEDED "Max_Round_Trip = 7000;", "Max_Round_Trip = 7000 is out of range; write 20 to 6000 milliseconds");
	refused(NEEDED "Tuning { Lease = 4294969296; }", "Lease = 4294969296 (of Tuning) is out of range"); /* 2000 if it were cut to 32 bits */
	refused(NEEDED "Abandon_After = 5;", "Abandon_After = 5 is out of range; write 60 to 31536000 seconds, or 0");
	refused(NEEDED "Tuning { Waiting_Max = 200; }", "Waiting_Max = 200 is not below RPC_Ioq_ThrdMax = 200");
	refused(NEEDED "Tuning { Failure_Timeout = 900; }", "Failure_Timeout = 900 does not go with Lease = 2000");
	refused(NEEDED "Tuning { Peer_Congestion = \"a_name_that_is_too_long\"; }", "Peer_Congestion has 23 bytes; write 15 at most");
	refused(NEEDED "Peer_Security = krb5;", "more than once");
	refused("Server_Id = 1; Peer_Security = krb5;", "Peer_Security = krb5 authenticates the servers and protects no byte after that; write krb5p");
	refused("", "Server_Id = 0 is missing or out of range; write 1 to 15");
}

#define WITH(security)                                                                               \
	"Server_Id = 1; Volume = \"data\"; Volume_UUID = \"3b0d7a3c-5b0e-4c86-9d0b-3a2f6d1c9e55\"; " \
	"Store = \"/var/lib/nfs4r/data\"; Peer_Security = " security "; Server { Id = 1; Address = \"192.0.2.1\"; } "
#define SECOND(key) "Server { Id = 2; Address = \"192.0.2.2\"; " key " }"
#define KEY1 "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"
#define KEY2 "SHA256:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0"

static void servers_are_known_by_keys(void **state)
{
	struct nfs4r_rpc_config *rpc = &repl_module.cfg.rpc;
	char text[NFS4R_FINGERPRINT_TEXT];

	taken(WITH("tls") SECOND("Key = \"" KEY1 "\";"));
	assert_int_equal(rpc->security, NFS4R_SECURITY_TLS);
	assert_int_equal(rpc->security_accept, 0);
	assert_string_equal(rpc->tls_key, "/etc/nfs4r/peer.key");
	assert_string_equal(rpc->tls_certificate, "/etc/nfs4r/peer.crt");
	assert_string_equal(rpc->tls_ca, "");
	assert_int_equal(rpc->servers[0].nkeys, 0);
	assert_int_equal(rpc->servers[1].nkeys, 1);
	assert_string_equal(nfs4r_fingerprint_text(&rpc->servers[1].key[0], text), KEY1);
	taken(WITH("tls") SECOND("Key = \" " KEY1 "  " KEY2 " \";"));
	assert_int_equal(rpc->servers[1].nkeys, 2);
	assert_string_equal(nfs4r_fingerprint_text(&rpc->servers[1].key[1], text), KEY2);
	refused(WITH("tls") SECOND("Key = \"SHA256:short\";"), "Server 2: Key = \"SHA256:short\" is no fingerprint");
	refused(WITH("tls") SECOND("Key = \"" KEY1 "=\";"), "is no fingerprint");
	refused(WITH("tls") SECOND("Key = \"" KEY1 " " KEY2 " " KEY2 "\";"), "Server 2 has more than two fingerprints");
	refused(WITH("tls") SECOND("Key = \"" KEY1 "\";") "Server { Id = 3; Address = \"192.0.2.3\"; Key = \"" KEY1 "\"; }", "servers 2 and 3 have the same Key");
}

static void somebody_has_to_be_known(void **state)
{
	struct nfs4r_rpc_config *rpc = &repl_module.cfg.rpc;

	taken(WITH("tls")); /* it is alone */
	refused(WITH("tls") SECOND(""), "has nothing by which to know another server: write Key");
	refused(WITH("none") "Peer_Security_Accept = tls;" SECOND(""), "has nothing by which to know another server: write Key");
	taken(WITH("tls") SECOND("") "Peer_CA = \"/etc/nfs4r/ca.crt\"; Peer_CRL = \"/etc/nfs4r/ca.crl\";");
	assert_string_equal(rpc->tls_ca, "/etc/nfs4r/ca.crt");
	refused(WITH("tls") SECOND("Key = \"" KEY1 "\";") "Peer_CRL = \"/etc/nfs4r/ca.crl\";", "Peer_CRL is of no use without Peer_CA");
	refused(WITH("tls") "Peer_Key = \"peer.key\";", "Peer_Key = \"peer.key\" is not an absolute path");
	refused(WITH("krb5p") "Peer_Keytab = \"keytab\";", "Peer_Keytab is not an absolute path");
	refused(WITH("krb5i") "Peer_Service = \"nfs4r/host\";", "Peer_Service is the first part");
}

static void a_server_may_have_a_principal_of_its_own(void **state)
{
	struct nfs4r_rpc_config *rpc = &repl_module.cfg.rpc;
	char longest[192], text[1024];

	taken(WITH("krb5p") SECOND("Principal = \"nfs4r/two.example@B.EXAMPLE\";"));
	assert_string_equal(rpc->krb5_principal[1], "");
	assert_string_equal(rpc->krb5_principal[2], "nfs4r/two.example@B.EXAMPLE");
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	snprintf(text, sizeof(text), WITH("krb5p") "Server { Id = 2; Address = \"192.0.2.2\"; Principal = \"%s\"; }", longest);
	taken(text);
	assert_string_equal(rpc->krb5_principal[2], longest);
	refused(WITH("krb5p") SECOND("Principal = \"nfs4r/two example\";"), "Server 2: Principal = \"nfs4r/two example\" has a blank in it");
	refused(WITH("krb5p") SECOND("Principal = \"nfs4r/two\";") "Server { Id = 3; Address = \"192.0.2.3\"; Principal = \"nfs4r/two\"; }", "servers 2 and 3 have the same Principal");
	refused(WITH("none") "Peer_Security_Accept = krb5i;" SECOND("Principal = \"nfs4r/two\";") "Server { Id = 3; Address = \"192.0.2.3\"; Principal = \"nfs4r/two\"; }",
		"servers 2 and 3 have the same Principal");
}

static void one_flavour_is_used_and_several_are_accepted(void **state)
{
	struct nfs4r_rpc_config *rpc = &repl_module.cfg.rpc;

	taken(WITH("none") "Peer_Security_Accept = tls, krb5p;" SECOND("Key = \"" KEY1 "\";"));
	assert_int_equal(rpc->security, NFS4R_SECURITY_NONE);
	assert_int_equal(rpc->security_accept, NFS4R_SECURITY_BIT(NFS4R_SECURITY_TLS) | NFS4R_SECURITY_BIT(NFS4R_SECURITY_KRB5P));
	taken(WITH("krb5i") "Peer_Security_Accept = none;");
	assert_int_equal(rpc->security, NFS4R_SECURITY_KRB5I);
	assert_int_equal(rpc->security_accept, NFS4R_SECURITY_BIT(NFS4R_SECURITY_NONE));
	assert_string_equal(rpc->krb5_service, "nfs4r");
	assert_string_equal(rpc->krb5_keytab, "/etc/krb5.keytab");
	refused(WITH("none") "Peer_Security_Accept = krb5;", "krb5");
	refused(NEEDED_BUT_SECURITY, "Peer_Security is missing; write Peer_Security = tls");
}

static void a_block_twice_is_refused(void **state)
{
	refused(NEEDED "Tuning { Lease = 3000; } Tuning { Op_Wait = 500; }", "Tuning set more than once");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_written_has_the_default),
		cmocka_unit_test(the_times_follow_from_the_round_trip),
		cmocka_unit_test(a_time_that_is_written_does_not_follow),
		cmocka_unit_test(keys_of_both_blocks_arrive),
		cmocka_unit_test(an_old_key_is_refused_with_its_new_name),
		cmocka_unit_test(a_key_in_the_wrong_block_is_refused_with_the_right_one),
		cmocka_unit_test(a_misspelt_key_is_refused_with_the_nearest),
		cmocka_unit_test(a_value_that_cannot_be_is_refused),
		cmocka_unit_test(servers_are_known_by_keys),
		cmocka_unit_test(somebody_has_to_be_known),
		cmocka_unit_test(a_server_may_have_a_principal_of_its_own),
		cmocka_unit_test(one_flavour_is_used_and_several_are_accepted),
		cmocka_unit_test(a_block_twice_is_refused),
	};

	nfs_param.core_param.rpc.ioq_thrd_max = 200; /* Ganesha's default */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
