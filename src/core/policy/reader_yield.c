/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Control of directories ends sooner when readers wait for it (control 7.11).
 *
 * A READ of another server shows that somebody there pays a round trip for each name, because this
 * server controls the directory. Claims that cover it and consist of directories end read_ms after
 * their last use; a use before that puts it off, and after a while without READs takes it back. A
 * file that is written below is a use: who writes one is going to rename it. With a directory go those below it that are as idle.
 *
 * Who needs what was let go before its own time would have ended pays an election for that: the
 * directory then waits longer, and after the next time it is kept for a while as if nobody read. Any moment is safe: this only decides who pays.
 */
#include "core/policy/policy_int.h"

#define PINNED_MS 10000 /* who pauses between updates pays two elections in so long */
#define MISSED_TIMES 5 /* after the first of them it takes so many times as long */
#define ROUND_TRIP_PART 6 /* a pause is no shorter than this part of the round trip that an election would take */
#define LOOK_MS 10 /* what is in use is looked at again all at once, no sooner */
#define WRITING_MAX 64 /* directories with files that are open for writing, that are looked at one by one */

static bool only_directories(struct nfs4r_core *c, const struct claim *cl)
{
	struct nfs4r_facts f;

	for (uint32_t i = 0; i < cl->n; i++)
		if (!control_is_known(c, &cl->ctl[i].oid, &f) || f.type != NFS4R_TYPE_DIR)
			return false;
	return true;
}

static bool is_marked(const struct nfs4r_core *c, struct oidmark *table, const struct claim *cl)
{
	for (uint32_t i = 0; i < cl->n; i++)
		if (control_mark_lasts(c, table, &cl->ctl[i].oid))
			return true;
	return false;
}

static bool is_pinned(const struct nfs4r_core *c, const struct claim *cl)
{
	return is_marked(c, c->policy.pinned, cl);
}

uint32_t policy_yield_ms(const struct nfs4r_core *c, const struct own *ow)
{
	uint64_t part = control_holdoff_ms(c) / (2 * ROUND_TRIP_PART), ms = part > c->cfg.read_ms ? part : c->cfg.read_ms;

	ms *= is_marked(c, c->policy.missed, ow->claim) ? MISSED_TIMES : 1;
	return c->cfg.read_ms && ms < c->cfg.deep_ms && !is_pinned(c, ow->claim) ? (uint32_t)ms : c->cfg.deep_ms;
}

/* deep+ has rules of its own (control 7.9), and so has what a revoke or the policy gave an end to. */
static bool may_yield(struct nfs4r_core *c, const struct own *ow)
{
	return own_is_acting(ow) && own_takes_operations(ow) && ow->end != OWN_END_SET && !own_is_deep_plus(ow) && only_directories(c, ow->claim) &&
		!is_pinned(c, ow->claim);
}

static uint64_t last_use(const struct nfs4r_core *c, const struct own *ow)
{
	return ow->below_ms > ow->used_ms && !FAULT(F_YIELD_WRITTEN) ? ow->below_ms : ow->used_ms;
}

static uint64_t yield_end(const struct nfs4r_core *c, const struct own *ow)
{
	return last_use(c, ow) + policy_yield_ms(c, ow);
}

static bool was_read(const struct nfs4r_core *c, const struct own *ow)
{
	return ow->read_ms && c->now < ow->read_ms + c->cfg.deep_ms;
}

bool policy_yield_is_read(struct nfs4r_core *c, const struct own *ow)
{
	return was_read(c, ow) && !own_is_deep_plus(ow) && only_directories(c, ow->claim);
}

static void note_read(const struct nfs4r_core *c, struct own *ow)
{
	ow->read_ms = c->now ? c->now : 1;
}

/* It ends, soon, at a multiple of @step, unless its own timer ends it before that. */
static bool give_end(struct nfs4r_core *c, struct own *ow, uint32_t step)
{
	uint64_t end = yield_end(c, ow);

	if (!may_yield(c, ow) || end >= control_idle_end(c, ow))
		return false;
	control_release_for_readers(c, ow, (end + step - 1) / step * step);
	return true;
}

/* Another server reads @oid here. true: something ends, perhaps at once. */
bool policy_yield_read(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct nfs4r_facts f;
	struct walk w;
	struct ctl *k;
	bool ends = false;

	if (!c->cfg.read_ms || !control_is_known(c, oid, &f) || f.type != NFS4R_TYPE_DIR || quorum_away(c)) /* it could not be released */
		return false;
	control_walk_begin(&w, oid);
	do {
		for (k = control_of(c, &w.oid); k; k = k->next) {
			struct own *ow = k->claim->own;

			if (!ow || (w.level && k->depth < NFS4R_DEEP))
				continue;
			note_read(c, ow);
			if (ow->end == OWN_END_IDLE)
				ends |= give_end(c, ow, 1);
		}
	} while (control_walk_up(c, &w));
	return ends;
}

/* ---- files that are written ------------------------------------------------------------------ */

