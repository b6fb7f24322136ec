/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* For scenarios of locks that hold at all sites: servers of a volume that has protocol 10 and disk format 2. */
#ifndef NFS4R_TESTS_LOCKS_ON_H
#define NFS4R_TESTS_LOCKS_ON_H

#include "scenario/net.h"

/* The next start of every server knows nothing older, so the first view that says anything says that. */
static inline void locks_on(struct net *n)
{
	for (nfs4r_server_id s = 1; s <= n->n; s++) {
		n->s[s].protocol = (struct nfs4r_versions){ NFS4R_PROTOCOL_LOCKS, NFS4R_PROTOCOL_LOCKS };
		n->s[s].disk_format = (struct nfs4r_versions){ NFS4R_DISK_FORMAT_LOCKS, NFS4R_DISK_FORMAT_LOCKS };
	}
	n->secrets = true; /* so that there is a first view */
}

#endif
