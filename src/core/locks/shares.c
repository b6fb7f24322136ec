/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Opens of this server's clients, and what they deny others (locks 19).
 *
 * Happy path: a file that nobody guards: an open that denies nothing is counted, and that is all. One that denies something becomes a request to the authority of the file, which guards it:
 * GUARD comes, the file is marked, and the answer says how many opens there are. From then on every open of it asks the authority, one at a time. A close, or a downgrade, is done at once for the client. The
 * authority hears behind it how many opens there are now, until it confirms that. UNGUARD takes the mark away.
 *
 * Failure modes: the authority changes while a request is under way: the next one has asked by GUARD, and was told of no such open. So the answer of the one before does not count, and it is asked anew.
 * UNGUARD of an earlier guard comes late: it names the guard. Marks of authorities that let go of the file without UNGUARD stay, and are taken away by the next guard of the file.
 *
 * Invariants: what the authority knows of this server is never less than what is open here, while a guard is whole: opens that are marked begin only by its word. Requests have absolute numbers, so that one which
 * is lost or comes twice does no harm.
 */
#include "core/locks/shares_int.h"

uint64_t locks_shares_number(struct nfs4r_core *c)
{
	return c->memory.now.inc << 32 | ++c->locks.shares.n;
}

/* ---- files ---- */

struct share_file *locks_shares_file_find(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct share_file *f;

	HASH_FIND(hh, c->locks.shares.files, oid, sizeof(*oid), f);
	return f;
}

static struct share_file *file_get(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct share_file *f = locks_shares_file_find(c, oid);

	if (f)
		return f;
	f = out_xcalloc(1, sizeof(*f));
	f->oid = *oid;
	HASH_ADD(hh, c->locks.shares.files, oid, sizeof(f->oid), f);
	return f;
}

static bool is_open(const struct share_file *f)
{
	return f->opens.readers || f->opens.writers;
}

static void file_put(struct nfs4r_core *c, struct share_file *f)
{
	if (is_open(f) || f->marks || f->active || f->say || c->locks.shares.running)
		return;
	HASH_DEL(c->locks.shares.files, f);
	free(f);
}

static void tell(struct nfs4r_core *c, struct share_file *f)
{
	c->locks.shares.nsay += !f->say;
	f->say = true;
	c->dirty |= DIRTY_LOCKS;
}

static void said(struct nfs4r_core *c, struct share_file *f)
{
	c->locks.shares.nsay -= f->say;
	f->say = false;
}

static void add(uint32_t *n, bool begins)
{
	if (begins)
		++*n;
	else if (*n) /* one that began before the volume counted them */
		--*n;
}

void locks_shares_count(struct nfs4r_opens *o, uint32_t access, uint32_t deny, bool begins)
{
	if (access & NFS4R_SHARE_READ)
		add(&o->readers, begins);
	if (access & NFS4R_SHARE_WRITE)
		add(&o->writers, begins);
	if (deny & NFS4R_SHARE_READ)
		add(&o->deny_readers, begins);
	if (deny & NFS4R_SHARE_WRITE)
		add(&o->deny_writers, begins);
}

static void change(struct share_file *f, const struct nfs4r_share_request *s)
{
	locks_shares_count(&f->opens, s->had_access, s->had_deny, false);
	locks_shares_count(&f->opens, s->access, s->deny, true);
}

/* ---- marks ---- */

static struct share_mark *mark_of(struct share_file *f, nfs4r_server_id by)
{
	struct share_mark *k;

	DL_FOREACH(f->marks, k)
		if (k->guard.by == by)
			return k;
	return NULL;
}

static void unmark(const struct nfs4r_core *c, struct share_file *f, nfs4r_server_id by, uint64_t id)
{
	struct share_mark *k = mark_of(f, by);

	if (!k || (k->guard.id > id && !FAULT(F_UNGUARD_ANY)))
		return;
	DL_DELETE(f->marks, k);
	free(k);
}

/* False: a late copy. */
static bool mark(struct share_file *f, nfs4r_server_id by, uint64_t id)
{
	struct share_mark *k = mark_of(f, by);

	if (!k) {
		k = out_xcalloc(1, sizeof(*k));
		k->guard.by = by;
		DL_APPEND(f->marks, k);
	}
	if (id < k->guard.id)
		return false;
	k->guard.id = id;
	if (f->active)
		f->answered = k->guard;
	return true;
}

static void marks_drop(struct share_file *f)
{
	struct share_mark *k, *tmp;

	DL_FOREACH_SAFE(f->marks, k, tmp) {
		DL_DELETE(f->marks, k);
		free(k);
	}
}

