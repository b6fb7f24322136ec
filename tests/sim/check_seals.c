/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Seals (log 7, 8.3): a generation of a log has one end, in all adopted views, and it is never moved; each view has the seals of
 * its base; what lies beyond a seal never happened, was promised to nobody as durable, and is in no copy that serves; its versions
 * are never given out again; a copy that was repaired has all that its positions say and nothing else.
 *
 * A seal counts from the moment when the first server adopts its view: then the truth (check_entries.c) drops the entries beyond it, like
 * those that a machine crash took. What their primary executes later in that generation, not knowing, is born dead.
 */
#include "sim.h"

#define ULL(x) ((unsigned long long)(x))

/* ---- views ------------------------------------------------------------------------ */

static bool has_seal(const struct nfs4r_view *w, const struct nfs4r_seal *seal)
{
	for (uint32_t i = 0; i < w->nseals; i++)
		if (w->seals[i].log == seal->log && w->seals[i].lsn == seal->lsn)
			return true;
	return false;
}

/* How many of the seals of @w its base does not have, and whose they are. */
static uint32_t new_seals(const struct nfs4r_view *base, const struct nfs4r_view *w, nfs4r_servers *whose)
{
	uint32_t n = 0;

	*whose = 0;
	for (uint32_t i = 0; i < w->nseals; i++)
		if (!has_seal(base, &w->seals[i])) {
			*whose |= NFS4R_BIT(w->seals[i].log);
			n++;
		}
	return n;
}

void check_seals_inherited(struct server *v, const struct nfs4r_view *base, const struct nfs4r_view *w)
{
	struct sim *s = v->sim;
	nfs4r_servers whose;
	uint32_t n = new_seals(base, w, &whose), kept = 0;

	if (w->nseals > NFS4R_SEALS_MAX)
		sim_fail(s, "S%u has view %llu with %u seals", v->id, ULL(w->num), w->nseals);
	for (uint32_t i = 0; i < base->nseals; i++)
		kept += has_seal(w, &base->seals[i]);
	if (kept + n != w->nseals || (kept < base->nseals && w->nseals < NFS4R_SEALS_MAX))
		sim_fail(s, "S%u has view %llu with %u seals, %u of them new, on one with %u", v->id, ULL(w->num), w->nseals, n,
			 base->nseals);
	if (w->epoch != base->epoch + (n != 0))
		sim_fail(s, "S%u has view %llu in epoch %u with %u new seals, its base is in epoch %u", v->id, ULL(w->num), w->epoch, n,
			 base->epoch);
	if (whose & w->members || w->members & ~w->open || w->open != ((base->open | w->members) & ~whose))
		sim_fail(s, "S%u has view %llu: members %llx, open %llx, sealed now %llx, open before %llx", v->id, ULL(w->num),
			 ULL(w->members), ULL(w->open), ULL(whose), ULL(base->open));
	if (n && !view_ends(s, base) && !s->plan.give_up_us && !s->plan.abandon_ms && !(s->plan.durabilities && s->plan.members)) /* nor taken out */
		sim_fail(s, "S%u has view %llu, which seals %llx; nobody was given up", v->id, ULL(w->num), ULL(whose));
}

static const struct seal_seen *seal_of(const struct sim *s, nfs4r_server_id log, uint64_t gen)
{
	for (uint32_t i = 0; i < s->nseals; i++)
		if (s->seals[i].seal.log == log && NFS4R_GEN(s->seals[i].seal.lsn) == gen)
			return &s->seals[i];
	return NULL;
}

nfs4r_lsn seal_within(const struct server *v, nfs4r_server_id log, nfs4r_lsn lsn)
{
	const struct seal_seen *seen = NFS4R_GEN(lsn) < NFS4R_GEN(v->applied[log]) ? seal_of(v->sim, log, NFS4R_GEN(lsn)) : NULL;

	return seen && seen->seal.lsn < lsn ? seen->seal.lsn : lsn;
}

/* ---- the truth ---------------------------------------------------------------------- */

struct version_seen *dead_find(struct sim *s, uint32_t obj, nfs4r_version v)
{
	struct obj *o = &s->objs[obj];

