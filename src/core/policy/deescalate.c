/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Policy of hierarchical control: when to be content with less (control 7.1, 7.4, 7.5, 7.9).
 *
 * Every deep claim remembers which directories this server updated below it lately. An update below
 * keeps it (the timer of control 7.1 begins anew); updates of old files keep a deep+, and nothing but those.
 *
 * When others want something below a deep claim, it is narrowed: a claim for what is used elsewhere
 * below is elected first, then the deep one closes. READs that others send only because of a deep
 * claim, for what is not being updated here, count as such a wish when they are many. A deep+ goes
 * when no old file needs it or its READs outweigh what it saves; where directories are still updated
 * under it, plain deep control is elected first.
 */
#include "core/policy/policy_int.h"

#define POSTPONE_MS 20 /* a claim whose replacement is being elected looks again after */

/* ---- use ---------------------------------------------------------------------------------- */

struct policy { /* what is used below a deep claim */
	struct {
		struct nfs4r_oid dir;
		uint64_t ms; /* 0: free */
	} use[USES];
	uint64_t reads; /* READs of others answered under it, in all */
	uint64_t wishes; /* those for what is not used here, since the last look */
	uint64_t saved; /* deep+: updates of old files */
	struct nfs4r_oid wish; /* the last of them */
	struct nfs4r_oid wanted; /* by the last revoke of something that it covers */
	bool is_wanted;
	uint64_t replacement; /* seq of the claim that is to replace it, 0 if none is asked for */
	bool pressed;
};

static struct policy *pol(struct own *ow)
{
	if (!ow->pol)
		ow->pol = out_xcalloc(1, sizeof(*ow->pol));
	return ow->pol;
}

static void note_use(struct nfs4r_core *c, struct own *ow, const struct nfs4r_oid *dir)
{
	struct policy *p = pol(ow);
	uint32_t oldest = 0;

	for (uint32_t i = 0; i < USES; i++) {
		if (p->use[i].ms && nfs4r_oid_eq(&p->use[i].dir, dir)) {
			p->use[i].ms = c->now + 1;
			return;
		}
		if (p->use[i].ms < p->use[oldest].ms)
			oldest = i;
	}
	p->use[oldest].dir = *dir;
	p->use[oldest].ms = c->now + 1; /* 0 is "free" */
}

static bool used_within(const struct nfs4r_core *c, const struct policy *p, uint32_t i, uint32_t ms)
{
	return p->use[i].ms && c->now < p->use[i].ms + ms;
}

static bool recent(const struct nfs4r_core *c, const struct policy *p, uint32_t i)
{
	return used_within(c, p, i, c->cfg.deep_ms);
}

/* A directory update below keeps deep control, not deep+ (control 7.9). */
static void dir_used(struct nfs4r_core *c, const struct nfs4r_oid *dir)
{
	struct walk w;
	struct ctl *k;

	control_walk_begin(&w, dir);
	do {
		for (k = control_of(c, &w.oid); k; k = k->next) {
			struct own *ow = k->claim->own;

			if (!ow || !own_is_acting(ow) || k->depth < NFS4R_DEEP)
				continue;
			note_use(c, ow, dir);
			if ((!own_is_deep_plus(ow) || FAULT(F_DIRS_KEEP_PLUS)) && (!policy_wanted(ow) || nfs4r_oid_eq(dir, &ow->pol->wanted)))
				control_claim_used(c, ow); /* wanted by others: what is used elsewhere is kept otherwise */
		}
	} while (control_walk_up(c, &w));
}

static void old_file_used(struct nfs4r_core *c, const struct nfs4r_oid *file)
{
	struct walk w;
	struct ctl *k;

	for (k = control_of(c, file); k; k = k->next)
		if (k->claim->own && own_is_acting(k->claim->own))
			return;
	if (!c->control.own_deep_plus)
		return;
	control_walk_begin(&w, file);
	while (control_walk_up(c, &w))
		for (k = control_of(c, &w.oid); k; k = k->next)
			if (k->claim->own && own_is_acting(k->claim->own) && k->depth == NFS4R_DEEP_PLUS) {
				pol(k->claim->own)->saved++;
				control_claim_used(c, k->claim->own);
			}
}