void locks_shares_own_guard(struct nfs4r_core *c, const struct nfs4r_oid *oid, uint64_t id)
{
	struct share_file *f = file_get(c, oid);

	marks_drop(f); /* whoever set them lost control before this server had it */
	mark(f, c->self, id);
}

static void unmarked(struct nfs4r_core *c, struct share_file *f)
{
	if (!f->marks)
		c->dirty |= DIRTY_OPS; /* what waits here concerns nobody else by now */
	file_put(c, f);
}

void locks_shares_own_unguard(struct nfs4r_core *c, const struct nfs4r_oid *oid, uint64_t id)
{
	struct share_file *f = locks_shares_file_find(c, oid);

	if (!f)
		return;
	unmark(c, f, c->self, id);
	unmarked(c, f);
}

/* ---- what clients ask for ---- */

bool locks_shares_lower(struct nfs4r_core *c, const struct nfs4r_op *op)
{
	const struct nfs4r_share_request *s = &op->share;
	struct share_file *f = locks_shares_file_find(c, &op->obj);

	if ((s->access & ~s->had_access) || (s->deny & ~s->had_deny))
		return false;
	if (!f)
		return true;
	change(f, s);
	if (f->marks || f->active)
		tell(c, f);
	file_put(c, f);
	return true;
}

bool locks_shares_free(struct nfs4r_core *c, const struct opx *o, const struct nfs4r_op *op)
{
	struct share_file *f = locks_shares_file_find(c, &op->obj);

	if ((op->share.deny & ~op->share.had_deny) || (f && (f->marks || (f->active && f->active != o))))
		return false;
	if (!f)
		f = file_get(c, &op->obj);
	f->active = NULL;
	change(f, &op->share);
	return true;
}

static void number(struct nfs4r_core *c, struct share_file *f, const struct opx *o, struct nfs4r_op *op)
{
	f->active = o;
	op->lock.n = locks_shares_number(c);
	op->share.others = f->opens;
	locks_shares_count(&op->share.others, op->share.had_access, op->share.had_deny, false);
	memset(&f->answered, 0, sizeof(f->answered));
}

bool locks_shares_begin(struct nfs4r_core *c, const struct opx *o, struct nfs4r_op *op)
{
	struct share_file *f = file_get(c, &op->obj);

	if (f->active && f->active != o)
		return false;
	if (!op->lock.n)
		number(c, f, o, op);
	return true;
}

bool locks_shares_is_void(struct nfs4r_core *c, const struct opx *o, nfs4r_server_id from, const struct nfs4r_op *answer)
{
	const struct share_file *f = locks_shares_file_find(c, &o->op->obj);

	if (answer->status != NFS4R_OK || !o->op->share.access || !f || f->active != o || !f->answered.id || FAULT(F_SHARE_OLD_GRANT))
		return false;
	return f->answered.by != from || f->answered.id != answer->share.guard;
}

void locks_shares_end(struct nfs4r_core *c, const struct opx *o, const struct nfs4r_op *op, enum nfs4r_status st, enum locks_asker who)
{
	struct share_file *f = locks_shares_file_find(c, &op->obj);
	bool unheard = st == NFS4R_DELAY || st == NFS4R_NOT_PRIMARY;

	if (!f || f->active != o)
		return;
	f->active = NULL;
	if (st == NFS4R_OK && who == LOCKS_CLIENT) {
		change(f, &op->share);
	} else if (who == LOCKS_ITEM && unheard && !FAULT(F_SHARE_ONCE)) {
		tell(c, f);
		f->not_before = c->now + state_repeat_ms(c);
	} else if (who == LOCKS_ABANDONED || (who == LOCKS_CLIENT && op->lock.inc && unheard)) {
		tell(c, f); /* perhaps it was granted */
	}
	if (f->say)
		c->dirty |= DIRTY_LOCKS;
	c->dirty |= DIRTY_OPS; /* another open of the file may wait for this one */
	file_put(c, f);
}

/* ---- what the authority has to hear ---- */

void locks_shares_run_begin(struct nfs4r_core *c)
{
	c->locks.shares.running = true;
}

struct share_file *locks_shares_run_next(struct nfs4r_core *c, struct share_file *after, struct nfs4r_op *op)
{
	struct share_file *f = after ? after->hh.next : c->locks.shares.files;

	for (; f; f = f->hh.next) {
		if (!f->say || f->active)
			continue;
		if (!f->marks) { /* nobody asks */
			said(c, f);
			continue;
		}
		if (c->now < f->not_before) {
			out_timer_at(c, f->not_before);
			continue;
		}
		memset(op, 0, sizeof(*op));
		op->type = NFS4R_OP_SHARE;
		op->obj = f->oid;
		return f;
	}
	return NULL;
}

