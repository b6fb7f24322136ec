/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Operations, reads and messages: names and ownership. */
#include "base/msg.h"

#include <stdlib.h>

static const char *const op_names[] = {
	[NFS4R_OP_CREATE] = "create",
	[NFS4R_OP_MKDIR] = "mkdir",
	[NFS4R_OP_SYMLINK] = "symlink",
	[NFS4R_OP_MKNOD] = "mknod",
	[NFS4R_OP_LINK] = "link",
	[NFS4R_OP_REMOVE] = "remove",
	[NFS4R_OP_RENAME] = "rename",
	[NFS4R_OP_SETATTR] = "setattr",
	[NFS4R_OP_WRITE] = "write",
	[NFS4R_OP_ALLOCATE] = "allocate",
	[NFS4R_OP_DEALLOCATE] = "deallocate",
	[NFS4R_OP_SETXATTR] = "setxattr",
	[NFS4R_OP_REMOVEXATTR] = "removexattr",
	[NFS4R_OP_CLOSE] = "close",
	[NFS4R_OP_ADOPT] = "adopt",
	[NFS4R_OP_CLAIM] = "claim",
	[NFS4R_OP_LOCK] = "lock",
	[NFS4R_OP_LOCK_TEST] = "lock test",
	[NFS4R_OP_UNLOCK] = "unlock",
	[NFS4R_OP_UNWAIT] = "unwait",
	[NFS4R_OP_CLIENT] = "client",
	[NFS4R_OP_SHARE] = "share",
};

static const char *const msg_names[] = {
	[NFS4R_MSG_PROPOSE] = "PROPOSE",
	[NFS4R_MSG_ACK] = "ACK",
	[NFS4R_MSG_NACK] = "NACK",
	[NFS4R_MSG_RELEASE] = "RELEASE",
	[NFS4R_MSG_RELEASED] = "RELEASED",
	[NFS4R_MSG_REVOKE] = "REVOKE",
	[NFS4R_MSG_FORWARD] = "FORWARD",
	[NFS4R_MSG_FORWARD_ANSWER] = "FORWARD_ANSWER",
	[NFS4R_MSG_READ] = "READ",
	[NFS4R_MSG_READ_ANSWER] = "READ_ANSWER",
	[NFS4R_MSG_POSITIONS] = "POSITIONS",
	[NFS4R_MSG_ENTRIES] = "ENTRIES",
	[NFS4R_MSG_PULL] = "PULL",
	[NFS4R_MSG_VERIFY] = "VERIFY",
	[NFS4R_MSG_VERIFY_ANSWER] = "VERIFY_ANSWER",
	[NFS4R_MSG_HEARTBEAT] = "HEARTBEAT",
	[NFS4R_MSG_GRANT] = "GRANT",
	[NFS4R_MSG_PREPARE] = "PREPARE",
	[NFS4R_MSG_PROMISE] = "PROMISE",
	[NFS4R_MSG_ACCEPT] = "ACCEPT",
	[NFS4R_MSG_ACCEPTED] = "ACCEPTED",
	[NFS4R_MSG_VIEW] = "VIEW",
	[NFS4R_MSG_JOIN] = "JOIN",
	[NFS4R_MSG_JOINROWS] = "JOINROWS",
	[NFS4R_MSG_JOINED] = "JOINED",
	[NFS4R_MSG_CLOSING] = "CLOSING",
	[NFS4R_MSG_SPACE] = "SPACE",
	[NFS4R_MSG_HALTED] = "HALTED",
	[NFS4R_MSG_IDENTITIES] = "IDENTITIES",
	[NFS4R_MSG_LOCK_READY] = "LOCK_READY",
	[NFS4R_MSG_REQUEUE] = "REQUEUE",
	[NFS4R_MSG_LOCKS_OF] = "LOCKS_OF",
	[NFS4R_MSG_LOCKS_LIST] = "LOCKS_LIST",
	[NFS4R_MSG_GAP_OVER] = "GAP_OVER",
	[NFS4R_MSG_GUARD] = "GUARD",
	[NFS4R_MSG_UNGUARD] = "UNGUARD",
};

