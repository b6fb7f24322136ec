/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Views and leases (log 6, 8.4): the adopted views are one chain, each was accepted by a majority of the configured
 * servers and has one as its members, and a number means one view. Once a view without a server is adopted anywhere, that
 * server has no lease until it has adopted a view with itself that is newer; and what it answers from its own copy it answers
 * under a lease.
 *
 * What this file does not know is what a client may see: check_answers.c looks at that, the same with and without views.
 */
#include "sim.h"

#define ULL(x) ((unsigned long long)(x))

static nfs4r_servers everybody(const struct sim *s)
{
	return (NFS4R_BIT(s->plan.servers + 1) - 1) & ~(nfs4r_servers)1;
}

static bool majority(nfs4r_servers set, nfs4r_servers voters)
{
	return __builtin_popcountll(set & voters) > __builtin_popcountll(voters) / 2;
}

/* One that is no part of the volume at first, or that comes with a new disk, makes up a view 0 of its own. */
static bool is_own_view(const struct server *v, const struct nfs4r_view *w)
{
	return !w->num && (v->id > v->sim->plan.base || v->told_of_all);
}

nfs4r_servers view_members(const struct server *v)
{
	const struct nfs4r_view *w;

	if (!v->sim->plan.lease_ms)
		return everybody(v->sim);
	w = nfs4r_core_adopted(v->core);
	return is_own_view(v, w) ? 0 : w->members;
}

/* ---- all views there were ------------------------------------------------------------ */

static struct view_seen *find(struct sim *s, uint64_t num)
{
	for (uint32_t i = s->nviews; i-- > 0;)
		if (s->views[i].view.num == num)
			return &s->views[i];
	return NULL;
}

/* A voter that is alone promises, makes and accepts a view in one step. With its machine that is lost, and nobody has heard of it. */
static bool was_lost(const struct server *v, const struct view_seen *seen)
{
	return !seen->left && !seen->adopted && seen->view.num && seen->view.num % NFS4R_VIEW_STEP == v->id;
}

static struct view_seen *note(struct server *v, const struct nfs4r_view *w)
{
	struct sim *s = v->sim;
	struct view_seen *seen = find(s, w->num);

	if (seen && was_lost(v, seen))
		seen->view = *w;
	if (seen && (seen->view.base != w->base || seen->view.members != w->members || seen->view.open != w->open || seen->view.epoch != w->epoch || seen->view.nseals != w->nseals || memcmp(seen->view.seals, w->seals, w->nseals * sizeof(w->seals[0])) || seen->view.servers != w->servers || seen->view.voters != w->voters || seen->view.nbook != w->nbook || memcmp(seen->view.addresses, w->addresses, w->nbook * sizeof(w->addresses[0])) || memcmp(seen->view.secret, w->secret, sizeof(w->secret)) || !nfs4r_volume_settings_equal(&seen->view.settings, &w->settings)))
		sim_fail(s, "S%u has view %llu on %llu with members %llx, it was on %llu with %llx", v->id, ULL(w->num), ULL(w->base),
			 ULL(w->members), ULL(seen->view.base), ULL(seen->view.members));
	if (seen)
		return seen;
	members_check_book(s, w);
	settings_check(s, w->num && find(s, w->base) ? &find(s, w->base)->view : NULL, w);
	release_check(s, w->num && find(s, w->base) ? &find(s, w->base)->view : NULL, w);
	if (!(majority(w->members, w->voters) || (NFS4R_RECONF(w->num) && __builtin_popcountll(w->members) == 1)) || w->members & ~w->voters || w->voters & ~w->servers || w->servers & ~everybody(s))
		sim_fail(s, "S%u has view %llu with members %llx, which is no majority", v->id, ULL(w->num), ULL(w->members));
	if (w->num && w->base >= w->num)
		sim_fail(s, "S%u has view %llu on %llu", v->id, ULL(w->num), ULL(w->base));
	if (w->num && find(s, w->base) && reconf_first(w))
		reconf_check(v, &find(s, w->base)->view, w);
	else if (w->num && find(s, w->base))
		check_seals_inherited(v, &find(s, w->base)->view, w);
	if (s->nviews == s->views_cap) {
		s->views_cap = s->views_cap ? s->views_cap * 2 : 64;
		s->views = realloc(s->views, s->views_cap * sizeof(*s->views));
	}
	seen = &s->views[s->nviews++];
	memset(seen, 0, sizeof(*seen));
	seen->view = *w;
	seen->adopted = w->num == 0;
	return seen;
}

