/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Policy of hierarchical control: when to ask for more than an operation needs (control 4.1, 7.4,
 * control 7.8; paper 2.2). When to be content with less is in deescalate.c. Any moment is safe; what is
 * decided here only decides who pays how many round trips.
 *
 * A directory nobody else has anything below is asked for deeply (policy_may_deep). Whoever
 * still pays elections in several places below one directory asks for that directory, besides,
 * without an operation waiting for it (promotion). Whoever pays for several old files below one
 * directory asks for deep+ of it, so that their updates complete without a control of each (raise).
 *
 * A directory whose deep control was refused, or revoked, is contested for a while: shallow is asked
 * for it, where that will do.
 *
 * Claims of the policy are `side` claims: they yield to everybody, and count as won only when all
 * have acked, so that they never make a reply wait (control 5.2).
 *
 * heat[directory]: elections paid below it not long ago. Promoting a directory takes its elections
 * out of the heat of those above, so that climbing needs evidence from somewhere else.
 */
#include "core/policy/policy_int.h"

#define HEAT_MAX 4096 /* directories with heat [cold ones go; else not noted] */
#define FILES_WINDOW_MS 1000 /* "within a second" of control 7.8; more where elections take longer */

/* ---- round trips -------------------------------------------------------------- */

void policy_acked(struct nfs4r_core *c, nfs4r_server_id from, const struct own *ow)
{
	struct peer *p = &c->peers[from];
	uint64_t ms = c->now - ow->begun_ms;

	if (ow->asked_ms != ow->begun_ms || (ow->nacked & NFS4R_BIT(from)))
		return; /* asked twice: of which is this the answer? */
	p->rtt_ms = p->rtt_ms ? (7 * p->rtt_ms + ms + 4) / 8 : ms;
	if (!p->rtt_ms)
		p->rtt_ms = 1;
}

/* ---- contested directories --------------------------------------------------------- */

static bool contested(const struct nfs4r_core *c, const struct nfs4r_oid *dir)
{
	return control_mark_lasts(c, c->policy.contested, dir);
}

void policy_contest(struct nfs4r_core *c, const struct claim *cl)
{
	if (!c->cfg.contested_ms)
		return;
	for (uint32_t i = 0; i < cl->n; i++)
		if (cl->ctl[i].depth >= NFS4R_DEEP)
			control_mark_until(c, &c->policy.contested, &cl->ctl[i].oid, c->now + c->cfg.contested_ms);
}

/* Control 4.1, optional deep: @dir is needed shallow; may it be asked deep? */
bool policy_may_deep(struct nfs4r_core *c, const struct nfs4r_oid *dir)
{
	struct nfs4r_facts f;

	return c->cfg.deep && control_is_known(c, dir, &f) && f.type == NFS4R_TYPE_DIR && !contested(c, dir) &&
		!(control_anc_below(c, dir) & ~NFS4R_BIT(c->self));
}

/* ---- heat: promotion, raising ------------------------------------------------------ */

struct heat {
	struct nfs4r_oid oid; /* a directory */
	uint64_t since[2]; /* begin of the window */
	uint32_t paid[2];
	struct nfs4r_oid last[2]; /* the last object counted */
	uint64_t others_ms; /* somebody else was elected, or wanted to be, below; 0: never */
	UT_hash_handle hh;
};

enum {
	DIRS = 0,
	FILES = 1
};

static uint64_t window_ms(const struct nfs4r_core *c, int what)
{
	uint64_t slow = 2 * control_farthest_rtt(c) * c->cfg.deep_plus_count;

	if (what == DIRS)
		return c->cfg.escalate_ms;
	return slow > FILES_WINDOW_MS ? slow : FILES_WINDOW_MS;
}

static bool cold(const struct nfs4r_core *c, const struct heat *h, int what)
{
	return !h->paid[what] || c->now >= h->since[what] + window_ms(c, what);
}

static struct heat *heat_get(struct nfs4r_core *c, const struct nfs4r_oid *dir)
{
	struct heat *h, *tmp, *x;

	HASH_FIND(hh, c->policy.heat, dir, sizeof(*dir), h);
	if (h)
		return h;
	if (HASH_COUNT(c->policy.heat) >= HEAT_MAX)
		HASH_ITER(hh, c->policy.heat, x, tmp)
			if (cold(c, x, DIRS) && cold(c, x, FILES)) {
				HASH_DEL(c->policy.heat, x);
				free(x);
			}
	if (HASH_COUNT(c->policy.heat) >= HEAT_MAX)
		return NULL;
	h = out_xcalloc(1, sizeof(*h));
	h->oid = *dir;
	HASH_ADD(hh, c->policy.heat, oid, sizeof(h->oid), h);
	return h;
}

/* Own control of @dir, at least @depth, won or asked for, here or above. */
static bool have(struct nfs4r_core *c, const struct nfs4r_oid *dir, uint32_t depth)
{
	struct walk w;
	struct ctl *k;

	control_walk_begin(&w, dir);
	do {
		for (k = control_of(c, &w.oid); k; k = k->next)
			if (k->claim->own && own_takes_operations(k->claim->own) && k->depth >= depth)
				return true;
	} while (control_walk_up(c, &w));
	return false;
}

/* Control 7.4, 7.8: worth asking only if nobody else is known to be at or below @dir, or above it. */
static bool may_ask(struct nfs4r_core *c, const struct nfs4r_oid *dir, uint32_t depth)
{
	nfs4r_servers won;

	return policy_may_deep(c, dir) && !have(c, dir, depth) && !control_foreign_cover(c, dir, &won) &&
		control_holdoff_until(c, dir) <= c->now && !quorum_away(c);
}

