/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Security flavour `none`: nothing is proved and nothing is protected; the transport lets in
 * configured addresses only. For networks that nobody else can send on.
 */
#include "rpc/security/security.h"

const struct nfs4r_security_ops nfs4r_security_none = {
	.flavour = NFS4R_SECURITY_NONE,
	.name = "none",
};
