/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What holds whenever a step has ended. core_assert_invariants() is part of every step, also of a shipped server: it looks at
 * positions, counters and sets, a few words for each server. Recounts that walk tables are in nfs4r_core_check(), which the
 * scenarios call after each step and the simulator from time to time; counts_are_right() is the part of it that is about operations.
 *
 * A core with a rule switched off (the faulty build) is not asked: what notices that is the rule's scenario, or a checker of the simulator.
 */
#include <stdio.h>

#include "core/door_int.h"

/* log/replicate.c: received >= applied >= stable in every log. */
static void assert_log(const struct logst *l)
{
	assert(l->received >= l->applied && l->applied >= l->stable && l->highest >= l->applied);
	assert(!l->npend == !l->pend);
	if (l->pend) /* ascending: the head's prev is the last */
		assert(l->pend->entry->lsn > l->applied && l->pend->prev->entry->lsn <= l->received && l->pend->prev->entry->lsn >= l->pend->entry->lsn);
}

/* Log 9.1: members are voters, voters are servers. */
static void assert_view(const struct nfs4r_view *v)
{
	assert(!(v->members & ~v->voters) && !(v->voters & ~v->servers));
}

/* Log 4.5: nothing says to a restart that such an entry was begun, so with it in memory only, what comes behind it would lie behind a hole. */
static bool made_are_in_the_tree(const struct nfs4r_core *c, char *why, size_t why_len)
{
	const struct pend *p;

	DL_FOREACH(c->log.logs[c->self].pend, p)
		if (p->made && p->state != PEND_DONE && !c->halted) {
			snprintf(why, why_len, "the own entry %llx was made without being executed, and is not in the tree", (unsigned long long)p->entry->lsn);
			return false;
		}
	return true;
}

void core_assert_invariants(const struct nfs4r_core *c)
{
	uint32_t claims = 0;

	if (c->cfg.fault)
		return;
	EACH_LOG(c, s)
		assert_log(&c->log.logs[s]);
	assert_view(&c->view.adopted);
	if (c->view.accepted.num)
		assert_view(&c->view.accepted);
	for (uint32_t s = 0; s <= NFS4R_SERVERS_MAX; s++)
		claims += c->control.nclaims_of[s];
	assert(claims == c->control.nclaims && HASH_COUNT(c->control.claims) == c->control.nclaims);
	assert(!c->ops.nops == (!c->ops.waiting && !c->ops.busy && !c->ops.answering));
	assert(!c->ops.mover || c->ops.mover->mover);
	assert(c->durable_step <= c->step && c->sync_asked <= c->step);
}

static uint32_t uses(const struct opx *list, const struct claim *cl, bool pins)
{
	const struct opx *o;
	uint32_t n = 0;

	DL_FOREACH(list, o)
		for (uint32_t i = 0; i < (pins ? o->npins : o->nholds); i++)
			n += (pins ? o->pins[i] : o->relies_on[i]) == cl;
	return n;
}

/* Holds and pins of own claims, recounted. */
static bool counts_are_right(const struct nfs4r_core *c, char *why, size_t why_len)
{
	const struct claim *cl, *tmp;
	const struct opx *lists[] = { c->ops.waiting, c->ops.busy, c->ops.answering };

	HASH_ITER(hh, c->control.claims, cl, tmp) {
		uint32_t users = 0, pins = 0;

		if (!cl->own)
			continue;
		for (uint32_t i = 0; i < 3; i++) {
			users += uses(lists[i], cl, false);
			pins += uses(lists[i], cl, true);
		}
		if (users != cl->own->users || pins != cl->own->pins) {
			snprintf(why, why_len, "claim %llu has %u holds and %u pins, its operations %u and %u", (unsigned long long)cl->key.seq, cl->own->users,
				 cl->own->pins, users, pins);
			return false;
		}
	}
	return true;
}

bool nfs4r_core_check(const struct nfs4r_core *c, char *why, size_t why_len)
{
	if (!c->cfg.fault && !log_fuzzy_all_named(c)) {
		snprintf(why, why_len, "an object is inexact, and not by any entry");
		return false;
	}
	return made_are_in_the_tree(c, why, why_len) && control_anc_check(c, why, why_len) && counts_are_right(c, why, why_len);
}
