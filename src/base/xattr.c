/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See xattr.h. */
#include "base/xattr.h"

#include <stddef.h>
#include <string.h>

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0 && name[strlen(with)];
}

bool nfs4r_xattr_is_carried(const char *name)
{
	if (strcmp(name, "security.evm") == 0 || begins(name, "trusted.nfs4r."))
		return false;
	return begins(name, NFS4R_XATTR_USER) || begins(name, "trusted.") || begins(name, "security.") ||
		strcmp(name, "system.posix_acl_access") == 0 || strcmp(name, "system.posix_acl_default") == 0;
}

bool nfs4r_xattr_is_label(const char *name)
{
	return strcmp(name, "security.selinux") == 0 || strcmp(name, "security.ima") == 0 || strncmp(name, "security.SMACK64", 16) == 0;
}

uint32_t nfs4r_xattr_list_carried(char *names, uint32_t len)
{
	uint32_t out = 0;

	for (uint32_t at = 0; at < len;) {
		uint32_t n = (uint32_t)strnlen(names + at, len - at);

		if (at + n < len && nfs4r_xattr_is_carried(names + at)) {
			memmove(names + out, names + at, n + 1);
			out += n + 1;
		}
		at += n + 1;
	}
	return out;
}
