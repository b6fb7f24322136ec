/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/unit.h"

#include "contract/rpc/pki.h"

static char dir[64];

static void dir_remove(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command) != 0)
		perror(dir);
}

const char *pki_dir(void)
{
	if (dir[0])
		return dir;
	strcpy(dir, "/tmp/nfs4r-pki-XXXXXX");
	assert_non_null(mkdtemp(dir));
	atexit(dir_remove);
	return dir;
}

const char *pki_path(const char *name)
{
	static char paths[8][256];
	static unsigned next;
	char *p = paths[next++ % 8];

	snprintf(p, sizeof(paths[0]), "%s/%s", pki_dir(), name);
	return p;
}

EVP_PKEY *pki_key(void)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");

	assert_non_null(key);
	return key;
}

static void extend(X509 *cert, X509 *by, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *e;

	X509V3_set_ctx(&ctx, by, cert, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	assert_non_null(e);
	assert_int_equal(X509_add_ext(cert, e, -1), 1);
	X509_EXTENSION_free(e);
}

X509 *pki_sign(EVP_PKEY *key, const struct pki_cert *says)
{
	X509 *cert = X509_new(), *by = says->by ? says->by : cert;
	X509_NAME *name = X509_get_subject_name(cert);
	bool dated = says->from_s || says->until_s;

	assert_int_equal(X509_set_version(cert, 2), 1);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), says->serial ? says->serial : 1);
	X509_gmtime_adj(X509_getm_notBefore(cert), dated ? says->from_s : -PKI_DAY);
	X509_gmtime_adj(X509_getm_notAfter(cert), dated ? says->until_s : 30 * PKI_DAY);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)(says->name ? says->name : "test"), -1, -1, 0);
	assert_int_equal(X509_set_issuer_name(cert, X509_get_subject_name(by)), 1);
	assert_int_equal(X509_set_pubkey(cert, key), 1);
	extend(cert, by, NID_basic_constraints, says->ca ? "critical,CA:TRUE" : "critical,CA:FALSE");
	if (says->ca)
		extend(cert, by, NID_key_usage, "critical,keyCertSign,cRLSign");
	if (says->san)
		extend(cert, by, NID_subject_alt_name, says->san);
	if (says->eku)
		extend(cert, by, NID_ext_key_usage, says->eku);
	assert_true(X509_sign(cert, says->by ? says->by_key : key, EVP_sha256()) > 0);
	return cert;
}

static FILE *file_begin(char *path, size_t size, const char *to, mode_t mode)
{
	FILE *f;

	snprintf(path, size, "%s.new", to);
	unlink(path);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fchmod(fileno(f), mode), 0);
	return f;
}

static void file_end(FILE *f, const char *path, const char *to)
{
	assert_int_equal(fclose(f), 0);
	assert_int_equal(rename(path, to), 0);
}

void pki_save_cert(const char *path, X509 *a, X509 *b)
{
	char new[300];
	FILE *f = file_begin(new, sizeof(new), path, 0644);

	assert_int_equal(PEM_write_X509(f, a), 1);
	if (b)
		assert_int_equal(PEM_write_X509(f, b), 1);
	file_end(f, new, path);
}

void pki_save_key(const char *path, EVP_PKEY *key, mode_t mode)
{
	char new[300];
	FILE *f = file_begin(new, sizeof(new), path, mode);

	assert_int_equal(PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL), 1);
	file_end(f, new, path);
}

void pki_save_crl(const char *path, X509 *ca, EVP_PKEY *ca_key, long serial, long from_s)
{
	X509_CRL *crl = X509_CRL_new();
	ASN1_TIME *at = ASN1_TIME_new();
	char new[300];
	FILE *f;

	assert_int_equal(X509_CRL_set_version(crl, 1), 1);
	assert_int_equal(X509_CRL_set_issuer_name(crl, X509_get_subject_name(ca)), 1);
	X509_gmtime_adj(at, from_s);
	X509_CRL_set1_lastUpdate(crl, at);
	X509_gmtime_adj(at, from_s + 7 * PKI_DAY);
	X509_CRL_set1_nextUpdate(crl, at);
	if (serial) {
		X509_REVOKED *r = X509_REVOKED_new();
		ASN1_INTEGER *number = ASN1_INTEGER_new();

		ASN1_INTEGER_set(number, serial);
		X509_gmtime_adj(at, from_s);
		X509_REVOKED_set_serialNumber(r, number);
		X509_REVOKED_set_revocationDate(r, at);
		assert_int_equal(X509_CRL_add0_revoked(crl, r), 1);
		ASN1_INTEGER_free(number);
	}
	assert_true(X509_CRL_sign(crl, ca_key, EVP_sha256()) > 0);
	f = file_begin(new, sizeof(new), path, 0644);
	assert_int_equal(PEM_write_X509_CRL(f, crl), 1);
	file_end(f, new, path);
	ASN1_TIME_free(at);
	X509_CRL_free(crl);
}

void pki_fingerprint(EVP_PKEY *key, struct nfs4r_key_fingerprint *out)
{
	unsigned char *der = NULL;
	int len = i2d_PUBKEY(key, &der);

	assert_true(len > 0);
	SHA256(der, (size_t)len, out->sha256);
	OPENSSL_free(der);
}
