/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Repairs fuzzy objects: those whose bytes may be newer than their version for good (log 7.5). log/fuzzy.c says how an object becomes one.
 *
 * Happy path: this server takes each of them from a member that has it exact (state_transfer.c). If all have it inexact, the one whose copy was exact
 * for the longest takes its own for right and gives the object a new version.
 *
 * Failure modes: nobody can be asked: it asks again later, and says so in the log. A repair of everything (log 8.3) makes them exact as well.
 */
#include "core/recovery/recovery_int.h"

#define IN_VAIN_MAX 6 /* doublings of the time between two repairs of a list: 32 Retransmit_Intervals */

/* Of everybody whose log goes on: somebody who is away and not sealed may have taken its own copy for right. */
static bool is_ours_to_take(const struct nfs4r_core *c, const struct fuzzy *t)
{
	return !((c->view.adopted.open | c->view.adopted.members) & ~NFS4R_BIT(c->self) & ~t->worse);
}

/* This copy is right from now on, under a new version. */
static void take_own(struct nfs4r_core *c, struct fuzzy *t)
{
	struct nfs4r_entry *e;
	struct nfs4r_facts f;

	if (!control_is_known(c, &t->oid, &f)) {
		log_fuzzy_drop(c, t);
		return;
	}
	e = nfs4r_entry_new();
	assert(e);
	e->log = c->self;
	e->lsn = log_lsn_next(c);
	e->view = c->view.adopted.num;
	e->op = NFS4R_OP_SETATTR;
	e->nparts = 1;
	e->parts[0] = (struct nfs4r_part){ .oid = t->oid, .before = f.version, .after = state_next_version(c, f.version), .effect = NFS4R_EFF_NONE };
	log_fuzzy_waits_for(c, t, &e->fuzzy_log, &e->fuzzy_lsn);
	state_log_want(c, c->self, e->lsn); /* who takes it waits for that */
	log_bytes(c, e->lsn, 0);
	log_pend_executed(c, log_pend_add(c, e, NULL), true);
}

/* Not in the step that says RECOVERED: the caller, who only hears of it behind that step, has not given up yet what is lost, and this takes the next number. */
static bool may_take(const struct nfs4r_core *c)
{
	if (c->recovered_step == c->step && !FAULT(F_TAKES_LOST_NUMBER))
		return false;
	return state_views_enough(c, c->view.adopted.members) && state_memory_known(c) && state_is_member(c, c->self) && !not_recovered(c) && !c->reach.open && !(c->view.sealing & NFS4R_BIT(c->self)) && !c->log.logs[c->self].pend;
}

/* Members that can be asked, the one that was asked longest ago first. */
static nfs4r_server_id next_source(const struct nfs4r_core *c)
{
	nfs4r_server_id best = 0;

	EACH_PEER(c, s)
		if (recovery_repair_is_source(c, s) && (!best || c->mend.asked[s] < c->mend.asked[best]))
			best = s;
	return best;
}

static void ask_again_after(struct nfs4r_core *c, uint32_t doublings)
{
	c->mend.again_ms = c->now + ((uint64_t)state_repeat_ms(c) / 2 << doublings) + c->self;
	out_timer_at(c, c->mend.again_ms);
}

/*
 * A repair of a list is over. If it changed nothing, entries have to come first, and none is taken while a repair is under way. So the next repair
 * waits longer each time, until entries had time to come and to be applied.
 */
void recovery_fuzzy_list_ended(struct nfs4r_core *c, bool in_vain)
{
	c->mend.in_vain = in_vain ? c->mend.in_vain + 1 : 0;
	if (in_vain && !FAULT(F_LIST_AT_ONCE))
		ask_again_after(c, c->mend.in_vain < IN_VAIN_MAX ? c->mend.in_vain : IN_VAIN_MAX);
}

