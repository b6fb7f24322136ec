/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the volume has of its own is changed (log 6.17), among all else that goes wrong. An administrator sets the lease, the silence and the clock drift at
 * random servers, now longer and now shorter, while views change. In other runs it is the durability, to all its values.
 *
 * What it checks: settings are said by each view from the first one on, they go together, and a run ends with all servers going by the same. Logs end at last if the
 * durability then is not `local`. Above all it is what every run checks: nobody reads what is old under a lease that the others do not wait for, what was answered stays by the
 * durability of whoever answered it (check_promises.c), and all operations end when the faults are over.
 */
#include "sim.h"

#define ULL(x) ((unsigned long long)(x))

/* A view is accepted or adopted somewhere for the first time. @base: NULL: not known. */
void settings_check(struct sim *s, const struct nfs4r_view *base, const struct nfs4r_view *w)
{
	if (!s->plan.settings && !s->plan.durabilities)
		return;
	if (!nfs4r_volume_keys_ok(&w->settings.keys) || (w->num && !w->settings.keys.durability))
		sim_fail(s, "view %llu has settings that do not go together", ULL(w->num));
	if (base && base->settings.keys.durability && memcmp(&base->settings.keys, &w->settings.keys, sizeof(w->settings.keys)) != 0)
		s->totals.settings_changed++;
	if (!base || !base->settings.keys.durability)
		return;
	s->totals.durability_changed += base->settings.keys.durability != w->settings.keys.durability;
	s->totals.logs_end_again += w->settings.keys.ends && !base->settings.keys.ends;
}

bool settings_quiet(struct sim *s, char *why, size_t len)
{
	const struct nfs4r_view *w = view_find(s, s->top_view);

	if (!s->plan.durabilities || view_ends(s, w) == (w->settings.keys.durability != NFS4R_DURABILITY_LOCAL))
		return true;
	snprintf(why, len, "the view has durability %u, and logs do not end", w->settings.keys.durability);
	return false;
}

static void administer(struct sim *s, void *arg, uint64_t a, uint64_t b)
{
	struct server *v = &s->servers[rng_range(&s->rng, 1, s->plan.servers)];
	uint32_t longest = 2 * s->plan.silence_ms < NFS4R_VOLUME_LEASE_MAX ? 2 * s->plan.silence_ms : NFS4R_VOLUME_LEASE_MAX, shortest = s->plan.lease_ms / 2;
	struct nfs4r_event ev = { .type = NFS4R_EV_SET, .key = NFS4R_VOLUME_LEASE };
	struct nfs4r_volume_settings to;
	char why[NFS4R_CORE_TEXT];

	ev.value = s->healed || shortest >= longest ? s->plan.lease_ms : (uint32_t)rng_range(&s->rng, shortest, longest);
	if (v->up && !v->stopped && nfs4r_core_may_set(v->core, ev.key, ev.value, &to, why, sizeof(why)) == NFS4R_OK) {
		TRACE(s, v, "is told to set the lease to %u ms", ev.value);
		server_step(v, &ev);
	}
	if (!s->healed || !v->up || nfs4r_core_adopted(v->core)->settings.keys.lease_ms != s->plan.lease_ms)
		sim_at(s, s->now + rng_time(&s->rng, 400 * MS), administer, NULL, 0, 0);
}

static void set_durability(struct sim *s, void *arg, uint64_t a, uint64_t b)
{
	struct server *v = &s->servers[rng_range(&s->rng, 1, s->plan.servers)];
	struct nfs4r_event ev = { .type = NFS4R_EV_SET, .key = NFS4R_VOLUME_DURABILITY, .value = (uint32_t)rng_range(&s->rng, NFS4R_DURABILITY_LOCAL, NFS4R_DURABILITY_MAJORITY) };
	struct nfs4r_volume_settings to;
	char why[NFS4R_CORE_TEXT];

	if (s->healed)
		return;
	if (v->up && !v->stopped && nfs4r_core_may_set(v->core, ev.key, ev.value, &to, why, sizeof(why)) == NFS4R_OK) {
		TRACE(s, v, "is told to set the durability to %u", ev.value);
		server_step(v, &ev);
	}
	sim_at(s, s->now + rng_time(&s->rng, s->plan.durability_us), set_durability, NULL, 0, 0);
}

void settings_begin(struct sim *s)
{
	if (s->plan.settings)
		sim_at(s, s->now + rng_time(&s->rng, 400 * MS), administer, NULL, 0, 0);
	if (s->plan.durabilities)
		sim_at(s, s->now + rng_time(&s->rng, s->plan.durability_us), set_durability, NULL, 0, 0);
}

void settings_print(const struct totals *t)
{
	printf("settings: %llu changes were voted\n", ULL(t->settings_changed));
	if (t->durability_changed)
		printf("durability: %llu changes, logs ended again after %llu; answers by `local` %llu, by another one than the newest view's %llu, by that of another server %llu\n",
		       ULL(t->durability_changed), ULL(t->logs_end_again), ULL(t->told_local), ULL(t->told_behind), ULL(t->told_between));
}
