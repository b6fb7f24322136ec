/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A server's own key and certificate on the disk.
 *
 * A key is made with O_EXCL and mode 0600, so that nobody can read it at any moment and no key is overwritten: who lost it is a stranger to the others. The certificate is
 * only the form in which TLS carries the key, so it says nothing that anybody relies on, and does not end: what counts is its fingerprint at the others.
 *
 * Failure modes: the disk is full, or the folder is not there: what was made is removed. A crash between the two files leaves a key without a certificate; the
 * next attempt says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ctl.h"
#include "ctl/key_file.h"

#define SERIAL_BITS 127
#define FIRST "19700101000000Z" /* whatever the clocks of the others say */
#define LAST "99991231235959Z" /* RFC 5280: no end that is well defined */

static bool say(char *why, const char *what, const char *path, const char *remedy)
{
	snprintf(why, CTL_WHY, "%s %.900s%s%s", what, path, *remedy ? ": " : "", remedy);
	return false;
}

static bool join(char *out, const char *a, const char *b, const char *c)
{
	return snprintf(out, PATH_MAX, "%s%s%s", a, b, c) < PATH_MAX;
}

bool key_files_of(struct key_files *f, const char *prefix, const char *suffix)
{
	return join(f->key, prefix, ".key", suffix) && join(f->certificate, prefix, ".crt", suffix);
}

bool key_files_with(struct key_files *out, const struct key_files *f, const char *suffix)
{
	return join(out->key, f->key, suffix, "") && join(out->certificate, f->certificate, suffix, "");
}

/* ---- making ---- */

static bool set_serial(X509 *x)
{
	BIGNUM *n = BN_new();
	bool ok = n && BN_rand(n, SERIAL_BITS, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x));

	BN_free(n);
	return ok;
}

static bool set_name(X509 *x)
{
	X509_NAME *name = X509_get_subject_name(x);
	char host[65] = "";

	if (gethostname(host, sizeof(host) - 1) != 0 || !host[0])
		snprintf(host, sizeof(host), "server");
	return X509_NAME_add_entry_by_txt(name, "O", MBSTRING_UTF8, (const unsigned char *)"NFSv4.r", -1, -1, 0) &&
		X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)host, -1, -1, 0) && X509_set_issuer_name(x, name);
}

static X509 *self_signed(EVP_PKEY *key)
{
	X509 *x = X509_new();

	if (x && X509_set_version(x, X509_VERSION_3) && set_serial(x) && ASN1_TIME_set_string_X509(X509_getm_notBefore(x), FIRST) &&
	    ASN1_TIME_set_string_X509(X509_getm_notAfter(x), LAST) && set_name(x) && X509_set_pubkey(x, key) && X509_sign(x, key, EVP_sha256()))
		return x;
	X509_free(x);
	return NULL;
}

static FILE *create(const char *path, mode_t mode, char *why)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	FILE *f = fd >= 0 && fchmod(fd, mode) == 0 ? fdopen(fd, "w") : NULL;
	char what[200];

	if (f)
		return f;
	if (errno == EEXIST && fd < 0) {
		say(why, "there is a file already:", path, "nothing was changed. `nfs4rctl key show` shows this server's key, `nfs4rctl key replace` changes it");
		return NULL;
	}
	snprintf(what, sizeof(what), "cannot make (%s)", strerror(errno));
	say(why, what, path, errno == ENOENT ? "make its folder first" : "");
	if (fd >= 0) {
		unlink(path);
		close(fd);
	}
	return NULL;
}

/* What is written is on the disk, or @path is gone. */
static bool finish(FILE *f, bool ok, const char *path, char *why)
{
	char what[200];

	ok = ok && fflush(f) == 0 && fsync(fileno(f)) == 0;
	snprintf(what, sizeof(what), "cannot write (%s)", strerror(errno));
	ok = fclose(f) == 0 && ok;
	if (ok)
		return true;
	unlink(path);
	return say(why, what, path, "");
}

static bool write_key(const char *path, EVP_PKEY *key, char *why)
{
	FILE *f = create(path, 0600, why);

	return f && finish(f, PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL), path, why);
}

static bool write_certificate(const char *path, X509 *x, char *why)
{
	FILE *f = create(path, 0644, why);

	return f && finish(f, PEM_write_X509(f, x), path, why);
}

