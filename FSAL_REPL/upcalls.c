/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Upcalls, in both directions of the stack.
 *
 * From the engine: an object changed under a peer's update. MDCACHE caches nothing for us, but dropping its
 * flags is cheap and keeps an administrator's experiment with caching harmless. Only flags are dropped, never
 * INVALIDATE_CACHE or PARENT: those take locks that the operation under way may hold (they abort the daemon).
 *
 * From the sub-FSAL: its keys are its own, MDCACHE knows OIDs. Each call is translated, or dropped when the
 * object has no OID. What the sub-FSAL says about attributes is not passed on as such (the volume's
 * are different): the object is invalidated instead.
 */
#include "repl.h"

#define FILE_FLAGS (FSAL_UP_INVALIDATE_ATTRS | FSAL_UP_INVALIDATE_ACL)
#define DIR_FLAGS (FILE_FLAGS | FSAL_UP_INVALIDATE_CONTENT | FSAL_UP_INVALIDATE_DIR_POPULATED | FSAL_UP_INVALIDATE_DIR_CHUNKS)

void repl_lops_changed(void *ctx, const struct nfs4r_oid *oid, bool is_dir)
{
	struct repl_export *exp = ctx;
	const struct fsal_up_vector *up = exp->export.up_ops;
	struct nfs4r_oid copy = *oid;
	struct gsh_buffdesc key = { .addr = &copy, .len = sizeof(copy) };

	repl_attr_cache_drop(exp->attr_cache, oid);
	if (repl_wait_ready(exp) && !up->up_cancel)
		up->invalidate(up, &key, is_dir ? DIR_FLAGS : FILE_FLAGS);
	pthread_cond_broadcast(&exp->arrive);
}

/* ---- from the sub-FSAL ---- */

/* A call for an object of the volume, on its way up. */
struct upcall {
	const struct fsal_up_vector *up;
	struct nfs4r_oid oid;
	struct gsh_buffdesc key;
};

/* The key of FSAL_VFS is its host handle, and so is what the store keeps. False: it is no object of the volume. */
static bool translate(const struct fsal_up_vector *vec, const struct gsh_buffdesc *sub_key, struct upcall *out)
{
	struct repl_export *exp = container_of(vec, struct repl_export, sub_up);
	struct nfs4r_lhandle h = { .len = 0 };

	if (sub_key->len > sizeof(h.b))
		return false;
	h.len = sub_key->len;
	memcpy(h.b, sub_key->addr, sub_key->len);
	out->up = exp->export.up_ops;
	out->key = (struct gsh_buffdesc){ .addr = &out->oid, .len = sizeof(out->oid) };
	return repl_by_handle(exp, &h, &out->oid);
}

static fsal_status_t up_invalidate(const struct fsal_up_vector *vec, struct gsh_buffdesc *obj, uint32_t flags)
{
	struct upcall c;

	return translate(vec, obj, &c) ? c.up->invalidate(c.up, &c.key, flags & DIR_FLAGS) : fsalstat(ERR_FSAL_NO_ERROR, 0);
}

static fsal_status_t up_update(const struct fsal_up_vector *vec, struct gsh_buffdesc *obj, struct fsal_attrlist *attr,
			       uint32_t flags)
{
	return up_invalidate(vec, obj, FILE_FLAGS);
}

static fsal_status_t up_invalidate_close(const struct fsal_up_vector *vec, struct gsh_buffdesc *obj, uint32_t flags)
{
	return up_invalidate(vec, obj, flags);
}

static fsal_status_t up_try_release(const struct fsal_up_vector *vec, struct gsh_buffdesc *obj, uint32_t flags)
{
	struct upcall c;

	return translate(vec, obj, &c) ? c.up->try_release(c.up, &c.key, flags) : fsalstat(ERR_FSAL_NO_ERROR, 0);
}

static state_status_t up_lock_grant(const struct fsal_up_vector *vec, struct gsh_buffdesc *obj, void *owner,
				    fsal_lock_param_t *lock)
{
	struct upcall c;

	return translate(vec, obj, &c) ? c.up->lock_grant(c.up, &c.key, owner, lock) : STATE_NOT_FOUND;
}

static state_status_t up_lock_avail(const struct fsal_up_vector *vec, struct gsh_buffdesc *obj, void *owner,
				    fsal_lock_param_t *lock)
{
	struct upcall c;

	return translate(vec, obj, &c) ? c.up->lock_avail(c.up, &c.key, owner, lock) : STATE_NOT_FOUND;
}

static state_status_t up_layoutrecall(const struct fsal_up_vector *vec, struct gsh_buffdesc *obj, layouttype4 type,
				      bool changed, const struct pnfs_segment *segment, void *cookie,
				      struct layoutrecall_spec *spec)
{
	return STATE_NOT_FOUND; /* no layouts are ever given out */
}

static state_status_t up_delegrecall(const struct fsal_up_vector *vec, struct gsh_buffdesc *obj)
{
	return STATE_NOT_FOUND; /* no delegations are ever given out */
}

void repl_upcalls_init(struct repl_export *exp, const struct fsal_up_vector *super)
{
	struct fsal_up_vector *up = &exp->sub_up;

	up->up_gsh_export = super->up_gsh_export;
	up->up_fsal_export = super->up_fsal_export;
	up->up_ready = true; /* calls are dropped until the engine knows the objects */
	PTHREAD_MUTEX_init(&up->up_mutex, NULL);
	PTHREAD_COND_init(&up->up_cond, NULL);
	up->invalidate = up_invalidate;
	up->update = up_update;
	up->lock_grant = up_lock_grant;
	up->lock_avail = up_lock_avail;
	up->layoutrecall = up_layoutrecall;
	up->notify_device = super->notify_device;
	up->delegrecall = up_delegrecall;
	up->invalidate_close = up_invalidate_close;
	up->try_release = up_try_release;
}

void repl_upcalls_fini(struct repl_export *exp)
{
	PTHREAD_COND_destroy(&exp->sub_up.up_cond);
	PTHREAD_MUTEX_destroy(&exp->sub_up.up_mutex);
}
