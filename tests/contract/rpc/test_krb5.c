/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Servers that prove themselves by Kerberos, with a real KDC: which are let in, what is said of those that are not, and what happens when the KDC goes, keys
 * change and tickets end. test_krb5_wire.c has what is done to the bytes between them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/unit.h"

#include "contract/rpc/krb5_world.h"
#include "rpc/security/krb5_int.h"

#define PAUSE_MS 2000 /* nobody waits for so long, whatever the KDC does */

static const enum nfs4r_security flavours[] = { NFS4R_SECURITY_KRB5I, NFS4R_SECURITY_KRB5P };

static void end(struct world *w)
{
	world_fini(w);
	free(w);
}

/* Server @i logs it. */
static void wait_logged(struct world *w, uint32_t i, const char *text)
{
	world_wait(&w->s[i], strstr(w_s->log, text));
}

static uint32_t connects(struct world *w, uint32_t i, nfs4r_server_id peer)
{
	struct nfs4r_rpc_peer_stats st;

	assert_true(nfs4r_rpc_get_stats(w->s[i].rpc, peer, &st));
	return (uint32_t)st.connects;
}

/* ---- who is let in ---- */

static void test_servers_with_their_principals_connect(void **state)
{
	for (int f = 0; f < 2; f++) {
		struct world *w = kerberos_world(3, flavours[f]);

		world_start_all(w);
		world_wait_all_up(w);
		for (uint64_t i = 1; i <= 300; i++)
			kerberos_question(&w->s[2], 1, i);
		for (uint64_t i = 1; i <= 20; i++)
			assert_int_equal(kerberos_entry(&w->s[0], 2, i, "bytes", 300000), NFS4R_OK);
		world_wait(&w->s[0], w_s->last_question == 300);
		world_wait(&w->s[1], w_s->bytes == 20 * 300000);
		for (uint32_t i = 0; i < 3; i++) {
			assert_int_equal(world_logged(&w->s[i], "refused"), 0);
			assert_true(world_logged(&w->s[i], "is authenticated, aes256-cts-hmac-sha1-96") > 0);
		}
		end(w);
	}
}

/* A server of the volume with a valid principal says that it is another one. */
static void test_a_server_speaks_for_itself_only(void **state)
{
	struct world *w = kerberos_world(3, NFS4R_SECURITY_KRB5P);

	kerberos_disguise(w, 2, KDC_REALM, server_principal(3));
	world_start_all(w);
	wait_logged(w, 0, "it proved to be nfs4r/127.0.0.3@NFS4R.TEST, but server 2 is nfs4r/127.0.0.2");
	world_wait(&w->s[0], world_state_has(w_s, 2, "it proved to be nfs4r/127.0.0.3@NFS4R.TEST"));
	world_wait(&w->s[0], w_s->up[3]);
	assert_int_equal(world_get(&w->s[0], w_s->ups[2]), 0);
	/* The caller hears the number of a cause, and no name. */
	world_wait(&w->s[1], strstr(w_s->log, "refused this server"));
	assert_int_equal(world_logged(&w->s[1], "but server 2 is"), 0);
	assert_int_equal(world_logged(&w->s[0], "refused "), 1);
	end(w);
}

/* Its principal and its ticket are good, and it does not belong to the volume any more. */
static void test_a_removed_server_is_refused(void **state)
{
	struct world *w = kerberos_world(3, NFS4R_SECURITY_KRB5P);

	w->s[0].cfg.nservers = 2;
	w->s[0].cfg.view = 1;
	world_start(w, 0);
	world_start(w, 2);
	world_wait(&w->s[2], world_state_has(w_s, 1, "refused"));
	wait_logged(w, 0, "refused server 3 (127.0.0.3:");
	assert_int_equal(world_logged(&w->s[0], "refused "), 1);
	assert_int_equal(world_get(&w->s[0], w_s->ups[3]) + world_get(&w->s[2], w_s->ups[1]), 0);
	end(w);
}