static void touch(struct nfs4r_core *c, const struct nfs4r_oid *file)
{
	struct walk w;
	struct ctl *k;

	control_walk_begin(&w, file);
	while (control_walk_up(c, &w))
		for (k = control_of(c, &w.oid); k; k = k->next)
			if (k->claim->own && (w.level == 1 || k->depth >= NFS4R_DEEP))
				k->claim->own->below_ms = c->now;
}

void policy_yield_touch(struct nfs4r_core *c, const struct nfs4r_oid *file)
{
	if (!c->cfg.read_ms || (c->now < c->policy.touched_ms + c->cfg.read_ms / 4 && nfs4r_oid_eq(file, &c->policy.touched)))
		return;
	c->policy.touched = *file;
	c->policy.touched_ms = c->now;
	touch(c, file);
}

static void writer_goes(struct nfs4r_core *c, struct writer *wr)
{
	control_mark_count(&c->policy.writing, &wr->dir, -1);
	HASH_DEL(c->policy.writers, wr);
	free(wr);
}

void policy_yield_opened(struct nfs4r_core *c, const struct nfs4r_oid *file, bool open)
{
	struct nfs4r_facts f;
	struct writer *wr;

	HASH_FIND(hh, c->policy.writers, file, sizeof(*file), wr);
	if (!open && wr) {
		touch(c, file);
		writer_goes(c, wr);
	}
	if (!open || wr || !c->cfg.read_ms || !control_is_known(c, file, &f) || control_is_multi(&f) || !f.nparents)
		return;
	wr = out_xcalloc(1, sizeof(*wr));
	wr->file = *file;
	wr->dir = f.parent;
	HASH_ADD(hh, c->policy.writers, file, sizeof(wr->file), wr);
	control_mark_count(&c->policy.writing, &wr->dir, 1);
}

/* Is a file open for writing that @ow would cover? With very many directories that have one: yes. */
static bool is_written(struct nfs4r_core *c, const struct own *ow)
{
	struct oidmark *m, *tmp;

	for (uint32_t i = 0; i < ow->claim->n; i++) {
		const struct ctl *k = &ow->claim->ctl[i];

		if (control_mark_find(c->policy.writing, &k->oid))
			return true;
		if (k->depth < NFS4R_DEEP)
			continue;
		if (HASH_COUNT(c->policy.writing) > WRITING_MAX)
			return true;
		HASH_ITER(hh, c->policy.writing, m, tmp)
			if (control_is_under(c, &m->oid, &k->oid))
				return true;
	}
	return false;
}

/* Or was it, within the time that it takes to yield? While not all have acked it, what was done under it may wait for that. */
static bool in_use(struct nfs4r_core *c, struct own *ow)
{
	if (is_written(c, ow) || (ow->claim->kind == NFS4R_PROPOSED && !state_claim_acked_by_all(c, ow->claim)))
		ow->below_ms = c->now;
	return ow->users || ow->pins || (c->now < yield_end(c, ow) && !FAULT(F_YIELD_IN_USE));
}

/* ---- the end --------------------------------------------------------------------------------- */

static void let_go(struct nfs4r_core *c, struct own *ow)
{
	c->st.yielded++;
	note_read(c, ow);
	for (uint32_t i = 0; i < ow->claim->n; i++)
		control_mark_until(c, &c->policy.let_go, &ow->claim->ctl[i].oid, control_idle_end(c, ow));
}

/* @ow yields, and its time is over. false: it is in use, and has another end or none. Else the caller closes it. */
bool policy_yield_over(struct nfs4r_core *c, struct own *ow)
{
	struct own_list l;

	if (in_use(c, ow)) {
		if (ow->users || ow->pins)
			control_claim_used(c, ow);
		if (!was_read(c, ow) || !give_end(c, ow, LOOK_MS))
			control_release_no_end(c, ow);
		return false;
	}
	let_go(c, ow);
	for (uint32_t i = 0; i < ow->claim->n; i++) {
		control_anc_own_below(c, &ow->claim->ctl[i].oid, &l);
		for (uint32_t j = 0; j < l.n; j++)
			if (l.v[j] != ow && may_yield(c, l.v[j]) && !in_use(c, l.v[j])) {
				let_go(c, l.v[j]);
				control_claim_start_closing(c, l.v[j]);
			}
		free(l.v);
	}
	return true;
}

/* @oid is needed again, and had to be elected or opened again. Would it not, but for what yielded? */
void policy_yield_regret(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct walk w;

	if (!c->policy.let_go || FAULT(F_YIELDS_AGAIN))
		return;
	control_walk_begin(&w, oid);
	do {
		if (control_mark_lasts(c, c->policy.let_go, &w.oid)) {
			c->st.yield_regrets++;
			control_mark_until(c, control_mark_lasts(c, c->policy.missed, &w.oid) ? &c->policy.pinned : &c->policy.missed, &w.oid, c->now + PINNED_MS);
		}
		control_mark_drop(&c->policy.let_go, &w.oid);
	} while (control_walk_up(c, &w));
}
