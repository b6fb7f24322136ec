/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Entries on their way into the tree (log 3.4, 3.8): received ones and own ones.
 *
 * Every entry stands in a FIFO of its log for each object it touches. An own entry is committed
 * when it is executed and first in all of them. A received one that is first in all of them meets
 * the version test, part by part: apply, skip, or the whole entry waits for a predecessor from
 * another log; it is tried again whenever something is committed to one of its objects. Any number
 * of entries without a common object is under way at once; `applied` is the contiguous prefix. None
 * overtakes an entry of its log that waits for another log: that may last, and what is applied beyond
 * the prefix is not told after a restart, so that an owner that lost its tail would use the LSN again.
 * For the same reason nothing builds on what another log has beyond its prefix: a restart gives that up.
 *
 * commit() is the only place where tree, positions, control table and ancestry table change
 * together.
 *
 * Failure modes: before < version < after means that this copy is corrupt: HALT. Local execution
 * fails: the entry is tried again (withdraw.c). Applying never waits for control (control 7.7).
 */
#include "core/log/log_int.h"

/* ---- queues ------------------------------------------------------------------------- */

void log_pend_wake(struct nfs4r_core *c, struct pend *p)
{
	if (p->woken || p->state == PEND_DONE)
		return;
	p->woken = true;
	DL_APPEND2(c->log.ready, p, rprev, rnext);
}

static void enqueue(struct nfs4r_core *c, struct pend *p, uint32_t i)
{
	struct nfs4r_oid *oid = &p->entry->parts[i].oid;
	struct objq *q;

	HASH_FIND(hh, c->log.objq, oid, sizeof(*oid), q);
	if (!q) {
		q = out_xcalloc(1, sizeof(*q));
		q->oid = *oid;
		HASH_ADD(hh, c->log.objq, oid, sizeof(q->oid), q);
	}
	p->pref[i].pend = p;
	p->pref[i].q = q;
	DL_APPEND(q->fifo[p->entry->log], &p->pref[i]);
}

/* Takes over the reference of @e. */
struct pend *log_pend_add(struct nfs4r_core *c, struct nfs4r_entry *e, struct opx *o)
{
	struct logst *l = &c->log.logs[e->log];
	struct pend *p = out_xcalloc(1, sizeof(*p));

	p->entry = e;
	p->opx = o;
	p->state = o ? PEND_BUSY : PEND_QUEUED;
	if (o)
		log_trouble_begun(c, p);
	for (uint32_t i = 0; i < e->nparts; i++)
		enqueue(c, p, i);
	DL_APPEND(l->pend, p);
	l->npend++;
	return p;
}

/* The next number of the own log. */
nfs4r_lsn log_lsn_next(struct nfs4r_core *c)
{
	return ++c->log.logs[c->self].received;
}

/* An own one: @made, there is nothing to be executed. */
void log_pend_executed(struct nfs4r_core *c, struct pend *p, bool made)
{
	p->state = PEND_EXECUTED;
	p->made = made;
	log_pend_wake(c, p);
}

/* An own one of before a crash: the caller says whether it was executed. */
void log_pend_undecided(struct nfs4r_core *c, struct pend *p)
{
	p->state = PEND_BUSY;
	p->intent = true;
	c->undecided++;
	c->log.logs[c->self].applied = c->log.logs[c->self].pend->entry->lsn - 1;
}

/* @e: what the caller found, on a copy of its own. */
void log_pend_replace(struct pend *p, struct nfs4r_entry *e)
{
	nfs4r_entry_put(p->entry);
	p->entry = nfs4r_entry_get(e);
}

/* Out of the queues; those behind, of any log, may go on. */
static void dequeue(struct nfs4r_core *c, struct pend *p)
{
	for (uint32_t i = 0; i < NFS4R_PARTS_MAX; i++) {
		struct objq *q = p->pref[i].q;
		bool empty;

		if (!q)
			continue;
		if (p->state == PEND_DONE)
			DL_DELETE(q->beyond, &p->pref[i]);
		else
			DL_DELETE(q->fifo[p->entry->log], &p->pref[i]);
		p->pref[i].q = NULL;
		empty = !q->beyond;
		for (int s = 1; s <= NFS4R_SERVERS_MAX; s++)
			if (q->fifo[s]) {
				empty = false;
				log_pend_wake(c, q->fifo[s]->pend);
			}
		if (empty) {
			HASH_DEL(c->log.objq, q);
			free(q);
		}
	}
}