/* Another server answers where server 1 should be. */
static void test_the_called_server_has_to_prove_itself(void **state)
{
	struct world *w = kerberos_world(2, NFS4R_SECURITY_KRB5P);

	kerberos_disguise(w, 1, KDC_REALM, server_principal(3));
	world_start_all(w);
	wait_logged(w, 0, "wrong service");
	world_wait(&w->s[1], world_state_has(w_s, 1, "refused"));
	assert_int_equal(world_get(&w->s[1], w_s->ups[1]), 0);
	end(w);
}

/* The realms trust each other, so the ticket is good: the name is what differs. */
static void test_the_same_name_in_another_realm(void **state)
{
	static const char other[] = "nfs4r/127.0.0.2@" KDC_OTHER_REALM;
	struct world *w = kerberos_world(2, NFS4R_SECURITY_KRB5P);

	kdc_admin(KDC_OTHER_REALM, "addprinc -randkey %s", other);
	kerberos_disguise(w, 2, KDC_OTHER_REALM, other);
	world_start_all(w);
	wait_logged(w, 0, "it proved to be nfs4r/127.0.0.2@ELSEWHERE.TEST, but server 2 is nfs4r/127.0.0.2 in the realm");
	world_wait(&w->s[0], world_state_has(w_s, 2, "it proved to be nfs4r/127.0.0.2@ELSEWHERE.TEST"));
	assert_int_equal(world_get(&w->s[0], w_s->ups[2]), 0);
	assert_int_equal(world_logged(&w->s[0], "refused "), 1);
	/* Where the configuration says so it is server 2. */
	world_stop(w, 0);
	snprintf(w->s[0].cfg.krb5_principal[2], sizeof(w->s[0].cfg.krb5_principal[2]), "%s", other);
	world_start(w, 0);
	world_wait_all_up(w);
	end(w);
}

/* One text has the realm and the other does not, so the configuration alone does not show it. */
static void test_a_principal_of_two_servers_proves_neither(void **state)
{
	struct world *w = kerberos_world(3, NFS4R_SECURITY_KRB5P);

	strcpy(w->s[0].cfg.krb5_principal[3], "nfs4r/127.0.0.2@" KDC_REALM);
	world_start_all(w);
	wait_logged(w, 0, "nfs4r/127.0.0.2@" KDC_REALM " is the principal of server 2, and of another one by a Principal in the configuration");
	wait_logged(w, 0, "it proved to be nfs4r/127.0.0.3@" KDC_REALM ", but server 3 is nfs4r/127.0.0.2@" KDC_REALM);
	assert_int_equal(world_get(&w->s[0], w_s->ups[2]), 0);
	assert_int_equal(world_get(&w->s[0], w_s->ups[3]), 0);
	end(w);
}

static void test_flavours_have_to_be_equal(void **state)
{
	struct world *w = kerberos_world(2, NFS4R_SECURITY_KRB5P);

	w->s[1].cfg.security = NFS4R_SECURITY_KRB5I;
	world_start_all(w);
	wait_logged(w, 0, "security differs");
	wait_logged(w, 1, "security differs");
	assert_int_equal(world_get(&w->s[0], w_s->ups[2]), 0);
	end(w);
}

static void test_configurations_that_prove_nothing_are_refused(void **state)
{
	struct world *w = kerberos_world(3, NFS4R_SECURITY_KRB5P);

	strcpy(w->s[0].cfg.servers[2].host, w->s[0].cfg.servers[1].host);
	world_start_fails(w, 0, "servers 2 and 3 are both at 127.0.0.2");
	strcpy(w->s[0].cfg.krb5_principal[3], "nfs4r/third");
	world_start(w, 0);
	world_stop(w, 0);
	strcpy(w->s[0].cfg.krb5_keytab, "krb5.keytab");
	world_start_fails(w, 0, "is not an absolute path");
	end(w);
}

/* ---- what is said ---- */

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* One pair of servers in which something of server @i is wrong: it says so in one line, whatever it tries again. */
static void says(struct world *w, uint32_t i, const char *text)
{
	world_start_all(w);
	wait_logged(w, i, text);
	assert_int_equal(world_get(&w->s[0], w_s->ups[2]), 0);
	assert_int_equal(world_logged(&w->s[i], text), 1);
	end(w);
}

