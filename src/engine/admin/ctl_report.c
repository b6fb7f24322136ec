/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What `nfs4rctl status` shows, as JSON. The facts are copied while eng->lock is held, everything that costs time
 * (names, text) happens after.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine/admin/admin_int.h"
#include "engine/membership/membership.h"
#include "engine/replicate/replicate.h"
#include "engine/resync/resync.h"
#include "engine/start/start.h"

/* ---- releases ---- */

static json_t *versions(struct nfs4r_versions v)
{
	return v.highest ? json_pack("{s:o, s:o}", "lowest", admin_num(v.lowest), "highest", admin_num(v.highest)) : json_null();
}

/* "0.2.0+18b5247" was built from commit 18b5247. */
static json_t *commit_of(const char *version)
{
	const char *plus = strchr(version, '+');

	return plus ? admin_json_text(plus + 1) : json_null();
}

void admin_release(struct nfs4r_engine *eng, nfs4r_server_id s, json_t *row)
{
	struct nfs4r_rpc_peer_stats rs = { .version = "" };

	if (s == eng->cfg.rpc.self) {
		memcpy(rs.version, eng->cfg.rpc.version, sizeof(rs.version));
		rs.protocol = eng->cfg.rpc.protocol;
		rs.disk_format = eng->cfg.rpc.disk_format;
		rs.speaks = rs.protocol.highest;
	} else if (!nfs4r_rpc_get_stats(eng->rpc, s, &rs)) {
		memset(&rs, 0, sizeof(rs));
	}
	json_object_update_new(row, json_pack("{s:o, s:o, s:o, s:o, s:o}", "version", rs.version[0] ? admin_json_text(rs.version) : json_null(), "commit", commit_of(rs.version), "protocol", rs.speaks ? admin_num(rs.speaks) : json_null(), "protocols", versions(rs.protocol), "disk_formats", versions(rs.disk_format)));
}

/* ---- status ---- */

static uint64_t lease_remaining(struct nfs4r_engine *eng)
{
	uint64_t until = eng->runtime.lease.until_ms, now = engine_now_ms();

	if (until == UINT64_MAX) /* one server alone: its own majority */
		return engine_lease_ms(eng);
	return until > now ? until - now : 0;
}

void admin_collect(struct nfs4r_engine *eng, struct ctl_facts *f)
{
	struct nfs4r_core_room room;

	memset(f, 0, sizeof(*f));
	pthread_mutex_lock(&eng->lock);
	nfs4r_core_get_stats(eng->core, &f->core);
	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++)
		f->known[id] = id != eng->cfg.rpc.self && nfs4r_core_get_peer(eng->core, id, &f->peer[id]);
	nfs4r_core_get_view(eng->core, &f->view);
	nfs4r_core_get_room(eng->core, &room);
	for (nfs4r_server_id id = 1; id <= NFS4R_SERVERS_MAX; id++)
		f->remarks[id] = room.of[id].remarks;
	f->servers = eng->membership.servers;
	f->list = eng->membership.list;
	f->lease_remaining_ms = lease_remaining(eng);
	f->end = nfs4r_core_own_end(eng->core);
	memcpy(f->halted, eng->runtime.halt.why, sizeof(f->halted));
	memcpy(f->starting, eng->start.starting, sizeof(f->starting));
	f->import_phase = eng->start.import.phase;
	f->import_st = eng->start.import.st;
	f->import_objects = eng->start.import.objects;
	f->import_bytes = eng->start.import.bytes;
	memcpy(f->import_noted, eng->start.import.noted, sizeof(f->import_noted));
	f->ready = eng->runtime.ready;
	admin_seals_collect(eng, f);
	f->may_finish = nfs4r_core_may_finish_upgrade(eng->core, &f->finished, f->finish_why, sizeof(f->finish_why)) == NFS4R_OK;
	pthread_mutex_unlock(&eng->lock);
}

/* ---- an import ---- */

