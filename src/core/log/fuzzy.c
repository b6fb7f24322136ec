/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Copies whose bytes may be newer than their version (log 3.6, 3.9, 7.5).
 *
 * Happy path: bytes of an entry were read back when it was sent and are newer than the entry; it says so by its mark, the newest entry of the
 * object when the read ended. Whoever applies it remembers that the object is not exact before that entry is applied here, too. Meanwhile it does
 * not call the entry stable, and so nobody counts on it. When the entry is there, and stable, all of it is forgotten.
 *
 * Failure modes: the log of that entry is ended before it. Then the copy never becomes exact by itself: it is inexact, and this server, which is
 * not ready while it has such objects, takes each from a member that has it exact (recovery/fuzzy_repair.c). If all have it inexact, the one whose copy was exact
 * for the longest, then the one with the lowest id, takes its own for right, and gives the object a new version: an entry that changes nothing
 * and has the mark that cannot be redeemed, so that every other copy, also one that was away, is inexact by it and is made anew.
 *
 * Invariants: only the bytes of a version that is here are taken, so that nothing of entries comes along that a seal may give up before they are
 * here. A row 'X' is written in the commit of the entry that made an object not exact, and is there until the entry that makes it
 * exact again is stable. What is inexact names an entry that it waits for in vain, or waits for again. Of two entries of an object in one log
 * the later one holds the earlier: a mark in the same log is redeemed by any entry of the object that is not older. What an entry was promised for is exact at a majority, because of `stable`; so among those that vote for a seal is
 * one that has it exact, or was exact for longer than any that has not.
 */
#include "core/log/log_int.h"

struct fuzzy *log_fuzzy_add(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct fuzzy *t = out_xcalloc(1, sizeof(*t));

	t->oid = *oid;
	HASH_ADD(hh, c->log.fuzzy, oid, sizeof(t->oid), t);
	return t;
}

void log_fuzzy_set_state(struct nfs4r_core *c, struct fuzzy *t, enum fuzzy_state state)
{
	bool was = t->state == FUZZY_INEXACT, is = state == FUZZY_INEXACT;

	t->state = state;
	if (t->passed && state != FUZZY_OPEN) {
		t->passed = false;
		c->log.npassed--;
	}
	c->log.ninexact += is;
	c->log.ninexact -= was;
	if (was != is)
		state_view_check_ready(c);
}

static void forget(struct nfs4r_core *c, struct fuzzy *t)
{
	log_fuzzy_set_state(c, t, FUZZY_DONE);
	HASH_DEL(c->log.fuzzy, t);
	free(t);
}

/* Outside of a commit. */
void log_fuzzy_save(struct nfs4r_core *c, const struct fuzzy *t, bool del)
{
	struct nfs4r_put p;

	row_fuzzy(t, &p, del);
	out_put(c, &p);
}

void log_fuzzy_drop(struct nfs4r_core *c, struct fuzzy *t)
{
	log_fuzzy_save(c, t, true);
	forget(c, t);
}

void log_fuzzy_fini(struct nfs4r_core *c)
{
	struct fuzzy *t, *tmp;

	HASH_ITER(hh, c->log.fuzzy, t, tmp) {
		HASH_DEL(c->log.fuzzy, t);
		free(t);
	}
	free(c->mend.oids);
}

/* ---- the receiver (log 3.6) -------------------------------------------------------------- */

static bool is_open(const struct fuzzy *t)
{
	for (int s = 1; s <= NFS4R_SERVERS_MAX; s++)
		if (t->until[s])
			return true;
	return false;
}

static bool same_gen(nfs4r_lsn a, nfs4r_lsn b)
{
	return NFS4R_GEN(a) == NFS4R_GEN(b);
}

/* Everything that has to come is here; of an inexact object, too: an entry that was given back came again (log 4.11). */
static void check_done(struct nfs4r_core *c, struct fuzzy *t, nfs4r_server_id log, nfs4r_lsn lsn)
{
	if ((t->state != FUZZY_OPEN && (t->state != FUZZY_INEXACT || FAULT(F_GIVEN_BACK_STAYS))) || is_open(t))
		return;
	t->done_log = log;
	t->done_lsn = lsn;
	log_fuzzy_set_state(c, t, FUZZY_DONE);
}