static void test_a_keytab_that_is_wrong_is_named(void **state)
{
	for (uint32_t i = 0; i < 2; i++) { /* at the server that is called, and at the one that calls */
		struct world *w = kerberos_world(2, NFS4R_SECURITY_KRB5P);

		unlink(w->s[i].cfg.krb5_keytab);
		says(w, i, "there is no keytab /tmp/");
		w = kerberos_world(2, NFS4R_SECURITY_KRB5P);
		assert_int_equal(chmod(w->s[i].cfg.krb5_keytab, 0640), 0);
		says(w, i, "has mode 640, so that others can use its keys");
		w = kerberos_world(2, NFS4R_SECURITY_KRB5P);
		write_text(w->s[i].cfg.krb5_keytab, "this is no keytab");
		says(w, i, "cannot be read; it has to be a keytab");
		w = kerberos_world(2, NFS4R_SECURITY_KRB5P);
		strcpy(w->s[i].cfg.krb5_keytab, w->s[1 - i].cfg.krb5_keytab);
		says(w, i, "has no key of nfs4r/127.0.0.");
	}
}

static void test_a_principal_that_the_kdc_does_not_have_is_named(void **state)
{
	struct world *w;

	kdc_admin(KDC_REALM, "addprinc -randkey nfs4r/gone@" KDC_REALM);
	w = kerberos_world(2, NFS4R_SECURITY_KRB5P);
	kerberos_disguise(w, 2, KDC_REALM, "nfs4r/gone@" KDC_REALM);
	kdc_admin(KDC_REALM, "delprinc -force nfs4r/gone@" KDC_REALM);
	says(w, 1, "the KDC has no principal nfs4r/gone@NFS4R.TEST, which is this server's");
	w = kerberos_world(2, NFS4R_SECURITY_KRB5P);
	strcpy(w->s[1].cfg.krb5_principal[1], "nfs4r/nowhere");
	says(w, 1, "the KDC has no principal nfs4r/nowhere@NFS4R.TEST, which is that of server 1");
}

static void test_a_locked_principal_is_named(void **state)
{
	struct world *w = kerberos_world(2, NFS4R_SECURITY_KRB5P);

	kdc_admin(KDC_REALM, "modprinc -expire yesterday %s", server_principal(2));
	says(w, 1, "the principal or its key has expired, is locked");
	kdc_admin(KDC_REALM, "modprinc -expire never %s", server_principal(2));
}

static void test_a_weak_encryption_type_is_named(void **state)
{
	struct world *w;

	kdc_admin(KDC_REALM, "addprinc -randkey -e arcfour-hmac:normal nfs4r/weak@" KDC_REALM);
	w = kerberos_world(2, NFS4R_SECURITY_KRB5P);
	kerberos_disguise(w, 1, KDC_REALM, "nfs4r/weak@" KDC_REALM);
	strcpy(w->s[1].cfg.krb5_principal[1], "nfs4r/weak");
	world_start_all(w);
	world_wait_all_up(w);
	wait_logged(w, 1, "an encryption type that can be broken");
	end(w);
}

/* The KDC's clock stands for that of the caller, which takes it over with the ticket. */
static void test_clocks_that_differ_are_named(void **state)
{
	static const int ahead_s[] = { -600, 600 };

	for (int i = 0; i < 2; i++) {
		struct world *w = kerberos_world(2, NFS4R_SECURITY_KRB5P);

		kdc_stop();
		kdc_start(ahead_s[i]);
		world_start_all(w);
		wait_logged(w, 0, "are too far apart; set them right (chronyc tracking");
		assert_int_equal(world_get(&w->s[0], w_s->ups[2]), 0);
		kdc_stop();
		kdc_start(0);
		world_wait_all_up(w);
		end(w);
	}
}

/* A ticket for ten minutes from a KDC that is an hour behind. */
static void test_an_expired_ticket_is_named(void **state)
{
	struct world *w = kerberos_world(2, NFS4R_SECURITY_KRB5P);

	kdc_admin(KDC_REALM, "modprinc -maxlife 10minutes %s", server_principal(1));
	kdc_stop();
	kdc_start(-3600);
	world_start_all(w);
	world_wait(&w->s[0], strstr(w_s->log, "the ticket has expired; set the clocks"));
	assert_int_equal(world_get(&w->s[0], w_s->ups[2]), 0);
	kdc_stop();
	kdc_start(0);
	world_wait_all_up(w);
	end(w);
	kdc_admin(KDC_REALM, "modprinc -maxlife 10hours %s", server_principal(1));
}

