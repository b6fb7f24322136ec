/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Ganesha checks the caller's permission at each READ and WRITE, although the file is open. Of a file that another server controls that would be a question to it, one
 * round trip, before each of them.
 *
 * What the caller may was decided when the file was opened, by the attributes that the owner gave. So if the copy here lets the caller read, or write, that will do; if it does not, the owner
 * is asked, as for everything else. A chmod elsewhere that takes the permission away counts for a READ of a file that is open here when the copy has it, and for one that is opened at once. A local
 * file system goes on to let the holder read. A WRITE goes to the owner with the caller's credentials, and is checked there (control 6.10): FSAL_VFS writes as root.
 *
 * Only for a request that consists of nothing but such READs or WRITEs, with the stateid of an open: in any other the attributes are for the client's eyes. Behind a WRITE Linux asks
 * for attributes; those are told from Ganesha's own question by the version among them.
 */
#include "repl.h"

static __thread bool looks; /* fsal_test_access() is asked on behalf of this file, and asks getattrs */

/* All zeroes, or all ones: no open belongs to it. */
static bool is_special(const stateid4 *id)
{
	static const char ones[] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", zeroes[sizeof(ones)];

	return memcmp(id->other, ones, sizeof(id->other)) == 0 || memcmp(id->other, zeroes, sizeof(id->other)) == 0;
}

static bool asks_version(const bitmap4 *b)
{
	return b->bitmap4_len > FATTR4_CHANGE / 32 && (b->map[FATTR4_CHANGE / 32] >> FATTR4_CHANGE % 32 & 1) != 0;
}

/* What all of the request needs: FSAL_READ_ACCESS, FSAL_WRITE_ACCESS; 0: it is another one. */
static fsal_accessflags_t needs(const COMPOUND4args *c, const struct nfs4r_oid *oid)
{
	u_int n = c != NULL ? c->argarray.argarray_len : 0, reads = 0, writes = 0, looked = 0;

	for (u_int i = 0; i < n; i++) {
		const nfs_argop4 *op = &c->argarray.argarray_val[i];

		if (op->argop == NFS4_OP_READ && !is_special(&op->nfs_argop4_u.opread.stateid))
			reads++;
		else if (op->argop == NFS4_OP_WRITE && !is_special(&op->nfs_argop4_u.opwrite.stateid))
			writes++;
		else if (op->argop == NFS4_OP_GETATTR && asks_version(&op->nfs_argop4_u.opgetattr.attr_request))
			looked++;
		else if (op->argop != NFS4_OP_SEQUENCE && !repl_compound_is_handle_of(op, oid))
			return 0;
	}
	if (reads > 0)
		return writes == 0 && looked == 0 ? FSAL_READ_ACCESS : 0;
	return writes > 0 ? FSAL_WRITE_ACCESS : 0;
}

bool repl_permission_of_open(struct repl_export *exp, struct repl_obj *obj, struct fsal_attrlist *out, fsal_status_t *st)
{
	static const attrmask_t asked = ATTRS_CREDS | ATTR_MODE | ATTR_ACL | ATTR_RDATTR_ERR;
	fsal_accessflags_t access;
	bool may;

	if (!looks) {
		if ((out->request_mask & ~asked) != 0 || obj->handle.type != REGULAR_FILE || __atomic_load_n(&obj->opens, __ATOMIC_RELAXED) == 0)
			return false;
		access = needs(repl_compound_args(), &obj->oid);
		if (access == 0 || !repl_is_read_elsewhere(exp, &obj->oid))
			return false;
		looks = true;
		may = !FSAL_IS_ERROR(fsal_test_access(&obj->handle, access, NULL, NULL, true));
		looks = false;
		if (!may)
			return false;
	}
	*st = repl_getattrs_local(exp, obj, out);
	return !FSAL_IS_ERROR(*st) || looks;
}