/* Objects that are inexact: takes them from somebody, or takes its own for right. */
void recovery_fuzzy_run(struct nfs4r_core *c)
{
	struct fuzzy *t, *tmp;
	nfs4r_server_id from;

	if (!c->log.ninexact || c->halted || c->repair.state || state_seals_open(c) || c->reach.all)
		return;
	if (c->mend.view != c->view.adopted.num) {
		c->mend.view = c->view.adopted.num;
		c->mend.in_vain = 0;
		HASH_ITER(hh, c->log.fuzzy, t, tmp)
			t->worse = 0;
	}
	HASH_ITER(hh, c->log.fuzzy, t, tmp)
		if (t->state == FUZZY_INEXACT && may_take(c) && is_ours_to_take(c, t))
			take_own(c, t);
	out_timer_at(c, c->mend.again_ms > c->now ? c->mend.again_ms : c->now + state_repeat_ms(c));
	if (c->now < c->mend.again_ms || c->undecided || c->log.logs[c->self].pend)
		return;
	ask_again_after(c, 0);
	from = next_source(c);
	if (from) {
		c->mend.asked[from] = c->now;
		recovery_repair_list(c, from);
	} else {
		out_stuck(c, "this copy has files with bytes of abandoned updates, and waits for a server to copy them from");
	}
}

/* What REPAIR is to fetch. */
void recovery_fuzzy_list(struct nfs4r_core *c, struct nfs4r_act_repair *a)
{
	struct fuzzy *t, *tmp;

	c->mend.n = 0;
	HASH_ITER(hh, c->log.fuzzy, t, tmp) {
		t->left = false;
		if (t->state != FUZZY_INEXACT)
			continue;
		c->mend.oids = out_grow(c->mend.oids, &c->mend.cap, c->mend.n, sizeof(*c->mend.oids));
		c->mend.oids[c->mend.n++] = t->oid;
	}
	a->noids = c->mend.n;
	a->oids = c->mend.oids;
}

static bool is_worse(const struct nfs4r_core *c, const struct fuzzy *t, nfs4r_server_id s, nfs4r_version exact)
{
	return exact < t->exact || (exact == t->exact && s > c->self);
}

/* The source has it inexact, too, or in another version: it was left. */
static void left(struct nfs4r_core *c, nfs4r_server_id from, const struct nfs4r_fuzzy_object *l)
{
	struct fuzzy *t = state_fuzzy_find(c, &l->oid);

	if (!t)
		return;
	t->left = true;
	t->worse = !l->later && is_worse(c, t, from, l->exact) ? t->worse | NFS4R_BIT(from) : t->worse & ~NFS4R_BIT(from);
}

/* It was taken all the same. With @positions this copy is as far now, and nobody may count on it for what it got only by that. */
static void copied(struct nfs4r_core *c, const struct nfs4r_fuzzy_object *l, const nfs4r_lsn *positions)
{
	struct fuzzy *t = state_fuzzy_find(c, &l->oid);

	assert(t); /* log_fuzzy_noted() */
	t->left = true;
	log_fuzzy_copied(c, t, l, positions);
}

/* A repair is over. False: nothing has changed. @positions: those of all logs after it, if it was one of everything. */
bool recovery_fuzzy_repaired(struct nfs4r_core *c, const struct nfs4r_fuzzy_object *v, uint32_t n, const nfs4r_lsn *positions)
{
	for (uint32_t i = 0; i < n; i++) {
		if (c->repair.list)
			left(c, c->repair.from, &v[i]);
		else
			copied(c, &v[i], positions);
	}
	return !c->repair.list || n < c->mend.n;
}

/* What was copied is exact, and this server knows what it may be ahead of. */
void recovery_fuzzy_mended(struct nfs4r_core *c)
{
	struct fuzzy *t, *tmp;
	bool any = false;

	HASH_ITER(hh, c->log.fuzzy, t, tmp)
		if (!t->left && (c->repair.all || (c->repair.list && t->state == FUZZY_INEXACT))) {
			log_fuzzy_drop(c, t);
			any = true;
		}
	if (any)
		out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_CHECKPOINT }); /* more is stable now, and others may wait for it */
}