bool key_files_make(const struct key_files *f, char *why)
{
	EVP_PKEY *key;
	X509 *x = NULL;
	bool ok;

	if (access(f->certificate, F_OK) == 0)
		return say(why, "there is a file already:", f->certificate, "nothing was changed. `nfs4rctl key show` shows this server's key, `nfs4rctl key replace` changes it");
	key = EVP_EC_gen("P-256");
	x = key ? self_signed(key) : NULL;
	if (!x) {
		EVP_PKEY_free(key);
		return say(why, "OpenSSL cannot make a key for", f->key, "");
	}
	ok = write_key(f->key, key, why);
	if (ok && !write_certificate(f->certificate, x, why)) {
		unlink(f->key);
		ok = false;
	}
	X509_free(x);
	EVP_PKEY_free(key);
	return ok;
}

/* ---- reading ---- */

static FILE *open_read(const char *path, char *why)
{
	FILE *f = fopen(path, "re");
	char what[200];

	if (f)
		return f;
	snprintf(what, sizeof(what), "cannot read (%s)", strerror(errno));
	say(why, what, path, errno == ENOENT ? "`nfs4rctl key make` makes it" : "");
	return NULL;
}

static bool fingerprint_of(X509 *x, struct key_certificate *out)
{
	struct nfs4r_key_fingerprint fp;
	unsigned char *der = NULL;
	unsigned int n = 0;
	int len = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(x), &der);
	bool ok = len > 0 && EVP_Digest(der, (size_t)len, fp.sha256, &n, EVP_sha256(), NULL) && n == sizeof(fp.sha256);

	OPENSSL_free(der);
	if (ok)
		nfs4r_fingerprint_text(&fp, out->fingerprint);
	return ok;
}

/* KEY_NEVER is that of RFC 5280. */
static bool end_of(const X509 *x, int64_t *out)
{
	struct tm tm;

	if (!ASN1_TIME_to_tm(X509_get0_notAfter(x), &tm))
		return false;
	*out = tm.tm_year + 1900 == 9999 ? KEY_NEVER : (int64_t)timegm(&tm);
	return true;
}

static X509 *read_certificate(const char *path, char *why)
{
	FILE *f = open_read(path, why);
	X509 *x = f ? PEM_read_X509(f, NULL, NULL, NULL) : NULL;

	if (!f)
		return NULL;
	fclose(f);
	if (!x)
		say(why, "there is no certificate in", path, "a file in PEM form begins with -----BEGIN CERTIFICATE-----");
	return x;
}

bool key_certificate_read(const char *path, struct key_certificate *out, char *why)
{
	X509 *x = read_certificate(path, why);
	bool ok;

	if (!x)
		return false;
	ok = fingerprint_of(x, out) && end_of(x, &out->ends_s);
	out->self_signed = X509_self_signed(x, 1) == 1;
	X509_free(x);
	return ok || say(why, "OpenSSL cannot understand the certificate in", path, "");
}

bool key_files_match(const struct key_files *f, char *why)
{
	X509 *x = read_certificate(f->certificate, why);
	FILE *in = x ? open_read(f->key, why) : NULL;
	EVP_PKEY *key = in ? PEM_read_PrivateKey(in, NULL, NULL, (void *)"") : NULL;
	bool ok = x && key && X509_check_private_key(x, key);

	if (in && !key)
		say(why, "there is no private key without a password in", f->key, "");
	else if (key && !ok)
		say(why, "the key is not that of the certificate:", f->key, "put the two files there that belong together");
	EVP_PKEY_free(key);
	X509_free(x);
	if (in)
		fclose(in);
	return ok;
}

/* ---- taking their place ---- */

static bool sync_folder(const char *path)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');
	int fd, rc;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = fd >= 0 ? fsync(fd) : -1;
	if (fd >= 0)
		close(fd);
	return rc == 0;
}

static bool replace(const char *from, const char *to, char *why)
{
	char what[200];

	if (rename(from, to) == 0 && sync_folder(to))
		return true;
	snprintf(what, sizeof(what), "cannot replace (%s)", strerror(errno));
	return say(why, what, to, "");
}

bool key_files_replace(const struct key_files *from, const struct key_files *to, char *why)
{
	if (access(from->key, F_OK) == 0 && !replace(from->key, to->key, why))
		return false;
	return replace(from->certificate, to->certificate, why);
}
