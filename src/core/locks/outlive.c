/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What outlives control (locks 2, 3, 20): when a claim begins to close, the locks of each file that no other own claim goes on covering are written into the log.
 *
 * Happy path: one LOCKS entry a file, with the whole list. It comes before `last` of the claim, so the claim is released when everybody has it, and the next authority finds it in
 * its row. A file without locks, now and in its row, has no entry. What is reserved for a waiter counts as held, since its client may have been told. All others that wait
 * are told to ask anew.
 *
 * Failure modes: the own log has ended, or its end is not known: nothing can be written, and what was granted is in a gap. The file was removed: nothing is written.
 *
 * Invariants: after that the file is not in the table any more, so nothing is granted under a closing claim. A list is absolute: it says nothing of what was before.
 */
#include "core/locks/locks_int.h"

/* Perhaps it is never fetched. */
static void list_reserved(struct nfs4r_core *c, struct lock_file *f, struct lock_wait *w)
{
	struct nfs4r_lock lock = w->lock;

	locks_party_get(c, &f->oid, &lock.owner)->granted = w->n;
	if (!w->heard) /* whoever decides then answers that it has it */
		locks_say_requeue(c, w);
	nfs4r_locks_cancel(locks_table(c), &f->oid, &w->lock, c->now);
	locks_wait_drop(f, w);
	locks_set_unheard(c, f, &lock, NFS4R_LOCK_TRY, NULL, NULL);
}

static void end_waits(struct nfs4r_core *c, struct lock_file *f)
{
	struct lock_wait *w, *tmp;

	DL_FOREACH_SAFE(f->waits, w, tmp) /* those first that nobody has to be told of */
		if (!w->ready)
			locks_requeue(c, f, w);
	while (f->waits)
		list_reserved(c, f, f->waits);
}

static void write_list(struct nfs4r_core *c, struct lock_file *f)
{
	struct nfs4r_entry *e = nfs4r_entry_new();
	struct nfs4r_part *p;
	struct nfs4r_facts facts;
	bool ok;

	assert(e);
	e->log = c->self;
	e->lsn = log_lsn_next(c);
	e->view = c->view.adopted.num ? c->view.adopted.num : 1;
	e->op = NFS4R_OP_LOCK;
	e->nparts = 1;
	p = &e->parts[0];
	p->oid = f->oid;
	p->effect = NFS4R_EFF_LOCKS;
	if (!log_last_assigned(c, &f->oid, &p->before)) {
		control_is_known(c, &f->oid, &facts);
		p->before = facts.version;
	}
	p->after = state_next_version(c, p->before);
	ok = nfs4r_part_locks(p, f->nranges); /* locks_file_is_full() */
	assert(ok);
	if (f->nranges)
		p->nlocks = locks_file_list(c, f, p->locks);
	control_raise_last(c, e);
	log_bytes(c, e->lsn, 0);
	locks_left(c, &f->oid, e->lsn);
	log_pend_executed(c, log_pend_add(c, e, NULL), true);
}

static bool can_write(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct nfs4r_facts facts;

	return !c->halted && !not_recovered(c) && !state_is_ended(c, c->self) && !c->repair.state && control_is_known(c, oid, &facts);
}

/*
 * Nothing says to a restart that this entry was begun. So it has to be in the tree within this step, or numbers behind it would lie behind a hole (log 4.5). The claim is not released before
 * what is being executed under it has ended (control 5.1).
 */
static bool has_to_wait(const struct nfs4r_core *c, const struct lock_file *f)
{
	nfs4r_version v;

	return log_last_assigned(c, &f->oid, &v);
}

static void leave(struct nfs4r_core *c, struct lock_file *f)
{
	end_waits(c, f);
	f->leaves = has_to_wait(c, f);
	if (f->leaves)
		return;
	if (f->changed && (f->nranges || (f->nrows && !FAULT(F_LOCK_EMPTY_LIST))) && can_write(c, &f->oid) && !FAULT(F_LOCK_NO_LIST))
		write_list(c, f);
	locks_file_drop(c, f);
}

static bool goes_on(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct need n = { *oid, NFS4R_SHALLOW, false };
	struct nfs4r_facts facts;
	struct walk w;
	struct ctl *k;

	if (!control_is_known(c, oid, &facts))
		return false;
	control_walk_begin(&w, &n.oid);
	do {
		for (k = control_of(c, &w.oid); k; k = k->next)
			if (k->claim->own && own_may_close(k->claim->own) && (!w.level || k->depth >= NFS4R_DEEP))
				return true;
	} while (control_walk_up(c, &w));
	return false;
}

/* Until @fn says true, which is the result: each file of the table that @cl covers. */
static bool each_covered(struct nfs4r_core *c, const struct claim *cl, bool (*fn)(struct nfs4r_core *c, struct lock_file *f))
{
	struct lock_file *f, *tmp;
	bool deep = false;

	for (uint32_t i = 0; i < cl->n; i++) {
		deep |= cl->ctl[i].depth >= NFS4R_DEEP;
		f = cl->ctl[i].depth < NFS4R_DEEP ? locks_file_find(c, &cl->ctl[i].oid) : NULL;
		if (f && fn(c, f))
			return true;
	}
	if (!deep)
		return false;
	HASH_ITER(hh, c->locks.files, f, tmp) {
		struct need n = { f->oid, NFS4R_SHALLOW, false };

		if (control_claim_covers(c, cl, &n) && fn(c, f))
			return true;
	}
	return false;
}

