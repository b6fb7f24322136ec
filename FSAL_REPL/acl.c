/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ACLs as bytes: a version, a count and the entries, big endian. They travel between servers and lie
 * in the store without anybody else looking inside; so the format is a contract between versions of
 * this file. Bytes that do not fit it decode to "no ACL".
 */
#include "repl.h"

#include <endian.h>

#define ACL_FORMAT 1

struct wire_ace {
	uint32_t type, perm, flag, iflag, who;
};

struct wire_acl {
	uint32_t format, naces;
	struct wire_ace aces[];
};

#define ACES_MAX ((NFS4R_ACL_MAX - sizeof(struct wire_acl)) / sizeof(struct wire_ace))

struct nfs4r_buf *repl_acl_encode(const fsal_acl_t *acl)
{
	struct nfs4r_buf *buf;
	struct wire_acl *w;
	uint32_t i;

	if (acl == NULL || acl->naces > ACES_MAX)
		return NULL;
	buf = nfs4r_buf_new(sizeof(*w) + acl->naces * sizeof(w->aces[0]));
	if (buf == NULL)
		return NULL;
	w = (struct wire_acl *)buf->data;
	w->format = htobe32(ACL_FORMAT);
	w->naces = htobe32(acl->naces);
	for (i = 0; i < acl->naces; i++) {
		const fsal_ace_t *a = &acl->aces[i];

		w->aces[i] = (struct wire_ace){ .type = htobe32(a->type),
						.perm = htobe32(a->perm),
						.flag = htobe32(a->flag),
						.iflag = htobe32(a->iflag),
						.who = htobe32(GET_FSAL_ACE_WHO(*a)) };
	}
	return buf;
}

static void decode_ace(fsal_ace_t *a, const struct wire_ace *w)
{
	a->type = be32toh(w->type);
	a->perm = be32toh(w->perm);
	a->flag = be32toh(w->flag);
	a->iflag = be32toh(w->iflag);
	if (IS_FSAL_ACE_GROUP_ID(*a))
		a->who.gid = be32toh(w->who);
	else
		a->who.uid = be32toh(w->who);
}

fsal_acl_t *repl_acl_decode(const struct nfs4r_buf *buf)
{
	const struct wire_acl *w;
	fsal_acl_data_t data;
	fsal_acl_status_t st;
	uint32_t i;

	if (buf == NULL || buf->len < sizeof(*w))
		return NULL;
	w = (const struct wire_acl *)buf->data;
	data.naces = be32toh(w->naces);
	if (be32toh(w->format) != ACL_FORMAT || data.naces > ACES_MAX ||
	    buf->len != sizeof(*w) + data.naces * sizeof(w->aces[0]))
		return NULL;
	data.aces = nfs4_ace_alloc(data.naces);
	for (i = 0; i < data.naces; i++)
		decode_ace(&data.aces[i], &w->aces[i]);
	/* Takes the entries, also when it finds an equal ACL already there. */
	return nfs4_acl_new_entry(&data, &st);
}
