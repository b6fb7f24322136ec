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

bool repl_acl_fits(const fsal_acl_t *acl)
{
	return acl->naces <= ACES_MAX;
}

struct nfs4r_buf *repl_acl_encode(const fsal_acl_t *acl)
{
	struct nfs4r_buf *buf;
	struct wire_acl *w;
	uint32_t i;

	if (acl == NULL || !repl_acl_fits(acl))
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

/* ---- what it takes on a disk ---- */

#define POSIX_HEAD 4
#define POSIX_ENTRY 8
#define POSIX_ALWAYS 4 /* entries: owner, group, others, mask */

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* An entry for each user and each group, however many of this ACL's speak of one. */
static uint32_t posix_bytes(uint64_t *who, uint32_t n)
{
	uint32_t entries = POSIX_ALWAYS;

	qsort(who, n, sizeof(*who), compare);
	for (uint32_t i = 0; i < n; i++)
		entries += i == 0 || who[i] != who[i - 1];
	return POSIX_HEAD + entries * POSIX_ENTRY;
}

bool repl_acl_bytes(const struct nfs4r_buf *buf, uint32_t *own, uint32_t *inherited)
{
	const struct wire_acl *w = (const struct wire_acl *)buf->data;
	uint32_t naces = buf->len < sizeof(*w) ? 0 : (buf->len - sizeof(*w)) / sizeof(w->aces[0]), nown = 0, ninherited = 0;
	uint64_t *who = calloc(2 * (naces + 1), sizeof(*who)), *inherits = who + naces + 1;
	bool inherits_any = false;

	if (who == NULL)
		return false;
	for (uint32_t i = 0; i < naces; i++) {
		uint32_t flag = be32toh(w->aces[i].flag);
		uint64_t is = (uint64_t)(flag & FSAL_ACE_FLAG_GROUP_ID) << 32 | be32toh(w->aces[i].who);
		bool special = (be32toh(w->aces[i].iflag) & FSAL_ACE_IFLAG_SPECIAL_ID) != 0;

		inherits_any |= (flag & FSAL_ACE_FLAG_INHERIT) != 0;
		if (!special && (flag & FSAL_ACE_FLAG_INHERIT_ONLY) == 0)
			who[nown++] = is;
		if (!special && (flag & FSAL_ACE_FLAG_INHERIT) != 0)
			inherits[ninherited++] = is;
	}
	*own = posix_bytes(who, nown);
	*inherited = inherits_any ? posix_bytes(inherits, ninherited) : 0;
	free(who);
	return true;
}