static bool is_fuzzy(const struct nfs4r_core *c, const struct nfs4r_entry *e, const struct nfs4r_part *p)
{
	struct nfs4r_facts f;

	if (!e->fuzzy_log || e->fuzzy_log > NFS4R_SERVERS_MAX || (e->fuzzy_log == e->log && same_gen(e->fuzzy_lsn, e->lsn) && e->fuzzy_lsn <= e->lsn) ||
	    (p->effect != NFS4R_EFF_WRITE && p->effect != NFS4R_EFF_XATTR && p->effect != NFS4R_EFF_NONE))
		return false;
	c->tree.facts(c->tree.ctx, &p->oid, &f);
	return f.known == NFS4R_KNOWN && f.version < p->after; /* else it is skipped */
}

/* It lies beyond the end of its generation, which is over here. */
static bool never_was(const struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn lsn)
{
	return NFS4R_GEN(lsn) < NFS4R_GEN(c->log.logs[log].applied);
}

/* What never was stays: that is what others hear of it, and nothing redeems it. */
static void wait_for(const struct nfs4r_core *c, struct fuzzy *t, nfs4r_server_id log, nfs4r_lsn lsn)
{
	nfs4r_lsn *until = &t->until[log];

	if (*until < lsn && !(t->state == FUZZY_INEXACT && *until && never_was(c, log, *until)))
		*until = lsn;
}

/* It may have bytes of that entry from now on, and has those of version @exact. */
static void fuzzy_until(struct nfs4r_core *c, struct fuzzy *t, nfs4r_server_id log, nfs4r_lsn lsn, nfs4r_version exact)
{
	if (t->state != FUZZY_OPEN && t->state != FUZZY_INEXACT) {
		t->exact = exact;
		log_fuzzy_set_state(c, t, FUZZY_OPEN);
	}
	wait_for(c, t, log, lsn);
	if (never_was(c, log, lsn)) /* and it would be here if it had ever happened */
		log_fuzzy_set_state(c, t, FUZZY_INEXACT);
}

static void fuzzy_part(struct nfs4r_core *c, const struct nfs4r_entry *e, const struct nfs4r_part *p)
{
	struct fuzzy *t = state_fuzzy_find(c, &p->oid);
	bool fuzzy_since = is_fuzzy(c, e, p), dead = p->effect == NFS4R_EFF_LINKS && !p->nlink;
	struct nfs4r_put put;

	if (!t && !fuzzy_since)
		return;
	if (!t)
		t = log_fuzzy_add(c, &p->oid);
	if (dead)
		memset(t->until, 0, sizeof(t->until));
	if (dead && t->state == FUZZY_INEXACT)
		log_fuzzy_set_state(c, t, FUZZY_OPEN);
	if (t->until[e->log] && same_gen(t->until[e->log], e->lsn) && e->lsn >= t->until[e->log])
		t->until[e->log] = 0;
	check_done(c, t, e->log, e->lsn);
	if (fuzzy_since)
		fuzzy_until(c, t, e->fuzzy_log, e->fuzzy_lsn, p->before); /* it is about to be part of the tree */
	if (t->state != FUZZY_DONE && !t->low[e->log])
		t->low[e->log] = e->lsn;
	row_fuzzy(t, &put, false);
	out_commit_put(c, &put);
}

/* @made: by take_own(), below, or with a list of locks, which says nothing of the content. */
void log_fuzzy_commit(struct nfs4r_core *c, const struct nfs4r_entry *e, bool made)
{
	struct fuzzy *t;
	struct nfs4r_put put;

	if (!state_views_on(c))
		return;
	made = made && e->parts[0].effect != NFS4R_EFF_LOCKS;
	for (uint32_t i = 0; i < e->nparts && !made; i++)
		fuzzy_part(c, e, &e->parts[i]);
	if (!made || !(t = state_fuzzy_find(c, &e->parts[0].oid)))
		return;
	row_fuzzy(t, &put, true);
	out_commit_put(c, &put);
	forget(c, t);
}

