/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Flavour `tls` before and after a connection is secured: stranger.c, with keys and certificates.
 *
 * Who: 0 the server, by its own key; 1 one whom the CA lets speak for servers 1 and 3; 2 the other one of these two; 3 somebody whose key nobody knows.
 *
 * OpenSSL gets its random numbers from here, the same for each input, so that an input does the same each time.
 */
#include <openssl/rand.h>

#include "contract/rpc/pki.h"
#include "fuzz/stranger.h"

#define VOLUME "nfs4r:6e667334-722d-6675-7a7a-2d746c732d31:" /* VOLUME_BYTES as nfs4r prints them */
#define VOLUME_BYTES "nfs4r-fuzz-tls-1"

static EVP_PKEY *keys[4], *ca_key, *signed_key, *unknown_key;
static X509 *ca;
static uint64_t seed;

/* ---- random numbers ---- */

static int random_bytes(unsigned char *to, int n)
{
	for (int i = 0; i < n; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		to[i] = (unsigned char)(seed >> 56);
	}
	return 1;
}

static int random_status(void)
{
	return 1;
}

static void random_from_here(void)
{
	static const RAND_METHOD method = { .bytes = random_bytes, .pseudorand = random_bytes, .status = random_status };

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	FUZZ_CHECK(RAND_set_rand_method(&method) == 1);
#pragma GCC diagnostic pop
}

void stranger_reset(void)
{
	seed = 1;
}

/* ---- keys ---- */

static void save(const char *name, EVP_PKEY *key, const struct pki_cert *says)
{
	X509 *cert = pki_sign(key, says);
	char path[64];

	snprintf(path, sizeof(path), "%s.key", name);
	pki_save_key(pki_path(path), key, 0600);
	snprintf(path, sizeof(path), "%s.crt", name);
	pki_save_cert(pki_path(path), cert, NULL);
	X509_free(cert);
}

void stranger_init(void)
{
	stranger_reset();
	random_from_here();
	ca_key = pki_key();
	ca = pki_sign(ca_key, &(struct pki_cert){ .name = "authority", .ca = true });
	pki_save_cert(pki_path("ca.crt"), ca, NULL);
	for (unsigned id = 1; id <= 3; id++) {
		char name[16];

		keys[id] = pki_key();
		snprintf(name, sizeof(name), "server-%u", id);
		save(name, keys[id], &(struct pki_cert){ .name = name });
	}
	signed_key = pki_key();
	save("signed", signed_key, &(struct pki_cert){ .name = "signed", .san = "URI:" VOLUME "1,URI:" VOLUME "3,DNS:server.example", .by = ca, .by_key = ca_key });
	unknown_key = pki_key();
	save("unknown", unknown_key, &(struct pki_cert){ .name = "unknown", .san = "URI:" VOLUME "1,URI:" VOLUME "3" });
}

enum nfs4r_security stranger_flavour(uint8_t variant)
{
	return NFS4R_SECURITY_TLS;
}

uint32_t stranger_flavours(void)
{
	return NFS4R_SECURITY_BIT(NFS4R_SECURITY_TLS);
}

static nfs4r_server_id other_than(nfs4r_server_id id)
{
	return id == 1 ? 3 : 1;
}

void stranger_configure(struct nfs4r_rpc_config *cfg, nfs4r_server_id id, unsigned who)
{
	char name[32];

	memcpy(cfg->volume, VOLUME_BYTES, sizeof(cfg->volume));
	cfg->security = NFS4R_SECURITY_TLS;
	cfg->tls_rekey_records = 4;
	for (unsigned i = 0; i < 3; i++) {
		cfg->servers[i].nkeys = 1;
		pki_fingerprint(keys[i + 1], &cfg->servers[i].key[0]);
	}
	if (who == 1)
		strcpy(name, "signed");
	else if (who == 3)
		strcpy(name, "unknown");
	else
		snprintf(name, sizeof(name), "server-%u", who == 2 ? other_than(id) : id);
	snprintf(cfg->tls_certificate, sizeof(cfg->tls_certificate), "%s/%s.crt", pki_dir(), name);
	snprintf(cfg->tls_key, sizeof(cfg->tls_key), "%s/%s.key", pki_dir(), name);
	snprintf(cfg->tls_ca, sizeof(cfg->tls_ca), "%s", pki_path("ca.crt"));
}

nfs4r_servers stranger_may(nfs4r_server_id id, unsigned who)
{
	const nfs4r_servers may[STRANGERS] = { NFS4R_BIT(id), NFS4R_BIT(1) | NFS4R_BIT(3), NFS4R_BIT(other_than(id)), 0 };

	return may[who];
}
