/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The part of `nfs4rctl status` about the active view, as JSON: its members, since when each server is silent, how far a returning server is
 * behind, and the remaining time of this server's lease. The lag of another server is known for this server's log
 * only; the lag of this server is known for every log.
 */
#include <stdio.h>
#include <string.h>

#include "engine/admin/admin_int.h"
#include "engine/membership/membership.h"

uint64_t admin_own_lag(const struct ctl_facts *f)
{
	uint64_t n = 0;

	for (nfs4r_server_id s = 1; s <= NFS4R_SERVERS_MAX; s++)
		if (f->known[s] && f->peer[s].peer_end > f->peer[s].our_applied)
			n += admin_entries(f->peer[s].our_applied, f->peer[s].peer_end);
	return n;
}

/* Its store is empty or from the past, or may be (log 8.6). */
static const char *memory_state(const struct nfs4r_engine *eng, const struct ctl_facts *f, char *why, size_t len)
{
	nfs4r_servers self = NFS4R_BIT(eng->cfg.rpc.self);
	char unheard[64];

	if (f->view.memory == NFS4R_MEMORY_NEW) {
		snprintf(why, len, "first start of its store: this server waits to hear server %s, which may know of an earlier store", engine_server_list(f->view.unheard, unheard, sizeof(unheard)));
		return "new";
	}
	if (f->view.repairing && f->repair.running) {
		snprintf(why, len, "its store was new or out of date; full resync from server %u: %llu of %llu objects", f->repair.from,
			 (unsigned long long)f->repair.done, (unsigned long long)f->repair.all);
		return "resyncing";
	}
	if (f->view.member)
		snprintf(why, len, "its store is new or out of date; a full resync follows when the others have removed it from the view");
	else if (f->view.adopted.open & self)
		snprintf(why, len, "its store is new or out of date; it waits for the end of its log. If it had controls, run `nfs4rctl abandon %u` at a member; else there is nothing to do",
			 eng->cfg.rpc.self);
	else
		snprintf(why, len, "its store is new or out of date; a full resync is about to start, or the others add it");
	return "needs full resync";
}

const char *admin_view_state(const struct nfs4r_engine *eng, const struct ctl_facts *f, char *why, size_t len)
{
	char members[64], entries[40] = "";
	uint64_t lag = admin_own_lag(f);

	if (f->view.fixed)
		return NULL;
	if (f->view.taken_out) {
		membership_come_back(eng, why, len);
		return "removed from the volume";
	}
	if (f->view.learner && !f->view.repairing) {
		snprintf(why, len, "it was added to the volume and copies everything from the others; it votes when the copy is complete");
		return "learner";
	}
	if (admin_is_forgetful(f))
		return memory_state(eng, f, why, len);
	if (f->view.reconf_epoch) {
		snprintf(why, len, "it has an order to continue with only server %s, and serves nothing before the reconfiguration is complete. %s",
			 engine_server_list(f->view.reconf_set, members, sizeof(members)), f->view.waits);
		return "forced reconfiguration pending";
	}
	if (f->view.left) {
		snprintf(why, len, "it is shutting down: it has released all its controls and given its lease back");
		return "stopping";
	}
	if (f->view.member && !f->view.joining && f->lease_remaining_ms)
		return NULL;
	if (f->view.trouble) {
		snprintf(why, len, "it cannot apply %s: %s; %s. Until then it is outside the active view and serves nothing; it returns by itself",
			 engine_stuck_on(&f->view, eng->cfg.rpc.self, members, sizeof(members)), nfs4r_status_str(f->view.trouble), engine_remedy(f->view.trouble));
		return "cannot apply";
	}
	if (f->view.repairing) {
		snprintf(why, len, "it has updates that were abandoned, or needs log entries that are truncated; resync from another server: %llu of %llu objects",
			 (unsigned long long)f->repair.done, (unsigned long long)f->repair.all);
		return "resyncing";
	}
	if (lag)
		snprintf(entries, sizeof(entries), ", %llu entries behind", (unsigned long long)lag);
	engine_server_list(f->view.adopted.members, members, sizeof(members));
	if (!f->view.member) {
		snprintf(why, len, "not a member of the active view (members %s)%s; it returns by itself", members, entries);
		return "outside the view";
	}
	if (f->view.joining) {
		snprintf(why, len, "it is a member again and takes over the list of controls%s", entries);
		return "joining";
	}
	snprintf(why, len, "it has no lease: fewer than a majority of the servers answer it");
	return "no lease";
}

bool admin_is_forgetful(const struct ctl_facts *f)
{
	return !f->view.fixed && (f->view.memory == NFS4R_MEMORY_NEW || f->view.memory == NFS4R_MEMORY_FORGOT);
}