static bool descends(struct sim *s, uint64_t num, uint64_t from)
{
	while (num > from) {
		const struct view_seen *seen = find(s, num);

		if (!seen)
			sim_fail(s, "nobody has accepted view %llu, on which others are built", ULL(num));
		num = seen->view.base;
	}
	return num == from;
}

/* ---- adoption -------------------------------------------------------------------------- */

static void count_change(struct sim *s, const struct nfs4r_view *old, const struct nfs4r_view *w)
{
	const struct server *proposer = &s->servers[w->num % NFS4R_VIEW_STEP];
	nfs4r_servers gone = old->members & ~w->members;

	s->totals.removals += (uint64_t)__builtin_popcountll(gone);
	s->totals.returns += (uint64_t)__builtin_popcountll(w->members & ~old->members);
	for (uint32_t q = 1; q <= s->plan.servers; q++)
		if (gone & NFS4R_BIT(q) && proposer->heard[q] && s->now - proposer->heard[q] > s->totals.removal_max_us)
			s->totals.removal_max_us = s->now - proposer->heard[q];
}

static bool has_lease(const struct server *v)
{
	return v->up && nfs4r_core_lease_until(v->core) > clock_true_ms(v);
}

static void check_lease(struct server *v)
{
	if (v->seen_adopted < v->removed_by && has_lease(v))
		sim_fail(v->sim, "S%u goes by view %llu and has a lease for %llu ms, view %llu without it is adopted", v->id,
			 ULL(v->seen_adopted), ULL(nfs4r_core_lease_until(v->core) - clock_true_ms(v)), ULL(v->removed_by));
}

static void first_adopted(struct server *v, struct view_seen *seen)
{
	struct sim *s = v->sim;
	const struct nfs4r_view *w = &seen->view;

	TRACE(s, v, "adopts view %llu on %llu, members %llx", ULL(w->num), ULL(w->base), ULL(w->members));
	seen->adopted = true;
	if (reconf_first(w) ? w->voters & ~seen->accepted :
			      !majority(seen->accepted, w->voters) || (w->num && find(s, w->base) && !majority(seen->accepted, find(s, w->base)->view.voters)))
		sim_fail(s, "S%u adopts view %llu, which only %llx have accepted", v->id, ULL(w->num), ULL(seen->accepted));
	if (!reconf_again(s, w) && (w->num > s->top_view ? !descends(s, w->num, s->top_view) : !descends(s, s->top_view, w->num)))
		sim_fail(s, "S%u adopts view %llu on %llu; %llu is adopted, too, and neither comes from the other", v->id,
			 ULL(w->num), ULL(w->base), ULL(s->top_view));
	s->totals.views++;
	check_seals_adopted(v, w);
	if (w->num > s->top_view) {
		count_change(s, &find(s, s->top_view)->view, w);
		if (NFS4R_RECONF(w->num) > NFS4R_RECONF(s->top_view))
			reconf_seen(v, w);
		else if (w->base == s->top_view)
			members_count(s, &find(s, s->top_view)->view, w);
		s->top_view = w->num;
		for (uint32_t q = 1; q <= s->plan.servers; q++)
			if (w->members & NFS4R_BIT(q))
				s->servers[q].outside_since = 0;
			else if (!s->servers[q].outside_since)
				s->servers[q].outside_since = s->now, room_forget(&s->servers[q]);
	}
	for (uint32_t q = 1; q <= s->plan.servers; q++) {
		if (w->members & NFS4R_BIT(q) || s->servers[q].removed_by > w->num)
			continue;
		s->servers[q].removed_by = w->num;
		check_lease(&s->servers[q]);
	}
}

static void adopted(struct server *v, const struct nfs4r_view *w)
{
	struct view_seen *seen;

	if (w->num < v->seen_adopted)
		sim_fail(v->sim, "S%u goes back from view %llu to %llu", v->id, ULL(v->seen_adopted), ULL(w->num));
	v->seen_adopted = w->num;
	seen = note(v, w);
	if (!seen->adopted)
		first_adopted(v, seen);
}

/* ---- after every step ------------------------------------------------------------------- */

const struct nfs4r_view *view_find(struct sim *s, uint64_t num)
{
	const struct view_seen *seen = find(s, num);

	return seen ? &seen->view : NULL;
}

/* One that is alone leaves view 0 in its first step (log 6.13). */
static void note_first(struct server *v)
{
	nfs4r_servers all = (NFS4R_BIT(v->sim->plan.base + 1) - 1) & ~(nfs4r_servers)1;

	note(v, &(struct nfs4r_view){ .members = all, .open = all, .servers = all, .voters = all });
}