/* Committed: those behind it in its log may go on, those of other logs when it is in the prefix. */
static void enqueue_beyond(struct nfs4r_core *c, struct pend *p)
{
	p->state = PEND_DONE;
	for (uint32_t i = 0; i < NFS4R_PARTS_MAX && p->pref[i].q; i++) {
		struct pref *r = &p->pref[i];

		DL_DELETE(r->q->fifo[p->entry->log], r);
		DL_APPEND(r->q->beyond, r);
		if (r->q->fifo[p->entry->log])
			log_pend_wake(c, r->q->fifo[p->entry->log]->pend);
	}
}

void log_pend_free(struct nfs4r_core *c, struct pend *p)
{
	log_trouble_forget(c, p);
	dequeue(c, p);
	if (p->woken)
		DL_DELETE2(c->log.ready, p, rprev, rnext);
	nfs4r_entry_put(p->entry);
	free(p);
}

static bool is_first(const struct nfs4r_core *c, const struct pend *p)
{
	if (FAULT(F_NO_OBJECT_FIFO))
		return true;
	for (uint32_t i = 0; i < NFS4R_PARTS_MAX; i++)
		if (p->pref[i].q && p->pref[i].q->fifo[p->entry->log] != &p->pref[i])
			return false;
	return true;
}

/* Version given to @oid by the newest own entry under way, if there is one. */
bool log_last_assigned(const struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_version *v)
{
	struct objq *q;
	struct pref *tail;

	HASH_FIND(hh, c->log.objq, oid, sizeof(*oid), q);
	if (!q || !q->fifo[c->self])
		return false;
	tail = q->fifo[c->self]->prev;
	*v = nfs4r_entry_part(tail->pend->entry, oid)->after;
	return true;
}

/* ---- commit -------------------------------------------------------------------------- */

/* Entries that wait for another log: one of them has moved. */
static void wake_waiting(struct nfs4r_core *c)
{
	struct pend *p;

	EACH_LOG(c, s) {
		if (!c->log.logs[s].waits)
			continue;
		DL_FOREACH(c->log.logs[s].pend, p)
			if (p->entry->lsn == c->log.logs[s].waits) {
				log_pend_wake(c, p);
				break;
			}
	}
}

/* What is not pending is applied: `applied` is the entry before the oldest pending one. */
void log_apply_prefix(struct nfs4r_core *c, nfs4r_server_id log)
{
	struct logst *l = &c->log.logs[log];
	nfs4r_lsn before = l->applied, highest = 0;
	struct pend *p, *tmp;

	DL_FOREACH_SAFE(l->pend, p, tmp) {
		if (p->state != PEND_DONE && !FAULT(F_APPLIED_NOT_PREFIX))
			break;
		if (p->state != PEND_DONE)
			continue;
		highest = p->entry->lsn;
		DL_DELETE(l->pend, p);
		l->npend--;
		log_pend_free(c, p);
	}
	l->applied = l->pend ? l->pend->entry->lsn - 1 : l->received;
	if (FAULT(F_APPLIED_NOT_PREFIX) && highest > l->applied)
		l->applied = highest;
	if (l->applied == before)
		return;
	if (l->pend)
		log_pend_wake(c, l->pend); /* it may have waited for all before it */
	wake_waiting(c);
	c->dirty |= DIRTY_REPLY;
	if (log == c->self) {
		c->log_moved = true;
		return;
	}
	l->moved = true;
	c->dirty |= DIRTY_OBJECTS;
	control_election_barriers(c);
	control_announce_applied(c, log, before);
}

/*
 * An entry that changes the ancestors of an object (a move to another directory, a second name)
 * changes who this server asks for it. An update below that was completed because everybody still
 * asked (control 5.2, 5.3b) must not be missing here by then, so such an entry comes after all before it in
 * its log (control 9: "before S could see it elsewhere it would have applied the update").
 */
