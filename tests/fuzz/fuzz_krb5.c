/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Flavours `krb5i` and `krb5p` before and after a connection is secured: stranger.c, with keytabs and tickets.
 *
 * Who: 0 the server; 1 a principal of the realm that is no server; 2 the other one of servers 1 and 3; 3 one with a wrong key in its keytab, and in its tickets.
 *
 * No KDC runs. Its tickets are made here, once, and take the place of security/krb5_ticket.c but for the look at the keytab.
 *
 * The second byte of an input: bit 0 privacy; bits 1-2 the encryption type of the session's key. The last one is of before RFC 4121.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/stranger.h"
#include "rpc/security/krb5_context_int.h"

#define REALM "NFS4R.TEST"
#define TYPES 4
#define NAMES 4 /* servers 1 to 3, and who is none */

/* The library has them, its header has not. */
krb5_error_code krb5_encrypt_tkt_part(krb5_context k, const krb5_keyblock *key, krb5_ticket *ticket);
krb5_error_code encode_krb5_ticket(const krb5_ticket *ticket, krb5_data **out);

static const krb5_enctype types[TYPES] = { ENCTYPE_AES256_CTS_HMAC_SHA1_96, ENCTYPE_AES128_CTS_HMAC_SHA256_128, ENCTYPE_CAMELLIA256_CTS_CMAC, ENCTYPE_ARCFOUR_HMAC };

struct rpc_krb5_ticket {
	char self[RPC_KRB5_NAME], peer[RPC_KRB5_NAME], cache[64];
	bool wrong; /* its key is another one */
	krb5_enctype enctype;
};

static struct rpc_krb5_ticket tickets[2 * TYPES * NAMES * NAMES];
static size_t ntickets;
static krb5_context k;
static char dir[64], keytabs[2][96];
static uint8_t now; /* number of the type */

/* ---- keys ---- */

static const char *name_of(unsigned id)
{
	static char text[2][64];
	static unsigned turn;

	turn = !turn;
	snprintf(text[turn], sizeof(text[turn]), "nfs4r/127.0.0.%u@" REALM, id);
	return text[turn];
}

static krb5_principal principal_of(unsigned id)
{
	krb5_principal p;

	FUZZ_CHECK(krb5_parse_name(k, name_of(id), &p) == 0);
	return p;
}

static void key_of(unsigned id, bool wrong, krb5_keyblock *out)
{
	char secret[32];
	krb5_data text = { .data = secret }, salt = { .data = (char *)REALM, .length = strlen(REALM) };

	text.length = (unsigned)snprintf(secret, sizeof(secret), "%s-%u", wrong ? "wrong" : "right", id);
	FUZZ_CHECK(krb5_c_string_to_key(k, types[0], &text, &salt, out) == 0);
}

static void keytab_make(char *path, size_t size, bool wrong)
{
	char name[128];
	krb5_keytab keytab;

	snprintf(path, size, "%s/%s.keytab", dir, wrong ? "wrong" : "right");
	snprintf(name, sizeof(name), "WRFILE:%s", path);
	FUZZ_CHECK(krb5_kt_resolve(k, name, &keytab) == 0);
	for (unsigned id = 1; id <= NAMES; id++) {
		krb5_keytab_entry entry = { .principal = principal_of(id), .vno = 1 };

		key_of(id, wrong, &entry.key);
		FUZZ_CHECK(krb5_kt_add_entry(k, keytab, &entry) == 0);
		krb5_free_keyblock_contents(k, &entry.key);
		krb5_free_principal(k, entry.principal);
	}
	krb5_kt_close(k, keytab);
	FUZZ_CHECK(chmod(path, 0600) == 0);
}

/* ---- tickets ---- */

static krb5_data *ticket_of(const krb5_creds *creds, const krb5_keyblock *key)
{
	krb5_enc_tkt_part part = { .flags = creds->ticket_flags, .session = (krb5_keyblock *)&creds->keyblock, .client = creds->client, .times = creds->times, .transited = { .tr_type = 1 } };
	krb5_ticket ticket = { .server = creds->server, .enc_part2 = &part };
	krb5_data *out;

	FUZZ_CHECK(krb5_encrypt_tkt_part(k, key, &ticket) == 0);
	ticket.enc_part.kvno = 1;
	FUZZ_CHECK(encode_krb5_ticket(&ticket, &out) == 0);
	krb5_free_data_contents(k, &ticket.enc_part.ciphertext);
	return out;
}

static void ticket_make(unsigned from, unsigned to, bool wrong, uint8_t type)
{
	struct rpc_krb5_ticket *t = &tickets[ntickets++];
	krb5_creds creds = { .client = principal_of(from), .server = principal_of(to), .ticket_flags = TKT_FLG_PRE_AUTH };
	krb5_keyblock key;
	krb5_timestamp time;
	krb5_data *ticket;
	krb5_ccache cc;

	FUZZ_CHECK(krb5_timeofday(k, &time) == 0 && krb5_c_make_random_key(k, types[type], &creds.keyblock) == 0);
	creds.times.authtime = creds.times.starttime = time - 60;
	creds.times.endtime = time + 7 * 24 * 3600;
	key_of(to, wrong, &key);
	ticket = ticket_of(&creds, &key);
	creds.ticket = *ticket;
	snprintf(t->self, sizeof(t->self), "%s", name_of(from));
	snprintf(t->peer, sizeof(t->peer), "%s", name_of(to));
	snprintf(t->cache, sizeof(t->cache), "MEMORY:%zu", ntickets);
	t->wrong = wrong;
	t->enctype = types[type];
	FUZZ_CHECK(krb5_cc_resolve(k, t->cache, &cc) == 0 && krb5_cc_initialize(k, cc, creds.client) == 0 && krb5_cc_store_cred(k, cc, &creds) == 0);
	krb5_cc_close(k, cc);
	krb5_free_keyblock_contents(k, &key);
	krb5_free_cred_contents(k, &creds);
	free(ticket);
}

