/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which objects are in doubt since a crash (log 4.6): nothing of them is applied, served or given to anybody. resync/crash_check.c finds out, settles it, and says so here.
 */
#include <stdlib.h>

#include "engine/runtime/runtime.h"

bool engine_doubt_begin(struct nfs4r_engine *eng)
{
	struct in_doubt *d = calloc(1, sizeof(*d));

	if (!d)
		return false;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->cond, NULL);
	d->open = d->unknown = true;
	eng->runtime.in_doubt = d;
	return true;
}

void engine_doubt_free(struct nfs4r_engine *eng)
{
	struct in_doubt *d = eng->runtime.in_doubt;

	if (!d)
		return;
	pthread_cond_destroy(&d->cond);
	pthread_mutex_destroy(&d->lock);
	free(d->list);
	free(d->cleared);
	free(d);
	eng->runtime.in_doubt = NULL;
}

bool engine_doubt_list(struct nfs4r_engine *eng, struct nfs4r_oid *list, size_t n)
{
	struct in_doubt *d = eng->runtime.in_doubt;
	bool *cleared = calloc(n + 1, sizeof(*cleared));

	if (!cleared) {
		free(list);
		return false;
	}
	pthread_mutex_lock(&d->lock);
	d->list = list;
	d->n = n;
	d->cleared = cleared;
	pthread_mutex_unlock(&d->lock);
	return true;
}

void engine_doubt_known(struct nfs4r_engine *eng)
{
	pthread_mutex_lock(&eng->runtime.in_doubt->lock);
	eng->runtime.in_doubt->unknown = false;
	pthread_mutex_unlock(&eng->runtime.in_doubt->lock);
}

static int cmp_oid(const void *a, const void *b)
{
	return nfs4r_oid_cmp(a, b);
}

/* NULL: it never was. @d->lock held. */
static bool *cleared_of(struct in_doubt *d, const struct nfs4r_oid *oid)
{
	const struct nfs4r_oid *at = d->n ? bsearch(oid, d->list, d->n, sizeof(*d->list), cmp_oid) : NULL;

	return at ? &d->cleared[at - d->list] : NULL;
}

void engine_doubt_cleared(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct in_doubt *d = eng->runtime.in_doubt;
	bool *cleared;

	pthread_mutex_lock(&d->lock);
	cleared = cleared_of(d, oid);
	if (cleared)
		*cleared = true;
	pthread_mutex_unlock(&d->lock);
}

void engine_doubt_over(struct nfs4r_engine *eng)
{
	struct in_doubt *d = eng->runtime.in_doubt;

	pthread_mutex_lock(&d->lock);
	d->open = false;
	pthread_cond_broadcast(&d->cond);
	pthread_mutex_unlock(&d->lock);
}

/* ---- for others ---- */

bool engine_doubt_is_open(struct nfs4r_engine *eng)
{
	struct in_doubt *d = eng->runtime.in_doubt;
	bool open = false;

	if (d) {
		pthread_mutex_lock(&d->lock);
		open = d->open;
		pthread_mutex_unlock(&d->lock);
	}
	return open;
}

void engine_doubt_wait(struct nfs4r_engine *eng)
{
	struct in_doubt *d = eng->runtime.in_doubt;

	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	while (d->open && !eng->door.stopping)
		pthread_cond_wait(&d->cond, &d->lock);
	pthread_mutex_unlock(&d->lock);
}

void engine_doubt_wake(struct nfs4r_engine *eng)
{
	struct in_doubt *d = eng->runtime.in_doubt;

	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	pthread_cond_broadcast(&d->cond);
	pthread_mutex_unlock(&d->lock);
}

enum doubt_about engine_doubt_about(struct nfs4r_engine *eng, const struct nfs4r_oid *oid)
{
	struct in_doubt *d = eng->runtime.in_doubt;
	enum doubt_about about = DOUBT_NONE;
	const bool *cleared;

	if (!d)
		return DOUBT_NONE;
	pthread_mutex_lock(&d->lock);
	cleared = cleared_of(d, oid);
	if (d->unknown)
		about = DOUBT_UNKNOWN;
	else if (d->open && cleared && !*cleared)
		about = DOUBT_OPEN;
	pthread_mutex_unlock(&d->lock);
	return about;
}
