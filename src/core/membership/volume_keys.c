/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Keys of the configuration whose values are the volume's (log 6.17): durability and the times of views.
 *
 * Happy path: the first view says them, as the file of its proposer has them. From then on an administrator changes one at a member, which proposes the view as
 * it is with the new value. Whoever adopts that view goes by it at once. No connection ends, and no server is restarted.
 *
 * Failure modes: the member that was asked dies: what was asked for is forgotten. Servers adopt the view at different times, or not for long: so no rule
 * may need the same value at two servers. A lease runs as long as its voter said. Whoever granted a long one waits for its end, also after a
 * restart. A server whose Durability was `local` may be the only one that has what it answered: its log does not end with its removal before that is over.
 *
 * Invariants: a lease that is longer than the one on this server's disk is granted to nobody. `ends` is 1 in no view before all members have confirmed one with another
 * Durability than `local`.
 */
#include <stdio.h>

#include "base/config_keys.h"
#include "core/membership/membership_int.h"

/* ---- leases ---- */

void view_keys_started(struct nfs4r_core *c)
{
	struct view *w = &c->view;

	w->grants_ms = state_lease_ms(c);
	if (w->longest_ms <= w->grants_ms)
		w->longest_ms = 0;
	w->longest_until = w->started_ms + view_wait_ms(c, w->longest_ms);
}

/* The adopted view has another lease, perhaps. */
static void lease_adopted(struct nfs4r_core *c)
{
	struct view *w = &c->view;
	uint32_t lease = state_lease_ms(c);

	if (w->grants_ms > lease) {
		if (w->grants_ms > w->longest_ms)
			w->longest_ms = w->grants_ms;
		w->longest_until = c->now + view_wait_ms(c, w->longest_ms);
	}
	if (w->longest_ms <= lease)
		w->longest_ms = 0;
	if (w->grants_ms > lease || FAULT(F_GRANT_UNSAVED))
		w->grants_ms = lease;
	if (w->beat_at > c->now + (lease + 3) / 4) {
		w->beat_at = c->now + (lease + 3) / 4;
		out_timer_at(c, w->beat_at);
	}
}

/* The adopted view's row is put. Longer leases are granted when it is on disk: a start that finds the row of before would wait for too short a time. */
void view_keys_saved(struct nfs4r_core *c)
{
	if (c->view.grants_ms < state_lease_ms(c))
		out_act(c, &(struct nfs4r_action){ .type = NFS4R_ACT_ACCEPTED, .durable = true, .accepted = { .num = c->view.adopted.num } });
}

void view_settings_on_disk(struct nfs4r_core *c, uint64_t num)
{
	if (state_views_on(c) && num == c->view.adopted.num)
		c->view.grants_ms = state_lease_ms(c);
}

void view_settings_timers(struct nfs4r_core *c)
{
	struct view *w = &c->view;

	if (!w->longest_ms)
		return;
	if (c->now < w->longest_until) {
		out_timer_at(c, w->longest_until);
		return;
	}
	w->longest_ms = 0;
	view_save(c);
}

/* ---- the view ---- */

/* The first values that are said. */
void view_keys_first(const struct nfs4r_core *c, struct nfs4r_volume_keys *k)
{
	*k = (struct nfs4r_volume_keys){ .durability = c->cfg.durability,
					 .directory_reads = c->cfg.directory_reads,
					 .round_trip_ms = c->cfg.round_trip_ms,
					 .lease_ms = c->cfg.lease_ms,
					 .silence_ms = c->cfg.silence_ms,
					 .drift_permille = c->cfg.drift_permille,
					 .ends = c->cfg.durability != NFS4R_DURABILITY_LOCAL };
}

/* A volume of before has a secret in its view, and none of them. Enough remember to make one that says them. */
bool view_settings_bare(const struct nfs4r_core *c)
{
	nfs4r_servers set = NFS4R_BIT(c->self);

	if (!state_secret_is_used(c) || c->view.adopted.settings.keys.durability)
		return false;
	EACH_PEER(c, s)
		if (state_memory_counts(c, s))
			set |= NFS4R_BIT(s);
	return state_views_enough(c, set);
}

/* Durability is not `local` any more, and nobody has an answer from when it was that only one server stands for. */
bool view_settings_ends_wanted(const struct nfs4r_core *c, struct nfs4r_volume_settings *to)
{
	const struct nfs4r_view *v = &c->view.adopted;

	if (!v->settings.keys.durability || v->settings.keys.durability == NFS4R_DURABILITY_LOCAL || v->settings.keys.ends)
		return false;
	if (((v->open & ~v->members) || !view_may_change_voters(c)) && !FAULT(F_ENDS_AT_ONCE))
		return false;
	*to = v->settings;
	to->keys.ends = 1;
	return true;
}

/* ---- an administrator's word ---- */