static bool changes_ancestors(const struct nfs4r_core *c, const struct nfs4r_entry *e)
{
	for (uint32_t i = 0; i < e->nparts && !FAULT(F_MOVE_OVERTAKES); i++) {
		const struct nfs4r_part *p = &e->parts[i];

		if ((p->effect == NFS4R_EFF_PARENT && !nfs4r_oid_eq(&p->parent, &p->parent_from)) ||
		    (p->effect == NFS4R_EFF_LINKS && p->parent_gained))
			return true;
	}
	return false;
}

/* What stood behind an entry that waited for another log may go on. */
static void waited(struct nfs4r_core *c, const struct pend *p)
{
	struct logst *l = &c->log.logs[p->entry->log];
	struct pend *q;

	if (l->waits != p->entry->lsn)
		return;
	l->waits = 0;
	DL_FOREACH(l->pend, q)
		log_pend_wake(c, q);
}

/* What the entry adds to the log's own state, before it is in the tree. */
void log_apply_before_commit(struct nfs4r_core *c, const struct nfs4r_entry *e)
{
	if (e->log == c->self && changes_ancestors(c, e))
		control_joined_ancestors_until(c, e->lsn);
}

/* It is in the tree. What stood behind it may go on; the contiguous part of its log follows with log_apply_prefix(). */
void log_apply_committed(struct nfs4r_core *c, struct pend *p)
{
	struct nfs4r_entry *e = p->entry;

	c->st.entries_applied += !p->opx && !p->intent && !p->made;
	if (p->intent && !--c->undecided)
		c->dirty |= DIRTY_OPS | DIRTY_OBJECTS;
	if (e->lsn > c->log.logs[e->log].highest)
		c->log.logs[e->log].highest = e->lsn;
	if (e->log == c->self)
		log_quorum_note(c, e->lsn);
	p->opx = NULL;
	log_trouble_forget(c, p);
	enqueue_beyond(c, p);
	waited(c, p);
}

/* ---- the version test --------------------------------------------------------------------- */

enum verdict {
	APPLY,
	SKIP,
	WAIT,
	CORRUPT
};

static enum verdict test(struct nfs4r_core *c, const struct nfs4r_part *p)
{
	struct nfs4r_facts f;

	if (p->effect == NFS4R_EFF_CLIENT) /* of no object (base/client.h) */
		return SKIP;
	control_is_known(c, &p->oid, &f);
	if (f.known == NFS4R_DEAD)
		return SKIP;
	if (f.known == NFS4R_NOT_YET)
		f.version = 0;
	if (f.version >= p->after)
		return FAULT(F_NO_SKIP) ? APPLY : SKIP;
	if (f.version == p->before)
		return APPLY;
	if (f.version < p->before)
		return FAULT(F_NO_VERSION_WAIT) ? APPLY : WAIT;
	return CORRUPT;
}

/*
 * A directory that changes parents waits for what was there where it was moved, also of other logs: objects' versions alone would
 * let a server that catches up make a ring of two moves that never stood side by side.
 */
static bool too_early(const struct nfs4r_core *c, const struct nfs4r_entry *e)
{
	EACH_OTHER_LOG(c, s)
		if (c->log.logs[s].applied < e->after[s] && s != e->log && !FAULT(F_MOVE_BEFORE_OTHERS))
			return true;
	return false;
}

/*
 * What part @i would be applied to has another log beyond its prefix: a restart would give that up, and keep this. (Not so what the copy has already,
 * and only skips: one that was made anew may be ahead of all logs, and what is older there must not wait for what is newer.)
 */
static bool builds_on_hole(const struct nfs4r_core *c, const struct pend *p, uint32_t i)
{
	const struct pref *r;

	DL_FOREACH(p->pref[i].q->beyond, r)
		if (r->pend->entry->log != p->entry->log)
			return !FAULT(F_BUILDS_ON_HOLE);
	return false;
}

/* It is tried again when the entry it waits for is committed, or another log has moved. */
static void wait_for_others(struct logst *l, const struct pend *p)
{
	if (!l->waits || p->entry->lsn < l->waits)
		l->waits = p->entry->lsn;
}

