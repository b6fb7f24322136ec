/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where sockets and devices are in the local tree. They cannot be opened by handle; FSAL_VFS works on them by directory and name, which it knows only for handles that it
 * looked up. The volume's names tell the place of most (handle.c), but not while the local tree is made to follow them: of what a repair makes in the hidden
 * directory, or found and has not recorded yet, and of what an update is about to move. So the engine's visits that look one up, make, move or link it note the place.
 *
 * A place is a hint: whoever uses it looks whether the object is still there. One that was forgotten for want of room is as one that was never noted.
 */
#include "base/fnv.h"
#include "repl.h"

#define BUCKETS 4096
#define BUCKET_MAX 8 /* places; the one noted first goes */

struct place {
	struct place *next;
	struct nfs4r_lhandle h, dir;
	char *name;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* one daemon has one export (export.c) */
static struct place *buckets[BUCKETS];

static struct place **bucket_of(const struct nfs4r_lhandle *h)
{
	return &buckets[(nfs4r_fnv(NFS4R_FNV_BEGIN, h->b, h->len) >> 32) % BUCKETS];
}

static void free_place(struct place *p)
{
	gsh_free(p->name);
	gsh_free(p);
}

/* With the lock. The place of @h goes, and the last ones of a bucket that has no room. */
static void drop(struct place **at, const struct nfs4r_lhandle *h)
{
	struct place *p;
	int n = 0;

	while ((p = *at) != NULL) {
		if (nfs4r_lhandle_eq(&p->h, h) || ++n >= BUCKET_MAX) {
			*at = p->next;
			free_place(p);
		} else {
			at = &p->next;
		}
	}
}

bool repl_needs_place(object_file_type_t type)
{
	return type == SOCKET_FILE || type == CHARACTER_FILE || type == BLOCK_FILE;
}

void repl_place_note(const struct nfs4r_lhandle *h, const struct nfs4r_lhandle *dir, const char *name)
{
	struct place *p = gsh_calloc(1, sizeof(*p)), **at = bucket_of(h);

	p->h = *h;
	p->dir = *dir;
	p->name = gsh_strdup(name);
	PTHREAD_MUTEX_lock(&lock);
	drop(at, h);
	p->next = *at;
	*at = p;
	PTHREAD_MUTEX_unlock(&lock);
}

bool repl_place_find(const struct nfs4r_lhandle *h, struct nfs4r_lhandle *dir, char name[NFS4R_NAME_MAX + 1])
{
	struct place *p;

	PTHREAD_MUTEX_lock(&lock);
	for (p = *bucket_of(h); p != NULL && !nfs4r_lhandle_eq(&p->h, h);)
		p = p->next;
	if (p != NULL) {
		*dir = p->dir;
		snprintf(name, NFS4R_NAME_MAX + 1, "%s", p->name);
	}
	PTHREAD_MUTEX_unlock(&lock);
	return p != NULL;
}

void repl_places_flush(void)
{
	PTHREAD_MUTEX_lock(&lock);
	for (size_t i = 0; i < BUCKETS; i++) {
		struct place *p;

		while ((p = buckets[i]) != NULL) {
			buckets[i] = p->next;
			free_place(p);
		}
	}
	PTHREAD_MUTEX_unlock(&lock);
}