/* The actions of the step may build on a view that it adopted, so this comes before them. */
void check_adopted(struct server *v)
{
	struct sim *s = v->sim;
	const struct nfs4r_view *w = nfs4r_core_adopted(v->core), *acc = nfs4r_core_accepted(v->core);

	v->view_servers = w->servers;
	v->view_voters = w->voters;
	if (s->plan.secret && !s->nviews && acc->num)
		note_first(v);
	if ((acc->num != v->seen_accepted || !s->nviews) && !is_own_view(v, acc)) {
		struct view_seen *seen = note(v, acc);

		v->seen_accepted = acc->num;
		if (acc->num % NFS4R_VIEW_STEP == v->id)
			seen->accepted |= NFS4R_BIT(v->id);
	}
	if (w->num == v->seen_adopted)
		return;
	adopted(v, w);
	v->adopts = true;
}

/* Log 6.13: who serves has the volume's secret, and that is the same at all servers and all the time. */
static void check_secret(struct server *v, const struct nfs4r_view *w)
{
	static const uint8_t none[NFS4R_SECRET];
	struct sim *s = v->sim;

	if (!s->plan.secret)
		return;
	if (memcmp(w->secret, none, sizeof(none)) == 0)
		sim_fail(s, "S%u serves by view %llu, which has no secret", v->id, ULL(w->num));
	if (memcmp(s->secret, none, sizeof(none)) == 0)
		memcpy(s->secret, w->secret, sizeof(s->secret));
	if (memcmp(s->secret, w->secret, sizeof(s->secret)) != 0)
		sim_fail(s, "S%u serves by view %llu, whose secret is not that of the volume", v->id, ULL(w->num));
}

void check_view(struct server *v)
{
	struct sim *s = v->sim;
	struct nfs4r_core_view w;
	bool lease = has_lease(v);

	nfs4r_core_get_view(v->core, &w);
	if (w.fixed)
		sim_fail(s, "S%u has a fixed view", v->id);
	if (v->adopts)
		trouble_sent(v, ADOPTED_VIEW);
	v->adopts = false;
	v->view_known = true;
	check_lease(v);
	if (lease) {
		check_serves(v);
		check_secret(v, &w.adopted);
	}
	if (w.joining || (w.member && __builtin_popcountll(w.adopted.members) == 1)) /* that one has all rows there are */
		v->joined_in = w.adopted.num;
	if (w.member && !w.joining && w.adopted.num > v->removed_by && v->joined_in < v->removed_by)
		sim_fail(s, "S%u is a member by view %llu and keeps its rows, though it was outside in view %llu", v->id,
			 ULL(w.adopted.num), ULL(v->removed_by));
	if (w.member != !!(w.adopted.members & NFS4R_BIT(v->id)) || (lease && (!w.member || w.joining)))
		sim_fail(s, "S%u is %s member%s by its word and has %s lease, its view %llu has members %llx", v->id,
			 w.member ? "a" : "no", w.joining ? " that joins" : "", lease ? "a" : "no", ULL(w.adopted.num),
			 ULL(w.adopted.members));
	if (w.memory == NFS4R_MEMORY_FORGOT && !v->disk_lost && !s->plan.members && !s->plan.reconfigure)
		sim_fail(s, "S%u says that it forgot, and its disk is the one that it had", v->id);
	if (v->disk_lost && lease && w.memory == NFS4R_MEMORY_KNOWN)
		lose_over(v);
	s->totals.leases_lost += v->seen_lease && !lease;
	s->totals.joins += v->seen_joining && w.member && !w.joining;
	v->seen_lease = lease;
	v->seen_joining = w.joining;
}

void check_view_sent(struct server *v, const struct nfs4r_msg *m)
{
	struct view_seen *seen;

	if (m->type == NFS4R_MSG_ACCEPT)
		note(v, &m->view)->left = true; /* who accepts it may promise and accept another one in the same step */
	if (m->type != NFS4R_MSG_ACCEPTED)
		return;
	seen = find(v->sim, m->accepted.num);
	if (!seen)
		sim_fail(v->sim, "S%u says that it accepted view %llu, which it does not have", v->id, ULL(m->accepted.num));
	seen->accepted |= NFS4R_BIT(v->id);
	if (NFS4R_RECONF(seen->view.num) > NFS4R_RECONF(v->seen_adopted) && !(seen->view.members & NFS4R_BIT(v->id)))
		return; /* it may make its copy anew */
	for (uint32_t i = 0; i < seen->view.nseals; i++) /* those that no adopted view has: then a majority has the log so far */
		if ((seen->view.seals[i].lsn & ((1ull << NFS4R_GEN_SHIFT) - 1)) && /* else it ends where it begins */
		    NFS4R_GEN(seen->view.seals[i].lsn) >= v->sim->gen[seen->view.seals[i].log] &&
		    v->applied[seen->view.seals[i].log] < seen->view.seals[i].lsn)
			sim_fail(v->sim, "S%u accepts view %llu, which seals log %u at %s, and has it to %s", v->id, ULL(seen->view.num),
				 seen->view.seals[i].log, lsn_str(seen->view.seals[i].lsn), lsn_str(v->applied[seen->view.seals[i].log]));
}