	for (uint32_t i = 0; i < o->ndead; i++)
		if (o->dead[i].version == v)
			return &o->dead[i];
	return NULL;
}

bool was_sealed_away(struct sim *s, uint32_t obj, nfs4r_version v, uint64_t view)
{
	const struct version_seen *dead = dead_find(s, obj, v);

	return dead && s->ents[dead->ent].sealed_by <= view;
}

bool sealed_out(const struct server *v)
{
	return NFS4R_GEN(v->applied[v->id]) < v->sim->gen[v->id];
}

/* Not because somebody was given up. */
static bool ends_by_durability(struct sim *s, uint64_t num)
{
	const struct nfs4r_view *w = view_find(s, num), *base = w ? view_find(s, w->base) : NULL;

	return base && view_ends(s, base);
}

static void settle_ent(struct server *v, struct ent *t, const struct nfs4r_view *w)
{
	struct sim *s = v->sim;
	const struct seal_seen *seal = seal_of(s, t->log, NFS4R_GEN(t->lsn));

	if (t->state != ENT_EXECUTING && t->state != ENT_LIVE && t->state != ENT_LIMBO)
		return;
	if (t->lsn <= seal->seal.lsn) {
		if (t->state == ENT_EXECUTING)
			sim_fail(s, "view %llu seals log %u beyond %s, which is not executed", ULL(w->num), t->log, lsn_str(t->lsn));
		t->state = ENT_LIVE; /* others have it */
		return;
	}
	if (t->promised == PROMISED_MAJORITY && !(NFS4R_RECONF(w->num) > NFS4R_RECONF(s->top_view) && reconf_may_lose(s, t)))
		sim_fail(s, "view %llu seals log %u at %s, %s was promised", ULL(w->num), t->log,
			 lsn_str(seal->seal.lsn), lsn_str(t->lsn));
	if (t->told_local && t->state == ENT_LIVE && !s->plan.losses && ends_by_durability(s, seal->view))
		sim_fail(s, "view %llu seals log %u at %s, %s was answered by `local`", ULL(seal->view), t->log, lsn_str(seal->seal.lsn), lsn_str(t->lsn));
	TRACE(s, v, "sealed away %u:%s", t->log, lsn_str(t->lsn));
	t->sealed_by = seal->view;
	truth_sealed(s, ent_index(s, t));
	s->totals.sealed_away++;
}

/* The first view with it, of those that @w comes from: it may be adopted later than @w. */
static uint64_t first_with(struct sim *s, const struct nfs4r_seal *seal, const struct nfs4r_view *w)
{
	uint64_t num = w->num;

	while (w->num && (w = view_find(s, w->base)) && has_seal(w, seal))
		num = w->num;
	return num;
}

static bool note_seal(struct server *v, const struct nfs4r_seal *seal, const struct nfs4r_view *w)
{
	struct sim *s = v->sim;
	uint64_t gen = NFS4R_GEN(seal->lsn);
	const struct seal_seen *seen = seal_of(s, seal->log, gen);

	if (seen && seen->seal.lsn != seal->lsn)
		sim_fail(s, "view %llu seals log %u at %s, view %llu did at %s", ULL(w->num), seal->log, lsn_str(seal->lsn),
			 ULL(seen->view), lsn_str(seen->seal.lsn));
	if (seen)
		return false;
	if (gen != s->gen[seal->log])
		sim_fail(s, "view %llu seals log %u at %s, it is in generation %llu", ULL(w->num), seal->log, lsn_str(seal->lsn),
			 ULL(s->gen[seal->log]));
	if (s->nseals == s->seals_cap) {
		s->seals_cap = s->seals_cap ? s->seals_cap * 2 : 32;
		s->seals = realloc(s->seals, s->seals_cap * sizeof(*s->seals));
	}
	s->seals[s->nseals++] = (struct seal_seen){ *seal, first_with(s, seal, w) };
	s->gen[seal->log]++;
	s->totals.seals++;
	return true;
}

