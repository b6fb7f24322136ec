/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the sub-FSAL said lately about objects. MDCACHE above us keeps nothing, because attributes may
 * change at another server at any time, and so it asks for them several times in each compound. The sub-FSAL
 * opens the object by handle for every answer. The row, which is in memory, knows better than a clock whether
 * the answer is still good: every update of an object gives it a new version.
 *
 * So: an answer is kept with the version that the row had before the question. Whatever was executed
 * under that version or before is in it. An update under way may be in it or not, as without a cache,
 * and will bring another version when it is done. What changes without an update (access times, space
 * that is used) is dropped by whoever reads, or grows old here, at most CACHE_S, as it does in MDCACHE above a plain FSAL.
 * Objects without a row that counts (orphans) are never kept.
 *
 * One slot for each hash: a newcomer takes the place. The slots' locks are held for a copy only.
 */
#include "repl.h"

#define SLOTS 16384
#define LOCKS 64
#define CACHE_S 60

struct slot {
	struct nfs4r_oid oid;
	nfs4r_version version;
	time_t until_s; /* monotonic; 0: empty */
	struct fsal_attrlist attrs; /* holds a reference on its ACL */
};

struct repl_attr_cache {
	pthread_mutex_t locks[LOCKS];
	struct slot slots[SLOTS];
};

struct repl_attr_cache *repl_attr_cache_new(void)
{
	struct repl_attr_cache *c = gsh_calloc(1, sizeof(*c));

	for (size_t i = 0; i < LOCKS; i++)
		PTHREAD_MUTEX_init(&c->locks[i], NULL);
	return c;
}

static void empty(struct slot *s)
{
	if (s->until_s != 0)
		fsal_release_attrs(&s->attrs);
	s->until_s = 0;
}

void repl_attr_cache_free(struct repl_attr_cache *c)
{
	for (size_t i = 0; i < SLOTS; i++)
		empty(&c->slots[i]);
	for (size_t i = 0; i < LOCKS; i++)
		PTHREAD_MUTEX_destroy(&c->locks[i]);
	gsh_free(c);
}

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec + 1;
}

/* The slot of @oid, its lock held. */
static struct slot *slot_lock(struct repl_attr_cache *c, const struct nfs4r_oid *oid, pthread_mutex_t **lock)
{
	size_t i = nfs4r_oid_hash(oid) % SLOTS;

	*lock = &c->locks[i % LOCKS];
	PTHREAD_MUTEX_lock(*lock);
	return &c->slots[i];
}

bool repl_attr_cache_get(struct repl_attr_cache *c, const struct nfs4r_oid *oid, nfs4r_version version,
			 struct fsal_attrlist *out)
{
	pthread_mutex_t *lock;
	struct slot *s = slot_lock(c, oid, &lock);
	bool good = s->until_s > now_s() && s->version == version && nfs4r_oid_eq(&s->oid, oid) &&
		(out->request_mask & ~s->attrs.request_mask & ~ATTR_RDATTR_ERR) == 0;

	if (good)
		fsal_copy_attrs(out, &s->attrs, false);
	PTHREAD_MUTEX_unlock(lock);
	return good;
}

void repl_attr_cache_put(struct repl_attr_cache *c, const struct nfs4r_oid *oid, nfs4r_version version,
			 struct fsal_attrlist *attrs)
{
	pthread_mutex_t *lock;
	struct slot *s = slot_lock(c, oid, &lock);

	empty(s);
	s->oid = *oid;
	s->version = version;
	s->until_s = now_s() + CACHE_S;
	fsal_prepare_attrs(&s->attrs, attrs->request_mask);
	fsal_copy_attrs(&s->attrs, attrs, false);
	PTHREAD_MUTEX_unlock(lock);
}

void repl_attr_cache_drop(struct repl_attr_cache *c, const struct nfs4r_oid *oid)
{
	pthread_mutex_t *lock;
	struct slot *s = slot_lock(c, oid, &lock);

	if (nfs4r_oid_eq(&s->oid, oid))
		empty(s);
	PTHREAD_MUTEX_unlock(lock);
}
