/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Objects that have another local file since what they had was removed in the exported directory itself (src/engine/resync/self_heal.c).
 *
 * The engine says so (repl_lops_moved), and a counter goes up. A handle of ours looks at its sub-FSAL's handle when the counter has moved: if the store knows another one, that takes its
 * place, and the old one is kept until the object is released, since other threads may be inside it. A client's open state still has its descriptor open on the old
 * file, where nobody would ever see what it writes. So it is closed there before its next use, and is from then on a state that the sub-FSAL has not seen: the
 * sub-FSAL uses a descriptor of the object's own for it.
 */
#include "repl.h"

struct repl_old_sub {
	struct repl_old_sub *next;
	struct fsal_obj_handle *sub;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* it is rare */

void repl_lops_moved(void *ctx, const struct nfs4r_oid *oid)
{
	struct repl_export *exp = ctx;

	__atomic_add_fetch(&exp->moved, 1, __ATOMIC_RELEASE);
	repl_attr_cache_drop(exp->attr_cache, oid);
}

static bool is_of(struct fsal_obj_handle *sub, const struct nfs4r_lhandle *h)
{
	struct nfs4r_lhandle have;

	return repl_sub_handle_bytes(sub, &have) && have.len == h->len && memcmp(have.b, h->b, h->len) == 0;
}

static struct fsal_obj_handle *replace(struct repl_export *exp, struct repl_obj *obj, const struct nfs4r_lhandle *h, fsal_status_t *st)
{
	struct fsal_obj_handle *sub = __atomic_load_n(&obj->sub, __ATOMIC_ACQUIRE), *mine = NULL;
	struct repl_old_sub *old;

	if (sub != NULL && is_of(sub, h)) /* another thread was quicker */
		return sub;
	REPL_SUBCALL(exp, *st = repl_sub_open(exp, h, &mine));
	if (FSAL_IS_ERROR(*st))
		return NULL;
	old = gsh_calloc(1, sizeof(*old));
	old->sub = sub;
	old->next = obj->old;
	__atomic_store_n(&obj->old, old, __ATOMIC_RELEASE);
	__atomic_store_n(&obj->sub, mine, __ATOMIC_RELEASE);
	return mine;
}

struct fsal_obj_handle *repl_obj_moved(struct repl_export *exp, struct repl_obj *obj, struct fsal_obj_handle *sub, fsal_status_t *st)
{
	uint32_t moved = __atomic_load_n(&exp->moved, __ATOMIC_ACQUIRE);
	struct nfs4r_lhandle h;

	if (__atomic_load_n(&obj->moved, __ATOMIC_ACQUIRE) == moved)
		return sub;
	repl_local_handle(exp, &obj->oid, &h);
	if (h.len > 0 && !is_of(sub, &h)) {
		PTHREAD_MUTEX_lock(&lock);
		sub = replace(exp, obj, &h, st);
		PTHREAD_MUTEX_unlock(&lock);
	}
	if (sub != NULL)
		__atomic_store_n(&obj->moved, moved, __ATOMIC_RELEASE);
	return sub;
}

void repl_state_moved(struct repl_export *exp, struct repl_obj *obj, struct state_t *state)
{
	struct fsal_obj_handle *sub = NULL;
	struct repl_open_state open;
	struct repl_old_sub *o;
	fsal_status_t st;

	if (state == NULL)
		return;
	sub = __atomic_load_n(&obj->sub, __ATOMIC_ACQUIRE);
	if (sub != NULL)
		(void)repl_obj_moved(exp, obj, sub, &st);
	if (__atomic_load_n(&obj->old, __ATOMIC_ACQUIRE) == NULL)
		return;
	sub = NULL;
	PTHREAD_MUTEX_lock(&lock);
	if (repl_state_get(state, &open) && !open.pending)
		for (o = obj->old; o != NULL && sub == NULL; o = o->next)
			sub = open.sub == o->sub ? o->sub : NULL;
	if (sub != NULL) {
		open.pending = true;
		(void)repl_state_set(state, &open, NULL);
		REPL_SUBCALL(exp, sub->obj_ops->close2(sub, state));
	}
	PTHREAD_MUTEX_unlock(&lock);
}

void repl_old_subs_release(struct repl_obj *obj)
{
	struct repl_old_sub *o = obj->old, *next;

	for (; o != NULL; o = next) {
		next = o->next;
		o->sub->obj_ops->release(o->sub);
		gsh_free(o);
	}
}

fsal_status_t repl_gone_here(struct repl_export *exp, const struct nfs4r_oid *oid, fsal_status_t st)
{
	if ((st.major == ERR_FSAL_STALE || st.major == ERR_FSAL_NOENT) && repl_row(exp, oid, NULL) == NFS4R_KNOWN && repl_is_gone_here(exp, oid))
		return fsalstat(ERR_FSAL_DELAY, EAGAIN);
	return st;
}
