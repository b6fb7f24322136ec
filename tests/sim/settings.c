/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the volume has of its own is changed (log 6.17), among all else that goes wrong. An administrator sets the lease, the silence and the clock drift at
 * random servers, now longer and now shorter, while views change.
 *
 * What it checks: settings are said by each view from the first one on, they go together, and a run ends with all servers going by the same. Above all it is what
 * every run checks: nobody reads what is old under a lease that the others do not wait for, and all operations end when the faults are over.
 */
#include "sim.h"

#define ULL(x) ((unsigned long long)(x))

/* A view is accepted or adopted somewhere for the first time. @base: NULL: not known. */
void settings_check(struct sim *s, const struct nfs4r_view *base, const struct nfs4r_view *w)
{
	if (!s->plan.settings)
		return;
	if (!nfs4r_volume_keys_ok(&w->settings.keys) || (w->num && !w->settings.keys.durability))
		sim_fail(s, "view %llu has settings that do not go together", ULL(w->num));
	if (base && base->settings.keys.durability && memcmp(&base->settings.keys, &w->settings.keys, sizeof(w->settings.keys)) != 0)
		s->totals.settings_changed++;
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

void settings_begin(struct sim *s)
{
	sim_at(s, s->now + rng_time(&s->rng, 400 * MS), administer, NULL, 0, 0);
}

void settings_print(const struct totals *t)
{
	printf("settings: %llu changes were voted\n", ULL(t->settings_changed));
}
