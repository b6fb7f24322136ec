/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The words between the core and a store: what is known of an object, and a stable row. The core asks by them through its tree port
 * (struct nfs4r_tree in core/core.h); a store answers, and does not need to know the core.
 */
#ifndef NFS4R_BASE_TREE_H
#define NFS4R_BASE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/oid.h"

enum nfs4r_known {
	NFS4R_KNOWN = 1,
	NFS4R_NOT_YET = 2,
	NFS4R_DEAD = 3
};

struct nfs4r_facts {
	enum nfs4r_known known;
	uint32_t type; /* enum nfs4r_type, when known */
	bool multi; /* ever had two names (sticky): has no ancestors for control (control 0) */
	nfs4r_version version; /* of the last committed entry */
	uint32_t nlink;
	uint64_t nentries; /* directory: names in it */
	uint32_t nparents; /* 1; a multi file may have any number (ask parents()); 0 for the root */
	struct nfs4r_oid parent; /* the parent when nparents == 1 */
};

struct nfs4r_put { /* a row of the core's own state: opaque to the store */
	bool del;
	uint16_t key_len, val_len;
	uint8_t key[32];
	uint8_t val[512];
};

#endif