static const char *name_of(const char *const *names, size_t n, uint32_t i)
{
	return i < n && names[i] ? names[i] : "?";
}

const char *nfs4r_op_name(uint32_t type)
{
	return name_of(op_names, sizeof(op_names) / sizeof(op_names[0]), type);
}

static uint64_t mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15ULL;
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93ULL;
	return h ^ h >> 29;
}

static uint64_t mix_key(uint64_t h, const struct nfs4r_key_fingerprint *f)
{
	for (size_t i = 0; i < sizeof(f->sha256); i++)
		h = mix(h, f->sha256[i]);
	return h;
}

uint64_t nfs4r_view_digest(const struct nfs4r_view *v)
{
	uint64_t h = mix(mix(mix(mix(0, v->num), v->base), v->members), v->open);
	const struct nfs4r_volume_keys *k = &v->settings.keys;

	h = mix(mix(mix(mix(h, v->epoch), v->servers), v->voters), v->nseals);
	for (uint32_t i = 0; i < v->nseals; i++)
		h = mix(mix(h, v->seals[i].log), v->seals[i].lsn);
	h = mix(h, v->nbook);
	for (uint32_t i = 0; i < v->nbook; i++) {
		h = mix(mix(h, v->addresses[i].id), v->addresses[i].port);
		for (const char *a = v->addresses[i].address; *a; a++)
			h = mix(h, (unsigned char)*a);
		h = mix(h, 0);
		for (uint32_t n = 0; n < v->addresses[i].nkeys; n++)
			h = mix_key(h, &v->addresses[i].keys[n]);
	}
	for (uint32_t i = 0; i < sizeof(v->secret); i++)
		h = mix(h, v->secret[i]);
	h = mix(mix(h, v->settings.protocol), v->settings.disk_format);
	h = mix(mix(mix(h, k->durability), k->directory_reads), k->round_trip_ms);
	h = mix(mix(mix(mix(h, k->lease_ms), k->silence_ms), k->drift_permille), k->ends);
	return h;
}

const char *nfs4r_msg_name(uint32_t type)
{
	return name_of(msg_names, sizeof(msg_names) / sizeof(msg_names[0]), type);
}

void nfs4r_op_fini(struct nfs4r_op *op)
{
	nfs4r_buf_put(op->data);
	op->data = NULL;
	free(op->text);
	op->text = NULL;
	nfs4r_buf_put(op->cred.groups);
	op->cred.groups = NULL;
	nfs4r_buf_put(op->attrs.acl);
	op->attrs.acl = NULL;
	nfs4r_buf_put(op->post.acl);
	op->post.acl = NULL;
}

void nfs4r_read_fini(struct nfs4r_read *r)
{
	nfs4r_buf_put(r->data);
	r->data = NULL;
	nfs4r_buf_put(r->attrs.acl);
	r->attrs.acl = NULL;
	free(r->dirents);
	r->dirents = NULL;
	r->ndirents = 0;
	free(r->locks);
	r->locks = NULL;
	r->nlocks = 0;
	free(r->clients);
	r->clients = NULL;
	r->nclients = 0;
}

static void entries_fini(struct nfs4r_msg *m)
{
	for (uint32_t i = 0; i < m->entries.n; i++)
		nfs4r_entry_put(m->entries.entries[i]);
	free(m->entries.entries);
	m->entries.entries = NULL;
	m->entries.n = 0;
}