/* What no test here can bring about: a file that root may not read, a realm that is nowhere. */
static void test_each_error_has_its_remedy(void **state)
{
	static const struct {
		krb5_error_code code;
		const char *text;
	} lines[] = {
		{ EACCES, "cannot be read; it has to be a keytab" },
		{ ENOENT, "create it: kadmin -q 'ktadd -k /k nfs4r/a@R'" },
		{ KRB5_REALM_UNKNOWN, "wrong realm: this server is nfs4r/a@R, the other one nfs4r/b@R" },
		{ KRB5_REALM_CANT_RESOLVE, "no KDC of realm R answers" },
		{ KRB5_KDCREP_SKEW, "chronyc tracking" },
		{ KRB5KRB_AP_ERR_TKT_EXPIRED, "the ticket has expired" },
		{ KRB5KRB_AP_ERR_REPEAT, "a replay" },
		{ KRB5KDC_ERR_PREAUTH_FAILED, "is not the one that the KDC uses" },
		{ KRB5KDC_ERR_ETYPE_NOSUPP, "no common encryption type" },
		{ KRB5KDC_ERR_CLIENT_REVOKED, "is locked" },
		{ KRB5_PARSE_MALFORMED, "KRB5_TRACE=/dev/stderr kinit -c MEMORY: -k -t /k nfs4r/a@R" },
	};
	struct nfs4r_security_setup *setup = calloc(1, sizeof(*setup));
	struct rpc_krb5_names n = { .setup = setup, .peer_id = 2, .self = "nfs4r/a@R", .peer = "nfs4r/b@R" };
	char why[NFS4R_WHY];

	strcpy(setup->keytab, "/k");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		rpc_krb5_explain(&n, lines[i].code, "the library's words", why);
		if (!strstr(why, lines[i].text) || !strstr(why, "(the library's words)"))
			fail_msg("'%s' does not say '%s'", why, lines[i].text);
	}
	free(setup);
}

/* ---- what goes on ---- */

/* Server @i asks the KDC for its next connection, as it would some seconds later. */
static void forget_ticket(struct world *w, uint32_t i)
{
	assert_int_equal(utimensat(AT_FDCWD, w->s[i].cfg.krb5_keytab, NULL, 0), 0);
}

static void test_without_a_kdc(void **state)
{
	struct world *w = kerberos_world(3, NFS4R_SECURITY_KRB5P);

	world_start(w, 0);
	world_start(w, 1);
	world_wait(&w->s[0], w_s->up[2]);
	world_wait(&w->s[1], w_s->up[1]);
	kdc_stop();
	/* A server without any ticket waits, and says so once for each of the others. */
	world_start(w, 2);
	world_wait(&w->s[2], world_state_has(w_s, 1, "no KDC of realm NFS4R.TEST answers"));
	world_wait(&w->s[2], world_state_has(w_s, 2, "no KDC of realm NFS4R.TEST answers"));
	/* Connections that stand stay up. */
	for (uint64_t i = 1; i <= 100; i++)
		kerberos_question(&w->s[1], 1, i);
	world_wait(&w->s[0], w_s->last_question == 100);
	/* A server that was cut off has its ticket of before. */
	world_stop(w, 1);
	world_wait(&w->s[0], w_s->downs[2] == 1);
	w->s[1].cfg.inc++;
	forget_ticket(w, 1);
	world_start(w, 1);
	world_wait(&w->s[0], w_s->up[2]);
	world_wait(&w->s[1], w_s->up[1]);
	wait_logged(w, 1, "A ticket of before is used");
	assert_int_equal(world_get(&w->s[0], w_s->ups[3]), 0);
	kdc_start(0);
	world_wait_all_up(w);
	assert_int_equal(world_logged(&w->s[2], "no KDC of realm NFS4R.TEST answers"), 2);
	assert_int_equal(world_get(&w->s[0], w_s->downs[2]), 1);
	end(w);
}