/* Log 3.4: all parts can be applied or skipped, or the whole entry waits. True: there is nothing left to apply, it is to be committed. */
static bool try_apply(struct nfs4r_core *c, struct pend *p)
{
	struct logst *l = &c->log.logs[p->entry->log];
	uint32_t mask = 0;

	if (log_trouble_waits(c, p) || (l->waits && p->entry->lsn > l->waits))
		return false;
	if (changes_ancestors(c, p->entry) && c->log.logs[p->entry->log].applied + 1 < p->entry->lsn)
		return false; /* log_apply_prefix() wakes it */
	if (too_early(c, p->entry)) {
		wait_for_others(l, p);
		return false;
	}
	for (uint32_t i = 0; i < p->entry->nparts; i++) {
		enum verdict v = test(c, &p->entry->parts[i]);

		switch (v == APPLY && builds_on_hole(c, p, i) ? WAIT : v) {
		case APPLY:
			if (p->entry->parts[i].effect != NFS4R_EFF_NONE && p->entry->parts[i].effect != NFS4R_EFF_LOCKS) /* these change no files */
				mask |= 1u << i;
			break;
		case SKIP:
			break;
		case WAIT:
			wait_for_others(l, p);
			return false;
		case CORRUPT:
			out_halt(c, "the version of an object lies inside an update: this copy is corrupt (log 3.4)");
			return false;
		}
	}
	memset(p->by, 0, sizeof(p->by));
	mask &= ~log_moot_parts(c, p, mask);
	p->mask = mask;
	if (!mask)
		return true;
	p->state = PEND_BUSY;
	log_trouble_begun(c, p);
	out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_APPLY, .apply = { .entry = nfs4r_entry_get(p->entry), .mask = mask, .tries = p->tries, .aside = p->aside } });
	return false;
}

/* The next entry that can be committed; NULL: none. What has to be applied first is given to the caller (ACT_APPLY) on the way. */
struct pend *log_apply_next(struct nfs4r_core *c)
{
	struct pend *p;

	while ((p = c->log.ready)) {
		DL_DELETE2(c->log.ready, p, rprev, rnext);
		p->woken = false;
		if (c->halted || !is_first(c, p))
			continue;
		if (p->state == PEND_EXECUTED || (p->state == PEND_QUEUED && state_seal_may_begin(c, p->entry) && try_apply(c, p)))
			return p;
	}
	return NULL;
}

void log_apply_done(struct nfs4r_core *c, const struct nfs4r_event *ev)
{
	const struct nfs4r_entry *e = ev->entry;
	struct objq *q;
	struct pref *r;

	HASH_FIND(hh, c->log.objq, &e->parts[0].oid, sizeof(e->parts[0].oid), q);
	assert(q);
	DL_FOREACH(q->fifo[e->log], r) /* it is the first */
		if (r->pend->entry == e)
			break;
	assert(r && r->pend->state == PEND_BUSY && !r->pend->opx);
	r->pend->state = ev->ok ? PEND_EXECUTED : PEND_QUEUED;
	if (ev->ok)
		log_pend_wake(c, r->pend);
	else
		log_trouble_failed(c, r->pend, ev->status);
}

/* ---- ends of logs (log_seal.c, state_transfer.c) ------------------------------------------------------------ */

static void take_back(struct nfs4r_core *c, struct logst *l, struct pend *p)
{
	if (p->failed_ms) {
		log_fuzzy_begun(c, p->entry, p->mask);
		log_trouble_forget(c, p);
	}
	DL_DELETE(l->pend, p);
	l->npend--;
	log_pend_free(c, p);
}

/* What was received beyond @until has to come again. */
static void give_back(struct logst *l, nfs4r_lsn until)
{
	l->moved |= until < l->received;
	l->received = until;
	l->waits = l->pull_from = 0;
}

/* Entries from @from on that have not begun go; with 0 those that stand behind all that have. */
void log_apply_cut(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn from)
{
	struct logst *l = &c->log.logs[log];
	struct pend *p, *before;

	for (p = l->pend ? l->pend->prev : NULL; p; p = before) {
		before = p == l->pend ? NULL : p->prev;
		if (from ? p->entry->lsn < from : p->state != PEND_QUEUED)
			break;
		if (p->state == PEND_QUEUED)
			take_back(c, l, p);
	}
	give_back(l, l->pend ? l->pend->prev->entry->lsn : l->applied);
	log_apply_wake(c, log);
}