void nfs4r_msg_fini(struct nfs4r_msg *m)
{
	switch (m->type) {
	case NFS4R_MSG_FORWARD:
	case NFS4R_MSG_FORWARD_ANSWER:
		if (m->op) {
			nfs4r_op_fini(m->op);
			free(m->op);
			m->op = NULL;
		}
		break;
	case NFS4R_MSG_READ:
	case NFS4R_MSG_READ_ANSWER:
		if (m->read) {
			nfs4r_read_fini(m->read);
			free(m->read);
			m->read = NULL;
		}
		break;
	case NFS4R_MSG_ENTRIES:
		entries_fini(m);
		break;
	case NFS4R_MSG_VERIFY:
	case NFS4R_MSG_VERIFY_ANSWER:
		nfs4r_buf_put(m->verify.names);
		m->verify.names = NULL;
		break;
	case NFS4R_MSG_JOINROWS:
		free(m->joinrows.rows);
		m->joinrows.rows = NULL;
		m->joinrows.n = 0;
		break;
	case NFS4R_MSG_LOCKS_LIST:
		free(m->locks_list.rows);
		m->locks_list.rows = NULL;
		m->locks_list.n = 0;
		break;
	default:
		break;
	}
}

_Static_assert(sizeof(((struct nfs4r_msg *)0)->entries) <= sizeof(((struct nfs4r_msg *)0)->verify), "the longest of those below");

size_t nfs4r_msg_bytes(uint32_t type)
{
	switch (type) {
	case NFS4R_MSG_FORWARD:
	case NFS4R_MSG_FORWARD_ANSWER:
	case NFS4R_MSG_READ:
	case NFS4R_MSG_READ_ANSWER:
	case NFS4R_MSG_ENTRIES:
	case NFS4R_MSG_VERIFY:
	case NFS4R_MSG_VERIFY_ANSWER:
		return offsetof(struct nfs4r_msg, verify) + sizeof(((struct nfs4r_msg *)0)->verify);
	default:
		return sizeof(struct nfs4r_msg);
	}
}

static uint64_t buf_memory(const struct nfs4r_buf *b)
{
	return b ? sizeof(*b) + b->len : 0;
}

static uint64_t entry_memory(const struct nfs4r_entry *e)
{
	uint64_t bytes = sizeof(*e) + buf_memory(e->payload);

	for (uint32_t i = 0; i < e->nparts; i++) {
		const struct nfs4r_part *p = &e->parts[i];

		bytes += p->nlocks * sizeof(*p->locks) + (p->client ? sizeof(*p->client) : 0);
		bytes += p->nnames * sizeof(*p->names) + buf_memory(p->attrs.acl);
		bytes += p->linktext ? strlen(p->linktext) + 1 : 0;
		bytes += p->xname ? strlen(p->xname) + 1 : 0;
	}
	return bytes;
}

uint64_t nfs4r_msg_memory(const struct nfs4r_msg *m)
{
	uint64_t bytes = nfs4r_msg_bytes(m->type);

	switch (m->type) {
	case NFS4R_MSG_FORWARD:
	case NFS4R_MSG_FORWARD_ANSWER:
		return bytes + (m->op ? sizeof(*m->op) + buf_memory(m->op->data) + buf_memory(m->op->attrs.acl) + buf_memory(m->op->cred.groups) + (m->op->text ? strlen(m->op->text) + 1 : 0) : 0);
	case NFS4R_MSG_READ:
	case NFS4R_MSG_READ_ANSWER:
		return bytes + (m->read ? sizeof(*m->read) + buf_memory(m->read->data) + m->read->ndirents * sizeof(*m->read->dirents) + m->read->nlocks * sizeof(*m->read->locks) + m->read->nclients * sizeof(*m->read->clients) : 0);
	case NFS4R_MSG_ENTRIES:
		for (uint32_t i = 0; i < m->entries.n; i++)
			bytes += sizeof(m->entries.entries[i]) + entry_memory(m->entries.entries[i]);
		return bytes;
	case NFS4R_MSG_VERIFY:
	case NFS4R_MSG_VERIFY_ANSWER:
		return bytes + buf_memory(m->verify.names);
	case NFS4R_MSG_JOINROWS:
		return bytes + m->joinrows.n * sizeof(*m->joinrows.rows);
	case NFS4R_MSG_LOCKS_LIST:
		return bytes + m->locks_list.n * sizeof(*m->locks_list.rows);
	default:
		return bytes;
	}
}
