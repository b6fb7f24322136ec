/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What is read under a lock at the server of its owner, though another server controls the file (locks 23).
 *
 * Whoever gets a lock sees what was written under the ones before it. That is in the version that the file had at its authority when the lock was granted, and nobody else writes
 * these bytes from then on. So once the copy here has that version the owner reads them here. What the owner wrote since was not answered before its entry was in the
 * copy (docs/protocol/README.md); where that took too long, nothing is read here any more until nobody here has a lock of the file.
 *
 * Failure modes: the log of the authority ends, and the copy goes back behind that version: the bytes are read where the file is controlled. A client was told of a newer version
 * (control 6.9): the same, or it would keep these bytes as those of that one. The lock is lost: HT does not have it any more.
 *
 * Invariant: there is a version for each file in HT, and for no other.
 */
#include "core/locks/locks_int.h"

static struct lock_copy *find(const struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct lock_copy *k;

	HASH_FIND(hh, c->locks.copies, oid, sizeof(*oid), k);
	return k;
}

void locks_copy_needed(struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_version version)
{
	struct lock_copy *k = find(c, oid);

	if (!k) {
		k = out_xcalloc(1, sizeof(*k));
		k->oid = *oid;
		HASH_ADD(hh, c->locks.copies, oid, sizeof(k->oid), k);
	}
	if (version > k->version)
		k->version = version;
}

void locks_copy_unneeded(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct lock_copy *k = find(c, oid);

	if (!k)
		return;
	HASH_DEL(c->locks.copies, k);
	free(k);
}

void locks_copy_lags(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct lock_copy *k = find(c, oid);

	if (k)
		k->version = UINT64_MAX;
}

bool locks_copy_will_do(const struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_version version)
{
	const struct lock_copy *k = find(c, oid);

	return k && (version >= k->version || FAULT(F_READ_LOCKED_OLD));
}