/* @o is about to execute: timers of the deep controls that it uses. File updates do not keep plain deep ones. */
void policy_used(struct nfs4r_core *c, const struct opx *o)
{
	const struct needs *nd = &o->needs;
	struct nfs4r_facts f;

	for (uint32_t i = 0; i < nd->nargs && !o->remote; i++) { /* what others forward does not keep it from them */
		if (!control_is_known(c, &nd->args[i], &f))
			continue;
		if (f.type == NFS4R_TYPE_DIR)
			dir_used(c, &nd->args[i]);
		else if (nfs4r_op_is_file_update(o->op->type)) {
			old_file_used(c, &nd->args[i]);
			policy_yield_touch(c, &nd->args[i]);
		}
	}
}

uint64_t policy_reads(const struct own *ow)
{
	return ow->pol ? ow->pol->reads : 0;
}

/* ---- narrowing ------------------------------------------------------------------------------- */

/* Is @n covered by an own claim that stays, other than @ow? */
static bool is_pinned_anyway(struct nfs4r_core *c, const struct own *ow, const struct nfs4r_oid *oid, uint32_t depth)
{
	struct walk w;
	struct ctl *k;

	control_walk_begin(&w, oid);
	do {
		for (k = control_of(c, &w.oid); k; k = k->next) {
			const struct own *o = k->claim->own;

			if (o && o != ow && own_is_acting(o) && own_takes_operations(o) && o->end != OWN_END_SET && !own_is_deep_plus(o) &&
			    k->depth >= (w.level ? NFS4R_DEEP : depth))
				return true;
		}
	} while (control_walk_up(c, &w));
	return false;
}

/* One of at least @depth. */
static bool is_control_of(const struct claim *cl, const struct nfs4r_oid *oid, uint32_t depth)
{
	for (uint32_t i = 0; i < cl->n; i++)
		if (nfs4r_oid_eq(&cl->ctl[i].oid, oid) && cl->ctl[i].depth >= depth)
			return true;
	return false;
}

/*
 * The highest directory from @use upwards that does not contain @wanted, below the claim's own: control of it keeps what is
 * used there. Where @use itself contains @wanted, shallow control of it. false: nothing can be kept.
 */
static bool keep_of(struct nfs4r_core *c, const struct own *ow, const struct nfs4r_oid *use, const struct nfs4r_oid *wanted,
		    struct nfs4r_control *out)
{
	struct walk w;
	bool found = false;

	if (nfs4r_oid_eq(use, wanted))
		return false;
	if (control_is_under(c, wanted, use)) {
		*out = (struct nfs4r_control){ *use, NFS4R_SHALLOW };
		return true;
	}
	control_walk_begin(&w, use);
	do {
		if (control_is_under(c, wanted, &w.oid))
			return found;
		*out = (struct nfs4r_control){ w.oid, NFS4R_DEEP };
		if (is_control_of(ow->claim, &w.oid, NFS4R_SHALLOW))
			return true; /* one of several, and not the one that is wanted */
		found = true;
	} while (control_walk_up(c, &w));
	return false; /* not below the claim any more */
}

/* @below: all below @wanted is to be clear, so nothing there is kept. */
static uint32_t keep_set(struct nfs4r_core *c, struct own *ow, const struct nfs4r_oid *wanted, bool below,
			 struct nfs4r_control v[USES])
{
	struct policy *p = ow->pol;
	uint32_t n = 0;

	for (uint32_t i = 0; p && i < USES; i++) {
		bool dup = false;

		if (!recent(c, p, i) || (below && control_is_under(c, &p->use[i].dir, wanted)) || !keep_of(c, ow, &p->use[i].dir, wanted, &v[n]) ||
		    is_pinned_anyway(c, ow, &v[n].oid, v[n].depth))
			continue;
		for (uint32_t j = 0; j < n; j++)
			dup |= nfs4r_oid_eq(&v[j].oid, &v[n].oid);
		n += !dup;
	}
	return n;
}

