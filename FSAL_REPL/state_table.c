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

static struct bucket *bucket_of(const struct state_t *state)
{
	return &table[((uintptr_t)state * UINT64_C(0x9e3779b97f4a7c15)) >> 54];
}

static struct entry **find(struct bucket *b, const struct state_t *state)
{
	struct entry **e = &b->first;

	while (*e != NULL && (*e)->state != state)
		e = &(*e)->next;
	return e;
}

bool repl_state_set(const struct state_t *state, const struct repl_open_state *now, struct repl_open_state *old)
{
	struct bucket *b = bucket_of(state);
	struct entry **e;
	bool known;

	pthread_mutex_lock(&b->lock);
	e = find(b, state);
	known = *e != NULL;
	if (!known) {
		*e = gsh_calloc(1, sizeof(**e));
		(*e)->state = state;
	} else if (old != NULL) {
		*old = (*e)->open;
	}
	(*e)->open = *now;
	pthread_mutex_unlock(&b->lock);
	return known;
}

bool repl_state_get(const struct state_t *state, struct repl_open_state *out)
{
	struct bucket *b = bucket_of(state);
	struct entry **e;
	bool known;

	pthread_mutex_lock(&b->lock);
	e = find(b, state);
	known = *e != NULL;
	if (known)
		*out = (*e)->open;
	pthread_mutex_unlock(&b->lock);
	return known;
}

bool repl_state_forget(const struct state_t *state, struct repl_open_state *old)
{
	struct bucket *b = bucket_of(state);
	struct entry **e, *gone;

	pthread_mutex_lock(&b->lock);
	e = find(b, state);
	gone = *e;
	if (gone != NULL)
		*e = gone->next;
	pthread_mutex_unlock(&b->lock);
	if (gone == NULL)
		return false;
	*old = gone->open;
	gsh_free(gone);
	return true;
}
