/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What this server is at the moment, and which servers count: member or learner, lease, heartbeats, an orderly stop, trouble.
 *
 * Every room asks these questions, so they lie below all rooms. They read the state of the core and change nothing, but for `ready`, which
 * follows from the answers (state_view_check_ready()).
 */
#include "base/config_keys.h"
#include "core/state/state_int.h"

static const uint8_t none[NFS4R_SECRET];

static const struct nfs4r_volume_keys *said(const struct nfs4r_core *c)
{
	const struct nfs4r_volume_keys *k = &c->view.adopted.settings.keys;

	return k->durability ? k : NULL;
}

uint32_t state_lease_ms(const struct nfs4r_core *c)
{
	return said(c) ? said(c)->lease_ms : c->cfg.lease_ms;
}

uint32_t state_silence_ms(const struct nfs4r_core *c)
{
	return said(c) ? said(c)->silence_ms : c->cfg.silence_ms;
}

uint32_t state_drift_permille(const struct nfs4r_core *c)
{
	return said(c) ? said(c)->drift_permille : c->cfg.drift_permille;
}

uint32_t state_repeat_ms(const struct nfs4r_core *c)
{
	return said(c) && c->cfg.repeat_ms == NFS4R_TRIPS_Retransmit_Interval * c->cfg.round_trip_ms ? NFS4R_TRIPS_Retransmit_Interval * said(c)->round_trip_ms : c->cfg.repeat_ms;
}

enum nfs4r_durability state_durability(const struct nfs4r_core *c)
{
	return said(c) && !FAULT(F_DURABILITY_OF_FILE) ? (enum nfs4r_durability)said(c)->durability : c->cfg.durability;
}

bool state_ends_logs(const struct nfs4r_core *c)
{
	return said(c) ? said(c)->ends : c->cfg.durability != NFS4R_DURABILITY_LOCAL;
}

bool state_views_on(const struct nfs4r_core *c)
{
	return state_lease_ms(c);
}

bool state_is_member(const struct nfs4r_core *c, nfs4r_server_id s)
{
	return c->view.adopted.members & NFS4R_BIT(s);
}

/* It belongs to the volume, and is no voter yet (log 9.1). */
bool state_is_learner(const struct nfs4r_core *c, nfs4r_server_id s)
{
	return c->view.adopted.servers & ~c->view.adopted.voters & NFS4R_BIT(s);
}

/* It belongs to the volume no more, or not yet. */
bool state_is_taken_out(const struct nfs4r_core *c)
{
	return !(c->view.adopted.servers & NFS4R_BIT(c->self));
}

bool state_views_enough(const struct nfs4r_core *c, nfs4r_servers set)
{
	return quorum_is(set, c->view.adopted.voters);
}

bool state_lease_valid(const struct nfs4r_core *c)
{
	if (!state_views_on(c))
		return state_secret_agreed(c);
	return FAULT(F_LEASE_IGNORED) || (c->view.ready && c->now < c->view.lease_until);
}

uint64_t nfs4r_core_lease_until(const struct nfs4r_core *c)
{
	if (!state_views_on(c))
		return state_secret_agreed(c) ? UINT64_MAX : 0;
	if (FAULT(F_LEASE_IGNORED))
		return UINT64_MAX;
	return c->view.ready ? c->view.lease_until : 0;
}

bool state_view_hears(const struct nfs4r_core *c, nfs4r_server_id s)
{
	return s == c->self || (c->peers[s].beats && !c->peers[s].left && c->now < c->peers[s].heard_ms + state_silence_ms(c));
}

bool state_secret_is(const struct nfs4r_view *v)
{
	return memcmp(v->secret, none, sizeof(none)) != 0;
}

bool state_secret_is_used(const struct nfs4r_core *c)
{
	return memcmp(c->cfg.secret, none, sizeof(none)) != 0;
}

bool state_secret_agreed(const struct nfs4r_core *c)
{
	return !state_secret_is_used(c) || state_secret_is(&c->view.adopted) || FAULT(F_SECRET_UNDECIDED);
}

bool state_volume_speaks(const struct nfs4r_core *c, uint32_t protocol)
{
	return c->view.adopted.settings.protocol >= protocol || (FAULT(F_VERSION_EARLY) && c->cfg.protocol.highest >= protocol);
}

bool state_volume_has_format(const struct nfs4r_core *c, uint32_t format)
{
	return c->view.adopted.settings.disk_format >= format || (FAULT(F_FORMAT_EARLY) && c->cfg.disk_format.highest >= format);
}

bool state_locks_shared(const struct nfs4r_core *c)
{
	return !c->cfg.locks_apart && (state_volume_speaks(c, NFS4R_PROTOCOL_LOCKS) || c->cfg.protocol.lowest >= NFS4R_PROTOCOL_LOCKS);
}

bool state_trouble_is(const struct nfs4r_core *c)
{
	return c->trouble.cause != 0;
}

/* Would there be a view without this server? */
bool state_can_be_spared(const struct nfs4r_core *c)
{
	return state_views_on(c) && state_views_enough(c, c->view.adopted.members & ~NFS4R_BIT(c->self));
}

bool state_trouble_withdraws(const struct nfs4r_core *c)
{
	return state_trouble_is(c) && state_can_be_spared(c);
}

bool state_lets_go(const struct nfs4r_core *c)
{
	return c->leaving || state_trouble_withdraws(c);
}

bool state_retention_is_late(const struct nfs4r_core *c)
{
	return c->log.late && c->now >= c->log.late_ms;
}

/*
 * Members whose "not primary" says nothing yet: they came back, perhaps released by a view in which this server was not, and
 * the list that would show it has not been put in here.
 */
nfs4r_servers state_join_unsure(const struct nfs4r_core *c)
{
	nfs4r_servers set = c->join.want | c->join.have;

	EACH_MEMBER(c, s)
		if (c->peers[s].joining)
			set |= NFS4R_BIT(s);
	return set;
}

bool state_reconf_reported(const struct nfs4r_core *c)
{
	return c->view.reconf_epoch != 0;
}

void state_view_set_ready(struct nfs4r_core *c)
{
	c->view.ready = !state_views_on(c) || (state_memory_known(c) && (!state_reconf_reported(c) || FAULT(F_RECONF_SERVES)) && state_is_member(c, c->self) && c->view.complete && (!state_seals_open(c) || FAULT(F_SERVE_UNCROSSED)) && !c->repair.state && state_repair_is_whole(c) && !c->log.ninexact);
}

/* A seal was crossed, or a repair began. */
void state_view_check_ready(struct nfs4r_core *c)
{
	bool was = c->view.ready;

	state_view_set_ready(c);
	if (!was && c->view.ready)
		c->dirty |= DIRTY_OPS | DIRTY_REPLY | DIRTY_RELEASE | DIRTY_OBJECTS;
}