/* Is a claim that is to replace @ow still being elected? Then it is too early to let go. */
bool policy_replacing(struct nfs4r_core *c, const struct own *ow)
{
	struct claim *cl = ow->pol && ow->pol->replacement ? state_claim_find(c, c->self, ow->pol->replacement) : NULL;

	if (FAULT(F_WAIT_FOR_LOST) && ow->pol && ow->pol->replacement)
		return true;
	return cl && own_is_candidate(cl->own) && !FAULT(F_NARROW_AT_ONCE);
}

/* Another claim of this server that is to be narrowed may have asked for all of @v a moment ago. */
static struct own *asked_already(const struct nfs4r_core *c, const struct nfs4r_control *v, uint32_t n)
{
	struct own *o;

	DL_FOREACH2(c->control.asking, o, ask_next_own) {
		uint32_t i = 0;

		while (own_is_candidate(o) && own_is_side(o) && i < n && is_control_of(o->claim, &v[i].oid, v[i].depth))
			i++;
		if (i == n)
			return o;
	}
	return NULL;
}

/* Control 7.4, narrow: somebody wants @wanted, which @ow covers; ask for what is used elsewhere under it before it closes. */
static void deescalate(struct nfs4r_core *c, struct own *ow, const struct nfs4r_oid *wanted, bool below)
{
	struct nfs4r_control v[USES];
	struct own *kept;
	uint32_t n;

	policy_contest(c, ow->claim);
	if (policy_replacing(c, ow) || !c->cfg.deep || quorum_away(c))
		return;
	n = keep_set(c, ow, wanted, below, v);
	if (!n)
		return;
	kept = asked_already(c, v, n);
	if (!kept || FAULT(F_NARROWS_TWICE)) {
		c->st.deescalations++;
		kept = policy_ask(c, v, n);
	}
	pol(ow)->replacement = kept->claim->key.seq;
}

/* Others want @wanted of @ow, a deep claim. */
void policy_wants(struct nfs4r_core *c, struct own *ow, const struct nfs4r_oid *wanted)
{
	for (uint32_t i = 0; i < ow->claim->n; i++)
		if (control_is_under(c, wanted, &ow->claim->ctl[i].oid)) {
			pol(ow)->wanted = *wanted;
			ow->pol->is_wanted = true;
		}
}

/* A revoke for @wanted marks @ow. */
void policy_revoked(struct nfs4r_core *c, struct own *ow, const struct nfs4r_oid *wanted, bool below)
{
	if (!own_is_deep(ow))
		return;
	policy_wants(c, ow, wanted);
	deescalate(c, ow, wanted, below);
}

/* What others wanted of @ow, if it is known more closely than "what it controls". */
const struct nfs4r_oid *policy_wanted(const struct own *ow)
{
	return own_is_forced(ow) && ow->pol && ow->pol->is_wanted ? &ow->pol->wanted : NULL;
}

/*
 * Is @oid on its way to others, because they revoked it? Then it is not asked for again: new updates under new claims would
 * put off the release for ever (control 7.6).
 */
bool policy_giving(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct walk w;
	struct ctl *k;

	if (!c->control.closing)
		return false;
	control_walk_begin(&w, oid);
	do {
		for (k = control_of(c, &w.oid); k; k = k->next) {
			const struct own *ow = k->claim->own;
			const struct nfs4r_oid *wanted;

			if (!ow || ow->state != OWN_CLOSING || !own_is_forced(ow))
				continue;
			wanted = policy_wanted(ow);
			if (wanted ? nfs4r_oid_eq(wanted, oid) : !w.level)
				return true;
		}
	} while (control_walk_up(c, &w));
	return false;
}

/*
 * The timer of a deep+ has ended. If directories below are being updated under it and nothing else of this server covers
 * them, plain deep control comes first (control 7.9). true: wait for it.
 */