static json_t *noted(const struct nfs4r_engine *eng, const struct ctl_facts *f, enum import_note kind)
{
	char path[1100];

	start_import_notes_path(eng, kind, path);
	return json_pack("{s:o, s:o}", "objects", admin_num(f->import_noted[kind]), "list", f->import_noted[kind] ? admin_json_text(path) : json_null());
}

/* What an administrator has to know while it is not whole, and as long as there is a list that nobody has taken away. */
static bool import_warning(const struct nfs4r_engine *eng, const struct ctl_facts *f, char *out, size_t len)
{
	unsigned long long skipped = f->import_noted[IMPORT_SKIPPED], changed = f->import_noted[IMPORT_CHANGED];

	if (f->import_phase == IMPORT_STOPPED)
		snprintf(out, len, "the import stopped (%s): the volume has only a part of the tree. Remove the cause, then restart this server", nfs4r_status_str(f->import_st));
	else if (f->import_phase == IMPORT_RUNNING)
		snprintf(out, len, "the import is running: the volume has only a part of the tree");
	else if (skipped || changed)
		snprintf(out, len, "the import skipped %llu objects and changed %llu: see import-skipped.txt and import-changed.txt in %.700s; "
				   "when you have dealt with them, remove these files and restart this server",
			 skipped, changed, eng->cfg.store_dir);
	else
		return false;
	return true;
}

static json_t *import_json(const struct nfs4r_engine *eng, const struct ctl_facts *f)
{
	static const char *const phases[] = { [IMPORT_NONE] = "none", [IMPORT_RUNNING] = "running", [IMPORT_STOPPED] = "stopped", [IMPORT_COMPLETE] = "complete" };
	char warning[1000];

	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "phase", phases[f->import_phase], "objects", admin_num(f->import_objects), "bytes", admin_num(f->import_bytes),
			 "skipped", noted(eng, f, IMPORT_SKIPPED), "changed", noted(eng, f, IMPORT_CHANGED), "warning",
			 import_warning(eng, f, warning, sizeof(warning)) ? admin_json_text(warning) : json_null());
}

static void import_why(json_t *out, const struct ctl_facts *f)
{
	char why[200];

	snprintf(why, sizeof(why), "%s%s%s: %llu objects, %llu bytes so far, %llu skipped", f->import_phase == IMPORT_STOPPED ? "stopped (" : "running",
		 f->import_phase == IMPORT_STOPPED ? nfs4r_status_str(f->import_st) : "", f->import_phase == IMPORT_STOPPED ? ")" : "",
		 (unsigned long long)f->import_objects, (unsigned long long)f->import_bytes, (unsigned long long)f->import_noted[IMPORT_SKIPPED]);
	json_object_set_new(out, "why", admin_json_text(why));
}

static void set_state(const struct nfs4r_engine *eng, json_t *out, const struct ctl_facts *f)
{
	bool importing = f->import_phase == IMPORT_RUNNING || f->import_phase == IMPORT_STOPPED;
	char view_why[NFS4R_WHY], what[60];
	const char *view = admin_view_state(eng, f, view_why, sizeof(view_why));
	bool recovers = !f->ready && !admin_is_forgetful(f);

	json_object_set_new(out, "state",
			    json_string(f->halted[0]	       ? "halted" :
						f->starting[0] ? "starting" :
						recovers       ? "recovering" :
						view	       ? view :
						importing      ? "importing" :
								 "serving"));
	if (f->halted[0])
		json_object_set_new(out, "why", admin_json_text(f->halted));
	else if (f->starting[0])
		json_object_set_new(out, "why", admin_json_text(f->starting));
	else if (!recovers && view)
		json_object_set_new(out, "why", admin_json_text(view_why));
	else if (!recovers && importing)
		import_why(out, f);
	else if (f->view.trouble)
		json_object_set_new(out, "why", json_sprintf("updates at all sites wait for this server, because no view has a majority without it: it cannot apply %s: %s; %s", engine_stuck_on(&f->view, eng->cfg.rpc.self, what, sizeof(what)), nfs4r_status_str(f->view.trouble), engine_remedy(f->view.trouble)));
}

