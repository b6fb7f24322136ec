/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * From an entry to rows, names, handles, parents and versions (log 3.1, 3.4; effects: base/entry.h).
 *
 * Happy path: a plan reads the rows and names that the entry touches and works out the new rows; memory is
 * taken; the journal record is written; then the plan goes into the active overlay under the view's lock,
 * where nothing can fail any more. Replay at open takes the same road without writing.
 *
 * Parts: version >= after, or dead: skipped. version = before: applied. Anything else is a hole in the
 * object's chain, which the core never lets come here: CORRUPT, and nothing was written.
 *
 * Invariants: nentries is the number of names; a parent is listed once with the count of names there; an
 * object with nlink 0 has no row, and no handle leads to it.
 */
#include <stdlib.h>

#include "xdr_map.h"
#include "store/bytes.h"
#include "store/internal.h"

/* ---- parents ----------------------------------------------------------- */

static bool parent_gain(struct nfs4r_object *o, const struct nfs4r_oid *dir)
{
	if (!o->row.nparents) {
		o->row.parent = *dir;
		o->parent_count = 1;
		o->row.nparents = 1;
		return true;
	}
	if (nfs4r_oid_eq(&o->row.parent, dir)) {
		o->parent_count++;
		return true;
	}
	for (uint32_t i = 0; i + 1 < o->row.nparents; i++) {
		if (nfs4r_oid_eq(&o->more[i].oid, dir)) {
			o->more[i].count++;
			return true;
		}
	}
	o->more[o->row.nparents - 1] = (struct nfs4r_parent){ .oid = *dir, .count = 1 };
	o->row.nparents++;
	return true;
}

static void parent_lose(struct nfs4r_object *o, const struct nfs4r_oid *dir)
{
	struct nfs4r_parent *last = o->row.nparents > 1 ? &o->more[o->row.nparents - 2] : NULL;

	if (o->row.nparents && nfs4r_oid_eq(&o->row.parent, dir)) {
		if (--o->parent_count)
			return;
		if (last) {
			o->row.parent = last->oid;
			o->parent_count = last->count;
		} else {
			memset(&o->row.parent, 0, sizeof(o->row.parent));
		}
		o->row.nparents--;
		return;
	}
	for (uint32_t i = 0; i + 1 < o->row.nparents; i++) {
		if (!nfs4r_oid_eq(&o->more[i].oid, dir))
			continue;
		if (!--o->more[i].count) {
			o->more[i] = *last;
			o->row.nparents--;
		}
		return;
	}
}

/* ---- the plan ---------------------------------------------------------- */

static void change_row(struct nfs4r_object *o, const struct nfs4r_part *p, const struct nfs4r_entry *e)
{
	struct nfs4r_row *r = &o->row;

	switch (p->effect) {
	case NFS4R_EFF_CREATE:
		r->type = p->attrs.type;
		r->nlink = p->attrs.mask & NFS4R_ATTR_NLINK ? p->attrs.nlink :
			r->type == NFS4R_TYPE_DIR	    ? 2 :
							      1;
		if (p->attrs.mask & NFS4R_ATTR_MTIME)
			r->mtime = p->attrs.mtime;
		if (!nfs4r_oid_is_zero(&p->parent))
			parent_gain(o, &p->parent);
		break;
	case NFS4R_EFF_LINKS:
		r->nlink = p->nlink;
		r->multi = p->multi;
		if (nfs4r_oid_is_zero(&p->parent))
			break;
		if (p->parent_gained)
			parent_gain(o, &p->parent);
		else
			parent_lose(o, &p->parent);
		break;
	case NFS4R_EFF_PARENT:
		if (nfs4r_oid_eq(&p->parent, &p->parent_from))
			break;
		/* gain first: a file with one parent must not lose its place in between */
		parent_gain(o, &p->parent);
		parent_lose(o, &p->parent_from);
		break;
	default:
		break;
	}
	if (nfs4r_store_part_changes_bytes(p)) {
		if (!e->bytes_at)
			o->bytes_from = 0;
		else if (!o->bytes_from)
			o->bytes_from = e->bytes_at;
	}
	r->version = p->after;
	if (p->effect != NFS4R_EFF_NONE && p->effect != NFS4R_EFF_LOCKS) /* a void update changed nothing, and locks are no change that clients see */
		r->ctime = p->ctime;
	if (p->mtime || (p->effect == NFS4R_EFF_ATTRS && p->attrs.mask & NFS4R_ATTR_MTIME)) /* 1970 is 0, too */
		r->mtime = p->mtime;
	r->last_log = e->log;
	r->last_lsn = e->lsn;
}

