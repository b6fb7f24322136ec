/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which user a client's name is at a server: of a Kerberos principal the uid, the gid and the groups that the server's name service says. Servers tell each other, so that
 * a name that is one user at one site and another one at the next is noticed (docs/decisions/0045-kerberos-for-clients.md).
 */
#ifndef NFS4R_BASE_IDENTITY_H
#define NFS4R_BASE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#define NFS4R_PRINCIPAL_MAX 255 /* bytes of a name; longer ones are not compared */
#define NFS4R_IDENTITIES_MAX 16 /* in one message */

struct nfs4r_mapping {
	bool mapped; /* false: the server knows no such user, the name is the anonymous user, and the rest is 0 */
	uint32_t uid, gid;
	uint32_t ngroups; /* supplementary groups, with whatever the name service counts among them */
	uint64_t groups; /* nfs4r_groups_digest() of them */
};

struct nfs4r_identity {
	char name[NFS4R_PRINCIPAL_MAX + 1]; /* not empty, NUL terminated; any bytes */
	struct nfs4r_mapping to;
};

/* The same whatever the order; a group that is named twice counts twice. No defence against somebody who looks for two lists with one digest. */
uint64_t nfs4r_groups_digest(const uint32_t *groups, uint32_t n);

#endif
