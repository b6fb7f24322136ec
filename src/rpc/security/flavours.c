/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which tables of security.h there are. */
#include "rpc/security/security.h"

#include <string.h>

static const struct nfs4r_security_ops *const built_in[NFS4R_SECURITY_FLAVOURS] = {
	[NFS4R_SECURITY_NONE] = &nfs4r_security_none,
	[NFS4R_SECURITY_TLS] = &nfs4r_security_tls,
	[NFS4R_SECURITY_KRB5I] = &nfs4r_security_krb5i,
	[NFS4R_SECURITY_KRB5P] = &nfs4r_security_krb5p,
};

static const struct nfs4r_security_ops *added[NFS4R_SECURITY_FLAVOURS];

void nfs4r_security_add(const struct nfs4r_security_ops *ops)
{
	if (ops)
		added[ops->flavour] = ops;
	else
		memset(added, 0, sizeof(added));
}

const struct nfs4r_security_ops *nfs4r_security_find(enum nfs4r_security flavour)
{
	if ((unsigned)flavour >= NFS4R_SECURITY_FLAVOURS)
		return NULL;
	return added[flavour] ? added[flavour] : built_in[flavour];
}

const char *nfs4r_security_name(enum nfs4r_security flavour)
{
	static const char *const names[NFS4R_SECURITY_FLAVOURS] = {
		[NFS4R_SECURITY_NONE] = "none",
		[NFS4R_SECURITY_TLS] = "tls",
		[NFS4R_SECURITY_KRB5I] = "krb5i",
		[NFS4R_SECURITY_KRB5P] = "krb5p",
	};

	return (unsigned)flavour < NFS4R_SECURITY_FLAVOURS && names[flavour] ? names[flavour] : "something newer";
}