static uint32_t follows(uint32_t ms, uint32_t trips, uint32_t was, uint32_t now)
{
	return ms == trips * was ? trips * now : ms;
}

static bool put(struct nfs4r_volume_keys *k, enum nfs4r_volume_key key, uint32_t value)
{
	switch (key) {
	case NFS4R_VOLUME_DURABILITY:
		k->durability = value;
		k->ends &= value != NFS4R_DURABILITY_LOCAL;
		return true;
	case NFS4R_VOLUME_DIRECTORY_READS:
		k->directory_reads = value;
		return true;
	case NFS4R_VOLUME_ROUND_TRIP:
		k->lease_ms = follows(k->lease_ms, NFS4R_TRIPS_Lease, k->round_trip_ms, value);
		k->silence_ms = follows(k->silence_ms, NFS4R_TRIPS_Failure_Timeout, k->round_trip_ms, value);
		k->round_trip_ms = value;
		return true;
	case NFS4R_VOLUME_LEASE:
		k->lease_ms = value;
		return true;
	case NFS4R_VOLUME_SILENCE:
		k->silence_ms = value;
		return true;
	case NFS4R_VOLUME_DRIFT:
		k->drift_permille = value;
		return true;
	}
	return false;
}

static enum nfs4r_status look(const struct nfs4r_core *c, enum nfs4r_volume_key key, uint32_t value, struct nfs4r_volume_settings *to, char *why, size_t why_len)
{
	const char *text = NULL;

	*to = c->view.adopted.settings;
	if (!state_views_on(c))
		text = "the view is fixed (Lease = 0): nothing is voted, and the files of the servers count";
	else if (!state_is_member(c, c->self) || !state_memory_known(c))
		text = "this server is outside the view itself: ask a member";
	else if (!to->keys.durability)
		text = "no view says the settings yet: repeat this when a majority of the servers is connected";
	else if (!put(&to->keys, key, value))
		text = "no such key";
	else if (to->keys.silence_ms < to->keys.lease_ms / 2)
		text = "Failure_Timeout must be at least half of Lease, or a late heartbeat would be taken for a failed server: change the other one first, or set Max_Round_Trip";
	else if (!nfs4r_volume_keys_ok(&to->keys))
		text = "the value is out of range";
	snprintf(why, why_len, "%s", text ? text : "");
	return text ? NFS4R_INVAL : NFS4R_OK;
}

enum nfs4r_status nfs4r_core_may_set(const struct nfs4r_core *c, enum nfs4r_volume_key key, uint32_t value, struct nfs4r_volume_settings *to, char *why, size_t why_len)
{
	if (c->change.key && (c->change.key != key || c->change.value != value)) {
		snprintf(why, why_len, "another setting is being changed at this server: wait until that is done");
		return NFS4R_INVAL;
	}
	return look(c, key, value, to, why, why_len);
}

void view_settings_set(struct nfs4r_core *c, enum nfs4r_volume_key key, uint32_t value)
{
	struct nfs4r_volume_settings to;
	char why[NFS4R_CORE_TEXT];

	if (nfs4r_core_may_set(c, key, value, &to, why, sizeof(why)) != NFS4R_OK || nfs4r_volume_settings_equal(&to, &c->view.adopted.settings))
		return;
	c->change.key = key;
	c->change.value = value;
	view_propose_consider(c);
}

/* Is a view wanted for it, and what should that have? What no longer may be is refused. */
bool view_keys_wanted(struct nfs4r_core *c, struct nfs4r_volume_settings *to)
{
	char why[NFS4R_CORE_TEXT], text[NFS4R_CORE_TEXT + 40];

	if (!c->change.key)
		return false;
	if (look(c, c->change.key, c->change.value, to, why, sizeof(why)) == NFS4R_OK)
		return true;
	c->change.key = 0;
	snprintf(text, sizeof(text), "the setting is not changed: %s", why);
	text[NFS4R_CORE_TEXT - 1] = '\0';
	out_stuck(c, text);
	return false;
}

/* The adopted view came after @old; its row is not put yet. */
void view_keys_adopted(struct nfs4r_core *c, const struct nfs4r_view *old)
{
	const struct nfs4r_volume_keys *now = &c->view.adopted.settings.keys, *was = &old->settings.keys;
	struct nfs4r_volume_keys to = *now;

	if (c->change.key && put(&to, c->change.key, c->change.value) && memcmp(&to, now, sizeof(to)) == 0)
		c->change.key = 0;
	if (state_views_on(c))
		lease_adopted(c);
	if (now->silence_ms != was->silence_ms)
		log_trouble_silence(c);
	if (now->durability != (was->durability ? was->durability : (uint32_t)c->cfg.durability)) {
		log_quorum_changed(c);
		ops_exec_durability(c);
	}
}