/* A KDC that takes questions and answers none: those that wait for it are other threads than the one that serves what stands. */
static void test_a_kdc_that_does_not_answer_stops_nobody(void **state)
{
	struct world *w = kerberos_world(3, NFS4R_SECURITY_KRB5P);
	uint64_t begun, worst = 0;

	world_start(w, 0);
	world_start(w, 2);
	world_wait(&w->s[0], w_s->up[3]);
	world_wait(&w->s[2], w_s->up[1]);
	kdc_freeze(true);
	world_start(w, 1); /* it has no ticket, and the third server, which calls it, has none for it */
	for (uint64_t i = 1; i <= 300; i++) {
		begun = world_now_ns();
		kerberos_question(&w->s[2], 1, i);
		world_wait(&w->s[0], w_s->last_question == i);
		if (world_now_ns() - begun > worst)
			worst = world_now_ns() - begun;
		usleep(10000);
	}
	assert_int_equal(world_get(&w->s[0], w_s->ups[2]), 0);
	assert_true(worst < PAUSE_MS * 1000000ull);
	kdc_freeze(false);
	world_wait_all_up(w);
	assert_int_equal(world_get(&w->s[0], w_s->downs[3]), 0);
	end(w);
}

static void restart(struct world *w, uint32_t i)
{
	uint32_t downs = (uint32_t)world_get(&w->s[1 - i], w_s->downs[i + 1]);

	world_stop(w, i);
	world_wait(&w->s[1 - i], w_s->downs[i + 1] > downs);
	w->s[i].cfg.inc++;
	world_start(w, i);
}

static void test_keys_are_rotated_without_a_restart(void **state)
{
	struct world *w = kerberos_world(2, NFS4R_SECURITY_KRB5P);
	const char *keytab = w->s[0].cfg.krb5_keytab;

	world_start_all(w);
	world_wait_all_up(w);
	/* As it is done: the new key comes into the keytab when the KDC has it. */
	kdc_admin(KDC_REALM, "ktadd -k %s %s", keytab, server_principal(1));
	for (uint64_t i = 1; i <= 100; i++)
		kerberos_question(&w->s[1], 1, i);
	world_wait(&w->s[0], w_s->last_question == 100);
	assert_int_equal(connects(w, 0, 2), 1);
	forget_ticket(w, 1);
	restart(w, 1);
	world_wait_all_up(w);
	kdc_admin(KDC_REALM, "ktremove -k %s %s old", keytab, server_principal(1));
	restart(w, 1);
	world_wait_all_up(w);
	assert_int_equal(world_logged(&w->s[0], "refused"), 0);
	end(w);
}

static void test_an_old_key_is_named(void **state)
{
	struct world *w = kerberos_world(2, NFS4R_SECURITY_KRB5P);
	const char *keytab = w->s[0].cfg.krb5_keytab;

	kdc_admin(KDC_REALM, "cpw -randkey %s", server_principal(1));
	world_start_all(w);
	wait_logged(w, 0, "is not the one that the KDC uses");
	assert_int_equal(world_get(&w->s[0], w_s->ups[2]), 0);
	kdc_admin(KDC_REALM, "ktadd -k %s %s", keytab, server_principal(1));
	world_wait_all_up(w);
	end(w);
	/* The caller's. */
	w = kerberos_world(2, NFS4R_SECURITY_KRB5P);
	kdc_admin(KDC_REALM, "cpw -randkey %s", server_principal(2));
	world_start_all(w);
	wait_logged(w, 1, "is not the one that the KDC uses");
	kdc_admin(KDC_REALM, "ktadd -k %s %s", w->s[1].cfg.krb5_keytab, server_principal(2));
	world_wait_all_up(w);
	end(w);
}

#define LIFE_S 10
#define ROUNDS_S (LIFE_S * 5 / 2)

