/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What we remember of an open state. Ganesha's states belong to the sub-FSAL (its file descriptor lies
 * right behind state_t, so nothing of ours can), hence a table beside them, by address. An entry
 * lives from open2 to close2, both of which Ganesha calls for every share state.
 */
#include "repl.h"

#define BUCKETS 1024

struct entry {
	struct entry *next;
	const struct state_t *state;
	struct repl_open_state open;
};

static struct bucket {
	pthread_mutex_t lock;
	struct entry *first;
} table[BUCKETS] = { [0 ... BUCKETS - 1] = { .lock = PTHREAD_MUTEX_INITIALIZER } };

/* Where the entry of @state is, or where it would be: then NULL is there. Locks its bucket until unlock(). */
static struct entry **find(const struct state_t *state, struct bucket **bucket)
{
	struct bucket *b = &table[((uintptr_t)state * UINT64_C(0x9e3779b97f4a7c15)) >> 54];
	struct entry **e = &b->first;

	*bucket = b;
	pthread_mutex_lock(&b->lock);
	while (*e != NULL && (*e)->state != state)
		e = &(*e)->next;
	return e;
}

static void unlock(struct bucket *b)
{
	pthread_mutex_unlock(&b->lock);
}

bool repl_state_set(const struct state_t *state, const struct repl_open_state *now, struct repl_open_state *old)
{
	struct bucket *b;
	struct entry **e = find(state, &b);
	bool known = *e != NULL;

	if (!known) {
		*e = gsh_calloc(1, sizeof(**e));
		(*e)->state = state;
	} else if (old != NULL) {
		*old = (*e)->open;
	}
	(*e)->open = *now;
	unlock(b);
	return known;
}

bool repl_state_get(const struct state_t *state, struct repl_open_state *out)
{
	struct bucket *b;
	struct entry **e = find(state, &b);
	bool known = *e != NULL;

	if (known)
		*out = (*e)->open;
	unlock(b);
	return known;
}

bool repl_state_forget(const struct state_t *state, struct repl_open_state *old)
{
	struct bucket *b;
	struct entry **e = find(state, &b), *gone = *e;

	if (gone != NULL)
		*e = gone->next;
	unlock(b);
	if (gone == NULL)
		return false;
	*old = gone->open;
	gsh_free(gone);
	return true;
}

static bool is_same(const struct repl_open_state *a, const struct repl_open_state *b)
{
	return a->flags == b->flags && nfs4r_oid_eq(&a->oid, &b->oid) && a->share.access == b->share.access && a->share.deny == b->share.deny && a->share.engine == b->share.engine;
}

bool repl_state_set_share(const struct state_t *state, const struct repl_open_state *was, const struct repl_share *share)
{
	struct bucket *b;
	struct entry *e = *find(state, &b);
	bool same = e != NULL && is_same(&e->open, was);

	if (same)
		e->open.share = *share;
	unlock(b);
	return same;
}

void repl_states_walk(void (*fn)(void *arg, const struct state_t *state, const struct repl_open_state *open), void *arg)
{
	for (struct bucket *b = table; b < table + BUCKETS; b++) {
		pthread_mutex_lock(&b->lock);
		for (const struct entry *e = b->first; e != NULL; e = e->next)
			fn(arg, e->state, &e->open);
		unlock(b);
	}
}
