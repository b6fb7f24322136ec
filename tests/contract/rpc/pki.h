/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Keys, certificates and lists of revoked ones, as files of a temporary directory. Whatever fails ends the test. */
#ifndef NFS4R_TEST_RPC_PKI_H
#define NFS4R_TEST_RPC_PKI_H

#include <openssl/x509.h>
#include <sys/types.h>

#include "base/fingerprint.h"

#define PKI_DAY (24 * 3600L)

struct pki_cert { /* what it says; zero: the default */
	const char *name; /* CN */
	const char *san; /* as in openssl.cnf: "URI:nfs4r:...,DNS:..." */
	const char *eku; /* "serverAuth" */
	long from_s, until_s; /* relative to now; both 0: valid from yesterday on for a month */
	long serial; /* 0: 1 */
	bool ca;
	X509 *by; /* who signed it, with @by_key; NULL: itself */
	EVP_PKEY *by_key;
};

const char *pki_dir(void); /* made at the first call, removed at exit */
/* Path of a file there; the text lives until eight further calls. */
const char *pki_path(const char *name);
EVP_PKEY *pki_key(void);
X509 *pki_sign(EVP_PKEY *key, const struct pki_cert *says);
/* One after the other; NULL ends them. The file is replaced as a whole, by another inode. */
void pki_save_cert(const char *path, X509 *a, X509 *b);
void pki_save_key(const char *path, EVP_PKEY *key, mode_t mode);
/* Of @ca: @serial is revoked (0: none); good for a week from @from_s on. */
void pki_save_crl(const char *path, X509 *ca, EVP_PKEY *ca_key, long serial, long from_s);
void pki_fingerprint(EVP_PKEY *key, struct nfs4r_key_fingerprint *out);

#endif