void locks_shares_begin_own(struct nfs4r_core *c, struct share_file *f, const struct opx *o, struct nfs4r_op *op)
{
	assert(!f->active);
	said(c, f);
	number(c, f, o, op);
}

void locks_shares_run_end(struct nfs4r_core *c)
{
	struct share_file *f, *tmp;

	c->locks.shares.running = false;
	HASH_ITER(hh, c->locks.shares.files, f, tmp)
		file_put(c, f);
}

/* A server has started anew, or is a member now: it has no marks. Who denies something says so, and the authority asks all that have not answered. */
void locks_shares_say_denies(struct nfs4r_core *c)
{
	struct share_file *f;

	for (f = c->locks.shares.files; f; f = f->hh.next)
		if (f->opens.deny_readers || f->opens.deny_writers)
			tell(c, f);
}

void locks_shares_timers(struct nfs4r_core *c)
{
	struct share_file *f;

	for (f = c->locks.shares.nsay ? c->locks.shares.files : NULL; f; f = f->hh.next)
		if (f->say && !f->active)
			c->dirty |= DIRTY_LOCKS;
}

/* ---- guards of others ---- */

static void on_guard(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct share_file *f = file_get(c, &m->guard.oid);
	struct nfs4r_msg *a;
	struct share_mark *k;

	if (!FAULT(F_GUARD_UNMARKED) && !mark(f, from, m->guard.id))
		return;
	a = out_msg(c, NFS4R_MSG_GUARD);
	a->guard.opens = f->opens;
	DL_FOREACH(f->marks, k)
		if (k->guard.by != from && a->guard.nmarks < NFS4R_GUARD_MARKS)
			a->guard.marks[a->guard.nmarks++] = k->guard;
	locks_shares_send(c, from, a, &m->guard.oid, m->guard.id, true);
	file_put(c, f);
}

static void on_unguard(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	struct share_file *f = locks_shares_file_find(c, &m->guard.oid);

	if (f) {
		unmark(c, f, from, m->guard.id);
		for (uint32_t i = 0; i < m->guard.nmarks; i++)
			unmark(c, f, m->guard.marks[i].by, m->guard.marks[i].id);
		unmarked(c, f);
	}
	locks_shares_send(c, from, out_msg(c, NFS4R_MSG_UNGUARD), &m->guard.oid, m->guard.id, true);
}

void locks_shares_on_msg(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_msg *m)
{
	if (m->guard.inc != c->peers[from].inc || m->guard.to_inc != c->cfg.peer_inc)
		return; /* it comes again */
	if (m->guard.heard)
		locks_guards_on_answer(c, from, m);
	else if (m->type == NFS4R_MSG_UNGUARD)
		on_unguard(c, from, m);
	else if (m->guard.view == c->view.adopted.num)
		on_guard(c, from, m);
}

static bool is_removed(const struct nfs4r_part *p)
{
	return p->effect == NFS4R_EFF_LINKS && !p->nlink;
}

/* A file that is gone is opened by nobody any more: no authority says that its guard is over. Where ancestors change, control of a file may have ended. */
void locks_shares_committed(struct nfs4r_core *c, const struct nfs4r_entry *e)
{
	struct share_file *f;

	for (uint32_t i = 0; i < e->nparts; i++) {
		f = is_removed(&e->parts[i]) ? locks_shares_file_find(c, &e->parts[i].oid) : NULL;
		if (f) {
			locks_shares_unguard_removed(c, &f->oid);
			marks_drop(f);
			file_put(c, f);
		}
		if (c->locks.shares.guards && (e->parts[i].effect == NFS4R_EFF_PARENT || e->parts[i].effect == NFS4R_EFF_LINKS))
			locks_guards_sweep(c);
	}
}

void locks_shares_fini(struct nfs4r_core *c)
{
	struct share_ending *e, *etmp;
	struct share_guard *g, *gtmp;
	struct share_file *f, *ftmp;

	HASH_ITER(hh, c->locks.shares.files, f, ftmp) {
		marks_drop(f);
		HASH_DEL(c->locks.shares.files, f);
		free(f);
	}
	HASH_ITER(hh, c->locks.shares.guards, g, gtmp) {
		HASH_DEL(c->locks.shares.guards, g);
		free(g);
	}
	DL_FOREACH_SAFE(c->locks.shares.endings, e, etmp)
		free(e);
}
