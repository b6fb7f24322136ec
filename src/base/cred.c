/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Groups of a caller: few callers have many, so they are no part of the struct. */
#include "base/attrs.h"
#include "base/buf.h"

const uint32_t *nfs4r_cred_groups(const struct nfs4r_cred *cred)
{
	return cred->groups ? (const uint32_t *)(const void *)cred->groups->data : NULL;
}

uint32_t *nfs4r_cred_set_groups(struct nfs4r_cred *cred, uint32_t n)
{
	cred->groups = nfs4r_buf_new(n * (uint32_t)sizeof(uint32_t));
	cred->ngroups = cred->groups ? n : 0;
	return cred->groups ? (uint32_t *)(void *)cred->groups->data : NULL;
}

bool nfs4r_cred_has_group(const struct nfs4r_cred *cred, uint32_t gid)
{
	const uint32_t *groups = nfs4r_cred_groups(cred);

	for (uint32_t i = 0; groups && i < cred->ngroups; i++)
		if (groups[i] == gid)
			return true;
	return cred->gid == gid;
}