static bool closes(struct nfs4r_core *c, struct lock_file *f)
{
	if (f->leaves || locks_in_gap(c, &f->oid) || goes_on(c, &f->oid))
		return false;
	if (!FAULT(F_LOCK_WHILE_CLOSING))
		leave(c, f);
	else if (can_write(c, &f->oid))
		write_list(c, f);
	return false;
}

/* Its state is CLOSING already, `last` is not set yet. */
void locks_claim_closes(struct nfs4r_core *c, struct claim *cl)
{
	each_covered(c, cl, closes);
}

static bool is_awaited(struct nfs4r_core *c, struct lock_file *f)
{
	nfs4r_servers at = 0;
	struct lock_wait *w;

	DL_FOREACH(f->waits, w)
		if (!w->ready)
			at |= NFS4R_BIT(w->holder);
	return at && (at & NFS4R_BIT(c->self) || at & (at - 1));
}

bool locks_claim_is_awaited(struct nfs4r_core *c, const struct claim *cl)
{
	if (!c->locks.table || !nfs4r_locks_count(c->locks.table).waiting || FAULT(F_LOCK_QUEUE_SENT_AROUND))
		return false;
	return each_covered(c, cl, is_awaited);
}

/* What is in the table now is all, also of claims that began to close in a gap. */
void locks_gap_all_over(struct nfs4r_core *c)
{
	struct lock_file *f, *tmp;

	HASH_ITER(hh, c->locks.files, f, tmp)
		if (!f->leaves && !locks_in_gap(c, &f->oid) && !goes_on(c, &f->oid))
			leave(c, f);
}

/* What covered a file from above covers it no longer: a claim of its own that has begun to close meanwhile was not the last then. */
static void moved(struct nfs4r_core *c)
{
	struct lock_file *f, *tmp;

	HASH_ITER(hh, c->locks.files, f, tmp)
		if (!f->leaves && !locks_in_gap(c, &f->oid) && !goes_on(c, &f->oid) && !FAULT(F_LOCK_WHILE_CLOSING))
			leave(c, f);
}

static bool changes_ancestors(const struct nfs4r_entry *e)
{
	for (uint32_t i = 0; i < e->nparts; i++)
		if (e->parts[i].effect == NFS4R_EFF_PARENT || e->parts[i].effect == NFS4R_EFF_LINKS)
			return true;
	return false;
}

/* What leaves the directory that had a gap takes it along. */
void locks_before_commit(struct nfs4r_core *c, const struct nfs4r_entry *e)
{
	c->locks.gap_moved = 0;
	for (uint32_t i = 0; i < e->nparts && e->log == c->self && locks_gap_any(c); i++) {
		if (e->parts[i].effect != NFS4R_EFF_PARENT)
			continue;
		if (locks_in_gap(c, &e->parts[i].oid))
			c->locks.gap_moved |= 1u << i;
		else
			locks_load_below(c, &e->parts[i].oid); /* where it comes to, its row may not count */
	}
}

static void gaps_committed(struct nfs4r_core *c, const struct nfs4r_entry *e)
{
	for (uint32_t i = 0; i < e->nparts; i++) {
		if (c->locks.gap_moved & 1u << i)
			locks_gap_moved(c, &e->parts[i].oid);
		if (c->locks.gap_rows && e->parts[i].effect == NFS4R_EFF_LINKS && !e->parts[i].nlink)
			locks_gap_dead(c, &e->parts[i].oid);
		if (e->parts[i].effect == NFS4R_EFF_CLIENT)
			locks_gap_timers(c);
	}
	c->locks.gap_moved = 0;
}

/* An entry is in the tree; if it is of this server, its operation has not ended yet. */
void locks_committed(struct nfs4r_core *c, const struct nfs4r_entry *e)
{
	struct lock_file *f;

	gaps_committed(c, e);
	for (uint32_t i = 0; i < e->nparts && c->locks.files; i++) {
		f = locks_file_find(c, &e->parts[i].oid);
		if (f && e->parts[i].effect == NFS4R_EFF_LINKS && !e->parts[i].nlink)
			while (f->waits)
				locks_requeue(c, f, f->waits); /* of a file that is gone */
		if (f && f->leaves)
			leave(c, f);
	}
	if (c->locks.files && changes_ancestors(e))
		moved(c);
}

/* Without having closed: its log has ended. What it granted is known to nobody now. */
void locks_claim_released(struct nfs4r_core *c, struct claim *cl)
{
	struct lock_file *f, *tmp;

	locks_gap_released(c, cl);
	if (state_is_ended(c, c->self) && (cl->won || cl->kind != NFS4R_PROPOSED))
		locks_gap_of_ended(c, cl);
	HASH_ITER(hh, c->locks.files, f, tmp)
		if (!control_own_acting_cover(c, &f->oid))
			locks_file_drop(c, f);
}
