/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Control of directories ends sooner when readers wait for it (control 7.11).
 *
 * A READ of another server shows that somebody there pays a round trip for each name, because this
 * server controls the directory. Claims that cover it and consist of directories end read_ms after
 * their last use; a use before that takes it back. With a directory go those below it that are as idle.
 *
 * Who needs what was let go before its own time would have ended pays an election for that: the
 * directory is then kept for a while as if nobody read. Any moment is safe: this only decides who pays.
 */
#include "core/core_int.h"

#define KEPT_MS 10000 /* who pauses between updates pays one election in so long */

static bool only_directories(struct nfs4r_core *c, const struct claim *cl)
{
	struct nfs4r_facts f;

	for (uint32_t i = 0; i < cl->n; i++)
		if (!is_known(c, &cl->ctl[i].oid, &f) || f.type != NFS4R_TYPE_DIR)
			return false;
	return true;
}

static bool is_kept(const struct nfs4r_core *c, const struct claim *cl)
{
	for (uint32_t i = 0; i < cl->n; i++)
		if (mark_lasts(c, c->kept, &cl->ctl[i].oid))
			return true;
	return false;
}

uint32_t yield_ms(const struct nfs4r_core *c, const struct own *ow)
{
	return c->cfg.read_ms && c->cfg.read_ms < c->cfg.deep_ms && !is_kept(c, ow->claim) ? c->cfg.read_ms : c->cfg.deep_ms;
}

/* deep+ has rules of its own (7.9), and so has what a revoke or the policy gave an end to. */
static bool may_yield(struct nfs4r_core *c, const struct own *ow)
{
	return ow->state == OWN_WON && !ow->closing && !ow->revoked && !ow->close_at && !ow->plus && only_directories(c, ow->claim) &&
	       !is_kept(c, ow->claim);
}

static uint64_t yield_end(const struct nfs4r_core *c, const struct own *ow)
{
	return ow->used_ms + c->cfg.read_ms;
}

/* Another server reads @oid here. true: something ends, perhaps at once. */
bool yield_read(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct nfs4r_facts f;
	struct walk w;
	struct ctl *k;
	bool ends = false;

	if (!c->cfg.read_ms || !is_known(c, oid, &f) || f.type != NFS4R_TYPE_DIR || who_is_away(c)) /* it could not be released */
		return false;
	walk_begin(&w, oid);
	do {
		for (k = controls_of(c, &w.oid); k; k = k->next) {
			struct own *ow = k->claim->own;

			if (!ow || (w.level && k->depth < NFS4R_DEEP) || !may_yield(c, ow) || yield_end(c, ow) >= idle_end(c, ow))
				continue;
			release_at(c, ow, yield_end(c, ow));
			ow->yields = ends = true;
		}
	} while (walk_up(c, &w));
	return ends;
}

static bool in_use(const struct own *ow)
{
	return ow->holds || ow->pins;
}

static void let_go(struct nfs4r_core *c, const struct own *ow)
{
	c->st.yielded++;
	for (uint32_t i = 0; i < ow->claim->n; i++)
		mark_until(c, &c->let_go, &ow->claim->ctl[i].oid, idle_end(c, ow));
}

/* @ow yields, and its time is over. false: it is in use. Else the caller closes it. */
bool yield_over(struct nfs4r_core *c, struct own *ow)
{
	struct own_list l;

	if (in_use(ow))
		return false;
	let_go(c, ow);
	for (uint32_t i = 0; i < ow->claim->n; i++) {
		anc_own_below(c, &ow->claim->ctl[i].oid, &l);
		for (uint32_t j = 0; j < l.n; j++)
			if (l.v[j] != ow && may_yield(c, l.v[j]) && !in_use(l.v[j]) && c->now >= yield_end(c, l.v[j])) {
				let_go(c, l.v[j]);
				claim_start_closing(c, l.v[j]);
			}
		free(l.v);
	}
	return true;
}

/* @oid is needed again, and had to be elected or opened again. Would it not, but for what yielded? */
void yield_regret(struct nfs4r_core *c, const struct nfs4r_oid *oid)
{
	struct walk w;

	if (!c->let_go || FAULT(F_YIELDS_AGAIN))
		return;
	walk_begin(&w, oid);
	do {
		if (mark_lasts(c, c->let_go, &w.oid)) {
			c->st.yield_regrets++;
			mark_until(c, &c->kept, &w.oid, c->now + KEPT_MS);
		}
		mark_drop(&c->let_go, &w.oid);
	} while (walk_up(c, &w));
}