/* Everything that is not applied goes; it comes again. Nothing is under way. */
void log_apply_drop_all(struct nfs4r_core *c)
{
	EACH_LOG(c, s) {
		struct logst *l = &c->log.logs[s];

		while (l->pend)
			take_back(c, l, l->pend);
		give_back(l, l->applied);
	}
}

void log_apply_wake(struct nfs4r_core *c, nfs4r_server_id log)
{
	struct pend *p;

	DL_FOREACH(c->log.logs[log].pend, p)
		if (p->state == PEND_QUEUED)
			log_pend_wake(c, p);
}

bool log_apply_is_idle(const struct nfs4r_core *c, nfs4r_server_id log)
{
	const struct pend *p;

	DL_FOREACH(c->log.logs[log].pend, p)
		if (p->state == PEND_BUSY || p->state == PEND_EXECUTED)
			return false;
	return true;
}

/* ---- received --------------------------------------------------------------------------------- */

static bool sane(const struct nfs4r_entry *e, nfs4r_server_id log)
{
	if (e->log != log || e->lsn == 0 || e->nparts == 0 || e->nparts > NFS4R_PARTS_MAX)
		return false;
	for (uint32_t i = 0; i < e->nparts; i++) {
		if (e->parts[i].before >= e->parts[i].after || nfs4r_oid_is_zero(&e->parts[i].oid))
			return false;
		for (uint32_t j = 0; j < i; j++)
			if (nfs4r_oid_eq(&e->parts[i].oid, &e->parts[j].oid))
				return false;
	}
	if (e->joined.pid.server == 0)
		return true;
	return e->joined.pid.server == log && (e->joined.kind == NFS4R_CREATED || e->joined.kind == NFS4R_MOVED) &&
		e->joined.control.depth >= NFS4R_SHALLOW && e->joined.control.depth <= NFS4R_DEEP_PLUS;
}

/* True: taken, with the reference. */
static bool receive(struct nfs4r_core *c, struct nfs4r_entry *e)
{
	struct logst *l = &c->log.logs[e->log];

	if (e->lsn <= l->received || l->npend >= PENDING_MAX || e->lsn > state_seal_limit(c, e->log))
		return false;
	if (e->lsn > l->received + 1) {
		if (NFS4R_GEN(e->lsn) == NFS4R_GEN(l->received)) /* else the older ones are not applied, or not known to end */
			log_pull(c, e->log);
		return false;
	}
	l->received = e->lsn;
	l->received_bytes += nfs4r_entry_bytes(e);
	state_log_heard(c, e->log, e->lsn);
	if (e->log == c->self)
		log_bytes(c, e->lsn, nfs4r_entry_bytes(e));
	log_pend_wake(c, log_pend_add(c, e, NULL));
	return true;
}

void log_apply_drop_entries(struct nfs4r_msg *m)
{
	for (uint32_t i = 0; i < m->entries.n; i++)
		nfs4r_entry_put(m->entries.entries[i]);
	m->entries.n = 0;
}

void log_apply_on_entries(struct nfs4r_core *c, nfs4r_server_id from, struct nfs4r_msg *m)
{
	nfs4r_server_id log = m->entries.log;
	uint32_t n = m->entries.n;
	bool usable = log && log <= NFS4R_SERVERS_MAX && (c->known & NFS4R_BIT(log)) && !c->halted &&
		(log != c->self || c->recovering) && state_memory_whole(c);

	m->entries.n = 0; /* the references are ours now, the array stays the caller's */
	if (usable)
		state_log_heard(c, log, m->entries.end);
	for (uint32_t i = 0; i < n; i++) {
		struct nfs4r_entry *e = m->entries.entries[i];

		if (usable && !sane(e, log)) {
			c->st.bad_messages++;
			usable = false;
		}
		if (!usable || !receive(c, e))
			nfs4r_entry_put(e);
	}
}
