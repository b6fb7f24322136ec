/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Deep comparison: what pointers lead to is compared, then the pointers are taken out of copies. */
#include <stdlib.h>
#include <string.h>

#include "unit/proto/vectors.h"
#include "xdr_map.h"

static bool buf_equal(struct nfs4r_buf **a, struct nfs4r_buf **b)
{
	bool eq = *a && *b ? (*a)->len == (*b)->len && !memcmp((*a)->data, (*b)->data, (*a)->len) :
			     *a == *b;

	*a = *b = NULL;
	return eq;
}

static bool text_equal(char **a, char **b)
{
	bool eq = *a && *b ? strcmp(*a, *b) == 0 : *a == *b;

	*a = *b = NULL;
	return eq;
}

static bool names_equal(struct nfs4r_part *a, struct nfs4r_part *b)
{
	bool eq = a->nnames == b->nnames &&
		(a->nnames == 0 || !memcmp(a->names, b->names, a->nnames * sizeof(*a->names)));

	a->names = b->names = NULL;
	return eq;
}

static bool list_equal(const void *a, uint32_t n, const void *b, uint32_t m, size_t size)
{
	return n == m && (n == 0 || memcmp(a, b, n * size) == 0);
}

static bool locks_equal(struct nfs4r_part *a, struct nfs4r_part *b)
{
	bool eq = list_equal(a->locks, a->nlocks, b->locks, b->nlocks, sizeof(*a->locks)) && list_equal(a->client, a->client != NULL, b->client, b->client != NULL, sizeof(*a->client));

	a->locks = b->locks = NULL;
	a->client = b->client = NULL;
	return eq;
}

bool entry_equal(const struct nfs4r_entry *x, const struct nfs4r_entry *y, bool with_handle)
{
	struct nfs4r_entry *a = malloc(sizeof(*a)), *b = malloc(sizeof(*b));
	bool eq = true;

	memcpy(a, x, sizeof(*a));
	memcpy(b, y, sizeof(*b));
	for (uint32_t i = 0; i < NFS4R_PARTS_MAX; i++) {
		struct nfs4r_part *p = &a->parts[i], *q = &b->parts[i];

		eq = names_equal(p, q) && locks_equal(p, q) && text_equal(&p->linktext, &q->linktext) &&
			text_equal(&p->xname, &q->xname) && buf_equal(&p->attrs.acl, &q->attrs.acl) &&
			eq;
	}
	eq = buf_equal(&a->payload, &b->payload) && eq;
	if (!with_handle) {
		a->handle_len = b->handle_len = 0;
		memset(a->handle, 0, sizeof(a->handle));
		memset(b->handle, 0, sizeof(b->handle));
	}
	a->refs = b->refs;
	eq = eq && memcmp(a, b, sizeof(*a)) == 0;
	free(a);
	free(b);
	return eq;
}

static bool op_equal(const struct nfs4r_op *x, const struct nfs4r_op *y)
{
	struct nfs4r_op a, b;

	memcpy(&a, x, sizeof(a));
	memcpy(&b, y, sizeof(b));
	return buf_equal(&a.data, &b.data) && text_equal(&a.text, &b.text) &&
		buf_equal(&a.cred.groups, &b.cred.groups) && buf_equal(&a.attrs.acl, &b.attrs.acl) && buf_equal(&a.post.acl, &b.post.acl) &&
		memcmp(&a, &b, sizeof(a)) == 0;
}

static bool read_equal(const struct nfs4r_read *x, const struct nfs4r_read *y)
{
	struct nfs4r_read a, b;

	memcpy(&a, x, sizeof(a));
	memcpy(&b, y, sizeof(b));
	if (a.ndirents != b.ndirents ||
	    (a.ndirents && memcmp(a.dirents, b.dirents, a.ndirents * sizeof(*a.dirents))))
		return false;
	a.dirents = b.dirents = NULL;
	if (!list_equal(a.locks, a.nlocks, b.locks, b.nlocks, sizeof(*a.locks)) || !list_equal(a.clients, a.nclients, b.clients, b.nclients, sizeof(*a.clients)))
		return false;
	a.locks = b.locks = NULL;
	a.clients = b.clients = NULL;
	return buf_equal(&a.data, &b.data) && buf_equal(&a.attrs.acl, &b.attrs.acl) &&
		memcmp(&a, &b, sizeof(a)) == 0;
}

static bool joinrows_equal(const struct nfs4r_msg *x, const struct nfs4r_msg *y)
{
	struct nfs4r_msg a, b;

	memcpy(&a, x, sizeof(a));
	memcpy(&b, y, sizeof(b));
	if (a.joinrows.n != b.joinrows.n ||
	    (a.joinrows.n &&
	     memcmp(a.joinrows.rows, b.joinrows.rows, a.joinrows.n * sizeof(*a.joinrows.rows))))
		return false;
	a.joinrows.rows = b.joinrows.rows = NULL;
	return memcmp(&a, &b, sizeof(a)) == 0;
}

static bool locks_list_equal(struct nfs4r_msg a, struct nfs4r_msg b)
{
	if (!list_equal(a.locks_list.rows, a.locks_list.n, b.locks_list.rows, b.locks_list.n, sizeof(*a.locks_list.rows)))
		return false;
	a.locks_list.rows = b.locks_list.rows = NULL;
	return memcmp(&a, &b, sizeof(a)) == 0;
}

static bool verify_equal(struct nfs4r_msg a, struct nfs4r_msg b)
{
	return buf_equal(&a.verify.names, &b.verify.names) && memcmp(&a, &b, sizeof(a)) == 0;
}

bool msg_equal(const struct nfs4r_msg *a, const struct nfs4r_msg *b)
{
	if (a->type != b->type)
		return false;
	switch (a->type) {
	case NFS4R_MSG_FORWARD:
	case NFS4R_MSG_FORWARD_ANSWER:
		return op_equal(a->op, b->op);
	case NFS4R_MSG_READ:
	case NFS4R_MSG_READ_ANSWER:
		return read_equal(a->read, b->read);
	case NFS4R_MSG_ENTRIES:
		if (a->entries.log != b->entries.log || a->entries.end != b->entries.end ||
		    a->entries.n != b->entries.n)
			return false;
		for (uint32_t i = 0; i < a->entries.n; i++) {
			if (!entry_equal(a->entries.entries[i], b->entries.entries[i], false))
				return false;
		}
		return true;
	case NFS4R_MSG_VERIFY:
	case NFS4R_MSG_VERIFY_ANSWER:
		return verify_equal(*a, *b);
	case NFS4R_MSG_JOINROWS:
		return joinrows_equal(a, b);
	case NFS4R_MSG_LOCKS_LIST:
		return locks_list_equal(*a, *b);
	default:
		return memcmp(a, b, sizeof(*a)) == 0;
	}
}

struct nfs4r_buf *vector_encode(const struct vector *v)
{
	struct nfs4r_msg *m = calloc(1, sizeof(*m));
	struct nfs4r_entry *e = nfs4r_entry_new();
	struct nfs4r_transport_msg_body t = { 0 };
	struct nfs4r_buf *b;

	if (v->kind == VECTOR_MSG) {
		v->make(m);
		b = nfs4r_msg_encode(m, v->protocol);
		nfs4r_msg_fini(m);
	} else if (v->kind == VECTOR_JOURNAL) {
		v->make(e);
		b = nfs4r_entry_encode(e, false);
	} else {
		v->make(&t);
		b = nfs4r_transport_msg_encode(&t);
		nfs4r_transport_msg_fini(&t);
	}
	free(m);
	nfs4r_entry_put(e);
	return b;
}