void check_seals_adopted(struct server *v, const struct nfs4r_view *w)
{
	struct sim *s = v->sim;
	nfs4r_servers now = 0;

	for (uint32_t i = 0; i < w->nseals; i++)
		if (note_seal(v, &w->seals[i], w))
			now |= NFS4R_BIT(w->seals[i].log);
	if (!now)
		return;
	for (uint32_t i = s->nents - 1; i > 0; i--) /* newest first: some may build on others, also of another log */
		if (now & NFS4R_BIT(s->ents[i].log) && seal_of(s, s->ents[i].log, NFS4R_GEN(s->ents[i].lsn)))
			settle_ent(v, &s->ents[i], w);
	truth_again(s);
}

/* ---- copies -------------------------------------------------------------------------- */

static void none_beyond(struct server *v, nfs4r_server_id log, uint64_t gen, const char *when)
{
	struct sim *s = v->sim;

	for (uint32_t i = 1; i < s->nents; i++) {
		const struct ent *t = &s->ents[i];

		if (t->state != ENT_SEALED || t->log != log || NFS4R_GEN(t->lsn) != gen)
			continue;
		for (uint32_t k = 0; k < t->nparts; k++)
			if (tree_get(&v->tree, t->parts[k].obj)->version == t->parts[k].after)
				sim_fail(s, "S%u %s, and its copy of %s is v%s by %u:%s, which was sealed away", v->id, when,
					 obj_str(s, t->parts[k].obj), lsn_str(t->parts[k].after), t->log, lsn_str(t->lsn));
	}
}

void check_sealed(struct server *v, nfs4r_server_id log, nfs4r_lsn seal)
{
	struct sim *s = v->sim;
	const struct seal_seen *seen = seal_of(s, log, NFS4R_GEN(seal));

	if (!seen || seen->seal.lsn != seal || seen->view > v->seen_adopted)
		sim_fail(s, "S%u crosses a seal of log %u at %s, which no view that it adopted has", v->id, log, lsn_str(seal));
	if (NFS4R_GEN(v->applied[log]) != NFS4R_GEN(seal) || v->applied[log] < seal)
		sim_fail(s, "S%u crosses the seal of log %u at %s, its position is %s", v->id, log, lsn_str(seal),
			 lsn_str(v->applied[log]));
	none_beyond(v, log, NFS4R_GEN(seal), "crosses a seal");
	for (const struct applying *a = v->applying; a; a = a->next)
		if (a->e->log == log && a->e->lsn > seal && NFS4R_GEN(a->e->lsn) == NFS4R_GEN(seal))
			sim_fail(s, "S%u crosses the seal of log %u at %s while it applies %s", v->id, log, lsn_str(seal),
				 lsn_str(a->e->lsn));
	for (const struct simop *so = v->ops; so && log == v->id; so = so->next)
		if (so->executing)
			sim_fail(s, "S%u crosses the seal of its log while it executes %s", v->id, nfs4r_op_name(so->op->type));
	check_exact(v, "crosses a seal");
}

void check_repair(struct server *v, const struct nfs4r_act_repair *a)
{
	struct sim *s = v->sim;

	if (a->from < 1 || a->from > s->plan.servers || a->from == v->id)
		sim_fail(s, "S%u repairs its copy from S%u", v->id, a->from);
	for (const struct simop *so = v->ops; so; so = so->next)
		if (so->executing)
			sim_fail(s, "S%u repairs its copy while it executes %s", v->id, nfs4r_op_name(so->op->type));
	if (v->applying)
		sim_fail(s, "S%u repairs its copy while it applies %u:%s", v->id, v->applying->e->log, lsn_str(v->applying->e->lsn));
	if (!a->all && !a->nseals && !a->noids)
		sim_fail(s, "S%u repairs nothing", v->id);
	for (uint32_t i = 0; i < a->nseals; i++) {
		const struct nfs4r_seal *seal = &a->seals[i];
		const struct seal_seen *seen = seal_of(s, seal->log, NFS4R_GEN(seal->lsn));

		if (!seen || seen->seal.lsn != seal->lsn || seen->view > v->seen_adopted)
			sim_fail(s, "S%u is ahead of a seal of log %u at %s, which no view that it adopted has", v->id, seal->log,
				 lsn_str(seal->lsn));
		if (!a->all && v->truncated[seal->log] > seal->lsn)
			sim_fail(s, "S%u is ahead of the seal of log %u at %s, and has truncated it at %s", v->id, seal->log,
				 lsn_str(seal->lsn), lsn_str(v->truncated[seal->log]));
	}
}

