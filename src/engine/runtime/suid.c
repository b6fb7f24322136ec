/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Set-id bits of files that others than root write (log 3.13). The local file system takes them away in such a write, which only happens where the
 * write is executed, and its entry has no word for it; as root, elsewhere, nothing would be taken. So an update of its own does, and comes first.
 *
 * Happy path: a file that was seen without set-id bits is remembered until its mode may have changed, so of many writes only the first one looks.
 *
 * There are bits: the write is void, its client hears DELAY and comes again. Meanwhile a SETATTR takes the bits away, if the mode is still the one that was seen. If that fails,
 * too, the client's next attempt begins another one.
 *
 * Invariant: what is remembered has no bits. Updates of a mode and the look of a write exclude each other: own ones by update locks, others' because this server controls
 * the file while it looks. A repair forgets all.
 */
#include <stdlib.h>

#include "engine/runtime/runtime.h"

#define SET_IDS 06000u
#define PLAIN_MAX 256

struct set_ids {
	pthread_mutex_t lock;
	struct {
		struct nfs4r_oid oid;
		uint32_t owner;
	} plain[PLAIN_MAX]; /* files without such bits; each has one place */
};

struct set_ids *engine_suid_create(void)
{
	struct set_ids *s = calloc(1, sizeof(*s));

	if (s)
		pthread_mutex_init(&s->lock, NULL);
	return s;
}

void engine_suid_destroy(struct set_ids *s)
{
	if (!s)
		return;
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static uint32_t place(const struct nfs4r_oid *oid)
{
	return (uint32_t)(nfs4r_oid_hash(oid) % PLAIN_MAX);
}

static bool is_plain(struct set_ids *s, const struct nfs4r_oid *oid)
{
	pthread_mutex_lock(&s->lock);
	bool plain = nfs4r_oid_eq(&s->plain[place(oid)].oid, oid);
	pthread_mutex_unlock(&s->lock);
	return plain;
}

bool engine_suid_is_owner(struct set_ids *s, const struct nfs4r_oid *oid, uint32_t uid)
{
	pthread_mutex_lock(&s->lock);
	bool yes = nfs4r_oid_eq(&s->plain[place(oid)].oid, oid) && s->plain[place(oid)].owner == uid;
	pthread_mutex_unlock(&s->lock);
	return yes;
}

static void remember(struct set_ids *s, const struct nfs4r_oid *oid, uint32_t owner)
{
	pthread_mutex_lock(&s->lock);
	s->plain[place(oid)].oid = *oid;
	s->plain[place(oid)].owner = owner;
	pthread_mutex_unlock(&s->lock);
}

void engine_suid_forget(struct set_ids *s, const struct nfs4r_entry *e)
{
	static const struct nfs4r_oid none;

	for (uint32_t i = 0; i < e->nparts; i++) {
		if (e->parts[i].effect != NFS4R_EFF_ATTRS)
			continue;
		pthread_mutex_lock(&s->lock);
		if (nfs4r_oid_eq(&s->plain[place(&e->parts[i].oid)].oid, &e->parts[i].oid))
			s->plain[place(&e->parts[i].oid)].oid = none;
		pthread_mutex_unlock(&s->lock);
	}
}

void engine_suid_forget_all(struct set_ids *s)
{
	pthread_mutex_lock(&s->lock);
	memset(s->plain, 0, sizeof(s->plain));
	pthread_mutex_unlock(&s->lock);
}

/* What file systems do, in all versions of the kernel. */
static uint32_t mode_without_suid(uint32_t mode, uint32_t gid, const struct nfs4r_cred *cred)
{
	bool keeps_group = !(mode & 0010) && nfs4r_cred_has_group(cred, gid);

	return mode & ~(uint32_t)(keeps_group ? 04000 : SET_IDS);
}

bool engine_suid_go(struct nfs4r_engine *eng, const struct nfs4r_op *op, const struct nfs4r_lhandle *h, uint32_t *left)
{
	struct nfs4r_attrs now = { 0 };

	if (op->type != NFS4R_OP_WRITE && op->type != NFS4R_OP_ALLOCATE && op->type != NFS4R_OP_DEALLOCATE)
		return false;
	if (!op->cred.uid || is_plain(eng->runtime.set_ids, &op->obj) || eng->ops->getattr(eng->ctx, h, &now) != NFS4R_OK)
		return false;
	nfs4r_buf_put(now.acl);
	if (now.type != NFS4R_TYPE_FILE)
		return false;
	if (!(now.mode & SET_IDS))
		remember(eng->runtime.set_ids, &op->obj, now.uid);
	*left = mode_without_suid(now.mode, now.gid, &op->cred);
	return *left != now.mode;
}

enum nfs4r_status engine_suid_alone(struct nfs4r_engine *eng, const struct nfs4r_op *op, const struct nfs4r_lhandle *h)
{
	struct nfs4r_attrs now = { 0 };

	if (!(op->attrs.mask & NFS4R_ATTR_SET_IDS_GO))
		return NFS4R_OK;
	enum nfs4r_status st = eng->ops->getattr(eng->ctx, h, &now);
	nfs4r_buf_put(now.acl);
	if (st == NFS4R_OK && ((now.mode ^ op->attrs.mode) & ~SET_IDS || !(now.mode & ~op->attrs.mode)))
		return NFS4R_MISMATCH;
	return st;
}