/* ---- in place of the KDC ---- */

enum nfs4r_status __wrap_rpc_krb5_ticket_get(const struct rpc_krb5_names *n, struct rpc_krb5_ticket **out, char *why);
void __wrap_rpc_krb5_ticket_put(struct rpc_krb5_ticket *t, bool refused);
const char *__wrap_rpc_krb5_ticket_cache(const struct rpc_krb5_ticket *t);
krb5_enctype __wrap_rpc_krb5_ticket_enctype(const struct rpc_krb5_ticket *t);

enum nfs4r_status __wrap_rpc_krb5_ticket_get(const struct rpc_krb5_names *n, struct rpc_krb5_ticket **out, char *why)
{
	bool wrong = strcmp(n->setup->keytab, keytabs[1]) == 0;

	why[0] = '\0';
	for (size_t i = 0; i < ntickets; i++) {
		struct rpc_krb5_ticket *t = &tickets[i];

		if (t->wrong != wrong || t->enctype != types[now] || strcmp(t->self, n->self) != 0 || strcmp(t->peer, n->peer) != 0)
			continue;
		*out = t;
		return NFS4R_OK;
	}
	FUZZ_CHECK(!"a ticket for a server that nobody calls");
	return NFS4R_ACCES;
}

void __wrap_rpc_krb5_ticket_put(struct rpc_krb5_ticket *t, bool refused)
{
}

const char *__wrap_rpc_krb5_ticket_cache(const struct rpc_krb5_ticket *t)
{
	return t->cache;
}

krb5_enctype __wrap_rpc_krb5_ticket_enctype(const struct rpc_krb5_ticket *t)
{
	return t->enctype;
}

/* ---- for stranger.c ---- */

static void files_remove(void)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/krb5.conf", dir);
	unlink(path);
	unlink(keytabs[0]);
	unlink(keytabs[1]);
	rmdir(dir);
}

void stranger_init(void)
{
	char path[96];
	FILE *f;

	strcpy(dir, "/tmp/nfs4r-fuzz-krb5-XXXXXX");
	FUZZ_CHECK(mkdtemp(dir));
	atexit(files_remove);
	snprintf(path, sizeof(path), "%s/krb5.conf", dir);
	f = fopen(path, "w");
	FUZZ_CHECK(f);
	fprintf(f, "[libdefaults]\n default_realm = " REALM "\n dns_lookup_kdc = false\n dns_lookup_realm = false\n dns_canonicalize_hostname = false\n rdns = false\n allow_weak_crypto = true\n");
	FUZZ_CHECK(fclose(f) == 0);
	FUZZ_CHECK(setenv("KRB5_CONFIG", path, 1) == 0 && setenv("KRB5RCACHENAME", "none:", 1) == 0);
	unsetenv("KRB5_KTNAME");
	unsetenv("KRB5_CLIENT_KTNAME");
	unsetenv("KRB5CCNAME");
	FUZZ_CHECK(krb5_init_context(&k) == 0);
	keytab_make(keytabs[0], sizeof(keytabs[0]), false);
	keytab_make(keytabs[1], sizeof(keytabs[1]), true);
	for (unsigned from = 1; from <= NAMES; from++)
		for (unsigned to = 1; to < NAMES; to++)
			for (uint8_t i = 0; from != to && i < 2 * TYPES; i++)
				ticket_make(from, to, i & 1, i / 2);
}

void stranger_reset(void)
{
}

enum nfs4r_security stranger_flavour(uint8_t variant)
{
	now = variant / 2 % TYPES;
	return variant & 1 ? NFS4R_SECURITY_KRB5P : NFS4R_SECURITY_KRB5I;
}

uint32_t stranger_flavours(void)
{
	return NFS4R_SECURITY_BIT(NFS4R_SECURITY_KRB5I) | NFS4R_SECURITY_BIT(NFS4R_SECURITY_KRB5P);
}

static nfs4r_server_id other_than(nfs4r_server_id id)
{
	return id == 1 ? 3 : 1;
}

void stranger_configure(struct nfs4r_rpc_config *cfg, nfs4r_server_id id, unsigned who)
{
	cfg->security = NFS4R_SECURITY_KRB5P;
	snprintf(cfg->krb5_keytab, sizeof(cfg->krb5_keytab), "%s", keytabs[who == 3]);
	if (who == 1)
		snprintf(cfg->krb5_principal[id], sizeof(cfg->krb5_principal[id]), "%s", name_of(NAMES));
	if (who == 2)
		snprintf(cfg->krb5_principal[id], sizeof(cfg->krb5_principal[id]), "%s", name_of(other_than(id)));
}

nfs4r_servers stranger_may(nfs4r_server_id id, unsigned who)
{
	const nfs4r_servers may[STRANGERS] = { NFS4R_BIT(id), 0, NFS4R_BIT(other_than(id)), 0 };

	return may[who];
}