/* Tickets for ten seconds, and questions without a break: nobody sees a context end. */
static void test_contexts_are_renewed_without_a_pause(void **state)
{
	struct world *w = kerberos_world(2, NFS4R_SECURITY_KRB5P);
	uint64_t began, now, last, got = 0, number = 0, pause = 0;

	kdc_admin(KDC_REALM, "modprinc -maxlife %dseconds %s", LIFE_S, server_principal(1));
	world_start_all(w);
	world_wait_all_up(w);
	began = last = world_now_ns();
	while ((now = world_now_ns()) - began < ROUNDS_S * 1000000000ull) {
		kerberos_question(&w->s[1], 1, ++number);
		kerberos_entry(&w->s[0], 2, number, "bytes", 1000);
		usleep(5000);
		if (world_get(&w->s[0], w_s->last_question) > got) {
			got = world_get(&w->s[0], w_s->last_question);
			last = world_now_ns();
		} else if (now > last && now - last > pause) {
			pause = now - last;
		}
	}
	world_wait(&w->s[0], w_s->last_question == number);
	world_wait(&w->s[1], w_s->last_entry == number);
	assert_true(pause < PAUSE_MS * 1000000ull);
	for (uint32_t i = 0; i < 2; i++) {
		if (connects(w, i, (nfs4r_server_id)(2 - i)) != 1)
			fail_msg("server %u connected anew:\n%s", i + 1, w->s[i].log);
		assert_int_equal(world_get(&w->s[i], w_s->downs[2 - i]), 0);
		assert_true(world_logged(&w->s[i], "was renewed") > 2);
	}
	end(w);
	kdc_admin(KDC_REALM, "modprinc -maxlife 10hours %s", server_principal(1));
}

/* A ticket that ends while the KDC is away: until then the connection stands, and not beyond. */
static void test_a_context_ends_with_its_ticket(void **state)
{
	struct world *w = kerberos_world(2, NFS4R_SECURITY_KRB5P);

	kdc_admin(KDC_REALM, "modprinc -maxlife %dseconds %s", LIFE_S, server_principal(1));
	world_start_all(w);
	world_wait_all_up(w);
	kdc_stop();
	wait_logged(w, 1, "Kerberos: no KDC of realm NFS4R.TEST answers");
	assert_true(world_get(&w->s[0], w_s->up[2]));
	world_wait(&w->s[0], !w_s->up[2]);
	/* All its lanes, and each attempt, fail for one cause: one line. It refuses nobody, and the other side hears that the cause is not there. */
	wait_logged(w, 1, "no connection with server 1 ");
	wait_logged(w, 0, "it cannot prove which server it is; its log says why");
	world_wait(&w->s[1], world_state_has(w_s, 1, "no KDC of realm NFS4R.TEST answers"));
	kdc_start(0);
	world_wait_all_up(w);
	assert_int_equal(world_logged(&w->s[1], "no connection with server 1 (127.0.0.1") + world_logged(&w->s[1], "refused server 1"), 1);
	end(w);
	kdc_admin(KDC_REALM, "modprinc -maxlife 10hours %s", server_principal(1));
}

/* The argument: one test by its name, or a pattern of names. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_servers_with_their_principals_connect),
		cmocka_unit_test(test_a_server_speaks_for_itself_only),
		cmocka_unit_test(test_a_removed_server_is_refused),
		cmocka_unit_test(test_the_called_server_has_to_prove_itself),
		cmocka_unit_test(test_the_same_name_in_another_realm),
		cmocka_unit_test(test_a_principal_of_two_servers_proves_neither),
		cmocka_unit_test(test_flavours_have_to_be_equal),
		cmocka_unit_test(test_configurations_that_prove_nothing_are_refused),
		cmocka_unit_test(test_a_keytab_that_is_wrong_is_named),
		cmocka_unit_test(test_a_principal_that_the_kdc_does_not_have_is_named),
		cmocka_unit_test(test_a_locked_principal_is_named),
		cmocka_unit_test(test_a_weak_encryption_type_is_named),
		cmocka_unit_test(test_clocks_that_differ_are_named),
		cmocka_unit_test(test_an_expired_ticket_is_named),
		cmocka_unit_test(test_each_error_has_its_remedy),
		cmocka_unit_test(test_without_a_kdc),
		cmocka_unit_test(test_a_kdc_that_does_not_answer_stops_nobody),
		cmocka_unit_test(test_keys_are_rotated_without_a_restart),
		cmocka_unit_test(test_an_old_key_is_named),
		cmocka_unit_test(test_contexts_are_renewed_without_a_pause),
		cmocka_unit_test(test_a_context_ends_with_its_ticket),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, kerberos_setup, kerberos_teardown);
}
