/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The files by which this server proves who it is: are they there, and is what is secret kept from others?
 *
 * Only what a look at the files themselves tells. A file that is there and holds nonsense is refused by the transport, which reads it. A file that anybody but its
 * owner can read is refused and not mended: who can read it may have read it already, and an administrator has to know.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config_keys.h"
#include "engine/engine.h"

enum secrecy {
	PUBLIC = 1,
	SECRET
};

static enum nfs4r_status bad(char *why, size_t len, const char *key, const char *path, const char *what, const char *remedy)
{
	snprintf(why, len, "REPL: %s = \"%.400s\" %s: %s", key, path, what, remedy);
	return NFS4R_BADCONFIG;
}

static enum nfs4r_status look(const char *key, const char *path, enum secrecy secrecy, const char *remedy, char *why, size_t len)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), err = errno;
	char what[128];
	struct stat st;

	if (fd < 0 && err == ENOENT)
		return bad(why, len, key, path, "is not there", remedy);
	if (fd < 0 || fstat(fd, &st) != 0) {
		snprintf(what, sizeof(what), "cannot be read (%s)", strerror(err));
		if (fd >= 0)
			close(fd);
		return bad(why, len, key, path, what, "the user that the server runs as has to be able to read it");
	}
	close(fd);
	if (!S_ISREG(st.st_mode))
		return bad(why, len, key, path, "is no file", "write the path of a file");
	if (secrecy == SECRET && st.st_uid != geteuid() && st.st_uid != 0)
		return bad(why, len, key, path, "belongs to another user", "chown it to the user that the server runs as; if that user may have read it, make a new key");
	if (secrecy == SECRET && (st.st_mode & 077)) {
		snprintf(what, sizeof(what), "may be used by others (mode %04o)", (unsigned)(st.st_mode & 07777));
		return bad(why, len, key, path, what, "chmod 600 it; if others may have read it, make a new key");
	}
	return NFS4R_OK;
}

static bool uses(const struct nfs4r_rpc_config *rpc, enum nfs4r_security flavour)
{
	return rpc->security == flavour || (rpc->security_accept & NFS4R_SECURITY_BIT(flavour));
}

/* How to make them where they are looked for. */
static void remedy_of(const struct nfs4r_rpc_config *rpc, char *out, size_t size)
{
	size_t len = strlen(rpc->tls_key);
	char prefix[sizeof(rpc->tls_key)] = "", certificate[sizeof(prefix) + 4];

	if (len > 4 && strcmp(rpc->tls_key + len - 4, ".key") == 0)
		snprintf(prefix, sizeof(prefix), "%.*s", (int)len - 4, rpc->tls_key);
	snprintf(certificate, sizeof(certificate), "%s.crt", prefix);
	if (!prefix[0] || strcmp(certificate, rpc->tls_certificate) != 0)
		snprintf(out, size, "run `nfs4rctl key make` on this machine, and write the paths that it prints as Peer_Key and Peer_Certificate");
	else if (strcmp(prefix, NFS4R_PEER_FILES) == 0)
		snprintf(out, size, "run `nfs4rctl key make` on this machine");
	else
		snprintf(out, size, "run `nfs4rctl key make --files %s` on this machine", prefix);
}

enum nfs4r_status nfs4r_key_files_check(const struct nfs4r_config *cfg, char *why, size_t why_len)
{
	const struct nfs4r_rpc_config *rpc = &cfg->rpc;
	enum nfs4r_status st = NFS4R_OK;
	char make[sizeof(rpc->tls_key) + 100];

	remedy_of(rpc, make, sizeof(make));

	if (uses(rpc, NFS4R_SECURITY_TLS)) {
		st = look("Peer_Key", rpc->tls_key, SECRET, make, why, why_len);
		if (st == NFS4R_OK)
			st = look("Peer_Certificate", rpc->tls_certificate, PUBLIC, make, why, why_len);
		if (st == NFS4R_OK && rpc->tls_ca[0])
			st = look("Peer_CA", rpc->tls_ca, PUBLIC, "put the certificate of the authority there", why, why_len);
		if (st == NFS4R_OK && rpc->tls_crl[0])
			st = look("Peer_CRL", rpc->tls_crl, PUBLIC, "put the authority's list of revoked certificates there, or omit the key", why, why_len);
	}
	if (st == NFS4R_OK && (uses(rpc, NFS4R_SECURITY_KRB5I) || uses(rpc, NFS4R_SECURITY_KRB5P)))
		st = look("Peer_Keytab", rpc->krb5_keytab, SECRET, "make it with `ktadd` of kadmin, for the principal Peer_Service/HOST of this server", why, why_len);
	return st;
}