struct own *policy_ask(struct nfs4r_core *c, const struct nfs4r_control *v, uint32_t n)
{
	return control_election_propose(c, v, n, 0, OWN_FOR_POLICY);
}

static bool hot(const struct nfs4r_core *c, const struct heat *h, int what)
{
	uint32_t limit = what == DIRS ? c->cfg.escalate_count : c->cfg.deep_plus_count;

	if (what == DIRS && h && h->others_ms && c->now < h->others_ms + c->cfg.escalate_ms && !FAULT(F_PROMOTES_OVER_OTHERS))
		return false;
	return limit && h && !cold(c, h, what) && h->paid[what] >= limit;
}

/* Those above keep what was paid elsewhere. */
static void collapse(struct nfs4r_core *c, const struct nfs4r_oid *dir, uint32_t paid, int what)
{
	struct heat *h;
	struct walk w;

	control_walk_begin(&w, dir);
	do {
		HASH_FIND(hh, c->policy.heat, &w.oid, sizeof(w.oid), h);
		if (!h)
			continue;
		h->paid[what] = h->paid[what] >= paid ? h->paid[what] - paid + (w.level != 0) : 0;
	} while (control_walk_up(c, &w));
}

/* An election had to be paid for @oid: warms every directory above it, and asks for the lowest that got hot. */
static void paid(struct nfs4r_core *c, const struct nfs4r_oid *oid, int what)
{
	uint32_t depth = what == DIRS ? NFS4R_DEEP : NFS4R_DEEP_PLUS;
	struct nfs4r_control want;
	struct heat *h, *pick = NULL;
	bool barred = false;
	struct own *ow;
	struct walk w;

	control_walk_begin(&w, oid);
	if (!c->cfg.deep || !control_walk_up(c, &w) || have(c, &w.oid, depth)) /* what will cover it is already asked for */
		return;
	do {
		h = heat_get(c, &w.oid);
		if (!h)
			return;
		if (cold(c, h, what)) {
			h->since[what] = c->now;
			h->paid[what] = 0;
		}
		barred |= contested(c, &w.oid) && !FAULT(F_CLIMBS_OVER_CONTESTED); /* all above covers that, too */
		if (nfs4r_oid_eq(&h->last[what], oid))
			continue;
		h->last[what] = *oid;
		h->paid[what]++;
		if (!pick && !barred && hot(c, h, what) && may_ask(c, &w.oid, depth))
			pick = h;
	} while (control_walk_up(c, &w));
	if (!pick)
		return;
	want = (struct nfs4r_control){ pick->oid, depth };
	collapse(c, &want.oid, pick->paid[what], what);
	*(what == DIRS ? &c->st.escalations : &c->st.raises) += 1;
	ow = policy_ask(c, &want, 1);
	if (what == DIRS)
		control_claim_promotes(ow);
}

/* An operation, or an old file that it wrote (control 3.8), had to ask for control of @oid. */
void policy_paid(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct nfs4r_facts f;

	policy_yield_regret(c, oid);
	if (control_is_known(c, oid, &f))
		paid(c, oid, f.type == NFS4R_TYPE_DIR ? DIRS : FILES);
}

/* Another server proposes @oid: directories above it are not this server's alone. */
void policy_others(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct heat *h;
	struct walk w;

	if (!c->policy.heat)
		return;
	control_walk_begin(&w, oid);
	while (control_walk_up(c, &w)) {
		HASH_FIND(hh, c->policy.heat, &w.oid, sizeof(w.oid), h);
		if (h)
			h->others_ms = c->now + !c->now;
	}
}

/* ---- claims won, lost --------------------------------------------------------------- */

static bool all_under(struct nfs4r_core *c, const struct claim *cl, const struct nfs4r_oid *dir)
{
	struct nfs4r_facts f;

	for (uint32_t i = 0; i < cl->n; i++)
		if (!control_is_known(c, &cl->ctl[i].oid, &f) || f.type != NFS4R_TYPE_DIR || nfs4r_oid_eq(&cl->ctl[i].oid, dir) ||
		    !control_is_under(c, &cl->ctl[i].oid, dir))
			return false;
	return true;
}

/* Control 7.4: what was elected below a promoted directory closes by the normal rule, now that the deep control is won. */
static void close_below(struct nfs4r_core *c, const struct own *escalated)
{
	const struct nfs4r_oid *dir = &escalated->claim->ctl[0].oid;
	struct own_list l;

	control_anc_own_below(c, dir, &l);
	for (uint32_t i = 0; i < l.n; i++) {
		struct own *ow = l.v[i];

		if (own_may_close(ow) && ow->claim->kind == NFS4R_PROPOSED && !own_is_deep_plus(ow) && !ow->users &&
		    all_under(c, ow->claim, dir))
			control_claim_start_closing(c, ow);
	}
	free(l.v);
}

void policy_won(struct nfs4r_core *c, struct own *ow)
{
	if (ow->purpose == OWN_FOR_PROMOTION)
		close_below(c, ow);
}

/* The claim yields, was refused, or its time is over: all the same, somebody else is there. */
void policy_lost(struct nfs4r_core *c, struct own *ow)
{
	if (ow->purpose == OWN_FOR_OPERATION_DEEP)
		c->st.deep_refused++;
	if (own_is_side(ow) && own_is_deep_plus(ow))
		c->st.raises_lost++;
	else if (own_is_side(ow))
		c->st.escalations_lost++;
	if (ow->purpose != OWN_FOR_OPERATION)
		policy_contest(c, ow->claim);
}

void policy_fini(struct nfs4r_core *c)
{
	struct heat *h, *tmp;

	HASH_ITER(hh, c->policy.heat, h, tmp) {
		HASH_DEL(c->policy.heat, h);
		free(h);
	}
}