/* Content in doubt is taken from a newer copy (log 4.6), whose server has that entry for good. */
void log_fuzzy_newer(struct nfs4r_core *c, const struct nfs4r_fuzzy_object *l)
{
	struct fuzzy *t = state_fuzzy_find(c, &l->oid);
	struct nfs4r_facts f;

	if (!state_views_on(c) || !l->log || l->log > NFS4R_SERVERS_MAX || !control_is_known(c, &l->oid, &f) || FAULT(F_NEWER_FORGOTTEN))
		return;
	if (!t)
		t = log_fuzzy_add(c, &l->oid);
	fuzzy_until(c, t, l->log, l->lsn, f.version);
	log_fuzzy_save(c, t, false);
}

/* In its commit: a part of @e that was not executed, since @by undoes it (log 4.13). */
void log_fuzzy_passed(struct nfs4r_core *c, const struct nfs4r_entry *e, uint32_t part, const struct nfs4r_entry *by)
{
	const struct nfs4r_part *p = &e->parts[part];
	struct fuzzy *t = state_fuzzy_find(c, &p->oid);
	struct nfs4r_put put;

	if (!state_views_on(c) || FAULT(F_PASSED_IS_EXACT))
		return;
	if (!t)
		t = log_fuzzy_add(c, &p->oid);
	fuzzy_until(c, t, by->log, by->lsn, p->before);
	c->log.npassed += t->state == FUZZY_OPEN && !t->passed;
	t->passed |= t->state == FUZZY_OPEN;
	if (!t->low[e->log])
		t->low[e->log] = e->lsn;
	row_fuzzy(t, &put, false);
	out_commit_put(c, &put);
}

/* An entry that failed is given back: a part of it may be here. If it comes again, and is applied, what it names is exact; it may never come (log 4.11). */
void log_fuzzy_begun(struct nfs4r_core *c, const struct nfs4r_entry *e, uint32_t mask)
{
	struct nfs4r_facts f;
	struct fuzzy *t;

	for (uint32_t i = 0; state_views_on(c) && i < e->nparts && !FAULT(F_BEGUN_IS_EXACT); i++) {
		if (!(mask & 1u << i) || !control_is_known(c, &e->parts[i].oid, &f))
			continue;
		t = state_fuzzy_find(c, &e->parts[i].oid);
		if (!t)
			t = log_fuzzy_add(c, &e->parts[i].oid);
		if (t->state != FUZZY_OPEN && t->state != FUZZY_INEXACT)
			t->exact = f.version;
		wait_for(c, t, e->log, e->lsn);
		log_fuzzy_set_state(c, t, FUZZY_INEXACT);
		log_fuzzy_save(c, t, false);
	}
}

/* ---- stable (log 3.9) --------------------------------------------------------------------- */

/* What is named and has no part for the object, since its primary lost it, is here when its log has come so far. */
static void redeem_by_position(struct nfs4r_core *c, struct fuzzy *t)
{
	nfs4r_server_id last = 0;
	nfs4r_lsn lsn = 0;

	EACH_LOG(c, s)
		if (t->until[s] && same_gen(t->until[s], c->log.logs[s].applied) && t->until[s] <= c->log.logs[s].applied) {
			last = s;
			lsn = t->until[s];
			t->until[s] = 0;
		}
	if (!last)
		return;
	check_done(c, t, last, lsn);
	log_fuzzy_save(c, t, false);
}

/* A checkpoint covers @stable. */
void log_fuzzy_stable(struct nfs4r_core *c, const nfs4r_lsn *stable)
{
	struct fuzzy *t, *tmp;

	HASH_ITER(hh, c->log.fuzzy, t, tmp) {
		if (t->state == FUZZY_OPEN)
			redeem_by_position(c, t);
		if (t->state == FUZZY_DONE && stable[t->done_log] >= t->done_lsn)
			log_fuzzy_drop(c, t);
	}
}