static bool drop_back(struct nfs4r_core *c, struct own *ow)
{
	struct nfs4r_control v = { ow->claim->ctl[0].oid, NFS4R_DEEP };
	bool used = false;

	if (policy_replacing(c, ow))
		return true;
	for (uint32_t i = 0; ow->pol && i < USES; i++)
		used |= recent(c, ow->pol, i);
	if (!used || ow->pol->replacement || is_pinned_anyway(c, ow, &v.oid, NFS4R_DEEP) || quorum_away(c))
		return false;
	pol(ow)->replacement = policy_ask(c, &v, 1)->claim->key.seq;
	return true;
}

/* May @ow start closing now that its time is over? Else look again at the time in *again. */
bool policy_may_close(struct nfs4r_core *c, struct own *ow, uint64_t *again)
{
	*again = c->now + POSTPONE_MS;
	if (policy_replacing(c, ow))
		return false;
	if (own_is_deep_plus(ow) && ow->claim->n == 1) {
		if (drop_back(c, ow))
			return false;
		c->st.drops++;
	}
	return true;
}

/* ---- READs of others ---------------------------------------------------------------------------- */

/* Does this server update what @oid is part of? Then its READs come here rightly. */
static bool in_use(struct nfs4r_core *c, const struct own *ow, const struct nfs4r_oid *oid)
{
	uint32_t ms = policy_yield_ms(c, ow);
	const struct policy *p = ow->pol;

	if (control_mark_find(c->policy.writing, oid)) /* files in it */
		return true;
	for (uint32_t i = 0; i < USES; i++) {
		if (!used_within(c, p, i, ms))
			continue;
		if (nfs4r_oid_eq(&p->use[i].dir, oid) ||
		    (!is_control_of(ow->claim, &p->use[i].dir, NFS4R_SHALLOW) && control_is_under(c, oid, &p->use[i].dir)))
			return true;
	}
	return false;
}

static bool too_many(const struct nfs4r_core *c, const struct own *ow)
{
	const struct policy *p = ow->pol;

	if (own_is_deep_plus(ow))
		return p->wishes >= c->cfg.share_reads + 4 * p->saved;
	return p->wishes >= c->cfg.share_reads;
}

/* READs that others send because of deep control of what is not being updated here. true: they are too many. */
static bool wishes(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct own *ow = NULL;
	struct nfs4r_facts f;
	struct walk w;
	struct ctl *k;

	if (!control_is_known(c, oid, &f))
		return false;
	control_walk_begin(&w, oid);
	do {
		for (k = control_of(c, &w.oid); k && !ow; k = k->next)
			if (k->claim->own && own_is_acting(k->claim->own) && (!w.level || k->depth >= NFS4R_DEEP))
				ow = k->claim->own;
	} while (!ow && control_walk_up(c, &w));
	if (!ow || !own_is_deep(ow))
		return false;
	pol(ow)->reads++;
	if (!c->cfg.share_reads || ow->state == OWN_CLOSING || ow->pol->pressed || (!own_is_deep_plus(ow) && in_use(c, ow, oid)))
		return false;
	ow->pol->wishes++;
	ow->pol->wish = *oid;
	if (!too_many(c, ow))
		return false;
	ow->pol->pressed = true;
	c->dirty |= DIRTY_POLICY;
	return true;
}

bool nfs4r_core_served(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	bool due = wishes(c, oid);

	c->st.reads_served++;
	return policy_yield_read(c, oid) || due;
}

/* The step after: narrow, or drop back. */
void policy_run(struct nfs4r_core *c)
{
	struct own *ow, *tmp;

	DL_FOREACH_SAFE(c->control.idle_deep, ow, tmp) {
		if (!ow->pol || !ow->pol->pressed || ow->state == OWN_CLOSING)
			continue;
		ow->pol->pressed = false;
		ow->pol->wishes = 0;
		if (own_is_deep_plus(ow)) { /* its time is over; control 7.9 as usual */
			policy_contest(c, ow->claim);
		} else {
			deescalate(c, ow, &ow->pol->wish, false);
		}
		control_release_at(c, ow, c->now);
	}
}
