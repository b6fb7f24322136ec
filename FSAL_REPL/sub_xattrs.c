/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Extended attributes at the sub-FSAL, by their full names. FSAL_VFS of Ganesha 6.5 has methods for files and directories only,
 * which open them, and store an empty value as one NUL byte; of its objects they are set and read with the kernel's own calls
 * (sub_raw.c). Another sub-FSAL that has NFSv4.2's four methods holds those of user., whose names it takes without the prefix.
 */
#include "repl.h"

#include "base/xattr.h"

#define NAME_BYTES_MAX 65536

static fsal_status_t xattr_status(fsal_status_t st)
{
	if (st.minor == ENODATA || st.major == ERR_FSAL_NOENT || st.major == ERR_FSAL_NO_DATA)
		return fsalstat(ERR_FSAL_NOXATTR, ENODATA);
	if (st.minor == ERANGE || st.minor == E2BIG)
		return fsalstat(ERR_FSAL_XATTR2BIG, st.minor);
	if (st.minor == ENOTSUP)
		return fsalstat(ERR_FSAL_NOTSUPP, ENOTSUP);
	return st;
}

static struct fsal_obj_ops default_ops;

static void init_defaults(void)
{
	fsal_default_obj_ops_init(&default_ops);
}

/* Has the sub-FSAL methods of its own? Ganesha's defaults complain loudly when they are called. */
static bool has_v42(struct fsal_obj_handle *sub)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, init_defaults);
	return sub->obj_ops->getxattrs != default_ops.getxattrs;
}

/* The name as the sub-FSAL's methods take it; false: they cannot have it. */
static bool v42_key(struct fsal_obj_handle *sub, const char *name, xattrkey4 *key)
{
	if (!has_v42(sub) || strncmp(name, NFS4R_XATTR_USER, NFS4R_XATTR_USER_LEN) != 0)
		return false;
	key->utf8string_val = (char *)name + NFS4R_XATTR_USER_LEN;
	key->utf8string_len = strlen(key->utf8string_val);
	return true;
}

fsal_status_t repl_sub_getxattr(struct fsal_obj_handle *sub, const char *name, void *val, uint32_t *len)
{
	xattrvalue4 value = { .utf8string_len = *len, .utf8string_val = val };
	xattrkey4 key;
	fsal_status_t st;

	if (repl_raw_can(sub))
		return xattr_status(repl_raw_getxattr(sub, name, val, len));
	if (!v42_key(sub, name, &key))
		return fsalstat(ERR_FSAL_NOXATTR, ENODATA);
	st = sub->obj_ops->getxattrs(sub, &key, &value);
	*len = value.utf8string_len;
	return xattr_status(st);
}

fsal_status_t repl_sub_setxattr(struct fsal_obj_handle *sub, const char *name, const void *val, uint32_t len, uint32_t flags)
{
	xattrvalue4 value = { .utf8string_len = len, .utf8string_val = (char *)val };
	setxattr_option4 option = flags == NFS4R_XATTR_CREATE ? SETXATTR4_CREATE :
		flags == NFS4R_XATTR_REPLACE		      ? SETXATTR4_REPLACE :
								SETXATTR4_EITHER;
	xattrkey4 key;

	if (repl_raw_can(sub))
		return xattr_status(repl_raw_setxattr(sub, name, val, len, flags));
	if (!v42_key(sub, name, &key))
		return fsalstat(ERR_FSAL_NOTSUPP, ENOTSUP);
	return xattr_status(sub->obj_ops->setxattrs(sub, option, &key, &value));
}

fsal_status_t repl_sub_removexattr(struct fsal_obj_handle *sub, const char *name)
{
	xattrkey4 key;

	if (repl_raw_can(sub))
		return xattr_status(repl_raw_removexattr(sub, name));
	if (!v42_key(sub, name, &key))
		return fsalstat(ERR_FSAL_NOXATTR, ENODATA);
	return xattr_status(sub->obj_ops->removexattrs(sub, &key));
}

/* A list of names that grows in the caller's buffer. */
struct names {
	char *at;
	uint32_t used, size;
	bool full;
};

static void add_name(struct names *n, const char *name, size_t len)
{
	if (n->full || n->used + NFS4R_XATTR_USER_LEN + len + 1 > n->size) {
		n->full = true;
		return;
	}
	memcpy(n->at + n->used, NFS4R_XATTR_USER, NFS4R_XATTR_USER_LEN);
	n->used += NFS4R_XATTR_USER_LEN;
	memcpy(n->at + n->used, name, len);
	n->at[n->used + len] = '\0';
	n->used += len + 1;
}

static fsal_status_t list_v42(struct fsal_obj_handle *sub, struct names *n)
{
	nfs_cookie4 cookie = 0;
	bool_t eof = false;
	xattrlist4 list;
	fsal_status_t st;
	uint32_t i;

	do {
		memset(&list, 0, sizeof(list));
		st = sub->obj_ops->listxattrs(sub, NAME_BYTES_MAX, &cookie, &eof, &list);
		if (FSAL_IS_ERROR(st))
			return st;
		for (i = 0; i < list.xl4_count; i++) {
			add_name(n, list.xl4_entries[i].utf8string_val, list.xl4_entries[i].utf8string_len);
			gsh_free(list.xl4_entries[i].utf8string_val);
		}
		gsh_free(list.xl4_entries);
	} while (!eof && list.xl4_count > 0 && !n->full);
	return st;
}

fsal_status_t repl_sub_listxattr(struct fsal_obj_handle *sub, char *names, uint32_t *len)
{
	struct names n = { .at = names, .size = *len };
	fsal_status_t st;

	if (repl_raw_can(sub)) {
		st = repl_raw_listxattr(sub, names, len);
		*len = FSAL_IS_ERROR(st) ? 0 : nfs4r_xattr_list_carried(names, *len);
		return xattr_status(st);
	}
	if (!has_v42(sub)) {
		*len = 0;
		return fsalstat(ERR_FSAL_NOTSUPP, ENOTSUP);
	}
	st = list_v42(sub, &n);
	*len = n.used;
	if (!FSAL_IS_ERROR(st) && n.full)
		st = fsalstat(ERR_FSAL_XATTR2BIG, ERANGE);
	return xattr_status(st);
}