void log_fuzzy_started(struct nfs4r_core *c)
{
	EACH_LOG(c, s)
		c->log.logs[s].stable = state_fuzzy_limit(c, s, c->log.logs[s].stable);
}

/* ---- the sender (log 3.6) ------------------------------------------------------------------- */

static bool newer(nfs4r_server_id *log, nfs4r_lsn *lsn, nfs4r_server_id l, nfs4r_lsn n)
{
	if (*log && *log != l)
		return false;
	*log = l;
	*lsn = n > *lsn ? n : *lsn;
	return true;
}

/* An update of the object that is being executed or applied here follows what is in the tree. */
static void in_flight(const struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_server_id *log, nfs4r_lsn *lsn)
{
	const struct pref *r;
	struct objq *q;

	HASH_FIND(hh, c->log.objq, oid, sizeof(*oid), q);
	EACH_LOG(c, s)
		for (r = q ? q->fifo[s] : NULL; r && !FAULT(F_FUZZY_IN_FLIGHT); r = r->next)
			if (r->pend->state == PEND_BUSY || r->pend->state == PEND_EXECUTED) {
				*lsn = *log == s && *lsn > r->pend->entry->lsn ? *lsn : r->pend->entry->lsn;
				*log = s;
			}
}

bool nfs4r_core_moves(const struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	nfs4r_server_id log = 0;
	nfs4r_lsn lsn = 0;

	in_flight(c, oid, &log, &lsn);
	return log != 0;
}

/* An entry whose bytes may be here; of an inexact object one that never was, if the end of its log is known here. */
void log_fuzzy_waits_for(const struct nfs4r_core *c, const struct fuzzy *t, nfs4r_server_id *log, nfs4r_lsn *lsn)
{
	bool never = false;

	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		if (t->until[s] && !never) {
			*log = s;
			*lsn = t->until[s];
			never = never_was(c, s, *lsn);
		}
}

bool nfs4r_core_fuzzy(const struct nfs4r_core *c, struct nfs4r_entry *e, nfs4r_server_id last_log, nfs4r_lsn last_lsn, bool *await)
{
	const struct fuzzy *t = FAULT(F_FUZZY_OWN) ? NULL : state_fuzzy_find(c, &e->parts[0].oid);
	nfs4r_server_id log = last_log;
	nfs4r_lsn lsn = last_lsn;

	e->fuzzy_log = 0;
	e->fuzzy_lsn = 0;
	in_flight(c, &e->parts[0].oid, &log, &lsn);
	*await = true;
	if (t && t->state == FUZZY_INEXACT) { /* that one is newer than all, and never comes */
		*await = false;
		log_fuzzy_waits_for(c, t, &log, &lsn);
	}
	for (nfs4r_server_id s = 1; t && t->state == FUZZY_OPEN && s <= NFS4R_SERVERS_MAX; s++)
		if (t->until[s]) {
			*await = false; /* it is not here to wait for */
			if (!newer(&log, &lsn, s, t->until[s]))
				return false;
		}
	if (log == e->log && same_gen(lsn, e->lsn) && lsn <= e->lsn)
		return true;
	e->fuzzy_log = log;
	e->fuzzy_lsn = lsn;
	return true;
}

/* ---- at a seal (log 7.5) ---------------------------------------------------------------------- */

/* The log is about to be crossed at @seal. */
void log_fuzzy_crossed(struct nfs4r_core *c, nfs4r_server_id log, nfs4r_lsn seal)
{
	struct fuzzy *t, *tmp;

	HASH_ITER(hh, c->log.fuzzy, t, tmp) {
		bool named = t->state == FUZZY_OPEN && t->until[log] && same_gen(t->until[log], seal);

		if (!named && !t->low[log])
			continue;
		if (named && t->until[log] > seal && !FAULT(F_FUZZY_SEALED)) {
			log_fuzzy_set_state(c, t, FUZZY_INEXACT);
		} else if (named) {
			t->until[log] = 0;
			check_done(c, t, log, seal);
		}
		t->low[log] = 0; /* nobody counts any more on who has what of an ended log */
		log_fuzzy_save(c, t, false);
	}
}

