/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What this server is at the moment, and which servers count: member or learner, lease, heartbeats, an orderly stop, trouble.
 *
 * Every room asks these questions, so they lie below all rooms. They read the state of the core and change nothing, but for `ready`, which
 * follows from the answers (view_check_ready()).
 */
#include "core/state/state_int.h"

static const uint8_t none[NFS4R_SECRET];

bool views_on(const struct nfs4r_core *c)
{
	return c->cfg.lease_ms;
}

bool is_member(const struct nfs4r_core *c, nfs4r_server_id s)
{
	return c->view.adopted.members & NFS4R_BIT(s);
}

/* It belongs to the volume, and is no voter yet (9.1). */
bool is_learner(const struct nfs4r_core *c, nfs4r_server_id s)
{
	return c->view.adopted.servers & ~c->view.adopted.voters & NFS4R_BIT(s);
}

/* It belongs to the volume no more, or not yet. */
bool is_taken_out(const struct nfs4r_core *c)
{
	return !(c->view.adopted.servers & NFS4R_BIT(c->self));
}

bool views_enough(const struct nfs4r_core *c, nfs4r_servers set)
{
	return is_quorum(set, c->view.adopted.voters);
}

bool lease_valid(const struct nfs4r_core *c)
{
	if (!views_on(c))
		return secret_settled(c);
	return FAULT(F_LEASE_IGNORED) || (c->view.ready && c->now < c->view.lease_until);
}

uint64_t nfs4r_core_lease_until(const struct nfs4r_core *c)
{
	if (!views_on(c))
		return secret_settled(c) ? UINT64_MAX : 0;
	if (FAULT(F_LEASE_IGNORED))
		return UINT64_MAX;
	return c->view.ready ? c->view.lease_until : 0;
}

bool view_hears(const struct nfs4r_core *c, nfs4r_server_id s)
{
	return s == c->self || (c->peers[s].beats && !c->peers[s].left && c->now < c->peers[s].heard_ms + c->cfg.silence_ms);
}

bool secret_is(const struct nfs4r_view *v)
{
	return memcmp(v->secret, none, sizeof(none)) != 0;
}

bool secret_is_used(const struct nfs4r_core *c)
{
	return memcmp(c->cfg.secret, none, sizeof(none)) != 0;
}

bool secret_settled(const struct nfs4r_core *c)
{
	return !secret_is_used(c) || secret_is(&c->view.adopted) || FAULT(F_SECRET_UNSETTLED);
}

bool trouble_is(const struct nfs4r_core *c)
{
	return c->trouble.cause != 0;
}

/* Would there be a view without this server? */
bool can_be_spared(const struct nfs4r_core *c)
{
	return views_on(c) && views_enough(c, c->view.adopted.members & ~NFS4R_BIT(c->self));
}

bool trouble_withdraws(const struct nfs4r_core *c)
{
	return trouble_is(c) && can_be_spared(c);
}

bool lets_go(const struct nfs4r_core *c)
{
	return c->leaving || trouble_withdraws(c);
}

bool retention_is_late(const struct nfs4r_core *c)
{
	return c->log.late && c->now >= c->log.late_ms;
}

/*
 * Members whose "not primary" says nothing yet: they came back, perhaps released by a view in which this server was not, and
 * the list that would show it has not been put in here.
 */
nfs4r_servers join_unsure(const struct nfs4r_core *c)
{
	nfs4r_servers set = c->join.want | c->join.have;

	EACH_MEMBER(c, s)
		if (c->peers[s].joining)
			set |= NFS4R_BIT(s);
	return set;
}

bool reconf_said(const struct nfs4r_core *c)
{
	return c->view.reconf_epoch != 0;
}

void view_set_ready(struct nfs4r_core *c)
{
	c->view.ready = !views_on(c) || (memory_known(c) && (!reconf_said(c) || FAULT(F_RECONF_SERVES)) && is_member(c, c->self) && c->view.complete &&
					      (!seals_open(c) || FAULT(F_SERVE_UNCROSSED)) && !c->repair.state && repair_is_whole(c) && !c->log.ninexact);
}

/* A seal was crossed, or a repair began. */
void view_check_ready(struct nfs4r_core *c)
{
	bool was = c->view.ready;

	view_set_ready(c);
	if (!was && c->view.ready)
		c->dirty |= DIRTY_OPS | DIRTY_REPLY | DIRTY_RELEASE | DIRTY_OBJECTS;
}
