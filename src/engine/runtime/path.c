/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The path of an object, for people: from the object upwards by the store's rows, each name looked for in its directory. That costs a look at all names of
 * each directory on the way, so it is for log lines and reports, not for operations.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine/runtime/runtime.h"

static bool name_of(struct nfs4r_engine *eng, const struct nfs4r_oid *dir, const struct nfs4r_oid *oid, char out[NFS4R_NAME_MAX + 1])
{
	struct nfs4r_dirent *d = calloc(64, sizeof(*d));
	uint64_t after = 0;
	bool found = false;

	for (uint32_t n = 64; d && n == 64 && !found;) {
		n = nfs4r_store_readdir(eng->store, dir, after, d, 64);
		for (uint32_t i = 0; i < n && !found; i++) {
			after = d[i].cookie;
			found = nfs4r_oid_eq(&d[i].oid, oid);
			if (found)
				snprintf(out, NFS4R_NAME_MAX + 1, "%s", d[i].name.s);
		}
	}
	free(d);
	return found;
}

void engine_path_of(struct nfs4r_engine *eng, const struct nfs4r_oid *oid, char *out, size_t len)
{
	char name[NFS4R_NAME_MAX + 1], text[NFS4R_OID_STRLEN];
	struct nfs4r_oid at = *oid;
	size_t begin = len - 1;
	struct nfs4r_row row;

	out[begin] = '\0';
	for (int depth = 0; depth < NFS4R_DEPTH_MAX && !nfs4r_oid_eq(&at, &eng->root); depth++) {
		size_t n;

		if (nfs4r_store_row(eng->store, &at, &row) != NFS4R_KNOWN || !row.nparents || !name_of(eng, &row.parent, &at, name))
			break;
		n = strlen(name);
		if (n + 1 > begin)
			break;
		begin -= n + 1;
		out[begin] = '/';
		memcpy(out + begin + 1, name, n);
		at = row.parent;
	}
	if (nfs4r_oid_eq(&at, &eng->root)) {
		if (!out[begin])
			out[--begin] = '/';
		memmove(out, out + begin, len - begin);
	} else {
		snprintf(out, len, "(%s)", nfs4r_oid_str(oid, text));
	}
}