/*
 * Answers of its own; what another primary answered, that one answered under its lease. A full disk says nothing of the copy. Before it
 * adopts a view, a step may answer under the lease of the one before, also of a server that got ready in this step.
 */
void check_view_answer(struct server *v, const struct nfs4r_op *op)
{
	struct sim *s = v->sim;
	const struct view_seen *top = find(s, s->top_view);
	bool own = op->id.origin ? op->status == NFS4R_OK && op->primary == v->id : true;

	if (op->status == NFS4R_DELAY || op->status == NFS4R_NOSPC || op->type == NFS4R_OP_UNLOCK || op->type == NFS4R_OP_UNWAIT) /* the last two: whoever asks has let go already */
		return;
	if (own && nfs4r_core_lease_until(v->core) <= clock_ms(v) && !(v->adopts && (v->lease_was > clock_ms(v) || !v->lease_was)))
		sim_fail(s, "S%u answers %s with %s and has no lease", v->id, nfs4r_op_name(op->type), nfs4r_status_str(op->status));
	if (op->status == NFS4R_OK && op->lsn && top && top->view.members != everybody(s))
		s->totals.ok_without++;
}

void check_late(struct sim *s, struct server *v)
{
	for (uint32_t q = 1; q <= s->plan.servers; q++)
		if (q != v->id && view_members(&s->servers[q]) & NFS4R_BIT(v->id))
			sim_fail(s, "S%u is away since %llu ms, and S%u still counts it among the members", v->id,
				 ULL(v->away_since / 1000), q);
}

/* ---- at the end ---------------------------------------------------------------------------- */

bool views_quiet(struct sim *s, char *why, size_t len)
{
	for (uint32_t i = 1; i <= s->plan.servers; i++) {
		const struct server *v = &s->servers[i];
		struct nfs4r_core_view w;

		if (!v->up) {
			snprintf(why, len, "S%u is down", i);
			return false;
		}
		nfs4r_core_get_view(v->core, &w);
		if (w.adopted.members == everybody(s) && w.adopted.num == s->top_view && w.member && !w.joining && !w.repairing && !v->repair.on && !w.abandoned && has_lease(v))
			continue;
		snprintf(why, len, "S%u is in view %llu (newest %llu) with members %llx%s%s%s", i, ULL(w.adopted.num), ULL(s->top_view),
			 ULL(w.adopted.members), w.memory != NFS4R_MEMORY_KNOWN ? ", does not remember" : w.joining ? ", joining" :
														      "",
			 w.repairing ? ", repairing" : "",
			 has_lease(v) ? "" : ", without a lease");
		return false;
	}
	return true;
}

void views_print(const struct totals *t)
{
	printf("views: %llu runs with them, %llu troubles, %llu stops, %llu views adopted, %llu removals, %llu returns, %llu joins, "
	       "%llu leases lost, %llu updates while somebody was outside, silence to removal at most %llu ms\n",
	       ULL(t->with_views), ULL(t->troubles), ULL(t->stops), ULL(t->views), ULL(t->removals), ULL(t->returns),
	       ULL(t->joins), ULL(t->leases_lost), ULL(t->ok_without), ULL(t->removal_max_us / 1000));
	if (t->stuck)
		printf("stuck: %llu servers for a while, %llu attempts to apply an entry failed, at %llu looks one had not ended, %llu were passed over, %llu put aside\n", ULL(t->stuck), ULL(t->failed), ULL(t->hung), ULL(t->passed), ULL(t->asides));
	if (t->leaves)
		printf("stops in order: %llu, %llu of a server that had left\n", ULL(t->leaves), ULL(t->left));
}

const char *views_never(const struct totals *t)
{
	return !t->with_views	? "the view was always fixed" :
		!t->stops	? "nobody ever stopped" :
		!t->removals	? "nobody was ever removed" :
		!t->returns	? "nobody ever came back" :
		!t->joins	? "nobody ever had all rows after it came back" :
		!t->leases_lost ? "no lease ever ran out" :
		!t->left	? "nobody ever left in order" :
		!t->ok_without	? "nothing was ever updated while somebody was outside" :
				  NULL;
}
