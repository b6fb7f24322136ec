/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Security flavour `none`: nothing is proved and nothing is protected; the transport lets in
 * configured addresses only. For networks that nobody else can send on.
 */
#include "rpc/security.h"

static const struct nfs4r_security_ops security_none = {
	.flavour = NFS4R_SECURITY_NONE,
	.name = "none",
};

static const struct nfs4r_security_ops *security_added;

void nfs4r_security_add(const struct nfs4r_security_ops *ops)
{
	security_added = ops;
}

const struct nfs4r_security_ops *nfs4r_security_find(enum nfs4r_security flavour)
{
	if (security_added && security_added->flavour == flavour)
		return security_added;
	return flavour == NFS4R_SECURITY_NONE ? &security_none : NULL;
}