static void plan_names(struct nfs4r_store *s, const struct nfs4r_part *p, struct nfs4r_plan *plan,
		       uint32_t part)
{
	struct nfs4r_row *dir = &plan->obj[part].row;

	for (uint32_t i = 0; i < p->nnames && i < NFS4R_NAME_CHANGES_MAX; i++) {
		const struct nfs4r_name_change *c = &p->names[i];
		struct nfs4r_oid oid;
		uint32_t type;
		bool had = store_name_find(s, &p->oid, c->name.s, c->name.len, &oid, &type,
					   &plan->old[part][i].cookie);

		plan->old[part][i].had = had;
		if (nfs4r_oid_is_zero(&c->oid))
			dir->nentries -= had;
		else
			dir->nentries += !had;
		store_ov_need_name(&plan->need, c->name.len);
	}
}

/* Only the change that holds `change` alters the index. */
static bool was_committed(struct nfs4r_store *s, const struct nfs4r_entry *e)
{
	const struct nfs4r_log *l = &s->logs[e->log];

	return e->lsn <= l->applied || store_log_at(l, e->lsn);
}

static enum nfs4r_status plan_part(struct nfs4r_store *s, const struct nfs4r_entry *e, uint32_t i,
				   struct nfs4r_plan *plan)
{
	const struct nfs4r_part *p = &e->parts[i];
	struct nfs4r_object *o = &plan->obj[i];
	enum nfs4r_status st;

	for (uint32_t j = 0; j < i; j++) {
		if (nfs4r_oid_eq(&e->parts[j].oid, &p->oid))
			return NFS4R_INVAL;
	}
	plan->skip[i] = true;
	if (p->effect == NFS4R_EFF_CLIENT) /* of no object (base/client.h); the core's row goes along */
		return NFS4R_OK;
	st = store_object_load(s, &p->oid, o);
	if (st != NFS4R_OK && st != NFS4R_NOENT)
		return st;
	if (!o->row.version) {
		if (p->effect == NFS4R_EFF_NONE)
			return NFS4R_OK;
		if (store_known_absent(s, &p->oid) == NFS4R_DEAD &&
		    (p->effect != NFS4R_EFF_CREATE || was_committed(s, e)))
			return NFS4R_OK;
		if (p->before || (p->effect != NFS4R_EFF_CREATE && p->effect != NFS4R_EFF_INSTALL))
			return NFS4R_CORRUPT;
	} else if (o->row.version >= p->after) {
		return NFS4R_OK;
	} else if (o->row.version != p->before && p->effect != NFS4R_EFF_INSTALL) {
		return NFS4R_CORRUPT;
	}
	plan->skip[i] = false;
	plan->handle_mine[i] = o->handle_len && store_handle_is_mine(s, o);
	if (p->effect == NFS4R_EFF_NAMES)
		plan_names(s, p, plan, i);
	change_row(o, p, e);
	if (p->effect == NFS4R_EFF_LOCKS)
		store_ov_need_locks(&plan->need, p->nlocks);
	plan->locks_end[i] = p->effect == NFS4R_EFF_LINKS && !p->nlink && nfs4r_store_locks(s, &p->oid, NULL, 0);
	if (plan->locks_end[i])
		store_ov_need_locks(&plan->need, 0);
	store_ov_need_row(&plan->need, o->row.nparents);
	store_ov_need_handle(&plan->need, o->handle_len);
	store_ov_need_handle(&plan->need, e->handle_len);
	return NFS4R_OK;
}

static enum nfs4r_status plan_make(struct nfs4r_store *s, const struct nfs4r_entry *e, struct nfs4r_plan *p)
{
	enum nfs4r_status st = NFS4R_OK;

	memset(p, 0, sizeof(*p));
	if (e->nparts > NFS4R_PARTS_MAX || e->handle_len > NFS4R_LOCAL_HANDLE_MAX || !e->log ||
	    e->log > NFS4R_SERVERS_MAX || !e->lsn)
		return NFS4R_INVAL;
	for (uint32_t i = 0; i < e->nparts && st == NFS4R_OK; i++)
		st = plan_part(s, e, i, p);
	return st;
}

void store_plan_fini(struct nfs4r_plan *p)
{
	for (uint32_t i = 0; i < NFS4R_PARTS_MAX; i++)
		store_object_fini(&p->obj[i]);
}

/* ---- into the overlay -------------------------------------------------- */