/* All live entries that the positions speak of are in the tree. */
static void has_all(struct server *v)
{
	struct sim *s = v->sim;

	for (uint32_t i = 1; i < s->nents; i++) {
		const struct ent *t = &s->ents[i];

		if (t->state != ENT_LIVE || t->lsn > v->applied[t->log])
			continue;
		for (uint32_t k = 0; k < t->nparts; k++) {
			const struct row *r = tree_get(&v->tree, t->parts[k].obj);

			if (r->state != ROW_DEAD && r->version < t->parts[k].after && !(r->state == ROW_NONE && s->objs[t->parts[k].obj].lost))
				sim_fail(s, "S%u repaired its copy, which should have %u:%s, but %s is v%s", v->id, t->log,
					 lsn_str(t->lsn), obj_str(s, t->parts[k].obj), lsn_str(r->version));
		}
	}
}

void check_repaired(struct server *v)
{
	for (uint32_t i = 0; i < v->repair.nseals; i++)
		none_beyond(v, v->repair.seals[i].log, NFS4R_GEN(v->repair.seals[i].lsn), "repaired its copy");
	has_all(v);
}

void check_serves(struct server *v)
{
	struct sim *s = v->sim;

	if (v->repair.on)
		sim_fail(s, "S%u has a lease while its copy is repaired", v->id);
	for (uint32_t i = 0; i < s->nseals; i++) {
		const struct nfs4r_seal *seal = &s->seals[i].seal;

		if (s->seals[i].view <= v->seen_adopted && NFS4R_GEN(v->applied[seal->log]) <= NFS4R_GEN(seal->lsn))
			sim_fail(s, "S%u has a lease by view %llu and has not crossed the seal of log %u at %s: its position is %s", v->id,
				 ULL(v->seen_adopted), seal->log, lsn_str(seal->lsn), lsn_str(v->applied[seal->log]));
	}
}

/* ---- what happened --------------------------------------------------------------------- */

void seals_print(const struct totals *t)
{
	printf("seals: %llu, %llu entries sealed away, %llu crossings, %llu repairs (%llu of all, %llu not ended, %llu of a source that started anew), %llu given up, "
	       "%llu entries promised, COMMIT %llu asked %llu ok, %llu entries read back late, %llu copies inexact at a seal, %llu taken for right\n",
	       ULL(t->seals), ULL(t->sealed_away), ULL(t->crossings), ULL(t->repairs), ULL(t->repairs_all), ULL(t->repairs_failed), ULL(t->repairs_anew),
	       ULL(t->give_ups), ULL(t->promised), ULL(t->commits), ULL(t->commits_ok), ULL(t->late), ULL(t->inexact), ULL(t->taken));
	if (t->deaths_to_come)
		printf("copies: %llu objects were gone at the source, and are still to be made\n", ULL(t->deaths_to_come));
	if (t->dropped)
		printf("dropped: %llu times entries that somebody outside does not have\n", ULL(t->dropped));
	if (t->disks_lost)
		printf("disks: %llu lost, %llu put back (%llu to what they were in the same start), %llu servers that served again\n", ULL(t->disks_lost),
		       ULL(t->disks_put_back), ULL(t->newest_put_back), ULL(t->disks_back));
}

const char *seals_never(const struct totals *t)
{
	return !t->seals	? "nothing was ever sealed" :
		!t->sealed_away ? "no entry was ever sealed away" :
		!t->repairs	? "no copy was ever repaired" :
		!t->give_ups	? "nobody was ever given up" :
		!t->promised	? "nothing was ever promised" :
		!t->commits_ok	? "no COMMIT was ever answered" :
				  NULL;
}