/* Of the volume, and what `upgrade finish` would make of them; null: it would be refused. */
static json_t *settings_json(const struct nfs4r_engine *eng, const struct ctl_facts *f)
{
	struct nfs4r_volume_settings has = nfs4r_volume_has(&f->view.adopted.settings);

	return json_pack("{s:o, s:o, s:o, s:o, s:b}", "protocol", admin_num(has.protocol), "disk_format", admin_num(has.disk_format), "may_finish",
			 f->may_finish ? json_pack("{s:o, s:o}", "protocol", admin_num(f->finished.protocol), "disk_format", admin_num(f->finished.disk_format)) : json_null(), "keys",
			 admin_settings_json(eng, &has.keys), "ends_logs", has.keys.ends != 0);
}

static json_t *own_log(struct nfs4r_engine *eng, const struct ctl_facts *f)
{
	nfs4r_lsn first = 0, last = 0, stable = f->end;

	nfs4r_store_log_range(eng->store, eng->cfg.rpc.self, &first, &last);
	EACH_OF(f->servers, id)
		if (f->known[id] && f->peer[id].stable < stable)
			stable = f->peer[id].stable;
	return json_pack("{s:o, s:o, s:o}", "first", admin_num(first), "last", admin_num(f->end), "stable_at_all_peers", admin_num(stable));
}

static json_t *peer_import(const struct nfs4r_remarks *r)
{
	if (!r->is)
		return json_null();
	return json_pack("{s:s, s:o}", "phase", r->is & NFS4R_IS_IMPORTING ? "running" : "stopped", "objects", admin_num(r->imported));
}

/* What it said last of itself; while it is away nobody knows. */
static void add_remarks(json_t *row, bool up, const struct nfs4r_remarks *r)
{
	if (row && up)
		json_object_update_new(row, json_pack("{s:o, s:o, s:o}", "import", peer_import(r), "strays", admin_num(r->strays), "conflicts", admin_num(r->conflicts)));
}

static void add_names(struct nfs4r_engine *eng, json_t *row, nfs4r_server_id peer)
{
	char names[1024];

	membership_identities_differ(eng, peer, names, sizeof(names));
	if (row)
		json_object_set_new(row, "names_differ", admin_json_text(names));
}

static json_t *peer_row(struct nfs4r_engine *eng, const struct nfs4r_endpoint *e, const struct ctl_facts *f, const struct ctl_lag *lag)
{
	const struct nfs4r_core_peer *p = &f->peer[e->id];
	struct nfs4r_rpc_peer_stats rs = { .rtt_ms = -1 };
	uint64_t behind = admin_entries(p->applied, f->end);
	uint64_t behind_ms = behind ? admin_lag_ms(lag, engine_now_ms(), p->applied) : 0;

	if (!nfs4r_rpc_get_stats(eng->rpc, e->id, &rs))
		snprintf(rs.state, sizeof(rs.state), "not known to the transport");
	json_t *theirs = json_pack("{s:o, s:o, s:o, s:o, s:o}", "end", admin_num(p->peer_end), "received", admin_num(p->our_received), "applied",
				   admin_num(p->our_applied), "stable", admin_num(p->our_stable), "lag_entries", admin_num(admin_entries(p->our_applied, p->peer_end)));
	json_t *ours = json_pack("{s:o, s:o, s:o, s:o, s:o, s:f}", "received", admin_num(p->received), "applied", admin_num(p->applied),
				 "stable", admin_num(p->stable), "lag_entries", admin_num(behind), "lag_bytes", admin_num(p->unreceived_bytes),
				 "lag_seconds", (double)behind_ms / 1000);
	json_t *row = json_pack("{s:i, s:o, s:o, s:i, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "server", e->id, "differs", admin_json_text(rs.differs), "host", admin_json_text(e->host), "port",
				e->port, "up", rs.up, "state", admin_json_text(rs.state), "rtt_ms",
				rs.rtt_ms >= 0 ? json_real(rs.rtt_ms) : json_null(), "clock_ahead_ms",
				rs.clock_known ? json_real(rs.clock_ahead_ms) : json_null(), "has_of_our_log", ours, "we_have_of_its_log", theirs,
				"bytes_sent", admin_num(rs.bytes_sent), "bytes_received", admin_num(rs.bytes_received), "queued_bytes",
				admin_num(rs.queued_bytes), "connects", admin_num(rs.connects), "resent_messages", admin_num(rs.resent));
	admin_add_days(row, rs.ends_s);
	json_object_set_new(row, "security", rs.security ? json_string(admin_flavour(rs.security)) : json_null());
	admin_release(eng, e->id, row);
	add_remarks(row, rs.up, &f->remarks[e->id]);
	add_names(eng, row, e->id);
	return row;
}

