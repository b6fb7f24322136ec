/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Log entries and names: memory only. */
#include "base/entry.h"

#include <assert.h>
#include <stdlib.h>

bool nfs4r_name_set(struct nfs4r_name *n, const char *s, size_t len)
{
	if (len == 0 || len > NFS4R_NAME_MAX || memchr(s, '/', len) || memchr(s, '\0', len))
		return false;
	if (s[0] == '.' && (len == 1 || (len == 2 && s[1] == '.')))
		return false;
	n->len = (uint16_t)len;
	memcpy(n->s, s, len);
	n->s[len] = '\0';
	return true;
}

struct nfs4r_entry *nfs4r_entry_new(void)
{
	struct nfs4r_entry *e = calloc(1, sizeof(*e));

	if (e)
		e->refs = 1;
	return e;
}

struct nfs4r_entry *nfs4r_entry_get(struct nfs4r_entry *e)
{
	if (e) {
		uint32_t before = __atomic_fetch_add(&e->refs, 1, __ATOMIC_RELAXED);

		assert(before > 0);
	}
	return e;
}

void nfs4r_entry_put(struct nfs4r_entry *e)
{
	uint32_t before = e ? __atomic_fetch_sub(&e->refs, 1, __ATOMIC_ACQ_REL) : 0;

	assert(!e || before > 0);
	if (before != 1)
		return;
	for (uint32_t i = 0; i < NFS4R_PARTS_MAX; i++) {
		struct nfs4r_part *p = &e->parts[i];

		free(p->names);
		free(p->linktext);
		free(p->xname);
		free(p->locks);
		free(p->client);
		nfs4r_buf_put(p->attrs.acl);
	}
	nfs4r_buf_put(e->payload);
	free(e);
}

struct nfs4r_part *nfs4r_entry_part(struct nfs4r_entry *e, const struct nfs4r_oid *oid)
{
	for (uint32_t i = 0; i < e->nparts; i++)
		if (nfs4r_oid_eq(&e->parts[i].oid, oid))
			return &e->parts[i];
	return NULL;
}

struct nfs4r_part *nfs4r_entry_part_with(struct nfs4r_entry *e, enum nfs4r_effect effect)
{
	for (uint32_t i = 0; i < e->nparts; i++)
		if (e->parts[i].effect == effect)
			return &e->parts[i];
	return NULL;
}

bool nfs4r_part_names(struct nfs4r_part *p, uint32_t n)
{
	if (n == 0 || n > NFS4R_NAME_CHANGES_MAX)
		return false;
	struct nfs4r_name_change *names = calloc(n, sizeof(*names));
	if (!names)
		return false;
	free(p->names);
	p->names = names;
	p->nnames = n;
	return true;
}

bool nfs4r_part_locks(struct nfs4r_part *p, uint32_t n)
{
	struct nfs4r_file_lock *locks = NULL;

	if (n > NFS4R_LOCKS_LIST_MAX)
		return false;
	if (n) {
		locks = calloc(n, sizeof(*locks));
		if (!locks)
			return false;
	}
	free(p->locks);
	p->locks = locks;
	p->nlocks = n;
	return true;
}

uint64_t nfs4r_entry_bytes(const struct nfs4r_entry *e)
{
	if (!e->has_payload)
		return 0;
	if (e->payload)
		return e->payload->len;
	return e->nparts && e->parts[0].effect == NFS4R_EFF_WRITE ? e->parts[0].len : 0;
}