/* Everything up to this version is in the bytes here, if nothing later took its place. */
static nfs4r_version exact_until(const struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	const struct fuzzy *t = state_fuzzy_find(c, oid);
	struct nfs4r_facts f;

	c->tree.facts(c->tree.ctx, oid, &f);
	if (f.known != NFS4R_KNOWN)
		return 0;
	return t && t->state != FUZZY_DONE ? t->exact : f.version;
}

/* Of two versions of an object of which one never was, the other one is older by right if it is lower: what comes after a seal is higher than both. */
bool nfs4r_core_keeps(const struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_version exact)
{
	return exact_until(c, oid) > exact && !FAULT(F_UNDO_EMPTIES);
}

/* A repair is about to make it what it is at the source, and there it is inexact by the entry that @l names. A crash on the way leaves no copy that seems to be exact. */
void log_fuzzy_noted(struct nfs4r_core *c, const struct nfs4r_fuzzy_object *l)
{
	nfs4r_version exact = exact_until(c, &l->oid);
	struct fuzzy *t = state_fuzzy_find(c, &l->oid);

	if (!t)
		t = log_fuzzy_add(c, &l->oid);
	assert(l->log && l->log <= NFS4R_SERVERS_MAX);
	t->exact = exact;
	t->until[l->log] = l->lsn;
	log_fuzzy_set_state(c, t, FUZZY_INEXACT);
	log_fuzzy_save(c, t, false);
}

/* All that is inexact says by what: others, and who takes its own copy for right, pass that on. */
bool log_fuzzy_all_named(const struct nfs4r_core *c)
{
	const struct fuzzy *t, *tmp;

	HASH_ITER(hh, c->log.fuzzy, t, tmp)
		if (t->state == FUZZY_INEXACT && !is_open(t))
			return false;
	return true;
}

/* ---- what others hear of it ------------------------------------------------------------- */

enum nfs4r_exactness nfs4r_core_exactness(const struct nfs4r_core *c, const struct nfs4r_oid *oid, struct nfs4r_fuzzy_object *out)
{
	const struct fuzzy *t = state_fuzzy_find(c, oid);

	memset(out, 0, sizeof(*out));
	out->oid = *oid;
	if (!t || t->state == FUZZY_DONE)
		return NFS4R_EXACT;
	out->exact = t->exact;
	log_fuzzy_waits_for(c, t, &out->log, &out->lsn);
	return t->state == FUZZY_OPEN ? NFS4R_EXACT_LATER : NFS4R_INEXACT;
}

bool nfs4r_core_is_sound_for(const struct nfs4r_core *c, const struct nfs4r_oid *oid, nfs4r_server_id peer)
{
	const struct fuzzy *t = state_fuzzy_find(c, oid);

	if (!t || t->state == FUZZY_DONE)
		return true;
	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		if (t->until[s] > (s == peer ? c->peers[s].applied[s] : 0))
			return false;
	return t->state == FUZZY_OPEN;
}

void log_fuzzy_restored(struct nfs4r_core *c, const struct fuzzy *row)
{
	struct fuzzy *t = log_fuzzy_add(c, &row->oid);

	log_fuzzy_set_state(c, t, row->state);
	t->exact = row->exact;
	t->done_log = row->done_log;
	t->done_lsn = row->done_lsn;
	memcpy(t->until, row->until, sizeof(t->until));
	memcpy(t->low, row->low, sizeof(t->low));
}

void log_fuzzy_copied(struct nfs4r_core *c, struct fuzzy *t, const struct nfs4r_fuzzy_object *l, const nfs4r_lsn *positions)
{
	if (!l->kept)
		t->exact = l->exact;
	for (nfs4r_server_id s = 1; positions && s <= NFS4R_SERVERS_MAX; s++) {
		nfs4r_lsn stable = state_repair_counts(c, s, c->log.logs[s].stable), begin = NFS4R_GEN(positions[s]) << NFS4R_GEN_SHIFT;

		t->low[s] = (stable > begin ? stable : begin) + 1;
	}
	log_fuzzy_save(c, t, false);
}