json_t *admin_report_journal(struct nfs4r_engine *eng)
{
	struct nfs4r_store_stats s;

	nfs4r_store_get_stats(eng->store, &s);
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "bytes", admin_num(s.journal_bytes), "segments", admin_num(s.segments),
			 "appends", admin_num(s.appends), "syncs", admin_num(s.syncs), "checkpoints", admin_num(s.checkpoints),
			 "last_checkpoint_ms", admin_num(s.last_checkpoint_ms), "rows_dirty", admin_num(s.rows_dirty), "lmdb_bytes",
			 admin_num(s.lmdb_bytes));
}

/* Objects that were changed in the exported directory itself, behind NFS. */
static json_t *out_of_band_json(struct nfs4r_engine *eng)
{
	struct behind_counts n;

	resync_heal_count(eng, &n);
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "restored", admin_num(n.taken), "failed", admin_num(n.failed), "moved_aside", admin_num(n.aside), "pending", admin_num(n.waiting),
			 "strays", admin_num(n.strays));
}

json_t *admin_report_status(struct nfs4r_engine *eng, const struct ctl_lag *lag)
{
	struct ctl_facts f;
	json_t *peers = json_array();
	json_t *out;

	admin_collect(eng, &f);
	for (uint32_t i = 0; i < f.list.n; i++)
		if (f.list.list[i].id != eng->cfg.rpc.self)
			json_array_append_new(peers, peer_row(eng, &f.list.list[i], &f, lag));
	out = json_pack("{s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "volume", admin_json_text(eng->cfg.volume_name), "server",
			eng->cfg.rpc.self, "incarnation", admin_num(eng->inc), "uptime_seconds",
			admin_num((engine_now_ms() - eng->started_at_ms) / 1000), "view", admin_view_json(eng, &f), "log", own_log(eng, &f), "peers", peers,
			"journal", admin_report_journal(eng), "payload_bytes", admin_num(replicate_sender_payload_bytes(eng->replicate.distributor)),
			"payload_bytes_max", admin_num(eng->cfg.payload_bytes_max));
	if (!out)
		return NULL;
	admin_release(eng, eng->cfg.rpc.self, out);
	json_object_set_new(out, "disk_format", admin_num(eng->cfg.rpc.disk_format.highest));
	json_object_set_new(out, "volume_settings", settings_json(eng, &f));
	admin_add_security(eng, out);
	set_state(eng, out, &f);
	json_object_set_new(out, "import", import_json(eng, &f));
	json_object_set_new(out, "durability", admin_seals_json(eng, &f));
	json_object_set_new(out, "retention", admin_retention_json(eng));
	json_object_set_new(out, "space", admin_space_json(eng));
	json_object_set_new(out, "out_of_band", out_of_band_json(eng));
	json_object_set_new(out, "waiting", json_pack("{s:o, s:o, s:o}", "threads", admin_num(eng->runtime.waiting.all), "max", admin_num(eng->cfg.waiting_max), "refused", admin_num(eng->runtime.waiting.refused)));
	json_object_set_new(out, "conflicts", json_pack("{s:o, s:o}", "saved", admin_num(resync_saved(eng)), "directory", admin_json_text(eng->cfg.conflicts_dir)));
	json_object_set_new(out, "locks", admin_locks_json(eng));
	json_object_set_new(out, "controls",
			    json_pack("{s:o, s:o}", "own", admin_num(f.core.controls_own), "foreign", admin_num(f.core.controls_foreign)));
	return out;
}