const char *admin_view_other(const struct nfs4r_engine *eng, const struct ctl_facts *f, nfs4r_server_id s)
{
	bool silent = !f->view.peer[s].known || f->view.peer[s].silent_ms >= engine_silence_ms(eng);

	if (f->view.peer[s].left)
		return "shut down";
	if (!(f->view.adopted.voters & NFS4R_BIT(s)))
		return silent ? "learner, silent" : f->view.peer[s].caught_up ? "learner, caught up" :
										"learner";
	if (!silent && f->view.peer[s].memory == NFS4R_MEMORY_FORGOT)
		return "needs full resync";
	if (!silent && f->view.peer[s].memory == NFS4R_MEMORY_NEW)
		return "new";
	if (f->view.peer[s].halted)
		return "halted";
	if (!silent && f->view.peer[s].trouble)
		return "cannot apply";
	if (f->view.adopted.members & NFS4R_BIT(s))
		return silent ? "silent" : f->view.peer[s].joining ? "joining" :
								     "member";
	return silent ? "outside the view" : f->view.peer[s].caught_up ? "caught up" :
									 "catching up";
}

static json_t *other(const struct nfs4r_engine *eng, const struct ctl_facts *f, nfs4r_server_id s)
{
	const struct nfs4r_core_peer *p = &f->peer[s];
	char why[300];

	json_t *out = json_pack("{s:i, s:b, s:s, s:o, s:o, s:o, s:o}", "server", s, "member", (f->view.adopted.members & NFS4R_BIT(s)) != 0, "state",
				admin_view_other(eng, f, s), "silent_ms", f->view.peer[s].known ? admin_num(f->view.peer[s].silent_ms) : json_null(), "view",
				f->view.peer[s].known ? admin_num(f->view.peer[s].view) : json_null(), "lag_entries", admin_num(admin_entries(p->applied, f->end)),
				"lag_bytes", admin_num(p->unreceived_bytes));
	if (out && f->view.peer[s].halted)
		json_object_set_new(out, "halted", json_string(engine_halt_of_peer(f->view.peer[s].trouble, f->view.peer[s].halted_files, why, sizeof(why))));
	else if (out && f->view.peer[s].known && f->view.peer[s].trouble)
		json_object_set_new(out, "cannot_apply", json_string(nfs4r_status_str(f->view.peer[s].trouble)));
	return out;
}

static json_t *self(const struct nfs4r_engine *eng, const struct ctl_facts *f)
{
	char why[NFS4R_WHY];
	const char *state = admin_view_state(eng, f, why, sizeof(why));

	return json_pack("{s:i, s:b, s:s, s:i, s:o, s:o, s:n}", "server", eng->cfg.rpc.self, "member", f->view.member, "state", state ? state : "member",
			 "silent_ms", 0, "view", admin_num(f->view.adopted.num), "lag_entries", admin_num(admin_own_lag(f)), "lag_bytes");
}

static json_t *servers(const struct nfs4r_engine *eng, const struct ctl_facts *f)
{
	json_t *out = json_array();

	EACH_OF(f->servers, s)
		json_array_append_new(out, s == eng->cfg.rpc.self ? self(eng, f) : other(eng, f, s));
	return out;
}

json_t *admin_view_json(const struct nfs4r_engine *eng, const struct ctl_facts *f)
{
	json_t *out;

	if (f->view.fixed)
		return json_pack("{s:s, s:i, s:o}", "kind", "fixed", "number", 1, "members", admin_server_list(f->view.adopted.members));
	out = json_pack("{s:s, s:o, s:o, s:b, s:b}", "kind", "active", "number", admin_num(f->view.adopted.num), "members", admin_server_list(f->view.adopted.members),
			"member", f->view.member, "joining", f->view.joining);
	if (!out)
		return NULL;
	json_object_set_new(out, "voters", admin_server_list(f->view.adopted.voters));
	json_object_set_new(out, "lease_remaining_ms", f->lease_remaining_ms ? admin_num(f->lease_remaining_ms) : json_null());
	json_object_set_new(out, "lease_ms", admin_num(engine_lease_ms(eng)));
	json_object_set_new(out, "failure_timeout_ms", admin_num(engine_silence_ms(eng)));
	json_object_set_new(out, "stale_reads", json_boolean(eng->cfg.stale_reads));
	json_object_set_new(out, "accepted", admin_num(f->view.accepted.num));
	json_object_set_new(out, "promised", admin_num(f->view.promised));
	json_object_set_new(out, "servers", servers(eng, f));
	return out;
}
