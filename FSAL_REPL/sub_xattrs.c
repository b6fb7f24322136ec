/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Extended attributes at the sub-FSAL. Some sub-FSALs have NFSv4.2's four methods; FSAL_VFS of Ganesha
 * 6.5 has only the older ones, which take the file system's names. We take the former where they are.
 * Names here are without the user. prefix.
 *
 * A peculiarity of FSAL_VFS: it stores an empty value as one NUL byte. It does so on every server alike.
 */
#include "repl.h"

#define USER_PREFIX "user."
#define USER_PREFIX_LEN (sizeof(USER_PREFIX) - 1)
#define NAMES_BATCH 32
#define NAME_BYTES_MAX 65536

static void full_name(char out[NFS4R_XATTR_NAME_MAX + USER_PREFIX_LEN + 1], const char *name)
{
	snprintf(out, NFS4R_XATTR_NAME_MAX + USER_PREFIX_LEN + 1, USER_PREFIX "%s", name);
}

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

fsal_status_t repl_sub_getxattr(struct fsal_obj_handle *sub, const char *name, void *val, uint32_t *len)
{
	xattrkey4 key = { .utf8string_len = strlen(name), .utf8string_val = (char *)name };
	xattrvalue4 value = { .utf8string_len = *len, .utf8string_val = val };
	char full[NFS4R_XATTR_NAME_MAX + USER_PREFIX_LEN + 1];
	fsal_status_t st;
	size_t size = 0;

	if (has_v42(sub)) {
		st = sub->obj_ops->getxattrs(sub, &key, &value);
		*len = value.utf8string_len;
		return xattr_status(st);
	}
	full_name(full, name);
	st = sub->obj_ops->getextattr_value_by_name(sub, full, val, *len, &size);
	*len = size;
	return xattr_status(st);
}

fsal_status_t repl_sub_setxattr(struct fsal_obj_handle *sub, const char *name, const void *val, uint32_t len, uint32_t flags)
{
	xattrkey4 key = { .utf8string_len = strlen(name), .utf8string_val = (char *)name };
	xattrvalue4 value = { .utf8string_len = len, .utf8string_val = (char *)val };
	setxattr_option4 option = flags == NFS4R_XATTR_CREATE  ? SETXATTR4_CREATE :
				  flags == NFS4R_XATTR_REPLACE ? SETXATTR4_REPLACE :
								 SETXATTR4_EITHER;
	char full[NFS4R_XATTR_NAME_MAX + USER_PREFIX_LEN + 1];
	fsal_status_t st;

	if (has_v42(sub))
		return xattr_status(sub->obj_ops->setxattrs(sub, option, &key, &value));
	full_name(full, name);
	st = fsalstat(ERR_FSAL_NOXATTR, ENODATA);
	if (flags != NFS4R_XATTR_CREATE)
		st = xattr_status(sub->obj_ops->setextattr_value(sub, full, (void *)val, len, false));
	if (flags != NFS4R_XATTR_REPLACE && (flags == NFS4R_XATTR_CREATE || st.major == ERR_FSAL_NOXATTR))
		st = xattr_status(sub->obj_ops->setextattr_value(sub, full, (void *)val, len, true));
	return st;
}

fsal_status_t repl_sub_removexattr(struct fsal_obj_handle *sub, const char *name)
{
	xattrkey4 key = { .utf8string_len = strlen(name), .utf8string_val = (char *)name };
	char full[NFS4R_XATTR_NAME_MAX + USER_PREFIX_LEN + 1];

	if (has_v42(sub))
		return xattr_status(sub->obj_ops->removexattrs(sub, &key));
	full_name(full, name);
	return xattr_status(sub->obj_ops->remove_extattr_by_name(sub, full));
}

/* A list of names that grows in the caller's buffer. */
struct names {
	char *at;
	uint32_t used, size;
	bool full;
};

static void add_name(struct names *n, const char *name, size_t len)
{
	if (n->full || n->used + len + 1 > n->size) {
		n->full = true;
		return;
	}
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

static fsal_status_t list_old(struct fsal_obj_handle *sub, struct names *n)
{
	fsal_xattrent_t *tab = gsh_calloc(NAMES_BATCH, sizeof(*tab));
	unsigned int cookie = 0, got = 0, i;
	int eof = false;
	fsal_status_t st;

	do {
		st = sub->obj_ops->list_ext_attrs(sub, cookie, tab, NAMES_BATCH, &got, &eof);
		if (FSAL_IS_ERROR(st))
			break;
		for (i = 0; i < got; i++) /* besides ours there are names that FSAL_VFS makes up, and the system's */
			if (strncmp(tab[i].xattr_name, USER_PREFIX, USER_PREFIX_LEN) == 0)
				add_name(n, tab[i].xattr_name + USER_PREFIX_LEN, strlen(tab[i].xattr_name) - USER_PREFIX_LEN);
		if (got > 0)
			cookie = tab[got - 1].xattr_cookie;
	} while (!eof && got > 0 && !n->full);
	gsh_free(tab);
	return st;
}

fsal_status_t repl_sub_listxattr(struct fsal_obj_handle *sub, char *names, uint32_t *len)
{
	struct names n = { .at = names, .size = *len };
	fsal_status_t st;

	st = has_v42(sub) ? list_v42(sub, &n) : list_old(sub, &n);
	*len = n.used;
	if (!FSAL_IS_ERROR(st) && n.full)
		st = fsalstat(ERR_FSAL_XATTR2BIG, ERANGE);
	return xattr_status(st);
}