static void apply_name(struct nfs4r_store *s, struct ov_row *dir, const struct nfs4r_name_change *c,
		       bool had, uint64_t old_cookie)
{
	struct ov_name *n = store_ov_make_name(s->active, &dir->o.row.oid, c->name.s, c->name.len);
	struct ov_cookie *slot;

	n->gone = nfs4r_oid_is_zero(&c->oid);
	n->oid = c->oid;
	n->type = c->type;
	n->cookie = n->gone ? old_cookie : c->cookie;
	if (had) {
		/* Another name may have taken the cookie meanwhile; else this hides LMDB's. */
		slot = store_ov_make_cookie(s->active, dir, old_cookie);
		if (!ov_cookie_used(slot))
			slot->name = n;
	}
	if (!n->gone) {
		slot = store_ov_make_cookie(s->active, dir, c->cookie);
		slot->name = n;
	}
}

static void apply_part(struct nfs4r_store *s, const struct nfs4r_entry *e, uint32_t i,
		       struct nfs4r_plan *plan)
{
	const struct nfs4r_part *p = &e->parts[i];
	struct nfs4r_object *o = &plan->obj[i];
	bool dead = p->effect == NFS4R_EFF_LINKS && !p->nlink;
	struct ov_row *row;

	if (dead)
		store_handle_assign(s, &p->oid, o, plan->handle_mine[i], NULL, 0);
	else if (!i && p->effect == NFS4R_EFF_CREATE && e->handle_len)
		store_handle_assign(s, &p->oid, o, plan->handle_mine[i], e->handle, e->handle_len);
	row = store_object_store(s, &p->oid, o, dead);
	if (p->effect == NFS4R_EFF_LOCKS || plan->locks_end[i])
		store_locks_set(s, &p->oid, p->locks, p->nlocks);
	if (p->effect == NFS4R_EFF_CREATE)
		row->fresh = true;
	if (p->effect != NFS4R_EFF_NAMES)
		return;
	for (uint32_t j = 0; j < p->nnames && j < NFS4R_NAME_CHANGES_MAX; j++)
		apply_name(s, row, &p->names[j], plan->old[i][j].had, plan->old[i][j].cookie);
}

/* Under view (write) and after a reserve of p->need. */
static void plan_apply(struct nfs4r_store *s, const struct nfs4r_entry *e, struct nfs4r_plan *p)
{
	for (uint32_t i = 0; i < e->nparts; i++) {
		if (!p->skip[i])
			apply_part(s, e, i, p);
	}
}

void store_puts_need(struct ov_need *need, const struct nfs4r_put *puts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		store_ov_need_core(need, puts[i].val_len);
}

void store_puts_apply(struct nfs4r_store *s, const struct nfs4r_put *puts, uint32_t n, nfs4r_journal_pos pos)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct nfs4r_put *p = &puts[i];
		struct ov_core *c = store_ov_make_core(s->active, p->key, p->key_len);

		if (c->pos > pos)
			continue;
		c->pos = pos;
		c->gone = p->del;
		c->val_len = p->del ? 0 : p->val_len;
		if (c->val_len > c->cap) {
			c->cap = c->val_len + 32;
			c->val = store_ov_alloc(s->active, c->cap);
		}
		if (c->val_len)
			memcpy(c->val, p->val, c->val_len);
	}
}

static bool puts_sane(const struct nfs4r_put *puts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!puts[i].key_len || puts[i].key_len > sizeof(puts[i].key) ||
		    (!puts[i].del && puts[i].val_len > sizeof(puts[i].val)))
			return false;
	}
	return true;
}

/* ---- the changing calls ------------------------------------------------- */

enum nfs4r_status store_commit_reserve(struct nfs4r_store *s, const struct nfs4r_entry *e,
				       const struct nfs4r_put *puts, uint32_t nputs,
				       struct nfs4r_plan *plan)
{
	enum nfs4r_status st = plan_make(s, e, plan);

	if (st != NFS4R_OK)
		return st;
	store_puts_need(&plan->need, puts, nputs);
	pthread_rwlock_wrlock(&s->view);
	if (!store_ov_reserve(s->active, &plan->need) ||
	    !store_log_reserve(&s->logs[e->log], e->lsn))
		st = NFS4R_NOMEM;
	pthread_rwlock_unlock(&s->view);
	return st;
}

void store_commit_apply(struct nfs4r_store *s, const struct nfs4r_entry *e, const struct nfs4r_put *puts,
			uint32_t nputs, struct nfs4r_plan *plan, nfs4r_journal_pos pos)
{
	static const struct nfs4r_oid none;
	const struct nfs4r_oid *made = &none;

	for (uint32_t i = 0; i < e->nparts; i++) {
		if (e->parts[i].effect == NFS4R_EFF_CREATE)
			made = &e->parts[i].oid;
	}
	pthread_rwlock_wrlock(&s->view);
	plan_apply(s, e, plan);
	store_puts_apply(s, puts, nputs, pos);
	store_log_add(&s->logs[e->log], e->lsn, pos, made);
	store_log_advance(&s->logs[e->log], e->log, &s->oid_watermark[e->log]);
	pthread_rwlock_unlock(&s->view);
	store_flight_end(s, e->log, e->lsn);
	store_foreign_intent_end(s, e->log, e->lsn);
}

static enum nfs4r_status append_commit(struct nfs4r_store *s, const struct nfs4r_entry *e, bool own,
				       const struct nfs4r_put *puts, uint32_t nputs,
				       nfs4r_journal_pos *pos)
{
	struct nfs4r_wbuf *w = store_change_begin(s);
	struct nfs4r_buf *bytes = nfs4r_entry_encode(e, false);
	enum nfs4r_status st;
	size_t before;

	if (!bytes)
		return NFS4R_NOMEM;
	if (e->bytes_at)
		store_rec_inline(w, e);
	before = w->len;
	store_rec_begin(w, REC_COMMIT);
	store_rec_commit_head(w, e, own);
	store_rec_puts(w, puts, nputs);
	store_rec_u32(w, bytes->len);
	store_rec_bytes(w, bytes->data, bytes->len);
	store_rec_end(w);
	nfs4r_buf_put(bytes);
	st = store_jnl_append(&s->jnl, w, pos);
	*pos += before; /* a SYNCED record may lie in front, and the entry's bytes */
	return st;
}

static void note_last(struct nfs4r_store *s, const struct nfs4r_entry *e, bool own)
{
	nfs4r_lsn *last = own || e->log != s->meta.self ? &s->last[e->log] : &s->back;

	if (e->lsn > *last)
		*last = e->lsn;
}

/* A release that does not know disk format 2 cannot read it. */
static bool is_of_locks(const struct nfs4r_entry *e)
{
	return e->op == NFS4R_OP_LOCK || e->op == NFS4R_OP_CLIENT;
}

enum nfs4r_status nfs4r_store_commit(struct nfs4r_store *s, const struct nfs4r_entry *e, bool own,
				     const struct nfs4r_put *puts, uint32_t nputs)
{
	struct nfs4r_plan plan;
	nfs4r_journal_pos pos = 0;
	enum nfs4r_status st;

	if (!puts_sane(puts, nputs))
		return NFS4R_INVAL;
	pthread_mutex_lock(&s->change);
	st = store_commit_reserve(s, e, puts, nputs, &plan);
	if (st == NFS4R_OK && is_of_locks(e))
		st = store_format_at_least(s, NFS4R_DISK_FORMAT_LOCKS);
	if (st == NFS4R_OK)
		st = append_commit(s, e, own, puts, nputs, &pos);
	if (st == NFS4R_OK) {
		store_commit_apply(s, e, puts, nputs, &plan, pos);
		store_seg_note(&s->jnl, pos, e->log, e->lsn);
		note_last(s, e, own);
		if (s->waiters)
			pthread_cond_broadcast(&s->whole);
	}
	store_plan_fini(&plan);
	pthread_mutex_unlock(&s->change);
	return st;
}

enum nfs4r_status nfs4r_store_put(struct nfs4r_store *s, const struct nfs4r_put *puts, uint32_t n)
{
	struct ov_need need = { 0 };
	nfs4r_journal_pos pos;
	struct nfs4r_wbuf *w;
	enum nfs4r_status st;

	if (!n)
		return NFS4R_OK;
	if (!puts_sane(puts, n))
		return NFS4R_INVAL;
	pthread_mutex_lock(&s->change);
	store_puts_need(&need, puts, n);
	pthread_rwlock_wrlock(&s->view);
	st = store_ov_reserve(s->active, &need) ? NFS4R_OK : NFS4R_NOMEM;
	pthread_rwlock_unlock(&s->view);
	if (st == NFS4R_OK) {
		w = store_change_begin(s);
		store_rec_begin(w, REC_PUTS);
		store_rec_puts(w, puts, n);
		store_rec_end(w);
		st = store_jnl_append(&s->jnl, w, &pos);
	}
	if (st == NFS4R_OK) {
		pthread_rwlock_wrlock(&s->view);
		store_puts_apply(s, puts, n, pos);
		pthread_rwlock_unlock(&s->view);
	}
	pthread_mutex_unlock(&s->change);
	return st;
}
